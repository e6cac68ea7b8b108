//! What a signer costs an order beyond its signature: the same orders signed by the key itself, and by a signer behind
//! its socket with its checks, its records and their syncs.
//!
//! ```sh
//! cargo run --release -p cambist-signer --example cost
//! ```

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use cambist_config::Source;
use cambist_host::clock::Clock;
use cambist_signer::client::RemoteSigner;
use cambist_signer::journal::{self, Journal};
use cambist_signer::server::Socket;
use cambist_signer::service::Service;
use cambist_signing::{Address, OrderMessage, RequestSigner, SecretKey};

const ORDERS: u32 = 5_000;

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
ttl_max_s = 130
max_fee_bips = 20
[[token]]
symbol = "ETH"
id = 1
decimals = 18
signed_unexpired_max = "1000000"
window_max = "1000000"
[[token]]
symbol = "USDC"
id = 2
decimals = 6
signed_unexpired_max = "1000000000"
window_max = "1000000000"
[[market]]
name = "ETH-USDC"
base = "ETH"
quote = "USDC"
sell_price_min = "1000"
buy_price_max = "3000"
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::new();
    let folder = tempfile::tempdir()?;
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700))?;
    let key = || SecretKey::from_hex("0x1b5");
    let signer = start(folder.path(), key()?, clock)?;
    let held = key()?;
    let direct: &dyn RequestSigner = &held;
    let (mut alone, mut behind) = (Vec::new(), Vec::new());
    for number in 0..ORDERS {
        let order = order(number, clock);
        for (signer, times) in [
            (direct, &mut alone),
            (&signer as &dyn RequestSigner, &mut behind),
        ] {
            let begun = clock.now();
            signer.order(&order)?;
            times.push(clock.now().micros_since(begun));
        }
    }
    let [alone, behind] = [alone, behind].map(|mut times| {
        times.sort_unstable();
        let mean = times.iter().sum::<u64>() / times.len() as u64;
        (times[times.len() / 2], times[times.len() * 99 / 100], mean)
    });
    println!("{ORDERS} orders        median       p99      mean");
    println!(
        "key              {:8} us {:6} us {:6} us",
        alone.0, alone.1, alone.2
    );
    println!(
        "signer           {:8} us {:6} us {:6} us",
        behind.0, behind.1, behind.2
    );
    println!(
        "beyond signing   {:8} us                  {:6} us  ({} % of the median signature)",
        behind.0.saturating_sub(alone.0),
        behind.2.saturating_sub(alone.2),
        behind.0 * 100 / alone.0.max(1)
    );
    Ok(())
}

fn start(
    folder: &Path,
    key: SecretKey,
    clock: Clock,
) -> Result<RemoteSigner, Box<dyn std::error::Error>> {
    let source = Source {
        path: folder.join("signer.toml"),
        text: FILE.to_owned(),
    };
    let config = cambist_signer::config::parse(&source, folder)?;
    let now_s = move || clock.unix_micros() / 1_000_000;
    journal::init(&config.state_dir, false, now_s())?;
    let opened = Journal::open(
        &config.state_dir,
        &config.rules,
        journal::boot_id(),
        now_s(),
    )?;
    let service = Arc::new(Service::new(key, config.rules, opened, Box::new(now_s)));
    let socket = Socket::bind(&config.socket)?;
    std::thread::spawn(move || socket.serve(&service, &[]));
    Ok(RemoteSigner::new(&config.socket))
}

fn order(number: u32, clock: Clock) -> OrderMessage {
    let now_s = u32::try_from(clock.unix_micros() / 1_000_000).unwrap_or(u32::MAX);
    OrderMessage {
        exchange: Address([1; 20]),
        storage_id: number,
        account_id: 10_001,
        sell_token: 1,
        buy_token: 2,
        sell_amount: 1_000_000_000_000_000_000,
        buy_amount: 2_000_000_000 + u128::from(number),
        valid_until: now_s + 120,
        max_fee_bips: 20,
        fill_by_buy: false,
        taker: Address::ZERO,
    }
}
