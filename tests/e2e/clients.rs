//! The client library against the real exchange: keys, every kind of query, the life cycle of an order.

use cambist_client::{CallError, Client, ExposeSecret};
use cambist_core::order::OrderReport;
use cambist_core::request::{OrderList, OrdersPage, Outcome, Query, Reply};
use cambist_core::venue::Refusal;
use cambist_core::{
    Hash, MarketId, MarketSpec, OrderStatus, Reason, Side, TokenId, TokenSpec, VenueTime,
};
use cambist_protocol::encode::sign_order;
use cambist_protocol::query::AccountQuery;
use cambist_signing::SecretKey;

use crate::support::books::{ACCOUNT, OWNER, asynchronously, client};
use crate::support::handmade::order;
use crate::support::{Edit, Stage};

/// The exchange's market as the client needs it.
fn markets() -> Vec<MarketSpec> {
    let token = |id, symbol: &str, decimals| TokenSpec {
        id: TokenId(id),
        symbol: symbol.to_owned(),
        decimals,
        precision: 6,
        minimum: 1,
        maximum: u128::from(u64::MAX),
        dust: 1,
        enabled: true,
    };
    let (base, quote) = (token(0, "ETH", 18), token(1, "USDC", 6));
    vec![MarketSpec::new(MarketId(0), "ETH-USDC", base, quote, 2, true).unwrap()]
}

fn stage(name: &str) -> Stage {
    Stage::open(name, |file| {
        // Without other traders, the book contains only own orders.
        file.put("traders", Vec::<toml::Value>::new());
    })
}

async fn reply(client: &Client, query: Query) -> Reply {
    match client.query(&query, &markets()).await.outcome {
        Outcome::Reply(reply) => reply,
        other => panic!("{query:?}: {other:?}"),
    }
}

async fn report(client: &Client, hash: Hash) -> OrderReport {
    match reply(client, Query::Order(hash)).await {
        Reply::Order(report) => report,
        other => panic!("{other:?}"),
    }
}

/// Total and locked amount of the quote token.
async fn quote_balance(client: &Client) -> (u128, u128) {
    let Reply::Balances(balances) = reply(client, Query::Balances).await else {
        panic!("no list")
    };
    let quote = balances
        .iter()
        .find(|balance| balance.token == TokenId(1))
        .unwrap();
    (quote.total, quote.locked)
}

#[test]
fn public_queries_are_answered() {
    let stage = stage("client-public");
    asynchronously(async {
        let client = client(&stage.url(), &stage.path("keys"));
        assert_eq!(client.exchange_info().await.unwrap().chain_id, 1);
        assert_eq!(
            client.tokens().await.unwrap().len(),
            3,
            "and the share of the pool"
        );
        assert_eq!(client.markets().await.unwrap()[0].market, "ETH-USDC");
        let owner = AccountQuery::Owner(OWNER.parse().unwrap());
        let account = client.account(owner).await.unwrap();
        assert_eq!(account.account_id, ACCOUNT);
        let by_id = client.account(AccountQuery::Id(ACCOUNT)).await.unwrap();
        assert_eq!(by_id.public_key, account.public_key);
        assert_eq!(
            reply(&client, Query::Account).await,
            Reply::Account { frozen: false }
        );
        let listed = match reply(&client, Query::Markets).await {
            Reply::Markets { listed } => listed,
            other => panic!("{other:?}"),
        };
        assert_eq!(listed.len(), 1);
        assert_eq!(
            (listed[0].name.as_str(), listed[0].enabled),
            ("ETH-USDC", true)
        );
        let page = OrdersPage {
            from: VenueTime(0),
            to: VenueTime(0),
            offset: 0,
            limit: 50,
            list: OrderList::All,
        };
        let listed = reply(&client, Query::Orders(page)).await;
        assert_eq!(
            listed,
            Reply::Orders {
                orders: vec![],
                total: 0
            }
        );
        let Reply::Depth(depth) = reply(&client, Query::Depth(MarketId(0))).await else {
            panic!("no depth")
        };
        assert!(depth.bids.is_empty() && depth.asks.is_empty());
        let without_account = client
            .query(&Query::Order(Hash([1; 32])), &markets())
            .await
            .outcome;
        assert!(
            matches!(without_account, Outcome::Refused(_)),
            "{without_account:?}"
        );
    });
    stage.close();
}

#[test]
fn an_order_lives_and_is_seen_everywhere() {
    let stage = stage("client-order");
    asynchronously(async {
        let client = client(&stage.url(), &stage.path("keys"));
        let now = client
            .query(&Query::Account, &markets())
            .await
            .venue_time
            .unwrap();
        let (held, _) = quote_balance(&client).await;
        assert_eq!(
            client.storage_id(TokenId(1), true).await.unwrap().order_id,
            0
        );
        let order = order(0, now);
        let text = std::fs::read_to_string(stage.path("keys/eddsa_key")).unwrap();
        let key = SecretKey::from_hex(text.trim()).unwrap();
        let exchange = client.exchange_info().await.unwrap().exchange_address;
        let signed = sign_order(&order, exchange, ACCOUNT, &[], &key).unwrap();
        let taken = client.submit(&signed.body).await.outcome;
        let Outcome::Reply(Reply::Submitted { hash, .. }) = taken else {
            panic!("{taken:?}")
        };
        assert_eq!(hash, signed.hash);

        let first = report(&client, hash).await;
        assert_eq!(first.client_id, Some(order.client_id));
        assert_eq!(
            (first.side, first.status),
            (Side::Buy, OrderStatus::Processing)
        );
        let amounts = (first.base_amount, first.quote_amount);
        assert_eq!(amounts, (order.buy_amount, order.sell_amount));
        // The same bytes make no second order, and a refusal proves nothing.
        match client.submit(&signed.body).await.outcome {
            Outcome::Refused(reason) => {
                assert_eq!(reason, Reason::OrderExists);
                assert!(reason.refusal() != Refusal::KillsBytes);
            }
            Outcome::Reply(Reply::Submitted {
                hash, idempotent, ..
            }) => {
                assert_eq!((hash, idempotent), (signed.hash, true));
            }
            other => panic!("{other:?}"),
        }
        let page = OrdersPage {
            from: VenueTime(0),
            to: VenueTime(0),
            offset: 0,
            limit: 50,
            list: OrderList::All,
        };
        let listed = reply(&client, Query::Orders(page)).await;
        assert_eq!(
            listed,
            Reply::Orders {
                orders: vec![first],
                total: 1
            }
        );
        assert_eq!(
            client.storage_id(TokenId(1), true).await.unwrap().order_id,
            2
        );
        let Reply::Depth(depth) = reply(&client, Query::Depth(MarketId(0))).await else {
            panic!("no depth")
        };
        assert_eq!(depth.bids.len(), 1);
        assert_eq!(
            (depth.bids[0].price, depth.bids[0].size),
            (order.price, order.buy_amount)
        );
        assert_eq!(quote_balance(&client).await, (held, order.sell_amount));

        let cancelled = reply(&client, Query::Cancel(hash)).await;
        assert!(
            matches!(cancelled, Reply::CancelTaken { .. }),
            "{cancelled:?}"
        );
        assert_eq!(report(&client, hash).await.status, OrderStatus::Cancelled);
        assert_eq!(quote_balance(&client).await, (held, 0));
        let again = client.query(&Query::Cancel(hash), &markets()).await.outcome;
        assert!(matches!(again, Outcome::Refused(_)), "{again:?}");
    });
    assert_eq!(stage.books().open(), 0);
    stage.close();
}

#[test]
fn a_new_key_replaces_the_old_one() {
    let stage = stage("client-key");
    asynchronously(async {
        let old = client(&stage.url(), &stage.path("keys"));
        let fetched = old.api_key().await.unwrap();
        let written = std::fs::read_to_string(stage.path("keys/api_key")).unwrap();
        assert_eq!(fetched.expose_secret(), written.trim());

        let made = old.rotate_api_key().await.unwrap();
        assert_ne!(made.expose_secret(), fetched.expose_secret());
        let refused = old.storage_id(TokenId(0), true).await.unwrap_err();
        let CallError::Refused { reason, .. } = refused else {
            panic!("{refused}")
        };
        assert_eq!(reason, Reason::InvalidApiKey);
        let new = old.with_api_key(&made).unwrap();
        new.storage_id(TokenId(0), true).await.unwrap();
        // A lost API key is fetched with the signing key, with or without the old one.
        assert_eq!(
            old.api_key().await.unwrap().expose_secret(),
            made.expose_secret()
        );
    });
    stage.close();
}
