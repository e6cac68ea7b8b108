//! HTTP client for the exchange interface: an SDK of its own, and the engine's hands.
//!
//! It sends one request at a time on behalf of its caller and says which of the four outcomes came of
//! it. It decides nothing: no retry, no redirect, no proxy, no cookie, no clock of its own, and no
//! knowledge of quotes, risk or budgets. Secrets never appear in its errors, its details or `Debug`.
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
mod public;
mod transport;

pub use base_url::BaseUrl;
pub use classify::{classify_query, classify_submit};
pub use client::{Answered, Client};
pub use config::{ClientConfig, Credentials};
pub use error::{CallError, SetupError};
pub use public::{PublicError, PublicReader, PublicUrl};
pub use secrecy::{ExposeSecret, SecretString};
