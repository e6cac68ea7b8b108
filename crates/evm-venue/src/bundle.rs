//! What is sent for one intent: approvals first, the call last, with consecutive nonces.
//!
//! Approvals are exact, so that the router never may take more than the intents that are alive need; therefore they are
//! sealed with the intent that needs them. A nonce that was signed for and that the finalized block has not spent holds
//! back everything above it: a bundle begins at the lowest one and spends all of them, with burns where it has no use for
//! them.

use cambist_core::{Amount, Hash, Intent, PoolTransactionKind, TokenId};

use crate::account::Wanted;
use crate::chain::Chain;
use crate::seal::Sealed;

/// Most transactions of a bundle: what a stored one holds is read back within this.
pub const PARTS_MAX: usize = 64;
/// Most bytes of one transaction.
const PART_BYTES_MAX: usize = 4_096;

/// One transaction of a bundle, and what it was signed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What for.
    pub wanted: Wanted,
    /// The signed transaction.
    pub sealed: Sealed,
}

/// The transactions of one intent, in the order of their nonces. The last one is the intent's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle(Vec<Part>);

impl Bundle {
    /// A bundle; `None` without the transaction of the intent.
    pub(crate) fn new(parts: Vec<Part>) -> Option<Self> {
        let last = parts.last()?;
        let is_intent = matches!(last.wanted, Wanted::Intent(_));
        (is_intent && parts.len() <= PARTS_MAX).then_some(Self(parts))
    }

    /// Its transactions.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// The name of the intent on the chain: the hash of its own transaction.
    pub fn hash(&self) -> Hash {
        let last = self.0.last();
        last.map_or(Hash([0; 32]), |part| part.sealed.hash)
    }

    /// The bytes that are stored and sent: each transaction behind its length (32 bits, the highest byte first).
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in &self.0 {
            let length = u32::try_from(part.sealed.bytes.len()).unwrap_or(u32::MAX);
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(&part.sealed.bytes);
        }
        bytes
    }
}

/// The transactions of stored bytes, in their order; `None` for bytes of another form.
pub fn transactions(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        if length == 0 || length > PART_BYTES_MAX || length > rest.len() || found.len() >= PARTS_MAX
        {
            return None;
        }
        let (transaction, behind) = rest.split_at(length);
        found.push(transaction);
        bytes = behind;
    }
    (!found.is_empty()).then_some(found)
}

/// What the router has to be allowed to take for an intent, at most. Liquidity of a position is no token: it is taken out
/// by the account itself.
pub(crate) fn taken(intent: &Intent, chain: &Chain) -> Vec<(TokenId, Amount)> {
    match intent {
        Intent::Order(of) => vec![(of.sell_token, of.sell_amount)],
        Intent::PoolTransaction(of) => match of.kind {
            PoolTransactionKind::Join => of.pooled.into_iter().zip(of.amounts).collect(),
            PoolTransactionKind::Exit if chain.ranges.contains_key(&of.market) => Vec::new(),
            PoolTransactionKind::Exit => vec![(of.lp, of.lp_amount)],
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::fees::Fees;
    use crate::seal::tests::{FEES, exit, join, swap};
    use cambist_core::MarketId;

    fn part(wanted: Wanted, bytes: &[u8]) -> Part {
        Part {
            wanted,
            sealed: Sealed {
                hash: Hash([bytes[0]; 32]),
                nonce: 7,
                fees: Fees { ..FEES },
                gas_limit: 21_000,
                bytes: bytes.to_vec(),
            },
        }
    }

    #[test]
    fn stored_bytes_are_taken_apart_again() {
        let of_intent = Wanted::Intent(Intent::Order(swap()));
        let parts = vec![part(Wanted::Burn, &[1, 2]), part(of_intent, &[3])];
        let bundle = Bundle::new(parts.clone()).unwrap();
        assert_eq!(bundle.hash(), Hash([3; 32]), "the intent's own");
        let bytes = bundle.bytes();
        assert_eq!(transactions(&bytes), Some(vec![&[1, 2][..], &[3][..]]));
        for cut in 1..bytes.len() {
            let found = transactions(&bytes[..cut]);
            assert!(found.is_none_or(|found| found.len() == 1), "{cut}");
        }
        for wrong in [&[][..], &[0; 4], &[0, 0, 0, 2, 9], &[0xff; 5_000]] {
            assert_eq!(transactions(wrong), None, "{wrong:?}");
        }
        assert_eq!(Bundle::new(Vec::new()), None);
        assert_eq!(Bundle::new(parts[..1].to_vec()), None, "no intent");
        assert_eq!(Bundle::new(vec![parts[1].clone(); 65]), None);
        let most = Bundle::new(vec![parts[1].clone(); 64]).unwrap();
        let read = transactions(&most.bytes()).map(|each| each.len());
        assert_eq!(read, Some(64));
        let long = |length: u16| [&[0, 0][..], &length.to_be_bytes(), &[1; 4_097]].concat();
        assert!(transactions(&long(4_096)[..4_100]).is_some());
        assert_eq!(transactions(&long(4_097)), None);
    }

    #[test]
    fn what_is_allowed_is_what_the_call_may_take() {
        let (joins, leaves) = (join(), exit());
        let [first, second] = joins.pooled;
        let chain = crate::chain::tests::chain();
        let of = |intent| taken(&intent, &chain);
        assert_eq!(
            of(Intent::PoolTransaction(joins)),
            [(first, 100), (second, 301)]
        );
        let shares = leaves.lp;
        assert_eq!(of(Intent::PoolTransaction(leaves)), [(shares, 95)]);
        assert_eq!(of(Intent::Order(swap())), [(first, 50)]);
        // Liquidity is taken out by the account itself.
        let mut ranged = chain.clone();
        ranged
            .ranges
            .insert(MarketId(0), crate::range::tests::range_of(-60, 60));
        assert_eq!(taken(&Intent::PoolTransaction(exit()), &ranged), []);
        let joins = taken(&Intent::PoolTransaction(join()), &ranged);
        assert_eq!(joins, [(first, 100), (second, 301)]);
    }
}
