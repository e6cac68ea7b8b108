//! Pauses and levels: what a control holds back lasts as long as it is configured to, and nobody but a
//! person lowers a level.

use cambist_core::config::RiskConfig;
use cambist_core::control::Control;
use cambist_core::event::{Command, Event, Level, Levels, Pause};
use cambist_core::note::Note;
use cambist_core::{ClientOrderId, MarketId};

use crate::conduct::Broken;

/// Pauses told at the start, and the level told.
#[derive(Debug)]
pub(super) struct Pauses {
    level: Level,
    /// A person asked for less.
    lowers: bool,
    /// Those of earlier runs are told once more.
    known: Vec<Pause>,
}

impl Pauses {
    pub(super) fn begin(levels: &Levels) -> Self {
        Self {
            level: levels.level,
            lowers: false,
            known: levels.pauses.clone(),
        }
    }

    pub(super) fn hear(&mut self, event: &Event) {
        self.lowers |= matches!(event, Event::Operator(Command::Lower { .. }));
    }

    pub(super) fn note(&mut self, note: &Note, risk: &RiskConfig) -> Option<Broken> {
        match note {
            Note::Paused(pause) if !self.known.contains(pause) => {
                let length_ms = pause.until.map(|until| until.ms_since(pause.since));
                let of_control = Control::named(&pause.cause).is_some();
                let wrong = length_ms.map_or(of_control, |length_ms| length_ms != risk.pause_ms);
                wrong.then(|| {
                    let detail = format!("{} holds for {length_ms:?} ms", pause.cause);
                    ("pause_length", detail)
                })
            }
            Note::LevelChanged { level, .. } => {
                let before = std::mem::replace(&mut self.level, *level);
                let lowered = *level < before && !std::mem::take(&mut self.lowers);
                lowered.then(|| {
                    let (from, to) = (before.name(), level.name());
                    ("level_lowered", format!("from {from} to {to} by nobody"))
                })
            }
            _ => None,
        }
    }

    /// The level forbids what is sealed or leaves.
    pub(super) fn forbid(&self, id: ClientOrderId, market: MarketId) -> Option<Broken> {
        (self.level > Level::Trading).then(|| {
            let detail = format!("{id} in market {} at level {}", market.0, self.level.name());
            ("level", detail)
        })
    }
}
