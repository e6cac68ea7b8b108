//! What was left out of the data of a market, and what is unusual in them: the same sentences for a run and for a sweep.

use cambist_market_data::{DefectKind, Skipped};
use serde::{Deserialize, Serialize};

use crate::report::DataReport;

/// Parts in a hundred of the rows from which on it matters which rows were left out.
const MANY_PERCENT: u64 = 5;

/// Defects of the data of one market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataDefects {
    /// The market.
    pub market: String,
    /// Rows that were read; a poll of a feed without a book is none.
    pub rows: u64,
    /// Of them, rows that were left out.
    pub left_out: u64,
    /// Skipped defects, by kind; of a gap, no row is left out.
    pub skipped: Vec<Skipped>,
    /// What is unusual and is not refused, if there is something.
    pub unusual: Option<String>,
    /// That the recorded delay is too long to be one, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<String>,
    /// That no mid was within the market's price band, if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// What makes the results doubtful although no row has a defect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Whether a skipped defect of this kind leaves a row out.
fn leaves_out(kind: DefectKind, is_events: bool) -> bool {
    match kind {
        // What is missing or unreadable is no row that was read.
        DefectKind::Gap | DefectKind::Truncated | DefectKind::Damaged | DefectKind::Unavailable => {
            false
        }
        // In a book of single changes, levels are removed instead.
        DefectKind::Crossed => !is_events,
        _ => true,
    }
}

impl From<&DataReport> for DataDefects {
    fn from(data: &DataReport) -> Self {
        let skipped = data.report.skipped.clone();
        let is_events = data.kind == "events";
        let out = skipped
            .iter()
            .filter(|skipped| leaves_out(skipped.kind, is_events));
        Self {
            market: data.market.clone(),
            rows: data
                .report
                .rows
                .saturating_sub(data.report.skipped(DefectKind::Unavailable)),
            left_out: out.map(|skipped| skipped.count).sum(),
            skipped,
            unusual: data.unusual(),
            late: data.late(),
            warnings: data.warnings.clone(),
            outside: data.outside.as_ref().map(|outside| {
                let ([low, high], [floor, ceiling]) = (&outside.mids, &outside.band);
                format!(
                    "The mid of {} was {low} to {high}, never within price_floor to price_ceiling ({floor} to {ceiling}): data of another market, or in another unit?",
                    data.market
                )
            }),
        }
    }
}

impl DataDefects {
    /// Whether there is nothing to report.
    pub const fn is_empty(&self) -> bool {
        self.skipped.is_empty()
            && self.unusual.is_none()
            && self.late.is_none()
            && self.outside.is_none()
            && self.warnings.is_empty()
    }

    /// How many of the rows were used: `1800`, or `13 of 1800` if some were left out.
    pub fn used(&self) -> String {
        match self.left_out {
            0 => self.rows.to_string(),
            out => format!("{} of {}", self.rows.saturating_sub(out), self.rows),
        }
    }

    /// What was skipped, by kind, and the share of the rows.
    pub fn skipped(&self) -> Option<String> {
        let each = self.skipped.iter();
        let each = each.map(|skipped| format!("{} {}", skipped.count, skipped.kind.name()));
        let kinds: Vec<_> = each.collect();
        (!kinds.is_empty()).then(|| {
            format!(
                "{}; {} of {} rows ({:.1} %) were left out",
                kinds.join(", "),
                self.left_out,
                self.rows,
                self.share() * 100.0
            )
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "for display")]
    fn share(&self) -> f64 {
        self.left_out as f64 / self.rows.max(1) as f64
    }

    /// That a large share of the rows was left out, if it was.
    pub fn many(&self) -> Option<String> {
        let is_many = self.left_out.saturating_mul(100) > self.rows.saturating_mul(MANY_PERCENT);
        let others = self.skipped.iter();
        let no_rows = [DefectKind::Gap, DefectKind::Unavailable];
        let others = others.filter(|skipped| !no_rows.contains(&skipped.kind));
        let first = others.max_by_key(|skipped| skipped.count);
        is_many.then(|| {
            format!(
                "{} of {} rows of {} ({:.1} %, above {MANY_PERCENT} %) were left out, and the results rest on the others. The row before the first one that was left out may be the wrong one, such as one with a time that is too late: {}",
                self.left_out,
                self.rows,
                self.market,
                self.share() * 100.0,
                first.map_or("", |skipped| skipped.first.as_str())
            )
        })
    }

    /// What is unusual, as a sentence.
    pub fn unusual(&self) -> Option<String> {
        let unusual = self.unusual.as_ref()?;
        Some(format!(
            "The data of {} have {unusual}: many of them are a defect of the recording.",
            self.market
        ))
    }

    /// Everything, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let skipped = self
            .skipped()
            .map(|what| format!("Skipped in the data of {}: {what}.", self.market));
        let first = [self.outside.clone(), self.many()].into_iter().flatten();
        let last = [skipped, self.late.clone(), self.unusual()];
        first
            .chain(self.warnings.iter().cloned())
            .chain(last.into_iter().flatten())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outages::OutageReport;

    fn defects(kinds: &[(DefectKind, u64)]) -> DataDefects {
        let data = read(|report| {
            report.kept = 0;
            for (kind, count) in kinds {
                for _ in 0..*count {
                    report.skip(*kind, || "a.csv: line 4: it is early".to_owned());
                }
            }
        });
        DataDefects::from(&DataReport {
            kind: "snapshots",
            ..data
        })
    }

    /// The data of a market of which this was read.
    fn read(count: impl FnOnce(&mut cambist_market_data::Report)) -> DataReport {
        let mut report = cambist_market_data::Report {
            rows: 1_000,
            kept: 1_000,
            ..cambist_market_data::Report::default()
        };
        count(&mut report);
        DataReport {
            market: "ETH-USDC".to_owned(),
            kind: "events",
            files: Vec::new(),
            report,
            crossings: 0,
            unknown_orders: 0,
            outside: None,
            outages: OutageReport::default(),
            unused: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn views_that_differ_by_more_than_two_percent_are_unusual() {
        for (trades, [exchange, local], [all_exchange, all_local], expected) in [
            (100, [0, 2], [0, 2], None),
            (
                100,
                [0, 3],
                [0, 3],
                Some("3 of 100 trades at the recorder's time only, 0 at"),
            ),
            (
                100,
                [3, 0],
                [3, 0],
                Some("0 of 100 trades at the recorder's time only, 3 at"),
            ),
            (100, [40, 42], [440, 442], None),
            (0, [0, 0], [0, 20], None),
            (
                0,
                [0, 0],
                [0, 21],
                Some("21 of 1000 other rows at the recorder's"),
            ),
        ] {
            let data = read(|report| {
                report.views = cambist_market_data::Views {
                    trades,
                    fills: 0,
                    exchange_only: all_exchange,
                    local_only: all_local,
                    trades_exchange_only: exchange,
                    trades_local_only: local,
                };
            });
            let unusual = data.unusual();
            match expected {
                None => assert_eq!(unusual, None),
                Some(words) => assert!(unusual.unwrap_or_default().contains(words), "{words}"),
            }
            let names: Vec<_> = data.details().into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["one time only"]);
        }
    }

    #[test]
    fn a_median_delay_above_ten_seconds_is_named() {
        for (nanos, is_late) in [(9_000_000_000, false), (3_600_000_000_000, true)] {
            let data = read(|report| {
                for _ in 0..3 {
                    report.delay.add(nanos, 1);
                }
                report.delay.add(7_200_000_000_000, 1);
                report.ignored = 4;
            });
            let sentences = DataDefects::from(&data).sentences();
            assert_eq!(sentences.len(), usize::from(is_late), "{sentences:?}");
            let details = data.details();
            assert_eq!(details[0].0, "ignored");
            assert!(details[1].1.contains("at most 7200.0 s"), "{details:?}");
        }
        let none = read(|report| report.delay.add(0, 1));
        assert!(none.details().is_empty(), "one time is no delay");
    }

    #[test]
    fn a_stale_book_is_a_row_that_is_left_out_and_a_poll_without_a_book_is_no_row() {
        let live = defects(&[(DefectKind::Unavailable, 10), (DefectKind::Stale, 40)]);
        assert_eq!(live.used(), "950 of 990");
        assert_eq!(
            live.sentences(),
            [
                "Skipped in the data of ETH-USDC: 10 unavailable, 40 stale; 40 of 990 rows (4.0 %) were left out."
            ]
        );
        let away = defects(&[(DefectKind::Unavailable, 900)]);
        assert_eq!((away.used(), away.many()), ("100".to_owned(), None));
        let late = defects(&[(DefectKind::Stale, 51)]);
        assert!(
            late.many()
                .is_some_and(|many| many.starts_with("51 of 1000 rows"))
        );
    }

    #[test]
    fn more_than_a_twentieth_of_the_rows_is_many() {
        let none = defects(&[]);
        assert!(none.is_empty() && none.sentences().is_empty());
        assert_eq!(none.used(), "1000");
        let few = defects(&[(DefectKind::Gap, 3), (DefectKind::Backward, 50)]);
        assert_eq!(few.used(), "950 of 1000");
        assert_eq!(
            few.sentences(),
            [
                "Skipped in the data of ETH-USDC: 3 gap, 50 backward; 50 of 1000 rows (5.0 %) were left out."
            ]
        );
        let many = defects(&[(DefectKind::Gap, 3), (DefectKind::Backward, 51)]).sentences();
        assert!(
            many[0].contains("51 of 1000 rows of ETH-USDC (5.1 %, above 5 %)")
                && many[0].ends_with("a.csv: line 4: it is early"),
            "{many:?}"
        );
    }
}
