//! Template: one order on each side, at a distance from the mid.
//!
//! Describe here what it quotes, what state it keeps and where the idea comes from. `README.md` of this package has the
//! rules.

use cambist_core::control::Control;
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::withheld::Withheld;
use cambist_core::{MarketSpec, Price, Qty, Side};

use crate::parameter::{Kind, Looser, ParamError, Parameter, Params};
use crate::registry::{Promise, StrategyInfo};
use crate::scale::lots_floor;
use crate::sizing::{Funds, is_orderable, passive, price_at, unorderable};

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "template",
    summary: "One order on each side, at a distance from the mid.",
    promise: Promise::Quotes,
    two_legs: None,
    parameters: &[
        Parameter {
            name: "spread_bps",
            unit: "bps of the mid",
            kind: Kind::Bps { min: 1, max: 5_000 },
            default: Some("10"),
            looser: Looser::Lower,
            meaning: "Distance of both orders from the mid; rounded away from it.",
        },
        Parameter {
            name: "order_amount",
            unit: "base tokens",
            kind: Kind::Decimal {
                min: "0",
                max: "1000000000",
            },
            default: Some("0.5"),
            looser: Looser::Higher,
            meaning: "Size of each order. Rounded down to whole lots.",
        },
    ],
    build: |params, market| Ok(Box::new(Template::new(params, market)?)),
};

/// The strategy.
#[derive(Clone, Debug)]
struct Template {
    spread_bps: u32,
    size: Qty,
}

impl Template {
    /// Checks conditions on several parameters and converts amounts to lots.
    fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let size = lots_floor(params, "order_amount", market)?;
        if size.0 == 0 {
            return Err(params.conflict("order_amount", "must be above zero"));
        }
        Ok(Self {
            spread_bps: params.whole("spread_bps")?,
            size,
        })
    }

    /// The order of a side, or why there is none.
    fn target_quote(
        &self,
        view: &View<'_>,
        side: Side,
        funds: &mut Funds,
    ) -> Result<(Price, Qty), Withheld> {
        let price = passive(view, side, price_at(side, view.mid, self.spread_bps));
        if price.0 == 0 {
            return Err(Control::NoPassivePrice.into());
        }
        let qty = funds.take(view.market, side, price, self.size);
        if !is_orderable(view.market, price, qty) {
            return Err(unorderable(view, side, price, self.size, Qty(1)));
        }
        Ok((price, qty))
    }
}

impl Strategy for Template {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let mut funds = Funds::new(view.holdings);
        for side in Side::BOTH {
            match self.target_quote(view, side, &mut funds) {
                Ok((price, qty)) => targets.quote(side, price, qty, 0),
                Err(why) => targets.withhold(side, why),
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;
    use crate::testing::{Sample, Scene, market, text};

    /// Samples for the tests of the registry: each parameter must change a decision.
    pub(crate) const SAMPLES: &[Sample] = &[Sample {
        table: "spread_bps = 10\norder_amount = 0.5\n",
        changes: &[("spread_bps", "11"), ("order_amount", "0.6")],
        reasons: &["strategy_funds"],
    }];

    #[test]
    fn one_order_rests_on_each_side() {
        let mut strategy = INFO
            .build_from(&SAMPLES[0].table.parse().unwrap(), &market())
            .unwrap();
        // A mid of 2500.00 in ticks of 0.01, 10 ETH and 25,000 USDC held.
        let scene = Scene::new(249_900, 250_100, 10, 25_000);
        assert_eq!(
            text(&scene.decide(strategy.as_mut())),
            "buy 249750 x 5000 @0\nsell 250250 x 5000 @0\n"
        );
        let poor = Scene::new(249_900, 250_100, 0, 0);
        let targets = poor.decide(strategy.as_mut());
        let why = Side::BOTH.map(|side| targets.withheld(side).unwrap().control);
        assert_eq!(why, [Control::StrategyFunds; 2]);
    }
}
