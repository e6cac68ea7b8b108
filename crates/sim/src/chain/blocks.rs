//! The chain: blocks, the newest and the finalized one, and blocks that are replaced by others.

use std::collections::BTreeMap;

use cambist_evm::block::Block;
use cambist_evm::receipt::Receipt;
use cambist_evm::rpc::Refusal;
use cambist_evm::transaction::Signed;
use cambist_evm::{Hash32, Malformed, U256};
use cambist_venue::Random;

use crate::chain::contracts::State;
use crate::chain::mempool::{Mempool, Waiting};
use crate::chain::traders::Traders;
use crate::chain::{CHAIN_ID, OWN, ROUTER, positions};
use crate::config::{ChainConfig, ChainFaultsConfig, PARTS};

/// Number of the first block.
const FIRST: u64 = 1_000;
/// The base fee at the beginning, and its bounds: base units of the coin per gas.
const BASE_FEE: u128 = 20_000_000_000;
const BASE_FEE_MIN: u128 = 1_000_000_000;
const BASE_FEE_MAX: u128 = 400_000_000_000;
/// Within so many seconds more blocks are of another branch.
const STALE_BLOCKS: u64 = 6;

/// A transaction of ours in a block.
#[derive(Clone, Debug)]
pub(crate) struct Included {
    /// As it waited.
    pub waiting: Waiting,
    /// Its receipt.
    pub receipt: Receipt,
    /// What it changed of both tokens and the shares.
    pub moved: [i128; 3],
    /// What the router was allowed before it.
    pub allowed: [U256; 3],
    /// The state after it.
    pub after: State,
}

impl Included {
    /// Whether it is a join, an exit or a swap.
    pub(crate) fn is_router_call(&self) -> bool {
        self.waiting.transaction.to == Some(ROUTER)
    }
}

/// A call of the router that found more approved than it may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverApproved {
    pub nonce: u64,
    /// Of the first token, the second, or the shares.
    pub at: usize,
    pub allowed: U256,
    pub needed: U256,
}

/// A block with what it holds.
#[derive(Clone, Debug)]
pub(crate) struct Mined {
    /// The block.
    pub block: Block,
    /// The state after it.
    pub state: State,
    /// Our transactions in it.
    pub included: Vec<Included>,
    /// The finalized block when this one was the newest.
    pub finalized: u64,
    traders: Traders,
}

/// Blocks that were replaced, which some nodes still follow.
#[derive(Clone, Debug)]
pub(crate) struct Stale {
    /// The last block that both branches have.
    pub fork: u64,
    /// Those above it.
    pub blocks: Vec<Mined>,
    /// Newest block until which nodes may still follow it.
    pub until: u64,
}

/// The chain.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    config: ChainConfig,
    random: Random,
    blocks: Vec<Mined>,
    finalized: u64,
    /// The finalized block does not rise before this one is the newest.
    stalled_until: u64,
    mempool: Mempool,
    stale: Option<Stale>,
    /// Where transactions of ours are, in the newest branch.
    places: BTreeMap<Hash32, u64>,
    /// Makes hashes of blocks differ.
    salt: u64,
    /// Reorganisations so far, and transactions of ours that they took out of blocks.
    pub reorganised: u64,
    /// As above.
    pub taken_out: u64,
}

impl Chain {
    /// A chain whose first block has this time.
    pub(crate) fn new(config: &ChainConfig, state: &State, now_s: u64, seed: u64) -> Self {
        let mut chain = Self {
            config: config.clone(),
            random: Random::new(seed),
            blocks: Vec::new(),
            finalized: FIRST,
            stalled_until: 0,
            mempool: Mempool::default(),
            stale: None,
            places: BTreeMap::new(),
            salt: 0,
            reorganised: 0,
            taken_out: 0,
        };
        let block = Block {
            number: FIRST,
            hash: chain.next_hash(FIRST),
            parent: Hash32([0xee; 32]),
            timestamp_s: now_s,
            base_fee: BASE_FEE,
        };
        chain.blocks.push(Mined {
            block,
            state: *state,
            included: Vec::new(),
            finalized: FIRST,
            traders: Traders::new(state.pair.reserves),
        });
        chain
    }

    fn next_hash(&mut self, number: u64) -> Hash32 {
        self.salt += 1;
        let mut hash = [0xb1; 32];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        hash[8..16].copy_from_slice(&self.salt.to_be_bytes());
        Hash32(hash)
    }

    /// Another chain with the same transactions so far, whose blocks have other hashes.
    pub(crate) fn forked(&mut self) -> Self {
        let mut other = self.clone();
        self.salt += 1;
        other.salt = self.salt << 32;
        other.random = self.random.fork();
        other.stale = None;
        for mined in &mut other.blocks {
            other.salt += 1;
            mined.block.hash.0[8..16].copy_from_slice(&other.salt.to_be_bytes());
            for included in &mut mined.included {
                included.receipt.block_hash = mined.block.hash;
            }
        }
        other
    }

    /// The newest block.
    pub(crate) fn newest(&self) -> &Mined {
        self.blocks.last().expect("there is a first block")
    }

    /// The number of the finalized block.
    pub(crate) const fn finalized(&self) -> u64 {
        self.finalized
    }

    /// The block of a number.
    pub(crate) fn at(&self, number: u64) -> Option<&Mined> {
        let place = number.checked_sub(FIRST)?;
        self.blocks.get(usize::try_from(place).ok()?)
    }

    /// The finalized block.
    pub(crate) fn final_block(&self) -> &Mined {
        self.at(self.finalized).expect("it is in the chain")
    }

    /// The state before the first block.
    pub(crate) fn genesis(&self) -> State {
        self.blocks[0].state
    }

    /// What was replaced last, while nodes may still follow it: never when others have finalized what replaced it.
    pub(crate) fn stale(&self) -> Option<&Stale> {
        let newest = self.newest().block.number;
        let is_followed = |stale: &&Stale| newest <= stale.until && self.finalized <= stale.fork;
        self.stale.as_ref().filter(is_followed)
    }

    /// The block that holds a transaction.
    pub(crate) fn place(&self, hash: Hash32) -> Option<u64> {
        self.places.get(&hash).copied()
    }

    /// A transaction of ours in a finalized block.
    pub(crate) fn settled(&self, hash: Hash32) -> Option<&Included> {
        let number = self
            .place(hash)
            .filter(|number| *number <= self.finalized)?;
        let mined = self.at(number)?;
        mined.included.iter().find(|of| of.waiting.hash == hash)
    }

    /// Our transaction with this nonce in a finalized block.
    pub(crate) fn settled_nonce(&self, nonce: u64) -> Option<&Included> {
        let finalized = self.blocks.iter();
        let mut finalized = finalized.take_while(|mined| mined.block.number <= self.finalized);
        finalized.find_map(|mined| {
            let mut included = mined.included.iter();
            included.find(|of| of.waiting.transaction.nonce == nonce)
        })
    }

    /// Bytes arrive at a node.
    ///
    /// # Errors
    /// Its refusal.
    pub(crate) fn submit(&mut self, bytes: &[u8]) -> Result<Hash32, Refusal> {
        let signed = Signed::read(bytes, CHAIN_ID);
        let of_account = |signed: Signed| match signed.sender() {
            Ok(OWN) => Ok(signed),
            _ => Err(Malformed::Signature),
        };
        let signed = signed.and_then(of_account).map_err(|error| Refusal {
            code: -32_000,
            message: format!("invalid transaction: {error}"),
            data: None,
        })?;
        let state = self.newest().state;
        self.mempool.add(&signed, &state)
    }

    /// The next block is due at this time; `faults` are those of now.
    pub(crate) fn advance(&mut self, now_s: u64, faults: &ChainFaultsConfig) {
        for nonce in self.mempool.nonces() {
            if self.strikes(faults.dropped) {
                self.mempool.forget(nonce);
            }
        }
        if self.strikes(faults.missed) {
            return;
        }
        let newest = self.newest().block;
        if newest.timestamp_s < now_s {
            self.mine(now_s, faults);
        }
        if self.strikes(faults.reorganised) {
            self.reorganise(faults);
        }
        let newest = self.newest().block.number;
        if self.strikes(faults.finality_stalled) {
            let blocks = self.random.between(1, self.config.stall_blocks_max.max(1));
            self.stalled_until = newest + blocks;
        }
        if newest >= self.stalled_until {
            let due = newest.saturating_sub(self.config.finality_blocks);
            self.finalized = self.finalized.max(due);
        }
        let finalized = self.finalized;
        if let Some(mined) = self.blocks.last_mut() {
            mined.finalized = finalized;
        }
    }

    fn strikes(&mut self, parts: u32) -> bool {
        parts > 0 && self.random.chance(parts.into(), PARTS)
    }

    fn mine(&mut self, timestamp_s: u64, faults: &ChainFaultsConfig) {
        let parent = self.newest();
        let (mut state, mut traders) = (parent.state, parent.traders);
        let of_parent = parent.block;
        let base_fee = self.base_fee(of_parent.base_fee, faults);
        let number = of_parent.number + 1;
        let block = Block {
            number,
            hash: self.next_hash(number),
            parent: of_parent.hash,
            timestamp_s,
            base_fee,
        };
        // Others trade before and after ours.
        state.trade(&mut traders, &mut self.random);
        let mut included = Vec::new();
        while let Some(waiting) = self.mempool.at(state.nonce).cloned() {
            let of = &waiting.transaction;
            let cost = of.cost_max();
            let pays = cost.is_some_and(|cost| cost <= cambist_evm::U256::from(state.coin));
            if of.fee_max < base_fee || !pays || self.strikes(faults.withheld) {
                break;
            }
            self.mempool.forget(of.nonce);
            let allowed = state.allowed;
            let done = state.execute(of, base_fee, timestamp_s);
            let receipt = Receipt {
                transaction: waiting.hash,
                block_number: number,
                block_hash: block.hash,
                from: OWN,
                to: of.to,
                created: None,
                succeeded: done.succeeded,
                gas_used: done.gas_used,
                gas_price: done.gas_price,
                logs: done.logs,
            };
            self.places.insert(waiting.hash, number);
            included.push(Included {
                waiting,
                receipt,
                moved: done.moved,
                allowed,
                after: state,
            });
        }
        state.trade(&mut traders, &mut self.random);
        self.mempool.forget_below(state.nonce);
        let finalized = self.finalized;
        self.blocks.push(Mined {
            block,
            state,
            included,
            finalized,
            traders,
        });
    }

    fn base_fee(&mut self, before: u128, faults: &ChainFaultsConfig) -> u128 {
        let eighth = before / 8;
        let next = if self.strikes(faults.dear) {
            before.saturating_mul(3)
        } else if before > BASE_FEE {
            before - eighth / 2
        } else if self.random.chance(1, 2) {
            before + eighth / 4
        } else {
            before - eighth / 4
        };
        next.clamp(BASE_FEE_MIN, BASE_FEE_MAX)
    }

    /// The newest blocks are replaced by others of the same times. What was in them waits again, or is forgotten.
    fn reorganise(&mut self, faults: &ChainFaultsConfig) {
        let newest = self.newest().block.number;
        let most = newest - self.finalized;
        if most == 0 {
            return;
        }
        let depth = self.random.between(1, most);
        let fork = newest - depth;
        let kept = usize::try_from(fork + 1 - FIRST).unwrap_or(usize::MAX);
        let replaced = self.blocks.split_off(kept);
        self.reorganised += 1;
        for included in replaced.iter().flat_map(|mined| &mined.included) {
            self.places.remove(&included.waiting.hash);
            self.taken_out += 1;
            if !self.random.chance(1, 4) {
                self.mempool.again(included.waiting.clone());
            }
        }
        let mut times: Vec<_> = replaced
            .iter()
            .map(|mined| mined.block.timestamp_s)
            .collect();
        // The other branch may be one block behind.
        if times.len() > 1 && self.random.chance(1, 2) {
            times.pop();
        }
        for timestamp_s in times {
            self.mine(timestamp_s, faults);
        }
        self.stale = Some(Stale {
            fork,
            blocks: replaced,
            until: self.newest().block.number + STALE_BLOCKS,
        });
    }

    /// A call of the router that could take more than it needed, of the newest block. A reverted one took nothing: bytes
    /// whose deadline has passed may find the permission of a later intent.
    pub(crate) fn over_approved(&self) -> Option<OverApproved> {
        use cambist_evm::call::Call;
        let included = &self.newest().included;
        included.iter().find_map(|of| {
            if !of.is_router_call() || !of.receipt.succeeded {
                return None;
            }
            let data = &of.waiting.transaction.data;
            let needed = match Call::read(data) {
                Ok(Call::AddLiquidity { a_max, b_max, .. }) => [a_max, b_max, U256::MAX],
                Ok(Call::RemoveLiquidity { shares, .. }) => [U256::MAX, U256::MAX, shares],
                _ => positions::needed(data)?,
            };
            let is_over = |at: &usize| needed[*at] != U256::MAX && of.allowed[*at] > needed[*at];
            let at = (0..3).find(is_over)?;
            Some(OverApproved {
                nonce: of.waiting.transaction.nonce,
                at,
                allowed: of.allowed[at],
                needed: needed[at],
            })
        })
    }
}
