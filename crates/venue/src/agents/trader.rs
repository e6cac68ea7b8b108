//! One background trader: when it acts, and what it then asks.

use cambist_core::order::FillBy;
use cambist_core::{Amount, Hash, OrderKind, Side, VenueTime};
use serde::{Deserialize, Serialize};

use super::base_share;
use super::fair::gauss;
use super::scene::{Scene, to_ticks};
use crate::account::AccountId;
use crate::random::Random;
use crate::request::{Caller, NewOrder, Request};

/// Most requests of one act: two cancels and two orders.
pub(super) const REQUESTS_MAX: usize = 4;

/// How far from the fair price a taking order still trades.
const SLIPPAGE_BPS: f64 = 120.0;

/// Highest fee they accept.
const FEE_BIPS: u64 = 63;

/// What moves a trader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Nothing in particular.
    Noise,
    /// A book that is off the fair price.
    Informed,
    /// Its quotes around the fair price; the rank says how far out.
    Passive {
        /// 0 stands nearest.
        rank: u32,
    },
}

/// One trader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Trader {
    account: AccountId,
    kind: Kind,
    /// When it acts next.
    pub next: VenueTime,
    random: Random,
    /// A passive one's quotes, bid and ask.
    quotes: [Option<Hash>; 2],
}

impl Trader {
    pub fn new(account: AccountId, kind: Kind, random: Random) -> Self {
        Self {
            account,
            kind,
            next: VenueTime(0),
            random,
            quotes: [None; 2],
        }
    }

    /// Acts and chooses when to act again.
    pub fn act(
        &mut self,
        scene: &Scene<'_>,
        made: &mut u64,
        requests: &mut Vec<(Caller, Request)>,
    ) {
        let first = self.next == VenueTime(0);
        let config = scene.config;
        let mean_ms = match self.kind {
            Kind::Noise => 60_000.0 / config.noise_orders_per_minute.max(0.001),
            Kind::Informed => 60_000.0 / config.informed_looks_per_minute.max(0.001),
            Kind::Passive { .. } => {
                self.keep_quotes(scene, made, requests);
                let pause = config.passive_refresh_ms.max(1);
                self.next = scene
                    .now
                    .plus_ms(self.random.between(pause / 2, pause * 3 / 2).max(1));
                return;
            }
        };
        // Between acts of one trader passes an exponential time, so all together are a Poisson
        // stream; cut at five means, so that nobody falls asleep.
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
            Kind::Passive { .. } => {}
        }
    }

    fn trade_at_random(
        &mut self,
        scene: &Scene<'_>,
        made: &mut u64,
        requests: &mut Vec<(Caller, Request)>,
    ) {
        let Some(account) = scene.venue.account(self.account) else {
            return;
        };
        // Who holds much base sells rather more, so that nobody runs dry.
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
            let limit = Scene::aside(side.opposite(), scene.fair, SLIPPAGE_BPS);
            self.order(scene, made, side, limit, usual, OrderKind::TakerOnly, 60)
        } else {
            let distance = scene.config.passive_half_spread_bps * (1.0 + 2.5 * self.random.unit());
            let limit = Scene::aside(side, scene.fair, distance);
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
        scene: &Scene<'_>,
        made: &mut u64,
        requests: &mut Vec<(Caller, Request)>,
    ) {
        for side in Side::BOTH {
            let Some(best) = scene.venue.best(scene.config.market, side.opposite()) else {
                continue;
            };
            let limit = Scene::aside(side, scene.fair, scene.config.informed_threshold_bps);
            let limit_ticks = to_ticks(limit, side);
            if side.reaches(limit_ticks, best) {
                let size = self.usual_size(scene);
                let order = self.order(scene, made, side, limit, size, OrderKind::TakerOnly, 60);
                requests.extend(order);
                return;
            }
        }
    }

    fn keep_quotes(
        &mut self,
        scene: &Scene<'_>,
        made: &mut u64,
        requests: &mut Vec<(Caller, Request)>,
    ) {
        let Kind::Passive { rank } = self.kind else {
            return;
        };
        let config = scene.config;
        let distance = config.passive_half_spread_bps + f64::from(rank) * config.passive_step_bps;
        for (index, side) in Side::BOTH.into_iter().enumerate() {
            if let Some(hash) = self.quotes[index].take()
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
            let jitter = 0.9 + 0.2 * self.random.unit();
            let limit = Scene::aside(side, scene.fair, distance * jitter);
            // Thin near the middle, so that takers get past it; deep outside, so that the book
            // keeps two sides.
            let usual = self.usual_size(scene);
            let size = match rank {
                0 | 1 => usual / 6,
                outer => usual.saturating_mul(Amount::from(outer)),
            };
            // Their quotes die soon after the traders stop.
            let order = self.order(scene, made, side, limit, size, OrderKind::MakerOnly, 30);
            if let Some((caller, Request::Submit(order))) = order {
                self.quotes[index] = Some(order.hash);
                requests.push((caller, Request::Submit(order)));
            }
        }
    }

    /// About the usual size: half of all are within a factor of one and a half.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a size needs no exactness, and the factor is within 1/5 and 4"
    )]
    fn usual_size(&mut self, scene: &Scene<'_>) -> Amount {
        let factor = libm::exp(0.6 * gauss(&mut self.random)).clamp(0.2, 4.0);
        (scene.config.size_base as f64 * factor) as Amount
    }

    /// A complete order, or nothing if funds or storage ids do not allow it.
    fn order(
        &mut self,
        scene: &Scene<'_>,
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
        // Whole exact lots, upwards, so that the amounts state the price without a rest.
        let base = size.checked_next_multiple_of(lot).unwrap_or(size);
        let quote = match side {
            Side::Buy => scene.scale.quote_floor(base, price)?,
            Side::Sell => scene.scale.quote_ceil(base, price)?,
        };
        let (sell_token, sell_amount, buy_token, buy_amount, fill_by) = match side {
            Side::Buy => (scene.quote, quote, scene.base, base, FillBy::Buy),
            Side::Sell => (scene.base, base, scene.quote, quote, FillBy::Sell),
        };
        if scene
            .venue
            .account(self.account)?
            .balance(sell_token)
            .free()
            < sell_amount
        {
            return None;
        }
        let storage_id = scene
            .venue
            .next_order_storage_id(self.account, sell_token)?;
        *made += 1;
        let hash = self.synthetic_hash(scene.now, *made);
        Some((
            Caller::Internal {
                account: self.account,
            },
            Request::Submit(Box::new(NewOrder {
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
                pool: None,
                client_id: None,
            })),
        ))
    }

    /// Unique over restarts too: account, time, count, chance.
    fn synthetic_hash(&mut self, now: VenueTime, made: u64) -> Hash {
        let mut hash = [0xff; 32];
        hash[4..8].copy_from_slice(&self.account.0.to_be_bytes());
        hash[8..16].copy_from_slice(&now.0.to_be_bytes());
        hash[16..24].copy_from_slice(&made.to_be_bytes());
        hash[24..].copy_from_slice(&self.random.next_u64().to_be_bytes());
        Hash(hash)
    }
}
