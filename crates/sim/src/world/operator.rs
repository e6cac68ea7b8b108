//! The operator of the daemon, and external changes of its account.

use crate::invariants::table::Invariant;
use cambist_core::books::Carrier;
use cambist_core::config::ForeignOrders;
use cambist_core::event::{Amounts, Command, TradingState};
use cambist_core::notification::Notification;
use cambist_core::order::FillBy;
use cambist_core::{
    Amount, ClientOrderId, Hash, MarketId, OrderKind, Price, Qty, Side, Time, TokenId,
};
use cambist_venue::{AccountId, NewOrder, Operator, Request};

use crate::exchange::OWN_ACCOUNT;
use crate::faults::active::{AS_THE_VENUE_HAS_IT, MOVED_BY_HAND};
use crate::invariants::books::Ledger;

use crate::world::World;
use crate::world::events::WorldEvent;

/// The operator checks the daemon at this interval.
pub(super) const CARE_MS: u64 = 30_000;
/// At the end, an explanation that was refused is repeated after this time.
const REPEATED_MS: u64 = 1_000;
/// Storage ids of foreign orders start here, separate from ours.
const FOREIGN_IDS: u32 = 14_000;

/// Another instance of cambist.
const OTHER_INSTANCE: u32 = 0x00ca_b158;

/// Whether a command explains a difference of the books.
pub(super) const fn is_about_books(command: &Command) -> bool {
    matches!(command, Command::Adopt { .. } | Command::Lower { .. })
}

impl World {
    /// A command has been executed, or never will be.
    pub(super) fn command_done(&mut self, command: &Command) {
        self.explanations -= u32::from(is_about_books(command));
    }

    /// The operator's check: a daemon that stopped for a reason that is over is restarted with a lowered trading state.
    /// That hides no bugs: a failed invariant has been reported before.
    pub(super) fn check_daemon(&mut self) {
        self.care();
        self.reload();
        self.queue
            .plan(self.now.plus_ms(CARE_MS), WorldEvent::OperatorCheck);
    }

    pub(super) fn care(&mut self) {
        let busy = self
            .active_faults
            .active
            .iter()
            .any(|kind| kind.blocks_operator());
        // An explanation that was not executed yet would be given twice.
        if busy || self.ending || self.explanations > 0 {
            return;
        }
        let daemon = self.daemon.as_ref();
        let has_stopped = daemon.is_some_and(|d| d.store_failed || d.level > TradingState::Active);
        let holds = daemon.is_some_and(|daemon| daemon.hold.is_some());
        if has_stopped || self.finished.is_some() {
            self.resume();
        } else if daemon.is_some() && (holds || !self.active_faults.unexplained.is_empty()) {
            self.explain(holds);
        }
    }

    /// The operator explains external flows: to the running daemon, one by one or all at once by adopting the venue's
    /// balances, or while it is stopped; or leaves them for later if they stop nothing.
    fn explain(&mut self, holds: bool) {
        let how = self.active_faults.random.below(4);
        if !holds && how == 0 && !self.calmed {
            return;
        }
        let flows = std::mem::take(&mut self.active_faults.unexplained);
        let exact = self.daemon.as_ref().is_some_and(|daemon| !daemon.at_least);
        if flows.is_empty() || (holds && how == 1 && exact) {
            // The operator does not know the flows, or does not check them. Flows that the engine has not detected
            // yet stay unexplained.
            self.active_faults.unexplained = flows;
            let (level, reason) = (TradingState::Active, AS_THE_VENUE_HAS_IT.to_owned());
            let forget_losses = self.active_faults.random.chance(1, 2);
            return self.command(Command::Lower {
                level,
                reason,
                forget_losses,
            });
        }
        if how == 2 {
            self.stop();
            self.explain_offline(flows);
            let again = self.now.plus_ms(self.config.store.restart_ms);
            self.active_faults.obstruct(again);
            self.queue.plan(again, WorldEvent::Start);
            return;
        }
        self.adopt(flows);
    }

    /// The operator explains all remaining flows before market making ends, again as long as an explanation is refused.
    pub(super) fn explain_until(&mut self, limit: Time) {
        let mut again = self.now;
        while self.queue.next_at().is_some_and(|at| at <= limit) {
            if self.explanations == 0 && self.active_faults.unexplained.is_empty() {
                return;
            }
            if self.explanations > 0 || self.now < again {
                self.step();
            } else {
                self.explain_all();
                again = self.now.plus_ms(REPEATED_MS);
            }
        }
    }

    fn explain_all(&mut self) {
        let flows = std::mem::take(&mut self.active_faults.unexplained);
        if self.daemon.is_some() {
            self.adopt(flows);
        } else {
            self.explain_offline(flows);
        }
    }

    fn adopt(&mut self, flows: Vec<(TokenId, i128)>) {
        for (token, amount) in flows {
            let reason = MOVED_BY_HAND.to_owned();
            self.command(Command::Adopt {
                token,
                amount,
                reason,
            });
        }
    }

    /// The daemon is gone, and with it the explanations that the store lost. The operator got no confirmation of them, and
    /// explains those flows again.
    pub(super) fn explain_again(&mut self) {
        let mut flows = std::mem::take(&mut self.active_faults.unstored);
        if flows.is_empty() {
            return;
        }
        // The balances that a start compares contain the oldest flows first.
        flows.append(&mut self.active_faults.unexplained);
        self.active_faults.unexplained = flows;
        self.checks.excuse(Invariant::Mismatch, None);
    }

    fn explain_offline(&mut self, flows: Vec<(TokenId, i128)>) {
        let markets = Carrier::of(&self.specs, &self.pools);
        for (token, amount) in flows {
            let positions = &self.disk.durable().books.positions;
            let mid = |market| {
                let baselines = positions.get(&market)?.baselines.as_ref();
                baselines.map(|baselines| baselines.mid)
            };
            if let Some(limits) = &mut self.limits {
                limits.explained_offline((token, amount), &mid);
            }
            self.disk.explain(token, amount, &markets);
        }
    }

    /// A notification about the books: if every flow is explained, they must agree from now on.
    pub(super) fn observe_books(&mut self, shown: Time, notification: &Notification) {
        match notification {
            Notification::Adopted {
                token,
                amount,
                reason,
            } if reason == AS_THE_VENUE_HAS_IT => self.taken_over(*token, *amount),
            // The ledger does not hold as much yet: a later check explains it.
            Notification::CommandRefused { .. } => {
                self.active_faults.unexplained.extend(self.adopted.take());
            }
            Notification::Ready { opening, .. } => {
                let first = self.ledger.as_ref().is_some_and(Ledger::is_unopened);
                if first {
                    self.opened_with(opening);
                }
            }
            _ => {}
        }
        let known = self.now >= self.active_faults.undetected_until
            && self.active_faults.unexplained.is_empty();
        if matches!(notification, Notification::Balanced) && known {
            self.checks.accuse(Invariant::Mismatch);
        }
        let ledger = self.ledger.as_mut();
        let broken = ledger.and_then(|ledger| ledger.observe(shown.as_ms(), notification));
        self.break_rules(broken);
    }

    /// Checks an intent whose bytes are about to be sent.
    pub(super) fn books_allow(&mut self, id: ClientOrderId) {
        let (shown_ms, engine) = (self.shown.as_ms(), &self.config.engine);
        let ledger = self.ledger.as_ref();
        let broken = ledger.and_then(|ledger| ledger.leaving(shown_ms, id, engine));
        self.break_rules(broken);
    }

    /// An operator drains the daemon, lowers the trading state, and starts it again.
    fn resume(&mut self) {
        if self.finished.take().is_some() {
            // It ended in order: all its writes are on disk.
            self.disk.sync(u64::MAX);
            // The flush that was planned is that of the run that ended.
            self.flushing = false;
            self.checks.crashed(self.disk.durable());
        } else {
            self.stop();
        }
        let markets = Carrier::of(&self.specs, &self.pools);
        for (token, amount) in self.disk.lower(&markets) {
            self.taken_over(token, amount);
        }
        self.limits = None;
        self.checks.level(TradingState::Active);
        let again = self.now.plus_ms(self.config.store.restart_ms);
        self.active_faults.obstruct(again);
        self.queue.plan(again, WorldEvent::Start);
    }

    /// The venue's balance of a token was adopted as of the last comparison: the flows until then are explained, later
    /// ones are not.
    fn taken_over(&mut self, token: TokenId, amount: i128) {
        let flows = std::mem::take(&mut self.active_faults.unexplained);
        let (of_token, others): (Vec<_>, Vec<_>) =
            flows.into_iter().partition(|(of, _)| *of == token);
        let mut sum = 0;
        let sums = of_token.iter().map(|(_, flow)| {
            sum += flow;
            sum
        });
        // An amount that is no sum of flows has other causes: none of the flows counts as explained.
        let explained = sums.into_iter().position(|sum| sum == amount);
        let explained = explained.map_or(of_token.len(), |last| last + 1);
        self.active_faults.unexplained = others;
        self.active_faults
            .unexplained
            .extend(of_token.into_iter().skip(explained));
    }

    /// The opening balances contain every earlier flow: later ones are the difference from the exchange's balances now.
    fn opened_with(&mut self, opening: &Amounts) {
        let signed = |amount: Amount| i128::try_from(amount).unwrap_or(i128::MAX);
        let held = self.held();
        let of = |amounts: &Amounts, token| amounts.get(&token).copied().map_or(0, signed);
        for token in self.config.funds.keys().copied().collect::<Vec<_>>() {
            let flows = self.active_faults.unexplained.iter();
            let before: i128 = flows
                .filter(|(of, _)| *of == token)
                .map(|(_, flow)| flow)
                .sum();
            let since = of(&held, token) - of(opening, token);
            if before != since {
                self.taken_over(token, before - since);
            }
        }
    }

    pub(super) fn raise(&mut self, level: TradingState) {
        let reason = "a fault".to_owned();
        self.command(Command::Raise { level, reason });
    }

    /// An external flow.
    pub(super) fn flow(&mut self, inwards: bool) {
        let tokens: Vec<TokenId> = self.config.funds.keys().copied().collect();
        let index = self.active_faults.random.below(tokens.len() as u64);
        let token = tokens[usize::try_from(index).unwrap_or(0)];
        let Some(own) = self.exchange.venue().account(OWN_ACCOUNT) else {
            return;
        };
        let balance = own.balance(token);
        let free = balance.total - balance.locked;
        // A flow leaves enough for a market: bands were drawn for that.
        let usual = self.config.funds.get(&token).copied().unwrap_or(0);
        let (few, many) = (balance.total < usual / 2, balance.total > usual + usual / 4);
        let inwards = few || inwards && !many;
        let amount: Amount = if inwards { usual / 8 } else { free / 4 };
        self.move_funds(token, inwards, amount);
    }

    /// Restores the account's intended balances after the last external flow: without funds for either side within the
    /// band, quotes cannot return.
    pub(super) fn refund(&mut self) {
        for (token, usual) in self.config.funds.clone() {
            let Some(own) = self.exchange.venue().account(OWN_ACCOUNT) else {
                return;
            };
            let balance = own.balance(token);
            let free = balance.total - balance.locked;
            if balance.total < usual / 2 {
                self.move_funds(token, true, usual - balance.total);
            } else if balance.total > usual + usual / 2 {
                self.move_funds(token, false, free.min(balance.total - usual));
            }
        }
    }

    fn move_funds(&mut self, token: TokenId, inwards: bool, amount: Amount) {
        let account = OWN_ACCOUNT;
        if amount == 0 {
            return;
        }
        self.touch();
        self.loss.flowed();
        let signed = i128::try_from(amount).unwrap_or(i128::MAX);
        let signed = if inwards { signed } else { -signed };
        self.active_faults.unexplained.push((token, signed));
        self.checks.excuse(Invariant::Mismatch, None);
        self.operate(if inwards {
            Operator::Deposit {
                account,
                token,
                amount,
            }
        } else {
            Operator::Withdraw {
                account,
                token,
                amount,
            }
        });
    }

    /// An external change of the account: until the running daemon can have detected it, funds and band are not what it
    /// knows.
    pub(super) fn touch(&mut self) {
        let poll = &self.config.engine.poll;
        let heard_ms = poll.balances_age_max_ms.max(poll.orders_age_max_ms)
            + 2 * self.config.engine.request_timeout_ms
            + self.config.store.seal_max_ms
            + 2 * self.longest_ms()
            + self.active_faults.hidden_ms;
        let until = self
            .now
            .max(self.active_faults.held_until)
            .plus_ms(heard_ms);
        self.active_faults.undetected_until = until;
        self.active_faults.disturb(until);
        // Orders sent before may arrive after it.
        let judged = until.plus_ms(self.late_ms());
        for check in [
            Invariant::Overcommitted,
            Invariant::InventoryBand,
            Invariant::GrossExposure,
            Invariant::PortfolioInventory,
            Invariant::PortfolioExposure,
        ] {
            self.checks.excuse(check, Some(judged));
        }
    }

    /// An order that this daemon did not make rests on the account, far from the market; on either side where such
    /// orders are managed.
    pub(super) fn foreign_order(&mut self, length_ms: u64) {
        let is_managed = self.config.engine.foreign == ForeignOrders::Adopt;
        let side = if is_managed && self.active_faults.random.chance(1, 2) {
            Side::Buy
        } else {
            Side::Sell
        };
        let venue = self.exchange.venue();
        let Some(best) = venue.best(MarketId(0), side) else {
            return;
        };
        let price = match side {
            Side::Buy => Price(best.0 / 2),
            Side::Sell => Price(best.0 * 2),
        };
        let spec = &self.specs[0];
        let (sold, bought) = match side {
            Side::Buy => (spec.quote.id, spec.base.id),
            Side::Sell => (spec.base.id, spec.quote.id),
        };
        let free = venue.account(OWN_ACCOUNT).map_or(0, |own| {
            let held = own.balance(sold);
            held.total - held.locked
        });
        // A small amount, or the complete missing amount.
        let qty = if self.active_faults.random.chance(1, 2) {
            Qty(10_000)
        } else {
            match side {
                Side::Buy => {
                    let lot = spec.quote_amount(price, Qty(1)).unwrap_or(1).max(1);
                    Qty(u64::try_from(free / 2 / lot).unwrap_or(u64::MAX))
                }
                Side::Sell => spec.lots_floor(free / 2),
            }
        };
        let amounts = spec.base_amount(qty).zip(spec.quote_amount(price, qty));
        let Some((base, quote)) = amounts else {
            return;
        };
        let ((sell_amount, buy_amount), fill_by) = match side {
            Side::Buy => ((quote, base), FillBy::Buy),
            Side::Sell => ((base, quote), FillBy::Sell),
        };
        self.active_faults.foreign_made += 1;
        let mut hash = [1; 32];
        hash[1..9].copy_from_slice(&self.active_faults.random.next_u64().to_be_bytes());
        let valid_until = self.exchange.clock(self.now).plus_ms(length_ms).as_s() + 2;
        // Every second one is of another instance.
        let number = self.active_faults.foreign_made;
        let client_id = if number.is_multiple_of(2) {
            self.active_faults.others.insert(Hash(hash), false);
            format!("c{OTHER_INSTANCE:08x}-0-{number}")
        } else {
            format!("somebody-{number}")
        };
        let order = NewOrder {
            hash: Hash(hash),
            exchange: self.config.venue.exchange,
            account: AccountId(OWN_ACCOUNT.0),
            storage_id: u64::from(FOREIGN_IDS + 2 * (self.active_faults.foreign_made % 1_000)),
            sell_token: sold,
            sell_amount,
            buy_token: bought,
            buy_amount,
            fill_by,
            all_or_none: false,
            valid_until_s: valid_until,
            max_fee_bips: 20,
            taker: [0; 20],
            kind: OrderKind::MakerOnly,
            pool: None,
            client_id: Some(client_id),
        };
        self.touch();
        if self
            .exchange
            .ask(self.now, &Request::Submit(Box::new(order)))
            .is_ok()
        {
            self.active_faults.foreign = Some(Hash(hash));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::config::WorldConfig;
    use crate::faults::kinds::FaultKind;

    /// A world whose daemon has found a flow.
    fn held_by_a_flow(seed: u64) -> World {
        let mut world = World::new(WorldConfig::calm(seed, "ladder")).unwrap();
        world.run_until(Time::from_ms(60_000));
        world.flow(true);
        let is_held = |world: &World| world.daemon.as_ref().is_some_and(|d| d.hold.is_some());
        while !is_held(&world) && world.now < Time::from_ms(120_000) {
            world.step();
        }
        assert!(is_held(&world), "{seed}: the flow is found");
        world
    }

    /// A store that has failed keeps no explanation; the next run finds the flow again.
    #[test]
    fn an_operator_explains_again_what_a_store_lost() {
        for seed in 1..=4 {
            let mut world = held_by_a_flow(seed);
            world.run_until(world.active_faults.undetected_until);
            if let Some(daemon) = &mut world.daemon {
                daemon.store_failed = true;
            }
            world.explain_all();
            world.run_until(world.now.plus_ms(5_000));
            assert_eq!(world.active_faults.unexplained, [], "{seed}");
            world.crash();
            assert_eq!(world.active_faults.unexplained.len(), 1, "{seed}");
            world.run_until(world.now.plus_ms(60_000));
            while !world.active_faults.unexplained.is_empty() {
                world.care();
                world.run_until(world.now.plus_ms(CARE_MS));
            }
            assert!(world.end(), "{seed}");
            assert_eq!(world.violations(), [], "{seed}");
        }
    }

    /// A suspended host executes the operator's commands when it goes on, all at once.
    #[test]
    fn an_operator_explains_each_flow_once_to_a_daemon_that_is_late() {
        let mut late = 0;
        for seed in 1..=8 {
            let mut world = held_by_a_flow(seed);
            world.begin(FaultKind::Held, 3 * CARE_MS);
            for _ in 0..3 {
                world.care();
                late += u32::from(world.explanations > 0);
                world.run_until(world.now.plus_ms(CARE_MS / 2));
            }
            world.run_until(world.now.plus_ms(3 * CARE_MS));
            assert_eq!(world.explanations, 0, "{seed}: everything was executed");
            assert!(world.end(), "{seed}");
            assert_eq!(world.violations(), [], "{seed}");
        }
        assert!(late > 8, "{late}");
    }
}
