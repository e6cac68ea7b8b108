//! Kraken's interface over real HTTP: keys, signatures, nonces, orders, lists, ledger entries, counters, restarts. The
//! client is a text written from the published specification.

use std::cell::Cell;
use std::path::Path;

use cambist_kraken::sign::Secret;
use cambist_server::{
    DataFolder, Durable, KrakenConfig, KrakenKey, Permission, ServerConfig, Tier,
};
use cambist_venue::{AccountId, Compat};
use serde_json::{Value, json};

use crate::crash::Folder;
use crate::support::{Call, Customer, Exchange, START_S, Want, config, venue};

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

#[test]
fn it_is_absent_unless_it_is_configured() {
    let exchange = Exchange::start();
    assert_eq!(exchange.ask(&Call::get("/0/public/Time")).status, 404);
}

#[test]
fn public_methods_show_the_exchange() {
    let (exchange, mut other) = opened(settings());
    assert_eq!(shown(&exchange, "Time")["unixtime"], START_S);
    assert_eq!(shown(&exchange, "SystemStatus")["status"], "online");
    let assets = shown(&exchange, "Assets?asset=AAA");
    assert_eq!(assets["AAA"]["decimals"], 18);
    assert!(assets.get("QQQ").is_none());
    assert_eq!(
        public(&exchange, "Assets?asset=ZZZ")["error"][0],
        "EQuery:Unknown asset"
    );
    let pair = &shown(&exchange, "AssetPairs?pair=AAA/QQQ")["AAAQQQ"];
    assert_eq!(pair["pair_decimals"], 2);
    // 6 decimals of the quote less 2 of the price.
    assert_eq!(pair["lot_decimals"], 4);
    assert_eq!(pair["ordermin"], "0.0010");
    assert_eq!(pair["costmin"], "1.000000");
    assert_eq!(pair["tick_size"], "0.01");
    assert_eq!(pair["fees"], json!([[0, 0.1]]));
    assert_eq!(pair["fees_maker"], json!([[0, 0.02]]));
    offers(&exchange, &mut other, 10_050, 2);
    let depth = shown(&exchange, "Depth?pair=AAAQQQ&count=1");
    assert_eq!(
        depth["AAAQQQ"]["asks"],
        json!([["100.50", "2.0000", START_S]])
    );
    let client = Client::new(&exchange, "trader");
    client.add("buy", "100.50", "0.5", "");
    let trades = shown(&exchange, "Trades?pair=AAAQQQ");
    let trade = &trades["AAAQQQ"][0];
    assert_eq!(
        (&trade[0], &trade[1], &trade[3]),
        (&json!("100.50"), &json!("0.5000"), &json!("b"))
    );
    let last = trades["last"].as_str().unwrap();
    let later = shown(&exchange, &format!("Trades?pair=AAAQQQ&since={last}"));
    assert_eq!(
        (&later["AAAQQQ"], &later["last"]),
        (&json!([]), &json!(last))
    );
    let ticker = &shown(&exchange, "Ticker?pair=AAAQQQ")["AAAQQQ"];
    assert_eq!(ticker["a"], json!(["100.50", "1", "1.5000"]));
    assert_eq!(ticker["b"][0], "0.00");
    assert_eq!(
        (&ticker["c"], &ticker["t"]),
        (&json!(["100.50", "0.5000"]), &json!([1, 1]))
    );
    let candles = shown(&exchange, "OHLC?pair=AAAQQQ&interval=60");
    assert_eq!(candles["AAAQQQ"][0][5], "100.50", "the average price");
    for minutes in [1, 5, 15, 30, 60, 240, 1_440, 10_080, 21_600] {
        let candles = shown(&exchange, &format!("OHLC?pair=AAAQQQ&interval={minutes}"));
        let start_s = candles["AAAQQQ"][0][0].as_u64().unwrap();
        assert_eq!(start_s % (minutes * 60), 0, "{minutes}");
    }
    for (target, error) in [
        ("Depth?pair=NONE", "EQuery:Unknown asset pair"),
        ("Depth", "EGeneral:Invalid arguments:pair"),
        (
            "Depth?pair=AAAQQQ&count=501",
            "EGeneral:Invalid arguments:count",
        ),
        (
            "OHLC?pair=AAAQQQ&interval=7",
            "EGeneral:Invalid arguments:interval",
        ),
        ("Nothing", "EGeneral:Unknown method"),
    ] {
        assert_eq!(public(&exchange, target)["error"][0], error, "{target}");
    }
}

#[test]
fn keys_signatures_nonces_and_permissions_are_checked_in_this_order() {
    let (exchange, _other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let error = |call: &Call| {
        let reply = exchange.ask(call);
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.body["error"][0].as_str().unwrap_or("none").to_owned()
    };
    let path = "/0/private/Balance";
    assert_eq!(
        error(&Call::new("POST", path).body("nonce=1")),
        "EAPI:Invalid key"
    );
    let stranger = Client::new(&exchange, "stranger");
    assert_eq!(
        error(&stranger.signed("Balance", 1, "")),
        "EAPI:Invalid key"
    );
    // The signature covers path, nonce and body.
    let mut changed = client.signed("Balance", 5, "asset=AAA");
    changed.body = changed.body.replace("AAA", "QQQ");
    assert_eq!(error(&changed), "EAPI:Invalid signature");
    let mut changed = client.signed("Balance", 5, "");
    changed.target = "/0/private/BalanceEx".to_owned();
    assert_eq!(error(&changed), "EAPI:Invalid signature");
    let mut changed = client.signed("Balance", 5, "");
    changed.headers.retain(|(name, _)| *name != "API-Sign");
    assert_eq!(error(&changed), "EAPI:Invalid signature");
    // None of these has used the nonce.
    assert_eq!(error(&client.signed("Balance", 5, "")), "none");
    assert_eq!(
        error(&client.signed("Balance", 5, "")),
        "EAPI:Invalid nonce"
    );
    assert_eq!(
        error(&client.signed("Balance", 4, "")),
        "EAPI:Invalid nonce"
    );
    assert_eq!(
        error(&client.signed("Nothing", 6, "")),
        "EGeneral:Unknown method"
    );
    let path = "/0/private/Balance";
    let body = "nonce=abc";
    let without = Call::new("POST", path)
        .header("API-Key", "trader")
        .header("API-Sign", secret().sign(path, "abc", body.as_bytes()))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(body);
    assert_eq!(error(&without), "EAPI:Invalid nonce");
    // A window of 10 accepts what is behind by less.
    let window = Client::new(&exchange, "window");
    for (nonce, answer) in [
        (20, "none"),
        (11, "none"),
        (20, "none"),
        (10, "EAPI:Invalid nonce"),
    ] {
        assert_eq!(
            error(&window.signed("Balance", nonce, "")),
            answer,
            "{nonce}"
        );
    }
    let reader = Client::new(&exchange, "reader");
    reader.good("BalanceEx", "");
    for method in [
        "OpenOrders",
        "AddOrder",
        "CancelAll",
        "Ledgers",
        "WithdrawMethods",
    ] {
        assert_eq!(
            reader.error(method, ""),
            "EGeneral:Permission denied",
            "{method}"
        );
    }
    let thief = Client::new(&exchange, "thief");
    assert_eq!(thief.good("WithdrawMethods", ""), json!([]));
    assert_eq!(
        exchange.ask(&Call::get(path)).body["error"][0],
        "EGeneral:Unknown method"
    );
}

#[test]
fn a_json_body_is_a_form() {
    let (exchange, _other) = opened(settings());
    let path = "/0/private/AddOrder";
    let body = json!({
        "nonce": 77, "pair": "AAAQQQ", "type": "buy", "ordertype": "limit", "price": "99.5",
        "volume": "1", "validate": true,
    })
    .to_string();
    let call = Call::new("POST", path)
        .header("API-Key", "trader")
        .header("API-Sign", secret().sign(path, "77", body.as_bytes()))
        .header("Content-Type", "application/json")
        .body(body);
    let answer = exchange.ask(&call).body;
    let order = "buy 1.0000 AAAQQQ @ limit 99.50";
    assert_eq!(
        answer,
        json!({"error": [], "result": {"descr": {"order": order}}})
    );
    let client = Client::new(&exchange, "trader");
    assert_eq!(
        client.good("OpenOrders", ""),
        json!({"open": {}}),
        "only checked"
    );
}

#[test]
fn an_order_is_shown_from_its_acceptance_to_its_end() {
    let (exchange, mut other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    offers(&exchange, &mut other, 10_050, 1);
    let id = "6d1b345e-2821-40e2-ad83-4ecb18a06876";
    let more = format!("&cl_ord_id={id}&timeinforce=GTD&expiretm=%2B60");
    let txid = client.add("buy", "100.60", "2.5", &more);
    let open = client.good("OpenOrders", "trades=true");
    let order = &open["open"][&txid];
    assert_eq!(order["status"], "open");
    assert_eq!(
        (&order["vol"], &order["vol_exec"]),
        (&json!("2.5000"), &json!("1.0000"))
    );
    // Costs and fees of orders have 5 decimals.
    assert_eq!(
        (&order["cost"], &order["fee"]),
        (&json!("100.50000"), &json!("0.10050"))
    );
    assert_eq!(
        (&order["price"], &order["cl_ord_id"]),
        (&json!("100.50"), &json!(id))
    );
    assert_eq!(order["expiretm"], START_S + 60);
    assert_eq!(order["trades"].as_array().unwrap().len(), 1);
    assert_eq!(order["descr"]["order"], "buy 2.5000 AAAQQQ @ limit 100.60");
    let found = client.good("OpenOrders", &format!("cl_ord_id={id}"));
    assert_eq!(found["open"].as_object().unwrap().len(), 1);
    let found = client.good("OpenOrders", "cl_ord_id=another");
    assert_eq!(found["open"], json!({}));
    // What it holds.
    let balance = client.good("BalanceEx", "");
    assert_eq!(balance["AAA"]["balance"], "1001.000000000000000000");
    assert_ne!(balance["QQQ"]["hold_trade"], "0.000000");
    exchange.clock.pass_ms(60_000);
    assert_eq!(client.good("OpenOrders", "")["open"], json!({}));
    let closed = client.good("ClosedOrders", "");
    assert_eq!(closed["count"], 1);
    let order = &closed["closed"][&txid];
    assert_eq!(order["status"], "expired");
    assert_eq!(order["closetm"].to_string(), format!("{}.0", START_S + 60));
    assert_eq!(
        client.good("QueryOrders", &format!("txid={txid}"))[&txid]["status"],
        "expired"
    );
    let unknown = cambist_kraken::id::encode(cambist_kraken::id::Kind::Order, 999_999);
    assert_eq!(
        client.error("QueryOrders", &format!("txid={unknown}")),
        "EOrder:Invalid order"
    );
    // The window of a list begins behind its start and ends with its end.
    let times = |start, end| {
        let form = format!("start={start}&end={end}&closetime=open");
        client.good("ClosedOrders", &form)["count"].clone()
    };
    assert_eq!(times(START_S, START_S + 1), 0);
    assert_eq!(times(START_S - 1, START_S), 1);
}

#[test]
fn ledgers_add_up_to_balances_and_name_trades() {
    let (exchange, mut other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    client.good("Balance", "");
    offers(&exchange, &mut other, 10_033, 1);
    client.add("buy", "100.40", "0.7003", "&oflags=fcib");
    client.add("sell", "100.90", "0.1234", "&oflags=post");
    let call = exchange.customer(3).submit(Want::Buy, 10_090, 2);
    exchange.ask(&call).good();
    let trades = client.good("TradesHistory", "ledgers=true");
    assert_eq!(trades["count"], 2);
    let first = trades["trades"].as_object().unwrap().values();
    let taker = first
        .clone()
        .find(|trade| trade["maker"] == json!(false))
        .unwrap();
    assert_eq!(taker["cost"], "70.261099");
    assert_eq!(
        taker["fee"], "0.000700300000000000",
        "ten-thousandths of what was bought"
    );
    let entries = client.good("Ledgers", "");
    assert_eq!(
        entries["count"], 6,
        "two openings and two trades of two entries"
    );
    let entries = entries["ledger"].as_object().unwrap();
    let balance = client.good("Balance", "");
    for (asset, decimals) in [("AAA", 18), ("QQQ", 6)] {
        let units = |text: &Value| -> i128 {
            let text = text.as_str().unwrap().replace('.', "");
            assert!(!text.is_empty() && decimals > 0);
            text.parse().unwrap()
        };
        let of_asset = entries.values().filter(|entry| entry["asset"] == asset);
        let sum: i128 = of_asset
            .map(|entry| units(&entry["amount"]) - units(&entry["fee"]))
            .sum();
        assert_eq!(sum, units(&balance[asset]), "{asset}");
    }
    for ledger in taker["ledgers"].as_array().unwrap() {
        let id = ledger.as_str().unwrap();
        let entry = &client.good("QueryLedgers", &format!("id={id}"))[id];
        let trade = entry["refid"].as_str().unwrap();
        let found = client.good("QueryTrades", &format!("txid={trade}"));
        assert_eq!(found[trade]["cost"], "70.261099");
    }
    let only = client.good("Ledgers", "type=trade&asset=QQQ&without_count=true");
    assert_eq!(only["ledger"].as_object().unwrap().len(), 2);
    assert!(only.get("count").is_none());
    let volume = client.good("TradeVolume", "pair=AAAQQQ");
    assert_eq!(volume["fees_maker"]["AAAQQQ"]["fee"], "0.0200");
}

#[test]
fn lists_are_paged_and_newest_first() {
    let (exchange, _other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let mut made = Vec::new();
    for number in 0..60 {
        made.push(client.add("buy", "90", "1", &format!("&userref={}", 1 + number % 2)));
        exchange.clock.pass_ms(1_000);
    }
    assert_eq!(client.good("CancelAll", ""), json!({"count": 60}));
    client.nonce.set(client.nonce.get() + 1);
    let reply = exchange.ask(&client.signed("ClosedOrders", client.nonce.get(), "ofs=50"));
    assert_eq!(reply.body["result"]["count"], 60);
    // As text, because the order of the entries counts.
    let places: Vec<_> = made[..10]
        .iter()
        .map(|txid| reply.text.find(txid.as_str()).unwrap())
        .collect();
    assert!(
        places.is_sorted_by(|a, b| a > b),
        "the oldest is last: {places:?}"
    );
    assert!(!reply.text.contains(&made[10]));
    let by_ref = client.good("ClosedOrders", "userref=1");
    assert_eq!(by_ref["count"], 30);
    let until = client.good("ClosedOrders", &format!("end={}&closetime=open", made[3]));
    assert_eq!(
        until["count"], 4,
        "an identifier names the time of its order"
    );
}

#[test]
fn orders_are_amended_and_cancelled() {
    let (exchange, _other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let txid = client.add("buy", "90", "2", "");
    client.good("AmendOrder", &format!("txid={txid}&order_qty=1.5"));
    client.good(
        "AmendOrder",
        &format!("txid={txid}&limit_price=91.25&post_only=true"),
    );
    let order = client.good("OpenOrders", "")["open"][&txid].clone();
    assert_eq!(order["descr"]["price"], "91.25");
    assert_eq!(order["vol"], "1.5000");
    assert_eq!(
        client.good("CancelOrder", &format!("txid={txid}")),
        json!({"count": 1})
    );
    assert_eq!(
        client.error("CancelOrder", &format!("txid={txid}")),
        "EOrder:Unknown order"
    );
    assert_eq!(
        client.error("AmendOrder", &format!("txid={txid}&order_qty=1")),
        "EOrder:Unknown order"
    );
    client.add("buy", "90", "1", "&userref=9");
    client.add("buy", "90", "1", "&userref=9");
    assert_eq!(client.good("CancelOrder", "txid=9"), json!({"count": 2}));
    let [a, b] = [
        client.add("buy", "90", "1", ""),
        client.add("buy", "90", "1", ""),
    ];
    let both = client.good("CancelOrderBatch", &format!("orders={a},{b}"));
    assert_eq!(both, json!({"count": 2}));
    let after = client.good("CancelAllOrdersAfter", "timeout=60");
    assert_eq!(after["currentTime"], "2023-11-14T22:13:20Z");
    assert_eq!(after["triggerTime"], "2023-11-14T22:14:20Z");
    client.add("buy", "90", "1", "");
    exchange.clock.pass_ms(60_000);
    assert_eq!(client.good("OpenOrders", "")["open"], json!({}));
    let after = client.good("CancelAllOrdersAfter", "timeout=0");
    assert_eq!(after["triggerTime"], "0");
}

#[test]
fn what_is_wrong_with_an_order_is_named_and_uses_the_nonce() {
    let (exchange, _other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let good = "pair=AAAQQQ&type=buy&ordertype=limit&price=90&volume=1";
    for (from, to, error) in [
        ("pair=AAAQQQ", "pair=AAAZZZ", "EQuery:Unknown asset pair"),
        ("type=buy", "type=hold", "EGeneral:Invalid arguments:type"),
        ("limit", "stop-loss", "EGeneral:Invalid arguments:ordertype"),
        ("price=90", "price=90.001", "EOrder:Invalid price"),
        ("price=90", "price=%2B5", "EGeneral:Invalid arguments:price"),
        ("price=90", "", "EGeneral:Invalid arguments:price"),
        (
            "volume=1",
            "volume=1.00001",
            "EGeneral:Invalid arguments:volume",
        ),
        ("volume=1", "volume=-1", "EGeneral:Invalid arguments:volume"),
        ("volume=1", "volume=0.0009", "EOrder:Order minimum not met"),
        ("volume=1", "volume=0.01", "EOrder:Cost minimum not met"),
        ("volume=1", "volume=999", "none"),
        (
            "volume=1",
            "volume=1000&oflags=viqc",
            "EGeneral:Invalid arguments:oflags",
        ),
        (
            "volume=1",
            "volume=1&leverage=5",
            "EGeneral:Invalid arguments:leverage",
        ),
        (
            "volume=1",
            "volume=1&timeinforce=GTD",
            "EGeneral:Invalid arguments:expiretm",
        ),
        (
            "volume=1",
            "volume=1&expiretm=%2B60",
            "EGeneral:Invalid arguments:expiretm",
        ),
        (
            "volume=1",
            "volume=1&timeinforce=FOK",
            "EGeneral:Invalid arguments:timeinforce",
        ),
        (
            "volume=1",
            "volume=1&validate=perhaps",
            "EGeneral:Invalid arguments:validate",
        ),
        (
            "volume=1",
            "volume=1&deadline=soon",
            "EGeneral:Invalid arguments:deadline",
        ),
        (
            "volume=1",
            "volume=1&deadline=2023-11-14T22:13:19Z",
            "EService:Deadline elapsed",
        ),
        (
            "volume=1",
            "volume=1&cl_ord_id=a&userref=1",
            "EGeneral:Invalid arguments:cl_ord_id",
        ),
        (
            "volume=1",
            "volume=1&close[ordertype]=limit",
            "EGeneral:Invalid arguments:close[ordertype]",
        ),
        (
            "volume=1",
            "volume=1&volume=2",
            "EGeneral:Invalid arguments:volume",
        ),
        (
            "volume=1",
            "volume=1&oflags=fcib,fciq",
            "EGeneral:Invalid arguments:oflags",
        ),
        (
            "volume=1",
            "volume=1&close=x",
            "EGeneral:Invalid arguments:close",
        ),
    ] {
        client.nonce.set(client.nonce.get() + 1);
        let call = client.signed("AddOrder", client.nonce.get(), &good.replace(from, to));
        let answer = exchange.ask(&call).body;
        let answered = answer["error"][0].as_str().unwrap_or("none");
        assert_eq!(answered, error, "{to}: {answer}");
        let again = exchange.ask(&call).body;
        assert_eq!(again["error"][0], "EAPI:Invalid nonce", "{to}");
    }
}

#[test]
fn batches_answer_each_order() {
    let (exchange, _other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let order = |price: &str, volume: &str| json!({"type": "buy", "ordertype": "limit", "price": price, "volume": volume});
    let send = |orders: Vec<Value>| {
        let body = json!({"pair": "AAAQQQ", "orders": orders});
        client.json("AddOrderBatch", &body)
    };
    // 1,000,000 are held.
    let answer = send(vec![order("90", "1"), order("9900", "100")]);
    let orders = answer["result"]["orders"].as_array().unwrap();
    assert!(orders[0]["txid"].is_string());
    assert!(orders[1]["txid"].is_string());
    let answer = send(vec![order("90", "1"), order("9900", "100")]);
    let orders = answer["result"]["orders"].as_array().unwrap();
    assert!(orders[0]["txid"].is_string());
    assert_eq!(orders[1], json!({"error": "EOrder:Insufficient funds"}));
    client.good("CancelAll", "");
    let answer = send(vec![order("90", "1"), order("90", "0.0001")]);
    assert_eq!(answer["error"], json!(["EOrder:Order minimum not met"]));
    let mut named = order("90", "1");
    named["cl_ord_id"] = json!("a");
    let answer = send(vec![named.clone(), named]);
    assert_eq!(answer["error"][0], "EGeneral:Invalid arguments:cl_ord_id");
    assert_eq!(client.good("OpenOrders", "")["open"], json!({}));
    let answer = send(vec![order("90", "1")]);
    assert_eq!(answer["error"][0], "EGeneral:Invalid arguments:orders");
}

#[test]
fn parameters_in_the_wrong_place_are_refused_by_name() {
    let (exchange, _other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let row = json!({"type": "buy", "ordertype": "limit", "price": "90", "volume": "1"});
    for (place, name, value) in [
        ("entry", "validate", json!(true)),
        ("entry", "deadline", json!("2023-11-14T22:13:30Z")),
        ("entry", "pair", json!("AAAQQQ")),
        ("entry", "nonce", json!(7)),
        ("top", "leverage", json!("5")),
        ("top", "timeinforce", json!("IOC")),
        ("top", "cl_ord_id", json!("a")),
        ("top", "anything", json!("else")),
    ] {
        let mut body = json!({"pair": "AAAQQQ", "orders": [row, row]});
        let into = match place {
            "entry" => &mut body["orders"][1],
            _ => &mut body,
        };
        into[name] = value;
        let answer = client.json("AddOrderBatch", &body);
        let error = format!("EGeneral:Invalid arguments:{name}");
        assert_eq!(answer["error"], json!([error]), "{place}");
    }
    for (method, form, name) in [
        ("AmendOrder", "txid=1&display_qty=1", "display_qty"),
        ("AmendOrder", "txid=1&timeinforce=GTC", "timeinforce"),
        ("CancelOrder", "txid=1&userref=7", "userref"),
        ("CancelOrderBatch", "orders=1&txid=1", "txid"),
        ("CancelAll", "pair=AAAQQQ", "pair"),
        ("CancelAllOrdersAfter", "timeout=0&pair=AAAQQQ", "pair"),
    ] {
        let error = format!("EGeneral:Invalid arguments:{name}");
        assert_eq!(client.error(method, form), error, "{form}");
    }
    assert_eq!(client.good("OpenOrders", "")["open"], json!({}));
}

#[test]
fn bodies_are_read_behind_the_signature_and_use_their_nonce() {
    let (exchange, _other) = opened(settings());
    let path = "/0/private/AddOrder";
    let ask = |body: &str, nonce: &str, kind: &str, signed: &str| {
        let call = Call::new("POST", path)
            .header("API-Key", "trader")
            .header("API-Sign", secret().sign(path, nonce, signed.as_bytes()))
            .header("Content-Type", kind)
            .body(body);
        exchange.ask(&call).body["error"][0].clone()
    };
    let json = "application/json";
    let twice = r#"{"nonce":5,"pair":"AAAQQQ","volume":1,"volume":2}"#;
    assert_eq!(ask(twice, "5", json, "other"), "EAPI:Invalid signature");
    let error = "EGeneral:Invalid arguments:volume";
    assert_eq!(ask(twice, "5", json, twice), error);
    assert_eq!(ask(twice, "5", json, twice), "EAPI:Invalid nonce");
    // A condition is refused as it is in a form; types of contents have no case.
    let close = r#"{"nonce":6,"pair":"AAAQQQ","type":"buy","ordertype":"limit","price":"90","volume":"1",
        "close":{"ordertype":"limit","price":"95"}}"#;
    let error = "EGeneral:Invalid arguments:close[ordertype]";
    assert_eq!(
        ask(close, "6", "Application/JSON ; charset=utf-8", close),
        error
    );
    let nested = r#"{"nonce":7,"pair":{"a":{"b":1}}}"#;
    assert_eq!(ask(nested, "7", json, nested), "EGeneral:Invalid arguments");
    assert_eq!(ask(nested, "7", json, nested), "EAPI:Invalid nonce");
    let form = "nonce=8&pair=AAAQQQ&pair=AAAQQQ";
    let kind = "application/x-www-form-urlencoded";
    assert_eq!(ask(form, "8", kind, "nonce=8"), "EAPI:Invalid signature");
    let error = "EGeneral:Invalid arguments:pair";
    assert_eq!(ask(form, "8", kind, form), error);
    assert_eq!(ask(form, "8", kind, form), "EAPI:Invalid nonce");
    // Without a nonce nothing is signed.
    for text in ["{", "[]", r#"{"pair":"AAAQQQ"}"#] {
        assert_eq!(ask(text, "9", json, text), "EAPI:Invalid nonce", "{text}");
    }
}

#[test]
fn amends_and_batches_need_the_published_permissions() {
    let (exchange, _other) = opened(settings());
    let [trader, mover, closer] =
        ["trader", "mover", "closer"].map(|name| Client::new(&exchange, name));
    let txid = trader.add("buy", "90", "2", "");
    for (client, volume) in [(&mover, "1.9"), (&closer, "1.8")] {
        let form = format!("txid={txid}&order_qty={volume}");
        client.good("AmendOrder", &form);
    }
    let denied = "EGeneral:Permission denied";
    for client in [&mover, &closer] {
        assert_eq!(client.error("AddOrderBatch", ""), denied);
    }
    assert_eq!(closer.error("AddOrder", ""), denied);
    assert_ne!(mover.error("AddOrder", ""), denied);
    assert_ne!(trader.error("AddOrderBatch", ""), denied);
}

#[test]
fn batches_of_cancels_take_every_form() {
    let (exchange, _other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let add = |more: &str| client.add("buy", "90", "1", more);
    let [a, b] = [add(""), add("&cl_ord_id=c0")];
    let cancels = |body: Value| client.json("CancelOrderBatch", &body);
    let count = |count: u64| json!({"error": [], "result": {"count": count}});
    // What names nothing is left out.
    assert_eq!(
        cancels(json!({"orders": [a, "?"], "cl_ord_ids": ["ä"]})),
        count(1)
    );
    let unknown = json!({"error": ["EOrder:Unknown order"]});
    assert_eq!(cancels(json!({"orders": ["?"]})), unknown);
    assert_eq!(
        cancels(json!({"cl_ord_ids": [{"cl_ord_id": "c0"}]})),
        count(1)
    );
    assert_eq!(cancels(json!({"orders": [{"txid": b}]})), unknown);
    add("&userref=9");
    add("&userref=9");
    let c = add("&cl_ord_id=c,1");
    let body = json!({"orders": [{"txid": 9}, {"txid": c}], "cl_ord_ids": ["c,1"]});
    assert_eq!(cancels(body), count(3), "each once");
    let ids = |count: usize| (0..count).map(|n| format!("c{n}")).collect::<Vec<_>>();
    let error = json!({"error": ["EGeneral:Invalid arguments:orders"]});
    assert_eq!(cancels(json!({"cl_ord_ids": ids(51)})), error);
    assert_eq!(cancels(json!({"cl_ord_ids": ids(50)})), unknown);
    assert_eq!(
        cancels(json!({"cl_ord_ids": vec!["c0"; 51]})),
        unknown,
        "of different names"
    );
    assert_eq!(cancels(json!({"orders": []})), error);
    let error = json!({"error": ["EGeneral:Invalid arguments:userref"]});
    assert_eq!(cancels(json!({"orders": [{"userref": 9}]})), error);
}

#[test]
fn unknown_methods_are_refused_whatever_their_path() {
    let (exchange, _other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    for method in ["Earn/Strategies", "Balance/", "", "Nothing"] {
        assert_eq!(
            client.error(method, ""),
            "EGeneral:Unknown method",
            "{method}"
        );
        let answer = public(&exchange, method);
        assert_eq!(answer["error"][0], "EGeneral:Unknown method", "{method}");
    }
}

#[test]
fn the_candle_of_now_is_always_there() {
    let (exchange, mut other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let candles = |since: u64| {
        let shown = shown(&exchange, &format!("OHLC?pair=AAAQQQ&since={since}"));
        let starts: Vec<_> = shown["AAAQQQ"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row[0].as_u64().unwrap())
            .collect();
        (starts, shown["last"].clone(), shown["AAAQQQ"].clone())
    };
    assert_eq!(candles(0).0, Vec::<u64>::new(), "no price yet");
    offers(&exchange, &mut other, 10_050, 2);
    client.add("buy", "100.50", "0.5", "");
    let first = START_S - START_S % 60;
    assert_eq!(candles(START_S + 500).0, [first]);
    exchange.clock.pass_ms(120_000);
    let (starts, last, rows) = candles(first + 1);
    assert_eq!((starts, last), (vec![first + 120], json!(first)));
    let price = "100.50";
    let empty = json!([first + 120, price, price, price, price, "0.00", "0.0000", 0]);
    assert_eq!(rows[0], empty);
    assert_eq!(candles(0).0, [first, first + 120]);
}

#[test]
fn public_lists_answer_what_is_asked() {
    let (exchange, mut other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    offers(&exchange, &mut other, 10_050, 2);
    client.add("buy", "100.50", "0.5", "");
    client.good(
        "AddOrder",
        "pair=AAAQQQ&type=buy&ordertype=market&volume=0.5",
    );
    let trades = shown(&exchange, "Trades?pair=AAAQQQ");
    assert_eq!(
        [&trades["AAAQQQ"][0][4], &trades["AAAQQQ"][1][4]],
        ["l", "m"]
    );
    let fields = |info: &str| {
        let pair = shown(&exchange, &format!("AssetPairs?pair=AAAQQQ&info={info}"));
        let fields = pair["AAAQQQ"].as_object().unwrap().keys().cloned();
        fields.collect::<Vec<_>>()
    };
    assert_eq!(fields("leverage"), ["leverage_buy", "leverage_sell"]);
    assert_eq!(
        fields("fees"),
        ["fee_volume_currency", "fees", "fees_maker"]
    );
    assert_eq!(fields("margin"), ["margin_call", "margin_stop"]);
    assert!(fields("info").len() > 20);
    for (target, error) in [
        ("AssetPairs?info=all", "EGeneral:Invalid arguments:info"),
        (
            "AssetPairs?aclass_base=x",
            "EGeneral:Invalid arguments:aclass_base",
        ),
        ("Assets?aclass=x", "EGeneral:Invalid arguments:aclass"),
        (
            "Assets?aclass=tokenized_asset&asset=AAA",
            "EQuery:Unknown asset",
        ),
    ] {
        assert_eq!(public(&exchange, target)["error"][0], error, "{target}");
    }
    assert_eq!(shown(&exchange, "Assets?aclass=tokenized_asset"), json!({}));
    assert_eq!(
        shown(&exchange, "AssetPairs?aclass_base=tokenized_asset"),
        json!({})
    );
    assert_ne!(client.good("Ledgers", "aclass=currency")["count"], 0);
    assert_eq!(client.good("Ledgers", "aclass=tokenized_asset")["count"], 0);
    for (method, form, name) in [
        ("Ledgers", "aclass=x", "aclass"),
        ("Ledgers", "type=x", "type"),
        ("TradesHistory", "type=x", "type"),
    ] {
        let error = format!("EGeneral:Invalid arguments:{name}");
        assert_eq!(client.error(method, form), error);
    }
}

#[test]
fn orders_show_what_happened_to_them() {
    let (exchange, mut other) = opened(settings());
    let client = Client::new(&exchange, "trader");
    let misc = |txid: &str| {
        let found = client.good("QueryOrders", &format!("txid={txid}"));
        found[txid]["misc"].clone()
    };
    let txid = client.add("buy", "90", "2", "&userref=5");
    assert_eq!(misc(&txid), "");
    client.good("AmendOrder", &format!("txid={txid}&order_qty=1.5"));
    assert_eq!(misc(&txid), "amended");
    offers(&exchange, &mut other, 10_050, 1);
    client.good("AmendOrder", &format!("txid={txid}&limit_price=100.5"));
    assert_eq!(misc(&txid), "partial,amended");
    let filled = client.add("buy", "90", "1", "&userref=5");
    assert_eq!(misc(&filled), "");
    // By their reference alone, newest first.
    client.nonce.set(client.nonce.get() + 1);
    let reply = exchange.ask(&client.signed("QueryOrders", client.nonce.get(), "userref=5"));
    let places = [&filled, &txid].map(|txid| reply.text.find(txid.as_str()).unwrap());
    assert!(places[0] < places[1], "{}", reply.text);
    assert_eq!(
        client.error("QueryOrders", "userref=6"),
        "EOrder:Invalid order"
    );
    assert_eq!(
        client.error("QueryOrders", ""),
        "EGeneral:Invalid arguments:txid"
    );
    // What is left of a filled order is cancelled by an amend below what was filled.
    client.good("AmendOrder", &format!("txid={txid}&order_qty=0.5"));
    let closed = client.good("QueryOrders", &format!("txid={txid}"))[&txid].clone();
    assert_eq!(
        [&closed["status"], &closed["vol_exec"]],
        ["canceled", "1.0000"]
    );
    let form = format!("txid={filled}&order_qty=9999");
    let error = "EGeneral:Invalid arguments:order_qty";
    assert_eq!(client.error("AmendOrder", &form), error);
}

#[test]
fn counters_refuse_orders_and_never_cancels() {
    let mut kraken = settings();
    kraken.tier = Tier::Starter;
    let (exchange, _other) = opened(kraken);
    let client = Client::new(&exchange, "trader");
    // A cancel of a young order counts 8, an order 1: after six of each and six more orders 60 are reached.
    for _ in 0..6 {
        let txid = client.add("buy", "90", "1", "");
        client.good("CancelOrder", &format!("txid={txid}"));
    }
    for _ in 0..6 {
        client.add("buy", "90", "1", "");
    }
    let form = "pair=AAAQQQ&type=buy&ordertype=limit&price=90&volume=1";
    assert_eq!(client.error("AddOrder", form), "EOrder:Rate limit exceeded");
    client.good("AddOrder", &format!("{form}&validate=true"));
    // So does each that is cancelled with all others, up to the maximum.
    exchange.clock.pass_ms(40_000);
    assert_eq!(client.good("CancelAll", ""), json!({"count": 6}));
    for _ in 0..16 {
        client.add("buy", "90", "1", "");
    }
    assert_eq!(client.error("AddOrder", form), "EOrder:Rate limit exceeded");
    exchange.clock.pass_ms(1_000);
    client.add("buy", "90", "1", "");
    // Calls count for the key: 15, and one more in 3 s.
    let mut calls = 0;
    while client.answer("OpenOrders", "")["error"] == json!([]) {
        calls += 1;
    }
    assert_eq!(calls, 15);
    assert_eq!(client.error("Balance", ""), "EAPI:Rate limit exceeded");
    exchange.clock.pass_ms(7_000);
    client.good("Ledgers", "");
}

#[test]
fn a_new_order_is_absent_from_lists_for_the_lag() {
    let mut kraken = settings();
    kraken.list_lag_ms = 2_000;
    let (exchange, _other) = opened(kraken);
    let client = Client::new(&exchange, "trader");
    let txid = client.add("buy", "90", "1", "");
    let shown = || client.good("OpenOrders", "")["open"].get(&txid).is_some();
    assert!(!shown());
    exchange.clock.pass_ms(1_999);
    assert!(!shown());
    exchange.clock.pass_ms(1);
    assert!(shown());
}

#[test]
fn a_new_entry_is_absent_from_the_ledger_for_the_lag() {
    let mut kraken = settings();
    kraken.list_lag_ms = 2_000;
    let (exchange, mut other) = opened(kraken);
    let client = Client::new(&exchange, "trader");
    client.good("Balance", "");
    exchange.clock.pass_ms(2_000);
    offers(&exchange, &mut other, 10_050, 1);
    client.add("buy", "100.50", "1", "");
    let shown = || client.good("Ledgers", "type=trade")["count"].clone();
    for (passed_ms, count) in [(0, 0), (1_999, 0), (1, 2)] {
        exchange.clock.pass_ms(passed_ms);
        assert_eq!(shown(), count, "{passed_ms}");
    }
}

fn durable(folder: &Path) -> Durable {
    let data = DataFolder::take(folder).unwrap();
    let recovered = data.recover().unwrap();
    recovered.unwrap_or_else(|| data.begin(venue(Compat::Both), Vec::new()).unwrap())
}

#[test]
fn nonces_orders_and_ledgers_survive_a_restart() {
    let folder = Folder::new("kraken-restart");
    std::fs::create_dir_all(folder.path()).unwrap();
    let config = server(settings());
    let mut exchange = Exchange::durable_by(&config, durable(&folder.path().join("data")));
    exchange.customer(CUSTOMER);
    let mut other = exchange.customer(2);
    offers(&exchange, &mut other, 10_050, 1);
    let (txid, nonce, before) = {
        let client = Client::new(&exchange, "trader");
        let txid = client.add("buy", "100.50", "1.5", "&cl_ord_id=mine&userref=0");
        client.good("CancelAllOrdersAfter", "timeout=60");
        let ledger = client.good("Ledgers", "");
        (txid, client.nonce.get(), ledger)
    };
    exchange.stop().unwrap();
    drop(exchange);
    let again = Exchange::durable_by(&config, durable(&folder.path().join("data")));
    let client = Client::new(&again, "trader");
    let replayed = again.ask(&client.signed("OpenOrders", nonce, "")).body;
    assert_eq!(replayed["error"][0], "EAPI:Invalid nonce");
    client.nonce.set(nonce);
    let order = client.good("OpenOrders", "")["open"][&txid].clone();
    assert_eq!(
        (&order["vol_exec"], &order["cl_ord_id"]),
        (&json!("1.0000"), &json!("mine"))
    );
    assert_eq!(client.good("Ledgers", ""), before);
    again.clock.pass_ms(60_000);
    assert_eq!(
        client.good("OpenOrders", "")["open"],
        json!({}),
        "the timer goes on"
    );
    let quote = client.good("BalanceEx", "")["QQQ"].clone();
    assert_eq!(quote["hold_trade"], "0.000000");
    // 1,000,000 less 100.50 and its fee of 0.1005.
    assert_eq!(quote["balance"], "999899.399500");
}
