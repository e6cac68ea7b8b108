//! Integers in few bytes: little-endian, with a width code of two bits.

/// Bytes after the values of a frame, so that eight bytes can be read at any offset.
pub const PADDING: usize = 8;

/// Widths in bytes by code: for values that are rarely 0, and for differences that often are.
pub const VALUE: [u8; 4] = [1, 2, 4, 8];
pub const DIFFERENCE: [u8; 4] = [0, 3, 5, 8];

/// The bytes of a frame cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonsense;

/// Encodes a signed number as an unsigned one that is small if the signed one is near 0.
#[inline]
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// The inverse of [`zigzag`].
#[inline]
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// The code of the narrowest sufficient width.
pub fn code(value: u64, widths: [u8; 4]) -> u8 {
    let bytes = (64 - value.leading_zeros()).div_ceil(8);
    let code = widths.iter().position(|width| u32::from(*width) >= bytes);
    // 0 to 3; the last width is always sufficient.
    code.map_or(3, |code| u8::try_from(code).unwrap_or(3))
}

/// Appends a value with the width of a code.
pub fn put(out: &mut Vec<u8>, value: u64, code: u8, widths: [u8; 4]) {
    let width = usize::from(widths[usize::from(code & 3)]);
    out.extend_from_slice(&value.to_le_bytes()[..width]);
}

/// Records of a frame being written: fixed parts and values.
///
/// They are separate so that decoding a record's values does not depend on the record before.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Fixed parts, [`super::Codec::HEAD_BYTES`] each.
    pub heads: Vec<u8>,
    /// Values.
    pub values: Vec<u8>,
}

impl Records {
    /// Bytes of both.
    pub const fn bytes(&self) -> usize {
        self.heads.len() + self.values.len()
    }

    /// Clears both.
    pub fn clear(&mut self) {
        self.heads.clear();
        self.values.clear();
    }
}

/// Reads the records of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    /// The payload, with [`PADDING`] behind it.
    bytes: &'a [u8],
    head: usize,
    value: usize,
}

impl<'a> Cursor<'a> {
    /// Reads fixed parts and values from two offsets on.
    #[inline]
    pub const fn new(bytes: &'a [u8], (head, value): (usize, usize)) -> Self {
        Self { bytes, head, value }
    }

    /// Offsets of the next fixed part and the next value.
    #[inline]
    pub const fn places(&self) -> (usize, usize) {
        (self.head, self.value)
    }

    /// The fixed part of the next record.
    #[inline]
    pub fn head<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Nonsense> {
        let bytes = self.bytes.get(self.head..).ok_or(Nonsense)?;
        let head = bytes.first_chunk::<BYTES>().ok_or(Nonsense)?;
        self.head += BYTES;
        Ok(*head)
    }

    /// A byte of the values.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Nonsense> {
        let byte = *self.bytes.get(self.value).ok_or(Nonsense)?;
        self.value += 1;
        Ok(byte)
    }

    /// A value with the width of a code (its two lowest bits).
    #[inline]
    pub fn value(&mut self, code: u8, widths: [u8; 4]) -> Result<u64, Nonsense> {
        let width = widths[usize::from(code & 3)];
        let bytes = self.bytes.get(self.value..).ok_or(Nonsense)?;
        let eight = bytes.first_chunk::<8>().ok_or(Nonsense)?;
        self.value += usize::from(width);
        Ok(u64::from_le_bytes(*eight) & mask(width))
    }

    /// A time difference, a latency difference, a price and a quantity, with widths from two bits of `widths` each,
    /// lowest first.
    #[inline]
    pub fn four(&mut self, widths: u8) -> Result<[u64; 4], Nonsense> {
        let (ends, masks) = FOUR[usize::from(widths)];
        // The last of the four may begin 24 bytes after the first.
        let bytes = self.bytes.get(self.value..).ok_or(Nonsense)?;
        let at = |place: u8| -> Result<u64, Nonsense> {
            let bytes = bytes.get(usize::from(place)..).ok_or(Nonsense)?;
            let eight = bytes.first_chunk::<8>().ok_or(Nonsense)?;
            Ok(u64::from_le_bytes(*eight))
        };
        let values = [
            at(0)? & masks[0],
            at(ends[0])? & masks[1],
            at(ends[1])? & masks[2],
            at(ends[2])? & masks[3],
        ];
        self.value += usize::from(ends[3]);
        Ok(values)
    }
}

const fn mask(width: u8) -> u64 {
    match width {
        0 => 0,
        width => u64::MAX >> (64 - 8 * width as u32),
    }
}

/// End offsets and masks of four values by their codes.
static FOUR: [([u8; 4], [u64; 4]); 256] = {
    let mut table = [([0; 4], [0; 4]); 256];
    let mut widths = 0;
    while widths < 256 {
        let mut end = 0;
        let mut field = 0;
        while field < 4 {
            let code = (widths >> (2 * field)) & 3;
            let width = if field < 2 {
                DIFFERENCE[code]
            } else {
                VALUE[code]
            };
            end += width;
            table[widths].0[field] = end;
            table[widths].1[field] = mask(width);
            field += 1;
        }
        widths += 1;
    }
    table
};

/// Records as in a frame, the offset of their values, and their end.
#[cfg(test)]
pub fn joined(records: &Records) -> (Vec<u8>, usize, usize) {
    let mut bytes = records.heads.clone();
    bytes.extend(&records.values);
    let end = bytes.len();
    bytes.extend([0xaa; PADDING]);
    (bytes, records.heads.len(), end)
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
                    let mut cursor = Cursor::new(&bytes, (0, 0));
                    assert_eq!(cursor.value(code, widths), Ok(value));
                    assert_eq!(cursor.places(), (0, bytes.len() - PADDING));
                }
            }
        }
        for value in [0, 1, -1, 2, -2, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!((zigzag(-1), zigzag(1)), (1, 2));
    }

    #[test]
    fn four_values_are_read_as_one_by_one() {
        let bytes: Vec<u8> = (1..=40).collect();
        for widths in 0..=255 {
            let mut one_by_one = Cursor::new(&bytes, (0, 0));
            let values = [(0, DIFFERENCE), (2, DIFFERENCE), (4, VALUE), (6, VALUE)]
                .map(|(shift, table)| one_by_one.value(widths >> shift, table));
            let mut together = Cursor::new(&bytes, (0, 0));
            assert_eq!(together.four(widths).map(|four| four.map(Ok)), Ok(values));
            assert_eq!(together.places(), one_by_one.places());
        }
    }

    #[test]
    fn nothing_is_read_behind_the_end() {
        assert_eq!(Cursor::new(&[0; 7], (0, 0)).value(0, VALUE), Err(Nonsense));
        assert_eq!(Cursor::new(&[1], (1, 1)).byte(), Err(Nonsense));
        assert_eq!(Cursor::new(&[1], (9, 9)).value(0, VALUE), Err(Nonsense));
        assert_eq!(Cursor::new(&[1], (9, 9)).head::<2>(), Err(Nonsense));
        assert_eq!(Cursor::new(&[1], (0, 0)).head::<2>(), Err(Nonsense));
        assert_eq!(Cursor::new(&[0; 10], (0, 0)).four(0xff), Err(Nonsense));
        assert_eq!(Cursor::new(&[0; 10], (0, 11)).four(0), Err(Nonsense));
    }
}
