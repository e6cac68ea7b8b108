//! What a strategy author needs, on one page.
//!
//! A strategy looks at a [`View`] and says what it wants in [`Targets`]. It never sends, cancels, signs
//! or waits: comparing the wish with what works, risk, budget and sending are the engine's. It must be
//! deterministic, do no input or output, and take its only time from [`View::now`].

use crate::market::{MarketSpec, Price, Qty, Side};
use crate::notification::{Fill, Withheld};
use crate::order::ClientOrderId;
use crate::pool::PoolBalances;
use crate::time::Time;
use crate::token::Amount;

/// A price level with our own orders already taken out: ticks and whole lots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookLevel {
    /// Price in ticks.
    pub price: Price,
    /// Lots, rounded down.
    pub qty: Qty,
}

/// One of this strategy's orders that may be resting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnOrder {
    /// Its id.
    pub id: ClientOrderId,
    /// Side.
    pub side: Side,
    /// Price in ticks.
    pub price: Price,
    /// Lots not yet filled; while a start is below full size, as many as they are at full size.
    pub remaining: Qty,
    /// Close to expiry: it will be replaced if its quote is still wanted.
    pub expiring: bool,
    /// A cancel is under way.
    pub cancelling: bool,
}

/// What the strategy may use of the account, in base units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Base token held (ledger).
    pub base: Amount,
    /// Quote token held (ledger).
    pub quote: Amount,
}

/// The pool beside the market, if one is configured and what it holds is known and fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolView {
    /// Base tokens in the pool, base units.
    pub base: Amount,
    /// Quote tokens in the pool, base units.
    pub quote: Amount,
    /// Shares in circulation.
    pub supply: Amount,
    /// Our shares (ledger).
    pub held: Amount,
    /// A join or an exit is under way; what is wanted of the pool is not looked at until it ends.
    pub moving: bool,
    /// When the last join or exit of this run ended, whatever came of it.
    pub moved: Option<Time>,
}

impl PoolView {
    /// What the pool holds, base first.
    pub(crate) const fn new(
        balances: PoolBalances,
        base_at: usize,
        held: Amount,
        moving: bool,
        moved: Option<Time>,
    ) -> Self {
        Self {
            base: balances.pooled[base_at],
            quote: balances.pooled[1 - base_at],
            supply: balances.supply,
            held,
            moving,
            moved,
        }
    }
}

/// Everything a strategy may look at.
#[derive(Clone, Debug)]
pub struct View<'a> {
    /// The engine's time.
    pub now: Time,
    /// The market.
    pub market: &'a MarketSpec,
    /// Bids without our orders, best first.
    pub bids: &'a [BookLevel],
    /// Asks without our orders, best first.
    pub asks: &'a [BookLevel],
    /// Middle of the book in **half ticks** (best bid + best ask), or twice the configured seed price
    /// when a side is empty. Decisions are only asked for when there is one.
    pub mid: u64,
    /// What we hold.
    pub holdings: Holdings,
    /// The pool beside the market.
    pub pool: Option<PoolView>,
    /// Own orders that may be resting, oldest first.
    pub own: &'a [OwnOrder],
    /// Fills booked since the strategy was last asked.
    pub fills: &'a [Fill],
}

impl View<'_> {
    /// Value of the base holding at the mid over the value of everything held, in ten-thousandths.
    /// `None` when nothing is held or the value cannot be counted.
    pub fn base_share_bps(&self) -> Option<u32> {
        // quote value = base / lot · quote_per_lot_tick · mid / 2; cross-multiplied to stay exact.
        let base = self
            .holdings
            .base
            .checked_mul(self.market.quote_per_lot_tick)?
            .checked_mul(u128::from(self.mid))?
            / (2 * self.market.lot);
        let all = base.checked_add(self.holdings.quote)?;
        let share = base.checked_mul(10_000)?.checked_div(all)?;
        u32::try_from(share).ok()
    }
}

/// A wanted resting order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote {
    /// Side.
    pub side: Side,
    /// Price in ticks.
    pub price: Price,
    /// Lots.
    pub qty: Qty,
    /// Distance rank from the mid, 0 nearest; nearer levels are placed first.
    pub level: u16,
}

impl Quote {
    /// Whether an order for one would be an order for the other.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.side, self.price, self.qty) == (other.side, other.price, other.qty)
    }
}

/// What a strategy wants. Starts empty: wanting nothing means that own orders are cancelled, and that
/// shares of the pool stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    quotes: Vec<Quote>,
    shares: Option<Amount>,
    withheld: [Option<Withheld>; 2],
}

impl Targets {
    /// Most quotes one decision may hold; what is asked for after that is dropped, so ask for the
    /// nearest levels first.
    pub const CAPACITY: usize = 64;

    /// Wants a resting order. Zero price or quantity is nothing.
    pub fn quote(&mut self, side: Side, price: Price, qty: Qty, level: u16) {
        if price.0 > 0 && qty.0 > 0 && self.quotes.len() < Self::CAPACITY {
            self.quotes.push(Quote {
                side,
                price,
                qty,
                level,
            });
        }
    }

    /// The wanted quotes in the order they were asked for.
    pub fn quotes(&self) -> &[Quote] {
        &self.quotes
    }

    /// Says why nothing is wanted on a side, for people: status, log and metrics show it while the side
    /// has no quotes. Without it they show [`Control::NotWanted`](crate::control::Control::NotWanted).
    /// It is nothing beside a quote of that side.
    pub fn withhold(&mut self, side: Side, why: impl Into<Withheld>) {
        self.withheld[side as usize] = Some(why.into());
    }

    /// Why nothing is wanted on a side, if that was said.
    pub fn withheld(&self, side: Side) -> Option<Withheld> {
        self.withheld[side as usize]
    }

    /// Keeps only some quotes; by side, whether any went.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Quote) -> bool) -> [bool; 2] {
        let mut gone = [false; 2];
        self.quotes.retain(|quote| {
            let keeps = keep(quote);
            gone[quote.side as usize] |= !keeps;
            keeps
        });
        gone
    }

    /// Changes every quantity; a quote of nothing is no quote. By side, whether any went.
    pub(crate) fn scale(&mut self, scaled: impl Fn(Qty) -> Qty) -> [bool; 2] {
        for quote in &mut self.quotes {
            quote.qty = scaled(quote.qty);
        }
        self.retain(|quote| quote.qty.0 > 0)
    }

    /// Wants to hold this many shares of the pool beside the market, in base units of its LP token. The
    /// engine joins or exits for the difference from what is held, one move at a time; the last word
    /// of a decision counts. Hysteresis is the strategy's: saying nothing leaves the shares alone.
    pub fn hold_shares(&mut self, shares: Amount) {
        self.shares = Some(shares);
    }

    /// The wanted shares, if anything was said about them.
    pub fn shares(&self) -> Option<Amount> {
        self.shares
    }

    /// Forgets everything wanted.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// A strategy: a deterministic function from views to targets, with a little memory.
pub trait Strategy: Send {
    /// Says what is wanted now. `targets` is empty on entry.
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets);

    /// The memory as bytes that `restore` understands; stateless strategies keep the default.
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes back what `save` gave. Returns false if the bytes are not understood, in which case the
    /// strategy begins afresh.
    fn restore(&mut self, saved: &[u8]) -> bool {
        saved.is_empty()
    }
}
