//! Joins, exits, swaps, approvals and burns as signed transactions.
//!
//! Nothing is signed that [`Chain::permits`] refuses, and the bytes are read back before they are returned.

use cambist_core::math::mul_div_ceil;
use cambist_core::order::UnsignedOrder;
use cambist_core::pool::UnsignedPoolTransaction;
use cambist_core::{Amount, Hash, PoolSpec, PoolTransactionKind, TokenId};
use cambist_evm::call::Call;
use cambist_evm::transaction::{Signed, Transaction};
use cambist_evm::v3;
use cambist_evm::{Address, EthKey, Malformed, U256};

use crate::chain::{BURN_GAS, Chain};
use crate::fees::Fees;
use crate::range::{Held, PoolRange};

/// Why there are no bytes. Nothing may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The market has no pool on this chain, or the intent names other tokens than the pool's.
    #[error("no pool of these tokens beside the market")]
    Pool,
    /// A token without a contract.
    #[error("the token has no contract on this chain")]
    Token,
    /// An order that is no swap, or not of all that it sells.
    #[error("only swaps trade with a pool")]
    NoSwap,
    /// More or fewer numbers than the one that a transaction uses.
    #[error("a transaction has exactly one nonce")]
    Numbers,
    /// A bundle without the transaction of its intent.
    #[error("a bundle needs the transaction of its intent")]
    NoIntent,
    /// A join or an exit of a range before the account's positions were read, or an exit without a position.
    #[error("it is not known which position of the range is the account's, or it has none")]
    Position,
    /// An amount that cannot be reckoned with.
    #[error("an amount is too large")]
    Amounts,
    /// The account's key is another one.
    #[error("the key is not the account's")]
    Key,
    /// The transaction is none that this account may sign.
    #[error("the transaction is none of those that may be signed")]
    Forbidden,
    /// The transaction is malformed, or was not read back.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// A signed transaction: what is stored before it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Its name on the chain and for the engine.
    pub hash: Hash,
    /// The nonce that it spends.
    pub nonce: u64,
    /// What it offers for gas.
    pub fees: Fees,
    /// Most gas that it may use.
    pub gas_limit: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Chain {
    /// A join or an exit.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn pool_transaction(
        &self,
        wanted: &UnsignedPoolTransaction,
        fees: Fees,
    ) -> Result<Transaction, SealError> {
        match wanted.kind {
            PoolTransactionKind::Join => self.join(wanted, fees),
            PoolTransactionKind::Exit => self.exit(wanted, fees),
        }
    }

    /// A join. The router compares amounts paid, not shares minted: the least payment of each token is its most less the
    /// pool's slippage, rounded up, as the least shares are those wanted less the same slippage. At another price one of
    /// both payments falls below, and the call reverts.
    ///
    /// Shares may cost more without another price, when trading fees or gifts have made each worth more.
    fn join(&self, wanted: &UnsignedPoolTransaction, fees: Fees) -> Result<Transaction, SealError> {
        self.pool_of(wanted, PoolTransactionKind::Join)?;
        if let Some(range) = self.ranges.get(&wanted.market) {
            return self.join_range(range, wanted, fees);
        }
        let whole: Amount = 10_000;
        let kept = whole.saturating_sub(self.slippage_bps.into());
        let least = |at: usize| {
            let least = mul_div_ceil(wanted.amounts[at], kept, whole);
            least.map(U256::from).ok_or(SealError::Amounts)
        };
        let [token_a, token_b] = self.contracts(wanted.pooled)?;
        let call = Call::AddLiquidity {
            token_a,
            token_b,
            a_max: U256::from(wanted.amounts[0]),
            b_max: U256::from(wanted.amounts[1]),
            a_min: least(0)?,
            b_min: least(1)?,
            to: self.account,
            deadline: U256::from(wanted.valid_until_s),
        };
        let nonce = nonce_of(&wanted.storage_ids)?;
        let data = call.encode();
        Ok(self.transaction(nonce, fees, self.gas.join, self.router, data))
    }

    fn exit(&self, wanted: &UnsignedPoolTransaction, fees: Fees) -> Result<Transaction, SealError> {
        self.pool_of(wanted, PoolTransactionKind::Exit)?;
        if let Some(range) = self.ranges.get(&wanted.market) {
            return self.exit_range(range, wanted, fees);
        }
        let [token_a, token_b] = self.contracts(wanted.pooled)?;
        let call = Call::RemoveLiquidity {
            token_a,
            token_b,
            shares: U256::from(wanted.lp_amount),
            a_min: U256::from(wanted.amounts[0]),
            b_min: U256::from(wanted.amounts[1]),
            to: self.account,
            deadline: U256::from(wanted.valid_until_s),
        };
        let nonce = nonce_of(&wanted.storage_ids)?;
        let data = call.encode();
        Ok(self.transaction(nonce, fees, self.gas.exit, self.router, data))
    }

    /// A join of a range: a new position, or more liquidity for the account's own one. The position manager compares
    /// amounts paid, not liquidity: the least payments are those of the least liquidity ([`PoolRange::least_payments`]).
    fn join_range(
        &self,
        of: &PoolRange,
        wanted: &UnsignedPoolTransaction,
        fees: Fees,
    ) -> Result<Transaction, SealError> {
        let [token0, token1] = self.contracts(wanted.pooled)?;
        let [least0, least1] = of.least_payments(wanted.amounts, wanted.lp_amount)?;
        let [most0, most1] = wanted.amounts.map(U256::from);
        let deadline = U256::from(wanted.valid_until_s);
        let call = match of.held {
            Held::Unread => return Err(SealError::Position),
            Held::Nothing => v3::call::Call::Mint {
                token0,
                token1,
                fee: U256::from(of.fee),
                lower: of.range.lower(),
                upper: of.range.upper(),
                most0,
                most1,
                least0,
                least1,
                recipient: self.account,
                deadline,
            },
            Held::Position(position) => v3::call::Call::IncreaseLiquidity {
                position,
                most0,
                most1,
                least0,
                least1,
                deadline,
            },
        };
        let nonce = nonce_of(&wanted.storage_ids)?;
        let data = call.encode();
        Ok(self.transaction(nonce, fees, self.gas.join, self.router, data))
    }

    /// An exit of a range: liquidity out of the account's position, and everything that is owed to it paid out, fees
    /// among it. Both or none, in one transaction with the deadline of the first.
    fn exit_range(
        &self,
        of: &PoolRange,
        wanted: &UnsignedPoolTransaction,
        fees: Fees,
    ) -> Result<Transaction, SealError> {
        let Held::Position(position) = of.held else {
            return Err(SealError::Position);
        };
        let [least0, least1] = wanted.amounts.map(U256::from);
        let calls = [
            v3::call::Call::DecreaseLiquidity {
                position,
                liquidity: U256::from(wanted.lp_amount),
                least0,
                least1,
                deadline: U256::from(wanted.valid_until_s),
            },
            v3::call::Call::collect_all(position, self.account),
        ];
        let nonce = nonce_of(&wanted.storage_ids)?;
        let data = v3::call::multicall(&calls);
        Ok(self.transaction(nonce, fees, self.gas.exit, self.router, data))
    }

    /// A swap.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn swap(&self, wanted: &UnsignedOrder, fees: Fees) -> Result<Transaction, SealError> {
        if !wanted.is_swap() {
            return Err(SealError::NoSwap);
        }
        let mut pairs = self.pairs();
        let pool = pairs.find(|pool| pool.market == wanted.market);
        let pool = pool.ok_or(SealError::Pool)?;
        let traded = [wanted.sell_token, wanted.buy_token];
        let [first, second] = pool.pooled;
        if traded != [first, second] && traded != [second, first] {
            return Err(SealError::Pool);
        }
        let call = Call::SwapExactTokensForTokens {
            sold: U256::from(wanted.sell_amount),
            bought_min: U256::from(wanted.buy_amount),
            path: self.contracts(traded)?,
            to: self.account,
            deadline: U256::from(wanted.accepted_until_s),
        };
        let nonce = wanted.slot.into();
        let data = call.encode();
        Ok(self.transaction(nonce, fees, self.gas.swap, self.router, data))
    }

    /// Lets the router take exactly so much of a pooled token or of shares; 0 takes the permission back. An approval
    /// has no deadline: it can be mined until its nonce is spent.
    ///
    /// # Errors
    /// [`SealError::Token`].
    pub fn approval(
        &self,
        token: TokenId,
        amount: Amount,
        nonce: u64,
        fees: Fees,
    ) -> Result<Transaction, SealError> {
        let contract = self.contract(token).ok_or(SealError::Token)?;
        let call = Call::Approve {
            spender: self.router,
            amount: U256::from(amount),
        };
        let data = call.encode();
        Ok(self.transaction(nonce, fees, self.gas.approve, contract, data))
    }

    /// Spends a nonce and moves nothing: to the account itself, without data.
    pub fn burn(&self, nonce: u64, fees: Fees) -> Transaction {
        self.transaction(nonce, fees, BURN_GAS, self.account, Vec::new())
    }

    /// Signs what may be signed and reads the bytes back.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn seal(&self, transaction: &Transaction, key: &EthKey) -> Result<Sealed, SealError> {
        if key.address() != self.account {
            return Err(SealError::Key);
        }
        if !self.permits(transaction) {
            return Err(SealError::Forbidden);
        }
        let signed = transaction.clone().sign(key)?;
        let bytes = signed.bytes();
        let read = Signed::read(&bytes, self.id)?;
        if read.transaction() != transaction || read.sender()? != self.account {
            return Err(SealError::Malformed(Malformed::Signature));
        }
        Ok(Sealed {
            hash: Hash(signed.hash().0),
            nonce: transaction.nonce,
            fees: Fees {
                priority_max: transaction.priority_fee_max,
                max: transaction.fee_max,
            },
            gas_limit: transaction.gas_limit,
            bytes,
        })
    }

    fn transaction(
        &self,
        nonce: u64,
        fees: Fees,
        gas_limit: u64,
        to: Address,
        data: Vec<u8>,
    ) -> Transaction {
        Transaction {
            chain_id: self.id,
            nonce,
            priority_fee_max: fees.priority_max,
            fee_max: fees.max,
            gas_limit,
            to: Some(to),
            value: U256::ZERO,
            data,
        }
    }

    fn pool_of(
        &self,
        wanted: &UnsignedPoolTransaction,
        kind: PoolTransactionKind,
    ) -> Result<&PoolSpec, SealError> {
        let pool = self.pool(wanted.market).ok_or(SealError::Pool)?;
        let same = pool.pooled == wanted.pooled && pool.lp.id == wanted.lp && kind == wanted.kind;
        same.then_some(pool).ok_or(SealError::Pool)
    }

    fn contracts(&self, tokens: [TokenId; 2]) -> Result<[Address; 2], SealError> {
        let of = |token| self.contract(token).ok_or(SealError::Token);
        Ok([of(tokens[0])?, of(tokens[1])?])
    }
}

fn nonce_of(numbers: &[u32]) -> Result<u64, SealError> {
    match numbers {
        [nonce] => Ok((*nonce).into()),
        _ => Err(SealError::Numbers),
    }
}

/// Approvals that leave the router with exactly `needed`, in their order: none if it has that already. What is left of
/// an earlier permission is taken back first, because some tokens refuse to replace one.
pub fn approvals(allowed: U256, needed: Amount) -> Vec<Amount> {
    if allowed == U256::from(needed) {
        Vec::new()
    } else if allowed == U256::ZERO {
        vec![needed]
    } else if needed == 0 {
        vec![0]
    } else {
        vec![0, needed]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::chain::tests::{FIRST, ROUTER, SECOND, SHARES, TOKENS, chain};
    use cambist_core::order::{FillBy, Swap};
    use cambist_core::{
        ClientOrderId, MarketId, OrderKind, Price, Qty, Side, StrategyId, VenueTime,
    };

    pub(crate) const FEES: Fees = Fees {
        priority_max: 2,
        max: 30,
    };

    pub(crate) fn client_id() -> ClientOrderId {
        ClientOrderId {
            instance: 1,
            strategy: StrategyId(0),
            number: 1,
        }
    }

    pub(crate) fn join() -> UnsignedPoolTransaction {
        UnsignedPoolTransaction {
            client_id: client_id(),
            market: MarketId(0),
            kind: PoolTransactionKind::Join,
            pooled: [FIRST, SECOND],
            amounts: [100, 301],
            lp: SHARES,
            lp_amount: 99,
            storage_ids: vec![7],
            fee_max: 0,
            valid_until_s: 1_050,
            made_at: VenueTime::from_s(1_000),
        }
    }

    pub(crate) fn exit() -> UnsignedPoolTransaction {
        UnsignedPoolTransaction {
            kind: PoolTransactionKind::Exit,
            amounts: [90, 280],
            lp_amount: 95,
            ..join()
        }
    }

    /// Sells 50 of the first token, which is the market's base, for at least 140 of the second.
    pub(crate) fn swap() -> UnsignedOrder {
        UnsignedOrder {
            client_id: client_id(),
            market: MarketId(0),
            side: Side::Sell,
            price: Price(1),
            qty: Qty(1),
            kind: OrderKind::TakerOnly,
            swap: Some(Swap { most: 150 }),
            sell_token: FIRST,
            sell_amount: 50,
            buy_token: SECOND,
            buy_amount: 140,
            fill_by: FillBy::Sell,
            slot: 7,
            accepted_until_s: 1_050,
            rests_until_s: Some(1_050),
            max_fee_bips: 0,
            made_at: VenueTime::from_s(1_000),
        }
    }

    fn n(number: u64) -> U256 {
        U256::from(number)
    }

    #[test]
    fn a_join_signs_its_payments_less_slippage_as_the_least() {
        let chain = chain();
        let made = chain.pool_transaction(&join(), FEES).unwrap();
        let expected = Call::AddLiquidity {
            token_a: TOKENS[0],
            token_b: TOKENS[1],
            a_max: n(100),
            b_max: n(301),
            a_min: n(99),
            // One per cent less is 297.99, rounded up.
            b_min: n(298),
            to: chain.account,
            deadline: n(1_050),
        };
        assert_eq!(Call::read(&made.data), Ok(expected));
        assert_eq!((made.nonce, made.to), (7, Some(chain.router)));
        assert_eq!((made.gas_limit, made.value), (300_000, U256::ZERO));
        assert!(chain.permits(&made));
        let with = |edit: fn(&mut UnsignedPoolTransaction)| {
            let mut wanted = join();
            edit(&mut wanted);
            chain.pool_transaction(&wanted, FEES)
        };
        let numbers = |of| match of {
            1 => with(|of| of.storage_ids = vec![7, 8]),
            _ => with(|of| of.storage_ids.clear()),
        };
        assert_eq!(numbers(1), Err(SealError::Numbers));
        assert_eq!(numbers(0), Err(SealError::Numbers));
        assert_eq!(with(|of| of.pooled.reverse()), Err(SealError::Pool));
        assert_eq!(with(|of| of.market = MarketId(1)), Err(SealError::Pool));
        assert_eq!(with(|of| of.lp = FIRST), Err(SealError::Pool));
        assert!(
            with(|of| of.amounts[0] = Amount::MAX).is_ok(),
            "reckoned in 256 bits"
        );
    }

    #[test]
    fn an_exit_and_a_swap_sign_their_own_limits() {
        let chain = chain();
        let left = chain.pool_transaction(&exit(), FEES).unwrap();
        let expected = Call::RemoveLiquidity {
            token_a: TOKENS[0],
            token_b: TOKENS[1],
            shares: n(95),
            a_min: n(90),
            b_min: n(280),
            to: chain.account,
            deadline: n(1_050),
        };
        assert_eq!(Call::read(&left.data), Ok(expected));
        let sold = chain.swap(&swap(), FEES).unwrap();
        let expected = Call::SwapExactTokensForTokens {
            sold: n(50),
            bought_min: n(140),
            path: TOKENS,
            to: chain.account,
            deadline: n(1_050),
        };
        assert_eq!(Call::read(&sold.data), Ok(expected));
        assert!(chain.permits(&left) && chain.permits(&sold));
        let rests = UnsignedOrder {
            swap: None,
            ..swap()
        };
        assert_eq!(chain.swap(&rests, FEES), Err(SealError::NoSwap));
        let same = UnsignedOrder {
            buy_token: FIRST,
            ..swap()
        };
        assert_eq!(chain.swap(&same, FEES), Err(SealError::Pool));
    }

    #[test]
    fn a_range_is_joined_and_left_by_its_position() {
        use crate::chain::tests::in_range;
        use crate::range::tests::range_of;
        use v3::call::{Call, multicall, read_multicall};

        let sealed = |held, wanted: &UnsignedPoolTransaction| {
            let chain = in_range(held);
            let made = chain.pool_transaction(wanted, FEES)?;
            assert!(chain.permits(&made));
            assert_eq!((made.nonce, made.to), (7, Some(ROUTER)));
            Ok(made.data)
        };
        let [lower, upper] = [-60, 120].map(|tick| v3::tick::Tick::new(tick).unwrap());
        let [least0, least1] = range_of(-60, 120).least_payments([100, 301], 99).unwrap();
        let mint = Call::Mint {
            token0: TOKENS[0],
            token1: TOKENS[1],
            fee: n(3_000),
            lower,
            upper,
            most0: n(100),
            most1: n(301),
            least0,
            least1,
            recipient: crate::chain::tests::ACCOUNT,
            deadline: n(1_050),
        };
        assert_eq!(sealed(Held::Nothing, &join()), Ok(mint.encode()));
        let more = Call::IncreaseLiquidity {
            position: n(5),
            most0: n(100),
            most1: n(301),
            least0,
            least1,
            deadline: n(1_050),
        };
        let position = Held::Position(n(5));
        assert_eq!(sealed(position, &join()), Ok(more.encode()));
        let leave = [
            Call::DecreaseLiquidity {
                position: n(5),
                liquidity: n(95),
                least0: n(90),
                least1: n(280),
                deadline: n(1_050),
            },
            Call::Collect {
                position: n(5),
                recipient: crate::chain::tests::ACCOUNT,
                most0: U256::from(u128::MAX),
                most1: U256::from(u128::MAX),
            },
        ];
        let left = sealed(position, &exit());
        assert_eq!(left, Ok(multicall(&leave)));
        assert_eq!(read_multicall(&left.unwrap()), Ok(leave.to_vec()));
        // What is owed is collected by an exit of one of liquidity, with the same deadline.
        let least = UnsignedPoolTransaction {
            amounts: [0, 0],
            lp_amount: 1,
            ..exit()
        };
        let [_, collect] = leave;
        let one = Call::DecreaseLiquidity {
            position: n(5),
            liquidity: n(1),
            least0: n(0),
            least1: n(0),
            deadline: n(1_050),
        };
        assert_eq!(sealed(position, &least), Ok(multicall(&[one, collect])));
        for (held, wanted) in [
            (Held::Unread, join()),
            (Held::Unread, exit()),
            (Held::Nothing, exit()),
        ] {
            assert_eq!(sealed(held, &wanted), Err(SealError::Position), "{held:?}");
        }
        let nothing = UnsignedPoolTransaction {
            lp_amount: 0,
            ..join()
        };
        assert!(sealed(position, &nothing).is_err());
        assert_eq!(in_range(position).swap(&swap(), FEES), Err(SealError::Pool));
    }

    #[test]
    fn the_bytes_are_those_of_the_account_and_read_back() {
        let key = EthKey::from_hex("0x5").unwrap();
        let mut chain = chain();
        let burn = chain.burn(3, FEES);
        assert_eq!(chain.seal(&burn, &key), Err(SealError::Key));
        chain.account = key.address();
        let burn = chain.burn(3, FEES);
        let sealed = chain.seal(&burn, &key).unwrap();
        let read = Signed::read(&sealed.bytes, chain.id).unwrap();
        assert_eq!(read.transaction(), &burn);
        assert_eq!((burn.gas_limit, burn.data.len()), (BURN_GAS, 0));
        assert_eq!(sealed.hash.0, read.hash().0);
        assert_eq!((sealed.nonce, sealed.fees), (3, FEES));
        assert_eq!(
            chain.seal(&burn, &key),
            Ok(sealed),
            "the same bytes every time"
        );
        let elsewhere = Transaction {
            to: Some(TOKENS[0]),
            ..chain.burn(3, FEES)
        };
        assert_eq!(chain.seal(&elsewhere, &key), Err(SealError::Forbidden));
        let approval = chain.approval(SHARES, 95, 4, FEES).unwrap();
        assert!(chain.seal(&approval, &key).is_ok());
        assert!(chain.approval(chain.coin, 1, 4, FEES).is_err());
    }

    #[test]
    fn permissions_are_exact() {
        assert!(approvals(n(5), 5).is_empty());
        assert_eq!(approvals(n(0), 5), [5]);
        assert_eq!(approvals(n(4), 5), [0, 5]);
        assert_eq!(approvals(U256::MAX, 5), [0, 5]);
        assert_eq!(approvals(n(4), 0), [0]);
        assert!(approvals(n(0), 0).is_empty());
    }
}
