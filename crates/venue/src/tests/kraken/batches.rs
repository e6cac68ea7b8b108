//! Batches of orders.

use cambist_core::{Price, Side};

use super::{Traders, batch, limit, of_type};
use crate::testing::{ALICE, BOB, ONE, QUOTE, config};
use crate::{KrakenError, KrakenOrderType, NewKrakenOrder};

#[test]
fn a_batch_is_checked_as_a_whole() {
    let named = |name: &str, order| NewKrakenOrder {
        client_id: Some(name.to_owned()),
        ..order
    };
    let good = || limit(Side::Buy, 9_000, 10);
    for validate in [false, true] {
        let mut traders = Traders::new();
        let (offer, _) = traders.world.place(BOB, Side::Sell, 10_000, ONE);
        // What is wrong with one order refuses all, also behind one that is refused alone.
        for (wrong, error) in [
            (
                NewKrakenOrder {
                    volume: ONE / 1_000,
                    ..good()
                },
                KrakenError::BelowCostMinimum,
            ),
            (limit(Side::Buy, 0, 10), KrakenError::InvalidPrice),
            (named("a", good()), KrakenError::DuplicateClientId),
        ] {
            let poor = NewKrakenOrder {
                volume: 100 * ONE,
                ..limit(Side::Buy, 1_000_000, 0)
            };
            let orders = vec![named("a", good()), poor, wrong];
            assert_eq!(batch(&mut traders, orders, validate), Err(error));
        }
        assert_eq!(traders.world.held(ALICE, QUOTE).1, 0);
        // What depends on the book or the funds refuses that order.
        let taking = of_type(good(), KrakenOrderType::PostOnly(Price(10_000)));
        let nothing_bid = of_type(limit(Side::Sell, 0, 10), KrakenOrderType::Market);
        assert_eq!(
            batch(&mut traders, vec![taking, nothing_bid], validate),
            Ok(vec![
                Err(KrakenError::WouldTake),
                Err(KrakenError::NoLiquidity)
            ])
        );
        // 1,000,000 of quote: the second of two orders of 600,000 has not enough; the third has, and would take the
        // first.
        let large = |ticks| NewKrakenOrder {
            volume: 60 * ONE,
            ..limit(Side::Buy, ticks, 0)
        };
        let against = of_type(
            limit(Side::Sell, 0, 10),
            KrakenOrderType::PostOnly(Price(9_000)),
        );
        traders.world.cancel(BOB, offer).unwrap();
        let orders = vec![large(1_000_000), large(1_000_000), against];
        assert_eq!(
            batch(&mut traders, orders, validate),
            Ok(vec![
                Ok(()),
                Err(KrakenError::InsufficientFunds),
                Err(KrakenError::WouldTake)
            ]),
            "{validate}"
        );
    }
}

#[test]
fn a_checked_batch_counts_its_own_orders() {
    let mut traders = Traders::new();
    let most = config().limits.open_orders_max;
    for _ in 1..most {
        traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap();
    }
    let orders = || vec![limit(Side::Buy, 9_000, 10); 2];
    let answers = Ok(vec![Ok(()), Err(KrakenError::TooManyOrders)]);
    assert_eq!(batch(&mut traders, orders(), true), answers);
    assert_eq!(batch(&mut traders, orders(), false), answers);
}
