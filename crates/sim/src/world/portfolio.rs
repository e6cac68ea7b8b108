//! Other venues of a portfolio: what they hold changes while there are faults, and is sometimes not known. Limits over all
//! venues are then near what is held, so that they are reached.

use cambist_core::event::Event;
use cambist_core::market::value_at;
use cambist_core::portfolio::{ExposureElsewhere, Portfolio, TokenElsewhere, WorthRate};
use cambist_core::{Amount, MarketSpec, TokenId};
use cambist_venue::Random;

use crate::profiles::sampling::choose;

use crate::invariants::limits::Limits;
use crate::invariants::table::Invariant;
use crate::portfolio::Part;

use super::World;
use super::events::WorldEvent;

/// Between two changes.
const CHANGE_MS: u64 = 15_000;
/// A whole base token is about the size of an order.
const WHOLE: Amount = 1_000_000_000_000_000_000;
/// Units of the reporting currency for as many of a quote token.
const RATE: WorthRate = WorthRate { worth: 3, per: 2 };

/// The other venues of a world.
pub(super) struct OtherVenues {
    random: Random,
    /// Whether limits over all venues are in force.
    limits: bool,
}

impl OtherVenues {
    /// Chance of its own, so that worlds without a portfolio are what they would be without this.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed ^ 0x0070_6f72_7466_6f6c),
            limits: false,
        }
    }

    /// Whether limits over all venues are in force.
    pub(super) const fn limit(&self) -> bool {
        self.limits
    }
}

impl World {
    /// Its engine becomes that of one venue of a portfolio, from its start on.
    pub(crate) fn join_portfolio(&mut self, part: Part) {
        self.others.limits = true;
        self.part = Some(part);
    }

    /// Whether the daemon runs.
    pub(crate) const fn is_up(&self) -> bool {
        self.daemon.is_some()
    }

    /// Purchases of a base token that were handed over for sealing since the last start.
    pub(crate) fn purchases(&self, symbol: &str) -> u64 {
        let limits = self.limits.as_ref().zip(self.base_of(symbol));
        limits.map_or(0, |(limits, token)| limits.purchases(token))
    }

    fn noticed_limits(&self) -> Option<&Limits> {
        let faults = &self.active_faults;
        let has_noticed = faults.unexplained.is_empty() && faults.undetected_until <= self.now;
        self.limits.as_ref().filter(|_| self.is_up() && has_noticed)
    }

    fn base_of(&self, symbol: &str) -> Option<TokenId> {
        let mut bases = self.specs.iter().map(|spec| &spec.base);
        let base = bases.find(|base| base.symbol == symbol)?;
        Some(base.id)
    }

    /// Most of a base token that the account may hold if everything alive fills, by the venue; nothing of one that is not
    /// traded. `None` while no daemon runs, which would notice a flow, and while there is one that it may not have noticed.
    pub(crate) fn most_of_token(&self, symbol: &str) -> Option<Amount> {
        let limits = self.noticed_limits()?;
        let Some(token) = self.base_of(symbol) else {
            return Some(0);
        };
        let held = self.held_at_venue(token);
        Some(limits.most(token, held, &self.ground_truth))
    }

    /// What the account holds of a base token, by the venue.
    pub(crate) fn held_of(&self, symbol: &str) -> Amount {
        self.base_of(symbol)
            .map_or(0, |token| self.held_at_venue(token))
    }

    /// Purchases of all tokens that were handed over for sealing since the last start.
    pub(crate) fn all_purchases(&self) -> u64 {
        self.limits.as_ref().map_or(0, Limits::all_purchases)
    }

    /// Least value of what it may hold of base tokens if everything alive fills, by the venue, in quote units at the lowest
    /// mids that its engine has seen. `None` as above, and while there is no mid of one that it holds.
    pub(crate) fn most_value(&self) -> Option<Amount> {
        let limits = self.noticed_limits()?;
        let held = |token| self.held_at_venue(token);
        limits.most_value(&held, &self.ground_truth)
    }

    /// Something is violated that only both worlds of a portfolio show.
    pub(crate) fn fail(&mut self, check: Invariant, detail: String) {
        self.checks.fail(check, detail);
    }

    /// The daemon has started: what the other venues hold is its first input.
    pub(super) fn start_portfolio(&mut self) {
        if self.config.portfolio {
            self.change_portfolio();
        }
    }

    /// The other venues change.
    pub(super) fn portfolio(&mut self, incarnation: u32) {
        if self.is_alive(incarnation) {
            self.change_portfolio();
        }
    }

    fn change_portfolio(&mut self) {
        let Some(daemon) = &self.daemon else { return };
        let incarnation = daemon.incarnation;
        let wait_ms = CHANGE_MS + self.others.random.below(CHANGE_MS);
        self.queue.plan(
            self.now.plus_ms(wait_ms),
            WorldEvent::Portfolio { incarnation },
        );
        let faulty = self.active_faults.in_fault_period && !self.calmed;
        self.others.limits = faulty;
        let portfolio = if faulty {
            self.drawn_portfolio()
        } else {
            Portfolio::default()
        };
        self.handle_event(&Event::Portfolio(portfolio));
    }

    /// Limits that leave room for a few orders, or none.
    fn drawn_portfolio(&mut self) -> Portfolio {
        let specs = self.specs.clone();
        let mut tokens: Vec<TokenElsewhere> = Vec::new();
        let mut exposed: Amount = 0;
        for spec in &specs {
            let token = spec.base.id;
            if tokens.iter().any(|known| known.token == token) {
                continue;
            }
            let held = self.held_at_venue(token);
            exposed = exposed.saturating_add(self.worth(spec, held));
            let room = *choose(&mut self.others.random, &[0, WHOLE, 3 * WHOLE, 20 * WHOLE]);
            let elsewhere = self.drawn_elsewhere(held);
            let most = held
                .saturating_add(elsewhere.unwrap_or(0))
                .saturating_add(room);
            tokens.push(TokenElsewhere {
                token,
                elsewhere,
                most,
            });
        }
        let random = &mut self.others.random;
        let (with_tokens, with_exposure) = (random.chance(2, 3), random.chance(2, 3));
        if !with_tokens {
            tokens.clear();
        }
        let exposure = with_exposure.then(|| self.drawn_exposure(&specs, exposed));
        Portfolio { tokens, exposure }
    }

    fn drawn_exposure(&mut self, specs: &[MarketSpec], exposed: Amount) -> ExposureElsewhere {
        let elsewhere = self.drawn_elsewhere(exposed);
        let random = &mut self.others.random;
        let room = exposed / *choose(random, &[Amount::MAX, 100, 20, 2]);
        // The token of every market has a price, or one of them has none.
        let without = random
            .chance(1, 10)
            .then(|| random.below(specs.len() as u64));
        let mut rates: Vec<(TokenId, WorthRate)> = Vec::new();
        for (at, spec) in (0..).zip(specs) {
            let token = spec.quote.id;
            if without != Some(at) && rates.iter().all(|(known, _)| *known != token) {
                rates.push((token, RATE));
            }
        }
        ExposureElsewhere {
            elsewhere,
            most: exposed
                .saturating_add(elsewhere.unwrap_or(0))
                .saturating_add(room),
            whole: 1_000_000,
            rates,
        }
    }

    /// Some amount, nothing, or not known.
    fn drawn_elsewhere(&mut self, of: Amount) -> Option<Amount> {
        let random = &mut self.others.random;
        match random.below(10) {
            0 => None,
            1 | 2 => Some(0),
            part => Some(of / Amount::from(part)),
        }
    }

    /// The value of base in the reporting currency.
    fn worth(&self, spec: &MarketSpec, base: Amount) -> Amount {
        let mid = self.mids()[usize::from(spec.id.0)];
        let value = mid.and_then(|mid| value_at(spec, base, mid));
        value.and_then(|value| RATE.value(value)).unwrap_or(0)
    }
}
