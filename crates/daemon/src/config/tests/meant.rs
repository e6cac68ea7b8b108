//! The consequences of a file in money and requests, and conflicts with a venue.

use cambist_core::{MarketId, TokenId, TokenSpec};

use super::example;
use crate::config::pool::ListedPool;
use crate::config::{Daemon, Listed, exposure, risk};

#[test]
fn a_venue_that_publishes_something_else_is_refused() {
    let demo = Daemon::parse(&example("demo.toml")).unwrap();
    let token = |id: u16, symbol: &str, decimals: u8| TokenSpec {
        id: TokenId(id),
        symbol: symbol.to_owned(),
        decimals,
        precision: decimals.clamp(6, 8),
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    };
    let listed = |name: &str| Listed {
        name: name.to_owned(),
        base: TokenId(0),
        quote: TokenId(1),
        price_decimals: 2,
        fee_in: cambist_core::venue::FeeToken::Bought,
        enabled: true,
    };
    let pool = ListedPool {
        name: "AMM-ETH-USDC".to_owned(),
        address: [1; 20],
        pooled: vec![TokenId(0), TokenId(1)],
        lp: TokenId(2),
        status: 7,
        fee_bips: 20,
        in_range: false,
    };
    let pools = std::slice::from_ref(&pool);
    let eth = || TokenSpec {
        precision: 6,
        ..token(0, "ETH", 18)
    };
    let right = [eth(), token(1, "USDC", 6), token(2, "LP-ETH-USDC", 8)];
    let bound = demo.bind(&right, &[listed("ETH-USDC")], pools).unwrap();
    assert_eq!(bound.markets[0].id, MarketId(0));
    let refused = |tokens: &[TokenSpec], name: &str| {
        demo.bind(tokens, &[listed(name)], pools)
            .unwrap_err()
            .to_string()
    };
    let decimals = refused(&[token(0, "ETH", 8), token(1, "USDC", 6)], "ETH-USDC");
    assert!(
        decimals.contains("base_decimals = 18 but the venue publishes 8"),
        "{decimals}"
    );
    let other = TokenSpec {
        precision: 2,
        ..token(1, "USDC", 6)
    };
    let precision = refused(&[eth(), other], "ETH-USDC");
    assert!(
        precision.contains("quote_precision = 6 but the venue publishes 2"),
        "{precision}"
    );
    let shares = [eth(), token(1, "USDC", 6), token(2, "LP-ETH-USDC", 6)];
    let shares = refused(&shares, "ETH-USDC");
    assert!(
        shares.contains("market.pool.lp_decimals = 8 but the venue publishes 6"),
        "{shares}"
    );
    let symbol = refused(&[token(0, "ETC", 18), token(1, "USDC", 6)], "ETH-USDC");
    assert!(symbol.contains("is called ETC by the venue"), "{symbol}");
    let market = refused(&right, "ETH-USDT");
    assert!(market.contains("did you mean ETH-USDT?"), "{market}");
    let missing = refused(&right[..1], "ETH-USDC");
    assert!(missing.contains("no token 1"), "{missing}");
}

#[test]
fn the_worst_case_is_that_of_the_formula() {
    let service = Daemon::parse(&example("cambist.toml")).unwrap();
    let risk = exposure::risk(&service.markets[0]);
    // 4 orders of 2000 at 1500 would be 5.33; the band leaves room for 5. (6 + 5) x 2500.
    assert_eq!(risk.fillable.to_string(), "5");
    assert_eq!(risk.worst_case.unwrap().to_string(), "27500");
    let load = exposure::load(&service, None);
    // 8 orders every 100 s against 3 submits a second.
    assert_eq!(
        (
            load.orders_max,
            load.refresh_milli_per_s,
            load.refresh_share_bps
        ),
        (8, 160, 267)
    );
}

#[test]
fn the_kill_switch_is_above_what_the_budget_allows() {
    let daemon = Daemon::parse(&example("demo.toml")).unwrap();
    // 4 a second and a burst of 4 are 244 a minute, and half more is 366.
    assert_eq!(risk::allowed_per_min(&daemon.budget), 244);
    assert_eq!(risk::executions_least(&daemon.budget), 366);
    assert_eq!(daemon.risk.limits.executions_per_min, 366);
}

#[test]
fn losses_follow_from_the_worst_case_where_the_file_is_silent() {
    let mut source = example("demo.toml");
    let written = |line: &&str| line.starts_with("loss_") || line.starts_with("drawdown_");
    let silent: Vec<_> = source.text.lines().filter(|line| !written(line)).collect();
    source.text = silent.join("\n");
    let daemon = Daemon::parse(&source).unwrap();
    let bound = daemon.bind_expected().unwrap().unwrap();
    let worst = risk::bounds(
        (&bound.engine, &bound.venue.lifetime),
        &bound.markets,
        &bound.pools,
    )[0]
    .unwrap();
    let loss = bound.engine.markets[0].loss;
    assert_eq!(loss.total_max, worst.total());
    assert_eq!(
        (loss.hour_max, loss.day_max),
        (worst.total() / 4, worst.total() / 2)
    );
    let gross = bound.engine.risk.gross_max[&bound.markets[0].quote.id];
    assert!(
        gross >= 200_000_000_000,
        "the whole band at the ceiling, at least"
    );
}

#[test]
fn a_tolerance_that_reaches_over_the_quotes_is_warned_of() {
    let warned = |tolerance: &str, maker_only: bool| {
        let mut source = example("demo.toml");
        let lines = source.text.lines();
        let others = lines.filter(|line| !line.starts_with("price_tolerance_bps"));
        let text: Vec<_> = others.collect();
        source.text = text.join("\n");
        source.text = source.text.replacen(
            "inventory_max",
            &format!("price_tolerance_bps = {tolerance}\ninventory_max"),
            1,
        );
        let mut daemon = Daemon::parse(&source).unwrap();
        daemon.engine.maker_only = maker_only;
        daemon.bind_expected().unwrap().unwrap().warnings
    };
    let none: [&str; 0] = [];
    assert_eq!(warned("1", true), none);
    let found = warned("1000", true);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("102120"), "{}", found[0]);
    assert_eq!(
        warned("1000", false),
        none,
        "nothing is refused for crossing"
    );
}

/// The signed and unexpired limit of the demo's base token with this line in the file.
fn signed_max(line: &str, ttl_s: u64) -> Result<u128, String> {
    let mut source = example("demo.toml");
    let written = |text: &&str| text.starts_with("signed_unexpired_max");
    let silent: Vec<_> = source.text.lines().filter(|text| !written(text)).collect();
    let at = format!("[risk]\n{line}\n");
    source.text = silent.join("\n").replacen("[risk]\n", &at, 1);
    let daemon = Daemon::parse(&source).map_err(|error| error.to_string())?;
    let bound = daemon.bind_expected().unwrap();
    let bound = bound.map_err(|error| error.to_string())?;
    Ok(bound.with_ttl(ttl_s).markets[0].signed_unexpired_max)
}

#[test]
fn what_may_be_signed_and_unexpired_is_configured_or_follows_from_ttl() {
    const ETH: u128 = 1_000_000_000_000_000_000;
    let daemon = Daemon::parse(&example("demo.toml")).unwrap();
    let bound = daemon.bind_expected().unwrap().unwrap();
    assert_eq!(bound.engine.markets[0].signed_unexpired_max, 40 * ETH);
    let fillable = risk::bounds(
        (&bound.engine, &bound.venue.lifetime),
        &bound.markets,
        &bound.pools,
    )[0];
    let fillable = fillable.unwrap().fillable;
    // 13 s of life are three times five, and once more; 23 s are five times.
    assert_eq!(signed_max("", 10), Ok(4 * fillable));
    assert_eq!(signed_max("", 20), Ok(6 * fillable));
    let written = "signed_unexpired_max = [\"7.5 ETH\"]";
    assert_eq!(
        signed_max(written, 20),
        Ok(15 * ETH / 2),
        "whatever the ttl"
    );
    assert_eq!(signed_max("signed_unexpired_max = \"3\"", 10), Ok(3 * ETH));
    for (wrong, why) in [
        ("\"7 USDC\"", "USDC is not one of ETH"),
        ("[\"7 ETH\", \"8 ETH\"]", "ETH occurs twice"),
        ("\"0.0000000000000000001 ETH\"", "risk.signed_unexpired_max"),
    ] {
        let message = signed_max(&format!("signed_unexpired_max = {wrong}"), 10).unwrap_err();
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn everything_is_recorded_beside_the_store_unless_it_is_switched_off() {
    let mut source = example("demo.toml");
    let begin = source.text.find("[tape]").unwrap();
    let end = begin + source.text[begin..].find("[metrics]").unwrap();
    source.text.replace_range(begin..end, "");
    let demo = Daemon::parse(&source).unwrap();
    let tape = demo.tape.unwrap();
    assert_eq!(tape.dir, demo.store.dir.join("tape"));
    assert_eq!((tape.max_mb, tape.keep_days), (1_024, 14));
    source.text.insert_str(begin, "[tape]\nenabled = false\n\n");
    assert_eq!(Daemon::parse(&source).unwrap().tape, None);
}
