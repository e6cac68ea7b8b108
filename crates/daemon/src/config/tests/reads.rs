//! Strategies that read other markets of the file: which are refused, and that their quotes are still counted and tried.

use cambist_core::request::{Balance, Depth, DepthLevel, Query, Reply};
use cambist_core::venue::SlotRule;
use cambist_core::{MarketSpec, Price, VenueRules, VenueTime};

use super::example;
use crate::config::Daemon;
use crate::config::feasible::never_quoted;
use crate::config::reader::Source;
use crate::dry_run::{self, Answers, DryRun};

/// The demo's file with a ladder that has this source, and these other markets: name, and the tokens in its amounts.
fn file(source: &str, others: &[(&str, &str, &str)]) -> Source {
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
    file
}

fn checked(source: &str, others: &[(&str, &str, &str)]) -> Result<(), String> {
    let file = file(source, others);
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

/// A venue with the same book at every market, and enough of every token.
struct Full(Vec<MarketSpec>);

impl Answers for Full {
    fn answer(&mut self, query: &Query, venue_time: VenueTime) -> Option<Reply> {
        let level = |price| DepthLevel {
            price: Price(price),
            size: 5 * 10_u128.pow(18),
        };
        let tokens = || self.0.iter().flat_map(|spec| [&spec.base, &spec.quote]);
        Some(match query {
            Query::Depth(market) => Reply::Depth(Depth {
                market: *market,
                version: 1,
                timestamp: venue_time,
                bids: vec![level(249_990)],
                asks: vec![level(250_010)],
            }),
            Query::Balances => {
                let held = tokens().map(|token| Balance {
                    token: token.id,
                    total: 10_u128.pow(token.decimals.into())
                        * if token.symbol == "ETH" { 20 } else { 100_000 },
                    locked: 0,
                });
                Reply::Balances(held.collect())
            }
            Query::Account => Reply::Account { frozen: false },
            Query::Orders(_) => Reply::Orders {
                orders: Vec::new(),
                total: 0,
            },
            _ => return None,
        })
    }
}

/// The order of the first market that is tried stops no other one.
#[test]
fn every_market_of_a_file_would_be_quoted() {
    let file = file("{ source = \"mid\" }", &[EURO]);
    let daemon = Daemon::parse(&file).unwrap();
    let bound = daemon.bind_expected().unwrap().unwrap();
    let venue_time = VenueTime(1_700_000_000_000);
    // Also where numbers of orders are given out one at a time.
    let row = cambist_core::TokenId(9);
    for slots in [bound.venue.slots, SlotRule::Rising { row }] {
        let run = DryRun {
            config: bound.engine.clone(),
            markets: bound.markets.clone(),
            references: Vec::new(),
            strategies: bound.built(),
            instance: 0,
            venue: VenueRules {
                slots,
                ..bound.venue.clone()
            },
            venue_time,
        };
        let found = dry_run::run_dry(run, &mut Full(bound.markets.clone()));
        assert_eq!(found.reasons, [[None; 2]; 2], "{slots:?}");
        assert_eq!(found.orders.len(), 4, "{slots:?}");
    }
}
