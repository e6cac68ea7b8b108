//! Refusals in this interface: a text in the list `error` of an answer with HTTP status 200.

use std::borrow::Cow;

use cambist_core::Reason;
use cambist_kraken::parameters::ParametersError;
use cambist_venue::{KrakenError, Refusal};

use crate::limits::Wait;
use crate::state_machine::MachineError;

/// Most characters of a parameter's name in an answer.
const NAME_MAX: usize = 64;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub text: Cow<'static, str>,
    /// HTTP status.
    pub status: u16,
}

impl Fault {
    pub const fn new(text: &'static str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            status: 200,
        }
    }

    /// A parameter that is missing or wrong. A name that no parameter has is shown as far as it is short.
    pub fn argument(name: &str) -> Self {
        let shown: String = name.chars().take(NAME_MAX).collect();
        Self {
            text: Cow::Owned(format!("EGeneral:Invalid arguments:{shown}")),
            status: 200,
        }
    }

    pub const fn internal() -> Self {
        Self {
            text: Cow::Borrowed("EGeneral:Internal error"),
            status: 500,
        }
    }

    pub const fn permission() -> Self {
        Self::new("EGeneral:Permission denied")
    }

    pub const fn unknown_method() -> Self {
        Self::new("EGeneral:Unknown method")
    }

    /// The body of the answer.
    pub fn body(&self) -> Vec<u8> {
        let text = &self.text;
        serde_json::to_vec(&serde_json::json!({ "error": [text] })).unwrap_or_default()
    }
}

impl From<KrakenError> for Fault {
    fn from(error: KrakenError) -> Self {
        Self::new(error.text())
    }
}

impl From<ParametersError> for Fault {
    fn from(error: ParametersError) -> Self {
        match error {
            ParametersError::Twice(name) => Self::argument(&name),
            ParametersError::Grammar | ParametersError::TooMany => {
                Self::new("EGeneral:Invalid arguments")
            }
        }
    }
}

impl From<Wait> for Fault {
    fn from(_: Wait) -> Self {
        Self {
            status: 429,
            ..Self::new("EGeneral:Too many requests")
        }
    }
}

impl From<Refusal> for Fault {
    /// Only what the operator injects is refused here; everything else is an answer.
    fn from(refusal: Refusal) -> Self {
        match refusal.reason {
            Reason::RateLimited => Self::new("EAPI:Rate limit exceeded"),
            Reason::UnknownError => Self::internal(),
            Reason::InvalidApiKey | Reason::EmptyApiKey | Reason::InvalidAccount => {
                Self::new("EAPI:Invalid key")
            }
            _ => Self::new("EService:Unavailable"),
        }
    }
}

impl From<MachineError> for Fault {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::Refused(refusal) => refusal.into(),
            MachineError::Busy => Self::new("EService:Busy"),
            MachineError::Broken | MachineError::NotDurable | MachineError::Audit(_) => {
                Self::internal()
            }
        }
    }
}
