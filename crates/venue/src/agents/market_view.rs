//! The input of every trader in one step: fair price, market, order bounds.

use cambist_core::{Amount, Price, Side, TokenId, VenueTime};

use crate::agents::config::AgentsConfig;
use crate::scale::Scale;
use crate::venue::Venue;

/// The input of every trader in one step.
pub(super) struct MarketView<'a> {
    pub config: &'a AgentsConfig,
    /// In ticks, not rounded.
    pub fair: f64,
    pub now: VenueTime,
    pub venue: &'a Venue,
    pub scale: &'a Scale,
    pub base: TokenId,
    pub quote: TokenId,
    /// Least base units allowed by the tokens' minimums at the fair price.
    pub minimum: Amount,
    /// Most base units allowed by their maximums.
    pub maximum: Amount,
    /// Percentage of the standard size that liquidity providers quote.
    pub liquidity_percent: u32,
}

impl<'a> MarketView<'a> {
    pub fn new(
        config: &'a AgentsConfig,
        fair: f64,
        now: VenueTime,
        venue: &'a Venue,
    ) -> Option<Self> {
        let market = venue.market(config.market)?;
        let scale = venue.scale(config.market)?;
        let mut scene = Self {
            config,
            fair,
            now,
            venue,
            scale,
            base: market.base,
            quote: market.quote,
            minimum: 0,
            maximum: 0,
            liquidity_percent: 100,
        };
        let least = |token| venue.token(token).map(|token| token.spec.minimum);
        let low = to_ticks(fair * 0.98, Side::Buy);
        let for_quote = scale
            .base_floor(least(market.quote)?, low)
            .saturating_add(1);
        scene.minimum = least(market.base)?.max(for_quote);
        let most = |token| venue.token(token).map(|token| token.spec.maximum);
        let high = to_ticks(fair * 1.02, Side::Sell);
        scene.maximum = most(market.base)?.min(scale.base_floor(most(market.quote)?, high));
        Some(scene)
    }

    /// `price` moved away from the other side by `bps`: down for a buyer, up for a seller.
    pub fn aside(side: Side, price: f64, bps: f64) -> f64 {
        match side {
            Side::Buy => price * (1.0 - bps / 10_000.0),
            Side::Sell => price * (1.0 + bps / 10_000.0),
        }
    }
}

/// A price in ticks, rounded towards the passive side and never 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "prices are positive and within a factor of a 64-bit start"
)]
pub(super) fn to_ticks(price: f64, side: Side) -> Price {
    let ticks = match side {
        Side::Buy => libm::floor(price),
        Side::Sell => libm::ceil(price),
    };
    Price((ticks as u64).max(1))
}
