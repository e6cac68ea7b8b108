//! The daemon's side: the state of its orders in memory and on disk, and the rules.
//!
//! Decisions about evidence are calls of `cambist_core`; each wrong rule is beside the right one.

use cambist_core::fence::{self, ListScan, Progress, VenueEvidence};
use cambist_core::order::OrderReport;
use cambist_core::venue::{Lifetime, Refusal};
use cambist_core::{OrderStatus, Time, VenueTime};

use crate::venue::{Answer, hash, ticks};
use crate::{COPIES, GRACE, LIFE, Numbers, ORDERS, ROUNDS, Rests, SKEW, TICK_MS, Wrong};

/// The phases of an order in the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not created, or no longer known.
    #[default]
    None,
    /// Sealed; no byte has left.
    Sealed,
    /// The answer to this transmission is outstanding.
    InFlight(usize),
    /// Transmitted, with unknown result.
    Unknown,
    /// Accepted by the venue or listed there.
    Live,
    /// Ended in the engine's view.
    Ended,
}

/// Durability of one fact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Disk {
    /// Not written.
    #[default]
    Nothing,
    /// Written but not synced; a crash loses it.
    Written,
    /// Synced.
    Synced,
}

/// The engine's record of one order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, not states of one thing"
)]
pub struct Tracked {
    /// Phase.
    pub phase: Phase,
    /// Transmissions so far.
    pub transmissions: u8,
    /// Number of transmissions that are disproved.
    pub disproved: u8,
    /// The venue's evidence of its existence.
    pub evidence: VenueEvidence,
    /// A cancel was decided.
    pub cancel_decided: bool,
    /// The answer to the cancel is outstanding.
    pub cancel_outstanding: bool,
    /// Its funds are reserved.
    pub reserved: bool,
    /// Its fill is booked.
    pub booked: bool,
    /// The answer in transit.
    pub answer: Option<Answer>,
    /// Until when its bytes are accepted.
    pub until: u8,
    /// Until when it rests, if anything but a fill or a cancel ends that.
    pub rests_until: Option<u8>,
    /// Storage id.
    pub storage_id: u8,
    /// Recovered from the store by a restart.
    pub recovered: bool,
    /// Count used only by wrong rules.
    pub not_found: u8,
    /// Only under a wrong rule: it no longer occupies its quote.
    pub replaced: bool,
    /// Its intent on disk.
    pub sealed: Disk,
}

impl Tracked {
    /// Whether it may be alive in the engine's view.
    pub const fn is_tracked(&self) -> bool {
        !matches!(self.phase, Phase::None | Phase::Ended)
    }

    const fn may_have_left(&self) -> bool {
        matches!(
            self.phase,
            Phase::InFlight(_) | Phase::Unknown | Phase::Live
        )
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime {
            accepted_until: ticks(self.until),
            rests_until: self.rests_until.map(ticks),
        }
    }

    /// Ends the order and drops the rest of its state.
    fn end(&mut self) {
        *self = Self {
            phase: Phase::Ended,
            booked: self.booked,
            disproved: self.disproved,
            until: self.until,
            rests_until: self.rests_until,
            storage_id: self.storage_id,
            sealed: self.sealed,
            ..Self::default()
        };
    }
}

/// The engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Engine {
    /// By number.
    pub orders: [Tracked; ORDERS],
    /// The list that is being scanned.
    pub scan: Option<ListScan>,
    /// Orders in the round that is being read.
    round: [bool; ORDERS],
    /// Rounds read so far.
    rounds: u8,
    /// Next storage id.
    next_id: u8,
}

impl Engine {
    /// The number of the order that may be created, if no order occupies the quote.
    pub fn may_seal(&self, numbers: Numbers) -> Option<usize> {
        let holds_back = |order: &Tracked| match numbers {
            Numbers::Apart => order.is_tracked() && !order.replaced,
            // One number at a time may still arrive too early or too late.
            Numbers::Rising => matches!(order.phase, Phase::Sealed | Phase::InFlight(_)),
        };
        if self.orders.iter().any(holds_back) {
            return None;
        }
        self.orders
            .iter()
            .position(|order| order.phase == Phase::None)
    }

    /// Creates and writes an order.
    pub fn seal(&mut self, number: usize, clock: u8, rests: Rests) {
        self.orders[number] = Tracked {
            phase: Phase::Sealed,
            reserved: true,
            until: clock + LIFE,
            rests_until: rests.until(clock + LIFE),
            storage_id: self.next_id,
            sealed: Disk::Written,
            ..Tracked::default()
        };
        self.next_id += 1;
    }

    /// Whether the bytes may be sent now, for the first time or again.
    pub fn may_transmit(
        &self,
        number: usize,
        clock: u8,
        numbers: Numbers,
        wrong: Option<Wrong>,
    ) -> bool {
        let order = &self.orders[number];
        let durable = order.sealed == Disk::Synced || wrong == Some(Wrong::SyncSkipped);
        let left = usize::from(order.transmissions) < COPIES;
        match order.phase {
            Phase::Sealed => durable && left && !order.cancel_decided,
            Phase::Unknown => {
                let is_passed = numbers == Numbers::Rising && order.storage_id + 1 < self.next_id;
                left && !is_passed
                    && !order.recovered
                    && !order.replaced
                    && fence::may_be_resent(
                        ticks(clock),
                        ticks(order.until),
                        0,
                        order.cancel_decided,
                    )
            }
            Phase::None | Phase::InFlight(_) | Phase::Live | Phase::Ended => false,
        }
    }

    /// Sends them. Returns the index of the transmission.
    pub fn transmit(&mut self, number: usize) -> usize {
        let order = &mut self.orders[number];
        let copy = usize::from(order.transmissions);
        order.transmissions += 1;
        order.phase = Phase::InFlight(copy);
        copy
    }

    /// The transmission provably did not leave.
    pub fn not_sent(&mut self, number: usize, wrong: Option<Wrong>) {
        let order = &mut self.orders[number];
        order.transmissions += 1;
        order.disproved += 1;
        if wrong == Some(Wrong::NotSentEnds) {
            order.end();
        } else if fence::are_all_disproved(order.transmissions, order.disproved) {
            order.phase = Phase::Sealed;
        } else {
            order.phase = Phase::Unknown;
        }
    }

    /// Drops an order that was sealed and never sent.
    pub fn drop_unsent(&mut self, number: usize) {
        self.orders[number].end();
    }

    /// The request timed out.
    pub fn time_out(&mut self, number: usize, wrong: Option<Wrong>) {
        let order = &mut self.orders[number];
        order.phase = Phase::Unknown;
        order.answer = None;
        order.replaced = wrong == Some(Wrong::NewIdOnRetry);
    }

    /// Handles the answer to a transmission.
    pub fn handle_answer(&mut self, number: usize, wrong: Option<Wrong>) {
        let order = &mut self.orders[number];
        let Some(answer) = order.answer.take() else {
            return;
        };
        match answer {
            Answer::Accepted => {
                order.phase = Phase::Live;
                order.evidence = VenueEvidence::Seen;
                if wrong == Some(Wrong::LaterTakenEnds) {
                    self.end_passed(number);
                }
            }
            Answer::Refused(reason) => {
                let resent = order.transmissions > 1;
                let definitive = reason.refusal() == Refusal::KillsBytes;
                order.disproved += u8::from(definitive);
                let all = fence::are_all_disproved(order.transmissions, order.disproved);
                let ends = match wrong {
                    Some(Wrong::AnyRefusalEnds) => true,
                    Some(Wrong::RefusedResendEnds) => resent || definitive && all,
                    Some(Wrong::OneRefusalEnds) => definitive,
                    _ => definitive && all,
                };
                if ends {
                    order.end();
                } else {
                    order.phase = Phase::Unknown;
                }
            }
        }
    }

    /// Only under a wrong rule: a later number was taken, and so the unknown orders before it are over.
    fn end_passed(&mut self, number: usize) {
        let taken = self.orders[number].storage_id;
        for order in &mut self.orders {
            if order.phase == Phase::Unknown && order.storage_id < taken {
                order.end();
            }
        }
    }

    /// Whether a cancel may be decided.
    pub fn may_cancel(&self, number: usize) -> bool {
        let order = &self.orders[number];
        matches!(order.phase, Phase::Live | Phase::Unknown) && !order.cancel_decided
    }

    /// Decides a cancel.
    pub fn cancel(&mut self, number: usize) {
        let order = &mut self.orders[number];
        order.cancel_decided = true;
        order.cancel_outstanding = true;
    }

    /// Handles the answer to a cancel.
    pub fn handle_cancel_answer(&mut self, number: usize, accepted: bool, wrong: Option<Wrong>) {
        let order = &mut self.orders[number];
        order.cancel_outstanding = false;
        if accepted && wrong == Some(Wrong::AcceptedCancelReleases) {
            order.reserved = false;
        }
        if !accepted && wrong == Some(Wrong::NothingToCancelEnds) {
            order.end();
        }
    }

    /// Handles a report of the venue about an order.
    fn observe(&mut self, report: &OrderReport) {
        let number = (0..ORDERS).find(|number| hash(*number) == report.hash);
        let Some(order) = number.map(|number| &mut self.orders[number]) else {
            return;
        };
        if !order.is_tracked() {
            return;
        }
        order.evidence = VenueEvidence::Seen;
        order.phase = Phase::Live;
        order.answer = None;
        order.not_found = 0;
        if report.status.is_final() {
            order.booked = report.status == OrderStatus::Processed;
            order.end();
        }
    }

    /// Handles the answer to a query by hash.
    pub fn handle_read(
        &mut self,
        number: usize,
        report: Option<&OrderReport>,
        clock: u8,
        wrong: Option<Wrong>,
    ) {
        let requested_at = now(wrong, clock);
        if let Some(report) = report {
            self.observe(report);
        } else {
            let order = &mut self.orders[number];
            if fence::is_behind(
                requested_at,
                order.lifetime().last_effect(),
                grace_ms(wrong),
            ) {
                order.evidence = VenueEvidence::Denied;
            }
            if wrong == Some(Wrong::NotFoundThreeTimes) {
                order.not_found += 1;
                if order.not_found == 3 {
                    order.end();
                }
            }
        }
    }

    /// Whether a scan may be started: the fence of an order is near.
    pub fn may_begin_scan(&self, clock: u8, wrong: Option<Wrong>) -> bool {
        let near = |order: &Tracked| {
            order.may_have_left()
                && (wrong == Some(Wrong::AbsenceEnds)
                    || now(wrong, clock).0 + grace_ms(None) >= ticks(order.until + GRACE).0)
        };
        self.scan.is_none() && self.orders.iter().any(near)
    }

    /// Starts a scan: a closed window, page by page.
    pub fn begin_scan(&mut self, clock: u8, wrong: Option<Wrong>) {
        self.scan = Some(ListScan::proof(Time(0), now(wrong, clock), VenueTime(0), 1));
        self.round = [false; ORDERS];
    }

    /// Handles a page of the scan.
    pub fn handle_page(&mut self, reports: &[OrderReport], total: u32, wrong: Option<Wrong>) {
        let Some(mut scan) = self.scan.take() else {
            return;
        };
        for report in reports {
            self.observe(report);
        }
        let offset = scan.page().offset;
        if offset == 0 {
            self.round = [false; ORDERS];
        }
        for report in reports {
            for (number, listed) in self.round.iter_mut().enumerate() {
                *listed |= hash(number) == report.hash;
            }
        }
        let read = u32::try_from(reports.len()).unwrap_or(u32::MAX);
        let total = match wrong {
            Some(Wrong::FirstPageOnly) => offset + read,
            _ => total,
        };
        let progress = scan.take(reports, total);
        let one_round = wrong == Some(Wrong::OneRound) && offset + read >= total;
        match progress {
            Progress::Complete => self.apply_fence(&scan, wrong),
            Progress::More if one_round => self.apply_fence(&scan, wrong),
            Progress::More => {
                self.rounds += u8::from(scan.page().offset == 0);
                // The model stops a scan earlier than the engine does: the same facts can be learnt from another scan.
                if self.rounds < ROUNDS {
                    self.scan = Some(scan);
                } else {
                    self.end_pass();
                }
            }
            Progress::Abandoned => self.end_pass(),
        }
    }

    /// Ends the orders that the list proves dead.
    fn apply_fence(&mut self, scan: &ListScan, wrong: Option<Wrong>) {
        let round = self.round;
        self.end_pass();
        for (number, order) in self.orders.iter_mut().enumerate() {
            if !order.may_have_left() {
                continue;
            }
            let listed = scan.shows(hash(number)) || round[number];
            let proven_dead = match wrong {
                Some(Wrong::AbsenceEnds) => !listed,
                Some(Wrong::LapseEnds) => {
                    fence::is_behind(scan.begun_venue(), ticks(order.until), grace_ms(wrong))
                }
                _ => fence::is_proven_dead(
                    scan.begun_venue(),
                    order.lifetime(),
                    grace_ms(wrong),
                    listed,
                    order.evidence,
                ),
            };
            if proven_dead {
                order.end();
            }
        }
    }

    /// Whether anything written is not synced.
    pub fn is_unsynced(&self) -> bool {
        let unsynced = |order: &Tracked| order.sealed == Disk::Written;
        self.orders.iter().any(unsynced)
    }

    /// Syncs everything that was written.
    pub fn sync(&mut self) {
        for order in &mut self.orders {
            if order.sealed == Disk::Written {
                order.sealed = Disk::Synced;
            }
        }
    }

    /// Loses everything but the disk, and possibly the ends written last; a new process starts from what is on disk.
    pub fn crash(&mut self, keeps_ends: bool, wrong: Option<Wrong>) {
        self.next_id = 0;
        for order in &mut self.orders {
            if order.sealed != Disk::Synced {
                *order = Tracked::default();
                continue;
            }
            if wrong != Some(Wrong::IdsRestart) {
                self.next_id = self.next_id.max(order.storage_id + 1);
            }
            let ended = order.phase == Phase::Ended && keeps_ends;
            if ended || wrong == Some(Wrong::OpenOrdersNotRead) {
                order.end();
                continue;
            }
            *order = Tracked {
                phase: Phase::Unknown,
                reserved: true,
                until: order.until,
                rests_until: order.rests_until,
                storage_id: order.storage_id,
                // An earlier run may have used all its transmissions; this one adds none.
                recovered: true,
                sealed: Disk::Synced,
                ..Tracked::default()
            };
        }
        self.end_pass();
    }

    fn end_pass(&mut self) {
        (self.scan, self.round, self.rounds) = (None, [false; ORDERS], 0);
    }
}

/// The venue's time that the rules use.
fn now(wrong: Option<Wrong>, clock: u8) -> VenueTime {
    match wrong {
        Some(Wrong::WallClock) => ticks(clock + SKEW),
        _ => ticks(clock),
    }
}

const fn grace_ms(wrong: Option<Wrong>) -> u64 {
    match wrong {
        Some(Wrong::NoGrace) => 0,
        _ => GRACE as u64 * TICK_MS,
    }
}
