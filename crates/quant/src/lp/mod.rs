//! Providing liquidity to a constant-product pool: what a position is worth and hedged by ([`value`]),
//! what arbitrage takes from it ([`lvr`], [`path`], [`band_arbitrage`]), who trades with it ([`flow`]),
//! whether to hold it ([`hold`]), what it earned ([`profit`]), and its curve as levels of a book
//! ([`curve`]).

pub mod band_arbitrage;
pub mod curve;
pub mod flow;
pub mod hold;
pub mod lvr;
pub mod path;
pub mod profit;
#[cfg(test)]
mod tests;
pub mod value;
