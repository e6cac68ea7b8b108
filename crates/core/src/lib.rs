//! Types, the strategy trait and the engine of cambist.
//!
//! Pure: no code here reads a clock, a file, a socket or an environment variable, or handles JSON, keys or HTTP. Time
//! is an argument, requests are data, and the same engine value runs live, in replay and in simulation. A strategy
//! author needs one page of it: [`strategy`].

pub mod action;
pub mod books;
pub mod bound;
pub(crate) mod by_hash;
pub mod config;
pub mod control;
pub mod driver;
pub mod elsewhere;
pub mod engine;
pub mod event;
pub mod fence;
pub(crate) mod hashes;
pub mod inspection;
pub mod intent;
pub mod level;
pub mod limits;
pub(crate) mod list_scan;
pub mod market;
pub mod market_name;
pub mod math;
pub mod notification;
pub mod order;
pub mod pool;
pub mod portfolio;
pub mod postings;
pub mod reads;
pub mod reason;
pub mod reference;
pub mod reload;
pub mod request;
pub mod route;
pub(crate) mod scale;
pub mod shares;
pub mod sorted_map;
pub mod sorted_set;
pub mod strategy;
pub mod swap;
pub mod time;
pub mod token;
pub mod venue;
pub mod withheld;

pub use engine::Engine;
pub use intent::Intent;
pub use market::{MarketId, MarketSpec, Price, Qty, Side};
pub use market_name::MarketName;
pub use order::{ClientOrderId, Hash, OrderKind, OrderStatus, StrategyId};
pub use pool::{PoolSpec, PoolTransactionKind};
pub use reason::Reason;
pub use time::{Time, VenueTime};
pub use token::{Amount, TokenId, TokenSpec};
pub use venue::VenueRules;
pub use withheld::Withheld;
