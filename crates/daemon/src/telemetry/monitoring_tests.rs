//! The alert rules and the dashboard in `config/monitoring` use existing metrics only.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::MarketId;
use cambist_core::notification::{Control, MarketStatus, Notification, PoolStatus, Status};
use cambist_core::pool::PoolBalances;
use cambist_core::request::Endpoint;

use super::tests::{about, pool};
use super::{About, Telemetry};
use cambist_host::clock::Clock;

const ALERTS: &str = include_str!("../../../../config/monitoring/alerts.yml");
const DASHBOARD: &str = include_str!("../../../../config/monitoring/dashboard.json");

/// A metric in an expression: its name, and label, operator and value of each condition.
type UsedSeries = (String, Vec<(String, String, String)>);

/// The metrics of an expression.
fn used_series(expression: &str) -> Vec<UsedSeries> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = expression;
    while let Some(start) = rest.find(is_word) {
        rest = &rest[start..];
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        if !word.starts_with("cambist_") && !word.starts_with("process_") {
            continue;
        }
        let inside = rest.strip_prefix('{').and_then(|text| text.split_once('}'));
        let mut conditions = Vec::new();
        if let Some((inside, after)) = inside {
            rest = after;
            for condition in inside.split(',') {
                let (label, value) = condition.split_once('"').unwrap();
                let name = label.trim_end_matches(['=', '~', '!']);
                let value = value.strip_suffix('"').unwrap().to_owned();
                conditions.push((name.to_owned(), label[name.len()..].to_owned(), value));
            }
        }
        found.push((word.to_owned(), conditions));
    }
    found
}

/// Values of every label of every metric on a page.
fn exported_series(page: &str) -> BTreeMap<String, BTreeMap<String, BTreeSet<String>>> {
    let mut all: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let series = line.rsplit_once(' ').unwrap().0;
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let known = all.entry(name.to_owned()).or_default();
        for pair in labels.trim_end_matches('}').split("\",") {
            if let Some((label, value)) = pair.split_once("=\"") {
                let value = value.trim_end_matches('"').to_owned();
                known.entry(label.to_owned()).or_default().insert(value);
            }
        }
    }
    all
}

/// The metrics of a daemon with a pool after every kind of notification.
fn page() -> String {
    let telemetry = Telemetry::new(
        About {
            pools: vec![pool()],
            ..about()
        },
        Clock::new(),
    );
    let telemetry = telemetry.unwrap();
    let used = || Control::ALL.map(|control| (control, 1)).to_vec();
    telemetry.observe(&Notification::Status(Box::new(Status {
        markets: vec![MarketStatus {
            used: used(),
            ..MarketStatus::default()
        }],
        pools: vec![PoolStatus {
            market: MarketId(0),
            balances: Some(PoolBalances {
                owed: Some([1, 1]),
                ..PoolBalances::constant_product([1, 1], 1)
            }),
            held: 0,
            value: None,
            divergence_bps: None,
            moving: false,
            unknown: false,
            age_ms: None,
            withheld: None,
        }],
        used: used(),
        tokens: (1, Endpoint::ALL.map(|endpoint| (endpoint, 1)).to_vec()),
        ..Status::default()
    })));
    let mut portfolio = super::portfolio::tests::status();
    portfolio.limits[1].used = Some(1);
    telemetry.portfolio(portfolio);
    telemetry.feeds().depth("ETH-USDC");
    telemetry.profit_and_loss([("ETH-USDC", "bands", None)].into_iter());
    telemetry.render().unwrap()
}

#[test]
fn every_metric_that_is_watched_exists() {
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    let drawn = targets
        .flatten()
        .map(|target| target["expr"].as_str().unwrap());
    let ruled = ALERTS.lines();
    let ruled = ruled.filter_map(|line| line.trim().strip_prefix("expr: "));
    let exported_series = exported_series(&page());
    let mut names = BTreeSet::new();
    for expression in drawn.chain(ruled) {
        let used_series = used_series(expression);
        assert!(!used_series.is_empty(), "nothing of ours in {expression}");
        for (name, conditions) in used_series {
            // The exchange's metrics are tested with its own page.
            if name.starts_with("cambist_venue_") {
                continue;
            }
            let known = exported_series.get(&name);
            let known = known.unwrap_or_else(|| panic!("no {name}, in {expression}"));
            for (label, operator, values) in conditions {
                let known = known.get(&label);
                let known = known.unwrap_or_else(|| panic!("{name} has no label {label}"));
                let is_pattern = operator.ends_with('~');
                let split = |text: &str| -> Vec<String> {
                    let parts = text.split(if is_pattern { '|' } else { '\0' });
                    parts.map(str::to_owned).collect()
                };
                for value in split(&values) {
                    assert!(known.contains(&value), "{name}: no {label}=\"{value}\"");
                }
            }
            names.insert(name);
        }
    }
    assert!(names.len() > 40, "{names:?}");
}

/// A rule without an instruction is noise.
#[test]
fn every_rule_has_a_remedy() {
    let rules: Vec<&str> = ALERTS.split("- alert: ").skip(1).collect();
    assert!(rules.len() >= 15);
    for rule in rules {
        for part in ["expr: ", "severity: ", "summary: ", "action: "] {
            assert!(rule.contains(part), "no {part} in {rule}");
        }
    }
}
