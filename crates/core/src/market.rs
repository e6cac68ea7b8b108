//! Markets, prices in ticks, quantities in lots, and the exact conversion to token amounts.
//!
//! A tick is 10^−`precisionForPrice` quote tokens per base token. A lot is the smallest base quantity whose value at
//! **every** tick is a whole number of quote steps, so that an order's two amounts state its price exactly, and a venue
//! that rounds a ratio between ticks towards the passive side has nothing to round.

use serde::{Deserialize, Serialize};

use crate::math::decimal;
use crate::token::{Amount, TokenId, TokenSpec};
use crate::venue::FeeToken;

/// Index of a market in the engine's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MarketId(pub u16);

/// Price in ticks of its market; never zero in an order.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Price(pub u64);

/// Quantity of base in lots of its market.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Qty(pub u64);

/// Side of an order, from the base token's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Side {
    /// Buys base, sells quote.
    Buy,
    /// Sells base, buys quote.
    Sell,
}

impl Side {
    /// Both sides, bids first.
    pub const BOTH: [Self; 2] = [Self::Buy, Self::Sell];

    /// The other side.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Buy => Self::Sell,
            Self::Sell => Self::Buy,
        }
    }

    /// `buy` or `sell`, as used in metrics and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buy => "buy",
            Self::Sell => "sell",
        }
    }

    /// Whether a price on this side is at least as good for the counterparty as `other`.
    pub const fn reaches(self, price: Price, other: Price) -> bool {
        match self {
            Self::Buy => price.0 >= other.0,
            Self::Sell => price.0 <= other.0,
        }
    }
}

/// A traded market: names, tokens and the exact scale between ticks, lots and base units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarketSpec {
    /// Position in the configuration.
    pub id: MarketId,
    /// The venue's name, `BASE-QUOTE`.
    pub name: String,
    /// Base token.
    pub base: TokenSpec,
    /// Quote token.
    pub quote: TokenSpec,
    /// Decimals of the price (interface: `precisionForPrice`).
    pub price_decimals: u8,
    /// Base units in one lot.
    pub lot: Amount,
    /// Quote base units that one lot costs per tick.
    pub quote_per_lot_tick: Amount,
    /// Whether the venue lists the market as open.
    pub enabled: bool,
    /// Which token the fees of its trades are taken in.
    #[serde(default)]
    pub fee_in: FeeToken,
    /// Whether it has an order book. Without one its depth is the curve of its pool, which is traded with by swaps.
    #[serde(default = "has_book")]
    pub book: bool,
}

/// Of markets that were written before there were others.
const fn has_book() -> bool {
    true
}

/// Why a market cannot be traded with exact amounts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarketError {
    /// The price has more decimals than the quote token can express.
    #[error(
        "market {market} cannot be traded: a price has {price_decimals} decimals and an amount of the quote token {quote_precision}, so that the value of an order is no exact amount"
    )]
    PriceTooFine {
        /// Market name.
        market: String,
        /// `precisionForPrice`.
        price_decimals: u8,
        /// The quote token's `precision`.
        quote_precision: u8,
    },
    /// One whole token does not fit an amount.
    #[error("market {market}: token {symbol} has {decimals} decimals, more than can be counted")]
    Decimals {
        /// Market name.
        market: String,
        /// Token symbol.
        symbol: String,
        /// Published decimals.
        decimals: u8,
    },
    /// A token's precision exceeds its decimals, or both tokens are the same.
    #[error("market {market}: {what}")]
    Inconsistent {
        /// Market name.
        market: String,
        /// The inconsistency.
        what: String,
    },
}

impl MarketSpec {
    /// Builds the exact scale of a market from what the venue publishes.
    ///
    /// The lot has `min(base.precision, quote.precision − price_decimals)` decimals.
    pub fn new(
        id: MarketId,
        name: &str,
        base: TokenSpec,
        quote: TokenSpec,
        price_decimals: u8,
        enabled: bool,
    ) -> Result<Self, MarketError> {
        let market = || name.to_owned();
        for token in [&base, &quote] {
            if token.decimals > 27 {
                return Err(MarketError::Decimals {
                    market: market(),
                    symbol: token.symbol.clone(),
                    decimals: token.decimals,
                });
            }
            if token.precision > token.decimals {
                return Err(MarketError::Inconsistent {
                    market: market(),
                    what: format!(
                        "token {} has precision {} but only {} decimals",
                        token.symbol, token.precision, token.decimals
                    ),
                });
            }
        }
        if base.id == quote.id {
            return Err(MarketError::Inconsistent {
                market: market(),
                what: format!("base and quote are the same token {}", base.symbol),
            });
        }
        let spare = quote.precision.checked_sub(price_decimals).ok_or_else(|| {
            MarketError::PriceTooFine {
                market: market(),
                price_decimals,
                quote_precision: quote.precision,
            }
        })?;
        let lot_decimals = base.precision.min(spare);
        // Both exponents are at most 27, so the powers fit 128 bits.
        let lot = 10u128.pow(u32::from(base.decimals - lot_decimals));
        let quote_per_lot_tick =
            10u128.pow(u32::from(quote.decimals - price_decimals - lot_decimals));
        Ok(Self {
            id,
            name: market(),
            base,
            quote,
            price_decimals,
            lot,
            quote_per_lot_tick,
            enabled,
            fee_in: FeeToken::Bought,
            book: has_book(),
        })
    }

    /// The same market with fees in this token.
    #[must_use]
    pub fn with_fee_in(self, fee_in: FeeToken) -> Self {
        Self { fee_in, ..self }
    }

    /// The same market with or without an order book.
    #[must_use]
    pub fn with_book(self, book: bool) -> Self {
        Self { book, ..self }
    }

    /// The token that the fee of a trade on `side` is taken in.
    pub const fn fee_token(&self, side: Side) -> &TokenSpec {
        if self.fee_in.is_base(side) {
            &self.base
        } else {
            &self.quote
        }
    }

    /// A price as text: `2500.01 USDC`.
    pub fn price_text(&self, price: Price) -> String {
        format!("{} {}", self.price_number(price), self.quote.symbol)
    }

    /// A price as a decimal number: `2500.5`.
    pub fn price_number(&self, price: Price) -> String {
        decimal(price.0.into(), self.price_decimals)
    }

    /// A quantity as text: `0.5 ETH`.
    pub fn qty_text(&self, qty: Qty) -> String {
        self.base.text(u128::from(qty.0).saturating_mul(self.lot))
    }

    /// Base units of `qty` lots. `None` on overflow.
    pub fn base_amount(&self, qty: Qty) -> Option<Amount> {
        self.lot.checked_mul(Amount::from(qty.0))
    }

    /// Quote base units of `qty` lots at `price`, exact by construction. `None` on overflow.
    pub fn quote_amount(&self, price: Price, qty: Qty) -> Option<Amount> {
        self.quote_per_lot_tick
            .checked_mul(Amount::from(price.0))?
            .checked_mul(Amount::from(qty.0))
    }

    /// Whole lots in `base` units, rounded down.
    pub fn lots_floor(&self, base: Amount) -> Qty {
        // Division of 64 bits where that suffices: every level of every depth is counted in lots.
        match (u64::try_from(base), u64::try_from(self.lot)) {
            (Ok(base), Ok(lot)) => Qty(base / lot),
            _ => Qty(u64::try_from(base / self.lot).unwrap_or(u64::MAX)),
        }
    }

    /// Whole lots that `quote` units can pay for at `price`, rounded down; 0 at price 0.
    pub fn lots_affordable(&self, quote: Amount, price: Price) -> Qty {
        let per_lot = self
            .quote_per_lot_tick
            .saturating_mul(Amount::from(price.0));
        quote
            .checked_div(per_lot)
            .map_or(Qty(0), |lots| Qty(u64::try_from(lots).unwrap_or(u64::MAX)))
    }

    /// The token an order on `side` pays with.
    pub fn sell_token(&self, side: Side) -> TokenId {
        match side {
            Side::Buy => self.quote.id,
            Side::Sell => self.base.id,
        }
    }

    /// The token an order on `side` receives.
    pub fn buy_token(&self, side: Side) -> TokenId {
        self.sell_token(side.opposite())
    }
}

/// Value of base in quote units at a mid in half ticks, rounded up. `None` on overflow.
pub fn value_at(spec: &MarketSpec, base: Amount, mid: u64) -> Option<Amount> {
    let value = base
        .checked_mul(spec.quote_per_lot_tick)?
        .checked_mul(u128::from(mid))?;
    Some(value.div_ceil(spec.lot.checked_mul(2)?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    fn token(id: u16, decimals: u8, precision: u8) -> TokenSpec {
        TokenSpec {
            id: TokenId(id),
            symbol: format!("T{id}"),
            decimals,
            precision,
            minimum: 1,
            maximum: 1 << 90,
            dust: 0,
            enabled: true,
        }
    }

    #[test]
    fn one_lot_is_worth_whole_quote_steps_at_every_tick() {
        let spec =
            MarketSpec::new(MarketId(0), "A-B", token(0, 18, 6), token(1, 6, 6), 2, true).unwrap();
        assert_eq!(spec.lot, 10u128.pow(14), "four decimals of base");
        assert_eq!(spec.quote_per_lot_tick, 1);
        assert_eq!(spec.base_amount(Qty(10_000)), Some(10u128.pow(18)));
        assert_eq!(
            spec.quote_amount(Price(250_000), Qty(10_000)),
            Some(2_500_000_000)
        );
        assert_eq!(
            spec.lots_affordable(2_500_000_000, Price(250_000)),
            Qty(10_000)
        );
        assert_eq!(
            spec.lots_affordable(2_499_999_999, Price(250_000)),
            Qty(9_999)
        );
        assert_eq!(spec.lots_affordable(1, Price(0)), Qty(0));
    }

    #[test]
    fn a_value_is_rounded_up_to_whole_units() {
        let spec =
            MarketSpec::new(MarketId(0), "A-B", token(0, 18, 6), token(1, 6, 6), 2, true).unwrap();
        let half_tick_of_a_lot = value_at(&spec, spec.lot, 1);
        assert_eq!(half_tick_of_a_lot, Some(1));
        assert_eq!(value_at(&spec, spec.lot, 2), Some(1));
        assert_eq!(value_at(&spec, spec.lot, 3), Some(2));
        assert_eq!(value_at(&spec, spec.lot + 1, 2), Some(2));
        assert_eq!(value_at(&spec, 0, 3), Some(0));
        assert_eq!(value_at(&spec, Amount::MAX, 3), None);
    }

    #[test]
    fn a_price_with_more_decimals_than_the_quote_token_is_refused() {
        let made = MarketSpec::new(MarketId(0), "A-B", token(0, 18, 6), token(1, 6, 2), 3, true);
        let text = made.unwrap_err().to_string();
        assert_eq!(
            text,
            "market A-B cannot be traded: a price has 3 decimals and an amount of the quote token 2, so that the value of an order is no exact amount"
        );
        let same = MarketSpec::new(
            MarketId(0),
            "A-A",
            token(0, 18, 6),
            token(0, 18, 6),
            3,
            true,
        );
        assert!(matches!(same, Err(MarketError::Inconsistent { .. })));
    }
}
