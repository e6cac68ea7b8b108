//! `cambist config`: schema and reference of the configuration files.

use clap::{Subcommand, ValueEnum};

use super::{print_json, print_text};
use crate::exit::Exit;
use crate::schema;
use cambist_config::Kind;

/// What to print about configuration files.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the JSON Schema of a file, for editors. It knows keys, types, ranges and words; `check` knows all.
    #[command(
        after_help = "Examples:\n  cambist config schema daemon > daemon.schema.json\n  cambist config schema exchange > exchange.schema.json"
    )]
    Schema {
        /// Whose file.
        #[arg(value_enum, default_value = "daemon")]
        file: File,
    },
    /// Print the reference of every key of both files, in Markdown.
    #[command(after_help = "Example:\n  cambist config reference > docs/configuration.md")]
    Reference,
}

/// A file.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum File {
    /// The daemon's.
    Daemon,
    /// The exchange's.
    Exchange,
}

/// Prints it.
pub fn run(command: &ConfigCommand) -> anyhow::Result<Exit> {
    match command {
        ConfigCommand::Schema { file } => {
            let kind = match file {
                File::Daemon => Kind::Daemon,
                File::Exchange => Kind::Exchange,
            };
            print_json(&schema::schema(kind)?)?;
        }
        ConfigCommand::Reference => print_text(&schema::reference::page()?)?,
    }
    Ok(Exit::Done)
}
