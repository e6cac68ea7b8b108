//! Every source, both rules, and both sides of every guard.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Price;

use super::*;
use crate::testing::{Scene, market, other_markets, pool};

fn reference(table: &str) -> Result<Reference, ParamError> {
    let params = Params::read(&PARAMETERS, &table.parse().unwrap())?;
    Reference::new(&params, &market())
}

/// Bids of 1 and 3 ETH at 2499 and 2498, asks of 3 and 1 at 2501 and 2502; a pool at 2500.
fn scene() -> Scene {
    let level = |price, qty| BookLevel {
        price: Price(price),
        qty: Qty(qty),
    };
    let mut scene = Scene::new(249_900, 250_100, 10, 25_000);
    scene.bids = vec![level(249_900, 10_000), level(249_800, 30_000)];
    scene.asks = vec![level(250_100, 30_000), level(250_200, 10_000)];
    scene.pool = Some(pool(0));
    scene.references = vec![
        reference_of("old", None),
        reference_of("elsewhere", Some(500_300)),
    ];
    scene.markets = other_markets();
    scene
}

fn reference_of(
    name: &'static str,
    mid: Option<u64>,
) -> cambist_core::reference::Reference<'static> {
    cambist_core::reference::Reference { name, mid }
}

/// A reason's key and numbers.
type Why = (Option<&'static str>, Option<i128>, Option<i128>);

/// The price in half ticks, or why there is none.
fn price(table: &str, scene: &Scene) -> Result<u64, Why> {
    let made = reference(table).unwrap();
    let markets = scene.others(made.reads());
    let view = View {
        markets: &markets,
        ..scene.view()
    };
    let applied = made.apply(&view);
    applied.map(|view| view.mid).map_err(|why| {
        assert_eq!(why.control, Control::NoFairPrice);
        let key = why
            .key()
            .and_then(|key| key.strip_prefix("market.strategy.params."));
        (key, why.value, why.limit)
    })
}

#[test]
fn every_source_has_its_price() {
    for (source, half_ticks) in [
        ("source = \"mid\"", 500_000),
        // A quarter of the quantity at the best prices is bid: a quarter of the way to the ask.
        ("source = \"micro_price\"", 499_900),
        // Selling 2 ETH yields 2498.5, buying them costs 2501.
        ("source = \"depth\", amount = 2", 499_950),
        ("source = \"pool\"", 500_000),
        ("source = \"fixed\", price = 2499.999", 499_998),
        ("source = \"feed\", feed = \"elsewhere\"", 500_300),
        (
            "source = \"market\", market = \"ETH-BTC\", via = \"BTC-USDC\"",
            500_200,
        ),
        (
            "source = \"market\", market = \"BTC-USDC\", via = \"ETH-BTC\"",
            500_200,
        ),
    ] {
        let table = format!("reference = [{{ {source} }}]\n");
        assert_eq!(price(&table, &scene()), Ok(half_ticks), "{source}");
    }
    let mut seed = scene();
    seed.mid = 123_456;
    assert_eq!(
        price("", &seed),
        Ok(123_456),
        "without sources it is the engine's mid"
    );
}

#[test]
fn a_missing_source_is_never_neutral() {
    let missing =
        |sources: &str, scene: &Scene| price(&format!("reference = [{sources}]\n"), scene);
    let none = Err((Some("reference"), Some(0), Some(1)));
    let mut bare = scene();
    bare.asks.clear();
    bare.pool = None;
    // The engine's seed price is not a book.
    for source in ["mid", "micro_price", "pool"] {
        assert_eq!(
            missing(&format!("{{ source = \"{source}\" }}"), &bare),
            none,
            "{source}"
        );
    }
    assert_eq!(
        missing("{ source = \"depth\", amount = 4 }", &scene()),
        Ok(499_950)
    );
    assert_eq!(
        missing("{ source = \"depth\", amount = 4.0001 }", &scene()),
        none
    );
    let mut empty = scene();
    empty.pool = Some(cambist_core::strategy::PoolView { base: 0, ..pool(0) });
    assert_eq!(missing("{ source = \"pool\" }", &empty), none);
    // One without a price that is young enough, and one that the market does not have.
    for name in ["old", "unknown"] {
        let feed = format!("{{ source = \"feed\", feed = \"{name}\" }}");
        assert_eq!(missing(&feed, &scene()), none, "{name}");
    }
    // One leg of two without a book, and one that trades other tokens.
    let mut gap = scene();
    gap.markets[1].1 = None;
    let route = "{ source = \"market\", market = \"ETH-BTC\", via = \"BTC-USDC\" }";
    assert_eq!(missing(route, &scene()), Ok(500_200));
    assert_eq!(missing(route, &gap), none);
    let half = "{ source = \"market\", market = \"ETH-BTC\" }";
    assert_eq!(missing(half, &scene()), none);
    // All are required, unless a smaller number is configured.
    let two = "reference = [{ source = \"pool\" }, { source = \"fixed\", price = 2500 }]\n";
    assert_eq!(
        price(two, &bare),
        Err((Some("reference"), Some(1), Some(2)))
    );
    assert_eq!(
        price(&format!("{two}reference_sources_min = 1\n"), &bare),
        Ok(500_000)
    );
}

#[test]
fn several_sources_give_one_price_if_they_agree() {
    let fixed = |prices: &[(&str, u32)]| {
        let one = |(price, weight): &(&str, u32)| {
            format!("{{ source = \"fixed\", price = {price}, weight = {weight} }}")
        };
        let all: Vec<_> = prices.iter().map(one).collect();
        format!("reference = [{}]\n", all.join(", "))
    };
    let three = fixed(&[("2500", 1), ("2501", 1), ("2520", 2)]);
    assert_eq!(price(&three, &scene()), Ok(500_200));
    let weighted = format!("{three}reference_rule = \"weighted\"\n");
    // (2500 + 2501 + 2 · 2520) / 4 = 2510.25.
    assert_eq!(price(&weighted, &scene()), Ok(502_050));
    // 20 of 2501 are 79.968 bps.
    let within = format!("{three}reference_divergence_bps = 80\n");
    assert_eq!(price(&within, &scene()), Ok(500_200));
    let beyond = format!("{three}reference_divergence_bps = 79\n");
    assert_eq!(
        price(&beyond, &scene()),
        Err((Some("reference_divergence_bps"), Some(80), Some(79)))
    );
}

#[test]
fn sources_without_what_they_need_are_refused_by_name() {
    for (table, message) in [
        (
            "reference = [{ source = \"depth\" }]\n",
            "reference[0].amount: must be above zero for this source",
        ),
        (
            "reference = [{ source = \"fixed\" }]\n",
            "reference[0].price: must be at least one tick",
        ),
        (
            "reference = [{ source = \"pool\" }]\nreference_sources_min = 2\n",
            "reference_sources_min: more than the 1 configured sources",
        ),
        (
            "reference = [{ source = \"oracle\" }]\n",
            "reference[0].source: \"oracle\" is out of range, allowed is mid, micro_price, depth, pool, fixed, feed, market",
        ),
    ] {
        assert_eq!(reference(table).err().unwrap().to_string(), message);
    }
}

#[test]
fn the_feeds_that_it_reads_are_stated_and_have_names() {
    let two = "reference = [{ source = \"feed\", feed = \"b\" }, { source = \"mid\" }, { source = \"feed\", feed = \"a\" }]\n";
    assert_eq!(reference(two).unwrap().feeds(), ["b", "a"]);
    let nameless = reference("reference = [{ source = \"feed\" }]\n").unwrap_err();
    assert_eq!(
        nameless.to_string(),
        "reference[0].feed: must name a [[market.reference_feed]] for this source"
    );
    for bad in ["a b", "ä", "123456789012345678901234567890123"] {
        let table = format!("reference = [{{ source = \"feed\", feed = \"{bad}\" }}]\n");
        let error = reference(&table).unwrap_err().to_string();
        assert!(
            error.contains("up to 32 letters, digits, - or _"),
            "{error}"
        );
    }
}

#[test]
fn the_markets_that_it_reads_are_stated_once_and_have_to_connect_the_tokens() {
    let two = reference(
        "reference = [{ source = \"market\", market = \"ETH-BTC\", via = \"BTC-USDC\" }, \
         { source = \"market\", market = \"ETH-DAI\", via = \"BTC-USDC\" }]\n",
    );
    let two = two.unwrap();
    assert_eq!(two.reads(), ["ETH-BTC", "BTC-USDC", "ETH-DAI"]);
    assert!(two.feeds().is_empty());
    let others = other_markets();
    let specs: Vec<_> = others.iter().map(|(market, _)| market).collect();
    let route = "reference = [{ source = \"market\", market = \"ETH-BTC\", via = \"BTC-USDC\" }]\n";
    let checked = reference(route).unwrap().check_reads(&market(), &specs);
    assert_eq!(checked, Ok(()));
    let half = "reference = [{ source = \"market\", market = \"ETH-BTC\" }]\n";
    let refused = reference(half).unwrap().check_reads(&market(), &specs);
    assert_eq!(
        refused.unwrap_err(),
        "ETH-BTC connects ETH and BTC, and not the tokens of this market: the price wanted is that of ETH in USDC"
    );
}

#[test]
fn keys_of_other_sources_and_a_source_twice_are_refused() {
    for (table, message) in [
        (
            "{ source = \"mid\", amount = 2 }",
            "reference[0].amount: belongs to source = \"depth\", and this is \"mid\"",
        ),
        (
            "{ source = \"pool\", price = 2 }",
            "reference[0].price: belongs to source = \"fixed\", and this is \"pool\"",
        ),
        (
            "{ source = \"market\", market = \"A-B\", feed = \"a\" }",
            "reference[0].feed: belongs to source = \"feed\", and this is \"market\"",
        ),
        (
            "{ source = \"feed\", feed = \"a\", market = \"A-B\" }",
            "reference[0].market: belongs to source = \"market\", and this is \"feed\"",
        ),
        (
            "{ source = \"feed\", feed = \"a\", via = \"A-B\" }",
            "reference[0].via: belongs to source = \"market\", and this is \"feed\"",
        ),
        (
            "{ source = \"feed\", feed = \"a\" }, { source = \"feed\", feed = \"a\" }",
            "reference[1].feed: is another source already",
        ),
        (
            "{ source = \"market\", market = \"A-B\", via = \"B-C\" }, \
             { source = \"market\", market = \"B-C\", via = \"A-B\" }",
            "reference[1].market: this route is another source already",
        ),
        (
            "{ source = \"market\", via = \"A-B\" }",
            "reference[0].market: must name another [[market]] for this source",
        ),
        (
            "{ source = \"market\", market = \"A-B\", via = \"A-B\" }",
            "reference[0].via: must be another market than market",
        ),
        (
            "{ source = \"market\", market = \"ETH-USDC\" }",
            "reference[0].market: is the strategy's own market: source = \"mid\" reads it",
        ),
        (
            "{ source = \"market\", market = \"A-B\", via = \"ETH-USDC\" }",
            "reference[0].via: is the strategy's own market: source = \"mid\" reads it",
        ),
    ] {
        let table = format!("reference = [{table}]\n");
        let refused = reference(&table).err().unwrap().to_string();
        assert_eq!(refused, message);
    }
    // A market alone and as part of a route are two prices.
    let both = "reference = [{ source = \"market\", market = \"A-B\" }, \
                { source = \"market\", market = \"A-B\", via = \"B-C\" }]\n";
    assert_eq!(reference(both).unwrap().reads(), ["A-B", "B-C"]);
}
