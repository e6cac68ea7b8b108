//! The schedule, the price of its orders, and that the total is exact whatever fills and however often it restarts.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Side::{Buy, Sell};

use super::*;
use crate::testing::{Random, Sample, Scene, market, own, text};

/// Samples for the tests of the registry.
pub(crate) const SAMPLES: &[Sample] = &[Sample {
    table: "side = \"sell\"\ntotal = 8\nduration_s = 400\nslice_s = 40\nspread_bps = 20\nprice_limit = 2400\n\
            order_refresh_tolerance_bps = 5\n",
    changes: &[
        ("side", "\"buy\""),
        ("total", "9"),
        ("duration_s", "500"),
        ("slice_s", "50"),
        ("spread_bps", "21"),
        ("price_limit", "2510"),
        ("order_refresh_tolerance_bps", "0"),
    ],
    reasons: &["not_configured", "schedule", "strategy_funds"],
}];

fn twap(table: &str) -> Twap {
    let params = Params::read(INFO.parameters, &table.parse().unwrap()).unwrap();
    Twap::new(&params, &market()).unwrap()
}

/// 6 ETH in 60 s, a tenth every 6 s.
const SELLS: &str = "side = \"sell\"\ntotal = 6\nduration_s = 60\nslice_s = 6\nspread_bps = 12\n";

fn lots(lots: u64) -> u128 {
    market().base_amount(Qty(lots)).unwrap()
}

#[test]
fn a_part_is_released_in_every_slice_and_comes_nearer_within_it() {
    let mut strategy = twap(SELLS);
    let mut scene = Scene::new(249_900, 250_100, 10, 25_000);
    let begun = scene.now;
    let mut at = |ms: u64, sold: u64| {
        scene.now = begun.plus_ms(ms);
        scene.traded.sold = lots(sold);
        text(&scene.decide(&mut strategy))
    };
    assert_eq!(at(0, 0), "sell 250300 x 6000 @0\n");
    assert_eq!(at(1_500, 0), "sell 250200 x 6000 @0\n");
    assert_eq!(at(3_000, 0), "sell 250100 x 6000 @0\n");
    assert_eq!(at(4_500, 0), "sell 250000 x 6000 @0\n");
    assert_eq!(at(5_000, 6_000), "");
    assert_eq!(at(6_000, 6_000), "sell 250300 x 6000 @0\n");
    // What was left over comes with the next part.
    assert_eq!(at(12_000, 7_000), "sell 250300 x 11000 @0\n");
    assert_eq!(at(60_000, 59_000), "sell 250000 x 1000 @0\n");
    assert_eq!(at(70_000, 60_000), "");
}

#[test]
fn why_nothing_is_due_is_stated() {
    let mut strategy = twap(SELLS);
    let mut scene = Scene::new(249_900, 250_100, 10, 25_000);
    let mut why = |sold: u64, side| {
        scene.traded.sold = lots(sold);
        let why = scene.decide(&mut strategy).withheld(side).unwrap();
        (why.control, why.key().unwrap_or_default().to_owned())
    };
    let key = |name: &str| format!("market.strategy.params.{name}");
    assert_eq!(why(0, Buy).0, Control::NotConfigured);
    assert_eq!(why(6_000, Sell), (Control::Schedule, key(DURATION)));
    assert_eq!(why(60_000, Sell), (Control::Schedule, key(TOTAL)));
}

/// Nothing is added while an order that is being cancelled, or one of unknown state, may still fill.
#[test]
fn what_may_still_fill_counts_as_if_it_does() {
    let scene = Scene::new(249_900, 250_100, 10, 25_000);
    let decide = |scene: &Scene| text(&scene.decide(&mut twap(SELLS)));
    assert_eq!(
        decide(&scene.clone().with_own(Sell, 250_300, 6_000)),
        "sell 250300 x 6000 @0\n",
        "kept"
    );
    // Too far away: withdrawn, and nothing takes its place yet.
    assert_eq!(decide(&scene.clone().with_own(Sell, 251_000, 6_000)), "");
    let mut cancelling = scene.clone();
    cancelling.own.push(OwnOrder {
        cancelling: true,
        ..own(9, Sell, 250_300, 4_000)
    });
    // Its remainder below a lot counts as one.
    assert_eq!(decide(&cancelling), "sell 250300 x 1999 @0\n");
    let mut unknown = scene.clone();
    unknown.unknown[1] = lots(2_500);
    assert_eq!(decide(&unknown), "sell 250300 x 3500 @0\n");
    let mut expiring = scene;
    expiring.own.push(OwnOrder {
        expiring: true,
        ..own(9, Sell, 250_300, 6_000)
    });
    assert_eq!(decide(&expiring), "", "old and new do not rest together");
}

#[test]
fn a_limit_is_not_passed() {
    let decide = |more: &str, scene: &Scene| text(&scene.decide(&mut twap(more)));
    let scene = Scene::new(249_900, 250_100, 10, 25_000);
    let sells = format!("{SELLS}price_limit = 2510.005\n");
    assert_eq!(decide(&sells, &scene), "sell 251001 x 6000 @0\n");
    let buys = sells.replace("sell", "buy").replace("2510.005", "2400.005");
    assert_eq!(decide(&buys, &scene), "buy 240000 x 6000 @0\n");
    let rests = scene.with_own(Sell, 251_000, 6_000);
    assert_eq!(decide(&sells, &rests), "", "it rests below the limit");
}

/// A venue that fills, loses answers and is slow to cancel, and a daemon that is killed at any moment.
#[test]
fn the_total_is_exact_whatever_fills_and_however_often_it_restarts() {
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut scene = Scene::new(249_900, 250_100, 10, 25_000);
        let mut strategy = twap(SELLS);
        // Lots of orders whose state is unknown.
        let mut unknown: Vec<u64> = Vec::new();
        let mut number = 0;
        for step in 0..3_000 {
            scene.now = scene.now.plus_ms(random.below(400));
            let calm = step > 2_000;
            if !calm && random.chance(1) && random.chance(3) {
                // Killed: the newest second of its memory may be lost; every order is unknown at first.
                let memory = strategy.save_durable();
                strategy = twap(SELLS);
                assert!(strategy.resume(if random.chance(5) { &memory } else { &[0] }));
                unknown.extend(scene.own.drain(..).map(|order| order.remaining.0));
                scene.now = Time::from_ms(random.below(1_000_000));
            }
            scene.unknown[1] = unknown.iter().map(|left| lots(*left)).sum();
            let moved = random.below(300);
            (scene.bids[0].price.0, scene.asks[0].price.0) = (249_900 + moved, 250_100 + moved);
            scene.mid = 500_000 + 2 * moved;
            let targets = scene.decide(&mut strategy);
            let mut wanted: Vec<_> = targets.quotes().to_vec();
            for order in &mut scene.own {
                let same = |quote: &cambist_core::strategy::Quote| {
                    (quote.price, quote.qty) == (order.price, order.remaining)
                };
                match wanted.iter().position(same) {
                    Some(at) if !order.cancelling => drop(wanted.remove(at)),
                    _ => order.cancelling = true,
                }
            }
            for quote in wanted {
                number += 1;
                let order = own(number, quote.side, quote.price.0, quote.qty.0);
                scene.own.push(order);
            }
            // Any order may fill, in part or whole, or end; one that is unknown as well.
            let mut fill = |left: &mut u64, random: &mut Random| {
                if random.chance(2) {
                    let qty = if random.chance(5) {
                        *left
                    } else {
                        random.below(*left + 1)
                    };
                    *left -= qty;
                    scene.traded.sold += lots(qty);
                }
            };
            for order in &mut scene.own {
                fill(&mut order.remaining.0, &mut random);
            }
            for left in &mut unknown {
                fill(left, &mut random);
            }
            unknown.retain(|left| *left > 0 && !random.chance(2));
            scene
                .own
                .retain(|order| order.remaining.0 > 0 && !(order.cancelling && random.chance(5)));
            let sold = scene.traded.sold;
            assert!(sold <= lots(60_000), "{seed}: {sold}");
        }
        assert_eq!(scene.traded.sold, lots(60_000), "{seed}");
    }
}

#[test]
fn schedules_that_do_not_fit_are_refused() {
    for (table, words) in [
        ("total = 1\nduration_s = 10\n", "side: must be given"),
        ("side = \"hold\"\ntotal = 1\nduration_s = 10\n", "side: "),
        (
            "side = \"buy\"\ntotal = 0\nduration_s = 10\nslice_s = 5\n",
            "total: must be above zero",
        ),
        (
            "side = \"buy\"\ntotal = 1\nduration_s = 10\nslice_s = 11\n",
            "slice_s: must be at most duration_s",
        ),
    ] {
        let built = INFO.build_from(&table.parse().unwrap(), &market());
        let why = built.map(|_| ()).unwrap_err().to_string();
        assert!(why.contains(words), "{why}");
    }
}
