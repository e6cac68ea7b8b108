//! Another exchange beside the simulated one: it gets the same requests at the same times of the same clock, and the
//! engine gets its answers. Equal traces of a world with and without it mean that engine and exchange behave the same
//! over that connection.

use std::collections::BTreeMap;

use cambist_core::VenueTime;
use cambist_core::order::UnsignedOrder;
use cambist_core::request::{Outcome, Query, RequestId};
use cambist_venue::{Caller, Request};

use crate::sealer::Sealer;

/// An exchange that a world is connected to.
pub trait Remote {
    /// A request of the operator or of a trader, which the simulated exchange granted or refused.
    fn other(&mut self, now: VenueTime, caller: &Caller, request: &Request, granted: bool);

    /// A query or a cancel of the daemon: its outcome, and the time of the answer.
    fn query(&mut self, now: VenueTime, query: &Query) -> (Outcome, Option<VenueTime>);

    /// A sealed order of the daemon, as the signed bytes of a request.
    fn submit(&mut self, now: VenueTime, body: &[u8]) -> (Outcome, Option<VenueTime>);
}

/// A request of the daemon that is under way.
pub(crate) enum Sent {
    Query(Query),
    Order(Box<UnsignedOrder>),
}

/// The connection.
pub(crate) struct Connection {
    pub remote: Box<dyn Remote>,
    sent: BTreeMap<RequestId, Sent>,
}

impl Connection {
    pub(crate) fn new(remote: Box<dyn Remote>) -> Self {
        let sent = BTreeMap::new();
        Self { remote, sent }
    }

    pub(crate) fn leaves(&mut self, request: RequestId, sent: Sent) {
        self.sent.insert(request, sent);
    }

    /// A request arrives there; `None` if it is of a kind that has no connection.
    pub(crate) fn arrives(
        &mut self,
        now: VenueTime,
        request: RequestId,
        (exchange, account): ([u8; 20], u32),
    ) -> Option<(Outcome, Option<VenueTime>)> {
        Some(match self.sent.remove(&request)? {
            Sent::Query(query) => self.remote.query(now, &query),
            Sent::Order(order) => {
                let body = Sealer::body(exchange, account, &order);
                self.remote.submit(now, &body)
            }
        })
    }
}
