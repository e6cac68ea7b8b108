//! Parameters of requests for market data. As elsewhere, unknown ones are ignored and empty ones count as absent.

use cambist_core::Reason;
use cambist_protocol::query::Parameters;

use crate::error_response::ErrorResponse;

/// The parameters of one request.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Refuses a parameter that occurs twice with different values.
    pub fn parse(text: &str) -> Result<Self, ErrorResponse> {
        let received = Parameters::parse(text)?;
        let given = received.received().iter();
        let given = given.filter(|(_, value)| !value.is_empty());
        Ok(Self(given.cloned().collect()))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn need(&self, name: &str) -> Result<&str, ErrorResponse> {
        self.get(name)
            .ok_or_else(|| refused(format!("{name} is missing")))
    }

    /// A whole number of at most 64 bits.
    pub fn number(&self, name: &str) -> Result<Option<u64>, ErrorResponse> {
        let read = |text: &str| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse().ok().filter(|_| is_plain);
            number.ok_or_else(|| refused(format!("{name}: {text:?} is not a whole number")))
        };
        self.get(name).map(read).transpose()
    }

    /// `limit`, from 1 to the most that is shown.
    pub fn limit(&self, (usual, most): (usize, usize)) -> Result<usize, ErrorResponse> {
        let Some(asked) = self.number("limit")? else {
            return Ok(usual);
        };
        let found = usize::try_from(asked).ok();
        found
            .filter(|limit| (1..=most).contains(limit))
            .ok_or_else(|| refused(format!("limit: {asked} is not within 1 to {most}")))
    }
}

pub(super) fn refused(what: String) -> ErrorResponse {
    ErrorResponse::new(Reason::InvalidArgument, what)
}
