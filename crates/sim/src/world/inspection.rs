//! The observable state of a world.

use std::collections::BTreeMap;

use cambist_core::market::MarketSpec;
use cambist_core::request::Endpoint;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Time, TokenId};
use cambist_report::Session;

use crate::campaign::outcome::Counts;
use crate::config::WorldConfig;
use crate::exchange::{Exchange, OWN_ACCOUNT};
use crate::faults::disk::Disk;
use crate::faults::network::Fault;
use crate::gateway::Gateway;
use crate::invariants::checks::Violation;
use crate::invariants::stated_loss::Losses;
use crate::trace::TraceHash;
use crate::{kraken, sequenced};

use crate::world::{Tap, World};

impl World {
    /// How often the sequenced venue refused something in front of the matching; never, where it is another.
    pub fn refused_by_sequence(&self) -> sequenced::Refused {
        let gateway = self.exchange.gateway().and_then(Gateway::sequenced);
        gateway
            .map(sequenced::gateway::Gateway::refused)
            .unwrap_or_default()
    }

    /// The same for Kraken's interface.
    pub fn refused_by_kraken(&self) -> kraken::Refused {
        let gateway = self.exchange.gateway().and_then(Gateway::kraken);
        gateway
            .map(kraken::gateway::Gateway::refused)
            .unwrap_or_default()
    }

    /// Observes every step of the engine.
    pub fn watch(&mut self, tap: Tap) {
        self.tap = Some(tap);
    }

    /// Observes every step of the engine up to the first violation.
    pub fn watch_until_violation(&mut self, tap: Tap) {
        self.tap = Some(tap);
        self.tap_ends = true;
    }

    /// The simulated time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Steps so far.
    pub const fn steps(&self) -> u64 {
        self.checks.steps()
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        Counts {
            faults: self.network.faults() + self.active_faults.begun,
            taken: self.ground_truth.count(),
            traded: self.ground_truth.fills(),
            ..self.counts
        }
    }

    /// Losses at losses of control.
    pub(crate) const fn losses(&self) -> Losses {
        self.loss.losses
    }

    /// Network faults by endpoint and kind.
    pub const fn struck(&self) -> &BTreeMap<(Endpoint, Fault), u64> {
        self.network.struck()
    }

    /// The session of the present or last start.
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The markets as the engine trades them.
    pub fn specs(&self) -> &[MarketSpec] {
        &self.specs
    }

    /// The exchange.
    pub const fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// The store.
    pub const fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Violated invariants.
    pub fn violations(&self) -> &[Violation] {
        self.checks.violations()
    }

    /// Violations beyond those that are kept.
    pub const fn violations_dropped(&self) -> u64 {
        self.checks.dropped()
    }

    /// Hash of all events and actions of the engine.
    pub fn trace_hash(&self) -> TraceHash {
        self.trace.hash()
    }

    /// Whether the daemon has ended, and whether with proof.
    pub const fn finished(&self) -> Option<bool> {
        self.finished
    }

    /// Own orders open at the venue.
    pub(crate) fn resting(&self) -> u64 {
        let own = self.exchange.venue().account(OWN_ACCOUNT);
        own.map_or(0, |account| u64::from(account.open_orders()))
    }

    /// The engine's ledger less the venue's balances, by token.
    pub(crate) fn residual(&self) -> SortedMap<TokenId, i128> {
        let ledger = &self.session.status().ledger;
        let signed = |amount: Amount| i128::try_from(amount).unwrap_or(i128::MAX);
        self.held()
            .into_iter()
            // A start that ended before its opening has no books to compare.
            .filter(|_| !ledger.is_empty())
            .map(|(token, held)| {
                let ours = ledger.get(&token).copied().unwrap_or(0);
                (token, signed(ours).saturating_sub(signed(held)))
            })
            .collect()
    }

    /// The last time of the engine's clock.
    pub(crate) const fn shown(&self) -> Time {
        self.shown
    }

    /// The configuration.
    pub const fn config(&self) -> &WorldConfig {
        &self.config
    }
}
