//! What people and machines see: log lines and metrics, made from the engine's notes.
//!
//! One function per event both logs and counts, so that the two cannot disagree. Nothing here decides
//! anything, and nothing here knows a secret.

mod books;
pub(crate) mod connectivity;
pub mod http;
pub(crate) mod label_sets;
pub mod last_known;
pub mod log;
mod metrics;
mod observe;
mod page;
mod process;
pub mod starting;
mod status;
mod throttle;
pub mod withheld;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cambist_core::books::Books;
use cambist_core::notification::{BooksHold, BooksStatus, Notification};
use cambist_core::request::Endpoint;
use cambist_core::{MarketSpec, PoolSpec, Time, TokenId, TokenSpec};

use crate::telemetry::last_known::LastKnown;
use cambist_host::clock::Clock;
use cambist_store::Listing;
use metrics::Metrics;

/// What does not change while the process runs.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Revision of the source, if known when it was built.
    pub revision: String,
    /// Hash of the configuration.
    pub config_hash: String,
    /// Its file, for commands that are suggested.
    pub config: String,
    /// Markets, in the order of the configuration.
    pub markets: Vec<MarketSpec>,
    /// Pools beside them.
    pub pools: Vec<PoolSpec>,
    /// Every token that the venue lists.
    pub tokens: Vec<TokenSpec>,
    /// A depth older than this is not fresh.
    pub depth_age_max_ms: u64,
    /// A decision loop silent for longer hangs.
    pub tick_age_max_ms: u64,
    /// Requests that may leave at once: over everything, and to one endpoint.
    pub bursts: [u32; 2],
    /// Life of an order.
    pub ttl_ms: u64,
}

/// Logs, metrics and the last known state of a running daemon.
pub struct Telemetry {
    about: About,
    clock: Clock,
    metrics: Metrics,
    facts: Mutex<LastKnown>,
    watch: page::Watch,
}

/// Why telemetry cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The port is taken.
    #[error(
        "metrics cannot be served at {listen}: the address is in use; set another port in [metrics] listen, or stop the program that uses it"
    )]
    Busy {
        /// The address.
        listen: std::net::SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("metrics cannot be served at {listen}: {source}")]
    Listen {
        /// The address.
        listen: std::net::SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// Two metrics of one name: a mistake of ours.
    #[error("metrics: {0}")]
    Registry(#[from] prometheus::Error),
}

impl Telemetry {
    /// Telemetry with every series at zero.
    pub fn new(about: About, clock: Clock) -> Result<Self, TelemetryError> {
        let metrics = Metrics::new(&about)?;
        metrics.config_time.set(clock.unix_s());
        Ok(Self {
            facts: Mutex::new(LastKnown::new(about.markets.len(), clock.now())),
            watch: page::Watch::default(),
            about,
            clock,
            metrics,
        })
    }

    /// Takes in one note: counts it, and logs what people should know.
    pub fn observe(&self, note: &Notification) {
        self.observe_at(self.clock.now(), self.clock.unix_s(), note);
    }

    /// As `observe`, with the time given.
    pub fn observe_at(&self, now: Time, unix_s: f64, note: &Notification) {
        let mut facts = self.facts();
        observe::note(&self.about, &self.metrics, &mut facts, now, unix_s, note);
    }

    /// The symbol of a token that is traded here; its number if it is not.
    pub fn symbol(&self, token: TokenId) -> String {
        let known = observe::token_spec(&self.about, token);
        known.map_or_else(|| token.0.to_string(), |spec| spec.symbol.clone())
    }

    /// The line that people watch, shown as part of `/status`.
    pub fn line(&self, text: String) {
        self.facts().line = text;
    }

    /// The decision loop has finished a turn that took `micros`.
    pub fn tick(&self, micros: u64) {
        self.metrics.loop_tick_timestamp.set(self.clock.unix_s());
        self.metrics.loop_tick_duration.observe(seconds(micros));
        self.facts().ticked = Some(self.clock.now());
    }

    /// A request provably never left; the engine's note of its end is to count as that.
    pub fn not_sent(&self, endpoint: Endpoint) {
        *self.facts().not_sent.entry(endpoint).or_default() += 1;
    }

    /// Nothing came from the venue for a request; `detail` is the chain of causes.
    pub fn venue_silent(&self, endpoint: Endpoint, detail: &str) {
        let now = self.clock.now();
        let mut facts = self.facts();
        let LastKnown {
            reach, throttle, ..
        } = &mut *facts;
        if let Some(cause) = reach.silent(now, detail, throttle) {
            let endpoint = endpoint.name();
            tracing::warn!("venue does not answer ({endpoint}: {cause})");
        }
    }

    /// Something came from the venue.
    pub fn venue_answered(&self) {
        let now = self.clock.now();
        if let Some(silent_ms) = self.facts().reach.answered(now) {
            let silent_s = silent_ms.div_ceil(1_000);
            tracing::info!("venue answers again after {silent_s} s");
        }
    }

    /// Requests awaiting an answer.
    pub fn in_flight(&self, requests: u64) {
        self.metrics.http_in_flight.set(requests.cast_signed());
    }

    /// An operator asked for a higher level; the next change of level is theirs.
    pub fn operator_asked(&self) {
        self.facts().operator_asked = true;
    }

    /// A batch of `records` intents became durable in `micros`; the store has `size_bytes` now.
    pub fn journalled(&self, records: u64, micros: u64, size_bytes: u64) {
        self.metrics.journal_appends.inc_by(records);
        self.metrics.signatures.inc_by(records);
        self.metrics.journal_fsync.observe(seconds(micros));
        self.metrics.journal_size.set(size_bytes.cast_signed());
    }

    /// A write to the store failed.
    pub fn journal_failed(&self, operation: Operation) {
        self.metrics
            .journal_errors
            .with_label_values(&[operation.name()])
            .inc();
    }

    /// A start waits for its venue since then, seconds since the Unix epoch; 0 if it does not.
    pub fn start_waits_since(&self, unix_s: u64) {
        #[expect(clippy::cast_precision_loss, reason = "seconds fit 53 bits")]
        self.metrics.start_waiting.set(unix_s as f64);
    }

    /// Whether what is to be recorded is recorded.
    pub fn recording(&self, goes_on: bool) {
        self.metrics.recording.set(i64::from(goes_on));
    }

    /// Items waiting in the event queue.
    pub fn queue_depth(&self, items: u64) {
        self.metrics
            .queue_depth
            .with_label_values(&["events"])
            .set(items.cast_signed());
    }

    /// An item was refused by the full event queue.
    pub fn queue_dropped(&self) {
        self.metrics
            .queue_drops
            .with_label_values(&["events"])
            .inc();
    }

    /// Everything in the text format of Prometheus.
    pub fn render(&self) -> Result<String, TelemetryError> {
        let mut facts = self.facts();
        observe::settle(&self.metrics, &mut facts);
        self.metrics.process.update(self.clock.unix_s());
        drop(facts);
        let families = self.metrics.registry.gather();
        Ok(prometheus::TextEncoder::new().encode_to_string(&families)?)
    }

    fn facts(&self) -> MutexGuard<'_, LastKnown> {
        // A panic ends the process, so a poisoned lock is never seen outside of tests.
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of a stopped daemon: whether its books were the venue's when they were last compared.
pub fn stopped_books(books: &Books, listing: Listing, config: &Path) -> serde_json::Value {
    let about = About {
        config: config.display().to_string(),
        markets: listing.markets,
        pools: listing.pools,
        tokens: listing.tokens,
        ..About::default()
    };
    let status = BooksStatus {
        confirmed: books.ledger.is_some(),
        differences: books.differences.clone(),
        // The next start finds them.
        hold: (!books.differences.is_empty()).then_some(BooksHold::Start),
        ..BooksStatus::default()
    };
    books::page(&about, &status, None)
}

/// What can fail at the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sealing a batch.
    Seal,
    /// Noting an end or a fill.
    Note,
    /// Storing the level.
    Level,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 3] = [Self::Seal, Self::Note, Self::Level];

    /// The label used in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seal => "seal",
            Self::Note => "note",
            Self::Level => "level",
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "durations are far below 53 bits"
)]
pub(crate) fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod monitoring_tests;
#[cfg(test)]
mod tests;
