//! What the adapter knows of a chain: one account, the contract that it calls, tokens and pools; and what may be signed for
//! them.

use std::collections::BTreeSet;

use cambist_core::sorted_map::SortedMap;
use cambist_core::{MarketId, PoolSpec, TokenId};
use cambist_evm::call::Call;
use cambist_evm::transaction::Transaction;
use cambist_evm::v3;
use cambist_evm::{Address, U256};

use crate::range::{Held, PoolRange};

/// Most gas of each kind of transaction. What is not used is not paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GasLimits {
    /// Of a join.
    pub join: u64,
    /// Of an exit.
    pub exit: u64,
    /// Of a swap.
    pub swap: u64,
    /// Of an approval.
    pub approve: u64,
}

/// Gas of a transaction that moves nothing.
pub const BURN_GAS: u64 = 21_000;

/// A chain with one account of ours.
#[derive(Clone, Debug)]
pub struct Chain {
    /// Its id, which every transaction signs.
    pub id: u64,
    /// The account that signs.
    pub account: Address,
    /// What joins, exits and swaps call, and what may take tokens for them: the router of V2, or the position manager of
    /// V3.
    pub router: Address,
    /// The chain's coin, which gas is paid in. It is in the books and has no contract.
    pub coin: TokenId,
    /// Contracts of the pooled tokens.
    pub tokens: SortedMap<TokenId, Address>,
    /// The pools: `address` is the pair's, which is the contract of its shares as well, or that of a V3 pool; `pooled` is in
    /// its order.
    pub pools: Vec<PoolSpec>,
    /// The ranges of those that are V3 pools. Their shares are liquidity and have no contract.
    pub ranges: SortedMap<MarketId, PoolRange>,
    /// What a join may pay less of a token than its most, in ten-thousandths (`market.pool.slippage_bps`).
    pub slippage_bps: u32,
    /// Most gas.
    pub gas: GasLimits,
}

/// Why a chain cannot be used as it is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// Two of account, router, tokens and pairs have the same address, or one is zero.
    #[error("addresses of account, router, tokens and pairs must differ and not be zero")]
    Addresses,
    /// The coin has no contract; its wrapped form is another token.
    #[error("the chain's coin must not be a pooled token: its wrapped form is another token")]
    Coin,
    /// A pool of a token without a contract.
    #[error("a pool's token has no contract")]
    Token,
    /// A pair orders its tokens by address.
    #[error("a pool's tokens are not in the pair's order: the lower address is first")]
    Order,
    /// Ends of ranges are multiples of the pool's tick spacing, and a pool is in a range exactly if one is configured.
    #[error(
        "the ends of a range are no multiples of the pool's tick spacing, or a range has no pool"
    )]
    Range,
}

impl Chain {
    /// Whether the configuration can be right at all.
    ///
    /// # Errors
    /// [`ChainError`].
    pub fn check(&self) -> Result<(), ChainError> {
        let pairs = self.pools.iter().map(|pool| Address(pool.address));
        let all: Vec<_> = [self.account, self.router]
            .into_iter()
            .chain(self.tokens.values().copied())
            .chain(pairs)
            .collect();
        let distinct: BTreeSet<_> = all.iter().collect();
        if distinct.len() != all.len() || distinct.contains(&Address::ZERO) {
            return Err(ChainError::Addresses);
        }
        if self.tokens.contains_key(&self.coin) {
            return Err(ChainError::Coin);
        }
        for pool in &self.pools {
            let [first, second] = pool.pooled.map(|token| self.tokens.get(&token));
            let (Some(first), Some(second)) = (first, second) else {
                return Err(ChainError::Token);
            };
            if first >= second {
                return Err(ChainError::Order);
            }
            if pool.in_range != self.ranges.contains_key(&pool.market) {
                return Err(ChainError::Range);
            }
        }
        for (market, of) in &self.ranges {
            let ends = [of.range.lower(), of.range.upper()].map(v3::tick::Tick::number);
            let fits = of.spacing > 0 && ends.iter().all(|end| end % of.spacing == 0);
            if !fits || self.pool(*market).is_none() {
                return Err(ChainError::Range);
            }
        }
        Ok(())
    }

    /// The pool beside a market.
    pub fn pool(&self, market: MarketId) -> Option<&PoolSpec> {
        self.pools.iter().find(|pool| pool.market == market)
    }

    /// Pools whose shares are a token with a contract: all but those of ranges.
    pub fn pairs(&self) -> impl Iterator<Item = &PoolSpec> {
        let is_pair = |pool: &&PoolSpec| !self.ranges.contains_key(&pool.market);
        self.pools.iter().filter(is_pair)
    }

    /// The contract of a pooled token or of shares.
    pub fn contract(&self, token: TokenId) -> Option<Address> {
        let of_shares = self.pairs().find(|pool| pool.lp.id == token);
        let shares = of_shares.map(|pool| Address(pool.address));
        self.tokens.get(&token).copied().or(shares)
    }

    /// The pooled token or shares of a contract.
    pub fn token(&self, contract: Address) -> Option<TokenId> {
        let of_tokens = self.tokens.iter().find(|(_, of)| **of == contract);
        let of_shares = || {
            let pool = self.pairs().find(|pool| pool.address == contract.0);
            pool.map(|pool| pool.lp.id)
        };
        of_tokens.map(|(token, _)| *token).or_else(of_shares)
    }

    /// Whether a transaction may be signed for this account: on this chain, without coin, and a call of the router or of the
    /// position manager for a pool, and its range, with everything coming back to the account, an approval for it, or
    /// nothing at all to the account itself.
    pub fn permits(&self, transaction: &Transaction) -> bool {
        let Some(to) = transaction.to else {
            return false;
        };
        if transaction.chain_id != self.id || transaction.value != U256::ZERO {
            return false;
        }
        if to == self.account {
            return transaction.data.is_empty();
        }
        let pooled = |a: Address, b: Address| {
            self.pairs().any(|pool| {
                let of = pool.pooled.map(|token| self.contract(token));
                of == [Some(a), Some(b)] || of == [Some(b), Some(a)]
            })
        };
        if to == self.router && self.permits_position(&transaction.data) {
            return true;
        }
        match Call::read(&transaction.data) {
            Ok(Call::Approve { spender, .. }) => spender == self.router && self.token(to).is_some(),
            Ok(
                Call::AddLiquidity {
                    token_a,
                    token_b,
                    to: receiver,
                    ..
                }
                | Call::RemoveLiquidity {
                    token_a,
                    token_b,
                    to: receiver,
                    ..
                }
                | Call::SwapExactTokensForTokens {
                    path: [token_a, token_b],
                    to: receiver,
                    ..
                },
            ) => to == self.router && receiver == self.account && pooled(token_a, token_b),
            _ => false,
        }
    }

    /// Whether these are the data of a call of the position manager for a configured range: a new position for the
    /// account, more liquidity for its own one, or less of that with everything paid out to the account.
    fn permits_position(&self, data: &[u8]) -> bool {
        use v3::call::{Call, read_multicall};
        let is_held = |position: U256| {
            let mut ranges = self.ranges.values();
            ranges.any(|of| of.held == Held::Position(position))
        };
        match Call::read(data) {
            Ok(Call::Mint {
                token0,
                token1,
                fee,
                lower,
                upper,
                recipient,
                ..
            }) => {
                let is_pool = |pool: &PoolSpec| {
                    let of = pool.pooled.map(|token| self.contract(token));
                    let range = self.ranges.get(&pool.market);
                    of == [Some(token0), Some(token1)]
                        && range.is_some_and(|of| {
                            fee == U256::from(of.fee)
                                && [lower, upper] == [of.range.lower(), of.range.upper()]
                        })
                };
                return recipient == self.account && self.pools.iter().any(is_pool);
            }
            Ok(Call::IncreaseLiquidity { position, .. }) => return is_held(position),
            _ => {}
        }
        match read_multicall(data).as_deref() {
            Ok(
                [
                    Call::DecreaseLiquidity { position: left, .. },
                    Call::Collect {
                        position,
                        recipient,
                        ..
                    },
                ],
            ) => left == position && is_held(*position) && *recipient == self.account,
            _ => false,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use cambist_core::TokenSpec;

    pub(crate) const ACCOUNT: Address = Address([0xaa; 20]);
    pub(crate) const ROUTER: Address = Address([0xbb; 20]);
    pub(crate) const PAIR: Address = Address([0xcc; 20]);
    pub(crate) const TOKENS: [Address; 2] = [Address([0x11; 20]), Address([0x22; 20])];
    pub(crate) const FIRST: TokenId = TokenId(1);
    pub(crate) const SECOND: TokenId = TokenId(2);
    pub(crate) const SHARES: TokenId = TokenId(3);
    pub(crate) const COIN: TokenId = TokenId(4);

    pub(crate) fn token(id: TokenId) -> TokenSpec {
        TokenSpec {
            id,
            symbol: format!("T{}", id.0),
            decimals: 18,
            precision: 18,
            minimum: 1,
            maximum: 1 << 100,
            dust: 0,
            enabled: true,
        }
    }

    pub(crate) fn chain() -> Chain {
        Chain {
            id: 31_337,
            account: ACCOUNT,
            router: ROUTER,
            coin: COIN,
            tokens: [(FIRST, TOKENS[0]), (SECOND, TOKENS[1])].into(),
            pools: vec![PoolSpec {
                market: MarketId(0),
                name: "T1-T2".to_owned(),
                address: PAIR.0,
                pooled: [FIRST, SECOND],
                lp: token(SHARES),
                joins: true,
                exits: true,
                swaps: true,
                fee_bips: 30,
                in_range: false,
            }],
            ranges: SortedMap::new(),
            slippage_bps: 100,
            gas: GasLimits {
                join: 300_000,
                exit: 300_000,
                swap: 200_000,
                approve: 60_000,
            },
        }
    }

    #[test]
    fn addresses_are_distinct_and_in_the_order_of_the_pair() {
        assert_eq!(chain().check(), Ok(()));
        let with = |edit: fn(&mut Chain)| {
            let mut chain = chain();
            edit(&mut chain);
            chain.check()
        };
        assert_eq!(with(|of| of.router = ACCOUNT), Err(ChainError::Addresses));
        assert_eq!(
            with(|of| of.account = Address::ZERO),
            Err(ChainError::Addresses)
        );
        assert_eq!(
            with(|of| of.pools[0].address = TOKENS[0].0),
            Err(ChainError::Addresses)
        );
        assert_eq!(with(|of| of.coin = FIRST), Err(ChainError::Coin));
        assert_eq!(
            with(|of| of.pools[0].pooled[1] = TokenId(9)),
            Err(ChainError::Token)
        );
        assert_eq!(
            with(|of| of.pools[0].pooled.reverse()),
            Err(ChainError::Order)
        );
        let chain = chain();
        for id in [FIRST, SECOND, SHARES] {
            let contract = chain.contract(id);
            assert_eq!(contract.and_then(|at| chain.token(at)), Some(id));
        }
        assert_eq!(chain.contract(COIN), None);
        assert_eq!(chain.token(ROUTER), None);
    }

    /// As [`chain`], with a range of its pool and what is held in it.
    pub(crate) fn in_range(held: Held) -> Chain {
        let mut chain = chain();
        chain.pools[0].in_range = true;
        let range = PoolRange {
            held,
            ..crate::range::tests::range_of(-60, 120)
        };
        chain.ranges.insert(MarketId(0), range);
        chain
    }

    fn to(chain: &Chain, to: Address, data: Vec<u8>) -> Transaction {
        Transaction {
            chain_id: chain.id,
            nonce: 0,
            priority_fee_max: 1,
            fee_max: 1,
            gas_limit: 100_000,
            to: Some(to),
            value: U256::ZERO,
            data,
        }
    }

    #[test]
    fn nothing_else_is_signed() {
        let chain = chain();
        let call = |address, call: &Call| to(&chain, address, call.encode());
        let swap = |path, to| Call::SwapExactTokensForTokens {
            sold: U256::from(1),
            bought_min: U256::from(1),
            path,
            to,
            deadline: U256::from(1),
        };
        let approve = |spender| Call::Approve {
            spender,
            amount: U256::from(1),
        };
        let good = call(ROUTER, &swap([TOKENS[1], TOKENS[0]], ACCOUNT));
        assert!(chain.permits(&good));
        assert!(chain.permits(&call(PAIR, &approve(ROUTER))));
        let nothing = Transaction {
            to: Some(ACCOUNT),
            data: Vec::new(),
            ..good.clone()
        };
        assert!(chain.permits(&nothing));
        let other = Address([0xdd; 20]);
        let transfer = Call::Transfer {
            to: ACCOUNT,
            amount: U256::from(1),
        };
        for bad in [
            call(ROUTER, &swap([TOKENS[0], TOKENS[1]], other)),
            call(ROUTER, &swap([TOKENS[0], other], ACCOUNT)),
            call(other, &swap([TOKENS[0], TOKENS[1]], ACCOUNT)),
            call(PAIR, &approve(other)),
            call(other, &approve(ROUTER)),
            call(TOKENS[0], &transfer),
            Transaction {
                value: U256::from(1),
                ..good.clone()
            },
            Transaction {
                value: U256::from(1),
                ..nothing.clone()
            },
            Transaction {
                chain_id: 1,
                ..good.clone()
            },
            Transaction {
                to: None,
                ..good.clone()
            },
            Transaction {
                data: vec![1],
                ..nothing
            },
            Transaction {
                data: vec![1, 2, 3, 4],
                ..good
            },
        ] {
            assert!(!chain.permits(&bad), "{bad:?}");
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of calls")]
    fn of_positions_nothing_else_is_signed() {
        use v3::call::{Call, multicall};
        use v3::tick::Tick;

        let tick = |number| Tick::new(number).expect("a tick");
        let n = |number: u64| U256::from(number);
        let chain = in_range(Held::Position(n(7)));
        assert_eq!(chain.check(), Ok(()));
        let data = |address, data| to(&chain, address, data);
        let mint = |lower, upper, fee, recipient, token1| Call::Mint {
            token0: TOKENS[0],
            token1,
            fee: n(fee),
            lower: tick(lower),
            upper: tick(upper),
            most0: n(1),
            most1: n(1),
            least0: n(1),
            least1: n(1),
            recipient,
            deadline: n(1),
        };
        let increase = |position| Call::IncreaseLiquidity {
            position: n(position),
            most0: n(1),
            most1: n(1),
            least0: n(1),
            least1: n(1),
            deadline: n(1),
        };
        let decrease = |position| Call::DecreaseLiquidity {
            position: n(position),
            liquidity: n(1),
            least0: n(1),
            least1: n(1),
            deadline: n(1),
        };
        let collect = |position, recipient| Call::Collect {
            position: n(position),
            recipient,
            most0: n(1),
            most1: n(1),
        };
        let leave = [decrease(7), collect(7, ACCOUNT)];
        let good = [
            mint(-60, 120, 3_000, ACCOUNT, TOKENS[1]).encode(),
            increase(7).encode(),
            multicall(&leave),
        ];
        for good in &good {
            assert!(chain.permits(&data(ROUTER, good.clone())));
            assert!(
                !chain.permits(&data(PAIR, good.clone())),
                "another contract"
            );
            let paid = Transaction {
                value: n(1),
                ..data(ROUTER, good.clone())
            };
            assert!(!chain.permits(&paid));
        }
        let other = Address([0xdd; 20]);
        for bad in [
            mint(-60, 180, 3_000, ACCOUNT, TOKENS[1]).encode(),
            mint(-120, 120, 3_000, ACCOUNT, TOKENS[1]).encode(),
            mint(-60, 120, 500, ACCOUNT, TOKENS[1]).encode(),
            mint(-60, 120, 3_000, other, TOKENS[1]).encode(),
            mint(-60, 120, 3_000, ACCOUNT, other).encode(),
            increase(8).encode(),
            // Each alone: what is taken out has to be paid out at once.
            decrease(7).encode(),
            collect(7, ACCOUNT).encode(),
            multicall(&leave[..1]),
            multicall(&[decrease(8), collect(8, ACCOUNT)]),
            multicall(&[decrease(7), collect(8, ACCOUNT)]),
            multicall(&[decrease(7), collect(7, other)]),
            multicall(&[collect(7, ACCOUNT), decrease(7)]),
            multicall(&[decrease(7), collect(7, ACCOUNT), collect(7, ACCOUNT)]),
        ] {
            assert!(!chain.permits(&data(ROUTER, bad.clone())), "{bad:?}");
        }
        // No position is known, and what V2's router does is not for this pool.
        for held in [Held::Unread, Held::Nothing] {
            let chain = in_range(held);
            assert!(!chain.permits(&data(ROUTER, good[1].clone())));
            assert!(!chain.permits(&data(ROUTER, good[2].clone())));
        }
        let approve = |to| {
            let call = cambist_evm::call::Call::Approve {
                spender: ROUTER,
                amount: n(1),
            };
            data(to, call.encode())
        };
        assert!(chain.permits(&approve(TOKENS[0])));
        assert!(!chain.permits(&approve(PAIR)), "liquidity is no token");
        assert_eq!(chain.contract(SHARES), None);
        assert_eq!(chain.token(PAIR), None);
        let swap = cambist_evm::call::Call::SwapExactTokensForTokens {
            sold: n(1),
            bought_min: n(1),
            path: TOKENS,
            to: ACCOUNT,
            deadline: n(1),
        };
        assert!(!chain.permits(&data(ROUTER, swap.encode())));
        // Ends that the pool does not have, and a range without its pool.
        let mut other_spacing = chain.clone();
        if let Some(range) = other_spacing.ranges.get_mut(&MarketId(0)) {
            range.spacing = 200;
        }
        assert_eq!(other_spacing.check(), Err(ChainError::Range));
        let mut elsewhere = chain.clone();
        let other = elsewhere.ranges[&MarketId(0)];
        elsewhere.ranges.insert(MarketId(1), other);
        assert_eq!(elsewhere.check(), Err(ChainError::Range));
        let mut whole = chain;
        whole.pools[0].in_range = false;
        assert_eq!(whole.check(), Err(ChainError::Range));
    }
}
