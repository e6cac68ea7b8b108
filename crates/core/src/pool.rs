//! Pools: their listing, joins and exits, and the venue's reports about them.
//!
//! A join or an exit is an intent like an order: sealed before it is sent, sent as the same bytes every time, and ended
//! only by evidence. Amounts are in the pool's order of tokens.

use serde::{Deserialize, Serialize};

use crate::market::MarketId;
use crate::order::{ClientOrderId, Hash};
use crate::time::VenueTime;
use crate::token::{Amount, TokenId, TokenSpec};
use crate::venue::Lifetime;

/// A pool beside a market: the same two tokens. A market has at most one.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent permissions and a property, not states of one thing"
)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolSpec {
    /// The market of the same tokens; the pool's price is compared with its mid.
    pub market: MarketId,
    /// The venue's name, which joins and exits sign.
    pub name: String,
    /// Address: 20 bytes that only signer and wire interpret.
    pub address: [u8; 20],
    /// Its two tokens, in the order that requests must keep.
    pub pooled: [TokenId; 2],
    /// Token of the shares.
    pub lp: TokenSpec,
    /// Whether the pool accepts joins.
    pub joins: bool,
    /// Whether the pool accepts exits.
    pub exits: bool,
    /// Whether the pool accepts swaps.
    pub swaps: bool,
    /// Its fee inside the curve, in ten-thousandths of what is sold to it.
    pub fee_bips: u16,
    /// Whether its shares are liquidity in a range of prices. Where the price is outside of the range they are due one of
    /// the tokens only. Otherwise the pool's product is constant, and they are due a part of both.
    pub in_range: bool,
}

/// Direction: join or exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PoolTransactionKind {
    /// Tokens in, shares out.
    Join,
    /// Shares in, tokens out.
    Exit,
}

impl PoolTransactionKind {
    /// Both kinds, for metrics that exist from the start.
    pub const ALL: [Self; 2] = [Self::Join, Self::Exit];

    /// `join` or `exit`, as used in metrics, the store and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Exit => "exit",
        }
    }
}

/// A complete join or exit before hashing and signing. The shell adds owner, pool and domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsignedPoolTransaction {
    /// Our id; numbered like orders, never sent.
    pub client_id: ClientOrderId,
    /// Market of the pool.
    pub market: MarketId,
    /// Join or exit.
    pub kind: PoolTransactionKind,
    /// The pooled tokens in the pool's order.
    pub pooled: [TokenId; 2],
    /// A join pays at most this of each; an exit receives at least this of each, before the fee. Both are 0 for an exit
    /// that collects what is owed.
    pub amounts: [Amount; 2],
    /// Token of the shares.
    pub lp: TokenId,
    /// A join mints at least this; an exit burns exactly this.
    pub lp_amount: Amount,
    /// Odd storage ids, in ascending use: one per pooled token for a join, one of the LP token for an exit. One number in
    /// all where the venue has one row for the account.
    pub storage_ids: Vec<u32>,
    /// Highest fee, in base units of the last pooled token. A join with 0 signs no fee at all.
    pub fee_max: Amount,
    /// Expiry in whole seconds of venue time.
    pub valid_until_s: u32,
    /// Lower bound of the venue's clock when it was made: the venue cannot have created it before.
    pub made_at: VenueTime,
}

impl UnsignedPoolTransaction {
    /// Until when its bytes are accepted. Nothing of it rests.
    pub fn lifetime(&self) -> Lifetime {
        Lifetime::from_s(self.valid_until_s, Some(self.valid_until_s))
    }

    /// The token and the id of every storage slot it uses.
    pub fn slots(&self) -> impl Iterator<Item = (TokenId, u32)> + '_ {
        let tokens = match self.kind {
            PoolTransactionKind::Join => [Some(self.pooled[0]), Some(self.pooled[1])],
            PoolTransactionKind::Exit => [Some(self.lp), None],
        };
        tokens
            .into_iter()
            .flatten()
            .zip(self.storage_ids.iter().copied())
    }

    /// Largest amount of `token` that it pays.
    pub fn reserved(&self, token: TokenId) -> Amount {
        match self.kind {
            PoolTransactionKind::Join => {
                let part = |at: usize| {
                    if self.pooled[at] == token {
                        self.amounts[at]
                    } else {
                        0
                    }
                };
                let fee = if self.pooled[1] == token {
                    self.fee_max
                } else {
                    0
                };
                part(0).saturating_add(part(1)).saturating_add(fee)
            }
            PoolTransactionKind::Exit if self.lp == token => self.lp_amount,
            PoolTransactionKind::Exit => 0,
        }
    }

    /// Whether reported amounts are within the signed limits.
    pub fn allows(&self, moved: &PoolTransactionAmounts) -> bool {
        let is_join = self.kind == PoolTransactionKind::Join;
        self.allows_amounts(moved) && (!is_join || moved.lp >= self.lp_amount)
    }

    /// The same without the least shares of a join, which not every venue compares
    /// ([`VenueRules::compares_shares`](crate::VenueRules::compares_shares)).
    pub fn allows_amounts(&self, moved: &PoolTransactionAmounts) -> bool {
        let within = match self.kind {
            PoolTransactionKind::Join => {
                moved.pooled[0] <= self.amounts[0] && moved.pooled[1] <= self.amounts[1]
            }
            PoolTransactionKind::Exit => {
                moved.pooled[0] >= self.amounts[0]
                    && moved.pooled[1] >= self.amounts[1]
                    && moved.lp == self.lp_amount
            }
        };
        within && moved.fee <= self.fee_max
    }
}

/// Amounts of a settled join or exit, base units in the pool's order of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTransactionAmounts {
    /// Of each pooled token: paid by a join, received by an exit before the fee.
    pub pooled: [Amount; 2],
    /// Minted by a join, burned by an exit.
    pub lp: Amount,
    /// Fee in the last pooled token: added to what a join pays, taken from what an exit receives.
    pub fee: Amount,
}

/// The venue's state of a join or an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PoolTransactionStatus {
    /// Accepted and undecided; also an unknown value.
    Processing,
    /// Completed: its amounts are final.
    Processed,
    /// Failed without changing a balance.
    Cancelled,
}

/// One join or exit as the venue reports it (interface: AmmTransactionDataV3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolTransactionReport {
    /// Its hash.
    pub hash: Hash,
    /// Join or exit.
    pub kind: PoolTransactionKind,
    /// State.
    pub status: PoolTransactionStatus,
    /// Amounts moved; zeros until it is processed.
    pub amounts: PoolTransactionAmounts,
    /// The venue's time of creation.
    pub created: VenueTime,
}

/// What shares of a pool are due, and what its price follows from, in its order of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolBalances {
    /// Base units of each token that `supply` shares are due, rounded down: all that a pool of a constant product holds.
    /// In a range one of them is 0 where the price is outside of it.
    pub pooled: [Amount; 2],
    /// The shares that `pooled` is due to: those in circulation, or some liquidity in a range.
    pub supply: Amount,
    /// Base units of each token that the price and what swaps pay follow from: `pooled` with a constant product, and for
    /// a range the virtual reserves of the same liquidity. Their product changes with `supply` and with fees that stay
    /// in the pool.
    pub reserves: [Amount; 2],
    /// Base units of each token that are owed to our own shares beside what they are due: fees that do not stay in the
    /// pool. An exit pays out all of it, however few shares it burns. `None` where it is unknown, and where fees stay in
    /// the pool.
    pub owed: Option<[Amount; 2]>,
}

impl PoolBalances {
    /// A pool of a constant product, which holds `pooled` for all of its shares.
    pub const fn constant_product(pooled: [Amount; 2], supply: Amount) -> Self {
        Self {
            pooled,
            supply,
            reserves: pooled,
            owed: None,
        }
    }
}

/// Permissions of a pool, as listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolListed {
    /// The market beside it.
    pub market: MarketId,
    /// Accepts joins.
    pub joins: bool,
    /// Accepts exits.
    pub exits: bool,
    /// Accepts swaps.
    pub swaps: bool,
    /// Its fee in ten-thousandths of what is sold to it.
    pub fee_bips: u16,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::order::StrategyId;

    fn join() -> UnsignedPoolTransaction {
        UnsignedPoolTransaction {
            client_id: ClientOrderId {
                instance: 1,
                strategy: StrategyId(0),
                number: 1,
            },
            market: MarketId(0),
            kind: PoolTransactionKind::Join,
            pooled: [TokenId(0), TokenId(1)],
            amounts: [10, 20],
            lp: TokenId(9),
            lp_amount: 5,
            storage_ids: vec![1, 3],
            fee_max: 2,
            valid_until_s: 0,
            made_at: VenueTime(0),
        }
    }

    #[test]
    fn a_join_reserves_both_tokens_and_its_fee_and_an_exit_only_shares() {
        let join = join();
        let of = |token| join.reserved(TokenId(token));
        assert_eq!((of(0), of(1), of(9)), (10, 22, 0));
        let slots: Vec<_> = join.slots().collect();
        assert_eq!(slots, [(TokenId(0), 1), (TokenId(1), 3)]);
        let exit = UnsignedPoolTransaction {
            kind: PoolTransactionKind::Exit,
            storage_ids: vec![7],
            ..join
        };
        let of = |token| exit.reserved(TokenId(token));
        assert_eq!((of(0), of(1), of(9)), (0, 0, 5));
        assert_eq!(exit.slots().collect::<Vec<_>>(), [(TokenId(9), 7)]);
    }

    #[test]
    fn reported_amounts_are_compared_with_every_limit() {
        let join = join();
        let good = PoolTransactionAmounts {
            pooled: [10, 20],
            lp: 5,
            fee: 2,
        };
        assert!(join.allows(&good));
        assert!(!join.allows(&PoolTransactionAmounts {
            pooled: [11, 20],
            ..good
        }));
        assert!(!join.allows(&PoolTransactionAmounts {
            pooled: [10, 21],
            ..good
        }));
        assert!(!join.allows(&PoolTransactionAmounts { lp: 4, ..good }));
        assert!(!join.allows(&PoolTransactionAmounts { fee: 3, ..good }));
        let exit = UnsignedPoolTransaction {
            kind: PoolTransactionKind::Exit,
            ..join
        };
        assert!(exit.allows(&good));
        assert!(!exit.allows(&PoolTransactionAmounts {
            pooled: [9, 20],
            ..good
        }));
        assert!(!exit.allows(&PoolTransactionAmounts {
            pooled: [10, 19],
            ..good
        }));
        assert!(
            !exit.allows(&PoolTransactionAmounts { lp: 6, ..good }),
            "burned is exact"
        );
    }
}
