//! Decodes the JSON of a feed into levels on a market's grid.
//!
//! Prices finer than a tick are rounded away from the mid and quantities down to whole lots, so that the book is never
//! better than the exchange's. Levels that become equal are added; the last one is left out if the list ends within it.

use cambist_core::{MarketSpec, Price, Qty};
use cambist_market_data::first_bytes::{BYTE_ORDER_MARK, form};
use cambist_market_data::{Level, Timestamp};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde_json::Value;

use super::error::{FeedError, FeedErrorKind};
use crate::config::feed::{Feed, TimeForm};

/// Most levels kept per side.
const LEVELS_MAX: usize = 1_000;
/// Most characters of an answer in an error.
const SHOWN_MAX: usize = 200;
/// The year 2000: no book has an earlier time, but a time in another unit than the stated one has.
const EARLIEST: Timestamp = Timestamp(946_684_800_000_000_000);

/// A book from a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// Highest first.
    pub bids: Vec<Level>,
    /// Lowest first.
    pub asks: Vec<Level>,
    /// The feed's number of the book, if it has one.
    pub sequence: Option<u64>,
    /// The feed's time of the book, if it has one.
    pub time: Option<Timestamp>,
}

/// Conversion of a feed's numbers to ticks and lots.
#[derive(Clone, Debug)]
pub struct Units {
    price_decimals: u32,
    lot_decimals: u32,
}

impl Units {
    /// The conversion of a market.
    pub fn of(spec: &MarketSpec) -> Self {
        let lot_digits = spec.lot.ilog10();
        Self {
            price_decimals: spec.price_decimals.into(),
            lot_decimals: u32::from(spec.base.decimals).saturating_sub(lot_digits),
        }
    }
}

/// Decodes an answer. An error names the place and what is wrong there.
pub fn decode(feed: &Feed, units: &Units, body: &[u8]) -> Result<Book, FeedError> {
    let page = parsed(body)?;
    let pointers = &feed.pointers;
    let side = |pointer: &str, rounding: Rounding| {
        let list = found(&page, pointer)
            .and_then(Value::as_array)
            .ok_or_else(|| format!("no list at {pointer}: the answer is {}", excerpt(body)))?;
        let (mut levels, mut before) = (Vec::new(), None);
        let mut is_last_whole = true;
        for (index, level) in list.iter().take(LEVELS_MAX).enumerate() {
            let at = |what: &str| format!("{pointer}/{index}{what}");
            let number = |within: &str| {
                let value = found(level, within);
                value.and_then(decimal).ok_or_else(|| {
                    let value = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
                    let value = excerpt(value.as_bytes());
                    format!("no number at {}, but {value}", at(within))
                })
            };
            let price = number(&pointers.price)?;
            if let Some(before) = before.replace(price)
                && !rounding.is_worse(price, before)
            {
                let place = at("");
                let what = format!(
                    "{place}: levels are not in order, best first: {price} follows {before}"
                );
                return Err(FeedError::new(FeedErrorKind::Unsorted, what));
            }
            if rounding == Rounding::Down && is_less_than_a_tick(price, units) {
                // Worse than every price of the market, as a bid far from the mid may be.
                is_last_whole = true;
                continue;
            }
            is_last_whole = is_whole(price, units);
            let price = ticks(price, units, rounding).ok_or_else(|| {
                let place = at(&pointers.price);
                format!("{price} at {place} is not a price of the market")
            })?;
            let mut quantity = number(&pointers.quantity)?;
            if feed.quantity_decimals > 0 {
                quantity = scaled_down(quantity, feed.quantity_decimals)
                    .ok_or_else(|| format!("{} has too many decimals", at(&pointers.quantity)))?;
            }
            let qty = lots(quantity, units).ok_or_else(|| {
                let place = at(&pointers.quantity);
                format!("{quantity} at {place} is not a quantity of the market")
            })?;
            add(&mut levels, price, qty);
        }
        // Where the feed has finer prices, more of the last one may follow beyond the end of the list.
        let mut before_last = levels.iter().rev().skip(1);
        if !is_last_whole && before_last.any(|level| level.qty.0 > 0) {
            levels.pop();
        }
        levels.retain(|level: &Level| level.qty.0 > 0);
        Ok::<_, FeedError>(levels)
    };
    let bids = side(&pointers.bids, Rounding::Down)?;
    let asks = side(&pointers.asks, Rounding::Up)?;
    if let (Some(bid), Some(ask)) = (bids.first(), asks.first())
        && bid.price >= ask.price
    {
        let (bid, ask) = (bid.price.0, ask.price.0);
        let what = format!("the book is crossed: bid {bid} and ask {ask} in ticks");
        return Err(FeedError::new(FeedErrorKind::Crossed, what));
    }
    let sequence = pointers.sequence.as_ref().map(|pointer| {
        let number = found(&page, pointer).and_then(decimal);
        let number = number.and_then(|number| number.to_u64());
        number.ok_or_else(|| format!("no whole number at {pointer}"))
    });
    let time = pointers.time.as_ref().map(|(pointer, form)| {
        let stated = found(&page, pointer);
        let time = stated
            .and_then(|value| time(value, *form))
            .ok_or_else(|| match stated {
                Some(value @ (Value::Number(_) | Value::String(_))) => {
                    let value = excerpt(value.to_string().as_bytes());
                    format!("{value} at {pointer} is no time: is time_unit that of the feed?")
                }
                Some(_) | None => format!("no time at {pointer}"),
            })?;
        if time < EARLIEST {
            return Err(format!(
                "the time at {pointer} is {time}: is time_unit that of the feed?"
            ));
        }
        Ok(time)
    });
    Ok(Book {
        bids,
        asks,
        sequence: sequence.transpose()?,
        time: time.transpose()?,
    })
}

/// The JSON of an answer. A byte order mark before it is passed over.
fn parsed(body: &[u8]) -> Result<Value, String> {
    if let Some(form) = form(body) {
        return Err(format!(
            "the answer is {} instead of JSON in UTF-8, and no compression was asked for: name another URL, or set up the server, or the proxy before it, to answer with plain JSON",
            form.name
        ));
    }
    let text = body.strip_prefix(BYTE_ORDER_MARK.as_bytes());
    serde_json::from_slice(text.unwrap_or(body))
        .map_err(|error| format!("the answer is not JSON: {error}: {}", excerpt(body)))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Down,
    Up,
}

impl Rounding {
    /// Whether a price of this side is farther from the mid than another.
    fn is_worse(self, price: Decimal, than: Decimal) -> bool {
        match self {
            Self::Down => price < than,
            Self::Up => price > than,
        }
    }
}

/// Appends a level, or adds it to the one before if rounding made their prices equal.
fn add(levels: &mut Vec<Level>, price: Price, qty: Qty) {
    match levels.last_mut() {
        Some(last) if last.price == price => last.qty = Qty(last.qty.0.saturating_add(qty.0)),
        Some(_) | None => levels.push(Level { price, qty }),
    }
}

/// The value at a pointer; `*` is the only member of an object.
fn found<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    let mut at = value;
    for part in pointer.split('/').skip(1) {
        at = match (part, at) {
            ("*", Value::Object(members)) if members.len() == 1 => members.values().next()?,
            ("*", _) => return None,
            (part, Value::Object(members)) => {
                members.get(&part.replace("~1", "/").replace("~0", "~"))?
            }
            (part, Value::Array(items)) => items.get(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(at)
}

/// A non-negative number, or one as text.
fn decimal(value: &Value) -> Option<Decimal> {
    let read = |text: &str| {
        let plain = Decimal::from_str_exact(text).ok();
        plain.or_else(|| Decimal::from_scientific(text).ok())
    };
    let number = match value {
        Value::String(text) => read(text)?,
        Value::Number(number) => read(&number.to_string())?,
        _ => return None,
    };
    (!number.is_sign_negative()).then_some(number)
}

fn power(decimals: u32) -> Option<Decimal> {
    let power = 10_i128.checked_pow(decimals)?;
    Decimal::try_from_i128_with_scale(power, 0).ok()
}

fn scaled_down(number: Decimal, decimals: u32) -> Option<Decimal> {
    number.checked_div(power(decimals)?)
}

/// Whether a positive price is below the lowest of the market.
fn is_less_than_a_tick(price: Decimal, units: &Units) -> bool {
    let ticks = power(units.price_decimals).and_then(|power| price.checked_mul(power));
    !price.is_zero() && ticks.is_some_and(|ticks| ticks < Decimal::ONE)
}

/// Whether a price is a price of the market.
fn is_whole(price: Decimal, units: &Units) -> bool {
    let ticks = power(units.price_decimals).and_then(|power| price.checked_mul(power));
    ticks.is_some_and(|ticks| ticks.fract().is_zero())
}

fn ticks(price: Decimal, units: &Units, rounding: Rounding) -> Option<Price> {
    let ticks = price.checked_mul(power(units.price_decimals)?)?;
    let whole = match rounding {
        Rounding::Down => ticks.floor(),
        Rounding::Up => ticks.ceil(),
    };
    // The largest number is not a tradable price.
    let ticks = whole.to_u64().filter(|ticks| (1..u64::MAX).contains(ticks));
    ticks.map(Price)
}

fn lots(quantity: Decimal, units: &Units) -> Option<Qty> {
    let lots = quantity.checked_mul(power(units.lot_decimals)?)?;
    lots.floor().to_u64().map(Qty)
}

fn time(value: &Value, form: TimeForm) -> Option<Timestamp> {
    let scale = match form {
        TimeForm::Rfc3339 => return Timestamp::from_rfc3339(value.as_str()?),
        TimeForm::Seconds => 9,
        TimeForm::Millis => 6,
        TimeForm::Micros => 3,
        TimeForm::Nanos => 0,
    };
    let nanos = decimal(value)?.checked_mul(power(scale)?)?;
    nanos.floor().to_i64().map(Timestamp)
}

fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut short: String = text.chars().take(SHOWN_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    // Quotes stay as they are: what is shown is mostly JSON.
    short.chars().fold(String::new(), |mut shown, char| {
        match char {
            '"' | '\'' | '\\' => shown.push(char),
            other => shown.extend(other.escape_debug()),
        }
        shown
    })
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
