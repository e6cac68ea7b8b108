//! Markets of other venues as strategies of a market here read them.
//!
//! Each venue has an engine of its own, and each engine publishes its books and holdings after every step. What a
//! strategy reads of them is an input of its engine, in the units of the tokens here: both markets trade the same two
//! tokens, under one name each in the portfolio. The name of such a market is that of its venue, a colon and its own:
//! `kraken:ETH-USDC`.

use serde::{Deserialize, Serialize};

use crate::market::{MarketId, MarketSpec, Qty};
use crate::math::gcd;
use crate::scale::Scale;
use crate::strategy::BookLevel;
use crate::token::{Amount, TokenSpec};
use crate::withheld::Withheld;

/// Between the name of a venue and that of a market.
const SEPARATOR: char = ':';

/// The venue and the market that a name states; `None` for the name of a market of this venue.
pub fn split(name: &str) -> Option<(&str, &str)> {
    name.split_once(SEPARATOR)
}

/// The name here of a market of another venue.
pub fn join(venue: &str, market: &str) -> String {
    format!("{venue}{SEPARATOR}{market}")
}

/// A market of another venue, in the units of the market here that reads it. Each replaces the last of its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarketElsewhere {
    /// The market here whose strategies read it.
    pub reader: MarketId,
    /// The market: its name as above, its tokens as here, with the smallest and largest orders of its venue.
    pub market: MarketSpec,
    /// Its book, or why it is missing.
    pub book: Result<BookElsewhere, Withheld>,
    /// What is held there; `None` before ledger and venue were compared, while they differ, and while the balances that
    /// were read there are too old.
    pub holdings: Option<OtherHoldings>,
    /// What its venue takes of what a taking order buys, ten-thousandths.
    pub taker_fee_bips: u16,
}

/// The book of a market of another venue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookElsewhere {
    /// Bids without our orders, best first, in ticks and lots of that market.
    pub bids: Vec<BookLevel>,
    /// Asks without our orders, best first.
    pub asks: Vec<BookLevel>,
    /// Middle of the book in half ticks, or why it is not fit for pricing.
    pub mid: Result<u64, Withheld>,
    /// Age of the depth when the event was made, milliseconds.
    pub age_ms: u64,
    /// An older one is missing (`poll.depth_age_max_ms` of that venue).
    pub age_max_ms: u64,
}

/// What is held at another venue of the tokens of a market, in base units of the tokens here, rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherHoldings {
    /// Base by the ledger.
    pub base: Amount,
    /// Quote by the ledger.
    pub quote: Amount,
    /// Base that pool shares are due; `None` while the pool's balances are not known or too old.
    pub pooled_base: Option<Amount>,
    /// An order, a join, an exit or a swap there may still change these amounts.
    pub undecided: bool,
}

/// What an engine publishes of one of its markets, in its own units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Its book, or why it is missing.
    pub book: Result<BookElsewhere, Withheld>,
    /// What is held.
    pub holdings: Option<OtherHoldings>,
    /// What the venue takes of what a taking order buys, ten-thousandths.
    pub taker_fee_bips: u16,
}

/// How amounts of a market at another venue become those of a market here: both tokens may have other decimals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Units {
    market: MarketSpec,
    /// Lots there in one lot of the translated market.
    lots: u64,
    base: Scale,
    quote: Scale,
}

impl Units {
    /// A market `there` under a name and with tokens of the `reader`, in the direction of the market there. A lot becomes as
    /// many lots as make it a whole number of units here. `None` if decimals differ by more than amounts can hold.
    pub fn new(
        name: String,
        there: &MarketSpec,
        reader: MarketId,
        [base, quote]: [&TokenSpec; 2],
    ) -> Option<Self> {
        let of_base = Scale::new(there.base.decimals, base.decimals)?;
        let of_quote = Scale::new(there.quote.decimals, quote.decimals)?;
        // The fewest lots of which base and value at one tick are whole numbers of units here.
        let whole = |amount: Amount, scale: Scale| {
            let up = amount.checked_mul(scale.up)?;
            Some((up, scale.down / gcd(up, scale.down)))
        };
        let (lot, lots_base) = whole(there.lot, of_base)?;
        let (tick, lots_quote) = whole(there.quote_per_lot_tick, of_quote)?;
        let shared = gcd(lots_base, lots_quote);
        // What an order may be at least and at most is up to the venue there, not to that of the reader.
        let token = |there: &TokenSpec, here: &TokenSpec, scale: Scale| TokenSpec {
            minimum: scale.ceil(there.minimum),
            maximum: scale.floor(there.maximum),
            dust: scale.ceil(there.dust),
            ..here.clone()
        };
        let lots = (lots_base / shared).checked_mul(lots_quote)?;
        let market = MarketSpec {
            id: reader,
            name,
            base: token(&there.base, base, of_base),
            quote: token(&there.quote, quote, of_quote),
            lot: lot.checked_mul(lots)? / of_base.down,
            quote_per_lot_tick: tick.checked_mul(lots)? / of_quote.down,
            ..there.clone()
        };
        Some(Self {
            market,
            lots: u64::try_from(lots).ok()?,
            base: of_base,
            quote: of_quote,
        })
    }

    /// What its engine published, as an input of the reader's engine. `older_ms` is for how long it was published.
    pub fn translated(&self, published: &Published, older_ms: u64) -> MarketElsewhere {
        let side = |levels: &[BookLevel]| {
            let lots = |level: &BookLevel| BookLevel {
                price: level.price,
                qty: Qty(level.qty.0 / self.lots),
            };
            let levels = levels.iter().map(lots);
            levels.filter(|level| level.qty.0 > 0).collect()
        };
        let book = published.book.as_ref().map_err(|why| *why);
        MarketElsewhere {
            reader: self.market.id,
            market: self.market.clone(),
            book: book.map(|book| BookElsewhere {
                bids: side(&book.bids),
                asks: side(&book.asks),
                age_ms: book.age_ms.saturating_add(older_ms),
                ..*book
            }),
            holdings: published.holdings.map(|held| OtherHoldings {
                base: self.base.floor(held.base),
                quote: self.quote.floor(held.quote),
                pooled_base: held.pooled_base.map(|base| self.base.floor(base)),
                undecided: held.undecided,
            }),
            taker_fee_bips: published.taker_fee_bips,
        }
    }
}

#[cfg(test)]
#[path = "elsewhere_tests.rs"]
mod tests;
