//! Conversion between bytes and hexadecimal or decimal text, strict about the form.

/// `0x` and two lower-case digits a byte.
pub(crate) fn hex_0x(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 + 2 * bytes.len());
    out.push_str("0x");
    out.push_str(&hex::encode(bytes));
    out
}

/// Exactly `0x` and `2·N` digits of either case.
pub(crate) fn fixed_from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut out = [0; N];
    hex::decode_to_slice(text.strip_prefix("0x")?, &mut out).ok()?;
    Some(out)
}

/// `0x` and any even number of digits of either case.
pub(crate) fn bytes_from_hex(text: &str) -> Option<Vec<u8>> {
    hex::decode(text.strip_prefix("0x")?).ok()
}

/// `0x` and 1 to 64 digits of either case, as a big-endian integer.
pub(crate) fn integer_from_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    if digits.is_empty() || digits.len() > 64 {
        return None;
    }
    let mut out = [0_u8; 32];
    for (place, digit) in digits.iter().rev().enumerate() {
        let value = u8::try_from(char::from(*digit).to_digit(16)?).ok()?;
        out[31 - place / 2] |= value << (4 * (place % 2));
    }
    Some(out)
}

/// Decimal digits only, below 2^256, as a big-endian integer.
pub(crate) fn integer_from_decimal(text: &str) -> Option<[u8; 32]> {
    if text.is_empty() || text.len() > 78 {
        return None;
    }
    let mut out = [0_u8; 32];
    for digit in text.bytes() {
        if !digit.is_ascii_digit() {
            return None;
        }
        let mut carry = u32::from(digit - b'0');
        for byte in out.iter_mut().rev() {
            let value = u32::from(*byte) * 10 + carry;
            *byte = value.to_be_bytes()[3];
            carry = value >> 8;
        }
        if carry != 0 {
            return None;
        }
    }
    Some(out)
}
