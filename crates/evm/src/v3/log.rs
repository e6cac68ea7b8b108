//! Events of V3 pools and of the position manager, as logs hold them.
//!
//! Sources: `IUniswapV3PoolEvents.sol` (v3-core 1.0.1), `INonfungiblePositionManager.sol` (v3-periphery 1.4.4), ERC-721.

use super::call::tick;
use super::tick::Tick;
use crate::abi::Words;
use crate::call::amount;
use crate::log::Log;
use crate::{Address, Malformed, U256, keccak256};

/// An event that books need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Pool: liquidity was provided in a range.
    Mint {
        /// Who called the pool: the position manager.
        sender: Address,
        /// Whose liquidity it is: the position manager's.
        owner: Address,
        /// Lower and upper end of the range.
        ticks: [Tick; 2],
        /// How much.
        liquidity: u128,
        /// Paid in, of both tokens.
        amounts: [U256; 2],
    },
    /// Pool: liquidity was taken out of a range. What it is due is owed, and nothing moved. Also with 0, where only
    /// fees were counted.
    Burn {
        /// Whose liquidity it was.
        owner: Address,
        /// Lower and upper end of the range.
        ticks: [Tick; 2],
        /// How much.
        liquidity: u128,
        /// Owed since, of both tokens.
        amounts: [U256; 2],
    },
    /// Pool: what was owed was paid out.
    Collect {
        /// Whose liquidity it is.
        owner: Address,
        /// Received it.
        recipient: Address,
        /// Lower and upper end of the range.
        ticks: [Tick; 2],
        /// Of both tokens.
        amounts: [u128; 2],
    },
    /// Position manager: a position has more liquidity.
    Increased {
        /// The position.
        position: U256,
        /// How much more.
        liquidity: u128,
        /// Paid in, of both tokens.
        amounts: [U256; 2],
    },
    /// Position manager: a position has less liquidity.
    Decreased {
        /// The position.
        position: U256,
        /// How much less.
        liquidity: u128,
        /// Owed since, of both tokens.
        amounts: [U256; 2],
    },
    /// Position manager: what was owed to a position was asked of the pool, which may pay some base units less: it
    /// rounds in another place.
    Collected {
        /// The position.
        position: U256,
        /// Received it.
        recipient: Address,
        /// Asked for, of both tokens.
        amounts: [U256; 2],
    },
    /// Position manager: a position went from one account to another, or from zero if it is new.
    Moved {
        /// Had it.
        from: Address,
        /// Has it.
        to: Address,
        /// The position.
        position: U256,
    },
}

const MINT: &str = "Mint(address,address,int24,int24,uint128,uint256,uint256)";
const BURN: &str = "Burn(address,int24,int24,uint128,uint256,uint256)";
const COLLECT: &str = "Collect(address,address,int24,int24,uint128,uint128)";
const INCREASED: &str = "IncreaseLiquidity(uint256,uint128,uint256,uint256)";
const DECREASED: &str = "DecreaseLiquidity(uint256,uint128,uint256,uint256)";
const COLLECTED: &str = "Collect(uint256,address,uint256,uint256)";
const MOVED: &str = "Transfer(address,address,uint256)";

impl Event {
    /// Reads a log of a pool or of the position manager. `None` for any other event.
    ///
    /// # Errors
    /// [`Malformed`] for one of these events in another form.
    pub fn read(log: &Log) -> Result<Option<Self>, Malformed> {
        let Some((kind, indexed)) = log.topics.split_first() else {
            return Ok(None);
        };
        let is = |signature: &str| kind.0 == keccak256(&[signature.as_bytes()]);
        // Other events may have data that are no words.
        let all = [MINT, BURN, COLLECT, INCREASED, DECREASED, COLLECTED, MOVED];
        if !all.into_iter().any(is) {
            return Ok(None);
        }
        let bytes = indexed.iter().map(|topic| topic.0).collect::<Vec<_>>();
        let bytes = bytes.concat();
        let mut topics = Words::new(&bytes)?;
        let mut data = Words::new(&log.data)?;
        let event = if is(MINT) {
            let (owner, ticks) = (topics.address()?, both(&mut topics, tick)?);
            Self::Mint {
                sender: data.address()?,
                owner,
                ticks,
                liquidity: small(&mut data)?,
                amounts: both(&mut data, Words::number)?,
            }
        } else if is(BURN) {
            Self::Burn {
                owner: topics.address()?,
                ticks: both(&mut topics, tick)?,
                liquidity: small(&mut data)?,
                amounts: both(&mut data, Words::number)?,
            }
        } else if is(COLLECT) {
            Self::Collect {
                owner: topics.address()?,
                recipient: data.address()?,
                ticks: both(&mut topics, tick)?,
                amounts: both(&mut data, small)?,
            }
        } else if is(INCREASED) {
            Self::Increased {
                position: topics.number()?,
                liquidity: small(&mut data)?,
                amounts: both(&mut data, Words::number)?,
            }
        } else if is(DECREASED) {
            Self::Decreased {
                position: topics.number()?,
                liquidity: small(&mut data)?,
                amounts: both(&mut data, Words::number)?,
            }
        } else if is(COLLECTED) {
            Self::Collected {
                position: topics.number()?,
                recipient: data.address()?,
                amounts: both(&mut data, Words::number)?,
            }
        } else if is(MOVED) {
            Self::Moved {
                from: topics.address()?,
                to: topics.address()?,
                position: topics.number()?,
            }
        } else {
            return Ok(None);
        };
        topics.end()?;
        data.end()?;
        Ok(Some(event))
    }
}

/// The next two values.
fn both<'a, T>(
    from: &mut Words<'a>,
    take: fn(&mut Words<'a>) -> Result<T, Malformed>,
) -> Result<[T; 2], Malformed> {
    Ok([take(from)?, take(from)?])
}

fn small(from: &mut Words<'_>) -> Result<u128, Malformed> {
    amount(from.number_of(128)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::Hash32;
    use crate::abi::signed;

    fn log(signature: &str, topics: &[U256], numbers: &[U256]) -> Log {
        let kind = Hash32(keccak256(&[signature.as_bytes()]));
        let word = |number: &U256| number.to_be_bytes::<32>();
        Log {
            address: Address::ZERO,
            topics: std::iter::once(kind)
                .chain(topics.iter().map(|topic| Hash32(word(topic))))
                .collect(),
            data: numbers.iter().flat_map(word).collect(),
            index: 0,
        }
    }

    fn n(number: u64) -> U256 {
        U256::from(number)
    }

    fn account(byte: u8) -> Address {
        let mut address = [0; 20];
        address[19] = byte;
        Address(address)
    }

    #[test]
    fn topics_are_those_of_the_published_contracts() {
        // As logs of the published contracts show them.
        for (signature, known) in [
            (
                MINT,
                "7a53080ba414158be7ec69b987b5fb7d07dee101fe85488f0853ae16239d0bde",
            ),
            (
                BURN,
                "0c396cd989a39f4459b5fa1aed6a9a8dcdbc45908acfd67e028cd568da98982c",
            ),
            (
                COLLECT,
                "70935338e69775456a85ddef226c395fb668b63fa0115f5f20610b388e6ca9c0",
            ),
            (
                INCREASED,
                "3067048beee31b25b2f1681f88dac838c8bba36af25bfb2b7cf7473a5847e35f",
            ),
            (
                DECREASED,
                "26f6a048ee9138f2c0ce266f322cb99228e8d619ae2bff30c67f8dcf9d2377b4",
            ),
            (
                COLLECTED,
                "40d0efd1a53d60ecbf40971b9daf7dc90178c3aadc7aab1765632738fa8b8f01",
            ),
        ] {
            let hash = keccak256(&[signature.as_bytes()]);
            assert_eq!(hex::encode(hash), known, "{signature}");
        }
    }

    #[test]
    fn every_event_is_read_in_its_form_only() {
        let range = [signed(-60), signed(120)];
        let [lower, upper] = range;
        let ticks = [-60, 120].map(|tick| Tick::new(tick).unwrap());
        let mint = log(MINT, &[n(9), lower, upper], &[n(8), n(7), n(1), n(2)]);
        let expected = Event::Mint {
            sender: account(8),
            owner: account(9),
            ticks,
            liquidity: 7,
            amounts: [n(1), n(2)],
        };
        assert_eq!(Event::read(&mint), Ok(Some(expected)));
        let burn = log(BURN, &[n(9), lower, upper], &[n(7), n(1), n(2)]);
        let expected = Event::Burn {
            owner: account(9),
            ticks,
            liquidity: 7,
            amounts: [n(1), n(2)],
        };
        assert_eq!(Event::read(&burn), Ok(Some(expected)));
        let collect = log(COLLECT, &[n(9), lower, upper], &[n(6), n(1), n(2)]);
        let expected = Event::Collect {
            owner: account(9),
            recipient: account(6),
            ticks,
            amounts: [1, 2],
        };
        assert_eq!(Event::read(&collect), Ok(Some(expected)));
        let (position, liquidity, amounts) = (n(5), 7, [n(1), n(2)]);
        let increased = log(INCREASED, &[n(5)], &[n(7), n(1), n(2)]);
        let expected = Event::Increased {
            position,
            liquidity,
            amounts,
        };
        assert_eq!(Event::read(&increased), Ok(Some(expected)));
        let decreased = log(DECREASED, &[n(5)], &[n(7), n(1), n(2)]);
        let expected = Event::Decreased {
            position,
            liquidity,
            amounts,
        };
        assert_eq!(Event::read(&decreased), Ok(Some(expected)));
        let collected = log(COLLECTED, &[n(5)], &[n(6), n(1), n(2)]);
        let expected = Event::Collected {
            position,
            recipient: account(6),
            amounts,
        };
        assert_eq!(Event::read(&collected), Ok(Some(expected)));
        let moved = log(MOVED, &[n(0), n(6), n(5)], &[]);
        let expected = Event::Moved {
            from: Address::ZERO,
            to: account(6),
            position,
        };
        assert_eq!(Event::read(&moved), Ok(Some(expected)));
        let high = U256::from(1) << 128;
        for bad in [
            log(MINT, &[n(9), lower], &[n(8), n(7), n(1), n(2)]),
            log(MINT, &[n(9), lower, n(1 << 23)], &[n(8), n(7), n(1), n(2)]),
            log(MINT, &[n(9), lower, upper], &[n(8), n(7), n(1)]),
            log(BURN, &[n(9), lower, upper], &[high, n(1), n(2)]),
            log(COLLECT, &[n(9), lower, upper], &[n(6), high, n(2)]),
            log(INCREASED, &[n(5), n(5)], &[n(7), n(1), n(2)]),
            log(DECREASED, &[n(5)], &[n(7), n(1), n(2), n(3)]),
            log(COLLECTED, &[n(5)], &[U256::MAX, n(1), n(2)]),
            // A token of equal pieces has the same signature, and its amount among the data.
            log(MOVED, &[n(0), n(6)], &[n(5)]),
        ] {
            assert!(Event::read(&bad).is_err(), "{bad:?}");
        }
        assert_eq!(Event::read(&log("Flash(address)", &[n(1)], &[])), Ok(None));
        let silent = Log {
            topics: Vec::new(),
            ..mint
        };
        assert_eq!(Event::read(&silent), Ok(None));
    }
}
