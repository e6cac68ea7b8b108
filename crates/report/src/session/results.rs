//! The results of a session: its summary, holdings, and orders that are not proven gone.

use std::collections::BTreeMap;

use cambist_core::books::Difference;
use cambist_core::notification::{MarketStatus, Status};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, MarketId, MarketSpec, Reason, Time, TokenId};

use super::{Market, Session};
use crate::money::{Money, decimal_text, fixed_text};
use crate::pnl::{Attribution, PoolAttribution};
use crate::pools::PoolCounts;
use crate::summary::{
    Closing, MarketRow, PnlQuote, PnlRow, PoolRow, Requests, Summary, VenueBalances,
};

impl Session {
    /// The summary as of `now`. `code` gives the venue's code of a refusal.
    pub fn summary(
        &self,
        now: Time,
        closing: &Closing,
        code: impl Fn(Reason) -> String,
    ) -> Summary {
        let held = self.held();
        let pnl_exact = self.pnl();
        let rows: Vec<MarketRow> = self.markets.iter().map(|market| row(market, now)).collect();
        let [sent, allowed] = self.requests_before;
        let requests = self.requests(
            sent.saturating_add(self.status.sent),
            allowed.saturating_add(self.status.allowed),
        );
        let lowest = rows.iter().map(|row| row.both_sides_ratio).reduce(f64::min);
        Summary {
            seed: closing.seed,
            duration_s: closing.duration_s,
            orders: self.counts.orders(self.left(), code),
            ends: self.counts.ends,
            fills: self.fills,
            swaps: self.swaps,
            quoted_both_sides_ratio: lowest.unwrap_or(0.0),
            inventory: self.by_symbol(&held),
            pnl_quote: pnl_exact.map(PnlQuote::from),
            ack_ms: self.counts.ack(),
            requests: Requests {
                sent: requests[0],
                allowed: requests[1],
                http_429: self.counts.http_429,
            },
            resting_after: closing.resting_after,
            residual_units: self.by_symbol(&closing.residual_units),
            venue_balances: VenueBalances::default(),
            replay_equal: closing.replay_equal,
            quote: self
                .markets
                .first()
                .map(|market| market.spec.quote.symbol.clone())
                .unwrap_or_default(),
            pnl: self.pnl_by_quote(),
            pnl_exact,
            inventory_tokens: self.in_tokens(&held),
            residual_tokens: self.in_tokens(&closing.residual_units),
            markets: rows,
            pools: self.pools.iter().map(|pool| self.pool_row(pool)).collect(),
        }
    }

    /// Whole tokens by symbol.
    fn in_tokens(&self, amounts: &SortedMap<TokenId, i128>) -> BTreeMap<String, String> {
        let whole = |(token, units): (&TokenId, &i128)| {
            (self.symbol(*token), self.whole(*token, *units, 30))
        };
        amounts.iter().map(whole).collect()
    }

    fn pool_row(&self, pool: &PoolCounts) -> PoolRow {
        let market = self.markets.iter().find(|m| pool.is_of(m.spec.id));
        let shares = i128::try_from(pool.held).unwrap_or(i128::MAX);
        let value = market.and_then(|market| {
            let worth = i128::try_from(market.pnl.pool_worth()?).ok()?;
            Some(self.whole(market.spec.quote.id, worth, 30))
        });
        let made = market.and_then(|market| market.pnl.attribution()?.pool);
        let part = |part: fn(PoolAttribution) -> Money| made.map(|made| part(made).to_string());
        PoolRow {
            name: pool.spec.name.clone(),
            joins: pool.joins,
            exits: pool.exits,
            failed: pool.failed,
            shares: self.whole(pool.spec.lp.id, shares, 30),
            value_quote: value,
            fee_income_quote: part(|made| made.fee_income),
            impermanent_loss_quote: part(|made| made.impermanent_loss),
            move_costs_quote: part(|made| made.move_costs),
        }
    }

    /// Orders, joins and exits that are not proven gone, as of the newest status. Only the engine knows: a lost answer
    /// may be reported after the order was listed elsewhere.
    pub fn left(&self) -> u64 {
        let of = |market: &MarketStatus| {
            let live = market.live.map(u64::from);
            let others = [market.in_flight, market.unknown, market.cancelling].map(u64::from);
            live.iter().chain(&others).sum::<u64>()
        };
        let open_transactions = self.status.pools.iter().filter(|pool| pool.moving).count();
        let orders: u64 = self.status.markets.iter().map(of).sum();
        orders.saturating_add(open_transactions as u64)
    }

    /// Orders that were transmitted or recovered and whose end is not proven: with the counts of [`Ends`] they are all
    /// orders.
    ///
    /// [`Ends`]: crate::summary::Ends
    pub fn open_orders(&self) -> u64 {
        self.counts.expiries_s().count() as u64
    }

    /// The last expiry of an order whose end is not proven, if there is one.
    pub fn last_expiry_s(&self) -> Option<u32> {
        let moves = self.open_transactions.values().copied();
        self.counts.expiries_s().chain(moves).max()
    }

    /// Tokens whose amounts differed at the newest comparison: ledger, venue.
    pub const fn differences(&self) -> &SortedMap<TokenId, Difference> {
        &self.comparison.differs
    }

    /// Which balances of the venue the ledger is compared with. `confirmed`: the venue has answered at the end.
    pub fn venue_balances(&self, confirmed: bool) -> VenueBalances {
        if self.status.venue.is_empty() && !self.status.ledger.is_empty() {
            VenueBalances::Unread
        } else if confirmed {
            VenueBalances::Current
        } else {
            VenueBalances::LastRead
        }
    }

    /// Ledger less the venue's last balance, for every token of the ledger. None while the venue's balances were not
    /// read: what the venue does not mention it does not hold, but only if it was asked.
    pub fn residual(&self) -> SortedMap<TokenId, i128> {
        if self.status.venue.is_empty() {
            return SortedMap::new();
        }
        let signed = |amount: Amount| i128::try_from(amount).unwrap_or(i128::MAX);
        let each = self.status.ledger.iter().map(|(token, ledger)| {
            let venue = self.status.venue.get(token).copied().unwrap_or(0);
            (*token, signed(*ledger).saturating_sub(signed(venue)))
        });
        each.collect()
    }

    /// Profit and loss so far over the markets that share the first market's quote token.
    pub fn pnl(&self) -> Option<Attribution> {
        self.pnl_in(self.markets.first()?.spec.quote.id)
    }

    /// Profit and loss in every quote token, in the order of the markets. One that overflowed is left out.
    fn pnl_by_quote(&self) -> Vec<PnlRow> {
        let mut quotes: Vec<TokenId> = Vec::new();
        for market in &self.markets {
            if !quotes.contains(&market.spec.quote.id) {
                quotes.push(market.spec.quote.id);
            }
        }
        let row = |quote: &TokenId| Some(PnlRow::new(self.symbol(*quote), &self.pnl_in(*quote)?));
        quotes.iter().filter_map(row).collect()
    }

    /// Profit and loss so far over the markets of a quote token: the change of their base tokens and shares, at the
    /// mid, and of the quote, less external flows.
    pub fn pnl_in(&self, quote: TokenId) -> Option<Attribution> {
        let mut parts = self
            .markets
            .iter()
            .filter(|market| market.spec.quote.id == quote)
            .map(|market| market.pnl.attribution());
        let first = parts.next()??;
        parts.try_fold(first, |sum, part| sum.checked_add(part?))
    }

    /// Holdings by token in base units: opening and everything booked since.
    pub fn held(&self) -> SortedMap<TokenId, i128> {
        let opening = self.opening.iter().flatten();
        let mut held: SortedMap<TokenId, i128> = opening
            .map(|(token, amount)| (*token, i128::try_from(*amount).unwrap_or(i128::MAX)))
            .collect();
        for (token, flow) in &self.flows {
            let entry = held.entry(*token).or_default();
            *entry = entry.saturating_add(*flow);
        }
        held
    }

    /// Profit and loss of a market so far.
    pub fn pnl_of(&self, market: MarketId) -> Option<Attribution> {
        let recovered = self.markets.iter().find(|known| known.spec.id == market);
        recovered?.pnl.attribution()
    }

    /// The engine's newest status.
    pub const fn status(&self) -> &Status {
        &self.status
    }

    /// Fill increments booked.
    pub const fn fills(&self) -> u64 {
        self.fills
    }

    /// Those of them that are swaps with pools.
    pub const fn swaps(&self) -> u64 {
        self.swaps
    }

    /// The markets.
    pub fn specs(&self) -> impl Iterator<Item = &MarketSpec> {
        self.markets.iter().map(|market| &market.spec)
    }

    /// The symbol of a token, or its number if no market has it.
    pub fn symbol(&self, token: TokenId) -> String {
        self.tokens
            .get(&token)
            .map_or_else(|| format!("token {}", token.0), |spec| spec.symbol.clone())
    }

    /// Base units as whole tokens, truncated after `places`; base units if the decimals are not known.
    pub fn whole(&self, token: TokenId, units: i128, places: usize) -> String {
        let text = decimal_text(units.unsigned_abs(), self.decimals(token), places);
        format!("{}{text}", sign(units))
    }

    /// As `whole`, with exactly `places` places, so that lines below each other align.
    pub fn fixed(&self, token: TokenId, units: i128, places: usize) -> String {
        let text = fixed_text(units.unsigned_abs(), self.decimals(token), places);
        format!("{}{text}", sign(units))
    }

    fn decimals(&self, token: TokenId) -> usize {
        let spec = self.tokens.get(&token);
        spec.map_or(0, |spec| usize::from(spec.decimals))
    }

    fn by_symbol(&self, units: &SortedMap<TokenId, i128>) -> BTreeMap<String, String> {
        units
            .iter()
            .map(|(token, units)| (self.symbol(*token), units.to_string()))
            .collect()
    }
}

const fn sign(units: i128) -> &'static str {
    if units < 0 { "-" } else { "" }
}

fn row(market: &Market, now: Time) -> MarketRow {
    MarketRow {
        name: market.spec.name.clone(),
        quote: market.spec.quote.symbol.clone(),
        fills: market.fills,
        base_volume: market.base_volume,
        quote_volume: market.quote_volume,
        both_sides_ratio: market.sides.ratio(now),
        pnl: market.pnl.attribution(),
    }
}
