//! Published numbers of the models as prices, estimates from simulated observations, and properties.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Side::{Buy, Sell};
use cambist_core::Time;
use cambist_core::strategy::Quote;

use super::*;
use crate::testing::{REFERENCE_CHANGES, Random, Sample, Scene, market, own, text};

/// The parameters of figures 4 and 5 of arXiv 1105.3115v5 (volatility of the first), 600 s before the end.
const PAPER: &str = "order_amount = 1\nvolatility_bps = 0.3\nintensity_per_s = 0.9\n\
                     decay_per_bps = 0.3\nrisk_aversion = 0.01\ninventory_bound = 30\n\
                     horizon_s = 600\nimpact_bps = 0\nfee_bps = 0\nestimate_range = 1\n";
/// The experiment of Avellaneda and Stoikov 2008, page 222, one second before the end.
const EXPERIMENT: &str = "order_amount = 1\nvolatility_bps = 2\nintensity_per_s = 140\n\
                          decay_per_bps = 1.5\nrisk_aversion = 0.1\ninventory_bound = 10\n\
                          horizon_s = 1\nimpact_bps = 0\nfee_bps = 0\nestimate_range = 1\n";

fn glft(table: &str) -> Glft {
    let table = table.parse().unwrap();
    Glft::new(&Params::read(INFO.parameters, &table).unwrap(), &market()).unwrap()
}

fn refused(table: &str) -> String {
    let table = table.parse().unwrap();
    let params = Params::read(INFO.parameters, &table);
    let built = params.and_then(|params| Glft::new(&params, &market()));
    built.err().unwrap().to_string()
}

/// A mid of 2.5 million, so that a tick is 0.00004 bps, and holdings of `above` orders of 1 ETH above a target of 15.
fn scene(above: i32) -> Scene {
    let eth = u128::try_from(15 + above).unwrap();
    Scene::new(249_999_999, 250_000_001, eth, (30 - eth) * 2_500_000)
}

/// Distances of bids and asks from the mid, bps.
fn distances(scene: &Scene, strategy: &mut Glft) -> (Vec<f64>, Vec<f64>) {
    let targets = scene.decide(strategy);
    let of = |side| {
        let quotes = targets.quotes().iter().filter(|quote| quote.side == side);
        let away = quotes.map(|quote| {
            let price = i64::try_from(quote.price.0).unwrap();
            lots((price - 250_000_000).abs().into()) / 25_000.0
        });
        away.collect()
    };
    (of(Buy), of(Sell))
}

#[track_caller]
fn near(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{got:?} {expected:?}");
    for (got, expected) in got.iter().zip(expected) {
        // Prices are rounded away from the mid, and the numbers have six decimals.
        let off = got - expected;
        assert!((-1e-6..5e-5).contains(&off), "{got} is not {expected}");
    }
}

/// Distances by inventory as computed by other programs: with the paper's parameters, Q = 30, 600 s; and with those of
/// Avellaneda and Stoikov's experiment, Q = 10, 1 s.
#[test]
fn prices_match_the_exact_table() {
    let mut paper = glft(PAPER);
    for (inventory, bid, ask) in [
        (0, 3.313_045, 3.313_045),
        (1, 3.381_168, 3.244_919),
        (-1, 3.244_919, 3.381_168),
        (5, 3.653_479, 2.972_522),
        (10, 3.992_933, 2.632_802),
        (-10, 2.632_802, 3.992_933),
    ] {
        let (bids, asks) = distances(&scene(inventory), &mut paper);
        near(&bids, &[bid]);
        near(&asks, &[ask]);
    }
    // At the exact distances the asks of this table cross the mid; the minimum spread applies there.
    let mut experiment = glft(EXPERIMENT);
    for (inventory, bid) in [
        (0, 0.724_123),
        (2, 0.776_497),
        (5, 0.932_813),
        (9, 1.262_762),
    ] {
        let (bids, _) = distances(&scene(inventory), &mut experiment);
        near(&bids, &[f64::max(bid, 1.0)]);
    }
}

#[test]
fn avellaneda_and_stoikov_skew_as_published() {
    let table = format!("model = \"avellaneda_stoikov\"\n{EXPERIMENT}");
    // Half-spread γσ²τ/2 + ln(1+γ/k)/γ = 0.2 + 0.645385, reservation price mid − qγσ²τ.
    let (bids, asks) = distances(&scene(3), &mut glft(&table));
    near(&bids, &[2.045_385]);
    // 0.845385 − 1.2 is beyond the mid.
    near(&asks, &[1.0]);
    let (bids, asks) = distances(&scene(-3), &mut glft(&table));
    near(&bids, &[1.0]);
    near(&asks, &[2.045_385]);
    let dear = table
        .replace("fee_bps = 0", "fee_bps = 2")
        .replace("impact_bps = 0", "impact_bps = 3");
    near(
        &distances(&scene(0), &mut glft(&dear)).0,
        &[0.845_385 + 2.0 + 1.5],
    );
}

/// Without risk aversion and without an end the values are the lowest state of a path of 2Q + 1 nodes,
/// cos(πq/(2Q+2)), whatever the intensity: 1/k + ln(v₀/v₁)/k + fee + ξ/2.
#[test]
fn fee_and_adverse_selection_widen_both_sides() {
    let neutral = PAPER
        .replace("risk_aversion = 0.01", "risk_aversion = 0")
        .replace("horizon_s = 600", "horizon_s = 0");
    let plain = (1.0 - libm_ln_cos()) / 0.3;
    near(&distances(&scene(0), &mut glft(&neutral)).0, &[plain]);
    let costs = neutral
        .replace("fee_bps = 0", "fee_bps = 2")
        .replace("impact_bps = 0", "impact_bps = 3");
    let (bids, asks) = distances(&scene(0), &mut glft(&costs));
    near(&bids, &[plain + 3.5]);
    near(&asks, &[plain + 3.5]);
    let rising = format!("{neutral}drift_bps_per_s = 0.01\n");
    let (bids, asks) = distances(&scene(0), &mut glft(&rising));
    assert!(bids[0] < plain && asks[0] > plain, "{bids:?} {asks:?}");
}

fn libm_ln_cos() -> f64 {
    (std::f64::consts::PI / 62.0).cos().ln()
}

#[test]
fn a_further_level_is_quoted_as_if_the_one_before_had_filled() {
    let (bids, asks) = distances(&scene(0), &mut glft(&format!("{PAPER}order_levels = 2\n")));
    near(&bids, &[3.313_045, 3.381_168]);
    near(&asks, &[3.313_045, 3.381_168]);
    // Half an order above the target: between the two neighbours.
    let mut half = scene(0);
    half.holdings.base += 10_u128.pow(18) / 2;
    half.holdings.quote -= 1_250_000 * 1_000_000;
    near(
        &distances(&half, &mut glft(PAPER)).0,
        &[f64::midpoint(3.313_045, 3.381_168)],
    );
}

#[test]
fn levels_of_a_side_are_numbered_from_the_nearest() {
    let targets = scene(0).decide(&mut glft(&format!("{PAPER}order_levels = 3\n")));
    for side in [Buy, Sell] {
        let quotes = targets.quotes().iter().filter(|quote| quote.side == side);
        let levels: Vec<_> = quotes.map(|quote| quote.level).collect();
        assert_eq!(levels, [0, 1, 2]);
    }
}

#[test]
fn an_order_near_its_level_keeps_its_price() {
    let tolerant = format!("{PAPER}order_levels = 2\norder_refresh_tolerance_bps = 1\n");
    let quoted = |own: &[u64]| {
        let near = own
            .iter()
            .fold(scene(0), |scene, price| scene.with_own(Buy, *price, 10_000));
        let targets = near.decide(&mut glft(&tolerant));
        let bids = targets.quotes().iter().filter(|quote| quote.side == Buy);
        bids.map(|quote| quote.price.0).collect::<Vec<_>>()
    };
    // The targets are 3.313045 and 3.381168 bps below 250,000,000; 1 bp of a price is 25,000 ticks.
    let (first, second) = (249_917_173, 249_915_470);
    assert_eq!(quoted(&[]), [first, second]);
    assert_eq!(
        quoted(&[first - 1_000, second - 20_000]),
        [first - 1_000, second - 20_000]
    );
    assert_eq!(
        quoted(&[first + 1_000, second - 25_000]),
        [first + 1_000, second]
    );
    // One order for two levels: it is not known which level it belongs to.
    assert_eq!(quoted(&[first - 1_000]), [first, second]);
    // Beyond the next level's new price.
    assert_eq!(quoted(&[first - 2_000, second - 25_000]), [first, second]);
}

#[test]
fn no_quote_could_exceed_the_bound() {
    let table = PAPER.replace("inventory_bound = 30", "inventory_bound = 3");
    let table = format!("{table}order_levels = 3\n");
    let sides = |above| {
        let (bids, asks) = distances(&scene(above), &mut glft(&table));
        (bids.len(), asks.len())
    };
    assert_eq!(sides(0), (3, 3));
    assert_eq!(sides(1), (2, 3));
    assert_eq!(sides(3), (0, 3));
    assert_eq!(sides(-3), (3, 0));
    // Beyond the bound it quotes as at the bound: three levels are one order.
    assert_eq!(sides(7), (0, 1));
    let why = scene(4).decide(&mut glft(&table)).withheld(Buy).unwrap();
    assert_eq!(
        (why.control, why.value, why.limit, why.key()),
        (
            Control::StrategySkew,
            Some(40_000),
            Some(30_000),
            Some("market.strategy.params.inventory_bound")
        )
    );
}

#[test]
fn without_a_finite_result_nothing_is_quoted() {
    // A day left, and a tenth of it in the skew of every order: the bid would be far below zero.
    let table = EXPERIMENT
        .replace("horizon_s = 1\n", "horizon_s = 86400\n")
        .replace("volatility_bps = 2", "volatility_bps = 0.5");
    let table = format!("model = \"avellaneda_stoikov\"\n{table}");
    let targets = scene(9).decide(&mut glft(&table));
    assert_eq!(
        targets.withheld(Buy).map(|why| why.control),
        Some(Control::NoFairPrice)
    );
    assert!(targets.quotes().iter().all(|quote| quote.side == Sell));
    let settings = glft(PAPER).settings;
    let sound = Estimates {
        sigma: 1.0,
        intensity: 1.0,
        decay: 1.0,
    };
    assert!(Distances::new(&settings, &sound).is_ok());
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        for estimates in [
            Estimates {
                sigma: bad,
                ..sound
            },
            Estimates {
                intensity: bad,
                ..sound
            },
            Estimates {
                decay: bad,
                ..sound
            },
        ] {
            assert!(
                Distances::new(&settings, &estimates).is_err(),
                "{estimates:?}"
            );
        }
        let formula = Settings {
            model: Model::AvellanedaStoikov,
            ..settings
        };
        let of = Estimates {
            sigma: bad,
            ..sound
        };
        let at = Distances::new(&formula, &of).and_then(|solved| solved.at(Buy, 0.0));
        assert!(at.is_err(), "{bad}");
    }
}

#[test]
fn contradicting_parameters_are_refused_by_name() {
    for (changed, to, message) in [
        (
            "order_amount = 1\n",
            "order_amount = 0\n",
            "order_amount: must be above zero",
        ),
        (
            "horizon_s = 600\n",
            "model = \"avellaneda_stoikov\"\n",
            "horizon_s: must be above 0 for avellaneda_stoikov",
        ),
        (
            "inventory_bound = 30\n",
            "inventory_bound = 2\norder_levels = 3\n",
            "order_levels: more than inventory_bound 2: the outer ones would never be placed",
        ),
        (
            "horizon_s = 600\n",
            "model = \"as\"\n",
            "model: \"as\" is out of range, allowed is glft, avellaneda_stoikov",
        ),
        (
            "decay_per_bps = 0.3\nrisk_aversion = 0.01\n",
            "decay_per_bps = 0.00001\nrisk_aversion = 0\n",
            "decay_per_bps: without inventory the bid would be",
        ),
        ("fee_bps = 0\n", "", "fee_bps: must be given"),
    ] {
        let message_got = refused(&PAPER.replace(changed, to));
        assert!(message_got.starts_with(message), "{message_got}");
    }
}

/// Moves the mid by `step` half ticks up or down every second, a random walk.
fn walk(random: &mut Random, scene: &mut Scene, step: u64) {
    scene.now = scene.now.plus_ms(1_000);
    let up = random.chance(5);
    let moved = |price: u64| if up { price + step } else { price - step };
    for level in scene.bids.iter_mut().chain(&mut scene.asks) {
        level.price.0 = moved(level.price.0);
    }
    scene.mid = scene.bids[0].price.0 + scene.asks[0].price.0;
}

fn assumed(range: f64) -> Assumed {
    Assumed {
        estimates: Estimates {
            sigma: 1.0,
            intensity: 0.1,
            decay: 0.2,
        },
        range,
        mids: 600,
        half_life_s: 3_600.0,
    }
}

#[test]
fn volatility_is_that_of_the_mids_within_its_bounds() {
    // 5,000 ticks of a mid of 2.5 million in ticks of 0.01 are 0.2 bps a second.
    let seen = |range| {
        let mut random = Random(7);
        let mut estimators = Estimators::new(assumed(range)).unwrap();
        let mut moving = scene(0);
        estimators.observe(&moving.view()).unwrap();
        assert!((estimators.estimates(&moving.view()).unwrap().sigma - 1.0).abs() < 1e-12);
        for _ in 0..1_500 {
            walk(&mut random, &mut moving, 5_000);
            estimators.observe(&moving.view()).unwrap();
        }
        estimators.estimates(&moving.view()).unwrap().sigma
    };
    let wide = seen(100.0);
    assert!((wide / 0.2 - 1.0).abs() < 0.25, "{wide}");
    assert!(
        (seen(2.0) - 0.5).abs() < 1e-12,
        "not below half of what is assumed"
    );
    assert!((seen(1.0) - 1.0).abs() < 1e-12, "a range of 1 fixes it");
}

#[test]
fn a_mid_that_bounces_between_two_prices_is_not_volatile() {
    let mut estimators = Estimators::new(assumed(1_000.0)).unwrap();
    let mut scene = scene(0);
    for second in 0..1_200_u64 {
        scene.now = scene.now.plus_ms(1_000);
        // Half a bp up, half a bp down, every second.
        scene.mid = 500_000_000 + (second % 2) * 25_000;
        estimators.observe(&scene.view()).unwrap();
    }
    let sigma = estimators.estimates(&scene.view()).unwrap().sigma;
    // Squared changes would give 0.5; the two-scale estimate gives little, or nothing (then the configured value
    // applies).
    assert!(sigma < 0.1 || (sigma - 1.0).abs() < 1e-12, "{sigma}");
}

/// Orders at 3 and 9 bps, filled as often as by an intensity of 0.5·e^(−0.3δ).
#[test]
fn intensity_is_that_of_own_fills() {
    let mut estimators = Estimators::new(assumed(100.0)).unwrap();
    let mut random = Random(3);
    let mut scene = scene(0);
    let mut number = 0;
    for _ in 0..40_000 {
        scene.now = scene.now.plus_ms(1_000);
        scene.own.clear();
        scene.fills.clear();
        number += 2;
        let (near, far) = (250_000_000 - 75_000, 250_000_000 - 225_000);
        // Every order rests a second: it is observed now, and filled or gone at the next decision.
        scene.own.push(own(number, Buy, near, 10_000));
        scene.own.push(own(number + 1, Buy, far, 10_000));
        estimators.observe(&scene.view()).unwrap();
        scene.now = scene.now.plus_ms(1_000);
        for (order, per_million) in [(number, 203_285), (number + 1, 33_603)] {
            if random.below(1_000_000) < per_million {
                let mut filled = scene.clone().with_fill(Buy).fills.remove(0);
                filled.order.number = order;
                scene.fills.push(filled.clone());
                // The rest of it fills too: still one fill.
                scene.fills.push(filled);
            }
        }
        estimators.observe(&scene.view()).unwrap();
        scene.own.clear();
        scene.fills.clear();
        estimators.observe(&scene.view()).unwrap();
    }
    let Estimates {
        intensity, decay, ..
    } = estimators.estimates(&scene.view()).unwrap();
    // A filled order does not rest after its fill, so rates are those of orders that did not fill.
    assert!((0.4..0.75).contains(&intensity), "{intensity}");
    assert!((0.25..0.36).contains(&decay), "{decay}");
    // Without fills the intensity falls, and quotes move in to the bound, but stay.
    let mut quiet = Estimators::new(assumed(5.0)).unwrap();
    scene.own = vec![own(1, Buy, 250_000_000 - 75_000, 10_000)];
    for _ in 0..20_000 {
        scene.now = scene.now.plus_ms(1_000);
        quiet.observe(&scene.view()).unwrap();
    }
    let quiet = quiet.estimates(&scene.view()).unwrap();
    assert!((quiet.intensity - 0.02).abs() < 1e-9, "{quiet:?}");
}

#[test]
fn observations_survive_a_snapshot() {
    let table = PAPER.replace(
        "estimate_range = 1\n",
        "estimate_range = 20\nvolatility_window_s = 60\n",
    );
    let mut random = Random(11);
    let (mut straight, mut moving) = (glft(&table), scene(0));
    let moment = |random: &mut Random, moving: &mut Scene, second: u64| {
        walk(random, moving, 9_000);
        moving.own = vec![own(
            second / 20,
            Buy,
            moving.bids[0].price.0 - 70_000,
            10_000,
        )];
        moving.fills.clear();
        if second % 20 == 19 {
            let mut fill = moving.clone().with_fill(Buy).fills.remove(0);
            fill.order.number = second / 20;
            moving.fills.push(fill);
        }
    };
    for second in 0..90 {
        moment(&mut random, &mut moving, second);
        moving.decide(&mut straight);
    }
    let (saved, mut restored) = (straight.save(), glft(&table));
    assert!(restored.restore(&saved));
    let mut fresh = glft(&table);
    let mut differs = false;
    for second in 90..150 {
        moment(&mut random, &mut moving, second);
        let expected = text(&moving.decide(&mut straight));
        assert_eq!(text(&moving.decide(&mut restored)), expected);
        differs |= text(&moving.decide(&mut fresh)) != expected;
    }
    assert!(differs, "observations must affect a decision");
    assert_eq!(straight.save(), restored.save());

    assert!(!restored.restore(&[9, 9]) && !restored.restore(b"nonsense"));
    assert_eq!(
        restored.save(),
        glft(&table).save(),
        "observations are dropped"
    );
    assert!(restored.restore(&[]));
    let other = table.replace("volatility_window_s = 60", "volatility_window_s = 61");
    let mut other_window = glft(&other);
    assert!(other_window.restore(&saved));
    assert_eq!(
        other_window.save(),
        glft(&other).save(),
        "another window drops observations"
    );
}

#[test]
fn a_time_of_another_origin_causes_no_delay() {
    let mut strategy = glft(PAPER);
    let mut moving = scene(0);
    moving.now = Time::from_ms(9_000_000_000);
    let before = text(&moving.decide(&mut strategy));
    let saved = strategy.save();
    assert!(strategy.restore(&saved));
    moving.now = Time::from_ms(5);
    assert_eq!(text(&moving.decide(&mut strategy)), before);
}

#[test]
fn quotes_in_random_markets_are_valid() {
    let table = "order_amount = 0.5\norder_levels = 3\nvolatility_bps = 1\nintensity_per_s = 0.1\n\
                 decay_per_bps = 0.1\nfee_bps = 2\nvolatility_window_s = 60\n";
    let mut strategy = glft(table);
    for seed in 0..4_000 {
        let mut scene = Random(seed).scene();
        scene.now = scene.now.plus_ms(seed * 700);
        let targets = scene.decide(&mut strategy);
        let best = |side: Side| {
            let of_side = |quote: &&Quote| quote.side == side;
            targets
                .quotes()
                .iter()
                .find(of_side)
                .map(|quote| quote.price)
        };
        if let (Some(bid), Some(ask)) = (best(Buy), scene.asks.first()) {
            assert!(bid < ask.price, "{seed}");
        }
        if let (Some(ask), Some(bid)) = (best(Sell), scene.bids.first()) {
            assert!(ask > bid.price, "{seed}");
        }
        if let (Some(bid), Some(ask)) = (best(Buy), best(Sell)) {
            assert!(bid < ask, "{seed}");
        }
        let again = scene.resting(&targets).decide(&mut strategy);
        assert_eq!(text(&again), text(&targets), "{seed}");
    }
}

/// Samples for the tests of the registry: each parameter must change a decision.
pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        table: "order_amount = 1\norder_levels = 2\nvolatility_bps = 1\nintensity_per_s = 0.1\n\
                decay_per_bps = 0.1\nfee_bps = 2\nvolatility_window_s = 60\nhorizon_s = 600\n\
                buy_price_max = 2499\nsell_price_min = 2501\nmoving_band_bps = 1\n",
        changes: &[
            ("model", "\"avellaneda_stoikov\""),
            ("order_amount", "1.1"),
            ("order_levels", "1"),
            ("inventory_target_base_bps", "4900"),
            ("inventory_bound", "2"),
            ("risk_aversion", "0.02"),
            ("volatility_bps", "1.5"),
            ("intensity_per_s", "0.2"),
            ("decay_per_bps", "0.2"),
            ("estimate_range", "1"),
            ("volatility_window_s", "600"),
            ("intensity_half_life_s", "60"),
            ("fee_bps", "3"),
            ("impact_bps", "2"),
            ("drift_bps_per_s", "0.01"),
            ("horizon_s", "0"),
            ("minimum_spread_bps", "30"),
            ("order_refresh_tolerance_bps", "20"),
            ("price_floor", "2600"),
            ("price_ceiling", "2400"),
            ("buy_price_max", "2400"),
            ("sell_price_min", "2600"),
            ("depeg_bps", "1"),
            ("moving_band_bps", "10000"),
            ("moving_band_s", "10"),
        ],
        reasons: &["strategy_funds", "strategy_price", "strategy_skew"],
    },
    Sample {
        table: "reference = [{ source = \"micro_price\" }, { source = \"depth\", amount = 0.5 }, { source = \"fixed\", price = 2500.4, weight = 2 }, { source = \"pool\" }, { source = \"feed\", feed = \"elsewhere\" }, { source = \"market\", market = \"ETH-BTC\", via = \"BTC-USDC\" }]\nreference_sources_min = 2\nreference_rule = \"weighted\"\n\
                order_amount = 1\nvolatility_bps = 1\nintensity_per_s = 0.1\ndecay_per_bps = 0.1\nfee_bps = 2\n",
        changes: REFERENCE_CHANGES,
        reasons: &["no_fair_price", "strategy_skew"],
    },
];
