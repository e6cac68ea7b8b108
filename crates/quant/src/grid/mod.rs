//! Grids of quotes at multiples of an interval, as in the hftbacktest examples ("GLFT Market Making
//! Model and Grid Trading", "High-Frequency Grid Trading"), and the changes from one grid to the
//! next.
//!
//! Prices are multiples of an interval, so that a small move of the mid leaves most levels
//! unchanged, with their queue positions. Rounding is half to even, as in the sources. Generic over
//! [`Number`]; prices are ticks.

mod spacing;
#[cfg(test)]
mod tests;

pub use spacing::{Distances, Sizes, distances, sizes, total_within};

use crate::error::{Error, Result, require};
use crate::number::{Number, least, most};

/// Most levels of one side.
pub const LEVELS_MAX: usize = 10_000;

/// Ticks of both sides, best first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Grid {
    /// Bids, falling.
    pub bids: Vec<i64>,
    /// Asks, rising.
    pub asks: Vec<i64>,
}

/// The best prices of others, ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// Best bid.
    pub bid: i64,
    /// Best ask, above it.
    pub ask: i64,
}

impl Touch {
    fn checked(self) -> Result<Self> {
        require(self.bid < self.ask, "touch", "a bid below the ask")?;
        // Far from the ends of the type, so that sums and multiples cannot overflow.
        let sound = |price: i64| (1..=i64::MAX / 4).contains(&price);
        require(
            sound(self.bid) && sound(self.ask),
            "touch",
            "prices above 0 that can be added",
        )?;
        Ok(self)
    }

    fn mid<N: Number>(self) -> N {
        (N::whole(self.bid) + N::whole(self.ask)) / N::whole(2)
    }
}

/// Parameters of a grid around a GLFT quote.
#[derive(Clone, PartialEq, Debug)]
pub struct Skewed<N> {
    /// Half-spread, ticks, from 0.
    pub half_spread: N,
    /// How far a unit of position moves both quotes down, ticks.
    pub skew: N,
    /// Position, in units of inventory.
    pub position: N,
    /// At this position the side that would add to it is empty.
    pub max_position: N,
    /// Levels a side.
    pub levels: usize,
}

/// A grid with the reservation price and the interval used.
#[derive(Clone, PartialEq, Debug)]
pub struct SkewedGrid<N> {
    /// Mid − skew · position, ticks.
    pub reservation: N,
    /// Interval between levels, ticks.
    pub interval: i64,
    /// The levels.
    pub grid: Grid,
}

/// A grid whose best levels are half a spread around the reservation price, never better than the
/// touch: `interval = max(round(half), 1)`, bids floored to it, asks ceiled.
///
/// hftbacktest, "GLFT Market Making Model and Grid Trading".
pub fn skewed<N: Number>(touch: Touch, by: &Skewed<N>) -> Result<SkewedGrid<N>> {
    let touch = touch.checked()?;
    for (name, value) in [
        ("half-spread", &by.half_spread),
        ("skew", &by.skew),
        ("position", &by.position),
        ("maximum position", &by.max_position),
    ] {
        require(value.is_finite(), name, "a finite number")?;
    }
    require(by.half_spread >= N::zero(), "half-spread", "at least 0")?;
    require(by.max_position > N::zero(), "maximum position", "above 0")?;
    require(by.levels <= LEVELS_MAX, "levels", "at most 10000")?;
    let reservation = touch.mid::<N>() - by.skew.clone() * by.position.clone();
    let bid = rounded(&(reservation.clone() - by.half_spread.clone()))?.min(touch.bid);
    let ask = rounded(&(reservation.clone() + by.half_spread.clone()))?.max(touch.ask);
    let interval = rounded(&by.half_spread)?.max(1);
    let long = by.position >= by.max_position;
    let short = by.position <= -by.max_position.clone();
    Ok(SkewedGrid {
        reservation,
        interval,
        grid: Grid {
            bids: ladder(bid.div_euclid(interval), -1, interval, by.levels, long)?,
            asks: ladder(-(-ask).div_euclid(interval), 1, interval, by.levels, short)?,
        },
    })
}

/// Parameters of a grid around a micro-price.
#[derive(Clone, PartialEq, Debug)]
pub struct Simple<N> {
    /// The unit of ticks, quote for each base.
    pub tick_size: N,
    /// Quantity at the best bid and at the best ask, above 0.
    pub touch_quantities: (N, N),
    /// Volatility, ticks.
    pub volatility: N,
    /// Half-spread for each unit of volatility.
    pub volatility_to_half_spread: N,
    /// How much a full position narrows one side and widens the other: 1 closes the one.
    pub skew: N,
    /// How much a full position narrows one side and widens the other: 1 moves the narrowed side to
    /// the forecast.
    pub position: N,
    /// Largest position, quote.
    pub max_notional: N,
    /// Least interval between levels, ticks.
    pub min_step: i64,
    /// Levels a side.
    pub levels: usize,
}

/// A grid with the prices it was computed from, ticks.
#[derive(Clone, PartialEq, Debug)]
pub struct SimpleGrid<N> {
    /// The weighted mid.
    pub forecast: N,
    /// Forecast − depth, at most the best bid.
    pub bid: N,
    /// Forecast + depth, at least the best ask.
    pub ask: N,
    /// Interval between levels, ticks.
    pub interval: i64,
    /// The levels.
    pub grid: Grid,
}

/// A grid whose spread depends on volatility alone: `half = volatility · ratio`, depths `half·(1 ±
/// skew · notional/max)`, `interval = max(round(half/step)·step, step)`.
///
/// hftbacktest, "Making Multiple Markets" and "High-Frequency Grid Trading – Simplified from GLFT".
pub fn simple<N: Number>(touch: Touch, by: &Simple<N>) -> Result<SimpleGrid<N>> {
    let touch = touch.checked()?;
    let (bid_quantity, ask_quantity) = &by.touch_quantities;
    for (name, value) in [
        ("tick size", &by.tick_size),
        ("quantity at the bid", bid_quantity),
        ("quantity at the ask", ask_quantity),
        ("maximum position", &by.max_notional),
    ] {
        require(
            value.is_finite() && *value > N::zero(),
            name,
            "a finite number above 0",
        )?;
    }
    for (name, value) in [("skew", &by.skew), ("position", &by.position)] {
        require(value.is_finite(), name, "a finite number")?;
    }
    let half = by.volatility.clone() * by.volatility_to_half_spread.clone();
    require(
        half.is_finite() && half >= N::zero(),
        "half-spread",
        "a finite number from 0",
    )?;
    require(by.min_step >= 1, "step", "at least 1 tick")?;
    require(by.levels <= LEVELS_MAX, "levels", "at most 10000")?;
    let (best_bid, best_ask) = (N::whole(touch.bid), N::whole(touch.ask));
    let forecast = (best_bid.clone() * ask_quantity.clone()
        + best_ask.clone() * bid_quantity.clone())
        / (bid_quantity.clone() + ask_quantity.clone());
    let notional = by.position.clone() * touch.mid::<N>() * by.tick_size.clone();
    let tilt = by.skew.clone() * notional.clone() / by.max_notional.clone();
    let bid = least(
        forecast.clone() - half.clone() * (N::one() + tilt.clone()),
        best_bid,
    );
    let ask = most(
        forecast.clone() + half.clone() * (N::one() - tilt),
        best_ask,
    );
    let steps = rounded(&(half / N::whole(by.min_step)))?;
    let interval = steps.max(1).checked_mul(by.min_step).ok_or(TOO_WIDE)?;
    let unit = N::whole(interval);
    let bid_step = (bid.clone() / unit.clone())
        .floor_to_i64()
        .ok_or(TOO_WIDE)?;
    let ask_step = (ask.clone() / unit).ceil_to_i64().ok_or(TOO_WIDE)?;
    let long = notional >= by.max_notional;
    let short = notional <= -by.max_notional.clone();
    Ok(SimpleGrid {
        forecast,
        bid,
        ask,
        interval,
        grid: Grid {
            bids: ladder(bid_step, -1, interval, by.levels, long)?,
            asks: ladder(ask_step, 1, interval, by.levels, short)?,
        },
    })
}

const TOO_WIDE: Error = Error::NoSolution { name: "grid" };

fn rounded<N: Number>(value: &N) -> Result<i64> {
    value.round_half_even().ok_or(TOO_WIDE)
}

/// Multiples of the interval from `first`, downwards or upwards; prices at or below 0 are left out.
fn ladder(first: i64, towards: i64, interval: i64, levels: usize, empty: bool) -> Result<Vec<i64>> {
    if empty {
        return Ok(Vec::new());
    }
    let mut made = Vec::new();
    let mut step = first;
    while made.len() < levels && step > 0 {
        made.push(step.checked_mul(interval).ok_or(TOO_WIDE)?);
        step = step.checked_add(towards).ok_or(TOO_WIDE)?;
    }
    Ok(made)
}

/// The changes that lead from one grid to the next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Levels to cancel.
    pub cancel: Grid,
    /// Levels to place.
    pub place: Grid,
}

/// Cancels levels that are not in the new grid and places those that are missing; the others keep
/// their queue positions.
///
/// hftbacktest, "High-Frequency Grid Trading".
pub fn changes(current: &Grid, target: &Grid) -> Changes {
    let without = |side: &[i64], other: &[i64]| -> Vec<i64> {
        let kept = side.iter().copied();
        kept.filter(|tick| !other.contains(tick)).collect()
    };
    Changes {
        cancel: Grid {
            bids: without(&current.bids, &target.bids),
            asks: without(&current.asks, &target.asks),
        },
        place: Grid {
            bids: without(&target.bids, &current.bids),
            asks: without(&target.asks, &current.asks),
        },
    }
}
