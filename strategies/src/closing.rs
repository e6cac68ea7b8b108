//! Orders that close an open leg: the distance between what is held and what should be, traded on the book up to a limit
//! beyond the mid.

use cambist_core::control::Control;
use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::strategy::{OwnOrder, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{Amount, MarketSpec, Price, Qty, Side};

use crate::parameter::{Kind, Looser, Parameter};
use crate::sizing::{is_orderable, is_within, least_lots};

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

/// Base units that a taking order trades to close a leg. Where the market's fee is taken of what is bought, a bid buys the
/// fee as well: the most of which no more than `open` is left after a fee that is rounded up.
fn traded(market: &MarketSpec, fee_bips: u16, (side, open): (Side, Amount)) -> Amount {
    if !market.fee_in.is_base(side) {
        return open;
    }
    // ⌊traded · kept / WHOLE⌋ ≤ open is traded · kept < (open + 1) · WHOLE.
    let kept = WHOLE.saturating_sub(fee_bips.into());
    let beyond = mul_div_ceil(open.saturating_add(1), WHOLE, kept);
    beyond.map_or(open, |beyond| beyond.saturating_sub(1))
}

/// The lots that a taking order trades to close a leg, rounded down: what stays open is less than a lot.
pub(crate) fn lots_due(market: &MarketSpec, fee_bips: u16, leg: (Side, Amount)) -> Qty {
    market.lots_floor(traded(market, fee_bips, leg))
}

/// Adds the orders that trade a leg; false if there is nothing to trade. No more than `most` base units are traded by what
/// may fill at once, so that a larger leg stays open by its fee until that is due by itself. An order stays near its limit,
/// and is replaced only when it is gone: whatever may still fill counts as if it does. Where less is held than the leg,
/// that is traded.
pub(crate) fn close(
    view: &View<'_>,
    leg: (Side, Amount),
    most: Amount,
    unwind_bps: u32,
    targets: &mut Targets,
) -> bool {
    let side = leg.0;
    targets.take_in_part(side);
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
    let open = traded(view.market, view.taker_fee_bips, leg).min(most);
    let due = view.market.lots_floor(open.saturating_sub(alive));
    let is_due = is_orderable(view.market, limit, due);
    if is_due {
        targets.quote(side, limit, due, kept);
    }
    is_due || kept > 0
}

/// Why nothing of an open leg is traded: it is at most `tolerance`, or less than the smallest order that the book takes.
/// `None` if nothing is open, or an order may close it.
pub(crate) fn left_open(
    view: &View<'_>,
    leg: (Side, Amount),
    tolerance: Amount,
    unwind_bps: u32,
) -> Option<Withheld> {
    let (side, open) = leg;
    let fewest = least_lots(view.market, limit(view, side, unwind_bps), Qty(1));
    let is_due = open > tolerance && lots_due(view.market, view.taker_fee_bips, leg) >= fewest;
    let smallest = view.market.base_amount(fewest).unwrap_or(Amount::MAX);
    let least = if open > tolerance {
        smallest
    } else {
        tolerance
    };
    let compared = Compared::new(Unit::Base, "", open, least);
    (open > 0 && !is_due).then(|| Withheld::compared(Control::NotConfigured, compared))
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
