//! The report of a run: results, assumptions, problems.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::event::{Amounts, TradingState};
use cambist_core::{Amount, MarketSpec, Price, Reason, Side, Time, TokenId};
use cambist_market_data::Timestamp;
use cambist_report::money::decimal_text;
use cambist_report::summary::{Closing, Ends, Orders, PnlRow, Requests};
use cambist_report::{Attribution, Money, Session};
use serde::{Deserialize, Serialize};

use crate::advice::advice;
use crate::assumptions::Assumptions;
use crate::data_warnings;
use crate::engine_log::{EngineLog, SideTimes};
use crate::exchange::SimulatedExchange;
use crate::feed::{Feed, NEVER};
use crate::markouts::{MarkoutReport, Markouts};
use crate::outages::{OutageReport, Outages};
use crate::pauses::Pauses;
use crate::performance::Performance;

/// The report of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// When the engine started.
    pub from: String,
    /// End of the run.
    pub to: String,
    /// Seconds between both.
    pub duration_s: f64,
    /// When and why the engine ended, if it ended before the data.
    pub engine_ended: Option<String>,
    /// How often this host's wall clock was set during a run on live data, if it was.
    pub clock_steps: Option<ClockSteps>,
    /// The data that were read.
    pub data: Vec<DataReport>,
    /// The assumptions.
    pub assumptions: Assumptions,
    /// The assumptions in sentences.
    pub assumed: Vec<String>,
    /// Symbol of the token that values are in.
    pub quote: String,
    /// Held at the beginning, in whole tokens.
    pub opening: BTreeMap<String, String>,
    /// Held at the end, in whole tokens.
    pub closing: BTreeMap<String, String>,
    /// Value of everything held.
    pub equity: EquityReport,
    /// Profit and loss by component, from the exchange's fills and the recorded mids at their moments.
    pub pnl: Option<PnlRow>,
    /// The change of value of the initial balances between the same mids, had nothing been traded, in whole tokens.
    pub holding: Option<String>,
    /// The profit and loss less `holding`: what trading added, in whole tokens.
    pub excess_over_holding: Option<String>,
    /// Profit and loss by what the engine had polled: fills when it detected them, and its own mids.
    pub pnl_as_polled: Option<PnlRow>,
    /// Profit and loss by market, from the same fills and mids: the rows add up to `pnl`.
    pub markets: Vec<MarketReport>,
    /// Fees by the token that they were taken in: their values add up to the fees of `pnl`.
    pub fees: Vec<FeeReport>,
    /// Fills of our orders at the exchange.
    pub fills: u64,
    /// Of these, fills as maker.
    pub maker_fills: u64,
    /// Of these, fills as taker.
    pub taker_fills: u64,
    /// Base traded by market, in whole tokens.
    pub base_volume: BTreeMap<String, String>,
    /// Quote traded by market, in whole tokens.
    pub quote_volume: BTreeMap<String, String>,
    /// Mids some time after fills compared with their prices.
    pub markouts: Vec<MarkoutReport>,
    /// Time from a fill to its detection by the engine.
    pub detection: Detection,
    /// Orders, as counted by the engine.
    pub orders: Orders,
    /// Ends of orders.
    pub ends: Ends,
    /// Every order once, by what it came to.
    pub orders_by_end: OrdersByEnd,
    /// Requests, as counted by the engine.
    pub requests: Requests,
    /// Shares of orders and of the request budget.
    pub ratios: Ratios,
    /// Requests that the exchange refused because of its rate limit.
    pub rate_limited: u64,
    /// Share of the run with own orders on both sides at the exchange, of the market where it was lowest.
    pub quoted_both_sides_ratio: f64,
    /// The same as the engine measured it: it counts a filled order as a quote until its next poll, and begins when
    /// both sides were first live.
    pub quoted_both_sides_as_polled_ratio: f64,
    /// Why there were no quotes, by side.
    pub sides: Vec<SideReport>,
    /// Orders that risk controls refused, by control.
    pub refused_by_control: BTreeMap<String, u64>,
    /// The trading state at the end.
    pub level: String,
    /// Fills since trading stopped, of orders that were sent before; none while the state at the end is `trading`.
    pub fills_after_stop: Option<u64>,
    /// How long quoting was paused, and why.
    pub pauses: Pauses,
    /// Changes of the trading state, and pauses.
    pub levels: Vec<LevelReport>,
    /// Invariants of the engine that failed: each is a defect of the program.
    pub invariants: Vec<String>,
    /// Number of differences between the ledger and the exchange's balances.
    pub mismatches: u64,
    /// Advice that follows from the numbers, in sentences.
    pub advice: Vec<String>,
}

/// Steps of the wall clock during a run on live data, whose times do not follow it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClockSteps {
    /// How many.
    pub count: u64,
    /// Time of the run at which the first one was noticed.
    pub first: String,
    /// The largest one in milliseconds; negative if the clock was set back.
    pub largest_ms: i64,
    /// All of them together, in milliseconds.
    pub sum_ms: i64,
}

impl Report {
    /// States steps of the wall clock, first in the advice as well: they explain why times of the run differ from those
    /// of logs.
    pub fn set_clock_steps(&mut self, steps: ClockSteps) {
        let seconds = |ms: i64| {
            format!(
                "{}{}.{:03}",
                sign(ms),
                ms.unsigned_abs() / 1_000,
                ms.unsigned_abs() % 1_000
            )
        };
        let text = format!(
            "The wall clock of this host was set during the run, {} times, first at {}, at most by {} s and in all by {} s: times of the run go on from its beginning by the monotonic clock, and differ from the wall clock by that.",
            steps.count,
            steps.first,
            seconds(steps.largest_ms),
            seconds(steps.sum_ms)
        );
        self.advice.insert(0, text);
        self.clock_steps = Some(steps);
    }
}

const fn sign(number: i64) -> &'static str {
    if number < 0 { "-" } else { "+" }
}

/// Profit and loss of one market in quote tokens; amounts are missing if they cannot be counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MarketReport {
    /// The market.
    pub market: String,
    /// Fills of our orders.
    pub fills: u64,
    /// Fill prices against the mid.
    pub spread: Option<String>,
    /// Price changes of what was held.
    pub holdings: Option<String>,
    /// Fees; negative.
    pub fees: Option<String>,
    /// The sum of the three.
    pub total: Option<String>,
    /// The change of value of its base token's initial balance, had nothing been traded.
    pub holding: Option<String>,
    /// `total` less `holding`.
    pub excess_over_holding: Option<String>,
}

impl MarketReport {
    fn new(spec: &MarketSpec, fills: u64, performance: &Performance) -> Self {
        let found = performance.of_market(spec);
        let text =
            |of: fn(&Attribution) -> Money| found.as_ref().map(|(pnl, _)| of(pnl).to_string());
        let excess = found
            .as_ref()
            .and_then(|(pnl, holding)| pnl.total.checked_sub(*holding));
        Self {
            market: spec.name.clone(),
            fills,
            spread: text(|pnl| pnl.spread),
            holdings: text(|pnl| pnl.holdings),
            fees: text(|pnl| pnl.fees),
            total: text(|pnl| pnl.total),
            holding: found.as_ref().map(|(_, holding)| holding.to_string()),
            excess_over_holding: excess.map(|excess| excess.to_string()),
        }
    }

    /// Its amounts in the order of the tables: spread, holdings, fees, total, holding, excess over holding.
    pub fn amounts(&self) -> [&str; 6] {
        [
            &self.spread,
            &self.holdings,
            &self.fees,
            &self.total,
            &self.holding,
            &self.excess_over_holding,
        ]
        .map(|amount| amount.as_deref().unwrap_or("–"))
    }
}

/// Fees that were taken in one token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FeeReport {
    /// Symbol of the token.
    pub token: String,
    /// Whole tokens.
    pub amount: String,
    /// Their value at the mids of the fills, in quote tokens; negative.
    pub value: Option<String>,
}

fn fees(source: &Source<'_>) -> Vec<FeeReport> {
    let session = &source.performance.session;
    let each = source.performance.fees(source.markets).into_iter();
    each.map(|(token, units, value)| FeeReport {
        token: session.symbol(token),
        amount: session.whole(token, i128::try_from(units).unwrap_or(i128::MAX), 30),
        value: value.map(|value| value.to_string()),
    })
    .collect()
}

/// Every order once: `placed` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrdersByEnd {
    /// Transmitted, or alive at the beginning.
    pub placed: u64,
    /// Completely filled.
    pub filled: u64,
    /// Cancelled, perhaps after fills.
    pub cancelled: u64,
    /// Reached their expiry, perhaps after fills.
    pub expired: u64,
    /// Refused by the exchange at once (`ends.rejected`), or failed after their acceptance (`ends.failed_late`): orders
    /// that may only rest and would have taken liquidity.
    pub refused: u64,
    /// Never reached the exchange, provably: requests that were lost or never transmitted.
    pub lost: u64,
    /// Open at the end, or of an end that the engine had not learnt.
    pub open: u64,
}

impl OrdersByEnd {
    fn new(submitted: u64, ends: &Ends, open: u64) -> Self {
        Self {
            placed: submitted + ends.recovered,
            filled: ends.filled,
            cancelled: ends.cancelled,
            expired: ends.expired,
            refused: ends.rejected + ends.failed_late,
            lost: ends.fenced + ends.never_sent,
            open,
        }
    }

    /// What orders came to, with names, in the order of the tables.
    pub const fn parts(&self) -> [(&'static str, u64); 6] {
        [
            ("filled", self.filled),
            ("cancelled", self.cancelled),
            ("expired", self.expired),
            ("refused", self.refused),
            ("lost", self.lost),
            ("open", self.open),
        ]
    }
}

/// Shares; each is missing if there was nothing to divide by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ratios {
    /// Orders that filled, completely or in part, of those submitted.
    pub filled: Option<f64>,
    /// Orders that ended by a cancel, of those submitted.
    pub cancelled: Option<f64>,
    /// Requests sent, of those that the engine's own budget allowed.
    pub budget_used: Option<f64>,
}

impl EquityReport {
    /// The samples between which the largest drawdown was found.
    pub fn sampled(&self) -> String {
        if self.sample_ms.is_multiple_of(1_000) {
            format!("samples every {} s", self.sample_ms / 1_000)
        } else {
            format!("samples every {} ms", self.sample_ms)
        }
    }
}

impl Ratios {
    /// `open_filled`: orders with fills whose end the engine does not know.
    fn new(orders: &Orders, ends: &Ends, open_filled: u64, requests: &Requests) -> Self {
        let share = |part: u64, of: u64| (of > 0).then(|| float(part) / float(of));
        let filled = ends.filled + ends.partly_filled + open_filled;
        Self {
            filled: share(filled, orders.submitted),
            cancelled: share(orders.cancelled, orders.submitted),
            budget_used: share(requests.sent, requests.allowed),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
const fn float(count: u64) -> f64 {
    count as f64
}

/// A median delay above this is none of a network: ten seconds.
const LATE_NANOS: u64 = 10_000_000_000;
/// Parts in a hundred of the rows by which the two views may differ.
const UNEQUAL_PERCENT: u64 = 2;

/// A delay with its unit.
#[expect(clippy::cast_precision_loss, reason = "for display")]
fn delay_text(nanos: u64) -> String {
    let millis = nanos as f64 / 1e6;
    if millis < 10_000.0 {
        format!("{millis:.1} ms")
    } else {
        format!("{:.1} s", millis / 1e3)
    }
}

/// The data of one market.
#[derive(Clone, Debug, Serialize)]
pub struct DataReport {
    /// The market.
    pub market: String,
    /// `events` or `snapshots`.
    pub kind: &'static str,
    /// The files that they were read from, in this order; none for data that arrived during the run.
    pub files: Vec<DataFile>,
    /// Rows read, kept and skipped.
    #[serde(flatten)]
    pub report: cambist_market_data::Report,
    /// Number of times the recorded book stayed crossed; the older levels were removed.
    pub crossings: u64,
    /// Number of events about orders that the recording had not named.
    pub unknown_orders: u64,
    /// Times without a row.
    pub outages: OutageReport,
    /// The mids, if none was between the market's `price_floor` and `price_ceiling`.
    pub outside: Option<OutsideBand>,
    /// Of several markets: what is outside of the time that the data of all of them cover.
    pub unused: Vec<String>,
    /// What of the data, or of how they are used, makes the results doubtful, in sentences.
    pub warnings: Vec<String>,
}

/// Mids of which none was within the market's price band: the data may be of another market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutsideBand {
    /// Lowest and highest mid, at samples and fills.
    pub mids: [String; 2],
    /// `price_floor` and `price_ceiling`.
    pub band: [String; 2],
}

impl OutsideBand {
    fn new(spec: &MarketSpec, (low, high): (u64, u64), band: [Price; 2]) -> Option<Self> {
        let [floor, ceiling] = band.map(|price| price.0.saturating_mul(2));
        let places = usize::from(spec.price_decimals);
        // Half ticks have a decimal more.
        let text = |half: u64| decimal_text(u128::from(half) * 5, places + 1, 30);
        (high < floor || low > ceiling).then(|| Self {
            mids: [text(low), text(high)],
            band: [text(floor), text(ceiling)],
        })
    }
}

/// A file of data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DataFile {
    /// Its name without folders, or `scenario:NAME`.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: String,
}

impl DataReport {
    /// Names of its files.
    pub fn names(&self) -> String {
        let names: Vec<_> = self.files.iter().map(|file| file.name.as_str()).collect();
        names.join(", ")
    }

    /// What else was read, each with its name: rows without effect, rows at one time only, and the recorded delay.
    pub fn details(&self) -> Vec<(&'static str, String)> {
        let mut details = Vec::new();
        let (ignored, views) = (self.report.ignored, &self.report.views);
        if ignored > 0 {
            let what = match self.kind {
                "events" => "rows that act at neither time, or are the recorder's own",
                _ => "blank lines",
            };
            details.push(("ignored", format!("{ignored} {what}")));
        }
        if self.report.untimed > 0 {
            let untimed = format!(
                "{} rows of snapshots, taken as of the row before them or the first one with a time",
                self.report.untimed
            );
            details.push(("without a time", untimed));
        }
        if views.exchange_only + views.local_only > 0 {
            details.push((
                "one time only",
                format!(
                    "{} rows at the exchange's time, {} at the recorder's; of {} trades, {} and {}",
                    views.exchange_only,
                    views.local_only,
                    views.trades,
                    views.trades_exchange_only,
                    views.trades_local_only
                ),
            ));
        }
        let unused = self.unused.iter().cloned();
        details.extend(unused.map(|what| ("not used", what)));
        if let Some((median, max)) = self.report.delay.median_and_max() {
            details.push((
                "recorded delay",
                format!(
                    "median {}, at most {} from the exchange's time to the recorder's",
                    delay_text(median),
                    delay_text(max)
                ),
            ));
        }
        details
    }

    /// That the recorded delay is too long to be one, if it is.
    pub fn late(&self) -> Option<String> {
        let (median, _) = self.report.delay.median_and_max()?;
        (median > LATE_NANOS).then(|| {
            format!(
                "Half of the rows of {} were received about {} or more after their exchange times (above {}): one of the two times probably has another time zone or unit, or its clock was wrong.",
                self.market,
                delay_text(median),
                delay_text(LATE_NANOS)
            )
        })
    }

    /// Trades, and other rows, of which one view has more than the other.
    fn unequal_views(&self) -> Vec<String> {
        let views = &self.report.views;
        let trades = (views.trades_exchange_only, views.trades_local_only);
        let others = (views.exchange_only - trades.0, views.local_only - trades.1);
        let found = [
            ("trades", trades, views.trades),
            (
                "other rows",
                others,
                self.report.kept.saturating_sub(views.trades),
            ),
        ];
        let unequal = found.into_iter().filter(|(_, (exchange, local), all)| {
            exchange.abs_diff(*local).saturating_mul(100) > all.saturating_mul(UNEQUAL_PERCENT)
        });
        unequal
            .map(|(what, (exchange, local), all)| {
                format!(
                    "{local} of {all} {what} at the recorder's time only, {exchange} at the exchange's only (only what acts at the exchange's time moves its book and fills orders)"
                )
            })
            .collect()
    }

    /// What is unusual about ticks and is not refused, if there is something.
    pub fn unusual(&self) -> Option<String> {
        let repeated = self.report.repeated;
        let found: Vec<_> = [
            (repeated, "rows equal to the row before them"),
            (
                self.report.unfinished,
                "files that end within a record, as after a kill",
            ),
            (
                self.crossings,
                "times left crossed, where the older levels were removed",
            ),
            (
                self.unknown_orders,
                "events about orders that were not named before",
            ),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .chain(self.unequal_views())
        .collect();
        (!found.is_empty()).then(|| found.join(", "))
    }
}

/// Value of all holdings, in quote tokens.
#[derive(Clone, Debug, Serialize)]
pub struct EquityReport {
    /// What the account opened with, at the first mid of every market.
    pub opening: Option<String>,
    /// What it holds at the end, at the last mid of every market.
    pub closing: Option<String>,
    /// What it opened with, at the last mid of every market: its equity, had nothing been traded.
    pub holding: Option<String>,
    /// Largest fall below the highest earlier value, by samples: more of them can only show a larger one.
    pub drawdown_max: String,
    /// Time of the largest fall.
    pub drawdown_at: Option<String>,
    /// Milliseconds between two samples.
    pub sample_ms: u64,
}

/// Milliseconds from a fill to its detection by the engine: the error of fill times that polling causes.
#[derive(Clone, Debug, Serialize)]
pub struct Detection {
    /// Median.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// Maximum.
    pub max_ms: Option<f64>,
    /// Fills that were not detected when the run ended.
    pub unlearnt: u64,
}

/// Why a side of a market had no quotes, in seconds by reason.
#[derive(Clone, Debug, Serialize)]
pub struct SideReport {
    /// The market.
    pub market: String,
    /// `buy` or `sell`.
    pub side: &'static str,
    /// Seconds with own orders at the exchange.
    pub quoted_s: f64,
    /// Seconds with quotes as the engine measured it.
    pub quoted_as_polled_s: f64,
    /// Seconds without quotes by the engine's reasons.
    pub withheld_s: BTreeMap<String, f64>,
}

/// A change of the trading state, or a pause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelReport {
    /// Time.
    pub time: String,
    /// The new state, or `paused`.
    pub what: String,
    /// Cause.
    pub cause: String,
}

/// The inputs of a report.
pub struct Source<'a> {
    pub markets: &'a [MarketSpec],
    pub feeds: &'a [Feed],
    /// Time of the first row of each feed.
    pub firsts: &'a [Timestamp],
    pub exchange: &'a SimulatedExchange,
    /// By market.
    pub outages: &'a [Outages],
    pub performance: &'a Performance,
    pub log: &'a EngineLog,
    pub assumptions: &'a Assumptions,
    pub opening: &'a Amounts,
    pub from: Timestamp,
    pub to: Timestamp,
    pub end: Time,
    pub ended: Option<Timestamp>,
    pub rate_limited: u64,
    pub sample_ms: u64,
    pub depth_ms: u64,
    pub markouts: &'a Markouts,
    /// Number of fills at moments without a mid.
    pub fills_without_mid: u64,
    /// `price_floor` and `price_ceiling` of each market.
    pub bands: &'a [[Price; 2]],
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Builds the report.
pub fn build(source: &Source<'_>) -> Report {
    let session = &source.performance.session;
    let engine = &source.log.session;
    let closing = Closing {
        duration_s: seconds(source.to.nanos_since(source.from).unsigned_abs() / 1_000),
        ..Closing::default()
    };
    let code = |reason: Reason| format!("{reason:?}");
    let actual = session.summary(source.end, &closing, code);
    let polled = engine.summary(source.end, &closing, code);
    let quote = source.markets[0].quote.id;
    let whole =
        |units: Amount| session.whole(quote, i128::try_from(units).unwrap_or(i128::MAX), 30);
    let (performance, markets) = (source.performance, source.markets);
    let curve = &performance.equity;
    let benchmark = performance.holding();
    let opening = performance.opening(markets, source.opening);
    let last = performance.closing(source.exchange, markets);
    let held = performance.held_closing(markets, source.opening);
    let volumes = |of: fn(&cambist_report::summary::MarketRow) -> u128, base: bool| {
        let rows = actual.markets.iter().zip(source.markets);
        let each = rows.map(|(row, spec)| {
            let token = if base { spec.base.id } else { spec.quote.id };
            let units = i128::try_from(of(row)).unwrap_or(i128::MAX);
            (spec.name.clone(), session.whole(token, units, 30))
        });
        each.collect()
    };
    let mut report = Report {
        from: source.from.to_string(),
        to: source.to.to_string(),
        duration_s: closing.duration_s,
        engine_ended: source.ended.map(|at| at.to_string()),
        clock_steps: None,
        data: data(source),
        assumptions: *source.assumptions,
        assumed: assumed(source),
        quote: source.markets[0].quote.symbol.clone(),
        opening: tokens(
            session,
            source.opening.iter().map(|(token, units)| (*token, *units)),
        ),
        closing: closing_balances(source),
        equity: EquityReport {
            opening: opening.map(whole),
            closing: last.map(whole),
            holding: held.map(whole),
            drawdown_max: whole(curve.drawdown_max),
            drawdown_at: curve.drawdown_at.map(|at| at.to_string()),
            sample_ms: source.sample_ms,
        },
        pnl: actual.pnl.into_iter().next(),
        holding: benchmark.map(|(holding, _)| holding.to_string()),
        markets: source
            .markets
            .iter()
            .zip(&actual.markets)
            .map(|(spec, row)| MarketReport::new(spec, row.fills, performance))
            .collect(),
        fees: fees(source),
        excess_over_holding: benchmark.map(|(_, excess)| excess.to_string()),
        pnl_as_polled: polled.pnl.into_iter().next(),
        fills: actual.fills,
        maker_fills: source.performance.maker_fills,
        taker_fills: source.performance.taker_fills,
        base_volume: volumes(|row| row.base_volume, true),
        quote_volume: volumes(|row| row.quote_volume, false),
        markouts: source.markouts.report(),
        detection: detection(source.log),
        ratios: Ratios::new(
            &polled.orders,
            &polled.ends,
            open_filled(source),
            &polled.requests,
        ),
        orders_by_end: OrdersByEnd::new(
            polled.orders.submitted,
            &polled.ends,
            engine.open_orders(),
        ),
        ends: polled.ends,
        orders: polled.orders,
        requests: polled.requests,
        rate_limited: source.rate_limited,
        quoted_both_sides_ratio: both_sides(source),
        quoted_both_sides_as_polled_ratio: polled.quoted_both_sides_ratio,
        sides: sides(source),
        refused_by_control: refused_by_control(source.log),
        level: source.log.level.name().to_owned(),
        fills_after_stop: (source.log.level != TradingState::Active)
            .then_some(source.log.fills_after_stop),
        pauses: Pauses::default(),
        levels: levels(source),
        invariants: source.log.invariants.clone(),
        mismatches: source.log.mismatches,
        advice: Vec::new(),
    };
    report.pauses = pauses(&report, source.log);
    report.advice = advice(&report);
    report
}

/// What the account has at the end, of each token that it began with.
fn closing_balances(source: &Source<'_>) -> BTreeMap<String, String> {
    let account = source.exchange.account();
    let each = source.opening.keys();
    let each = each.map(|token| (*token, account.total(*token)));
    tokens(&source.performance.session, each)
}

fn refused_by_control(log: &EngineLog) -> BTreeMap<String, u64> {
    let each = log.refused_by_control.iter();
    each.map(|(control, count)| (control.name().to_owned(), *count))
        .collect()
}

fn pauses(report: &Report, log: &EngineLog) -> Pauses {
    let at_end = log.sides.values().any(SideTimes::is_paused);
    Pauses::new(&report.sides, &report.levels, report.duration_s, at_end)
}

fn assumed(source: &Source<'_>) -> Vec<String> {
    let feeds = source.feeds;
    let mut assumed = source.assumptions.sentences(
        feeds.iter().any(Feed::is_snapshots),
        source.markets[0].fee_in,
        source.depth_ms,
    );
    let trades: u64 = feeds.iter().map(Feed::trades).sum();
    if trades > 0 {
        assumed.push(format!(
            "The {trades} fills of the daemon that recorded the data count as trades of their size at their price, at the time at which that daemon learnt of them; trades that reached none of its orders are not known."
        ));
    }
    if source.fills_without_mid > 0 {
        assumed.push(format!(
            "{} of the fills happened while a side of the recorded book was empty: they count at the last mid before.",
            source.fills_without_mid
        ));
    }
    for (spec, marks) in source.markets.iter().zip(&source.performance.marks) {
        if let Some(marks) = marks
            && marks.last.at < source.to
        {
            assumed.push(format!(
                "{} had no bid or no ask at the end: what is held of {} counts at the mid of {}.",
                spec.name, spec.base.symbol, marks.last.at
            ));
        }
    }
    assumed
}

fn tokens(
    session: &Session,
    held: impl Iterator<Item = (TokenId, Amount)>,
) -> BTreeMap<String, String> {
    held.map(|(token, units)| {
        let units = i128::try_from(units).unwrap_or(i128::MAX);
        (session.symbol(token), session.whole(token, units, 30))
    })
    .collect()
}

fn data(source: &Source<'_>) -> Vec<DataReport> {
    let each = source.feeds.iter().zip(source.markets).enumerate();
    each.map(|(index, (feed, spec))| DataReport {
        market: spec.name.clone(),
        kind: if feed.is_snapshots() {
            "snapshots"
        } else {
            "events"
        },
        files: Vec::new(),
        report: feed.data().report().clone(),
        crossings: source.exchange.crossings(index),
        unknown_orders: source.exchange.unknown_orders(index),
        outages: source.outages[index].report(),
        unused: unused(source, index),
        warnings: data_warnings::of(feed, spec, source.exchange, index),
        outside: source
            .performance
            .marks
            .get(index)
            .and_then(|marks| OutsideBand::new(spec, (*marks)?.range, *source.bands.get(index)?)),
    })
    .collect()
}

/// What of the data of a market is outside of the time that the data of all markets cover.
fn unused(source: &Source<'_>, index: usize) -> Vec<String> {
    let mut found = Vec::new();
    let first = source.firsts.get(index).copied();
    if let Some((first, begin)) = first.zip(source.firsts.iter().max().copied())
        && first < begin
    {
        let passed = begin.nanos_since(first).unsigned_abs() / 1_000;
        found.push(format!(
            "the first {:.1} s, until {begin}, when the data of all markets have begun",
            seconds(passed)
        ));
    }
    let ended = source.feeds.iter().position(|feed| feed.time() == NEVER);
    let next = source.feeds[index].time();
    if let Some(ended) = ended
        && next != NEVER
        && next > source.to
    {
        found.push(format!(
            "everything after {}, when the data of {} end",
            source.to, source.markets[ended].name
        ));
    }
    found
}

/// Number of orders with fills whose end the engine does not know: they are open, or the engine has not learnt of a fill.
fn open_filled(source: &Source<'_>) -> u64 {
    let open = source.exchange.open_orders();
    let open = open.iter().filter(|row| row.base_filled > 0);
    let open: BTreeSet<u64> = open.map(|row| row.order.number).collect();
    open.union(&source.log.undetected_orders().collect())
        .count() as u64
}

fn detection(log: &EngineLog) -> Detection {
    let some = !log.detection.is_empty();
    let ms = |micros: u64| some.then(|| seconds(micros) * 1_000.0);
    Detection {
        p50_ms: ms(log.detection.value_at_quantile(0.5)),
        p99_ms: ms(log.detection.value_at_quantile(0.99)),
        max_ms: ms(log.detection.max()),
        unlearnt: log.undetected(),
    }
}

/// The share of the whole run, so that a late start and an early end count.
#[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
fn both_sides(source: &Source<'_>) -> f64 {
    let all_nanos = source.to.nanos_since(source.from);
    if all_nanos <= 0 {
        return 0.0;
    }
    let markets = 0..source.markets.len();
    let each = markets.map(|market| source.exchange.resting(market, source.to).both_nanos());
    let lowest = each.min().unwrap_or(0);
    lowest as f64 / all_nanos as f64
}

fn sides(source: &Source<'_>) -> Vec<SideReport> {
    let each = source.log.sides.iter();
    each.map(|((market, side), times)| {
        let spec = source.markets.get(usize::from(market.0));
        let rested_us = spec.map_or(0, |_| {
            let resting = source.exchange.resting(usize::from(market.0), source.to);
            resting.side_nanos(*side).unsigned_abs() / 1_000
        });
        let withheld = times.micros.iter();
        SideReport {
            market: spec.map(|spec| spec.name.clone()).unwrap_or_default(),
            side: Side::name(*side),
            quoted_s: seconds(rested_us),
            quoted_as_polled_s: times.micros.get(&None).copied().map_or(0.0, seconds),
            withheld_s: withheld
                .filter_map(|(reason, micros)| {
                    Some(((*reason)?.name().to_owned(), seconds(*micros)))
                })
                .collect(),
        }
    })
    .collect()
}

fn levels(source: &Source<'_>) -> Vec<LevelReport> {
    let origin = source.end;
    let at = |time: Time| {
        let before = origin.micros_since(time);
        let nanos = i64::try_from(before.saturating_mul(1_000)).unwrap_or(i64::MAX);
        source.to.plus_nanos(-nanos).to_string()
    };
    let each = source.log.levels.iter();
    each.map(|change| LevelReport {
        time: at(change.time),
        what: change.what.clone(),
        cause: change.cause.clone(),
    })
    .collect()
}
