//! Curve: the levels of a constant-product pool, as orders on the book.
//!
//! The reserves are the holdings plus a virtual amount of both tokens; their ratio is the price. Each level offers the
//! amount that the curve trades within one step, at the far end of the step and moved out by the spread, so that no
//! fill reduces the product of the reserves. It needs no reference price: it sells as the price rises and buys as it
//! falls, and does so again in the other direction. With more virtual liquidity each step trades more, and the holdings
//! last for a smaller range of prices.
//!
//! Source: `cambist_quant::lp::curve`.

use cambist_core::control::Control;
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{Amount, MarketSpec, Price, Qty, Side};
use cambist_quant::lp::curve::{Curve as Shape, Rung};

use crate::optimization::{self, Optimization};
use crate::parameter::{Kind, Looser, ParamError, Parameter, Params, joined};
use crate::price_limits::{self, PriceLimits};
use crate::registry::{Promise, StrategyInfo};
use crate::scale::{base_floor, quote_floor};
use crate::sizing::{BPS, Funds, add_level, keep, passive};

const AMOUNT: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000",
};

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "curve",
    summary: "The levels of a constant-product pool as orders on the book: prices and sizes follow \
              from what is held, without a reference price.",
    promise: Promise::Quotes,
    two_legs: None,
    parameters: &joined::<PARAMETERS>(&[
        &OWN,
        &optimization::PARAMETERS,
        &price_limits::PARAMETERS,
    ]),
    build: |params, market| Ok(Box::new(Curve::new(params, market)?)),
};

const PARAMETERS: usize =
    OWN.len() + optimization::PARAMETERS.len() + price_limits::PARAMETERS.len();

const OWN: [Parameter; 7] = [
    Parameter {
        name: "virtual_base",
        unit: "base tokens",
        kind: AMOUNT,
        default: Some("0"),
        looser: Looser::Changed,
        meaning: "Virtual amount added to the base holdings. Rounded down to whole lots.",
    },
    Parameter {
        name: "virtual_quote",
        unit: "quote tokens",
        kind: AMOUNT,
        default: Some("0"),
        looser: Looser::Changed,
        meaning: "Virtual amount added to the quote holdings. The price is the ratio of both sums: at the \
                  market's price, virtual_quote is virtual_base times it.",
    },
    Parameter {
        name: "order_levels",
        unit: "",
        kind: Kind::Integer { min: 1, max: 32 },
        default: Some("3"),
        looser: Looser::Higher,
        meaning: "Levels on each side.",
    },
    Parameter {
        name: "step_bps",
        unit: "bps of the price",
        kind: Kind::Bps { min: 1, max: 1_000 },
        default: Some("10"),
        looser: Looser::Changed,
        meaning: "Distance between levels, at least one tick. A level trades the amount that the \
                  curve trades within a step.",
    },
    Parameter {
        name: "spread_bps",
        unit: "bps of the price",
        kind: Kind::Bps { min: 0, max: 1_000 },
        default: Some("5"),
        looser: Looser::Lower,
        meaning: "Distance of every price from the curve: the profit of a fill, from which the maker \
                  fee is paid.",
    },
    Parameter {
        name: "divergence_max_bps",
        unit: "bps of the mid",
        kind: Kind::Bps { min: 1, max: BPS },
        default: Some("200"),
        looser: Looser::Higher,
        meaning: "Nothing is quoted while the curve's price is further than this from the mid, because \
                  the holdings do not match the market's price.",
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
pub struct Curve {
    virtual_base: Amount,
    virtual_quote: Amount,
    levels: usize,
    step_bps: u32,
    spread_bps: u32,
    divergence_bps: u32,
    tolerance_bps: u32,
    optimization: Optimization,
    limits: PriceLimits,
}

/// The curve of the current holdings: prices in ticks, base in lots.
#[derive(Clone, Copy, Debug)]
struct State {
    shape: Shape,
    price: f64,
    step: u32,
}

impl Curve {
    /// Reads the parameters and converts amounts to base units.
    pub fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        Ok(Self {
            virtual_base: base_floor(params, "virtual_base", market)?,
            virtual_quote: quote_floor(params, "virtual_quote", market)?,
            levels: usize::try_from(params.whole("order_levels")?).unwrap_or(usize::MAX),
            step_bps: params.whole("step_bps")?,
            spread_bps: params.whole("spread_bps")?,
            divergence_bps: params.whole("divergence_max_bps")?,
            tolerance_bps: params.whole("order_refresh_tolerance_bps")?,
            optimization: Optimization::new(params, market)?,
            limits: PriceLimits::new(params, market)?,
        })
    }

    /// The curve of the current holdings, if its price is near the market's.
    fn state(&self, view: &View<'_>) -> Result<State, Withheld> {
        let base = view.holdings.base.saturating_add(self.virtual_base);
        let quote = view.holdings.quote.saturating_add(self.virtual_quote);
        let base = float(base) / float(view.market.lot);
        let quote = float(quote) / float(view.market.quote_per_lot_tick);
        let price = quote / base;
        let mid = float(view.mid.into()) / 2.0;
        let away_bps = (price / mid - 1.0).abs() * f64::from(BPS);
        if !away_bps.is_finite() || price <= 0.0 {
            return Err(Control::StrategyFunds.into());
        }
        if away_bps > f64::from(self.divergence_bps) {
            let key = "market.strategy.params";
            let found = whole((2.0 * price).round());
            let compared = Compared::of(Unit::HalfTicks, key, found, view.mid);
            return Err(Withheld::compared(Control::NoFairPrice, compared));
        }
        let step = whole((price * f64::from(self.step_bps) / f64::from(BPS)).round());
        let step = u32::try_from(step.unwrap_or(1)).map_err(|_| Control::NoFairPrice)?;
        let shape = Shape::whole((base * quote).sqrt()).map_err(|_| Control::NoFairPrice)?;
        Ok(State { shape, price, step })
    }

    /// Target prices and sizes of one side, nearest first, covered by the holdings; or why there are none.
    fn target_quotes(
        &self,
        view: &View<'_>,
        side: Side,
        state: &State,
        funds: &mut Funds,
    ) -> Result<Vec<(Price, Qty)>, Withheld> {
        if let Some(why) = self.limits.blocked(view.mid, side) {
            return Err(why);
        }
        let State { shape, price, step } = *state;
        let spread = f64::from(self.spread_bps) / f64::from(BPS);
        let rungs = match side {
            Side::Buy => shape.bids(price, step, self.levels, spread),
            Side::Sell => shape.asks(price, step, self.levels, spread),
        };
        let rungs = rungs.map_err(|_| Control::NoFairPrice)?;
        let mut prices = Vec::new();
        for rung in &rungs {
            prices.push(Price(
                u64::try_from(rung.price).map_err(|_| Control::NoFairPrice)?,
            ));
        }
        let prices = self.optimization.prices(view, side, prices);
        let mut levels: Vec<(Price, Qty)> = Vec::new();
        for (price, Rung { quantity, .. }) in prices.into_iter().zip(rungs) {
            let price = passive(view, side, self.limits.limit(side, price));
            let qty = Qty(whole(quantity.floor()).unwrap_or(0));
            add_level(&mut levels, price, qty);
        }
        funds.cover(view, side, levels)
    }
}

impl Strategy for Curve {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        self.limits.observe(view);
        let state = self.state(view);
        let mut funds = Funds::new(view.holdings);
        for side in Side::BOTH {
            let target_quotes =
                state.and_then(|state| self.target_quotes(view, side, &state, &mut funds));
            match target_quotes {
                Ok(mut quotes) => {
                    let allowed = |price| self.limits.allows(side, price);
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
        self.limits.save()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        self.limits.restore(saved)
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a model's price needs no more than 53 bits"
)]
fn float(amount: Amount) -> f64 {
    amount as f64
}

/// A float that is an integer from 1, below 2^53.
fn whole(value: f64) -> Option<u64> {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 1, below 2^53"
    )]
    (1.0..9e15).contains(&value).then_some(value as u64)
}

#[cfg(test)]
#[path = "curve_tests.rs"]
pub(crate) mod tests;
