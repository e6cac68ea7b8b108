//! `cambist compare`: several backtests on one page.

use std::path::PathBuf;

use anyhow::Context;
use cambist_backtest::compare::CURVES_MAX;
use clap::Args;

use super::{columns, print_json, print_text};
use crate::backtest::compare::{Named, RunResults, json, named, notes, page, table};
use crate::exit::{Exit, Failure};

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Folders of results of `backtest` or of paper trading, two at least.
    #[arg(required = true, value_name = "[NAME=]DIR", value_parser = named)]
    pub runs: Vec<Named>,
    /// The page.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Replace a page that is there.
    #[arg(long)]
    pub overwrite: bool,
}

/// Writes the page, and prints the figures.
pub fn run(args: &CompareArgs, as_json: bool) -> anyhow::Result<Exit> {
    let usage = |what: String| Err(Failure::new(Exit::Usage, what).into());
    if !(2..=CURVES_MAX).contains(&args.runs.len()) {
        return usage(format!("name 2 to {CURVES_MAX} folders of results"));
    }
    for (index, run) in args.runs.iter().enumerate() {
        if args.runs[..index]
            .iter()
            .any(|other| other.name == run.name)
        {
            let shown = run.folder.display();
            return usage(format!(
                "two runs are called {}: name them, as OTHER={shown}",
                run.name
            ));
        }
    }
    if args.out.exists() && !args.out.is_file() {
        let what = format!(
            "{}: it is there and no regular file: name another one with --out",
            args.out.display()
        );
        return usage(what);
    }
    if args.out.exists() && !args.overwrite {
        let what = format!(
            "{} is there already: name another file with --out, or replace it with --overwrite",
            args.out.display()
        );
        return usage(what);
    }
    let runs: Vec<_> = args
        .runs
        .iter()
        .map(RunResults::read)
        .collect::<anyhow::Result<_>>()?;
    std::fs::write(&args.out, page(&runs)).with_context(|| args.out.display().to_string())?;
    if as_json {
        print_json(&json(&runs))?;
    } else {
        print_text(&(columns(&table(&runs)) + &notes(&runs)))?;
    }
    eprintln!("page: {}", args.out.display());
    Ok(Exit::Done)
}
