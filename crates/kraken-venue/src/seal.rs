//! The bytes of an order: the form body of `AddOrder` with its nonce and without a signature, which is computed from
//! them at each transmission.

use cambist_core::order::UnsignedOrder;
use cambist_core::{Amount, ClientOrderId, Hash, MarketSpec, OrderKind, Price, Qty, Side};
use cambist_kraken::parameters::{Parameters, form};
use cambist_kraken::time::{parse_rfc3339, rfc3339};
use cambist_protocol::number::{bounded, decimal, scaled};

use crate::listing::Listing;
use crate::order_key::{self, cl_ord_id, client_order_id};

/// A sealed order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedOrder {
    /// The key by which the engine knows it.
    pub key: Hash,
    /// The exact bytes of every transmission.
    pub body: Vec<u8>,
}

/// What the bytes of an order say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedFields {
    /// Nonce.
    pub nonce: u64,
    /// Alternative name of the pair.
    pub pair: String,
    /// Side.
    pub side: Side,
    /// Order type.
    pub kind: OrderKind,
    /// Price, as it is written.
    pub price: String,
    /// Volume, as it is written.
    pub volume: String,
    /// Our id.
    pub client_id: ClientOrderId,
    /// Whole seconds until which the bytes are accepted.
    pub accepted_until_s: u32,
    /// Whole seconds until which the order rests; `None` for one that does not rest.
    pub rests_until_s: Option<u32>,
}

/// Why an order has no bytes. It must not be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The market is not listed.
    #[error("market {0} is not listed")]
    Market(String),
    /// A swap: the venue has no pools.
    #[error("the venue has no pools")]
    Swap,
    /// The number of its id has more bits than a name holds.
    #[error("order {0} has a number of more than 62 bits")]
    Id(ClientOrderId),
    /// It would rest without an end.
    #[error("order {0} has no time until which it rests")]
    NoExpiry(ClientOrderId),
    /// The bytes, read as the venue does, differ from the order.
    #[error("the bytes of order {order} do not read back as what was decided: {what}")]
    ReadBack {
        /// The order.
        order: ClientOrderId,
        /// What differs.
        what: &'static str,
    },
}

/// Why bytes are not those of an order of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the bytes of an order: {0}")]
pub struct NotAnOrder(pub String);

/// What follows the bytes of an order that is only checked.
pub const VALIDATE: &[u8] = b"&validate=true";

/// Every field that the bytes may have, in their order.
const FIELDS: [&str; 12] = [
    "nonce",
    "ordertype",
    "type",
    "pair",
    "price",
    "volume",
    "cl_ord_id",
    "timeinforce",
    "expiretm",
    "oflags",
    "stptype",
    "deadline",
];

/// Writes the bytes of an order, reads them back, and compares every field with the order.
pub fn seal(
    order: &UnsignedOrder,
    listing: &Listing,
    market: &MarketSpec,
    nonce: u64,
) -> Result<SealedOrder, SealError> {
    let id = order.client_id;
    if order.is_swap() {
        return Err(SealError::Swap);
    }
    let listed = listing
        .pair(&market.name)
        .filter(|_| market.id == order.market);
    let listed = listed.ok_or_else(|| SealError::Market(market.name.clone()))?;
    let key = order_key::key_of(id).ok_or(SealError::Id(id))?;
    let name = cl_ord_id(key).ok_or(SealError::Id(id))?;
    let (in_force, expires) = match (order.kind, order.rests_until_s) {
        (OrderKind::TakerOnly, _) => ("IOC", None),
        (OrderKind::Limit | OrderKind::MakerOnly, Some(until_s)) => {
            ("GTD", Some(until_s.to_string()))
        }
        (OrderKind::Limit | OrderKind::MakerOnly, None) => return Err(SealError::NoExpiry(id)),
    };
    let flags = match order.kind {
        OrderKind::MakerOnly => "post,fciq",
        OrderKind::Limit | OrderKind::TakerOnly => "fciq",
    };
    let side = match order.side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    };
    let price = decimal(order.price.0.into(), market.price_decimals);
    let volume = volume(market, order.qty);
    let deadline = rfc3339(u64::from(order.accepted_until_s) * 1_000);
    let nonce_text = nonce.to_string();
    let fields = [
        ("nonce", Some(nonce_text.as_str())),
        ("ordertype", Some("limit")),
        ("type", Some(side)),
        ("pair", Some(listed.pair.altname.as_str())),
        ("price", Some(price.as_str())),
        ("volume", Some(volume.as_str())),
        ("cl_ord_id", Some(name.as_str())),
        ("timeinforce", Some(in_force)),
        ("expiretm", expires.as_deref()),
        ("oflags", Some(flags)),
        ("stptype", Some("cancel-newest")),
        ("deadline", Some(deadline.as_str())),
    ];
    let body = form(
        fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let differs = |what| SealError::ReadBack { order: id, what };
    let read = read_back(&body).map_err(|_| differs("the form"))?;
    compare(&read, order, market, nonce, &listed.pair.altname).map_err(differs)?;
    Ok(SealedOrder { key, body })
}

/// Lots as a decimal of the base token, with the decimals of a lot.
fn volume(market: &MarketSpec, qty: Qty) -> String {
    let lot_decimals =
        u32::from(market.base.decimals).saturating_sub(market.lot.checked_ilog10().unwrap_or(0));
    decimal(qty.0.into(), u8::try_from(lot_decimals).unwrap_or(0))
}

/// Compares what the bytes say with the order, by the amounts that it reserves.
fn compare(
    read: &SealedFields,
    order: &UnsignedOrder,
    market: &MarketSpec,
    nonce: u64,
    pair: &str,
) -> Result<(), &'static str> {
    let same = |same: bool, what| if same { Ok(()) } else { Err(what) };
    same(read.nonce == nonce, "nonce")?;
    same(read.pair == pair, "pair")?;
    same(read.side == order.side, "type")?;
    let tokens = (market.sell_token(order.side), market.buy_token(order.side));
    same((order.sell_token, order.buy_token) == tokens, "tokens")?;
    same(read.kind == order.kind, "kind")?;
    same(read.client_id == order.client_id, "cl_ord_id")?;
    same(read.accepted_until_s == order.accepted_until_s, "deadline")?;
    let rests = order
        .rests_until_s
        .filter(|_| order.kind != OrderKind::TakerOnly);
    same(read.rests_until_s == rests, "expiretm")?;
    let price = scaled(&read.price, market.price_decimals).ok();
    same(
        price == Some(order.price.0.into()) && order.price != Price(0),
        "price",
    )?;
    let base = scaled(&read.volume, market.base.decimals).ok();
    let (base_amount, quote_amount) = match order.side {
        Side::Buy => (order.buy_amount, order.sell_amount),
        Side::Sell => (order.sell_amount, order.buy_amount),
    };
    same(base == Some(base_amount) && base_amount > 0, "volume")?;
    same(
        base.and_then(|base| value(base, order.price, market)) == Some(quote_amount),
        "value",
    )
}

/// What so much base costs at a price, if it is whole.
fn value(base: Amount, price: Price, market: &MarketSpec) -> Option<Amount> {
    let product = base
        .checked_mul(price.0.into())?
        .checked_mul(market.quote_per_lot_tick)?;
    (product % market.lot == 0).then(|| product / market.lot)
}

/// What the bytes of an order say, read as the venue does. Other fields, values or repetitions are an error.
pub fn read_back(body: &[u8]) -> Result<SealedFields, NotAnOrder> {
    let wrong = |name: &str| NotAnOrder(format!("{name} is missing or wrong"));
    let form = Parameters::form(body).map_err(|error| NotAnOrder(error.to_string()))?;
    if form.names().any(|name| !FIELDS.contains(&name)) {
        return Err(NotAnOrder("a field is not known".to_owned()));
    }
    let need = |name: &str| form.get(name).ok_or_else(|| wrong(name));
    for (name, value) in [("ordertype", "limit"), ("stptype", "cancel-newest")] {
        if need(name)? != value {
            return Err(wrong(name));
        }
    }
    let kind = match (need("timeinforce")?, need("oflags")?) {
        ("GTD", "post,fciq") => OrderKind::MakerOnly,
        ("GTD", "fciq") => OrderKind::Limit,
        ("IOC", "fciq") => OrderKind::TakerOnly,
        _ => return Err(wrong("timeinforce or oflags")),
    };
    let expires = form
        .get("expiretm")
        .map(|text| bounded(text).map_err(|_| wrong("expiretm")));
    let rests_until_s = expires.transpose()?;
    if rests_until_s.is_some() != (kind != OrderKind::TakerOnly) {
        return Err(wrong("expiretm"));
    }
    let deadline = parse_rfc3339(need("deadline")?).filter(|ms| ms % 1_000 == 0);
    let accepted_until_s = deadline.and_then(|ms| u32::try_from(ms / 1_000).ok());
    Ok(SealedFields {
        nonce: bounded(need("nonce")?).map_err(|_| wrong("nonce"))?,
        pair: need("pair")?.to_owned(),
        side: match need("type")? {
            "buy" => Side::Buy,
            "sell" => Side::Sell,
            _ => return Err(wrong("type")),
        },
        kind,
        price: need("price")?.to_owned(),
        volume: need("volume")?.to_owned(),
        client_id: client_order_id(need("cl_ord_id")?).ok_or_else(|| wrong("cl_ord_id"))?,
        accepted_until_s: accepted_until_s.ok_or_else(|| wrong("deadline"))?,
        rests_until_s,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::listing::tests::listing;
    use cambist_core::order::{FillBy, Swap};
    use cambist_core::{MarketId, StrategyId, TokenId, VenueTime};

    pub(crate) fn order(kind: OrderKind) -> UnsignedOrder {
        UnsignedOrder {
            client_id: ClientOrderId {
                instance: 0xdead_beef,
                strategy: StrategyId(7),
                number: 123_456,
            },
            market: MarketId(0),
            side: Side::Buy,
            price: Price(375_000),
            qty: Qty(1_250),
            kind,
            swap: None,
            sell_token: TokenId(2),
            sell_amount: 468_750_000,
            buy_token: TokenId(7),
            buy_amount: 12_500_000_000,
            fill_by: FillBy::Buy,
            slot: 3,
            accepted_until_s: 1_617_236_325,
            rests_until_s: Some(1_617_236_345),
            max_fee_bips: 40,
            made_at: VenueTime(1),
        }
    }

    fn sealed(order: &UnsignedOrder) -> Result<SealedOrder, SealError> {
        let listing = listing();
        let market = listing.market(MarketId(0), "XBT-USD").unwrap();
        seal(order, &listing, &market, 1_616_492_376_594_000)
    }

    #[test]
    fn the_bytes_of_an_order_never_change() {
        let text = |kind| String::from_utf8(sealed(&order(kind)).unwrap().body).unwrap();
        let head = "nonce=1616492376594000&ordertype=limit&type=buy&pair=XBTUSD&price=37500.0&volume=1.250\
            &cl_ord_id=deadbeef-b28e-4c07-8000-00000001e240&timeinforce=";
        let tail = "&stptype=cancel-newest&deadline=2021-04-01T00%3A18%3A45Z";
        assert_eq!(
            text(OrderKind::MakerOnly),
            format!("{head}GTD&expiretm=1617236345&oflags=post%2Cfciq{tail}")
        );
        assert_eq!(
            text(OrderKind::Limit),
            format!("{head}GTD&expiretm=1617236345&oflags=fciq{tail}")
        );
        assert_eq!(
            text(OrderKind::TakerOnly),
            format!("{head}IOC&oflags=fciq{tail}")
        );
        let made = sealed(&order(OrderKind::MakerOnly)).unwrap();
        assert_eq!(
            Some(made.key),
            order_key::key_of(order(OrderKind::Limit).client_id)
        );
        let read = read_back(&made.body).unwrap();
        assert_eq!(
            (read.nonce, read.price.as_str(), read.volume.as_str()),
            (1_616_492_376_594_000, "37500.0", "1.250")
        );
        assert_eq!(
            (read.accepted_until_s, read.rests_until_s),
            (1_617_236_325, Some(1_617_236_345))
        );
    }

    #[test]
    fn an_order_that_the_bytes_cannot_say_is_not_sealed() {
        let good = order(OrderKind::MakerOnly);
        let with = |change: &dyn Fn(&mut UnsignedOrder)| {
            let mut order = good.clone();
            change(&mut order);
            sealed(&order).unwrap_err()
        };
        let differs = |error: SealError| match error {
            SealError::ReadBack { what, .. } => what,
            other => panic!("{other}"),
        };
        assert_eq!(
            with(&|order| order.swap = Some(Swap { most: 1 })),
            SealError::Swap
        );
        assert_eq!(
            with(&|order| order.client_id.number = 1 << 62),
            SealError::Id(ClientOrderId {
                number: 1 << 62,
                ..good.client_id
            })
        );
        assert_eq!(
            with(&|order| order.rests_until_s = None),
            SealError::NoExpiry(good.client_id)
        );
        assert_eq!(
            with(&|order| order.market = MarketId(1)),
            SealError::Market("XBT-USD".to_owned())
        );
        // Amounts that are not those of price and quantity.
        assert_eq!(differs(with(&|order| order.sell_amount += 1)), "value");
        assert_eq!(differs(with(&|order| order.buy_amount += 1)), "volume");
        assert_eq!(differs(with(&|order| order.side = Side::Sell)), "tokens");
        assert_eq!(
            differs(with(&|order| order.buy_token = TokenId(9))),
            "tokens"
        );
        assert_eq!(
            differs(with(&|order| order.sell_token = TokenId(9))),
            "tokens"
        );
        assert_eq!(differs(with(&|order| order.price = Price(0))), "price");
        assert_eq!(
            differs(with(&|order| (
                order.qty,
                order.buy_amount,
                order.sell_amount
            ) = (Qty(0), 0, 0))),
            "volume"
        );
    }

    #[test]
    fn every_changed_byte_of_a_value_is_found() {
        let order = order(OrderKind::MakerOnly);
        let (listing, body) = (listing(), sealed(&order).unwrap().body);
        let market = listing.market(MarketId(0), "XBT-USD").unwrap();
        let is_same = |body: &[u8]| {
            read_back(body).is_ok_and(|read| {
                compare(&read, &order, &market, 1_616_492_376_594_000, "XBTUSD").is_ok()
            })
        };
        assert!(is_same(&body));
        let mut changed = 0;
        for at in 0..body.len() {
            // A flipped bit that changes only the case of an escape is the same text.
            for bit in [1, 2, 4, 8, 16] {
                let mut other = body.clone();
                other[at] ^= bit;
                assert!(!is_same(&other), "{}", String::from_utf8_lossy(&other));
                changed += 1;
            }
        }
        assert_eq!(changed, 5 * body.len());
        assert!(!is_same(&body[..body.len() - 1]));
        for more in ["&nonce=1", "&validate=true", "&leverage=2", "&userref=1"] {
            let longer = [&body[..], more.as_bytes()].concat();
            assert!(read_back(&longer).is_err(), "{more}");
        }
        assert!(read_back(b"").is_err());
        let text = String::from_utf8(body).unwrap();
        let fraction = text.replace("%3A45Z", "%3A45.001Z");
        assert!(read_back(fraction.as_bytes()).is_err(), "{fraction}");
    }

    /// Bytes that are an order, and not the one that was decided.
    #[test]
    fn every_field_of_another_order_is_found() {
        let order = order(OrderKind::MakerOnly);
        let (listing, body) = (listing(), sealed(&order).unwrap().body);
        let market = listing.market(MarketId(0), "XBT-USD").unwrap();
        let nonce = 1_616_492_376_594_000;
        let differs = |change: &dyn Fn(&mut SealedFields)| {
            let mut read = read_back(&body).unwrap();
            change(&mut read);
            compare(&read, &order, &market, nonce, "XBTUSD").unwrap_err()
        };
        let found = [
            differs(&|read| read.nonce += 1),
            differs(&|read| read.pair = "ETHXBT".to_owned()),
            differs(&|read| read.side = Side::Sell),
            differs(&|read| read.kind = OrderKind::Limit),
            differs(&|read| read.client_id.number += 1),
            differs(&|read| read.accepted_until_s += 1),
            differs(&|read| read.rests_until_s = Some(1_617_236_346)),
            differs(&|read| read.price = "37500.1".to_owned()),
            differs(&|read| read.volume = "1.251".to_owned()),
        ];
        let each = [
            "nonce",
            "pair",
            "type",
            "kind",
            "cl_ord_id",
            "deadline",
            "expiretm",
            "price",
            "volume",
        ];
        assert_eq!(found, each);
    }
}
