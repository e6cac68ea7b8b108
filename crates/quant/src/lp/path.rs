//! A position along a path of prices: the additional profit of rebalancing, and the cost of a hedge
//! that is only adjusted outside a band.

use crate::error::{Error, Result, non_negative, positive, solved};

/// Losses along a path. Quote.
#[derive(Clone, PartialEq, Debug)]
pub struct Losses {
    /// Each step's loss versus rebalancing, `L(√P₁ − √P₀)²/√P₀`, 0 or above.
    pub steps: Vec<f64>,
    /// Their sum: the result of a full hedge without costs is exactly minus this.
    pub total: f64,
    /// `Σ r²·V/8` of log returns r: the approximation of the losses by volatility.
    pub by_volatility: f64,
    /// Value at the first price.
    pub value_start: f64,
    /// Value at the last price.
    pub value_end: f64,
}

/// A hedge that is not adjusted within a band. Quote.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hedged {
    /// Profit of the short base, before costs.
    pub hedge_pnl: f64,
    /// Position and hedge together, less costs.
    pub total: f64,
    /// Paid for adjustments.
    pub cost: f64,
    /// Number of times it was set, including the first and without closing it.
    pub trades: usize,
}

fn checked(liquidity: f64, prices: &[f64]) -> Result<f64> {
    if prices.len() < 2 {
        return Err(Error::TooFew {
            name: "prices",
            needed: 2,
            given: prices.len(),
        });
    }
    for price in prices {
        positive("price", *price)?;
    }
    positive("liquidity", liquidity)
}

/// The losses of a position with liquidity L, without fees, along the prices that others trade the
/// pool to.
///
/// Milionis, Moallemi, Roughgarden & Zhang, "Automated market making and loss-versus-rebalancing",
/// arXiv 2208.06046; the discrete identity `V₁ − V₀ − x₀(P₁ − P₀) = −loss` is exact.
pub fn losses(liquidity: f64, prices: &[f64]) -> Result<Losses> {
    let liquidity = checked(liquidity, prices)?;
    let value = |price: f64| 2.0 * liquidity * libm::sqrt(price);
    let mut steps = Vec::with_capacity(prices.len() - 1);
    let mut by_volatility = 0.0;
    for pair in prices.windows(2) {
        let (root, next) = (libm::sqrt(pair[0]), libm::sqrt(pair[1]));
        let change = (pair[1] - pair[0]) / (root + next);
        steps.push(solved("loss", liquidity * change * change / root)?);
        let r = libm::log(pair[1] / pair[0]);
        by_volatility += r * r * value(pair[0]) / 8.0;
    }
    Ok(Losses {
        total: steps.iter().sum(),
        steps,
        by_volatility: solved("loss", by_volatility)?,
        value_start: value(prices[0]),
        value_end: value(prices[prices.len() - 1]),
    })
}

/// A position hedged by selling its base short: set at the first price, set again at every price
/// but the last where it is off by more than `band` (base), closed at the last; each adjustment
/// costs `cost` as a fraction of its value.
///
/// The band: Whalley & Wilmott 1997, [`crate::latency::stale::hedge_band`].
pub fn hedge(liquidity: f64, prices: &[f64], cost: f64, band: f64) -> Result<Hedged> {
    let liquidity = checked(liquidity, prices)?;
    let rate = non_negative("cost", cost)?;
    let band = non_negative("band", band)?;
    let base = |price: f64| liquidity / libm::sqrt(price);
    let last = prices.len() - 1;
    let (mut short, mut pnl, mut paid, mut trades) = (0.0_f64, 0.0, 0.0, 0);
    for (i, price) in prices.iter().copied().enumerate() {
        if i > 0 {
            pnl -= short * (price - prices[i - 1]);
        }
        let target = if i == last { 0.0 } else { base(price) };
        if i == 0 || i == last || (target - short).abs() > band {
            paid += rate * (target - short).abs() * price;
            short = target;
            trades += usize::from(i < last);
        }
    }
    let root = |price: f64| libm::sqrt(price);
    let change = (prices[last] - prices[0]) / (root(prices[last]) + root(prices[0]));
    let hedge_pnl = solved("hedge", pnl)?;
    Ok(Hedged {
        hedge_pnl,
        total: 2.0 * liquidity * change + hedge_pnl - paid,
        cost: paid,
        trades,
    })
}
