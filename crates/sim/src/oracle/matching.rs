//! The rules of matching and fills: which orders must trade, how much and at which price, compared with the reported
//! trades.

use crate::invariants::table::Invariant;
use cambist_core::{Amount, Hash, OrderKind, OrderStatus, Side, TokenId};
use cambist_venue::Executed;

use super::market::{self, Market, place};
use super::order::Order;
use super::{Broken, Oracle};
use crate::oracle::wide_integer::against;

/// Reported trades, in order.
pub(super) struct ReportedTrades<'a> {
    trades: &'a [Executed],
    next: usize,
}

impl<'a> ReportedTrades<'a> {
    pub(super) const fn new(trades: &'a [Executed]) -> Self {
        Self { trades, next: 0 }
    }

    /// Those read since a mark.
    pub(super) fn since(&self, mark: usize) -> &'a [Executed] {
        &self.trades[mark..self.next]
    }

    pub(super) const fn mark(&self) -> usize {
        self.next
    }

    fn next(&mut self) -> Option<&'a Executed> {
        let trade = self.trades.get(self.next)?;
        self.next += 1;
        Some(trade)
    }

    /// An error if a trade was reported that the rules do not give.
    pub(super) fn is_empty(&self) -> Result<(), Broken> {
        self.trades.get(self.next).map_or(Ok(()), |trade| {
            let detail = format!(
                "{} traded with {} for no reason",
                trade.taker, trade.trade.maker
            );
            Err((Invariant::OracleTrade, detail))
        })
    }
}

/// The next step of an incoming order.
enum Next {
    /// Trades with the first order in the book: base and quote units.
    Fill(u64, Amount, Amount),
    /// The first order ends, because its remainder has no price.
    Ends(u64),
    /// It reaches no further order, or is filled.
    Stops,
    /// Its remainder has no price.
    TooSmall,
    /// The first order is the taker's own.
    Own,
}

impl Oracle {
    /// Matches an order, after which it rests or ends.
    pub(super) fn match_up(
        &mut self,
        number: u64,
        reported: &mut ReportedTrades<'_>,
    ) -> Result<(), Broken> {
        let stopped = loop {
            match self.next_of(number) {
                Next::Fill(maker, base, quote) => {
                    self.fill(number, maker, (base, quote), reported)?;
                }
                Next::Ends(maker) => self.close(maker, OrderStatus::Processed)?,
                next @ (Next::Stops | Next::TooSmall | Next::Own) => break next,
            }
        };
        let order = &self.orders[&number];
        let market = &self.markets[order.market];
        let rest = order.room(market, order.level);
        let traded = order.base_filled > 0;
        let used_up = rest == 0 || self.is_dust(market, rest, order.level);
        let end = match stopped {
            _ if traded && used_up => OrderStatus::Processed,
            Next::TooSmall if traded => OrderStatus::Processed,
            Next::TooSmall | Next::Own => OrderStatus::Cancelled,
            _ if order.kind == OrderKind::TakerOnly || rest == 0 => OrderStatus::Cancelled,
            _ => return self.join_book(number, rest),
        };
        self.close(number, end)
    }

    /// It joins behind all others at its price.
    pub(super) fn join_book(&mut self, number: u64, rest: Amount) -> Result<(), Broken> {
        self.rank += 1;
        let rank = self.rank;
        let order = self.order_mut(number)?;
        let at = place(order.side, order.level, rank);
        (order.rest, order.place) = (rest, Some(at));
        let (side, market) = (order.side, order.market);
        self.markets[market].line_mut(side).insert(at, number);
        Ok(())
    }

    fn next_of(&self, number: u64) -> Next {
        let taker = &self.orders[&number];
        let market = &self.markets[taker.market];
        let line = market.line(taker.side.opposite());
        let Some((at, first)) = line.first_key_value() else {
            return Next::Stops;
        };
        let price = market::price(taker.side.opposite(), *at);
        if taker.is_full() || !taker.reaches(price) {
            return Next::Stops;
        }
        let maker = &self.orders[first];
        if maker.account == taker.account {
            return Next::Own;
        }
        let available = available(market, taker, price);
        let base = available.min(maker.rest);
        if base == 0 {
            return Next::TooSmall;
        }
        if let Some(quote) = priced(market, taker, maker.side, price, base) {
            return Next::Fill(*first, base, quote);
        }
        let lot = market.lot(price);
        let whole = base - base % lot;
        match priced(market, taker, maker.side, price, whole) {
            Some(quote) if whole > 0 => Next::Fill(*first, whole, quote),
            _ if available < lot => Next::TooSmall,
            _ => Next::Ends(*first),
        }
    }

    /// One trade by the rules, compared with the reported one.
    fn fill(
        &mut self,
        taker: u64,
        maker: u64,
        (base, quote): (Amount, Amount),
        reported: &mut ReportedTrades<'_>,
    ) -> Result<(), Broken> {
        let market = &self.markets[self.orders[&taker].market];
        let (maker_bips, taker_bips) = (market.maker_bips, market.taker_bips);
        let trade = reported.next();
        self.judge(trade, (taker, maker), (base, quote))?;
        let taker_fee = self.pay(taker, base, quote, taker_bips)?;
        let maker_fee = self.pay(maker, base, quote, maker_bips)?;
        if let Some(reported) = trade
            && (reported.trade.maker_fee, reported.trade.taker_fee) != (maker_fee, taker_fee)
        {
            let fees = (reported.trade.maker_fee, reported.trade.taker_fee);
            let detail = format!(
                "fees of {} with {}: {fees:?} reported, {:?} due",
                reported.taker,
                reported.trade.maker,
                (maker_fee, taker_fee)
            );
            return Err((Invariant::OracleFee, detail));
        }
        let order = &self.orders[&maker];
        let market = &self.markets[order.market];
        let rest = order.room(market, order.level);
        if rest == 0 || self.is_dust(market, rest, order.level) {
            return self.close(maker, OrderStatus::Processed);
        }
        self.order_mut(maker)?.rest = rest;
        Ok(())
    }

    /// Whether a reported trade is the expected one; the name gives the difference.
    fn judge(
        &self,
        reported: Option<&Executed>,
        (taker, maker): (u64, u64),
        due: (Amount, Amount),
    ) -> Result<(), Broken> {
        let (taker, maker) = (&self.orders[&taker], &self.orders[&maker]);
        let wrong = |name, what: &str| {
            let detail = format!("{} with {}: {what}", taker.hash, maker.hash);
            Err((name, detail))
        };
        let Some(reported) = reported else {
            return wrong(Invariant::OracleTrade, "due and not reported");
        };
        let trade = &reported.trade;
        let parties = (reported.taker, trade.maker, reported.at, trade.taker_side);
        let same = parties == (taker.hash, maker.hash, self.now, taker.side)
            && trade.price.0 == maker.level
            && (trade.base, trade.quote) == due;
        if same && within(taker, due) && within(maker, due) {
            return Ok(());
        }
        let known = |hash: &Hash| self.by_hash.contains_key(hash);
        if !known(&reported.taker) || !known(&trade.maker) {
            let detail = format!(
                "{} traded with {}: one has ended",
                reported.taker, trade.maker
            );
            return Err((Invariant::OracleTradedAfterEnd, detail));
        }
        if reported.at != self.now || reported.taker != taker.hash || trade.taker_side != taker.side
        {
            return wrong(
                Invariant::OracleTrade,
                &format!("due, and {} was reported", reported.taker),
            );
        }
        if trade.maker != maker.hash {
            return wrong(
                Invariant::OraclePriority,
                &format!("due, and {} was filled", trade.maker),
            );
        }
        if trade.price.0 != maker.level {
            let (price, level) = (trade.price.0, maker.level);
            return wrong(
                Invariant::OraclePrice,
                &format!("at {price}, and {level} is the maker's"),
            );
        }
        let amounts = (trade.base, trade.quote);
        if !within(taker, amounts) || !within(maker, amounts) {
            return wrong(
                Invariant::OracleLimit,
                &format!("{amounts:?} is beyond what was signed"),
            );
        }
        if amounts != due {
            return wrong(
                Invariant::OracleAmount,
                &format!("{amounts:?} reported, {due:?} due"),
            );
        }
        Ok(())
    }

    /// One party's half: pays from its lock and receives, one of them with the fee, which is returned.
    pub(super) fn pay(
        &mut self,
        number: u64,
        base: Amount,
        quote: Amount,
        bips: u8,
    ) -> Result<Amount, Broken> {
        let order = self.order_mut(number)?;
        let (side, account, bips) = (order.side, order.account, bips.min(order.fee_bips_max));
        let (sold, bought) = match side {
            Side::Buy => (quote, base),
            Side::Sell => (base, quote),
        };
        let on_top = order.fee_on_top;
        let charged = if on_top { sold } else { bought };
        let fee = charged * Amount::from(bips) / 10_000;
        order.base_filled += base;
        order.quote_filled += quote;
        order.fee += fee;
        let (sell, buy) = self.tokens_of(&self.orders[&number]);
        let (paid, got, fee_token) = if on_top {
            (sold + fee, bought, sell)
        } else {
            (sold, bought - fee, buy)
        };
        self.money.unlock(account, sell, paid)?;
        self.money.take(account, sell, paid)?;
        self.money.give(account, buy, got);
        self.money.give(self.collector, fee_token, fee);
        self.note_own(number);
        Ok(fee)
    }

    /// A swap: completely at once, or not at all (R-SWP-03).
    pub(super) fn swap(&mut self, number: u64) -> Result<(), Broken> {
        let order = &self.orders[&number];
        let (Some(index), side) = (order.pool, order.side) else {
            return Ok(());
        };
        let (token, sold, least) = match side {
            Side::Buy => (1, order.quote, order.base),
            Side::Sell => (0, order.base, order.quote),
        };
        let bips = self.markets[order.market].taker_bips;
        let pool = &self.pools[index];
        let bought = pool.pays(token, sold);
        let Some(bought) = bought.filter(|bought| *bought >= least && pool.takes_swaps) else {
            return self.close(number, OrderStatus::Cancelled);
        };
        let (base, quote) = match side {
            Side::Buy => (bought, sold),
            Side::Sell => (sold, bought),
        };
        self.pay(number, base, quote, bips)?;
        let pool = &mut self.pools[index];
        pool.held[token] += sold;
        pool.held[1 - token] -= bought;
        self.close(number, OrderStatus::Processed)
    }

    /// The tokens that an order sells and buys.
    pub(super) fn tokens_of(&self, order: &Order) -> (TokenId, TokenId) {
        let market = &self.markets[order.market];
        match order.side {
            Side::Buy => (market.quote, market.base),
            Side::Sell => (market.base, market.quote),
        }
    }

    /// Whether a remainder counts as filled (R-FIL-06).
    fn is_dust(&self, market: &Market, rest: Amount, price: u64) -> bool {
        let dust = |token| self.tokens.get(&token).map_or(0, |(_, dust)| *dust);
        let value = market.value_down(rest, price).unwrap_or(Amount::MAX);
        rest < dust(market.base) || value < dust(market.quote)
    }
}

/// Base units that a taker can trade at a price. A seller by quote amount gets the last unit (R-FIL-04).
fn available(market: &Market, taker: &Order, price: u64) -> Amount {
    let room = taker.room(market, price);
    if taker.side == Side::Buy || taker.by_base {
        return room;
    }
    let left = taker.quote.saturating_sub(taker.quote_filled);
    let more = room.saturating_add(1);
    let brings = |base| market.value_down(base, price);
    let is_short = brings(room).is_some_and(|value| value < left);
    let fits = brings(more).is_some_and(|value| value <= left);
    if is_short && fits && more <= taker.base.saturating_sub(taker.base_filled) {
        more
    } else {
        room
    }
}

/// Quote units for base units at the maker's price, rounded in the maker's favour, if the taker's own ratio and amount
/// allow them (R-FIL-01, R-FIL-02).
fn priced(market: &Market, taker: &Order, maker: Side, price: u64, base: Amount) -> Option<Amount> {
    let quote = match maker {
        Side::Buy => market.value_down(base, price)?,
        Side::Sell => market.value_up(base, price)?,
    };
    let affordable = taker.by_base || quote <= taker.quote.saturating_sub(taker.quote_filled);
    (quote > 0 && affordable && allows(taker, base, quote)).then_some(quote)
}

/// Whether a trade is within an order's own ratio.
fn allows(order: &Order, base: Amount, quote: Amount) -> bool {
    let paid = against(quote, order.ratio.0, base, order.ratio.1);
    match order.side {
        Side::Buy => paid.is_le(),
        Side::Sell => paid.is_ge(),
    }
}

/// Whether an order allows one more trade: its ratio, and at most the signed amount paid.
fn within(order: &Order, (base, quote): (Amount, Amount)) -> bool {
    let gives = match order.side {
        Side::Buy => quote,
        Side::Sell => base,
    };
    gives <= order.unsold() && allows(order, base, quote)
}
