//! The ledger: opening balances, every fill once, and the comparison with the venue at moments when both are known to
//! describe the same instant.
//!
//! Orders and balances come from different endpoints at different times. They describe the same instant if no fill was
//! booked between the request for the balances and the end of an order scan that began after they arrived: this is a
//! *cut*. While fills come all the time, or while no list shows an order, there is none. Then the balances must be what the
//! ledger holds, plus or minus bookings since their request and all that such orders may have filled: a balance outside
//! of that is a difference of at least its distance.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::books::{Difference, NotCovered};
use crate::event::{Amounts, Totals};
use crate::market::{MarketSpec, Side};
use crate::order::ClientOrderId;
use crate::pool::{PoolTransactionAmounts, UnsignedPoolTransaction};
use crate::postings::{Postings, Traded};
use crate::request::{Balance, Charge, ChargedBalances};
use crate::sorted_map::SortedMap;
use crate::sorted_set::SortedSet;
use crate::time::Time;
use crate::token::{Amount, TokenId};

use crate::engine::account::booked_since::BookedSince;
use crate::engine::account::unaccounted::Unaccounted;
use crate::engine::intents::registry::Increment;

/// The largest amount that each of our intents locked when the balances were requested, and whether it certainly did.
pub(crate) type OwnLocks = SortedMap<(TokenId, ClientOrderId), (Amount, bool)>;

/// Balances that wait for a scan which confirms that nothing happened around them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PendingBalances {
    balances: Amounts,
    fills_before: u64,
    arrived: Time,
}

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReconciliationResult {
    /// The first one of all: these are the opening balances.
    Opening(Amounts),
    /// Ledger and venue agree on every token.
    Balanced,
    /// They differ.
    Differs(Differences),
    /// Without a cut: they differ by at least this, whatever bookings since the request the balances contain. Empty if
    /// no difference follows.
    DiffersAtLeast(Differences),
}

/// Charges whose numbers do not continue those that are booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotContinued;

/// Tokens of which ledger and venue differ.
pub(crate) type Differences = SortedMap<TokenId, Difference>;

/// The ledger.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ledger {
    totals: Option<Totals>,
    /// Increases with every booked fill, and with every flow that an operator states.
    fills: u64,
    venue: SortedMap<TokenId, Balance>,
    /// When the venue's balances were requested.
    balances_requested_at: Option<Time>,
    /// Amounts that our intents locked when the balances were requested.
    own_locked: OwnLocks,
    /// Tokens of which others lock some: more was locked than our intents can have locked, and it has never since been
    /// exactly their amount.
    locked_by_others: SortedSet<TokenId>,
    /// Bookings since then. The venue's balances may not contain them.
    booked_since_request: BookedSince,
    /// Differences at the last cut, less what was explained since.
    differing: Differences,
    pending: Option<PendingBalances>,
    /// Charges with a number below this one are booked, or were taken before the opening.
    charged_below: u64,
}

impl Ledger {
    /// The ledger of earlier runs; `None` before the first reconciliation of all.
    pub(crate) fn new(totals: Option<Totals>, charged_below: u64) -> Self {
        Self {
            totals,
            charged_below,
            ..Self::default()
        }
    }

    /// Whether opening balances were taken.
    pub(crate) const fn is_open(&self) -> bool {
        self.totals.is_some()
    }

    /// Differences at the last reconciliation, less what was explained since.
    pub(crate) const fn differing(&self) -> &Differences {
        &self.differing
    }

    /// Increases with every booked fill and every flow that an operator states; recorded when balances are requested.
    pub(crate) fn fills(&self) -> u64 {
        self.fills
    }

    /// Books one increment. Returns false if an amount would fall below zero; before the opening only the count
    /// increases.
    pub(crate) fn book(&mut self, spec: &MarketSpec, side: Side, step: Increment) -> bool {
        self.fills += 1;
        let Increment { base, quote, fee } = step;
        self.post(&Postings::of_trade(spec, side, Traded { base, quote, fee }))
    }

    /// Books a change that the venue's balances may not contain.
    fn post(&mut self, postings: &Postings) -> bool {
        let Some(totals) = &mut self.totals else {
            return true;
        };
        for (token, change) in postings.iter() {
            self.booked_since_request.add(self.fills, token, change);
        }
        postings.book(totals)
    }

    /// The venue's balances may be older than they seem: no free funds until they are read again.
    pub(crate) fn invalidate(&mut self) {
        self.balances_requested_at = None;
        self.pending = None;
    }

    /// An operator states a flow before the opening. Balances that were requested before it may not contain it, and are no
    /// opening balances.
    pub(crate) fn request_opening_again(&mut self) {
        self.fills += 1;
    }

    /// Books a flow that an operator explained; an error without change if more leaves than there is.
    pub(crate) fn adopt(&mut self, token: TokenId, amount: i128) -> Result<(), NotCovered> {
        let Some(totals) = &mut self.totals else {
            return Err(NotCovered { held: 0, amount });
        };
        let held = totals.get(&token).copied().unwrap_or(0);
        totals.insert(token, NotCovered::unless_covered(held, amount)?);
        if let Some(difference) = self.differing.remove(&token)
            && let Some(left) = difference.explained(amount)
        {
            self.differing.insert(token, left);
        }
        // Balances that were requested before may or may not contain it.
        self.fills += 1;
        self.booked_since_request.add(self.fills, token, amount);
        Ok(())
    }

    /// Books the changes of a join or an exit, like [`Ledger::book`] for a fill.
    pub(crate) fn book_pool_transaction(
        &mut self,
        wanted: &UnsignedPoolTransaction,
        moved: &PoolTransactionAmounts,
    ) -> bool {
        self.fills += 1;
        let UnsignedPoolTransaction {
            kind, pooled, lp, ..
        } = wanted;
        self.post(&Postings::of_pool(*kind, *pooled, *lp, moved))
    }

    /// The number of the next charge to book.
    pub(crate) const fn charged_below(&self) -> u64 {
        self.charged_below
    }

    /// Books charges that are not booked yet, and returns them with their postings; an error without change if their
    /// numbers do not continue those that are. Charges from before the opening balances are in those.
    pub(crate) fn charge(&mut self, of: &ChargedBalances) -> Result<Vec<Charge>, NotContinued> {
        let from = self.charged_below;
        let due = of.charges.iter().filter(|charge| charge.number >= from);
        let due: Vec<Charge> = due.copied().collect();
        let numbers = due.iter().map(|charge| charge.number);
        let continues = numbers.eq(from..of.charged_below);
        if of.charged_below < from || (self.is_open() && !continues) {
            return Err(NotContinued);
        }
        self.charged_below = of.charged_below;
        if !self.is_open() {
            return Ok(Vec::new());
        }
        for charge in &due {
            self.fills += 1;
            // A coin that pays for gas cannot fall below zero at the venue; the caller compares it at the next cut.
            let _ = self.post(&Postings::of_charge(charge));
        }
        Ok(due)
    }

    /// Takes balances that were requested at `asked`, when `fills_before` fills were booked.
    pub(crate) fn balances(
        &mut self,
        asked: Time,
        arrived: Time,
        fills_before: u64,
        own_locked: OwnLocks,
        balances: &[Balance],
    ) {
        if self
            .balances_requested_at
            .is_some_and(|known| known > asked)
        {
            return;
        }
        self.balances_requested_at = Some(asked);
        self.own_locked = own_locked;
        self.booked_since_request.requested_after(fills_before);
        // In the order of the maps, whose cost would grow with the square of what a venue lists in another one.
        let mut balances: Vec<_> = balances.iter().collect();
        balances.sort_by_key(|balance| balance.token);
        self.venue = balances
            .iter()
            .map(|balance| (balance.token, **balance))
            .collect();
        for Balance { token, locked, .. } in &balances {
            let own = self.own_locked.iter().filter(|((of, _), _)| of == token);
            match (*locked).cmp(&own.map(|(_, (most, _))| *most).sum()) {
                Ordering::Greater => drop(self.locked_by_others.insert(*token)),
                Ordering::Equal => drop(self.locked_by_others.remove(token)),
                Ordering::Less => {}
            }
        }
        let balances = balances
            .iter()
            .map(|balance| (balance.token, balance.total))
            .collect();
        self.pending = Some(PendingBalances {
            balances,
            fills_before,
            arrived,
        });
    }

    /// An order scan that began at `begun` has ended. `unaccounted` is of the orders that may have been alive when the
    /// balances were taken, and that it did not list; `None` if what they changed is not bounded.
    pub(crate) fn scan_ended(
        &mut self,
        begun: Time,
        unaccounted: Option<&Unaccounted>,
    ) -> Option<ReconciliationResult> {
        if self.pending.as_ref().is_some_and(|c| begun < c.arrived) {
            return None;
        }
        let candidate = self.pending.take()?;
        let unaccounted = unaccounted?;
        if candidate.fills_before != self.fills || !unaccounted.is_empty() {
            return self.outside(&candidate.balances, unaccounted);
        }
        let Some(totals) = &self.totals else {
            let opening = candidate.balances.iter();
            self.totals = Some(opening.map(|(id, units)| (*id, signed(*units))).collect());
            return Some(ReconciliationResult::Opening(candidate.balances));
        };
        let tokens: SortedSet<TokenId> = totals
            .keys()
            .chain(candidate.balances.keys())
            .copied()
            .collect();
        let compared = tokens.into_iter().map(|token| {
            let ledger = totals.get(&token).copied().unwrap_or(0);
            let venue = candidate.balances.get(&token).copied().unwrap_or(0);
            (token, Difference { ledger, venue })
        });
        self.differing = compared.filter(|(_, d)| d.unexplained() != 0).collect();
        Some(if self.differing.is_empty() {
            ReconciliationResult::Balanced
        } else {
            ReconciliationResult::Differs(self.differing.clone())
        })
    }

    /// By how much balances differ, whatever bookings since their request and fills of unaccounted orders they contain.
    /// Everything else that happened before they arrived is booked.
    fn outside(
        &self,
        balances: &Amounts,
        unaccounted: &Unaccounted,
    ) -> Option<ReconciliationResult> {
        let totals = self.totals.as_ref()?;
        let tokens: SortedSet<TokenId> = totals.keys().chain(balances.keys()).copied().collect();
        let compared = tokens.into_iter().map(|token| {
            let venue = balances.get(&token).copied().unwrap_or(0);
            let (paid, got) = self.booked_since_request.of(token);
            let (may_have_paid, may_have_got) = unaccounted.of_token(token);
            let booked = totals.get(&token).copied().unwrap_or(0);
            let least = booked.saturating_sub(signed(got.saturating_add(may_have_paid)));
            let most = booked.saturating_add(signed(paid.saturating_add(may_have_got)));
            let ledger = signed(venue).clamp(least, most);
            (token, Difference { ledger, venue })
        });
        let apart: Differences = compared.filter(|(_, d)| d.unexplained() != 0).collect();
        Some(ReconciliationResult::DiffersAtLeast(apart))
    }

    /// When the balances of the candidate cut arrived.
    pub(crate) fn candidate_arrived(&self) -> Option<Time> {
        self.pending.as_ref().map(|candidate| candidate.arrived)
    }

    /// Age of the venue's balances in milliseconds.
    pub(crate) fn age_ms(&self, now: Time) -> Option<u64> {
        self.balances_requested_at.map(|asked| now.ms_since(asked))
    }

    /// Balance by the ledger; 0 before the opening, and while purchases are not found yet.
    pub(crate) fn total(&self, token: TokenId) -> Amount {
        Amount::try_from(self.booked(token)).unwrap_or(0)
    }

    /// The sum of everything booked of a token; 0 before the opening.
    pub(crate) fn booked(&self, token: TokenId) -> i128 {
        let totals = self.totals.as_ref();
        totals
            .and_then(|totals| totals.get(&token).copied())
            .unwrap_or(0)
    }

    /// Lower and upper bound of a balance: ledger and venue may differ by a fill that one of them does not contain yet,
    /// or by a foreign flow. A difference at the last cut persists, whatever was filled since.
    pub(crate) fn bounds(&self, token: TokenId) -> (Amount, Amount) {
        let ours = self.total(token);
        let there = self.venue.get(&token).map_or(0, |balance| balance.total);
        let apart = self.differing.get(&token).copied().unwrap_or_default();
        let expected = self.booked(token).saturating_add(apart.unexplained());
        let expected = Amount::try_from(expected).unwrap_or(0);
        let (least, most) = (ours.min(expected), ours.max(expected));
        // The venue's balances contain bookings since their request completely or not at all, as far as one number can
        // show. If neither explains the balance, there was a foreign flow, and the bookings are added.
        let (paid, got) = self.booked_since_request.of(token);
        let before = expected.saturating_add(paid).checked_sub(got);
        if there == expected || Some(there) == before {
            return (least, most);
        }
        let (low, high) = (there.saturating_sub(paid), there.saturating_add(got));
        (least.min(low), most.max(high))
    }

    /// Amount that a new order may lock: the smaller of ledger and venue, less the locks of foreign orders there, less
    /// our own locks. If others are known to have orders, only the amount that our intents certainly locked then and
    /// lock `still` counts as ours: a lock that one of them released since the request may have been released before
    /// the venue's answer.
    pub(crate) fn free(
        &self,
        token: TokenId,
        reserved: Amount,
        others: bool,
        still: impl Fn(ClientOrderId) -> Amount,
    ) -> Amount {
        let venue = self.venue.get(&token);
        let locked = venue.map_or(0, |balance| balance.locked);
        let own = self.own_locked.iter().filter(|((of, _), _)| *of == token);
        let careful = others || self.locked_by_others.contains(&token);
        let own = own.map(|((_, id), (most, surely))| match (careful, surely) {
            (false, _) => *most,
            (true, true) => (*most).min(still(*id)),
            (true, false) => 0,
        });
        let own = own.sum();
        let foreign = locked.saturating_sub(own);
        let (least, _) = self.bounds(token);
        let there = least.saturating_sub(foreign);
        self.total(token).min(there).saturating_sub(reserved)
    }

    /// Balances by token; empty before the opening.
    pub(crate) fn totals(&self) -> Amounts {
        let tokens = self.totals.iter().flat_map(Totals::keys);
        tokens.map(|token| (*token, self.total(*token))).collect()
    }

    /// Booked sums by token; empty before the opening.
    pub(crate) fn all_booked(&self) -> Totals {
        self.totals.clone().unwrap_or_default()
    }

    /// The venue's balances when last polled.
    pub(crate) fn venue_totals(&self) -> Amounts {
        self.venue
            .iter()
            .map(|(token, balance)| (*token, balance.total))
            .collect()
    }
}

fn signed(amount: Amount) -> i128 {
    i128::try_from(amount).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::PoolTransactionKind;

    const TOKEN: TokenId = TokenId(0);
    /// Every order was listed.
    const ALL_SEEN: Option<&Unaccounted> = Some(&Unaccounted::NONE);

    fn balance(total: Amount, locked: Amount) -> [Balance; 1] {
        [Balance {
            token: TOKEN,
            total,
            locked,
        }]
    }

    fn opened(total: Amount) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.balances(Time(1), Time(2), 0, OwnLocks::new(), &balance(total, 0));
        assert!(matches!(
            ledger.scan_ended(Time(3), ALL_SEEN),
            Some(ReconciliationResult::Opening(_))
        ));
        ledger
    }

    #[test]
    fn a_cut_needs_a_pass_begun_after_the_balances_and_no_fill_between() {
        let mut ledger = Ledger::default();
        ledger.balances(Time(1), Time(5), 0, OwnLocks::new(), &balance(100, 0));
        assert_eq!(
            ledger.scan_ended(Time(4), ALL_SEEN),
            None,
            "the pass began too early"
        );
        ledger.fills += 1;
        assert_eq!(
            ledger.scan_ended(Time(6), ALL_SEEN),
            None,
            "a fill was booked in between"
        );
        ledger.balances(Time(7), Time(8), 1, OwnLocks::new(), &balance(100, 0));
        assert_eq!(
            ledger.scan_ended(Time(9), None),
            None,
            "an order was not seen"
        );
        ledger.balances(Time(10), Time(11), 1, OwnLocks::new(), &balance(100, 0));
        assert!(matches!(
            ledger.scan_ended(Time(12), ALL_SEEN),
            Some(ReconciliationResult::Opening(_))
        ));
    }

    #[test]
    fn a_difference_names_both_sides_and_a_vanished_token() {
        let mut ledger = opened(100);
        ledger.balances(Time(4), Time(5), 0, OwnLocks::new(), &[]);
        assert_eq!(
            ledger.scan_ended(Time(6), ALL_SEEN),
            Some(ReconciliationResult::Differs(
                [(
                    TOKEN,
                    Difference {
                        ledger: 100,
                        venue: 0
                    }
                )]
                .into()
            ))
        );
    }

    #[test]
    fn free_is_the_smaller_balance_less_foreign_locks_and_reservations() {
        let mut ledger = opened(100);
        let whole = |_| Amount::MAX;
        assert_eq!(ledger.free(TOKEN, 30, false, whole), 70);
        let id = ClientOrderId {
            instance: 1,
            strategy: crate::StrategyId(0),
            number: 1,
        };
        let own = OwnLocks::from([((TOKEN, id), (30, true))]);
        ledger.balances(Time(4), Time(5), 0, own, &balance(90, 50));
        assert_eq!(
            ledger.free(TOKEN, 30, false, whole),
            40,
            "90 less 20 foreign less 30 of ours"
        );
        assert_eq!(ledger.free(TOKEN, 100, false, whole), 0);
        assert_eq!(
            ledger.free(TOKEN, 0, false, |_| 10),
            50,
            "more was locked than ours: 20 of ours may have been gone, then 40 are foreign"
        );
        let own = OwnLocks::from([((TOKEN, id), (30, false))]);
        ledger.balances(Time(6), Time(7), 0, own.clone(), &balance(90, 20));
        assert_eq!(
            ledger.free(TOKEN, 30, false, whole),
            40,
            "ours may not have arrived: the 20 are still theirs"
        );
        ledger.balances(Time(8), Time(9), 0, own, &balance(90, 30));
        assert_eq!(ledger.free(TOKEN, 30, false, whole), 60, "exactly ours");
        assert_eq!(
            ledger.free(TOKEN, 30, true, |_| 0),
            30,
            "an order of theirs is known"
        );
    }

    #[test]
    fn a_difference_at_a_cut_persists_after_a_fill() {
        let quote = crate::TokenSpec {
            id: TokenId(1),
            symbol: "B".to_owned(),
            decimals: 0,
            precision: 0,
            minimum: 1,
            maximum: 1_000,
            dust: 0,
            enabled: true,
        };
        let base = crate::TokenSpec {
            id: TOKEN,
            symbol: "A".to_owned(),
            ..quote.clone()
        };
        let id = crate::MarketId(0);
        let spec = MarketSpec::new(id, "A-B", base, quote, 0, true).expect("a plain market");
        let mut ledger = opened(100);
        // 40 were withdrawn.
        ledger.balances(Time(4), Time(5), 0, OwnLocks::new(), &balance(60, 0));
        assert_eq!(ledger.bounds(TOKEN), (60, 100));
        let cut = ledger.scan_ended(Time(6), ALL_SEEN);
        let apart = Difference {
            ledger: 100,
            venue: 60,
        };
        assert_eq!(
            cut,
            Some(ReconciliationResult::Differs([(TOKEN, apart)].into()))
        );
        let step = Increment {
            base: 10,
            quote: 0,
            fee: 0,
        };
        assert!(ledger.book(&spec, Side::Sell, step));
        assert_eq!(ledger.bounds(TOKEN), (50, 90), "the venue has 50 by now");
        ledger.balances(Time(8), Time(9), 1, OwnLocks::new(), &balance(90, 0));
        assert_eq!(
            ledger.scan_ended(Time(10), ALL_SEEN),
            Some(ReconciliationResult::Balanced)
        );
        assert_eq!(ledger.bounds(TOKEN), (90, 90));
    }

    #[test]
    fn balances_requested_earlier_do_not_replace_newer_ones() {
        let mut ledger = opened(100);
        ledger.balances(Time(8), Time(9), 0, OwnLocks::new(), &balance(80, 0));
        ledger.balances(Time(7), Time(10), 0, OwnLocks::new(), &balance(100, 0));
        assert_eq!(ledger.free(TOKEN, 0, false, |_| Amount::MAX), 80);
    }

    /// While fills come all the time, the part of them that the balances contain is not known.
    #[test]
    fn without_a_cut_a_balance_outside_the_fills_is_a_difference() {
        let after = |venue: Amount| {
            let mut ledger = opened(100);
            ledger.fills += 1;
            ledger.booked_since_request.add(1, TOKEN, -30);
            ledger.balances(Time(4), Time(5), 1, OwnLocks::new(), &balance(venue, 0));
            for (booking, change) in [(2, -10), (3, 4)] {
                ledger.fills = booking;
                ledger.booked_since_request.add(booking, TOKEN, change);
            }
            ledger.totals = Some(Totals::from([(TOKEN, 64)]));
            ledger.scan_ended(Time(6), ALL_SEEN)
        };
        for explained in [60, 64, 74] {
            let expected = ReconciliationResult::DiffersAtLeast(Differences::new());
            assert_eq!(after(explained), Some(expected), "{explained}");
        }
        for (venue, ledger) in [(59, 60), (75, 74), (200, 74)] {
            let apart = Difference { ledger, venue };
            let expected = ReconciliationResult::DiffersAtLeast([(TOKEN, apart)].into());
            assert_eq!(after(venue), Some(expected));
        }
    }

    /// The amounts of orders that no list has shown widen what the balance may be, and only their token's.
    #[test]
    fn unlisted_orders_explain_what_they_may_have_changed_and_no_more() {
        let after = |venue: Amount| {
            let mut ledger = opened(100);
            ledger.balances(Time(4), Time(5), 0, OwnLocks::new(), &balance(venue, 0));
            let unaccounted = Unaccounted::from([(TOKEN, (30, 20)), (TokenId(1), (9, 9))]);
            ledger.scan_ended(Time(6), Some(&unaccounted))
        };
        for explained in [70, 100, 120] {
            let expected = ReconciliationResult::DiffersAtLeast(Differences::new());
            assert_eq!(after(explained), Some(expected), "{explained}");
        }
        for (venue, ledger) in [(69, 70), (121, 120)] {
            let apart = Difference { ledger, venue };
            let expected = ReconciliationResult::DiffersAtLeast([(TOKEN, apart)].into());
            assert_eq!(after(venue), Some(expected));
        }
    }

    #[test]
    fn balances_requested_before_an_explained_flow_are_not_compared() {
        let mut ledger = opened(100);
        ledger.balances(Time(4), Time(5), 0, OwnLocks::new(), &balance(100, 0));
        ledger.adopt(TOKEN, 5).expect("more is held");
        let unknown = ReconciliationResult::DiffersAtLeast(Differences::new());
        assert_eq!(ledger.scan_ended(Time(6), ALL_SEEN), Some(unknown));
        let fills = ledger.fills();
        ledger.balances(Time(7), Time(8), fills, OwnLocks::new(), &balance(105, 0));
        assert_eq!(
            ledger.scan_ended(Time(9), ALL_SEEN),
            Some(ReconciliationResult::Balanced)
        );
    }

    #[test]
    fn sales_since_the_balances_count_once_if_they_contain_them() {
        let mut ledger = Ledger::new(Some(Totals::from([(TOKEN, 90)])), 0);
        ledger.balances(Time(1), Time(2), 0, OwnLocks::new(), &balance(90, 0));
        ledger.booked_since_request.add(1, TOKEN, -10);
        assert_eq!(ledger.bounds(TOKEN), (90, 90));
    }

    #[test]
    fn after_a_withdrawal_sales_since_the_balances_count_as_well() {
        let mut ledger = Ledger {
            totals: Some(Totals::from([(TOKEN, 100)])),
            ..Ledger::default()
        };
        ledger.balances(Time(1), Time(2), 0, OwnLocks::new(), &balance(60, 0));
        assert_eq!(ledger.bounds(TOKEN), (60, 100));
        ledger.booked_since_request.add(1, TOKEN, -15);
        ledger.booked_since_request.add(1, TOKEN, 5);
        ledger.totals = Some(Totals::from([(TOKEN, 90)]));
        assert_eq!(ledger.bounds(TOKEN), (45, 90));
        ledger.totals = Some(Totals::from([(TOKEN, 49)]));
        assert_eq!(ledger.bounds(TOKEN), (45, 65));
        ledger.totals = Some(Totals::from([(TOKEN, 50)]));
        assert_eq!(
            ledger.bounds(TOKEN),
            (50, 50),
            "the venue has not booked it yet, and nothing else was there"
        );
        ledger.booked_since_request = BookedSince::default();
        ledger.booked_since_request.add(1, TOKEN, -55);
        ledger.totals = Some(Totals::from([(TOKEN, 45)]));
        assert_eq!(
            ledger.bounds(TOKEN),
            (5, 60),
            "100 less 40 withdrawn less 55 sold: the sale does not hide the withdrawal"
        );
        ledger.balances(Time(3), Time(4), 1, OwnLocks::new(), &balance(60, 0));
        assert_eq!(ledger.bounds(TOKEN), (45, 60));
    }

    #[test]
    fn after_a_withdrawal_joins_since_the_balances_count_as_well() {
        let mut ledger = opened(100);
        ledger.balances(Time(4), Time(5), 0, OwnLocks::new(), &balance(60, 0));
        let wanted = UnsignedPoolTransaction {
            client_id: ClientOrderId {
                instance: 1,
                strategy: crate::StrategyId(0),
                number: 1,
            },
            market: crate::MarketId(0),
            kind: PoolTransactionKind::Join,
            pooled: [TOKEN, TokenId(1)],
            amounts: [10, 0],
            lp: TokenId(9),
            lp_amount: 1,
            storage_ids: Vec::new(),
            fee_max: 0,
            valid_until_s: 1,
            made_at: crate::VenueTime(0),
        };
        let moved = PoolTransactionAmounts {
            pooled: [10, 0],
            lp: 1,
            fee: 0,
        };
        assert!(ledger.book_pool_transaction(&wanted, &moved));
        assert_eq!(ledger.bounds(TOKEN).0, 50, "60 less what the pool has now");
        assert_eq!(ledger.bounds(TokenId(9)).1, 1, "its shares may have come");
    }

    #[test]
    fn balances_from_before_a_gap_are_neither_compared_nor_young() {
        let mut ledger = opened(100);
        ledger.balances(Time(4), Time(5), 0, OwnLocks::new(), &balance(90, 0));
        ledger.invalidate();
        assert_eq!(ledger.age_ms(Time(5)), None);
        assert_eq!(ledger.candidate_arrived(), None);
        assert_eq!(ledger.scan_ended(Time(6), ALL_SEEN), None);
        assert!(ledger.differing().is_empty());
        ledger.balances(Time(7), Time(8), 0, OwnLocks::new(), &balance(90, 0));
        assert!(matches!(
            ledger.scan_ended(Time(9), ALL_SEEN),
            Some(ReconciliationResult::Differs(_))
        ));
    }
}
