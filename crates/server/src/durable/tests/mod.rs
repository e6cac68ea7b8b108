//! Durability on a disk that loses unsynced data, tears writes and fails.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod archives;
mod copies;
mod damage;
mod dumps;
mod faults;
mod history;
mod missing;
mod model;
mod power;
mod upgrades;
