//! Public endpoints: depth, configuration, time, costs of requests.

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Reason, TokenId};
use cambist_protocol::Endpoint;
use cambist_protocol::encode::to_bytes;
use cambist_protocol::query::{DepthQuery, OffchainFeeQuery, Parameters};
use cambist_protocol::wire::{Markets, OffchainFee, OffchainFees, Timestamp};
use cambist_venue::{AccountId, Caller, Request, Response, TokenConfig};

use crate::accounts::check_named_account;
use crate::dispatch::{Answer, Call, Dispatch, mismatch};
use crate::error_response::ErrorResponse;
use crate::responses;

/// GET depth.
pub(crate) fn depth(shell: &Dispatch, call: &Call) -> Answer {
    let query = DepthQuery::read(&Parameters::parse(&call.query)?)?;
    let request = Request::Depth {
        market: query.market,
        level: u64::from(query.level),
        limit: query.limit.map(u64::from),
    };
    match shell.ask(&Caller::Public, &request)? {
        Response::Depth(view) => Ok(to_bytes(&responses::depth(view))),
        _ => Err(mismatch(Endpoint::Depth)),
    }
}

/// GET exchange/info. Its four lists of fees come from the venue's current configuration.
pub(crate) fn exchange_info(shell: &Dispatch) -> Answer {
    match shell.ask(&Caller::Public, &Request::ExchangeInfo)? {
        Response::Exchange(view) => {
            let tokens = listed(shell, &Caller::Operator)?;
            Ok(to_bytes(&responses::exchange(&view, &tokens)))
        }
        _ => Err(mismatch(Endpoint::ExchangeInfo)),
    }
}

/// GET exchange/tokens.
pub(crate) fn tokens(shell: &Dispatch) -> Answer {
    let tokens = listed(shell, &Caller::Public)?;
    let shown: Vec<_> = tokens.into_iter().map(responses::token).collect();
    Ok(to_bytes(&shown))
}

/// Listed tokens. Read as the operator if the request is not about tokens, so that it does not trigger an injected
/// fault.
fn listed(shell: &Dispatch, caller: &Caller) -> Result<Vec<TokenConfig>, ErrorResponse> {
    match shell.ask(caller, &Request::Tokens)? {
        Response::Tokens(tokens) => Ok(tokens),
        _ => Err(mismatch(Endpoint::Tokens)),
    }
}

/// GET exchange/markets.
pub(crate) fn markets(shell: &Dispatch) -> Answer {
    match shell.ask(&Caller::Public, &Request::Markets)? {
        Response::Markets(markets) => Ok(to_bytes(&Markets {
            markets: markets.into_iter().map(responses::market).collect(),
        })),
        _ => Err(mismatch(Endpoint::Markets)),
    }
}

/// GET timestamp.
pub(crate) fn timestamp(shell: &Dispatch) -> Vec<u8> {
    to_bytes(&Timestamp {
        timestamp: shell.clock.now().0,
    })
}

/// GET user/offchainFee: what a request costs by token, the requested token first, from the lists of exchange/info.
/// Kinds of requests without a list cost nothing in any open token.
pub(crate) fn offchain_fee(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let parameters = Parameters::parse(&call.query)?;
    check_named_account(shell, &parameters, holder)?;
    let query = OffchainFeeQuery::read(&parameters)?;
    let Response::Exchange(view) = shell.ask(&Caller::Public, &Request::ExchangeInfo)? else {
        return Err(mismatch(Endpoint::OffchainFee));
    };
    let tokens = listed(shell, &Caller::Operator)?;
    // Request types by their numbers in public clients.
    let table = match query.request_type {
        1 | 4 => responses::fees(&view.fees.withdrawal, &tokens),
        2 => responses::fees(&view.fees.update, &tokens),
        3 => responses::fees(&view.fees.transfer, &tokens),
        5 => responses::fees(&view.opening_fees, &tokens),
        0 | 6..=8 => responses::fees(&free(&tokens), &tokens),
        other => {
            return Err(ErrorResponse::new(
                Reason::InvalidArgument,
                format!("requestType: unknown type {other}"),
            ));
        }
    };
    let mut fees: Vec<_> = table
        .into_iter()
        .map(|entry| (entry.token, entry.fee))
        .collect();
    if let Some(wanted) = &query.token_symbol {
        fees.sort_by_key(|(symbol, _)| symbol != wanted);
    }
    Ok(to_bytes(&OffchainFees {
        gas_price: 0,
        fees: fees
            .into_iter()
            .map(|(token, fee)| OffchainFee {
                token,
                fee,
                discount: 1,
            })
            .collect(),
    }))
}

/// Zero in every open token.
fn free(tokens: &[TokenConfig]) -> SortedMap<TokenId, Amount> {
    let open = tokens.iter().filter(|token| token.spec.enabled);
    open.map(|token| (token.spec.id, 0)).collect()
}
