//! `cambist sweep`: a backtest for every choice of parameters.

use std::path::PathBuf;

use cambist_host::clock::Clock;
use clap::Args;
use serde_json::json;

use super::progress::Progress;
use super::{print_json, print_text};
use crate::backtest::inputs::Inputs;
use crate::backtest::table::check_parquet;
use crate::exit::{Exit, Failure};
use crate::shard::Shard;
use crate::sweep::interruption::Kept;
use crate::sweep::journal::{Header, Journal};
use crate::sweep::outputs::{self, PAGE};
use crate::sweep::prepare::{Prepared, prepare, weight};
use crate::sweep::run;
use crate::sweep::statements::lasting;
use crate::sweep::summary::unused_s;
use crate::worker_pool;

/// Most threads.
const JOBS_MAX: usize = 1_024;

/// Arguments of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// What runs on what.
    #[command(flatten)]
    pub inputs: Inputs,
    /// The sweep file: parameters, search, windows (docs/sweep.md).
    #[arg(long, value_name = "FILE")]
    pub sweep: PathBuf,
    /// Folder of the results. A sweep that was interrupted goes on with the same command.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Replace the results of another sweep.
    #[arg(long)]
    pub overwrite: bool,
    /// Write runs.parquet too; needs a build with the feature `parquet`.
    #[arg(long)]
    pub parquet: bool,
    /// Threads; by default one for each core.
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Only this part of the runs, into a folder of its own below --out; `cambist merge` joins the parts. By
    /// default that of a Slurm array or a Kubernetes indexed job.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Number of parts, where the scheduler does not give it (Kubernetes); also $CAMBIST_SHARDS.
    #[arg(long, value_name = "N", conflicts_with = "shard")]
    pub shards: Option<u64>,
    /// Read and check everything, say how many runs there are, and run none.
    #[arg(long)]
    pub dry_run: bool,
}

/// Runs a sweep, or goes on with one. Exit 77 if every run was refused, 79 if an invariant of the engine failed, 130 or 143
/// if a signal ended it.
pub fn run(args: &SweepArgs, json: bool) -> anyhow::Result<Exit> {
    let clock = Clock::new();
    let jobs = jobs(args.jobs)?;
    check_parquet(args.parquet)?;
    let shard = Shard::choose(args.shard, args.shards)?;
    let prepared = prepare(&args.inputs, &args.sweep)?;
    if args.dry_run {
        return dry_run(&prepared, shard, json);
    }
    let header = Header {
        shard,
        ..prepared.header.clone()
    };
    let folder = shard.map_or_else(
        || args.out.clone(),
        |shard| args.out.join(shard.file_name()),
    );
    let mut journal = Journal::open(&folder, header, args.overwrite)?;
    let missing = journal.missing();
    let weights = missing.iter().map(|run| weight(&prepared, *run));
    let all = journal.rows().len() + missing.len();
    let mut progress = Progress::new(clock, "runs", journal.rows().len(), weights);
    let kept = Kept::new(&folder, (journal.rows().len(), all), shard);
    let interrupt = kept.wait_for_signals()?;
    worker_pool::work(
        missing.clone(),
        jobs,
        interrupt.asked(),
        |number| run::run(&prepared.plan, &prepared.plan.spec(number)),
        |number, row| {
            journal.add(&row)?;
            kept.add();
            progress.done(weight(&prepared, number));
            Ok(())
        },
    )?;
    progress.end();
    if kept.runs() < all {
        interrupted(&kept, interrupt.code(), json)?;
    }
    let (header, rows) = journal.complete()?;
    let took = format!(
        "{} of {} runs were made in this call",
        missing.len(),
        rows.len()
    );
    if let Some(shard) = shard {
        eprintln!("shard {shard} is complete in {}; {took}", folder.display());
        if json {
            let value = json!({"shard": shard.to_string(), "runs": rows.len(), "folder": folder.display().to_string()});
            print_json(&value)?;
        }
        return Ok(Exit::Done);
    }
    let written = outputs::write(&folder, &header, &rows, args.parquet)?;
    print_text(if json { &written.json } else { &written.text })?;
    eprintln!("{took}; page: {}", folder.join(PAGE).display());
    Ok(outputs::exit(&written.summary))
}

/// States what an interrupted sweep has kept, and ends the program with the code of the signal.
fn interrupted(kept: &Kept, code: i32, json: bool) -> anyhow::Result<()> {
    let what = kept.text();
    if json {
        print_json(&json!({
            "error": format!("interrupted: {what}"),
            "exit": code,
            "runs_kept": kept.runs(),
            "resume": kept.command(),
        }))?;
    }
    eprintln!("{what}; this continues the sweep:\n  {}", kept.command());
    std::process::exit(code)
}

fn jobs(requested: Option<usize>) -> Result<usize, Failure> {
    match requested {
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        Some(jobs) if (1..=JOBS_MAX).contains(&jobs) => Ok(jobs),
        Some(_) => Err(Failure::new(
            Exit::Usage,
            format!("--jobs must be 1 to {JOBS_MAX}"),
        )),
    }
}

fn dry_run(prepared: &Prepared, shard: Option<Shard>, json: bool) -> anyhow::Result<Exit> {
    let header = &prepared.header;
    let trials = prepared.plan.space.trials();
    let own = Header {
        shard,
        ..header.clone()
    };
    let own = own.own_runs().count();
    if json {
        let value = json!({
            "trials": trials,
            "windows": header.windows,
            "runs": header.runs,
            "shard": shard.map(|shard| shard.to_string()),
            "shard_runs": own,
            "unused_s": unused_s(header),
        });
        print_json(&value)?;
    } else {
        let windows = header.windows.len();
        let parts = match windows {
            0 => "all of the data".to_owned(),
            n => {
                let unused = unused_s(header).filter(|seconds| *seconds > 0.0);
                let unused = unused.map_or_else(String::new, |seconds| {
                    format!(" (the last {} of the data are in none)", lasting(seconds))
                });
                format!("train and test of {n} windows{unused}")
            }
        };
        let part = shard.map_or_else(String::new, |shard| {
            format!("; {own} of them in shard {shard}")
        });
        let exhausted = prepared.plan.space.exhausted();
        let exhausted = exhausted.map_or_else(String::new, |what| format!("{what}\n"));
        print_text(&format!(
            "{trials} trials on {parts}: {} runs{part}\n{exhausted}",
            header.runs
        ))?;
    }
    Ok(Exit::Done)
}
