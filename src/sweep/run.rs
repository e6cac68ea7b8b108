//! One run: the backtest of one trial on one part of the data, and the row of figures that is kept of it.

use std::io;

use cambist_backtest::{
    Backtest, BacktestError, DataDefects, EndState, FillRow, Finished, Pauses, SampleRow, Sink,
    share_before,
};
use cambist_core::{Amount, MarketId};
use cambist_market_data::Timestamp;
use cambist_quant::performance::running::RunningMoments;
use serde::{Deserialize, Serialize};

use super::plan::{Phase, Plan, RunSpec};
use crate::backtest::inputs::Inputs;
use crate::backtest::prepare::prepare_with;
use cambist_config::ConfigError;

/// Points kept of an equity curve at most.
const POINTS_MAX: usize = 64;
/// Seconds after a fill whose markout is kept.
const MARKOUT_S: u32 = 10;

/// Sums of returns, from which Sharpe ratios of any part of a sweep are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Returns {
    /// Number of returns.
    pub count: u64,
    /// Their mean, in quote tokens.
    pub mean: f64,
    /// Sums of powers of distances from it.
    pub m2: f64,
    /// Third powers.
    pub m3: f64,
    /// Fourth powers.
    pub m4: f64,
}

impl From<RunningMoments> for Returns {
    fn from(of: RunningMoments) -> Self {
        Self {
            count: of.count,
            mean: of.mean,
            m2: of.m2,
            m3: of.m3,
            m4: of.m4,
        }
    }
}

impl From<Returns> for RunningMoments {
    fn from(of: Returns) -> Self {
        Self {
            count: of.count,
            mean: of.mean,
            m2: of.m2,
            m3: of.m3,
            m4: of.m4,
        }
    }
}

/// What a run came to. Amounts are whole tokens of the quote token as decimals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// When the engine started.
    pub from: String,
    /// End of the run.
    pub to: String,
    /// Seconds between both.
    pub duration_s: f64,
    /// Symbol of the quote token.
    pub quote: String,
    /// Net profit and loss; missing while a mid is.
    pub net_pnl: Option<String>,
    /// Change of value of the initial balances, had nothing been traded; rows of format 1 lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holding: Option<String>,
    /// Net profit and loss less `holding`: what trials are compared by. Rows of format 1 lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excess_over_holding: Option<String>,
    /// Of it: fill prices against the mid.
    pub spread: Option<String>,
    /// Of it: price changes of what was held.
    pub holdings: Option<String>,
    /// Of it: fees.
    pub fees: Option<String>,
    /// Furthest below the highest equity before it.
    pub drawdown_max: String,
    /// Trades of own orders.
    pub fills: u64,
    /// Of them, orders that rested.
    pub maker_fills: u64,
    /// Orders submitted.
    pub orders: u64,
    /// Orders cancelled.
    pub cancelled: u64,
    /// Share of time with quotes on both sides, of the market where it was lowest.
    pub uptime: f64,
    /// Mean mid 10 s after a fill against its price, ten-thousandths.
    pub markout_10s_bps: Option<f64>,
    /// Changes of the excess over holding at equal distances; of equity in rows of format 1.
    pub returns: Returns,
    /// When the engine ended by itself, if it did before the data.
    pub engine_ended: Option<String>,
    /// The trading state at the end, and when and why trading stopped; rows before format 4 lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trading_state: Option<EndState>,
    /// How long quoting was paused, and why; rows of earlier programs lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Pauses>,
    /// Invariants of the engine that failed: defects of the program.
    pub invariants: u64,
    /// Markets whose data had rows left out, or something unusual; files without their folders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataDefects>,
    /// Excess over holding: milliseconds since the beginning, and quote tokens; the change of equity in rows of
    /// format 1.
    pub curve: Vec<(u64, f64)>,
}

impl Figures {
    /// Whether trading stopped before the end of the data, as far as the row states it.
    pub fn is_stopped(&self) -> bool {
        let state = self.trading_state.as_ref();
        self.engine_ended.is_some() || state.is_some_and(EndState::is_stopped)
    }

    /// The share of the run before trading stopped, if it did and that is known.
    pub fn stopped_after(&self) -> Option<f64> {
        let state = self.trading_state.as_ref().and_then(EndState::stopped_at);
        let at = state.or(self.engine_ended.as_deref())?;
        share_before(&self.from, self.duration_s, at)
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The values are no configuration: they contradict each other or a limit.
    Refused(String),
    /// It ran.
    Done(Box<Figures>),
}

/// A run and how it ended: a row of results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its number, from 0.
    pub run: u64,
    /// The trial, from 0.
    pub trial: u64,
    /// The window, from 0.
    pub window: Option<u64>,
    /// Which part of the data.
    pub phase: Phase,
    /// The values of the parameters, in the order of the sweep file.
    pub values: Vec<toml::Value>,
    /// How it ended.
    pub outcome: Outcome,
}

impl Row {
    /// Its figures, if it ran.
    pub fn figures(&self) -> Option<&Figures> {
        match &self.outcome {
            Outcome::Done(figures) => Some(figures),
            Outcome::Refused(_) => None,
        }
    }
}

/// Takes the excess of a run's equity over that of its initial balances: returns at equal distances, and a thin curve.
struct ExcessSink {
    /// Between two returns.
    interval_nanos: i64,
    /// A whole quote token in its units.
    one: f64,
    first: Option<(Timestamp, i128)>,
    /// The value that the next return is measured from, and its interval since the first.
    before: Option<(i64, i128)>,
    returns: RunningMoments,
    curve: Vec<(u64, f64)>,
    every: u64,
    points_seen: u64,
    last: Option<(u64, f64)>,
}

impl ExcessSink {
    fn new(interval_s: u64, quote_decimals: u8) -> Self {
        Self {
            interval_nanos: i64::try_from(interval_s.saturating_mul(1_000_000_000))
                .unwrap_or(i64::MAX),
            one: 10_f64.powi(i32::from(quote_decimals)),
            first: None,
            before: None,
            returns: RunningMoments::default(),
            curve: Vec::new(),
            every: 1,
            points_seen: 0,
            last: None,
        }
    }

    /// The difference of two amounts in whole tokens.
    #[expect(clippy::cast_precision_loss, reason = "a statistic")]
    fn tokens(&self, from: i128, to: i128) -> f64 {
        to.saturating_sub(from) as f64 / self.one
    }

    fn point(&mut self, at: (u64, f64)) {
        self.last = Some(at);
        let due = self.points_seen.is_multiple_of(self.every);
        self.points_seen += 1;
        if !due {
            return;
        }
        if self.curve.len() == POINTS_MAX {
            let mut index = 0;
            self.curve.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every *= 2;
            if !(self.points_seen - 1).is_multiple_of(self.every) {
                return;
            }
        }
        self.curve.push(at);
    }

    fn curve(&mut self) -> Vec<(u64, f64)> {
        if let Some(last) = self.last
            && self.curve.last() != Some(&last)
        {
            self.curve.push(last);
        }
        std::mem::take(&mut self.curve)
    }
}

impl Sink for ExcessSink {
    fn fill(&mut self, _: &FillRow) -> io::Result<()> {
        Ok(())
    }

    fn sample(&mut self, row: &SampleRow) -> io::Result<()> {
        // Equity is of the account; every market's row has it.
        let values = row.equity.zip(row.holding);
        let Some((equity, holding)) = values.filter(|_| row.market == MarketId(0)) else {
            return Ok(());
        };
        let excess = signed(equity).saturating_sub(signed(holding));
        let (start, opening) = *self.first.get_or_insert((row.time, excess));
        let passed = row.time.nanos_since(start);
        let at = (
            passed.unsigned_abs() / 1_000_000,
            self.tokens(opening, excess),
        );
        self.point(at);
        if passed % self.interval_nanos == 0 {
            let interval = passed / self.interval_nanos;
            // A return over a time without equity would be of another length than the others.
            if let Some((earlier, before)) = self.before
                && earlier + 1 == interval
            {
                let change = self.tokens(before, excess);
                self.returns.add(change).map_err(io::Error::other)?;
            }
            self.before = Some((interval, excess));
        }
        Ok(())
    }
}

fn signed(units: Amount) -> i128 {
    i128::try_from(units).unwrap_or(i128::MAX)
}

/// Runs a trial. Values that make no configuration are an outcome; bad data are an error.
pub fn run(plan: &Plan, spec: &RunSpec) -> anyhow::Result<Row> {
    let values = plan.space.trial(spec.trial);
    let row = |values: Vec<toml::Value>, outcome| Row {
        run: spec.run,
        trial: spec.trial,
        window: spec.window,
        phase: spec.phase,
        values,
        outcome,
    };
    let daemon = match plan.daemon_with(&values) {
        Ok(daemon) => daemon,
        Err(what) => return Ok(row(values, Outcome::Refused(what))),
    };
    let mut inputs = plan.inputs.clone();
    (inputs.from, inputs.to) = (spec.from, spec.to);
    let setup = match prepare_with(&inputs, &daemon) {
        Ok((setup, _)) => setup,
        Err(error) => match error.downcast_ref::<ConfigError>() {
            Some(refused) => return Ok(row(values, Outcome::Refused(refused.reasons()))),
            None => return Err(error),
        },
    };
    let quote_decimals = setup.markets[0].quote.decimals;
    let mut sink = ExcessSink::new(plan.space.return_interval_s, quote_decimals);
    let finished = Backtest::new(setup)
        .and_then(|backtest| backtest.run(&mut sink))
        .map_err(|error: BacktestError| {
            anyhow::Error::new(error).context(format!("run {}", spec.run))
        })?;
    let mut figures = figures(&finished, &mut sink);
    without_folders(&mut figures.data, &inputs);
    Ok(row(values, Outcome::Done(Box::new(figures))))
}

/// Files are named without their folders, as in the header: another machine may keep them elsewhere.
fn without_folders(data: &mut [DataDefects], inputs: &Inputs) {
    let folders = inputs.data.iter().filter_map(|file| file.path.parent());
    let folders = folders.filter(|folder| !folder.as_os_str().is_empty());
    let folders: Vec<_> = folders.map(|at| format!("{}/", at.display())).collect();
    for skipped in data.iter_mut().flat_map(|data| &mut data.skipped) {
        if let Some(name) = folders
            .iter()
            .find_map(|at| skipped.first.strip_prefix(at.as_str()))
        {
            skipped.first = name.to_owned();
        }
    }
}

fn figures(finished: &Finished, sink: &mut ExcessSink) -> Figures {
    let report = &finished.report;
    let pnl = report.pnl.as_ref();
    let markout = report.markouts.iter();
    let markout = markout
        .into_iter()
        .find(|m| m.horizon_s == MARKOUT_S && m.side == "all");
    Figures {
        from: report.from.clone(),
        to: report.to.clone(),
        duration_s: report.duration_s,
        quote: report.quote.clone(),
        net_pnl: pnl.map(|pnl| pnl.total.clone()),
        holding: report.holding.clone(),
        excess_over_holding: report.excess_over_holding.clone(),
        spread: pnl.map(|pnl| pnl.spread.clone()),
        holdings: pnl.map(|pnl| pnl.holdings.clone()),
        fees: pnl.map(|pnl| pnl.fees.clone()),
        drawdown_max: report.equity.drawdown_max.clone(),
        fills: report.fills,
        maker_fills: report.maker_fills,
        orders: report.orders.submitted,
        cancelled: report.orders.cancelled,
        uptime: report.quoted_both_sides_ratio,
        markout_10s_bps: markout.and_then(|m| m.mean_bps),
        returns: sink.returns.into(),
        engine_ended: report.engine_ended.clone(),
        trading_state: Some(EndState::new(&report.level, &report.levels)),
        pauses: Some(report.pauses.clone()),
        invariants: report.invariants.len() as u64,
        data: report
            .data
            .iter()
            .map(DataDefects::from)
            .filter(|data| !data.is_empty())
            .collect(),
        curve: sink.curve(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn a_return_is_of_one_interval() {
        let mut sink = ExcessSink::new(60, 6);
        let rows = [
            (0, Some(1_000_000)),
            (60, Some(2_000_000)),
            (120, None),
            (180, Some(9_000_000)),
            (240, Some(9_000_000)),
            // The same row once more is no return of zero.
            (240, Some(9_000_000)),
        ];
        for (second, equity) in rows {
            let row = SampleRow {
                time: Timestamp(second * 1_000_000_000),
                market: MarketId(0),
                mid: None,
                quotes: [None; 2],
                base: 0,
                quote: 0,
                equity,
                holding: Some(500_000),
            };
            sink.sample(&row).unwrap();
        }
        assert_eq!((sink.returns.count, sink.returns.mean), (2, 0.5));
    }

    /// An account that only holds its initial balances has no return, whatever they come to be worth.
    #[test]
    fn a_price_change_of_the_initial_balances_is_no_return() {
        let mut sink = ExcessSink::new(60, 6);
        for minute in 0..100_i64 {
            let value = 1_000_000 + minute.unsigned_abs() * 7_919 % 1_009;
            let row = SampleRow {
                time: Timestamp(minute * 60_000_000_000),
                market: MarketId(0),
                mid: None,
                quotes: [None; 2],
                base: 0,
                quote: 0,
                equity: Some(value.into()),
                holding: Some(value.into()),
            };
            sink.sample(&row).unwrap();
        }
        assert_eq!((sink.returns.count, sink.returns.m2), (99, 0.0));
        assert!(sink.returns.moments().is_err(), "no Sharpe ratio");
        assert!(sink.curve().iter().all(|(_, excess)| *excess == 0.0));
    }
}
