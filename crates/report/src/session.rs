//! Takes in the engine's notes and adds up, in bounded memory.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::event::Amounts;
use cambist_core::note::{End, Fill, MarketStatus, Note, PoolMove, Status};
use cambist_core::request::Endpoint;
use cambist_core::{
    Amount, ClientOrderId, MarketId, MarketSpec, MoveKind, PoolSpec, Reason, Side, Time, TokenId,
    TokenSpec,
};
use hdrhistogram::Histogram;

use crate::money::{decimal_text, fixed_text};
use crate::pnl::{Attribution, MarketPnl};
use crate::pools::PoolBook;
use crate::sides::Sides;
use crate::summary::{
    AckMs, Closing, Ends, MarketRow, Orders, PnlQuote, PoolRow, Requests, Summary,
};

/// Kinds of refusal counted apart; a hostile venue may invent codes for ever.
const REASONS_MAX: usize = 64;

/// Moves remembered, so that none is added up twice.
const MOVES_KEPT: usize = 4_096;

/// The slowest acknowledgement told apart from slower ones: one hour.
const ACK_MAX_US: u64 = 3_600_000_000;

#[derive(Debug)]
struct Market {
    spec: MarketSpec,
    pnl: MarketPnl,
    sides: Sides,
    fills: u64,
    base_volume: u128,
    quote_volume: u128,
}

/// What is known of an order that may be alive.
#[derive(Clone, Copy, Debug, Default)]
struct Alive {
    valid_until_s: u32,
    has_filled: bool,
}

/// Ledger and venue at the newest comparison.
#[derive(Clone, Debug, Default)]
struct Comparison {
    /// Tokens of which they differ: ledger, venue.
    differs: BTreeMap<TokenId, (Amount, Amount)>,
    /// The next difference belongs to a later comparison.
    closed: bool,
}

/// Adds up one session.
#[derive(Debug)]
pub struct Session {
    markets: Vec<Market>,
    pools: Vec<PoolBook>,
    /// Joins and exits whose end is not proven, and their expiry; at most one a pool.
    moving: BTreeMap<ClientOrderId, u32>,
    /// Moves that were added up; another life may tell the last one again.
    moves_seen: BTreeSet<ClientOrderId>,
    tokens: BTreeMap<TokenId, TokenSpec>,
    orders: Orders,
    ends: Ends,
    /// Orders whose end is not proven; the engine bounds how many there are.
    alive: BTreeMap<ClientOrderId, Alive>,
    refused: BTreeMap<Reason, u64>,
    refused_other: u64,
    http_429: u64,
    ack: Histogram<u64>,
    fills: u64,
    opening: Option<Amounts>,
    /// Booked since the opening.
    flows: BTreeMap<TokenId, i128>,
    comparison: Comparison,
    status: Status,
    /// Requests sent and allowed in earlier lives.
    requests_before: [u64; 2],
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
            moving: BTreeMap::new(),
            moves_seen: BTreeSet::new(),
            tokens,
            orders: Orders::default(),
            ends: Ends::default(),
            alive: BTreeMap::new(),
            refused: BTreeMap::new(),
            refused_other: 0,
            http_429: 0,
            ack: Histogram::new_with_bounds(1, ACK_MAX_US, 3)
                .expect("one to an hour in microseconds at three digits is a valid range"),
            fills: 0,
            opening: None,
            flows: BTreeMap::new(),
            comparison: Comparison::default(),
            status: Status::default(),
            requests_before: [0; 2],
        }
    }

    /// The daemon was gone from `now` on and begins another life: what it tells next is added to what it
    /// has told, and time without it counts for nothing. Orders that it finds are told by `found`.
    pub fn next_life(&mut self, now: Time) {
        for market in &mut self.markets {
            market.sides.pause(now);
        }
        let status = std::mem::take(&mut self.status);
        let [sent, allowed] = &mut self.requests_before;
        *sent = sent.saturating_add(status.sent);
        *allowed = allowed.saturating_add(status.allowed);
        self.comparison = Comparison::default();
    }

    /// The same session with pools beside its markets.
    #[must_use]
    pub fn with_pools(mut self, pools: &[PoolSpec]) -> Self {
        for pool in pools {
            self.tokens.insert(pool.lp.id, pool.lp.clone());
            if let Some(market) = self.markets.iter().find(|m| m.spec.id == pool.market) {
                self.pools.push(PoolBook::new(pool, &market.spec));
            }
        }
        self
    }

    /// A join or an exit of an earlier run that may be undecided, told before the first note.
    pub fn found_move(&mut self, id: ClientOrderId, valid_until_s: u32) {
        self.moving.insert(id, valid_until_s);
    }

    /// An order of an earlier run that may be alive, told before the first note.
    pub fn found(&mut self, order: ClientOrderId, valid_until_s: u32, has_filled: bool) {
        if self.alive.contains_key(&order) {
            return;
        }
        self.ends.recovered += 1;
        let alive = Alive {
            valid_until_s,
            has_filled,
        };
        self.alive.insert(order, alive);
    }

    /// Takes in one note.
    pub fn observe(&mut self, now: Time, note: &Note) {
        match note {
            Note::Ready { opening, .. } => self.open(opening),
            Note::Submitted {
                order,
                valid_until_s,
                ..
            } => {
                self.orders.submitted += 1;
                self.alive.entry(*order).or_default().valid_until_s = *valid_until_s;
            }
            Note::Acknowledged { order, .. } if self.moving.contains_key(order) => {}
            Note::Acknowledged { micros, .. } => {
                self.orders.acknowledged += 1;
                self.ack.saturating_record(*micros);
            }
            Note::Refused {
                endpoint, reason, ..
            } => self.refuse(*endpoint, *reason),
            Note::Ended { order, end, .. } => self.end(*order, *end),
            Note::Filled(fill) => self.fill(fill),
            Note::DepthTaken {
                market,
                mid: Some(mid),
                ..
            } => {
                if let Some(market) = self.market(*market) {
                    market.pnl.mid(*mid);
                }
            }
            Note::BothSides { market, both } => {
                if let Some(market) = self.market(*market) {
                    market.sides.set(now, *both);
                }
            }
            Note::Draining => {
                for market in &mut self.markets {
                    market.sides.close(now);
                }
            }
            Note::MoveSent {
                order,
                valid_until_s,
                ..
            } => {
                self.moving.insert(*order, *valid_until_s);
            }
            Note::Moved(moved) => self.moved(moved),
            Note::MoveEnded {
                order, market, end, ..
            } => {
                self.moving.remove(order);
                self.pool(*market)
                    .into_iter()
                    .for_each(|pool| pool.ended(*end));
            }
            Note::Status(status) => {
                self.status.clone_from(status);
                for told in &status.pools {
                    self.pool(told.market)
                        .into_iter()
                        .for_each(|pool| pool.told(told));
                }
            }
            Note::Reconciled { .. } => self.comparison.closed = true,
            Note::Mismatch {
                token,
                ledger,
                venue,
            } => {
                if std::mem::take(&mut self.comparison.closed) {
                    self.comparison.differs.clear();
                }
                self.comparison.differs.insert(*token, (*ledger, *venue));
            }
            Note::Balanced => self.comparison.differs.clear(),
            Note::Adopted { token, amount, .. } => self.flow(*token, *amount),
            Note::Unknown { .. }
            | Note::DepthTaken { mid: None, .. }
            | Note::Resent { .. }
            | Note::Resolved { .. }
            | Note::Answered { .. }
            | Note::CancelSent { .. }
            | Note::DepthRefused { .. }
            | Note::RiskRefused { .. }
            | Note::BudgetDenied { .. }
            | Note::Foreign { .. }
            | Note::ForeignMove { .. }
            | Note::FeeAbove { .. }
            | Note::LevelChanged { .. }
            | Note::Paused(_)
            | Note::Unpaused { .. }
            | Note::LevelNotStored
            | Note::CommandTaken { .. }
            | Note::CommandRefused { .. }
            | Note::ForeignAdopted { .. }
            | Note::Dark { .. }
            | Note::Left { .. }
            | Note::Slept { .. }
            | Note::InvariantFailed { .. } => {}
        }
    }

    /// The summary as of `now`. `code` spells a refusal as the venue does.
    pub fn summary(
        &self,
        now: Time,
        closing: &Closing,
        code: impl Fn(Reason) -> String,
    ) -> Summary {
        let mut orders = self.orders.clone();
        orders.unknown_left = self.left();
        for (reason, count) in &self.refused {
            *orders.refused.entry(code(*reason)).or_default() += count;
        }
        if self.refused_other > 0 {
            orders
                .refused
                .insert("other".to_owned(), self.refused_other);
        }
        let held = self.held();
        let pnl_exact = self.pnl();
        let rows: Vec<MarketRow> = self.markets.iter().map(|market| row(market, now)).collect();
        let lowest = rows.iter().map(|row| row.both_sides_ratio).reduce(f64::min);
        Summary {
            seed: closing.seed,
            duration_s: closing.duration_s,
            orders,
            ends: self.ends,
            fills: self.fills,
            quoted_both_sides_ratio: lowest.unwrap_or(0.0),
            inventory: self.by_symbol(&held),
            pnl_quote: pnl_exact.map(PnlQuote::from),
            ack_ms: AckMs {
                p50: self.ack_ms(0.50),
                p99: self.ack_ms(0.99),
            },
            requests: Requests {
                sent: self.requests_before[0].saturating_add(self.status.sent),
                allowed: self.requests_before[1].saturating_add(self.status.allowed),
                http_429: self.http_429,
            },
            resting_after: closing.resting_after,
            residual_units: self.by_symbol(&closing.residual_units),
            replay_equal: closing.replay_equal,
            quote: self
                .markets
                .first()
                .map(|market| market.spec.quote.symbol.clone())
                .unwrap_or_default(),
            pnl_exact,
            inventory_tokens: held
                .iter()
                .map(|(token, units)| (self.symbol(*token), self.whole(*token, *units, 30)))
                .collect(),
            markets: rows,
            pools: self.pools.iter().map(|pool| self.pool_row(pool)).collect(),
        }
    }

    fn pool_row(&self, pool: &PoolBook) -> PoolRow {
        let quote = self.markets.iter().find(|m| pool.is_of(m.spec.id));
        let quote = quote.map(|market| market.spec.quote.id);
        let whole = |units: i128| quote.map(|token| self.whole(token, units, 30));
        let shares = i128::try_from(pool.held).unwrap_or(i128::MAX);
        let value = pool.value.and_then(|value| i128::try_from(value).ok());
        PoolRow {
            name: pool.spec.name.clone(),
            joins: pool.joins,
            exits: pool.exits,
            failed: pool.failed,
            shares: self.whole(pool.spec.lp.id, shares, 30),
            value_quote: value.and_then(whole),
            result_quote: pool.result().and_then(whole),
        }
    }

    /// Orders, joins and exits that are not proven gone, as of the newest status. Only the engine knows: a lost answer may
    /// be told after its order was seen elsewhere.
    pub fn left(&self) -> u64 {
        let of = |market: &MarketStatus| {
            let live = market.live.map(u64::from);
            let others = [market.in_flight, market.unknown, market.cancelling].map(u64::from);
            live.iter().chain(&others).sum::<u64>()
        };
        let moving = self.status.pools.iter().filter(|pool| pool.moving).count();
        let orders: u64 = self.status.markets.iter().map(of).sum();
        orders.saturating_add(moving as u64)
    }

    /// The last expiry of an order whose end is not proven, if there is one.
    pub fn last_expiry_s(&self) -> Option<u32> {
        let orders = self.alive.values().map(|alive| alive.valid_until_s);
        orders.chain(self.moving.values().copied()).max()
    }

    /// Tokens of which ledger and venue differed at the newest comparison: ledger, venue.
    pub const fn differences(&self) -> &BTreeMap<TokenId, (Amount, Amount)> {
        &self.comparison.differs
    }

    /// Ledger less what the venue said last, for every token of the ledger.
    pub fn residual(&self) -> BTreeMap<TokenId, i128> {
        let signed = |amount: Amount| i128::try_from(amount).unwrap_or(i128::MAX);
        let each = self.status.ledger.iter().map(|(token, ledger)| {
            let venue = self.status.venue.get(token).copied().unwrap_or(0);
            (*token, signed(*ledger).saturating_sub(signed(venue)))
        });
        each.collect()
    }

    /// Profit and loss so far over the markets that share the first market's quote token.
    pub fn pnl(&self) -> Option<Attribution> {
        let quote = self.markets.first()?.spec.quote.id;
        let mut parts = self
            .markets
            .iter()
            .filter(|market| market.spec.quote.id == quote)
            .map(|market| market.pnl.attribution());
        let first = parts.next()??;
        parts.try_fold(first, |sum, part| sum.checked_add(part?))
    }

    /// Held now by token in base units: opening and everything booked since.
    pub fn held(&self) -> BTreeMap<TokenId, i128> {
        let opening = self.opening.iter().flatten();
        let mut held: BTreeMap<TokenId, i128> = opening
            .map(|(token, amount)| (*token, i128::try_from(*amount).unwrap_or(i128::MAX)))
            .collect();
        for (token, flow) in &self.flows {
            let entry = held.entry(*token).or_default();
            *entry = entry.saturating_add(*flow);
        }
        held
    }

    /// The engine's newest status.
    pub const fn status(&self) -> &Status {
        &self.status
    }

    /// Fill increments booked.
    pub const fn fills(&self) -> u64 {
        self.fills
    }

    /// The markets.
    pub fn specs(&self) -> impl Iterator<Item = &MarketSpec> {
        self.markets.iter().map(|market| &market.spec)
    }

    /// The symbol of a token, or its number where no market names it.
    pub fn symbol(&self, token: TokenId) -> String {
        self.tokens
            .get(&token)
            .map_or_else(|| format!("token {}", token.0), |spec| spec.symbol.clone())
    }

    /// Base units as whole tokens, cut after `places`; base units where decimals are not known.
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

    fn market(&mut self, id: MarketId) -> Option<&mut Market> {
        self.markets.iter_mut().find(|market| market.spec.id == id)
    }

    /// A base token that two markets share is counted as opening of the first one only.
    fn open(&mut self, opening: &Amounts) {
        if self.opening.is_some() {
            return;
        }
        let mut given = BTreeSet::new();
        for market in &mut self.markets {
            let base = market.spec.base.id;
            let units = opening.get(&base).copied().unwrap_or(0);
            market.pnl.open(if given.insert(base) { units } else { 0 });
        }
        for pool in &mut self.pools {
            pool.open(opening.get(&pool.spec.lp.id).copied().unwrap_or(0));
        }
        self.opening = Some(opening.clone());
    }

    fn refuse(&mut self, endpoint: Endpoint, reason: Reason) {
        if reason == Reason::RateLimited {
            self.http_429 += 1;
        }
        if endpoint != Endpoint::Submit {
            return;
        }
        if self.refused.len() < REASONS_MAX || self.refused.contains_key(&reason) {
            *self.refused.entry(reason).or_default() += 1;
        } else {
            self.refused_other += 1;
        }
    }

    fn end(&mut self, order: ClientOrderId, end: End) {
        let alive = self.alive.remove(&order);
        let was_tried = alive.is_some();
        let alive = alive.unwrap_or_default();
        self.ends.partly_filled += u64::from(alive.has_filled && end != End::Filled);
        let count = match end {
            End::Filled => {
                self.orders.filled += 1;
                &mut self.ends.filled
            }
            End::Cancelled => {
                self.orders.cancelled += 1;
                &mut self.ends.cancelled
            }
            End::Expired => &mut self.ends.expired,
            End::FailedLate => &mut self.ends.failed_late,
            End::Refused => &mut self.ends.rejected,
            End::NeverSent if !was_tried => return,
            End::NeverSent => &mut self.ends.never_sent,
            End::Fenced => &mut self.ends.fenced,
        };
        *count += 1;
    }

    fn fill(&mut self, fill: &Fill) {
        self.fills += 1;
        if let Some(alive) = self.alive.get_mut(&fill.order) {
            alive.has_filled = true;
        }
        let is_open = self.opening.is_some();
        let Some(market) = self.market(fill.market) else {
            return;
        };
        market.fills += 1;
        market.base_volume = market.base_volume.saturating_add(fill.base);
        market.quote_volume = market.quote_volume.saturating_add(fill.quote);
        market.pnl.fill(fill);
        let (base, quote) = (market.spec.base.id, market.spec.quote.id);
        if !is_open {
            // Found in the recovery: part of the opening that is about to be taken.
            return;
        }
        let signed = |amount| i128::try_from(amount).unwrap_or(i128::MAX);
        let changes = match fill.side {
            Side::Buy => [
                (base, signed(fill.base).saturating_sub(signed(fill.fee))),
                (quote, -signed(fill.quote)),
            ],
            Side::Sell => [
                (base, -signed(fill.base)),
                (quote, signed(fill.quote).saturating_sub(signed(fill.fee))),
            ],
        };
        for (token, change) in changes {
            self.flow(token, change);
        }
    }

    fn flow(&mut self, token: TokenId, change: i128) {
        let flow = self.flows.entry(token).or_default();
        *flow = flow.saturating_add(change);
    }

    fn pool(&mut self, market: MarketId) -> Option<&mut PoolBook> {
        self.pools.iter_mut().find(|pool| pool.is_of(market))
    }

    /// A move changes what is held, and what the market's profit is counted from; it is no profit itself.
    fn moved(&mut self, moved: &PoolMove) {
        while self.moves_seen.len() >= MOVES_KEPT {
            self.moves_seen.pop_first();
        }
        if !self.moves_seen.insert(moved.order) {
            return;
        }
        let Some(pool) = self.pool(moved.market) else {
            return;
        };
        pool.moved(moved);
        let ([base_flow, quote_flow], lp) = (pool.flows(moved), pool.spec.lp.id);
        if self.opening.is_none() {
            return;
        }
        let Some(market) = self.market(moved.market) else {
            return;
        };
        market.pnl.transfer(base_flow);
        let (base, quote) = (market.spec.base.id, market.spec.quote.id);
        let minted = i128::try_from(moved.moved.lp).unwrap_or(i128::MAX);
        let lp_flow = match moved.kind {
            MoveKind::Join => minted,
            MoveKind::Exit => -minted,
        };
        for (token, change) in [(base, base_flow), (quote, quote_flow), (lp, lp_flow)] {
            let flow = self.flows.entry(token).or_default();
            *flow = flow.saturating_add(change);
        }
    }

    fn by_symbol(&self, units: &BTreeMap<TokenId, i128>) -> BTreeMap<String, String> {
        units
            .iter()
            .map(|(token, units)| (self.symbol(*token), units.to_string()))
            .collect()
    }

    fn ack_ms(&self, quantile: f64) -> Option<f64> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "microseconds of at most an hour"
        )]
        let ms = |us: u64| us as f64 / 1_000.0;
        (!self.ack.is_empty()).then(|| ms(self.ack.value_at_quantile(quantile)))
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

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
