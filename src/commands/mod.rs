//! One file per command. Results go to stdout, everything else to stderr.

pub mod account;
pub mod account_funds;
pub mod account_keys;
pub mod account_open;
pub mod account_requests;
pub(crate) mod admin;
pub mod backtest;
pub mod check;
mod check_exchange;
mod check_gas;
pub(crate) mod check_limits;
pub mod check_online;
pub mod check_pin;
pub mod compare;
pub mod completions;
pub mod config;
pub mod daemon_control;
pub mod demo;
pub mod depth;
pub mod doctor;
pub mod history;
#[cfg(feature = "parquet")]
mod history_parquet;
pub mod init;
pub(crate) mod json_text;
pub mod keygen;
pub mod kraken_key;
pub mod merge;
mod new_strategy;
pub mod onboard;
pub mod panic;
pub mod portfolio;
mod portfolio_check;
pub mod progress;
pub mod replay;
pub mod report;
pub mod resume;
pub mod run;
pub mod set;
pub mod signer_config;
mod signer_limits;
pub mod sim;
pub(crate) mod stated_loss;
pub mod strategy;
pub mod sweep;
pub mod top;
pub mod tournament;
pub mod vectors;
pub mod venue;
pub mod venue_data;
pub mod watch;
pub mod why;

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

use serde::Serialize;

use crate::exit::{Exit, Failure};

/// Writes one JSON value to stdout.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    print_text(&format!("{text}\n"))
}

/// `cambist openapi`: prints the interface of an exchange.
pub fn openapi() -> anyhow::Result<crate::exit::Exit> {
    print_json(&cambist_protocol::openapi::document(None, true))?;
    Ok(crate::exit::Exit::Done)
}

/// Writes text to stdout. A closed stdout (`| head`) is not an error.
pub fn print_text(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Formats rows in columns, two spaces apart; the last column is not padded. Libraries of text tables bring borders,
/// colours and wrapping, and pad the last column.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Asks the user, unless they have agreed already.
pub fn confirm(question: &str, agreed: bool) -> anyhow::Result<()> {
    if agreed {
        return Ok(());
    }
    let refused = |what: &str| Failure::new(Exit::Usage, what.to_owned()).into();
    if !std::io::stdin().is_terminal() {
        return Err(refused(
            "there is no terminal for the confirmation; --yes confirms",
        ));
    }
    let mut stderr = std::io::stderr().lock();
    stderr.write_all(format!("{question} [y/N] ").as_bytes())?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        Ok(())
    } else {
        Err(refused("nothing was done"))
    }
}
