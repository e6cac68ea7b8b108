//! Audits the books: conservation, locks, order of the levels. Reads the whole state, so its cost grows with it. Tests
//! audit after every request; the operator can audit on demand.

use std::collections::BTreeMap;

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, OrderStatus, Side, TokenId};

use crate::account::{AccountId, Balance};
use crate::offchain::Stage;
use crate::orders::{Order, OrderKey};
use crate::schedule::Due;
use crate::venue::{Market, Venue};

impl Venue {
    /// Checks every invariant that must hold between requests; an error names the first violation.
    pub fn audit(&self) -> Result<(), String> {
        self.audit_orders()?;
        self.audit_money()?;
        self.audit_submissions()?;
        let waiting = self
            .orders
            .iter()
            .filter(|(_, order)| order.is_open() && order.rest == 0)
            .count();
        let mut resting = waiting;
        for market in &self.markets {
            resting += self.audit_book(market)?;
        }
        let open = self.expiries.len();
        if resting != open {
            return Err(format!(
                "{resting} orders rest or are delayed, but {open} are open"
            ));
        }
        Ok(())
    }

    fn audit_money(&self) -> Result<(), String> {
        let mut held: SortedMap<TokenId, Amount> = SortedMap::new();
        let mut locked: BTreeMap<(AccountId, TokenId), Amount> = BTreeMap::new();
        for (_, order) in self.orders.iter() {
            *locked
                .entry((order.account, self.sell_token(order)))
                .or_default() += order.locked();
        }
        for submission in self.submissions.values() {
            for (token, amount) in self.bound_now(submission) {
                *locked.entry((submission.account, token)).or_default() += amount;
            }
        }
        for pool in &self.pools {
            for (token, balance) in pool.config.pooled.into_iter().zip(pool.balances) {
                *held.entry(token).or_default() += balance;
                if (pool.supply > 0) != (balance > 0) {
                    let name = &pool.config.name;
                    return Err(format!("{name}: {balance} for {} lp units", pool.supply));
                }
            }
        }
        for account in self.accounts.values() {
            for (token, Balance { total, locked: is }) in account.balances() {
                *held.entry(token).or_default() += total;
                let should = locked.remove(&(account.id, token)).unwrap_or(0);
                if is != should || is > total {
                    return Err(format!(
                        "account {} token {}: locked {is} of {total}, orders and submissions lock {should}",
                        account.id.0, token.0
                    ));
                }
            }
        }
        if let Some((key, amount)) = locked.iter().find(|(_, amount)| **amount > 0) {
            return Err(format!("{amount} locked without a balance: {key:?}"));
        }
        for token in self.tokens.keys() {
            let circulating = self.in_circulation(*token);
            let held = held.remove(token).unwrap_or(0);
            if circulating != held {
                return Err(format!(
                    "token {}: balances sum up to {held}, {circulating} circulate",
                    token.0
                ));
            }
        }
        match held.iter().find(|(_, amount)| **amount > 0) {
            Some((token, amount)) => Err(format!("{amount} of unlisted token {}", token.0)),
            None => Ok(()),
        }
    }

    fn audit_orders(&self) -> Result<(), String> {
        for (key, order) in self.orders.iter() {
            let within = if order.limited_by_base() {
                order.base_filled <= order.base
            } else {
                order.quote_filled <= order.quote
            };
            if !within || order.sold() > order.sell_amount() {
                return Err(format!("order {} is overfilled", order.hash));
            }
            if !self.repriced.contains(&order.hash) && !fair(order) {
                return Err(format!("order {} traded past its limit", order.hash));
            }
            let open = order.is_open();
            if open != self.expiries.contains(&(order.valid_until_s, key)) {
                return Err(format!(
                    "order {} is missing in the index of expiries",
                    order.hash
                ));
            }
            if self.by_hash.get(&order.hash) != Some(&key) {
                return Err(format!("order {} is not found by hash", order.hash));
            }
            let due = order.due.map(|at| self.due.get(&(at, order.sequence)));
            let waits = matches!(order.status, OrderStatus::Waiting | OrderStatus::Cancelling);
            if waits != (due == Some(Some(&Due::Order(key)))) || order.due.is_some() != waits {
                return Err(format!("order {} does not match the schedule", order.hash));
            }
            if order.status == OrderStatus::Processing && order.rest == 0 {
                return Err(format!(
                    "order {} is open with nothing left to trade",
                    order.hash
                ));
            }
        }
        for account in self.accounts.values() {
            self.audit_account(account.id)?;
        }
        Ok(())
    }

    fn audit_account(&self, id: AccountId) -> Result<(), String> {
        let account = &self.accounts[&id];
        let open = account
            .orders
            .values()
            .filter(|key| self.orders.get(**key).is_open())
            .count();
        let held: Vec<OrderKey> = account
            .slots
            .values()
            .flat_map(|table| table.open().map(|(_, key)| key))
            .collect();
        let consistent = open == account.open_orders as usize
            && held.len() == open
            && held.iter().all(|key| self.orders.get(*key).is_open())
            && account.orders.len() == open + account.finished.len();
        if consistent {
            Ok(())
        } else {
            Err(format!(
                "account {}: orders, slots and history are inconsistent",
                id.0
            ))
        }
    }

    /// Submissions, their schedule, and the accounts' indexes of them.
    fn audit_submissions(&self) -> Result<(), String> {
        for submission in self.submissions.values() {
            let number = submission.number;
            let scheduled = submission
                .due
                .is_some_and(|at| self.due.get(&(at, number)) == Some(&Due::Submission));
            let known = self.submission_hashes.get(&submission.hash) == Some(&number)
                && self.accounts[&submission.account]
                    .submissions
                    .contains(&number);
            if !known || scheduled != submission.stage.is_undecided() {
                return Err(format!(
                    "submission {number} is missing in an index or in the schedule"
                ));
            }
        }
        let kept: usize = self
            .accounts
            .values()
            .map(|all| all.submissions.len())
            .sum();
        if kept != self.submissions.len() || kept != self.submission_hashes.len() {
            return Err("submissions, hashes and accounts are inconsistent".to_owned());
        }
        for account in self.accounts.values() {
            let (mut open, mut pending) = (0, SortedMap::new());
            for submission in account
                .submissions
                .iter()
                .map(|number| &self.submissions[number])
            {
                open += u32::from(submission.stage.is_open());
                if submission.stage == Stage::Pending {
                    for (token, amount) in self.bound_now(submission) {
                        *pending.entry(token).or_default() += amount;
                    }
                }
            }
            let finished = account.submissions.len() - account.finished_submissions.len();
            if open != account.open_submissions
                || finished != open as usize
                || pending != account.pending_withdraw
            {
                return Err(format!(
                    "account {}: its submissions are inconsistent",
                    account.id.0
                ));
            }
        }
        Ok(())
    }

    /// Audits a book; returns the number of orders in it.
    fn audit_book(&self, market: &Market) -> Result<usize, String> {
        let name = &market.config.name;
        let (bid, ask) = (market.book.best(Side::Buy), market.book.best(Side::Sell));
        if let (Some(bid), Some(ask)) = (bid, ask)
            && bid >= ask
        {
            return Err(format!("{name} is crossed: {} and {}", bid.0, ask.0));
        }
        let mut resting = 0;
        for side in Side::BOTH {
            for (price, level) in market.book.levels(side) {
                let (mut size, mut count) = (0, 0);
                let mut next = Some(level.first);
                let mut before = None;
                while let Some(key) = next {
                    let order = self.orders.get(key);
                    let sound = order.is_open()
                        && order.rest > 0
                        && order.side == side
                        && order.level == price
                        && order.before == before
                        && order.rest == order.capacity(&market.scale, price);
                    if !sound {
                        return Err(format!("{name} {}: order {}", price.0, order.hash));
                    }
                    size += order.rest;
                    count += 1;
                    before = Some(key);
                    next = order.after;
                }
                if size != level.size || count != level.count || before != Some(level.last) {
                    return Err(format!(
                        "{name} {}: the level does not match its orders",
                        price.0
                    ));
                }
                resting += count as usize;
            }
        }
        Ok(resting)
    }

    fn sell_token(&self, order: &Order) -> TokenId {
        let market = &self.markets[usize::from(order.market.0)].config;
        match order.side {
            Side::Buy => market.quote,
            Side::Sell => market.base,
        }
    }
}

/// Whether the sum of all fills respects the order's limit.
fn fair(order: &Order) -> bool {
    let paid = crate::math::compare_products(
        order.quote_filled,
        order.base,
        order.base_filled,
        order.quote,
    );
    match order.side {
        Side::Buy => paid.is_le(),
        Side::Sell => paid.is_ge(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    /// One of two tokens at 2,500 filled.
    #[test]
    fn an_order_that_was_filled_beyond_its_limit_is_found() {
        for (side, quote_filled, is_fair) in [
            (Side::Buy, 2_500 * UNIT, true),
            (Side::Buy, 2_500 * UNIT + 1, false),
            (Side::Sell, 2_500 * UNIT, true),
            (Side::Sell, 2_500 * UNIT - 1, false),
        ] {
            let mut world = World::new();
            let (hash, _) = world.place(ALICE, side, 250_000, 2 * ONE);
            let key = world.venue.by_hash[&hash];
            let order = world.venue.orders.get_mut(key);
            (order.base_filled, order.quote_filled) = (ONE, quote_filled);
            let beyond = format!("order {hash} traded past its limit");
            let found = if is_fair { Ok(()) } else { Err(beyond) };
            assert_eq!(world.venue.audit_orders(), found, "{quote_filled}");
        }
    }
}
