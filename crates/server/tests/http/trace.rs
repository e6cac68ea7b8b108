//! The system calls of a running exchange: no answer to an order leaves before the sync that covers it.
//!
//! Needs a tracer (`strace`) that may trace, so it belongs to the target `trace`, which `tests/external/run`
//! runs where there is one. Everywhere else the disk model speaks.

use std::collections::BTreeMap;

use super::crash::{Folder, Running, customer};
use super::support::{Connection, Want};

const CLIENTS: u8 = 4;
const ORDERS: u64 = 40;

/// Bytes shown of each call: the head of a frame and the first line of an answer.
const SHOWN: &str = "48";

#[test]
fn no_answer_leaves_before_the_sync_that_covers_it() {
    let folder = Folder::new("trace");
    std::fs::create_dir_all(folder.path()).unwrap();
    let (data, trace) = (folder.path().join("data"), folder.path().join("trace"));
    let calls = "trace=pwrite64,fdatasync,sendto,write,writev";
    let below = ["strace", "-f", "-xx", "-s", SHOWN, "-e", calls, "-o"].map(str::to_owned);
    let below = [below.as_slice(), &[trace.display().to_string()]].concat();
    let running = Running::start(&data, &below);
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
    let trace = std::fs::read_to_string(trace).unwrap();
    let (answers, syncs) = replay(&trace);
    assert_eq!(answers, u64::from(CLIENTS) * ORDERS);
    assert!(syncs > 0 && syncs <= answers, "{syncs} syncs");
    println!("{answers} answers, {syncs} syncs, every answer behind its own");
}

/// Checks in the order of the calls that answers sent never exceed inputs synced; returns the numbers of both.
fn replay(trace: &str) -> (u64, u64) {
    let (mut written, mut synced, mut answers, mut syncs) = (0, 0, 0, 0);
    // What a thread was writing when another was shown in between.
    let mut unfinished: BTreeMap<&str, u64> = BTreeMap::new();
    for line in trace.lines() {
        let (thread, call) = line.split_once(' ').unwrap();
        let call = call.trim_start();
        if call.starts_with("pwrite64(") {
            let head = bytes(call);
            if let (Some(count), Some(first)) = (head.get(4..8), head.get(8..16))
                && u64::from_le_bytes(first.try_into().unwrap()) == written
            {
                written += u64::from(u32::from_le_bytes(count.try_into().unwrap()));
            }
        } else if call.starts_with("fdatasync(") && call.ends_with("<unfinished ...>") {
            unfinished.insert(thread, written);
        } else if call.starts_with("fdatasync(") && call.ends_with("= 0") {
            (synced, syncs) = (written, syncs + 1);
        } else if call.starts_with("<... fdatasync resumed>") && call.ends_with("= 0") {
            (synced, syncs) = (unfinished.remove(thread).unwrap(), syncs + 1);
        } else if bytes(call).starts_with(b"HTTP/1.1 200") {
            answers += 1;
            assert!(
                answers <= synced,
                "{answers} answers but {synced} inputs synced of {written} written: {line}"
            );
        }
    }
    (answers, syncs)
}

/// The first text of a call, which the tracer writes as hexadecimal digits.
fn bytes(call: &str) -> Vec<u8> {
    let text = call.split('"').nth(1).unwrap_or_default();
    text.split("\\x")
        .skip(1)
        .filter_map(|digits| u8::from_str_radix(digits.get(..2)?, 16).ok())
        .collect()
}
