//! The band with both its sides, the cheaper route against an exhaustive search, and the cap of what a trade costs.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Price;
use cambist_core::Side::{Buy, Sell};
use cambist_core::strategy::BookLevel;

use super::*;
use crate::testing::{Random, Sample, Scene, market, pool, text};

/// Samples for the tests of the registry: far from its target on both sides.
pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        table: "target_share_bps = 9000\ntolerance_bps = 100\ntrade_amount_max = 0.5\ncost_max_bps = 60\nfee_bps = 10\n",
        changes: &[
            ("target_share_bps", "1000"),
            ("trade_amount_max", "0.2"),
            ("cost_max_bps", "20"),
            ("fee_bps", "30"),
        ],
        reasons: &["no_fair_price", "not_configured"],
    },
    Sample {
        table: "target_share_bps = 5000\ntolerance_bps = 5000\ntrade_amount_max = 0.5\ncost_max_bps = 60\nfee_bps = 10\n",
        changes: &[("tolerance_bps", "1")],
        reasons: &["not_configured"],
    },
];

const ETH: u128 = 10u128.pow(18);

fn strategy(table: &str) -> Rebalance {
    let params = Params::read(INFO.parameters, &table.parse().unwrap()).unwrap();
    Rebalance::new(&params, &market()).unwrap()
}

fn usual(more: &str) -> Rebalance {
    strategy(&format!(
        "target_share_bps = 5000\ntrade_amount_max = 100\nfee_bps = 10\n{more}"
    ))
}

/// A book of one level a side, 8 bps wide.
fn holding(eth: u128, usdc: u128) -> Scene {
    Scene::new(249_900, 250_100, eth, usdc)
}

#[test]
fn nothing_is_traded_within_the_band_and_back_to_the_target_beyond_it() {
    // 10 ETH are worth 25,000.
    let decide = |usdc| text(&holding(10, usdc).decide(&mut usual("tolerance_bps = 100\n")));
    // 51 % and 49 % are the sides of the band.
    for usdc in [24_020, 25_000, 26_020] {
        assert_eq!(decide(usdc), "", "{usdc}");
    }
    // 25,000 of 48,900: half of the difference of 1,100 is 550, at 2,500.
    assert_eq!(decide(23_900), "sell 249500 x 2200 @0\n");
    assert_eq!(decide(26_100), "buy 250499 x 2200 @0\n");
}

#[test]
fn a_trade_is_no_larger_than_stated_than_held_and_than_the_book_within_the_cap() {
    let scene = holding(0, 50_000);
    let table = "target_share_bps = 10000\ntrade_amount_max = 0.3\nfee_bps = 10\n";
    assert_eq!(
        text(&scene.decide(&mut strategy(table))),
        "buy 250499 x 3000 @0\n"
    );
    let all = table.replace("0.3", "100");
    // 50,000 at the limit, which is what the order locks; the level has 1 ETH.
    assert_eq!(
        text(&scene.decide(&mut strategy(&all))),
        "buy 250499 x 10000 @0\n"
    );
    let mut deep = scene.clone();
    deep.asks[0].qty = Qty(1_000_000);
    assert_eq!(
        text(&deep.decide(&mut strategy(&all))),
        "buy 250499 x 199601 @0\n"
    );
    let mut steps = scene;
    let level = |price, qty| BookLevel {
        price: Price(price),
        qty: Qty(qty),
    };
    steps.asks = vec![
        level(250_100, 500),
        level(250_499, 700),
        level(250_500, 9_000),
    ];
    assert_eq!(
        text(&steps.decide(&mut strategy(&all))),
        "buy 250499 x 1200 @0\n"
    );
}

#[test]
fn a_trade_that_costs_more_than_the_cap_is_not_made_and_states_what_it_would_cost() {
    // 4 bps to the touch and a fee of 10.
    let wanted = |cap: u32| holding(10, 0).decide(&mut usual(&format!("cost_max_bps = {cap}\n")));
    assert_eq!(text(&wanted(15)), "sell 249875 x 10000 @0\n");
    let none = wanted(13);
    assert_eq!(text(&none), "");
    let why = none.withheld(Sell).unwrap();
    assert_eq!(why.control, Control::NoFairPrice);
    assert_eq!((why.value, why.limit), (Some(15), Some(13)));
    assert_eq!(none.withheld(Buy).unwrap().control, Control::NotConfigured);
}

/// A lot is 0.25 USDC.
#[test]
fn what_buys_no_lot_trades_nothing_and_states_no_cost() {
    let mut scene = holding(0, 0);
    scene.holdings.quote = 200_000;
    let targets = scene.decide(&mut usual(""));
    assert_eq!(text(&targets), "");
    let why = targets.withheld(Buy).unwrap();
    assert_eq!((why.control, why.value), (Control::NoFairPrice, None));
}

#[test]
fn the_cheaper_route_is_taken() {
    let mut scene = holding(10, 0);
    let mut dear = pool(0);
    // 4 % dearer than the book: selling to it is better by far.
    dear.quote += dear.quote / 25;
    scene.pool = Some(dear);
    let swap = scene.decide(&mut usual("")).wanted_swap().unwrap();
    assert_eq!(swap.side, Sell);
    assert!(swap.sell > ETH && swap.sell < 5 * ETH, "{swap:?}");
    let mut cheap = pool(0);
    cheap.quote -= cheap.quote / 25;
    scene.pool = Some(cheap);
    let targets = scene.decide(&mut usual(""));
    assert!(targets.wanted_swap().is_none() && !targets.quotes().is_empty());
    // The other way round for a purchase.
    let mut scene = holding(0, 25_000);
    scene.pool = Some(cheap);
    let swap = scene.decide(&mut usual("")).wanted_swap().unwrap();
    assert_eq!(swap.side, Buy);
    scene.pool = Some(dear);
    assert!(scene.decide(&mut usual("")).wanted_swap().is_none());
}

/// Pools and books anywhere near one another: the route that is taken costs no more than the other for as much, and what
/// is signed keeps the cap.
#[test]
fn no_other_route_costs_less_and_what_is_signed_keeps_the_cap() {
    let (mut swaps, mut orders) = (0, 0);
    for seed in 0..400 {
        let mut random = Random(seed);
        let side = if seed % 2 == 0 { Sell } else { Buy };
        let mut scene = match side {
            Sell => holding(1 + u128::from(random.below(20)), 0),
            Buy => holding(0, 1_000 + u128::from(random.below(50_000))),
        };
        for (level, price) in [(&mut scene.bids, 249_900_u64), (&mut scene.asks, 250_100)] {
            level[0].price = Price(price);
            level[0].qty = Qty(1 + random.below(20_000));
        }
        let mut beside = pool(0);
        let bps = i128::from(random.below(1_000)) - 500;
        beside.quote = (beside.quote.cast_signed() * (10_000 + bps) / 10_000).cast_unsigned();
        scene.pool = Some(beside);
        let targets = scene.decide(&mut usual("cost_max_bps = 40\n"));
        let view = scene.view();
        let costs = Costs::new(&view, side, (40, 10));
        let value = |base: u128| base * 250_000 / (100 * ETH / 1_000_000);
        if let Some(swap) = targets.wanted_swap() {
            swaps += 1;
            let fee = |bought: u128| bought.div_ceil(1_000);
            let got = swap.least - fee(swap.least);
            let (paid, got) = match side {
                Sell => (value(swap.sell), got),
                Buy => (swap.sell, value(got)),
            };
            let cost = paid.cast_signed() - got.cast_signed();
            let most = paid.cast_signed() * 41 / 10_000 + 2;
            assert!(cost <= most, "seed {seed}: {cost} of {most}");
            let base = if side == Sell { swap.sell } else { swap.least };
            let lots = Qty(view
                .market
                .lots_floor(base)
                .0
                .min(costs.book_lots(Qty(u64::MAX)).0));
            if lots.0 > 0 {
                let (pool, book) = (costs.pool_cost(lots), costs.book_cost(lots));
                assert!(pool <= book, "seed {seed}: {pool:?} {book:?}");
            }
        } else if let [quote] = targets.quotes() {
            orders += 1;
            assert_eq!(quote.side, side);
            let (pool, book) = (costs.pool_cost(quote.qty), costs.book_cost(quote.qty));
            let is_cheaper = pool.is_none_or(|pool| book.unwrap() <= pool);
            // Or the pool does not take as much, and the book is cheaper for what it takes.
            assert!(
                is_cheaper || costs.pool_lots(quote.qty) < quote.qty,
                "seed {seed}"
            );
        }
    }
    assert!(swaps > 50 && orders > 50, "{swaps} {orders}");
}

/// The cap itself is allowed: the most lots are those of which one more would cost more than it.
#[test]
fn a_swap_that_costs_exactly_the_cap_is_within_it() {
    let mut scene = holding(20, 25_000);
    scene.pool = Some(pool(0));
    let view = scene.view();
    let mut at_the_cap = 0;
    for cap in [40, 41, 45, 60] {
        let costs = Costs::new(&view, Sell, (cap, 10));
        let bps = |lots| {
            let cost = costs.pool_cost(Qty(lots)).unwrap();
            costs.bps(cost, Qty(lots)).unwrap()
        };
        let most = (1..=20_000)
            .take_while(|lots| bps(*lots) <= cap.into())
            .last();
        let most = most.unwrap_or(0);
        assert_eq!(costs.pool_lots(Qty(20_000)), Qty(most), "{cap}");
        at_the_cap += u32::from(most > 0 && bps(most) == cap.into());
    }
    assert!(at_the_cap > 0);
}

#[test]
fn nothing_is_begun_while_something_is_undecided() {
    let mut scene = holding(10, 0);
    scene.unknown = [0, 1];
    let unknown = scene.decide(&mut usual(""));
    assert_eq!(text(&unknown), "");
    assert_eq!(
        unknown.withheld(Sell).unwrap().control,
        Control::UnknownOrder
    );
    scene.unknown = [0; 2];
    let mut moving = pool(0);
    (moving.moving, moving.swap.possible) = (true, false);
    scene.pool = Some(moving);
    let moving = scene.decide(&mut usual(""));
    assert_eq!(text(&moving), "");
    assert_eq!(
        moving.withheld(Sell).unwrap().control,
        Control::SwapUndecided
    );
}

#[test]
fn an_order_that_rests_is_kept_while_it_fits_and_one_of_another_plan_goes_first() {
    let scene = holding(10, 0);
    let rests = scene.clone().with_own(Sell, 249_500, 4_000);
    assert_eq!(
        text(&rests.decide(&mut usual(""))),
        "sell 249500 x 4000 @0\n"
    );
    let other = scene.clone().with_own(Buy, 249_000, 4_000);
    assert_eq!(text(&other.decide(&mut usual(""))), "", "it is cancelled");
    let mut dear = pool(0);
    dear.quote += dear.quote / 25;
    let mut swapping = scene.with_own(Sell, 249_500, 4_000);
    swapping.pool = Some(dear);
    assert_eq!(
        text(&swapping.decide(&mut usual(""))),
        "",
        "before the swap"
    );
}

#[test]
fn parameters_that_trade_nothing_are_refused() {
    let read = |table: &str| {
        let params = Params::read(INFO.parameters, &table.parse().unwrap())?;
        Rebalance::new(&params, &market())
    };
    let table = "target_share_bps = 0\ntrade_amount_max = 0.0001\nfee_bps = 0\n";
    assert!(read(table).is_ok());
    for (from, to) in [
        ("0.0001", "0.00009"),
        ("target_share_bps = 0", "target_share_bps = 10001"),
        ("fee_bps = 0", "fee_bps = 1001"),
        ("fee_bps = 0\n", ""),
    ] {
        assert!(read(&table.replace(from, to)).is_err(), "{to}");
    }
    assert_eq!(band(&table.parse().unwrap()), Some((0, 200)));
    assert_eq!(band(&"fee_bps = 1".parse().unwrap()), None);
}
