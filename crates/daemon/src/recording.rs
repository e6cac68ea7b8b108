//! Encoding of strategies and snapshots on a tape, for the live loop and the replay.
//!
//! The tape depends on neither the registry nor the engine's snapshot.

mod versions;

use std::io::Read;

use cambist_core::action::Action;
use cambist_core::engine::Snapshot;
use cambist_core::event::Event;
use cambist_core::inspection::Inspection;
use cambist_core::strategy::Strategy;
use cambist_core::{Engine, MarketId, MarketSpec, Time};
use cambist_strategy_process::{ProcessSettings, ProcessStrategy};
use cambist_tape::{Header, Reader, StrategyText, UNTYPED};
use serde::{Deserialize, Serialize};

use crate::config::Bound;
use crate::config::market::StrategyChoice;
use cambist_host::program;

/// Before the name of a strategy that runs in a process, on a tape: no name of the registry has a colon.
const PROCESS: &str = "process:";

/// Why a recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The strategy does not exist in this program.
    #[error("this program has no strategy {0:?}")]
    Strategy(String),
    /// Its parameters are refused.
    #[error("strategy {name}: {what}")]
    Parameters {
        /// The strategy.
        name: String,
        /// The reason.
        what: String,
    },
    /// The snapshot cannot be decoded.
    #[error("the snapshot cannot be read: {0}")]
    Snapshot(String),
}

/// The header of a tape for a bound configuration.
pub fn header(bound: &Bound, config: String, config_hash: String) -> Header {
    let name = |choice: &StrategyChoice| match &choice.process {
        Some(_) => format!("{PROCESS}{}", choice.name.value),
        None => choice.name.value.clone(),
    };
    Header {
        program: program::build().name.to_owned(),
        config,
        config_hash,
        strategies: bound
            .strategies
            .iter()
            .map(|(_, market, choice)| StrategyText {
                name: name(choice),
                market: *market,
                parameters: parameters_text(choice),
            })
            .collect(),
    }
}

/// The text of all parameters of a strategy, from which it is built again.
pub fn parameters_text(choice: &StrategyChoice) -> String {
    match &choice.process {
        Some(process) => process.recorded(&choice.params).to_string(),
        None => choice.params.to_string(),
    }
}

/// Builds the strategies of a bound configuration, in order of ids.
pub fn strategies(bound: &Bound) -> Result<Vec<Box<dyn Strategy>>, RecordingError> {
    let each = bound.strategies.iter().map(|(_, market, choice)| {
        let spec = bound.markets.get(usize::from(market.0));
        match &choice.process {
            Some(process) => {
                build_process(&choice.name.value, &process.recorded(&choice.params), spec)
            }
            None => build(&choice.name.value, &choice.params, spec),
        }
    });
    each.collect()
}

/// A snapshot on a tape: the engine, and the markets of its strategies.
#[derive(Serialize, Deserialize)]
struct Saved {
    markets: Vec<MarketSpec>,
    engine: Snapshot,
}

/// Encodes a snapshot for a tape.
pub fn snapshot(engine: &Engine, markets: &[MarketSpec]) -> Result<Vec<u8>, RecordingError> {
    let saved = Saved {
        markets: markets.to_vec(),
        engine: engine.save(),
    };
    let bytes = versions::history().digest().to_le_bytes().to_vec();
    postcard::to_extend(&saved, bytes).map_err(|error| RecordingError::Snapshot(error.to_string()))
}

/// Decodes a snapshot of this or an earlier version, from a tape of this format.
fn saved(format: u16, bytes: &[u8]) -> Result<Saved, RecordingError> {
    let wrong = |what: String| RecordingError::Snapshot(what);
    let (types, mut rest) = if UNTYPED.contains(&format) {
        (format.into(), bytes)
    } else {
        let split = bytes.split_first_chunk();
        let (types, rest) = split.ok_or_else(|| wrong("it ends too early".to_owned()))?;
        (u32::from_le_bytes(*types), rest)
    };
    let version = versions::history().version_of(types).ok_or_else(|| {
        wrong(format!(
            "its stored types are not supported by this program ({types:#x}): a later version wrote it"
        ))
    })?;
    let saved = versions::history().read(versions::SNAPSHOT, version, &mut rest);
    let saved = saved.map_err(|error| wrong(error.to_string()))?;
    if rest.is_empty() {
        Ok(saved)
    } else {
        Err(wrong("it has more data than an engine".to_owned()))
    }
}

/// A strategy that ran in a process: what the process answered is on the tape.
fn build_process(
    name: &str,
    recorded: &toml::Table,
    market: Option<&MarketSpec>,
) -> Result<Box<dyn Strategy>, RecordingError> {
    let refused = |what: String| RecordingError::Parameters {
        name: name.chars().take(64).collect(),
        what,
    };
    let market = market.ok_or_else(|| refused("its market is not on the tape".to_owned()))?;
    let settings = ProcessSettings::read(recorded).map_err(|error| refused(error.to_string()))?;
    Ok(Box::new(ProcessStrategy::new(settings, market)))
}

fn build(
    name: &str,
    params: &toml::Table,
    market: Option<&MarketSpec>,
) -> Result<Box<dyn Strategy>, RecordingError> {
    let info = cambist_strategies::find(name)
        .ok_or_else(|| RecordingError::Strategy(name.chars().take(64).collect()))?;
    let refused = |what: String| RecordingError::Parameters {
        name: info.name.to_owned(),
        what,
    };
    let market = market.ok_or_else(|| refused("its market is not on the tape".to_owned()))?;
    info.build_from(params, market)
        .map_err(|error| refused(error.to_string()))
}

/// Passes a tape's events to an engine like the recorded one.
///
/// Strategies need their market, which is in the tape's first event or in its snapshot.
pub struct Player {
    header: Header,
    markets: Vec<MarketSpec>,
    engine: Option<Engine>,
    failure: Option<RecordingError>,
}

impl Player {
    /// A player for a tape.
    pub fn new<R: Read>(tape: &Reader<R>) -> Result<Self, RecordingError> {
        let mut player = Self {
            header: tape.header().clone(),
            markets: Vec::new(),
            engine: None,
            failure: None,
        };
        if let Some(bytes) = tape.snapshot() {
            let wrong = |what: String| RecordingError::Snapshot(what);
            let saved = saved(tape.format(), bytes)?;
            let strategies = player.strategies(&saved.markets)?;
            let engine = Engine::restore(strategies, saved.engine)
                .map_err(|error| wrong(error.to_string()))?;
            player.engine = Some(engine);
            player.markets = saved.markets;
        }
        Ok(player)
    }

    /// Passes one event to the engine. `failure` reports errors.
    pub fn handle_event(&mut self, now: Time, event: &Event, actions: &mut Vec<Action>) {
        if self.engine.is_none() {
            match event {
                Event::Start(start) => match self.strategies(&start.markets) {
                    Ok(strategies) => {
                        self.engine = Some(Engine::new(strategies));
                        self.markets.clone_from(&start.markets);
                    }
                    Err(error) => self.failure = Some(error),
                },
                Event::Answer { .. }
                | Event::Sealed { .. }
                | Event::SealFailed { .. }
                | Event::RestrictionsStored(_)
                | Event::RestrictionsFailed(_)
                | Event::Operator(_)
                | Event::Process { .. }
                | Event::Reference(_)
                | Event::Portfolio(_)
                | Event::Elsewhere(_)
                | Event::Wake => {
                    let what = "the tape has neither a start nor a snapshot before its first event";
                    self.failure = Some(RecordingError::Snapshot(what.to_owned()));
                }
            }
        }
        if let Some(engine) = &mut self.engine {
            engine.on_event(now, event, actions);
        }
    }

    /// The current engine; `None` before the first event of a tape without a snapshot.
    pub const fn engine(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    /// The markets of the recording; none before the first event of a tape without a snapshot.
    pub fn markets(&self) -> &[MarketSpec] {
        &self.markets
    }

    /// A market of the recording.
    pub fn market(&self, market: MarketId) -> Option<&MarketSpec> {
        self.markets.get(usize::from(market.0))
    }

    /// State and targets of the engine at `now`; `None` before its start.
    pub fn inspect(&self, now: Time) -> Result<Option<Inspection>, RecordingError> {
        let Some(engine) = &self.engine else {
            return Ok(None);
        };
        let inspection = engine.inspect(now, self.strategies(&self.markets)?);
        inspection.map_err(|error| RecordingError::Snapshot(error.to_string()))
    }

    /// Why replaying failed.
    pub const fn failure(&self) -> Option<&RecordingError> {
        self.failure.as_ref()
    }

    fn strategies(&self, markets: &[MarketSpec]) -> Result<Vec<Box<dyn Strategy>>, RecordingError> {
        let each = self.header.strategies.iter().map(|text| {
            let params: toml::Table =
                text.parameters
                    .parse()
                    .map_err(|_| RecordingError::Parameters {
                        name: text.name.chars().take(64).collect(),
                        what: "not TOML".to_owned(),
                    })?;
            let market = markets.get(usize::from(text.market.0));
            match text.name.strip_prefix(PROCESS) {
                Some(name) => build_process(name, &params, market),
                None => build(&text.name, &params, market),
            }
        });
        each.collect()
    }
}
