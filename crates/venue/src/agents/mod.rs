//! Simulated traders: deterministic from a seed, pure, and using the same requests as other clients.
//!
//! They read the venue's state and return requests; nothing here changes the venue. Their orders have synthetic hashes
//! whose first bytes no field element can have, so that they never collide with genuine ones.

mod config;
pub(crate) mod fair_price;
pub(crate) mod liquidity_provider;
pub(crate) mod market_view;
mod momentum;
pub(crate) mod pool_funder;
pub(crate) mod pool_traders;
mod timeline;
mod traded_market;
mod trader;

use cambist_core::{Amount, MarketId, Price, Side, VenueTime};
use serde::{Deserialize, Serialize};

pub use self::config::{AgentsConfig, PoolSeat};
pub use self::timeline::{MarketEvent, TimedEvent, redeem};
pub use self::traded_market::TradedMarket;
use self::trader::{Kind, Trader};
use crate::account::{Account, AccountId, Address, PublicKey};
use crate::agents::fair_price::FairPrice;
pub use crate::agents::fair_price::{Regime, Regimes};
use crate::agents::market_view::{MarketView, to_ticks};
pub use crate::agents::pool_funder::found;
use crate::operator::Operator;
use crate::random::Random;
use crate::request::{Caller, Request};
use crate::venue::Venue;

/// Most requests of one step; further traders act in the next.
pub const REQUESTS_MAX: usize = 24;

/// Initial funds of a trader on each side, in standard orders.
const FUNDS: Amount = 20_000;

/// The simulated traders of one market and its fair price.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agents {
    config: AgentsConfig,
    fair: FairPrice,
    traders: Vec<Trader>,
    /// Number of orders so far, which is part of every hash.
    made: u64,
    /// Times of the first and the last step.
    begun: Option<VenueTime>,
    last: Option<VenueTime>,
    /// Index of the next event of the timeline.
    moment: usize,
    /// Percentage of the standard size that liquidity providers quote.
    liquidity_percent: u32,
}

impl Agents {
    /// Creates the traders, one for each account; surplus traders are left out.
    pub fn new(config: AgentsConfig, accounts: &[AccountId]) -> Self {
        let mut random = Random::new(config.seed);
        let fair = FairPrice::new(&config, random.fork());
        // Liquidity providers first: takers then find a book.
        let kinds = (0..config.passive_traders)
            .map(|rank| Kind::Passive { rank })
            .chain((0..config.informed_traders).map(|_| Kind::Informed))
            .chain((0..config.noise_traders).map(|_| Kind::Noise))
            .chain((0..config.momentum_traders).map(|_| Kind::Momentum))
            .chain((0..config.arbitrageurs).map(|_| Kind::Arbitrage))
            .chain((0..config.swappers).map(|_| Kind::Swapper));
        let traders = accounts
            .iter()
            .zip(kinds)
            .map(|(account, kind)| Trader::new(*account, kind, random.fork()))
            .collect();
        Self {
            config,
            fair,
            traders,
            made: 0,
            begun: None,
            last: None,
            moment: 0,
            liquidity_percent: 100,
        }
    }

    /// The operator requests that create and fund the traders' accounts; existing accounts keep their funds.
    pub fn setup(config: &AgentsConfig, accounts: &[AccountId], venue: &Venue) -> Vec<Request> {
        let (Some(market), Some(scale)) = (venue.market(config.market), venue.scale(config.market))
        else {
            return Vec::new();
        };
        let base = config.size_base.saturating_mul(FUNDS);
        let quote = scale.quote_ceil(base, config.start_price).unwrap_or(0);
        let mut operator_requests = Vec::new();
        for account in accounts.iter().take(config.accounts()) {
            if venue.account(*account).is_some() {
                continue;
            }
            operator_requests.push(Operator::CreateAccount {
                id: Some(*account),
                owner: owner(*account),
                public_key: PublicKey::default(),
                api_key: None,
                internal: true,
            });
            for (token, amount) in [(market.base, base), (market.quote, quote)] {
                operator_requests.push(Operator::Deposit {
                    account: *account,
                    token,
                    amount,
                });
            }
        }
        operator_requests
            .into_iter()
            .map(Request::Operator)
            .collect()
    }

    /// Advances the time and returns the traders' requests.
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds between steps are small"
    )]
    pub fn step(&mut self, now: VenueTime, venue: &Venue) -> Vec<(Caller, Request)> {
        let last = *self.last.get_or_insert(now);
        self.fair.advance(now.ms_since(last) as f64 / 1_000.0);
        self.last = Some(last.max(now));
        let mut requests = self.apply_due_event(now, venue);
        let Some(mut scene) = MarketView::new(&self.config, self.fair.price, now, venue) else {
            return requests;
        };
        scene.liquidity_percent = self.liquidity_percent;
        // One arbitrageur acts before the others, so that both legs meet the state from which they were computed.
        let is_first = |trader: &Trader| trader.kind == Kind::Arbitrage;
        let quiet = requests.len();
        for trader in self.traders.iter_mut().filter(|trader| is_first(trader)) {
            if trader.next <= now && requests.len() == quiet {
                trader.act(&scene, &mut self.made, &mut requests);
            }
        }
        for trader in self.traders.iter_mut().filter(|trader| !is_first(trader)) {
            if requests.len() + trader::REQUESTS_MAX > REQUESTS_MAX {
                break;
            }
            if trader.next <= now {
                trader.act(&scene, &mut self.made, &mut requests);
            }
        }
        requests
    }

    /// Applies the next event of the timeline if it is due; one per step, so that the work of a step is bounded.
    fn apply_due_event(&mut self, now: VenueTime, venue: &Venue) -> Vec<(Caller, Request)> {
        let begun = *self.begun.get_or_insert(now);
        let next = self.config.timeline.get(self.moment).copied();
        let Some(moment) = next.filter(|moment| begun.plus_ms(moment.at_ms) <= now) else {
            return Vec::new();
        };
        self.moment += 1;
        let mut requests = timeline::operator_requests(moment.what);
        self.apply_event(now, moment.what);
        if let MarketEvent::Drain { percent } = moment.what {
            self.made += 1;
            let founder = self.config.pool.map_or(AccountId(0), |seat| seat.founder);
            let mut random = Random::new(self.made);
            let hash = trader::synthetic_hash(founder, now, self.made, &mut random);
            if let Some(scene) = MarketView::new(&self.config, self.fair.price, now, venue) {
                requests.extend(timeline::drain(&scene, percent, hash));
            }
        }
        requests
    }

    /// Applies an event that is not in the timeline to the traders. Requests to the exchange are left to the caller.
    pub fn apply_event(&mut self, now: VenueTime, what: MarketEvent) {
        match what {
            MarketEvent::Regime { regime, up } => self.fair.enter(regime, up),
            MarketEvent::Jump { bps } => self.fair.jump(f64::from(bps)),
            MarketEvent::Liquidity { percent } => {
                self.liquidity_percent = percent;
                // Providers that leave do so immediately.
                for trader in &mut self.traders {
                    if matches!(trader.kind, Kind::Passive { .. }) {
                        trader.next = trader.next.min(now);
                    }
                }
            }
            MarketEvent::Drain { .. } | MarketEvent::Mode(_) | MarketEvent::Refuse(_) => {}
        }
    }

    /// The fair price of the market jumps, and liquidity providers react immediately.
    pub fn shock(&mut self, market: MarketId, now: VenueTime, bps: i32) {
        if self.config.market != market {
            return;
        }
        self.fair.jump(f64::from(bps));
        for trader in &mut self.traders {
            if matches!(trader.kind, Kind::Passive { .. }) {
                trader.next = trader.next.min(now);
            }
        }
    }

    /// Time of the next trader's action or the next event.
    pub fn next_wakeup(&self) -> Option<VenueTime> {
        let moment = self.begun.and_then(|begun| {
            let moment = self.config.timeline.get(self.moment)?;
            Some(begun.plus_ms(moment.at_ms))
        });
        let traders = self.traders.iter().map(|trader| trader.next);
        traders.chain(moment).min()
    }

    /// The fair price in ticks, rounded, for tests and analyses.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the price is positive and within a factor of a 64-bit start"
    )]
    pub fn fair_price(&self) -> Price {
        Price(self.fair.price as u64)
    }
}

/// An owner address that no key can have: its first bytes are those of the synthetic hashes.
fn owner(account: AccountId) -> Address {
    let mut address = [0xff; 20];
    address[16..].copy_from_slice(&account.0.to_be_bytes());
    address
}

/// Share of base in the account's total value at a price, from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "a leaning needs no exactness")]
fn base_share(account: &Account, scene: &MarketView<'_>) -> f64 {
    let value = scene
        .scale
        .quote_floor(
            account.balance(scene.base).total,
            to_ticks(scene.fair, Side::Buy),
        )
        .unwrap_or(0) as f64;
    let quote = account.balance(scene.quote).total as f64;
    if value + quote > 0.0 {
        value / (value + quote)
    } else {
        0.5
    }
}

#[cfg(test)]
mod behaviour_tests;
#[cfg(test)]
mod tests;
