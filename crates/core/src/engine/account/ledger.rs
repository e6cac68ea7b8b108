//! Our own books: opening balances, every fill once, and comparison with the venue at moments when both
//! sides of the comparison are known to describe the same instant.
//!
//! Orders and balances come from different endpoints at different times. They agree on an instant when
//! no fill was booked from before the balances were asked for until a pass over the orders that began
//! after the balances had arrived: that is a *cut*. While fills come all the time there is none. Then the
//! balances must still be what the ledger holds, give or take what was booked since they were asked for: a
//! balance outside of that is a difference of at least its distance.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::books::{Difference, NotCovered};
use crate::event::{Amounts, Totals};
use crate::market::{MarketSpec, Side};
use crate::order::ClientOrderId;
use crate::pool::{PoolTransactionAmounts, UnsignedPoolTransaction};
use crate::postings::{Postings, Traded};
use crate::request::Balance;
use crate::time::Time;
use crate::token::{Amount, TokenId};

use crate::engine::account::booked_since::BookedSince;
use crate::engine::intents::registry::Increment;

/// What each of our orders and moves bound at most when the balances were asked for, and whether it
/// surely did.
pub(crate) type OwnLocks = BTreeMap<(TokenId, ClientOrderId), (Amount, bool)>;

/// Balances waiting for a pass that confirms nothing happened around them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PendingBalances {
    balances: Amounts,
    fills_before: u64,
    arrived: Time,
}

/// What a confirmed cut says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReconciliationResult {
    /// The first one of all: these are the opening balances.
    Opening(Amounts),
    /// Ledger and venue agree on every token.
    Balanced,
    /// They differ.
    Differs(Differences),
    /// Without a cut: they differ by this at least, whatever the balances contain of what was booked since
    /// they were asked for; by nothing that can be told from it, if it is empty.
    DiffersAtLeast(Differences),
}

/// Tokens of which ledger and venue differ.
pub(crate) type Differences = BTreeMap<TokenId, Difference>;

/// Our own books.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ledger {
    totals: Option<Totals>,
    /// Rises with every booked fill.
    fills: u64,
    venue: BTreeMap<TokenId, Balance>,
    /// When the venue's balances were asked for.
    balances_requested_at: Option<Time>,
    /// What our orders bound when the balances were asked for.
    own_locked: OwnLocks,
    /// Tokens of which somebody else locks some: more was locked than all of ours can have bound, and
    /// never since exactly what they bound.
    locked_by_others: BTreeSet<TokenId>,
    /// What was booked since then. The venue's balances may not contain it.
    booked_since_request: BookedSince,
    /// How our books and the venue's differed at the last cut, less what was explained since.
    differing: Differences,
    pending: Option<PendingBalances>,
}

impl Ledger {
    /// What earlier runs left; nothing before the first reconciliation of all.
    pub(crate) fn new(totals: Option<Totals>) -> Self {
        Self {
            totals,
            ..Self::default()
        }
    }

    /// Whether opening balances were ever taken.
    pub(crate) const fn is_open(&self) -> bool {
        self.totals.is_some()
    }

    /// What the last reconciliation found to differ, less what was explained since.
    pub(crate) const fn differing(&self) -> &Differences {
        &self.differing
    }

    /// Rises with every booked fill; taken when balances are asked for.
    pub(crate) fn fills(&self) -> u64 {
        self.fills
    }

    /// Books one increment. Returns false if it leaves less than nothing of what it takes; before the
    /// opening only the count rises.
    pub(crate) fn book(&mut self, spec: &MarketSpec, side: Side, step: Increment) -> bool {
        self.fills += 1;
        let Increment { base, quote, fee } = step;
        self.post(&Postings::of_trade(spec, side, Traded { base, quote, fee }))
    }

    /// Books what changed; the venue's balances may not contain it.
    fn post(&mut self, postings: &Postings) -> bool {
        let Some(totals) = &mut self.totals else {
            return true;
        };
        for (token, change) in postings.iter() {
            self.booked_since_request.add(self.fills, token, change);
        }
        postings.book(totals)
    }

    /// The venue's balances may be older than they seem: no funds until they are read again.
    pub(crate) fn doubt(&mut self) {
        self.balances_requested_at = None;
        self.pending = None;
    }

    /// Books a flow that a person explains; nothing changes if there is less than leaves.
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
        // Balances asked for before may or may not contain it.
        self.fills += 1;
        self.booked_since_request.add(self.fills, token, amount);
        Ok(())
    }

    /// Books what a move changed, as [`Ledger::book`] does a fill.
    pub(crate) fn book_move(
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

    /// Takes in balances asked for at `asked`, when `fills_before` fills were booked.
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
        self.venue = balances
            .iter()
            .map(|balance| (balance.token, *balance))
            .collect();
        for Balance { token, locked, .. } in balances {
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

    /// A pass over the orders that began at `begun` has ended. `all_seen` says that it showed every
    /// order that may have been alive when the balances were taken.
    pub(crate) fn pass_ended(
        &mut self,
        begun: Time,
        all_seen: bool,
    ) -> Option<ReconciliationResult> {
        if self.pending.as_ref().is_some_and(|c| begun < c.arrived) {
            return None;
        }
        let candidate = self.pending.take()?;
        if !all_seen {
            return None;
        }
        if candidate.fills_before != self.fills {
            return self.outside(&candidate.balances);
        }
        let Some(totals) = &self.totals else {
            let opening = candidate.balances.iter();
            self.totals = Some(opening.map(|(id, units)| (*id, signed(*units))).collect());
            return Some(ReconciliationResult::Opening(candidate.balances));
        };
        let tokens: BTreeSet<TokenId> = totals
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

    /// By how much balances differ whatever they contain of what was booked since they were asked for. All
    /// that happened before they arrived is booked.
    fn outside(&self, balances: &Amounts) -> Option<ReconciliationResult> {
        let totals = self.totals.as_ref()?;
        let tokens: BTreeSet<TokenId> = totals.keys().chain(balances.keys()).copied().collect();
        let compared = tokens.into_iter().map(|token| {
            let venue = balances.get(&token).copied().unwrap_or(0);
            let (paid, got) = self.booked_since_request.of(token);
            let booked = totals.get(&token).copied().unwrap_or(0);
            let least = booked.saturating_sub(signed(got));
            let most = booked.saturating_add(signed(paid));
            let ledger = signed(venue).clamp(least, most);
            (token, Difference { ledger, venue })
        });
        let apart: Differences = compared.filter(|(_, d)| d.unexplained() != 0).collect();
        Some(ReconciliationResult::DiffersAtLeast(apart))
    }

    /// When the candidate cut's balances arrived.
    pub(crate) fn candidate_arrived(&self) -> Option<Time> {
        self.pending.as_ref().map(|candidate| candidate.arrived)
    }

    /// Age of the venue's balances in milliseconds.
    pub(crate) fn age_ms(&self, now: Time) -> Option<u64> {
        self.balances_requested_at.map(|asked| now.ms_since(asked))
    }

    /// What we hold by our own books; 0 before the opening, and while purchases are not found yet.
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

    /// Tokens of which more was taken than was ever there, by what is booked.
    pub(crate) fn below_zero(&self) -> impl Iterator<Item = (TokenId, i128)> + '_ {
        let totals = self.totals.iter().flatten();
        let totals = totals.map(|(token, units)| (*token, *units));
        totals.filter(|(_, units)| *units < 0)
    }

    /// The least and the most that may be held: our books and the venue's may differ by a fill that one
    /// of them does not know yet, or by somebody else's hand. What they differed by at the last cut they
    /// differ by still, whatever was filled since.
    pub(crate) fn bounds(&self, token: TokenId) -> (Amount, Amount) {
        let ours = self.total(token);
        let there = self.venue.get(&token).map_or(0, |balance| balance.total);
        let apart = self.differing.get(&token).copied().unwrap_or_default();
        let expected = self.booked(token).saturating_add(apart.unexplained());
        let expected = Amount::try_from(expected).unwrap_or(0);
        let (least, most) = (ours.min(expected), ours.max(expected));
        // What was booked since the venue was asked is in its balances whole or not at all, as far as
        // both can be told from one number. Where neither explains them, some other hand was there, and
        // what was booked comes on top.
        let (paid, got) = self.booked_since_request.of(token);
        let before = expected.saturating_add(paid).checked_sub(got);
        if there == expected || Some(there) == before {
            return (least, most);
        }
        let (low, high) = (there.saturating_sub(paid), there.saturating_add(got));
        (least.min(low), most.max(high))
    }

    /// What a new order may bind: the smaller of our books and the venue's, less what foreign orders
    /// lock there, less what our orders bind. Where others are known to have orders, only what ours
    /// surely bound and bind `still` is taken for ours: what one of them released since the balances
    /// were asked for may have been released before the venue looked.
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

    /// What is held by token; empty before the opening.
    pub(crate) fn totals(&self) -> Amounts {
        let tokens = self.totals.iter().flat_map(Totals::keys);
        tokens.map(|token| (*token, self.total(*token))).collect()
    }

    /// Everything that is booked, by token; empty before the opening.
    pub(crate) fn all_booked(&self) -> Totals {
        self.totals.clone().unwrap_or_default()
    }

    /// The venue's totals as last polled.
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
            ledger.pass_ended(Time(3), true),
            Some(ReconciliationResult::Opening(_))
        ));
        ledger
    }

    #[test]
    fn a_cut_needs_a_pass_begun_after_the_balances_and_no_fill_between() {
        let mut ledger = Ledger::default();
        ledger.balances(Time(1), Time(5), 0, OwnLocks::new(), &balance(100, 0));
        assert_eq!(
            ledger.pass_ended(Time(4), true),
            None,
            "the pass began too early"
        );
        ledger.fills += 1;
        assert_eq!(
            ledger.pass_ended(Time(6), true),
            None,
            "a fill lies between"
        );
        ledger.balances(Time(7), Time(8), 1, OwnLocks::new(), &balance(100, 0));
        assert_eq!(
            ledger.pass_ended(Time(9), false),
            None,
            "an order was not seen"
        );
        ledger.balances(Time(10), Time(11), 1, OwnLocks::new(), &balance(100, 0));
        assert!(matches!(
            ledger.pass_ended(Time(12), true),
            Some(ReconciliationResult::Opening(_))
        ));
    }

    #[test]
    fn a_difference_names_both_sides_and_a_vanished_token() {
        let mut ledger = opened(100);
        ledger.balances(Time(4), Time(5), 0, OwnLocks::new(), &[]);
        assert_eq!(
            ledger.pass_ended(Time(6), true),
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
    fn free_is_the_smaller_of_both_books_less_foreign_locks_and_reservations() {
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
    fn books_that_differed_at_a_cut_differ_still_after_a_fill() {
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
        // Somebody took 40.
        ledger.balances(Time(4), Time(5), 0, OwnLocks::new(), &balance(60, 0));
        assert_eq!(ledger.bounds(TOKEN), (60, 100));
        let cut = ledger.pass_ended(Time(6), true);
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
            ledger.pass_ended(Time(10), true),
            Some(ReconciliationResult::Balanced)
        );
        assert_eq!(ledger.bounds(TOKEN), (90, 90));
    }

    #[test]
    fn balances_that_were_asked_for_earlier_do_not_replace_newer_ones() {
        let mut ledger = opened(100);
        ledger.balances(Time(8), Time(9), 0, OwnLocks::new(), &balance(80, 0));
        ledger.balances(Time(7), Time(10), 0, OwnLocks::new(), &balance(100, 0));
        assert_eq!(ledger.free(TOKEN, 0, false, |_| Amount::MAX), 80);
    }

    /// While fills come all the time, the part of them that the balances contain is not known.
    #[test]
    fn without_a_cut_a_balance_outside_of_what_fills_explain_differs() {
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
            ledger.pass_ended(Time(6), true)
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

    #[test]
    fn balances_asked_for_before_a_flow_was_explained_are_not_compared() {
        let mut ledger = opened(100);
        ledger.balances(Time(4), Time(5), 0, OwnLocks::new(), &balance(100, 0));
        ledger.adopt(TOKEN, 5).expect("more is held");
        let unknown = ReconciliationResult::DiffersAtLeast(Differences::new());
        assert_eq!(ledger.pass_ended(Time(6), true), Some(unknown));
        let fills = ledger.fills();
        ledger.balances(Time(7), Time(8), fills, OwnLocks::new(), &balance(105, 0));
        assert_eq!(
            ledger.pass_ended(Time(9), true),
            Some(ReconciliationResult::Balanced)
        );
    }

    #[test]
    fn what_was_sold_since_the_balances_counts_once_if_they_contain_it() {
        let mut ledger = Ledger::new(Some(Totals::from([(TOKEN, 90)])));
        ledger.balances(Time(1), Time(2), 0, OwnLocks::new(), &balance(90, 0));
        ledger.booked_since_request.add(1, TOKEN, -10);
        assert_eq!(ledger.bounds(TOKEN), (90, 90));
    }

    #[test]
    fn after_a_withdrawal_what_was_sold_since_the_balances_counts_as_well() {
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
            "100 less 40 that somebody took less 55 sold: the sale does not hide the taking"
        );
        ledger.balances(Time(3), Time(4), 1, OwnLocks::new(), &balance(60, 0));
        assert_eq!(ledger.bounds(TOKEN), (45, 60));
    }

    #[test]
    fn after_a_withdrawal_what_was_joined_since_the_balances_counts_as_well() {
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
        assert!(ledger.book_move(&wanted, &moved));
        assert_eq!(ledger.bounds(TOKEN).0, 50, "60 less what the pool has now");
        assert_eq!(ledger.bounds(TokenId(9)).1, 1, "its shares may have come");
    }
}
