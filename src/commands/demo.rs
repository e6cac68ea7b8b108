//! `cambist demo`: an exchange, a daemon, and somebody who watches and checks.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use cambist_core::event::Command;
use cambist_report::text::SEPARATOR;
use cambist_report::{Summary, text};
use tokio::time::Instant;

use super::{print_json, print_text};
use crate::cli::DemoArgs;
use crate::config::{Daemon, Exchange};
use crate::demo::child::{Child, LOOK};
use crate::demo::files::{self, Folder};
use crate::demo::proof::{self, Books};
use crate::demo::screen::Screen;
use crate::demo::status;
use crate::exit::{self, Exit, Failure};
use crate::live::signals::Signals;

/// The children have this long to be ready.
const READY: Duration = Duration::from_secs(20);
/// The exchange has this long to end.
const GOODBYE: Duration = Duration::from_secs(10);

/// Makes a market on an exchange of its own.
pub fn run(args: &DemoArgs, json: bool) -> anyhow::Result<Exit> {
    if let Some(name) = &args.strategy {
        super::strategy::find(name)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(watch(args, json))
}

async fn watch(args: &DemoArgs, json: bool) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen(false).context("listening to signals")?;
    let mut screen = Screen::new();
    let mut folder = Folder::new()?;
    let result = scene(args, &mut screen, &mut folder, &mut signals).await;
    let (summary, problems) = match result {
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
        print_json(&exit::with_failures(shape(&summary)?, &failures))?;
    } else {
        print_text(&format!("\n{}", text::summary(&summary)))?;
    }
    for problem in &problems {
        screen.say(&format!("NOT PROVEN: {problem}"));
    }
    where_to_look(&mut screen, &folder);
    if !problems.is_empty() {
        return Ok(Exit::CheckFailed);
    }
    if !json {
        print_text(&next(args))?;
    }
    Ok(Exit::Done)
}

fn where_to_look(screen: &mut Screen, folder: &Folder) {
    if folder.is_kept() {
        let path = folder.path().display();
        screen.say(&format!("everything the demo wrote is in {path}"));
    }
}

/// What was proven, and what to try next: never what was just tried.
fn next(args: &DemoArgs) -> String {
    let other = match args.strategy.as_deref() {
        Some("ladder") => "bands",
        Some(_) | None => "ladder",
    };
    let seed = args.seed.checked_add(1).unwrap_or(1);
    let again = format!("cambist demo --strategy {other} --seed {seed}");
    format!(
        "
Nothing rests, the ledger equals the exchange's books to the unit, and the tape
replays to the same actions.

Next:
  {again:<42} another strategy, another crowd
  {:<42} what can quote, and how it is tuned
  {:<42} the exchange alone, one terminal
  {:<42} the daemon against it, another
",
        "cambist strategy list",
        "cambist venue --config config/venue.toml",
        "cambist run --config config/demo.toml",
    )
}

/// The summary in the shape that is promised: without what only texts need.
fn shape(summary: &Summary) -> anyhow::Result<serde_json::Value> {
    let mut value = serde_json::to_value(summary)?;
    if let Some(object) = value.as_object_mut() {
        object.remove("ends");
        object.remove("quote");
        object.remove("inventory_tokens");
    }
    Ok(value)
}

/// Both processes, trading.
struct Cast {
    venue: Child,
    daemon: Child,
    config: Daemon,
    metrics: String,
}

/// Starts both processes.
async fn open(args: &DemoArgs, screen: &mut Screen, folder: &mut Folder) -> anyhow::Result<Cast> {
    let venue_file = files::write_venue(folder.path(), args.seed)?;
    let venue_text = venue_file.display().to_string();
    let mut venue = Child::start(
        "exchange",
        folder.path(),
        &["venue", "--config", &venue_text, "--until-stdin-closes"],
    )?;
    folder.keep(true);
    let address_file = Exchange::load(&venue_file)?.address_file();
    let address = venue.address(&address_file, READY).await?;
    let base_url = format!("http://{address}");
    screen.say(&format!(
        "exchange at {base_url}, crowd with seed {}",
        args.seed
    ));

    let strategy = args.strategy.as_deref();
    let daemon_file = files::write_daemon(folder.path(), &base_url, strategy)?;
    let config = Daemon::load(&daemon_file)?;
    let daemon_text = daemon_file.display().to_string();
    let mut daemon = Child::start(
        "daemon",
        folder.path(),
        &[
            "run",
            "--config",
            &daemon_text,
            "--json",
            "--until-stdin-closes",
        ],
    )?;
    let metrics = daemon
        .address(&config.metrics_address_file(), READY)
        .await?;
    screen.say(&format!(
        "daemon trades; http://{metrics}/metrics, Ctrl-C ends the demo"
    ));
    Ok(Cast {
        venue,
        daemon,
        config,
        metrics,
    })
}

/// Runs both processes and checks what they left.
async fn scene(
    args: &DemoArgs,
    screen: &mut Screen,
    folder: &mut Folder,
    signals: &mut Signals,
) -> anyhow::Result<(Summary, Vec<String>)> {
    let opened = tokio::select! {
        opened = open(args, screen, folder) => Some(opened?),
        () = told_to_end(signals) => None,
    };
    let Some(Cast {
        mut venue,
        mut daemon,
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
    tokio::select! {
        gone = venue.gone() => return Err(gone),
        shown = show(screen, &mut daemon, &metrics, length) => shown?,
        () = told_to_end(signals) => {}
    }
    screen.say("ending: cancelling everything and proving that nothing rests");
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

    let books = proof::books(&config).await?;
    let replayed = config
        .tape
        .as_ref()
        .map(|tape| proof::replay(&tape.dir))
        .transpose()?;
    venue.ask_to_end();
    let venue_status = venue.end(GOODBYE).await?;

    let output = daemon.output()?;
    let summary: Summary = serde_json::from_str(&output)
        .with_context(|| format!("the daemon told no summary:\n{}", daemon.last_words()))?;
    let summary = Summary {
        seed: Some(args.seed),
        duration_s,
        resting_after: Some(books.resting),
        residual_units: residual(&summary, &books),
        replay_equal: replayed,
        ..summary
    };
    let mut problems = problems(&summary);
    if !status.success() {
        let how = daemon.how(status);
        problems.push(format!("{how}:\n{}", daemon.last_words()));
    }
    if !venue_status.success() {
        let how = venue.how(venue_status);
        problems.push(format!("{how}:\n{}", venue.last_words()));
    }
    Ok((summary, problems))
}

/// Until somebody wants the end; a level means nothing here.
async fn told_to_end(signals: &mut Signals) {
    while signals.next().await != Command::Drain {}
}

/// Shows the daemon's line until the time is over or the daemon ends by itself.
async fn show(
    screen: &mut Screen,
    daemon: &mut Child,
    metrics: &str,
    length: Option<Duration>,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut next = Duration::from_secs(1);
    loop {
        tokio::time::sleep(LOOK).await;
        let now = begun.elapsed();
        match daemon.exited()? {
            // By a signal: it has told nothing, and what it left is for its next start.
            Some(status) if status.code().is_none() => anyhow::bail!(daemon.how(status)),
            Some(_) => return Ok(()),
            None => {}
        }
        if length.is_some_and(|length| now >= length) {
            return Ok(());
        }
        if now >= next {
            next = now + Duration::from_secs(1);
            if let Some(line) = status::line(metrics).await {
                screen.line(&format!("{:>4} s{SEPARATOR}{line}", now.as_secs()));
            }
        }
    }
}

/// Ledger less the exchange's books, for every token that either knows.
fn residual(summary: &Summary, books: &Books) -> BTreeMap<String, String> {
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

/// What keeps the end from being proven.
fn problems(summary: &Summary) -> Vec<String> {
    let mut problems = Vec::new();
    if summary.resting_after != Some(0) {
        problems.push("own orders rest at the exchange".to_owned());
    }
    if summary.orders.unknown_left > 0 {
        problems.push(format!(
            "{} orders are unknown",
            summary.orders.unknown_left
        ));
    }
    for (token, units) in &summary.residual_units {
        if units != "0" {
            problems.push(format!(
                "ledger and exchange differ by {units} units of {token}"
            ));
        }
    }
    if summary.replay_equal != Some(true) {
        problems.push("the tape does not replay to the same actions".to_owned());
    }
    problems
}
