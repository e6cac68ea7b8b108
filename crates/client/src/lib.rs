//! HTTP client of the exchange interface. The daemon uses it, and it can be used on its own. [`Node`] is that of a node of
//! an EVM chain.
//!
//! It sends one request at a time on behalf of its caller and returns one of four outcomes. It makes no decisions: no
//! retries, redirects, proxies, cookies or clock of its own, and no knowledge of quotes, risk or budgets. Its errors,
//! details and `Debug` output contain no secrets.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use cambist_client::{Client, ClientConfig, Credentials};
//!
//! let key = cambist_signing::SecretKey::from_hex("0x1")?;
//! let credentials = Credentials::new(10_000, None, None, key);
//! let client = Client::new(&ClientConfig::new("http://127.0.0.1:8080"), Some(credentials))?;
//! let client = client.with_api_key(&client.api_key().await?)?;
//! println!("{:?}", client.markets().await?);
//! # Ok(())
//! # }
//! ```

mod base_url;
mod calls;
mod classify;
mod client;
mod config;
mod error;
mod evm_pools;
mod kraken;
mod node;
mod public;
mod queries;
mod transport;
mod venue;
mod webhook;

pub use base_url::BaseUrl;
pub use classify::{classify_query, classify_submit};
pub use client::{Answered, Client};
pub use config::{ClientConfig, Credentials};
pub use error::{CallError, SetupError};
pub use evm_pools::{EvmPools, Stopwatch};
pub use kraken::{ApiKey, KeyKind, KrakenClient, KrakenKeys, ProofError, RefusedNonces};
pub use node::{Head, NoFact, Node, NodeAnswer, NodeOutcome, NodeRefusal, Nodes, Place};
pub use public::{PublicError, PublicReader, PublicUrl};
pub use secrecy::{ExposeSecret, SecretString};
pub use venue::VenueClient;
pub use webhook::{Webhook, WebhookError};
