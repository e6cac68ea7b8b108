//! A strategy of worlds that swaps with the pool beside its market: small amounts either way, at limits that a pool
//! meets always, sometimes and never. It earns nothing; it is there so that swaps meet every fault.

use cambist_core::math::mul_div_ceil;
use cambist_core::strategy::{Strategy, Targets, View, WantedSwap};
use cambist_core::swap::paid_for;
use cambist_core::{Amount, Side, Time};

/// Its name among the seats of a world.
pub(crate) const SWAPPER: &str = "swapper";

/// Pause between two swaps.
const PAUSE_MS: u64 = 2_500;
/// The part of a pool's reserve that a swap sells.
const PART: Amount = 2_000;

/// Number of swaps asked for, and when the last one was.
#[derive(Debug, Default)]
pub(crate) struct Swapper {
    asked: u64,
    last: Option<Time>,
}

impl Strategy for Swapper {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let paused = |last: Time| view.now.ms_since(last) < PAUSE_MS;
        let Some(pool) = view.pool.filter(|_| !self.last.is_some_and(paused)) else {
            return;
        };
        if !pool.swap.possible {
            return;
        }
        let base_share_bps = view.base_share_bps().unwrap_or(5_000);
        let side = if base_share_bps > 5_000 {
            Side::Sell
        } else {
            Side::Buy
        };
        let (sold, bought) = match side {
            Side::Buy => (pool.quote, pool.base),
            Side::Sell => (pool.base, pool.quote),
        };
        let sell = sold / PART;
        let Some(paid) = paid_for(sell, sold, bought, pool.swap.fee_bips) else {
            return;
        };
        // At its loosest, exactly what the pool paid when it was read, and more than it pays.
        let loosest = 10_000_u32.saturating_sub(pool.swap.slippage_bps);
        let least = match self.asked % 4 {
            0 | 1 => mul_div_ceil(paid, loosest.into(), 10_000).unwrap_or(paid),
            2 => paid,
            _ => paid + paid / 10_000 + 1,
        };
        self.asked += 1;
        self.last = Some(view.now);
        targets.swap(WantedSwap { side, sell, least });
    }

    fn save(&self) -> Vec<u8> {
        let last = self.last.map_or(u64::MAX, |last| last.0);
        [self.asked.to_be_bytes(), last.to_be_bytes()].concat()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        let (numbers, rest) = saved.as_chunks::<8>();
        let ([asked, last], []) = (numbers, rest) else {
            return saved.is_empty();
        };
        self.asked = u64::from_be_bytes(*asked);
        let last = u64::from_be_bytes(*last);
        self.last = (last != u64::MAX).then_some(Time(last));
        true
    }

    fn save_durable(&self) -> Vec<u8> {
        Vec::new()
    }
}
