//! Measures the cost of requests by the number of resting orders: `cargo run --release -p cambist-venue --example flat
//! [-- LARGEST]`.
//!
//! Accounts, funds, storage ids, hashes, histories and fills are included; signatures and transport are not. Every
//! cycle keeps the number of resting orders: one order is placed and cancelled, one is taken completely and replaced,
//! and the depth and an order are read. CPU time of the thread; memory of the process, from /proc.
#![allow(
    clippy::cast_precision_loss,
    reason = "a ratio is printed with one digit"
)]

mod support;

use std::error::Error;

use cambist_core::{Hash, VenueTime};
use cambist_venue::{Caller, Request, Response, Venue};
use support::{Want, account, memory_kib};

const MAKERS: u64 = 200;
/// Number of accounts that trade during the measurement: makers, takers, and accounts that only place and cancel.
const OTHERS: u64 = 30;
const PRICES: u64 = 1_000;
const CYCLES: u64 = 20_000;
const BATCH: u64 = 100;
const KINDS: [&str; 6] = ["place", "cancel", "take", "replace", "depth", "order"];

fn main() -> Result<(), Box<dyn Error>> {
    let largest: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(1_000_000), |word| word.parse())?;
    let mut world = World::new()?;
    println!(
        "{:>9} resting | {} | ns of CPU each | bytes an order",
        "",
        KINDS.join(" | ")
    );
    let begun_kib = memory_kib();
    for size in [1_000, 10_000, 100_000, 1_000_000] {
        if size > largest {
            break;
        }
        while world.resting < size {
            world.fill()?;
        }
        let each = (memory_kib() - begun_kib) * 1_024 / size;
        let mut spent = [0; KINDS.len()];
        for _ in 0..CYCLES / BATCH {
            world.cycle(&mut spent)?;
        }
        let shown: Vec<_> = spent
            .iter()
            .map(|ns| format!("{:.0}", *ns as f64 / CYCLES as f64))
            .collect();
        println!("{size:>9} resting | {} | {each}", shown.join(" | "));
    }
    world.venue.audit()?;
    Ok(())
}

struct World {
    venue: Venue,
    resting: u64,
    placed: u64,
    /// Number of cycles so far: gives the storage ids of the accounts that trade during the measurement.
    cycles: u64,
}

impl World {
    fn new() -> Result<Self, Box<dyn Error>> {
        let mut venue = Venue::new(support::config())?;
        support::open(&mut venue, MAKERS + OTHERS)?;
        Ok(Self {
            venue,
            resting: 0,
            placed: 0,
            cycles: 0,
        })
    }

    /// Adds a resting order.
    fn fill(&mut self) -> Result<(), Box<dyn Error>> {
        let number = self.resting;
        self.resting += 1;
        self.submit(&Want {
            account: number % MAKERS,
            storage_id: 2 * (number / MAKERS),
            sells: true,
            cents: 250_000 + number % PRICES,
        })?;
        Ok(())
    }

    /// A batch of each kind.
    fn cycle(&mut self, spent: &mut [u64; KINDS.len()]) -> Result<(), Box<dyn Error>> {
        // No account trades with itself.
        let third = OTHERS / 3;
        let turns: Vec<_> = (self.cycles..self.cycles + BATCH)
            .map(|cycle| (cycle % third, 2 * (cycle / third)))
            .collect();
        self.cycles += BATCH;
        let want = |(turn, storage_id), who: u64, sells, cents| Want {
            account: MAKERS + who * third + turn,
            storage_id,
            sells,
            cents,
        };
        let mut clock = Clock::start();
        let mut placed = Vec::new();
        for at in &turns {
            placed.push(self.submit(&want(*at, 0, false, 240_000 + at.0))?);
        }
        spent[0] += clock.lap();
        for ((turn, _), hash) in turns.iter().zip(&placed) {
            let account = account(MAKERS + turn);
            let cancel = Request::Cancel {
                account,
                hash: Some(*hash),
                client_id: None,
            };
            self.ask(&Caller::Internal { account }, &cancel)?;
        }
        spent[1] += clock.lap();
        for at in &turns {
            self.submit(&want(*at, 1, false, 260_000))?;
        }
        spent[2] += clock.lap();
        for at in &turns {
            self.submit(&want(*at, 2, true, 250_000))?;
        }
        spent[3] += clock.lap();
        for _ in &turns {
            let depth = Request::Depth {
                market: "AAA-QQQ".to_owned(),
                level: 0,
                limit: None,
            };
            self.ask(&Caller::Public, &depth)?;
        }
        spent[4] += clock.lap();
        for ((turn, _), hash) in turns.iter().zip(&placed) {
            let account = account(MAKERS + turn);
            let order = Request::Order {
                account,
                hash: *hash,
            };
            self.ask(&Caller::Internal { account }, &order)?;
        }
        spent[5] += clock.lap();
        Ok(())
    }

    fn ask(&mut self, caller: &Caller, request: &Request) -> Result<Response, Box<dyn Error>> {
        Ok(self.venue.handle(VenueTime(1_000), caller, request)?)
    }

    fn submit(&mut self, want: &Want) -> Result<Hash, Box<dyn Error>> {
        let order = want.order(self.placed);
        self.placed += 1;
        let caller = Caller::Internal {
            account: order.account,
        };
        let asked = Request::Submit(Box::new(order));
        match self.ask(&caller, &asked)? {
            Response::Submitted(taken) => Ok(taken.hash),
            other => Err(format!("{other:?}").into()),
        }
    }
}

/// CPU time of this thread.
struct Clock(u64);

impl Clock {
    fn start() -> Self {
        Self(cpu_ns())
    }

    fn lap(&mut self) -> u64 {
        let before = std::mem::replace(&mut self.0, cpu_ns());
        self.0.saturating_sub(before)
    }
}

fn cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap_or(0)
}
