//! Whether to hold a position: fees from other volume against the loss to arbitrage, with
//! hysteresis, so that the cost of a join and an exit is not paid repeatedly.

use super::lvr::rates;
use crate::error::{Result, finite, non_negative, positive, require, solved};

/// The estimates for a pool, in one unit of time (days, for example).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outlook {
    /// Relative volatility for each root of the unit of time.
    pub sigma: f64,
    /// Mean interval between opportunities for arbitrage, in that unit: from changes of the pool's balances.
    pub interval: f64,
    /// The logarithmic fee of the pool.
    pub log_fee: f64,
    /// Volume other than arbitrage per unit of time, as a fraction of the pool's value.
    pub noise_volume: f64,
    /// Cost of hedging per unit of time, as a fraction of the value.
    pub hedge_cost: f64,
}

/// The return of holding per unit of time, as a fraction of the value: `v·(1 − e^−γ) − ARB −
/// hedge`; negative if it loses.
///
/// [`rates`] (arXiv 2305.14604) gives the loss to arbitrage net of the fees that arbitrage pays.
pub fn net_rate(outlook: &Outlook) -> Result<f64> {
    let made = rates(outlook.sigma, outlook.interval, outlook.log_fee)?;
    let volume = non_negative("noise volume", outlook.noise_volume)?;
    let hedge = non_negative("hedge cost", outlook.hedge_cost)?;
    let income = volume * -libm::expm1(-outlook.log_fee);
    solved("net rate", income - made.arbitrage - hedge)
}

/// When to join and when to exit, as fractions of the value per unit of time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hysteresis {
    /// Join when the lower confidence limit of the net rate is above this.
    pub enter_above: f64,
    /// Exit when the lower confidence limit is below minus this.
    pub leave_below: f64,
}

impl Hysteresis {
    /// Refuses a gap that would not pay for a round trip: `enter + leave ≥ cost/stay`, with the
    /// cost of a join and an exit as a fraction of the value and the expected stay in the unit of
    /// time.
    ///
    /// A switching cost implies a band in which nothing is done (Dixit 1989).
    pub fn new(enter_above: f64, leave_below: f64, round_trip: f64, stay: f64) -> Result<Self> {
        let enter_above = non_negative("entry", enter_above)?;
        let leave_below = non_negative("exit", leave_below)?;
        let needed = non_negative("round trip", round_trip)? / positive("stay", stay)?;
        require(
            enter_above + leave_below >= needed,
            "entry and exit",
            "so far apart that a round trip is paid for by the expected stay",
        )?;
        Ok(Self {
            enter_above,
            leave_below,
        })
    }

    /// Whether to hold, given the current state, the net rate, and its standard error times the
    /// number of deviations of the confidence limit.
    ///
    /// As [`Hysteresis::new`].
    pub fn holds(&self, held: bool, net_rate: f64, margin: f64) -> Result<bool> {
        let low = finite("net rate", net_rate)? - non_negative("margin", margin)?;
        Ok(if held {
            low >= -self.leave_below
        } else {
            low > self.enter_above
        })
    }
}
