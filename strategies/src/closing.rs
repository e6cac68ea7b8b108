//! Orders that close an open leg: the distance between what is held and what should be, traded on the book up to a limit
//! beyond the mid.

use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::strategy::{OwnOrder, Targets, View};
use cambist_core::{Amount, Price, Side};

use crate::parameter::{Kind, Looser, Parameter};
use crate::sizing::{is_orderable, is_within};

const WHOLE: Amount = 10_000;

/// How far a closing order may be from its limit before it is replaced.
const TOLERANCE_BPS: u32 = 5;

/// The parameter of the limit.
pub(crate) const UNWIND_BPS: Parameter = Parameter {
    name: "unwind_bps",
    unit: "bps of the mid",
    kind: Kind::Bps { min: 1, max: 5_000 },
    default: Some("30"),
    looser: Looser::Higher,
    meaning: "How far beyond the mid the order that closes an open leg may trade.",
};

/// The side that leads from what is held to what should be, and the distance, base units.
pub(crate) fn distance(held: Amount, target: Amount) -> (Side, Amount) {
    let side = if held > target { Side::Sell } else { Side::Buy };
    (side, held.abs_diff(target))
}

/// Adds the orders that trade `open` base units; false if there is nothing to trade. An order stays near its limit, and is
/// replaced only when it is gone: whatever may still fill counts as if it does.
pub(crate) fn close(
    view: &View<'_>,
    (side, open): (Side, Amount),
    unwind_bps: u32,
    targets: &mut Targets,
) -> bool {
    let limit = limit(view, side, unwind_bps);
    let own = || view.own.iter().filter(|order| order.side == side);
    let stays = |order: &&OwnOrder| {
        let near = is_within(order.price, limit, TOLERANCE_BPS);
        near && !order.cancelling && !order.expiring
    };
    let mut kept = 0;
    for order in own().filter(stays) {
        targets.quote(side, order.price, order.remaining, kept);
        kept += 1;
    }
    let alive = own().fold(view.unknown[side as usize], |sum, order| {
        // A remainder below a lot may fill as well.
        let lots = u128::from(order.remaining.0).saturating_add(1);
        sum.saturating_add(lots.saturating_mul(view.market.lot))
    });
    let due = view.market.lots_floor(open.saturating_sub(alive));
    let is_due = is_orderable(view.market, limit, due);
    if is_due {
        targets.quote(side, limit, due, kept);
    }
    is_due || kept > 0
}

/// So far beyond the mid, rounded towards it, that the book takes it at once.
fn limit(view: &View<'_>, side: Side, unwind_bps: u32) -> Price {
    let bps = Amount::from(unwind_bps);
    let beyond = match side {
        Side::Buy => WHOLE + bps,
        Side::Sell => WHOLE - bps,
    };
    let mid = Amount::from(view.mid);
    let ticks = match side {
        Side::Buy => mul_div_floor(mid, beyond, 2 * WHOLE),
        Side::Sell => mul_div_ceil(mid, beyond, 2 * WHOLE),
    };
    let ticks = ticks.and_then(|ticks| u64::try_from(ticks).ok());
    Price(ticks.unwrap_or(0))
}
