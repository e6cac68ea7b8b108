//! Notifications in, metrics and pages out.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use crate::telemetry::Mode;
use std::collections::BTreeSet;
use std::sync::Arc;

use cambist_core::books::Difference;
use cambist_core::event::TradingState;
use cambist_core::notification::{
    AS_STORED, BooksStatus, Control, End, Fill, MarketStatus, Notification, PoolStatus, Status,
};
use cambist_core::pool::PoolBalances;
use cambist_core::request::{Endpoint, UnknownCause};
use cambist_core::{
    ClientOrderId, MarketId, MarketSpec, PoolSpec, Price, Qty, Reason, Side, StrategyId, Time,
    TokenId, TokenSpec, VenueTime,
};
use serde_json::json;

use super::last_known::RefusalText;
use super::observe::{Words, remedy_of_keys, words};
use super::{About, Telemetry, TelemetryError, books, http, log};
use cambist_host::clock::Clock;

pub(crate) fn token(id: u16, symbol: &str, decimals: u8) -> TokenSpec {
    TokenSpec {
        id: TokenId(id),
        symbol: symbol.to_owned(),
        decimals,
        precision: 6,
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    }
}

/// One market, no pool.
pub(crate) fn about() -> About {
    let (eth, usdc) = (token(0, "ETH", 18), token(1, "USDC", 6));
    let market = MarketSpec::new(MarketId(0), "ETH-USDC", eth, usdc, 2, true).unwrap();
    About {
        revision: "abc".to_owned(),
        config_hash: "def".to_owned(),
        config: "demo.toml".to_owned(),
        markets: vec![market],
        pools: Vec::new(),
        tokens: Vec::new(),
        depth_age_max_ms: 5_000,
        tick_age_max_ms: 10_000,
        ..About::default()
    }
}

/// The pool beside the market of [`about`].
pub(crate) fn pool() -> PoolSpec {
    let market = about().markets.remove(0);
    PoolSpec {
        market: market.id,
        name: "AMM-ETH-USDC".to_owned(),
        address: [1; 20],
        pooled: [market.base.id, market.quote.id],
        lp: token(2, "LP-ETH-USDC", 8),
        joins: true,
        exits: true,
        swaps: true,
        fee_bips: 20,
        in_range: false,
    }
}

fn telemetry() -> Telemetry {
    Telemetry::new(about(), Clock::new()).unwrap()
}

fn order(number: u64) -> ClientOrderId {
    ClientOrderId {
        instance: 1,
        strategy: StrategyId(0),
        number,
    }
}

fn submitted(number: u64) -> Notification {
    Notification::Submitted {
        order: order(number),
        market: MarketId(0),
        side: Side::Buy,
        price: Price(250_000),
        qty: Qty(1),
        valid_until_s: 9,
    }
}

/// The printed value of one series.
fn value(text: &str, series: &str) -> String {
    let found = text
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    found
        .unwrap_or_else(|| panic!("no {series} in\n{text}"))
        .to_owned()
}

#[test]
fn every_series_is_there_before_anything_happens() {
    let text = telemetry().render().unwrap();
    for series in [
        "cambist_orders_finished_total{market=\"ETH-USDC\",state=\"failed_late\"}",
        "cambist_risk_rejects_total{control=\"price_collar\",market=\"ETH-USDC\"}",
        "cambist_http_requests_total{endpoint=\"order_submit\",outcome=\"unknown\"}",
        "cambist_venue_errors_total{code=\"102014\",endpoint=\"order_submit\"}",
        "cambist_fills_total{market=\"ETH-USDC\",side=\"sell\"}",
        "cambist_kill_switch_engagements_total{cause=\"operator\",level=\"2\"}",
        "cambist_orders_open{market=\"ETH-USDC\",state=\"unknown\"}",
        "cambist_journal_errors_total{operation=\"seal\"}",
    ] {
        assert_eq!(value(&text, series), "0");
    }
    assert_eq!(value(&text, "cambist_up_state{state=\"starting\"}"), "1");
    assert!(value(&text, "process_open_fds").parse::<u32>().unwrap() > 2);
    assert!(
        value(&text, "process_start_time_seconds")
            .parse::<f64>()
            .unwrap()
            > 1e9
    );
}

/// A notification must not create a series.
#[test]
fn notes_bear_no_new_series() {
    let telemetry = telemetry();
    let names = |text: &str| -> BTreeSet<String> {
        let series = text.lines().filter_map(|line| line.rsplit_once(' '));
        series.map(|(name, _)| name.to_owned()).collect()
    };
    let before = names(&telemetry.render().unwrap());
    for note in [
        submitted(1),
        Notification::Answered {
            endpoint: Endpoint::Submit,
            micros: 5,
        },
        Notification::Refused {
            endpoint: Endpoint::Submit,
            order: None,
            reason: Reason::Unlisted(7),
        },
        Notification::Refused {
            endpoint: Endpoint::Depth,
            order: None,
            reason: Reason::RateLimited,
        },
        Notification::Unknown {
            endpoint: Endpoint::Orders,
            order: None,
            cause: UnknownCause::Undecodable,
        },
        Notification::RiskRefused {
            market: MarketId(0),
            control: Control::Balance,
        },
        Notification::InvariantFailed {
            name: "x".repeat(999),
            detail: "\u{1b}[31m".to_owned(),
        },
        Notification::TradingStateChanged {
            level: TradingState::Halted,
            cause: String::new(),
        },
        Notification::Ended {
            order: order(1),
            market: MarketId(0),
            end: End::Fenced,
            cancel_micros: Some(1),
        },
        Notification::Mismatch {
            token: TokenId(1),
            ledger: 5,
            venue: 4,
        },
    ] {
        telemetry.observe(&note);
    }
    let text = telemetry.render().unwrap();
    assert_eq!(names(&text), before);
    assert_eq!(
        value(
            &text,
            "cambist_venue_errors_total{code=\"unlisted\",endpoint=\"order_submit\"}"
        ),
        "1"
    );
    assert_eq!(value(&text, "cambist_kill_switch_level"), "3");
    assert_eq!(
        value(&text, "cambist_balance_mismatch_units{token=\"USDC\"}"),
        "-0.000001"
    );
}

/// With a lower bound the command would explain a part and leave the rest as a difference.
#[test]
fn the_command_that_explains_is_stated_once_the_amount_is_exact() {
    let differs = |at_least| BooksStatus {
        differences: [(
            TokenId(1),
            Difference {
                ledger: 5_000_000,
                venue: 4_000_000,
            },
        )]
        .into(),
        at_least,
        ..BooksStatus::default()
    };
    let about = about();
    let page = |books: &BooksStatus| books::page(&about, books, None)["differences"][0].clone();
    let (bound, exact) = (differs(true), differs(false));
    assert_eq!(page(&bound)["explain"], json!(null));
    assert_eq!(books::commands(&about, &bound), None);
    let command = books::commands(&about, &exact).unwrap();
    assert!(
        command.ends_with(" --token USDC --amount -1 --reason TEXT"),
        "{command}"
    );
    assert_eq!(page(&exact)["explain"], json!(command));
    assert_eq!(books::commands(&about, &BooksStatus::default()), None);
}

/// A start may wait for its venue before there is a telemetry of the run.
#[test]
fn a_run_is_up_since_its_process_began() {
    let clock = Clock::new();
    while clock.elapsed() < Time::from_ms(5) {
        std::thread::yield_now();
    }
    let telemetry = Telemetry::new(about(), clock).unwrap();
    assert!(telemetry.status()["up_ms"].as_u64() >= Some(5));
}

/// A venue without numbers of its own is not given those of the nearest reason.
#[test]
fn a_refusal_is_logged_in_the_words_of_the_venue() {
    let denied = "EGeneral:Permission denied (the API key has no permission \"Orders\")";
    let logged = |is_numbered, text: &str| {
        let text = text.to_owned();
        words(Reason::NoSignature, Some(RefusalText { text, is_numbered }))
    };
    let unnumbered = Words {
        code: None,
        what: None,
        text: Some(denied.to_owned()),
    };
    assert_eq!(logged(false, denied), unnumbered);
    let what = Some("no signature given");
    let bare = Words {
        code: None,
        what,
        text: None,
    };
    assert_eq!(logged(false, ""), bare);
    let numbered = Words {
        code: Some(104_004),
        what,
        text: Some("no header".to_owned()),
    };
    assert_eq!(logged(true, "no header"), numbered);
    let unknown = Words {
        text: None,
        ..numbered
    };
    assert_eq!(words(Reason::NoSignature, None), unknown);
    let permission = "want of a permission";
    assert!(remedy_of_keys(Reason::NoSignature, false).contains(permission));
    for (reason, is_numbered) in [(Reason::NoSignature, true), (Reason::InvalidApiKey, false)] {
        let remedy = remedy_of_keys(reason, is_numbered);
        assert!(!remedy.contains(permission), "{remedy}");
    }
}

/// A cancel that met a fill or another cancel is no mark of its own; what the venue refused has its reason.
#[test]
fn refusals_are_marked_with_their_reason_and_late_cancels_are_not() {
    let telemetry = telemetry();
    telemetry.begin_timeline();
    telemetry.observe(&submitted(1));
    for (endpoint, reason) in [
        (Endpoint::Cancel, Reason::NothingToCancel),
        (Endpoint::Submit, Reason::OrderExists),
    ] {
        telemetry.observe(&Notification::Refused {
            endpoint,
            order: Some(order(1)),
            reason,
        });
    }
    let page = telemetry.timeline(0);
    let marks = page["marks"].as_array().unwrap();
    let refused: Vec<_> = marks
        .iter()
        .filter(|mark| mark["kind"] == "refused")
        .collect();
    assert_eq!(refused.len(), 1, "{page}");
    let text = refused[0]["text"].as_str().unwrap();
    assert!(text.contains("order_submit: OrderExists"), "{text}");
}

#[test]
fn an_answer_is_a_success_only_if_no_other_outcome_is_reported() {
    let telemetry = telemetry();
    let endpoint = Endpoint::Submit;
    let answered = Notification::Answered {
        endpoint,
        micros: 5,
    };
    telemetry.observe(&answered);
    telemetry.observe(&Notification::Balanced);
    telemetry.observe(&answered);
    telemetry.observe(&Notification::Refused {
        endpoint,
        order: None,
        reason: Reason::OrderExists,
    });
    telemetry.observe(&answered);
    telemetry.observe(&Notification::Unknown {
        endpoint,
        order: None,
        cause: UnknownCause::Timeout,
    });
    telemetry.not_sent(endpoint);
    telemetry.observe(&answered);
    telemetry.observe(&answered);
    let text = telemetry.render().unwrap();
    for (outcome, count) in [
        ("ok", "2"),
        ("reject", "1"),
        ("unknown", "1"),
        ("transport", "1"),
    ] {
        let series = format!(
            "cambist_http_requests_total{{endpoint=\"order_submit\",outcome=\"{outcome}\"}}"
        );
        assert_eq!(value(&text, &series), count, "{outcome}");
    }
    assert_eq!(
        value(
            &text,
            "cambist_http_request_duration_seconds_count{endpoint=\"order_submit\"}"
        ),
        "5"
    );
}

#[test]
fn fills_are_counted_in_whole_tokens() {
    let telemetry = telemetry();
    for (side, fee) in [(Side::Sell, 500_000), (Side::Buy, 10_u128.pow(15))] {
        telemetry.observe(&Notification::Filled(Fill {
            order: order(1),
            market: MarketId(0),
            side,
            base: 10_u128.pow(17),
            quote: 250_000_000,
            fee,
            mid: None,
        }));
    }
    let text = telemetry.render().unwrap();
    assert_eq!(
        value(
            &text,
            "cambist_filled_quote_units_total{market=\"ETH-USDC\",side=\"buy\"}"
        ),
        "250"
    );
    // Half a quote token, and a thousandth of a base token at 2500.
    assert_eq!(
        value(&text, "cambist_fees_quote_units_total{market=\"ETH-USDC\"}"),
        "3"
    );
}

fn status(now_ready: bool) -> Notification {
    let market = MarketStatus {
        mid: Some(500_000),
        bid: Some(Price(249_900)),
        ask: Some(Price(250_100)),
        live: [2, 1],
        ..MarketStatus::default()
    };
    Notification::Status(Box::new(Status {
        markets: vec![market],
        ledger: [
            (TokenId(0), 2 * 10_u128.pow(18)),
            (TokenId(1), 5_000_000_000),
        ]
        .into(),
        venue: [(TokenId(0), 2 * 10_u128.pow(18))].into(),
        ready: now_ready,
        sent: 10,
        allowed: 100,
        unknown_since: Some(Time::from_ms(500)),
        ..Status::default()
    }))
}

#[test]
fn a_status_sets_the_gauges_and_the_page() {
    let telemetry = telemetry();
    telemetry.observe_at(Time::from_ms(1_000), 2e9, &status(true));
    telemetry.observe_at(Time::from_ms(3_000), 2e9, &status(true));
    let text = telemetry.render().unwrap();
    for (series, expected) in [
        (
            "cambist_mid_price_quote_per_base{market=\"ETH-USDC\"}",
            "2500",
        ),
        ("cambist_quote_spread_ratio{market=\"ETH-USDC\"}", "0.0008"),
        ("cambist_inventory_ratio{market=\"ETH-USDC\"}", "0.5"),
        ("cambist_equity_quote_units", "10000"),
        (
            "cambist_orders_open{market=\"ETH-USDC\",state=\"live\"}",
            "3",
        ),
        (
            "cambist_quoting_seconds_total{market=\"ETH-USDC\",side=\"buy\"}",
            "2",
        ),
        (
            "cambist_orders_unknown_oldest_timestamp_seconds",
            "1999999997.5",
        ),
        ("cambist_balance_units{kind=\"total\",token=\"ETH\"}", "2"),
    ] {
        assert_eq!(value(&text, series), expected);
    }
    let page = telemetry.status();
    assert_eq!(page["markets"][0]["bid"], "2499");
    assert_eq!(page["markets"][0]["mid"], "2500");
    assert_eq!(page["ledger"]["USDC"], "5000");
}

/// A trading state applies before it is stored: it is announced even if a status reports it first.
#[test]
fn a_page_asked_for_before_the_first_status_or_between_two_has_no_markets() {
    let telemetry = telemetry();
    assert_eq!(telemetry.page()["markets"], serde_json::json!([]));
    telemetry.observe(&Notification::Status(Box::default()));
    assert_eq!(telemetry.page()["markets"], serde_json::json!([]));
}

#[test]
fn a_trading_state_is_announced_once_whatever_reported_it_before() {
    let telemetry = telemetry();
    let level = TradingState::CancelOnly;
    telemetry.observe(&Notification::Status(Box::new(Status {
        level,
        ..Status::default()
    })));
    let changed = Notification::TradingStateChanged {
        level,
        cause: "store".to_owned(),
    };
    for _ in 0..2 {
        telemetry.observe(&changed);
        let text = telemetry.render().unwrap();
        let series = "cambist_kill_switch_engagements_total{cause=\"engine\",level=\"2\"}";
        assert_eq!(value(&text, series), "1");
    }
}

/// A trading state that restricts applies before the store has it, and so does its cause.
#[test]
fn a_trading_state_is_shown_with_its_cause_before_it_is_stored() {
    let telemetry = telemetry();
    let cause = || telemetry.status()["level_cause"].clone();
    telemetry.restricting(TradingState::Active, "a pause");
    assert_eq!(cause(), json!(null));
    telemetry.restricting(TradingState::CancelOnly, "why it stops");
    assert_eq!(cause(), "why it stops");
    telemetry.observe(&Notification::TradingStateChanged {
        level: TradingState::CancelOnly,
        cause: "why it stops".to_owned(),
    });
    assert_eq!(cause(), "why it stops");
    // One that is to be lowered applies until the store has the lower one.
    telemetry.restricting(TradingState::Active, "the operator resumes");
    assert_eq!(cause(), "why it stops");
    telemetry.observe(&Notification::TradingStateChanged {
        level: TradingState::Active,
        cause: "the operator resumes".to_owned(),
    });
    assert_eq!(cause(), json!(null));
}

/// The engine does not know why an earlier run stopped trading, and the store does.
#[test]
fn a_trading_state_of_an_earlier_run_keeps_its_cause() {
    let telemetry = telemetry();
    let changed = |level, cause: &str| {
        telemetry.observe(&Notification::TradingStateChanged {
            level,
            cause: cause.to_owned(),
        });
        telemetry.status()["level_cause"].clone()
    };
    telemetry.restricted_before(TradingState::CancelOnly, "why it stopped");
    let page = telemetry.status();
    let [level, cause] = ["level", "level_cause"].map(|key| page[key].clone());
    assert_eq!(
        (level, cause),
        ("cancel_only".into(), "why it stopped".into())
    );
    assert_eq!(
        changed(TradingState::CancelOnly, AS_STORED),
        "why it stopped"
    );
    assert_eq!(
        changed(TradingState::Active, "again"),
        serde_json::Value::Null
    );
    assert_eq!(changed(TradingState::CancelOnly, AS_STORED), AS_STORED);
    assert_eq!(changed(TradingState::CancelOnly, "another"), "another");
}

/// The simulated venue of paper trading hands over the last book however long its feed has failed.
#[test]
fn on_paper_a_depth_is_as_old_as_its_book() {
    for (mode, behind_ms, is_fresh) in [
        (Mode::Paper, 0, true),
        (Mode::Paper, 5_000, true),
        (Mode::Paper, 5_001, false),
        // The venue's clock is another.
        (Mode::Live, 3_600_000, true),
    ] {
        let about = About { mode, ..about() };
        let telemetry = Telemetry::new(about, Clock::new()).unwrap();
        telemetry.tick(10);
        telemetry.observe(&Notification::Ready {
            opening: [].into(),
            recovered: 0,
        });
        let now = telemetry.clock.now().plus_ms(10_000);
        let depth = Notification::DepthAccepted {
            market: MarketId(0),
            mid: Some(500_000),
            timestamp: VenueTime(5_000_000 - behind_ms),
        };
        telemetry.observe_at(now, 5_000.0, &depth);
        telemetry.last().ticked = Some(now);
        let is_ready = telemetry.health_at(now).ready;
        assert_eq!(is_ready, is_fresh, "{mode:?} {behind_ms}");
    }
}

#[test]
fn ready_means_ticking_trading_and_fresh() {
    let telemetry = telemetry();
    assert!(!telemetry.health().alive);
    telemetry.tick(10);
    let depth = Notification::DepthAccepted {
        market: MarketId(0),
        mid: Some(500_000),
        timestamp: VenueTime(1),
    };
    assert!(telemetry.health().alive && !telemetry.health().ready);
    telemetry.observe(&Notification::Ready {
        opening: [].into(),
        recovered: 0,
    });
    assert!(!telemetry.health().ready, "no depth yet");
    telemetry.observe(&depth);
    assert!(telemetry.health().ready);
    let now = telemetry.clock.now();
    assert!(
        !telemetry.health_at(now.plus_ms(6_000)).ready,
        "the depth is old"
    );
    assert!(telemetry.health_at(now.plus_ms(6_000)).alive);
    telemetry.observe(&Notification::Slept { ms: 6_000 });
    let stale = !telemetry.health_at(now).ready;
    assert!(stale, "the depth does not count after a gap in time");
    telemetry.observe(&depth);
    assert!(telemetry.health_at(now).ready);
    assert!(
        !telemetry.health_at(now.plus_ms(11_000)).alive,
        "the loop hangs"
    );
    telemetry.observe(&Notification::TradingStateChanged {
        level: TradingState::CancelOnly,
        cause: String::new(),
    });
    assert!(!telemetry.health().ready);
}

#[test]
fn a_busy_port_names_the_remedy() {
    let first = http::Listener::bind("127.0.0.1:0".parse().unwrap(), 64).unwrap();
    let busy = http::Listener::bind(first.address(), 64).unwrap_err();
    assert!(matches!(busy, TelemetryError::Busy { .. }));
    assert!(busy.to_string().contains("[metrics] listen"), "{busy}");
}

/// One request over a real socket.
async fn ask(address: std::net::SocketAddr, path: &str, host: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer
}

#[test]
fn pages_are_served_to_local_names_only() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = http::Listener::bind("127.0.0.1:0".parse().unwrap(), 64).unwrap();
        let address = listener.address();
        let telemetry = Arc::new(telemetry());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let served = tokio::spawn(listener.serve(
            http::Pages::new(http::Shown::Running(Arc::clone(&telemetry))),
            async {
                let _ = stopped.await;
            },
        ));
        let metrics = ask(address, "/metrics", "127.0.0.1:9464").await;
        assert!(
            metrics.starts_with("HTTP/1.1 200") && metrics.contains("text/plain; version=0.0.4")
        );
        assert!(metrics.contains("cambist_build_info{config_hash=\"def\""));
        let health = ask(address, "/healthz", "localhost").await;
        assert!(health.starts_with("HTTP/1.1 503"), "{health}");
        telemetry.tick(1);
        assert!(
            ask(address, "/healthz", "localhost")
                .await
                .starts_with("HTTP/1.1 200")
        );
        assert!(
            ask(address, "/readyz", "[::1]:1")
                .await
                .starts_with("HTTP/1.1 503")
        );
        assert!(
            ask(address, "/status", "localhost")
                .await
                .contains("\"state\":\"reconciling\"")
        );
        let index = ask(address, "/", "localhost").await;
        for path in ["/metrics", "/status", "/healthz", "/readyz"] {
            assert!(index.contains(path), "{path} is not listed: {index}");
        }
        let elsewhere = ask(address, "/status", "evil.example").await;
        assert!(elsewhere.starts_with("HTTP/1.1 403"), "{elsewhere}");
        stop.send(()).unwrap();
        served.await.unwrap().unwrap();
    });
}

/// A part of a portfolio that has ended states that, and its outcome, on every page; until then nothing does.
#[test]
fn the_pages_of_a_part_that_has_ended_state_its_outcome() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = http::Listener::bind("127.0.0.1:0".parse().unwrap(), 64).unwrap();
        let address = listener.address();
        let telemetry = Arc::new(telemetry());
        let pages = http::Pages::new(http::Shown::Running(Arc::clone(&telemetry)));
        let served = tokio::spawn(listener.serve(pages.clone(), std::future::pending()));
        telemetry.tick(1);
        let text = "the part of this venue has ended: the store failed";
        let paths = ["/healthz", "/readyz", "/status", "/page.json"];
        for path in paths {
            let before = ask(address, path, "localhost").await;
            assert!(!before.contains("has ended"), "{path}: {before}");
        }
        let reply = serde_json::json!({
            "done": false, "proven": false, "error": "the store failed", "exit": 1,
        });
        pages.end(crate::live::exit_report::status_of_end(&reply));
        for path in paths {
            let after = ask(address, path, "localhost").await;
            assert!(after.contains(text), "{path}: {after}");
            assert!(!after.contains("does not respond"), "{path}: {after}");
        }
        let health = ask(address, "/healthz", "localhost").await;
        assert!(health.starts_with("HTTP/1.1 503"), "{health}");
        let ready = ask(address, "/readyz", "localhost").await;
        assert!(ready.starts_with("HTTP/1.1 503"), "{ready}");
        assert!(
            ready.ends_with(&format!("not ready: {text} (exit code 1)\n")),
            "{ready}"
        );
        let status = ask(address, "/status", "localhost").await;
        let (_, body) = status.split_once("\r\n\r\n").unwrap();
        let status: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            (&status["state"], &status["line"]),
            (&"ended".into(), &text.into())
        );
        assert_eq!(
            (&status["alive"], &status["ready"]),
            (&false.into(), &false.into())
        );
        assert_eq!(status["end"]["exit"], 1);
        let metrics = ask(address, "/metrics", "localhost").await;
        assert!(metrics.contains("cambist_build_info"), "{metrics}");
        served.abort();
    });
}

/// What is owed to shares is shown by token, and what is not known is not 0.
#[test]
fn fees_that_are_owed_are_shown_while_they_are_known() {
    let mut pool = pool();
    pool.in_range = true;
    pool.pooled.reverse();
    let about = About {
        pools: vec![pool],
        ..about()
    };
    let telemetry = Telemetry::new(about, Clock::new()).unwrap();
    let balances = PoolBalances::constant_product([1, 1], 1);
    let states = [
        None,
        Some(PoolBalances {
            owed: Some([2_500_000, 10_u128.pow(16)]),
            ..balances
        }),
        Some(PoolBalances {
            owed: Some([0, 0]),
            ..balances
        }),
        Some(balances),
    ];
    let expected = [
        (json!(null), [None, None]),
        (
            json!({"ETH": "0.01", "USDC": "2.5"}),
            [Some("0.01"), Some("2.5")],
        ),
        (json!({"ETH": "0", "USDC": "0"}), [Some("0"), Some("0")]),
        (json!(null), [None, None]),
    ];
    for (balances, (shown, series)) in states.into_iter().zip(expected) {
        telemetry.observe(&Notification::Status(Box::new(Status {
            markets: vec![MarketStatus::default()],
            pools: vec![PoolStatus {
                market: MarketId(0),
                balances,
                held: 1,
                value: None,
                divergence_bps: None,
                moving: false,
                unknown: false,
                age_ms: None,
                withheld: None,
            }],
            ..Status::default()
        })));
        assert_eq!(telemetry.status()["pools"][0]["fees_owed"], shown);
        let text = telemetry.render().unwrap();
        for (symbol, value) in ["ETH", "USDC"].into_iter().zip(series) {
            let labels =
                format!("cambist_pool_fees_owed{{market=\"ETH-USDC\",token=\"{symbol}\"}} ");
            let found = text.lines().find_map(|line| line.strip_prefix(&labels));
            assert_eq!(found, value);
        }
    }
}

/// Every note of the trading state and of the connection, in the format that is parsed.
#[test]
fn log_lines_have_every_key_once_and_name_the_venue_that_is_silent() {
    let about = About {
        venue: "kraken".to_owned(),
        ..about()
    };
    let telemetry = Telemetry::new(about, Clock::new()).unwrap();
    let lines = log::tests::logged(|| {
        for level in [TradingState::CancelOnly, TradingState::Active] {
            telemetry.observe(&Notification::TradingStateChanged {
                level,
                cause: "loss".to_owned(),
            });
        }
        telemetry.venue_silent(Endpoint::Orders, "connection refused");
        telemetry.venue_answered();
    });
    assert_eq!(lines.len(), 4, "{lines:?}");
    for line in &lines {
        assert_eq!(log::tests::key_twice(line), None, "{line}");
    }
    let line = |at: usize| serde_json::from_str::<serde_json::Value>(&lines[at]).unwrap();
    assert_eq!(
        (&line(0)["level"], &line(0)["state"]),
        (&"ERROR".into(), &"cancel_only".into())
    );
    assert_eq!(
        (&line(1)["level"], &line(1)["message"]),
        (&"INFO".into(), &"trading state changed".into())
    );
    assert_eq!(
        (&line(2)["venue"], &line(3)["venue"]),
        (&"kraken".into(), &"kraken".into())
    );
}
