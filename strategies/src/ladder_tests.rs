//! Golden decisions and properties of the ladder.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Side::{Buy, Sell};
use cambist_core::strategy::Quote;

use super::*;
use crate::testing::{REFERENCE_CHANGES, Random, Sample, Scene, market, own, text};

const BASE: &str = "bid_spread_bps = 20\nask_spread_bps = 20\norder_amount = 1\n";

fn ladder(more: &str) -> Ladder {
    let table = format!("{BASE}{more}").parse().unwrap();
    let params = Params::read(INFO.parameters, &table).unwrap();
    Ladder::new(&params, &market()).unwrap()
}

#[track_caller]
fn check(scene: &Scene, more: &str, expected: &str) {
    let got = text(&scene.decide(&mut ladder(more)));
    assert_eq!(got, expected, "\n{got}");
}

fn scene() -> Scene {
    Scene::new(249_900, 250_100, 10, 25_000)
}

#[test]
fn levels_spread_out_and_grow() {
    check(
        &scene(),
        "",
        "buy 249500 x 10000 @0\nsell 250500 x 10000 @0\n",
    );
    check(
        &scene(),
        "order_levels = 3\norder_level_spread_bps = 10\norder_level_amount = 0.5\n",
        "buy 249500 x 10000 @0\nbuy 249250 x 15000 @1\nbuy 249000 x 20000 @2\n\
         sell 250500 x 10000 @0\nsell 250750 x 15000 @1\nsell 251000 x 20000 @2\n",
    );
}

#[test]
fn prices_are_rounded_away_from_the_mid() {
    // Mid 2500.015: 2495.01497 down, 2505.01503 up.
    check(
        &Scene::new(250_001, 250_002, 10, 25_000),
        "",
        "buy 249501 x 10000 @0\nsell 250502 x 10000 @0\n",
    );
}

#[test]
fn levels_on_one_tick_are_one_order() {
    check(
        &Scene::new(999, 1_001, 10, 25_000),
        "order_levels = 2\norder_level_spread_bps = 1\n",
        "buy 998 x 10000 @0\nbuy 997 x 10000 @1\nsell 1002 x 10000 @0\nsell 1003 x 10000 @1\n",
    );
    check(
        &Scene::new(999, 1_001, 10, 25_000),
        "order_levels = 3\norder_level_spread_bps = 1\n",
        "buy 998 x 10000 @0\nbuy 997 x 20000 @1\nsell 1002 x 10000 @0\nsell 1003 x 20000 @1\n",
    );
}

#[test]
fn holdings_cover_the_nearest_levels_first() {
    check(
        &Scene::new(249_900, 250_100, 1, 3_000),
        "order_levels = 2\norder_level_spread_bps = 10\norder_amount = 1\n"
            .replace("order_amount = 1\n", "")
            .as_str(),
        "buy 249500 x 10000 @0\nbuy 249250 x 2026 @1\nsell 250500 x 10000 @0\n",
    );
}

#[test]
fn sizes_skew_towards_the_target() {
    let skewed = "inventory_skew_enabled = true\ninventory_range_multiplier = 2\n";
    // 10 ETH and 25000 USDC at 2500 are in balance.
    check(
        &scene(),
        skewed,
        "buy 249500 x 10000 @0\nsell 250500 x 10000 @0\n",
    );
    // 12 ETH and 20000 USDC: 2 ETH above the target's 10, half of the range of 4.
    check(
        &Scene::new(249_900, 250_100, 12, 20_000),
        skewed,
        "buy 249500 x 5000 @0\nsell 250500 x 15000 @0\n",
    );
    // Far too much base: only asks, of twice the size.
    check(
        &Scene::new(249_900, 250_100, 20, 20_000),
        skewed,
        "sell 250500 x 20000 @0\n",
    );
    // Nothing held: no quotes.
    check(&Scene::new(249_900, 250_100, 0, 0), skewed, "");
}

#[test]
fn a_side_within_the_tolerance_keeps_its_prices() {
    let near = scene()
        .with_own(Buy, 249_480, 10_000)
        .with_own(Sell, 250_530, 7_000);
    check(
        &near,
        "order_refresh_tolerance_bps = 1\n",
        "buy 249480 x 10000 @0\nsell 250500 x 10000 @0\n",
    );
    check(
        &near,
        "order_refresh_tolerance_bps = 2\n",
        "buy 249480 x 10000 @0\nsell 250530 x 10000 @0\n",
    );
    // As many orders as levels, or none is kept.
    let more = near.clone().with_own(Buy, 249_300, 10_000);
    check(
        &more,
        "order_refresh_tolerance_bps = 2\n",
        "buy 249500 x 10000 @0\nsell 250530 x 10000 @0\n",
    );
    // The tolerance does not keep an order that is nearer than the minimum spread.
    let nearer = scene().with_own(Buy, 249_510, 10_000);
    let tolerant = "order_refresh_tolerance_bps = 1000\nminimum_spread_bps = ";
    check(
        &nearer,
        &format!("{tolerant}19\n"),
        "buy 249510 x 10000 @0\nsell 250500 x 10000 @0\n",
    );
    check(
        &nearer,
        &format!("{tolerant}20\n"),
        "buy 249500 x 10000 @0\nsell 250500 x 10000 @0\n",
    );
}

#[test]
fn after_a_fill_the_side_places_nothing_new_for_the_delay() {
    let mut strategy = ladder("filled_order_delay_ms = 5000\norder_levels = 2\n");
    let mut scene = scene()
        .with_own(Buy, 249_510, 1)
        .with_own(Buy, 249_400, 4_000)
        .with_fill(Buy);
    let asks = "sell 250500 x 10000 @0\nsell 253000 x 10000 @1\n";
    let bids = "buy 249500 x 10000 @0\nbuy 247000 x 10000 @1\n";
    let kept = text(&scene.decide(&mut strategy));
    assert_eq!(
        kept,
        format!("buy 249400 x 4000 @0\n{asks}"),
        "narrower is not kept"
    );
    scene.fills.clear();
    scene.own.clear();
    scene.now = scene.now.plus_ms(4_999);
    assert_eq!(text(&scene.decide(&mut strategy)), asks);
    scene.now = scene.now.plus_ms(1);
    assert_eq!(text(&scene.decide(&mut strategy)), format!("{bids}{asks}"));
}

#[test]
fn an_expiring_order_and_its_replacement_are_one_level() {
    let mut strategy = ladder("");
    let mut scene = scene()
        .with_own(Buy, 249_400, 4_000)
        .with_own(Buy, 249_400, 9_000)
        .with_fill(Buy);
    scene.own[0].expiring = true;
    let kept = text(&scene.decide(&mut strategy));
    assert_eq!(kept, "buy 249400 x 9000 @0\nsell 250500 x 10000 @0\n");
}

#[test]
fn floor_and_ceiling_leave_one_side() {
    for (limits, expected) in [
        ("price_ceiling = 2499.99\n", "sell 250500 x 10000 @0\n"),
        ("price_floor = 2500.001\n", "buy 249500 x 10000 @0\n"),
        ("price_floor = 2500\nprice_ceiling = 2500.009\n", ""),
        (
            "price_floor = 2499\nprice_ceiling = 2500\n",
            "buy 249500 x 10000 @0\nsell 250500 x 10000 @0\n",
        ),
    ] {
        if expected.is_empty() {
            let table = format!("{BASE}{limits}").parse().unwrap();
            let error = INFO
                .build_from(&table, &market())
                .err()
                .unwrap()
                .to_string();
            assert_eq!(
                error,
                "price_ceiling: must be above price_floor, or 0 for off"
            );
        } else {
            check(&scene(), limits, expected);
        }
    }
}

#[test]
fn a_seed_price_beyond_the_other_side_does_not_make_a_taker() {
    let mut scene = Scene::new(248_000, 249_000, 10, 25_000);
    scene.mid = 500_000;
    check(
        &scene,
        "",
        "buy 248999 x 10000 @0\nsell 250500 x 10000 @0\n",
    );
}

#[test]
fn each_side_can_have_levels_of_its_own() {
    check(
        &scene(),
        "ask_levels = [{ spread_bps = 40, amount = 0.2 }, { spread_bps = 25, amount = 0.3 }]\n",
        "buy 249500 x 10000 @0\nsell 250625 x 3000 @0\nsell 251000 x 2000 @1\n",
    );
    // With lists on both sides no other parameter of levels is needed.
    let table = "bid_levels = [{ spread_bps = 10, amount = 1 }]\n\
                 ask_levels = [{ spread_bps = 30, amount = 2 }]\n";
    let mut built = INFO.build_from(&table.parse().unwrap(), &market()).unwrap();
    assert_eq!(
        text(&scene().decide(built.as_mut())),
        "buy 249750 x 10000 @0\nsell 250750 x 20000 @0\n"
    );
}

#[test]
fn no_distance_is_accepted_that_would_not_earn_the_fee() {
    check(
        &scene(),
        "minimum_spread_bps = 5\nfee_bps = 15\n",
        "buy 249500 x 10000 @0\nsell 250500 x 10000 @0\n",
    );
    let refused = |more: &str| {
        let table = format!("{BASE}{more}").parse().unwrap();
        let error = INFO.build_from(&table, &market()).err();
        error.map(|error| error.to_string())
    };
    let below = "below minimum_spread_bps and fee_bps together, 21";
    assert_eq!(
        refused("minimum_spread_bps = 5\nfee_bps = 16\n"),
        Some(format!("bid_spread_bps: {below}"))
    );
    let level =
        "minimum_spread_bps = 5\nfee_bps = 16\nbid_levels = [{ spread_bps = 20, amount = 1 }]\n";
    assert_eq!(
        refused(level),
        Some(format!("bid_levels[0].spread_bps: {below}"))
    );
    // A resting order that the mid has come too near to is not kept either.
    let near = scene().with_own(Buy, 249_530, 10_000);
    let kept = "order_refresh_tolerance_bps = 1000\nfee_bps = ";
    let asks = "sell 250500 x 10000 @0\n";
    check(
        &near,
        &format!("{kept}17\n"),
        &format!("buy 249530 x 10000 @0\n{asks}"),
    );
    check(
        &near,
        &format!("{kept}18\n"),
        &format!("buy 249500 x 10000 @0\n{asks}"),
    );
}

#[test]
fn an_order_is_one_tick_in_front_of_the_others_where_that_is_further_away() {
    let mut wide = Scene::new(249_000, 251_000, 10, 25_000);
    let optimised =
        "order_optimization_enabled = true\norder_levels = 2\norder_level_spread_bps = 10\n";
    check(
        &wide,
        optimised,
        "buy 249001 x 10000 @0\nbuy 248751 x 10000 @1\n\
         sell 250999 x 10000 @0\nsell 251249 x 10000 @1\n",
    );
    // A quantity of at most the depth is not outbid; the next level is.
    wide.bids[0].qty = Qty(500);
    wide.bids.push(cambist_core::strategy::BookLevel {
        price: Price(248_000),
        qty: Qty(9_000),
    });
    for (depth, bid) in [("0.0499", 249_001), ("0.05", 248_001), ("0.9499", 248_001)] {
        let one =
            format!("order_optimization_enabled = true\norder_optimization_depth = {depth}\n");
        check(
            &wide,
            &one,
            &format!("buy {bid} x 10000 @0\nsell 250999 x 10000 @0\n"),
        );
    }
    // Beyond the whole book there is no order to outbid.
    let all = "order_optimization_enabled = true\norder_optimization_depth = 5\n";
    check(
        &wide,
        all,
        "buy 249500 x 10000 @0\nsell 250500 x 10000 @0\n",
    );
    // Better prices of others are not followed.
    check(
        &scene(),
        "order_optimization_enabled = true\n",
        "buy 249500 x 10000 @0\nsell 250500 x 10000 @0\n",
    );
}

#[test]
fn no_bid_is_above_buy_price_max() {
    // A pair with a value of 2494: bids are at most that, asks not below 2506.
    let peg = "buy_price_max = 2494\nsell_price_min = 2506\n";
    let quotes = "buy 249400 x 10000 @0\nsell 250600 x 10000 @0\n";
    check(&scene(), peg, quotes);
    // A resting order beyond the limit is not kept either.
    let near = scene()
        .with_own(Buy, 249_401, 10_000)
        .with_own(Sell, 250_599, 10_000);
    check(
        &near,
        &format!("{peg}order_refresh_tolerance_bps = 1000\n"),
        quotes,
    );
    check(&scene(), &format!("{peg}depeg_bps = 10\n"), quotes);
    let fallen = Scene::new(249_700, 249_702, 10, 25_000);
    check(&fallen, &format!("{peg}depeg_bps = 11\n"), "");
}

const HANGING: &str = "hanging_orders_cancel_bps = 100\nfilled_order_delay_ms = 0\n";

#[test]
fn after_a_fill_the_nearest_order_of_the_other_side_hangs() {
    let mut strategy = ladder(HANGING);
    let at = |bid: u64| Scene::new(bid, bid + 200, 10, 60_000);
    let first = at(249_900)
        .with_own(Buy, 249_500, 10_000)
        .with_own(Sell, 250_500, 10_000);
    first.decide(&mut strategy);
    // Order 0, the bid, fills; the mid rises by 50: the ask of that moment stays beside the new quotes.
    let mut filled = at(244_900).with_fill(Buy);
    filled.own = vec![own(1, Sell, 246_500, 9_000)];
    let new = "buy 244510 x 10000 @0\nsell 245490 x 10000 @0\n";
    assert_eq!(
        text(&filled.decide(&mut strategy)),
        format!("{new}sell 246500 x 9000 @1\n")
    );
    // Its replacement hangs too. A further fill of the same order leaves no further order hanging, and the filled
    // quantity is missing from the remainder.
    let mut later = at(244_900).with_fill(Buy);
    later.own = vec![
        own(1, Sell, 246_500, 9_000),
        own(4, Sell, 246_500, 2_000),
        own(3, Sell, 245_490, 10_000),
    ];
    later.own[0].expiring = true;
    let hangs = format!("{new}sell 246500 x 2000 @1\n");
    assert_eq!(text(&later.decide(&mut strategy)), hangs);
    // The state survives a snapshot.
    let mut restored = ladder(HANGING);
    assert!(restored.restore(&strategy.save()));
    assert_eq!(text(&later.clone().decide(&mut restored)), hangs);
    // The mid is further than 100 bps from it: it is cancelled, and does not come back.
    let mut far = at(243_900);
    far.own.clone_from(&later.own);
    assert!(!text(&far.decide(&mut strategy)).contains("246500"));
    later.fills.clear();
    assert!(!text(&later.decide(&mut strategy)).contains("246500"));
}

#[test]
fn an_order_that_hangs_ends_when_it_is_filled_or_cancelled() {
    for cancelled in [false, true] {
        let mut strategy = ladder(HANGING);
        let mut scene = scene().with_own(Buy, 249_000, 10_000).with_fill(Sell);
        let quotes = "buy 249500 x 10000 @0\nbuy 249000 x 10000 @1\nsell 250500 x 10000 @0\n";
        assert_eq!(text(&scene.decide(&mut strategy)), quotes);
        scene.fills.clear();
        scene.own[0].cancelling = cancelled;
        if !cancelled {
            scene.own.clear();
        }
        assert_eq!(
            text(&scene.decide(&mut strategy)),
            "buy 249500 x 10000 @0\nsell 250500 x 10000 @0\n"
        );
    }
    // When off, no order hangs.
    let off = scene().with_own(Buy, 249_000, 10_000).with_fill(Sell);
    check(
        &off,
        "filled_order_delay_ms = 0\n",
        "buy 249500 x 10000 @0\nsell 250500 x 10000 @0\n",
    );
}

#[test]
fn contradictions_are_refused_by_name() {
    for (more, message) in [
        (
            "minimum_spread_bps = 21\n",
            "bid_spread_bps: below minimum_spread_bps and fee_bps together, 21",
        ),
        (
            "order_levels = 32\norder_level_spread_bps = 322\n",
            "order_level_spread_bps: the outermost bid would lie at or below zero",
        ),
        (
            "order_level_amount = 0.00001\n",
            "order_level_amount: 0.00001 ETH is less than one lot of ETH-USDC (0.0001)",
        ),
        (
            "order_level_amout = 1\n",
            "order_level_amout: unknown parameter, did you mean order_level_amount?",
        ),
        ("zzz = 1\n", "zzz: unknown parameter"),
        (
            "ask_levels = [{ spread_bps = 30, amount = 0 }]\n",
            "ask_levels[0].amount: must be above zero",
        ),
    ] {
        let table = format!("{BASE}{more}").parse().unwrap();
        let error = INFO.build_from(&table, &market()).err().unwrap();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn properties_of_every_decision() {
    let mut quoted = 0;
    for seed in 0..3_000 {
        let mut random = Random(seed);
        let mut strategy = random_ladder(&mut random);
        let scene = random.scene();
        let targets = scene.decide(&mut strategy);
        quoted += targets.quotes().len();
        for quote in targets.quotes() {
            let best = crate::sizing::opposite_best(&scene.view(), quote.side);
            assert!(
                best.is_none_or(|best| !quote.side.reaches(quote.price, best)),
                "seed {seed} crosses"
            );
            assert!(
                at_least(quote.side, quote.price, scene.mid, strategy.floor_bps),
                "seed {seed} is narrower than the minimum"
            );
        }
        let bid = of(&targets, Buy).map(|quote| quote.price).max();
        let ask = of(&targets, Sell).map(|quote| quote.price).min();
        assert!(
            bid.zip(ask).is_none_or(|(bid, ask)| bid < ask),
            "seed {seed}"
        );
        let again = scene.resting(&targets).decide(&mut strategy);
        assert_eq!(
            text(&again),
            text(&targets),
            "seed {seed} is not idempotent"
        );
    }
    assert!(
        quoted > 3_000,
        "only {quoted} quotes: the scenes test nothing"
    );
}

#[test]
fn more_base_never_means_more_bids_or_fewer_asks() {
    let mut changes = 0;
    for seed in 0..1_000 {
        let mut random = Random(seed);
        let mut strategy = random_ladder(&mut random);
        let (share, range) = (1 + random.below(9), 8 + random.below(200_000));
        strategy.skew = Some((1_000 * u32::try_from(share).unwrap(), Qty(range)));
        strategy.delay_ms = 0;
        let mut scene = random.scene();
        scene.own.clear();
        scene.fills.clear();
        // Enough to pay for every bid: otherwise lots could rise when cheaper levels get the remaining funds.
        scene.holdings.quote += 1 << 50;
        // From below the target's left edge to beyond its right one.
        let quote = u64::try_from(scene.holdings.quote).unwrap();
        let target = (2 * quote / scene.mid).saturating_mul(share) / (10 - share);
        scene.holdings.base = u128::from(target.saturating_sub(range)) * scene.market.lot;
        let mut before: Option<[u64; 2]> = None;
        for _ in 0..20 {
            let targets = scene.decide(&mut strategy);
            let now = Side::BOTH.map(|side| of(&targets, side).map(|quote| quote.qty.0).sum());
            if let Some(before) = before {
                assert!(now[0] <= before[0] && now[1] >= before[1], "seed {seed}");
                changes += u32::from(now != before);
            }
            before = Some(now);
            scene.holdings.base += u128::from(random.below(range / 4)) * scene.market.lot;
        }
    }
    assert!(
        changes > 1_000,
        "only {changes} changes: the skew was not tested"
    );
}

#[test]
fn a_restart_changes_no_decision() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut straight = random_ladder(&mut random);
        let mut restarted = straight.clone();
        for step in 0..20 {
            let mut scene = random.scene();
            scene.now = Time::from_ms(1_000_000 + step * 700);
            let mut fresh = straight.clone();
            fresh.memory = Memory::default();
            assert!(fresh.restore(&restarted.save()));
            restarted = fresh;
            let one = text(&scene.decide(&mut straight));
            assert_eq!(
                text(&scene.decide(&mut restarted)),
                one,
                "seed {seed} step {step}"
            );
        }
    }
}

/// The band is where the last run set it, not where a start finds the mid.
#[test]
fn a_moving_band_is_kept_over_a_restart() {
    let more = "moving_band_bps = 50\nmoving_band_s = 86400\n";
    let mut before = ladder(more);
    scene().decide(&mut before);
    let mut after = ladder(more);
    assert!(after.restore(&before.save()));
    let higher = Scene::new(253_900, 254_100, 10, 25_000);
    let bids = |mut strategy: Ladder| {
        let targets = higher.decide(&mut strategy);
        of(&targets, Side::Buy).count()
    };
    assert_eq!([bids(before), bids(after), bids(ladder(more))], [0, 0, 1]);
}

#[test]
fn invalid_saved_state_is_refused() {
    let mut strategy = ladder("");
    let saved = strategy.save();
    assert!(strategy.restore(&[]));
    assert!(!strategy.restore(&saved[..saved.len() - 1]));
    assert!(!strategy.restore(&[1; 16]));
    assert!(!strategy.restore(&[2; 17]));
    let mut longer = saved.clone();
    longer.push(0);
    assert!(!strategy.restore(&longer));
    // The first version contained two times. A pause from a clock with a later origin delays for the configured time at
    // most.
    let mut far = vec![1];
    far.extend([0xff; 16]);
    assert!(strategy.restore(&far));
    let mut scene = scene();
    assert_eq!(text(&scene.decide(&mut strategy)), "");
    scene.now = scene.now.plus_ms(60_000);
    assert_ne!(text(&scene.decide(&mut strategy)), "");
}

fn of(targets: &Targets, side: Side) -> impl Iterator<Item = &Quote> {
    targets
        .quotes()
        .iter()
        .filter(move |quote| quote.side == side)
}

fn random_ladder(random: &mut Random) -> Ladder {
    let mut below = |bound| u32::try_from(random.below(bound)).unwrap();
    let minimum = 1 + below(30);
    let (bid, ask) = (minimum + below(200), minimum + below(200));
    let step = u64::from(below(5_000));
    let first_size = 1 + u64::from(below(20_000));
    let levels = 1 + below(6);
    let step_bps = below(100);
    let side = |first: u32| {
        let level = |index: u32| Level {
            spread_bps: first + index * step_bps,
            size: Qty(first_size + u64::from(index) * step),
        };
        (0..levels).map(level).collect()
    };
    Ladder {
        levels: [side(bid), side(ask)],
        floor_bps: minimum,
        skew: (below(2) == 0).then(|| (below(10_001), Qty(1 + u64::from(below(200_000))))),
        tolerance_bps: below(40),
        delay_ms: u64::from(below(3_000)),
        hanging_cancel_bps: below(2) * 300,
        ..ladder(if below(2) == 0 {
            ""
        } else {
            "order_optimization_enabled = true\n"
        })
    }
}

/// Samples for the tests of the registry: each parameter must change a decision.
pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        table: "bid_spread_bps = 20\nask_spread_bps = 20\nminimum_spread_bps = 10\n\
                order_amount = 1\norder_levels = 2\norder_level_spread_bps = 10\n\
                order_level_amount = 0.5\ninventory_skew_enabled = true\n\
                inventory_target_base_bps = 5000\ninventory_range_multiplier = 2\n\
                order_refresh_tolerance_bps = 2\nfilled_order_delay_ms = 5000\n\
                order_optimization_enabled = true\nbuy_price_max = 2495.2\n\
                sell_price_min = 2504.8\nmoving_band_bps = 1\n\
                price_floor = 2000\nprice_ceiling = 3000\n",
        changes: &[
            ("bid_spread_bps", "21"),
            ("ask_spread_bps", "21"),
            ("minimum_spread_bps", "20"),
            ("order_amount", "1.1"),
            ("order_levels", "1"),
            ("order_level_spread_bps", "11"),
            ("order_level_amount", "0.6"),
            ("inventory_skew_enabled", "false"),
            ("inventory_target_base_bps", "4900"),
            ("inventory_range_multiplier", "2.1"),
            ("order_refresh_tolerance_bps", "0"),
            ("filled_order_delay_ms", "1000"),
            ("price_floor", "2600"),
            ("price_ceiling", "2400"),
            ("buy_price_max", "2400"),
            ("sell_price_min", "2600"),
            ("depeg_bps", "1"),
            ("moving_band_bps", "10000"),
            ("moving_band_s", "10"),
            ("fee_bps", "10"),
            ("bid_levels", "[{ spread_bps = 15, amount = 1 }]"),
            ("ask_levels", "[{ spread_bps = 30, amount = 0.5 }]"),
            ("hanging_orders_cancel_bps", "200"),
            ("order_optimization_enabled", "false"),
            ("order_optimization_depth", "2"),
        ],
        reasons: &[
            "fill_delay",
            "strategy_funds",
            "strategy_price",
            "strategy_skew",
        ],
    },
    Sample {
        table: "bid_levels = [{ spread_bps = 20, amount = 1 }]\n\
                ask_levels = [{ spread_bps = 22, amount = 0.4 }]\n",
        changes: &[
            ("bid_levels", "[{ spread_bps = 21, amount = 1 }]"),
            ("ask_levels.spread_bps", "33"),
            ("ask_levels.amount", "0.7"),
        ],
        reasons: &["fill_delay", "strategy_funds"],
    },
    Sample {
        table: "reference = [{ source = \"micro_price\" }, { source = \"depth\", amount = 0.5 }, { source = \"fixed\", price = 2500.4, weight = 2 }, { source = \"pool\" }, { source = \"feed\", feed = \"elsewhere\" }, { source = \"market\", market = \"ETH-BTC\", via = \"BTC-USDC\" }]\nreference_sources_min = 2\nreference_rule = \"weighted\"\n\
                bid_spread_bps = 20\nask_spread_bps = 20\norder_amount = 1\n",
        changes: REFERENCE_CHANGES,
        reasons: &["fill_delay", "no_fair_price"],
    },
];
