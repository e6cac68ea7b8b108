//! A venue on a free port with a clock moved by hand, and a client made of a socket and a string.
//!
//! The client is written from the interface text and knows none of our wire types, so that both ends
//! cannot be wrong together. Books are audited after every request; a failure fails the test.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use cambist_core::{Amount, TokenId, TokenSpec, VenueTime};
use cambist_server::{Clock, Handle, Rate, RateLimits, RunError, Server, ServerConfig};
use cambist_signing::{Address, OrderMessage, SecretKey, request_signature};
use cambist_venue::agents::Agents;
use cambist_venue::{
    AccountId, ApiKey, Compat, Limits, MarketConfig, PublicKey, TokenConfig, TokenKind, Venue,
    VenueConfig,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub const BASE: TokenId = TokenId(0);
pub const QUOTE: TokenId = TokenId(1);
pub const EXCHANGE: Address = Address([7; 20]);
/// One whole base token.
pub const ONE: Amount = 1_000_000_000_000_000_000;
/// One whole quote token.
pub const UNIT: Amount = 1_000_000;
/// When tests begin, in seconds.
pub const START_S: u64 = 1_700_000_000;

/// A venue with two listed tokens and one market with cents as ticks.
pub fn venue(compat: Compat) -> Venue {
    let token = |id: TokenId, symbol: &str, decimals, minimum: Amount| TokenConfig {
        spec: TokenSpec {
            id,
            symbol: symbol.to_owned(),
            decimals,
            precision: 6,
            minimum,
            maximum: minimum * 1_000_000,
            dust: minimum / 10,
            enabled: true,
        },
        name: format!("Token {symbol}"),
        address: [u8::try_from(id.0).unwrap(); 20],
        kind: TokenKind::Erc20,
        fast_withdraw_limit: 5 * minimum,
    };
    Venue::new(VenueConfig {
        chain_id: 1,
        exchange: EXCHANGE.0,
        deposit: [8; 20],
        tokens: vec![
            token(BASE, "AAA", 18, ONE / 1_000),
            token(QUOTE, "QQQ", 6, UNIT),
        ],
        markets: vec![MarketConfig {
            name: "AAA-QQQ".to_owned(),
            base: BASE,
            quote: QUOTE,
            price_decimals: 2,
            aggregation_levels: 3,
            enabled: true,
            maker_fee_bips: 2,
            taker_fee_bips: 10,
        }],
        limits: Limits::default(),
        fee_collector: AccountId(0),
        fee_collector_owner: [9; 20],
        first_account: AccountId(10_000),
        compat,
    })
    .unwrap()
}

/// Limits that no test meets by accident.
pub fn generous() -> RateLimits {
    RateLimits {
        key_and_endpoint: Rate::per_s(10_000),
        keyless_and_endpoint: Rate::per_s(10_000),
        address: Rate::per_s(100_000),
        failed_signatures: Rate::per_s(10_000),
        buckets_max: 1_000,
    }
}

pub fn config() -> ServerConfig {
    ServerConfig {
        rates: generous(),
        audit_every_request: true,
        clock: Clock::by_hand(VenueTime::from_s(START_S)),
        ..ServerConfig::new(([127, 0, 0, 1], 0).into())
    }
}

/// A running exchange; ends with the value, and every audit must have passed.
pub struct Exchange {
    pub address: SocketAddr,
    pub handle: Handle,
    pub clock: Clock,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), RunError>>>,
}

impl Exchange {
    pub fn start() -> Self {
        Self::with(&config())
    }

    pub fn with(config: &ServerConfig) -> Self {
        Self::run(config, venue(Compat::Both), Vec::new())
    }

    pub fn run(config: &ServerConfig, venue: Venue, agents: Vec<Agents>) -> Self {
        let server = Server::bind(config, venue, agents).unwrap();
        let (address, handle) = (server.local_addr(), server.handle());
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap()
                .block_on(server.run(async {
                    let _ = stopped.await;
                }))
        });
        Self {
            address,
            handle,
            clock: config.clock.clone(),
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Opens an account with 1,000 base and 1,000,000 quote; the number decides its keys.
    pub fn customer(&self, number: u8) -> Customer {
        let secret = SecretKey::from_hex(&format!("0x{number:x}")).unwrap();
        let key = secret.public();
        let api_key = format!("key-of-{number}");
        let account = self
            .handle
            .create_account(
                [number; 20],
                PublicKey {
                    x: key.x.to_be_bytes(),
                    y: key.y.to_be_bytes(),
                },
                Some(ApiKey(api_key.clone())),
            )
            .unwrap();
        self.handle.deposit(account, BASE, 1_000 * ONE).unwrap();
        self.handle
            .deposit(account, QUOTE, 1_000_000 * UNIT)
            .unwrap();
        Customer {
            account,
            owner: Address([number; 20]),
            secret,
            api_key,
            next_storage_id: 0,
        }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        Connection {
            stream: BufReader::new(stream),
            host: self.address.to_string(),
        }
    }

    /// One request on its own connection.
    pub fn ask(&self, call: &Call) -> Reply {
        self.connect().ask(call)
    }

    /// Ends the server and says how it went.
    pub fn stop(&mut self) -> Result<(), RunError> {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        self.wait()
    }

    /// Waits for the server to end by itself.
    pub fn wait(&mut self) -> Result<(), RunError> {
        self.thread
            .take()
            .map_or(Ok(()), |thread| thread.join().unwrap())
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let ended = self.stop();
        if !std::thread::panicking() {
            assert!(ended.is_ok(), "{ended:?}");
            assert_eq!(self.handle.audit(), Ok(()));
            assert_eq!(self.handle.audit_failures(), 0);
        }
    }
}

/// A request as text.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub method: &'static str,
    pub target: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

impl Call {
    pub fn new(method: &'static str, target: impl Into<String>) -> Self {
        Self {
            method,
            target: target.into(),
            ..Self::default()
        }
    }

    pub fn get(target: impl Into<String>) -> Self {
        Self::new("GET", target)
    }

    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }

    fn bytes(&self, host: &str) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self.headers.iter().any(|(name, _)| *name == "Host") {
            let _ = write!(text, "Host: {host}\r\n");
        }
        for (name, value) in &self.headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        if !self.body.is_empty() {
            let _ = write!(
                text,
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                self.body.len()
            );
        }
        text += "\r\n";
        text += &self.body;
        text.into_bytes()
    }
}

/// An answer, its body as JSON.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    pub text: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body of a success.
    #[track_caller]
    pub fn good(&self) -> &Value {
        assert_eq!(self.status, 200, "{}", self.text);
        assert!(self.body.get("resultInfo").is_none(), "{}", self.text);
        &self.body
    }

    /// The code of a refusal: HTTP 400 and `resultInfo`.
    #[track_caller]
    pub fn code(&self) -> u64 {
        assert_eq!(self.status, 400, "{}", self.text);
        self.any_code()
    }

    /// As `code`, for any HTTP status.
    #[track_caller]
    pub fn any_code(&self) -> u64 {
        let info = &self.body["resultInfo"];
        assert!(info["message"].is_string(), "{}", self.text);
        info["code"].as_u64().unwrap()
    }

    pub fn message(&self) -> &str {
        self.body["resultInfo"]["message"]
            .as_str()
            .unwrap_or_default()
    }
}

/// A connection that is kept open.
pub struct Connection {
    pub stream: BufReader<TcpStream>,
    host: String,
}

impl Connection {
    pub fn ask(&mut self, call: &Call) -> Reply {
        let bytes = call.bytes(&self.host);
        self.send(&bytes);
        self.reply().unwrap()
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// The next answer; `None` when the connection was closed instead.
    pub fn reply(&mut self) -> Option<Reply> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let length = headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map_or(0, |(_, value)| value.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        let text = String::from_utf8(body).unwrap();
        Some(Reply {
            status,
            headers,
            body: serde_json::from_str(&text).unwrap_or(Value::Null),
            text,
        })
    }

    /// Whether the other end has closed; waits for it.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0; 1]), Ok(0) | Err(_))
    }
}

/// Somebody with an account and keys.
pub struct Customer {
    pub account: AccountId,
    pub owner: Address,
    pub secret: SecretKey,
    pub api_key: String,
    next_storage_id: u32,
}

/// Buy or sell, seen from the base token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Want {
    Buy,
    Sell,
}

impl Customer {
    /// An order of whole base tokens at whole cents, in the words and types of the interface text.
    pub fn order(&mut self, want: Want, cents: u128, base: u128) -> Value {
        let storage_id = self.next_storage_id;
        self.next_storage_id += 2;
        let (base_amount, quote_amount) = (base * ONE, base * cents * UNIT / 100);
        let (sell, buy) = match want {
            Want::Buy => ((QUOTE, quote_amount), (BASE, base_amount)),
            Want::Sell => ((BASE, base_amount), (QUOTE, quote_amount)),
        };
        let volume = |(token, amount): (TokenId, Amount)| json!({"tokenId": token.0.to_string(), "volume": amount.to_string()});
        json!({
            "exchange": EXCHANGE.to_string(),
            "accountId": self.account.0,
            "storageId": storage_id,
            "sellToken": volume(sell),
            "buyToken": volume(buy),
            "allOrNone": "false",
            "fillAmountBOrS": if want == Want::Buy { "true" } else { "false" },
            "validUntil": START_S + 3_600,
            "maxFeeBips": 63,
            "clientOrderId": format!("{}-{storage_id}", self.account.0),
            "orderType": "LIMIT_ORDER",
        })
    }

    /// Signs an order as it stands.
    pub fn sign(&self, order: &mut Value) {
        let hash = message(order).hash();
        let signature = self.secret.sign(&hash.message()).unwrap();
        order["eddsaSignature"] = json!(signature.to_hex());
    }

    /// An order, signed and ready to be sent.
    pub fn submit(&mut self, want: Want, cents: u128, base: u128) -> Call {
        let mut order = self.order(want, cents, base);
        self.sign(&mut order);
        self.post_order(&order)
    }

    pub fn post_order(&self, order: &Value) -> Call {
        self.with_key(Call::new("POST", "/api/v3/order").body(order.to_string()))
    }

    pub fn with_key(&self, call: Call) -> Call {
        call.header("X-API-KEY", self.api_key.clone())
    }

    /// GET with the key; `{account}` stands for the account.
    pub fn get(&self, target: &str) -> Call {
        let target = target.replace("{account}", &self.account.0.to_string());
        self.with_key(Call::get(target))
    }

    /// The signature of a canonical text.
    pub fn sign_text(&self, canonical: &str) -> String {
        let message = request_signature::message(canonical);
        self.secret.sign(&message).unwrap().to_hex()
    }

    /// A cancel by hash or client id, signed for plain values.
    pub fn cancel(&self, exchange: &Exchange, name: &str, id: &str) -> Call {
        let query = format!("accountId={}&{name}={id}", self.account.0);
        let params = [
            ("accountId", self.account.0.to_string()),
            (name, id.to_owned()),
        ];
        let params: Vec<_> = params.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let text =
            request_signature::sdk_form("DELETE", &exchange.base_url(), "/api/v3/order", &params);
        let signature = self.sign_text(&text);
        self.with_key(Call::new("DELETE", format!("/api/v3/order?{query}")))
            .header("X-API-SIG", signature)
    }
}

/// What an order signs, read from its JSON in either spelling.
pub fn message(order: &Value) -> OrderMessage {
    let number = |value: &Value| -> u128 {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        text.parse().unwrap()
    };
    let small = |value: &Value| u32::try_from(number(value)).unwrap();
    let token = |name: &str| u16::try_from(number(&order[name]["tokenId"])).unwrap();
    OrderMessage {
        exchange: Address::from_hex(order["exchange"].as_str().unwrap()).unwrap(),
        storage_id: small(&order["storageId"]),
        account_id: small(&order["accountId"]),
        sell_token: token("sellToken"),
        buy_token: token("buyToken"),
        sell_amount: number(&order["sellToken"]["volume"]),
        buy_amount: number(&order["buyToken"]["volume"]),
        valid_until: small(&order["validUntil"]),
        max_fee_bips: u16::try_from(number(&order["maxFeeBips"])).unwrap(),
        fill_by_buy: order["fillAmountBOrS"] == json!("true")
            || order["fillAmountBOrS"] == json!(true),
        taker: Address::ZERO,
    }
}
