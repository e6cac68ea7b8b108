//! A file whose venue is Kraken: what it has, and what is refused where it is written.

use cambist_core::venue::{FeeToken, SlotRule};
use cambist_host::secrets::Keys;

use cambist_exchange::config::Exchange;

use super::example;
use crate::config::reader::{At, Source};
use crate::config::venue::VenueKind;
use crate::config::{Daemon, Mode};

/// The example with one text in place of another.
fn with(from: &str, to: &str) -> Source {
    let mut source = example("kraken.toml");
    assert!(source.text.contains(from), "{from}");
    source.text = source.text.replacen(from, to, 1);
    source
}

fn refusal(from: &str, to: &str) -> String {
    let read = Daemon::parse(&with(from, to));
    let error = match read {
        Err(error) => error,
        Ok(daemon) => daemon.bind_expected().unwrap().expect_err(to),
    };
    error.to_string()
}

#[test]
fn the_example_trades_on_kraken_with_its_rules() {
    let daemon = Daemon::parse(&example("kraken.toml")).unwrap();
    assert_eq!(daemon.venue.kind(), VenueKind::Kraken);
    assert_eq!(daemon.keys, Keys::None);
    let link = daemon.venue.kraken().unwrap();
    assert_eq!((link.accepted_s, link.cancel_all_after_s), (10, 60));
    assert_eq!(link.keys.as_ref().unwrap().dirs().count(), 2);
    let bound = daemon.bind_expected().unwrap().unwrap();
    assert!(matches!(bound.venue.slots, SlotRule::Rising { .. }));
    assert_eq!(bound.venue.lifetime.accepted_max_ms, Some(10_000));
    assert_eq!(bound.markets[0].fee_in, FeeToken::Quote);
    // Of 15 calls 2 are left to requests on their way and 9 to the next start; a third of one is forgotten each second.
    assert_eq!((daemon.budget.burst, daemon.budget.per_s), (1_300, 33));
    assert_eq!(bound.venue.costs.left_to_start, 900);
    // Half of the rate is left to the ledgers of trades.
    assert!(bound.load.budget_share_bps <= 5_000, "{:?}", bound.load);
    // An order and the cancel of one of 70 s on both sides, every 70 s.
    let trading = bound.load.trading.unwrap();
    assert_eq!((trading.added_milli_per_s, trading.share_bps), (86, 860));
    assert_eq!(trading.forgotten_milli_per_s, 1_000);
    assert_eq!(
        (trading.most_milli, trading.replacement_milli),
        (55_000, 9_000)
    );
    assert_eq!(bound.warnings, [""; 0]);
    assert!(daemon.venue.exchange("account transfer").is_err());
}

/// What the other keys mean depends on it: their errors would mislead.
#[test]
fn an_unknown_kind_of_venue_is_the_only_error() {
    let error = refusal("kind = \"kraken\"", "kind = \"krakn\"");
    assert!(
        error.ends_with("venue.kind must be one of \"exchange\", \"kraken\", \"evm-pools\""),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
    let error = refusal("kind = \"kraken\"", "kind = 7");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn a_missing_kind_of_venue_is_the_only_error_and_is_named() {
    let error = refusal("kind = \"kraken\"\n", "");
    assert!(
        error.ends_with(
            "venue.kind is missing, and venue.tier is a key of the kind \"kraken\": write kind = \"kraken\""
        ),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn keys_of_another_kind_of_venue_are_refused_where_they_stand() {
    for (from, to, problem) in [
        (
            "tier = \"starter\"",
            "tier = \"starter\"\naccount_id = 7",
            "venue.account_id is a key of venue.kind = \"exchange\", and the kind is \"kraken\"",
        ),
        (
            "tier = \"starter\"",
            "tier = \"starter\"\nowner = \"0x1\"",
            "venue.owner is a key",
        ),
        (
            "orders_dir = ",
            "api_key_file = \"k\"\norders_dir = ",
            "keys.api_key_file is a key of venue.kind = \"exchange\"",
        ),
        (
            "orders_dir = ",
            "signer = \"unix:/s\"\norders_dir = ",
            "keys.signer is a key",
        ),
        (
            "kind = \"kraken\"",
            "kind = \"exchange\"",
            "venue.tier is a key of venue.kind = \"kraken\", and the kind is \"exchange\"",
        ),
        (
            "kind = \"kraken\"",
            "kind = \"exchange\"",
            "keys.orders_dir is a key of venue.kind = \"kraken\"",
        ),
        (
            "kind = \"kraken\"",
            "kind = \"binance\"",
            "venue.kind must be one of \"exchange\", \"kraken\"",
        ),
        (
            "tier = \"starter\"",
            "tier = \"gold\"",
            "venue.tier must be one of",
        ),
    ] {
        let text = refusal(from, to);
        assert!(text.contains(problem), "{to}: {text}");
    }
}

#[test]
fn markets_have_the_names_of_the_venue() {
    for (name, problem) in [
        ("XBTUSD", "BASE-QUOTE, such as \"XBT-USD\""),
        ("BTC-USD", "Kraken's name of BTC is XBT"),
        ("XBT-DOGE", "Kraken's name of DOGE is XDG"),
    ] {
        let text = refusal("name = \"XBT-USD\"", &format!("name = \"{name}\""));
        assert!(text.contains(problem), "{name}: {text}");
    }
}

/// The example for an exchange on this machine differs in places only, and its units are those that the exchange lists.
#[test]
fn the_demo_is_the_example_at_another_place() {
    let read = |name: &str| example(name).text.parse::<toml::Table>().unwrap();
    let [mut there, mut here] = ["kraken.toml", "demo-kraken.toml"].map(read);
    for file in [&mut there, &mut here] {
        file.remove("keys");
        let venue = file["venue"].as_table_mut().unwrap();
        venue.remove("base_url").unwrap();
        file["store"].as_table_mut().unwrap().remove("dir").unwrap();
    }
    assert_eq!(there, here);
    let exchange = Exchange::parse(&example("venue-kraken.toml")).unwrap();
    let settings = exchange.kraken.as_ref().unwrap();
    let demo = Daemon::parse(&example("demo-kraken.toml")).unwrap();
    let keys = demo.venue.kraken().unwrap().keys.as_ref().unwrap();
    for dir in keys.dirs() {
        assert_eq!(dir.parent(), Some(settings.keys_dir.as_path()));
    }
    assert_eq!(keys.dirs().count(), 3);
    let expected = &demo.markets[0].expected;
    let spec = &exchange.markets[0];
    let value = |at: &Option<At<u8>>| at.as_ref().unwrap().value;
    assert_eq!(
        [
            value(&expected.base_decimals),
            value(&expected.quote_decimals),
            value(&expected.quote_precision),
            value(&expected.price_decimals),
        ],
        [
            spec.base.decimals,
            spec.quote.decimals,
            spec.quote.precision,
            spec.price_decimals
        ]
    );
    let bound = demo.bind_expected().unwrap().unwrap();
    assert_eq!(bound.markets[0].lot, spec.lot);
    assert_eq!(demo.fee_bips, exchange.fee_bips);
}

#[test]
fn keys_have_to_be_two_different_ones() {
    for (from, to, problem) in [
        (
            "orders_dir = \"/etc/cambist/kraken/orders\"",
            "",
            "keys.orders_dir and keys.account_dir must both be given",
        ),
        (
            "orders_dir = \"/etc/cambist/kraken/orders\"",
            "orders_dir = \"/etc/cambist/kraken/account\"",
            "must be different keys",
        ),
        (
            "# panic_dir = \"/etc/cambist/kraken/panic\"",
            "panic_dir = \"/etc/cambist/kraken/orders\"",
            "must be different keys",
        ),
        (
            "# credentials = false",
            "credentials = true",
            "remove keys.orders_dir and keys.account_dir",
        ),
    ] {
        let text = refusal(from, to);
        assert!(text.contains(problem), "{to}: {text}");
    }
}

#[test]
fn what_the_venue_would_refuse_is_refused_by_both_sides_of_each_limit() {
    for (from, to, problem) in [
        (
            "ttl_s = 90\n# An order is replaced this long before its expiry, seconds, less than ttl_s.\nrefresh_before_s = 20",
            "ttl_s = 14\nrefresh_before_s = 2",
            Some("orders.ttl_s = 14 must be at least venue.accepted_s + 5 = 15"),
        ),
        (
            "ttl_s = 90\n# An order is replaced this long before its expiry, seconds, less than ttl_s.\nrefresh_before_s = 20",
            "ttl_s = 15\nrefresh_before_s = 2",
            None,
        ),
        // Both sides every 4 s, with cancels of 8 and orders of 1, against one a second.
        (
            "refresh_before_s = 20",
            "refresh_before_s = 86",
            Some("refreshing alone adds 4.50 a second to a market's counter"),
        ),
        ("refresh_before_s = 20", "refresh_before_s = 70", None),
        (
            "grace_s = 15",
            "grace_s = 15\nresend_margin_ms = 1999",
            Some("must be at least 2000"),
        ),
        (
            "grace_s = 15",
            "grace_s = 15\nresend_margin_ms = 2000",
            None,
        ),
        (
            "grace_s = 15",
            "grace_s = 15\nresend_margin_ms = 10000",
            Some("less than venue.accepted_s = 10"),
        ),
        (
            "grace_s = 15",
            "grace_s = 15\nresend_margin_ms = 9999",
            None,
        ),
        ("accepted_s = 10", "accepted_s = 4", Some("outside 5 to 55")),
        (
            "accepted_s = 10",
            "accepted_s = 56",
            Some("outside 5 to 55"),
        ),
        (
            "cancel_all_after_s = 60",
            "cancel_all_after_s = 19",
            Some("must be 0 (off) or at least 20"),
        ),
        ("cancel_all_after_s = 60", "cancel_all_after_s = 20", None),
        ("cancel_all_after_s = 60", "cancel_all_after_s = 0", None),
        (
            "taker_bips = 40",
            "taker_bips = 64",
            Some("outside 0 to 63"),
        ),
        (
            "max_fee_bips = 40",
            "max_fee_bips = 64",
            Some("outside 1 to 63"),
        ),
        (
            "[poll]",
            "[budget]\nper_s = 3\n\n[poll]",
            Some("budget.per_s follows from venue.tier"),
        ),
        (
            "orders_ms = 40000",
            "orders_ms = 10000",
            Some("venue.tier = \"starter\" allows 0.16"),
        ),
    ] {
        let read = Daemon::parse(&with(from, to));
        let bound = read.and_then(|daemon| daemon.bind_expected().unwrap());
        match (bound, problem) {
            (Ok(_), None) => {}
            (Err(error), Some(problem)) => {
                let text = error.to_string();
                assert!(text.contains(problem), "{to}: {text}");
            }
            (found, _) => panic!("{to}: {:?}", found.map(|_| ())),
        }
    }
}

#[test]
fn pools_and_strategies_that_need_them_are_refused_with_the_reason() {
    let pool = "[market.pool]\nname = \"AMM-XBT-USD\"\nmove_value_max = \"1 USD\"\nvalue_max = \"1 USD\"\n\n# One order";
    let text = refusal("# One order", pool);
    assert!(
        text.contains("venue.kind = \"kraken\" has no pools"),
        "{text}"
    );
    for name in ["lp_manager", "pool_arb"] {
        let text = refusal("name = \"bands\"", &format!("name = \"{name}\""));
        let problem = format!("strategy {name} needs a pool beside the market");
        assert!(text.contains(&problem), "{text}");
    }
}

#[test]
fn modes_that_do_not_trade_read_the_public_depth_without_keys() {
    let daemon = Daemon::parse(&example("observe-kraken.toml")).unwrap();
    assert_eq!(daemon.mode, Mode::Observe);
    assert_eq!(daemon.venue.kraken().unwrap().keys, None);
    let feed = daemon.markets[0].feed.as_ref().unwrap();
    assert_eq!(
        feed.url.value,
        "https://api.kraken.com/0/public/Depth?pair=XBTUSD&count=100"
    );
    let text = refusal(
        "config_version = 1",
        "config_version = 1\nmode = \"observe\"",
    );
    assert!(text.contains("takes no keys: remove [keys]"), "{text}");
}
