//! Kraken's interface over real HTTP: keys, signatures, nonces, orders, lists, ledger entries, counters, restarts. The
//! client is a text written from the published specification.

mod access;
mod lists;
mod orders;
mod public_methods;

use std::cell::Cell;

use cambist_kraken::sign::Secret;
use cambist_server::{KrakenConfig, KrakenKey, Permission, ServerConfig, Tier};
use cambist_venue::AccountId;
use serde_json::{Value, json};

use crate::support::{Call, Customer, Exchange, Want, config};

const ACCOUNT: AccountId = AccountId(10_000);

/// The first customer of an exchange opens the first account.
const CUSTOMER: u8 = 1;

/// A key of the account with these permissions.
fn key(name: &str, permissions: &[Permission], nonce_window: u64) -> KrakenKey {
    KrakenKey {
        api_key: name.to_owned(),
        secret: secret(),
        account: ACCOUNT,
        permissions: permissions.iter().copied().collect(),
        nonce_window,
    }
}

fn secret() -> Secret {
    Secret::from_bytes(vec![7; 64]).unwrap()
}

fn all() -> Vec<Permission> {
    let all = Permission::ALL
        .into_iter()
        .map(|(permission, _)| permission);
    all.filter(|permission| *permission != Permission::FundsWithdraw)
        .collect()
}

fn settings() -> KrakenConfig {
    KrakenConfig {
        keys: vec![
            key("trader", &all(), 0),
            key("window", &all(), 10),
            key("reader", &[Permission::FundsQuery], 0),
            key("mover", &[Permission::OrdersModify], 0),
            key("closer", &[Permission::OrdersCancel], 0),
            key(
                "thief",
                &[Permission::FundsQuery, Permission::FundsWithdraw],
                0,
            ),
        ],
        tier: Tier::Pro,
        list_lag_ms: 0,
    }
}

fn server(kraken: KrakenConfig) -> ServerConfig {
    ServerConfig {
        kraken: Some(kraken),
        ..config()
    }
}

/// A client of this interface.
struct Client<'a> {
    exchange: &'a Exchange,
    key: &'static str,
    nonce: Cell<u64>,
}

impl<'a> Client<'a> {
    fn new(exchange: &'a Exchange, key: &'static str) -> Self {
        Self {
            exchange,
            key,
            nonce: Cell::new(1_000),
        }
    }

    fn signed(&self, method: &str, nonce: u64, form: &str) -> Call {
        let path = format!("/0/private/{method}");
        let separator = if form.is_empty() { "" } else { "&" };
        let body = format!("nonce={nonce}{separator}{form}");
        let signature = secret().sign(&path, &nonce.to_string(), body.as_bytes());
        Call::new("POST", path)
            .header("API-Key", self.key)
            .header("API-Sign", signature)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(body)
    }

    /// The answer to a JSON body with the next nonce.
    fn json(&self, method: &str, body: &Value) -> Value {
        self.nonce.set(self.nonce.get() + 1);
        let nonce = self.nonce.get();
        let mut body = body.clone();
        body["nonce"] = json!(nonce);
        let (path, body) = (format!("/0/private/{method}"), body.to_string());
        let signature = secret().sign(&path, &nonce.to_string(), body.as_bytes());
        let call = Call::new("POST", path)
            .header("API-Key", self.key)
            .header("API-Sign", signature)
            .header("Content-Type", "application/json")
            .body(body);
        let reply = self.exchange.ask(&call);
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.body
    }

    fn answer(&self, method: &str, form: &str) -> Value {
        self.nonce.set(self.nonce.get() + 1);
        let call = self.signed(method, self.nonce.get(), form);
        let reply = self.exchange.ask(&call);
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.body
    }

    #[track_caller]
    fn good(&self, method: &str, form: &str) -> Value {
        let answer = self.answer(method, form);
        assert_eq!(answer["error"], json!([]), "{method} {form}: {answer}");
        answer["result"].clone()
    }

    #[track_caller]
    fn error(&self, method: &str, form: &str) -> String {
        let answer = self.answer(method, form);
        assert!(answer.get("result").is_none(), "{answer}");
        answer["error"][0].as_str().unwrap().to_owned()
    }

    /// Submits an order and returns its identifier.
    #[track_caller]
    fn add(&self, side: &str, price: &str, volume: &str, more: &str) -> String {
        let form =
            format!("pair=AAAQQQ&type={side}&ordertype=limit&price={price}&volume={volume}{more}");
        let result = self.good("AddOrder", &form);
        result["txid"][0].as_str().unwrap().to_owned()
    }
}

fn public(exchange: &Exchange, target: &str) -> Value {
    let reply = exchange.ask(&Call::get(format!("/0/public/{target}")));
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.body
}

#[track_caller]
fn shown(exchange: &Exchange, target: &str) -> Value {
    let answer = public(exchange, target);
    assert_eq!(answer["error"], json!([]), "{target}: {answer}");
    answer["result"].clone()
}

/// An exchange with the account of the keys, and another trader of the first interface.
fn opened(kraken: KrakenConfig) -> (Exchange, Customer) {
    let exchange = Exchange::with(&server(kraken));
    let first = exchange.customer(CUSTOMER);
    assert_eq!(first.account, ACCOUNT);
    let other = exchange.customer(2);
    (exchange, other)
}

fn offers(exchange: &Exchange, trader: &mut Customer, cents: u128, amount: u128) {
    let call = trader.submit(Want::Sell, cents, amount);
    exchange.ask(&call).good();
}
