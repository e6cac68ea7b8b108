//! Markouts: the mid some time after each fill against the fill's price. The part of the spread
//! that is lost by then was lost to adverse selection.

use super::{Fill, Mids, checked};
use crate::error::{Result, require};
use crate::number::Number;

/// One fill at one horizon. Quote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Markout<N> {
    /// `s·q·(mid − price)`: the effective half-spread, `realised + impact`.
    pub effective: N,
    /// `s·q·(mid_h − price)`: the part of it that is left after the horizon; `None` when that is
    /// after the last mid.
    pub realised: Option<N>,
    /// `s·q·(mid − mid_h)`: what the mid has moved against the fill.
    pub impact: Option<N>,
}

/// Markouts of all fills at a horizon, in the unit of the times.
///
/// Realised spread and price impact: Huang & Stoll, "Dealer versus auction markets" (1996).
pub fn markouts<N: Number>(
    fills: &[Fill<N>],
    mids: &Mids<'_, N>,
    horizon: i64,
) -> Result<Vec<Markout<N>>> {
    checked(fills, mids)?;
    require(horizon >= 0, "horizon", "at least 0")?;
    let made = fills.iter().filter_map(|fill| {
        let mid = mids.at(fill.time)?;
        let worth =
            |from: &N, to: &N| fill.signed(fill.quantity.clone() * (from.clone() - to.clone()));
        let later = fill
            .time
            .checked_add(horizon)
            .filter(|time| *time <= mids.end())
            .and_then(|time| mids.at(time));
        Some(Markout {
            effective: worth(mid, &fill.price),
            realised: later.map(|later| worth(later, &fill.price)),
            impact: later.map(|later| worth(mid, later)),
        })
    });
    Ok(made.collect())
}

/// The markouts of all fills at one horizon.
#[derive(Clone, PartialEq, Debug)]
pub struct MarkoutTotals<N> {
    /// `10⁴ · Σ realised/Σ q·p`, basis points; `None` when no horizon has passed.
    pub bps: Option<N>,
    /// Its standard error, basis points; `None` below two fills.
    pub bps_error: Option<f64>,
    /// Fills whose horizon has passed.
    pub count: usize,
}

/// The markout of all fills in basis points of the traded value, with its standard error.
///
/// The ratio of sums with the error of the delta method (Cochran, "Sampling Techniques", 6.4).
pub fn totals<N: Number>(fills: &[Fill<N>], markouts: &[Markout<N>]) -> Result<MarkoutTotals<N>> {
    require(
        fills.len() == markouts.len(),
        "markouts",
        "one for each fill",
    )?;
    let known: Vec<(N, N)> = fills
        .iter()
        .zip(markouts)
        .filter_map(|(fill, markout)| Some((markout.realised.clone()?, fill.notional())))
        .collect();
    let total = |pick: fn(&(N, N)) -> &N| crate::number::sum(known.iter().map(|x| pick(x).clone()));
    let (realised, notional) = (total(|x| &x.0), total(|x| &x.1));
    let ratio = (!known.is_empty()).then(|| realised / notional.clone());
    let error = ratio.as_ref().filter(|_| known.len() > 1).map(|ratio| {
        let squares: f64 = known
            .iter()
            .map(|(realised, notional)| {
                let off = realised.to_f64() - ratio.to_f64() * notional.to_f64();
                off * off
            })
            .sum();
        let n = known.len() as f64;
        1e4 * libm::sqrt(squares * n / (n - 1.0)) / notional.to_f64()
    });
    Ok(MarkoutTotals {
        bps: ratio.map(|ratio| ratio * N::whole(10_000)),
        bps_error: error,
        count: known.len(),
    })
}
