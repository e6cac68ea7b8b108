//! How a log lies in its files.
//!
//! ```text
//! segment = opening block, frame*, zeros          a block is 4096 bytes
//! opening = "CAMBVLOG" format:u32 schema:u32 folder:16 first:u64 chain:16 check:u32 writer
//! frame   = length:u32 count:u32 first:u64 check(payload):u32 chain:16 check(head):u32 payload
//! ```
//! Little-endian. A frame is one group commit: `count` entries from number `first` on. It begins at a
//! block of its own, so that what was once synced is never in the reach of a later write. The chain
//! is over every payload since the folder was made; the checks are CRC-32, a frame's seeded with the
//! folder's id, so that frames of other folders are none. Against accidents, not against somebody
//! with write access.

use sha2::{Digest, Sha256};

/// Unit of writing.
pub(crate) const BLOCK: usize = 4096;

/// Version of the layout.
pub(crate) const FORMAT: u32 = 1;

/// First bytes of a segment.
const MAGIC: [u8; 8] = *b"CAMBVLOG";

/// Bytes of an opening that mean something.
const OPENING_BYTES: usize = 60;

/// Who writes, for people who meet the file with another version. It is behind the check and decides
/// nothing.
const WRITER: &str = concat!("cambist ", env!("CARGO_PKG_VERSION"));

/// Longest name of a writer that is believed.
const WRITER_MAX: usize = 32;

/// Bytes before a payload.
const HEAD_BYTES: usize = 40;

/// Tells the files of one folder from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FolderId(pub [u8; 16]);

/// A sum over everything before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain(pub [u8; 16]);

impl Chain {
    /// Before the first entry.
    pub const ORIGIN: Self = Self([0; 16]);

    /// After one more payload.
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

/// Where in the history something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Entries before it.
    pub position: u64,
    /// Sum over them.
    pub chain: Chain,
}

impl Place {
    /// The beginning.
    pub const ORIGIN: Self = Self {
        position: 0,
        chain: Chain::ORIGIN,
    };
}

/// What stands at the head of a file: whose it is, and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opening {
    pub folder: FolderId,
    pub place: Place,
}

/// Why an opening is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoOpening {
    /// Not what this program writes, or damaged.
    Damaged,
    /// Another version wrote it.
    Other(Other),
}

/// What another version says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Other {
    /// What differs: the layout, or the types inside.
    pub what: &'static str,
    pub found: u32,
    pub here: u32,
    /// Its name, where it left one.
    pub writer: Option<String>,
}

/// The first block of a file.
pub(crate) fn opening(magic: [u8; 8], opening: &Opening, schema: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BLOCK);
    bytes.extend_from_slice(&magic);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(&schema.to_le_bytes());
    bytes.extend_from_slice(&opening.folder.0);
    bytes.extend_from_slice(&opening.place.position.to_le_bytes());
    bytes.extend_from_slice(&opening.place.chain.0);
    let check = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&check.to_le_bytes());
    bytes.extend_from_slice(WRITER.as_bytes());
    bytes.resize(BLOCK, 0);
    bytes
}

/// The name behind an opening, if it is one.
fn writer(bytes: &[u8]) -> Option<String> {
    let name = bytes.get(OPENING_BYTES..OPENING_BYTES + WRITER_MAX)?;
    let name = name.split(|byte| *byte == 0).next()?;
    let printable = name.iter().all(|byte| matches!(byte, b' '..=b'~'));
    (printable && !name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}

/// Reads the first block of a file.
pub(crate) fn read_opening(
    magic: [u8; 8],
    bytes: &[u8],
    schema: u32,
) -> Result<Opening, NoOpening> {
    let mut at = Bytes(bytes.get(..OPENING_BYTES).ok_or(NoOpening::Damaged)?);
    let check = crc32fast::hash(&bytes[..OPENING_BYTES - 4]);
    let good = at.take::<8>() == magic;
    let (format, kind) = (at.u32(), at.u32());
    let opening = Opening {
        folder: FolderId(at.take()),
        place: Place {
            position: at.u64(),
            chain: Chain(at.take()),
        },
    };
    let other = |what, found, here| {
        let writer = writer(bytes);
        Err(NoOpening::Other(Other {
            what,
            found,
            here,
            writer,
        }))
    };
    if !good || at.u32() != check {
        Err(NoOpening::Damaged)
    } else if format != FORMAT {
        other("format", format, FORMAT)
    } else if kind != schema {
        other("types", kind, schema)
    } else {
        Ok(opening)
    }
}

/// The first block of a segment.
pub(crate) fn segment_opening(opened: &Opening, schema: u32) -> Vec<u8> {
    opening(MAGIC, opened, schema)
}

/// Reads the first block of a segment.
pub(crate) fn read_segment_opening(bytes: &[u8], schema: u32) -> Result<Opening, NoOpening> {
    read_opening(MAGIC, bytes, schema)
}

/// Bytes that a payload takes in the log.
pub(crate) const fn frame_bytes(payload: usize) -> usize {
    (HEAD_BYTES + payload).next_multiple_of(BLOCK)
}

/// Writes a frame over `into` and says where the history then stands.
pub(crate) fn frame(
    folder: FolderId,
    before: Place,
    count: u32,
    payload: &[u8],
    into: &mut Vec<u8>,
) -> Place {
    let length = u32::try_from(payload.len()).expect("a batch is bounded far below 4 GiB");
    let chain = before.chain.next(before.position, payload);
    into.clear();
    into.extend_from_slice(&length.to_le_bytes());
    into.extend_from_slice(&count.to_le_bytes());
    into.extend_from_slice(&before.position.to_le_bytes());
    into.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    into.extend_from_slice(&chain.0);
    into.extend_from_slice(&seeded(folder, into).to_le_bytes());
    into.extend_from_slice(payload);
    into.resize(frame_bytes(payload.len()), 0);
    Place {
        position: before.position + u64::from(count),
        chain,
    }
}

/// What stands at a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// Nothing was written there yet.
    Nothing,
    /// Something that is no frame, and why.
    Broken(&'static str),
    /// A frame.
    Frame(Frame<'a>),
}

/// A frame that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub first: u64,
    pub count: u32,
    pub chain: Chain,
    pub payload: &'a [u8],
}

impl Frame<'_> {
    /// Bytes it takes.
    pub const fn bytes(&self) -> usize {
        frame_bytes(self.payload.len())
    }
}

/// Reads what stands at the beginning of `bytes`.
pub(crate) fn read_frame(folder: FolderId, bytes: &[u8]) -> Found<'_> {
    let Some(head) = bytes.get(..HEAD_BYTES) else {
        return if bytes.iter().all(|byte| *byte == 0) {
            Found::Nothing
        } else {
            Found::Broken("it ends within the head of a frame")
        };
    };
    if head.iter().all(|byte| *byte == 0) {
        return Found::Nothing;
    }
    let mut at = Bytes(head);
    let (length, count, first, check) = (at.u32(), at.u32(), at.u64(), at.u32());
    let chain = Chain(at.take());
    if at.u32() != seeded(folder, &head[..HEAD_BYTES - 4]) {
        return Found::Broken("the head of a frame does not fit its check");
    }
    let end = HEAD_BYTES.saturating_add(length as usize);
    let Some(payload) = bytes.get(HEAD_BYTES..end) else {
        return Found::Broken("it ends within a frame");
    };
    if crc32fast::hash(payload) != check {
        return Found::Broken("a frame does not fit its check");
    }
    Found::Frame(Frame {
        first,
        count,
        chain,
        payload,
    })
}

fn seeded(folder: FolderId, bytes: &[u8]) -> u32 {
    let mut check = crc32fast::Hasher::new();
    check.update(&folder.0);
    check.update(bytes);
    check.finalize()
}

/// Numbers from the front of some bytes, whose length was looked at before.
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
