//! End to end: the real program, real HTTP, real signatures, a real database. One binary, a module a
//! subject; every wait has an end.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod support;

mod auditor;
mod clients;
mod crash;
mod demo;
mod doctor;
mod hostile;
mod instances;
mod neighbours;
mod operator;
mod page;
mod panic;
mod paper;
mod provenance;
mod reasons;
mod reconciliation;
mod recovery;
mod replay;
mod results;
mod rooms;
mod secrets;
mod starts;
mod waiting;
