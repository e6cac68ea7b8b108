//! Providing liquidity to a constant-product pool: the value and hedge of a position ([`value`]),
//! the loss to arbitrage ([`lvr`], [`path`], [`band_arbitrage`]), the pool's trades ([`flow`]),
//! whether to hold it ([`hold`]), its profit ([`profit`]), and its curve as levels of a book
//! ([`curve`]).

pub mod band_arbitrage;
pub mod curve;
pub mod flow;
pub mod hold;
pub mod income;
pub mod lvr;
pub mod path;
pub mod profit;
#[cfg(test)]
mod tests;
pub mod value;
