//! Larger sections of the daemon's file, and the rules within them.

use cambist_core::config::{BudgetConfig, EngineConfig, PollConfig};

use super::daemon::Orders;
use super::limits::{self, nothing_derived};
use super::market::Market;
use super::reader::{At, Section};
use super::venue::VenueSection;

pub(super) use cambist_config::{is_address, small, version};

/// `[orders]`, into the engine's configuration.
pub(super) fn read_orders(
    section: &mut Section<'_, '_>,
    engine: &mut EngineConfig,
    venue: &VenueSection,
) -> Orders {
    let found = limits::numbers(section, EngineConfig::LIMITS, engine, nothing_derived);
    let ttl_s = found["ttl_s"].value;
    let [refresh, margin] = ["refresh_before_s", "resend_margin_ms"].map(|key| &found[key]);
    if refresh.value >= ttl_s {
        let what = format!(
            "orders.refresh_before_s = {} must be less than orders.ttl_s = {ttl_s}",
            refresh.value
        );
        section.problem(refresh.at, what);
    }
    if margin.value >= ttl_s.saturating_mul(1_000) {
        let what = format!(
            "orders.resend_margin_ms = {} must be less than the life of an order, orders.ttl_s = {ttl_s}",
            margin.value
        );
        section.problem(margin.at, what);
    }
    venue.check_orders(section, &found["ttl_s"], margin);
    Orders {
        ttl_s,
        refresh_before_s: refresh.value,
        grace_s: found["grace_s"].value,
        max_fee_bips: engine.max_fee_bips,
    }
}

/// `[poll]`, into the engine's configuration.
pub(super) fn read_poll(section: &mut Section<'_, '_>, engine: &mut EngineConfig) {
    let found = limits::numbers(
        section,
        PollConfig::LIMITS,
        &mut engine.poll,
        nothing_derived,
    );
    limits::numbers(section, EngineConfig::LIMITS, engine, nothing_derived);
    for name in ["depth", "balances", "orders"] {
        let age = &found[format!("{name}_age_max_ms").as_str()];
        let between = &found[format!("{name}_ms").as_str()];
        if age.value <= between.value {
            let what = format!(
                "poll.{name}_age_max_ms = {} must exceed poll.{name}_ms = {}: every answer would be too old before the next one",
                age.value, between.value
            );
            section.problem(age.at, what);
        }
    }
}

/// `[budget]`.
pub(super) fn read_budget(section: &mut Section<'_, '_>, venue: &VenueSection) -> BudgetConfig {
    let mut budget = BudgetConfig::unset();
    let found = limits::numbers(section, BudgetConfig::LIMITS, &mut budget, nothing_derived);
    let [reserve, burst] = ["cancel_reserve", "burst"].map(|key| &found[key]);
    if reserve.value >= burst.value {
        let what = format!(
            "budget.cancel_reserve = {} must be less than budget.burst = {}: nothing but cancels could ever be sent",
            reserve.value, burst.value
        );
        section.problem(reserve.at, what);
    }
    venue.set_budget(section, &mut budget);
    budget
}

pub(super) fn check_markets(root: &Section<'_, '_>, markets: &[Option<Market>]) {
    if markets.is_empty() {
        root.missing("market", "at least one [[market]] is needed");
    }
    let found: Vec<_> = markets.iter().flatten().collect();
    for (index, market) in found.iter().enumerate() {
        if found[..index]
            .iter()
            .any(|other| other.name.value == market.name.value)
        {
            let what = format!("market {} is configured twice", market.name.value);
            root.problem(market.name.at, what);
        }
    }
    let strategies: usize = found.iter().map(|market| market.strategies.len()).sum();
    if strategies > usize::from(u8::MAX) {
        root.problem(
            root.at(),
            format!("{strategies} strategies; at most 255 are possible"),
        );
    }
}

/// The host part after a scheme.
fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority
        .rsplit_once(':')
        .map_or(authority, |(host, _)| host)
}

fn is_this_machine(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

/// Whether a URL certainly refers to this machine.
pub(super) fn is_local(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    is_this_machine(host(rest))
}

pub(super) fn check_url(section: &Section<'_, '_>, url: Option<&At<String>>) {
    let Some(url) = url else { return };
    let text = url.value.as_str();
    if text.trim_end_matches('/').ends_with("/api/v3") {
        let base = text.trim_end_matches('/').trim_end_matches("/api/v3");
        let what = format!(
            "venue.base_url ends in /api/v3, which is added to every path: write \"{base}\""
        );
        section.problem(url.at, what);
    }
    if text.contains('@') || text.contains(char::is_whitespace) {
        section.problem(
            url.at,
            "venue.base_url must not carry user names, passwords or spaces",
        );
    } else if let Some(rest) = text.strip_prefix("http://") {
        if !is_this_machine(host(rest)) {
            let what = "venue.base_url may use http only for this machine (127.0.0.1); keys would travel in the open";
            section.problem(url.at, what);
        }
    } else if text
        .strip_prefix("https://")
        .is_none_or(|rest| host(rest).is_empty())
    {
        section.problem(
            url.at,
            "venue.base_url must begin with https:// or http://127.0.0.1",
        );
    }
}

pub(super) fn check_address(section: &Section<'_, '_>, name: &str, address: Option<&At<String>>) {
    let Some(address) = address else { return };
    if !is_address(&address.value) {
        let what = format!("{name} must be an address: 0x and 40 hexadecimal digits");
        section.problem(address.at, what);
    }
}

/// A daemon that signs for a venue on another machine takes chain, exchange and units from its own file. Otherwise
/// wrong values from the venue would make it sign orders with another meaning.
pub(super) fn require_pins(section: &Section<'_, '_>, keys: &[&str]) {
    for key in keys.iter().filter(|key| !section.has(key)) {
        let name = section.name();
        let what = format!(
            "{name}.{key} is missing: a venue that is not on this machine has to be pinned; cambist check --pin --config FILE prints the lines"
        );
        section.missing(key, what);
    }
}
