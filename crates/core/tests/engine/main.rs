//! The engine against hand-written answers: one rule a test, without a simulated exchange.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod bench;
mod books;
mod bounds;
mod commands;
mod controls;
mod drain;
mod driver;
mod fence;
mod foreign_orders;
mod gaps;
mod gate;
mod hostile;
mod instances;
mod losses;
mod pace;
mod parameters;
mod pool_bench;
mod pool_worth;
mod pools;
mod pricing;
mod quoting;
mod reads;
mod reasons;
mod recovery;
mod restrictions;
mod signed;
mod signer;
mod snapshot;
mod status;
mod strategies;
mod swaps;
mod timing;
mod traded;
mod unwanted;
mod venue_rules;
