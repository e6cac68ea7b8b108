//! Paper trading: the engine quotes on the real depth of public feeds and fills in a simulated account.
//!
//! It is a backtest (`crates/backtest`) on live data, with the same engine, queue positions, latencies, fees and
//! report. There are no keys, no client of an account, and nothing that sends an order.

mod sink;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use cambist_backtest::{Assumptions, Backtest, EngineObserver, LatencyRange, RateLimit, Setup};
use cambist_core::action::Action;
use cambist_core::event::{Amounts, Event};
use cambist_core::{Engine, MarketSpec, Time};
use cambist_market_data::Recording;

use crate::backtest::prepare::{bound_without_venue, held_at_first, own_grid};
use crate::backtest::processes;
use crate::backtest::results::{Results, Written};
use crate::commands::print_text;
use crate::exit::{Exit, Failure};
use cambist_daemon::config::feed::Feed;
use cambist_daemon::config::{Bound, Daemon};
use cambist_daemon::feeds::{self, LiveFeed, Pollers};
use cambist_daemon::live::recorder::Recorder;
use cambist_daemon::recording;
use cambist_host::clock::Clock;
use cambist_host::times;

/// Time between two rows of equity.csv.
const SAMPLE_MS: u64 = 1_000;

/// Runs until stopped or until `limit`; exit 79 if an invariant of the engine failed.
pub fn run(
    config: &Daemon,
    until_stdin_closes: bool,
    limit: Option<Duration>,
    json: bool,
) -> anyhow::Result<Exit> {
    let clock = Clock::new();
    let bound = bound_without_venue(config)?;
    let opening = opening(config, &bound)?;
    let feeds = feeds_of(config, &bound.markets);
    let folder = results_folder(config, clock);
    let header = recording::header(&bound, config.source.text.clone(), config.source.hash());
    let recorder = Recorder::begin(config.tape.as_ref(), header, &bound.markets, clock)?;
    let assumed = sentences(&feeds);
    let until = (until_stdin_closes, limit);
    let pollers = feeds::start(feeds, clock, config.request_timeout_ms, until)?;
    let processes = processes::start(&bound)?;
    let setup = Setup {
        strategies: bound.built(),
        engine: bound.engine,
        tokens: bound.tokens,
        markets: bound.markets.clone(),
        data: Vec::new(),
        opening,
        assumptions: assumptions(config),
        from: None,
        to: None,
        sample_ms: SAMPLE_MS,
        observer: Some(Box::new(Tape(recorder))),
        processes,
    };
    for (market, feed) in config.markets.iter().zip(&assumed) {
        tracing::info!(
            market = market.name.value,
            "paper trading: no orders are sent. {feed}"
        );
    }
    let Some((setup, pollers)) = with_data(setup, pollers, clock) else {
        return Ok(Exit::CheckFailed);
    };
    let mut sink = sink::PaperSink::new(
        Results::begin(&folder, false, false, &bound.markets, Box::new(|_| {}))?,
        &bound.markets,
    );
    let backtest = match Backtest::new(setup) {
        Ok(backtest) => backtest,
        Err(cambist_backtest::BacktestError::Empty { market }) => {
            let what = format!("{market}: stopped before its first depth arrived");
            return Err(Failure::new(Exit::CheckFailed, what).into());
        }
        Err(error) => return Err(error.into()),
    };
    let mut finished = backtest.run(&mut sink)?;
    drop(pollers);
    finished.report.assumed.splice(0..0, assumed);
    let Written { json: file, text } =
        sink.into_results()
            .conclude("Paper trading", &finished, &config.source.path)?;
    print_text(if json { &file } else { &text })?;
    // A closed stderr is not an error.
    _ = writeln!(std::io::stderr(), "results in {}", folder.display());
    Ok(if finished.report.invariants.is_empty() {
        Exit::Done
    } else {
        Exit::Invariant
    })
}

/// Markets with their feeds, in the configuration's order.
pub fn feeds_of(config: &Daemon, markets: &[MarketSpec]) -> Vec<(MarketSpec, Feed)> {
    let feeds = config
        .markets
        .iter()
        .filter_map(|market| market.feed.clone());
    markets.iter().cloned().zip(feeds).collect()
}

/// Every run has a folder of its own, named by its start time.
pub fn results_folder(config: &Daemon, clock: Clock) -> PathBuf {
    let begun = times::iso(clock.unix_micros() / 1_000_000).replace(':', "");
    config.store.dir.join(begun)
}

fn with_data(mut setup: Setup, mut pollers: Pollers, clock: Clock) -> Option<(Setup, Pollers)> {
    let arrivals = std::mem::take(&mut pollers.arrivals);
    for (spec, arrivals) in setup.markets.iter().zip(arrivals) {
        let stop = std::sync::Arc::clone(&pollers.stop);
        let feed = LiveFeed::new(&spec.name, own_grid(spec)?, arrivals, stop, clock);
        setup.data.push(Recording::Live(Box::new(feed)));
    }
    Some((setup, pollers))
}

fn sentences(feeds: &[(MarketSpec, Feed)]) -> Vec<String> {
    let each = feeds.iter().map(|(spec, feed)| {
        format!(
            "Depth of {} is read from {} every {} ms.",
            spec.name, feed.url.value, feed.poll_ms
        )
    });
    each.collect()
}

fn assumptions(config: &Daemon) -> Assumptions {
    let paper = &config.paper;
    let fixed = LatencyRange::fixed_ms;
    let [maker_fee_bips, taker_fee_bips] = config.fee_bips;
    Assumptions {
        request_latency: fixed(paper.request_latency_ms),
        response_latency: fixed(paper.response_latency_ms),
        acknowledgement_delay_us: paper.acknowledgement_delay_ms * 1_000,
        queue: paper.queue_model,
        traded_share_ppm: paper.traded_share_bps * 100,
        rate_limit: Some(RateLimit {
            per_s: paper.rate_limit_per_s,
            burst: paper.rate_limit_per_s,
        }),
        maker_fee_bips,
        taker_fee_bips,
        ..Assumptions::default()
    }
}

/// The account's initial balances.
fn opening(config: &Daemon, bound: &Bound) -> anyhow::Result<Amounts> {
    let refused = |what: String| Failure::new(Exit::Refused, format!("paper.balances: {what}"));
    let mut opening = held_at_first(bound, config.paper.balances.is_empty()).ok_or_else(|| {
        refused("the inventory bands are too large for the initial balances".to_owned())
    })?;
    for money in &config.paper.balances {
        let symbol = money.symbol.as_deref().unwrap_or_default();
        let token = bound.tokens.iter().find(|token| token.symbol == symbol);
        let token = token.ok_or_else(|| refused(format!("no market has the token {symbol}")))?;
        let units = money
            .units(token)
            .map_err(|error| refused(format!("{symbol}: {error}")))?;
        opening.insert(token.id, units);
    }
    Ok(opening)
}

/// Records the engine's events and actions.
struct Tape(Recorder);

impl EngineObserver for Tape {
    fn event(&mut self, now: Time, event: &Event) {
        self.0.record_event(now, event);
    }

    fn actions(&mut self, actions: &[Action], engine: &Engine) {
        self.0.record_actions(actions, engine);
    }
}
