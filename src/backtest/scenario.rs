//! A scenario as data: the traders of a scenario on an exchange of their own, whose depth is read at equal
//! distances.

use anyhow::anyhow;
use cambist_config::reader::Source;
use cambist_config::scenario::{Run, Scenario};
use cambist_core::{MarketId, MarketSpec, VenueTime};
use cambist_exchange::config::scenario as files;
use cambist_market_data::supplied::{Supplied, Supply};
use cambist_market_data::{Defect, Level, Recording, Snapshot, Timestamp, Tolerance};
use cambist_venue::agents::{Agents, AgentsConfig};
use cambist_venue::{
    AccountId, Caller, Compat, DepthRow, Limits, MarketConfig, Request, Response, TokenConfig,
    TokenKind, Venue, VenueConfig,
};
use std::path::Path;

use super::prepare::own_grid;
use crate::exit::{Exit, Failure};

/// Between two snapshots.
const INTERVAL_MS: u64 = 250;
/// When scenarios begin: 2024-01-01T00:00:00Z.
const ORIGIN: VenueTime = VenueTime::from_s(1_704_067_200);
/// Before the first snapshot the traders make a book.
const WARM_UP_MS: u64 = 30_000;
/// Accounts of traders are numbered from here.
const FIRST_TRADER: u32 = 1_000;
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
pub fn open(
    play: Play<'_>,
    spec: &MarketSpec,
    tolerance: Tolerance,
    max_gap_nanos: i64,
) -> anyhow::Result<Recording> {
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
        market,
        grid,
        tolerance,
        max_gap_nanos,
    ))))
}

/// An exchange with the traders of a scenario.
struct ScenarioMarket {
    name: String,
    market: String,
    lot: u128,
    venue: Venue,
    agents: Vec<Agents>,
    now: VenueTime,
    next: VenueTime,
    end: VenueTime,
    rows: u64,
}

impl ScenarioMarket {
    fn new(spec: &MarketSpec, scenario: Scenario, play: &Play<'_>) -> Result<Self, String> {
        let mut venue = Venue::new(config(spec)).map_err(|error| error.to_string())?;
        let mut agents = Vec::new();
        let mut first = FIRST_TRADER;
        for traders in scenario.traders {
            // Pools are not recorded, and no simulated trader uses one here.
            let config = AgentsConfig {
                pool: None,
                ..traders.agents
            };
            let accounts: Vec<_> = (first..).take(config.accounts()).map(AccountId).collect();
            first += u32::try_from(accounts.len()).unwrap_or(u32::MAX);
            for request in Agents::setup(&config, &accounts, &venue) {
                let answer = venue.handle(ORIGIN, &Caller::Operator, &request);
                answer.map_err(|refusal| format!("its traders' accounts: {refusal:?}"))?;
            }
            agents.push(Agents::new(config, &accounts));
        }
        Ok(Self {
            name: format!("scenario {}", play.name),
            market: spec.name.clone(),
            lot: spec.lot,
            venue,
            agents,
            now: ORIGIN,
            next: ORIGIN.plus_ms(WARM_UP_MS),
            end: ORIGIN.plus_ms(WARM_UP_MS.saturating_add(play.duration_ms)),
            rows: 0,
        })
    }

    /// Lets traders act until a time.
    fn play_until(&mut self, until: VenueTime) {
        while let Some(next) = self
            .agents
            .iter()
            .filter_map(Agents::next_wakeup)
            .min()
            .filter(|next| *next <= until)
        {
            self.now = next.max(self.now);
            self.venue.advance(self.now);
            self.step();
        }
        self.now = until.max(self.now);
        self.venue.advance(self.now);
        self.step();
    }

    fn step(&mut self) {
        for index in 0..self.agents.len() {
            for (caller, request) in self.agents[index].step(self.now, &self.venue) {
                // A refused trader tries again.
                _ = self.venue.handle(self.now, &caller, &request);
            }
        }
    }
}

impl Supply for ScenarioMarket {
    fn next(&mut self, row: &mut Snapshot) -> Result<Option<u64>, Defect> {
        if self.next > self.end {
            return Ok(None);
        }
        self.play_until(self.next);
        self.next = self.next.plus_ms(INTERVAL_MS);
        let request = Request::Depth {
            market: self.market.clone(),
            level: 0,
            limit: Some(LEVELS),
        };
        let answer = self.venue.handle(self.now, &Caller::Public, &request);
        let Ok(Response::Depth(view)) = answer else {
            let what = format!("its exchange showed no depth: {answer:?}");
            return Err(Defect::Format { what });
        };
        let levels = |rows: &[DepthRow]| {
            let levels = rows.iter().map(|row| Level {
                price: row.price,
                qty: cambist_core::Qty(u64::try_from(row.size / self.lot).unwrap_or(u64::MAX)),
            });
            levels.filter(|level| level.qty.0 > 0).collect()
        };
        let nanos = self.now.0.saturating_mul(1_000_000);
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

/// An exchange that lists one market.
fn config(spec: &MarketSpec) -> VenueConfig {
    let token = |token: &cambist_core::TokenSpec, number: u8| TokenConfig {
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
            // The histories of background traders are not used.
            internal_history_orders_max: 10,
            ..Limits::default()
        },
        fee_collector: AccountId(0),
        fee_collector_owner: [9; 20],
        first_account: AccountId(10),
        compat: Compat::Both,
        ..VenueConfig::default()
    }
}
