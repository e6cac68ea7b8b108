//! End to end: the program, HTTP, signatures and the database, nothing mocked. One binary with a module per subject;
//! every wait has a time limit.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod support;

mod account;
mod auditor;
mod clients;
mod crash;
mod demo;
mod doctor;
mod documents;
mod evm;
mod faults;
mod hostile;
mod instances;
mod kraken;
mod kraken_daemon;
mod messages;
mod neighbours;
mod onboarding;
mod operator;
mod outage;
mod over_venues;
mod page;
mod panic;
mod paper;
mod parameters;
mod parity;
mod portfolio;
mod portfolio_guide;
mod process_strategies;
mod provenance;
mod reasons;
mod reconciliation;
mod recovery;
mod reference_feeds;
mod replay;
mod results;
mod rooms;
mod secrets;
mod shadow;
mod signer;
mod starts;
mod timeline;
mod waiting;
mod why;
mod words;
mod write_ahead;
