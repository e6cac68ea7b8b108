//! The oracle: derives from the written rules (`docs/venue-rules.md`) what must follow from the exchange's inputs, and
//! compares it with its outputs.
//!
//! It shares no state and no code with the exchange or the daemon: orders, books, balances, storage ids, pools and
//! submissions are kept here a second time, in plain integers. Reported trades are compared one by one with those that
//! the rules give; balances, orders, depths and pools with every answer that contains them. Where the rules leave the
//! result to the exchange's random numbers (which waiting order fails late), the exchange is queried. The first
//! difference ends the replay, because further ones would be its consequences.
//!
//! It streams: of an ended order nothing is kept, except one line for each of ours.

mod answers;
mod audit;
mod market;
mod matching;
mod money;
mod operator;
mod order;
pub(crate) mod order_entry;
pub(crate) mod own_orders;
mod pools;
pub(crate) mod probe;
mod slots;
mod submissions;
mod time;
pub(crate) mod wide_integer;

use crate::invariants::table::Invariant;
use std::collections::{BTreeMap, BTreeSet};

use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Hash, OrderStatus, Side, TokenId, VenueTime};
use cambist_venue::{
    AccountId, Address, Delays, ExchangeMode, Executed, FeeSchedule, Refusal, Request, Response,
    Venue, VenueConfig,
};

use crate::invariants::sending::Broken;

use crate::oracle::own_orders::Own;
use crate::oracle::probe::Probe;
use market::Market;
use matching::ReportedTrades;
use money::Money;
use order::Order;
use pools::Pool;
use slots::Slots;
use submissions::Submission;

/// A request to the exchange, and its answer.
pub(crate) struct Handled<'a> {
    pub(crate) request: &'a Request,
    pub(crate) answer: &'a Result<Response, Refusal>,
}

/// The oracle.
#[derive(Debug)]
pub(crate) struct Oracle {
    own: AccountId,
    now: VenueTime,
    mode: ExchangeMode,
    delays: Delays,
    fees: FeeSchedule,
    collector: AccountId,
    first_account: AccountId,
    owners: BTreeMap<Address, AccountId>,
    frozen: BTreeSet<AccountId>,
    /// Decimals and dust of every token.
    tokens: SortedMap<TokenId, (u8, Amount)>,
    markets: Vec<Market>,
    pools: Vec<Pool>,
    money: Money,
    slots: Slots,
    /// Orders that have not ended, by number of acceptance.
    orders: BTreeMap<u64, Order>,
    by_hash: BTreeMap<Hash, u64>,
    by_end: BTreeSet<(u64, u64)>,
    submissions: BTreeMap<u64, Submission>,
    /// Waiting orders and submissions, by time.
    due: BTreeSet<(VenueTime, u64)>,
    /// Number of the next order or submission.
    next: u64,
    /// Rank of the last order that joined a book.
    rank: u64,
    ours: Own,
    found: Vec<Broken>,
    /// Whether a difference was found: the books are not valid after it.
    over: bool,
}

impl Oracle {
    /// The books of a new exchange.
    pub(crate) fn new(config: &VenueConfig, own: AccountId) -> Self {
        let tokens: SortedMap<_, _> = config
            .tokens
            .iter()
            .map(|token| (token.spec.id, (token.spec.decimals, token.spec.dust)))
            .collect();
        let mut oracle = Self {
            own,
            now: VenueTime(0),
            mode: ExchangeMode::Open,
            delays: config.delays,
            fees: config.fees.clone(),
            collector: config.fee_collector,
            first_account: config.first_account,
            owners: BTreeMap::from([(config.fee_collector_owner, config.fee_collector)]),
            frozen: BTreeSet::new(),
            tokens,
            markets: Vec::new(),
            pools: config.pools.iter().map(Pool::new).collect(),
            money: Money::default(),
            slots: Slots::default(),
            orders: BTreeMap::new(),
            by_hash: BTreeMap::new(),
            by_end: BTreeSet::new(),
            submissions: BTreeMap::new(),
            due: BTreeSet::new(),
            next: 0,
            rank: 0,
            ours: Own::default(),
            found: Vec::new(),
            over: false,
        };
        for market in &config.markets {
            oracle.list(market);
        }
        oracle
    }

    /// Time has passed, optionally a request was handled, and these trades were reported.
    pub(crate) fn handle_event(
        &mut self,
        at: VenueTime,
        handled: Option<&Handled<'_>>,
        trades: &[Executed],
        venue: &mut Venue,
    ) {
        if self.over {
            return;
        }
        let mut probe = Probe::new(venue);
        let mut reported = ReportedTrades::new(trades);
        let fits = self.pass(at, &mut reported, &mut probe).and_then(|()| {
            if let Some(handled) = handled {
                self.listen(handled, &mut reported, &mut probe)?;
            }
            reported.is_empty()
        });
        if let Err(broken) = fits {
            self.found.push(broken);
            self.over = true;
        }
    }

    /// Differences since the last call.
    pub(crate) fn found(&mut self) -> Vec<Broken> {
        std::mem::take(&mut self.found)
    }

    /// Applies a request and its answer. A refusal changes nothing (R-GEN-03).
    fn listen(
        &mut self,
        handled: &Handled<'_>,
        reported: &mut ReportedTrades<'_>,
        probe: &mut Probe<'_>,
    ) -> Result<(), Broken> {
        let Ok(answer) = handled.answer else {
            return Ok(());
        };
        match handled.request {
            Request::Submit(order_request) => self.submit(order_request, answer, reported, probe),
            Request::Cancel { account, hash, .. } => self.cancel(*account, *hash, answer),
            Request::Transfer(order_request) => self.transfer(order_request, answer, probe),
            Request::Withdraw(order_request) => self.withdraw(order_request, answer, probe),
            Request::UpdateKey(order_request) => self.update_key(order_request),
            Request::Join(order_request) => self.join(order_request, answer, probe),
            Request::Exit(order_request) => self.exit(order_request, answer, probe),
            Request::Operator(request) => self.operate(request, answer),
            Request::Order { .. }
            | Request::Orders(_)
            | Request::Depth { .. }
            | Request::Balances { .. }
            | Request::PoolBalance { .. } => {
                let wrong = self.compare(handled.request, answer);
                self.found.extend(wrong);
                Ok(())
            }
            // These change nothing and contain nothing that is kept here.
            Request::PoolTransactions(_)
            | Request::Account(_)
            | Request::ApiKey { .. }
            | Request::RotateApiKey { .. }
            | Request::NextStorageId { .. }
            | Request::ExchangeInfo
            | Request::Tokens
            | Request::Markets
            | Request::Pools
            | Request::Submission { .. }
            | Request::Log { .. }
            | Request::Kraken(_) => Ok(()),
        }
    }

    /// The mid of a market in half ticks without our orders; `None` if a side is empty.
    pub(crate) fn mid_of_others(&self, base: TokenId, quote: TokenId) -> Option<u64> {
        let pair = |market: &&Market| market.base == base && market.quote == quote;
        let market = self.markets.iter().find(pair)?;
        let best = |side| {
            let mut line = market.line(side).iter();
            let (place, _) = line.find(|(_, number)| {
                let order = self.orders.get(number);
                order.is_some_and(|order| order.account != self.own)
            })?;
            Some(market::price(side, *place))
        };
        Some(best(Side::Buy)?.saturating_add(best(Side::Sell)?))
    }
}

/// The difference of a reported state.
fn unlike(hash: Hash, ours: OrderStatus, theirs: OrderStatus) -> Broken {
    let detail = format!("{hash} is {ours:?} by the rules, {theirs:?} as reported");
    (Invariant::OracleState, detail)
}
