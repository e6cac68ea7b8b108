//! Line charts as SVG: fixed size, no script, colours by the page's style sheet.

use std::borrow::Cow;
use std::fmt::Write;

use cambist_market_data::Timestamp;

use crate::html::escape;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 260.0;
/// Margins for labels: left, right, top, bottom.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;
/// Approximate number of grid lines.
const LINES: f64 = 5.0;
/// Steps between labels of times.
const STEPS: i64 = 6;
/// The same of long labels.
const STEPS_FEW: i64 = 4;
/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;

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

/// Draws lines and marks over a span of time. `None` if there is no value.
pub fn chart(lines: &[Line], marks: &[Mark], (from, to): (Timestamp, Timestamp)) -> Option<String> {
    let values = lines.iter().flat_map(|line| &line.points);
    let values = values.filter_map(|point| point.1);
    let values = values.chain(marks.iter().map(|mark| mark.value));
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
    let (low, high) = (low - margin, high + margin);
    #[expect(clippy::cast_precision_loss, reason = "pixels")]
    let scale = Scale {
        from,
        nanos: to.nanos_since(from).max(1) as f64,
        low,
        span: high - low,
    };
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n");
    grid(&mut svg, &scale, (low, high), (from, to));
    for line in lines {
        path(&mut svg, &scale, line);
    }
    for mark in marks {
        _ = writeln!(
            svg,
            "<circle class=\"{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\"/>",
            mark.class,
            scale.x(mark.time),
            scale.y(mark.value)
        );
    }
    svg.push_str("</svg>\n<p class=\"legend\">");
    for line in lines {
        _ = write!(
            svg,
            "<span class=\"key {}\">{}</span> ",
            line.class,
            escape(&line.name)
        );
    }
    for class in ["buy", "sell"] {
        if marks.iter().any(|mark| mark.class == class) {
            _ = write!(
                svg,
                "<span class=\"key dot {class}\">own fill, {class}</span> "
            );
        }
    }
    svg.push_str("</p>\n");
    Some(svg)
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

fn grid(
    svg: &mut String,
    scale: &Scale,
    (low, high): (f64, f64),
    (from, to): (Timestamp, Timestamp),
) {
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
    times(svg, scale, (from, to));
}

/// Labels of the time axis.
fn times(svg: &mut String, scale: &Scale, (from, to): (Timestamp, Timestamp)) {
    let all = to.nanos_since(from).max(1);
    // A time of day alone would name two moments, or be read as one of the first day.
    let day = |time: Timestamp| time.to_string().get(..10).map(str::to_owned);
    let with_date = day(from) != day(to);
    // Dates have room at fewer ticks only, and with milliseconds at three.
    let steps = match with_date {
        false => STEPS,
        true if all < STEPS_FEW * SECOND => 2,
        true => STEPS_FEW,
    };
    // Without seconds, labels less than a minute apart would be equal.
    let with_seconds = !with_date || all / steps < 60 * SECOND;
    let with_millis = all / steps < SECOND;
    for part in 0..=steps {
        let time = from.plus_nanos(all / steps * part);
        let text = label(time, with_date, with_seconds, with_millis);
        let anchor = match part {
            0 => "start",
            last if last == steps => "end",
            _ => "middle",
        };
        _ = writeln!(
            svg,
            "<text class=\"x\" text-anchor=\"{anchor}\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
            scale.x(time),
            HEIGHT - 8.0
        );
    }
}

/// A time as a label.
fn label(time: Timestamp, with_date: bool, with_seconds: bool, with_millis: bool) -> String {
    let text = time.to_string().replace('T', " ");
    let begin = if with_date { 0 } else { 11 };
    let end = if with_seconds { 19 } else { 16 };
    let mut label = text.get(begin..end).unwrap_or(&text).to_owned();
    if with_millis {
        _ = write!(label, ".{:03}", time.0.rem_euclid(SECOND) / 1_000_000);
    }
    label
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

    #[test]
    fn times_have_dates_as_soon_as_there_are_two_days() {
        let labels = |from_s: i64, to_s: i64| {
            let at = |second: i64| Timestamp(second * 1_000_000_000);
            let line = Line {
                name: "mid".into(),
                class: "mid",
                points: vec![(at(from_s), Some(1.0)), (at(to_s), Some(2.0))],
                steps: false,
            };
            chart(&[line], &[], (at(from_s), at(to_s))).unwrap()
        };
        let one_day = labels(0, 86_399);
        assert!(
            one_day.contains(">23:59:5") && !one_day.contains("1970-"),
            "{one_day}"
        );
        let over_midnight = labels(86_390, 86_410);
        let texts = |svg: &str| {
            let each = svg.split("<text class=\"x\"").skip(1);
            let each = each.filter_map(|rest| rest.split_once('>')?.1.split_once('<'));
            each.map(|(text, _)| text.to_owned()).collect::<Vec<_>>()
        };
        // Ticks less than a minute apart have seconds, and as many of them as have room.
        let seconds = [
            "-01 23:59:50",
            "-01 23:59:55",
            "-02 00:00:00",
            "-02 00:00:05",
            "-02 00:00:10",
        ];
        let seconds = seconds.map(|time| format!("1970-01{time}"));
        assert_eq!(texts(&over_midnight), seconds);
        let minutes = texts(&labels(86_400 - 3_600, 86_400 + 3_600));
        assert_eq!(minutes.len(), 5);
        assert_eq!(
            [&minutes[0], &minutes[4]],
            ["1970-01-01 23:00", "1970-01-02 01:00"]
        );
        // Ticks less than a second apart have milliseconds.
        let short = texts(&labels(0, 3));
        assert_eq!([&short[1], &short[2]], ["00:00:00.500", "00:00:01.000"]);
        // A label of n characters is up to 7 n wide; those at the ends lie within, the others around their ticks.
        for svg in [
            labels(86_390, 86_410),
            labels(86_399, 86_401),
            labels(80_000, 90_000),
        ] {
            let all = texts(&svg);
            let wide: Vec<_> = all
                .iter()
                .map(|text| 7.0 * f64::from(u8::try_from(text.len()).unwrap()))
                .collect();
            let apart = (WIDTH - LEFT - RIGHT) / f64::from(u8::try_from(all.len() - 1).unwrap());
            assert!(wide[0] + wide[1] / 2.0 <= apart, "{all:?}");
        }
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
        assert_eq!(chart(&[line(vec![(at(0), None)])], &[], span), None);
        let points = vec![
            (at(0), Some(1.0)),
            (at(4), None),
            (at(5), Some(2.0)),
            (at(10), Some(2.0)),
        ];
        let svg = chart(&[line(points)], &[], span).unwrap();
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
        let marked = chart(&[line(marked)], &[mark], span).unwrap();
        assert!(marked.contains("<span class=\"key dot buy\">own fill, buy</span>"));
        assert!(!marked.contains("own fill, sell") && !svg.contains("own fill"));
        let flat = chart(
            &[line(vec![(at(0), Some(5.0)), (at(10), Some(5.0))])],
            &[],
            span,
        )
        .unwrap();
        assert!(!flat.contains("NaN") && !flat.contains("inf"), "{flat}");
    }
}
