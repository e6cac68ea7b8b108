//! Lists and delists tokens, markets and pools; changes service fees and limits.
//!
//! A listing is accepted if the configuration of a new venue could contain it: the same check decides.

use cambist_core::{Amount, OrderStatus, Reason, Side, TokenId};

use super::{invalid, unlisted};
use crate::account::Address;
use crate::band::{PriceBand, Reference};
use crate::book::Book;
use crate::config::{Limits, MarketConfig, TokenConfig, VenueConfig};
use crate::mode::{AccountOpening, FeeSchedule};
use crate::pool::{Pool, PoolListing, PoolStatus};
use crate::response::Refusal;
use crate::scale::Scale;
use crate::venue::{Market, Venue};

impl Venue {
    pub(super) fn enable_token(&mut self, token: TokenId, enabled: bool) -> Result<(), Refusal> {
        if !self.is_listed_token(token) {
            return unlisted(token);
        }
        if let Some(listed) = self.tokens.get_mut(&token) {
            listed.spec.enabled = enabled;
        }
        Ok(())
    }

    pub(super) fn list_token(&mut self, token: &TokenConfig) -> Result<(), Refusal> {
        let id = token.spec.id;
        let known = self.tokens.get(&id);
        if known.is_some() && !self.delisted.contains(&id) {
            return invalid(format!("token {} is listed", id.0));
        }
        if known.is_some_and(|known| known.spec.decimals != token.spec.decimals) {
            return invalid("a token keeps its decimals");
        }
        self.reconfigure(|config| {
            config.tokens.retain(|other| other.spec.id != id);
            config.tokens.push(token.clone());
        })?;
        self.tokens.insert(id, token.clone());
        self.delisted.remove(&id);
        Ok(())
    }

    pub(super) fn delist_token(&mut self, token: TokenId) -> Result<(), Refusal> {
        if !self.is_listed_token(token) {
            return unlisted(token);
        }
        let traded = self.markets.iter().any(|market| {
            market.listed && [market.config.base, market.config.quote].contains(&token)
        });
        let pooled = self.pools.iter().any(|pool| {
            let config = &pool.config;
            (pool.listed || pool.supply > 0)
                && (config.pooled.contains(&token) || config.lp == token)
        });
        if traded || pooled {
            return invalid(format!("token {} is used by a market or pool", token.0));
        }
        self.delisted.insert(token);
        Ok(())
    }

    pub(super) fn list_market(&mut self, market: &MarketConfig) -> Result<(), Refusal> {
        for token in [market.base, market.quote] {
            if !self.is_listed_token(token) {
                return unlisted(token);
            }
        }
        let known = self
            .markets
            .iter()
            .position(|known| known.config.name == market.name);
        if let Some(index) = known {
            let old = &self.markets[index];
            let same = old.config.base == market.base
                && old.config.quote == market.quote
                && old.config.price_decimals == market.price_decimals;
            if old.listed || !same {
                return invalid(
                    "the market is already listed, or was listed with other tokens or decimals",
                );
            }
        }
        self.reconfigure(|config| match known {
            Some(index) => config.markets[index] = market.clone(),
            None => config.markets.push(market.clone()),
        })?;
        if let Some(index) = known {
            let old = &mut self.markets[index];
            old.config = market.clone();
            old.listed = true;
            old.reference = None;
            return Ok(());
        }
        let decimals = |token: TokenId| self.tokens[&token].spec.decimals;
        let scale = Scale::new(
            decimals(market.base),
            decimals(market.quote),
            market.price_decimals,
        );
        let Some(scale) = scale else {
            return invalid("the decimals are too large for exact prices");
        };
        self.markets.push(Market {
            config: market.clone(),
            scale,
            book: Book::default(),
            listed: true,
            reference: None,
        });
        Ok(())
    }

    /// Cancels all open orders of the market; its history stays.
    pub(super) fn delist_market(&mut self, name: &str) -> Result<(), Refusal> {
        let config = self.listed(name)?.config.clone();
        let pair = [config.base, config.quote];
        if self
            .pools
            .iter()
            .any(|pool| pool.listed && pool.config.pooled == pair)
        {
            return invalid("a pool of this pair is listed");
        }
        let index = self
            .markets
            .iter()
            .position(|market| market.config.name == name);
        let open: Vec<_> = self
            .orders
            .iter()
            .filter(|(_, order)| order.is_open() && Some(usize::from(order.market.0)) == index)
            .map(|(key, _)| key)
            .collect();
        for key in open {
            self.close(key, OrderStatus::Cancelled);
        }
        self.listed(name)?.listed = false;
        Ok(())
    }

    pub(super) fn list_pool(&mut self, listing: &PoolListing) -> Result<(), Refusal> {
        let config = &listing.pool;
        let known = self.find_pool(&config.address);
        if let Some(index) = known {
            let old = &self.pools[index];
            let same = old.config.name == config.name
                && old.config.pooled == config.pooled
                && old.config.lp == config.lp;
            if old.listed || !same {
                return invalid("the pool is already listed, or was listed with other tokens");
            }
        }
        let pair = config.pooled;
        let market = self.market_of_pair(pair[0], pair[1]);
        if market.is_none_or(|(_, side)| side != Side::Sell) {
            return Err(Refusal::new(
                Reason::UnsupportedMarket,
                "no listed market has the pool's tokens in this order",
            ));
        }
        let new_lp = listing
            .lp
            .as_ref()
            .filter(|token| !self.tokens.contains_key(&token.spec.id));
        let supplied = self.supply.get(&config.lp).copied().unwrap_or_default();
        if known.is_none() && supplied.deposited > 0 {
            return invalid("the lp token was deposited before");
        }
        self.reconfigure(|all| {
            all.tokens.extend(new_lp.cloned());
            match known {
                Some(index) => all.pools[index] = config.clone(),
                None => all.pools.push(config.clone()),
            }
        })?;
        if let Some(token) = new_lp {
            self.tokens.insert(token.spec.id, token.clone());
        }
        self.delisted.remove(&config.lp);
        match known {
            Some(index) => {
                let old = &mut self.pools[index];
                old.config = config.clone();
                old.listed = true;
            }
            None => self.pools.push(Pool::new(config.clone())),
        }
        Ok(())
    }

    /// The pool accepts exits only, so that no shares are locked in.
    pub(super) fn delist_pool(&mut self, address: &Address) -> Result<(), Refusal> {
        let index = self.find_pool(address);
        let Some(index) = index.filter(|index| self.pools[*index].listed) else {
            return invalid("no such pool is listed");
        };
        let pool = &mut self.pools[index];
        pool.listed = false;
        pool.config.status = PoolStatus(PoolStatus::EXIT);
        Ok(())
    }

    pub(super) fn set_pool(
        &mut self,
        address: &Address,
        status: PoolStatus,
        fee_bips: u16,
        fees: [Amount; 2],
    ) -> Result<(), Refusal> {
        let Some(index) = self.find_pool(address) else {
            return invalid("no such pool");
        };
        let mut config = self.pools[index].config.clone();
        config.status = status;
        config.fee_bips = fee_bips;
        [config.join_fee, config.exit_fee] = fees;
        self.reconfigure(|all| all.pools[index] = config.clone())?;
        self.pools[index].config = config;
        Ok(())
    }

    pub(super) fn set_service_fees(&mut self, fees: &FeeSchedule) -> Result<(), Refusal> {
        self.reconfigure(|config| config.fees = fees.clone())
    }

    pub(super) fn set_account_opening(&mut self, opening: &AccountOpening) -> Result<(), Refusal> {
        self.reconfigure(|config| config.opening = opening.clone())
    }

    /// A new band starts at its own reference; orders that rest outside it stay.
    pub(super) fn set_price_band(
        &mut self,
        market: &str,
        band: Option<PriceBand>,
        holds: bool,
    ) -> Result<(), Refusal> {
        if let Some(problem) = band.and_then(|band| band.problem()) {
            return invalid(problem);
        }
        let since = self.now;
        let market = self.listed(market)?;
        market.config.price_band = band;
        market.reference = band.filter(|_| holds).map(|band| Reference {
            price: band.reference,
            since,
        });
        Ok(())
    }

    /// Histories that are now too long are trimmed when the next item ends.
    pub(super) fn set_limits(&mut self, limits: &Limits) -> Result<(), Refusal> {
        self.reconfigure(|config| config.limits = limits.clone())
    }

    /// Applies a change to the configuration if the result is valid.
    fn reconfigure(&mut self, change: impl FnOnce(&mut VenueConfig)) -> Result<(), Refusal> {
        let mut changed = self.config.clone();
        change(&mut changed);
        if let Err(error) = changed.check() {
            return invalid(error.to_string());
        }
        self.config = changed;
        Ok(())
    }
}
