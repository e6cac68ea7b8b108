//! The modes record and observe: records the depth of public feeds in the format that backtests read, and observe reports
//! statistics. There is no engine and no order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use cambist_core::{MarketSpec, Time};
use cambist_market_data::segment::{Header, Limits, SnapshotWriter, WriteError};
use cambist_market_data::{LiveRow, LiveSource, Snapshot, Timestamp};
use serde_json::{Value, json};

use crate::backtest::prepare::{bound_without_venue, own_grid};
use crate::commands::{check_pin, columns, print_json, print_text};
use crate::exit::{self, Exit, Failure, with_failures};
use crate::paper::feeds_of;
use cambist_config::money;
use cambist_daemon::config::{Daemon, Mode};
use cambist_daemon::feeds::{self, ClockSteps, LiveFeed};
use cambist_daemon::live::status_service::{StatusService, take_folder};
use cambist_daemon::telemetry::http::Shown;
use cambist_daemon::telemetry::recording::RecordingStatus;
use cambist_host::clock::Clock;
use cambist_host::times;

/// Longest time until recorded rows are passed to the operating system: a run that is killed loses no more.
const FLUSH_NANOS: i64 = 1_000_000_000;
/// Segments that a recording of limited size has at least.
const SEGMENTS: u64 = 16;
/// Resolution of spreads: a hundredth of a basis point of the mid.
const SPREAD_STEPS: u64 = 1_000_000;

/// Records until stopped or until `limit`; exit 1 if nothing was recorded of a market.
pub fn run(
    config: &Daemon,
    until_stdin_closes: bool,
    limit: Option<Duration>,
    json: bool,
) -> anyhow::Result<Exit> {
    let clock = Clock::new();
    let bound = bound_without_venue(config)?;
    let _taken = take_folder(config)?;
    check_pin::agree(config)?;
    let status = Arc::new(RecordingStatus::new(config, clock)?);
    let mut pollers = feeds::start(
        feeds_of(config, &bound.markets),
        &[],
        status.feeds(),
        (clock, config.request_timeout_ms),
        (until_stdin_closes, limit),
    )?;
    let age_max_ms = config.engine.poll.depth_age_max_ms;
    let mut observers = Vec::new();
    let urls = config.markets.iter().map(|market| {
        let url = market.feed.as_ref().map(|feed| feed.url.value.clone());
        url.unwrap_or_default()
    });
    let arrivals = std::mem::take(&mut pollers.arrivals);
    for ((spec, arrivals), url) in bound.markets.iter().zip(arrivals).zip(urls) {
        let grid = own_grid(spec).with_context(|| format!("market {}: its units", spec.name))?;
        let stop = Arc::clone(&pollers.stop);
        let folder = config.store.dir.join(&spec.name);
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let header = Header {
            market: spec.name.clone(),
            grid,
        };
        let limits = limits(config.tape.as_ref().map(|tape| tape.max_mb));
        tracing::info!(
            market = spec.name,
            "depth is recorded in {}",
            folder.display()
        );
        observers.push(Observer {
            feed: LiveFeed::new(
                &spec.name,
                grid,
                arrivals,
                stop,
                (pollers.time.clone(), age_max_ms),
            )
            .following_the_wall_clock(),
            writer: SnapshotWriter::begin(&folder, header, limits)?,
            flushed: Timestamp(0),
            seen: Seen::default(),
            clock,
            book_at: clock.now(),
            refused: 0,
            market: spec.clone(),
            url,
            begun_at: clock.now(),
            ran_ms: 0,
            folder: folder.display().to_string(),
        });
    }
    let service = StatusService::start(config, Shown::Recording(status))?;
    let ended = run_all(observers, &pollers.stop)?;
    drop(service);
    let steps = pollers.time.clock_steps();
    drop(pollers);
    let missing: Vec<_> = ended
        .iter()
        .filter_map(|one| Some(format!("{}: {}", one.market.name, one.missing()?)))
        .map(|what| Failure::new(Exit::CheckFailed, what))
        .collect();
    print(config.mode, (&ended, &missing), &steps, json)?;
    for failure in &missing {
        exit::print_error(failure);
    }
    Ok(missing.first().map_or(Exit::Done, |failure| failure.exit))
}

/// Runs every market's observer to its end.
///
/// # Errors
/// [`WriteError`] of the first one that cannot write.
fn run_all(observers: Vec<Observer>, stop: &AtomicBool) -> Result<Vec<Observer>, WriteError> {
    // One thread per market: a failing feed does not delay the others. One that cannot write ends all of them, because
    // a recording without one of its markets would go on unnoticed.
    std::thread::scope(|scope| {
        let threads: Vec<_> = observers
            .into_iter()
            .map(|observer| {
                scope.spawn(|| {
                    let ended = observer.run();
                    if ended.is_err() {
                        stop.store(true, Ordering::Release);
                    }
                    ended
                })
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
            Ok(seen) => seen,
            Err(panicked) => std::panic::resume_unwind(panicked),
        };
        threads
            .into_iter()
            .map(join)
            .collect::<Result<Vec<_>, WriteError>>()
    })
}

/// Prints what was recorded and observed.
fn print(
    mode: Mode,
    (ended, missing): (&[Observer], &[Failure]),
    steps: &ClockSteps,
    json: bool,
) -> anyhow::Result<()> {
    if json {
        let markets: Vec<_> = ended.iter().map(|one| one.page(mode)).collect();
        let value = json!({
            "mode": mode.name(),
            "markets": markets,
            "clock_steps": steps.first.map(|first| json!({
                "count": steps.count,
                "first": first.to_string(),
                "largest_ms": steps.largest_us / 1_000,
                "sum_ms": steps.sum_us / 1_000,
            })),
        });
        print_json(&with_failures(value, missing))?;
    } else {
        let texts = ended.iter().map(|one| one.text(mode));
        let texts: Vec<_> = texts.chain(clock_text(steps)).collect();
        print_text(&texts.join("\n"))?;
    }
    Ok(())
}

/// That the wall clock was set, if it was.
fn clock_text(steps: &ClockSteps) -> Option<String> {
    let first = steps.first?;
    Some(format!(
        "The wall clock of this host was set {} times, first at {first}, at most by {} s: times of the recording follow it forwards, and go on where it is set back.\n",
        steps.count,
        steps.largest_us / 1_000_000
    ))
}

/// Segments within the size limit, so that what is removed is a part of it.
fn limits(max_mb: Option<u64>) -> Limits {
    let whole = Limits::default();
    let total_bytes = max_mb.map(|max_mb| max_mb.saturating_mul(1_000_000));
    Limits {
        total_bytes,
        segment_bytes: total_bytes.map_or(whole.segment_bytes, |total| {
            (total / SEGMENTS).min(whole.segment_bytes)
        }),
        ..whole
    }
}

struct Observer {
    feed: LiveFeed,
    writer: SnapshotWriter,
    flushed: Timestamp,
    seen: Seen,
    clock: Clock,
    /// When the last book arrived, or the run began.
    book_at: Time,
    /// Books that cannot be recorded.
    refused: u64,
    market: MarketSpec,
    /// Where its depth is read.
    url: String,
    begun_at: Time,
    /// How long it ran, once it has ended.
    ran_ms: u64,
    folder: String,
}

/// Statistics of one market. Memory is bounded: spreads are counted by size.
#[derive(Clone, Debug, Default)]
struct Seen {
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    first_mid: Option<u64>,
    last_mid: Option<u64>,
    mids: Option<(u64, u64)>,
    /// Spreads by hundredths of a basis point of the mid.
    spreads: BTreeMap<u64, u64>,
    one_sided: u64,
    /// Longest time without a book, from the beginning of the run to its end.
    longest_gap_us: u64,
}

/// Most different spreads counted separately; wider ones count as the widest.
const SPREADS_MAX: usize = 10_000;

impl Seen {
    fn take(&mut self, snapshot: &Snapshot) {
        let time = snapshot.local_time;
        self.first.get_or_insert(time);
        self.last = Some(time);
        let (Some(bid), Some(ask)) = (snapshot.bids.first(), snapshot.asks.first()) else {
            self.one_sided += 1;
            return;
        };
        let mid = bid.price.0.saturating_add(ask.price.0);
        self.first_mid.get_or_insert(mid);
        self.last_mid = Some(mid);
        let (low, high) = self.mids.unwrap_or((mid, mid));
        self.mids = Some((low.min(mid), high.max(mid)));
        let spread = u128::from(ask.price.0.saturating_sub(bid.price.0));
        let part = spread * 2 * u128::from(SPREAD_STEPS) / u128::from(mid.max(1));
        let mut part = u64::try_from(part).unwrap_or(u64::MAX);
        if self.spreads.len() >= SPREADS_MAX && !self.spreads.contains_key(&part) {
            part = self
                .spreads
                .last_key_value()
                .map_or(part, |(widest, _)| *widest);
        }
        *self.spreads.entry(part).or_default() += 1;
    }

    fn gap(&mut self, micros: u64) {
        self.longest_gap_us = self.longest_gap_us.max(micros);
    }

    /// The quantile of the spread, in hundredths of a basis point.
    fn spread(&self, percent: u64) -> Option<u64> {
        let all: u64 = self.spreads.values().sum();
        let mut left = (all * percent).div_ceil(100);
        for (spread, count) in &self.spreads {
            left = left.saturating_sub(*count);
            if left == 0 {
                return Some(*spread);
            }
        }
        None
    }
}

impl Observer {
    fn run(mut self) -> Result<Self, WriteError> {
        // A live feed counts invalid answers and continues.
        while let Ok(Some(row)) = self.feed.next_row() {
            let now = match row {
                LiveRow::Trade(trade) => trade.local_time,
                LiveRow::Idle(time) | LiveRow::Reference(_, time) => time,
                LiveRow::Snapshot(snapshot) => {
                    self.seen.take(snapshot);
                    let now = self.clock.now();
                    self.seen.gap(now.micros_since(self.book_at));
                    self.book_at = now;
                    match self.writer.write(snapshot) {
                        Ok(()) => {}
                        Err(WriteError::Refused(why)) => {
                            if self.refused == 0 {
                                let market = &self.market.name;
                                tracing::warn!(
                                    market,
                                    why,
                                    "a book cannot be recorded; further ones are counted in the report"
                                );
                            }
                            self.refused += 1;
                        }
                        Err(error) => return Err(error),
                    }
                    snapshot.local_time
                }
            };
            if now.nanos_since(self.flushed) >= FLUSH_NANOS {
                self.writer.flush()?;
                self.flushed = now;
            }
        }
        let now = self.clock.now();
        self.seen.gap(now.micros_since(self.book_at));
        self.ran_ms = now.ms_since(self.begun_at);
        self.writer.sync()?;
        Ok(self)
    }

    fn price(&self, mid: Option<u64>) -> Option<String> {
        let decimals = self.market.price_decimals + 1;
        mid.map(|mid| money::whole(u128::from(mid) * 5, decimals))
    }

    /// What was missing of a market of which nothing was recorded, and what helps; `None` if something was.
    fn missing(&self) -> Option<String> {
        let report = self.feed.report();
        let (url, ran) = (&self.url, self.ran_ms);
        let ran = match ran / 1_000 {
            0 => times::span_ms(ran),
            seconds => times::span(seconds),
        };
        if report.kept > self.refused {
            return None;
        }
        if report.kept > 0 {
            return Some(format!(
                "none of {} books from {url} could be recorded in {}; the log states why",
                report.kept, self.folder
            ));
        }
        let first = report.skipped.iter().max_by_key(|skipped| skipped.count);
        Some(first.map_or_else(
            || {
                format!(
                    "no answer arrived from {url} in {ran}: run longer than venue.request_timeout_ms, and see that the host reaches that address"
                )
            },
            |most| {
                format!(
                    "no book arrived from {url} in {ran}: {} answers or attempts were left out as {}, the first because of: {}. Correct [market.feed] or the network (docs/feeds.md)",
                    most.count,
                    most.kind.name(),
                    most.first
                )
            },
        ))
    }

    /// The mode record counts, and leaves statistics out.
    fn page(&self, mode: Mode) -> Value {
        let (report, seen) = (self.feed.report(), &self.seen);
        let recorded = json!({
            "market": self.market.name,
            "recording": self.folder,
            "from": seen.first.map(|time| time.to_string()),
            "to": seen.last.map(|time| time.to_string()),
            "answers": report.rows,
            "books": report.kept,
            "left_out": report.skipped,
            "not_recorded": self.refused,
            "missing": self.missing(),
        });
        if mode == Mode::Record {
            return recorded;
        }
        let mut page = json!({
            "one_sided": seen.one_sided,
            "longest_gap_ms": seen.longest_gap_us / 1_000,
            "mid_first": self.price(seen.first_mid),
            "mid_last": self.price(seen.last_mid),
            "mid_low": self.price(seen.mids.map(|mids| mids.0)),
            "mid_high": self.price(seen.mids.map(|mids| mids.1)),
            "spread_bps_p50": seen.spread(50).map(bps),
            "spread_bps_p99": seen.spread(99).map(bps),
        });
        if let (Some(page), Value::Object(recorded)) = (page.as_object_mut(), recorded) {
            page.extend(recorded);
        }
        page
    }

    fn text(&self, mode: Mode) -> String {
        let (report, seen) = (self.feed.report(), &self.seen);
        if report.kept == 0
            && let Some(missing) = self.missing()
        {
            return format!("{}\n  nothing was recorded: {missing}\n", self.market.name);
        }
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
        let price = |mid| or_none(self.price(mid));
        let spread = |percent| {
            or_none(
                seen.spread(percent)
                    .map(|spread| format!("{} bps", bps(spread))),
            )
        };
        let skipped: u64 = report.skipped.iter().map(|skipped| skipped.count).sum();
        let statistics = mode != Mode::Record;
        let mut rows = vec![
            (
                "books",
                format!(
                    "{} of {} answers, {skipped} left out, {} without a bid or an ask, {} not recorded",
                    report.kept, report.rows, seen.one_sided, self.refused
                ),
            ),
            (
                "from, to",
                format!(
                    "{}, {}",
                    or_none(seen.first.map(|time| time.to_string())),
                    or_none(seen.last.map(|time| time.to_string()))
                ),
            ),
            ("longest gap", format!("{} ms", seen.longest_gap_us / 1_000)),
            (
                "mid",
                format!("{} to {}", price(seen.first_mid), price(seen.last_mid)),
            ),
            (
                "range",
                format!(
                    "{} to {}",
                    price(seen.mids.map(|mids| mids.0)),
                    price(seen.mids.map(|mids| mids.1))
                ),
            ),
            (
                "spread",
                format!(
                    "{} median, {} at the 99th percentile",
                    spread(50),
                    spread(99)
                ),
            ),
            ("recorded in", self.folder.clone()),
        ];
        rows.retain(|(name, _)| statistics || ["books", "recorded in"].contains(name));
        rows.extend(report.skipped.iter().map(|skipped| {
            (
                "left out",
                format!(
                    "{} {}, first: {}",
                    skipped.count,
                    skipped.kind.name(),
                    skipped.first
                ),
            )
        }));
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(name, value)| vec![name.to_owned(), value])
            .collect();
        format!("{}\n{}", self.market.name, columns(&rows))
    }
}

/// Formats hundredths of a basis point as basis points.
fn bps(hundredths: u64) -> String {
    money::whole(hundredths.into(), 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limited_recording_has_segments_of_a_sixteenth() {
        assert_eq!(limits(None), Limits::default());
        assert_eq!(limits(Some(16)).segment_bytes, 1_000_000);
        assert_eq!(limits(Some(16)).total_bytes, Some(16_000_000));
        let most = Limits::default().segment_bytes;
        assert_eq!(limits(Some(1_000_000)).segment_bytes, most);
    }
}
