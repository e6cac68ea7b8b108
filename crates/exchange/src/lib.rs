//! The exchange as it is set up: its configuration file, the keys of its market maker, its data folder, and from
//! these a machine with accounts, pools and simulated traders.

pub mod account_export;
pub mod config;
pub mod data;
pub mod keys;
pub mod kraken_keys;
pub mod setup;

#[cfg(test)]
#[path = "../../host/src/testing.rs"]
mod testing;
