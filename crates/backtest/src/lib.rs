//! The trading engine on recorded market data.
//!
//! A [`Backtest`] runs the engine of live trading, unchanged, against a simulated exchange: the recorded market with
//! our account on it. The engine polls, seals and sends as it does live; between it and the exchange there are
//! latencies, rate limits and delays ([`Assumptions`]). `cambist-fill-model` decides which orders fill, from recorded
//! ticks or depth snapshots. Time is that of the recording, and everything random comes from one seed: equal inputs
//! give equal results.
//!
//! Absent on purpose: files, clocks, threads. Data is read through the traits of `cambist-market-data`; result rows are
//! written to a [`Sink`].

mod account;
mod advice;
mod assumptions;
mod chart;
pub mod compare;
mod curves;
mod data_defects;
mod data_warnings;
mod end_state;
mod engine_link;
mod engine_log;
mod error;
mod exchange;
mod fee_bips;
mod feed;
mod finished;
mod heat_map;
mod html;
mod markouts;
mod network;
mod outages;
mod pauses;
mod performance;
mod report;
mod resting;
mod run;
mod schedule;
mod sink;
mod time_axis;

pub use assumptions::{Assumptions, LatencyRange, RateLimit};
pub use curves::Thinned;
pub use data_defects::DataDefects;
pub use end_state::{EndState, after_stop, share_before, share_text};
pub use engine_link::{
    EngineObserver, Processes, RefusedAnswers, SIMULATED_INSTANCE, ViewAnswerer,
};
pub use error::{BacktestError, Outside};
pub use fee_bips::FeeBips;
pub use finished::Finished;
pub use markouts::MarkoutReport;
pub use outages::OutageReport;
pub use pauses::Pauses;
pub use report::{
    ClockSteps, DataFile, DataReport, Detection, EquityReport, LevelReport, OutsideBand, Ratios,
    Report, SideReport,
};
pub use run::{Backtest, Setup};
pub use sink::{FillRow, OpenOrderRow, Progress, SampleRow, Sink};
