//! Closed-form approximations of the asymptotic quotes: accurate near zero inventory, inaccurate in
//! the tails.
//!
//! Sources: Guéant, Lehalle & Fernandez-Tapia, arXiv 1105.3115v5, sections 4 and 5; Guéant, arXiv
//! 1605.01862, equations 4.6 and 4.7.

use super::Parameters;
use crate::avellaneda_stoikov::intensity_spread;
use crate::error::{Result, finite, non_negative, positive, solved};

/// The approximation of 2012, at all inventories. Ticks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClosedForm {
    /// Mid − bid without inventory.
    pub bid_at_zero: f64,
    /// Ask − mid without inventory.
    pub ask_at_zero: f64,
    /// How far each lot of inventory moves both quotes down.
    pub skew: f64,
}

impl ClosedForm {
    /// Mid − bid at an inventory, lots; ticks.
    pub fn bid_distance(&self, inventory: i64) -> f64 {
        self.bid_at_zero + self.skew * inventory as f64
    }

    /// Ask − mid at an inventory, lots; ticks.
    pub fn ask_distance(&self, inventory: i64) -> f64 {
        self.ask_at_zero - self.skew * inventory as f64
    }

    /// Ask − bid, the same at every inventory.
    pub fn spread(&self) -> f64 {
        self.bid_at_zero + self.ask_at_zero
    }
}

/// `ln(1+γ/k)/γ + ξ/2 + (∓μ/(γσ²) ± q + 1/2)·e^(kξ/4)·√(σ²γ/(2kA)·(1+γ/k)^(1+k/γ))`, with the fee as in
/// [`Parameters::asymptotic`]. The inventory bound does not enter; a drift needs γ and σ above 0.
///
/// Guéant, Lehalle & Fernandez-Tapia, arXiv 1105.3115v5, sections 4 and 5.
pub fn closed_form(of: &Parameters) -> Result<ClosedForm> {
    let sigma = non_negative("sigma", of.sigma)?;
    let k = positive("decay", of.decay)?;
    let gamma = non_negative("risk aversion", of.risk_aversion)?;
    let impact = non_negative("impact", of.impact)?;
    let fee = finite("fee", of.fee)?;
    let intensity = positive("intensity", of.intensity)? * libm::exp(-k * fee);
    let eta = positive("fill intensity", super::eta(intensity, k, gamma))?;
    let root = libm::sqrt(sigma * sigma * gamma / (2.0 * k * eta));
    let skew = solved("skew", libm::exp(k * impact / 4.0) * root)?;
    let tilt = if finite("drift", of.drift)? == 0.0 {
        0.0
    } else {
        of.drift / positive("risk aversion times variance", gamma * sigma * sigma)?
    };
    let base = intensity_spread(gamma, k)? + impact / 2.0 + fee;
    Ok(ClosedForm {
        bid_at_zero: solved("bid", base + (0.5 - tilt) * skew)?,
        ask_at_zero: solved("ask", base + (0.5 + tilt) * skew)?,
        skew,
    })
}

/// The approximation of 2016. Ticks, and ticks for each unit of inventory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gueant2016 {
    /// `ln(1+ξΔ/k)/(ξΔ)`, or 1/k.
    pub c1: f64,
    /// `√(γ/(2AΔk)·(1+ξΔ/k)^(k/(ξΔ)+1))`, or `√(γe/(2AΔk))`.
    pub c2: f64,
    /// `c1 + Δσc2/2`.
    pub half_spread: f64,
    /// `σc2` for each unit of inventory.
    pub skew: f64,
}

impl Gueant2016 {
    /// Mid − bid at an inventory, in units of inventory (a lot is Δ of them); ticks.
    pub fn bid_distance(&self, inventory: f64) -> Result<f64> {
        solved(
            "bid",
            self.half_spread + self.skew * finite("inventory", inventory)?,
        )
    }

    /// Ask − mid at an inventory, in units of inventory (a lot is Δ of them); ticks.
    pub fn ask_distance(&self, inventory: f64) -> Result<f64> {
        solved(
            "ask",
            self.half_spread - self.skew * finite("inventory", inventory)?,
        )
    }
}

/// Guéant, "Optimal market making", arXiv 1605.01862, equations 4.6 and 4.7, as in the hftbacktest
/// notebook: `sigma` in ticks/√s, `intensity` in 1/s, `decay` in 1/tick, `lot` Δ in units of
/// inventory, `xi` the paper's ξ: γ for constant absolute risk aversion, 0 for mean against
/// variance.
pub fn gueant_2016(
    sigma: f64,
    intensity: f64,
    decay: f64,
    risk_aversion: f64,
    lot: f64,
    xi: f64,
) -> Result<Gueant2016> {
    let sigma = non_negative("sigma", sigma)?;
    let k = positive("decay", decay)?;
    let gamma = non_negative("risk aversion", risk_aversion)?;
    let lot = positive("lot", lot)?;
    let xi = non_negative("xi", xi)?;
    let eta = super::eta(positive("intensity", intensity)?, k, xi * lot);
    let c1 = intensity_spread(xi * lot, k)?;
    let c2 = solved(
        "skew",
        libm::sqrt(gamma / (2.0 * positive("fill intensity", eta)? * lot * k)),
    )?;
    Ok(Gueant2016 {
        c1,
        c2,
        half_spread: solved("half-spread", c1 + lot * sigma * c2 / 2.0)?,
        skew: solved("skew", sigma * c2)?,
    })
}
