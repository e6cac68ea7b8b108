//! Words of 32 bytes: arguments of calls, and strict reading of results.
//!
//! Only what the contracts of [`call`](crate::call) and [`v3`](crate::v3) use: addresses, numbers, and one list of
//! addresses, of bytes or one text as the only value of variable length.

use crate::{Address, Malformed, U256, keccak256};

/// Bytes of a word.
pub const WORD: usize = 32;

/// First four bytes of a call: of the hash of its signature.
pub fn selector(signature: &str) -> [u8; 4] {
    let [a, b, c, d, ..] = keccak256(&[signature.as_bytes()]);
    [a, b, c, d]
}

/// A value as arguments hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An address.
    Address(Address),
    /// An unsigned number.
    Number(U256),
    /// A list of addresses.
    Addresses(Vec<Address>),
}

/// A call: the selector and the arguments, values of variable length behind all words of fixed length.
pub fn encode(signature: &str, arguments: &[Value]) -> Vec<u8> {
    let mut head = selector(signature).to_vec();
    let mut tail = Vec::new();
    for argument in arguments {
        match argument {
            Value::Address(address) => head.extend(address_word(*address)),
            Value::Number(number) => head.extend(number.to_be_bytes::<WORD>()),
            Value::Addresses(list) => {
                head.extend(count(WORD * arguments.len() + tail.len()));
                tail.extend(count(list.len()));
                tail.extend(list.iter().flat_map(|address| address_word(*address)));
            }
        }
    }
    head.extend(tail);
    head
}

fn address_word(address: Address) -> [u8; WORD] {
    let mut word = [0; WORD];
    word[12..].copy_from_slice(&address.0);
    word
}

fn count(number: usize) -> [u8; WORD] {
    U256::from(number).to_be_bytes()
}

/// A signed number as a word: two's complement.
pub fn signed(number: i128) -> U256 {
    let magnitude = U256::from(number.unsigned_abs());
    if number < 0 {
        magnitude.wrapping_neg()
    } else {
        magnitude
    }
}

/// Reads words one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    /// Whole words only.
    ///
    /// # Errors
    /// [`Malformed::Abi`].
    pub const fn new(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if bytes.len().is_multiple_of(WORD) {
            Ok(Self(bytes))
        } else {
            Err(Malformed::Abi("not whole words"))
        }
    }

    /// The next word.
    ///
    /// # Errors
    /// [`Malformed::Abi`] if there is none.
    pub fn word(&mut self) -> Result<[u8; WORD], Malformed> {
        let (word, rest) = self
            .0
            .split_first_chunk()
            .ok_or(Malformed::Abi("a word is missing"))?;
        self.0 = rest;
        Ok(*word)
    }

    /// The next word as a number.
    ///
    /// # Errors
    /// [`Malformed::Abi`] if there is none.
    pub fn number(&mut self) -> Result<U256, Malformed> {
        self.word().map(U256::from_be_bytes)
    }

    /// The next word as a number of at most so many bits.
    ///
    /// # Errors
    /// [`Malformed::Abi`] if there is none, [`Malformed::Range`] if it has more bits.
    pub fn number_of(&mut self, bits: usize) -> Result<U256, Malformed> {
        let number = self.number()?;
        if number.bit_len() <= bits {
            Ok(number)
        } else {
            Err(Malformed::Range)
        }
    }

    /// The next word as a signed number of at most so many bits, in two's complement.
    ///
    /// # Errors
    /// [`Malformed::Abi`] if there is none, [`Malformed::Range`] if it has more bits, or more than 128.
    pub fn signed_of(&mut self, bits: usize) -> Result<i128, Malformed> {
        let number = self.number()?;
        let is_negative = number.bit(255);
        let magnitude = if is_negative { !number } else { number };
        if bits > 128 || magnitude.bit_len() >= bits {
            return Err(Malformed::Range);
        }
        let magnitude = i128::try_from(magnitude).map_err(|_| Malformed::Range)?;
        Ok(if is_negative { !magnitude } else { magnitude })
    }

    /// The next word as a truth value: 0 or 1.
    ///
    /// # Errors
    /// [`Malformed::Abi`] if there is none, [`Malformed::Range`] for any other number.
    pub fn truth(&mut self) -> Result<bool, Malformed> {
        Ok(self.number_of(1)? == U256::from(1))
    }

    /// The next word as an address: the first twelve bytes are zero.
    ///
    /// # Errors
    /// [`Malformed::Abi`].
    pub fn address(&mut self) -> Result<Address, Malformed> {
        let word = self.word()?;
        let (zeros, address) = word.split_at(12);
        if zeros.iter().any(|byte| *byte != 0) {
            return Err(Malformed::Abi("an address of more than 20 bytes"));
        }
        let mut bytes = [0; 20];
        bytes.copy_from_slice(address);
        Ok(Address(bytes))
    }

    /// The words from a place on, in bytes.
    ///
    /// # Errors
    /// [`Malformed::Abi`] if the place is not at a word of these.
    pub fn behind(self, bytes: usize) -> Result<Self, Malformed> {
        let rest = self.0.get(bytes..).map(Self::new);
        rest.unwrap_or(Err(Malformed::Abi("an offset outside")))
    }

    /// No more than this was there.
    ///
    /// # Errors
    /// [`Malformed::Abi`] if words are left over.
    pub const fn end(self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Malformed::Abi("words are left over"))
        }
    }

    /// The list of addresses that the rest consists of, at most `most`.
    ///
    /// # Errors
    /// [`Malformed::Abi`].
    pub fn addresses(mut self, most: usize) -> Result<Vec<Address>, Malformed> {
        let length = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if length > most {
            return Err(Malformed::Abi("a list that is too long"));
        }
        let list: Result<Vec<_>, _> = (0..length).map(|_| self.address()).collect();
        self.end()?;
        list
    }
}

/// An argument's type.
pub(crate) trait Argument: Sized {
    /// As it is encoded.
    fn value(&self) -> Value;

    /// The next argument; `all` are the words that offsets count from.
    fn take(from: &mut Words<'_>, all: Words<'_>) -> Result<Self, Malformed>;
}

impl Argument for Address {
    fn value(&self) -> Value {
        Value::Address(*self)
    }

    fn take(from: &mut Words<'_>, _: Words<'_>) -> Result<Self, Malformed> {
        from.address()
    }
}

impl Argument for U256 {
    fn value(&self) -> Value {
        Value::Number(*self)
    }

    fn take(from: &mut Words<'_>, _: Words<'_>) -> Result<Self, Malformed> {
        from.number()
    }
}

/// Reads a result of one number.
///
/// # Errors
/// [`Malformed::Abi`].
pub fn one_number(bytes: &[u8]) -> Result<U256, Malformed> {
    let mut words = Words::new(bytes)?;
    let number = words.number()?;
    words.end()?;
    Ok(number)
}

/// Reads a result of one address.
///
/// # Errors
/// [`Malformed::Abi`].
pub fn one_address(bytes: &[u8]) -> Result<Address, Malformed> {
    let mut words = Words::new(bytes)?;
    let address = words.address()?;
    words.end()?;
    Ok(address)
}

/// Reads a result of one text of at most `most` bytes: printable ASCII, padded with zeros to whole words.
///
/// # Errors
/// [`Malformed::Abi`].
pub fn one_text(bytes: &[u8], most: usize) -> Result<String, Malformed> {
    let mut words = Words::new(bytes)?;
    if words.number()? != U256::from(WORD) {
        return Err(Malformed::Abi("a text at another place"));
    }
    let length = usize::try_from(words.number()?).unwrap_or(usize::MAX);
    if length > most || words.0.len() != length.next_multiple_of(WORD) {
        return Err(Malformed::Abi("a text of another length"));
    }
    let (text, padding) = words.0.split_at(length);
    if padding.iter().any(|byte| *byte != 0) {
        return Err(Malformed::Abi("a text that is not padded with zeros"));
    }
    let printable = |byte: &u8| matches!(byte, b' '..=b'~');
    if !text.iter().all(printable) {
        return Err(Malformed::Abi("a text with other characters"));
    }
    Ok(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn signed_numbers_are_read_within_their_bits() {
        let read = |number: U256, bits| {
            let bytes = number.to_be_bytes::<WORD>();
            Words::new(&bytes).unwrap().signed_of(bits)
        };
        for number in [0, 1, -1, 8_388_607, -8_388_608] {
            assert_eq!(read(signed(number), 24), Ok(number));
        }
        for number in [8_388_608, -8_388_609] {
            assert_eq!(read(signed(number), 24), Err(Malformed::Range));
        }
        for number in [i128::MAX, i128::MIN] {
            assert_eq!(read(signed(number), 128), Ok(number));
        }
        assert_eq!(read(U256::from(1) << 127, 128), Err(Malformed::Range));
        assert_eq!(read(U256::from(1), 129), Err(Malformed::Range));
        let truth = |number: u64| {
            let bytes = U256::from(number).to_be_bytes::<WORD>();
            Words::new(&bytes).unwrap().truth()
        };
        assert_eq!((truth(0), truth(1)), (Ok(false), Ok(true)));
        assert_eq!(truth(2), Err(Malformed::Range));
    }
}
