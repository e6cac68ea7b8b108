//! The interface of strategies, on one page.
//!
//! A strategy reads a [`View`] and fills [`Targets`]. It never sends, cancels, signs or waits: the engine compares the
//! targets with the orders that may be alive, and applies risk controls, budget and transmission. A strategy must be
//! deterministic, do no input or output, and take its only time from [`View::now`].

use serde::{Deserialize, Serialize};

use crate::elsewhere::OtherHoldings;
use crate::market::{MarketSpec, Price, Qty, Side};
use crate::math::{mul_div_ceil, mul_div_floor};
use crate::notification::{Fill, Withheld};
use crate::order::ClientOrderId;
use crate::reference::Reference;
use crate::shares::quote_value;
use crate::time::Time;
use crate::token::Amount;

/// A price level without our own orders: ticks and whole lots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Lots not yet filled; below full size, the corresponding lots at full size.
    pub remaining: Qty,
    /// Close to expiry: it will be replaced if its quote is still a target.
    pub expiring: bool,
    /// A cancel is in progress.
    pub cancelling: bool,
}

/// Holdings that the strategy may use, in base units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Base token (ledger).
    pub base: Amount,
    /// Quote token (ledger).
    pub quote: Amount,
}

/// What a strategy has traded at its market in all runs: the sums of its fills as the store keeps them, so that they are
/// exact through kills and restarts. Base units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traded {
    /// Bought.
    pub bought: Amount,
    /// Sold.
    pub sold: Amount,
}

impl Traded {
    /// Adds an amount to a side.
    pub fn add(&mut self, side: Side, base: Amount) {
        let total = match side {
            Side::Buy => &mut self.bought,
            Side::Sell => &mut self.sold,
        };
        *total = total.saturating_add(base);
    }

    /// The total of a side.
    pub const fn of(&self, side: Side) -> Amount {
        match side {
            Side::Buy => self.bought,
            Side::Sell => self.sold,
        }
    }
}

/// The pool beside the market, if one is configured and its balances are known and fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolView {
    /// Base that the pool's price and its swaps follow from, base units: what it holds, or virtual reserves of a range.
    pub base: Amount,
    /// Quote, the same way.
    pub quote: Amount,
    /// Shares in circulation; for a range some liquidity, which the other amounts are of.
    pub supply: Amount,
    /// What liquidity in a range of prices is due, if shares are that. Shares of any other pool are due their part of
    /// `base` and `quote` ([`due`](Self::due)).
    pub range: Option<RangeDue>,
    /// Fees that are owed to our shares beside what these are due, if the pool pays them out. `None` where fees stay in the
    /// pool, and while it is unknown: also until it was read after the last join, exit or swap ended.
    pub owed: Option<Owed>,
    /// Our shares (ledger).
    pub held: Amount,
    /// A join, an exit or a swap is undecided; targets of shares and swaps are ignored until it ends.
    pub moving: bool,
    /// When the last join, exit or swap of this run ended, with any result.
    pub moved: Option<Time>,
    /// What a swap costs and whether one is possible now.
    pub swap: SwapTerms,
}

/// What the liquidity of [`PoolView::supply`] in a range of prices is due. One of them is 0 where the price is outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeDue {
    /// Base units of the base token.
    pub base: Amount,
    /// Base units of the quote token.
    pub quote: Amount,
}

/// What is owed to our shares of a pool, and from which value on it may be collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owed {
    /// Base units of the base token.
    pub base: Amount,
    /// Base units of the quote token.
    pub quote: Amount,
    /// `market.pool.collect_value`, in quote units; 0 means never.
    pub collect_value: Amount,
}

impl Owed {
    /// Whether it may be collected: by an exit of one base unit of shares.
    pub fn is_collected(&self, market: &MarketSpec, mid: u64) -> bool {
        let worth =
            quote_value(market, self.base, mid).and_then(|base| base.checked_add(self.quote));
        self.collect_value > 0 && worth.is_some_and(|worth| worth >= self.collect_value)
    }
}

impl PoolView {
    /// Base and quote that all shares of `supply` are due, base units.
    pub const fn due(&self) -> (Amount, Amount) {
        match self.range {
            Some(due) => (due.base, due.quote),
            None => (self.base, self.quote),
        }
    }
}

/// Another market of this venue or of another one, which the strategy named in [`Strategy::reads`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherMarket<'a> {
    /// The market: its tokens, and the units of its prices and quantities. Before another venue has answered for the first
    /// time, those of the strategy's own market.
    pub market: &'a MarketSpec,
    /// Age of its newest accepted depth in milliseconds, however old; `None` before the first.
    pub age_ms: Option<u64>,
    /// Its book, or why it is missing: its depth is older than `poll.depth_age_max_ms`, does not change although it
    /// should (`market.frozen_after_s`), or the venue lists the market otherwise than at the start.
    pub book: Result<OtherBook<'a>, Withheld>,
    /// What is held at its venue, if that is another one and known. Holdings at this venue are in [`View::holdings`].
    pub holdings: Option<OtherHoldings>,
    /// What another venue takes of what a taking order buys, ten-thousandths; 0 for a market of this one.
    pub taker_fee_bips: u16,
}

/// The book of another market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherBook<'a> {
    /// Bids without our orders, best first, in ticks and lots of that market.
    pub bids: &'a [BookLevel],
    /// Asks without our orders, best first.
    pub asks: &'a [BookLevel],
    /// Middle of the book in **half ticks of that market**, or why it is not fit for pricing: a side is empty, or it is
    /// wider or thinner than that market's `spread_max_bps` and `depth_min` allow. Never the configured seed price.
    pub mid: Result<u64, Withheld>,
}

/// The terms of a swap with the pool beside a market.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwapTerms {
    /// The pool takes swaps, the configuration allows them (`market.pool.swap_value_max`), nothing is undecided at the
    /// pool, and its balances were read after the last transaction with it ended.
    pub possible: bool,
    /// The pool's fee, taken inside the curve, in ten-thousandths of what is sold.
    pub fee_bips: u16,
    /// The venue's fee for taking, out of what is bought, in ten-thousandths.
    pub taker_fee_bips: u16,
    /// Most that a swap may yield less than the pool pays at these balances, in ten-thousandths; a target that accepts
    /// less is refused.
    pub slippage_bps: u32,
    /// Largest value of one swap, in quote units.
    pub value_max: Amount,
}

/// A wanted swap with the pool beside the market: sells all of `sell`, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedSwap {
    /// `Sell` sells base to the pool, `Buy` buys base from it.
    pub side: Side,
    /// Base units of the sold token.
    pub sell: Amount,
    /// Least base units of the bought token, before the venue's fee: the only price limit that is signed.
    pub least: Amount,
}

impl WantedSwap {
    /// The swap at a share of full size, its price limit rounded in our favour. It may become nothing.
    pub(crate) fn scaled(self, share_bps: u32) -> Self {
        let share = Amount::from(share_bps);
        Self {
            sell: mul_div_floor(self.sell, share, 10_000).unwrap_or(0),
            least: mul_div_ceil(self.least, share, 10_000).unwrap_or(Amount::MAX),
            ..self
        }
    }
}

/// The input of a strategy.
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
    /// Middle of the book in **half ticks** (best bid + best ask), or twice the configured seed price when a side is
    /// empty. A strategy is only asked when there is one.
    pub mid: u64,
    /// Holdings.
    pub holdings: Holdings,
    /// The pool beside the market.
    pub pool: Option<PoolView>,
    /// Prices of other places, in the order of the configuration.
    pub references: &'a [Reference<'a>],
    /// The other markets that the strategy reads, in the order of [`Strategy::reads`].
    pub markets: &'a [OtherMarket<'a>],
    /// Own orders that may be resting, oldest first.
    pub own: &'a [OwnOrder],
    /// Fills booked since the last decision of the strategy.
    pub fills: &'a [Fill],
    /// What the strategy has traded at this market in all runs.
    pub traded: Traded,
    /// Base units by side, buy then sell, that its orders of unknown state may still trade. They are not among `own`.
    pub unknown: [Amount; 2],
    /// What the venue takes of what a taking order buys, ten-thousandths; which token it is taken in is the market's
    /// ([`MarketSpec::fee_in`]).
    pub taker_fee_bips: u16,
}

impl View<'_> {
    /// Value of base at the mid over the value of all holdings, in ten-thousandths. `None` without holdings, and on
    /// overflow.
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

/// A target for a resting order.
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
    /// Whether an order for one would also be an order for the other.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (self.side, self.price, self.qty) == (other.side, other.price, other.qty)
    }
}

/// The output of a strategy. Starts empty: without quotes own orders are cancelled, and without a target of shares the
/// pool position remains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    quotes: Vec<Quote>,
    shares: Option<Amount>,
    swap: Option<WantedSwap>,
    withheld: [Option<Withheld>; 2],
    in_part: [bool; 2],
}

impl Targets {
    /// Most quotes of one decision; further ones are dropped, so add the nearest levels first.
    pub const CAPACITY: usize = 64;
    /// There is room for so many from the first on.
    const USUAL: usize = 16;

    /// Adds a quote. One with zero price or quantity is ignored.
    pub fn quote(&mut self, side: Side, price: Price, qty: Qty, level: u16) {
        if price.0 > 0 && qty.0 > 0 && self.quotes.len() < Self::CAPACITY {
            if self.quotes.is_empty() {
                self.quotes.reserve(Self::USUAL);
            }
            self.quotes.push(Quote {
                side,
                price,
                qty,
                level,
            });
        }
    }

    /// The quotes in the order they were added.
    pub fn quotes(&self) -> &[Quote] {
        &self.quotes
    }

    /// States why a side has no quotes: status, log and metrics report it while the side has none. Without it they
    /// report [`Control::NotWanted`](crate::control::Control::NotWanted). It is ignored if the side has a quote.
    pub fn withhold(&mut self, side: Side, why: impl Into<Withheld>) {
        self.withheld[side as usize] = Some(why.into());
    }

    /// The stated reason for no quotes on a side.
    pub fn withheld(&self, side: Side) -> Option<Withheld> {
        self.withheld[side as usize]
    }

    /// The quotes of a side are worth having in part: where the inventory band or the free balance does not allow the
    /// whole of one, an order for as much as they allow takes its place. The rest stays a target.
    pub fn take_in_part(&mut self, side: Side) {
        self.in_part[side as usize] = true;
    }

    /// Whether a smaller order may take the place of a quote of this side.
    pub fn is_taken_in_part(&self, side: Side) -> bool {
        self.in_part[side as usize]
    }

    /// Keeps only some quotes; returns by side whether any was removed.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Quote) -> bool) -> [bool; 2] {
        let mut gone = [false; 2];
        self.quotes.retain(|quote| {
            let keeps = keep(quote);
            gone[quote.side as usize] |= !keeps;
            keeps
        });
        gone
    }

    /// Scales every quantity; a quote of zero lots is removed. Returns by side whether any was removed.
    pub(crate) fn scale(&mut self, scaled: impl Fn(Qty) -> Qty) -> [bool; 2] {
        for quote in &mut self.quotes {
            quote.qty = scaled(quote.qty);
        }
        self.retain(|quote| quote.qty.0 > 0)
    }

    /// Sets the target of shares of the pool beside the market, in base units of its LP token. The engine joins or
    /// exits for the difference from the shares held, one transaction at a time; the last call of a decision counts. An
    /// exit of one base unit less collects what is owed to the shares, if [`Owed::is_collected`].
    /// Hysteresis is left to the strategy: without a target the shares remain.
    pub fn hold_shares(&mut self, shares: Amount) {
        self.shares = Some(shares);
    }

    /// The target of shares, if one was set.
    pub fn shares(&self) -> Option<Amount> {
        self.shares
    }

    /// Asks for one swap with the pool beside the market; the last call of a decision counts, and one that sells or
    /// accepts nothing is ignored. Not a state to be kept, as quotes are: a strategy that still asks when the pool was
    /// read again after the swap gets another one.
    pub fn swap(&mut self, wanted: WantedSwap) {
        if wanted.sell > 0 && wanted.least > 0 {
            self.swap = Some(wanted);
        }
    }

    /// The wanted swap, if there is one.
    pub fn wanted_swap(&self) -> Option<WantedSwap> {
        self.swap
    }

    /// Removes all targets.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// A strategy with other parameters and the state of the one that it replaces.
pub struct Replacement {
    /// The strategy.
    pub strategy: Box<dyn Strategy>,
    /// The parameters that differ, with both values: `bid_spread_bps 10 → 25`.
    pub changed: Vec<String>,
    /// Those of them that bear more risk than before.
    pub looser: Vec<String>,
}

/// A strategy: a deterministic function from views to targets, with a small state.
pub trait Strategy: Send {
    /// Decides the targets. `targets` is empty on entry.
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets);

    /// Names of the sources of reference prices that it reads.
    fn references(&self) -> &[String] {
        &[]
    }

    /// Names of the other configured markets of the venue that it reads ([`View::markets`]), each once. It is asked
    /// again when the book of one of them changes, appears or lapses.
    fn reads(&self) -> &[String] {
        &[]
    }

    /// Checks the markets that it reads, in the order of [`Strategy::reads`], before it is used; the error is a
    /// sentence for who configured it.
    fn check_reads(&self, _market: &MarketSpec, _others: &[&MarketSpec]) -> Result<(), String> {
        Ok(())
    }

    /// The state as bytes for `restore`; stateless strategies keep the default.
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Restores what `save` returned. Returns false if the bytes cannot be decoded; the strategy then starts without
    /// state.
    fn restore(&mut self, saved: &[u8]) -> bool {
        saved.is_empty()
    }

    /// The memory that outlives the run, for the next start of the daemon.
    fn save_durable(&self) -> Vec<u8> {
        self.save()
    }

    /// Takes back what `save_durable` of an earlier run gave. Times of that run count from another origin.
    /// Returns false if the bytes are not understood, in which case the strategy begins without memory.
    fn resume(&mut self, saved: &[u8]) -> bool {
        self.restore(saved)
    }

    /// The same strategy with other parameters, as the text that the shell builds it from, and with the state that this
    /// one has; or why not. The default is for strategies that are built without a text.
    fn with_parameters(
        &self,
        _market: &MarketSpec,
        _parameters: &str,
    ) -> Result<Replacement, String> {
        Err("its parameters are fixed".to_owned())
    }

    /// When it is asked again at the latest, although nothing has changed. A time that has passed means
    /// nothing.
    fn next_decision(&self) -> Option<Time> {
        None
    }

    /// For a strategy that runs in a process: the number of the newest view it has made for it, 0 before
    /// the first.
    fn view_seq(&self) -> u64 {
        0
    }

    /// For a strategy that runs in a process: the newest view as a line, once.
    fn take_view(&mut self) -> Option<String> {
        None
    }

    /// For a strategy that runs in a process: something happened to it. The error states what is wrong with
    /// what it answered.
    fn receive(&mut self, _now: Time, _message: &ProcessMessage) -> Result<(), String> {
        Err("this strategy has no process".to_owned())
    }
}

/// What happens to the process behind a strategy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessMessage {
    /// It runs, and has been sent nothing.
    Started,
    /// It answered with this line, without its end.
    Line(Vec<u8>),
    /// It does not run any more, or could not be started.
    Ended,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_beyond_the_capacity_and_those_of_nothing_are_dropped() {
        let mut targets = Targets::default();
        targets.quote(Side::Buy, Price(0), Qty(1), 0);
        targets.quote(Side::Buy, Price(1), Qty(0), 0);
        assert_eq!(targets.quotes(), []);
        for level in 0..100 {
            targets.quote(Side::Buy, Price(1), Qty(1), level);
        }
        assert_eq!(targets.quotes().len(), Targets::CAPACITY);
        let last = targets.quotes().last().map(|quote| quote.level);
        assert_eq!(last, Some(63), "the nearest levels come first");
    }
}
