//! Reports of orders.
//!
//! | of the engine | of Kraken |
//! |---|---|
//! | key and client order id | `cl_ord_id` if it is one of this program's, else the identifier of the order |
//! | market | the listed pair of `descr.pair`, else that text |
//! | amounts | `vol`, and `vol` at `descr.price` |
//! | fills | the trades in `trades`, by the ledger ([`crate::fills`]); their base has to be `vol_exec` |
//! | times | `opentm`, `closetm`, and `expiretm` unless it is 0 |
//!
//! Amounts of an order on a pair that is not listed, and of one on margin, are not those of tokens that are traded
//! here: they have 8 decimals, nothing is computed from them, and its fills are left to the balances.

use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::order::{OrderReport, OrderStatus};
use cambist_core::token::AMOUNT_MAX;
use cambist_core::{Amount, ClientOrderId, Hash, Side, VenueTime};
use cambist_protocol::number::quoted;

use crate::amount::{SHOWN_DECIMALS, amount, shown, time};
use crate::fills::{NoFills, Trades};
use crate::json::{DecodeError, Json, Object};
use crate::listing::{ListedPair, Listing};
use crate::order_key::{client_order_id, key_of, key_of_txid};

/// Longest word of a report.
const WORD_BYTES_MAX: usize = 64;

/// An order as a list shows it, without its fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedOrder {
    report: OrderReport,
    /// Name of the pair, if its fills are booked here.
    pair: Option<String>,
    executed: Amount,
    trades: Option<Vec<String>>,
    ended: Option<VenueTime>,
}

impl ListedOrder {
    /// Its key.
    pub const fn key(&self) -> Hash {
        self.report.hash
    }

    /// Our id, if it is an own order.
    pub const fn client_id(&self) -> Option<ClientOrderId> {
        self.report.client_id
    }

    /// When it was opened.
    pub const fn opened(&self) -> VenueTime {
        self.report.valid_since
    }

    /// When it ended, if it has.
    pub const fn ended(&self) -> Option<VenueTime> {
        self.ended
    }

    /// The report with exact fills; or the trades that the ledger has to show first.
    pub fn complete(&self, listing: &Listing, trades: &mut Trades) -> Result<OrderReport, NoFills> {
        let pair = self.pair.as_deref().and_then(|name| listing.pair(name));
        let Some(pair) = pair else {
            return Ok(self.report.clone());
        };
        let none = Vec::new();
        let ids = match &self.trades {
            Some(ids) => ids,
            None if self.executed == 0 => &none,
            None => {
                let text = "it was executed, and its trades are not shown";
                return Err(NoFills::Contradiction(text.to_owned()));
            }
        };
        let fills = trades.fills(pair, self.report.side, self.executed, ids)?;
        Ok(OrderReport {
            base_filled: fills.base,
            quote_filled: fills.quote,
            fee: fills.fee,
            ..self.report.clone()
        })
    }
}

/// The orders in the field `name` of a result (`open`, `closed`), in their order, and how many the service counts.
pub fn page(
    result: &Json,
    name: &str,
    listing: &Listing,
) -> Result<(Vec<ListedOrder>, Option<u32>), DecodeError> {
    let fields = result.object()?;
    let orders = fields.required(name, |orders| all(orders, listing))?;
    Ok((orders, fields.optional("count", Json::integer)?))
}

/// The orders of an object by identifier, in their order.
pub fn all(orders: &Json, listing: &Listing) -> Result<Vec<ListedOrder>, DecodeError> {
    let read = |(txid, order): &(String, Json)| {
        order_of(txid, order, listing).map_err(|error| error.within(txid))
    };
    orders.object()?.entries().iter().map(read).collect()
}

fn word(json: &Json) -> Result<&str, DecodeError> {
    json.text(WORD_BYTES_MAX)
}

fn order_of(txid: &str, order: &Json, listing: &Listing) -> Result<ListedOrder, DecodeError> {
    let fields = order.object()?;
    let by_txid = key_of_txid(txid).ok_or_else(|| DecodeError::new("is not an identifier"))?;
    let client_id = fields
        .optional("cl_ord_id", word)?
        .and_then(client_order_id);
    let description = fields.required("descr", Json::object)?;
    let described = |error: DecodeError| error.within("descr");
    let name = description.required("pair", word).map_err(described)?;
    let leverage = description.optional("leverage", word).map_err(described)?;
    let is_margin = leverage.is_some_and(|leverage| leverage != "none");
    let pair = listing.pair(name).filter(|_| !is_margin);
    let side = description.required("type", side).map_err(described)?;
    let units = |json| pair.map_or_else(|| shown(json), |pair| amount(json, pair.base.decimals));
    let base_amount = fields.required("vol", units)?;
    let executed = fields.required("vol_exec", units)?;
    let quote_amount = description.required("price", |price| value(price, base_amount, side, pair));
    let quote_amount = quote_amount.map_err(described)?;
    let expires = fields.required("expiretm", time)?;
    let report = OrderReport {
        hash: client_id.and_then(key_of).unwrap_or(by_txid),
        client_id,
        market: pair
            .map_or_else(|| quoted(name, WORD_BYTES_MAX), |pair| pair.market.clone())
            .into(),
        side,
        status: status(fields)?,
        base_amount,
        quote_amount,
        base_filled: 0,
        quote_filled: 0,
        fee: 0,
        valid_until_s: match expires.0.div_ceil(1_000) {
            0 => u32::MAX,
            seconds => u32::try_from(seconds).unwrap_or(u32::MAX),
        },
        valid_since: fields.required("opentm", time)?,
    };
    let trades = fields.optional("trades", |ids| {
        let ids = ids.list()?.iter().map(|id| Ok(word(id)?.to_owned()));
        ids.collect::<Result<Vec<_>, DecodeError>>()
    })?;
    Ok(ListedOrder {
        report,
        pair: pair.map(|pair| pair.market.clone()),
        executed,
        trades,
        ended: fields.optional("closetm", time)?.filter(|at| at.0 > 0),
    })
}

fn side(json: &Json) -> Result<Side, DecodeError> {
    match word(json)? {
        "buy" => Ok(Side::Buy),
        "sell" => Ok(Side::Sell),
        _ => Err(json.is_not("buy or sell")),
    }
}

fn status(fields: Object<'_>) -> Result<OrderStatus, DecodeError> {
    Ok(match fields.required("status", word)? {
        "pending" => OrderStatus::Waiting,
        "open" => OrderStatus::Processing,
        "closed" => OrderStatus::Processed,
        "canceled" => OrderStatus::Cancelled,
        "expired" => OrderStatus::Expired,
        _ => OrderStatus::Other,
    })
}

/// What the base is worth at the price: rounded up for a bid, down for an ask. Only prices of orders of others can need
/// it.
fn value(
    price: &Json,
    base: Amount,
    side: Side,
    pair: Option<&ListedPair>,
) -> Result<Amount, DecodeError> {
    let (ticks, decimals, quote_decimals) = match pair {
        Some(pair) => {
            let decimals = pair.pair.price_decimals;
            let ticks = amount(price, decimals)?;
            (
                ticks,
                u32::from(decimals) + u32::from(pair.base.decimals),
                pair.quote.decimals,
            )
        }
        None => (shown(price)?, 2 * u32::from(SHOWN_DECIMALS), SHOWN_DECIMALS),
    };
    // base / 10^base decimals · ticks / 10^price decimals · 10^quote decimals
    let (down, up) = (decimals, u32::from(quote_decimals));
    let power = |exponent: u32| 10_u128.checked_pow(exponent);
    let (factor, divisor) = (
        power(up.saturating_sub(down)),
        power(down.saturating_sub(up)),
    );
    let value = factor.zip(divisor).and_then(|(factor, divisor)| {
        let base = base.checked_mul(factor)?;
        match side {
            Side::Buy => mul_div_ceil(base, ticks, divisor),
            Side::Sell => mul_div_floor(base, ticks, divisor),
        }
    });
    let value = match pair {
        Some(_) => value.filter(|value| *value <= AMOUNT_MAX),
        None => Some(value.unwrap_or(AMOUNT_MAX).min(AMOUNT_MAX)),
    };
    value.ok_or_else(|| DecodeError::new("the value is too large"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::fills::ledger_page;
    use crate::json::parse;
    use crate::listing::tests::listing;
    use crate::order_key::{cl_ord_id, txid};
    use cambist_core::{ClientOrderId, StrategyId};

    /// Fields of the published examples; the name is one of ours.
    const ORDER: &str = r#"{"refid":null,"userref":0,"cl_ord_id":"deadbeef-b28e-4c07-8000-00000001e240",
        "status":"open","opentm":1688666559.8974,"starttm":0,"expiretm":1688666579,
        "descr":{"pair":"XBTUSD","type":"buy","ordertype":"limit","price":"37500.0","price2":"0","leverage":"none",
        "order":"buy 1.25000000 XBTUSD @ limit 37500.0","close":""},"vol":"1.25000000","vol_exec":"0.37500000",
        "cost":"14062.5","fee":"22.50","price":"37500.0","stopprice":"0.00000","limitprice":"0.00000","misc":"",
        "oflags":"fciq,post","trades":["TCCCTY-WE2O6-P3NB37"],"new":{}}"#;

    fn read(order: &str) -> Result<ListedOrder, DecodeError> {
        let text = format!(r#"{{"open":{{"OQCLML-BW3P3-BUCMWZ":{order}}}}}"#);
        let (mut orders, count) = page(&parse(text.as_bytes()).unwrap(), "open", &listing())?;
        assert_eq!((orders.len(), count), (1, None));
        Ok(orders.remove(0))
    }

    fn known() -> Trades {
        let entry = |id: &str, asset: &str, amount: &str, fee: &str| {
            format!(
                r#""{id}":{{"refid":"TCCCTY-WE2O6-P3NB37","time":1.5,"type":"trade","asset":"{asset}","amount":"{amount}","fee":"{fee}"}}"#
            )
        };
        let base = entry("L1", "XXBT", "0.3750000000", "0.0000000000");
        let quote = entry("L2", "ZUSD", "-14062.5000", "22.5001");
        let text = format!(r#"{{"ledger":{{{base},{quote}}}}}"#);
        let mut trades = Trades::default();
        let page = ledger_page(&parse(text.as_bytes()).unwrap(), &listing());
        trades.keep(page.unwrap()).unwrap();
        trades
    }

    #[test]
    fn an_own_order_is_known_by_its_name_and_its_fills_are_those_of_the_ledger() {
        let order = read(ORDER).unwrap();
        let id = ClientOrderId {
            instance: 0xdead_beef,
            strategy: StrategyId(7),
            number: 123_456,
        };
        assert_eq!(Some(order.key()), key_of(id));
        assert_eq!(order.client_id(), Some(id));
        assert_eq!(order.opened(), VenueTime(1_688_666_559_897));
        let missing = NoFills::Missing(vec!["TCCCTY-WE2O6-P3NB37".to_owned()]);
        assert_eq!(
            order.complete(&listing(), &mut Trades::default()),
            Err(missing)
        );
        let report = order.complete(&listing(), &mut known()).unwrap();
        let expected = OrderReport {
            hash: key_of(id).unwrap(),
            client_id: Some(id),
            market: "XBT-USD".into(),
            side: Side::Buy,
            status: OrderStatus::Processing,
            base_amount: 12_500_000_000,
            quote_amount: 468_750_000,
            base_filled: 3_750_000_000,
            quote_filled: 140_625_000,
            fee: 225_001,
            valid_until_s: 1_688_666_579,
            valid_since: VenueTime(1_688_666_559_897),
        };
        assert_eq!(report, expected);
    }

    #[test]
    fn states_and_ends_are_read() {
        let of = |from: &str, to: &str| read(&ORDER.replacen(from, to, 1)).unwrap().report;
        for (word, status) in [
            ("pending", OrderStatus::Waiting),
            ("closed", OrderStatus::Processed),
            ("canceled", OrderStatus::Cancelled),
            ("expired", OrderStatus::Expired),
            ("frozen", OrderStatus::Other),
        ] {
            assert_eq!(
                of("\"open\"", &format!("\"{word}\"")).status,
                status,
                "{word}"
            );
        }
        let ended = |closed: &str| {
            let order = format!(r#"{{"closetm":{closed},{}"#, &ORDER[1..]);
            read(&order).unwrap().ended()
        };
        assert_eq!([ended("0"), ended("0.001")], [None, Some(VenueTime(1))]);
        assert_eq!(of("1688666579", "0").valid_until_s, u32::MAX);
        assert_eq!(
            of("1688666579", "1688666579.2").valid_until_s,
            1_688_666_580
        );
    }

    #[test]
    fn orders_of_others_are_known_by_their_identifier() {
        let foreign = ORDER.replace("deadbeef-b28e", "deadbeef-b28f");
        for order in [
            foreign.clone(),
            foreign.replace("\"cl_ord_id\"", "\"other\""),
            ORDER.replace("\"deadbeef-b28e-4c07-8000-00000001e240\"", "null"),
        ] {
            let order = read(&order).unwrap();
            assert_eq!(
                (order.report.client_id, cl_ord_id(order.key())),
                (None, None)
            );
            assert_eq!(txid(order.key()).as_deref(), Some("OQCLML-BW3P3-BUCMWZ"));
        }
        // Without a word of margin it is none.
        let plain = read(&ORDER.replace("\"leverage\":\"none\",", "")).unwrap();
        assert_eq!(plain, read(ORDER).unwrap());
        // On a pair that is not listed, and on margin: no fills are awaited.
        for (from, to, market) in [
            ("XBTUSD\",\"type", "XDGUSD\",\"type", "XDGUSD"),
            ("\"leverage\":\"none\"", "\"leverage\":\"5:1\"", "XBTUSD"),
        ] {
            let order = read(&ORDER.replacen(from, to, 1)).unwrap();
            let report = order.complete(&listing(), &mut Trades::default()).unwrap();
            assert_eq!(
                (
                    report.market.as_str(),
                    report.base_amount,
                    report.quote_amount,
                    report.base_filled
                ),
                (market, 125_000_000, 4_687_500_000_000, 0)
            );
        }
    }

    /// The published example of closed orders, on pairs of which one is listed.
    #[test]
    fn the_published_list_is_read_in_its_order() {
        let text = r#"{"closed":{
            "OT5JQ3-MNZQI-GDXY7O":{"refid":null,"userref":1000,"status":"canceled","reason":"User requested",
            "opentm":1550101012.7873,"closetm":1550101338.364,"starttm":0,"expiretm":0,
            "descr":{"pair":"DASHUSD","type":"buy","ordertype":"limit","price":"1.000","price2":"0",
            "leverage":"none","order":"buy 10.00000000 DASHUSD @ limit 1.000","close":""},
            "vol":"10.00000000","vol_exec":"0.00000000","cost":"0.000000","fee":"0.000000","price":"0.000000",
            "stopprice":"0.000000","limitprice":"0.000000","misc":"","oflags":"fciq"},
            "OFESQG-RLWJQ-ZV5AME":{"refid":null,"userref":2000,"status":"canceled","reason":"User requested",
            "opentm":1550101013.2046,"closetm":1550101337.6203,"starttm":0,"expiretm":0,
            "descr":{"pair":"XBTUSD","type":"buy","ordertype":"limit","price":"1.0","price2":"0","leverage":"none",
            "order":"buy 10.00000000 XBTUSD @ limit 1.0","close":""},
            "vol":"10.00000000","vol_exec":"0.00000000","cost":"0.00000","fee":"0.00000","price":"0.00000",
            "stopprice":"0.00000","limitprice":"0.00000","misc":"","oflags":"fciq"}},"count":3}"#;
        let (orders, count) = page(&parse(text.as_bytes()).unwrap(), "closed", &listing()).unwrap();
        assert_eq!((orders.len(), count), (2, Some(3)));
        let mut trades = Trades::default();
        let reports: Vec<_> = orders
            .iter()
            .map(|order| order.complete(&listing(), &mut trades).unwrap())
            .collect();
        assert_eq!(
            txid(reports[0].hash).as_deref(),
            Some("OT5JQ3-MNZQI-GDXY7O")
        );
        assert_eq!(
            (reports[0].market.as_str(), reports[1].market.as_str()),
            ("DASHUSD", "XBT-USD")
        );
        assert_eq!(
            (reports[1].base_amount, reports[1].quote_amount),
            (100_000_000_000, 100_000)
        );
        assert!(
            reports
                .iter()
                .all(|report| report.status == OrderStatus::Cancelled && report.base_filled == 0)
        );
    }

    #[test]
    fn values_are_rounded_against_the_other_side() {
        let of = |vol: &str, side: &str| {
            let order = ORDER.replacen("\"vol\":\"1.25000000\"", &format!("\"vol\":\"{vol}\""), 1);
            let order = order.replacen("\"buy\"", &format!("\"{side}\""), 1);
            read(&order).unwrap().report.quote_amount
        };
        assert_eq!(
            [of("0.0000000001", "buy"), of("0.0000000001", "sell")],
            [1, 0]
        );
        assert_eq!([of("1", "buy"), of("1", "sell")], [375_000_000; 2]);
    }

    #[test]
    fn hostile_reports_are_refused_with_the_field() {
        for (from, to, field) in [
            (
                "\"1.25000000\",\"vol_exec\"",
                "\"-1.25\",\"vol_exec\"",
                "vol",
            ),
            ("\"1.25000000\",\"vol_exec\"", "1.25,\"vol_exec\"", "vol"),
            (
                "\"1.25000000\",\"vol_exec\"",
                "\"1.25000000001\",\"vol_exec\"",
                "vol",
            ),
            (
                "\"1.25000000\",\"vol_exec\"",
                "\"9999999999999999999999999999\",\"vol_exec\"",
                "vol",
            ),
            (
                "\"price\":\"37500.0\",\"price2\"",
                "\"price\":\"9999999999999999999999999.0\",\"price2\"",
                "descr.price",
            ),
            ("\"0.37500000\"", "null", "vol_exec"),
            ("\"type\":\"buy\"", "\"type\":\"hold\"", "descr.type"),
            ("\"type\":\"buy\",", "", "descr.type"),
            ("\"pair\":\"XBTUSD\",", "", "descr.pair"),
            (
                "\"price\":\"37500.0\",\"price2\"",
                "\"price\":\"+5\",\"price2\"",
                "descr.price",
            ),
            ("1688666559.8974", "\"1688666559\"", "opentm"),
            ("1688666559.8974", "-1", "opentm"),
            ("1688666579", "1e9", "expiretm"),
            ("\"open\"", "7", "status"),
            ("[\"TCCCTY-WE2O6-P3NB37\"]", "[7]", "trades"),
            (
                "[\"TCCCTY-WE2O6-P3NB37\"]",
                "\"TCCCTY-WE2O6-P3NB37\"",
                "trades",
            ),
        ] {
            let error = read(&ORDER.replacen(from, to, 1)).unwrap_err();
            let path = format!("open.OQCLML-BW3P3-BUCMWZ.{field}");
            assert!(error.field.starts_with(&path), "{to}: {error}");
        }
        let of = |text: &str| page(&parse(text.as_bytes()).unwrap(), "closed", &listing());
        for text in [
            "{}",
            "[]",
            r#"{"closed":[]}"#,
            r#"{"open":{}}"#,
            r#"{"closed":{},"count":-1}"#,
            r#"{"closed":{"":{}}}"#,
        ] {
            assert!(of(text).is_err(), "{text}");
        }
        assert_eq!(of(r#"{"closed":{},"count":7}"#), Ok((Vec::new(), Some(7))));
        // Executed, and no word of a trade.
        let order = read(&ORDER.replacen("\"trades\"", "\"traded\"", 1)).unwrap();
        assert!(matches!(
            order.complete(&listing(), &mut known()),
            Err(NoFills::Contradiction(_))
        ));
    }
}
