//! Errors of creating or running a backtest.

use cambist_fill_model::OptionsError;
use cambist_market_data::Timestamp;

/// On which side of the requested time the data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Outside {
    /// They end before its beginning.
    #[error("they are of {begin} to {end}, before its beginning, {from}")]
    Before {
        /// Their first time.
        begin: Timestamp,
        /// Their last time.
        end: Timestamp,
        /// The beginning of the requested time.
        from: Timestamp,
    },
    /// They do not begin before its end.
    #[error("they begin at {begin}, not before its end, {to}")]
    Behind {
        /// Their first time.
        begin: Timestamp,
        /// The end of the requested time.
        to: Timestamp,
    },
    /// The requested time does not end after it begins.
    #[error("it begins at {from}, not before its end, {to}")]
    Reversed {
        /// Its beginning.
        from: Timestamp,
        /// Its end.
        to: Timestamp,
    },
}

/// Why a backtest cannot be created or continued.
#[derive(Debug, thiserror::Error)]
pub enum BacktestError {
    /// An invalid assumption.
    #[error("{0}")]
    Assumption(String),
    /// Assumptions about fills that are invalid, or that these data do not support.
    #[error("{0}")]
    FillModel(#[from] OptionsError),
    /// The tick or lot of the recording is finer than that of the market.
    #[error(
        "market {market}: the data's {what} {data} is not a multiple of the market's {own}; {remedy}"
    )]
    Grid {
        /// Market name.
        market: String,
        /// `tick` or `lot`.
        what: &'static str,
        /// Value in the recording.
        data: String,
        /// Value of the market.
        own: String,
        /// What to change.
        remedy: &'static str,
    },
    /// The configuration needs something that is not simulated.
    #[error("{0}")]
    Unsupported(String),
    /// No rows at all.
    #[error(
        "the data of {market} have no rows that change its book at the exchange ({rows} rows read)"
    )]
    NoRows {
        /// Market name.
        market: String,
        /// Rows that were read, and left out or without effect.
        rows: u64,
    },
    /// No price to value anything at.
    #[error(
        "the data of {market} never had a bid below an ask: nothing could be quoted, and nothing that is held has a value"
    )]
    NoMid {
        /// Market name.
        market: String,
    },
    /// No rows within the requested time.
    #[error("the data of {market} have no rows within the requested time: {data}")]
    Empty {
        /// Market name.
        market: String,
        /// Where the data are.
        data: Outside,
    },
    /// The data of two markets have no time in common.
    #[error(
        "the data of {ended} end at {end}, before those of {late} begin at {begin}: a run needs the data of all its markets at once"
    )]
    Apart {
        /// The market whose data end first.
        ended: String,
        /// Their last time.
        end: Timestamp,
        /// The market whose data begin last.
        late: String,
        /// Their first time.
        begin: Timestamp,
    },
    /// The data are invalid.
    #[error(transparent)]
    Data(#[from] Box<cambist_market_data::Error>),
    /// The process of a strategy ended too often.
    #[error("{0}")]
    Process(String),
    /// Results could not be written.
    #[error("results could not be written: {0}")]
    Output(#[from] std::io::Error),
}
