//! Distances of quotes from the mid by inventory: the exact table of Guéant, Lehalle and Fernandez-Tapia,
//! or the quotes of Avellaneda and Stoikov. Everything is in bps of the mid, seconds and order sizes.

use cambist_core::Side;
use cambist_quant::avellaneda_stoikov::{Market, Variant, quotes};
use cambist_quant::glft::{Parameters, Table};
use cambist_quant::{Error, Result};

use super::estimates::Estimates;

/// Which model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Guéant, Lehalle & Fernandez-Tapia 2012.
    Glft,
    /// Avellaneda & Stoikov 2008.
    AvellanedaStoikov,
}

/// Settings of the model other than the estimates of the market.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Which model.
    pub model: Model,
    /// Risk aversion γ, 1/bps for each order.
    pub risk_aversion: f64,
    /// Drift μ, bps/s.
    pub drift: f64,
    /// Adverse selection ξ, bps.
    pub impact: f64,
    /// Cost of a fill, bps.
    pub fee: f64,
    /// The bound Q, orders.
    pub bound: u32,
    /// Time left, s; 0 means no end.
    pub horizon_s: f64,
}

/// Quotes by inventory.
#[derive(Clone, Debug)]
pub enum Distances {
    /// By whole inventories within the bound.
    Table(Table),
    /// By formula.
    Formula {
        /// The mid is 0: distances do not depend on it.
        market: Market,
        /// Fee and half of the adverse selection, which the formula does not contain.
        costs: f64,
    },
}

impl Distances {
    /// Solves the model.
    pub fn new(settings: &Settings, of: &Estimates) -> Result<Self> {
        let Settings {
            model,
            risk_aversion,
            drift,
            impact,
            fee,
            bound,
            horizon_s,
        } = *settings;
        match model {
            Model::Glft => {
                let parameters = Parameters {
                    sigma: of.sigma,
                    intensity: of.intensity,
                    decay: of.decay,
                    risk_aversion,
                    drift,
                    impact,
                    fee,
                    bound,
                };
                let table = if horizon_s > 0.0 {
                    parameters.with_time_left(horizon_s)
                } else {
                    parameters.asymptotic()
                };
                table.map(Self::Table)
            }
            Model::AvellanedaStoikov => Ok(Self::Formula {
                market: Market {
                    mid: drift * horizon_s,
                    sigma: of.sigma,
                    time_left: horizon_s,
                    decay: of.decay,
                    risk_aversion,
                },
                costs: fee + impact / 2.0,
            }),
        }
    }

    /// Distance of a bid or ask from the mid at an inventory in orders above the target, bps. Between two whole
    /// inventories it is interpolated.
    pub fn at(&self, side: Side, inventory: f64) -> Result<f64> {
        let none = Error::NoSolution { name: "quotes" };
        let distance = match self {
            Self::Table(table) => {
                let bound = f64::from(table.bound());
                let (least, most) = match side {
                    Side::Buy => (-bound, bound - 1.0),
                    Side::Sell => (1.0 - bound, bound),
                };
                if !inventory.is_finite() {
                    return Err(none);
                }
                let inventory = inventory.max(least).min(most);
                let below = inventory.floor();
                let share = inventory - below;
                #[allow(clippy::cast_possible_truncation, reason = "within the bound of 2000")]
                let lower = below as i64;
                let of = |inventory| match side {
                    Side::Buy => table.bid_distance(inventory),
                    Side::Sell => table.ask_distance(inventory),
                };
                let first = of(lower).ok_or(none)?;
                if share > 0.0 {
                    first + share * (of(lower + 1).ok_or(none)? - first)
                } else {
                    first
                }
            }
            Self::Formula { market, costs } => {
                let quotes = quotes(market, inventory, Variant::Published2008)?;
                let price = match side {
                    Side::Buy => -quotes.bid,
                    Side::Sell => quotes.ask,
                };
                price + costs
            }
        };
        if distance.is_finite() {
            Ok(distance)
        } else {
            Err(none)
        }
    }
}
