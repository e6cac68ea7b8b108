//! Estimates of a market's volatility and fill intensity from polled mids and own fills.
//!
//! Volatility is the two-scale estimate over the mids of the last minutes, one a second. Intensity is the most likely
//! `A·e^(−kδ)` given how long own orders rested at each distance and which of them filled, with a prior. Both stay
//! between the configured number divided and multiplied by one factor, and equal the configured numbers while there are
//! no data. Distances are from the mid at the time an order was first observed; an order counts one fill, and its
//! exposure ends with it.
//!
//! All state is saved and restored, so that a replay from a snapshot decides the same.

use std::collections::VecDeque;

use cambist_core::order::ClientOrderId;
use cambist_core::strategy::{OwnOrder, View};
use cambist_core::{Price, Side, Time};
use cambist_quant::Result;
use cambist_quant::intensity::live::{Bounds, Calibration, Prior};
use cambist_quant::volatility::live::Window;
use serde::{Deserialize, Serialize};

/// Seconds between two mids that are kept.
const MID_INTERVAL_S: f64 = 1.0;
/// The slow scale of the volatility: every tenth mid, so that a mid that alternates between two prices does not count
/// as volatile.
const MIDS_EVERY: usize = 10;
/// Bins of distance, of a quarter of `1/k` each: beyond ten times `1/k` fills are too rare to be counted.
const BINS: usize = 40;
const BINS_PER_DECAY: f64 = 4.0;
/// Weight of the configured intensity: as after this many fills.
const PRIOR_FILLS: f64 = 5.0;
/// Orders whose distance is kept. A fill may be booked after its order has ended.
const ORDERS_MAX: usize = 256;
/// After a longer gap between two decisions nothing is known about the time between them.
const GAP_MS: u64 = 60_000;
/// Estimates are recomputed after this time.
const REFIT_MS: u64 = 5_000;

/// The numbers a model needs of a market, in bps of the mid and seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimates {
    /// Volatility σ, bps/√s.
    pub sigma: f64,
    /// Fill intensity A at the mid, 1/s.
    pub intensity: f64,
    /// Its decay k, 1/bps.
    pub decay: f64,
}

/// The prior: what is assumed without data, how far estimates may deviate from it, and the half-life of observations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assumed {
    /// The configured numbers.
    pub estimates: Estimates,
    /// Estimates stay between the configured number divided and multiplied by this; 1 fixes them.
    pub range: f64,
    /// Mids that are kept, one a second.
    pub mids: usize,
    /// Seconds after which fills and resting time count half.
    pub half_life_s: f64,
}

impl Assumed {
    fn bounds(&self, assumed: f64) -> (f64, f64) {
        (assumed / self.range, assumed * self.range)
    }
}

/// An own order at the distance it was quoted at.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Quoted {
    id: ClientOrderId,
    /// Bps from the mid; negative on the other side of it.
    distance: f64,
    filled: bool,
}

/// The state of both estimators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimators {
    assumed: Assumed,
    mids: Window,
    mid_at: Option<Time>,
    fills: Calibration,
    orders: VecDeque<Quoted>,
    /// When own orders were last observed.
    last: Option<Time>,
    newest: Option<(Time, Estimates)>,
}

impl Estimators {
    /// Estimators without observations.
    pub fn new(assumed: Assumed) -> Result<Self> {
        let width = 1.0 / (assumed.estimates.decay * BINS_PER_DECAY);
        Ok(Self {
            mids: Window::new(MID_INTERVAL_S, assumed.mids)?,
            mid_at: None,
            fills: Calibration::new(width, BINS, assumed.half_life_s)?,
            orders: VecDeque::new(),
            last: None,
            newest: None,
            assumed,
        })
    }

    /// The prior they were created with.
    pub fn assumed(&self) -> &Assumed {
        &self.assumed
    }

    /// Adds the current mid, the resting orders, and the fills since the last call.
    pub fn observe(&mut self, view: &View<'_>) -> Result<()> {
        self.observe_mid(view)?;
        self.observe_orders(view)
    }

    /// A seed price in place of an empty side is not an observed mid.
    fn observe_mid(&mut self, view: &View<'_>) -> Result<()> {
        if view.bids.is_empty() || view.asks.is_empty() || self.mid_at == Some(view.now) {
            return Ok(());
        }
        // A time of another origin counts as a gap, which empties the window.
        let seconds = match self.mid_at {
            Some(last) if last <= view.now => seconds(view.now.ms_since(last).max(1)),
            Some(_) | None => seconds(GAP_MS),
        };
        self.mid_at = Some(view.now);
        self.mids.push(number(view.mid), seconds)
    }

    fn observe_orders(&mut self, view: &View<'_>) -> Result<()> {
        for fill in view.fills {
            let known = self.orders.iter_mut().find(|order| order.id == fill.order);
            if let Some(order) = known.filter(|order| !order.filled) {
                order.filled = true;
                self.fills.filled(order.distance)?;
            }
        }
        let elapsed_ms = match self.last {
            Some(last) if last <= view.now => view.now.ms_since(last),
            Some(_) | None => u64::MAX,
        };
        self.last = Some(view.now);
        if elapsed_ms <= GAP_MS {
            self.fills.decay_by(seconds(elapsed_ms))?;
        }
        for own in view.own {
            match self.orders.iter().find(|order| order.id == own.id) {
                Some(order) if !order.filled && elapsed_ms <= GAP_MS => {
                    self.fills.rested(order.distance, seconds(elapsed_ms))?;
                }
                Some(_) => {}
                None => self.add_quoted(own, view.mid),
            }
        }
        Ok(())
    }

    fn add_quoted(&mut self, own: &OwnOrder, mid: u64) {
        if self.orders.len() == ORDERS_MAX {
            self.orders.pop_front();
        }
        self.orders.push_back(Quoted {
            id: own.id,
            distance: distance_bps(own.side, own.price, mid),
            filled: false,
        });
    }

    /// The estimates, recomputed every few seconds.
    pub fn estimates(&mut self, view: &View<'_>) -> Result<Estimates> {
        if let Some((at, newest)) = self.newest
            && at <= view.now
            && view.now.ms_since(at) < REFIT_MS
        {
            return Ok(newest);
        }
        let Assumed {
            estimates: assumed, ..
        } = self.assumed;
        let (least, most) = self.assumed.bounds(assumed.sigma);
        let sigma = self.mids.sigma(MIDS_EVERY)?;
        let sigma = sigma.map_or(assumed.sigma, |ticks| ticks / number(view.mid) * 10_000.0);
        let fitted = self.fills.estimate(
            &Prior {
                scale: assumed.intensity,
                decay: assumed.decay,
                fills: PRIOR_FILLS,
                decay_sd: assumed.decay / 2.0,
            },
            &Bounds {
                scale: self.assumed.bounds(assumed.intensity),
                decay: self.assumed.bounds(assumed.decay),
            },
        )?;
        let newest = Estimates {
            sigma: sigma.max(least).min(most),
            intensity: fitted.intensity.scale,
            decay: fitted.intensity.decay,
        };
        self.newest = Some((view.now, newest));
        Ok(newest)
    }
}

/// Bps from the mid, negative on the other side of it.
fn distance_bps(side: Side, price: Price, mid: u64) -> f64 {
    let away = (2.0 * number(price.0) - number(mid)) / number(mid) * 10_000.0;
    match side {
        Side::Buy => -away,
        Side::Sell => away,
    }
}

fn seconds(ms: u64) -> f64 {
    number(ms) / 1_000.0
}

#[allow(
    clippy::cast_precision_loss,
    reason = "prices in ticks and milliseconds, below 2^53; a model needs no more"
)]
fn number(whole: u64) -> f64 {
    whole as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use super::*;
    use crate::testing::Scene;

    /// What is known of fills after two observations this far apart; with `own`, an order rests at both.
    fn after(gap_ms: u64, filled: bool, own: bool) -> Calibration {
        let assumed = Assumed {
            estimates: Estimates {
                sigma: 1.0,
                intensity: 0.1,
                decay: 0.1,
            },
            range: 2.0,
            mids: 100,
            half_life_s: 3_600.0,
        };
        let mut estimators = Estimators::new(assumed).unwrap();
        let mut scene = Scene::new(249_900, 250_100, 10, 25_000).with_own(Side::Buy, 249_800, 10);
        estimators.observe(&scene.view()).unwrap();
        if filled {
            scene = scene.with_fill(Side::Buy);
        }
        if !own {
            scene.own.clear();
        }
        scene.now = scene.now.plus_ms(gap_ms);
        estimators.observe(&scene.view()).unwrap();
        estimators.fills
    }

    #[test]
    fn an_order_counts_as_resting_until_it_fills_and_not_over_a_gap() {
        for (gap_ms, filled, rested) in [
            (1_000, false, true),
            (1_000, true, false),
            (GAP_MS / 2 + 1, false, true),
            (GAP_MS, false, true),
            (GAP_MS, true, false),
            (GAP_MS + 1, false, false),
            (GAP_MS + 1, true, false),
        ] {
            let [with, without] = [true, false].map(|own| after(gap_ms, filled, own));
            assert_eq!(with != without, rested, "{gap_ms} ms, filled: {filled}");
        }
    }
}
