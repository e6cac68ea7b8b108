//! Results of paper trading: written to files, with a summary in the log.

use std::io;

use cambist_backtest::{FillRow, Progress, SampleRow, Sink};
use cambist_core::{Amount, MarketSpec, Price};

use crate::backtest::results::Results;
use cambist_config::money::whole;

/// Samples between two summaries in the log.
const LINE_SAMPLES: u64 = 10;

/// Writes results; logs fills, and a summary every ten seconds.
pub(super) struct PaperSink {
    results: Results,
    markets: Vec<MarketSpec>,
    samples: u64,
    fills: u64,
    opening: Option<Amount>,
}

impl PaperSink {
    pub(super) fn new(results: Results, markets: &[MarketSpec]) -> Self {
        Self {
            results,
            markets: markets.to_vec(),
            samples: 0,
            fills: 0,
            opening: None,
        }
    }

    pub(super) fn into_results(self) -> Results {
        self.results
    }

    fn log(&self, row: &SampleRow) {
        let Some(spec) = self.markets.get(usize::from(row.market.0)) else {
            return;
        };
        let price = |price: Price| whole(price.0.into(), spec.price_decimals);
        let mid = row
            .mid
            .map(|mid| whole(u128::from(mid) * 5, spec.price_decimals + 1));
        let [bid, ask] = row
            .quotes
            .map(|at| at.map_or_else(|| "none".to_owned(), price));
        let quote = |units| {
            format!(
                "{} {}",
                whole(units, spec.quote.decimals),
                spec.quote.symbol
            )
        };
        let profit = row.equity.zip(self.opening).map(|(now, opening)| {
            let sign = if now < opening { "-" } else { "" };
            format!("{sign}{}", quote(now.abs_diff(opening)))
        });
        tracing::info!(
            market = spec.name,
            mid = mid.unwrap_or_else(|| "unknown".to_owned()),
            bid,
            ask,
            base = format!(
                "{} {}",
                whole(row.base, spec.base.decimals),
                spec.base.symbol
            ),
            quote = quote(row.quote),
            fills = self.fills,
            profit = profit.unwrap_or_else(|| "unknown".to_owned()),
            "paper"
        );
    }
}

impl Sink for PaperSink {
    fn fill(&mut self, row: &FillRow) -> io::Result<()> {
        self.fills += 1;
        if let Some(spec) = self.markets.get(usize::from(row.market.0)) {
            tracing::info!(
                market = spec.name,
                side = row.side.name(),
                price = whole(row.price.0.into(), spec.price_decimals),
                base = format!(
                    "{} {}",
                    whole(row.base, spec.base.decimals),
                    spec.base.symbol
                ),
                "paper fill"
            );
        }
        self.results.fill(row)
    }

    fn sample(&mut self, row: &SampleRow) -> io::Result<()> {
        self.opening = self.opening.or(row.equity);
        if row.market.0 == 0 {
            self.samples += 1;
        }
        if self.samples % LINE_SAMPLES == 1 {
            self.log(row);
        }
        self.results.sample(row)
    }

    fn progress(&mut self, progress: Progress) {
        self.results.progress(progress);
    }
}
