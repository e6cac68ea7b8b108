//! The target that a process answers with, as one line of JSON. Anything but a target of this version is
//! refused as a whole: what is unclear is not guessed.

use cambist_core::strategy::{Quote, WantedSwap};
use cambist_core::token::AMOUNT_MAX;
use cambist_core::{Amount, MarketSpec, Price, Qty, Side, TokenSpec};
use serde::Deserialize;
use serde_json::Value;

use crate::{LINE_MAX, ProcessSettings, STATE_MAX, VERSION};

/// An answer that was accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The quotes, ranked on each side from the mid outwards.
    pub quotes: Vec<Quote>,
    /// A swap with the pool beside the market, asked for once.
    pub swap: Option<WantedSwap>,
    /// What is to be kept for the process, as JSON; `None` keeps what there is.
    pub state: Option<String>,
}

/// Why an answer was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Too long.
    #[error("the line has {0} bytes, allowed are {LINE_MAX}")]
    TooLong(usize),
    /// Not the JSON of a target.
    #[error("no target of version {VERSION}: {0}")]
    Malformed(String),
    /// Another version.
    #[error("version {0}, this program has version {VERSION}")]
    Version(u32),
    /// Not the view that was sent last.
    #[error("it answers view {0}, but view {1} was requested")]
    View(u64, u64),
    /// More quotes than allowed.
    #[error("{0} quotes, allowed are {1} (market.strategy.orders_max)")]
    TooMany(usize, usize),
    /// A quote of nothing.
    #[error("quote {0}: price and qty must be above 0")]
    Zero(usize),
    /// A quote larger than any order.
    #[error("quote {0}: too large, no order can carry its amounts")]
    Value(usize),
    /// Bids reach asks.
    #[error("the highest bid {0} is not below the lowest ask {1}")]
    Crossed(u64, u64),
    /// A swap, and the configuration allows none.
    #[error("it asks for a swap, and market.strategy.swaps is not true")]
    NoSwaps,
    /// An amount of a swap.
    #[error("swap.{0}: {1:?} is no amount of {2} above 0 with at most {3} decimals")]
    SwapAmount(&'static str, String, String, u8),
    /// The state is too long.
    #[error("the state takes {0} bytes, allowed are {STATE_MAX}")]
    State(usize),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TargetLine {
    v: u32,
    view_seq: u64,
    quotes: Vec<QuoteLine>,
    #[serde(default)]
    swap: Option<SwapLine>,
    #[serde(default)]
    state: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SwapLine {
    side: SideWord,
    sell: String,
    least: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuoteLine {
    side: SideWord,
    price: u64,
    qty: u64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SideWord {
    Buy,
    Sell,
}

impl SideWord {
    const fn side(self) -> Side {
        match self {
            Self::Buy => Side::Buy,
            Self::Sell => Side::Sell,
        }
    }
}

/// Only the version, so that a target of another one is distinguished from a mistake.
#[derive(Deserialize)]
struct VersionOnly {
    v: u32,
}

/// Reads the answer to a view of a market.
pub fn read(
    line: &[u8],
    view_seq: u64,
    settings: &ProcessSettings,
    market: &MarketSpec,
) -> Result<Target, TargetError> {
    if line.len() > LINE_MAX {
        return Err(TargetError::TooLong(line.len()));
    }
    if let Ok(VersionOnly { v }) = serde_json::from_slice(line)
        && v != VERSION
    {
        return Err(TargetError::Version(v));
    }
    let malformed = |error: serde_json::Error| TargetError::Malformed(error.to_string());
    let read: TargetLine = serde_json::from_slice(line).map_err(malformed)?;
    if read.v != VERSION {
        return Err(TargetError::Version(read.v));
    }
    if read.view_seq != view_seq {
        return Err(TargetError::View(read.view_seq, view_seq));
    }
    if read.quotes.len() > settings.orders_max {
        return Err(TargetError::TooMany(read.quotes.len(), settings.orders_max));
    }
    let state = read.state.map(|state| state.to_string());
    if let Some(state) = state.as_ref().filter(|state| state.len() > STATE_MAX) {
        return Err(TargetError::State(state.len()));
    }
    if read.swap.is_some() && !settings.swaps {
        return Err(TargetError::NoSwaps);
    }
    let swap = read.swap.map(|swap| wanted_swap(&swap, market));
    Ok(Target {
        quotes: quotes(&read.quotes, market)?,
        swap: swap.transpose()?,
        state,
    })
}

fn wanted_swap(line: &SwapLine, market: &MarketSpec) -> Result<WantedSwap, TargetError> {
    let side = line.side.side();
    let (sold, bought) = match side {
        Side::Buy => (&market.quote, &market.base),
        Side::Sell => (&market.base, &market.quote),
    };
    let amount = |key, text: &str, token: &TokenSpec| {
        // The venue takes no digits beyond a token's precision.
        let places = token.precision.min(token.decimals);
        let units = units(text, token.decimals, places);
        let units = units.filter(|units| (1..=AMOUNT_MAX).contains(units));
        units.ok_or_else(|| {
            let symbol = token.symbol.clone();
            TargetError::SwapAmount(key, text.to_owned(), symbol, places)
        })
    };
    Ok(WantedSwap {
        side,
        sell: amount("sell", &line.sell, sold)?,
        least: amount("least", &line.least, bought)?,
    })
}

/// Base units of a decimal of whole tokens, exactly: digits with at most one point between them, and at most so many
/// after it.
fn units(text: &str, decimals: u8, places_max: u8) -> Option<Amount> {
    let (whole, part) = match text.split_once('.') {
        Some((whole, part)) if !part.is_empty() => (whole, part),
        Some(_) => return None,
        None => (text, ""),
    };
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    let places = usize::from(decimals);
    if whole.is_empty() || !is_number(whole) || !is_number(part) || part.len() > places_max.into() {
        return None;
    }
    format!("{whole}{part:0<places$}").parse().ok()
}

fn quotes(written: &[QuoteLine], market: &MarketSpec) -> Result<Vec<Quote>, TargetError> {
    let mut quotes = Vec::new();
    for (at, line) in written.iter().enumerate() {
        let (price, qty) = (Price(line.price), Qty(line.qty));
        if price.0 == 0 || qty.0 == 0 {
            return Err(TargetError::Zero(at));
        }
        let amounts = [market.base_amount(qty), market.quote_amount(price, qty)];
        let fits = |amount: Option<Amount>| amount.is_some_and(|amount| amount <= AMOUNT_MAX);
        if !amounts.into_iter().all(fits) {
            return Err(TargetError::Value(at));
        }
        let side = line.side.side();
        quotes.push(Quote {
            side,
            price,
            qty,
            level: 0,
        });
    }
    let of = |side| {
        quotes
            .iter()
            .filter(move |quote: &&Quote| quote.side == side)
    };
    let (bid, ask) = (
        of(Side::Buy).map(|quote| quote.price.0).max(),
        of(Side::Sell).map(|quote| quote.price.0).min(),
    );
    if let (Some(bid), Some(ask)) = (bid, ask)
        && bid >= ask
    {
        return Err(TargetError::Crossed(bid, ask));
    }
    rank(&mut quotes);
    Ok(quotes)
}

/// The nearest to the mid are placed first.
fn rank(quotes: &mut [Quote]) {
    for side in Side::BOTH {
        let mut own: Vec<_> = quotes
            .iter_mut()
            .filter(|quote| quote.side == side)
            .collect();
        own.sort_by_key(|quote| match side {
            Side::Buy => u64::MAX - quote.price.0,
            Side::Sell => quote.price.0,
        });
        for (level, quote) in (0..).zip(own) {
            quote.level = level;
        }
    }
}
