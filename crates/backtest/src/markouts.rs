//! Markouts: the mid some time after each fill against the fill's price. Persistent losses show adverse
//! selection.
//!
//! The mean is weighted by the value traded, so that an order that fills in ten parts counts like one that fills whole.
//! Fills soon after one another are not independent: parts of one order, and the orders of one burst, are followed by
//! the same move of the mid. The standard error of the mean therefore takes the fills of a span of time, as long as the
//! horizon, as one observation (cluster-robust: Liang and Zeger 1986; Cameron and Miller, "A Practitioner's Guide to
//! Cluster-Robust Inference", 2015). Horizons overlap up to one span further, so that the covariance of neighbouring
//! spans is added in full (Hansen and Hodrick 1980); it is never subtracted.

use std::collections::VecDeque;

use cambist_core::{MarketId, Price, Side};
use cambist_market_data::Timestamp;
use serde::Serialize;

use crate::exchange::Execution;
use crate::feed::NEVER;

/// Seconds after a fill at which its markout is taken.
const HORIZONS_S: [u32; 3] = [1, 10, 60];
/// Half the width of a confidence band of 95 %, in standard errors, from one degree of freedom on (Student's t, as
/// Cameron and Miller advise for clusters).
const BAND: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// A fill whose later mid is not known yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    due: Timestamp,
    /// The number of its span since the epoch.
    span: i64,
    market: MarketId,
    side: Side,
    price: Price,
    /// Quote units traded.
    weight: f64,
}

/// The fills of one span: the sum of their weights, and the weighted sum of their values.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    number: i64,
    weight: f64,
    sum: f64,
}

/// Sums over fills, from which mean and standard error follow.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    fills: u64,
    /// Spans with fills, the open one included.
    spans: u64,
    weight: f64,
    sum: f64,
    /// Sums over closed spans: of weights and weighted values, squared and multiplied.
    own: Products,
    /// The same of spans and the ones right after them.
    neighbours: Products,
    last: Option<Span>,
    open: Option<Span>,
}

/// Sums of products of two spans.
#[derive(Clone, Copy, Debug, Default)]
struct Products {
    weights: f64,
    mixed: f64,
    values: f64,
}

impl Products {
    fn add(&mut self, a: Span, b: Span) {
        self.weights += a.weight * b.weight;
        self.mixed += f64::midpoint(a.weight * b.sum, b.weight * a.sum);
        self.values += a.sum * b.sum;
    }

    /// The sum of products of distances from the mean.
    fn about(&self, mean: f64) -> f64 {
        (mean * mean).mul_add(self.weights, (-2.0 * mean).mul_add(self.mixed, self.values))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count in a statistic")]
impl Moments {
    fn add(&mut self, number: i64, weight: f64, value: f64) {
        self.fills += 1;
        self.weight += weight;
        self.sum += weight * value;
        // Exchanges' clocks may differ a little: an earlier span is over.
        if self.open.is_none_or(|open| open.number < number) {
            self.close();
            self.spans += 1;
            self.open = Some(Span {
                number,
                ..Span::default()
            });
        }
        if let Some(open) = &mut self.open {
            open.weight += weight;
            open.sum += weight * value;
        }
    }

    fn close(&mut self) {
        let Some(span) = self.open.take() else {
            return;
        };
        self.own.add(span, span);
        if let Some(last) = self.last.filter(|last| last.number + 1 == span.number) {
            self.neighbours.add(last, span);
        }
        self.last = Some(span);
    }

    fn mean(&self) -> f64 {
        if self.weight > 0.0 {
            self.sum / self.weight
        } else {
            0.0
        }
    }

    /// Half the width of the band.
    fn band(self) -> Option<f64> {
        let error = self.error()?;
        let freedom = self.spans.saturating_sub(2);
        let listed = usize::try_from(freedom).ok().and_then(|at| BAND.get(at));
        let wide = listed.copied().unwrap_or_else(|| {
            // The beginning of Fisher's expansion, exact to four digits here.
            let of = (self.spans - 1) as f64;
            1.959_964 + 2.372_2 / of + 2.822_5 / (of * of)
        });
        Some(wide * error)
    }

    /// Standard error of the mean.
    fn error(mut self) -> Option<f64> {
        self.close();
        let mean = self.mean();
        (self.spans > 1 && self.weight > 0.0).then(|| {
            let own = self.own.about(mean).max(0.0);
            let overlapping = 2.0 * self.neighbours.about(mean);
            let count = self.spans as f64;
            let variance = (own + overlapping.max(0.0)) * count / (count - 1.0);
            variance.sqrt() / self.weight
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
    /// By side.
    without_mid: [u64; 2],
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
    /// Spans of time, each as long as the horizon, with such fills: the observations of the band.
    pub spans: u64,
    /// Mean in ten-thousandths of the fill's price, weighted by the value traded; positive if the mid moved in our
    /// favour; missing where no fill has a mid at that time.
    pub mean_bps: Option<f64>,
    /// Lower end of the 95 % confidence band of the mean; missing with fewer than two spans.
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
            without_mid: [0; 2],
        };
        Self {
            horizons: HORIZONS_S.map(horizon),
        }
    }
}

impl Markouts {
    /// Records a fill.
    #[expect(clippy::cast_precision_loss, reason = "a weight in a statistic")]
    pub fn traded(&mut self, execution: &Execution) {
        for horizon in &mut self.horizons {
            let nanos = i64::from(horizon.seconds) * 1_000_000_000;
            horizon.pending.push_back(Pending {
                due: execution.time.plus_nanos(nanos),
                span: execution.time.0.div_euclid(nanos),
                market: execution.market,
                side: execution.side,
                price: execution.price,
                // All markets have one quote token, so that values of several markets add up.
                weight: execution.traded.quote as f64,
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
                        let (span, weight) = (pending.span, pending.weight);
                        horizon.moments[0].add(span, weight, value);
                        horizon.moments[1 + pending.side as usize].add(span, weight, value);
                    }
                    None => horizon.without_mid[pending.side as usize] += 1,
                }
            }
        }
    }

    /// Every horizon for both sides, bids and asks, also those without a fill.
    pub fn report(&self) -> Vec<MarkoutReport> {
        let names = ["all", Side::Buy.name(), Side::Sell.name()];
        let each = self.horizons.iter().flat_map(|horizon| {
            let sides = names.into_iter().zip(&horizon.moments);
            sides.map(move |(side, moments)| {
                let end = |sign: f64| Some(sign.mul_add(moments.band()?, moments.mean()));
                let is_counted = |of: Side| side == "all" || of.name() == side;
                let waiting = horizon.pending.iter().filter(|p| is_counted(p.side));
                let each = Side::BOTH.into_iter().zip(horizon.without_mid);
                let without_mid = each
                    .filter(|(of, _)| is_counted(*of))
                    .map(|(_, count)| count);
                MarkoutReport {
                    horizon_s: horizon.seconds,
                    side,
                    fills: moments.fills,
                    spans: moments.spans,
                    mean_bps: (moments.fills > 0).then(|| moments.mean()),
                    low_bps: end(-1.0),
                    high_bps: end(1.0),
                    left_out: waiting.count() as u64 + without_mid.sum::<u64>(),
                }
            })
        });
        each.collect()
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
            traded: Traded {
                quote: 1_000_000,
                ..Traded::default()
            },
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
        assert_eq!(
            (of("buy").mean_bps, of("sell").mean_bps),
            (Some(2.0), Some(-4.0))
        );
        let all = of("all");
        assert_eq!((all.fills, all.mean_bps), (2, Some(-1.0)));
        // Standard deviation √18, error 3.
        let low = all.low_bps.unwrap();
        assert!((low - (-1.0 - 12.706 * 3.0)).abs() < 1e-12, "{low}");
        assert_eq!(of("buy").low_bps, None);
        // No mid, and no time yet: the horizons are there, without data.
        assert_eq!(report.len(), 9);
        let others = report.iter().filter(|r| r.horizon_s > 1);
        assert!(
            others
                .clone()
                .all(|r| (r.fills, r.mean_bps, r.low_bps) == (0, None, None)),
            "{report:?}"
        );
        markouts.take_due(at(15), |_| Some(20_000));
        let ten = markouts
            .report()
            .into_iter()
            .find(|r| r.horizon_s == 10 && r.side == "all");
        let ten = ten.unwrap();
        assert_eq!((ten.fills, ten.left_out), (1, 1));
    }

    /// Orders ten seconds apart, `parts` fills each, that gain and lose 4 bps in turn; the bands after a second.
    fn bands(parts: u128) -> MarkoutReport {
        let mut markouts = Markouts::default();
        for order in 0..100 {
            let mut part = fill(10 * order, Side::Buy, 10_000);
            part.traded.quote /= parts;
            for _ in 0..parts {
                markouts.traded(&part);
            }
            let mid = if order % 2 == 0 { 20_008 } else { 19_992 };
            let due = Timestamp((10 * order + 1) * 1_000_000_000);
            markouts.take_due(due, |_| Some(mid));
        }
        let found = markouts.report();
        let found = found.iter().find(|r| r.horizon_s == 1 && r.side == "all");
        found.unwrap().clone()
    }

    #[test]
    fn an_order_that_fills_in_parts_is_one_observation() {
        let (whole, parts) = (bands(1), bands(10));
        assert_eq!((whole.fills, whole.spans), (100, 100));
        assert_eq!((parts.fills, parts.spans), (1_000, 100));
        let width = |of: &MarkoutReport| of.high_bps.unwrap() - of.low_bps.unwrap();
        assert!((width(&whole) - width(&parts)).abs() < 1e-9, "{parts:?}");
        // A standard deviation of 4 bps and 100 observations.
        let expected = 2.0 * 1.984_22 * 4.0 / 99_f64.sqrt();
        assert!((width(&whole) - expected).abs() < 1e-4, "{whole:?}");
    }

    #[test]
    fn the_mean_is_weighted_and_overlapping_horizons_widen_the_band() {
        let mut markouts = Markouts::default();
        let mut large = fill(0, Side::Buy, 10_000);
        large.traded.quote *= 3;
        markouts.traded(&large);
        markouts.traded(&fill(100, Side::Buy, 10_000));
        markouts.take_due(Timestamp(1_000_000_000), |_| Some(20_004));
        markouts.take_due(Timestamp(101_000_000_000), |_| Some(19_996));
        assert!((markouts.report()[0].mean_bps.unwrap() - 1.0).abs() < 1e-12);

        // One move of the mid is seen by the fills of two spans in succession.
        let mut moments = [Moments::default(); 2];
        for pair in 0..50 {
            let value = if pair % 2 == 0 { 4.0 } else { -4.0 };
            for (own, apart) in moments.iter_mut().zip([1, 2]) {
                own.add(10 * pair, 1.0, value);
                own.add(10 * pair + apart, 1.0, value);
            }
        }
        let [together, apart] = moments.map(|own| own.error().unwrap());
        assert!((together / apart - 2_f64.sqrt()).abs() < 1e-9);
    }
}
