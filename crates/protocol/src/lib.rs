//! Endpoint table, wire types and codes of the exchange interface.
//!
//! Pure conversions between bytes and values for both sides: requests, answers and routes. There is no HTTP, clock or
//! socket here, and no key is stored; curves and hashes are in `cambist-signing`.

pub mod code;
pub mod decode;
pub mod decode_pool;
mod depth_scan;
pub mod encode;
pub mod encode_funds;
pub mod encode_move;
pub mod endpoint;
pub mod json;
pub mod number;
pub mod openapi;
pub mod query;
pub mod wire;

pub use cambist_signing::Address;
pub use endpoint::{Endpoint, Method};
pub use json::{FromWire, Json, WireError};
