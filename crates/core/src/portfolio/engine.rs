//! Several venues as one engine value: an engine for each, with its own clock, budgets, fence and ledger, and limits over
//! all of them.
//!
//! After every event an engine states what it may hold at most, and before every event it is given what the others
//! stated. Two engines can therefore not use the same room, whatever the order of their events. What the others hold is an
//! event of each engine ([`PortfolioEngine::due`]), so that its tape decides the same without them. A venue that does not
//! answer, or whose engine has ended, counts with what it stated last. What a strategy reads of a market of another venue
//! goes the same way.

use crate::action::Action;
use crate::elsewhere::{self, MarketElsewhere, OtherHoldings, Published};
use crate::engine::Engine;
use crate::event::{Command, Event, TradingState};
use crate::market::{MarketId, MarketSpec};
use crate::order::StrategyId;
use crate::time::Time;
use crate::token::TokenSpec;

use super::member::{Given, Member};
use super::readings::{Entry, Reading};
use super::rules::{PortfolioRules, ReadElsewhere};
use super::{Exposure, LostToday};

/// Why trading stops at every venue.
pub const LOSS: &str = "portfolio.loss_day_max";

/// The engines of several venues, and limits over all of them.
pub struct PortfolioEngine {
    pub(super) rules: PortfolioRules,
    pub(super) venues: Vec<Member>,
    /// One venue without limits over several: nothing reads what it would state.
    is_alone: bool,
}

impl PortfolioEngine {
    /// Venues before their start. Nothing is stated.
    pub fn new(rules: PortfolioRules) -> Self {
        let venues: Vec<_> = rules.venues.iter().map(|_| Member::default()).collect();
        Self {
            is_alone: venues.len() == 1 && !rules.is_limited(),
            rules,
            venues,
        }
    }

    /// One venue, and no limits over several.
    pub fn of_one(engine: Engine) -> Self {
        let mut alone = Self::new(PortfolioRules::of_one());
        alone.take(0, engine);
        alone
    }

    /// What it is made of.
    pub const fn rules(&self) -> &PortfolioRules {
        &self.rules
    }

    /// The venues, in the order of the rules.
    pub fn venues(&self) -> &[Member] {
        &self.venues
    }

    /// The engine of a venue; `None` before it was taken.
    pub fn engine(&self, venue: usize) -> Option<&Engine> {
        self.venues[venue].engine.as_ref()
    }

    /// As [`Engine::take_view`], of a venue.
    pub fn take_view(&mut self, venue: usize, strategy: StrategyId) -> Option<String> {
        self.venues[venue].engine.as_mut()?.take_view(strategy)
    }

    /// Until the venue answers, this counts as what it may hold: what its store holds, written last at that time (Unix
    /// seconds).
    pub fn count_stored(
        &mut self,
        venue: usize,
        markets: Vec<MarketSpec>,
        exposure: Exposure,
        since_s: u64,
    ) {
        let member = &mut self.venues[venue];
        member.markets = markets;
        member.stated = Some(exposure);
        member.stored_s = Some(since_s);
    }

    /// What a venue lost today by its store, and how long that day still lasts.
    pub fn keep_losses(
        &mut self,
        venue: usize,
        now: Time,
        lost: Vec<(TokenSpec, LostToday)>,
        day_left_ms: u64,
    ) {
        let member = &mut self.venues[venue];
        (member.lost, member.day_ends_at) = (lost, now.plus_ms(day_left_ms));
    }

    /// The venue answered, was refused, or the start was stopped: what the store holds does not count any more. It may be
    /// that of another account, or older than its orders. What was lost today still counts: the engine states it only when
    /// it has recovered, and the others trade meanwhile.
    pub fn end_wait(&mut self, venue: usize) {
        let member = &mut self.venues[venue];
        if member.stored_s.take().is_some() {
            member.stated = None;
            member.markets.clear();
        }
    }

    /// The engine of a venue begins with these markets, and its strategies read markets of other venues. It has been given
    /// nothing and has stated nothing yet: what an engine stated before it is not what this one may hold.
    ///
    /// # Errors
    /// A sentence, if one of those is no market of the portfolio, or trades other tokens than its reader.
    pub fn begin(
        &mut self,
        venue: usize,
        markets: &[MarketSpec],
        reads: &[ReadElsewhere],
    ) -> Result<(), String> {
        let mut readings = Vec::new();
        for read in reads {
            let mut readers = markets.iter();
            if let Some(reader) = readers.find(|market| market.id == read.reader) {
                readings.push(Reading::of(&self.rules, venue, read, &reader.name)?);
            }
        }
        for reading in &readings {
            let read = &mut self.venues[reading.venue].read_by_others;
            read.insert(reading.market.clone());
        }
        let member = &mut self.venues[venue];
        markets.clone_into(&mut member.markets);
        member.stated = None;
        member.readings = readings;
        member.given = Given::default();
        Ok(())
    }

    /// Takes the engine of a venue that has begun.
    pub fn take(&mut self, venue: usize, engine: Engine) {
        self.venues[venue].engine = Some(engine);
    }

    /// Why a command cannot be executed at any venue now: trading would stop again before anything is sent.
    pub fn refuses(&self, now: Time, command: &Command) -> Option<String> {
        let resumes = matches!(
            command,
            Command::Lower {
                level: TradingState::Active,
                forget_losses: false,
                ..
            }
        );
        let is_refused = resumes && self.loss_is_exceeded(now);
        is_refused.then(|| {
            format!(
                "{LOSS} is exceeded by what all venues have lost today, and trading would stop again at once; resume \
                 --forget-losses counts from zero"
            )
        })
    }

    /// The event that a venue's engine has to handle before any other, if something has changed at the others. None before
    /// its start event.
    pub fn due(&mut self, venue: usize, now: Time) -> Option<Event> {
        if self.is_alone {
            return None;
        }
        let level = self.engine(venue)?.trading_state()?;
        self.changed(venue, now, level)
    }

    /// As [`PortfolioEngine::due`], of an engine in that trading state.
    pub fn changed(&mut self, venue: usize, now: Time, level: TradingState) -> Option<Event> {
        let is_exceeded = self.loss_is_exceeded(now);
        let given = &mut self.venues[venue].given;
        if level > TradingState::Active {
            given.raised = false;
        } else if !given.raised && is_exceeded {
            given.raised = true;
            return Some(Event::Operator(Command::Raise {
                level: TradingState::CancelOnly,
                reason: LOSS.to_owned(),
            }));
        }
        let portfolio = self.limits_of(venue, now);
        let given = &mut self.venues[venue].given.portfolio;
        if given.as_ref() != Some(&portfolio) {
            *given = Some(portfolio.clone());
            return Some(Event::Portfolio(portfolio));
        }
        let elsewhere = self.changed_elsewhere(venue, now);
        (!elsewhere.is_empty()).then_some(Event::Elsewhere(elsewhere))
    }

    /// The engine of a venue handles an event, and states what the others have to know. False before its start.
    pub fn on_event(
        &mut self,
        venue: usize,
        now: Time,
        event: &Event,
        actions: &mut Vec<Action>,
    ) -> bool {
        let member = &mut self.venues[venue];
        let Some(engine) = &mut member.engine else {
            return false;
        };
        engine.on_event(now, event, actions);
        if self.is_alone {
            return true;
        }
        let exposure = engine.exposure();
        member.state(now, exposure);
        for market in member.is_read() {
            let published = self.engine(venue).and_then(|engine| engine.publish(market));
            if let Some(published) = published {
                self.publish(venue, now, market, published);
            }
        }
        true
    }

    /// What a venue may hold after a step. What is not known any more replaces nothing.
    pub fn state(&mut self, venue: usize, now: Time, exposure: Option<Exposure>) {
        self.venues[venue].state(now, exposure);
    }

    /// What the strategies of other venues read of a market after a step.
    pub fn publish(&mut self, venue: usize, now: Time, market: MarketId, published: Published) {
        let entries = &mut self.venues[venue].published;
        let known = entries.get(&market);
        if known.is_none_or(|known| known.differs(&published, now)) {
            let revision = known.map_or(0, |known| known.revision + 1);
            let entry = Entry {
                published,
                at: now,
                revision,
            };
            entries.insert(market, entry);
        }
    }

    /// The markets of other venues that have changed since the engine was given them.
    fn changed_elsewhere(&mut self, venue: usize, now: Time) -> Vec<MarketElsewhere> {
        let mut changed = Vec::new();
        let mut revisions = Vec::new();
        for (at, reading) in self.venues[venue].readings.iter().enumerate() {
            let Some(entry) = self.entry(reading) else {
                continue;
            };
            if self.venues[venue].given.revisions.get(&at) == Some(&entry.revision) {
                continue;
            }
            if let Some(market) = self.translated(venue, reading, now.ms_since(entry.at)) {
                revisions.push((at, entry.revision));
                changed.push(market);
            }
        }
        self.venues[venue].given.revisions.extend(revisions);
        changed
    }

    fn entry(&self, reading: &Reading) -> Option<&Entry> {
        let there = &self.venues[reading.venue];
        let mut markets = there.markets.iter();
        let market = markets.find(|market| market.name == reading.market)?;
        there.published.get(&market.id)
    }

    /// A market of another venue as its reader gets it, published `older_ms` ago.
    fn translated(
        &self,
        venue: usize,
        reading: &Reading,
        older_ms: u64,
    ) -> Option<MarketElsewhere> {
        let both = [reading.venue, venue];
        let names = both.map(|at| &self.rules.venues[at].names);
        let markets = both.map(|at| self.venues[at].markets.as_slice());
        let units = reading.units(names, markets)?;
        Some(units.translated(&self.entry(reading)?.published, older_ms))
    }

    /// What is held at a market of another venue, as the strategies of a market here read it.
    pub fn held_elsewhere(
        &self,
        venue: usize,
        reader: MarketId,
        name: &str,
    ) -> Option<OtherHoldings> {
        let mut readings = self.venues[venue].readings.iter();
        let reading = readings.find(|reading| {
            let there = &self.rules.venues[reading.venue].names.venue;
            reading.reader == reader && elsewhere::join(there, &reading.market) == name
        })?;
        self.translated(venue, reading, 0)?.holdings
    }
}
