//! `cambist tournament`: its arguments. `cambist-simulator` runs it.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `tournament`.
#[derive(Debug, Args)]
pub struct TournamentArgs {
    /// Number of seeds: games of every contestant at every scenario
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub seeds: u64,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Length of a game in simulated minutes, 1 to 1440
    #[arg(long, value_name = "MINUTES", default_value_t = 10)]
    pub minutes: u64,
    /// A scenario, by name or path; can be repeated. Without it, all that are shipped
    #[arg(long, value_name = "NAME|FILE")]
    pub scenario: Vec<String>,
    /// A contestant; can be repeated. Without it, all; `reference` always plays
    #[arg(long, value_name = "NAME")]
    pub strategy: Vec<String>,
    /// The daemon's configuration that the strategies play with, of one market; their strategies replace its own.
    /// Without it, config/tournament.toml as shipped
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Number of threads, 1 to 1024
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub jobs: usize,
    /// Write the tables to this file as well
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Keep results in this file, one line for each game, and do not play those games again
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,
}
