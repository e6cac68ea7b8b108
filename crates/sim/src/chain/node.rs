//! Nodes: they answer JSON-RPC about the chain, and are asked by the adapter's own code ([`ChainReader`]).
//!
//! Each request may reach another node behind one address: one that is some blocks behind, or that still follows blocks
//! which were replaced, or that does not know a receipt yet. Without faults all of them are up to date.

use std::sync::Mutex;

use cambist_core::request::{Outcome, UnknownCause};
use cambist_core::venue::VenueRules;
use cambist_evm::block::{Block, BlockTag};
use cambist_evm::call::Call;
use cambist_evm::receipt::Receipt;
use cambist_evm::rpc::{Ask, BlockAt, Refusal};
use cambist_evm::wire::{self, to_data, to_quantity};
use cambist_evm::{Address, Hash32, U256};
use cambist_evm_venue::answers::{ChainReader, NoAnswer};
use cambist_evm_venue::rules;
use cambist_venue::Random;
use serde_json::{Value, json};

use crate::chain::blocks::{Chain, Included, Mined};
use crate::chain::contracts::place;
use crate::chain::{PAIR, ROUTER, range_views};
use crate::config::{ChainFaultsConfig, PARTS};

/// Decimals that the contracts state, by place.
pub(crate) const DECIMALS: [u64; 3] = [18, 6, 18];

/// What a node follows: blocks of the newest branch up to one, and perhaps others above it.
#[derive(Clone, Copy)]
struct Branch<'a> {
    chain: &'a Chain,
    /// The last block of the newest branch that it has.
    upto: u64,
    /// Blocks above it, of another branch.
    others: &'a [Mined],
}

impl<'a> Branch<'a> {
    fn newest(&self) -> Option<&'a Mined> {
        self.others.last().or_else(|| self.chain.at(self.upto))
    }

    fn at(&self, number: u64) -> Option<&'a Mined> {
        if number <= self.upto {
            return self.chain.at(number);
        }
        self.others
            .iter()
            .find(|mined| mined.block.number == number)
    }

    fn tagged(&self, tag: &str) -> Option<&'a Mined> {
        match tag {
            "latest" => self.newest(),
            "finalized" => self.at(self.newest()?.finalized),
            number => self.at(wire::quantity_u64(number).ok()?),
        }
    }

    fn receipt(&self, hash: Hash32) -> Option<&'a Included> {
        let of = |mined: &'a Mined| mined.included.iter().find(|of| of.waiting.hash == hash);
        let of_others = self.others.iter().find_map(of);
        let number = self.chain.place(hash).filter(|number| *number <= self.upto);
        let on_newest = || self.chain.at(number?).and_then(of);
        of_others.or_else(on_newest)
    }
}

/// Nodes behind one address, for the requests of one moment.
pub(crate) struct Nodes<'a> {
    chain: &'a Chain,
    faults: &'a ChainFaultsConfig,
    random: Mutex<&'a mut Random>,
}

/// Why there is no result.
enum NoResult {
    Refused(Refusal),
    Unanswered,
}

fn refused(message: &str) -> NoResult {
    NoResult::Refused(Refusal {
        code: -32_000,
        message: message.to_owned(),
        data: None,
    })
}

impl<'a> Nodes<'a> {
    pub(crate) const fn new(
        chain: &'a Chain,
        faults: &'a ChainFaultsConfig,
        random: &'a mut Random,
    ) -> Self {
        Self {
            chain,
            faults,
            random: Mutex::new(random),
        }
    }

    fn strikes(&self, parts: u32) -> bool {
        parts > 0 && self.below(PARTS) < u64::from(parts)
    }

    fn below(&self, bound: u64) -> u64 {
        let random = self.random.lock();
        random.map_or(0, |mut random| random.below(bound))
    }

    /// The branch of the node that a request reaches.
    fn branch(&self) -> Branch<'a> {
        let chain = self.chain;
        let newest = chain.newest().block.number;
        let whole = Branch {
            chain,
            upto: newest,
            others: &[],
        };
        if !self.strikes(self.faults.lagging) {
            return whole;
        }
        if let Some(stale) = chain.stale()
            && self.below(2) == 0
        {
            return Branch {
                chain,
                upto: stale.fork,
                others: &stale.blocks,
            };
        }
        let behind = 1 + self.below(self.faults.lag_blocks_max.max(1));
        let upto = newest.saturating_sub(behind);
        match chain.at(upto) {
            Some(_) => Branch { upto, ..whole },
            None => whole,
        }
    }

    fn result(&self, method: &str, params: &Value) -> Result<Value, NoResult> {
        if self.strikes(self.faults.unanswered) {
            return Err(NoResult::Unanswered);
        }
        let branch = self.branch();
        let text = |at: usize| params[at].as_str().unwrap_or_default();
        let state = |at: usize| {
            let mined = branch.tagged(text(at));
            mined
                .map(|mined| mined.state)
                .ok_or_else(|| refused("header not found"))
        };
        match method {
            "eth_getBlockByNumber" => {
                let mined = branch.tagged(text(0));
                Ok(mined.map_or(Value::Null, |mined| block(&mined.block)))
            }
            "eth_getTransactionCount" => Ok(quantity(U256::from(state(1)?.nonce))),
            "eth_getBalance" => Ok(quantity(U256::from(state(1)?.coin))),
            "eth_getTransactionReceipt" => {
                if self.strikes(self.faults.receipts_missing) {
                    return Ok(Value::Null);
                }
                let hash = wire::fixed(text(0)).map(Hash32);
                let found = hash.ok().and_then(|hash| branch.receipt(hash));
                Ok(found.map_or(Value::Null, |of| receipt(&of.receipt)))
            }
            "eth_call" => {
                let state = state(1)?;
                let message = &params[0];
                let to = message["to"].as_str().unwrap_or_default();
                let to = wire::fixed(to).map_or(Address::ZERO, Address);
                let data = message["input"].as_str().unwrap_or_default();
                let data = wire::data(data).unwrap_or_default();
                let returned = called(&state, to, &data);
                let returned = returned.ok_or_else(|| refused("execution reverted"))?;
                Ok(Value::String(to_data(&returned)))
            }
            _ => Err(refused("the method does not exist")),
        }
    }

    fn ask<A: Ask>(&self, ask: &A) -> Result<A::Answer, NoAnswer> {
        let result = self
            .result(A::METHOD, &ask.params())
            .map_err(|why| match why {
                NoResult::Refused(refusal) => NoAnswer::unknown(&refusal.message),
                NoResult::Unanswered => NoAnswer {
                    outcome: Box::new(Outcome::Unknown(UnknownCause::Timeout)),
                    detail: "a node gave no answer".to_owned(),
                    is_doubt: false,
                },
            })?;
        let wire = serde_json::from_value(result);
        let wire = wire.map_err(|error| NoAnswer::unknown(&error))?;
        Ok(ask.read(wire)?)
    }
}

impl ChainReader for Nodes<'_> {
    async fn fact<A>(&self, ask: &A) -> Result<A::Answer, NoAnswer>
    where
        A: Ask + Sync,
        A::Answer: PartialEq + Send,
    {
        self.ask(ask)
    }

    async fn newest(&self) -> Result<Block, NoAnswer> {
        let block = self.ask(&BlockAt(BlockTag::Latest))?;
        block.ok_or_else(NoAnswer::missing)
    }

    async fn finalized(&self) -> Result<Block, NoAnswer> {
        let block = self.ask(&BlockAt(BlockTag::Finalized))?;
        block.ok_or_else(NoAnswer::missing)
    }
}

/// What a call of a contract returns.
fn called(state: &crate::chain::contracts::State, to: Address, data: &[u8]) -> Option<Vec<u8>> {
    if let (Some(ranges), PAIR | ROUTER) = (&state.range, to) {
        return range_views::called(ranges, to, data);
    }
    let at = place(to)?;
    let word = |number: U256| number.to_be_bytes::<32>().to_vec();
    let is_pair = at == crate::chain::contracts::SHARES;
    match Call::read(data).ok()? {
        Call::BalanceOf { owner } if owner == crate::chain::OWN => {
            Some(word(U256::from(state.held[at])))
        }
        Call::Allowance { owner, spender }
            if owner == crate::chain::OWN && spender == crate::chain::ROUTER =>
        {
            Some(word(state.allowed[at]))
        }
        Call::Decimals {} => Some(word(U256::from(DECIMALS[at]))),
        Call::TotalSupply {} if is_pair => Some(word(U256::from(state.pair.supply))),
        Call::KLast {} if is_pair => Some(word(state.pair.k_last)),
        Call::GetReserves {} if is_pair => {
            let [first, second] = state.pair.reserves.map(U256::from);
            Some(
                [first, second, U256::ZERO]
                    .into_iter()
                    .flat_map(word)
                    .collect(),
            )
        }
        _ => None,
    }
}

fn quantity(number: U256) -> Value {
    Value::String(to_quantity(number))
}

fn block(of: &Block) -> Value {
    json!({
        "number": to_quantity(U256::from(of.number)),
        "hash": of.hash.to_hex(),
        "parentHash": of.parent.to_hex(),
        "timestamp": to_quantity(U256::from(of.timestamp_s)),
        "baseFeePerGas": to_quantity(U256::from(of.base_fee)),
    })
}

fn receipt(of: &Receipt) -> Value {
    let logs = of.logs.iter().map(|log| {
        let topics: Vec<_> = log.topics.iter().map(Hash32::to_hex).collect();
        json!({
            "address": log.address.to_hex(),
            "topics": topics,
            "data": to_data(&log.data),
            "logIndex": to_quantity(U256::from(log.index)),
            "transactionHash": of.transaction.to_hex(),
            "blockHash": of.block_hash.to_hex(),
        })
    });
    json!({
        "transactionHash": of.transaction.to_hex(),
        "blockNumber": to_quantity(U256::from(of.block_number)),
        "blockHash": of.block_hash.to_hex(),
        "from": of.from.to_hex(),
        "to": of.to.as_ref().map(Address::to_hex),
        "contractAddress": null,
        "status": to_quantity(U256::from(u64::from(of.succeeded))),
        "gasUsed": to_quantity(U256::from(of.gas_used)),
        "effectiveGasPrice": to_quantity(U256::from(of.gas_price)),
        "logs": logs.collect::<Vec<_>>(),
    })
}

/// The rules of the model's chain with pairs.
pub(crate) fn venue_rules(block_ms: u64) -> VenueRules {
    rules::rules(crate::chain::COIN, block_ms, false)
}
