//! Conditions that deserve a message, read from what `cambist status --json` shows.

use serde_json::Value;

/// How soon an operator is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The same day.
    Ticket,
    /// Now.
    Page,
}

impl Severity {
    /// `ticket` or `page`, as alert rules call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ticket => "ticket",
            Self::Page => "page",
        }
    }
}

/// A kind of condition. The names are those of the alert rules (`config/monitoring/alerts.yml`) and of the
/// runbook.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name.
    pub name: &'static str,
    /// How soon an operator is needed.
    pub severity: Severity,
    /// A message is sent when it has lasted so long, seconds.
    pub after_s: u64,
}

const fn kind(name: &'static str, severity: Severity, after_s: u64) -> Kind {
    Kind {
        name,
        severity,
        after_s,
    }
}

const GONE: Kind = kind("CambistGone", Severity::Page, 15);
const SILENT: Kind = kind("CambistLoopSilent", Severity::Page, 15);
const START_WAITS: Kind = kind("CambistStartWaits", Severity::Page, 300);
const HALTED: Kind = kind("CambistHalted", Severity::Page, 0);
const CANCEL_ONLY: Kind = kind("CambistCancelOnly", Severity::Page, 0);
const PAUSED: Kind = kind("CambistPaused", Severity::Ticket, 900);
const BOOKS_HOLD: Kind = kind("CambistBooksHold", Severity::Page, 30);
const OTHER_INSTANCE: Kind = kind("CambistOtherInstance", Severity::Page, 0);
const UNKNOWN_LONG: Kind = kind("CambistUnknownLong", Severity::Ticket, 300);
const DATA_STALE: Kind = kind("CambistDataStale", Severity::Ticket, 60);
const NOT_QUOTING: Kind = kind("CambistNotQuoting", Severity::Ticket, 900);
const POOL_UNKNOWN: Kind = kind("CambistPoolMoveUnknown", Severity::Ticket, 600);

/// The kind of a test message, which no program takes for a condition of a daemon.
pub const TEST: Kind = kind("CambistTest", Severity::Ticket, 0);

/// Every kind.
pub const KINDS: [&Kind; 12] = [
    &GONE,
    &SILENT,
    &START_WAITS,
    &HALTED,
    &CANCEL_ONLY,
    &PAUSED,
    &BOOKS_HOLD,
    &OTHER_INSTANCE,
    &UNKNOWN_LONG,
    &DATA_STALE,
    &NOT_QUOTING,
    &POOL_UNKNOWN,
];

/// A condition that holds now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its kind.
    pub kind: &'static Kind,
    /// The market, side or part concerned; empty for the whole daemon.
    pub subject: String,
    /// What is the case, in one sentence without its end.
    pub summary: String,
}

/// Every condition that holds by a status page; `None` is a daemon that does not run.
pub fn conditions(status: Option<&Value>) -> Vec<Condition> {
    let Some(status) = status else {
        return vec![of(&GONE, "", "no daemon answers".to_owned())];
    };
    let text = |key: &str| status[key].as_str().unwrap_or_default();
    let mut found = Vec::new();
    match text("state") {
        "stopped" => found.push(of(&GONE, "", "the daemon does not run".to_owned())),
        "ended" => {
            let what = "the part of this venue has ended".to_owned();
            found.push(of(&GONE, "", what));
        }
        "silent" => found.push(of(&SILENT, "", "the daemon does not answer".to_owned())),
        // During a start the loop does not run yet.
        "starting" => {}
        _ if status["alive"] == false => {
            found.push(of(&SILENT, "", "the decision loop does not run".to_owned()));
        }
        _ => {}
    }
    if let Some(cause) = status["waiting"]["cause"].as_str() {
        let since = status["waiting"]["since"].as_str().unwrap_or("its start");
        let what = format!("the start has waited for the exchange since {since}: {cause}");
        found.push(of(&START_WAITS, "", what));
    }
    match text("level") {
        "halted" => found.push(of(&HALTED, "", "trading is halted".to_owned())),
        "cancel_only" => {
            let what = "cancel-only: nothing new is ordered".to_owned();
            found.push(of(&CANCEL_ONLY, "", what));
        }
        _ => {}
    }
    for pause in list(&status["paused"]) {
        let (part, why) = (shown(&pause["what"]), shown(&pause["why"]));
        found.push(of(&PAUSED, &part, format!("paused: {why}")));
    }
    if let Some(cause) = status["books"]["hold"].as_str() {
        let why = status["books"]["text"].as_str().unwrap_or(cause);
        let what = format!("ledger and exchange differ, nothing is ordered: {why}");
        found.push(of(&BOOKS_HOLD, "", what));
    }
    if let Some(other) = list(&status["other_instances"]).first() {
        let what = format!(
            "orders of another instance ({}) are on the account",
            shown(&other["instance"])
        );
        found.push(of(&OTHER_INSTANCE, "", what));
    }
    if status["unknown_for_ms"].as_u64().is_some() {
        let what = "the state of an order is unknown".to_owned();
        found.push(of(&UNKNOWN_LONG, "", what));
    }
    for market in list(&status["markets"]) {
        of_market(market, status["outage"]["venue"].as_str(), &mut found);
    }
    for pool in list(&status["pools"]) {
        if pool["unknown"] == true {
            let what = "the state of a join or an exit is unknown".to_owned();
            found.push(of(&POOL_UNKNOWN, &shown(&pool["name"]), what));
        }
    }
    found
}

/// A depth older than this is stale, milliseconds, as in the alert rule.
const STALE_MS: u64 = 60_000;

fn of_market(market: &Value, silent_venue: Option<&str>, found: &mut Vec<Condition>) {
    let name = shown(&market["market"]);
    if market["depth_age_ms"]
        .as_u64()
        .is_some_and(|age| age > STALE_MS)
    {
        let what = match silent_venue {
            None => "no usable depth".to_owned(),
            Some(venue) => format!("no usable depth: the venue {venue} does not answer"),
        };
        found.push(of(&DATA_STALE, &name, what));
    }
    for side in ["buy", "sell"] {
        let why = &market["withheld"][side];
        let Some(reason) = why["reason"].as_str() else {
            continue;
        };
        if reason == "not_configured" {
            continue;
        }
        let what = format!("no quotes: {}", why["why"].as_str().unwrap_or(reason));
        found.push(of(&NOT_QUOTING, &format!("{name} {side}"), what));
    }
}

fn of(kind: &'static Kind, subject: &str, summary: String) -> Condition {
    Condition {
        kind,
        subject: subject.to_owned(),
        summary,
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn shown(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(status: &Value) -> Vec<(&'static str, String)> {
        let found = conditions(Some(status));
        found
            .into_iter()
            .map(|one| (one.kind.name, one.subject))
            .collect()
    }

    #[test]
    fn a_healthy_daemon_has_no_condition() {
        let status = json!({
            "state": "active", "alive": true, "level": "active", "unknown_for_ms": null,
            "paused": [], "other_instances": [], "books": {"hold": null, "text": null},
            "markets": [{"market": "ETH-USDC", "depth_age_ms": 60_000,
                "withheld": {"buy": null, "sell": {"reason": "not_configured", "why": "no asks"}}}],
            "pools": [{"name": "AMM-ETH-USDC", "unknown": false}],
        });
        assert_eq!(names(&status), []);
        assert_eq!(names(&json!({"state": "starting", "alive": false})), []);
    }

    #[test]
    fn old_data_names_a_venue_that_does_not_answer() {
        let mut status = json!({"markets": [{"market": "ETH-USDC", "depth_age_ms": 60_001}]});
        let summary = |status: &Value| conditions(Some(status))[0].summary.clone();
        assert_eq!(summary(&status), "no usable depth");
        status["outage"] = json!({"venue": "kraken"});
        assert_eq!(
            summary(&status),
            "no usable depth: the venue kraken does not answer"
        );
    }

    #[test]
    fn every_kind_is_recognised() {
        let status = json!({
            "state": "not_quoting", "alive": false, "level": "halted", "unknown_for_ms": 1,
            "waiting": {"since": "now", "cause": "refused"},
            "paused": [{"what": "ETH-USDC", "why": "loss_hour"}],
            "other_instances": [{"instance": "0000abcd"}],
            "books": {"hold": "mismatch", "text": "ETH differs"},
            "markets": [{"market": "ETH-USDC", "depth_age_ms": 60_001,
                "withheld": {"buy": {"reason": "stale_data", "why": "old"}, "sell": null}}],
            "pools": [{"name": "AMM-ETH-USDC", "unknown": true}],
        });
        let mut found: Vec<_> = names(&status).into_iter().map(|(name, _)| name).collect();
        found.extend(
            names(&json!({"level": "cancel_only", "state": "stopped"}))
                .iter()
                .map(|one| one.0),
        );
        found.sort_unstable();
        let mut all: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        all.sort_unstable();
        assert_eq!(found, all);
        assert_eq!(conditions(None)[0].kind, &GONE);
        assert_eq!(
            names(&json!({"state": "ended", "end": {"proven": true}})),
            [("CambistGone", String::new())]
        );
        assert_eq!(
            names(&json!({"state": "silent"})),
            [("CambistLoopSilent", String::new())]
        );
    }
}
