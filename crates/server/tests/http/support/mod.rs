//! A venue on a free port with a clock moved by hand, and a client made of a socket and a string.
//!
//! The client is written from the interface text and knows none of our wire types, so that both ends
//! cannot be wrong together. Books are audited after every request; a failure fails the test.

mod client;
mod customer;
pub mod trader;

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use cambist_core::{Amount, TokenId, TokenSpec, VenueTime};
use cambist_server::{
    Clock, DataError, DataFolder, Durable, InProcess, Rate, RateLimits, RunError, Server,
    ServerConfig,
};
use cambist_signing::{Address, SecretKey};
use cambist_venue::agents::Agents;
use cambist_venue::{
    AccountId, Compat, Limits, MarketConfig, PublicKey, TokenConfig, TokenKind, Venue, VenueConfig,
};
use tokio::sync::oneshot;

/// Takes a data folder that nothing else uses. A test that starts a process at this moment gives it the lock of a folder
/// that was just released, until the process runs its own program.
pub fn taken(folder: &Path) -> DataFolder {
    for _ in 0..100 {
        match DataFolder::take(folder) {
            Err(DataError::InUse { .. }) => {
                std::thread::sleep(Duration::from_millis(50));
            }
            taken => return taken.unwrap(),
        }
    }
    DataFolder::take(folder).unwrap()
}

pub use client::{Call, Connection, Reply};
pub use customer::{Customer, Want, message};

pub const BASE: TokenId = TokenId(0);
pub const QUOTE: TokenId = TokenId(1);
pub const EXCHANGE: Address = Address([7; 20]);
/// One whole base token.
pub const ONE: Amount = 1_000_000_000_000_000_000;
/// One whole quote token.
pub const UNIT: Amount = 1_000_000;
/// Points of the curve of order 2, 4 and 8, and one with such a part: keys that must not be registered.
pub const LOW_ORDER: [[&str; 2]; 4] = [
    [
        "0x0",
        "0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000000",
    ],
    [
        "0x68a190bd4563c1f8ce1cf7a816eacb524a06a69334601a98aff443852ae3efa",
        "0x0",
    ],
    [
        "0x26ca6a00b96d21a18e9f746b5c616985d006d8f522066be0d6a1e0e5854c60e3",
        "0xaabb7211172d31463c1127d4ba6942cb791c56d8234b5a0abfd1e81afd0d677",
    ],
    [
        "0x752625f4263438f04289a107d7107722c6a478c58320721593db24db83322af",
        "0x15b7033981d62aecdf9192f000307e2280cdf789043b7b9bc5cd3005395d5b32",
    ],
];
/// When tests begin, in seconds.
pub const START_S: u64 = 1_700_000_000;

/// A venue with two listed tokens and one market with cents as ticks.
pub fn venue(compat: Compat) -> Venue {
    let token = |id: TokenId, symbol: &str, decimals, minimum: Amount| TokenConfig {
        spec: TokenSpec {
            id,
            symbol: symbol.to_owned(),
            decimals,
            precision: 6,
            minimum,
            maximum: minimum * 1_000_000,
            dust: minimum / 10,
            enabled: true,
        },
        name: format!("Token {symbol}"),
        address: [u8::try_from(id.0).unwrap(); 20],
        kind: TokenKind::Erc20,
        fast_withdraw_limit: 5 * minimum,
    };
    Venue::new(VenueConfig {
        chain_id: 1,
        exchange: EXCHANGE.0,
        deposit: [8; 20],
        tokens: vec![
            token(BASE, "AAA", 18, ONE / 1_000),
            token(QUOTE, "QQQ", 6, UNIT),
        ],
        markets: vec![MarketConfig {
            name: "AAA-QQQ".to_owned(),
            base: BASE,
            quote: QUOTE,
            price_decimals: 2,
            aggregation_levels: 3,
            enabled: true,
            maker_fee_bips: 2,
            taker_fee_bips: 10,
            price_band: None,
            fee_in: cambist_core::venue::FeeToken::Bought,
        }],
        limits: Limits::default(),
        fee_collector: AccountId(0),
        fee_collector_owner: [9; 20],
        first_account: AccountId(10_000),
        compat,
        ..VenueConfig::default()
    })
    .unwrap()
}

/// Limits that no test meets by accident.
pub fn generous() -> RateLimits {
    RateLimits {
        key_and_endpoint: Rate::per_s(10_000),
        keyless_and_endpoint: Rate::per_s(10_000),
        address: Rate::per_s(100_000),
        market_data: Rate::per_s(10_000),
        failed_signatures: Rate::per_s(10_000),
        buckets_max: 1_000,
    }
}

pub fn config() -> ServerConfig {
    ServerConfig {
        rates: generous(),
        audit_every_request: true,
        clock: Clock::by_hand(VenueTime::from_s(START_S)),
        ..ServerConfig::new(([127, 0, 0, 1], 0).into())
    }
}

/// A running exchange; ends with the value, and every audit must have passed.
pub struct Exchange {
    pub address: SocketAddr,
    pub handle: InProcess,
    pub clock: Clock,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), RunError>>>,
}

impl Exchange {
    pub fn start() -> Self {
        Self::with(&config())
    }

    pub fn with(config: &ServerConfig) -> Self {
        Self::run(config, venue(Compat::Both), Vec::new())
    }

    pub fn run(config: &ServerConfig, venue: Venue, agents: Vec<Agents>) -> Self {
        Self::of(
            Server::bind(config, venue, agents).unwrap(),
            config.clock.clone(),
        )
    }

    /// An exchange whose answers wait until their inputs are on disk.
    pub fn durable(exchange: Durable) -> Self {
        Self::durable_by(&config(), exchange)
    }

    pub fn durable_by(config: &ServerConfig, exchange: Durable) -> Self {
        let server = Server::bind_durable(config, exchange).unwrap();
        Self::of(server, config.clock.clone())
    }

    fn of(server: Server, clock: Clock) -> Self {
        let (address, handle) = (server.local_addr(), server.handle());
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap()
                .block_on(server.run(async {
                    let _ = stopped.await;
                }))
        });
        Self {
            address,
            handle,
            clock,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Opens an account with 1,000 base and 1,000,000 quote; the number decides its keys.
    pub fn customer(&self, number: u8) -> Customer {
        let api_key = format!("key-of-{number}");
        let mut customer = self.open(number, Some(&api_key));
        customer.api_key = api_key;
        customer
    }

    /// The same without an API key.
    pub fn customer_without_api_key(&self, number: u8) -> Customer {
        self.open(number, None)
    }

    fn open(&self, number: u8, api_key: Option<&str>) -> Customer {
        let secret = SecretKey::from_hex(&format!("0x{number:x}")).unwrap();
        let key = secret.public();
        let account = self
            .handle
            .create_account(
                [number; 20],
                PublicKey {
                    x: key.x.to_be_bytes(),
                    y: key.y.to_be_bytes(),
                },
                api_key,
            )
            .unwrap();
        self.handle.deposit(account, BASE, 1_000 * ONE).unwrap();
        self.handle
            .deposit(account, QUOTE, 1_000_000 * UNIT)
            .unwrap();
        Customer {
            account,
            owner: Address([number; 20]),
            secret,
            api_key: String::new(),
            next_storage_id: 0,
        }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    pub fn connect_from(&self, source: [u8; 4]) -> Connection {
        Connection::open_from(source, self.address)
    }

    /// One request on its own connection.
    pub fn ask(&self, call: &Call) -> Reply {
        self.connect().ask(call)
    }

    /// Stops the server and returns its result.
    pub fn stop(&mut self) -> Result<(), RunError> {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        self.wait()
    }

    /// Whether the address refuses connections. A child that another test is starting holds a copy of the listening
    /// socket until it executes its program, so it is asked for some time.
    pub fn refuses_connections(&self) -> bool {
        for _ in 0..2_000 {
            if TcpStream::connect(self.address).is_err() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Waits for the server to end by itself.
    pub fn wait(&mut self) -> Result<(), RunError> {
        self.thread
            .take()
            .map_or(Ok(()), |thread| thread.join().unwrap())
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let ended = self.stop();
        if !std::thread::panicking() {
            assert!(ended.is_ok(), "{ended:?}");
            assert_eq!(self.handle.audit(), Ok(()));
            assert_eq!(self.handle.audit_failures(), 0);
        }
    }
}
