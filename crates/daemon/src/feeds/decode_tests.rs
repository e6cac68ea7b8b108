#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::{MarketId, TokenId, TokenSpec};

use super::*;
use crate::config::feed::Pointers;
use crate::config::reader::{At, Place};

fn spec() -> MarketSpec {
    let token = |id, symbol: &str, decimals| TokenSpec {
        id: TokenId(id),
        symbol: symbol.to_owned(),
        decimals,
        precision: 6,
        minimum: 1,
        maximum: 1 << 100,
        dust: 0,
        enabled: true,
    };
    MarketSpec::new(
        MarketId(0),
        "ETH-USDC",
        token(0, "ETH", 18),
        token(1, "USDC", 6),
        2,
        true,
    )
    .unwrap()
}

fn feed() -> Feed {
    Feed {
        url: At {
            value: String::new(),
            at: Place::default(),
        },
        poll_ms: 1_000,
        pointers: Pointers {
            bids: "/b".to_owned(),
            asks: "/a".to_owned(),
            price: "/0".to_owned(),
            quantity: "/1".to_owned(),
            sequence: None,
            time: None,
        },
        quantity_decimals: 0,
        is_of_venue: false,
    }
}

fn read(body: &str) -> Result<Book, FeedError> {
    decode(&feed(), &Units::of(&spec()), body.as_bytes())
}

/// Prices in ticks and quantities in millionths of the base token.
fn levels(levels: &[Level]) -> Vec<(u64, u64)> {
    levels
        .iter()
        .map(|level| (level.price.0, level.qty.0))
        .collect()
}

#[test]
fn what_is_finer_than_the_market_is_never_better_than_it_was() {
    let lot = Units::of(&spec()).lot_decimals;
    let one = 10_u64.pow(lot);
    let book = read(
        r#"{"b": [["2500.109","1"],["2500.101",2],["2500.09","0.00000000001"],["2499","1.5e0"]],
            "a": [["2500.111","1"],["2500.119","2.0000000000009"],[2501.5,3]]}"#,
    )
    .unwrap();
    assert_eq!(
        levels(&book.bids),
        [(250_010, 3 * one), (249_900, one + one / 2)],
        "bids down, and what is less than a lot is nothing"
    );
    assert_eq!(levels(&book.asks), [(250_012, 3 * one), (250_150, 3 * one)]);
    assert_eq!((book.sequence, book.time), (None, None));
}

/// What has more of its quantity beyond the end of the list is no level with a known quantity.
#[test]
fn a_list_that_ends_within_a_price_of_the_market_ends_before_it() {
    let one = 10_u64.pow(Units::of(&spec()).lot_decimals);
    let bids = |list: &str| {
        let book = read(&format!(r#"{{"b": [{list}], "a": []}}"#)).unwrap();
        levels(&book.bids)
    };
    let whole = r#"["2500.10",1],["2500.095",2],["2500.09",3]"#;
    assert_eq!(bids(whole), [(250_010, one), (250_009, 5 * one)]);
    assert_eq!(
        bids(r#"["2500.10",1],["2500.095",2],["2500.091",3]"#),
        [(250_010, one)]
    );
    assert_eq!(bids(r#"["2500.105",1]"#), [(250_010, one)], "the only one");
    let dust = r#"["2500.10","0.000000000000001"],["2500.095",1]"#;
    assert_eq!(bids(dust), [(250_009, one)], "the only one with a lot");
    let asks = read(r#"{"b": [], "a": [["2500.10",1],["2500.105",2],["2500.11",3]]}"#).unwrap();
    assert_eq!(levels(&asks.asks), [(250_010, one), (250_011, 5 * one)]);
    let asks = read(r#"{"b": [], "a": [["2500.10",1],["2500.105",2]]}"#).unwrap();
    assert_eq!(levels(&asks.asks), [(250_010, one)]);
}

/// A bid that is left at a thousandth of a tick does not make the whole book unusable.
#[test]
fn a_bid_below_the_lowest_price_of_the_market_is_left_out() {
    let book = read(
        r#"{"b": [["2500.10","1"],["0.01","7"],["0.0099","7"],["0.001","7"]], "a": [["2500.11","1"],["0.001","1"]]}"#,
    );
    let error = book.unwrap_err();
    assert_eq!(error.kind, FeedErrorKind::Unsorted);
    assert!(error.what.contains("/a/1: levels are not in order"));
    let book = read(
        r#"{"b": [["2500.10","1"],["0.01","7"],["0.0099","7"],["0.001","7"]], "a": [["2500.11","1"]]}"#,
    );
    let one = 10_u64.pow(Units::of(&spec()).lot_decimals);
    assert_eq!(
        levels(&book.unwrap().bids),
        [(250_010, one), (1, 7 * one)],
        "a price of one tick is there"
    );
    assert!(read(r#"{"b": [["0.001","1"],["0","1"]], "a": []}"#).is_err());
}

#[test]
fn whole_numbers_of_small_units_are_quantities_too() {
    let mut feed = feed();
    feed.quantity_decimals = 18;
    let body = br#"{"b": [["2500.00","123456789000000000000"]], "a": []}"#;
    let book = decode(&feed, &Units::of(&spec()), body).unwrap();
    let one = 10_u64.pow(Units::of(&spec()).lot_decimals);
    assert_eq!(book.bids[0].qty.0, 123_456_789 * one / 1_000_000);
}

/// What servers and proxies answer that compress or encode although nothing of it was asked for.
#[test]
fn an_answer_in_another_form_is_named() {
    for (body, words) in [
        (&b"\x1f\x8b\x08\x00rest"[..], "compressed (gzip)"),
        (b"\x28\xb5\x2f\xfdrest", "compressed (zstd)"),
        (b"\xff\xfe{\0}\0", "text in UTF-16"),
    ] {
        let refused = decode(&feed(), &Units::of(&spec()), body).unwrap_err();
        assert_eq!(refused.kind, FeedErrorKind::Invalid);
        assert!(refused.what.contains(words), "{refused}");
        assert!(refused.what.contains("plain JSON"), "{refused}");
    }
    let marked = format!("\u{feff}{}", r#"{"b": [["1","1"]], "a": []}"#);
    assert_eq!(read(&marked).unwrap().bids.len(), 1);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (body, words) in [
        ("<html>", "not JSON"),
        (r#"{"b": []}"#, "no list at /a"),
        (r#"{"b": {}, "a": []}"#, "no list at /b"),
        (
            r#"{"b": [["x","1"]], "a": []}"#,
            r#"no number at /b/0/0, but "x""#,
        ),
        (
            r#"{"b": [["1"]], "a": []}"#,
            "no number at /b/0/1, but nothing",
        ),
        (r#"{"b": [["-1","1"]], "a": []}"#, "no number at /b/0/0"),
        (
            r#"{"b": [["0","1"]], "a": []}"#,
            "0 at /b/0/0 is not a price",
        ),
        (
            r#"{"b": [["1","1"],["2","1"]], "a": []}"#,
            "/b/1: levels are not in order, best first: 2 follows 1",
        ),
        // Twice the same price is one level too many.
        (
            r#"{"b": [["2","1"],["2.0","1"]], "a": []}"#,
            "/b/1: levels are not in order",
        ),
        // Out of order within one tick.
        (
            r#"{"b": [], "a": [["2.009","1"],["2.001","1"]]}"#,
            "/a/1: levels are not in order",
        ),
        (
            r#"{"b": [], "a": [["2","1"],["1","1"]]}"#,
            "/a/1: levels are not in order",
        ),
        (r#"{"b": [["2","1"]], "a": [["2","1"]]}"#, "crossed"),
        (
            r#"{"b": [["99999999999999999999999","1"]], "a": []}"#,
            "is not a price",
        ),
        (
            r#"{"b": [["1","99999999999999999999999999"]], "a": []}"#,
            "is not a quantity",
        ),
    ] {
        let error = read(body).unwrap_err().what;
        assert!(error.contains(words), "{body}: {error}");
    }
    let mut numbered = feed();
    numbered.pointers.sequence = Some("/n".to_owned());
    numbered.pointers.time = Some(("/t".to_owned(), TimeForm::Seconds));
    let units = Units::of(&spec());
    let error = decode(&numbered, &units, br#"{"b":[],"a":[],"t":1}"#)
        .unwrap_err()
        .what;
    assert!(error.contains("no whole number at /n"), "{error}");
    let seconds = decode(&numbered, &units, br#"{"b":[],"a":[],"n":1,"t":946684799}"#);
    let error = seconds.unwrap_err().what;
    assert!(error.contains("is time_unit that of the feed?"), "{error}");
    let error = decode(&numbered, &units, br#"{"b":[],"a":[],"n":1,"t":null}"#)
        .unwrap_err()
        .what;
    assert!(error.contains("no time at /t"), "{error}");
    let book = decode(
        &numbered,
        &units,
        br#"{"b":[],"a":[],"n":"7","t":946684800.25}"#,
    )
    .unwrap();
    assert_eq!(
        (book.sequence, book.time),
        (Some(7), Some(Timestamp(946_684_800_250_000_000)))
    );
}
