//! The configuration of a simulated world. Integers throughout; probabilities are per 10,000.

use std::collections::BTreeSet;

use cambist_core::config::EngineConfig;
use cambist_core::event::Amounts;
use cambist_core::market::MarketError;
use cambist_core::reference::ReferenceSource;
use cambist_core::{Amount, MarketId, VenueRules, VenueTime};
use cambist_strategies::ParamError;
use cambist_venue::agents::AgentsConfig;
use cambist_venue::{ConfigError, VenueConfig};
use serde::{Deserialize, Serialize};

use crate::faults::kinds::FaultKind;
use crate::profiles::control_loss::ControlLossConfig;
use crate::sealer::Sealer;

/// Denominator of probabilities.
pub(crate) const PARTS: u64 = 10_000;

/// A strategy at a market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatConfig {
    /// Its name in the registry.
    pub strategy: String,
    /// Its parameters as TOML text.
    pub parameters: String,
    /// The market it quotes, by its index in [`WorldConfig::markets`].
    pub market: MarketId,
    /// Amount of the base token it needs for one order a side: with less it cannot quote both sides.
    pub order_base: Amount,
    /// Names of other markets that it reads, and without whose mids it quotes nothing.
    #[serde(default)]
    pub reads: Vec<String>,
}

/// Latency and faults of messages. Every probability is per 10,000 messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkConfig {
    /// Shortest latency, one direction.
    pub latency_min_ms: u64,
    /// Longest latency, one direction, unless a message is delayed.
    pub latency_max_ms: u64,
    /// The connection is refused: provably no byte was sent.
    pub not_sent: u32,
    /// The request is lost before it reaches the venue.
    pub loss_before: u32,
    /// The answer is lost after the venue has processed the request.
    pub loss_after: u32,
    /// The answer arrives, but cannot be decoded.
    pub garbled: u32,
    /// The venue receives the request twice.
    pub duplicate: u32,
    /// A message is delayed by up to `reorder_ms`, so that later ones overtake it.
    pub reorder: u32,
    /// Longest additional delay.
    pub reorder_ms: u64,
    /// Refused because of a rate limit, unprocessed (429).
    pub limited: u32,
    /// A gateway answers with 5xx; in half of all cases the venue has processed the request.
    pub server_error: u32,
    /// A redirect to another address.
    pub redirect: u32,
}

impl NetworkConfig {
    /// The same latencies without faults.
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

/// Timing of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreConfig {
    /// Shortest time to seal a batch and sync it.
    pub seal_min_ms: u64,
    /// Longest time to seal a batch and sync it.
    pub seal_max_ms: u64,
    /// Fills and ends that no seal has synced are synced after this time.
    pub flush_ms: u64,
    /// Time from a crash to the next start.
    pub restart_ms: u64,
}

/// Crashes of the daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashConfig {
    /// Mean time between crashes; 0 means never.
    pub mean_ms: u64,
    /// The crash comes before one of this many further actions, so that it may be within a step.
    pub actions_max: u64,
}

/// Fault schedule: periods with faults alternate with periods without, in which the daemon can be healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultScheduleConfig {
    /// Mean length of a period without faults; 0 means one long period with faults.
    pub fault_free_ms: u64,
    /// Mean length of a period with faults.
    pub fault_period_ms: u64,
}

/// Faults that start in periods with faults and last for some time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultKindConfig {
    /// The kinds that occur.
    pub kinds: BTreeSet<FaultKind>,
    /// Mean time between two of them, within a period with faults.
    pub mean_ms: u64,
    /// Longest duration.
    pub length_max_ms: u64,
}

/// Differences of the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockConfig {
    /// The venue's clock at the start.
    pub venue_origin: VenueTime,
    /// The engine's monotonic clock at the start, in microseconds; every restart has another origin.
    pub engine_origin_us: u64,
    /// Rate of the engine's clock relative to the venue's, in parts per million faster.
    pub engine_drift_ppm: i32,
}

/// An account of Kraken's interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KrakenConfig {
    /// How long after its creation an order is in no list and known by no name, in ms.
    pub list_lag_ms: u64,
    /// The counter of the key's calls: its maximum, and what is forgotten in a thousand seconds.
    pub calls: (u64, u64),
    /// The same for orders and cancels of each pair.
    pub trading: (u64, u64),
}

/// A chain of the model ([`chain`](crate::chain)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainConfig {
    /// Time between blocks, whole seconds in milliseconds.
    pub block_ms: u64,
    /// By how many blocks the finalized one lags behind the newest one.
    pub finality_blocks: u64,
    /// For how many blocks the finalized one does not rise at most, when it is stalled.
    pub stall_blocks_max: u64,
    /// Whether the protocol takes a fee of the pool.
    pub pays_protocol: bool,
    /// Most that is offered per gas, base units of the coin.
    pub fee_max: u128,
    /// What the account holds of the coin at the beginning, base units.
    pub coin: Amount,
    /// Faults of chain and nodes.
    pub faults: ChainFaultsConfig,
    /// The range of a V3 pool, where the pool is one; else it is a V2 pair.
    #[serde(default)]
    pub range: Option<RangeConfig>,
}

/// What the account holds in the configured range before the first start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Before {
    /// No position.
    #[default]
    Nothing,
    /// A position without liquidity.
    Empty,
    /// A position with liquidity.
    Filled,
}

/// A V3 pool of the model, and the configured range of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeConfig {
    /// The pool's fee, in millionths of what is sold to it.
    pub fee: u32,
    /// Ends of ranges are multiples of this.
    pub spacing: i32,
    /// The lower and the upper tick.
    pub ticks: [i32; 2],
    /// How far from the opening price others take a price for right, in ten-thousandths.
    pub reach_bps: u32,
    /// How fast that price moves, as a multiple.
    pub speed: u64,
    /// What the account holds in it at the beginning.
    pub before: Before,
}

/// Faults of a chain and of its nodes, in periods with faults. Every probability is per 10,000.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainFaultsConfig {
    /// Blocks that leave out what waits.
    pub withheld: u32,
    /// Waiting transactions that every node forgets, each block.
    pub dropped: u32,
    /// Blocks that are not made.
    pub missed: u32,
    /// Blocks after which the newest ones are replaced.
    pub reorganised: u32,
    /// Blocks after which the finalized one does not rise for a while.
    pub finality_stalled: u32,
    /// Blocks whose base fee is three times that before.
    pub dear: u32,
    /// Requests that reach a node which is behind, or follows replaced blocks.
    pub lagging: u32,
    /// How many blocks it is behind at most.
    pub lag_blocks_max: u64,
    /// Receipts that a node does not know although it has the block.
    pub receipts_missing: u32,
    /// Requests of one question that are not answered.
    pub unanswered: u32,
    /// Submits that a node refuses because its pool is full.
    pub pool_full: u32,
    /// Blocks after which the node follows another chain for a while, whose finalized blocks differ.
    pub forked: u32,
}

/// The configuration of a world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorldConfig {
    /// Seed of everything random.
    pub seed: u64,
    /// Duration of market making, milliseconds.
    pub duration_ms: u64,
    /// The daemon starts this long after the simulated traders.
    pub start_ms: u64,
    /// The exchange.
    pub venue: VenueConfig,
    /// The rules that the engine gets. Other rules than the exchange's put a gateway in front of it.
    pub rules: VenueRules,
    /// What distinguishes one account of Kraken's interface from another, where that is the venue.
    pub kraken: Option<KrakenConfig>,
    /// The chain, where that is the venue. The exchange then holds the listing, and nothing is traded there.
    pub chain: Option<ChainConfig>,
    /// Sources of reference prices: books of other places, which follow the price of the market.
    pub references: Vec<ReferenceSource>,
    /// What each pool of the venue holds at the beginning, base and quote units; one without an entry is empty.
    pub liquidity: Vec<Option<[Amount; 2]>>,
    /// Simulated traders, one population per market.
    pub agents: Vec<AgentsConfig>,
    /// Names of the markets traded, in the order of the engine's configuration.
    pub markets: Vec<String>,
    /// Strategies, in the order of their ids.
    pub seats: Vec<SeatConfig>,
    /// The only strategy is one of two legs: base that it may hold between them, and it orders only when both earn.
    pub open_leg_max: Option<Amount>,
    /// The engine.
    pub engine: EngineConfig,
    /// Whether some limits are so tight that they are reached, at intervals until the faults end.
    pub tight: bool,
    /// Whether the venue is one of a portfolio: while there are faults, limits over all venues are in force.
    #[serde(default)]
    pub portfolio: bool,
    /// Balances of the account at the start.
    pub funds: Amounts,
    /// Latency and faults of messages.
    pub network: NetworkConfig,
    /// Timing of the store.
    pub store: StoreConfig,
    /// Crashes of the daemon.
    pub crash: CrashConfig,
    /// Losses of control, at which the market moves against the daemon.
    pub falls: ControlLossConfig,
    /// Fault schedule.
    pub fault_schedule: FaultScheduleConfig,
    /// Faults of venue, disk, clock and operator.
    pub fault_kinds: FaultKindConfig,
    /// Differences of the clocks.
    pub clock: ClockConfig,
    /// How orders are hashed.
    pub sealer: Sealer,
    /// Steps between complete audits of the venue's books; 0 means only at the end.
    pub audit_steps: u64,
}

/// Why a configuration is invalid.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The exchange cannot be created.
    #[error("venue: {0}")]
    Venue(#[from] ConfigError),
    /// A market that the venue does not list.
    #[error("market {0} is not listed")]
    Unlisted(String),
    /// A market without exact amounts.
    #[error("{0}")]
    Market(#[from] MarketError),
    /// A strategy that is not in the registry.
    #[error("strategy {0} is not known")]
    Strategy(String),
    /// Parameters that are not TOML.
    #[error("strategy {name}: {problem}")]
    Table {
        /// The strategy.
        name: String,
        /// The parser's message.
        problem: String,
    },
    /// Parameters that the strategy refuses.
    #[error("strategy {name}: {problem}")]
    Parameters {
        /// The strategy.
        name: String,
        /// The error.
        problem: ParamError,
    },
    /// The number of limits differs from that of markets, or a strategy is at an unknown market.
    #[error("{markets} markets, but limits for {limits}, or a seat elsewhere")]
    Markets {
        /// Number of markets.
        markets: usize,
        /// Number of limits.
        limits: usize,
    },
    /// The exchange refused to create accounts.
    #[error("setting up accounts: {0}")]
    Setup(#[from] cambist_venue::Refusal),
}
