//! Orders: submitting, cancelling, reading.

use cambist_core::order::FillBy;
use cambist_core::{Hash, OrderKind, Reason, VenueTime};
use cambist_protocol::Endpoint;
use cambist_protocol::encode::to_bytes;
use cambist_protocol::json;
use cambist_protocol::query::{CancelQuery, OrderQuery, OrdersQuery, Parameters};
use cambist_protocol::wire::{OrderAck, OrderRequest, OrderType, OrdersPage};
use cambist_venue::{self as venue, AccountId, Caller, NewOrder, Request, Response};

use crate::accounts::check_named_account;
use crate::dispatch::{Answer, Call, Dispatch, mismatch};
use crate::error_response::ErrorResponse;
use crate::responses;

/// POST order.
pub(crate) fn submit(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let json = json::parse(&call.body)?;
    let object = json.object()?;
    let account = AccountId(OrderRequest::account(object)?);
    if !shell
        .machine
        .read(|venue| venue.account(account).is_some())?
    {
        return Err(ErrorResponse::new(
            Reason::InvalidOrderAccount,
            format!("account {} does not exist", account.0),
        ));
    }
    shell.check_owner(holder, account)?;

    let order = OrderRequest::read(object)?;
    // The venue's rules bound every number.
    let message = order.message();
    let mut request = Request::Submit(Box::new(new_order(order)));
    shell.precheck(&Dispatch::caller(holder), &request)?;
    let Request::Submit(order) = &mut request else {
        return Err(mismatch(Endpoint::SubmitOrder));
    };
    let signature = OrderRequest::signature(object)?;
    let Some(message) = message else {
        let problem = "a number is out of range";
        return Err(ErrorResponse::new(Reason::InvalidOrder, problem));
    };
    let hash = message.hash();
    order.hash = Hash(hash.0);
    let signed = shell.verify(call, account, holder, [hash.message()], &signature)?;
    let caller = Caller::Account {
        account,
        signed: Some(signed),
    };
    match shell.ask(&caller, &request)? {
        Response::Submitted(taken) => Ok(to_bytes(&OrderAck {
            hash: taken.hash,
            client_order_id: taken.client_id,
            status: taken.status,
            is_idempotent: taken.idempotent,
        })),
        _ => Err(mismatch(Endpoint::SubmitOrder)),
    }
}

/// GET order.
pub(crate) fn get(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let parameters = Parameters::parse(&call.query)?;
    check_named_account(shell, &parameters, holder)?;
    let query = OrderQuery::read(&parameters)?;
    let request = Request::Order {
        account: AccountId(query.account_id),
        hash: query.order_hash,
    };
    match shell.ask(&Dispatch::caller(holder), &request)? {
        Response::Order(view) => Ok(to_bytes(&responses::order(*view))),
        _ => Err(mismatch(Endpoint::GetOrder)),
    }
}

/// DELETE order.
pub(crate) fn cancel(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let parameters = Parameters::parse(&call.query)?;
    check_named_account(shell, &parameters, holder)?;
    let query = CancelQuery::read(&parameters)?;
    let account = AccountId(query.account_id);
    let request = Request::Cancel {
        account,
        hash: query.order_hash,
        client_id: query.client_order_id,
    };
    shell.precheck(&Dispatch::caller(holder), &request)?;
    let signed = shell.request_signed(call, parameters.received(), account, holder)?;
    match shell.ask(&Caller::Account { account, signed }, &request)? {
        Response::Cancelled(cancelled) => Ok(to_bytes(&OrderAck {
            hash: cancelled.hash,
            client_order_id: cancelled.client_id,
            status: cancelled.status,
            is_idempotent: cancelled.idempotent,
        })),
        _ => Err(mismatch(Endpoint::CancelOrder)),
    }
}

/// GET orders.
pub(crate) fn list(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let parameters = Parameters::parse(&call.query)?;
    check_named_account(shell, &parameters, holder)?;
    let query = OrdersQuery::read(&parameters)?;
    let kinds: Vec<_> = query
        .order_types
        .iter()
        .filter_map(|kind| kind_of(*kind))
        .collect();
    let only_pools = kinds.is_empty() && !query.order_types.is_empty();
    let request = Request::Orders(venue::OrdersQuery {
        account: AccountId(query.account_id),
        market: query.market,
        start: VenueTime(query.start.unwrap_or(0)),
        end: VenueTime(query.end.unwrap_or(0)),
        sides: query.sides,
        statuses: query.statuses,
        kinds: (!only_pools).then_some(kinds),
        swaps: query.order_types.contains(&OrderType::Amm),
        limit: query.limit.map(u64::from),
        offset: query.offset.map_or(0, u64::from),
    });
    match shell.ask(&Dispatch::caller(holder), &request)? {
        Response::Orders(page) => Ok(to_bytes(&OrdersPage {
            total_num: page.total,
            orders: page.orders.into_iter().map(responses::order).collect(),
        })),
        _ => Err(mismatch(Endpoint::ListOrders)),
    }
}

/// Reads the body with numbers of any width: the venue checks ranges, which have codes of their own. The hash is set
/// later.
fn new_order(order: OrderRequest) -> NewOrder {
    NewOrder {
        hash: Hash([0; 32]),
        exchange: order.exchange.0,
        account: AccountId(order.account_id),
        storage_id: order.storage_id,
        sell_token: order.sell_token,
        sell_amount: order.sell_amount,
        buy_token: order.buy_token,
        buy_amount: order.buy_amount,
        fill_by: if order.fill_amount_b_or_s {
            FillBy::Buy
        } else {
            FillBy::Sell
        },
        all_or_none: order.all_or_none,
        valid_until_s: order.valid_until,
        max_fee_bips: order.max_fee_bips,
        taker: order.taker.0,
        // A swap only takes; nothing of it rests.
        kind: kind_of(order.order_type).unwrap_or(OrderKind::TakerOnly),
        // Some clients send a pool address with every order.
        pool: match order.order_type {
            OrderType::Amm => order.pool_address.map(|pool| pool.0),
            OrderType::Limit | OrderType::TakerOnly | OrderType::MakerOnly => None,
        },
        client_id: order.client_order_id,
    }
}

/// The kind of an order for the book; `None` for a pool.
const fn kind_of(order_type: OrderType) -> Option<OrderKind> {
    match order_type {
        OrderType::Limit => Some(OrderKind::Limit),
        OrderType::TakerOnly => Some(OrderKind::TakerOnly),
        OrderType::MakerOnly => Some(OrderKind::MakerOnly),
        OrderType::Amm => None,
    }
}
