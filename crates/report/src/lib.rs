//! Results of a session: counts, exact profit and loss by component, latencies, and text tables.
//!
//! Everything is computed from the engine's notifications, from which logs and metrics are also made, so that the views
//! cannot disagree. Pure: no clock, no file, no terminal. It knows core's types, and no venue's codes of refusals: the
//! caller passes those.

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
pub use summary::{Closing, Summary, VenueBalances};
