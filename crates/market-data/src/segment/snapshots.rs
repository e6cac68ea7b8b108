//! Encoding of snapshots as differences to the one before.
//!
//! ```text
//! values = times side(bids)? side(asks)?
//! head   = 2 bits each: widths of local time, latency, version; then: bids changed, asks changed
//! times  = local time, as the change of its step; latency and version, as their change
//! side   = (op value)* end
//! op     = bits 0-1: what; 2-3: width of its value; 4-7: levels that stay as they are before it
//!          0: the quantity changes by the value    1: a level is put here, with this quantity
//!          2: so many levels go                     3: all that is left stays; the side ends
//! ```
//! The price of an inserted level follows its op in a byte: ticks to the level before it, less 1; for a side's first
//! level the difference to the previous best price. 255 means that eight bytes follow.

use cambist_core::{Price, Qty, Side};

use super::wire::{Cursor, DIFFERENCE, Nonsense, Records, VALUE, code, put, unzigzag, zigzag};
use super::{Codec, Content};
use crate::columns::LEVELS_MAX;
use crate::snapshot::{Level, Snapshot};
use crate::time::Timestamp;

const QUANTITY: u8 = 0;
const INSERT: u8 = 1;
const DELETE: u8 = 2;
const END: u8 = 3;
const KEEP_MAX: usize = 15;
const FAR: u8 = 255;

/// The state that writer and reader share: the snapshot before.
#[derive(Clone, Debug)]
pub struct SnapshotCodec {
    last: Snapshot,
    step: i64,
    latency: i64,
    /// Latest local time of the written snapshots.
    written: Timestamp,
    scratch: Vec<Level>,
}

impl Default for SnapshotCodec {
    fn default() -> Self {
        Self {
            last: Snapshot::default(),
            step: 0,
            latency: 0,
            written: Timestamp(i64::MIN),
            scratch: Vec::new(),
        }
    }
}

impl Codec for SnapshotCodec {
    type Record = Snapshot;
    const CONTENT: Content = Content::Snapshots;
    const CLOCK: &'static str = "local";
    const HEAD_BYTES: usize = 1;

    fn restart(&mut self) {
        self.last.copy_from(&Snapshot::default());
        (self.step, self.latency) = (0, 0);
    }

    fn time(record: &Snapshot) -> Timestamp {
        record.local_time
    }

    fn refuse(&self, snapshot: &Snapshot) -> Option<&'static str> {
        if snapshot.bids.len().max(snapshot.asks.len()) > LEVELS_MAX {
            Some("it has more levels than a snapshot may have")
        } else if snapshot.disorder().is_some() {
            Some("its levels are not in order, or empty")
        } else if snapshot.crossing().is_some() {
            Some("its bids and asks cross")
        } else if snapshot.exchange_time.0 < 0 || snapshot.local_time < snapshot.exchange_time {
            Some("it was received before it happened, or before 1970")
        } else if snapshot.local_time <= self.written {
            Some("it was not received after the one before it")
        } else {
            None
        }
    }

    fn encode(&mut self, snapshot: &Snapshot, out: &mut Records) {
        let step = snapshot.local_time.nanos_since(self.last.local_time);
        let latency = snapshot.local_time.nanos_since(snapshot.exchange_time);
        let values = [
            zigzag(step.wrapping_sub(self.step)),
            zigzag(latency.wrapping_sub(self.latency)),
            zigzag(
                snapshot
                    .sequence
                    .wrapping_sub(self.last.sequence)
                    .cast_signed(),
            ),
        ];
        (self.step, self.latency) = (step, latency);
        let codes = values.map(|value| code(value, DIFFERENCE));
        let changed = Side::BOTH.map(|side| snapshot.side(side) != self.last.side(side));
        out.heads.push(
            codes[0]
                | codes[1] << 2
                | codes[2] << 4
                | u8::from(changed[0]) << 6
                | u8::from(changed[1]) << 7,
        );
        for (value, code) in values.into_iter().zip(codes) {
            put(&mut out.values, value, code, DIFFERENCE);
        }
        for (side, changed) in Side::BOTH.into_iter().zip(changed) {
            if changed {
                let (old, new) = (self.last.side(side), snapshot.side(side));
                encode_side(side, old, new, &mut out.values);
            }
        }
        self.written = snapshot.local_time;
        self.last.copy_from(snapshot);
    }

    #[inline]
    fn decode(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Nonsense> {
        let [head] = cursor.head()?;
        let step = unzigzag(cursor.value(head, DIFFERENCE)?);
        let latency = unzigzag(cursor.value(head >> 2, DIFFERENCE)?);
        let sequence = unzigzag(cursor.value(head >> 4, DIFFERENCE)?);
        self.step = self.step.wrapping_add(step);
        self.latency = self.latency.wrapping_add(latency);
        let last = &mut self.last;
        last.local_time.0 = last.local_time.0.wrapping_add(self.step);
        last.exchange_time.0 = last.local_time.0.wrapping_sub(self.latency);
        last.sequence = last.sequence.wrapping_add_signed(sequence);
        if head & 0x40 != 0 {
            decode_side::<true>(&mut last.bids, &mut self.scratch, cursor)?;
        }
        if head & 0x80 != 0 {
            decode_side::<false>(&mut last.asks, &mut self.scratch, cursor)?;
        }
        Ok(())
    }

    #[inline]
    fn record(&self) -> &Snapshot {
        &self.last
    }
}

/// Ticks by which `price` is worse than `than`; negative if it is better.
#[inline]
const fn worse_by<const BIDS: bool>(price: u64, than: u64) -> i64 {
    let difference = if BIDS {
        than.wrapping_sub(price)
    } else {
        price.wrapping_sub(than)
    };
    difference.cast_signed()
}

fn encode_side(side: Side, old: &[Level], new: &[Level], out: &mut Vec<u8>) {
    match side {
        Side::Buy => encode_levels::<true>(old, new, out),
        Side::Sell => encode_levels::<false>(old, new, out),
    }
}

fn encode_levels<const BIDS: bool>(old: &[Level], new: &[Level], out: &mut Vec<u8>) {
    let mut ops = Ops { out, keep: 0 };
    let mut at = 0;
    let mut before: Option<u64> = None;
    let best = old.first().map_or(0, |level| level.price.0);
    for level in new {
        let gone = old[at..]
            .iter()
            .take_while(|old| worse_by::<BIDS>(old.price.0, level.price.0) < 0)
            .count();
        if gone > 0 {
            ops.op(DELETE, gone as u64, None);
            at += gone;
        }
        match old.get(at) {
            Some(old) if old.price == level.price => {
                if old.qty == level.qty {
                    ops.keep += 1;
                } else {
                    let change = level.qty.0.wrapping_sub(old.qty.0).cast_signed();
                    ops.op(QUANTITY, zigzag(change), None);
                }
                at += 1;
            }
            _ => {
                let distance = match before {
                    Some(before) => worse_by::<BIDS>(level.price.0, before).cast_unsigned() - 1,
                    None => zigzag(worse_by::<BIDS>(level.price.0, best)),
                };
                ops.op(INSERT, level.qty.0, Some(distance));
            }
        }
        before = Some(level.price.0);
    }
    if at < old.len() {
        ops.op(DELETE, (old.len() - at) as u64, None);
    }
    ops.out.push(END);
}

/// Writes ops, each with the number of unchanged levels before it.
struct Ops<'a> {
    out: &'a mut Vec<u8>,
    keep: usize,
}

impl Ops<'_> {
    fn op(&mut self, what: u8, value: u64, distance: Option<u64>) {
        while self.keep > KEEP_MAX {
            // Deletes nothing: only skips unchanged levels.
            self.head(DELETE, KEEP_MAX, 0);
            self.out.push(0);
            self.keep -= KEEP_MAX;
        }
        let width = code(value, VALUE);
        let keep = std::mem::take(&mut self.keep);
        self.head(what, keep, width);
        if let Some(distance) = distance {
            match u8::try_from(distance) {
                Ok(near) if near < FAR => self.out.push(near),
                _ => {
                    self.out.push(FAR);
                    self.out.extend_from_slice(&distance.to_le_bytes());
                }
            }
        }
        put(self.out, value, width, VALUE);
    }

    fn head(&mut self, what: u8, keep: usize, width: u8) {
        let keep = u8::try_from(keep).unwrap_or(0);
        self.out.push(what | width << 2 | keep << 4);
    }
}

/// Applies ops to the levels of a side.
#[inline]
fn decode_side<const BIDS: bool>(
    levels: &mut Vec<Level>,
    scratch: &mut Vec<Level>,
    cursor: &mut Cursor<'_>,
) -> Result<(), Nonsense> {
    // Quantities are changed in place as long as no level is inserted or removed.
    let mut at = 0;
    loop {
        let op = cursor.byte()?;
        at += usize::from(op >> 4);
        match op & 3 {
            QUANTITY => {
                let change = unzigzag(cursor.value(op >> 2, VALUE)?);
                let level = levels.get_mut(at).ok_or(Nonsense)?;
                level.qty.0 = level.qty.0.wrapping_add_signed(change);
                at += 1;
            }
            END => return Ok(()),
            _ => {
                scratch.clear();
                scratch.extend_from_slice(levels.get(..at).ok_or(Nonsense)?);
                rebuild_side::<BIDS>(levels, scratch, at, op, cursor)?;
                std::mem::swap(levels, scratch);
                return Ok(());
            }
        }
    }
}

/// Continues with an op that inserts or removes levels: `at` levels are in `new` already.
fn rebuild_side<const BIDS: bool>(
    old: &[Level],
    new: &mut Vec<Level>,
    mut at: usize,
    mut op: u8,
    cursor: &mut Cursor<'_>,
) -> Result<(), Nonsense> {
    loop {
        match op & 3 {
            QUANTITY => {
                let change = unzigzag(cursor.value(op >> 2, VALUE)?);
                let mut level = *old.get(at).ok_or(Nonsense)?;
                level.qty.0 = level.qty.0.wrapping_add_signed(change);
                new.push(level);
                at += 1;
            }
            INSERT => {
                let mut distance = u64::from(cursor.byte()?);
                if distance == u64::from(FAR) {
                    distance = cursor.value(3, VALUE)?;
                }
                let (from, ticks) = match new.last() {
                    Some(level) => (level.price.0, distance.wrapping_add(1)),
                    None => (
                        old.first().map_or(0, |level| level.price.0),
                        unzigzag(distance).cast_unsigned(),
                    ),
                };
                let price = if BIDS {
                    from.wrapping_sub(ticks)
                } else {
                    from.wrapping_add(ticks)
                };
                let qty = cursor.value(op >> 2, VALUE)?;
                if new.len() >= LEVELS_MAX {
                    return Err(Nonsense);
                }
                new.push(Level {
                    price: Price(price),
                    qty: Qty(qty),
                });
            }
            DELETE => {
                let gone = cursor.value(op >> 2, VALUE)?;
                let gone = usize::try_from(gone).map_err(|_| Nonsense)?;
                at = at
                    .checked_add(gone)
                    .filter(|at| *at <= old.len())
                    .ok_or(Nonsense)?;
            }
            _ => {
                new.extend_from_slice(&old[at..]);
                if new.len() > LEVELS_MAX {
                    return Err(Nonsense);
                }
                return Ok(());
            }
        }
        op = cursor.byte()?;
        if op & 3 != END {
            let keep = usize::from(op >> 4);
            new.extend_from_slice(old.get(at..at + keep).ok_or(Nonsense)?);
            at += keep;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::super::wire::{PADDING, joined};
    use super::*;

    /// SplitMix64.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A snapshot derived from the one before: levels are added, removed and changed.
    fn next(state: &mut u64, last: &Snapshot) -> Snapshot {
        let mut snapshot = last.clone();
        let jitter = random(state).cast_signed() % 1_000;
        snapshot.local_time.0 += 1_000_000_000 + jitter.abs();
        snapshot.exchange_time.0 =
            snapshot.local_time.0 - (random(state) % 50_000_000).cast_signed();
        snapshot.sequence += random(state) % 3;
        let mid = match random(state) % 50 {
            0 => 1 + random(state) % (u64::MAX / 2),
            _ => snapshot
                .bids
                .first()
                .map_or(100_000, |level| level.price.0 + 1),
        };
        for side in Side::BOTH {
            let shape = random(state) % 8;
            let levels = match side {
                Side::Buy => &mut snapshot.bids,
                Side::Sell => &mut snapshot.asks,
            };
            match shape {
                0 => continue,
                1 => levels.clear(),
                2..5 => {
                    for level in levels.iter_mut() {
                        if random(state).is_multiple_of(3) {
                            level.qty.0 = 1 + random(state) % (1 << (random(state) % 60));
                        }
                    }
                }
                _ => {
                    levels.retain(|_| !random(state).is_multiple_of(4));
                    while levels.len() < 40 && !random(state).is_multiple_of(6) {
                        let away = 1 + random(state) % (1 << (random(state) % 12));
                        let price = match side {
                            Side::Buy => mid.saturating_sub(away).max(1),
                            Side::Sell => mid + away,
                        };
                        levels.push(Level {
                            price: Price(price),
                            qty: Qty(1 + random(state) % 1_000),
                        });
                    }
                }
            }
            levels.sort_by_key(|level| level.price);
            levels.dedup_by_key(|level| level.price);
            if side == Side::Buy {
                levels.reverse();
            }
        }
        if snapshot.crossing().is_some() {
            let ask = snapshot.asks[0].price;
            snapshot.bids.retain(|level| level.price < ask);
        }
        snapshot
    }

    #[test]
    fn snapshots_come_back_as_they_were() {
        let mut state = 7;
        let mut snapshots = vec![Snapshot {
            exchange_time: Timestamp(1_723_161_256_000_000_000),
            local_time: Timestamp(1_723_161_256_000_000_000),
            ..Snapshot::default()
        }];
        for _ in 0..3_000 {
            let following = next(&mut state, &snapshots[snapshots.len() - 1]);
            snapshots.push(following);
        }
        let mut encoder = SnapshotCodec::default();
        let mut records = Records::default();
        for snapshot in &snapshots {
            assert_eq!(encoder.refuse(snapshot), None);
            encoder.encode(snapshot, &mut records);
        }
        let (bytes, values, end) = joined(&records);
        let mut decoder = SnapshotCodec::default();
        let mut cursor = Cursor::new(&bytes, (0, values));
        for snapshot in &snapshots {
            decoder.decode(&mut cursor).unwrap();
            assert_eq!(decoder.record(), snapshot);
        }
        assert_eq!(cursor.places(), (values, end));
    }

    #[test]
    fn long_runs_of_levels_that_stay_are_kept() {
        let level = |n: u64| Level {
            price: Price(1_000 + n),
            qty: Qty(n + 1),
        };
        let first = Snapshot {
            asks: (0..100).map(level).collect(),
            ..Snapshot::default()
        };
        let mut second = first.clone();
        second.asks[70].qty = Qty(1);
        let mut third = second.clone();
        third.asks.remove(50);
        third.asks.insert(
            90,
            Level {
                price: Price(1_090),
                qty: Qty(1),
            },
        );
        third.asks.dedup_by_key(|level| level.price);
        let (mut encoder, mut records) = (SnapshotCodec::default(), Records::default());
        for snapshot in [&first, &second, &third] {
            encoder.encode(snapshot, &mut records);
        }
        let (bytes, values, _) = joined(&records);
        let mut decoder = SnapshotCodec::default();
        let mut cursor = Cursor::new(&bytes, (0, values));
        for snapshot in [&first, &second, &third] {
            decoder.decode(&mut cursor).unwrap();
            assert_eq!(decoder.record(), snapshot);
        }
    }

    #[test]
    fn invalid_bytes_are_refused_without_a_panic() {
        let mut state = 9;
        for _ in 0..20_000 {
            let length = random(&mut state) % 60;
            let mut bytes: Vec<u8> = (0..length)
                .map(|_| random(&mut state).to_le_bytes()[0])
                .collect();
            bytes.extend([0; PADDING]);
            let mut codec = SnapshotCodec::default();
            let mut cursor = Cursor::new(&bytes, (0, bytes.len() / 3));
            while codec.decode(&mut cursor).is_ok() {}
            assert!(codec.record().bids.len() <= LEVELS_MAX);
        }
    }

    #[test]
    fn invalid_snapshots_are_not_written() {
        let mut codec = SnapshotCodec::default();
        let level = Level {
            price: Price(5),
            qty: Qty(1),
        };
        let sound = Snapshot {
            exchange_time: Timestamp(5),
            local_time: Timestamp(6),
            bids: vec![level],
            ..Snapshot::default()
        };
        assert_eq!(codec.refuse(&sound), None);
        codec.encode(&sound, &mut Records::default());
        let mut later = sound.clone();
        later.local_time.0 += 1;
        assert_eq!(codec.refuse(&later), None);
        assert!(codec.refuse(&sound).is_some(), "at the same time");
        codec.restart();
        assert!(codec.refuse(&sound).is_some(), "also in another frame");
        let refused = |change: fn(&mut Snapshot)| {
            let mut snapshot = later.clone();
            change(&mut snapshot);
            codec.refuse(&snapshot).is_some()
        };
        assert!(refused(|s| s.bids[0].qty.0 = 0));
        assert!(refused(|s| s.asks.push(s.bids[0])));
        assert!(refused(|s| s.bids.push(s.bids[0])));
        assert!(refused(|s| s.local_time.0 = 4));
        assert!(refused(|s| s.exchange_time.0 = -1));
        assert!(refused(|s| s.bids = vec![s.bids[0]; LEVELS_MAX + 1]));
    }
}
