//! Price limits, the same for every quoting strategy: where it stops bidding or offering, and its highest bid and
//! lowest ask.

use cambist_core::control::Control;
use cambist_core::strategy::View;
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{MarketSpec, Price, Side, Time};
use serde::{Deserialize, Serialize};

use crate::parameter::{Kind, Looser, ParamError, Parameter, Params};
use crate::scale::{ticks_ceil, ticks_floor};
use crate::sizing::{BPS, further};

const PRICE: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000",
};

/// Parameters that a strategy with price limits declares besides its own.
pub const PARAMETERS: [Parameter; 7] = [
    Parameter {
        name: "price_floor",
        unit: "quote per base",
        kind: PRICE,
        default: Some("0"),
        looser: Looser::Lower,
        meaning: "While the mid is below, there are no asks. 0 is off. Rounded up to a \
                  tick.",
    },
    Parameter {
        name: "price_ceiling",
        unit: "quote per base",
        kind: PRICE,
        default: Some("0"),
        looser: Looser::HigherOrZero,
        meaning: "While the mid is above, there are no bids. 0 is off. Rounded down to a \
                  tick.",
    },
    Parameter {
        name: "buy_price_max",
        unit: "quote per base",
        kind: PRICE,
        default: Some("0"),
        looser: Looser::HigherOrZero,
        meaning: "Highest price of a bid, wherever the mid is; bids above it are placed at it. 0 is off. \
                  Rounded down to a tick.",
    },
    Parameter {
        name: "sell_price_min",
        unit: "quote per base",
        kind: PRICE,
        default: Some("0"),
        looser: Looser::Lower,
        meaning: "Lowest price of an ask, wherever the mid is; asks below it are placed at it. 0 is off. \
                  Rounded up to a tick.",
    },
    Parameter {
        name: "depeg_bps",
        unit: "bps of the peg",
        kind: Kind::Bps { min: 0, max: BPS },
        default: Some("0"),
        looser: Looser::HigherOrZero,
        meaning: "While the mid is further than this from the middle of buy_price_max and \
                  sell_price_min (the peg), nothing is quoted and resting orders are cancelled. 0 is off.",
    },
    Parameter {
        name: "moving_band_bps",
        unit: "bps of the mid",
        kind: Kind::Bps { min: 0, max: BPS },
        default: Some("0"),
        looser: Looser::HigherOrZero,
        meaning: "While the mid is more than this above the mid at which the band was last set, there \
                  are no bids; while more than this below, no asks. 0 is off.",
    },
    Parameter {
        name: "moving_band_s",
        unit: "s",
        kind: Kind::Integer {
            min: 1,
            max: 2_592_000,
        },
        default: Some("86400"),
        looser: Looser::Lower,
        meaning: "How often the moving band is set to the mid; the first time at a start.",
    },
];

/// The limits and where the moving band is.
#[derive(Clone, Debug)]
pub struct PriceLimits {
    floor: Price,
    ceiling: Option<Price>,
    buy_max: Option<Price>,
    sell_min: Option<Price>,
    /// The peg in half ticks, and how far the mid may be from it.
    depeg: Option<(u64, u32)>,
    /// Width, and milliseconds between two updates.
    moving: Option<(u32, u64)>,
    set: Option<Band>,
}

/// Where and when the moving band was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Band {
    at: Time,
    mid: u64,
}

impl PriceLimits {
    /// Checks conditions on several parameters and converts prices to ticks, towards the stricter side.
    pub fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let on = |name: &str, price: Price| {
            let is_on = !params.decimal(name)?.is_zero();
            Ok(is_on.then_some(price))
        };
        let floor = ticks_ceil(params, "price_floor", market)?;
        let ceiling = on(
            "price_ceiling",
            ticks_floor(params, "price_ceiling", market)?,
        )?;
        if ceiling.is_some_and(|ceiling| ceiling <= floor) {
            return Err(params.conflict("price_ceiling", "must be above price_floor, or 0 for off"));
        }
        let buy_max = on(
            "buy_price_max",
            ticks_floor(params, "buy_price_max", market)?,
        )?;
        let sell_min = on(
            "sell_price_min",
            ticks_ceil(params, "sell_price_min", market)?,
        )?;
        if let (Some(buy), Some(sell)) = (buy_max, sell_min)
            && sell <= buy
        {
            return Err(params.conflict("sell_price_min", "must be above buy_price_max"));
        }
        let depeg_bps = params.whole("depeg_bps")?;
        let depeg = match (depeg_bps, buy_max, sell_min) {
            (0, _, _) => None,
            (_, Some(buy), Some(sell)) => Some((buy.0.saturating_add(sell.0), depeg_bps)),
            (_, _, _) => {
                let why = "needs buy_price_max and sell_price_min: the peg is their middle";
                return Err(params.conflict("depeg_bps", why));
            }
        };
        let width_bps = params.whole("moving_band_bps")?;
        let every_ms = u64::from(params.whole("moving_band_s")?) * 1_000;
        Ok(Self {
            floor,
            ceiling,
            buy_max,
            sell_min,
            depeg,
            moving: (width_bps > 0).then_some((width_bps, every_ms)),
            set: None,
        })
    }

    /// Sets the moving band when it is due, or when the time has another origin.
    pub fn observe(&mut self, view: &View<'_>) {
        let Some((_, every_ms)) = self.moving else {
            return;
        };
        let due = self
            .set
            .is_none_or(|band| view.now < band.at || view.now.ms_since(band.at) >= every_ms);
        if due {
            self.set = Some(Band {
                at: view.now,
                mid: view.mid,
            });
        }
    }

    /// Why a side is not quoted at this mid, if it is not.
    pub fn blocked(&self, mid: u64, side: Side) -> Option<Withheld> {
        let stopped = |key, limit| {
            let compared = Compared::new(Unit::HalfTicks, key, mid, limit);
            Some(Withheld::compared(Control::StrategyPrice, compared))
        };
        if let Some((peg, bps)) = self.depeg {
            let (low, high) = around(peg, bps);
            if !(low..=high).contains(&mid) {
                let limit = if mid < low { low } else { high };
                return stopped("market.strategy.params.depeg_bps", limit);
            }
        }
        if let (Some((bps, _)), Some(band)) = (self.moving, self.set) {
            let (low, high) = around(band.mid, bps);
            let key = "market.strategy.params.moving_band_bps";
            match side {
                Side::Buy if mid > high => return stopped(key, high),
                Side::Sell if mid < low => return stopped(key, low),
                Side::Buy | Side::Sell => {}
            }
        }
        match side {
            Side::Buy => {
                let limit = self.ceiling?.0.saturating_mul(2);
                (mid > limit).then(|| stopped("market.strategy.params.price_ceiling", limit))?
            }
            Side::Sell => {
                let limit = self.floor.0.saturating_mul(2);
                (mid < limit).then(|| stopped("market.strategy.params.price_floor", limit))?
            }
        }
    }

    /// The price, limited by the highest bid or lowest ask.
    pub fn limit(&self, side: Side, price: Price) -> Price {
        let hard = match side {
            Side::Buy => self.buy_max,
            Side::Sell => self.sell_min,
        };
        hard.map_or(price, |hard| further(side, price, hard))
    }

    /// Whether an order may rest at a price.
    pub fn allows(&self, side: Side, price: Price) -> bool {
        self.limit(side, price) == price
    }

    /// The limit, where the mid is so far beyond the highest bid or lowest ask that a strategy has no price.
    pub fn beyond(&self, view: &View<'_>, side: Side) -> Option<Withheld> {
        let (key, hard) = match side {
            Side::Buy => ("market.strategy.params.buy_price_max", self.buy_max?),
            Side::Sell => ("market.strategy.params.sell_price_min", self.sell_min?),
        };
        let limit = hard.0.saturating_mul(2);
        let beyond = match side {
            Side::Buy => view.mid > limit,
            Side::Sell => view.mid < limit,
        };
        beyond.then(|| {
            let compared = Compared::new(Unit::HalfTicks, key, view.mid, limit);
            Withheld::compared(Control::StrategyPrice, compared)
        })
    }

    /// Where the moving band is.
    pub fn band(&self) -> Option<Band> {
        self.set
    }

    /// Restores the moving band.
    pub fn set_band(&mut self, band: Option<Band>) {
        self.set = band;
    }

    /// The saved state of a strategy that has no other state.
    pub fn save(&self) -> Vec<u8> {
        let Some(band) = self.set else {
            return Vec::new();
        };
        // Only types of unknown length could fail.
        postcard::to_stdvec(&(MEMORY_VERSION, band)).unwrap_or_default()
    }

    /// Restores what `save` returned; false, and no band, if it cannot be decoded.
    pub fn restore(&mut self, saved: &[u8]) -> bool {
        self.set = None;
        if saved.is_empty() {
            return true;
        }
        if let Ok(((MEMORY_VERSION, band), [])) = postcard::take_from_bytes::<(u8, Band)>(saved) {
            self.set = Some(band);
            return true;
        }
        false
    }
}

const MEMORY_VERSION: u8 = 1;

/// Both ends of a range around a mid, in its unit, rounded inwards.
fn around(mid: u64, bps: u32) -> (u64, u64) {
    let (mid, whole) = (u128::from(mid), u128::from(BPS));
    let low = (mid * u128::from(BPS.saturating_sub(bps))).div_ceil(whole);
    let high = mid * u128::from(BPS + bps) / whole;
    let ticks = |price: u128| u64::try_from(price).unwrap_or(u64::MAX);
    (ticks(low), ticks(high))
}

#[cfg(test)]
#[path = "price_limits_tests.rs"]
mod tests;
