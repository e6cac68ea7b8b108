//! Names the files of a market whose data have no rows.

use cambist_backtest::BacktestError;

use crate::backtest::inputs::Inputs;
use crate::exit::{self, Failure};

/// An error of a command with data: where a market has no rows, it names the market's files and what to do.
pub fn naming_the_files(error: anyhow::Error, inputs: &Inputs) -> anyhow::Error {
    let found = error.chain().find_map(|cause| cause.downcast_ref());
    let Some(BacktestError::NoRows { market, rows }) = found else {
        return error;
    };
    let of = |name: Option<&str>| name.is_none_or(|name| name == market);
    let files: Vec<_> = inputs
        .data
        .iter()
        .filter(|file| of(file.market.as_deref()))
        .map(|file| file.path.display().to_string())
        .collect();
    let remedy = match rows {
        0 => {
            "a header without rows is that of an export without data, or of one that was interrupted: export again, or name other files with --data"
        }
        _ => {
            "rows of ticks change the book only if they have the exchange's bit of their event word; a snapshot without times is taken with the first row that has one, best bids and asks (kind 5) are not used, and rows that --skip leaves out do not count: export again, or name other files with --data"
        }
    };
    let what = format!("{}: {}; {remedy}", files.join(", "), exit::line(&error));
    Failure::new(exit::of(&error), what).into()
}
