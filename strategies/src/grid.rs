//! Grid: buys at each line below the price and sells what it bought one line higher.
//!
//! Between two neighbouring lines is a cell of `order_amount`, which holds either quote (it buys at its lower line) or
//! base (it sells at its upper line). Cells below `start_price` begin with quote, those above with base. Because the
//! nearest cells trade first, the state of the whole grid follows from one number: how much it has bought less what it
//! has sold. That is `View::traded`, which the store keeps with the fills, so that the grid is the same after a restart
//! at any fill, and no memory can be lost.

use cambist_core::control::Control;
use cambist_core::strategy::{Strategy, Targets, Traded, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{MarketSpec, Price, Qty, Side};

use crate::parameter::{Kind, Looser, ParamError, Parameter, Params, joined};
use crate::registry::{Promise, StrategyInfo};
use crate::scale::{lots_floor, ticks_ceil, ticks_floor};
use crate::sizing::{self, BPS, Funds, add_level, at_least, passive, price_at};

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "grid",
    summary: "Buys at each of a number of fixed prices as the price falls, and sells what it bought one price higher.",
    promise: Promise::Quotes,
    two_legs: None,
    parameters: &PARAMETERS,
    build: |params, market| Ok(Box::new(Grid::new(params, market)?)),
};

const PRICE: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000000",
};
const AMOUNT: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000",
};

static PARAMETERS: [Parameter; 9] = joined(&[OWN, &[sizing::FEE]]);

const OWN: &[Parameter] = &[
    Parameter {
        name: "price_low",
        unit: "quote per base",
        kind: PRICE,
        default: None,
        looser: Looser::Changed,
        meaning: "The lowest line; below it the grid holds base and buys no more. Rounded up to a tick.",
    },
    Parameter {
        name: "price_high",
        unit: "quote per base",
        kind: PRICE,
        default: None,
        looser: Looser::Changed,
        meaning: "The highest line; above it the grid has sold its base. Rounded down to a tick.",
    },
    Parameter {
        name: "grid_lines",
        unit: "",
        kind: Kind::Integer { min: 3, max: 400 },
        default: None,
        looser: Looser::Changed,
        meaning: "Lines from the lowest to the highest, each the same share above the one below. The \
                  step between two must be more than twice fee_bps.",
    },
    Parameter {
        name: "start_price",
        unit: "quote per base",
        kind: PRICE,
        default: None,
        looser: Looser::Changed,
        meaning: "Where the grid begins: below, its cells hold quote, above, base. At the market's \
                  price it trades nothing at first.",
    },
    Parameter {
        name: "order_amount",
        unit: "base tokens",
        kind: AMOUNT,
        default: None,
        looser: Looser::Higher,
        meaning: "What is bought and sold at each line. Rounded down to whole lots.",
    },
    Parameter {
        name: "order_levels",
        unit: "",
        kind: Kind::Integer { min: 1, max: 32 },
        default: Some("3"),
        looser: Looser::Higher,
        meaning: "Nearest lines of each side that have orders.",
    },
    Parameter {
        name: "bought_before",
        unit: "base tokens",
        kind: AMOUNT,
        default: Some("0"),
        looser: Looser::Changed,
        meaning: "For a new grid of a strategy that has traded at this market: what it had bought in \
                  all runs until then. Rounded down to whole lots.",
    },
    Parameter {
        name: "sold_before",
        unit: "base tokens",
        kind: AMOUNT,
        default: Some("0"),
        looser: Looser::Changed,
        meaning: "As bought_before, for what it had sold.",
    },
];

/// The strategy.
#[derive(Clone, Debug)]
struct Grid {
    /// Ascending, at least three.
    lines: Vec<Price>,
    /// Lots of a cell.
    cell: u64,
    /// Lots that the cells above the start hold at first.
    held_at_start: i128,
    order_levels: usize,
    fee_bps: u32,
    before: [Qty; 2],
}

impl Grid {
    /// Checks conditions on several parameters and computes the lines.
    fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let low = ticks_ceil(params, "price_low", market)?;
        let high = ticks_floor(params, "price_high", market)?;
        if low.0 == 0 {
            return Err(params.conflict("price_low", "must be above zero"));
        }
        if high <= low {
            return Err(params.conflict("price_high", "must be above price_low"));
        }
        let lines = lines(low, high, params.whole("grid_lines")?);
        let cost_bps = 2 * u64::from(params.whole("fee_bps")?);
        for pair in lines.windows(2) {
            let step = pair[1].0.saturating_sub(pair[0].0);
            let earns = u128::from(step) * u128::from(BPS);
            if step == 0 || earns <= u128::from(pair[1].0) * u128::from(cost_bps) {
                let what = format!(
                    "the step from {} to {} does not earn twice fee_bps; fewer lines are further apart",
                    market.price_text(pair[0]),
                    market.price_text(pair[1])
                );
                return Err(params.conflict("grid_lines", what));
            }
        }
        let start = ticks_floor(params, "start_price", market)?;
        if start < low || start > high {
            let what = "must be from price_low to price_high";
            return Err(params.conflict("start_price", what));
        }
        let cell = lots_floor(params, "order_amount", market)?;
        if cell.0 == 0 {
            return Err(params.conflict("order_amount", "must be above zero"));
        }
        let above = lines.iter().filter(|line| **line >= start).count();
        let order_levels = usize::try_from(params.whole("order_levels")?);
        Ok(Self {
            // Of the lines at the start or above, each but the first is the upper one of a cell with base.
            held_at_start: lots_of(above.saturating_sub(1), cell.0),
            lines,
            cell: cell.0,
            order_levels: order_levels.unwrap_or(usize::MAX),
            fee_bps: params.whole("fee_bps")?,
            before: [
                lots_floor(params, "bought_before", market)?,
                lots_floor(params, "sold_before", market)?,
            ],
        })
    }

    /// Lots that the cells hold now: full ones from the top, then one in part.
    fn held(&self, market: &MarketSpec, traded: Traded) -> u64 {
        let lots = |side| i128::from(market.lots_floor(traded.of(side)).0);
        let [bought_before, sold_before] = self.before.map(|lots| i128::from(lots.0));
        let bought = lots(Side::Buy) - bought_before;
        let sold = lots(Side::Sell) - sold_before;
        let all = lots_of(self.lines.len() - 1, self.cell);
        let held = (self.held_at_start + bought - sold).clamp(0, all);
        u64::try_from(held).unwrap_or(0)
    }

    /// Target prices and sizes of a side, nearest first, while the cells hold `held` lots.
    fn levels(&self, side: Side, held: u64) -> Vec<(Price, Qty)> {
        let cells = self.lines.len() - 1;
        let full = usize::try_from(held / self.cell).unwrap_or(usize::MAX);
        let part = held % self.cell;
        // The lowest cell that is full, or the number of cells.
        let lowest_full = cells.saturating_sub(full);
        let mut levels = Vec::new();
        match side {
            Side::Sell => {
                if part > 0 && lowest_full > 0 {
                    levels.push((self.lines[lowest_full], Qty(part)));
                }
                let full = self.lines.iter().skip(lowest_full + 1);
                levels.extend(full.map(|line| (*line, Qty(self.cell))));
            }
            Side::Buy => {
                let empty = self.lines[..lowest_full].iter().rev();
                levels.extend(empty.map(|line| (*line, Qty(self.cell))));
                if let Some(first) = levels.first_mut() {
                    first.1 = Qty(self.cell - part);
                }
            }
        }
        levels.truncate(self.order_levels);
        levels
    }

    /// The quotes of a side, nearest first, or why there are none.
    fn target_quotes(
        &self,
        view: &View<'_>,
        side: Side,
        held: u64,
        funds: &mut Funds,
    ) -> Result<Vec<(Price, Qty)>, Withheld> {
        let mut levels: Vec<(Price, Qty)> = Vec::new();
        for (line, qty) in self.levels(side, held) {
            // A line that the mid has passed, while nothing was quoted: at the market, with room for the fee.
            let price = if at_least(side, line, view.mid, 0) {
                line
            } else {
                price_at(side, view.mid, self.fee_bps)
            };
            add_level(&mut levels, passive(view, side, price), qty);
        }
        if levels.is_empty() {
            return Err(self.beyond(view, side));
        }
        funds.cover(view, side, levels)
    }

    /// Every cell has bought, or every cell has sold.
    fn beyond(&self, view: &View<'_>, side: Side) -> Withheld {
        let (key, line) = match side {
            Side::Buy => ("market.strategy.params.price_low", self.lines.first()),
            Side::Sell => ("market.strategy.params.price_high", self.lines.last()),
        };
        let line = line.map_or(0, |line| line.0.saturating_mul(2));
        let compared = Compared::new(Unit::HalfTicks, key, view.mid, line);
        Withheld::compared(Control::StrategyPrice, compared)
    }
}

impl Strategy for Grid {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let held = self.held(view.market, view.traded);
        let mut funds = Funds::new(view.holdings);
        for side in Side::BOTH {
            match self.target_quotes(view, side, held, &mut funds) {
                Ok(quotes) => {
                    for (level, (price, qty)) in (0..).zip(quotes) {
                        targets.quote(side, price, qty, level);
                    }
                }
                Err(why) => targets.withhold(side, why),
            }
        }
    }
}

/// Lines from `low` to `high`, each the same share above the one below, in whole ticks.
fn lines(low: Price, high: Price, count: u32) -> Vec<Price> {
    let steps = f64::from(count.saturating_sub(1).max(1));
    #[allow(clippy::cast_precision_loss, reason = "a price, below 2^53")]
    let (first, ratio) = (low.0 as f64, high.0 as f64 / low.0 as f64);
    let line = |number: u32| {
        let price = (first * ratio.powf(f64::from(number) / steps)).round();
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from low to high"
        )]
        Price((price as u64).clamp(low.0, high.0))
    };
    (0..count).map(line).collect()
}

fn lots_of(cells: usize, cell: u64) -> i128 {
    i128::try_from(cells)
        .unwrap_or(i128::MAX)
        .saturating_mul(cell.into())
}

#[cfg(test)]
#[path = "grid_tests.rs"]
pub(crate) mod tests;
