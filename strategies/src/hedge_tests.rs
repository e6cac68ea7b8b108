//! What counts as held, both sides of every limit, and that nothing is traded on what is not known.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::Side::{Buy, Sell};
use cambist_core::elsewhere::{OtherHoldings, Published, Units};
use cambist_core::venue::FeeToken;

use super::*;
use crate::testing::{Random, Sample, Scene, market, own, pool, text, there};

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

/// Where the fee is taken of what is bought, a bid buys it as well, within the limit; in quote there is none in base.
#[test]
fn a_bid_buys_its_fee_as_well() {
    let stated = |target: &str, fee_in| {
        let mut scene = scene();
        scene.taker_fee_bips = 10;
        scene.market.fee_in = fee_in;
        stated(target, &scene)
    };
    // 0.5005 less a thousandth is 0.4999995.
    assert_eq!(stated("13.5", FeeToken::Bought), "buy 250750 x 5005 @0\n");
    assert_eq!(stated("12", FeeToken::Bought), "sell 249250 x 10000 @0\n");
    assert_eq!(stated("13.5", FeeToken::Quote), "buy 250750 x 5000 @0\n");
    // No order is larger than open_amount_max: the rest is a distance of its own.
    assert_eq!(stated("14.99", FeeToken::Bought), "buy 250750 x 19919 @0\n");
    assert_eq!(
        stated("14.999", FeeToken::Bought),
        "buy 250750 x 20000 @0\n"
    );
    assert_eq!(stated("15", FeeToken::Bought), "buy 250750 x 20000 @0\n");
}

/// Of any distance and fee: no more arrives than is missing, and with another lot more would.
#[test]
fn what_arrives_closes_a_distance_to_within_a_lot() {
    for seed in 0..2_000 {
        let mut random = Random(seed);
        let open = Amount::from(random.next() >> (random.below(40) + 4)) * 13;
        let fee_bips = u16::try_from(random.below(1_000)).unwrap();
        let market = market();
        let lots = crate::closing::lots_due(&market, fee_bips, (Buy, open));
        let arrives = |lots: u64| {
            let bought = market.lot * Amount::from(lots);
            bought - (bought * Amount::from(fee_bips)).div_ceil(10_000)
        };
        assert!(arrives(lots.0) <= open, "{open} {fee_bips}");
        assert!(arrives(lots.0 + 1) > open, "{open} {fee_bips}");
    }
    // A fee of everything is none that a bid could buy.
    let all = crate::closing::lots_due(&market(), 10_000, (Buy, 10_u128.pow(18)));
    assert_eq!(all.0, 10_000);
}

/// The market takes no less than 10 lots, or what is worth 25 USDC at the limit.
#[test]
fn a_distance_below_the_smallest_order_is_stated() {
    let of = |target: &str, more: u128, [base, quote]: [u128; 2]| {
        let mut scene = scene();
        scene.taker_fee_bips = 1_000;
        (scene.market.base.minimum, scene.market.quote.minimum) = (base, quote);
        scene.holdings.base += more;
        let targets = decide(&table(target), &scene);
        if !targets.quotes().is_empty() {
            return Err(text(&targets));
        }
        let why = targets.withheld(Sell).unwrap();
        assert_eq!(why.control, Control::NotConfigured);
        let is_stated = why.value.is_some();
        assert_eq!(why.unit, if is_stated { Unit::Base } else { Unit::None });
        Ok((why.value, why.limit))
    };
    let lot = 10_i128.pow(14);
    let least = [10 * market().lot, 1];
    let both = |open: i128, limit: i128| Ok((Some(open), Some(limit)));
    assert_eq!(of("13", 0, least), Ok((None, None)), "nothing is open");
    assert_eq!(of("13", 1, least), both(1, 10 * lot));
    let more = 10 * market().lot;
    assert_eq!(of("13", more - 1, least), both(10 * lot - 1, 10 * lot));
    assert_eq!(of("13", more, least), Err("sell 249250 x 10 @0\n".into()));
    // Of 10 lots that are bought 9 arrive.
    assert_eq!(
        of("13.001", market().lot + 1, least),
        both(9 * lot - 1, 10 * lot)
    );
    let bought = of("13.001", market().lot, least);
    assert_eq!(bought, Err("buy 250750 x 10 @0\n".into()));
    // 101 lots at 2,492.50 are worth 25 USDC.
    let worth = [1, 25 * 1_000_000];
    assert_eq!(
        of("13", 100 * market().lot, worth),
        both(100 * lot, 101 * lot)
    );
    assert!(of("13", 101 * market().lot, worth).is_err());
}

#[test]
fn a_distance_within_the_tolerance_is_stated() {
    let table = format!("{}tolerance = 0.5\n", table("12.5"));
    let why = decide(&table, &scene()).withheld(Buy).unwrap();
    let half = Some(5 * 10_i128.pow(17));
    assert_eq!(
        (why.control, why.value, why.limit),
        (Control::NotConfigured, half, half)
    );
}

/// The exchange takes its fee of what is bought and no order below 0.001 ETH: rounds of sales to the pool follow each other.
#[test]
fn rounds_follow_each_other_where_the_fee_is_taken_of_what_is_bought() {
    let eth = 10_u128.pow(18);
    let mut there = there();
    let mut own = market();
    (own.base.minimum, own.quote.minimum) = (eth / 1_000, 1_000_000);
    // As the chain's engine is given it: its own tokens have no smallest order.
    let MarketSpec { base, quote, .. } = market();
    let units = Units::new("there:ETH-USDC".to_owned(), &own, own.id, [&base, &quote]);
    let nothing = Published {
        book: Err(Control::StaleData.into()),
        holdings: None,
        taker_fee_bips: 10,
    };
    there.market = units.unwrap().translated(&nothing, 0).market;
    let (mut on_chain, mut at_book) = (30 * eth, 6 * eth);
    let arb = "base_target = 36\nround_amount_max = 0.5\nbook = \"there:ETH-USDC\"\n";
    let hedge =
        "others = [{ market = \"there:ETH-USDC\" }]\nbase_target = 36\nopen_amount_max = 2\n";
    let build = |info: &StrategyInfo, text: &str| {
        info.build_from(&text.parse().unwrap(), &market()).unwrap()
    };
    let mut arb = build(&crate::pool_arb::INFO, arb);
    let mut hedge = build(&INFO, hedge);
    let held = |base| OtherHoldings {
        base,
        quote: 500_000 * 1_000_000,
        pooled_base: Some(0),
        undecided: false,
    };
    let mut random = Random(7);
    for round in 0..40 {
        // A pool whose price is seven per cent away, of a size that makes rounds uneven.
        let mut beside = pool(0);
        beside.base = (beside.base + u128::from(random.next() >> 5)) / 4;
        beside.quote = beside.quote * 107 / 400;
        let mut chain = Scene::new(267_000, 267_100, 0, 0);
        (chain.holdings.base, chain.pool) = (on_chain, Some(beside));
        there.holdings = Some(held(at_book));
        chain.elsewhere = vec![there.clone()];
        let swap = chain.decide(arb.as_mut()).wanted_swap();
        let swap = swap.unwrap_or_else(|| panic!("round {round}: {on_chain} {at_book}"));
        assert_eq!(swap.side, Sell);
        on_chain -= swap.sell;
        let mut book = Scene::new(249_900, 250_100, 0, 0);
        (book.market, book.taker_fee_bips) = (own.clone(), 10);
        book.holdings.base = at_book;
        there.holdings = Some(held(on_chain));
        book.elsewhere = vec![there.clone()];
        let targets = book.decide(hedge.as_mut());
        let [quote] = targets.quotes() else {
            panic!("round {round}: {}", text(&targets));
        };
        assert_eq!(quote.side, Buy);
        let bought = own.base_amount(quote.qty).unwrap();
        at_book += bought - bought.div_ceil(1_000);
        let open = (36 * eth).abs_diff(on_chain + at_book);
        assert!(open < own.lot, "round {round}: {open}");
    }
}

/// Where this venue holds less than the distance, the engine may sell what there is.
#[test]
fn a_distance_may_be_traded_in_part() {
    for (target, side) in [("12", Sell), ("14", Buy)] {
        let targets = decide(&table(target), &scene());
        let in_part = Side::BOTH.map(|side| targets.is_taken_in_part(side));
        assert_eq!(in_part, Side::BOTH.map(|each| each == side), "{target}");
    }
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
