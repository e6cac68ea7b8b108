//! Creates all known label sets at start: a series that appears with its first event hides that event from rates. No
//! label has an open set of values.

use cambist_core::notification::{BooksHold, Control, DepthFault, End};
use cambist_core::request::Endpoint;
use cambist_core::{PoolTransactionKind, Reason, Side};

use crate::config::Mode;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::{About, Operation};

/// Outcomes of requests as labels.
pub(super) const OUTCOMES: [&str; 5] = ["ok", "reject", "unknown", "rate_limited", "transport"];
/// States of a run.
pub(super) const UP_STATES: [&str; 7] = [
    "starting",
    "reconciling",
    "active",
    "paused",
    "not_quoting",
    "cancel_only",
    "halted",
];
/// States of open orders.
pub(super) const OPEN_STATES: [&str; 4] = ["in_flight", "live", "unknown", "cancelling"];
/// The label of a market's pool in place of a side.
pub(super) const POOL: &str = "pool";
/// What restricted the trading state.
pub(super) const CAUSES: [&str; 2] = ["operator", "engine"];
/// API keys whose nonces are counted.
pub(super) const API_KEYS: [&str; 2] = ["orders", "account"];
/// Restricted trading states, as kill switch numbers.
pub(super) const RAISED: [&str; 2] = ["2", "3"];

impl Metrics {
    /// Creates all series.
    pub(super) fn begin(&self, about: &About) {
        for state in UP_STATES {
            self.up_state
                .with_label_values(&[state])
                .set(i64::from(state == "starting"));
        }
        for (name, mode) in Mode::WORDS {
            let runs = i64::from(mode == about.mode);
            self.mode.with_label_values(&[name]).set(runs);
        }
        for level in RAISED {
            for cause in CAUSES {
                self.kill_engagements.with_label_values(&[level, cause]);
            }
        }
        for endpoint in Endpoint::ALL.map(Endpoint::name) {
            for outcome in OUTCOMES {
                self.http_requests.with_label_values(&[endpoint, outcome]);
            }
            self.http_duration.with_label_values(&[endpoint]);
            self.decode_errors
                .with_label_values(&[endpoint, "undecodable"]);
            self.budget_waits.with_label_values(&[endpoint]);
            self.venue_errors.with_label_values(&[endpoint, "unlisted"]);
            for reason in Reason::LISTED {
                let code = cambist_protocol::code::number(reason).to_string();
                self.venue_errors.with_label_values(&[endpoint, &code]);
            }
        }
        for result in ["clean", "corrected", "failed"] {
            self.reconciles.with_label_values(&[result]);
        }
        for operation in Operation::ALL {
            self.journal_errors.with_label_values(&[operation.name()]);
        }
        for key in API_KEYS {
            self.nonces_refused.with_label_values(&[key]);
        }
        for cause in super::ACCOUNT_CAUSES {
            self.account_stopped.with_label_values(&[cause]);
        }
        for cause in super::SIGNER_CAUSES {
            self.signatures_refused.with_label_values(&[cause]);
        }
        self.recording.set(1);
        self.queue_depth.with_label_values(&["events"]);
        self.queue_drops.with_label_values(&["events"]);
        self.invariants.with_label_values(&["any"]);
        for kind in PoolTransactionKind::ALL {
            self.foreign_moves.with_label_values(&[kind.name()]);
        }
        for pool in &about.pools {
            let symbol = pool.lp.symbol.as_str();
            self.balance.with_label_values(&[symbol, "total"]);
            self.balance.with_label_values(&[symbol, "ledger"]);
            self.mismatch.with_label_values(&[symbol]);
            if let Some(market) = about.markets.iter().find(|m| m.id == pool.market) {
                self.begin_pool(&market.name);
            }
        }
        for cause in BooksHold::ALL {
            self.books_hold.with_label_values(&[cause.name()]);
        }
        for market in &about.markets {
            let quote = [market.quote.symbol.as_str()];
            self.books_difference.with_label_values(&quote);
            self.begin_market(&market.name);
            for token in [&market.base, &market.quote] {
                let symbol = token.symbol.as_str();
                self.balance.with_label_values(&[symbol, "total"]);
                self.balance.with_label_values(&[symbol, "ledger"]);
                self.mismatch.with_label_values(&[symbol]);
            }
        }
    }

    fn begin_pool(&self, market: &str) {
        for gauges in [
            &self.pool_divergence,
            &self.pool_value,
            &self.pool_share,
            &self.pool_age,
        ] {
            gauges.with_label_values(&[market]);
        }
        for control in Control::ALL {
            let labels = [market, POOL, control.name()];
            self.withheld.with_label_values(&labels);
        }
        for state in ["open", "unknown"] {
            self.pool_moving.with_label_values(&[market, state]);
        }
        for kind in PoolTransactionKind::ALL.map(PoolTransactionKind::name) {
            self.pool_moves_sent.with_label_values(&[market, kind]);
            for end in End::ALL {
                let labels = [market, kind, end.name()];
                self.pool_moves_finished.with_label_values(&labels);
            }
        }
    }

    fn begin_market(&self, market: &str) {
        self.attempts.with_label_values(&[market]);
        self.fees_quote.with_label_values(&[market]);
        for gauges in [
            &self.position,
            &self.inventory_ratio,
            &self.mid,
            &self.spread,
        ] {
            gauges.with_label_values(&[market]);
        }
        self.depth_time.with_label_values(&[market, "depth"]);
        for end in End::ALL {
            self.finished.with_label_values(&[market, end.name()]);
        }
        for event in ["sent", "confirmed"] {
            self.amends.with_label_values(&[market, event]);
        }
        for state in OPEN_STATES {
            self.open.with_label_values(&[market, state]);
        }
        for control in Control::ALL {
            self.risk_rejects
                .with_label_values(&[market, control.name()]);
        }
        self.held_back.with_label_values(&[market]);
        for fault in DepthFault::ALL {
            self.depth_rejected
                .with_label_values(&[market, fault.name()]);
        }
        for side in Side::BOTH.map(Side::name) {
            self.submitted.with_label_values(&[market, side]);
            self.fills.with_label_values(&[market, side]);
            self.filled_quote.with_label_values(&[market, side]);
            self.quoting.with_label_values(&[market, side]);
            self.side_empty.with_label_values(&[market, side]);
            let queue = self.queue_in_front.with_label_values(&[market, side]);
            queue.set(f64::NAN);
            for control in Control::ALL {
                let labels = [market, side, control.name()];
                self.withheld.with_label_values(&labels);
            }
        }
    }
}
