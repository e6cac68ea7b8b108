//! Request signatures in every public form, and every way in which they are wrong.

use cambist_server::Rate;
use cambist_signing::request_signature::{docs_form, sdk_form};

use crate::support::{Call, Customer, Exchange, Want, config, generous};

const PATH: &str = "/api/v3/order";

/// A client id in which the canonical forms differ, and its forms: encoded once, and once more.
struct Awkward {
    plain: String,
    once: String,
    twice: String,
}

impl Awkward {
    fn new(number: usize) -> Self {
        Self {
            plain: format!("my order, (no. {number})~"),
            once: format!("my%20order%2C%20%28no.%20{number}%29~"),
            twice: format!("my%2520order%252C%2520%2528no.%2520{number}%2529~"),
        }
    }

    fn rest(&self, exchange: &Exchange, customer: &mut Customer) {
        let mut order = customer.order(Want::Buy, 200_000, 1);
        order["clientOrderId"] = serde_json::json!(self.plain);
        customer.sign(&mut order);
        exchange.ask(&customer.post_order(&order)).good();
    }
}

fn cancel(customer: &Customer, query: &str, text: &str) -> Call {
    customer
        .with_key(Call::new("DELETE", format!("{PATH}?{query}")))
        .header("X-API-SIG", customer.sign_text(text))
}

#[test]
fn every_public_form_of_a_signed_cancel_is_accepted() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    let (base, id) = (exchange.base_url(), alice.account.0.to_string());
    let url = format!("{base}{PATH}")
        .replace(':', "%3A")
        .replace('/', "%2F");
    for case in 0..6 {
        let awkward = Awkward::new(case);
        let Awkward { plain, once, twice } = &awkward;
        let params = [("accountId", id.as_str()), ("clientOrderId", plain)];
        let sorted = format!("accountId={id}&clientOrderId={once}");
        let reversed = format!("clientOrderId={once}&accountId={id}");
        let docs = docs_form("DELETE", &base, PATH, &params);
        let (query, text) = match case {
            // (a) sorted, encoded twice; sorted or not on the way, or everything twice.
            0 => (sorted, docs),
            1 => (reversed, docs),
            2 => (format!("{sorted}&{sorted}"), docs),
            // (b) the JavaScript client's.
            3 => (sorted, sdk_form("DELETE", &base, PATH, &params)),
            // (c) encoded twice in the order received.
            4 => {
                let params = format!("clientOrderId%3D{twice}%26accountId%3D{id}");
                (reversed, format!("DELETE&{url}&{params}"))
            }
            // (d) encoded once in the order received.
            _ => {
                let params = format!("clientOrderId%3D{once}%26accountId%3D{id}");
                (reversed, format!("DELETE&{url}&{params}"))
            }
        };
        awkward.rest(&exchange, &mut alice);
        let reply = exchange.ask(&cancel(&alice, &query, &text));
        assert_eq!(reply.good()["status"], "cancelled", "{text}");
    }
}

#[test]
fn a_signature_counts_for_the_addresses_of_one_exchange_whatever_host_says() {
    // Cancels nothing: a valid signature gets the error for an unknown order.
    let code = |exchange: &Exchange, alice: &Customer, base: &str, host: Option<&str>| {
        let (id, hash) = (alice.account.0.to_string(), format!("0x{:064x}", 1));
        let parameters = [("accountId", id.as_str()), ("orderHash", hash.as_str())];
        let text = sdk_form("DELETE", base, PATH, &parameters);
        let mut call = cancel(alice, &format!("accountId={id}&orderHash={hash}"), &text);
        if let Some(host) = host {
            call = call.header("Host", host);
        }
        exchange.ask(&call).code()
    };
    let (good, wrong) = (102_117, 104_005);

    let mut hosted = config();
    hosted.public_url = Some("https://api.example.com/exchange/".to_owned());
    hosted.further_urls = vec!["http://127.0.0.1:8787/".to_owned()];
    let exchange = Exchange::with(&hosted);
    let alice = exchange.customer(1);
    let code_of = |base: &str, host| code(&exchange, &alice, base, host);
    assert_eq!(code_of("https://api.example.com/exchange", None), good);
    assert_eq!(code_of("http://127.0.0.1:8787", None), good);
    // Signed for another exchange, and repeated here under its name.
    for other in [
        "http://venue.local:80",
        "https://api.example.com",
        "http://127.0.0.1:8788",
    ] {
        let name = other.split_once("://").map(|(_, name)| name);
        assert_eq!(code_of(other, name), wrong, "{other}");
        assert_eq!(code_of(other, None), wrong, "{other}");
    }
    assert_eq!(code_of(&exchange.base_url(), None), wrong, "in no list");

    let local = Exchange::start();
    let bob = local.customer(2);
    let code_of = |base: &str, host| code(&local, &bob, base, host);
    assert_eq!(code_of(&local.base_url(), None), good);
    assert_eq!(
        code_of("http://venue.local:80", Some("venue.local:80")),
        good
    );
    assert_eq!(code_of("http://venue.local", None), wrong);
}

/// GET apiKey, bound to a time or not.
fn get_key(exchange: &Exchange, customer: &Customer, base: &str, timestamp: Option<u64>) -> Call {
    let id = customer.account.0.to_string();
    let mut target = format!("/api/v3/apiKey?accountId={id}");
    let time = timestamp.map(|time| time.to_string()).unwrap_or_default();
    let mut parameters = vec![("accountId", id.as_str())];
    if timestamp.is_some() {
        target.push_str("&timestamp=");
        target.push_str(&time);
        parameters.push(("timestamp", &time));
    }
    let base = if base.is_empty() {
        exchange.base_url()
    } else {
        base.to_owned()
    };
    let text = sdk_form("GET", &base, "/api/v3/apiKey", &parameters);
    Call::get(target).header("X-API-SIG", customer.sign_text(&text))
}

#[test]
fn a_recorded_request_for_the_key_does_not_fetch_the_next_one() {
    const PUBLIC: &str = "https://api.example.com";
    let mut config = config();
    config.public_url = Some(PUBLIC.to_owned());
    let exchange = Exchange::with(&config);
    let mut alice = exchange.customer(1);
    let now = || exchange.handle.now().0;
    let early = get_key(&exchange, &alice, PUBLIC, Some(now() - 1));
    assert_eq!(exchange.ask(&early).code(), 104_005, "before the start");
    exchange.clock.pass_ms(1_000);
    let recorded = get_key(&exchange, &alice, PUBLIC, Some(now()));
    assert_eq!(exchange.ask(&recorded).good()["apiKey"], alice.api_key);
    exchange.clock.pass_ms(5_000);
    assert_eq!(exchange.ask(&recorded).good()["apiKey"], alice.api_key);

    let body = format!("{{\"accountId\":{}}}", alice.account.0);
    let replaced = alice.with_key(Call::new("POST", "/api/v3/apiKey").body(body));
    let fresh = exchange.ask(&replaced).good()["apiKey"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_ne!(fresh, alice.api_key);
    assert_eq!(exchange.ask(&recorded).code(), 104_005, "after the change");
    // Made after the change, it fetches the key; until it is too old, and never ahead of time.
    exchange.clock.pass_ms(1);
    let again = get_key(&exchange, &alice, PUBLIC, Some(now()));
    exchange.clock.pass_ms(30_000);
    assert_eq!(exchange.ask(&again).good()["apiKey"], fresh);
    exchange.clock.pass_ms(1);
    assert_eq!(exchange.ask(&again).code(), 104_005, "too old");
    let ahead = get_key(&exchange, &alice, PUBLIC, Some(now() + 1));
    assert_eq!(exchange.ask(&ahead).code(), 104_005, "ahead");
    // The time is covered by the signature.
    let mut moved = again;
    moved.target = ahead.target;
    exchange.clock.pass_ms(1);
    assert_eq!(exchange.ask(&moved).code(), 104_005);
    // Without a time, as a public library sends it.
    let unbound = get_key(&exchange, &alice, PUBLIC, None);
    let refused = exchange.ask(&unbound);
    assert_eq!(refused.code(), 100_001);
    assert!(refused.message().contains("timestamp"), "{refused:?}");
    alice.api_key = fresh;
    exchange
        .ask(&alice.get("/api/v3/user/balances?accountId={account}"))
        .good();
}

#[test]
fn beside_a_public_address_a_plain_request_gives_the_first_key_and_no_other() {
    const PUBLIC: &str = "https://api.example.com";
    let mut config = config();
    config.public_url = Some(PUBLIC.to_owned());
    let exchange = Exchange::with(&config);
    let alice = exchange.customer_without_api_key(1);
    let plain = get_key(&exchange, &alice, PUBLIC, None);
    let first = exchange.ask(&plain);
    assert_eq!(first.good()["apiKey"].as_str().unwrap().len(), 64);
    assert_eq!(exchange.ask(&plain).code(), 100_001, "it has one now");

    // Where there is no public address it is what it always was.
    let local = Exchange::start();
    let bob = local.customer(2);
    let plain = get_key(&local, &bob, "", None);
    assert_eq!(local.ask(&plain).good()["apiKey"], bob.api_key);
}

#[test]
fn a_cancel_without_or_with_a_wrong_signature_does_nothing() {
    let exchange = Exchange::start();
    let (mut alice, bob) = (exchange.customer(1), exchange.customer(2));
    let taken = exchange.ask(&alice.submit(Want::Buy, 200_000, 1));
    let hash = taken.good()["hash"].as_str().unwrap().to_owned();
    let good = alice.cancel(&exchange, "orderHash", &hash);
    let signature = good.headers.last().unwrap().1.clone();

    let mut unsigned = good.clone();
    unsigned.headers.pop();
    assert_eq!(exchange.ask(&unsigned).code(), 104_004);
    let empty = unsigned.clone().header("X-API-SIG", "");
    assert_eq!(exchange.ask(&empty).code(), 104_004);

    let last = if signature.ends_with('0') { "1" } else { "0" };
    let tampered = format!("{}{last}", &signature[..signature.len() - 1]);
    let text = sdk_form(
        "DELETE",
        &exchange.base_url(),
        PATH,
        &[("orderHash", &hash)],
    );
    for wrong in [
        tampered,
        signature[..signature.len() - 2].to_owned(),
        signature.replace("0x", ""),
        "0x".to_owned() + &"0".repeat(192),
        "0x".to_owned() + &"f".repeat(192),
        bob.cancel(&exchange, "orderHash", &hash)
            .headers
            .last()
            .unwrap()
            .1
            .clone(),
        alice.sign_text(&text),
    ] {
        let call = unsigned.clone().header("X-API-SIG", wrong.clone());
        assert_eq!(exchange.ask(&call).code(), 104_005, "{wrong}");
    }
    // The same signature for another method or order.
    let other = format!("0x{:064x}", 1);
    let mut moved = alice.cancel(&exchange, "orderHash", &other);
    moved.headers.pop();
    let moved = moved.header("X-API-SIG", signature);
    assert_eq!(exchange.ask(&moved).code(), 104_005);

    exchange.ask(&good).good();
}

#[test]
fn cancelling_names_an_order_in_one_way_or_both() {
    let exchange = Exchange::start();
    let mut alice = exchange.customer(1);
    let mut rest = || {
        let taken = exchange.ask(&alice.submit(Want::Buy, 200_000, 1));
        let text = |name: &str| taken.good()[name].as_str().unwrap().to_owned();
        (text("hash"), text("clientOrderId"))
    };
    let ((hash, client_id), (other_hash, _)) = (rest(), rest());
    let cancel = |query: String| {
        let pairs: Vec<(&str, &str)> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .collect();
        let text = sdk_form("DELETE", &exchange.base_url(), PATH, &pairs);
        exchange.ask(&cancel(&alice, &query, &text))
    };
    let id = alice.account.0;
    assert_eq!(cancel(format!("accountId={id}")).code(), 100_001);
    let both = |hash: &str| format!("accountId={id}&clientOrderId={client_id}&orderHash={hash}");
    assert_eq!(cancel(both(&other_hash)).code(), 102_117);
    cancel(both(&hash)).good();
    assert_eq!(
        cancel(format!("accountId={id}&clientOrderId=nothing")).code(),
        102_117
    );
    cancel(format!(
        "accountId={id}&orderHash={other_hash}&clientOrderId="
    ))
    .good();
}

#[test]
fn a_new_api_key_needs_a_good_signature_where_configured_and_never_takes_a_bad_one() {
    let post = |exchange: &Exchange, customer: &Customer, signed: Option<&str>| {
        let body = format!("{{ \"accountId\": {} }}", customer.account.0);
        let mut call = customer.with_key(Call::new("POST", "/api/v3/apiKey").body(body.clone()));
        if let Some(signed) = signed {
            let text = cambist_signing::request_signature::sdk_body_form(
                "POST",
                &exchange.base_url(),
                "/api/v3/apiKey",
                signed,
            );
            call = call.header("X-API-SIG", customer.sign_text(&text));
        }
        exchange.ask(&call)
    };
    let lenient = Exchange::start();
    let alice = lenient.customer(1);
    assert_eq!(post(&lenient, &alice, Some("{}")).code(), 104_005);
    post(&lenient, &alice, None).good();

    let mut config = config();
    config.require_api_key_signature = true;
    let firm = Exchange::with(&config);
    let bob = firm.customer(2);
    assert_eq!(post(&firm, &bob, None).code(), 104_004);
    // Signed compactly, sent with spaces.
    let compact = format!("{{\"accountId\":{}}}", bob.account.0);
    post(&firm, &bob, Some(&compact)).good();
}

#[test]
fn getting_the_key_needs_the_signing_key_alone() {
    let exchange = Exchange::start();
    let (alice, bob) = (exchange.customer(1), exchange.customer(2));
    let id = alice.account.0.to_string();
    let text = sdk_form(
        "GET",
        &exchange.base_url(),
        "/api/v3/apiKey",
        &[("accountId", &id)],
    );
    let call = Call::get(format!("/api/v3/apiKey?accountId={id}"));
    assert_eq!(exchange.ask(&call).code(), 104_004);
    // The API key of another account authorises nothing; a replaced one has no effect.
    assert_eq!(exchange.ask(&bob.with_key(call.clone())).code(), 104_004);
    let forged = call.clone().header("X-API-SIG", bob.sign_text(&text));
    assert_eq!(exchange.ask(&bob.with_key(forged)).code(), 104_005);
    let good = call.header("X-API-SIG", alice.sign_text(&text));
    exchange
        .ask(&good.clone().header("X-API-KEY", "stale"))
        .good();
    exchange.ask(&good.body("{\"accountId\":1}")).good();
    assert_eq!(
        exchange
            .ask(&Call::get("/api/v3/apiKey?accountId=77"))
            .code(),
        101_002
    );
    assert_eq!(exchange.ask(&Call::get("/api/v3/apiKey")).code(), 100_001);
}

#[test]
fn wrong_signatures_are_capped_before_they_cost_anything() {
    let mut config = config();
    config.rates.failed_signatures = Rate { per_s: 1, burst: 3 };
    assert_eq!(config.rates.key_and_endpoint, generous().key_and_endpoint);
    let exchange = Exchange::with(&config);
    let (mut alice, mut bob) = (exchange.customer(1), exchange.customer(2));
    let mut order = alice.order(Want::Buy, 200_000, 1);
    bob.sign(&mut order);
    for _ in 0..3 {
        assert_eq!(exchange.ask(&alice.post_order(&order)).code(), 104_005);
    }
    let capped = exchange.ask(&alice.post_order(&order));
    assert_eq!(
        (capped.status, capped.header("retry-after")),
        (429, Some("1"))
    );
    let good = alice.submit(Want::Buy, 200_000, 1);
    assert_eq!(
        exchange.ask(&good).status,
        429,
        "even a valid one is not verified"
    );
    exchange.ask(&bob.submit(Want::Buy, 200_000, 1)).good();
    exchange.clock.pass_ms(1_000);
    exchange.ask(&good).good();
}
