//! Public order books read over HTTP, for paper trading, recording and reference prices.
//!
//! Reads only: there are no keys and no requests with a body (`cambist_client::PublicReader`).

mod decode;
mod error;
mod freshness;
mod live;
mod poll;
mod price_level;
mod reference;
mod run_time;

pub use decode::Book;
pub use error::{FeedError, FeedErrorKind};
pub use live::LiveFeed;
pub use poll::{Arrival, Arrivals, BookArrival, Poller, Pollers, start};
pub use reference::ReferenceReader;
pub use run_time::{ClockSteps, RunTime, wall};
