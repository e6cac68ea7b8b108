//! `cambist tournament`: the shipped strategies against a maker with a well-known bot's default rules, on equal seeds.

use std::path::Path;

use anyhow::Context;
use cambist::commands::progress::Progress;
use cambist::commands::tournament::TournamentArgs;
use cambist::commands::{print_json, print_text};
use cambist::exit::{Exit, Failure};
use cambist::revision::{VERSION, program_hash};
use cambist::worker_pool::work;
use cambist_config::reader::Source;
use cambist_config::scenario::BUILT_IN;
use cambist_host::clock::Clock;

use crate::tournament::comparison::compare;
use crate::tournament::contestants;
use crate::tournament::plan::{Place, Plan};
use crate::tournament::results::{Games, Results};
use crate::tournament::setting::{DAEMON, Market};
use crate::tournament::text::{self, Head};
use cambist::interrupt::{Interrupt, finishing};

/// Most threads.
const JOBS_MAX: usize = 1_024;
/// Most seeds.
const SEEDS_MAX: u64 = 1_000_000;
/// Longest game, minutes.
const MINUTES_MAX: u64 = 1_440;

fn check(args: &TournamentArgs) -> Result<(), Failure> {
    let usage = |what: String| Err(Failure::new(Exit::Usage, what));
    if args.seeds == 0 || args.seeds > SEEDS_MAX {
        return usage(format!("--seeds must be 1 to {SEEDS_MAX}"));
    }
    if args.seed.checked_add(args.seeds - 1).is_none() {
        return usage(format!(
            "--seed {} with --seeds {} passes the last seed, {}",
            args.seed,
            args.seeds,
            u64::MAX
        ));
    }
    if args.minutes == 0 || args.minutes > MINUTES_MAX {
        return usage(format!("--minutes must be 1 to {MINUTES_MAX}"));
    }
    if args.jobs == 0 || args.jobs > JOBS_MAX {
        return usage(format!("--jobs must be 1 to {JOBS_MAX}"));
    }
    if let (Some(out), Some(results)) = (&args.out, &args.results)
        && same_file(out, results)
    {
        return usage("--out and --results are the same file".to_owned());
    }
    if let Some(out) = &args.out {
        let read = args.scenario.iter().map(Path::new);
        let mut read = read.chain(args.config.as_deref());
        if let Some(input) = read.find(|input| same_file(out, input)) {
            return usage(format!(
                "--out {} would replace {}, which is read",
                out.display(),
                input.display()
            ));
        }
        // Checked before the first game, not after the last.
        let folder = out.parent().filter(|folder| *folder != Path::new(""));
        if out.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
            return usage(format!(
                "--out {} is a folder, or in one that does not exist",
                out.display()
            ));
        }
    }
    let mut scenarios = args.scenario.clone();
    scenarios.sort();
    if scenarios.windows(2).any(|pair| pair[0] == pair[1]) {
        return usage("--scenario names a scenario twice".to_owned());
    }
    Ok(())
}

/// What plays the same games.
fn command(args: &TournamentArgs) -> String {
    let mut words = vec!["cambist tournament".to_owned()];
    words.push(format!("--seeds {} --seed {}", args.seeds, args.seed));
    words.push(format!("--minutes {}", args.minutes));
    for (option, values) in [("scenario", &args.scenario), ("strategy", &args.strategy)] {
        words.extend(values.iter().map(|value| format!("--{option} {value}")));
    }
    words.extend(
        args.config
            .iter()
            .map(|path| format!("--config {}", path.display())),
    );
    words.join(" ")
}

/// Whether two paths name one file, which need not exist.
fn same_file(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let (folder, name) = (absolute.parent(), absolute.file_name());
        let folder = folder.and_then(|folder| folder.canonicalize().ok());
        let there = absolute.canonicalize().ok();
        there
            .or_else(|| Some(folder?.join(name?)))
            .unwrap_or(absolute)
    };
    whole(one) == whole(other)
}

/// Plays what is left of a tournament and shows the comparison. Exit 1 if it was interrupted, 79 if an invariant of the
/// engine was violated.
pub fn run(args: &TournamentArgs, json: bool) -> anyhow::Result<Exit> {
    check(args)?;
    let clock = Clock::new();
    let plan = plan(args)?;
    let build = program_hash()?;
    let (mut results, mut games) = match &args.results {
        None => (None, Games::new()),
        Some(path) => {
            let (results, games) = Results::open(path, &build, &plan)?;
            if results.others > 0 {
                note!(
                    "{}: {} lines are of another program, scenario, configuration, or of other games; they are not used",
                    path.display(),
                    results.others
                );
            }
            (Some(results), games)
        }
    };
    let left: Vec<Place> = plan
        .places()
        .filter(|place| !games.contains_key(place))
        .collect();
    let weights = left.iter().map(|_| 1.0);
    let mut progress = Progress::new(clock, "games", games.len(), weights);
    let interrupt = Interrupt::wait(|| finishing("games"))?;
    work(
        left,
        args.jobs,
        interrupt.asked(),
        |place| plan.play(place),
        |place, played| {
            if let Some(results) = &mut results {
                results.add(&plan, place, played)?;
            }
            games.insert(place, played);
            progress.done(1.0);
            Ok(())
        },
    )?;
    progress.end();
    interrupt.is_over();
    if let Some(results) = results {
        results.close()?;
    }
    let all = plan.places().count();
    if games.len() < all {
        let next = args.results.as_ref().map_or_else(
            || "nothing is kept without --results".to_owned(),
            |path| format!("the same command goes on with {}", path.display()),
        );
        let what = format!(
            "interrupted: {} of {all} games are played; {next}",
            games.len()
        );
        return Err(Failure::new(Exit::CheckFailed, what).into());
    }
    report(args, &plan, &games, &build, json)
}

fn report(
    args: &TournamentArgs,
    plan: &Plan,
    games: &Games,
    build: &str,
    json: bool,
) -> anyhow::Result<Exit> {
    let rows = compare(plan, games);
    let head = Head {
        command: &command(args),
        version: VERSION,
        build,
        minutes: args.minutes,
    };
    let written = text::text(&head, plan, &rows);
    if json {
        print_json(&text::json(&head, plan, &rows))?;
    } else {
        print_text(&written)?;
    }
    if let Some(out) = &args.out {
        std::fs::write(out, &written).with_context(|| out.display().to_string())?;
    }
    let violations: u64 = rows.iter().map(|row| row.violations).sum();
    if violations > 0 {
        let what = format!("{violations} violated invariants of the engine");
        return Err(Failure::new(Exit::Invariant, what).into());
    }
    Ok(Exit::Done)
}

fn plan(args: &TournamentArgs) -> anyhow::Result<Plan> {
    let daemon = match &args.config {
        Some(path) => Source::read(path)?,
        None => Source {
            path: "config/tournament.toml".into(),
            text: DAEMON.to_owned(),
        },
    };
    let names: Vec<String> = if args.scenario.is_empty() {
        BUILT_IN
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect()
    } else {
        args.scenario.clone()
    };
    let markets: anyhow::Result<Vec<_>> = names
        .iter()
        .map(|name| Market::read(name, args.minutes * 60_000))
        .collect();
    let contestants = contestants::choose(&args.strategy)?;
    Plan::new(markets?, contestants, (args.seed, args.seeds), &daemon)
}
