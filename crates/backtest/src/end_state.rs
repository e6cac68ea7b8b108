//! The trading state at the end of a run, and when and why trading stopped.

use cambist_core::event::TradingState;
use cambist_market_data::Timestamp;
use serde::{Deserialize, Serialize};

use crate::report::LevelReport;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndState {
    /// The trading state at the end: `trading`, `cancel_only` or `halted`.
    pub state: String,
    /// When and why trading stopped: every change of the state since it last was `trading`. No new orders were made after
    /// the first one; those that rested could fill until their cancels arrived.
    pub stops: Vec<LevelReport>,
}

impl EndState {
    /// Finds in all changes and pauses of a run those that lead to the trading state at its end.
    pub fn new(state: &str, levels: &[LevelReport]) -> Self {
        let is_state = |what: &str, of: TradingState| what == of.name();
        let since = levels
            .iter()
            .rposition(|change| is_state(&change.what, TradingState::Active));
        let after = &levels[since.map_or(0, |at| at + 1)..];
        let stops = after.iter().filter(|change| {
            is_state(&change.what, TradingState::CancelOnly)
                || is_state(&change.what, TradingState::Halted)
        });
        let mut end = Self {
            state: state.to_owned(),
            stops: Vec::new(),
        };
        if end.is_stopped() {
            end.stops = stops.cloned().collect();
            // A change that could not be stored at once is stated again when it is.
            end.stops
                .dedup_by(|later, earlier| later.what == earlier.what);
        }
        end
    }

    /// Whether no new orders were allowed at the end.
    pub fn is_stopped(&self) -> bool {
        self.state != TradingState::Active.name()
    }

    /// When trading stopped, if it did and that is known.
    pub fn stopped_at(&self) -> Option<&str> {
        self.stops.first().map(|stop| stop.time.as_str())
    }

    /// What stopped it: the control or the invariant.
    pub fn stopped_by(&self) -> Option<&str> {
        self.stops.first().map(|stop| stop.cause.as_str())
    }

    /// States with their causes, in the order of time: `cancel_only (drawdown), then halted (loss_total)`.
    pub fn causes(&self) -> String {
        self.joined(|stop| format!("{} ({})", stop.what, stop.cause))
    }

    /// The same with times: `cancel_only since 2026-11-01T00:20:00Z (drawdown)`.
    pub fn text(&self) -> String {
        self.joined(|stop| format!("{} since {} ({})", stop.what, stop.time, stop.cause))
    }

    fn joined(&self, text: impl Fn(&LevelReport) -> String) -> String {
        let stops: Vec<_> = self.stops.iter().map(text).collect();
        if stops.is_empty() {
            self.state.clone()
        } else {
            stops.join(", then ")
        }
    }
}

/// What happened after trading stopped, with the number of later fills where it is known.
pub fn after_stop(fills: Option<u64>) -> String {
    let orders = "no new orders were made after that";
    match fills {
        None => {
            format!("{orders}, and orders that rested could still fill until their cancels arrived")
        }
        Some(0) => orders.to_owned(),
        Some(1) => format!("{orders}; 1 fill came later, of an order that was sent before"),
        Some(fills) => {
            format!("{orders}; {fills} fills came later, of orders that were sent before")
        }
    }
}

/// The share of a run before a time; `None` where that is not known.
#[expect(clippy::cast_precision_loss, reason = "a share for display")]
pub fn share_before(from: &str, duration_s: f64, at: &str) -> Option<f64> {
    let from = Timestamp::from_rfc3339(from)?;
    let passed = Timestamp::from_rfc3339(at)?.nanos_since(from);
    (duration_s > 0.0).then(|| (passed as f64 / 1e9 / duration_s).clamp(0.0, 1.0))
}

/// A share of the time in parts of a hundred: less than all of it is never stated as 100.0 %.
pub fn share_text(share: f64) -> String {
    let percent = share * 100.0;
    let percent = if share < 1.0 {
        percent.min(99.9)
    } else {
        percent
    };
    format!("{percent:.1} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(time: &str, what: &str, cause: &str) -> LevelReport {
        LevelReport {
            time: time.to_owned(),
            what: what.to_owned(),
            cause: cause.to_owned(),
        }
    }

    #[test]
    fn the_first_stop_since_trading_is_the_cause() {
        let levels = [
            change("1", "cancel_only", "an earlier one"),
            change("2", "trading", "resumed"),
            change("3", "paused", "spread"),
            change("4", "cancel_only", "drawdown"),
            change("5", "cancel_only", "drawdown"),
            change("6", "paused", "spread"),
            change("7", "halted", "loss_total"),
        ];
        let end = EndState::new("halted", &levels);
        assert_eq!(
            end.text(),
            "cancel_only since 4 (drawdown), then halted since 7 (loss_total)"
        );
        assert_eq!(
            end.causes(),
            "cancel_only (drawdown), then halted (loss_total)"
        );
        assert_eq!(
            (end.stopped_at(), end.stopped_by()),
            (Some("4"), Some("drawdown"))
        );
        let end = EndState::new("trading", &levels[..3]);
        assert!(!end.is_stopped() && end.stops.is_empty());
        assert_eq!(end.text(), "trading");
        // A run that began without trading.
        let end = EndState::new("cancel_only", &[]);
        assert!(end.is_stopped() && end.stopped_at().is_none());
        assert_eq!(end.causes(), "cancel_only");
    }

    #[test]
    fn fills_after_a_stop_are_counted_where_they_are_known() {
        assert_eq!(after_stop(Some(0)), "no new orders were made after that");
        assert!(
            after_stop(Some(1)).ends_with("; 1 fill came later, of an order that was sent before")
        );
        assert!(after_stop(Some(4)).contains("; 4 fills came later, of orders"));
        assert!(after_stop(None).ends_with("could still fill until their cancels arrived"));
    }

    #[test]
    fn a_share_below_all_is_not_rounded_to_all() {
        let shares = [0.036, 0.9994, 0.9996, 0.999_999, 1.0].map(share_text);
        assert_eq!(shares, ["3.6 %", "99.9 %", "99.9 %", "99.9 %", "100.0 %"]);
    }

    #[test]
    fn the_share_before_a_stop_is_of_the_whole_run() {
        let at = |to: &str| share_before("2026-01-01T00:00:00Z", 60.0, to);
        assert_eq!(at("2026-01-01T00:00:15Z"), Some(0.25));
        assert_eq!(at("soon"), None);
        assert_eq!(
            share_before("2026-01-01T00:00:00Z", 0.0, "2026-01-01T00:00:00Z"),
            None
        );
    }
}
