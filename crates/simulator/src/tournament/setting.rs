//! Where a game is played: the exchange of `config/venue.toml` with the traders of a scenario, the daemon's configuration,
//! the account's funds, and the network.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, anyhow};
use cambist::backtest::prepare::bound_without_venue;
use cambist::backtest::scenario::source;
use cambist::exit::{Exit, Failure};
use cambist_config::ConfigError;
use cambist_config::reader::Source;
use cambist_config::scenario::{Run, Scenario};
use cambist_core::{Amount, MarketId};
use cambist_daemon::config::Daemon;
use cambist_exchange::config::Exchange;
use cambist_exchange::setup;
use cambist_sim::tournament::{Contestant as Player, Game};
use cambist_sim::{NetworkConfig, SeatConfig, WorldConfig};
use cambist_venue::agents::AgentsConfig;
use sha2::{Digest, Sha256};
use toml::{Table, Value};

use crate::tournament::contestants::{Contestant, Rules};

/// The exchange.
const VENUE: &str = include_str!("../../../../config/venue.toml");
/// The daemon's configuration, unless another is given.
pub const DAEMON: &str = include_str!("../../../../config/tournament.toml");

/// Base tokens of the account at the beginning.
pub const OPENING_ETH: i64 = 10;
/// Quote tokens of the account at the beginning: as much at the scenarios' first price.
pub const OPENING_USDC: i64 = 25_000;
/// The maker starts so long after the traders.
pub const START_MS: u64 = 5_000;

/// The network of every game: one request in two hundred and one answer in a hundred are lost, one message in two
/// hundred is late by up to 8 s.
const NETWORK: NetworkConfig = NetworkConfig {
    latency_min_ms: 5,
    latency_max_ms: 40,
    not_sent: 50,
    loss_before: 50,
    loss_after: 100,
    garbled: 0,
    duplicate: 0,
    reorder: 50,
    reorder_ms: 8_000,
    limited: 0,
    server_error: 50,
    redirect: 0,
};

/// The same in words.
pub const NETWORK_TEXT: &str = "5 to 40 ms each way; of 10,000 requests 50 do not leave, 50 are lost, 50 end in an error of a gateway; of 10,000 answers 100 are lost; of 10,000 messages 50 are late by up to 8 s";

/// A market to play.
pub struct Market {
    /// The scenario's name or path.
    pub name: String,
    /// Its description.
    pub about: String,
    source: Source,
    duration_ms: u64,
    exchange: Exchange,
}

impl Market {
    /// Reads a scenario by name or path.
    pub fn read(name: &str, duration_ms: u64) -> anyhow::Result<Self> {
        let source = source(name)?;
        let venue = Source {
            path: "config/venue.toml".into(),
            text: VENUE.to_owned(),
        };
        let exchange = Exchange::parse(&venue)?;
        let run = Run {
            seed: 0,
            duration_ms,
        };
        let scenario = Scenario::parse(&source, &exchange.markets, run)?;
        Ok(Self {
            name: name.to_owned(),
            about: scenario.about,
            source,
            duration_ms,
            exchange,
        })
    }
}

/// A contestant at a market: everything but the seed.
pub struct Pairing {
    world: WorldConfig,
    player: Player,
    source: Source,
    exchange: Exchange,
    /// Hash of everything that a game depends on beside the seed and the program.
    pub inputs: String,
}

impl Pairing {
    /// Prepares a contestant for a market.
    pub fn new(market: &Market, contestant: &Contestant, daemon: &Source) -> anyhow::Result<Self> {
        let (world, player) = world(market, contestant, daemon)
            .with_context(|| format!("{} at {}", contestant.name, market.name))?;
        let mut digest = Sha256::new();
        // The world holds all of it; its text is the same on every platform.
        for part in [
            market.source.text.as_str(),
            VENUE,
            &format!("{world:?}"),
            &format!("{player:?}"),
        ] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        let digest = digest.finalize();
        let inputs = digest[..8].iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Ok(Self {
            world,
            player,
            source: market.source.clone(),
            exchange: market.exchange.clone(),
            inputs,
        })
    }

    /// The game of a seed.
    pub fn game(&self, seed: u64) -> anyhow::Result<Game> {
        let mut world = WorldConfig {
            seed,
            ..self.world.clone()
        };
        let run = Run {
            seed,
            duration_ms: world.duration_ms,
        };
        let scenario = Scenario::parse(&self.source, &self.exchange.markets, run)?;
        populate(&mut world, scenario)?;
        Ok(Game {
            world,
            contestant: self.player.clone(),
        })
    }
}

/// Puts the traders of a scenario and the opening of its pool into a world.
fn populate(world: &mut WorldConfig, scenario: Scenario) -> anyhow::Result<()> {
    let traders = scenario.traders.into_iter().next();
    let traders = traders.ok_or_else(|| anyhow!("the scenario has no traders"))?;
    let seat = world.pool_seat(traders.agents.market);
    world.liquidity = vec![traders.pool];
    world.agents = vec![AgentsConfig {
        pool: seat,
        ..traders.agents
    }];
    Ok(())
}

fn world(
    market: &Market,
    contestant: &Contestant,
    daemon: &Source,
) -> anyhow::Result<(WorldConfig, Player)> {
    // Errors of the file itself have their places in it.
    Daemon::parse(daemon)?;
    let mut file: Table = daemon.text.parse().context("the daemon's file")?;
    let markets = file.get_mut("market").and_then(Value::as_array_mut);
    let tables = markets
        .into_iter()
        .flatten()
        .filter_map(Value::as_table_mut);
    let mut seats = Vec::new();
    for table in tables {
        // The engine's part is not used by a maker without it, but has to be valid: as a whole, its pool included.
        let Rules::Engine { strategies, pool } = &contestant.rules else {
            continue;
        };
        table.insert("strategy".to_owned(), Value::Array(strategies.clone()));
        if !pool {
            table.remove("pool");
        }
        for strategy in strategies {
            seats.push(seat(strategy)?);
        }
    }
    let source = Source {
        path: daemon.path.clone(),
        text: toml::to_string(&file)?,
    };
    let bound = Daemon::parse(&source).map_err(anyhow::Error::new);
    let mut bound = bound
        .and_then(|daemon| bound_without_venue(&daemon))
        .map_err(|error| without_places(error, &daemon.path))?;
    anyhow::ensure!(
        bound.markets.len() == 1,
        "the daemon's file must have one market"
    );
    let spec = &bound.markets[0];
    let whole = |decimals: u8, amount: i64| -> anyhow::Result<Amount> {
        Ok(10u128.pow(decimals.into()) * u128::try_from(amount)?)
    };
    let player = match &contestant.rules {
        Rules::Engine { .. } => Player::Engine,
        Rules::Constant(rules) => {
            bound.engine.pools.clear();
            let mut rules = rules.clone();
            rules.timeout_ms = bound.engine.request_timeout_ms;
            Player::ConstantSpread(rules)
        }
    };
    let mut venue = setup::config(&market.exchange)?;
    // The histories of simulated traders are never read.
    venue.limits.internal_history_orders_max = 10;
    let listed = market
        .exchange
        .markets
        .iter()
        .find(|one| one.name == spec.name);
    let listed = listed.ok_or_else(|| anyhow!("the exchange does not list {}", spec.name))?;
    let world = WorldConfig {
        duration_ms: market.duration_ms,
        start_ms: START_MS,
        venue,
        rules: bound.venue.clone(),
        agents: Vec::new(),
        markets: vec![spec.name.clone()],
        seats,
        funds: [
            (listed.base.id, whole(listed.base.decimals, OPENING_ETH)?),
            (listed.quote.id, whole(listed.quote.decimals, OPENING_USDC)?),
        ]
        .into(),
        engine: bound.engine,
        network: NETWORK,
        audit_steps: 0,
        ..WorldConfig::calm(0, "")
    };
    Ok((world, player))
}

/// The error without the places of the text that was made of the file.
fn without_places(error: anyhow::Error, path: &Path) -> anyhow::Error {
    let Some(refused) = error.downcast_ref::<ConfigError>() else {
        return error;
    };
    let what = format!(
        "{}, with the strategies of this contestant: {}",
        path.display(),
        refused.reasons()
    );
    Failure::new(Exit::Refused, what).into()
}

fn seat(strategy: &Value) -> anyhow::Result<SeatConfig> {
    let name = strategy.get("name").and_then(Value::as_str);
    let params = strategy.get("params").and_then(Value::as_table);
    Ok(SeatConfig {
        strategy: name.context("a strategy without a name")?.to_owned(),
        parameters: toml::to_string(params.unwrap_or(&Table::new()))?,
        market: MarketId(0),
        order_base: 0,
        reads: Vec::new(),
    })
}
