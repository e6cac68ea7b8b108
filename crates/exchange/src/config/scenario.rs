//! `[scenario]` of the exchange's file: a scenario instead of `[[traders]]`.

use std::path::{Path, PathBuf};

use cambist_config::scenario::{BUILT_IN, Run, Scenario, built_in};

use crate::config::Exchange;
use cambist_config::reader::{At, ConfigError, Section, Source};

/// Default length of a run, to which percentages refer: one minute.
const DURATION_S: u64 = 60;

/// The scenario and its parameters.
#[derive(Clone, Debug)]
pub(super) struct Play {
    source: PlaySource,
    run: Run,
}

/// Location of a scenario.
#[derive(Clone, Debug)]
enum PlaySource {
    BuiltIn(Source),
    File(PathBuf),
}

/// The scenario with this name or in this file; `None` if there is no such scenario and it is not a path.
pub fn source(name: &str, folder: &Path) -> Option<Result<Source, ConfigError>> {
    Some(match find(name, folder)? {
        PlaySource::BuiltIn(source) => Ok(source),
        PlaySource::File(path) => Source::read(&path),
    })
}

/// The names, for messages.
pub fn names() -> String {
    BUILT_IN.map(|(name, _)| name).join(", ")
}

fn find(name: &str, folder: &Path) -> Option<PlaySource> {
    if let Some(source) = built_in(name) {
        return Some(PlaySource::BuiltIn(source));
    }
    let is_path = name.contains('/')
        || Path::new(name)
            .extension()
            .is_some_and(|kind| kind == "toml");
    is_path.then(|| PlaySource::File(folder.join(name)))
}

pub(super) fn read(mut section: Section<'_, '_>, folder: &Path, has_traders: bool) -> Option<Play> {
    let play = section.opt::<String>("play");
    let seed = section.number("seed", 1, 0..=u64::MAX);
    let duration = section.number("duration_s", DURATION_S, 1..=31_536_000);
    let found = play.and_then(|At { value, at }| {
        if has_traders {
            section.problem(at, "[[traders]] and scenario.play exclude each other");
        }
        let found = find(&value, folder);
        if found.is_none() {
            let what = format!(
                "scenario.play = {value:?} is neither one of {} nor a path of a file",
                names()
            );
            section.problem(at, what);
        }
        found
    });
    section.finish();
    Some(Play {
        source: found?,
        run: Run {
            seed: seed.value,
            duration_ms: duration.value.saturating_mul(1_000),
        },
    })
}

impl Exchange {
    /// Reads the scenario, if one is configured: its traders become the exchange's, and its pools get their liquidity.
    pub(super) fn play(&mut self, play: Play) -> Result<(), ConfigError> {
        let source = match play.source {
            PlaySource::BuiltIn(source) => source,
            PlaySource::File(path) => Source::read(&path)?,
        };
        let scenario = Scenario::parse(&source, &self.markets, play.run)?;
        for pool in &mut self.pools {
            let mut traders = scenario.traders.iter();
            let traders = traders.find(|one| one.agents.market == pool.market);
            pool.liquidity = traders.and_then(|one| one.pool);
        }
        self.traders = scenario.traders.into_iter().map(|one| one.agents).collect();
        Ok(())
    }
}
