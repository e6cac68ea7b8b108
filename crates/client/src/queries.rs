//! The request of each query of the engine: endpoint, parameters, which keys it needs, and whether it asks for a list.

use cambist_core::request::Query;
use cambist_core::{Hash, MarketSpec, PoolSpec};
use cambist_protocol::Endpoint;
use cambist_protocol::query::{
    AccountQuery, BalancesQuery, CancelQuery, DepthQuery, OrderQuery, OrdersQuery,
    PoolBalanceQuery, PoolTransactionsQuery,
};
use cambist_signing::Address;

/// Levels requested for each side of a depth.
const DEPTH_LIMIT: u32 = 50;

/// What the header `X-API-SIG` of a request is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signing {
    /// There is none.
    None,
    /// That of a cancel of this order.
    Cancel(Hash),
    /// That of another request.
    Request,
}

/// A request before keys and signature are added.
pub(crate) struct Call {
    pub endpoint: Endpoint,
    pub query: String,
    pub body: Option<Vec<u8>>,
    pub with_api_key: bool,
    pub signature: Signing,
    /// A signature of the owner's wallet, sent instead of one by the signing key.
    pub wallet_signature: Option<String>,
    pub is_list: bool,
}

/// The account that queries ask about.
#[derive(Clone, Copy)]
pub(crate) struct AccountOfQueries {
    pub id: u32,
    /// Without it the account is found by id.
    pub owner: Option<Address>,
}

/// The request of a query; `None` for a market that is not configured.
pub(crate) fn call_of(
    query: &Query,
    account: AccountOfQueries,
    markets: &[MarketSpec],
    pools: &[PoolSpec],
) -> Option<Call> {
    let account_id = account.id;
    let (text, is_list) = match query {
        Query::Depth(market) => {
            let spec = markets.iter().find(|spec| spec.id == *market)?;
            let query = DepthQuery {
                market: spec.name.clone(),
                level: 0,
                limit: Some(DEPTH_LIMIT),
            };
            (query.write(), false)
        }
        Query::Balances => {
            let query = BalancesQuery {
                account_id,
                tokens: None,
            };
            (query.write(), true)
        }
        Query::Orders(page) => {
            let query = OrdersQuery {
                account_id,
                start: Some(page.from.0),
                end: Some(page.to.0),
                limit: Some(page.limit),
                offset: Some(page.offset),
                statuses: page.statuses(),
                ..OrdersQuery::default()
            };
            (query.write(), true)
        }
        Query::Order(hash) => {
            let query = OrderQuery {
                account_id,
                order_hash: *hash,
            };
            (query.write(), false)
        }
        Query::Cancel(hash) => {
            let query = CancelQuery {
                account_id,
                order_hash: Some(*hash),
                client_order_id: None,
            };
            (query.write(), false)
        }
        // The interface has none.
        Query::Amend(_) => return None,
        Query::Markets | Query::Tokens | Query::Pools => (String::new(), true),
        Query::Account => {
            let of = account
                .owner
                .map_or(AccountQuery::Id(account_id), AccountQuery::Owner);
            (of.write(), false)
        }
        Query::PoolBalance(market) => {
            let spec = pools.iter().find(|spec| spec.market == *market)?;
            let query = PoolBalanceQuery {
                pool_address: Address(spec.address),
            };
            (query.write(), false)
        }
        Query::PoolTransactions(page) => {
            let query = PoolTransactionsQuery {
                account_id: Some(account_id),
                start: Some(page.from.0),
                end: Some(page.to.0),
                limit: Some(page.limit),
                offset: Some(page.offset),
                kinds: Some(Vec::new()),
                ..PoolTransactionsQuery::default()
            };
            (query.write(), true)
        }
    };
    let is_public = match query {
        Query::Depth(_)
        | Query::Markets
        | Query::Tokens
        | Query::Account
        | Query::Pools
        | Query::PoolBalance(_) => true,
        Query::Balances
        | Query::Orders(_)
        | Query::Order(_)
        | Query::Cancel(_)
        | Query::Amend(_)
        | Query::PoolTransactions(_) => false,
    };
    let endpoint = Endpoint::of_engine(query.endpoint())?;
    Some(Call {
        endpoint,
        query: text,
        body: None,
        with_api_key: !is_public,
        signature: match query {
            Query::Cancel(hash) => Signing::Cancel(*hash),
            _ => Signing::None,
        },
        wallet_signature: None,
        is_list,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use cambist_core::request::{OrderList, OrdersPage};
    use cambist_core::{Hash, MarketId, TokenId, TokenSpec, VenueTime};

    use super::*;

    fn token(id: u16) -> TokenSpec {
        TokenSpec {
            id: TokenId(id),
            symbol: format!("T{id}"),
            decimals: 18,
            precision: 6,
            minimum: 1,
            maximum: 1 << 90,
            dust: 0,
            enabled: true,
        }
    }

    fn market(id: u16, name: &str) -> MarketSpec {
        MarketSpec::new(MarketId(id), name, token(2), token(3), 2, true).unwrap()
    }

    fn pool(market: u16, byte: u8) -> PoolSpec {
        PoolSpec {
            market: MarketId(market),
            name: format!("POOL-{market}"),
            address: [byte; 20],
            pooled: [TokenId(2), TokenId(3)],
            lp: token(9),
            joins: true,
            exits: true,
            swaps: true,
            fee_bips: 30,
            in_range: false,
        }
    }

    fn page(list: OrderList) -> OrdersPage {
        OrdersPage {
            list,
            from: VenueTime(1_700_000_000_005),
            to: VenueTime(1_700_000_000_009),
            offset: 150,
            limit: 37,
        }
    }

    const OWNER: Address = Address([0x5a; 20]);

    fn call(query: &Query, owner: Option<Address>) -> Option<Call> {
        let markets = [market(4, "ONE-TWO"), market(7, "SIX-TEN")];
        let pools = [pool(4, 0x11), pool(7, 0x22)];
        call_of(
            query,
            AccountOfQueries { id: 4711, owner },
            &markets,
            &pools,
        )
    }

    /// Every query: parameters, whether a list is asked for, whether the API key and a signature are sent.
    #[test]
    fn every_query_is_one_request() {
        let hash = Hash([0xab; 32]);
        let resting = OrderList::Resting;
        let window = "accountId=4711&end=1700000000009&limit=37&offset=150&start=1700000000005";
        let (private, signed, open) = ((true, false), (true, true), (false, false));
        for (query, parameters, is_list, keys) in [
            (
                Query::Depth(MarketId(7)),
                "level=0&limit=50&market=SIX-TEN".to_owned(),
                false,
                open,
            ),
            (Query::Balances, "accountId=4711".to_owned(), true, private),
            (
                Query::Orders(page(OrderList::All)),
                window.to_owned(),
                true,
                private,
            ),
            (
                Query::Orders(page(resting)),
                format!("{window}&status=processing%2Ccancelling"),
                true,
                private,
            ),
            (
                Query::Order(hash),
                format!("accountId=4711&orderHash={hash}"),
                false,
                private,
            ),
            (
                Query::Cancel(hash),
                format!("accountId=4711&orderHash={hash}"),
                false,
                signed,
            ),
            (Query::Markets, String::new(), true, open),
            (Query::Tokens, String::new(), true, open),
            (Query::Pools, String::new(), true, open),
            (Query::Account, format!("owner={OWNER}"), false, open),
            (
                Query::PoolBalance(MarketId(7)),
                format!("poolAddress={}", Address([0x22; 20])),
                false,
                open,
            ),
            (
                Query::PoolTransactions(page(OrderList::All)),
                window.to_owned(),
                true,
                private,
            ),
        ] {
            let call = call(&query, Some(OWNER)).unwrap();
            assert_eq!(call.query, parameters, "{query:?}");
            assert_eq!(call.is_list, is_list, "{query:?}");
            let with_signature = match (&query, call.signature) {
                (Query::Cancel(hash), signature) => signature == Signing::Cancel(*hash),
                (_, signature) => signature != Signing::None,
            };
            assert_eq!((call.with_api_key, with_signature), keys, "{query:?}");
            assert_eq!(
                call.endpoint,
                Endpoint::of_engine(query.endpoint()).unwrap(),
                "{query:?}"
            );
            assert_eq!(
                (call.body, call.wallet_signature),
                (None, None),
                "{query:?}"
            );
        }
        // An account without a known owner is asked for by its id.
        assert_eq!(call(&Query::Account, None).unwrap().query, "accountId=4711");
    }

    #[test]
    fn what_is_not_configured_is_not_asked_for() {
        for query in [Query::Depth(MarketId(5)), Query::PoolBalance(MarketId(5))] {
            assert!(call(&query, None).is_none(), "{query:?}");
        }
    }
}
