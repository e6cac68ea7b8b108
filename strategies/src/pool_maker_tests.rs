//! Rounds of fills and hedges at the prices that were read, the bounds of what is unhedged, and what waits.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Side::{Buy, Sell};
use cambist_core::swap::{cost_of, least, paid_for};

use super::*;
use crate::testing::{Random, Sample, Scene, market, own, pool, text};

/// Samples for the tests of the registry: at its target, and with something to hedge.
pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        table: "base_target = 11\nopen_amount_max = 2\norder_amount = 0.2\norder_levels = 2\nprofit_min_bps = 5\n\
                fee_bps = 0\nhedge_slippage_bps = 10\nunwind_bps = 100\norder_refresh_tolerance_bps = 3\n",
        changes: &[
            ("base_target", "11.5"),
            ("open_amount_max", "0.2"),
            ("order_amount", "0.1"),
            ("order_levels", "1"),
            ("profit_min_bps", "500"),
            ("fee_bps", "10"),
            ("order_refresh_tolerance_bps", "50"),
        ],
        reasons: &["no_fair_price", "strategy_skew"],
    },
    Sample {
        table: "base_target = 10.8\nopen_amount_max = 2\norder_amount = 0.2\nhedge_slippage_bps = 10\nunwind_bps = 100\n",
        changes: &[("hedge_slippage_bps", "20"), ("unwind_bps", "20")],
        reasons: &["no_fair_price", "strategy_skew"],
    },
];

const ETH: u128 = 10u128.pow(18);

fn strategy(table: &str) -> PoolMaker {
    let params = Params::read(INFO.parameters, &table.parse().unwrap()).unwrap();
    PoolMaker::new(&params, &market()).unwrap()
}

const USUAL: &str = "base_target = 11\nopen_amount_max = 1\norder_amount = 0.5\norder_levels = 1\n\
                     order_refresh_tolerance_bps = 0\n";

fn usual() -> PoolMaker {
    strategy(USUAL)
}

/// 11 ETH and 26,000 USDC, a wide book around 2,500, and a pool at that price.
fn scene() -> Scene {
    let mut scene = Scene::new(240_000, 260_000, 11, 26_000);
    scene.pool = Some(pool(0));
    scene
}

#[test]
fn quotes_are_as_far_from_the_price_of_the_pool_as_their_hedge_costs() {
    // 50 bps by which half an ETH moves a pool of a hundred, 20 of its fee, 10 of the venue's, 5 of profit: 85.
    let targets = scene().decide(&mut usual());
    assert_eq!(
        text(&targets),
        "buy 247886 x 5000 @0\nsell 252142 x 5000 @0\n"
    );
    assert_eq!(targets.wanted_swap(), None, "nothing is open");
    // Further levels are behind the nearer ones, and a fee of makers counts.
    let levels = strategy(&USUAL.replace("order_levels = 1", "order_levels = 2"));
    let two = text(&scene().decide(&mut levels.clone()));
    assert!(two.contains("buy 245432 x 5000 @1\nsell"), "{two}");
    let fee = strategy(&format!("{USUAL}fee_bps = 10\n"));
    let quotes = scene().decide(&mut fee.clone());
    let quotes = quotes.quotes();
    assert!(quotes[0].price.0 < 247_886 && quotes[1].price.0 > 252_142 + 240);
    // Nothing crosses the book, wherever the pool is.
    let mut dear = scene();
    dear.pool.as_mut().unwrap().quote *= 2;
    assert!(text(&dear.decide(&mut usual())).starts_with("buy 259999 x"));
}

/// Fills of both sides in any parts, nearest first, each hedged by itself at the balances that the earlier hedges left:
/// no round earns less than nothing.
#[test]
fn no_round_of_fills_and_hedges_loses_at_the_prices_that_were_read() {
    let mut rounds = 0;
    for seed in 0..2_000 {
        let mut random = Random(seed);
        let mut scene = scene();
        scene.bids.clear();
        scene.asks.clear();
        scene.holdings.quote *= 1_000;
        scene.holdings.base *= 10;
        let part = [1, 3, 20][usize::try_from(seed % 3).unwrap()];
        let beside = scene.pool.as_mut().unwrap();
        beside.base = beside.base / part + u128::from(random.below(1_000_000_007));
        beside.quote = beside.quote / part * u128::from(50 + random.below(100)) / 100;
        beside.swap.fee_bips = u16::try_from(random.below(120)).unwrap();
        beside.swap.taker_fee_bips = u16::try_from(random.below(60)).unwrap();
        beside.swap.value_max *= 1_000;
        let fee = random.below(30);
        let mut maker = strategy(&format!(
            "base_target = 110\nopen_amount_max = 3\norder_amount = 0.{}\norder_levels = {}\nprofit_min_bps = 1\n\
             fee_bps = {fee}\norder_refresh_tolerance_bps = 0",
            1 + random.below(9),
            1 + random.below(3),
        ));
        let targets = scene.decide(&mut maker);
        let fee_of = |bought: u128, bips: u128| (bought * bips).div_ceil(10_000);
        for side in [Buy, Sell] {
            let mut beside = scene.pool.unwrap();
            let (taker, bips) = (u128::from(beside.swap.taker_fee_bips), beside.swap.fee_bips);
            let mut quote: i128 = 0;
            for level in targets.quotes().iter().filter(|quote| quote.side == side) {
                let mut left = level.qty.0;
                while left > 0 {
                    let lots = (1 + random.below(left)).max(left.min(50));
                    left -= lots;
                    let base = scene.market.base_amount(Qty(lots)).unwrap();
                    let traded = scene.market.quote_amount(level.price, Qty(lots)).unwrap();
                    match side {
                        Buy => {
                            let sold = base - fee_of(base, fee.into());
                            let paid = paid_for(sold, beside.base, beside.quote, bips).unwrap();
                            beside.base += sold;
                            beside.quote -= paid;
                            quote += (paid - fee_of(paid, taker)).cast_signed();
                            quote -= traded.cast_signed();
                        }
                        Sell => {
                            let bought = (base * 10_000).div_ceil(10_000 - taker);
                            let sold = cost_of(bought, beside.quote, beside.base, bips).unwrap();
                            let paid = paid_for(sold, beside.quote, beside.base, bips).unwrap();
                            assert!(paid - fee_of(paid, taker) >= base);
                            beside.quote += sold;
                            beside.base -= paid;
                            quote += (traded - fee_of(traded, fee.into())).cast_signed();
                            quote -= sold.cast_signed();
                        }
                    }
                }
                rounds += 1;
                assert!(quote >= 0, "{seed} {side:?}: {quote}");
            }
        }
    }
    assert!(rounds > 4_000, "{rounds}");
}

#[test]
fn what_is_unhedged_is_read_from_what_is_held_and_swapped_back() {
    let swap = |base: u128, unknown| {
        let mut scene = scene();
        scene.holdings.base = base;
        scene.unknown = unknown;
        let table = format!("{USUAL}unwind_bps = 400\n");
        scene.decide(&mut strategy(&table)).wanted_swap()
    };
    let half = ETH / 2;
    let beside = pool(0);
    let sold = swap(11 * ETH + half, [0; 2]).unwrap();
    let paid = paid_for(half, beside.base, beside.quote, 20).unwrap();
    assert_eq!((sold.side, sold.sell), (Sell, half));
    assert_eq!(sold.least, least(paid, 10).unwrap());
    let bought = swap(11 * ETH - half, [0; 2]).unwrap();
    assert_eq!(bought.side, Buy);
    let paid = paid_for(bought.sell, beside.quote, beside.base, 20).unwrap();
    let net = paid - paid.div_ceil(1_000);
    assert!(net >= half && net < half + ETH / 1_000_000, "{net}");
    // What an order of unknown state may have closed already is not closed again.
    assert_eq!(swap(11 * ETH + half, [0, half]), None);
    assert_eq!(
        swap(11 * ETH + half, [0, half / 5]).unwrap().sell,
        half / 5 * 4
    );
    assert_eq!(swap(11 * ETH - half, [half, 0]), None);
    // Below a lot there is nothing to hedge.
    assert_eq!(swap(11 * ETH + ETH / 10_000 - 1, [0; 2]), None);
    assert!(swap(11 * ETH + ETH / 10_000, [0; 2]).is_some());
    // Twice what may be open is still closed; more is left alone.
    assert!(swap(13 * ETH, [0; 2]).is_some());
    assert_eq!(swap(13 * ETH + 1, [0; 2]), None);
    let mut far = scene();
    far.holdings.base = 13 * ETH + 1;
    let targets = far.decide(&mut usual());
    let why = targets.withheld(Buy).unwrap();
    assert!(targets.quotes().is_empty());
    assert_eq!(
        (why.control, why.value, why.limit),
        (
            Control::StrategySkew,
            Some((2 * ETH + 1).cast_signed()),
            Some((2 * ETH).cast_signed())
        )
    );
}

#[test]
fn a_hedge_is_within_the_value_of_a_swap_and_near_the_mid() {
    let mut limited = scene();
    limited.holdings.base = 12 * ETH;
    limited.pool.as_mut().unwrap().swap.value_max = 1_000 * 1_000_000;
    let swap = limited.decide(&mut usual()).wanted_swap().unwrap();
    assert!(swap.sell < ETH * 4 / 10 && swap.sell > ETH * 39 / 100);
    // 20 bps of the pool's fee and 99 of its price for one ETH: 119 from the mid, rounded up.
    let decide = |unwind: u32, base: u128| {
        let mut scene = scene();
        scene.holdings.base = base;
        let table = format!("{USUAL}unwind_bps = {unwind}\n");
        scene.decide(&mut strategy(&table))
    };
    for (base, side, made) in [(12 * ETH, Sell, Buy), (10 * ETH, Buy, Sell)] {
        let away = (1..300).find(|bps| decide(*bps, base).wanted_swap().is_some());
        let away = away.unwrap();
        assert!((118..=124).contains(&away), "{side:?} {away}");
        let targets = decide(away - 1, base);
        assert_eq!(targets.wanted_swap(), None);
        // Nothing is added to what waits; the other side quotes.
        let why = targets.withheld(made).unwrap();
        assert_eq!(why.control, Control::StrategyPrice, "{why:?}");
        assert_eq!(why.limit, Some(i128::from(away) - 1));
        assert!(targets.quotes().iter().all(|quote| quote.side == side));
        assert_eq!(targets.quotes().len(), 1);
        // At the limit itself, the limit is what is signed.
        let swap = decide(away, base).wanted_swap().unwrap();
        let beside = pool(0);
        let (sold, bought) = match side {
            Sell => (beside.base, beside.quote),
            Buy => (beside.quote, beside.base),
        };
        let paid = paid_for(swap.sell, sold, bought, 20).unwrap();
        assert!(swap.least <= paid && swap.least > least(paid, 10).unwrap());
    }
}

#[test]
fn while_a_swap_is_undecided_nothing_is_swapped_and_nothing_new_is_quoted() {
    let mut busy = scene();
    busy.holdings.base += ETH / 2;
    busy.pool.as_mut().unwrap().swap.possible = false;
    let targets = busy.decide(&mut usual());
    assert_eq!(text(&targets), "");
    for side in Side::BOTH {
        let why = targets.withheld(side).unwrap();
        assert_eq!(why.control, Control::SwapUndecided);
    }
    // What rests stays, at any price; what is being cancelled or replaced does not.
    let mut resting = busy.with_own(Buy, 240_000, 4_000);
    assert_eq!(
        text(&resting.decide(&mut usual())),
        "buy 240000 x 4000 @0\n"
    );
    resting.own[0].expiring = true;
    assert_eq!(text(&resting.decide(&mut usual())), "");
    let mut stale = scene();
    stale.pool = None;
    let why = stale.decide(&mut usual()).withheld(Buy).unwrap();
    assert_eq!(why.control, Control::NoFairPrice);
}

/// In any state: what is unhedged, whatever may still fill and what is added are no more than may be open.
#[test]
fn what_may_be_unhedged_is_bounded() {
    let (mut added, mut kept) = (0, 0);
    for seed in 0..4_000 {
        let mut random = Random(seed);
        let mut scene = scene();
        scene.holdings.base = 10 * ETH + u128::from(random.below(20_000)) * (ETH / 10_000);
        scene.unknown = [0; 2].map(|_: u128| u128::from(random.below(3_000)) * (ETH / 10_000));
        scene.pool.as_mut().unwrap().swap.possible = random.chance(8);
        for number in 0..random.below(4) {
            let side = if random.chance(5) { Buy } else { Sell };
            let price = match side {
                Buy => 247_000 + random.below(1_200),
                Sell => 252_000 + random.below(1_200),
            };
            let mut order = own(number, side, price, 1 + random.below(4_000));
            order.cancelling = random.chance(2);
            order.expiring = random.chance(2);
            scene.own.push(order);
        }
        let table = USUAL.replace("bps = 0", "bps = 10");
        let mut maker = strategy(&table.replace("order_levels = 1", "order_levels = 2"));
        let targets = scene.decide(&mut maker);
        for side in Side::BOTH {
            let (made, open) = maker.open(&scene.view());
            let open = if made == side { open } else { 0 };
            let own = || scene.own.iter().filter(|order| order.side == side);
            let alive: u128 = own().map(|order| u128::from(order.remaining.0 + 1)).sum();
            let alive = alive * market().lot + scene.unknown[side as usize];
            let is_own = |quote: &&cambist_core::strategy::Quote| {
                own().any(|order| {
                    (order.price, order.remaining) == (quote.price, quote.qty)
                        && !order.cancelling
                        && !order.expiring
                })
            };
            let quotes = || targets.quotes().iter().filter(|quote| quote.side == side);
            let new: u128 = quotes()
                .filter(|quote| !is_own(quote))
                .map(|quote| u128::from(quote.qty.0) * market().lot)
                .sum();
            kept += quotes().filter(is_own).count();
            if new > 0 {
                added += 1;
                assert!(open + alive + new <= ETH, "{seed} {side:?}");
                assert!(scene.pool.unwrap().swap.possible, "{seed}");
            }
        }
    }
    assert!(added > 2_000 && kept > 300, "{added} {kept}");
}

#[test]
fn orders_stay_while_they_earn_enough_and_are_near() {
    let decide = |price, lots| {
        let scene = scene().with_own(Buy, price, lots);
        let maker = USUAL.replace("bps = 0", "bps = 10");
        let all = text(&scene.decide(&mut strategy(&maker)));
        all.lines().next().unwrap().to_owned()
    };
    // 247886 earns enough, and is the nearest that does; 20 bps further is too far.
    assert_eq!(decide(247_886, 5_000), "buy 247886 x 5000 @0");
    assert_eq!(decide(247_391, 5_000), "buy 247391 x 5000 @0");
    for price in [247_887, 247_390] {
        assert_eq!(decide(price, 4_000), "buy 247638 x 5000 @0", "{price}");
    }
    // Half of its size is enough, less is replaced.
    assert_eq!(decide(247_886, 2_500), "buy 247886 x 2500 @0");
    assert_eq!(decide(247_886, 2_499), "buy 247638 x 5000 @0");
}

#[test]
fn the_largest_open_leg_is_stated() {
    let table = "base_target = 11\nopen_amount_max = 0.60001\norder_amount = 0.6\nunwind_bps = 40\nprofit_min_bps = 4\norder_refresh_tolerance_bps = 2";
    let leg = INFO.open_leg(&table.parse().unwrap(), &market()).unwrap();
    let stated = OpenLeg {
        target: 11 * ETH,
        base: 6 * ETH / 10,
        unwind_bps: 40,
        drift_max_bps: Some(6),
    };
    assert_eq!(leg, stated);
    for bad in ["order_amount = 0", "order_amount = 0.7"] {
        let table = table.replace("order_amount = 0.6", bad).parse().unwrap();
        assert!(INFO.build_from(&table, &market()).is_err(), "{bad}");
    }
}
