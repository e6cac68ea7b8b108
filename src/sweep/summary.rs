//! The evidence of a sweep: its best trial, what the best of so many without skill would show, and
//! what trials that were chosen on one part of the data earned on the next.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use cambist_backtest::{DataDefects, EndState, Pauses};
use cambist_market_data::Timestamp;
use cambist_quant::performance::running::RunningMoments;
use cambist_quant::performance::sharpe::{Moments, expected_best, variance_of};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::journal::{Header, Rows};
use super::pauses::{self, Paused};
use super::plan::Phase;
use super::run::{Figures, Outcome, Row};
use super::space::{Metric, Space};
use super::statements;
use super::stops::{self, Stopped};

/// Seconds of a year.
const YEAR_S: f64 = 31_536_000.0;
/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// What trials without a positive Sharpe ratio are ranked by, in files.
const BY_EXCESS: &str = "excess_over_holding";

/// Returns below which there is no Sharpe ratio.
const RETURNS_MIN: u64 = 2;

/// What metrics are computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Equity less the value of the initial balances at the same mids.
    ExcessOverHolding,
    /// Equity, whose changes are those of holdings as well: results of format 1.
    Equity,
}

impl Measure {
    /// Its amount over a run, for display.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ExcessOverHolding => "excess over holding",
            Self::Equity => "net profit and loss",
        }
    }

    /// The Sharpe ratio of its changes, for display.
    pub const fn sharpe(self) -> &'static str {
        match self {
            Self::ExcessOverHolding => "Sharpe ratio of the excess over holding",
            Self::Equity => "Sharpe ratio",
        }
    }

    /// A metric of it, for display.
    pub const fn metric(self, metric: Metric) -> &'static str {
        match metric {
            Metric::Sharpe => self.sharpe(),
            Metric::NetPnl => self.title(),
        }
    }
}

/// What a row is compared by.
#[derive(Clone, Copy, Debug)]
pub struct Score<'a> {
    /// The row.
    pub row: &'a Row,
    /// Its figures.
    pub figures: &'a Figures,
    /// Excess over holding the initial balances, in quote tokens, for comparing; net profit and loss in rows of
    /// format 1.
    pub excess: Option<f64>,
    /// Moments of its returns; none where nothing varied.
    pub moments: Option<Moments>,
}

impl<'a> Score<'a> {
    fn new(row: &'a Row) -> Option<Self> {
        let figures = row.figures()?;
        let excess = figures.excess_over_holding.as_ref();
        let excess = excess.or(figures.net_pnl.as_ref());
        let excess = excess.and_then(|text| text.parse().ok());
        let moments = RunningMoments::from(figures.returns).moments().ok();
        Some(Self {
            row,
            figures,
            excess,
            moments,
        })
    }

    fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Sharpe => self.moments.map(|moments| moments.sharpe()),
            Metric::NetPnl => self.excess,
        }
    }

    /// Order in a ranking: those with a value before those without one, then those that traded to the end before those
    /// whose trading stopped, then by [`Place`].
    pub fn ranked(&self, other: &Self, metric: Metric) -> Ordering {
        let place = |score: &Self| score.value(metric).map(|value| score.place(metric, value));
        let (own, others) = (place(self), place(other));
        let stopped = |score: &Self| score.figures.is_stopped();
        let first = own.is_none().cmp(&others.is_none());
        first
            .then(stopped(self).cmp(&stopped(other)))
            .then_with(|| match (own, others) {
                (Some(own), Some(other)) => own.ranked(other),
                _ => Ordering::Equal,
            })
    }

    /// Its place by a value of a metric.
    fn place(&self, metric: Metric, value: f64) -> Place {
        if metric == Metric::Sharpe && value <= 0.0 {
            Place::ByExcess(self.excess.unwrap_or(f64::NEG_INFINITY))
        } else {
            Place::ByMetric(value)
        }
    }

    /// Whether its trading stopped, and its place on test, where one without a trade has a ratio of zero.
    fn test_place(&self, metric: Metric) -> Option<(bool, Place)> {
        let value = match metric {
            Metric::Sharpe => self.ratio(),
            Metric::NetPnl => self.excess,
        };
        Some((self.figures.is_stopped(), self.place(metric, value?)))
    }

    /// Whether every return is zero, as without a trade: it counts with a ratio of zero.
    fn is_zero(&self) -> bool {
        let returns = self.figures.returns;
        self.moments.is_none()
            && (self.figures.fills == 0
                || (returns.count >= RETURNS_MIN && returns.mean == 0.0 && returns.m2 == 0.0))
    }

    /// Its ratio among those of other trials, for one return; `None` if its returns are constant and not zero.
    fn ratio(&self) -> Option<f64> {
        let own = self.moments.map(|moments| moments.sharpe());
        own.or_else(|| self.is_zero().then_some(0.0))
    }
}

/// What a trial is ranked by. A negative ratio is nearer to zero the more the returns vary, so that by ratio the trial
/// that lost most could be the first: where ratios are not positive, the excess decides.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// By the metric.
    ByMetric(f64),
    /// By the excess, after all others: the ratio is not positive.
    ByExcess(f64),
}

impl Place {
    /// The better one first.
    fn ranked(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::ByMetric(own), Self::ByMetric(other))
            | (Self::ByExcess(own), Self::ByExcess(other)) => other.total_cmp(&own),
            (Self::ByMetric(_), Self::ByExcess(_)) => Ordering::Less,
            (Self::ByExcess(_), Self::ByMetric(_)) => Ordering::Greater,
        }
    }
}

/// How much of the best Sharpe ratio of a group of trials may be luck.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Deflated {
    /// Trials that are counted: all that were compared, and those of earlier sweeps.
    pub trials: u64,
    /// Of them, trials whose returns are all zero, which count with a ratio of zero.
    pub zero: u64,
    /// Of them, trials without a finite ratio, whose returns are constant and not zero or fewer than two: they cannot be
    /// the best by it.
    pub without_ratio: u64,
    /// Standard deviation of the ratios of the trials, a year.
    pub ratios_sd: f64,
    /// Whether the ratios of the trials vary enough to state anything about the choice.
    pub ratios_vary: bool,
    /// What the best of them is expected to show without any skill, a year.
    pub expected_best: f64,
    /// The probability that the true ratio of the best is above that: the deflated Sharpe ratio.
    pub probability: Option<f64>,
}

/// Below this part of a ratio's standard error, a standard deviation of ratios is nearly zero.
const NEARLY_ZERO: f64 = 0.01;

/// Trials on one part of the data.
pub struct Group<'a> {
    /// Their scores, in the order of the trials.
    pub scores: Vec<Score<'a>>,
    /// Trials that were compared, and those of earlier sweeps.
    pub trials: u64,
    /// Variance of the ratios, for one return each, of trials with one.
    variance: f64,
}

impl<'a> Group<'a> {
    fn new(rows: impl Iterator<Item = &'a Row>, trials_before: u64) -> Self {
        let scores: Vec<_> = rows.filter_map(Score::new).collect();
        let ratios: Vec<_> = scores.iter().filter_map(Score::ratio).collect();
        Self {
            trials: scores.len() as u64 + trials_before,
            variance: variance_of(&ratios).unwrap_or(0.0),
            scores,
        }
    }

    /// The first of the ranking by a metric: the best of those that traded to the end, or, where trading stopped in all
    /// of them, the best of these; of equals the first.
    pub fn best(&self, metric: Metric) -> Option<&Score<'a>> {
        let valued = self
            .scores
            .iter()
            .filter(|score| score.value(metric).is_some());
        valued.min_by(|one, other| one.ranked(other, metric))
    }

    /// How much of a score's ratio may be luck of being chosen from this group.
    pub fn deflated(&self, score: &Score<'_>, interval_s: u64) -> Option<Deflated> {
        let moments = score.moments?;
        let expected = expected_best(self.trials.max(1), self.variance).ok()?;
        let count = |is: &dyn Fn(&Score<'_>) -> bool| {
            let found = self.scores.iter().filter(|score| is(score));
            found.count() as u64
        };
        let sd = self.variance.sqrt();
        let error = moments.sharpe_error_with_tails().unwrap_or(0.0);
        Some(Deflated {
            trials: self.trials,
            zero: count(&|score| score.is_zero()),
            without_ratio: count(&|score| score.ratio().is_none()),
            ratios_sd: annual(sd, interval_s),
            ratios_vary: sd > error * NEARLY_ZERO,
            expected_best: annual(expected, interval_s),
            probability: moments.probability_above(expected).ok(),
        })
    }

    /// Trials with a fill.
    fn traded(&self) -> u64 {
        let filled = self.scores.iter().filter(|score| score.figures.fills > 0);
        filled.count() as u64
    }

    /// Whether some trials are ranked by their excess, because their Sharpe ratios are not positive.
    pub fn has_ranked_by_excess(&self, metric: Metric) -> bool {
        let mut ratios = self.scores.iter().filter_map(|score| score.value(metric));
        metric == Metric::Sharpe && ratios.any(|ratio| ratio <= 0.0)
    }

    /// Trials with a positive Sharpe ratio.
    fn positive_sharpe(&self) -> u64 {
        let ratios = self.scores.iter().filter_map(|score| score.moments);
        ratios.filter(|moments| moments.sharpe() > 0.0).count() as u64
    }

    /// Trials of which an amount is above zero.
    fn above_zero(&self, amount: fn(&Figures) -> Option<&String>) -> u64 {
        let each = self.scores.iter();
        let amounts = each.filter_map(|score| amount(score.figures)?.parse::<f64>().ok());
        amounts.filter(|amount| *amount > 0.0).count() as u64
    }

    /// Place of a score by a metric, 1 for the best, and of how many; `None` where all are equal.
    fn rank(&self, of: &Score<'_>, metric: Metric) -> Option<(u64, u64)> {
        let own = of.test_place(metric)?;
        let places = self.scores.iter();
        let places = places.filter_map(|score| score.test_place(metric));
        let (mut better, mut equal, mut all) = (0, 0, 0);
        for place in places {
            all += 1;
            let order = by_test_place(&place, &own);
            better += u64::from(order.is_lt());
            equal += u64::from(order.is_eq());
        }
        (equal < all).then_some((better + 1, all))
    }

    /// The share of scores whose [`Group::rank`] is in the better half, which a choice without skill is in as often: more
    /// than half where some share a place.
    #[expect(clippy::cast_precision_loss, reason = "a statistic")]
    fn better_half(&self, metric: Metric) -> f64 {
        let places = self.scores.iter();
        let mut places: Vec<_> = places
            .filter_map(|score| score.test_place(metric))
            .collect();
        places.sort_by(by_test_place);
        let last = (places.len() / 2).checked_sub(1);
        last.and_then(|last| places.get(last)).map_or(0.0, |last| {
            let within = places.partition_point(|place| by_test_place(place, last).is_le());
            within as f64 / places.len() as f64
        })
    }
}

/// The order of places on test: those that traded to the end before those whose trading stopped, then the better one first.
fn by_test_place(
    (stopped, own): &(bool, Place),
    (other_stopped, other): &(bool, Place),
) -> Ordering {
    stopped.cmp(other_stopped).then(own.ranked(*other))
}

/// A ratio for one return as one for a year.
#[expect(clippy::cast_precision_loss, reason = "a statistic")]
pub fn annual(ratio: f64, interval_s: u64) -> f64 {
    ratio * (YEAR_S / interval_s as f64).sqrt()
}

/// The trial that was chosen, with the figures of its run.
#[derive(Clone, Debug, Serialize)]
pub struct Chosen {
    /// Number of the run.
    pub run: u64,
    /// Number of the trial.
    pub trial: u64,
    /// Its values by their names.
    pub parameters: Map<String, Value>,
    /// Net profit and loss.
    pub net_pnl: Option<String>,
    /// Change of value of the initial balances, had nothing been traded; missing in results of format 1.
    pub holding: Option<String>,
    /// Net profit and loss less `holding`; missing in results of format 1.
    pub excess_over_holding: Option<String>,
    /// Spread and fees: what quoting itself came to, in quote tokens. The rest of the excess is the price change of
    /// positions that differ from the initial balances.
    pub quoting: Option<f64>,
    /// Sharpe ratio of the excess over holding, a year.
    pub sharpe: Option<f64>,
    /// What it was ranked by: `sharpe`, `net_pnl`, or, by `sharpe` without a positive ratio, `excess_over_holding`.
    pub ranked_by: &'static str,
    /// Largest drawdown.
    pub drawdown_max: String,
    /// Fills.
    pub fills: u64,
    /// Share of time with quotes on both sides.
    pub uptime: f64,
    /// When the engine ended, if it did before the data.
    pub engine_ended: Option<String>,
    /// The trading state at the end, and when and why trading stopped; missing in results before format 4.
    pub trading_state: Option<EndState>,
    /// Share of the run before trading stopped, if it did.
    pub stopped_after: Option<f64>,
    /// How long quoting was paused, and why; missing in results of earlier programs.
    pub pauses: Option<Pauses>,
    /// How much of its ratio may be luck.
    pub deflated: Option<Deflated>,
}

impl Chosen {
    /// Whether it was ranked by its excess, because its Sharpe ratio is not positive.
    pub fn is_ranked_by_excess(&self) -> bool {
        self.ranked_by == BY_EXCESS
    }

    /// Whether trading stopped before the end of the data.
    pub fn is_stopped(&self) -> bool {
        let state = self.trading_state.as_ref();
        self.engine_ended.is_some() || state.is_some_and(EndState::is_stopped)
    }

    /// Whether quoting was paused for more than a tenth of the time.
    pub fn is_long_paused(&self) -> bool {
        self.pauses.as_ref().is_some_and(Pauses::is_long)
    }

    /// The trading state at the end, in words.
    pub fn state(&self) -> String {
        stops::state(self.trading_state.as_ref(), self.engine_ended.as_ref())
    }

    /// The same with its pauses.
    pub fn state_and_pauses(&self) -> String {
        pauses::with(self.state(), self.pauses.as_ref())
    }
}

/// What was chosen in one window, and what it then did.
#[derive(Clone, Debug, Serialize)]
pub struct WindowResult {
    /// Number of the window.
    pub window: u64,
    /// Begin of train, end of train and begin of test, end of test.
    pub times: [String; 3],
    /// The best trial on train; none where no trial could be chosen.
    pub train: Option<Chosen>,
    /// The same trial on test.
    pub test: Option<Chosen>,
    /// Its place among all trials on test, 1 for the best.
    pub test_rank: Option<u64>,
    /// Trials that could be compared on test.
    pub test_trials: Option<u64>,
    /// Trials with a fill on train and on test.
    pub traded: [u64; 2],
}

/// What was chosen on train windows, together on the test windows.
#[derive(Clone, Debug, Serialize)]
pub struct WalkForwardResult {
    /// Every window.
    pub windows: Vec<WindowResult>,
    /// Begin and end of the data that windows were made of; missing in results of format 1.
    pub data: Option<[String; 2]>,
    /// Seconds of these data behind the end of the last test window: in no window.
    pub unused_s: Option<f64>,
    /// Seconds of all train windows in which a trial was chosen.
    pub train_s: f64,
    /// Seconds of the data that these train windows cover; fewer than `train_s` where they overlap.
    pub train_distinct_s: f64,
    /// Seconds of their test windows.
    pub test_s: f64,
    /// Net profit and loss of the chosen on train, in quote tokens, as if it had lasted a day (`train_s`).
    pub train_net_per_day: Option<f64>,
    /// The same on test (`test_s`).
    pub test_net_per_day: Option<f64>,
    /// Net profit and loss on all test windows.
    pub test_net: f64,
    /// Excess over holding of the chosen on train, in quote tokens a day; net profit and loss in results of format 1.
    pub train_excess_per_day: Option<f64>,
    /// The same on test.
    pub test_excess_per_day: Option<f64>,
    /// Spread and fees of the chosen on all test windows, in quote tokens.
    pub test_quoting: f64,
    /// Fills of the chosen on all test windows.
    pub test_fills: u64,
    /// The excess on all train windows, in quote tokens.
    pub train_excess: f64,
    /// The same on all test windows.
    pub test_excess: f64,
    /// Sharpe ratio of the excess over all test windows, a year.
    pub test_sharpe: Option<f64>,
    /// The probability that the true one is above zero.
    pub test_probability: Option<f64>,
    /// Windows in which the chosen was in the better half of all trials on test.
    pub better_half: u64,
    /// In how many a choice without skill is on average: more than half of those in which trials differ where some of them
    /// share a place.
    pub better_half_by_chance: f64,
    /// Windows in which the net profit and loss of the chosen was negative, on train and on test.
    pub lost: [u64; 2],
    /// Windows in which the chosen traded, and its excess over holding was not above zero, on train and on test; none in
    /// results of format 1.
    pub without_excess: [u64; 2],
}

/// What a sweep came to.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Runs.
    pub runs: u64,
    /// Different choices of values.
    pub trials: u64,
    /// Trials of earlier sweeps that are counted.
    pub trials_before: u64,
    /// Runs whose values are no configuration.
    pub refused: u64,
    /// Why the first of them was refused.
    pub first_refusal: Option<String>,
    /// Runs in which an invariant of the engine failed.
    pub invariants: u64,
    /// Runs in which trading stopped before the end of the data.
    pub stopped: Stopped,
    /// Runs in which quoting was paused for more than a tenth of the time.
    pub paused: Paused,
    /// Runs in which no order filled.
    pub without_fills: u64,
    /// What trials are compared by.
    pub metric: &'static str,
    /// What both metrics are computed from.
    pub measure: Measure,
    /// Seconds between two returns.
    pub return_interval_s: u64,
    /// Symbol of the quote token.
    pub quote: String,
    /// Seconds of the longest run, if no run had two returns and therefore none a Sharpe ratio.
    pub too_short_s: Option<f64>,
    /// What was left out of the data and what is unusual in them, of the run that read most of them.
    pub data: Vec<DataDefects>,
    /// The best trial on all of the data; none with walk-forward.
    pub best: Option<Chosen>,
    /// Trials on all of the data whose net profit and loss is above zero; none with walk-forward.
    pub earned: Option<u64>,
    /// The same of the excess over holding.
    pub above_holding: Option<u64>,
    /// The same of the Sharpe ratio.
    pub positive_sharpe: Option<u64>,
    /// Walk-forward, if it was asked for.
    pub walk_forward: Option<WalkForwardResult>,
    /// The same in sentences.
    pub statements: Vec<String>,
}

/// All rows of a phase of a window.
pub fn group<'a>(rows: &'a Rows, space: &Space, window: Option<u64>, phase: Phase) -> Group<'a> {
    let all = rows.values();
    let own = all.filter(|row| row.window == window && row.phase == phase);
    Group::new(own, space.trials_before)
}

/// Values of a row by the names of the parameters.
pub fn parameters(space: &Space, row: &Row) -> Map<String, Value> {
    let each = space.parameters.iter().zip(&row.values);
    each.map(|(parameter, value)| (parameter.name.value.clone(), json!(value)))
        .collect()
}

/// What a score is ranked by, in files.
fn ranked_by(score: &Score<'_>, metric: Metric) -> &'static str {
    let place = score.value(metric).map(|value| score.place(metric, value));
    match place {
        Some(Place::ByExcess(_)) => BY_EXCESS,
        _ => metric.name(),
    }
}

/// Makes the summary of a complete sweep.
pub fn summary(header: &Header, space: &Space, rows: &Rows) -> Summary {
    let interval_s = space.return_interval_s;
    let chosen = |group: &Group<'_>, score: &Score<'_>| Chosen {
        run: score.row.run,
        trial: score.row.trial,
        parameters: parameters(space, score.row),
        net_pnl: score.figures.net_pnl.clone(),
        holding: score.figures.holding.clone(),
        excess_over_holding: score.figures.excess_over_holding.clone(),
        quoting: quoting(score.figures),
        sharpe: score
            .moments
            .map(|moments| annual(moments.sharpe(), interval_s)),
        ranked_by: ranked_by(score, space.metric),
        drawdown_max: score.figures.drawdown_max.clone(),
        fills: score.figures.fills,
        uptime: score.figures.uptime,
        engine_ended: score.figures.engine_ended.clone(),
        trading_state: score.figures.trading_state.clone(),
        stopped_after: score.figures.stopped_after(),
        pauses: score.figures.pauses.clone(),
        deflated: group.deflated(score, interval_s),
    };
    let figures = || rows.values().filter_map(Row::figures);
    let mut summary = Summary {
        runs: header.runs,
        trials: space.trials(),
        trials_before: space.trials_before,
        refused: header.runs - figures().count() as u64,
        first_refusal: rows.values().find_map(|row| match &row.outcome {
            Outcome::Refused(why) => Some(why.clone()),
            Outcome::Done(_) => None,
        }),
        invariants: figures().filter(|figures| figures.invariants > 0).count() as u64,
        stopped: Stopped::of(figures(), header.has_trading_states()),
        paused: Paused::of(figures()),
        without_fills: figures().filter(|figures| figures.fills == 0).count() as u64,
        metric: space.metric.name(),
        measure: header.measure(),
        return_interval_s: interval_s,
        quote: figures()
            .next()
            .map_or_else(String::new, |figures| figures.quote.clone()),
        too_short_s: figures()
            .all(|figures| figures.returns.count < RETURNS_MIN)
            .then(|| {
                let each = figures().map(|figures| figures.duration_s);
                each.fold(0.0, f64::max)
            }),
        data: defects(rows),
        best: None,
        earned: None,
        above_holding: None,
        positive_sharpe: None,
        walk_forward: None,
        statements: Vec::new(),
    };
    if header.windows.is_empty() {
        let group = group(rows, space, None, Phase::All);
        summary.best = group.best(space.metric).map(|best| chosen(&group, best));
        summary.earned = Some(group.above_zero(|figures| figures.net_pnl.as_ref()));
        summary.above_holding =
            Some(group.above_zero(|figures| figures.excess_over_holding.as_ref()));
        summary.positive_sharpe = Some(group.positive_sharpe());
    } else {
        summary.walk_forward = Some(walk_forward(header, space, rows, &chosen));
    }
    summary.statements = statements::of(&summary, space);
    summary
}

/// Defects of the data of each market, of the run that read most of them.
fn defects(rows: &Rows) -> Vec<DataDefects> {
    let mut found: BTreeMap<&str, &DataDefects> = BTreeMap::new();
    let each = rows.values().filter_map(Row::figures);
    for data in each.flat_map(|figures| &figures.data) {
        let most = found.entry(&data.market).or_insert(data);
        if data.rows > most.rows {
            *most = data;
        }
    }
    found.into_values().cloned().collect()
}

/// What spread and fees of a run came to.
fn quoting(figures: &Figures) -> Option<f64> {
    let number = |text: &Option<String>| text.as_ref()?.parse::<f64>().ok();
    Some(number(&figures.spread)? + number(&figures.fees)?)
}

/// Begin and end of the data that windows were made of.
fn data_of(header: &Header) -> Option<[String; 2]> {
    let span = header.settings.get("windows_of")?;
    serde_json::from_value(span.clone()).ok()
}

/// Seconds of the data behind the end of the last window; `None` without windows, or in results of format 1.
#[expect(clippy::cast_precision_loss, reason = "for display")]
pub fn unused_s(header: &Header) -> Option<f64> {
    let [_, end] = data_of(header)?;
    let ends = header.windows.iter().filter_map(|[_, _, end]| time(end));
    let passed = time(&end)?.nanos_since(ends.max()?);
    Some(passed as f64 / 1e9)
}

/// Seconds that periods cover, each moment once.
#[expect(clippy::cast_precision_loss, reason = "for display")]
fn covered_s(periods: impl Iterator<Item = (Timestamp, Timestamp)>) -> f64 {
    let mut periods: Vec<_> = periods.collect();
    periods.sort_unstable();
    let (mut nanos, mut end) = (0, Timestamp(0));
    for (from, to) in periods {
        let from = from.max(end);
        nanos += to.nanos_since(from).max(0);
        end = end.max(to);
    }
    nanos as f64 / 1e9
}

fn time(text: &str) -> Option<Timestamp> {
    Timestamp::from_rfc3339(text)
}

fn walk_forward(
    header: &Header,
    space: &Space,
    rows: &Rows,
    chosen: &dyn Fn(&Group<'_>, &Score<'_>) -> Chosen,
) -> WalkForwardResult {
    let mut pooled = RunningMoments::default();
    let mut windows = Vec::new();
    let (mut net, mut excess, mut seconds) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    let (mut better_half, mut by_chance) = (0, 0.0);
    let (mut test_quoting, mut test_fills) = (0.0, 0);
    for (window, times) in (0..).zip(&header.windows) {
        let train = group(rows, space, Some(window), Phase::Train);
        let test = group(rows, space, Some(window), Phase::Test);
        let best = train.best(space.metric);
        let then = best.and_then(|best| {
            let same = |score: &&Score<'_>| score.row.trial == best.row.trial;
            test.scores.iter().find(same)
        });
        for (at, score) in [best, then].into_iter().enumerate() {
            if let Some(score) = score {
                let own = score.figures.net_pnl.as_ref();
                let own = own.and_then(|text| text.parse::<f64>().ok());
                net[at] += own.unwrap_or(0.0);
                excess[at] += score.excess.unwrap_or(0.0);
                seconds[at] += score.figures.duration_s;
            }
        }
        if let Some(score) = then {
            pooled.merge(&score.figures.returns.into());
            test_quoting += quoting(score.figures).unwrap_or(0.0);
            test_fills += score.figures.fills;
        }
        let rank = then.and_then(|score| test.rank(score, space.metric));
        if let Some((rank, of)) = rank {
            better_half += u64::from(rank * 2 <= of);
            by_chance += test.better_half(space.metric);
        }
        windows.push(WindowResult {
            window,
            times: times.clone(),
            train: best.map(|score| chosen(&train, score)),
            // What is chosen before is no best of its group: nothing is deflated.
            test: then.map(|score| Chosen {
                deflated: None,
                ..chosen(&test, score)
            }),
            test_rank: rank.map(|(rank, _)| rank),
            test_trials: rank.map(|(_, of)| of),
            traded: [train.traded(), test.traded()],
        });
    }
    let count = |is: &dyn Fn(&Chosen) -> bool| {
        let of = |part: fn(&WindowResult) -> Option<&Chosen>| {
            let each = windows.iter().filter_map(part);
            each.filter(|chosen| is(chosen)).count() as u64
        };
        [of(|w| w.train.as_ref()), of(|w| w.test.as_ref())]
    };
    let number = |text: &Option<String>| text.as_ref()?.parse::<f64>().ok();
    let lost = count(&|chosen| number(&chosen.net_pnl).is_some_and(|net| net < 0.0));
    let without_excess = count(&|chosen| {
        let excess = number(&chosen.excess_over_holding);
        chosen.fills > 0 && excess.is_some_and(|excess| excess <= 0.0)
    });
    let per_day =
        |of: [f64; 2], at: usize| (seconds[at] > 0.0).then(|| of[at] / seconds[at] * DAY_S);
    let data = data_of(header);
    let moments = pooled.moments().ok();
    WalkForwardResult {
        unused_s: unused_s(header),
        data,
        train_s: seconds[0],
        train_distinct_s: covered_s(windows.iter().filter_map(|window: &WindowResult| {
            window.train.as_ref()?;
            time(&window.times[0]).zip(time(&window.times[1]))
        })),
        test_s: seconds[1],
        windows,
        train_net_per_day: per_day(net, 0),
        test_net_per_day: per_day(net, 1),
        test_net: net[1],
        train_excess_per_day: per_day(excess, 0),
        test_excess_per_day: per_day(excess, 1),
        test_quoting,
        test_fills,
        train_excess: excess[0],
        test_excess: excess[1],
        test_sharpe: moments.map(|moments| annual(moments.sharpe(), space.return_interval_s)),
        test_probability: moments.and_then(|moments| moments.probability_above(0.0).ok()),
        better_half,
        better_half_by_chance: by_chance,
        lost,
        without_excess,
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
