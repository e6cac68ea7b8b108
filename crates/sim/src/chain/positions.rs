//! The position manager of a V3 pool and what it does to our account: calls are executed from the bytes that were signed,
//! one after the other, all or none. Source: `NonfungiblePositionManager.sol`, `LiquidityManagement.sol` (v3-periphery).
//!
//! It has [`ROUTER`]'s place: what joins and exits call, and what may take tokens for them. In [`State`] the account's
//! shares are its liquidity in the configured range.

use cambist_evm::log::Log;
use cambist_evm::v3::call::{Call, read_multicall};
use cambist_evm::v3::tick::Tick;
use cambist_evm::{Address, Hash32, U256, keccak256};
use cambist_evm_venue::range::Held;

use crate::chain::contracts::{GAS_REVERTED, Logs, SHARES, State};
use crate::chain::range_pool::{RangePool, earned, root_of, sum};
use crate::chain::{OWN, PAIR, ROUTER, TOKENS};
use crate::config::{Before, RangeConfig};

/// Most positions that the model keeps.
const POSITIONS_MAX: usize = 8;
/// Gas of a mint, of more liquidity, of less, and of paying out; each call of a transaction with several costs its own.
const GAS: [u64; 4] = [370_000, 200_000, 130_000, 110_000];
/// Numbers of the positions that are there before us: of another account in the configured range, and ours in another one.
const OTHERS: u64 = 1;
/// Liquidity of others, in ranges of their own.
const LIQUIDITY: [u128; 3] = [
    40_000_000_000_000_000,
    15_000_000_000_000_000,
    8_000_000_000_000_000,
];
/// Liquidity of the positions that are there before us.
const LIQUIDITY_BEFORE: [u128; 2] = [900_000_000_000_001, 300_000_000_000_007];
/// What a position of ours in the configured range holds at the beginning at most, if there is one.
const HELD_BEFORE: [u128; 2] = [2_000_000_000_000_000_000, 5_000_000_000];

/// A position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub number: u64,
    pub is_own: bool,
    pub ticks: [i32; 2],
    pub liquidity: u128,
    /// What was owed to it when it was last changed.
    pub owed: [u128; 2],
    /// Fees for one of liquidity at that time.
    pub counted: [U256; 2],
}

/// The pool and the positions in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ranges {
    pub pool: RangePool,
    /// The ends of the configured range.
    pub ticks: [i32; 2],
    positions: [Option<Position>; POSITIONS_MAX],
    next: u64,
    /// The root of the opening price.
    pub opening: U256,
    /// How far from the opening price others take a price for right, in ten-thousandths.
    pub reach: u128,
    /// How fast that price moves.
    pub speed: u64,
}

impl Ranges {
    /// A pool that others have filled, at the price of these amounts.
    pub(crate) fn founded(config: &RangeConfig, amounts: [u128; 2]) -> Option<Self> {
        let opening = root_of(amounts);
        let mut ranges = Self {
            pool: RangePool::new(opening, config.fee, config.spacing),
            ticks: config.ticks,
            positions: [None; POSITIONS_MAX],
            next: OTHERS,
            opening,
            reach: config.reach_bps.into(),
            speed: config.speed,
        };
        let step = config.spacing;
        let [lower, upper] = config.ticks;
        let now = ranges.pool.tick.div_euclid(step) * step;
        let far = 30_000 / step * step;
        let others = [
            [now - far, now + far],
            [now - 600 / step * step, now + 1_200 / step * step],
            // One that begins where ours does.
            [lower, upper + 3 * step],
        ];
        for (ticks, liquidity) in others.into_iter().zip(LIQUIDITY) {
            ranges.pool.mint(ticks, false, liquidity)?;
        }
        let beside = [lower - 5 * step, upper + 5 * step];
        let before = [(false, config.ticks), (true, beside)];
        for ((is_own, ticks), liquidity) in before.into_iter().zip(LIQUIDITY_BEFORE) {
            let number = ranges.open(is_own, ticks)?;
            ranges.pool.mint(ticks, true, liquidity)?;
            ranges.position_mut(number)?.liquidity = liquidity;
        }
        if config.before != Before::Nothing {
            let number = ranges.open(true, config.ticks)?;
            if config.before == Before::Filled {
                let most = HELD_BEFORE.map(U256::from);
                let liquidity = ranges.pool.liquidity_for(config.ticks, most)?;
                ranges.pool.mint(config.ticks, true, liquidity)?;
                ranges.position_mut(number)?.liquidity = liquidity;
            }
        }
        Some(ranges)
    }

    fn open(&mut self, is_own: bool, ticks: [i32; 2]) -> Option<u64> {
        let number = self.next;
        let counted = self.pool.growth(ticks);
        let place = self.positions.iter_mut().find(|place| place.is_none())?;
        *place = Some(Position {
            number,
            is_own,
            ticks,
            liquidity: 0,
            owed: [0; 2],
            counted,
        });
        self.next += 1;
        Some(number)
    }

    /// A position by its number.
    pub(crate) fn position(&self, number: u64) -> Option<&Position> {
        self.all().find(|of| of.number == number)
    }

    fn position_mut(&mut self, number: u64) -> Option<&mut Position> {
        let mut all = self.positions.iter_mut().flatten();
        all.find(|of| of.number == number)
    }

    /// All positions.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Position> {
        self.positions.iter().flatten()
    }

    fn own(&self) -> impl Iterator<Item = &Position> {
        self.all().filter(|of| of.is_own && of.ticks == self.ticks)
    }

    /// The account's liquidity in the configured range.
    pub(crate) fn held(&self) -> u128 {
        self.own().map(|of| of.liquidity).sum()
    }

    /// Which position is the account's, as a start chooses it: the one with liquidity, or the oldest.
    pub(crate) fn chosen(&self) -> Held {
        let filled = self.own().find(|of| of.liquidity > 0);
        let oldest = || self.own().min_by_key(|of| of.number);
        let chosen = filled.or_else(oldest);
        chosen.map_or(Held::Nothing, |of| Held::Position(U256::from(of.number)))
    }

    /// Counts what a position of the pool has earned, after the pool has counted that of its whole range.
    fn count(&mut self, number: u64) -> Option<()> {
        let of = *self.position(number)?;
        let growth = self.pool.growth(of.ticks);
        let earned = earned(of.liquidity, growth, of.counted)?;
        let of = self.position_mut(number)?;
        of.owed = sum(of.owed, earned)?;
        of.counted = growth;
        Some(())
    }
}

impl Ranges {
    /// What is owed to a position is asked of the pool, and at most this: what is asked for, and what the pool pays.
    fn collect(&mut self, number: u64, most: [u128; 2]) -> Option<([u128; 2], [u128; 2])> {
        if most == [0, 0] {
            return None;
        }
        let ticks = self.position(number)?.ticks;
        // Where liquidity is left, the pool counts its fees by a burn of nothing.
        if self.position(number)?.liquidity > 0 {
            self.pool.burn(ticks, 0)?;
            self.count(number)?;
        }
        let position = self.position_mut(number)?;
        let asked = [0, 1].map(|at| position.owed[at].min(most[at]));
        // It is no longer owed, although the pool may have rounded it down by a unit more.
        for (owed, asked) in position.owed.iter_mut().zip(asked) {
            *owed -= asked;
        }
        let paid = self.pool.collect(ticks, asked)?;
        Some((asked, paid))
    }

    /// What a position of ours would be paid by such a call.
    pub(crate) fn collectable(&self, position: U256, most: [U256; 2]) -> Option<[u128; 2]> {
        let number = u64::try_from(position).ok()?;
        self.position(number).filter(|of| of.is_own)?;
        let [first, second] = most;
        let mut tried = *self;
        let (_, paid) = tried.collect(number, [small(first)?, small(second)?])?;
        Some(paid)
    }
}

/// What a join may take of each token and of the shares.
pub(crate) fn needed(data: &[u8]) -> Option<[U256; 3]> {
    match Call::read(data).ok()? {
        Call::Mint { most0, most1, .. } | Call::IncreaseLiquidity { most0, most1, .. } => {
            Some([most0, most1, U256::MAX])
        }
        _ => None,
    }
}

fn small(number: U256) -> Option<u128> {
    u128::try_from(number).ok()
}

fn in_time(deadline: U256, now_s: u64) -> Option<()> {
    (deadline >= U256::from(now_s)).then_some(())
}

/// What is paid into a range, for a position.
struct Payment {
    most: [U256; 2],
    least: [U256; 2],
}

impl State {
    /// The gas of a call of the position manager, and its logs; none if it reverts.
    pub(crate) fn call_manager(&mut self, data: &[u8], now_s: u64) -> (u64, Option<Vec<Log>>) {
        let calls = read_multicall(data).or_else(|_| Call::read(data).map(|call| vec![call]));
        let Ok(calls) = calls else {
            return (GAS_REVERTED, None);
        };
        let gas_of = |call: &Call| match call {
            Call::Mint { .. } => GAS[0],
            Call::IncreaseLiquidity { .. } => GAS[1],
            Call::DecreaseLiquidity { .. } => GAS[2],
            Call::Collect { .. } => GAS[3],
            _ => GAS_REVERTED,
        };
        let gas: u64 = calls.iter().map(gas_of).sum();
        let mut logs = Logs(Vec::new());
        let mut calls = calls.iter();
        let done = calls.try_for_each(|call| self.call_position(call, now_s, &mut logs));
        if let Some(ranges) = &self.range {
            self.held[SHARES] = ranges.held();
        }
        (gas, done.map(|()| logs.0))
    }

    fn call_position(&mut self, call: &Call, now_s: u64, logs: &mut Logs) -> Option<()> {
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
                in_time(deadline, now_s)?;
                let ranges = self.range.as_mut()?;
                if [token0, token1] != TOKENS || fee != U256::from(ranges.pool.fee) {
                    return None;
                }
                let ticks = [lower, upper].map(Tick::number);
                let number = ranges.open(recipient == OWN, ticks)?;
                let payment = Payment {
                    most: [most0, most1],
                    least: [least0, least1],
                };
                self.provide(number, &payment, Some(recipient), logs)
            }
            Call::IncreaseLiquidity {
                position,
                most0,
                most1,
                least0,
                least1,
                deadline,
            } => {
                in_time(deadline, now_s)?;
                let payment = Payment {
                    most: [most0, most1],
                    least: [least0, least1],
                };
                self.provide(u64::try_from(position).ok()?, &payment, None, logs)
            }
            Call::DecreaseLiquidity {
                position,
                liquidity,
                least0,
                least1,
                deadline,
            } => {
                let number = self.owned(position)?;
                in_time(deadline, now_s)?;
                self.take_out(number, small(liquidity)?, [least0, least1], logs)
            }
            Call::Collect {
                position,
                recipient,
                most0,
                most1,
            } => {
                let number = self.owned(position)?;
                self.pay_out(number, recipient, [small(most0)?, small(most1)?], logs)
            }
            _ => None,
        }
    }

    /// Only the holder of a position takes out of it.
    fn owned(&self, position: U256) -> Option<u64> {
        let number = u64::try_from(position).ok()?;
        let of = self.range.as_ref()?.position(number)?;
        of.is_own.then_some(number)
    }

    /// Tokens go into a position, which is new if somebody receives it.
    fn provide(
        &mut self,
        number: u64,
        of: &Payment,
        receiver: Option<Address>,
        logs: &mut Logs,
    ) -> Option<()> {
        let ranges = self.range.as_mut()?;
        let ticks = ranges.position(number)?.ticks;
        if !ranges.pool.takes(ticks) {
            return None;
        }
        let minted = ranges.pool.liquidity_for(ticks, of.most)?;
        let paid = ranges.pool.mint(ticks, true, minted)?;
        ranges.count(number)?;
        let position = ranges.position_mut(number)?;
        position.liquidity = position.liquidity.checked_add(minted)?;
        for (at, paid) in paid.into_iter().enumerate().filter(|(_, paid)| *paid > 0) {
            self.take(at, paid, logs)?;
        }
        let enough = (0..2).all(|at| U256::from(paid[at]) >= of.least[at]);
        let amounts = [minted, paid[0], paid[1]].map(U256::from);
        let signature = "Mint(address,address,int24,int24,uint128,uint256,uint256)";
        let data = [&[number_of(ROUTER)], amounts.as_slice()].concat();
        logs.write(PAIR, signature, &range_of(ticks), &data);
        let of_position = U256::from(number);
        if let Some(receiver) = receiver {
            let moved = [U256::ZERO, number_of(receiver), of_position];
            logs.write(ROUTER, "Transfer(address,address,uint256)", &moved, &[]);
        }
        let signature = "IncreaseLiquidity(uint256,uint128,uint256,uint256)";
        logs.write(ROUTER, signature, &[of_position], &amounts);
        enough.then_some(())
    }

    fn take_out(
        &mut self,
        number: u64,
        liquidity: u128,
        least: [U256; 2],
        logs: &mut Logs,
    ) -> Option<()> {
        let ranges = self.range.as_mut()?;
        let ticks = ranges.position(number)?.ticks;
        let left = ranges.position(number)?.liquidity.checked_sub(liquidity)?;
        if liquidity == 0 {
            return None;
        }
        let due = ranges.pool.burn(ticks, liquidity)?;
        ranges.count(number)?;
        let position = ranges.position_mut(number)?;
        position.liquidity = left;
        position.owed = sum(position.owed, due)?;
        let amounts = [liquidity, due[0], due[1]].map(U256::from);
        let signature = "Burn(address,int24,int24,uint128,uint256,uint256)";
        logs.write(PAIR, signature, &range_of(ticks), &amounts);
        let signature = "DecreaseLiquidity(uint256,uint128,uint256,uint256)";
        logs.write(ROUTER, signature, &[U256::from(number)], &amounts);
        let enough = (0..2).all(|at| U256::from(due[at]) >= least[at]);
        enough.then_some(())
    }

    fn pay_out(
        &mut self,
        number: u64,
        recipient: Address,
        most: [u128; 2],
        logs: &mut Logs,
    ) -> Option<()> {
        let ranges = self.range.as_mut()?;
        let of = *ranges.position(number)?;
        let (asked, paid) = ranges.collect(number, most)?;
        if of.liquidity > 0 {
            let signature = "Burn(address,int24,int24,uint128,uint256,uint256)";
            logs.write(PAIR, signature, &range_of(of.ticks), &[U256::ZERO; 3]);
        }
        let receiver = if recipient == Address::ZERO {
            ROUTER
        } else {
            recipient
        };
        for (at, paid) in paid.into_iter().enumerate().filter(|(_, paid)| *paid > 0) {
            if receiver == OWN {
                self.give(at, PAIR, paid, logs)?;
            } else {
                logs.transfer(TOKENS[at], (PAIR, receiver), paid);
            }
        }
        let receiver = number_of(receiver);
        let data = |amounts: [u128; 2]| {
            let [first, second] = amounts.map(U256::from);
            [receiver, first, second]
        };
        let signature = "Collect(address,address,int24,int24,uint128,uint128)";
        logs.write(PAIR, signature, &range_of(of.ticks), &data(paid));
        let signature = "Collect(uint256,address,uint256,uint256)";
        logs.write(ROUTER, signature, &[U256::from(number)], &data(asked));
        Some(())
    }
}

/// The position manager, as the owner of liquidity, and the ends of a range, as topics.
fn range_of(ticks: [i32; 2]) -> [U256; 3] {
    let [lower, upper] = ticks.map(of_tick);
    [number_of(ROUTER), lower, upper]
}

/// An address as a number.
pub(crate) fn number_of(address: Address) -> U256 {
    U256::from_be_slice(&address.0)
}

/// A tick as a word: the complement of two.
pub(crate) fn of_tick(tick: i32) -> U256 {
    let size = U256::from(tick.unsigned_abs());
    if tick < 0 {
        U256::ZERO.wrapping_sub(size)
    } else {
        size
    }
}

impl Logs {
    fn write(&mut self, of: Address, signature: &str, indexed: &[U256], data: &[U256]) {
        let kind = Hash32(keccak256(&[signature.as_bytes()]));
        let indexed = indexed.iter().map(|topic| Hash32(topic.to_be_bytes()));
        self.0.push(Log {
            address: of,
            topics: std::iter::once(kind).chain(indexed).collect(),
            data: data.iter().flat_map(U256::to_be_bytes::<32>).collect(),
            index: self.0.len() as u64,
        });
    }
}

#[cfg(test)]
#[path = "positions_tests.rs"]
mod tests;
