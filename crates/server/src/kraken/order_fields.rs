//! Parameters of orders.

use cambist_core::venue::FeeToken;
use cambist_core::{Amount, Price, Side, VenueTime};
use cambist_kraken::parameters::Parameters;
use cambist_kraken::{id, time};
use cambist_protocol::number::scaled;
use cambist_venue::{KrakenOrderType, NewKrakenOrder, OrderRef};

use super::fault::Fault;
use super::names::Pair;

/// Parameters of an order, alone or in a batch.
const OF_ORDERS: [&str; 19] = [
    "type",
    "ordertype",
    "volume",
    "price",
    "price2",
    "oflags",
    "timeinforce",
    "expiretm",
    "starttm",
    "cl_ord_id",
    "userref",
    "leverage",
    "reduce_only",
    "stptype",
    "displayvol",
    "trigger",
    "close[ordertype]",
    "close[price]",
    "close[price2]",
];
/// Parameters of a request with orders.
const OF_REQUESTS: [&str; 5] = ["nonce", "pair", "asset_class", "deadline", "validate"];

/// Parameters of orders that this exchange does not execute: refused unless they have this value.
const NOT_SUPPORTED: [(&str, &[&str]); 11] = [
    ("leverage", &["none"]),
    ("reduce_only", &["false"]),
    ("stptype", &["cancel-newest"]),
    ("starttm", &["0"]),
    ("displayvol", &[]),
    ("price2", &["0"]),
    ("trigger", &["last", "index"]),
    ("close[ordertype]", &[]),
    ("close[price]", &[]),
    ("close[price2]", &[]),
    ("asset_class", &["currency"]),
];

/// Refuses parameters of AddOrder that it does not have.
pub(super) fn check_single(parameters: &Parameters) -> Result<(), Fault> {
    check_names(parameters, &[&OF_REQUESTS, &OF_ORDERS])
}

/// Refuses parameters of AddOrderBatch that it does not have, or that are in the wrong place.
pub(super) fn check_batch(parameters: &Parameters) -> Result<(), Fault> {
    check_names(parameters, &[&OF_REQUESTS, &["orders"]])?;
    let mut entries = parameters.entries("orders").iter();
    entries.try_for_each(|entry| check_names(entry, &[&OF_ORDERS]))
}

/// Refuses a parameter that is none of these: one that were ignored would not do what it asks for.
pub(super) fn check_names(parameters: &Parameters, known: &[&[&str]]) -> Result<(), Fault> {
    let mut names = parameters.names();
    let unknown = names.find(|name| !known.iter().any(|names| names.contains(name)));
    unknown.map_or(Ok(()), |name| Err(Fault::argument(name)))
}

/// Refuses values other than those that change nothing.
pub(super) fn check_unsupported(parameters: &Parameters) -> Result<(), Fault> {
    for (name, allowed) in NOT_SUPPORTED {
        if let Some(value) = parameters.get(name)
            && !allowed.contains(&value.to_ascii_lowercase().as_str())
        {
            return Err(Fault::argument(name));
        }
    }
    Ok(())
}

/// Longest free text of a client order id.
const CLIENT_ID_TEXT_MAX: usize = 18;

/// Reads an order of a pair.
pub(super) fn order(
    parameters: &Parameters,
    pair: &Pair,
    now: VenueTime,
) -> Result<NewKrakenOrder, Fault> {
    check_unsupported(parameters)?;
    let need = |name: &str| parameters.get(name).ok_or_else(|| Fault::argument(name));
    let side = match need("type")? {
        "buy" => Side::Buy,
        "sell" => Side::Sell,
        _ => return Err(Fault::argument("type")),
    };
    let flags = Flags::read(parameters.get("oflags").unwrap_or_default(), side)?;
    let volume = volume(need("volume")?, pair).ok_or_else(|| Fault::argument("volume"))?;
    let time_in_force = parameters.get("timeinforce").unwrap_or("GTC");
    let order_type = match (need("ordertype")?, time_in_force) {
        ("market", "GTC" | "IOC") if flags.post => return Err(Fault::argument("oflags")),
        ("market", "GTC" | "IOC") => KrakenOrderType::Market,
        ("limit", in_force @ ("GTC" | "IOC" | "GTD")) => {
            let price = price(need("price")?, pair)?;
            match (in_force, flags.post) {
                ("IOC", true) => return Err(Fault::argument("oflags")),
                ("IOC", false) => KrakenOrderType::ImmediateOrCancel(price),
                (_, true) => KrakenOrderType::PostOnly(price),
                (_, false) => KrakenOrderType::Limit(price),
            }
        }
        ("market" | "limit", _) => return Err(Fault::argument("timeinforce")),
        _ => return Err(Fault::argument("ordertype")),
    };
    let expires_s = expiry(parameters.get("expiretm").unwrap_or("0"), now)?;
    if expires_s.is_some() != (time_in_force == "GTD") {
        return Err(Fault::argument("expiretm"));
    }
    let client_id = parameters.get("cl_ord_id").map(client_id).transpose()?;
    let user_ref = parameters.get("userref").map(user_ref).transpose()?;
    if client_id.is_some() && user_ref.is_some_and(|value| value != 0) {
        return Err(Fault::argument("cl_ord_id"));
    }
    Ok(NewKrakenOrder {
        market: pair.market,
        side,
        order_type,
        volume,
        expires_s,
        fee_in: flags.fee_in,
        client_id,
        user_ref: user_ref.filter(|value| *value != 0),
    })
}

/// The flags of `oflags`.
struct Flags {
    post: bool,
    fee_in: FeeToken,
}

impl Flags {
    fn read(text: &str, side: Side) -> Result<Self, Fault> {
        let mut flags = Self {
            post: false,
            fee_in: FeeToken::Quote,
        };
        let given = text.split(',').map(str::trim);
        let given: Vec<_> = given.filter(|flag| !flag.is_empty()).collect();
        if given.contains(&"fciq") && given.contains(&"fcib") {
            return Err(Fault::argument("oflags"));
        }
        for flag in given {
            match (flag, side) {
                ("post", _) => flags.post = true,
                ("fciq", _) => flags.fee_in = FeeToken::Quote,
                ("fcib", Side::Buy) => flags.fee_in = FeeToken::Bought,
                // No market price protection exists that could be switched off.
                ("nompp", _) => {}
                _ => return Err(Fault::argument("oflags")),
            }
        }
        Ok(flags)
    }
}

/// Base units of a volume: a whole number of lots.
pub(super) fn volume(text: &str, pair: &Pair) -> Option<Amount> {
    let lots = scaled(text, pair.lot_decimals).ok()?;
    let lot = 10u128.checked_pow((pair.base.decimals - pair.lot_decimals).into())?;
    lots.checked_mul(lot)
}

/// Ticks of a price. Prices relative to the market are not supported.
pub(super) fn price(text: &str, pair: &Pair) -> Result<Price, Fault> {
    let invalid = || Fault::new("EOrder:Invalid price");
    if text.starts_with(['+', '-', '#']) || text.ends_with('%') {
        return Err(Fault::argument("price"));
    }
    let ticks = scaled(text, pair.config.price_decimals).map_err(|_| invalid())?;
    u64::try_from(ticks).map(Price).map_err(|_| invalid())
}

/// Seconds since the Unix epoch of `0`, `+n` or `n`.
fn expiry(text: &str, now: VenueTime) -> Result<Option<u32>, Fault> {
    let invalid = || Fault::argument("expiretm");
    let (is_relative, digits) = match text.strip_prefix('+') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid());
    }
    let seconds: u64 = digits.parse().map_err(|_| invalid())?;
    let at_s = if is_relative {
        // Never sooner than asked: the fraction of the current second counts.
        now.0.div_ceil(1_000).saturating_add(seconds)
    } else {
        seconds
    };
    if at_s == 0 {
        return Ok(None);
    }
    u32::try_from(at_s)
        .ok()
        .filter(|at_s| *at_s < u32::MAX)
        .map(Some)
        .ok_or_else(invalid)
}

/// A deadline, if there is one.
pub(super) fn deadline(parameters: &Parameters) -> Result<Option<VenueTime>, Fault> {
    let text = parameters.get("deadline");
    let read = |text| {
        let ms = time::parse_rfc3339(text);
        ms.map(VenueTime).ok_or_else(|| Fault::argument("deadline"))
    };
    text.map(read).transpose()
}

/// A boolean that is false if it is absent.
pub(super) fn flag(parameters: &Parameters, name: &str) -> Result<bool, Fault> {
    // Clients write booleans as their language does: Python with a capital letter.
    match parameters.get(name).map(str::to_ascii_lowercase).as_deref() {
        None | Some("false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(_) => Err(Fault::argument(name)),
    }
}

/// A client order id: a UUID with or without dashes, or a short text.
pub(super) fn client_id(text: &str) -> Result<String, Fault> {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let groups: Vec<_> = text.split('-').collect();
    let lengths: Vec<_> = groups.iter().map(|group| group.len()).collect();
    let is_long = lengths == [8, 4, 4, 4, 12] && groups.iter().all(|group| is_hex(group));
    let is_short = text.len() == 32 && is_hex(text);
    let is_text = (1..=CLIENT_ID_TEXT_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if is_long || is_short || is_text {
        Ok(text.to_owned())
    } else {
        Err(Fault::argument("cl_ord_id"))
    }
}

pub(super) fn user_ref(text: &str) -> Result<i32, Fault> {
    text.parse().map_err(|_| Fault::argument("userref"))
}

/// The orders that `txid` names: an identifier or a reference.
pub(super) fn named(text: &str) -> Result<OrderRef, Fault> {
    let number = id::decode(id::Kind::Order, text).map(OrderRef::Number);
    let by_ref = || text.parse().ok().map(OrderRef::UserRef);
    number
        .or_else(by_ref)
        .ok_or(Fault::new("EOrder:Unknown order"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_order_ids_have_one_of_three_forms() {
        for text in [
            "6d1b345e-2821-40e2-ad83-4ecb18a06876",
            "da8e4ad59b78481c93e589746b0cf91f",
            "arb-20240509-00010",
            "x",
        ] {
            assert_eq!(client_id(text).as_deref(), Ok(text));
        }
        for text in [
            "",
            "arb-20240509-000100",
            "6d1b345e-2821-40e2-ad83-4ecb18a0687g",
            "da8e4ad59b78481c93e589746b0cf91",
            "ä",
            "a\n",
        ] {
            assert_eq!(client_id(text), Err(Fault::argument("cl_ord_id")), "{text}");
        }
    }

    #[test]
    fn fees_are_in_one_of_both_tokens() {
        for (text, fee_in) in [
            ("", FeeToken::Quote),
            ("post,fciq", FeeToken::Quote),
            (" fcib , nompp", FeeToken::Bought),
        ] {
            let read = Flags::read(text, Side::Buy).map(|flags| flags.fee_in);
            assert_eq!(read, Ok(fee_in), "{text}");
        }
        for text in ["fcib,fciq", "fciq,fcib", "viqc"] {
            let read = Flags::read(text, Side::Buy).map(|flags| flags.fee_in);
            assert_eq!(read, Err(Fault::argument("oflags")), "{text}");
        }
    }

    #[test]
    fn expiries_are_absolute_or_relative() {
        let now = VenueTime(1_700_000_000_001);
        assert_eq!(expiry("0", now), Ok(None));
        assert_eq!(expiry("+30", now), Ok(Some(1_700_000_031)));
        assert_eq!(expiry("1700000100", now), Ok(Some(1_700_000_100)));
        for text in ["", "+", "-1", "1.5", "4294967295", "99999999999999999999"] {
            assert!(expiry(text, now).is_err(), "{text}");
        }
    }
}
