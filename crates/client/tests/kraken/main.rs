//! The client of Kraken's interface against the exchange that speaks it, over real HTTP. What it reports is held against
//! the exchange's own books, to the unit.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod conformance;
mod cut;
mod lists;
mod nonces;
mod orders;
#[expect(dead_code, reason = "shared with the other test programs")]
#[path = "../server/mod.rs"]
mod server;
mod start;
mod support;
