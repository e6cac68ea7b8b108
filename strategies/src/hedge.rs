//! Hedge: keeps base at a target over several venues, by taking from the book of its market.
//!
//! What counts is everything held: the wallets and the pool shares of this venue and of the markets of other venues that
//! `others` names. The distance from `base_target` is traded on the book up to `unwind_bps` beyond the mid. So it closes
//! the leg that `pool_arb` opens at another venue, and hedges shares that `lp_manager` holds there.
//!
//! Nothing is traded while the holdings of one of the venues are not known. What is undecided there counts when it is
//! booked, so that orders may rest there. Two hedges of the same holdings would trade every distance twice: a portfolio
//! with such is refused. A distance beyond `open_amount_max` is not from what is hedged, and is left alone. Where the fee is
//! taken of what is bought, a bid buys the fee as well; what is less than the smallest order stays open, and is stated.
//!
//! It keeps no state.

use cambist_core::control::Control;
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{Amount, MarketSpec, Side};

use crate::closing::{UNWIND_BPS, close, distance, left_open};
use crate::parameter::{Kind, Looser, ParamError, Parameter, Params};
use crate::registry::{FirstLeg, OpenLeg, Promise, StrategyInfo, TwoLegs};
use crate::scale::base_floor;
use crate::sizing::base_due;

const AMOUNT: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000",
};

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "hedge",
    summary: "Keeps base at a target over several venues together, by taking from the book: closes the leg of \
              pool_arb and hedges pool shares at other venues. Needs orders that may take \
              (orders.maker_only = false).",
    promise: Promise::Hedge,
    two_legs: Some(TwoLegs {
        open_leg,
        first: FirstLeg::Elsewhere,
    }),
    parameters: &[
        Parameter {
            name: "others",
            unit: "",
            kind: Kind::Tables {
                fields: &[Parameter {
                    name: "market",
                    unit: "",
                    kind: Kind::Market,
                    default: None,
                    looser: Looser::Changed,
                    meaning: "Name of a market of another venue (venue:market) with the same base token.",
                }],
                max: 8,
            },
            default: None,
            looser: Looser::Fields,
            meaning: "Markets of other venues whose base counts, in the wallet and in pool shares.",
        },
        Parameter {
            name: "base_target",
            unit: "base tokens",
            kind: AMOUNT,
            default: None,
            looser: Looser::Changed,
            meaning: "Base to hold at all of these venues together.",
        },
        Parameter {
            name: "tolerance",
            unit: "base tokens",
            kind: AMOUNT,
            default: Some("0"),
            looser: Looser::Higher,
            meaning: "Nothing is traded while the distance from the target is at most this.",
        },
        Parameter {
            name: "open_amount_max",
            unit: "base tokens",
            kind: AMOUNT,
            default: None,
            looser: Looser::Higher,
            meaning: "Nothing is traded while the distance from the target is above this: it is not from what \
                      is hedged.",
        },
        UNWIND_BPS,
    ],
    build: |params, market| Ok(Box::new(Hedge::new(params, market)?)),
};

fn open_leg(params: &Params, market: &MarketSpec) -> Result<OpenLeg, ParamError> {
    let strategy = Hedge::new(params, market)?;
    Ok(OpenLeg {
        target: strategy.target,
        base: strategy.open_max,
        unwind_bps: strategy.unwind_bps,
        drift_max_bps: None,
    })
}

/// The strategy.
#[derive(Clone, Debug)]
struct Hedge {
    others: Vec<String>,
    /// Base units.
    target: Amount,
    tolerance: Amount,
    open_max: Amount,
    unwind_bps: u32,
}

impl Hedge {
    fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let mut others: Vec<String> = Vec::new();
        for table in params.tables("others")? {
            let name = table.name("market")?;
            if cambist_core::elsewhere::split(name).is_none() {
                let what = "must be a market of another venue (venue:market); what is held here counts anyway";
                return Err(table.conflict("market", what));
            }
            if others.iter().any(|known| known == name) {
                return Err(table.conflict("market", "is named twice"));
            }
            others.push(name.to_owned());
        }
        if others.is_empty() {
            return Err(params.conflict("others", "must name a market of another venue"));
        }
        let open_max = base_floor(params, "open_amount_max", market)?;
        if open_max < market.lot {
            return Err(params.conflict("open_amount_max", "must be at least one lot"));
        }
        let tolerance = base_floor(params, "tolerance", market)?;
        if tolerance >= open_max {
            return Err(params.conflict("tolerance", "must be below open_amount_max"));
        }
        Ok(Self {
            others,
            target: base_floor(params, "base_target", market)?,
            tolerance,
            open_max,
            unwind_bps: params.whole("unwind_bps")?,
        })
    }

    /// All base, at this venue and at the others, base units; or why that is not known.
    fn held(&self, view: &View<'_>) -> Result<Amount, Withheld> {
        let unknown = || Withheld::from(Control::NoFairPrice);
        let in_pool = view.pool.map_or(Some(0), |pool| base_due(&pool));
        let mut held = in_pool
            .and_then(|pooled| view.holdings.base.checked_add(pooled))
            .ok_or_else(unknown)?;
        if view.markets.len() < self.others.len() {
            return Err(unknown());
        }
        for other in view.markets {
            let there = other.holdings.ok_or_else(unknown)?;
            if other.market.base.id != view.market.base.id {
                return Err(unknown());
            }
            let pooled = there.pooled_base.ok_or_else(unknown)?;
            held = held
                .checked_add(there.base)
                .and_then(|held| held.checked_add(pooled))
                .ok_or_else(unknown)?;
        }
        Ok(held)
    }

    fn hedge(&self, view: &View<'_>, targets: &mut Targets) -> Result<(), Withheld> {
        let leg = distance(self.held(view)?, self.target);
        if leg.1 > self.open_max {
            let key = "market.strategy.params.open_amount_max";
            let compared = Compared::new(Unit::Base, key, leg.1, self.open_max);
            return Err(Withheld::compared(Control::StrategySkew, compared));
        }
        if leg.1 > self.tolerance {
            close(view, leg, self.open_max, self.unwind_bps, targets);
        }
        left_open(view, leg, self.tolerance, self.unwind_bps).map_or(Ok(()), Err)
    }
}

impl Strategy for Hedge {
    fn reads(&self) -> &[String] {
        &self.others
    }

    fn check_reads(&self, market: &MarketSpec, others: &[&MarketSpec]) -> Result<(), String> {
        let other = others.iter().find(|other| other.base.id != market.base.id);
        other.map_or(Ok(()), |other| {
            Err(format!(
                "{} has the base token {}, and this market {}",
                other.name, other.base.symbol, market.base.symbol
            ))
        })
    }

    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let decided = self.hedge(view, targets);
        let why = decided.err().unwrap_or(Control::NotConfigured.into());
        for side in Side::BOTH {
            targets.withhold(side, why);
        }
    }
}

#[cfg(test)]
#[path = "hedge_tests.rs"]
pub(crate) mod tests;
