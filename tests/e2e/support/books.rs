//! The exchange's books for one account, read with the account's keys: the reference for the fate of every order. It
//! uses nothing from the daemon.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use cambist_client::{CallError, Client, ClientConfig, Credentials, SecretString};
use cambist_core::order::OrderReport;
use cambist_core::pool::PoolTransactionReport;
use cambist_core::request::{OrderList, OrdersPage, Outcome, Query, Reply};
use cambist_core::{Reason, TokenId, VenueTime};
use cambist_protocol::wire::Token;
use cambist_signing::SecretKey;

/// Account and owner of the example files.
pub const ACCOUNT: u32 = 10_000;
pub const OWNER: &str = "0x0c3b2ad6af0cce04fd1e9f4c1bbf6a4bb9a1e010";

/// Time limit of all requests here.
const WAIT_MAX: Duration = Duration::from_secs(55);

/// Page size.
const PAGE: u32 = 500;

pub struct Books {
    /// Every order of the account, whatever became of it.
    pub orders: Vec<OrderReport>,
    /// Totals by token symbol, base units.
    pub totals: BTreeMap<String, u128>,
}

impl Books {
    pub fn ask(base_url: &str, keys: &Path) -> Self {
        asynchronously(async {
            let client = client(base_url, keys);
            let mut orders = Vec::new();
            loop {
                let offset = u32::try_from(orders.len()).unwrap();
                let (from, to) = (VenueTime(0), VenueTime(0));
                let page = OrdersPage {
                    from,
                    to,
                    offset,
                    limit: PAGE,
                    list: OrderList::All,
                };
                let Reply::Orders {
                    orders: page,
                    total,
                } = reply(&client, &Query::Orders(page)).await
                else {
                    panic!("no orders");
                };
                assert!(
                    total < 5_000,
                    "the exchange keeps no more, so that proofs would have holes"
                );
                let last = page.is_empty();
                orders.extend(page);
                if last || orders.len() >= total as usize {
                    break;
                }
            }
            let Reply::Balances(balances) = reply(&client, &Query::Balances).await else {
                panic!("no balances")
            };
            let tokens = tokens(&client).await;
            let symbol = |id: TokenId| {
                tokens
                    .iter()
                    .find(|token| token.token_id == id)
                    .unwrap()
                    .symbol
                    .clone()
            };
            let totals = balances
                .iter()
                .map(|b| (symbol(b.token), b.total))
                .collect();
            Self { orders, totals }
        })
    }

    /// Orders that may still fill.
    pub fn open(&self) -> usize {
        self.orders
            .iter()
            .filter(|order| !order.status.is_final())
            .count()
    }

    /// The last summary in a daemon's output must contain exactly these totals. There are several if an earlier run had
    /// ended before it could be killed.
    #[track_caller]
    pub fn assert_ledger(&self, output: &str) {
        let values = serde_json::Deserializer::from_str(output).into_iter::<serde_json::Value>();
        let summary = values.last().unwrap().unwrap();
        let inventory = summary["inventory"].as_object().unwrap();
        let ledger: BTreeMap<String, u128> = inventory
            .iter()
            .map(|(token, units)| (token.clone(), units.as_str().unwrap().parse().unwrap()))
            .collect();
        assert_eq!(
            ledger, self.totals,
            "ledger (left) and the exchange's books (right)"
        );
    }
}

/// Every join and exit of the account.
pub fn moves(base_url: &str, keys: &Path) -> Vec<PoolTransactionReport> {
    asynchronously(async {
        let page = OrdersPage {
            from: VenueTime(0),
            to: VenueTime(0),
            offset: 0,
            limit: PAGE,
            list: OrderList::All,
        };
        match reply(&client(base_url, keys), &Query::PoolTransactions(page)).await {
            Reply::PoolTransactions { moves, .. } => moves,
            other => panic!("{other:?}"),
        }
    })
}

/// A client of the account whose key files are in `keys`.
pub fn client(base_url: &str, keys: &Path) -> Client {
    let read = |name: &str| {
        std::fs::read_to_string(keys.join(name))
            .unwrap()
            .trim()
            .to_owned()
    };
    let key = SecretKey::from_hex(&read("eddsa_key")).unwrap();
    let api_key = SecretString::from(read("api_key"));
    let owner = OWNER.parse().unwrap();
    let credentials = Credentials::new(ACCOUNT, Some(owner), Some(api_key), key);
    let config = ClientConfig {
        timeout_ms: 20_000,
        ..ClientConfig::new(base_url)
    };
    Client::new(&config, Some(credentials)).unwrap()
}

/// The answer to a query, repeated while this machine is rate limited.
async fn reply(client: &Client, query: &Query) -> Reply {
    for _ in 0..100 {
        match client.query(query, &[]).await.outcome {
            Outcome::Reply(reply) => return reply,
            Outcome::Refused(Reason::RateLimited) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            other => panic!("{query:?}: {other:?}"),
        }
    }
    panic!("{query:?}: too many requests for ever")
}

async fn tokens(client: &Client) -> Vec<Token> {
    for _ in 0..100 {
        match client.tokens().await {
            Err(CallError::Refused {
                reason: Reason::RateLimited,
                ..
            }) => tokio::time::sleep(Duration::from_millis(50)).await,
            answered => return answered.unwrap(),
        }
    }
    panic!("tokens: too many requests for ever")
}

/// Runs a future to its end, which must come in time.
pub fn asynchronously<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime
        .block_on(async { tokio::time::timeout(WAIT_MAX, future).await })
        .unwrap()
}
