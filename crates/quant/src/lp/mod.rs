//! Providing liquidity to a constant-product pool: what a position is worth and hedged by ([`value`]),
//! what arbitrage takes from it ([`lvr`], [`path`], [`band_arbitrage`]), whether to hold it ([`hold`]),
//! and its curve as levels of a book ([`curve`]).

pub mod band_arbitrage;
pub mod curve;
pub mod hold;
pub mod lvr;
pub mod path;
#[cfg(test)]
mod tests;
pub mod value;
