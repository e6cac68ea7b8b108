//! Order of matching, prices, fees and remainders.

use cambist_core::order::FillBy;
use cambist_core::venue::FeeToken;
use cambist_core::{Hash, OrderKind, OrderStatus, Reason, Side};

use crate::Operator;
use crate::testing::*;

fn makers(trades: &[crate::Trade]) -> Vec<Hash> {
    trades.iter().map(|trade| trade.maker).collect()
}

/// R-MAT-01, R-FIL-05
#[test]
fn better_prices_first_then_older_orders() {
    let mut world = World::new();
    let (late_best, _) = {
        world.place(BOB, Side::Sell, 250_020, ONE);
        world.place(CAROL, Side::Sell, 250_010, ONE)
    };
    let (second, _) = world.place(BOB, Side::Sell, 250_010, ONE);
    let (_, made) = world.place(ALICE, Side::Buy, 250_030, 2 * ONE);
    assert_eq!(makers(&made.trades), [late_best, second]);
    assert_eq!(made.status, OrderStatus::Processed);
    assert!(made.trades.iter().all(|trade| trade.price.0 == 250_010));
    assert!(
        made.trades
            .iter()
            .all(|trade| trade.quote == 2_500_100_000 && trade.base == ONE)
    );
}

/// R-MAT-02
#[test]
fn a_partly_filled_order_keeps_its_place() {
    let mut world = World::new();
    let (first, _) = world.place(BOB, Side::Sell, 250_010, 2 * ONE);
    let (second, _) = world.place(CAROL, Side::Sell, 250_010, ONE);
    world.place(ALICE, Side::Buy, 250_010, ONE);
    let (_, made) = world.place(ALICE, Side::Buy, 250_010, 2 * ONE);
    assert_eq!(makers(&made.trades), [first, second]);
}

/// R-MAT-03
#[test]
fn the_rest_of_a_taker_only_order_is_cancelled() {
    let mut world = World::new();
    let mut order = world.order(ALICE, Side::Buy, 250_010, 3 * ONE);
    order.kind = OrderKind::TakerOnly;
    let made = world.submit(&order);
    assert_eq!(
        (made.status, made.trades.len()),
        (OrderStatus::Cancelled, 0)
    );
    world.place(BOB, Side::Sell, 250_010, ONE);
    let mut order = world.order(ALICE, Side::Buy, 250_010, 3 * ONE);
    order.kind = OrderKind::TakerOnly;
    let made = world.submit(&order);
    assert_eq!(
        (made.status, made.trades.len()),
        (OrderStatus::Cancelled, 1)
    );
    assert_eq!(world.view(ALICE, order.hash).base_filled, ONE);
    assert!(world.depth(0, None).bids.is_empty());
    assert_eq!(world.held(ALICE, QUOTE).1, 0, "nothing stays locked");
    world.place(BOB, Side::Sell, 250_010, ONE);
    let mut order = world.order(ALICE, Side::Buy, 250_010, ONE);
    order.kind = OrderKind::TakerOnly;
    assert_eq!(world.submit(&order).status, OrderStatus::Processed);
}

/// R-MAT-04
#[test]
fn an_incoming_order_stops_at_an_order_of_its_owner() {
    let mut world = World::new();
    world.place(BOB, Side::Sell, 250_010, ONE);
    let (own, _) = world.place(ALICE, Side::Sell, 250_020, ONE);
    world.place(CAROL, Side::Sell, 250_030, ONE);
    let (hash, made) = world.place(ALICE, Side::Buy, 250_030, 3 * ONE);
    assert_eq!(
        (made.status, made.trades.len()),
        (OrderStatus::Cancelled, 1)
    );
    assert_eq!(world.view(ALICE, hash).base_filled, ONE);
    assert_eq!(world.status(ALICE, own), OrderStatus::Processing);
    assert_eq!(world.depth(0, None).asks.len(), 2);
}

/// R-MAT-05
#[test]
fn a_locked_book_trades_and_never_stays_crossed() {
    let mut world = World::new();
    world.place(BOB, Side::Buy, 250_010, ONE);
    let (_, made) = world.place(ALICE, Side::Sell, 250_010, 2 * ONE);
    assert_eq!(
        (made.status, made.trades.len()),
        (OrderStatus::Processing, 1)
    );
    let depth = world.depth(0, None);
    assert!(depth.bids.is_empty());
    assert_eq!(depth.asks[0].size, ONE);
}

/// R-FIL-06
#[test]
fn a_rest_below_dust_counts_as_filled() {
    // Dust is 0.0001 base or 0.1 quote; at 2,500.00 that is 0.00004 base: the base dust is larger.
    for (rest, status) in [
        (ONE / 10_000 - 1, OrderStatus::Processed),
        (ONE / 10_000, OrderStatus::Processing),
    ] {
        let mut world = World::new();
        let (maker, _) = world.place(BOB, Side::Sell, 250_000, ONE + rest);
        world.place(ALICE, Side::Buy, 250_000, ONE);
        assert_eq!(world.status(BOB, maker), status);
        let mut world = World::new();
        world.place(BOB, Side::Sell, 250_000, ONE);
        let (_, made) = world.place(ALICE, Side::Buy, 250_000, ONE + rest);
        assert_eq!(made.status, status, "the taker's rest too");
        let mut world = World::new();
        world.place(BOB, Side::Sell, 250_000, ONE);
        let mut order = world.order(ALICE, Side::Buy, 250_000, ONE + rest);
        order.kind = OrderKind::TakerOnly;
        let dead = match status {
            OrderStatus::Processed => OrderStatus::Processed,
            _ => OrderStatus::Cancelled,
        };
        assert_eq!(world.submit(&order).status, dead);
    }
    // At 10.00 the quote dust is larger: 0.1 quote is 0.01 base.
    for (rest, status) in [
        (ONE / 100 - 1, OrderStatus::Processed),
        (ONE / 100, OrderStatus::Processing),
    ] {
        let mut world = World::new();
        let (maker, _) = world.place(BOB, Side::Sell, 1_000, ONE + rest);
        world.place(ALICE, Side::Buy, 1_000, ONE);
        assert_eq!(world.status(BOB, maker), status);
        assert_eq!(world.held(BOB, BASE).1 == 0, status.is_final());
    }
}

/// R-FIL-07
#[test]
fn a_resting_rest_that_cannot_be_priced_for_an_exact_taker_closes() {
    let mut config = config();
    for token in &mut config.tokens {
        token.spec.dust = 0;
    }
    let mut world = World::with(config);
    // 2,500.01 prices multiples of 0.0001 exactly; half of that remains of the ask.
    let half = ONE / 20_000;
    let (maker, _) = world.place(BOB, Side::Sell, 250_001, ONE + half);
    let (next, _) = world.place(CAROL, Side::Sell, 250_001, ONE);
    world.place(ALICE, Side::Buy, 250_001, ONE);
    assert_eq!(world.status(BOB, maker), OrderStatus::Processing);
    let (_, made) = world.place(ALICE, Side::Buy, 250_001, ONE);
    assert_eq!(makers(&made.trades), [next]);
    assert_eq!(world.status(BOB, maker), OrderStatus::Processed);
    // A taker who pays the rounded unit trades it.
    let (maker, _) = world.place(BOB, Side::Sell, 250_001, ONE + half);
    world.place(ALICE, Side::Buy, 250_001, ONE);
    let (_, made) = world.place(ALICE, Side::Buy, 250_010, ONE);
    assert_eq!(makers(&made.trades), [maker]);
    assert_eq!(made.trades[0].base, half);
    assert_eq!(made.trades[0].quote, 125_001, "125,000.5 rounded up");
}

/// R-FIL-07
#[test]
fn an_incoming_rest_that_cannot_be_priced_ends_the_order() {
    let mut config = config();
    for token in &mut config.tokens {
        token.spec.dust = 0;
    }
    let mut world = World::with(config);
    let half = ONE / 20_000;
    world.place(BOB, Side::Sell, 250_001, ONE);
    world.place(CAROL, Side::Sell, 250_001, ONE);
    // One rounded unit is within its limit for the whole order, but not for the half lot alone.
    let (_, made) = world.place(ALICE, Side::Buy, 250_001, ONE + half);
    assert_eq!(made.status, OrderStatus::Processed);
    assert_eq!(made.trades.len(), 1);
    assert_eq!(made.trades[0].base, ONE);
    assert_eq!(world.held(ALICE, QUOTE).1, 0);
}

/// R-FIL-04
#[test]
fn a_bid_by_quote_amount_buys_more_at_a_better_price() {
    let mut world = World::new();
    world.place(BOB, Side::Sell, 200_000, 10 * ONE);
    let mut order = world.order(ALICE, Side::Buy, 250_000, ONE);
    order.fill_by = FillBy::Sell;
    let made = world.submit(&order);
    assert_eq!(made.status, OrderStatus::Processed);
    assert_eq!(made.trades[0].base, ONE + ONE / 4);
    let mut order = world.order(ALICE, Side::Buy, 250_000, ONE);
    order.fill_by = FillBy::Buy;
    assert_eq!(world.submit(&order).trades[0].base, ONE);
}

/// R-FIL-04
#[test]
fn resting_orders_by_either_amount_offer_what_their_amount_allows() {
    let mut world = World::new();
    let mut by_quote = world.order(BOB, Side::Sell, 250_000, ONE);
    by_quote.fill_by = FillBy::Buy;
    // Off the tick: the level is 2,500.01, where the quote amount needs a little less base.
    by_quote.buy_amount += 1;
    world.submit(&by_quote);
    let depth = world.depth(0, None);
    assert_eq!(depth.asks[0].price.0, 250_001);
    assert!(depth.asks[0].size < ONE);
    let (_, made) = world.place(ALICE, Side::Buy, 250_100, 2 * ONE);
    assert_eq!(world.status(BOB, by_quote.hash), OrderStatus::Processed);
    assert_eq!(made.trades[0].quote, by_quote.buy_amount);
    assert_eq!(world.held(BOB, BASE).1, 0, "the rest is free");
}

/// R-FEE-01, R-FEE-03
#[test]
fn fees_are_floored_in_the_bought_token_and_collected() {
    let mut world = World::new();
    let odd = ONE + 9_999;
    world.place(BOB, Side::Sell, 250_000, odd);
    let (hash, made) = world.place(ALICE, Side::Buy, 250_000, odd);
    let trade = &made.trades[0];
    assert_eq!(trade.taker_fee, odd * 10 / 10_000, "base, floor");
    assert_eq!(trade.maker_fee, trade.quote * 2 / 10_000, "quote, floor");
    assert_eq!(world.held(FEES, BASE), (trade.taker_fee, 0));
    assert_eq!(world.held(FEES, QUOTE), (trade.maker_fee, 0));
    assert_eq!(
        world.held(ALICE, BASE).0,
        1_000 * ONE + odd - trade.taker_fee
    );
    assert_eq!(world.view(ALICE, hash).fee, trade.taker_fee);
    assert_eq!(world.view(ALICE, hash).base_filled, odd, "before the fee");
}

/// Where fees are taken in the quote token, a purchase pays its own on top of its price, and locks the highest that it
/// stated until it is filled.
#[test]
fn fees_in_the_quote_token_come_on_top_of_a_purchase() {
    let mut config = config();
    config.markets[0].fee_in = FeeToken::Quote;
    let mut world = World::with(config);
    let odd = ONE + 9_999;
    let (bid, _) = world.place(ALICE, Side::Buy, 250_000, odd);
    let price = world.view(ALICE, bid).quote_amount;
    let locked = price + (price * 63).div_ceil(10_000);
    assert_eq!(world.held(ALICE, QUOTE).1, locked);
    let (_, made) = world.place(BOB, Side::Sell, 250_000, odd);
    let trade = &made.trades[0];
    assert_eq!(trade.maker_fee, trade.quote * 2 / 10_000);
    assert_eq!(trade.taker_fee, trade.quote * 10 / 10_000);
    assert_eq!(world.held(FEES, QUOTE).0, trade.maker_fee + trade.taker_fee);
    assert_eq!(world.held(FEES, BASE).0, 0);
    let paid = trade.quote + trade.maker_fee;
    let quote = world.held(ALICE, QUOTE);
    assert_eq!(quote, (1_000_000 * UNIT - paid, 0));
    assert_eq!(world.held(ALICE, BASE).0, 1_000 * ONE + odd);
    // A purchase that leaves nothing for its fee is refused.
    let whole = world.order(CAROL, Side::Buy, 250_000, 400 * ONE);
    assert_eq!(world.submit_refused(&whole), Reason::InsufficientBalance);
}

/// R-FEE-02
#[test]
fn no_order_pays_more_than_it_signed() {
    let mut world = World::new();
    let mut order = world.order(BOB, Side::Sell, 250_000, ONE);
    order.max_fee_bips = 10;
    world.submit(&order);
    world.operate(Operator::SetFees {
        market: "AAA-QQQ".to_owned(),
        maker_fee_bips: 40,
        taker_fee_bips: 50,
    });
    let (_, made) = world.place(ALICE, Side::Buy, 250_000, ONE);
    assert_eq!(made.trades[0].maker_fee, 2_500 * UNIT * 10 / 10_000);
    assert_eq!(made.trades[0].taker_fee, ONE * 50 / 10_000);
}
