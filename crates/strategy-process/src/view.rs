//! The view that a process is given, as one line of JSON.

use std::hash::{Hash, Hasher};

use cambist_core::math::decimal;
use cambist_core::notification::Fill;
use cambist_core::strategy::{BookLevel, OtherMarket, OwnOrder, PoolView, View};
use cambist_core::{MarketSpec, Price};
use fnv::FnvHasher;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{LEVELS_MAX, ProcessSettings, VERSION};

/// One view. Prices are ticks and quantities lots, whole numbers; amounts are decimals of whole tokens, as
/// strings.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct ViewLine {
    /// Version of the lines.
    pub v: u32,
    /// Number of the view, from 1; the answer repeats it.
    pub view_seq: u64,
    /// The engine's clock in milliseconds since an origin of its own. It never goes back while the daemon runs, and
    /// begins again with the next start.
    pub time_ms: u64,
    /// The market and its units.
    pub market: MarketJson,
    /// The mid in half ticks: best bid plus best ask.
    pub mid_half_ticks: u64,
    /// Bids without own orders, best first: price and quantity.
    pub bids: Vec<(u64, u64)>,
    /// Asks without own orders, best first.
    pub asks: Vec<(u64, u64)>,
    /// What is held.
    pub holdings: HoldingsJson,
    /// Reference prices, in the order of the configuration.
    pub references: Vec<ReferenceJson>,
    /// The pool beside the market, for a strategy that may swap with it; absent while its balances are not known or
    /// too old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolJson>,
    /// The other markets of `market.strategy.markets`, in its order.
    pub markets: Vec<OtherJson>,
    /// Own orders that may be resting, oldest first.
    pub own: Vec<OwnJson>,
    /// Fills since the last view that was answered.
    pub fills: Vec<FillJson>,
    /// The parameters of the configuration, as they are.
    pub params: Map<String, Value>,
    /// What the process last asked to be kept; null before it did.
    pub state: Value,
}

/// A market and its units.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct MarketJson {
    /// The venue's name.
    pub name: String,
    /// Symbol of the base token.
    pub base: String,
    /// Symbol of the quote token.
    pub quote: String,
    /// Most decimals of an amount of base tokens.
    #[serde(default)]
    pub base_precision: u8,
    /// Most decimals of an amount of quote tokens.
    #[serde(default)]
    pub quote_precision: u8,
    /// A tick, in quote tokens for one base token.
    pub tick: String,
    /// A lot, in base tokens.
    pub lot: String,
}

/// Another market of this venue or of another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct OtherJson {
    /// It and its units.
    pub market: MarketJson,
    /// Age of its newest depth, however old; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_ms: Option<u64>,
    /// The mid in half ticks of that market; absent while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mid_half_ticks: Option<u64>,
    /// Why there is no mid, or no book.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Bids without own orders, best first; empty while the book is missing.
    pub bids: Vec<(u64, u64)>,
    /// Asks without own orders, best first.
    pub asks: Vec<(u64, u64)>,
    /// What is held at its venue, if that is another one and known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdings: Option<OtherHoldingsJson>,
}

/// What is held at another venue.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct OtherHoldingsJson {
    /// Base tokens.
    pub base: String,
    /// Quote tokens.
    pub quote: String,
    /// Base tokens that pool shares are due; absent while that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooled_base: Option<String>,
    /// An order, a join, an exit or a swap there may still change them.
    pub undecided: bool,
}

/// What is held.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct HoldingsJson {
    /// Whole lots of the base token, rounded down.
    pub base_lots: u64,
    /// Base tokens.
    pub base: String,
    /// Quote tokens.
    pub quote: String,
}

/// A source of reference prices.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct ReferenceJson {
    /// Its name in the configuration.
    pub name: String,
    /// The middle of its best prices in half ticks; absent while it has none that is young enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mid_half_ticks: Option<u64>,
}

/// The pool beside the market.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct PoolJson {
    /// Base tokens in it.
    pub base: String,
    /// Quote tokens in it.
    pub quote: String,
    /// Its fee, out of what is sold, in ten-thousandths.
    pub fee_bips: u16,
    /// The venue's fee, out of what is bought, in ten-thousandths.
    pub taker_fee_bips: u16,
    /// A swap may accept so much less than the pool pays at these balances, in ten-thousandths.
    pub slippage_bps: u32,
    /// Largest value of a swap, in quote tokens.
    pub swap_value_max: String,
    /// A swap is possible now: nothing is undecided at the pool, and its balances were read since.
    pub possible: bool,
}

/// An own order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct OwnJson {
    /// Its id.
    pub id: String,
    /// `buy` or `sell`.
    pub side: String,
    /// Ticks.
    pub price: u64,
    /// Lots that are not filled.
    pub remaining: u64,
    /// It will be replaced soon if its quote is still wanted.
    pub expiring: bool,
    /// A cancel is under way.
    pub cancelling: bool,
}

/// A fill.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct FillJson {
    /// Id of the order.
    pub order: String,
    /// `buy` or `sell`.
    pub side: String,
    /// Base tokens.
    pub base: String,
    /// Quote tokens.
    pub quote: String,
    /// Fee, in the token that was bought.
    pub fee: String,
}

impl ViewLine {
    /// What a view of the engine shows to a process, until [`ViewLine::number`] makes it a view of its own.
    pub fn new<'a>(
        view: &View<'_>,
        fills: impl Iterator<Item = &'a Fill>,
        settings: &ProcessSettings,
    ) -> Self {
        let spec = view.market;
        Self {
            v: VERSION,
            view_seq: 0,
            time_ms: view.now.as_ms(),
            market: market(spec),
            mid_half_ticks: view.mid,
            bids: levels(view.bids),
            asks: levels(view.asks),
            holdings: HoldingsJson {
                base_lots: spec.lots_floor(view.holdings.base).0,
                base: decimal(view.holdings.base, spec.base.decimals),
                quote: decimal(view.holdings.quote, spec.quote.decimals),
            },
            references: view
                .references
                .iter()
                .map(|reference| ReferenceJson {
                    name: reference.name.to_owned(),
                    mid_half_ticks: reference.mid,
                })
                .collect(),
            pool: view
                .pool
                .filter(|_| settings.swaps)
                .map(|seen| pool(spec, &seen)),
            markets: view.markets.iter().map(other).collect(),
            own: view.own.iter().map(own).collect(),
            fills: fills.map(|fill| fill_json(spec, fill)).collect(),
            params: settings.params.clone(),
            state: Value::Null,
        }
    }

    /// A number that differs when anything is shown differently, without what changes although nothing happened: the
    /// clock and the ages of other markets.
    pub fn digest(&self) -> u64 {
        // What is compared are a process's own successive views, nothing that anybody chooses.
        let mut hasher = FnvHasher::default();
        let book = (self.mid_half_ticks, &self.bids, &self.asks);
        (&self.market, book, &self.holdings, &self.references).hash(&mut hasher);
        for other in &self.markets {
            let book = (other.mid_half_ticks, &other.bids, &other.asks);
            (&other.market, book, &other.missing, &other.holdings).hash(&mut hasher);
        }
        (&self.pool, &self.own, &self.fills, &self.params).hash(&mut hasher);
        hasher.finish()
    }

    /// Gives it its number, and what is kept for the process as JSON.
    pub fn number(&mut self, view_seq: u64, state: Option<&str>) {
        let kept = state.and_then(|text| serde_json::from_str(text).ok());
        (self.view_seq, self.state) = (view_seq, kept.unwrap_or(Value::Null));
    }

    /// The line, without its end.
    pub fn text(&self) -> String {
        // Strings, whole numbers and JSON values: nothing that could fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn levels(levels: &[BookLevel]) -> Vec<(u64, u64)> {
    let nearest = levels.iter().take(LEVELS_MAX);
    nearest.map(|level| (level.price.0, level.qty.0)).collect()
}

fn pool(spec: &MarketSpec, seen: &PoolView) -> PoolJson {
    let terms = seen.swap;
    PoolJson {
        base: decimal(seen.base, spec.base.decimals),
        quote: decimal(seen.quote, spec.quote.decimals),
        fee_bips: terms.fee_bips,
        taker_fee_bips: terms.taker_fee_bips,
        slippage_bps: terms.slippage_bps,
        swap_value_max: decimal(terms.value_max, spec.quote.decimals),
        possible: terms.possible,
    }
}

fn market(spec: &MarketSpec) -> MarketJson {
    MarketJson {
        name: spec.name.clone(),
        base: spec.base.symbol.clone(),
        quote: spec.quote.symbol.clone(),
        base_precision: spec.base.precision.min(spec.base.decimals),
        quote_precision: spec.quote.precision.min(spec.quote.decimals),
        tick: decimal(1, spec.price_decimals),
        lot: decimal(spec.lot, spec.base.decimals),
    }
}

fn other(seen: &OtherMarket<'_>) -> OtherJson {
    let missing = match &seen.book {
        Ok(book) => book.mid.err(),
        Err(why) => Some(*why),
    };
    let sides = seen
        .book
        .map_or([&[][..]; 2], |book| [book.bids, book.asks]);
    let [bids, asks] = sides.map(levels);
    OtherJson {
        market: market(seen.market),
        age_ms: seen.age_ms,
        mid_half_ticks: seen.book.ok().and_then(|book| book.mid.ok()),
        missing: missing.map(|why| why.control.name().to_owned()),
        bids,
        asks,
        holdings: seen.holdings.map(|held| {
            let base = |amount| decimal(amount, seen.market.base.decimals);
            OtherHoldingsJson {
                base: base(held.base),
                quote: decimal(held.quote, seen.market.quote.decimals),
                pooled_base: held.pooled_base.map(base),
                undecided: held.undecided,
            }
        }),
    }
}

fn own(order: &OwnOrder) -> OwnJson {
    let Price(price) = order.price;
    OwnJson {
        id: order.id.to_string(),
        side: order.side.name().to_owned(),
        price,
        remaining: order.remaining.0,
        expiring: order.expiring,
        cancelling: order.cancelling,
    }
}

fn fill_json(spec: &MarketSpec, fill: &Fill) -> FillJson {
    FillJson {
        order: fill.order.to_string(),
        side: fill.side.name().to_owned(),
        base: decimal(fill.base, spec.base.decimals),
        quote: decimal(fill.quote, spec.quote.decimals),
        fee: decimal(fill.fee, spec.fee_token(fill.side).decimals),
    }
}
