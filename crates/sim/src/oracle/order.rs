//! One order as requested, and its state.

use cambist_core::order::FillBy;
use cambist_core::venue::FeeToken;
use cambist_core::{Amount, Hash, OrderKind, OrderStatus, Side, VenueTime};
use cambist_venue::{AccountId, NewOrder};

use super::market::{Market, Place};

/// An order that has not ended.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) hash: Hash,
    pub(super) account: AccountId,
    pub(super) market: usize,
    /// The pool that it swaps with.
    pub(super) pool: Option<usize>,
    pub(super) side: Side,
    pub(super) kind: OrderKind,
    /// Whether its base amount ends it; otherwise its quote amount does.
    pub(super) by_base: bool,
    pub(super) base: Amount,
    pub(super) quote: Amount,
    /// Base and quote whose ratio bounds its trades: its own, or those of the price that it was moved to.
    pub(super) ratio: (Amount, Amount),
    pub(super) level: u64,
    pub(super) fee_bips_max: u8,
    pub(super) storage_id: u32,
    pub(super) valid_until_s: u64,
    pub(super) status: OrderStatus,
    /// When it stops waiting, or its cancel takes effect.
    pub(super) due: Option<VenueTime>,
    /// Whether the exchange may let it fail when it stops waiting.
    pub(super) may_fail: bool,
    pub(super) base_filled: Amount,
    pub(super) quote_filled: Amount,
    pub(super) fee: Amount,
    /// Whether its fee comes on top of what it sells.
    pub(super) fee_on_top: bool,
    /// The remainder in the book, and its position.
    pub(super) rest: Amount,
    pub(super) place: Option<Place>,
}

impl Order {
    /// An accepted order.
    pub(super) fn new(
        order_request: &NewOrder,
        market: (usize, &Market),
        pool: Option<usize>,
    ) -> Option<Self> {
        let side = side_of(order_request, market.1)?;
        let (base, quote) = match side {
            Side::Buy => (order_request.buy_amount, order_request.sell_amount),
            Side::Sell => (order_request.sell_amount, order_request.buy_amount),
        };
        let level = market.1.level(side, base, quote);
        Some(Self {
            hash: order_request.hash,
            account: order_request.account,
            market: market.0,
            pool,
            side,
            kind: if pool.is_some() {
                OrderKind::TakerOnly
            } else {
                order_request.kind
            },
            by_base: (side == Side::Buy) == (order_request.fill_by == FillBy::Buy),
            base,
            quote,
            ratio: (base, quote),
            // A swap has no position in a book and needs no level.
            level: level.or(pool.map(|_| 0))?,
            fee_bips_max: u8::try_from(order_request.max_fee_bips).ok()?,
            storage_id: u32::try_from(order_request.storage_id).ok()?,
            valid_until_s: order_request.valid_until_s,
            status: OrderStatus::Waiting,
            due: None,
            may_fail: false,
            base_filled: 0,
            quote_filled: 0,
            fee: 0,
            fee_on_top: market.1.fee_in == FeeToken::Quote && side == Side::Buy,
            rest: 0,
            place: None,
        })
    }

    /// Amount of the sold token that it still sells.
    pub(super) const fn unsold(&self) -> Amount {
        match self.side {
            Side::Buy => self.quote.saturating_sub(self.quote_filled),
            Side::Sell => self.base.saturating_sub(self.base_filled),
        }
    }

    /// Amount of the sold token that it still locks: what it sells, and the highest fee on top of that.
    pub(super) fn bound(&self) -> Amount {
        if !self.fee_on_top {
            return self.unsold();
        }
        let whole = match self.side {
            Side::Buy => self.quote,
            Side::Sell => self.base,
        };
        let fees = (whole * Amount::from(self.fee_bips_max)).div_ceil(10_000);
        self.unsold() + fees.saturating_sub(self.fee)
    }

    /// Base units that it can still trade at a price (R-FIL-04).
    pub(super) fn room(&self, market: &Market, price: u64) -> Amount {
        if self.by_base {
            self.base.saturating_sub(self.base_filled)
        } else {
            market.worth(self.quote.saturating_sub(self.quote_filled), price)
        }
    }

    /// Whether the amount that ends it was traded.
    pub(super) const fn is_full(&self) -> bool {
        if self.by_base {
            self.base_filled >= self.base
        } else {
            self.quote_filled >= self.quote
        }
    }

    /// Whether it would trade at a price.
    pub(super) const fn reaches(&self, price: u64) -> bool {
        match self.side {
            Side::Buy => price <= self.level,
            Side::Sell => price >= self.level,
        }
    }
}

/// The side of an order at a market, if it trades its tokens.
pub(super) fn side_of(order_request: &NewOrder, market: &Market) -> Option<Side> {
    let pair = (order_request.sell_token, order_request.buy_token);
    if pair == (market.base, market.quote) {
        Some(Side::Sell)
    } else if pair == (market.quote, market.base) {
        Some(Side::Buy)
    } else {
        None
    }
}
