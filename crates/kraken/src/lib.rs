//! Kraken's spot REST interface without HTTP: signatures of requests, parameters, identifiers, times. Used by the
//! exchange where it serves that interface, and by the daemon's adapter (`crates/kraken-venue`) and client. Facts are
//! those of the published specification ("Spot REST API", Kraken, MIT licence).
//!
//! | module | what |
//! |---|---|
//! | [`sign`] | `API-Sign` |
//! | [`parameters`] | bodies (forms and JSON) and queries |
//! | [`id`] | identifiers of orders, trades, ledger entries |
//! | [`time`] | RFC 3339, seconds with decimals |

pub mod id;
mod json;
pub mod parameters;
pub mod sign;
pub mod time;
