//! `[paper]`: assumptions of paper trading, and initial balances.

use cambist_fill_model::QueueModel;
use cambist_quant::queue::Model;

use super::money::Money;
use super::reader::{At, Section};
use super::sections::small;

/// Assumptions of paper trading.
#[derive(Clone, Debug, PartialEq)]
pub struct Paper {
    /// Initial balances; by default the middle of every inventory band.
    pub balances: Vec<Money>,
    /// Latency from the engine to the exchange.
    pub request_latency_ms: u64,
    /// Latency from the exchange to the engine.
    pub response_latency_ms: u64,
    /// The exchange's own time for a submit or a cancel.
    pub acknowledgement_delay_ms: u64,
    /// How queue positions are estimated.
    pub queue_model: QueueModel,
    /// Share of a decrease of the best level that counts as traded, in ten-thousandths.
    pub traded_share_bps: u32,
    /// Rate limit of the exchange on each endpoint, requests per second.
    pub rate_limit_per_s: u32,
}

impl Default for Paper {
    fn default() -> Self {
        Self {
            balances: Vec::new(),
            request_latency_ms: 25,
            response_latency_ms: 25,
            acknowledgement_delay_ms: 5,
            queue_model: QueueModel::Estimated(Model::RiskAverse),
            traded_share_bps: 0,
            rate_limit_per_s: 5,
        }
    }
}

pub(super) fn read(mut section: Section<'_, '_>) -> Paper {
    let usual = Paper::default();
    let balances = section.opt::<Vec<Money>>("balances");
    let request = section.number("request_latency_ms", usual.request_latency_ms, 0..=60_000);
    let response = section.number("response_latency_ms", usual.response_latency_ms, 0..=60_000);
    let acknowledgement = section.number(
        "acknowledgement_delay_ms",
        usual.acknowledgement_delay_ms,
        0..=60_000,
    );
    let name = section.or("queue_model", "risk-averse".to_owned());
    let traded = section.number(
        "traded_share_bps",
        usual.traded_share_bps.into(),
        0..=10_000,
    );
    let rate_limit = section.number(
        "rate_limit_per_s",
        usual.rate_limit_per_s.into(),
        1..=10_000,
    );
    let model = match QueueModel::parse(&name.value) {
        Ok(model @ QueueModel::Estimated(_)) => model,
        Ok(QueueModel::Fifo) => {
            let what =
                "paper.queue_model = \"fifo\" needs data that name every order; depth does not";
            section.problem(name.at, what);
            usual.queue_model
        }
        Err(why) => {
            section.problem(name.at, format!("paper.queue_model: {why}"));
            usual.queue_model
        }
    };
    for balance in balances.iter().flat_map(|balances| &balances.value) {
        if balance.symbol.is_none() {
            let at = balances
                .as_ref()
                .map_or(section.at(), |balances: &At<_>| balances.at);
            section.problem(
                at,
                "paper.balances: every amount names its token, such as \"2.5 ETH\"",
            );
        }
    }
    section.finish();
    Paper {
        balances: balances.map(|balances| balances.value).unwrap_or_default(),
        request_latency_ms: request.value,
        response_latency_ms: response.value,
        acknowledgement_delay_ms: acknowledgement.value,
        queue_model: model,
        traded_share_bps: small(traded.value),
        rate_limit_per_s: small(rate_limit.value),
    }
}
