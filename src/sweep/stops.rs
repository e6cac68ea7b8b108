//! Runs in which trading stopped before the end of the data: their figures include time without quotes.

use std::collections::BTreeMap;

use cambist_backtest::{EndState, share_text};
use serde::Serialize;

use super::run::Figures;
use super::statements::MISSING;
use super::summary::{Chosen, Summary, WindowResult};

/// How many runs were stopped, and by what.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stopped {
    /// Whether the runs have their trading state; of results before format 4 only runs whose engine ended are known.
    pub is_recorded: bool,
    /// Runs in which trading stopped.
    pub runs: u64,
    /// Of them, by what stopped it first: a control, or an invariant that failed.
    pub by_cause: BTreeMap<String, u64>,
    /// Of them, by the trading state at the end.
    pub by_state: BTreeMap<String, u64>,
    /// The least and the largest share of their time before that.
    pub after: Option<[f64; 2]>,
}

impl Stopped {
    /// Counts the runs of a sweep.
    pub fn of<'a>(all: impl Iterator<Item = &'a Figures>, is_recorded: bool) -> Self {
        let mut found = Self {
            is_recorded,
            ..Self::default()
        };
        for figures in all.filter(|figures| figures.is_stopped()) {
            found.runs += 1;
            if let Some(end) = &figures.trading_state {
                *found.by_state.entry(end.state.clone()).or_default() += 1;
                let cause = end.stopped_by().map(str::to_owned);
                if let Some(cause) = cause {
                    *found.by_cause.entry(cause).or_default() += 1;
                }
            }
            if let Some(share) = figures.stopped_after() {
                let [least, most] = found.after.unwrap_or([share; 2]);
                found.after = Some([least.min(share), most.max(share)]);
            }
        }
        found
    }
}

/// What happened after trading stopped: their rows do not have the number of later fills.
const AFTER_STOPS: &str =
    "no new orders were made, and orders that rested could still fill until their cancels arrived";

/// Counts with their names: `drawdown in 12, loss_total in 4`.
pub fn counts(of: &BTreeMap<String, u64>) -> String {
    let each = of.iter().map(|(name, count)| format!("{name} in {count}"));
    each.collect::<Vec<_>>().join(", ")
}

/// The trading state at the end of a run, in words; the mark of a run whose trading stopped before the end of the data.
pub fn marked(figures: &Figures) -> String {
    let state = state(
        figures.trading_state.as_ref(),
        figures.engine_ended.as_ref(),
    );
    if figures.is_stopped() {
        format!("stopped: {state}")
    } else {
        state
    }
}

/// The trading state at the end of a run, in words.
pub fn state(end: Option<&EndState>, engine_ended: Option<&String>) -> String {
    match (end, engine_ended) {
        (Some(end), _) => end.text(),
        (None, Some(at)) => format!("ended {at}"),
        (None, None) => MISSING.to_owned(),
    }
}

/// What must be known before any figure of a sweep: how many runs were stopped, by what, and whether what was chosen is
/// one of them.
pub fn warnings(summary: &Summary) -> Vec<String> {
    let stopped = &summary.stopped;
    if stopped.runs == 0 {
        return Vec::new();
    }
    let by = match counts(&stopped.by_cause) {
        causes if causes.is_empty() => String::new(),
        causes => format!(
            ": by {causes} (trading state at the end: {})",
            counts(&stopped.by_state)
        ),
    };
    let after = stopped.after.map_or_else(String::new, |[least, most]| {
        format!(", after {} of their time", share_range(least, most))
    });
    let mut sentences = vec![format!(
        "In {} of {} runs trading stopped before the end of the data{by}{after}. After that {AFTER_STOPS}: amounts, Sharpe ratios and the deflated Sharpe ratio include the time without quotes. These trials are ranked behind those that traded to the end.",
        stopped.runs, summary.runs
    )];
    if let Some(best) = &summary.best {
        sentences.push(if best.is_stopped() {
            let after = best.stopped_after.map_or_else(String::new, |after| {
                format!(", after {} of its time", share_text(after))
            });
            format!(
                "The best trial, {}, is one of them: {}{after}.",
                best.trial,
                best.state()
            )
        } else {
            format!("The best trial, {}, is none of them.", best.trial)
        });
    }
    if let Some(walk) = &summary.walk_forward {
        sentences.push(of_windows(&walk.windows, Chosen::is_stopped));
    }
    sentences
}

/// Two shares of the time, or one where both are the same for display.
pub fn share_range(least: f64, most: f64) -> String {
    let (least, most) = (share_text(least), share_text(most));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

/// In how many windows the chosen trial is one of the runs of a warning.
pub fn of_windows(windows: &[WindowResult], is_one: fn(&Chosen) -> bool) -> String {
    let count = |of: fn(&WindowResult) -> Option<&Chosen>| {
        let chosen = windows.iter().filter_map(of);
        chosen.filter(|chosen| is_one(chosen)).count()
    };
    format!(
        "The chosen trial is one of them on train in {} and on test in {} of {} windows.",
        count(|window| window.train.as_ref()),
        count(|window| window.test.as_ref()),
        windows.len()
    )
}

/// That the trading state of the runs is not known, where it is not.
pub fn not_recorded(summary: &Summary) -> Option<String> {
    (!summary.stopped.is_recorded).then(|| {
        "These results are of an earlier program, which did not record the trading state of a run: runs in which no new orders were allowed any more (cancel_only) are not known. Run the sweep again to know them.".to_owned()
    })
}
