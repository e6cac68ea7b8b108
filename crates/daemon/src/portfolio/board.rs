//! What the event loops of a portfolio share: the engine of all venues, its clock, and messages to the service manager.

use std::cell::{Ref, RefCell, RefMut};
use std::collections::BTreeMap;
use std::rc::Rc;

use cambist_core::portfolio::rules::ListedMarket;
use cambist_core::portfolio::{Exposure, LostToday, PortfolioEngine, VenueEngine};
use cambist_core::{Engine, MarketSpec, TokenSpec};
use cambist_host::clock::Clock;
use cambist_host::times;
use cambist_store::Recovered;

use super::file::PortfolioFile;
use super::stored::{self, Held, Stored};
use super::usage::HedgeOf;
use crate::config::{Bound, Daemon};
use crate::notify::Notifier;

/// What the event loops of a portfolio share.
pub struct Board {
    pub(super) file: PortfolioFile,
    pub(super) clock: Clock,
    pub(super) notifiers: Vec<Notifier>,
    engine: Rc<RefCell<PortfolioEngine>>,
}

impl Board {
    /// A board on which nothing is stated, of venues with these files.
    pub fn new(file: PortfolioFile, daemons: &[Daemon], clock: Clock) -> Rc<Self> {
        let markets = daemons.iter().map(Daemon::listed_markets).collect();
        Self::of(file, markets, clock)
    }

    /// The same, of venues with these markets.
    pub(super) fn of(
        file: PortfolioFile,
        markets: Vec<Vec<ListedMarket>>,
        clock: Clock,
    ) -> Rc<Self> {
        let names = file.venues.iter().map(|venue| venue.names.venue.clone());
        let notifiers = Notifier::of_each(names);
        let engine = PortfolioEngine::new(file.rules(markets));
        Rc::new(Self {
            file,
            clock,
            notifiers,
            engine: Rc::new(RefCell::new(engine)),
        })
    }

    /// The part of one venue.
    pub fn member(self: &Rc<Self>, index: usize) -> Membership {
        Membership {
            board: Rc::clone(self),
            index,
            hedges: Vec::new(),
        }
    }

    /// The engine of all venues, to read.
    pub(super) fn engine(&self) -> Ref<'_, PortfolioEngine> {
        self.engine.borrow()
    }

    pub(super) fn engine_mut(&self) -> RefMut<'_, PortfolioEngine> {
        self.engine.borrow_mut()
    }
}

/// The part of one venue in a portfolio.
pub struct Membership {
    pub(super) board: Rc<Board>,
    pub(super) index: usize,
    /// Its hedges.
    pub(super) hedges: Vec<HedgeOf>,
}

impl Membership {
    /// The venue's name.
    pub fn name(&self) -> &str {
        &self.board.file.venues[self.index].names.venue
    }

    /// The file of the portfolio, as it was read.
    pub fn file(&self) -> &PortfolioFile {
        &self.board.file
    }

    /// The clock of all venues.
    pub fn clock(&self) -> Clock {
        self.board.clock
    }

    /// Its part in the messages to the service manager.
    pub fn notifier(&self) -> Notifier {
        self.board.notifiers[self.index].clone()
    }

    /// Until the venue answers, what its locked state folder holds counts, as far as that bounds what may be held.
    pub fn wait_for_venue(&self, daemon: &Daemon, recovered: &Recovered) {
        let now_s = self.board.clock.unix_micros() / 1_000_000;
        let stored = stored::read(daemon, recovered, now_s, self.board.file.stored_age_max_s);
        self.count_stored(stored);
    }

    /// Takes what its store states, or why that is nothing.
    pub(super) fn count_stored(&self, stored: Result<Stored, String>) {
        let held = stored.and_then(|stored| {
            self.keep_losses(stored.lost, stored.day_left_ms);
            stored.held.map(|held| (held, stored.since_s))
        });
        match held {
            Ok((Held { markets, exposure }, since_s)) => {
                let held = held_text(&markets, &exposure);
                tracing::info!(
                    "until the venue answers, limits over all venues count what its store of {} holds and what may still fill: {held}",
                    times::iso(since_s)
                );
                let mut engine = self.board.engine_mut();
                engine.count_stored(self.index, markets, exposure, since_s);
            }
            Err(why) => tracing::info!(
                "until the venue answers, what it holds is not known ({why}): other venues add nothing that a limit of the portfolio bounds"
            ),
        }
    }

    fn keep_losses(&self, lost: Vec<(TokenSpec, LostToday)>, day_left_ms: u64) {
        let now = self.board.clock.now();
        let mut engine = self.board.engine_mut();
        engine.keep_losses(self.index, now, lost, day_left_ms);
    }

    /// As [`PortfolioEngine::end_wait`].
    pub fn end_wait(&self) {
        self.board.engine_mut().end_wait(self.index);
    }

    /// The same part, of an engine that begins with these markets and strategies.
    ///
    /// # Errors
    /// As [`PortfolioEngine::begin`].
    pub fn begin(mut self, bound: &Bound) -> Result<Self, String> {
        let mut engine = self.board.engine_mut();
        engine.begin(self.index, &bound.markets, &bound.reads_elsewhere())?;
        drop(engine);
        self.hedges = HedgeOf::all(bound);
        Ok(self)
    }

    /// The engine of this venue, which has begun.
    pub fn start(&self, engine: Engine) -> VenueEngine {
        VenueEngine::start(Rc::clone(&self.board.engine), self.index, engine)
    }
}

/// What may be held of each base token, in whole tokens.
fn held_text(markets: &[MarketSpec], exposure: &Exposure) -> String {
    let bases: BTreeMap<_, _> = markets.iter().map(|m| (m.base.id, &m.base)).collect();
    let held = bases.into_values().map(|base| {
        let units = exposure.tokens.get(&base.id).copied().flatten();
        let amount = units.map_or_else(
            || "?".to_owned(),
            |units| cambist_config::money::whole(units, base.decimals),
        );
        format!("{amount} {}", base.symbol)
    });
    held.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "board_tests.rs"]
pub(super) mod tests;
