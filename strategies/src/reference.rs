//! Reference prices: the fair price that replaces the book's mid, from one or several sources, as their median or
//! weighted mean, if enough are available and agree.
//!
//! A missing source counts as missing, never as a neutral value. The age of sources is limited by the engine: it asks
//! no strategy with a depth older than `poll.depth_age_max_ms`, its own market's and another's, and shows no pool older
//! than `market.pool.age_max_ms` and no feed older than `market.reference_feed.age_max_ms`.

use cambist_core::control::Control;
use cambist_core::elsewhere;
use cambist_core::route::Route;
use cambist_core::strategy::{BookLevel, Targets, View};
use cambist_core::withheld::{Compared, Unit, Withheld};
use cambist_core::{MarketSpec, Qty, Side};
use cambist_quant::book::{Book, Level};
use cambist_quant::reference::{Guards, Rule, Source, combine};

use crate::parameter::{Kind, Looser, ParamError, Parameter, Params};
use crate::scale::{float, lots_floor, ticks_floor};
use crate::sizing::BPS;

const MID: &str = "mid";
const MICRO_PRICE: &str = "micro_price";
const DEPTH: &str = "depth";
const POOL: &str = "pool";
const FIXED: &str = "fixed";
const FEED: &str = "feed";
const MARKET: &str = "market";
const MEDIAN: &str = "median";
const WEIGHTED: &str = "weighted";
/// A price or an amount of tokens; 0 if the source needs none.
const AMOUNT: Kind = Kind::Decimal {
    min: "0",
    max: "1000000000",
};

const SOURCE: &[Parameter] = &[
    Parameter {
        name: "source",
        unit: "",
        kind: Kind::Choice {
            of: &[MID, MICRO_PRICE, DEPTH, POOL, FIXED, FEED, MARKET],
        },
        default: None,
        looser: Looser::Changed,
        meaning: "mid: of the book, without own orders. micro_price: between the best prices, \
                  nearer to the side with less quantity. depth: mean price of buying and of selling \
                  amount at once. pool: price of the pool beside the market. fixed: price. feed: the \
                  middle of another place's book. market: price over one or two other markets.",
    },
    Parameter {
        name: "weight",
        unit: "",
        kind: Kind::Decimal {
            min: "0.001",
            max: "1000",
        },
        default: Some("1"),
        looser: Looser::Changed,
        meaning: "Weight in a weighted mean.",
    },
    Parameter {
        name: "amount",
        unit: "base tokens",
        kind: AMOUNT,
        default: Some("0"),
        looser: Looser::Changed,
        meaning: "Amount bought and sold, for depth; a book with less has no such price.",
    },
    Parameter {
        name: "price",
        unit: "quote per base",
        kind: AMOUNT,
        default: Some("0"),
        looser: Looser::Changed,
        meaning: "The price, for fixed. Rounded down to a tick.",
    },
    Parameter {
        name: "feed",
        unit: "",
        kind: Kind::Name { max: 32 },
        default: Some("\"\""),
        looser: Looser::Changed,
        meaning: "Name of the [[market.reference_feed]], for feed. Without a price that is young \
                  enough for it (its age_max_ms) the source is missing.",
    },
    Parameter {
        name: "market",
        unit: "",
        kind: Kind::Market,
        default: Some("\"\""),
        looser: Looser::Changed,
        meaning: "Name of another [[market]], or of a market of another venue (venue:market), for market. Alone it \
                  trades the same two tokens, in either order. Without a book that is young enough \
                  (poll.depth_age_max_ms) the source is missing.",
    },
    Parameter {
        name: "via",
        unit: "",
        kind: Kind::Name { max: 32 },
        default: Some("\"\""),
        looser: Looser::Changed,
        meaning: "Name of a second [[market]], for market: both share one token, and their other tokens are \
                  those of this market.",
    },
];

/// Parameters that a strategy with a reference price declares besides its own.
pub const PARAMETERS: [Parameter; 4] = [
    Parameter {
        name: "reference",
        unit: "",
        kind: Kind::Tables {
            fields: SOURCE,
            max: 8,
        },
        default: Some("[]"),
        looser: Looser::Fields,
        meaning: "Sources of the fair price, which replaces the mid. Without sources the mid is \
                  used.",
    },
    Parameter {
        name: "reference_rule",
        unit: "",
        kind: Kind::Choice {
            of: &[MEDIAN, WEIGHTED],
        },
        default: Some("\"median\""),
        looser: Looser::Changed,
        meaning: "How several sources are combined.",
    },
    Parameter {
        name: "reference_sources_min",
        unit: "sources",
        kind: Kind::Integer { min: 0, max: 8 },
        default: Some("0"),
        looser: Looser::Changed,
        meaning: "Nothing is quoted while fewer sources have a price. 0 means all of them.",
    },
    Parameter {
        name: "reference_divergence_bps",
        unit: "bps of their median",
        kind: Kind::Bps { min: 1, max: BPS },
        default: Some("100"),
        looser: Looser::Higher,
        meaning: "Nothing is quoted while two sources differ by more than this, because it is not \
                  known which of them is wrong.",
    },
];

/// Source of a price.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Mid,
    MicroPrice,
    /// Lots.
    Depth(Qty),
    Pool,
    /// Ticks.
    Fixed(f64),
    /// Position in `feeds`.
    Feed(usize),
    /// Position in `routes`.
    Market(usize),
}

/// The keys of a source besides `source` and `weight`.
const KEYS: &[(&str, &[&str])] = &[
    (MID, &[]),
    (MICRO_PRICE, &[]),
    (DEPTH, &["amount"]),
    (POOL, &[]),
    (FIXED, &["price"]),
    (FEED, &["feed"]),
    (MARKET, &["market", "via"]),
];

/// The sources and how they are combined.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Sources and their weights.
    sources: Vec<(Origin, f64)>,
    /// Names of the sources that are read from elsewhere.
    feeds: Vec<String>,
    /// Names of the other markets that are read, each once,
    reads: Vec<String>,
    /// and the routes over them: one or two positions in `reads`.
    routes: Vec<Vec<usize>>,
    rule: Rule,
    least: usize,
    divergence_bps: u32,
}

impl Reference {
    /// Checks that every source has the values it needs.
    pub fn new(params: &Params, market: &MarketSpec) -> Result<Self, ParamError> {
        let mut feeds: Vec<String> = Vec::new();
        let (mut reads, mut routes) = (Vec::new(), Vec::new());
        let read = params.tables("reference")?.iter().map(|table| {
            let source = table.choice("source")?;
            check_keys(table, source)?;
            let from = match source {
                MICRO_PRICE => Origin::MicroPrice,
                DEPTH => Origin::Depth(positive(table, "amount", market)?),
                POOL => Origin::Pool,
                FIXED => {
                    let price = ticks_floor(table, "price", market)?;
                    if price.0 == 0 {
                        return Err(table.conflict("price", "must be at least one tick"));
                    }
                    Origin::Fixed(number(price.0))
                }
                FEED => {
                    let name = table.name("feed")?;
                    if name.is_empty() {
                        let what = "must name a [[market.reference_feed]] for this source";
                        return Err(table.conflict("feed", what));
                    }
                    if feeds.iter().any(|known| known == name) {
                        return Err(table.conflict("feed", "is another source already"));
                    }
                    feeds.push(name.to_owned());
                    Origin::Feed(feeds.len() - 1)
                }
                MARKET => {
                    let route = route(table, market, &mut reads)?;
                    let known = |known: &Vec<usize>| {
                        known.len() == route.len() && known.iter().all(|at| route.contains(at))
                    };
                    if routes.iter().any(known) {
                        return Err(
                            table.conflict("market", "this route is another source already")
                        );
                    }
                    routes.push(route);
                    Origin::Market(routes.len() - 1)
                }
                _ => Origin::Mid,
            };
            Ok((from, float(table, "weight")?))
        });
        let sources = read.collect::<Result<Vec<_>, ParamError>>()?;
        let least = match params.whole("reference_sources_min")? {
            0 => sources.len(),
            least => usize::try_from(least).unwrap_or(usize::MAX),
        };
        if least > sources.len() {
            let why = format!("more than the {} configured sources", sources.len());
            return Err(params.conflict("reference_sources_min", why));
        }
        Ok(Self {
            sources,
            feeds,
            reads,
            routes,
            least,
            rule: match params.choice("reference_rule")? {
                WEIGHTED => Rule::Weighted,
                _ => Rule::Median,
            },
            divergence_bps: params.whole("reference_divergence_bps")?,
        })
    }

    /// Names of the sources that are read from elsewhere.
    pub fn feeds(&self) -> &[String] {
        &self.feeds
    }

    /// Names of the other markets that are read.
    pub fn reads(&self) -> &[String] {
        &self.reads
    }

    /// Checks that every route over `others`, in the order of [`Self::reads`], connects the tokens of the market. The
    /// error is a sentence.
    pub fn check_reads(&self, market: &MarketSpec, others: &[&MarketSpec]) -> Result<(), String> {
        for route in &self.routes {
            let over: Option<Vec<_>> = route.iter().map(|at| others.get(*at).copied()).collect();
            let over = over.ok_or("a market that it reads is not known")?;
            Route::new(market, &over)?;
        }
        Ok(())
    }

    /// The view with the fair price in place of the mid, or why there is none.
    fn apply<'a>(&self, view: &View<'a>) -> Result<View<'a>, Withheld> {
        Ok(View {
            mid: self.price(view)?,
            ..view.clone()
        })
    }

    /// As `apply`; without a fair price neither side is quoted, and the reason is stated.
    pub fn apply_or_withhold<'a>(
        &self,
        view: &View<'a>,
        targets: &mut Targets,
    ) -> Option<View<'a>> {
        let applied = self.apply(view);
        if let Err(why) = applied {
            for side in Side::BOTH {
                targets.withhold(side, why);
            }
        }
        applied.ok()
    }

    /// The fair price in half ticks.
    fn price(&self, view: &View<'_>) -> Result<u64, Withheld> {
        if self.sources.is_empty() {
            return Ok(view.mid);
        }
        let (bids, asks) = (levels(view.bids), levels(view.asks));
        let book = Book::new(&bids, &asks).ok();
        let found = self.sources.iter().map(|&(from, weight)| {
            let price = match from {
                Origin::Mid => book.as_ref().map(Book::mid),
                Origin::MicroPrice => book.as_ref().map(Book::weighted_mid),
                Origin::Depth(qty) => book.as_ref()?.mid_for(&number(qty.0)).ok().flatten(),
                Origin::Pool => pool_price(view),
                Origin::Fixed(ticks) => Some(ticks),
                Origin::Feed(at) => self.feed_price(view, at),
                Origin::Market(at) => self.market_price(view, at),
            };
            let price = price.filter(|price| price.is_finite() && *price > 0.0)?;
            Some(Source {
                price,
                age_s: 0.0,
                weight,
            })
        });
        let found: Vec<Option<Source>> = found.collect();
        let there = found.iter().flatten().count();
        if there < self.least {
            let key = "market.strategy.params.reference";
            let compared = Compared::new(Unit::Count, key, there, self.least);
            return Err(Withheld::compared(Control::NoFairPrice, compared));
        }
        let anything = Guards {
            max_age_s: 0.0,
            max_divergence: f64::MAX,
            least: self.least,
        };
        let combined = combine(&found, self.rule, &anything);
        let combined = combined.map_err(|_| Control::NoFairPrice)?;
        let divergence_bps = combined.divergence * f64::from(BPS);
        if divergence_bps > f64::from(self.divergence_bps) {
            let key = "market.strategy.params.reference_divergence_bps";
            let found_bps = whole(divergence_bps.ceil());
            let compared = Compared::of(Unit::Bps, key, found_bps, self.divergence_bps);
            return Err(Withheld::compared(Control::NoFairPrice, compared));
        }
        whole((2.0 * combined.price).round()).ok_or(Control::NoFairPrice.into())
    }
}

impl Reference {
    /// The price of a feed in ticks, if it has one that is young enough.
    fn feed_price(&self, view: &View<'_>, at: usize) -> Option<f64> {
        let name = self.feeds.get(at)?;
        let mut references = view.references.iter();
        let found = references.find(|reference| reference.name == name)?;
        Some(number(found.mid?) / 2.0)
    }
}

impl Reference {
    /// The price over other markets in ticks, if each has a mid.
    fn market_price(&self, view: &View<'_>, at: usize) -> Option<f64> {
        let read = self.routes.get(at)?.iter();
        let over: Option<Vec<_>> = read.map(|at| view.markets.get(*at)).collect();
        let over = over?;
        let mids: Option<Vec<_>> = over.iter().map(|other| other.book.ok()?.mid.ok()).collect();
        let specs: Vec<_> = over.iter().map(|other| other.market).collect();
        let half_ticks = Route::new(view.market, &specs)
            .ok()?
            .half_ticks(&specs, &mids?)?;
        Some(number(half_ticks) / 2.0)
    }
}

/// Refuses the keys of other sources: they would have no effect.
fn check_keys(table: &Params, source: &str) -> Result<(), ParamError> {
    let own = KEYS.iter().find(|(of, _)| *of == source);
    let own = own.map_or(&[][..], |(_, keys)| *keys);
    for (of, keys) in KEYS {
        for key in keys.iter().filter(|key| !own.contains(key)) {
            let is_set = match *key {
                "amount" | "price" => !table.decimal(key)?.is_zero(),
                _ => !table.name(key)?.is_empty(),
            };
            if is_set {
                let what = format!("belongs to source = \"{of}\", and this is \"{source}\"");
                return Err(table.conflict(key, what));
            }
        }
    }
    Ok(())
}

/// The markets of a source as positions in `reads`, to which new ones are added.
fn route(
    table: &Params,
    market: &MarketSpec,
    reads: &mut Vec<String>,
) -> Result<Vec<usize>, ParamError> {
    let (first, second) = (table.name("market")?, table.name("via")?);
    if first.is_empty() {
        return Err(table.conflict("market", "must name another [[market]] for this source"));
    }
    if first == second {
        return Err(table.conflict("via", "must be another market than market"));
    }
    let mut route = Vec::new();
    for (key, name) in [("market", first), ("via", second)] {
        if name == market.name {
            let what = "is the strategy's own market: source = \"mid\" reads it";
            return Err(table.conflict(key, what));
        }
        if name.is_empty() {
            continue;
        }
        if elsewhere::split(name).is_some() && !second.is_empty() {
            let what =
                "connects markets of this venue: one of another venue trades both tokens itself";
            return Err(table.conflict("via", what));
        }
        let known = reads.iter().position(|known| known == name);
        route.push(known.unwrap_or(reads.len()));
        if known.is_none() {
            reads.push(name.to_owned());
        }
    }
    Ok(route)
}

fn positive(params: &Params, name: &str, market: &MarketSpec) -> Result<Qty, ParamError> {
    let lots = lots_floor(params, name, market)?;
    if lots.0 == 0 {
        return Err(params.conflict(name, "must be above zero for this source"));
    }
    Ok(lots)
}

/// Levels with a quantity.
fn levels(side: &[BookLevel]) -> Vec<Level<f64>> {
    let held = side.iter().filter(|level| level.qty.0 > 0);
    held.map(|level| Level {
        price: number(level.price.0),
        quantity: number(level.qty.0),
    })
    .collect()
}

/// The pool's price in ticks: quote per base of its balances.
fn pool_price(view: &View<'_>) -> Option<f64> {
    let pool = view.pool?;
    let (base, quote) = (units(pool.base), units(pool.quote));
    let lots = base / units(view.market.lot);
    Some(quote / lots / units(view.market.quote_per_lot_tick))
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a model's price needs no more than 53 bits"
)]
fn units(amount: u128) -> f64 {
    amount as f64
}

fn number(count: u64) -> f64 {
    units(count.into())
}

/// A float that is a whole number from 1, below 2^53.
fn whole(value: f64) -> Option<u64> {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 1, below 2^53"
    )]
    (1.0..9e15).contains(&value).then_some(value as u64)
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;
