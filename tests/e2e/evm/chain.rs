//! Blocks, the transactions that wait for one, and what can happen to both.

use std::collections::BTreeMap;

use cambist_evm::transaction::Signed;
use cambist_evm::{Address, Hash32, U256, keccak256};

use super::contracts::{World, Written};

pub const CHAIN_ID: u64 = 31_337;
/// Time of the first block.
const GENESIS_S: u64 = 1_900_000_000;
/// What every gas costs at least.
pub const BASE_FEE: u128 = 1_000_000_000;
/// Blocks that exist at the beginning.
const FIRST_BLOCKS: u64 = 20;

/// A transaction in a block.
#[derive(Clone, Debug)]
pub struct Mined {
    pub hash: Hash32,
    pub from: Address,
    pub to: Option<Address>,
    pub succeeded: bool,
    pub gas_used: u64,
    pub gas_price: u128,
    pub logs: Vec<Written>,
}

#[derive(Clone, Debug)]
pub struct Block {
    pub number: u64,
    pub hash: Hash32,
    pub parent: Hash32,
    pub timestamp_s: u64,
    pub mined: Vec<Mined>,
    /// After it.
    pub world: World,
}

/// A chain as one node follows it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent faults, not states of one thing"
)]
#[derive(Clone, Debug)]
pub struct Chain {
    pub id: u64,
    blocks: Vec<Block>,
    /// What was sent and is in no block.
    pub waiting: BTreeMap<Hash32, Signed>,
    /// Blocks between the newest and the finalized one.
    pub finality: u64,
    /// Nothing that waits gets into a block.
    pub is_full: bool,
    /// No blocks are made.
    pub is_stalled: bool,
    /// What is sent is taken and forgotten.
    pub is_forgetful: bool,
    /// Its node runs calls with other code than the chain's.
    pub runs_other_code: bool,
    /// Distinguishes blocks of one number.
    branch: u64,
    /// Everything that was ever sent, by hash.
    pub sent: BTreeMap<Hash32, Signed>,
}

impl Chain {
    pub fn new(world: World) -> Self {
        let mut chain = Self {
            id: CHAIN_ID,
            blocks: Vec::new(),
            waiting: BTreeMap::new(),
            finality: 1,
            is_full: false,
            is_stalled: false,
            is_forgetful: false,
            runs_other_code: true,
            branch: 0,
            sent: BTreeMap::new(),
        };
        let first = Block {
            number: 0,
            hash: Hash32([1; 32]),
            parent: Hash32([0; 32]),
            timestamp_s: GENESIS_S,
            mined: Vec::new(),
            world,
        };
        chain.blocks.push(first);
        for age in 1..=FIRST_BLOCKS {
            chain.mine(GENESIS_S + age);
        }
        chain
    }

    pub fn latest(&self) -> &Block {
        self.blocks.last().unwrap()
    }

    pub fn finalized(&self) -> &Block {
        let newest = self.latest().number;
        self.block(newest.saturating_sub(self.finality)).unwrap()
    }

    pub fn block(&self, number: u64) -> Option<&Block> {
        self.blocks.get(usize::try_from(number).unwrap())
    }

    pub fn by_hash(&self, hash: Hash32) -> Option<(&Block, &Mined)> {
        let of_block = |block: &Block| block.mined.iter().position(|of| of.hash == hash);
        let found = self
            .blocks
            .iter()
            .find_map(|block| Some((block, of_block(block)?)));
        found.map(|(block, at)| (block, &block.mined[at]))
    }

    /// Changes what the newest block left behind, as transactions of others do.
    pub fn change(&mut self, edit: impl FnOnce(&mut World)) {
        edit(&mut self.blocks.last_mut().unwrap().world);
    }

    /// Makes a block of this time with everything that can be executed.
    pub fn mine(&mut self, timestamp_s: u64) {
        let latest = self.latest();
        let (number, parent) = (latest.number + 1, latest.hash);
        let mut world = latest.world.clone();
        let mut mined = Vec::new();
        while let Some(next) = self.executable(&world) {
            mined.push(execute(&mut world, &next, timestamp_s));
            self.waiting.remove(&next.hash());
        }
        let name = [number.to_be_bytes(), self.branch.to_be_bytes()].concat();
        self.blocks.push(Block {
            number,
            hash: Hash32(keccak256(&[&name])),
            parent,
            timestamp_s,
            mined,
            world,
        });
        let spent = |of: &Signed| {
            let latest = &self.blocks.last().unwrap().world;
            of.transaction().nonce < latest.nonce(of.sender().unwrap())
        };
        let dead: Vec<_> = self.waiting.iter().filter(|(_, of)| spent(of)).collect();
        let dead: Vec<_> = dead.into_iter().map(|(hash, _)| *hash).collect();
        for hash in dead {
            self.waiting.remove(&hash);
        }
    }

    fn executable(&self, world: &World) -> Option<Signed> {
        if self.is_full {
            return None;
        }
        let is_next = |of: &&Signed| {
            let transaction = of.transaction();
            let next = world.nonce(of.sender().unwrap());
            transaction.nonce == next && transaction.fee_max >= BASE_FEE
        };
        self.waiting.values().find(is_next).cloned()
    }

    /// Takes signed bytes, as a node does.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Hash32, &'static str> {
        let signed = Signed::read(bytes, self.id).map_err(|_| "invalid transaction")?;
        let from = signed.sender().map_err(|_| "invalid sender")?;
        let (hash, of) = (signed.hash(), signed.transaction());
        let latest = &self.latest().world;
        if self.is_forgetful {
            return Ok(hash);
        }
        if self.waiting.contains_key(&hash) {
            return Err("already known");
        }
        if of.nonce < latest.nonce(from) {
            return Err("nonce too low");
        }
        let coin = latest.coin.get(&from).copied().unwrap_or_default();
        if of.cost_max().is_none_or(|cost| cost > coin) {
            return Err("insufficient funds for gas * price + value");
        }
        let is_rival = |other: &Signed| {
            other.transaction().nonce == of.nonce && other.sender().unwrap() == from
        };
        let rival = self.waiting.values().find(|other| is_rival(other));
        if let Some(rival) = rival {
            let before = rival.transaction();
            let raised = |new: u128, old: u128| new >= old + old.div_ceil(10);
            let is_raised = raised(of.fee_max, before.fee_max)
                && raised(of.priority_fee_max, before.priority_fee_max);
            if !is_raised {
                return Err("replacement transaction underpriced");
            }
            let replaced = rival.hash();
            self.waiting.remove(&replaced);
        }
        self.waiting.insert(hash, signed.clone());
        self.sent.insert(hash, signed);
        Ok(hash)
    }

    /// Replaces the newest `depth` blocks by as many others, without transactions.
    pub fn fork(&mut self, depth: u64) {
        let times: Vec<_> = (0..depth)
            .map(|_| self.blocks.pop().unwrap().timestamp_s)
            .collect();
        self.branch += 1;
        let was_full = std::mem::replace(&mut self.is_full, true);
        for timestamp_s in times.into_iter().rev() {
            self.mine(timestamp_s);
        }
        self.is_full = was_full;
    }

    /// The chain without its newest blocks, as a node has it that is behind.
    pub fn behind(&self, blocks: u64) -> Self {
        let mut behind = self.clone();
        let left = self.blocks.len() - usize::try_from(blocks).unwrap();
        behind.blocks.truncate(left);
        behind
    }

    /// The chain as it was `depth` blocks ago, with nothing that waits; blocks to come are others.
    pub fn rewind(&mut self, depth: u64) {
        self.blocks
            .truncate(self.blocks.len() - usize::try_from(depth).unwrap());
        self.waiting.clear();
        self.branch += 1;
    }
}

fn execute(world: &mut World, signed: &Signed, now_s: u64) -> Mined {
    let (of, from) = (signed.transaction(), signed.sender().unwrap());
    *world.nonces.entry(from).or_default() += 1;
    let done = world.execute(from, of, now_s);
    let gas_used = if of.data.is_empty() { 21_000 } else { 90_000 };
    let gas_price = of.fee_max.min(BASE_FEE + of.priority_fee_max);
    let paid = U256::from(gas_used) * U256::from(gas_price);
    *world.coin.entry(from).or_default() -= paid;
    Mined {
        hash: signed.hash(),
        from,
        to: of.to,
        succeeded: done.is_ok(),
        gas_used,
        gas_price,
        logs: done.unwrap_or_default(),
    }
}
