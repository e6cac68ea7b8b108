#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::sync::Arc;

use cambist_core::notification::{MarketStatus, Notification, Status};
use cambist_core::sorted_map::SortedMap;
use cambist_core::withheld::Compared;

use super::super::tests::{about, pool};
use super::super::{Telemetry, http};
use super::*;
use cambist_host::clock::Clock;

const PAGE: &str = include_str!("../../../../docs/no-quotes.md");

fn table() -> String {
    let mut text = String::from(
        "| reason | what holds the side back | keys | what to do |\n|---|---|---|---|\n",
    );
    for control in Control::ALL {
        let keys = control.keys().iter().map(|key| format!("`{key}`"));
        let keys = keys.collect::<Vec<_>>().join(", ");
        let (name, why, remedy) = (control.name(), control.sentence(), control.remedy());
        writeln!(text, "| `{name}` | {why} | {keys} | {remedy} |").unwrap();
    }
    text
}

#[test]
fn the_page_names_every_reason() {
    let (_, rest) = PAGE.split_once("<!-- reasons: begin -->\n").unwrap();
    let (found, _) = rest.split_once("<!-- reasons: end -->").unwrap();
    let expected = table();
    assert!(
        found == expected,
        "docs/no-quotes.md should hold\n\n{expected}"
    );
}

/// Every key in a reason is in the example configuration, a parameter of a strategy, or a key of a process strategy.
#[test]
fn every_key_is_one_of_the_configuration() {
    let example = concat!(
        include_str!("../../../../config/cambist.toml"),
        include_str!("../../../../config/portfolio.toml"),
        include_str!("../../../../config/evm-pools.toml")
    );
    for control in Control::ALL {
        for key in control.keys() {
            let (section, name) = key.rsplit_once('.').unwrap();
            let parameter = section.starts_with("market.strategy.params") || name == "params";
            let of_strategy = cambist_strategies::all()
                .iter()
                .any(|info| info.parameters.iter().any(|known| known.name == name));
            let of_process = section == "market.strategy"
                && include_str!("../../../../docs/process-strategies.md")
                    .contains(&format!("\n| `{name}` |"));
            let explained = example.contains(&format!("\n{name} ="))
                || example.contains(&format!("\n# {name} ="));
            let named = if parameter {
                name == "params" || of_strategy
            } else {
                explained || of_process
            };
            assert!(named, "{key} of {}", control.name());
        }
    }
}

fn above_value() -> Withheld {
    let compared = Compared::new(
        Unit::Quote,
        "market.order_value_max",
        1_500_500_000_u64,
        5_000_000_u64,
    );
    Withheld::compared(Control::OrderValue, compared)
}

fn below_floor() -> Withheld {
    let compared = Compared::new(Unit::Ticks, "market.price_floor", 94_905_u64, 100_000_u64);
    Withheld::compared(Control::PriceBand, compared)
}

#[test]
fn a_reason_is_reported_with_its_numbers_and_the_key() {
    let spec = about().markets.remove(0);
    let text = |why: Withheld| text(&spec, &why);
    assert_eq!(
        text(above_value()),
        "the value of one order would exceed order_value_max: 1500.5 USDC against 5 USDC (market.order_value_max)"
    );
    assert_eq!(
        text(below_floor()),
        "the price is outside price_floor to price_ceiling: 949.05 USDC against 1000 USDC (market.price_floor)"
    );
    let eth = |n: i128| n * 10_i128.pow(18);
    let band = Compared::new(Unit::Base, "market.inventory_min", eth(-1) / 2, eth(3));
    assert_eq!(
        text(Withheld::compared(Control::InventoryBand, band)),
        "if every order filled, holdings would be outside inventory_min to inventory_max: -0.5 ETH against 3 ETH (market.inventory_min)"
    );
    let found = Compared {
        key: "",
        unit: Unit::Quote,
        value: Some(1_500_500_000),
        limit: None,
    };
    let found = text(Withheld::compared(Control::BooksDiffer, found));
    assert!(found.ends_with(": 1500.5 USDC"), "{found}");
    // A part was explained since; all of it has to be.
    let left = |value| {
        let compared = Compared::new(Unit::Quote, "risk.mismatch_max", value, 200_000_000);
        text(Withheld::compared(Control::BooksDiffer, compared))
    };
    for (value, words) in [
        (200_000_001, ": 200.000001 USDC against 200 USDC ("),
        (200_000_000, ": 200 USDC is left of more than 200 USDC ("),
        (1_000_000, ": 1 USDC is left of more than 200 USDC ("),
    ] {
        assert!(left(value).contains(words), "{}", left(value));
    }
    let old = Compared::unknown(Unit::Ms, "poll.depth_age_max_ms", 5_000);
    assert_eq!(
        text(Withheld::compared(Control::StaleData, old)),
        "the book was not read since the start, or since a gap in time after which the book of before does not count: its age is unknown, at most 5.0 s are allowed (poll.depth_age_max_ms)"
    );
    let left = Compared {
        key: "risk.pause_s",
        unit: Unit::Ms,
        value: Some(12_340),
        limit: None,
    };
    assert_eq!(
        text(Withheld::compared(Control::Paused, left)),
        "this market, side or strategy is paused: 12.3 s left (risk.pause_s)"
    );
    assert_eq!(
        text(Control::Level.into()),
        "the trading state allows no new orders"
    );
    let lots = Compared::new(Unit::Lots, "market.depth_min", 25_u64, 10_000_u64);
    assert!(text(Withheld::compared(Control::ThinBook, lots)).contains("0.0025 ETH against 1 ETH"));
}

/// A daemon past recovery whose sides have these reasons.
fn telemetry_of(reasons: Reasons) -> Arc<Telemetry> {
    let telemetry = Arc::new(Telemetry::new(about(), Clock::new()).unwrap());
    telemetry.observe(&Notification::Ready {
        opening: SortedMap::new(),
        recovered: 0,
    });
    telemetry.observe(&Notification::DepthAccepted {
        market: MarketId(0),
        mid: Some(500_000),
        timestamp: cambist_core::VenueTime(1),
    });
    for (side, withheld) in Side::BOTH.into_iter().zip(reasons) {
        telemetry.observe(&Notification::Withheld {
            market: MarketId(0),
            side,
            withheld,
        });
    }
    telemetry.observe(&Notification::Status(Box::new(Status {
        ready: true,
        markets: vec![MarketStatus {
            withheld: reasons,
            ..MarketStatus::default()
        }],
        ..Status::default()
    })));
    telemetry.tick(1);
    telemetry
}

/// Labels of all series with the value 1.
fn engaged(telemetry: &Telemetry) -> Vec<String> {
    let text = telemetry.render().unwrap();
    let ones = text.lines().filter_map(|line| {
        let line = line.strip_prefix("cambist_quotes_withheld{")?;
        line.strip_suffix("} 1").map(str::to_owned)
    });
    ones.collect()
}

#[tokio::test]
async fn the_same_reason_is_in_metrics_status_and_readiness() {
    let telemetry = telemetry_of([Some(above_value()), Some(below_floor())]);
    assert_eq!(
        engaged(&telemetry),
        [
            "market=\"ETH-USDC\",reason=\"order_value\",side=\"buy\"",
            "market=\"ETH-USDC\",reason=\"price_band\",side=\"sell\"",
        ]
    );
    let page = telemetry.status();
    assert_eq!(page["state"], "not_quoting");
    assert_eq!(page["ready"], false);
    let withheld = &page["markets"][0]["withheld"];
    assert_eq!(withheld["buy"]["reason"], "order_value");
    assert_eq!(withheld["buy"]["value"], "1500.5 USDC");
    assert_eq!(withheld["buy"]["limit"], "5 USDC");
    assert_eq!(withheld["buy"]["key"], "market.order_value_max");
    assert_eq!(withheld["sell"]["reason"], "price_band");
    let (ready, text) = telemetry.readiness();
    assert!(!ready);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "not ready: not_quoting");
    assert!(lines[1].starts_with("ETH-USDC buy: order_value: ") && lines[1].contains("5 USDC"));
    assert!(lines[2].starts_with("ETH-USDC sell: price_band: "));
    let answer = served(&telemetry).await;
    assert!(
        answer.starts_with("HTTP/1.1 503") && answer.ends_with(&text),
        "{answer}"
    );
    // It disappears everywhere.
    for side in Side::BOTH {
        telemetry.observe(&Notification::Withheld {
            market: MarketId(0),
            side,
            withheld: None,
        });
    }
    assert_eq!(engaged(&telemetry), [""; 0]);
    assert_eq!(telemetry.readiness(), (true, "ready\n".to_owned()));
    assert_eq!(telemetry.status()["state"], "active");
}

#[test]
fn a_pool_that_is_not_joined_has_its_reason_too() {
    let about = About {
        pools: vec![pool()],
        ..about()
    };
    let telemetry = Telemetry::new(about, Clock::new()).unwrap();
    let compared = Compared::new(Unit::Quote, "market.pool.value_max", 9_000_000, 5_000_000);
    let too_much = Withheld::compared(Control::OrderValue, compared);
    for withheld in [Some(too_much), None] {
        telemetry.observe(&Notification::Status(Box::new(Status {
            markets: vec![MarketStatus::default()],
            pools: vec![cambist_core::notification::PoolStatus {
                market: MarketId(0),
                balances: None,
                held: 0,
                value: None,
                divergence_bps: None,
                moving: false,
                unknown: false,
                age_ms: None,
                withheld,
            }],
            ..Status::default()
        })));
        let expected =
            withheld.map(|_| "market=\"ETH-USDC\",reason=\"order_value\",side=\"pool\"".to_owned());
        assert_eq!(
            engaged(&telemetry),
            expected.into_iter().collect::<Vec<_>>()
        );
        let page = telemetry.status();
        let key = &page["pools"][0]["withheld"]["key"];
        let expected = withheld.map(|_| "market.pool.value_max");
        assert_eq!(key.as_str(), expected);
    }
}

async fn served(telemetry: &Arc<Telemetry>) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = http::Listener::bind("127.0.0.1:0".parse().unwrap(), 64).unwrap();
    let address = listener.address();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let pages = http::Pages::new(http::Shown::Running(Arc::clone(telemetry)));
    let serving = tokio::spawn(listener.serve(pages, async {
        let _ = stopped.await;
    }));
    let mut caller = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    caller.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    caller.read_to_string(&mut answer).await.unwrap();
    let _ = stop.send(());
    serving.await.unwrap().unwrap();
    answer
}

#[test]
fn only_what_quotes_is_active() {
    let paused = Some(Withheld::plain(Control::Paused));
    let by_design = Some(Withheld::plain(Control::NotConfigured));
    let thin = Some(Withheld::plain(Control::ThinBook));
    for (reasons, state, ready) in [
        ([None, None], "active", true),
        ([None, thin], "active", true),
        ([by_design, by_design], "active", true),
        ([None, by_design], "active", true),
        ([paused, paused], "paused", false),
        ([paused, by_design], "paused", false),
        ([paused, thin], "not_quoting", false),
        ([by_design, thin], "not_quoting", false),
        ([paused, None], "active", true),
    ] {
        let telemetry = telemetry_of(reasons);
        assert_eq!(telemetry.status()["state"], state, "{reasons:?}");
        assert_eq!(telemetry.readiness().0, ready, "{reasons:?}");
        let up = format!("cambist_up_state{{state=\"{state}\"}} 1\n");
        assert!(telemetry.render().unwrap().contains(&up), "{reasons:?}");
    }
    // With several markets each has to be quoted.
    assert_eq!(quoting(&[[None; 2], [thin; 2]]), Quoting::Active);
    assert!(!is_served(&[thin; 2]));
}

/// A reason that came after the last status is shown with the resulting state.
#[test]
fn the_state_and_its_reasons_are_of_one_moment() {
    let telemetry = telemetry_of([None, None]);
    let page = telemetry.status();
    assert_eq!(
        (&page["state"], &page["ready"]),
        (&json!("active"), &json!(true))
    );
    let stale = Withheld::compared(
        Control::StaleData,
        Compared::unknown(Unit::Ms, "poll.depth_age_max_ms", 5_000),
    );
    let report = |withheld: Option<Withheld>| {
        for side in Side::BOTH {
            let market = MarketId(0);
            telemetry.observe(&Notification::Withheld {
                market,
                side,
                withheld,
            });
        }
    };
    report(Some(stale));
    let page = telemetry.status();
    assert_eq!(
        (&page["state"], &page["ready"]),
        (&json!("not_quoting"), &json!(false))
    );
    for side in ["buy", "sell"] {
        let why = &page["markets"][0]["withheld"][side];
        assert_eq!(why["reason"], "stale_data", "{page}");
    }
    report(None);
    let page = telemetry.status();
    assert_eq!(page["state"], "active");
    assert_eq!(
        page["markets"][0]["withheld"],
        json!({"buy": null, "sell": null})
    );
}
