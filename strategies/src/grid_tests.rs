//! Lines and orders of the grid, that its state follows from its fills, and that round trips earn the step.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Side::{Buy, Sell};

use super::*;
use crate::testing::{Random, Sample, Scene, market, text};

/// Samples for the tests of the registry.
pub(crate) const SAMPLES: &[Sample] = &[Sample {
    table: "price_low = 2400\nprice_high = 2600\ngrid_lines = 21\nstart_price = 2500\norder_amount = 0.5\n\
            order_levels = 3\nbought_before = 1\nsold_before = 0.7\nfee_bps = 2\n",
    changes: &[
        ("price_low", "2410"),
        ("price_high", "2590"),
        ("grid_lines", "22"),
        ("start_price", "2490"),
        ("order_amount", "0.6"),
        ("order_levels", "2"),
        ("bought_before", "0.9"),
        ("sold_before", "0.6"),
        ("fee_bps", "5"),
    ],
    reasons: &["strategy_funds"],
}];

/// Lines at 2400, 2449.49, 2500, 2551.55 and 2604.17 (each 2.0616 % above the one below), cells of 1 ETH: two with
/// quote, two with base.
const FIVE: &str = "price_low = 2400\nprice_high = 2604.17\ngrid_lines = 5\nstart_price = 2500\norder_amount = 1\n\
                    order_levels = 4\n";

fn grid(table: &str) -> Grid {
    Grid::new(
        &Params::read(INFO.parameters, &table.parse().unwrap()).unwrap(),
        &market(),
    )
    .unwrap()
}

fn lots(lots: u64) -> u128 {
    market().base_amount(Qty(lots)).unwrap()
}

fn after(bought: u64, sold: u64) -> String {
    let at = if sold > bought { 260_500 } else { 250_000 };
    let mut scene = Scene::new(at - 100, at + 100, 10, 100_000);
    scene.traded.add(Buy, lots(bought));
    scene.traded.add(Sell, lots(sold));
    text(&scene.decide(&mut grid(FIVE)))
}

#[test]
fn cells_below_the_start_buy_and_those_above_sell() {
    assert_eq!(
        after(0, 0),
        "buy 244949 x 10000 @0\nbuy 240000 x 10000 @1\nsell 255155 x 10000 @0\nsell 260417 x 10000 @1\n"
    );
    // What was bought at 2449.49 is sold at the line above, which is the start.
    assert_eq!(
        after(10_000, 0),
        "buy 240000 x 10000 @0\nsell 250000 x 10000 @0\nsell 255155 x 10000 @1\nsell 260417 x 10000 @2\n"
    );
    // In part: the rest is still bought, what is there is sold.
    assert_eq!(
        after(4_000, 0),
        "buy 244949 x 6000 @0\nbuy 240000 x 10000 @1\nsell 250000 x 4000 @0\nsell 255155 x 10000 @1\nsell 260417 x 10000 @2\n"
    );
    // A round trip leaves what was there before.
    assert_eq!(after(14_000, 14_000), after(0, 0));
    assert_eq!(
        after(0, 20_000),
        "buy 255155 x 10000 @0\nbuy 250000 x 10000 @1\nbuy 244949 x 10000 @2\nbuy 240000 x 10000 @3\n"
    );
}

#[test]
fn beyond_its_lines_a_side_has_its_reason() {
    let mut scene = Scene::new(249_900, 250_100, 10, 25_000);
    scene.traded.add(Sell, lots(30_000));
    let why = scene.decide(&mut grid(FIVE)).withheld(Sell).unwrap();
    assert_eq!(
        (why.control, why.limit, why.key()),
        (
            Control::StrategyPrice,
            Some(520_834),
            Some("market.strategy.params.price_high")
        )
    );
}

/// At any fill a newly built grid has the same orders as the one that has been running; and what it gains over
/// a round trip is a step for every lot.
#[test]
fn the_grid_after_a_restart_is_the_one_before_and_round_trips_earn_the_step() {
    let mut all_trips = 0;
    for seed in 0..200 {
        let mut random = Random(seed);
        let mut running = grid(FIVE);
        let mut scene = Scene::new(249_900, 250_100, 20, 100_000);
        let mut earned = 0_i128;
        let (mut trips, mut steps) = (0, 0_u32);
        while steps < 400 {
            steps += 1;
            let targets = scene.decide(&mut running);
            assert_eq!(
                text(&targets),
                text(&scene.decide(&mut grid(FIVE))),
                "{seed}"
            );
            // The market trades with the nearest order of a side, all of it or a part.
            let side = if random.chance(5) { Buy } else { Sell };
            let nearest = targets.quotes().iter().find(|quote| quote.side == side);
            let Some(quote) = nearest.copied() else {
                continue;
            };
            let all = quote.qty.0;
            let qty = if random.chance(5) {
                all
            } else {
                1 + random.below(all)
            };
            scene.traded.add(side, lots(qty));
            let paid = i128::from(quote.price.0) * i128::from(qty);
            earned += if side == Buy { -paid } else { paid };
            if scene.traded.bought == scene.traded.sold {
                trips += 1;
                assert!(earned > 0, "{seed}: {earned}");
            }
        }
        all_trips += trips;
    }
    assert!(all_trips > 1_000, "{all_trips}");
}

#[test]
fn grids_that_cannot_earn_or_do_not_fit_are_refused() {
    let refused = |change: (&str, &str)| {
        let mut table: toml::Table = SAMPLES[0].table.parse().unwrap();
        let value: toml::Table = format!("value = {}", change.1).parse().unwrap();
        table.insert(change.0.to_owned(), value["value"].clone());
        let built = INFO.build_from(&table, &market());
        built.map(|_| ()).unwrap_err().to_string()
    };
    // 400 lines from 2400 to 2600 are 2 bps apart, and two fees are 4.
    for (change, words) in [
        (("grid_lines", "400"), "grid_lines: the step from 2400"),
        (("price_low", "2600"), "price_high: must be above price_low"),
        (("price_low", "0"), "price_low: must be above zero"),
        (("start_price", "2399.99"), "start_price: must be from"),
        (("start_price", "2600.01"), "start_price: must be from"),
        (("order_amount", "0"), "order_amount: must be above zero"),
        (("grid_lines", "2"), "out of range"),
    ] {
        let why = refused(change);
        assert!(why.contains(words), "{why}");
    }
}

/// A line that the market has passed while nothing was quoted is not quoted through the market.
#[test]
fn a_line_on_the_other_side_of_the_mid_is_quoted_at_the_market() {
    let scene = Scene::new(259_900, 260_100, 10, 25_000);
    let fee = format!("{FIVE}fee_bps = 2\n");
    assert_eq!(
        text(&scene.decide(&mut grid(&fee))),
        "buy 244949 x 10000 @0\nbuy 240000 x 10000 @1\nsell 260052 x 10000 @0\nsell 260417 x 10000 @1\n"
    );
}
