//! Order optimisation: not paying more than it takes to be first. If the others' best price, ignoring a small amount
//! that is not worth outbidding, is further from the mid than the target price, the order is placed one tick in front
//! of it.

use cambist_core::strategy::View;
use cambist_core::{MarketSpec, Price, Qty, Side};

use crate::parameter::{Kind, Looser, ParamError, Parameter, Params};
use crate::scale::lots_floor;
use crate::sizing::further;

/// Parameters that a strategy with order optimisation declares besides its own.
pub const PARAMETERS: [Parameter; 2] = [
    Parameter {
        name: "order_optimization_enabled",
        unit: "",
        kind: Kind::Bool,
        default: Some("false"),
        looser: Looser::Lower,
        meaning: "Whether orders move away from the mid to one tick before the best order of the \
                  others. They never move nearer.",
    },
    Parameter {
        name: "order_optimization_depth",
        unit: "base tokens",
        kind: Kind::Decimal {
            min: "0",
            max: "1000000000",
        },
        default: Some("0"),
        looser: Looser::Never,
        meaning: "Quantity of the others' best orders that is not worth outbidding. Rounded down to \
                  whole lots.",
    },
];

/// The amount that is ignored; `None` if off.
#[derive(Clone, Copy, Debug)]
pub struct Optimization(Option<Qty>);

impl Optimization {
    /// Reads the configured values.
    pub fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let depth = lots_floor(params, "order_optimization_depth", market)?;
        Ok(Self(
            params
                .switch("order_optimization_enabled")?
                .then_some(depth),
        ))
    }

    /// The prices of a side, nearest first, all moved by as much as the first has to be.
    pub fn prices(self, view: &View<'_>, side: Side, targets: Vec<Price>) -> Vec<Price> {
        let Some(&first) = targets.first() else {
            return targets;
        };
        let shift = self.price(view, side, first).0.abs_diff(first.0);
        let moved = |price: Price| match side {
            Side::Buy => Price(price.0.saturating_sub(shift)),
            Side::Sell => Price(price.0.saturating_add(shift)),
        };
        targets.into_iter().map(moved).collect()
    }

    /// The target price, or the one in front of the others' best if that is further from the mid.
    pub fn price(self, view: &View<'_>, side: Side, target_price: Price) -> Price {
        let Some(depth) = self.0 else {
            return target_price;
        };
        let levels = match side {
            Side::Buy => view.bids,
            Side::Sell => view.asks,
        };
        let mut ahead = 0_u64;
        let best = levels.iter().find(|level| {
            ahead = ahead.saturating_add(level.qty.0);
            ahead > depth.0
        });
        best.map_or(target_price, |best| {
            let before = match side {
                Side::Buy => best.price.0.saturating_add(1),
                Side::Sell => best.price.0.saturating_sub(1),
            };
            further(side, target_price, Price(before))
        })
    }
}
