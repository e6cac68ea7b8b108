//! The client: sends polls, cancels and submits for the engine and returns one outcome for each.
//!
//! Every request is built from the protocol's endpoint table. What an answer proves, and whether to send again, is
//! decided by the engine.

use std::fmt;
use std::sync::Arc;

use cambist_core::request::{self, Outcome, Query};
use cambist_core::{MarketSpec, PoolSpec, VenueTime};
use cambist_protocol::decode::Context;
use cambist_protocol::{Endpoint, Method};
use cambist_signing::{
    Address, CancelRequest, Hash32, RequestSigner, SignError, Signature, SignerError,
    request_signature,
};
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use crate::base_url::BaseUrl;
use crate::classify::{classify_move, classify_query, classify_submit};
use crate::config::{ClientConfig, Credentials};
use crate::error::SetupError;
use crate::queries::{AccountOfQueries, Call, Signing, call_of};
use crate::transport::{Exchange, Headers, Outgoing, Transport, Whole};

/// How the detail of a request begins that was not sent because it could not be signed: nothing about the venue follows.
const NOT_SIGNED: &str = "request not signed";

/// The result of one transmission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The outcome.
    pub outcome: Outcome,
    /// A lower bound of the venue's clock when it answered, from the answer itself.
    pub venue_time: Option<VenueTime>,
    /// HTTP status, if a response head was received.
    pub http_status: Option<u16>,
    /// The pause that the venue requires before the next request.
    pub retry_after_ms: Option<u64>,
    /// What the requests behind it cost beyond what its endpoint costs, in tokens of the venue's
    /// [`RequestCosts`](cambist_core::venue::RequestCosts).
    pub cost_beyond: u32,
    /// For logs: bounded and escaped, without secrets, never part of a decision.
    pub detail: Option<String>,
}

impl Answered {
    /// Why the request could not be signed, if that is why it was not sent.
    pub fn not_signed(&self) -> Option<&str> {
        let detail = self.detail.as_deref()?;
        let is_unsent = self.outcome == Outcome::NotSent;
        detail
            .strip_prefix(NOT_SIGNED)?
            .strip_prefix(": ")
            .filter(|_| is_unsent)
    }
}

/// A client of one venue, cheap to clone. `Debug` shows no key.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
    base: BaseUrl,
    body_max_bytes: usize,
    list_body_max_bytes: usize,
    identity: Option<Identity>,
    pools: Arc<[PoolSpec]>,
}

#[derive(Clone)]
struct Identity {
    account_id: u32,
    owner: Option<Address>,
    api_key: Option<HeaderValue>,
    key: Arc<dyn RequestSigner>,
}

/// What is signed for a header.
enum Header {
    Cancel(CancelRequest),
    Other(String),
}

impl Header {
    fn sign(&self, key: &dyn RequestSigner) -> Result<Signature, SignerError> {
        match self {
            Self::Cancel(request) => key.cancel(request),
            Self::Other(canonical) => key.header(canonical),
        }
    }
}

impl Identity {
    const fn account(&self) -> AccountOfQueries {
        AccountOfQueries {
            id: self.account_id,
            owner: self.owner,
        }
    }
}

impl Client {
    /// A client; without credentials it can only call public endpoints.
    pub fn new(
        config: &ClientConfig,
        credentials: Option<Credentials>,
    ) -> Result<Self, SetupError> {
        config.check()?;
        let base = BaseUrl::parse(&config.base_url)?;
        let identity = credentials
            .map(|credentials| {
                Ok(Identity {
                    account_id: credentials.account_id,
                    owner: credentials.owner,
                    api_key: credentials.api_key.as_ref().map(key_header).transpose()?,
                    key: credentials.key,
                })
            })
            .transpose()?;
        Ok(Self {
            transport: Transport::new(config, &base)?,
            base,
            body_max_bytes: config.body_max_bytes,
            list_body_max_bytes: config.list_body_max_bytes,
            identity,
            pools: Arc::default(),
        })
    }

    /// The same client, which can also query these pools.
    #[must_use]
    pub fn with_pools(&self, pools: &[PoolSpec]) -> Self {
        let mut client = self.clone();
        client.pools = pools.into();
        client
    }

    /// The same client with another API key.
    pub fn with_api_key(&self, api_key: &SecretString) -> Result<Self, SetupError> {
        let mut client = self.clone();
        if let Some(identity) = &mut client.identity {
            identity.api_key = Some(key_header(api_key)?);
        }
        Ok(client)
    }

    /// The venue's base URL.
    pub fn base_url(&self) -> &BaseUrl {
        &self.base
    }

    /// The account of the requests; `None` without credentials.
    pub fn account_id(&self) -> Option<u32> {
        self.identity.as_ref().map(|identity| identity.account_id)
    }

    /// Sends a poll or a cancel.
    pub async fn query(&self, query: &Query, markets: &[MarketSpec]) -> Answered {
        let Some(identity) = &self.identity else {
            return not_sent("no credentials");
        };
        let Some(call) = call_of(query, identity.account(), markets, &self.pools) else {
            return not_sent(
                "market or pool is not configured, or the interface has no such request",
            );
        };
        let context = Context {
            markets,
            pools: &self.pools,
            account_id: identity.account_id,
        };
        self.answered(call, |whole| {
            classify_query(query, whole.status, whole.is_json, &whole.body, context)
        })
        .await
    }

    /// Sends the stored bytes of an order, exactly as they are.
    pub async fn submit(&self, body: &[u8]) -> Answered {
        self.submit_to(request::Endpoint::Submit, body).await
    }

    /// Sends the stored bytes of an order, a join or an exit, exactly as they are.
    pub async fn submit_to(&self, endpoint: request::Endpoint, body: &[u8]) -> Answered {
        let classify = if endpoint.is_pool_transaction() {
            classify_move
        } else {
            classify_submit
        };
        let Some(endpoint) = Endpoint::of_engine(endpoint) else {
            return not_sent("the interface has no such request");
        };
        let call = Call {
            endpoint,
            query: String::new(),
            body: Some(body.to_vec()),
            with_api_key: true,
            signature: Signing::None,
            wallet_signature: None,
            is_list: false,
        };
        self.answered(call, |whole| {
            classify(whole.status, whole.is_json, &whole.body)
        })
        .await
    }

    /// Signs and sends. `Err` means that the request was not made.
    pub(crate) async fn send(&self, call: Call) -> Result<Exchange, Unmade> {
        let identity = self.identity.as_ref();
        let api_key = match identity.and_then(|identity| identity.api_key.as_ref()) {
            None if call.with_api_key => return Err(Unmade::NoCredentials),
            key => key.filter(|_| call.endpoint != Endpoint::GetApiKey),
        };
        let signature = if let Some(text) = &call.wallet_signature {
            let header = HeaderValue::from_str(text);
            Some(header.map_err(|_| Unmade::Sign(SignError::MalformedEcdsa.into()))?)
        } else if call.signature == Signing::None {
            None
        } else {
            let identity = identity.ok_or(Unmade::NoCredentials)?;
            let header = self.signature(&call, identity).await;
            Some(header.map_err(Unmade::Sign)?)
        };
        let outgoing = Outgoing {
            method: match call.endpoint.method() {
                Method::Get => reqwest::Method::GET,
                Method::Post => reqwest::Method::POST,
                Method::Delete => reqwest::Method::DELETE,
            },
            url: self.base.endpoint(call.endpoint, &call.query),
            headers: Headers::EXCHANGE,
            api_key,
            signature,
            body: call.body,
            body_max_bytes: if call.is_list {
                self.list_body_max_bytes
            } else {
                self.body_max_bytes
            },
        };
        Ok(self.transport.exchange(outgoing).await)
    }

    async fn answered(
        &self,
        call: Call,
        read: impl FnOnce(&Whole) -> (Outcome, Option<VenueTime>, Option<String>),
    ) -> Answered {
        match self.send(call).await {
            Err(Unmade::NoCredentials) => not_sent("no credentials"),
            Err(Unmade::Sign(error)) => not_sent(&format!("{NOT_SIGNED}: {error}")),
            Ok(Exchange::NotSent(detail)) => not_sent(&detail),
            Ok(Exchange::Broken {
                cause,
                status,
                detail,
            }) => Answered {
                outcome: Outcome::Unknown(cause),
                venue_time: None,
                http_status: status,
                retry_after_ms: None,
                cost_beyond: 0,
                detail: Some(detail),
            },
            Ok(Exchange::Whole(whole)) => {
                let (outcome, stated, detail) = read(&whole);
                // The `Date` header of a gateway that answered for the venue is not the venue's clock.
                let date = match &outcome {
                    Outcome::Reply(_) | Outcome::Refused(_) => whole.date,
                    Outcome::NotSent | Outcome::Unknown(_) => None,
                };
                Answered {
                    outcome,
                    venue_time: stated.max(date),
                    http_status: Some(whole.status),
                    retry_after_ms: whole.retry_after_ms,
                    cost_beyond: 0,
                    detail,
                }
            }
        }
    }

    /// The header `X-API-SIG`. Parameters are sorted and need no escapes, and bodies are serialised here, so that the
    /// forms of the interface's text and of public clients agree.
    async fn signature(
        &self,
        call: &Call,
        identity: &Identity,
    ) -> Result<HeaderValue, SignerError> {
        let wanted = match call.signature {
            Signing::Cancel(hash) => Header::Cancel(CancelRequest {
                base_url: self.base.as_str().to_owned(),
                account_id: identity.account_id,
                order_hash: Hash32(hash.0),
            }),
            Signing::Request | Signing::None => Header::Other(self.canonical(call)),
        };
        let key = Arc::clone(&identity.key);
        let signature = if key.blocks() {
            let signed = tokio::task::spawn_blocking(move || wanted.sign(&*key)).await;
            signed.map_err(|error| SignerError::Unavailable(error.to_string()))??
        } else {
            wanted.sign(&*key)?
        };
        // `0x` and hexadecimal digits are always a valid header value.
        HeaderValue::from_str(&signature.to_hex()).map_err(|_| SignError::MalformedSignature.into())
    }

    /// The text that the header of a request signs.
    fn canonical(&self, call: &Call) -> String {
        let (method, path) = (call.endpoint.method().name(), call.endpoint.path());
        if let Some(body) = &call.body {
            let body = String::from_utf8_lossy(body);
            request_signature::docs_body_form(method, self.base.as_str(), path, &body)
        } else {
            let params: Vec<_> = call
                .query
                .split('&')
                .filter_map(|pair| pair.split_once('='))
                .collect();
            request_signature::docs_form(method, self.base.as_str(), path, &params)
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &self.base)
            .field("account_id", &self.account_id())
            .finish_non_exhaustive()
    }
}

/// Why a request was not made.
pub(crate) enum Unmade {
    NoCredentials,
    Sign(SignerError),
}

pub(crate) fn key_header(key: &SecretString) -> Result<HeaderValue, SetupError> {
    let text = key.expose_secret();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(SetupError::ApiKey);
    }
    let mut header = HeaderValue::from_str(text).map_err(|_| SetupError::ApiKey)?;
    header.set_sensitive(true);
    Ok(header)
}

pub(crate) fn not_sent(detail: &str) -> Answered {
    Answered {
        outcome: Outcome::NotSent,
        venue_time: None,
        http_status: None,
        retry_after_ms: None,
        cost_beyond: 0,
        detail: Some(detail.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The library leaves sensitive headers out of its messages.
    #[test]
    fn the_header_of_a_key_is_sensitive() {
        let header = key_header(&SecretString::from("key")).ok();
        assert!(header.is_some_and(|header| header.is_sensitive()));
    }
}
