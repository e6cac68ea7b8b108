//! Reproducible test values. Compiled for tests only.

use ark_ff::PrimeField;

use crate::field::Fq;

/// A small deterministic generator: the same seed gives the same values on every machine.
pub(crate) struct Samples(u64);

impl Samples {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits (SplitMix64).
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn bytes(&mut self) -> [u8; 32] {
        let mut out = [0; 32];
        for chunk in out.chunks_exact_mut(8) {
            chunk.copy_from_slice(&self.bits().to_be_bytes());
        }
        out
    }

    pub(crate) fn element(&mut self) -> Fq {
        Fq::from_be_bytes_mod_order(&self.bytes())
    }
}
