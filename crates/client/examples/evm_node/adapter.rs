//! The adapter as a shell would run it: seals, sends, follows the chain, settles finalized receipts, keeps books.

use std::collections::BTreeMap;

use cambist_client::{Node, NodeOutcome, NodeRefusal, Nodes};
use cambist_core::event::Totals;
use cambist_core::order::{FillBy, OrderReport, Swap, UnsignedOrder};
use cambist_core::pool::{PoolBalances, PoolTransactionReport, UnsignedPoolTransaction};
use cambist_core::postings::{Postings, Traded};
use cambist_core::request::{OrderList, OrdersPage, Outcome, UnknownCause};
use cambist_core::strategy::WantedSwap;
use cambist_core::venue::AmountRule;
use cambist_core::{
    Amount, ClientOrderId, Hash, MarketId, MarketSpec, OrderKind, PoolTransactionKind, Reason,
    Side, StrategyId, TokenId, VenueTime, shares, swap,
};
use cambist_evm::abi::one_number;
use cambist_evm::block::{Block, BlockTag};
use cambist_evm::call::{Call, amount, reserves};
use cambist_evm::pair::supply_with_fee;
use cambist_evm::rpc::{BalanceAt, BlockAt, CallAt, Message, NonceAt, ReceiptOf};
use cambist_evm::{Address, EthKey, Hash32, U256};
use cambist_evm_venue::chain::Chain;
use cambist_evm_venue::fees::Fees;
use cambist_evm_venue::finality::View;
use cambist_evm_venue::nonces::{Candidate, Fate, Nonces, Purpose};
use cambist_evm_venue::rules::{self, Sent};
use cambist_evm_venue::seal::{Sealed, approvals};
use cambist_evm_venue::{list, settle};

use crate::contracts::{BLOCK_S, COIN, FIRST, SECOND, SHARES};
use crate::node::ask;
use crate::{Step, ensure};

/// Finality lags by two blocks here.
pub const GRACE_MS: u64 = 3 * BLOCK_S * 1_000;
/// Intents may be executed for so long.
pub const TTL_S: u64 = 5 * BLOCK_S;
/// Slippage of joins, exits and swaps.
pub const SLIPPAGE_BPS: u32 = 50;
const PRIORITY: u128 = 1_000_000_000;
/// Most per gas.
pub const FEE_CAP: u128 = 500_000_000_000;

/// What was sealed.
#[derive(Clone, Debug)]
pub enum What {
    Pool(UnsignedPoolTransaction),
    Swap(UnsignedOrder),
    Approval(TokenId, Amount),
    Burn,
}

/// How something that was sealed ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    Pool(PoolTransactionReport),
    Swap(OrderReport),
    Approval(bool),
    Burn,
}

pub struct Adapter {
    pub chain: Chain,
    pub market: MarketSpec,
    pub key: EthKey,
    pub view: View,
    pub nonces: Nonces,
    pub sealed: BTreeMap<Hash, (What, Sealed)>,
    pub ended: BTreeMap<Hash, Ended>,
    pub totals: Totals,
    /// Nonces below are settled.
    pub settled_below: u64,
    number: u64,
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Adapter {
    pub async fn new(chain: Chain, market: MarketSpec, key: EthKey, node: &Node) -> Step<Self> {
        let genesis = ask(node, &BlockAt(BlockTag::Latest)).await?;
        let genesis = genesis.ok_or("no block")?;
        Ok(Self {
            chain,
            market,
            key,
            view: View::new(genesis, genesis).map_err(text)?,
            nonces: Nonces::default(),
            sealed: BTreeMap::new(),
            ended: BTreeMap::new(),
            totals: Totals::default(),
            settled_below: 0,
            number: 0,
        })
    }

    /// Opening balances, from the finalized block.
    pub async fn open(&mut self, node: &Node) -> Step {
        for (token, held) in self.held(node).await? {
            self.totals.insert(token, held);
        }
        Ok(())
    }

    /// Follows the chain.
    pub async fn look(&mut self, node: &Node, nodes: &Nodes) -> Step {
        let latest = ask(node, &BlockAt(BlockTag::Latest)).await?;
        let latest = latest.ok_or("no newest block")?;
        let finalized = nodes.finalized().await.map_err(|why| format!("{why:?}"))?;
        let before = BlockAt(BlockTag::Number(self.view.finalized().number));
        let known = nodes
            .fact(&before)
            .await
            .map_err(|why| format!("{why:?}"))?;
        let known = known.ok_or("the finalized block of before is gone")?;
        let followed = self.view.follow(latest, finalized, &known, GRACE_MS);
        followed.map_err(text)
    }

    fn finalized(&self) -> Block {
        *self.view.finalized()
    }

    fn at_finalized(&self) -> BlockTag {
        BlockTag::Number(self.view.finalized().number)
    }

    async fn held(&self, node: &Node) -> Step<Vec<(TokenId, i128)>> {
        let signed = |number: U256| {
            let units = amount(number).map_err(text)?;
            i128::try_from(units).map_err(text)
        };
        let mut held = Vec::new();
        for token in [FIRST, SECOND, SHARES] {
            let contract = self.chain.contract(token).ok_or("no contract")?;
            let balance_of = Call::BalanceOf {
                owner: self.chain.account,
            };
            let at = self.at_finalized();
            let returned = returned(node, contract, &balance_of, at).await?;
            held.push((token, signed(one_number(&returned).map_err(text)?)?));
        }
        let of_coin = BalanceAt {
            account: self.chain.account,
            at: self.at_finalized(),
        };
        held.push((COIN, signed(ask(node, &of_coin).await?)?));
        Ok(held)
    }

    /// Whether the books are what the account holds in the finalized block, of every token and of the coin.
    pub async fn compare(&self, node: &Node) -> Step {
        for (token, held) in self.held(node).await? {
            let booked = self.totals.get(&token).copied().unwrap_or(0);
            ensure!(
                booked == held,
                "token {}: the books have {booked}, the chain has {held}",
                token.0
            );
        }
        Ok(())
    }

    /// What the pool holds in the newest block, with the shares of a protocol fee that is due.
    pub async fn pool(&self, node: &Node) -> Step<PoolBalances> {
        let pair = Address(self.chain.pools[0].address);
        let at = BlockTag::Latest;
        let pooled = returned(node, pair, &Call::GetReserves {}, at).await?;
        let pooled = reserves(&pooled).map_err(text)?.amounts;
        let supply = returned(node, pair, &Call::TotalSupply {}, at).await?;
        let k_last = returned(node, pair, &Call::KLast {}, at).await?;
        let (supply, k_last) = (one_number(&supply), one_number(&k_last));
        let supply = supply_with_fee(supply.map_err(text)?, pooled, k_last.map_err(text)?);
        let supply = amount(supply.map_err(text)?).map_err(text)?;
        Ok(PoolBalances::constant_product(pooled, supply))
    }

    fn client_id(&mut self) -> ClientOrderId {
        self.number += 1;
        ClientOrderId {
            instance: 1,
            strategy: StrategyId(0),
            number: self.number,
        }
    }

    fn deadline_s(&self) -> u32 {
        u32::try_from(self.view.latest().timestamp_s + TTL_S).unwrap_or(u32::MAX)
    }

    /// The next number for an intent.
    pub fn next_nonce(&self) -> u64 {
        self.nonces.next(self.settled_below)
    }

    pub fn join(&mut self, pool: &PoolBalances, shares: Amount, nonce: u64) -> Step<What> {
        let limits = shares::join(pool, shares, SLIPPAGE_BPS).ok_or("no limits")?;
        Ok(What::Pool(self.pool_transaction(
            PoolTransactionKind::Join,
            limits,
            nonce,
        )?))
    }

    pub fn exit(&mut self, pool: &PoolBalances, shares: Amount, nonce: u64) -> Step<What> {
        let limits = shares::exit(pool, shares, SLIPPAGE_BPS).ok_or("no limits")?;
        Ok(What::Pool(self.pool_transaction(
            PoolTransactionKind::Exit,
            limits,
            nonce,
        )?))
    }

    fn pool_transaction(
        &mut self,
        kind: PoolTransactionKind,
        limits: shares::Limits,
        nonce: u64,
    ) -> Step<UnsignedPoolTransaction> {
        Ok(UnsignedPoolTransaction {
            client_id: self.client_id(),
            market: MarketId(0),
            kind,
            pooled: [FIRST, SECOND],
            amounts: limits.amounts,
            lp: SHARES,
            lp_amount: limits.lp,
            storage_ids: vec![u32::try_from(nonce).map_err(text)?],
            fee_max: 0,
            valid_until_s: self.deadline_s(),
            made_at: self.view.venue_time(),
        })
    }

    /// A swap that accepts `SLIPPAGE_BPS` less than the pool pays.
    pub fn swap(
        &mut self,
        pool: &PoolBalances,
        side: Side,
        sell: Amount,
        nonce: u64,
    ) -> Step<What> {
        let (sold, bought) = match side {
            Side::Sell => (pool.pooled[0], pool.pooled[1]),
            Side::Buy => (pool.pooled[1], pool.pooled[0]),
        };
        let paid = swap::paid_for(sell, sold, bought, 30).ok_or("no price")?;
        let least = swap::least(paid, SLIPPAGE_BPS).ok_or("no price")?;
        self.swap_for(pool, side, sell, least, nonce)
    }

    pub fn swap_for(
        &mut self,
        pool: &PoolBalances,
        side: Side,
        sell: Amount,
        least: Amount,
        nonce: u64,
    ) -> Step<What> {
        let wanted = WantedSwap { side, sell, least };
        let (base, quote) = (pool.pooled[0], pool.pooled[1]);
        let terms = swap::terms(&self.market, &wanted, (base, quote), 30, SLIPPAGE_BPS);
        let terms = terms.ok_or("no terms")?;
        let until_s = self.deadline_s();
        Ok(What::Swap(UnsignedOrder {
            client_id: self.client_id(),
            market: MarketId(0),
            side,
            price: terms.price,
            qty: terms.qty,
            kind: OrderKind::TakerOnly,
            swap: Some(Swap { most: terms.most }),
            sell_token: self.market.sell_token(side),
            sell_amount: sell,
            buy_token: self.market.buy_token(side),
            buy_amount: least,
            fill_by: FillBy::Sell,
            slot: u32::try_from(nonce).map_err(text)?,
            accepted_until_s: until_s,
            rests_until_s: Some(until_s),
            max_fee_bips: 0,
            made_at: self.view.venue_time(),
        }))
    }

    /// The fees of the next transaction of a nonce.
    pub fn fees(&self, nonce: u64) -> Step<Fees> {
        let market = Fees::of_market(self.view.latest().base_fee, PRIORITY);
        self.nonces.fees(nonce, market, FEE_CAP).map_err(text)
    }

    /// Seals with fees that replace whatever has the nonce.
    pub fn seal(&mut self, what: What, nonce: u64) -> Step<Hash> {
        let fees = self.fees(nonce)?;
        let sealed = self.bytes(&what, nonce, fees)?;
        let purpose = match &what {
            What::Pool(intent) => Purpose::Intent {
                id: intent.client_id,
                deadline_s: intent.valid_until_s.into(),
            },
            What::Swap(intent) => Purpose::Intent {
                id: intent.client_id,
                deadline_s: intent.accepted_until_s.into(),
            },
            What::Approval(..) => Purpose::Approval,
            What::Burn => Purpose::Burn,
        };
        let hash = sealed.hash;
        let candidate = Candidate {
            hash,
            fees,
            gas_limit: sealed.gas_limit,
            purpose,
        };
        self.nonces.add(nonce, candidate).map_err(text)?;
        self.sealed.insert(hash, (what, sealed));
        Ok(hash)
    }

    /// The bytes, without keeping them.
    pub fn bytes(&self, what: &What, nonce: u64, fees: Fees) -> Step<Sealed> {
        let transaction = match what {
            What::Pool(intent) => self.chain.pool_transaction(intent, fees),
            What::Swap(intent) => self.chain.swap(intent, fees),
            What::Approval(token, amount) => self.chain.approval(*token, *amount, nonce, fees),
            What::Burn => Ok(self.chain.burn(nonce, fees)),
        };
        let sealed = self.chain.seal(&transaction.map_err(text)?, &self.key);
        sealed.map_err(text)
    }

    /// Sends what was sealed, the same bytes every time.
    pub async fn send(&self, nodes: &Nodes, hash: Hash) -> Step<Outcome> {
        let (_, sealed) = self.sealed.get(&hash).ok_or("not sealed")?;
        self.send_bytes(nodes, sealed).await
    }

    pub async fn send_bytes(&self, nodes: &Nodes, sealed: &Sealed) -> Step<Outcome> {
        let mut answers = nodes.submit(&sealed.bytes).await;
        let answer = answers.pop().ok_or("no node")?;
        let sent = match answer.outcome {
            NodeOutcome::Reply(hash) => rules::sent(&Ok(hash)),
            NodeOutcome::Refused(NodeRefusal::Error(refusal)) => {
                rules::sent::<Hash32>(&Err(refusal))
            }
            NodeOutcome::Refused(NodeRefusal::RateLimited { .. }) => {
                Sent::Refused(Reason::RateLimited)
            }
            NodeOutcome::Refused(NodeRefusal::Keys) => Sent::Refused(rules::KEYS),
            NodeOutcome::NotSent => return Ok(Outcome::NotSent),
            NodeOutcome::Unknown(cause) => return Ok(Outcome::Unknown(cause)),
        };
        let spent_below = self.spent_below(nodes).await?;
        Ok(rules::outcome(sent, sealed.nonce, Some(spent_below)))
    }

    async fn spent_below(&self, nodes: &Nodes) -> Step<u64> {
        let ask = NonceAt {
            account: self.chain.account,
            at: self.at_finalized(),
        };
        nodes.fact(&ask).await.map_err(|why| format!("{why:?}"))
    }

    /// What became of a nonce by the finalized block.
    pub async fn fate(&self, nodes: &Nodes, nonce: u64) -> Step<Fate> {
        let spent_below = self.spent_below(nodes).await?;
        let mut receipts = Vec::new();
        for candidate in self.nonces.of(nonce) {
            let ask = ReceiptOf(Hash32(candidate.hash.0));
            let receipt = nodes.fact(&ask).await.map_err(|why| format!("{why:?}"))?;
            receipts.push((candidate.hash, receipt));
        }
        self.nonces
            .fate(nonce, &self.finalized(), spent_below, &receipts)
            .map_err(text)
    }

    /// Books everything that has become final. How many nonces.
    pub async fn settle(&mut self, nodes: &Nodes) -> Step<u64> {
        let mut settled = 0;
        while self.settled_below < self.spent_below(nodes).await? {
            let nonce = self.settled_below;
            match self.fate(nodes, nonce).await? {
                Fate::Open => return Err(format!("nonce {nonce} is spent and open")),
                Fate::Foreign => return Err(format!("nonce {nonce} was spent by another holder")),
                Fate::Ours(candidate) => self.book(nodes, candidate.hash).await?,
            }
            self.settled_below += 1;
            settled += 1;
        }
        Ok(settled)
    }

    async fn book(&mut self, nodes: &Nodes, hash: Hash) -> Step {
        let ask = ReceiptOf(Hash32(hash.0));
        let receipt = nodes.fact(&ask).await.map_err(|why| format!("{why:?}"))?;
        let receipt = receipt.ok_or("the receipt is gone")?;
        let of_receipt = BlockAt(BlockTag::Number(receipt.block_number));
        let block = nodes
            .fact(&of_receipt)
            .await
            .map_err(|why| format!("{why:?}"))?;
        let block = block.ok_or("the block is gone")?;
        let (what, _) = self.sealed.get(&hash).ok_or("not sealed")?;
        let chain = &self.chain;
        let (ended, gas, postings) = match what {
            What::Pool(intent) => {
                let settled = chain.settle_pool_transaction(intent, &receipt, &block);
                let settle::Settled { report, gas } = settled.map_err(text)?;
                let amounts = report.amounts;
                let moved = Postings::of_pool(intent.kind, intent.pooled, intent.lp, &amounts);
                ensure!(
                    !receipt.succeeded || intent.allows(&amounts),
                    "{amounts:?} is not within {intent:?}"
                );
                (Ended::Pool(report), gas, moved)
            }
            What::Swap(intent) => {
                let settled = chain.settle_swap(intent, &self.market, &receipt, &block);
                let settle::Settled { report, gas } = settled.map_err(text)?;
                let traded = Traded {
                    base: report.base_filled,
                    quote: report.quote_filled,
                    fee: report.fee,
                };
                ensure!(
                    intent.allows(traded.base, traded.quote, AmountRule::default()),
                    "{traded:?} is not within {intent:?}"
                );
                let moved = Postings::of_trade(&self.market, intent.side, traded);
                (Ended::Swap(report), gas, moved)
            }
            What::Approval(token, allowed) => {
                let settled = chain.settle_approval(*token, *allowed, &receipt, &block);
                let settle::Settled { report, gas } = settled.map_err(text)?;
                (Ended::Approval(report), gas, Postings::default())
            }
            What::Burn => {
                let settled = chain.settle_burn(&receipt, &block).map_err(text)?;
                (Ended::Burn, settled.gas, Postings::default())
            }
        };
        let gas = i128::try_from(gas).map_err(text)?;
        let of_gas = Postings::of_token(COIN, -gas);
        let covered = postings.book(&mut self.totals) & of_gas.book(&mut self.totals);
        ensure!(covered, "the books fell below zero");
        let before = self.ended.insert(hash, ended);
        ensure!(before.is_none(), "{hash} was booked twice");
        Ok(())
    }

    /// Approvals that are missing for the router to take exactly `needed`.
    pub async fn approvals(&self, node: &Node, token: TokenId, needed: Amount) -> Step<Vec<What>> {
        let contract = self.chain.contract(token).ok_or("no contract")?;
        let allowance = Call::Allowance {
            owner: self.chain.account,
            spender: self.chain.router,
        };
        let returned = returned(node, contract, &allowance, BlockTag::Latest).await?;
        let allowed = one_number(&returned).map_err(text)?;
        let amounts = approvals(allowed, needed).into_iter();
        Ok(amounts
            .map(|amount| What::Approval(token, amount))
            .collect())
    }

    /// Hashes on a complete list of everything created until now; `None` while finality proves none.
    pub fn listed(&self) -> Option<Vec<Hash>> {
        let asked = OrdersPage {
            list: OrderList::All,
            from: VenueTime(0),
            to: self.view.venue_time(),
            offset: 0,
            limit: u32::MAX,
        };
        let of_swaps = self.ended.values().filter_map(|ended| match ended {
            Ended::Swap(report) => Some(report.clone()),
            _ => None,
        });
        let of_pools = self.ended.values().filter_map(|ended| match ended {
            Ended::Pool(report) => Some(report.clone()),
            _ => None,
        });
        let (swaps, pools): (Vec<_>, Vec<_>) = (of_swaps.collect(), of_pools.collect());
        let (swaps, _) = list::page(&swaps, &self.view, GRACE_MS, &asked)?;
        let (pools, _) = list::page(&pools, &self.view, GRACE_MS, &asked)?;
        let hashes = swaps
            .iter()
            .map(|of| of.hash)
            .chain(pools.iter().map(|of| of.hash));
        Some(hashes.collect())
    }
}

/// The outcome of bytes that a node keeps.
pub const KEPT: Outcome = Outcome::Unknown(UnknownCause::Timeout);

/// What a call returns.
async fn returned(node: &Node, to: Address, call: &Call, at: BlockTag) -> Step<Vec<u8>> {
    let message = Message {
        from: None,
        to: Some(to),
        value: U256::ZERO,
        data: call.encode(),
    };
    ask(node, &CallAt { message, at }).await
}
