//! The exchange with Kraken's interface on a free port, its clock moved by hand, and clients of two accounts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use cambist_client::{Answered, ApiKey, ClientConfig, KrakenClient, KrakenKeys, SecretString};
use cambist_core::order::{FillBy, OrderReport, UnsignedOrder};
use cambist_core::request::{OrderList, OrdersPage, Outcome, Query, Reply};
use cambist_core::{
    Amount, ClientOrderId, Hash, MarketId, MarketSpec, OrderKind, Price, Qty, Side, StrategyId,
    TokenId, TokenSpec, VenueTime,
};
use cambist_kraken::sign::Secret;
use cambist_kraken_venue::nonce::NonceBlocks;
use cambist_kraken_venue::seal::{SealedOrder, seal};
use cambist_kraken_venue::{Listing, NonceError, NonceSource};
use cambist_server::{
    Clock, InProcess, KrakenConfig, KrakenKey, Permission, Rate, RateLimits, RunError, Server,
    ServerConfig, Tier,
};
use cambist_venue::{
    AccountId, Limits, MarketConfig, PublicKey, TokenConfig, TokenKind, Venue, VenueConfig,
};
use tokio::sync::oneshot;

/// When tests begin, in seconds.
pub const START_S: u64 = 1_700_000_000;
pub const BASE: TokenId = TokenId(0);
pub const QUOTE: TokenId = TokenId(1);
/// One whole base token, and one whole quote token.
pub const ONE: Amount = 1_000_000_000_000_000_000;
pub const UNIT: Amount = 1_000_000;
/// What accounts usually begin with, in whole tokens.
pub const HELD: [Amount; 2] = [1_000, 1_000_000];

/// Nonces in memory, from a first one on.
#[derive(Debug)]
pub struct Nonces(Mutex<NonceBlocks>);

impl Nonces {
    pub fn from(first: u64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(NonceBlocks::new(first, 0))))
    }
}

impl NonceSource for Nonces {
    fn next(&self) -> Result<u64, NonceError> {
        self.0.lock().unwrap().next(0, |_| Ok(()))
    }
}

/// Nonces that keep the calls of their key.
#[derive(Debug)]
pub struct Counting(pub Arc<Nonces>, pub Mutex<Vec<u32>>);

impl Counting {
    pub fn from(first: u64) -> Arc<Self> {
        Arc::new(Self(Nonces::from(first), Mutex::default()))
    }
}

impl NonceSource for Counting {
    fn next(&self) -> Result<u64, NonceError> {
        self.0.next()
    }

    fn adds_calls(&self, calls: u32) {
        self.1.lock().unwrap().push(calls);
    }
}

/// What the key of orders may do, and what the one of the account may.
const ORDERS: [Permission; 2] = [Permission::OrdersModify, Permission::FundsQuery];
const ACCOUNT: [Permission; 5] = [
    Permission::FundsQuery,
    Permission::OrdersQueryOpen,
    Permission::OrdersQueryClosed,
    Permission::OrdersCancel,
    Permission::LedgerQuery,
];

/// The settings of one test.
pub struct Settings {
    pub list_lag_ms: u64,
    pub tier: Tier,
    pub more_keys: Vec<KrakenKey>,
    /// What each account begins with, in whole tokens.
    pub held: [Amount; 2],
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            list_lag_ms: 0,
            tier: Tier::Pro,
            more_keys: Vec::new(),
            held: HELD,
        }
    }
}

/// A secret that follows from the name of its key.
fn secret(name: &str) -> Secret {
    let bytes = name.bytes().cycle().take(64).collect();
    Secret::from_bytes(bytes).unwrap()
}

pub fn server_key(name: &str, account: u32, permissions: &[Permission], window: u64) -> KrakenKey {
    KrakenKey {
        api_key: name.to_owned(),
        secret: secret(name),
        account: AccountId(account),
        permissions: permissions.iter().copied().collect(),
        nonce_window: window,
    }
}

pub fn client_key(name: &str) -> ApiKey {
    let text = secret(name).to_text().to_string();
    ApiKey::new(&SecretString::from(name), &SecretString::from(text)).unwrap()
}

fn venue() -> Venue {
    let token = |id: TokenId, symbol: &str, decimals, minimum: Amount| TokenConfig {
        spec: TokenSpec {
            id,
            symbol: symbol.to_owned(),
            decimals,
            precision: 6,
            minimum,
            maximum: minimum * 1_000_000_000,
            dust: 0,
            enabled: true,
        },
        name: format!("Token {symbol}"),
        address: [u8::try_from(id.0).unwrap(); 20],
        kind: TokenKind::Erc20,
        fast_withdraw_limit: 5 * minimum,
    };
    Venue::new(VenueConfig {
        chain_id: 1,
        exchange: [7; 20],
        deposit: [8; 20],
        tokens: vec![
            token(BASE, "BTC", 18, ONE / 1_000),
            token(QUOTE, "USD", 6, UNIT),
        ],
        markets: vec![MarketConfig {
            name: "BTC-USD".to_owned(),
            base: BASE,
            quote: QUOTE,
            price_decimals: 2,
            aggregation_levels: 3,
            enabled: true,
            maker_fee_bips: 16,
            taker_fee_bips: 26,
            price_band: None,
            fee_in: cambist_core::venue::FeeToken::Quote,
        }],
        limits: Limits::default(),
        fee_collector: AccountId(0),
        fee_collector_owner: [9; 20],
        first_account: AccountId(10_000),
        ..VenueConfig::default()
    })
    .unwrap()
}

/// A running exchange with two accounts. At its end every audit of its books must have passed.
pub struct Exchange {
    pub url: String,
    pub handle: InProcess,
    pub clock: Clock,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), RunError>>>,
}

impl Exchange {
    pub fn start(settings: Settings) -> Self {
        let mut keys = settings.more_keys;
        for account in [10_000, 10_001] {
            keys.push(server_key(
                &format!("orders-{account}"),
                account,
                &ORDERS,
                0,
            ));
            keys.push(server_key(
                &format!("account-{account}"),
                account,
                &ACCOUNT,
                0,
            ));
        }
        let many = Rate::per_s(100_000);
        let config = ServerConfig {
            rates: RateLimits {
                key_and_endpoint: many,
                keyless_and_endpoint: many,
                address: many,
                market_data: many,
                failed_signatures: many,
                buckets_max: 1_000,
            },
            audit_every_request: true,
            clock: Clock::by_hand(VenueTime::from_s(START_S)),
            kraken: Some(KrakenConfig {
                keys,
                tier: settings.tier,
                list_lag_ms: settings.list_lag_ms,
            }),
            ..ServerConfig::new(([127, 0, 0, 1], 0).into())
        };
        let server = Server::bind(&config, venue(), Vec::new()).unwrap();
        let (url, handle) = (format!("http://{}", server.local_addr()), server.handle());
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(server.run(async {
                let _ = stopped.await;
            }))
        });
        for number in 1..=2 {
            let key = cambist_signing::SecretKey::from_hex(&format!("0x{number}")).unwrap();
            let key = key.public();
            let key = PublicKey {
                x: key.x.to_be_bytes(),
                y: key.y.to_be_bytes(),
            };
            let account = handle.create_account([number; 20], key, None).unwrap();
            handle
                .deposit(account, BASE, settings.held[0] * ONE)
                .unwrap();
            handle
                .deposit(account, QUOTE, settings.held[1] * UNIT)
                .unwrap();
        }
        Self {
            url,
            handle,
            clock: config.clock,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// A client of an account with both of its keys, behind this address.
    pub async fn trader_at(&self, url: &str, account: u32) -> Trader {
        let nonces: [Arc<dyn NonceSource>; 2] = [Nonces::from(1_000), Nonces::from(1_000)];
        let keys = KrakenKeys {
            orders: Some(client_key(&format!("orders-{account}"))),
            account: client_key(&format!("account-{account}")),
        };
        let shared = nonces.clone();
        let client = KrakenClient::new(&ClientConfig::new(url), Some(keys), nonces).unwrap();
        Trader::new(client, shared, account).await
    }

    pub async fn trader(&self, account: u32) -> Trader {
        self.trader_at(&self.url, account).await
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(|thread| thread.join().unwrap());
        if !std::thread::panicking() {
            assert!(ended.is_some_and(|ended| ended.is_ok()));
            assert_eq!(self.handle.audit(), Ok(()));
            assert_eq!(self.handle.audit_failures(), 0);
        }
    }
}

/// An account as its client trades it.
pub struct Trader {
    pub client: KrakenClient,
    pub market: MarketSpec,
    pub nonces: Arc<dyn NonceSource>,
    /// Of the key of the account: each of its requests takes one.
    pub account_nonces: Arc<dyn NonceSource>,
    pub account: AccountId,
    number: Mutex<u64>,
}

impl Trader {
    async fn new(
        client: KrakenClient,
        [nonces, account_nonces]: [Arc<dyn NonceSource>; 2],
        account: u32,
    ) -> Self {
        let listing = Arc::new(listing(&client).await);
        let market = listing.market(MarketId(0), "XBT-USD").unwrap();
        Self {
            client: client.with_listing(listing),
            market,
            nonces,
            account_nonces,
            account: AccountId(account),
            number: Mutex::new(0),
        }
    }

    /// An order of so many ten-thousandths of base at a price in cents, accepted for 10 s and resting for 30 s.
    pub fn order(
        &self,
        exchange: &Exchange,
        kind: OrderKind,
        side: Side,
        price: u64,
        qty: u64,
    ) -> UnsignedOrder {
        let number = {
            let mut number = self.number.lock().unwrap();
            *number += 1;
            *number
        };
        let (price, qty) = (Price(price), Qty(qty));
        let base = self.market.base_amount(qty).unwrap();
        let quote = self.market.quote_amount(price, qty).unwrap();
        let (sell_amount, buy_amount, fill_by) = match side {
            Side::Buy => (quote, base, FillBy::Buy),
            Side::Sell => (base, quote, FillBy::Sell),
        };
        let now_s = u32::try_from(exchange.clock.now().as_s()).unwrap();
        UnsignedOrder {
            client_id: ClientOrderId {
                instance: self.account.0,
                strategy: StrategyId(1),
                number,
            },
            market: self.market.id,
            side,
            price,
            qty,
            kind,
            swap: None,
            sell_token: self.market.sell_token(side),
            sell_amount,
            buy_token: self.market.buy_token(side),
            buy_amount,
            fill_by,
            slot: u32::try_from(number).unwrap(),
            accepted_until_s: now_s + 10,
            rests_until_s: Some(now_s + 30),
            max_fee_bips: 40,
            made_at: exchange.clock.now(),
        }
    }

    pub fn seal(&self, order: &UnsignedOrder) -> SealedOrder {
        let nonce = self.nonces.next().unwrap();
        seal(order, self.client.listing(), &self.market, nonce).unwrap()
    }

    /// Submits an order that the venue takes.
    #[track_caller]
    pub fn place<'a>(
        &'a self,
        exchange: &Exchange,
        kind: OrderKind,
        side: Side,
        price: u64,
        qty: u64,
    ) -> impl Future<Output = Hash> + use<'a> {
        let sealed = self.seal(&self.order(exchange, kind, side, price, qty));
        async move {
            let answered = self.client.submit(&sealed.body).await;
            let Outcome::Reply(Reply::Submitted { hash, .. }) = answered.outcome else {
                panic!("{answered:?}");
            };
            assert_eq!(hash, sealed.key);
            hash
        }
    }

    pub async fn ask(&self, query: Query) -> Answered {
        self.client
            .query(&query, std::slice::from_ref(&self.market))
            .await
    }

    pub async fn reply(&self, query: Query) -> Reply {
        let answered = self.ask(query).await;
        match answered.outcome {
            Outcome::Reply(reply) => reply,
            _ => panic!("{answered:?}"),
        }
    }

    pub async fn report(&self, key: Hash) -> OrderReport {
        match self.reply(Query::Order(key)).await {
            Reply::Order(report) => report,
            other => panic!("{other:?}"),
        }
    }

    pub async fn page(
        &self,
        list: OrderList,
        from_s: u64,
        offset: u32,
    ) -> (Vec<OrderReport>, Option<u32>) {
        let page = page(list, from_s, offset);
        match self.reply(Query::Orders(page)).await {
            Reply::OrdersUntil { orders, next } => (orders, next),
            other => panic!("{other:?}"),
        }
    }

    /// What the exchange's own books hold: total and locked, base and quote.
    pub fn held(&self, exchange: &Exchange) -> [(Amount, Amount); 2] {
        [BASE, QUOTE].map(|token| {
            let balance = exchange.handle.balance(self.account, token).unwrap();
            (balance.total, balance.locked)
        })
    }

    /// The same as the client reads it.
    pub async fn balances(&self) -> [(Amount, Amount); 2] {
        let Reply::Balances(held) = self.reply(Query::Balances).await else {
            panic!("balances were asked for");
        };
        [self.market.base.id, self.market.quote.id].map(|token| {
            let mut of_token = held.iter().filter(|balance| balance.token == token);
            let balance = of_token.next().unwrap();
            (balance.total, balance.locked)
        })
    }
}

pub fn page(list: OrderList, from_s: u64, offset: u32) -> OrdersPage {
    OrdersPage {
        list,
        from: VenueTime::from_s(from_s),
        to: VenueTime(0),
        offset,
        limit: 50,
    }
}

/// The listing as a start makes it: pairs by name, the assets of these, numbers given in the order of their names.
pub async fn listing(client: &KrakenClient) -> Listing {
    let pairs = client.asset_pairs(&["XBT-USD".to_owned()]).await.unwrap();
    let assets = client.assets().await.unwrap();
    let names = pairs.iter().flat_map(|pair| [&pair.base, &pair.quote]);
    let ids: BTreeMap<_, _> = names.cloned().zip((40..).map(TokenId)).collect();
    Listing::new(&assets, &pairs, &ids).unwrap()
}
