//! Answers of the exchange compared with the oracle's books: balances, orders, best levels of a depth, pools.

use crate::invariants::table::Invariant;
use cambist_core::Side;
use cambist_venue::{BalanceView, DepthRow, DepthView, OrderView, Request, Response};

use super::market;
use super::{Broken, Oracle, unlike};

impl Oracle {
    /// Compares an answer with the state kept here, as far as it contains it.
    pub(super) fn compare(&self, request: &Request, answer: &Response) -> Vec<Broken> {
        match (request, answer) {
            (Request::Balances { account, .. }, Response::Balances(shown)) => {
                let wrong = |view: &&BalanceView| {
                    let holding = self.money.of(*account, view.token);
                    (view.total, view.locked) != (holding.total, holding.locked)
                };
                shown
                    .iter()
                    .filter(wrong)
                    .map(|view| self.unequal(*account, view))
                    .collect()
            }
            (_, Response::Order(view)) => self.compare_order(view).into_iter().collect(),
            (_, Response::Orders(page)) => {
                let orders = page.orders.iter();
                orders.filter_map(|view| self.compare_order(view)).collect()
            }
            (Request::Depth { level: 0, .. }, Response::Depth(view)) => self.compare_depth(view),
            // A coarser depth aggregates the finest one.
            (_, Response::Depth(_)) => Vec::new(),
            (Request::PoolBalance { pool }, Response::PoolBalance(view)) => {
                let Ok((index, ..)) = self.pool_at(pool) else {
                    return vec![crate::oracle::order_entry::unread("a pool's address")];
                };
                let pool = &self.pools[index];
                let shown = [view.pooled[0].amount, view.pooled[1].amount];
                if (shown, view.lp.amount) == (pool.held, pool.supply) {
                    return Vec::new();
                }
                let detail = format!(
                    "{shown:?} and {} shares reported, {:?} and {} held",
                    view.lp.amount, pool.held, pool.supply
                );
                vec![(Invariant::OraclePool, detail)]
            }
            (_, _) => vec![crate::oracle::order_entry::unread("an answer")],
        }
    }

    fn unequal(&self, account: cambist_venue::AccountId, view: &BalanceView) -> Broken {
        let holding = self.money.of(account, view.token);
        let detail = format!(
            "account {} token {}: {} of which {} locked by the rules, {} of which {} as reported",
            account.0, view.token.0, holding.total, holding.locked, view.total, view.locked
        );
        (Invariant::OracleBalance, detail)
    }

    fn compare_order(&self, view: &OrderView) -> Option<Broken> {
        if view.account != self.own {
            return None;
        }
        let Some(known) = self.ours.0.get(&view.hash) else {
            let detail = format!("{} is listed and was never accepted", view.hash);
            return Some((Invariant::OracleState, detail));
        };
        if known.status != view.status {
            return Some(unlike(view.hash, known.status, view.status));
        }
        let filled = (view.base_filled, view.quote_filled, view.fee);
        if known.filled != filled {
            let detail = format!("{}: {filled:?} shown, {:?} traded", view.hash, known.filled);
            return Some((Invariant::OracleFilled, detail));
        }
        None
    }

    /// The best level of each side, if the depth has full precision.
    fn compare_depth(&self, view: &DepthView) -> Vec<Broken> {
        let mut found = Vec::new();
        let Some(market) = self
            .markets
            .iter()
            .find(|market| market.name == view.market)
        else {
            return vec![crate::oracle::order_entry::unread("a market's name")];
        };
        let sides: [(Side, &[DepthRow]); 2] = [(Side::Buy, &view.bids), (Side::Sell, &view.asks)];
        for (side, rows) in sides {
            let line = market.line(side);
            let best = line.first_key_value().map(|(place, _)| place.0);
            let first = line.iter().take_while(|(place, _)| Some(place.0) == best);
            let rests = first.filter_map(|(_, number)| self.orders.get(number));
            let due = best.map(|key| {
                (
                    market::price(side, (key, 0)),
                    rests.map(|order| order.rest).sum(),
                )
            });
            let shown = rows.first().map(|row| (row.price.0, row.size));
            if due != shown {
                let detail = format!("{} {side:?}: {shown:?} shown, {due:?} rests", view.market);
                found.push((Invariant::OracleDepth, detail));
            }
        }
        found
    }
}
