//! Pools: configuration, balances, joins, exits and their history.

use cambist_core::{Hash, Reason, VenueTime};
use cambist_protocol::encode::to_bytes;
use cambist_protocol::json::{self, Json, integer};
use cambist_protocol::number;
use cambist_protocol::query::{Parameters, PoolBalanceQuery, PoolTransactionsQuery};
use cambist_protocol::wire::{self, PoolTransactionKind, PoolTransactions, Pools};
use cambist_protocol::{Address, Endpoint, WireError};
use cambist_signing::eip712::Domain;
use cambist_signing::{Field, Hash32, PoolExitMessage, PoolJoinMessage};
use cambist_venue::{
    self as venue, AccountId, Caller, NewExit, NewJoin, PoolConfig, PoolTxKind, PoolTxStatus,
    Proof, Request, Response,
};

use crate::accounts::check_named_account;
use crate::authorisation::{Given, Signable};
use crate::dispatch::{Answer, Call, Dispatch, mismatch};
use crate::error_response::ErrorResponse;
use crate::funds::{amount, amount_or_token, narrow, submitted, token_amount};
use crate::responses;

/// GET amm/pools.
pub(crate) fn pools(shell: &Dispatch) -> Answer {
    match shell.ask(&Caller::Public, &Request::Pools)? {
        Response::Pools(pools) => Ok(to_bytes(&Pools {
            pools: pools.into_iter().map(responses::pool).collect(),
        })),
        _ => Err(mismatch(Endpoint::Pools)),
    }
}

/// GET amm/balance.
pub(crate) fn balance(shell: &Dispatch, call: &Call) -> Answer {
    let query = PoolBalanceQuery::read(&Parameters::parse(&call.query)?)?;
    let request = Request::PoolBalance {
        pool: query.pool_address.0,
    };
    match shell.ask(&Caller::Public, &request)? {
        Response::PoolBalance(view) => Ok(to_bytes(&responses::pool_balance(&view))),
        _ => Err(mismatch(Endpoint::PoolBalance)),
    }
}

/// GET amm/user/transactions.
pub(crate) fn transactions(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let parameters = Parameters::parse(&call.query)?;
    check_named_account(shell, &parameters, holder)?;
    let query = PoolTransactionsQuery::read(&parameters)?;
    let statuses: Vec<_> = query
        .statuses
        .iter()
        .filter_map(|word| status(word))
        .collect();
    let none = statuses.is_empty() && !query.statuses.is_empty();
    let account = query
        .account_id
        .map(AccountId)
        .or(holder)
        .ok_or_else(|| ErrorResponse::new(Reason::EmptyUser, "accountId: missing"))?;
    let request = Request::PoolTransactions(venue::PoolTransactionsQuery {
        account,
        start: VenueTime(query.start.unwrap_or(0)),
        end: VenueTime(query.end.unwrap_or(0)),
        kinds: query
            .kinds
            .map(|kinds| kinds.into_iter().map(kind).collect()),
        statuses: (!none).then_some(statuses),
        pool: query.pool_address.map(|address| address.0),
        limit: query.limit.map(u64::from),
        offset: query.offset.map_or(0, u64::from),
    });
    match shell.ask(&Dispatch::caller(holder), &request)? {
        Response::PoolTransactions(page) => Ok(to_bytes(&PoolTransactions {
            total_num: page.total,
            transactions: page
                .transactions
                .iter()
                .map(responses::pool_transaction)
                .collect(),
        })),
        _ => Err(mismatch(Endpoint::PoolTransactions)),
    }
}

/// POST amm/join.
pub(crate) fn join(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let json = json::parse(&call.body)?;
    let object = json.object()?;
    let owner = object.required("owner", wire::address)?;
    let account = holder_of(shell, holder, owner)?;
    let (joined, (lp, minimum_lp)) = object.required("joinTokens", |json| {
        let tokens = json.object()?;
        Ok((
            tokens.required("pooled", |json| json.list(token_amount))?,
            tokens.required("minimumLp", amount_or_token)?,
        ))
    })?;
    let fee = object.optional("fee", amount_or_token)?;
    let mut asked = NewJoin {
        hash: Hash([0; 32]),
        owner: owner.0,
        pool: object.required("poolAddress", wire::address)?.0,
        joined,
        minimum_lp,
        max_fee: fee.map(|(_, fee)| fee),
        storage_ids: object.required("storageIds", storage_ids)?,
        valid_until_s: object.required("validUntil", integer)?,
        proof: Proof::default(),
    };
    let caller = Dispatch::caller(holder);
    shell.precheck(&caller, &Request::Join(Box::new(asked.clone())))?;
    let pool = pool(shell, asked.pool)?;
    check_lp(&pool, lp)?;
    check_fee_token(&pool, fee.and_then(|(token, _)| token))?;
    let message = PoolJoinMessage {
        owner,
        join_amounts: asked
            .joined
            .iter()
            .map(|part| amount(part.amount))
            .collect::<Result<_, _>>()?,
        join_storage_ids: asked
            .storage_ids
            .iter()
            .map(|id| narrow(*id))
            .collect::<Result<_, _>>()?,
        mint_min_amount: amount(asked.minimum_lp)?,
        fee: asked.max_fee.map(amount).transpose()?,
        valid_until: narrow(asked.valid_until_s)?,
    };
    let domain = domain(shell, &pool);
    let signable = signable(message.digest(&domain), message.message(&domain));
    asked.hash = Hash(signable.hash.0);
    asked.proof = shell.prove(call, holder, account, &Given::read(object)?, &signable)?;
    submitted(shell, call, &caller, &Request::Join(Box::new(asked)))
}

/// POST amm/exit.
pub(crate) fn exit(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let json = json::parse(&call.body)?;
    let object = json.object()?;
    let owner = object.required("owner", wire::address)?;
    let account = holder_of(shell, holder, owner)?;
    let (minimums, (lp, burned)) = object.required("exitTokens", |json| {
        let tokens = json.object()?;
        Ok((
            tokens.required("unPooled", |json| json.list(token_amount))?,
            tokens.required("burned", amount_or_token)?,
        ))
    })?;
    let (fee_token, max_fee) = object.required("maxFee", amount_or_token)?;
    let mut asked = NewExit {
        hash: Hash([0; 32]),
        owner: owner.0,
        pool: object.required("poolAddress", wire::address)?.0,
        minimums,
        burned,
        storage_id: object.required("storageId", integer)?,
        max_fee,
        valid_until_s: object.required("validUntil", integer)?,
        proof: Proof::default(),
    };
    let caller = Dispatch::caller(holder);
    shell.precheck(&caller, &Request::Exit(Box::new(asked.clone())))?;
    let pool = pool(shell, asked.pool)?;
    check_lp(&pool, lp)?;
    check_fee_token(&pool, fee_token)?;
    let message = PoolExitMessage {
        owner,
        burn_amount: amount(asked.burned)?,
        burn_storage_id: narrow(asked.storage_id)?,
        exit_min_amounts: asked
            .minimums
            .iter()
            .map(|part| amount(part.amount))
            .collect::<Result<_, _>>()?,
        fee: amount(asked.max_fee)?,
        valid_until: narrow(asked.valid_until_s)?,
    };
    let domain = domain(shell, &pool);
    let signable = signable(message.digest(&domain), message.message(&domain));
    asked.hash = Hash(signable.hash.0);
    asked.proof = shell.prove(call, holder, account, &Given::read(object)?, &signable)?;
    submitted(shell, call, &caller, &Request::Exit(Box::new(asked)))
}

/// The account of an owner, which must be the API key's. The venue refuses owners without an account.
fn holder_of(
    shell: &Dispatch,
    holder: Option<AccountId>,
    owner: Address,
) -> Result<AccountId, ErrorResponse> {
    let named = shell
        .machine
        .read(|venue| venue.account_of_owner(&owner.0).map(|found| found.id))?;
    if let Some(named) = named {
        shell.check_owner(holder, named)?;
    }
    Ok(named.or(holder).unwrap_or_default())
}

/// A pool of the venue, listed or delisted: owners of shares can exit a delisted pool.
fn pool(shell: &Dispatch, address: venue::Address) -> Result<PoolConfig, ErrorResponse> {
    let found = shell.machine.read(|venue| venue.pool(&address).cloned())?;
    found.ok_or_else(|| ErrorResponse::new(Reason::WrongExchange, "no such pool"))
}

/// The layer-2 key signs the shifted digest; the digest identifies the request.
fn signable(digest: Hash32, message: Field) -> Signable {
    Signable {
        messages: vec![message],
        digest,
        hash: digest,
    }
}

fn domain(shell: &Dispatch, pool: &PoolConfig) -> Domain {
    Domain::pool(shell.chain_id, &pool.name, Address(pool.address))
}

/// The signature does not cover the LP token. If the body names one, it must be the pool's.
fn check_lp(pool: &PoolConfig, named: Option<cambist_core::TokenId>) -> Result<(), ErrorResponse> {
    match named {
        Some(token) if token != pool.lp => Err(ErrorResponse::new(
            Reason::InvalidArgument,
            format!("token {} is not the pool's LP token {}", token.0, pool.lp.0),
        )),
        Some(_) | None => Ok(()),
    }
}

/// As above for the fee's token.
fn check_fee_token(
    pool: &PoolConfig,
    named: Option<cambist_core::TokenId>,
) -> Result<(), ErrorResponse> {
    let last = pool.pooled[1];
    match named {
        Some(token) if token != last => Err(ErrorResponse::new(
            Reason::UnsupportedFeeToken,
            format!("fees of this pool are paid in token {}", last.0),
        )),
        Some(_) | None => Ok(()),
    }
}

const fn kind(kind: PoolTransactionKind) -> PoolTxKind {
    match kind {
        PoolTransactionKind::Join => PoolTxKind::Join,
        PoolTransactionKind::Exit => PoolTxKind::Exit,
    }
}

/// The status keywords of the interface's text and of a public client.
fn status(word: &str) -> Option<PoolTxStatus> {
    match word {
        "processing" | "received" => Some(PoolTxStatus::Processing),
        "cancelled" | "failed" => Some(PoolTxStatus::Cancelled),
        "processed" => Some(PoolTxStatus::Processed),
        _ => None,
    }
}

/// `[1, "3"]`, `"1,3"` or one number.
fn storage_ids(json: &Json) -> Result<Vec<u64>, WireError> {
    match json {
        Json::Text(text) => text
            .split(',')
            .map(|id| {
                number::bounded(id.trim()).map_err(|error| {
                    WireError::new(format!("\"{}\" {error}", number::quoted(id, 48)))
                })
            })
            .collect(),
        Json::List(_) => json.list(integer),
        other => integer(other).map(|id| vec![id]),
    }
}
