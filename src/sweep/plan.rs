//! A sweep file on a configuration: which strategy a parameter belongs to, and what every run is.

use anyhow::anyhow;
use cambist_market_data::Timestamp;
use cambist_strategies::registry;
use serde::{Deserialize, Serialize};
use toml::Value;

use super::space::{Parameter, Space};
use super::values::put;
use super::windows::Window;
use crate::backtest::inputs::Inputs;
use cambist_config::ConfigError;
use cambist_config::reader::{Problem, nearest};
use cambist_daemon::config::Daemon;

/// Which part of the data a run is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// All of it.
    All,
    /// The train part of a window.
    Train,
    /// The test part of a window.
    Test,
}

impl Phase {
    /// Its name, in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Train => "train",
            Self::Test => "test",
        }
    }
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSpec {
    /// Its number, from 0.
    pub run: u64,
    /// The trial whose values it has, from 0.
    pub trial: u64,
    /// The window it is on, from 0.
    pub window: Option<u64>,
    /// Which part of it.
    pub phase: Phase,
    /// It begins here; with the data without one.
    pub from: Option<Timestamp>,
    /// It ends here; with the data without one.
    pub to: Option<Timestamp>,
}

/// Everything that a run needs.
pub struct Plan {
    /// What is tried.
    pub space: Space,
    /// The configuration that values are put into.
    pub daemon: Daemon,
    /// Data and assumptions.
    pub inputs: Inputs,
    /// Windows of time; none without walk-forward.
    pub windows: Vec<Window>,
    /// Market and strategy of each parameter, by their places in the configuration.
    targets: Vec<(usize, usize)>,
}

impl Plan {
    /// Finds the strategy of every parameter.
    pub fn new(
        space: Space,
        daemon: Daemon,
        inputs: Inputs,
        windows: Vec<Window>,
    ) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        let mut targets = Vec::new();
        for parameter in &space.parameters {
            match target(parameter, &daemon) {
                Ok(target) => {
                    targets.push(target);
                    problems.extend(unknown(parameter, &daemon, target));
                }
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(space.source.invalid(problems));
        }
        Ok(Self {
            space,
            daemon,
            inputs,
            windows,
            targets,
        })
    }

    /// Number of runs: every trial on all of the data, or on both parts of every window.
    pub fn runs(&self) -> u64 {
        let parts = (self.windows.len() as u64 * 2).max(1);
        self.space.trials() * parts
    }

    /// A run by its number.
    pub fn spec(&self, run: u64) -> RunSpec {
        let trials = self.space.trials();
        let (part, trial) = (run / trials, run % trials);
        let window = usize::try_from(part / 2)
            .ok()
            .and_then(|at| self.windows.get(at));
        let Some(window) = window else {
            return RunSpec {
                run,
                trial,
                window: None,
                phase: Phase::All,
                from: self.inputs.from,
                to: self.inputs.to,
            };
        };
        let (phase, (from, to)) = if part % 2 == 0 {
            (Phase::Train, window.train)
        } else {
            (Phase::Test, window.test)
        };
        RunSpec {
            run,
            trial,
            window: Some(part / 2),
            phase,
            from: Some(from),
            to: Some(to),
        }
    }

    /// The configuration of a trial.
    pub fn daemon_with(&self, values: &[Value]) -> Result<Daemon, String> {
        let mut daemon = self.daemon.clone();
        for ((parameter, (market, strategy)), value) in
            self.space.parameters.iter().zip(&self.targets).zip(values)
        {
            let params = &mut daemon.markets[*market].strategies[*strategy].params;
            for path in &parameter.set {
                put(params, path, value)?;
            }
        }
        Ok(daemon)
    }

    /// Every trial's values can be written where they belong: paths depend on the configuration alone.
    pub fn check_paths(&self) -> anyhow::Result<()> {
        let first = self.space.trial(0);
        self.daemon_with(&first)
            .map(drop)
            .map_err(|what| anyhow!("{}: {what}", self.space.source.path.display()))
    }
}

/// The strategy that a parameter belongs to.
fn target(parameter: &Parameter, daemon: &Daemon) -> Result<(usize, usize), Problem> {
    let mut found = Vec::new();
    let mut all = Vec::new();
    for (m, market) in daemon.markets.iter().enumerate() {
        for (s, strategy) in market.strategies.iter().enumerate() {
            all.push(format!("{} at {}", strategy.name.value, market.name.value));
            let is = |expected: &Option<cambist_config::At<String>>, name: &str| {
                expected
                    .as_ref()
                    .is_none_or(|expected| expected.value == name)
            };
            if is(&parameter.strategy, &strategy.name.value)
                && is(&parameter.market, &market.name.value)
            {
                found.push((m, s));
            }
        }
    }
    let name = &parameter.name;
    let problem = |what: String| Problem { at: name.at, what };
    match found[..] {
        [target] => Ok(target),
        [] => Err(problem(format!(
            "parameter {}: the configuration has no such strategy; it has {}",
            name.value,
            all.join(", ")
        ))),
        _ => Err(problem(format!(
            "parameter {}: say which strategy, and at which market (strategy = \"…\", market = \"…\"); the configuration has {}",
            name.value,
            all.join(", ")
        ))),
    }
}

/// Paths that begin with no parameter of the strategy.
fn unknown(
    parameter: &Parameter,
    daemon: &Daemon,
    (market, strategy): (usize, usize),
) -> Vec<Problem> {
    let name = &daemon.markets[market].strategies[strategy].name.value;
    // A strategy that is not known is refused with the configuration.
    let Some(info) = registry::find(name) else {
        return Vec::new();
    };
    let known = || info.parameters.iter().map(|parameter| parameter.name);
    let wrong = parameter.set.iter().filter_map(|path| {
        let first = path.split(['.', '[']).next().unwrap_or_default();
        if known().any(|name| name == first) {
            return None;
        }
        let near = nearest(first, known());
        let near = near.map_or_else(
            || format!("`cambist strategy show {name}` lists them"),
            |near| format!("did you mean {near}?"),
        );
        Some(Problem {
            at: parameter.name.at,
            what: format!("{name} has no parameter {first}; {near}"),
        })
    });
    wrong.collect()
}
