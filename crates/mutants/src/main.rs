//! Deliberate defects and mutations: edits of a copy of the sources, and what finds them.
//!
//! The sources that trade hold no defects. This program copies them below `target`, edits the copy (every edit is a
//! switch, off unless it is turned on by its number), builds it once, and runs it with one switch on after the other.

mod cargo;
mod clock;
mod defects;
mod edits;
mod mutation;
mod search;
mod text;
mod tree;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Edits of a copy of the sources, and what finds them.
#[derive(Debug, Parser)]
#[command(name = "mutants")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Search for every deliberate defect with simulated worlds; exit 1 if one is not found.
    #[command(after_help = "Examples:
  cargo run --release --package cambist-mutants -- defects
  cargo run --release --package cambist-mutants -- defects --rare --json
  cargo run --release --package cambist-mutants -- defects grace_forgotten fence_early

A world that found a defect is shown in the copy, with the defect's number in the environment:
  cd target/mutants/defects
  CAMBIST_SWITCH=21 cargo run --release -- sim --seeds 1 --seed 4 --trace")]
    Defects(search::DefectArgs),
    /// Measure how many small changes of the sources tests and simulated worlds find; exit 1 if any survived that
    /// is not named equivalent in crates/mutants/equivalent.txt.
    #[command(after_help = "Examples:
  cargo run --release --package cambist-mutants -- mutation
  cargo run --release --package cambist-mutants -- mutation --area core --count 60 --worlds 60@600000
  cargo run --release --package cambist-mutants -- mutation --report

An interrupted campaign continues: what is known of a mutant is kept in --results.")]
    Mutation(mutation::MutationArgs),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Defects(args) => search::run(&args),
        Command::Mutation(args) => mutation::run(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
