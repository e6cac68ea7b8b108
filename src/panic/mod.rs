//! The panic sweep, which needs no daemon and no store: cancels everything in the account's lists, and reports when it
//! is proven that nothing is left.
//!
//! It is done when two passes in a row show nothing open, the second begun after the [`fence`]. A pass is a complete
//! list of orders and one of joins and exits. Answers to cancels prove nothing; only lists do. Joins and exits cannot
//! be cancelled: they are reported, and waited for.

pub mod fence;
pub mod list;
pub mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cambist_client::{CallError, VenueClient};
use cambist_core::order::OrderReport;
use cambist_core::pool::PoolTransactionReport;
use cambist_core::request::{OrderList, OrdersPage, Outcome, Query, Reply};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Hash, Time, TokenId, VenueTime};
use cambist_daemon::adapter;

use cambist_host::clock::Clock;
use fence::Fence;
use list::{Entry, List, Read, Rest};

/// Pause between two passes with nothing to cancel.
const PAUSE: Duration = Duration::from_secs(1);
/// Pause after a failed request.
const RETRY: Duration = Duration::from_millis(300);
/// Longest pause that the venue may request.
const RETRY_MAX: Duration = Duration::from_secs(5);
/// Shortest time between two cancels of one order: the first may be in flight.
const AGAIN_MS: u64 = 1_000;
/// Attempts to read the balances, which prove nothing.
const BALANCES_TRIES: u32 = 3;

/// Options of a sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whether to skip orders whose id is not of this program's form.
    pub own_only: bool,
    /// Entries per page.
    pub page: u32,
    /// The list that shows every order that rests.
    pub list: OrderList,
    /// What a proof needs of joins and exits.
    pub pool_transactions: PoolTransactions,
    /// Pause between two pages.
    pub pace: Duration,
    /// Whether the bytes of an order are accepted until it expires, so that the expiry of every order that is found moves
    /// the fence. Otherwise an order that a list does not show any more has ended, whenever it would have expired.
    pub accepted_until_expiry: bool,
    /// The sweep is given up this long after the latch.
    pub within: Duration,
}

/// What a proof needs of the list of joins and exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolTransactions {
    /// The list, read to its end: some may be undecided.
    Required,
    /// The list, if there is one.
    IfListed,
    /// Nothing: the venue has no pools.
    Absent,
}

/// Result of a sweep.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    /// Nothing rests or is in flight, and nothing signed before the latch can appear.
    pub proven: bool,
    /// Orders that were open in a list.
    pub found: BTreeSet<Hash>,
    /// Cancels sent, those of one request for all orders included.
    pub cancels: u64,
    /// Orders that one request for all of them cancelled, where the venue has one.
    pub at_once: u64,
    /// Why that request failed: the orders were cancelled one by one.
    pub at_once_failed: Option<String>,
    /// Cancels that were not sent: not signed, or not a byte left. Such an order fills, or ends at its expiry.
    pub unsent: u64,
    /// Why the last of them was not.
    pub last_unsent: Option<String>,
    /// Complete lists of orders.
    pub lists: u64,
    /// Requests without a usable answer.
    pub failures: u64,
    /// The last such failure.
    pub last_failure: Option<String>,
    /// Orders open in the newest round.
    pub left: BTreeMap<Hash, OrderReport>,
    /// Orders of others that were skipped.
    pub left_alone: u64,
    /// Undecided joins and exits of any sender, because they have no client id. `None` if their last list could not be
    /// read.
    pub moves: Option<BTreeMap<Hash, PoolTransactionReport>>,
    /// Funds locked at the end although no own order was left; `None` if unknown.
    pub bound: Option<SortedMap<TokenId, Amount>>,
    /// Time of the venue's clock at which everything has ended; `None` if it never sent a time.
    pub dead_at: Option<VenueTime>,
}

impl Swept {
    /// Takes in the answer to one request that cancels every order; lists decide what it did.
    pub fn cancelled_at_once(&mut self, answer: Result<u64, CallError>) {
        match answer {
            Ok(count) => {
                self.cancels += count;
                self.at_once += count;
                self.at_once_failed = None;
            }
            Err(error) => {
                self.at_once_failed = Some(error.to_string());
                self.record_failure(error.to_string());
            }
        }
    }

    /// A request had no usable answer.
    pub fn record_failure(&mut self, what: String) {
        self.failures += 1;
        self.last_failure = Some(what);
    }
}

/// A list being read.
struct Reading<T> {
    list: List<T>,
    /// The venue's time when the newest round began.
    venue_time: VenueTime,
}

impl<T> Default for Reading<T> {
    fn default() -> Self {
        Self {
            list: List::default(),
            venue_time: VenueTime(0),
        }
    }
}

/// A complete list.
struct Complete {
    /// Whether it was begun after the fence.
    is_behind: bool,
}

/// A sweep of an account.
pub struct Sweep<'a> {
    client: &'a VenueClient,
    clock: &'a Clock,
    plan: Plan,
    latched: Time,
    fence: Fence,
    /// When each order's cancel was last sent.
    sent: BTreeMap<Hash, Time>,
    /// Whether the pass before showed nothing open.
    was_empty: bool,
    swept: Swept,
}

impl<'a> Sweep<'a> {
    /// A sweep of everything signed until now whose bytes are accepted for at most `ttl`. It goes on behind `begun`.
    pub fn new(
        client: &'a VenueClient,
        clock: &'a Clock,
        plan: Plan,
        (ttl, grace): (Duration, Duration),
        begun: Swept,
    ) -> Self {
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let latched = clock.now();
        Self {
            client,
            clock,
            plan,
            latched,
            fence: Fence::new(latched, ms(ttl), ms(grace)),
            sent: BTreeMap::new(),
            was_empty: false,
            swept: begun,
        }
    }

    /// Takes in a stored order that may be alive until this time.
    pub fn expires(&mut self, valid_until_s: u32) {
        self.fence.expires(valid_until_s);
    }

    /// Cancels until it is proven that nothing is left, or until the time is over. `report` receives progress.
    pub async fn run(mut self, mut report: impl FnMut(&Swept)) -> Swept {
        while !self.swept.proven && !self.is_late() {
            self.look().await;
            self.swept.dead_at = self.fence.end();
            report(&self.swept);
            if !self.swept.proven && self.swept.left.is_empty() {
                tokio::time::sleep(PAUSE).await;
            }
        }
        if self.swept.lists > 0 && self.swept.left.is_empty() {
            self.swept.bound = self.bound().await;
        }
        self.swept
    }

    fn is_late(&self) -> bool {
        let gone = Duration::from_micros(self.clock.now().micros_since(self.latched));
        gone >= self.plan.within
    }

    /// One pass over both lists. Has no effect unless both were read.
    async fn look(&mut self) {
        let Some(orders) = self.read_orders().await else {
            return;
        };
        let Some(moves) = self.read_moves().await else {
            return;
        };
        let is_settled = self.swept.moves.as_ref().is_none_or(BTreeMap::is_empty);
        let is_empty = self.swept.left.is_empty() && is_settled;
        self.swept.proven = is_empty && self.was_empty && orders.is_behind && moves.is_behind;
        self.was_empty = is_empty;
    }

    /// Reads one complete list of orders, and cancels the open ones.
    async fn read_orders(&mut self) -> Option<Complete> {
        let mut reading = Reading::default();
        while !self.is_late() {
            let answer = self.page(&mut reading, Query::Orders, |reply| match reply {
                Reply::Orders { orders, total } => Some((orders, Rest::Total(total))),
                Reply::OrdersUntil { orders, next } => Some((orders, Rest::Next(next))),
                _ => None,
            });
            let Some((orders, read)) = answer.await else {
                // Progress states why, and the list begins again.
                if reading.list.offset() == 0 {
                    return None;
                }
                continue;
            };
            self.cancel(&orders).await;
            match read {
                Read::More => {}
                Read::Again => self.note(&reading.list),
                Read::Complete => {
                    self.note(&reading.list);
                    self.swept.lists += 1;
                    return Some(self.complete(&reading));
                }
                Read::TooLong => return None,
            }
        }
        None
    }

    /// Reads one complete list of joins and exits. If pools are not required, an exchange that does not list them is
    /// accepted.
    async fn read_moves(&mut self) -> Option<Complete> {
        self.swept.moves = None;
        if self.plan.pool_transactions == PoolTransactions::Absent {
            self.swept.moves = Some(BTreeMap::new());
            return Some(Complete { is_behind: true });
        }
        let mut reading = Reading::default();
        while !self.is_late() {
            let answer = self.page(&mut reading, Query::PoolTransactions, |reply| {
                let Reply::PoolTransactions { moves, total } = reply else {
                    return None;
                };
                Some((moves, Rest::Total(total)))
            });
            match answer.await {
                None if self.plan.pool_transactions == PoolTransactions::Required => {}
                None => return Some(Complete { is_behind: true }),
                Some((_, Read::More | Read::Again)) => {}
                Some((_, Read::Complete)) => {
                    self.swept.moves = Some(reading.list.open().clone());
                    return Some(self.complete(&reading));
                }
                Some((_, Read::TooLong)) => return None,
            }
        }
        None
    }

    /// Requests the next page.
    async fn page<T: Entry>(
        &mut self,
        reading: &mut Reading<T>,
        query: fn(OrdersPage) -> Query,
        entries: fn(Reply) -> Option<(Vec<T>, Rest)>,
    ) -> Option<(Vec<T>, Read)> {
        if reading.list.is_begun() {
            tokio::time::sleep(self.plan.pace).await;
        }
        let sent = self.clock.now();
        let query = query(OrdersPage {
            from: VenueTime(0),
            to: VenueTime(0),
            offset: reading.list.offset(),
            limit: self.plan.page,
            list: self.plan.list,
        });
        let (reply, venue_time) = self.ask(&query).await?;
        let Some((entries, rest)) = entries(reply) else {
            self.swept
                .record_failure(format!("{}: unexpected answer", query.endpoint().name()));
            tokio::time::sleep(RETRY).await;
            return None;
        };
        if let Some(time) = venue_time {
            self.fence.answered(sent, time);
        }
        if reading.list.offset() == 0 {
            // The round is as old as its first page.
            reading.venue_time = venue_time.unwrap_or(VenueTime(0));
        }
        let read = reading.list.take(sent, &entries, rest);
        if read == Read::TooLong {
            let (name, most) = (query.endpoint().name(), list::PAGES_MAX);
            self.swept
                .record_failure(format!("{name}: the list has more than {most} pages"));
        }
        Some((entries, read))
    }

    fn complete<T: Entry>(&self, reading: &Reading<T>) -> Complete {
        Complete {
            is_behind: self
                .fence
                .is_passed(reading.list.begun(), reading.venue_time),
        }
    }

    /// Currently locked funds, by token.
    async fn bound(&mut self) -> Option<SortedMap<TokenId, Amount>> {
        for _ in 0..BALANCES_TRIES {
            let held = match self.ask(&Query::Balances).await {
                Some((Reply::Balances(held), _)) => Some(held),
                Some((Reply::ChargedBalances(of), _)) => Some(of.balances),
                _ => None,
            };
            if let Some(held) = held {
                let bound = held.iter().filter(|balance| balance.locked > 0);
                return Some(bound.map(|b| (b.token, b.locked)).collect());
            }
        }
        None
    }

    /// Stores the result of a round.
    fn note(&mut self, list: &List<OrderReport>) {
        let (ours, others): (BTreeMap<_, _>, BTreeMap<_, _>) = list
            .open()
            .clone()
            .into_iter()
            .partition(|(_, order)| self.is_meant(order));
        self.swept.left = ours;
        self.swept.left_alone = others.len() as u64;
    }

    fn is_meant(&self, order: &OrderReport) -> bool {
        !self.plan.own_only || order.client_id.is_some()
    }

    async fn cancel(&mut self, orders: &[OrderReport]) {
        for order in orders {
            if order.status.is_final() || !self.is_meant(order) || self.is_late() {
                continue;
            }
            if self.plan.accepted_until_expiry {
                self.fence.expires(order.valid_until_s);
            }
            self.swept.found.insert(order.hash);
            let now = self.clock.now();
            let before = self.sent.get(&order.hash);
            if before.is_some_and(|sent| now.ms_since(*sent) < AGAIN_MS) {
                continue;
            }
            let unsent = self.swept.unsent;
            self.ask(&Query::Cancel(order.hash)).await;
            if self.swept.unsent == unsent {
                self.sent.insert(order.hash, now);
                self.swept.cancels += 1;
            }
        }
    }

    /// Sends one request; `None` if it failed, after a pause.
    async fn ask(&mut self, query: &Query) -> Option<(Reply, Option<VenueTime>)> {
        let answered = self.client.query(query, &[]).await;
        let detail = answered.detail.unwrap_or_default();
        let answer = answered.retry_after_ms.map(Duration::from_millis);
        let (pause, what) = match answered.outcome {
            Outcome::Reply(reply) => return Some((reply, answered.venue_time)),
            Outcome::Refused(reason) if adapter::is_rate_limited(reason) => {
                let pause = answer.unwrap_or(self.plan.pace).max(RETRY);
                (pause, "429: too many requests".to_owned())
            }
            // A refused cancel proves nothing; the next list decides.
            Outcome::Refused(_) if matches!(query, Query::Cancel(_)) => return None,
            // A permission does not come back within seconds.
            Outcome::Refused(reason) => {
                let pause = if adapter::is_of_keys(reason) {
                    RETRY_MAX
                } else {
                    RETRY
                };
                (pause, format!("refused: {detail}"))
            }
            Outcome::NotSent => {
                if matches!(query, Query::Cancel(_)) {
                    self.swept.unsent += 1;
                    self.swept.last_unsent = Some(detail.clone());
                }
                (RETRY, format!("not reached: {detail}"))
            }
            Outcome::Unknown(cause) => (RETRY, format!("no answer: {} {detail}", cause.name())),
        };
        self.swept
            .record_failure(format!("{}: {what}", query.endpoint().name()));
        tokio::time::sleep(pause.min(RETRY_MAX)).await;
        None
    }
}
