//! A scenario as data: the traders of a scenario on an exchange of their own, whose depth is read at equal
//! distances.

use anyhow::anyhow;
use cambist_config::reader::Source;
use cambist_config::scenario::{Run, Scenario};
use cambist_core::{MarketId, MarketSpec, VenueTime};
use cambist_exchange::config::scenario as files;
use cambist_market_data::segment::ReadOptions;
use cambist_market_data::supplied::{Supplied, Supply};
use cambist_market_data::{Defect, Level, Recording, Snapshot, Timestamp};
use cambist_venue::DepthRow;
use cambist_venue::agents::TradedMarket;
use std::path::Path;

use super::prepare::own_grid;
use crate::exit::{Exit, Failure};

/// Between two snapshots.
const INTERVAL_MS: u64 = 250;
/// When scenarios begin: 2024-01-01T00:00:00Z.
const ORIGIN: VenueTime = VenueTime::from_s(1_704_067_200);
/// Before the first snapshot the traders make a book.
const WARM_UP_MS: u64 = 30_000;
/// Levels a side of a snapshot.
const LEVELS: u64 = 50;

/// Which scenario is played, for how long, from which seed.
#[derive(Clone, Copy, Debug)]
pub struct Play<'a> {
    /// Its name, or the path of its file.
    pub name: &'a str,
    /// How long.
    pub duration_ms: u64,
    /// Same seed, same market.
    pub seed: u64,
}

/// The text of a scenario of this name or path.
pub fn source(name: &str) -> anyhow::Result<Source> {
    let Some(source) = files::source(name, Path::new("")) else {
        let what = format!(
            "no scenario is called {name:?}; there are {}, and paths of files such as ./mine.toml",
            files::names()
        );
        return Err(Failure::new(Exit::Usage, what).into());
    };
    Ok(source?)
}

/// Plays a scenario for one market of a configuration.
pub fn open(play: Play<'_>, spec: &MarketSpec, options: ReadOptions) -> anyhow::Result<Recording> {
    let source = source(play.name)?;
    let own = MarketSpec {
        id: MarketId(0),
        ..spec.clone()
    };
    let run = Run {
        seed: play.seed,
        duration_ms: play.duration_ms,
    };
    let scenario = Scenario::parse(&source, std::slice::from_ref(&own), run)?;
    let grid = own_grid(&own).ok_or_else(|| anyhow!("market {}: its units", own.name))?;
    let market = ScenarioMarket::new(&own, scenario, &play)
        .map_err(|what| anyhow!("{}: {what}", source.path.display()))?;
    Ok(Recording::Snapshots(Box::new(Supplied::new(
        market, grid, options,
    ))))
}

/// The depth of a scenario's market, at equal distances.
struct ScenarioMarket {
    name: String,
    lot: u128,
    market: TradedMarket,
    next: VenueTime,
    end: VenueTime,
    rows: u64,
}

impl ScenarioMarket {
    fn new(spec: &MarketSpec, scenario: Scenario, play: &Play<'_>) -> Result<Self, String> {
        // Pools are not recorded, and no simulated trader uses one here.
        let traders = scenario.traders.into_iter().map(|traders| traders.agents);
        Ok(Self {
            name: format!("scenario {}", play.name),
            lot: spec.lot,
            market: TradedMarket::open(spec, traders, ORIGIN)?,
            next: ORIGIN.plus_ms(WARM_UP_MS),
            end: ORIGIN.plus_ms(WARM_UP_MS.saturating_add(play.duration_ms)),
            rows: 0,
        })
    }
}

impl Supply for ScenarioMarket {
    fn next(&mut self, row: &mut Snapshot) -> Result<Option<u64>, Defect> {
        if self.next > self.end {
            return Ok(None);
        }
        self.market.play_until(self.next);
        self.next = self.next.plus_ms(INTERVAL_MS);
        let view = self.market.depth(LEVELS).map_err(|refusal| {
            let what = format!("its exchange showed no depth: {refusal:?}");
            Defect::Format { what }
        })?;
        let levels = |rows: &[DepthRow]| {
            let levels = rows.iter().map(|row| Level {
                price: row.price,
                qty: cambist_core::Qty(u64::try_from(row.size / self.lot).unwrap_or(u64::MAX)),
            });
            levels.filter(|level| level.qty.0 > 0).collect()
        };
        let nanos = self.market.now().0.saturating_mul(1_000_000);
        let time = Timestamp(i64::try_from(nanos).unwrap_or(i64::MAX));
        *row = Snapshot {
            exchange_time: time,
            local_time: time,
            sequence: view.version,
            bids: levels(&view.bids),
            asks: levels(&view.asks),
        };
        self.rows += 1;
        Ok(Some(self.rows - 1))
    }

    fn file(&self) -> String {
        self.name.clone()
    }
}
