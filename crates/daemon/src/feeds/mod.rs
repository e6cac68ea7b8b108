//! Public order books read over HTTP, for paper trading and recording.
//!
//! Reads only: there are no keys and no requests with a body (`cambist_client::PublicReader`).

mod decode;
mod live;
mod poll;

pub use decode::Book;
pub use live::LiveFeed;
pub use poll::{Arrival, BookArrival, Pollers, start, wall};
