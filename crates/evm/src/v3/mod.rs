//! Uniswap V3: prices of ticks, amounts of liquidity, calls and events of pools and positions.
//!
//! | module | what | source |
//! |---|---|---|
//! | [`tick`] | roots of prices at ticks, and ticks at roots | `TickMath.sol` |
//! | [`liquidity`] | amounts due to liquidity and liquidity for amounts, each with its rounding | `SqrtPriceMath.sol`, `LiquidityAmounts.sol` |
//! | [`call`] | calls of the factory, of pools and of the position manager | `IUniswapV3Factory.sol`, `IUniswapV3Pool.sol`, `INonfungiblePositionManager.sol` |
//! | [`log`] | events of pools and of the position manager | the same |
//!
//! A price is token 1 for one token 0, both in base units. Roots of prices are numbers of 160 bits with 96 bits behind
//! the point (`Q64.96`).

pub mod call;
pub mod liquidity;
pub mod log;
pub mod tick;
