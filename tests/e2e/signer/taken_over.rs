//! A daemon that has been taken over: it speaks to the socket as the daemon's user, and tries everything.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use cambist_signer::client::RemoteSigner;
use cambist_signer::server::CONNECTIONS_MAX;
use cambist_signer::wire::{ANSWER_MAX, Answer, Request, Word, read_frame, write_frame};
use cambist_signing::eip712::Domain;
use cambist_signing::{
    AccountUpdateMessage, Address, CancelRequest, Hash32, OrderMessage, PoolExitMessage,
    PoolJoinMessage, PublicKey, RequestSigner, SecretKey, SignerError, TransferMessage,
};
use rustix::process::Signal;

use super::{READY, Signer, command};
use crate::support::{Folder, until};

const KEY: &str = "0x1b5";
const ETH: u128 = 1_000_000_000_000_000_000;
const USDC: u128 = 1_000_000;
const POOL: Address = Address([5; 20]);

const FILE: &str = r#"
config_version = 1

[signer]
socket = "signer.sock"
state_dir = "signed"
users = []

[keys]
eddsa_key_file = "eddsa_key"

[account]
base_url = "https://venue.example"
exchange = "0x0101010101010101010101010101010101010101"
chain_id = 1
account_id = 10001
owner = "0x0202020202020202020202020202020202020202"

[limits]
ttl_max_s = 120
max_fee_bips = 20

[[token]]
symbol = "ETH"
id = 1
decimals = 18
signed_unexpired_max = "10"
window_max = "15"

[[token]]
symbol = "USDC"
id = 2
decimals = 6
signed_unexpired_max = "20000"
window_max = "30000"

[[token]]
symbol = "LP"
id = 3
decimals = 18
signed_unexpired_max = "1"
window_max = "2"

[[market]]
name = "ETH-USDC"
base = "ETH"
quote = "USDC"
sell_price_min = "1500"
buy_price_max = "2500"

[[pool]]
name = "AMM-ETH-USDC"
address = "0x0505050505050505050505050505050505050505"
tokens = ["ETH", "USDC"]
share = "LP"
exit_min = ["0.9", "1800"]
join_max = ["1.1", "2200"]
"#;

fn now_s() -> u32 {
    let now = cambist_host::clock::Clock::new().unix_micros() / 1_000_000;
    u32::try_from(now).unwrap()
}

fn signer(name: &str) -> (Folder, Signer) {
    let folder = Folder::new(name);
    std::fs::write(folder.path().join("eddsa_key"), KEY).unwrap();
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.path().join("eddsa_key"), private).unwrap();
    let config = folder.path().join("signer.toml");
    std::fs::write(&config, FILE).unwrap();
    let socket = folder.path().join("signer.sock");
    let signer = Signer::start(&folder, config, socket);
    (folder, signer)
}

/// Sells one ETH at 2,000.
fn sale(number: u32) -> OrderMessage {
    OrderMessage {
        exchange: Address([1; 20]),
        storage_id: number,
        account_id: 10_001,
        sell_token: 1,
        buy_token: 2,
        sell_amount: ETH,
        buy_amount: 2_000 * USDC,
        valid_until: now_s() + 100,
        max_fee_bips: 20,
        fill_by_buy: false,
        taker: Address::ZERO,
    }
}

fn join() -> PoolJoinMessage {
    PoolJoinMessage {
        owner: Address([2; 20]),
        join_amounts: vec![ETH, 2_000 * USDC],
        join_storage_ids: vec![1, 3],
        mint_min_amount: ETH,
        fee: None,
        valid_until: now_s() + 100,
    }
}

fn exit() -> PoolExitMessage {
    PoolExitMessage {
        owner: Address([2; 20]),
        burn_amount: ETH,
        burn_storage_id: 5,
        exit_min_amounts: vec![ETH, 2_000 * USDC],
        fee: 0,
        valid_until: now_s() + 100,
    }
}

fn cancel() -> CancelRequest {
    CancelRequest {
        base_url: "https://venue.example".to_owned(),
        account_id: 10_001,
        order_hash: Hash32([7; 32]),
    }
}

fn key() -> SecretKey {
    SecretKey::from_hex(KEY).unwrap()
}

/// The rule that refused.
#[track_caller]
fn word<T: std::fmt::Debug>(asked: Result<T, SignerError>) -> String {
    match asked {
        Err(SignerError::Refused(text)) => text.split(':').next().unwrap().to_owned(),
        other => panic!("{other:?}"),
    }
}

/// Sends the bytes of a frame as they are, and reads an answer.
fn send(socket: &Path, frame: &[u8]) -> Option<Answer> {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(READY)).unwrap();
    // Refused while it is still being sent.
    let _ = write_frame(&mut stream, frame);
    Answer::decode(&read_frame(&mut stream, ANSWER_MAX).ok()?).ok()
}

#[test]
fn what_the_daemon_needs_is_signed_with_the_account_s_key() {
    let (folder, signer) = signer("signer-needs");
    let client = signer.client();
    assert_eq!(client.public().unwrap(), key().public());
    let order = sale(0);
    let signature = client.order(&order).unwrap();
    assert_eq!(signature, RequestSigner::order(&key(), &order).unwrap());
    let domain = Domain::pool(1, "AMM-ETH-USDC", POOL);
    let (join, exit) = (join(), exit());
    assert_eq!(
        client.join(&domain, &join).unwrap(),
        key().join(&domain, &join).unwrap()
    );
    assert_eq!(
        client.exit(&domain, &exit).unwrap(),
        key().exit(&domain, &exit).unwrap()
    );
    assert_eq!(
        client.cancel(&cancel()).unwrap(),
        RequestSigner::cancel(&key(), &cancel()).unwrap()
    );
    let mode = |name: &str| {
        let found = std::fs::metadata(folder.path().join(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    assert_eq!(
        (mode("signer.sock"), mode("signed"), mode("signed/signed")),
        (0o660, 0o700, 0o600)
    );
    let (code, text) = command(folder.path(), "status", &signer.config);
    assert!(
        code == 0 && text.contains("ETH      2 of 10 signed and unexpired"),
        "{text}"
    );
    assert!(text.contains("USDC     2000 of 20000 signed"), "{text}");
    assert!(text.contains("LP       1 of 1 signed"), "{text}");
    let (code, text) = command(folder.path(), "check", &signer.config);
    assert!(
        code == 0 && text.contains("sold from 1500, bought up to 2500"),
        "{text}"
    );
    assert!(!text.contains(KEY), "{text}");
}

#[test]
fn nothing_beyond_the_rules_is_signed() {
    let (_folder, signer) = signer("signer-rules");
    let client = signer.client();
    let order = |change: &dyn Fn(&mut OrderMessage)| {
        let mut order = sale(0);
        change(&mut order);
        word(client.order(&order))
    };
    assert_eq!(order(&|o| o.account_id = 10_002), "account");
    assert_eq!(order(&|o| o.exchange = POOL), "account");
    assert_eq!(order(&|o| o.taker = POOL), "taker");
    assert_eq!(order(&|o| o.buy_token = 3), "market");
    assert_eq!(order(&|o| o.sell_token = 9), "market");
    assert_eq!(order(&|o| o.buy_amount = 1_500 * USDC - 1), "price");
    assert_eq!(order(&|o| o.buy_amount = 1), "price");
    assert_eq!(order(&|o| o.buy_amount = 0), "amount");
    assert_eq!(order(&|o| o.max_fee_bips = 21), "fee");
    assert_eq!(order(&|o| o.valid_until += 60), "ttl");
    assert_eq!(order(&|o| o.valid_until = now_s()), "ttl");
    let bought = |o: &mut OrderMessage| {
        (o.sell_token, o.buy_token) = (2, 1);
        (o.sell_amount, o.buy_amount) = (2_500 * USDC + 1, ETH);
    };
    assert_eq!(order(&bought), "price");
    assert_eq!(order(&|o| o.sell_amount = 11 * ETH), "price");
    let large = |o: &mut OrderMessage| {
        (o.sell_amount, o.buy_amount) = (10 * ETH + 1, 20_001 * USDC);
    };
    assert_eq!(order(&large), "unexpired");

    let domain = |address| Domain::pool(1, "AMM-ETH-USDC", address);
    let joined = |change: &dyn Fn(&mut PoolJoinMessage)| {
        let mut join = join();
        change(&mut join);
        word(client.join(&domain(POOL), &join))
    };
    assert_eq!(
        word(client.join(&domain(Address([6; 20])), &join())),
        "pool"
    );
    assert_eq!(joined(&|j| j.owner = POOL), "account");
    assert_eq!(joined(&|j| j.mint_min_amount = 1), "price");
    assert_eq!(joined(&|j| j.fee = Some(1)), "fee");
    assert_eq!(joined(&|j| j.valid_until += 60), "ttl");
    assert_eq!(joined(&|j| j.join_amounts.clear()), "pool");
    let exited = |change: &dyn Fn(&mut PoolExitMessage)| {
        let mut exit = exit();
        change(&mut exit);
        word(client.exit(&domain(POOL), &exit))
    };
    assert_eq!(
        word(client.exit(&domain(Address([6; 20])), &exit())),
        "pool"
    );
    assert_eq!(exited(&|e| e.exit_min_amounts = vec![0, 0]), "price");
    assert_eq!(exited(&|e| e.burn_amount = 2 * ETH), "price");
    let much = |e: &mut PoolExitMessage| {
        (e.burn_amount, e.exit_min_amounts) = (2 * ETH, vec![2 * ETH, 4_000 * USDC]);
    };
    assert_eq!(exited(&much), "unexpired");
    let elsewhere = CancelRequest {
        base_url: "https://other.example".to_owned(),
        ..cancel()
    };
    assert_eq!(word(client.cancel(&elsewhere)), "account");
    // None of it has counted.
    let limits: serde_json::Value = serde_json::from_str(&client.limits().unwrap()).unwrap();
    assert_eq!(limits["signatures_unexpired"], 0);
    assert_eq!(limits["tokens"][0]["window"], "0");
}

#[test]
fn there_is_no_request_for_withdrawals_transfers_keys_or_bytes() {
    let (_folder, signer) = signer("signer-kinds");
    let frame = Request::Order(sale(0)).encode();
    for kind in 0..=u8::MAX {
        let mut frame = frame.clone();
        frame[1] = kind;
        match send(&signer.socket, &frame) {
            Some(Answer::Signature(_)) => assert_eq!(kind, 3),
            Some(Answer::Refused(refusal)) if (1..=6).contains(&kind) => {
                assert_eq!(refusal.word, Word::Frame, "{kind}");
            }
            Some(Answer::Refused(refusal)) => assert_eq!(refusal.word, Word::Kind, "{kind}"),
            other => panic!("{kind}: {other:?}"),
        }
    }
    let refused = signer.client().header("POST&https%3A%2F%2Fvenue.example&x");
    assert!(word(refused).contains("needs the key file"));
    // What is signed for an order is not the signature of anything else that has the same numbers.
    let order = sale(1);
    let signature = signer.client().order(&order).unwrap();
    let public = key().public();
    let transfer = TransferMessage {
        exchange: order.exchange,
        payer_id: order.account_id,
        payer: Address([2; 20]),
        payee_id: 1,
        payee: POOL,
        token: 1,
        amount: ETH,
        fee_token: 1,
        max_fee: 0,
        valid_until: order.valid_until,
        storage_id: 1,
    };
    let update = AccountUpdateMessage {
        exchange: order.exchange,
        account_id: order.account_id,
        owner: Address([2; 20]),
        fee_token: 1,
        max_fee: 0,
        public_key: PublicKey { ..public },
        valid_until: order.valid_until,
        nonce: 0,
    };
    assert!(public.verify(&order.hash().message(), &signature));
    assert!(!public.verify(&transfer.hash().message(), &signature));
    assert!(!public.verify(&update.hash().message(), &signature));
}

/// As many orders as the signer signs, of one ETH each.
fn exhaust(client: &RemoteSigner, from: u32) -> (u32, String) {
    let refused = (from..from + 50).find_map(|number| {
        let signed = client.order(&sale(number));
        signed.is_err().then(|| (number - from, word(signed)))
    });
    refused.unwrap()
}

#[test]
fn limits_hold_over_kills_ends_and_attempts_to_forget_them() {
    let (folder, signer) = signer("signer-limits");
    assert_eq!(exhaust(&signer.client(), 0), (10, "unexpired".to_owned()));
    // The same bytes are signed again, and count once.
    let again = sale(9);
    let _ = signer.client().order(&again);
    let mut signer = signer.killed(&folder);
    assert_eq!(exhaust(&signer.client(), 100), (0, "unexpired".to_owned()));
    let (code, text) = command(folder.path(), "init", &signer.config);
    assert!(code == 75 && text.contains("in use"), "{text}");
    let second = std::process::Command::new(crate::support::process::SIGNER)
        .args(["run", "--config"])
        .arg(&signer.config)
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(75));
    signer.program.signal(Signal::TERM);
    assert_eq!(signer.program.end(READY), 0);
    assert!(signer.client().order(&sale(200)).is_err(), "it has ended");
    assert!(!signer.socket.exists());
    let (code, text) = command(folder.path(), "init", &signer.config);
    assert!(
        code == 77 && text.contains("init --replace forgets it"),
        "{text}"
    );
    let signer = Signer::again(&folder, signer.config, signer.socket);
    assert_eq!(exhaust(&signer.client(), 300), (0, "unexpired".to_owned()));
    assert!(
        signer.client().cancel(&cancel()).is_ok(),
        "cancels have no limit"
    );
    // Without its record, or with half of one, it does not start as if nothing had been signed.
    let Signer {
        mut program,
        config,
        ..
    } = signer;
    program.kill();
    let state = folder.path().join("signed/signed");
    let bytes = std::fs::read(&state).unwrap();
    for damaged in [&b""[..], &bytes[..10], b"cambist-signer 1"] {
        std::fs::write(&state, damaged).unwrap();
        let (code, text) = command(folder.path(), "run", &config);
        assert!(
            code == 77 && text.contains("no record of signatures"),
            "{text}"
        );
    }
    std::fs::remove_file(&state).unwrap();
    let (code, text) = command(folder.path(), "run", &config);
    assert!(code == 77 && text.contains("cambist-signer init"), "{text}");
}

#[test]
fn what_is_no_frame_ends_its_connection_and_nothing_else() {
    let (_folder, signer) = signer("signer-frames");
    let refused = |frame: &[u8]| match send(&signer.socket, frame) {
        Some(Answer::Refused(refusal)) => refusal.word,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&[0; 513]), Word::Frame, "a byte too many");
    assert_eq!(refused(&vec![0xff; 60_000]), Word::Frame);
    assert_eq!(refused(b""), Word::Frame);
    assert_eq!(refused(b"GET / HTTP/1.1\r\n\r\n"), Word::Frame);
    let frame = Request::Order(sale(0)).encode();
    for length in 0..frame.len() {
        assert_eq!(refused(&frame[..length]), Word::Frame, "{length}");
    }
    assert_eq!(refused(&[&frame[..], b"x"].concat()), Word::Frame);
    // Half a frame, and then nothing.
    for bytes in [&b"\0"[..], b"\0\x10", b"\0\x10\x01\x03abc"] {
        let mut stream = UnixStream::connect(&signer.socket).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, b"", "no signature");
    }
    assert!(signer.client().order(&sale(0)).is_ok(), "it still answers");
}

#[test]
fn connections_are_bounded_and_their_places_are_free_again() {
    let (_folder, signer) = signer("signer-connections");
    let client = signer.client();
    until(READY, "a free place for every connection", || {
        let open: Vec<_> = (0..CONNECTIONS_MAX)
            .map(|_| {
                let client = signer.client();
                client.identity().map(|_| client)
            })
            .collect();
        open.iter().all(Result::is_ok).then_some(open)
    });
    // Places of connections that were dropped a moment ago may still be taken.
    let mut open = Vec::new();
    let refused = until(READY, "too many connections", || {
        let more = (0..CONNECTIONS_MAX).map(|_| UnixStream::connect(&signer.socket).unwrap());
        open.extend(more);
        signer.client().identity().err()
    });
    assert!(refused.to_string().contains("busy"), "{refused}");
    drop(open);
    until(READY, "a free place", || client.identity().ok());
    assert!(client.order(&sale(0)).is_ok());
}
