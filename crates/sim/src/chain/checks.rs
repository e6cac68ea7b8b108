//! What must hold of a chain, checked against the chain itself: what was signed for each nonce, and what was booked of
//! each.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::event::Start;
use cambist_core::notification::{Notification, PoolTransactionSettlement};
use cambist_core::{Amount, ClientOrderId, Intent, PoolTransactionKind, TokenId};
use cambist_evm::Hash32;
use cambist_evm_venue::account::Wanted;
use cambist_evm_venue::bundle::Part;

use crate::chain::COIN;
use crate::chain::blocks::Chain;
use crate::faults::disk::Durable;
use crate::invariants::sending::Broken;
use crate::invariants::table::Invariant;

/// One transaction that was signed.
#[derive(Clone, Copy, Debug)]
struct Signing {
    /// Most per gas, and of it to the producer.
    fees: [u128; 2],
    /// The intent that it may move something for, and its deadline.
    moves: Option<(ClientOrderId, u64)>,
}

/// The checks and their state.
#[derive(Debug, Default)]
pub(crate) struct ChainChecks {
    /// What was signed for an intent and has not left yet, with its nonces.
    sealed: BTreeMap<ClientOrderId, Vec<(u64, Signing)>>,
    /// Everything that left, by nonce.
    left: BTreeMap<u64, Vec<Signing>>,
    /// Names of the transactions of intents.
    names: BTreeMap<ClientOrderId, Hash32>,
    /// Every transaction that was signed together with one of an intent, by the name of that one.
    bundles: BTreeMap<Hash32, Vec<Hash32>>,
    /// Booked in this run.
    booked: BTreeSet<ClientOrderId>,
    /// The number of the next charge.
    pub(crate) next_charge: Option<u64>,
    /// Finalized blocks up to this one were checked.
    pub(crate) seen: u64,
    /// Joins and exits that were executed, and those that were reverted.
    pub(crate) executed: u64,
    /// As above.
    pub(crate) reverted: u64,
    /// How often the node followed another chain.
    pub(crate) forks: u64,
    /// How often the books were compared and agreed.
    pub(crate) compared: u64,
    /// Nonces that were signed for again.
    pub(crate) replaced: u64,
}

fn signed_of(amount: Amount) -> i128 {
    i128::try_from(amount).unwrap_or(i128::MAX)
}

impl ChainChecks {
    /// A run begins.
    pub(crate) fn begin(&mut self, start: &Start) {
        self.booked.clear();
        self.next_charge = start
            .books
            .ledger
            .as_ref()
            .map(|_| start.books.charged_below);
    }

    /// A bundle was signed.
    pub(crate) fn sealed(&mut self, id: ClientOrderId, parts: &[Part]) {
        let signing = |part: &Part| {
            let moves = match &part.wanted {
                Wanted::Intent(Intent::PoolTransaction(of)) => {
                    Some((of.client_id, u64::from(of.valid_until_s)))
                }
                Wanted::Intent(Intent::Order(of)) => {
                    Some((of.client_id, u64::from(of.accepted_until_s)))
                }
                Wanted::Approval { .. } | Wanted::Burn => None,
            };
            let fees = [part.sealed.fees.max, part.sealed.fees.priority_max];
            (part.sealed.nonce, Signing { fees, moves })
        };
        let names: Vec<_> = parts
            .iter()
            .map(|part| Hash32(part.sealed.hash.0))
            .collect();
        if let Some(last) = names.last() {
            self.names.insert(id, *last);
            self.bundles.insert(*last, names);
        }
        let signed = parts.iter().map(signing).collect();
        self.sealed.insert(id, signed);
    }

    /// The stored bytes of an intent leave, for the first time or again.
    pub(crate) fn leaving(&mut self, id: ClientOrderId, chain: &Chain) -> Vec<Broken> {
        let finalized_s = chain.final_block().block.timestamp_s;
        let mut broken = Vec::new();
        for (nonce, signing) in self.sealed.remove(&id).unwrap_or_default() {
            let earlier = self.left.entry(nonce).or_default();
            self.replaced += u64::from(!earlier.is_empty());
            for before in &*earlier {
                let other = before.moves.filter(|_| signing.moves.is_some());
                if let Some((other, until_s)) = other.filter(|(_, until)| *until >= finalized_s) {
                    let detail =
                        format!("nonce {nonce} leaves for {id}, and {other} lives until {until_s}");
                    broken.push((Invariant::NonceShared, detail));
                }
                let is_more = |at: usize| {
                    let least = before.fees[at].saturating_add(before.fees[at].div_ceil(10));
                    signing.fees[at] >= least
                };
                if !is_more(0) || !is_more(1) {
                    let detail = format!(
                        "nonce {nonce} offers {:?} after {:?}, which no node replaces",
                        signing.fees, before.fees
                    );
                    broken.push((Invariant::NotReplacing, detail));
                }
            }
            earlier.push(signing);
        }
        broken
    }

    /// Whether the call that the newest block holds for a nonce came after another transaction in place of one that was
    /// signed with it. A bundle begins at the first nonce that the finalized block has not spent, and its approvals are
    /// those that are missing in that block. What was signed earlier for the same nonces is dead, but has to be in no
    /// block for that: it may be in one that is not final yet, and an approval has no deadline. The bundle's own
    /// transaction of that nonce is then never executed, be it the new approval or what takes an earlier one back.
    pub(crate) fn has_lost_a_nonce(&self, nonce: u64, chain: &Chain) -> bool {
        let mut included = chain.newest().included.iter();
        let call = included.find(|of| of.waiting.transaction.nonce == nonce);
        let bundle = call.and_then(|of| self.bundles.get(&of.waiting.hash));
        // The call is in the chain, and every nonce below its own is spent.
        let is_missing = |name: &Hash32| chain.place(*name).is_none();
        bundle.is_some_and(|names| names.iter().any(is_missing))
    }

    /// A notification about the books.
    pub(crate) fn observe(
        &mut self,
        notification: &Notification,
        chain: &Chain,
        durable: &Durable,
    ) -> Option<Broken> {
        match notification {
            Notification::PoolTransactionSettled(of) => self.settled(of, chain, durable),
            Notification::Balanced => {
                self.compared += 1;
                None
            }
            Notification::Ready { .. } => {
                // Opening balances contain every earlier charge.
                self.next_charge = None;
                None
            }
            Notification::Adopted {
                token,
                amount,
                reason,
            } if *token == COIN => self.charged((*token, *amount), reason, chain),
            _ => None,
        }
    }

    fn settled(
        &mut self,
        of: &PoolTransactionSettlement,
        chain: &Chain,
        durable: &Durable,
    ) -> Option<Broken> {
        let id = of.order;
        if !self.booked.insert(id) || !durable.moves.contains_key(&id) {
            let detail = format!("{id} is booked, and was before");
            return Some((Invariant::BookedTwice, detail));
        }
        let name = self.names.get(&id)?;
        let Some(settled) = chain.settled(*name) else {
            let detail = format!("{id} is booked, and is in no finalized block");
            return Some((Invariant::BookedNotFinal, detail));
        };
        let way = if of.kind == PoolTransactionKind::Join {
            -1
        } else {
            1
        };
        let [first, second] = of.amounts.pooled.map(|amount| way * signed_of(amount));
        let booked = [first, second, -way * signed_of(of.amounts.lp)];
        (booked != settled.moved).then(|| {
            let detail = format!("{id} moved {:?}, and {booked:?} is booked", settled.moved);
            (Invariant::BookedNotFinal, detail)
        })
    }

    fn charged(
        &mut self,
        (token, amount): (TokenId, i128),
        reason: &str,
        chain: &Chain,
    ) -> Option<Broken> {
        let number = reason.strip_prefix("charge ")?.split(' ').next()?;
        let number: u64 = number.parse().ok()?;
        let expected = self.next_charge.replace(number + 1);
        if expected.is_some_and(|expected| expected != number) {
            let detail = format!("charge {number} is booked, and {expected:?} was next");
            return Some((Invariant::BookedTwice, detail));
        }
        let Some(settled) = chain.settled_nonce(number) else {
            let detail = format!("gas of nonce {number} is booked, which no final block has spent");
            return Some((Invariant::BookedNotFinal, detail));
        };
        let receipt = &settled.receipt;
        let cost = u128::from(receipt.gas_used) * receipt.gas_price;
        (amount != -signed_of(cost)).then(|| {
            let detail = format!(
                "nonce {number} cost {cost} of token {}, and {amount} is booked",
                token.0
            );
            (Invariant::BookedNotFinal, detail)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use cambist_evm::transaction::Transaction;
    use cambist_evm::{EthKey, U256};

    use super::*;
    use crate::WorldConfig;
    use crate::chain::{CHAIN_ID, KEY, OWN};
    use crate::config::ChainFaultsConfig;
    use crate::world::World;

    /// Only what is missing of a call's own bundle excuses what the call found.
    #[test]
    fn a_call_has_lost_a_nonce_to_what_was_signed_for_it_before() {
        let config = WorldConfig::calm(1, "ladder").evm_pools();
        let (link, ..) = World::new(config).unwrap().into_chain().unwrap();
        let mut chain = link.chain().clone();
        let nonce = chain.genesis().nonce;
        let signed = |nonce: u64, gas_limit: u64| {
            let empty = Transaction {
                chain_id: CHAIN_ID,
                nonce,
                priority_fee_max: 1,
                fee_max: 100_000_000_000,
                gas_limit,
                to: Some(OWN),
                value: U256::ZERO,
                data: Vec::new(),
            };
            empty.sign(&EthKey::from_hex(KEY).unwrap()).unwrap()
        };
        let (before, own) = (signed(nonce, 30_000), signed(nonce, 40_000));
        let call = signed(nonce + 1, 30_000);
        for sent in [&before, &call] {
            chain.submit(&sent.bytes()).unwrap();
        }
        let next_s = chain.newest().block.timestamp_s + 10;
        chain.advance(next_s, &ChainFaultsConfig::default());
        assert_eq!(chain.newest().state.nonce, nonce + 2);
        let lost = |first: &cambist_evm::transaction::Signed, asked: u64| {
            let bundle = vec![first.hash(), call.hash()];
            let checks = ChainChecks {
                bundles: [(call.hash(), bundle)].into(),
                ..ChainChecks::default()
            };
            checks.has_lost_a_nonce(asked, &chain)
        };
        assert!(lost(&own, nonce + 1));
        assert!(!lost(&before, nonce + 1), "all of it was executed");
        assert!(!lost(&own, nonce), "no call of a bundle");
        let unknown = ChainChecks::default();
        assert!(!unknown.has_lost_a_nonce(nonce + 1, &chain));
    }
}
