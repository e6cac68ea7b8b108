//! What a venue can be asked: one table of the kinds of requests, each with its name in metrics and logs, whose data its
//! answers are, and what it does. A venue that lacks one is never asked for it; what each costs is in the rules
//! ([`RequestCosts`](crate::venue::RequestCosts)).

use serde::{Deserialize, Serialize};

/// What a request does at the venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Sends a sealed order.
    Order,
    /// Sends a sealed join or exit.
    PoolTransaction,
    /// Cancels.
    Cancel,
    /// Changes an order that rests.
    Amend,
    /// Reads.
    Read,
}

/// Whose data answers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Data {
    /// One account's, so that no cache may give them.
    OfTheAccount,
    /// The same for all accounts.
    Public,
}

macro_rules! endpoints {
    ($($(#[$doc:meta])* $endpoint:ident $name:literal $kind:ident $data:ident)*) => {
        /// Endpoints the engine uses; the key of rate budgets and of metrics.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Endpoint {
            $($(#[$doc])* $endpoint,)*
        }

        impl Endpoint {
            /// Every endpoint, in a fixed order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$endpoint),*];

            /// The label used in metrics and logs.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$endpoint => $name,)*
                }
            }

            /// What a request to it does.
            pub const fn kind(self) -> RequestKind {
                match self {
                    $(Self::$endpoint => RequestKind::$kind,)*
                }
            }

            const fn data(self) -> Data {
                match self {
                    $(Self::$endpoint => Data::$data,)*
                }
            }
        }
    };
}

endpoints! {
    /// POST order.
    Submit "order_submit" Order OfTheAccount
    /// DELETE order.
    Cancel "order_cancel" Cancel OfTheAccount
    /// GET order.
    Order "order_get" Read OfTheAccount
    /// GET orders.
    Orders "orders_list" Read OfTheAccount
    /// GET depth.
    Depth "depth" Read Public
    /// GET balances.
    Balances "balances" Read OfTheAccount
    /// GET markets.
    Markets "markets" Read Public
    /// GET account.
    Account "account" Read OfTheAccount
    /// GET amm/pools.
    Pools "pools" Read Public
    /// GET amm/balance.
    PoolBalance "pool_balance" Read Public
    /// POST amm/join.
    Join "pool_join" PoolTransaction OfTheAccount
    /// POST amm/exit.
    Exit "pool_exit" PoolTransaction OfTheAccount
    /// GET amm/user/transactions.
    PoolTransactions "pool_transactions" Read OfTheAccount
    /// GET tokens.
    Tokens "tokens" Read Public
    /// A change of an order that rests. The exchange interface has none.
    Amend "order_amend" Amend OfTheAccount
}

impl Endpoint {
    /// Whether sealed joins or exits are sent to it.
    pub const fn is_pool_transaction(self) -> bool {
        matches!(self.kind(), RequestKind::PoolTransaction)
    }

    /// Whether its answers concern one account, so that no cache may give them.
    pub const fn is_of_the_account(self) -> bool {
        matches!(self.data(), Data::OfTheAccount)
    }

    /// Whether its answers show what orders traded, so that new trades may cost more (`RequestCosts::new_fills`).
    pub const fn may_report_trades(self) -> bool {
        matches!(self, Self::Order | Self::Orders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_or_cancels_concerns_the_account_and_names_are_distinct() {
        for endpoint in Endpoint::ALL {
            let reads = endpoint.kind() == RequestKind::Read;
            assert!(reads || endpoint.is_of_the_account(), "{endpoint:?}");
        }
        let names = Endpoint::ALL.map(Endpoint::name);
        let distinct: std::collections::BTreeSet<_> = names.into_iter().collect();
        assert_eq!(distinct.len(), names.len());
        let sealed = Endpoint::ALL.into_iter().filter(|endpoint| {
            matches!(
                endpoint.kind(),
                RequestKind::Order | RequestKind::PoolTransaction
            )
        });
        let sealed: Vec<_> = sealed.collect();
        assert_eq!(sealed, [Endpoint::Submit, Endpoint::Join, Endpoint::Exit]);
    }
}
