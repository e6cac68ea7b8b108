//! Heat maps of a grid, for every two of its parameters: the mean over all other parameters, which shows whether a good
//! value is one of many, and the plane through the best trial.

use std::fmt::Write;

use cambist_backtest::compare::{HeatMap, HeatMaps};

use super::space::{Metric, Search, Space};
use super::statements::{percent, ratio};
use super::summary::{Group, Measure, Score, annual};
use super::values::{Choices, text};

/// Most pairs of parameters that are shown.
const PAIRS_MAX: usize = 15;

/// A parameter of a grid.
struct Axis<'a> {
    name: &'a str,
    values: Vec<String>,
    /// Its place in the values of a run.
    place: usize,
}

/// Profit and Sharpe ratio over two parameters each; none of sweeps that are no grid.
pub(super) fn heat_maps(
    space: &Space,
    group: &Group<'_>,
    measure: Measure,
    quote: &str,
) -> Vec<HeatMaps> {
    if space.search != Search::Grid {
        return Vec::new();
    }
    let axes = space.parameters.iter().enumerate();
    let axes = axes.filter_map(|(place, parameter)| match &parameter.choices {
        Choices::List(values) => Some(Axis {
            name: parameter.name.value.as_str(),
            values: values.iter().map(text).collect(),
            place,
        }),
        Choices::Range(_) => None,
    });
    // A parameter with one value has nothing to show.
    let axes: Vec<_> = axes.filter(|axis| axis.values.len() > 1).collect();
    let pairs = (0..axes.len()).flat_map(|a| (a + 1..axes.len()).map(move |b| (a, b)));
    let pairs: Vec<_> = pairs.map(|(a, b)| (&axes[a], &axes[b])).collect();
    let facets = axes.len() > 2;
    let each = pairs.iter().take(PAIRS_MAX).enumerate();
    each.map(|(number, (down, across))| HeatMaps {
        title: format!("{} and {}", down.name, across.name),
        note: note(space, group, (down, across), pairs.len()),
        is_open: number == 0,
        maps: maps(space, group, (down, across), facets, (measure, quote)),
    })
    .collect()
}

/// Number of trials, and what may be luck.
fn note(space: &Space, group: &Group<'_>, pair: (&Axis<'_>, &Axis<'_>), pairs: usize) -> String {
    let cells = pair.0.values.len() * pair.1.values.len();
    let scores = group.scores.len();
    let mut note = format!("{} trials", group.trials);
    if scores > cells {
        _ = write!(note, ", about {} in each cell of the means", scores / cells);
    }
    if let Some(best) = group.best(space.metric)
        && let Some(deflated) = group.deflated(best, space.return_interval_s)
    {
        let probability = deflated
            .probability
            .map_or_else(|| "none".to_owned(), percent);
        _ = write!(
            note,
            "; the best of so many without skill is expected at a Sharpe ratio of {}; deflated Sharpe ratio of the best trial (probability) {probability}",
            ratio(Some(deflated.expected_best))
        );
    }
    if pairs > PAIRS_MAX {
        _ = write!(
            note,
            "; {PAIRS_MAX} of {pairs} pairs of parameters are drawn"
        );
    }
    note + "."
}

fn maps(
    space: &Space,
    group: &Group<'_>,
    pair: (&Axis<'_>, &Axis<'_>),
    facets: bool,
    (measure, quote): (Measure, &str),
) -> Vec<HeatMap> {
    let sharpe = |score: &Score<'_>| {
        let moments = score.moments?;
        Some(annual(moments.sharpe(), space.return_interval_s))
    };
    let net = format!("{} in {quote}", capitalised(measure.title()));
    let ratio = format!("{} a year", measure.sharpe());
    let all: Vec<_> = group.scores.iter().collect();
    if !facets {
        return vec![
            map(net, 2, pair, &all, &|score| score.excess),
            map(ratio, 1, pair, &all, &sharpe),
        ];
    }
    let mean = "mean over the other parameters";
    let mut maps = vec![
        map(format!("{net}, {mean}"), 2, pair, &all, &|score| {
            score.excess
        }),
        map(format!("{ratio}, {mean}"), 1, pair, &all, &sharpe),
    ];
    if let Some(best) = group.best(space.metric) {
        let others = |score: &&Score<'_>| {
            let values = score.row.values.iter().zip(&best.row.values).enumerate();
            let of_pair = |place| place == pair.0.place || place == pair.1.place;
            values
                .filter(|(place, _)| !of_pair(*place))
                .all(|(_, (own, best))| text(own) == text(best))
        };
        let plane: Vec<_> = all.into_iter().filter(others).collect();
        let through = format!(
            "the other parameters as in the best trial, {}",
            best.row.trial
        );
        maps.push(match space.metric {
            Metric::NetPnl => map(format!("{net}, {through}"), 2, pair, &plane, &|s| s.excess),
            Metric::Sharpe => map(format!("{ratio}, {through}"), 1, pair, &plane, &sharpe),
        });
    }
    maps
}

/// A title whose first letter is a capital.
fn capitalised(title: &str) -> String {
    let mut letters = title.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The mean of a figure over the trials of each cell; a cell whose trials all lack it is empty.
fn map(
    title: String,
    decimals: usize,
    (down, across): (&Axis<'_>, &Axis<'_>),
    scores: &[&Score<'_>],
    value: &dyn Fn(&Score<'_>) -> Option<f64>,
) -> HeatMap {
    let mut sums = vec![vec![(0.0, 0_u32); across.values.len()]; down.values.len()];
    let place = |axis: &Axis<'_>, score: &Score<'_>| {
        let own = text(score.row.values.get(axis.place)?);
        axis.values.iter().position(|value| *value == own)
    };
    for score in scores {
        let cell = place(down, score).zip(place(across, score));
        if let (Some((y, x)), Some(value)) = (cell, value(score)) {
            let (sum, count) = &mut sums[y][x];
            *sum += value;
            *count += 1;
        }
    }
    let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
    HeatMap {
        title,
        across: (across.name.to_owned(), across.values.clone()),
        down: (down.name.to_owned(), down.values.clone()),
        cells: sums
            .into_iter()
            .map(|row| row.into_iter().map(mean).collect())
            .collect(),
        decimals,
    }
}
