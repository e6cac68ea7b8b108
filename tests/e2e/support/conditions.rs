//! Conditions on the exchange's books and a daemon's store that hold under all faults.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::OrderStatus;

use super::{Books, Keeping};

/// Every order at the exchange must be in the store, by id and by hash, and only once.
pub fn assert_known(books: &Books, keeping: &Keeping, when: &str) {
    let mut seen = BTreeSet::new();
    for order in &books.orders {
        let id = order
            .client_id
            .unwrap_or_else(|| panic!("{when}: not ours: {order:?}"))
            .to_string();
        let intent = keeping
            .0
            .get(&id)
            .unwrap_or_else(|| panic!("{when}: the store does not know {id}"));
        assert_eq!(
            intent.hash, order.hash.0,
            "{when}: {id} at the exchange is another order"
        );
        assert!(
            seen.insert(id.clone()),
            "{when}: {id} is at the exchange twice"
        );
    }
}

/// No storage id of a token is that of two intents.
pub fn assert_slots(keeping: &Keeping) {
    let mut slots = BTreeMap::new();
    for (id, intent) in &keeping.0 {
        if let Some(other) = slots.insert((intent.sell_token, intent.storage_id), id) {
            panic!("{id} and {other} share storage id {}", intent.storage_id);
        }
    }
}

/// Every intent is at the exchange with the same end, or has an end of an order that never arrived.
pub fn assert_ends(books: &Books, keeping: &Keeping) {
    let at_exchange: BTreeMap<_, _> = books
        .orders
        .iter()
        .map(|order| (order.client_id.unwrap().to_string(), order))
        .collect();
    for (id, intent) in &keeping.0 {
        let ending = intent
            .ending
            .as_ref()
            .unwrap_or_else(|| panic!("{id} has no end"));
        match at_exchange.get(id) {
            None => assert!(
                ["never_sent", "fenced", "rejected"].contains(&ending.end.as_str()),
                "{id} is not at the exchange, but ended as {ending:?}"
            ),
            Some(order) => {
                let end = match order.status {
                    OrderStatus::Processed => "filled",
                    OrderStatus::Cancelled => "cancelled",
                    OrderStatus::Expired => "expired",
                    OrderStatus::Failed => "failed_late",
                    open => panic!("{id} is still {open:?}"),
                };
                assert_eq!(ending.end, end, "{id}: {order:?}");
                let booked = (ending.base, ending.quote, ending.fee);
                assert_eq!(
                    booked,
                    (order.base_filled, order.quote_filled, order.fee),
                    "{id}"
                );
            }
        }
    }
}

/// The same id always had the same bytes.
pub fn assert_same_bytes(submits: &[String]) {
    let mut bodies = BTreeMap::new();
    for body in submits {
        let order: serde_json::Value = serde_json::from_str(body).unwrap();
        let id = order["clientOrderId"].as_str().unwrap().to_owned();
        let first = bodies.entry(id).or_insert(body);
        assert_eq!(*first, body, "one id, two texts");
    }
}
