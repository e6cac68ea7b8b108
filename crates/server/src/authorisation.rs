//! Authorisation of requests that move funds or keys: the layer-2 key, the owner's wallet, or a hash that the owner
//! approved on the chain.
//!
//! Every signature that is given is verified. The venue receives the results: which key, which address, which hash. It
//! decides whether they suffice and are still valid.

use cambist_core::{Hash, Reason};
use cambist_protocol::WireError;
use cambist_protocol::endpoint::SignatureHeader;
use cambist_protocol::json::{Object, text};
use cambist_protocol::wire::{self, TEXT_MAX};
use cambist_signing::ecdsa::WireSignature;
use cambist_signing::{Address, Field, Hash32, Signature};
use cambist_venue::{AccountId, Proof};

use crate::dispatch::{Call, Dispatch};
use crate::error_response::ErrorResponse;
use crate::limits::Use;

/// Signatures of a body as sent; an empty string counts as absent.
pub(crate) struct Given {
    eddsa: Option<Signature>,
    ecdsa: Option<WireSignature>,
    approved: Option<Hash>,
}

/// The messages that may have been signed.
pub(crate) struct Signable {
    /// Messages of the layer-2 key, of which one must be signed.
    pub messages: Vec<Field>,
    /// The digest that the owner's wallet signs.
    pub digest: Hash32,
    /// The request's own hash, which can be approved on the chain.
    pub hash: Hash32,
}

impl Given {
    /// Reads the three fields. A malformed signature counts as a wrong one.
    pub fn read(object: Object<'_>) -> Result<Self, ErrorResponse> {
        let wrong = |problem: String| WireError::new(problem).because(Reason::WrongSignature);
        Ok(Self {
            eddsa: object.optional("eddsaSignature", |json| {
                let text = text(json, TEXT_MAX).map_err(|error| wrong(error.problem))?;
                Signature::from_hex(&text).map_err(|error| wrong(error.to_string()))
            })?,
            ecdsa: object.optional("ecdsaSignature", |json| {
                let text = text(json, TEXT_MAX).map_err(|error| wrong(error.problem))?;
                WireSignature::from_hex(&text).map_err(|error| wrong(error.to_string()))
            })?,
            approved: object.optional("hashApproved", |json| {
                wire::hash(json).map_err(|error| wrong(error.problem))
            })?,
        })
    }
}

impl Dispatch {
    /// Verifies every signature of a request of `account`, in the body and in the header.
    pub fn prove(
        &self,
        call: &Call,
        holder: Option<AccountId>,
        account: AccountId,
        given: &Given,
        signable: &Signable,
    ) -> Result<Proof, ErrorResponse> {
        let wants_wallet = match call.endpoint.row().signature {
            SignatureHeader::Ecdsa => true,
            SignatureHeader::None | SignatureHeader::Eddsa | SignatureHeader::EddsaIfPresent => {
                false
            }
        };
        let header = if wants_wallet {
            self.wallet_header(call, given)?
        } else {
            None
        };
        let mut authorisation = Proof::default();
        if let Some(hash) = given.approved {
            if hash.0 != signable.hash.0 {
                return Err(ErrorResponse::new(
                    Reason::WrongSignature,
                    "hashApproved: is not the hash of this request",
                ));
            }
            authorisation.approved = Some(hash);
        }
        for signature in [header, given.ecdsa].into_iter().flatten() {
            let owner =
                self.signed_by_owner(call, holder, account, &signature, &signable.digest)?;
            authorisation.ecdsa = Some(owner.0);
        }
        if let Some(signature) = &given.eddsa {
            let messages = signable.messages.iter().copied();
            authorisation.eddsa = Some(self.verify(call, account, holder, messages, signature)?);
        }
        // Last, so that a wrong signature is reported before a missing one.
        let by_layer_2_alone = authorisation.eddsa.is_some()
            && authorisation.ecdsa.is_none()
            && authorisation.approved.is_none();
        if self.require_wallet_for_funds && wants_wallet && by_layer_2_alone {
            return Err(ErrorResponse::new(
                Reason::NoSignature,
                "the owner's wallet must sign this request, in the header X-API-SIG or in ecdsaSignature, or approve its hash on the chain: this exchange does not accept the layer-2 key alone for funds and keys",
            ));
        }
        Ok(authorisation)
    }

    /// The wallet's signature in the header. The interface's text requires it; clients whose accounts are contracts or
    /// whose bodies carry all signatures omit it.
    fn wallet_header(
        &self,
        call: &Call,
        given: &Given,
    ) -> Result<Option<WireSignature>, ErrorResponse> {
        match call.signature.as_deref() {
            Some(text) => WireSignature::from_hex(text).map(Some).map_err(|error| {
                ErrorResponse::new(Reason::WrongSignature, format!("X-API-SIG: {error}"))
            }),
            None if self.strict && given.approved.is_none() => Err(ErrorResponse::new(
                Reason::NoSignature,
                "the header X-API-SIG is missing",
            )),
            None => Ok(None),
        }
    }

    /// The account's owner, if their wallet made the signature.
    fn signed_by_owner(
        &self,
        call: &Call,
        holder: Option<AccountId>,
        account: AccountId,
        signature: &WireSignature,
        digest: &Hash32,
    ) -> Result<Address, ErrorResponse> {
        let failures = failures(call, holder);
        self.limiter.peek(failures, self.clock.monotonic_ms())?;
        let owner = self
            .machine
            .read(|venue| venue.account(account).map(|found| found.owner))?;
        let signers = signature.signers(digest);
        if let Some(owner) = owner.map(Address).filter(|owner| signers.contains(owner)) {
            return Ok(owner);
        }
        // Counted after the verification, because only wrong signatures count.
        let _ = self.limiter.take(failures, self.clock.monotonic_ms());
        Err(ErrorResponse::new(
            Reason::WrongSignature,
            "the signature is not from the account's owner",
        ))
    }
}

/// The bucket that counts wrong signatures of this call.
pub(crate) fn failures(call: &Call, holder: Option<AccountId>) -> Use {
    match holder {
        Some(holder) => Use::FailedByKey(holder),
        None => Use::FailedByAddress(call.peer.address().into()),
    }
}
