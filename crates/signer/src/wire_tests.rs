#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use cambist_signing::SecretKey;

use super::*;

fn order() -> OrderMessage {
    OrderMessage {
        exchange: Address([1; 20]),
        storage_id: 2,
        account_id: 3,
        sell_token: 4,
        buy_token: 5,
        sell_amount: MAX_AMOUNT,
        buy_amount: 7,
        valid_until: 8,
        max_fee_bips: 9,
        fill_by_buy: true,
        taker: Address([2; 20]),
    }
}

fn requests() -> Vec<Request> {
    let join = PoolJoinMessage {
        owner: Address([3; 20]),
        join_amounts: vec![1, 2],
        join_storage_ids: vec![3, 5],
        mint_min_amount: 6,
        fee: None,
        valid_until: 7,
    };
    let paid = PoolJoinMessage {
        fee: Some(0),
        ..join.clone()
    };
    let exit = PoolExitMessage {
        owner: Address([3; 20]),
        burn_amount: 1,
        burn_storage_id: 2,
        exit_min_amounts: vec![3, 4],
        fee: 5,
        valid_until: 6,
    };
    vec![
        Request::Identity,
        Request::Limits,
        Request::Order(order()),
        Request::Join(Address([4; 20]), join),
        Request::Join(Address([4; 20]), paid),
        Request::Exit(Address([4; 20]), exit),
        Request::Cancel(CancelRequest {
            base_url: "https://venue.example".to_owned(),
            account_id: 1,
            order_hash: Hash32([9; 32]),
        }),
    ]
}

fn answers() -> Vec<Answer> {
    let key = SecretKey::from_hex("0x1").unwrap();
    let mut all = vec![
        Answer::Identity(Identity {
            account_id: 1,
            owner: Address([1; 20]),
            exchange: Address([2; 20]),
            chain_id: u64::MAX,
            public_key: key.public(),
            base_url: "https://venue.example".to_owned(),
        }),
        Answer::Limits("{}".to_owned()),
        Answer::Signature(key.sign(&Field::from(1)).unwrap()),
    ];
    all.extend(Word::ALL.iter().map(|word| {
        let text = "why".to_owned();
        Answer::Refused(Refusal { word: *word, text })
    }));
    all
}

#[test]
fn every_request_and_answer_reads_back_and_has_one_form() {
    for request in requests() {
        let frame = request.encode();
        assert!(frame.len() <= REQUEST_MAX);
        assert_eq!(Request::decode(&frame).unwrap(), request);
        for length in 0..frame.len() {
            assert!(Request::decode(&frame[..length]).is_err(), "{request:?}");
        }
        let longer = [&frame[..], &[0]].concat();
        assert!(Request::decode(&longer).is_err(), "{request:?}");
    }
    for answer in answers() {
        assert_eq!(Answer::decode(&answer.encode()).unwrap(), answer);
    }
}

#[test]
fn a_flipped_byte_is_another_request_or_none() {
    for request in requests() {
        let frame = request.encode();
        for at in 0..frame.len() {
            for bit in 0..8 {
                let mut other = frame.clone();
                other[at] ^= 1 << bit;
                if let Ok(read) = Request::decode(&other) {
                    assert_ne!(read, request);
                    assert_eq!(read.encode(), other);
                }
            }
        }
    }
}

#[test]
fn other_versions_kinds_and_values_are_refused() {
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = Request::Order(order()).encode();
        change(&mut frame);
        Request::decode(&frame).unwrap_err().to_string()
    };
    assert!(refused(&|frame| frame[0] = 2).contains("another version"));
    for kind in (0..=255).filter(|kind| !(1..=6).contains(kind)) {
        let text = refused(&|frame| frame[1] = kind);
        assert_eq!(text, format!("requests of kind {kind} are not signed here"));
    }
    // The sold amount follows exchange, storage id, account and both tokens.
    assert!(refused(&|frame| frame[34 + 3] = 1).contains("96 bits"));
    assert!(refused(&|frame| frame[34 + 32 + 6] = 2).contains("flag"));
}

#[test]
fn frames_are_bounded_and_whole() {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, b"abc").unwrap();
    assert_eq!(bytes, b"\0\x03abc");
    assert_eq!(read_frame(&mut &bytes[..], 3).unwrap(), b"abc");
    assert!(matches!(
        read_frame(&mut &bytes[..], 2),
        Err(WireError::TooLong(3))
    ));
    assert!(matches!(
        read_frame(&mut &b""[..], 3),
        Err(WireError::Closed)
    ));
    for half in [&b"\0"[..], b"\0\x03", b"\0\x03ab"] {
        assert!(matches!(
            read_frame(&mut &half[..], 3),
            Err(WireError::Io(_))
        ));
    }
    assert!(write_frame(&mut Vec::new(), &vec![0; 70_000]).is_err());
}
