//! Spread, holdings and fees by hand, and against plain balances on random paths.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
use cambist_core::{MarketId, Price, Qty, Side};

use super::*;
use crate::testing::{Random, fill, market, order};

#[test]
fn a_round_trip_by_hand() {
    let market = market();
    let mut pnl = MarketPnl::new(&market);
    pnl.open(10u128.pow(18), 0);
    pnl.mid(500_000); // 2500.00
    // Buys 1 ETH at 2499, fee 0.001 ETH; the mid falls to 2490; sells 1 ETH at 2491, fee 2.491 USDC.
    pnl.fill(&fill(
        Side::Buy,
        249_900,
        10_000,
        10u128.pow(15),
        Some(500_000),
    ));
    pnl.mid(498_000);
    pnl.fill(&fill(Side::Sell, 249_100, 10_000, 2_491_000, None));
    let made = pnl.attribution().unwrap();
    assert_eq!(
        made.spread.to_string(),
        "2",
        "1 below the mid, then 1 above"
    );
    assert_eq!(made.holdings.to_string(), "-19.99", "1.999 ETH times -10");
    assert_eq!(
        made.fees.to_string(),
        "-4.991",
        "0.001 ETH at 2500 and 2.491"
    );
    assert_eq!(made.total.to_string(), "-22.981");
    assert_eq!(pnl.base(), Some(999 * 10i128.pow(15)));
}

#[test]
fn the_parts_add_up_on_every_path() {
    let mut valued = 0;
    for seed in 0..300 {
        let mut random = Random(seed);
        let market = market();
        let mut pnl = MarketPnl::new(&market);
        let opening = u128::from(random.below(1_000_000)) * 10u128.pow(13);
        // An independent account: plain balances in base units, first and last mid.
        let (mut base, mut quote) = (i128::try_from(opening).unwrap(), 0i128);
        let mut mid = None;
        let mut first_mid = None;
        pnl.open(opening, 0);
        for _ in 0..random.below(60) {
            let next = 400_000 + random.below(200_000);
            if random.below(3) == 0 {
                pnl.mid(next);
                mid = Some(next);
            } else {
                let side = if random.below(2) == 0 {
                    Side::Buy
                } else {
                    Side::Sell
                };
                let seen = (random.below(2) == 0).then_some(next);
                let fill = Fill {
                    order: order(1),
                    market: MarketId(0),
                    side,
                    base: u128::from(random.below(1 << 60)),
                    quote: u128::from(random.below(1 << 40)),
                    fee: u128::from(random.below(1 << 20)),
                    mid: seen,
                };
                let sign = if side == Side::Buy { 1 } else { -1 };
                base += sign * i128::try_from(fill.base).unwrap();
                quote -= sign * i128::try_from(fill.quote).unwrap();
                match side {
                    Side::Buy => base -= i128::try_from(fill.fee).unwrap(),
                    Side::Sell => quote -= i128::try_from(fill.fee).unwrap(),
                }
                pnl.fill(&fill);
                mid = seen.or(mid);
            }
            first_mid = first_mid.or(mid);
        }
        let made = pnl.attribution().unwrap();
        let parts = [made.spread, made.holdings, made.fees];
        let sum: i128 = parts.iter().map(|part| part.numerator).sum();
        assert_eq!(sum, made.total.numerator, "seed {seed}");
        let (Some(first), Some(last)) = (first_mid, mid) else {
            continue;
        };
        // One half tick of one base unit is 1/(2·10^14) quote unit, here times 2·10^14.
        let start = i128::try_from(opening).unwrap() * i128::from(first);
        let end = base * i128::from(last) + quote * 2 * 10i128.pow(14);
        assert_eq!(made.total.denominator, 2 * 10u64.pow(14));
        assert_eq!(made.total.numerator, end - start, "seed {seed}");
        valued += 1;
    }
    assert!(valued > 200, "only {valued} paths had a mid");
}

#[test]
fn overflow_gives_no_result() {
    let mut pnl = MarketPnl::new(&market());
    pnl.open(u128::MAX, 0);
    pnl.mid(500_000);
    assert_eq!(pnl.attribution(), None);
}

#[test]
fn fills_before_the_opening_belong_to_it() {
    let mut pnl = MarketPnl::new(&market());
    pnl.fill(&fill(Side::Buy, 249_900, 10_000, 0, Some(500_000)));
    pnl.open(5, 0);
    pnl.mid(500_000);
    assert_eq!(pnl.base(), Some(5));
    assert_eq!(pnl.attribution().unwrap().total.numerator, 0);
    let market = market();
    assert_eq!(
        market.quote_amount(Price(249_900), Qty(10_000)),
        Some(2_499_000_000)
    );
}

#[test]
fn attributions_are_added_and_subtracted_part_by_part() {
    let money = |numerator| Money {
        numerator,
        denominator: 1,
        decimals: 0,
    };
    let of = |numbers: [i128; 7]| {
        let [spread, holdings, fees, fee_income, loss, costs, total] = numbers.map(money);
        Attribution {
            spread,
            holdings,
            fees,
            pool: Some(PoolAttribution {
                fee_income,
                impermanent_loss: loss,
                move_costs: costs,
            }),
            total,
        }
    };
    let one = of([1, 20, -300, 4_000, -50_000, 600_000, 553_721]);
    let two = of([2, -10, 500, 1_000, 20_000, -100_000, -78_508]);
    let both = of([3, 10, 200, 5_000, -30_000, 500_000, 475_213]);
    assert_eq!(one.checked_add(two), Some(both));
    assert_eq!(both.since(two), Some(one));
    assert_eq!(both.sum(), Some(both.total));
    // A pool that was added since counts from then on.
    let before = Attribution { pool: None, ..two };
    assert_eq!(both.since(before).and_then(|since| since.pool), both.pool);
}
