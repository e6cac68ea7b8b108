//! The connections of one listener: their number, their addresses, and which of them wait for their client.
//!
//! A connection that waits (for a head, for more of a body, for its answer to be read) can be evicted for a new one;
//! one whose request is being answered cannot. Waiting times are compared by a counter, not by a clock.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The connections of one listener. Clones share the table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limits: TableLimits,
    entries: Mutex<Entries>,
    /// Notified when a place becomes free.
    freed: Notify,
}

#[derive(Clone, Debug)]
pub(crate) struct TableLimits {
    pub total_max: usize,
    pub per_address_max: usize,
    pub proxies: Vec<IpAddr>,
}

#[derive(Debug, Default)]
struct Entries {
    by_id: BTreeMap<u64, Entry>,
    by_address: HashMap<IpAddr, usize>,
    unauthenticated: usize,
    /// Incremented for every new connection and every time a connection starts to wait.
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    is_proxy: bool,
    /// A valid key was sent on it, or it is a trusted proxy's.
    is_authenticated: bool,
    /// Value of the counter when it started to wait for its client; `None` while a request is being answered.
    waiting_since: Option<u64>,
    /// It was evicted and has not been closed yet.
    is_evicted: bool,
    leave: Arc<Notify>,
}

/// Result of [`Table::admit`].
#[derive(Debug)]
pub(crate) enum Admission {
    /// The connection has a place.
    Admitted(Place),
    /// Another connection was evicted; try again when a place is free.
    Wait,
    /// No connection can be evicted: requests are being answered on all of them.
    Full,
}

/// A connection's place in the table, freed on drop.
#[derive(Debug)]
pub(crate) struct Place {
    table: Table,
    id: u64,
    address: IpAddr,
    is_proxy: bool,
    leave: Arc<Notify>,
}

impl Table {
    pub fn new(limits: TableLimits) -> Self {
        Self {
            shared: Arc::new(Shared {
                limits,
                entries: Mutex::default(),
                freed: Notify::new(),
            }),
        }
    }

    /// Admits a connection from an address, evicting another one if necessary.
    pub fn admit(&self, address: IpAddr) -> Admission {
        let address = address.to_canonical();
        let limits = &self.shared.limits;
        let mut proxies = limits.proxies.iter();
        let is_proxy = proxies.any(|proxy| proxy.to_canonical() == address);
        let mut entries = self.entries();
        let from_here = entries.by_address.get(&address).copied().unwrap_or(0);
        if from_here >= limits.per_address_max.max(1) && !is_proxy {
            return entries.make_room(limits, Some(address));
        }
        if entries.by_id.len() >= limits.total_max.max(1) {
            return entries.make_room(limits, None);
        }
        let (id, leave) = entries.insert(address, is_proxy);
        drop(entries);
        Admission::Admitted(Place {
            table: self.clone(),
            id,
            address,
            is_proxy,
            leave,
        })
    }

    /// Completes when a place became free since the last call. For one caller.
    pub async fn freed(&self) {
        self.shared.freed.notified().await;
    }

    pub fn is_empty(&self) -> bool {
        self.entries().by_id.is_empty()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // A panic while the lock is held cannot leave the table inconsistent.
        let entries = self.shared.entries.lock();
        entries.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn insert(&mut self, address: IpAddr, is_proxy: bool) -> (u64, Arc<Notify>) {
        let id = self.tick();
        let leave = Arc::new(Notify::new());
        let entry = Entry {
            address,
            is_proxy,
            is_authenticated: is_proxy,
            waiting_since: Some(id),
            is_evicted: false,
            leave: Arc::clone(&leave),
        };
        self.unauthenticated += usize::from(!is_proxy);
        *self.by_address.entry(address).or_default() += 1;
        self.by_id.insert(id, entry);
        (id, leave)
    }

    /// Evicts one connection, of one address or of all.
    fn make_room(&mut self, limits: &TableLimits, of: Option<IpAddr>) -> Admission {
        let concerned = |entry: &&mut Entry| of.is_none_or(|address| entry.address == address);
        // Unauthenticated connections share a quarter of all places. Below that share an authenticated one is evicted,
        // so that new clients can always connect; above it they replace each other.
        let evict_unauthenticated_first =
            of.is_some() || self.unauthenticated * 4 > limits.total_max;
        let mut waiting: Vec<_> = self.by_id.values_mut().filter(concerned).collect();
        if waiting.iter().any(|entry| entry.is_evicted) {
            return Admission::Wait;
        }
        waiting.retain(|entry| entry.waiting_since.is_some());
        // Connections of trusted proxies come last: a proxy has one for each of its clients. They are not exempt,
        // because any program on the proxy's host could hold all places with idle ones.
        let candidate = waiting.into_iter().min_by_key(|entry| {
            (
                entry.is_proxy,
                entry.is_authenticated == evict_unauthenticated_first,
                entry.waiting_since,
            )
        });
        match candidate {
            Some(entry) => {
                entry.is_evicted = true;
                entry.leave.notify_one();
                Admission::Wait
            }
            None => Admission::Full,
        }
    }
}

impl Place {
    /// The client's address.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether it is a trusted proxy's.
    pub const fn is_proxy(&self) -> bool {
        self.is_proxy
    }

    /// A handle for the code that answers requests on the connection.
    pub fn handle(&self) -> Handle {
        Handle {
            table: self.table.clone(),
            id: self.id,
        }
    }

    /// Completes when the connection is evicted.
    pub async fn evicted(&self) {
        self.leave.notified().await;
    }

    /// Value of the counter when it started to wait for its client; each wait has another value.
    pub fn waiting_since(&self) -> Option<u64> {
        let entries = self.table.entries();
        entries.by_id.get(&self.id)?.waiting_since
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut entries = self.table.entries();
        if let Some(entry) = entries.by_id.remove(&self.id) {
            entries.unauthenticated -= usize::from(!entry.is_authenticated);
        }
        if let Some(count) = entries.by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                entries.by_address.remove(&self.address);
            }
        }
        drop(entries);
        self.table.shared.freed.notify_one();
    }
}

/// Updates the state of a connection. Without effect once the connection is closed.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    table: Table,
    id: u64,
}

impl Handle {
    /// A request is being answered.
    pub fn working(&self) {
        self.with(|entry, _| entry.waiting_since = None);
    }

    /// The connection starts to wait for its client.
    pub fn waiting(&self) {
        self.with(|entry, clock| entry.waiting_since = Some(clock));
    }

    /// A valid key was sent on the connection.
    pub fn mark_authenticated(&self) {
        let mut entries = self.table.entries();
        if let Some(entry) = entries.by_id.get_mut(&self.id)
            && !entry.is_authenticated
        {
            entry.is_authenticated = true;
            entries.unauthenticated -= 1;
        }
    }

    fn with(&self, change: impl FnOnce(&mut Entry, u64)) {
        let mut entries = self.table.entries();
        let clock = entries.tick();
        if let Some(entry) = entries.by_id.get_mut(&self.id) {
            change(entry, clock);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn table(total_max: usize, per_address_max: usize, proxies: &[&str]) -> Table {
        Table::new(TableLimits {
            total_max,
            per_address_max,
            proxies: proxies.iter().map(|text| text.parse().unwrap()).collect(),
        })
    }

    fn admit(table: &Table, address: &str) -> Option<Place> {
        match table.admit(address.parse().unwrap()) {
            Admission::Admitted(place) => Some(place),
            Admission::Wait | Admission::Full => None,
        }
    }

    fn is_evicted(place: &Place) -> bool {
        let entries = place.table.entries();
        entries.by_id[&place.id].is_evicted
    }

    #[test]
    fn an_address_has_a_number_of_places_and_gets_them_back() {
        let table = table(10, 2, &[]);
        let first = admit(&table, "10.0.0.1").unwrap();
        let second = admit(&table, "::ffff:10.0.0.1").unwrap();
        for place in [&first, &second] {
            place.handle().working();
        }
        assert!(admit(&table, "10.0.0.1").is_none());
        assert!(admit(&table, "10.0.0.2").is_some());
        drop(first);
        assert!(admit(&table, "10.0.0.1").is_some());
        drop(second);
        assert!(table.is_empty() && table.entries().by_address.is_empty());
        assert_eq!(table.entries().unauthenticated, 0);
    }

    #[test]
    fn the_longest_waiting_connection_is_evicted_and_one_being_answered_is_not() {
        let table = table(3, 3, &[]);
        let [first, second, third] = [1, 2, 3].map(|_| admit(&table, "10.0.0.1").unwrap());
        first.handle().working();
        first.handle().waiting();
        second.handle().working();
        assert!(matches!(table.admit(third.address), Admission::Wait));
        assert!(is_evicted(&third) && !is_evicted(&first) && !is_evicted(&second));
        // One connection is evicted at a time, and its place counts until it is closed.
        assert!(matches!(table.admit(third.address), Admission::Wait));
        assert!(!is_evicted(&first));
        drop(third);
        let fourth = admit(&table, "10.0.0.1").unwrap();
        for place in [&first, &fourth] {
            place.handle().working();
        }
        assert!(matches!(table.admit(first.address), Admission::Full));
    }

    #[test]
    fn an_address_at_its_bound_loses_one_of_its_own_connections() {
        let table = table(4, 2, &[]);
        let other = admit(&table, "10.0.0.2").unwrap();
        let first = admit(&table, "10.0.0.1").unwrap();
        let _second = admit(&table, "10.0.0.1").unwrap();
        assert!(admit(&table, "10.0.0.1").is_none());
        assert!(is_evicted(&first) && !is_evicted(&other));
    }

    /// A full table of eight places, with this many authenticated connections and the rest unauthenticated.
    fn full(known: usize) -> (Table, Vec<Place>, Vec<Place>) {
        let table = table(8, 8, &[]);
        let known: Vec<_> = (0..known)
            .map(|_| admit(&table, "10.0.0.1").unwrap())
            .collect();
        for place in &known {
            place.handle().mark_authenticated();
            place.handle().mark_authenticated();
        }
        let unauthenticated = std::iter::from_fn(|| admit(&table, "10.0.0.2")).collect();
        for place in table.entries().by_id.values_mut() {
            place.is_evicted = false;
        }
        (table, known, unauthenticated)
    }

    #[test]
    fn unauthenticated_connections_are_evicted_before_authenticated_ones() {
        let (table, known, unauthenticated) = full(5);
        assert!(admit(&table, "10.0.0.3").is_none());
        assert!(is_evicted(&unauthenticated[0]) && known.iter().all(|place| !is_evicted(place)));
        // Two unauthenticated connections are a quarter: an authenticated one is evicted, so that new clients can
        // connect.
        let (table, known, unauthenticated) = full(6);
        assert!(admit(&table, "10.0.0.3").is_none());
        assert!(is_evicted(&known[0]) && unauthenticated.iter().all(|place| !is_evicted(place)));
    }

    #[test]
    fn a_trusted_proxy_has_no_bound_of_its_own_and_is_evicted_last() {
        let table = table(4, 1, &["10.0.0.1"]);
        let places: Vec<_> = (0..3).map(|_| admit(&table, "10.0.0.1").unwrap()).collect();
        assert!(places.iter().all(Place::is_proxy));
        let client = admit(&table, "10.0.0.3").unwrap();
        client.handle().mark_authenticated();
        let stranger = "10.0.0.2".parse().unwrap();
        assert!(matches!(table.admit(stranger), Admission::Wait));
        assert!(is_evicted(&client) && places.iter().all(|place| !is_evicted(place)));
        drop(client);
        // The proxy alone holds all places: its connection that waits longest makes room, and none that works.
        let last = admit(&table, "10.0.0.1").unwrap();
        places[0].handle().working();
        assert!(matches!(table.admit(stranger), Admission::Wait));
        let evicted = |places: &[Place]| places.iter().map(is_evicted).collect::<Vec<_>>();
        assert_eq!(evicted(&places), [false, true, false]);
        assert!(!is_evicted(&last));
        for place in places[1..].iter().chain([&last]) {
            place.handle().working();
        }
        table
            .entries()
            .by_id
            .values_mut()
            .for_each(|entry| entry.is_evicted = false);
        assert!(matches!(table.admit(stranger), Admission::Full));
        let untrusting = self::table(3, 1, &[]);
        let _first = admit(&untrusting, "10.0.0.1").unwrap();
        assert!(admit(&untrusting, "10.0.0.1").is_none());
    }
}
