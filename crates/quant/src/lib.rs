//! The mathematics of market making: quotes, estimators, pools, profit and loss, statistics.
//!
//! Pure functions and small states without clocks, files or chance. Models compute in floats
//! through `libm`, so that every platform gets the same digits; where money is decided (amounts of
//! pools, profit and loss) the arithmetic is exact. An input that is not a number or out of range
//! is an error with its name ([`Error`]). Every function, or the module it is in, names its source.
//!
//! | to do | use |
//! |---|---|
//! | quote under an inventory bound | [`glft`]: `Parameters::asymptotic` for a table by inventory |
//! | compare with Avellaneda–Stoikov, or value a quoting policy | [`avellaneda_stoikov`], [`policy_value`], [`simulation`] |
//! | sell or buy before a deadline | [`liquidation`] with limit orders, [`schedule`] over time |
//! | estimate the fair price | [`book`], [`micro_price`], [`mod@reference`] for several sources |
//! | estimate σ, A and k while trading | [`volatility::live`], [`intensity::live`]: states that can be stored |
//! | allow for latency, split a message budget | [`latency`] |
//! | place levels, skew by inventory | [`grid`], [`inventory`], [`lp::curve`] |
//! | trade a pool against the book, or the cheaper of both | [`pool`]: `Market::whole_optimum`, `Market::route` |
//! | hold, hedge and account for pool shares | [`lp`] |
//! | fill orders in backtests | [`queue`] |
//! | account for results and assess them | [`pnl`], [`performance`] |

#![allow(
    clippy::cast_precision_loss,
    reason = "counts and indices of models are far below 2^53"
)]
#![allow(
    clippy::many_single_char_names,
    reason = "the letters of the papers that are cited"
)]

pub mod avellaneda_stoikov;
pub mod book;
pub mod cartea_jaimungal;
mod error;
mod flow;
pub mod glft;
pub mod grid;
pub mod intensity;
pub mod inventory;
pub mod latency;
pub mod liquidation;
pub mod lp;
pub mod micro_price;
pub mod number;
pub mod performance;
pub mod pnl;
pub mod policy_value;
pub mod pool;
pub mod queue;
pub mod reference;
pub mod schedule;
pub mod simulation;
pub mod special;
mod spectrum;
pub mod volatility;

pub use error::{Error, Result};
pub use number::{Exact, Number};
