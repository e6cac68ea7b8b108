//! Every resource in the interface's form, byte for byte, written and read.
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod samples;

use cambist_protocol::encode::to_bytes;
use cambist_protocol::{FromWire, json, wire};
use samples::{ADDRESS, HASH, Sample, samples};

#[test]
fn written_documents_equal_the_interfaces_and_read_back() {
    for Sample {
        name,
        text,
        rewrite,
        ..
    } in samples()
    {
        let rewritten = rewrite(text.as_bytes()).unwrap();
        assert_eq!(rewritten, text, "{name}");
    }
}

#[test]
fn the_samples_cover_every_resource() {
    assert_eq!(samples().len(), 23);
}

/// Reads two forms of the same value and compares the results.
fn same<T: FromWire + PartialEq + std::fmt::Debug>(one: &str, other: &str) {
    let read = |text: &str| T::from_bytes(text.as_bytes()).unwrap();
    assert_eq!(read(one), read(other), "{one} and {other}");
}

#[test]
fn both_forms_of_public_clients_are_read() {
    same::<wire::TokenVolume>(
        r#"{"tokenId":"3","volume":"5"}"#,
        r#"{"tokenId":3,"volume":5}"#,
    );
    same::<wire::TokenVolume>(
        r#"{"tokenId":3}"#,
        r#"{"tokenId":3,"volume":"0","decimals":18}"#,
    );
    let order = samples::order();
    same::<wire::SubmitOrder>(
        &order,
        &order
            .replace(r#""allOrNone":"false""#, r#""allOrNone":false"#)
            .replace(r#""fillAmountBOrS":"true""#, r#""fillAmountBOrS":true"#)
            .replace(r#""accountId":10000"#, r#""accountId":"10000""#)
            .replace(r#""clientOrderId":"my order""#, &format!(
                r#""clientOrderId":"my order","taker":"","poolAddress":null,"tradeChannel":"MIXED","hash":"{HASH}","affiliate":[1,{{}}]"#
            )),
    );
    // The zero address means no named taker.
    same::<wire::SubmitOrder>(
        &order,
        &order.replace(
            r#""orderType""#,
            r#""taker":"0x0000000000000000000000000000000000000000","orderType""#,
        ),
    );
    let join = |minimum: &str, ids: &str| {
        format!(
            r#"{{"owner":"{ADDRESS}","poolAddress":"{ADDRESS}","joinTokens":{{"pooled":[],"minimumLp":{minimum}}},"storageIds":{ids},"validUntil":9}}"#
        )
    };
    same::<wire::JoinRequest>(&join("\"7\"", "\"1,3\""), &join("7", "[1,\"3\"]"));
    let object =
        wire::JoinRequest::from_bytes(join(r#"{"tokenId":4,"volume":"7"}"#, "5").as_bytes())
            .unwrap();
    assert_eq!(object.join_tokens.minimum_lp, 7);
    assert_eq!(object.join_tokens.lp, Some(cambist_core::TokenId(4)));
    assert_eq!((object.storage_ids, object.fee), (vec![5], None));
}

#[test]
fn lists_are_read_bare_wrapped_or_as_one_entry() {
    let balance =
        r#"{"tokenId":1,"total":"5","locked":"0","pending":{"withdraw":"0","deposit":"0"}}"#;
    let all = |text: &str| wire::Balance::read_all(&json::parse(text.as_bytes()).unwrap());
    assert_eq!(all(balance).unwrap(), all(&format!("[{balance}]")).unwrap());
    assert_eq!(all("[]").unwrap(), []);
    assert!(all("{}").is_err());
    let token = samples::text("token");
    let tokens = |text: &str| wire::tokens(&json::parse(text.as_bytes()).unwrap());
    assert_eq!(
        tokens(&format!("[{token}]")).unwrap(),
        tokens(&format!("{{\"tokens\":[{token}]}}")).unwrap()
    );
    assert!(tokens("null").is_err());
    let page = wire::OrdersPage::from_bytes(br#"{"totalNum":0}"#).unwrap();
    assert_eq!(page.orders, [], "orders may be absent");
}

#[test]
fn unknown_status_words_count_as_live() {
    use cambist_core::OrderStatus;
    for (word, status) in [
        ("waiting", OrderStatus::Waiting),
        ("processing", OrderStatus::Processing),
        ("processed", OrderStatus::Processed),
        ("cancelling", OrderStatus::Cancelling),
        ("cancelled", OrderStatus::Cancelled),
        ("expired", OrderStatus::Expired),
        ("failed", OrderStatus::Failed),
        ("frozen", OrderStatus::Other),
        ("PROCESSED", OrderStatus::Other),
    ] {
        let text = samples::text("order ack").replace("processing", word);
        assert_eq!(
            wire::OrderAck::from_bytes(text.as_bytes()).unwrap().status,
            status
        );
    }
}

#[test]
fn a_refused_order_names_the_field_and_the_reason() {
    use cambist_core::Reason;
    let order = samples::order();
    for (from, to, field, reason) in [
        (
            r#""maxFeeBips":20"#,
            r#""maxFeeBips":64"#,
            "maxFeeBips",
            Reason::InvalidArgument,
        ),
        (
            r#""maxFeeBips":20"#,
            r#""maxFeeBips":0"#,
            "maxFeeBips",
            Reason::InvalidArgument,
        ),
        (
            r#""allOrNone":"false""#,
            r#""allOrNone":true"#,
            "allOrNone",
            Reason::InvalidArgument,
        ),
        (
            r#""volume":"5""#,
            r#""volume":"5.0""#,
            "buyToken.volume",
            Reason::InvalidArgument,
        ),
        (
            r#""volume":"5""#,
            r#""volume":"79228162514264337593543950336""#,
            "buyToken.volume",
            Reason::InvalidArgument,
        ),
        (
            r#""tokenId":"0""#,
            r#""tokenId":"65536""#,
            "buyToken.tokenId",
            Reason::UnsupportedToken,
        ),
        (
            r#""validUntil":1700000000"#,
            r#""validUntil":1700000000000"#,
            "validUntil",
            Reason::InvalidArgument,
        ),
        (
            r#""orderType":"MAKER_ONLY""#,
            r#""orderType":"FOK""#,
            "orderType",
            Reason::InvalidArgument,
        ),
        (
            r#""eddsaSignature":"0x"#,
            r#""eddsaSignature":"1x"#,
            "eddsaSignature",
            Reason::WrongSignature,
        ),
        (
            r#""eddsaSignature":"#,
            r#""signature":"#,
            "eddsaSignature",
            Reason::MissingSignature,
        ),
    ] {
        let text = order.replacen(from, to, 1);
        assert_ne!(text, order, "{from}");
        let error = wire::SubmitOrder::from_bytes(text.as_bytes()).unwrap_err();
        assert_eq!(
            (error.field.as_str(), error.reason),
            (field, reason),
            "{to}: {error}"
        );
    }
    let long = order.replace("my order", &"x".repeat(121));
    let error = wire::SubmitOrder::from_bytes(long.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "clientOrderId: has 121 bytes, at most 120 are allowed"
    );
}

#[test]
fn a_key_is_never_shown() {
    let key = wire::ApiKey::from_bytes(br#"{"apiKey":"canary"}"#).unwrap();
    assert!(!format!("{key:?}").contains("canary"));
    assert_eq!(to_bytes(&key), br#"{"apiKey":"canary"}"#);
    for bad in [
        r#"{"apiKey":"canary\n"}"#,
        r#"{"apiKey":["canary"]}"#,
        r#""canary""#,
        r#"{"canary":1}"#,
        r#"{"apiKey":""}"#,
    ] {
        let error = wire::ApiKey::from_bytes(bad.as_bytes()).unwrap_err();
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}

/// An order of a public client, with its hash and signature.
#[test]
fn a_public_clients_order_hashes_and_verifies() {
    use cambist_protocol::encode::read_back;
    use cambist_signing::PublicKey;
    let body = r#"{"exchange":"0xd9a25be173c84a4c7afe2bb7dde252e4ae20ac8b","accountId":222355,
        "storageId":4058,"sellToken":{"tokenId":145,"volume":"1086333312937523487682420"},
        "buyToken":{"tokenId":132,"volume":"989793304928868157731279"},"allOrNone":false,
        "validUntil":1985279570,"maxFeeBips":11,"fillAmountBOrS":false,"tradeChannel":"MIXED",
        "taker":"0x0000000000000000000000000000000000000000","orderType":"LIMIT_ORDER",
        "eddsaSignature":"0x0080ccf6fcac79f5af765bb475d51f0b62fe697c78ad36a650bcaa5b398e0247001fe0b98c00c662297fe2556d59044e4e4a9849c7e92a6a48bbbbec2cde35dc089314e21e012a1dfa27670c6d71af4114c06b600e3fd06c44430f78f31fd338"}"#;
    let order = wire::SubmitOrder::from_bytes(body.as_bytes()).unwrap();
    let (message, signature) = read_back(body.as_bytes()).unwrap();
    let hash = message.hash();
    assert_eq!(signature, order.eddsa_signature);
    assert_eq!(
        hash.to_hex(),
        "0x2c14d9a2c6f8b8dd5168291e4bab7d8d3d40a4c44ad435dff748c82cc6dbfae2"
    );
    let key = PublicKey::from_hex(
        "0x2491aba8d3a191a76e35bc47bd9afe6cc88fee14d607cbe779f2349047d5c157",
        "0x2e07297f8d3c3d7818dbddfd24c35583f9a9d4ed0cb0c1d1348dd8f7f99152d7",
    )
    .unwrap();
    assert!(key.verify(&hash.message(), &order.eddsa_signature));
    assert_eq!((order.client_order_id, order.taker), (None, None));
}
