//! Stored profit and loss: what every strategy of every market has earned and lost, written in the transactions that
//! change it and therefore exact after any crash.
//!
//! The computation is that of [`cambist_report::pnl`]. Each market has one count for every strategy, which starts at
//! zero, and one for the account: opening balances and flows. Their sum is the market's profit and loss, because the
//! computation is linear in the holdings. Shares of a pool are rounded down and therefore counted in one place only:
//! that of the first share.
//!
//! The newest state of every hour is kept, with the balance of every token: a period is the difference of two states.
//! If counting cannot continue (the market's units have changed, or amounts overflow), a new series begins.

pub mod period;
#[cfg(test)]
mod pool_tests;
mod rows;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod year_tests;

use std::collections::BTreeMap;

use cambist_core::books::{Booking, Books, Carrier, Position};
use cambist_core::event::Totals;
use cambist_core::notification::{Fill, PoolTransactionSettlement};
use cambist_core::pool::PoolBalances;
use cambist_core::sorted_map::SortedMap;
use cambist_core::sorted_set::SortedSet;
use cambist_core::{Amount, ClientOrderId, MarketId, MarketSpec, PoolSpec};
use cambist_report::pnl::{Attribution, MarketPnl, PnlState};
use rusqlite::Transaction;
use serde::{Deserialize, Serialize};

pub(super) use rows::names;

use super::books::Listing;
use super::recover::ReadError;
use super::{Store, StoreEntry, StoreError};

/// Owner of opening balances and flows.
pub const ACCOUNT: &str = "account";

/// Microseconds of an hour.
const HOUR_US: u64 = 3_600_000_000;

/// State of one count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountState {
    /// Profit and loss.
    pub pnl: PnlState,
    /// Number of fills.
    pub fills: u64,
    /// Base units traded.
    pub base_volume: Amount,
    /// Quote units traded.
    pub quote_volume: Amount,
    /// Base units and shares from flows, outflows negative.
    pub came: [i128; 2],
}

/// Profit and loss of one strategy, or of the account, in one market.
#[derive(Debug)]
struct Count {
    pnl: MarketPnl,
    fills: u64,
    base_volume: Amount,
    quote_volume: Amount,
    came: [i128; 2],
}

impl Count {
    fn state(&self) -> Option<CountState> {
        Some(CountState {
            pnl: self.pnl.state()?,
            fills: self.fills,
            base_volume: self.base_volume,
            quote_volume: self.quote_volume,
            came: self.came,
        })
    }

    fn resume(spec: &MarketSpec, pool: Option<&PoolSpec>, state: CountState) -> Option<Self> {
        Some(Self {
            pnl: MarketPnl::resume(spec, pool, state.pnl)?,
            fills: state.fills,
            base_volume: state.base_volume,
            quote_volume: state.quote_volume,
            came: state.came,
        })
    }

    fn explain_base(&mut self, spec: &MarketSpec, units: i128) {
        self.pnl.explain(spec.base.id, units);
        self.came[0] = self.came[0].saturating_add(units);
    }

    fn explain_shares(&mut self, pool: &PoolSpec, shares: i128) {
        self.pnl.explain(pool.lp.id, shares);
        self.came[1] = self.came[1].saturating_add(shares);
    }
}

/// The counts of one market.
#[derive(Debug)]
struct MarketCounts {
    spec: MarketSpec,
    pool: Option<PoolSpec>,
    /// The pool's last known balances.
    balances: Option<PoolBalances>,
    mark: Option<u64>,
    series: u32,
    /// Whether the account's first state with a mid was written.
    has_opening: bool,
    counts: BTreeMap<String, Count>,
}

impl MarketCounts {
    fn begin(spec: &MarketSpec, pool: Option<&PoolSpec>, series: u32) -> Self {
        Self {
            spec: spec.clone(),
            pool: pool.cloned(),
            balances: None,
            mark: None,
            series,
            has_opening: false,
            counts: BTreeMap::new(),
        }
    }

    /// Opens the account's count with the opening balances.
    fn open(&mut self, base: i128, shares: i128) {
        let mut count = self.empty();
        let units = |units| u128::try_from(units).unwrap_or(0);
        count.pnl.open(units(base), units(shares));
        self.counts.insert(ACCOUNT.to_owned(), count);
    }

    /// A new count without holdings.
    fn empty(&self) -> Count {
        let mut pnl = MarketPnl::new(&self.spec);
        if let Some(pool) = &self.pool {
            pnl.add_pool(pool);
        }
        if let Some(balances) = self.balances {
            pnl.pool_holds(balances);
        }
        if let Some(mark) = self.mark {
            pnl.mid(mark);
        }
        Count {
            pnl,
            fills: 0,
            base_volume: 0,
            quote_volume: 0,
            came: [0; 2],
        }
    }

    /// The count of a strategy; a new one starts at zero.
    fn count(&mut self, owner: &str) -> &mut Count {
        let mut empty = self.empty();
        empty.pnl.open(0, 0);
        self.counts.entry(owner.to_owned()).or_insert(empty)
    }

    fn mark(&mut self, mid: u64) {
        self.mark = Some(mid);
        for count in self.counts.values_mut() {
            count.pnl.mid(mid);
        }
    }

    fn pool_holds(&mut self, balances: PoolBalances) {
        self.balances = Some(balances);
        for count in self.counts.values_mut() {
            count.pnl.pool_holds(balances);
        }
    }

    fn fill(&mut self, owner: &str, fill: &Fill) {
        if let Some(mid) = fill.mid {
            self.mark = Some(mid);
        }
        let count = self.count(owner);
        count.pnl.fill(fill);
        count.fills = count.fills.saturating_add(1);
        count.base_volume = count.base_volume.saturating_add(fill.base);
        count.quote_volume = count.quote_volume.saturating_add(fill.quote);
    }

    /// The owner of the pool's shares, or `otherwise` if there are none yet.
    fn pool_owner(&self, otherwise: &str) -> String {
        let mut holders = self.counts.iter().filter(|(_, count)| {
            let state = count.pnl.state();
            let shares = state.and_then(|state| state.shares());
            shares.is_some_and(|(_, shares)| shares != 0)
        });
        let found = holders.next().map(|(owner, _)| owner.clone());
        found.unwrap_or_else(|| otherwise.to_owned())
    }

    fn moved(&mut self, owner: &str, moved: &PoolTransactionSettlement) {
        if let Some(mid) = moved.mid {
            self.mark = Some(mid);
        }
        let owner = self.pool_owner(owner);
        self.count(&owner).pnl.moved(moved);
    }

    /// Attributes the difference between books and counts to flows or other markets.
    fn take_base(&mut self, base: i128) {
        let counted = self.counts.values();
        let counted = counted.filter_map(|count| Some(count.pnl.state()?.base()));
        let counted = counted.fold(0, i128::saturating_add);
        let came = base.saturating_sub(counted);
        let spec = self.spec.clone();
        if came != 0 {
            self.count(ACCOUNT).explain_base(&spec, came);
        }
    }

    fn take_shares(&mut self, shares: i128) {
        let Some(pool) = self.pool.clone() else {
            return;
        };
        let counts = self.counts.values();
        let counted = counts.filter_map(|count| count.pnl.state()?.shares());
        let counted = counted.fold(0_i128, |sum, (_, shares)| sum.saturating_add(shares));
        let came = shares.saturating_sub(counted);
        if came != 0 {
            let owner = self.pool_owner(ACCOUNT);
            self.count(&owner).explain_shares(&pool, came);
        }
    }
}

/// All counts.
#[derive(Debug)]
pub(super) struct Results {
    names: Names,
    markets: SortedMap<MarketId, MarketCounts>,
    carriers: Vec<Carrier>,
    is_open: bool,
    /// Balances of pools that the next booking uses.
    pools: SortedMap<MarketId, PoolBalances>,
    /// The newest written hour; stored times never decrease.
    hour: u64,
}

/// Names of strategies, by the number of the first order made with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(Vec<(u64, BTreeMap<u8, String>)>);

impl Names {
    /// The strategy's name when this order was made.
    pub fn of(&self, number: u64, strategy: u8) -> String {
        let since = self.0.iter().rev().find(|(since, _)| *since <= number);
        // An order from before names were stored.
        let names = since.or_else(|| self.0.first()).map(|(_, names)| names);
        let name = names.and_then(|names| names.get(&strategy)).cloned();
        name.unwrap_or_else(|| format!("strategy {strategy}"))
    }
}

impl Results {
    fn name(&self, order: ClientOrderId) -> String {
        self.names.of(order.number, order.strategy.0)
    }

    /// Counts what one event changed, in the same transaction.
    pub(super) fn book(
        &mut self,
        change: &Transaction<'_>,
        entries: &[StoreEntry],
        booking: &Booking,
        at_us: u64,
    ) -> rusqlite::Result<()> {
        let mut touched: SortedSet<_> = booking.positions.keys().copied().collect();
        for (id, balances) in std::mem::take(&mut self.pools) {
            if let Some(market) = self.markets.get_mut(&id) {
                market.pool_holds(balances);
            }
        }
        if booking.opens && !self.is_open {
            self.open(&booking.ledger);
            touched.extend(self.markets.keys().copied());
        } else if self.is_open {
            for entry in entries {
                touched.extend(self.count_entry(entry));
            }
        }
        if self.is_open {
            self.agree_with(&booking.positions, &booking.ledger);
            let hour = (at_us / HOUR_US).max(self.hour);
            self.hour = hour;
            self.write(change, &touched, at_us)?;
            rows::set_balances(change, &booking.ledger, booking.opens, (hour, at_us))?;
        }
        Ok(())
    }

    /// Opens the counts with the opening balances: each base token in the first market that trades it.
    fn open(&mut self, ledger: &Totals) {
        let held = |token| ledger.get(&token).copied().unwrap_or(0);
        let mut carried = SortedSet::new();
        for of in &self.carriers {
            let base = if carried.insert(of.base) {
                held(of.base)
            } else {
                0
            };
            let shares = of.shares.map_or(0, held);
            if let Some(market) = self.markets.get_mut(&of.market)
                && !market.counts.contains_key(ACCOUNT)
            {
                market.open(base, shares);
            }
        }
        self.is_open = true;
    }

    fn count_entry(&mut self, entry: &StoreEntry) -> Option<MarketId> {
        match entry {
            StoreEntry::Fill(fill) => {
                let owner = self.name(fill.order);
                self.markets.get_mut(&fill.market)?.fill(&owner, fill);
                Some(fill.market)
            }
            StoreEntry::End {
                moved: Some(moved), ..
            } => {
                let owner = self.name(moved.order);
                self.markets.get_mut(&moved.market)?.moved(&owner, moved);
                Some(moved.market)
            }
            // Flows are counted from the change of the books.
            StoreEntry::End { moved: None, .. }
            | StoreEntry::Flow { .. }
            | StoreEntry::LossesForgotten
            | StoreEntry::SlotTaken { .. } => None,
        }
    }

    /// Updates mids, and counts differences between books and counts.
    fn agree_with(&mut self, positions: &SortedMap<MarketId, Position>, ledger: &Totals) {
        for (id, position) in positions {
            let Some(market) = self.markets.get_mut(id) else {
                continue;
            };
            let mid = position.baselines.as_ref();
            let mid = mid.and_then(|baselines| half_ticks(&market.spec, baselines.mid));
            // All counts use the same mid, even if only one had a fill.
            if let Some(mid) = mid.or(market.mark) {
                market.mark(mid);
            }
            market.take_base(position.base);
        }
        for of in &self.carriers {
            let shares = of.shares.and_then(|shares| ledger.get(&shares));
            if let (Some(shares), Some(market)) = (shares, self.markets.get_mut(&of.market)) {
                market.take_shares(*shares);
            }
        }
    }

    fn write(
        &mut self,
        change: &Transaction<'_>,
        touched: &SortedSet<MarketId>,
        at_us: u64,
    ) -> rusqlite::Result<()> {
        let hour = self.hour;
        for id in touched {
            let Some(market) = self.markets.get_mut(id) else {
                continue;
            };
            let name = market.spec.name.clone();
            for (owner, count) in &market.counts {
                let state = count.state();
                if state.is_none() {
                    tracing::error!(
                        market = name,
                        owner,
                        "profit and loss cannot be counted any more"
                    );
                }
                let key = rows::Key {
                    market: &name,
                    owner,
                    hour,
                    series: market.series,
                };
                let has_mark = state.as_ref().is_none_or(|s| s.pnl.mark().is_some());
                if owner == ACCOUNT && !market.has_opening && has_mark {
                    rows::set(change, &key, false, state.as_ref(), at_us)?;
                }
                rows::set(change, &key, true, state.as_ref(), at_us)?;
            }
            let account = market.counts.get(ACCOUNT);
            market.has_opening |= account.is_some_and(|count| {
                let state = count.state();
                state.is_none_or(|state| state.pnl.mark().is_some())
            });
        }
        Ok(())
    }
}

/// A stored price as a mid in half ticks; `None` if it is not in the market's units.
fn half_ticks(spec: &MarketSpec, rate: cambist_core::event::Rate) -> Option<u64> {
    let same = rate.base == spec.lot.checked_mul(2)?
        && rate.quote.checked_rem(spec.quote_per_lot_tick)? == 0;
    let mid = same.then(|| rate.quote / spec.quote_per_lot_tick)?;
    u64::try_from(mid).ok()
}

impl Store {
    /// Profit and loss of every owner in every market, since counting began in the market's present units: market,
    /// owner, and `None` where it is not known, because amounts became too large or counting has not begun.
    pub fn profit_and_loss(&self) -> impl Iterator<Item = (&str, &str, Option<Attribution>)> {
        let markets = self.results.iter().flat_map(|all| all.markets.values());
        markets.flat_map(|market| {
            let counts = market.counts.iter();
            counts.map(|(owner, count)| {
                let pnl = count.pnl.attribution();
                (market.spec.name.as_str(), owner.as_str(), pnl)
            })
        })
    }

    /// Continues counting for these markets, with the strategies in their configured order. Changes of the books since
    /// the last booking count as flows.
    pub fn count_results(
        &mut self,
        listing: &Listing,
        strategies: &[String],
        books: &Books,
    ) -> Result<(), StoreError> {
        let at_us = self.clock.unix_micros();
        self.count_results_at(at_us, listing, strategies, books)
    }

    fn count_results_at(
        &mut self,
        at_us: u64,
        listing: &Listing,
        strategies: &[String],
        books: &Books,
    ) -> Result<(), StoreError> {
        let next_number = self.next_number;
        let file = self.file.clone();
        let database = &mut self.database;
        let counted = (|| {
            let change = database.transaction()?;
            rows::set_names(&change, next_number, strategies)?;
            let mut results = Results {
                names: rows::names(&change)?,
                markets: SortedMap::new(),
                carriers: Carrier::of(&listing.markets, &listing.pools),
                is_open: false,
                pools: SortedMap::new(),
                hour: rows::newest_hour(&change)?,
            };
            for spec in &listing.markets {
                let pool = listing.pools.iter().find(|pool| pool.market == spec.id);
                let market = resumed(&change, spec, pool)?;
                results.markets.insert(spec.id, market);
            }
            if let Some(ledger) = &books.ledger {
                let booking = Booking {
                    opens: rows::has_no_balances(&change)?,
                    ledger: ledger.clone(),
                    positions: books.positions.clone(),
                    ..Booking::default()
                };
                results.open(ledger);
                results.book(&change, &[], &booking, at_us)?;
            }
            change.commit()?;
            Ok(results)
        })();
        self.results = Some(counted.map_err(|error: ReadError| error.at(&file))?);
        Ok(())
    }

    /// Sets the balances of pools for the next booking.
    pub fn pools_hold(&mut self, pools: SortedMap<MarketId, PoolBalances>) {
        if let Some(results) = &mut self.results {
            results.pools.extend(pools);
        }
    }
}

/// The stored counts of a market; a new series if they cannot be continued.
fn resumed(
    change: &Transaction<'_>,
    spec: &MarketSpec,
    pool: Option<&PoolSpec>,
) -> Result<MarketCounts, ReadError> {
    let kept = rows::newest(change, &spec.name)?;
    let series = kept.iter().map(|(_, series, _)| *series).max();
    let mut market = MarketCounts::begin(spec, pool, series.unwrap_or(0));
    let current = kept
        .into_iter()
        .filter(|(_, of, _)| Some(*of) == series)
        .collect::<Vec<_>>();
    for (owner, _, state) in current {
        let state = state.and_then(|state| Count::resume(spec, pool, state));
        let Some(count) = state else {
            let next = series.unwrap_or(0).saturating_add(1);
            tracing::warn!(
                market = spec.name,
                "profit and loss starts from zero: the market's units differ from those of the stored count"
            );
            return Ok(MarketCounts::begin(spec, pool, next));
        };
        market.mark = market.mark.or_else(|| count.pnl.mark());
        market.counts.insert(owner, count);
    }
    market.has_opening = market.mark.is_some();
    Ok(market)
}
