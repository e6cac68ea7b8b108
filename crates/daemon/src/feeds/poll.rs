//! The thread that polls feeds, each at its own interval, and less often while it fails.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use cambist_client::{ClientConfig, PublicError, PublicReader, PublicUrl};
use cambist_core::reference::{ReferenceId, ReferenceReading, ReferenceSource};
use cambist_core::{MarketSpec, Time};
use cambist_market_data::{Event, Timestamp};
use tokio::sync::Notify;

use super::decode::{Book, Units, decode};
use super::error::{FeedError, FeedErrorKind};
use super::reference::ReferenceReader;
use super::run_time::{RunTime, wall};
use crate::config::feed::Feed;
use crate::live::signals::Signals;
use crate::telemetry::feeds::{FeedMetrics, FeedSeries};
use cambist_host::clock::Clock;

/// Longest pause between two requests to a failing feed.
const WAIT_MAX_MS: u64 = 60_000;
/// Most books that wait for their reader.
const WAITING_MAX: usize = 64;
/// A failing feed is logged at its first failure of a kind and at every 30th.
const LOG_EVERY: u32 = 30;
/// Time between two comparisons of the wall clock with the monotonic one.
const COMPARE: Duration = Duration::from_secs(1);

/// What arrived.
#[derive(Clone, Debug)]
pub enum Arrival {
    /// An answer with a book.
    Book(BookArrival),
    /// A trade that became known; its local time is set on arrival.
    Trade(Event),
    /// A source of reference prices has a price, and when it arrived, by the time of the run.
    Reference(ReferenceReading, Timestamp),
}

/// A book and its times.
#[derive(Clone, Debug)]
pub struct BookArrival {
    /// When the answer had arrived, by the wall clock.
    pub arrived: Timestamp,
    /// When the request was sent, by the clock that never jumps.
    pub sent: Time,
    /// When the answer had arrived, by the same clock.
    pub received: Time,
    /// The book, or why the answer is invalid.
    pub book: Result<Book, FeedError>,
}

/// What arrives of one market.
pub struct Arrivals {
    /// In the order of arrival.
    pub received: Receiver<Arrival>,
    /// Where the books of the market's depth are counted; `None` if it is not polled.
    pub series: Option<FeedSeries>,
}

/// Running polls.
pub struct Pollers {
    /// Arrivals by market.
    pub arrivals: Vec<Arrivals>,
    /// The time of the run.
    pub time: RunTime,
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

/// Polls the feeds of markets, and their sources of reference prices, until a signal, until the end of standard input
/// if requested, or for `limit`.
pub fn start(
    feeds: Vec<(MarketSpec, Feed)>,
    references: &[(ReferenceSource, Feed)],
    metrics: &FeedMetrics,
    (clock, timeout_ms): (Clock, u64),
    (until_stdin_closes, limit): (bool, Option<Duration>),
) -> anyhow::Result<Pollers> {
    let time = RunTime::begin(clock);
    let mut arrivals = Vec::new();
    let mut polls: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
    for (index, (spec, feed)) in feeds.into_iter().enumerate() {
        let (sender, receiver) = sync_channel(WAITING_MAX);
        arrivals.push(Arrivals {
            received: receiver,
            series: Some(metrics.depth(&spec.name)),
        });
        for (id, (source, feed)) in (0..).map(ReferenceId).zip(references) {
            if usize::from(source.market.0) == index {
                let name = format!("{} {}", spec.name, source.name);
                let poller = Poller::new(name.clone(), &spec, feed.clone(), clock, timeout_ms)?;
                let series = metrics.reference(&spec.name, &source.name);
                let (sender, mut reader) = (sender.clone(), ReferenceReader::new(id, name, series));
                let time = time.clone();
                polls.push(Box::pin(poller.run(move |arrival| {
                    let at = time.at(arrival.received);
                    let price = reader.read(&arrival);
                    let price = price.map(|price| Arrival::Reference(price, at));
                    price.is_none_or(|price| is_wanted(&sender, price))
                })));
            }
        }
        let poller = Poller::new(spec.name.clone(), &spec, feed, clock, timeout_ms)?;
        let to_books = move |arrival| is_wanted(&sender, Arrival::Book(arrival));
        polls.push(Box::pin(poller.run(to_books)));
    }
    let time_of_thread = time.clone();
    polls.push(Box::pin(async move {
        loop {
            tokio::time::sleep(COMPARE).await;
            time_of_thread.compare();
        }
    }));
    let (stop, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
    let until = (until_stdin_closes, limit);
    let thread = spawn(polls, until, Arc::clone(&stop), Arc::clone(&ended))?;
    Ok(Pollers {
        arrivals,
        time,
        stop,
        thread: Some(thread),
        ended,
    })
}

/// The thread of the polls; sets `stop` at the end of the run.
fn spawn(
    polls: Vec<Pin<Box<dyn Future<Output = ()> + Send>>>,
    (until_stdin_closes, limit): (bool, Option<Duration>),
    stop: Arc<AtomicBool>,
    ended: Arc<Notify>,
) -> anyhow::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let thread = std::thread::Builder::new().name("feeds".to_owned());
    let thread = thread.spawn(move || {
        runtime.block_on(async move {
            for poll in polls {
                tokio::spawn(poll);
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
                () = ended.notified() => {}
            }
            stop.store(true, Ordering::Release);
        });
        // A blocked read of standard input cannot be cancelled.
        runtime.shutdown_background();
    })?;
    Ok(thread)
}

/// Hands over what arrived; false once the reader has ended. If it is too slow it is left out: the next one is
/// newer.
fn is_wanted(sender: &SyncSender<Arrival>, arrival: Arrival) -> bool {
    !matches!(sender.try_send(arrival), Err(TrySendError::Disconnected(_)))
}

/// A feed that is polled.
pub struct Poller {
    name: String,
    feed: Feed,
    units: Units,
    reader: PublicReader,
    clock: Clock,
}

impl Poller {
    /// A feed in the units of a market; `name` is what logs call it.
    pub fn new(
        name: String,
        market: &MarketSpec,
        feed: Feed,
        clock: Clock,
        timeout_ms: u64,
    ) -> anyhow::Result<Self> {
        let config = ClientConfig {
            timeout_ms,
            ..ClientConfig::new(&feed.url.value)
        };
        let reader = PublicReader::new(&config, PublicUrl::parse(&feed.url.value)?)?;
        Ok(Self {
            name,
            feed,
            units: Units::of(market),
            reader,
            clock,
        })
    }

    /// Polls, and hands over every answer until it is no longer wanted.
    pub async fn run(self, mut hand_over: impl FnMut(BookArrival) -> bool + Send) {
        let mut failures = 0_u32;
        let mut logged = None;
        loop {
            let sent = self.clock.now();
            let (book, at_least_ms) = match self.reader.get().await {
                Ok(body) => (decode(&self.feed, &self.units, &body), 0),
                Err(PublicError::RateLimited { retry_after_ms }) => {
                    let wait_ms = retry_after_ms.unwrap_or(0);
                    let wait = match wait_ms {
                        0 => String::new(),
                        ms => format!(" and asks to wait {} s", ms.div_ceil(1_000)),
                    };
                    let what = format!("the feed limits the request rate (429){wait}");
                    let error = FeedError::new(FeedErrorKind::RateLimited, what);
                    (Err(error), wait_ms)
                }
                Err(error @ PublicError::Status { .. }) => {
                    let error = FeedError::new(FeedErrorKind::HttpStatus, error.to_string());
                    (Err(error), 0)
                }
                Err(PublicError::Failed(what)) => {
                    (Err(FeedError::new(FeedErrorKind::NoAnswer, what)), 0)
                }
            };
            self.log(&book, failures, &mut logged);
            failures = match book {
                Ok(_) => 0,
                Err(_) => failures.saturating_add(1),
            };
            let arrival = BookArrival {
                arrived: wall(self.clock),
                sent,
                received: self.clock.now(),
                book,
            };
            if !hand_over(arrival) {
                return;
            }
            let pause_ms = self.feed.poll_ms.saturating_mul(1 << failures.min(10));
            let pause_ms = pause_ms
                .min(WAIT_MAX_MS.max(self.feed.poll_ms))
                .max(at_least_ms);
            let used_ms = self.clock.now().ms_since(sent);
            tokio::time::sleep(Duration::from_millis(pause_ms.saturating_sub(used_ms))).await;
        }
    }

    /// Logs the first failure, every 30th, and those of another kind than the one that was logged last.
    fn log(
        &self,
        book: &Result<Book, FeedError>,
        failures: u32,
        logged: &mut Option<FeedErrorKind>,
    ) {
        let (market, url) = (self.name.as_str(), self.feed.url.value.as_str());
        match book {
            Err(error) if failures.is_multiple_of(LOG_EVERY) || *logged != Some(error.kind) => {
                *logged = Some(error.kind);
                tracing::warn!(
                    market,
                    url,
                    failures = failures.saturating_add(1),
                    %error,
                    "reading depth from the feed failed; trying again"
                );
            }
            Ok(_) if failures > 0 => tracing::info!(market, failures, "reading depth works again"),
            Ok(_) | Err(_) => {}
        }
    }
}
