//! What counts as held, both sides of every limit, and that nothing is traded on what is not known.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::Side::{Buy, Sell};

use super::*;
use crate::testing::{Sample, Scene, market, own, pool, text, there};

/// Samples for the tests of the registry.
pub(crate) const SAMPLES: &[Sample] = &[Sample {
    table: "others = [{ market = \"there:ETH-USDC\" }]\nbase_target = 12\ntolerance = 0.5\n\
            open_amount_max = 2\nunwind_bps = 30\n",
    changes: &[
        ("others", "[{ market = \"nowhere:ETH-USDC\" }]"),
        ("others.market", "\"nowhere:ETH-USDC\""),
        ("base_target", "12.6"),
        ("tolerance", "1"),
        ("open_amount_max", "0.9"),
        ("unwind_bps", "40"),
    ],
    reasons: &["no_fair_price"],
}];

/// 11 ETH here; 1 in the wallet and 1 in pool shares there.
fn scene() -> Scene {
    let mut scene = Scene::new(249_900, 250_100, 11, 26_000);
    scene.elsewhere = vec![there()];
    scene
}

fn table(target: &str) -> String {
    format!(
        "others = [{{ market = \"there:ETH-USDC\" }}]\nbase_target = {target}\nopen_amount_max = 2\nunwind_bps = 30\n"
    )
}

fn decide(table: &str, scene: &Scene) -> Targets {
    let mut strategy = INFO.build_from(&table.parse().unwrap(), &market()).unwrap();
    scene.decide(strategy.as_mut())
}

/// Quotes, or the reason that both sides state.
fn stated(target: &str, scene: &Scene) -> String {
    let targets = decide(&table(target), scene);
    if !targets.quotes().is_empty() {
        return text(&targets);
    }
    let why = Side::BOTH.map(|side| targets.withheld(side).unwrap().control.name());
    assert_eq!(why[0], why[1]);
    why[0].to_owned()
}

#[test]
fn base_at_all_venues_is_traded_towards_the_target() {
    // 13 together; 30 bps from the mid of 2,500, rounded towards it.
    assert_eq!(stated("13", &scene()), "not_configured");
    assert_eq!(stated("12", &scene()), "sell 249250 x 10000 @0\n");
    assert_eq!(stated("13.5", &scene()), "buy 250750 x 5000 @0\n");
    // The pool beside this market counts as well: 2 of its 100 ETH.
    let mut beside = scene();
    beside.pool = Some(pool(20));
    assert_eq!(stated("15", &beside), "not_configured");
    assert_eq!(stated("14", &beside), "sell 249250 x 10000 @0\n");
    // What an order may still fill is not ordered again.
    let mut unknown = scene();
    unknown.unknown = [0, 4 * 10_u128.pow(17)];
    assert_eq!(stated("12", &unknown), "sell 249250 x 6000 @0\n");
    let resting = scene().with_own(Sell, 249_250, 9_999);
    assert_eq!(stated("12", &resting), "sell 249250 x 9999 @0\n");
    // Orders that stay have a level each, and what is missing the next one.
    let several = scene()
        .with_own(Sell, 249_250, 3_000)
        .with_own(Sell, 249_250, 2_000);
    assert_eq!(
        stated("12", &several),
        "sell 249250 x 3000 @0\nsell 249250 x 2000 @1\nsell 249250 x 4998 @2\n"
    );
}

#[test]
fn both_sides_of_its_limits() {
    assert_eq!(stated("11", &scene()), "sell 249250 x 20000 @0\n");
    assert_eq!(stated("10.9999", &scene()), "strategy_skew");
    assert_eq!(stated("15", &scene()), "buy 250750 x 20000 @0\n");
    assert_eq!(stated("15.0001", &scene()), "strategy_skew");
    let tolerant = |target: &str| {
        let table = format!("{}tolerance = 0.5\n", table(target));
        text(&decide(&table, &scene()))
    };
    assert_eq!(tolerant("12.5"), "");
    assert_eq!(tolerant("12.4999"), "sell 249250 x 5001 @0\n");
}

#[test]
fn nothing_is_traded_on_what_is_not_known() {
    let with = |change: fn(&mut crate::testing::Elsewhere)| {
        // An order of before is cancelled.
        let mut scene = scene();
        scene.own.push(own(1, Buy, 249_000, 100));
        change(&mut scene.elsewhere[0]);
        stated("12", &scene)
    };
    assert_eq!(with(|_| ()), "sell 249250 x 10000 @0\n");
    assert_eq!(with(|there| there.holdings = None), "no_fair_price");
    let undecided = with(|there| {
        if let Some(held) = &mut there.holdings {
            held.undecided = true;
        }
    });
    assert_eq!(
        undecided, "sell 249250 x 10000 @0\n",
        "it counts when it is booked"
    );
    let stale = with(|there| {
        if let Some(held) = &mut there.holdings {
            held.pooled_base = None;
        }
    });
    assert_eq!(stale, "no_fair_price");
    // The same tokens the other way round: its base is not ours.
    let inverse = with(|there| {
        let spec = &mut there.market;
        std::mem::swap(&mut spec.base, &mut spec.quote);
    });
    assert_eq!(inverse, "no_fair_price");
    // Its book does not matter: the book here is traded on.
    assert_eq!(with(|there| there.bids.clear()), "sell 249250 x 10000 @0\n");
    let mut missing = scene();
    missing.elsewhere.clear();
    assert_eq!(stated("12", &missing), "no_fair_price");
}

#[test]
fn tables_that_contradict_themselves_are_refused() {
    let refused = |from: &str, to: &str| {
        let text = format!("{}tolerance = 0.5\n", table("12"));
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let built = INFO.build_from(&changed.parse().unwrap(), &market());
        built.map(drop).unwrap_err().to_string()
    };
    assert!(refused("there:", "").contains("another venue"));
    let twice = refused("}]", "}, { market = \"there:ETH-USDC\" }]");
    assert!(twice.contains("named twice"), "{twice}");
    let none = refused("{ market = \"there:ETH-USDC\" }", "");
    assert!(none.contains("must name a market"), "{none}");
    assert!(refused("tolerance = 0.5", "tolerance = 2").contains("below open_amount_max"));
    assert!(refused("open_amount_max = 2", "open_amount_max = 0").contains("one lot"));
    assert!(refused("there:ETH-USDC", "th ere:ETH-USDC").contains("venue:market"));
    assert!(refused("there:ETH-USDC", "there:").contains("venue:market"));
}
