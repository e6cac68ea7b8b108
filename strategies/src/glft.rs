//! Glft: quotes by the model of Guéant, Lehalle and Fernandez-Tapia ("Dealing with the inventory risk", arXiv
//! 1105.3115), whose half-spread and inventory skew follow from volatility, fill intensity and risk aversion; or by
//! that of Avellaneda and Stoikov, for comparison.
//!
//! Inventory is counted in orders from a target share of base. Half-spread and skew are in bps of the mid, so that
//! parameters are valid for any market. Volatility and intensity are estimated while it trades (`glft/estimates.rs`).
//! Each further level is quoted as if the one before had filled. Where the model has no finite result, nothing is
//! quoted.

mod estimates;
mod model;

use cambist_core::control::Control;
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{MarketSpec, Price, Qty, Side};

use crate::parameter::{Kind, Looser, ParamError, Parameter, Params, joined};
use crate::price_limits::{self, Band, PriceLimits};
use crate::reference::{self, Reference};
use crate::registry::{Promise, StrategyInfo};
use crate::scale::{float, lots_floor};
use crate::sizing::{
    BPS, Funds, add_level, at_least, further, keep, passive, price_at, price_from, target_lots,
};
use estimates::{Assumed, Estimates, Estimators};
use model::{Distances, Model, Settings};

const GLFT: &str = "glft";
const AVELLANEDA_STOIKOV: &str = "avellaneda_stoikov";
const POSITIVE: Kind = Kind::Decimal {
    min: "0.000001",
    max: "1000000",
};

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "glft",
    summary: "Optimal quotes under an inventory bound (Guéant, Lehalle and Fernandez-Tapia) from \
              volatility and fill intensity, both estimated while it trades; Avellaneda-Stoikov as \
              a mode.",
    promise: Promise::Quotes,
    two_legs: None,
    parameters: &joined::<PARAMETERS>(&[&OWN, &reference::PARAMETERS, &price_limits::PARAMETERS]),
    build: |params, market| Ok(Box::new(Glft::new(params, market)?)),
};

const PARAMETERS: usize = OWN.len() + reference::PARAMETERS.len() + price_limits::PARAMETERS.len();

const OWN: [Parameter; 18] = [
    Parameter {
        name: "model",
        unit: "",
        kind: Kind::Choice {
            of: &[GLFT, AVELLANEDA_STOIKOV],
        },
        default: Some("\"glft\""),
        looser: Looser::Changed,
        meaning: "The model. avellaneda_stoikov needs a horizon and skews more; it serves for \
                  comparison.",
    },
    Parameter {
        name: "order_amount",
        unit: "base tokens",
        kind: Kind::Decimal {
            min: "0",
            max: "1000000000",
        },
        default: None,
        looser: Looser::Higher,
        meaning: "Size of every order, and the unit in which the model counts inventory. Rounded \
                  down to whole lots.",
    },
    Parameter {
        name: "order_levels",
        unit: "",
        kind: Kind::Integer { min: 1, max: 16 },
        default: Some("1"),
        looser: Looser::Higher,
        meaning: "Orders on each side. Each further one is quoted as if the one before had \
                  filled. Levels that fall on one tick become one order.",
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
        name: "inventory_bound",
        unit: "orders",
        kind: Kind::Integer { min: 1, max: 200 },
        default: Some("10"),
        looser: Looser::Higher,
        meaning: "How far holdings may move from the target: no bid whose fill would exceed it, \
                  no ask whose fill would fall below.",
    },
    Parameter {
        name: "risk_aversion",
        unit: "1/bps for each order",
        kind: Kind::Decimal {
            min: "0",
            max: "100",
        },
        default: Some("0.01"),
        looser: Looser::Lower,
        meaning: "The higher, the more the quotes are skewed against inventory. 0 skews only \
                  near the bound.",
    },
    Parameter {
        name: "volatility_bps",
        unit: "bps of the mid for each square root of a second",
        kind: POSITIVE,
        default: None,
        looser: Looser::Lower,
        meaning: "Volatility until half of volatility_window_s was observed, and while the mid \
                  does not move. 1 is 2.9 % a day.",
    },
    Parameter {
        name: "intensity_per_s",
        unit: "1/s",
        kind: POSITIVE,
        default: None,
        looser: Looser::Higher,
        meaning: "Fills per second of an order at the mid: a prior with the weight of five \
                  fills, which own fills correct.",
    },
    Parameter {
        name: "decay_per_bps",
        unit: "1/bps",
        kind: POSITIVE,
        default: None,
        looser: Looser::Higher,
        meaning: "How fast fills decrease with the distance: by the factor e for each 1/decay \
                  bps. The half-spread before costs is about 1/decay.",
    },
    Parameter {
        name: "estimate_range",
        unit: "times",
        kind: Kind::Decimal {
            min: "1",
            max: "1000",
        },
        default: Some("5"),
        looser: Looser::Higher,
        meaning: "Estimates stay between the three numbers above divided and multiplied by \
                  this. 1 fixes them: nothing is estimated.",
    },
    Parameter {
        name: "volatility_window_s",
        unit: "s",
        kind: Kind::Integer {
            min: 60,
            max: 7_200,
        },
        default: Some("600"),
        looser: Looser::Never,
        meaning: "Time window of the volatility estimate, which uses one mid a second.",
    },
    Parameter {
        name: "intensity_half_life_s",
        unit: "s",
        kind: Kind::Integer {
            min: 60,
            max: 2_592_000,
        },
        default: Some("3600"),
        looser: Looser::Never,
        meaning: "Half-life of own resting time and fills in the estimate.",
    },
    Parameter {
        name: "fee_bps",
        unit: "bps",
        kind: Kind::Decimal {
            min: "0",
            max: "100",
        },
        default: None,
        looser: Looser::Lower,
        meaning: "The exchange's maker fee; it widens both sides.",
    },
    Parameter {
        name: "impact_bps",
        unit: "bps",
        kind: Kind::Decimal {
            min: "0",
            max: "1000",
        },
        default: Some("1"),
        looser: Looser::Lower,
        meaning: "How far a fill moves the mid against it (adverse selection; the markouts in \
                  status and reports show it); half of it widens both sides.",
    },
    Parameter {
        name: "drift_bps_per_s",
        unit: "bps/s",
        kind: Kind::Decimal {
            min: "-100",
            max: "100",
        },
        default: Some("0"),
        looser: Looser::Changed,
        meaning: "Expected drift of the mid; above 0 the quotes favour larger holdings.",
    },
    Parameter {
        name: "horizon_s",
        unit: "s",
        kind: Kind::Integer {
            min: 0,
            max: 86_400,
        },
        default: Some("0"),
        looser: Looser::Changed,
        meaning: "Time until inventory is valued at the mid, the same at every decision; 0 means \
                  no end (glft only). The longer, the more avellaneda_stoikov skews.",
    },
    Parameter {
        name: "minimum_spread_bps",
        unit: "bps of the mid",
        kind: Kind::Bps { min: 1, max: 5_000 },
        default: Some("1"),
        looser: Looser::Lower,
        meaning: "Smallest distance of an order from the mid, whatever the model computes.",
    },
    Parameter {
        name: "order_refresh_tolerance_bps",
        unit: "bps of the price",
        kind: Kind::Bps { min: 0, max: 1_000 },
        default: Some("1"),
        looser: Looser::Higher,
        meaning: "A resting order that is within this of its level's price keeps it, if as many \
                  rest as there are levels.",
    },
];

/// The strategy.
#[derive(Clone, Debug)]
pub struct Glft {
    settings: Settings,
    size: Qty,
    levels: u64,
    target_bps: u32,
    minimum_spread_bps: u32,
    tolerance_bps: u32,
    reference: Reference,
    limits: PriceLimits,
    estimators: Estimators,
    /// The solved model and the estimates it was solved for.
    solved: Option<(Estimates, Distances)>,
}

impl Glft {
    /// Checks conditions on several parameters and solves the model once.
    pub fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let size = lots_floor(params, "order_amount", market)?;
        if size.0 == 0 {
            return Err(params.conflict("order_amount", "must be above zero"));
        }
        let model = match params.choice("model")? {
            AVELLANEDA_STOIKOV => Model::AvellanedaStoikov,
            _ => Model::Glft,
        };
        let bound = params.whole("inventory_bound")?;
        let levels = params.whole("order_levels")?;
        if levels > bound {
            return Err(params.conflict(
                "order_levels",
                format!("more than inventory_bound {bound}: the outer ones would never be placed"),
            ));
        }
        let horizon = params.whole("horizon_s")?;
        if model == Model::AvellanedaStoikov && horizon == 0 {
            return Err(params.conflict("horizon_s", "must be above 0 for avellaneda_stoikov"));
        }
        let settings = Settings {
            model,
            risk_aversion: float(params, "risk_aversion")?,
            drift: float(params, "drift_bps_per_s")?,
            impact: float(params, "impact_bps")?,
            fee: float(params, "fee_bps")?,
            bound,
            horizon_s: f64::from(horizon),
        };
        let estimates = Estimates {
            sigma: float(params, "volatility_bps")?,
            intensity: float(params, "intensity_per_s")?,
            decay: float(params, "decay_per_bps")?,
        };
        let impossible = |error: cambist_quant::Error| {
            params.conflict("risk_aversion", format!("the model has no quotes: {error}"))
        };
        let mids = usize::try_from(params.whole("volatility_window_s")?).unwrap_or(usize::MAX);
        let estimators = Estimators::new(Assumed {
            estimates,
            range: float(params, "estimate_range")?,
            mids,
            half_life_s: f64::from(params.whole("intensity_half_life_s")?),
        });
        let glft = Self {
            settings,
            size,
            levels: u64::from(levels),
            target_bps: params.whole("inventory_target_base_bps")?,
            minimum_spread_bps: params.whole("minimum_spread_bps")?,
            tolerance_bps: params.whole("order_refresh_tolerance_bps")?,
            reference: Reference::new(params, market)?,
            limits: PriceLimits::new(params, market)?,
            estimators: estimators.map_err(impossible)?,
            solved: None,
        };
        let distances = Distances::new(&settings, &estimates).map_err(impossible)?;
        let middle = distances.at(Side::Buy, 0.0).map_err(impossible)?;
        if !(0.0..f64::from(BPS)).contains(&middle) {
            return Err(params.conflict(
                "decay_per_bps",
                format!("without inventory the bid would be {middle:.1} bps below the mid"),
            ));
        }
        Ok(glft)
    }

    /// Solves the model for the current estimates.
    fn solve(&mut self, view: &View<'_>) -> cambist_quant::Result<()> {
        self.estimators.observe(view)?;
        let estimates = self.estimators.estimates(view)?;
        if self.solved.as_ref().is_none_or(|(of, _)| *of != estimates) {
            self.solved = None;
            self.solved = Some((estimates, Distances::new(&self.settings, &estimates)?));
        }
        Ok(())
    }

    /// Target prices and sizes of one side, nearest first, one entry a tick; or why there are none.
    fn target_quotes(
        &self,
        view: &View<'_>,
        side: Side,
        distances: &Distances,
        funds: &mut Funds,
    ) -> Result<Vec<(Price, Qty)>, Withheld> {
        if let Some(why) = self.limits.blocked(view.mid, side) {
            return Err(why);
        }
        let held = view.market.lots_floor(view.holdings.base);
        let target = target_lots(view, self.target_bps).ok_or(Control::StrategyFunds)?;
        let above = i128::from(held.0) - i128::from(target.0);
        let size = i128::from(self.size.0);
        let inventory = lots(above) / lots(size);
        let room = match side {
            Side::Buy => size * i128::from(self.settings.bound) - above,
            Side::Sell => size * i128::from(self.settings.bound) + above,
        } / size;
        let places = u64::try_from(room.max(0)).unwrap_or(u64::MAX);
        if places == 0 {
            let key = "market.strategy.params.inventory_bound";
            let bound = size * i128::from(self.settings.bound);
            let compared = Compared::new(Unit::Lots, key, above.abs(), bound);
            return Err(Withheld::compared(Control::StrategySkew, compared));
        }
        let mut levels: Vec<(Price, Qty)> = Vec::new();
        for level in 0..self.levels.min(places) {
            let filled = lots(level.into());
            let after = match side {
                Side::Buy => inventory + filled,
                Side::Sell => inventory - filled,
            };
            let distance = distances.at(side, after).ok();
            let Some(price) = distance.and_then(|bps| price_from(side, view.mid, bps)) else {
                break;
            };
            let minimum = price_at(side, view.mid, self.minimum_spread_bps);
            let price = self.limits.limit(side, further(side, price, minimum));
            let price = passive(view, side, price);
            add_level(&mut levels, price, self.size);
        }
        if levels.is_empty() {
            return Err(Control::NoFairPrice.into());
        }
        funds.cover(view, side, levels)
    }
}

impl Strategy for Glft {
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
        let view = &view;
        self.limits.observe(view);
        let (Ok(()), Some((_, distances))) = (self.solve(view), &self.solved) else {
            for side in Side::BOTH {
                targets.withhold(side, Control::NoFairPrice);
            }
            return;
        };
        let mut funds = Funds::new(view.holdings);
        for side in Side::BOTH {
            match self.target_quotes(view, side, distances, &mut funds) {
                Ok(mut quotes) => {
                    let minimum_bps = self.minimum_spread_bps;
                    let allowed = |price| {
                        self.limits.allows(side, price)
                            && at_least(side, price, view.mid, minimum_bps)
                    };
                    keep(view, side, &mut quotes, self.tolerance_bps, allowed);
                    for (level, (price, qty)) in (0..).zip(quotes) {
                        targets.quote(side, price, qty, level);
                    }
                }
                Err(why) => targets.withhold(side, why),
            }
        }
    }

    fn save(&self) -> Vec<u8> {
        // Serialisation can only fail for types of unknown length, which these are not.
        postcard::to_stdvec(&(MEMORY_VERSION, &self.estimators, self.limits.band()))
            .unwrap_or_default()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        let assumed = *self.estimators.assumed();
        self.solved = None;
        self.limits.set_band(None);
        if let Ok(fresh) = Estimators::new(assumed) {
            self.estimators = fresh;
        }
        if saved.is_empty() {
            return true;
        }
        let Ok((MEMORY_VERSION, estimators, band)) = postcard::from_bytes::<Memory>(saved) else {
            return false;
        };
        self.limits.set_band(band);
        // Observations under other parameters are in other bins and windows: they are dropped.
        if *estimators.assumed() == assumed {
            self.estimators = estimators;
        }
        true
    }
}

const MEMORY_VERSION: u8 = 1;
/// The saved state: version, observations, and where the moving price band is.
type Memory = (u8, Estimators, Option<Band>);

#[allow(
    clippy::cast_precision_loss,
    reason = "what a model counts in orders needs no more than 53 bits"
)]
fn lots(count: i128) -> f64 {
    count as f64
}

#[cfg(test)]
#[path = "glft_tests.rs"]
pub(crate) mod tests;
