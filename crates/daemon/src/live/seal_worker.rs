//! The keeper: one thread that signs, verifies and stores, in the order it is told.
//!
//! A slow disk holds up sealing and nothing else. After a failed write nobody knows what is on disk, so
//! nothing is sealed any more in this process; cancels go on without the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use cambist_core::books::{Booking, Entry};
use cambist_core::event::{BatchId, Event, Restrictions, SealFailure};
use cambist_core::notification::PoolTransactionSettlement;
use cambist_core::pool::PoolBalances;
use cambist_core::{ClientOrderId, Intent, MarketId, PoolSpec, TokenId};
use cambist_protocol::encode::{SealError, SignedIntent, sign_order};
use cambist_protocol::encode_move::{Owner, sign_move};
use cambist_signing::{Address, SecretKey};
use tokio::sync::mpsc;

use crate::live::Heard;
use crate::telemetry::{Operation, Telemetry};
use cambist_host::clock::Clock;
use cambist_store::{Filled, Noted, SealedIntent, Store, StoreError};

/// The exact bytes of sealed intents, the same for every transmission.
pub type Bodies = Vec<(ClientOrderId, Arc<[u8]>)>;

/// How many tasks may wait for the disk before the program gives up on it.
const WAITING_MAX: usize = 4_096;

/// What pools hold.
pub type Pools = BTreeMap<MarketId, PoolBalances>;

/// What the keeper is told.
#[derive(Debug)]
enum Task {
    Seal(BatchId, Vec<Intent>),
    Book(Box<Booking>, BTreeMap<TokenId, String>, Pools),
    Levels(Restrictions, String, bool),
    Prune,
}

/// Who signs, and for which exchange and account.
pub struct Signer {
    /// The account's secret key.
    pub key: Arc<SecretKey>,
    /// Exchange address in every hash.
    pub exchange: Address,
    /// Our account.
    pub account_id: u32,
    /// Its owner and the chain, which moves sign.
    pub owner: Owner,
    /// Pools that moves may name.
    pub pools: Vec<PoolSpec>,
}

impl Signer {
    fn sign(&self, intent: &Intent) -> Result<SignedIntent, SealError> {
        match intent {
            Intent::Order(order) => sign_order(order, self.exchange, self.account_id, &self.key),
            Intent::PoolTransaction(wanted) => {
                let mut pools = self.pools.iter();
                let pool = pools.find(|pool| pool.market == wanted.market);
                sign_move(
                    wanted,
                    pool.ok_or(SealError::NoPool)?,
                    self.owner,
                    &self.key,
                )
            }
        }
    }
}

/// The disk cannot follow, or the keeper has died: nothing durable can be promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store does not keep up: {WAITING_MAX} writes are waiting")]
pub struct SealWorkerStuck;

/// Handle of the thread. Dropping it lets the thread finish what it was told.
pub struct SealWorker {
    tasks: Option<SyncSender<Task>>,
    thread: Option<JoinHandle<bool>>,
}

impl SealWorker {
    /// Starts the thread. Answers go to `desk`.
    pub fn start(
        store: Store,
        signer: Signer,
        open: &[(ClientOrderId, Filled)],
        keep_days: u32,
        telemetry: Arc<Telemetry>,
        desk: mpsc::Sender<Heard>,
    ) -> std::io::Result<Self> {
        let (tasks, inbox) = sync_channel(WAITING_MAX);
        let filled = open.iter().copied().collect();
        let worker = Worker {
            store,
            signer,
            filled,
            unsealed: BTreeSet::new(),
            keep_days,
            telemetry,
            clock: Clock::new(),
            desk,
        };
        let thread = std::thread::Builder::new()
            .name("keeper".to_owned())
            .spawn(move || worker.run(&inbox))?;
        Ok(Self {
            tasks: Some(tasks),
            thread: Some(thread),
        })
    }

    /// Signs and stores a batch; the desk hears `Sealed` or `SealFailed`.
    pub fn seal(&self, batch: BatchId, intents: Vec<Intent>) -> Result<(), SealWorkerStuck> {
        self.tell(Task::Seal(batch, intents))
    }

    /// Makes a booking durable; `symbols` names the tokens of its flows, `pools` holds what pools held when they
    /// were last read. If it holds something that a person
    /// waits for, the desk hears `Booked`.
    pub fn book(
        &self,
        booking: Box<Booking>,
        symbols: BTreeMap<TokenId, String>,
        pools: Pools,
    ) -> Result<(), SealWorkerStuck> {
        self.tell(Task::Book(booking, symbols, pools))
    }

    /// Makes level and pauses durable; the desk hears `RestrictionsStored` or `LevelFailed`.
    pub fn levels(
        &self,
        levels: Restrictions,
        cause: String,
        lowers: bool,
    ) -> Result<(), SealWorkerStuck> {
        self.tell(Task::Levels(levels, cause, lowers))
    }

    /// Removes what is old.
    pub fn prune(&self) -> Result<(), SealWorkerStuck> {
        self.tell(Task::Prune)
    }

    fn tell(&self, task: Task) -> Result<(), SealWorkerStuck> {
        let Some(tasks) = &self.tasks else {
            return Err(SealWorkerStuck);
        };
        tasks.try_send(task).map_err(|refused| match refused {
            TrySendError::Full(_) | TrySendError::Disconnected(_) => SealWorkerStuck,
        })
    }

    /// Waits until everything told is on disk; false if a write failed, so that not everything is.
    pub fn finish(mut self) -> bool {
        self.stop()
    }

    fn stop(&mut self) -> bool {
        self.tasks = None;
        // A panic there has already ended the process.
        self.thread
            .take()
            .is_none_or(|thread| thread.join().unwrap_or(false))
    }
}

impl Drop for SealWorker {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Worker {
    store: Store,
    signer: Signer,
    /// What every open order has filled so far, for the row of its end.
    filled: BTreeMap<ClientOrderId, Filled>,
    /// Intents that could not be sealed: the store never had them, and needs no end of them.
    unsealed: BTreeSet<ClientOrderId>,
    keep_days: u32,
    telemetry: Arc<Telemetry>,
    clock: Clock,
    desk: mpsc::Sender<Heard>,
}

impl Worker {
    /// Does what it is told until nobody tells any more; false if a write failed.
    fn run(mut self, inbox: &Receiver<Task>) -> bool {
        while let Ok(task) = inbox.recv() {
            match task {
                Task::Seal(batch, intents) => self.seal(batch, &intents),
                Task::Book(booking, symbols, pools) => {
                    self.store.pools_hold(pools);
                    self.book(*booking, &symbols);
                }
                Task::Levels(levels, cause, lowers) => self.levels(levels, &cause, lowers),
                Task::Prune => {
                    let pruned = self.store.prune(self.keep_days).map(|_| ());
                    self.told("prune", pruned);
                }
            }
        }
        !self.store.has_failed()
    }

    fn seal(&mut self, batch: BatchId, intents: &[Intent]) {
        let sealed = |intent: &Intent| {
            let SignedIntent { hash, body } = self.signer.sign(intent)?;
            let intent = intent.clone();
            Ok(SealedIntent { intent, hash, body })
        };
        let signed: Result<Vec<_>, SealError> = intents.iter().map(sealed).collect();
        let intents = match signed {
            Ok(intents) => intents,
            Err(error) => {
                tracing::error!(%error, "intent not signed");
                self.unsealed.extend(intents.iter().map(Intent::id));
                let cause = SealFailure::Signature;
                return self.answer(Heard::Event(Event::SealFailed { batch, cause }));
            }
        };
        let begun = self.clock.now();
        if let Err(error) = self.store.seal(&intents) {
            tracing::error!(%error, "intents not stored");
            self.unsealed
                .extend(intents.iter().map(|sealed| sealed.intent.id()));
            self.telemetry.journal_failed(Operation::Seal);
            let cause = SealFailure::Store;
            return self.answer(Heard::Event(Event::SealFailed { batch, cause }));
        }
        let micros = self.clock.now().micros_since(begun);
        self.telemetry
            .journalled(intents.len() as u64, micros, self.store.size_bytes());
        let hashes = intents.iter().map(|i| (i.intent.id(), i.hash)).collect();
        let bodies = intents
            .into_iter()
            .map(|i| (i.intent.id(), i.body.into()))
            .collect();
        self.answer(Heard::Sealed {
            batch,
            hashes,
            bodies,
        });
    }

    fn book(&mut self, mut booking: Booking, symbols: &BTreeMap<TokenId, String>) {
        let asked_for = booking.is_asked_for();
        let mut moves = BTreeMap::new();
        let entries = std::mem::take(&mut booking.entries).into_iter();
        let entries = entries.filter_map(|entry| self.noted_as(entry, &mut moves, symbols));
        let noted: Vec<_> = entries.collect();
        let booked = self.store.book(&noted, &booking);
        let durable = booked.is_ok();
        self.told("booking", booked);
        if asked_for {
            self.answer(Heard::Booked { durable });
        }
    }

    /// An entry as the store writes it; nothing if it is about an intent that the store never had, or if
    /// it is written with the end that follows.
    fn noted_as(
        &mut self,
        entry: Entry,
        moves: &mut BTreeMap<ClientOrderId, PoolTransactionSettlement>,
        symbols: &BTreeMap<TokenId, String>,
    ) -> Option<Noted> {
        Some(match entry {
            Entry::Fill(fill) => {
                let filled = self.filled.entry(fill.order).or_default();
                filled.base = filled.base.saturating_add(fill.base);
                filled.quote = filled.quote.saturating_add(fill.quote);
                filled.fee = filled.fee.saturating_add(fill.fee);
                Noted::Fill(fill)
            }
            Entry::Moved(moved) => {
                let [base, quote] = moved.amounts.pooled;
                let fee = moved.amounts.fee;
                self.filled.insert(moved.order, Filled { base, quote, fee });
                moves.insert(moved.order, moved);
                return None;
            }
            Entry::Ended(order, _) if self.unsealed.remove(&order) => return None,
            Entry::Ended(order, end) => Noted::End {
                order,
                end,
                filled: self.filled.remove(&order).unwrap_or_default(),
                moved: moves.remove(&order),
            },
            Entry::Flow {
                token,
                amount,
                reason,
            } => Noted::Flow {
                token,
                symbol: symbols.get(&token).cloned().unwrap_or_default(),
                amount,
                reason,
            },
            Entry::LossesForgotten => Noted::LossesForgotten,
        })
    }

    fn levels(&mut self, levels: Restrictions, cause: &str, lowers: bool) {
        let event = match self.store.set_levels(&levels, cause, lowers) {
            Ok(()) => Event::RestrictionsStored(levels),
            Err(error) => {
                // What it forbids is in force all the same, and the engine asks again.
                tracing::error!(%error, level = levels.state.name(), "level not stored");
                self.telemetry.journal_failed(Operation::Level);
                Event::RestrictionsFailed(levels)
            }
        };
        self.answer(Heard::Event(event));
    }

    /// A failure to note what has already happened is told, and stops new orders at the next seal: the
    /// store refuses to seal once a write has failed.
    fn told(&self, what: &'static str, outcome: Result<(), StoreError>) {
        if let Err(error) = outcome {
            // What follows a failure is not told again.
            if !matches!(error, StoreError::Broken) {
                tracing::error!(%error, what, "store write failed");
            }
            self.telemetry.journal_failed(Operation::Note);
        }
    }

    fn answer(&self, heard: Heard) {
        // The desk is gone only when the program is ending.
        let _ = self.desk.blocking_send(heard);
    }
}
