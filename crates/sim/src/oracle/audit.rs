//! Complete audit: all balances compared with the exchange's, and no unit created or lost.

use crate::invariants::table::Invariant;

use cambist_core::event::Amounts;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, TokenId};
use cambist_venue::{Account, Venue};

use super::money::Holding;
use super::{Broken, Oracle};
use crate::faults::disk::Durable;

impl Oracle {
    /// Every account and pool compared with the exchange's state, and every token with its external flows.
    pub(crate) fn audit(&self, venue: &Venue) -> Vec<Broken> {
        if self.over {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut sums: SortedMap<TokenId, Amount> = SortedMap::new();
        for ((id, token), holding) in &self.money.purses {
            *sums.entry(*token).or_default() += holding.total;
            let theirs = venue.account(*id).map(|account| account.balance(*token));
            let theirs = theirs.unwrap_or_default();
            if (theirs.total, theirs.locked) != (holding.total, holding.locked) {
                let detail = format!(
                    "account {} token {}: {holding:?} by the rules, {theirs:?} as kept",
                    id.0, token.0
                );
                found.push((Invariant::OracleBalance, detail));
            }
        }
        for id in self.owners.values() {
            let held = venue.account(*id).into_iter().flat_map(Account::balances);
            let unknown = held.filter(|(token, balance)| {
                balance.total > 0 && self.money.of(*id, *token) == Holding::default()
            });
            for (token, balance) in unknown {
                let detail = format!(
                    "account {} holds {} of token {} from nowhere",
                    id.0, balance.total, token.0
                );
                found.push((Invariant::OracleBalance, detail));
            }
        }
        for pool in &self.pools {
            for (token, held) in pool.pooled.into_iter().zip(pool.held) {
                *sums.entry(token).or_default() += held;
            }
            if venue.pool_reserves(&pool.address) != Some((pool.held, pool.supply)) {
                let detail = format!("{:?} and {} shares by the rules", pool.held, pool.supply);
                found.push((Invariant::OraclePool, detail));
            }
        }
        for (token, inside) in &self.money.inside {
            let sum = sums.remove(token).unwrap_or(0);
            if sum != *inside {
                let detail = format!("token {}: {sum} held, {inside} came in", token.0);
                found.push((Invariant::OracleConservation, detail));
            }
        }
        let open = self
            .orders
            .values()
            .filter(|order| order.account == self.own)
            .count();
        let theirs = venue
            .account(self.own)
            .map_or(0, |own| own.open_orders() as usize);
        if open != theirs {
            let detail = format!("{open} of ours are open by the rules, {theirs} as kept");
            found.push((Invariant::OracleState, detail));
        }
        found
    }

    /// At quiescence: all of the above, the daemon's ledger, and the store's intents.
    pub(crate) fn at_the_end(
        &self,
        venue: &Venue,
        ledger: &Amounts,
        durable: &Durable,
        foreign: u64,
    ) -> Vec<Broken> {
        if self.over {
            return Vec::new();
        }
        let mut found = self.audit(venue);
        for (token, ours) in ledger {
            let held = self.money.of(self.own, *token).total;
            if held != *ours {
                let detail = format!(
                    "token {}: {ours} in the ledger, {held} by the rules",
                    token.0
                );
                found.push((Invariant::OracleLedger, detail));
            }
        }
        let open = self
            .ours
            .0
            .iter()
            .filter(|(_, known)| !known.status.is_final());
        found.extend(open.map(|(hash, known)| {
            (
                Invariant::OracleOpen,
                format!("{hash} ({:?}) is {:?} at the end", known.id, known.status),
            )
        }));
        found.extend(self.ours.against(durable, foreign));
        found
    }
}
