//! The world: engine, venue, network, store and time as one seeded event queue.
//!
//! One thread, no real time, no randomness outside the seed: the same configuration gives the same
//! trace, byte for byte. What the shell does with sockets and files in the program is done here with
//! numbers; the engine cannot tell the difference. Checks compare what the engine believes with what
//! the venue has after every step.
//!
//! Absent on purpose: HTTP, JSON, threads, sleeping, clocks, files.

mod adapter;
mod books;
mod checks;
mod conduct;
mod config;
mod daemon;
mod disk;
mod distort;
mod doubtful;
mod drawn;
mod exchange;
mod falls;
mod family;
mod kept;
mod knowledge;
mod limits;
mod loss;
mod market;
mod misreport;
mod network;
mod oracle;
mod outcome;
mod pool;
mod preset;
pub mod profit;
mod queue;
mod sealer;
mod shrink;
mod storms;
mod strict;
mod sweep;
mod tally;
mod trace;
mod trial;
mod trouble;
mod truth;
mod unquoted;
mod world;

pub use checks::Violation;
pub use config::{
    ClockConfig, CrashConfig, NetworkConfig, SeatConfig, StoreConfig, TroubleConfig, WeatherConfig,
    WorldConfig, WorldError,
};
pub use disk::{Disk, Durable, Intent};
pub use exchange::{Exchange, OWN_ACCOUNT};
pub use falls::FallsConfig;
pub use family::{Family, NoFamily};
pub use loss::Losses;
pub use network::{Fault, Network};
pub use outcome::{Counts, Outcome, run};
pub use sealer::Sealer;
pub use shrink::shrink;
pub use tally::Tally;
pub use trace::TraceHash;
pub use trial::Trial;
pub use trouble::Trouble;
pub use world::{Tap, World};
