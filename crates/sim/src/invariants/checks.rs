//! Invariants after every step: the engine's state compared with the ground truth. A failed check is reported as data
//! with seed and time; the seed run gives the command that reproduces it.

use crate::invariants::table::Invariant;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use cambist_core::config::MarketConfig;
use cambist_core::event::{Amounts, TradingState};
use cambist_core::notification::{End, Fill, Notification};
use cambist_core::order::UnsignedOrder;
use cambist_core::request::Endpoint;
use cambist_core::venue::SlotRule;
use cambist_core::{Amount, ClientOrderId, Hash, MarketId, MarketSpec, Reason, Side, Time};
use cambist_venue::Venue;
use serde::Serialize;

use crate::exchange::{Exchange, OWN_ACCOUNT};
use crate::faults::disk::Durable;
use crate::invariants::ground_truth::{GroundTruth, Taken};
use crate::invariants::sending::Slots;

/// Violations kept; after the first few, the rest are consequences.
const KEPT: usize = 100;

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The world's seed.
    pub seed: u64,
    /// Simulated time, milliseconds.
    pub at_ms: u64,
    /// Steps until then.
    pub step: u64,
    /// Stable name of the check.
    pub check: String,
    /// What was observed.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at {} ms (step {}): {}",
            self.check, self.at_ms, self.step, self.detail
        )
    }
}

/// The checks and their state.
#[derive(Debug)]
pub(crate) struct Checks {
    seed: u64,
    now: Time,
    step: u64,
    violations: Vec<Violation>,
    dropped: u64,
    /// Ids that were sent, by hash.
    left: BTreeMap<ClientOrderId, Hash>,
    /// Ids that the venue accepted, by hash.
    taken: BTreeMap<ClientOrderId, Hash>,
    /// Reported ends.
    ended: BTreeMap<ClientOrderId, End>,
    /// Reported fills: base, quote, fee.
    booked: BTreeMap<ClientOrderId, (Amount, Amount, Amount)>,
    /// Highest storage id sent, by token.
    slots: Slots,
    /// Who last left with a number of a row without gaps.
    numbers: BTreeMap<u32, ClientOrderId>,
    /// The last trading state reported as durable.
    level: TradingState,
    /// Joins and exits that the venue accepted.
    moves: BTreeSet<Hash>,
    /// Whether the daemon has ended and reported that no intent of it is alive.
    proven: bool,
    /// Checks that are suspended, for a time or for good, because of an external change.
    excused: BTreeMap<Invariant, Option<Time>>,
}

impl Checks {
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            seed,
            now: Time(0),
            step: 0,
            violations: Vec::new(),
            dropped: 0,
            left: BTreeMap::new(),
            taken: BTreeMap::new(),
            ended: BTreeMap::new(),
            booked: BTreeMap::new(),
            slots: Slots::new(),
            numbers: BTreeMap::new(),
            level: TradingState::Active,
            moves: BTreeSet::new(),
            proven: false,
            excused: BTreeMap::new(),
        }
    }

    /// Starts a step.
    pub(crate) const fn begin(&mut self, now: Time) {
        self.now = now;
        self.step += 1;
    }

    pub(crate) const fn steps(&self) -> u64 {
        self.step
    }

    pub(crate) fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Violations beyond those that are kept.
    pub(crate) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Suspends a check until a time, or for good.
    pub(crate) fn excuse(&mut self, check: Invariant, until: Option<Time>) {
        let known = self.excused.entry(check).or_insert(until);
        *known = known.zip(until).map(|(known, until)| known.max(until));
    }

    /// Enables a check again.
    pub(crate) fn accuse(&mut self, check: Invariant) {
        self.excused.remove(&check);
    }

    pub(crate) fn fail(&mut self, check: Invariant, detail: String) {
        let excused = self.excused.get(&check);
        if excused.is_some_and(|until| until.is_none_or(|until| self.now < until)) {
            return;
        }
        if self.violations.len() >= KEPT {
            self.dropped += 1;
            return;
        }
        self.violations.push(Violation {
            seed: self.seed,
            at_ms: self.now.as_ms(),
            step: self.step,
            check: check.name().to_owned(),
            detail,
        });
    }

    /// Checks an order that is handed over for sealing.
    pub(crate) fn sealing(&mut self, order: &UnsignedOrder, durable: &Durable) {
        let id = order.client_id;
        if durable.intents.contains_key(&id) || self.left.contains_key(&id) {
            self.fail(Invariant::IdReused, format!("{id} is sealed a second time"));
        }
    }

    /// Checks an order whose bytes are sent.
    pub(crate) fn leaving(&mut self, id: ClientOrderId, hash: Hash, durable: &Durable) {
        if durable.intents.get(&id).map(|intent| intent.hash) != Some(hash) {
            self.fail(
                Invariant::NotDurable,
                format!("{id} leaves and is not durable"),
            );
        }
        if durable.books.ledger.is_none() {
            let detail = format!("{id} leaves and the opening balances are not durable");
            self.fail(Invariant::NotReady, detail);
        }
        if let Some(before) = self.left.insert(id, hash)
            && before != hash
        {
            self.fail(
                Invariant::BytesChanged,
                format!("{id} leaves as {before}, then as {hash}"),
            );
        }
        if let Some(end) = self.ended.get(&id) {
            let detail = format!("{id} leaves after its end ({})", end.name());
            self.fail(Invariant::SentAfterEnd, detail);
        }
    }

    /// Checks the storage id of an order whose bytes are sent, for the first time or again.
    pub(crate) fn slot(&mut self, order: &UnsignedOrder, again: bool, rule: SlotRule) {
        // Of a row that only rises, bytes that a later number has passed do not leave again either.
        let again = match rule {
            SlotRule::Strided { .. } => again,
            SlotRule::Consecutive { .. } => return self.number(order),
            SlotRule::Rising { .. } if again => {
                let highest = self.slots.get(&rule.row(order.sell_token)).copied();
                highest == Some(order.slot)
            }
            SlotRule::Rising { .. } => false,
        };
        let row = rule.row(order.sell_token);
        let highest = self.slots.get(&row).copied();
        if !again && highest.is_some_and(|highest| order.slot <= highest) {
            let detail = format!("{} leaves with storage id {}", order.client_id, order.slot);
            self.fail(Invariant::SlotReused, detail);
        }
        let highest = highest.unwrap_or(0).max(order.slot);
        self.slots.insert(row, highest);
    }

    /// An order's bytes leave with a number of a row without gaps: no other order has it whose end is not known.
    fn number(&mut self, order: &UnsignedOrder) {
        let holder = self.numbers.insert(order.slot, order.client_id);
        let other = holder.filter(|holder| *holder != order.client_id);
        if let Some(other) = other.filter(|other| !self.ended.contains_key(other)) {
            let detail = format!(
                "{} leaves with number {} of {other}, which may be alive",
                order.client_id, order.slot
            );
            self.fail(Invariant::SlotReused, detail);
        }
    }

    /// A trading state is in force and reported as durable.
    pub(crate) fn level(&mut self, level: TradingState) {
        self.level = level;
    }

    /// Checks the trading state on disk at a start: never lower than one that was in force.
    pub(crate) fn starts_at(&mut self, level: TradingState) {
        if level < self.level {
            let detail = format!("{} after {}", level.name(), self.level.name());
            self.fail(Invariant::LevelLost, detail);
        }
        self.level = level;
        self.proven = false;
    }

    /// The daemon has ended with proof: from now on no intent of it may be alive, at the venue or in transit.
    pub(crate) fn ends_proven(&mut self, ground_truth: &GroundTruth, durable: &Durable) {
        self.proven = true;
        let kept = durable.open.iter().chain(durable.moves.keys());
        let forgotten: Vec<_> = kept.filter(|id| !self.ended.contains_key(id)).collect();
        if let Some(id) = forgotten.first() {
            self.fail(
                Invariant::Forgotten,
                format!("{id} has no end and all is called proven"),
            );
        }
        for (_, taken) in ground_truth.alive() {
            self.fail(Invariant::OpenAfterProof, format!("{} is open", taken.id));
        }
    }

    /// The venue reports a join or an exit of ours as accepted for the first time, or a chain a swap.
    pub(crate) fn move_taken(&mut self, hash: Hash, durable: &Durable) {
        let moves = durable.moves.values();
        let moves = moves.map(|sealed| (sealed.hash, sealed.transaction.client_id));
        let orders = durable.open.iter();
        let orders = orders.filter_map(|id| Some((durable.intents.get(id)?.hash, *id)));
        let known = moves.chain(orders).find(|(sealed, _)| *sealed == hash);
        let id = known.map(|(_, id)| id);
        if id.is_none_or(|id| self.ended.contains_key(&id)) {
            let detail =
                format!("the venue took move {hash}, which had ended or was never durable");
            self.fail(Invariant::TakenAfterEnd, detail);
        }
        if !self.moves.insert(hash) {
            self.fail(
                Invariant::DoubleMove,
                format!("move {hash} was taken twice"),
            );
        }
        if self.proven {
            let detail = format!("the venue took move {hash} after the proof");
            self.fail(Invariant::TakenAfterProof, detail);
        }
    }

    /// Whether the venue accepted such a join or exit of ours.
    pub(crate) fn is_move(&self, hash: &Hash) -> bool {
        self.moves.contains(hash)
    }

    /// Whether an order's bytes were sent before.
    pub(crate) fn has_left(&self, id: ClientOrderId) -> bool {
        self.left.contains_key(&id)
    }

    /// The venue accepted an order of ours. `before` is whether it had accepted these bytes already.
    pub(crate) fn taken(
        &mut self,
        order: Option<(&UnsignedOrder, bool)>,
        hash: Hash,
        durable: &Durable,
    ) {
        let Some((order, before)) = order else {
            return self.fail(
                Invariant::NoIntent,
                format!("the venue accepted {hash}, which was never sealed"),
            );
        };
        let id = order.client_id;
        if before {
            self.fail(
                Invariant::DoubleOrder,
                format!("{id} was taken twice as {hash}"),
            );
        }
        if let Some(other) = self.taken.insert(id, hash).filter(|other| *other != hash) {
            let detail = format!("{id} was taken as {other} and as {hash}");
            self.fail(Invariant::DoubleOrder, detail);
        }
        if !durable.intents.contains_key(&id) {
            self.fail(
                Invariant::NoIntent,
                format!("the venue took {id}, which is not durable"),
            );
        }
        if self.proven {
            let detail = format!("the venue took {id} after the proof");
            self.fail(Invariant::TakenAfterProof, detail);
        }
        if let Some(end) = self.ended.get(&id) {
            let detail = format!("the venue took {id} after its end ({})", end.name());
            self.fail(Invariant::TakenAfterEnd, detail);
        }
    }

    /// Checks an order of ours on arrival at the venue: it must not cross an own order there, whether or not the venue
    /// accepts it.
    pub(crate) fn arriving(
        &mut self,
        hash: Hash,
        id: ClientOrderId,
        durable: &Durable,
        ground_truth: &GroundTruth,
    ) {
        let Some(intent) = durable
            .intents
            .get(&id)
            .filter(|intent| intent.hash == hash)
        else {
            return;
        };
        let new = &intent.order;
        let known = ground_truth.get(&hash).is_some() || self.ended.contains_key(&id);
        if known || new.is_swap() {
            return;
        }
        let met = ground_truth
            .open()
            .map(|(_, t)| t)
            .filter(|t| t.market == new.market && t.side != new.side)
            .find(|t| new.side.reaches(new.price, t.price));
        if let Some(met) = met {
            let detail = format!(
                "{id} at {} meets {} at {}",
                new.price.0, met.id, met.price.0
            );
            self.fail(Invariant::SelfCross, detail);
        }
    }

    /// Checks own orders on the book after one was added at a side of a market: at most the allowed number, and none
    /// that could exceed the band.
    pub(crate) fn book(
        &mut self,
        ground_truth: &GroundTruth,
        markets: &[MarketSpec],
        limits: &[MarketConfig],
        venue: &Venue,
        added: Option<(MarketId, Side)>,
    ) {
        for (spec, limits) in markets.iter().zip(limits) {
            let own = || {
                ground_truth
                    .open()
                    .map(|(_, t)| t)
                    .filter(|t| t.market == spec.id)
            };
            for side in Side::BOTH {
                let count = own().filter(|t| t.side == side).count();
                if count > limits.open_orders_max as usize {
                    let detail = format!("{}: {count} on one side", spec.name);
                    self.fail(Invariant::OpenOrders, detail);
                }
            }
            let left = |side| -> Amount {
                own()
                    .filter(|t| t.side == side)
                    .map(|t| t.base.saturating_sub(t.filled.0))
                    .sum()
            };
            let held = venue
                .account(OWN_ACCOUNT)
                .map_or(0, |account| account.balance(spec.base.id).total);
            let (most, least) = (
                held.saturating_add(left(Side::Buy)),
                held.saturating_sub(left(Side::Sell)),
            );
            // Orders that can only lead back into the band are allowed outside of it.
            let side = added.filter(|(market, _)| *market == spec.id);
            let beyond = match side.map(|(_, side)| side) {
                Some(Side::Buy) => most > limits.inventory_max && left(Side::Buy) > 0,
                Some(Side::Sell) => least < limits.inventory_min && left(Side::Sell) > 0,
                None => false,
            };
            if beyond {
                let detail = format!("{}: {least} to {most} base units possible", spec.name);
                self.fail(Invariant::InventoryBand, detail);
            }
        }
    }

    /// Checks a notification.
    pub(crate) fn observe(
        &mut self,
        notification: &Notification,
        durable: &Durable,
        ground_truth: &GroundTruth,
        venue: &Venue,
    ) {
        match notification {
            Notification::Filled(fill) => self.filled_truly(fill, durable, ground_truth),
            Notification::Ended { order, end, .. } => {
                if self.ended.insert(*order, *end).is_some() {
                    let detail = format!("{order} ended a second time");
                    self.fail(Invariant::EndedTwice, detail);
                }
                self.ended_truly(*order, *end, durable, ground_truth, venue);
            }
            Notification::Foreign { hash } => {
                if let Some(taken) = ground_truth.get(hash) {
                    self.fail(Invariant::OwnCalledForeign, format!("{} is ours", taken.id));
                }
            }
            Notification::Mismatch {
                token,
                ledger,
                venue,
            } => {
                let detail = format!("token {}: ledger {ledger}, venue {venue}", token.0);
                self.fail(Invariant::Mismatch, detail);
            }
            Notification::InvariantFailed { name, detail } => {
                self.fail(Invariant::EngineInvariant, format!("{name}: {detail}"));
            }
            Notification::PoolTransactionEnded { order, end, .. } => {
                if self.ended.insert(*order, *end).is_some() {
                    self.fail(
                        Invariant::EndedTwice,
                        format!("move {order} ended a second time"),
                    );
                }
            }
            Notification::Refused {
                endpoint: Endpoint::Submit | Endpoint::Join | Endpoint::Exit,
                order: Some(order),
                reason: Reason::InsufficientBalance,
            } => self.fail(
                Invariant::Overcommitted,
                format!("the venue lacks funds for {order}"),
            ),
            Notification::FeeAbove {
                order,
                fee,
                expected,
            } => self.fail(
                Invariant::FeeAbove,
                format!("{order}: {fee} above {expected}"),
            ),
            Notification::Ready { .. }
            | Notification::Submitted { .. }
            | Notification::SwapSubmitted { .. }
            | Notification::Resent { .. }
            | Notification::Acknowledged { .. }
            | Notification::Refused { .. }
            | Notification::Unknown { .. }
            | Notification::Answered { .. }
            | Notification::CancelSent { .. }
            | Notification::AmendSent { .. }
            | Notification::AmendEnded { .. }
            | Notification::Resolved { .. }
            | Notification::DepthAccepted { .. }
            | Notification::DepthRefused { .. }
            | Notification::RiskRefused { .. }
            | Notification::Books(_)
            | Notification::Withheld { .. }
            | Notification::OtherInstance { .. }
            | Notification::BudgetDenied { .. }
            | Notification::Reconciled { .. }
            | Notification::Balanced
            | Notification::TradingStateChanged { .. }
            | Notification::Paused(_)
            | Notification::Unpaused { .. }
            | Notification::RestrictionsNotStored
            | Notification::CommandAccepted { .. }
            | Notification::CommandRefused { .. }
            | Notification::Adopted { .. }
            | Notification::ForeignAdopted { .. }
            | Notification::SideEmpty { .. }
            | Notification::Left { .. }
            | Notification::Slept { .. }
            | Notification::BothSides { .. }
            | Notification::MemoryRefused { .. }
            | Notification::ProcessAnswerRefused { .. }
            | Notification::PoolTransactionSubmitted { .. }
            | Notification::PoolTransactionSettled(_)
            | Notification::ForeignPoolTransaction { .. }
            | Notification::Draining
            | Notification::Status(_) => {}
        }
    }

    /// What is booked of an order must have been traded at the venue.
    fn filled_truly(&mut self, fill: &Fill, durable: &Durable, ground_truth: &GroundTruth) {
        let booked = self.booked.entry(fill.order).or_default();
        booked.0 += fill.base;
        booked.1 += fill.quote;
        booked.2 += fill.fee;
        let booked = *booked;
        let real = taken_as(durable, ground_truth, fill.order).map_or((0, 0, 0), |t| t.filled);
        if booked.0 > real.0 || booked.1 > real.1 || booked.2 > real.2 {
            let detail = format!("{}: booked {booked:?}, traded {real:?}", fill.order);
            self.fail(Invariant::FillInvented, detail);
        }
    }

    /// An end must be an end at the venue too, with every fill booked.
    fn ended_truly(
        &mut self,
        id: ClientOrderId,
        end: End,
        durable: &Durable,
        ground_truth: &GroundTruth,
        venue: &Venue,
    ) {
        let Some(intent) = durable.intents.get(&id) else {
            return;
        };
        if venue.is_open(&intent.hash) {
            let detail = format!("{id} ended ({}) and is open at the venue", end.name());
            self.fail(Invariant::EndedButOpen, detail);
        }
        let real = ground_truth
            .get(&intent.hash)
            .map_or((0, 0, 0), |t| t.filled);
        let booked = self.booked.get(&id).copied().unwrap_or_default();
        if booked != real {
            let detail = format!(
                "{id} ended ({}) with {booked:?} booked of {real:?} traded",
                end.name()
            );
            self.fail(Invariant::FillMissed, detail);
        }
    }

    /// A crash: reported changes that were not durable count as not reported.
    pub(crate) fn crashed(&mut self, durable: &Durable) {
        self.booked.clear();
        self.ended.clear();
        for (id, intent) in &durable.intents {
            if intent.filled != (0, 0, 0) {
                self.booked.insert(*id, intent.filled);
            }
            if let Some(end) = intent.end {
                self.ended.insert(*id, end);
            }
        }
    }

    /// Audits the venue's books.
    pub(crate) fn audit(&mut self, venue: &Venue) {
        if let Err(detail) = venue.audit() {
            self.fail(Invariant::VenueAudit, detail);
        }
    }

    /// After a proven end: no open order, every fill booked, ledger and venue equal.
    pub(crate) fn at_the_end(
        &mut self,
        ground_truth: &GroundTruth,
        exchange: &Exchange,
        ledger: &Amounts,
        held: &Amounts,
    ) {
        for (hash, taken) in ground_truth.iter() {
            if exchange.venue().is_open(hash) {
                self.fail(Invariant::OpenAtEnd, format!("{} is open", taken.id));
            }
            let booked = self.booked.get(&taken.id).copied().unwrap_or_default();
            if booked != taken.filled {
                let detail = format!("{}: {booked:?} of {:?} booked", taken.id, taken.filled);
                self.fail(Invariant::FillMissed, detail);
            }
            if !self.ended.contains_key(&taken.id) {
                self.fail(Invariant::Forgotten, format!("{} never ended", taken.id));
            }
        }
        // A start that ended before its opening has no books to compare.
        let held = if ledger.is_empty() { ledger } else { held };
        let tokens: BTreeSet<_> = ledger.keys().chain(held.keys()).collect();
        for token in tokens {
            let of = |amounts: &Amounts| amounts.get(token).copied().unwrap_or(0);
            if of(ledger) != of(held) {
                let (ledger, held) = (of(ledger), of(held));
                let detail = format!("token {}: ledger {ledger}, venue {held}", token.0);
                self.fail(Invariant::Residual, detail);
            }
        }
        self.audit(exchange.venue());
    }
}

fn taken_as<'a>(
    durable: &Durable,
    ground_truth: &'a GroundTruth,
    id: ClientOrderId,
) -> Option<&'a Taken> {
    ground_truth.get(&durable.intents.get(&id)?.hash)
}
