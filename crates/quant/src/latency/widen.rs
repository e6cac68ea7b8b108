//! The spread that covers the cost of latency: a quote's age is uniform between the latency and the
//! latency plus the poll interval, and uninformed flow arrives by its distance from the true mid.
//!
//! Source: derived here from the intensity of Avellaneda & Stoikov 2008.

use crate::error::{Result, finite, non_negative, positive, solved};

/// The optimum and its profit. Prices, and price · fills a second for one side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Widened {
    /// Mean move of the mid against a fill: `kσ²·I1/I0`.
    pub loss_per_fill: f64,
    /// The best half-spread: `1/k + loss`.
    pub half_spread: f64,
    /// The best half-spread without latency: `1/k`.
    pub half_spread_without_latency: f64,
    /// Profit a second of one side at the best half-spread.
    pub profit_rate: f64,
    /// Profit a second at the half-spread without latency.
    pub profit_rate_if_not_widened: f64,
    /// Profit a second without latency.
    pub profit_rate_without_latency: f64,
    /// The loss to first order: `kσ²·(latency + poll/2)`.
    pub first_order_loss: f64,
}

/// Means over the age a of `e^(ga)` and `a·e^(ga)`, a uniform on `from` to `from + length`, divided
/// by `e^(g·from)`; by series where `g·length` is small, because the closed forms cancel there.
fn means(g: f64, from: f64, length: f64) -> (f64, f64) {
    let x = g * length;
    // Means of e^(xu) and u·e^(xu) with u uniform on 0 to 1.
    let (flat, rising) = if x < 0.5 {
        let (mut flat, mut rising, mut term) = (0.0, 0.0, 1.0);
        for n in 0..40_u32 {
            let order = f64::from(n);
            flat += term / (order + 1.0);
            rising += term / (order + 2.0);
            term *= x / (order + 1.0);
        }
        (flat, rising)
    } else {
        let flat = libm::expm1(x) / x;
        (flat, (libm::exp(x) - flat) / x)
    };
    (flat, from * flat + length * rising)
}

/// Quotes of one side against flow `A·e^(−k·distance)`, aged between `latency` and `latency + poll`.
///
/// Derived here: with `g = k²σ²/2` and `I0`, `I1` the means of
/// `e^(ga)` and `a·e^(ga)`, fills come at `A·e^(−kδ)·I0` and lose `kσ²·I1/I0` each.
pub fn widen(
    sigma: f64,
    latency_s: f64,
    poll_s: f64,
    intensity: f64,
    decay: f64,
) -> Result<Widened> {
    let sigma = non_negative("sigma", sigma)?;
    let latency = non_negative("latency", latency_s)?;
    let poll = non_negative("poll interval", poll_s)?;
    let intensity = positive("intensity", intensity)?;
    let k = positive("decay", decay)?;
    let variance = sigma * sigma;
    let g = k * k * variance / 2.0;
    let (i0, i1) = means(g, latency, poll);
    let anchor = libm::exp(g * latency);
    let loss = solved("loss per fill", k * variance * i1 / i0)?;
    let neutral = 1.0 / k;
    // At δ = 1/k + loss every fill earns 1/k.
    let rate = |half: f64| intensity * libm::exp(-k * half) * i0 * anchor;
    let best = neutral + loss;
    Ok(Widened {
        loss_per_fill: loss,
        half_spread: best,
        half_spread_without_latency: neutral,
        profit_rate: solved("profit", rate(best) * neutral)?,
        profit_rate_if_not_widened: solved("profit", rate(neutral) * (neutral - loss))?,
        profit_rate_without_latency: intensity * libm::exp(-1.0) * neutral,
        first_order_loss: k * variance * (latency + poll / 2.0),
    })
}

/// The smallest half-spread worth quoting: the costs of a fill and the move of the mid against it
/// before the quote can be changed, `costs + k·σ²·(poll + acknowledgement)`. Price.
///
/// It takes the largest age of a quote, where [`widen`] takes the mean. `costs` (fee, expected
/// adverse selection) may be negative with a rebate, the floor is never.
pub fn half_spread_floor(
    costs: f64,
    decay: f64,
    sigma: f64,
    poll_s: f64,
    acknowledgement_s: f64,
) -> Result<f64> {
    let k = positive("decay", decay)?;
    let sigma = non_negative("sigma", sigma)?;
    let late = non_negative("poll interval", poll_s)?
        + non_negative("acknowledgement time", acknowledgement_s)?;
    let floor = finite("costs", costs)? + k * sigma * sigma * late;
    solved("half-spread", floor.max(0.0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    #[test]
    fn widening_pays_for_the_loss() {
        let made = widen(0.3, 0.4, 2.0, 1.0, 2.0).unwrap();
        assert!(made.profit_rate > made.profit_rate_if_not_widened);
        assert!(made.profit_rate < made.profit_rate_without_latency);
        assert!((made.loss_per_fill / made.first_order_loss - 1.0).abs() < 0.2);
        // The profit at half-spreads nearby is lower: it is a maximum.
        let (i0, _) = means(0.18, 0.4, 2.0);
        for off in [-0.05, 0.05] {
            let half = made.half_spread + off;
            let rate = libm::exp(-2.0 * half) * i0 * libm::exp(0.18 * 0.4);
            assert!(rate * (half - made.loss_per_fill) < made.profit_rate);
        }
    }

    #[test]
    fn both_ways_of_taking_means_agree() {
        let (low, high) = (means(0.499_999_9, 0.3, 1.0), means(0.500_000_1, 0.3, 1.0));
        assert!((low.0 - high.0).abs() < 1e-6 && (low.1 - high.1).abs() < 1e-6);
        let still = widen(0.0, 1.0, 1.0, 1.0, 2.0).unwrap();
        assert!((still.profit_rate - still.profit_rate_without_latency).abs() < 1e-15);
    }

    #[test]
    fn the_floor_counts_costs_and_lateness() {
        let floor = half_spread_floor(0.1, 2.0, 0.3, 1.0, 0.5).unwrap();
        assert!((floor - (0.1 + 2.0 * 0.09 * 1.5)).abs() < 1e-15);
        assert!(half_spread_floor(-9.0, 2.0, 0.3, 1.0, 0.5).unwrap().abs() < 1e-300);
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(half_spread_floor(bad, 2.0, 0.3, 1.0, 0.5).is_err());
            assert!(half_spread_floor(0.1, 2.0, bad, 1.0, 0.5).is_err());
            assert!(widen(0.3, bad, 1.0, 1.0, 1.0).is_err());
        }
        assert!(
            widen(0.3, 1.0, 1.0, 0.0, 1.0).is_err() && widen(0.3, -1.0, 1.0, 1.0, 1.0).is_err()
        );
        assert!(widen(1e100, 1.0, 1.0, 1.0, 1.0).is_err());
    }
}
