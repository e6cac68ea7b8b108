//! Facts about a strategy before it is built, and lookup by name. The list is in `lib.rs`.

use cambist_core::strategy::{ProcessMessage, Replacement, Strategy, Targets, View};
use cambist_core::{Amount, MarketSpec, Time};

use crate::parameter::{ParamError, Parameter, Params};
use crate::{ALL, hedged_lp};

/// The parameter with which the book of another venue takes the place of the market's own.
const BOOK: &str = "book";

/// Builds a strategy for one market from a table that was checked against its declaration.
pub type Build = fn(&Params, &MarketSpec) -> Result<Box<dyn Strategy>, ParamError>;

/// The output of a strategy, by which the demo assesses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Quotes resting on both sides.
    Quotes,
    /// Shares of the pool beside the market: joins and exits. It quotes nothing.
    PoolShares,
    /// Swaps with the pool beside the market and orders on its book, in equal base amounts: [`StrategyInfo::two_legs`].
    Swaps,
    /// Fills of one side up to the parameter `total`, and no more.
    Total,
    /// A share of the value held in base, within a band.
    Weight,
    /// Base held at several venues together, at a target.
    Hedge,
}

/// A strategy that trades on the book and swaps the same base with the pool beside the market, or trades what others of
/// another venue did. What it holds between the two is an open leg: the distance of the base holdings from its target. So
/// it needs a market of its own, and a pool that takes swaps if it swaps.
#[derive(Clone, Copy, Debug)]
pub struct TwoLegs {
    /// The largest open leg of a table that was checked against the declaration.
    pub open_leg: fn(&Params, &MarketSpec) -> Result<OpenLeg, ParamError>,
    /// What opens a leg.
    pub first: FirstLeg,
}

/// What opens a leg; the other leg closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstLeg {
    /// Fills of its orders; swaps with the pool close it.
    Fill,
    /// Swaps with the pool; orders that take from the book close it.
    Swap,
    /// Whatever changes the base held at other venues; orders that take from the book close it.
    Elsewhere,
}

impl FirstLeg {
    /// Whether the other leg takes from the book.
    pub fn is_closed_by_taking(self) -> bool {
        self != Self::Fill
    }

    /// Whether one of the legs is a swap with the pool beside the market.
    pub fn needs_pool(self) -> bool {
        self != Self::Elsewhere
    }
}

/// The largest open leg of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenLeg {
    /// Base held while no leg is open, base units.
    pub target: Amount,
    /// Most between the holdings and the target, base units.
    pub base: Amount,
    /// How far beyond the mid it is closed at most, basis points.
    pub unwind_bps: u32,
    /// How far an order may rest from its target price before its fill and the closing of its leg may lose, basis
    /// points; `None` if another limit binds what a round earns.
    pub drift_max_bps: Option<u32>,
}

/// Facts about a strategy before it is built.
#[derive(Debug)]
pub struct StrategyInfo {
    /// The name in configurations and on the command line.
    pub name: &'static str,
    /// One or two sentences.
    pub summary: &'static str,
    /// What the demo checks.
    pub promise: Promise,
    /// Its open leg, if it trades in two legs at one market. One that names a market of another venue in `book` does not.
    pub two_legs: Option<TwoLegs>,
    /// Every parameter.
    pub parameters: &'static [Parameter],
    /// Builds it from a table that was checked against `parameters`; checks conditions on several parameters or the
    /// market.
    pub build: Build,
}

impl StrategyInfo {
    /// Reads the user's table and builds the strategy from it. It takes other parameters while it runs, as the text of
    /// such a table.
    pub fn build_from(
        &self,
        table: &toml::Table,
        market: &MarketSpec,
    ) -> Result<Box<dyn Strategy>, ParamError> {
        let params = Params::read(self.parameters, table)?;
        Ok(Box::new(Configured {
            inner: (self.build)(&params, market)?,
            params,
            name: self.name,
            parameters: self.parameters,
            build: self.build,
        }))
    }
}

impl StrategyInfo {
    /// Its legs with a table, if both are at one market.
    pub fn two_legs_with(&self, table: &toml::Table) -> Option<TwoLegs> {
        let book = table.get(BOOK).and_then(toml::Value::as_str);
        self.two_legs.filter(|_| book.is_none_or(str::is_empty))
    }

    /// Whether its orders with a table take from the book.
    pub fn takes(&self, table: &toml::Table) -> bool {
        let legs = self.two_legs_with(table);
        self.promise == Promise::Weight || legs.is_some_and(|legs| legs.first.is_closed_by_taking())
    }

    /// Whether it needs a pool that takes swaps.
    pub fn swaps(&self) -> bool {
        self.two_legs.is_some_and(|legs| legs.first.needs_pool())
    }

    /// Whether it does nothing without the pool beside its market.
    pub fn needs_pool(&self) -> bool {
        let hedges = self.name == hedged_lp::INFO.name;
        self.promise == Promise::PoolShares || self.swaps() || hedges
    }

    /// What it needs of the file beside its own section; `cambist check` refuses a file without.
    pub fn needs(&self) -> Vec<&'static str> {
        let mut needs = Vec::new();
        if self.promise == Promise::PoolShares {
            needs.push("a [market.pool]");
        }
        if self.swaps() {
            needs.push("a [market.pool] with a swap_value_max above 0");
        }
        if self.two_legs.is_some() {
            needs.push("a market without other strategies");
        }
        if self.promise == Promise::Hedge {
            needs.push("a file of [[venue]] sections that names the other venues");
        }
        if self.takes(&toml::Table::new()) {
            needs.push("orders.maker_only = false, and fees.taker_bips as the venue charges");
        }
        needs
    }

    /// The largest open leg of a table; `None` for a strategy of one leg, and for a table that is not valid.
    pub fn open_leg(&self, table: &toml::Table, market: &MarketSpec) -> Option<OpenLeg> {
        let params = Params::read(self.parameters, table).ok()?;
        (self.two_legs_with(table)?.open_leg)(&params, market).ok()
    }
}

/// A strategy with the parameters that it was built from.
struct Configured {
    inner: Box<dyn Strategy>,
    params: Params,
    name: &'static str,
    parameters: &'static [Parameter],
    build: Build,
}

impl Strategy for Configured {
    fn references(&self) -> &[String] {
        self.inner.references()
    }

    fn reads(&self) -> &[String] {
        self.inner.reads()
    }

    fn check_reads(&self, market: &MarketSpec, others: &[&MarketSpec]) -> Result<(), String> {
        self.inner.check_reads(market, others)
    }

    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        self.inner.decide(view, targets);
    }

    fn save(&self) -> Vec<u8> {
        self.inner.save()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        self.inner.restore(saved)
    }

    fn save_durable(&self) -> Vec<u8> {
        self.inner.save_durable()
    }

    fn resume(&mut self, saved: &[u8]) -> bool {
        self.inner.resume(saved)
    }

    fn with_parameters(
        &self,
        market: &MarketSpec,
        parameters: &str,
    ) -> Result<Replacement, String> {
        let named = |what: &dyn std::fmt::Display| format!("{}.{what}", self.name);
        let table = parameters
            .parse()
            .map_err(|_| format!("the parameters of {} are not TOML", self.name))?;
        let params = Params::read(self.parameters, &table).map_err(|error| named(&error))?;
        let mut inner = (self.build)(&params, market).map_err(|error| named(&error))?;
        if !inner.restore(&self.inner.save()) {
            let name = self.name;
            return Err(format!(
                "{name} cannot continue from its state with these parameters; they need a restart"
            ));
        }
        let (mut changed, mut looser) = (Vec::new(), Vec::new());
        for change in self.params.changes(&params, self.parameters) {
            let text = named(&format_args!(
                "{} {} → {}",
                change.key, change.old, change.new
            ));
            if change.looser {
                looser.push(text.clone());
            }
            changed.push(text);
        }
        let strategy = Box::new(Self {
            inner,
            params,
            name: self.name,
            parameters: self.parameters,
            build: self.build,
        });
        Ok(Replacement {
            strategy,
            changed,
            looser,
        })
    }

    fn next_decision(&self) -> Option<Time> {
        self.inner.next_decision()
    }

    fn view_seq(&self) -> u64 {
        self.inner.view_seq()
    }

    fn take_view(&mut self) -> Option<String> {
        self.inner.take_view()
    }

    fn receive(&mut self, now: Time, message: &ProcessMessage) -> Result<(), String> {
        self.inner.receive(now, message)
    }
}

/// Every strategy, in the order of listings.
pub fn all() -> &'static [StrategyInfo] {
    ALL
}

/// The strategy with this name.
pub fn find(name: &str) -> Option<&'static StrategyInfo> {
    ALL.iter().find(|info| info.name == name)
}

/// The known name that is most similar to `name`, for an error message.
pub fn nearest(name: &str) -> Option<&'static str> {
    ALL.iter()
        .map(|info| (strsim::damerau_levenshtein(info.name, name), info.name))
        .min()
        .filter(|(distance, near)| *distance * 2 <= near.len())
        .map(|(_, near)| near)
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
