//! Transactions and calls against vectors made with eth-account and eth-abi (`tests/external/evm/vectors.py`), and
//! against hostile bytes made from them. `CAMBIST_EVM_VECTORS` names a further file of vectors; the external checks make
//! one of hundreds.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_evm::call::Call;
use cambist_evm::transaction::{Signed, Transaction};
use cambist_evm::{Address, EthKey, Malformed, U256, keccak256, wire};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Vectors {
    transactions: Vec<Made>,
    calls: Vec<Called>,
    topics: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    chain_id: String,
    nonce: String,
    max_fee_per_gas: String,
    max_priority_fee_per_gas: String,
    gas: String,
    value: String,
    data: String,
    to: Option<String>,
    key: String,
    sender: String,
    bytes: String,
    hash: String,
}

#[derive(Deserialize)]
struct Called {
    signature: String,
    arguments: Vec<Value>,
    data: String,
}

fn vectors() -> Vectors {
    let mut all: Vectors = serde_json::from_str(include_str!("vectors/eth_account.json")).unwrap();
    if let Ok(path) = std::env::var("CAMBIST_EVM_VECTORS") {
        let more: Vectors = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        all.transactions.extend(more.transactions);
        all.calls.extend(more.calls);
    }
    all
}

fn transaction(made: &Made) -> Transaction {
    Transaction {
        chain_id: made.chain_id.parse().unwrap(),
        nonce: made.nonce.parse().unwrap(),
        priority_fee_max: made.max_priority_fee_per_gas.parse().unwrap(),
        fee_max: made.max_fee_per_gas.parse().unwrap(),
        gas_limit: made.gas.parse().unwrap(),
        to: made
            .to
            .as_deref()
            .map(|to| Address::from_checked_hex(to).unwrap()),
        value: made.value.parse().unwrap(),
        data: wire::data(&made.data).unwrap(),
    }
}

#[test]
fn transactions_are_those_of_another_implementation_and_are_read_back() {
    let vectors = vectors();
    assert!(vectors.transactions.len() >= 12);
    for made in &vectors.transactions {
        let key = EthKey::from_hex(&made.key).unwrap();
        let wanted = transaction(made);
        let signed = wanted.clone().sign(&key).unwrap();
        assert_eq!(wire::to_data(&signed.bytes()), made.bytes);
        assert_eq!(signed.hash().to_hex(), made.hash);
        assert_eq!(signed.sender().unwrap().to_checksum(), made.sender);
        let read = Signed::read(&signed.bytes(), wanted.chain_id).unwrap();
        assert_eq!(read.transaction(), &wanted);
        assert_eq!(read, signed);
        let other = wanted.chain_id + 1;
        assert_eq!(
            Signed::read(&signed.bytes(), other),
            Err(Malformed::ChainId)
        );
    }
    println!("{} transactions", vectors.transactions.len());
}

/// No other bytes are the transaction: every truncation and every changed byte is refused, or is another transaction
/// whose signature has another signer.
#[test]
fn hostile_bytes_are_refused_or_name_another_signer() {
    let vectors = vectors();
    for made in vectors.transactions.iter().take(3) {
        let bytes = wire::data(&made.bytes).unwrap();
        let chain_id = made.chain_id.parse().unwrap();
        for at in 0..bytes.len() {
            assert!(Signed::read(&bytes[..at], chain_id).is_err(), "cut at {at}");
            for to in [0, 0x7f, 0x80, 0xb8, 0xbf, 0xc0, 0xf7, 0xff, bytes[at] ^ 1] {
                if to == bytes[at] {
                    continue;
                }
                let mut changed = bytes.clone();
                changed[at] = to;
                if let Ok(read) = Signed::read(&changed, chain_id) {
                    assert_eq!(read.bytes(), changed, "one form a transaction");
                    let sender = read.sender().unwrap().to_checksum();
                    assert_ne!(sender, made.sender, "byte {at} to {to}");
                }
            }
        }
        let longer = [bytes.clone(), vec![0]].concat();
        assert!(Signed::read(&longer, chain_id).is_err());
    }
}

#[test]
fn lengths_that_are_not_there_take_no_memory() {
    for bytes in [
        vec![2, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        vec![2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        vec![2, 0xf8, 0x01, 0x01],
        vec![2, 0xc0],
        vec![2],
        vec![],
        vec![1, 0xc0],
        vec![0xc0],
    ] {
        assert!(Signed::read(&bytes, 1).is_err(), "{bytes:?}");
    }
    // A number with a leading zero, and one byte written as a string of one.
    for first in [&[0x82, 0, 1][..], &[0x81, 1], &[0x00]] {
        let length = u8::try_from(first.len()).unwrap();
        let bytes = [&[2, 0xc0 + length], first].concat();
        assert!(matches!(Signed::read(&bytes, 1), Err(Malformed::Rlp(_))));
    }
}

#[test]
fn what_no_node_takes_is_not_signed() {
    let key = EthKey::from_hex("0x1").unwrap();
    let good = Transaction {
        chain_id: 1,
        nonce: 0,
        priority_fee_max: 1,
        fee_max: 1,
        gas_limit: 21_000,
        to: Some(Address::ZERO),
        value: U256::ZERO,
        data: Vec::new(),
    };
    assert!(good.clone().sign(&key).is_ok());
    let bad = [
        Transaction {
            chain_id: 0,
            ..good.clone()
        },
        Transaction {
            nonce: u64::MAX,
            ..good.clone()
        },
        Transaction {
            gas_limit: 20_999,
            ..good.clone()
        },
        Transaction {
            priority_fee_max: 2,
            ..good.clone()
        },
        Transaction {
            to: None,
            ..good.clone()
        },
        Transaction {
            data: vec![0; (128 << 10) + 1],
            ..good.clone()
        },
        Transaction {
            value: U256::MAX,
            ..good.clone()
        },
    ];
    for transaction in bad {
        let refused = transaction.sign(&key);
        assert!(matches!(refused, Err(Malformed::Transaction(_))));
    }
    let most = Transaction {
        nonce: u64::MAX - 1,
        data: vec![0; 128 << 10],
        value: U256::MAX - U256::from(21_000),
        ..good
    };
    assert!(most.sign(&key).is_ok());
}

/// The upper half of the group order is refused (EIP-2): a second name of the same transaction.
#[test]
fn the_other_signature_of_a_transaction_is_refused() {
    let made = &vectors().transactions[0];
    let bytes = wire::data(&made.bytes).unwrap();
    let chain_id = made.chain_id.parse().unwrap();
    // Both parts have 32 bytes: parity, 0xa0, r, 0xa0, s.
    let (parity, s) = (bytes.len() - 67, bytes.len() - 32);
    assert_eq!((bytes[parity + 1], bytes[s - 1]), (0xa0, 0xa0));
    let order = U256::from_str_radix(
        "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
        16,
    );
    let mut other = bytes.clone();
    let mirrored = order.unwrap() - U256::from_be_slice(&bytes[s..]);
    other[s..].copy_from_slice(&mirrored.to_be_bytes::<32>());
    other[parity] = if bytes[parity] == 0x80 { 1 } else { 0x80 };
    assert_eq!(Signed::read(&other, chain_id), Err(Malformed::Signature));
}

#[test]
fn calls_are_those_of_another_implementation_and_are_read_back() {
    let vectors = vectors();
    let mut signatures = std::collections::BTreeSet::new();
    for called in &vectors.calls {
        let data = wire::data(&called.data).unwrap();
        let call = Call::read(&data).unwrap();
        assert_eq!(call.signature(), called.signature);
        assert_eq!(call.encode(), data);
        assert_eq!(arguments(&call), called.arguments, "{}", called.signature);
        signatures.insert(call.signature());
    }
    assert_eq!(signatures.len(), 17, "every function");
    for (signature, topic) in &vectors.topics {
        assert_eq!(wire::to_data(&keccak256(&[signature.as_bytes()])), *topic);
    }
    println!("{} calls", vectors.calls.len());
}

/// The fields of a call in order, as the file writes them.
fn arguments(call: &Call) -> Vec<Value> {
    let address = |of: &Address| Value::from(of.to_checksum());
    let number = |of: &U256| Value::from(of.to_string());
    match call {
        Call::Approve { spender, amount } => vec![address(spender), number(amount)],
        Call::Allowance { owner, spender } => vec![address(owner), address(spender)],
        Call::BalanceOf { owner } => vec![address(owner)],
        Call::Transfer { to, amount } => vec![address(to), number(amount)],
        Call::GetPair { token_a, token_b } => vec![address(token_a), address(token_b)],
        Call::TotalSupply {}
        | Call::Decimals {}
        | Call::Symbol {}
        | Call::FeeTo {}
        | Call::Factory {}
        | Call::Token0 {}
        | Call::Token1 {}
        | Call::GetReserves {}
        | Call::KLast {} => Vec::new(),
        Call::AddLiquidity {
            token_a,
            token_b,
            a_max,
            b_max,
            a_min,
            b_min,
            to,
            deadline,
        } => vec![
            address(token_a),
            address(token_b),
            number(a_max),
            number(b_max),
            number(a_min),
            number(b_min),
            address(to),
            number(deadline),
        ],
        Call::RemoveLiquidity {
            token_a,
            token_b,
            shares,
            a_min,
            b_min,
            to,
            deadline,
        } => vec![
            address(token_a),
            address(token_b),
            number(shares),
            number(a_min),
            number(b_min),
            address(to),
            number(deadline),
        ],
        Call::SwapExactTokensForTokens {
            sold,
            bought_min,
            path,
            to,
            deadline,
        } => vec![
            number(sold),
            number(bought_min),
            path.iter().map(address).collect::<Vec<_>>().into(),
            address(to),
            number(deadline),
        ],
    }
}
