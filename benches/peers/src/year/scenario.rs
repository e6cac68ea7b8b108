//! A year of depth, made of two hours of a scenario's simulated traders: their book once a second, 20 levels a side. The
//! hours run forwards, then backwards, and so on, so that the price never jumps.

use std::path::Path;

use cambist_config::scenario::{Run, Scenario, built_in};
use cambist_core::{MarketSpec, Qty, VenueTime};
use cambist_market_data::segment::{Header, Limits as SegmentLimits, SnapshotWriter};
use cambist_market_data::{Grid, Level, Snapshot, Timestamp};
use cambist_venue::DepthRow;
use cambist_venue::agents::TradedMarket;

const SECOND: i64 = 1_000_000_000;
const LEVELS: u64 = 20;
/// 2024-01-01T00:00:00Z.
pub const ORIGIN: VenueTime = VenueTime::from_s(1_704_067_200);
/// Before the first snapshot the traders make a book.
const WARM_UP_MS: u64 = 30_000;

/// Plays a scenario and returns its depth of every second.
pub fn play(name: &str, seed: u64, seconds: u64, spec: &MarketSpec) -> Vec<Snapshot> {
    let source = built_in(name).expect("a built-in scenario");
    let run = Run {
        seed,
        duration_ms: seconds * 1_000,
    };
    let scenario = Scenario::parse(&source, std::slice::from_ref(spec), run).expect("a scenario");
    let traders = scenario.traders.into_iter().map(|traders| traders.agents);
    let mut market = TradedMarket::open(spec, traders, ORIGIN).expect("an exchange");
    let rows = (0..seconds).map(|second| {
        market.play_until(ORIGIN.plus_ms(WARM_UP_MS + second * 1_000));
        depth(&market, spec)
    });
    rows.collect()
}

fn depth(market: &TradedMarket, spec: &MarketSpec) -> Snapshot {
    let view = market.depth(LEVELS).expect("the exchange shows its depth");
    let levels = |rows: &[DepthRow]| {
        let levels = rows.iter().map(|row| Level {
            price: row.price,
            qty: Qty(u64::try_from(row.size / spec.lot).expect("a quantity")),
        });
        levels.filter(|level| level.qty.0 > 0).collect()
    };
    Snapshot {
        exchange_time: Timestamp(0),
        local_time: Timestamp(0),
        sequence: 0,
        bids: levels(&view.bids),
        asks: levels(&view.asks),
    }
}

/// Writes so many seconds as a recording.
pub fn record(path: &Path, played: &[Snapshot], seconds: u64, grid: Grid) {
    let header = Header {
        market: "ETH-USDC".to_owned(),
        grid,
    };
    let mut writer =
        SnapshotWriter::begin(path, header, SegmentLimits::default()).expect("a recording");
    let mut row = Snapshot::default();
    for second in 0..seconds {
        let length = played.len() as u64;
        let (round, at) = (second / length, second % length);
        let at = if round % 2 == 0 { at } else { length - 1 - at };
        row.copy_from(&played[usize::try_from(at).expect("few")]);
        row.exchange_time = Timestamp((ORIGIN.as_s() + second).cast_signed() * SECOND);
        row.local_time = row.exchange_time;
        row.sequence = second;
        writer.write(&row).expect("written");
    }
    writer.finish().expect("finished");
}
