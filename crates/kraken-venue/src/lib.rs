//! Kraken's spot interface as a venue of the engine. Translation only: no HTTP, no clock, no decisions. Facts are those
//! of the published specification ("Spot REST API", Kraken, MIT licence).
//!
//! | module | what |
//! |---|---|
//! | [`order_key`] | names of orders |
//! | [`nonce`] | numbers of requests |
//! | [`seal`] | the bytes of an order |
//! | [`requests`] | all other requests |
//! | [`listing`] | assets and pairs as tokens and markets |
//! | [`answer`] | the frame of answers |
//! | [`reasons`] | texts of refusals |
//! | [`depth`], [`account`], [`orders`], [`fills`] | what answers hold |
//! | [`mod@rules`] | what the venue guarantees |
//! | [`amount`], [`json`] | figures, and a strict reader of documents |

pub mod account;
pub mod amount;
pub mod answer;
pub mod depth;
pub mod fills;
pub mod json;
pub mod listing;
pub mod nonce;
pub mod order_key;
pub mod orders;
pub mod reasons;
pub mod requests;
pub mod rules;
pub mod seal;

pub use listing::Listing;
pub use nonce::{NonceError, NonceSource};
pub use rules::{Settings, Tier, rules};
