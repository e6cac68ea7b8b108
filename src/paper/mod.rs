//! Paper trading: the engine quotes on the real depth of public feeds and fills in a simulated account.
//!
//! It is a backtest (`crates/backtest`) on live data, with the same engine, queue positions, latencies, fees and
//! report. There are no keys, no client of an account, and nothing that sends an order.

mod observer;
mod sink;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use cambist_backtest::{
    Assumptions, Backtest, BacktestError, FeeBips, Finished, LatencyRange, RateLimit, Setup, Sink,
};
use cambist_core::event::Amounts;
use cambist_core::{MarketSpec, Time};
use cambist_market_data::Recording;

use crate::backtest::prepare::{bound_without_venue, held_at_first, own_grid};
use crate::backtest::processes;
use crate::backtest::results::{Results, Unfinished, Written};
use crate::backtest::simulated;
use crate::commands::{check_pin, print_text};
use crate::exit::{Exit, Failure};
use cambist_daemon::config::feed::Feed;
use cambist_daemon::config::{Bound, Daemon};
use cambist_daemon::feeds::{self, LiveFeed, Pollers};
use cambist_daemon::live::recorder::Recorder;
use cambist_daemon::live::status_service::{StatusService, take_folder};
use cambist_daemon::recording;
use cambist_daemon::telemetry::http::Shown;
use cambist_daemon::telemetry::{About, Telemetry};
use cambist_host::clock::Clock;
use cambist_host::times;
use observer::Observer;

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
    simulated::check(config)?;
    let bound = bound_without_venue(config)?;
    bound
        .without_elsewhere()
        .map_err(|what| Failure::new(Exit::Refused, what))?;
    let opening = opening(config, &bound)?;
    let _folder = take_folder(config)?;
    check_pin::agree(config)?;
    let feeds = feeds_of(config, &bound.markets);
    let folder = results_folder(config, clock);
    let header = recording::header(&bound, config.source.text.clone(), config.source.hash());
    let recorder = Recorder::begin(config.tape.as_ref(), header, &bound.markets, clock)?;
    let assumed = sentences(&feeds);
    let until = (until_stdin_closes, limit);
    let telemetry = telemetry(config, &bound, clock)?;
    let pollers = feeds::start(
        feeds,
        &bound.references,
        telemetry.feeds(),
        (clock, config.request_timeout_ms),
        until,
    )?;
    for (market, feed) in config.markets.iter().zip(&assumed) {
        tracing::info!(
            market = market.name.value,
            "paper trading: no orders are sent. {feed}"
        );
    }
    let run = SimulatedRun {
        config,
        bound,
        opening,
        clock,
        folder: folder.clone(),
        recorder,
        telemetry,
        also: None,
    };
    let (results, mut finished) = run.until_stopped(pollers)?;
    finished.report.assumed.splice(0..0, assumed);
    let Written {
        json: file,
        text,
        files,
    } = results.conclude("Paper trading", &finished, &config.source, None)?;
    print_text(if json { &file } else { &text })?;
    files?;
    // A closed stderr is not an error.
    _ = writeln!(std::io::stderr(), "results in {}", folder.display());
    Ok(if finished.report.invariants.is_empty() {
        Exit::Done
    } else {
        Exit::Invariant
    })
}

/// A run of the engine on live books and a simulated exchange.
pub struct SimulatedRun<'a> {
    /// The configuration.
    pub config: &'a Daemon,
    /// The same, bound to units.
    pub bound: Bound,
    /// What the account holds at the beginning.
    pub opening: Amounts,
    /// The clock of the run.
    pub clock: Clock,
    /// Where results are written.
    pub folder: PathBuf,
    /// The tape.
    pub recorder: Recorder,
    /// Where it is shown.
    pub telemetry: Arc<Telemetry>,
    /// Also receives the rows of the results.
    pub also: Option<Box<dyn Sink>>,
}

impl SimulatedRun<'_> {
    /// Runs until stopped, and shows its status meanwhile.
    pub fn until_stopped(self, mut pollers: Pollers) -> anyhow::Result<(Results, Finished)> {
        let Self {
            config,
            bound,
            telemetry,
            ..
        } = self;
        let markets = bound.markets.clone();
        let service = StatusService::start(config, Shown::Running(Arc::clone(&telemetry)))?;
        let processes = processes::start(&bound)?;
        let observer = Observer::new(self.recorder, Arc::clone(&telemetry), &markets);
        let mut data = Vec::new();
        for (spec, arrivals) in markets.iter().zip(std::mem::take(&mut pollers.arrivals)) {
            let grid =
                own_grid(spec).with_context(|| format!("market {}: its units", spec.name))?;
            let stop = Arc::clone(&pollers.stop);
            let ages = (pollers.time.clone(), config.engine.poll.depth_age_max_ms);
            let feed = LiveFeed::new(&spec.name, grid, arrivals, stop, ages);
            data.push(Recording::Live(Box::new(feed)));
        }
        let setup = Setup {
            references: bound
                .references
                .iter()
                .map(|(source, _)| source.clone())
                .collect(),
            strategies: bound.built(),
            engine: bound.engine,
            tokens: bound.tokens,
            markets: bound.markets,
            data,
            opening: self.opening,
            assumptions: assumptions(config),
            from: None,
            to: None,
            sample_ms: SAMPLE_MS,
            observer: Some(Box::new(observer)),
            processes,
        };
        let kept = Unfinished::Kept;
        let results = Results::begin(&self.folder, false, false, &markets, kept, Box::new(|_| {}))?;
        let mut sink = sink::PaperSink::new(results, &markets, telemetry, self.also);
        let backtest = match Backtest::new(setup) {
            Ok(backtest) => backtest,
            Err(BacktestError::Empty { market, .. } | BacktestError::NoRows { market, .. }) => {
                let what = format!("{market}: stopped before its first depth arrived; see the log");
                return Err(Failure::new(Exit::CheckFailed, what).into());
            }
            Err(error) => return Err(error.into()),
        };
        // The engine's clock is the one that ages in the status are counted by.
        let ago_us = pollers
            .time
            .now()
            .nanos_since(backtest.starts_at())
            .max(0)
            .unsigned_abs()
            / 1_000;
        let origin = Time(self.clock.now().0.saturating_sub(ago_us));
        let mut finished = backtest.with_engine_origin(origin).run(&mut sink)?;
        let steps = pollers.time.clock_steps();
        drop(pollers);
        if let Some(first) = steps.first {
            let of_report = cambist_backtest::ClockSteps {
                count: steps.count,
                first: first.to_string(),
                largest_ms: steps.largest_us / 1_000,
                sum_ms: steps.sum_us / 1_000,
            };
            finished.report.set_clock_steps(of_report);
        }
        drop(service);
        Ok((sink.into_results(), finished))
    }
}

/// The telemetry of a run with this configuration.
pub fn telemetry(config: &Daemon, bound: &Bound, clock: Clock) -> anyhow::Result<Arc<Telemetry>> {
    Ok(Arc::new(Telemetry::new(about(config, bound), clock)?))
}

/// What the status reports of the run.
fn about(config: &Daemon, bound: &Bound) -> About {
    About {
        revision: cambist_host::program::build().revision.to_owned(),
        venue: config.venue.address(),
        mode: config.mode,
        config_hash: config.source.hash(),
        config: config.source.path.display().to_string(),
        markets: bound.markets.clone(),
        pools: Vec::new(),
        tokens: bound.tokens.clone(),
        strategies: bound.strategy_names(),
        depth_age_max_ms: config.engine.poll.depth_age_max_ms,
        tick_age_max_ms: 5_000,
        bursts: [config.budget.burst, config.budget.endpoint_burst],
        request_unit: config.venue.budget_unit(),
        ttl_ms: config.orders.ttl_s.saturating_mul(1_000),
        grace_s: config.orders.grace_s,
    }
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
    let [maker_fee, taker_fee] = config.fee_bips.map(FeeBips::from_bips);
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
        maker_fee,
        taker_fee,
        ..Assumptions::default()
    }
}

/// The account's initial balances.
fn opening(config: &Daemon, bound: &Bound) -> anyhow::Result<Amounts> {
    let mut opening = held_at_first(bound, config.paper.balances.is_empty())
        .ok_or_else(|| refused("the inventory bands are too large for the initial balances"))?;
    opening.extend(balances(config, bound)?);
    Ok(opening)
}

/// The balances that the configuration states.
pub fn balances(config: &Daemon, bound: &Bound) -> anyhow::Result<Amounts> {
    let each = config.paper.balances.iter().map(|money| {
        let symbol = money.symbol.as_deref().unwrap_or_default();
        let token = bound.tokens.iter().find(|token| token.symbol == symbol);
        let token = token.ok_or_else(|| refused(&format!("no market has the token {symbol}")))?;
        let units = money
            .units(token)
            .map_err(|error| refused(&format!("{symbol}: {error}")))?;
        Ok((token.id, units))
    });
    each.collect()
}

fn refused(what: &str) -> Failure {
    Failure::new(Exit::Refused, format!("paper.balances: {what}"))
}
