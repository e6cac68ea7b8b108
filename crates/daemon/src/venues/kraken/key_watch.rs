//! API keys that something else uses while the daemon runs. A key has one row of nonces: another program with higher ones
//! has every order, reading or cancel of ours refused. Several refusals in a row stop new orders until an operator
//! resumes, with the key and what to do; single ones are counted.

use std::sync::Arc;
use std::time::Duration;

use cambist_client::{KeyKind, KrakenClient, RefusedNonces};
use cambist_core::event::{Command, Event, TradingState};
use tokio::sync::mpsc;
use tracing::Instrument;

use crate::live::LoopMessage;
use crate::telemetry::Telemetry;
use crate::venues::Watch;

/// How often refusals are read.
const EVERY: Duration = Duration::from_secs(1);
/// Refusals in a row that mean another program: one that was used once by hand, or a request that a network repeated,
/// gives fewer.
const IN_ROW: u32 = 4;

/// The keys of a running daemon.
pub struct KeyWatch {
    client: KrakenClient,
    keys: Vec<Watched>,
}

/// One key.
struct Watched {
    kind: KeyKind,
    /// In metrics.
    label: &'static str,
    /// Where it was read.
    folder: String,
    is_reported: bool,
}

impl KeyWatch {
    /// Watches these keys, each read from a folder.
    pub fn new<'a>(
        client: KrakenClient,
        keys: impl IntoIterator<Item = (KeyKind, &'a str)>,
    ) -> Self {
        let keys = keys.into_iter().map(|(kind, folder)| Watched {
            kind,
            label: match kind {
                KeyKind::Orders => "orders",
                KeyKind::Account => "account",
            },
            folder: folder.to_owned(),
            is_reported: false,
        });
        Self {
            client,
            keys: keys.collect(),
        }
    }
}

impl Watch for KeyWatch {
    fn begin(mut self: Box<Self>, telemetry: Arc<Telemetry>, inbox: mpsc::Sender<LoopMessage>) {
        let watch = async move {
            while !inbox.is_closed() {
                for key in &mut self.keys {
                    let refused = self.client.refused_nonces(key.kind);
                    telemetry.nonces_refused(key.label, refused.total);
                    let Some(reason) = key.judge(refused) else {
                        continue;
                    };
                    tracing::error!(key = key.label, "{reason}");
                    let stop = Command::Raise {
                        level: TradingState::CancelOnly,
                        reason,
                    };
                    // A closed inbox is that of a daemon that ends.
                    let _ = inbox.send(LoopMessage::Event(Event::Operator(stop))).await;
                }
                tokio::time::sleep(EVERY).await;
            }
        };
        tokio::spawn(watch.in_current_span());
    }
}

impl Watched {
    /// Why trading has to stop, once for each row of refusals.
    fn judge(&mut self, refused: RefusedNonces) -> Option<String> {
        if refused.in_row < IN_ROW {
            self.is_reported &= refused.in_row > 0;
            return None;
        }
        if std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        Some(format!(
            "something else uses the API key in {}: the venue refused {} nonces in a row as too low. Stop the other program, or make a new key for this daemon alone; then resume",
            self.folder, refused.in_row
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_refusals_is_reported_once_and_again_after_its_end() {
        let mut key = Watched {
            kind: KeyKind::Orders,
            label: "orders",
            folder: "keys/orders".to_owned(),
            is_reported: false,
        };
        let mut judge = |in_row| key.judge(RefusedNonces { total: 9, in_row });
        assert_eq!(judge(IN_ROW - 1), None);
        let reason = judge(IN_ROW).unwrap_or_default();
        assert!(reason.contains("the API key in keys/orders"), "{reason}");
        assert_eq!(judge(IN_ROW + 1), None, "the same row");
        assert_eq!(judge(0), None);
        assert!(judge(IN_ROW).is_some());
    }
}
