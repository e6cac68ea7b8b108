//! Requests of Kraken's interface in an account's history.

use cambist_core::Hash;
use cambist_venue::{
    KrakenAction, KrakenAdded, KrakenCall, KrakenError, KrakenOrderType, KrakenReply,
    NewKrakenOrder, OrderRef, Refusal, Response, Trade, kraken_hash,
};
use serde_json::{Value, json};

/// The request itself.
pub fn described(call: &KrakenCall) -> Value {
    let mut described =
        json!({"what": "kraken", "nonce": call.nonce, "action": call.action.name()});
    if let KrakenAction::Amend(amend) = &call.action {
        let client_id = match &amend.order {
            OrderRef::ClientId(id) => Some(id),
            OrderRef::Number(_) | OrderRef::UserRef(_) => None,
        };
        described["client_id"] = json!(client_id);
        described["price"] = json!(amend.price.map(|price| price.0));
        described["volume"] = json!(amend.volume.map(|volume| volume.to_string()));
    }
    described
}

/// Why the whole request was refused.
pub fn refusal(answer: &Result<Response, Refusal>) -> Option<String> {
    match answer {
        Err(refusal) => Some(format!("{:?}", refusal.reason)),
        Ok(Response::Kraken(reply)) => match reply.as_ref() {
            KrakenReply::Refused(error) => Some(format!("{error:?}")),
            _ => None,
        },
        Ok(_) => None,
    }
}

/// Its orders, each with the reason of a refusal; none if they were only checked.
pub fn orders<'a>(
    call: &'a KrakenCall,
    answer: &Result<Response, Refusal>,
) -> Vec<(&'a NewKrakenOrder, Option<String>)> {
    let KrakenAction::Add {
        orders,
        validate: false,
        ..
    } = &call.action
    else {
        return Vec::new();
    };
    let whole = refusal(answer);
    let each = added(answer);
    let reason = |at: usize| {
        let of_order = each.get(at).and_then(|added| added.as_ref().err());
        whole
            .clone()
            .or_else(|| of_order.map(|error| format!("{error:?}")))
    };
    let orders = orders.iter().enumerate();
    orders.map(|(at, order)| (order, reason(at))).collect()
}

/// The immediate trades of its orders, each with the hash of the order.
pub fn trades<'a>(
    call: &'a KrakenCall,
    answer: &'a Result<Response, Refusal>,
) -> impl Iterator<Item = (Hash, &'a Trade)> {
    let accepted = added(answer).iter().flatten();
    let numbered = accepted.filter_map(|order| Some((order.number?, &order.trades)));
    numbered.flat_map(|(number, trades)| {
        let hash = kraken_hash(call.account, number);
        trades.iter().map(move |trade| (hash, trade))
    })
}

/// An order as it was sent. Its hash is not known before the exchange gives it a number.
pub fn submitted(call: &KrakenCall, order: &NewKrakenOrder) -> Value {
    let (kind, price) = match order.order_type {
        KrakenOrderType::Market => ("market", None),
        KrakenOrderType::Limit(price) => ("limit", Some(price)),
        KrakenOrderType::PostOnly(price) => ("post_only", Some(price)),
        KrakenOrderType::ImmediateOrCancel(price) => ("immediate_or_cancel", Some(price)),
    };
    json!({
        "what": "submit",
        "hash": null,
        "client_id": order.client_id,
        "nonce": call.nonce,
        "side": order.side.name(),
        "kind": kind,
        "price": price.map(|price| price.0),
        "volume": order.volume.to_string(),
        "valid_until_s": order.expires_s,
    })
}

fn added(answer: &Result<Response, Refusal>) -> &[Result<KrakenAdded, KrakenError>] {
    match answer {
        Ok(Response::Kraken(reply)) => match reply.as_ref() {
            KrakenReply::Added(added) => added,
            _ => &[],
        },
        Ok(_) | Err(_) => &[],
    }
}
