//! The simulated world: engine, venue, network, store and time as one seeded event queue.
//!
//! One thread, no real time, no randomness outside the seed: the same configuration gives the same trace, byte for
//! byte. The shell's sockets and files are replaced by a simulation, without a difference for the engine. After every
//! step, checks compare the engine's state with the venue's.
//!
//! Absent on purpose: HTTP, JSON, threads, sleeping, clocks, files.

pub(crate) mod campaign;
pub(crate) mod chain;
mod config;
pub mod conformance;
mod daemon;
mod exchange;
pub(crate) mod faults;
mod gateway;
pub(crate) mod invariants;
mod kept;
pub mod kraken;
mod oracle;
mod portfolio;
pub(crate) mod profiles;
mod queue;
mod remote;
mod sealer;
pub mod sequenced;
pub mod tournament;
mod trace;
pub(crate) mod venue_adapter;
pub(crate) mod workload;
mod world;

pub use crate::campaign::aggregate::Aggregate;
pub use crate::campaign::outcome::{Counts, Outcome, run};
pub use crate::campaign::seed_run::{SeedRun, SimulatedVenue, Watch};
pub use crate::campaign::shrink::shrink;
pub use crate::faults::disk::{Disk, Durable, Intent};
pub use crate::faults::family::{Family, NoFamily};
pub use crate::faults::kinds::FaultKind;
pub use crate::faults::network::{Fault, Network};
pub use crate::invariants::checks::Violation;
pub use crate::invariants::stated_loss::Losses;
pub use crate::invariants::table::Invariant;
pub use crate::profiles::control_loss::ControlLossConfig;
pub use chain::ChainCounts;
pub use config::{
    Before, ChainConfig, ChainFaultsConfig, ClockConfig, CrashConfig, FaultKindConfig,
    FaultScheduleConfig, KrakenConfig, NetworkConfig, RangeConfig, SeatConfig, StoreConfig,
    WorldConfig, WorldError,
};
pub use exchange::{Exchange, OWN_ACCOUNT};
pub use portfolio::PortfolioWorld;
pub use remote::Remote;
pub use sealer::{OWN_KEY, Sealer};
pub use trace::TraceHash;
pub use world::{Tap, World};
