//! Whether a position earns its keep: fees of others against what arbitrage takes, with hysteresis, so
//! that the cost of going in and out is paid once.

use super::lvr::rates;
use crate::error::{Result, finite, non_negative, positive, require, solved};

/// What is known about a pool, in one unit of time (days, say).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outlook {
    /// Relative volatility for each root of the unit of time.
    pub sigma: f64,
    /// Mean interval between chances to arbitrage, in that unit: from changes of the pool's balances.
    pub interval: f64,
    /// The logarithmic fee of the pool.
    pub log_fee: f64,
    /// Volume of others (not arbitrage) a unit of time, in parts of the pool's value.
    pub noise_volume: f64,
    /// What hedging costs a unit of time, in parts of the value.
    pub hedge_cost: f64,
}

/// What holding earns a unit of time, in parts of the value: `v·(1 − e^−γ) − ARB − hedge`; negative
/// when it loses.
///
/// [`rates`] (arXiv 2305.14604) for what arbitrage takes net of the fees that it pays itself.
pub fn net_rate(outlook: &Outlook) -> Result<f64> {
    let made = rates(outlook.sigma, outlook.interval, outlook.log_fee)?;
    let volume = non_negative("noise volume", outlook.noise_volume)?;
    let hedge = non_negative("hedge cost", outlook.hedge_cost)?;
    let income = volume * -libm::expm1(-outlook.log_fee);
    solved("net rate", income - made.arbitrage - hedge)
}

/// When to go in and when to leave, in parts of the value a unit of time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hysteresis {
    /// Go in when the lower confidence limit of the net rate is above this.
    pub enter_above: f64,
    /// Leave when the lower confidence limit is below minus this.
    pub leave_below: f64,
}

impl Hysteresis {
    /// Refuses a gap that would not pay for a round trip: `enter + leave ≥ cost/stay`, the cost of
    /// going in and out in parts of the value, the expected stay in the unit of time.
    ///
    /// A switching cost makes a band in which nothing is done (Dixit 1989).
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

    /// Whether to hold, given whether we do, the net rate, and its standard error times as many
    /// deviations as it takes to be sure.
    ///
    /// As [`Hysteresis::new`].
    pub fn holds(&self, held: bool, net_rate: f64, doubt: f64) -> Result<bool> {
        let low = finite("net rate", net_rate)? - non_negative("doubt", doubt)?;
        Ok(if held {
            low >= -self.leave_below
        } else {
            low > self.enter_above
        })
    }
}
