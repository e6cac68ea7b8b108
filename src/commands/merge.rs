//! `cambist merge`: joins the parts of a sweep or of a campaign of simulated worlds.

use std::path::PathBuf;

use anyhow::Context as _;
use cambist_market_data::first_bytes::unread;
use clap::Args;

use super::print_text;
use crate::backtest::table::check_parquet;
use crate::exit::{Exit, Failure};
use crate::simulator;
use crate::sweep;
use crate::sweep::outputs::{self, PAGE};

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Folders of the shards of a sweep, or one folder with all of them; or files of `sim --results`.
    #[arg(required = true, value_name = "PART")]
    pub parts: Vec<PathBuf>,
    /// Folder of the results of a sweep, or file of those of `sim`.
    #[arg(long, value_name = "PATH")]
    pub out: PathBuf,
    /// Replace results that are there.
    #[arg(long)]
    pub overwrite: bool,
    /// Write runs.parquet too; needs a build with the feature `parquet`.
    #[arg(long)]
    pub parquet: bool,
}

/// Joins parts; refuses gaps, overlaps and parts of different works.
pub fn run(args: &MergeArgs, json: bool) -> anyhow::Result<Exit> {
    check_parquet(args.parquet)?;
    if let Some(missing) = args.parts.iter().find(|part| !part.exists()) {
        let what = format!("{}: there is no such file or folder", missing.display());
        return Err(Failure::new(Exit::Usage, what).into());
    }
    let folders = args.parts.iter().filter(|part| part.is_dir()).count();
    if folders == 0 {
        for part in &args.parts {
            // Refused before anything is started.
            let opened = cambist_market_data::open_file(part);
            opened.with_context(|| format!("results file {}", part.display()))?;
            if let Some(what) = unread(part) {
                anyhow::bail!("results file {}: {what}", part.display());
            }
        }
        return simulator::run();
    }
    if folders < args.parts.len() {
        let what = "parts are folders (of a sweep) or files (of sim), not both";
        return Err(Failure::new(Exit::Usage, what).into());
    }
    let merged = sweep::merge::merge(&args.parts)?;
    sweep::merge::write(&args.out, &merged, args.overwrite)?;
    let written = outputs::write(&args.out, &merged.header, &merged.rows, args.parquet)?;
    print_text(if json { &written.json } else { &written.text })?;
    eprintln!(
        "{} runs; page: {}",
        merged.rows.len(),
        args.out.join(PAGE).display()
    );
    Ok(outputs::exit(&written.summary))
}
