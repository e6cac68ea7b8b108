//! Orders: submitting, amending, cancelling.

use std::collections::BTreeSet;

use cambist_core::{MarketId, Price, VenueTime};
use cambist_kraken::parameters::Parameters;
use cambist_kraken::{id, time};
use cambist_venue::{
    KrakenAction, KrakenAdded, KrakenAmend, KrakenError, KrakenOrderType, KrakenReply,
    NewKrakenOrder, OrderRef,
};
use serde_json::{Value, json};

use super::counters::amend_cost;
use super::fault::Fault;
use super::names::{Pair, pairs};
use super::order_fields::{self, deadline, flag};
use super::private::Session;
use super::shapes::described;

/// Orders of a batch.
const BATCH: std::ops::RangeInclusive<usize> = 2..=15;
/// Most cancels of a batch.
const CANCELS_MAX: usize = 50;
/// Parameters of AmendOrder, without those of order types that do not exist here.
const OF_AMENDS: [&str; 8] = [
    "nonce",
    "txid",
    "cl_ord_id",
    "order_qty",
    "limit_price",
    "post_only",
    "deadline",
    "pair",
];
/// Parameters of CancelOrder; the pair is in its published example.
const OF_CANCELS: [&str; 4] = ["nonce", "txid", "cl_ord_id", "pair"];
/// Parameters of CancelOrderBatch.
const OF_CANCEL_BATCHES: [&str; 3] = ["nonce", "orders", "cl_ord_ids"];

/// AddOrder.
pub(super) fn add(session: &Session<'_>) -> Result<Value, Fault> {
    let read = || {
        order_fields::check_single(&session.parameters)?;
        let pair = pair(session)?;
        let order = order_fields::order(&session.parameters, &pair, session.now())?;
        Ok((pair, order))
    };
    let (pair, order) = session.checked(read())?;
    let added = submit(session, &pair, vec![order.clone()])?;
    let [added] = &added[..] else {
        return Err(Fault::internal());
    };
    let added = added.as_ref().map_err(|error| Fault::from(*error))?;
    Ok(shown(&pair, &order, added, true))
}

/// AddOrderBatch.
pub(super) fn add_batch(session: &Session<'_>) -> Result<Value, Fault> {
    let read = || {
        order_fields::check_batch(&session.parameters)?;
        order_fields::check_unsupported(&session.parameters)?;
        let pair = pair(session)?;
        let entries = session.parameters.entries("orders");
        if !BATCH.contains(&entries.len()) {
            return Err(Fault::argument("orders"));
        }
        let now = session.now();
        let orders = entries
            .iter()
            .map(|entry| order_fields::order(entry, &pair, now));
        Ok((orders.collect::<Result<Vec<_>, _>>()?, pair))
    };
    let (orders, pair) = session.checked(read())?;
    let added = submit(session, &pair, orders.clone())?;
    let entries = orders.iter().zip(&added).map(|(order, added)| match added {
        Ok(added) => shown(&pair, order, added, false),
        Err(error) => json!({"error": error.text()}),
    });
    Ok(json!({"orders": entries.collect::<Vec<_>>()}))
}

fn submit(
    session: &Session<'_>,
    pair: &Pair,
    orders: Vec<NewKrakenOrder>,
) -> Result<Vec<Result<KrakenAdded, KrakenError>>, Fault> {
    let read = || {
        let until = deadline(&session.parameters)?;
        let validate = flag(&session.parameters, "validate")?;
        // A batch counts half.
        let cost = u32::try_from(orders.len().div_ceil(2)).unwrap_or(u32::MAX);
        count(session, pair.market, if validate { 0 } else { cost })?;
        Ok((until, validate))
    };
    let (deadline, validate) = session.checked(read())?;
    let action = KrakenAction::Add {
        orders,
        deadline,
        validate,
    };
    match session.execute(action)? {
        KrakenReply::Added(added) => Ok(added),
        _ => Err(Fault::internal()),
    }
}

/// Counts for the pair; a counter at its maximum refuses.
fn count(session: &Session<'_>, market: MarketId, cost: u32) -> Result<(), Fault> {
    let now_ms = session.shell.clock.monotonic_ms();
    let counters = &session.kraken.counters;
    if counters.trade(session.key.account, market, cost, now_ms) {
        Ok(())
    } else {
        Err(Fault::new("EOrder:Rate limit exceeded"))
    }
}

/// An accepted order. A single one has a list of identifiers, one of a batch an identifier.
fn shown(pair: &Pair, order: &NewKrakenOrder, added: &KrakenAdded, is_single: bool) -> Value {
    let price = match order.order_type {
        KrakenOrderType::Market => None,
        KrakenOrderType::Limit(price)
        | KrakenOrderType::PostOnly(price)
        | KrakenOrderType::ImmediateOrCancel(price) => Some(price),
    };
    let order = described(pair, order.side, order.volume, price);
    let mut shown = json!({"descr": {"order": order}});
    if let Some(number) = added.number {
        let text = id::encode(id::Kind::Order, number);
        shown["txid"] = if is_single {
            json!([text])
        } else {
            json!(text)
        };
    }
    shown
}

/// AmendOrder.
pub(super) fn amend(session: &Session<'_>) -> Result<Value, Fault> {
    let read = || {
        order_fields::check_names(&session.parameters, &[&OF_AMENDS])?;
        let order = one(session)?;
        let account = session.key.account;
        let open = session
            .shell
            .machine
            .read(|venue| venue.kraken_open_since(account, &order))?;
        let [(market, since)] = open[..] else {
            return Err(Fault::new("EOrder:Unknown order"));
        };
        let pair = session.shell.machine.read(|venue| {
            let mut pairs = pairs(venue).into_iter();
            pairs.find(|pair| pair.market == market)
        })?;
        let pair = pair.ok_or(Fault::new("EQuery:Unknown asset pair"))?;
        if session
            .get("pair")
            .is_some_and(|name| !pair.is_called(name))
        {
            return Err(Fault::argument("pair"));
        }
        let volume = session.get("order_qty").map(|text| {
            order_fields::volume(text, &pair).ok_or_else(|| Fault::argument("order_qty"))
        });
        let price = session.get("limit_price");
        let price = price.map(|text| {
            let ticks: Result<Price, _> = order_fields::price(text, &pair);
            ticks.map_err(|_| Fault::argument("limit_price"))
        });
        let amend = KrakenAmend {
            order,
            volume: volume.transpose()?,
            price: price.transpose()?,
            post_only: flag(&session.parameters, "post_only")?,
            deadline: deadline(&session.parameters)?,
            left_in_lots: false,
        };
        let age_ms = session.now().ms_since(since);
        count(session, market, amend_cost(age_ms))?;
        Ok(amend)
    };
    let amend = session.checked(read())?;
    match session.execute(KrakenAction::Amend(Box::new(amend)))? {
        KrakenReply::Amended(number) => {
            Ok(json!({"amend_id": id::encode(id::Kind::Amend, number)}))
        }
        _ => Err(Fault::internal()),
    }
}

/// CancelOrder.
pub(super) fn cancel(session: &Session<'_>) -> Result<Value, Fault> {
    let read = || {
        order_fields::check_names(&session.parameters, &[&OF_CANCELS])?;
        let named = one(session)?;
        if session.get("pair").is_some() {
            let market = pair(session)?.market;
            let account = session.key.account;
            let open = session
                .shell
                .machine
                .read(|venue| venue.kraken_open_since(account, &named))?;
            if open.iter().any(|(of, _)| *of != market) {
                return Err(Fault::argument("pair"));
            }
        }
        Ok(named)
    };
    let order = session.checked(read())?;
    cancel_orders(session, vec![order])
}

/// CancelOrderBatch. What names no order that could exist is like an order that has ended: the others are cancelled.
pub(super) fn cancel_batch(session: &Session<'_>) -> Result<Value, Fault> {
    let read = || {
        order_fields::check_names(&session.parameters, &[&OF_CANCEL_BATCHES])?;
        let txids = named_in(session, "orders", "txid")?;
        let names = named_in(session, "cl_ord_ids", "cl_ord_id")?;
        if !(1..=CANCELS_MAX).contains(&(txids.len() + names.len())) {
            return Err(Fault::argument("orders"));
        }
        let txids = txids
            .into_iter()
            .filter_map(|text| order_fields::named(text).ok());
        let names = names.into_iter();
        let names = names.filter_map(|text| order_fields::client_id(text).ok());
        Ok(txids.chain(names.map(OrderRef::ClientId)).collect())
    };
    let orders = session.checked(read())?;
    cancel_orders(session, orders)
}

/// Every text once that a list has, or the objects of a list in one member.
fn named_in<'a>(
    session: &'a Session<'_>,
    list: &str,
    member: &str,
) -> Result<BTreeSet<&'a str>, Fault> {
    let mut named: BTreeSet<_> = session.parameters.list(list).into_iter().collect();
    for entry in session.parameters.entries(list) {
        order_fields::check_names(entry, &[&[member]])?;
        named.insert(entry.get(member).ok_or_else(|| Fault::argument(list))?);
    }
    Ok(named)
}

/// CancelAll.
pub(super) fn cancel_all(session: &Session<'_>) -> Result<Value, Fault> {
    let names = order_fields::check_names(&session.parameters, &[&["nonce"]]);
    session.checked(names)?;
    let account = session.key.account;
    let open = session
        .shell
        .machine
        .read(|venue| venue.kraken_all_open_since(account))?;
    let reply = session.execute(KrakenAction::CancelAll)?;
    count_cancels(session, open);
    cancelled(&reply)
}

fn cancel_orders(session: &Session<'_>, orders: Vec<OrderRef>) -> Result<Value, Fault> {
    let account = session.key.account;
    let open: Vec<(MarketId, VenueTime)> = session.shell.machine.read(|venue| {
        let named = orders.iter();
        named
            .flat_map(|order| venue.kraken_open_since(account, order))
            .collect()
    })?;
    let reply = session.execute(KrakenAction::Cancel(orders))?;
    count_cancels(session, open);
    cancelled(&reply)
}

/// Counts cancels of orders that were open since then.
fn count_cancels(session: &Session<'_>, open: Vec<(MarketId, VenueTime)>) {
    let now_ms = session.shell.clock.monotonic_ms();
    for (market, since) in open {
        let age_ms = session.now().ms_since(since);
        let counters = &session.kraken.counters;
        counters.cancel(session.key.account, market, age_ms, now_ms);
    }
}

fn cancelled(reply: &KrakenReply) -> Result<Value, Fault> {
    match reply {
        KrakenReply::Cancelled { count, pending } if *pending => {
            Ok(json!({"count": count, "pending": true}))
        }
        KrakenReply::Cancelled { count, .. } => Ok(json!({ "count": count })),
        _ => Err(Fault::internal()),
    }
}

/// CancelAllOrdersAfter.
pub(super) fn cancel_after(session: &Session<'_>) -> Result<Value, Fault> {
    let read = || {
        order_fields::check_names(&session.parameters, &[&["nonce", "timeout"]])?;
        let timeout = session.get("timeout").and_then(|text| text.parse().ok());
        timeout.ok_or_else(|| Fault::argument("timeout"))
    };
    let timeout_s = session.checked(read())?;
    match session.execute(KrakenAction::CancelAfter { timeout_s })? {
        KrakenReply::CancelAfter { now, trigger } => {
            // A timer that was ended has no time: the exchange answers 0.
            let trigger = trigger.map_or_else(|| "0".to_owned(), |at| time::rfc3339(at.0));
            Ok(json!({"currentTime": time::rfc3339(now.0), "triggerTime": trigger}))
        }
        _ => Err(Fault::internal()),
    }
}

/// The order that a request names, by `txid` or `cl_ord_id`.
fn one(session: &Session<'_>) -> Result<OrderRef, Fault> {
    match (session.get("txid"), session.get("cl_ord_id")) {
        (Some(text), None) => order_fields::named(text),
        (None, Some(text)) => order_fields::client_id(text).map(OrderRef::ClientId),
        (None, None) | (Some(_), Some(_)) => Err(Fault::argument("txid")),
    }
}

/// The pair of a request.
fn pair(session: &Session<'_>) -> Result<Pair, Fault> {
    let parameters: &Parameters = &session.parameters;
    let name = parameters
        .get("pair")
        .ok_or_else(|| Fault::argument("pair"))?;
    let found = session.shell.machine.read(|venue| {
        let mut pairs = pairs(venue).into_iter();
        pairs.find(|pair| pair.is_called(name))
    })?;
    found.ok_or(Fault::new("EQuery:Unknown asset pair"))
}
