//! Random histories of both interfaces.

use cambist_core::venue::FeeToken;
use cambist_core::{Amount, Price, Side};

use super::{Traders, batch, limit, posted};
use crate::testing::{ALICE, BOB, ONE, World, config};
use crate::{
    AccountId, ExchangeMode, KrakenAction, KrakenAmend, KrakenError, KrakenOrderType, KrakenReply,
    KrakenRules, NewKrakenOrder, Operator, OrderRef, Random,
};

/// Inputs of a log of before are executed by the rules of before.
#[test]
fn the_first_rules_are_what_they_were() {
    let mut traders = Traders::new();
    traders.world.venue.set_kraken_rules(KrakenRules::First);
    // A batch is refused order by order.
    let small = NewKrakenOrder {
        volume: ONE / 1_000,
        ..limit(Side::Buy, 9_000, 10)
    };
    let orders = vec![limit(Side::Buy, 9_000, 20), small];
    assert_eq!(
        batch(&mut traders, orders, false),
        Ok(vec![Ok(()), Err(KrakenError::BelowCostMinimum)])
    );
    let number = traders
        .world
        .venue
        .kraken_orders(ALICE)
        .next()
        .unwrap()
        .number;
    // Checks of a batch do not see each other.
    let large = NewKrakenOrder {
        volume: 60 * ONE,
        ..limit(Side::Buy, 1_000_000, 0)
    };
    assert_eq!(
        batch(&mut traders, vec![large; 2], true),
        Ok(vec![Ok(()), Ok(())])
    );
    // Orders that would not take are accepted in post-only mode, smaller volumes in every mode.
    traders
        .world
        .operate(Operator::SetMode(ExchangeMode::PostOnly));
    let other = traders.add(ALICE, limit(Side::Buy, 9_000, 10)).unwrap();
    traders
        .world
        .operate(Operator::SetMode(ExchangeMode::Halted));
    traders.amend(number, Some(ONE), None).unwrap();
    traders.world.operate(Operator::SetMode(ExchangeMode::Open));
    // The `post_only` of an amend stays, and the order before it takes a place in the history.
    posted(&mut traders, number, 9_100).unwrap();
    traders.world.place(BOB, Side::Sell, 9_200, ONE);
    assert_eq!(
        traders.amend(number, None, Some(9_200)),
        Err(KrakenError::WouldTake)
    );
    for ticks in 9_001..9_031 {
        traders.amend(other, None, Some(ticks)).unwrap();
    }
    assert!(traders.world.venue.kraken_order(ALICE, number).is_some());
    let first: Vec<_> = traders
        .world
        .venue
        .account(ALICE)
        .unwrap()
        .orders
        .keys()
        .collect();
    assert_eq!(first.len(), 30 + 2, "30 of them hidden");
    // A volume that is filled already is refused.
    traders.add(BOB, limit(Side::Sell, 9_100, 5)).unwrap();
    assert_eq!(
        traders.amend(number, Some(ONE / 2), None),
        Err(KrakenError::InvalidVolume)
    );
    // An amend counts as one more open order.
    for _ in 2..40 {
        traders.add(ALICE, limit(Side::Buy, 8_000, 1)).unwrap();
    }
    assert_eq!(
        traders.amend(number, None, Some(9_050)),
        Err(KrakenError::TooManyOrders)
    );
}

/// Random requests of two traders of this interface and one of the first: after each the books and the ledgers add up.
#[test]
fn every_history_balances() {
    let (mut trades, mut amends) = (0, 0);
    for seed in 1..=20 {
        let mut traders = Traders::new();
        let mut config = config();
        config.limits.history_orders_max = 200;
        traders.world = World::with(config);
        let mut random = Random::new(seed);
        let mut numbers: Vec<u64> = Vec::new();
        for _ in 0..300 {
            let mut below = |limit: u64| random.below(limit);
            let account = [ALICE, BOB][usize::from(below(2) == 1)];
            let side = [Side::Buy, Side::Sell][usize::from(below(2) == 1)];
            let (ticks, tenths) = (9_990 + below(20), u128::from(1 + below(40)));
            let kind = below(10);
            let back = usize::try_from(1 + below(6)).unwrap();
            let picked = numbers.len().checked_sub(back).map(|at| numbers[at]);
            let action = match (kind, picked) {
                (0, Some(number)) => KrakenAction::Cancel(vec![OrderRef::Number(number)]),
                (1..=3, Some(number)) => KrakenAction::Amend(Box::new(KrakenAmend {
                    order: OrderRef::Number(number),
                    volume: (below(2) == 1).then_some(tenths * ONE / 10),
                    price: (below(2) == 1).then_some(Price(ticks)),
                    post_only: below(2) == 1,
                    deadline: None,
                    left_in_lots: false,
                })),
                (4, _) => {
                    traders
                        .world
                        .place(AccountId(12), side, ticks, ONE + Amount::from(below(9)));
                    KrakenAction::Read
                }
                _ => {
                    let order = limit(side, ticks, tenths);
                    let fee_in = [FeeToken::Quote, FeeToken::Bought][usize::from(below(2) == 1)];
                    let order_type = match below(4) {
                        0 => KrakenOrderType::Market,
                        1 => KrakenOrderType::ImmediateOrCancel(Price(ticks)),
                        2 => KrakenOrderType::PostOnly(Price(ticks)),
                        _ => KrakenOrderType::Limit(Price(ticks)),
                    };
                    KrakenAction::Add {
                        orders: vec![NewKrakenOrder {
                            order_type,
                            fee_in,
                            ..order
                        }],
                        deadline: None,
                        validate: false,
                    }
                }
            };
            let reply = traders.call(account, action);
            trades += reply.trades().count();
            match reply {
                KrakenReply::Added(added) => {
                    numbers.extend(added.iter().flatten().filter_map(|order| order.number));
                }
                KrakenReply::Amended(_) => amends += 1,
                _ => {}
            }
            for account in [ALICE, BOB] {
                for order in traders.world.venue.kraken_orders(account) {
                    assert!(order.base_filled <= order.volume, "{order:?}");
                }
            }
        }
    }
    assert!(
        trades > 1_000 && amends > 100,
        "{trades} trades, {amends} amends"
    );
}
