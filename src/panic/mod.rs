//! The way out that needs nobody's help: no daemon, no store. Cancels whatever the account's list shows
//! and says when it is proven that nothing is left.
//!
//! It is done when two complete lists show nothing open, the second begun behind the [`fence`]. Nothing
//! a cancel is answered with counts; only lists do.

pub mod fence;
pub mod list;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cambist_client::Client;
use cambist_core::order::OrderReport;
use cambist_core::request::{OrdersPage, Outcome, Query, Reply};
use cambist_core::{Hash, Reason, Time, VenueTime};

use crate::clock::Clock;
use fence::Fence;
use list::{List, Read};

/// Between two readings while there is nothing to cancel.
const PAUSE: Duration = Duration::from_secs(1);
/// Between two pages: five a second is the usual limit.
const PACE: Duration = Duration::from_millis(200);
/// After a request that brought nothing.
const RETRY: Duration = Duration::from_millis(300);
/// Longest pause that the venue may ask for.
const RETRY_MAX: Duration = Duration::from_secs(5);
/// Cancels of one order are this far apart: the first may be on its way.
const AGAIN_MS: u64 = 1_000;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Orders whose id is not of this program's form are left alone.
    pub own_only: bool,
    /// Entries asked for at once.
    pub page: u32,
    /// It is given up this long after the latch.
    pub within: Duration,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    /// Nothing rests, and nothing signed before the latch can appear.
    pub proven: bool,
    /// Orders that were seen open.
    pub found: BTreeSet<Hash>,
    /// Cancels sent.
    pub cancels: u64,
    /// Complete lists read.
    pub lists: u64,
    /// Requests that brought no usable answer.
    pub troubles: u64,
    /// The newest of those.
    pub trouble: Option<String>,
    /// Orders open in the newest round.
    pub left: BTreeMap<Hash, OrderReport>,
    /// Orders of others that were left alone.
    pub left_alone: u64,
    /// By the venue's clock everything is dead then; nothing if it never told a time.
    pub dead_at: Option<VenueTime>,
}

/// One sweep of an account.
pub struct Sweep<'a> {
    client: &'a Client,
    clock: &'a Clock,
    plan: Plan,
    latched: Time,
    fence: Fence,
    /// When an order's cancel was last sent.
    sent: BTreeMap<Hash, Time>,
    /// A complete list has shown nothing open.
    was_empty: bool,
    swept: Swept,
}

impl<'a> Sweep<'a> {
    /// A sweep of what was signed until now with a life of at most `ttl`.
    pub fn new(
        client: &'a Client,
        clock: &'a Clock,
        plan: Plan,
        ttl: Duration,
        grace: Duration,
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
            swept: Swept::default(),
        }
    }

    /// An order that somebody remembers and that may be alive until then.
    pub fn expires(&mut self, valid_until_s: u32) {
        self.fence.expires(valid_until_s);
    }

    /// Cancels until it is proven that nothing is left, or the time is over. `tell` hears how it goes.
    pub async fn run(mut self, mut tell: impl FnMut(&Swept)) -> Swept {
        while !self.swept.proven && !self.is_late() {
            self.read().await;
            self.swept.dead_at = self.fence.end();
            tell(&self.swept);
            if !self.swept.proven && self.swept.left.is_empty() {
                tokio::time::sleep(PAUSE).await;
            }
        }
        self.swept
    }

    fn is_late(&self) -> bool {
        let gone = Duration::from_micros(self.clock.now().micros_since(self.latched));
        gone >= self.plan.within
    }

    /// Reads one complete list, cancelling what it shows on the way.
    async fn read(&mut self) {
        let mut list = List::default();
        let mut told = VenueTime(0);
        while !self.is_late() {
            if list.is_begun() {
                tokio::time::sleep(PACE).await;
            }
            let sent = self.clock.now();
            let page = OrdersPage {
                from: VenueTime(0),
                to: VenueTime(0),
                offset: list.offset(),
                limit: self.plan.page,
            };
            let Some((reply, venue_time)) = self.ask(&Query::Orders(page)).await else {
                continue;
            };
            let Reply::Orders { orders, total } = reply else {
                self.trouble("the answer is no list of orders".to_owned());
                continue;
            };
            if let Some(time) = venue_time {
                self.fence.answered(sent, time);
            }
            if list.offset() == 0 {
                // The round is as old as its first page.
                told = venue_time.unwrap_or(VenueTime(0));
            }
            let read = list.take(sent, &orders, total);
            self.cancel(&orders).await;
            match read {
                Read::More => {}
                Read::Again => self.note(&list),
                Read::Complete => {
                    self.note(&list);
                    self.swept.lists += 1;
                    let is_empty = self.swept.left.is_empty();
                    let is_behind = self.fence.is_passed(list.begun(), told);
                    self.swept.proven = is_empty && self.was_empty && is_behind;
                    self.was_empty |= is_empty;
                    return;
                }
                Read::TooLong => {
                    self.trouble(format!("the list has more than {} pages", list::PAGES_MAX));
                    return;
                }
            }
        }
    }

    /// Keeps what a round has shown.
    fn note(&mut self, list: &List) {
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
            self.fence.expires(order.valid_until_s);
            self.swept.found.insert(order.hash);
            let now = self.clock.now();
            let before = self.sent.get(&order.hash);
            if before.is_some_and(|sent| now.ms_since(*sent) < AGAIN_MS) {
                continue;
            }
            self.sent.insert(order.hash, now);
            self.swept.cancels += 1;
            self.ask(&Query::Cancel(order.hash)).await;
        }
    }

    /// One request; nothing if it brought no success, after a pause.
    async fn ask(&mut self, query: &Query) -> Option<(Reply, Option<VenueTime>)> {
        let answered = self.client.query(query, &[]).await;
        let detail = answered.detail.unwrap_or_default();
        let asked = answered.retry_after_ms.map(Duration::from_millis);
        let (pause, what) = match answered.outcome {
            Outcome::Reply(reply) => return Some((reply, answered.venue_time)),
            Outcome::Refused(Reason::RateLimited) => {
                (asked.unwrap_or(RETRY), "429: too many requests".to_owned())
            }
            // What a cancel is refused with proves nothing; the next list tells.
            Outcome::Refused(_) if matches!(query, Query::Cancel(_)) => return None,
            Outcome::Refused(reason) => (RETRY, format!("refused: {reason:?} {detail}")),
            Outcome::NotSent => (RETRY, format!("not reached: {detail}")),
            Outcome::Unknown(cause) => (RETRY, format!("no answer: {} {detail}", cause.name())),
        };
        self.trouble(format!("{}: {what}", query.endpoint().name()));
        tokio::time::sleep(pause.min(RETRY_MAX)).await;
        None
    }

    fn trouble(&mut self, what: String) {
        self.swept.troubles += 1;
        self.swept.trouble = Some(what);
    }
}
