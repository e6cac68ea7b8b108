//! The side of a process strategy in the engine: makes views, takes answers in, and quotes the last one
//! while it is fresh.
//!
//! At most one view is unanswered. A view is made when it would show something new, and otherwise before
//! the last answer becomes too old. The engine never waits: until an answer comes the one before counts,
//! less what was filled since its view.

use cambist_core::control::Control;
use cambist_core::strategy::{ProcessMessage, Replacement, Strategy, Targets, View, WantedSwap};
use cambist_core::withheld::{Compared, Unit};
use cambist_core::{Amount, MarketSpec, Side, Time, Withheld};
use serde::{Deserialize, Serialize};

use crate::remembered::{Accepted, Remembered};
use crate::settings::ProcessSettings;
use crate::view::ViewLine;
use crate::{VIEW_INTERVAL_MS, target};

/// A strategy that runs in a process.
#[derive(Clone, Debug)]
pub struct ProcessStrategy {
    settings: ProcessSettings,
    market: MarketSpec,
    memory: Remembered,
    /// The newest view, until it is taken.
    line: Option<String>,
    /// A view that would show something new waits until this time.
    view_due: Option<Time>,
    /// The swap that the last answer asks for, until the engine is asked for it, which it is once.
    swap: Option<WantedSwap>,
}

/// What outlives the run.
#[derive(Serialize, Deserialize)]
struct Durable {
    state: Option<String>,
}

impl ProcessStrategy {
    /// A strategy whose process does not run yet.
    pub fn new(settings: ProcessSettings, market: &MarketSpec) -> Self {
        Self {
            settings,
            market: market.clone(),
            memory: Remembered::default(),
            line: None,
            view_due: None,
            swap: None,
        }
    }

    /// Most orders it may want.
    pub const fn orders_max(&self) -> usize {
        self.settings.orders_max
    }

    /// Half of the time for which an answer counts: then another view is made although nothing changed.
    const fn refresh_ms(&self) -> u64 {
        self.settings.timeout_ms / 2
    }

    /// Makes a view if one is due.
    fn make_view(&mut self, view: &View<'_>) {
        self.view_due = None;
        if self.memory.is_unanswered {
            return;
        }
        let fills = self.memory.fills.iter().map(|new| &new.fill);
        let mut line = ViewLine::new(view, fills, &self.settings);
        let digest = line.digest();
        if let Some((made, shown)) = self.memory.newest_view {
            let pause_ms = if shown == digest {
                self.refresh_ms()
            } else {
                VIEW_INTERVAL_MS
            };
            let due = made.plus_ms(pause_ms);
            if view.now < due {
                self.view_due = Some(due);
                return;
            }
        }
        let memory = &mut self.memory;
        memory.view_seq += 1;
        memory.newest_view = Some((view.now, digest));
        memory.is_unanswered = true;
        for new in &mut memory.fills {
            new.is_shown = true;
        }
        line.number(memory.view_seq, memory.state.as_deref());
        self.line = Some(line.text());
    }

    /// Why nothing is quoted; `None` while the last answer counts.
    fn barred(&self, now: Time) -> Option<Withheld> {
        if !self.memory.runs {
            return Some(Control::ProcessDown.into());
        }
        if self.memory.is_refused {
            return Some(Control::ProcessAnswer.into());
        }
        let (key, limit) = ("market.strategy.timeout_ms", self.settings.timeout_ms);
        let stale = |compared| Some(Withheld::compared(Control::ProcessStale, compared));
        let newest = self.memory.newest_view.map(|(made, _)| made);
        let asked = newest.filter(|_| self.memory.is_unanswered);
        let target = self.memory.target.as_ref().map(|target| target.made);
        // A view that was made when the last answer was too old already was late itself: nothing was quoted or decided for
        // a while, and the process has its whole time from then on.
        let is_late = |made: Time| target.is_none_or(|target| made.ms_since(target) >= limit);
        if let Some(asked) = asked.filter(|made| is_late(*made)) {
            let waited_ms = now.ms_since(asked);
            return stale(if waited_ms >= limit {
                Compared::new(Unit::Ms, key, waited_ms, limit)
            } else {
                Compared::unknown(Unit::Ms, key, limit)
            });
        }
        let Some(target) = target else {
            return stale(Compared::unknown(Unit::Ms, key, limit));
        };
        let age_ms = now.ms_since(target);
        if age_ms < limit {
            return None;
        }
        stale(Compared::new(Unit::Ms, key, age_ms, limit))
    }
}

impl Strategy for ProcessStrategy {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        self.memory.observe(view.fills, view.own, &self.market);
        if self.memory.runs {
            self.make_view(view);
        }
        if let Some(why) = self.barred(view.now) {
            self.swap = None;
            for side in Side::BOTH {
                targets.withhold(side, why);
            }
            return;
        }
        // A target is asked for again at every decision, and a swap is not: it would be made again as soon as the pool
        // was read after the first.
        let is_possible = view.pool.is_some_and(|pool| pool.swap.possible);
        if let Some(swap) = self.swap.take().filter(|_| is_possible) {
            targets.swap(swap);
        }
        for (side, price, qty, level) in self.memory.target.iter().flat_map(|t| &t.quotes) {
            targets.quote(*side, *price, *qty, *level);
        }
    }

    fn reads(&self) -> &[String] {
        &self.settings.markets
    }

    fn save(&self) -> Vec<u8> {
        let swap = self.swap.map(|swap| (swap.side, swap.sell, swap.least));
        postcard::to_stdvec(&(&self.memory, self.view_due, swap)).unwrap_or_default()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        type Swap = Option<(Side, Amount, Amount)>;
        // Snapshots of earlier versions have no swap.
        let read = postcard::from_bytes::<(Remembered, Option<Time>, Swap)>(saved);
        let before = || postcard::from_bytes(saved).map(|(memory, due)| (memory, due, None));
        let Ok((memory, view_due, swap)) = read.or_else(|_| before()) else {
            return false;
        };
        (self.memory, self.view_due, self.line) = (memory, view_due, None);
        self.swap = swap.map(|(side, sell, least)| WantedSwap { side, sell, least });
        true
    }

    fn with_parameters(
        &self,
        market: &MarketSpec,
        parameters: &str,
    ) -> Result<Replacement, String> {
        let table = parameters.parse();
        let table: toml::Table = table.map_err(|_| "the parameters are not TOML".to_owned())?;
        let settings = ProcessSettings::read(&table).map_err(|error| error.to_string())?;
        // What they mean is known to the process alone: every change may bear more risk.
        let changed = settings.changes(&self.settings);
        let mut strategy = Self::new(settings, market);
        (strategy.memory, strategy.view_due) = (self.memory.clone(), self.view_due);
        strategy.swap = self.swap.filter(|_| strategy.settings.swaps);
        Ok(Replacement {
            strategy: Box::new(strategy),
            looser: changed.clone(),
            changed,
        })
    }

    fn save_durable(&self) -> Vec<u8> {
        let state = self.memory.state.clone();
        postcard::to_stdvec(&Durable { state }).unwrap_or_default()
    }

    fn resume(&mut self, saved: &[u8]) -> bool {
        let Ok(Durable { state }) = postcard::from_bytes(saved) else {
            return saved.is_empty();
        };
        self.memory.state = state;
        true
    }

    fn next_decision(&self) -> Option<Time> {
        let target = self.memory.target.as_ref().filter(|_| self.memory.runs);
        let stale = target.map(|target| target.made.plus_ms(self.settings.timeout_ms));
        [stale, self.view_due].into_iter().flatten().min()
    }

    fn view_seq(&self) -> u64 {
        self.memory.view_seq
    }

    fn take_view(&mut self) -> Option<String> {
        self.line.take()
    }

    fn receive(&mut self, _now: Time, message: &ProcessMessage) -> Result<(), String> {
        let memory = &mut self.memory;
        match message {
            ProcessMessage::Started | ProcessMessage::Ended => {
                memory.runs = *message == ProcessMessage::Started;
                (memory.newest_view, memory.is_unanswered) = (None, false);
                (memory.target, memory.is_refused) = (None, false);
                self.swap = None;
                for new in &mut memory.fills {
                    new.is_shown = false;
                }
                (self.line, self.view_due) = (None, None);
                Ok(())
            }
            ProcessMessage::Line(line) => {
                let unanswered = std::mem::take(&mut memory.is_unanswered);
                // One that could not be asked for is not kept: it was decided on an older view.
                self.swap = None;
                let made = memory.newest_view.filter(|_| unanswered && memory.runs);
                let Some((made, _)) = made else {
                    (memory.target, memory.is_refused) = (None, true);
                    return Err("it answered although every view was answered".to_owned());
                };
                match target::read(line, memory.view_seq, &self.settings, &self.market) {
                    Ok(answer) => {
                        self.swap = answer.swap;
                        if answer.state.is_some() {
                            memory.state = answer.state;
                        }
                        memory.accept(Accepted::new(made, &answer.quotes), &self.market);
                        Ok(())
                    }
                    Err(error) => {
                        (memory.target, memory.is_refused) = (None, true);
                        Err(error.to_string())
                    }
                }
            }
        }
    }
}
