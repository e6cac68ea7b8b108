//! The engine of one venue as its event loop holds it: several loops of one thread share the portfolio.

use std::cell::{Ref, RefCell};
use std::rc::Rc;

use crate::action::Action;
use crate::driver::Steps;
use crate::engine::Engine;
use crate::event::{Command, Event};
use crate::order::StrategyId;
use crate::time::Time;

use super::PortfolioEngine;

/// One venue of a portfolio that event loops share.
pub struct VenueEngine {
    portfolio: Rc<RefCell<PortfolioEngine>>,
    venue: usize,
}

impl VenueEngine {
    /// The engine of a venue that has begun.
    pub fn start(portfolio: Rc<RefCell<PortfolioEngine>>, venue: usize, engine: Engine) -> Self {
        portfolio.borrow_mut().take(venue, engine);
        Self { portfolio, venue }
    }

    /// An engine of one venue without limits over several.
    pub fn alone(engine: Engine) -> Self {
        Self {
            portfolio: Rc::new(RefCell::new(PortfolioEngine::of_one(engine))),
            venue: 0,
        }
    }

    /// The engine, to read.
    ///
    /// # Panics
    /// While an event is handled: an error of the shell.
    pub fn get(&self) -> Ref<'_, Engine> {
        Ref::map(self.portfolio.borrow(), |portfolio| {
            portfolio
                .engine(self.venue)
                .expect("taken when this was made")
        })
    }

    /// As [`PortfolioEngine::refuses`].
    pub fn refuses(&self, now: Time, command: &Command) -> Option<String> {
        self.portfolio.borrow().refuses(now, command)
    }
}

impl Steps for VenueEngine {
    fn due(&mut self, now: Time) -> Option<Event> {
        self.portfolio.borrow_mut().due(self.venue, now)
    }

    fn on_event(&mut self, now: Time, event: &Event, actions: &mut Vec<Action>) {
        let mut portfolio = self.portfolio.borrow_mut();
        portfolio.on_event(self.venue, now, event, actions);
    }

    fn take_view(&mut self, strategy: StrategyId) -> Option<String> {
        let mut portfolio = self.portfolio.borrow_mut();
        portfolio.take_view(self.venue, strategy)
    }
}
