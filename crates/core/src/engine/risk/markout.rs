//! Markouts: the mid some time after the detection of each fill against the fill's price. Too many losing fills in a
//! row indicate adverse selection and are reported.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::config::RiskConfig;
use crate::market::{MarketSpec, Side};
use crate::time::Time;
use crate::token::Amount;

use crate::engine::intents::registry::Increment;
use crate::engine::risk::loss_meter::value;

/// Most fills that wait for their markout.
const WAITING_MAX: usize = 256;

/// A fill whose markout is not known yet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Waiting {
    learnt: Time,
    side: Side,
    base: Amount,
    quote: Amount,
}

/// Fills of one market, and the number of losing ones in a row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Markouts {
    waiting: VecDeque<Waiting>,
    streak: u32,
}

impl Markouts {
    /// Records a detected fill.
    pub(crate) fn fill(&mut self, now: Time, side: Side, step: Increment) {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Waiting {
            learnt: now,
            side,
            base: step.base,
            quote: step.quote,
        });
    }

    /// Takes the markouts that are due at the mid. True if too many fills in a row were losing.
    pub(crate) fn mark(
        &mut self,
        now: Time,
        spec: &MarketSpec,
        mid: u64,
        risk: &RiskConfig,
    ) -> bool {
        while let Some(fill) = self.waiting.front().copied()
            && now.ms_since(fill.learnt) >= risk.streak_ms
        {
            self.waiting.pop_front();
            if fill.is_against(spec, mid, risk.streak_bps) {
                self.streak += 1;
            } else {
                self.streak = 0;
            }
        }
        let too_many = risk.streak_fills > 0 && self.streak >= risk.streak_fills;
        if too_many {
            self.streak = 0;
        }
        too_many
    }
}

impl Waiting {
    /// Whether the mid is worse than the price of the fill by at least `bps`.
    fn is_against(&self, spec: &MarketSpec, mid: u64, bps: u32) -> bool {
        let (Ok(base), Ok(quote)) = (i128::try_from(self.base), i128::try_from(self.quote)) else {
            return true;
        };
        let (at_mid, paid) = (value(spec, base, 0, mid), value(spec, 0, quote, mid));
        let (Some(at_mid), Some(paid)) = (at_mid, paid) else {
            return true;
        };
        let lost = match self.side {
            Side::Buy => paid.saturating_sub(at_mid),
            Side::Sell => at_mid.saturating_sub(paid),
        };
        lost > 0 && lost.saturating_mul(10_000) >= paid.saturating_mul(i128::from(bps))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use super::*;

    use crate::token::TokenSpec;
    use crate::{MarketId, TokenId};

    fn spec() -> MarketSpec {
        let token = |id| TokenSpec {
            id: TokenId(id),
            symbol: format!("T{id}"),
            decimals: 0,
            precision: 0,
            minimum: 1,
            maximum: 1 << 60,
            dust: 0,
            enabled: true,
        };
        MarketSpec::new(MarketId(0), "T0-T1", token(0), token(1), 0, true).unwrap()
    }

    /// Whether so many fills of one unit at 100 are too many losing ones, at this mid in half ticks.
    fn is_streak(fills: usize, side: Side, mid: u64, risk: &RiskConfig) -> bool {
        let mut markouts = Markouts::default();
        for _ in 0..fills {
            let (base, quote, fee) = (1, 100, 0);
            markouts.fill(Time(0), side, Increment { base, quote, fee });
        }
        assert!(
            !markouts.mark(Time::from_ms(999), &spec(), mid, risk),
            "not due"
        );
        markouts.mark(Time::from_ms(1_000), &spec(), mid, risk)
    }

    #[test]
    fn a_fill_is_losing_beyond_its_price_and_at_the_stated_share_of_it() {
        for (bps, mid, losing) in [
            (0, 199, true),
            (0, 200, false),
            (0, 201, false),
            (100, 198, true),
            (100, 199, false),
        ] {
            let risk = RiskConfig {
                streak_ms: 1_000,
                streak_bps: bps,
                streak_fills: 1,
                ..RiskConfig::default()
            };
            assert_eq!(is_streak(1, Side::Buy, mid, &risk), losing, "{bps} {mid}");
            let other = 400 - mid;
            assert_eq!(
                is_streak(1, Side::Sell, other, &risk),
                losing,
                "{bps} {other}"
            );
        }
    }

    #[test]
    fn as_many_fills_wait_as_are_kept() {
        for (fills, streak, found) in [
            (WAITING_MAX - 1, WAITING_MAX, false),
            (WAITING_MAX, WAITING_MAX, true),
            (2 * WAITING_MAX, WAITING_MAX + 1, false),
        ] {
            let risk = RiskConfig {
                streak_ms: 1_000,
                streak_bps: 0,
                streak_fills: u32::try_from(streak).unwrap(),
                ..RiskConfig::default()
            };
            assert_eq!(is_streak(fills, Side::Buy, 199, &risk), found, "{fills}");
        }
    }
}
