//! Operator commands and their replies.

use crate::action::Action;
use crate::books::Entry;
use crate::event::{Command, Filter, Pause, Restrictions, TradingState};
use crate::notification::Notification;
use crate::strategy::Strategy;
use crate::time::Time;
use crate::token::TokenId;

use crate::engine::account::slot_numbers::SlotUse;
use crate::engine::state::State;

impl State {
    /// Executes a command; returns its reply, or why it is refused.
    pub(crate) fn execute(
        &mut self,
        now: Time,
        command: &Command,
        strategies: &mut [Box<dyn Strategy>],
        actions: &mut Vec<Action>,
    ) {
        let done = match command {
            Command::Drain => {
                let detail = self.draining();
                self.start_drain(now, actions);
                Ok(detail)
            }
            Command::Leave => self.start_leaving(now, actions),
            Command::Raise { level, reason } => self.raise_by_hand(*level, reason, actions),
            Command::Lower {
                level,
                reason,
                forget_losses,
            } => self.lower_by_hand(now, (*level, *forget_losses), reason, actions),
            Command::Pause { filter, reason } => self.pause_by_hand(now, *filter, reason, actions),
            Command::Unpause { filter, reason } => {
                self.unpause_by_hand(now, *filter, reason, actions)
            }
            Command::Adopt {
                token,
                amount,
                reason,
            } => self.adopt(*token, *amount, reason, actions),
            Command::AdoptInstance { instance, reason } => {
                required_reason(reason).and_then(|_| self.adopt_instance(now, *instance, actions))
            }
            Command::Expect {
                token,
                amount,
                reason,
            } => required_reason(reason).and_then(|why| self.expect_flow(*token, *amount, why)),
            Command::ExpectNoMore { reason } => Ok(self.drop_expected_flow(reason.trim())),
            Command::TakeSlot { token } => self.take_slot(*token),
            Command::Reconfigure { .. } => self.reconfigure(command, strategies),
        };
        let command = command.name().to_owned();
        actions.push(Action::Notify(match done {
            Ok(detail) => Notification::CommandAccepted { command, detail },
            Err(why) => Notification::CommandRefused { command, why },
        }));
    }

    /// Takes a slot number, which stays taken for this run: what bears it is not known here.
    fn take_slot(&mut self, token: TokenId) -> Result<String, String> {
        if self.venue.slots.is_in_turn() {
            return Err(
                "this venue takes numbers in their order, so none is given out beside the engine"
                    .to_owned(),
            );
        }
        let taken = self.slot_numbers.take(token, SlotUse::PoolTransaction);
        let number = taken.ok_or("every slot number of the token is in use")?;
        self.pending.entry(Entry::SlotTaken { token, number });
        Ok(number.to_string())
    }

    fn raise_by_hand(
        &mut self,
        level: TradingState,
        reason: &str,
        actions: &mut Vec<Action>,
    ) -> Result<String, String> {
        let held = self.restrictions.level();
        if level < held {
            let held = held.name();
            return Err(format!(
                "the trading state is {held} already; cambist resume --reason TEXT makes it active"
            ));
        }
        self.raise(level, reason_or(reason, "operator"), actions);
        Ok(format!("the level is {}", level.name()))
    }

    fn pause_by_hand(
        &mut self,
        now: Time,
        filter: Filter,
        reason: &str,
        actions: &mut Vec<Action>,
    ) -> Result<String, String> {
        let cause = required_reason(reason)?.to_owned();
        self.check_filter(filter)?;
        let venue_now = self.clock.at_least(now);
        let pause = Pause {
            filter,
            since: venue_now,
            until: None,
            cause,
        };
        let mut fits = true;
        let cause = pause.cause.clone();
        let is_held = |p: &&Pause| p.until.is_none() && p.filter == filter;
        let held = self.newest().pauses.iter().filter(is_held);
        let reasons: Vec<_> = held.map(|pause| pause.cause.clone()).collect();
        let add = |levels: &mut Restrictions| {
            if reasons.contains(&pause.cause) {
                return;
            }
            Self::forget_old_pauses(levels, venue_now);
            fits = levels.pauses.len() < Restrictions::PAUSES_MAX;
            if fits {
                levels.pauses.push(pause);
            }
        };
        self.set_restrictions(&cause, false, add, actions);
        self.touch_all();
        match (fits, reasons.join("; ")) {
            (true, held) if held.is_empty() => {
                Ok("paused until cambist resume lifts the pause".to_owned())
            }
            (true, held) if reasons.contains(&cause) => Ok(format!("paused already ({held})")),
            (true, held) => Ok(format!(
                "paused already ({held}); this reason is recorded as well"
            )),
            (false, held) if held.is_empty() => Err(format!(
                "there are {} pauses already; pause a wider part",
                Restrictions::PAUSES_MAX
            )),
            (false, held) => Ok(format!(
                "paused already ({held}); there is no room for another reason"
            )),
        }
    }

    fn unpause_by_hand(
        &mut self,
        now: Time,
        filter: Filter,
        reason: &str,
        actions: &mut Vec<Action>,
    ) -> Result<String, String> {
        let reason = required_reason(reason)?;
        self.check_filter(filter)?;
        let venue_now = self.clock.at_least(now);
        let newest = self.newest().holding(venue_now);
        let lifted = newest.filter(|p| filter.contains(&p.filter)).count();
        let lift = |levels: &mut Restrictions| {
            Self::forget_old_pauses(levels, venue_now);
            levels
                .pauses
                .retain(|pause| !pause.holds(venue_now) || !filter.contains(&pause.filter));
        };
        self.set_restrictions(reason, true, lift, actions);
        let still = self.restrictions.durable().holding(venue_now);
        let wider = still.filter(|p| p.filter != filter && p.filter.contains(&filter));
        let wider = match wider.count() {
            0 => String::new(),
            wider => format!("; {wider} wider pauses remain"),
        };
        Ok(match lifted {
            0 => format!("nothing to lift: there is no such pause{wider}"),
            1 => format!("1 pause ends once that is stored{wider}"),
            many => format!("{many} pauses end once that is stored{wider}"),
        })
    }

    /// A filter that names something unknown would pause nothing without notice.
    fn check_filter(&self, filter: Filter) -> Result<(), String> {
        if let Some(market) = filter.market
            && usize::from(market.0) >= self.markets.len()
        {
            return Err(format!("there is no market {}", market.0));
        }
        let named =
            |seat: &crate::engine::state::StrategySlot| Some(seat.strategy) == filter.strategy;
        if let Some(strategy) = filter.strategy
            && !self.slots.iter().any(named)
        {
            return Err(format!("there is no strategy {}", strategy.0));
        }
        Ok(())
    }

    fn adopt(
        &mut self,
        token: TokenId,
        amount: i128,
        reason: &str,
        actions: &mut Vec<Action>,
    ) -> Result<String, String> {
        let reason = required_reason(reason)?.to_owned();
        self.explain(token, amount, &reason, actions)?;
        let held = i128::try_from(self.ledger.total(token)).unwrap_or(i128::MAX);
        let mut text = vec![format!(
            "{} booked as explained; the ledger holds {}",
            self.amount_text(token, amount),
            self.amount_text(token, held).trim_start_matches('+')
        )];
        text.extend(self.ledger.differing().iter().map(|(token, left)| {
            let left = self.amount_text(*token, left.unexplained());
            format!("{left} is not explained yet")
        }));
        Ok(text.join("; "))
    }
}

fn reason_or<'a>(reason: &'a str, otherwise: &'a str) -> &'a str {
    required_reason(reason).unwrap_or(otherwise)
}

/// A command that allows trading again needs a reason for the record.
pub(crate) fn required_reason(reason: &str) -> Result<&str, String> {
    let reason = reason.trim();
    if reason.is_empty() {
        Err("a reason is required; it is recorded".to_owned())
    } else {
        Ok(reason)
    }
}
