//! The daemon's side of the chain: the real account of the adapter, its key, its journal and the stored bytes.
//!
//! The journal keeps what was signed as the daemon's file does: it is on disk before sealing ends, so that a crash before
//! that keeps some part of it. A crash drops the account; a start makes a new one of the journal and the books.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use cambist_core::event::{Amounts, Start};
use cambist_core::notification::Notification;
use cambist_core::request::{Outcome, Query, UnknownCause};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{
    ClientOrderId, Hash, Intent, MarketId, MarketSpec, PoolSpec, Reason, VenueTime,
};
use cambist_evm::block::BlockTag;
use cambist_evm::rpc::{NonceAt, Refusal};
use cambist_evm::transaction::Signed;
use cambist_evm::v3::liquidity::Range;
use cambist_evm::v3::tick::Tick;
use cambist_evm::{EthKey, U256};
use cambist_evm_venue::account::{Account, AccountError, Stopped, Wanted};
use cambist_evm_venue::answers::{self, ChainReader};
use cambist_evm_venue::bundle;
use cambist_evm_venue::chain::{Chain as Adapted, GasLimits};
use cambist_evm_venue::fees::Fees;
use cambist_evm_venue::range::PoolRange;
use cambist_evm_venue::resume::first_nonce;
use cambist_evm_venue::rules;
use cambist_venue::Random;

use crate::chain::blocks::Chain;
use crate::chain::checks::ChainChecks;
use crate::chain::contracts::State;
use crate::chain::node::Nodes;
use crate::chain::pair::Pair;
use crate::chain::positions::Ranges;
use crate::chain::{CHAIN_ID, COIN, KEY, OWN, ROUTER, TOKENS};
use crate::config::{ChainConfig, ChainFaultsConfig, PARTS, RangeConfig};
use crate::faults::disk::Durable;
use crate::invariants::sending::Broken;
use crate::workload::pool::LIQUIDITY;

/// What is offered to the producer of a block, per gas.
const PRIORITY_FEE: u128 = 1_500_000_000;
/// The account's nonce at the beginning.
const FIRST_NONCE: u64 = 3;
/// Most gas of each kind of transaction.
const GAS: GasLimits = GasLimits {
    join: 400_000,
    exit: 400_000,
    swap: 300_000,
    approve: 100_000,
};

/// One transaction of the journal.
#[derive(Clone, Debug)]
struct Line {
    nonce: u64,
    wanted: Wanted,
    bytes: Vec<u8>,
    /// The intent that it was sealed with.
    of: ClientOrderId,
    /// Whether it is certain to survive a crash.
    synced: bool,
}

/// Why an intent has no bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unsealed {
    /// It is left out of its batch: it was never sent.
    LeftOut,
    /// Trading stops.
    Failed,
}

/// The chain, and the daemon's account on it.
pub(crate) struct Link {
    config: ChainConfig,
    chain: Chain,
    /// The chain that the node follows instead, and the newest block until which it does.
    fork: Option<(Chain, u64)>,
    pools: Vec<PoolSpec>,
    markets: Vec<MarketSpec>,
    /// Random stream of nodes and of the disk.
    random: Random,
    key: EthKey,
    slippage_bps: u32,
    grace_ms: u64,
    account: Option<Account>,
    journal: Vec<Line>,
    /// Stored bytes of intents.
    bundles: BTreeMap<ClientOrderId, Vec<u8>>,
    pub(crate) checks: ChainChecks,
}

/// Runs what never waits.
fn at_once<F: Future>(future: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("the model answers at once"),
    }
}

const CALM: ChainFaultsConfig = ChainFaultsConfig {
    withheld: 0,
    dropped: 0,
    missed: 0,
    reorganised: 0,
    finality_stalled: 0,
    dear: 0,
    lagging: 0,
    lag_blocks_max: 0,
    receipts_missing: 0,
    unanswered: 0,
    pool_full: 0,
    forked: 0,
};

/// For how many blocks a node follows another chain at most.
const FORK_BLOCKS_MAX: u64 = 40;

impl Link {
    /// A chain that holds these funds for the account, at this time.
    pub(crate) fn new(
        config: &ChainConfig,
        (markets, pools): (&[MarketSpec], &[PoolSpec]),
        funds: &Amounts,
        (grace_ms, slippage_bps): (u64, u32),
        now_s: u64,
        seed: u64,
    ) -> Self {
        let mut random = Random::new(seed ^ 0x6576_6d20_706f_6f6c);
        let of = |at: usize| {
            let pool = pools.first();
            let held = pool.and_then(|pool| funds.get(&pool.pooled[at]));
            held.copied().unwrap_or(0)
        };
        let pair = Pair::founded(LIQUIDITY, config.pays_protocol);
        let range = config.range.as_ref();
        let range = range.map(|of| Ranges::founded(of, LIQUIDITY).expect("a pool's ranges fit"));
        let shares = range.as_ref().map_or(0, Ranges::held);
        let state = State {
            held: [of(0), of(1), shares],
            allowed: [U256::ZERO; 3],
            coin: config.coin,
            nonce: FIRST_NONCE,
            pair: pair.expect("a pool's shares fit"),
            range,
        };
        Self {
            chain: Chain::new(config, &state, now_s, random.next_u64()),
            config: config.clone(),
            fork: None,
            pools: pools.to_vec(),
            markets: markets.to_vec(),
            random,
            key: EthKey::from_hex(KEY).expect("a key of the curve"),
            slippage_bps,
            grace_ms,
            account: None,
            journal: Vec::new(),
            bundles: BTreeMap::new(),
            checks: ChainChecks::default(),
        }
    }

    /// The chain.
    pub(crate) const fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Time between blocks.
    pub(crate) const fn block_ms(&self) -> u64 {
        self.config.block_ms
    }

    /// Why the account stopped, if it did.
    pub(crate) fn stopped(&self) -> Option<Stopped> {
        self.account.as_ref().and_then(Account::stopped)
    }

    /// A block is due. True if the node has followed another chain until now: an operator starts the daemon again.
    pub(crate) fn advance(&mut self, now_s: u64, disturbed: bool) -> bool {
        let faults = if disturbed {
            &self.config.faults
        } else {
            &CALM
        };
        self.chain.advance(now_s, faults);
        let newest = self.chain.newest().block.number;
        if let Some((fork, until)) = &mut self.fork {
            fork.advance(now_s, &CALM);
            let is_over = newest >= *until || !disturbed;
            if is_over {
                self.fork = None;
            }
            return is_over;
        }
        let forks = self.random.below(PARTS) < u64::from(faults.forked);
        // A start cannot know what was final before it.
        let knows = self.account.as_ref().is_some_and(|of| of.view().is_ok());
        if forks && knows {
            let until = newest + 1 + self.random.below(FORK_BLOCKS_MAX);
            self.fork = Some((self.chain.forked(), until));
            self.checks.forks += 1;
        }
        false
    }

    /// The configured range, with the position in it that is the account's in the finalized block.
    fn ranges(&self) -> SortedMap<MarketId, PoolRange> {
        let configured = self.config.range.as_ref();
        let held = self.chain.final_block().state.range;
        let ranges = configured.zip(held).zip(self.pools.first());
        let of = |((of, held), pool): ((&RangeConfig, Ranges), &PoolSpec)| {
            let [lower, upper] = of.ticks.map(|tick| Tick::new(tick).expect("a tick"));
            let range = PoolRange {
                fee: of.fee,
                spacing: of.spacing,
                range: Range::new(lower, upper).expect("a range"),
                held: held.chosen(),
            };
            (pool.market, range)
        };
        ranges.map(of).into_iter().collect()
    }

    /// A daemon starts.
    pub(crate) fn start(&mut self, start: &Start) {
        let adapted = Adapted {
            id: CHAIN_ID,
            account: OWN,
            router: ROUTER,
            coin: COIN,
            tokens: self.pools[0].pooled.into_iter().zip(TOKENS).collect(),
            pools: self.pools.clone(),
            ranges: self.ranges(),
            slippage_bps: self.slippage_bps,
            gas: GAS,
        };
        adapted.check().expect("a chain of these addresses");
        let spent_below = self.chain.final_block().state.nonce;
        let signed = self.journal.iter().map(|line| (line.nonce, &line.wanted));
        let first = first_nonce(start, signed, spent_below);
        self.journal.retain(|line| line.nonce >= first);
        let markets = self.markets.clone();
        let fee_max = self.config.fee_max;
        let mut account = Account::new(adapted, markets, self.grace_ms, fee_max, first);
        for line in &self.journal {
            let recovered = account.recover(line.wanted.clone(), &line.bytes);
            recovered.expect("what was signed here is taken up again");
        }
        self.account = Some(account);
        self.fork = None;
        self.checks.begin(start);
    }

    /// The daemon has ended; `survives` is whether the store kept an intent.
    pub(crate) fn stop(&mut self, survives: &dyn Fn(ClientOrderId) -> bool) {
        self.account = None;
        // What was not synced survives in the order of writing, up to some line; what the store kept was synced before.
        let open = self.journal.iter().filter(|line| !line.synced).count() as u64;
        let mut kept = self.random.between(0, open);
        self.journal.retain_mut(|line| {
            if !line.synced && !survives(line.of) {
                let is_kept = kept > 0;
                kept = kept.saturating_sub(1);
                line.synced = is_kept;
            } else {
                line.synced = true;
            }
            line.synced
        });
        self.bundles.retain(|id, _| survives(*id));
    }

    /// The intents are sealed, and on disk with everything that was signed for them.
    pub(crate) fn synced(&mut self, ids: &[ClientOrderId]) {
        for line in &mut self.journal {
            line.synced |= ids.contains(&line.of);
        }
    }

    /// Signs an intent with what it needs. `is_written` is whether the disk takes the journal.
    ///
    /// # Errors
    /// [`Unsealed`].
    pub(crate) fn seal(&mut self, intent: &Intent, is_written: bool) -> Result<Hash, Unsealed> {
        let account = self.account.as_mut().ok_or(Unsealed::Failed)?;
        let base_fee = account.view().map(|view| view.latest().base_fee);
        let sealed = base_fee.and_then(|base_fee| {
            let fees = Fees::of_market(base_fee, PRIORITY_FEE);
            account.seal_intent(intent, fees, &self.key)
        });
        match sealed {
            Ok(sealed) => {
                if !is_written {
                    return Err(Unsealed::Failed);
                }
                let of = intent.id();
                self.checks.sealed(of, sealed.parts());
                self.journal.extend(sealed.parts().iter().map(|part| Line {
                    nonce: part.sealed.nonce,
                    wanted: part.wanted.clone(),
                    bytes: part.sealed.bytes.clone(),
                    of,
                    synced: false,
                }));
                self.bundles.insert(of, sealed.bytes());
                Ok(sealed.hash())
            }
            Err(AccountError::Stopped(_) | AccountError::Seal(_)) => Err(Unsealed::Failed),
            Err(_) => Err(Unsealed::LeftOut),
        }
    }

    /// The stored bytes of an intent.
    pub(crate) fn bytes(&self, id: ClientOrderId) -> Option<&[u8]> {
        self.bundles.get(&id).map(Vec::as_slice)
    }

    /// The stored bytes of an intent leave.
    pub(crate) fn leaving(&mut self, id: ClientOrderId) -> Vec<Broken> {
        self.checks.leaving(id, &self.chain)
    }

    /// A notification of the engine.
    pub(crate) fn observe(&mut self, of: &Notification, durable: &Durable) -> Option<Broken> {
        self.checks.observe(of, &self.chain, durable)
    }

    /// Answers a request of the engine, and the time of the answer.
    pub(crate) fn query(&mut self, query: &Query, disturbed: bool) -> (Outcome, Option<VenueTime>) {
        let faults = if disturbed {
            &self.config.faults
        } else {
            &CALM
        };
        let Some(account) = &mut self.account else {
            return (Outcome::NotSent, None);
        };
        let followed = self.fork.as_ref().map_or(&self.chain, |(fork, _)| fork);
        let nodes = Nodes::new(followed, faults, &mut self.random);
        match at_once(answers::answer(&nodes, account, query)) {
            Ok((reply, time)) => (Outcome::Reply(reply), time),
            Err(why) => (*why.outcome, None),
        }
    }

    /// Stored bytes arrive: the outcome is that of the last transaction, as the client's. `is_waited_for` is whether the
    /// daemon that sent them runs.
    pub(crate) fn submit(&mut self, bytes: &[u8], is_waited_for: bool, disturbed: bool) -> Outcome {
        // A stopped account sends nothing.
        let stopped = is_waited_for && self.stopped().is_some();
        let transactions = bundle::transactions(bytes).filter(|_| !stopped);
        let mut outcome = Outcome::NotSent;
        for transaction in transactions.unwrap_or_default() {
            outcome = self.submit_one(transaction, disturbed);
        }
        outcome
    }

    fn submit_one(&mut self, bytes: &[u8], disturbed: bool) -> Outcome {
        let faults = if disturbed {
            &self.config.faults
        } else {
            &CALM
        };
        let Ok(read) = Signed::read(bytes, CHAIN_ID) else {
            return Outcome::NotSent;
        };
        let mut strikes = |parts: u32| self.random.below(PARTS) < u64::from(parts);
        let followed = match &mut self.fork {
            Some((fork, _)) => fork,
            None => &mut self.chain,
        };
        if strikes(faults.unanswered) {
            if strikes(5_000) {
                // It arrived all the same, and the answer is lost.
                drop(followed.submit(bytes));
            }
            return Outcome::Unknown(UnknownCause::Timeout);
        }
        let answer = if strikes(faults.pool_full) {
            Err(Refusal {
                code: -32_000,
                message: "txpool is full".to_owned(),
                data: None,
            })
        } else {
            followed.submit(bytes)
        };
        let sent = rules::sent(&answer);
        let known = self.account.as_ref().and_then(Account::known_number);
        let spent_below = match (sent, known) {
            (rules::Sent::NonceTooLow, Some(number)) => {
                let nodes = Nodes::new(followed, faults, &mut self.random);
                let at = BlockTag::Number(number);
                at_once(nodes.fact(&NonceAt { account: OWN, at })).ok()
            }
            _ => None,
        };
        rules::outcome(sent, read.transaction().nonce, spent_below)
    }

    /// What the account holds after everything that is booked: below this nonce.
    pub(crate) fn held_below(&self, nonce: u64) -> Amounts {
        let last = nonce.checked_sub(1);
        let settled = last.and_then(|last| self.chain.settled_nonce(last));
        let state = settled.map_or_else(|| self.chain.genesis(), |of| of.after);
        let pool = &self.pools[0];
        let [first, second] = pool.pooled;
        let ids = [first, second, pool.lp.id];
        let mut held: Amounts = ids.into_iter().zip(state.held).collect();
        held.insert(COIN, state.coin);
        held
    }

    /// What the account holds in the finalized block.
    pub(crate) fn held(&self) -> Amounts {
        self.held_below(self.chain.final_block().state.nonce)
    }
}

/// What a node answers a client that it refuses.
pub(crate) const REFUSES_CLIENT: Reason = rules::KEYS;
