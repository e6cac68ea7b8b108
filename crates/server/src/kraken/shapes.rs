//! Orders, trades and ledger entries as JSON.

use cambist_core::venue::FeeToken;
use cambist_core::{Amount, OrderKind, Price, Side};
use cambist_kraken::id::{self, Kind};
use cambist_kraken::time::seconds;
use cambist_venue::{KrakenOrderView, KrakenStatus, KrakenTrade, LedgerCause, LedgerEntry};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::names::{Asset, Pair};

/// Entries by identifier, newest first: a JSON object in this order.
pub(super) struct Entries(pub Vec<(String, Value)>);

impl Serialize for Entries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Result of a request.
pub(super) enum Answer {
    Value(Value),
    Entries(Entries),
    /// Entries under a name, with the number of all that match.
    Page {
        name: &'static str,
        entries: Entries,
        count: Option<usize>,
    },
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::Entries(entries) => entries.serialize(serializer),
            Self::Page {
                name,
                entries,
                count,
            } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry(name, entries)?;
                if let Some(count) = count {
                    map.serialize_entry("count", count)?;
                }
                map.end()
            }
        }
    }
}

/// `buy 1.25 XBTUSD @ limit 37500.0`.
pub(super) fn described(pair: &Pair, side: Side, volume: Amount, price: Option<Price>) -> String {
    let (side, volume) = (side_name(side), pair.volume(volume));
    let name = &pair.altname;
    match price {
        Some(price) => format!("{side} {volume} {name} @ limit {}", pair.price(price)),
        None => format!("{side} {volume} {name} @ market"),
    }
}

pub(super) const fn side_name(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}

const fn type_name(is_market_order: bool) -> &'static str {
    if is_market_order { "market" } else { "limit" }
}

/// An order; `trades` are the numbers of its trades if they were asked for.
pub(super) fn order(pair: &Pair, view: &KrakenOrderView, trades: Option<&[u64]>) -> Value {
    let price = (!view.is_market_order).then_some(view.price);
    let none = pair.price(Price(0));
    let flags = match (view.fee_in, view.kind) {
        (FeeToken::Quote, OrderKind::MakerOnly) => "fciq,post",
        (FeeToken::Quote, _) => "fciq",
        (FeeToken::Bought, OrderKind::MakerOnly) => "fcib,post",
        (FeeToken::Bought, _) => "fcib",
    };
    let fee = if view.fee_in.is_base(view.side) {
        pair.volume(view.fee)
    } else {
        pair.cost(view.fee)
    };
    let is_partial = view.base_filled > 0 && view.base_filled < view.volume;
    let misc = [(is_partial, "partial"), (view.is_amended, "amended")];
    let misc: Vec<_> = misc
        .iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, word)| *word)
        .collect();
    let mut shown = json!({
        "refid": null,
        "userref": view.user_ref,
        "status": match view.status {
            KrakenStatus::Pending => "pending",
            KrakenStatus::Open => "open",
            KrakenStatus::Closed => "closed",
            KrakenStatus::Canceled => "canceled",
            KrakenStatus::Expired => "expired",
        },
        "opentm": seconds(view.opened.0),
        "starttm": 0,
        "expiretm": view.expires.map_or(0, cambist_core::VenueTime::as_s),
        "descr": {
            "pair": pair.altname,
            "type": side_name(view.side),
            "ordertype": type_name(view.is_market_order),
            "price": price.map_or_else(|| "0".to_owned(), |price| pair.price(price)),
            "price2": "0",
            "leverage": "none",
            "order": described(pair, view.side, view.volume, price),
            "close": "",
        },
        "vol": pair.volume(view.volume),
        "vol_exec": pair.volume(view.base_filled),
        "cost": pair.cost(view.quote_filled),
        "fee": fee,
        "price": pair.average(view.base_filled, view.quote_filled),
        "stopprice": none,
        "limitprice": none,
        "misc": misc.join(","),
        "oflags": flags,
    });
    if let Some(id) = &view.client_id {
        shown["cl_ord_id"] = json!(id);
    }
    if let Some(closed) = view.closed {
        shown["closetm"] = json!(seconds(closed.0));
        shown["reason"] = json!(view.reason);
    }
    if let Some(trades) = trades.filter(|trades| !trades.is_empty()) {
        let texts = trades.iter().map(|number| id::encode(Kind::Trade, *number));
        shown["trades"] = json!(texts.collect::<Vec<_>>());
    }
    shown
}

/// A trade; with the identifiers of its ledger entries if they were asked for.
pub(super) fn trade(pair: &Pair, trade: &KrakenTrade, with_ledgers: bool) -> Value {
    let fee = if trade.fee_is_base {
        pair.base.amount(trade.fee)
    } else {
        pair.quote.amount(trade.fee)
    };
    let mut shown = json!({
        "ordertxid": id::encode(Kind::Order, trade.order),
        "postxid": "",
        "pair": pair.id,
        "time": seconds(trade.at.0),
        "type": side_name(trade.side),
        "ordertype": type_name(trade.is_market_order),
        "price": pair.price(trade.price),
        "cost": pair.quote.amount(trade.quote),
        "fee": fee,
        "vol": pair.volume(trade.base),
        "margin": "0.00000",
        "leverage": "0",
        "misc": "",
        "trade_id": trade.number,
        "maker": trade.is_maker,
    });
    if with_ledgers {
        let texts = trade.ledgers.map(|number| id::encode(Kind::Ledger, number));
        shown["ledgers"] = json!(texts);
    }
    shown
}

/// A ledger entry, to the unit.
pub(super) fn ledger(asset: &Asset, entry: &LedgerEntry) -> Value {
    let (kind, reference) = match entry.cause {
        LedgerCause::Trade(number) => ("trade", id::encode(Kind::Trade, number)),
        LedgerCause::Deposit => ("deposit", id::encode(Kind::Flow, entry.number)),
        LedgerCause::Withdrawal => ("withdrawal", id::encode(Kind::Flow, entry.number)),
    };
    let sign = if entry.is_debit { "-" } else { "" };
    json!({
        "refid": reference,
        "time": seconds(entry.at.0),
        "type": kind,
        "subtype": "",
        "aclass": "currency",
        "asset": asset.id,
        "amount": format!("{sign}{}", asset.amount(entry.amount)),
        "fee": asset.amount(entry.fee),
        "balance": asset.amount(entry.balance),
    })
}
