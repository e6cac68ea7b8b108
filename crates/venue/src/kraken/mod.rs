//! Kraken's spot interface on the same book and accounts: nonces, orders with deadline and expiry, amends, the timer
//! that cancels everything, ledger entries. Requests are authenticated by the server; names, decimals and JSON are its
//! part too. The rules are in `docs/kraken.md`.
//!
//! An order of this interface is an order of the book like any other. Its number is what clients know it by; an amend
//! that costs it its place in the queue continues it as another order of the book under the same number.

mod amend;
mod cancel;
mod error;
mod order;
mod rules;
mod statement;
mod views;

use std::collections::BTreeMap;

use cambist_core::venue::FeeToken;
use cambist_core::{Amount, MarketId, OrderKind, Price, Side, VenueTime};
use serde::{Deserialize, Serialize};

pub use self::error::KrakenError;
pub use self::order::kraken_hash;
pub use self::rules::KrakenRules;
pub use self::statement::{KrakenTrade, LedgerCause, LedgerEntry};
use self::statement::{Leg, Statement};
pub use self::views::{KrakenOrderView, KrakenStatus};
use crate::account::{AccountId, ApiKeyDigest};
use crate::orders::OrderKey;
use crate::request::RequestKind;
use crate::response::Trade;
use crate::venue::Venue;

/// How far ahead a deadline may be, in milliseconds.
pub const DEADLINE_MAX_MS: u64 = 60_000;
/// How far ahead an expiry has to be, and may be, in milliseconds.
pub const EXPIRY_MS: [u64; 2] = [5_000, 31 * 86_400_000];
/// The timer that cancels everything is below this, in seconds.
pub const CANCEL_AFTER_MAX_S: u64 = 86_400;

/// A request of Kraken's interface, with the API key that signed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KrakenCall {
    /// The account of the key.
    pub account: AccountId,
    /// Digest of the key; nonces rise for each key.
    pub key: ApiKeyDigest,
    /// The request's nonce.
    pub nonce: u64,
    /// By how much a nonce may be behind the highest one. With 0 every nonce is accepted once.
    pub nonce_window: u64,
    /// What is requested.
    pub action: KrakenAction,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KrakenAction {
    /// A request that only reads: uses the nonce.
    Read,
    /// New orders of one pair.
    Add {
        /// The orders.
        orders: Vec<NewKrakenOrder>,
        /// After this the orders are refused.
        deadline: Option<VenueTime>,
        /// Whether the orders are only checked.
        validate: bool,
    },
    /// Changes an order.
    Amend(Box<KrakenAmend>),
    /// Cancels orders.
    Cancel(Vec<OrderRef>),
    /// Cancels all orders.
    CancelAll,
    /// Cancels all orders after so many seconds; 0 ends the timer.
    CancelAfter {
        /// Seconds from now.
        timeout_s: u64,
    },
}

/// How a request names an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrderRef {
    /// By its number.
    Number(u64),
    /// By its client order id; of an open order.
    ClientId(String),
    /// All open orders with this reference.
    UserRef(i32),
}

/// Price and life of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KrakenOrderType {
    /// Takes what is there, and ends.
    Market,
    /// A limit order that takes what it can and rests.
    Limit(Price),
    /// A limit order that never takes.
    PostOnly(Price),
    /// A limit order that takes what it can, and ends.
    ImmediateOrCancel(Price),
}

/// An order as received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewKrakenOrder {
    /// The market.
    pub market: MarketId,
    /// Side.
    pub side: Side,
    /// Price and life.
    pub order_type: KrakenOrderType,
    /// Base units.
    pub volume: Amount,
    /// When it expires, in seconds since the Unix epoch; `None` for never.
    pub expires_s: Option<u32>,
    /// Which token its fees are taken in.
    pub fee_in: FeeToken,
    /// Client order id.
    pub client_id: Option<String>,
    /// The client's number, which need not be unique.
    pub user_ref: Option<i32>,
}

/// A change of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KrakenAmend {
    /// The order.
    pub order: OrderRef,
    /// Its new volume in base units, what was filled included.
    pub volume: Option<Amount>,
    /// Its new price.
    pub price: Option<Price>,
    /// Whether a new price that would take is refused.
    pub post_only: bool,
    /// After this the change is refused.
    pub deadline: Option<VenueTime>,
    /// Whether what is not filled yet has to be whole lots too, as it had to before version 7 of data folders. The new
    /// volume always has to be.
    pub left_in_lots: bool,
}

/// An accepted order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KrakenAdded {
    /// Its number; `None` if it was only checked.
    pub number: Option<u64>,
    /// Its immediate trades.
    pub trades: Vec<Trade>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KrakenReply {
    /// The nonce was used.
    Read,
    /// The orders, in the order of the request.
    Added(Vec<Result<KrakenAdded, KrakenError>>),
    /// The order was changed; the number of this change.
    Amended(u64),
    /// Number of orders that were cancelled, and whether some still wait for it.
    Cancelled {
        /// Orders.
        count: u32,
        /// Whether cancels take effect later.
        pending: bool,
    },
    /// The timer; `None` if it was ended.
    CancelAfter {
        /// The exchange's time.
        now: VenueTime,
        /// When all orders are cancelled.
        trigger: Option<VenueTime>,
    },
    /// Nothing but the nonce has changed.
    Refused(KrakenError),
}

impl KrakenReply {
    /// The immediate trades of accepted orders.
    pub fn trades(&self) -> impl Iterator<Item = &Trade> {
        let added = match self {
            Self::Added(added) => added.as_slice(),
            _ => &[],
        };
        added.iter().flatten().flat_map(|order| &order.trades)
    }
}

impl KrakenAction {
    /// Its name in listings.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Add { .. } => "add",
            Self::Amend(_) => "amend",
            Self::Cancel(_) => "cancel",
            Self::CancelAll => "cancel_all",
            Self::CancelAfter { .. } => "cancel_after",
        }
    }

    /// The kind of request of the first interface whose faults apply.
    pub(crate) const fn kind(&self) -> RequestKind {
        match self {
            Self::Add { .. } => RequestKind::Submit,
            Self::Amend(_) | Self::Cancel(_) | Self::CancelAll | Self::CancelAfter { .. } => {
                RequestKind::Cancel
            }
            Self::Read => RequestKind::Kraken,
        }
    }
}

/// What an order has beside that of the book.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OrderFields {
    /// What clients know it by, if it continues an amended order.
    number: Option<u64>,
    /// Filled before the last amend that made it another order of the book: base, quote, fee.
    filled_before: [Amount; 3],
    /// When its number was given out, if before this order of the book.
    opened: Option<VenueTime>,
    /// Whether another order of the book continues it.
    is_continued: bool,
    is_market_order: bool,
    user_ref: Option<i32>,
    /// After this it is not matched any more; only while it is delayed.
    deadline: Option<VenueTime>,
    /// Whether its volume or its price was changed.
    amended: Amended,
    /// Why it ended without being filled, where that does not follow from its status.
    ended: Option<Ended>,
}

/// Whether an order was amended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Amended {
    #[default]
    Never,
    Changed,
    /// By an amend that is refused if the order would take. Behind a delay that is judged when the order is matched.
    Posted,
}

/// Why an order ended as cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ended {
    /// It was to be cancelled.
    Requested,
    /// It met an order of the same owner.
    SelfTrade,
    /// It takes, and there was nothing more to take.
    NoLiquidity,
}

/// The state beside that of the first interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kraken {
    /// The highest nonce of each key.
    nonces: BTreeMap<ApiKeyDigest, u64>,
    statements: BTreeMap<AccountId, Statement>,
    /// By number of the order of the book.
    orders: BTreeMap<u64, OrderFields>,
    /// Amended orders: from the number that clients know to that of the order of the book.
    continued: BTreeMap<u64, u64>,
    /// When all orders of an account are cancelled.
    cancel_after: BTreeMap<AccountId, VenueTime>,
    trade_number: u64,
    ledger_number: u64,
    amend_number: u64,
    /// The rules of the requests that are executed now. Not part of the state: a log is executed again by the rules of
    /// the program that wrote it.
    #[serde(skip)]
    rules: KrakenRules,
}

impl Kraken {
    /// When the next timer is due.
    pub(crate) fn next_wakeup(&self) -> Option<VenueTime> {
        self.cancel_after.values().min().copied()
    }

    /// An account whose timer is due, which ends with that.
    pub(crate) fn take_due(&mut self, now: VenueTime) -> Option<AccountId> {
        let mut timers = self.cancel_after.iter();
        let account = timers.find_map(|(account, at)| (*at <= now).then_some(*account))?;
        self.cancel_after.remove(&account);
        Some(account)
    }

    /// Forgets an order that the book dropped.
    pub(crate) fn forget(&mut self, sequence: u64) {
        let fields = self.orders.remove(&sequence);
        if let Some(number) = fields.and_then(|fields| fields.number)
            && self.continued.get(&number) == Some(&sequence)
        {
            self.continued.remove(&number);
        }
    }

    /// Whether the deadline of a delayed order has passed.
    pub(crate) fn is_late(&self, sequence: u64, now: VenueTime) -> bool {
        let fields = self.orders.get(&sequence);
        let deadline = fields.and_then(|fields| fields.deadline);
        deadline.is_some_and(|deadline| deadline < now)
    }

    /// Whether a delayed order is refused if it would take, although it may take later.
    pub(crate) fn posts_once(&self, sequence: u64) -> bool {
        let fields = self.orders.get(&sequence);
        fields.is_some_and(|fields| fields.amended == Amended::Posted)
    }

    /// Whether a delayed order is not matched while the exchange accepts post-only orders: it is one of this interface
    /// that is not post-only.
    pub(crate) fn needs_open_mode(&self, sequence: u64, kind: OrderKind) -> bool {
        self.rules.are_published()
            && kind != OrderKind::MakerOnly
            && self.orders.contains_key(&sequence)
            && !self.posts_once(sequence)
    }

    /// Whether an order is a market order.
    pub(crate) fn is_market_order(&self, sequence: u64) -> bool {
        let fields = self.orders.get(&sequence);
        fields.is_some_and(|fields| fields.is_market_order)
    }

    /// Notes why an order of this interface ends.
    pub(crate) fn note_end(&mut self, sequence: u64, why: Ended) {
        if self.rules.are_published()
            && let Some(fields) = self.orders.get_mut(&sequence)
        {
            fields.ended = Some(why);
        }
    }

    /// What clients know an order of the book by.
    fn shown_number(&self, sequence: u64) -> u64 {
        let fields = self.orders.get(&sequence);
        fields.and_then(|fields| fields.number).unwrap_or(sequence)
    }
}

impl Venue {
    /// Executes what follows by these rules.
    pub const fn set_kraken_rules(&mut self, rules: KrakenRules) {
        self.kraken.rules = rules;
    }

    /// Answers a request of Kraken's interface. The nonce is used whatever the answer is.
    pub(crate) fn kraken(&mut self, call: &KrakenCall) -> KrakenReply {
        let highest = self.kraken.nonces.entry(call.key).or_insert(0);
        if call.nonce.saturating_add(call.nonce_window) <= *highest {
            return KrakenReply::Refused(KrakenError::InvalidNonce);
        }
        *highest = call.nonce.max(*highest);
        let account = call.account;
        self.book_flows(account);
        let answer = match &call.action {
            KrakenAction::Read => Ok(KrakenReply::Read),
            KrakenAction::Add {
                orders,
                deadline,
                validate,
            } => self
                .kraken_add(account, orders, *deadline, *validate)
                .map(KrakenReply::Added),
            KrakenAction::Amend(amend) => self.kraken_amend(account, amend),
            KrakenAction::Cancel(orders) => self.kraken_cancel(account, orders),
            KrakenAction::CancelAll => self.kraken_cancel_all(account),
            KrakenAction::CancelAfter { timeout_s } => {
                self.kraken_cancel_after(account, *timeout_s)
            }
        };
        answer.unwrap_or_else(KrakenReply::Refused)
    }

    /// Whether a deadline is within what is accepted, and not over.
    fn check_deadline(&self, deadline: Option<VenueTime>) -> Result<(), KrakenError> {
        match deadline {
            Some(deadline) if deadline < self.now => Err(KrakenError::DeadlineElapsed),
            Some(deadline) if deadline.ms_since(self.now) > DEADLINE_MAX_MS => {
                Err(KrakenError::InvalidDeadline)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// What an order of the book continues, if amends of an order led to it: the first hash of that order, and the base,
    /// the quote and the fee that were traded before.
    pub fn continues(
        &self,
        account: AccountId,
        hash: cambist_core::Hash,
    ) -> Option<(cambist_core::Hash, [Amount; 3])> {
        let key = self.find_hash(account, hash)?;
        let fields = self.kraken.orders.get(&self.orders.get(key).sequence)?;
        Some((kraken_hash(account, fields.number?), fields.filled_before))
    }

    /// The order of the book that continues a number, or is it.
    fn key_of_number(&self, account: AccountId, number: u64) -> Option<OrderKey> {
        let sequence = self.kraken.continued.get(&number).unwrap_or(&number);
        self.accounts.get(&account)?.orders.get(sequence).copied()
    }

    /// Books what changed the balances of an account otherwise than by trading. The first time it opens its statement.
    fn book_flows(&mut self, account: AccountId) {
        let Some(holder) = self.accounts.get(&account) else {
            return;
        };
        let statement = self.kraken.statements.entry(account).or_default();
        for (token, balance) in holder.balances() {
            let next = &mut self.kraken.ledger_number;
            statement.book_flow(self.now, token, balance.total, next);
        }
        statement.trim(self.config.limits.history_orders_max as usize);
    }

    /// Books a fill of an order whose account has a statement.
    pub(crate) fn record_fill(&mut self, key: OrderKey, trade: &Trade, is_maker: bool) {
        let order = self.orders.get(key);
        let Some(statement) = self.kraken.statements.get_mut(&order.account) else {
            return;
        };
        let market = &self.markets[usize::from(order.market.0)].config;
        let fee = if is_maker {
            trade.maker_fee
        } else {
            trade.taker_fee
        };
        let fee_is_base = order.fee_in.is_base(order.side);
        let account = &self.accounts[&order.account];
        let leg = |token, is_debit, amount, is_base| Leg {
            token,
            is_debit,
            amount,
            fee: if is_base == fee_is_base { fee } else { 0 },
            total: account.balance(token).total,
        };
        let is_buy = order.side == Side::Buy;
        let legs = [
            leg(market.base, !is_buy, trade.base, true),
            leg(market.quote, is_buy, trade.quote, false),
        ];
        let fields = self.kraken.orders.get(&order.sequence);
        let trade = KrakenTrade {
            number: 0,
            at: self.now,
            order: fields
                .and_then(|fields| fields.number)
                .unwrap_or(order.sequence),
            market: order.market,
            side: order.side,
            is_maker,
            is_market_order: fields.is_some_and(|fields| fields.is_market_order),
            price: trade.price,
            base: trade.base,
            quote: trade.quote,
            fee,
            fee_is_base,
            ledgers: [0; 2],
        };
        let next = [
            &mut self.kraken.trade_number,
            &mut self.kraken.ledger_number,
        ];
        let kept = self.config.limits.history_orders_max as usize;
        statement.book_trade(trade, legs, next, kept);
    }
}
