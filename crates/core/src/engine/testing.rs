//! An engine's state for tests of its parts.

use crate::books::Books;
use crate::config::{EngineConfig, MarketConfig};
use crate::event::{Restrictions, Start};
use crate::market::{MarketId, MarketSpec};
use crate::order::{ClientOrderId, Hash, StrategyId};
use crate::sorted_map::SortedMap;
use crate::time::{Time, VenueTime};
use crate::token::TokenId;
use crate::token::tests::token;
use crate::venue::VenueRules;

use super::state::State;

/// `poll.balances_age_max_ms`.
pub(crate) const AGE_MAX_MS: u64 = 5_000;
/// Base units of the first token in the ledger.
pub(crate) const HELD: i128 = 77;

/// An engine after its recovery, with one market.
pub(crate) fn state(now: Time) -> State {
    let market = MarketSpec::new(MarketId(0), "T0-T1", token(0), token(1), 2, true);
    let mut config = EngineConfig::unset();
    config.poll.balances_age_max_ms = AGE_MAX_MS;
    config.markets = vec![MarketConfig::unset()];
    let books = Books {
        ledger: Some([(TokenId(0), HELD)].into()),
        ..Books::default()
    };
    let start = Start {
        config,
        markets: vec![market.expect("a market")],
        pools: Vec::new(),
        strategies: Vec::new(),
        memories: Vec::new(),
        traded: Vec::new(),
        seed: 1,
        instance: 1,
        next_number: 1,
        budget_left: None,
        next_slots: SortedMap::new(),
        open: Vec::new(),
        open_pool_transactions: Vec::new(),
        signed: Vec::new(),
        restrictions: Restrictions::default(),
        books,
        lost: SortedMap::new(),
        venue_time: VenueTime(1),
        maker_fee_bips: 0,
        taker_fee_bips: 0,
        venue: VenueRules::exchange(),
        references: Vec::new(),
    };
    let mut state = State::new(now, &start, &mut Vec::new());
    state.ready = true;
    state
}

/// A name of an order or a transaction.
pub(crate) fn hash(number: u64) -> Hash {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    Hash(hash)
}

/// An order's id.
pub(crate) const fn id(number: u64) -> ClientOrderId {
    ClientOrderId {
        instance: 1,
        strategy: StrategyId(0),
        number,
    }
}
