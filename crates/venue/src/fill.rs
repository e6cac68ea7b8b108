//! The amounts that an incoming and a resting order exchange, with their rounding.
//!
//! Fills are in base units at the resting order's level, rounded in favour of the resting order, and never beyond the
//! incoming order's limit. A fill that rounding would push beyond it is reduced to a whole number of exact lots; if
//! none fits, the result states which side is too small.

use std::cmp::Ordering;

use cambist_core::{Amount, Side};

use crate::math::compare_products;
use crate::orders::Order;
use crate::scale::Scale;

/// Result for a pair of orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// The amounts to exchange.
    Fill {
        /// Base units.
        base: Amount,
        /// Quote units.
        quote: Amount,
    },
    /// The rest of the incoming order is too small to be priced here.
    TakerTooSmall,
    /// The rest of the resting order is too small to be priced for this incoming order.
    MakerTooSmall,
}

/// The fill of `taker` and `maker`, whose levels cross.
pub(crate) fn plan(scale: &Scale, taker: &Order, maker: &Order) -> Plan {
    let wanted = taker_capacity(scale, taker, maker);
    let base = wanted.min(maker.rest);
    if base == 0 {
        return Plan::TakerTooSmall;
    }
    if let Some(quote) = priced(scale, taker, maker, base) {
        return Plan::Fill { base, quote };
    }
    let lot = scale.exact_lot(maker.level);
    let smaller = base - base % lot;
    match priced(scale, taker, maker, smaller) {
        Some(quote) if smaller > 0 => Plan::Fill {
            base: smaller,
            quote,
        },
        Some(_) | None if wanted < lot => Plan::TakerTooSmall,
        Some(_) | None => Plan::MakerTooSmall,
    }
}

/// Quote units for `base` at the maker's level, if within the taker's limit and amounts.
fn priced(scale: &Scale, taker: &Order, maker: &Order, base: Amount) -> Option<Amount> {
    let quote = match maker.side {
        Side::Buy => scale.quote_floor(base, maker.level)?,
        Side::Sell => scale.quote_ceil(base, maker.level)?,
    };
    let against_limit = compare_products(quote, taker.base, base, taker.quote);
    let within = match taker.side {
        Side::Buy => against_limit != Ordering::Greater,
        Side::Sell => against_limit != Ordering::Less,
    };
    let affordable = taker.limited_by_base() || quote <= taker.quote - taker.quote_filled;
    (within && affordable && quote > 0).then_some(quote)
}

/// Base units that the taker can trade at the maker's level.
fn taker_capacity(scale: &Scale, taker: &Order, maker: &Order) -> Amount {
    let floor = taker.capacity(scale, maker.level);
    // A seller limited by a quote amount receives rounded down: one more base unit may give the last quote unit without
    // exceeding the amount.
    if taker.side == Side::Sell && !taker.limited_by_base() {
        let more = floor.saturating_add(1);
        let left = taker.quote - taker.quote_filled;
        let base_left = taker.base - taker.base_filled;
        let brings = |base| scale.quote_floor(base, maker.level);
        let short = brings(floor).is_some_and(|quote| quote < left);
        if short && brings(more).is_some_and(|quote| quote <= left) && more <= base_left {
            return more;
        }
    }
    floor
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use cambist_core::order::FillBy;
    use cambist_core::{Hash, MarketId, OrderKind, OrderStatus, VenueTime};

    use crate::account::AccountId;

    /// 18 and 6 decimals, prices in cents: one whole base token is 10^18 units, one quote token 10^6.
    fn scale() -> Scale {
        Scale::new(18, 6, 2).unwrap()
    }

    fn order(side: Side, fill_by: FillBy, base: Amount, quote: Amount) -> Order {
        let level = scale().level(side, base, quote).unwrap();
        let mut order = Order {
            sequence: 0,
            hash: Hash([0; 32]),
            client_id: None,
            account: AccountId(1),
            market: MarketId(0),
            side,
            kind: OrderKind::Limit,
            fill_by,
            base,
            quote,
            level,
            storage_id: 0,
            valid_until_s: 1,
            max_fee_bips: 1,
            created: VenueTime(0),
            updated: VenueTime(0),
            status: OrderStatus::Processing,
            base_filled: 0,
            quote_filled: 0,
            fee: 0,
            fee_in: cambist_core::venue::FeeToken::Bought,
            rest: 0,
            before: None,
            after: None,
            pool: None,
            due: None,
            fails: false,
        };
        order.rest = order.capacity(&scale(), level);
        order
    }

    const ONE: Amount = 1_000_000_000_000_000_000;

    /// R-FIL-01
    #[test]
    fn a_fill_is_at_the_makers_level_and_rounded_for_the_maker() {
        // 10^15 + 1 base at 2500.01: 2.50001 quote and a trace more.
        let base = 1_000_000_000_000_001;
        let seller = order(Side::Sell, FillBy::Sell, base, 2_500_010);
        let buyer = order(Side::Buy, FillBy::Buy, ONE, 2_600_000_000);
        let made = plan(&scale(), &buyer, &seller);
        let price = seller.level;
        assert_eq!(price.0, 250_001);
        assert_eq!(
            made,
            Plan::Fill {
                base,
                quote: 2_500_011
            },
            "the selling maker receives the next whole unit"
        );
        let mut buyer = order(Side::Buy, FillBy::Buy, base, 2_500_011);
        assert_eq!(buyer.level.0, 250_001);
        buyer.rest = base;
        let seller = order(Side::Sell, FillBy::Sell, ONE, 2_400_000_000);
        assert_eq!(
            plan(&scale(), &seller, &buyer),
            Plan::Fill {
                base,
                quote: 2_500_010
            },
            "the buying maker pays whole units only"
        );
    }

    /// R-FIL-02
    #[test]
    fn a_fill_past_the_takers_limit_shrinks_to_exact_lots() {
        let lot = 100_000_000_000_000;
        let seller = order(Side::Sell, FillBy::Sell, 3 * lot + 7, 750_004);
        assert_eq!(seller.level.0, 250_002);
        let lot = scale().exact_lot(seller.level);
        let buyer = order(Side::Buy, FillBy::Buy, ONE, 2_500_020_000);
        let base = seller.rest - seller.rest % lot;
        assert_eq!(
            plan(&scale(), &buyer, &seller),
            Plan::Fill {
                base,
                quote: scale().quote_floor(base, seller.level).unwrap()
            }
        );
        // A limit one part in a million higher pays the rounded unit.
        let buyer = order(Side::Buy, FillBy::Buy, ONE, 2_500_024_000);
        assert_eq!(
            plan(&scale(), &buyer, &seller),
            Plan::Fill {
                base: seller.rest,
                quote: scale().quote_ceil(seller.rest, seller.level).unwrap()
            }
        );
    }

    /// R-FIL-03
    #[test]
    fn a_rest_smaller_than_an_exact_lot_is_reported() {
        let mut seller = order(Side::Sell, FillBy::Sell, ONE, 2_500_010_000);
        let lot = scale().exact_lot(seller.level);
        seller.rest = lot - 1;
        let buyer = order(Side::Buy, FillBy::Buy, ONE, 2_500_010_000);
        assert_eq!(plan(&scale(), &buyer, &seller), Plan::MakerTooSmall);
        let mut buyer = buyer;
        buyer.base_filled = ONE - lot;
        assert_eq!(
            plan(&scale(), &buyer, &seller),
            Plan::MakerTooSmall,
            "a whole lot is wanted"
        );
        buyer.base_filled = ONE - (lot - 1);
        seller.rest = ONE;
        assert_eq!(plan(&scale(), &buyer, &seller), Plan::TakerTooSmall);
    }

    /// R-FIL-04
    #[test]
    fn both_amounts_can_end_an_order_of_either_side() {
        // Asks at 2000 against a limit of 2500.
        let seller = order(Side::Sell, FillBy::Sell, 10 * ONE, 20_000_000_000);
        let by_base = order(Side::Buy, FillBy::Buy, ONE, 2_500_000_000);
        let by_quote = order(Side::Buy, FillBy::Sell, ONE, 2_500_000_000);
        assert_eq!(
            plan(&scale(), &by_base, &seller),
            Plan::Fill {
                base: ONE,
                quote: 2_000_000_000
            }
        );
        assert_eq!(
            plan(&scale(), &by_quote, &seller),
            Plan::Fill {
                base: ONE + ONE / 4,
                quote: 2_500_000_000
            }
        );
        // Bids at 2500 against a limit of 2000.
        let buyer = order(Side::Buy, FillBy::Buy, 10 * ONE, 25_000_000_000);
        let by_base = order(Side::Sell, FillBy::Sell, ONE, 2_000_000_000);
        let by_quote = order(Side::Sell, FillBy::Buy, ONE, 2_000_000_000);
        assert_eq!(
            plan(&scale(), &by_base, &buyer),
            Plan::Fill {
                base: ONE,
                quote: 2_500_000_000
            }
        );
        assert_eq!(
            plan(&scale(), &by_quote, &buyer),
            Plan::Fill {
                base: ONE * 4 / 5,
                quote: 2_000_000_000
            }
        );
    }

    /// R-FIL-04
    #[test]
    fn a_seller_by_quote_amount_gets_the_last_unit() {
        // 2500.03: 1 unit of quote is 39,999.52 · 10^4 base; the exact quotient is not whole.
        let buyer = order(Side::Buy, FillBy::Buy, 10 * ONE, 25_000_300_000);
        let seller = order(Side::Sell, FillBy::Buy, ONE, 2_000_000_001);
        let Plan::Fill { base, quote } = plan(&scale(), &seller, &buyer) else {
            panic!("no fill");
        };
        assert_eq!(quote, 2_000_000_001);
        assert!(scale().quote_floor(base - 1, buyer.level).unwrap() < quote);
    }
}
