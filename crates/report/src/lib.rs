//! What a session came to: counts, profit and loss split exactly, latencies, tables for people.
//!
//! Everything is made from the engine's notes, the stream that logs and metrics are made from too, so
//! that no two views can disagree. Pure: no clock, no file, no terminal; it knows core's types and
//! nobody's numbers for refusals (the caller gives those).

pub mod money;
pub mod pnl;
mod pool_pnl;
mod pools;
pub mod session;
pub mod summary;
pub mod text;

mod sides;

#[cfg(test)]
mod testing;

pub use money::Money;
pub use pnl::{Attribution, MarketPnl, PoolAttribution};
pub use session::Session;
pub use summary::{Closing, Summary};
