//! A figure over two parameters as SVG: green above zero, red below, stronger with the distance.

use std::fmt::Write;

use crate::html::escape;

const WIDTH: f64 = 960.0;
/// Margins for labels: left, top, bottom.
const LEFT: f64 = 120.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 44.0;
const ROW: f64 = 30.0;
const CELL_MAX: f64 = 110.0;
/// Narrower cells have no number.
const CELL_MIN: f64 = 38.0;
/// The strongest colour on which text is legible.
const STRONGEST: f64 = 0.6;

/// A figure over two parameters.
#[derive(Clone, Debug, Default)]
pub struct HeatMap {
    /// Title.
    pub title: String,
    /// Parameter from left to right, and its values.
    pub across: (String, Vec<String>),
    /// Parameter from top to bottom, and its values.
    pub down: (String, Vec<String>),
    /// Figures, row by row from the top; `None` leaves a cell empty.
    pub cells: Vec<Vec<Option<f64>>>,
    /// Decimals of the figures.
    pub decimals: usize,
}

/// Maps of the same two parameters.
#[derive(Clone, Debug, Default)]
pub struct HeatMaps {
    /// Both parameters.
    pub title: String,
    /// What the figures rest on.
    pub note: String,
    /// Whether they are shown at once; others are unfolded on request.
    pub is_open: bool,
    /// The maps.
    pub maps: Vec<HeatMap>,
}

impl HeatMaps {
    pub(crate) fn add_to(&self, page: &mut String) {
        let (title, note) = (escape(&self.title), escape(&self.note));
        let open = if self.is_open { " open" } else { "" };
        _ = writeln!(
            page,
            "<details{open}><summary>Heat maps: {title}</summary>\n<p>{note}</p>"
        );
        for map in &self.maps {
            _ = writeln!(page, "<h2>{}</h2>\n{}", escape(&map.title), map.svg());
        }
        page.push_str("</details>\n");
    }
}

impl HeatMap {
    /// Renders the map.
    #[expect(clippy::cast_precision_loss, reason = "pixels")]
    pub fn svg(&self) -> String {
        let (columns, rows) = (self.across.1.len().max(1), self.down.1.len());
        let cell = ((WIDTH - LEFT) / columns as f64).min(CELL_MAX);
        let height = TOP + ROW * rows as f64 + BOTTOM;
        let all = || self.cells.iter().flatten().flatten();
        let most = all().fold(0.0, |most: f64, value| most.max(value.abs()));
        let best = all().copied().reduce(f64::max);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
            escape(&self.title)
        );
        let mut frame = String::new();
        for (y, name) in self.down.1.iter().enumerate() {
            let top = TOP + ROW * y as f64;
            let middle = top + ROW / 2.0 + 4.0;
            _ = writeln!(
                svg,
                "<text class=\"y\" x=\"{:.1}\" y=\"{middle:.1}\">{}</text>",
                LEFT - 8.0,
                escape(name)
            );
            for (x, value) in self.cells.get(y).into_iter().flatten().enumerate() {
                let left = LEFT + cell * x as f64;
                let place = format!(
                    "x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"3\"",
                    left + 1.0,
                    top + 1.0,
                    cell - 2.0,
                    ROW - 2.0
                );
                let label = format!(
                    "{} {}, {} {}",
                    self.across.0,
                    self.across.1.get(x).map_or("", String::as_str),
                    self.down.0,
                    name
                );
                self.cell(&mut svg, &place, *value, most, &label);
                if let Some(value) = value
                    && cell >= CELL_MIN
                {
                    _ = writeln!(
                        svg,
                        "<text class=\"cell\" x=\"{:.1}\" y=\"{middle:.1}\">{value:.*}</text>",
                        left + cell / 2.0,
                        self.decimals
                    );
                }
                if value.is_some() && *value == best && frame.is_empty() {
                    frame = format!("<rect class=\"best\" {place}/>\n");
                }
            }
        }
        svg.push_str(&frame);
        let below = TOP + ROW * rows as f64 + 16.0;
        let every = (CELL_MIN / cell).ceil().max(1.0);
        for (x, name) in self.across.1.iter().enumerate() {
            if x as f64 % every == 0.0 {
                let middle = LEFT + cell * (x as f64 + 0.5);
                _ = writeln!(
                    svg,
                    "<text class=\"middle\" x=\"{middle:.1}\" y=\"{below:.1}\">{}</text>",
                    escape(name)
                );
            }
        }
        _ = write!(
            svg,
            "<text class=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{} →   {} ↓</text>\n</svg>\n<p>Framed: the best. Grey: none.</p>\n",
            LEFT + cell * columns as f64 / 2.0,
            below + 18.0,
            escape(&self.across.0),
            escape(&self.down.0)
        );
        svg
    }

    fn cell(&self, svg: &mut String, place: &str, value: Option<f64>, most: f64, label: &str) {
        let label = escape(label);
        _ = match value {
            None => writeln!(
                svg,
                "<rect class=\"none\" {place}><title>{label}: none</title></rect>"
            ),
            Some(value) => {
                let class = if value < 0.0 { "loss" } else { "gain" };
                let strength = if most > 0.0 {
                    value.abs() / most * STRONGEST
                } else {
                    0.0
                };
                writeln!(
                    svg,
                    "<rect class=\"{class}\" fill-opacity=\"{strength:.3}\" {place}><title>{label}: {value:.*}</title></rect>",
                    self.decimals
                )
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_coloured_by_sign_and_strength() {
        let map = HeatMap {
            title: "Net".to_owned(),
            across: ("a<".to_owned(), vec!["1".to_owned(), "2".to_owned()]),
            down: ("b".to_owned(), vec!["x".to_owned(), "y".to_owned()]),
            cells: vec![vec![Some(10.0), Some(-5.0)], vec![None, Some(0.0)]],
            decimals: 1,
        };
        let svg = map.svg();
        assert!(
            svg.contains("class=\"gain\" fill-opacity=\"0.600\""),
            "{svg}"
        );
        assert!(
            svg.contains("class=\"loss\" fill-opacity=\"0.300\""),
            "{svg}"
        );
        assert!(
            svg.contains("class=\"gain\" fill-opacity=\"0.000\""),
            "{svg}"
        );
        assert_eq!(svg.matches("class=\"none\"").count(), 1);
        assert_eq!(svg.matches("class=\"best\"").count(), 1);
        assert!(svg.contains("a&lt; 2, b x: -5.0"), "{svg}");
        assert!(HeatMap::default().svg().contains("</svg>"));
    }
}
