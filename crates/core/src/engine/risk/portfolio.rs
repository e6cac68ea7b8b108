//! Limits over several venues: what the gate compares, and what this engine reports to the others.

use crate::books::DAY_MS;
use crate::engine::risk::gate::{OrderCandidate, RiskContext};
use crate::engine::state::State;
use crate::market::{MarketSpec, Side, value_at};
use crate::portfolio::{Exposure, LostToday, Portfolio, TokenElsewhere, WorthRate};
use crate::time::Time;
use crate::token::{Amount, TokenId};
use crate::withheld::{Compared, Unit};

use crate::engine::risk::controls::{CheckResult, at_most};

/// The limits over all venues as they apply to one market.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedLimits {
    /// Of its base token: held anywhere at most, and the limit.
    base: Option<(Option<Amount>, Amount)>,
    exposure: Option<SharedExposure>,
}

/// The limit of exposure over all venues, in the reporting currency.
#[derive(Clone, Copy, Debug)]
struct SharedExposure {
    /// Of the other venues, and of this one's other quote tokens.
    beside: Option<Amount>,
    most: Amount,
    whole: Amount,
    /// What the market's quote token is worth.
    rate: Option<WorthRate>,
    /// A loss of today has no price: whatever the limit, nothing is added.
    loss_is_unknown: bool,
}

impl SharedLimits {
    /// Whether so much more base is within the limit of what is held anywhere.
    pub(crate) fn keeps_inventory(self, more: Amount) -> CheckResult {
        let Some((held, most)) = self.base else {
            return Ok(());
        };
        let after = held.and_then(|held| held.checked_add(more));
        at_most(Unit::Base, "portfolio.tokens.inventory_max", after, most)
    }

    /// Whether this exposure in the market's quote token is within the limit of all exposure.
    pub(crate) fn keeps_exposure(self, gross: Option<Amount>) -> CheckResult {
        let Some(of) = self.exposure else {
            return Ok(());
        };
        if of.loss_is_unknown {
            // No number was compared, and there may be no `portfolio.exposure_max`.
            return Err(Compared::NOTHING);
        }
        let worth = gross
            .zip(of.rate)
            .and_then(|(gross, rate)| rate.value(gross));
        let after = worth
            .zip(of.beside)
            .and_then(|(worth, beside)| worth.checked_add(beside));
        match after {
            Some(after) if after <= of.most => Ok(()),
            // In whole units, which need no decimals: no market states those of the reporting currency.
            _ => {
                let (after, most) = (
                    after.map(|after| after.div_ceil(of.whole)),
                    of.most / of.whole,
                );
                Err(Compared::of(
                    Unit::Count,
                    "portfolio.exposure_max",
                    after,
                    most,
                ))
            }
        }
    }
}

/// Whether an order keeps the limit of its base token over all venues.
pub(crate) fn keeps_shared_inventory(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    match (c.side, s.shared) {
        (Side::Buy, Some(shared)) => shared.keeps_inventory(c.base),
        _ => Ok(()),
    }
}

/// Whether an order keeps the limit of all exposure over all venues.
pub(crate) fn keeps_shared_exposure(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    let (Side::Buy, Some(shared)) = (c.side, s.shared) else {
        return Ok(());
    };
    let more = s.mid.ok().and_then(|mid| value_at(s.spec, c.base, mid));
    let after = s
        .gross
        .zip(more)
        .and_then(|(gross, more)| gross.checked_add(more));
    shared.keeps_exposure(after)
}

impl State {
    /// The limits over all venues for a market; `None` if there are none.
    pub(crate) fn shared_limits(&self, spec: &MarketSpec) -> Option<SharedLimits> {
        let portfolio = self.portfolio.as_ref()?;
        let limit = |of: &&TokenElsewhere| of.token == spec.base.id;
        let base = portfolio.tokens.iter().find(limit).map(|of| {
            let here = self.most_held(spec.base.id);
            let held = here.zip(of.elsewhere);
            (
                held.and_then(|(here, there)| here.checked_add(there)),
                of.most,
            )
        });
        let exposure = portfolio.exposure.as_ref().map(|of| SharedExposure {
            beside: self.exposure_beside(portfolio, spec.quote.id),
            most: of.most,
            whole: of.whole.max(1),
            rate: rate(portfolio, spec.quote.id),
            loss_is_unknown: of.is_of_unknown_loss(),
        });
        Some(SharedLimits { base, exposure })
    }

    /// What other venues and this one's other quote tokens are exposed to, in the reporting currency.
    fn exposure_beside(&self, portfolio: &Portfolio, quote: TokenId) -> Option<Amount> {
        let elsewhere = portfolio.exposure.as_ref()?.elsewhere?;
        let others = self.quotes().filter(|other| *other != quote);
        others
            .into_iter()
            .try_fold(elsewhere, |sum, other| match self.gross(other)? {
                0 => Some(sum),
                gross => sum.checked_add(rate(portfolio, other)?.value(gross)?),
            })
    }

    /// The quote tokens of all markets, each once.
    fn quotes(&self) -> impl Iterator<Item = TokenId> {
        let quotes = self.markets.iter().map(|market| market.spec.quote.id);
        quotes
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
    }

    /// Most base units of a token after every fill of everything that may be alive, with what pool shares are due now,
    /// rounded up. `None` on overflow, and while a pool's balances are not known.
    fn most_held(&self, token: TokenId) -> Option<Amount> {
        let (_, held) = self.ledger.bounds(token);
        let coming = self.orders.incoming(token);
        let bringing = self.foreign.bringing(token);
        let mut most = held.checked_add(coming)?.checked_add(bringing)?;
        for market in self
            .markets
            .iter()
            .filter(|market| market.spec.base.id == token)
        {
            most = most.checked_add(self.most_pooled_base(market)?)?;
        }
        Some(most)
    }

    /// What this engine may hold at most, for the engines of other venues. `None` before ledger and venue were compared.
    pub(crate) fn exposure(&self, now: Time) -> Option<Exposure> {
        if !self.ready {
            return None;
        }
        let venue_now = self.clock.at_least(now);
        let mut exposure = Exposure {
            day_left_ms: DAY_MS - venue_now.0 % DAY_MS,
            ..Exposure::default()
        };
        for market in &self.markets {
            let spec = &market.spec;
            let (base, quote) = (spec.base.id, spec.quote.id);
            exposure
                .tokens
                .entry(base)
                .or_insert_with(|| self.most_held(base));
            exposure
                .gross
                .entry(quote)
                .or_insert_with(|| self.gross(quote));
            let lost = market.losses.lost_today(spec, (now, venue_now));
            let sum = exposure.lost_today.entry(quote);
            sum.or_insert(LostToday::NOTHING).add(lost);
            let mid = self.mid_for_others(now, spec.id);
            exposure.mids.insert(spec.id, mid);
        }
        Some(exposure)
    }
}

/// What a quote token is worth.
fn rate(portfolio: &Portfolio, quote: TokenId) -> Option<WorthRate> {
    let rates = &portfolio.exposure.as_ref()?.rates;
    let found = rates.iter().find(|(token, _)| *token == quote);
    found.map(|(_, rate)| *rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::withheld::Withheld;

    /// Within any limit and at a known price: the reason has no key, because none may be configured.
    #[test]
    fn what_was_lost_without_a_price_stops_what_would_be_added() {
        let exposure = |loss_is_unknown| SharedLimits {
            base: None,
            exposure: Some(SharedExposure {
                beside: Some(0),
                most: Amount::MAX,
                whole: 1,
                rate: Some(WorthRate { worth: 1, per: 1 }),
                loss_is_unknown,
            }),
        };
        assert_eq!(exposure(false).keeps_exposure(Some(7)), Ok(()));
        let refused = exposure(true).keeps_exposure(Some(7));
        let why = refused.map_err(|why| Withheld::compared(Control::PortfolioExposure, why));
        assert_eq!(why.map_err(|why| (why.key(), why.value)), Err((None, None)));
    }
}
