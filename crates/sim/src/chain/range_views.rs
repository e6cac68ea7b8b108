//! What nodes state of a V3 pool and of the positions in it.

use cambist_evm::call::Call as Common;
use cambist_evm::v3::call::Call;
use cambist_evm::{Address, U256};

use crate::chain::positions::{Ranges, number_of, of_tick};
use crate::chain::{OWN, PAIR, ROUTER, TOKENS};

/// Ticks that one word of a bitmap has a bit for.
const WORD: i32 = 256;

/// What a call of the pool or of the position manager returns; `None` if it reverts.
pub(crate) fn called(ranges: &Ranges, to: Address, data: &[u8]) -> Option<Vec<u8>> {
    let words = of_common(ranges, to, data).or_else(|| {
        let call = Call::read(data).ok()?;
        match to {
            PAIR => of_pool(ranges, &call),
            ROUTER => of_manager(ranges, &call),
            _ => None,
        }
    })?;
    Some(words.iter().flat_map(U256::to_be_bytes::<32>).collect())
}

fn of_common(ranges: &Ranges, to: Address, data: &[u8]) -> Option<Vec<U256>> {
    match (to, Common::read(data).ok()?) {
        (PAIR, Common::Token0 {}) => Some(vec![number_of(TOKENS[0])]),
        (PAIR, Common::Token1 {}) => Some(vec![number_of(TOKENS[1])]),
        (ROUTER, Common::BalanceOf { owner }) => {
            let count = ranges.all().filter(|of| of.is_own == (owner == OWN));
            Some(vec![U256::from(count.count())])
        }
        _ => None,
    }
}

fn of_pool(ranges: &Ranges, call: &Call) -> Option<Vec<U256>> {
    let pool = &ranges.pool;
    let one = U256::from(1);
    Some(match *call {
        Call::Slot0 {} => vec![
            pool.sqrt_price,
            of_tick(pool.tick),
            U256::ZERO,
            one,
            one,
            U256::ZERO,
            one,
        ],
        Call::Liquidity {} => vec![U256::from(pool.active())],
        Call::Fee {} => vec![U256::from(pool.fee)],
        Call::TickSpacing {} => vec![of_tick(pool.spacing)],
        Call::TickBitmap { word } => {
            let mut bits = U256::ZERO;
            for place in pool.ends().map(|end| end.div_euclid(pool.spacing)) {
                if place.div_euclid(WORD) == i32::from(word) {
                    bits.set_bit(usize::try_from(place.rem_euclid(WORD)).ok()?, true);
                }
            }
            vec![bits]
        }
        Call::Ticks { tick } => {
            let [begins, ends] = pool.changes_at(tick.number()).map(U256::from);
            let gross = begins + ends;
            let mut words = vec![gross, begins.wrapping_sub(ends)];
            words.extend([U256::ZERO; 5]);
            words.push(U256::from(u8::from(gross > U256::ZERO)));
            words
        }
        _ => return None,
    })
}

fn of_manager(ranges: &Ranges, call: &Call) -> Option<Vec<U256>> {
    match *call {
        Call::TokenOfOwnerByIndex { owner, index } => {
            let mut of_owner = ranges.all().filter(|of| of.is_own == (owner == OWN));
            let of = of_owner.nth(usize::try_from(index).ok()?)?;
            Some(vec![U256::from(of.number)])
        }
        Call::Positions { position } => {
            let of = ranges.position(u64::try_from(position).ok()?)?;
            let [lower, upper] = of.ticks.map(of_tick);
            Some(vec![
                U256::ZERO,
                U256::ZERO,
                number_of(TOKENS[0]),
                number_of(TOKENS[1]),
                U256::from(ranges.pool.fee),
                lower,
                upper,
                U256::from(of.liquidity),
                of.counted[0],
                of.counted[1],
                U256::from(of.owed[0]),
                U256::from(of.owed[1]),
            ])
        }
        // A call that is not sent states what it would pay.
        Call::Collect {
            position,
            most0,
            most1,
            ..
        } => {
            let paid = ranges.collectable(position, [most0, most1])?;
            Some(paid.map(U256::from).to_vec())
        }
        _ => None,
    }
}
