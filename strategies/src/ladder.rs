//! Ladder: levels of bids and asks around the mid, with the parameter names of hummingbot's pure market making.
//!
//! Prices are rounded away from the mid and kept behind the other side's best: never nearer than configured, never
//! taking. Sizes may be skewed so that the share of base drifts to a target. Its state is how long each side pauses
//! after a fill, which orders hang (`ladder/hanging.rs`) and where the moving price band is. The engine limits the age
//! of orders by their time to live.

mod hanging;
mod levels;
mod skew;

use cambist_core::control::Control;
use cambist_core::strategy::{OwnOrder, Strategy, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{MarketSpec, Price, Qty, Side, Time};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::optimization::{self, Optimization};
use crate::parameter::{Kind, Looser, ParamError, Parameter, Params, joined};
use crate::price_limits::{self, Band, PriceLimits};
use crate::reference::{self, Reference};
use crate::registry::{Promise, StrategyInfo};
use crate::sizing::{BPS, FEE, Funds, add_level, at_least, is_within, passive, price_at};
use hanging::Hanging;
use levels::Level;

const AMOUNT: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000",
};
const SPREAD: Kind = Kind::Bps { min: 1, max: 5_000 };
const FIRST_SPREAD: Kind = Kind::Bps { min: 0, max: 5_000 };
const LEVELS: Kind = Kind::Tables {
    fields: levels::LEVEL,
    max: 32,
};

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "ladder",
    summary: "Levels of bids and asks around the mid with inventory skew, known as pure market \
              making.",
    promise: Promise::Quotes,
    two_legs: None,
    parameters: &joined::<PARAMETERS>(&[
        &OWN,
        &optimization::PARAMETERS,
        &reference::PARAMETERS,
        &price_limits::PARAMETERS,
    ]),
    build: |params, market| Ok(Box::new(Ladder::new(params, market)?)),
};

const PARAMETERS: usize = OWN.len()
    + optimization::PARAMETERS.len()
    + reference::PARAMETERS.len()
    + price_limits::PARAMETERS.len();

const OWN: [Parameter; 16] = [
    Parameter {
        name: "bid_spread_bps",
        unit: "bps of the mid",
        kind: FIRST_SPREAD,
        default: Some("0"),
        looser: Looser::Lower,
        meaning: "Distance of the first bid from the mid; rounded away from it. Must be given \
                  unless bid_levels is.",
    },
    Parameter {
        name: "ask_spread_bps",
        unit: "bps of the mid",
        kind: FIRST_SPREAD,
        default: Some("0"),
        looser: Looser::Lower,
        meaning: "Distance of the first ask from the mid; rounded away from it. Must be given \
                  unless ask_levels is.",
    },
    Parameter {
        name: "minimum_spread_bps",
        unit: "bps of the mid",
        kind: SPREAD,
        default: Some("1"),
        looser: Looser::Lower,
        meaning: "Smallest distance from the mid, together with fee_bps. A resting order that the \
                  mid has come nearer to is not kept, whatever the refresh tolerance.",
    },
    FEE,
    Parameter {
        name: "order_amount",
        unit: "base tokens",
        kind: AMOUNT,
        default: Some("0"),
        looser: Looser::Higher,
        meaning: "Size of the first level on each side, before skew. Rounded down to whole lots. \
                  Must be given unless both sides have lists of levels.",
    },
    Parameter {
        name: "order_levels",
        unit: "",
        kind: Kind::Integer { min: 1, max: 32 },
        default: Some("1"),
        looser: Looser::Higher,
        meaning: "Levels on each side. Levels that fall on one tick become one order.",
    },
    Parameter {
        name: "order_level_spread_bps",
        unit: "bps of the mid",
        kind: Kind::Bps { min: 0, max: 5_000 },
        default: Some("100"),
        looser: Looser::Lower,
        meaning: "Further distance of each level after the first.",
    },
    Parameter {
        name: "order_level_amount",
        unit: "base tokens",
        kind: AMOUNT,
        default: Some("0"),
        looser: Looser::Higher,
        meaning: "How much larger each level is than the one before. Rounded down to whole lots.",
    },
    Parameter {
        name: "bid_levels",
        unit: "",
        kind: LEVELS,
        default: Some("[]"),
        looser: Looser::Fields,
        meaning: "The bids level by level, in place of bid_spread_bps and the order_ keys above.",
    },
    Parameter {
        name: "ask_levels",
        unit: "",
        kind: LEVELS,
        default: Some("[]"),
        looser: Looser::Fields,
        meaning: "The asks level by level, in place of ask_spread_bps and the order_ keys above.",
    },
    Parameter {
        name: "inventory_skew_enabled",
        unit: "",
        kind: Kind::Bool,
        default: Some("false"),
        looser: Looser::Lower,
        meaning: "Whether sizes are skewed towards the target share of base.",
    },
    Parameter {
        name: "inventory_target_base_bps",
        unit: "bps of all holdings",
        kind: Kind::Bps { min: 0, max: BPS },
        default: Some("5000"),
        looser: Looser::Changed,
        meaning: "Target share of base in the value of all holdings.",
    },
    Parameter {
        name: "inventory_range_multiplier",
        unit: "times the size of all orders",
        kind: Kind::Decimal {
            min: "0.01",
            max: "1000",
        },
        default: Some("1"),
        looser: Looser::Higher,
        meaning: "How far from the target, in sizes of all orders of both sides together, one \
                  side reaches zero and the other twice its size.",
    },
    Parameter {
        name: "order_refresh_tolerance_bps",
        unit: "bps of the price",
        kind: Kind::Bps { min: 0, max: 1_000 },
        default: Some("0"),
        looser: Looser::Higher,
        meaning: "A side whose resting orders are as many as its levels and all within this of \
                  their target prices keeps its prices.",
    },
    Parameter {
        name: "filled_order_delay_ms",
        unit: "ms",
        kind: Kind::Integer {
            min: 0,
            max: 3_600_000,
        },
        default: Some("60000"),
        looser: Looser::Lower,
        meaning: "Time after a fill for which that side places no new orders; resting orders stay.",
    },
    Parameter {
        name: "hanging_orders_cancel_bps",
        unit: "bps of the mid",
        kind: Kind::Bps { min: 0, max: BPS },
        default: Some("0"),
        looser: Looser::Higher,
        meaning: "After a fill the nearest order of the other side hangs: it stays at its price, \
                  beside the levels, until it fills or is further than this from the mid. 0 is \
                  off.",
    },
];

/// The strategy.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// Levels of bids and asks, nearest first.
    levels: [Vec<Level>; 2],
    /// Smallest distance from the mid.
    floor_bps: u32,
    /// Target share and range of the skew, if it is on.
    skew: Option<(u32, Qty)>,
    tolerance_bps: u32,
    delay_ms: u64,
    hanging_cancel_bps: u32,
    optimization: Optimization,
    reference: Reference,
    limits: PriceLimits,
    memory: Memory,
}

/// The saved state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Memory {
    /// When each side may place new orders again, bids then asks.
    paused_until: [Time; 2],
    hanging: Hanging,
    /// Where the moving price band is; held in the limits while the strategy runs.
    band: Option<Band>,
}

impl Ladder {
    /// Checks conditions on several parameters and converts amounts to lots and prices to ticks.
    pub fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let floor_bps = params.whole("minimum_spread_bps")? + params.whole("fee_bps")?;
        let [buy, sell] = Side::BOTH.map(|side| levels::of_side(params, market, side, floor_bps));
        let levels = [buy?, sell?];
        Ok(Self {
            skew: skew_range(params, &levels)?,
            levels,
            floor_bps,
            tolerance_bps: params.whole("order_refresh_tolerance_bps")?,
            delay_ms: u64::from(params.whole("filled_order_delay_ms")?),
            hanging_cancel_bps: params.whole("hanging_orders_cancel_bps")?,
            optimization: Optimization::new(params, market)?,
            reference: Reference::new(params, market)?,
            limits: PriceLimits::new(params, market)?,
            memory: Memory::default(),
        })
    }

    fn levels(&self, side: Side) -> &[Level] {
        let [bids, asks] = &self.levels;
        match side {
            Side::Buy => bids,
            Side::Sell => asks,
        }
    }

    /// The prices of the levels of a side, nearest first.
    fn prices(&self, view: &View<'_>, side: Side) -> Vec<Price> {
        let targets = self.levels(side).iter();
        let targets = targets.map(|level| price_at(side, view.mid, level.spread_bps));
        let prices = self.optimization.prices(view, side, targets.collect());
        prices
            .into_iter()
            .map(|price| passive(view, side, self.limits.limit(side, price)))
            .collect()
    }

    /// Target prices and sizes of one side, nearest first, one entry a tick, covered by the holdings; or why there are
    /// none.
    fn target_quotes(
        &self,
        view: &View<'_>,
        side: Side,
        funds: &mut Funds,
    ) -> Result<Vec<(Price, Qty)>, Withheld> {
        let ratios = match self.skew {
            None => Some(skew::Ratios::NONE),
            Some((target_bps, range)) => {
                skew::ratios(view.market, view.holdings, view.mid, target_bps, range)
            }
        };
        let ratios = ratios.ok_or(Control::StrategyFunds)?;
        let mut levels: Vec<(Price, Qty)> = Vec::new();
        for (price, level) in self.prices(view, side).into_iter().zip(self.levels(side)) {
            let Some(qty) = ratios.apply(side, level.size) else {
                continue;
            };
            add_level(&mut levels, price, qty);
        }
        levels.retain(|(_, qty)| qty.0 > 0);
        if levels.is_empty() {
            return Err(self.skewed(view));
        }
        funds.cover(view, side, levels)
    }

    /// Skew leaves no size for a side: the share of base and the target.
    fn skewed(&self, view: &View<'_>) -> Withheld {
        let target_bps = self.skew.map_or(0, |(target_bps, _)| target_bps);
        let key = "market.strategy.params.inventory_range_multiplier";
        let share_bps = view.base_share_bps();
        let compared = Compared::of(Unit::Bps, key, share_bps, target_bps);
        Withheld::compared(Control::StrategySkew, compared)
    }

    /// Prices and remainders of own orders that may stay, nearest first, one entry a price.
    fn resting(&self, view: &View<'_>, side: Side) -> Vec<(Price, Qty)> {
        let mut own: Vec<&OwnOrder> = view
            .own
            .iter()
            .filter(|order| order.side == side && !order.cancelling)
            .filter(|order| passive(view, side, order.price) == order.price)
            .filter(|order| at_least(side, order.price, view.mid, self.floor_bps))
            .filter(|order| self.limits.allows(side, order.price))
            .filter(|order| !self.memory.hanging.contains(side, order.price))
            .collect();
        own.sort_by_key(|order| {
            let away = match side {
                Side::Buy => u64::MAX - order.price.0,
                Side::Sell => order.price.0,
            };
            (away, order.expiring)
        });
        // An order close to its expiry and its replacement count as one level.
        own.dedup_by_key(|order| order.price);
        own.into_iter()
            .map(|order| (order.price, order.remaining))
            .collect()
    }

    fn side(&self, view: &View<'_>, side: Side, funds: &mut Funds, targets: &mut Targets) {
        if let Some(why) = self.limits.blocked(view.mid, side) {
            return targets.withhold(side, why);
        }
        // Hanging orders are kept as they are; the levels get the remaining funds.
        let mut hanging = self.memory.hanging.of_side(view, side);
        hanging.retain(|&(price, _)| {
            at_least(side, price, view.mid, self.floor_bps) && self.limits.allows(side, price)
        });
        for &(price, qty) in &hanging {
            let _ = funds.take(view.market, side, price, qty);
        }
        let mut quotes = match self.target_quotes(view, side, funds) {
            Ok(quotes) => quotes,
            Err(why) => {
                targets.withhold(side, why);
                return place(targets, side, hanging);
            }
        };
        let own = self.resting(view, side);
        let Some(&(nearest, _)) = quotes.first() else {
            return place(targets, side, hanging);
        };
        let [paused_buy, paused_sell] = self.memory.paused_until;
        let paused_until = match side {
            Side::Buy => paused_buy,
            Side::Sell => paused_sell,
        };
        if view.now < paused_until {
            // No new orders; of the resting ones, none nearer than configured.
            targets.withhold(side, delayed(paused_until.ms_since(view.now)));
            quotes = own;
            quotes.retain(|&(price, _)| {
                side.reaches(nearest, price) || is_within(price, nearest, self.tolerance_bps)
            });
        } else if own.len() == quotes.len()
            && own
                .iter()
                .zip(&quotes)
                .all(|(own, target)| is_within(own.0, target.0, self.tolerance_bps))
        {
            for (quote, kept) in quotes.iter_mut().zip(own) {
                quote.0 = kept.0;
            }
        }
        quotes.extend(hanging);
        place(targets, side, quotes);
    }
}

fn place(targets: &mut Targets, side: Side, quotes: Vec<(Price, Qty)>) {
    for (level, (price, qty)) in (0..).zip(quotes) {
        targets.quote(side, price, qty, level);
    }
}

impl Strategy for Ladder {
    fn references(&self) -> &[String] {
        self.reference.feeds()
    }

    fn reads(&self) -> &[String] {
        self.reference.reads()
    }

    fn check_reads(&self, market: &MarketSpec, others: &[&MarketSpec]) -> Result<(), String> {
        self.reference.check_reads(market, others)
    }

    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let latest = view.now.plus_ms(self.delay_ms);
        let paused_until = &mut self.memory.paused_until;
        for fill in view.fills {
            let [buy, sell] = paused_until;
            match fill.side {
                Side::Buy => *buy = latest,
                Side::Sell => *sell = latest,
            }
        }
        // Times saved before a restart may have another origin: they may delay a side, but not forever.
        for until in paused_until {
            *until = (*until).min(latest);
        }
        let Some(view) = self.reference.apply_or_withhold(view, targets) else {
            return;
        };
        let view = &view;
        self.limits.observe(view);
        self.memory.hanging.observe(view, self.hanging_cancel_bps);
        for side in Side::BOTH {
            let levels = self.prices(view, side);
            self.memory.hanging.release(side, &levels);
        }
        let mut funds = Funds::new(view.holdings);
        for side in Side::BOTH {
            self.side(view, side, &mut funds, targets);
        }
    }

    fn save(&self) -> Vec<u8> {
        let memory = Memory {
            band: self.limits.band(),
            ..self.memory.clone()
        };
        // Serialisation can only fail for types of unknown length.
        postcard::to_stdvec(&(MEMORY_VERSION, memory)).unwrap_or_default()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        let read = match saved {
            [] => Some(Memory::default()),
            [FIRST_VERSION, times @ ..] => first_version(times),
            [MEMORY_VERSION, memory @ ..] => match postcard::take_from_bytes(memory) {
                Ok((memory, [])) => Some(memory),
                Ok(_) | Err(_) => None,
            },
            [..] => None,
        };
        let understood = read.is_some();
        self.memory = read.unwrap_or_default();
        self.limits.set_band(self.memory.band);
        understood
    }
}

const MEMORY_VERSION: u8 = 2;
/// Only the two times, as eight bytes each.
const FIRST_VERSION: u8 = 1;

fn first_version(times: &[u8]) -> Option<Memory> {
    let (buy, rest) = times.split_first_chunk()?;
    let (sell, []) = rest.split_first_chunk()? else {
        return None;
    };
    Some(Memory {
        paused_until: [u64::from_le_bytes(*buy), u64::from_le_bytes(*sell)].map(Time),
        ..Memory::default()
    })
}

/// A side places no new orders for a time after a fill.
fn delayed(left_ms: u64) -> Withheld {
    let compared = Compared {
        key: "market.strategy.params.filled_order_delay_ms",
        unit: Unit::Ms,
        value: Some(left_ms.into()),
        limit: None,
    };
    Withheld::compared(Control::FillDelay, compared)
}

/// Target and range of the skew: the size of all orders of both sides, times the multiplier.
fn skew_range(params: &Params, levels: &[Vec<Level>; 2]) -> Result<Option<(u32, Qty)>, ParamError> {
    if !params.switch("inventory_skew_enabled")? {
        return Ok(None);
    }
    let target_bps = params.whole("inventory_target_base_bps")?;
    let multiplier = params.decimal("inventory_range_multiplier")?;
    let sizes = levels.iter().flatten().map(|level| level.size);
    let all: u128 = sizes.map(|qty| u128::from(qty.0)).sum();
    let range = scaled(all, multiplier)
        .filter(|range| *range > 0)
        .ok_or_else(|| {
            params.conflict(
                "inventory_range_multiplier",
                format!("{multiplier} times the size of all orders is too large"),
            )
        })?;
    Ok(Some((target_bps, Qty(range))))
}

/// Lots times a decimal, rounded down.
fn scaled(lots: u128, factor: Decimal) -> Option<u64> {
    let digits = u128::try_from(factor.mantissa()).ok()?;
    let product = lots.checked_mul(digits)? / 10u128.checked_pow(factor.scale())?;
    u64::try_from(product).ok()
}

#[cfg(test)]
#[path = "ladder_tests.rs"]
pub(crate) mod tests;
