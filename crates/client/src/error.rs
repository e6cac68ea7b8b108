//! Errors of a client, without a secret in any of them.

use cambist_core::Reason;
use cambist_core::request::UnknownCause;
use cambist_protocol::code;

/// Why a client could not be made. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The base URL is unusable.
    #[error("base_url {url}: {problem}")]
    BaseUrl {
        /// As configured.
        url: String,
        /// What is wrong.
        problem: String,
    },
    /// A limit is zero.
    #[error("{name} must not be 0")]
    Zero {
        /// Which.
        name: &'static str,
    },
    /// The API key holds characters that no header can carry.
    #[error("api key is empty or has characters other than printable ascii")]
    ApiKey,
    /// The certificates of this machine, or the TLS library, are unusable.
    #[error("tls: {0}")]
    Tls(String),
    /// The HTTP library refused its configuration.
    #[error("http client: {0}")]
    Http(String),
}

/// Why a call brought no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The call needs an account, a signing key or an API key that this client does not have.
    #[error("{call}: no credentials for it")]
    NoCredentials {
        /// Which call.
        call: &'static str,
    },
    /// The signing key failed its own check.
    #[error("{call}: request not signed: {error}")]
    Sign {
        /// Which call.
        call: &'static str,
        /// Why.
        error: cambist_signing::SignError,
    },
    /// No byte left.
    #[error("{call}: not sent: {detail}")]
    NotSent {
        /// Which call.
        call: &'static str,
        /// Why.
        detail: String,
    },
    /// The venue refused.
    #[error("{call}: refused with {} ({}): {detail}", code::number(*reason), code::message(*reason))]
    Refused {
        /// Which call.
        call: &'static str,
        /// The code.
        reason: Reason,
        /// The venue's text, capped and escaped.
        detail: String,
        /// How long to wait, if it said so.
        retry_after_ms: Option<u64>,
    },
    /// Anything may have happened.
    #[error("{call}: no usable answer ({}): {detail}", cause.name())]
    Unknown {
        /// Which call.
        call: &'static str,
        /// Why.
        cause: UnknownCause,
        /// More, for people.
        detail: String,
    },
}
