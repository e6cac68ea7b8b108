//! The calls of a running exchange: no answer to an order leaves before the sync that covers it.
//!
//! A killed process loses nothing that it has written, synced or not, so kills show nothing about syncs.

use std::collections::BTreeMap;

use cambist_syscalls::{Call, Phase, Record, Recording};

use super::crash::{Folder, Running, customer};
use super::support::{Connection, Want};

const CLIENTS: u8 = 4;
const ORDERS: u64 = 40;

#[test]
fn no_answer_leaves_before_the_sync_that_covers_it() {
    let folder = Folder::new("trace");
    std::fs::create_dir_all(folder.path()).unwrap();
    let mut command = Running::command(&folder.path().join("data"));
    let recording = Recording::of(&mut command, &folder.path().join("calls"));
    let running = Running::spawn(command);
    std::thread::scope(|scope| {
        for number in 1..=CLIENTS {
            let address = running.address;
            scope.spawn(move || {
                let mut customer = customer(number);
                let mut connection = Connection::open(address);
                for _ in 0..ORDERS {
                    connection
                        .ask(&customer.submit(Want::Sell, 100_000, 1))
                        .good();
                }
            });
        }
    });
    running.close();
    let replayed = replay(&recording.read().unwrap());
    assert_eq!(replayed.early, Vec::<u64>::new(), "{replayed:?}");
    assert_eq!(replayed.answers, u64::from(CLIENTS) * ORDERS);
    assert!(
        replayed.syncs > 0 && replayed.syncs <= replayed.answers,
        "{replayed:?}"
    );
}

/// What a recording shows.
#[derive(Debug, Default)]
struct Replayed {
    /// Inputs written to the log.
    written: u64,
    /// Those of them that a sync covers.
    synced: u64,
    answers: u64,
    /// Syncs that covered inputs which none had covered before.
    syncs: u64,
    /// Answers that exceeded the synced inputs when they left.
    early: Vec<u64>,
}

/// Follows the calls in their order: each answer to an order needs an input of its own that is synced.
fn replay(records: &[Record]) -> Replayed {
    let mut replayed = Replayed::default();
    // What was written when the sync of a thread began.
    let mut syncing: BTreeMap<u32, u64> = BTreeMap::new();
    for record in records {
        match (record.call, record.phase) {
            (Call::Write, Phase::Begun) if record.data.starts_with(b"HTTP/1.1 200") => {
                replayed.answers += 1;
                if replayed.answers > replayed.synced {
                    replayed.early.push(replayed.answers);
                }
            }
            (Call::Write, Phase::Ended) if record.succeeded() => {
                // The head of a frame: length, number of inputs, number of the first.
                if let (Some(count), Some(first)) = (record.data.get(4..8), record.data.get(8..16))
                    && !record.is_socket()
                    && u64::from_le_bytes(first.try_into().unwrap()) == replayed.written
                {
                    replayed.written += u64::from(u32::from_le_bytes(count.try_into().unwrap()));
                }
            }
            (Call::Sync, Phase::Begun) => {
                syncing.insert(record.thread, replayed.written);
            }
            (Call::Sync, Phase::Ended) => {
                let covered = syncing.remove(&record.thread);
                if record.succeeded() && covered.unwrap() > replayed.synced {
                    replayed.synced = covered.unwrap();
                    replayed.syncs += 1;
                }
            }
            _ => {}
        }
    }
    replayed
}

#[test]
fn a_sync_that_began_before_the_write_ended_covers_nothing() {
    let record = |call, phase, data: &[u8]| Record {
        thread: 1,
        call,
        phase,
        target: String::new(),
        data: data.to_vec(),
        result: 0,
    };
    let frame = [&[0; 4][..], &1_u32.to_le_bytes(), &0_u64.to_le_bytes()].concat();
    let write = record(Call::Write, Phase::Ended, &frame);
    let begun = record(Call::Sync, Phase::Begun, b"");
    let ended = record(Call::Sync, Phase::Ended, b"");
    let failed = Record {
        result: -1,
        ..ended.clone()
    };
    let answer = record(Call::Write, Phase::Begun, b"HTTP/1.1 200 OK");
    let early = |records: &[&Record]| {
        let records: Vec<_> = records.iter().map(|one| (*one).clone()).collect();
        !replay(&records).early.is_empty()
    };
    assert!(!early(&[&write, &begun, &ended, &answer]));
    assert!(early(&[&write, &begun, &failed, &answer]));
    assert!(early(&[&begun, &write, &ended, &answer]));
    assert!(early(&[&write, &begun, &answer, &ended]));
    assert!(early(&[&write, &answer]));
}
