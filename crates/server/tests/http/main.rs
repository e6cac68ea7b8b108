//! The server over real HTTP, from the socket to the venue.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod admin;
mod backup;
mod checks;
mod clocks;
mod crash;
mod forms;
mod funds;
mod golden;
mod hostile;
mod kept;
mod kraken;
mod market_data;
mod openapi;
mod pairs;
mod path;
mod pools;
mod population;
mod rates;
mod raw;
mod rules;
mod signatures;
mod support;
mod trace;
