//! The time between what happened at the exchange and its arrival, over the rows of a recording.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// Buckets of each power of two.
const PARTS: u64 = 16;
/// Buckets for every delay of 63 bits.
const BUCKETS: usize = 960;

/// Delays in buckets of about 6 % of their value: of constant size, however long a recording is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Rows by bucket; none before the first row.
    buckets: Vec<u64>,
    rows: u64,
    max: u64,
}

impl Delays {
    /// Counts rows with one delay. Clocks that go backward have none.
    #[inline]
    pub fn add(&mut self, nanos: i64, rows: u64) {
        let nanos = nanos.max(0).cast_unsigned();
        if self.buckets.is_empty() {
            self.buckets.resize(BUCKETS, 0);
        }
        if let Some(counted) = self.buckets.get_mut(bucket(nanos)) {
            *counted += rows;
        }
        self.rows += rows;
        self.max = self.max.max(nanos);
    }

    /// Median, within 4 %, and maximum, in nanoseconds; `None` if no row has two times that differ.
    pub fn median_and_max(&self) -> Option<(u64, u64)> {
        if self.max == 0 {
            return None;
        }
        let half = self.rows.div_ceil(2);
        let mut rows = 0;
        let found = self.buckets.iter().position(|more| {
            rows += more;
            rows >= half
        })?;
        Some((middle(found).min(self.max), self.max))
    }
}

impl Serialize for Delays {
    /// `median_ms` and `max_ms`, or null.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some((median, max)) = self.median_and_max() else {
            return serializer.serialize_none();
        };
        let mut fields = serializer.serialize_struct("Delays", 2)?;
        fields.serialize_field("median_ms", &millis(median))?;
        fields.serialize_field("max_ms", &millis(max))?;
        fields.end()
    }
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn millis(nanos: u64) -> f64 {
    (nanos / 1_000) as f64 / 1e3
}

/// Below 32 each value has a bucket of its own; above, each power of two has [`PARTS`].
#[inline]
fn bucket(nanos: u64) -> usize {
    let shift = nanos.max(PARTS).ilog2() - PARTS.ilog2();
    let at = u64::from(shift) * PARTS + (nanos >> shift);
    usize::try_from(at).unwrap_or(usize::MAX)
}

/// The value in the middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / PARTS).saturating_sub(1);
    let low = (bucket - shift * PARTS) << shift;
    low + ((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn every_delay_has_a_bucket_of_its_size() {
        for nanos in [
            0,
            1,
            15,
            16,
            31,
            32,
            33,
            1_000,
            999_999,
            u64::from(u32::MAX),
        ] {
            let middle = middle(bucket(nanos));
            let off = middle.abs_diff(nanos);
            assert!(off * 25 <= nanos, "{nanos} {middle}");
        }
        assert_eq!(bucket(i64::MAX.cast_unsigned()), BUCKETS - 1);
        let mut last = 0;
        for power in 0..63 {
            for nanos in [1_u64 << power, (1 << power) + (1 << power) / 2] {
                assert!(bucket(nanos) >= last);
                last = bucket(nanos);
            }
        }
    }

    #[test]
    fn median_and_maximum_are_those_of_the_rows() {
        let mut delays = Delays::default();
        assert_eq!(delays.median_and_max(), None);
        delays.add(0, 1);
        delays.add(-5, 1);
        assert_eq!(delays.median_and_max(), None, "one time in each row");
        let mut delays = Delays::default();
        for (nanos, rows) in [(3, 2), (5, 1), (7, 1), (i64::MAX, 1)] {
            delays.add(nanos, rows);
        }
        assert_eq!(delays.median_and_max(), Some((5, i64::MAX.cast_unsigned())));
        let mut hour = Delays::default();
        hour.add(3_600_000_000_000, 1);
        let (median, max) = hour.median_and_max().unwrap();
        assert_eq!(max, 3_600_000_000_000);
        assert!(max - median < max / 25, "{median}");
    }
}
