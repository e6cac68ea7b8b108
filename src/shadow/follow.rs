//! Follows the tape of a daemon: its depth goes to the shadow's feeds, what it did into its account. A thread of its own
//! that only reads files: the daemon does not know of it.

use std::io::BufReader;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use cambist_backtest::SIMULATED_INSTANCE;
use cambist_core::MarketSpec;
use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::inspection::{Inspection, MarketInspection};
use cambist_core::notification::Notification;
use cambist_core::request::{Outcome, Reply};
use cambist_core::strategy::BookLevel;
use cambist_daemon::feeds::{Arrival, Arrivals, Book, BookArrival, RunTime, wall};
use cambist_daemon::recording::Player;
use cambist_host::clock::Clock;
use cambist_market_data::{self as data, Level, Timestamp, Visibility};
use cambist_tape::{Entry, Reader};

use super::growing::{Growing, GrowingFile};
use crate::backtest::daemon_account::DaemonAccount;
use crate::backtest::tape::trade_of;
use crate::exit::{Exit, Failure};
use crate::replay::is_own;

/// Most books that wait for their reader.
const WAITING_MAX: usize = 256;

/// The daemon's account, and whether following it has failed.
#[derive(Debug)]
pub(super) struct Beside {
    pub account: DaemonAccount,
    pub failure: Option<anyhow::Error>,
}

/// A tape that is followed.
pub(super) struct Followed {
    pub arrivals: Vec<Arrivals>,
    pub beside: Arc<Mutex<Beside>>,
    changed: Arc<Condvar>,
    stop: Arc<AtomicBool>,
}

impl Followed {
    /// Begins to follow the tape in a folder for these markets.
    pub(super) fn begin(
        tape: &Path,
        markets: &[MarketSpec],
        time: RunTime,
        stop: &Arc<AtomicBool>,
    ) -> anyhow::Result<Self> {
        let channels = markets.iter().map(|_| sync_channel(WAITING_MAX));
        let (senders, received): (Vec<_>, Vec<_>) = channels.unzip();
        let arrivals = received.into_iter().map(|received| Arrivals {
            received,
            series: None,
        });
        let arrivals = arrivals.collect();
        let beside = Arc::new(Mutex::new(Beside {
            account: DaemonAccount::new(markets),
            failure: None,
        }));
        let changed = Arc::new(Condvar::new());
        let mut follower = Follower {
            tape: Growing::new(tape, Arc::clone(stop)),
            senders,
            depth_times: vec![None; markets.len()],
            sequence: 0,
            beside: Arc::clone(&beside),
            changed: Arc::clone(&changed),
            clock: time.clock(),
            time,
        };
        let thread = std::thread::Builder::new().name("tape".to_owned());
        thread.spawn(move || {
            let failure = follower.follow().err();
            let mut beside = lock(&follower.beside);
            beside.failure = failure;
            follower.changed.notify_all();
            // The feeds end with their senders.
        })?;
        let stop = Arc::clone(stop);
        Ok(Self {
            arrivals,
            beside,
            changed,
            stop,
        })
    }

    /// Waits until the daemon's balances are known; false if it was stopped before.
    pub(super) fn wait_for_opening(&self) -> anyhow::Result<bool> {
        let mut beside = lock(&self.beside);
        loop {
            if let Some(failure) = beside.failure.take() {
                return Err(failure);
            }
            if self.stop.load(Ordering::Acquire) {
                return Ok(false);
            }
            if beside.account.opening.is_some() {
                return Ok(true);
            }
            let waited = self
                .changed
                .wait_timeout(beside, Duration::from_millis(100));
            beside = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The shared account. A panic ends the process, so a poisoned lock occurs in tests only.
pub(super) fn lock(beside: &Mutex<Beside>) -> std::sync::MutexGuard<'_, Beside> {
    beside.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Follower {
    tape: Growing,
    senders: Vec<SyncSender<Arrival>>,
    /// Time of the last depth of each market.
    depth_times: Vec<Option<u64>>,
    sequence: u64,
    beside: Arc<Mutex<Beside>>,
    changed: Arc<Condvar>,
    clock: Clock,
    time: RunTime,
}

impl Follower {
    fn follow(&mut self) -> anyhow::Result<()> {
        while let Some((file, missed)) = self.tape.next()? {
            if missed {
                tracing::warn!("segments of the tape were removed before they were read");
                lock(&self.beside).account.missed = true;
            }
            self.segment(file)?;
        }
        Ok(())
    }

    /// Reads a segment to its end.
    fn segment(&mut self, file: GrowingFile) -> anyhow::Result<()> {
        let mut reader = match Reader::open(BufReader::new(file)) {
            // Asked to stop, or the daemon was killed while it began the segment.
            Err(cambist_tape::ReadError::NoHeader { .. }) => return Ok(()),
            opened => opened.context("the tape of the daemon")?,
        };
        let mut player = Player::new(&reader)?;
        let program = &reader.header().program;
        if !is_own(program) {
            lock(&self.beside).account.other_build = Some(program.clone());
        }
        let mut actions = Vec::new();
        // The opening contains what the event did that it was taken after.
        let mut opened = false;
        while let Some(entry) = reader.next_entry().context("the tape of the daemon")? {
            match entry {
                Entry::Event { now, event } => {
                    let is_start = matches!(event, Event::Start(_));
                    let is_depth = matches!(
                        &event,
                        Event::Answer {
                            outcome: Outcome::Reply(Reply::Depth(_)),
                            ..
                        }
                    );
                    actions.clear();
                    player.handle_event(now, &event, &mut actions);
                    if let Some(failure) = player.failure() {
                        bail!("the tape of the daemon: {failure}");
                    }
                    let inspection = player.engine().and_then(|engine| engine.watch(now));
                    let Some(inspection) = inspection.filter(|_| self.tape.has_caught_up()) else {
                        continue;
                    };
                    opened = self.see(&inspection, is_start, is_depth)?;
                }
                Entry::Actions { .. } if std::mem::take(&mut opened) => {}
                Entry::Actions { actions: recorded } => {
                    if let Some(engine) = player.engine().filter(|_| self.tape.has_caught_up())
                        && let Some(inspection) = engine.watch(self.clock.now())
                    {
                        let markets: Vec<_> = inspection
                            .markets
                            .into_iter()
                            .map(|found| found.market)
                            .collect();
                        self.observe(&recorded, &markets);
                    }
                }
            }
        }
        Ok(())
    }

    /// After an event: depth for the feeds, quotes for the account. Returns whether the opening was taken now.
    fn see(
        &mut self,
        inspection: &Inspection,
        is_start: bool,
        is_depth: bool,
    ) -> anyhow::Result<bool> {
        let now = self.clock.now();
        let mut beside = lock(&self.beside);
        let account = &mut beside.account;
        let begun = account.opening.is_some();
        if is_start && begun {
            account.restarts += 1;
        }
        check_units(&account.specs, &inspection.markets)?;
        if !account.open(now, inspection) {
            return Ok(false);
        }
        account.see(now, inspection);
        let specs = account.specs.clone();
        drop(beside);
        if !begun {
            self.changed.notify_all();
        }
        if is_depth {
            for (index, spec) in specs.iter().enumerate() {
                let found = inspection
                    .markets
                    .iter()
                    .find(|m| m.market.name == spec.name);
                if let Some(found) = found {
                    self.depth(index, found);
                }
            }
        }
        Ok(!begun)
    }

    /// Passes a depth on, if it is a new one.
    fn depth(&mut self, index: usize, found: &MarketInspection) {
        let Some(time) = found.depth_time else {
            return;
        };
        if self.depth_times[index].replace(time.0) == Some(time.0) {
            return;
        }
        self.sequence += 1;
        let nanos = i64::try_from(time.0.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
        let levels = |from: &[BookLevel]| {
            let levels = from.iter().filter(|level| level.qty.0 > 0);
            let level = |level: &BookLevel| Level {
                price: level.price,
                qty: level.qty,
            };
            levels.map(level).collect()
        };
        let arrived = wall(self.clock);
        self.send(
            index,
            Arrival::Book(BookArrival {
                arrived,
                sent: self.clock.now(),
                received: self.clock.now(),
                book: Ok(Book {
                    bids: levels(&found.bids),
                    asks: levels(&found.asks),
                    sequence: Some(self.sequence),
                    time: Some(Timestamp(nanos)),
                }),
            }),
        );
    }

    /// What the daemon did: from the tape, not from what this build would do.
    fn observe(&mut self, actions: &[Action], markets: &[MarketSpec]) {
        let now = self.clock.now();
        for action in actions {
            let Action::Notify(notification) = action else {
                continue;
            };
            let mut beside = lock(&self.beside);
            if beside.account.opening.is_none() {
                continue;
            }
            let fill = beside.account.observe(now, notification, markets);
            let spec = fill
                .as_ref()
                .map(|(index, _)| beside.account.specs[*index].clone());
            drop(beside);
            if let (Some((index, fill)), Some(spec)) = (fill, spec)
                && fill.order.instance != SIMULATED_INSTANCE
                && let Some(update) = trade_of(&spec, &fill)
            {
                let at = self.time.now();
                let event = data::Event {
                    exchange_time: at,
                    local_time: at,
                    visibility: Visibility::Both,
                    update,
                };
                self.send(index, Arrival::Trade(event));
            }
            if let Notification::Draining = notification {
                tracing::info!("the daemon beside this run is draining");
            }
        }
    }

    /// Waits while the shadow is slower than its input; the daemon does not wait.
    fn send(&self, index: usize, arrival: Arrival) {
        // Disconnected: the run has ended.
        let _ = self.senders[index].send(arrival);
    }
}

/// Every market is on the tape, in the same units.
fn check_units(specs: &[MarketSpec], markets: &[MarketInspection]) -> anyhow::Result<()> {
    for spec in specs {
        let found = markets.iter().find(|found| found.market.name == spec.name);
        let Some(found) = found else {
            let names: Vec<_> = markets.iter().map(|m| m.market.name.as_str()).collect();
            let what = format!(
                "market {} is not on the tape of the daemon beside this run, which trades {}",
                spec.name,
                names.join(", ")
            );
            return Err(Failure::new(Exit::Refused, what).into());
        };
        let units = |spec: &MarketSpec| {
            let decimals = [spec.base.decimals, spec.quote.decimals, spec.price_decimals];
            (decimals, spec.lot, spec.quote_per_lot_tick)
        };
        if units(spec) != units(&found.market) {
            let what = format!(
                "market {}: its units (decimals, precision) differ from those of the daemon beside this run; `cambist check --pin` prints them",
                spec.name
            );
            return Err(Failure::new(Exit::Refused, what).into());
        }
    }
    Ok(())
}
