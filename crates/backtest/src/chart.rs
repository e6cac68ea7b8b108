//! Line charts as SVG: fixed size, no script, colours by the page's style sheet.

use std::borrow::Cow;
use std::fmt::Write;

use cambist_market_data::Timestamp;

use crate::html::escape;
pub use crate::time_axis::TimeAxis;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 260.0;
/// Margins for labels: left, right, top, bottom.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 40.0;
/// Approximate number of grid lines.
const LINES: f64 = 5.0;
/// Most that a character of a label is wide.
const PER_CHAR: f64 = 7.0;

/// A line.
pub struct Line {
    /// Name of the series.
    pub name: Cow<'static, str>,
    /// Its class in the style sheet.
    pub class: &'static str,
    /// Points in order of time; a missing value breaks the line.
    pub points: Vec<(Timestamp, Option<f64>)>,
    /// Whether a value holds until the next point.
    pub steps: bool,
}

/// A mark at a point.
pub struct Mark {
    /// Its class in the style sheet.
    pub class: &'static str,
    /// Time.
    pub time: Timestamp,
    /// Value.
    pub value: f64,
}

/// Part of a chart's span without data, which is shaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shade {
    /// Its beginning.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
}

/// What a chart shows.
pub struct Chart<'a> {
    /// Its lines.
    pub lines: &'a [Line],
    /// Marks at points.
    pub marks: &'a [Mark],
    /// Shaded parts, and what the legend calls them.
    pub shades: (&'a [Shade], &'a str),
    /// The span of time that is drawn.
    pub span: (Timestamp, Timestamp),
    /// What the axis of time shows.
    pub axis: TimeAxis,
}

/// Maps times and values to coordinates.
struct Scale {
    from: Timestamp,
    nanos: f64,
    low: f64,
    span: f64,
}

#[expect(clippy::cast_precision_loss, reason = "pixels")]
impl Scale {
    fn x(&self, time: Timestamp) -> f64 {
        let part = time.nanos_since(self.from) as f64 / self.nanos;
        LEFT + part * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        let part = (value - self.low) / self.span;
        HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)
    }
}

impl Chart<'_> {
    /// Draws the chart. `None` if there is no value.
    pub fn draw(&self) -> Option<String> {
        let (low, high) = self.range()?;
        let (from, to) = self.span;
        #[expect(clippy::cast_precision_loss, reason = "pixels")]
        let scale = Scale {
            from,
            nanos: to.nanos_since(from).max(1) as f64,
            low,
            span: high - low,
        };
        let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n");
        for shade in self.shades.0 {
            shaded(&mut svg, &scale, *shade, self.span);
        }
        grid(&mut svg, &scale, (low, high));
        times(&mut svg, &scale, self.span, self.axis);
        for line in self.lines {
            path(&mut svg, &scale, line);
        }
        for mark in self.marks {
            _ = writeln!(
                svg,
                "<circle class=\"{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\"/>",
                mark.class,
                scale.x(mark.time),
                scale.y(mark.value)
            );
        }
        svg.push_str("</svg>\n");
        self.legend(&mut svg);
        Some(svg)
    }

    /// The lowest and the highest value, with a margin. `None` if there is no value.
    fn range(&self) -> Option<(f64, f64)> {
        let values = self.lines.iter().flat_map(|line| &line.points);
        let values = values.filter_map(|point| point.1);
        let values = values.chain(self.marks.iter().map(|mark| mark.value));
        let (low, high) = values.fold(None, |range: Option<(f64, f64)>, value| {
            let (low, high) = range.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        })?;
        // A constant line is drawn in the middle.
        let margin = if high > low {
            (high - low) * 0.04
        } else {
            high.abs().max(1.0) * 0.01
        };
        Some((low - margin, high + margin))
    }

    fn legend(&self, page: &mut String) {
        page.push_str("<p class=\"legend\">");
        for line in self.lines {
            _ = write!(
                page,
                "<span class=\"key {}\">{}</span> ",
                line.class,
                escape(&line.name)
            );
        }
        for class in ["buy", "sell"] {
            if self.marks.iter().any(|mark| mark.class == class) {
                _ = write!(
                    page,
                    "<span class=\"key dot {class}\">own fill, {class}</span> "
                );
            }
        }
        let (shades, name) = self.shades;
        if !shades.is_empty() {
            _ = write!(page, "<span class=\"key shade\">{}</span> ", escape(name));
        }
        page.push_str("</p>\n");
    }
}

/// A shaded part is at least as wide as can be seen.
const SHADE_MIN: f64 = 1.5;

fn shaded(svg: &mut String, scale: &Scale, shade: Shade, (from, to): (Timestamp, Timestamp)) {
    let (begin, end) = (shade.from.max(from), shade.to.min(to));
    if begin >= end {
        return;
    }
    let x = scale.x(begin);
    let width = (scale.x(end) - x).max(SHADE_MIN);
    _ = writeln!(
        svg,
        "<rect class=\"shade\" x=\"{x:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{:.1}\"/>",
        HEIGHT - TOP - BOTTOM
    );
}

fn path(svg: &mut String, scale: &Scale, line: &Line) {
    let mut path = String::new();
    let mut drawn = false;
    for (time, value) in &line.points {
        let Some(value) = value else {
            drawn = false;
            continue;
        };
        let (x, y) = (scale.x(*time), scale.y(*value));
        _ = match (drawn, line.steps) {
            (false, _) => write!(path, "M{x:.1} {y:.1}"),
            (true, true) => write!(path, "H{x:.1}V{y:.1}"),
            (true, false) => write!(path, "L{x:.1} {y:.1}"),
        };
        drawn = true;
    }
    if !path.is_empty() {
        _ = writeln!(svg, "<path class=\"{}\" d=\"{path}\"/>", line.class);
    }
}

fn grid(svg: &mut String, scale: &Scale, (low, high): (f64, f64)) {
    let step = nice_step((high - low) / LINES);
    let decimals = (-step.log10().floor()).clamp(0.0, 8.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to 8"
    )]
    let decimals = decimals as usize;
    let mut value = (low / step).ceil() * step;
    while value <= high {
        // What rounding leaves of zero has no sign.
        value = if value.abs() < step / 2.0 { 0.0 } else { value };
        let y = scale.y(value);
        _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{:.1}\"/><text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{value:.decimals$}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y + 4.0
        );
        value += step;
    }
}

/// Ticks of the time axis with their labels, dates below them, and what the axis shows.
fn times(svg: &mut String, scale: &Scale, span: (Timestamp, Timestamp), axis: TimeAxis) {
    let (width, base) = (WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM);
    let name = axis.name();
    let end = WIDTH - RIGHT - text_width(name) - PER_CHAR;
    for tick in axis.ticks(span, width, PER_CHAR) {
        let x = scale.x(tick.time);
        _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{x:.1} {base:.1}v4\"/><text class=\"x\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            within(x, &tick.text, WIDTH),
            base + 16.0,
            tick.text
        );
        if let Some(date) = tick.date.filter(|date| x + text_width(date) / 2.0 <= end) {
            _ = write!(
                svg,
                "<text class=\"date\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{date}</text>",
                within(x, &date, end),
                base + 31.0
            );
        }
        svg.push('\n');
    }
    _ = writeln!(
        svg,
        "<text text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
        WIDTH - RIGHT,
        base + 31.0
    );
}

/// The middle of a label around `x` that ends before `end`.
fn within(x: f64, text: &str, end: f64) -> f64 {
    x.min(end - text_width(text) / 2.0)
}

fn text_width(text: &str) -> f64 {
    text.chars().map(|_| PER_CHAR).sum()
}

/// The smallest of 1, 2, 5, 10, … that is at least `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or(steps[3])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn steps_are_nice() {
        for (least, step) in [
            (0.9, 1.0),
            (1.0, 1.0),
            (1.1, 2.0),
            (3.0, 5.0),
            (70.0, 100.0),
            (0.004, 0.005),
        ] {
            assert!((nice_step(least) - step).abs() < 1e-12, "{least}");
        }
    }

    fn drawn(lines: &[Line], marks: &[Mark], span: (Timestamp, Timestamp)) -> Option<String> {
        let chart = Chart {
            lines,
            marks,
            shades: (&[], ""),
            span,
            axis: TimeAxis::Utc,
        };
        chart.draw()
    }

    #[test]
    fn the_axis_states_its_zone_and_labels_end_within_the_chart() {
        let at = |second: i64| Timestamp(second * 1_000_000_000);
        for (from, to) in [(86_390, 86_410), (0, 86_400), (0, 30 * 86_400), (0, 1)] {
            let line = Line {
                name: "mid".into(),
                class: "mid",
                points: vec![(at(from), Some(1.0)), (at(to), Some(2.0))],
                steps: false,
            };
            let svg = drawn(&[line], &[], (at(from), at(to))).unwrap();
            assert_eq!(svg.matches(">UTC</text>").count(), 1);
            let labels = svg.split("text-anchor=\"middle\" x=\"").skip(1);
            for label in labels {
                let (x, rest) = label.split_once('"').unwrap();
                let text = rest.split_once('>').unwrap().1.split_once('<').unwrap().0;
                let half = text_width(text) / 2.0;
                let x: f64 = x.parse().unwrap();
                assert!(x - half >= 0.0 && x + half <= WIDTH, "{text} at {x}");
            }
        }
    }

    /// What is outside of the span is cut off, and what is short can be seen.
    #[test]
    fn shades_are_within_the_span_and_named() {
        let at = |second: i64| Timestamp(second * 1_000_000_000);
        let line = Line {
            name: "mid".into(),
            class: "mid",
            points: vec![(at(0), Some(1.0)), (at(100), Some(2.0))],
            steps: false,
        };
        let shade = |from, to| Shade {
            from: at(from),
            to: at(to),
        };
        let shades = [
            shade(-20, 25),
            shade(50, 50),
            shade(99, 300),
            shade(120, 130),
        ];
        let chart = Chart {
            lines: &[line],
            marks: &[],
            shades: (&shades, "no data"),
            span: (at(0), at(100)),
            axis: TimeAxis::Utc,
        };
        let svg = chart.draw().unwrap();
        let rects: Vec<_> = svg
            .lines()
            .filter(|line| line.starts_with("<rect"))
            .collect();
        assert_eq!(rects.len(), 2, "{rects:?}");
        assert!(
            rects[0].contains("x=\"84.0\" y=\"10\" width=\"216.0\""),
            "{rects:?}"
        );
        assert!(rects[1].contains("width=\"8.6\""), "{rects:?}");
        assert!(svg.contains("<span class=\"key shade\">no data</span>"));
    }

    #[test]
    fn missing_values_break_lines_and_empty_series_have_no_chart() {
        let at = |second: i64| Timestamp(second * 1_000_000_000);
        let span = (at(0), at(10));
        let line = |points| Line {
            name: "mid".into(),
            class: "mid",
            points,
            steps: false,
        };
        assert_eq!(drawn(&[line(vec![(at(0), None)])], &[], span), None);
        let points = vec![
            (at(0), Some(1.0)),
            (at(4), None),
            (at(5), Some(2.0)),
            (at(10), Some(2.0)),
        ];
        let svg = drawn(&[line(points)], &[], span).unwrap();
        let path = svg
            .lines()
            .find(|line| line.contains("class=\"mid\""))
            .unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert_eq!(path.matches('L').count(), 1, "{path}");
        let mark = Mark {
            class: "buy",
            time: at(5),
            value: 2.0,
        };
        let marked = vec![(at(0), Some(1.0)), (at(10), Some(2.0))];
        let marked = drawn(&[line(marked)], &[mark], span).unwrap();
        assert!(marked.contains("<span class=\"key dot buy\">own fill, buy</span>"));
        assert!(!marked.contains("own fill, sell") && !svg.contains("own fill"));
        let flat = drawn(
            &[line(vec![(at(0), Some(5.0)), (at(10), Some(5.0))])],
            &[],
            span,
        )
        .unwrap();
        assert!(!flat.contains("NaN") && !flat.contains("inf"), "{flat}");
    }
}
