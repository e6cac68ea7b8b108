//! Kraken's spot interface as a venue of the engine. Translation only: no HTTP, no clock, no decisions.

pub mod order_key;
