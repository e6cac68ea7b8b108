//! The client library against the real exchange: keys, every kind of question, an order's whole life.

use cambist_client::{CallError, ExposeSecret};
use cambist_core::order::{FillBy, OrderReport, UnsignedOrder};
use cambist_core::request::{OrdersPage, Outcome, Query, Reply};
use cambist_core::{
    ClientOrderId, Hash, MarketId, MarketSpec, OrderKind, OrderStatus, Price, Qty, Reason, Side,
    StrategyId, TokenId, TokenSpec, VenueTime,
};
use cambist_protocol::encode::sign_order;
use cambist_protocol::query::AccountQuery;
use cambist_signing::SecretKey;

use crate::support::books::{ACCOUNT, OWNER, asynchronously, client};
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

/// Buys a tenth of a base token far below the market.
fn order(storage_id: u32, now: VenueTime) -> UnsignedOrder {
    UnsignedOrder {
        client_id: ClientOrderId {
            instance: 7,
            strategy: StrategyId(1),
            number: storage_id.into(),
        },
        market: MarketId(0),
        side: Side::Buy,
        price: Price(200_000),
        qty: Qty(1_000),
        kind: OrderKind::MakerOnly,
        sell_token: TokenId(1),
        sell_amount: 200_000_000,
        buy_token: TokenId(0),
        buy_amount: 100_000_000_000_000_000,
        fill_by: FillBy::Buy,
        storage_id,
        valid_until_s: u32::try_from(now.0 / 1_000 + 600).unwrap(),
        max_fee_bips: 63,
        made_at: now,
    }
}

fn stage(name: &str) -> Stage {
    Stage::open(name, |file| {
        // Nobody else trades, so that the book is ours.
        file.put("traders", Vec::<toml::Value>::new());
    })
}

#[test]
fn an_order_lives_and_every_question_is_answered() {
    let stage = stage("client-order");
    asynchronously(async {
        let client = client(&stage.url(), &stage.path("keys"));
        let info = client.exchange_info().await.unwrap();
        assert_eq!(info.chain_id, 1);
        assert_eq!(client.tokens().await.unwrap().len(), 2);
        let listed = client.markets().await.unwrap();
        assert_eq!(listed[0].market, "ETH-USDC");
        let account = client
            .account(AccountQuery::Owner(OWNER.parse().unwrap()))
            .await
            .unwrap();
        assert_eq!(account.account_id, ACCOUNT);
        let by_id = client.account(AccountQuery::Id(ACCOUNT)).await.unwrap();
        assert_eq!(by_id.public_key, account.public_key);
        let ids = client.storage_id(TokenId(1), true).await.unwrap();
        assert_eq!(ids.order_id, 0);

        let markets = markets();
        let ask = async |query: Query| client.query(&query, &markets).await;
        let reply = async |query: Query| match ask(query.clone()).await.outcome {
            Outcome::Reply(reply) => reply,
            other => panic!("{query:?}: {other:?}"),
        };
        let now = ask(Query::Account).await.venue_time.unwrap();
        assert!(matches!(
            reply(Query::Account).await,
            Reply::Account { frozen: false }
        ));
        assert_eq!(
            reply(Query::Markets).await,
            Reply::Markets {
                enabled: vec!["ETH-USDC".to_owned()]
            }
        );

        let Reply::Balances(opening) = reply(Query::Balances).await else { panic!("no balances") };
        let held = opening.iter().find(|balance| balance.token == TokenId(1)).unwrap().total;
        let order = order(0, now);
        let text = std::fs::read_to_string(stage.path("keys/eddsa_key")).unwrap();
        let key = SecretKey::from_hex(text.trim()).unwrap();
        let signed = sign_order(&order, info.exchange_address, ACCOUNT, &key).unwrap();
        let Outcome::Reply(Reply::Submitted { hash, .. }) = client.submit(&signed.body).await.outcome
        else {
            panic!("not taken")
        };
        assert_eq!(hash, signed.hash);
        let first = one(&reply(Query::Order(signed.hash)).await);
        // The same bytes once more make no second order, and what is said proves nothing.
        let Outcome::Refused(reason) = client.submit(&signed.body).await.outcome else {
            panic!("taken twice")
        };
        assert_eq!(reason, Reason::OrderExists);
        assert!(!reason.proves_submit_dead());
        assert_eq!(one(&reply(Query::Order(signed.hash)).await), first);
        assert_eq!(first.client_id, Some(order.client_id));
        assert_eq!(
            (first.side, first.status),
            (Side::Buy, OrderStatus::Processing)
        );
        assert_eq!(
            (first.base_amount, first.quote_amount),
            (order.buy_amount, order.sell_amount)
        );
        let ids = client.storage_id(TokenId(1), true).await.unwrap();
        assert_eq!(ids.order_id, 2);

        let page = OrdersPage {
            from: VenueTime(0),
            to: VenueTime(0),
            offset: 0,
            limit: 50,
        };
        let listed = reply(Query::Orders(page)).await;
        assert_eq!(
            listed,
            Reply::Orders {
                orders: vec![first.clone()],
                total: 1
            }
        );
        let Reply::Depth(depth) = reply(Query::Depth(MarketId(0))).await else {
            panic!("no depth")
        };
        assert_eq!(depth.bids.len(), 1);
        assert_eq!(
            (depth.bids[0].price, depth.bids[0].size),
            (order.price, order.buy_amount)
        );
        let Reply::Balances(balances) = reply(Query::Balances).await else {
            panic!("no balances")
        };
        let quote = balances
            .iter()
            .find(|balance| balance.token == TokenId(1))
            .unwrap();
        assert_eq!(
            (quote.total, quote.locked),
            (held, order.sell_amount)
        );

        let Reply::CancelTaken { .. } = reply(Query::Cancel(signed.hash)).await else {
            panic!("not cancelled")
        };
        let last = one(&reply(Query::Order(signed.hash)).await);
        assert_eq!(last.status, OrderStatus::Cancelled);
        let again = ask(Query::Cancel(signed.hash)).await.outcome;
        assert!(matches!(again, Outcome::Refused(_)), "{again:?}");
        let nobody = ask(Query::Order(Hash([1; 32]))).await.outcome;
        assert!(matches!(nobody, Outcome::Refused(_)), "{nobody:?}");
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
        // Whoever lost the key asks for it with the signing key, the old one in hand or not.
        assert_eq!(
            old.api_key().await.unwrap().expose_secret(),
            made.expose_secret()
        );
    });
    stage.close();
}

fn one(reply: &Reply) -> OrderReport {
    match reply {
        Reply::Order(report) => report.clone(),
        other => panic!("{other:?}"),
    }
}
