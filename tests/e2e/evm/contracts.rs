//! Two tokens, their Uniswap V2 pair, router and factory as values: what calls return, and what a transaction changes. Their
//! V3 pool is `ranges`.
//!
//! Amounts and rounding are those of `UniswapV2Pair.sol` and `UniswapV2Router02.sol`, without a protocol fee.

pub mod ranges;

use std::collections::BTreeMap;

use cambist_evm::call::Call;
use cambist_evm::transaction::Transaction;
use cambist_evm::{Address, Hash32, U256, keccak256};

pub const ROUTER: Address = Address([0x40; 20]);
pub const FACTORY: Address = Address([0xfa; 20]);
/// Both tokens, in the order of the pair.
pub const TOKENS: [Address; 2] = [Address([0x11; 20]), Address([0x22; 20])];
pub const PAIR: Address = Address([0x99; 20]);
/// Holds what the account does not.
pub const OTHERS: Address = Address([0x0e; 20]);
/// Gets what a token keeps of transfers.
const COLLECTOR: Address = Address([0xcc; 20]);

/// The call is reverted; nothing changed.
#[derive(Debug)]
pub struct Reverted;

/// What a token does beside moving what it was asked to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keeps {
    /// Ten-thousandths of every transfer.
    pub bps: u64,
    /// Its logs state what was sent, and not what arrived.
    pub is_hidden: bool,
}

/// An ERC-20 token.
#[derive(Clone, Debug, Default)]
pub struct Token {
    pub decimals: u64,
    pub keeps: Keeps,
    /// Nothing of it moves.
    pub is_frozen: bool,
    supply: U256,
    balances: BTreeMap<Address, U256>,
    allowances: BTreeMap<(Address, Address), U256>,
}

impl Token {
    pub fn of(&self, owner: Address) -> U256 {
        self.balances.get(&owner).copied().unwrap_or_default()
    }

    pub fn allowed(&self, owner: Address, spender: Address) -> U256 {
        let allowed = self.allowances.get(&(owner, spender));
        allowed.copied().unwrap_or_default()
    }

    pub fn supply(&self) -> U256 {
        self.supply
    }

    fn mint(&mut self, to: Address, amount: U256) {
        self.supply += amount;
        *self.balances.entry(to).or_default() += amount;
    }

    /// Changes a balance without a transfer, as tokens do whose balances follow an index.
    pub fn rebase(&mut self, owner: Address, to: U256) {
        self.balances.insert(owner, to);
    }
}

/// Everything that a block leaves behind.
#[derive(Clone, Debug)]
pub struct World {
    pub coin: BTreeMap<Address, U256>,
    pub nonces: BTreeMap<Address, u64>,
    /// By contract, the pair's shares among them.
    pub tokens: BTreeMap<Address, Token>,
    pub reserves: [U256; 2],
    /// The V3 pool and its positions.
    pub ranges: ranges::Ranges,
    /// Contracts without code.
    pub missing: Vec<Address>,
    /// What the router states as its factory.
    pub factory_of_router: Address,
    /// What is at the router's address.
    pub router_is: Router,
}

/// What is at the address of the router.
#[derive(Clone, Copy, Debug, Default)]
pub enum Router {
    #[default]
    Itself,
    /// A contract that reverts what it does not have.
    Reverting,
    /// A contract that takes every call, and returns nothing.
    Silent,
}

/// A log without its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub address: Address,
    pub topics: Vec<Hash32>,
    pub data: Vec<u8>,
}

impl World {
    /// A pool of 1,000,000 ONE and 2,000,000,000 TWO, and an account with 1,000 ONE, 2,000,000 TWO and 10 of the coin.
    pub fn new(account: Address) -> Self {
        let whole = |count: u64| U256::from(count) * U256::from(10_u64.pow(18));
        let [mut one, mut two] = [(); 2].map(|()| Token {
            decimals: 18,
            ..Token::default()
        });
        let reserves = [whole(1_000_000), whole(2_000_000_000)];
        one.mint(PAIR, reserves[0]);
        two.mint(PAIR, reserves[1]);
        one.mint(ranges::V3_POOL, whole(1_000_000));
        two.mint(ranges::V3_POOL, whole(2_000_000_000));
        one.mint(account, whole(1_000));
        two.mint(account, whole(2_000_000));
        let mut shares = Token {
            decimals: 18,
            ..Token::default()
        };
        shares.mint(OTHERS, whole(40_000_000));
        let contracts = [(TOKENS[0], one), (TOKENS[1], two), (PAIR, shares)];
        Self {
            coin: [(account, whole(10))].into(),
            nonces: BTreeMap::new(),
            tokens: contracts.into(),
            reserves,
            ranges: ranges::Ranges::default(),
            missing: Vec::new(),
            factory_of_router: FACTORY,
            router_is: Router::Itself,
        }
    }

    pub fn token(&mut self, contract: Address) -> &mut Token {
        self.tokens.entry(contract).or_default()
    }

    pub fn nonce(&self, account: Address) -> u64 {
        self.nonces.get(&account).copied().unwrap_or_default()
    }

    pub fn has_code(&self, contract: Address) -> bool {
        let v3 = [ranges::MANAGER, ranges::V3_FACTORY, ranges::V3_POOL];
        let known = [ROUTER, FACTORY].contains(&contract)
            || v3.contains(&contract)
            || self.tokens.contains_key(&contract);
        known && !self.missing.contains(&contract)
    }

    /// What a call returns without a transaction.
    pub fn view(
        &self,
        from: Option<Address>,
        to: Address,
        data: &[u8],
    ) -> Result<Vec<u8>, Reverted> {
        let v3 = [ranges::MANAGER, ranges::V3_FACTORY, ranges::V3_POOL];
        if v3.contains(&to) && self.has_code(to) {
            return self.ranges.view(from, to, data);
        }
        let call = Call::read(data).map_err(|_| Reverted)?;
        let number = |number: U256| number.to_be_bytes::<32>().to_vec();
        let address = |address: Address| word(address).to_vec();
        if !self.has_code(to) {
            return Ok(Vec::new());
        }
        let token = || self.tokens.get(&to).ok_or(Reverted);
        Ok(match (to, call) {
            (ROUTER, Call::Factory {}) => match &self.router_is {
                Router::Itself => address(self.factory_of_router),
                Router::Reverting => return Err(Reverted),
                Router::Silent => Vec::new(),
            },
            (PAIR, Call::Factory {}) => address(FACTORY),
            (FACTORY, Call::GetPair { token_a, token_b }) => {
                let is_pair = [token_a, token_b] == TOKENS || [token_b, token_a] == TOKENS;
                address(if is_pair { PAIR } else { Address::ZERO })
            }
            (FACTORY, Call::FeeTo {}) => address(Address::ZERO),
            (PAIR, Call::Token0 {}) => address(TOKENS[0]),
            (PAIR, Call::Token1 {}) => address(TOKENS[1]),
            (PAIR, Call::KLast {}) => number(U256::ZERO),
            (PAIR, Call::GetReserves {}) => {
                let words = [self.reserves[0], self.reserves[1], U256::ZERO];
                words.map(|word| word.to_be_bytes::<32>()).concat()
            }
            (_, Call::BalanceOf { owner }) => number(token()?.of(owner)),
            (_, Call::Allowance { owner, spender }) => number(token()?.allowed(owner, spender)),
            (_, Call::TotalSupply {}) => number(token()?.supply),
            (_, Call::Decimals {}) => number(U256::from(token()?.decimals)),
            _ => return Err(Reverted),
        })
    }

    /// What the code of `cambist_evm::probe` returns at a holder: balances of both, a transfer, balances, the transfer
    /// back, balances. Nothing remains of it.
    pub fn probe(&self, holder: Address, token: Address, other: Address, amount: U256) -> Vec<u8> {
        let mut world = self.clone();
        let mut words = Vec::new();
        let held = |world: &Self| {
            let token = world.tokens.get(&token).cloned().unwrap_or_default();
            [token.of(holder), token.of(other)]
        };
        words.extend(held(&world));
        for (from, to) in [(holder, other), (other, holder)] {
            let moved = world.moves(token, from, to, amount, &mut Vec::new());
            words.push(U256::from(u8::from(moved.is_ok())));
            words.extend(held(&world));
        }
        let words = words.iter().map(U256::to_be_bytes::<32>);
        words.collect::<Vec<_>>().concat()
    }

    /// Executes the call of a transaction at a time; the caller pays for its gas.
    pub fn execute(
        &mut self,
        from: Address,
        of: &Transaction,
        now_s: u64,
    ) -> Result<Vec<Written>, Reverted> {
        let before = self.clone();
        let mut logs = Vec::new();
        let done = self.call(from, of, now_s, &mut logs);
        if done.is_err() {
            *self = before;
        }
        done.map(|()| logs)
    }

    fn call(
        &mut self,
        from: Address,
        of: &Transaction,
        now_s: u64,
        logs: &mut Vec<Written>,
    ) -> Result<(), Reverted> {
        let to = of.to.ok_or(Reverted)?;
        if of.data.is_empty() {
            return Ok(());
        }
        if to == ranges::MANAGER {
            return self.call_manager(from, &of.data, now_s, logs);
        }
        let is_in_time = |deadline: U256| {
            (deadline >= U256::from(now_s))
                .then_some(())
                .ok_or(Reverted)
        };
        match (to, Call::read(&of.data).map_err(|_| Reverted)?) {
            (
                ROUTER,
                Call::AddLiquidity {
                    token_a,
                    token_b,
                    a_max,
                    b_max,
                    a_min,
                    b_min,
                    to,
                    deadline,
                },
            ) => {
                is_in_time(deadline)?;
                let at = place(token_a, token_b)?;
                let [most, least] =
                    [[a_max, b_max], [a_min, b_min]].map(|amounts| at.map(|at| amounts[at]));
                self.join(from, to, most, least, logs)
            }
            (
                ROUTER,
                Call::RemoveLiquidity {
                    token_a,
                    token_b,
                    shares,
                    a_min,
                    b_min,
                    to,
                    deadline,
                },
            ) => {
                is_in_time(deadline)?;
                let least = place(token_a, token_b)?.map(|at| [a_min, b_min][at]);
                self.exit(from, to, shares, least, logs)
            }
            (
                ROUTER,
                Call::SwapExactTokensForTokens {
                    sold,
                    bought_min,
                    path,
                    to,
                    deadline,
                },
            ) => {
                is_in_time(deadline)?;
                let at = place(path[0], path[1])?;
                self.swap(from, to, (sold, bought_min), at, logs)
            }
            (_, Call::Approve { spender, amount }) => {
                let token = self.tokens.get_mut(&to).ok_or(Reverted)?;
                token.allowances.insert((from, spender), amount);
                logs.push(log(
                    to,
                    "Approval(address,address,uint256)",
                    &[from, spender],
                    &[amount],
                ));
                Ok(())
            }
            (
                _,
                Call::Transfer {
                    to: receiver,
                    amount,
                },
            ) => self.moves(to, from, receiver, amount, logs),
            _ => Err(Reverted),
        }
    }

    fn moves(
        &mut self,
        contract: Address,
        from: Address,
        to: Address,
        amount: U256,
        logs: &mut Vec<Written>,
    ) -> Result<(), Reverted> {
        const TRANSFER: &str = "Transfer(address,address,uint256)";
        let token = self.tokens.get_mut(&contract).ok_or(Reverted)?;
        if token.is_frozen {
            return Err(Reverted);
        }
        let left = token.of(from).checked_sub(amount).ok_or(Reverted)?;
        let kept = amount * U256::from(token.keeps.bps) / U256::from(10_000);
        token.balances.insert(from, left);
        *token.balances.entry(to).or_default() += amount - kept;
        *token.balances.entry(COLLECTOR).or_default() += kept;
        if token.keeps.is_hidden || kept == U256::ZERO {
            logs.push(log(contract, TRANSFER, &[from, to], &[amount]));
        } else {
            logs.push(log(contract, TRANSFER, &[from, COLLECTOR], &[kept]));
            logs.push(log(contract, TRANSFER, &[from, to], &[amount - kept]));
        }
        Ok(())
    }

    /// The router takes what it was allowed to.
    fn takes(
        &mut self,
        contract: Address,
        from: Address,
        amount: U256,
        logs: &mut Vec<Written>,
    ) -> Result<(), Reverted> {
        let token = self.tokens.get_mut(&contract).ok_or(Reverted)?;
        let left = token
            .allowed(from, ROUTER)
            .checked_sub(amount)
            .ok_or(Reverted)?;
        token.allowances.insert((from, ROUTER), left);
        self.moves(contract, from, PAIR, amount, logs)
    }

    fn join(
        &mut self,
        from: Address,
        to: Address,
        most: [U256; 2],
        least: [U256; 2],
        logs: &mut Vec<Written>,
    ) -> Result<(), Reverted> {
        let [first, second] = self.reserves;
        let second_for = most[0] * second / first;
        let paid = if second_for <= most[1] {
            if second_for < least[1] {
                return Err(Reverted);
            }
            [most[0], second_for]
        } else {
            let first_for = most[1] * first / second;
            if first_for < least[0] {
                return Err(Reverted);
            }
            [first_for, most[1]]
        };
        for (contract, paid) in TOKENS.into_iter().zip(paid) {
            self.takes(contract, from, paid, logs)?;
        }
        let held = TOKENS.map(|contract| self.tokens[&contract].of(PAIR));
        let got = [held[0] - first, held[1] - second];
        let shares = self.token(PAIR);
        let minted = (got[0] * shares.supply / first).min(got[1] * shares.supply / second);
        if minted == U256::ZERO {
            return Err(Reverted);
        }
        shares.mint(to, minted);
        logs.push(log(
            PAIR,
            "Transfer(address,address,uint256)",
            &[Address::ZERO, to],
            &[minted],
        ));
        self.sync(held, logs);
        logs.push(log(PAIR, "Mint(address,uint256,uint256)", &[ROUTER], &got));
        Ok(())
    }

    fn exit(
        &mut self,
        from: Address,
        to: Address,
        shares: U256,
        least: [U256; 2],
        logs: &mut Vec<Written>,
    ) -> Result<(), Reverted> {
        self.takes(PAIR, from, shares, logs)?;
        let held = TOKENS.map(|contract| self.tokens[&contract].of(PAIR));
        let supply = self.tokens[&PAIR].supply;
        let paid = held.map(|held| shares * held / supply);
        let token = self.token(PAIR);
        token.supply -= shares;
        let burnt = token.of(PAIR) - shares;
        token.balances.insert(PAIR, burnt);
        logs.push(log(
            PAIR,
            "Transfer(address,address,uint256)",
            &[PAIR, Address::ZERO],
            &[shares],
        ));
        for (at, contract) in TOKENS.into_iter().enumerate() {
            if paid[at] < least[at] {
                return Err(Reverted);
            }
            self.moves(contract, PAIR, to, paid[at], logs)?;
        }
        let held = TOKENS.map(|contract| self.tokens[&contract].of(PAIR));
        self.sync(held, logs);
        logs.push(log(
            PAIR,
            "Burn(address,uint256,uint256,address)",
            &[ROUTER, to],
            &paid,
        ));
        Ok(())
    }

    /// Of the first token of `at` for the second: the pool keeps three thousandths of what it is paid.
    fn swap(
        &mut self,
        from: Address,
        to: Address,
        (sold, bought_min): (U256, U256),
        [sells, buys]: [usize; 2],
        logs: &mut Vec<Written>,
    ) -> Result<(), Reverted> {
        let counted = sold * U256::from(997);
        let bought =
            counted * self.reserves[buys] / (self.reserves[sells] * U256::from(1_000) + counted);
        if bought < bought_min || bought == U256::ZERO {
            return Err(Reverted);
        }
        self.takes(TOKENS[sells], from, sold, logs)?;
        self.moves(TOKENS[buys], PAIR, to, bought, logs)?;
        let held = TOKENS.map(|contract| self.tokens[&contract].of(PAIR));
        let mut amounts = [U256::ZERO; 4];
        amounts[sells] = held[sells] - self.reserves[sells];
        amounts[2 + buys] = bought;
        self.sync(held, logs);
        logs.push(log(
            PAIR,
            "Swap(address,uint256,uint256,uint256,uint256,address)",
            &[ROUTER, to],
            &amounts,
        ));
        Ok(())
    }

    fn sync(&mut self, held: [U256; 2], logs: &mut Vec<Written>) {
        self.reserves = held;
        logs.push(log(PAIR, "Sync(uint112,uint112)", &[], &held));
    }
}

/// For each token of the pair, its place among those of a call.
fn place(token_a: Address, token_b: Address) -> Result<[usize; 2], Reverted> {
    if [token_a, token_b] == TOKENS {
        Ok([0, 1])
    } else if [token_b, token_a] == TOKENS {
        Ok([1, 0])
    } else {
        Err(Reverted)
    }
}

fn word(address: Address) -> [u8; 32] {
    let mut word = [0; 32];
    word[12..].copy_from_slice(&address.0);
    word
}

fn log(contract: Address, signature: &str, indexed: &[Address], numbers: &[U256]) -> Written {
    let kind = Hash32(keccak256(&[signature.as_bytes()]));
    let indexed = indexed.iter().map(|address| Hash32(word(*address)));
    let words = numbers.iter().map(U256::to_be_bytes::<32>);
    Written {
        address: contract,
        topics: std::iter::once(kind).chain(indexed).collect(),
        data: words.collect::<Vec<_>>().concat(),
    }
}
