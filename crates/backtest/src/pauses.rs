//! How long quoting was paused, and why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::end_state::share_text;
use crate::report::{LevelReport, SideReport};

/// The reason of a side that a pause keeps without quotes.
const REASON: &str = "paused";
/// From this share of a run on, its figures are to a good part those of a pause.
const LONG: f64 = 0.1;

/// The pauses of a run, such as those by `loss_hour_max`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pauses {
    /// Seconds without quotes because of pauses, of the side where this was longest.
    pub seconds: f64,
    /// The same as a share of the run.
    pub share: f64,
    /// Whether a side was paused at the end.
    pub at_end: bool,
    /// Number of pauses by cause.
    pub causes: BTreeMap<String, u64>,
}

impl Pauses {
    /// Finds them in the sides and changes of a run.
    pub fn new(
        sides: &[SideReport],
        levels: &[LevelReport],
        duration_s: f64,
        at_end: bool,
    ) -> Self {
        let each = sides.iter().filter_map(|side| side.withheld_s.get(REASON));
        let seconds = each.copied().fold(0.0, f64::max);
        let mut causes = BTreeMap::new();
        for pause in levels.iter().filter(|change| change.what == REASON) {
            *causes.entry(pause.cause.clone()).or_default() += 1;
        }
        Self {
            seconds,
            share: if duration_s > 0.0 {
                (seconds / duration_s).clamp(0.0, 1.0)
            } else {
                0.0
            },
            at_end,
            causes,
        }
    }

    /// Whether it was for more than a tenth of the time.
    pub fn is_long(&self) -> bool {
        self.share > LONG
    }

    /// In words: `paused for 96.2 % of the time (loss_hour), also at the end`; `None` without a pause.
    pub fn text(&self) -> Option<String> {
        (self.seconds > 0.0 || self.at_end).then(|| {
            let causes: Vec<_> = self.causes.keys().map(String::as_str).collect();
            let by = match causes.join(", ") {
                none if none.is_empty() => none,
                causes => format!(" ({causes})"),
            };
            let end = if self.at_end { ", also at the end" } else { "" };
            format!("paused for {} of the time{by}{end}", share_text(self.share))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_those_of_the_side_where_they_were_longest() {
        let side = |side, paused: f64| SideReport {
            market: "M".to_owned(),
            side,
            quoted_s: 0.0,
            quoted_as_polled_s: 0.0,
            withheld_s: [("paused", paused), ("spread", 90.0)]
                .map(|(reason, seconds)| (reason.to_owned(), seconds))
                .into(),
        };
        let change = |what: &str, cause: &str| LevelReport {
            time: String::new(),
            what: what.to_owned(),
            cause: cause.to_owned(),
        };
        let sides = [side("buy", 10.0), side("sell", 25.0)];
        let levels = [
            change("paused", "loss_hour"),
            change("cancel_only", "drawdown"),
            change("paused", "price_move"),
            change("paused", "loss_hour"),
        ];
        let found = Pauses::new(&sides, &levels, 100.0, true);
        assert_eq!((found.seconds, found.share), (25.0, 0.25));
        assert_eq!(found.causes["loss_hour"], 2);
        assert!(found.is_long());
        assert_eq!(
            found.text().as_deref(),
            Some("paused for 25.0 % of the time (loss_hour, price_move), also at the end")
        );
        let short = Pauses::new(&sides, &levels, 1_000.0, false);
        assert!(!short.is_long());
        let none = Pauses::new(&[], &[], 100.0, false);
        assert_eq!((none.text(), none), (None, Pauses::default()));
    }
}
