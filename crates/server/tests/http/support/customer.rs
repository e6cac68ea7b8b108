//! A client with an account and keys: orders and signatures, written from the interface text.

use cambist_core::{Amount, TokenId};
use cambist_signing::{Address, OrderMessage, SecretKey, request_signature};
use cambist_venue::AccountId;
use serde_json::{Value, json};

use super::{BASE, Call, EXCHANGE, Exchange, ONE, QUOTE, START_S, UNIT};

/// A client with an account and keys.
pub struct Customer {
    pub account: AccountId,
    pub owner: Address,
    pub secret: SecretKey,
    pub api_key: String,
    pub next_storage_id: u32,
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

    /// Signs an order unchanged.
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

    /// GET with the key; `{account}` is replaced by the account.
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
