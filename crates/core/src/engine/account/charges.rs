//! Charges: what the venue takes for executing requests, beside all amounts of orders, joins and exits.
//!
//! They come with balances that contain them, and are numbered without a gap: each is booked once, however often it is
//! reported, over restarts as well. An answer that leaves one out, or is older than what is booked, counts as unread.

use crate::action::Action;
use crate::books::Entry;
use crate::engine::account::ledger::{NotContinued, OwnLocks};
use crate::engine::market::Market;
use crate::engine::state::State;
use crate::notification::Notification;
use crate::postings::Postings;
use crate::request::{Charge, ChargedBalances, Endpoint, Outcome, Reply, UnknownCause};
use crate::time::Time;
use crate::venue::ChargedAs;

impl State {
    /// Handles balances that were requested when `fills` changes were booked, with charges or without.
    pub(crate) fn handle_balances(
        &mut self,
        (sent, now): (Time, Time),
        mut fills: u64,
        own_locked: OwnLocks,
        outcome: &Outcome,
        actions: &mut Vec<Action>,
    ) {
        let balances = match outcome {
            Outcome::Reply(Reply::Balances(balances)) => balances,
            Outcome::Reply(Reply::ChargedBalances(of)) => {
                let is_quiet = fills == self.ledger.fills();
                if self.book_charges(of, actions).is_err() {
                    actions.push(Action::Notify(Notification::Unknown {
                        endpoint: Endpoint::Balances,
                        order: None,
                        cause: UnknownCause::Undecodable,
                    }));
                    self.polls.unanswered(now, Endpoint::Balances);
                    return;
                }
                // The balances contain these charges, and nothing else was booked since they were requested.
                if is_quiet {
                    fills = self.ledger.fills();
                }
                &of.balances
            }
            _ => return self.polls.unanswered(now, Endpoint::Balances),
        };
        self.ledger.balances(sent, now, fills, own_locked, balances);
        // At a start, the sooner it is read, the less likely is a fill in between; at the end, nothing else is waited for.
        if !self.ready || self.drain_needs_comparison() {
            self.polls.scan_soon();
        }
    }

    fn book_charges(
        &mut self,
        of: &ChargedBalances,
        actions: &mut Vec<Action>,
    ) -> Result<(), NotContinued> {
        let before = self.ledger.charged_below();
        let booked = self.ledger.charge(of)?;
        if self.ledger.charged_below() != before {
            self.pending.charged();
        }
        for charge in booked {
            self.book_charge(&charge, actions);
        }
        Ok(())
    }

    /// A charge in a token of a market, or in one that counts as such a token, is a loss of the first such market that has a
    /// mid to value it at.
    fn book_charge(&mut self, charge: &Charge, actions: &mut Vec<Action>) {
        let token = charge.token;
        let postings = Postings::of_charge(charge);
        let counted = ChargedAs::counted(self.venue.charged_as, token, charge.amount);
        let trades =
            |of: &&mut Market| of.spec.base.id == counted.0 || of.spec.quote.id == counted.0;
        let traded = self.markets.iter_mut().filter(trades);
        let market = traded.min_by_key(|market| market.losses.rank_for_charges());
        let market = market.map(|market| {
            if counted.0 == token {
                market.losses.post(&market.spec, &postings);
            } else {
                market.losses.charge(&market.spec, counted);
            }
            market.spec.id
        });
        self.pending.posted(market, &postings);
        let (amount, reason) = (postings.of(token), charge.reason());
        self.pending.entry(Entry::Flow {
            token,
            amount,
            reason: reason.clone(),
        });
        actions.push(Action::Notify(Notification::Adopted {
            token,
            amount,
            reason,
        }));
    }
}
