//! What nodes state about a V3 pool and about the account's position in it.

use std::collections::BTreeMap;

use cambist_core::{Amount, PoolSpec};
use cambist_evm::block::BlockTag;
use cambist_evm::rpc::CallAt;
use cambist_evm::v3::call::{self, Call, Price};
use cambist_evm::v3::tick::{self, Tick};
use cambist_evm::{Address, Malformed, abi};

use crate::answers::{ChainReader, NoAnswer};
use crate::chain::Chain;
use crate::curve::Curve;
use crate::range::{Held, PoolRange};

/// Ticks on each side of the price between which the curve is read: about 2.5 per cent, more than a depth shows.
const REACH: i32 = 256;
/// Ticks at which liquidity changes that are read on each side. A curve with more of them ends at the last one.
const CHANGES_MAX: usize = 8;
/// Multiples of the tick spacing in one word of a pool's bitmap.
const WORD: i32 = 256;

/// A pool's price after this block.
pub(crate) async fn price<R: ChainReader>(
    reader: &R,
    pool: &PoolSpec,
    at: BlockTag,
) -> Result<Price, NoAnswer> {
    let slot0 = ask(reader, Address(pool.address), &Call::Slot0 {}, at).await?;
    Ok(call::price(&slot0)?)
}

/// What a pool trades next to its price, after this block.
pub(crate) async fn curve<R: ChainReader>(
    reader: &R,
    pool: &PoolSpec,
    of: &PoolRange,
    at: BlockTag,
) -> Result<Curve, NoAnswer> {
    let contract = Address(pool.address);
    let price = price(reader, pool, at).await?;
    let liquidity = ask(reader, contract, &Call::Liquidity {}, at).await?;
    let liquidity = call::liquidity(&liquidity)?;
    let now = price.tick.number();
    let reach = [now - REACH, now + REACH + 1];
    let [lowest, highest] = reach.map(|end| end.clamp(tick::MIN.number(), tick::MAX.number()));
    let word_of = |tick: i32| tick.div_euclid(of.spacing).div_euclid(WORD);
    let mut used = Vec::new();
    for word in word_of(lowest)..=word_of(highest) {
        let call = Call::TickBitmap {
            word: i16::try_from(word).map_err(|_| Malformed::Range)?,
        };
        let bits = abi::one_number(&ask(reader, contract, &call, at).await?)?;
        let of_word = (0..WORD).filter(|bit| bits.bit(usize::try_from(*bit).unwrap_or(0)));
        let ticks = of_word.map(|bit| (word * WORD + bit) * of.spacing);
        used.extend(ticks.filter(|tick| (lowest..=highest).contains(tick)));
    }
    let (below, above): (Vec<i32>, Vec<i32>) = used.into_iter().partition(|tick| *tick <= now);
    // The nearest on each side; what is behind the last of them is not known.
    let (below, lowest) = nearest(below.into_iter().rev(), lowest);
    let (above, highest) = nearest(above.into_iter(), highest);
    let mut changes = BTreeMap::new();
    for tick in below.into_iter().chain(above) {
        let tick = Tick::new(tick)?;
        let stated = ask(reader, contract, &Call::Ticks { tick }, at).await?;
        changes.insert(tick, call::liquidity_net(&stated)?);
    }
    let ends = [Tick::new(lowest)?, Tick::new(highest)?];
    Ok(Curve::new(price, liquidity, &changes, ends)?)
}

/// The first ticks, and where the curve ends: at `end`, or at the first one that is left out.
fn nearest(mut ticks: impl Iterator<Item = i32>, end: i32) -> (Vec<i32>, i32) {
    let read = ticks.by_ref().take(CHANGES_MAX).collect();
    (read, ticks.next().unwrap_or(end))
}

/// The liquidity of the account's position after this block.
pub(crate) async fn liquidity_held<R: ChainReader>(
    reader: &R,
    chain: &Chain,
    pool: &PoolSpec,
    of: &PoolRange,
    at: BlockTag,
) -> Result<Amount, NoAnswer> {
    let position = match of.held {
        Held::Unread => return Err(NoAnswer::unknown(&"the account's positions were not read")),
        Held::Nothing => return Ok(0),
        Held::Position(position) => position,
    };
    let stated = ask(reader, chain.router, &Call::Positions { position }, at).await?;
    let stated = call::position(&stated)?;
    let tokens = pool.pooled.map(|token| chain.contract(token));
    let is_of_range = stated.fee == of.fee
        && stated.ticks == [of.range.lower(), of.range.upper()]
        && stated.tokens.map(Some) == tokens;
    if !is_of_range {
        return Err(NoAnswer::unknown(
            &"the account's position is stated to be of another pool or range",
        ));
    }
    Ok(stated.liquidity)
}

/// What is owed to the account's position after this block, fees until then among it; `None` while it is not known to have
/// one. The position manager counts fees before it pays out, so that a call of that which is not sent states them.
pub(crate) async fn owed<R: ChainReader>(
    reader: &R,
    chain: &Chain,
    of: &PoolRange,
    at: BlockTag,
) -> Result<Option<[Amount; 2]>, NoAnswer> {
    let Held::Position(position) = of.held else {
        return Ok(None);
    };
    let collect = Call::collect_all(position, chain.account);
    let mut call = CallAt::view_of(chain.router, collect.encode(), at);
    call.message.from = Some(chain.account);
    Ok(Some(call::collected(&reader.fact(&call).await?)?))
}

async fn ask<R: ChainReader>(
    reader: &R,
    contract: Address,
    call: &Call,
    at: BlockTag,
) -> Result<Vec<u8>, NoAnswer> {
    let call = CallAt::view_of(contract, call.encode(), at);
    reader.fact(&call).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_where_not_everything_was_read() {
        let of = |count: i32| nearest(1..=count, 100);
        assert_eq!(of(0), (Vec::new(), 100));
        assert_eq!(of(8), ((1..=8).collect(), 100));
        assert_eq!(of(9), ((1..=8).collect(), 9));
        assert_eq!(of(20), ((1..=8).collect(), 9));
    }
}
