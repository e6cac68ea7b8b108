//! Optimal quotes under an inventory bound: Guéant, Lehalle & Fernandez-Tapia, "Dealing with the
//! inventory risk: a solution to the market making problem", arXiv 1105.3115v5.
//!
//! Units: prices in ticks, time in seconds, inventory in lots. With `α = kγσ²/2`, `β = kμ` and
//! `η = A(1+γ/k)^−(1+k/γ)` the value is `(1/k)·ln v_q`, where `v' = M·v`,
//! `M_qq = αq² − βq`, `M_q,q±1 = −η·e^(−kξ/2)`, and the quotes are
//! `ln(v_q/v_q±1)/k + ln(1+γ/k)/γ + ξ/2 (+ fee)`.

mod closed;
mod table;
#[cfg(test)]
mod tests;

pub use closed::{ClosedForm, Gueant2016, closed_form, gueant_2016};
pub use table::{Path, Table};

use crate::avellaneda_stoikov::intensity_spread;
use crate::error::{Result, finite, non_negative, positive, require, solved};

/// Largest inventory bound, lots.
pub const BOUND_MAX: u32 = 2_000;

/// The model of a market, and the quoter's risk aversion and bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameters {
    /// Volatility σ, ticks/√s.
    pub sigma: f64,
    /// Scale A of the fill intensity `A·e^(−kδ)` on each side, 1/s.
    pub intensity: f64,
    /// Decay k of the intensity, 1/tick.
    pub decay: f64,
    /// Risk aversion γ, 1/tick for each lot; 0 is risk-neutral.
    pub risk_aversion: f64,
    /// Drift μ of the mid, ticks/s.
    pub drift: f64,
    /// How far ξ a fill moves the mid against the quoter (adverse selection), ticks.
    pub impact: f64,
    /// What a fill costs, ticks for each lot; negative is a rebate.
    pub fee: f64,
    /// The bound Q: no bid at Q lots, no ask at −Q.
    pub bound: u32,
}

/// Checked parameters and the constants derived from them.
#[derive(Clone, Copy, Debug)]
struct Model {
    alpha: f64,
    beta: f64,
    /// `η·e^(−kξ/2)`.
    coupling: f64,
    decay: f64,
    impact: f64,
    /// The part of the distance that does not depend on the inventory: `ln(1+γ/k)/γ + ξ/2 + fee`.
    distance: f64,
    bound: u32,
}

/// `A·(1+γ/k)^−(1+k/γ)`, and its limit A/e for γ = 0.
///
/// Guéant, Lehalle & Fernandez-Tapia 2012, section 3.
pub(crate) fn eta(intensity: f64, decay: f64, risk_aversion: f64) -> f64 {
    if risk_aversion == 0.0 {
        return intensity * libm::exp(-1.0);
    }
    let ratio = risk_aversion / decay;
    intensity * libm::exp(-(1.0 + 1.0 / ratio) * libm::log1p(ratio))
}

impl Model {
    fn new(of: &Parameters) -> Result<Self> {
        let sigma = non_negative("sigma", of.sigma)?;
        let intensity = positive("intensity", of.intensity)?;
        let k = positive("decay", of.decay)?;
        let gamma = non_negative("risk aversion", of.risk_aversion)?;
        let drift = finite("drift", of.drift)?;
        let impact = non_negative("impact", of.impact)?;
        let fee = finite("fee", of.fee)?;
        require(
            (1..=BOUND_MAX).contains(&of.bound),
            "inventory bound",
            "from 1 to 2000 lots",
        )?;
        let coupling = eta(intensity, k, gamma) * libm::exp(-k * (impact / 2.0 + fee));
        Ok(Self {
            alpha: solved("sigma", k * gamma * sigma * sigma / 2.0)?,
            beta: solved("drift", k * drift)?,
            coupling: positive("fill intensity", coupling)?,
            decay: k,
            impact,
            distance: solved("quotes", intensity_spread(gamma, k)? + impact / 2.0 + fee)?,
            bound: of.bound,
        })
    }

    /// The diagonal of M, from −Q to Q lots.
    fn diagonal(&self) -> Vec<f64> {
        self.inventories()
            .map(|q| q * (self.alpha * q - self.beta))
            .collect()
    }

    fn inventories(&self) -> impl Iterator<Item = f64> + Clone + use<> {
        let bound = i64::from(self.bound);
        (-bound..=bound).map(|q| q as f64)
    }
}

impl Parameters {
    /// The quotes far from the end, for a market maker without a closing time. O(Q) for each of
    /// about sixty steps of a bisection.
    pub fn asymptotic(&self) -> Result<Table> {
        table::asymptotic(&Model::new(self)?)
    }

    /// The quotes `time_left` seconds before the end, at which the inventory is valued at the mid.
    pub fn with_time_left(&self, time_left: f64) -> Result<Table> {
        table::finite_horizon(&Model::new(self)?, time_left)
    }

    /// The quotes at increasing times before the end, each computed from the one before.
    pub fn path(&self) -> Result<Path> {
        Path::new(&Model::new(self)?)
    }
}
