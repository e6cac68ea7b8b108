//! How much trading is allowed, of what, and until when.
//!
//! The ladder: active → a part is paused (a market, a side, a strategy) → cancel-only → halted. A pause
//! that a control engages heals by itself when its time has passed; a pause or a level that a person
//! engages, and every level, is lowered only by a person with a reason. What forbids holds from the
//! moment it is wanted; what allows holds only once it is durable.

use serde::{Deserialize, Serialize};

use crate::market::{MarketId, Side};
use crate::order::StrategyId;
use crate::time::VenueTime;
use crate::token::Amount;

/// How much trading is allowed. Ordered: a higher level allows less.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum TradingState {
    /// Everything that is not paused.
    #[default]
    Active,
    /// No new orders; own orders are cancelled.
    CancelOnly,
    /// As cancel-only, and the program ends; survives restarts until a person lowers it.
    Halted,
}

impl TradingState {
    /// Every level, lowest first.
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

/// A part of all quoting: what is not named is meant as a whole.
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

    /// Whether an order of this market, side and strategy is meant.
    pub fn covers(&self, market: MarketId, side: Side, strategy: StrategyId) -> bool {
        self.market.is_none_or(|wanted| wanted == market)
            && self.side.is_none_or(|wanted| wanted == side)
            && self.strategy.is_none_or(|wanted| wanted == strategy)
    }

    /// Whether everything `other` means is meant here too.
    pub fn contains(&self, other: &Self) -> bool {
        let within = |all: bool, equal: bool| all || equal;
        within(self.market.is_none(), self.market == other.market)
            && within(self.side.is_none(), self.side == other.side)
            && within(self.strategy.is_none(), self.strategy == other.strategy)
    }
}

/// A part that is held back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pause {
    /// What.
    pub filter: Filter,
    /// Since when, by the lower bound of the venue's clock.
    pub since: VenueTime,
    /// Heals when the venue's clock has certainly passed this; `None` until a person lifts it.
    pub until: Option<VenueTime>,
    /// The control that engaged it, or a person's reason.
    pub cause: String,
}

impl Pause {
    /// Whether it still holds when the venue's clock shows at least `now`.
    pub fn holds(&self, now: VenueTime) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

/// A price as it was known: so many quote units for so many base units.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Rate {
    /// Quote units.
    pub quote: Amount,
    /// Base units.
    pub base: Amount,
}

/// What a market had lost at most, in quote units, less than nothing for a gain, as stores before version
/// 5 kept it: the first run that finds it goes on counting from here.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct LossBaseline {
    /// A day of venue time, in days since its epoch.
    pub day: u64,
    /// Lost on that day.
    pub today: i128,
    /// Lost since the first start, or since a person lowered the level.
    pub total: i128,
    /// Below the peak.
    pub drawdown: i128,
    /// Lost within the hour before ...
    pub hour: i128,
    /// ... this time.
    pub hour_at: VenueTime,
    /// The mid at which all that is lost: what another one makes of it is a matter of what is held.
    /// Absent as the first versions wrote it: what the price did since then is nobody's loss.
    pub mid: Option<Rate>,
}

/// Everything that is durable about how much trading is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Restrictions {
    /// Of everything.
    pub state: TradingState,
    /// Parts held back, oldest first. Healed ones are kept for a day: their number is limited too.
    pub pauses: Vec<Pause>,
}

impl Restrictions {
    /// Most pauses kept; one that does not fit any more raises the level instead.
    pub const PAUSES_MAX: usize = 64;

    /// Only a level.
    pub const fn of(level: TradingState) -> Self {
        Self {
            state: level,
            pauses: Vec::new(),
        }
    }

    /// Whether something holds an order back.
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

    /// Pauses that still hold.
    pub fn holding(&self, now: VenueTime) -> impl Iterator<Item = &Pause> {
        self.pauses.iter().filter(move |pause| pause.holds(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_means_what_it_names_and_everything_else_as_a_whole() {
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
    fn a_pause_heals_when_its_time_has_passed_and_one_without_time_never() {
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
