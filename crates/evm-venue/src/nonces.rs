//! The row of nonces: what was signed for each, what became of it by the finalized block, and which one to burn.
//!
//! Several transactions may be signed for one nonce: an intent, a later one that took the number again, a burn. At most
//! one of them is ever mined.

use std::collections::BTreeMap;

use cambist_core::{ClientOrderId, Hash};
use cambist_evm::block::Block;
use cambist_evm::receipt::Receipt;

use crate::fees::{CapReached, Fees};

/// Most transactions that are signed for one nonce. Each offers a tenth more than the one before it, so that the last one
/// offers four hundred times the first: the cap of fees, which an operator can raise, comes before it.
const PER_NONCE_MAX: usize = 64;

/// What a transaction was signed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A join, an exit or a swap, which reverts behind its deadline.
    Intent {
        /// The engine's name.
        id: ClientOrderId,
        /// Last second of a block's time in which it moves anything.
        deadline_s: u64,
    },
    /// An approval, which has no deadline.
    Approval,
    /// Nothing: the nonce is to be spent.
    Burn,
}

/// One signed transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub hash: Hash,
    /// What it offers for gas.
    pub fees: Fees,
    /// Most gas that it may use.
    pub gas_limit: u64,
    /// What for.
    pub purpose: Purpose,
}

/// What became of a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Not spent in the finalized block: any of its transactions may still be mined.
    Open,
    /// Spent by this one. All others of the nonce are dead.
    Ours(Candidate),
    /// Spent by a transaction that is not here: another holder of the key. Nothing may be signed until an operator
    /// decides.
    Foreign,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NonceError {
    /// Answers of a node that exclude each other: they are of different moments. They are asked for again.
    #[error("the node's answers exclude each other")]
    Contradiction,
    /// A receipt was not asked for.
    #[error("the receipt of a transaction of this nonce is missing")]
    Missing,
    /// A node would not replace the transactions of this nonce by one of these fees.
    #[error("the fees do not replace those of the nonce")]
    Underpriced,
    /// The nonce has too many transactions.
    #[error("too many transactions of one nonce")]
    TooMany,
    /// Replacing costs more than allowed.
    #[error(transparent)]
    Cap(#[from] CapReached),
}

/// What was signed, by nonce.
#[derive(Clone, Debug, Default)]
pub struct Nonces(BTreeMap<u64, Vec<Candidate>>);

impl Nonces {
    /// Adds what was sealed, before it is sent. The same bytes again change nothing.
    ///
    /// # Errors
    /// [`NonceError::Underpriced`], [`NonceError::TooMany`].
    pub fn add(&mut self, nonce: u64, candidate: Candidate) -> Result<(), NonceError> {
        let of = self.0.entry(nonce).or_default();
        if of.iter().any(|known| known.hash == candidate.hash) {
            return Ok(());
        }
        if of.len() >= PER_NONCE_MAX {
            return Err(NonceError::TooMany);
        }
        if !of.iter().all(|known| candidate.fees.replaces(known.fees)) {
            return Err(NonceError::Underpriced);
        }
        of.push(candidate);
        Ok(())
    }

    /// What was signed for a nonce.
    pub fn of(&self, nonce: u64) -> &[Candidate] {
        self.0.get(&nonce).map_or(&[], Vec::as_slice)
    }

    /// The fees of the next transaction of a nonce.
    ///
    /// # Errors
    /// [`NonceError::Cap`].
    pub fn fees(&self, nonce: u64, market: Fees, cap: u128) -> Result<Fees, NonceError> {
        let earlier = self.of(nonce).iter().map(|of| of.fees);
        Ok(Fees::replacement(market, earlier, cap)?)
    }

    /// What became of a nonce. `spent_below` is the account's nonce in the finalized block; `receipts` are the answers
    /// for every transaction of the nonce, asked for after it.
    ///
    /// # Errors
    /// [`NonceError::Contradiction`], [`NonceError::Missing`].
    pub fn fate(
        &self,
        nonce: u64,
        finalized: &Block,
        spent_below: u64,
        receipts: &[(Hash, Option<Receipt>)],
    ) -> Result<Fate, NonceError> {
        let mut mined = Vec::new();
        for candidate in self.of(nonce) {
            let answer = receipts.iter().find(|(hash, _)| *hash == candidate.hash);
            let (_, receipt) = answer.ok_or(NonceError::Missing)?;
            if let Some(receipt) = receipt {
                let is_final = receipt.block_number <= finalized.number;
                mined.push((*candidate, is_final));
            }
        }
        match (nonce < spent_below, mined.as_slice()) {
            (false, [] | [(_, false)]) => Ok(Fate::Open),
            (true, [(candidate, true)]) => Ok(Fate::Ours(*candidate)),
            (true, []) => Ok(Fate::Foreign),
            _ => Err(NonceError::Contradiction),
        }
    }

    /// The nonce that has to be burnt, if there is one: the lowest that is not spent, when the finalized block has
    /// passed the deadlines of all of its intents. What was signed for it can move nothing any more, and holds back
    /// what comes after it. Approvals have no deadline and are replaced, not burnt.
    pub fn to_burn(&self, finalized: &Block, spent_below: u64) -> Option<u64> {
        let (nonce, of) = self.0.range(spent_below..).next()?;
        let is_lapsed = |candidate: &Candidate| match candidate.purpose {
            Purpose::Intent { deadline_s, .. } => deadline_s < finalized.timestamp_s,
            Purpose::Approval | Purpose::Burn => false,
        };
        (*nonce == spent_below && of.iter().all(is_lapsed)).then_some(*nonce)
    }

    /// The lowest number with which nothing was signed.
    pub fn next(&self, spent_below: u64) -> u64 {
        let signed = self.0.last_key_value().map_or(0, |(nonce, _)| nonce + 1);
        signed.max(spent_below)
    }

    /// Whether a transaction of this hash is kept.
    pub fn knows(&self, hash: Hash) -> bool {
        let all = self.0.values().flatten();
        all.into_iter().any(|of| of.hash == hash)
    }

    /// Forgets nonces that are settled.
    pub fn forget_below(&mut self, nonce: u64) {
        self.0 = self.0.split_off(&nonce);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::finality::tests::block;
    use crate::seal::tests::client_id;
    use cambist_evm::{Address, Hash32};

    fn candidate(name: u8, fee: u128, purpose: Purpose) -> Candidate {
        Candidate {
            hash: Hash([name; 32]),
            fees: Fees {
                priority_max: fee,
                max: fee,
            },
            gas_limit: 21_000,
            purpose,
        }
    }

    fn intent(name: u8, fee: u128) -> Candidate {
        let purpose = Purpose::Intent {
            id: client_id(),
            deadline_s: 1_040,
        };
        candidate(name, fee, purpose)
    }

    fn receipt(name: u8, number: u8) -> Receipt {
        Receipt {
            transaction: Hash32([name; 32]),
            block_number: number.into(),
            block_hash: block(number, 0).hash,
            from: Address::ZERO,
            to: None,
            created: None,
            succeeded: true,
            gas_used: 1,
            gas_price: 1,
            logs: Vec::new(),
        }
    }

    fn answers(of: &[(u8, Option<u8>)]) -> Vec<(Hash, Option<Receipt>)> {
        let answer = |(name, number): &(u8, Option<u8>)| {
            (Hash([*name; 32]), number.map(|at| receipt(*name, at)))
        };
        of.iter().map(answer).collect()
    }

    #[test]
    fn a_nonce_is_spent_by_one_transaction_at_finality() {
        let mut nonces = Nonces::default();
        nonces.add(7, intent(1, 10)).unwrap();
        nonces.add(7, candidate(2, 11, Purpose::Burn)).unwrap();
        // Finalized is block 5.
        let fate = |spent_below, of: &[(u8, Option<u8>)]| {
            nonces.fate(7, &block(5, 0), spent_below, &answers(of))
        };
        assert_eq!(fate(7, &[(1, None), (2, None)]), Ok(Fate::Open));
        assert_eq!(
            fate(7, &[(1, Some(6)), (2, None)]),
            Ok(Fate::Open),
            "mined, not final"
        );
        assert_eq!(
            fate(8, &[(1, Some(5)), (2, None)]),
            Ok(Fate::Ours(intent(1, 10)))
        );
        let burnt = candidate(2, 11, Purpose::Burn);
        assert_eq!(fate(8, &[(1, None), (2, Some(4))]), Ok(Fate::Ours(burnt)));
        assert_eq!(fate(8, &[(1, None), (2, None)]), Ok(Fate::Foreign));
        for (spent_below, of) in [
            (7, [(1, Some(5)), (2, None)]),
            (8, [(1, Some(6)), (2, None)]),
            (8, [(1, Some(5)), (2, Some(5))]),
            (7, [(1, Some(6)), (2, Some(6))]),
        ] {
            assert_eq!(fate(spent_below, &of), Err(NonceError::Contradiction));
        }
        assert_eq!(fate(8, &[(1, Some(5))]), Err(NonceError::Missing));
        let foreign = nonces.fate(3, &block(5, 0), 8, &[]);
        assert_eq!(foreign, Ok(Fate::Foreign), "nothing was signed for it here");
    }

    #[test]
    fn a_nonce_is_burnt_when_everything_signed_for_it_can_only_revert() {
        let mut nonces = Nonces::default();
        assert_eq!(
            nonces.to_burn(&block(9, 0), 7),
            None,
            "nothing holds anything back"
        );
        nonces.add(7, intent(1, 10)).unwrap();
        nonces.add(8, intent(2, 10)).unwrap();
        // Block 4 is of second 1,040, and a block of that second is in time.
        assert_eq!(nonces.to_burn(&block(4, 0), 7), None);
        assert_eq!(nonces.to_burn(&block(5, 0), 7), Some(7));
        assert_eq!(nonces.to_burn(&block(5, 0), 8), Some(8));
        assert_eq!(
            nonces.to_burn(&block(5, 0), 6),
            None,
            "6 is for others to spend"
        );
        let fees = nonces.fees(7, intent(0, 1).fees, 11).unwrap();
        let burn = Candidate {
            fees,
            ..candidate(3, 0, Purpose::Burn)
        };
        nonces.add(7, burn).unwrap();
        assert_eq!(nonces.to_burn(&block(9, 0), 7), None, "once");
        assert!(nonces.fees(7, fees, 11).is_err(), "the cap");
        assert_eq!((nonces.next(7), nonces.next(12)), (9, 12));
        nonces.forget_below(8);
        assert!(nonces.of(7).is_empty() && nonces.of(8).len() == 1);
        let mut approvals = Nonces::default();
        approvals
            .add(7, candidate(1, 10, Purpose::Approval))
            .unwrap();
        assert_eq!(approvals.to_burn(&block(9, 0), 7), None);
    }

    #[test]
    fn what_no_node_would_take_is_not_added() {
        let mut nonces = Nonces::default();
        nonces.add(7, intent(1, 10)).unwrap();
        assert_eq!(nonces.add(7, intent(1, 10)), Ok(()), "the same bytes");
        assert_eq!(nonces.add(7, intent(2, 10)), Err(NonceError::Underpriced));
        let mut fee = 10_u128;
        for name in 2..=64 {
            fee = fee + fee.div_ceil(10);
            nonces.add(7, intent(name, fee)).unwrap();
        }
        assert_eq!(nonces.of(7).len(), PER_NONCE_MAX);
        assert_eq!(nonces.add(7, intent(65, fee * 2)), Err(NonceError::TooMany));
    }
}
