//! Backtests: what the command line and the configuration say becomes a run of `cambist-backtest`, and its
//! results become files.

pub mod arguments;
pub mod compare;
pub mod daemon_account;
mod flat;
pub mod inputs;
pub mod no_rows;
pub mod prepare;
pub mod processes;
pub mod recorded_run;
pub mod results;
pub mod scenario;
pub mod simulated;
pub mod skip;
pub mod table;
pub mod tape;
pub mod text;
