//! Scenarios: a market worth quoting and what happens to it when. One file for the demo, the tests, the
//! simulated world.
//!
//! Times are seconds since the traders began (`at_s`, `for_s`), or shares of the run (`at_percent`,
//! `for_percent`), so that a scenario fits a minute as well as an hour. Tokens and markets are those of
//! whoever reads the file; amounts are whole tokens.

mod events;

use cambist_core::{Amount, MarketSpec};
use cambist_venue::Scale;
use cambist_venue::agents::AgentsConfig;

pub use events::Event;

use crate::crowd;
use crate::money::Money;
use crate::reader::{ConfigError, Section, Source};
use crate::value::{small, version};

/// The scenarios that come with the program: name and text.
pub const BUILT_IN: [(&str, &str); 7] = [
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
        "outage",
        include_str!("../../../config/scenarios/outage.toml"),
    ),
];

/// The built-in scenario of a name.
pub fn built_in(name: &str) -> Option<Source> {
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some(Source {
        path: format!("config/scenarios/{name}.toml").into(),
        text: (*text).to_owned(),
    })
}

/// What a scenario is played with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Same seed, same traders.
    pub seed: u64,
    /// What shares of the run are shares of.
    pub duration_ms: u64,
}

/// The traders of one market, and what its pool holds at the beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct Crowd {
    /// The traders with their part of the timeline. Which pool is theirs is for the reader to say.
    pub agents: AgentsConfig,
    /// Base and quote units of the pool, at the fair price; `None` leaves it empty.
    pub pool: Option<[Amount; 2]>,
}

/// A checked scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// One line about it.
    pub about: String,
    /// A crowd a market.
    pub crowds: Vec<Crowd>,
    /// What happens, in the order of time: for people. It is in the timelines of the crowds already.
    pub events: Vec<Event>,
    /// A market maker ought to show both sides for this share of the time.
    pub both_sides_min_percent: u8,
    /// One that was killed ought to quote both sides again within this, beside what the fence needs.
    pub recovery_max_s: u16,
}

impl Scenario {
    /// Reads and checks a text against these markets.
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
    let crowds: Option<Vec<_>> = written
        .into_iter()
        .zip(seeds)
        .map(|(section, seed)| crowd(section, markets, seed))
        .collect();
    let happenings = root.sections("event");
    root.finish();
    let mut crowds = crowds?;
    let events = events::read(happenings, markets, run, &mut crowds)?;
    Some(Scenario {
        about: about?.value,
        crowds,
        events,
        both_sides_min_percent: small(both_sides?.value),
        recovery_max_s: small(recovery_max.value),
    })
}

fn crowd(mut section: Section<'_, '_>, markets: &[MarketSpec], seed: u64) -> Option<Crowd> {
    let pool_base = section.opt::<Money>("pool_base");
    let agents = crowd::traders(&mut section, markets, Some(seed));
    let at = section.at();
    let agents = agents?;
    let market = markets.iter().find(|market| market.id == agents.market)?;
    let base = match pool_base {
        Some(money) => Some(crowd::amount(&section, market, Some(money))?),
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
        section.problem(at, "traders.pool_base is worth more than can be counted");
    }
    section.finish();
    Some(Crowd {
        agents,
        pool: pool.flatten(),
    })
}

#[cfg(test)]
mod tests;
