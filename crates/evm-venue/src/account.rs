//! The account on a chain as a plain value: what was signed, what the finalized chain made of it, and the answers that
//! the engine gets. The shell gives it the facts of nodes; it asks for nothing itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::iter;

use cambist_core::order::OrderReport;
use cambist_core::pool::{
    PoolTransactionAmounts, PoolTransactionKind, PoolTransactionReport, PoolTransactionStatus,
    UnsignedPoolTransaction,
};
use cambist_core::request::{Charge, Endpoint, OrderList, OrdersPage, Reply};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Hash, Intent, MarketId, MarketSpec, Side, TokenId, VenueTime};
use cambist_evm::block::Block;
use cambist_evm::receipt::Receipt;
use cambist_evm::transaction::{Signed, Transaction};
use cambist_evm::{EthKey, Hash32, U256};

use serde::{Deserialize, Serialize};

use crate::bundle::{self, Bundle, Part};
use crate::chain::Chain;
use crate::fees::Fees;
use crate::finality::{Unusable, View};
use crate::list;
use crate::nonces::{Candidate, Fate, NonceError, Nonces, Purpose};
use crate::range::Held;
use crate::seal::{SealError, Sealed, approvals};
use crate::settle::{Settled, Unsettled};

/// Charges that are repeated with each answer: more than two intents have. One is booked from the first answer that has
/// it.
const CHARGES_KEPT: usize = 2 * bundle::PARTS_MAX;

/// Settled reports that are kept, of each kind. One intent is undecided at a time, so that the lists of the engine need
/// the newest few.
const REPORTS_KEPT: usize = 1_024;
/// Settled nonces whose transactions are kept.
const NONCES_KEPT: u64 = 32;

/// What a transaction was signed for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    /// A join, an exit or a swap of the engine.
    Intent(Intent),
    /// The router may take exactly so much of a token.
    Approval {
        /// The token.
        token: TokenId,
        /// How much.
        amount: Amount,
    },
    /// The nonce is to be spent.
    Burn,
}

/// What stops everything until an operator decides. Nothing is signed, sent or reported any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// A finalized block was replaced.
    #[error("the chain forked: {0}")]
    Forked(Unusable),
    /// A nonce was spent by a transaction that was not signed here.
    #[error(
        "nonce {nonce} was spent by a transaction that was not signed here: another holder of the key"
    )]
    Foreign {
        /// The nonce.
        nonce: u64,
    },
    /// A finalized transaction of ours cannot be booked.
    #[error("nonce {nonce} cannot be booked: {why}")]
    Unsettled {
        /// Its nonce.
        nonce: u64,
        /// Why.
        why: Unsettled,
    },
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// For good, until an operator decides.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Nothing is known of the chain yet.
    #[error("no block was seen yet")]
    Unseen,
    /// One of two nodes does not confirm what the other states. Nothing is signed until both state the same.
    #[error("one of the nodes does not confirm what the other states")]
    Doubt,
    /// The node's blocks are not used; the next ones may be.
    #[error(transparent)]
    Unusable(Unusable),
    /// The row of nonces.
    #[error(transparent)]
    Nonce(#[from] NonceError),
    /// There are no bytes.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The block of a receipt was not given.
    #[error("the block of the receipt is missing")]
    Block,
    /// A receipt cannot be booked. It is asked for again, because a node may answer from what it had before.
    #[error("nonce {nonce} cannot be booked: {why}; its receipt is asked for again")]
    Unsettled {
        /// Its nonce.
        nonce: u64,
        /// Why.
        why: Unsettled,
    },
    /// The deadline is far behind the newest block.
    #[error(
        "the deadline is further behind the newest block than orders.ttl_s and orders.grace_s: a block with a wrong time has set the clock"
    )]
    Deadline,
}

/// A spent nonce that the answers of nodes do not explain.
#[derive(Clone, Copy, Debug)]
struct Unexplained {
    nonce: u64,
    /// Why its receipt cannot be booked; `None` without one.
    why: Option<Unsettled>,
    /// The time of the finalized block since which that is stated, in seconds.
    since_s: u64,
}

/// The last second of a block's time in which an intent moves anything.
fn deadline_s(intent: &Intent) -> u64 {
    match intent {
        Intent::Order(of) => of.accepted_until_s.into(),
        Intent::PoolTransaction(of) => of.valid_until_s.into(),
    }
}

/// Whether a join paid no more, and an exit brought no less, than what contracts compare with the signed amounts.
fn is_within(of: &UnsignedPoolTransaction, moved: &PoolTransactionAmounts) -> bool {
    let mut pairs = moved.pooled.iter().zip(&of.amounts);
    match of.kind {
        PoolTransactionKind::Join => pairs.all(|(paid, most)| paid <= most),
        PoolTransactionKind::Exit => pairs.all(|(got, least)| got >= least),
    }
}

/// A block cannot take more for gas than was signed.
fn check_gas(candidate: &Candidate, receipt: &Receipt) -> Result<(), Unsettled> {
    let is_signed =
        receipt.gas_used <= candidate.gas_limit && receipt.gas_price <= candidate.fees.max;
    is_signed.then_some(()).ok_or(Unsettled::Gas)
}

/// A nonce that the finalized block has spent and that is to be settled: the receipts of these are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The nonce.
    pub nonce: u64,
    /// Every transaction that was signed for it.
    pub hashes: Vec<Hash>,
}

/// The first nonce of an account that only reads: none is settled.
pub const READS_ONLY: u64 = u64::MAX;

/// The account.
#[derive(Debug)]
pub struct Account {
    chain: Chain,
    markets: Vec<MarketSpec>,
    grace_ms: u64,
    fee_max: u128,
    view: Option<View>,
    /// The number of the newest finalized block of earlier runs.
    final_before: u64,
    nonces: Nonces,
    wanted: BTreeMap<Hash, Wanted>,
    settled_below: u64,
    orders: Reports<OrderReport>,
    pool_transactions: Reports<PoolTransactionReport>,
    charges: VecDeque<Charge>,
    allowed: SortedMap<TokenId, U256>,
    stopped: Option<Stopped>,
    /// A spent nonce that the answers of nodes do not explain.
    unexplained: Option<Unexplained>,
    /// How far behind the newest block a deadline may be that is signed.
    lifetime_max_ms: u64,
    /// What one of two nodes last did not confirm.
    doubted: BTreeSet<Endpoint>,
}

impl Account {
    /// An account whose nonces below `first` are not of this row: what earlier runs settled. `fee_max` is the most that
    /// is offered per gas; `grace_ms` is `orders.grace_s`.
    pub fn new(
        chain: Chain,
        markets: Vec<MarketSpec>,
        grace_ms: u64,
        fee_max: u128,
        first: u64,
    ) -> Self {
        Self {
            chain,
            markets,
            grace_ms,
            fee_max,
            view: None,
            final_before: 0,
            nonces: Nonces::default(),
            wanted: BTreeMap::new(),
            settled_below: first,
            orders: Reports::default(),
            pool_transactions: Reports::default(),
            charges: VecDeque::new(),
            allowed: SortedMap::new(),
            stopped: None,
            unexplained: None,
            lifetime_max_ms: u64::MAX,
            doubted: BTreeSet::new(),
        }
    }

    /// Refuses to sign a deadline that is further behind the newest block than the longest lifetime and grace: a block
    /// whose time is wrong may have set the clock that it was reckoned with.
    #[must_use]
    pub const fn with_ttl_ms(mut self, ttl_ms: u64) -> Self {
        self.lifetime_max_ms = ttl_ms.saturating_add(self.grace_ms);
        self
    }

    /// Uses no view whose finalized block is older than this number of earlier runs: the first node that is asked may
    /// lag.
    #[must_use]
    pub const fn with_final(mut self, number: u64) -> Self {
        self.final_before = number;
        self
    }

    /// The chain.
    pub const fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The markets beside its pools.
    pub fn markets(&self) -> &[MarketSpec] {
        &self.markets
    }

    /// What is known of the chain's blocks.
    ///
    /// # Errors
    /// [`AccountError::Unseen`].
    pub fn view(&self) -> Result<&View, AccountError> {
        self.view.as_ref().ok_or(AccountError::Unseen)
    }

    /// Gas of the newest settled nonces, in the chain's coin, by nonce: whatever became of a transaction, it was paid for.
    pub fn charges(&self) -> impl Iterator<Item = &Charge> {
        self.charges.iter()
    }

    /// The next nonce to settle.
    pub const fn settled_below(&self) -> u64 {
        self.settled_below
    }

    /// Why nothing goes on.
    pub const fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }

    /// The next nonce of an intent.
    pub fn next_nonce(&self) -> u64 {
        self.nonces.next(self.settled_below)
    }

    /// Whether one of two nodes did not confirm the last answer to a poll. Of those polls that are repeated without an end:
    /// another one might never be answered again.
    pub fn doubts(&mut self, endpoint: Endpoint, is_doubt: bool) {
        const REPEATED: [Endpoint; 5] = [
            Endpoint::Depth,
            Endpoint::PoolBalance,
            Endpoint::Balances,
            Endpoint::Orders,
            Endpoint::PoolTransactions,
        ];
        if is_doubt && REPEATED.contains(&endpoint) {
            self.doubted.insert(endpoint);
        } else if !is_doubt {
            self.doubted.remove(&endpoint);
        }
    }

    /// The number of the finalized block of the last view: the block that the node has there now goes with the next one.
    pub fn known_number(&self) -> Option<u64> {
        self.view.as_ref().map(|view| view.finalized().number)
    }

    /// The hash of that block.
    pub fn known_hash(&self) -> Option<Hash32> {
        self.view.as_ref().map(|view| view.finalized().hash)
    }

    /// Follows the chain; `known` is the block at [`known_number`](Self::known_number), if there is one.
    ///
    /// # Errors
    /// [`AccountError::Unusable`]; [`AccountError::Stopped`] for good.
    pub fn follow(
        &mut self,
        latest: Block,
        finalized: Block,
        known: Option<&Block>,
    ) -> Result<(), AccountError> {
        self.check()?;
        let followed = match (&mut self.view, known) {
            (None, _) if finalized.number < self.final_before => Err(Unusable::Behind),
            (None, _) => View::new(latest, finalized).map(|view| self.view = Some(view)),
            (Some(view), Some(known)) => view.follow(latest, finalized, known, self.grace_ms),
            (Some(_), None) => Err(Unusable::Behind),
        };
        match followed {
            Err(Unusable::Forked) => Err(self.stop(Stopped::Forked(Unusable::Forked))),
            Err(other) => Err(AccountError::Unusable(other)),
            Ok(()) => Ok(()),
        }
    }

    /// Signs and keeps what is wanted with a nonce. The fees are the market's, or what replaces earlier
    /// transactions of the nonce. Nothing may be sent before the bytes are stored.
    ///
    /// # Errors
    /// [`AccountError`]; there are no bytes.
    pub fn seal(
        &mut self,
        wanted: Wanted,
        nonce: u64,
        market: Fees,
        key: &EthKey,
    ) -> Result<Sealed, AccountError> {
        self.check()?;
        let fees = self.nonces.fees(nonce, market, self.fee_max)?;
        let transaction = match &wanted {
            Wanted::Intent(Intent::PoolTransaction(of)) => self.chain.pool_transaction(of, fees)?,
            Wanted::Intent(Intent::Order(of)) => self.chain.swap(of, fees)?,
            Wanted::Approval { token, amount } => {
                self.chain.approval(*token, *amount, nonce, fees)?
            }
            Wanted::Burn => self.chain.burn(nonce, fees),
        };
        // The engine's number counts intents; nonces are counted here, because approvals and burns have some as well.
        let transaction = Transaction {
            nonce,
            ..transaction
        };
        let sealed = self.chain.seal(&transaction, key)?;
        self.keep(wanted, &sealed)?;
        Ok(sealed)
    }

    /// Signs and keeps an intent with the approvals that it needs, at the nonces from the lowest one that the finalized
    /// block has not spent: everything that was signed for those is replaced. Only one intent may be undecided at a time,
    /// so that what is replaced is dead.
    ///
    /// # Errors
    /// [`AccountError`]; nothing is kept.
    pub fn seal_intent(
        &mut self,
        intent: &Intent,
        market: Fees,
        key: &EthKey,
    ) -> Result<Bundle, AccountError> {
        self.check()?;
        if !self.doubted.is_empty() {
            return Err(AccountError::Doubt);
        }
        let latest = self.view()?.latest().timestamp_s;
        let ahead_ms = deadline_s(intent)
            .saturating_sub(latest)
            .saturating_mul(1_000);
        if ahead_ms > self.lifetime_max_ms {
            return Err(AccountError::Deadline);
        }
        let mut wanted = Vec::new();
        for (token, amount) in bundle::taken(intent, &self.chain) {
            let allowed = self.allowed.get(&token).ok_or(AccountError::Unseen)?;
            let each = approvals(*allowed, amount).into_iter();
            wanted.extend(each.map(|amount| Wanted::Approval { token, amount }));
        }
        wanted.push(Wanted::Intent(intent.clone()));
        let from = self.settled_below;
        let held = usize::try_from(self.next_nonce() - from).map_err(|_| NonceError::TooMany)?;
        let unused = held.saturating_sub(wanted.len());
        if unused + wanted.len() > bundle::PARTS_MAX {
            return Err(NonceError::TooMany.into());
        }
        let wanted = iter::repeat_n(Wanted::Burn, unused).chain(wanted);
        let before = self.nonces.clone();
        let parts: Result<Vec<_>, _> = (from..)
            .zip(wanted)
            .map(|(nonce, wanted)| {
                let sealed = self.seal(wanted.clone(), nonce, market, key)?;
                Ok(Part { wanted, sealed })
            })
            .collect();
        match parts.map(Bundle::new) {
            Ok(Some(bundle)) => Ok(bundle),
            Ok(None) => Err(SealError::NoIntent.into()),
            Err(why) => {
                self.nonces = before;
                Err(why)
            }
        }
    }

    /// Which position of a configured range is the account's in the finalized block: read at a start, before anything is
    /// settled. A join that is settled later names it itself.
    pub fn holds(&mut self, market: MarketId, held: Held) {
        if let Some(range) = self.chain.ranges.get_mut(&market) {
            range.held = held;
        }
    }

    /// What the router may take of a token in the finalized block.
    pub fn allows(&mut self, token: TokenId, amount: U256) {
        self.allowed.insert(token, amount);
    }

    /// Takes up what an earlier run sealed: its stored bytes.
    ///
    /// # Errors
    /// [`AccountError::Seal`] if the bytes are not this account's on this chain.
    pub fn recover(&mut self, wanted: Wanted, bytes: &[u8]) -> Result<Sealed, AccountError> {
        let read = Signed::read(bytes, self.chain.id).map_err(SealError::from)?;
        let sender = read.sender().map_err(SealError::from)?;
        if sender != self.chain.account {
            return Err(SealError::Key.into());
        }
        let transaction = read.transaction();
        let sealed = Sealed {
            hash: Hash(read.hash().0),
            nonce: transaction.nonce,
            fees: Fees {
                priority_max: transaction.priority_fee_max,
                max: transaction.fee_max,
            },
            gas_limit: transaction.gas_limit,
            bytes: bytes.to_vec(),
        };
        self.keep(wanted, &sealed)?;
        Ok(sealed)
    }

    fn keep(&mut self, wanted: Wanted, sealed: &Sealed) -> Result<(), AccountError> {
        let purpose = match &wanted {
            Wanted::Intent(intent) => Purpose::Intent {
                id: match intent {
                    Intent::Order(of) => of.client_id,
                    Intent::PoolTransaction(of) => of.client_id,
                },
                deadline_s: deadline_s(intent),
            },
            Wanted::Approval { .. } => Purpose::Approval,
            Wanted::Burn => Purpose::Burn,
        };
        let candidate = Candidate {
            hash: sealed.hash,
            fees: sealed.fees,
            gas_limit: sealed.gas_limit,
            purpose,
        };
        self.nonces.add(sealed.nonce, candidate)?;
        self.wanted.insert(sealed.hash, wanted);
        Ok(())
    }

    /// What was signed for a nonce, in the order of signing.
    pub fn signed_for(&self, nonce: u64) -> &[Candidate] {
        self.nonces.of(nonce)
    }

    /// The next nonce to settle. `spent_below` is the account's nonce in the finalized block of the view.
    ///
    /// # Errors
    /// [`Unusable::Behind`] if nonces are settled that this block has not spent: what the account holds in it is older
    /// than the books. The first view after a start may be that of a node which lags.
    pub fn due(&self, spent_below: u64) -> Result<Option<Due>, AccountError> {
        let nonce = self.settled_below;
        if nonce == READS_ONLY {
            return Ok(None);
        }
        if spent_below < nonce {
            return Err(AccountError::Unusable(Unusable::Behind));
        }
        let hashes = || self.nonces.of(nonce).iter().map(|of| of.hash).collect();
        Ok((nonce < spent_below).then(|| Due {
            nonce,
            hashes: hashes(),
        }))
    }

    /// Settles the due nonce. `receipts` are the answers for all of its transactions, `block` the finalized chain's at
    /// the number of the one that is there.
    ///
    /// # Errors
    /// [`AccountError::Nonce`] if the answers exclude each other, which is asked again; [`AccountError::Stopped`] for
    /// good.
    pub fn settle(
        &mut self,
        spent_below: u64,
        receipts: &[(Hash, Option<Receipt>)],
        block: Option<&Block>,
    ) -> Result<(), AccountError> {
        self.check()?;
        let nonce = self.settled_below;
        let finalized = *self.view()?.finalized();
        let candidate = match self.nonces.fate(nonce, &finalized, spent_below, receipts)? {
            Fate::Open => return Err(NonceError::Contradiction.into()),
            Fate::Foreign => return Err(self.unexplained(nonce, None, finalized.timestamp_s)),
            Fate::Ours(candidate) => candidate,
        };
        let mined = receipts.iter().find(|(hash, _)| *hash == candidate.hash);
        let receipt = mined.and_then(|(_, receipt)| receipt.as_ref());
        let (Some(receipt), Some(block)) = (receipt, block) else {
            return Err(AccountError::Block);
        };
        // One of both times is false: a block is not younger than a later one.
        if block.timestamp_s > finalized.timestamp_s {
            return Err(AccountError::Unusable(Unusable::Unlinked));
        }
        let booked = match check_gas(&candidate, receipt) {
            Ok(()) => self.book(candidate.hash, receipt, block),
            Err(why) => Err(why),
        };
        match booked {
            Ok(gas) => self.charges.push_back(Charge {
                number: nonce,
                token: self.chain.coin,
                amount: gas,
                cause: candidate.hash,
            }),
            Err(why) => return Err(self.unexplained(nonce, Some(why), finalized.timestamp_s)),
        }
        while self.charges.len() > CHARGES_KEPT {
            self.charges.pop_front();
        }
        self.settled_below = nonce + 1;
        self.nonces
            .forget_below(self.settled_below.saturating_sub(NONCES_KEPT));
        let nonces = &self.nonces;
        self.wanted.retain(|hash, _| nonces.knows(*hash));
        // What the router may take was read before this nonce was spent.
        self.allowed.clear();
        Ok(())
    }

    /// A spent nonce without a receipt of ours, or with one that cannot be booked. One answer proves little: a node may
    /// lag, have lost what it knew, or answer from a copy that follows replaced blocks. What counts is stated for grace of
    /// finalized time; that a nonce is spent for which nothing was signed, by two finalized blocks; that a token kept a
    /// part, by its first receipt.
    fn unexplained(
        &mut self,
        nonce: u64,
        why: Option<Unsettled>,
        finalized_s: u64,
    ) -> AccountError {
        let now = Unexplained {
            nonce,
            why,
            since_s: finalized_s,
        };
        let before = self
            .unexplained
            .filter(|of| (of.nonce, of.why) == (nonce, why));
        let since_s = before.unwrap_or(now).since_s;
        self.unexplained = Some(Unexplained { since_s, ..now });
        let stated_s = finalized_s.saturating_sub(since_s);
        let for_grace = stated_s.saturating_mul(1_000) >= self.grace_ms;
        let is_unsigned = self.nonces.of(nonce).is_empty();
        match why {
            None if for_grace || (is_unsigned && stated_s > 0) => {
                self.stop(Stopped::Foreign { nonce })
            }
            Some(why @ (Unsettled::FeeOnTransfer | Unsettled::Pool)) => {
                self.stop(Stopped::Unsettled { nonce, why })
            }
            Some(why) if for_grace => self.stop(Stopped::Unsettled { nonce, why }),
            None => NonceError::Contradiction.into(),
            Some(why) => AccountError::Unsettled { nonce, why },
        }
    }

    fn book(&mut self, hash: Hash, receipt: &Receipt, block: &Block) -> Result<Amount, Unsettled> {
        let chain = &self.chain;
        match self.wanted.get(&hash) {
            Some(Wanted::Intent(Intent::PoolTransaction(of))) => {
                let Settled { report, gas } = chain.settle_pool_transaction(of, receipt, block)?;
                if report.status == PoolTransactionStatus::Processed
                    && !is_within(of, &report.amounts)
                {
                    return Err(Unsettled::Amounts);
                }
                let (market, position) = (of.market, chain.position_of(receipt));
                if let Some(position) = position {
                    self.holds(market, Held::Position(position));
                }
                self.pool_transactions.push(report);
                Ok(gas)
            }
            Some(Wanted::Intent(Intent::Order(of))) => {
                let market = self.markets.iter().find(|market| market.id == of.market);
                let market = market.ok_or(Unsettled::Pool)?;
                let Settled { report, gas } = chain.settle_swap(of, market, receipt, block)?;
                let (sold, bought) = match of.side {
                    Side::Sell => (report.base_filled, report.quote_filled),
                    Side::Buy => (report.quote_filled, report.base_filled),
                };
                if sold > of.sell_amount || (sold > 0 && bought < of.buy_amount) {
                    return Err(Unsettled::Amounts);
                }
                self.orders.push(report);
                Ok(gas)
            }
            Some(Wanted::Approval { token, amount }) => {
                let settled = chain.settle_approval(*token, *amount, receipt, block)?;
                Ok(settled.gas)
            }
            Some(Wanted::Burn) => Ok(chain.settle_burn(receipt, block)?.gas),
            None => Err(Unsettled::Receipt),
        }
    }

    /// The nonce that has to be burnt, if there is one ([`Nonces::to_burn`]).
    pub fn to_burn(&self, spent_below: u64) -> Option<u64> {
        let view = self.view.as_ref()?;
        self.nonces.to_burn(view.finalized(), spent_below)
    }

    /// A page of orders, or of joins and exits. `None` while the finalized block proves no list of this window, or not
    /// everything that it spent is settled.
    pub fn orders(&self, spent_below: u64, asked: &OrdersPage) -> Option<Reply> {
        let (orders, total) = self.page(&self.orders, spent_below, asked)?;
        Some(Reply::Orders { orders, total })
    }

    /// As [`orders`](Self::orders), of joins and exits.
    pub fn pool_transactions(&self, spent_below: u64, asked: &OrdersPage) -> Option<Reply> {
        let (moves, total) = self.page(&self.pool_transactions, spent_below, asked)?;
        Some(Reply::PoolTransactions { moves, total })
    }

    fn page<R: list::Created + Clone>(
        &self,
        settled: &Reports<R>,
        spent_below: u64,
        asked: &OrdersPage,
    ) -> Option<(Vec<R>, u32)> {
        if self.stopped.is_some() || self.settled_below < spent_below {
            return None;
        }
        let view = self.view.as_ref()?;
        settled.page(view, self.grace_ms, asked)
    }

    /// The report of one order, if it is kept; `Err` if it may be one of those that are not.
    pub fn order(&self, hash: Hash) -> Result<Option<&OrderReport>, Forgotten> {
        let found = self.orders.kept.iter().find(|report| report.hash == hash);
        match (found, self.orders.forgotten_until) {
            (None, Some(_)) => Err(Forgotten),
            (found, _) => Ok(found),
        }
    }

    /// The venue's time of the newest block.
    pub fn venue_time(&self) -> Option<VenueTime> {
        self.view.as_ref().map(View::venue_time)
    }

    fn check(&self) -> Result<(), AccountError> {
        self.stopped.map_or(Ok(()), |why| Err(why.into()))
    }

    fn stop(&mut self, why: Stopped) -> AccountError {
        self.stopped = Some(why);
        why.into()
    }
}

/// Old reports are not kept: nothing is known of what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("reports as old as this are not kept")]
pub struct Forgotten;

/// The newest reports in the order of nonces. A window that begins before one that is not kept any more is not answered.
#[derive(Debug)]
struct Reports<R> {
    kept: VecDeque<R>,
    /// The newest time of creation of a report that is not kept.
    forgotten_until: Option<VenueTime>,
}

impl<R> Default for Reports<R> {
    fn default() -> Self {
        Self {
            kept: VecDeque::new(),
            forgotten_until: None,
        }
    }
}

impl<R: list::Created + Clone> Reports<R> {
    fn push(&mut self, report: R) {
        self.kept.push_back(report);
        while self.kept.len() > REPORTS_KEPT {
            let oldest = self.kept.pop_front();
            let created = oldest.map(|report| report.created());
            self.forgotten_until = self.forgotten_until.max(created);
        }
    }

    fn page(&self, view: &View, grace_ms: u64, asked: &OrdersPage) -> Option<(Vec<R>, u32)> {
        let is_resting = asked.list == OrderList::Resting;
        if self.forgotten_until >= Some(asked.from) && !is_resting {
            return None;
        }
        list::page(&self.kept, view, grace_ms, asked)
    }
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
