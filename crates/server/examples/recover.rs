//! Measures the recovery of a durable exchange: `cargo run --release -p cambist-server --example recover -- FOLDER
//! [ORDERS]`.
//!
//! A new or empty folder is first filled with an exchange of ORDERS resting orders (default 1000000), over 1000 prices
//! and 200 accounts. A folder with an exchange (of the example `load`, for instance) is only recovered. Memory is the
//! resident size of the process (from /proc, where available).
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]

#[path = "../../venue/examples/support/mod.rs"]
mod support;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use cambist_core::VenueTime;
use cambist_server::DataFolder;
use cambist_venue::{Caller, Request, Venue};
use support::{Want, account, memory_kib};

const ACCOUNTS: u64 = 200;
const PRICES: u64 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().ok_or("usage: recover FOLDER [ORDERS]")?;
    let orders: u64 = words.next().map_or(Ok(1_000_000), |word| word.parse())?;
    let data = DataFolder::take(Path::new(&folder))?;
    if data.recover()?.is_none() {
        let before_kib = memory_kib();
        let begun = Instant::now();
        let venue = filled(orders)?;
        println!(
            "{orders} orders taken in {:?}, {} bytes of memory each",
            begun.elapsed(),
            1_024 * memory_kib().saturating_sub(before_kib) / orders.max(1)
        );
        let begun = Instant::now();
        drop(data.begin(venue, Vec::new())?);
        println!("snapshot made in {:?}", begun.elapsed());
    }
    for _ in 0..3 {
        let begun = Instant::now();
        let durable = data.recover()?.ok_or("nothing was recovered")?;
        let recovered = begun.elapsed();
        let begun = Instant::now();
        durable.venue().audit()?;
        println!(
            "recovered in {recovered:?} (an audit would take {:?} more): {} orders open, {} inputs replayed from {} bytes of log",
            begun.elapsed(),
            durable.venue().open_orders(),
            durable.facts().replayed,
            durable.facts().log_bytes,
        );
    }
    Ok(())
}

fn filled(orders: u64) -> Result<Venue, Box<dyn Error>> {
    let mut venue = Venue::new(support::config())?;
    support::open(&mut venue, ACCOUNTS)?;
    for number in 0..orders {
        let want = Want {
            account: number % ACCOUNTS,
            storage_id: 2 * (number / ACCOUNTS),
            sells: true,
            cents: 250_000 + number % PRICES,
        };
        let caller = Caller::Internal {
            account: account(want.account),
        };
        let order = Box::new(want.order(number));
        venue.handle(VenueTime(1_000), &caller, &Request::Submit(order))?;
    }
    Ok(venue)
}
