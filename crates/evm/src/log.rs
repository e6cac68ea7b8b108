//! Events of ERC-20 tokens and of Uniswap V2 pairs, as logs hold them.
//!
//! Sources: ERC-20, `IUniswapV2Pair.sol`.

use crate::abi::Words;
use crate::{Address, Hash32, Malformed, U256, keccak256};

/// A log of a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The contract that wrote it.
    pub address: Address,
    /// At most four; the first is the hash of the event's signature.
    pub topics: Vec<Hash32>,
    /// What is not in topics.
    pub data: Vec<u8>,
    /// Its place among all logs of the block.
    pub index: u64,
}

/// An event that books need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// ERC-20: `amount` went from one account to another; of shares, from zero if minted and to zero if burned.
    Transfer {
        /// Paid.
        from: Address,
        /// Received.
        to: Address,
        /// How much.
        amount: U256,
    },
    /// ERC-20: what `spender` may take from now on.
    Approval {
        /// From this account.
        owner: Address,
        /// Who may take.
        spender: Address,
        /// How much.
        amount: U256,
    },
    /// Pair: both tokens were paid in.
    Mint {
        /// Who called the pair: the router.
        sender: Address,
        /// Of both tokens.
        amounts: [U256; 2],
    },
    /// Pair: both tokens were paid out.
    Burn {
        /// Who called the pair: the router.
        sender: Address,
        /// Of both tokens.
        amounts: [U256; 2],
        /// Received them.
        to: Address,
    },
    /// Pair: a trade.
    Swap {
        /// Who called the pair: the router.
        sender: Address,
        /// Paid in, of both tokens.
        paid_in: [U256; 2],
        /// Paid out, of both tokens.
        paid_out: [U256; 2],
        /// Received it.
        to: Address,
    },
    /// Pair: what it holds from now on.
    Sync {
        /// Of both tokens.
        reserves: [U256; 2],
    },
}

const TRANSFER: &str = "Transfer(address,address,uint256)";
const APPROVAL: &str = "Approval(address,address,uint256)";
const MINT: &str = "Mint(address,uint256,uint256)";
const BURN: &str = "Burn(address,uint256,uint256,address)";
const SWAP: &str = "Swap(address,uint256,uint256,uint256,uint256,address)";
const SYNC: &str = "Sync(uint112,uint112)";

impl Event {
    /// Reads a log. `None` for any other event.
    ///
    /// # Errors
    /// [`Malformed`] for one of these events in another form: more or fewer indexed values than the contracts write.
    pub fn read(log: &Log) -> Result<Option<Self>, Malformed> {
        let Some((kind, indexed)) = log.topics.split_first() else {
            return Ok(None);
        };
        let is = |signature: &str| kind.0 == keccak256(&[signature.as_bytes()]);
        let topics = |count: usize| {
            if indexed.len() == count {
                Ok(indexed.iter().map(|topic| topic.0).collect::<Vec<_>>())
            } else {
                Err(Malformed::Abi("another number of topics"))
            }
        };
        // Other events may have data that are no words.
        if ![TRANSFER, APPROVAL, MINT, BURN, SWAP, SYNC]
            .into_iter()
            .any(is)
        {
            return Ok(None);
        }
        let mut data = Words::new(&log.data)?;
        let event = if is(TRANSFER) {
            let [from, to] = addresses(&topics(2)?)?;
            let amount = data.number()?;
            Self::Transfer { from, to, amount }
        } else if is(APPROVAL) {
            let [owner, spender] = addresses(&topics(2)?)?;
            let amount = data.number()?;
            Self::Approval {
                owner,
                spender,
                amount,
            }
        } else if is(MINT) {
            let [sender] = addresses(&topics(1)?)?;
            let amounts = [data.number()?, data.number()?];
            Self::Mint { sender, amounts }
        } else if is(BURN) {
            let [sender, to] = addresses(&topics(2)?)?;
            let amounts = [data.number()?, data.number()?];
            Self::Burn {
                sender,
                amounts,
                to,
            }
        } else if is(SWAP) {
            let [sender, to] = addresses(&topics(2)?)?;
            let paid_in = [data.number()?, data.number()?];
            let paid_out = [data.number()?, data.number()?];
            Self::Swap {
                sender,
                paid_in,
                paid_out,
                to,
            }
        } else if is(SYNC) {
            topics(0)?;
            let reserves = [data.number_of(112)?, data.number_of(112)?];
            Self::Sync { reserves }
        } else {
            return Ok(None);
        };
        data.end()?;
        Ok(Some(event))
    }
}

fn addresses<const N: usize>(topics: &[[u8; 32]]) -> Result<[Address; N], Malformed> {
    let bytes = topics.concat();
    let mut words = Words::new(&bytes)?;
    let mut found = [Address::ZERO; N];
    for address in &mut found {
        *address = words.address()?;
    }
    words.end()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(signature: &str, topics: &[[u8; 32]], numbers: &[U256]) -> Log {
        let kind = Hash32(keccak256(&[signature.as_bytes()]));
        let indexed = topics.iter().map(|topic| Hash32(*topic));
        let words = numbers.iter().map(ruint::Uint::to_be_bytes::<32>);
        Log {
            address: Address::ZERO,
            topics: std::iter::once(kind).chain(indexed).collect(),
            data: words.collect::<Vec<_>>().concat(),
            index: 0,
        }
    }

    fn topic(byte: u8) -> [u8; 32] {
        let mut topic = [0; 32];
        topic[12..].copy_from_slice(&[byte; 20]);
        topic
    }

    #[test]
    fn every_event_is_read_in_its_form_only() {
        let address = |byte| Address([byte; 20]);
        let n = |number: u64| U256::from(number);
        let ab = [topic(1), topic(2)];
        let transfer = log(TRANSFER, &ab, &[n(7)]);
        let read = Event::read(&transfer);
        let (from, to) = (address(1), address(2));
        let expected = Event::Transfer {
            from,
            to,
            amount: n(7),
        };
        assert_eq!(read, Ok(Some(expected)));
        let swap = log(SWAP, &ab, &[n(1), n(2), n(3), n(4)]);
        let expected = Event::Swap {
            sender: address(1),
            paid_in: [n(1), n(2)],
            paid_out: [n(3), n(4)],
            to: address(2),
        };
        assert_eq!(Event::read(&swap), Ok(Some(expected)));
        let burn = log(BURN, &ab, &[n(1), n(2)]);
        assert!(matches!(Event::read(&burn), Ok(Some(Event::Burn { to, .. })) if to == address(2)));
        let mint = log(MINT, &ab[..1], &[n(1), n(2)]);
        assert!(matches!(Event::read(&mint), Ok(Some(Event::Mint { .. }))));
        let approval = log(APPROVAL, &ab, &[U256::MAX]);
        assert!(matches!(
            Event::read(&approval),
            Ok(Some(Event::Approval { .. }))
        ));
        let sync = log(SYNC, &[], &[n(1), n(2)]);
        assert!(matches!(Event::read(&sync), Ok(Some(Event::Sync { .. }))));
        // A token that counts pieces has the same signature and indexes all three.
        let pieces = log(TRANSFER, &[topic(1), topic(2), topic(3)], &[]);
        assert!(Event::read(&pieces).is_err());
        for bad in [
            log(TRANSFER, &ab, &[]),
            log(TRANSFER, &ab, &[n(1), n(2)]),
            log(TRANSFER, &ab[..1], &[n(1)]),
            log(TRANSFER, &[[1; 32], topic(2)], &[n(1)]),
            log(SYNC, &[], &[U256::MAX, n(2)]),
            log(SWAP, &ab, &[n(1), n(2), n(3)]),
        ] {
            assert!(Event::read(&bad).is_err(), "{bad:?}");
        }
        assert_eq!(Event::read(&log("Deposit(address)", &ab, &[])), Ok(None));
        let silent = Log {
            topics: Vec::new(),
            ..sync
        };
        assert_eq!(Event::read(&silent), Ok(None));
    }
}
