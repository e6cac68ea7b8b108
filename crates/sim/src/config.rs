//! What a world is made from. Integers throughout; probabilities are per 10,000.

use std::collections::BTreeSet;

use cambist_core::config::EngineConfig;
use cambist_core::event::Amounts;
use cambist_core::market::MarketError;
use cambist_core::{Amount, MarketId, VenueTime};
use cambist_strategies::ParamError;
use cambist_venue::agents::AgentsConfig;
use cambist_venue::{ConfigError, VenueConfig};
use serde::{Deserialize, Serialize};

use crate::faults::kinds::FaultKind;
use crate::profiles::control_loss::ControlLossConfig;
use crate::sealer::Sealer;

/// What a probability is a part of.
pub(crate) const PARTS: u64 = 10_000;

/// A strategy at a market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatConfig {
    /// Its name in the registry.
    pub strategy: String,
    /// Its parameters as TOML text.
    pub parameters: String,
    /// The market it quotes, by its place in [`WorldConfig::markets`].
    pub market: MarketId,
    /// What it needs of the base token for an order a side: with less it cannot quote both.
    pub order_base: Amount,
}

/// How messages travel. Every probability is per 10,000 messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkConfig {
    /// Shortest way, one direction.
    pub latency_min_ms: u64,
    /// Longest way, one direction, unless a message is delayed.
    pub latency_max_ms: u64,
    /// The connection is refused: provably nothing left.
    pub not_sent: u32,
    /// The request is lost before the venue sees it.
    pub loss_before: u32,
    /// The answer is lost after the venue has acted.
    pub loss_after: u32,
    /// The answer arrives, but cannot be understood.
    pub garbled: u32,
    /// The venue gets the request twice.
    pub duplicate: u32,
    /// A message is delayed by up to `reorder_ms` and overtaken by later ones.
    pub reorder: u32,
    /// Longest delay of an overtaken message.
    pub reorder_ms: u64,
    /// Refused for its rate, unprocessed (429).
    pub limited: u32,
    /// A gateway answers 5xx; in half of all cases the venue has acted.
    pub server_error: u32,
    /// A redirect that leads elsewhere.
    pub redirect: u32,
}

impl NetworkConfig {
    /// The same ways without any fault.
    #[must_use]
    pub const fn calm(&self) -> Self {
        Self {
            latency_min_ms: self.latency_min_ms,
            latency_max_ms: self.latency_max_ms,
            not_sent: 0,
            loss_before: 0,
            loss_after: 0,
            garbled: 0,
            duplicate: 0,
            reorder: 0,
            reorder_ms: 0,
            limited: 0,
            server_error: 0,
            redirect: 0,
        }
    }
}

/// How the store behaves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreConfig {
    /// Shortest time to seal a batch and sync it.
    pub seal_min_ms: u64,
    /// Longest time to seal a batch and sync it.
    pub seal_max_ms: u64,
    /// Fills and ends that no seal has carried to the disk are synced after this.
    pub flush_ms: u64,
    /// From a crash to the next start.
    pub restart_ms: u64,
}

/// When the daemon dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashConfig {
    /// Mean time from one to the next; 0 never.
    pub mean_ms: u64,
    /// It dies before one of this many further actions, so that it may be in the middle of a step.
    pub actions_max: u64,
}

/// When faults happen: storms come and go, so that there is healthy time between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultScheduleConfig {
    /// Mean quiet between storms; 0 is one long storm.
    pub quiet_ms: u64,
    /// Mean length of a storm.
    pub storm_ms: u64,
}

/// Troubles that begin in storms and last a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultKindConfig {
    /// Which there are.
    pub kinds: BTreeSet<FaultKind>,
    /// Mean time from one to the next in a storm.
    pub mean_ms: u64,
    /// Longest one.
    pub length_max_ms: u64,
}

/// How the clocks differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockConfig {
    /// The venue's clock when the world begins.
    pub venue_origin: VenueTime,
    /// The engine's monotonic clock when the world begins, in microseconds; every restart begins
    /// elsewhere.
    pub engine_origin_us: u64,
    /// How much faster than the venue's clock the engine's runs, in parts per million.
    pub engine_drift_ppm: i32,
}

/// Everything a world is told once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorldConfig {
    /// Everything random comes from this.
    pub seed: u64,
    /// Market making for this long, before the ending.
    pub duration_ms: u64,
    /// The daemon starts this long after the background traders.
    pub start_ms: u64,
    /// The exchange.
    pub venue: VenueConfig,
    /// Background traders, a population per market.
    pub agents: Vec<AgentsConfig>,
    /// Names of the markets traded, in the order of the engine's configuration.
    pub markets: Vec<String>,
    /// Strategies, in the order of their ids.
    pub seats: Vec<SeatConfig>,
    /// The engine.
    pub engine: EngineConfig,
    /// Some of its limits are so tight that they bite, now and then until the faults end.
    pub tight: bool,
    /// What the account holds at the beginning.
    pub funds: Amounts,
    /// How messages travel.
    pub network: NetworkConfig,
    /// How the store behaves.
    pub store: StoreConfig,
    /// When the daemon dies.
    pub crash: CrashConfig,
    /// When the market does its worst at that moment.
    pub falls: ControlLossConfig,
    /// When faults happen.
    pub weather: FaultScheduleConfig,
    /// Troubles of venue, disk, clock and operator.
    pub troubles: FaultKindConfig,
    /// How the clocks differ.
    pub clock: ClockConfig,
    /// How orders are hashed.
    pub sealer: Sealer,
    /// The venue's books are audited in full every so many steps; 0 only at the end.
    pub audit_steps: u64,
}

/// Why a configuration is no world.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The exchange cannot be made.
    #[error("venue: {0}")]
    Venue(#[from] ConfigError),
    /// A market is not listed at the venue.
    #[error("market {0} is not listed")]
    Unlisted(String),
    /// A market cannot be traded with exact amounts.
    #[error("{0}")]
    Market(#[from] MarketError),
    /// A strategy is not in the registry.
    #[error("strategy {0} is not known")]
    Strategy(String),
    /// A strategy's parameters are not TOML.
    #[error("strategy {name}: {problem}")]
    Table {
        /// The strategy.
        name: String,
        /// The parser's words.
        problem: String,
    },
    /// A strategy refuses its parameters.
    #[error("strategy {name}: {problem}")]
    Parameters {
        /// The strategy.
        name: String,
        /// What is wrong.
        problem: ParamError,
    },
    /// The engine has limits for another number of markets, or a seat is at none of them.
    #[error("{markets} markets, but limits for {limits}, or a seat elsewhere")]
    Markets {
        /// Markets named.
        markets: usize,
        /// Markets with limits.
        limits: usize,
    },
    /// The exchange refused to set an account up.
    #[error("setting up accounts: {0}")]
    Setup(#[from] cambist_venue::Refusal),
}
