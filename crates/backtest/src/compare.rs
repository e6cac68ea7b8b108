//! Several runs on one HTML page: superimposed curves, tables of figures, maps of two parameters. The page is one file
//! without script or external resources, legible in light and dark.

use std::fmt::Write;

use cambist_market_data::Timestamp;

use crate::chart::{Line, chart};
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
        let times = || {
            lines
                .iter()
                .flat_map(|line| &line.points)
                .map(|point| point.0)
        };
        let span = times().min().zip(times().max());
        let drawn = span.and_then(|span| chart(&lines, &[], span));
        if drawn.is_some()
            && let Some(span) = span
        {
            section(page, &self.title, &lines, &[], span);
            if self.curves.len() > lines.len() {
                _ = writeln!(
                    page,
                    "<p>{} of {} are drawn.</p>",
                    lines.len(),
                    self.curves.len()
                );
            }
        }
    }
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
}
