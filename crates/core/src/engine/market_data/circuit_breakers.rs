//! Circuit breakers: for each new reference price, how far it moved, the loss that results, and markouts of fills. The
//! effect is a pause or a change of the trading state.

use crate::action::Action;
use crate::control::Control;
use crate::event::TradingState;
use crate::market::MarketId;
use crate::notification::Notification;
use crate::time::Time;

use crate::engine::state::State;

/// If the engine is called this much later than the requested wake-up, the process did not run in between: the host
/// slept, or the process was stopped.
const SLEPT_MS: u64 = 5_000;

impl State {
    /// Checks a market whose depth was just accepted, or whose losses begin to count.
    pub(crate) fn watch(&mut self, now: Time, id: MarketId, actions: &mut Vec<Action>) {
        let prices = self.prices(id);
        let limits = &self.config.markets[usize::from(id.0)];
        let age_max_ms = self.config.poll.depth_age_max_ms;
        let market = self.market(id);
        let usable = market.book.usable_mid(now, &prices, limits, age_max_ms);
        // A runaway shows in any mid; losses are counted at a mid that is fit for pricing.
        if let Some(mid) = prices.mid {
            self.track_price_move(now, id, mid, actions);
        }
        let Ok(mid) = usable else { return };
        self.market_mut(id).mid = Some(mid);
        let venue_now = self.clock.at_least(now);
        let index = usize::from(id.0);
        let due = self.shares_due(id);
        let (limits, risk) = (&self.config.markets[index].loss, &self.config.risk);
        let market = &mut self.markets[index];
        let exceeded = market
            .losses
            .measure((now, venue_now), &market.spec, (mid, due), limits);
        let streak = market.losses.markouts.mark(now, &market.spec, mid, risk);
        for control in exceeded {
            self.lost(now, id, control, actions);
        }
        if streak {
            self.pause_market(now, id, Control::LossStreak, actions);
        }
        if std::mem::take(&mut self.markets[index].losses.uncountable) {
            let detail = format!("the value of market {} overflows", id.0);
            self.violated("loss_uncountable", detail, actions);
        }
    }

    fn track_price_move(&mut self, now: Time, id: MarketId, mid: u64, actions: &mut Vec<Action>) {
        let (window_ms, most) = (self.config.risk.move_ms, self.config.risk.move_bps);
        let market = self.market_mut(id);
        let (low, high) = market.mid_extremes.take(now, i128::from(mid), window_ms);
        let moved_bps = ((high - low) * 10_000 + low - 1) / low.max(1);
        market.mid_range_bps = u64::try_from(moved_bps).unwrap_or(u64::MAX);
        if market.mid_range_bps > u64::from(most) {
            self.pause_market(now, id, Control::PriceMove, actions);
        }
    }

    /// Effect of reaching a loss limit: the shorter its period, the milder.
    fn lost(&mut self, now: Time, id: MarketId, control: Control, actions: &mut Vec<Action>) {
        actions.push(Action::Notify(Notification::RiskRefused {
            market: id,
            control,
        }));
        // An operator who resumes sees the loss, even when no daemon runs any more.
        self.pending.moved(id);
        match control {
            Control::LossDay | Control::Drawdown => {
                self.raise(TradingState::CancelOnly, control.name(), actions);
            }
            Control::LossTotal => self.raise(TradingState::Halted, control.name(), actions),
            _ => {
                // A loss that engaged a pause is not counted again: the pause ends by itself, and the next hour may
                // lose as much again. Losses during the pause engage the next one.
                if self.pause_market(now, id, control, actions) {
                    self.market_mut(id).losses.baselines.reset_hour();
                }
            }
        }
    }

    /// Stops new orders if there were more transmissions or completely filled orders than any budget explains. Partial
    /// fills do not count: other traders at the venue decide into how many parts an order is filled, and no budget
    /// bounds that.
    pub(crate) fn latch_if_wild(&mut self, now: Time, actions: &mut Vec<Action>) {
        let most = self.config.risk.executions_per_min;
        let (sent, filled) = (&self.counters.transmissions, &self.counters.filled);
        if sent.count(now) >= most || filled.count(now) >= most {
            self.raise(
                TradingState::CancelOnly,
                Control::Executions.name(),
                actions,
            );
        }
    }

    /// Detects a gap in time. Earlier data are then stale: no new orders until orders, balances and books have been
    /// read again.
    pub(crate) fn notice_gap(&mut self, now: Time, actions: &mut Vec<Action>) {
        let late_ms = now.ms_since(self.next_wakeup_at);
        if late_ms >= SLEPT_MS {
            self.forget_earlier_data(now, late_ms, actions);
        }
    }

    /// The venue's clock went on for so much longer than the local clock did: a whole machine was stopped together with
    /// its clock. Earlier data are older than the local clock shows.
    pub(crate) fn notice_leap(&mut self, now: Time, leap_ms: u64, actions: &mut Vec<Action>) {
        if leap_ms > SLEPT_MS {
            self.forget_earlier_data(now, leap_ms, actions);
        }
    }

    fn forget_earlier_data(&mut self, now: Time, late_ms: u64, actions: &mut Vec<Action>) {
        self.last_complete_scan_at = None;
        self.forget_listed();
        self.ledger.invalidate();
        for market in &mut self.markets {
            market.book.invalidate();
            market.decision_due = true;
        }
        self.polls.all_soon();
        self.ramp.restart(now);
        actions.push(Action::Notify(Notification::Slept { ms: late_ms }));
    }
}
