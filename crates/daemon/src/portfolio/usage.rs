//! How much of the limits over all venues is used, what is not known, and how far hedges are from their targets.

use cambist_core::elsewhere::{self, OtherHoldings, Published};
use cambist_core::portfolio::rules::TokenLimit;
use cambist_core::portfolio::{LOSS, PortfolioEngine};
use cambist_core::{Amount, MarketId, MarketSpec, Time};
use cambist_strategies::Promise;

use super::board::{Board, Membership};
use super::file::PortfolioFile;
use crate::config::market::StrategyChoice;
use crate::config::{Bound, Daemon};
use crate::telemetry::portfolio::{HedgeDistance, LimitUse, PortfolioStatus, VenueState};

/// Keys of the limits, and their labels in metrics.
const INVENTORY: [&str; 2] = ["inventory", "portfolio.tokens.inventory_max"];
const EXPOSURE: [&str; 2] = ["exposure", "portfolio.exposure_max"];

/// A strategy that keeps base at a target over several venues, with its current parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HedgeOf {
    /// The name of the strategy.
    strategy: String,
    market: MarketSpec,
    target: Amount,
    /// A larger distance is not traded.
    most: Amount,
    /// The markets of other venues that it counts.
    others: Vec<String>,
}

impl HedgeOf {
    /// The hedges of a venue.
    pub fn all(bound: &Bound) -> Vec<Self> {
        let each = bound.strategies.iter();
        let each = each.filter_map(|(_, market, choice)| {
            let market = bound.markets.get(usize::from(market.0))?;
            Self::of(choice, market)
        });
        each.collect()
    }

    /// The hedge of a strategy of a file; `None` if it is another one.
    fn of(choice: &StrategyChoice, market: &MarketSpec) -> Option<Self> {
        let info = cambist_strategies::find(&choice.name.value)?;
        if info.promise != Promise::Hedge {
            return None;
        }
        let leg = info.open_leg(&choice.params, market)?;
        let strategy = info.build_from(&choice.params, market).ok()?;
        Some(Self {
            strategy: choice.name.value.clone(),
            market: market.clone(),
            target: leg.target,
            most: leg.base,
            others: strategy.reads().to_vec(),
        })
    }

    /// The same hedge with the parameters of a file, if it is in there.
    fn follow(&mut self, daemon: &Daemon) {
        let choice = daemon.choice(&self.market.name, &self.strategy);
        if let Some(found) = choice.and_then(|choice| Self::of(choice, &self.market)) {
            *self = found;
        }
    }
}

impl Board {
    /// The use of every limit.
    fn limits_used(&self, engine: &PortfolioEngine, now: Time) -> Vec<LimitUse> {
        let tokens = engine.rules().tokens.iter();
        let mut limits: Vec<_> = tokens
            .map(|limit| self.inventory_used(engine, limit))
            .collect();
        let worth = |[limit, key]: [&'static str; 2], used, most, unknown_at| LimitUse {
            limit,
            key,
            token: self.file.currency.clone(),
            decimals: LimitUse::CURRENCY_DECIMALS,
            used,
            most,
            unknown_at,
        };
        if let Some(most) = self.file.exposure_max {
            let is_unknown = |at| engine.exposure_of(|of| of == at, now).is_none();
            let used = engine.exposure_of(|_| true, now);
            let used = used.and_then(|used| i128::try_from(used).ok());
            limits.push(worth(EXPOSURE, used, most, self.names(is_unknown)));
        }
        if let Some(most) = self.file.loss_day_max {
            let is_measured = |at: usize| engine.venues()[at].is_loss_measured();
            let is_known = |at| is_measured(at) && !engine.has_unpriced_loss(at, now);
            let used = Some(engine.lost_today(now));
            let unknown_at = self.names(|at| !is_known(at));
            limits.push(worth(["loss_day", LOSS], used, most, unknown_at));
        }
        limits
    }

    fn inventory_used(&self, engine: &PortfolioEngine, of: &TokenLimit) -> LimitUse {
        let venues = engine.venues().iter().zip(&self.file.venues);
        let bases = venues.flat_map(|(member, venue)| {
            let bases = member.markets().iter().map(|market| &market.base);
            bases.filter(move |base| venue.names.name_of(&base.symbol) == of.name)
        });
        // Units in which the limit and every amount are exact.
        let decimals = bases.map(|base| base.decimals).max().unwrap_or(0);
        let decimals = decimals.max(of.most.scale);
        let held = |at: usize| engine.holds(at, &of.name, decimals);
        let counts = (0..engine.venues().len()).filter(|at| engine.trades_base(*at, &of.name));
        let counts: Vec<usize> = counts.collect();
        let mut each = counts.iter();
        let used = each.try_fold(0, |sum: Amount, at| sum.checked_add(held(*at)?));
        let [limit, key] = INVENTORY;
        LimitUse {
            limit,
            key,
            token: of.name.clone(),
            decimals,
            used: used.and_then(|used| i128::try_from(used).ok()),
            most: of.most.floor(decimals),
            unknown_at: self.names(|at| counts.contains(&at) && held(at).is_none()),
        }
    }

    /// The names of some venues.
    fn names(&self, is_meant: impl Fn(usize) -> bool) -> Vec<String> {
        let venues = self.file.venues.iter().enumerate();
        let venues = venues.filter(|(at, _)| is_meant(*at));
        venues.map(|(_, venue)| venue.names.venue.clone()).collect()
    }

    /// The use of every limit, from what is stated now.
    pub fn used(&self) -> Vec<LimitUse> {
        self.limits_used(&self.engine(), self.clock.now())
    }
}

/// What a quote token of a venue is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenPrice {
    /// The venue.
    pub venue: String,
    /// The token's name in the portfolio.
    pub token: String,
    /// The markets of the portfolio that price it, `venue:market`; empty if it is at par.
    pub markets: Vec<String>,
}

impl PortfolioFile {
    /// What gives each quote token its price: none, where it is at par, or the markets whose base token it is and whose
    /// quote token is at par.
    pub fn prices(&self, daemons: &[Daemon]) -> Vec<TokenPrice> {
        let markets = || {
            let venues = self.venues.iter().zip(daemons);
            venues.flat_map(|(venue, daemon)| daemon.markets.iter().map(move |of| (venue, of)))
        };
        let mut prices: Vec<TokenPrice> = Vec::new();
        for (venue, market) in markets() {
            let token = venue.names.name_of(&market.quote);
            let is_known = |of: &TokenPrice| {
                (of.venue.as_str(), of.token.as_str()) == (&venue.names.venue, token)
            };
            if prices.iter().any(is_known) {
                continue;
            }
            let is_at_par = self.at_par.contains(token);
            let priced = markets().filter(|(there, of)| {
                !is_at_par
                    && there.names.name_of(&of.base) == token
                    && self.at_par.contains(there.names.name_of(&of.quote))
            });
            let priced =
                priced.map(|(there, of)| elsewhere::join(&there.names.venue, &of.name.value));
            prices.push(TokenPrice {
                venue: venue.names.venue.clone(),
                token: token.to_owned(),
                markets: priced.collect(),
            });
        }
        prices
    }
}

impl Membership {
    /// The same part, with the hedges of its venue.
    #[must_use]
    pub fn with_hedges(mut self, hedges: Vec<HedgeOf>) -> Self {
        self.hedges = hedges;
        self
    }

    /// The hedges of its venue have other parameters: those of this configuration.
    pub fn reconfigured(&mut self, now: &Daemon) {
        for hedge in &mut self.hedges {
            hedge.follow(now);
        }
    }

    /// The limits over all venues as this one sees them. `published` is what its own engine publishes of a market.
    pub fn status(&self, published: impl Fn(MarketId) -> Option<Published>) -> PortfolioStatus {
        let board = &self.board;
        let now = board.clock.now();
        let engine = board.engine();
        let venues = engine.venues().iter().zip(&board.file.venues);
        let venues = venues
            .zip(&board.notifiers)
            .map(|((member, venue), notifier)| VenueState {
                venue: venue.names.venue.clone(),
                line: notifier.line(),
                is_known: member.is_known(),
                stored_s: member.stored_s(),
            });
        let venues = venues.collect();
        let hedges = self.hedges.iter().map(|hedge| {
            let own = published(hedge.market.id).and_then(|published| published.holdings);
            self.distance(&engine, hedge, own)
        });
        PortfolioStatus {
            venue: self.name().to_owned(),
            names: board.file.venues[self.index].names.tokens.clone(),
            limits: board.limits_used(&engine, now),
            venues,
            hedges: hedges.collect(),
        }
    }

    fn distance(
        &self,
        engine: &PortfolioEngine,
        hedge: &HedgeOf,
        own: Option<OtherHoldings>,
    ) -> HedgeDistance {
        let all_of = |held: OtherHoldings| held.base.checked_add(held.pooled_base?);
        let elsewhere = hedge.others.iter().map(|name| {
            let (venue, _) = elsewhere::split(name).unwrap_or((name, ""));
            let holdings = engine.held_elsewhere(self.index, hedge.market.id, name);
            (venue, holdings.and_then(all_of))
        });
        let own = (self.name(), own.and_then(all_of));
        let each: Vec<_> = std::iter::once(own).chain(elsewhere).collect();
        let mut amounts = each.iter();
        let held = amounts.try_fold(0, |sum: Amount, (_, held)| sum.checked_add((*held)?));
        let unknown = each.iter().filter(|(_, held)| held.is_none());
        HedgeDistance {
            market: hedge.market.name.clone(),
            token: hedge.market.base.symbol.clone(),
            decimals: hedge.market.base.decimals,
            held,
            target: hedge.target,
            most: hedge.most,
            venues: each.iter().map(|(venue, _)| (*venue).to_owned()).collect(),
            unknown_at: unknown.map(|(venue, _)| (*venue).to_owned()).collect(),
        }
    }
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
