//! Errors of a client. They contain no secrets.

use cambist_core::Reason;
use cambist_core::request::UnknownCause;
use cambist_protocol::code;

/// Why a client could not be created. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The base URL is invalid.
    #[error("base_url {url}: {problem}")]
    BaseUrl {
        /// The URL as configured.
        url: String,
        /// What is wrong.
        problem: String,
    },
    /// A limit is zero.
    #[error("{name} must not be 0")]
    Zero {
        /// Name of the limit.
        name: &'static str,
    },
    /// The API key cannot be sent in a header.
    #[error("the API key is empty or has characters other than printable ASCII")]
    ApiKey,
    /// The secret of an API key is not one.
    #[error("the secret of the API key is not 32 to 128 bytes in Base64")]
    ApiSecret,
    /// The system's certificates or the TLS library cannot be used.
    #[error("TLS: {0}")]
    Tls(String),
    /// The HTTP library refused its configuration.
    #[error("HTTP client: {0}")]
    Http(String),
}

/// Why a call has no usable answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The call needs an account, a signing key or an API key that this client does not have.
    #[error("{call}: needs credentials that are not configured")]
    NoCredentials {
        /// Name of the call.
        call: &'static str,
    },
    /// There is no signature: the key failed its self-check, or what holds it refused or did not answer.
    #[error("{call}: request not signed: {error}")]
    Sign {
        /// Name of the call.
        call: &'static str,
        /// The cause.
        error: cambist_signing::SignerError,
    },
    /// The request was not sent: no byte left.
    #[error("{call}: not sent: {detail}")]
    NotSent {
        /// Name of the call.
        call: &'static str,
        /// The cause.
        detail: String,
    },
    /// The venue refused.
    #[error("{call}: {}", refusal(*reason, *is_numbered, detail))]
    Refused {
        /// Name of the call.
        call: &'static str,
        /// The venue's reason.
        reason: Reason,
        /// Whether the answer had the number of the reason. Otherwise the text has the cause.
        is_numbered: bool,
        /// The venue's text, bounded and escaped.
        detail: String,
        /// The venue's `Retry-After`, if it sent one.
        retry_after_ms: Option<u64>,
    },
    /// The request may have been executed or not.
    #[error("{call}: no usable answer ({}): {detail}", cause.name())]
    Unknown {
        /// Name of the call.
        call: &'static str,
        /// The cause.
        cause: UnknownCause,
        /// Details for logs.
        detail: String,
    },
}

/// A refusal in words: number, meaning and text, or the venue's text alone.
fn refusal(reason: Reason, is_numbered: bool, detail: &str) -> String {
    let meaning = code::message(reason);
    match (is_numbered, detail) {
        (true, "") => format!("refused with {} ({meaning})", code::number(reason)),
        (true, _) => format!(
            "refused with {} ({meaning}): {detail}",
            code::number(reason)
        ),
        (false, "") => format!("refused: {meaning}"),
        (false, _) => format!("refused: {detail}"),
    }
}
