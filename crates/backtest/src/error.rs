//! Why a backtest cannot be made or cannot go on.

use cambist_fill_model::OptionsError;

/// Why a backtest cannot be made or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum BacktestError {
    /// An assumption that means nothing.
    #[error("{0}")]
    Assumption(String),
    /// Assumptions about fills that mean nothing for these data.
    #[error("{0}")]
    FillModel(#[from] OptionsError),
    /// The recording is finer than the market.
    #[error(
        "market {market}: the data's {what} {data} is no multiple of the market's {own}; {remedy}"
    )]
    Grid {
        /// Market name.
        market: String,
        /// `tick` or `lot`.
        what: &'static str,
        /// Of the recording.
        data: String,
        /// Of the market.
        own: String,
        /// What to change.
        remedy: &'static str,
    },
    /// What cannot be simulated.
    #[error("{0}")]
    Unsupported(String),
    /// There is nothing to run on.
    #[error("the data of {market} hold nothing within the time asked for")]
    Empty {
        /// Market name.
        market: String,
    },
    /// The data are bad.
    #[error(transparent)]
    Data(#[from] Box<cambist_market_data::Error>),
    /// Results could not be written.
    #[error("results could not be written: {0}")]
    Output(#[from] std::io::Error),
}
