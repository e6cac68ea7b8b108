//! A year of depth, made of two hours of a scenario's simulated traders: their book once a second, 20 levels a side. The
//! hours run forwards, then backwards, and so on, so that the price never jumps.

use std::path::Path;

use cambist_config::scenario::{Run, Scenario, built_in};
use cambist_core::{MarketSpec, Qty, TokenSpec, VenueTime};
use cambist_market_data::segment::{Header, Limits as SegmentLimits, SnapshotWriter};
use cambist_market_data::{Grid, Level, Snapshot, Timestamp};
use cambist_venue::agents::{Agents, AgentsConfig};
use cambist_venue::{
    AccountId, Caller, DepthRow, Limits, MarketConfig, Request, Response, TokenConfig, TokenKind,
    Venue, VenueConfig,
};

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
    let mut venue = Venue::new(config(spec)).expect("an exchange");
    let mut first = 1_000;
    let mut agents = Vec::new();
    for traders in scenario.traders {
        let config = AgentsConfig {
            pool: None,
            ..traders.agents
        };
        let accounts: Vec<_> = (first..).take(config.accounts()).map(AccountId).collect();
        first += u32::try_from(accounts.len()).expect("few");
        for request in Agents::setup(&config, &accounts, &venue) {
            venue
                .handle(ORIGIN, &Caller::Operator, &request)
                .expect("an account");
        }
        agents.push(Agents::new(config, &accounts));
    }
    let mut rows = Vec::new();
    let mut now = ORIGIN;
    for second in 0..seconds {
        let until = ORIGIN.plus_ms(WARM_UP_MS + second * 1_000);
        loop {
            let next = agents.iter().filter_map(Agents::next_wakeup).min();
            // Traders that have not acted yet are due since the beginning of time.
            let at = next.map_or(until, |next| next.max(now).min(until));
            now = at;
            venue.advance(at);
            for traders in &mut agents {
                for (caller, request) in traders.step(at, &venue) {
                    // A refused trader tries again.
                    _ = venue.handle(at, &caller, &request);
                }
            }
            if at == until {
                break;
            }
        }
        rows.push(depth(&mut venue, until, spec));
    }
    rows
}

fn depth(venue: &mut Venue, now: VenueTime, spec: &MarketSpec) -> Snapshot {
    let request = Request::Depth {
        market: spec.name.clone(),
        level: 0,
        limit: Some(LEVELS),
    };
    let Ok(Response::Depth(view)) = venue.handle(now, &Caller::Public, &request) else {
        panic!("the exchange shows its depth");
    };
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

fn config(spec: &MarketSpec) -> VenueConfig {
    let token = |token: &TokenSpec, number: u8| TokenConfig {
        spec: token.clone(),
        name: token.symbol.clone(),
        address: [number; 20],
        kind: TokenKind::Erc20,
        fast_withdraw_limit: token.maximum,
    };
    VenueConfig {
        exchange: [7; 20],
        deposit: [8; 20],
        tokens: vec![token(&spec.base, 1), token(&spec.quote, 2)],
        markets: vec![MarketConfig {
            name: spec.name.clone(),
            base: spec.base.id,
            quote: spec.quote.id,
            price_decimals: spec.price_decimals,
            aggregation_levels: 1,
            enabled: true,
            maker_fee_bips: 0,
            taker_fee_bips: 0,
            price_band: None,
        }],
        limits: Limits {
            internal_history_orders_max: 10,
            ..Limits::default()
        },
        fee_collector: AccountId(0),
        fee_collector_owner: [9; 20],
        first_account: AccountId(10),
        ..VenueConfig::default()
    }
}
