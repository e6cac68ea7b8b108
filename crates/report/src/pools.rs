//! What pools came to: joins, exits, and what our shares are worth against what was put in.
//!
//! In quote base units at the mid of the moment; a value that cannot be counted is left out, never 0.

use cambist_core::note::{End, PoolMove, PoolStatus};
use cambist_core::shares::quote_value;
use cambist_core::{Amount, MarketId, MarketSpec, MoveKind, PoolSpec};

/// The books of one pool.
#[derive(Clone, Debug)]
pub(crate) struct PoolBook {
    pub(crate) spec: PoolSpec,
    market: MarketSpec,
    pub(crate) joins: u64,
    pub(crate) exits: u64,
    /// Moves whose end was proven and that moved nothing.
    pub(crate) failed: u64,
    /// Paid for shares less received for them, fees included, each at the mid of its booking.
    net: Option<i128>,
    /// Shares found at the opening, until they are valued.
    unvalued: Amount,
    pub(crate) held: Amount,
    pub(crate) value: Option<Amount>,
}

impl PoolBook {
    pub(crate) fn new(spec: &PoolSpec, market: &MarketSpec) -> Self {
        Self {
            spec: spec.clone(),
            market: market.clone(),
            joins: 0,
            exits: 0,
            failed: 0,
            net: Some(0),
            unvalued: 0,
            held: 0,
            value: None,
        }
    }

    pub(crate) fn is_of(&self, market: MarketId) -> bool {
        self.spec.market == market
    }

    /// Shares at the opening: they enter at what they are worth when that is first known.
    pub(crate) fn open(&mut self, shares: Amount) {
        self.unvalued = shares;
    }

    /// What a settled move changed in base and quote, fee included.
    pub(crate) fn flows(&self, moved: &PoolMove) -> [i128; 2] {
        let signed = |amount: Amount| i128::try_from(amount).unwrap_or(i128::MAX);
        let base_at = usize::from(moved.pooled[0] != self.market.base.id);
        let mut parts = moved.moved.pooled.map(signed);
        if moved.kind == MoveKind::Join {
            parts = parts.map(|part| -part);
        }
        parts[1] = parts[1].saturating_sub(signed(moved.moved.fee));
        [parts[base_at], parts[1 - base_at]]
    }

    pub(crate) fn moved(&mut self, moved: &PoolMove) {
        match moved.kind {
            MoveKind::Join => self.joins += 1,
            MoveKind::Exit => self.exits += 1,
        }
        let [base, quote] = self.flows(moved);
        let worth = || {
            let size = quote_value(&self.market, base.unsigned_abs(), moved.mid?)?;
            let size = i128::try_from(size).ok()?;
            quote.checked_add(if base < 0 { -size } else { size })
        };
        let worth = worth();
        self.net = self
            .net
            .zip(worth)
            .and_then(|(net, worth)| net.checked_sub(worth));
    }

    pub(crate) fn ended(&mut self, end: End) {
        self.failed += u64::from(end != End::Filled && end != End::NeverSent);
    }

    pub(crate) fn told(&mut self, status: &PoolStatus) {
        self.held = status.held;
        self.value = status.value;
        let Some(value) = status.value else { return };
        if self.unvalued > 0 {
            let unvalued = std::mem::take(&mut self.unvalued);
            let part = cambist_core::math::mul_div_floor(value, unvalued, status.held.max(1));
            let part = part.and_then(|part| i128::try_from(part).ok());
            self.net = self
                .net
                .zip(part)
                .and_then(|(net, part)| net.checked_add(part));
        }
    }

    /// Worth of what is held less what it cost, in quote base units.
    pub(crate) fn result(&self) -> Option<i128> {
        let value = i128::try_from(self.value?).ok()?;
        value.checked_sub(self.net?)
    }
}
