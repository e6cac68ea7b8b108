//! The notifications of the engine during a run: its own accounts, why it did not quote, what its controls did, and the
//! delay from fills to their detection.

use std::collections::VecDeque;

use cambist_core::event::TradingState;
use cambist_core::notification::{Control, Fill, Notification};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, MarketId, MarketSpec, Side, Time};
use cambist_report::Session;
use hdrhistogram::Histogram;

/// Entries kept of lists that a run could grow without bound.
const KEPT: usize = 1_000;
/// An hour, in microseconds.
const DETECTION_MAX_US: u64 = 3_600_000_000;

/// A change of the trading state, or a pause.
#[derive(Clone, Debug)]
pub struct LevelChange {
    pub time: Time,
    pub what: String,
    pub cause: String,
}

/// How long a side had no quotes, by reason.
#[derive(Clone, Debug, Default)]
pub struct SideTimes {
    since: Option<(Time, Option<Control>)>,
    /// Microseconds by reason; `None` is the time with quotes.
    pub micros: SortedMap<Option<Control>, u64>,
}

impl SideTimes {
    fn change(&mut self, now: Time, reason: Option<Control>) {
        self.close(now);
        self.since = Some((now, reason));
    }

    /// Whether a pause keeps it without quotes.
    pub fn is_paused(&self) -> bool {
        matches!(self.since, Some((_, Some(Control::Paused))))
    }

    /// Adds the time up to now.
    fn close(&mut self, now: Time) {
        if let Some((since, reason)) = &mut self.since {
            *self.micros.entry(*reason).or_default() += now.micros_since(*since);
            *since = now;
        }
    }
}

/// Results collected from notifications.
pub struct EngineLog {
    pub session: Session,
    pub sides: SortedMap<(MarketId, Side), SideTimes>,
    pub refused_by_control: SortedMap<Control, u64>,
    pub levels: Vec<LevelChange>,
    pub level: TradingState,
    /// Trades of own orders since trading stopped; zero while it has not.
    pub fills_after_stop: u64,
    /// Number of pauses that are not kept.
    pub levels_dropped: u64,
    pub invariants: Vec<String>,
    pub mismatches: u64,
    pub depths: u64,
    pub depths_refused: u64,
    /// Trades that the engine has not detected, by order: time and base units.
    undetected: SortedMap<u64, VecDeque<(Time, Amount)>>,
    pub detection: Histogram<u64>,
}

impl EngineLog {
    pub fn new(markets: &[MarketSpec]) -> Self {
        Self {
            session: Session::new(markets),
            sides: SortedMap::new(),
            refused_by_control: SortedMap::new(),
            levels: Vec::new(),
            level: TradingState::Active,
            fills_after_stop: 0,
            levels_dropped: 0,
            invariants: Vec::new(),
            mismatches: 0,
            depths: 0,
            depths_refused: 0,
            undetected: SortedMap::new(),
            detection: Histogram::new_with_bounds(1, DETECTION_MAX_US, 3)
                .expect("one to an hour in microseconds at three digits is a valid range"),
        }
    }

    /// Records a trade at the exchange.
    pub fn traded(&mut self, now: Time, order: u64, base: Amount) {
        if self.level != TradingState::Active {
            self.fills_after_stop += 1;
        }
        self.undetected
            .entry(order)
            .or_default()
            .push_back((now, base));
    }

    /// Adds a notification.
    pub fn observe(&mut self, now: Time, notification: &Notification) {
        self.session.observe(now, notification);
        match notification {
            Notification::Filled(fill) => self.detected(now, fill),
            Notification::DepthAccepted { .. } => self.depths += 1,
            Notification::DepthRefused { .. } => self.depths_refused += 1,
            Notification::RiskRefused { control, .. } => {
                *self.refused_by_control.entry(*control).or_default() += 1;
            }
            Notification::Withheld {
                market,
                side,
                withheld,
            } => {
                let times = self.sides.entry((*market, *side)).or_default();
                times.change(now, withheld.as_ref().map(|withheld| withheld.control));
            }
            Notification::TradingStateChanged { level, cause } => {
                self.level = *level;
                if *level == TradingState::Active {
                    self.fills_after_stop = 0;
                }
                // There are few of them, and the last one explains the end of the run.
                self.levels.push(LevelChange {
                    time: now,
                    what: level.name().to_owned(),
                    cause: cause.clone(),
                });
            }
            Notification::Paused(pause) => {
                self.paused(now, pause.cause.clone());
            }
            Notification::InvariantFailed { name, detail } if self.invariants.len() < KEPT => {
                self.invariants.push(format!("{name}: {detail}"));
            }
            Notification::Mismatch { .. } => self.mismatches += 1,
            _ => {}
        }
    }

    fn paused(&mut self, time: Time, cause: String) {
        if self.levels.len() < KEPT {
            let what = "paused".to_owned();
            self.levels.push(LevelChange { time, what, cause });
        } else {
            self.levels_dropped += 1;
        }
    }

    /// The engine booked a fill: computes the time since the trade.
    fn detected(&mut self, now: Time, fill: &Fill) {
        let number = fill.order.number;
        let Some(waiting) = self.undetected.get_mut(&number) else {
            return;
        };
        let mut left = fill.base;
        while let Some((traded, base)) = waiting.front_mut()
            && left > 0
        {
            let part = left.min(*base);
            (left, *base) = (left - part, *base - part);
            let whole = *base == 0;
            let late_us = now.micros_since(*traded);
            if whole {
                waiting.pop_front();
                self.detection.saturating_record(late_us.max(1));
            }
        }
        if waiting.is_empty() {
            self.undetected.remove(&number);
        }
    }

    /// Orders with trades that the engine has not detected.
    pub fn undetected_orders(&self) -> impl Iterator<Item = u64> {
        self.undetected.keys().copied()
    }

    /// Number of trades that the engine had not detected.
    pub fn undetected(&self) -> u64 {
        self.undetected
            .values()
            .map(|trades| trades.len() as u64)
            .sum()
    }

    /// Adds times up to the end.
    pub fn close(&mut self, now: Time) {
        for side in self.sides.values_mut() {
            side.close(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use cambist_core::VenueTime;
    use cambist_core::event::{Filter, Pause};

    use super::*;

    /// Fills are counted since trading stopped for the last time.
    #[test]
    fn fills_after_a_stop_are_counted() {
        let mut log = EngineLog::new(&[]);
        let mut counts = Vec::new();
        for level in [
            TradingState::Active,
            TradingState::CancelOnly,
            TradingState::Halted,
            TradingState::Active,
            TradingState::CancelOnly,
        ] {
            let cause = "a test".to_owned();
            log.observe(Time(1), &Notification::TradingStateChanged { level, cause });
            log.traded(Time(2), 7, 1);
            counts.push(log.fills_after_stop);
        }
        assert_eq!(counts, [0, 1, 2, 0, 1]);
    }

    /// However many pauses there were, the change that explains the end of a run is kept.
    #[test]
    fn a_change_of_the_trading_state_is_kept_after_many_pauses() {
        let mut log = EngineLog::new(&[]);
        let pause = Notification::Paused(Pause {
            filter: Filter::ALL,
            since: VenueTime(0),
            until: None,
            cause: "spread".to_owned(),
        });
        for _ in 0..=KEPT {
            log.observe(Time(1), &pause);
        }
        let level = TradingState::CancelOnly;
        let cause = "drawdown".to_owned();
        log.observe(Time(2), &Notification::TradingStateChanged { level, cause });
        assert_eq!((log.levels.len(), log.levels_dropped), (KEPT + 1, 1));
        let last = log.levels.last().map(|change| change.cause.as_str());
        assert_eq!(last, Some("drawdown"));
    }
}
