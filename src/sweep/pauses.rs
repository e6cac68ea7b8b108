//! Runs in which quoting was paused for long, such as by `loss_hour_max`: their trading state at the end is `trading`.

use std::collections::BTreeMap;

use cambist_backtest::Pauses;
use serde::Serialize;

use super::run::Figures;
use super::stops::{counts, of_windows, share_range};
use super::summary::{Chosen, Summary};

/// How many runs were paused for more than a tenth of their time, and by what.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Paused {
    /// Whether all runs have their pauses.
    pub is_recorded: bool,
    /// Runs in which quoting was paused for more than a tenth of the time.
    pub runs: u64,
    /// Of them, by cause; a run with several causes counts for each.
    pub by_cause: BTreeMap<String, u64>,
    /// Of them, runs that were paused at the end.
    pub at_end: u64,
    /// The least and the largest share of their time.
    pub share: Option<[f64; 2]>,
}

impl Paused {
    /// Counts the runs of a sweep.
    pub fn of<'a>(all: impl Iterator<Item = &'a Figures>) -> Self {
        let mut found = Self {
            is_recorded: true,
            ..Self::default()
        };
        for figures in all {
            let Some(pauses) = &figures.pauses else {
                found.is_recorded = false;
                continue;
            };
            if !pauses.is_long() {
                continue;
            }
            found.runs += 1;
            found.at_end += u64::from(pauses.at_end);
            for cause in pauses.causes.keys() {
                *found.by_cause.entry(cause.clone()).or_default() += 1;
            }
            let [least, most] = found.share.unwrap_or([pauses.share; 2]);
            found.share = Some([least.min(pauses.share), most.max(pauses.share)]);
        }
        found
    }
}

/// The trading state at the end in words, with pauses.
pub fn with(state: String, pauses: Option<&Pauses>) -> String {
    match pauses.and_then(Pauses::text) {
        Some(text) => format!("{state}; {text}"),
        None => state,
    }
}

/// What must be known before any figure of a sweep: how many runs were paused for long, and whether what was chosen is
/// one of them.
pub fn warnings(summary: &Summary) -> Vec<String> {
    let paused = &summary.paused;
    let Some([least, most]) = paused.share else {
        return Vec::new();
    };
    let share = share_range(least, most);
    let by = match counts(&paused.by_cause) {
        none if none.is_empty() => none,
        causes => format!(", by {causes}"),
    };
    let mut sentences = vec![format!(
        "In {} of {} runs quoting was paused for more than a tenth of the time: for {share} of it{by}; {} of them ended paused. Amounts and Sharpe ratios include this time.",
        paused.runs, summary.runs, paused.at_end
    )];
    if let Some(best) = &summary.best {
        let text = best.pauses.as_ref().filter(|pauses| pauses.is_long());
        sentences.push(match text.and_then(Pauses::text) {
            Some(text) => format!("The best trial, {}, is one of them: {text}.", best.trial),
            None => format!("The best trial, {}, is none of them.", best.trial),
        });
    }
    if let Some(walk) = &summary.walk_forward {
        sentences.push(of_windows(&walk.windows, Chosen::is_long_paused));
    }
    sentences
}

/// That the pauses of the runs are not known, where they are not.
pub fn not_recorded(summary: &Summary) -> Option<String> {
    let is_known = summary.paused.is_recorded || !summary.stopped.is_recorded;
    (!is_known).then(|| {
        "Some of these runs are of an earlier program, which did not record pauses: run the sweep again to know them.".to_owned()
    })
}
