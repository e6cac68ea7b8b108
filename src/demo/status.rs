//! The progress line of the daemon, from its own `/status` page.

use std::time::Duration;

use cambist_core::control::Control;
use cambist_strategies::Promise;
use serde_json::Value;

use crate::demo::venue::Venue;
use crate::local_page;

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_millis(500);

/// The line; `None` if it is not available now.
pub async fn line(address: &str) -> Option<String> {
    Some(page(address).await?.get("line")?.as_str()?.to_owned())
}

/// Whether the daemon has finished its start, which serves another page.
pub async fn has_begun(address: &str) -> bool {
    page(address)
        .await
        .is_some_and(|page| page["state"] != "starting")
}

/// Whether the daemon does what its strategies promise: quotes resting on both sides of every market, or known pools
/// without a join or exit in an unknown state.
pub async fn does(address: &str, promise: Promise, venue: &impl Venue) -> bool {
    let Some(page) = page(address).await else {
        return false;
    };
    if promise == Promise::PoolShares {
        let known = |pool: &Value| pool["age_ms"].is_u64() && pool["unknown"] == false;
        let pools = page.get("pools").and_then(Value::as_array);
        return page.get("ready") == Some(&Value::Bool(true))
            && pools.is_some_and(|pools| !pools.is_empty() && pools.iter().all(known));
    }
    if matches!(
        promise,
        Promise::Total | Promise::Swaps | Promise::Weight | Promise::Hedge
    ) {
        // It has orders only while something is due and its price is right, so that a side without quotes is no fault:
        // what counts is that the state of every order of the earlier run is known.
        let state = page.get("state").and_then(Value::as_str);
        return page.get("alive") == Some(&Value::Bool(true))
            && matches!(state, Some("active" | "not_quoting"));
    }
    let live = |market: &Value, key: &str| market.get(key).and_then(Value::as_u64) > Some(0);
    let both = |market| live(market, "live_buy") && live(market, "live_sell");
    let markets = page.get("markets").and_then(Value::as_array);
    venue.is_recovered(&page)
        && markets.is_some_and(|markets| !markets.is_empty() && markets.iter().all(both))
}

/// Whether the daemon quotes less because its start still compares orders and balances.
pub async fn is_recovering(address: &str) -> bool {
    page(address).await.is_some_and(|page| recovers(&page))
}

/// Whether a side of any market is withheld for that reason.
fn recovers(page: &Value) -> bool {
    let markets = page.get("markets").and_then(Value::as_array);
    let mut markets = markets.into_iter().flatten();
    markets.any(|market| {
        let sides = ["buy", "sell"];
        let mut reasons = sides
            .map(|side| &market["withheld"][side]["reason"])
            .into_iter();
        reasons.any(|reason| reason == Control::Recovering.name())
    })
}

/// The page; `None` if it is not available now.
async fn page(address: &str) -> Option<Value> {
    local_page::fetch(address, "/status", TIMEOUT).await.ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_start_goes_on_while_a_side_is_withheld_for_it() {
        let page = |buy: Option<&str>, sell: Option<&str>| {
            let side =
                |reason: Option<&str>| json!(reason.map(|reason| json!({ "reason": reason })));
            json!({"markets": [{"withheld": {"buy": side(buy), "sell": side(sell)}}]})
        };
        assert!(recovers(&page(None, Some("recovering"))));
        assert!(recovers(&page(Some("recovering"), None)));
        assert!(!recovers(&page(Some("trading_counter"), None)));
        assert!(!recovers(&page(None, None)) && !recovers(&json!({})));
    }
}
