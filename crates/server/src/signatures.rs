//! Verifies signatures: of orders over their hash, of requests over their canonical text.
//!
//! Verification happens outside the state machine's lock. It returns the epoch of the key, and the state machine
//! refuses a stale epoch. Wrong signatures are counted per API key, or per address where there is no key; beyond a
//! limit nothing is verified.

use cambist_core::Reason;
use cambist_protocol::endpoint::Row;
use cambist_signing::{Field, PublicKey, Signature, request_signature};
use cambist_venue::{AccountId, KeyEpoch};

use crate::authorisation::failures;
use crate::dispatch::{Call, Dispatch};
use crate::error_response::ErrorResponse;
use crate::keys::SigningKey;

impl Dispatch {
    /// The key epoch of the signature in the header `X-API-SIG`; `None` without that header. `holder` is the account of
    /// the API key.
    pub fn request_signed(
        &self,
        call: &Call,
        parameters: &[(String, String)],
        account: AccountId,
        holder: Option<AccountId>,
    ) -> Result<Option<KeyEpoch>, ErrorResponse> {
        let Some(header) = call.signature.as_deref() else {
            return Ok(None);
        };
        let signature = Signature::from_hex(header).map_err(|error| {
            ErrorResponse::new(Reason::WrongSignature, format!("X-API-SIG: {error}"))
        })?;
        let texts = self.canonical_texts(call, parameters);
        let messages = texts.iter().map(|text| request_signature::message(text));
        let signed = self.verify(call, account, holder, messages, &signature)?;
        Ok(Some(signed))
    }

    /// The key epoch of a signature of one of the messages.
    pub fn verify(
        &self,
        call: &Call,
        account: AccountId,
        holder: Option<AccountId>,
        messages: impl IntoIterator<Item = Field>,
        signature: &Signature,
    ) -> Result<KeyEpoch, ErrorResponse> {
        let failures = failures(call, holder);
        self.limiter.peek(failures, self.clock.monotonic_ms())?;
        let key = self
            .signing_key(account)?
            .ok_or_else(|| ErrorResponse::new(Reason::UserNotFound, "account not found"))?;
        if self.keys.verify(&key, messages, signature) {
            return Ok(key.epoch);
        }
        // Counted after the verification, because only wrong signatures count.
        let _ = self.limiter.take(failures, self.clock.monotonic_ms());
        Err(ErrorResponse::new(
            Reason::WrongSignature,
            "the signature does not match the account's key",
        ))
    }

    fn signing_key(&self, account: AccountId) -> Result<Option<SigningKey>, ErrorResponse> {
        let key = self.machine.read(|venue| {
            venue.account(account).map(|found| SigningKey {
                account,
                epoch: found.key_epoch,
                public: PublicKey {
                    x: Field::from_be_bytes(found.public_key.x),
                    y: Field::from_be_bytes(found.public_key.y),
                },
            })
        })?;
        Ok(key)
    }

    /// The texts that the request may have signed: every public form, for each URL of the exchange. Without a
    /// configured public URL, for the one in the client's `Host` header; a signature for another exchange is then
    /// accepted if the header names that exchange.
    fn canonical_texts(&self, call: &Call, parameters: &[(String, String)]) -> Vec<String> {
        let Row { method, path, .. } = call.endpoint.row();
        let parameters: Vec<_> = parameters
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let body = std::str::from_utf8(&call.body).unwrap_or_default();
        let mut bases = self.urls.clone();
        if self.public_url.is_none() {
            bases.extend(call.host.as_ref().map(|host| format!("http://{host}")));
        }
        let mut texts = Vec::new();
        for base in &bases {
            let forms = request_signature::candidates(method.name(), base, path, &parameters, body);
            for form in forms {
                if !texts.contains(&form) {
                    texts.push(form);
                }
            }
        }
        texts
    }
}
