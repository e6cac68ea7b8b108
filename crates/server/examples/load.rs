//! Measures signed orders per second over loopback: `cargo run --release -p cambist-server --example load`.
//!
//! Arguments: orders (default 20000), accounts (8), connections (8), and `--data DIR` (new or empty) for a durable
//! exchange. Orders are signed beforehand and rest in the book. Every order is verified, with `--data` written to disk,
//! and its answer is read before its connection sends the next. CPU time counts the server's threads only (from /proc,
//! where available).
//!
//! `--compare [ROUNDS]` measures exchanges in memory and on disk in turns, with one connection and with several, beside
//! hashing and prepared verification of the same orders, and prints medians as a table.
#![allow(clippy::disallowed_methods, reason = "a measurement reads the clock")]
#![allow(
    clippy::cast_precision_loss,
    reason = "a ratio is printed with one digit"
)]

#[path = "../../venue/examples/support/mod.rs"]
mod support;

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cambist_core::TokenId;
use cambist_server::{DataFolder, Rate, RateLimits, Server, ServerConfig};
use cambist_signing::{Address, OrderMessage, SecretKey};
use cambist_venue::{AccountId, Compat, PublicKey, Venue, VenueConfig};
use support::ONE;

type Anything = Box<dyn Error + Send + Sync>;

const EXCHANGE: Address = Address(support::EXCHANGE);
/// Server threads: one for each of two cores.
const WORKERS: usize = 2;

fn main() -> Result<(), Anything> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut data = None;
    if let Some(at) = words.iter().position(|word| word == "--data") {
        words.remove(at);
        if at == words.len() {
            return Err("--data needs the path of a folder".into());
        }
        data = Some(words.remove(at));
    }
    let compares = words.first().is_some_and(|word| word == "--compare");
    if compares {
        words.remove(0);
    }
    let mut numbers = words.iter().map(|text| text.parse::<usize>());
    let mut next = |default| numbers.next().transpose().map(|n| n.unwrap_or(default));
    if compares {
        return compare(next(5)?);
    }
    let (orders, accounts, connections) = (next(20_000)?, next(8)?.max(1), next(8)?.max(1));
    let measured = measure(
        orders,
        accounts,
        connections,
        data.as_deref().map(Path::new),
    )?;
    let count = u32::try_from(orders)?;
    println!(
        "{orders} orders, {accounts} accounts, {connections} connections: {:.0}/s of wall time, \
         {:?} of server CPU each ({:.0}/s for each core), slowest {} us",
        f64::from(count) / measured.wall.as_secs_f64(),
        measured.cpu / count.max(1),
        f64::from(count) / measured.cpu.as_secs_f64().max(1e-9),
        measured.slowest_us,
    );
    let Measured { batches, bytes, .. } = measured;
    if batches > 0 {
        let per = |whole: u64, parts: u64| whole as f64 / parts.max(1) as f64;
        println!(
            "log: {batches} syncs, {:.1} orders each, {:.1} bytes an order",
            per(orders as u64, batches),
            per(bytes, orders as u64),
        );
    }
    Ok(())
}

/// Orders of one measurement of a comparison.
const COMPARED: usize = 4_000;

/// Exchanges in memory and on disk in turns, beside what cryptography alone costs.
fn compare(rounds: usize) -> Result<(), Anything> {
    let folder = std::env::temp_dir().join(format!("cambist-load-{}", std::process::id()));
    let kinds = [(false, 1), (true, 1), (false, 8), (true, 8)];
    let mut measured: [Vec<Measured>; 4] = Default::default();
    let mut alone = Vec::new();
    for round in 0..rounds.max(1) {
        alone.push(cryptography(COMPARED)?);
        for (into, (durable, connections)) in measured.iter_mut().zip(kinds) {
            let data = folder.join(format!("{round}-{connections}"));
            let data = durable.then_some(data.as_path());
            into.push(measure(COMPARED, 8, connections, data)?);
        }
    }
    std::fs::remove_dir_all(&folder)?;
    let alone = median(&alone);
    let micros = |all: &[Measured], of: fn(&Measured) -> Duration| {
        let each: Vec<_> = all.iter().map(|one| of(one).as_secs_f64()).collect();
        median(&each) * 1e6 / COMPARED as f64
    };
    println!(
        "{COMPARED} orders a round, {rounds} rounds in turns, medians; clients and server share the machine. Hash and \
         prepared verification of an order alone: {alone:.1} µs of CPU.\n"
    );
    println!(
        "| exchange | connections | server CPU an order | × hash and verification | orders a second | CPU × in memory | orders a sync |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (at, (durable, connections)) in kinds.into_iter().enumerate() {
        let cpu = micros(&measured[at], |one| one.cpu);
        let wall = micros(&measured[at], |one| one.wall);
        let in_memory = micros(&measured[at & !1], |one| one.cpu);
        let syncs: Vec<_> = measured[at].iter().map(|one| one.batches as f64).collect();
        let syncs = match median(&syncs) {
            syncs if syncs > 0.0 => format!("{:.1}", COMPARED as f64 / syncs),
            _ => "–".to_owned(),
        };
        println!(
            "| {} | {connections} | {cpu:.1} µs | {:.2} | {:.0} | {:.2} | {syncs} |",
            if durable { "on disk" } else { "in memory" },
            cpu / alone,
            1e6 / wall,
            cpu / in_memory,
        );
    }
    Ok(())
}

fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// CPU microseconds of this thread to hash an order and to verify its signature with a prepared key.
fn cryptography(orders: usize) -> Result<f64, Anything> {
    let secret = SecretKey::from_hex("0x1")?;
    let prepared = secret.public().prepare();
    let signed: Vec<_> = (0..64)
        .map(|number| {
            let message = message(AccountId(10_001), number, 1_900_000_000)?;
            let signature = secret.sign_unchecked(&message.hash().message())?;
            Ok((message, signature))
        })
        .collect::<Result<_, Anything>>()?;
    let begun = thread_cpu();
    for (message, signature) in signed.iter().cycle().take(orders) {
        if !prepared.verify(&message.hash().message(), signature) {
            return Err("a good signature was not verified".into());
        }
    }
    let spent = thread_cpu().saturating_sub(begun);
    Ok(spent.as_secs_f64() * 1e6 / orders as f64)
}

/// What a run took.
struct Measured {
    wall: Duration,
    /// Of the server's threads.
    cpu: Duration,
    slowest_us: u64,
    batches: u64,
    bytes: u64,
}

/// Sends orders to an exchange in memory, or with a data folder.
fn measure(
    orders: usize,
    accounts: usize,
    connections: usize,
    data: Option<&Path>,
) -> Result<Measured, Anything> {
    let mut config = ServerConfig::new(([127, 0, 0, 1], 0).into());
    config.rates = RateLimits {
        key_and_endpoint: Rate::per_s(10_000_000),
        address: Rate::per_s(10_000_000),
        ..RateLimits::default()
    };
    config.connections.connections_per_address_max = 1_000;
    let server = match data {
        None => Server::bind(&config, venue()?, Vec::new())?,
        Some(folder) => {
            let begun = DataFolder::take(folder)?.begin(venue()?, Vec::new())?;
            Server::bind_durable(&config, begun)?
        }
    };
    let (address, handle) = (server.local_addr(), server.handle());
    let until = u32::try_from(handle.now().as_s())? + 36_000;
    let mut keys = Vec::new();
    for number in 1..=accounts {
        let secret = SecretKey::from_hex(&format!("0x{number:x}"))?;
        let public = secret.public();
        let key = PublicKey {
            x: public.x.to_be_bytes(),
            y: public.y.to_be_bytes(),
        };
        let owner = [u8::try_from(number)?; 20];
        let account = handle.create_account(owner, key, Some(&format!("key-{number}")))?;
        handle.deposit(account, TokenId(0), 1_000_000 * ONE)?;
        keys.push((account, secret, format!("key-{number}")));
    }
    let requests: Vec<Vec<u8>> = (0..orders)
        .map(|at| {
            let (account, secret, key) = &keys[at % accounts];
            request(*account, secret, key, at / accounts, until)
        })
        .collect::<Result<_, _>>()?;

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("server")
        .enable_all()
        .build()?;
    let serving = runtime.spawn(server.run(std::future::pending()));
    let requests = Arc::new(requests);
    let written_before = handle.log_written();
    let slowest_us = Arc::new(AtomicU64::new(0));
    let cpu_before = server_cpu();
    let begun = Instant::now();
    let clients: Vec<_> = (0..connections)
        .map(|first| {
            let (requests, slowest_us) = (Arc::clone(&requests), Arc::clone(&slowest_us));
            std::thread::spawn(move || client(address, &requests, first, connections, &slowest_us))
        })
        .collect();
    for client in clients {
        client.join().map_err(|_| "a client panicked")??;
    }
    let wall = begun.elapsed();
    let cpu = server_cpu().saturating_sub(cpu_before);
    handle.audit()?;
    let (batches, bytes) = handle.log_written();
    serving.abort();
    Ok(Measured {
        wall,
        cpu,
        slowest_us: slowest_us.load(Ordering::Relaxed),
        batches: batches - written_before.0,
        bytes: bytes - written_before.1,
    })
}

fn client(
    address: SocketAddr,
    requests: &[Vec<u8>],
    first: usize,
    step: usize,
    slowest_us: &AtomicU64,
) -> Result<(), Anything> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    let mut body = Vec::new();
    for request in requests.iter().skip(first).step_by(step) {
        let sent = Instant::now();
        stream.get_mut().write_all(request)?;
        let (mut line, mut length) = (String::new(), 0);
        let mut good = false;
        while stream.read_line(&mut line)? > 2 {
            good |= line.starts_with("HTTP/1.1 200");
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse()?;
            }
            line.clear();
        }
        body.resize(length, 0);
        stream.read_exact(&mut body)?;
        if !good {
            return Err(String::from_utf8_lossy(&body).into_owned().into());
        }
        let took_us = u64::try_from(sent.elapsed().as_micros())?;
        slowest_us.fetch_max(took_us, Ordering::Relaxed);
    }
    Ok(())
}

/// A sell order above the market, at one of a thousand prices.
fn message(account: AccountId, number: usize, until: u32) -> Result<OrderMessage, Anything> {
    let cents = 250_000 + u128::try_from(number % 1_000)?;
    Ok(OrderMessage {
        exchange: EXCHANGE,
        storage_id: u32::try_from(2 * number)?,
        account_id: account.0,
        sell_token: 0,
        buy_token: 1,
        sell_amount: ONE / 100,
        buy_amount: cents * 100,
        valid_until: until,
        max_fee_bips: 63,
        fill_by_buy: false,
        taker: Address::ZERO,
    })
}

/// It as a request, signed.
fn request(
    account: AccountId,
    secret: &SecretKey,
    key: &str,
    number: usize,
    until: u32,
) -> Result<Vec<u8>, Anything> {
    let message = message(account, number, until)?;
    let signature = secret.sign_unchecked(&message.hash().message())?;
    let body = format!(
        "{{\"exchange\":\"{EXCHANGE}\",\"accountId\":{},\"storageId\":{},\
         \"sellToken\":{{\"tokenId\":\"0\",\"volume\":\"{}\"}},\
         \"buyToken\":{{\"tokenId\":\"1\",\"volume\":\"{}\"}},\
         \"allOrNone\":\"false\",\"fillAmountBOrS\":\"false\",\"validUntil\":{until},\
         \"maxFeeBips\":63,\"eddsaSignature\":\"{signature}\"}}",
        account.0, message.storage_id, message.sell_amount, message.buy_amount,
    );
    let head = format!(
        "POST /api/v3/order HTTP/1.1\r\nHost: localhost\r\nX-API-KEY: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    Ok((head + &body).into_bytes())
}

/// CPU time of the threads of the server that run now: nanoseconds of the scheduler.
fn server_cpu() -> Duration {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return Duration::ZERO;
    };
    let times = threads.filter_map(|thread| {
        let thread = thread.ok()?.path();
        let name = std::fs::read_to_string(thread.join("comm")).ok()?;
        name.starts_with("server").then(|| cpu_of(&thread))?
    });
    times.sum()
}

/// CPU time of this thread.
fn thread_cpu() -> Duration {
    cpu_of(Path::new("/proc/thread-self")).unwrap_or_default()
}

fn cpu_of(thread: &Path) -> Option<Duration> {
    let text = std::fs::read_to_string(thread.join("schedstat")).ok()?;
    let nanos = text.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

fn venue() -> Result<Venue, Anything> {
    let config = VenueConfig {
        chain_id: 1,
        deposit: [8; 20],
        fee_collector: AccountId(0),
        fee_collector_owner: [9; 20],
        compat: Compat::Both,
        ..support::config()
    };
    Ok(Venue::new(config)?)
}
