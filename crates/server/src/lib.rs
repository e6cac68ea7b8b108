//! The exchange's HTTP server: transport, keys, rate limits, signatures. It connects the state machine of
//! `cambist_venue` with the wire types of `cambist_protocol`.
//!
//! ```no_run
//! # async fn example(venue: cambist_venue::Venue) -> Result<(), Box<dyn std::error::Error>> {
//! use cambist_server::{Server, ServerConfig};
//! let server = Server::bind(&ServerConfig::new(([127, 0, 0, 1], 0).into()), venue, Vec::new())?;
//! println!("http://{}", server.local_addr());
//! server.run(std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! | endpoint | module |
//! |---|---|
//! | POST, GET, DELETE order · GET orders | `orders` |
//! | GET account · GET user/balances · POST apiKey · GET apiKey\* · GET storageId\* | `accounts` |
//! | GET depth · GET exchange/info, tokens, markets · GET timestamp\*, user/offchainFee\* | `public` |
//! | GET ext/v1/trades\*, ticker\*, candles\*, stream\* | `market_data` |
//! | POST transfer, user/withdrawals, account | `funds` |
//! | GET amm/pools, amm/balance, amm/user/transactions · POST amm/join, amm/exit | `pools` |
//!
//! \* outside the interface.
//!
//! A request passes `cambist_listener` (connections, slow clients) → `router` (paths, bodies, headers) → `dispatch`
//! (address, key, rate) → its endpoint's module (account, fields) → `signatures`, `authorisation` (outside the lock) →
//! `state_machine` (lock, venue, audit) → `responses` (the interface's types) → `durable` (with a data folder: the
//! answer waits for the sync of everything it depends on).
//!
//! The rules are in `docs/venue-rules.md`. Only `clock` reads clocks, and only `durable` uses files. There is no
//! matching, no strategy and no secret key here.

mod accounts;
pub mod admin;
mod api_keys;
pub(crate) mod authorisation;
mod browsers;
mod clock;
mod clock_watch;
mod config;
pub(crate) mod dispatch;
mod durable;
pub(crate) mod error_response;
mod funds;
pub(crate) mod in_process;
mod key_requests;
mod keys;
mod kraken;
mod limits;
mod market_data;
mod orders;
mod page;
mod pools;
mod public;
pub(crate) mod responses;
mod router;
mod server;
mod signatures;
mod state;
pub(crate) mod state_machine;

pub use crate::in_process::InProcess;
pub use crate::kraken::{KrakenConfig, KrakenKey, Permission, Tier};
pub use crate::state_machine::MachineError;
pub use api_keys::{API_KEY_BYTES_MIN, api_key_digest};
pub use cambist_listener::{BindError, check_address};
pub use clock::{Clock, Reading};
pub use config::{ConnectionLimits, Rate, RateLimits, ServerConfig};
pub use durable::{
    BackupFacts, DataError, DataFolder, DumpFacts, Durable, Earlier, Extent, Generation,
    HistoryRecord, MissingInputs, RecoveryFacts, Retention, VerifyFacts, backup, dump, load,
    read_history, restore, verify,
};
pub use server::{RunError, Server};
