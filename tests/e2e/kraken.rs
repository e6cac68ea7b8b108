//! Kraken's interface of the exchange as a program: a key that the exchange made, orders on the book of the first
//! interface, a kill, and everything as before.

use std::fs;

use cambist_kraken::sign::Secret;
use serde_json::Value;
use toml::Table;

use crate::support::Stage;
use crate::support::http::{body, send_body};

/// A quiet exchange with Kraken's interface and a data folder.
fn dialect(file: &mut Table) {
    let exchange = file["exchange"].as_table_mut().unwrap();
    exchange.insert("dialect".to_owned(), "kraken".into());
    let kraken: Table = toml::from_str("keys_dir = 'kraken'").unwrap();
    file.insert("kraken".to_owned(), kraken.into());
    file.remove("traders");
}

pub struct Client {
    address: String,
    api_key: String,
    secret: Secret,
    nonce: u64,
}

impl Client {
    /// A client with the key that the exchange made at its first start.
    pub fn of(stage: &Stage, nonce: u64) -> Self {
        Self::of_key(stage, "maker", nonce)
    }

    /// A client with this key.
    pub fn of_key(stage: &Stage, key: &str, nonce: u64) -> Self {
        let folder = stage.path("kraken").join(key);
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        Self {
            address: stage.address.clone(),
            api_key: read("api_key").trim().to_owned(),
            secret: Secret::parse(read("secret").trim()).unwrap(),
            nonce,
        }
    }

    pub fn answer(&mut self, method: &str, form: &str) -> Value {
        self.nonce += 1;
        let path = format!("/0/private/{method}");
        let text = format!("nonce={}&{form}", self.nonce);
        let signature = self
            .secret
            .sign(&path, &self.nonce.to_string(), text.as_bytes());
        let headers = [
            ("api-key", self.api_key.as_str()),
            ("api-sign", signature.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        let (status, answer) = send_body(&self.address, "POST", &path, &headers, &text);
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    }

    #[track_caller]
    pub fn good(&mut self, method: &str, form: &str) -> Value {
        let answer = self.answer(method, form);
        assert_eq!(answer["error"], serde_json::json!([]), "{method}: {answer}");
        answer["result"].clone()
    }
}

#[test]
fn orders_nonces_and_keys_survive_a_kill_of_the_exchange() {
    let mut stage = Stage::open_kept("kraken", dialect);
    let address = stage.address.clone();
    let mut client = Client::of(&stage, 1_000);
    let form = "pair=ETHUSDC&type=buy&ordertype=limit&price=2000&volume=0.5&oflags=post";
    let added = client.good("AddOrder", form);
    let txid = added["txid"][0].as_str().unwrap().to_owned();
    let depth = body(&address, "/api/v3/depth?market=ETH-USDC&level=0&limit=5").unwrap();
    assert!(depth.contains("2000.00"), "it rests on the book: {depth}");
    let ledgers = client.good("Ledgers", "");
    assert_eq!(ledgers["count"], 2);

    stage.restart_venue();
    client.address.clone_from(&stage.address);
    client.nonce -= 1;
    let replayed = client.answer("Balance", "");
    assert_eq!(replayed["error"][0], "EAPI:Invalid nonce");
    let open = client.good("OpenOrders", "");
    assert_eq!(open["open"][&txid]["vol"], "0.5000");
    assert_eq!(client.good("Ledgers", ""), ledgers);
    let cancelled = client.good("CancelOrder", &format!("txid={txid}"));
    assert_eq!(cancelled["count"], 1);
    stage.close();
}
