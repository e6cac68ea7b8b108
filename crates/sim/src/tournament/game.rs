//! One game: a contestant, a market and a seed.

use cambist_core::Time;

use crate::config::{WorldConfig, WorldError};
use crate::tournament::constant_spread::ConstantSpread;
use crate::tournament::maker_world::MakerWorld;
use crate::tournament::measures::{self, Flows, Played, SAMPLE_MS};
use crate::world::World;

/// Who plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contestant {
    /// The engine with the strategies of the configuration.
    Engine,
    /// The maker to compare with; the engine's part of the configuration is not used.
    ConstantSpread(ConstantSpread),
}

/// A game. The seed, the market, the network and the funds are those of the configuration, which has one market.
#[derive(Clone, Debug)]
pub struct Game {
    /// Where it is played.
    pub world: WorldConfig,
    /// Who plays.
    pub contestant: Contestant,
}

/// Why a game has no result.
#[derive(Debug, thiserror::Error)]
pub enum GameError {
    /// The configuration is invalid.
    #[error(transparent)]
    World(#[from] WorldError),
    /// There is not exactly one market with simulated traders.
    #[error("a game has one market, with simulated traders")]
    Market,
    /// A value exceeds what the exchange computes with.
    #[error("the account's value exceeds the exchange's range")]
    Value,
    /// The trades do not lead from the first balances to the last.
    #[error("the trades of the game do not explain the balances at its end")]
    Books,
}

/// Plays a game to its end.
///
/// # Errors
///
/// The configuration is invalid, a value is out of range, or the books of the game do not add up.
pub fn play(game: &Game) -> Result<Played, GameError> {
    if game.world.markets.len() != 1 {
        return Err(GameError::Market);
    }
    let mut player = match &game.contestant {
        Contestant::Engine => Player::Engine(Box::new(World::new(game.world.clone())?)),
        Contestant::ConstantSpread(rules) => {
            Player::Maker(Box::new(MakerWorld::new(&game.world, rules.clone())?))
        }
    };
    let spec = player.spec().clone();
    let first = player.exchange().held(std::slice::from_ref(&spec));
    let price = player.exchange().fair_price().ok_or(GameError::Market)?;
    let equity_first = measures::equity(player.exchange(), &spec, &first, price);
    let end = Time::from_ms(game.world.duration_ms);
    let mut at = Time::from_ms(game.world.start_ms);
    let (mut samples, mut samples_both) = (0, 0);
    while at < end {
        at = at.plus_ms(SAMPLE_MS).min(end);
        player.run_until(at);
        samples += 1;
        samples_both += u64::from(player.rests_on_both());
    }
    let last = player.exchange().held(std::slice::from_ref(&spec));
    let flows = player.flows();
    // Joins and exits move balances as well; their books are checked by the world.
    if game.world.engine.pools.is_empty() && !flows.lead(&spec, &first, &last) {
        return Err(GameError::Books);
    }
    let price = player.exchange().fair_price().ok_or(GameError::Market)?;
    let value = |held| measures::equity(player.exchange(), &spec, held, price);
    Ok(Played {
        equity_first: equity_first.ok_or(GameError::Value)?,
        equity_last: value(&last).ok_or(GameError::Value)?,
        unchanged_last: value(&first).ok_or(GameError::Value)?,
        samples,
        samples_both,
        volume: flows.volume,
        ..player.counted()
    })
}

/// Who plays, before the exchange.
enum Player {
    Engine(Box<World>),
    Maker(Box<MakerWorld>),
}

impl Player {
    fn spec(&self) -> &cambist_core::MarketSpec {
        match self {
            Self::Engine(world) => &world.specs()[0],
            Self::Maker(world) => world.spec(),
        }
    }

    fn exchange(&self) -> &crate::Exchange {
        match self {
            Self::Engine(world) => world.exchange(),
            Self::Maker(world) => world.exchange(),
        }
    }

    fn run_until(&mut self, at: Time) {
        match self {
            Self::Engine(world) => world.run_until(at),
            Self::Maker(world) => world.run_until(at),
        }
    }

    fn rests_on_both(&mut self) -> bool {
        match self {
            Self::Engine(world) => world.rests_on_both(),
            Self::Maker(world) => world.rests_on_both(),
        }
    }

    fn flows(&self) -> Flows {
        match self {
            Self::Engine(world) => world.flows(),
            Self::Maker(world) => world.flows(),
        }
    }

    /// What was counted.
    fn counted(&self) -> Played {
        match self {
            Self::Engine(world) => {
                let counts = world.counts();
                Played {
                    requests: counts.requests,
                    orders: counts.orders + counts.resent,
                    fills: counts.traded,
                    orphans: world.orphans(),
                    violations: world.violations().len() as u64 + world.violations_dropped(),
                    ..Played::default()
                }
            }
            Self::Maker(world) => world.counted(),
        }
    }
}
