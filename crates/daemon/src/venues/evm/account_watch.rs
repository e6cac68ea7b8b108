//! An account that stopped while the daemon runs: a finalized block that was replaced, a nonce that another holder of the
//! key spent, a receipt that cannot be booked. Nothing is signed, sent or reported any more, so that data about the
//! account would only become old: the cause is shown, and new joins stop until an operator resumes.
//!
//! The newest finalized block is written down from time to time, so that the next start finds a chain that was replaced
//! meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cambist_client::{EvmPools, Head, Place};
use cambist_core::config::PollConfig;
use cambist_core::event::{Command, Event, TradingState};
use cambist_core::request::Endpoint;
use cambist_evm_venue::account::Stopped;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tracing::Instrument;

use super::final_block::FinalBlock;
use crate::live::LoopMessage;
use crate::telemetry::Telemetry;
use crate::venues::Watch;

/// How often the account is read.
const EVERY: Duration = Duration::from_secs(1);
/// Seconds between two writes of the finalized block.
const WRITTEN_EVERY: u32 = 5;

/// Seconds between two lines about nodes without a usable answer.
const LOGGED_EVERY: u32 = 5;

/// Where an operator reads what is safe.
pub const GUIDE: &str = "docs/evm-pools.md, \"When the account stops\"";

/// The account of a running daemon.
pub struct AccountWatch {
    pools: EvmPools,
    finalized: FinalBlock,
    intervals: [Interval; 4],
}

/// A poll that is repeated, the key of its interval, and the interval.
type Interval = (Endpoint, &'static str, u64);

/// Seconds for which polls take too long before that is logged.
const SLOW_S: u32 = 5;

impl AccountWatch {
    /// Watches the account behind these pools.
    pub const fn new(pools: EvmPools, finalized: FinalBlock, poll: &PollConfig) -> Self {
        Self {
            pools,
            finalized,
            intervals: intervals(poll),
        }
    }
}

const fn intervals(poll: &PollConfig) -> [Interval; 4] {
    const ORDERS: &str = "poll.orders_ms";
    [
        (Endpoint::Depth, "poll.depth_ms", poll.depth_ms),
        (Endpoint::Orders, ORDERS, poll.orders_ms),
        (Endpoint::PoolTransactions, ORDERS, poll.orders_ms),
        (Endpoint::Balances, "poll.balances_ms", poll.balances_ms),
    ]
}

/// Polls that take longer than their interval, each with what to do.
fn slow(
    intervals: &[Interval],
    took: &BTreeMap<&'static str, Duration>,
) -> BTreeMap<&'static str, String> {
    let each = intervals.iter().filter_map(|(endpoint, key, interval_ms)| {
        let name = endpoint.name();
        let took_ms = u64::try_from(took.get(name)?.as_millis()).unwrap_or(u64::MAX);
        let text = format!(
            "{took_ms} ms, and {key} is {interval_ms}: a start waits until lists and balances follow each other in time; raise {key} above {took_ms}, or use a faster node"
        );
        (took_ms > *interval_ms).then_some((name, text))
    });
    each.collect()
}

/// Logs polls that take too long, once for each set of them.
#[derive(Default)]
struct SlowLog {
    for_s: u32,
    shown: Vec<&'static str>,
}

impl SlowLog {
    /// Called about every second. The text of a new line, if one is due.
    fn line(&mut self, slow: &BTreeMap<&'static str, String>) -> Option<String> {
        self.for_s = if slow.is_empty() { 0 } else { self.for_s + 1 };
        let names: Vec<_> = slow.keys().copied().collect();
        if self.for_s < SLOW_S || names.iter().all(|name| self.shown.contains(name)) {
            return None;
        }
        self.shown = names;
        let each = slow
            .iter()
            .map(|(name, text)| format!("{name} took {text}"));
        Some(each.collect::<Vec<_>>().join("; "))
    }
}

impl Watch for AccountWatch {
    fn begin(mut self: Box<Self>, telemetry: Arc<Telemetry>, inbox: mpsc::Sender<LoopMessage>) {
        let watch = async move {
            let mut shown = String::new();
            let mut is_announced = false;
            let mut slow_log = SlowLog::default();
            for second in 0_u32.. {
                if inbox.is_closed() {
                    return;
                }
                let unanswered = self.pools.unanswered();
                let missing = unanswered.values().next().cloned().unwrap_or_default();
                match (missing.is_empty(), shown.is_empty()) {
                    (false, _) if missing != shown && second.is_multiple_of(LOGGED_EVERY) => {
                        tracing::warn!("a poll has no usable answer: {missing}");
                        shown = missing;
                    }
                    (true, false) => {
                        tracing::info!("the nodes answer again, and alike");
                        shown.clear();
                    }
                    _ => {}
                }
                let slow = slow(&self.intervals, &self.pools.took());
                if let Some(line) = slow_log.line(&slow) {
                    tracing::warn!("polls take longer than their interval: {line}");
                }
                let heads = nodes_page(&self.pools.nodes().heads());
                telemetry.nodes([heads, json!(unanswered), json!(slow)]);
                let (stopped, finalized) = {
                    let account = self.pools.account().lock().await;
                    let finalized = account.view().ok().map(|view| *view.finalized());
                    (account.stopped(), finalized)
                };
                if let Some(why) = stopped
                    // It does not go on within this run, whatever an operator resumes.
                    && (!is_announced || !telemetry.is_restricted())
                {
                    let reason = reason(why);
                    tracing::error!("{reason}");
                    telemetry.account_stopped(cause(why));
                    is_announced = true;
                    let stop = Command::Raise {
                        level: TradingState::CancelOnly,
                        reason,
                    };
                    // A closed inbox is that of a daemon that ends.
                    let _ = inbox.send(LoopMessage::Event(Event::Operator(stop))).await;
                }
                if let Some(block) =
                    finalized.filter(|_| stopped.is_none() && second.is_multiple_of(WRITTEN_EVERY))
                    && let Err(error) = self.finalized.write(&block)
                {
                    tracing::warn!(%error, "the finalized block could not be written; the next start compares an older one");
                }
                tokio::time::sleep(EVERY).await;
            }
        };
        tokio::spawn(watch.in_current_span());
    }
}

/// What each node stated last, by its place in the file.
fn nodes_page(heads: &[(Place, Head)]) -> Value {
    let page = heads.iter().map(|(place, head)| {
        json!({
            "node": place.name(),
            "file": place.key(),
            "newest_block": head.newest,
            "finalized_block": head.finalized,
        })
    });
    page.collect()
}

/// The cause in metrics.
const fn cause(why: Stopped) -> &'static str {
    match why {
        Stopped::Forked(_) => "fork",
        Stopped::Foreign { .. } => "nonce",
        Stopped::Unsettled { .. } => "receipt",
    }
}

/// The cause, and what to do.
fn reason(why: Stopped) -> String {
    let action = match why {
        Stopped::Forked(_) => "find out which chain is the right one",
        Stopped::Foreign { .. } => "if it was not you, move the funds to a new key",
        Stopped::Unsettled { .. } => {
            "compare the receipt with that of another node: a start with a node that is right goes on"
        }
    };
    format!("the account stopped: {why}; {action}; see {GUIDE}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use cambist_evm_venue::finality::Unusable;
    use cambist_evm_venue::settle::Unsettled;

    #[test]
    fn a_poll_that_takes_longer_than_its_interval_names_its_key() {
        let intervals: [Interval; 2] = [
            (Endpoint::Orders, "poll.orders_ms", 500),
            (Endpoint::Balances, "poll.balances_ms", 500),
        ];
        let took = [("balances", 1_430), ("orders_list", 500)];
        let took = took.map(|(name, ms)| (name, Duration::from_millis(ms)));
        let slow = slow(&intervals, &took.into());
        assert_eq!(slow.keys().collect::<Vec<_>>(), [&"balances"]);
        for part in ["1430 ms", "poll.balances_ms is 500", "raise"] {
            assert!(slow["balances"].contains(part), "{slow:?}");
        }
        let mut log = SlowLog::default();
        let lines = (0..20).filter_map(|_| log.line(&slow));
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(log.line(&BTreeMap::new()), None);
    }

    #[test]
    fn every_cause_is_named_with_what_to_do() {
        let all = [
            (Stopped::Forked(Unusable::Forked), "fork", "which chain"),
            (Stopped::Foreign { nonce: 7 }, "nonce", "nonce 7 was spent"),
            (
                Stopped::Unsettled {
                    nonce: 8,
                    why: Unsettled::FeeOnTransfer,
                },
                "receipt",
                "nonce 8 cannot be booked: a token keeps a part",
            ),
        ];
        for (why, expected, text) in all {
            assert_eq!(cause(why), expected);
            let reason = reason(why);
            assert!(reason.contains(text) && reason.contains(GUIDE), "{reason}");
            assert!(crate::telemetry::ACCOUNT_CAUSES.contains(&expected));
        }
    }
}
