//! Liquidity providers: a bid and an ask around the fair price, skewed against their inventory.

use cambist_core::{Amount, OrderKind, Side};

use crate::agents::FUNDS;
use crate::agents::market_view::{MarketView, to_ticks};
use crate::agents::trader::{Kind, Trader};
use crate::request::{Caller, Request};

impl Trader {
    /// Cancels the old quotes and places new ones.
    pub(super) fn keep_quotes(
        &mut self,
        scene: &MarketView<'_>,
        made: &mut u64,
        requests: &mut Vec<(Caller, Request)>,
    ) {
        let Kind::Passive { rank } = self.kind else {
            return;
        };
        let config = scene.config;
        let distance = config.passive_half_spread_bps + f64::from(rank) * config.passive_step_bps;
        let shift = self.skew_bps(scene).clamp(-distance, distance);
        let centre = scene.fair * (1.0 - shift / 10_000.0);
        for quote in &mut self.quotes {
            if let Some(hash) = quote.take()
                && scene.venue.is_open(&hash)
            {
                requests.push((
                    Caller::Internal {
                        account: self.account,
                    },
                    Request::Cancel {
                        account: self.account,
                        hash: Some(hash),
                        client_id: None,
                    },
                ));
            }
        }
        for (index, side) in Side::BOTH.into_iter().enumerate() {
            let jitter = 0.9 + 0.2 * self.random.unit();
            let limit = MarketView::aside(side, centre, distance * jitter);
            // Small near the mid, so that takers reach other quotes; large further out, so that both sides of the book
            // persist.
            let usual = self.usual_size(scene);
            let size = match rank {
                0 | 1 => usual / 6,
                outer => usual.saturating_mul(Amount::from(outer)),
            };
            if scene.liquidity_percent == 0 {
                continue;
            }
            let size = size / 100 * Amount::from(scene.liquidity_percent);
            // Orders beyond the quote's price are taken first: the provider knows the fair price.
            let other = scene.venue.best(config.market, side.opposite());
            let crosses = other.is_some_and(|other| side.reaches(to_ticks(limit, side), other));
            let kind = if crosses {
                OrderKind::Limit
            } else {
                OrderKind::MakerOnly
            };
            // Quotes expire soon after the traders stop.
            let order = self.order(scene, made, side, limit, size, kind, 30);
            if let Some((caller, Request::Submit(order))) = order {
                self.quotes[index] = Some(order.hash);
                requests.push((caller, Request::Submit(order)));
            }
        }
    }

    /// How far both quotes move down: proportional to the inventory above the initial funds.
    #[expect(clippy::cast_precision_loss, reason = "a leaning needs no exactness")]
    fn skew_bps(&self, scene: &MarketView<'_>) -> f64 {
        let Some(account) = scene.venue.account(self.account) else {
            return 0.0;
        };
        let usual = scene.config.size_base as f64;
        let held = account.balance(scene.base).total as f64;
        scene.config.passive_skew_bps * (held / usual - FUNDS as f64) / 10.0
    }
}
