#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests stop at the first surprise"
)]
//! Tests of the rules in `docs/venue-rules.md`; every test names its rules.

mod administering;
mod delays;
mod depths;
mod determinism;
mod fills;
mod histories;
mod key_updates;
mod kraken;
mod model;
mod operating;
mod order_business;
mod order_checks;
mod pools;
mod price_bands;
mod properties;
mod random_history;
mod reading;
mod rules;
mod service_fees;
mod states;
mod submissions;
mod support;
