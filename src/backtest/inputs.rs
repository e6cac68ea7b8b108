//! Arguments about what a backtest runs on, and what it assumes.

use std::path::PathBuf;

use cambist_backtest::{Assumptions, LatencyRange, RateLimit};
use cambist_fill_model::{FillRule, QueueModel};
use cambist_market_data::{Step, Timestamp, Tolerance};
use clap::{Args, ValueEnum};

use crate::backtest::arguments::{
    self, DataFile, balance, data_file, latency, long_seconds, micros, sample_ms, share_ppm,
    timestamp, tolerance,
};

/// How much of an order fills when the market reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FillRuleName {
    /// No more than was traded or newly shown.
    Available,
    /// All of it.
    WholeOrder,
}

/// The exchange's limit of requests, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(Option<RateLimit>);

fn limit(text: &str) -> Result<Limit, String> {
    arguments::rate_limit(text).map(Limit)
}

fn step(text: &str) -> Result<Step, String> {
    Step::parse(text).map_err(|error| error.to_string())
}

/// What a backtest runs on and what it assumes: the arguments that `backtest` and `sweep` share.
#[derive(Clone, Debug, Args)]
pub struct Inputs {
    /// Configuration file of the daemon. Limits, strategies, polls and fees are taken from it.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Recorded data; MARKET= where there are several markets. Files of one market are read one after the
    /// other. tape:PATH is the depth on a daemon's recording, scenario:NAME a market of simulated traders.
    #[arg(long, value_name = "[MARKET=]PATH", required = true, value_parser = data_file)]
    pub data: Vec<DataFile>,
    /// How long a scenario is played.
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = long_seconds)]
    pub scenario_duration: u64,
    /// Start the engine here; what was recorded before only builds the book.
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    pub from: Option<Timestamp>,
    /// End here.
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    pub to: Option<Timestamp>,
    /// Held at the beginning; by default the middle of every inventory band, and what fills it.
    #[arg(long, value_name = "SYMBOL=AMOUNT", value_parser = balance)]
    pub balance: Vec<(String, String)>,
    /// How queue positions are known: risk-averse, power:N, power2:N, power3:N, log, log2, or fifo for data
    /// that name every order.
    #[arg(long, value_name = "MODEL", default_value = "risk-averse", value_parser = QueueModel::parse)]
    pub queue_model: QueueModel,
    /// How much of an order fills when the market reaches it.
    #[arg(long, value_enum, default_value = "available")]
    pub fill_rule: FillRuleName,
    /// Of snapshots: which share of a decrease of the best level was traded, 0 to 1.
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share_ppm)]
    pub traded_share: u32,
    /// From the engine to the exchange, such as 25ms, or 10ms..80ms drawn anew for every message.
    #[arg(long, value_name = "LATENCY", default_value = "25ms", value_parser = latency)]
    pub request_latency: LatencyRange,
    /// From the exchange to the engine.
    #[arg(long, value_name = "LATENCY", default_value = "25ms", value_parser = latency)]
    pub response_latency: LatencyRange,
    /// The exchange's own time for a submit or a cancel.
    #[arg(long, value_name = "DURATION", default_value = "5ms", value_parser = micros)]
    pub acknowledgement_delay: u64,
    /// How much later lists, balances and depth show what happened to an order.
    #[arg(long, value_name = "DURATION", default_value = "0ms", value_parser = micros)]
    pub visibility_lag: u64,
    /// Signing and storing a batch of orders.
    #[arg(long, value_name = "DURATION", default_value = "2ms", value_parser = micros)]
    pub seal_time: u64,
    /// The exchange's limit on each endpoint: requests a second and at once, or none.
    #[arg(long, value_name = "N[/BURST]|none", default_value = "5", value_parser = limit)]
    pub rate_limit: Limit,
    /// Levels a side of the exchange's depth.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = levels)]
    pub depth_levels: usize,
    /// Tick of the data, if they do not say it; the market's by default.
    #[arg(long, value_name = "STEP", value_parser = step)]
    pub tick: Option<Step>,
    /// Lot of the data, if they do not say it; the market's by default.
    #[arg(long, value_name = "STEP", value_parser = step)]
    pub lot: Option<Step>,
    /// Defects of the data that are skipped and counted instead of ending the run, such as gap,crossed.
    #[arg(long, value_name = "KIND,…", default_value = "", value_parser = tolerance)]
    pub skip: Tolerance,
    /// Longest time without a row that is no gap.
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = micros)]
    pub max_gap: u64,
    /// Columns of tables that are not looked at.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub ignore_column: Vec<String>,
    /// Between two rows of equity.csv.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = sample_ms)]
    pub sample: u64,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

fn levels(text: &str) -> Result<usize, String> {
    let levels = text.parse().ok();
    levels
        .filter(|levels| (1..=1_000).contains(levels))
        .ok_or_else(|| format!("{text:?} is no number from 1 to 1000"))
}

impl Inputs {
    /// What they assume; fees are the configuration's.
    pub(crate) fn assumptions(&self) -> Assumptions {
        Assumptions {
            request_latency: self.request_latency,
            response_latency: self.response_latency,
            acknowledgement_delay_us: self.acknowledgement_delay,
            visibility_lag_us: self.visibility_lag,
            seal_us: self.seal_time,
            queue: self.queue_model,
            fill_rule: match self.fill_rule {
                FillRuleName::Available => FillRule::Available,
                FillRuleName::WholeOrder => FillRule::WholeOrder,
            },
            traded_share_ppm: self.traded_share,
            depth_levels: self.depth_levels,
            rate_limit: self.rate_limit.0,
            seed: self.seed,
            ..Assumptions::default()
        }
    }
}
