//! Timed events of a market and the operator requests that they need.
//!
//! Times are milliseconds since the traders' first step. Files and shares of a duration are handled elsewhere.

use cambist_core::{Hash, Reason, VenueTime};
use serde::{Deserialize, Serialize};

use super::trader;
use crate::account::{AccountId, Address};
use crate::agents::fair_price::Regime;
use crate::agents::market_view::MarketView;
use crate::agents::pool_funder;
use crate::authorisation::Proof;
use crate::fault::Fault;
use crate::mode::ExchangeMode;
use crate::offchain::{NewExit, TokenAmount};
use crate::operator::Operator;
use crate::request::{Caller, Request, RequestKind};
use crate::venue::Venue;

/// A timed event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "Moment")]
pub struct TimedEvent {
    /// Milliseconds since the first step of the traders.
    pub at_ms: u64,
    /// The event.
    pub what: MarketEvent,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "What")]
pub enum MarketEvent {
    /// Changes the regime of the fair price; without a direction, the direction of a trend is drawn.
    Regime {
        /// The new regime.
        regime: Regime,
        /// Direction of a trend; true is up.
        up: Option<bool>,
    },
    /// The fair price jumps.
    Jump {
        /// Size of the jump.
        bps: i32,
    },
    /// Liquidity providers quote this percentage of their standard size; at 0 they leave.
    Liquidity {
        /// Percentage.
        percent: u32,
    },
    /// The founder of the pool redeems this percentage of its shares.
    Drain {
        /// Percentage.
        percent: u32,
    },
    /// The exchange changes its mode.
    Mode(ExchangeMode),
    /// The exchange refuses every client request with an internal failure, or stops doing so (which also removes other
    /// injected faults).
    Refuse(bool),
}

/// All kinds of client requests.
const ASKED: [RequestKind; 14] = [
    RequestKind::Submit,
    RequestKind::Cancel,
    RequestKind::Order,
    RequestKind::Orders,
    RequestKind::Depth,
    RequestKind::Balances,
    RequestKind::Account,
    RequestKind::Markets,
    RequestKind::Tokens,
    RequestKind::Transfer,
    RequestKind::Join,
    RequestKind::Exit,
    RequestKind::PoolBalance,
    RequestKind::PoolTransactions,
];

/// The operator requests of an event; empty if only the traders change.
pub(super) fn operator_requests(what: MarketEvent) -> Vec<(Caller, Request)> {
    let operator_requests = match what {
        MarketEvent::Mode(mode) => vec![Operator::SetMode(mode)],
        MarketEvent::Refuse(true) => ASKED
            .map(|kind| {
                Operator::InjectFault(Fault::Answer {
                    kind,
                    reason: Reason::UnknownError,
                    count: u32::MAX,
                })
            })
            .into(),
        MarketEvent::Refuse(false) => vec![Operator::InjectFault(Fault::Clear)],
        MarketEvent::Regime { .. }
        | MarketEvent::Jump { .. }
        | MarketEvent::Liquidity { .. }
        | MarketEvent::Drain { .. } => Vec::new(),
    };
    operator_requests
        .into_iter()
        .map(|input| (Caller::Operator, Request::Operator(input)))
        .collect()
}

/// The founder's exit from the pool, if there is a pool and the founder has shares.
pub(super) fn drain(scene: &MarketView<'_>, percent: u32, hash: Hash) -> Option<(Caller, Request)> {
    let seat = scene.config.pool?;
    redeem(
        scene.venue,
        scene.now,
        (seat.founder, &seat.pool),
        percent,
        hash,
    )
}

/// The exit of a pool's founder with a percentage of its shares; nothing if the account is not the founder of the pool,
/// or has no shares.
pub fn redeem(
    venue: &Venue,
    now: VenueTime,
    (founder, address): (AccountId, &Address),
    percent: u32,
    hash: Hash,
) -> Option<(Caller, Request)> {
    let pool = venue.pool(address)?;
    let account = venue.account(founder)?;
    let owner = pool_funder::owner(founder);
    if account.owner != owner {
        return None;
    }
    let held = account.balance(pool.lp).free();
    let burned = held / 100 * u128::from(percent.min(100));
    if burned == 0 {
        return None;
    }
    let exit = NewExit {
        hash,
        owner,
        pool: *address,
        minimums: pool.pooled.map(|token| TokenAmount::new(token, 0)).into(),
        burned,
        storage_id: u64::from(venue.next_storage_id_of(founder, pool.lp, 1)?),
        max_fee: pool.exit_fee,
        valid_until_s: now.as_s() + trader::LIFE_S,
        proof: Proof {
            eddsa: Some(crate::account::KeyEpoch(0)),
            ..Proof::default()
        },
    };
    let caller = Caller::Internal { account: founder };
    Some((caller, Request::Exit(Box::new(exit))))
}
