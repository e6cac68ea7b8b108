//! Kraken's spot interface as a venue of the engine. Translation only: no HTTP, no clock, no decisions. Facts are those
//! of the published specification ("Spot REST API", Kraken, MIT licence).
//!
//! | module | what |
//! |---|---|
//! | [`order_key`] | names of orders |
//! | [`nonce`] | numbers of requests |
//! | [`seal`] | the bytes of an order |
//! | [`listing`] | assets and pairs as tokens and markets |
//! | [`reasons`] | texts of refusals |
//! | [`json`] | a strict reader of answers |

pub mod json;
pub mod listing;
pub mod nonce;
pub mod order_key;
pub mod reasons;
pub mod seal;

pub use listing::Listing;
pub use nonce::{NonceError, NonceSource};
