//! `cambist demo`: runs an exchange and a daemon, and verifies the outcome.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use cambist_report::summary::{Closing, Orders, Summary};
use cambist_report::text;
use cambist_report::text::SEPARATOR;
use cambist_strategies::Promise;
use tokio::time::Instant;

use super::{print_json, print_text};
use crate::cli::DemoArgs;
use crate::demo::child::{Child, POLL_INTERVAL};
use crate::demo::crash_test;
use crate::demo::crash_test::Crash;
use crate::demo::end_checks;
use crate::demo::end_checks::{Books, ReplayedTapes};
use crate::demo::expectations;
use crate::demo::files::{self, Folder};
use crate::demo::progress_line::ProgressLine;
use crate::demo::recording_proxy::RecordingProxy;
use crate::demo::scenario_player::ScenarioPlayer;
use crate::demo::status;
use crate::exit::{self, Exit, Failure};
use cambist_daemon::config::Daemon;
use cambist_daemon::live::signals::Signals;
use cambist_exchange::config::Exchange;

/// Timeout of a child's start.
const READY: Duration = Duration::from_secs(20);
/// Timeout of the exchange's end.
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
        crate::exit::print_error(&"warning: --no-pull-the-plug is deprecated, use --no-crash");
    }
    let scenario = ScenarioPlayer::new(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(watch(args, scenario, json))
}

async fn watch(args: &DemoArgs, mut scenario: ScenarioPlayer, json: bool) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen(false).context("installing signal handlers")?;
    let mut screen = ProgressLine::new();
    let mut folder = Folder::new()?;
    let result = scene(args, &mut scenario, &mut screen, &mut folder, &mut signals).await;
    let (summary, crash, problems) = match result {
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
        let shape = shape(&summary, crash.as_ref(), &scenario)?;
        print_json(&exit::with_failures(shape, &failures))?;
    } else {
        let (played, summary) = (scenario.text(), text::summary(&summary));
        print_text(&format!("\n{played}{summary}"))?;
        if let Some(crash) = &crash {
            print_text(&crash.text())?;
        }
    }
    for problem in &problems {
        screen.say(&format!("NOT PROVEN: {problem}"));
    }
    where_to_look(&mut screen, &folder);
    if !problems.is_empty() {
        return Ok(Exit::CheckFailed);
    }
    if !json {
        print_text(&next(args, &program()))?;
    }
    Ok(Exit::Done)
}

fn where_to_look(screen: &mut ProgressLine, folder: &Folder) {
    if folder.is_kept() {
        let path = folder.path().display();
        screen.say(&format!("everything the demo wrote is in {path}"));
    }
}

/// The result and suggestions for further commands, without the current ones. `program` is the command line prefix that
/// runs this program: `cargo run` installs nothing.
fn next(args: &DemoArgs, program: &str) -> String {
    let other = match args.strategy.as_deref() {
        Some("ladder") => "bands",
        Some(_) | None => "ladder",
    };
    let seed = args.seed.checked_add(1).unwrap_or(1);
    let worse = "volatile, outage ...";
    let line = |unknown_ids: &str, what: &str| {
        format!("  {:<58} {what}\n", format!("{program} {unknown_ids}"))
    };
    let again = format!("demo --strategy {other} --seed {seed}");
    let lines = [
        line(&again, "another strategy, other traders"),
        line(
            "demo --scenario crash",
            &format!("a falling market (or {worse})"),
        ),
        line("strategy list", "the strategies and their parameters"),
        line(
            "venue --config config/venue.toml",
            "the exchange, in one terminal",
        ),
        line(
            "run --config config/demo.toml",
            "the daemon, in another terminal",
        ),
    ];
    format!(
        "
Nothing rests, the ledger equals the exchange's books to the unit, profit and
loss is the change of what is held there, and the tape replays to the same
actions.

Next:
{}",
        lines.concat()
    )
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
    scenario: &ScenarioPlayer,
) -> anyhow::Result<serde_json::Value> {
    let mut value = serde_json::to_value(summary)?;
    if let Some(object) = value.as_object_mut() {
        object.remove("ends");
        object.remove("quote");
        object.remove("inventory_tokens");
        object.remove("residual_tokens");
        object.insert("crash".to_owned(), serde_json::to_value(crash)?);
        object.insert("scenario".to_owned(), scenario.json());
    }
    Ok(value)
}

/// Both processes, running.
struct Cast {
    venue: Child,
    /// When the exchange, and with it the scenario, began.
    opened: Instant,
    daemon: Child,
    /// The proxy between them, if the daemon will be killed.
    wire: Option<RecordingProxy>,
    config: Daemon,
    metrics: String,
}

/// Starts both processes.
async fn open(
    args: &DemoArgs,
    scenario: &ScenarioPlayer,
    screen: &mut ProgressLine,
    folder: &mut Folder,
) -> anyhow::Result<Cast> {
    let venue_file = files::write_venue(folder.path(), args.seed, scenario)?;
    let venue_text = venue_file.display().to_string();
    let mut venue = Child::start(
        "exchange",
        folder.path(),
        &["venue", "--config", &venue_text, "--until-stdin-closes"],
    )?;
    folder.keep(true);
    let address_file = Exchange::load(&venue_file)?.address_file();
    let address = venue.address(&address_file, READY).await?;
    let opened = Instant::now();
    let base_url = format!("http://{address}");
    screen.say(&format!(
        "exchange at {base_url}, simulated traders with seed {}",
        args.seed
    ));
    screen.say(&scenario.title());

    let wire = match crash_test::when(args) {
        Ok(_) => Some(RecordingProxy::lay(&address).await?),
        Err(why) => {
            screen.say(&format!("the daemon is not killed: {why}"));
            None
        }
    };
    let base_url = wire
        .as_ref()
        .map_or(base_url, |wire| format!("http://{}", wire.address()));
    let strategy = args.strategy.as_deref();
    let daemon_file = files::write_daemon(folder.path(), &base_url, strategy)?;
    let config = Daemon::load(&daemon_file)?;
    let mut daemon = daemon(folder, &config.source.path, "daemon")?;
    let metrics = daemon
        .address(&config.metrics_address_file(), READY)
        .await?;
    daemon.begun(&metrics, READY).await?;
    screen.say(&format!(
        "daemon trades; page http://{metrics}/, metrics at /metrics; Ctrl-C ends the demo"
    ));
    Ok(Cast {
        venue,
        opened,
        daemon,
        wire,
        config,
        metrics,
    })
}

/// Starts the daemon; its output goes to files with this name.
fn daemon(folder: &Folder, file: &Path, files: &str) -> anyhow::Result<Child> {
    let file = file.display().to_string();
    let args = ["run", "--config", &file, "--json", "--until-stdin-closes"];
    Child::start_as("daemon", files, folder.path(), &args)
}

/// Runs both processes and checks the outcome.
async fn scene(
    args: &DemoArgs,
    scenario: &mut ScenarioPlayer,
    screen: &mut ProgressLine,
    folder: &mut Folder,
    signals: &mut Signals,
) -> anyhow::Result<(Summary, Option<Crash>, Vec<String>)> {
    let opened = tokio::select! {
        opened = open(args, scenario, screen, folder) => Some(opened?),
        () = signals.end() => None,
    };
    let Some(Cast {
        mut venue,
        opened,
        daemon,
        wire,
        config,
        metrics,
    }) = opened
    else {
        folder.keep(false);
        return Err(Failure::new(Exit::CheckFailed, "ended before the daemon traded").into());
    };
    let begun = Instant::now();
    let length = if args.forever {
        None
    } else {
        Some(Duration::from_secs(args.duration))
    };
    let promise = expectations::of(&config);
    let mut stage = Stage {
        begun,
        opened,
        scenario,
        daemon,
        metrics,
        crash: None,
        promise,
    };
    let crash = wire.as_ref().zip(crash_test::when(args).ok());
    tokio::select! {
        gone = venue.gone() => return Err(gone),
        played = stage.play(screen, folder, &config, crash, length) => played?,
        () = signals.end() => {}
    }
    let Stage {
        mut daemon,
        mut crash,
        ..
    } = stage;
    screen.say("ending: cancelling all orders and proving that none rests");
    daemon.ask_to_end();
    let longest = Duration::from_millis(config.drain_deadline_ms) + GOODBYE;
    let status = tokio::select! {
        gone = venue.gone() => return Err(gone),
        status = daemon.end(longest) => status?,
    };
    if status.code().is_none() {
        anyhow::bail!(daemon.how(status));
    }
    let duration_s = begun.elapsed().as_secs_f64();

    let books = end_checks::books(&config).await?;
    let unknown_ids = crash.as_ref().map(Crash::unknown_ids).unwrap_or_default();
    let played = config
        .tape
        .as_ref()
        .map(|tape| end_checks::replay(&tape.dir, &unknown_ids))
        .transpose()?;
    venue.ask_to_end();
    let venue_status = venue.end(GOODBYE).await?;

    let output = daemon.output()?;
    let last_summary: Summary = serde_json::from_str(&output)
        .with_context(|| format!("the daemon printed no summary:\n{}", daemon.last_words()))?;
    let mut problems = Vec::new();
    let summary = conclude(
        args,
        duration_s,
        last_summary,
        crash.is_some(),
        (&books, played.as_ref()),
        &mut problems,
    );
    if let (Some(crash), Some(played)) = (&mut crash, &played) {
        crash.conclude(played, &books, &config)?;
    }
    problems.extend(unproven(&summary));
    problems.extend(crash.iter().flat_map(Crash::problems));
    problems.extend(expectations::problems(
        (&config, promise),
        &summary,
        crash.as_ref(),
        scenario,
    )?);
    if !status.success() {
        let how = daemon.how(status);
        problems.push(format!("{how}:\n{}", daemon.last_words()));
    }
    if !venue_status.success() {
        let how = venue.how(venue_status);
        problems.push(format!("{how}:\n{}", venue.last_words()));
    }
    Ok((summary, crash, problems))
}

/// State while the demo runs.
struct Stage<'p> {
    begun: Instant,
    opened: Instant,
    scenario: &'p mut ScenarioPlayer,
    daemon: Child,
    metrics: String,
    crash: Option<Crash>,
    promise: Promise,
}

impl Stage<'_> {
    /// Shows the daemon until the time is over, and kills it in between if that is planned.
    async fn play(
        &mut self,
        screen: &mut ProgressLine,
        folder: &Folder,
        config: &Daemon,
        crash: Option<(&RecordingProxy, Duration)>,
        length: Option<Duration>,
    ) -> anyhow::Result<()> {
        if let Some((wire, at)) = crash {
            if self.show(screen, Some(at)).await? == Shown::Ended {
                return Ok(());
            }
            screen.say("killing the daemon with SIGKILL in the middle of a submit");
            let file = match self.promise {
                Promise::Quotes | Promise::Total => config.source.path.clone(),
                Promise::PoolShares => {
                    screen.say("after the restart the daemon's target is no pool shares");
                    files::write_leaving(folder.path())?
                }
            };
            let again = || daemon(folder, &file, "daemon-again");
            let most = self.scenario.recovery_max();
            let what = (config, self.promise);
            let pulled = crash_test::pull(self.begun, wire, &mut self.daemon, what, most, again);
            let (daemon, metrics, crash) = pulled.await?;
            screen.say(&crash.recovery_line());
            self.daemon = daemon;
            self.metrics = metrics;
            self.crash = Some(crash);
        }
        self.show(screen, length).await.map(|_| ())
    }

    /// Shows the daemon's line until `until`, or until the daemon ends.
    async fn show(
        &mut self,
        screen: &mut ProgressLine,
        until: Option<Duration>,
    ) -> anyhow::Result<Shown> {
        let mut next = self.begun.elapsed() + Duration::from_secs(1);
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let now = self.begun.elapsed();
            for text in self.scenario.due_events(self.opened.elapsed()) {
                screen.say(&format!("{:>4} s{SEPARATOR}{text}", now.as_secs()));
            }
            match self.daemon.exited()? {
                // Killed by a signal: it has printed nothing; its next start recovers.
                Some(status) if status.code().is_none() => anyhow::bail!(self.daemon.how(status)),
                Some(_) => return Ok(Shown::Ended),
                None => {}
            }
            if until.is_some_and(|until| now >= until) {
                return Ok(Shown::TimeIsOver);
            }
            if now >= next {
                next = now + Duration::from_secs(1);
                if let Some(line) = status::line(&self.metrics).await {
                    screen.line(&format!("{:>4} s{SEPARATOR}{line}", now.as_secs()));
                }
            }
        }
    }
}

/// Why the loop ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    TimeIsOver,
    /// The daemon has ended by itself.
    Ended,
}

/// The summary of all runs of the daemon compared with the exchange and the tapes, and where profit and loss differ.
fn conclude(
    args: &DemoArgs,
    duration_s: f64,
    last_summary: Summary,
    was_killed: bool,
    (books, played): (&Books, Option<&ReplayedTapes>),
    problems: &mut Vec<String>,
) -> Summary {
    problems.extend(played.iter().flat_map(|played| unprofitable(played, books)));
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
    let residual = residual(&last_summary, books);
    Summary {
        seed: Some(args.seed),
        duration_s,
        resting_after: Some(books.resting()),
        residual_tokens: residual
            .iter()
            .map(|(token, units)| (token.clone(), books.whole(token, units)))
            .collect(),
        residual_units: residual,
        replay_equal: played.map(|played| played.equal),
        // Inventory and proof are those of the last run.
        inventory: last_summary.inventory.clone(),
        inventory_tokens: last_summary.inventory_tokens.clone(),
        orders: Orders {
            unknown_left: last_summary.orders.unknown_left,
            ..all_lives.as_ref().unwrap_or(&last_summary).orders.clone()
        },
        ..all_lives.unwrap_or(last_summary)
    }
}

/// Ledger minus the exchange's books, for every token of either. A daemon that ended before its books were opened has
/// traded nothing.
fn residual(summary: &Summary, books: &Books) -> BTreeMap<String, String> {
    if summary.inventory.is_empty() && summary.orders.submitted == 0 && books.orders.is_empty() {
        return BTreeMap::new();
    }
    let tokens = summary.inventory.keys().chain(books.totals.keys());
    tokens
        .map(|token| {
            let ledger = summary
                .inventory
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

/// Where profit and loss differs from the change of what the exchange holds, at the mid and without flows.
fn unprofitable(played: &ReplayedTapes, books: &Books) -> Vec<String> {
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
                "profit and loss assumes {} {token}, the exchange has {}",
                books.whole(token, &held.to_string()),
                books.whole(token, &there.to_string())
            ));
        }
    }
    problems
}

/// Why the end is not proven.
fn unproven(summary: &Summary) -> Vec<String> {
    let mut problems = Vec::new();
    if summary.resting_after != Some(0) {
        problems.push("own orders still rest at the exchange".to_owned());
    }
    if summary.orders.unknown_left > 0 {
        problems.push(format!(
            "{} orders are in an unknown state",
            summary.orders.unknown_left
        ));
    }
    for (token, amount) in &summary.residual_tokens {
        if amount != "0" {
            problems.push(format!("ledger and exchange differ by {amount} {token}"));
        }
    }
    if summary.replay_equal != Some(true) {
        problems.push("the tape does not replay to the same actions".to_owned());
    }
    problems
}
