//! Reconciliation: comparison of the ledger with the venue's balances, and the effects of a difference.
//!
//! The first reconciliation of all takes the opening balances. Every later one compares, including the first of a
//! start: the ledger outlives the run, and contains the changes by fills and by settled joins and exits. A difference
//! is reported, and its cause is not guessed. It stops all new orders at once if it was found at a start, or if its
//! value exceeds `risk.mismatch_max`; otherwise after five minutes. It ends when ledger and venue agree, because an
//! operator has explained it or because it has disappeared. One that was announced (`expected_flows`) is explained
//! before anything follows from it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::books::Entry;
use crate::event::Amounts;
use crate::market::MarketId;
use crate::notification::{BooksHold, BooksStatus, Control, Notification, Withheld};
use crate::postings::Postings;
use crate::shares;
use crate::sorted_map::SortedMap;
use crate::time::Time;
use crate::token::{Amount, TokenId};
use crate::withheld::{Compared, Unit};

use crate::engine::account::ledger::{Differences, ReconciliationResult};
use crate::engine::state::State;
use crate::market::value_at;

/// A small difference stops new orders after this time.
const LASTING_MS: u64 = 300_000;

/// State of the comparison between ledger and venue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reconciliation {
    /// Ledger and venue have agreed since the start, or an operator has explained the difference.
    agreed: bool,
    /// Since when they have differed at every reconciliation.
    since: Option<Time>,
    /// Value of the differences, by quote token.
    worth: Amounts,
    /// Why no new orders are sent.
    hold: Option<BooksHold>,
    /// Differences when last reported.
    #[serde(rename = "told")]
    last_reported: Differences,
    /// Proven lower bounds of differences, until the next cut gives exact ones.
    at_least: Differences,
}

/// Value of an amount of a token.
enum Worth {
    /// An amount of a quote token.
    Of(TokenId, Amount),
    /// The token is traded here, but its value is unknown.
    Unknown,
    /// The token is not traded here.
    Untraded,
}

impl Worth {
    fn new(quote: TokenId, value: Option<Amount>) -> Self {
        value.map_or(Self::Unknown, |value| Self::Of(quote, value))
    }
}

impl State {
    /// A scan of orders has ended that confirms the candidate balances.
    pub(crate) fn reconciled(
        &mut self,
        now: Time,
        cut: ReconciliationResult,
        actions: &mut Vec<Action>,
    ) {
        match cut {
            ReconciliationResult::Opening(_) => {
                self.pending.opens();
                self.become_ready(now, actions);
                self.books_agree(actions);
            }
            ReconciliationResult::Balanced => {
                self.become_ready(now, actions);
                self.books_agree(actions);
                self.drain_cut();
            }
            ReconciliationResult::Differs(_) => {
                self.become_ready(now, actions);
                self.reconciliation.at_least.clear();
                self.explain_expected(actions);
                let left = self.ledger.differing().clone();
                if left.is_empty() {
                    self.books_agree(actions);
                } else {
                    self.judge_below_zero(&left, actions);
                    self.books_differ(now, &left, actions);
                }
                self.drain_cut();
            }
            ReconciliationResult::DiffersAtLeast(tokens) => {
                let unexpected = self.unexpected(&tokens);
                self.judge_below_zero(&unexpected, actions);
                self.books_differ_at_least(now, &unexpected, actions);
            }
        }
    }

    /// A ledger below zero has booked more than there was. Only a comparison shows that: a single fill does not, because
    /// lists show a purchase before the sale that paid for it, and an outflow may have been paid from a sale that no
    /// list has shown yet. Of a lower bound of a difference, `ledger` is the most that the ledger can have held.
    fn judge_below_zero(&mut self, tokens: &Differences, actions: &mut Vec<Action>) {
        for (token, difference) in tokens {
            let known = self.reconciliation.last_reported.get(token);
            if difference.ledger < 0 && known.is_none_or(|known| known.ledger >= 0) {
                let (units, token) = (difference.ledger, token.0);
                let detail = format!("{units} base units of token {token} are booked");
                self.violated("ledger_negative", detail, actions);
            }
        }
    }

    /// The first reconciliation of the run: every order of earlier runs is accounted for.
    fn become_ready(&mut self, now: Time, actions: &mut Vec<Action>) {
        if std::mem::replace(&mut self.ready, true) {
            return;
        }
        self.open_meters();
        // Losses count from the books of this moment, as profit does, not from the next ones.
        for index in 0..self.markets.len() {
            self.watch(now, self.markets[index].spec.id, actions);
        }
        self.budget.leave_to_next_start();
        self.touch_all();
        actions.push(Action::Notify(Notification::Ready {
            opening: self.ledger.totals(),
            recovered: self.recovered,
        }));
    }

    /// Opens the loss meters: every base token is carried by the first market that trades it.
    fn open_meters(&mut self) {
        let mut carried = BTreeSet::new();
        for market in &mut self.markets {
            let base = market.spec.base.id;
            let held = if carried.insert(base) {
                self.ledger.total(base)
            } else {
                0
            };
            market.losses.open(held);
            self.pending.moved(market.spec.id);
        }
    }

    fn books_agree(&mut self, actions: &mut Vec<Action>) {
        actions.push(Action::Notify(Notification::Balanced));
        self.nothing_differs(actions);
    }

    /// Ledger and venue agree, or every difference is explained.
    fn nothing_differs(&mut self, actions: &mut Vec<Action>) {
        let differed = self.reconciliation.since.is_some();
        self.reconciliation = Reconciliation {
            agreed: true,
            ..Reconciliation::default()
        };
        if differed {
            self.pending.differs();
            self.emit_books(actions);
        }
    }

    fn books_differ(&mut self, now: Time, tokens: &Differences, actions: &mut Vec<Action>) {
        let since = *self.reconciliation.since.get_or_insert(now);
        let (worth, fits) = self.worth_of(tokens);
        let hold = if !self.reconciliation.agreed {
            Some(BooksHold::Start)
        } else if !fits {
            Some(BooksHold::Limit)
        } else if now.ms_since(since) >= LASTING_MS {
            Some(BooksHold::Lasting)
        } else {
            None
        };
        // A reason that stops orders remains until they agree, whatever the price does to its value.
        let hold = hold.or(self.reconciliation.hold);
        let changed =
            self.reconciliation.last_reported != *tokens || self.reconciliation.hold != hold;
        (self.reconciliation.worth, self.reconciliation.hold) = (worth, hold);
        for (token, difference) in tokens {
            actions.push(Action::Notify(Notification::Mismatch {
                token: *token,
                ledger: difference.ledger,
                venue: difference.venue,
            }));
        }
        if changed {
            self.pending.differs();
            self.touch_all();
            self.emit_books(actions);
        }
    }

    /// Balances were compared while fills came. A proven difference that stops orders remains until the next cut,
    /// because fills then cease; another one remains until it cannot be proven any more.
    fn books_differ_at_least(
        &mut self,
        now: Time,
        tokens: &Differences,
        actions: &mut Vec<Action>,
    ) {
        if !tokens.is_empty() {
            self.reconciliation.at_least.clone_from(tokens);
            self.books_differ(now, tokens, actions);
        } else if !self.reconciliation.at_least.is_empty() && self.reconciliation.hold.is_none() {
            self.reconciliation.at_least.clear();
            let exact = self.ledger.differing().clone();
            (self.reconciliation.worth, _) = self.worth_of(&exact);
            if exact.is_empty() {
                self.reconciliation.since = None;
            }
            self.emit_books(actions);
        }
    }

    fn emit_books(&mut self, actions: &mut Vec<Action>) {
        self.reconciliation.last_reported = self.differences().clone();
        actions.push(Action::Notify(Notification::Books(Box::new(
            self.books_status(),
        ))));
    }

    /// As [`State::books_hold`], with the differences in the quote token of a market and their limit.
    pub(crate) fn books_withhold(&self, market: MarketId) -> Option<Withheld> {
        let hold = self.books_hold()?;
        let quote = self.market(market).spec.quote.id;
        let of = |amounts: &Amounts| amounts.get(&quote).and_then(|n| i128::try_from(*n).ok());
        let compared = Compared {
            // A difference that was found at a start, or that lasts, stops trading whatever the limit is.
            key: match hold {
                BooksHold::Start | BooksHold::Lasting => "",
                BooksHold::Limit => "risk.mismatch_max",
            },
            unit: Unit::Quote,
            value: of(&self.reconciliation.worth),
            limit: match hold {
                BooksHold::Start | BooksHold::Lasting => None,
                BooksHold::Limit => Some(of(&self.config.risk.mismatch_max).unwrap_or(0)),
            },
        };
        Some(Withheld::compared(Control::BooksDiffer, compared))
    }

    /// Why no new orders may be sent because of the books.
    pub(crate) fn books_hold(&self) -> Option<BooksHold> {
        self.reconciliation.hold
    }

    /// Whether the last comparison found a difference.
    pub(crate) fn books_differ_now(&self) -> bool {
        !self.differences().is_empty()
    }

    /// The differences: exact as of the last cut, or proven lower bounds since.
    fn differences(&self) -> &Differences {
        let at_least = &self.reconciliation.at_least;
        if at_least.is_empty() {
            self.ledger.differing()
        } else {
            at_least
        }
    }

    /// The comparison as reported in status and metrics.
    pub(crate) fn books_status(&self) -> BooksStatus {
        BooksStatus {
            confirmed: self.ready,
            differences: self.differences().clone(),
            at_least: !self.reconciliation.at_least.is_empty(),
            since: self.reconciliation.since,
            worth: self.reconciliation.worth.clone(),
            hold: self.reconciliation.hold,
        }
    }

    /// Absolute value of differences by quote token, rounded up, and whether it is within the limit. A token that is
    /// traded here and cannot be valued exceeds it. A token that is not traded here has no value.
    fn worth_of(&self, tokens: &Differences) -> (Amounts, bool) {
        let mut worth = Amounts::new();
        let mut counted = true;
        for (token, difference) in tokens {
            match self.worth_in_quote(*token, difference.size()) {
                Worth::Of(quote, value) => {
                    let sum = worth.entry(quote).or_default();
                    *sum = Amount::saturating_add(*sum, value);
                }
                Worth::Unknown => counted = false,
                Worth::Untraded => {}
            }
        }
        let most = &self.config.risk.mismatch_max;
        let within =
            |(quote, value): (&TokenId, &Amount)| most.get(quote).is_some_and(|most| value <= most);
        let fits = counted && worth.iter().all(within);
        (worth, fits)
    }

    /// Value of an amount of a token: of a base token at the mid, or at the ceiling before there is one; of pool shares
    /// at their cost.
    fn worth_in_quote(&self, token: TokenId, size: Amount) -> Worth {
        let price = |index: usize| {
            let ceiling = self.config.markets[index].price_max.0.saturating_mul(2);
            self.markets[index].mid.unwrap_or(ceiling)
        };
        let markets = || self.markets.iter().enumerate();
        if let Some((index, market)) = markets().find(|(_, m)| m.spec.base.id == token) {
            let value = value_at(&market.spec, size, price(index));
            return Worth::new(market.spec.quote.id, value);
        }
        if markets().any(|(_, m)| m.spec.quote.id == token) {
            return Worth::Of(token, size);
        }
        let beside = |m: &crate::engine::market::Market| {
            m.pool.as_ref().is_some_and(|p| p.spec.lp.id == token)
        };
        let Some((index, market)) = markets().find(|(_, m)| beside(m)) else {
            return Worth::Untraded;
        };
        let value = market.pool.as_ref().and_then(|pool| {
            let cost = shares::join(&pool.known()?, size, 0)?.amounts;
            let base_at = pool.base_at(market.spec.base.id);
            value_at(&market.spec, cost[base_at], price(index))?.checked_add(cost[1 - base_at])
        });
        Worth::new(market.spec.quote.id, value)
    }

    /// Books a flow that an operator, or a report of a managed order, explains. An error without change if more leaves
    /// than there is.
    pub(crate) fn explain(
        &mut self,
        token: TokenId,
        amount: i128,
        reason: &str,
        actions: &mut Vec<Action>,
    ) -> Result<(), String> {
        self.book_explained(token, amount, reason, actions)?;
        self.compare_again(actions);
        Ok(())
    }

    fn book_explained(
        &mut self,
        token: TokenId,
        amount: i128,
        reason: &str,
        actions: &mut Vec<Action>,
    ) -> Result<(), String> {
        if !self.ledger.is_open() {
            self.ledger.request_opening_again();
            self.polls.balances_soon();
            return Err("the opening balances are not known yet and will contain it".to_owned());
        }
        self.ledger
            .adopt(token, amount)
            .map_err(|error| error.to_string())?;
        let carrying = self.markets.iter_mut().find(|m| m.spec.base.id == token);
        let mut of = carrying.map(|market| {
            market.losses.adopt(&market.spec, amount);
            market.spec.id
        });
        let shares = |m: &crate::engine::market::Market| {
            m.pool.as_ref().is_some_and(|p| p.spec.lp.id == token)
        };
        if let Some(index) = self.markets.iter().position(shares) {
            let id = self.markets[index].spec.id;
            let due = self.shares_due(id);
            let market = &mut self.markets[index];
            market.losses.adopt_shares(&market.spec, due);
            of = Some(id);
        }
        self.pending.posted(of, &Postings::of_token(token, amount));
        self.pending.differs();
        self.pending.entry(Entry::Flow {
            token,
            amount,
            reason: reason.to_owned(),
        });
        actions.push(Action::Notify(Notification::Adopted {
            token,
            amount,
            reason: reason.to_owned(),
        }));
        self.touch_all();
        self.explain_lower_bound(token, amount);
        Ok(())
    }

    /// States what differs after flows were booked.
    fn compare_again(&mut self, actions: &mut Vec<Action>) {
        let exact = self.reconciliation.at_least.is_empty();
        if exact && self.ledger.differing().is_empty() && self.ready {
            self.nothing_differs(actions);
        } else if self.reconciliation.since.is_some() {
            (self.reconciliation.worth, _) = self.worth_of(&self.differences().clone());
            self.emit_books(actions);
        }
    }

    /// Reduces the proven lower bound of a difference by an explained flow. The balance may contain more bookings than
    /// the bound assumes, and this flow or not: what remains is what it differs by in any case. A bound that stops
    /// orders is not removed, because the next cut has the exact amount.
    fn explain_lower_bound(&mut self, token: TokenId, amount: i128) {
        let Reconciliation { at_least, hold, .. } = &mut self.reconciliation;
        let Some(known) = at_least.get(&token).copied() else {
            return;
        };
        let found = known.unexplained().signum();
        let left = known.explained(amount);
        match left.filter(|left| left.unexplained().signum() == found) {
            Some(left) if left.size() < known.size() => drop(at_least.insert(token, left)),
            None if hold.is_none() => drop(at_least.remove(&token)),
            Some(_) | None => {}
        }
    }

    /// Adopts the venue's balance of every token that differs, with an operator's reason. Returns the booked amounts by
    /// token.
    pub(crate) fn accept_differences(
        &mut self,
        reason: &str,
        actions: &mut Vec<Action>,
    ) -> Result<SortedMap<TokenId, i128>, String> {
        if !self.reconciliation.at_least.is_empty() {
            return Err(
                "ledger and venue differ, and the exact amount is not known yet: fills of the last seconds are not \
                 compared, or the venue lists orders no longer that may have been filled; orders are being \
                 cancelled: repeat this in a few seconds, or when the unknown orders that status shows have ended"
                    .to_owned(),
            );
        }
        let differing = self.ledger.differing().clone();
        let mut taken = SortedMap::new();
        let all = || {
            for (token, difference) in differing {
                let amount = difference.unexplained();
                self.book_explained(token, amount, reason, actions)?;
                taken.insert(token, amount);
            }
            Ok(())
        };
        let booked = all();
        // Once for all: what is adopted next is no difference.
        self.compare_again(actions);
        booked.map(|()| taken)
    }
}
