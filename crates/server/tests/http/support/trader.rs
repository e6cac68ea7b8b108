//! A client with both keys: the layer-2 key and a wallet. Bodies of transfers, withdrawals, new keys,
//! joins and exits, signed in every way that public clients sign.

use cambist_core::TokenId;
use cambist_signing::ecdsa::EthKey;
use cambist_signing::eip712::Domain;
use cambist_signing::{
    AccountUpdateMessage, Address, ExtraData, Field, Hash32, PoolExitMessage, PoolJoinMessage,
    PublicKey, SecretKey, TransferMessage, WithdrawalMessage,
};
use cambist_venue::{Operator, PoolConfig, PoolListing, PoolStatus, TokenConfig};
use serde_json::{Value, json};

use super::{BASE, Call, Customer, EXCHANGE, Exchange, ONE, QUOTE, START_S, UNIT};

pub const LP: TokenId = TokenId(2);
pub const POOL: Address = Address([0xbb; 20]);
pub const POOL_NAME: &str = "AMM-AAA-QQQ";
pub const UNTIL: u64 = START_S + 3_600;

/// A client with both keys.
pub struct Trader {
    pub customer: Customer,
    pub wallet: EthKey,
    next_id: u32,
}

/// What a request may be signed with.
pub struct Messages {
    pub message: Field,
    pub digest: Hash32,
}

impl Trader {
    /// Opens an account whose owner is a wallet, with 1,000 base and 1,000,000 quote.
    pub fn new(exchange: &Exchange, number: u8) -> Self {
        let secret = SecretKey::from_hex(&format!("0x{number:x}")).unwrap();
        let wallet = EthKey::from_hex(&format!("0x77{number:02x}")).unwrap();
        let api_key = format!("key-of-{number}");
        let public = secret.public();
        let account = exchange
            .handle
            .create_account(
                wallet.address().0,
                cambist_venue::PublicKey {
                    x: public.x.to_be_bytes(),
                    y: public.y.to_be_bytes(),
                },
                Some(&api_key),
            )
            .unwrap();
        exchange.handle.deposit(account, BASE, 1_000 * ONE).unwrap();
        exchange
            .handle
            .deposit(account, QUOTE, 1_000_000 * UNIT)
            .unwrap();
        Self {
            customer: Customer {
                account,
                owner: wallet.address(),
                secret,
                api_key,
                next_storage_id: 0,
            },
            wallet,
            next_id: 1,
        }
    }

    /// The next odd storage id.
    pub fn id(&mut self) -> u32 {
        self.next_id += 2;
        self.next_id
    }

    pub fn transfer(&mut self, payee: Address) -> Value {
        json!({
            "exchange": EXCHANGE.to_string(),
            "payerId": self.customer.account.0,
            "payerAddr": self.customer.owner.to_string(),
            "payeeId": 0,
            "payeeAddr": payee.to_string(),
            "token": {"tokenId": "1", "volume": (5 * UNIT).to_string()},
            "maxFee": {"tokenId": "1", "volume": "100"},
            "storageId": self.id(),
            "validUntil": UNTIL,
        })
    }

    pub fn withdrawal(&mut self) -> Value {
        json!({
            "exchange": EXCHANGE.to_string(),
            "accountId": self.customer.account.0,
            "owner": self.customer.owner.to_string(),
            "token": {"tokenId": "1", "volume": (5 * UNIT).to_string()},
            "maxFee": {"tokenId": "1", "volume": "100"},
            "storageId": self.id(),
            "validUntil": UNTIL,
            "minGas": 0,
            "to": self.customer.owner.to_string(),
        })
    }

    pub fn update(&self, key: &PublicKey, nonce: u32) -> Value {
        json!({
            "exchange": EXCHANGE.to_string(),
            "owner": self.customer.owner.to_string(),
            "accountId": self.customer.account.0,
            "publicKey": {"x": key.x.to_hex(), "y": key.y.to_hex()},
            "maxFee": {"tokenId": "1", "volume": "100"},
            "validUntil": UNTIL,
            "nonce": nonce,
        })
    }

    pub fn join(&mut self, base: u128, quote: u128) -> Value {
        json!({
            "owner": self.customer.owner.to_string(),
            "poolAddress": POOL.to_string(),
            "joinTokens": {
                "pooled": [
                    {"tokenId": "0", "volume": base.to_string()},
                    {"tokenId": "1", "volume": quote.to_string()},
                ],
                "minimumLp": "1",
            },
            "storageIds": format!("{},{}", self.id(), self.id()),
            "validUntil": UNTIL,
        })
    }

    pub fn exit(&mut self, burned: u128) -> Value {
        json!({
            "owner": self.customer.owner.to_string(),
            "poolAddress": POOL.to_string(),
            "exitTokens": {
                "unPooled": [{"tokenId": "0", "volume": "0"}, {"tokenId": "1", "volume": "0"}],
                "burned": burned.to_string(),
            },
            "storageId": self.id(),
            "maxFee": "0",
            "validUntil": UNTIL,
        })
    }

    /// POST with the layer-2 signature in the body and, where the text asks for it, the wallet's in
    /// the header.
    pub fn post(&self, path: &str, body: &Value) -> Call {
        let mut body = body.clone();
        let signed = messages(path, &body);
        body["eddsaSignature"] = json!(self.eddsa(&signed));
        let call = self.bare(path, &body);
        if path.starts_with("amm/") {
            call
        } else {
            call.header("X-API-SIG", self.wallet.sign_typed(&signed.digest).to_hex())
        }
    }

    pub fn eddsa(&self, signed: &Messages) -> String {
        self.customer.secret.sign(&signed.message).unwrap().to_hex()
    }

    /// POST with the API key alone.
    pub fn bare(&self, path: &str, body: &Value) -> Call {
        let call = Call::new("POST", format!("/api/v3/{path}")).body(body.to_string());
        self.customer.with_key(call)
    }
}

/// Lists a pool for the market, and its LP token.
pub fn list_pool(exchange: &Exchange) {
    let mut lp = exchange
        .handle
        .read(|venue| venue.token(QUOTE).cloned())
        .unwrap()
        .unwrap();
    lp.spec.id = LP;
    "LP-AAA-QQQ".clone_into(&mut lp.spec.symbol);
    (lp.spec.decimals, lp.spec.precision) = (8, 8);
    let listing = PoolListing {
        pool: PoolConfig {
            name: POOL_NAME.to_owned(),
            address: POOL.0,
            pooled: [BASE, QUOTE],
            lp: LP,
            fee_bips: 20,
            price_precision: 6,
            amount_precision: 6,
            status: PoolStatus::OPEN,
            join_fee: 0,
            exit_fee: 0,
        },
        lp: Some(TokenConfig {
            address: POOL.0,
            ..lp
        }),
    };
    exchange
        .handle
        .operate(Operator::ListPool(Box::new(listing)))
        .unwrap();
}

/// What a body must have signed, read from its JSON.
#[allow(clippy::too_many_lines, reason = "five requests, field by field")]
pub fn messages(path: &str, body: &Value) -> Messages {
    let number = |value: &Value| -> u128 {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        text.parse().unwrap()
    };
    let small = |name: &str| u32::try_from(number(&body[name])).unwrap();
    let address = |name: &str| Address::from_hex(body[name].as_str().unwrap()).unwrap();
    let token = |name: &str| u16::try_from(number(&body[name]["tokenId"])).unwrap();
    let volume = |name: &str| number(&body[name]["volume"]);
    let hashed = |hash: Hash32, digest| Messages {
        message: hash.message(),
        digest,
    };
    let amounts = |list: &Value| -> Vec<u128> {
        let list = list.as_array().unwrap();
        list.iter().map(|part| number(&part["volume"])).collect()
    };
    let domain = Domain::pool(1, POOL_NAME, POOL);
    let text_or_volume = |value: &Value| match value {
        Value::Object(_) => number(&value["volume"]),
        other => number(other),
    };
    match path {
        "transfer" => {
            let message = TransferMessage {
                exchange: address("exchange"),
                payer_id: small("payerId"),
                payer: address("payerAddr"),
                payee_id: small("payeeId"),
                payee: address("payeeAddr"),
                token: token("token"),
                amount: volume("token"),
                fee_token: token("maxFee"),
                max_fee: volume("maxFee"),
                valid_until: small("validUntil"),
                storage_id: small("storageId"),
            };
            hashed(message.hash(), message.digest(1))
        }
        "user/withdrawals" => {
            let data = body["extraData"].as_str().unwrap_or_default();
            let message = WithdrawalMessage {
                exchange: address("exchange"),
                account_id: small("accountId"),
                owner: address("owner"),
                token: token("token"),
                amount: volume("token"),
                fee_token: token("maxFee"),
                max_fee: volume("maxFee"),
                to: address("to"),
                extra_data: ExtraData::parse(data).unwrap(),
                min_gas: number(&body["minGas"]),
                valid_until: small("validUntil"),
                storage_id: small("storageId"),
            };
            hashed(message.hash(), message.digest(1))
        }
        "account" => {
            let key = &body["publicKey"];
            let coordinate = |name: &str| Field::from_hex(key[name].as_str().unwrap()).unwrap();
            let public_key = match key {
                Value::String(packed) => {
                    PublicKey::from_packed(Field::from_hex(packed).unwrap()).unwrap()
                }
                _ => PublicKey {
                    x: coordinate("x"),
                    y: coordinate("y"),
                },
            };
            let message = AccountUpdateMessage {
                exchange: address("exchange"),
                account_id: small("accountId"),
                owner: address("owner"),
                fee_token: token("maxFee"),
                max_fee: volume("maxFee"),
                public_key,
                valid_until: small("validUntil"),
                nonce: small("nonce"),
            };
            hashed(message.hash(), message.digest(1))
        }
        "amm/join" => {
            let ids: Vec<String> = match &body["storageIds"] {
                Value::String(text) => text.split(',').map(str::to_owned).collect(),
                list => list
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(Value::to_string)
                    .collect(),
            };
            let message = PoolJoinMessage {
                owner: address("owner"),
                join_amounts: amounts(&body["joinTokens"]["pooled"]),
                join_storage_ids: ids.iter().map(|id| id.parse().unwrap()).collect(),
                mint_min_amount: text_or_volume(&body["joinTokens"]["minimumLp"]),
                fee: body.get("fee").map(text_or_volume),
                valid_until: small("validUntil"),
            };
            Messages {
                message: message.message(&domain),
                digest: message.digest(&domain),
            }
        }
        "amm/exit" => {
            let message = PoolExitMessage {
                owner: address("owner"),
                burn_amount: text_or_volume(&body["exitTokens"]["burned"]),
                burn_storage_id: small("storageId"),
                exit_min_amounts: amounts(&body["exitTokens"]["unPooled"]),
                fee: text_or_volume(&body["maxFee"]),
                valid_until: small("validUntil"),
            };
            Messages {
                message: message.message(&domain),
                digest: message.digest(&domain),
            }
        }
        other => panic!("{other}"),
    }
}
