//! `cambist demo`: an exchange, a daemon, and somebody who watches and checks.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
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
use crate::exit::Exit;

/// The children have this long to be ready.
const READY: Duration = Duration::from_secs(20);
/// The exchange has this long to end.
const GOODBYE: Duration = Duration::from_secs(10);

/// Makes a market on an exchange of its own.
pub fn run(args: &DemoArgs, json: bool) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(watch(args, json))
}

async fn watch(args: &DemoArgs, json: bool) -> anyhow::Result<Exit> {
    let mut screen = Screen::new();
    let folder = Folder::new()?;
    let result = scene(args, &mut screen, folder.path()).await;
    let (summary, problems) = match result {
        Ok(ended) => ended,
        Err(error) => {
            screen.say(&format!(
                "everything the demo wrote is in {}",
                folder.path().display()
            ));
            return Err(error);
        }
    };
    if json {
        print_json(&shape(&summary)?)?;
    } else {
        print_text(&format!("\n{}", text::summary(&summary)))?;
    }
    for problem in &problems {
        screen.say(&format!("NOT PROVEN: {problem}"));
    }
    if problems.is_empty() {
        folder.discard();
        if !json {
            print_text(NEXT)?;
        }
        return Ok(Exit::Done);
    }
    screen.say(&format!(
        "everything the demo wrote is in {}",
        folder.path().display()
    ));
    Ok(Exit::CheckFailed)
}

const NEXT: &str = "
Nothing rests, the ledger equals the exchange's books to the unit, and the tape
replays to the same actions.

Next:
  cambist demo --strategy ladder --seed 7      another strategy, another crowd
  cambist strategy list                        what can quote, and how it is tuned
  cambist venue --config config/venue.toml     the exchange alone, in one terminal
  cambist run --config config/demo.toml        the daemon against it, in another
";

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

/// Runs both processes and checks what they left.
async fn scene(
    args: &DemoArgs,
    screen: &mut Screen,
    folder: &Path,
) -> anyhow::Result<(Summary, Vec<String>)> {
    let venue_file = files::write_venue(folder, args.seed)?;
    let venue_text = venue_file.display().to_string();
    let mut venue = Child::start(
        "exchange",
        folder,
        &["venue", "--config", &venue_text, "--until-stdin-closes"],
    )?;
    let address_file = Exchange::load(&venue_file)?.address_file();
    let address = venue.address(&address_file, READY).await?;
    let base_url = format!("http://{address}");
    screen.say(&format!(
        "exchange at {base_url}, crowd with seed {}",
        args.seed
    ));

    let daemon_file = files::write_daemon(folder, &base_url, args.strategy.as_deref())?;
    let config = Daemon::load(&daemon_file)?;
    let daemon_text = daemon_file.display().to_string();
    let mut daemon = Child::start(
        "daemon",
        folder,
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

    let begun = Instant::now();
    let length = if args.forever {
        None
    } else {
        Some(Duration::from_secs(args.duration))
    };
    show(screen, &mut daemon, &metrics, length).await?;
    screen.say("ending: cancelling everything and proving that nothing rests");
    daemon.ask_to_end();
    let longest = Duration::from_millis(config.drain_deadline_ms) + GOODBYE;
    let status = daemon.end(longest).await?;
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
        problems.push(format!(
            "the daemon ended with {status}:\n{}",
            daemon.last_words()
        ));
    }
    if !venue_status.success() {
        problems.push(format!(
            "the exchange ended with {venue_status}:\n{}",
            venue.last_words()
        ));
    }
    Ok((summary, problems))
}

/// Shows the daemon's line until the time is over, somebody ends it, or the daemon ends by itself.
async fn show(
    screen: &mut Screen,
    daemon: &mut Child,
    metrics: &str,
    length: Option<Duration>,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut next = Duration::from_secs(1);
    let interrupted = tokio::signal::ctrl_c();
    tokio::pin!(interrupted);
    loop {
        tokio::select! {
            pressed = &mut interrupted => return Ok(pressed?),
            () = tokio::time::sleep(LOOK) => {}
        }
        let now = begun.elapsed();
        if daemon.exited()?.is_some() || length.is_some_and(|length| now >= length) {
            return Ok(());
        }
        if now >= next {
            next = now + Duration::from_secs(1);
            if let Some(line) = status::line(metrics).await {
                screen.line(&format!("{:>4} s | {line}", now.as_secs()));
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
