//! The operator's listener: authorisation, every request of the table, and that none of them is reachable through the
//! exchange's own address.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use cambist_server::admin::{
    AdminConfig, AdminServer, FieldKind, OPERATOR_REQUESTS, OperatorRequest, PREFIX,
};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::support::trader::{POOL, Trader, list_pool};
use crate::support::{BASE, Call, Connection, Exchange, LOW_ORDER, ONE, Reply};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A running operator listener; stopped when dropped.
pub struct OperatorListener {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl OperatorListener {
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

    pub fn request(&self, name: &str, body: &Value) -> Reply {
        self.call(Call::new("POST", format!("{PREFIX}{name}")).body(body.to_string()))
    }

    pub fn look(&self, name: &str, query: &str) -> Reply {
        self.call(Call::get(format!("{PREFIX}{name}?{query}")))
    }
}

impl Drop for OperatorListener {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// The body for an example's command line.
fn example(request: &OperatorRequest) -> Map<String, Value> {
    // Quoted words are one word, as in a shell.
    let parts = request.example.split('"').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    let mut words = words.skip(1);
    let mut body = Map::new();
    while let Some(name) = words.next() {
        let name = name.strip_prefix("--").unwrap().replace('-', "_");
        let value = words.next().unwrap();
        let field = request.fields.iter().find(|field| field.name == name);
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
fn the_operator_listener_requires_its_token_and_its_own_host_name() {
    let exchange = Exchange::start();
    let operator = OperatorListener::open(&exchange);
    let status = format!("{PREFIX}status");
    let ask = |call: &Call| Connection::open(operator.address).ask(call);
    let bearer = |token: &str| format!("Bearer {token}");
    operator.look("status", "").good();
    assert_eq!(ask(&Call::get(&status)).status, 401);
    for wrong in ["", "x", &TOKEN[1..], &format!("{TOKEN}0")] {
        let call = Call::get(&status).header("Authorization", bearer(wrong));
        assert_eq!(ask(&call).status, 401, "{wrong}");
    }
    let port = operator.address.port();
    for (host, code) in [
        ("evil.example".to_owned(), 421),
        ("127.0.0.1".to_owned(), 421),
        (format!("{}.evil.example", operator.address), 421),
        (format!("localhost:{port}"), 200),
    ] {
        let call = Call::get(&status).header("Host", host);
        assert_eq!(operator.call(call).status, code);
    }
    assert_eq!(operator.look("nothing", "").status, 404);
    assert_eq!(operator.call(Call::get("/api/v3/timestamp")).status, 404);
    assert_eq!(operator.look("deposit", "").status, 405);
    assert_eq!(operator.request("status", &json!({})).status, 405);
    let through_the_front = Call::get(&status).header("Authorization", bearer(TOKEN));
    assert_eq!(exchange.ask(&through_the_front).status, 404);
}

#[test]
fn the_operator_listener_requires_loopback_and_a_long_token() {
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
fn an_unknown_or_missing_field_is_named() {
    let exchange = Exchange::start();
    let alice = exchange.customer(1);
    let operator = OperatorListener::open(&exchange);
    let account = alice.account.0;
    let refused = |body: &Value, word: &str| {
        let reply = operator.request("deposit", body);
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
    let unknown = operator.request(
        "deposit",
        &json!({"account": account, "token": "ZZZ", "amount": 1}),
    );
    assert_eq!(unknown.code(), 102_002);
    for token in [json!("AAA"), json!("0"), json!(0)] {
        let body = json!({"account": account, "token": token, "amount": "5"});
        operator.request("deposit", &body).good();
    }
    let held = exchange.handle.balance(alice.account, BASE).unwrap();
    assert_eq!(held.total, 1_000 * ONE + 15);
    let shown = operator.look("account", &format!("account={account}"));
    assert_eq!(shown.good()["balances"][0]["total"], held.total.to_string());
}

/// It would be answered as done, and be an entry of the log.
#[test]
fn a_request_that_changes_nothing_is_refused() {
    let exchange = Exchange::start();
    list_pool(&exchange);
    let operator = OperatorListener::open(&exchange);
    let pool = json!({"pool": POOL.to_string()});
    let log = || operator.look("log", "").good().clone();
    let before = log();
    let mut refused = Vec::new();
    for request in OPERATOR_REQUESTS
        .iter()
        .filter(|r| r.changes_what_is_given())
    {
        let first = request.optional_fields().next().unwrap().name;
        for given in [None, Some(Value::Null), Some(json!(""))] {
            let mut body = match request.name {
                "set-pool" => pool.clone(),
                _ => json!({}),
            };
            if let Some(given) = given {
                body[first] = given;
            }
            let reply = operator.request(request.name, &body);
            assert_eq!(reply.code(), 100_001, "{body}: {}", reply.text);
            let message = reply.message();
            assert!(message.contains("asks for no change"), "{message}");
            assert!(message.contains(first), "{message}");
        }
        refused.push(request.name);
    }
    assert_eq!(refused.len(), 5, "{refused:?}");
    assert_eq!(log(), before);
    // No body at all, and on the other side one field, also with the value that is set already.
    let call = Call::new("POST", format!("{PREFIX}set-limits"));
    assert_eq!(operator.call(call).code(), 100_001);
    for (name, body) in [
        ("set-limits", json!({"orders_page": 50})),
        ("set-service-fees", json!({"transfer": {}})),
        ("set-delays", json!({"order_ms": 0})),
        ("set-account-opening", json!({"order_minimum": false})),
        ("set-pool", json!({"pool": POOL.to_string(), "swaps": true})),
    ] {
        operator.request(name, &body).good();
    }
    assert_ne!(log(), before);
}

#[test]
fn every_example_of_the_table_is_understood() {
    let exchange = Exchange::start();
    // The examples use account 10000, ETH, USDC and XYZ.
    exchange.customer(1);
    let operator = OperatorListener::open(&exchange);
    let mut names = Vec::new();
    for request in &OPERATOR_REQUESTS {
        assert!(
            !names.contains(&request.name),
            "{} is in the table twice",
            request.name
        );
        names.push(request.name);
        assert!(
            request.example.starts_with(request.name),
            "{}",
            request.example
        );
        let body: Map<_, _> = example(request);
        for field in request.fields.iter().filter(|field| field.required) {
            assert!(
                body.contains_key(field.name),
                "{}: {}",
                request.name,
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
        let reply = if request.is_read {
            let query: Vec<_> = body
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| format!("{name}={}", value.as_str().unwrap()))
                .collect();
            operator.look(request.name, &query.join("&"))
        } else {
            operator.request(request.name, &body)
        };
        match request.name {
            // The withdrawal, or the shares of the pool's founder, do not exist; the number was parsed.
            "settle-withdrawal" | "return-withdrawal" | "exit-pool" => {
                assert_eq!(reply.status, 400, "{}: {}", request.name, reply.text);
                assert!(!reply.message().contains("is missing"), "{}", reply.text);
            }
            // The market is listed later in the table.
            _ => {
                reply.good();
            }
        }
        if request.name == "delist-token" {
            // A later example needs the delisted token again.
            let again = OPERATOR_REQUESTS
                .iter()
                .find(|request| request.name == "list-token")
                .unwrap();
            operator
                .request("list-token", &Value::Object(example(again)))
                .good();
        }
    }
    let log = operator.look("log", "limit=3");
    assert_eq!(log.good().as_array().unwrap().len(), 3);
    // The log has every executed request, with its name and the given fields.
    let log = operator.look("log", "limit=500");
    let entries = log.good().as_array().unwrap();
    for request in OPERATOR_REQUESTS.iter().filter(|request| !request.is_read) {
        // An exit is a request of an account: the list of pool transactions has it. No withdrawal is pending.
        if matches!(
            request.name,
            "settle-withdrawal" | "settle-withdrawals" | "return-withdrawal" | "exit-pool"
        ) {
            continue;
        }
        let entry = entries
            .iter()
            .find(|entry| entry["request"] == request.name);
        let entry = entry.unwrap_or_else(|| panic!("no {} in {log:?}", request.name));
        assert!(entry["at"].as_str().unwrap().ends_with('Z'), "{entry}");
        for name in example(request).keys() {
            let fields = entry["fields"].as_object().unwrap();
            // Tables have an entry for each of their tokens.
            let named = |field: &String| field == name || field.starts_with(&format!("{name} "));
            assert!(
                fields.keys().any(named),
                "{}: no {name}: {entry}",
                request.name
            );
        }
    }
}

#[test]
fn amounts_are_read_and_shown_in_whole_tokens() {
    let exchange = Exchange::start();
    let alice = exchange.customer(1);
    let operator = OperatorListener::open(&exchange);
    let account = alice.account.0;
    let before = exchange.handle.balance(alice.account, BASE).unwrap().total;
    let deposit = |amount: &str| {
        let body = json!({"account": account, "token": "AAA", "amount": amount});
        operator.request("deposit", &body)
    };
    assert_eq!(deposit("1.5 AAA").good()["amount"], "1.5 AAA");
    let after = exchange.handle.balance(alice.account, BASE).unwrap().total;
    assert_eq!(after - before, ONE * 3 / 2);
    // Base units are easily taken for whole tokens: the answer states what was booked.
    let one = deposit("1").good()["amount"].clone();
    assert_eq!(one, "0.000000000000000001 AAA");
    let nothing = deposit("0");
    assert_eq!(
        (nothing.code(), nothing.message()),
        (100_001, "invalid argument: amount is 0")
    );
    let after = exchange.handle.balance(alice.account, BASE).unwrap().total;
    assert_eq!(after - before, ONE * 3 / 2 + 1);
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
    let log = operator.look("log", "limit=2");
    let fields = &log.good()[1]["fields"];
    assert_eq!(fields["amount"], "1.5 AAA");
    assert_eq!(fields["amount_units"], (ONE * 3 / 2).to_string());
    assert_eq!(fields["token"], "AAA");
    let shown = operator.look("account", &format!("account={account}"));
    let balance = &shown.good()["balances"][0];
    assert_eq!(balance["total_amount"], "1001.500000000000000001 AAA");
    assert_eq!(balance["total"], after.to_string());
    let tokens = operator.look("tokens", "");
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
fn a_numbered_deposit_is_booked_once() {
    let exchange = Exchange::start();
    let alice = exchange.customer(1);
    let operator = OperatorListener::open(&exchange);
    let before = exchange.handle.balance(alice.account, BASE).unwrap().total;
    let body = json!({"account": alice.account.0, "token": "AAA", "amount": "2 AAA", "number": 41});
    assert_eq!(operator.request("deposit", &body).good()["amount"], "2 AAA");
    let again = operator.request("deposit", &body);
    assert_eq!(again.code(), 100_001);
    assert!(again.message().contains("booked already"), "{}", again.text);
    let after = exchange.handle.balance(alice.account, BASE).unwrap().total;
    assert_eq!(after - before, 2 * ONE);
    let shown = operator.look("account", &format!("account={}", alice.account.0));
    assert_eq!(shown.good()["depositNumber"], 41);
    let log = operator.look("log", "limit=1");
    let entry = &log.good()[0];
    assert_eq!(
        (&entry["request"], &entry["fields"]["number"]),
        (&json!("deposit"), &json!(41))
    );
}

#[test]
fn pending_withdrawals_are_listed_and_those_of_the_list_settled() {
    let exchange = Exchange::start();
    let mut alice = Trader::new(&exchange, 1);
    let operator = OperatorListener::open(&exchange);
    let ask = |alice: &mut Trader| {
        let body = alice.withdrawal();
        let reply = exchange.ask(&alice.post("user/withdrawals", &body));
        (body, reply.good()["hash"].clone())
    };
    let listed = |count: usize| {
        let list = operator.look("withdrawals", "").good().clone();
        assert_eq!(list["withdrawals"].as_array().unwrap().len(), count);
        list
    };
    let (body, first) = ask(&mut alice);
    // What is pending since the present millisecond is in the next list.
    listed(0);
    exchange.clock.pass_ms(1);
    let list = listed(1);
    let shown = &list["withdrawals"][0];
    assert_eq!(shown["hash"], first);
    assert_eq!(shown["accountId"], alice.customer.account.0);
    assert_eq!(shown["to"], body["to"]);
    assert_eq!(shown["volume"], body["token"]["volume"]);
    assert_eq!(
        (&shown["tokenId"], &shown["amount"]),
        (&json!(1), &json!("5 QQQ"))
    );
    // One that is pending since the list was made stays.
    let (_, second) = ask(&mut alice);
    let settle = json!({"until_ms": list["asOfMs"]});
    let settled = operator.request("settle-withdrawals", &settle);
    let hashes = |reply: &Value| -> Vec<Value> {
        let all = reply["settled"].as_array().unwrap().iter();
        all.map(|settled| settled["hash"].clone()).collect()
    };
    assert_eq!(hashes(settled.good()), std::slice::from_ref(&first));
    let log = operator.look("log", "limit=1");
    assert_eq!(log.good()[0]["fields"]["hash"], first);
    exchange.clock.pass_ms(1);
    assert_eq!(listed(1)["withdrawals"][0]["hash"], second);
    let rest = operator.request("settle-withdrawals", &json!({}));
    assert_eq!(hashes(rest.good()), [second]);
    listed(0);
}

#[test]
fn no_account_is_opened_with_a_key_of_low_order() {
    let exchange = Exchange::start();
    let operator = OperatorListener::open(&exchange);
    let owner = "0x00000000000000000000000000000000000000aa";
    let open = |x: &str, y: &str| {
        let body = json!({"owner": owner, "public_key_x": x, "public_key_y": y});
        operator.request("create-account", &body)
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
fn an_api_key_chosen_by_the_operator_is_long() {
    let exchange = Exchange::start();
    let operator = OperatorListener::open(&exchange);
    let open = |owner: &str, key: &str| {
        operator.request("create-account", &json!({"owner": owner, "api_key": key}))
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
fn incomplete_requests_do_not_block_the_operator() {
    let exchange = Exchange::start();
    let operator = OperatorListener::open(&exchange);
    let halves: Vec<_> = (0..40)
        .map(|_| {
            let mut half = Connection::open(operator.address);
            half.send(b"POST /admin/v1/set-mode HTTP/1.1\r\nHost");
            half
        })
        .collect();
    operator
        .request("set-mode", &json!({"mode": "cancel-only"}))
        .good();
    assert_eq!(operator.look("status", "").good()["mode"], "cancel-only");
    drop(halves);
}

#[test]
fn modes_faults_and_partial_changes_reach_the_exchange() {
    let exchange = Exchange::start();
    let alice = exchange.customer(1);
    let operator = OperatorListener::open(&exchange);
    operator
        .request(
            "fault-answer",
            &json!({"request": "balances", "code": 100_000, "count": 2}),
        )
        .good();
    let balances = alice.get("/api/v3/user/balances?accountId={account}");
    for _ in 0..2 {
        assert_eq!(exchange.ask(&balances).any_code(), 100_000);
    }
    exchange.ask(&balances).good();
    operator
        .request("set-mode", &json!({"mode": "halted"}))
        .good();
    assert_eq!(operator.look("status", "").good()["mode"], "halted");
    assert_eq!(
        operator
            .request("set-mode", &json!({"mode": "shut"}))
            .code(),
        100_001
    );
    let fees = json!({"transfer": {"QQQ": "5", "AAA": "7"}, "onchain": {"withdraw": "9"}});
    operator.request("set-service-fees", &fees).good();
    let set = operator.request("set-service-fees", &json!({"update": {"1": 3}}));
    // In whole tokens, with what was set before.
    let shown = &set.good()["set"];
    assert_eq!(shown["update QQQ_units"], "3");
    assert_eq!(shown["transfer AAA_units"], "7");
    assert!(
        shown["update QQQ"].as_str().unwrap().ends_with(" QQQ"),
        "{shown}"
    );
    operator
        .request("set-limits", &json!({"open_orders_max": 200}))
        .good();
    let status = operator.look("status", "");
    assert_eq!(&status.good()["serviceFees"], shown);
    assert_eq!(status.body["limits"]["open_orders_max"], 200);
    assert_eq!(status.body["limits"]["orders_page"], 50);
    let market = &status.body["marketFees"]["AAA-QQQ"];
    assert!(market["taker_fee_bips"].is_u64(), "{}", status.body);
    assert!(status.body["accountOpening"]["reserved"].is_u64());
    let audit = operator.look("audit", "");
    assert!(
        audit.good()["checked"]
            .as_str()
            .unwrap()
            .contains("balances")
    );
    assert!(audit.body["openOrders"].is_u64(), "{}", audit.body);
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
    let operator = OperatorListener::open(&exchange);
    for fees in [
        json!({"onchain": {"withdraw": "9"}}),
        json!({"transfer": {"QQQ": "5"}, "update": {"AAA": "7"}, "withdrawal": {"QQQ": "1", "AAA": "2"}}),
    ] {
        operator.request("set-service-fees", &fees).good();
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
