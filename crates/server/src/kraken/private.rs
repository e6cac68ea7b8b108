//! Private methods: key, signature, method, permission, counters, nonce, parameters, then the method.

use cambist_core::VenueTime;
use cambist_kraken::parameters::Parameters;
use cambist_listener::Peer;
use cambist_venue::{Caller, KrakenAction, KrakenCall, KrakenReply, Request, Response};
use serde_json::json;

use super::config::KrakenKey;
use super::fault::Fault;
use super::methods::Private;
use super::shapes::Answer;
use super::{Kraken, account, trading};
use crate::api_keys::api_key_digest;
use crate::dispatch::Dispatch;

/// A request as it was signed.
pub(super) struct Signed<'a> {
    pub path: &'a str,
    pub api_key: Option<&'a str>,
    pub signature: Option<&'a str>,
    pub is_json: bool,
    pub body: &'a [u8],
}

/// An authenticated request.
pub(super) struct Session<'a> {
    pub shell: &'a Dispatch,
    pub kraken: &'a Kraken,
    pub key: &'a KrakenKey,
    pub parameters: Parameters,
    nonce: u64,
}

/// Answers a request. `method` is `None` for a name that is not known.
pub(super) fn answer(
    shell: &Dispatch,
    kraken: &Kraken,
    peer: &Peer,
    method: Option<Private>,
    signed: &Signed<'_>,
) -> Result<Answer, Fault> {
    let invalid_key = Fault::new("EAPI:Invalid key");
    let name = signed.api_key.ok_or(invalid_key.clone())?;
    let mut keys = kraken.config.keys.iter();
    let key = keys.find(|key| key.api_key == name);
    let key = key.ok_or(invalid_key.clone())?;
    if !shell
        .machine
        .read(|venue| venue.account(key.account).is_some())?
    {
        return Err(invalid_key);
    }
    // The signature covers the nonce, so that it is read before anything else of the body.
    let invalid_nonce = Fault::new("EAPI:Invalid nonce");
    let written = Parameters::nonce(signed.body, signed.is_json);
    let written = written.ok_or(invalid_nonce.clone())?;
    let signature = signed.signature.unwrap_or_default();
    if !key
        .secret
        .verify(signed.path, &written, signed.body, signature)
    {
        return Err(Fault::new("EAPI:Invalid signature"));
    }
    // Authenticated connections are evicted last.
    peer.mark_authenticated();
    let method = method.ok_or(Fault::unknown_method())?;
    let is_permitted = method
        .permissions()
        .iter()
        .any(|set| set.iter().all(|one| key.permissions.contains(one)));
    if !is_permitted {
        return Err(Fault::permission());
    }
    let now_ms = shell.clock.monotonic_ms();
    if !kraken.counters.call(&key.api_key, method.cost(), now_ms) {
        return Err(Fault::new("EAPI:Rate limit exceeded"));
    }
    let parameters = if signed.is_json {
        Parameters::json(signed.body)
    } else {
        Parameters::form(signed.body)
    };
    let (parameters, unreadable) = match parameters {
        Ok(parameters) => (parameters, None),
        Err(error) => (Parameters::default(), Some(Fault::from(error))),
    };
    let session = Session {
        shell,
        kraken,
        key,
        parameters,
        nonce: written.parse().map_err(|_| invalid_nonce)?,
    };
    if let Some(fault) = unreadable {
        session.execute(KrakenAction::Read)?;
        return Err(fault);
    }
    let answered = match method {
        Private::AddOrder => trading::add(&session),
        Private::AddOrderBatch => trading::add_batch(&session),
        Private::AmendOrder => trading::amend(&session),
        Private::CancelOrder => trading::cancel(&session),
        Private::CancelOrderBatch => trading::cancel_batch(&session),
        Private::CancelAll => trading::cancel_all(&session),
        Private::CancelAllOrdersAfter => trading::cancel_after(&session),
        // No withdrawal is possible here, so there is no method either.
        Private::WithdrawMethods => {
            return session.read(|_| Ok(Answer::Value(json!([]))));
        }
        reading => return account::answer(&session, reading),
    };
    answered.map(Answer::Value)
}

impl Session<'_> {
    /// Executes an action; refusals become errors.
    pub fn execute(&self, action: KrakenAction) -> Result<KrakenReply, Fault> {
        let account = self.key.account;
        let caller = Caller::Account {
            account,
            signed: None,
        };
        let request = Request::Kraken(Box::new(KrakenCall {
            account,
            key: api_key_digest(&self.key.api_key),
            nonce: self.nonce,
            nonce_window: self.key.nonce_window,
            action,
        }));
        match self.shell.machine.handle(&caller, &request)? {
            Response::Kraken(reply) => match *reply {
                KrakenReply::Refused(error) => Err(error.into()),
                reply => Ok(reply),
            },
            _ => Err(Fault::internal()),
        }
    }

    /// Uses the nonce, then reads.
    pub fn read(&self, look: impl FnOnce(&Self) -> Result<Answer, Fault>) -> Result<Answer, Fault> {
        self.execute(KrakenAction::Read)?;
        look(self)
    }

    /// A request whose parameters are wrong uses its nonce too, and one whose nonce is wrong is refused for that.
    pub fn checked<T>(&self, read: Result<T, Fault>) -> Result<T, Fault> {
        if read.is_err() {
            self.execute(KrakenAction::Read)?;
        }
        read
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.parameters.get(name)
    }

    pub fn now(&self) -> VenueTime {
        self.shell.machine.now()
    }
}
