//! Adds up the engine's notifications, in bounded memory.

mod counts;
mod results;

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::books::Difference;
use cambist_core::event::Amounts;
use cambist_core::notification::{
    Fill, Notification, PoolStatus, PoolTransactionSettlement, Status,
};
use cambist_core::postings::Postings;
use cambist_core::request::Charge;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{ClientOrderId, MarketId, MarketSpec, PoolSpec, Time, TokenId, TokenSpec};

use crate::pnl::MarketPnl;
use crate::pools::PoolCounts;
use crate::sides::Sides;
use counts::Counts;

/// Joins and exits that are remembered, so that none is counted twice, and swaps, so that their fills are known.
const TRANSACTIONS_KEPT: usize = 4_096;

#[derive(Debug)]
struct Market {
    spec: MarketSpec,
    pnl: MarketPnl,
    sides: Sides,
    fills: u64,
    base_volume: u128,
    quote_volume: u128,
}

/// The newest comparison of ledger and venue.
#[derive(Clone, Debug, Default)]
struct Comparison {
    /// Tokens whose amounts differ: ledger, venue.
    differs: SortedMap<TokenId, Difference>,
    /// Whether the next difference belongs to a later comparison.
    closed: bool,
}

impl Comparison {
    /// The first difference of a later comparison replaces those of the one before.
    fn found(&mut self, token: TokenId, difference: Difference) {
        if std::mem::take(&mut self.closed) {
            self.differs.clear();
        }
        self.differs.insert(token, difference);
    }

    /// A flow was booked: what it explains is no difference any more.
    fn explained(&mut self, token: TokenId, amount: i128) {
        let known = self.differs.remove(&token);
        if let Some(left) = known.and_then(|known| known.explained(amount)) {
            self.differs.insert(token, left);
        }
    }
}

/// The results of one session.
#[derive(Debug)]
pub struct Session {
    markets: Vec<Market>,
    pools: Vec<PoolCounts>,
    /// Joins and exits whose end is not proven, and their expiry; at most one for each pool.
    open_transactions: BTreeMap<ClientOrderId, u32>,
    /// Joins and exits that were counted; the next run of the daemon may report the last one again.
    counted_transactions: BTreeSet<ClientOrderId>,
    tokens: SortedMap<TokenId, TokenSpec>,
    counts: Counts,
    fills: u64,
    /// Those of them that are swaps with pools.
    swaps: u64,
    /// Swaps that were sent, at most `TRANSACTIONS_KEPT`.
    sent_swaps: BTreeSet<ClientOrderId>,
    opening: Option<Amounts>,
    /// Booked since the opening.
    flows: SortedMap<TokenId, i128>,
    comparison: Comparison,
    status: Status,
    /// Requests sent and allowed in earlier runs of the daemon.
    requests_before: [u64; 2],
    /// What one request costs of the budget.
    request_unit: u64,
}

impl Session {
    /// A session on these markets, in the order of the configuration.
    pub fn new(markets: &[MarketSpec]) -> Self {
        let tokens = markets
            .iter()
            .flat_map(|spec| [&spec.base, &spec.quote])
            .map(|token| (token.id, token.clone()))
            .collect();
        let markets = markets.iter().map(|spec| Market {
            pnl: MarketPnl::new(spec),
            spec: spec.clone(),
            sides: Sides::default(),
            fills: 0,
            base_volume: 0,
            quote_volume: 0,
        });
        Self {
            markets: markets.collect(),
            pools: Vec::new(),
            open_transactions: BTreeMap::new(),
            counted_transactions: BTreeSet::new(),
            tokens,
            counts: Counts::new(),
            fills: 0,
            swaps: 0,
            sent_swaps: BTreeSet::new(),
            opening: None,
            flows: SortedMap::new(),
            comparison: Comparison::default(),
            status: Status::default(),
            requests_before: [0; 2],
            request_unit: 1,
        }
    }

    /// The daemon was not running from `now` on and starts again: later notifications add to the earlier ones, and the
    /// time in between does not count. Recovered orders are passed to `recovered`.
    pub fn daemon_restarted(&mut self, now: Time) {
        for market in &mut self.markets {
            market.sides.pause(now);
        }
        let status = std::mem::take(&mut self.status);
        let [sent, allowed] = &mut self.requests_before;
        *sent = sent.saturating_add(status.sent);
        *allowed = allowed.saturating_add(status.allowed);
        self.comparison = Comparison::default();
    }

    /// The same session at a venue where one request costs so much of the budget.
    #[must_use]
    pub fn with_request_unit(mut self, unit: u32) -> Self {
        self.request_unit = u64::from(unit).max(1);
        self
    }

    /// Requests sent, and those that the budget would have allowed, of what both took of the budget.
    pub(crate) const fn requests(&self, sent: u64, allowed: u64) -> [u64; 2] {
        [
            sent.div_ceil(self.request_unit),
            allowed / self.request_unit,
        ]
    }

    /// The same session with a token of no market, such as the coin that gas is paid in.
    #[must_use]
    pub fn with_token(mut self, token: &TokenSpec) -> Self {
        self.tokens.insert(token.id, token.clone());
        self
    }

    /// The same session with pools beside its markets.
    #[must_use]
    pub fn with_pools(mut self, pools: &[PoolSpec]) -> Self {
        for pool in pools {
            self.tokens.insert(pool.lp.id, pool.lp.clone());
            if let Some(market) = self.markets.iter_mut().find(|m| m.spec.id == pool.market) {
                market.pnl.add_pool(pool);
                self.pools.push(PoolCounts::new(pool));
            }
        }
        self
    }

    /// A join or an exit of an earlier run that may be undecided, passed before the first notification.
    pub fn recovered_pool_transaction(&mut self, id: ClientOrderId, valid_until_s: u32) {
        self.open_transactions.insert(id, valid_until_s);
    }

    /// An order of an earlier run that may be alive, passed before the first notification.
    pub fn recovered(&mut self, order: ClientOrderId, valid_until_s: u32, has_filled: bool) {
        self.counts.recovered(order, valid_until_s, has_filled);
    }

    fn both_sides(&mut self, now: Time, market: MarketId, both: bool) {
        if let Some(market) = self.market(market) {
            market.sides.set(now, both);
        }
    }

    fn close_sides(&mut self, now: Time) {
        for market in &mut self.markets {
            market.sides.close(now);
        }
    }

    /// Adds a notification.
    pub fn observe(&mut self, now: Time, notification: &Notification) {
        match notification {
            Notification::Ready { opening, .. } => self.open(opening),
            Notification::Submitted {
                order,
                valid_until_s,
                ..
            } => self.counts.submitted(*order, *valid_until_s),
            Notification::SwapSubmitted {
                order,
                valid_until_s,
                ..
            } => self.swap_submitted(*order, *valid_until_s),
            Notification::Acknowledged { order, .. }
                if self.open_transactions.contains_key(order) => {}
            Notification::Acknowledged { micros, .. } => self.counts.acknowledged(*micros),
            Notification::Refused {
                endpoint, reason, ..
            } => self.counts.refused(*endpoint, *reason),
            Notification::Ended { order, end, .. } => self.counts.ended(*order, *end),
            Notification::Filled(fill) => self.fill(fill),
            Notification::DepthAccepted {
                market,
                mid: Some(mid),
                ..
            } => {
                if let Some(market) = self.market(*market) {
                    market.pnl.mid(*mid);
                }
            }
            Notification::BothSides { market, both } => self.both_sides(now, *market, *both),
            Notification::Draining => self.close_sides(now),
            Notification::PoolTransactionSubmitted {
                order,
                valid_until_s,
                ..
            } => {
                self.open_transactions.insert(*order, *valid_until_s);
            }
            Notification::PoolTransactionSettled(moved) => self.moved(moved),
            Notification::PoolTransactionEnded {
                order, market, end, ..
            } => {
                self.open_transactions.remove(order);
                self.pool(*market)
                    .into_iter()
                    .for_each(|pool| pool.ended(*end));
            }
            Notification::Status(status) => {
                self.status.clone_from(status);
                for status in &status.pools {
                    self.pool_status(status);
                }
            }
            Notification::Reconciled { .. } => self.comparison.closed = true,
            Notification::Mismatch {
                token,
                ledger,
                venue,
            } => {
                let (ledger, venue) = (*ledger, *venue);
                self.comparison.found(*token, Difference { ledger, venue });
            }
            Notification::Balanced => self.comparison.differs.clear(),
            Notification::Adopted {
                token,
                amount,
                reason,
            } => self.explained(*token, *amount, reason),
            Notification::Unknown { .. }
            | Notification::DepthAccepted { mid: None, .. }
            | Notification::Resent { .. }
            | Notification::Resolved { .. }
            | Notification::Answered { .. }
            | Notification::CancelSent { .. }
            | Notification::AmendSent { .. }
            | Notification::AmendEnded { .. }
            | Notification::DepthRefused { .. }
            | Notification::RiskRefused { .. }
            | Notification::Withheld { .. }
            | Notification::MemoryRefused { .. }
            | Notification::ProcessAnswerRefused { .. }
            | Notification::OtherInstance { .. }
            | Notification::BudgetDenied { .. }
            | Notification::Foreign { .. }
            | Notification::Books(_)
            | Notification::ForeignPoolTransaction { .. }
            | Notification::FeeAbove { .. }
            | Notification::TradingStateChanged { .. }
            | Notification::Paused(_)
            | Notification::Unpaused { .. }
            | Notification::RestrictionsNotStored
            | Notification::CommandAccepted { .. }
            | Notification::CommandRefused { .. }
            | Notification::ForeignAdopted { .. }
            | Notification::SideEmpty { .. }
            | Notification::Left { .. }
            | Notification::Slept { .. }
            | Notification::InvariantFailed { .. } => {}
        }
    }

    fn market(&mut self, id: MarketId) -> Option<&mut Market> {
        self.markets.iter_mut().find(|market| market.spec.id == id)
    }

    /// The opening of a base token that two markets share counts for the first market only.
    fn open(&mut self, opening: &Amounts) {
        if self.opening.is_some() {
            return;
        }
        let of = |token| opening.get(&token).copied().unwrap_or(0);
        let shares: BTreeMap<_, _> = self
            .pools
            .iter()
            .map(|pool| (pool.spec.market, of(pool.spec.lp.id)))
            .collect();
        let mut opened = BTreeSet::new();
        for market in &mut self.markets {
            let base = market.spec.base.id;
            let units = if opened.insert(base) { of(base) } else { 0 };
            let shares = shares.get(&market.spec.id).copied().unwrap_or(0);
            market.pnl.open(units, shares);
        }
        self.opening = Some(opening.clone());
    }

    fn swap_submitted(&mut self, order: ClientOrderId, valid_until_s: u32) {
        self.counts.submitted(order, valid_until_s);
        self.sent_swaps.insert(order);
        if self.sent_swaps.len() > TRANSACTIONS_KEPT {
            self.sent_swaps.pop_first();
        }
    }

    fn fill(&mut self, fill: &Fill) {
        self.fills += 1;
        self.swaps += u64::from(self.sent_swaps.contains(&fill.order));
        self.counts.filled(fill.order);
        let is_open = self.opening.is_some();
        let Some(market) = self.market(fill.market) else {
            return;
        };
        market.fills += 1;
        market.base_volume = market.base_volume.saturating_add(fill.base);
        market.quote_volume = market.quote_volume.saturating_add(fill.quote);
        market.pnl.fill(fill);
        let postings = Postings::of_fill(&market.spec, fill);
        // A fill found during recovery is part of the opening that follows.
        if is_open {
            self.post(fill.market, &postings);
        }
    }

    /// Books a fill, a join or an exit at a market. What it paid or received in a token that another market values is
    /// an external flow there.
    fn post(&mut self, at: MarketId, postings: &Postings) {
        for (token, change) in postings.iter() {
            self.flow(token, change);
            let own = self.market(at).is_some_and(|m| m.spec.base.id == token);
            if let Some(carrier) = self.carrier(token).filter(|_| !own) {
                carrier.pnl.explain(token, change);
            }
        }
    }

    fn flow(&mut self, token: TokenId, change: i128) {
        let flow = self.flows.entry(token).or_default();
        *flow = flow.saturating_add(change);
    }

    /// The market that values a base token: the first one that trades it.
    fn carrier(&mut self, token: TokenId) -> Option<&mut Market> {
        self.markets.iter_mut().find(|m| m.spec.base.id == token)
    }

    /// An external flow is neither profit nor loss.
    fn explained(&mut self, token: TokenId, amount: i128, reason: &str) {
        // Balances that were compared contain the charges until then.
        if !Charge::is_reason(reason) {
            self.comparison.explained(token, amount);
        }
        // One found during recovery is part of the opening that follows.
        if self.opening.is_some() {
            self.flow(token, amount);
        }
        let of_pool = self.pools.iter().find(|pool| pool.spec.lp.id == token);
        let market = match of_pool.map(|pool| pool.spec.market) {
            Some(beside) => self.market(beside),
            None => self.carrier(token),
        };
        if let Some(market) = market {
            market.pnl.explain(token, amount);
        }
    }

    fn pool(&mut self, market: MarketId) -> Option<&mut PoolCounts> {
        self.pools.iter_mut().find(|pool| pool.is_of(market))
    }

    fn pool_status(&mut self, status: &PoolStatus) {
        if let Some(pool) = self.pool(status.market) {
            pool.status(status);
        }
        if let (Some(market), Some(balances)) = (self.market(status.market), status.balances) {
            market.pnl.pool_holds(balances);
        }
    }

    /// Books a join or an exit.
    fn moved(&mut self, moved: &PoolTransactionSettlement) {
        while self.counted_transactions.len() >= TRANSACTIONS_KEPT {
            self.counted_transactions.pop_first();
        }
        if !self.counted_transactions.insert(moved.order) {
            return;
        }
        let Some(pool) = self.pool(moved.market) else {
            return;
        };
        pool.moved(moved);
        if self.opening.is_none() {
            return;
        }
        if let Some(market) = self.market(moved.market) {
            market.pnl.moved(moved);
        }
        self.post(moved.market, &Postings::of_move(moved));
    }
}

#[cfg(test)]
mod tests;
