//! Reference prices with a real daemon and exchange: a strategy that quotes around the middle of another place's book,
//! while that is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toml::Table;

use crate::paper::Public;
use crate::support::http::{body, metric};
use crate::support::stage::quick;
use crate::support::{Edit, Program, Stage, until};

const SOON: Duration = Duration::from_secs(40);

/// A book one cent wide around a price in cents.
fn book(cents: u64) -> String {
    let level = |cents: u64| json!([[format!("{}.{:02}", cents / 100, cents % 100), "2.0"]]);
    json!({"bids": level(cents - 1), "asks": level(cents + 1)}).to_string()
}

fn table(text: &str) -> Vec<toml::Value> {
    vec![toml::Value::Table(text.parse().unwrap())]
}

/// A ladder of one level a side, 100 bps from the price of the feed.
fn follows(file: &mut Table, url: &str) {
    quick(file);
    let ladder = "name = 'ladder'\n[params]\nbid_spread_bps = 100\nask_spread_bps = 100\norder_amount = 0.2\nfilled_order_delay_ms = 0\n\
                  reference = [{ source = 'feed', feed = 'elsewhere' }]";
    let feed = format!(
        "name = 'elsewhere'\nurl = '{url}'\nbids = '/bids'\nasks = '/asks'\npoll_ms = 100\nage_max_ms = 1000"
    );
    file.put("market.0.strategy", table(ladder))
        .put("market.0.reference_feed", table(&feed));
}

/// Status once both sides are quoted around a price, in cents, or both have a reason.
fn settles(stage: &Stage, daemon: &mut Program, around: Result<u64, &str>) -> Value {
    until(SOON, &format!("quotes: {around:?}"), || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let (_, page, _) = stage.command("status");
        let market = &page["markets"][0];
        let sides = [("buy", "bid", -1.0), ("sell", "ask", 1.0)];
        let is_so = sides.iter().all(|(side, own, sign)| match around {
            Ok(cents) => {
                let price = market[own]
                    .as_str()
                    .and_then(|price| price.parse::<f64>().ok());
                #[expect(clippy::cast_precision_loss, reason = "a price in cents")]
                let expected = cents as f64 / 100.0 * (1.0 + sign * 0.01);
                price.is_some_and(|price| (price - expected).abs() < 0.05)
            }
            Err(reason) => market["withheld"][side]["reason"] == reason,
        });
        is_so.then(|| page.clone())
    })
}

#[test]
fn quotes_follow_another_place_and_are_cancelled_when_its_price_is_too_old() {
    let cents = Arc::new(AtomicU64::new(250_700));
    let shown = Arc::clone(&cents);
    let elsewhere = Public::start(move |_, _| book(shown.load(Ordering::Acquire)));
    let stage = Stage::open("reference-feed", |_| {});
    let url = format!("http://{}/book", elsewhere.address);
    stage.daemon("daemon", &stage.url(), |file| follows(file, &url));
    let mut daemon = stage.run("daemon");
    let page = settles(&stage, &mut daemon, Ok(250_700));
    let source = &page["references"][0];
    assert_eq!(
        (&source["name"], &source["price"], &source["stale"]),
        (&json!("elsewhere"), &json!("2507"), &json!(false)),
        "{page}"
    );
    // The price moves, and with it the quotes, although the exchange's own book need not.
    cents.store(249_400, Ordering::Release);
    settles(&stage, &mut daemon, Ok(249_400));

    elsewhere.is_down.store(true, Ordering::Release);
    settles(&stage, &mut daemon, Err("no_fair_price"));
    until(SOON, "a stale source", || {
        let (_, page, _) = stage.command("status");
        (page["references"][0]["stale"] == true).then_some(())
    });
    until(SOON, "no order rests", || {
        let orders = stage.books().orders;
        orders
            .iter()
            .all(|order| order.status.is_final())
            .then_some(())
    });
    elsewhere.is_down.store(false, Ordering::Release);
    settles(&stage, &mut daemon, Ok(249_400));
    let address = stage.metrics("daemon", &mut daemon);
    let labels = ["market=\"ETH-USDC\"", "source=\"elsewhere\""];
    // A poll may be late on a busy machine; the next one makes it young again.
    let metrics = until(SOON, "a young price", || {
        let metrics = body(&address, "/metrics").unwrap();
        let age = metric(&metrics, "cambist_reference_age_seconds", &labels);
        (age < 1.0 && metrics.contains(labels[1])).then_some(metrics)
    });
    let answers = |result: &str| {
        let result = format!("result=\"{result}\"");
        let labels = [labels[0], "feed=\"reference:elsewhere\"", result.as_str()];
        metric(&metrics, "cambist_feed_answers_total", &labels)
    };
    assert!(
        answers("book") > 1.0 && answers("http_status") > 0.0,
        "{metrics}"
    );

    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    elsewhere.assert_only_read();
    // The prices are on the tape: it replays to the same actions.
    let (code, replayed, log) = stage.command("replay");
    assert_eq!(
        (code, &replayed["equal"]),
        (0, &true.into()),
        "{replayed} {log}"
    );
    stage.close();
}

#[test]
fn a_source_that_the_market_does_not_have_is_refused_by_line() {
    let stage = Stage::open("reference-names", |_| {});
    for (name, edit, words) in [
        (
            "unknown",
            "name = 'another'",
            "no [[market.reference_feed]] has the name \"elsewhere\"; this market has another",
        ),
        (
            "letters",
            "name = 'else where'",
            "must be 1 to 32 letters, digits, - or _",
        ),
        ("nameless", "name = 5", "market.reference_feed.name"),
        (
            "age",
            "name = 'elsewhere'\nage_max_ms = 5",
            "market.reference_feed.age_max_ms",
        ),
        (
            "pointer",
            "name = 'elsewhere'\nbids = 'bids'",
            "market.reference_feed: \"bids\" is not a JSON pointer",
        ),
        (
            "template",
            "name = 'elsewhere'\ntemplate = 'nowhere'",
            "market.reference_feed.template = \"nowhere\" is unknown",
        ),
    ] {
        let config = stage.daemon(name, &stage.url(), |file| {
            follows(file, "http://127.0.0.1:9/book");
            let edit: Table = edit.parse().unwrap();
            for (key, value) in edit {
                file.put(&format!("market.0.reference_feed.0.{key}"), value);
            }
        });
        let config = config.display().to_string();
        let args = ["check", "--config", &config];
        let run = crate::support::process::run(stage.folder.path(), name, &args, SOON);
        assert_eq!(run.0, 77, "{name}: {run:?}");
        let printed = format!("{}{}", run.1, run.2);
        assert!(printed.contains(words), "{name}: {printed}");
        assert!(
            printed.contains(&format!("{name}.toml:")),
            "{name}: {printed}"
        );
    }
    stage.close();
}
