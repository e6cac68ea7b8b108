//! The assumptions of a backtest about the exchange and the latency to it.

use cambist_core::venue::FeeToken;
use cambist_fill_model::{FillRule, QueueModel};
use cambist_quant::queue::Model;
use serde::{Deserialize, Serialize};

use crate::fee_bips::FeeBips;

/// A latency that is drawn for every message, uniformly, in microseconds. Both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyRange {
    /// Shortest.
    pub min_us: u64,
    /// Longest.
    pub max_us: u64,
}

impl LatencyRange {
    /// A constant latency.
    pub const fn fixed_ms(ms: u64) -> Self {
        Self {
            min_us: ms * 1_000,
            max_us: ms * 1_000,
        }
    }
}

/// A token bucket of the exchange for each endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimit {
    /// Requests a second, at least 1.
    pub per_s: u32,
    /// Requests at once, at least 1.
    pub burst: u32,
}

/// Assumptions about the exchange and the latency to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Assumptions {
    /// From the engine to the exchange.
    pub request_latency: LatencyRange,
    /// From the exchange to the engine.
    pub response_latency: LatencyRange,
    /// Processing time of a submit or a cancel: it takes effect and is answered after it.
    pub acknowledgement_delay_us: u64,
    /// Delay until a change of our own orders appears in lists, balances and depth.
    pub visibility_lag_us: u64,
    /// Time to sign and store a batch, after which its orders are sent.
    pub seal_us: u64,
    /// A timer of the engine fires late by up to this, drawn uniformly. Without it, polls keep their phase: those of one
    /// second on snapshots of one second would always see a snapshot the moment it appears.
    #[serde(default)]
    pub timer_lateness_us: u64,
    /// How queue positions are tracked or estimated.
    pub queue: QueueModel,
    /// How much of an order fills.
    pub fill_rule: FillRule,
    /// Snapshots only: millionths of a decrease of the best level that count as traded.
    pub traded_share_ppm: u32,
    /// Levels a side of the exchange's depth.
    pub depth_levels: usize,
    /// Fee of orders that rested, in basis points of the amount that the market takes fees of.
    #[serde(rename = "maker_fee_bips")]
    pub maker_fee: FeeBips,
    /// Fee of orders that took.
    #[serde(rename = "taker_fee_bips")]
    pub taker_fee: FeeBips,
    /// The exchange's rate limit of requests; `None` if it has none.
    pub rate_limit: Option<RateLimit>,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Assumptions {
    /// Conservative: orders move forward in the queue by trades alone, fills are limited to the traded quantity, 25 ms
    /// of latency each way, timers up to a millisecond late, and five requests a second on every endpoint.
    fn default() -> Self {
        Self {
            request_latency: LatencyRange::fixed_ms(25),
            response_latency: LatencyRange::fixed_ms(25),
            acknowledgement_delay_us: 5_000,
            visibility_lag_us: 0,
            seal_us: 2_000,
            timer_lateness_us: 1_000,
            queue: QueueModel::Estimated(Model::RiskAverse),
            fill_rule: FillRule::Available,
            traded_share_ppm: 0,
            depth_levels: 50,
            maker_fee: FeeBips::default(),
            taker_fee: FeeBips::default(),
            rate_limit: Some(RateLimit { per_s: 5, burst: 5 }),
            seed: 1,
        }
    }
}

impl Assumptions {
    /// An error that names the first invalid assumption.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, range) in [
            ("request latency", self.request_latency),
            ("response latency", self.response_latency),
        ] {
            if range.min_us > range.max_us {
                return Err(format!(
                    "the {name} ranges from {} µs to {} µs: the minimum must not exceed the maximum",
                    range.min_us, range.max_us
                ));
            }
        }
        if let Some(limit) = self.rate_limit
            && (limit.per_s == 0 || limit.burst == 0)
        {
            return Err(
                "a rate limit must allow at least 1 request a second and 1 at once".to_owned(),
            );
        }
        if self.depth_levels == 0 {
            return Err("the exchange's depth must have at least one level".to_owned());
        }
        Ok(())
    }

    /// The assumptions in sentences, for reports. `snapshots` is whether the data are snapshots, `depth_ms` the
    /// configured milliseconds between two polls of the depth.
    pub fn sentences(&self, snapshots: bool, fee_in: FeeToken, depth_ms: u64) -> Vec<String> {
        let latency = |range: LatencyRange| {
            if range.min_us == range.max_us {
                ms(range.min_us)
            } else {
                format!("{} to {}", ms(range.min_us), ms(range.max_us))
            }
        };
        let mut sentences = vec![
            "The recorded market does not react to our orders.".to_owned(),
            format!(
                "A request takes {} to the exchange, its response takes {}.",
                latency(self.request_latency),
                latency(self.response_latency)
            ),
            format!(
                "Submits and cancels take effect {} after their arrival; a batch is signed and stored in {}.",
                ms(self.acknowledgement_delay_us),
                ms(self.seal_us)
            ),
            format!(
                "Changes of an order appear in lists, balances and depth {} later.",
                ms(self.visibility_lag_us)
            ),
            match self.timer_lateness_us {
                0 => "Timers of the daemon are exact.".to_owned(),
                us => format!("Timers of the daemon fire up to {} late.", ms(us)),
            },
            format!(
                "The daemon polls the depth every {depth_ms} ms (poll.depth_ms, for each market on average) and decides from the last one it received: what happens between two polls is not known to it."
            ),
        ];
        sentences.push(match self.rate_limit {
            None => "The exchange does not limit requests.".to_owned(),
            Some(limit) => format!(
                "The exchange allows {} requests a second on each endpoint, {} at once.",
                limit.per_s, limit.burst
            ),
        });
        sentences.push(format!(
            "Fees: {} bps for orders that rested, {} bps for orders that took, in {}; 1 bps is 0.01 %.",
            self.maker_fee,
            self.taker_fee,
            match fee_in {
                FeeToken::Bought => "the bought token",
                FeeToken::Quote => "the quote token, on top of what a buy pays",
            }
        ));
        sentences.push(match self.queue {
            QueueModel::Estimated(Model::RiskAverse) => {
                "An order joins behind everything at its price and moves forward only by trades, or when less is left at its price than was in front of it."
                    .to_owned()
            }
            QueueModel::Estimated(model) => format!(
                "An order joins behind everything at its price; the queue model {model:?} attributes part of the cancelled quantity to orders in front of it."
            ),
            QueueModel::Fifo => {
                "Queue positions are exact: the recording names every order.".to_owned()
            }
        });
        sentences.push(match self.fill_rule {
            FillRule::Available => {
                "An order that rests fills by at most the quantity that was traded or newly listed at its price or beyond. One that takes fills from the listed levels; what it took from a level is gone, and only what the recording adds to the level later is available."
                    .to_owned()
            }
            FillRule::WholeOrder => {
                "An order fills completely as soon as its price is reached, whatever quantity was traded.".to_owned()
            }
        });
        if snapshots {
            sentences.push(if self.traded_share_ppm == 0 {
                "Events between two snapshots are not known: an order fills only when a snapshot has the other side at its price.".to_owned()
            } else {
                format!(
                    "Of every decrease of the best level between two snapshots, {} % count as traded.",
                    f64::from(self.traded_share_ppm) / 10_000.0
                )
            });
        }
        sentences
    }
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn ms(us: u64) -> String {
    format!("{} ms", us as f64 / 1_000.0)
}
