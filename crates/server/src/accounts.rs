//! Accounts, balances, API keys and storage ids.

use cambist_core::{Reason, VenueTime};
use cambist_protocol::encode::to_bytes;
use cambist_protocol::query::{
    AccountQuery, ApiKeyQuery, BalancesQuery, Parameters, StorageIdQuery,
};
use cambist_protocol::wire::{ApiKey, ApiKeyRequest, StorageIds};
use cambist_protocol::{Endpoint, FromWire};
use cambist_venue::{self as venue, AccountId, ApiKeyDigest, Caller, Request, Response};

use crate::api_keys::{self, api_key_digest};
use crate::dispatch::{Answer, Call, Dispatch, mismatch};
use crate::error_response::ErrorResponse;
use crate::responses;

/// GET account.
pub(crate) fn account(shell: &Dispatch, call: &Call) -> Answer {
    let parameters = Parameters::parse(&call.query)?;
    let query = match AccountQuery::read(&parameters)? {
        AccountQuery::Owner(owner) => venue::AccountQuery::Owner(owner.0),
        AccountQuery::Id(id) => venue::AccountQuery::Id(AccountId(id)),
    };
    match shell.ask(&Caller::Public, &Request::Account(query))? {
        Response::Account(view) => Ok(to_bytes(&responses::account(&view))),
        _ => Err(mismatch(Endpoint::GetAccount)),
    }
}

/// GET balances.
pub(crate) fn balances(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let parameters = Parameters::parse(&call.query)?;
    check_named_account(shell, &parameters, holder)?;
    let query = BalancesQuery::read(&parameters)?;
    let account = AccountId(query.account_id);
    let request = Request::Balances {
        account,
        tokens: query.tokens,
    };
    match shell.ask(&Dispatch::caller(holder), &request)? {
        Response::Balances(views) => {
            let shown: Vec<_> = views
                .iter()
                .map(|view| responses::balance(account, view))
                .collect();
            Ok(to_bytes(&shown))
        }
        _ => Err(mismatch(Endpoint::Balances)),
    }
}

/// POST apiKey.
pub(crate) fn replace_api_key(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let account = AccountId(ApiKeyRequest::from_bytes(&call.body)?.account_id);
    check_exists(shell, account)?;
    shell.check_owner(holder, account)?;
    let signed = shell.request_signed(call, &[], account, holder)?;
    if signed.is_none() && shell.require_api_key_signature {
        return Err(ErrorResponse::new(
            Reason::NoSignature,
            "the header X-API-SIG is missing",
        ));
    }
    let caller = Caller::Account { account, signed };
    replaced(shell, call, &caller, account)
}

/// GET apiKey: authorised by the signature alone. `key_requests` decides whether a replayed request is accepted.
pub(crate) fn get_api_key(shell: &Dispatch, call: &Call) -> Answer {
    let parameters = Parameters::parse(&call.query)?;
    let query = ApiKeyQuery::read(&parameters)?;
    let account = AccountId(query.account_id);
    let signed_at = query.timestamp.map(VenueTime);
    check_exists(shell, account)?;
    let check_time = || match signed_at {
        Some(signed_at) => shell
            .key_requests
            .check(account, signed_at, shell.clock.now()),
        None => Ok(()),
    };
    check_time()?;
    let has_key = shell.machine.read(|venue| venue.has_api_key(account))?;
    if signed_at.is_none() && has_key && shell.public_url.is_some() {
        return Err(ErrorResponse::new(
            Reason::InvalidArgument,
            "timestamp: missing; the account has an API key, so the request must be signed with the exchange's time in milliseconds",
        ));
    }
    let signed = shell.request_signed(call, parameters.received(), account, None)?;
    let caller = Caller::Account { account, signed };
    let fresh = api_keys::fresh()?;
    let fresh_digest = api_key_digest(&fresh);
    let request = Request::ApiKey {
        account,
        fresh: fresh_digest,
    };
    let digest = key_digest(shell, call, &caller, &request)?;
    if has_key {
        // The key may have changed since the first check; this request must not return the new one.
        check_time()?;
    } else {
        shell.key_requests.changes(account, shell.clock.now());
    }
    if digest == fresh_digest {
        return Ok(api_key_answer(shell, account, digest, &fresh));
    }
    match shell.known_keys.text(account, digest) {
        Some(key) => Ok(api_key_answer(shell, account, digest, &key)),
        // Only its digest is known, so the key cannot be returned: replace it.
        None => replaced(shell, call, &caller, account),
    }
}

/// GET storageId.
pub(crate) fn storage_id(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let parameters = Parameters::parse(&call.query)?;
    check_named_account(shell, &parameters, holder)?;
    let query = StorageIdQuery::read(&parameters)?;
    // Next ids are always above all used ones, as `maxNext` requires.
    let request = Request::NextStorageId {
        account: AccountId(query.account_id),
        sell_token: query.sell_token,
    };
    match shell.ask(&Dispatch::caller(holder), &request)? {
        Response::StorageId {
            order: Some(order_id),
            offchain: Some(offchain_id),
        } => Ok(to_bytes(&StorageIds {
            order_id,
            offchain_id,
        })),
        Response::StorageId { .. } => Err(ErrorResponse::new(
            // A code published after the interface's text, which does not have this endpoint.
            Reason::Unlisted(102_028),
            "no storage id is left for this token",
        )),
        _ => Err(mismatch(Endpoint::StorageId)),
    }
}

/// The account before all other fields, if the request names a valid one.
pub(crate) fn check_named_account(
    shell: &Dispatch,
    parameters: &Parameters,
    holder: Option<AccountId>,
) -> Result<(), ErrorResponse> {
    match parameters.account_id() {
        Some(named) => shell.check_owner(holder, AccountId(named)),
        // The endpoint's own parser reports it with the endpoint's own code.
        None => Ok(()),
    }
}

fn check_exists(shell: &Dispatch, account: AccountId) -> Result<(), ErrorResponse> {
    if shell
        .machine
        .read(|venue| venue.account(account).is_some())?
    {
        Ok(())
    } else {
        Err(ErrorResponse::new(
            Reason::UserNotFound,
            format!("account {} does not exist", account.0),
        ))
    }
}

/// Replaces the account's key by a random one.
fn replaced(shell: &Dispatch, call: &Call, caller: &Caller, account: AccountId) -> Answer {
    let fresh = api_keys::fresh()?;
    let digest = api_key_digest(&fresh);
    shell.key_requests.changes(account, shell.clock.now());
    // The key's digest is an input of the state machine, so that replay needs no randomness.
    let request = Request::RotateApiKey {
        account,
        fresh: digest,
    };
    key_digest(shell, call, caller, &request)?;
    Ok(api_key_answer(shell, account, digest, &fresh))
}

/// The digest of the account's current key.
fn key_digest(
    shell: &Dispatch,
    call: &Call,
    caller: &Caller,
    request: &Request,
) -> Result<ApiKeyDigest, ErrorResponse> {
    match shell.ask(caller, request)? {
        Response::ApiKey(digest) => Ok(digest),
        _ => Err(mismatch(call.endpoint)),
    }
}

fn api_key_answer(
    shell: &Dispatch,
    account: AccountId,
    digest: ApiKeyDigest,
    key: &str,
) -> Vec<u8> {
    shell.known_keys.learn(account, digest, key);
    to_bytes(&ApiKey {
        api_key: key.to_owned(),
    })
}
