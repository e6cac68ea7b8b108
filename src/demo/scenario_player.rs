//! The demo's scenario: its events, and whether the market maker met its expectations.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use cambist_config::scenario::{Run, Scenario};
use cambist_report::text::LABEL;
use serde_json::{Value, json};

use crate::cli::DemoArgs;
use crate::demo::files;
use crate::exit::{Exit, Failure};
use cambist_config::reader::Source;
use cambist_exchange::config::scenario;

/// Length to which percentages refer in a demo without an end, seconds.
const ENDLESS_S: u64 = 60;
/// Shortest demo with expectations: a shorter one is mostly start and end.
pub const EXPECTED_FROM_S: f64 = 20.0;

/// A running scenario.
pub struct ScenarioPlayer {
    name: String,
    /// Its text, for the exchange.
    pub source: Source,
    /// Length of the run to which percentages refer.
    pub duration_s: u64,
    scenario: Scenario,
    /// Number of events reported so far.
    reported: usize,
}

impl ScenarioPlayer {
    /// Reads the requested scenario.
    pub fn new(args: &DemoArgs) -> anyhow::Result<Self> {
        let suited = files::suited_scenario(args.strategy.as_deref());
        let name = args.scenario.as_deref().unwrap_or(suited);
        let Some(source) = scenario::source(name, Path::new("")) else {
            let what = format!(
                "there is no scenario {name:?}; use one of {}, or the path of a file such as ./mine.toml",
                scenario::names()
            );
            return Err(Failure::new(Exit::Usage, what).into());
        };
        let source = source?;
        let duration_s = if args.forever {
            ENDLESS_S
        } else {
            args.duration
        };
        let run = Run {
            seed: args.seed,
            duration_ms: duration_s.saturating_mul(1_000),
        };
        let scenario = Scenario::parse(&source, &files::markets()?, run)?;
        Ok(Self {
            name: name.to_owned(),
            source,
            duration_s,
            scenario,
            reported: 0,
        })
    }

    /// Name and description.
    pub fn title(&self) -> String {
        format!("scenario {}: {}", self.name, self.scenario.about)
    }

    /// The events since the last call, at this time since the traders started.
    pub fn due_events(&mut self, passed: Duration) -> Vec<String> {
        let due = |at_ms: u64| Duration::from_millis(at_ms) <= passed;
        let events = self.scenario.events.iter().skip(self.reported);
        let due_events: Vec<_> = events
            .take_while(|event| due(event.at_ms))
            .map(|event| event.text.clone())
            .collect();
        self.reported += due_events.len();
        due_events
    }

    /// Time within which a killed daemon is expected to quote both sides again, in addition to what the fence requires.
    pub fn recovery_max(&self) -> Duration {
        Duration::from_secs(self.scenario.recovery_max_s.into())
    }

    /// Where the scenario's expectation was not met.
    pub fn problem(&self, both_sides_ratio: f64, duration_s: f64) -> Option<String> {
        let percent = 100.0 * both_sides_ratio;
        let least = self.scenario.both_sides_min_percent;
        (duration_s >= EXPECTED_FROM_S && percent < f64::from(least)).then(|| {
            format!("both sides were quoted {percent:.1} % of the time, and this scenario expects {least} %")
        })
    }

    /// The scenario and its events, as lines of the summary.
    pub fn text(&self) -> String {
        let mut text = format!("{:<LABEL$}{}\n", "scenario", self.name);
        for event in self.happened() {
            let at = format!("  after {:.1} s", seconds(event.at_ms));
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{at:<LABEL$}{}", event.text);
        }
        text
    }

    /// The same, in the form of the demo's JSON.
    pub fn json(&self) -> Value {
        let events = self.happened().iter();
        let events: Vec<_> = events
            .map(|event| json!({"at_s": seconds(event.at_ms), "what": event.text}))
            .collect();
        json!({"name": self.name, "events": events})
    }

    fn happened(&self) -> &[cambist_config::scenario::Event] {
        &self.scenario.events[..self.reported]
    }
}

#[expect(clippy::cast_precision_loss, reason = "times of a demo, for display")]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn played(scenario: &str) -> anyhow::Result<ScenarioPlayer> {
        ScenarioPlayer::new(&DemoArgs {
            duration: 60,
            forever: false,
            seed: 1,
            strategy: None,
            scenario: Some(scenario.to_owned()),
            venue: cambist_daemon::config::venue::VenueKind::Exchange,
            no_crash: false,
            node_modules: None,
        })
    }

    #[test]
    fn every_name_is_played_and_an_unknown_one_lists_them() {
        for name in scenario::names().split(", ") {
            assert!(
                played(name)
                    .unwrap()
                    .title()
                    .starts_with(&format!("scenario {name}: "))
            );
        }
        let error = played("crush").err().unwrap();
        assert_eq!(crate::exit::of(&error), Exit::Usage);
        let text = error.to_string();
        assert!(
            text.contains("\"crush\"") && text.contains("calm, trending"),
            "{text}"
        );
        let missing = played("./no-such-file.toml").err().unwrap();
        assert_eq!(crate::exit::of(&missing), Exit::Refused, "{missing}");
    }

    #[test]
    fn what_happens_is_reported_once_and_in_time() {
        let mut outage = played("outage").unwrap();
        let at = Duration::from_secs;
        assert!(outage.due_events(at(11)).is_empty() && outage.json()["events"] == json!([]));
        assert_eq!(outage.due_events(at(20)).len(), 2);
        assert!(outage.due_events(at(20)).is_empty());
        assert_eq!(outage.json()["events"][1]["at_s"], 18.0);
        assert!(
            outage
                .text()
                .contains("  after 12.0 s        the exchange is halted"),
            "{}",
            outage.text()
        );
    }

    #[test]
    fn less_than_is_expected_is_a_problem_of_a_demo_that_is_long_enough() {
        let calm = played("calm").unwrap();
        assert_eq!(calm.problem(0.70, 60.0), None);
        assert_eq!(calm.problem(0.1, 19.9), None);
        let problem = calm.problem(0.699, 60.0).unwrap();
        assert!(
            problem.contains("69.9 %") && problem.contains("70 %"),
            "{problem}"
        );
    }
}
