//! The thread that polls feeds, each at its own interval, and less often while it fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use cambist_client::{ClientConfig, PublicError, PublicReader, PublicUrl};
use cambist_core::MarketSpec;
use cambist_market_data::{Event, Timestamp};
use tokio::sync::Notify;

use super::decode::{Book, Units, decode};
use crate::config::feed::Feed;
use crate::live::signals::Signals;
use cambist_host::clock::Clock;

/// Longest pause between two requests to a failing feed.
const WAIT_MAX_MS: u64 = 60_000;
/// Most books that wait for their reader.
const WAITING_MAX: usize = 64;
/// A failing feed is logged at its first failure and at every 30th.
const LOG_EVERY: u32 = 30;

/// What arrived.
#[derive(Clone, Debug)]
pub enum Arrival {
    /// An answer with a book.
    Book(BookArrival),
    /// A trade that became known; its local time is set on arrival.
    Trade(Event),
}

/// A book and its times.
#[derive(Clone, Debug)]
pub struct BookArrival {
    /// When the request was sent.
    pub requested_at: Timestamp,
    /// When the answer had arrived.
    pub arrived: Timestamp,
    /// The book, or why the answer is invalid.
    pub book: Result<Book, String>,
}

/// Running polls.
pub struct Pollers {
    /// Arrivals by market.
    pub arrivals: Vec<Receiver<Arrival>>,
    /// Set when the run should end: by a signal, the end of standard input, or the time limit.
    pub stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    ended: Arc<Notify>,
}

impl Drop for Pollers {
    fn drop(&mut self) {
        self.ended.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic there has already ended the process.
            let _ = thread.join();
        }
    }
}

/// Polls the feeds of markets until a signal, until the end of standard input if requested, or for `limit`.
pub fn start(
    feeds: Vec<(MarketSpec, Feed)>,
    clock: Clock,
    timeout_ms: u64,
    (until_stdin_closes, limit): (bool, Option<Duration>),
) -> anyhow::Result<Pollers> {
    let mut arrivals = Vec::new();
    let mut readers = Vec::new();
    for (spec, feed) in feeds {
        let config = ClientConfig {
            timeout_ms,
            ..ClientConfig::new(&feed.url.value)
        };
        let reader = PublicReader::new(&config, PublicUrl::parse(&feed.url.value)?)?;
        let (sender, receiver) = sync_channel(WAITING_MAX);
        arrivals.push(receiver);
        let units = Units::of(&spec);
        readers.push(Poller {
            name: spec.name,
            feed,
            units,
            reader,
            sender,
            clock,
        });
    }
    let (stop, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (stopping, over) = (Arc::clone(&stop), Arc::clone(&ended));
    let thread = std::thread::Builder::new()
        .name("feeds".to_owned())
        .spawn(move || {
            runtime.block_on(async move {
                for poller in readers {
                    tokio::spawn(poller.run());
                }
                let signals = Signals::listen(until_stdin_closes);
                let subscribed = async {
                    match signals {
                        Ok(mut signals) => signals.end().await,
                        Err(error) => {
                            tracing::error!(%error, "cannot install signal handlers");
                            std::future::pending::<()>().await;
                        }
                    }
                };
                let time_is_over = async {
                    match limit {
                        Some(limit) => tokio::time::sleep(limit).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = subscribed => {}
                    () = time_is_over => {}
                    () = over.notified() => {}
                }
                stopping.store(true, Ordering::Release);
            });
            // A blocked read of standard input cannot be cancelled.
            runtime.shutdown_background();
        })?;
    Ok(Pollers {
        arrivals,
        stop,
        thread: Some(thread),
        ended,
    })
}

struct Poller {
    name: String,
    feed: Feed,
    units: Units,
    reader: PublicReader,
    sender: SyncSender<Arrival>,
    clock: Clock,
}

impl Poller {
    async fn run(self) {
        let mut failures = 0_u32;
        loop {
            let begun = self.clock.now();
            let requested_at = wall(self.clock);
            let (book, at_least_ms) = match self.reader.get().await {
                Ok(body) => (decode(&self.feed, &self.units, &body), 0),
                Err(PublicError::RateLimited { retry_after_ms }) => {
                    let wait_ms = retry_after_ms.unwrap_or(0);
                    (
                        Err("the feed limits the request rate (429)".to_owned()),
                        wait_ms,
                    )
                }
                Err(error) => (Err(error.to_string()), 0),
            };
            self.log(&book, failures);
            failures = match book {
                Ok(_) => 0,
                Err(_) => failures.saturating_add(1),
            };
            let arrival = Arrival::Book(BookArrival {
                requested_at,
                arrived: wall(self.clock),
                book,
            });
            // Full: the reader is too slow, and the next book is newer.
            if let Err(TrySendError::Disconnected(_)) = self.sender.try_send(arrival) {
                return;
            }
            let pause_ms = self.feed.poll_ms.saturating_mul(1 << failures.min(10));
            let pause_ms = pause_ms
                .min(WAIT_MAX_MS.max(self.feed.poll_ms))
                .max(at_least_ms);
            let used_ms = self.clock.now().ms_since(begun);
            tokio::time::sleep(Duration::from_millis(pause_ms.saturating_sub(used_ms))).await;
        }
    }

    fn log(&self, book: &Result<Book, String>, failures: u32) {
        let (market, url) = (self.name.as_str(), self.feed.url.value.as_str());
        match book {
            Err(error) if failures.is_multiple_of(LOG_EVERY) => {
                tracing::warn!(
                    market,
                    url,
                    failures,
                    error,
                    "reading depth from the feed failed; trying again"
                );
            }
            Ok(_) if failures > 0 => tracing::info!(market, failures, "reading depth works again"),
            Ok(_) | Err(_) => {}
        }
    }
}

/// Current time of the wall clock.
pub fn wall(clock: Clock) -> Timestamp {
    let nanos = i64::try_from(clock.unix_micros()).unwrap_or(i64::MAX / 1_000);
    Timestamp(nanos.saturating_mul(1_000))
}
