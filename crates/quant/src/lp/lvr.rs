//! Loss versus rebalancing with fees: what arbitrage gains and pays, as fractions of the position's
//! value.
//!
//! Milionis, Moallemi & Roughgarden, "Automated market making and arbitrage profits in the presence of
//! fees", arXiv 2305.14604 (blocks at Poisson times); Nezlobin & Tassy, arXiv 2505.05113 (at equal
//! intervals).

use crate::error::{Result, non_negative, positive, require, solved};

/// `√(2π)/|ζ(½)|`: one over the mean overshoot of a Gaussian walk (Siegmund 1979), Nezlobin and
/// Tassy's constant for a fee on one side.
const INTERVAL: f64 = 1.716_451_902_267_407_4;

/// Rates as fractions of the position's value per unit of time, and probabilities.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rates {
    /// Loss versus rebalancing without fees: `σ²/8`.
    pub lvr: f64,
    /// The probability that a block holds an arbitrage: `1/(1 + γ√(2λ)/σ)`.
    pub trade_probability: f64,
    /// Gain of arbitrage: `σ²/8·P·e^(γ/2)/(1 − σ²/(8λ))`.
    pub arbitrage: f64,
    /// Its limit for quick blocks: `σ²/8·P`.
    pub arbitrage_fast: f64,
    /// The fees that arbitrage pays: `λ·P·sinh(γ/2)/(2θ + 1)`, `θ = √(2λ)/σ`.
    pub arbitrage_fees: f64,
    /// Arbitrage's share of the loss when blocks are equally long: `1/(1 + 1.7164·γ/σ_b)`.
    pub arbitrage_share_equal_blocks: f64,
    /// Other volume, as a fraction of the value, whose fees cover the gain of arbitrage:
    /// `arbitrage/(1 − e^−γ)`. `None` without a fee.
    pub break_even_volume: Option<f64>,
    /// The same if arbitrage gained the whole loss.
    pub break_even_volume_without_protection: Option<f64>,
}

/// `ln(1/(1−f))`: the logarithmic fee of a fee that is the fraction f of the input.
///
/// Milionis, Moallemi & Roughgarden, section 2.
pub fn log_fee(fee: f64) -> Result<f64> {
    Ok(-libm::log1p(-crate::error::fraction("fee", fee)?))
}

/// The rates at a volatility `sigma` (relative, for each root of the unit of time), a mean `interval`
/// between blocks (in that unit) and a logarithmic fee.
///
/// Milionis, Moallemi & Roughgarden, theorem 3 and its corollaries; the equal intervals: Nezlobin &
/// Tassy, abstract.
pub fn rates(sigma: f64, interval: f64, log_fee: f64) -> Result<Rates> {
    let sigma = positive("sigma", sigma)?;
    let lambda = 1.0 / positive("interval", interval)?;
    let fee = non_negative("fee", log_fee)?;
    let lvr = sigma * sigma / 8.0;
    require(
        lvr < lambda,
        "interval",
        "shorter than 8/σ², beyond which values have no mean",
    )?;
    let theta = libm::sqrt(2.0 * lambda) / sigma;
    let trade_probability = 1.0 / (1.0 + fee * theta);
    let arbitrage = lvr * trade_probability * libm::exp(fee / 2.0) / (1.0 - lvr / lambda);
    let fees = lambda * trade_probability * libm::sinh(fee / 2.0) / (2.0 * theta + 1.0);
    let per_volume = -libm::expm1(-fee);
    let volume = |lost: f64| (fee > 0.0).then(|| lost / per_volume);
    Ok(Rates {
        lvr,
        trade_probability,
        arbitrage: solved("arbitrage", arbitrage)?,
        arbitrage_fast: lvr * trade_probability,
        arbitrage_fees: solved("arbitrage fees", fees)?,
        arbitrage_share_equal_blocks: 1.0 / (1.0 + INTERVAL * fee / (sigma * libm::sqrt(interval))),
        break_even_volume: volume(arbitrage),
        break_even_volume_without_protection: volume(lvr),
    })
}
