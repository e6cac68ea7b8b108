//! Scenario S1: a feed of level changes and trades from a seed, in integers, the same as behind the published
//! baselines; and the same as files.

use std::path::{Path, PathBuf};

use cambist_core::{Price, Qty, Side};
use cambist_market_data::segment::{EventWriter, Header, Limits};
use cambist_market_data::{Event, Grid, Timestamp, Update, Visibility};

/// What is received is received a millisecond after it happened.
pub const FEED_NANOS: i64 = 1_000_000;

/// Levels a side.
const LEVELS: u64 = 20;

/// Tick and lot of the workload.
pub fn grid() -> Grid {
    Grid::parse("0.01", "1").expect("a grid")
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// Makes so many events: about a thousand a second, 87 in a thousand are trades.
pub fn events(count: usize, seed: u64) -> Vec<Event> {
    let mut random = Random(seed);
    let mut time = 1_700_000_000_000_000_000_i64;
    let mut bid = 100_000_u64;
    let mut events = Vec::with_capacity(count + 4);
    let level = |time, side, price, qty| {
        event(
            time,
            Update::Level {
                side,
                price: Price(price),
                qty: Qty(qty),
            },
        )
    };
    for away in 0..LEVELS {
        let qty = 1 + random.next() % 1000;
        events.push(level(time, Side::Buy, bid - away, qty));
        let qty = 1 + random.next() % 1000;
        events.push(level(time, Side::Sell, bid + 1 + away, qty));
    }
    while events.len() < count {
        time += 1 + (random.next() % 2_000_000).cast_signed();
        let draw = random.next();
        let up = (draw >> 8) & 1 == 0;
        let side = if up { Side::Buy } else { Side::Sell };
        let qty = 1 + (draw >> 16) % 1000;
        match draw % 100 {
            0..85 => {
                let away = (draw >> 32) % LEVELS;
                let price = if up { bid - away } else { bid + 1 + away };
                events.push(level(time, side, price, qty));
            }
            85..95 => events.push(event(
                time,
                Update::Trade {
                    aggressor: side,
                    price: Price(if up { bid + 1 } else { bid }),
                    qty: Qty(1 + qty % 50),
                },
            )),
            _ if up => {
                events.push(level(time, Side::Sell, bid + 1, 0));
                events.push(level(time, Side::Sell, bid + 1 + LEVELS, qty));
                events.push(level(time, Side::Buy, bid + 1 - LEVELS, 0));
                bid += 1;
                events.push(level(time, Side::Buy, bid, 1 + qty % 300));
            }
            _ => {
                events.push(level(time, Side::Buy, bid, 0));
                events.push(level(time, Side::Buy, bid - LEVELS, qty));
                events.push(level(time, Side::Sell, bid + LEVELS, 0));
                events.push(level(time, Side::Sell, bid, 1 + qty % 300));
                bid -= 1;
            }
        }
    }
    events.truncate(count);
    events
}

fn event(time: i64, update: Update) -> Event {
    Event {
        exchange_time: Timestamp(time),
        local_time: Timestamp(time + FEED_NANOS),
        visibility: Visibility::Both,
        update,
    }
}

/// A folder that is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        let path = std::env::temp_dir().join(format!("cambist-backtest-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for files");
        Self(path)
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes events as our own recording.
pub fn write_recording(path: &Path, grid: Grid, events: &[Event]) {
    let header = Header {
        market: "S1".to_owned(),
        grid,
    };
    let mut writer = EventWriter::begin(path, header, Limits::default()).expect("a recording");
    for event in events {
        writer.write(event).expect("written");
    }
    writer.finish().expect("finished");
}
