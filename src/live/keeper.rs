//! The keeper: one thread that signs, verifies and stores, in the order it is told.
//!
//! A slow disk holds up sealing and nothing else. After a failed write nobody knows what is on disk, so
//! nothing is sealed any more in this process; cancels go on without the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use cambist_core::event::{BatchId, Event, Levels, SealFailure};
use cambist_core::note::{End, Fill, PoolMove};
use cambist_core::{ClientOrderId, Intent, PoolSpec, TokenId};
use cambist_protocol::encode::{SealError, SignedIntent, sign_order};
use cambist_protocol::encode_move::{Owner, sign_move};
use cambist_signing::{Address, SecretKey};
use tokio::sync::mpsc;

use super::Heard;
use crate::clock::Clock;
use crate::store::{Filled, SealedIntent, Store, StoreError};
use crate::telemetry::{Operation, Telemetry};

/// The exact bytes of sealed intents, the same for every transmission.
pub type Bodies = Vec<(ClientOrderId, Arc<[u8]>)>;

/// How many tasks may wait for the disk before the program gives up on it.
const WAITING_MAX: usize = 4_096;

/// What the keeper is told.
#[derive(Debug)]
enum Task {
    Seal(BatchId, Vec<Intent>),
    Fill(Fill),
    Moved(PoolMove),
    End(ClientOrderId, End),
    Flow(TokenId, String, i128, String),
    Levels(Levels, String, bool),
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
            Intent::Move(wanted) => {
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
pub struct KeeperStuck;

/// Handle of the thread. Dropping it lets the thread finish what it was told.
pub struct Keeper {
    tasks: Option<SyncSender<Task>>,
    thread: Option<JoinHandle<bool>>,
}

impl Keeper {
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
            moved: BTreeMap::new(),
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
    pub fn seal(&self, batch: BatchId, intents: Vec<Intent>) -> Result<(), KeeperStuck> {
        self.tell(Task::Seal(batch, intents))
    }

    /// Notes what a join or an exit moved.
    pub fn moved(&self, moved: PoolMove) -> Result<(), KeeperStuck> {
        self.tell(Task::Moved(moved))
    }

    /// Notes a booked fill.
    pub fn fill(&self, fill: Fill) -> Result<(), KeeperStuck> {
        self.tell(Task::Fill(fill))
    }

    /// Notes a proven end.
    pub fn end(&self, order: ClientOrderId, end: End) -> Result<(), KeeperStuck> {
        self.tell(Task::End(order, end))
    }

    /// Makes level and pauses durable; the desk hears `LevelStored` or `LevelFailed`.
    pub fn levels(&self, levels: Levels, cause: String, lowers: bool) -> Result<(), KeeperStuck> {
        self.tell(Task::Levels(levels, cause, lowers))
    }

    /// Notes a flow that a person explained; the desk hears `FlowStored`.
    pub fn flow(
        &self,
        (token, symbol): (TokenId, String),
        amount: i128,
        reason: String,
    ) -> Result<(), KeeperStuck> {
        self.tell(Task::Flow(token, symbol, amount, reason))
    }

    /// Removes what is old.
    pub fn prune(&self) -> Result<(), KeeperStuck> {
        self.tell(Task::Prune)
    }

    fn tell(&self, task: Task) -> Result<(), KeeperStuck> {
        let Some(tasks) = &self.tasks else {
            return Err(KeeperStuck);
        };
        tasks.try_send(task).map_err(|refused| match refused {
            TrySendError::Full(_) | TrySendError::Disconnected(_) => KeeperStuck,
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

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Worker {
    store: Store,
    signer: Signer,
    /// What every open order has filled so far, for the row of its end.
    filled: BTreeMap<ClientOrderId, Filled>,
    /// Moves that were booked and whose end is about to be told.
    moved: BTreeMap<ClientOrderId, PoolMove>,
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
                Task::Fill(fill) => self.fill(&fill),
                Task::Moved(moved) => self.moved(moved),
                Task::End(order, _) if self.unsealed.remove(&order) => {}
                Task::End(order, end) => {
                    let filled = self.filled.remove(&order).unwrap_or_default();
                    let moved = self.moved.remove(&order);
                    let noted = self.store.end(order, end, filled, moved.as_ref());
                    self.noted("end", noted);
                }
                Task::Flow(token, symbol, amount, reason) => {
                    let noted = self.store.flow((token, &symbol), amount, &reason);
                    let durable = noted.is_ok();
                    self.noted("flow", noted);
                    self.answer(Heard::FlowStored { durable });
                }
                Task::Levels(levels, cause, lowers) => self.levels(levels, &cause, lowers),
                Task::Prune => {
                    let pruned = self.store.prune(self.keep_days).map(|_| ());
                    self.noted("prune", pruned);
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

    fn fill(&mut self, fill: &Fill) {
        let filled = self.filled.entry(fill.order).or_default();
        filled.base = filled.base.saturating_add(fill.base);
        filled.quote = filled.quote.saturating_add(fill.quote);
        filled.fee = filled.fee.saturating_add(fill.fee);
        let noted = self.store.fill(fill);
        self.noted("fill", noted);
    }

    /// What a move changed is written with its end, which follows: a restart knows both or neither.
    fn moved(&mut self, moved: PoolMove) {
        let [base, quote] = moved.moved.pooled;
        let fee = moved.moved.fee;
        self.filled.insert(moved.order, Filled { base, quote, fee });
        self.moved.insert(moved.order, moved);
    }

    fn levels(&mut self, levels: Levels, cause: &str, lowers: bool) {
        let event = match self.store.set_levels(&levels, cause, lowers) {
            Ok(()) => Event::LevelStored(levels),
            Err(error) => {
                // What it forbids is in force all the same, and the engine asks again.
                tracing::error!(%error, level = levels.level.name(), "level not stored");
                self.telemetry.journal_failed(Operation::Level);
                Event::LevelFailed(levels)
            }
        };
        self.answer(Heard::Event(event));
    }

    /// A failure to note what has already happened is told, and stops new orders at the next seal: the
    /// store refuses to seal once a write has failed.
    fn noted(&self, what: &'static str, outcome: Result<(), StoreError>) {
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
