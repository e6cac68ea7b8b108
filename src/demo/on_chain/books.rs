//! The daemon's account as the chain has it, read from its blocks without the daemon: every transaction of the account,
//! what it holds, and what the router may take of it. And what of that is not as documented.

use std::collections::BTreeMap;

use anyhow::Context;
use cambist_client::Node;
use cambist_core::pool::{PoolTransactionAmounts, PoolTransactionReport, PoolTransactionStatus};
use cambist_core::{Hash, PoolTransactionKind, VenueTime};
use cambist_evm::abi::one_number;
use cambist_evm::block::BlockTag;
use cambist_evm::call::{Call, amount};
use cambist_evm::log::Event;
use cambist_evm::receipt::Receipt;
use cambist_evm::rpc::{Ask, BalanceAt, BlockAt, NonceAt, ReceiptOf};
use cambist_evm::wire::{AddressText, Data, HashText, Quantity, Quantity64};
use cambist_evm::{Address, Malformed, U256};
use serde::Deserialize;
use serde_json::{Value, json};

use super::node::{ask, returned};

/// The account, and the contracts that it uses.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its address.
    pub address: Address,
    /// The router, which alone may take its tokens.
    pub router: Address,
    /// The pair.
    pub pair: Address,
    /// Symbol and contract of the pair's tokens in its order, and of its shares.
    pub tokens: [(String, Address); 3],
    /// Symbol of the chain's coin.
    pub coin: String,
}

/// A transaction of the account that a block executed.
#[derive(Clone, Debug)]
pub struct Mined {
    /// Its nonce.
    pub nonce: u64,
    /// What it called; `None` for anything that this program never signs.
    pub call: Option<Call>,
    /// Whether it is an empty one to the account itself, which spends a nonce and does nothing else.
    pub is_burn: bool,
    /// Coin that went along.
    pub value: U256,
    /// What became of it.
    pub receipt: Receipt,
    /// Time of its block.
    pub at: VenueTime,
}

/// What the chain states at the end.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Number of the newest block.
    pub block: u64,
    /// The account's nonce in the newest block.
    pub nonce: u64,
    /// Behind everything that waits for a block.
    pub waiting_below: u64,
    /// Base units by symbol.
    pub totals: BTreeMap<String, u128>,
    /// What the router may take, by symbol.
    pub allowed: BTreeMap<String, U256>,
}

/// Reads the blocks of a chain.
pub struct Books {
    account: Account,
    /// The next block to read.
    next: u64,
    mined: Vec<Mined>,
}

impl Books {
    /// Of an account that has no transaction yet.
    pub const fn new(account: Account) -> Self {
        Self {
            account,
            next: 0,
            mined: Vec::new(),
        }
    }

    /// The account.
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// Reads the blocks that were made since the last call.
    pub async fn read(&mut self, node: &Node) -> anyhow::Result<u64> {
        let newest = newest(node).await?;
        while self.next <= newest {
            let block = ask(node, &Transactions(self.next)).await?;
            let own = block.transactions.into_iter();
            let own = own.filter(|sent| sent.from.0 == self.account.address);
            for sent in own {
                let receipt = ask(node, &ReceiptOf(sent.hash.0)).await?;
                let receipt = receipt.context("a transaction in a block has no receipt")?;
                self.mined.push(Mined {
                    nonce: sent.nonce.0,
                    is_burn: sent.input.0.is_empty()
                        && sent.to.map(|to| to.0) == Some(self.account.address),
                    call: self.called(sent.to.map(|to| to.0), &sent.input.0),
                    value: sent.value.0,
                    receipt,
                    at: VenueTime::from_s(block.timestamp.0),
                });
            }
            self.next += 1;
        }
        Ok(newest)
    }

    /// The call of a transaction, if it is one that this program signs for these contracts.
    fn called(&self, to: Option<Address>, data: &[u8]) -> Option<Call> {
        let to = to?;
        let call = Call::read(data).ok()?;
        let of_token = self.account.tokens.iter().any(|(_, at)| *at == to);
        let fits = match &call {
            Call::Approve { .. } => of_token,
            Call::AddLiquidity { .. } | Call::RemoveLiquidity { .. } => to == self.account.router,
            _ => false,
        };
        fits.then_some(call)
    }

    /// Reads everything that is compared at the end.
    pub async fn state(&mut self, node: &Node) -> anyhow::Result<State> {
        let block = self.read(node).await?;
        let at = BlockTag::Number(block);
        let owner = self.account.address;
        let nonce_at = |at| NonceAt { account: owner, at };
        let mut state = State {
            block,
            nonce: ask(node, &nonce_at(at)).await?,
            waiting_below: ask(node, &nonce_at(BlockTag::Pending)).await?,
            ..State::default()
        };
        let spender = self.account.router;
        for (symbol, contract) in &self.account.tokens {
            let held = returned(node, *contract, &Call::BalanceOf { owner }, at).await?;
            let held = amount(one_number(&held)?)?;
            state.totals.insert(symbol.clone(), held);
            let allowance = Call::Allowance { owner, spender };
            let allowed = returned(node, *contract, &allowance, at).await?;
            state.allowed.insert(symbol.clone(), one_number(&allowed)?);
        }
        let account = owner;
        let coin = amount(ask(node, &BalanceAt { account, at }).await?)?;
        state.totals.insert(self.account.coin.clone(), coin);
        Ok(state)
    }

    /// Joins and exits as reports.
    pub fn pool_transactions(&self) -> Vec<PoolTransactionReport> {
        let reports = self.mined.iter().filter_map(|of| {
            let kind = match of.call.as_ref()? {
                Call::AddLiquidity { .. } => PoolTransactionKind::Join,
                Call::RemoveLiquidity { .. } => PoolTransactionKind::Exit,
                _ => return None,
            };
            let [first, second, lp] = [0, 1, 2].map(|at| self.moved(of, self.account.tokens[at].1));
            Some(PoolTransactionReport {
                hash: Hash(of.receipt.transaction.0),
                kind,
                status: if of.receipt.succeeded {
                    PoolTransactionStatus::Processed
                } else {
                    PoolTransactionStatus::Cancelled
                },
                amounts: PoolTransactionAmounts {
                    pooled: [first, second],
                    lp,
                    fee: 0,
                },
                created: of.at,
            })
        });
        reports.collect()
    }

    /// What a transaction moved of a token out of the account or into it.
    fn moved(&self, of: &Mined, token: Address) -> u128 {
        let own = self.account.address;
        let each = transfers(&of.receipt, token);
        let each = each.filter(|(from, to, _)| (*from == own) != (*to == own));
        let moved = each.fold(U256::ZERO, |sum, (_, _, units)| sum.saturating_add(units));
        amount(moved).unwrap_or(u128::MAX)
    }

    /// Gas of all transactions in base units of the coin.
    pub fn gas(&self) -> u128 {
        let each = self.mined.iter().map(|of| of.receipt.gas_cost());
        each.fold(0, |sum, gas| sum.saturating_add(gas.unwrap_or(u128::MAX)))
    }

    /// What is not as documented: of nonces, of what is signed at all, and of what the router may take.
    pub fn problems(&self, state: &State) -> Vec<String> {
        let mut problems = self.nonce_problems(state);
        for of in &self.mined {
            let is_known = of.call.is_some() || (of.is_burn && of.receipt.succeeded);
            if !is_known || of.value != U256::ZERO {
                let nonce = of.nonce;
                problems.push(format!(
                    "the transaction of nonce {nonce} is none that the daemon may sign"
                ));
            }
        }
        problems.extend(self.permission_problems(state));
        problems
    }

    /// Every nonce is spent once, in the order of blocks, and nothing waits.
    fn nonce_problems(&self, state: &State) -> Vec<String> {
        let mut problems = Vec::new();
        let found: Vec<_> = self.mined.iter().map(|of| of.nonce).collect();
        if !found.iter().copied().eq(0..state.nonce) {
            problems.push(format!(
                "the blocks have transactions of the nonces {found:?}, and those below {} are spent",
                state.nonce
            ));
        }
        if state.waiting_below != state.nonce {
            problems.push(format!(
                "transactions of the nonces below {} wait for a block, and those below {} are spent",
                state.waiting_below, state.nonce
            ));
        }
        problems
    }

    /// Permissions are exact: a call finds just what it may take, and what it leaves is all that the router may take
    /// afterwards.
    fn permission_problems(&self, state: &State) -> Vec<String> {
        let mut problems = Vec::new();
        let mut allowed: BTreeMap<Address, U256> = BTreeMap::new();
        for of in &self.mined {
            let nonce = of.nonce;
            match &of.call {
                Some(Call::Approve { spender, amount }) => {
                    if *spender != self.account.router {
                        problems.push(format!(
                            "nonce {nonce} lets another account than the router take tokens"
                        ));
                    }
                    if let Some(token) = of.receipt.to.filter(|_| of.receipt.succeeded) {
                        allowed.insert(token, *amount);
                    }
                }
                Some(call) => {
                    for (token, most) in self.may_take(call) {
                        let before = allowed.get(&token).copied().unwrap_or_default();
                        if before != most {
                            let symbol = self.symbol(token);
                            problems.push(format!(
                                "nonce {nonce} may take {most} base units of {symbol}, and the router was allowed {before}"
                            ));
                        }
                        let taken = self.taken(of, token);
                        allowed.insert(token, before.saturating_sub(taken));
                    }
                }
                None => {}
            }
        }
        for (symbol, token) in &self.account.tokens {
            let left = allowed.get(token).copied().unwrap_or_default();
            let stated = state.allowed.get(symbol).copied();
            if stated != Some(left) {
                let stated = stated.map_or_else(|| "unknown".to_owned(), |units| units.to_string());
                problems.push(format!(
                    "the router may take {stated} base units of {symbol}, and the last call left {left}"
                ));
            }
        }
        problems
    }

    /// What a call may take of tokens, at most.
    fn may_take(&self, call: &Call) -> Vec<(Address, U256)> {
        match call {
            Call::AddLiquidity {
                token_a,
                token_b,
                a_max,
                b_max,
                ..
            } => vec![(*token_a, *a_max), (*token_b, *b_max)],
            Call::RemoveLiquidity { shares, .. } => vec![(self.account.pair, *shares)],
            _ => Vec::new(),
        }
    }

    /// What the router took of a token.
    fn taken(&self, of: &Mined, token: Address) -> U256 {
        let own = self.account.address;
        let paid = transfers(&of.receipt, token).filter(|(from, ..)| *from == own);
        paid.fold(U256::ZERO, |sum, (_, _, units)| sum.saturating_add(units))
    }

    fn symbol(&self, token: Address) -> &str {
        let found = self.account.tokens.iter().find(|(_, at)| *at == token);
        found.map_or("another token", |(symbol, _)| symbol)
    }

    /// Counts of transactions by what they are; the reverted ones are counted among them.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        let names = ["joins", "exits", "approvals", "burns", "others", "reverted"];
        let mut counts: BTreeMap<_, u64> = names.map(|name| (name, 0)).into();
        let mut add = |name| *counts.entry(name).or_default() += 1;
        for of in &self.mined {
            add(match &of.call {
                Some(Call::AddLiquidity { .. }) => "joins",
                Some(Call::RemoveLiquidity { .. }) => "exits",
                Some(Call::Approve { .. }) => "approvals",
                None if of.is_burn => "burns",
                Some(_) | None => "others",
            });
            if !of.receipt.succeeded {
                add("reverted");
            }
        }
        counts
    }
}

/// The number of the newest block.
pub async fn newest(node: &Node) -> anyhow::Result<u64> {
    let latest = ask(node, &BlockAt(BlockTag::Latest)).await?;
    Ok(latest.context("the node has no block")?.number)
}

/// Transfers of a token: from, to, base units.
fn transfers(receipt: &Receipt, token: Address) -> impl Iterator<Item = (Address, Address, U256)> {
    let logs = receipt.logs.iter();
    let of_token = logs.filter(move |log| log.address == token);
    of_token.filter_map(|log| match Event::read(log) {
        Ok(Some(Event::Transfer { from, to, amount })) => Some((from, to, amount)),
        _ => None,
    })
}

/// `eth_getBlockByNumber` with the transactions of the block.
struct Transactions(u64);

#[derive(Debug, Deserialize)]
struct BlockText {
    timestamp: Quantity64,
    transactions: Vec<Sent>,
}

#[derive(Debug, Deserialize)]
struct Sent {
    hash: HashText,
    from: AddressText,
    to: Option<AddressText>,
    nonce: Quantity64,
    value: Quantity,
    input: Data,
}

impl Ask for Transactions {
    const METHOD: &'static str = "eth_getBlockByNumber";
    type Wire = Option<BlockText>;
    type Answer = BlockText;

    fn params(&self) -> Value {
        json!([BlockTag::Number(self.0).text(), true])
    }

    fn read(&self, wire: Option<BlockText>) -> Result<BlockText, Malformed> {
        wire.ok_or(Malformed::Rpc("a block that was made is missing"))
    }
}

#[cfg(test)]
mod tests {
    use cambist_evm::Hash32;
    use cambist_evm::log::Log;

    use super::*;

    const OWN: Address = Address([1; 20]);
    const ROUTER: Address = Address([2; 20]);
    const PAIR: Address = Address([3; 20]);
    const FIRST: Address = Address([4; 20]);
    const SECOND: Address = Address([5; 20]);

    fn units(number: u64) -> U256 {
        U256::from(number)
    }

    fn word(address: Address) -> Hash32 {
        let mut word = [0; 32];
        word[12..].copy_from_slice(&address.0);
        Hash32(word)
    }

    /// The log of a transfer.
    fn transfer(token: Address, from: Address, to: Address, amount: u64) -> Log {
        let kind = cambist_evm::keccak256(&[b"Transfer(address,address,uint256)"]);
        Log {
            address: token,
            topics: vec![Hash32(kind), word(from), word(to)],
            data: units(amount).to_be_bytes::<32>().to_vec(),
            index: 0,
        }
    }

    /// Transactions of the account, in their order.
    struct History(Books);

    impl History {
        fn new() -> Self {
            let name = |text: &str| text.to_owned();
            Self(Books::new(Account {
                address: OWN,
                router: ROUTER,
                pair: PAIR,
                tokens: [(name("A"), FIRST), (name("B"), SECOND), (name("LP"), PAIR)],
                coin: name("ETH"),
            }))
        }

        fn add(&mut self, to: Address, data: &[u8], succeeded: bool, logs: Vec<Log>) {
            let nonce = self.0.mined.len() as u64;
            let mut hash = [7; 32];
            hash[0] = u8::try_from(nonce).unwrap_or(u8::MAX);
            self.0.mined.push(Mined {
                nonce,
                call: self.0.called(Some(to), data),
                is_burn: to == OWN && data.is_empty(),
                value: U256::ZERO,
                receipt: Receipt {
                    transaction: Hash32(hash),
                    block_number: nonce,
                    block_hash: Hash32([0; 32]),
                    from: OWN,
                    to: Some(to),
                    created: None,
                    succeeded,
                    gas_used: 21_000,
                    gas_price: 2,
                    logs,
                },
                at: VenueTime::from_s(nonce),
            });
        }

        fn approves(&mut self, token: Address, amount: u64) {
            let amount = units(amount);
            let call = Call::Approve {
                spender: ROUTER,
                amount,
            };
            self.add(token, &call.encode(), true, Vec::new());
        }

        /// A join that may take 100 and 300, and pays this much of the second.
        fn joins(&mut self, paid: u64, succeeded: bool) {
            let call = Call::AddLiquidity {
                token_a: FIRST,
                token_b: SECOND,
                a_max: units(100),
                b_max: units(300),
                a_min: units(90),
                b_min: units(290),
                to: OWN,
                deadline: units(9),
            };
            let logs = [
                transfer(FIRST, OWN, PAIR, 100),
                transfer(SECOND, OWN, PAIR, paid),
                transfer(PAIR, Address::ZERO, OWN, 170),
            ];
            let logs = if succeeded { logs.to_vec() } else { Vec::new() };
            self.add(ROUTER, &call.encode(), succeeded, logs);
        }

        fn leaves(&mut self, shares: u64) {
            let call = Call::RemoveLiquidity {
                token_a: FIRST,
                token_b: SECOND,
                shares: units(shares),
                a_min: U256::ZERO,
                b_min: U256::ZERO,
                to: OWN,
                deadline: units(9),
            };
            let logs = vec![
                transfer(PAIR, OWN, PAIR, shares),
                transfer(PAIR, PAIR, Address::ZERO, shares),
                transfer(FIRST, PAIR, OWN, 99),
                transfer(SECOND, PAIR, OWN, 295),
            ];
            self.add(ROUTER, &call.encode(), true, logs);
        }

        /// Approvals and a join that leaves 4 of the second, an exit, and a reverted join.
        fn documented() -> Self {
            let mut history = Self::new();
            history.approves(FIRST, 100);
            history.approves(SECOND, 300);
            history.joins(296, true);
            history.approves(PAIR, 170);
            history.leaves(170);
            history.approves(FIRST, 100);
            history.approves(SECOND, 0);
            history.approves(SECOND, 300);
            history.joins(0, false);
            history
        }

        /// What the chain states: `left` of both tokens and of shares.
        fn state(&self, left: [u64; 3]) -> State {
            let nonce = self.0.mined.len() as u64;
            let allowed = ["A", "B", "LP"].into_iter().zip(left);
            State {
                nonce,
                waiting_below: nonce,
                allowed: allowed
                    .map(|(symbol, left)| (symbol.to_owned(), units(left)))
                    .collect(),
                ..State::default()
            }
        }

        #[track_caller]
        fn has(&self, state: &State, wrong: &[&str]) {
            let problems = self.0.problems(state);
            assert_eq!(problems.len(), wrong.len(), "{problems:?}");
            for (problem, part) in problems.iter().zip(wrong) {
                assert!(problem.contains(part), "{part} in {problem}");
            }
        }
    }

    #[test]
    fn what_is_documented_is_no_problem_and_is_counted() {
        let mut history = History::documented();
        // What was allowed for the reverted join is left.
        history.has(&history.state([100, 300, 0]), &[]);
        history.add(OWN, &[], true, Vec::new());
        history.has(&history.state([100, 300, 0]), &[]);
        let counts = history.0.counts();
        for (name, count) in [
            ("joins", 2),
            ("exits", 1),
            ("approvals", 6),
            ("burns", 1),
            ("others", 0),
            ("reverted", 1),
        ] {
            assert_eq!(counts[name], count, "{name}");
        }
        assert_eq!(history.0.gas(), 10 * 42_000);
        let [join, exit, reverted] = &history.0.pool_transactions()[..] else {
            panic!("two joins and an exit");
        };
        assert_eq!(
            (join.amounts.pooled, join.amounts.lp, join.hash.0[0]),
            ([100, 296], 170, 2)
        );
        assert_eq!(
            (exit.amounts.pooled, exit.amounts.lp, exit.kind),
            ([99, 295], 170, PoolTransactionKind::Exit)
        );
        assert_eq!(
            (reverted.status, reverted.amounts.lp),
            (PoolTransactionStatus::Cancelled, 0)
        );
    }

    #[test]
    fn permissions_that_are_not_exact_are_found() {
        let history = History::documented();
        let left = "may take 301 base units of B, and the last call left 300";
        history.has(&history.state([100, 301, 0]), &[left]);
        let mut unknown = history.state([100, 300, 0]);
        unknown.allowed.remove("A");
        history.has(&unknown, &["may take unknown base units of A"]);

        for (allowed, is_exact) in [(299, false), (300, true), (301, false)] {
            let mut history = History::new();
            history.approves(FIRST, 100);
            history.approves(SECOND, allowed);
            history.joins(296, true);
            let left = allowed - 296;
            let wrong =
                format!("may take 300 base units of B, and the router was allowed {allowed}");
            let wrong: &[&str] = if is_exact { &[] } else { &[&wrong] };
            history.has(&history.state([0, left, 0]), wrong);
        }

        let mut stranger = History::new();
        let call = Call::Approve {
            spender: OWN,
            amount: units(1),
        };
        stranger.add(FIRST, &call.encode(), true, Vec::new());
        stranger.has(
            &stranger.state([1, 0, 0]),
            &["nonce 0 lets another account than the router"],
        );
    }

    #[test]
    fn nonces_and_strange_transactions_are_found() {
        let mut history = History::documented();
        let mut waits = history.state([100, 300, 0]);
        waits.waiting_below += 1;
        history.has(&waits, &["nonces below 10 wait for a block"]);
        let mut spent = history.state([100, 300, 0]);
        spent.nonce += 1;
        spent.waiting_below += 1;
        history.has(&spent, &["and those below 10 are spent"]);
        history.0.mined.swap(0, 1);
        history.has(&history.state([100, 300, 0]), &["the nonces [1, 0, 2"]);
        history.0.mined.swap(0, 1);
        history.0.mined[0].value = units(1);
        let none = "nonce 0 is none that the daemon may sign";
        history.has(&history.state([100, 300, 0]), &[none]);
        history.0.mined[0].value = U256::ZERO;
        // A transfer of tokens, and an approval of what is no token here.
        for (to, call) in [
            (
                FIRST,
                Call::Transfer {
                    to: ROUTER,
                    amount: units(1),
                },
            ),
            (
                ROUTER,
                Call::Approve {
                    spender: ROUTER,
                    amount: units(1),
                },
            ),
        ] {
            let mut history = History::documented();
            history.add(to, &call.encode(), true, Vec::new());
            history.has(
                &history.state([100, 300, 0]),
                &["nonce 9 is none that the daemon may sign"],
            );
        }
    }
}
