//! `[limits]` and `[connections]` of the exchange's file: bounds of one client, one address and one connection.

use cambist_server::{ConnectionLimits, Rate, RateLimits};
use cambist_venue::Limits;

use cambist_config::reader::Section;

const WHOLE: u64 = u32::MAX as u64;

/// All bounds of the exchange's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Requests.
    pub rates: RateLimits,
    /// Connections and bodies.
    pub connections: ConnectionLimits,
    /// Orders, lists, accounts.
    pub limits: Limits,
}

/// Reads `[limits]` and `[connections]`.
pub(super) fn read(root: &mut Section<'_, '_>) -> Bounds {
    let mut section = root.section("limits");
    let rates = rates(&mut section);
    let limits = limits(&mut section);
    section.finish();
    let mut section = root.section("connections");
    let connections = connections(&mut section);
    section.finish();
    Bounds {
        rates,
        connections,
        limits,
    }
}

fn rates(section: &mut Section<'_, '_>) -> RateLimits {
    let usual = RateLimits::default();
    let mut rate = |names: [&'static str; 2], usual: Rate| Rate {
        per_s: number(section, names[0], usual.per_s, 1..=1_000_000),
        burst: number(section, names[1], usual.burst, 1..=1_000_000),
    };
    let endpoint = rate(["endpoint_per_s", "endpoint_burst"], usual.key_and_endpoint);
    RateLimits {
        key_and_endpoint: endpoint,
        keyless_and_endpoint: endpoint,
        address: rate(["address_per_s", "address_burst"], usual.address),
        failed_signatures: rate(
            ["wrong_signatures_per_s", "wrong_signatures_burst"],
            usual.failed_signatures,
        ),
        ..usual
    }
}

fn limits(section: &mut Section<'_, '_>) -> Limits {
    let usual = Limits::default();
    let mut limit = |name, usual| number(section, name, usual, 1..=WHOLE);
    Limits {
        open_orders_max: limit("open_orders_max", usual.open_orders_max),
        history_orders_max: limit("history_orders_max", usual.history_orders_max),
        orders_page: limit("orders_page", usual.orders_page),
        orders_page_max: limit("orders_page_max", usual.orders_page_max),
        depth_levels: limit("depth_levels", usual.depth_levels),
        depth_levels_max: limit("depth_levels_max", usual.depth_levels_max),
        open_submissions_max: limit("open_submissions_max", usual.open_submissions_max),
        history_submissions_max: limit("history_submissions_max", usual.history_submissions_max),
        accounts_max: limit("accounts_max", usual.accounts_max),
        log_max: limit("log_max", usual.log_max),
        approved_hashes_max: limit("approved_hashes_max", usual.approved_hashes_max),
        ..usual
    }
}

fn connections(section: &mut Section<'_, '_>) -> ConnectionLimits {
    let usual = ConnectionLimits::default();
    let mut size = |name, usual: usize, range: std::ops::RangeInclusive<u64>| {
        let usual = u64::try_from(usual).unwrap_or(u64::MAX);
        usize::try_from(section.number(name, usual, range).value).unwrap_or(usize::MAX)
    };
    let connections_max = size("connections_max", usual.connections_max, 1..=1_000_000);
    let connections_per_address_max = size(
        "connections_per_address_max",
        usual.connections_per_address_max,
        1..=1_000_000,
    );
    let body_bytes_max = size("body_bytes_max", usual.body_bytes_max, 1_024..=16_777_216);
    let head_bytes_max = size("head_bytes_max", usual.head_bytes_max, 8_192..=1_048_576);
    let mut time = |name, usual| section.number(name, usual, 1..=86_400_000).value;
    ConnectionLimits {
        connections_max,
        connections_per_address_max,
        head_timeout_ms: time("head_timeout_ms", usual.head_timeout_ms),
        body_timeout_ms: time("body_timeout_ms", usual.body_timeout_ms),
        body_bytes_max,
        head_bytes_max,
        connection_age_max_ms: time("connection_age_max_ms", usual.connection_age_max_ms),
        shutdown_ms: time("shutdown_ms", usual.shutdown_ms),
        ..usual
    }
}

fn number(
    section: &mut Section<'_, '_>,
    name: &'static str,
    usual: u32,
    range: std::ops::RangeInclusive<u64>,
) -> u32 {
    let found = section.number(name, u64::from(usual), range);
    // A value out of range was reported before and is not used.
    u32::try_from(found.value).unwrap_or(u32::MAX)
}
