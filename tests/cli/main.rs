//! The program as a process: exit codes, messages, and the separation of stdout and stderr.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod kept;
mod new_strategy;
mod operator;
mod revision;
mod setup;
mod simulator;
mod support;
mod sweep;

mod kraken;

mod backtest;
mod backtest_file;
mod compare;
mod daemon;
mod data_files;
mod data_kinds;
mod demo;
mod depth;
mod documents;
mod tools;
mod usage;
