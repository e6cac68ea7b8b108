//! A second venue: the matching of the exchange behind other rules.
//!
//! Requests bear consecutive numbers, and a number is accepted only after all below it were spent. They have a
//! deadline; what they create rests until it is filled or cancelled. Orders are named by our id, reasons are its
//! own, fees are always taken in the quote token and may be at most 15 ten-thousandths, times are milliseconds, open and
//! closed orders are two lists whose pages name the next one instead of counting, and a page costs twice as much as
//! other requests. The engine knows all of that from [`rules`] and the fee token of the market alone.

pub(crate) mod gateway;

pub use gateway::Refused;

use cambist_core::request::{Endpoint, OrderList, Outcome, Reply};
use cambist_core::venue::{
    AmountRule, ClockRule, FeeRule, LifetimeRule, ListRule, Refusal, RefusalRules, RequestCosts,
    Resting, SlotRule,
};
use cambist_core::{OrderStatus, Reason, TokenId, VenueRules};
use cambist_venue::{OrdersQuery, Request};

/// The number is spent.
pub const USED: Reason = Reason::Unlisted(1);
/// A lower number was not spent yet.
pub const GAP: Reason = Reason::Unlisted(2);
/// The deadline has passed.
pub const LAPSED: Reason = Reason::Unlisted(3);
/// The deadline is too far ahead; later it may not be.
pub const FAR: Reason = Reason::Unlisted(4);
/// The stated fee is higher than the venue reads.
pub const FEE: Reason = Reason::Unlisted(5);

/// The highest fee that an order can state, in ten-thousandths.
pub(crate) const FEE_BIPS_MAX: u8 = 15;

/// The token under whose name the row of numbers is counted: none of the market's.
pub const ROW: TokenId = TokenId(u16::MAX);

/// What the venue guarantees, with requests that are accepted for so long at most.
pub fn rules(accepted_max_ms: u64) -> VenueRules {
    let mut refusals = RefusalRules::exchange();
    refusals.submits.extend([
        (USED, Refusal::KillsCopy),
        (GAP, Refusal::NotProcessed),
        (FEE, Refusal::KillsBytes),
        // A copy that arrived in time may have been taken.
        (LAPSED, Refusal::ProvesNothing),
    ]);
    refusals.submits.sort_unstable();
    VenueRules {
        slots: SlotRule::Consecutive { row: ROW },
        lifetime: LifetimeRule {
            accepted_max_ms: Some(accepted_max_ms),
            resting: Resting::UntilCancelled,
        },
        refusals,
        lists: ListRule {
            scanned: vec![OrderList::Resting, OrderList::Closed],
        },
        clock: ClockRule { resolution_ms: 1 },
        costs: RequestCosts {
            each: vec![(Endpoint::Orders, 2)],
            new_fills: 0,
            left_to_start: 0,
        },
        trading: None,
        fees: FeeRule {
            stated_max_bips: FEE_BIPS_MAX,
        },
        amounts: AmountRule::default(),
        charged_as: None,
        compares_shares: true,
        amends_orders: false,
    }
}

/// What the matching is asked for a page: the list of open orders has those as well that wait to come to the book.
pub(crate) fn page(asked: &OrdersQuery) -> OrdersQuery {
    let mut page = asked.clone();
    if page.statuses == OrderStatus::RESTING {
        page.statuses.push(OrderStatus::Waiting);
    }
    page
}

/// The answer to a request as this venue gives it: a page of a list states where the next one begins.
pub(crate) fn outcome(asked: &Request, outcome: Outcome) -> Outcome {
    match (asked, outcome) {
        (Request::Orders(query), Outcome::Reply(Reply::Orders { orders, total })) => {
            let next = query.offset + query.limit.unwrap_or(0);
            let next = u32::try_from(next).ok().filter(|next| *next < total);
            Outcome::Reply(Reply::OrdersUntil { orders, next })
        }
        (_, outcome) => outcome,
    }
}
