//! How much of the limits over all venues is used, what is not known, and how far hedges are from their targets.

use cambist_core::elsewhere::{self, OtherHoldings, Published};
use cambist_core::{Amount, MarketId, MarketSpec, Time};
use cambist_strategies::Promise;

use super::board::{Board, LOSS, Member, Membership, floor};
use super::file::PortfolioFile;
use crate::config::{Bound, Daemon};
use crate::telemetry::portfolio::{HedgeDistance, LimitUse, PortfolioStatus, VenueState};

/// Keys of the limits, and their labels in metrics.
const INVENTORY: [&str; 2] = ["inventory", "portfolio.tokens.inventory_max"];
const EXPOSURE: [&str; 2] = ["exposure", "portfolio.exposure_max"];

/// A strategy that keeps base at a target over several venues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HedgeOf {
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
        let built = bound.built();
        let each = bound.strategies.iter().zip(&built);
        let each = each.filter_map(|((_, market, choice), (_, _, strategy))| {
            let info = cambist_strategies::find(&choice.name.value)?;
            let market = bound.markets.get(usize::from(market.0))?;
            let leg = info.open_leg(&choice.params, market)?;
            (info.promise == Promise::Hedge).then(|| Self {
                market: market.clone(),
                target: leg.target,
                most: leg.base,
                others: strategy.reads().to_vec(),
            })
        });
        each.collect()
    }
}

impl Board {
    /// The use of every limit.
    fn limits_used(&self, members: &[Member], now: Time) -> Vec<LimitUse> {
        let tokens = self.file.tokens.iter();
        let mut limits: Vec<_> = tokens
            .map(|limit| self.inventory_used(members, &limit.name, limit.most))
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
            let is_unknown = |at| self.exposure_of(members, |of| of == at, now).is_none();
            let used = self.exposure_of(members, |_| true, now);
            let used = used.and_then(|used| i128::try_from(used).ok());
            limits.push(worth(EXPOSURE, used, most, self.names(is_unknown)));
        }
        if let Some(most) = self.file.loss_day_max {
            let is_measured = |at: usize| {
                let member = &members[at];
                let mut lost = member.lost.iter();
                member.stated.is_some() && lost.all(|(_, lost)| lost.is_complete)
            };
            let is_known = |at| is_measured(at) && !self.has_unpriced_loss(members, at, now);
            let used = Some(self.lost_today(members, now));
            let unknown_at = self.names(|at| !is_known(at));
            limits.push(worth(["loss_day", LOSS], used, most, unknown_at));
        }
        limits
    }

    fn inventory_used(
        &self,
        members: &[Member],
        name: &str,
        most: rust_decimal::Decimal,
    ) -> LimitUse {
        let venues = || members.iter().zip(&self.file.venues).enumerate();
        let bases = venues().flat_map(|(_, (member, venue))| {
            let bases = member.markets.iter().map(|market| &market.base);
            bases.filter(move |base| venue.name_of(&base.symbol) == name)
        });
        // Units in which the limit and every amount are exact.
        let decimals = bases.map(|base| base.decimals).max().unwrap_or(0);
        let scale = u8::try_from(most.normalize().scale()).unwrap_or(u8::MAX);
        let decimals = decimals.max(scale);
        let held = |at: usize| {
            let venue = &self.file.venues[at];
            members[at].holds(venue, name, decimals)
        };
        let counts: Vec<usize> = venues()
            .filter(|(at, _)| self.trades_base(*at, name))
            .map(|(at, _)| at)
            .collect();
        let mut each = counts.iter();
        let used = each.try_fold(0, |sum: Amount, at| sum.checked_add(held(*at)?));
        let [limit, key] = INVENTORY;
        LimitUse {
            limit,
            key,
            token: name.to_owned(),
            decimals,
            used: used.and_then(|used| i128::try_from(used).ok()),
            most: floor(most, decimals),
            unknown_at: self.names(|at| counts.contains(&at) && held(at).is_none()),
        }
    }

    /// The names of some venues.
    fn names(&self, is_meant: impl Fn(usize) -> bool) -> Vec<String> {
        let venues = self.file.venues.iter().enumerate();
        let venues = venues.filter(|(at, _)| is_meant(*at));
        venues.map(|(_, venue)| venue.name.clone()).collect()
    }

    /// The use of every limit, from what is stated now.
    pub fn used(&self) -> Vec<LimitUse> {
        let now = self.clock.now();
        self.limits_used(&self.members(), now)
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
            let token = venue.name_of(&market.quote);
            let is_known =
                |of: &TokenPrice| (of.venue.as_str(), of.token.as_str()) == (&venue.name, token);
            if prices.iter().any(is_known) {
                continue;
            }
            let is_at_par = self.at_par.contains(token);
            let priced = markets().filter(|(there, of)| {
                !is_at_par
                    && there.name_of(&of.base) == token
                    && self.at_par.contains(there.name_of(&of.quote))
            });
            let priced = priced.map(|(there, of)| elsewhere::join(&there.name, &of.name.value));
            prices.push(TokenPrice {
                venue: venue.name.clone(),
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

    /// The limits over all venues as this one sees them. `published` is what its own engine publishes of a market.
    pub fn status(&self, published: impl Fn(MarketId) -> Option<Published>) -> PortfolioStatus {
        let board = &self.board;
        let now = board.clock.now();
        let members = board.members();
        let venues = members.iter().zip(&board.file.venues);
        let venues = venues
            .zip(&board.notifiers)
            .map(|((member, venue), notifier)| VenueState {
                venue: venue.name.clone(),
                line: notifier.line(),
                is_known: member.stated.is_some(),
                stored_s: member.stored_s,
            });
        let venues = venues.collect();
        let hedges = self.hedges.iter().map(|hedge| {
            let own = published(hedge.market.id).and_then(|published| published.holdings);
            self.distance(&members, hedge, own)
        });
        PortfolioStatus {
            venue: self.name().to_owned(),
            names: board.file.venues[self.index].names.clone(),
            limits: board.limits_used(&members, now),
            venues,
            hedges: hedges.collect(),
        }
    }

    fn distance(
        &self,
        members: &[Member],
        hedge: &HedgeOf,
        own: Option<OtherHoldings>,
    ) -> HedgeDistance {
        let all_of = |held: OtherHoldings| held.base.checked_add(held.pooled_base?);
        let elsewhere = hedge.others.iter().map(|name| {
            let (venue, _) = elsewhere::split(name).unwrap_or((name, ""));
            let holdings = self.translated(members, hedge.market.id, name);
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

    /// What is held at another venue, as the strategies of a market here read it.
    fn translated(
        &self,
        members: &[Member],
        reader: MarketId,
        name: &str,
    ) -> Option<OtherHoldings> {
        let file = &self.board.file;
        let mut readings = self.readings.iter();
        let reading = readings.find(|reading| {
            let venue = &file.venues[reading.venue].name;
            reading.reader == reader && elsewhere::join(venue, &reading.market) == name
        })?;
        let there = &members[reading.venue];
        let mut markets = there.markets.iter();
        let market = markets.find(|market| market.name == reading.market)?;
        let entry = there.published.get(&market.id)?;
        let venues = [reading.venue, self.index].map(|at| &file.venues[at]);
        let markets = [&there.markets, &members[self.index].markets];
        let units = reading.units(venues, markets.map(Vec::as_slice))?;
        units.translated(&entry.published, 0).holdings
    }
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
