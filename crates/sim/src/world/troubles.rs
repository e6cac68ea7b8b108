//! Storms and troubles: when they begin and end, and what they do to the exchange, to money and to the
//! daemon. What they do to single answers is in `answers`.

use cambist_core::event::{Command, Level};
use cambist_core::order::FillBy;
use cambist_core::{Amount, Hash, MarketId, OrderKind, Price, Side, Time, TokenId};
use cambist_venue::{AccountId, Delays, ExchangeMode, NewOrder, Operator, Request};

use crate::exchange::OWN_ACCOUNT;
use crate::trouble::Trouble;

use super::{Happening, World};

/// The person looks after the daemon every so often.
const CARE_MS: u64 = 30_000;
/// Somebody else's storage ids begin here, out of the way of ours.
const FOREIGN_IDS: u32 = 14_000;

impl World {
    /// Plans the first change of weather, the first trouble and the first look of the person.
    pub(super) fn plan_storms(&mut self) {
        let weather = self.config.weather;
        if weather.storm_ms > 0 && weather.quiet_ms > 0 {
            self.storm(false);
            self.plan_weather();
        }
        self.plan_trouble();
        if !self.config.troubles.kinds.is_empty() {
            self.queue.plan(self.now.plus_ms(CARE_MS), Happening::Care);
        }
    }

    fn storm(&mut self, stormy: bool) {
        self.storms.stormy = stormy;
        self.network.storm(stormy);
    }

    fn plan_weather(&mut self) {
        let weather = self.config.weather;
        let mean_ms = if self.storms.stormy {
            weather.storm_ms
        } else {
            weather.quiet_ms
        };
        let length = self.storms.random.between(1, 2 * mean_ms * 1_000);
        self.queue
            .plan(Time(self.now.0 + length), Happening::Weather);
    }

    /// The weather changes.
    pub(super) fn turn(&mut self) {
        if !self.storms.over {
            self.storm(!self.storms.stormy);
            self.plan_weather();
        }
    }

    fn plan_trouble(&mut self) {
        let mean_us = self.config.troubles.mean_ms * 1_000;
        if mean_us > 0 && !self.config.troubles.kinds.is_empty() && !self.storms.over {
            let at = Time(self.now.0 + self.storms.random.between(1, 2 * mean_us));
            self.queue.plan(at, Happening::Trouble);
        }
    }

    /// It is time for a trouble, if there is a storm.
    pub(super) fn trouble(&mut self) {
        if self.storms.over || self.ending {
            return;
        }
        let kinds = &self.config.troubles.kinds;
        let index = self.storms.random.below(kinds.len() as u64);
        let kind = kinds
            .iter()
            .nth(usize::try_from(index).unwrap_or(0))
            .copied();
        let longest = self.config.troubles.length_max_ms.max(1_000);
        let length_ms = self.storms.random.between(1_000, longest);
        if let Some(kind) = kind
            && self.storms.stormy
            && self.storms.active.insert(kind)
        {
            self.storms.begun += 1;
            self.begin(kind, length_ms);
            let relief = self.now.plus_ms(length_ms);
            self.storms.disturb(relief);
            self.queue.plan(relief, Happening::Relief(kind));
        }
        self.plan_trouble();
    }

    fn begin(&mut self, kind: Trouble, length_ms: u64) {
        match kind {
            Trouble::ExchangeHalted => self.operate(Operator::SetMode(ExchangeMode::Halted)),
            Trouble::ExchangeCancelOnly => {
                self.operate(Operator::SetMode(ExchangeMode::CancelOnly));
            }
            Trouble::ExchangePostOnly => self.operate(Operator::SetMode(ExchangeMode::PostOnly)),
            Trouble::AccountFrozen => self.freeze(true),
            Trouble::MarketClosed => self.enable_market(false),
            Trouble::ExchangeSlow => {
                let random = &mut self.storms.random;
                let delays = Delays {
                    order_ms: random.below(3_000),
                    cancel_ms: random.below(3_000),
                    late_failures_permille: u16::try_from(random.below(300)).unwrap_or(0),
                    seed: random.next_u64(),
                    ..Delays::default()
                };
                self.operate(Operator::SetDelays(delays));
            }
            Trouble::OrdersHidden => {
                // What is hidden for longer than this may be shown only behind its fence.
                let most = self.config.engine.ttl_ms / 2;
                self.storms.hidden_ms = self.storms.random.between(200, most.max(201));
            }
            Trouble::FeesRaised => self.set_fees(true),
            Trouble::Suspended | Trouble::Held => {
                let until = self.now.plus_ms(length_ms);
                self.storms.held_until = self.storms.held_until.max(until);
                if let (Trouble::Suspended, Some(daemon)) = (kind, &mut self.daemon) {
                    daemon.clock.sleep(length_ms);
                }
                // A clock that slept knows the venue's time again when two answers have agreed on it.
                let known = until.plus_ms(60_000 + self.longest_ms());
                self.checks.excuse("late", Some(known));
            }
            Trouble::StoreFailed => {
                if let Some(daemon) = &mut self.daemon {
                    daemon.store_failed = true;
                }
            }
            Trouble::LevelRaised => self.raise(Level::CancelOnly),
            Trouble::LevelHalted => self.raise(Level::Halted),
            Trouble::Drained => self.command(Command::Drain),
            Trouble::Deposit => self.flow(true),
            Trouble::Withdrawal => self.flow(false),
            Trouble::ForeignOrder => self.foreign_order(length_ms),
            // These are asked about where they matter.
            Trouble::ExchangeDown
            | Trouble::DepthFrozen
            | Trouble::DepthOld
            | Trouble::KeyRefused
            | Trouble::SigningFailed
            | Trouble::StoreSlow
            | Trouble::TimeWrong => {}
        }
    }

    /// A trouble ends.
    pub(super) fn relieve(&mut self, kind: Trouble) {
        if !self.storms.active.remove(&kind) {
            return;
        }
        self.storms.disturb(self.now);
        match kind {
            Trouble::ExchangeHalted | Trouble::ExchangeCancelOnly | Trouble::ExchangePostOnly => {
                self.operate(Operator::SetMode(ExchangeMode::Open));
            }
            Trouble::AccountFrozen => self.freeze(false),
            Trouble::MarketClosed => self.enable_market(true),
            Trouble::ExchangeSlow => self.operate(Operator::SetDelays(Delays::default())),
            Trouble::OrdersHidden => self.storms.hidden_ms = 0,
            Trouble::FeesRaised => self.set_fees(false),
            Trouble::ForeignOrder => {
                if let Some(hash) = self.storms.foreign.take() {
                    let cancel = Request::Cancel {
                        account: OWN_ACCOUNT,
                        hash: Some(hash),
                        client_id: None,
                    };
                    // It may have expired by itself.
                    let _ = self.exchange.ask(self.now, &cancel);
                }
            }
            Trouble::ExchangeDown
            | Trouble::DepthFrozen
            | Trouble::DepthOld
            | Trouble::KeyRefused
            | Trouble::StoreFailed
            | Trouble::SigningFailed
            | Trouble::StoreSlow
            | Trouble::Suspended
            | Trouble::Held
            | Trouble::TimeWrong
            | Trouble::LevelRaised
            | Trouble::LevelHalted
            | Trouble::Drained
            | Trouble::Deposit
            | Trouble::Withdrawal => {}
        }
    }

    /// Every trouble ends, and none begins any more.
    pub(super) fn relieve_all(&mut self) {
        self.storms.over = true;
        self.storm(false);
        for kind in Trouble::ALL {
            self.relieve(kind);
        }
        self.refund();
        self.care();
    }

    /// The person looks: what stands still for a reason that is over is started again, with the level
    /// lowered. Bugs are not excused by it: a rule of the engine that failed has been told before.
    pub(super) fn look_after(&mut self) {
        self.care();
        self.queue.plan(self.now.plus_ms(CARE_MS), Happening::Care);
    }

    fn care(&mut self) {
        let busy = self.storms.active.iter().any(|kind| match kind {
            Trouble::KeyRefused
            | Trouble::StoreFailed
            | Trouble::SigningFailed
            | Trouble::LevelRaised
            | Trouble::LevelHalted
            | Trouble::Drained
            | Trouble::Deposit
            | Trouble::Withdrawal => true,
            Trouble::ExchangeHalted
            | Trouble::ExchangeCancelOnly
            | Trouble::ExchangePostOnly
            | Trouble::AccountFrozen
            | Trouble::MarketClosed
            | Trouble::ExchangeDown
            | Trouble::ExchangeSlow
            | Trouble::OrdersHidden
            | Trouble::DepthFrozen
            | Trouble::DepthOld
            | Trouble::FeesRaised
            | Trouble::StoreSlow
            | Trouble::Suspended
            | Trouble::Held
            | Trouble::TimeWrong
            | Trouble::ForeignOrder => false,
        });
        if busy || self.ending {
            return;
        }
        let stands = self.daemon.as_ref().is_some_and(|daemon| {
            daemon.store_failed || daemon.level > Level::Trading || self.storms.unexplained
        });
        if stands || self.finished.is_some() {
            self.resume();
        }
    }

    /// A person ends the daemon, lowers the level, and starts it again.
    fn resume(&mut self) {
        if self.finished.take().is_some() {
            // It ended in order: what it wrote is on the disk.
            self.disk.sync(u64::MAX);
            self.checks.crashed(self.disk.durable());
        } else {
            self.stop();
        }
        self.disk.lower();
        self.checks.level(Level::Trading);
        let again = self.now.plus_ms(self.config.store.restart_ms);
        self.storms.disturb(again);
        self.queue.plan(again, Happening::Start);
    }

    fn raise(&mut self, level: Level) {
        let reason = "a trouble".to_owned();
        self.command(Command::Raise { level, reason });
    }

    fn operate(&mut self, wish: Operator) {
        self.exchange.operate(self.now, wish);
    }

    fn freeze(&mut self, frozen: bool) {
        self.operate(Operator::Freeze {
            account: OWN_ACCOUNT,
            frozen,
        });
    }

    fn enable_market(&mut self, enabled: bool) {
        let market = self.config.markets[0].clone();
        self.operate(Operator::EnableMarket { market, enabled });
    }

    fn set_fees(&mut self, raised: bool) {
        self.checks.excuse("fee_above", None);
        let most = self.config.engine.max_fee_bips;
        for market in self.config.venue.markets.clone() {
            let usual = (market.maker_fee_bips, market.taker_fee_bips);
            let (maker_fee_bips, taker_fee_bips) = if raised {
                (usual.0.midpoint(most), most.max(usual.1))
            } else {
                usual
            };
            self.operate(Operator::SetFees {
                market: market.name,
                maker_fee_bips,
                taker_fee_bips,
            });
        }
    }

    /// Somebody else moves money.
    fn flow(&mut self, inwards: bool) {
        let tokens: Vec<TokenId> = self.config.funds.keys().copied().collect();
        let index = self.storms.random.below(tokens.len() as u64);
        let token = tokens[usize::try_from(index).unwrap_or(0)];
        let Some(own) = self.exchange.venue().account(OWN_ACCOUNT) else {
            return;
        };
        let balance = own.balance(token);
        let free = balance.total - balance.locked;
        // Whoever moves money leaves what a market can be made with: bands were drawn for that.
        let usual = self.config.funds.get(&token).copied().unwrap_or(0);
        let (few, many) = (balance.total < usual / 2, balance.total > usual + usual / 4);
        let inwards = few || inwards && !many;
        let amount: Amount = if inwards { usual / 8 } else { free / 4 };
        self.move_funds(token, inwards, amount);
    }

    /// Puts back what the account was meant to hold, once nobody else moves money any more: without
    /// funds for either side within the band there is no quoting that could come back.
    fn refund(&mut self) {
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
        self.storms.unexplained = true;
        self.checks.excuse("mismatch", None);
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

    /// Somebody else touched the account: until the daemon can have heard of it, funds and band are not
    /// what it knows.
    fn touch(&mut self) {
        let poll = &self.config.engine.poll;
        let heard_ms = poll.balances_age_max_ms.max(poll.orders_age_max_ms)
            + 2 * self.config.engine.request_timeout_ms
            + self.config.store.seal_max_ms
            + 2 * self.longest_ms();
        let until = self.now.plus_ms(heard_ms);
        self.storms.touched = Some(self.now);
        self.storms.disturb(until);
        for check in ["overcommitted", "inventory_band"] {
            self.checks.excuse(check, Some(until));
        }
    }

    /// Somebody else's order rests far from the market.
    fn foreign_order(&mut self, length_ms: u64) {
        let venue = self.exchange.venue();
        let (market, token) = (MarketId(0), self.specs[0].base.id);
        let Some(best) = venue.best(market, Side::Sell) else {
            return;
        };
        let price = Price(best.0 * 2);
        let Some((base, quote)) = self.specs[0]
            .base_amount(cambist_core::Qty(10_000))
            .zip(self.specs[0].quote_amount(price, cambist_core::Qty(10_000)))
        else {
            return;
        };
        let quote_token = self.specs[0].quote.id;
        self.storms.foreign_made += 1;
        let mut hash = [1; 32];
        hash[1..9].copy_from_slice(&self.storms.random.next_u64().to_be_bytes());
        let valid_until = self.exchange.clock(self.now).plus_ms(length_ms).as_s() + 2;
        let order = NewOrder {
            hash: Hash(hash),
            exchange: self.config.venue.exchange,
            account: AccountId(OWN_ACCOUNT.0),
            storage_id: u64::from(FOREIGN_IDS + 2 * (self.storms.foreign_made % 1_000)),
            sell_token: token,
            sell_amount: base,
            buy_token: quote_token,
            buy_amount: quote,
            fill_by: FillBy::Sell,
            all_or_none: false,
            valid_until_s: valid_until,
            max_fee_bips: 20,
            taker: [0; 20],
            kind: OrderKind::MakerOnly,
            pool: None,
            client_id: Some(format!("somebody-{}", self.storms.foreign_made)),
        };
        self.touch();
        if self
            .exchange
            .ask(self.now, &Request::Submit(Box::new(order)))
            .is_ok()
        {
            self.storms.foreign = Some(Hash(hash));
        }
    }
}
