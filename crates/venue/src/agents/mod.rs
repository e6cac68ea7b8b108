//! Background traders: seeded, pure, and customers of the same entry as everybody else.
//!
//! They look at the venue as data and answer with requests; nothing here changes the venue. Their
//! orders carry synthetic hashes whose first bytes no field element can have, so that they never meet
//! a genuine one.

mod config;
mod fair;
mod scene;
mod trader;

use cambist_core::{Amount, Price, Side, VenueTime};
use serde::{Deserialize, Serialize};

pub use self::config::AgentsConfig;
use self::fair::Fair;
use self::scene::{Scene, to_ticks};
use self::trader::{Kind, Trader};
use crate::account::{Account, AccountId, Address, PublicKey};
use crate::operator::Operator;
use crate::random::Random;
use crate::request::{Caller, Request};
use crate::venue::Venue;

/// Most requests of one step; traders that come too late act in the next.
pub const REQUESTS_MAX: usize = 24;

/// Funds of a trader on either side, in usual orders.
const FUNDS: Amount = 20_000;

/// A population and its fair price.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agents {
    config: AgentsConfig,
    fair: Fair,
    traders: Vec<Trader>,
    /// Orders made so far, part of every hash.
    made: u64,
    last: Option<VenueTime>,
}

impl Agents {
    /// A population that trades for `accounts`, one each; surplus traders stay away.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a model's price needs no 64 bits"
    )]
    pub fn new(config: AgentsConfig, accounts: &[AccountId]) -> Self {
        let mut random = Random::new(config.seed);
        let fair = Fair::new(
            config.start_price.0 as f64,
            config.volatility_bps_per_sqrt_s,
            config.jumps_per_hour,
            config.jump_bps,
            random.fork(),
        );
        // Passive ones first: they act first, and takers find a book.
        let kinds = (0..config.passive_traders)
            .map(|rank| Kind::Passive { rank })
            .chain((0..config.informed_traders).map(|_| Kind::Informed))
            .chain((0..config.noise_traders).map(|_| Kind::Noise));
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
            last: None,
        }
    }

    /// What the operator must ask so that the traders exist and have funds; accounts that exist keep
    /// what they have.
    pub fn setup(config: &AgentsConfig, accounts: &[AccountId], venue: &Venue) -> Vec<Request> {
        let (Some(market), Some(scale)) = (venue.market(config.market), venue.scale(config.market))
        else {
            return Vec::new();
        };
        let base = config.size_base.saturating_mul(FUNDS);
        let quote = scale.quote_ceil(base, config.start_price).unwrap_or(0);
        let mut wishes = Vec::new();
        for account in accounts.iter().take(config.accounts()) {
            if venue.account(*account).is_some() {
                continue;
            }
            wishes.push(Operator::CreateAccount {
                id: Some(*account),
                owner: owner(*account),
                public_key: PublicKey::default(),
                api_key: None,
                internal: true,
            });
            for (token, amount) in [(market.base, base), (market.quote, quote)] {
                wishes.push(Operator::Deposit {
                    account: *account,
                    token,
                    amount,
                });
            }
        }
        wishes.into_iter().map(Request::Operator).collect()
    }

    /// Lets time pass and says what the traders do now.
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds between steps are small"
    )]
    pub fn step(&mut self, now: VenueTime, venue: &Venue) -> Vec<(Caller, Request)> {
        let last = *self.last.get_or_insert(now);
        self.fair.advance(now.ms_since(last) as f64 / 1_000.0);
        self.last = Some(last.max(now));
        let mut requests = Vec::new();
        let Some(scene) = Scene::new(&self.config, self.fair.price, now, venue) else {
            return requests;
        };
        for trader in &mut self.traders {
            if requests.len() + trader::REQUESTS_MAX > REQUESTS_MAX {
                break;
            }
            if trader.next <= now {
                trader.act(&scene, &mut self.made, &mut requests);
            }
        }
        requests
    }

    /// When the next trader wants to act.
    pub fn next_wakeup(&self) -> Option<VenueTime> {
        self.traders.iter().map(|trader| trader.next).min()
    }

    /// The fair price, rounded to ticks: for those who study the traders.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the price is positive and within a factor of a 64-bit start"
    )]
    pub fn fair_price(&self) -> Price {
        Price(self.fair.price as u64)
    }
}

/// An owner address that no key can have: first bytes as in the hashes.
fn owner(account: AccountId) -> Address {
    let mut address = [0xff; 20];
    address[16..].copy_from_slice(&account.0.to_be_bytes());
    address
}

/// Share of the base holding in everything held, from 0 to 1, at a price.
#[expect(clippy::cast_precision_loss, reason = "a leaning needs no exactness")]
fn base_share(account: &Account, scene: &Scene<'_>) -> f64 {
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
mod tests;
