//! The sweep file: which parameters are tried, how they are chosen, and on which parts of the data.

use std::path::Path;

use cambist_config::reader::{At, ConfigError, Section, Source};
use cambist_config::version;
use toml::Value;

use crate::backtest::arguments::seconds_to;

use super::draws::{Combination, draw, numbered};
use super::outputs::is_run_column;
use super::values::{Choices, List, Number, Range, Scale};

/// Most trials of one sweep.
const TRIALS_MAX: u64 = 100_000;
/// Most values of one parameter.
const VALUES_MAX: usize = 10_000;
/// Longest duration that is taken: ten years.
const LONGEST_S: u64 = 315_360_000;

/// One parameter that is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name: the column of the results, and the path within the strategy's parameters.
    pub name: At<String>,
    /// The strategy it belongs to; needed where the configuration has several.
    pub strategy: Option<At<String>>,
    /// The market of that strategy; needed where several have it.
    pub market: Option<At<String>>,
    /// What the value is written to, as paths within the strategy's parameters.
    pub set: Vec<String>,
    /// What it may be.
    pub choices: Choices,
}

/// How trials are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Every combination, the last parameter changing fastest.
    Grid,
    /// So many different combinations, drawn from a seed.
    Random {
        /// How many.
        trials: u64,
        /// Where they are drawn from.
        seed: u64,
    },
}

/// Windows of time: chosen on one part, reported on the part that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkForward {
    /// Length of a train window, seconds.
    pub train_s: u64,
    /// Length of the test window that follows it, seconds.
    pub test_s: u64,
    /// From one window to the next, seconds.
    pub step_s: u64,
    /// Whether every train window begins with the data.
    pub anchored: bool,
}

/// What the best trial is the best by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The Sharpe ratio.
    Sharpe,
    /// Net profit and loss, less that of holding the initial balances.
    NetPnl,
}

impl Metric {
    /// Its name, in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sharpe => "sharpe",
            Self::NetPnl => "net_pnl",
        }
    }
}

/// A sweep file.
#[derive(Clone, Debug)]
pub struct Space {
    /// The file.
    pub source: Source,
    /// What is varied, in the order of the file.
    pub parameters: Vec<Parameter>,
    /// How.
    pub search: Search,
    /// Combinations of a random search, in the order of the trials.
    drawn: Vec<Combination>,
    /// On which parts of the data; on all of it at once without.
    pub walk_forward: Option<WalkForward>,
    /// What trials are compared by.
    pub metric: Metric,
    /// Trials that were made on these data before, in other sweeps.
    pub trials_before: u64,
    /// Distance of the returns that Sharpe ratios are computed from, seconds.
    pub return_interval_s: u64,
}

impl Space {
    /// Reads and checks a file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::parse(&Source::read(path)?)
    }

    /// Checks a text.
    pub fn parse(source: &Source) -> Result<Self, ConfigError> {
        source.read_with(|_, root| read(root, source.clone()))
    }

    /// Number of trials.
    pub fn trials(&self) -> u64 {
        match self.search {
            Search::Random { .. } => self.drawn.len() as u64,
            Search::Grid => self.grid_sizes().product(),
        }
    }

    fn grid_sizes(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        self.parameters
            .iter()
            .map(|parameter| match &parameter.choices {
                Choices::List(values) => values.len() as u64,
                Choices::Range(_) => 1,
            })
    }

    /// The values of a trial, one for each parameter. The same for the same number, whatever else was drawn.
    pub fn trial(&self, number: u64) -> Vec<Value> {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        match self.search {
            Search::Grid => {
                let lists = self.parameters.iter();
                let lists: Vec<_> = lists
                    .filter_map(|parameter| match &parameter.choices {
                        Choices::List(list) => Some(list.clone()),
                        Choices::Range(_) => None,
                    })
                    .collect();
                numbered(&lists, number)
            }
            Search::Random { .. } => self.drawn.get(index).cloned().unwrap_or_default(),
        }
    }

    /// Why there are fewer trials than a random search was to draw, if there are.
    pub fn exhausted(&self) -> Option<String> {
        let Search::Random { trials, .. } = self.search else {
            return None;
        };
        (self.trials() < trials).then(|| {
            format!(
                "The search was to draw {trials} combinations, but its parameters have only {}: each was taken once.",
                self.trials()
            )
        })
    }
}

fn read(mut root: Section<'_, '_>, source: Source) -> Option<Space> {
    version(&mut root);
    let metric = root.word(
        "select",
        &[("sharpe", Metric::Sharpe), ("net_pnl", Metric::NetPnl)],
        Metric::Sharpe,
    );
    let trials_before = root.number("trials_before", 0, 0..=1_000_000_000);
    let return_interval_s = duration(&mut root, "return_interval", Some(60));
    let search = read_search(&mut root);
    let walk_forward = read_walk_forward(&mut root);
    let is_random = matches!(search, Some(Search::Random { .. }));
    let sections = root.sections("parameter");
    if sections.is_empty() {
        root.missing("parameter", "a sweep needs at least one [[parameter]]");
    }
    let parameters: Vec<_> = sections
        .into_iter()
        .map(|section| read_parameter(section, is_random))
        .collect();
    let parameters: Option<Vec<_>> = parameters.into_iter().collect();
    let parameters = parameters?;
    for (index, parameter) in parameters.iter().enumerate() {
        let name = &parameter.name;
        if parameters[..index]
            .iter()
            .any(|other| other.name.value == name.value)
        {
            root.problem(
                name.at,
                format!("there are two parameters {:?}", name.value),
            );
        }
    }
    let at = root.at();
    let search = search?;
    let space = Space {
        source,
        drawn: match search {
            Search::Random { trials, seed } => draw(&parameters, trials, seed),
            Search::Grid => Vec::new(),
        },
        parameters,
        search,
        walk_forward: walk_forward?,
        metric: metric.value,
        trials_before: trials_before.value,
        return_interval_s: return_interval_s?,
    };
    let trials = space.grid_sizes().try_fold(1_u64, u64::checked_mul);
    let is_grid = matches!(space.search, Search::Grid);
    if is_grid && trials.is_none_or(|trials| trials > TRIALS_MAX) {
        let what = format!(
            "the grid has more than {TRIALS_MAX} trials: take values out, or draw some of them ([search] kind = \"random\")"
        );
        root.problem(at, what);
    }
    root.finish();
    Some(space)
}

fn read_search(root: &mut Section<'_, '_>) -> Option<Search> {
    let mut section = root.section("search");
    let kind = section.word("kind", &[("grid", false), ("random", true)], false);
    let search = if kind.value {
        let trials = section.req_number("trials", 1..=TRIALS_MAX);
        let seed = section.number("seed", 1, 0..=u64::MAX);
        trials.map(|trials| Search::Random {
            trials: trials.value,
            seed: seed.value,
        })
    } else {
        Some(Search::Grid)
    };
    section.finish();
    search
}

/// `None` if it is wrong.
#[expect(clippy::option_option, reason = "wrong, absent or there")]
fn read_walk_forward(root: &mut Section<'_, '_>) -> Option<Option<WalkForward>> {
    let mut section = root.section("walk_forward");
    if !section.is_written() {
        return Some(None);
    }
    let train = duration(&mut section, "train", None);
    let test = duration(&mut section, "test", None);
    let step = duration(&mut section, "step", test.or(Some(0)));
    let anchored = section.or("anchored", false);
    section.finish();
    Some(Some(WalkForward {
        train_s: train?,
        test_s: test?,
        step_s: step?,
        anchored: anchored.value,
    }))
}

fn read_parameter(mut section: Section<'_, '_>, is_random: bool) -> Option<Parameter> {
    let name = section.req::<String>("name");
    let strategy = section.opt::<String>("strategy");
    let market = section.opt::<String>("market");
    let set = section.opt::<Vec<String>>("set");
    let choices = read_choices(&mut section, is_random);
    if set.as_ref().is_some_and(|set| set.value.is_empty()) {
        section.problem(
            section.at(),
            "parameter.set is empty: leave it out, or name what is set",
        );
    }
    // A column of a table without quotation marks.
    let plain = |c: char| !c.is_control() && c != ',' && c != '"';
    if let Some(name) = &name
        && (name.value.is_empty() || name.value.len() > 100 || !name.value.chars().all(plain))
    {
        let what =
            "parameter.name must have 1 to 100 characters, without commas and quotation marks";
        section.problem(name.at, what);
    }
    if let Some(name) = &name
        && is_run_column(&name.value)
    {
        let what = format!(
            "parameter.name = {0:?} is a column of the results: give it another name, and set = [{0:?}]",
            name.value
        );
        section.problem(name.at, what);
    }
    section.finish();
    let name = name?;
    Some(Parameter {
        set: set.map_or_else(|| vec![name.value.clone()], |set| set.value),
        name,
        strategy,
        market,
        choices: choices?,
    })
}

fn read_choices(section: &mut Section<'_, '_>, is_random: bool) -> Option<Choices> {
    let values = section.opt::<List>("values");
    let from = section.opt::<Number>("from");
    let to = section.opt::<Number>("to");
    let steps = section.opt::<u64>("steps");
    let scale = section.word(
        "scale",
        &[("linear", Scale::Linear), ("log", Scale::Log)],
        Scale::Linear,
    );
    let at = section.at();
    if let Some(values) = values {
        if from.is_some() || to.is_some() || steps.is_some() || section.has("scale") {
            section.problem(values.at, "parameter: values, or from and to, not both");
        }
        let list = values.value.0;
        let text = |value: &Value| value.as_str().is_some_and(|t| t.contains([',', '"', '\n']));
        if list.is_empty() || list.len() > VALUES_MAX || list.iter().any(text) {
            let what = format!(
                "parameter.values must be 1 to {VALUES_MAX} values without commas and quotation marks"
            );
            section.problem(values.at, what);
            return None;
        }
        // Each value of a grid is a trial; a random search may weight one by repeating it.
        let again = |(at, value): &(usize, &Value)| list[..*at].contains(value);
        if let Some((_, value)) = list.iter().enumerate().find(again)
            && !is_random
        {
            let what =
                format!("parameter.values has {value} twice: equal trials would count as several");
            section.problem(values.at, what);
            return None;
        }
        return Some(Choices::List(list));
    }
    let (Some(from), Some(to)) = (from, to) else {
        if !(section.has("values") || section.has("from") || section.has("to")) {
            section.problem(at, "a parameter needs values = [...], or from and to");
        } else if !section.has("values") {
            section.problem(at, "a range needs both from and to");
        }
        return None;
    };
    let (low, high) = (as_float(from.value), as_float(to.value));
    if low >= high {
        section.problem(to.at, "parameter.to must be above parameter.from");
        return None;
    }
    if scale.value == Scale::Log && low <= 0.0 {
        section.problem(from.at, "parameter.from must be above 0 on a log scale");
        return None;
    }
    let range = Range {
        from: from.value,
        to: to.value,
        scale: scale.value,
    };
    match steps {
        Some(steps) if !(2..=VALUES_MAX as u64).contains(&steps.value) => {
            section.problem(
                steps.at,
                format!("parameter.steps must be 2 to {VALUES_MAX}"),
            );
            None
        }
        Some(steps) => Some(Choices::List(range.steps(steps.value))),
        None if is_random => Some(Choices::Range(range)),
        None => {
            section.problem(
                at,
                "a range of a grid needs steps, the number of its values",
            );
            None
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "compared only")]
fn as_float(number: Number) -> f64 {
    match number {
        Number::Whole(number) => number as f64,
        Number::Float(number) => number,
    }
}

/// A duration in quotes, in seconds.
fn duration(section: &mut Section<'_, '_>, key: &'static str, default: Option<u64>) -> Option<u64> {
    if default.is_some() && !section.has(key) {
        section.opt::<String>(key);
        return default;
    }
    let text = section.req::<String>(key)?;
    let read = seconds_to(&text.value, LONGEST_S, "ten years");
    if let Err(what) = &read {
        section.problem(text.at, format!("{key}: {what}"));
    }
    read.ok()
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
