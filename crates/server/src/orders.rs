//! Orders: submitting, cancelling, reading.

use cambist_core::order::FillBy;
use cambist_core::{Amount, Hash, OrderKind, Reason, TokenId, VenueTime};
use cambist_protocol::encode::to_bytes;
use cambist_protocol::json::{self, Json, Object, boolean, integer, text, token_id, wide};
use cambist_protocol::query::{CancelQuery, OrderQuery, OrdersQuery, Parameters};
use cambist_protocol::wire::{self, OrderAck, OrderType, OrdersPage, TEXT_MAX};
use cambist_protocol::{Address, Endpoint, WireError};
use cambist_signing::{OrderMessage, Signature};
use cambist_venue::{self as venue, AccountId, Caller, NewOrder, Request, Response};

use crate::accounts::check_named_account;
use crate::dispatch::{Answer, Call, Dispatch, mismatch};
use crate::error_response::ErrorResponse;
use crate::responses;

/// POST order.
pub(crate) fn submit(shell: &Dispatch, call: &Call, holder: Option<AccountId>) -> Answer {
    let json = json::parse(&call.body)?;
    let object = json.object()?;
    let account = AccountId(object.required("accountId", integer)?);
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

    let mut request = Request::Submit(Box::new(read_order(object, account)?));
    shell.precheck(&Dispatch::caller(holder), &request)?;
    let Request::Submit(order) = &mut request else {
        return Err(mismatch(Endpoint::SubmitOrder));
    };
    let signature = order_signature(object)?;
    let hash = message(order)?.hash();
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
fn read_order(object: Object<'_>, account: AccountId) -> Result<NewOrder, ErrorResponse> {
    let (sell_token, sell_amount) = object.required("sellToken", volume)?;
    let (buy_token, buy_amount) = object.required("buyToken", volume)?;
    let order_type = object.optional("orderType", |json| {
        let word = text(json, TEXT_MAX)?;
        OrderType::from_word(&word)
            .ok_or_else(|| WireError::new(format!("{json} is not an order type")))
    })?;
    let order_type = order_type.unwrap_or_default();
    let named = object.optional("poolAddress", wire::address)?;
    let pool = match order_type {
        OrderType::Amm => Some(named.ok_or_else(|| {
            ErrorResponse::new(
                Reason::InvalidOrder,
                "poolAddress: missing, but required for orders of type AMM",
            )
        })?),
        // Some clients send a pool address with every order.
        OrderType::Limit | OrderType::TakerOnly | OrderType::MakerOnly => None,
    };
    Ok(NewOrder {
        hash: Hash([0; 32]),
        exchange: object.required("exchange", wire::address)?.0,
        account,
        storage_id: object.required("storageId", integer)?,
        sell_token,
        sell_amount,
        buy_token,
        buy_amount,
        fill_by: if object.required("fillAmountBOrS", boolean)? {
            FillBy::Buy
        } else {
            FillBy::Sell
        },
        all_or_none: object.required("allOrNone", boolean)?,
        valid_until_s: object.required("validUntil", integer)?,
        max_fee_bips: object.required("maxFeeBips", integer)?,
        taker: object
            .optional("taker", wire::address)?
            .unwrap_or(Address::ZERO)
            .0,
        // A swap only takes; nothing of it rests.
        kind: kind_of(order_type).unwrap_or(OrderKind::TakerOnly),
        pool: pool.map(|pool| pool.0),
        client_id: object.optional("clientOrderId", |json| text(json, TEXT_MAX))?,
    })
}

fn volume(json: &Json) -> Result<(TokenId, Amount), WireError> {
    let object = json.object()?;
    Ok((
        object.required("tokenId", token_id)?,
        object.optional("volume", wide)?.unwrap_or(0),
    ))
}

fn order_signature(object: Object<'_>) -> Result<Signature, ErrorResponse> {
    let found = object.optional("eddsaSignature", |json| {
        let wrong = |problem: String| WireError::new(problem).because(Reason::WrongSignature);
        let text = text(json, TEXT_MAX).map_err(|error| wrong(error.problem))?;
        Signature::from_hex(&text).map_err(|error| wrong(error.to_string()))
    })?;
    found.ok_or_else(|| ErrorResponse::new(Reason::MissingSignature, "eddsaSignature: missing"))
}

/// The message that the order's signature covers. The venue's field checks have bounded every number.
fn message(order: &NewOrder) -> Result<OrderMessage, ErrorResponse> {
    let (Ok(storage_id), Ok(valid_until), Ok(max_fee_bips)) = (
        u32::try_from(order.storage_id),
        u32::try_from(order.valid_until_s),
        u16::try_from(order.max_fee_bips),
    ) else {
        return Err(ErrorResponse::new(
            Reason::InvalidOrder,
            "a number is out of range",
        ));
    };
    Ok(OrderMessage {
        exchange: Address(order.exchange),
        storage_id,
        account_id: order.account.0,
        sell_token: order.sell_token.0,
        buy_token: order.buy_token.0,
        sell_amount: order.sell_amount,
        buy_amount: order.buy_amount,
        valid_until,
        max_fee_bips,
        fill_by_buy: match order.fill_by {
            FillBy::Buy => true,
            FillBy::Sell => false,
        },
        taker: Address(order.taker),
    })
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
