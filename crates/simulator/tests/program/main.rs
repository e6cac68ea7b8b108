//! The program `cambist-simulator` as a process.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod campaign;
mod support;
mod tournament;
