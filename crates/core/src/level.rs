//! Trading states and pauses: how much trading is allowed, of what, and until when.
//!
//! The states in rising order: active → a part is paused (a market, a side, a strategy) → cancel-only → halted. A pause
//! that a control engages ends by itself; a pause by an operator, and every trading state, is lowered only by an
//! operator with a reason. A restriction applies from the moment it is decided; lifting one applies once it is durable.

use serde::{Deserialize, Serialize};

use crate::market::{MarketId, Side};
use crate::order::StrategyId;
use crate::time::VenueTime;
use crate::token::Amount;

/// How much trading is allowed. Ordered: a higher state allows less.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum TradingState {
    /// Everything that is not paused.
    #[default]
    Active,
    /// No new orders; own orders are cancelled.
    CancelOnly,
    /// Like cancel-only, and the program ends; persists over restarts until an operator lowers it.
    Halted,
}

impl TradingState {
    /// All trading states, lowest first.
    pub const ALL: [Self; 3] = [Self::Active, Self::CancelOnly, Self::Halted];

    /// The label used in metrics, logs and the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "trading",
            Self::CancelOnly => "cancel_only",
            Self::Halted => "halted",
        }
    }
}

/// A part of all quoting; `None` means all values.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Filter {
    /// Only this market.
    pub market: Option<MarketId>,
    /// Only this side.
    pub side: Option<Side>,
    /// Only this strategy.
    pub strategy: Option<StrategyId>,
}

impl Filter {
    /// Everything.
    pub const ALL: Self = Self {
        market: None,
        side: None,
        strategy: None,
    };

    /// A whole market.
    pub const fn market(market: MarketId) -> Self {
        Self {
            market: Some(market),
            ..Self::ALL
        }
    }

    /// Whether it covers an order of this market, side and strategy.
    pub fn covers(&self, market: MarketId, side: Side, strategy: StrategyId) -> bool {
        self.market.is_none_or(|wanted| wanted == market)
            && self.side.is_none_or(|wanted| wanted == side)
            && self.strategy.is_none_or(|wanted| wanted == strategy)
    }

    /// Whether it covers everything that `other` covers.
    pub fn contains(&self, other: &Self) -> bool {
        let within = |all: bool, equal: bool| all || equal;
        within(self.market.is_none(), self.market == other.market)
            && within(self.side.is_none(), self.side == other.side)
            && within(self.strategy.is_none(), self.strategy == other.strategy)
    }
}

/// A paused part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pause {
    /// The part.
    pub filter: Filter,
    /// Start, by the lower bound of the venue's clock.
    pub since: VenueTime,
    /// Ends when the venue's clock has certainly passed this; `None` until an operator lifts it.
    pub until: Option<VenueTime>,
    /// The control that engaged it, or an operator's reason.
    pub cause: String,
}

impl Pause {
    /// Whether it still applies when the venue's clock is at least `now`.
    pub fn holds(&self, now: VenueTime) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// A price as a ratio of quote units to base units.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Rate {
    /// Quote units.
    pub quote: Amount,
    /// Base units.
    pub base: Amount,
}

/// Largest losses of a market in quote units, negative for a gain, as stores before version 5 kept them: the first run
/// that finds them continues from them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct LossBaseline {
    /// A day of venue time, in days since its epoch.
    pub day: u64,
    /// Loss of that day.
    pub today: i128,
    /// Loss since the first start, or since an operator lowered the trading state.
    pub total: i128,
    /// Distance below the peak.
    pub drawdown: i128,
    /// Loss within the hour before ...
    pub hour: i128,
    /// ... this time.
    pub hour_at: VenueTime,
    /// The mid of these losses: the effect of another mid depends on the holdings. Absent in the first versions: price
    /// changes since then are no loss.
    pub mid: Option<Rate>,
}

/// Everything durable about how much trading is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Restrictions {
    /// Trading state of everything.
    pub state: TradingState,
    /// Pauses, oldest first. Ended ones are kept for a day, because their number is limited too.
    pub pauses: Vec<Pause>,
}

impl Restrictions {
    /// Most pauses kept; when there is no room for another one, the trading state is raised instead.
    pub const PAUSES_MAX: usize = 64;

    /// Only a trading state.
    pub const fn of(level: TradingState) -> Self {
        Self {
            state: level,
            pauses: Vec::new(),
        }
    }

    /// Whether the state or a pause applies to an order.
    pub fn hold_back(
        &self,
        now: VenueTime,
        market: MarketId,
        side: Side,
        strategy: StrategyId,
    ) -> bool {
        self.pauses
            .iter()
            .any(|pause| pause.holds(now) && pause.filter.covers(market, side, strategy))
    }

    /// Pauses that still apply.
    pub fn holding(&self, now: VenueTime) -> impl Iterator<Item = &Pause> {
        self.pauses.iter().filter(move |pause| pause.holds(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_covers_all_values_of_what_it_does_not_name() {
        let (market, strategy) = (MarketId(1), StrategyId(2));
        let bids = Filter {
            side: Some(Side::Buy),
            ..Filter::market(market)
        };
        assert!(bids.covers(market, Side::Buy, strategy));
        assert!(!bids.covers(market, Side::Sell, strategy));
        assert!(!bids.covers(MarketId(0), Side::Buy, strategy));
        assert!(Filter::ALL.contains(&bids) && Filter::market(market).contains(&bids));
        assert!(!bids.contains(&Filter::market(market)));
    }

    #[test]
    fn a_pause_ends_at_its_time_and_one_without_an_end_never() {
        let pause = |until| Pause {
            filter: Filter::ALL,
            since: VenueTime(0),
            until,
            cause: String::new(),
        };
        assert!(pause(Some(VenueTime(10))).holds(VenueTime(9)));
        assert!(!pause(Some(VenueTime(10))).holds(VenueTime(10)));
        assert!(pause(None).holds(VenueTime(u64::MAX)));
    }
}
