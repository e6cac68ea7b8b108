//! Depth in one pass over its bytes, in the form that exchanges write: the known fields, numbers without escapes.
//!
//! Everything else (other fields, escapes, numbers or an order that are refused) is `None`, and the reader with the
//! tree of values decides: it accepts more forms, and its errors name the field. A depth that is read here is the one
//! that it would read.

use cambist_core::market::Price;
use cambist_core::request::{Depth, DepthLevel};
use cambist_core::{MarketSpec, Side};

use crate::decode::moment;
use crate::wire::LEVELS_MAX;

/// Digits of a number of 128 bits that surely fits.
const DIGITS_MAX: usize = 38;
/// Digits of a number of 64 bits that surely fits.
const SHORT_DIGITS_MAX: usize = 19;

/// Powers of ten, up to that of as many places as a price may have.
const POWERS: [u64; SHORT_DIGITS_MAX] = {
    let mut powers = [1; SHORT_DIGITS_MAX];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// Reads a depth of a market; `None` if the bytes have another form.
pub fn depth(bytes: &[u8], spec: &MarketSpec) -> Option<Depth> {
    let mut scan = Scan { bytes, at: 0 };
    let (mut version, mut timestamp, mut market) = (None, None, None);
    let (mut bids, mut asks) = (None, None);
    scan.byte(b'{')?;
    loop {
        let key = scan.text()?;
        scan.byte(b':')?;
        match key {
            b"version" if version.is_none() => version = Some(scan.integer()?),
            b"timestamp" if timestamp.is_none() => timestamp = Some(scan.integer()?),
            b"market" if market.is_none() => market = Some(scan.text()?),
            b"bids" if bids.is_none() => bids = Some(scan.levels(Side::Buy, spec)?),
            b"asks" if asks.is_none() => asks = Some(scan.levels(Side::Sell, spec)?),
            _ => return None,
        }
        if !scan.comma_or(b'}')? {
            break;
        }
    }
    scan.space();
    let ends = scan.at == bytes.len();
    let named = market.is_none_or(|market| market == spec.name.as_bytes());
    (ends && named).then_some(())?;
    Some(Depth {
        market: spec.id,
        version: version?,
        timestamp: moment(timestamp?).ok()?,
        bids: bids?,
        asks: asks?,
    })
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// This byte, perhaps after white space.
    #[inline]
    fn byte(&mut self, wanted: u8) -> Option<()> {
        if self.bytes.get(self.at) != Some(&wanted) {
            self.space();
        }
        self.exactly(wanted)
    }

    /// This byte, here.
    #[inline]
    fn exactly(&mut self, wanted: u8) -> Option<()> {
        (*self.bytes.get(self.at)? == wanted).then(|| self.at += 1)
    }

    /// True for a comma, false for `end`.
    #[inline]
    fn comma_or(&mut self, end: u8) -> Option<bool> {
        self.space();
        let found = *self.bytes.get(self.at)?;
        self.at += 1;
        match found {
            b',' => Some(true),
            found => (found == end).then_some(false),
        }
    }

    /// A string of printable ASCII without escapes.
    fn text(&mut self) -> Option<&'a [u8]> {
        self.byte(b'"')?;
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| *byte == b'"')?;
        let text = &rest[..length];
        let plain = |byte: &u8| (b' '..=b'~').contains(byte) && *byte != b'\\';
        self.at += length + 1;
        text.iter().all(plain).then_some(text)
    }

    /// An integer of 64 bits, bare or in quotes.
    fn integer(&mut self) -> Option<u64> {
        self.space();
        let is_quoted = self.exactly(b'"').is_some();
        let value = self.short_number()?.0;
        if is_quoted {
            self.exactly(b'"')?;
        }
        Some(value)
    }

    /// A number without leading zeros.
    #[inline]
    fn number(&mut self) -> Option<u128> {
        let begun = self.at;
        if let Some((value, _)) = self.short_number() {
            return Some(value.into());
        }
        self.at = begun;
        self.long_number()
    }

    /// A number of at most [`SHORT_DIGITS_MAX`] digits without leading zeros, and how many it has.
    #[inline]
    fn short_number(&mut self) -> Option<(u64, usize)> {
        let first = *self.bytes.get(self.at)?;
        let (value, length) = self.short_digits()?;
        (first != b'0' || length == 1).then_some((value, length))
    }

    /// Digits, at least one and at most [`SHORT_DIGITS_MAX`].
    #[inline]
    fn short_digits(&mut self) -> Option<(u64, usize)> {
        let begun = self.at;
        let mut value = 0_u64;
        for _ in 0..2 {
            let Some(eight) = self.eight_digits() else {
                break;
            };
            value = value * POWERS[8] + eight;
            self.at += 8;
        }
        while let Some(digit @ b'0'..=b'9') = self.bytes.get(self.at) {
            value = value.wrapping_mul(10).wrapping_add((digit - b'0').into());
            self.at += 1;
        }
        let length = self.at - begun;
        // No more digits than fit: what wrapped is not used.
        (1..=SHORT_DIGITS_MAX)
            .contains(&length)
            .then_some((value, length))
    }

    /// The same for at most [`DIGITS_MAX`] digits.
    #[cold]
    fn long_number(&mut self) -> Option<u128> {
        let begun = self.at;
        let digits = self.bytes.get(begun..)?.iter();
        let length = digits.take_while(|byte| byte.is_ascii_digit()).count();
        self.at += length;
        let number = self.bytes.get(begun..self.at)?;
        let fits = (1..=DIGITS_MAX).contains(&length) && (number[0] != b'0' || length == 1);
        let value = |number: &[u8]| {
            let digits = number.iter().map(|digit| u128::from(digit - b'0'));
            digits.fold(0, |value, digit| value * 10 + digit)
        };
        fits.then(|| value(number))
    }

    /// The values of the next eight bytes if all are digits, the first in the lowest byte.
    #[inline]
    fn eight_are_digits(&self) -> Option<u64> {
        const ZEROS: u64 = 0x3030_3030_3030_3030;
        const HIGH: u64 = 0xF0F0_F0F0_F0F0_F0F0;
        let bytes = self.bytes.get(self.at..self.at + 8)?;
        let eight = u64::from_le_bytes(bytes.try_into().ok()?);
        // A digit has 3 in its high half, also when 6 is added. A byte that carries fails the first test.
        let digits =
            eight & HIGH == ZEROS && eight.wrapping_add(0x0606_0606_0606_0606) & HIGH == ZEROS;
        digits.then(|| eight - ZEROS)
    }

    /// The value of the next eight bytes if all are digits.
    #[inline]
    fn eight_digits(&self) -> Option<u64> {
        let ones = self.eight_are_digits()?;
        // Pairs of digits, then fours, then eight.
        let pairs = (ones * 10 + (ones >> 8)) & 0x00FF_00FF_00FF_00FF;
        let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
        Some((fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF)
    }

    fn levels(&mut self, side: Side, spec: &MarketSpec) -> Option<Vec<DepthLevel>> {
        let mut levels: Vec<DepthLevel> = Vec::with_capacity(64);
        self.byte(b'[')?;
        self.space();
        if self.exactly(b']').is_some() {
            return Some(levels);
        }
        loop {
            let level = self.level(spec.price_decimals)?;
            let in_order = levels.last().is_none_or(|better| match side {
                Side::Buy => better.price > level.price,
                Side::Sell => better.price < level.price,
            });
            if !in_order || levels.len() == LEVELS_MAX {
                return None;
            }
            levels.push(level);
            if !self.comma_or(b']')? {
                return Some(levels);
            }
        }
    }

    /// `["price","size","volume","count"]`
    #[inline]
    fn level(&mut self, decimals: u8) -> Option<DepthLevel> {
        self.byte(b'[')?;
        self.byte(b'"')?;
        let price = self.price(decimals)?;
        self.exactly(b'"')?;
        self.byte(b',')?;
        let size = self.quoted()?;
        // Volume and number of orders are no part of a depth here.
        self.byte(b',')?;
        self.pass_quoted()?;
        self.byte(b',')?;
        let count = self.pass_quoted()?;
        self.byte(b']')?;
        (size > 0 && count <= SHORT_DIGITS_MAX).then_some(DepthLevel { price, size })
    }

    /// A number in quotes.
    #[inline]
    fn quoted(&mut self) -> Option<u128> {
        self.byte(b'"')?;
        let number = self.number()?;
        self.exactly(b'"')?;
        Some(number)
    }

    /// Passes a number in quotes, without leading zeros, and returns how many digits it has.
    #[inline]
    fn pass_quoted(&mut self) -> Option<usize> {
        self.byte(b'"')?;
        let begun = self.at;
        let first = *self.bytes.get(begun)?;
        while self.eight_are_digits().is_some() {
            self.at += 8;
        }
        while let Some(b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
        let length = self.at - begun;
        self.exactly(b'"')?;
        let fits = (1..=DIGITS_MAX).contains(&length) && (first != b'0' || length == 1);
        fits.then_some(length)
    }

    /// A decimal in ticks, above zero.
    #[inline]
    fn price(&mut self, decimals: u8) -> Option<Price> {
        let (whole, _) = self.short_number()?;
        let (mut fraction, mut places) = (0, 0);
        if self.exactly(b'.').is_some() {
            (fraction, places) = self.short_digits()?;
        }
        let decimals = usize::from(decimals);
        let missing = *POWERS.get(decimals.checked_sub(places)?)?;
        let whole = whole.checked_mul(*POWERS.get(decimals)?)?;
        let ticks = whole.checked_add(fraction.checked_mul(missing)?)?;
        (ticks > 0).then_some(Price(ticks))
    }
}

#[cfg(test)]
#[path = "depth_scan_tests.rs"]
mod tests;
