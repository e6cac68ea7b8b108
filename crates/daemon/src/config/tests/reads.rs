//! Strategies that read other markets of the file: which are refused, and that their quotes are still counted and tried.

use super::example;
use crate::config::Daemon;
use crate::config::feasible::never_quoted;

/// The demo's file with a ladder that has this source, and these other markets: name, and the tokens in its amounts.
fn checked(source: &str, others: &[(&str, &str, &str)]) -> Result<(), String> {
    let mut file = example("demo.toml");
    let begin = file.text.find("[[market]]").unwrap();
    let (head, market) = file.text.split_at(begin);
    let strategy = market.find("[[market.strategy]]").unwrap();
    let pool = market.find("[market.pool]").unwrap();
    let limits = &market[..pool.min(strategy)];
    let ladder = "[[market.strategy]]\nname = \"ladder\"\n[market.strategy.params]\nbid_spread_bps = 10\n\
                  ask_spread_bps = 10\norder_amount = 0.5\n";
    let mut text = head.replace("mismatch_max = \"200 USDC\"", "");
    text.push_str(limits);
    text.push_str(&[ladder, "reference = [", source, "]\n"].concat());
    for (name, base, quote) in others {
        let other = limits.replace("ETH-USDC", name);
        let other = other.replace(" USDC\"", &format!(" {quote}\""));
        let other = other.replace(" ETH\"", &format!(" {base}\""));
        // EURC has 18 decimals in both of its markets.
        let other = if *quote == "EURC" {
            other.replace("quote_decimals = 6", "quote_decimals = 18")
        } else {
            other
        };
        text.push_str(&other);
        text.push_str(ladder);
    }
    file.text = text;
    let daemon = Daemon::parse(&file).map_err(|error| error.to_string())?;
    let bound = daemon.bind_expected().unwrap();
    let bound = bound.map_err(|error| error.to_string())?;
    assert_eq!(bound.load.orders_refreshed, 2 * (others.len() as u64 + 1));
    let never = never_quoted(&daemon, &bound);
    never
        .first()
        .map_or(Ok(()), |problem| Err(problem.what.clone()))
}

const EURO: (&str, &str, &str) = ("ETH-EURC", "ETH", "EURC");
const DOLLAR: (&str, &str, &str) = ("EURC-USDC", "EURC", "USDC");

#[test]
fn a_price_over_other_markets_needs_markets_that_connect_the_tokens() {
    let route =
        "{ source = \"mid\" }, { source = \"market\", market = \"ETH-EURC\", via = \"EURC-USDC\" }";
    assert_eq!(checked(route, &[EURO, DOLLAR]), Ok(()));
    assert_eq!(checked(route, &[DOLLAR, EURO]), Ok(()), "in any order");
    let refused = |source: &str, others: &[_], part: &str| {
        let refused = checked(source, others).unwrap_err();
        assert!(refused.contains(part), "{refused}");
    };
    refused(
        route,
        &[EURO],
        "it reads the market EURC-USDC, which is no configured [[market]]; the other ones are ETH-EURC",
    );
    refused(
        "{ source = \"market\", market = \"ETH-EURC\" }",
        &[EURO, DOLLAR],
        "ETH-EURC connects ETH and EURC, and not the tokens of this market",
    );
    refused(route, &[], "there is no other [[market]]");
}
