//! What the shares held were due when they were taken: the yardstick of impermanent loss.
//!
//! Shares that come are counted with what they are due at that moment; shares that go take their part of the count.
//! The loss is what the shares are due now against holding that, both at the mid; fees that were earned reduce it.

use cambist_core::Amount;
use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::shares::quote_value;
use cambist_core::strategy::{PoolView, View};
use serde::{Deserialize, Serialize};

use crate::sizing::BPS;

/// The shares held and what they were due when they were taken, base units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    shares: Amount,
    base: Amount,
    quote: Amount,
}

impl Entry {
    /// Follows what is held. `None` on overflow.
    pub fn follow(self, pool: &PoolView) -> Option<Self> {
        let (base, quote) = pool.due();
        if pool.held >= self.shares {
            let more = pool.held - self.shares;
            return Some(Self {
                shares: pool.held,
                base: self.base.checked_add(due(base, more, pool.supply)?)?,
                quote: self.quote.checked_add(due(quote, more, pool.supply)?)?,
            });
        }
        // Rounded up: the loss is never smaller than it is.
        Some(Self {
            shares: pool.held,
            base: mul_div_ceil(self.base, pool.held, self.shares)?,
            quote: mul_div_ceil(self.quote, pool.held, self.shares)?,
        })
    }

    /// Ten-thousandths by which the shares are worth less at the mid than what they were due when they were taken,
    /// rounded up; 0 for a gain. `None` on overflow, and for a pool without shares.
    pub fn loss_bps(self, view: &View<'_>, pool: &PoolView) -> Option<Amount> {
        let worth = |base, quote| quote_value(view.market, base, view.mid)?.checked_add(quote);
        let held = worth(self.base, self.quote)?;
        let (base, quote) = pool.due();
        let now = worth(
            due(base, self.shares, pool.supply)?,
            due(quote, self.shares, pool.supply)?,
        )?;
        if held == 0 {
            return Some(0);
        }
        mul_div_ceil(held.saturating_sub(now), BPS.into(), held)
    }
}

fn due(pooled: Amount, shares: Amount, supply: Amount) -> Option<Amount> {
    mul_div_floor(pooled, shares, supply)
}
