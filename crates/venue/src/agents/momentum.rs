//! Momentum traders: they know only the book, and buy after it has risen.

use cambist_core::{OrderKind, Side};

use super::trader::{SLIPPAGE_BPS, Trader};
use crate::agents::market_view::MarketView;
use crate::request::{Caller, Request};

impl Trader {
    /// Takes in the direction in which the mid has left its average.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a model's prices and pauses need no 64 bits"
    )]
    pub(super) fn follow(
        &mut self,
        scene: &MarketView<'_>,
        made: &mut u64,
        requests: &mut Vec<(Caller, Request)>,
    ) {
        let config = scene.config;
        let best = |side| scene.venue.best(config.market, side);
        let (Some(bid), Some(ask)) = (best(Side::Buy), best(Side::Sell)) else {
            return;
        };
        let middle = bid.0.midpoint(ask.0) as f64;
        let (average, updated) = self.average.unwrap_or((middle, scene.now));
        let passed_s = scene.now.ms_since(updated) as f64 / 1_000.0;
        let weight = 1.0 - libm::exp(-passed_s / config.momentum_window_s.max(0.001));
        self.average = Some((average + weight * (middle - average), scene.now));
        let off_bps = (middle / average - 1.0) * 10_000.0;
        let side = if off_bps > config.momentum_threshold_bps {
            Side::Buy
        } else if off_bps < -config.momentum_threshold_bps {
            Side::Sell
        } else {
            return;
        };
        let limit = MarketView::aside(side.opposite(), middle, SLIPPAGE_BPS);
        let size = self.usual_size(scene);
        requests.extend(self.order(scene, made, side, limit, size, OrderKind::TakerOnly, 60));
    }
}
