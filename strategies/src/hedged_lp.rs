//! Hedged LP: quotes that keep base constant in wallet and pool together, so that the shares of a pool are hedged by
//! fills of the book.
//!
//! A constant-product position holds `L/√P` of base: it sells base as the price rises. What it holds is counted with
//! the wallet, and both quotes move against the difference from `target_base`, at `inventory_bound` by `skew_bps`;
//! further than that, only the side that leads back is quoted. It holds no shares itself: `lp_manager` does, at the
//! same market. Without fresh data of the pool it quotes nothing, because what the shares hold is then not known.
//!
//! Source: `cambist_quant::lp::value` (the delta of a position).

use cambist_core::control::Control;
use cambist_core::math::mul_div_floor;
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{Amount, MarketSpec, Price, Qty, Side};

use crate::optimization::{self, Optimization};
use crate::parameter::{Kind, Looser, ParamError, Parameter, Params, joined};
use crate::price_limits::{self, PriceLimits};
use crate::reference::{self, Reference};
use crate::registry::{Promise, StrategyInfo};
use crate::scale::{base_floor, lots_floor};
use crate::sizing::{
    BPS, FEE, Funds, add_level, at_least, base_due, further, keep, passive, price_at,
};

const AMOUNT: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000",
};

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "hedged_lp",
    summary: "Levels around the mid, moved so that base in the wallet and in the pool together stays \
              at a target: fills of the book hedge the pool shares. Needs [market.pool].",
    promise: Promise::Quotes,
    two_legs: None,
    parameters: &joined::<PARAMETERS>(&[
        &OWN,
        &optimization::PARAMETERS,
        &reference::PARAMETERS,
        &price_limits::PARAMETERS,
    ]),
    build: |params, market| Ok(Box::new(HedgedLp::new(params, market)?)),
};

const PARAMETERS: usize = OWN.len()
    + optimization::PARAMETERS.len()
    + reference::PARAMETERS.len()
    + price_limits::PARAMETERS.len();

const OWN: [Parameter; 9] = [
    Parameter {
        name: "target_base",
        unit: "base tokens",
        kind: AMOUNT,
        default: None,
        looser: Looser::Changed,
        meaning: "Base to hold in the wallet and in the pool together. Rounded down to whole lots.",
    },
    Parameter {
        name: "inventory_bound",
        unit: "base tokens",
        kind: AMOUNT,
        default: None,
        looser: Looser::Higher,
        meaning: "This far from the target, only the side that leads back is quoted.",
    },
    Parameter {
        name: "skew_bps",
        unit: "bps of the mid",
        kind: Kind::Bps { min: 0, max: 5_000 },
        default: Some("20"),
        looser: Looser::Lower,
        meaning: "How far both sides are moved at inventory_bound, in proportion before it: down with \
                  too much base, up with too little.",
    },
    Parameter {
        name: "spread_bps",
        unit: "bps of the mid",
        kind: Kind::Bps { min: 1, max: 5_000 },
        default: Some("10"),
        looser: Looser::Lower,
        meaning: "Distance of the first level of each side from the moved mid; rounded away from it.",
    },
    FEE,
    Parameter {
        name: "order_amount",
        unit: "base tokens",
        kind: AMOUNT,
        default: None,
        looser: Looser::Higher,
        meaning: "Size of every level. Rounded down to whole lots.",
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
        default: Some("10"),
        looser: Looser::Lower,
        meaning: "Further distance of each level after the first.",
    },
    Parameter {
        name: "order_refresh_tolerance_bps",
        unit: "bps of the price",
        kind: Kind::Bps { min: 0, max: 1_000 },
        default: Some("2"),
        looser: Looser::Higher,
        meaning: "A resting order keeps its price while it is within this of its level's.",
    },
];

/// The strategy.
#[derive(Clone, Debug)]
pub struct HedgedLp {
    /// Base units.
    target: Amount,
    bound: Amount,
    skew_bps: u32,
    spread_bps: u32,
    fee_bps: u32,
    size: Qty,
    levels: u32,
    level_spread_bps: u32,
    tolerance_bps: u32,
    optimization: Optimization,
    reference: Reference,
    limits: PriceLimits,
}

impl HedgedLp {
    /// Reads the parameters; amounts to base units and lots.
    pub fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let bound = base_floor(params, "inventory_bound", market)?;
        if bound == 0 {
            return Err(params.conflict("inventory_bound", "must be at least one lot"));
        }
        let size = lots_floor(params, "order_amount", market)?;
        if size.0 == 0 {
            return Err(params.conflict("order_amount", "must be at least one lot"));
        }
        Ok(Self {
            target: base_floor(params, "target_base", market)?,
            bound,
            skew_bps: params.whole("skew_bps")?,
            spread_bps: params.whole("spread_bps")?,
            fee_bps: params.whole("fee_bps")?,
            size,
            levels: params.whole("order_levels")?,
            level_spread_bps: params.whole("order_level_spread_bps")?,
            tolerance_bps: params.whole("order_refresh_tolerance_bps")?,
            optimization: Optimization::new(params, market)?,
            reference: Reference::new(params, market)?,
            limits: PriceLimits::new(params, market)?,
        })
    }

    /// Base above the target (below it, if negative), in wallet and pool together; base units. `None` without data of
    /// the pool, and on overflow.
    fn above(&self, view: &View<'_>) -> Option<i128> {
        let total = view.holdings.base.checked_add(base_due(&view.pool?)?)?;
        i128::try_from(total)
            .ok()?
            .checked_sub(i128::try_from(self.target).ok()?)
    }

    /// The mid, moved by the skew, in half ticks; rounded towards zero skew. `None` on overflow.
    fn moved(&self, mid: u64, above: i128) -> Option<u64> {
        let bound = i128::try_from(self.bound).ok()?;
        let away = above.clamp(-bound, bound);
        // Skew in half ticks at the bound, then in proportion.
        let most = u128::from(mid) * u128::from(self.skew_bps) / u128::from(BPS);
        let by = mul_div_floor(most, away.unsigned_abs(), self.bound)?;
        let by = u64::try_from(by).ok()?;
        if above > 0 {
            mid.checked_sub(by)
        } else {
            mid.checked_add(by)
        }
    }

    /// Wanted prices and sizes of one side, nearest first; or why there are none.
    fn wanted(
        &self,
        view: &View<'_>,
        side: Side,
        above: i128,
        funds: &mut Funds,
    ) -> Result<Vec<(Price, Qty)>, Withheld> {
        if let Some(why) = self.limits.blocked(view.mid, side) {
            return Err(why);
        }
        let adds = match side {
            Side::Buy => above > 0,
            Side::Sell => above < 0,
        };
        if adds && above.unsigned_abs() >= self.bound {
            let key = "market.strategy.params.inventory_bound";
            let compared = Compared::new(Unit::Base, key, above.unsigned_abs(), self.bound);
            return Err(Withheld::compared(Control::StrategySkew, compared));
        }
        let moved = self.moved(view.mid, above).ok_or(Control::NoFairPrice)?;
        // Never so near to the mid itself that a fill would not earn its fee.
        let floor = price_at(side, view.mid, self.fee_bps);
        let targets = (0..self.levels).map(|level| {
            let distance = self.level_spread_bps.saturating_mul(level);
            let distance = distance.saturating_add(self.spread_bps);
            further(side, price_at(side, moved, distance), floor)
        });
        let mut levels: Vec<(Price, Qty)> = Vec::new();
        for price in self.optimization.prices(view, side, targets.collect()) {
            let price = passive(view, side, self.limits.limit(side, price));
            add_level(&mut levels, price, self.size);
        }
        funds.cover(view, side, levels)
    }
}

impl Strategy for HedgedLp {
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
        let Some(view) = self.reference.apply_or_withhold(view, targets) else {
            return;
        };
        self.limits.observe(&view);
        let Some(above) = self.above(&view) else {
            for side in Side::BOTH {
                targets.withhold(side, Control::NoFairPrice);
            }
            return;
        };
        let mut funds = Funds::new(view.holdings);
        for side in Side::BOTH {
            match self.wanted(&view, side, above, &mut funds) {
                Ok(mut quotes) => {
                    let allowed = |price| {
                        self.limits.allows(side, price)
                            && at_least(side, price, view.mid, self.fee_bps)
                    };
                    keep(&view, side, &mut quotes, self.tolerance_bps, allowed);
                    for (level, (price, qty)) in (0..).zip(quotes) {
                        targets.quote(side, price, qty, level);
                    }
                }
                Err(why) => targets.withhold(side, why),
            }
        }
    }

    fn save(&self) -> Vec<u8> {
        self.limits.save()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        self.limits.restore(saved)
    }
}

#[cfg(test)]
#[path = "hedged_lp_tests.rs"]
pub(crate) mod tests;
