//! Metrics and status of a run that records depth: there is no engine, so that what is known is what its feeds answered.

use std::time::Duration;

use prometheus::Registry;
use rust_decimal::prelude::ToPrimitive;
use serde_json::{Value, json};

use super::TelemetryError;
use super::feeds::{FeedMetrics, FeedSeries};
use super::metrics::Maker;
use super::process::Process;
use crate::config::Daemon;
use cambist_core::Time;
use cambist_host::clock::Clock;

/// Books are missing if none arrived for this many polls, and for at least `LATE_MIN`.
const LATE_POLLS: u32 = 5;
const LATE_MIN: Duration = Duration::from_secs(30);

/// Status of a recording.
pub struct RecordingStatus {
    registry: Registry,
    process: Process,
    feeds: FeedMetrics,
    clock: Clock,
    began: Time,
    facts: Value,
    markets: Vec<Market>,
}

/// A market that is recorded.
struct Market {
    name: String,
    folder: String,
    poll: Duration,
    series: FeedSeries,
}

impl RecordingStatus {
    /// Status of a run in which no feed has answered.
    pub fn new(config: &Daemon, clock: Clock) -> Result<Self, TelemetryError> {
        let registry = Registry::new();
        let m = Maker::new(&registry);
        let (process, feeds) = (Process::new(&m)?, FeedMetrics::made_by(&m)?);
        let revision = cambist_host::program::build().revision;
        m.build_info(revision, &config.source.hash())?;
        let markets = config.markets.iter().map(|market| {
            let name = market.name.value.clone();
            let poll_ms = market.feed.as_ref().map_or(0, |feed| feed.poll_ms);
            Market {
                folder: config.store.dir.join(&name).display().to_string(),
                series: feeds.depth(&name),
                poll: Duration::from_millis(poll_ms),
                name,
            }
        });
        Ok(Self {
            markets: markets.collect(),
            registry,
            process,
            feeds,
            clock,
            began: clock.now(),
            facts: json!({
                "version": env!("CARGO_PKG_VERSION"),
                "revision": revision,
                "config_hash": config.source.hash(),
                "mode": config.mode.name(),
                "sends_orders": false,
                "state": "recording",
            }),
        })
    }

    /// The metrics of its feeds.
    pub const fn feeds(&self) -> &FeedMetrics {
        &self.feeds
    }

    /// Whether every market has new books, and which ones do not.
    pub fn readiness(&self) -> (bool, String) {
        let late: Vec<_> = self.markets.iter().filter_map(|m| self.late(m)).collect();
        if late.is_empty() {
            (true, "every market is recorded\n".to_owned())
        } else {
            (false, late.join("\n") + "\n")
        }
    }

    /// All metrics in Prometheus' text format.
    pub fn render(&self) -> Result<String, TelemetryError> {
        self.process.update(self.clock.unix_s());
        Ok(prometheus::TextEncoder::new().encode_to_string(&self.registry.gather())?)
    }

    /// Everything known, as JSON.
    pub fn status(&self) -> Value {
        let mut page = self.facts.clone();
        let (ready, line) = self.readiness();
        page["alive"] = json!(true);
        page["ready"] = json!(ready);
        page["line"] = json!(line.trim_end());
        page["up_ms"] = json!(self.clock.now().ms_since(self.began));
        let markets = self.markets.iter().map(|market| {
            let left_out = market.series.errors().filter(|(_, count)| *count > 0);
            let left_out = left_out.map(|(kind, count)| (kind.name().to_owned(), json!(count)));
            json!({
                "market": market.name,
                "recording": market.folder,
                "books": market.series.books(),
                "book_age_ms": self.age(market).map(|age| age.as_millis().to_u64()),
                "left_out": Value::Object(left_out.collect()),
            })
        });
        page["markets"] = markets.collect();
        page
    }

    fn age(&self, market: &Market) -> Option<Duration> {
        let at = market.series.book_at()?;
        // The clock of the host may have been set back.
        let age = Duration::try_from_secs_f64(self.clock.unix_s() - at);
        Some(age.unwrap_or_default())
    }

    /// Why a market's newest book is not new.
    fn late(&self, market: &Market) -> Option<String> {
        let name = &market.name;
        let Some(age) = self.age(market) else {
            return Some(format!("{name}: no book has arrived; see the log"));
        };
        let is_late = age > (market.poll * LATE_POLLS).max(LATE_MIN);
        is_late.then(|| {
            let age_s = age.as_secs();
            format!("{name}: no book has arrived for {age_s} s; see the log")
        })
    }
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
