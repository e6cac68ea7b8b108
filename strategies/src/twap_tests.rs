//! The schedule, the price of its orders, and that the total is exact whatever fills and however often it restarts.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Side::{Buy, Sell};

use super::*;
use crate::testing::{Random, Sample, Scene, market, own, text};

/// Samples for the tests of the registry.
pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
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
            ("schedule", "\"optimal\""),
        ],
        reasons: &["not_configured", "schedule", "strategy_funds"],
    },
    Sample {
        table: "side = \"sell\"\ntotal = 8\nduration_s = 400\nslice_s = 40\nschedule = \"optimal\"\nvolatility_bps = 1\n\
            intensity_per_s = 0.1\ndecay_per_bps = 0.1\nrisk_aversion = 0.01\nend_discount_bps = 5\n",
        changes: &[
            ("volatility_bps", "2"),
            ("intensity_per_s", "0.2"),
            ("decay_per_bps", "0.05"),
            ("risk_aversion", "0.02"),
            ("end_discount_bps", "20"),
            ("slice_s", "50"),
        ],
        reasons: &["not_configured", "schedule", "strategy_funds"],
    },
];

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

/// A slice of 6 s has four steps.
#[test]
fn it_is_asked_again_at_the_next_step_of_its_distance() {
    let mut strategy = twap(SELLS);
    let mut scene = Scene::new(249_900, 250_100, 10, 25_000);
    let begun = scene.now;
    assert_eq!(strategy.next_decision(), None, "it has not begun");
    for (ms, next_ms) in [
        (0, 1_500),
        (1_000, 1_500),
        (1_499, 1_500),
        (1_500, 3_000),
        (7_100, 7_500),
    ] {
        scene.now = begun.plus_ms(ms);
        let _ = scene.decide(&mut strategy);
        let next = strategy.next_decision();
        assert_eq!(next, Some(begun.plus_ms(next_ms)), "{ms}");
    }
    scene.now = begun.plus_ms(60_000);
    let _ = scene.decide(&mut strategy);
    assert_eq!(
        strategy.next_decision(),
        None,
        "nothing is left to be released"
    );
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

/// Parts that do not fill rest beside each other, each at a level of its own, up to four orders.
#[test]
fn at_most_four_orders_rest_at_a_time() {
    let decide = |count: u64| {
        let mut scene = Scene::new(249_900, 250_100, 10, 25_000);
        for _ in 0..count {
            scene = scene.with_own(Sell, 250_300, 1_000);
        }
        text(&scene.decide(&mut twap(SELLS)))
    };
    let kept = "sell 250300 x 1000 @0\nsell 250300 x 1000 @1\nsell 250300 x 1000 @2\n";
    // A remainder below a lot counts as one, of each order.
    assert_eq!(decide(3), format!("{kept}sell 250300 x 2997 @3\n"));
    assert_eq!(decide(4), format!("{kept}sell 250300 x 1000 @3\n"));
    let mut withdrawn = Scene::new(249_900, 250_100, 10, 25_000);
    for _ in 0..4 {
        withdrawn = withdrawn.with_own(Sell, 251_000, 1_000);
    }
    let why = text(&withdrawn.decide(&mut twap(SELLS)));
    assert_eq!(why, "sell 250300 x 1996 @0\n", "none of the four stays");
}

/// Orders of the other side, which a changed `side` has left, are no part of the schedule: they are withdrawn.
#[test]
fn orders_of_the_other_side_do_not_count() {
    let decide = |scene: &Scene| text(&scene.decide(&mut twap(SELLS)));
    let scene = Scene::new(249_900, 250_100, 10, 25_000).with_own(Buy, 250_300, 5_000);
    assert_eq!(decide(&scene), "sell 250300 x 6000 @0\n");
    let mut unknown = scene;
    unknown.unknown[0] = lots(2_500);
    assert_eq!(decide(&unknown), "sell 250300 x 6000 @0\n");
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

/// 6 parts of 0.1 ETH in 300 s, with the parameters of the published table 3.1.
const OPTIMALLY: &str = "side = \"sell\"\ntotal = 0.6\nduration_s = 300\nslice_s = 50\nschedule = \"optimal\"\n\
                         volatility_bps = 0.3\nintensity_per_s = 0.1\ndecay_per_bps = 0.3\nrisk_aversion = 0.05\n\
                         end_discount_bps = 3\norder_refresh_tolerance_bps = 0\n";

/// Prices with ten digits, so that the printed ones are there in full: the distance of the only order, in bps.
fn distance(table: &str, sold: u64, side: Side) -> f64 {
    let mut scene = Scene::new(9_999_999_999, 10_000_000_001, 10, 1_000_000_000_000);
    scene.traded.add(side, lots(sold));
    let targets = scene.decide(&mut twap(table));
    let [quote] = targets.quotes() else {
        panic!("{targets:?}");
    };
    assert_eq!((quote.side, quote.qty), (side, Qty(1_000)));
    #[allow(clippy::cast_precision_loss, reason = "below 2^53")]
    let away = quote.price.0 as f64 - 1e10;
    away / 1e6
}

/// Tables 3.1, 3.3 and 3.7 of Fernandez-Tapia's thesis, as in `cambist_quant::liquidation`.
#[test]
fn an_optimal_schedule_quotes_the_published_distances() {
    let change = |key: &str, to: &str| OPTIMALLY.replace(key, to);
    for (table, printed) in [
        (
            OPTIMALLY.to_owned(),
            [10.6095, 7.8737, 6.1299, 4.8082, 3.728, 2.8073],
        ),
        (
            change("intensity_per_s = 0.1", "intensity_per_s = 0.05"),
            [8.4128, 5.6704, 3.9199, 2.5917, 1.5051, 0.57851],
        ),
        (
            change("risk_aversion = 0.05", "risk_aversion = 0.1"),
            [9.84, 6.7461, 4.7262, 3.189, 1.9384, 0.88139],
        ),
    ] {
        let buys = table.replace("sell", "buy");
        for (remaining, printed) in (1_u64..).zip(printed) {
            let sold = 6_000 - remaining * 1_000;
            let found = distance(&table, sold, Sell);
            assert!(
                (found - printed).abs() < 7e-5,
                "{remaining}: {found} {printed}"
            );
            let found = -distance(&buys, sold, Buy);
            assert!(
                (found - printed).abs() < 7e-5,
                "{remaining}: {found} {printed}"
            );
        }
    }
}

#[test]
fn an_optimal_schedule_has_one_part_at_a_time_and_comes_nearer() {
    let mut strategy = twap(OPTIMALLY);
    let mut scene = Scene::new(249_900, 250_100, 10, 25_000);
    let begun = scene.now;
    let mut at = |ms: u64, sold: u64, own: &[(u64, u64)]| {
        scene.now = begun.plus_ms(ms);
        scene.traded.sold = lots(sold);
        scene.own.clear();
        for (price, lots) in own {
            scene = scene.clone().with_own(Sell, *price, *lots);
        }
        text(&scene.decide(&mut strategy))
    };
    assert_eq!(at(0, 0, &[]), "sell 250071 x 1000 @0\n");
    // It rests until a step of the time, also when it is filled in part.
    assert_eq!(
        at(12_499, 0, &[(250_071, 1_000)]),
        "sell 250071 x 1000 @0\n"
    );
    assert_eq!(at(12_499, 400, &[(250_071, 600)]), "sell 250071 x 600 @0\n");
    // At another price it is withdrawn first, and nothing rests meanwhile.
    assert_eq!(at(200_000, 400, &[(250_071, 600)]), "");
    let later = at(200_000, 400, &[]);
    assert!(
        later.ends_with("x 1000 @0\n") && later.as_str() < "sell 250071",
        "{later}"
    );
    // What is left at the end is offered at the discount: ln(1 + 1/6)/0.05 − 3 = 0.083 bps.
    assert_eq!(at(301_000, 5_500, &[]), "sell 250003 x 500 @0\n");
    assert_eq!(at(302_000, 6_000, &[]), "");
}

#[test]
fn without_a_price_of_the_model_nothing_is_quoted() {
    let refused = |from: &str, to: &str| {
        let table = OPTIMALLY.replace(from, to).parse().unwrap();
        let built = INFO.build_from(&table, &market()).map(|_| ());
        built.unwrap_err().to_string()
    };
    for (from, to, words) in [
        (
            "intensity_per_s = 0.1",
            "intensity_per_s = 0",
            "schedule: the model has no prices",
        ),
        (
            "decay_per_bps = 0.3",
            "decay_per_bps = 0",
            "schedule: the model has no prices",
        ),
        (
            "volatility_bps = 0.3",
            "volatility_bps = nan",
            "volatility_bps: expected a decimal",
        ),
        (
            "risk_aversion = 0.05",
            "risk_aversion = inf",
            "risk_aversion: expected a decimal",
        ),
        ("slice_s = 50", "slice_s = 1", "slice_s: 300 slices"),
    ] {
        let why = refused(from, to);
        assert!(why.contains(words), "{why}");
    }
    // A model that ceases to have prices, however that comes about: a reason, and no order.
    let scene = Scene::new(249_900, 250_100, 10, 25_000);
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let mut strategy = twap(OPTIMALLY);
        let optimal = strategy.optimal.as_mut().unwrap();
        optimal.model.intensity = bad;
        optimal.last = None;
        let targets = scene.decide(&mut strategy);
        assert_eq!(text(&targets), "");
        assert_eq!(
            targets.withheld(Sell).unwrap().control,
            Control::NoFairPrice
        );
    }
}

/// A venue that fills, loses answers and is slow to cancel, and a daemon that is killed at any moment.
#[test]
fn the_total_is_exact_whatever_fills_and_however_often_it_restarts() {
    total_is_exact(SELLS, 300);
    total_is_exact(&format!("{SELLS}schedule = \"optimal\"\n"), 100);
}

fn total_is_exact(table: &str, seeds: u64) {
    for seed in 0..seeds {
        let mut random = Random(seed);
        let mut scene = Scene::new(249_900, 250_100, 10, 25_000);
        let mut strategy = twap(table);
        // Lots of orders whose state is unknown.
        let mut unknown: Vec<u64> = Vec::new();
        let mut number = 0;
        for step in 0..3_000 {
            scene.now = scene.now.plus_ms(random.below(400));
            let calm = step > 2_000;
            if !calm && random.chance(1) && random.chance(3) {
                // Killed: the newest second of its memory may be lost; every order is unknown at first.
                let memory = strategy.save_durable();
                strategy = twap(table);
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
