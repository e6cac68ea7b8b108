#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cambist_signing::OrderMessage;

use super::*;
use crate::journal;
use crate::testing::{ETH, POOL, USDC, cancel, exit, join, purchase, rules, sale};

struct Signer {
    service: Service,
    now_s: Arc<AtomicU64>,
    folder: tempfile::TempDir,
}

fn wall_s() -> u64 {
    cambist_host::clock::Clock::new().unix_micros() / 1_000_000
}

impl Signer {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
        journal::init(folder.path(), false, wall_s()).unwrap();
        Self::at(folder, wall_s())
    }

    fn at(folder: tempfile::TempDir, now_s: u64) -> Self {
        let now = Arc::new(AtomicU64::new(now_s));
        let opened = Journal::open(folder.path(), &rules(), [7; 16], now_s).unwrap();
        let clock = Arc::clone(&now);
        let clock: UnixClock = Box::new(move || clock.load(Ordering::SeqCst));
        let key = SecretKey::from_hex("0x1").unwrap();
        let service = Service::new(key, rules(), opened, clock);
        Self {
            service,
            now_s: now,
            folder,
        }
    }

    /// As after a kill.
    fn again(self) -> Self {
        let Self {
            service,
            now_s,
            folder,
        } = self;
        drop(service);
        Self::at(folder, now_s.load(Ordering::SeqCst))
    }

    fn later(&self, seconds: u64) {
        self.now_s.fetch_add(seconds, Ordering::SeqCst);
    }

    fn earlier(&self, seconds: u64) {
        self.now_s.fetch_sub(seconds, Ordering::SeqCst);
    }

    /// An order as of now with a storage id of its own.
    fn order(&self, number: u32, like: OrderMessage) -> OrderMessage {
        OrderMessage {
            storage_id: number,
            valid_until: u32::try_from(self.now_s.load(Ordering::SeqCst)).unwrap() + 60,
            ..like
        }
    }

    fn word(&self, request: &Request) -> Option<Word> {
        match self.service.answer(request) {
            Answer::Signature(_) => None,
            Answer::Refused(refusal) => Some(refusal.word),
            other => panic!("{other:?}"),
        }
    }

    fn sell(&self, number: u32) -> Option<Word> {
        self.word(&Request::Order(self.order(number, sale())))
    }
}

fn signature(answer: Answer) -> cambist_signing::Signature {
    match answer {
        Answer::Signature(signature) => signature,
        other => panic!("{other:?}"),
    }
}

#[test]
fn signatures_are_those_of_the_key_itself() {
    use cambist_signing::RequestSigner;
    use cambist_signing::eip712::Domain;
    let signer = Signer::new();
    let key = SecretKey::from_hex("0x1").unwrap();
    let answer = |request| signature(signer.service.answer(&request));
    let order = signer.order(0, sale());
    assert_eq!(
        answer(Request::Order(order)),
        RequestSigner::order(&key, &order).unwrap()
    );
    let domain = Domain::pool(1, "AMM-ETH-USDC", POOL);
    let valid_until = order.valid_until;
    let join = cambist_signing::PoolJoinMessage {
        valid_until,
        ..join()
    };
    assert_eq!(
        answer(Request::Join(POOL, join.clone())),
        key.join(&domain, &join).unwrap()
    );
    let exit = cambist_signing::PoolExitMessage {
        valid_until,
        ..exit()
    };
    assert_eq!(
        answer(Request::Exit(POOL, exit.clone())),
        key.exit(&domain, &exit).unwrap()
    );
    assert_eq!(
        answer(Request::Cancel(cancel())),
        RequestSigner::cancel(&key, &cancel()).unwrap()
    );
    let Answer::Identity(identity) = signer.service.answer(&Request::Identity) else {
        panic!("no identity");
    };
    assert_eq!(identity.public_key, key.public());
    assert_eq!((identity.account_id, identity.chain_id), (10_001, 1));
}

#[test]
fn the_limit_holds_over_kills_and_frees_with_time() {
    let mut signer = Signer::new();
    for number in 0..10 {
        assert_eq!(signer.sell(number), None, "{number}");
        if number % 3 == 0 {
            signer = signer.again();
        }
    }
    assert_eq!(signer.sell(10), Some(Word::Unexpired));
    signer = signer.again();
    assert_eq!(signer.sell(11), Some(Word::Unexpired));
    let buy = signer.order(12, purchase());
    assert_eq!(signer.word(&Request::Order(buy)), None, "another token");
    assert_eq!(
        signer.word(&Request::Cancel(cancel())),
        None,
        "cancels have no limit"
    );
    signer.later(60);
    assert_eq!(signer.sell(13), None);
}

#[test]
fn the_same_order_counts_once_also_over_a_kill() {
    let signer = Signer::new();
    let order = signer.order(0, sale());
    let first = signature(signer.service.answer(&Request::Order(order)));
    for _ in 0..20 {
        assert_eq!(
            signature(signer.service.answer(&Request::Order(order))),
            first
        );
    }
    let signer = signer.again();
    assert_eq!(
        signature(signer.service.answer(&Request::Order(order))),
        first
    );
    assert_eq!(signer.service.state().usage.used(1), [ETH, ETH]);
    // One unit more is another order.
    let other = OrderMessage {
        buy_amount: order.buy_amount + 1,
        ..order
    };
    assert_eq!(signer.word(&Request::Order(other)), None);
    assert_eq!(signer.service.state().usage.used(1), [2 * ETH, 2 * ETH]);
    signer.later(60);
    assert_eq!(
        signer.word(&Request::Order(order)),
        Some(Word::Ttl),
        "it has expired"
    );
}

#[test]
fn the_window_limits_what_expires_quickly() {
    let signer = Signer::new();
    for round in 0..10 {
        for number in 0..10 {
            assert_eq!(signer.sell(round * 10 + number), None);
        }
        signer.later(60);
    }
    assert_eq!(signer.sell(100), Some(Word::Window));
    let signer = signer.again();
    assert_eq!(signer.sell(101), Some(Word::Window));
    signer.later(6_500);
    assert_eq!(signer.sell(102), None);
}

#[test]
fn joins_and_exits_count_all_that_they_give_away() {
    let signer = Signer::new();
    let now = u32::try_from(signer.now_s.load(Ordering::SeqCst)).unwrap();
    let join = |id: u32| {
        let join = cambist_signing::PoolJoinMessage {
            join_storage_ids: vec![id, id + 2],
            valid_until: now + 60,
            fee: Some(USDC),
            ..join()
        };
        Request::Join(POOL, join)
    };
    let first = join(1);
    assert_eq!(signer.word(&first), None);
    assert_eq!(signer.word(&first), None, "again");
    let used = |token| signer.service.state().usage.used(token)[0];
    assert_eq!((used(1), used(2), used(3)), (ETH, 2_001 * USDC, 0));
    let exit = cambist_signing::PoolExitMessage {
        valid_until: now + 60,
        ..exit()
    };
    assert_eq!(signer.word(&Request::Exit(POOL, exit)), None);
    assert_eq!((used(1), used(2), used(3)), (ETH, 2_001 * USDC, ETH));
    let refused = (1..20)
        .map(|id| signer.word(&join(id * 4 + 1)))
        .find_map(|word| word);
    assert_eq!(refused, Some(Word::Unexpired));
    assert!(used(1) <= 10 * ETH && used(2) <= 20_000 * USDC);
}

#[test]
fn a_clock_that_goes_back_stops_signatures_and_frees_nothing() {
    let signer = Signer::new();
    assert_eq!(signer.sell(0), None);
    signer.earlier(2);
    assert_eq!(signer.sell(1), None, "as far as clocks are corrected");
    signer.earlier(1);
    assert_eq!(signer.sell(2), Some(Word::Clock));
    assert_eq!(signer.word(&Request::Cancel(cancel())), None);
    let signer = signer.again();
    assert_eq!(
        signer.sell(3),
        Some(Word::Clock),
        "nor does a start make it right"
    );
    signer.later(3);
    assert_eq!(signer.sell(4), None);
    assert_eq!(signer.service.state().usage.used(1)[0], 3 * ETH);
}

#[test]
fn after_its_end_it_signs_cancels_only() {
    let signer = Signer::new();
    signer.service.close().unwrap();
    assert_eq!(signer.sell(0), Some(Word::State));
    assert_eq!(signer.word(&Request::Cancel(cancel())), None);
}

#[test]
fn limits_are_stated_with_what_is_used() {
    let signer = Signer::new();
    assert_eq!(signer.sell(0), None);
    let Answer::Limits(text) = signer.service.answer(&Request::Limits) else {
        panic!("no limits");
    };
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["tokens"][0]["symbol"], "ETH");
    assert_eq!(json["tokens"][0]["signed_unexpired"], "1");
    assert_eq!(json["tokens"][0]["signed_unexpired_max"], "10");
    assert_eq!(
        (&json["ttl_max_s"], &json["signatures_unexpired"]),
        (&120.into(), &1.into())
    );
    // Without another signature since: what has expired is not counted.
    signer.later(60);
    let Answer::Limits(text) = signer.service.answer(&Request::Limits) else {
        panic!("no limits");
    };
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["tokens"][0]["signed_unexpired"], "0");
    assert_eq!(json["signatures_unexpired"], 0);
}

/// The record of its end has the time of its end, however long ago the last request was: the next start compares it with
/// the last change of the file.
#[test]
fn an_idle_signer_ends_and_begins_again() {
    let idle = Signer::new();
    let begun_s = idle.now_s.load(Ordering::SeqCst);
    idle.later(12);
    idle.service.close().unwrap();
    let Signer {
        service, folder, ..
    } = idle;
    drop(service);
    let (_, usage) = Journal::open(folder.path(), &rules(), [7; 16], begun_s).unwrap();
    assert_eq!(usage.now_s(), begun_s + 12);
}
