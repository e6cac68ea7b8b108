//! Transfers, withdrawals and new signing keys.

use cambist_core::{Amount, Hash, Reason, TokenId};
use cambist_protocol::encode::to_bytes;
use cambist_protocol::json::{self, FromWire, Json, boolean, integer, text, wide};
use cambist_protocol::wire::{self, SentKey, Submission, SubmissionStatus, TEXT_MAX};
use cambist_protocol::{Address, WireError};
use cambist_signing::{
    AccountUpdateMessage, ExtraData, PublicKey, TransferMessage, WithdrawalMessage,
};
use cambist_venue::{
    self as venue, AccountId, Caller, NewKey, NewTransfer, NewWithdrawal, Proof, Request, Response,
    SubmissionView, TokenAmount,
};

use crate::authorisation::{Given, Signable};
use crate::dispatch::{Answer, Call, Dispatch, mismatch};
use crate::error_response::ErrorResponse;

/// Most bytes of a memo, which is not stored.
const MEMO_MAX: usize = 8_192;

/// POST transfer.
pub(crate) fn transfer(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let json = json::parse(&call.body)?;
    let object = json.object()?;
    let payer = AccountId(object.required("payerId", integer)?);
    shell.check_owner(holder, payer)?;
    let mut asked = NewTransfer {
        hash: Hash([0; 32]),
        exchange: object.required("exchange", wire::address)?.0,
        payer,
        payer_owner: object.required("payerAddr", wire::address)?.0,
        payee: AccountId(object.required("payeeId", integer)?),
        payee_owner: object.required("payeeAddr", wire::address)?.0,
        sent: object.required("token", token_amount)?,
        max_fee: object.required("maxFee", token_amount)?,
        storage_id: object.required("storageId", integer)?,
        valid_until_s: object.required("validUntil", integer)?,
        memo: object.optional("memo", |json| text(json, MEMO_MAX))?,
        proof: Proof::default(),
    };
    let caller = Dispatch::caller(holder);
    shell.precheck(&caller, &Request::Transfer(Box::new(asked.clone())))?;
    let message = TransferMessage {
        exchange: Address(asked.exchange),
        payer_id: payer.0,
        payer: Address(asked.payer_owner),
        payee_id: asked.payee.0,
        payee: Address(asked.payee_owner),
        token: asked.sent.token.0,
        amount: amount(asked.sent.amount)?,
        fee_token: asked.max_fee.token.0,
        max_fee: amount(asked.max_fee.amount)?,
        valid_until: narrow(asked.valid_until_s)?,
        storage_id: narrow(asked.storage_id)?,
    };
    let hash = message.hash();
    let signable = Signable {
        messages: vec![hash.message()],
        digest: message.digest(shell.chain_id),
        hash,
    };
    asked.hash = Hash(hash.0);
    asked.proof = shell.prove(call, holder, payer, &Given::read(object)?, &signable)?;
    submitted(shell, call, &caller, &Request::Transfer(Box::new(asked)))
}

/// POST user/withdrawals.
pub(crate) fn withdraw(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let json = json::parse(&call.body)?;
    let object = json.object()?;
    let account = AccountId(object.required("accountId", integer)?);
    shell.check_owner(holder, account)?;
    let min_gas: Amount = object.required("minGas", wide)?;
    let extra_data = object
        .optional("extraData", extra_data)?
        .unwrap_or_default();
    let mut asked = NewWithdrawal {
        hash: Hash([0; 32]),
        exchange: object.required("exchange", wire::address)?.0,
        account,
        owner: object.required("owner", wire::address)?.0,
        withdrawn: object.required("token", token_amount)?,
        max_fee: object.required("maxFee", token_amount)?,
        storage_id: object.required("storageId", integer)?,
        valid_until_s: object.required("validUntil", integer)?,
        to: object.required("to", wire::address)?.0,
        fast: object
            .optional("fastWithdrawalMode", boolean)?
            .unwrap_or(false),
        proof: Proof::default(),
    };
    let caller = Dispatch::caller(holder);
    shell.precheck(&caller, &Request::Withdraw(Box::new(asked.clone())))?;
    let message = WithdrawalMessage {
        exchange: Address(asked.exchange),
        account_id: account.0,
        owner: Address(asked.owner),
        token: asked.withdrawn.token.0,
        amount: amount(asked.withdrawn.amount)?,
        fee_token: asked.max_fee.token.0,
        max_fee: amount(asked.max_fee.amount)?,
        to: Address(asked.to),
        extra_data,
        min_gas,
        valid_until: narrow(asked.valid_until_s)?,
        storage_id: narrow(asked.storage_id)?,
    };
    let hash = message.hash();
    let mut messages = vec![hash.message()];
    if !message.extra_data.is_empty() {
        // A public client hashes the text of the data where the contract hashes its bytes.
        messages.push(message.hash_of_text().message());
    }
    let signable = Signable {
        messages,
        digest: message.digest(shell.chain_id),
        hash,
    };
    asked.hash = Hash(hash.0);
    asked.proof = shell.prove(call, holder, account, &Given::read(object)?, &signable)?;
    submitted(shell, call, &caller, &Request::Withdraw(Box::new(asked)))
}

/// POST account. The API key may be absent: an account gets its first signing key before its first API key.
pub(crate) fn update_account(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let json = json::parse(&call.body)?;
    let object = json.object()?;
    let account = AccountId(object.required("accountId", integer)?);
    if holder.is_some() {
        shell.check_owner(holder, account)?;
    }
    let public_key = object.required("publicKey", new_key)?;
    let mut asked = NewKey {
        hash: Hash([0; 32]),
        exchange: object.required("exchange", wire::address)?.0,
        account,
        owner: object.required("owner", wire::address)?.0,
        public_key: venue::PublicKey {
            x: public_key.x.to_be_bytes(),
            y: public_key.y.to_be_bytes(),
        },
        max_fee: object.required("maxFee", token_amount)?,
        valid_until_s: object.required("validUntil", integer)?,
        nonce: object.required("nonce", integer)?,
        proof: Proof::default(),
    };
    let caller = Dispatch::caller(holder);
    shell.precheck(&caller, &Request::UpdateKey(Box::new(asked.clone())))?;
    let message = AccountUpdateMessage {
        exchange: Address(asked.exchange),
        account_id: account.0,
        owner: Address(asked.owner),
        fee_token: asked.max_fee.token.0,
        max_fee: amount(asked.max_fee.amount)?,
        public_key,
        valid_until: narrow(asked.valid_until_s)?,
        nonce: narrow(asked.nonce)?,
    };
    let hash = message.hash();
    let signable = Signable {
        messages: vec![hash.message()],
        digest: message.digest(shell.chain_id),
        hash,
    };
    asked.hash = Hash(hash.0);
    asked.proof = shell.prove(call, holder, account, &Given::read(object)?, &signable)?;
    submitted(shell, call, &caller, &Request::UpdateKey(Box::new(asked)))
}

/// Executes the request and returns its submission.
pub(crate) fn submitted(
    shell: &Dispatch,
    call: &Call,
    caller: &Caller,
    request: &Request,
) -> Answer {
    match shell.ask(caller, request)? {
        Response::Submission(view) => Ok(to_bytes(&shown(&view))),
        _ => Err(mismatch(call.endpoint)),
    }
}

/// A submission in the interface's form.
pub(crate) fn shown(view: &SubmissionView) -> Submission {
    Submission {
        hash: view.hash,
        status: match view.status {
            venue::SubmissionStatus::Received => SubmissionStatus::Received,
            venue::SubmissionStatus::Processing => SubmissionStatus::Processing,
            venue::SubmissionStatus::Processed => SubmissionStatus::Processed,
            venue::SubmissionStatus::Failed => SubmissionStatus::Failed,
        },
        is_idempotent: view.idempotent,
    }
}

/// A token with an amount of any width, which has to be stated; the venue checks its bounds.
pub(crate) fn token_amount(json: &Json) -> Result<TokenAmount, WireError> {
    let (token, amount) = wire::requested_amount(json)?;
    Ok(TokenAmount::new(token, amount))
}

/// An amount that is a string in the interface's text, and a token with an amount in public clients.
pub(crate) fn amount_or_token(json: &Json) -> Result<(Option<TokenId>, Amount), WireError> {
    match json {
        Json::Object(_) => token_amount(json).map(|both| (Some(both.token), both.amount)),
        other => wide(other).map(|amount| (None, amount)),
    }
}

/// Narrows a number that the venue has bounded; an error if it did not.
pub(crate) fn narrow(number: u64) -> Result<u32, ErrorResponse> {
    u32::try_from(number).map_err(|_| {
        ErrorResponse::new(Reason::InvalidArgument, format!("{number} exceeds 32 bits"))
    })
}

/// As `narrow`, for amounts that are signed with 96 bits.
pub(crate) fn amount(amount: Amount) -> Result<Amount, ErrorResponse> {
    if amount > cambist_signing::MAX_AMOUNT {
        return Err(ErrorResponse::new(
            Reason::InvalidArgument,
            "an amount exceeds 96 bits",
        ));
    }
    Ok(amount)
}

/// Hexadecimal data; public clients omit the `0x`.
fn extra_data(json: &Json) -> Result<ExtraData, WireError> {
    let text = text(json, TEXT_MAX)?;
    let bare = !text.starts_with("0x");
    ExtraData::parse(&if bare { format!("0x{text}") } else { text })
        .map_err(|error| WireError::new(error.to_string()))
}

/// Both coordinates or one packed number; in both cases a point of the curve of prime order.
fn new_key(json: &Json) -> Result<PublicKey, WireError> {
    let key = match SentKey::read(json)? {
        SentKey::Coordinates(key) => Ok(key),
        SentKey::Packed(packed) => PublicKey::from_packed(packed),
    };
    let key = key.and_then(|key| key.check_registrable().map(|()| key));
    // The only listed code that can refer to the new key.
    key.map_err(|error| WireError::new(error.to_string()).because(Reason::InvalidReceiver))
}
