//! Results of a run on a simulated exchange: written to files, shown in the status, with a summary in the log.

use std::io;
use std::sync::Arc;

use cambist_backtest::{FillRow, OpenOrderRow, Progress, SampleRow, Sink};
use cambist_core::{Amount, MarketSpec, Price};
use cambist_daemon::telemetry::Telemetry;
use cambist_daemon::telemetry::simulated::{SimulatedAccount, SimulatedOrder};

use crate::backtest::results::Results;
use cambist_config::money::whole;

/// Samples between two summaries in the log, after which a run that is killed has its rows on disk.
const LINE_SAMPLES: u64 = 10;

/// Writes results; shows them in the status, and logs a summary every ten seconds.
pub(super) struct PaperSink {
    results: Results,
    markets: Vec<MarketSpec>,
    samples: u64,
    fills: u64,
    opening: Option<Amount>,
    equity: Option<Amount>,
    telemetry: Arc<Telemetry>,
    also: Option<Box<dyn Sink>>,
}

impl PaperSink {
    pub(super) fn new(
        results: Results,
        markets: &[MarketSpec],
        telemetry: Arc<Telemetry>,
        also: Option<Box<dyn Sink>>,
    ) -> Self {
        Self {
            results,
            markets: markets.to_vec(),
            samples: 0,
            fills: 0,
            opening: None,
            equity: None,
            telemetry,
            also,
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
            "simulated account"
        );
    }
}

impl Sink for PaperSink {
    fn fill(&mut self, row: &FillRow) -> io::Result<()> {
        self.fills += 1;
        if let Some(also) = &mut self.also {
            also.fill(row)?;
        }
        self.results.fill(row)?;
        self.results.flush()
    }

    fn sample(&mut self, row: &SampleRow) -> io::Result<()> {
        self.opening = self.opening.or(row.equity);
        self.equity = row.equity;
        if row.market.0 == 0 {
            self.samples += 1;
        }
        let is_due = self.samples % LINE_SAMPLES == 1;
        if is_due {
            self.log(row);
        }
        if let Some(also) = &mut self.also {
            also.sample(row)?;
        }
        self.results.sample(row)?;
        if is_due {
            self.results.flush()?;
        }
        Ok(())
    }

    fn wants_open_orders(&self) -> bool {
        true
    }

    fn open_orders(&mut self, rows: &[OpenOrderRow]) -> io::Result<()> {
        let order = |row: &OpenOrderRow| SimulatedOrder {
            order: row.order,
            market: row.market,
            side: row.side,
            price: row.price,
            remaining: row.remaining,
            base_filled: row.base_filled,
            in_front: row.in_front,
            created: row.created,
            expires: row.expires,
        };
        self.telemetry.simulated(SimulatedAccount {
            orders: rows.iter().map(order).collect(),
            fills: self.fills,
            equity: self.equity,
            opening_equity: self.opening,
        });
        // The run goes on: a sample is due every second, whatever arrives.
        self.telemetry.tick(0);
        Ok(())
    }

    fn progress(&mut self, progress: Progress) {
        self.results.progress(progress);
    }
}
