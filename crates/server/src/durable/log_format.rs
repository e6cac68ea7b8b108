//! The format of log files.
//!
//! ```text
//! segment = opening block, frame*, zeros          a block is 4096 bytes
//! opening = "CAMBVLOG" format:u32 types:u32 folder:16 first:u64 chain:16
//!           version:u32 bytes:u64 check:u32 writer
//! frame   = length:u32 count:u32 first:u64 check(payload):u32 chain:16 answers:u32 check(head):u32 payload
//! ```
//! Little-endian. A frame is one group commit: `count` entries from number `first` on. It begins at a block of its own,
//! so that a later write never touches synced data. The chain covers every payload since the folder was created.
//! Checksums are CRC-32, a frame's seeded with the folder's id, so that frames of other folders are invalid. They
//! protect against accidents, not against an attacker with write access. `types` and `version` identify the stored
//! types (`versions`), `bytes` is the length at which the file was created, `answers` is a digest of the answers to the
//! entries.
//!
//! Format 1 had neither `version` nor `bytes` nor `answers`. It is read but no longer written.

use sha2::{Digest, Sha256};

use crate::state::{Answers, Entry};
use cambist_host::program;

/// Unit of writing.
pub(crate) const BLOCK: usize = 4096;

/// Version of the format.
pub(crate) const FORMAT: u32 = 2;

/// The oldest format that is read.
const FORMAT_OLDEST: u32 = 1;

/// Magic number of a segment.
const MAGIC: [u8; 8] = *b"CAMBVLOG";

/// Bytes of a file header that are in use, by format.
const fn opening_bytes(format: u32) -> usize {
    if format == 1 { 60 } else { 72 }
}

/// Most bytes of a writer's name. The name follows the checksum and decides nothing; it is used in messages about files
/// of other versions.
const WRITER_MAX: usize = 96;

/// Bytes of a frame header, by format.
const fn head_bytes(format: u32) -> usize {
    if format == 1 { 40 } else { 44 }
}

/// Distinguishes the files of one folder from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FolderId(pub [u8; 16]);

/// A digest of all inputs so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain(pub [u8; 16]);

impl Chain {
    /// The digest before the first entry.
    pub const ORIGIN: Self = Self([0; 16]);

    /// The digest after one more payload.
    pub fn next(self, first: u64, payload: &[u8]) -> Self {
        let sum = Sha256::new()
            .chain_update(self.0)
            .chain_update(first.to_le_bytes())
            .chain_update(payload)
            .finalize();
        let mut half = [0; 16];
        half.copy_from_slice(&sum[..16]);
        Self(half)
    }
}

/// A position in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of entries before it.
    pub position: u64,
    /// Digest of those entries.
    pub chain: Chain,
}

impl Place {
    /// The beginning.
    pub const ORIGIN: Self = Self {
        position: 0,
        chain: Chain::ORIGIN,
    };
}

/// The identity of a file: its folder, and the position where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    pub folder: FolderId,
    pub place: Place,
}

/// Format of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub format: u32,
    /// The number that identifies the stored types.
    pub types: u32,
    /// The version of the stored types according to the writer; 0 in format 1.
    pub version: u32,
    /// Length at which the file was created; 0 if unknown.
    pub bytes: u64,
    /// The program that wrote it, if the file names it.
    pub writer: Option<String>,
}

/// Why a file header is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoOpening {
    /// Not a header of this format, or damaged.
    Damaged,
    /// Written in a later format.
    Later(Layout),
}

/// The header block of a file in the current format.
pub(crate) fn opening(
    magic: [u8; 8],
    opening: &Opening,
    (types, version): (u32, u32),
    length: u64,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BLOCK);
    bytes.extend_from_slice(&magic);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(&types.to_le_bytes());
    bytes.extend_from_slice(&opening.folder.0);
    bytes.extend_from_slice(&opening.place.position.to_le_bytes());
    bytes.extend_from_slice(&opening.place.chain.0);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&length.to_le_bytes());
    let check = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&check.to_le_bytes());
    let writer = program::build().name.as_bytes();
    bytes.extend_from_slice(&writer[..writer.len().min(WRITER_MAX - 1)]);
    bytes.resize(BLOCK, 0);
    bytes
}

/// The writer's name after a header, if it is valid.
fn writer(bytes: &[u8]) -> Option<String> {
    let name = bytes.get(..WRITER_MAX)?;
    let name = name.split(|byte| *byte == 0).next()?;
    let printable = name.iter().all(|byte| matches!(byte, b' '..=b'~'));
    (printable && !name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}

/// Reads the header block of a file, in the current or an earlier format.
pub(crate) fn read_opening(magic: [u8; 8], bytes: &[u8]) -> Result<(Opening, Layout), NoOpening> {
    let format = bytes.get(8..12).and_then(|bytes| bytes.try_into().ok());
    let format = u32::from_le_bytes(format.ok_or(NoOpening::Damaged)?);
    if format > FORMAT && bytes.starts_with(&magic) {
        return Err(later(magic, bytes, format));
    }
    let known = opening_bytes(format);
    let mut at = Bytes(bytes.get(..known).ok_or(NoOpening::Damaged)?);
    let check = crc32fast::hash(&bytes[..known - 4]);
    let good = at.take::<8>() == magic;
    let (format, types) = (at.u32(), at.u32());
    let opening = Opening {
        folder: FolderId(at.take()),
        place: Place {
            position: at.u64(),
            chain: Chain(at.take()),
        },
    };
    let (version, length) = if format == 1 {
        (0, 0)
    } else {
        (at.u32(), at.u64())
    };
    let layout = Layout {
        format,
        types,
        version,
        bytes: length,
        writer: writer(&bytes[known..]),
    };
    if good && at.u32() == check && format >= FORMAT_OLDEST {
        Ok((opening, layout))
    } else {
        Err(NoOpening::Damaged)
    }
}

/// Classifies a header of an unknown format. A file of the current format with a damaged format number counts as
/// damaged.
fn later(magic: [u8; 8], bytes: &[u8], format: u32) -> NoOpening {
    let mut today = bytes[..bytes.len().min(BLOCK)].to_vec();
    today[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    if read_opening(magic, &today).is_ok() {
        return NoOpening::Damaged;
    }
    NoOpening::Later(Layout {
        format,
        types: 0,
        version: 0,
        bytes: 0,
        writer: None,
    })
}

/// The header block of a segment in the current format, for a segment of `bytes` bytes.
pub(crate) fn segment_opening(opened: &Opening, types: (u32, u32), bytes: u64) -> Vec<u8> {
    opening(MAGIC, opened, types, bytes)
}

/// Reads the header block of a segment.
pub(crate) fn read_segment_opening(bytes: &[u8]) -> Result<(Opening, Layout), NoOpening> {
    read_opening(MAGIC, bytes)
}

/// Bytes of a frame with a payload of this length.
pub(crate) const fn frame_bytes(payload: usize) -> usize {
    (head_bytes(FORMAT) + payload).next_multiple_of(BLOCK)
}

/// Entries that are written together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The encoded entries, one after the other.
    pub payload: Vec<u8>,
    /// Number of entries.
    pub count: u32,
    /// Digest of the answers to the entries.
    pub answers: Answers,
}

impl Batch {
    /// Adds an entry.
    pub fn push(&mut self, entry: &Entry<'_>, answers: Answers) -> Result<(), postcard::Error> {
        let payload = std::mem::take(&mut self.payload);
        self.payload = postcard::to_extend(entry, payload)?;
        self.count += 1;
        self.answers = self.answers.and(answers);
        Ok(())
    }

    /// Clears the batch for reuse.
    pub fn clear(&mut self) {
        self.payload.clear();
        self.count = 0;
        self.answers = Answers::default();
    }
}

/// Writes a frame to `into` and returns the position after it.
pub(crate) fn frame(folder: FolderId, before: Place, batch: &Batch, into: &mut Vec<u8>) -> Place {
    let payload = batch.payload.as_slice();
    let length = u32::try_from(payload.len()).expect("a batch is bounded far below 4 GiB");
    let chain = before.chain.next(before.position, payload);
    into.clear();
    into.extend_from_slice(&length.to_le_bytes());
    into.extend_from_slice(&batch.count.to_le_bytes());
    into.extend_from_slice(&before.position.to_le_bytes());
    into.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    into.extend_from_slice(&chain.0);
    into.extend_from_slice(&batch.answers.0.to_le_bytes());
    into.extend_from_slice(&seeded(folder, into).to_le_bytes());
    into.extend_from_slice(payload);
    into.resize(frame_bytes(payload.len()), 0);
    Place {
        position: before.position + u64::from(batch.count),
        chain,
    }
}

/// What a block contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// Zeros: nothing was written here.
    Nothing,
    /// An invalid frame, and why.
    Broken(&'static str),
    /// A valid frame.
    Frame(Frame<'a>),
}

/// A valid frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub first: u64,
    pub count: u32,
    pub chain: Chain,
    /// Digest of the answers; `None` in format 1.
    pub answers: Option<Answers>,
    pub payload: &'a [u8],
    /// Bytes of the frame, padding included.
    pub bytes: usize,
}

/// Reads the frame at the beginning of `bytes`.
pub(crate) fn read_frame(folder: FolderId, format: u32, bytes: &[u8]) -> Found<'_> {
    let head_bytes = head_bytes(format);
    let Some(head) = bytes.get(..head_bytes) else {
        return if bytes.iter().all(|byte| *byte == 0) {
            Found::Nothing
        } else {
            Found::Broken("it ends within the header of a frame")
        };
    };
    if head.iter().all(|byte| *byte == 0) {
        return Found::Nothing;
    }
    let mut at = Bytes(head);
    let (length, count, first, check) = (at.u32(), at.u32(), at.u64(), at.u32());
    let chain = Chain(at.take());
    let answers = (format > 1).then(|| Answers(at.u32()));
    if at.u32() != seeded(folder, &head[..head_bytes - 4]) {
        return Found::Broken("the checksum of a frame's header does not match");
    }
    let end = head_bytes.saturating_add(length as usize);
    let Some(payload) = bytes.get(head_bytes..end) else {
        return Found::Broken("it ends within a frame");
    };
    if crc32fast::hash(payload) != check {
        return Found::Broken("the checksum of a frame does not match");
    }
    Found::Frame(Frame {
        first,
        count,
        chain,
        answers,
        payload,
        bytes: end.next_multiple_of(BLOCK),
    })
}

fn seeded(folder: FolderId, bytes: &[u8]) -> u32 {
    let mut check = crc32fast::Hasher::new();
    check.update(&folder.0);
    check.update(bytes);
    check.finalize()
}

/// Reads numbers from a slice whose length was checked before.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_at(N);
        self.0 = rest;
        let mut taken = [0; N];
        taken.copy_from_slice(head);
        taken
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}
