//! Round trips, and every kind of damage to a file.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::collections::BTreeSet;

use cambist_core::notification::Notification;
use cambist_core::request::{Outcome, Query, Reply};

use super::*;
use crate::frame::RECORD_MAX_BYTES;
use crate::testing::{Random, Turn, header, turns, written};
use crate::writer::{WriteError, Writer};

fn entries(turns: &[Turn]) -> Vec<Entry> {
    turns
        .iter()
        .flat_map(|(now, event, actions)| {
            let (now, event, actions) = (*now, event.clone(), actions.clone());
            [Entry::Event { now, event }, Entry::Actions { actions }]
        })
        .collect()
}

/// All entries of a file, and how it ended.
fn read(tape: &[u8]) -> (Vec<Entry>, Result<Tail, ReadError>) {
    let mut entries = Vec::new();
    let mut reader = match Reader::open(tape) {
        Ok(reader) => reader,
        Err(error) => return (entries, Err(error)),
    };
    loop {
        match reader.next_entry() {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => return (entries, Ok(reader.tail().unwrap())),
            Err(error) => {
                assert!(
                    reader.next_entry().unwrap().is_none(),
                    "nothing after damage"
                );
                return (entries, Err(error));
            }
        }
    }
}

#[test]
fn every_event_and_action_is_read_back() {
    let mut seen = BTreeSet::new();
    for seed in 0..320 {
        let turns = turns(&mut Random(seed), 60);
        for (_, event, actions) in &turns {
            seen.insert(event_kind(event));
            seen.extend(actions.iter().map(action_kind));
        }
        let snapshot = (seed % 2 == 0).then_some(&b"state"[..]);
        let tape = written(&turns, snapshot);
        let reader = Reader::open(tape.as_slice()).unwrap();
        assert_eq!(reader.header(), &header());
        assert_eq!(reader.snapshot(), snapshot);
        let (got, end) = read(&tape);
        assert!(got == entries(&turns), "seed {seed}");
        assert_eq!(end.unwrap(), Tail::Clean);
    }
    // The number of arms below, where a new variant does not compile until it is named.
    assert_eq!(seen.len(), 94, "{seen:?}");
}

#[test]
fn a_tape_may_end_after_any_byte() {
    let turns = turns(&mut Random(11), 4);
    let all = entries(&turns);
    let tape = written(&turns, Some(b"state"));
    let mut given = BTreeSet::new();
    for cut in 0..tape.len() {
        let (got, end) = read(&tape[..cut]);
        assert!(got == all[..got.len()], "cut at {cut}");
        match end {
            Ok(Tail::Torn { offset }) => assert!(offset < cut as u64),
            Ok(Tail::Clean) => {
                // Only at the end of a record.
                given.insert(got.len());
            }
            Err(ReadError::NoHeader { offset }) => assert!(offset <= cut as u64),
            Err(error) => panic!("cut at {cut}: {error}"),
        }
    }
    // Clean cuts: after the header, the snapshot, and every entry but the last.
    assert_eq!(given.len(), all.len());
}

#[test]
fn a_file_extended_before_its_content_is_torn() {
    let turns = turns(&mut Random(12), 3);
    let all = entries(&turns);
    let tape = written(&turns, None);
    let opening = written(&[], None).len();
    for cut in opening..tape.len() {
        let mut grown = tape[..cut].to_vec();
        grown.resize(cut + 5_000, 0);
        let (got, end) = read(&grown);
        assert!(
            got.len() <= all.len() && got == all[..got.len()],
            "cut at {cut}"
        );
        // A record may itself end in the zeros that were to come.
        assert!(
            matches!(end, Ok(Tail::Torn { .. })),
            "cut at {cut}: {end:?}"
        );
    }
}

#[test]
fn every_changed_bit_is_detected() {
    let turns = turns(&mut Random(13), 3);
    let all = entries(&turns);
    let tape = written(&turns, Some(b"state"));
    let mut damaged = 0;
    for bit in 0..tape.len() * 8 {
        let mut changed = tape.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let (got, end) = read(&changed);
        assert!(
            got.len() < all.len() && got == all[..got.len()],
            "bit {bit}"
        );
        match end {
            Err(ReadError::Damaged { offset, .. }) => {
                // In another format the first record begins elsewhere.
                let named = (8..10).contains(&(bit / 8));
                assert!(named || offset <= (bit / 8) as u64, "bit {bit}");
                damaged += 1;
            }
            Err(ReadError::NotATape) => assert!(bit / 8 < 8),
            Err(ReadError::Version { .. }) => assert!((8..14).contains(&(bit / 8))),
            // Only damage in the last record cannot be distinguished from an unfinished record.
            Ok(Tail::Torn { offset }) => assert_eq!(got.len(), all.len() - 1, "{offset}"),
            Err(ReadError::NoHeader { .. } | ReadError::Io(_)) | Ok(Tail::Clean) => {
                panic!("bit {bit}: {end:?}")
            }
        }
    }
    assert!(damaged > tape.len() * 4);
}

#[test]
fn invalid_records_are_refused() {
    let opening = written(&[], None);
    let with = |payload: &[u8]| {
        let mut tape = opening.clone();
        tape.extend(Frame::of(payload).unwrap().to_bytes());
        tape.extend(payload);
        // More bytes follow, so that it is not a tail.
        tape.extend(Frame::of(b"x").unwrap().to_bytes());
        tape.push(b'x');
        read(&tape).1.unwrap_err().to_string()
    };
    let at = opening.len();
    let unknown = format!(
        "tape is damaged at byte {at}: a record cannot be decoded with the types of the tape's version"
    );
    assert_eq!(with(&[200]), unknown);
    assert_eq!(with(&[]), unknown);
    let turn_missing = format!("tape is damaged at byte {at}: events and actions do not alternate");
    assert_eq!(with(&[3, 0]), turn_missing);
    assert_eq!(with(&[3, 0, 0]), unknown, "bytes left over");
    let second = postcard::to_stdvec(&Record::Header(header())).unwrap();
    let misplaced =
        format!("tape is damaged at byte {at}: a header or snapshot record after the first event");
    assert_eq!(with(&second), misplaced);
    for (text, message) in [
        (
            "#!/bin/sh\nexit\n",
            "not a tape: the file does not begin with the magic bytes of a tape",
        ),
        ("", "tape ends before its header is complete, at byte 0"),
    ] {
        assert_eq!(read(text.as_bytes()).1.unwrap_err().to_string(), message);
    }
}

#[test]
fn a_length_beyond_the_limit_reserves_nothing() {
    let length = u32::try_from(RECORD_MAX_BYTES + 1).unwrap();
    let mut tape = written(&[], None);
    let at = tape.len() as u64;
    tape.extend(Frame { length, check: 0 }.to_bytes());
    tape.push(1);
    let end = read(&tape).1;
    assert!(matches!(end, Err(ReadError::Damaged { offset, .. }) if offset == at));
    assert!(Frame::of(&vec![0; RECORD_MAX_BYTES + 1]).is_none());
}

#[test]
fn nothing_is_written_after_a_record_that_failed() {
    let mut writer = Writer::new(Vec::new(), &header(), None).unwrap();
    let before = writer.written();
    let detail = "x".repeat(RECORD_MAX_BYTES);
    let name = String::new();
    let long = Action::Notify(Notification::InvariantFailed { name, detail });
    assert!(matches!(
        writer.write_actions(&[long]),
        Err(WriteError::TooLong)
    ));
    assert!(matches!(writer.write_actions(&[]), Err(WriteError::Ended)));
    assert_eq!(writer.written(), before);
}

fn event_kind(event: &Event) -> &'static str {
    match event {
        Event::Start(_) => "start",
        Event::Answer { outcome, .. } => outcome_kind(outcome),
        Event::Sealed { .. } => "sealed",
        Event::SealFailed { .. } => "seal failed",
        Event::RestrictionsStored(_) => "level stored",
        Event::RestrictionsFailed(_) => "level failed",
        Event::Operator(_) => "operator",
        Event::Process { .. } => "process",
        Event::Wake => "wake",
        Event::Reference(_) => "reference",
        Event::Portfolio(_) => "portfolio",
        Event::Elsewhere(_) => "elsewhere",
    }
}

fn outcome_kind(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Reply(Reply::Depth(_)) => "reply depth",
        Outcome::Reply(Reply::Balances(_)) => "reply balances",
        Outcome::Reply(Reply::ChargedBalances(_)) => "reply charged balances",
        Outcome::Reply(Reply::Orders { .. }) => "reply orders",
        Outcome::Reply(Reply::OrdersUntil { .. }) => "reply orders until",
        Outcome::Reply(Reply::Order(_)) => "reply order",
        Outcome::Reply(Reply::Submitted { .. }) => "reply submitted",
        Outcome::Reply(Reply::CancelTaken { .. }) => "reply cancel",
        Outcome::Reply(Reply::Amended) => "reply amend",
        Outcome::Reply(Reply::Markets { .. }) => "reply markets",
        Outcome::Reply(Reply::Account { .. }) => "reply account",
        Outcome::Reply(Reply::Pools(_)) => "reply pools",
        Outcome::Reply(Reply::Tokens(_)) => "reply tokens",
        Outcome::Reply(Reply::PoolBalance(_)) => "reply pool balance",
        Outcome::Reply(Reply::PoolTransactions { .. }) => "reply moves",
        Outcome::Refused(_) => "refused",
        Outcome::NotSent => "not sent",
        Outcome::Unknown(_) => "unknown",
    }
}

fn action_kind(action: &Action) -> &'static str {
    match action {
        Action::Send { query, .. } => match query {
            Query::Depth(_) => "query depth",
            Query::Balances => "query balances",
            Query::Orders(_) => "query orders",
            Query::Order(_) => "query order",
            Query::Cancel(_) => "query cancel",
            Query::Amend(_) => "query amend",
            Query::Markets => "query markets",
            Query::Account => "query account",
            Query::Pools => "query pools",
            Query::PoolBalance(_) => "query pool balance",
            Query::PoolTransactions(_) => "query moves",
            Query::Tokens => "query tokens",
        },
        Action::Seal { .. } => "seal",
        Action::Transmit { .. } => "transmit",
        Action::StoreRestrictions { .. } => "store level",
        Action::Book(_) => "book",
        Action::Notify(notification) => notification_kind(notification),
        Action::SendView { .. } => "view",
        Action::Finished { .. } => "finished",
    }
}

fn notification_kind(notification: &Notification) -> &'static str {
    match notification {
        Notification::Ready { .. } => "ready",
        Notification::Submitted { .. } => "submitted",
        Notification::SwapSubmitted { .. } => "swap submitted",
        Notification::Resent { .. } => "resent",
        Notification::Acknowledged { .. } => "acknowledged",
        Notification::Refused { .. } => "note refused",
        Notification::Unknown { .. } => "note unknown",
        Notification::Answered { .. } => "answered",
        Notification::CancelSent { .. } => "cancel sent",
        Notification::AmendSent { .. } => "amend sent",
        Notification::AmendEnded { .. } => "amend ended",
        Notification::Ended { .. } => "ended",
        Notification::Resolved { .. } => "resolved",
        Notification::Filled(_) => "filled",
        Notification::PoolTransactionSubmitted { .. } => "move sent",
        Notification::PoolTransactionSettled(_) => "moved",
        Notification::PoolTransactionEnded { .. } => "move ended",
        Notification::ForeignPoolTransaction { .. } => "foreign move",
        Notification::DepthAccepted { .. } => "depth taken",
        Notification::DepthRefused { .. } => "depth refused",
        Notification::RiskRefused { .. } => "risk refused",
        Notification::Withheld { .. } => "withheld",
        Notification::OtherInstance { .. } => "other instance",
        Notification::BudgetDenied { .. } => "budget denied",
        Notification::Foreign { .. } => "foreign",
        Notification::Reconciled { .. } => "reconciled",
        Notification::Mismatch { .. } => "mismatch",
        Notification::Books(_) => "books",
        Notification::Balanced => "balanced",
        Notification::FeeAbove { .. } => "fee above",
        Notification::TradingStateChanged { .. } => "level changed",
        Notification::Paused(_) => "paused",
        Notification::Unpaused { .. } => "unpaused",
        Notification::RestrictionsNotStored => "restrictions not stored",
        Notification::CommandAccepted { .. } => "command accepted",
        Notification::CommandRefused { .. } => "command refused",
        Notification::Adopted { .. } => "adopted",
        Notification::ForeignAdopted { .. } => "foreign adopted",
        Notification::SideEmpty { .. } => "dark",
        Notification::Left { .. } => "left",
        Notification::Slept { .. } => "slept",
        Notification::InvariantFailed { .. } => "invariant",
        Notification::BothSides { .. } => "both sides",
        Notification::MemoryRefused { .. } => "memory refused",
        Notification::ProcessAnswerRefused { .. } => "answer refused",
        Notification::Draining => "draining",
        Notification::Status(_) => "status",
    }
}

#[test]
fn a_tape_is_empty_up_to_the_last_byte_of_its_header_and_no_damaged_one_is() {
    let tape = written(&[], None);
    for end in 0..tape.len() {
        let offset = empty_at(&tape[..end]).unwrap();
        assert!(offset.is_some_and(|offset| offset <= end as u64), "{end}");
    }
    assert_eq!(empty_at(tape.as_slice()).unwrap(), None);
    // Extended by the file system before it was written.
    for zeros in [1, 10, 5_000] {
        assert_eq!(empty_at(vec![0; zeros].as_slice()).unwrap(), Some(0));
    }
    let mut zeros_and_more = vec![0; 5_000];
    zeros_and_more.push(1);
    assert_eq!(empty_at(zeros_and_more.as_slice()).unwrap(), None);
    assert_eq!(empty_at(b"no tape".as_slice()).unwrap(), None);
    // A complete header with other content behind it is damaged, not cut off.
    let mut damaged = tape;
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    damaged.extend(Frame::of(b"x").unwrap().to_bytes());
    assert_eq!(empty_at(damaged.as_slice()).unwrap(), None);
    assert!(matches!(
        Reader::open(damaged.as_slice()),
        Err(ReadError::Damaged { .. })
    ));
}
