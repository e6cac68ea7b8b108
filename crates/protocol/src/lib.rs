//! Endpoint table, wire types and codes of the exchange interface.
//!
//! Pure: bytes in, values out and back. It serves both ends of the wire: the client takes addresses,
//! request bodies and the reading of answers from here, the venue its routes, the reading of requests
//! and the shape of answers. There is no HTTP, clock or socket here, and no key is held; curves and
//! hashes are `cambist-signing`'s.

pub mod code;
pub mod decode;
pub mod decode_pool;
pub mod encode;
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
