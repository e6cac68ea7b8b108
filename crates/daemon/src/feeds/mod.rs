//! Public order books read over HTTP: for paper trading, and for recording them.
//!
//! Reads only: there is no key in here and nothing that sends a body (`cambist_client::PublicReader`).

mod decode;
mod live;
mod poll;

pub use live::LiveFeed;
pub use poll::{Arrival, Pollers, start};
