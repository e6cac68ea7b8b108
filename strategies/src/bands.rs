//! Bands: keeps the amount resting in each margin band between a minimum and a maximum.
//!
//! A band is a range of margins from the mid. Orders inside a band stay at their prices while the mid moves. Orders
//! that are in no band, or exceed a band's maximum (outermost first), are cancelled. A band that holds less than its
//! minimum is topped up to its average with one order at its average margin. This hysteresis needs few cancels per unit
//! of liquidity, which is why bands are the default where requests are limited.
//!
//! Amounts of **both** sides are in whole base tokens. Own orders are the state; the only other state is where the
//! moving price band is.

use cambist_core::control::Control;
use cambist_core::strategy::{OwnOrder, Strategy, Targets, View};
use cambist_core::withheld::Withheld;
use cambist_core::{MarketSpec, Price, Qty, Side};

use crate::optimization::{self, Optimization};
use crate::parameter::{Kind, Looser, ParamError, Parameter, Params, joined};
use crate::price_limits::{self, PriceLimits};
use crate::reference::{self, Reference};
use crate::registry::{Promise, StrategyInfo};
use crate::scale::lots_floor;
use crate::sizing::{BPS, FEE, Funds, is_orderable, passive, price_at, unorderable};

/// The entry in the registry.
pub const INFO: StrategyInfo = StrategyInfo {
    name: "bands",
    summary: "Keeps the amount in each margin band between a minimum and a maximum: cancels only \
              overflow, tops up to the average. Few cancels per unit of liquidity.",
    promise: Promise::Quotes,
    two_legs: None,
    parameters: &joined::<PARAMETERS>(&[
        &OWN,
        &optimization::PARAMETERS,
        &reference::PARAMETERS,
        &price_limits::PARAMETERS,
    ]),
    build: |params, market| Ok(Box::new(Bands::new(params, market)?)),
};

const PARAMETERS: usize = OWN.len()
    + optimization::PARAMETERS.len()
    + reference::PARAMETERS.len()
    + price_limits::PARAMETERS.len();

const OWN: [Parameter; 4] = [
    Parameter {
        name: "buy_bands",
        unit: "",
        kind: Kind::Tables {
            fields: BAND,
            max: 16,
        },
        default: Some("[]"),
        looser: Looser::Fields,
        meaning: "Bands below the mid. They may touch but not overlap.",
    },
    Parameter {
        name: "sell_bands",
        unit: "",
        kind: Kind::Tables {
            fields: BAND,
            max: 16,
        },
        default: Some("[]"),
        looser: Looser::Fields,
        meaning: "Bands above the mid. They may touch but not overlap.",
    },
    Parameter {
        name: "dust_cutoff",
        unit: "base tokens",
        kind: Kind::Decimal {
            min: "0",
            max: "1000000000",
        },
        default: Some("0"),
        looser: Looser::Never,
        meaning: "A top-up below this is not worth an order.",
    },
    FEE,
];

const MARGIN: Kind = Kind::Bps { min: 1, max: BPS };
const AMOUNT: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000",
};

const BAND: &[Parameter] = &[
    Parameter {
        name: "min_margin_bps",
        unit: "bps of the mid",
        kind: MARGIN,
        default: None,
        looser: Looser::Lower,
        meaning: "Inner edge of the band, included: an order nearer to the mid is cancelled.",
    },
    Parameter {
        name: "avg_margin_bps",
        unit: "bps of the mid",
        kind: MARGIN,
        default: None,
        looser: Looser::Lower,
        meaning: "Where new orders of the band are placed; rounded away from the mid.",
    },
    Parameter {
        name: "max_margin_bps",
        unit: "bps of the mid",
        kind: MARGIN,
        default: None,
        looser: Looser::Never,
        meaning: "Outer edge of the band, excluded: an order further from the mid is cancelled.",
    },
    Parameter {
        name: "min_amount",
        unit: "base tokens",
        kind: AMOUNT,
        default: None,
        looser: Looser::Higher,
        meaning: "Below this the band is topped up. Rounded down to whole lots.",
    },
    Parameter {
        name: "avg_amount",
        unit: "base tokens",
        kind: AMOUNT,
        default: None,
        looser: Looser::Higher,
        meaning: "Amount of the band after a top-up. Rounded down to whole lots.",
    },
    Parameter {
        name: "max_amount",
        unit: "base tokens",
        kind: AMOUNT,
        default: None,
        looser: Looser::Higher,
        meaning: "Above this the band's outermost orders are cancelled. Rounded down to whole lots.",
    },
];

/// One band in integers.
#[derive(Clone, Copy, Debug)]
struct Band {
    margin_min_bps: u32,
    margin_avg_bps: u32,
    margin_max_bps: u32,
    min: Qty,
    avg: Qty,
    max: Qty,
}

impl Band {
    /// Checks one band. The inner edge is at least the fee, because a fill nearer to the mid would not earn it.
    fn new(params: &Params, market: &MarketSpec, fee_bps: u32) -> Result<Self, ParamError> {
        let mut band = Self {
            margin_min_bps: params.whole("min_margin_bps")?,
            margin_avg_bps: params.whole("avg_margin_bps")?,
            margin_max_bps: params.whole("max_margin_bps")?,
            min: lots_floor(params, "min_amount", market)?,
            avg: lots_floor(params, "avg_amount", market)?,
            max: lots_floor(params, "max_amount", market)?,
        };
        if band.margin_avg_bps < band.margin_min_bps || band.margin_avg_bps >= band.margin_max_bps {
            return Err(params.conflict(
                "avg_margin_bps",
                format!(
                    "{} must be at least min_margin_bps {} and below max_margin_bps {}",
                    band.margin_avg_bps, band.margin_min_bps, band.margin_max_bps
                ),
            ));
        }
        if band.margin_avg_bps < fee_bps {
            let why = format!("{} is below fee_bps {fee_bps}", band.margin_avg_bps);
            return Err(params.conflict("avg_margin_bps", why));
        }
        band.margin_min_bps = band.margin_min_bps.max(fee_bps);
        if band.min.0 == 0 {
            return Err(params.conflict(
                "min_amount",
                "must be above zero, or the band would never be filled",
            ));
        }
        if band.avg < band.min || band.avg > band.max {
            return Err(params.conflict(
                "avg_amount",
                "must be at least min_amount and at most max_amount",
            ));
        }
        Ok(band)
    }

    /// Whether a price is in the band: inner edge included, outer edge excluded. Exact.
    fn holds(&self, side: Side, price: Price, mid: u64) -> bool {
        let price = u128::from(price.0) * u128::from(2 * BPS);
        let edge = |bps: u32| u128::from(mid) * u128::from(bps);
        match side {
            Side::Buy => {
                price <= edge(BPS - self.margin_min_bps) && price > edge(BPS - self.margin_max_bps)
            }
            Side::Sell => {
                price >= edge(BPS + self.margin_min_bps) && price < edge(BPS + self.margin_max_bps)
            }
        }
    }

    /// The price of a new order: before the others' best if that is further away and in the band, or else the average
    /// margin rounded away from the mid, or one tick towards it if that falls out of a narrow band; `None` if the band
    /// has no passive tick there.
    fn entry(
        &self,
        view: &View<'_>,
        side: Side,
        optimization: Optimization,
        limits: &PriceLimits,
    ) -> Option<Price> {
        let average = price_at(side, view.mid, self.margin_avg_bps);
        let optimised = optimization.price(view, side, average);
        let optimised = passive(view, side, limits.limit(side, optimised));
        let away = passive(view, side, limits.limit(side, average));
        let nearer = match side {
            Side::Buy => Price(away.0.checked_add(1)?),
            Side::Sell => Price(away.0.checked_sub(1)?),
        };
        [optimised, away, nearer]
            .into_iter()
            .filter(|&price| limits.allows(side, price))
            .find(|&price| self.holds(side, price, view.mid) && passive(view, side, price) == price)
    }
}

/// The strategy.
#[derive(Clone, Debug)]
pub struct Bands {
    buy: Vec<Band>,
    sell: Vec<Band>,
    dust: Qty,
    optimization: Optimization,
    reference: Reference,
    limits: PriceLimits,
    buffers: Buffers,
}

/// Memory of a decision, kept for the next one.
#[derive(Clone, Debug, Default)]
struct Buffers {
    own: Vec<OwnOrder>,
    quotes: Vec<(Price, Qty)>,
    /// Places of bands that hold too little, and what they lack.
    short: Vec<(usize, Qty)>,
}

impl Bands {
    /// Checks conditions on several parameters and converts amounts to lots.
    pub fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let fee_bps = params.whole("fee_bps")?;
        let buy = side_bands(params, "buy_bands", market, fee_bps)?;
        let sell = side_bands(params, "sell_bands", market, fee_bps)?;
        if buy.is_empty() && sell.is_empty() {
            return Err(params.conflict("buy_bands", "neither buy_bands nor sell_bands has a band"));
        }
        Ok(Self {
            buy,
            sell,
            dust: lots_floor(params, "dust_cutoff", market)?,
            optimization: Optimization::new(params, market)?,
            reference: Reference::new(params, market)?,
            limits: PriceLimits::new(params, market)?,
            buffers: Buffers::default(),
        })
    }

    /// The first band to top up. With order optimisation a band that is nearer than it takes to be first is left to the
    /// one further out that has that price.
    fn first(&self, view: &View<'_>, side: Side, bands: &[Band]) -> usize {
        let price = bands.first().map(|innermost| {
            let average = price_at(side, view.mid, innermost.margin_avg_bps);
            self.optimization.price(view, side, average)
        });
        let has = |band: &Band| price.is_some_and(|price| band.holds(side, price, view.mid));
        bands.iter().position(has).unwrap_or(0)
    }

    fn side(
        &self,
        view: &View<'_>,
        side: Side,
        funds: &mut Funds,
        targets: &mut Targets,
        buffers: &mut Buffers,
    ) {
        let bands = match side {
            Side::Buy => &self.buy,
            Side::Sell => &self.sell,
        };
        if !bands.is_empty()
            && let Some(why) = self.limits.blocked(view.mid, side)
        {
            return targets.withhold(side, why);
        }
        let mut why: Withheld = Control::NotConfigured.into();
        let mut innermost = |reason: Withheld| {
            if why.control == Control::NotConfigured {
                why = reason;
            }
        };
        let Buffers { own, quotes, short } = buffers;
        resting(view, side, &self.limits, own);
        quotes.clear();
        short.clear();
        let first = self.first(view, side, bands);
        for (index, band) in bands.iter().enumerate() {
            // Bands do not overlap: an order is a member of one.
            let members = own
                .iter()
                .filter(|order| band.holds(side, order.price, view.mid));
            let lots = |order: &OwnOrder| u128::from(order.remaining.0);
            let mut total: u128 = members.clone().map(lots).sum();
            let mut kept = members.clone().count();
            for outermost in members.clone().rev() {
                if total <= u128::from(band.max.0) {
                    break;
                }
                total -= lots(outermost);
                kept -= 1;
            }
            for order in members.take(kept) {
                // Resting orders are kept as they are, covered or not: the engine knows the locks.
                let _ = funds.take(view.market, side, order.price, order.remaining);
                quotes.push((order.price, order.remaining));
            }
            let total = Qty(u64::try_from(total).unwrap_or(u64::MAX));
            if total < band.min && index >= first {
                short.push((index, Qty(band.avg.0 - total.0)));
            }
        }
        // Kept orders have been paid for; the remaining funds go to the innermost shortfall first.
        for (index, missing) in short.iter().copied() {
            let band = &bands[index];
            let Some(price) = band.entry(view, side, self.optimization, &self.limits) else {
                let beyond = self.limits.beyond(view, side);
                innermost(beyond.unwrap_or(Control::NoPassivePrice.into()));
                continue;
            };
            let affordable = *funds;
            let qty = funds.take(view.market, side, price, missing);
            if qty >= self.dust && is_orderable(view.market, price, qty) {
                quotes.push((price, qty));
            } else {
                *funds = affordable;
                innermost(unorderable(view, side, price, missing, self.dust));
            }
        }
        // Stable: of two orders at one price the older stays ahead.
        quotes.sort_by(|one, two| match side {
            Side::Buy => two.0.cmp(&one.0),
            Side::Sell => one.0.cmp(&two.0),
        });
        targets.withhold(side, why);
        for (level, (price, qty)) in (0..).zip(quotes.iter().copied()) {
            targets.quote(side, price, qty, level);
        }
    }
}

impl Strategy for Bands {
    fn references(&self) -> &[String] {
        self.reference.feeds()
    }

    fn reads(&self) -> &[String] {
        self.reference.reads()
    }

    fn check_reads(&self, market: &MarketSpec, others: &[&MarketSpec]) -> Result<(), String> {
        self.reference.check_reads(market, others)
    }

    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let Some(view) = self.reference.apply_or_withhold(view, targets) else {
            return;
        };
        let view = &view;
        self.limits.observe(view);
        let mut funds = Funds::new(view.holdings);
        let mut buffers = std::mem::take(&mut self.buffers);
        for side in Side::BOTH {
            self.side(view, side, &mut funds, targets, &mut buffers);
        }
        self.buffers = buffers;
    }

    fn save(&self) -> Vec<u8> {
        self.limits.save()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        self.limits.restore(saved)
    }
}

/// Bands of one side, innermost first, checked against each other.
fn side_bands(
    params: &Params,
    name: &str,
    market: &MarketSpec,
    fee_bps: u32,
) -> Result<Vec<Band>, ParamError> {
    let mut bands = params
        .tables(name)?
        .iter()
        .map(|table| Band::new(table, market, fee_bps))
        .collect::<Result<Vec<_>, _>>()?;
    bands.sort_by_key(|band| band.margin_min_bps);
    for pair in bands.windows(2) {
        if let [inner, outer] = pair
            && outer.margin_min_bps < inner.margin_max_bps
        {
            return Err(params.conflict(
                name,
                format!(
                    "bands overlap: {} to {} bps and {} to {} bps",
                    inner.margin_min_bps,
                    inner.margin_max_bps,
                    outer.margin_min_bps,
                    outer.margin_max_bps
                ),
            ));
        }
    }
    Ok(bands)
}

/// Own orders of one side that may stay: not being cancelled, not crossing the other side, not already replaced.
/// Nearest to the mid first, older before newer.
fn resting(view: &View<'_>, side: Side, limits: &PriceLimits, own: &mut Vec<OwnOrder>) {
    let stays = |order: &&OwnOrder| {
        order.side == side
            && !order.cancelling
            && passive(view, side, order.price) == order.price
            && limits.allows(side, order.price)
            && !is_replaced(view, order)
    };
    own.clear();
    own.extend(view.own.iter().filter(stays).copied());
    own.sort_by_key(|order| match side {
        Side::Buy => u64::MAX - order.price.0,
        Side::Sell => order.price.0,
    });
}

/// Whether an order close to its expiry only rests until the newer one at its price does: targets for both would double
/// the amount at every replacement.
fn is_replaced(view: &View<'_>, old: &OwnOrder) -> bool {
    let alike = |new: &&OwnOrder| new.side == old.side && new.price == old.price;
    old.expiring
        && view
            .own
            .iter()
            .filter(alike)
            .any(|new| !new.expiring && !new.cancelling && new.id.number > old.id.number)
}

#[cfg(test)]
#[path = "bands_tests.rs"]
pub(crate) mod tests;
