//! The engine against hand-written answers: one rule a test, without a simulated exchange.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod books;
mod bounds;
mod controls;
mod desk;
mod drain;
mod driver;
mod fence;
mod gaps;
mod gate;
mod hostile;
mod instances;
mod losses;
mod others;
mod pace;
mod people;
mod pool_desk;
mod pool_worth;
mod pools;
mod pricing;
mod quoting;
mod reasons;
mod recovery;
mod signed;
mod snapshot;
mod unwanted;
