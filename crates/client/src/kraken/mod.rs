//! HTTP client of Kraken's spot interface: sends what `cambist_kraken_venue` writes, and returns one outcome for each.
//!
//! There are two keys. The one of orders sends sealed orders and nothing else after the start; the one of the account
//! sends the rest. Each has one request in flight, cancels first. A nonce is taken when a request is sent, and is never
//! used again: a request that waited too long for its turn has none, and was not sent.

mod lane;
mod ledger;
mod nonce_use;
mod orders;
mod queries;
mod start;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cambist_core::request::{Outcome, UnknownCause};
use cambist_core::{Reason, VenueTime};
use cambist_kraken::sign::Secret;
use cambist_kraken_venue::answer::{NoResult, result};
use cambist_kraken_venue::depth::DepthVersions;
use cambist_kraken_venue::fills::Trades;
use cambist_kraken_venue::json::{DecodeError, Json};
use cambist_kraken_venue::requests::{Method, Request};
use cambist_kraken_venue::{Listing, NonceSource};
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use crate::base_url::BaseUrl;
use crate::client::{Answered, key_header, not_sent};
use crate::config::ClientConfig;
use crate::error::SetupError;
use crate::transport::{Exchange, Headers, Outgoing, Transport};

use lane::{Lane, Turn};
use nonce_use::NonceUse;

pub use nonce_use::RefusedNonces;
pub use start::{KeyKind, ProofError};

/// An API key: its name, and the secret that signs with it. `Debug` shows neither.
#[derive(Clone)]
pub struct ApiKey {
    name: HeaderValue,
    secret: Secret,
}

impl ApiKey {
    /// A key from the two texts that the venue shows when it is made.
    pub fn new(api_key: &SecretString, secret: &SecretString) -> Result<Self, SetupError> {
        Ok(Self {
            name: key_header(api_key)?,
            secret: Secret::parse(secret.expose_secret()).map_err(|_| SetupError::ApiSecret)?,
        })
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// The keys of an account.
#[derive(Clone, Debug)]
pub struct KrakenKeys {
    /// Submits orders. Absent where none are submitted.
    pub orders: Option<ApiKey>,
    /// Reads and cancels.
    pub account: ApiKey,
}

/// A client of Kraken's spot interface, cheap to clone. Clones share keys, nonces and what is known of trades.
#[derive(Clone)]
pub struct KrakenClient {
    shared: Arc<Shared>,
    listing: Arc<Listing>,
}

struct Shared {
    transport: Transport,
    base: BaseUrl,
    timeout: Duration,
    body_max_bytes: usize,
    list_body_max_bytes: usize,
    orders: Option<Key>,
    account: Option<Key>,
    trades: Mutex<Trades>,
    ledger: Mutex<ledger::Reading>,
    depths: Mutex<DepthVersions>,
}

struct Key {
    credentials: ApiKey,
    nonces: Arc<dyn NonceSource>,
    lane: Arc<Lane>,
    used: NonceUse,
}

/// What the heads of the answers to the requests of one query hold.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    /// The venue's clock by the latest `Date` header: every answer was drawn up after the query was begun.
    date: Option<VenueTime>,
    http_status: Option<u16>,
    retry_after_ms: Option<u64>,
    /// Calls of the key that the requests so far added to its counter.
    calls: u32,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NoAnswer {
    NotSent(String),
    Refused(Reason, String),
    Unknown(UnknownCause, String),
}

impl NoAnswer {
    fn undecodable(problem: &str) -> Self {
        NoResult::undecodable(problem).into()
    }

    /// With what a refusal of the key means: the venue's text names no permission.
    fn explained(self, method: Method) -> Self {
        let Self::Refused(reason, texts) = self else {
            return self;
        };
        let meaning = match (reason, method.permission()) {
            (Reason::InvalidApiKey, _) => Some("the venue does not know this API key".to_owned()),
            (Reason::WrongSignature, _) => Some("the secret is not that of the API key".to_owned()),
            (Reason::NoSignature, Some(permission)) => {
                Some(format!("the API key has no permission \"{permission}\""))
            }
            _ => None,
        };
        Self::Refused(
            reason,
            match meaning {
                Some(meaning) => format!("{texts} ({meaning})"),
                None => texts,
            },
        )
    }
}

impl From<NoResult> for NoAnswer {
    fn from(none: NoResult) -> Self {
        match none {
            NoResult::Refused { reason, texts } => Self::Refused(reason, texts),
            NoResult::Unknown { cause, detail } => Self::Unknown(cause, detail),
        }
    }
}

impl From<DecodeError> for NoAnswer {
    fn from(error: DecodeError) -> Self {
        NoResult::from(error).into()
    }
}

impl Head {
    /// The outcome of a query.
    fn answered(self, result: Result<Outcome, NoAnswer>) -> Answered {
        let (outcome, detail) = match result {
            Ok(outcome) => (outcome, None),
            Err(NoAnswer::NotSent(detail)) if self.http_status.is_none() => {
                return not_sent(&detail);
            }
            // An earlier request of the same query was answered.
            Err(NoAnswer::NotSent(detail)) => {
                (Outcome::Unknown(UnknownCause::Transport), Some(detail))
            }
            Err(NoAnswer::Refused(reason, detail)) => (Outcome::Refused(reason), Some(detail)),
            Err(NoAnswer::Unknown(cause, detail)) => (Outcome::Unknown(cause), Some(detail)),
        };
        // The `Date` header of a gateway that answered for the venue is not the venue's clock.
        let venue_time = match &outcome {
            Outcome::Reply(_) | Outcome::Refused(_) => self.date,
            Outcome::NotSent | Outcome::Unknown(_) => None,
        };
        Answered {
            outcome,
            venue_time,
            http_status: self.http_status,
            retry_after_ms: self.retry_after_ms,
            cost_beyond: 0,
            detail,
        }
    }

    /// Notes the head of an answer, and reads its frame.
    fn read(&mut self, exchange: Exchange) -> Result<Json, NoAnswer> {
        match exchange {
            Exchange::NotSent(detail) => Err(NoAnswer::NotSent(detail)),
            Exchange::Broken {
                cause,
                status,
                detail,
            } => {
                self.http_status = status.or(self.http_status);
                Err(NoAnswer::Unknown(cause, detail))
            }
            Exchange::Whole(whole) => {
                self.date = self.date.max(whole.date);
                self.http_status = Some(whole.status);
                self.retry_after_ms = whole.retry_after_ms;
                Ok(result(whole.status, whole.is_json, &whole.body)?)
            }
        }
    }
}

impl KrakenClient {
    /// A client; without keys it can only read what is public. `nonces` are those of the key of orders and of the
    /// key of the account.
    pub fn new(
        config: &ClientConfig,
        keys: Option<KrakenKeys>,
        nonces: [Arc<dyn NonceSource>; 2],
    ) -> Result<Self, SetupError> {
        config.check()?;
        let base = BaseUrl::parse(&config.base_url)?;
        let (orders, account) = match keys {
            Some(keys) => (keys.orders, Some(keys.account)),
            None => (None, None),
        };
        let [of_orders, of_account] = nonces;
        let key = |key: Option<ApiKey>, nonces| {
            key.map(|key| Key {
                credentials: key,
                nonces,
                lane: Arc::default(),
                used: NonceUse::default(),
            })
        };
        Ok(Self {
            shared: Arc::new(Shared {
                transport: Transport::new(config, &base)?,
                base,
                timeout: Duration::from_millis(config.timeout_ms),
                body_max_bytes: config.body_max_bytes,
                list_body_max_bytes: config.list_body_max_bytes,
                orders: key(orders, of_orders),
                account: key(account, of_account),
                trades: Mutex::default(),
                ledger: Mutex::default(),
                depths: Mutex::default(),
            }),
            listing: Arc::default(),
        })
    }

    /// The same client, which knows the names and decimals of these pairs.
    #[must_use]
    pub fn with_listing(&self, listing: Arc<Listing>) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            listing,
        }
    }

    /// The pairs that it knows.
    pub fn listing(&self) -> &Arc<Listing> {
        &self.listing
    }

    /// The venue's base URL.
    pub fn base_url(&self) -> &BaseUrl {
        &self.shared.base
    }

    /// The nonces of a key that were refused because something else uses the key.
    pub fn refused_nonces(&self, kind: KeyKind) -> RefusedNonces {
        let key = self.key(kind);
        key.map_or_else(|_| RefusedNonces::default(), |key| key.used.refused())
    }

    fn key(&self, kind: KeyKind) -> Result<&Key, NoAnswer> {
        let key = match kind {
            KeyKind::Orders => &self.shared.orders,
            KeyKind::Account => &self.shared.account,
        };
        key.as_ref()
            .ok_or_else(|| NoAnswer::NotSent(format!("there is no {kind}")))
    }

    fn trades(&self) -> MutexGuard<'_, Trades> {
        let trades = self.shared.trades.lock();
        trades.unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a public page.
    async fn public(&self, request: &Request, head: &mut Head) -> Result<Json, NoAnswer> {
        let shared = &self.shared;
        let outgoing = Outgoing {
            method: reqwest::Method::GET,
            url: shared.base.join(request.method.path(), &request.query()),
            headers: Headers::KRAKEN,
            api_key: None,
            signature: None,
            body: None,
            body_max_bytes: shared.list_body_max_bytes,
        };
        head.read(shared.transport.exchange(outgoing).await)
    }

    /// A request of the account's key. One whose nonce the venue did not take was not executed, and is made once more
    /// with a new one.
    async fn private(&self, request: &Request, head: &mut Head) -> Result<Json, NoAnswer> {
        match self.by(KeyKind::Account, request, head).await {
            Err(NoAnswer::Refused(Reason::InvalidNonce, _)) => {
                self.by(KeyKind::Account, request, head).await
            }
            answer => answer,
        }
    }

    /// A request of a key, with its next nonce.
    async fn by(
        &self,
        kind: KeyKind,
        request: &Request,
        head: &mut Head,
    ) -> Result<Json, NoAnswer> {
        let key = self.key(kind)?;
        let _turn = self.turn(key, request.method).await?;
        let nonce = key.next_nonce().await?;
        let body = request.body(nonce);
        self.send(key, request.method, nonce, body, head).await
    }

    /// Waits for the turn of a request of a key.
    async fn turn(&self, key: &Key, method: Method) -> Result<Turn, NoAnswer> {
        let turn = key.lane.turn(method.cancels(), self.shared.timeout).await;
        turn.ok_or_else(|| NoAnswer::NotSent(WAITED.to_owned()))
    }

    /// Signs and sends. The caller has the key's turn.
    async fn send(
        &self,
        key: &Key,
        method: Method,
        nonce: u64,
        body: Vec<u8>,
        head: &mut Head,
    ) -> Result<Json, NoAnswer> {
        let shared = &self.shared;
        let signature = key
            .credentials
            .secret
            .sign(method.path(), &nonce.to_string(), &body);
        // Base64 is always a valid header value.
        let signature = HeaderValue::from_str(&signature);
        let mut signature = signature.map_err(|error| NoAnswer::NotSent(error.to_string()))?;
        signature.set_sensitive(true);
        let is_list = matches!(
            method,
            Method::OpenOrders | Method::ClosedOrders | Method::Ledgers
        );
        let outgoing = Outgoing {
            method: reqwest::Method::POST,
            url: shared.base.join(method.path(), ""),
            headers: Headers::KRAKEN,
            api_key: Some(&key.credentials.name),
            signature: Some(signature),
            body: Some(body),
            body_max_bytes: if is_list {
                shared.list_body_max_bytes
            } else {
                shared.body_max_bytes
            },
        };
        head.calls += method.calls();
        key.add_calls(method.calls()).await;
        let is_new = key.used.sends(nonce);
        let result = head.read(shared.transport.exchange(outgoing).await);
        if is_new {
            key.used.answered(&result);
        }
        result.map_err(|none| none.explained(method))
    }
}

/// Why a request was not sent.
const WAITED: &str = "it waited longer than the timeout for the requests before it";

impl Key {
    /// The next nonce. What makes it durable may wait for the disk.
    async fn next_nonce(&self) -> Result<u64, NoAnswer> {
        let nonces = Arc::clone(&self.nonces);
        let next = tokio::task::spawn_blocking(move || nonces.next()).await;
        match next {
            Ok(next) => next.map_err(|error| NoAnswer::NotSent(error.to_string())),
            Err(error) => Err(NoAnswer::NotSent(error.to_string())),
        }
    }
}

impl Key {
    /// The next request adds so many calls to the counter of the key. What keeps them may wait for the disk, and a cancel
    /// adds none.
    async fn add_calls(&self, calls: u32) {
        if calls > 0 {
            let nonces = Arc::clone(&self.nonces);
            // If it could not be kept, the venue's counter is judged lower than it is after a kill, and refuses.
            let _ = tokio::task::spawn_blocking(move || nonces.adds_calls(calls)).await;
        }
    }
}

impl fmt::Debug for KrakenClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KrakenClient")
            .field("base_url", &self.shared.base)
            .field("has_orders_key", &self.shared.orders.is_some())
            .field("has_account_key", &self.shared.account.is_some())
            .finish_non_exhaustive()
    }
}
