//! A venue that does not answer, on every page.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::notification::{MarketStatus, Notification, Status};
use cambist_core::{MarketId, Time, VenueTime};
use serde_json::json;

use super::{Alive, page, text};
use crate::telemetry::last_known::LastKnown;
use crate::telemetry::tests::about;
use crate::telemetry::throttle::Throttle;
use crate::telemetry::{About, Telemetry};
use cambist_host::clock::Clock;

const REFUSED: &str = "client error (Connect): Connection refused (os error 111)";

fn of_kraken() -> About {
    About {
        venue: "kraken".to_owned(),
        grace_s: 3,
        ..about()
    }
}

fn at(ms: u64) -> (Time, u64) {
    (Time::from_ms(ms), 43_200 + ms / 1_000)
}

/// Silent since second 10, answered last in second 9, with a book of second 8.
fn silent() -> LastKnown {
    let mut last = LastKnown::new(1, at(0).0);
    last.depth[0] = Some(at(8_000).0);
    last.connectivity.answered(at(9_000).0);
    let mut throttle = Throttle::default();
    last.connectivity.silent(at(10_000), REFUSED, &mut throttle);
    last
}

#[test]
fn an_outage_has_its_venue_its_age_and_that_of_the_book() {
    let about = of_kraken();
    let mut last = silent();
    assert_eq!(
        text(&about, &last, at(70_999)).unwrap(),
        "the venue kraken has not answered for 1m (connection refused), since 1970-01-01T12:00:10Z; \
         the book of ETH-USDC is 1m 2s old"
    );
    last.depth[0] = None;
    let never = text(&about, &last, at(71_000)).unwrap();
    assert!(
        never.contains("for 1m 1s") && never.ends_with("the book of ETH-USDC was not read yet"),
        "{never}"
    );
    let shown = page(&about, &last, at(70_999));
    assert_eq!(shown["for_ms"], 60_999);
    assert_eq!(shown["last_answer_ms"], 61_999);
    assert_eq!(
        (&shown["venue"], &shown["cause"], &shown["since"]),
        (
            &json!("kraken"),
            &json!("connection refused"),
            &json!("1970-01-01T12:00:10Z")
        )
    );
    assert_eq!(
        (&shown["orders"], &shown["alive_until_s"]),
        (&json!(null), &json!(null)),
        "not known before the first status"
    );
    last.connectivity.answered(at(71_000).0);
    assert_eq!(text(&about, &last, at(71_000)), None);
    assert_eq!(page(&about, &last, at(71_000)), json!(null));
}

#[test]
fn orders_expire_by_themselves_with_a_time_that_is_known_and_not_past() {
    let about = of_kraken();
    let shown = |orders, last_expiry_s, ms| {
        let mut last = silent();
        last.alive = Some(Alive {
            orders,
            last_expiry_s,
        });
        let text = text(&about, &last, at(ms)).unwrap();
        let (_, orders) = text.split_once("s old; ").unwrap();
        let page = page(&about, &last, at(ms));
        (orders.to_owned(), page["alive_until_s"].as_u64())
    };
    // Expiry in second 30, three seconds of grace.
    let expiry = Some(43_230);
    assert_eq!(
        shown(4, expiry, 32_999),
        (
            "4 orders may be alive, the last until 1970-01-01T12:00:33Z (expiry plus grace); they expire by themselves"
                .to_owned(),
            Some(43_233)
        )
    );
    let (past, until_s) = shown(4, expiry, 33_000);
    assert!(
        past.contains(
            "the venue has not proven their end, which the clock passed at 1970-01-01T12:00:33Z"
        ),
        "{past}"
    );
    assert_eq!(until_s, Some(43_233));
    assert_eq!(
        shown(1, expiry, 20_000).0,
        "1 order may be alive, until 1970-01-01T12:00:33Z (expiry plus grace); it expires by itself"
    );
    assert_eq!(
        shown(0, expiry, 20_000),
        ("no own order may be alive".to_owned(), None)
    );
    // Where only a fill or a cancel ends an order there is no time.
    let unknown = "4 orders may be alive, and until when is not known".to_owned();
    assert_eq!(shown(4, Some(u32::MAX), 20_000), (unknown.clone(), None));
    assert_eq!(shown(4, None, 20_000), (unknown, None));
    assert_eq!(
        shown(4, Some(u32::MAX - 1), 20_000).1,
        Some(u64::from(u32::MAX) + 2)
    );
}

#[test]
fn readiness_and_status_state_it_and_a_book_is_old_above_its_limit() {
    let telemetry = Telemetry::new(of_kraken(), Clock::new()).unwrap();
    telemetry.tick(10);
    telemetry.observe_at(
        at(8_000).0,
        43_208.0,
        &Notification::DepthAccepted {
            market: MarketId(0),
            mid: Some(500_000),
            timestamp: VenueTime(43_208_000),
        },
    );
    let status = Status {
        markets: vec![MarketStatus::default()],
        ready: true,
        ..Status::default()
    };
    telemetry.observe_at(
        at(9_000).0,
        43_209.0,
        &Notification::Status(Box::new(status)),
    );
    telemetry.alive(2, Some(43_230));
    let shown = |ms: u64| {
        telemetry.last().ticked = Some(at(ms).0);
        let (now, now_unix_s) = at(ms);
        let page = telemetry.status_at(now, now_unix_s);
        let (ready, text) = telemetry.readiness_at(now, now_unix_s);
        (page, ready, text)
    };
    let (page, ready, text) = shown(10_000);
    assert!(ready && page["outage"].is_null(), "{page}");
    assert_eq!(text, "ready\n");

    let silent = at(10_000);
    let mut throttle = Throttle::default();
    let _ = telemetry
        .last()
        .connectivity
        .silent(silent, REFUSED, &mut throttle);
    // The depth of second 8 is fresh for five seconds, and what rests is still quoted.
    let (page, ready, text) = shown(13_000);
    assert!(ready, "{text}");
    assert!(
        text.starts_with("ready\nthe venue kraken has not answered for 3s"),
        "{text}"
    );
    assert_eq!(page["outage"]["orders"], 2);
    assert_eq!(page["markets"][0]["depth_stale"], false);
    let (page, ready, text) = shown(13_001);
    assert!(!ready);
    assert!(
        text.contains("depth is not fresh\nthe venue kraken has not answered")
            && text.contains("the last until 1970-01-01T12:00:33Z"),
        "{text}"
    );
    assert_eq!(page["markets"][0]["depth_stale"], true);
    assert_eq!(page["markets"][0]["depth_age_ms"], 5_001);

    telemetry.last().connectivity.answered(at(14_000).0);
    let (page, _, text) = shown(14_000);
    assert!(
        page["outage"].is_null() && !text.contains("kraken"),
        "{text}"
    );
}
