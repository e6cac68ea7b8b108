//! Measures writing and reading of recorded one-second snapshots with 20 levels a side, and their size: `cargo run
//! --release -p cambist-market-data --example decode [-- SNAPSHOTS [FOLDER]]`.
//!
//! Two markets from a seed: a busy one, in which every level changes every second, and a calm one, in which five do.
//! CPU time of the thread; peak memory of the process, from /proc. The recording is made in FOLDER (by default the
//! system's folder for temporary files) and removed at the end.
#![allow(
    clippy::cast_precision_loss,
    reason = "ratios are printed with one digit"
)]

use std::error::Error;
use std::path::PathBuf;

use cambist_core::{Price, Qty};
use cambist_market_data::segment::{Header, Limits, ReadOptions, SnapshotSegments, SnapshotWriter};
use cambist_market_data::{Grid, Level, Snapshot, SnapshotSource, Timestamp};

const DEPTH: u64 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments
        .next()
        .map_or(Ok(1_000_000), |word| word.parse())?;
    let folder = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    println!("{count} snapshots, {DEPTH} levels a side");
    println!("market |  write |   read | snapshots/s | bytes each | memory");
    for (name, changes) in [("busy", 2 * DEPTH), ("calm", 5)] {
        let path = folder.join(format!("cambist-decode-{}-{name}", std::process::id()));
        let measured = measure(&path, count, changes);
        std::fs::remove_dir_all(&path)?;
        let (write, read, bytes) = measured?;
        println!(
            "{name:>6} | {write:>3.0} ns | {read:>3.0} ns | {:>9.2} M | {:>10.1} | {} KiB",
            1e3 / read,
            bytes as f64 / count as f64,
            peak_memory_kib()?
        );
    }
    Ok(())
}

/// Nanoseconds to write and to read a snapshot, and the size of all.
fn measure(path: &PathBuf, count: u64, changes: u64) -> Result<(f64, f64, u64), Box<dyn Error>> {
    let header = Header {
        market: "ETH-USDC".to_owned(),
        grid: Grid::parse("0.01", "0.001")?,
    };
    let mut market = Market::new(changes);
    let mut writer = SnapshotWriter::begin(path, header, Limits::default())?;
    let mut write = 0.0;
    let mut checksum = 0_u64;
    for _ in 0..count {
        market.step();
        checksum = checksum.wrapping_add(digest(&market.snapshot));
        let start = cpu();
        writer.write(&market.snapshot)?;
        write += cpu() - start;
    }
    writer.finish()?;
    let mut reader = SnapshotSegments::open(path, ReadOptions::default())?;
    let start = cpu();
    let mut seen = 0;
    while let Some(snapshot) = reader.next_snapshot()? {
        seen += u64::from(snapshot.bids.len() == usize::try_from(DEPTH)?);
    }
    let read = cpu() - start;
    if seen != count {
        return Err(format!("read {seen} of {count} snapshots").into());
    }
    let mut reader = SnapshotSegments::open(path, ReadOptions::default())?;
    while let Some(snapshot) = reader.next_snapshot()? {
        checksum = checksum.wrapping_sub(digest(snapshot));
    }
    if checksum != 0 {
        return Err("the snapshots read differ from those written".into());
    }
    let mut bytes = 0;
    for entry in std::fs::read_dir(path)? {
        bytes += entry?.metadata()?.len();
    }
    let each = |seconds: f64| seconds * 1e9 / count as f64;
    Ok((each(write), each(read), bytes))
}

fn digest(snapshot: &Snapshot) -> u64 {
    let mut digest = snapshot.local_time.0.cast_unsigned();
    for level in snapshot.bids.iter().chain(&snapshot.asks) {
        digest = digest
            .wrapping_mul(31)
            .wrapping_add(level.price.0 ^ level.qty.0 << 20);
    }
    digest
}

/// A random book: the best prices move every three seconds, some levels change every second.
struct Market {
    state: u64,
    changes: u64,
    snapshot: Snapshot,
}

impl Market {
    fn new(changes: u64) -> Self {
        let begin = Timestamp(1_723_161_256_000_000_000);
        let level = |price| Level {
            price: Price(price),
            qty: Qty(500),
        };
        Self {
            state: 7,
            changes,
            snapshot: Snapshot {
                exchange_time: begin,
                local_time: begin,
                sequence: 0,
                bids: (0..DEPTH).map(|n| level(268_449 - n)).collect(),
                asks: (0..DEPTH).map(|n| level(268_450 + n)).collect(),
            },
        }
    }

    fn step(&mut self) {
        let jitter = (self.random() % 3_000_000).cast_signed();
        let latency = (2_000_000 + self.random() % 500_000).cast_signed();
        let snapshot = &mut self.snapshot;
        snapshot.local_time.0 += 998_500_000 + jitter;
        snapshot.exchange_time.0 = snapshot.local_time.0 - latency;
        snapshot.sequence += self.changes;
        match self.random() % 6 {
            0 => self.shift(true),
            1 => self.shift(false),
            _ => {}
        }
        for number in 0..self.changes {
            let draw = self.random();
            let at = if self.changes < 2 * DEPTH {
                draw >> 32
            } else {
                number
            };
            let at = usize::try_from(at % (2 * DEPTH)).unwrap_or(0);
            let levels = self.snapshot.bids.iter_mut().chain(&mut self.snapshot.asks);
            for level in levels.skip(at).take(1) {
                level.qty.0 = 1 + draw % 1_000;
            }
        }
    }

    /// Moves the best prices by a tick.
    fn shift(&mut self, up: bool) {
        let qty = Qty(1 + self.random() % 1_000);
        let (rising, falling) = if up {
            (&mut self.snapshot.bids, &mut self.snapshot.asks)
        } else {
            (&mut self.snapshot.asks, &mut self.snapshot.bids)
        };
        let price = falling.remove(0).price;
        rising.pop();
        rising.insert(0, Level { price, qty });
        let last = falling[falling.len() - 1].price.0;
        let price = Price(if up { last + 1 } else { last - 1 });
        falling.push(Level { price, qty });
    }

    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// CPU time of the thread, in seconds.
fn cpu() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

fn peak_memory_kib() -> Result<String, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let word = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(word.ok_or("no VmHWM")?.to_owned())
}
