//! The program `cambist-simulator`: campaigns of simulated worlds, and tournaments of strategies.
//!
//! `cambist sim` and `cambist tournament` run it (`cambist::simulator`). What a world is, and what must hold in it, is
//! in `crates/sim`; threads, files and output are here.

/// Prints a line to stderr. A reader that is gone, or a full disk, ends nothing.
macro_rules! note {
    ($($text:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{}\n", format_args!($($text)*)));
    }};
}

mod campaign;
mod commands;
mod results_file;
mod tournament;

#[cfg(test)]
#[path = "../../host/src/testing.rs"]
mod testing;

use std::process::ExitCode;

use cambist::cli::{SimulatorCommand, finish};
use cambist::commands::merge::MergeArgs;
use cambist::exit::Exit;
use clap::{Parser, Subcommand};

/// Simulated worlds, and tournaments of strategies in them; `cambist sim` and `cambist tournament` run this program.
#[derive(Debug, Parser)]
#[command(
    name = cambist::simulator::NAME,
    version = cambist::revision::VERSION,
    about
)]
struct Cli {
    /// Print exactly one JSON value to stdout; messages go to stderr
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

/// What `cambist` has this program do.
#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Simulator(SimulatorCommand),
    /// Merge the results of the shards of one campaign
    Merge(MergeArgs),
}

fn main() -> ExitCode {
    cambist::exit::on_panic();
    cambist_host::program::set_build(cambist::revision::BUILD);
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            let _ = error.print();
            return Exit::Usage.into();
        }
        // Help and version are not errors.
        Err(answer) => {
            let _ = answer.print();
            return Exit::Done.into();
        }
    };
    let done = match &cli.command {
        Command::Simulator(SimulatorCommand::Sim(args)) => commands::sim::run(args, cli.json),
        Command::Simulator(SimulatorCommand::Tournament(args)) => {
            commands::tournament::run(args, cli.json)
        }
        Command::Merge(args) => {
            campaign::merge::merge(&args.parts, &args.out, args.overwrite, cli.json)
        }
    };
    finish(done, cli.json).into()
}
