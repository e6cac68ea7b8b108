//! Log lines, metrics and pages, made from the engine's notifications.
//!
//! One function per notification both logs and counts, so that the two agree. Nothing is decided here, and secrets are
//! not known here.

mod books;
pub(crate) mod connectivity;
mod draining;
pub mod feeds;
pub mod http;
pub(crate) mod label_sets;
pub mod last_known;
pub mod log;
mod metrics;
mod observe;
pub mod order_text;
mod outage;
pub mod page;
pub mod parameters;
mod pnl;
pub mod portfolio;
mod process;
pub mod recording;
pub mod simulated;
pub mod starting;
mod status;
mod throttle;
mod timeline;
mod timeline_page;
pub mod withheld;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cambist_core::books::Books;
use cambist_core::event::TradingState;
use cambist_core::inspection::{Draining, OrderDecision};
use cambist_core::notification::{BooksHold, BooksStatus, Notification};
use cambist_core::request::Endpoint;
use cambist_core::{
    ClientOrderId, MarketId, MarketSpec, PoolSpec, Side, StrategyId, Time, TokenId, TokenSpec,
};

use crate::config::Mode;
use crate::telemetry::draining::DrainStatus;
use crate::telemetry::last_known::{LastKnown, RefusalText};
use crate::telemetry::parameters::ParameterDifference;
use crate::telemetry::portfolio::PortfolioStatus;
use cambist_host::clock::Clock;
use cambist_report::pnl::Attribution;
use cambist_store::Listing;
use metrics::Metrics;

/// Most of the venue's own text of a refusal that the log shows.
const REFUSAL_CHARS_MAX: usize = 200;

/// Why an account on a chain stopped.
pub(crate) const ACCOUNT_CAUSES: [&str; 3] = ["fork", "nonce", "receipt"];
/// Why what holds the key gave no signature.
const SIGNER_CAUSES: [&str; 2] = ["refused", "unavailable"];

/// Facts that do not change while the process runs.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Commit of the build, if known.
    pub revision: String,
    /// The venue in log lines: its name in a portfolio, otherwise its address.
    pub venue: String,
    /// What the run does.
    pub mode: Mode,
    /// Hash of the configuration.
    pub config_hash: String,
    /// Path of the configuration, for suggested commands.
    pub config: String,
    /// Markets, in the order of the configuration.
    pub markets: Vec<MarketSpec>,
    /// Pools beside them.
    pub pools: Vec<PoolSpec>,
    /// All tokens of the venue.
    pub tokens: Vec<TokenSpec>,
    /// Names of the strategies by id, with their markets: `bands of ETH-USDC`.
    pub strategies: Vec<String>,
    /// A depth older than this is not fresh.
    pub depth_age_max_ms: u64,
    /// Longest time without a turn of the event loop before it counts as hanging.
    pub tick_age_max_ms: u64,
    /// Burst sizes of the budget: in total, and for one endpoint.
    pub bursts: [u32; 2],
    /// What one request costs of the common budget.
    pub request_unit: u32,
    /// Time to live of an order.
    pub ttl_ms: u64,
    /// How long after its expiry an order may still be alive.
    pub grace_s: u64,
}

impl About {
    /// Requests of an amount of the common budget.
    pub(crate) fn requests(&self, taken: u64) -> u64 {
        taken / u64::from(self.request_unit.max(1))
    }

    /// How old a depth of this time was when it was accepted, in milliseconds. Only on paper: its times are those of
    /// this host's clock, and a feed that fails leaves the simulated venue with an old book. Elsewhere the venue's clock
    /// is another, and 0 is returned.
    fn depth_behind_ms(&self, unix_s: f64, depth_s: f64) -> u64 {
        if self.mode != Mode::Paper {
            return 0;
        }
        let behind = Duration::try_from_secs_f64(unix_s - depth_s);
        behind.map_or(0, |behind| {
            u64::try_from(behind.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// Name of a strategy for log lines; its number while the names are not known.
    fn strategy(&self, id: StrategyId) -> String {
        let name = self.strategies.get(usize::from(id.0));
        name.cloned().unwrap_or_else(|| id.0.to_string())
    }
}

/// Logs, metrics and the last known state of a running daemon.
pub struct Telemetry {
    about: About,
    clock: Clock,
    metrics: Metrics,
    last: Mutex<LastKnown>,
    watch: page::Watch,
    timeline: timeline::Timeline,
}

/// Why telemetry is not available.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The address is in use.
    #[error(
        "metrics cannot be served at {listen}: the address is in use; set another port in [metrics] listen, or stop the program that uses it"
    )]
    Busy {
        /// The address.
        listen: std::net::SocketAddr,
    },
    /// The address cannot be bound.
    #[error("metrics cannot be served at {listen}: {source}")]
    Listen {
        /// The address.
        listen: std::net::SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// Two metrics have the same name: a bug.
    #[error("metrics: {0}")]
    Registry(#[from] prometheus::Error),
}

impl Telemetry {
    /// Telemetry with all series at zero.
    pub fn new(about: About, clock: Clock) -> Result<Self, TelemetryError> {
        let metrics = Metrics::new(&about)?;
        metrics.config_time.set(clock.unix_s());
        Ok(Self {
            last: Mutex::new(LastKnown::new(about.markets.len(), clock.begins())),
            watch: page::Watch::default(),
            timeline: timeline::Timeline::default(),
            about,
            clock,
            metrics,
        })
    }

    /// Takes in one notification: counts and logs it.
    pub fn observe(&self, note: &Notification) {
        self.observe_at(self.clock.now(), self.clock.unix_s(), note);
    }

    /// As `observe`, with explicit times.
    pub fn observe_at(&self, now: Time, unix_s: f64, note: &Notification) {
        let mut last = self.last();
        let place = |order| last.orders.get(&order).copied();
        self.timeline.observe((now, unix_s), note, place);
        observe::note(&self.about, &self.metrics, &mut last, now, unix_s, note);
    }

    /// Keeps decisions, requests and answers for the page's timeline from now on.
    pub fn begin_timeline(&self) {
        self.timeline.begin(self.about.markets.len());
    }

    /// Takes in what the engine decided about an order, for the timeline. Without a market it is that of an order that
    /// was sent.
    pub fn decided(
        &self,
        order: ClientOrderId,
        market: Option<(MarketId, Side)>,
        decision: OrderDecision,
    ) {
        let place = market.or_else(|| self.last().orders.get(&order).copied());
        let place = place.map(|(market, side)| (market, Some(side)));
        let times = (self.clock.now(), self.clock.unix_s());
        self.timeline.decided(times, (order, place), decision);
    }

    /// The symbol of a configured token; otherwise its number.
    pub fn symbol(&self, token: TokenId) -> String {
        let known = observe::token_spec(&self.about, token);
        known.map_or_else(|| token.0.to_string(), |spec| spec.symbol.clone())
    }

    /// The metrics of feeds.
    pub const fn feeds(&self) -> &feeds::FeedMetrics {
        &self.metrics.feeds
    }

    /// Sets the status line, which is part of `/status`.
    pub fn line(&self, text: String) {
        self.last().line = text;
    }

    /// Own orders that may be alive, and the last expiry of one.
    pub fn alive(&self, orders: u64, last_expiry_s: Option<u32>) {
        self.last().alive = Some(outage::Alive {
            orders,
            last_expiry_s,
        });
    }

    /// The drain in progress, if there is one.
    pub fn draining(&self, draining: Option<Draining>) {
        let now = (self.clock.now(), self.clock.unix_micros() / 1_000_000);
        let mut last = self.last();
        let before = last.drain;
        last.drain = draining.map(|draining| DrainStatus::new(draining, before, now));
    }

    /// The parameters that operators set, which are part of `/status`.
    pub fn parameters(&self, differences: Vec<ParameterDifference>) {
        self.last().parameters = differences;
    }

    /// The event loop has finished a turn, which took `micros`.
    pub fn tick(&self, micros: u64) {
        self.metrics.loop_tick_timestamp.set(self.clock.unix_s());
        self.metrics.loop_tick_duration.observe(seconds(micros));
        self.last().ticked = Some(self.clock.now());
    }

    /// A request was provably not sent; the engine's notification of its end counts as that.
    pub fn not_sent(&self, endpoint: Endpoint) {
        *self.last().not_sent.entry(endpoint).or_default() += 1;
    }

    /// A request was not sent because it could not be signed: the venue was not asked.
    pub fn not_signed(&self, endpoint: Endpoint, why: &str) {
        let now = self.clock.now();
        let endpoint = endpoint.name();
        let key = format!("not signed {endpoint}");
        let times = self.last().throttle.due(now, &key);
        if let Some(times) = times {
            tracing::error!(endpoint, times, "request not signed, and not sent: {why}");
        }
    }

    /// Nothing was received from the venue for a request; `detail` is the chain of causes.
    pub fn venue_silent(&self, endpoint: Endpoint, detail: &str) {
        let now = (self.clock.now(), self.clock.unix_micros() / 1_000_000);
        let mut last = self.last();
        let LastKnown {
            connectivity,
            throttle,
            ..
        } = &mut *last;
        if let Some(cause) = connectivity.silent(now, detail, throttle) {
            let endpoint = endpoint.name();
            tracing::warn!(
                venue = self.about.venue,
                "the venue does not answer ({endpoint}: {cause}); requests are repeated"
            );
        }
    }

    /// The venue refused a request, with a number of the exchange interface or without; `detail` is its own text, for
    /// the log entry about the refusal.
    pub fn venue_refused(&self, endpoint: Endpoint, is_numbered: bool, detail: &str) {
        let text = detail.chars().take(REFUSAL_CHARS_MAX).collect();
        let refusal = RefusalText { text, is_numbered };
        self.last().refusal_texts.insert(endpoint, refusal);
    }

    /// Something was received from the venue.
    pub fn venue_answered(&self) {
        let now = self.clock.now();
        if let Some(silent_ms) = self.last().connectivity.answered(now) {
            let silent_s = silent_ms.div_ceil(1_000);
            tracing::info!(
                venue = self.about.venue,
                "the venue answers again, after {silent_s} s"
            );
        }
    }

    /// What the nodes of a chain state, the polls that they answered with nothing usable, with the cause, and those that
    /// take longer than their interval.
    pub fn nodes(&self, pages: [serde_json::Value; 3]) {
        self.last().nodes = Some(pages);
    }

    /// The limits over all venues of a portfolio.
    pub fn portfolio(&self, status: PortfolioStatus) {
        self.metrics.portfolio.update(&status);
        self.last().portfolio = Some(status);
    }

    /// Number of requests in flight.
    pub fn in_flight(&self, requests: u64) {
        self.metrics.http_in_flight.set(requests.cast_signed());
    }

    /// The trading state that the store has, and why: it applies before an engine runs as well.
    pub fn restricted_before(&self, state: TradingState, cause: &str) {
        let cause = (state > TradingState::Active).then(|| cause.to_owned());
        self.metrics.kill_level.set(observe::kill_number(state));
        let mut last = self.last();
        last.level = state;
        last.level_cause.clone_from(&cause);
        last.stored_cause = cause;
    }

    /// A trading state is being stored. One that restricts more applies already, and its cause is shown with it.
    pub fn restricting(&self, state: TradingState, cause: &str) {
        let mut last = self.last();
        if state > last.announced.max(last.level) {
            last.level_cause = Some(observe::short(cause));
        }
    }

    /// Whether trading is restricted, as far as was reported.
    pub fn is_restricted(&self) -> bool {
        self.last().level_cause.is_some()
    }

    /// Whether the engine drains.
    pub fn is_draining(&self) -> bool {
        self.last().draining
    }

    /// The operator restricted trading; the next change of the trading state is attributed to the operator.
    pub fn operator_asked(&self) {
        self.last().operator_asked = true;
    }

    /// A batch of `records` intents became durable in `micros`; the store has `size_bytes`.
    pub fn journalled(&self, records: u64, micros: u64, size_bytes: u64) {
        self.metrics.journal_appends.inc_by(records);
        self.metrics.signatures.inc_by(records);
        self.metrics.journal_fsync.observe(seconds(micros));
        self.metrics.journal_size.set(size_bytes.cast_signed());
    }

    /// An intent was not signed, because what holds the key did not answer (`is_away`) or for another cause; it is not
    /// sent.
    pub fn signature_refused(&self, is_away: bool, text: &str) {
        let cause = SIGNER_CAUSES[usize::from(is_away)];
        let refused = &self.metrics.signatures_refused;
        refused.with_label_values(&[cause]).inc();
        let now = self.clock.now();
        // The rule; what follows are the numbers of one order.
        let rule: Vec<_> = text.split(':').take(2).collect();
        let times = self
            .last()
            .throttle
            .due(now, &format!("signer {}", rule.concat()));
        if let Some(times) = times {
            tracing::error!(times, "{text}; the order is not sent");
        }
    }

    /// The venue took the request to cancel everything in so many seconds, or never.
    pub fn switch_set(&self, seconds: Option<u32>) {
        let at = seconds.map_or(0.0, |seconds| self.clock.unix_s() + f64::from(seconds));
        self.metrics.switch_expiry.set(at);
    }

    /// That request failed.
    pub fn switch_not_refreshed(&self) {
        self.metrics.switch_failures.inc();
    }

    /// Nonces of an API key that the venue refused because something else uses the key, since the start.
    pub fn nonces_refused(&self, key: &str, total: u64) {
        let refused = self.metrics.nonces_refused.with_label_values(&[key]);
        refused.inc_by(total.saturating_sub(refused.get()));
    }

    /// Nothing can be known or signed of the account any more, for one of [`ACCOUNT_CAUSES`].
    pub fn account_stopped(&self, cause: &str) {
        let stopped = &self.metrics.account_stopped;
        stopped.with_label_values(&[cause]).set(1);
    }

    /// Profit and loss as the store counts it, over all runs: market, owner, and `None` where it is not known.
    pub fn profit_and_loss<'a>(
        &self,
        counts: impl Iterator<Item = (&'a str, &'a str, Option<Attribution>)>,
    ) {
        for (market, owner, pnl) in counts {
            self.metrics.profit_and_loss(market, owner, pnl);
        }
    }

    /// A write to the store failed.
    pub fn journal_failed(&self, operation: Operation) {
        self.metrics
            .journal_errors
            .with_label_values(&[operation.name()])
            .inc();
    }

    /// Since when a start waits for its venue, seconds since the Unix epoch; 0 if it does not wait.
    pub fn start_waits_since(&self, unix_s: u64) {
        #[expect(clippy::cast_precision_loss, reason = "seconds fit 53 bits")]
        self.metrics.start_waiting.set(unix_s as f64);
    }

    /// Whether the tape is being recorded.
    pub fn recording(&self, goes_on: bool) {
        self.metrics.recording.set(i64::from(goes_on));
    }

    /// Number of items in the event queue.
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

    /// All metrics in Prometheus' text format.
    pub fn render(&self) -> Result<String, TelemetryError> {
        let mut last = self.last();
        observe::settle(&self.metrics, &mut last, self.clock.now());
        self.metrics.process.update(self.clock.unix_s());
        drop(last);
        let families = self.metrics.registry.gather();
        Ok(prometheus::TextEncoder::new().encode_to_string(&families)?)
    }

    fn last(&self) -> MutexGuard<'_, LastKnown> {
        // A panic ends the process, so a poisoned lock occurs in tests only.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The books of a stopped daemon at their last comparison.
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
        // The next start will report them.
        hold: (!books.differences.is_empty()).then_some(BooksHold::Start),
        ..BooksStatus::default()
    };
    books::page(&about, &status, None)
}

/// Operations of the store that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sealing a batch.
    Seal,
    /// Recording an end or a fill.
    Note,
    /// Storing the trading state.
    Level,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 3] = [Self::Seal, Self::Note, Self::Level];

    /// The label in metrics.
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
mod metrics_tests;
#[cfg(test)]
mod monitoring_tests;
#[cfg(test)]
pub(crate) mod tests;
