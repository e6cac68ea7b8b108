//! Orders from their acceptance to their end, amends, cancels and batches.

use cambist_server::Tier;
use serde_json::{Value, json};

use super::{Client, offers, opened, settings};
use crate::support::START_S;

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
