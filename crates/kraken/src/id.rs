//! Identifiers as Kraken writes them: a letter and 16 characters in groups of 5, 5 and 6 (`OQCLML-BW3P3-BUCMWZ`, the
//! letter is part of the first group). Here they are numbers, mixed so that neighbours do not look alike, and read back
//! exactly.

/// Kind of an identifier, which is its first letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An order.
    Order,
    /// A trade.
    Trade,
    /// A ledger entry.
    Ledger,
    /// What changed a balance otherwise than a trade.
    Flow,
    /// A change of an order.
    Amend,
}

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// Characters after the letter.
const DIGITS: usize = 16;
/// An odd factor and its inverse modulo 2^64: the mixing can be undone.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const INVERSE: u64 = 0xf1de_83e1_9937_733d;

impl Kind {
    const fn letter(self) -> u8 {
        match self {
            Self::Order => b'O',
            Self::Trade | Self::Amend => b'T',
            Self::Ledger => b'L',
            Self::Flow => b'F',
        }
    }
}

/// The identifier of a number.
pub fn encode(kind: Kind, number: u64) -> String {
    let mut rest = u128::from(number.wrapping_mul(FACTOR));
    let mut digits = [0_u8; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[usize::try_from(rest % 32).unwrap_or(0)];
        rest /= 32;
    }
    let mut text = String::with_capacity(DIGITS + 3);
    text.push(char::from(kind.letter()));
    for (at, digit) in digits.iter().enumerate() {
        if at == 5 || at == 10 {
            text.push('-');
        }
        text.push(char::from(*digit));
    }
    text
}

/// The number of an identifier; `None` for anything else.
pub fn decode(kind: Kind, text: &str) -> Option<u64> {
    let rest = text.as_bytes().strip_prefix(&[kind.letter()])?;
    if rest.len() != DIGITS + 2 || rest[5] != b'-' || rest[11] != b'-' {
        return None;
    }
    let mut number: u128 = 0;
    for byte in rest[..5].iter().chain(&rest[6..11]).chain(&rest[12..]) {
        let digit = ALPHABET.iter().position(|letter| letter == byte)?;
        number = number * 32 + u128::try_from(digit).ok()?;
    }
    let number = u64::try_from(number).ok()?;
    Some(number.wrapping_mul(INVERSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_the_published_form_and_are_read_back() {
        for number in [0, 1, 2, 1_000, u64::MAX / 3, u64::MAX] {
            for kind in [Kind::Order, Kind::Trade, Kind::Ledger, Kind::Flow] {
                let text = encode(kind, number);
                assert_eq!(decode(kind, &text), Some(number), "{text}");
                let groups: Vec<_> = text.split('-').map(str::len).collect();
                assert_eq!(groups, [6, 5, 6], "{text}");
            }
        }
        assert_ne!(encode(Kind::Order, 1)[..6], encode(Kind::Order, 2)[..6]);
        assert_eq!(FACTOR.wrapping_mul(INVERSE), 1);
    }

    #[test]
    fn what_is_no_identifier_is_refused() {
        let good = encode(Kind::Order, 77);
        let trade = encode(Kind::Trade, 77);
        let beyond = "O77777-77777-777777";
        for text in [
            "",
            "O",
            &good[1..],
            &good.to_lowercase(),
            &trade,
            beyond,
            &good.replace('-', "_"),
        ] {
            assert_eq!(decode(Kind::Order, text), None, "{text}");
        }
    }
}
