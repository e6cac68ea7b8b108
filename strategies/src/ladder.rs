//! Ladder: levels of bids and asks around the mid, with the names users of hummingbot's pure market
//! making know.
//!
//! Prices are rounded away from the mid and moved away from the other side's best: never narrower than
//! asked, never taking. Sizes may lean so that the share of base drifts to a target. Its only memory is
//! until when each side pauses after a fill. When orders are refreshed is not its business: that
//! follows from their ttl, which the engine watches.

mod skew;

use cambist_core::control::Control;
use cambist_core::strategy::{OwnOrder, Strategy, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{MarketSpec, Price, Qty, Side, Time};
use rust_decimal::Decimal;

use crate::parameter::{Kind, ParamError, Parameter, Params};
use crate::registry::{Promise, StrategyInfo};
use crate::scale::{lots_floor, ticks_ceil, ticks_floor};
use crate::sizing::{
    BPS, Funds, at_least, is_orderable, is_within, passive, price_at, unorderable,
};

const AMOUNT: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000",
};
const SPREAD: Kind = Kind::Bps { min: 1, max: 5_000 };

/// The registry's line.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "ladder",
    summary: "Levels of bids and asks around the mid with inventory skew, known as pure market \
              making.",
    promise: Promise::Quotes,
    parameters: &[
        Parameter {
            name: "bid_spread_bps",
            unit: "bps of the mid",
            kind: SPREAD,
            default: None,
            meaning: "Distance of the first bid from the mid; rounded away from it.",
        },
        Parameter {
            name: "ask_spread_bps",
            unit: "bps of the mid",
            kind: SPREAD,
            default: None,
            meaning: "Distance of the first ask from the mid; rounded away from it.",
        },
        Parameter {
            name: "minimum_spread_bps",
            unit: "bps of the mid",
            kind: SPREAD,
            default: Some("1"),
            meaning: "A resting order that the mid has come nearer to than this is not kept, \
                      whatever the refresh tolerance says.",
        },
        Parameter {
            name: "order_amount",
            unit: "base tokens",
            kind: AMOUNT,
            default: None,
            meaning: "Size of the first level on each side, before skew. Rounded down to whole lots.",
        },
        Parameter {
            name: "order_levels",
            unit: "",
            kind: Kind::Integer { min: 1, max: 32 },
            default: Some("1"),
            meaning: "Levels on each side. Levels that fall on one tick become one order.",
        },
        Parameter {
            name: "order_level_spread_bps",
            unit: "bps of the mid",
            kind: Kind::Bps { min: 0, max: 5_000 },
            default: Some("100"),
            meaning: "Further distance of each level after the first.",
        },
        Parameter {
            name: "order_level_amount",
            unit: "base tokens",
            kind: AMOUNT,
            default: Some("0"),
            meaning: "How much larger each level is than the one before. Rounded down to whole lots.",
        },
        Parameter {
            name: "inventory_skew_enabled",
            unit: "",
            kind: Kind::Bool,
            default: Some("false"),
            meaning: "Whether sizes lean towards the target share of base.",
        },
        Parameter {
            name: "inventory_target_base_bps",
            unit: "bps of everything held",
            kind: Kind::Bps { min: 0, max: BPS },
            default: Some("5000"),
            meaning: "Value of base over the value of everything held that the skew leads to.",
        },
        Parameter {
            name: "inventory_range_multiplier",
            unit: "times the size of all orders",
            kind: Kind::Decimal {
                min: "0.01",
                max: "1000",
            },
            default: Some("1"),
            meaning: "How far from the target, in sizes of all orders of both sides together, one \
                      side reaches zero and the other twice its size.",
        },
        Parameter {
            name: "order_refresh_tolerance_bps",
            unit: "bps of the price",
            kind: Kind::Bps { min: 0, max: 1_000 },
            default: Some("0"),
            meaning: "A side whose resting orders are as many as its levels and all within this of \
                      the wanted prices keeps its prices.",
        },
        Parameter {
            name: "filled_order_delay_ms",
            unit: "ms",
            kind: Kind::Integer {
                min: 0,
                max: 3_600_000,
            },
            default: Some("60000"),
            meaning: "After a fill, for how long that side asks for nothing new; what rests stays.",
        },
        Parameter {
            name: "price_floor",
            unit: "quote per base",
            kind: AMOUNT,
            default: Some("0"),
            meaning: "While the mid is below, nothing is offered (only bids). 0 is off. Rounded up \
                      to a tick.",
        },
        Parameter {
            name: "price_ceiling",
            unit: "quote per base",
            kind: AMOUNT,
            default: Some("0"),
            meaning: "While the mid is above, nothing is bid (only asks). 0 is off. Rounded down to \
                      a tick.",
        },
    ],
    build: |params, market| Ok(Box::new(Ladder::new(params, market)?)),
};

/// The strategy.
#[derive(Clone, Debug)]
pub struct Ladder {
    bid_spread_bps: u32,
    ask_spread_bps: u32,
    minimum_spread_bps: u32,
    level_spread_bps: u32,
    /// Size of every level before skew, nearest first.
    sizes: Vec<Qty>,
    /// Target share and range of the skew, if it is on.
    skew: Option<(u32, Qty)>,
    tolerance_bps: u32,
    delay_ms: u64,
    floor: Price,
    ceiling: Option<Price>,
    /// When each side may ask for new orders again, bids then asks.
    paused_until: [Time; 2],
}

impl Ladder {
    /// Checks what concerns several parameters and converts amounts to lots and prices to ticks.
    pub fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let amount = lots_floor(params, "order_amount", market)?;
        if amount.0 == 0 {
            return Err(params.conflict("order_amount", "must be above zero"));
        }
        let step = lots_floor(params, "order_level_amount", market)?;
        let levels = params.whole("order_levels")?;
        let size = |level: u64| {
            let grown = step.0.checked_mul(level)?.checked_add(amount.0)?;
            Some(Qty(grown))
        };
        let sizes: Option<Vec<Qty>> = (0..u64::from(levels)).map(size).collect();
        let sizes =
            sizes.ok_or_else(|| params.conflict("order_level_amount", "levels are too large"))?;
        let floor = ticks_ceil(params, "price_floor", market)?;
        let ceiling = ticks_floor(params, "price_ceiling", market)?;
        let ceiling = (!params.decimal("price_ceiling")?.is_zero()).then_some(ceiling);
        if ceiling.is_some_and(|ceiling| ceiling <= floor) {
            return Err(params.conflict("price_ceiling", "must be above price_floor, or 0 for off"));
        }
        let ladder = Self {
            bid_spread_bps: params.whole("bid_spread_bps")?,
            ask_spread_bps: params.whole("ask_spread_bps")?,
            minimum_spread_bps: params.whole("minimum_spread_bps")?,
            level_spread_bps: params.whole("order_level_spread_bps")?,
            skew: skew_range(params, &sizes)?,
            sizes,
            tolerance_bps: params.whole("order_refresh_tolerance_bps")?,
            delay_ms: u64::from(params.whole("filled_order_delay_ms")?),
            floor,
            ceiling,
            paused_until: [Time(0); 2],
        };
        for (name, spread) in [
            ("bid_spread_bps", ladder.bid_spread_bps),
            ("ask_spread_bps", ladder.ask_spread_bps),
        ] {
            if spread < ladder.minimum_spread_bps {
                let minimum = ladder.minimum_spread_bps;
                return Err(params.conflict(name, format!("below minimum_spread_bps {minimum}")));
            }
        }
        if ladder.bid_spread_bps + (levels - 1) * ladder.level_spread_bps >= BPS {
            return Err(params.conflict(
                "order_level_spread_bps",
                "the outermost bid would lie at or below zero",
            ));
        }
        Ok(ladder)
    }

    /// Wanted prices and sizes of one side, nearest first, one entry a tick, covered by what is held; or
    /// why there are none.
    fn wanted(
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
        let first_bps = match side {
            Side::Buy => self.bid_spread_bps,
            Side::Sell => self.ask_spread_bps,
        };
        let mut levels: Vec<(Price, Qty)> = Vec::new();
        for (level, &size) in (0..).zip(&self.sizes) {
            let margin_bps = first_bps + level * self.level_spread_bps;
            let price = passive(view, side, price_at(side, view.mid, margin_bps));
            let Some(qty) = ratios.apply(side, size) else {
                continue;
            };
            match levels.last_mut() {
                Some(last) if last.0 == price => last.1 = Qty(last.1.0.saturating_add(qty.0)),
                Some(_) | None => levels.push((price, qty)),
            }
        }
        levels.retain(|(_, qty)| qty.0 > 0);
        if levels.is_empty() {
            return Err(self.skewed(view));
        }
        levels.retain(|(price, _)| price.0 > 0);
        let &(price, qty) = levels.first().ok_or(Control::NoPassivePrice)?;
        let covered: Vec<_> = levels
            .into_iter()
            .map(|(price, qty)| (price, funds.take(view.market, side, price, qty)))
            .filter(|&(price, qty)| is_orderable(view.market, price, qty))
            .collect();
        if covered.is_empty() {
            return Err(unorderable(view, side, price, qty, Qty(1)));
        }
        Ok(covered)
    }

    /// The skew leaves nothing of a side: the share of base against the target.
    fn skewed(&self, view: &View<'_>) -> Withheld {
        let target_bps = self.skew.map_or(0, |(target_bps, _)| target_bps);
        let key = "market.strategy.params.inventory_range_multiplier";
        let share_bps = view.base_share_bps();
        let compared = Compared::of(Unit::Bps, key, share_bps, target_bps);
        Withheld::compared(Control::StrategySkew, compared)
    }

    /// Why the limits of the mid block a side, if they do.
    fn blocked(&self, mid: u64, side: Side) -> Option<Withheld> {
        let floor = ("market.strategy.params.price_floor", self.floor);
        let (key, limit) = match side {
            Side::Buy => ("market.strategy.params.price_ceiling", self.ceiling?),
            Side::Sell => floor,
        };
        let limit = limit.0.saturating_mul(2);
        let beyond = match side {
            Side::Buy => mid > limit,
            Side::Sell => mid < limit,
        };
        beyond.then(|| {
            let compared = Compared::new(Unit::HalfTicks, key, mid, limit);
            Withheld::compared(Control::StrategyPrice, compared)
        })
    }

    /// Prices and remainders of own orders that may stay, nearest first, one entry a price.
    fn resting(&self, view: &View<'_>, side: Side) -> Vec<(Price, Qty)> {
        let mut own: Vec<&OwnOrder> = view
            .own
            .iter()
            .filter(|order| order.side == side && !order.cancelling)
            .filter(|order| passive(view, side, order.price) == order.price)
            .filter(|order| at_least(side, order.price, view.mid, self.minimum_spread_bps))
            .collect();
        own.sort_by_key(|order| {
            let away = match side {
                Side::Buy => u64::MAX - order.price.0,
                Side::Sell => order.price.0,
            };
            (away, order.expiring)
        });
        // An order close to its expiry and the one that replaces it are one level.
        own.dedup_by_key(|order| order.price);
        own.into_iter()
            .map(|order| (order.price, order.remaining))
            .collect()
    }

    fn side(&self, view: &View<'_>, side: Side, funds: &mut Funds, targets: &mut Targets) {
        if let Some(why) = self.blocked(view.mid, side) {
            return targets.withhold(side, why);
        }
        let mut quotes = match self.wanted(view, side, funds) {
            Ok(quotes) => quotes,
            Err(why) => return targets.withhold(side, why),
        };
        let own = self.resting(view, side);
        let Some(&(nearest, _)) = quotes.first() else {
            return;
        };
        let [paused_buy, paused_sell] = self.paused_until;
        let paused_until = match side {
            Side::Buy => paused_buy,
            Side::Sell => paused_sell,
        };
        if view.now < paused_until {
            // Nothing new; of what rests, nothing narrower than asked.
            targets.withhold(side, delayed(paused_until.ms_since(view.now)));
            quotes = own;
            quotes.retain(|&(price, _)| {
                side.reaches(nearest, price) || is_within(price, nearest, self.tolerance_bps)
            });
        } else if own.len() == quotes.len()
            && own
                .iter()
                .zip(&quotes)
                .all(|(own, wanted)| is_within(own.0, wanted.0, self.tolerance_bps))
        {
            for (quote, kept) in quotes.iter_mut().zip(own) {
                quote.0 = kept.0;
            }
        }
        for (level, (price, qty)) in (0..).zip(quotes) {
            targets.quote(side, price, qty, level);
        }
    }
}

impl Strategy for Ladder {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let latest = view.now.plus_ms(self.delay_ms);
        for fill in view.fills {
            let [buy, sell] = &mut self.paused_until;
            match fill.side {
                Side::Buy => *buy = latest,
                Side::Sell => *sell = latest,
            }
        }
        // A memory from before a restart may count from another origin: it may delay, never lock.
        for until in &mut self.paused_until {
            *until = (*until).min(latest);
        }
        let mut funds = Funds::new(view.holdings);
        for side in Side::BOTH {
            self.side(view, side, &mut funds, targets);
        }
    }

    fn save(&self) -> Vec<u8> {
        let [buy, sell] = self.paused_until;
        let mut bytes = vec![MEMORY_VERSION];
        bytes.extend(buy.0.to_le_bytes());
        bytes.extend(sell.0.to_le_bytes());
        bytes
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        self.paused_until = [Time(0); 2];
        let Some((&MEMORY_VERSION, times)) = saved.split_first() else {
            return saved.is_empty();
        };
        let (Some((buy, rest)), true) = (times.split_first_chunk(), times.len() == 16) else {
            return false;
        };
        let Some((sell, [])) = rest.split_first_chunk() else {
            return false;
        };
        self.paused_until = [u64::from_le_bytes(*buy), u64::from_le_bytes(*sell)].map(Time);
        true
    }
}

const MEMORY_VERSION: u8 = 1;

/// A side asks for nothing new for so long after a fill.
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
fn skew_range(params: &Params, sizes: &[Qty]) -> Result<Option<(u32, Qty)>, ParamError> {
    if !params.switch("inventory_skew_enabled")? {
        return Ok(None);
    }
    let target_bps = params.whole("inventory_target_base_bps")?;
    let multiplier = params.decimal("inventory_range_multiplier")?;
    let all: u128 = sizes.iter().map(|qty| 2 * u128::from(qty.0)).sum();
    let range = scaled(all, multiplier)
        .filter(|range| *range > 0)
        .ok_or_else(|| {
            params.conflict(
                "inventory_range_multiplier",
                format!("{multiplier} times all orders is not a countable range"),
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
mod tests;
