//! Markouts: the mid some time after each fill against the fill's price. Persistent losses show adverse
//! selection.

use std::collections::VecDeque;

use cambist_core::{MarketId, Price, Side};
use cambist_market_data::Timestamp;
use serde::Serialize;

use crate::exchange::Execution;
use crate::feed::NEVER;

/// Seconds after a fill at which its markout is taken.
const HORIZONS_S: [u32; 3] = [1, 10, 60];
/// Half the width of a confidence band of 95 %, in standard errors.
const BAND: f64 = 1.96;

/// A fill whose later mid is not known yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    due: Timestamp,
    market: MarketId,
    side: Side,
    price: Price,
}

/// Mean and sum of squares, updated one value at a time (Welford 1962).
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

#[expect(clippy::cast_precision_loss, reason = "a count in a statistic")]
impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// Standard error of the mean.
    fn error(&self) -> Option<f64> {
        (self.count > 1).then(|| {
            let variance = self.squares / (self.count - 1) as f64;
            (variance / self.count as f64).sqrt()
        })
    }
}

#[derive(Clone, Debug)]
struct Horizon {
    seconds: u32,
    /// In the order of time.
    pending: VecDeque<Pending>,
    /// Both sides, bids, asks.
    moments: [Moments; 3],
    without_mid: u64,
}

/// The markouts of a run.
#[derive(Clone, Debug)]
pub struct Markouts {
    horizons: [Horizon; 3],
}

/// Markouts at one horizon.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarkoutReport {
    /// Seconds after the fill.
    pub horizon_s: u32,
    /// `all`, `buy` or `sell`.
    pub side: &'static str,
    /// Fills with a mid at that time.
    pub fills: u64,
    /// Mean in ten-thousandths of the fill's price; positive if the mid moved in our favour.
    pub mean_bps: f64,
    /// Lower end of the 95 % confidence band of the mean; missing with fewer than two fills.
    pub low_bps: Option<f64>,
    /// Its upper end.
    pub high_bps: Option<f64>,
    /// Fills left out because the run ended before, or because there was no mid.
    pub left_out: u64,
}

impl Default for Markouts {
    fn default() -> Self {
        let horizon = |seconds| Horizon {
            seconds,
            pending: VecDeque::new(),
            moments: [Moments::default(); 3],
            without_mid: 0,
        };
        Self {
            horizons: HORIZONS_S.map(horizon),
        }
    }
}

impl Markouts {
    /// Records a fill.
    pub fn traded(&mut self, execution: &Execution) {
        for horizon in &mut self.horizons {
            let nanos = i64::from(horizon.seconds) * 1_000_000_000;
            horizon.pending.push_back(Pending {
                due: execution.time.plus_nanos(nanos),
                market: execution.market,
                side: execution.side,
                price: execution.price,
            });
        }
    }

    /// When the next mid is needed.
    pub fn next_due(&self) -> Timestamp {
        let due = self.horizons.iter().filter_map(|h| h.pending.front());
        due.map(|pending| pending.due).min().unwrap_or(NEVER)
    }

    /// Takes the mids that are due.
    pub fn take_due(&mut self, now: Timestamp, mid: impl Fn(MarketId) -> Option<u64>) {
        for horizon in &mut self.horizons {
            while let Some(pending) = horizon.pending.front().copied()
                && pending.due <= now
            {
                horizon.pending.pop_front();
                match mid(pending.market) {
                    Some(mid) => {
                        let value = markout_bps(pending.side, pending.price, mid);
                        horizon.moments[0].add(value);
                        horizon.moments[1 + pending.side as usize].add(value);
                    }
                    None => horizon.without_mid += 1,
                }
            }
        }
    }

    /// Every horizon for both sides, bids and asks; without those that have no fills.
    pub fn report(&self) -> Vec<MarkoutReport> {
        let names = ["all", Side::Buy.name(), Side::Sell.name()];
        let each = self.horizons.iter().flat_map(|horizon| {
            let sides = names.into_iter().zip(&horizon.moments);
            sides.map(move |(side, moments)| {
                let end = |sign: f64| Some(moments.mean + sign * BAND * moments.error()?);
                let waiting = horizon.pending.iter();
                let waiting = waiting.filter(|p| side == "all" || p.side.name() == side);
                MarkoutReport {
                    horizon_s: horizon.seconds,
                    side,
                    fills: moments.count,
                    mean_bps: moments.mean,
                    low_bps: end(-1.0),
                    high_bps: end(1.0),
                    left_out: waiting.count() as u64
                        + if side == "all" {
                            horizon.without_mid
                        } else {
                            0
                        },
                }
            })
        });
        each.filter(|report| report.fills > 0).collect()
    }
}

/// The markout of a price in ticks at a mid in half ticks.
#[expect(clippy::cast_precision_loss, reason = "a statistic")]
fn markout_bps(side: Side, price: Price, mid: u64) -> f64 {
    let twice = 2.0 * price.0 as f64;
    let up = (mid as f64 - twice) / twice * 10_000.0;
    match side {
        Side::Buy => up,
        Side::Sell => -up,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use cambist_core::postings::Traded;
    use cambist_fill_model::Liquidity;

    use super::*;

    fn fill(second: i64, side: Side, price: u64) -> Execution {
        Execution {
            time: Timestamp(second * 1_000_000_000),
            order: 1,
            market: MarketId(0),
            side,
            price: Price(price),
            lots: 1,
            traded: Traded::default(),
            liquidity: Liquidity::Maker,
        }
    }

    #[test]
    fn markouts_use_mids_at_their_times_and_state_their_error() {
        let mut markouts = Markouts::default();
        assert_eq!(markouts.next_due(), NEVER);
        markouts.traded(&fill(0, Side::Buy, 10_000));
        markouts.traded(&fill(5, Side::Sell, 10_000));
        let at = |second: i64| Timestamp(second * 1_000_000_000);
        assert_eq!(markouts.next_due(), at(1));
        // Four half ticks above: two ticks of ten thousand.
        markouts.take_due(at(1), |_| Some(20_004));
        assert_eq!(markouts.next_due(), at(6));
        markouts.take_due(at(6), |_| Some(20_008));
        markouts.take_due(at(10), |_| None);
        let report = markouts.report();
        let of = |side| {
            let found = report.iter().find(|r| r.horizon_s == 1 && r.side == side);
            found.unwrap().clone()
        };
        assert_eq!((of("buy").mean_bps, of("sell").mean_bps), (2.0, -4.0));
        let all = of("all");
        assert_eq!((all.fills, all.mean_bps), (2, -1.0));
        // Standard deviation √18, error 3.
        let low = all.low_bps.unwrap();
        assert!((low - (-1.0 - 1.96 * 3.0)).abs() < 1e-12, "{low}");
        assert_eq!(of("buy").low_bps, None);
        assert!(
            report.iter().all(|r| r.horizon_s == 1),
            "no mid, and no time yet: {report:?}"
        );
        markouts.take_due(at(15), |_| Some(20_000));
        let ten = markouts
            .report()
            .into_iter()
            .find(|r| r.horizon_s == 10 && r.side == "all");
        let ten = ten.unwrap();
        assert_eq!((ten.fills, ten.left_out), (1, 1));
    }
}
