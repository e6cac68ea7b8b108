//! Checksums of rows, and the chain over intents.
//!
//! They detect accidents; they are not keyed and do not protect against an attacker with write access.

use sha2::{Digest, Sha256};

/// A checksum: the first half of a SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum([u8; 16]);

impl Sum {
    /// Chain value before the first intent.
    pub(super) const ORIGIN: Self = Self([0; 16]);

    pub(super) const fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A checksum from a row; `None` if its length is wrong.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The checksum of bytes.
    pub(super) fn over(bytes: &[u8]) -> Self {
        Row::of("bytes").bytes(bytes).sum()
    }
}

/// Collects the fields of a row. Each is preceded by its length, so that different rows never have the same bytes.
pub(super) struct Row(Sha256);

impl Row {
    pub(super) fn of(table: &str) -> Self {
        Self(Sha256::new()).text(table)
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    pub(super) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    pub(super) fn number(self, number: u64) -> Self {
        self.bytes(&number.to_be_bytes())
    }

    pub(super) fn sum(self) -> Sum {
        let whole = self.0.finalize();
        let mut half = [0; 16];
        half.copy_from_slice(&whole[..16]);
        Sum(half)
    }
}
