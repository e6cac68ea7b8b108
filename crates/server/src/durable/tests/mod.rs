//! Durability against a disk that loses, tears, fails and lies.
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
