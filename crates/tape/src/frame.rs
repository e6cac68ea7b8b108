//! The file format of a tape.
//!
//! ```text
//! file    = "CAMBTAPE" format:u16 types:u32 record*
//! record  = length:u32 check(length):u32 check(payload):u32 payload      all little-endian
//! ```
//! The length has a check of its own, which distinguishes a damaged length from a torn tail; a damaged length is never
//! used to reserve memory. `types` names the version of the types inside (`versions`); formats 4 and 5 had one version
//! each and no `types`.

use crate::versions;

/// First bytes of every tape.
pub const MAGIC: &[u8; 8] = b"CAMBTAPE";

/// The format of tapes that are written.
pub const FORMAT: u16 = 6;

/// Formats without `types`, which name their version themselves.
pub const UNTYPED: [u16; 2] = [4, 5];

/// Mark and format.
pub const MARK_BYTES: usize = 10;

/// Bytes of `types`.
pub const TYPES_BYTES: usize = 4;

/// Bytes before the first record.
pub const PREFIX_BYTES: usize = MARK_BYTES + TYPES_BYTES;

/// Bytes before a payload.
pub const FRAME_BYTES: usize = 12;

/// Longest record: an event is one bounded answer, an action list one bounded decision.
pub const RECORD_MAX_BYTES: usize = 16 << 20;

/// The first bytes of a tape that is written now.
pub fn prefix() -> [u8; PREFIX_BYTES] {
    let mut bytes = [0; PREFIX_BYTES];
    bytes[..MAGIC.len()].copy_from_slice(MAGIC);
    bytes[MAGIC.len()..MARK_BYTES].copy_from_slice(&FORMAT.to_le_bytes());
    bytes[MARK_BYTES..].copy_from_slice(&versions::history().digest().to_le_bytes());
    bytes
}

/// Length and check of a payload, stored in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of the payload.
    pub length: u32,
    /// CRC-32 of the payload.
    pub check: u32,
}

impl Frame {
    /// The frame of a payload; `None` if the payload is too long.
    pub fn of(payload: &[u8]) -> Option<Self> {
        let length = u32::try_from(payload.len()).ok()?;
        (payload.len() <= RECORD_MAX_BYTES).then(|| Self {
            length,
            check: crc32fast::hash(payload),
        })
    }

    /// The bytes before the payload.
    pub fn to_bytes(self) -> [u8; FRAME_BYTES] {
        let length = self.length.to_le_bytes();
        let mut bytes = [0; FRAME_BYTES];
        bytes[..4].copy_from_slice(&length);
        bytes[4..8].copy_from_slice(&crc32fast::hash(&length).to_le_bytes());
        bytes[8..].copy_from_slice(&self.check.to_le_bytes());
        bytes
    }

    /// Reads a frame; `None` if the check of its length fails or it is too long.
    pub fn from_bytes(bytes: [u8; FRAME_BYTES]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (length_check, rest) = rest.split_first_chunk::<4>()?;
        let (check, _) = rest.split_first_chunk::<4>()?;
        let frame = Self {
            length: u32::from_le_bytes(*length),
            check: u32::from_le_bytes(*check),
        };
        let sound = crc32fast::hash(length) == u32::from_le_bytes(*length_check)
            && usize::try_from(frame.length).is_ok_and(|length| length <= RECORD_MAX_BYTES);
        sound.then_some(frame)
    }

    /// Whether the payload has the length and check of this frame.
    pub fn fits(self, payload: &[u8]) -> bool {
        crc32fast::hash(payload) == self.check
    }
}
