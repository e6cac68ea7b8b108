//! Calls of ERC-20 tokens and of the Uniswap V2 factory, pair and router: their data, read back from data, and what
//! they return.
//!
//! Sources: ERC-20; `IUniswapV2Factory.sol`, `IUniswapV2Pair.sol`, `IUniswapV2Router01.sol`.

use crate::abi::{Argument, Value, WORD, Words};
use crate::{Address, Malformed, U256};

/// Most bytes of a token's symbol.
const SYMBOL_MAX: usize = 32;
/// A path is of the two tokens of one pair.
const PATH: usize = 2;

/// An enum of calls, one variant for each function: its data, written and read back.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident($signature:literal) {
        $($(#[$field_doc:meta])* $field:ident: $type:ident,)*
    })*) => {
        /// A call.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Call {
            $($(#[$doc])* $name { $($(#[$field_doc])* $field: $type,)* },)*
        }

        impl Call {
            /// The function's signature, whose hash begins the data.
            pub const fn signature(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => $signature,)*
                }
            }

            /// The data of the call.
            pub fn encode(&self) -> Vec<u8> {
                let arguments: Vec<$crate::abi::Value> = match self {
                    $(Self::$name { $($field),* } => vec![$($crate::abi::Argument::value($field)),*],)*
                };
                $crate::abi::encode(self.signature(), &arguments)
            }

            /// Reads the data of a call: exactly what [`encode`](Self::encode) writes.
            ///
            /// # Errors
            /// [`Malformed::Abi`], also for every other function; [`Malformed::Range`].
            pub fn read(data: &[u8]) -> Result<Self, $crate::Malformed> {
                let (of, arguments) = data
                    .split_first_chunk::<4>()
                    .ok_or($crate::Malformed::Abi("no selector"))?;
                let all = $crate::abi::Words::new(arguments)?;
                let mut words = all;
                $(if *of == $crate::abi::selector($signature) {
                    let call = Self::$name {
                        $($field: <$type as $crate::abi::Argument>::take(&mut words, all)?,)*
                    };
                    return if call.encode() == data {
                        Ok(call)
                    } else {
                        Err($crate::Malformed::Abi("not the only form of a call"))
                    };
                })*
                Err($crate::Malformed::Abi("another function"))
            }
        }

        #[cfg(test)]
        const SIGNATURES: &[&str] = &[$($signature),*];
    };
}
pub(crate) use calls;

/// The two tokens of one pair, what is sold first.
pub type Path = [Address; PATH];

calls! {
    /// ERC-20: lets `spender` take up to `amount`. It replaces what was allowed before.
    Approve("approve(address,uint256)") {
        /// Who may take.
        spender: Address,
        /// How much.
        amount: U256,
    }
    /// ERC-20: what `spender` may still take.
    Allowance("allowance(address,address)") {
        /// From this account.
        owner: Address,
        /// Who may take.
        spender: Address,
    }
    /// ERC-20: what an account holds.
    BalanceOf("balanceOf(address)") {
        /// The account.
        owner: Address,
    }
    /// ERC-20: what exists; of a pair, the shares in circulation.
    TotalSupply("totalSupply()") {}
    /// ERC-20: decimals of the displayed unit.
    Decimals("decimals()") {}
    /// ERC-20: the symbol.
    Symbol("symbol()") {}
    /// ERC-20: sends `amount`.
    Transfer("transfer(address,uint256)") {
        /// Receives.
        to: Address,
        /// How much.
        amount: U256,
    }
    /// Factory: the pair of two tokens in any order; zero if there is none.
    GetPair("getPair(address,address)") {
        /// A token.
        token_a: Address,
        /// The other.
        token_b: Address,
    }
    /// Factory: who gets a sixth of the growth of pairs, in shares; zero if none do.
    FeeTo("feeTo()") {}
    /// Pair and router: the factory.
    Factory("factory()") {}
    /// Pair: the token of the lower address.
    Token0("token0()") {}
    /// Pair: the token of the higher address.
    Token1("token1()") {}
    /// Pair: what it holds of both tokens by its own books.
    GetReserves("getReserves()") {}
    /// Pair: product of the reserves after the last mint or burn; 0 while there is no protocol fee.
    KLast("kLast()") {}
    /// Router: pays both tokens into a pair for shares.
    AddLiquidity("addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)") {
        /// A token.
        token_a: Address,
        /// The other.
        token_b: Address,
        /// Pays at most this of the first.
        a_max: U256,
        /// Pays at most this of the second.
        b_max: U256,
        /// Pays at least this of the first.
        a_min: U256,
        /// Pays at least this of the second.
        b_min: U256,
        /// Receives the shares.
        to: Address,
        /// Last second of a block's time in which it is executed.
        deadline: U256,
    }
    /// Router: gives shares back for both tokens.
    RemoveLiquidity("removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)") {
        /// A token.
        token_a: Address,
        /// The other.
        token_b: Address,
        /// Burns exactly so many shares.
        shares: U256,
        /// Receives at least this of the first.
        a_min: U256,
        /// Receives at least this of the second.
        b_min: U256,
        /// Receives both.
        to: Address,
        /// Last second of a block's time in which it is executed.
        deadline: U256,
    }
    /// Router: sells exactly an amount to the pair.
    SwapExactTokensForTokens("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)") {
        /// Sells exactly this.
        sold: U256,
        /// Receives at least this.
        bought_min: U256,
        /// What is sold and what is bought.
        path: Path,
        /// Receives what is bought.
        to: Address,
        /// Last second of a block's time in which it is executed.
        deadline: U256,
    }
}

impl Argument for Path {
    fn value(&self) -> Value {
        Value::Addresses(self.to_vec())
    }

    fn take(from: &mut Words<'_>, all: Words<'_>) -> Result<Self, Malformed> {
        let offset = from.number()?;
        let tail = all.behind(usize::try_from(offset).map_err(|_| Malformed::Range)?)?;
        let list = tail.addresses(PATH)?;
        list.try_into()
            .map_err(|_| Malformed::Abi("a path of other than two tokens"))
    }
}

/// What a pair holds by its own books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserves {
    /// Of both tokens, in the pair's order; at most 112 bits each.
    pub amounts: [u128; 2],
    /// Time of the block that changed them last, in seconds modulo 2³².
    pub changed_s: u32,
}

/// Reads the result of [`Call::GetReserves`].
///
/// # Errors
/// [`Malformed::Abi`], [`Malformed::Range`].
pub fn reserves(bytes: &[u8]) -> Result<Reserves, Malformed> {
    let mut words = Words::new(bytes)?;
    let mut amount = || amount(words.number_of(112)?);
    let amounts = [amount()?, amount()?];
    let changed_s = words.number_of(32)?;
    words.end()?;
    Ok(Reserves {
        amounts,
        changed_s: u32::try_from(changed_s).map_err(|_| Malformed::Range)?,
    })
}

/// Reads the result of [`Call::Decimals`].
///
/// # Errors
/// [`Malformed::Abi`], [`Malformed::Range`].
pub fn decimals(bytes: &[u8]) -> Result<u8, Malformed> {
    let number = crate::abi::one_number(bytes)?;
    u8::try_from(number).map_err(|_| Malformed::Range)
}

/// Reads the result of [`Call::Symbol`]: a text of at most 32 printable characters. The few tokens whose symbol is a
/// word instead are refused.
///
/// # Errors
/// [`Malformed::Abi`].
pub fn symbol(bytes: &[u8]) -> Result<String, Malformed> {
    if bytes.len() == WORD {
        return Err(Malformed::Abi("a symbol that is no text"));
    }
    crate::abi::one_text(bytes, SYMBOL_MAX)
}

/// An amount as books count it.
///
/// # Errors
/// [`Malformed::Range`] if it has more than 128 bits.
pub fn amount(number: U256) -> Result<u128, Malformed> {
    u128::try_from(number).map_err(|_| Malformed::Range)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::abi::selector;

    fn address(byte: u8) -> Address {
        Address([byte; 20])
    }

    fn swap() -> Call {
        Call::SwapExactTokensForTokens {
            sold: U256::from(5),
            bought_min: U256::MAX,
            path: [address(1), address(2)],
            to: address(3),
            deadline: U256::from(1_900_000_000),
        }
    }

    #[test]
    fn selectors_are_those_of_the_published_interfaces() {
        // As listed by the contracts' published build files.
        for (signature, known) in [
            ("approve(address,uint256)", "095ea7b3"),
            ("balanceOf(address)", "70a08231"),
            ("getReserves()", "0902f1ac"),
            (
                "addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)",
                "e8e33700",
            ),
            (
                "removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)",
                "baa2abde",
            ),
            (
                "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)",
                "38ed1739",
            ),
        ] {
            assert!(SIGNATURES.contains(&signature), "{signature}");
            assert_eq!(hex::encode(selector(signature)), known, "{signature}");
        }
        let selectors: std::collections::BTreeSet<_> =
            SIGNATURES.iter().map(|of| selector(of)).collect();
        assert_eq!((selectors.len(), SIGNATURES.len()), (17, 17));
    }

    #[test]
    fn a_call_has_one_form() {
        let data = swap().encode();
        assert_eq!(data.len(), 4 + 8 * WORD);
        assert_eq!(Call::read(&data), Ok(swap()));
        for at in 0..data.len() {
            assert!(Call::read(&data[..at]).is_err(), "cut at {at}");
        }
        let changed = |at: usize, to: u8| {
            let mut bytes = data.clone();
            bytes[at] = to;
            Call::read(&bytes)
        };
        let word = |at: usize| 4 + WORD * at;
        assert_eq!(changed(0, 0), Err(Malformed::Abi("another function")));
        // The offset and the length of the path, and the upper bytes of an address.
        for (at, to) in [
            (word(2) + 31, 0xc0),
            (word(2) + 31, 0xa1),
            (word(2), 1),
            (word(5) + 31, 1),
            (word(5) + 31, 3),
            (word(5), 1),
            (word(3), 1),
            (word(6) + 11, 1),
        ] {
            assert!(changed(at, to).is_err(), "byte {at} to {to}");
        }
        let longer = [data.clone(), vec![0; WORD]].concat();
        assert!(Call::read(&longer).is_err());
        let approve = Call::Approve {
            spender: address(9),
            amount: U256::from(7),
        };
        assert_eq!(Call::read(&approve.encode()), Ok(approve));
    }

    #[test]
    fn results_are_read_strictly() {
        let words = |numbers: &[U256]| -> Vec<u8> {
            let each = numbers.iter().map(ruint::Uint::to_be_bytes::<WORD>);
            each.collect::<Vec<_>>().concat()
        };
        let most = (U256::from(1) << 112) - U256::from(1);
        let read = reserves(&words(&[most, U256::from(2), U256::from(3)])).unwrap();
        assert_eq!(read.amounts, [(1 << 112) - 1, 2]);
        assert_eq!(read.changed_s, 3);
        let more = most + U256::from(1);
        let late = U256::from(1_u64 << 32);
        for bad in [
            words(&[more, U256::from(2), U256::from(3)]),
            words(&[most, U256::from(2), late]),
            words(&[most, U256::from(2)]),
            words(&[most, most, most, most]),
            vec![0; 95],
            vec![],
        ] {
            assert!(reserves(&bad).is_err());
        }
        assert_eq!(decimals(&words(&[U256::from(255)])), Ok(255));
        assert_eq!(decimals(&words(&[U256::from(256)])), Err(Malformed::Range));
        let text = |length: u64, text: &[u8]| {
            let mut bytes = words(&[U256::from(32), U256::from(length)]);
            bytes.extend(text);
            bytes.resize(bytes.len().next_multiple_of(WORD), 0);
            bytes
        };
        assert_eq!(symbol(&text(4, b"WETH")).as_deref(), Ok("WETH"));
        let long = [b'x'; 33];
        assert!(symbol(&text(32, &long[..32])).is_ok());
        for bad in [
            text(33, &long),
            text(3, b"WETH"),
            text(4, b"WE\nH"),
            text(u64::MAX, b"WETH"),
            text(64, b"WETH"),
            words(&[U256::from(64), U256::from(4), U256::from(0)]),
            vec![b'x'; 32],
            vec![],
        ] {
            assert!(symbol(&bad).is_err());
        }
        assert_eq!(amount(U256::from(u128::MAX)), Ok(u128::MAX));
        assert_eq!(
            amount(U256::from(u128::MAX) + U256::from(1)),
            Err(Malformed::Range)
        );
    }
}
