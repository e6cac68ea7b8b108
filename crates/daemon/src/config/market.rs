//! One `[[market]]` of the configuration: limits, guards, behaviour on empty books, strategies.
//!
//! Amounts are decimals with positions here; `resolve` converts them to integers once the decimals are known.

use std::collections::BTreeMap;
use std::path::Path;

use cambist_core::config::{LossConfig, MarketConfig, PoolConfig};
use cambist_core::market::{MarketId, MarketSpec};
use cambist_core::reference::ReferenceSource;
use cambist_core::strategy::Strategy;

use super::daemon::VenueUse;
use super::feed::{self, Feed, ReferenceFeed};
use super::limits::{self, Written, nothing_derived};
use super::mode::{DepthSource, Mode};
use super::money::Money;
use super::pool::{self, Pool};
use super::process::{self, ProcessChoice};
use super::reader::{At, Place, Problem, Section};
use super::sections::{require_pins, small};
use super::venue::VenueSection;

/// Most sources of reference prices of a market.
const REFERENCE_FEEDS_MAX: usize = 8;

/// Behaviour on an empty or one-sided book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmptyBook {
    /// Nothing is quoted.
    NoQuote,
    /// This price replaces the mid.
    Seed(At<Money>),
}

/// A strategy with its parameters as written; the registry checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct StrategyChoice {
    /// Name in the registry.
    pub name: At<String>,
    /// Parameters.
    pub params: toml::Table,
    /// The process it runs in, if it is none of the registry.
    pub process: Option<ProcessChoice>,
    /// Position of each parameter, by its path inside the table (`buy_bands[1].min_amount`).
    pub places: BTreeMap<String, Place>,
}

impl StrategyChoice {
    /// Position of a parameter, or of the nearest table around it.
    pub fn place(&self, key: &str) -> Place {
        let mut path = key;
        loop {
            if let Some(place) = self.places.get(path) {
                return *place;
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return self.name.at,
            }
        }
    }
}

/// Values that the venue is expected to publish; a difference refuses the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Decimals of the base token.
    pub base_decimals: Option<At<u8>>,
    /// Decimals of the quote token.
    pub quote_decimals: Option<At<u8>>,
    /// Most decimals that the venue accepts in the base token.
    pub base_precision: Option<At<u8>>,
    /// As above for the quote token.
    pub quote_precision: Option<At<u8>>,
    /// Decimals of prices.
    pub price_decimals: Option<At<u8>>,
}

/// Limits and strategies of one market.
#[derive(Clone, Debug, PartialEq)]
pub struct Market {
    /// The venue's name, `BASE-QUOTE`.
    pub name: At<String>,
    /// Symbol of the base token.
    pub base: String,
    /// Symbol of the quote token.
    pub quote: String,
    /// Values that the venue is expected to publish.
    pub expected: Expected,
    /// The limits that are numbers; its amounts are unset until decimals are known.
    pub limits: MarketConfig,
    /// The limits that are amounts, loss limits included.
    pub amounts: Written,
    /// Behaviour on an empty or one-sided book.
    pub empty: EmptyBook,
    /// Depth source in modes that do not trade.
    pub feed: Option<Feed>,
    /// Sources of reference prices.
    pub reference_feeds: Vec<ReferenceFeed>,
    /// The pool of the market.
    pub pool: Option<Pool>,
    /// Strategies, at least one.
    pub strategies: Vec<StrategyChoice>,
}

impl Market {
    /// Position of an amount, or of the market if it is not in the file.
    pub(super) fn place(&self, key: &str) -> Place {
        self.amounts.place(key).unwrap_or(self.name.at)
    }

    /// Its sources of reference prices.
    pub fn references(&self, market: MarketId) -> Vec<(ReferenceSource, Feed)> {
        let each = self.reference_feeds.iter().map(|feed| {
            let source = ReferenceSource {
                market,
                name: feed.name.value.clone(),
                age_max_ms: feed.age_max_ms.value,
            };
            (source, feed.feed.clone())
        });
        each.collect()
    }

    /// Checks that the sources that a strategy reads are configured.
    pub(super) fn check_references(
        &self,
        choice: &StrategyChoice,
        strategy: &dyn Strategy,
    ) -> Result<(), Problem> {
        let is_known = |name: &&String| {
            let mut feeds = self.reference_feeds.iter();
            feeds.any(|feed| feed.name.value == **name)
        };
        let Some(name) = strategy.references().iter().find(|name| !is_known(name)) else {
            return Ok(());
        };
        let known: Vec<_> = self
            .reference_feeds
            .iter()
            .map(|feed| feed.name.value.as_str())
            .collect();
        let known = if known.is_empty() {
            "this market has none".to_owned()
        } else {
            format!("this market has {}", known.join(", "))
        };
        Err(Problem {
            at: choice.place("reference"),
            what: format!(
                "strategy {}: no [[market.reference_feed]] has the name {name:?}; {known}",
                choice.name.value
            ),
        })
    }

    /// Differences between the expected and the published values.
    pub fn unexpected(&self, found: &MarketSpec) -> Vec<(&At<u8>, &'static str, u8)> {
        let expected = &self.expected;
        [
            (
                &expected.base_decimals,
                "base_decimals",
                found.base.decimals,
            ),
            (
                &expected.quote_decimals,
                "quote_decimals",
                found.quote.decimals,
            ),
            (
                &expected.base_precision,
                "base_precision",
                found.base.precision,
            ),
            (
                &expected.quote_precision,
                "quote_precision",
                found.quote.precision,
            ),
            (
                &expected.price_decimals,
                "price_decimals",
                found.price_decimals,
            ),
        ]
        .into_iter()
        .filter_map(|(expected, name, found)| {
            let expected = expected.as_ref()?;
            (expected.value != found).then_some((expected, name, found))
        })
        .collect()
    }
}

pub(super) fn read(
    mut section: Section<'_, '_>,
    depth_ms: u64,
    (mode, used): (Mode, VenueUse),
    venue: &VenueSection,
    folder: &Path,
) -> Option<Market> {
    let pinned = venue.pinned;
    let name = section.req::<String>("name");
    let written = name.as_ref();
    let symbols = written.and_then(|name| symbols(&section, name, venue));
    let mut decimals = |key: &'static str| {
        let at = section.at();
        let found = section.number(key, 0, 0..=27);
        (found.at != at).then(|| found.map(small))
    };
    let expected = Expected {
        base_decimals: decimals("base_decimals"),
        quote_decimals: decimals("quote_decimals"),
        base_precision: decimals("base_precision"),
        quote_precision: decimals("quote_precision"),
        price_decimals: decimals("price_decimals"),
    };
    if pinned {
        let units = [
            "base_decimals",
            "base_precision",
            "quote_decimals",
            "quote_precision",
        ];
        require_pins(&section, &units);
    }
    let mut limits = MarketConfig::unset();
    let numbers = limits::numbers(
        &mut section,
        MarketConfig::LIMITS,
        &mut limits,
        nothing_derived,
    );
    let mut amounts = Written::default();
    venue.set_limits(&mut section, &mut limits, &mut amounts);
    let complete = amounts.read(&mut section, MarketConfig::LIMITS);
    amounts.read(&mut section, LossConfig::LIMITS);
    let empty = read_empty(&mut section);
    let feed = if section.has("feed") {
        feed::read(section.section("feed"), mode)
    } else if mode.depth() != DepthSource::Feed || used == VenueUse::Unused {
        None
    } else {
        venue_feed(&section, (name.as_ref(), &expected), venue, depth_ms)
    };
    let reference_feeds = read_reference_feeds(&mut section);
    let pool = pool::read(section.section("pool"), pinned);
    let strategies: Vec<_> = section
        .sections("strategy")
        .into_iter()
        .map(|section| read_strategy(section, folder))
        .collect();
    let valid: Vec<_> = strategies.iter().flatten().cloned().collect();
    venue.check_market(&section, &valid, (&expected, pool.as_ref()));
    if strategies.is_empty() {
        section.missing(
            "strategy",
            "a market needs at least one [[market.strategy]]",
        );
    }
    let frozen_after = &numbers["frozen_after_s"];
    if frozen_after.value > 0 && frozen_after.value.saturating_mul(1_000) <= depth_ms {
        let what =
            "market.frozen_after_s must be longer than poll.depth_ms, or 0 to switch the check off";
        section.problem(frozen_after.at, what);
    }
    check_order(&section, &amounts, &empty);
    if let (Some(name), Some((base, quote))) = (&name, &symbols) {
        let in_base = amounts
            .in_token(MarketConfig::LIMITS, true)
            .collect::<Vec<_>>();
        let in_quote = amounts.in_token(MarketConfig::LIMITS, false);
        let mut in_quote: Vec<_> = in_quote
            .chain(amounts.in_token(LossConfig::LIMITS, false))
            .collect();
        if let EmptyBook::Seed(seed) = &empty {
            in_quote.push(seed);
        }
        if let Some(pool) = &pool {
            in_quote.extend(pool.amounts.in_token(PoolConfig::LIMITS, false));
        }
        check_symbols(&section, name, base, &in_base);
        check_symbols(&section, name, quote, &in_quote);
    }
    section.finish();
    let (base, quote) = symbols?;
    complete?;
    Some(Market {
        name: name?,
        base,
        quote,
        expected,
        limits,
        amounts,
        empty,
        feed,
        reference_feeds: reference_feeds?,
        pool,
        strategies: strategies.into_iter().collect::<Option<_>>()?,
    })
}

/// Sources of reference prices; `None` if one is invalid or two have the same name.
fn read_reference_feeds(section: &mut Section<'_, '_>) -> Option<Vec<ReferenceFeed>> {
    let sections = section.sections("reference_feed");
    if sections.len() > REFERENCE_FEEDS_MAX {
        let what = format!("a market has at most {REFERENCE_FEEDS_MAX} [[market.reference_feed]]");
        section.problem(section.at(), what);
    }
    let feeds: Vec<_> = sections.into_iter().map(feed::read_reference).collect();
    let feeds: Vec<_> = feeds.into_iter().collect::<Option<_>>()?;
    for (index, feed) in feeds.iter().enumerate() {
        if feeds[..index]
            .iter()
            .any(|other| other.name.value == feed.name.value)
        {
            let what = format!(
                "another [[market.reference_feed]] of this market has the name {:?}",
                feed.name.value
            );
            section.problem(feed.name.at, what);
        }
    }
    Some(feeds)
}

/// The venue's own book, if no other feed is configured.
fn venue_feed(
    section: &Section<'_, '_>,
    (name, expected): (Option<&At<String>>, &Expected),
    venue: &VenueSection,
    depth_ms: u64,
) -> Option<Feed> {
    if venue.base_url.is_none() {
        section.missing(
            "feed",
            "market.feed is missing: without venue.base_url it is the source of depth",
        );
        return None;
    }
    venue.feed(section, (&name?.value, expected), depth_ms)
}

/// Checks orders between amounts: less than, above 0, in between.
fn check_order(section: &Section<'_, '_>, amounts: &Written, empty: &EmptyBook) {
    for [low, high] in [
        ["price_floor", "price_ceiling"],
        ["inventory_min", "inventory_max"],
    ] {
        if let (Some(least), Some(most)) = (amounts.of(low), amounts.of(high))
            && least.value.number >= most.value.number
        {
            let what = format!("market.{high} must be above market.{low}");
            section.problem(most.at, what);
        }
    }
    for key in ["price_floor", "order_value_max"] {
        if let Some(value) = amounts.of(key)
            && value.value.number.is_zero()
            && section.has(key)
        {
            section.problem(value.at, format!("market.{key} must be above 0"));
        }
    }
    if let (EmptyBook::Seed(seed), Some(floor), Some(ceiling)) = (
        empty,
        amounts.of("price_floor"),
        amounts.of("price_ceiling"),
    ) && !(floor.value.number..=ceiling.value.number).contains(&seed.value.number)
    {
        section.problem(
            seed.at,
            "market.seed_price must lie between price_floor and price_ceiling",
        );
    }
}

/// Every amount of a token must have its symbol or none. If all of them have another symbol, the market's name is
/// wrong.
fn check_symbols(
    section: &Section<'_, '_>,
    name: &At<String>,
    expected_symbol: &str,
    amounts: &[&At<Money>],
) {
    let written: Vec<_> = amounts
        .iter()
        .filter_map(|amount| amount.value.symbol.as_deref())
        .collect();
    if let [first, others @ ..] = written.as_slice()
        && *first != expected_symbol
        && !others.is_empty()
        && others.iter().all(|other| other == first)
    {
        let what = format!(
            "market.name = {:?}, but its amounts are in {first}, not in {expected_symbol}",
            name.value
        );
        section.problem(name.at, what);
        return;
    }
    for amount in amounts {
        if let Err(error) = amount.value.check_symbol(expected_symbol) {
            section.problem(amount.at, format!("this amount {error}"));
        }
    }
}

fn symbols(
    section: &Section<'_, '_>,
    name: &At<String>,
    venue: &VenueSection,
) -> Option<(String, String)> {
    let pair = name.value.split_once('-').filter(|(base, quote)| {
        let symbol = |text: &str| {
            (1..=16).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric())
        };
        symbol(base) && symbol(quote) && base != quote
    });
    if pair.is_none() {
        let example = venue.kind.description().market_example;
        let what = format!("market.name must be BASE-QUOTE, such as \"{example}\"");
        section.problem(name.at, what);
    }
    if let Some((base, quote)) = pair {
        venue.check_symbols(section, name.at, [base, quote]);
    }
    pair.map(|(base, quote)| (base.to_owned(), quote.to_owned()))
}

fn read_empty(section: &mut Section<'_, '_>) -> EmptyBook {
    let seeded = section.word(
        "empty_book",
        &[("no-quote", false), ("seed-price", true)],
        false,
    );
    let seed = section.opt::<Money>("seed_price");
    match (seeded.value, seed) {
        (true, Some(seed)) => EmptyBook::Seed(seed),
        (true, None) if section.has("seed_price") => EmptyBook::NoQuote,
        (true, None) => {
            section.problem(
                seeded.at,
                "market.empty_book = \"seed-price\" needs market.seed_price",
            );
            EmptyBook::NoQuote
        }
        (false, Some(seed)) => {
            section.problem(
                seed.at,
                "market.seed_price has no effect unless market.empty_book = \"seed-price\"",
            );
            EmptyBook::NoQuote
        }
        (false, None) => EmptyBook::NoQuote,
    }
}

fn read_strategy(mut section: Section<'_, '_>, folder: &Path) -> Option<StrategyChoice> {
    let name = section.req::<String>("name");
    let kinds = [("builtin", false), ("process", true)];
    let runs_apart = section.word("kind", &kinds, false).value;
    let process = runs_apart.then(|| process::read(&mut section, folder));
    let params = section.section("params");
    let (params, places) = params.verbatim();
    section.finish();
    Some(StrategyChoice {
        name: name?,
        params,
        process: match process {
            Some(process) => Some(process?),
            None => None,
        },
        places,
    })
}
