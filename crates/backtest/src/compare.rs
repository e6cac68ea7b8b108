//! Several runs on one HTML page: superimposed curves, tables of figures, maps of two parameters. The page is one file
//! without script or external resources, legible in light and dark.

use std::fmt::Write;

use cambist_market_data::Timestamp;

use crate::chart::{self, Line, TimeAxis};
pub use crate::heat_map::{HeatMap, HeatMaps};
use crate::html::{STYLE, escape, list, section, table, tile_row};

/// Colours of curves; further curves repeat them dashed.
const CLASSES: [&str; 16] = [
    "c0",
    "c1",
    "c2",
    "c3",
    "c4",
    "c5",
    "c6",
    "c7",
    "c0 dashed",
    "c1 dashed",
    "c2 dashed",
    "c3 dashed",
    "c4 dashed",
    "c5 dashed",
    "c6 dashed",
    "c7 dashed",
];

/// Most curves of one chart that can be distinguished; further ones are left out.
pub const CURVES_MAX: usize = CLASSES.len();

/// A curve of a run.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// Name of the run.
    pub name: String,
    /// Its points in order of time; where a value is missing the line is broken.
    pub points: Vec<(Timestamp, Option<f64>)>,
}

/// Superimposed curves.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Title.
    pub title: String,
    /// At most [`CURVES_MAX`] are drawn.
    pub curves: Vec<Curve>,
}

/// A table of figures.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Title; a table without rows is left out.
    pub title: String,
    /// Names of its columns.
    pub head: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
}

/// How a run compares with another one, as a part of its report.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Title.
    pub title: String,
    /// Tables of figures.
    pub tables: Vec<Table>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// What the comparison rests on.
    pub statements: Vec<String>,
}

impl Beside {
    pub(crate) fn add_to(&self, page: &mut String) {
        for table in &self.tables {
            table.add_to(page);
        }
        for chart in &self.charts {
            chart.add_to(page);
        }
        list(page, &escape(&self.title), &self.statements);
    }

    /// As text: tables in columns, then the statements.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for Table { title, head, rows } in &self.tables {
            let all = || [head].into_iter().chain(rows);
            let widths: Vec<_> = (0..head.len())
                .map(|at| {
                    let cells = all().filter_map(|row| row.get(at));
                    cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
                })
                .collect();
            _ = writeln!(text, "\n{title}");
            for row in all() {
                let cells = row.iter().zip(&widths);
                let line: Vec<_> = cells
                    .map(|(cell, width)| format!("{cell:<width$}"))
                    .collect();
                _ = writeln!(text, "{}", line.join("  ").trim_end());
            }
        }
        _ = writeln!(text, "\n{}", self.title);
        for statement in &self.statements {
            _ = writeln!(text, "- {statement}");
        }
        text
    }
}

impl Table {
    fn add_to(&self, page: &mut String) {
        let head: Vec<_> = self.head.iter().map(String::as_str).collect();
        page.push_str("<div class=\"wide\">\n");
        table(page, &self.title, &head, &self.rows);
        page.push_str("</div>\n");
    }
}

/// The contents of a page, in the order of the fields.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Title of the page.
    pub title: String,
    /// Below the title.
    pub subtitle: String,
    /// Names and values of the main figures, shown first.
    pub tiles: Vec<(String, String)>,
    /// What must be known before any figure: shown first.
    pub warnings: Vec<String>,
    /// What the runs prove and what they do not.
    pub statements: Vec<String>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// Maps of two parameters.
    pub heat_maps: Vec<HeatMaps>,
    /// Tables.
    pub tables: Vec<Table>,
    /// The assumptions, in sentences.
    pub assumed: Vec<String>,
    /// Texts that are unfolded on request, with their names.
    pub details: Vec<(String, String)>,
}

impl Comparison {
    /// Renders the page.
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n<style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n<p>{}</p>\n",
            escape(&self.subtitle)
        );
        for warning in &self.warnings {
            _ = writeln!(page, "<p><strong>{}</strong></p>", escape(warning));
        }
        tile_row(&mut page, &self.tiles);
        list(&mut page, "What the numbers say", &self.statements);
        for chart in &self.charts {
            chart.add_to(&mut page);
        }
        for maps in &self.heat_maps {
            maps.add_to(&mut page);
        }
        for table in &self.tables {
            table.add_to(&mut page);
        }
        list(&mut page, "Assumed", &self.assumed);
        for (name, text) in &self.details {
            _ = writeln!(
                page,
                "<details><summary>{}</summary><pre>{}</pre></details>",
                escape(name),
                escape(text)
            );
        }
        page.push_str("</body></html>\n");
        page
    }
}

impl Chart {
    fn add_to(&self, page: &mut String) {
        let shown = self.curves.iter().zip(CLASSES);
        let lines: Vec<_> = shown
            .map(|(curve, class)| Line {
                name: curve.name.clone().into(),
                class,
                points: curve.points.clone(),
                steps: false,
            })
            .collect();
        let span = span(&lines);
        // Runs of different times are compared by what they came to after equal times.
        let axis = if self.curves.len() > 1 && !self.overlap() {
            TimeAxis::SinceStart
        } else {
            TimeAxis::Utc
        };
        let (lines, span) = match axis {
            TimeAxis::Utc => (lines, span),
            TimeAxis::SinceStart => since_start(lines),
        };
        let Some(span) = span else { return };
        let chart = chart::Chart {
            lines: &lines,
            marks: &[],
            shades: (&[], ""),
            span,
            axis,
        };
        if chart.draw().is_none() {
            return;
        }
        section(page, &self.title, &chart);
        if self.curves.len() > lines.len() {
            _ = writeln!(
                page,
                "<p>{} of {} are drawn.</p>",
                lines.len(),
                self.curves.len()
            );
        }
    }

    /// Whether any two of the curves have a time in common.
    fn overlap(&self) -> bool {
        let spans = self.curves.iter().filter_map(|curve| {
            let times = || curve.points.iter().map(|point| point.0);
            times().min().zip(times().max())
        });
        let mut spans: Vec<_> = spans.collect();
        spans.sort_unstable();
        spans.windows(2).any(|pair| pair[1].0 < pair[0].1)
    }
}

/// The time from the first point to the last one.
fn span(lines: &[Line]) -> Option<(Timestamp, Timestamp)> {
    let times = || lines.iter().flat_map(|line| &line.points);
    let times = || times().map(|point| point.0);
    times().min().zip(times().max())
}

/// The lines with the first point of each at 0.
fn since_start(mut lines: Vec<Line>) -> (Vec<Line>, Option<(Timestamp, Timestamp)>) {
    for line in &mut lines {
        let start = line.points.iter().map(|point| point.0).min();
        for point in &mut line.points {
            point.0 = Timestamp(point.0.nanos_since(start.unwrap_or_default()));
        }
    }
    let span = span(&lines);
    (lines, span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_they_are_and_do_nothing() {
        let at = |second: i64| Timestamp(second * 1_000_000_000);
        let curve = |name: String| Curve {
            name,
            points: vec![(at(0), Some(0.0)), (at(1), None), (at(2), Some(-1.5))],
        };
        let page = Comparison {
            title: "<b>".to_owned(),
            charts: vec![Chart {
                title: "Equity".to_owned(),
                curves: (0..20).map(|n| curve(format!("<i>{n}"))).collect(),
            }],
            tables: vec![Table {
                title: "Runs".to_owned(),
                head: vec!["<u>".to_owned()],
                rows: vec![vec!["<s>".to_owned(), "a word ".repeat(9)]],
            }],
            ..Comparison::default()
        }
        .html();
        for wrong in ["<b>", "<i>", "<u>", "<s>", "<script", "http"] {
            // Figures of tiles are bold; this page has none.
            assert!(!page.contains(wrong), "{wrong}");
        }
        assert!(page.contains("&lt;i&gt;15") && !page.contains("&lt;i&gt;16"));
        assert!(page.contains("16 of 20 are drawn"));
        // Numbers stay on one line, long texts do not.
        assert!(page.contains("<td>&lt;s&gt;</td><td class=\"text\">a word"));
        assert!(
            page.contains(".wide td { white-space: nowrap; }") && page.contains("overflow-x: auto")
        );
        assert_eq!(page.matches("<path class=\"c0").count(), 2);
    }

    /// What a curve came to after an hour is below that of another one, whatever the day.
    #[test]
    fn runs_of_different_times_are_drawn_from_their_start() {
        let at = |second: i64| Timestamp(second * 1_000_000_000);
        let drawn = |begins: [i64; 2]| {
            let curve = |begin: i64| Curve {
                name: format!("from {begin}"),
                points: vec![(at(begin), Some(0.0)), (at(begin + 3_600), Some(1.0))],
            };
            let chart = Chart {
                title: "Equity".to_owned(),
                curves: begins.map(curve).to_vec(),
            };
            let mut page = String::new();
            chart.add_to(&mut page);
            page
        };
        let path = |page: &str, class: &str| {
            let line = page
                .lines()
                .find(|line| line.starts_with(&format!("<path class=\"{class}\"")));
            line.and_then(|line| Some(line.split_once(" d=")?.1.to_owned()))
        };
        let apart = drawn([86_400, 864_000]);
        assert!(apart.contains("since the start of each run") && !apart.contains("UTC"));
        assert!(apart.contains(">0:05</text>"), "{apart}");
        assert_eq!(path(&apart, "c0"), path(&apart, "c1"));
        // One after the other is apart.
        assert!(drawn([0, 3_600]).contains("since the start"));
        let together = drawn([86_400, 86_400 + 3_599]);
        assert!(together.contains("UTC") && !together.contains("since the start"));
        assert_ne!(path(&together, "c0"), path(&together, "c1"));
    }
}
