//! The postcard encoding, as far as it can be read without the Rust type.
//!
//! Numbers wider than a byte have variable length, signed ones in zigzag form. A length and the index of a variant are
//! such numbers. An option is a byte of 0 or 1, followed by its content.

use crate::shape::Primitive;

/// Why bytes are not a value of a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end before the value is complete.
    #[error("the bytes end within a value")]
    End,
    /// The bytes are not valid for the type.
    #[error("the bytes are not a valid {0}")]
    No(String),
    /// A step between two versions failed.
    #[error("{step}: {what}")]
    Step {
        /// Description of the step.
        step: String,
        /// The reason.
        what: String,
    },
}

/// Most bytes of one number.
const NUMBER_BYTES_MAX: usize = 19;

/// Takes `count` bytes.
pub(crate) fn take<'a>(input: &mut &'a [u8], count: usize) -> Result<&'a [u8], WireError> {
    let (taken, rest) = input.split_at_checked(count).ok_or(WireError::End)?;
    *input = rest;
    Ok(taken)
}

pub(crate) fn take_byte(input: &mut &[u8]) -> Result<u8, WireError> {
    Ok(take(input, 1)?[0])
}

/// Takes a number of at most `bits` bits.
pub(crate) fn take_number(input: &mut &[u8], bits: u32) -> Result<u128, WireError> {
    let wrong = || WireError::No(format!("number of {bits} bits"));
    let mut number = 0_u128;
    for index in 0..NUMBER_BYTES_MAX {
        let byte = take_byte(input)?;
        let (part, shift) = (u128::from(byte & 0x7f), 7 * index);
        if shift >= 128 || part << shift >> shift != part {
            return Err(wrong());
        }
        number |= part << shift;
        if byte & 0x80 == 0 {
            let fits = bits == 128 || number >> bits == 0;
            return fits.then_some(number).ok_or_else(wrong);
        }
    }
    Err(wrong())
}

pub(crate) fn put_number(mut number: u128, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap_or(0));
}

/// Takes a length. It cannot exceed the bytes that are left, because every element has at least one byte.
pub(crate) fn take_length(input: &mut &[u8]) -> Result<usize, WireError> {
    let length = take_number(input, 64)?;
    match usize::try_from(length) {
        Ok(length) if length <= input.len() => Ok(length),
        _ => Err(WireError::End),
    }
}

/// Takes the flag of an option.
pub(crate) fn take_flag(input: &mut &[u8], what: &str) -> Result<bool, WireError> {
    match take_byte(input)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(WireError::No(what.to_owned())),
    }
}

/// Takes the index of a variant.
pub(crate) fn take_variant(input: &mut &[u8], variants: usize) -> Result<usize, WireError> {
    let index = take_number(input, 32)?;
    let found = usize::try_from(index)
        .ok()
        .filter(|index| *index < variants);
    found.ok_or_else(|| WireError::No(format!("variant: index {index} of {variants}")))
}

pub(crate) const fn zigzag(number: i128) -> u128 {
    ((number << 1) ^ (number >> 127)).cast_unsigned()
}

pub(crate) const fn unzigzag(number: u128) -> i128 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

/// Bits of a primitive with variable length.
pub(crate) const fn variable_bits(primitive: Primitive) -> Option<u32> {
    match primitive {
        Primitive::U16 | Primitive::I16 => Some(16),
        Primitive::U32 | Primitive::I32 => Some(32),
        Primitive::U64 | Primitive::I64 => Some(64),
        Primitive::U128 | Primitive::I128 => Some(128),
        _ => None,
    }
}

/// Takes the bytes of a primitive and checks that they are valid.
pub(crate) fn take_primitive<'a>(
    input: &mut &'a [u8],
    primitive: Primitive,
) -> Result<&'a [u8], WireError> {
    let before = *input;
    match primitive {
        Primitive::Unit => {}
        Primitive::Bool => drop(take_flag(input, "bool")?),
        Primitive::I8 | Primitive::U8 => drop(take_byte(input)?),
        Primitive::F32 => drop(take(input, 4)?),
        Primitive::F64 => drop(take(input, 8)?),
        Primitive::Char | Primitive::Str | Primitive::Bytes => {
            let length = take_length(input)?;
            let text = take(input, length)?;
            if primitive != Primitive::Bytes && std::str::from_utf8(text).is_err() {
                return Err(WireError::No("text".to_owned()));
            }
        }
        Primitive::I16
        | Primitive::I32
        | Primitive::I64
        | Primitive::I128
        | Primitive::U16
        | Primitive::U32
        | Primitive::U64
        | Primitive::U128 => {
            let bits = variable_bits(primitive).unwrap_or(128);
            take_number(input, bits)?;
        }
    }
    Ok(&before[..before.len() - input.len()])
}
