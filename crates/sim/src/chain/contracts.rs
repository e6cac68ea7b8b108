//! What the contracts hold for our account, and what a transaction of ours does to it.
//!
//! Other accounts are not kept: tokens that leave ours go to the pair or are destroyed, and only our allowances matter.

use cambist_evm::call::Call;
use cambist_evm::log::Log;
use cambist_evm::transaction::Transaction;
use cambist_evm::{Address, Hash32, U256, keccak256};

use crate::chain::pair::Pair;
use crate::chain::positions::Ranges;
use crate::chain::{FEE_TO, OWN, PAIR, ROUTER, TOKENS};

/// Place of the shares in rows of three; the pair's tokens have 0 and 1.
pub(crate) const SHARES: usize = 2;

/// Gas of an approval, of a join, of an exit, of a swap, and of a transfer of nothing.
const GAS: [u64; 5] = [46_000, 170_000, 150_000, 110_000, 21_000];
/// Gas of a call that reverts at once.
pub(crate) const GAS_REVERTED: u64 = 32_000;

/// The part of a chain's state that is ours, and the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Both tokens in the pair's order, and shares, base units.
    pub held: [u128; 3],
    /// What the router may take of each.
    pub allowed: [U256; 3],
    /// The chain's coin, base units.
    pub coin: u128,
    /// The next nonce.
    pub nonce: u64,
    /// The pair.
    pub pair: Pair,
    /// The V3 pool and its positions, where that is the pool of the world.
    pub range: Option<Ranges>,
}

/// What became of a transaction in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Executed {
    /// Otherwise it was reverted.
    pub succeeded: bool,
    /// Gas that it took.
    pub gas_used: u64,
    /// What each gas cost.
    pub gas_price: u128,
    /// Its logs.
    pub logs: Vec<Log>,
    /// What it changed of both tokens and the shares.
    pub moved: [i128; 3],
}

impl State {
    /// Executes the transaction that has the next nonce, in a block with this base fee and time.
    pub(crate) fn execute(&mut self, of: &Transaction, base_fee: u128, now_s: u64) -> Executed {
        let before = *self;
        let (gas, logs) = self.call(of, now_s);
        let gas_price = of.fee_max.min(base_fee.saturating_add(of.priority_fee_max));
        let fits = gas <= of.gas_limit;
        let logs = logs.filter(|_| fits);
        if logs.is_none() {
            *self = before;
        }
        let gas_used = match (&logs, fits) {
            (_, false) => of.gas_limit,
            (Some(_), true) => gas,
            (None, true) => GAS_REVERTED.min(of.gas_limit),
        };
        self.nonce += 1;
        let cost = u128::from(gas_used) * gas_price;
        self.coin = self.coin.saturating_sub(cost);
        let signed = |amount: u128| i128::try_from(amount).unwrap_or(i128::MAX);
        let moved = [0, 1, 2].map(|at| signed(self.held[at]) - signed(before.held[at]));
        Executed {
            succeeded: logs.is_some(),
            gas_used,
            gas_price,
            logs: logs.unwrap_or_default(),
            moved,
        }
    }

    /// The gas of a call that is executed, and its logs; none if it reverts.
    fn call(&mut self, of: &Transaction, now_s: u64) -> (u64, Option<Vec<Log>>) {
        let mut logs = Logs(Vec::new());
        let to = of.to.unwrap_or(Address::ZERO);
        if of.data.is_empty() {
            return (GAS[4], Some(logs.0));
        }
        if self.range.is_some() && to == ROUTER {
            return self.call_manager(&of.data, now_s);
        }
        let Ok(call) = Call::read(&of.data) else {
            return (GAS_REVERTED, None);
        };
        let (gas, done) = match call {
            Call::Approve { spender, amount } => {
                (GAS[0], self.approve(to, (spender, amount), &mut logs))
            }
            Call::AddLiquidity { .. } if to == ROUTER => {
                (GAS[1], self.join(&call, now_s, &mut logs))
            }
            Call::RemoveLiquidity { .. } if to == ROUTER => {
                (GAS[2], self.exit(&call, now_s, &mut logs))
            }
            Call::SwapExactTokensForTokens { .. } if to == ROUTER => {
                (GAS[3], self.swap(&call, now_s, &mut logs))
            }
            _ => (GAS_REVERTED, None),
        };
        (gas, done.map(|()| logs.0))
    }

    fn approve(
        &mut self,
        token: Address,
        (spender, amount): (Address, U256),
        logs: &mut Logs,
    ) -> Option<()> {
        // Liquidity in a range is no token.
        let at = place(token).filter(|at| *at < SHARES || self.range.is_none())?;
        // Tokens like Tether's refuse to replace a permission.
        let replaces = at == 1 && self.allowed[at] != U256::ZERO && amount != U256::ZERO;
        if spender != ROUTER || replaces {
            return None;
        }
        self.allowed[at] = amount;
        logs.add(
            token,
            "Approval(address,address,uint256)",
            &[OWN, spender],
            &[amount],
        );
        Some(())
    }

    /// The router takes tokens of ours into the pair.
    pub(crate) fn take(&mut self, at: usize, amount: u128, logs: &mut Logs) -> Option<()> {
        let token = contract(at);
        self.allowed[at] = self.allowed[at].checked_sub(U256::from(amount))?;
        self.held[at] = self.held[at].checked_sub(amount)?;
        if at == 0 {
            // Tokens of an older OpenZeppelin say what is left.
            let left = [self.allowed[at]];
            logs.add(
                token,
                "Approval(address,address,uint256)",
                &[OWN, ROUTER],
                &left,
            );
        }
        logs.transfer(token, (OWN, PAIR), amount);
        Some(())
    }

    pub(crate) fn give(
        &mut self,
        at: usize,
        from: Address,
        amount: u128,
        logs: &mut Logs,
    ) -> Option<()> {
        self.held[at] = self.held[at].checked_add(amount)?;
        logs.transfer(contract(at), (from, OWN), amount);
        Some(())
    }

    fn join(&mut self, call: &Call, now_s: u64, logs: &mut Logs) -> Option<()> {
        let Call::AddLiquidity {
            token_a,
            token_b,
            a_max,
            b_max,
            a_min,
            b_min,
            to,
            deadline,
        } = call
        else {
            return None;
        };
        if !is_accepted([*token_a, *token_b] == TOKENS, *to, *deadline, now_s) {
            return None;
        }
        let small = |number: &U256| u128::try_from(*number).ok();
        let (most, least) = (
            [small(a_max)?, small(b_max)?],
            [small(a_min)?, small(b_min)?],
        );
        let paid = self.pair.payments(most, least)?;
        for (at, amount) in paid.into_iter().enumerate() {
            self.take(at, amount, logs)?;
        }
        let (of_protocol, minted) = self.pair.mint(paid)?;
        logs.protocol(of_protocol);
        self.give(SHARES, Address::ZERO, minted, logs)?;
        logs.sync(&self.pair);
        logs.add(
            PAIR,
            "Mint(address,uint256,uint256)",
            &[ROUTER],
            &paid.map(U256::from),
        );
        Some(())
    }

    fn exit(&mut self, call: &Call, now_s: u64, logs: &mut Logs) -> Option<()> {
        let Call::RemoveLiquidity {
            token_a,
            token_b,
            shares,
            a_min,
            b_min,
            to,
            deadline,
        } = call
        else {
            return None;
        };
        if !is_accepted([*token_a, *token_b] == TOKENS, *to, *deadline, now_s) {
            return None;
        }
        let shares = u128::try_from(*shares).ok()?;
        self.take(SHARES, shares, logs)?;
        let (of_protocol, paid) = self.pair.burn(shares)?;
        logs.protocol(of_protocol);
        logs.transfer(PAIR, (PAIR, Address::ZERO), shares);
        for (at, amount) in paid.into_iter().enumerate() {
            self.give(at, PAIR, amount, logs)?;
        }
        logs.sync(&self.pair);
        let signature = "Burn(address,uint256,uint256,address)";
        logs.add(PAIR, signature, &[ROUTER, OWN], &paid.map(U256::from));
        let enough = U256::from(paid[0]) >= *a_min && U256::from(paid[1]) >= *b_min;
        enough.then_some(())
    }

    fn swap(&mut self, call: &Call, now_s: u64, logs: &mut Logs) -> Option<()> {
        let Call::SwapExactTokensForTokens {
            sold,
            bought_min,
            path,
            to,
            deadline,
        } = call
        else {
            return None;
        };
        let sold_at = place(path[0]).filter(|at| *at < SHARES)?;
        if !is_accepted(path[1] == TOKENS[1 - sold_at], *to, *deadline, now_s) {
            return None;
        }
        let sold = u128::try_from(*sold).ok()?;
        self.take(sold_at, sold, logs)?;
        let bought = self.pair.swap(sold_at, sold)?;
        if U256::from(bought) < *bought_min {
            return None;
        }
        self.give(1 - sold_at, PAIR, bought, logs)?;
        logs.sync(&self.pair);
        let mut amounts = [U256::ZERO; 4];
        amounts[sold_at] = U256::from(sold);
        amounts[3 - sold_at] = U256::from(bought);
        let signature = "Swap(address,uint256,uint256,uint256,uint256,address)";
        logs.add(PAIR, signature, &[ROUTER, OWN], &amounts);
        Some(())
    }
}

/// Whether the router takes a call: of this pair, for our account, in time.
fn is_accepted(is_of_pair: bool, to: Address, deadline: U256, now_s: u64) -> bool {
    is_of_pair && to == OWN && deadline >= U256::from(now_s)
}

/// The place of a contract's amounts.
pub(crate) fn place(token: Address) -> Option<usize> {
    let of_tokens = TOKENS.iter().position(|of| *of == token);
    of_tokens.or_else(|| (token == PAIR).then_some(SHARES))
}

/// The contract of a place.
pub(crate) fn contract(at: usize) -> Address {
    TOKENS.get(at).copied().unwrap_or(PAIR)
}

/// Logs of a transaction.
pub(crate) struct Logs(pub Vec<Log>);

impl Logs {
    fn add(&mut self, of: Address, signature: &str, indexed: &[Address], numbers: &[U256]) {
        let kind = Hash32(keccak256(&[signature.as_bytes()]));
        let topic = |address: &Address| {
            let mut topic = [0; 32];
            topic[12..].copy_from_slice(&address.0);
            Hash32(topic)
        };
        self.0.push(Log {
            address: of,
            topics: std::iter::once(kind)
                .chain(indexed.iter().map(topic))
                .collect(),
            data: numbers.iter().flat_map(U256::to_be_bytes::<32>).collect(),
            index: self.0.len() as u64,
        });
    }

    pub(crate) fn transfer(&mut self, of: Address, (from, to): (Address, Address), amount: u128) {
        let amount = [U256::from(amount)];
        self.add(
            of,
            "Transfer(address,address,uint256)",
            &[from, to],
            &amount,
        );
    }

    fn protocol(&mut self, shares: u128) {
        if shares > 0 {
            self.transfer(PAIR, (Address::ZERO, FEE_TO), shares);
        }
    }

    fn sync(&mut self, pair: &Pair) {
        let reserves = pair.reserves.map(U256::from);
        self.add(PAIR, "Sync(uint112,uint112)", &[], &reserves);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    fn state() -> State {
        State {
            held: [1_000, 3_000, 0],
            allowed: [U256::ZERO; 3],
            coin: 1 << 60,
            nonce: 7,
            pair: Pair::founded([10_000, 30_000], false).unwrap(),
            range: None,
        }
    }

    fn transaction(to: Address, call: &Call) -> Transaction {
        Transaction {
            chain_id: 1,
            nonce: 7,
            priority_fee_max: 2,
            fee_max: 30,
            gas_limit: 300_000,
            to: Some(to),
            value: U256::ZERO,
            data: call.encode(),
        }
    }

    fn approve(amount: u64) -> Call {
        let amount = U256::from(amount);
        Call::Approve {
            spender: ROUTER,
            amount,
        }
    }

    fn join() -> Call {
        let n = U256::from::<u64>;
        Call::AddLiquidity {
            token_a: TOKENS[0],
            token_b: TOKENS[1],
            a_max: n(100),
            b_max: n(301),
            a_min: n(99),
            b_min: n(298),
            to: OWN,
            deadline: n(50),
        }
    }

    #[test]
    fn a_join_needs_what_it_takes_and_its_time() {
        let with = |allowed: [u64; 2], now_s: u64| {
            let mut state = state();
            for (at, amount) in allowed.into_iter().enumerate() {
                let done = state.execute(&transaction(TOKENS[at], &approve(amount)), 10, 1);
                assert!(done.succeeded);
            }
            let done = state.execute(&transaction(ROUTER, &join()), 10, now_s);
            (state, done)
        };
        let (after, done) = with([100, 301], 50);
        assert!(done.succeeded);
        assert_eq!(done.moved, [-100, -300, 173]);
        assert_eq!(after.held, [900, 2_700, 173]);
        assert_eq!(after.allowed[..2], [U256::ZERO, U256::from(1)]);
        assert_eq!((done.gas_price, done.gas_used), (12, GAS[1]));
        assert_eq!(after.nonce, 10);
        for (allowed, now_s) in [([100, 301], 51), ([99, 301], 50), ([100, 299], 50)] {
            let (after, done) = with(allowed, now_s);
            assert!(!done.succeeded && done.logs.is_empty());
            assert_eq!((after.held, done.moved), (state().held, [0; 3]));
            let gas = 12 * (2 * GAS[0] + GAS_REVERTED);
            assert_eq!(after.coin, state().coin - u128::from(gas), "gas is paid");
        }
    }

    #[test]
    fn one_token_refuses_to_replace_a_permission() {
        let mut state = state();
        for (at, amount, succeeds) in [
            (0, 5, true),
            (0, 6, true),
            (1, 5, true),
            (1, 6, false),
            (1, 0, true),
            (1, 6, true),
        ] {
            let done = state.execute(&transaction(TOKENS[at], &approve(amount)), 10, 1);
            assert_eq!(done.succeeded, succeeds, "{at} {amount}");
        }
    }
}
