//! Calls of the V3 factory, of pools and of the position manager: their data, read back from data, and what they return.
//! Calls that V2 has as well (`factory`, `token0`, `token1`, `balanceOf`, `approve`) are those of [`crate::call`].
//!
//! Sources: `IUniswapV3Factory.sol`, `IUniswapV3PoolState.sol`, `IUniswapV3PoolImmutables.sol` (v3-core 1.0.1),
//! `INonfungiblePositionManager.sol`, `IMulticall.sol` (v3-periphery 1.4.4).

use super::tick::Tick;
use crate::abi::{Argument, Value, WORD, Words, selector, signed};
use crate::call::{amount, calls};
use crate::{Address, Malformed, U256};

/// Bits of the numbers of ticks.
const TICK_BITS: usize = 24;
/// Most calls in one transaction.
const CALLS_MAX: usize = 4;
/// Most bytes of one call in a transaction.
const CALL_BYTES_MAX: usize = 1_024;

/// Signature of the function that executes several calls in one transaction.
const MULTICALL: &str = "multicall(bytes[])";

calls! {
    /// Factory: the pool of two tokens in any order and a fee; zero if there is none.
    GetPool("getPool(address,address,uint24)") {
        /// A token.
        token_a: Address,
        /// The other.
        token_b: Address,
        /// Its fee, in millionths of what is sold to it.
        fee: U256,
    }
    /// Pool: its price.
    Slot0("slot0()") {}
    /// Pool: liquidity at its price.
    Liquidity("liquidity()") {}
    /// Pool: its fee, in millionths of what is sold to it.
    Fee("fee()") {}
    /// Pool: ticks of ranges are multiples of this.
    TickSpacing("tickSpacing()") {}
    /// Pool: which of 256 multiples of the spacing are ends of ranges with liquidity.
    TickBitmap("tickBitmap(int16)") {
        /// Multiples from 256 times this on.
        word: i16,
    }
    /// Pool: what is provided from a tick on.
    Ticks("ticks(int24)") {
        /// The tick.
        tick: Tick,
    }
    /// Position manager: pays both tokens into a range for a new position.
    Mint("mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))") {
        /// The token of the lower address.
        token0: Address,
        /// The token of the higher address.
        token1: Address,
        /// The pool's fee, in millionths.
        fee: U256,
        /// Lower end of the range.
        lower: Tick,
        /// Upper end of the range.
        upper: Tick,
        /// Pays at most this of token 0.
        most0: U256,
        /// Pays at most this of token 1.
        most1: U256,
        /// Pays at least this of token 0.
        least0: U256,
        /// Pays at least this of token 1.
        least1: U256,
        /// Receives the position.
        recipient: Address,
        /// Last second of a block's time in which it is executed.
        deadline: U256,
    }
    /// Position manager: pays both tokens into an existing position of any account.
    IncreaseLiquidity("increaseLiquidity((uint256,uint256,uint256,uint256,uint256,uint256))") {
        /// The position.
        position: U256,
        /// Pays at most this of token 0.
        most0: U256,
        /// Pays at most this of token 1.
        most1: U256,
        /// Pays at least this of token 0.
        least0: U256,
        /// Pays at least this of token 1.
        least1: U256,
        /// Last second of a block's time in which it is executed.
        deadline: U256,
    }
    /// Position manager: takes liquidity out of a position of the caller. What it is due is owed to the position, and
    /// nothing moves.
    DecreaseLiquidity("decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))") {
        /// The position.
        position: U256,
        /// Takes exactly so much out.
        liquidity: U256,
        /// Is owed at least this of token 0.
        least0: U256,
        /// Is owed at least this of token 1.
        least1: U256,
        /// Last second of a block's time in which it is executed.
        deadline: U256,
    }
    /// Position manager: pays out what is owed to a position of the caller, fees among it.
    Collect("collect((uint256,address,uint128,uint128))") {
        /// The position.
        position: U256,
        /// Receives both tokens.
        recipient: Address,
        /// At most this of token 0.
        most0: U256,
        /// At most this of token 1.
        most1: U256,
    }
    /// Position manager: what it knows of a position.
    Positions("positions(uint256)") {
        /// The position.
        position: U256,
    }
    /// Position manager: one of the positions that an account holds.
    TokenOfOwnerByIndex("tokenOfOwnerByIndex(address,uint256)") {
        /// The account.
        owner: Address,
        /// Its place, from 0.
        index: U256,
    }
}

impl Argument for Tick {
    fn value(&self) -> Value {
        Value::Number(signed(self.number().into()))
    }

    fn take(from: &mut Words<'_>, _: Words<'_>) -> Result<Self, Malformed> {
        tick(from)
    }
}

impl Argument for i16 {
    fn value(&self) -> Value {
        Value::Number(signed((*self).into()))
    }

    fn take(from: &mut Words<'_>, _: Words<'_>) -> Result<Self, Malformed> {
        Self::try_from(from.signed_of(16)?).map_err(|_| Malformed::Range)
    }
}

/// The next word as a tick.
pub(super) fn tick(from: &mut Words<'_>) -> Result<Tick, Malformed> {
    let number = from.signed_of(TICK_BITS)?;
    Tick::new(i32::try_from(number).map_err(|_| Malformed::Range)?)
}

impl Call {
    /// [`Call::Collect`] of everything that is owed.
    pub fn collect_all(position: U256, recipient: Address) -> Self {
        let all = U256::from(u128::MAX);
        Self::Collect {
            position,
            recipient,
            most0: all,
            most1: all,
        }
    }
}

/// The data of one transaction that executes these calls of the position manager in their order, all or none.
pub fn multicall(calls: &[Call]) -> Vec<u8> {
    let word = |number: usize| U256::from(number).to_be_bytes::<WORD>();
    let mut data = selector(MULTICALL).to_vec();
    data.extend(word(WORD));
    data.extend(word(calls.len()));
    let mut at = WORD * calls.len();
    let mut tail = Vec::new();
    for call in calls {
        let bytes = call.encode();
        let padded = bytes.len().next_multiple_of(WORD);
        data.extend(word(at));
        tail.extend(word(bytes.len()));
        tail.extend(&bytes);
        tail.extend(std::iter::repeat_n(0, padded - bytes.len()));
        at += WORD + padded;
    }
    data.extend(tail);
    data
}

/// Reads the data of a transaction that executes several calls: exactly what [`multicall`] writes.
///
/// # Errors
/// [`Malformed::Abi`], also for every other function; [`Malformed::Range`].
pub fn read_multicall(data: &[u8]) -> Result<Vec<Call>, Malformed> {
    let outside = Malformed::Abi("calls of another form");
    let (of, rest) = data.split_first_chunk::<4>().ok_or(outside)?;
    if *of != selector(MULTICALL) {
        return Err(Malformed::Abi("another function"));
    }
    let number = |at: usize| {
        let word = rest.get(at..at.checked_add(WORD)?)?;
        usize::try_from(U256::try_from_be_slice(word)?).ok()
    };
    let count = number(WORD).filter(|count| *count <= CALLS_MAX);
    let mut found = Vec::new();
    for at in 0..count.ok_or(outside)? {
        let list = 2 * WORD;
        let start = number(list + WORD * at).and_then(|offset| offset.checked_add(list));
        let start = start.ok_or(outside)?;
        let length = number(start).filter(|length| *length <= CALL_BYTES_MAX);
        let from = start + WORD;
        let bytes = rest.get(from..from + length.ok_or(outside)?);
        found.push(Call::read(bytes.ok_or(outside)?)?);
    }
    if multicall(&found) != data {
        return Err(Malformed::Abi("not the only form of several calls"));
    }
    Ok(found)
}

/// A pool's price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Its root, with 96 bits behind the point.
    pub sqrt: U256,
    /// Its tick as the pool states it. At an end of a range that the price came down to it is one below that of
    /// [`sqrt`](Self::sqrt).
    pub tick: Tick,
}

/// Reads the result of [`Call::Slot0`].
///
/// # Errors
/// [`Malformed`], also for the price of 0 of a pool that was not initialised.
pub fn price(bytes: &[u8]) -> Result<Price, Malformed> {
    let mut words = Words::new(bytes)?;
    let sqrt = words.number_of(160)?;
    let tick = tick(&mut words)?;
    // Places of observations, the part of fees that the protocol takes (8 bits; the largest copy has 32), and whether
    // the pool is in a call.
    for bits in [16, 16, 16, 32] {
        words.number_of(bits)?;
    }
    words.truth()?;
    words.end()?;
    let of_sqrt = Tick::at(sqrt)?.number();
    if tick.number() != of_sqrt && tick.number() != of_sqrt - 1 {
        return Err(Malformed::Abi("a tick that is not that of the price"));
    }
    Ok(Price { sqrt, tick })
}

/// Reads the result of [`Call::Liquidity`].
///
/// # Errors
/// [`Malformed`].
pub fn liquidity(bytes: &[u8]) -> Result<u128, Malformed> {
    amount(crate::abi::one_number(bytes)?)
}

/// Reads the result of [`Call::Collect`]: what was paid out of token 0 and token 1.
///
/// # Errors
/// [`Malformed`].
pub fn collected(bytes: &[u8]) -> Result<[u128; 2], Malformed> {
    let mut words = Words::new(bytes)?;
    let paid = [
        amount(words.number_of(128)?)?,
        amount(words.number_of(128)?)?,
    ];
    words.end()?;
    Ok(paid)
}

/// Reads the result of [`Call::Fee`], in millionths of what is sold.
///
/// # Errors
/// [`Malformed`].
pub fn fee(bytes: &[u8]) -> Result<u32, Malformed> {
    let mut words = Words::new(bytes)?;
    let fee = words.number_of(24)?;
    words.end()?;
    u32::try_from(fee).map_err(|_| Malformed::Range)
}

/// Reads the result of [`Call::TickSpacing`]: a positive number.
///
/// # Errors
/// [`Malformed`].
pub fn tick_spacing(bytes: &[u8]) -> Result<i32, Malformed> {
    let mut words = Words::new(bytes)?;
    let spacing = words.signed_of(TICK_BITS)?;
    words.end()?;
    let spacing = i32::try_from(spacing).map_err(|_| Malformed::Range)?;
    if spacing < 1 {
        return Err(Malformed::Range);
    }
    Ok(spacing)
}

/// Reads the result of [`Call::Ticks`]: by how much the liquidity changes where the price rises to the tick.
///
/// # Errors
/// [`Malformed`].
pub fn liquidity_net(bytes: &[u8]) -> Result<i128, Malformed> {
    let mut words = Words::new(bytes)?;
    words.number_of(128)?;
    let net = words.signed_of(128)?;
    // What was outside: growth of fees, ticks by seconds, seconds by liquidity, seconds.
    words.number()?;
    words.number()?;
    words.signed_of(56)?;
    words.number_of(160)?;
    words.number_of(32)?;
    words.truth()?;
    words.end()?;
    Ok(net)
}

/// What the position manager knows of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Who else may move it and take out of it; zero if there is none.
    pub operator: Address,
    /// Token 0 and token 1.
    pub tokens: [Address; 2],
    /// The pool's fee, in millionths.
    pub fee: u32,
    /// Lower and upper end of its range.
    pub ticks: [Tick; 2],
    /// Its liquidity.
    pub liquidity: u128,
    /// What was owed to it of token 0 and token 1 when it was last changed. Fees since then are not in it.
    pub owed: [u128; 2],
}

/// Reads the result of [`Call::Positions`].
///
/// # Errors
/// [`Malformed`].
pub fn position(bytes: &[u8]) -> Result<Position, Malformed> {
    let mut words = Words::new(bytes)?;
    // The nonce of permits.
    words.number_of(96)?;
    let operator = words.address()?;
    let tokens = [words.address()?, words.address()?];
    let fee = words.number_of(24)?;
    let ticks = [tick(&mut words)?, tick(&mut words)?];
    let liquidity = amount(words.number_of(128)?)?;
    // Growth of fees inside of the range at that moment.
    words.number()?;
    words.number()?;
    let owed = [
        amount(words.number_of(128)?)?,
        amount(words.number_of(128)?)?,
    ];
    words.end()?;
    Ok(Position {
        operator,
        tokens,
        fee: u32::try_from(fee).map_err(|_| Malformed::Range)?,
        ticks,
        liquidity,
        owed,
    })
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
