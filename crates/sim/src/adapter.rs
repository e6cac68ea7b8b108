//! The engine's words and the venue's words, translated both ways. Pure; what the wire would do to
//! them (decimal strings, status codes) is the protocol's and is not needed here.

use cambist_core::order::{OrderReport, UnsignedOrder};
use cambist_core::request::{Balance, Depth, DepthLevel, Outcome, Query, Reply, UnknownCause};
use cambist_core::{Hash, MarketId, MarketSpec};
use cambist_venue::{
    AccountId, AccountQuery, Address, NewOrder, OrderView, OrdersQuery, Refusal, Request, Response,
};

/// What the shell would ask the venue for a query.
pub(crate) fn request(account: AccountId, markets: &[MarketSpec], query: &Query) -> Request {
    match query {
        Query::Depth(market) => Request::Depth {
            market: name(markets, *market),
            level: 0,
            limit: None,
        },
        Query::Balances => Request::Balances {
            account,
            tokens: None,
        },
        Query::Orders(page) => Request::Orders(OrdersQuery {
            start: page.from,
            end: page.to,
            limit: Some(u64::from(page.limit)),
            offset: u64::from(page.offset),
            ..OrdersQuery::all(account)
        }),
        Query::Order(hash) => Request::Order {
            account,
            hash: *hash,
        },
        Query::Cancel(hash) => Request::Cancel {
            account,
            hash: Some(*hash),
            client_id: None,
        },
        Query::Markets => Request::Markets,
        Query::Account => Request::Account(AccountQuery::Id(account)),
    }
}

/// The submit of a sealed order.
pub(crate) fn submit(
    account: AccountId,
    exchange: Address,
    order: &UnsignedOrder,
    hash: Hash,
) -> Request {
    Request::Submit(Box::new(NewOrder {
        hash,
        exchange,
        account,
        storage_id: u64::from(order.storage_id),
        sell_token: order.sell_token,
        sell_amount: order.sell_amount,
        buy_token: order.buy_token,
        buy_amount: order.buy_amount,
        fill_by: order.fill_by,
        all_or_none: false,
        valid_until_s: u64::from(order.valid_until_s),
        max_fee_bips: u64::from(order.max_fee_bips),
        taker: [0; 20],
        kind: order.kind,
        client_id: Some(order.client_id.to_string()),
    }))
}

/// What the shell would tell the engine of an answer. An answer that does not fit any question of the
/// engine's cannot be understood.
pub(crate) fn outcome(markets: &[MarketSpec], answer: &Result<Response, Refusal>) -> Outcome {
    match answer {
        Err(refusal) => Outcome::Refused(refusal.reason),
        Ok(response) => reply(markets, response)
            .map_or(Outcome::Unknown(UnknownCause::Undecodable), Outcome::Reply),
    }
}

fn reply(markets: &[MarketSpec], response: &Response) -> Option<Reply> {
    Some(match response {
        Response::Submitted(submitted) => Reply::Submitted {
            hash: submitted.hash,
            status: submitted.status,
            idempotent: false,
        },
        Response::Cancelled(cancelled) => Reply::CancelTaken {
            status: cancelled.status,
        },
        Response::Order(order) => Reply::Order(report(order)),
        Response::Orders(page) => Reply::Orders {
            orders: page.orders.iter().map(report).collect(),
            total: u32::try_from(page.total).ok()?,
        },
        Response::Depth(view) => {
            let levels = |rows: &[cambist_venue::DepthRow]| {
                rows.iter()
                    .map(|row| DepthLevel {
                        price: row.price,
                        size: row.size,
                    })
                    .collect()
            };
            Reply::Depth(Depth {
                market: markets.iter().find(|spec| spec.name == view.market)?.id,
                version: view.version,
                timestamp: view.timestamp,
                bids: levels(&view.bids),
                asks: levels(&view.asks),
            })
        }
        Response::Balances(balances) => Reply::Balances(
            balances
                .iter()
                .map(|view| Balance {
                    token: view.token,
                    total: view.total,
                    locked: view.locked,
                })
                .collect(),
        ),
        Response::Account(view) => Reply::Account {
            frozen: view.frozen,
        },
        Response::Markets(listed) => Reply::Markets {
            enabled: listed
                .iter()
                .filter(|market| market.enabled)
                .map(|market| market.name.clone())
                .collect(),
        },
        Response::ApiKey(_)
        | Response::StorageId { .. }
        | Response::Exchange(_)
        | Response::Tokens(_)
        | Response::Done(_) => return None,
    })
}

fn report(view: &OrderView) -> OrderReport {
    OrderReport {
        hash: view.hash,
        client_id: view.client_id.parse().ok(),
        market: view.market.clone(),
        side: view.side,
        status: view.status,
        base_amount: view.base_amount,
        quote_amount: view.quote_amount,
        base_filled: view.base_filled,
        quote_filled: view.quote_filled,
        fee: view.fee,
        valid_until_s: view.valid_until_s,
        valid_since: view.created,
    }
}

fn name(markets: &[MarketSpec], market: MarketId) -> String {
    markets
        .iter()
        .find(|spec| spec.id == market)
        .map(|spec| spec.name.clone())
        .unwrap_or_default()
}
