//! Pools beside markets: their state, and from a target of shares to a join or an exit.
//!
//! Joins and exits take the same way as orders: gate → budget → storage ids → seal → gate → transmit. At most one per
//! pool is undecided. `transaction_reports` handles the reports about it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::config::PoolConfig;
use crate::event::BatchId;
use crate::market::MarketId;
use crate::notification::{Control, PoolStatus, Withheld};
use crate::order::StrategyId;
use crate::pool::{
    PoolBalances, PoolListed, PoolSpec, PoolTransactionKind, UnsignedPoolTransaction,
};
use crate::request::{Endpoint, Outcome, Reply};
use crate::shares;
use crate::strategy::{Owed, PoolView, RangeDue};
use crate::time::Time;
use crate::token::{Amount, TokenId};
use crate::withheld::{Compared, Unit};

use crate::engine::account::slot_numbers::SlotUse;
use crate::engine::intents::pool_transactions::TrackedPoolTransaction;
use crate::engine::market::{Backoff, Market};
use crate::engine::risk::gate::pools::{PoolSituation, Proposed};
use crate::engine::risk::sliding_window::PerMinute;
use crate::engine::state::State;
use crate::market::value_at;
use crate::venue::Spent;

/// The pool beside a market.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pool {
    pub(crate) spec: PoolSpec,
    /// Its index in the configuration.
    pub(crate) config_index: usize,
    pub(crate) config: PoolConfig,
    /// Its balances, and when they were generated at the latest.
    balances: Option<(PoolBalances, Time)>,
    /// When to poll again.
    pub(crate) poll_at: Time,
    /// Pause after refused joins and exits.
    pub(crate) backoff: Backoff,
    /// When the last join, exit or swap of this run ended.
    pub(crate) last_transaction_at: Option<Time>,
    /// Why a wanted join, exit or swap was not made, in the last decision.
    pub(crate) withheld: Option<Withheld>,
    /// Swaps created.
    pub(crate) swaps: PerMinute,
}

impl Pool {
    pub(crate) fn new(spec: PoolSpec, at: usize, config: PoolConfig) -> Self {
        Self {
            spec,
            config_index: at,
            config,
            balances: None,
            poll_at: Time(0),
            backoff: Backoff::default(),
            last_transaction_at: None,
            withheld: None,
            swaps: PerMinute::default(),
        }
    }

    /// Balances when last polled.
    pub(crate) fn known(&self) -> Option<PoolBalances> {
        self.balances.map(|(balances, _)| balances)
    }

    /// Whether the balances were read after the last join, exit or swap of this run ended.
    pub(crate) fn is_read_since_last(&self) -> bool {
        let ended = self.last_transaction_at;
        self.balances
            .is_some_and(|(_, drawn)| ended.is_none_or(|ended| drawn >= ended))
    }

    /// Balances, if they are known and not too old.
    pub(crate) fn fresh(&self, now: Time) -> Option<PoolBalances> {
        let (balances, drawn) = self.balances?;
        (now.ms_since(drawn) <= self.config.age_max_ms).then_some(balances)
    }

    /// What is owed to our shares, if it is known since the last join, exit or swap of this run ended.
    fn owed(&self, base: TokenId) -> Option<Owed> {
        let (balances, _) = self.balances.filter(|_| self.is_read_since_last())?;
        let (owed, base_at) = (balances.owed?, self.base_at(base));
        Some(Owed {
            base: owed[base_at],
            quote: owed[1 - base_at],
            collect_value: self.config.collect_value,
        })
    }

    /// The reason that the balances are unknown or too old.
    fn stale(&self, now: Time) -> Withheld {
        let age_ms = self.balances.map(|(_, drawn)| now.ms_since(drawn));
        let key = "market.pool.age_max_ms";
        let compared = Compared::of(Unit::Ms, key, age_ms, self.config.age_max_ms);
        Withheld::compared(Control::StaleData, compared)
    }

    /// Index of the base token among the pooled ones.
    pub(crate) fn base_at(&self, base: TokenId) -> usize {
        usize::from(self.spec.pooled[0] != base)
    }
}

impl State {
    /// Handles the balances of a pool.
    pub(crate) fn handle_pool_balance(
        &mut self,
        now: Time,
        drawn: Time,
        id: MarketId,
        outcome: &Outcome,
    ) {
        let market = self.market_mut(id);
        if let (Some(pool), Outcome::Reply(Reply::PoolBalance(balances))) =
            (&mut market.pool, outcome)
        {
            let newer = pool.balances.is_none_or(|(_, known)| known <= drawn);
            if newer && drawn <= now {
                pool.balances = Some((*balances, drawn));
                market.decision_due = true;
            }
        }
    }

    /// Handles the list of pools. A pool that is no longer listed allows nothing.
    pub(crate) fn handle_pools(&mut self, outcome: &Outcome) {
        let Outcome::Reply(Reply::Pools(listed)) = outcome else {
            return;
        };
        for market in &mut self.markets {
            let Some(pool) = &mut market.pool else {
                continue;
            };
            let found = listed.iter().find(|found| found.market == market.spec.id);
            let may = |allows: fn(&PoolListed) -> bool| found.is_some_and(allows);
            let open = [
                may(|listed| listed.joins),
                may(|listed| listed.exits),
                may(|listed| listed.swaps),
            ];
            // A pool that is not listed takes no swaps, whatever its fee was.
            let fee_bips = found.map_or(pool.spec.fee_bips, |listed| listed.fee_bips);
            let spec = &mut pool.spec;
            let changed = [spec.joins, spec.exits, spec.swaps] != open || spec.fee_bips != fee_bips;
            market.decision_due |= changed;
            [spec.joins, spec.exits, spec.swaps] = open;
            spec.fee_bips = fee_bips;
        }
    }

    /// The pool as strategies see it; `None` while its balances are unknown or too old.
    pub(crate) fn pool_view(&self, now: Time, id: MarketId) -> Option<PoolView> {
        let market = self.market(id);
        let pool = market.pool.as_ref()?;
        let balances = pool.fresh(now)?;
        let base_at = pool.base_at(market.spec.base.id);
        Some(PoolView {
            base: balances.reserves[base_at],
            quote: balances.reserves[1 - base_at],
            supply: balances.supply,
            range: pool.spec.in_range.then(|| RangeDue {
                base: balances.pooled[base_at],
                quote: balances.pooled[1 - base_at],
            }),
            owed: pool.owed(market.spec.base.id),
            held: self.ledger.total(pool.spec.lp.id),
            moving: self.is_pool_busy(id),
            moved: pool.last_transaction_at,
            swap: self.swap_terms(id, pool),
        })
    }

    /// Base and quote due to our shares of the pool beside a market, rounded down, by the last polled balances. `None`
    /// while these are not known.
    pub(crate) fn shares_due(&self, id: MarketId) -> Option<(Amount, Amount)> {
        let market = self.market(id);
        let Some(pool) = &market.pool else {
            return Some((0, 0));
        };
        if !self.ledger.is_open() {
            // What is held is not known, which is not nothing: shares that are found later would be a gain.
            return None;
        }
        let held = self.ledger.total(pool.spec.lp.id);
        if held == 0 {
            return Some((0, 0));
        }
        let due = shares::due(&pool.balances?.0, held)?;
        let base_at = pool.base_at(market.spec.base.id);
        Some((due[base_at], due[1 - base_at]))
    }

    /// Base due to our shares beside a market, rounded up. `None` while the pool's balances are not known.
    pub(crate) fn most_pooled_base(&self, market: &Market) -> Option<Amount> {
        let Some(pool) = &market.pool else {
            return Some(0);
        };
        let (_, held) = self.ledger.bounds(pool.spec.lp.id);
        if held == 0 {
            return Some(0);
        }
        let due = shares::join(&pool.balances?.0, held, 0)?.amounts;
        Some(due[pool.base_at(market.spec.base.id)])
    }

    /// Upper bound of the value of our shares beside a market in quote units: both tokens, because one becomes the
    /// other when the price moves, and the quote that an undecided join pays. Rounded up; `None` on overflow.
    pub(crate) fn shares_exposure(&self, market: &Market, mid: u64) -> Option<Amount> {
        let Some(pool) = &market.pool else {
            return Some(0);
        };
        let base_at = pool.base_at(market.spec.base.id);
        let under_way = self.orders.pool_transactions.of_market(market.spec.id);
        let joining = under_way.filter(|t| t.wanted.kind == PoolTransactionKind::Join);
        let paying = joining.map_or(0, |t| t.wanted.amounts[1 - base_at]);
        let (_, held) = self.ledger.bounds(pool.spec.lp.id);
        if held == 0 {
            return Some(paying);
        }
        // The cost of the same number of shares is the amount due, rounded up.
        let cost = shares::join(&pool.balances?.0, held, 0)?.amounts;
        let base = value_at(&market.spec, cost[base_at], mid)?;
        base.checked_add(cost[1 - base_at])?.checked_add(paying)
    }

    /// The pool as reported in status and metrics.
    pub(crate) fn pool_status(&self, now: Time, id: MarketId) -> Option<PoolStatus> {
        let market = self.market(id);
        let pool = market.pool.as_ref()?;
        let held = self.ledger.total(pool.spec.lp.id);
        let (balances, mid) = (
            pool.balances.map(|(balances, _)| balances),
            self.prices(id).mid,
        );
        let base_at = pool.base_at(market.spec.base.id);
        let transaction = self.orders.pool_transactions.of_market(id);
        let under_way = transaction.map(|t| &t.lifecycle);
        let under_way = under_way.or_else(|| self.orders.swap_of(id).map(|t| &t.lifecycle));
        let known = balances.zip(mid);
        Some(PoolStatus {
            market: id,
            balances,
            held,
            value: known.and_then(|(balances, mid)| {
                let due = shares::due(&balances, held)?;
                let base = shares::quote_value(&market.spec, due[base_at], mid)?;
                base.checked_add(due[1 - base_at])
            }),
            divergence_bps: known.and_then(|(balances, mid)| {
                let [base, quote] = [balances.reserves[base_at], balances.reserves[1 - base_at]];
                shares::divergence_bps(&market.spec, base, quote, mid)
            }),
            moving: under_way.is_some(),
            unknown: under_way.is_some_and(|lifecycle| lifecycle.unknown_since().is_some()),
            age_ms: pool.balances.map(|(_, drawn)| now.ms_since(drawn)),
            withheld: pool.withheld,
        })
    }

    /// The inputs of the gate for joins and exits of a market's pool.
    pub(crate) fn pool_situation(
        &self,
        now: Time,
        id: MarketId,
    ) -> Result<PoolSituation<'_>, Withheld> {
        let market = self.market(id);
        let pool = market.pool.as_ref().ok_or(Control::Permission)?;
        Ok(PoolSituation {
            spec: &pool.spec,
            config: &pool.config,
            base_at: pool.base_at(market.spec.base.id),
            balances: pool.fresh(now).ok_or_else(|| pool.stale(now))?,
            owed: pool.owed(market.spec.base.id),
            held: self.ledger.total(pool.spec.lp.id),
            is_read_since_last: pool.is_read_since_last(),
            swaps: pool.swaps.count(now),
        })
    }

    /// Turns a target of shares into a join or an exit, if one is needed and none is undecided, and passes it to the
    /// store.
    pub(crate) fn propose_pool_transaction(
        &mut self,
        now: Time,
        index: usize,
        strategy: StrategyId,
        shares: Amount,
        mid: Result<u64, Withheld>,
        batch: BatchId,
    ) -> Result<Option<UnsignedPoolTransaction>, Withheld> {
        let id = self.markets[index].spec.id;
        if self.markets[index].pool.is_none() || self.is_pool_busy(id) {
            return Ok(None);
        }
        let pool = self.pool_situation(now, id)?;
        let Some(wanted) = Proposed::between(&pool, shares)? else {
            return Ok(None);
        };
        let situation = self.situation(now, index, mid);
        let approved = situation.approve_pool_transaction(&pool, strategy, wanted)?;
        let (pooled, lp, fee_max) = (pool.spec.pooled, pool.spec.lp.id, pool.config.fee_max);
        if self.store_lags(batch) {
            return Err(Control::Store.into());
        }
        let pool = self.markets[index].pool.as_ref();
        if let Some(why) = pool.and_then(|pool| pool.backoff.withheld(now)) {
            return Err(why);
        }
        let Proposed {
            kind,
            limits,
            coming,
            ..
        } = approved.into_inner();
        let (endpoint, tokens) = match kind {
            PoolTransactionKind::Join => (Endpoint::Join, pooled.to_vec()),
            PoolTransactionKind::Exit => (Endpoint::Exit, vec![lp]),
        };
        if !self.take_token(now, endpoint) {
            return Err(Control::Budget.into());
        }
        let storage_ids = self.odd_ids(&tokens)?;
        let made_at = self.clock.at_least(now);
        let wanted = UnsignedPoolTransaction {
            client_id: self.next_id(strategy),
            market: id,
            kind,
            pooled,
            amounts: limits.amounts,
            lp,
            lp_amount: limits.lp,
            storage_ids,
            fee_max,
            valid_until_s: self.accepted_until_s(made_at),
            made_at,
        };
        let tracked = TrackedPoolTransaction::sealing(wanted.clone(), coming, batch);
        self.orders.pool_transactions.insert(tracked);
        Ok(Some(wanted))
    }

    /// A number for every token, or for none: an odd one where each token has a row of its own, and one in all where they
    /// share a row.
    fn odd_ids(&mut self, tokens: &[TokenId]) -> Result<Vec<u32>, Withheld> {
        if !self.is_number_due() {
            return Err(Control::StorageIds.into());
        }
        let rule = self.venue.slots;
        let mut rows = BTreeSet::new();
        let first_of_row = tokens.iter().filter(|token| rows.insert(rule.row(**token)));
        let tokens: Vec<_> = first_of_row.collect();
        let mut taken = Vec::with_capacity(tokens.len());
        for token in &tokens {
            if let Some(id) = self.slot_numbers.take(**token, SlotUse::PoolTransaction) {
                taken.push(id);
            } else {
                for (token, id) in tokens.into_iter().zip(taken) {
                    self.slot_numbers.free(*token, id, Spent::No);
                }
                return Err(Control::StorageIds.into());
            }
        }
        Ok(taken)
    }
}
