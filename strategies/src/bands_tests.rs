//! Golden decisions and properties of bands.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Side::{Buy, Sell};

use super::*;
use crate::testing::{REFERENCE_CHANGES, Random, Sample, Scene, market, text};

const TWO_BANDS: &str = r#"
dust_cutoff = 0.01
[[buy_bands]]
min_margin_bps = 10
avg_margin_bps = 20
max_margin_bps = 50
min_amount = 0.5
avg_amount = "1.0"
max_amount = 2
[[buy_bands]]
min_margin_bps = 50
avg_margin_bps = 80
max_margin_bps = 100
min_amount = 1
avg_amount = 2
max_amount = 3
[[sell_bands]]
min_margin_bps = 10
avg_margin_bps = 20
max_margin_bps = 50
min_amount = 0.5
avg_amount = 1
max_amount = 2
"#;

fn bands(table: &str) -> Bands {
    let params = Params::read(INFO.parameters, &table.parse().unwrap()).unwrap();
    Bands::new(&params, &market()).unwrap()
}

fn refusal(table: &str) -> String {
    let table = table.parse().unwrap();
    match INFO.build_from(&table, &market()) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn check(scene: &Scene, expected: &str) {
    let got = text(&scene.decide(&mut bands(TWO_BANDS)));
    assert_eq!(got, expected, "\n{got}");
}

#[test]
fn empty_bands_are_filled_to_the_average() {
    // Mid 2500.00: 20 bps are 5.00, 80 bps are 20.00.
    check(
        &Scene::new(249_900, 250_100, 10, 50_000),
        "buy 249500 x 10000 @0\nbuy 248000 x 20000 @1\nsell 250500 x 10000 @0\n",
    );
    // Mid 2500.015, in half ticks 500003: 2495.01497 down, 2505.01503 up.
    check(
        &Scene::new(250_001, 250_002, 10, 50_000),
        "buy 249501 x 10000 @0\nbuy 248001 x 20000 @1\nsell 250502 x 10000 @0\n",
    );
}

#[test]
fn orders_inside_a_band_stay() {
    let scene = Scene::new(249_900, 250_100, 10, 50_000)
        .with_own(Buy, 249_000, 5_000)
        .with_own(Buy, 248_100, 30_000)
        .with_own(Sell, 250_300, 20_000);
    check(
        &scene,
        "buy 249000 x 5000 @0\nbuy 248100 x 30000 @1\nsell 250300 x 20000 @0\n",
    );
}

#[test]
fn a_band_below_its_minimum_is_topped_up_to_its_average() {
    let scene = Scene::new(249_900, 250_100, 10, 50_000).with_own(Buy, 249_000, 4_999);
    check(
        &scene,
        "buy 249500 x 5001 @0\nbuy 249000 x 4999 @1\nbuy 248000 x 20000 @2\nsell 250500 x 10000 @0\n",
    );
}

#[test]
fn only_overflow_and_orders_outside_bands_are_cancelled_outermost_first() {
    let scene = Scene::new(249_900, 250_100, 10, 50_000)
        .with_own(Buy, 249_700, 9_000)
        .with_own(Buy, 249_200, 9_000)
        .with_own(Buy, 249_400, 9_000)
        .with_own(Buy, 248_000, 10_000)
        // Nearer than any band, between the bands, and beyond the last band.
        .with_own(Buy, 249_800, 1)
        .with_own(Buy, 247_500, 1)
        .with_own(Sell, 252_000, 1);
    check(
        &scene,
        "buy 249700 x 9000 @0\nbuy 249400 x 9000 @1\nbuy 248000 x 10000 @2\nsell 250500 x 10000 @0\n",
    );
}

#[test]
fn an_order_being_cancelled_does_not_count_and_an_expiring_one_does() {
    let mut scene = Scene::new(249_900, 250_100, 10, 50_000)
        .with_own(Buy, 249_700, 10_000)
        .with_own(Sell, 250_300, 10_000);
    scene.own[0].cancelling = true;
    scene.own[1].expiring = true;
    check(
        &scene,
        "buy 249500 x 10000 @0\nbuy 248000 x 20000 @1\nsell 250300 x 10000 @0\n",
    );
}

#[test]
fn an_expiring_order_and_its_replacement_count_once() {
    let mut scene = Scene::new(249_900, 250_100, 10, 50_000)
        .with_own(Buy, 249_500, 10_000)
        .with_own(Buy, 248_000, 20_000)
        .with_own(Sell, 250_500, 10_000);
    for order in &mut scene.own {
        order.expiring = true;
    }
    let once = "buy 249500 x 10000 @0\nbuy 248000 x 20000 @1\nsell 250500 x 10000 @0\n";
    check(&scene, once);
    let renewed = scene
        .with_own(Buy, 249_500, 10_000)
        .with_own(Buy, 248_000, 20_000)
        .with_own(Sell, 250_500, 10_000);
    check(&renewed, once);
}

#[test]
fn holdings_go_to_the_innermost_band_first() {
    // 2500 USDC pay for 1 ETH at 2495 and for 0.002 of the next, which is dust.
    check(
        &Scene::new(249_900, 250_100, 0, 2_500),
        "buy 249500 x 10000 @0\n",
    );
    let some = Scene::new(249_900, 250_100, 0, 2_600);
    check(&some, "buy 249500 x 10000 @0\nbuy 248000 x 423 @1\n");
}

#[test]
fn a_narrow_band_uses_its_only_tick_or_none() {
    let narrow = |avg: u32| {
        bands(&format!(
            "[[buy_bands]]\nmin_margin_bps = 10\navg_margin_bps = {avg}\nmax_margin_bps = 20\n\
             min_amount = 1\navg_amount = 1\nmax_amount = 1\n"
        ))
    };
    // Mid 10.05 ticks of 0.01... 1005 ticks: the band is (1002.99, 1003.995], one tick wide.
    let scene = Scene::new(1_004, 1_006, 0, 1_000_000);
    assert_eq!(
        text(&scene.decide(&mut narrow(19))),
        "buy 1003 x 10000 @0\n"
    );
    // Mid 100.5 ticks: (100.299, 100.3995] holds no tick.
    let scene = Scene::new(100, 101, 0, 1_000_000);
    assert_eq!(text(&scene.decide(&mut narrow(15))), "");
}

#[test]
fn a_seed_price_beyond_the_other_side_does_not_make_a_taker() {
    // The seed price is 2500, but the best ask is 2490: only 50 to 100 bps below 2500 are possible.
    let mut scene = Scene::new(248_000, 249_000, 0, 50_000).with_own(Buy, 249_500, 10_000);
    scene.mid = 500_000;
    check(&scene, "buy 248999 x 10000 @0\nbuy 248000 x 20000 @1\n");
}

#[test]
fn invalid_bands_are_refused_by_name() {
    let band = |side: &str, margins: [u32; 3], amounts: [&str; 3]| {
        let [min, avg, max] = margins;
        let [least, usual, most] = amounts;
        format!(
            "[[{side}]]\nmin_margin_bps = {min}\navg_margin_bps = {avg}\nmax_margin_bps = {max}\n\
             min_amount = {least}\navg_amount = {usual}\nmax_amount = {most}\n"
        )
    };
    let sound = ["1", "1", "1"];
    let cases = [
        (
            String::new(),
            "buy_bands: neither buy_bands nor sell_bands has a band",
        ),
        (
            band("buy_bands", [20, 10, 50], sound),
            "buy_bands[0].avg_margin_bps: 10 must be at least min_margin_bps 20 and below max_margin_bps 50",
        ),
        (
            band("buy_bands", [10, 50, 50], sound),
            "buy_bands[0].avg_margin_bps: 50 must be at least min_margin_bps 10 and below max_margin_bps 50",
        ),
        (
            band("sell_bands", [0, 10, 50], sound),
            "sell_bands[0].min_margin_bps: 0 is out of range, allowed is 1 to 10000",
        ),
        (
            band("sell_bands", [1, 10, 50], ["2", "1", "3"]),
            "sell_bands[0].avg_amount: must be at least min_amount and at most max_amount",
        ),
        (
            band("sell_bands", [1, 10, 50], ["1", "4", "3"]),
            "sell_bands[0].avg_amount: must be at least min_amount and at most max_amount",
        ),
        (
            band("sell_bands", [1, 10, 50], ["0", "1", "3"]),
            "sell_bands[0].min_amount: must be above zero, or the band would never be filled",
        ),
        (
            band("sell_bands", [1, 10, 50], ["0.00009", "1", "3"]),
            "sell_bands[0].min_amount: 0.00009 ETH is less than one lot of ETH-USDC (0.0001)",
        ),
        (
            band("buy_bands", [10, 20, 50], sound) + &band("buy_bands", [40, 60, 90], sound),
            "buy_bands: bands overlap: 10 to 50 bps and 40 to 90 bps",
        ),
    ];
    for (table, message) in cases {
        assert_eq!(refusal(&table), message, "{table}");
    }
}

/// Properties of decisions in random states with random parameters.
#[test]
fn properties_of_every_decision() {
    let mut quoted = 0;
    for seed in 0..3_000 {
        let mut random = Random(seed);
        let mut strategy = random_bands(&mut random);
        let scene = random.scene();
        let targets = scene.decide(&mut strategy);
        quoted += targets.quotes().len();
        for side in Side::BOTH {
            let best = opposite(&scene, side);
            for quote in targets.quotes().iter().filter(|quote| quote.side == side) {
                assert!(
                    best.is_none_or(|best| !side.reaches(quote.price, best)),
                    "seed {seed} crosses"
                );
            }
            let band_max: u64 = strategy.of(side).iter().map(|band| band.max.0).sum();
            let total: u64 = of(&targets, side).map(|quote| quote.qty.0).sum();
            assert!(total <= band_max, "seed {seed} exceeds the bands");
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

impl Bands {
    fn of(&self, side: Side) -> &[Band] {
        match side {
            Buy => &self.buy,
            Sell => &self.sell,
        }
    }
}

fn of(targets: &Targets, side: Side) -> impl Iterator<Item = &cambist_core::strategy::Quote> {
    targets
        .quotes()
        .iter()
        .filter(move |quote| quote.side == side)
}

fn opposite(scene: &Scene, side: Side) -> Option<Price> {
    crate::sizing::opposite_best(&scene.view(), side)
}

fn random_bands(random: &mut Random) -> Bands {
    let mut make = || {
        let mut inner = 1;
        let mut bands = Vec::new();
        for _ in 0..random.below(4) {
            let min = inner + u32::try_from(random.below(60)).unwrap();
            let max = min + 1 + u32::try_from(random.below(200)).unwrap();
            let avg = min + u32::try_from(random.below(u64::from(max - min))).unwrap();
            let least = 1 + random.below(20_000);
            let usual = least + random.below(20_000);
            bands.push(Band {
                margin_min_bps: min,
                margin_avg_bps: avg,
                margin_max_bps: max,
                min: Qty(least),
                avg: Qty(usual),
                max: Qty(usual + random.below(20_000)),
            });
            inner = max;
        }
        bands
    };
    let (buy, sell) = (make(), make());
    Bands {
        buy,
        sell,
        dust: Qty(random.below(3_000)),
        ..bands(TWO_BANDS)
    }
}

#[test]
fn the_fee_moves_the_inner_edge_and_must_be_covered() {
    let table = |fee: u32| {
        format!(
            "fee_bps = {fee}\n[[buy_bands]]\nmin_margin_bps = 10\navg_margin_bps = 20\n\
             max_margin_bps = 50\nmin_amount = 1\navg_amount = 1\nmax_amount = 2\n"
        )
    };
    // 2496 is 16 bps below the mid.
    let scene = Scene::new(249_900, 250_100, 0, 50_000).with_own(Buy, 249_600, 10_000);
    let decided = |fee| text(&scene.decide(&mut bands(&table(fee))));
    assert_eq!(decided(16), "buy 249600 x 10000 @0\n");
    assert_eq!(decided(17), "buy 249500 x 10000 @0\n");
    assert_eq!(decided(20), "buy 249500 x 10000 @0\n");
    let refused = INFO.build_from(&table(21).parse().unwrap(), &market());
    assert_eq!(
        refused.err().unwrap().to_string(),
        "buy_bands[0].avg_margin_bps: 20 is below fee_bps 21"
    );
}

/// A pair of stable tokens: no bid above the peg's lower price, no ask below its upper one, and no quotes when the mid
/// has left the peg.
#[test]
fn a_peg_limits_prices_and_stops_quotes_when_it_breaks() {
    let table = "buy_price_max = 2495\nsell_price_min = 2505\ndepeg_bps = 100\n\
                 [[buy_bands]]\nmin_margin_bps = 5\navg_margin_bps = 10\nmax_margin_bps = 50\n\
                 min_amount = 1\navg_amount = 1\nmax_amount = 2\n\
                 [[sell_bands]]\nmin_margin_bps = 5\navg_margin_bps = 10\nmax_margin_bps = 50\n\
                 min_amount = 1\navg_amount = 1\nmax_amount = 2\n";
    let quotes = |scene: &Scene| text(&scene.decide(&mut bands(table)));
    assert_eq!(
        quotes(&Scene::new(249_900, 250_100, 5, 50_000)),
        "buy 249500 x 10000 @0\nsell 250500 x 10000 @0\n"
    );
    // At 2510 a bid at 2495 would be out of its band; the asks follow the mid.
    let high = Scene::new(250_900, 251_100, 5, 50_000).with_own(Buy, 250_700, 10_000);
    let targets = high.decide(&mut bands(table));
    assert_eq!(text(&targets), "sell 251251 x 10000 @0\n");
    let why = targets.withheld(Buy).unwrap();
    assert_eq!(why.key(), Some("market.strategy.params.buy_price_max"));
    // One per cent from the peg, and a tick more.
    assert_ne!(quotes(&Scene::new(247_490, 247_510, 5, 50_000)), "");
    let broken = Scene::new(247_489, 247_509, 5, 50_000).with_own(Buy, 247_300, 10_000);
    let targets = broken.decide(&mut bands(table));
    assert_eq!(text(&targets), "");
    let why = targets.withheld(Sell).unwrap();
    assert_eq!(why.key(), Some("market.strategy.params.depeg_bps"));
}

/// The innermost band that has the price before the others' best is topped up there, and those further out at their
/// averages. Without such a band all are, as without orders of others.
#[test]
fn a_top_up_is_one_tick_in_front_of_the_others_where_a_band_has_that_price() {
    let band = |side: &str, min: u32, avg: u32, max: u32| {
        format!(
            "[[{side}_bands]]\nmin_margin_bps = {min}\navg_margin_bps = {avg}\nmax_margin_bps = {max}\n\
             min_amount = 1\navg_amount = 1\nmax_amount = 1\n"
        )
    };
    let quotes = |bid: u64, ask: u64, depth: &str| {
        let mut table =
            format!("order_optimization_enabled = true\norder_optimization_depth = {depth}\n");
        for side in ["buy", "sell"] {
            table += &band(side, 10, 20, 40);
            table += &band(side, 40, 60, 120);
        }
        let scene = Scene::new(bid, ask, 10, 25_000);
        text(&scene.decide(&mut bands(&table)))
    };
    let averages = "buy 249500 x 10000 @0\nbuy 248500 x 10000 @1\n\
                    sell 250500 x 10000 @0\nsell 251500 x 10000 @1\n";
    // Others within the average margin, and none.
    assert_eq!(quotes(249_499, 250_501, "0"), averages);
    assert_eq!(quotes(249_000, 251_000, "1000000"), averages);
    // Within the inner band, whose outer edge is 249,000 and excluded.
    let inner = |bid: u64, ask: u64| {
        format!(
            "buy {bid} x 10000 @0\nbuy 248500 x 10000 @1\nsell {ask} x 10000 @0\nsell 251500 x 10000 @1\n"
        )
    };
    assert_eq!(quotes(249_498, 250_502, "0"), inner(249_499, 250_501));
    assert_eq!(quotes(249_000, 251_000, "0"), inner(249_001, 250_999));
    // At the edge it is the outer band that has the price, there within its average margin, then further.
    let outer = |bid: u64, ask: u64| format!("buy {bid} x 10000 @0\nsell {ask} x 10000 @0\n");
    assert_eq!(quotes(248_999, 251_001, "0"), outer(248_500, 251_500));
    assert_eq!(quotes(248_000, 252_000, "0"), outer(248_001, 251_999));
    assert_eq!(quotes(247_000, 253_000, "0"), outer(247_001, 252_999));
    // Further than every band.
    assert_eq!(quotes(246_999, 253_001, "0"), averages);
}

/// Samples for the tests of the registry: each parameter must change a decision.
pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        table: "order_optimization_enabled = true\ndust_cutoff = 0.1\nbuy_price_max = 2499\nsell_price_min = 2501\n\
                moving_band_bps = 1\n\
                [[buy_bands]]\nmin_margin_bps = 10\navg_margin_bps = 20\nmax_margin_bps = 50\n\
                min_amount = 1\navg_amount = 2\nmax_amount = 3\n\
                [[sell_bands]]\nmin_margin_bps = 10\navg_margin_bps = 20\nmax_margin_bps = 50\n\
                min_amount = 1\navg_amount = 2\nmax_amount = 3\n",
        changes: &[
            ("buy_bands", "[]"),
            ("sell_bands", "[]"),
            ("dust_cutoff", "3"),
            ("order_optimization_enabled", "false"),
            ("order_optimization_depth", "2"),
            ("fee_bps", "20"),
            ("price_floor", "2600"),
            ("price_ceiling", "2400"),
            ("buy_price_max", "2400"),
            ("sell_price_min", "2600"),
            ("depeg_bps", "1"),
            ("moving_band_bps", "10000"),
            ("moving_band_s", "10"),
            ("buy_bands.min_margin_bps", "20"),
            ("buy_bands.avg_margin_bps", "21"),
            ("buy_bands.max_margin_bps", "30"),
            ("buy_bands.min_amount", "1.5"),
            ("buy_bands.avg_amount", "2.5"),
            ("buy_bands.max_amount", "2"),
        ],
        reasons: &["no_passive_price", "strategy_funds", "strategy_price"],
    },
    Sample {
        table: "reference = [{ source = \"micro_price\" }, { source = \"depth\", amount = 0.5 }, { source = \"fixed\", price = 2500.4, weight = 2 }, { source = \"pool\" }, { source = \"feed\", feed = \"elsewhere\" }, { source = \"market\", market = \"ETH-BTC\", via = \"BTC-USDC\" }]\nreference_sources_min = 2\nreference_rule = \"weighted\"\n\
                [[buy_bands]]\nmin_margin_bps = 10\navg_margin_bps = 20\nmax_margin_bps = 50\n\
                min_amount = 1\navg_amount = 2\nmax_amount = 3\n",
        changes: REFERENCE_CHANGES,
        reasons: &["no_fair_price", "not_configured"],
    },
];
