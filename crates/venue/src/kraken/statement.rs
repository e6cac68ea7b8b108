//! Ledger entries and trades of one account, complete from the account's first request of Kraken's interface.
//!
//! Every entry states the balance after it. What changes a balance otherwise than by trading (deposits, withdrawals,
//! transfers, pools) is booked as one entry by what the balance is, before the next trade or request, so that entries
//! always add up to the balance.

use std::collections::VecDeque;

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, MarketId, Price, Side, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

/// Ledger entries kept for each trade that is kept: base and quote, and as many of other kinds.
const ENTRIES_PER_TRADE: usize = 4;

/// Cause of a ledger entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LedgerCause {
    /// The trade of this number.
    Trade(u64),
    /// Funds that came otherwise.
    Deposit,
    /// Funds that went otherwise.
    Withdrawal,
}

/// A change of one token's balance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Its number; numbers rise over all accounts.
    pub number: u64,
    /// When it was booked.
    pub at: VenueTime,
    /// Its cause.
    pub cause: LedgerCause,
    /// The token.
    pub token: TokenId,
    /// Whether `amount` leaves the account.
    pub is_debit: bool,
    /// Base units, before the fee.
    pub amount: Amount,
    /// Fee in base units of the same token, which leaves the account as well.
    pub fee: Amount,
    /// The balance after it, base units.
    pub balance: Amount,
}

/// A fill of one order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KrakenTrade {
    /// Its number; numbers rise over all accounts.
    pub number: u64,
    /// When it happened.
    pub at: VenueTime,
    /// Number of the order, as clients know it.
    pub order: u64,
    /// The market.
    pub market: MarketId,
    /// The order's side.
    pub side: Side,
    /// Whether the order was resting.
    pub is_maker: bool,
    /// Whether the order was a market order.
    pub is_market_order: bool,
    /// Price in ticks.
    pub price: Price,
    /// Base units.
    pub base: Amount,
    /// Quote units.
    pub quote: Amount,
    /// Fee in base units of its token.
    pub fee: Amount,
    /// Whether the fee is in the base token.
    pub fee_is_base: bool,
    /// Numbers of its two ledger entries: base, quote.
    pub ledgers: [u64; 2],
}

/// What one trade changes of one token's balance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub token: TokenId,
    pub is_debit: bool,
    pub amount: Amount,
    pub fee: Amount,
    /// The balance after the trade.
    pub total: Amount,
}

impl Leg {
    /// The balance before the trade.
    fn before(&self) -> Amount {
        if self.is_debit {
            self.total + self.amount + self.fee
        } else {
            self.total + self.fee - self.amount
        }
    }
}

/// Entries and trades of one account, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Statement {
    /// Balances after the newest entry of each token.
    booked: SortedMap<TokenId, Amount>,
    pub(super) entries: VecDeque<LedgerEntry>,
    pub(super) trades: VecDeque<KrakenTrade>,
}

impl Statement {
    /// Books what changed otherwise than by trading.
    pub(super) fn book_flow(
        &mut self,
        at: VenueTime,
        token: TokenId,
        total: Amount,
        next: &mut u64,
    ) {
        let booked = self.booked.get(&token).copied().unwrap_or(0);
        if total == booked {
            return;
        }
        let is_debit = total < booked;
        let cause = if is_debit {
            LedgerCause::Withdrawal
        } else {
            LedgerCause::Deposit
        };
        let entry = LedgerEntry {
            number: number(next),
            at,
            cause,
            token,
            is_debit,
            amount: total.abs_diff(booked),
            fee: 0,
            balance: total,
        };
        self.booked.insert(token, total);
        self.entries.push_back(entry);
    }

    /// Books both legs of a trade; `trade.number` and `trade.ledgers` are set here.
    pub(super) fn book_trade(
        &mut self,
        mut trade: KrakenTrade,
        legs: [Leg; 2],
        next: [&mut u64; 2],
        kept: usize,
    ) {
        let [next_trade, next_entry] = next;
        trade.number = number(next_trade);
        for (leg, ledger) in legs.iter().zip(&mut trade.ledgers) {
            self.book_flow(trade.at, leg.token, leg.before(), next_entry);
            *ledger = number(next_entry);
            self.entries.push_back(LedgerEntry {
                number: *ledger,
                at: trade.at,
                cause: LedgerCause::Trade(trade.number),
                token: leg.token,
                is_debit: leg.is_debit,
                amount: leg.amount,
                fee: leg.fee,
                balance: leg.total,
            });
            self.booked.insert(leg.token, leg.total);
        }
        self.trades.push_back(trade);
        self.trim(kept);
    }

    /// Drops the oldest beyond what is kept.
    pub(super) fn trim(&mut self, kept: usize) {
        while self.trades.len() > kept {
            self.trades.pop_front();
        }
        while self.entries.len() > kept.saturating_mul(ENTRIES_PER_TRADE) {
            self.entries.pop_front();
        }
    }
}

fn number(next: &mut u64) -> u64 {
    *next += 1;
    *next
}
