//! A Uniswap V3 pool of both tokens with its factory and position manager, as values. The arithmetic is its own: each
//! amount is one fraction of 512 bits, rounded as `SqrtPriceMath.sol` does, and the roots of prices at ticks are powers.

use std::collections::BTreeMap;

use cambist_evm::call::Call as Common;
use cambist_evm::v3::call::{Call, read_multicall};
use cambist_evm::{Address, Hash32, U256, U512 as Wide, keccak256};

use super::{OTHERS, Reverted, TOKENS, World, Written, word};

pub const MANAGER: Address = Address([0x4e; 20]);
pub const V3_FACTORY: Address = Address([0xf3; 20]);
pub const V3_POOL: Address = Address([0x93; 20]);
/// In millionths.
pub const FEE: u32 = 3_000;
const SPACING: i32 = 60;

/// A position, in any range.
#[derive(Clone, Debug)]
pub struct Position {
    pub owner: Address,
    pub ticks: [i32; 2],
    pub liquidity: u128,
    pub owed: [U256; 2],
    /// Fees for one of liquidity since it was last changed, with 128 bits behind the point.
    growth: [U256; 2],
}

/// The pool and its positions.
#[derive(Clone, Debug)]
pub struct Ranges {
    /// The root of the price, with 96 bits behind the point.
    pub sqrt_price: U256,
    pub positions: BTreeMap<u64, Position>,
    /// What the position manager states as its factory.
    pub factory_of_manager: Address,
    /// What the pool states as its fee.
    pub stated_fee: u32,
    next: u64,
}

/// The root of the price at a tick that is not negative: 10001 / 10000 to its power, with 192 bits behind the point.
pub fn root_at(tick: i32) -> U256 {
    let one: Wide = Wide::from(1) << 192;
    let (mut price, mut power) = (one, one * Wide::from(10_001) / Wide::from(10_000));
    let mut left = u32::try_from(tick).unwrap();
    while left > 0 {
        if left % 2 == 1 {
            price = (price * power) >> 192;
        }
        power = (power * power) >> 192;
        left /= 2;
    }
    narrow(root(price))
}

/// A root of a price a little above a tick: at a tick itself the contracts round in their own way.
fn root_within(tick: i32) -> U256 {
    let more: U256 = U256::from(1) << 60;
    root_at(tick) + more
}

/// The root, rounded down, by halving an interval.
fn root(number: Wide) -> Wide {
    let (mut low, mut high) = (Wide::ZERO, Wide::from(1) << 255);
    while high - low > Wide::from(1) {
        let middle: Wide = (low + high) >> 1;
        if middle * middle <= number {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn narrow(number: Wide) -> U256 {
    U256::from_limbs_slice(&number.as_limbs()[..4])
}

fn wide(number: U256) -> Wide {
    Wide::from(number)
}

/// Both tokens of liquidity in a range at a price, as fractions: numerators and denominators.
fn fractions(ticks: [i32; 2], at: U256, liquidity: u128) -> [(Wide, Wide); 2] {
    let [lower, upper] = ticks.map(root_at);
    let at = at.clamp(lower, upper);
    let liquidity = Wide::from(liquidity);
    let first = (liquidity << 96) * wide(upper - at);
    [
        (first, wide(upper) * wide(at)),
        (liquidity * wide(at - lower), Wide::from(1) << 96),
    ]
}

fn floor(of: [(Wide, Wide); 2]) -> [U256; 2] {
    of.map(|(top, bottom)| narrow(top / bottom))
}

fn ceil(of: [(Wide, Wide); 2]) -> [U256; 2] {
    of.map(|(top, bottom)| narrow((top + bottom - Wide::from(1)) / bottom))
}

impl Default for Ranges {
    /// At 2,000 TWO for one ONE, with liquidity of others nearly everywhere.
    fn default() -> Self {
        let others = Position {
            owner: OTHERS,
            ticks: [0, 150_000],
            liquidity: 40_000_000 * 10_u128.pow(18),
            owed: [U256::ZERO; 2],
            growth: [U256::ZERO; 2],
        };
        Self {
            sqrt_price: root_within(76_013),
            positions: [(1, others)].into(),
            factory_of_manager: V3_FACTORY,
            stated_fee: FEE,
            next: 2,
        }
    }
}

impl Ranges {
    fn is_in(&self, of: &Position) -> bool {
        let [lower, upper] = of.ticks.map(root_at);
        lower <= self.sqrt_price && self.sqrt_price < upper
    }

    fn active(&self) -> u128 {
        let each = self.positions.values().filter(|of| self.is_in(of));
        each.map(|of| of.liquidity).sum()
    }

    /// The highest tick whose root is not above the price.
    pub fn tick(&self) -> i32 {
        let (mut low, mut high) = (0, 150_000);
        while high - low > 1 {
            let middle = i32::midpoint(low, high);
            if root_at(middle) <= self.sqrt_price {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The account's liquidity.
    pub fn held(&self, owner: Address) -> u128 {
        let own = self.positions.values().filter(|of| of.owner == owner);
        own.map(|of| of.liquidity).sum()
    }

    /// A position that was there before.
    pub fn give(&mut self, owner: Address, ticks: [i32; 2], liquidity: u128) -> u64 {
        let position = Position {
            owner,
            ticks,
            liquidity,
            owed: [U256::ZERO; 2],
            growth: [U256::ZERO; 2],
        };
        let id = self.next;
        self.next += 1;
        self.positions.insert(id, position);
        id
    }

    fn count_fees(&mut self, id: u64) -> Result<(), Reverted> {
        let of = self.positions.get_mut(&id).ok_or(Reverted)?;
        for at in 0..2 {
            let grown = wide(of.growth[at]) * Wide::from(of.liquidity);
            of.owed[at] += narrow(grown >> 128);
            of.growth[at] = U256::ZERO;
        }
        Ok(())
    }

    /// What a position is owed, fees until now among it.
    pub fn owed(&self, id: u64) -> Result<[U256; 2], Reverted> {
        let mut counted = self.clone();
        counted.count_fees(id)?;
        Ok(counted.positions[&id].owed)
    }

    /// Calls that contracts of other kinds have as well.
    fn common_view(&self, to: Address, call: Common) -> Result<Vec<u8>, Reverted> {
        Ok(match (to, call) {
            (MANAGER, Common::Factory {}) => numbers(&[address(self.factory_of_manager)]),
            (V3_POOL, Common::Token0 {}) => numbers(&[address(TOKENS[0])]),
            (V3_POOL, Common::Token1 {}) => numbers(&[address(TOKENS[1])]),
            (MANAGER, Common::BalanceOf { owner }) => {
                let own = self.positions.values().filter(|of| of.owner == owner);
                numbers(&[n(own.count() as u128)])
            }
            _ => return Err(Reverted),
        })
    }

    pub fn view(
        &self,
        from: Option<Address>,
        to: Address,
        data: &[u8],
    ) -> Result<Vec<u8>, Reverted> {
        if let Ok(call) = Common::read(data) {
            return self.common_view(to, call);
        }
        let call = Call::read(data).map_err(|_| Reverted)?;
        Ok(match (to, call) {
            (
                V3_FACTORY,
                Call::GetPool {
                    token_a,
                    token_b,
                    fee,
                },
            ) => {
                let is_pool = [token_a, token_b] == TOKENS && fee == U256::from(FEE);
                numbers(&[address(if is_pool { V3_POOL } else { Address::ZERO })])
            }
            (V3_POOL, Call::Fee {}) => numbers(&[U256::from(self.stated_fee)]),
            (V3_POOL, Call::TickSpacing {}) => numbers(&[n(SPACING.unsigned_abs().into())]),
            (V3_POOL, Call::Slot0 {}) => {
                let tick = n(self.tick().unsigned_abs().into());
                let rest = [n(0), n(1), n(1), n(0), n(1)];
                numbers(&[[self.sqrt_price, tick].as_slice(), &rest].concat())
            }
            (V3_POOL, Call::Liquidity {}) => numbers(&[n(self.active())]),
            (V3_POOL, Call::TickBitmap { word }) => {
                let mut bits = U256::ZERO;
                let of = self.positions.values().filter(|of| of.liquidity > 0);
                for place in of.flat_map(|of| of.ticks).map(|tick| tick / SPACING) {
                    if place / 256 == i32::from(word) {
                        bits.set_bit(usize::try_from(place % 256).unwrap(), true);
                    }
                }
                numbers(&[bits])
            }
            (V3_POOL, Call::Ticks { tick }) => {
                let mut net = U256::ZERO;
                for of in self.positions.values() {
                    if of.ticks[0] == tick.number() {
                        net = net.wrapping_add(n(of.liquidity));
                    }
                    if of.ticks[1] == tick.number() {
                        net = net.wrapping_sub(n(of.liquidity));
                    }
                }
                numbers(&[n(1), net, n(0), n(0), n(0), n(0), n(0), n(1)])
            }
            (MANAGER, Call::TokenOfOwnerByIndex { owner, index }) => {
                let mut own = self.positions.iter().filter(|(_, of)| of.owner == owner);
                let id = own.nth(usize::try_from(index).map_err(|_| Reverted)?);
                numbers(&[U256::from(*id.ok_or(Reverted)?.0)])
            }
            (
                MANAGER,
                Call::Collect {
                    position,
                    most0,
                    most1,
                    ..
                },
            ) => {
                let id = u64::try_from(position).map_err(|_| Reverted)?;
                let of = self.positions.get(&id).ok_or(Reverted)?;
                // Only its owner is answered.
                if from != Some(of.owner) {
                    return Err(Reverted);
                }
                let owed = self.owed(id)?;
                numbers(&[owed[0].min(most0), owed[1].min(most1)])
            }
            (MANAGER, Call::Positions { position }) => {
                let id = u64::try_from(position).map_err(|_| Reverted)?;
                let of = self.positions.get(&id).ok_or(Reverted)?;
                let [lower, upper] = of.ticks.map(|tick| n(tick.unsigned_abs().into()));
                numbers(&[
                    n(0),
                    n(0),
                    address(TOKENS[0]),
                    address(TOKENS[1]),
                    U256::from(FEE),
                    lower,
                    upper,
                    n(of.liquidity),
                    n(0),
                    n(0),
                    of.owed[0],
                    of.owed[1],
                ])
            }
            _ => return Err(Reverted),
        })
    }
}

fn numbers(numbers: &[U256]) -> Vec<u8> {
    let words = numbers.iter().map(U256::to_be_bytes::<32>);
    words.collect::<Vec<_>>().concat()
}

fn address(address: Address) -> U256 {
    U256::from_be_slice(&address.0)
}

fn n(number: u128) -> U256 {
    U256::from(number)
}

impl World {
    /// Trades the pool to another price, at which its fees and what liquidity is due have changed. Others are paid and pay.
    pub fn trade_to(&mut self, tick: i32) {
        let target = root_within(tick);
        let rises = target > self.ranges.sqrt_price;
        let (pays, gets) = if rises { (1, 0) } else { (0, 1) };
        while self.ranges.sqrt_price != target {
            let from = self.ranges.sqrt_price;
            // Up to the next end of a range.
            let of = self.ranges.positions.values();
            let ends = of.flat_map(|of| of.ticks).map(root_at);
            let to = if rises {
                ends.filter(|end| *end > from).fold(target, Ord::min)
            } else {
                ends.filter(|end| *end < from).fold(target, Ord::max)
            };
            // Downwards, liquidity is that below the end which the price is at.
            if !rises {
                self.ranges.sqrt_price = from - U256::from(1);
            }
            let active = self.ranges.active();
            let [low, high] = [from.min(to), from.max(to)];
            let liquidity = Wide::from(active);
            let of_both = [
                ((liquidity << 96) * wide(high - low), wide(high) * wide(low)),
                (liquidity * wide(high - low), Wide::from(1) << 96),
            ];
            let (paid, got) = (ceil(of_both)[pays], floor(of_both)[gets]);
            let fee = paid * U256::from(FEE) / U256::from(1_000_000 - FEE) + U256::from(1);
            let grown = narrow((wide(fee) << 128) / liquidity);
            let inside: Vec<u64> = self
                .ranges
                .positions
                .iter()
                .filter_map(|(id, of)| self.ranges.is_in(of).then_some(*id))
                .collect();
            for id in inside {
                if let Some(of) = self.ranges.positions.get_mut(&id) {
                    of.growth[pays] += grown;
                }
            }
            self.token(TOKENS[pays]).mint(V3_POOL, paid + fee);
            let pool = self.token(TOKENS[gets]);
            let left = pool.of(V3_POOL) - got;
            pool.rebase(V3_POOL, left);
            self.ranges.sqrt_price = to;
        }
    }

    /// A call of the position manager.
    pub(super) fn call_manager(
        &mut self,
        from: Address,
        data: &[u8],
        now_s: u64,
        logs: &mut Vec<Written>,
    ) -> Result<(), Reverted> {
        if let Ok(calls) = read_multicall(data) {
            return calls
                .into_iter()
                .try_for_each(|call| self.one_call(from, &call, now_s, logs));
        }
        let call = Call::read(data).map_err(|_| Reverted)?;
        self.one_call(from, &call, now_s, logs)
    }

    fn one_call(
        &mut self,
        from: Address,
        call: &Call,
        now_s: u64,
        logs: &mut Vec<Written>,
    ) -> Result<(), Reverted> {
        let in_time = |deadline: U256| {
            let is = deadline >= U256::from(now_s);
            is.then_some(()).ok_or(Reverted)
        };
        match *call {
            Call::Mint {
                token0,
                token1,
                fee,
                lower,
                upper,
                most0,
                most1,
                least0,
                least1,
                recipient,
                deadline,
            } => {
                in_time(deadline)?;
                let ticks = [lower.number(), upper.number()];
                let fits = [token0, token1] == TOKENS
                    && fee == U256::from(FEE)
                    && ticks.iter().all(|tick| tick % SPACING == 0);
                if !fits {
                    return Err(Reverted);
                }
                let id = self.ranges.give(recipient, ticks, 0);
                logs.push(written(
                    MANAGER,
                    "Transfer(address,address,uint256)",
                    &[U256::ZERO, number(recipient), U256::from(id)],
                    &[],
                ));
                // The contract writes of the pool first; the order of other contracts' logs proves nothing.
                self.provide(from, id, [most0, most1], [least0, least1], logs)
            }
            Call::IncreaseLiquidity {
                position,
                most0,
                most1,
                least0,
                least1,
                deadline,
            } => {
                in_time(deadline)?;
                let id = u64::try_from(position).map_err(|_| Reverted)?;
                self.provide(from, id, [most0, most1], [least0, least1], logs)
            }
            Call::DecreaseLiquidity {
                position,
                liquidity,
                least0,
                least1,
                deadline,
            } => {
                in_time(deadline)?;
                let id = self.owned(from, position)?;
                let liquidity = u128::try_from(liquidity).map_err(|_| Reverted)?;
                self.take_out(id, liquidity, [least0, least1], logs)
            }
            Call::Collect {
                position,
                recipient,
                most0,
                most1,
            } => {
                let id = self.owned(from, position)?;
                self.collect(id, recipient, [most0, most1], logs)
            }
            _ => Err(Reverted),
        }
    }

    fn owned(&self, from: Address, position: U256) -> Result<u64, Reverted> {
        let id = u64::try_from(position).map_err(|_| Reverted)?;
        let of = self.ranges.positions.get(&id);
        of.filter(|of| of.owner == from).ok_or(Reverted)?;
        Ok(id)
    }

    fn provide(
        &mut self,
        from: Address,
        id: u64,
        most: [U256; 2],
        least: [U256; 2],
        logs: &mut Vec<Written>,
    ) -> Result<(), Reverted> {
        self.ranges.count_fees(id)?;
        let price = self.ranges.sqrt_price;
        let ticks = self.ranges.positions[&id].ticks;
        // What one of liquidity costs decides how much the most of each buys.
        let scale = 1_u128 << 96;
        let costs = fractions(ticks, price, scale);
        let bought = most
            .into_iter()
            .zip(costs)
            .filter_map(|(most, (top, bottom))| {
                let is_free = top == Wide::ZERO;
                (!is_free).then(|| wide(most) * bottom / (top >> 96))
            });
        let minted = bought.min().ok_or(Reverted)?;
        let minted = u128::try_from(narrow(minted)).map_err(|_| Reverted)?;
        let paid = ceil(fractions(ticks, price, minted));
        // The fraction above is rounded in one place more than the contract's: never above what may be paid.
        let minted = if paid[0] > most[0] || paid[1] > most[1] {
            minted - 1
        } else {
            minted
        };
        let paid = ceil(fractions(ticks, price, minted));
        if minted == 0 || paid[0] < least[0] || paid[1] < least[1] {
            return Err(Reverted);
        }
        for (contract, paid) in TOKENS.into_iter().zip(paid) {
            if paid == U256::ZERO {
                continue;
            }
            let token = self.tokens.get_mut(&contract).ok_or(Reverted)?;
            let left = token.allowed(from, MANAGER).checked_sub(paid);
            token
                .allowances
                .insert((from, MANAGER), left.ok_or(Reverted)?);
            let before = token.of(V3_POOL);
            self.moves(contract, from, V3_POOL, paid, logs)?;
            if self.tokens[&contract].of(V3_POOL) < before + paid {
                return Err(Reverted);
            }
        }
        let of = self.ranges.positions.get_mut(&id).ok_or(Reverted)?;
        of.liquidity += minted;
        let liquidity = U256::from(minted);
        logs.push(written(
            V3_POOL,
            "Mint(address,address,int24,int24,uint128,uint256,uint256)",
            &range(ticks),
            &[number(MANAGER), liquidity, paid[0], paid[1]],
        ));
        logs.push(written(
            MANAGER,
            "IncreaseLiquidity(uint256,uint128,uint256,uint256)",
            &[U256::from(id)],
            &[liquidity, paid[0], paid[1]],
        ));
        Ok(())
    }

    fn take_out(
        &mut self,
        id: u64,
        liquidity: u128,
        least: [U256; 2],
        logs: &mut Vec<Written>,
    ) -> Result<(), Reverted> {
        self.ranges.count_fees(id)?;
        let price = self.ranges.sqrt_price;
        let of = self.ranges.positions.get_mut(&id).ok_or(Reverted)?;
        let due = floor(fractions(of.ticks, price, liquidity));
        of.liquidity = of.liquidity.checked_sub(liquidity).ok_or(Reverted)?;
        if liquidity == 0 || due[0] < least[0] || due[1] < least[1] {
            return Err(Reverted);
        }
        for (owed, due) in of.owed.iter_mut().zip(due) {
            *owed += due;
        }
        let amounts = [U256::from(liquidity), due[0], due[1]];
        logs.push(written(
            V3_POOL,
            "Burn(address,int24,int24,uint128,uint256,uint256)",
            &range(of.ticks),
            &amounts,
        ));
        logs.push(written(
            MANAGER,
            "DecreaseLiquidity(uint256,uint128,uint256,uint256)",
            &[U256::from(id)],
            &amounts,
        ));
        Ok(())
    }

    fn collect(
        &mut self,
        id: u64,
        recipient: Address,
        most: [U256; 2],
        logs: &mut Vec<Written>,
    ) -> Result<(), Reverted> {
        self.ranges.count_fees(id)?;
        let of = self.ranges.positions.get_mut(&id).ok_or(Reverted)?;
        let (ticks, is_left) = (of.ticks, of.liquidity > 0);
        let paid = [0, 1].map(|at| of.owed[at].min(most[at]));
        for (owed, paid) in of.owed.iter_mut().zip(paid) {
            *owed -= paid;
        }
        if is_left {
            logs.push(written(
                V3_POOL,
                "Burn(address,int24,int24,uint128,uint256,uint256)",
                &range(ticks),
                &[U256::ZERO; 3],
            ));
        }
        for (contract, paid) in TOKENS.into_iter().zip(paid) {
            if paid > U256::ZERO {
                self.moves(contract, V3_POOL, recipient, paid, logs)?;
            }
        }
        logs.push(written(
            V3_POOL,
            "Collect(address,address,int24,int24,uint128,uint128)",
            &range(ticks),
            &[number(recipient), paid[0], paid[1]],
        ));
        logs.push(written(
            MANAGER,
            "Collect(uint256,address,uint256,uint256)",
            &[U256::from(id)],
            &[number(recipient), paid[0], paid[1]],
        ));
        Ok(())
    }
}

/// The owner and the ends of a range, as topics. The ticks of these tests are not negative.
fn range(ticks: [i32; 2]) -> [U256; 3] {
    let [lower, upper] = ticks.map(|tick| U256::from(tick.unsigned_abs()));
    [number(MANAGER), lower, upper]
}

fn number(address: Address) -> U256 {
    U256::from_be_bytes(word(address))
}

fn written(contract: Address, signature: &str, indexed: &[U256], data: &[U256]) -> Written {
    let kind = Hash32(keccak256(&[signature.as_bytes()]));
    let topics = indexed.iter().map(|topic| Hash32(topic.to_be_bytes()));
    let words = data.iter().map(U256::to_be_bytes::<32>);
    Written {
        address: contract,
        topics: std::iter::once(kind).chain(topics).collect(),
        data: words.collect::<Vec<_>>().concat(),
    }
}
