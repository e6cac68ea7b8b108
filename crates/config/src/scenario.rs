//! Scenarios: the simulated traders of each market and the events of a run. The demo, the tests and the simulated world
//! read the same files.
//!
//! Times are seconds since the traders started (`at_s`, `for_s`) or percentages of the run (`at_percent`,
//! `for_percent`), so that a scenario fits runs of any length. The caller supplies the tokens and markets; amounts are
//! whole tokens.

mod events;

use cambist_core::{Amount, MarketSpec};
use cambist_venue::Scale;
use cambist_venue::agents::AgentsConfig;

pub use events::Event;

use crate::money::Money;
use crate::reader::{ConfigError, Section, Source};
use crate::traders;
use crate::value::{small, version};

/// The built-in scenarios: name and text.
pub const BUILT_IN: [(&str, &str); 8] = [
    ("calm", include_str!("../../../config/scenarios/calm.toml")),
    (
        "trending",
        include_str!("../../../config/scenarios/trending.toml"),
    ),
    (
        "volatile",
        include_str!("../../../config/scenarios/volatile.toml"),
    ),
    (
        "crash",
        include_str!("../../../config/scenarios/crash.toml"),
    ),
    ("thin", include_str!("../../../config/scenarios/thin.toml")),
    (
        "pool-drained",
        include_str!("../../../config/scenarios/pool-drained.toml"),
    ),
    (
        "swapped",
        include_str!("../../../config/scenarios/swapped.toml"),
    ),
    (
        "outage",
        include_str!("../../../config/scenarios/outage.toml"),
    ),
];

/// The built-in scenario with this name.
pub fn built_in(name: &str) -> Option<Source> {
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(Source {
        path: format!("config/scenarios/{name}.toml").into(),
        text: (*text).to_owned(),
    })
}

/// Parameters of one run of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Seed of the simulated traders; equal seeds give equal traders.
    pub seed: u64,
    /// Length of the run, in milliseconds; `at_percent` and `for_percent` refer to it.
    pub duration_ms: u64,
}

/// The simulated traders of one market, and what its pool holds at the beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct MarketTraders {
    /// The traders, with their part of the timeline. The caller sets their pool.
    pub agents: AgentsConfig,
    /// Base and quote units of the pool at the fair price; `None` leaves the pool empty.
    pub pool: Option<[Amount; 2]>,
}

/// A checked scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// A description of one line.
    pub about: String,
    /// The simulated traders of each market.
    pub traders: Vec<MarketTraders>,
    /// The events in order of time, for display. They are already part of the traders' timelines.
    pub events: Vec<Event>,
    /// Share of the run, in percent, for which a market maker is expected to quote both sides.
    pub both_sides_min_percent: u8,
    /// Seconds within which a daemon that was killed is expected to quote both sides again, in addition to the time
    /// that the fence requires.
    pub recovery_max_s: u16,
}

impl Scenario {
    /// Parses and checks a scenario file for these markets.
    pub fn parse(source: &Source, markets: &[MarketSpec], run: Run) -> Result<Self, ConfigError> {
        source.read_with(|_, root| read(root, markets, run))
    }
}

fn read(mut root: Section<'_, '_>, markets: &[MarketSpec], run: Run) -> Option<Scenario> {
    version(&mut root);
    let about = root.req::<String>("about");
    let mut expect = root.section("expect");
    let both_sides = expect.req_number("both_sides_min_percent", 0..=100);
    let recovery_max = expect.number("recovery_max_s", 3, 1..=600);
    expect.finish();
    let written = root.sections("traders");
    if written.is_empty() {
        root.missing("traders", "at least one [[traders]] is needed");
    }
    let seeds = (0..).map(|index| run.seed.wrapping_add(index));
    let traders: Option<Vec<_>> = written
        .into_iter()
        .zip(seeds)
        .map(|(section, seed)| market_traders(section, markets, seed))
        .collect();
    let happenings = root.sections("event");
    root.finish();
    let mut traders = traders?;
    let events = events::read(happenings, markets, run, &mut traders)?;
    Some(Scenario {
        about: about?.value,
        traders,
        events,
        both_sides_min_percent: small(both_sides?.value),
        recovery_max_s: small(recovery_max.value),
    })
}

fn market_traders(
    mut section: Section<'_, '_>,
    markets: &[MarketSpec],
    seed: u64,
) -> Option<MarketTraders> {
    let pool_base = section.opt::<Money>("pool_base");
    let agents = traders::traders(&mut section, markets, Some(seed));
    let at = section.at();
    let agents = agents?;
    let market = markets.iter().find(|market| market.id == agents.market)?;
    let base = match pool_base {
        Some(money) => Some(traders::amount(&section, market, Some(money))?),
        None => None,
    };
    let scale = Scale::new(
        market.base.decimals,
        market.quote.decimals,
        market.price_decimals,
    );
    let pool = base.filter(|base| *base > 0).map(|base| {
        let quote = scale.and_then(|scale| scale.quote_ceil(base, agents.start_price));
        quote.map(|quote| [base, quote])
    });
    if pool == Some(None) {
        section.problem(
            at,
            "traders.pool_base is too large: its value exceeds 96 bits",
        );
    }
    section.finish();
    Some(MarketTraders {
        agents,
        pool: pool.flatten(),
    })
}

#[cfg(test)]
mod tests;
