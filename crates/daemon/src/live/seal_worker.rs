//! The seal worker: one thread that seals and stores, in order. How intents become bytes is the venue's
//! ([`Sealer`]).
//!
//! A slow disk delays sealing and nothing else. After a failed write the content of the disk is unknown, so nothing
//! more is sealed in this process; cancels continue without the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use cambist_core::books::{Booking, Entry};
use cambist_core::event::{BatchId, Event, Restrictions, SealFailure};
use cambist_core::notification::PoolTransactionSettlement;
use cambist_core::pool::PoolBalances;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{ClientOrderId, Intent, MarketId, TokenId};
use cambist_signing::SignerError;
use tokio::sync::mpsc;

use crate::live::LoopMessage;
use crate::live::task_thread::{Stuck, TaskThread, WAITING_MAX};
use crate::telemetry::{Operation, Telemetry};
use crate::venues::{NotSealed, SealedBytes, Sealer};
use cambist_host::clock::Clock;
use cambist_store::{Filled, SealedIntent, SetParameter, Store, StoreEntry, StoreError};

/// The exact bytes of sealed intents, the same for every transmission.
pub type Bodies = Vec<(ClientOrderId, Arc<[u8]>)>;

/// Balances of pools.
pub type Pools = SortedMap<MarketId, PoolBalances>;

/// Tasks of the thread.
#[derive(Debug)]
enum Task {
    Seal(BatchId, Vec<Intent>),
    Book(Box<Booking>, SortedMap<TokenId, String>, Pools),
    Levels(Restrictions, String, bool),
    Parameters(Vec<SetParameter>),
    Prune,
}

/// The disk is too slow, or the thread has ended: nothing can be made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store is too slow: {WAITING_MAX} writes are waiting")]
pub struct SealWorkerStuck;

/// Handle of the thread. Dropping it lets the thread finish its tasks.
pub struct SealWorker(TaskThread<Task, bool>);

impl SealWorker {
    /// Starts the thread. Replies go to `event_loop`.
    pub fn start(
        store: Store,
        sealer: Box<dyn Sealer>,
        open: &[(ClientOrderId, Filled)],
        keep_days: u32,
        telemetry: Arc<Telemetry>,
        event_loop: mpsc::Sender<LoopMessage>,
    ) -> std::io::Result<Self> {
        let filled = open.iter().copied().collect();
        telemetry.profit_and_loss(store.profit_and_loss());
        let worker = Worker {
            store,
            sealer,
            filled,
            unsealed: BTreeSet::new(),
            keep_days,
            telemetry,
            clock: Clock::new(),
            event_loop,
        };
        let run = move |inbox: &Receiver<Task>| worker.run(inbox);
        Ok(Self(TaskThread::start("seal-worker", run)?))
    }

    /// Signs and stores a batch; answered by `Sealed` or `SealFailed`.
    pub fn seal(&self, batch: BatchId, intents: Vec<Intent>) -> Result<(), SealWorkerStuck> {
        self.enqueue(Task::Seal(batch, intents))
    }

    /// Makes a booking durable; `symbols` has the tokens of its flows, `pools` the last known balances of pools. If an
    /// operator waits for a part of it, it is answered by `Booked`.
    pub fn book(
        &self,
        booking: Box<Booking>,
        symbols: SortedMap<TokenId, String>,
        pools: Pools,
    ) -> Result<(), SealWorkerStuck> {
        self.enqueue(Task::Book(booking, symbols, pools))
    }

    /// Makes the trading state and the pauses durable; answered by `RestrictionsStored` or `LevelFailed`.
    pub fn restrictions(
        &self,
        restrictions: Restrictions,
        cause: String,
        lowers: bool,
    ) -> Result<(), SealWorkerStuck> {
        self.enqueue(Task::Levels(restrictions, cause, lowers))
    }

    /// Makes parameters of strategies durable; answered by `ParametersStored`.
    pub fn parameters(&self, set: Vec<SetParameter>) -> Result<(), SealWorkerStuck> {
        self.enqueue(Task::Parameters(set))
    }

    /// Removes old intents.
    pub fn prune(&self) -> Result<(), SealWorkerStuck> {
        self.enqueue(Task::Prune)
    }

    fn enqueue(&self, task: Task) -> Result<(), SealWorkerStuck> {
        self.0.enqueue(task).map_err(|Stuck| SealWorkerStuck)
    }

    /// Waits until everything is on disk; false if a write failed.
    pub fn finish(mut self) -> bool {
        // A panic there has already ended the process.
        self.0.finish().unwrap_or_default()
    }
}

struct Worker {
    store: Store,
    sealer: Box<dyn Sealer>,
    /// Fills of every open order so far, for the row of its end.
    filled: BTreeMap<ClientOrderId, Filled>,
    /// Intents that could not be sealed: the store does not have them, and needs no end of them.
    unsealed: BTreeSet<ClientOrderId>,
    keep_days: u32,
    telemetry: Arc<Telemetry>,
    clock: Clock,
    event_loop: mpsc::Sender<LoopMessage>,
}

impl Worker {
    /// Executes tasks until the sender is dropped; false if a write failed.
    fn run(mut self, inbox: &Receiver<Task>) -> bool {
        while let Ok(task) = inbox.recv() {
            match task {
                Task::Seal(batch, intents) => self.seal(batch, &intents),
                Task::Book(booking, symbols, pools) => {
                    self.store.pools_hold(pools);
                    self.book(*booking, &symbols);
                }
                Task::Levels(restrictions, cause, lowers) => {
                    self.restrictions(restrictions, &cause, lowers);
                }
                Task::Parameters(set) => {
                    let stored = self.store.set_parameters(&set);
                    let durable = stored.is_ok();
                    self.report_failure("parameters", stored);
                    self.send(LoopMessage::ParametersStored { durable });
                }
                Task::Prune => {
                    let pruned = self.store.prune(self.keep_days).map(|_| ());
                    self.report_failure("prune", pruned);
                }
            }
        }
        !self.store.has_failed()
    }

    fn seal(&mut self, batch: BatchId, intents: &[Intent]) {
        let intents = match self.sealed(intents) {
            Ok(intents) => intents,
            Err(error) => {
                tracing::error!(error, "sealing an intent failed; it is not sent");
                self.unsealed.extend(intents.iter().map(Intent::id));
                let cause = SealFailure::Signature;
                return self.send(LoopMessage::Event(Event::SealFailed { batch, cause }));
            }
        };
        let begun = self.clock.now();
        if !intents.is_empty()
            && let Err(error) = self.store.seal(&intents)
        {
            tracing::error!(%error, "storing intents failed; they are not sent");
            self.unsealed
                .extend(intents.iter().map(|sealed| sealed.intent.id()));
            self.telemetry.journal_failed(Operation::Seal);
            let cause = SealFailure::Store;
            return self.send(LoopMessage::Event(Event::SealFailed { batch, cause }));
        }
        if !intents.is_empty() {
            let micros = self.clock.now().micros_since(begun);
            self.telemetry
                .journalled(intents.len() as u64, micros, self.store.size_bytes());
        }
        let hashes = intents.iter().map(|i| (i.intent.id(), i.hash)).collect();
        let bodies = intents
            .into_iter()
            .map(|i| (i.intent.id(), i.body.into()))
            .collect();
        self.send(LoopMessage::Sealed {
            batch,
            hashes,
            bodies,
        });
    }

    /// Seals what can be sealed. What a signer refuses is left out of the batch and never sent; while it does not
    /// answer, that is everything. Any other failure is one of this process, and stops trading.
    fn sealed(&mut self, intents: &[Intent]) -> Result<Vec<SealedIntent>, String> {
        let mut all = Vec::with_capacity(intents.len());
        let mut away = None;
        for intent in intents {
            let sealed = away.clone().map_or_else(|| self.sealer.seal(intent), Err);
            match sealed {
                Ok(SealedBytes { hash, body }) => {
                    let intent = intent.clone();
                    all.push(SealedIntent { intent, hash, body });
                }
                Err(NotSealed::Failed(what)) => return Err(what),
                Err(refusal @ (NotSealed::Signer(_) | NotSealed::Later(_))) => {
                    self.unsealed.insert(intent.id());
                    let is_away = matches!(refusal, NotSealed::Signer(SignerError::Unavailable(_)));
                    self.telemetry
                        .signature_refused(is_away, &refusal.to_string());
                    if is_away {
                        // One wait is enough for the batch.
                        away = Some(refusal);
                    }
                }
            }
        }
        Ok(all)
    }

    fn book(&mut self, mut booking: Booking, symbols: &SortedMap<TokenId, String>) {
        let asked_for = booking.is_asked_for();
        let mut moves = BTreeMap::new();
        let entries = std::mem::take(&mut booking.entries).into_iter();
        let entries = entries.filter_map(|entry| self.store_entry(entry, &mut moves, symbols));
        let entries: Vec<_> = entries.collect();
        let booked = self.store.book(&entries, &booking);
        let durable = booked.is_ok();
        if durable {
            self.telemetry.profit_and_loss(self.store.profit_and_loss());
        }
        self.report_failure("booking", booked);
        if asked_for {
            self.send(LoopMessage::Booked { durable });
        }
    }

    /// An entry as the store writes it; `None` for an intent that the store does not have, and for one that is written
    /// with the end that follows.
    fn store_entry(
        &mut self,
        entry: Entry,
        moves: &mut BTreeMap<ClientOrderId, PoolTransactionSettlement>,
        symbols: &SortedMap<TokenId, String>,
    ) -> Option<StoreEntry> {
        Some(match entry {
            Entry::Fill(fill) => {
                let filled = self.filled.entry(fill.order).or_default();
                filled.base = filled.base.saturating_add(fill.base);
                filled.quote = filled.quote.saturating_add(fill.quote);
                filled.fee = filled.fee.saturating_add(fill.fee);
                StoreEntry::Fill(fill)
            }
            Entry::Moved(moved) => {
                let [base, quote] = moved.amounts.pooled;
                let fee = moved.amounts.fee;
                self.filled.insert(moved.order, Filled { base, quote, fee });
                moves.insert(moved.order, moved);
                return None;
            }
            Entry::Ended(order, _) if self.unsealed.remove(&order) => return None,
            Entry::Ended(order, end) => StoreEntry::End {
                order,
                end,
                filled: self.filled.remove(&order).unwrap_or_default(),
                moved: moves.remove(&order),
            },
            Entry::Flow {
                token,
                amount,
                reason,
            } => StoreEntry::Flow {
                token,
                symbol: symbols.get(&token).cloned().unwrap_or_default(),
                amount,
                reason,
            },
            Entry::LossesForgotten => StoreEntry::LossesForgotten,
            Entry::SlotTaken { token, number } => StoreEntry::SlotTaken { token, number },
        })
    }

    fn restrictions(&mut self, restrictions: Restrictions, cause: &str, lowers: bool) {
        let event = match self.store.set_restrictions(&restrictions, cause, lowers) {
            Ok(()) => Event::RestrictionsStored(restrictions),
            Err(error) => {
                // Its restrictions apply nevertheless, and the engine tries again.
                tracing::error!(%error, state = restrictions.state.name(), "storing the trading state failed; it applies nevertheless");
                self.telemetry.journal_failed(Operation::Level);
                Event::RestrictionsFailed(restrictions)
            }
        };
        self.send(LoopMessage::Event(event));
    }

    /// Reports a failure to record what has already happened. It stops new orders at the next seal: the store refuses
    /// to seal after a failed write.
    fn report_failure(&self, what: &'static str, outcome: Result<(), StoreError>) {
        if let Err(error) = outcome {
            // Consequences of a failure are not reported again.
            if !matches!(error, StoreError::Broken) {
                tracing::error!(%error, what, "a write to the store failed; no new orders are sealed");
            }
            self.telemetry.journal_failed(Operation::Note);
        }
    }

    fn send(&self, message: LoopMessage) {
        // The event loop has ended only if the program is ending.
        let _ = self.event_loop.blocking_send(message);
    }
}

#[cfg(test)]
#[path = "seal_worker_tests.rs"]
mod tests;
