//! The operator's listener: authorisation, every request of the table, and that none of them is reachable through the
//! exchange's own address.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use cambist_server::admin::{AdminConfig, AdminServer, FieldKind, OperatorRequest, PREFIX, WISHES};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::support::{BASE, Call, Connection, Exchange, LOW_ORDER, ONE, Reply};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// An open door; shut with the value.
pub struct Door {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Door {
    pub fn open(exchange: &Exchange) -> Self {
        let config = AdminConfig {
            listen: ([127, 0, 0, 1], 0).into(),
            token: TOKEN.to_owned(),
        };
        let server = AdminServer::bind(&config, &exchange.handle).unwrap();
        let address = server.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap()
                .block_on(server.run(async {
                    let _ = stopped.await;
                }))
                .unwrap();
        });
        Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub fn call(&self, call: Call) -> Reply {
        let call = call.header("Authorization", format!("Bearer {TOKEN}"));
        Connection::open(self.address).ask(&call)
    }

    pub fn wish(&self, name: &str, body: &Value) -> Reply {
        self.call(Call::new("POST", format!("{PREFIX}{name}")).body(body.to_string()))
    }

    pub fn look(&self, name: &str, query: &str) -> Reply {
        self.call(Call::get(format!("{PREFIX}{name}?{query}")))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// The body that an example's command line stands for.
fn example(wish: &OperatorRequest) -> Map<String, Value> {
    // Quoted words are one word, as in a shell.
    let parts = wish.example.split('"').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    let mut words = words.skip(1);
    let mut body = Map::new();
    while let Some(name) = words.next() {
        let name = name.strip_prefix("--").unwrap().replace('-', "_");
        let value = words.next().unwrap();
        let field = wish.fields.iter().find(|field| field.name == name);
        if field.unwrap().kind == FieldKind::Amounts {
            let (key, amount) = value.split_once('=').unwrap();
            body.entry(name).or_insert(json!({}))[key] = json!(amount);
        } else {
            body.insert(name, json!(value));
        }
    }
    body
}

#[test]
fn the_door_opens_to_its_token_and_its_own_name_only() {
    let exchange = Exchange::start();
    let door = Door::open(&exchange);
    let status = format!("{PREFIX}status");
    let ask = |call: &Call| Connection::open(door.address).ask(call);
    let bearer = |token: &str| format!("Bearer {token}");
    door.look("status", "").good();
    assert_eq!(ask(&Call::get(&status)).status, 401);
    for wrong in ["", "x", &TOKEN[1..], &format!("{TOKEN}0")] {
        let call = Call::get(&status).header("Authorization", bearer(wrong));
        assert_eq!(ask(&call).status, 401, "{wrong}");
    }
    let port = door.address.port();
    for (host, code) in [
        ("evil.example".to_owned(), 421),
        ("127.0.0.1".to_owned(), 421),
        (format!("{}.evil.example", door.address), 421),
        (format!("localhost:{port}"), 200),
    ] {
        let call = Call::get(&status).header("Host", host);
        assert_eq!(door.call(call).status, code);
    }
    assert_eq!(door.look("nothing", "").status, 404);
    assert_eq!(door.call(Call::get("/api/v3/timestamp")).status, 404);
    assert_eq!(door.look("deposit", "").status, 405);
    assert_eq!(door.wish("status", &json!({})).status, 405);
    let through_the_front = Call::get(&status).header("Authorization", bearer(TOKEN));
    assert_eq!(exchange.ask(&through_the_front).status, 404);
}

#[test]
fn a_door_is_local_and_its_token_long() {
    let exchange = Exchange::start();
    let open = |listen: &str, token: &str| {
        let config = AdminConfig {
            listen: listen.parse().unwrap(),
            token: token.to_owned(),
        };
        assert!(!format!("{config:?}").contains(TOKEN));
        AdminServer::bind(&config, &exchange.handle)
            .err()
            .map(|error| error.to_string())
    };
    assert!(open("0.0.0.0:0", TOKEN).unwrap().contains("loopback"));
    assert!(open("127.0.0.1:0", &TOKEN[1..]).unwrap().contains("32"));
    assert_eq!(open("[::1]:0", TOKEN), None);
}

#[test]
fn a_field_that_nobody_knows_or_that_is_missing_is_named() {
    let exchange = Exchange::start();
    let alice = exchange.customer(1);
    let door = Door::open(&exchange);
    let account = alice.account.0;
    let refused = |body: &Value, word: &str| {
        let reply = door.wish("deposit", body);
        assert_eq!(reply.code(), 100_001, "{}", reply.text);
        assert!(reply.message().contains(word), "{}", reply.text);
    };
    refused(&json!({"account": account, "token": "AAA"}), "amount");
    refused(
        &json!({"account": account, "token": 0, "amount": "1", "fast": true}),
        "fast",
    );
    refused(
        &json!({"account": account, "token": 0, "amount": "1.5"}),
        "amount",
    );
    refused(&json!([]), "object");
    let unknown = door.wish(
        "deposit",
        &json!({"account": account, "token": "ZZZ", "amount": 1}),
    );
    assert_eq!(unknown.code(), 102_002);
    for token in [json!("AAA"), json!("0"), json!(0)] {
        let body = json!({"account": account, "token": token, "amount": "5"});
        door.wish("deposit", &body).good();
    }
    let held = exchange.handle.balance(alice.account, BASE).unwrap();
    assert_eq!(held.total, 1_000 * ONE + 15);
    let shown = door.look("account", &format!("account={account}"));
    assert_eq!(shown.good()["balances"][0]["total"], held.total.to_string());
}

#[test]
fn every_example_of_the_table_is_understood() {
    let exchange = Exchange::start();
    // The examples use account 10000, ETH, USDC and XYZ.
    exchange.customer(1);
    let door = Door::open(&exchange);
    let mut names = Vec::new();
    for wish in &WISHES {
        assert!(!names.contains(&wish.name), "{} stands twice", wish.name);
        names.push(wish.name);
        assert!(wish.example.starts_with(wish.name), "{}", wish.example);
        let body: Map<_, _> = example(wish);
        for field in wish.fields.iter().filter(|field| field.required) {
            assert!(
                body.contains_key(field.name),
                "{}: {}",
                wish.name,
                field.name
            );
        }
        let text = Value::Object(body.clone())
            .to_string()
            .replace("ETH-USDC", "AAA-QQQ")
            .replace(" ETH\"", " AAA\"")
            .replace(" USDC\"", " QQQ\"")
            .replace("\"ETH\"", "\"AAA\"")
            .replace("\"USDC\"", "\"QQQ\"");
        let text = text.replace("XYZ-USDC", "XYZ-QQQ");
        let body: Value = serde_json::from_str(&text).unwrap();
        let reply = if wish.looks {
            let query: Vec<_> = body
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| format!("{name}={}", value.as_str().unwrap()))
                .collect();
            door.look(wish.name, &query.join("&"))
        } else {
            door.wish(wish.name, &body)
        };
        match wish.name {
            // There is no such withdrawal; that the number was read is what counts.
            "settle-withdrawal" | "return-withdrawal" => {
                assert_eq!(reply.status, 400, "{}: {}", wish.name, reply.text);
                assert!(!reply.message().contains("is missing"), "{}", reply.text);
            }
            // The market is listed later in the table.
            _ => {
                reply.good();
            }
        }
        if wish.name == "delist-token" {
            // The market of a later example needs it again.
            let again = WISHES
                .iter()
                .find(|wish| wish.name == "list-token")
                .unwrap();
            door.wish("list-token", &Value::Object(example(again)))
                .good();
        }
    }
    let log = door.look("log", "limit=3");
    assert_eq!(log.good().as_array().unwrap().len(), 3);
    // What was done stands in the log by its name, with the fields that were given.
    let log = door.look("log", "limit=500");
    let entries = log.good().as_array().unwrap();
    for wish in WISHES.iter().filter(|wish| !wish.looks) {
        if matches!(wish.name, "settle-withdrawal" | "return-withdrawal") {
            continue;
        }
        let entry = entries.iter().find(|entry| entry["wish"] == wish.name);
        let entry = entry.unwrap_or_else(|| panic!("no {} in {log:?}", wish.name));
        assert!(entry["at"].as_str().unwrap().ends_with('Z'), "{entry}");
        for name in example(wish).keys() {
            let fields = entry["fields"].as_object().unwrap();
            // Tables have an entry for each of their tokens.
            let named = |field: &String| field == name || field.starts_with(&format!("{name} "));
            assert!(
                fields.keys().any(named),
                "{}: no {name}: {entry}",
                wish.name
            );
        }
    }
}

#[test]
fn amounts_are_read_and_shown_in_whole_tokens() {
    let exchange = Exchange::start();
    let alice = exchange.customer(1);
    let door = Door::open(&exchange);
    let account = alice.account.0;
    let before = exchange.handle.balance(alice.account, BASE).unwrap().total;
    let deposit = |amount: &str| {
        let body = json!({"account": account, "token": "AAA", "amount": amount});
        door.wish("deposit", &body)
    };
    deposit("1.5 AAA").good();
    let after = exchange.handle.balance(alice.account, BASE).unwrap().total;
    assert_eq!(after - before, ONE * 3 / 2);
    for wrong in [
        "1.5",
        "1.5 QQQ",
        "1.5AAA",
        "-1 AAA",
        "1. AAA",
        "0.0000000000000000001 AAA",
    ] {
        let refused = deposit(wrong);
        assert_eq!(refused.code(), 100_001, "{wrong}");
        assert!(refused.message().contains("1.5 AAA"), "{}", refused.text);
    }
    let log = door.look("log", "limit=1");
    let fields = &log.good()[0]["fields"];
    assert_eq!(fields["amount"], "1.5 AAA");
    assert_eq!(fields["amount_units"], (ONE * 3 / 2).to_string());
    assert_eq!(fields["token"], "AAA");
    let shown = door.look("account", &format!("account={account}"));
    let balance = &shown.good()["balances"][0];
    assert_eq!(balance["total_amount"], "1001.5 AAA");
    assert_eq!(balance["total"], after.to_string());
    let tokens = door.look("tokens", "");
    let token = tokens
        .good()
        .as_array()
        .unwrap()
        .iter()
        .find(|token| token["symbol"] == "AAA");
    let minimum = token.unwrap()["minimum"].as_str().unwrap();
    assert!(minimum.ends_with(" AAA"), "{minimum}");
}

#[test]
fn no_account_is_opened_with_a_key_that_others_could_sign_for() {
    let exchange = Exchange::start();
    let door = Door::open(&exchange);
    let owner = "0x00000000000000000000000000000000000000aa";
    let open = |x: &str, y: &str| {
        let body = json!({"owner": owner, "public_key_x": x, "public_key_y": y});
        door.wish("create-account", &body)
    };
    for [x, y] in LOW_ORDER {
        let refused = open(x, y);
        assert_eq!(refused.code(), 100_001, "{x}");
        assert!(refused.message().contains("public_key_x"), "{refused:?}");
    }
    let honest = cambist_signing::SecretKey::from_hex("0x1234")
        .unwrap()
        .public();
    open(&honest.x.to_hex(), &honest.y.to_hex()).good();
}

#[test]
fn an_api_key_of_the_operators_is_long() {
    let exchange = Exchange::start();
    let door = Door::open(&exchange);
    let open = |owner: &str, key: &str| {
        door.wish("create-account", &json!({"owner": owner, "api_key": key}))
    };
    let [first, second] = ["aa", "bb"].map(|end| format!("0x{}{end}", "0".repeat(38)));
    let refused = open(&first, &"k".repeat(31));
    assert_eq!(refused.code(), 100_001);
    assert!(refused.message().contains("api_key"), "{refused:?}");
    let key = "k".repeat(32);
    let made = open(&second, &key);
    let id = made.good()["accountId"].as_u64().unwrap();
    let balances = Call::get(format!("/api/v3/user/balances?accountId={id}"));
    exchange.ask(&balances.header("X-API-KEY", key)).good();
}

#[test]
fn half_requests_do_not_keep_the_operator_out() {
    let exchange = Exchange::start();
    let door = Door::open(&exchange);
    let halves: Vec<_> = (0..40)
        .map(|_| {
            let mut half = Connection::open(door.address);
            half.send(b"POST /admin/v1/set-mode HTTP/1.1\r\nHost");
            half
        })
        .collect();
    door.wish("set-mode", &json!({"mode": "cancel-only"}))
        .good();
    assert_eq!(door.look("status", "").good()["mode"], "cancel-only");
    drop(halves);
}

#[test]
fn modes_faults_and_partial_changes_reach_the_exchange() {
    let exchange = Exchange::start();
    let alice = exchange.customer(1);
    let door = Door::open(&exchange);
    door.wish(
        "fault-answer",
        &json!({"request": "balances", "code": 100_000, "count": 2}),
    )
    .good();
    let balances = alice.get("/api/v3/user/balances?accountId={account}");
    for _ in 0..2 {
        assert_eq!(exchange.ask(&balances).any_code(), 100_000);
    }
    exchange.ask(&balances).good();
    door.wish("set-mode", &json!({"mode": "halted"})).good();
    assert_eq!(door.look("status", "").good()["mode"], "halted");
    assert_eq!(
        door.wish("set-mode", &json!({"mode": "shut"})).code(),
        100_001
    );
    let fees = json!({"transfer": {"QQQ": "5", "AAA": "7"}, "onchain": {"withdraw": "9"}});
    door.wish("set-service-fees", &fees).good();
    door.wish("set-service-fees", &json!({"update": {"1": 3}}))
        .good();
    let info = exchange.ask(&Call::get("/api/v3/exchange/info"));
    assert_eq!(
        info.good()["transferFees"],
        json!([{"token": "AAA", "fee": "7"}, {"token": "QQQ", "fee": "5"}])
    );
    assert_eq!(
        info.body["updateFees"],
        json!([{"token": "QQQ", "fee": "3"}])
    );
    assert_eq!(
        info.body["onchainFees"],
        json!([{"type": "withdraw", "fee": "9"}])
    );
    let asked = alice
        .get("/api/v3/user/offchainFee?accountId={account}&requestType=3&tokenSymbol=QQQ&amount=1");
    let fees = exchange.ask(&asked);
    assert_eq!(
        fees.good()["fees"][0],
        json!({"token": "QQQ", "fee": "5", "discount": 1})
    );
    assert_eq!(fees.body["gasPrice"], "0");
}

#[test]
fn what_a_request_costs_is_the_same_list_in_both_places() {
    let exchange = Exchange::start();
    let alice = exchange.customer(1);
    let door = Door::open(&exchange);
    for fees in [
        json!({}),
        json!({"transfer": {"QQQ": "5"}, "update": {"AAA": "7"}, "withdrawal": {"QQQ": "1", "AAA": "2"}}),
    ] {
        door.wish("set-service-fees", &fees).good();
        let info = exchange.ask(&Call::get("/api/v3/exchange/info"));
        for (list, kind) in [
            ("withdrawalFees", 1),
            ("updateFees", 2),
            ("transferFees", 3),
            ("withdrawalFees", 4),
        ] {
            let target =
                format!("/api/v3/user/offchainFee?accountId={{account}}&requestType={kind}");
            let asked = exchange.ask(&alice.get(&target));
            let entries = asked.good()["fees"].as_array().unwrap();
            let same: Vec<_> = entries
                .iter()
                .map(|entry| json!({"token": entry["token"], "fee": entry["fee"]}))
                .collect();
            assert_eq!(info.good()[list], json!(same), "{list}");
            assert!(!same.is_empty(), "{list}");
        }
    }
}
