//! Every pair of endpoint and status code in the interface, provoked over HTTP with both settings of `compat`. Codes
//! that never occur are injected, with the reason stated here.

use std::collections::BTreeSet;

use cambist_core::Reason;
use cambist_protocol::endpoint::TABLE;
use cambist_protocol::{Endpoint, code};
use cambist_signing::{Address, PublicKey, SecretKey, request_signature};
use cambist_venue::{Compat, ExchangeMode, Fault, FeeSchedule, Operator, PoolStatus, RequestKind};
use serde_json::{Value, json};

use crate::support::trader::{LP, POOL, Trader, list_pool};
use crate::support::{Call, Exchange, ONE, QUOTE, Reply, START_S, UNIT, Want, config, venue};

/// An exchange with a pool, fees of 5 quote units for every service, and three clients.
pub struct World {
    pub exchange: Exchange,
    alice: Trader,
    bob: Trader,
    strict: bool,
}

/// How a pair is provoked.
enum How {
    /// By a request.
    Asked(fn(&mut World) -> Reply),
    /// By an injected fault, because it never occurs; with the reason.
    Injected(&'static str),
}
use How::{Asked, Injected};

/// Why 100000 is injected.
const FAILURE: &str = "only when the exchange itself fails";

impl World {
    pub fn new(compat: Compat) -> Self {
        let mut config = config();
        config.require_api_key_signature = true;
        let exchange = Exchange::run(&config, venue(compat), Vec::new());
        list_pool(&exchange);
        let fee = cambist_core::sorted_map::SortedMap::from([(QUOTE, 5)]);
        let fees = FeeSchedule {
            transfer: fee.clone(),
            withdrawal: fee.clone(),
            update: fee,
            ..FeeSchedule::default()
        };
        let inputs = [Operator::SetServiceFees(Box::new(fees))];
        for input in inputs {
            exchange.handle.operate(input).unwrap();
        }
        let mut alice = Trader::new(&exchange, 1);
        let bob = Trader::new(&exchange, 2);
        let join = alice.join(10 * ONE, 20_000 * UNIT);
        exchange.ask(&alice.post("amm/join", &join)).good();
        Self {
            exchange,
            alice,
            bob,
            strict: compat == Compat::Strict,
        }
    }

    fn operate(&self, input: Operator) {
        self.exchange.handle.operate(input).unwrap();
    }

    /// The answer to a request while the exchange is in a mode.
    fn in_mode(&self, mode: ExchangeMode, call: &Call) -> Reply {
        self.operate(Operator::SetMode(mode));
        let reply = self.exchange.ask(call);
        self.operate(Operator::SetMode(ExchangeMode::Open));
        reply
    }

    /// An order with a field changed before it is signed.
    fn order(&mut self, change: impl FnOnce(&mut Value)) -> Reply {
        let customer = &mut self.alice.customer;
        let mut order = customer.order(Want::Buy, 100_000, 1);
        change(&mut order);
        customer.sign(&mut order);
        self.exchange.ask(&customer.post_order(&order))
    }

    /// A submission with a field changed before it is signed.
    fn post(&self, path: &str, mut body: Value, change: impl FnOnce(&mut Value)) -> Reply {
        change(&mut body);
        self.exchange.ask(&self.alice.post(path, &body))
    }

    /// A valid request of an endpoint, for injected answers.
    pub fn good(&mut self, endpoint: Endpoint) -> (RequestKind, Call) {
        let hash = format!("0x{:064x}", 1);
        let payee = self.bob.customer.owner;
        let alice = &mut self.alice;
        let get = |target: &str| alice.customer.get(target);
        match endpoint {
            Endpoint::SubmitOrder => {
                let call = alice.customer.submit(Want::Buy, 100_000, 1);
                (RequestKind::Submit, call)
            }
            Endpoint::GetOrder => (
                RequestKind::Order,
                get(&format!(
                    "/api/v3/order?accountId={{account}}&orderHash={hash}"
                )),
            ),
            Endpoint::CancelOrder => {
                let call = alice.customer.cancel(&self.exchange, "orderHash", &hash);
                (RequestKind::Cancel, call)
            }
            Endpoint::ListOrders => (
                RequestKind::Orders,
                get("/api/v3/orders?accountId={account}"),
            ),
            Endpoint::Depth => (
                RequestKind::Depth,
                get("/api/v3/depth?market=AAA-QQQ&level=0"),
            ),
            Endpoint::Transfer => {
                let body = alice.transfer(payee);
                (RequestKind::Transfer, alice.post("transfer", &body))
            }
            Endpoint::Withdraw => {
                let body = alice.withdrawal();
                (RequestKind::Withdraw, alice.post("user/withdrawals", &body))
            }
            Endpoint::UpdateAccount => {
                let body = alice.update(&new_key(), 1);
                (RequestKind::UpdateKey, alice.post("account", &body))
            }
            Endpoint::GetAccount => {
                let target = format!("/api/v3/account?owner={payee}");
                (RequestKind::Account, get(&target))
            }
            Endpoint::ReplaceApiKey => (RequestKind::RotateApiKey, replace_key(self)),
            Endpoint::Balances => {
                let target = "/api/v3/user/balances?accountId={account}";
                (RequestKind::Balances, get(target))
            }
            Endpoint::ExchangeInfo => (RequestKind::ExchangeInfo, get("/api/v3/exchange/info")),
            Endpoint::Tokens => (RequestKind::Tokens, get("/api/v3/exchange/tokens")),
            Endpoint::Markets => (RequestKind::Markets, get("/api/v3/exchange/markets")),
            Endpoint::Pools => (RequestKind::Pools, get("/api/v3/amm/pools")),
            Endpoint::PoolBalance => {
                let target = format!("/api/v3/amm/balance?poolAddress={POOL}");
                (RequestKind::PoolBalance, get(&target))
            }
            Endpoint::JoinPool => {
                let body = alice.join(ONE, 2_000 * UNIT);
                (RequestKind::Join, alice.post("amm/join", &body))
            }
            Endpoint::ExitPool => {
                let body = alice.exit(1_000);
                (RequestKind::Exit, alice.post("amm/exit", &body))
            }
            Endpoint::PoolTransactions => (
                RequestKind::PoolTransactions,
                get("/api/v3/amm/user/transactions"),
            ),
            Endpoint::GetApiKey
            | Endpoint::StorageId
            | Endpoint::Timestamp
            | Endpoint::OffchainFee => panic!("outside the interface"),
        }
    }
}

fn new_key() -> PublicKey {
    SecretKey::from_hex("0x99").unwrap().public()
}

/// POST apiKey, signed.
fn replace_key(world: &World) -> Call {
    let body = json!({"accountId": world.alice.customer.account.0}).to_string();
    let text = request_signature::sdk_body_form(
        "POST",
        &world.exchange.base_url(),
        "/api/v3/apiKey",
        &body,
    );
    let signature = world.alice.customer.sign_text(&text);
    let call = Call::new("POST", "/api/v3/apiKey").body(body);
    world
        .alice
        .customer
        .with_key(call)
        .header("X-API-SIG", signature)
}

/// A valid request without its API key, or with another.
fn with_key(world: &mut World, endpoint: Endpoint, key: Option<&str>) -> Reply {
    let (_, mut call) = world.good(endpoint);
    call.headers.retain(|(name, _)| *name != "X-API-KEY");
    if let Some(key) = key {
        call = call.header("X-API-KEY", key);
    }
    world.exchange.ask(&call)
}

fn keyed(endpoint: Endpoint, number: u32) -> How {
    macro_rules! cases {
        ($($name:ident),*) => {
            match (endpoint, number) {
                $(
                    (Endpoint::$name, 104_001) => Asked(|w| with_key(w, Endpoint::$name, None)),
                    (Endpoint::$name, 104_002) => Asked(|w| with_key(w, Endpoint::$name, Some("x"))),
                    (Endpoint::$name, 104_003) => {
                        Asked(|w| with_key(w, Endpoint::$name, Some("key-of-2")))
                    }
                )*
                _ => panic!("{endpoint:?} {number}"),
            }
        };
    }
    cases!(
        SubmitOrder,
        GetOrder,
        CancelOrder,
        ListOrders,
        ReplaceApiKey,
        Balances
    )
}

fn order(number: u32) -> How {
    match number {
        100_000 => Injected(FAILURE),
        102_001 => Asked(|w| w.order(|o| o["exchange"] = json!(POOL.to_string()))),
        102_002 => Asked(|w| w.order(|o| o["sellToken"]["tokenId"] = json!("9"))),
        102_003 => Asked(|w| w.order(|o| o["accountId"] = json!(77))),
        102_004 => Asked(|w| {
            w.order(|o| o["storageId"] = json!(5 * 16_384 + 8_000))
                .good();
            w.order(|o| o["storageId"] = json!(8_000))
        }),
        102_005 => Asked(|w| w.order(|o| o["buyToken"]["tokenId"] = json!(LP.0.to_string()))),
        102_006 => Asked(|w| w.order(|o| o["maxFeeBips"] = json!(64))),
        102_007 => Asked(|w| {
            let call = w.alice.customer.submit(Want::Buy, 100_000, 1);
            w.exchange.ask(&call).good();
            w.exchange.ask(&call)
        }),
        102_008 => Asked(|w| w.order(|o| o["validUntil"] = json!(START_S))),
        102_010 => Asked(|w| {
            let order = w.alice.customer.order(Want::Buy, 100_000, 1);
            w.exchange.ask(&w.alice.customer.post_order(&order))
        }),
        102_011 => Asked(|w| {
            let call = w.bob.customer.submit(Want::Buy, 90_000, 900);
            w.exchange.ask(&call).good();
            let call = w.bob.customer.submit(Want::Buy, 90_000, 900);
            w.exchange.ask(&call)
        }),
        102_012 => Asked(|w| w.order(|o| o["buyToken"]["volume"] = json!("1000000"))),
        102_014 => Injected("balance and book are one: locking never fails for a while"),
        102_020 => {
            Asked(|w| w.order(|o| o["buyToken"]["volume"] = json!((2_000 * ONE).to_string())))
        }
        102_027 => Asked(|w| {
            let call = w.alice.customer.submit(Want::Buy, 100_000, 1);
            w.in_mode(ExchangeMode::Halted, &call)
        }),
        102_120 => Asked(|w| w.order(|o| o["allOrNone"] = json!("true"))),
        104_004 => Injected("a missing signature is 102010, which is more specific"),
        104_005 => Asked(|w| {
            let mut order = w.alice.customer.order(Want::Buy, 100_000, 1);
            w.bob.customer.sign(&mut order);
            w.exchange.ask(&w.alice.customer.post_order(&order))
        }),
        other => keyed(Endpoint::SubmitOrder, other),
    }
}

fn reading(endpoint: Endpoint, number: u32) -> How {
    match (endpoint, number) {
        (_, 100_000) => Injected(FAILURE),
        (Endpoint::GetOrder, 107_001) => Asked(|w| {
            w.exchange
                .ask(&w.alice.customer.get("/api/v3/order?orderHash=0x1"))
        }),
        (Endpoint::GetOrder, 107_002) => Asked(|w| {
            w.exchange
                .ask(&w.alice.customer.get("/api/v3/order?accountId={account}"))
        }),
        (Endpoint::GetOrder, 107_003) => Asked(|w| {
            let (_, call) = w.good(Endpoint::GetOrder);
            w.exchange.ask(&call)
        }),
        (Endpoint::CancelOrder, 102_117) => Asked(|w| {
            let (_, call) = w.good(Endpoint::CancelOrder);
            w.exchange.ask(&call)
        }),
        (Endpoint::CancelOrder, 102_118) => Asked(|w| {
            let taken = w.order(|_| ());
            let hash = taken.good()["hash"].as_str().unwrap().to_owned();
            let call = w.alice.customer.cancel(&w.exchange, "orderHash", &hash);
            w.in_mode(ExchangeMode::Halted, &call)
        }),
        (Endpoint::ListOrders, 107_001) => {
            Asked(|w| w.exchange.ask(&w.alice.customer.get("/api/v3/orders")))
        }
        (Endpoint::PoolTransactions, 107_001) => Asked(|w| {
            let target = "/api/v3/amm/user/transactions?accountId=";
            w.exchange.ask(&w.alice.customer.get(target))
        }),
        (Endpoint::PoolTransactions, 104_003) => Asked(|w| {
            let target = "/api/v3/amm/user/transactions?accountId=1";
            w.exchange.ask(&w.alice.customer.get(target))
        }),
        (Endpoint::PoolTransactions, 104_001) => {
            Asked(|w| with_key(w, Endpoint::PoolTransactions, None))
        }
        (Endpoint::PoolTransactions, 104_002) => {
            Asked(|w| with_key(w, Endpoint::PoolTransactions, Some("x")))
        }
        (Endpoint::Depth, 108_000) => Asked(|w| {
            w.exchange
                .ask(&w.alice.customer.get("/api/v3/depth?market=A-B&level=0"))
        }),
        (Endpoint::Depth, 108_001) => Asked(|w| {
            w.exchange
                .ask(&w.alice.customer.get("/api/v3/depth?market=AAA-QQQ&level=9"))
        }),
        (Endpoint::GetAccount, 101_001) => Asked(|w| {
            let target = format!("/api/v3/account?owner={}", Address::ZERO);
            w.exchange.ask(&w.alice.customer.get(&target))
        }),
        (Endpoint::GetAccount, 101_002) => Asked(|w| {
            let target = format!("/api/v3/account?owner={}", Address([5; 20]));
            w.exchange.ask(&w.alice.customer.get(&target))
        }),
        (Endpoint::ReplaceApiKey, 101_002) => Asked(|w| w.api_key(r#"{"accountId":77}"#)),
        (Endpoint::ReplaceApiKey, 100_001) => Asked(|w| w.api_key(r#"{"accountId":"me"}"#)),
        (Endpoint::ReplaceApiKey, 104_004) => Asked(|w| {
            let body = json!({"accountId": w.alice.customer.account.0}).to_string();
            w.api_key(&body)
        }),
        (Endpoint::ReplaceApiKey, 104_005) => Asked(|w| {
            let mut call = replace_key(w);
            call.headers.retain(|(name, _)| *name != "X-API-SIG");
            let signed = w.bob.customer.sign_text("something else");
            w.exchange.ask(&call.header("X-API-SIG", signed))
        }),
        (_, other) => keyed(endpoint, other),
    }
}

impl World {
    fn api_key(&self, body: &str) -> Reply {
        let call = Call::new("POST", "/api/v3/apiKey").body(body);
        self.exchange.ask(&self.alice.customer.with_key(call))
    }
}

fn transfer(number: u32) -> How {
    match number {
        100_000 => Asked(|w| {
            let (_, call) = w.good(Endpoint::Transfer);
            w.in_mode(ExchangeMode::Halted, &call)
        }),
        102_001 => Asked(|w| w.transfer(|b| b["exchange"] = json!(POOL.to_string()))),
        102_021 => Asked(|w| {
            w.transfer(|b| b["storageId"] = json!(9_001)).good();
            w.transfer(|b| b["storageId"] = json!(9_001))
        }),
        102_022 => Asked(|w| w.transfer(|b| b["payerAddr"] = json!(POOL.to_string()))),
        102_023 => Asked(|w| w.transfer(|b| b["payeeAddr"] = json!(Address::ZERO.to_string()))),
        102_024 => Asked(|w| w.transfer(|b| b["maxFee"]["tokenId"] = json!("0"))),
        102_025 => Asked(|w| w.transfer(|b| b["maxFee"]["volume"] = json!("4"))),
        other => panic!("{other}"),
    }
}

fn withdrawal(number: u32) -> How {
    match number {
        100_000 => Asked(|w| {
            let (_, call) = w.good(Endpoint::Withdraw);
            w.in_mode(ExchangeMode::Halted, &call)
        }),
        102_001 => Asked(|w| w.withdraw(|b| b["exchange"] = json!(POOL.to_string()))),
        102_021 => Asked(|w| {
            w.withdraw(|b| b["storageId"] = json!(9_003)).good();
            w.withdraw(|b| b["storageId"] = json!(9_003))
        }),
        102_022 => Asked(|w| w.withdraw(|b| b["owner"] = json!(POOL.to_string()))),
        102_023 => Asked(|w| w.withdraw(|b| b["to"] = json!(Address::ZERO.to_string()))),
        102_024 => Asked(|w| w.withdraw(|b| b["maxFee"]["tokenId"] = json!("0"))),
        102_025 => Asked(|w| w.withdraw(|b| b["maxFee"]["volume"] = json!("4"))),
        other => panic!("{other}"),
    }
}

fn update(number: u32) -> How {
    match number {
        100_000 => Asked(|w| {
            let (_, call) = w.good(Endpoint::UpdateAccount);
            w.in_mode(ExchangeMode::Halted, &call)
        }),
        102_001 => Asked(|w| w.update(|b| b["exchange"] = json!(POOL.to_string()))),
        102_021 => Asked(|w| w.update(|b| b["nonce"] = json!(0))),
        102_022 => Asked(|w| w.update(|b| b["owner"] = json!(POOL.to_string()))),
        102_023 => Asked(|w| w.update(|b| b["publicKey"]["x"] = json!("0x2"))),
        102_024 => Asked(|w| w.update(|b| b["maxFee"]["tokenId"] = json!("0"))),
        102_025 => Asked(|w| w.update(|b| b["maxFee"]["volume"] = json!("4"))),
        other => panic!("{other}"),
    }
}

fn join(number: u32) -> How {
    match number {
        100_000 => Injected(FAILURE),
        102_001 => Asked(|w| w.join(|b| b["poolAddress"] = json!(Address([1; 20]).to_string()))),
        102_021 => Asked(|w| {
            w.join(|b| b["storageIds"] = json!("9005,9005")).good();
            w.join(|b| b["storageIds"] = json!("9005,9005"))
        }),
        102_022 => Asked(|w| w.join(|b| b["owner"] = json!(POOL.to_string()))),
        102_023 => Asked(|w| w.with_pool(PoolStatus::EXIT, |w| w.join(|_| ()))),
        102_024 => Asked(|w| w.join(|b| b["fee"] = json!({"tokenId": 0, "volume": "0"}))),
        102_025 => {
            Asked(|w| w.join(|b| b["joinTokens"]["pooled"].as_array_mut().unwrap().reverse()))
        }
        other => panic!("{other}"),
    }
}

fn exit(number: u32) -> How {
    match number {
        100_000 => Injected(FAILURE),
        102_001 => Asked(|w| w.exit(|b| b["poolAddress"] = json!(Address([1; 20]).to_string()))),
        102_021 => Asked(|w| {
            w.exit(|b| b["storageId"] = json!(9_007)).good();
            w.exit(|b| b["storageId"] = json!(9_007))
        }),
        102_022 => Asked(|w| w.exit(|b| b["owner"] = json!(POOL.to_string()))),
        102_023 => Asked(|w| w.with_pool(PoolStatus::JOIN, |w| w.exit(|_| ()))),
        102_024 => Asked(|w| w.exit(|b| b["maxFee"] = json!({"tokenId": 0, "volume": "0"}))),
        102_025 => Asked(|w| {
            w.exit(|b| {
                b["exitTokens"]["unPooled"]
                    .as_array_mut()
                    .unwrap()
                    .reverse();
            })
        }),
        other => panic!("{other}"),
    }
}

impl World {
    fn transfer(&mut self, change: impl FnOnce(&mut Value)) -> Reply {
        let body = self.alice.transfer(self.bob.customer.owner);
        self.post("transfer", body, change)
    }

    fn withdraw(&mut self, change: impl FnOnce(&mut Value)) -> Reply {
        let body = self.alice.withdrawal();
        self.post("user/withdrawals", body, change)
    }

    fn update(&mut self, change: impl FnOnce(&mut Value)) -> Reply {
        let body = self.alice.update(&new_key(), 1);
        self.post("account", body, change)
    }

    fn join(&mut self, change: impl FnOnce(&mut Value)) -> Reply {
        let body = self.alice.join(ONE, 2_000 * UNIT);
        self.post("amm/join", body, change)
    }

    fn exit(&mut self, change: impl FnOnce(&mut Value)) -> Reply {
        let body = self.alice.exit(1_000);
        self.post("amm/exit", body, change)
    }

    fn with_pool(&mut self, status: u8, ask: impl FnOnce(&mut Self) -> Reply) -> Reply {
        let set = |status| Operator::SetPool {
            pool: POOL.0,
            status,
            fee_bips: 20,
            join_fee: 0,
            exit_fee: 0,
        };
        self.operate(set(PoolStatus(status)));
        let reply = ask(self);
        self.operate(set(PoolStatus::OPEN));
        reply
    }
}

fn how(endpoint: Endpoint, number: u32) -> How {
    match endpoint {
        Endpoint::SubmitOrder => order(number),
        Endpoint::Transfer => transfer(number),
        Endpoint::Withdraw => withdrawal(number),
        Endpoint::UpdateAccount => update(number),
        Endpoint::JoinPool => join(number),
        Endpoint::ExitPool => exit(number),
        _ => reading(endpoint, number),
    }
}

/// Provokes every pair; returns how many were injected.
fn provoke(compat: Compat) -> (usize, usize) {
    let mut world = World::new(compat);
    let (mut pairs, mut injected) = (BTreeSet::new(), 0);
    for row in TABLE.iter().filter(|row| row.in_interface) {
        for reason in row.codes {
            let number = code::number(*reason);
            let name = format!("{} {} {number}", row.method.name(), row.path);
            let reply = match how(row.endpoint, number) {
                Asked(ask) => ask(&mut world),
                Injected(why) => {
                    assert!(!why.is_empty());
                    injected += 1;
                    inject(&mut world, row.endpoint, *reason)
                }
            };
            assert_eq!(reply.status, 400, "{name}: {}", reply.text);
            assert_eq!(
                reply.any_code(),
                u64::from(number),
                "{name}: {}",
                reply.text
            );
            assert!(pairs.insert(name));
        }
        // The exchange still answers.
        assert_eq!(world.strict, compat == Compat::Strict);
    }
    (pairs.len(), injected)
}

fn inject(world: &mut World, endpoint: Endpoint, reason: Reason) -> Reply {
    let (kind, call) = world.good(endpoint);
    world.operate(Operator::InjectFault(Fault::Answer {
        kind,
        reason,
        count: 1,
    }));
    world.exchange.ask(&call)
}

#[test]
fn all_102_pairs_in_compatible_mode() {
    assert_eq!(provoke(Compat::Both), (102, 18));
}

#[test]
fn all_102_pairs_in_strict_mode() {
    assert_eq!(provoke(Compat::Strict), (102, 18));
}
