//! What everybody may read: depth, configuration, the clock, and pools, of which there are none yet.

use cambist_core::Reason;
use cambist_protocol::Endpoint;
use cambist_protocol::encode::to_bytes;
use cambist_protocol::query::{DepthQuery, Parameters, PoolBalanceQuery, PoolTransactionsQuery};
use cambist_protocol::wire::{Markets, PoolTransactions, Pools, Timestamp};
use cambist_venue::{AccountId, Caller, Request, Response};

use crate::accounts::check_named_account;
use crate::denial::Denial;
use crate::shell::{Answer, Call, Shell, mismatch};
use crate::shown;

/// GET depth.
pub(crate) fn depth(shell: &Shell, call: &Call) -> Answer {
    let query = DepthQuery::read(&Parameters::parse(&call.query)?)?;
    let request = Request::Depth {
        market: query.market,
        level: u64::from(query.level),
        limit: query.limit.map(u64::from),
    };
    match shell.ask(&Caller::Public, &request)? {
        Response::Depth(view) => Ok(to_bytes(&shown::depth(view))),
        _ => Err(mismatch(Endpoint::Depth)),
    }
}

/// GET exchange/info.
pub(crate) fn exchange_info(shell: &Shell) -> Answer {
    match shell.ask(&Caller::Public, &Request::ExchangeInfo)? {
        Response::Exchange(view) => Ok(to_bytes(&shown::exchange(&view))),
        _ => Err(mismatch(Endpoint::ExchangeInfo)),
    }
}

/// GET exchange/tokens.
pub(crate) fn tokens(shell: &Shell) -> Answer {
    match shell.ask(&Caller::Public, &Request::Tokens)? {
        Response::Tokens(tokens) => {
            let shown: Vec<_> = tokens.into_iter().map(shown::token).collect();
            Ok(to_bytes(&shown))
        }
        _ => Err(mismatch(Endpoint::Tokens)),
    }
}

/// GET exchange/markets.
pub(crate) fn markets(shell: &Shell) -> Answer {
    match shell.ask(&Caller::Public, &Request::Markets)? {
        Response::Markets(markets) => Ok(to_bytes(&Markets {
            markets: markets.into_iter().map(shown::market).collect(),
        })),
        _ => Err(mismatch(Endpoint::Markets)),
    }
}

/// GET timestamp.
pub(crate) fn timestamp(shell: &Shell) -> Vec<u8> {
    to_bytes(&Timestamp {
        timestamp: shell.clock.now().0,
    })
}

/// GET amm/pools.
pub(crate) fn pools() -> Vec<u8> {
    to_bytes(&Pools { pools: Vec::new() })
}

/// GET amm/balance.
pub(crate) fn pool_balance(call: &Call) -> Answer {
    PoolBalanceQuery::read(&Parameters::parse(&call.query)?)?;
    Err(Denial {
        status: 400,
        ..Denial::new(Reason::UnknownError, "no such pool: this exchange has none")
    })
}

/// GET amm/user/transactions.
pub(crate) fn pool_transactions(shell: &Shell, call: &Call, holder: Option<AccountId>) -> Answer {
    let parameters = Parameters::parse(&call.query)?;
    check_named_account(shell, &parameters, holder)?;
    PoolTransactionsQuery::read(&parameters)?;
    Ok(to_bytes(&PoolTransactions {
        total_num: 0,
        transactions: Vec::new(),
    }))
}
