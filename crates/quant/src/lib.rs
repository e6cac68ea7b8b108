//! The mathematics of market making: quotes, estimators, pools, profit and loss, statistics.
//!
//! Pure functions and small states without clocks, files or chance. Models compute in floats through
//! `libm`, so that every platform gets the same digits; where money is decided (amounts of pools,
//! profit and loss) the arithmetic is exact. What is no number, or out of range, is refused by name
//! ([`Error`]); no function guesses. Every public function names its source.

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
pub mod schedule;
pub mod simulation;
pub mod special;
mod spectrum;
pub mod volatility;

pub use error::{Error, Result};
pub use number::{Exact, Number};
