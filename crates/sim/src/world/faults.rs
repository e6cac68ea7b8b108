//! The effects of each fault on the exchange and on the daemon, and their end. When they occur is in `fault_schedule`,
//! actions of operators are in `operator`, effects on single answers in `answer_faults`.

use crate::invariants::table::Invariant;
use cambist_core::event::{Command, TradingState};
use cambist_core::request::Endpoint;
use cambist_core::{MarketId, Reason, Side};
use cambist_venue::agents::{MarketEvent, Regime};
use cambist_venue::{Delays, ExchangeMode, Operator, Request};

use crate::exchange::OWN_ACCOUNT;
use crate::faults::active::Gaps;
use crate::faults::kinds::FaultKind;
use crate::profiles::base::PRICE;

use crate::world::World;

impl World {
    pub(super) fn begin(&mut self, kind: FaultKind, length_ms: u64) {
        match kind {
            FaultKind::ExchangeHalted => self.operate(Operator::SetMode(ExchangeMode::Halted)),
            FaultKind::ExchangeCancelOnly => {
                self.operate(Operator::SetMode(ExchangeMode::CancelOnly));
            }
            FaultKind::ExchangePostOnly => self.operate(Operator::SetMode(ExchangeMode::PostOnly)),
            FaultKind::AccountFrozen => self.freeze(true),
            FaultKind::MarketClosed => self.enable_market(false),
            FaultKind::ExchangeSlow => {
                let random = &mut self.active_faults.random;
                let delays = Delays {
                    order_ms: random.below(3_000),
                    cancel_ms: random.below(3_000),
                    late_failures_permille: u16::try_from(random.below(300)).unwrap_or(0),
                    seed: random.next_u64(),
                    ..Delays::default()
                };
                self.operate(Operator::SetDelays(delays));
            }
            FaultKind::OrdersHidden => {
                // An order that expires before is listed when its grace is over.
                let engine = &self.config.engine;
                let most = (engine.ttl_ms / 2).max(engine.grace_ms);
                self.active_faults.hidden_ms =
                    self.active_faults.random.between(200, most.max(201));
            }
            FaultKind::OneAway => {
                let random = &mut self.active_faults.random;
                let index = random.below(Endpoint::ALL.len() as u64);
                let index = usize::try_from(index).unwrap_or(0);
                let reasons = [
                    None,
                    Some(Reason::UnknownError),
                    Some(Reason::Unlisted(99_999)),
                ];
                let word = usize::try_from(random.below(reasons.len() as u64)).unwrap_or(0);
                self.active_faults.away = Endpoint::ALL
                    .get(index)
                    .copied()
                    .zip(reasons.get(word).copied());
            }
            FaultKind::MarketCrash => {
                let best = self.exchange.venue().best(MarketId(0), Side::Buy);
                let random = &mut self.active_faults.random;
                let far = i32::try_from(random.between(100, 900)).unwrap_or(0);
                // Within the prices that the daemon may use: otherwise quotes could not return.
                let up = match best {
                    Some(best) if best.0 < PRICE.0 / 5 * 4 => true,
                    Some(best) if best.0 > PRICE.0 / 4 * 5 => false,
                    Some(_) | None => random.chance(1, 2),
                };
                let bps = if up { far } else { -far };
                let regime = Regime::Volatile;
                self.apply_event(MarketEvent::Jump { bps });
                self.apply_event(MarketEvent::Regime { regime, up: None });
                self.apply_event(MarketEvent::Liquidity { percent: 30 });
            }
            FaultKind::MarketDeserted => self.apply_event(MarketEvent::Liquidity { percent: 0 }),
            FaultKind::FeesRaised => self.set_fees(true),
            FaultKind::Suspended | FaultKind::Held => self.hold(kind, length_ms),
            FaultKind::StoreFailed => {
                if let Some(daemon) = &mut self.daemon {
                    daemon.store_failed = true;
                }
            }
            FaultKind::LevelRaised => self.raise(TradingState::CancelOnly),
            FaultKind::LevelHalted => self.raise(TradingState::Halted),
            FaultKind::Drained => self.command(Command::Drain),
            FaultKind::Deposit => self.flow(true),
            FaultKind::Withdrawal => self.flow(false),
            FaultKind::ForeignOrder => self.foreign_order(length_ms),
            FaultKind::ExchangeDown => self.lose_control(),
            FaultKind::ListGaps => {
                let reports = self.active_faults.random.chance(1, 2);
                self.active_faults.gaps = if reports { Gaps::Reports } else { Gaps::Lists };
            }
            FaultKind::DepthOld => {
                let random = &mut self.active_faults.random;
                let cached = random.chance(1, 2);
                self.active_faults.renewed_ms = cached.then(|| random.between(500, 4_000));
            }
            // These are queried where they matter.
            FaultKind::DepthFrozen
            | FaultKind::KeyRefused
            | FaultKind::SigningFailed
            | FaultKind::StoreSlow
            | FaultKind::ListSkips
            | FaultKind::SubmitsLate
            | FaultKind::TimeWrong => {}
        }
    }

    /// The daemon does nothing for a while; suspended, its clock stops as well.
    fn hold(&mut self, kind: FaultKind, length_ms: u64) {
        self.lose_control();
        let until = self.now.plus_ms(length_ms);
        self.active_faults.held_until = self.active_faults.held_until.max(until);
        if let (FaultKind::Suspended, Some(daemon)) = (kind, &mut self.daemon) {
            daemon.clock.sleep(length_ms);
        }
        if self.active_faults.undetected_until > self.now {
            self.touch();
        }
        // After a suspension, the venue clock is right again when two answers have agreed; until then a depth from a
        // cache may seem younger than orders that have ended since.
        let known = until.plus_ms(60_000 + self.longest_ms());
        for check in [Invariant::Late, Invariant::Stale, Invariant::OwnPriced] {
            self.checks.excuse(check, Some(known));
        }
    }

    /// Ends a fault.
    pub(super) fn end_fault(&mut self, kind: FaultKind) {
        if !self.active_faults.active.remove(&kind) {
            return;
        }
        self.activate(kind, self.now);
        match kind {
            FaultKind::ExchangeHalted
            | FaultKind::ExchangeCancelOnly
            | FaultKind::ExchangePostOnly => {
                self.operate(Operator::SetMode(ExchangeMode::Open));
            }
            FaultKind::AccountFrozen => self.freeze(false),
            FaultKind::MarketClosed => self.enable_market(true),
            FaultKind::ExchangeSlow => self.operate(Operator::SetDelays(Delays::default())),
            FaultKind::OrdersHidden => self.active_faults.hidden_ms = 0,
            FaultKind::MarketCrash => {
                let regime = Regime::Calm;
                self.apply_event(MarketEvent::Regime { regime, up: None });
                self.apply_event(MarketEvent::Liquidity { percent: 100 });
            }
            FaultKind::MarketDeserted => self.apply_event(MarketEvent::Liquidity { percent: 100 }),
            FaultKind::FeesRaised => self.set_fees(false),
            FaultKind::ForeignOrder => {
                if let Some(hash) = self.active_faults.foreign.take() {
                    let cancel = Request::Cancel {
                        account: OWN_ACCOUNT,
                        hash: Some(hash),
                        client_id: None,
                    };
                    // It may have expired already.
                    let _ = self.exchange.ask(self.now, &cancel);
                }
            }
            FaultKind::ExchangeDown
            | FaultKind::ListGaps
            | FaultKind::ListSkips
            | FaultKind::SubmitsLate
            | FaultKind::OneAway
            | FaultKind::DepthFrozen
            | FaultKind::DepthOld
            | FaultKind::KeyRefused
            | FaultKind::StoreFailed
            | FaultKind::SigningFailed
            | FaultKind::StoreSlow
            | FaultKind::Suspended
            | FaultKind::Held
            | FaultKind::TimeWrong
            | FaultKind::LevelRaised
            | FaultKind::LevelHalted
            | FaultKind::Drained
            | FaultKind::Deposit
            | FaultKind::Withdrawal => {}
        }
    }

    fn apply_event(&mut self, what: MarketEvent) {
        self.exchange.apply_event(self.now, what);
    }

    pub(super) fn operate(&mut self, request: Operator) {
        self.exchange.operate(self.now, request);
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
        self.checks.excuse(Invariant::FeeAbove, None);
        let configured = self.config.engine.max_fee_bips;
        let most = self.config.rules.fees.of_order(configured);
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
}
