//! One simulated trader: when it acts, and which requests it sends.

use cambist_core::order::FillBy;
use cambist_core::{Amount, Hash, OrderKind, Side, TokenId, VenueTime};
use serde::{Deserialize, Serialize};

use super::base_share;
use crate::account::{AccountId, Address};
use crate::agents::fair_price::gauss;
use crate::agents::market_view::{MarketView, to_ticks};
use crate::random::Random;
use crate::request::{Caller, NewOrder, Request};

/// Most requests of one action: two cancels and two orders.
pub(super) const REQUESTS_MAX: usize = 4;

/// Distance from the fair price to which a taking order still trades.
pub(super) const SLIPPAGE_BPS: f64 = 120.0;

/// Highest accepted fee.
const FEE_BIPS: u64 = 63;

/// Time to live of taking orders in seconds.
pub(super) const LIFE_S: u64 = 60;

/// Kind of a trader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Trades at random.
    Noise,
    /// Trades if the book differs from the fair price.
    Informed,
    /// Quotes around the fair price; the rank determines the distance.
    Passive {
        /// 0 quotes nearest.
        rank: u32,
    },
    /// Trades if the mid differs from its average.
    Momentum,
    /// Trades if book and pool differ.
    Arbitrage,
    /// Swaps with the pool at random.
    Swapper,
}

/// One trader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Trader {
    pub account: AccountId,
    pub kind: Kind,
    /// Time of the next action.
    pub next: VenueTime,
    pub random: Random,
    /// A liquidity provider's quotes, bid and ask.
    pub quotes: [Option<Hash>; 2],
    /// Average of the mid in ticks, and the time of the last update; for momentum traders.
    pub average: Option<(f64, VenueTime)>,
}

impl Trader {
    pub fn new(account: AccountId, kind: Kind, random: Random) -> Self {
        Self {
            account,
            kind,
            next: VenueTime(0),
            random,
            quotes: [None; 2],
            average: None,
        }
    }

    /// Acts and draws the time of the next action.
    pub fn act(
        &mut self,
        scene: &MarketView<'_>,
        made: &mut u64,
        requests: &mut Vec<(Caller, Request)>,
    ) {
        let first = self.next == VenueTime(0);
        let config = scene.config;
        let mean_ms = match self.kind {
            Kind::Noise => 60_000.0 / config.noise_orders_per_minute.max(0.001),
            Kind::Informed => 60_000.0 / config.informed_looks_per_minute.max(0.001),
            Kind::Momentum => 60_000.0 / config.momentum_looks_per_minute.max(0.001),
            Kind::Arbitrage => 60_000.0 / config.arbitrage_looks_per_minute.max(0.001),
            Kind::Swapper => 60_000.0 / config.swaps_per_minute.max(0.001),
            Kind::Passive { .. } => {
                self.keep_quotes(scene, made, requests);
                let pause = config.passive_refresh_ms.max(1);
                self.next = scene
                    .now
                    .plus_ms(self.random.between(pause / 2, pause * 3 / 2).max(1));
                return;
            }
        };
        // The time between actions is exponential, so that all actions together are a Poisson process; it is cut at
        // five means, so that no trader pauses too long.
        let pause_ms = (-libm::log(self.random.unit())).min(5.0) * mean_ms;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a pause of minutes in milliseconds"
        )]
        let pause = pause_ms as u64;
        self.next = scene.now.plus_ms(pause.max(1));
        if first {
            return;
        }
        match self.kind {
            Kind::Noise => self.trade_at_random(scene, made, requests),
            Kind::Informed => self.trade_towards_fair(scene, made, requests),
            Kind::Momentum => self.follow(scene, made, requests),
            Kind::Arbitrage => self.close_gap(scene, made, requests),
            Kind::Swapper => self.swap_at_random(scene, made, requests),
            Kind::Passive { .. } => {}
        }
    }

    fn trade_at_random(
        &mut self,
        scene: &MarketView<'_>,
        made: &mut u64,
        requests: &mut Vec<(Caller, Request)>,
    ) {
        let Some(account) = scene.venue.account(self.account) else {
            return;
        };
        // A trader with much base is more likely to sell, so that none runs out of funds.
        let side = if self.random.unit() < base_share(account, scene).clamp(0.2, 0.8) {
            Side::Sell
        } else {
            Side::Buy
        };
        let usual = self.usual_size(scene);
        let order = if self
            .random
            .chance(u64::from(scene.config.noise_taker_percent), 100)
        {
            let limit = MarketView::aside(side.opposite(), scene.fair, SLIPPAGE_BPS);
            self.order(scene, made, side, limit, usual, OrderKind::TakerOnly, 60)
        } else {
            let distance = scene.config.passive_half_spread_bps * (1.0 + 2.5 * self.random.unit());
            let limit = MarketView::aside(side, scene.fair, distance);
            let life_s = self.random.between(5, 25);
            self.order(
                scene,
                made,
                side,
                limit,
                usual / 4,
                OrderKind::Limit,
                life_s,
            )
        };
        requests.extend(order);
    }

    fn trade_towards_fair(
        &mut self,
        scene: &MarketView<'_>,
        made: &mut u64,
        requests: &mut Vec<(Caller, Request)>,
    ) {
        for side in Side::BOTH {
            let Some(best) = scene.venue.best(scene.config.market, side.opposite()) else {
                continue;
            };
            let limit = MarketView::aside(side, scene.fair, scene.config.informed_threshold_bps);
            let limit_ticks = to_ticks(limit, side);
            if side.reaches(limit_ticks, best) {
                let size = self.usual_size(scene);
                let order = self.order(scene, made, side, limit, size, OrderKind::TakerOnly, 60);
                requests.extend(order);
                return;
            }
        }
    }

    /// About the standard size: half of all sizes are within a factor of one and a half.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a size needs no exactness, and the factor is within 1/5 and 4"
    )]
    pub(super) fn usual_size(&mut self, scene: &MarketView<'_>) -> Amount {
        let factor = libm::exp(0.6 * gauss(&mut self.random)).clamp(0.2, 4.0);
        (scene.config.size_base as f64 * factor) as Amount
    }

    /// An order of about this size at this limit; `None` if funds or storage ids do not allow it.
    pub(super) fn order(
        &mut self,
        scene: &MarketView<'_>,
        made: &mut u64,
        side: Side,
        limit: f64,
        size: Amount,
        kind: OrderKind,
        life_s: u64,
    ) -> Option<(Caller, Request)> {
        let price = to_ticks(limit, side);
        let lot = scene.scale.exact_lot(price);
        let size = size.max(scene.minimum).min(scene.maximum);
        // A multiple of the exact lot, rounded up, so that the amounts give the price exactly.
        let base = size.checked_next_multiple_of(lot).unwrap_or(size);
        let quote = match side {
            Side::Buy => scene.scale.quote_floor(base, price)?,
            Side::Sell => scene.scale.quote_ceil(base, price)?,
        };
        let (pair, fill_by) = match side {
            Side::Buy => ([(scene.quote, quote), (scene.base, base)], FillBy::Buy),
            Side::Sell => ([(scene.base, base), (scene.quote, quote)], FillBy::Sell),
        };
        self.submit(scene, made, pair, fill_by, kind, None, life_s)
    }

    /// A swap of the whole first amount for at least the second.
    pub(super) fn swap(
        &mut self,
        scene: &MarketView<'_>,
        made: &mut u64,
        pair: [(TokenId, Amount); 2],
    ) -> Option<(Caller, Request)> {
        let pool = scene.config.pool?.pool;
        let (kind, fill_by) = (OrderKind::TakerOnly, FillBy::Sell);
        self.submit(scene, made, pair, fill_by, kind, Some(pool), LIFE_S)
    }

    /// A complete order that sells the first amount and buys the second.
    pub(super) fn submit(
        &mut self,
        scene: &MarketView<'_>,
        made: &mut u64,
        pair: [(TokenId, Amount); 2],
        fill_by: FillBy,
        kind: OrderKind,
        pool: Option<Address>,
        life_s: u64,
    ) -> Option<(Caller, Request)> {
        let [(sell_token, sell_amount), (buy_token, buy_amount)] = pair;
        let holder = scene.venue.account(self.account)?;
        if holder.balance(sell_token).free() < sell_amount {
            return None;
        }
        let storage_id = scene
            .venue
            .next_order_storage_id(self.account, sell_token)?;
        *made += 1;
        let hash = synthetic_hash(self.account, scene.now, *made, &mut self.random);
        let caller = Caller::Internal {
            account: self.account,
        };
        let order = NewOrder {
            hash,
            exchange: scene.venue.config().exchange,
            account: self.account,
            storage_id: u64::from(storage_id),
            sell_token,
            sell_amount,
            buy_token,
            buy_amount,
            fill_by,
            all_or_none: false,
            valid_until_s: scene.now.as_s() + 1 + life_s,
            max_fee_bips: FEE_BIPS,
            taker: [0; 20],
            kind,
            pool,
            client_id: None,
        };
        Some((caller, Request::Submit(Box::new(order))))
    }
}

/// Unique across restarts: account, time, count, random bits.
pub(super) fn synthetic_hash(
    account: AccountId,
    now: VenueTime,
    made: u64,
    random: &mut Random,
) -> Hash {
    let mut hash = [0xff; 32];
    hash[4..8].copy_from_slice(&account.0.to_be_bytes());
    hash[8..16].copy_from_slice(&now.0.to_be_bytes());
    hash[16..24].copy_from_slice(&made.to_be_bytes());
    hash[24..].copy_from_slice(&random.next_u64().to_be_bytes());
    Hash(hash)
}
