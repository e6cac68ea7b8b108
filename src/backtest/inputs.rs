//! Arguments of a backtest: its data and its assumptions.

use std::path::PathBuf;

use cambist_backtest::{Assumptions, FeeBips, LatencyRange, RateLimit};
use cambist_daemon::config::Daemon;
use cambist_fill_model::{FillRule, QueueModel};
use cambist_market_data::{DEFAULT_PRICE_FACTOR, Step, Timestamp, Tolerance};
use clap::{Args, ValueEnum};

use crate::backtest::arguments::{
    self, DataFile, balance, data_file, from_time, latency, long_seconds, micros, sample_ms,
    share_ppm, to_time, tolerance,
};
use crate::exit::{Exit, Failure};

/// How much of an order fills when the market reaches its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FillRuleName {
    /// At most what was traded or newly shown
    Available,
    /// The whole order
    WholeOrder,
}

/// Rate limit of the exchange, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(Option<RateLimit>);

fn limit(text: &str) -> Result<Limit, String> {
    arguments::rate_limit(text).map(Limit)
}

fn step(text: &str) -> Result<Step, String> {
    Step::parse(text).map_err(|error| error.to_string())
}

/// Data and assumptions of a backtest: the arguments that `backtest` and `sweep` share.
#[derive(Clone, Debug, Args)]
pub struct Inputs {
    /// Configuration file with limits, strategies, poll intervals and fees; venue, keys and store may be missing
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Recorded data; with MARKET= if there are several markets. Files of one market are read in succession. tape:PATH
    /// is the depth in a daemon's recording, scenario:NAME a market of simulated traders
    #[arg(long, value_name = "[MARKET=]PATH", required = true, value_parser = data_file)]
    pub data: Vec<DataFile>,
    /// Duration of a scenario
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = long_seconds)]
    pub scenario_duration: u64,
    /// Start the engine at this time, or with this day (UTC); earlier data only builds the book
    #[arg(long, value_name = "TIME|DAY", value_parser = from_time)]
    pub from: Option<Timestamp>,
    /// End at this time, or after this day
    #[arg(long, value_name = "TIME|DAY", value_parser = to_time)]
    pub to: Option<Timestamp>,
    /// Initial balance; by default the middle of every inventory band
    #[arg(long, value_name = "SYMBOL=AMOUNT", value_parser = balance)]
    pub balance: Vec<(String, String)>,
    /// Queue model: risk-averse, power:N, power2:N, power3:N, log, log2, or fifo for data that identify every order
    #[arg(long, value_name = "MODEL", default_value = "risk-averse", value_parser = QueueModel::parse)]
    pub queue_model: QueueModel,
    /// How much of an order fills when the market reaches its price
    #[arg(long, value_enum, default_value = "available")]
    pub fill_rule: FillRuleName,
    /// For snapshots: the share of a decrease of the best level that counts as traded, 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share_ppm)]
    pub traded_share: u32,
    /// Latency from the engine to the exchange, such as 25ms, or 10ms..80ms drawn for every message
    #[arg(long, value_name = "LATENCY", default_value = "25ms", value_parser = latency)]
    pub request_latency: LatencyRange,
    /// Latency from the exchange to the engine
    #[arg(long, value_name = "LATENCY", default_value = "25ms", value_parser = latency)]
    pub response_latency: LatencyRange,
    /// The exchange's own time for a submit or a cancel
    #[arg(long, value_name = "DURATION", default_value = "5ms", value_parser = micros)]
    pub acknowledgement_delay: u64,
    /// Delay until lists, balances and depth show a change of an order
    #[arg(long, value_name = "DURATION", default_value = "0ms", value_parser = micros)]
    pub visibility_lag: u64,
    /// Time for signing and storing a batch of orders
    #[arg(long, value_name = "DURATION", default_value = "2ms", value_parser = micros)]
    pub seal_time: u64,
    /// Longest delay of the daemon's timers, drawn for each
    #[arg(long, value_name = "DURATION", default_value = "1ms", value_parser = micros)]
    pub timer_lateness: u64,
    /// Rate limit of the exchange on each endpoint: requests per second and burst, or none
    #[arg(long, value_name = "N[/BURST]|none", default_value = "5", value_parser = limit)]
    pub rate_limit: Limit,
    /// Fee of orders that rested, in bps (1 is 0.01 %) with at most two decimals; by default fees.maker_bips
    #[arg(long, value_name = "BPS")]
    pub maker_fee_bps: Option<FeeBips>,
    /// Fee of orders that took; by default fees.taker_bips
    #[arg(long, value_name = "BPS")]
    pub taker_fee_bps: Option<FeeBips>,
    /// Levels per side of the exchange's depth
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = levels)]
    pub depth_levels: usize,
    /// Tick of the data, if they do not state it; by default the market's
    #[arg(long, value_name = "STEP", value_parser = step)]
    pub tick: Option<Step>,
    /// Lot of the data, if they do not state it; by default the market's
    #[arg(long, value_name = "STEP", value_parser = step)]
    pub lot: Option<Step>,
    /// Kinds of defects to skip and count instead of ending the run, such as gap,crossed
    #[arg(long, value_name = "KIND,…", default_value = "", value_parser = tolerance)]
    pub skip: Tolerance,
    /// Longest time without a row
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = micros)]
    pub max_gap: u64,
    /// Prices further than this factor from the book, or from the snapshot before, are a defect, or none to take all
    #[arg(long, value_name = "N|none", default_value = "2", value_parser = factor)]
    pub price_factor: Factor,
    /// Columns of tables to ignore
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub ignore_column: Vec<String>,
    /// Time between two rows of equity.csv
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = sample_ms)]
    pub sample: u64,
    /// Seed of all random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// The largest plausible factor between a price and the book, or the snapshot before; `None` for every one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor(pub Option<u32>);

impl Default for Factor {
    fn default() -> Self {
        Self(Some(DEFAULT_PRICE_FACTOR))
    }
}

fn factor(text: &str) -> Result<Factor, String> {
    if text == "none" {
        return Ok(Factor(None));
    }
    let factor = text.parse().ok().filter(|n| (2..=1_000_000).contains(n));
    factor.map_or_else(
        || {
            Err(format!(
                "{text:?} is not a whole number from 2 to 1000000, or none"
            ))
        },
        |factor| Ok(Factor(Some(factor))),
    )
}

fn levels(text: &str) -> Result<usize, String> {
    let levels = text.parse().ok();
    levels
        .filter(|levels| (1..=1_000).contains(levels))
        .ok_or_else(|| format!("{text:?} is not a number from 1 to 1000"))
}

impl Inputs {
    /// The assumptions. Fees that are not given are the configuration's; a usage error if one is above the limit that
    /// orders name.
    pub(crate) fn assumptions(&self, daemon: &Daemon) -> Result<Assumptions, Failure> {
        let [maker, taker] = daemon.fee_bips.map(FeeBips::from_bips);
        let limit = daemon.engine.max_fee_bips;
        for (name, fee) in [("maker", self.maker_fee_bps), ("taker", self.taker_fee_bps)] {
            if let Some(fee) = fee
                && fee > FeeBips::from_bips(limit.into())
            {
                let what = format!(
                    "--{name}-fee-bps {fee} is above orders.max_fee_bips = {limit}: an exchange refuses orders with a limit below its fee; raise it in {}",
                    daemon.source.path.display()
                );
                return Err(Failure::new(Exit::Usage, what));
            }
        }
        Ok(Assumptions {
            request_latency: self.request_latency,
            response_latency: self.response_latency,
            acknowledgement_delay_us: self.acknowledgement_delay,
            visibility_lag_us: self.visibility_lag,
            seal_us: self.seal_time,
            timer_lateness_us: self.timer_lateness,
            queue: self.queue_model,
            fill_rule: match self.fill_rule {
                FillRuleName::Available => FillRule::Available,
                FillRuleName::WholeOrder => FillRule::WholeOrder,
            },
            traded_share_ppm: self.traded_share,
            depth_levels: self.depth_levels,
            maker_fee: self.maker_fee_bps.unwrap_or(maker),
            taker_fee: self.taker_fee_bps.unwrap_or(taker),
            rate_limit: self.rate_limit.0,
            seed: self.seed,
        })
    }
}
