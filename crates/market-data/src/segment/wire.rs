//! Numbers in a few bytes: little-endian, as wide as a code of two bits says.

/// Bytes behind the records of a frame, so that eight can be read anywhere.
pub const PADDING: usize = 8;

/// Widths in bytes by code: of values that are rarely 0, and of differences that often are.
pub const VALUE: [u8; 4] = [1, 2, 4, 8];
pub const DIFFERENCE: [u8; 4] = [0, 3, 5, 8];

/// The bytes of a frame do not make sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonsense;

/// A signed number as an unsigned one that is small if the first is near 0.
#[inline]
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// The inverse of [`zigzag`].
#[inline]
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// The code of the narrowest width that holds a value.
pub fn code(value: u64, widths: [u8; 4]) -> u8 {
    let bytes = (64 - value.leading_zeros()).div_ceil(8);
    let code = widths.iter().position(|width| u32::from(*width) >= bytes);
    // 0 to 3, as the last width holds everything.
    code.map_or(3, |code| u8::try_from(code).unwrap_or(3))
}

/// Appends a value in the width of a code.
pub fn put(out: &mut Vec<u8>, value: u64, code: u8, widths: [u8; 4]) {
    let width = usize::from(widths[usize::from(code & 3)]);
    out.extend_from_slice(&value.to_le_bytes()[..width]);
}

/// Reads from the records of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    /// The records, with [`PADDING`] behind them.
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Reads from a place on; eight bytes that belong to no record stand at the end of `bytes`.
    #[inline]
    pub const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The place of what is read next.
    #[inline]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// A byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Nonsense> {
        let byte = *self.bytes.get(self.at).ok_or(Nonsense)?;
        self.at += 1;
        Ok(byte)
    }

    /// A value as wide as a code (its two lowest bits) says.
    #[inline]
    pub fn value(&mut self, code: u8, widths: [u8; 4]) -> Result<u64, Nonsense> {
        let width = widths[usize::from(code & 3)];
        let bytes = self.bytes.get(self.at..).ok_or(Nonsense)?;
        let eight = bytes.first_chunk::<8>().ok_or(Nonsense)?;
        self.at += usize::from(width);
        let mask = if width == 0 {
            0
        } else {
            u64::MAX >> (64 - 8 * u32::from(width))
        };
        Ok(u64::from_le_bytes(*eight) & mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_back_in_the_narrowest_width() {
        for widths in [VALUE, DIFFERENCE] {
            for shift in 0..64 {
                for value in [1_u64 << shift, (1_u64 << shift) - 1, u64::MAX >> shift] {
                    let code = code(value, widths);
                    let mut bytes = Vec::new();
                    put(&mut bytes, value, code, widths);
                    assert_eq!(bytes.len(), usize::from(widths[usize::from(code)]));
                    let narrower = code.checked_sub(1).map(|c| widths[usize::from(c)]);
                    assert!(narrower.is_none_or(|w| w == 0 || value >> (8 * w) != 0) || value == 0);
                    bytes.extend([0xaa; PADDING]);
                    let mut cursor = Cursor::new(&bytes, 0);
                    assert_eq!(cursor.value(code, widths), Ok(value));
                    assert_eq!(cursor.at(), bytes.len() - PADDING);
                }
            }
        }
        for value in [0, 1, -1, 2, -2, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!((zigzag(-1), zigzag(1)), (1, 2));
    }

    #[test]
    fn nothing_is_read_behind_the_end() {
        let mut cursor = Cursor::new(&[0; 7], 0);
        assert_eq!(cursor.value(0, VALUE), Err(Nonsense));
        let mut cursor = Cursor::new(&[1], 1);
        assert_eq!(cursor.byte(), Err(Nonsense));
        let mut cursor = Cursor::new(&[1], 9);
        assert_eq!(cursor.value(0, VALUE), Err(Nonsense));
    }
}
