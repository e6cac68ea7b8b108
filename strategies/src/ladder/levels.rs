//! The configured levels of a ladder: equal steps on both sides, or each side level by level.

use cambist_core::{MarketSpec, Qty, Side};

use super::{AMOUNT, SPREAD};
use crate::parameter::{Looser, ParamError, Parameter, Params};
use crate::scale::lots_floor;
use crate::sizing::BPS;

/// Parameters of one level in a list.
pub const LEVEL: &[Parameter] = &[
    Parameter {
        name: "spread_bps",
        unit: "bps of the mid",
        kind: SPREAD,
        default: None,
        looser: Looser::Lower,
        meaning: "Distance from the mid; rounded away from it.",
    },
    Parameter {
        name: "amount",
        unit: "base tokens",
        kind: AMOUNT,
        default: None,
        looser: Looser::Higher,
        meaning: "Size before skew. Rounded down to whole lots.",
    },
];

/// A level before skew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Distance from the mid.
    pub spread_bps: u32,
    /// Size.
    pub size: Qty,
}

/// Levels of a side, nearest first, none nearer than `floor_bps`.
pub fn of_side(
    params: &Params,
    market: &MarketSpec,
    side: Side,
    floor_bps: u32,
) -> Result<Vec<Level>, ParamError> {
    let (list, first) = match side {
        Side::Buy => ("bid_levels", "bid_spread_bps"),
        Side::Sell => ("ask_levels", "ask_spread_bps"),
    };
    let listed = params.tables(list)?;
    if listed.is_empty() {
        return uniform(params, market, first, floor_bps);
    }
    let read = listed.iter().map(|table| {
        let spread_bps = table.whole("spread_bps")?;
        at_floor(table, "spread_bps", spread_bps, floor_bps)?;
        let size = lots_floor(table, "amount", market)?;
        if size.0 == 0 {
            return Err(table.conflict("amount", "must be above zero"));
        }
        Ok(Level { spread_bps, size })
    });
    let mut levels = read.collect::<Result<Vec<_>, _>>()?;
    levels.sort_by_key(|level| level.spread_bps);
    Ok(levels)
}

fn uniform(
    params: &Params,
    market: &MarketSpec,
    first: &str,
    floor_bps: u32,
) -> Result<Vec<Level>, ParamError> {
    let spread_bps = params.whole(first)?;
    if spread_bps == 0 {
        return Err(params.conflict(first, "must be given, or a list of levels for the side"));
    }
    at_floor(params, first, spread_bps, floor_bps)?;
    let amount = lots_floor(params, "order_amount", market)?;
    if amount.0 == 0 {
        return Err(params.conflict("order_amount", "must be above zero"));
    }
    let growth = lots_floor(params, "order_level_amount", market)?;
    let step_bps = params.whole("order_level_spread_bps")?;
    let levels = params.whole("order_levels")?;
    if spread_bps + (levels - 1) * step_bps >= BPS {
        return Err(params.conflict(
            "order_level_spread_bps",
            "the outermost bid would lie at or below zero",
        ));
    }
    let level = |index: u32| {
        let grown = growth.0.checked_mul(index.into())?.checked_add(amount.0)?;
        Some(Level {
            spread_bps: spread_bps + index * step_bps,
            size: Qty(grown),
        })
    };
    let levels: Option<Vec<_>> = (0..levels).map(level).collect();
    levels.ok_or_else(|| params.conflict("order_level_amount", "levels are too large"))
}

fn at_floor(params: &Params, name: &str, spread: u32, floor_bps: u32) -> Result<(), ParamError> {
    if spread >= floor_bps {
        return Ok(());
    }
    Err(params.conflict(
        name,
        format!("below minimum_spread_bps and fee_bps together, {floor_bps}"),
    ))
}
