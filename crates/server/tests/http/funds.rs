//! Transfers, withdrawals and new keys: every kind of signature and every form of the request.

use cambist_core::Hash;
use cambist_server::Clock;
use cambist_signing::ecdsa::{EthKey, Kind, WireSignature};
use cambist_signing::{Address, ExtraData, SecretKey, WithdrawalMessage, request_signature};
use cambist_venue::{Compat, Operator};
use serde_json::{Value, json};

use crate::support::trader::{Trader, UNTIL, list_pool, messages};
use crate::support::{
    Call, EXCHANGE, Exchange, LOW_ORDER, ONE, QUOTE, START_S, UNIT, Want, config, venue,
};

fn wire(raw: [u8; 65], kind: Option<Kind>) -> String {
    WireSignature { raw, kind }.to_hex()
}

fn strict() -> Exchange {
    Exchange::run(&config(), venue(Compat::Strict), Vec::new())
}

/// An exchange on which the layer-2 key alone moves funds.
fn without_wallets() -> Exchange {
    let mut config = config();
    config.require_wallet_for_funds = false;
    Exchange::with(&config)
}

#[test]
fn one_valid_signature_moves_funds_and_all_given_ones_must_be_valid() {
    let exchange = without_wallets();
    let mut alice = Trader::new(&exchange, 1);
    let bob = Trader::new(&exchange, 2);
    let payee = bob.customer.owner;
    let mut sent = 0;
    let mut good = |body: &Value, call: Call| {
        let reply = exchange.ask(&call);
        assert_eq!(reply.good()["status"], "processed", "{body}");
        assert_eq!(reply.body["isIdempotent"], false);
        sent += 1;
    };
    let typed =
        |alice: &Trader, body: &Value| alice.wallet.sign_digest(&messages("transfer", body).digest);
    let personal = |alice: &Trader, body: &Value| {
        alice
            .wallet
            .sign_personal(&messages("transfer", body).digest.0)
    };
    // The layer-2 key alone.
    let mut body = alice.transfer(payee);
    body["eddsaSignature"] = json!(alice.eddsa(&messages("transfer", &body)));
    good(&body, alice.bare("transfer", &body));
    // The wallet's signature in the body: 65 or 66 bytes; the last byte gives the type.
    for form in 0..4 {
        let mut body = alice.transfer(payee);
        body["ecdsaSignature"] = json!(match form {
            0 => wire(typed(&alice, &body), None),
            1 => wire(personal(&alice, &body), None),
            2 => wire(typed(&alice, &body), Some(Kind::TypedData)),
            _ => wire(personal(&alice, &body), Some(Kind::Personal)),
        });
        good(&body, alice.bare("transfer", &body));
    }
    // The wallet's signature in the header, empty and unknown fields in the body.
    let mut body = alice.transfer(payee);
    let signed = wire(typed(&alice, &body), Some(Kind::TypedData));
    for name in ["eddsaSignature", "ecdsaSignature", "hashApproved", "memo"] {
        body[name] = json!("");
    }
    body["X-API-SIG"] = json!(signed);
    body["payPayeeUpdateAccount"] = json!(false);
    body["counterFactualInfo"] = Value::Null;
    good(
        &body,
        alice.bare("transfer", &body).header("X-API-SIG", signed),
    );
    // A hash that the operator registered.
    let mut body = alice.transfer(payee);
    let hash = messages("transfer", &body).message.to_be_bytes();
    body["hashApproved"] = json!(Hash(hash).to_string());
    let call = alice.bare("transfer", &body);
    assert_eq!(exchange.ask(&call).code(), 104_005, "not registered");
    let account = alice.customer.account;
    let hash = Hash(hash);
    exchange
        .handle
        .operate(Operator::ApproveHash { account, hash })
        .unwrap();
    good(&body, call);

    let held = exchange
        .handle
        .balance(bob.customer.account, QUOTE)
        .unwrap();
    assert_eq!(held.total, 1_000_000 * UNIT + sent * 5 * UNIT);
    assert_eq!(sent, 7);
}

/// A caller who may not act for the account gets no error about the body.
#[test]
fn a_request_for_another_account_is_refused_before_the_rest_is_read() {
    let exchange = Exchange::start();
    let alice = Trader::new(&exchange, 1);
    let bob = Trader::new(&exchange, 2);
    let account = bob.customer.account.0;
    for (path, field) in [
        ("transfer", "payerId"),
        ("user/withdrawals", "accountId"),
        ("account", "accountId"),
    ] {
        let refused = exchange.ask(&alice.bare(path, &json!({ field: account })));
        assert_eq!(refused.code(), 104_003, "{path}");
        let own = alice.customer.account.0;
        let incomplete = exchange.ask(&alice.bare(path, &json!({ field: own })));
        assert_eq!(incomplete.code(), 100_001, "{path}");
    }
}

#[test]
fn the_layer_2_key_alone_moves_no_funds_and_sets_no_key() {
    let exchange = Exchange::start();
    list_pool(&exchange);
    let mut alice = Trader::new(&exchange, 1);
    let thief = SecretKey::from_hex("0x99").unwrap();
    let bodies = [
        ("transfer", alice.transfer(Address([0xcc; 20]))),
        ("user/withdrawals", alice.withdrawal()),
        ("account", alice.update(&thief.public(), 1)),
    ];
    for (path, body) in bodies {
        let signed = messages(path, &body);
        let mut by_key = body.clone();
        by_key["eddsaSignature"] = json!(alice.eddsa(&signed));
        let refused = exchange.ask(&alice.bare(path, &by_key));
        assert_eq!(refused.code(), 104_004, "{path}");
        assert!(refused.message().contains("wallet"), "{refused:?}");
        // An empty header counts as absent, and the key's signature in it is not the wallet's.
        let call = alice.bare(path, &by_key);
        assert_eq!(
            exchange.ask(&call.clone().header("X-API-SIG", "")).code(),
            104_004
        );
        let call = call.header("X-API-SIG", alice.eddsa(&signed));
        assert_eq!(exchange.ask(&call).code(), 104_005, "{path}");
    }
    let account = alice.customer.account;
    let held = exchange.handle.balance(account, QUOTE).unwrap();
    assert_eq!((held.total, held.locked), (1_000_000 * UNIT, 0));

    // Orders, joins and exits require it as before.
    exchange
        .ask(&alice.customer.submit(Want::Buy, 100_000, 1))
        .good();
    let mut join = alice.join(ONE, 2_000 * UNIT);
    join["eddsaSignature"] = json!(alice.eddsa(&messages("amm/join", &join)));
    exchange.ask(&alice.bare("amm/join", &join)).good();
    let mut exit = alice.exit(1_000);
    exit["eddsaSignature"] = json!(alice.eddsa(&messages("amm/exit", &exit)));
    exchange.ask(&alice.bare("amm/exit", &exit)).good();

    // The wallet's signature, in the body or in the header, or an approved hash.
    for form in 0..3 {
        let mut body = alice.transfer(Address([0xcc; 20]));
        let signed = messages("transfer", &body);
        let wallet = alice.wallet.sign_typed(&signed.digest).to_hex();
        let call = match form {
            0 => {
                body["ecdsaSignature"] = json!(wallet);
                alice.bare("transfer", &body)
            }
            1 => alice.bare("transfer", &body).header("X-API-SIG", wallet),
            _ => {
                let hash = Hash(signed.message.to_be_bytes());
                let approve = Operator::ApproveHash { account, hash };
                exchange.handle.operate(approve).unwrap();
                body["hashApproved"] = json!(hash.to_string());
                alice.bare("transfer", &body)
            }
        };
        exchange.ask(&call).good();
    }
    let update = alice.update(&thief.public(), 1);
    exchange.ask(&alice.post("account", &update)).good();
}

#[test]
fn wrong_signatures_move_nothing() {
    let exchange = Exchange::start();
    let mut alice = Trader::new(&exchange, 1);
    let bob = Trader::new(&exchange, 2);
    let payee = bob.customer.owner;
    let body = alice.transfer(payee);
    let signed = messages("transfer", &body);
    let (good, typed) = (
        alice.eddsa(&signed),
        alice.wallet.sign_digest(&signed.digest),
    );
    let code = |field: &str, value: &str, header: Option<String>| {
        let mut body = body.clone();
        if !field.is_empty() {
            body[field] = json!(value);
        }
        let mut call = alice.bare("transfer", &body);
        if let Some(header) = header {
            call = call.header("X-API-SIG", header);
        }
        exchange.ask(&call).code()
    };
    assert_eq!(code("", "", None), 104_004);
    assert_eq!(code("eddsaSignature", "0x12", None), 104_005);
    assert_eq!(code("eddsaSignature", &bob.eddsa(&signed), None), 104_005);
    assert_eq!(code("ecdsaSignature", "0x12", None), 104_005);
    let mislabelled = wire(typed, Some(Kind::Personal));
    assert_eq!(code("ecdsaSignature", &mislabelled, None), 104_005);
    let stranger = EthKey::from_hex("0x5").unwrap().sign_digest(&signed.digest);
    assert_eq!(code("ecdsaSignature", &wire(stranger, None), None), 104_005);
    assert_eq!(
        code("hashApproved", &Hash([7; 32]).to_string(), None),
        104_005
    );
    // One valid signature does not compensate for a wrong one.
    let wrong = Some(wire(stranger, None));
    assert_eq!(code("eddsaSignature", &good, wrong), 104_005);
    assert_eq!(
        code("eddsaSignature", &good, Some("0x12".to_owned())),
        104_005
    );
    // A changed field invalidates the signature.
    let mut other = body.clone();
    other["token"]["volume"] = json!("1");
    other["eddsaSignature"] = json!(good);
    assert_eq!(
        exchange.ask(&alice.bare("transfer", &other)).code(),
        104_005
    );
    // Another account, whatever key signed.
    let mut call = alice.post("transfer", &body);
    call.headers[0].1 = bob.customer.api_key.clone();
    assert_eq!(exchange.ask(&call).code(), 104_003);
    let held = exchange
        .handle
        .balance(alice.customer.account, QUOTE)
        .unwrap();
    assert_eq!(held.total, 1_000_000 * UNIT);
}

#[test]
fn strict_mode_requires_the_wallets_signature_in_the_header() {
    let exchange = strict();
    let mut alice = Trader::new(&exchange, 1);
    let payee = Trader::new(&exchange, 2).customer.owner;
    let mut body = alice.transfer(payee);
    exchange.ask(&alice.post("transfer", &body)).good();
    body = alice.transfer(payee);
    body["eddsaSignature"] = json!(alice.eddsa(&messages("transfer", &body)));
    let call = alice.bare("transfer", &body);
    assert_eq!(exchange.ask(&call).code(), 104_004);
    // An approved hash replaces the signature of a wallet that cannot sign.
    let hash = Hash(messages("transfer", &body).message.to_be_bytes());
    let account = alice.customer.account;
    exchange
        .handle
        .operate(Operator::ApproveHash { account, hash })
        .unwrap();
    body["hashApproved"] = json!(hash.to_string());
    exchange.ask(&alice.bare("transfer", &body)).good();
    // The text has no code for unparsable fields.
    body["validUntil"] = json!("soon");
    assert_eq!(exchange.ask(&alice.bare("transfer", &body)).code(), 100_000);
    let order = alice
        .customer
        .with_key(Call::new("POST", "/api/v3/order").body("{"));
    assert_eq!(exchange.ask(&order).code(), 102_120);
}

#[test]
fn extra_data_may_be_signed_as_bytes_and_as_text() {
    let exchange = without_wallets();
    let mut alice = Trader::new(&exchange, 1);
    for (form, data) in [(0, "0xabcd"), (1, "0xabcd"), (2, "abcd"), (3, "")] {
        let mut body = alice.withdrawal();
        let message = WithdrawalMessage {
            exchange: EXCHANGE,
            account_id: alice.customer.account.0,
            owner: alice.customer.owner,
            token: 1,
            amount: 5 * UNIT,
            fee_token: 1,
            max_fee: 100,
            to: alice.customer.owner,
            extra_data: ExtraData::parse(if data.is_empty() { "" } else { "0xabcd" }).unwrap(),
            min_gas: 0,
            valid_until: u32::try_from(UNTIL).unwrap(),
            storage_id: u32::try_from(body["storageId"].as_u64().unwrap()).unwrap(),
        };
        let hash = if form == 1 {
            message.hash_of_text()
        } else {
            message.hash()
        };
        let signature = alice.customer.secret.sign(&hash.message()).unwrap();
        body["extraData"] = json!(data);
        body["maxFee"]["volume"] = json!(100);
        body["token"]["tokenId"] = json!(1);
        body["eddsaSignature"] = json!(signature.to_hex());
        let reply = exchange.ask(&alice.bare("user/withdrawals", &body));
        assert_eq!(reply.good()["hash"], message.hash().to_hex(), "{form}");
    }
    let mut body = alice.withdrawal();
    body["extraData"] = json!("0xabc");
    body["eddsaSignature"] = json!("");
    let refused = exchange.ask(&alice.bare("user/withdrawals", &body));
    assert_eq!(refused.code(), 100_001);
    let balances = exchange.ask(
        &alice
            .customer
            .get("/api/v3/user/balances?accountId={account}&tokens=1"),
    );
    assert_eq!(
        balances.good()[0]["pending"]["withdraw"],
        (20 * UNIT).to_string()
    );
    assert_eq!(balances.body[0]["locked"], (20 * UNIT).to_string());
}

#[test]
fn a_new_signing_key_replaces_the_old_one_immediately() {
    let exchange = Exchange::start();
    let mut alice = Trader::new(&exchange, 1);
    let resting = exchange.ask(&alice.customer.submit(Want::Buy, 100_000, 1));
    assert_eq!(resting.good()["status"], "processing");
    let old = alice.customer.submit(Want::Buy, 100_000, 1);
    let fresh = SecretKey::from_hex("0x99").unwrap();
    let mut body = alice.update(&fresh.public(), 1);
    // The packed form, which is what the text's string can mean.
    body["publicKey"] = json!(fresh.public().packed().to_hex());
    let mut call = alice.post("account", &body);
    call.headers.retain(|(name, _)| *name != "X-API-KEY");
    exchange.ask(&call).good();
    assert_eq!(
        exchange.ask(&call).code(),
        104_005,
        "signed by the old key too"
    );
    assert_eq!(exchange.ask(&old).code(), 104_005);
    let open = exchange.ask(
        &alice
            .customer
            .get("/api/v3/orders?accountId={account}&status=processing"),
    );
    assert_eq!(
        open.good()["totalNum"],
        0,
        "requests signed with the old key are refused"
    );
    alice.customer.secret = fresh;
    exchange
        .ask(&alice.customer.submit(Want::Buy, 100_000, 1))
        .good();
    let again = alice.update(&alice.customer.secret.public(), 1);
    assert_eq!(exchange.ask(&alice.post("account", &again)).code(), 102_021);
    let shown = exchange.ask(&alice.customer.get("/api/v3/account?accountId={account}"));
    assert_eq!(
        (&shown.good()["nonce"], &shown.body["keyNonce"]),
        (&json!(2), &json!(1))
    );
}

#[test]
fn an_invalid_key_or_one_of_low_order_is_not_registered() {
    let exchange = Exchange::start();
    let alice = Trader::new(&exchange, 1);
    // No signature verifies with an invalid point; with one of low order anyone could make a valid one.
    let none = [
        json!({"x": "0x2", "y": "0x3"}),
        json!("0x1"),
        json!({"x": "0x0", "y": "0x0"}),
    ];
    let low = LOW_ORDER.map(|[x, y]| json!({"x": x, "y": y}));
    for key in none.into_iter().chain(low) {
        let mut body = alice.update(&alice.customer.secret.public(), 1);
        body["publicKey"] = key.clone();
        let reply = exchange.ask(&alice.bare("account", &body));
        assert_eq!(reply.code(), 102_023, "{key}");
    }
}

#[test]
fn an_account_opened_by_a_transfer_sets_its_first_key_and_gets_an_api_key() {
    let exchange = Exchange::start();
    let mut alice = Trader::new(&exchange, 1);
    let wallet = EthKey::from_hex("0x4242").unwrap();
    let body = alice.transfer(wallet.address());
    exchange.ask(&alice.post("transfer", &body)).good();
    let target = format!("/api/v3/account?owner={}", wallet.address());
    let account = exchange.ask(&Call::get(&target));
    assert_eq!(account.good()["nonce"], 0);
    assert_eq!(account.body["publicKey"]["x"], format!("0x{:064x}", 0));
    let id = account.body["accountId"].as_u64().unwrap();
    let key = SecretKey::from_hex("0x4343").unwrap();
    let mut body = json!({
        "exchange": EXCHANGE.to_string(),
        "owner": wallet.address().to_string(),
        "accountId": id,
        "publicKey": {"x": key.public().x.to_hex(), "y": key.public().y.to_hex()},
        "maxFee": {"tokenId": 1, "volume": "0"},
        "validUntil": UNTIL,
        "nonce": 0,
        "keySeed": "",
    });
    // There is no old key that could sign.
    let digest = messages("account", &body).digest;
    let signature = wallet.sign_typed(&digest).to_hex();
    body["ecdsaSignature"] = json!(signature);
    let call = Call::new("POST", "/api/v3/account").body(body.to_string());
    exchange.ask(&call.header("X-API-SIG", signature)).good();
    let text = request_signature::sdk_form(
        "GET",
        &exchange.base_url(),
        "/api/v3/apiKey",
        &[("accountId", &id.to_string())],
    );
    let message = request_signature::message(&text);
    let call = Call::get(format!("/api/v3/apiKey?accountId={id}"))
        .header("X-API-SIG", key.sign(&message).unwrap().to_hex());
    assert_eq!(
        exchange.ask(&call).good()["apiKey"].as_str().unwrap().len(),
        64
    );
}

#[test]
fn wrong_wallet_signatures_are_rate_limited() {
    let mut config = config();
    config.rates.failed_signatures = cambist_server::Rate { per_s: 1, burst: 2 };
    config.clock = Clock::by_hand(cambist_core::VenueTime::from_s(START_S));
    let exchange = Exchange::with(&config);
    let mut alice = Trader::new(&exchange, 1);
    let mut body = alice.transfer(Address([0xcc; 20]));
    let stranger = EthKey::from_hex("0x5").unwrap();
    let digest = messages("transfer", &body).digest;
    body["ecdsaSignature"] = json!(stranger.sign_typed(&digest).to_hex());
    let call = alice.bare("transfer", &body);
    for _ in 0..2 {
        assert_eq!(exchange.ask(&call).code(), 104_005);
    }
    assert_eq!(exchange.ask(&call).status, 429);
    let good = alice.transfer(Address([0xcc; 20]));
    assert_eq!(exchange.ask(&alice.post("transfer", &good)).status, 429);
    exchange.clock.pass_ms(1_000);
    exchange.ask(&alice.post("transfer", &good)).good();
}
