//! `cambist demo`: runs a venue and a daemon, and verifies the outcome. The driver is the same for every venue
//! ([`Venue`]).

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::Context;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{TokenId, TokenSpec};
use cambist_report::summary::{Closing, Orders, Summary, VenueBalances};
use cambist_report::text;
use cambist_strategies::Promise;
use tokio::time::Instant;

use super::{print_json, print_text};
use crate::cli::DemoArgs;
use crate::demo::child::{Child, READY};
use crate::demo::crash_test;
use crate::demo::crash_test::Crash;
use crate::demo::end_checks;
use crate::demo::end_checks::{Books, ReplayedTapes};
use crate::demo::expectations;
use crate::demo::faults::Faults;
use crate::demo::files::{self, Folder};
use crate::demo::on_chain::OnChain;
use crate::demo::on_exchange::{EXCHANGE, OnExchange};
use crate::demo::on_kraken::KRAKEN;
use crate::demo::page::{Page, Shared};
use crate::demo::progress_line::ProgressLine;
use crate::demo::recording_proxy::RecordingProxy;
use crate::demo::stage::{self, Stage};
use crate::demo::venue::{self, Venue};
use crate::exit::{self, Exit, Failure};
use cambist_daemon::config::Daemon;
use cambist_daemon::config::venue::VenueKind;
use cambist_daemon::live::signals::Signals;

/// Timeout of the venue's end.
const GOODBYE: Duration = Duration::from_secs(10);

/// Runs the demo.
pub fn run(args: &DemoArgs, json: bool) -> anyhow::Result<Exit> {
    if let Some(name) = args
        .strategy
        .as_deref()
        .filter(|name| !files::is_program(name))
    {
        super::strategy::find(name)?;
    }
    if std::env::args_os().any(|arg| arg == "--no-pull-the-plug") {
        crate::exit::print_warning(&"--no-pull-the-plug is deprecated, use --no-crash");
    }
    if args.node_modules.is_some() && args.venue != VenueKind::EvmPools {
        let what = "--node-modules names the node and the contracts of --venue evm: the other venues need none";
        return Err(Failure::new(Exit::Usage, what).into());
    }
    match args.venue {
        VenueKind::Exchange => drive(args, OnExchange::new(args, &EXCHANGE)?, json),
        VenueKind::Kraken => drive(args, OnExchange::new(args, &KRAKEN)?, json),
        VenueKind::EvmPools => drive(args, OnChain::new(args)?, json),
    }
}

fn drive(args: &DemoArgs, venue: impl Venue, json: bool) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(watch(args, venue, json))
}

async fn watch<V: Venue>(args: &DemoArgs, mut venue: V, json: bool) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen(false).context("installing signal handlers")?;
    let mut screen = ProgressLine::new();
    let mut folder = Folder::new()?;
    let result = scene(args, &mut venue, &mut screen, &mut folder, &mut signals).await;
    let Ended {
        promise,
        summary,
        crash,
        shared,
        problems,
    } = match result {
        Ok(ended) => ended,
        Err(error) => {
            where_to_look(&mut screen, &folder);
            return Err(error);
        }
    };
    folder.keep(!problems.is_empty());
    if json {
        let failed = |what: &String| Failure::new(Exit::CheckFailed, what);
        let failures: Vec<_> = problems.iter().map(failed).collect();
        let shape = shape(&summary, crash.as_ref(), &shared, &venue)?;
        print_json(&exit::with_failures(shape, &failures))?;
    } else {
        let quotes = promise == Promise::Quotes;
        let (played, summary) = (venue.title_text(), text::summary(&summary, quotes));
        print_text(&format!("\n{played}{summary}"))?;
        if let Some(crash) = &crash {
            print_text(&crash.text())?;
        }
        print_text(&shared.faults(|faults| faults.text()))?;
        print_text(&venue.text())?;
    }
    for problem in &problems {
        screen.say(&format!("NOT PROVEN: {problem}"));
    }
    where_to_look(&mut screen, &folder);
    if !problems.is_empty() {
        return Ok(Exit::CheckFailed);
    }
    if !json {
        print_text(&venue.closing(args, &program()))?;
    }
    Ok(Exit::Done)
}

fn where_to_look(screen: &mut ProgressLine, folder: &Folder) {
    if folder.is_kept() {
        let path = folder.path().display();
        screen.say(&format!("everything the demo wrote is in {path}"));
    }
}

/// The command line prefix that ran this program.
fn program() -> String {
    let called = std::env::args_os().next();
    called.map_or_else(
        || "cambist".to_owned(),
        |called| called.to_string_lossy().into_owned(),
    )
}

/// The summary in its documented JSON form, without fields for text only.
fn shape(
    summary: &Summary,
    crash: Option<&Crash>,
    shared: &Shared,
    venue: &impl Venue,
) -> anyhow::Result<serde_json::Value> {
    let mut value = serde_json::to_value(summary)?;
    if let Some(object) = value.as_object_mut() {
        object.remove("ends");
        object.remove("quote");
        object.remove("inventory_tokens");
        object.remove("residual_tokens");
        object.insert("crash".to_owned(), serde_json::to_value(crash)?);
        object.insert("faults".to_owned(), shared.faults(|faults| faults.json()));
        venue.add_json(object);
    }
    Ok(value)
}

/// What both processes and the demo itself go by.
struct Cast {
    /// When the daemon began to trade.
    begun: Instant,
    /// The proxy between them.
    wire: RecordingProxy,
    shared: Shared,
    config: Daemon,
    promise: Promise,
    metrics: String,
}

/// Both processes, running.
struct Opened {
    cast: Cast,
    process: Child,
    daemon: Child,
    page: Page,
}

/// Starts both processes.
async fn open<V: Venue>(
    args: &DemoArgs,
    venue: &mut V,
    screen: &mut ProgressLine,
    folder: &mut Folder,
) -> anyhow::Result<Opened> {
    let venue::Opened { process, address } = venue.open(args, folder, screen).await?;
    if let Err(why) = crash_test::when(args) {
        screen.say(&format!("the daemon is not killed: {why}"));
    }
    let wire = RecordingProxy::lay(&address, venue.interface(), args.seed).await?;
    let base_url = format!("http://{}", wire.address());
    let daemon_file = venue.write_daemon(folder.path(), &base_url)?;
    let config = Daemon::load(&daemon_file)?;
    let mut daemon = stage::start(folder, &config.source.path, "daemon")?;
    let metrics = daemon
        .address(&config.metrics_address_file(), READY)
        .await?;
    daemon.begun(&metrics, READY).await?;
    let begun = Instant::now();
    let shared = Shared::new(Faults::new(begun, venue.buttons()), metrics.clone());
    let page = Page::serve(shared.clone())?;
    screen.say(&format!(
        "daemon trades; page http://{}/, metrics at /metrics; Ctrl-C ends the demo",
        page.address()
    ));
    let promise = expectations::of(&config);
    let cast = Cast {
        begun,
        wire,
        shared,
        config,
        promise,
        metrics,
    };
    Ok(Opened {
        cast,
        process,
        daemon,
        page,
    })
}

/// How a demo ended.
struct Ended {
    promise: Promise,
    summary: Summary,
    /// The planned kill.
    crash: Option<Crash>,
    shared: Shared,
    problems: Vec<String>,
}

/// Runs both processes and checks the outcome.
async fn scene<V: Venue>(
    args: &DemoArgs,
    venue: &mut V,
    screen: &mut ProgressLine,
    folder: &mut Folder,
    signals: &mut Signals,
) -> anyhow::Result<Ended> {
    let opened = tokio::select! {
        opened = open(args, venue, screen, folder) => Some(opened?),
        () = signals.end() => None,
    };
    let Some(Opened {
        cast,
        mut process,
        daemon,
        page,
    }) = opened
    else {
        folder.keep(false);
        return Err(Failure::new(Exit::CheckFailed, "ended before the daemon traded").into());
    };
    let played = tokio::select! {
        gone = process.gone() => return Err(gone),
        played = play(args, &cast, (daemon, page), venue, screen, folder, signals) => played?,
    };
    screen.say("ending: cancelling all orders and proving that none rests");
    let Played { mut daemon, .. } = played;
    daemon.ask_to_end();
    let longest = Duration::from_millis(cast.config.drain_deadline_ms) + GOODBYE;
    let status = tokio::select! {
        gone = process.gone() => return Err(gone),
        status = daemon.end(longest) => status?,
    };
    if status.code().is_none() {
        anyhow::bail!(daemon.how(status));
    }
    let duration_s = cast.begun.elapsed().as_secs_f64();
    let books = tokio::select! {
        gone = process.gone() => return Err(gone),
        books = venue.books(&cast.config) => books?,
    };
    process.ask_to_end();
    let venue_status = process.end(GOODBYE).await?;
    let ended = DaemonEnd {
        daemon,
        status,
        duration_s,
        books,
        was_killed: played.was_killed,
    };
    let mut judged = judge(args, cast, &ended, played.crash, venue)?;
    if !venue_status.success() {
        let how = process.how(venue_status);
        let problem = format!("{how}:\n{}", process.last_words());
        judged.problems.push(problem);
    }
    Ok(judged)
}

/// The daemon after the demo.
struct Played {
    daemon: Child,
    /// The planned kill.
    crash: Option<Crash>,
    was_killed: bool,
}

/// Runs the demo until its end, without faults at the end.
async fn play<V: Venue>(
    args: &DemoArgs,
    cast: &Cast,
    (daemon, page): (Child, Page),
    venue: &mut V,
    screen: &mut ProgressLine,
    folder: &Folder,
    signals: &mut Signals,
) -> anyhow::Result<Played> {
    let mut stage = Stage {
        begun: cast.begun,
        venue,
        daemon,
        wire: &cast.wire,
        page,
        shared: cast.shared.clone(),
        config: &cast.config,
        folder,
        screen,
        crash: None,
        promise: cast.promise,
        metrics: cast.metrics.clone(),
        file: cast.config.source.path.clone(),
        runs: 1,
        is_down: false,
    };
    let length = (!args.forever).then(|| Duration::from_secs(args.duration));
    tokio::select! {
        played = stage.play(crash_test::when(args).ok(), length) => played?,
        () = signals.end() => {}
    }
    stage.finish().await?;
    Ok(Played {
        was_killed: stage.runs > 1,
        crash: stage.crash,
        daemon: stage.daemon,
    })
}

/// A daemon that has ended, and the venue's books then.
struct DaemonEnd {
    daemon: Child,
    status: ExitStatus,
    duration_s: f64,
    books: Books,
    was_killed: bool,
}

/// Compares the daemon's own report with the venue's books and with the tapes.
fn judge<V: Venue>(
    args: &DemoArgs,
    cast: Cast,
    end: &DaemonEnd,
    mut crash: Option<Crash>,
    venue: &V,
) -> anyhow::Result<Ended> {
    let Cast {
        config,
        shared,
        promise,
        ..
    } = cast;
    let DaemonEnd { daemon, books, .. } = end;
    let unknown_ids = shared.faults(|faults| {
        let crashes = crash.iter().chain(faults.crashes().map(|crash| &*crash));
        crashes.flat_map(Crash::unknown_ids).collect::<Vec<_>>()
    });
    let played = config
        .tape
        .as_ref()
        .map(|tape| end_checks::replay(&tape.dir, &unknown_ids, V::NAME, books.coin.as_ref()))
        .transpose()?;
    let output = daemon.output()?;
    let last_summary: Summary = serde_json::from_str(&output)
        .with_context(|| format!("the daemon printed no summary:\n{}", daemon.last_words()))?;
    let mut problems = Vec::new();
    let ledger = ledger(&last_summary, &config)?;
    let summary = conclude(
        args,
        end.duration_s,
        (last_summary, ledger),
        end.was_killed,
        (books, played.as_ref(), V::NAME),
        &mut problems,
    );
    if let Some(played) = &played {
        shared.faults(|faults| {
            let mut crashes = crash.iter_mut().chain(faults.crashes());
            crashes.try_for_each(|crash| crash.conclude(played, books, &config))
        })?;
    }
    problems.extend(unproven(&summary, V::NAME));
    problems.extend(venue.problems());
    problems.extend(crash.iter().flat_map(Crash::problems));
    problems.extend(shared.faults(|faults| faults.problems()));
    let excused = shared.faults(|faults| faults.excused(Instant::now()));
    problems.extend(expectations::problems(
        (&config, promise),
        &summary,
        (crash.as_ref(), excused),
        venue,
    )?);
    if !end.status.success() {
        let how = daemon.how(end.status);
        problems.push(format!("{how}:\n{}", daemon.last_words()));
    }
    // A kill and the venue may find the same.
    let mut known = BTreeSet::new();
    problems.retain(|problem| known.insert(problem.clone()));
    Ok(Ended {
        promise,
        summary,
        crash,
        shared,
        problems,
    })
}

/// The summary of all runs of the daemon compared with the venue and the tapes, and where profit and loss differ.
fn conclude(
    args: &DemoArgs,
    duration_s: f64,
    (last_summary, ledger): (Summary, BTreeMap<String, String>),
    was_killed: bool,
    (books, played, venue): (&Books, Option<&ReplayedTapes>, &str),
    problems: &mut Vec<String>,
) -> Summary {
    let compared = played
        .iter()
        .flat_map(|played| unprofitable(played, books, venue));
    problems.extend(compared);
    let all_lives = played
        .and_then(|played| played.session.as_ref())
        .map(|(session, now)| session.summary(*now, &Closing::default(), super::run::code));
    let differs = all_lives
        .as_ref()
        .is_some_and(|all| all.pnl != last_summary.pnl);
    if differs && !was_killed {
        problems.push("the daemon's profit and loss differs from that of its tape".to_owned());
    }
    let all_lives = all_lives.filter(|_| was_killed);
    let residual = residual(&ledger, last_summary.orders.submitted > 0, books);
    let in_tokens = |units: &BTreeMap<String, String>| {
        units
            .iter()
            .map(|(token, units)| (token.clone(), books.whole(token, units)))
            .collect()
    };
    Summary {
        seed: Some(args.seed),
        duration_s,
        resting_after: Some(books.resting()),
        residual_tokens: in_tokens(&residual),
        residual_units: residual,
        // The venue was asked after the daemon had ended.
        venue_balances: VenueBalances::Current,
        replay_equal: played.map(|played| played.equal),
        // Inventory and proof are those of the last run.
        inventory_tokens: if last_summary.inventory.is_empty() {
            in_tokens(&ledger)
        } else {
            last_summary.inventory_tokens.clone()
        },
        inventory: ledger,
        orders: Orders {
            unknown_left: last_summary.orders.unknown_left,
            ..all_lives.as_ref().unwrap_or(&last_summary).orders.clone()
        },
        ..all_lives.unwrap_or(last_summary)
    }
}

/// The daemon's ledger at its end, base units by symbol. A run that ended before it compared its books with the venue's
/// reports none: it went on with those of its store.
fn ledger(summary: &Summary, daemon: &Daemon) -> anyhow::Result<BTreeMap<String, String>> {
    if !summary.inventory.is_empty() {
        return Ok(summary.inventory.clone());
    }
    let stored = cambist_store::view::books(&daemon.store.dir)?;
    let (ledger, tokens) = stored
        .and_then(|(books, listing)| Some((books.ledger?, listing.tokens)))
        .unwrap_or_default();
    Ok(by_symbol(&ledger, &tokens))
}

fn by_symbol(ledger: &SortedMap<TokenId, i128>, tokens: &[TokenSpec]) -> BTreeMap<String, String> {
    let symbol = |token: TokenId| {
        let spec = tokens.iter().find(|spec| spec.id == token);
        spec.map_or_else(|| format!("token {}", token.0), |spec| spec.symbol.clone())
    };
    ledger
        .iter()
        .map(|(token, units)| (symbol(*token), units.to_string()))
        .collect()
}

/// Ledger minus the venue's books, for every token of either. A daemon that ended before its books were opened has no
/// ledger and has traded nothing, and the venue shows nothing of it.
fn residual(
    ledger: &BTreeMap<String, String>,
    has_submitted: bool,
    books: &Books,
) -> BTreeMap<String, String> {
    let has_traded = has_submitted || !books.orders.is_empty() || !books.moves.is_empty();
    if ledger.is_empty() && !has_traded {
        return BTreeMap::new();
    }
    let tokens = ledger.keys().chain(books.totals.keys());
    tokens
        .map(|token| {
            let ledger = ledger
                .get(token)
                .and_then(|units| units.parse::<i128>().ok());
            let venue = books
                .totals
                .get(token)
                .map_or(Some(0), |units| i128::try_from(*units).ok());
            let difference = ledger.unwrap_or(0).checked_sub(venue.unwrap_or(i128::MAX));
            (
                token.clone(),
                difference.map_or_else(|| "unknown".to_owned(), |d| d.to_string()),
            )
        })
        .collect()
}

/// Where profit and loss differs from the change of what the venue holds, at the mid and without flows.
fn unprofitable(played: &ReplayedTapes, books: &Books, venue: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(what) = &played.profit {
        problems.push(format!(
            "profit and loss differs from the change of equity ({what})"
        ));
    }
    for (token, held) in &played.held {
        let there = books.totals.get(token).copied().unwrap_or(0);
        if i128::try_from(there).ok() != Some(*held) {
            problems.push(format!(
                "profit and loss assumes {} {token}, the {venue} has {}",
                books.whole(token, &held.to_string()),
                books.whole(token, &there.to_string())
            ));
        }
    }
    problems
}

/// Why the end is not proven.
fn unproven(summary: &Summary, venue: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if summary.resting_after != Some(0) {
        problems.push(format!("own orders still rest at the {venue}"));
    }
    if summary.orders.unknown_left > 0 {
        problems.push(format!(
            "{} orders are in an unknown state",
            summary.orders.unknown_left
        ));
    }
    for (token, amount) in &summary.residual_tokens {
        if amount != "0" {
            problems.push(format!("ledger and {venue} differ by {amount} {token}"));
        }
    }
    if summary.replay_equal != Some(true) {
        problems.push("the tape does not replay to the same actions".to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use cambist_core::pool::{
        PoolTransactionAmounts, PoolTransactionReport, PoolTransactionStatus,
    };
    use cambist_core::{Hash, PoolTransactionKind, VenueTime};

    use super::*;

    fn books(units: u128, moves: usize) -> Books {
        let moved = PoolTransactionReport {
            hash: Hash([1; 32]),
            kind: PoolTransactionKind::Join,
            status: PoolTransactionStatus::Processed,
            amounts: PoolTransactionAmounts::default(),
            created: VenueTime(0),
        };
        Books {
            orders: Vec::new(),
            moves: vec![moved; moves],
            totals: [("ETH".to_owned(), units)].into(),
            decimals: [("ETH".to_owned(), 18)].into(),
            coin: None,
            numbers_return: false,
        }
    }

    #[test]
    fn only_a_daemon_that_traded_nothing_needs_no_ledger() {
        let of = |ledger: &[(&str, &str)], has_submitted, books: &Books| {
            let owned = |(token, units): &(&str, &str)| ((*token).to_owned(), (*units).to_owned());
            let ledger = ledger.iter().map(owned).collect();
            let residual = residual(&ledger, has_submitted, books);
            residual.into_values().collect::<Vec<_>>()
        };
        assert!(of(&[], false, &books(7, 0)).is_empty());
        assert_eq!(of(&[], true, &books(7, 0)), ["-7"]);
        assert_eq!(of(&[], false, &books(7, 1)), ["-7"], "it joined a pool");
        assert_eq!(of(&[("ETH", "7")], false, &books(7, 1)), ["0"]);
        assert_eq!(of(&[("ETH", "8")], false, &books(7, 0)), ["1"]);
        assert_eq!(of(&[("BTC", "1")], false, &books(0, 1)), ["1", "0"]);
    }

    #[test]
    fn a_ledger_of_the_store_has_the_symbols_of_its_listing() {
        let spec = TokenSpec {
            id: TokenId(0),
            symbol: "ETH".to_owned(),
            decimals: 18,
            precision: 18,
            minimum: 1,
            maximum: 1,
            dust: 0,
            enabled: true,
        };
        let ledger = [(TokenId(0), -5), (TokenId(4), 6)].into();
        let named = by_symbol(&ledger, &[spec]);
        let named: Vec<_> = named
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(named, [("ETH", "-5"), ("token 4", "6")]);
    }
}
