//! Shares of a pool as the layer-2 contracts compute them, by a ratio of ten decimals: joins,
//! exits, and minimum amounts for both.

use num_traits::Zero;

use super::Amount;
use crate::error::{Result, fraction, non_negative, positive, require};

/// LP units of a first join, and the unit of the ratio.
fn unit() -> Amount {
    Amount::from(10_000_000_000_u64)
}

/// The result of a join.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Joined {
    /// LP units minted.
    pub minted: Amount,
    /// Taken of each token, in the order of the pool.
    pub taken: Vec<Amount>,
}

/// A join of at most `offered`: `mint = min ⌊offered·supply/balance⌋`, `ratio = ⌊10¹⁰·mint/supply⌋`,
/// takes `⌊ratio·balance/10¹⁰⌋`; the first mints 10¹⁰ and takes all. Balances are above 0 then.
///
/// Loopring/protocols, `AmmJoinProcess.sol`.
pub fn join(balances: &[Amount], supply: &Amount, offered: &[Amount]) -> Result<Joined> {
    if supply.is_zero() {
        return Ok(Joined {
            minted: unit(),
            taken: offered.to_vec(),
        });
    }
    require(
        balances.len() == offered.len() && !offered.is_empty(),
        "amounts",
        "one for each pooled token",
    )?;
    require(
        balances.iter().all(|balance| !balance.is_zero()),
        "balances",
        "above 0",
    )?;
    let shares = offered
        .iter()
        .zip(balances)
        .map(|(offered, balance)| offered * supply / balance);
    let minted = shares.min().unwrap_or_default();
    Ok(Joined {
        taken: parts(balances, &minted, supply).1,
        minted,
    })
}

/// The result of an exit, before its fee.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exited {
    /// `⌊10¹⁰·burned/supply⌋`: 0 for very few LP units, which then pay nothing.
    pub ratio: Amount,
    /// Paid of each token, in the order of the pool.
    pub paid: Vec<Amount>,
}

/// An exit of `burned` LP units: `⌊ratio·balance/10¹⁰⌋` of each token. Supply above 0.
///
/// Loopring/protocols, `AmmExitProcess.sol`.
pub fn exit(balances: &[Amount], supply: &Amount, burned: &Amount) -> Result<Exited> {
    require(!supply.is_zero(), "supply", "above 0")?;
    let (ratio, paid) = parts(balances, burned, supply);
    Ok(Exited { ratio, paid })
}

/// The ratio, and that fraction of each balance.
fn parts(balances: &[Amount], lp: &Amount, supply: &Amount) -> (Amount, Vec<Amount>) {
    let ratio = unit() * lp / supply;
    let parts = balances.iter().map(|balance| &ratio * balance / unit());
    let parts = parts.collect();
    (ratio, parts)
}

/// The slippage to allow for a join or exit: `z·σ·√latency/2 + 10⁻⁴`, below 1.
///
/// A price move r changes the units that a join mints by at most about r/2 at fixed amounts; 10⁻⁴
/// covers the rounding of layer-2 floats (derived here). `sigma` is relative, 1/√s.
pub fn slippage(z: f64, sigma: f64, latency_s: f64) -> Result<f64> {
    let z = non_negative("standard deviations", z)?;
    let root = libm::sqrt(positive("latency", latency_s)?);
    fraction(
        "slippage",
        z * non_negative("sigma", sigma)? * root / 2.0 + 1e-4,
    )
}

/// `⌊amount·(1 − slippage)⌋`, the slippage rounded up to millionths: the smallest accepted amount.
///
/// `slippage` as from [`slippage`].
pub fn least_accepted(amount: &Amount, slippage: f64) -> Result<Amount> {
    let slippage = fraction("slippage", slippage)?;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to a million"
    )]
    let kept = 1_000_000 - libm::ceil(slippage * 1e6) as u32;
    Ok(amount * kept / 1_000_000_u32)
}
