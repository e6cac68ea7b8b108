//! The exchange's file: errors in it, and scenarios in place of traders.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use cambist_config::{ConfigError, Source};

use super::Exchange;

fn example(name: &str) -> Source {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
    Source::read(&folder.join(name)).unwrap()
}

/// The errors of the exchange's file with one text changed.
fn exchange_refused(from: &str, to: &str) -> String {
    let text = example("venue.toml").text;
    assert!(text.contains(from), "{from} is in the example");
    let path = "f.toml".into();
    let source = Source {
        path,
        text: text.replacen(from, to, 1),
    };
    let error = Exchange::parse(&source).expect_err(to);
    error.to_string()
}

#[test]
fn mistakes_of_addresses_and_bounds_are_named() {
    for (from, to, message) in [
        (
            "# public_url = \"https://exchange.example\"",
            "public_url = \"exchange.example\"",
            "listen.public_url must be addresses such as \"https://exchange.example\"",
        ),
        (
            "# public_url = \"https://exchange.example\"",
            "public_url = \"https://exchange.example/api/v3\"",
            "without /api/v3",
        ),
        (
            "# further_urls = [",
            "further_urls = [",
            "listen.further_urls needs listen.public_url",
        ),
        (
            "price_band_bips = 0",
            "price_band_bips = 500",
            "market.price_band_bips above 0 and market.price_band_reference are given together",
        ),
        (
            "# price_band_reference = \"2500 USDC\"",
            "price_band_reference = \"2500 USDC\"",
            "market.price_band_bips above 0 and market.price_band_reference are given together",
        ),
        (
            "# USDC = \"1\"",
            "DAI = \"1\"",
            "accounts.opening_fee names a token that is not listed: no [[token]] is \"DAI\"",
        ),
    ] {
        let refused = exchange_refused(from, to);
        assert!(refused.contains(message), "{to}: {refused}");
    }
}

#[test]
fn mistakes_of_amounts_and_proxies_are_named_with_their_line() {
    for (from, to, message) in [
        (
            "ETH = \"20\"",
            "DAI = \"20\"",
            "maker.funds names a token that is not listed: no [[token]] is \"DAI\"",
        ),
        (
            "ETH = \"20\"",
            "ETH = 20",
            "maker.funds must be amounts in quotes, and that of ETH is not",
        ),
        (
            "dust = \"0.0001 ETH\"",
            "dust = \"0.0011 ETH\"",
            "token ETH: dust must not be above order_minimum",
        ),
        (
            "# trusted_proxies = [\"127.0.0.1\"]",
            "trusted_proxies = [\"127.0.0.1\", \"10.0.0.0/8\"]",
            "listen.trusted_proxies must be a list of IP addresses",
        ),
        (
            "# trusted_proxies = [\"127.0.0.1\"]",
            "trusted_proxies = [\"localhost\"]",
            "ranges such as 10.0.0.0/8, and names, are not supported",
        ),
    ] {
        let refused = exchange_refused(from, to);
        assert!(refused.contains(message), "{to}: {refused}");
        let line = example("venue.toml").text;
        let line = line[..line.find(from).unwrap()].lines().count();
        let at = refused.split(':').nth(1).unwrap();
        let at: usize = at.parse().unwrap();
        assert!((line..=line + 1).contains(&at), "{line}: {refused}");
        assert_eq!(refused.lines().count(), 1, "{to}: {refused}");
    }
}

#[test]
fn mistakes_of_the_exchanges_file_are_named() {
    for (from, to, message) in [
        (
            "fair_price = \"2500 USDC\"",
            "fair_price = \"0 USDC\"",
            "traders.fair_price must be above 0",
        ),
        (
            "order_size = \"0.25 ETH\"",
            "order_size = \"0 ETH\"",
            "traders.order_size must be above 0",
        ),
        (
            "account_id = 10000",
            "account_id = 1000000",
            "maker.account_id = 1000000 is outside 2 to 19999",
        ),
        (
            "symbol = \"USDC\"",
            "symbol = \"ETH\"",
            "token ETH (id 1) is listed twice",
        ),
        (
            "\nid = 1\n",
            "\nid = 0\n",
            "token USDC (id 0) is listed twice",
        ),
        (
            "name = \"ETH-USDC\"",
            "name = \"ETH-DAI\"",
            "no [[token]] is \"DAI\"",
        ),
        ("[maker]", "[makr]", "unknown key makr; did you mean maker?"),
        (
            "# play = \"crash\"",
            "play = \"crash\"",
            "[[traders]] and scenario.play exclude each other",
        ),
        (
            "\"AMM-ETH-USDC\"",
            "\"AMM-ETH-DAI\"",
            "pool.name = \"AMM-ETH-DAI\" must be AMM- and the name of a listed market",
        ),
        (
            "lp_id = 2",
            "lp_id = 1",
            "lp token LP-ETH-USDC (id 1): a listed token has this symbol or id",
        ),
        (
            "quote_liquidity = \"500000 USDC\"",
            "",
            "pool.base_liquidity and pool.quote_liquidity are given together or not at all",
        ),
        (
            "quote_liquidity = \"500000 USDC\"",
            "quote_liquidity = \"0 USDC\"",
            "a pool's liquidity must be above 0 on both sides",
        ),
        (
            "join_fee = \"0 USDC\"",
            "join_fee = \"0 ETH\"",
            "is in ETH, but this key is in USDC",
        ),
        (
            "# ETH = \"0.001\"",
            "DAI = \"0.001\"",
            "fees.withdrawal names a token that is not listed: no [[token]] is \"DAI\"",
        ),
        (
            "late_failures_permille = 0",
            "late_failures_permille = 1001",
            "delays.late_failures_permille = 1001 is outside 0 to 1000",
        ),
    ] {
        let got = exchange_refused(from, to);
        assert!(got.contains(message), "{to}: {got}");
        assert!(got.starts_with("f.toml:"), "{to}: {got}");
        if to != "[makr]" {
            assert_eq!(got.lines().count(), 1, "{to}: {got}");
        }
    }
}

/// The listener of operators has an address by default, which may be that of requests.
#[test]
fn operators_and_requests_have_addresses_of_their_own() {
    let token = "# token_file = \"../target/two-terminals/keys/admin_token\"";
    let parsed = |address: &str, is_on: bool| {
        let text = example("venue.toml").text;
        let text = text.replace(
            "address = \"127.0.0.1:8787\"",
            &format!("address = \"{address}\""),
        );
        let text = if is_on {
            text.replace(token, &token[2..])
        } else {
            text
        };
        let path = "f.toml".into();
        Exchange::parse(&Source { path, text })
    };
    let error = parsed("127.0.0.1:8788", true).unwrap_err().to_string();
    assert!(
        error.contains("admin.listen = 127.0.0.1:8788 is listen.address as well"),
        "{error}"
    );
    assert!(parsed("127.0.0.1:8788", false).is_ok());
    assert!(parsed("127.0.0.1:8789", true).is_ok());
}

#[test]
fn a_file_of_the_other_program_is_named_as_such() {
    let exchange = Exchange::parse(&example("demo.toml"));
    let exchange = exchange.unwrap_err().to_string();
    assert!(
        exchange.contains("this is a daemon's file: cambist run --config"),
        "{exchange}"
    );
}

/// The exchange's file with a scenario in place of its traders.
fn played(play: &str) -> Result<Exchange, ConfigError> {
    let mut source = example("venue.toml");
    let start = source.text.find("[[traders]]").unwrap();
    let end = source.text.find("[scenario]").unwrap();
    source.text.replace_range(start..end, "");
    source.text = source.text.replace("# play = \"crash\"", play);
    Exchange::parse(&source)
}

#[test]
fn a_scenario_takes_the_place_of_traders_and_fills_the_pool() {
    let exchange = played("play = \"pool-drained\"").unwrap();
    assert_eq!(exchange.traders[0].timeline.len(), 1);
    assert_eq!(exchange.traders[0].timeline[0].at_ms, 18_000);
    assert_eq!(
        exchange.pools[0].liquidity,
        Some([200 * 10u128.pow(18), 500_000 * 10u128.pow(6)])
    );
    let thin = played("play = \"scenarios/thin.toml\"").unwrap();
    assert_eq!(thin.pools[0].liquidity.unwrap()[0], 20 * 10u128.pow(18));
    assert!(played("").unwrap().traders.is_empty());
    let unknown = played("play = \"crush\"").unwrap_err().to_string();
    assert!(
        unknown.contains("\"crush\" is neither one of calm, trending, volatile, crash"),
        "{unknown}"
    );
    let missing = played("play = \"no.toml\"").unwrap_err().to_string();
    assert!(missing.ends_with("no.toml: no such file"), "{missing}");
}
