//! TWAP: buys or sells a total in equal parts over a time, with orders that rest.
//!
//! The total is exact through kills and restarts. What has been traded is `View::traded`, which the store keeps with
//! the fills; what may still trade is every own order, those that are being cancelled and those of unknown state
//! included. Nothing is added beyond what the schedule has released less both, so that the total is not exceeded
//! whichever of these orders fill. An order at another price than wanted is withdrawn first and made again when its end
//! is known.
//!
//! With `schedule = "optimal"` one part rests at a time, from the beginning on, at the distance that the model of Guéant,
//! Lehalle and Fernandez-Tapia has for what remains and the time that is left; a part is what a slice releases
//! otherwise. The total is kept in the same way.
//!
//! Source: "Optimal portfolio liquidation with limit orders", SIAM J. Financial Math. 3 (2012)
//! (`cambist_quant::liquidation`). A purchase mirrors it.

use cambist_core::control::Control;
use cambist_core::strategy::{OwnOrder, Strategy, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{Amount, MarketSpec, Price, Qty, Side, Time};
use cambist_quant::liquidation::Liquidation;
use serde::{Deserialize, Serialize};

use crate::parameter::{Kind, Looser, ParamError, Parameter, Params};
use crate::registry::{Promise, StrategyInfo};
use crate::scale::{base_floor, float, ticks_ceil, ticks_floor};
use crate::sizing::{
    Funds, further, is_orderable, is_within, passive, price_at, price_from, unorderable,
};

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "twap",
    summary: "Buys or sells a total in equal parts over a time; the total is exact through restarts.",
    promise: Promise::Total,
    two_legs: None,
    parameters: &[
        Parameter {
            name: "side",
            unit: "",
            kind: Kind::Choice { of: &[BUY, SELL] },
            default: None,
            looser: Looser::Changed,
            meaning: "Whether it buys or sells.",
        },
        Parameter {
            name: TOTAL,
            unit: "base tokens",
            kind: Kind::Decimal {
                min: "0",
                max: "1000000000",
            },
            default: None,
            looser: Looser::Higher,
            meaning: "What it buys or sells at this market in all runs, as the store counts its fills. To \
                      trade more afterwards, raise it. Rounded down to whole lots.",
        },
        Parameter {
            name: DURATION,
            unit: "s",
            kind: Kind::Integer {
                min: 1,
                max: 2_592_000,
            },
            default: None,
            looser: Looser::Lower,
            meaning: "Time over which the total is released. Time in which the daemon does not run does \
                      not count.",
        },
        Parameter {
            name: "slice_s",
            unit: "s",
            kind: Kind::Integer {
                min: 1,
                max: 86_400,
            },
            default: Some("60"),
            looser: Looser::Higher,
            meaning: "Each so often an equal part is released; at most duration_s.",
        },
        Parameter {
            name: "spread_bps",
            unit: "bps of the mid",
            kind: Kind::Bps { min: 0, max: 5_000 },
            default: Some("5"),
            looser: Looser::Lower,
            meaning: "Distance of an order from the mid at the beginning of a slice; it falls in four steps \
                      and is zero in the last quarter.",
        },
        Parameter {
            name: "price_limit",
            unit: "quote per base",
            kind: Kind::Decimal {
                min: "0",
                max: "1000000000000",
            },
            default: Some("0"),
            looser: Looser::Changed,
            meaning: "Highest price to buy at, or lowest to sell at. 0 is off. Rounded to the safe side.",
        },
        Parameter {
            name: "order_refresh_tolerance_bps",
            unit: "bps of the price",
            kind: Kind::Bps { min: 0, max: 1_000 },
            default: Some("3"),
            looser: Looser::Higher,
            meaning: "A resting order keeps its price while it is within this of the wanted one.",
        },
        Parameter {
            name: SCHEDULE,
            unit: "",
            kind: Kind::Choice {
                of: &[LINEAR, OPTIMAL],
            },
            default: Some("\"linear\""),
            looser: Looser::Changed,
            meaning: "linear releases an equal part with each slice. optimal has one such part rest at a \
                      time, at the distance of the model for what remains and the time that is left; \
                      spread_bps is not used, and the five parameters below are; at \
                      most 200 slices.",
        },
        Parameter {
            name: "volatility_bps",
            unit: "bps of the mid for each square root of a second",
            kind: MODEL,
            default: Some("1"),
            looser: Looser::Changed,
            meaning: "Volatility, for optimal. 1 is 2.9 % a day.",
        },
        Parameter {
            name: "intensity_per_s",
            unit: "1/s",
            kind: MODEL,
            default: Some("0.1"),
            looser: Looser::Changed,
            meaning: "Fills per second of a part at the mid, for optimal; above 0.",
        },
        Parameter {
            name: "decay_per_bps",
            unit: "1/bps",
            kind: MODEL,
            default: Some("0.3"),
            looser: Looser::Changed,
            meaning: "How fast fills decrease with the distance, for optimal: by the factor e for each \
                      1/decay bps; above 0.",
        },
        Parameter {
            name: "risk_aversion",
            unit: "1/bps for each part",
            kind: MODEL,
            default: Some("0.05"),
            looser: Looser::Changed,
            meaning: "The higher, the nearer the orders while much remains, for optimal. 0 only weighs the \
                      price against end_discount_bps.",
        },
        Parameter {
            name: "end_discount_bps",
            unit: "bps of the mid",
            kind: Kind::Bps { min: 0, max: 5_000 },
            default: Some("10"),
            looser: Looser::Changed,
            meaning: "What a part that is left at the end of duration_s would be given away for, for \
                      optimal: orders come nearer by that towards the end.",
        },
    ],
    build: |params, market| Ok(Box::new(Twap::new(params, market)?)),
};

/// A number of the model.
const MODEL: Kind = Kind::Decimal {
    min: "0",
    max: "1000",
};
const SCHEDULE: &str = "schedule";
const LINEAR: &str = "linear";
const OPTIMAL: &str = "optimal";
/// Most parts of the optimal schedule: its prices are computed for each.
const PARTS_MAX: u64 = 200;
const BUY: &str = "buy";
const SELL: &str = "sell";
const TOTAL: &str = "total";
const DURATION: &str = "duration_s";

/// The side and the total of a table, in base units; `None` if it is not valid.
pub fn total(table: &toml::Table, market: &MarketSpec) -> Option<(Side, Amount)> {
    let params = Params::read(INFO.parameters, table).ok()?;
    let twap = Twap::new(&params, market).ok()?;
    Some((twap.side, twap.total))
}

/// Most orders at a time: a part that does not fill is joined by the next one.
const ORDERS_MAX: usize = 4;
/// Steps in which the distance falls within a slice.
const STEPS: u64 = 4;

/// The strategy.
#[derive(Clone, Debug)]
struct Twap {
    side: Side,
    total: Amount,
    duration_ms: u64,
    slice_ms: u64,
    spread_bps: u32,
    limit: Option<Price>,
    tolerance_bps: u32,
    optimal: Option<Optimal>,
    clock: Elapsed,
}

/// The optimal schedule.
#[derive(Clone, Copy, Debug)]
struct Optimal {
    /// Prices in basis points of the mid, positions in parts, seconds.
    model: Liquidation,
    /// Base units of a part.
    part: Amount,
    /// The last distance with the parts and the milliseconds that it is for: decisions are more frequent than either
    /// changes.
    last: Option<(u32, u64, Option<f64>)>,
}

impl Optimal {
    /// Reads the model; it must have prices for the whole total and the whole time.
    fn new(
        params: &Params,
        market: &MarketSpec,
        total: Amount,
        (duration_s, slice_s): (u32, u32),
    ) -> Result<Self, ParamError> {
        let parts = u64::from(duration_s.div_ceil(slice_s));
        if parts > PARTS_MAX {
            let what = format!("{parts} slices: the optimal schedule has at most {PARTS_MAX}");
            return Err(params.conflict("slice_s", what));
        }
        let even = total.saturating_mul(slice_s.into()) / Amount::from(duration_s);
        let part = market.base_amount(market.lots_floor(even));
        let part = part.unwrap_or(0).max(market.lot);
        let mut optimal = Self {
            model: Liquidation {
                sigma: float(params, "volatility_bps")?,
                intensity: float(params, "intensity_per_s")?,
                decay: float(params, "decay_per_bps")?,
                risk_aversion: float(params, "risk_aversion")?,
                drift: 0.0,
                discount: f64::from(params.whole("end_discount_bps")?),
            },
            part,
            last: None,
        };
        let parts = optimal.parts(total);
        let left_ms = u64::from(duration_s) * 1_000;
        optimal
            .distance(parts, left_ms)
            .map(|_| optimal)
            .ok_or_else(|| params.conflict(SCHEDULE, "the model has no prices for these numbers"))
    }

    /// Parts that make up `left` base units, rounded up, and at least one.
    fn parts(&self, left: Amount) -> u32 {
        u32::try_from(left.div_ceil(self.part))
            .unwrap_or(u32::MAX)
            .max(1)
    }

    /// Distance from the mid in basis points, negative beyond it; `None` where the model has none.
    fn distance(&mut self, parts: u32, left_ms: u64) -> Option<f64> {
        match self.last {
            Some((known, at_ms, distance)) if (known, at_ms) == (parts, left_ms) => distance,
            _ => {
                #[allow(clippy::cast_precision_loss, reason = "a time, below 2^53")]
                let left_s = left_ms as f64 / 1_000.0;
                let found = self.model.distances(parts, left_s);
                let distance = found.ok().and_then(|all| all.last().copied());
                let distance = distance.filter(|bps| bps.is_finite());
                self.last = Some((parts, left_ms, distance));
                distance
            }
        }
    }
}

/// The time for which it has run. If the newest second of it is lost with a killed daemon, the schedule is a second
/// late; the total does not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Elapsed {
    ms: u64,
    last: Option<Time>,
}

impl Twap {
    /// Checks conditions on several parameters and converts amounts to base units.
    fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let side = match params.choice("side")? {
            BUY => Side::Buy,
            _ => Side::Sell,
        };
        let total = base_floor(params, TOTAL, market)?;
        if total == 0 {
            return Err(params.conflict(TOTAL, "must be above zero"));
        }
        let (duration_s, slice_s) = (params.whole(DURATION)?, params.whole("slice_s")?);
        if slice_s > duration_s {
            return Err(params.conflict("slice_s", "must be at most duration_s"));
        }
        let limit = match side {
            Side::Buy => ticks_floor(params, "price_limit", market)?,
            Side::Sell => ticks_ceil(params, "price_limit", market)?,
        };
        Ok(Self {
            side,
            total,
            duration_ms: u64::from(duration_s) * 1_000,
            slice_ms: u64::from(slice_s) * 1_000,
            spread_bps: params.whole("spread_bps")?,
            limit: Some(limit).filter(|limit| limit.0 > 0),
            tolerance_bps: params.whole("order_refresh_tolerance_bps")?,
            optimal: match params.choice(SCHEDULE)? {
                OPTIMAL => Some(Optimal::new(params, market, total, (duration_s, slice_s))?),
                _ => None,
            },
            clock: Elapsed::default(),
        })
    }

    /// Base units that the schedule has released by now, of which `done` are traded.
    fn released(&self, done: Amount) -> Amount {
        if let Some(optimal) = self.optimal {
            return self.total.min(done.saturating_add(optimal.part));
        }
        let slices = self.clock.ms / self.slice_ms + 1;
        let ms = slices.saturating_mul(self.slice_ms).min(self.duration_ms);
        // Below 2^128: amounts of the venue are below 2^96.
        self.total.saturating_mul(ms.into()) / u128::from(self.duration_ms)
    }

    /// The price of new orders now; `None` where the model has none.
    fn price(&mut self, view: &View<'_>) -> Option<Price> {
        let price = match &mut self.optimal {
            None => self.linear_price(view),
            Some(optimal) => {
                let left = self.total.saturating_sub(view.traded.of(self.side));
                // The time at the last step, so that an order rests meanwhile.
                let step_ms = (self.slice_ms / STEPS).max(1);
                let passed = self.clock.ms / step_ms * step_ms;
                let parts = optimal.parts(left);
                let bps = optimal.distance(parts, self.duration_ms.saturating_sub(passed))?;
                passive(view, self.side, price_from(self.side, view.mid, bps)?)
            }
        };
        let limited = |limit| further(self.side, price, limit);
        Some(self.limit.map_or(price, limited))
    }

    fn linear_price(&self, view: &View<'_>) -> Price {
        let step = self.clock.ms % self.slice_ms * STEPS / self.slice_ms;
        let left = if self.clock.ms < self.duration_ms {
            STEPS - 1 - step
        } else {
            0
        };
        let away = u64::from(self.spread_bps) * left / (STEPS - 1);
        let away = u32::try_from(away).unwrap_or(u32::MAX);
        passive(view, self.side, price_at(self.side, view.mid, away))
    }

    /// Whether a resting order stays: it is near the wanted price and within the limit.
    fn stays(&self, order: &OwnOrder, price: Price) -> bool {
        let allowed = self
            .limit
            .is_none_or(|limit| further(self.side, order.price, limit) == order.price);
        allowed
            && !order.cancelling
            && !order.expiring
            && is_within(order.price, price, self.tolerance_bps)
    }

    /// Adds the orders that stay and the part that is due; or returns why nothing is due.
    fn quote(&mut self, view: &View<'_>, targets: &mut Targets) -> Result<(), Withheld> {
        let (side, market) = (self.side, view.market);
        let price = self.price(view).ok_or(Control::NoFairPrice)?;
        let own = || view.own.iter().filter(|order| order.side == side);
        let mut funds = Funds::new(view.holdings);
        let mut level = 0;
        for order in own().filter(|order| self.stays(order, price)) {
            let _ = funds.take(market, side, order.price, order.remaining);
            targets.quote(side, order.price, order.remaining, level);
            level += 1;
        }
        let lots = own()
            .map(|order| u128::from(order.remaining.0))
            .sum::<u128>();
        let alive = lots
            .saturating_mul(market.lot)
            // A remainder below a lot may fill as well.
            .saturating_add(market.lot.saturating_mul(own().count() as u128))
            .saturating_add(view.unknown[side as usize]);
        let done = view.traded.of(side);
        let room = |limit: Amount| limit.saturating_sub(done).saturating_sub(alive);
        let (due, left) = (room(self.released(done)), room(self.total));
        if self.optimal.is_some() && alive > 0 {
            // One part at a time, also while it is being withdrawn or its state is unknown.
            return if level > 0 {
                Ok(())
            } else {
                Err(self.waits(done))
            };
        }
        if level > 0 && own().count() >= ORDERS_MAX {
            return Ok(());
        }
        let mut wanted = market.lots_floor(due);
        // What would remain after it must be enough for an order of its own.
        let rest = Qty(market.lots_floor(left).0.saturating_sub(wanted.0));
        if rest.0 > 0 && !is_orderable(market, price, rest) {
            wanted = market.lots_floor(left);
        }
        if wanted.0 == 0 || price.0 == 0 {
            return match (level, price.0) {
                (0, 0) => Err(Control::NoPassivePrice.into()),
                (0, _) => Err(self.waits(done)),
                (_, _) => Ok(()),
            };
        }
        let covered = funds.take(market, side, price, wanted);
        if is_orderable(market, price, covered) {
            targets.quote(side, price, covered, level);
            Ok(())
        } else if level > 0 {
            Ok(())
        } else {
            Err(unorderable(view, side, price, wanted, Qty(1)))
        }
    }

    /// Nothing is due: what was traded, of what was released.
    fn waits(&self, done: Amount) -> Withheld {
        let key = if done >= self.total {
            "market.strategy.params.total"
        } else {
            "market.strategy.params.duration_s"
        };
        let compared = Compared::new(Unit::Base, key, done, self.released(done));
        Withheld::compared(Control::Schedule, compared)
    }
}

impl Strategy for Twap {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        if let Some(last) = self.clock.last {
            let passed = view.now.ms_since(last);
            self.clock.ms = self.clock.ms.saturating_add(passed);
        }
        self.clock.last = Some(view.now);
        targets.withhold(self.side.opposite(), Control::NotConfigured);
        if let Err(why) = self.quote(view, targets) {
            targets.withhold(self.side, why);
        }
    }

    fn save(&self) -> Vec<u8> {
        // Serialisation can only fail for types of unknown length.
        postcard::to_stdvec(&self.clock).unwrap_or_default()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        let read = if saved.is_empty() {
            Some(Elapsed::default())
        } else {
            postcard::from_bytes(saved).ok()
        };
        self.clock = read.unwrap_or_default();
        read.is_some()
    }

    fn save_durable(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.clock.ms).unwrap_or_default()
    }

    fn resume(&mut self, saved: &[u8]) -> bool {
        let ms = postcard::from_bytes(saved).ok();
        self.clock = Elapsed {
            ms: ms.unwrap_or_default(),
            last: None,
        };
        ms.is_some()
    }

    fn next_decision(&self) -> Option<Time> {
        let last = self.clock.last?;
        if self.clock.ms >= self.duration_ms {
            return None;
        }
        // The beginning of the next step of the distance, or of the next slice.
        let step_ms = (self.slice_ms / STEPS).max(1);
        Some(last.plus_ms(step_ms - self.clock.ms % step_ms))
    }
}

#[cfg(test)]
#[path = "twap_tests.rs"]
pub(crate) mod tests;
