//! A model of the store: what was written, and which part of it is certain to survive.
//!
//! Writes wait for a sync; a crash keeps some prefix of the waiting ones, as a real disk may. A restart starts from the
//! durable state alone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cambist_core::books::{Booking, Books, Carrier, Entry};
use cambist_core::event::{RecoveredOrder, Restrictions};
use cambist_core::intent::RecoveredPoolTransaction;
use cambist_core::notification::End;
use cambist_core::order::UnsignedOrder;
use cambist_core::pool::UnsignedPoolTransaction;
use cambist_core::sorted_map::SortedMap;
use cambist_core::strategy::Traded;
use cambist_core::venue::SlotRule;
use cambist_core::{Amount, ClientOrderId, Hash, MarketId, StrategyId, TokenId, VenueTime};
use cambist_venue::Random;

/// An intent as sealed, with its written state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The order.
    pub order: UnsignedOrder,
    /// Its hash.
    pub hash: Hash,
    /// Base units, quote units and fee booked.
    pub filled: (Amount, Amount, Amount),
    /// Its end, if proven.
    pub end: Option<End>,
}

/// One write.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    /// Intents and their counters, together or not at all.
    Intents(
        Vec<(UnsignedOrder, Hash)>,
        Vec<(UnsignedPoolTransaction, Hash)>,
    ),
    /// The changes by one event, together or not at all.
    Booked(Box<Booking>),
    Levels(Restrictions),
}

/// The durable state.
#[derive(Clone, Debug, Default)]
pub struct Durable {
    /// Every intent.
    pub intents: BTreeMap<ClientOrderId, Intent>,
    /// Orders without a written end.
    pub open: BTreeSet<ClientOrderId>,
    /// Joins and exits without a written end.
    pub moves: BTreeMap<ClientOrderId, RecoveredPoolTransaction>,
    /// Next order number.
    pub next_number: u64,
    /// Next storage id by sell token.
    pub next_storage: SortedMap<TokenId, u32>,
    /// Trading state and pauses.
    pub levels: Restrictions,
    /// The books of the account.
    pub books: Books,
    /// Charges that were booked while no mid was known, of this run or of one before: none before the first one, and
    /// after an operator has reset losses. Nothing can value them, and losses are measured from what is left.
    pub(crate) unvalued: Amount,
}

impl Durable {
    /// The next number of every row.
    pub(crate) fn next_slots(&self, rule: SlotRule) -> SortedMap<TokenId, u32> {
        let mut next = SortedMap::new();
        for (token, number) in &self.next_storage {
            let row: &mut u32 = next.entry(rule.row(*token)).or_default();
            *row = (*row).max(*number);
        }
        next
    }

    fn apply(&mut self, write: Write) {
        match write {
            Write::Intents(orders, moves) => {
                for (wanted, hash) in moves {
                    let id = wanted.client_id;
                    self.next_number = self.next_number.max(id.number + 1);
                    for (token, id) in wanted.slots() {
                        let next = self.next_storage.entry(token).or_default();
                        *next = (*next).max((id | 1).saturating_add(1));
                    }
                    self.moves.insert(
                        id,
                        RecoveredPoolTransaction {
                            transaction: wanted,
                            hash,
                        },
                    );
                }
                for (order, hash) in orders {
                    self.next_number = self.next_number.max(order.client_id.number + 1);
                    let next = self.next_storage.entry(order.sell_token).or_default();
                    *next = (*next).max(order.slot.saturating_add(2));
                    let intent = Intent {
                        order,
                        hash,
                        filled: (0, 0, 0),
                        end: None,
                    };
                    self.open.insert(intent.order.client_id);
                    self.intents.insert(intent.order.client_id, intent);
                }
            }
            Write::Booked(booking) => {
                for entry in &booking.entries {
                    self.observe(entry);
                }
                let had_mid = self.has_mid();
                self.books.book(&booking);
                if !had_mid && !self.has_mid() {
                    self.unvalued += charged(&booking);
                }
            }
            Write::Levels(levels) => self.levels = levels,
        }
    }

    /// Whether a market has values that losses are measured from, and with them a mid.
    fn has_mid(&self) -> bool {
        let mut positions = self.books.positions.values();
        positions.any(|position| position.baselines.is_some())
    }

    fn observe(&mut self, entry: &Entry) {
        match entry {
            Entry::Fill(fill) => {
                if let Some(intent) = self.intents.get_mut(&fill.order) {
                    intent.filled.0 += fill.base;
                    intent.filled.1 += fill.quote;
                    intent.filled.2 += fill.fee;
                }
            }
            Entry::Ended(id, end) => {
                if let Some(intent) = self.intents.get_mut(id) {
                    intent.end = Some(*end);
                }
                self.open.remove(id);
                self.moves.remove(id);
            }
            Entry::Moved(_)
            | Entry::Flow { .. }
            | Entry::LossesForgotten
            | Entry::SlotTaken { .. } => {}
        }
    }

    /// What a strategy has traded at a market in all runs.
    pub(crate) fn traded(&self, strategy: StrategyId, market: MarketId) -> Traded {
        let mut traded = Traded::default();
        for intent in self.intents.values() {
            let order = &intent.order;
            if (order.client_id.strategy, order.market) == (strategy, market) {
                traded.add(order.side, intent.filled.0);
            }
        }
        traded
    }

    /// Base units of every order whose fence has not passed, by token and expiry.
    pub(crate) fn signed(&self, now: VenueTime, grace_ms: u64) -> Vec<(TokenId, u32, Amount)> {
        let orders = self.intents.values().map(|intent| &intent.order);
        let lives =
            |order: &&UnsignedOrder| order.lifetime().of_signature().plus_ms(grace_ms) >= now;
        orders
            .filter(lives)
            .map(|order| {
                let (token, base) = order.base();
                (token, order.signature_until_s(), base)
            })
            .collect()
    }

    /// Orders without a written end.
    pub fn recovered(&self) -> Vec<RecoveredOrder> {
        self.open
            .iter()
            .filter_map(|id| self.intents.get(id))
            .map(|intent| RecoveredOrder {
                order: intent.order.clone(),
                hash: intent.hash,
                base_filled: intent.filled.0,
                quote_filled: intent.filled.1,
                fee: intent.filled.2,
            })
            .collect()
    }
}

/// The charges of a booking.
fn charged(booking: &Booking) -> Amount {
    let of = |entry: &Entry| match entry {
        Entry::Flow { amount, reason, .. } if reason.starts_with("charge ") => {
            amount.unsigned_abs()
        }
        _ => 0,
    };
    booking.entries.iter().map(of).sum()
}

/// The store.
#[derive(Debug, Default)]
pub struct Disk {
    durable: Durable,
    waiting: VecDeque<(u64, Write)>,
    written: u64,
}

impl Disk {
    /// The state that survives a crash now, at least.
    pub const fn durable(&self) -> &Durable {
        &self.durable
    }

    /// Adds a write that the next sync makes durable; returns its number.
    pub(crate) fn write(&mut self, write: Write) -> u64 {
        self.written += 1;
        self.waiting.push_back((self.written, write));
        self.written
    }

    /// Makes everything up to a number durable.
    pub(crate) fn sync(&mut self, upto: u64) {
        while let Some((number, _)) = self.waiting.front()
            && *number <= upto
        {
            if let Some((_, write)) = self.waiting.pop_front() {
                self.durable.apply(write);
            }
        }
    }

    /// The first intent below a number whose end is not durable.
    pub(crate) fn unresolved(&self, below: u64) -> Option<ClientOrderId> {
        let mut open = self.durable.open.iter().chain(self.durable.moves.keys());
        open.find(|id| id.number < below).copied()
    }

    /// An operator resumes while no daemon runs: lowers the trading state, resets losses, and adopts the differences of
    /// the last comparison. Returns the booked amounts by token.
    pub(crate) fn lower(&mut self, markets: &[Carrier]) -> SortedMap<TokenId, i128> {
        self.durable.levels = Restrictions::default();
        self.durable.books.forget_losses();
        self.durable.books.accept_differences(markets)
    }

    /// An operator explains a flow while no daemon runs; false before the first opening.
    pub(crate) fn explain(&mut self, token: TokenId, amount: i128, markets: &[Carrier]) -> bool {
        let books = &mut self.durable.books;
        books.ledger.is_some() && books.explain(token, amount, markets).is_ok()
    }

    /// Drops writes that were not synced, except a random prefix of them. Returns what was dropped, oldest first.
    pub(crate) fn crash(&mut self, random: &mut Random) -> impl Iterator<Item = Write> {
        let waiting = self.waiting.len() as u64;
        let kept = random.between(0, waiting);
        for _ in 0..kept {
            if let Some((_, write)) = self.waiting.pop_front() {
                self.durable.apply(write);
            }
        }
        std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|(_, write)| write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cambist_core::books::{Baselines, Position};

    /// Charges are counted from the first mid on, and not between a reset of losses and the next mid.
    #[test]
    fn a_charge_that_no_mid_can_value_is_counted_as_such() {
        let charge = |number: u64, baselines: Option<Baselines>| {
            let flow = |amount, reason: &str| Entry::Flow {
                token: TokenId(90),
                amount,
                reason: format!("{reason} {number} for it"),
            };
            let position = Position {
                baselines,
                ..Position::default()
            };
            Box::new(Booking {
                entries: vec![flow(-7, "charge"), flow(-1_000, "deposit")],
                positions: [(MarketId(0), position)].into(),
                ..Booking::default()
            })
        };
        let mut disk = Disk::default();
        let book = |disk: &mut Disk, number, baselines| {
            let written = disk.write(Write::Booked(charge(number, baselines)));
            disk.sync(written);
            disk.durable().unvalued
        };
        let known = Some(Baselines::default());
        assert_eq!(book(&mut disk, 1, None), 7);
        assert_eq!(book(&mut disk, 2, None), 14);
        assert_eq!(book(&mut disk, 3, known.clone()), 14, "with the first mid");
        assert_eq!(book(&mut disk, 4, known.clone()), 14);
        assert!(disk.lower(&[]).is_empty());
        assert_eq!(book(&mut disk, 5, None), 21, "losses were reset");
        assert_eq!(book(&mut disk, 6, known), 21);
    }
}
