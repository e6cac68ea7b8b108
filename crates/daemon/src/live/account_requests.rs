//! Requests of an operator that move funds beside the engine: transfers, withdrawals, joins and exits of pools,
//! and updates of the signing key for their fee.
//!
//! Every transmission has the same bytes: their storage id makes them take effect at most once. An end is a definite answer of the venue, or
//! what the books show; no answer is never an end. The flows of a request are announced to the engine, which books
//! them when it finds them in the balances. `request_folder` keeps them.

use std::collections::BTreeSet;

use cambist_core::event::Command;
use cambist_core::{Reason, TokenId};
use cambist_protocol::Endpoint;
use cambist_protocol::wire::SubmissionStatus;
use serde::{Deserialize, Serialize};

use crate::adapter::{RequestRefusal, is_number_used};

/// Version of the files.
pub(super) const VERSION: u32 = 1;
/// What the reason of every flow of a request contains, before its hash.
const MARK: &str = "request 0x";

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// To another account.
    Transfer,
    /// To layer 1.
    Withdrawal,
    /// Into a pool.
    Join,
    /// Out of a pool.
    Exit,
    /// Another signing key; only its fee is a flow.
    KeyUpdate,
}

impl RequestKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transfer => "transfer",
            Self::Withdrawal => "withdrawal",
            Self::Join => "join",
            Self::Exit => "exit",
            Self::KeyUpdate => "key_update",
        }
    }

    /// Where it is sent.
    pub const fn endpoint(self) -> Endpoint {
        match self {
            Self::Transfer => Endpoint::Transfer,
            Self::Withdrawal => Endpoint::Withdraw,
            Self::Join => Endpoint::JoinPool,
            Self::Exit => Endpoint::ExitPool,
            Self::KeyUpdate => Endpoint::UpdateAccount,
        }
    }
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// It may have reached the venue or not.
    Unknown,
    /// The venue has accepted it and decides later.
    Accepted,
    /// The venue takes no further copy: the books show whether an earlier one took effect.
    Decided,
    /// It took effect.
    Processed,
    /// The venue accepted it, and it failed without an effect.
    Failed,
    /// The venue refused every copy.
    Refused,
    /// No byte of it was sent.
    NeverSent,
}

impl RequestState {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Accepted => "accepted",
            Self::Decided => "decided",
            Self::Processed => "processed",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::NeverSent => "never_sent",
        }
    }

    /// Whether its end is not known.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Unknown | Self::Accepted | Self::Decided => true,
            Self::Processed | Self::Failed | Self::Refused | Self::NeverSent => false,
        }
    }

    /// Whether its flows happen, or may.
    pub const fn may_flow(self) -> bool {
        match self {
            Self::Unknown | Self::Accepted | Self::Decided | Self::Processed => true,
            Self::Failed | Self::Refused | Self::NeverSent => false,
        }
    }
}

/// A change of a balance by a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestFlow {
    /// Token.
    pub token: u16,
    /// Its symbol.
    pub symbol: String,
    /// Base units, negative for an outflow.
    pub units: i128,
    /// The reason that it is booked with; names the request.
    pub reason: String,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountRequest {
    pub(super) version: u32,
    /// What it does.
    pub kind: RequestKind,
    /// Its hash, which also names the file.
    pub hash: String,
    /// A sentence about it.
    pub about: String,
    /// Name of the pool of a join or an exit.
    pub pool: Option<String>,
    /// When it was made, Unix seconds.
    pub created_s: u64,
    /// Until when its bytes are accepted, Unix seconds.
    pub valid_until_s: u32,
    /// The exact body.
    pub body: String,
    /// The owner's signature of this request, for the header.
    pub wallet_signature: Option<String>,
    /// The changes of balances; of a join or an exit known when it is processed.
    pub flows: Vec<RequestFlow>,
    /// How often it may have been sent.
    pub transmissions: u32,
    /// Those without an answer that was understood.
    pub unanswered: u32,
    /// How far it has come.
    pub state: RequestState,
    /// The venue's last text.
    pub detail: String,
}

/// What became of one transmission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransmissionAnswer {
    /// The venue accepted it, now or before.
    Accepted(SubmissionStatus),
    /// The venue refused.
    Refused(Reason, String),
    /// No byte left.
    NotSent(String),
    /// It may have arrived.
    Unknown(String),
}

impl AccountRequest {
    /// A request that was not sent yet.
    pub fn new(kind: RequestKind, hash: String, about: String) -> Self {
        Self {
            version: VERSION,
            kind,
            hash,
            about,
            pool: None,
            created_s: 0,
            valid_until_s: 0,
            body: String::new(),
            wallet_signature: None,
            flows: Vec::new(),
            transmissions: 0,
            unanswered: 0,
            state: RequestState::Unknown,
            detail: String::new(),
        }
    }

    /// Adds a flow with a reason that names the request.
    pub fn expect(&mut self, token: TokenId, symbol: &str, units: i128, what: &str) {
        let reason = format!("{what}, {MARK}{}", self.hash.trim_start_matches("0x"));
        self.flows.push(RequestFlow {
            token: token.0,
            symbol: symbol.to_owned(),
            units,
            reason,
        });
    }

    /// A transmission begins: until it is answered, it may have arrived.
    pub fn begin_transmission(&mut self) {
        self.transmissions = self.transmissions.saturating_add(1);
        self.unanswered = self.unanswered.saturating_add(1);
    }

    /// A transmission ended.
    pub fn end_transmission(&mut self, answer: &TransmissionAnswer) {
        let is_answered = match answer {
            TransmissionAnswer::Unknown(_) => false,
            TransmissionAnswer::Refused(reason, _) => {
                RequestRefusal::of(*reason) != RequestRefusal::Passing
            }
            TransmissionAnswer::Accepted(_) | TransmissionAnswer::NotSent(_) => true,
        };
        if is_answered {
            self.unanswered = self.unanswered.saturating_sub(1);
        }
        self.detail = match answer {
            TransmissionAnswer::Accepted(_) => String::new(),
            TransmissionAnswer::Refused(reason, detail) => {
                format!("{} ({}): {detail}", reason.message(), reason.code())
            }
            TransmissionAnswer::NotSent(detail) | TransmissionAnswer::Unknown(detail) => {
                detail.clone()
            }
        };
        if self.state.is_open() {
            self.state = self.state_after(answer);
        }
    }

    fn state_after(&self, answer: &TransmissionAnswer) -> RequestState {
        use SubmissionStatus::{Failed, Processed, Processing, Received};
        let is_alone = self.state == RequestState::Unknown && self.unanswered == 0;
        match answer {
            TransmissionAnswer::Accepted(Processed) => RequestState::Processed,
            TransmissionAnswer::Accepted(Received | Processing) => RequestState::Accepted,
            TransmissionAnswer::Accepted(Failed) => RequestState::Failed,
            TransmissionAnswer::Refused(reason, _) => match *reason {
                reason if RequestRefusal::of(reason).may_pass() => self.state,
                // No copy of these bytes is unanswered: none was accepted.
                _ if is_alone => RequestState::Refused,
                // The number is used, by an earlier copy if nothing else has it.
                reason if is_number_used(reason) => RequestState::Decided,
                _ => self.state,
            },
            TransmissionAnswer::NotSent(_) | TransmissionAnswer::Unknown(_) => self.state,
        }
    }

    /// Ends a request that will not be sent again: if no copy can have arrived, it was never sent.
    pub fn give_up(&mut self) {
        if self.state == RequestState::Unknown && self.unanswered == 0 {
            self.state = RequestState::NeverSent;
        }
    }

    /// The commands that announce its flows to the engine, less those that were booked.
    pub(super) fn announcements(&self, booked: &BTreeSet<String>) -> Vec<Command> {
        let flows = self.flows.iter().filter(|_| self.state.may_flow());
        let open = flows.filter(|flow| !booked.contains(&flow.reason));
        let command = |flow: &RequestFlow| Command::Expect {
            token: TokenId(flow.token),
            amount: flow.units,
            reason: flow.reason.clone(),
        };
        open.map(command).collect()
    }
}

/// Whether a booked flow belongs to a request.
pub fn is_of_a_request(reason: &str) -> bool {
    reason.contains(MARK)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn request() -> AccountRequest {
        let about = "transfer of 1 ETH".to_owned();
        let mut request = AccountRequest::new(RequestKind::Transfer, "0xab".to_owned(), about);
        request.expect(TokenId(0), "ETH", -5, "transfer of 1 ETH");
        request
    }

    fn after(answers: &[TransmissionAnswer]) -> AccountRequest {
        let mut request = request();
        for answer in answers {
            request.begin_transmission();
            request.end_transmission(answer);
        }
        request
    }

    fn refused(reason: Reason) -> TransmissionAnswer {
        TransmissionAnswer::Refused(reason, "no".to_owned())
    }

    #[test]
    fn no_answer_is_no_end_and_only_a_definite_one_is() {
        use RequestState::{Accepted, Decided, Failed, Processed, Refused, Unknown};
        let accepted = TransmissionAnswer::Accepted;
        let lost = || TransmissionAnswer::Unknown("timeout".to_owned());
        let not_sent = || TransmissionAnswer::NotSent("refused".to_owned());
        let low = || refused(Reason::InsufficientBalance);
        let used = || refused(Reason::InvalidNonce);
        let cases = [
            (vec![accepted(SubmissionStatus::Processed)], Processed),
            (vec![accepted(SubmissionStatus::Failed)], Failed),
            (vec![accepted(SubmissionStatus::Received)], Accepted),
            (vec![low()], Refused),
            (vec![used()], Refused),
            (vec![not_sent(), low()], Refused),
            (vec![refused(Reason::RateLimited)], Unknown),
            (vec![refused(Reason::RateLimited), low()], Refused),
            (vec![lost()], Unknown),
            // The lost copy may be the cause.
            (vec![lost(), low()], Unknown),
            (vec![lost(), used()], Decided),
            (vec![refused(Reason::UnknownError), low()], Unknown),
            (
                vec![lost(), accepted(SubmissionStatus::Processing)],
                Accepted,
            ),
            (vec![accepted(SubmissionStatus::Received), used()], Decided),
            (vec![accepted(SubmissionStatus::Received), low()], Accepted),
            (
                vec![accepted(SubmissionStatus::Processed), used()],
                Processed,
            ),
        ];
        for (answers, state) in cases {
            assert_eq!(after(&answers).state, state, "{answers:?}");
        }
        let mut never = after(&[not_sent()]);
        never.give_up();
        assert_eq!(never.state, RequestState::NeverSent);
        let mut maybe = after(&[lost(), not_sent()]);
        maybe.give_up();
        assert_eq!(maybe.state, RequestState::Unknown);
    }

    #[test]
    fn every_kind_has_its_name_and_its_endpoint() {
        for (kind, name, endpoint) in [
            (RequestKind::Transfer, "transfer", Endpoint::Transfer),
            (RequestKind::Withdrawal, "withdrawal", Endpoint::Withdraw),
            (RequestKind::Join, "join", Endpoint::JoinPool),
            (RequestKind::Exit, "exit", Endpoint::ExitPool),
            (
                RequestKind::KeyUpdate,
                "key_update",
                Endpoint::UpdateAccount,
            ),
        ] {
            assert_eq!((kind.name(), kind.endpoint()), (name, endpoint));
        }
    }

    /// A request without a known end is open, and what may have taken effect is expected in the books.
    #[test]
    fn every_state_is_open_or_not_and_may_flow_or_not() {
        for (state, name, is_open, may_flow) in [
            (RequestState::Unknown, "unknown", true, true),
            (RequestState::Accepted, "accepted", true, true),
            (RequestState::Decided, "decided", true, true),
            (RequestState::Processed, "processed", false, true),
            (RequestState::Failed, "failed", false, false),
            (RequestState::Refused, "refused", false, false),
            (RequestState::NeverSent, "never_sent", false, false),
        ] {
            assert_eq!(state.name(), name);
            assert_eq!(
                (state.is_open(), state.may_flow()),
                (is_open, may_flow),
                "{name}"
            );
            let mut request = request();
            request.state = state;
            let announced = request.announcements(&BTreeSet::new());
            assert_eq!(announced.len(), usize::from(may_flow), "{name}");
            request.give_up();
            let gone = if state == RequestState::Unknown {
                RequestState::NeverSent
            } else {
                state
            };
            assert_eq!(request.state, gone);
        }
    }

    #[test]
    fn a_flow_names_its_request_and_is_announced_until_it_is_booked() {
        let mut request = request();
        request.expect(TokenId(1), "USDC", -7, "its fee");
        let reasons = ["transfer of 1 ETH, request 0xab", "its fee, request 0xab"];
        let flows = [(0, "ETH", -5), (1, "USDC", -7)];
        for ((flow, reason), (token, symbol, units)) in request.flows.iter().zip(reasons).zip(flows)
        {
            assert_eq!(flow.reason, reason);
            assert_eq!(
                (flow.token, flow.symbol.as_str(), flow.units),
                (token, symbol, units)
            );
            assert!(is_of_a_request(reason));
        }
        assert!(!is_of_a_request("a deposit"));
        let booked = BTreeSet::from([reasons[0].to_owned()]);
        let expected = Command::Expect {
            token: TokenId(1),
            amount: -7,
            reason: reasons[1].to_owned(),
        };
        assert_eq!(request.announcements(&booked), [expected]);
    }

    /// What may have arrived is counted until an answer to it is understood.
    #[test]
    fn transmissions_without_an_answer_are_counted() {
        let lost = || TransmissionAnswer::Unknown("timeout".to_owned());
        for (answers, transmissions, unanswered, detail) in [
            (vec![], 0, 0, ""),
            (vec![lost()], 1, 1, "timeout"),
            (vec![lost(), lost(), lost()], 3, 3, "timeout"),
            (
                vec![lost(), TransmissionAnswer::NotSent("closed".to_owned())],
                2,
                1,
                "closed",
            ),
            (
                vec![
                    lost(),
                    TransmissionAnswer::Accepted(SubmissionStatus::Received),
                ],
                2,
                1,
                "",
            ),
            (vec![refused(Reason::UnknownError)], 1, 1, "no"),
            (vec![refused(Reason::RateLimited)], 1, 0, "no"),
        ] {
            let request = after(&answers);
            let counts = (request.transmissions, request.unanswered);
            assert_eq!(counts, (transmissions, unanswered), "{answers:?}");
            assert!(request.detail.ends_with(detail), "{}", request.detail);
            assert_eq!(request.detail.is_empty(), detail.is_empty());
        }
    }

    #[test]
    fn a_transmission_that_was_begun_may_have_arrived() {
        let mut request = request();
        request.begin_transmission();
        request.give_up();
        assert_eq!(request.state, RequestState::Unknown);
    }
}
