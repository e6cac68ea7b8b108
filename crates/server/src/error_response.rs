//! Every way in which a request fails, and how that looks on the wire.

use cambist_core::Reason;
use cambist_protocol::endpoint::Row;
use cambist_protocol::wire::ErrorBody;
use cambist_protocol::{WireError, code};
use cambist_venue::Refusal;

use crate::limits::Wait;

/// A request that was not answered with what it asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErrorResponse {
    pub status: u16,
    pub reason: Reason,
    /// For people; never a secret.
    pub detail: String,
    pub retry_after_s: Option<u64>,
    /// The connection is of no further use: its body was not read to the end.
    pub close: bool,
}

impl ErrorResponse {
    /// With the HTTP status that goes with the code.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            status: code::http_status(reason),
            reason,
            detail: detail.into(),
            retry_after_s: None,
            close: false,
        }
    }

    /// The transport's own refusals, with an HTTP status of their own.
    pub fn transport(status: u16, detail: impl Into<String>) -> Self {
        Self {
            status,
            ..Self::new(Reason::InvalidArgument, detail)
        }
    }

    /// Something of ours failed. What, is in the log.
    pub fn internal() -> Self {
        Self::new(Reason::UnknownError, "internal failure")
    }

    /// The same in the codes that the text lists for the endpoint, or for keys and signatures anywhere.
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
    /// A decision of the venue, whatever its code: only what fails in here has a status of its own.
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
    fn a_code_outside_the_interface_is_sent_as_it_is() {
        let denial = ErrorResponse::new(Reason::Unlisted(102_028), "none is left");
        let body = String::from_utf8(denial.body()).unwrap_or_default();
        assert_eq!(denial.status, 400);
        assert!(body.contains("\"code\":102028"), "{body}");
    }
}
