//! Error responses: every failure of a request and its form in the interface.

use cambist_core::Reason;
use cambist_protocol::endpoint::Row;
use cambist_protocol::wire::ErrorBody;
use cambist_protocol::{WireError, code};
use cambist_venue::Refusal;

use crate::limits::Wait;

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErrorResponse {
    pub status: u16,
    pub reason: Reason,
    /// Detail for the client; contains no secrets.
    pub detail: String,
    pub retry_after_s: Option<u64>,
    /// Whether to close the connection, because its body was not read to the end.
    pub close: bool,
}

impl ErrorResponse {
    /// An error with the HTTP status that belongs to the code.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            status: code::http_status(reason),
            reason,
            detail: detail.into(),
            retry_after_s: None,
            close: false,
        }
    }

    /// A refusal of the transport, with an HTTP status of its own.
    pub fn transport(status: u16, detail: impl Into<String>) -> Self {
        Self {
            status,
            ..Self::new(Reason::InvalidArgument, detail)
        }
    }

    /// An internal failure. Its cause is logged, not sent.
    pub fn internal() -> Self {
        Self::new(Reason::UnknownError, "internal failure")
    }

    /// Replaces the code by one that the interface lists for the endpoint, or for keys and signatures in general.
    pub fn listed(mut self, row: &Row) -> Self {
        let anywhere = matches!(
            self.reason,
            Reason::EmptyApiKey
                | Reason::InvalidApiKey
                | Reason::InvalidAccount
                | Reason::NoSignature
                | Reason::WrongSignature
                | Reason::RateLimited
        );
        if row.in_interface && !anywhere && !row.codes.contains(&self.reason) {
            self.reason = if row.codes.contains(&Reason::InvalidOrder) {
                Reason::InvalidOrder
            } else {
                Reason::UnknownError
            };
        }
        self
    }

    pub fn closing(mut self) -> Self {
        self.close = true;
        self
    }

    pub fn body(&self) -> Vec<u8> {
        ErrorBody::new(self.reason, Some(&self.detail)).to_bytes()
    }
}

impl From<Refusal> for ErrorResponse {
    /// A decision of the venue has the same HTTP status whatever its code; only internal failures have another.
    fn from(refusal: Refusal) -> Self {
        Self {
            status: match refusal.reason {
                Reason::UnknownError => 400,
                reason => code::http_status(reason),
            },
            ..Self::new(refusal.reason, refusal.detail)
        }
    }
}

impl From<WireError> for ErrorResponse {
    fn from(error: WireError) -> Self {
        Self::new(error.reason, error.to_string())
    }
}

impl From<Wait> for ErrorResponse {
    fn from(wait: Wait) -> Self {
        Self {
            retry_after_s: Some(wait.s()),
            ..Self::new(Reason::RateLimited, format!("try again in {} ms", wait.ms))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_outside_the_interface_is_sent_unchanged() {
        let response = ErrorResponse::new(Reason::Unlisted(102_028), "none is left");
        let body = String::from_utf8(response.body()).unwrap_or_default();
        assert_eq!(response.status, 400);
        assert!(body.contains("\"code\":102028"), "{body}");
    }
}
