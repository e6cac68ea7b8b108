//! How far the reference has moved lately.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// The window is remembered in so many steps at most; each keeps its extremes.
const STEPS: u64 = 64;

/// One step of the window: when it began, and the lowest and highest mid in it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Step {
    begun: Time,
    low: u64,
    high: u64,
}

/// Mids of one market within a window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Moves {
    steps: VecDeque<Step>,
}

impl Moves {
    /// Takes in a mid in half ticks. Returns how far the window's lowest and highest lie apart, in
    /// ten-thousandths of the lowest, rounded up.
    pub(crate) fn take(&mut self, now: Time, mid: u64, window_ms: u64) -> u64 {
        let width_ms = (window_ms / STEPS).max(1);
        // A step counts as long as any part of it lies within the window.
        let oldest = now.minus_ms(window_ms.saturating_add(width_ms));
        while self.steps.front().is_some_and(|step| step.begun < oldest) {
            self.steps.pop_front();
        }
        match self.steps.back_mut() {
            Some(step) if now.ms_since(step.begun) < width_ms => {
                (step.low, step.high) = (step.low.min(mid), step.high.max(mid));
            }
            Some(_) | None => self.steps.push_back(Step {
                begun: now,
                low: mid,
                high: mid,
            }),
        }
        let low = self.steps.iter().map(|step| step.low).min().unwrap_or(mid);
        let high = self.steps.iter().map(|step| step.high).max().unwrap_or(mid);
        let apart = u128::from(high - low) * 10_000;
        u64::try_from(apart.div_ceil(u128::from(low.max(1)))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_move_is_that_of_the_window_and_forgets_what_left_it() {
        let mut moves = Moves::default();
        assert_eq!(moves.take(Time::from_ms(0), 20_000, 60_000), 0);
        assert_eq!(moves.take(Time::from_ms(30_000), 20_400, 60_000), 200);
        assert_eq!(
            moves.take(Time::from_ms(59_000), 20_000, 60_000),
            200,
            "there and back"
        );
        assert_eq!(moves.take(Time::from_ms(92_000), 20_000, 60_000), 0);
    }

    #[test]
    fn memory_is_bounded_however_often_it_looks() {
        let mut moves = Moves::default();
        for at in 0..600_000 {
            moves.take(Time::from_ms(at), 20_000 + at % 7, 60_000);
        }
        assert!(moves.steps.len() <= 66, "{}", moves.steps.len());
    }
}
