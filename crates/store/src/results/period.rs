//! Profit and loss of a period from the store, also while a daemon is running.
//!
//! Everything is a difference of two moments: the newest states and balances before them. Equity is valued from the
//! ledger and not from the counts, so that the two can be compared: the change of equity less flows equals the sum of
//! all causes exactly, and every balance changed by trades and flows. Differences are reported and never attributed to
//! a cause.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cambist_core::sorted_map::SortedMap;
use cambist_core::sorted_set::SortedSet;
use cambist_core::venue::ChargedAs;
use cambist_core::{Amount, MarketSpec, TokenId, TokenSpec};
use cambist_report::money::Money;
use cambist_report::pnl::Attribution;
use rusqlite::Connection;

use super::rows::{self, Balance, Found};
use super::{ACCOUNT, CountState, HOUR_US};
use crate::books::{self, Listing};
use crate::recover::ReadError;
use crate::{StoreError, flows, view};

const DAY_HOURS: u64 = 24;

/// A period in hours since the Unix epoch, from `from` inclusive to `to` exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hours {
    /// First hour; `None` for the beginning.
    pub from: Option<u64>,
    /// First hour after the period; `None` for now.
    pub to: Option<u64>,
}

/// Profit and loss of one strategy in one market on one day, or on a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayRow {
    /// Days since the Unix epoch, UTC.
    pub day: u64,
    /// The market.
    pub market: String,
    /// The strategy, or [`ACCOUNT`].
    pub strategy: String,
    /// The quote token.
    pub quote: TokenId,
    /// Profit and loss by cause.
    pub pnl: Attribution,
    /// Number of fills.
    pub fills: u64,
    /// Base units traded.
    pub base_volume: Amount,
    /// Quote units traded.
    pub quote_volume: Amount,
}

/// The period in one quote token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuoteRow {
    /// The quote token.
    pub quote: TokenId,
    /// Equity at the beginning and at the end; `None` if a price is missing.
    pub equity: Option<[Money; 2]>,
    /// Value of the flows, outflows negative.
    pub flows: Money,
    /// Profit and loss by cause.
    pub pnl: Option<Attribution>,
    /// The change of equity less flows and profit and loss: zero, unless the report gives a reason.
    pub unattributed: Option<Money>,
    /// What charges that count as a token of these markets were worth, each at the mid of its hour: never above zero, and
    /// not in profit and loss. `None` if nothing counts, or if a price is missing.
    pub charges: Option<Money>,
}

/// A token's balance over the period, base units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenRow {
    /// At the beginning and at the end.
    pub units: [i128; 2],
    /// Traded by fills, joins and exits.
    pub traded: i128,
    /// Explained flows, without charges.
    pub flows: i128,
    /// What the venue took for requests, such as gas: never above zero.
    pub charges: i128,
}

impl TokenRow {
    /// The part that neither trades nor flows explain; zero if the books agree.
    pub fn unexplained(&self) -> i128 {
        let [before, after] = self.units;
        after - before - self.traded - self.flows - self.charges
    }
}

/// The report.
#[derive(Clone, Debug, Default)]
pub struct PeriodReport {
    /// The attributed period in microseconds since the Unix epoch, up to its newest booking.
    pub attributed_us: Option<[u64; 2]>,
    /// Rows by day, market and strategy.
    pub days: Vec<DayRow>,
    /// By quote token.
    pub quotes: Vec<QuoteRow>,
    /// By token.
    pub tokens: SortedMap<TokenId, TokenRow>,
    /// The listing of the last start.
    pub listing: Listing,
    /// What could not be attributed, and why.
    pub notes: Vec<String>,
    /// Whether there is an unexplained difference.
    pub differs: bool,
}

impl PeriodReport {
    /// A token of the listing.
    pub fn token(&self, id: TokenId) -> Option<&TokenSpec> {
        self.listing.tokens.iter().find(|token| token.id == id)
    }
}

/// Reads the profit and loss of a period from a state folder.
pub fn read(dir: &Path, hours: Hours) -> Result<PeriodReport, StoreError> {
    let file = dir.join(crate::FILE);
    let database = view::open_current(&file)?;
    read_from(&database, hours).map_err(|error| error.at(&file))
}

/// As [`read`], from an open database.
pub(super) fn read_from(database: &Connection, hours: Hours) -> Result<PeriodReport, ReadError> {
    // One read transaction, so that all tables are consistent while a daemon writes.
    let database = database.unchecked_transaction()?;
    Reading::new(&database)?.report(hours)
}

/// The change of one count between two moments.
#[derive(Clone, Copy)]
struct Change {
    pnl: Option<Attribution>,
    brought: Option<Money>,
    fills: u64,
    volumes: [Amount; 2],
    /// Base, quote and shares traded.
    traded: [i128; 3],
    shares: Option<TokenId>,
}

struct Reading<'a> {
    database: &'a Connection,
    listing: Listing,
    notes: BTreeSet<String>,
}

impl<'a> Reading<'a> {
    fn new(database: &'a Connection) -> Result<Self, ReadError> {
        Ok(Self {
            database,
            listing: books::listing(database)?.unwrap_or_default(),
            notes: BTreeSet::new(),
        })
    }

    fn report(mut self, hours: Hours) -> Result<PeriodReport, ReadError> {
        let Some(begun_us) = rows::begun_us(self.database)? else {
            self.notes.insert(
                "there are no results yet: counting begins with the daemon's first reconciliation"
                    .to_owned(),
            );
            return Ok(self.finish(PeriodReport::default()));
        };
        let begun = begun_us / HOUR_US;
        let newest = rows::newest_hour(self.database)?;
        let to = hours.to.unwrap_or(u64::MAX).min(newest.saturating_add(1));
        let from = hours.from.unwrap_or(0).max(begun);
        if hours.from.is_some_and(|from| from < begun) {
            self.notes.insert(format!(
                "results before {} are not available: counting began then",
                cambist_host::times::iso(begun_us / 1_000_000)
            ));
        }
        if to <= from {
            self.notes
                .insert("there are no results in this period".to_owned());
            return Ok(self.finish(PeriodReport::default()));
        }
        let mut report = PeriodReport::default();
        let mut brought: SortedMap<TokenId, Money> = SortedMap::new();
        let mut quotes: SortedSet<TokenId> = SortedSet::new();
        let at = [from, to].map(|hour| rows::balances(self.database, hour));
        let [before, after] = at;
        let balances = [before?, after?];
        self.tokens(&mut report, &balances)?;
        for market in rows::markets(self.database)? {
            for owner in rows::owners(self.database, &market)? {
                let mut boundary = from;
                while boundary < to {
                    let next = (boundary / DAY_HOURS + 1).saturating_mul(DAY_HOURS).min(to);
                    if let Some((quote, base, change)) =
                        self.change((&market, &owner), [boundary, next])?
                    {
                        take(&mut report, [base, quote], &change);
                        if let Some(came) = change.brought {
                            let sum = brought.entry(quote).or_insert(Money::zero(came.decimals));
                            *sum = sum.checked_add(came).unwrap_or(*sum);
                        }
                        quotes.insert(quote);
                        if let Some(pnl) = change.pnl {
                            report.days.push(DayRow {
                                day: boundary / DAY_HOURS,
                                market: market.clone(),
                                strategy: owner.clone(),
                                quote,
                                pnl,
                                fills: change.fills,
                                base_volume: change.volumes[0],
                                quote_volume: change.volumes[1],
                            });
                        }
                    }
                    boundary = next;
                }
            }
        }
        report.days.retain(|row| row.fills > 0 || !is_zero(row.pnl));
        report.days.sort_by(|one, two| {
            (one.day, &one.market, &one.strategy).cmp(&(two.day, &two.market, &two.strategy))
        });
        self.quotes(&mut report, [from, to], &balances, &brought, &quotes)?;
        let newest_us = balances[1].values().map(|balance| balance.at_us).max();
        let from_us = (from * HOUR_US).max(begun_us);
        report.attributed_us = Some([from_us, newest_us.unwrap_or(from_us).max(from_us)]);
        Ok(self.finish(report))
    }

    fn finish(self, mut report: PeriodReport) -> PeriodReport {
        report.listing = self.listing;
        report.notes = self.notes.into_iter().collect();
        report
    }

    /// Balances and flows of every token; trades are added later.
    fn tokens(
        &self,
        report: &mut PeriodReport,
        [before, after]: &[SortedMap<TokenId, Balance>; 2],
    ) -> Result<(), ReadError> {
        let explained = flows::numbered(self.database)?;
        for (token, end) in after {
            let start = before.get(token).copied().unwrap_or_default();
            let row = report.tokens.entry(*token).or_default();
            row.units = [start.units, end.units];
            for (id, flow) in &explained {
                if flow.token == *token && *id > start.flows && *id <= end.flows {
                    let sum = if flow.is_charge() {
                        &mut row.charges
                    } else {
                        &mut row.flows
                    };
                    *sum = sum.saturating_add(flow.amount);
                }
            }
        }
        Ok(())
    }

    /// The change of one count in these hours, with its quote and base tokens.
    fn change(
        &mut self,
        (market, owner): (&str, &str),
        [from, to]: [u64; 2],
    ) -> Result<Option<(TokenId, TokenId, Change)>, ReadError> {
        let Some(last) = rows::before(self.database, market, owner, to)? else {
            return Ok(None);
        };
        let first = rows::before(self.database, market, owner, from)?;
        let begins = first.as_ref().map(|found| found.series);
        let mut whole: Option<(TokenId, TokenId, Change)> = None;
        for series in begins.unwrap_or(0)..=last.series {
            let [opening, newest] = rows::of_series(self.database, (market, owner), series, to)?;
            let before = first.as_ref().filter(|_| begins == Some(series));
            if series > 0 && begins != Some(series) && owner == ACCOUNT {
                self.notes.insert(format!(
                    "{market} was listed in other units from {} on: the price change between the last state before and the first after is not attributed",
                    opening.as_ref().map_or_else(String::new, |at| cambist_host::times::iso(at.at_us / 1_000_000))
                ));
            }
            let Some(newest) = newest else { continue };
            let Some(state) = newest.state else {
                self.notes.insert(format!(
                    "{market}, {owner}: amounts were too large to be counted from {} on",
                    cambist_host::times::iso(newest.at_us / 1_000_000)
                ));
                continue;
            };
            let [base, quote] = state.pnl.tokens();
            let one = between(before, opening.as_ref(), &state, owner == ACCOUNT);
            whole = Some(match whole {
                Some((_, _, sum)) => (quote, base, sum.plus(one)),
                None => (quote, base, one),
            });
        }
        Ok(whole)
    }

    /// Equity, flows and their comparison, by quote token.
    fn quotes(
        &mut self,
        report: &mut PeriodReport,
        at: [u64; 2],
        balances: &[SortedMap<TokenId, Balance>; 2],
        brought: &SortedMap<TokenId, Money>,
        quotes: &SortedSet<TokenId>,
    ) -> Result<(), ReadError> {
        for quote in quotes {
            let decimals = self.decimals(*quote);
            let rows = report.days.iter().filter(|row| row.quote == *quote);
            let mut pnl = rows.map(|row| Some(row.pnl));
            let first = pnl.next().flatten();
            let pnl = pnl.fold(first, |sum, part| sum?.checked_add(part?));
            // No charge is a profit or loss here: one in a quote token is among its flows.
            let face = report
                .tokens
                .get(quote)
                .map_or(0, |row| row.flows.saturating_add(row.charges));
            let face = Money {
                numerator: face,
                denominator: 1,
                decimals,
            };
            let came = brought.get(quote).copied().unwrap_or(Money::zero(decimals));
            let flows = came.checked_add(face).unwrap_or(came);
            let [start, end] = [0, 1].map(|i| self.equity(*quote, at[i], &balances[i]));
            let equity = start?.zip(end?).map(|(start, end)| [start, end]);
            if equity.is_none() {
                self.notes.insert(
                    "equity is not known at the beginning or the end: a market had no price"
                        .to_owned(),
                );
            }
            let total = pnl.map_or(Money::zero(decimals), |pnl| pnl.total);
            let shared = self.shared_token(*quote);
            if let Some(symbol) = &shared {
                self.notes.insert(format!(
                    "{symbol} is traded at markets of several quote tokens: what moves between them is in the balances, and is not attributed in one of these tokens"
                ));
            }
            let known = equity.filter(|_| shared.is_none());
            let unattributed = known.and_then(|[start, end]| {
                let change = end.checked_sub(start)?;
                change.checked_sub(flows)?.checked_sub(total)
            });
            let off = unattributed.is_some_and(|rest| rest.numerator != 0);
            report.differs |= off && self.notes.is_empty();
            let charges = self.charges(*quote, balances)?;
            report.quotes.push(QuoteRow {
                quote: *quote,
                charges,
                equity,
                flows,
                pnl,
                unattributed,
            });
        }
        report.differs |= report.tokens.values().any(|row| row.unexplained() != 0);
        Ok(())
    }

    /// What charges of the period were worth in a quote token, if they count as a token of one of its markets.
    fn charges(
        &self,
        quote: TokenId,
        [before, after]: &[SortedMap<TokenId, Balance>; 2],
    ) -> Result<Option<Money>, ReadError> {
        let Some(counted) = self.listing.charged_as else {
            return Ok(None);
        };
        // As the engine counts them in losses: at the first market that trades the token.
        let trades =
            |spec: &&MarketSpec| spec.base.id == counted.token || spec.quote.id == counted.token;
        let found = self.listing.markets.iter().find(trades);
        let Some(market) = found.filter(|spec| spec.quote.id == quote).cloned() else {
            return Ok(None);
        };
        let newest = |of: &SortedMap<TokenId, Balance>| {
            of.get(&counted.charged).map_or(0, |balance| balance.flows)
        };
        let (first, last) = (newest(before), newest(after));
        let mut by_hour: BTreeMap<u64, i128> = BTreeMap::new();
        for (id, flow) in flows::numbered(self.database)? {
            if flow.token == counted.charged && id > first && id <= last && flow.is_charge() {
                let amount = flow.amount.unsigned_abs();
                let (_, amount) = ChargedAs::counted(Some(counted), flow.token, amount);
                let sum = by_hour.entry(flow.at_us / HOUR_US).or_default();
                *sum = sum.saturating_sub_unsigned(amount);
            }
        }
        let mut worth = Money::zero(self.decimals(quote));
        for (hour, units) in by_hour {
            let value = if market.base.id == counted.token {
                let state = self.valued(&market.name, ACCOUNT, hour.saturating_add(1))?;
                state.and_then(|state| state.pnl.value(units))
            } else {
                Some(Money {
                    numerator: units,
                    denominator: 1,
                    decimals: self.decimals(quote),
                })
            };
            let Some(sum) = value.and_then(|value| worth.checked_add(value)) else {
                return Ok(None);
            };
            worth = sum;
        }
        Ok(Some(worth))
    }

    /// A token of a market with this quote token that is also traded at a market with another one.
    fn shared_token(&self, quote: TokenId) -> Option<String> {
        let markets = || self.listing.markets.iter();
        let (own, others) = (markets().filter(|spec| spec.quote.id == quote), || {
            markets().filter(|spec| spec.quote.id != quote)
        });
        let mut tokens = own.flat_map(|spec| [&spec.base, &spec.quote]);
        let shared = tokens.find(|token| {
            others().any(|other| [other.base.id, other.quote.id].contains(&token.id))
        });
        shared.map(|token| token.symbol.clone())
    }

    fn decimals(&self, token: TokenId) -> u8 {
        let listed = self.listing.tokens.iter().find(|spec| spec.id == token);
        listed.map_or(0, |spec| spec.decimals)
    }

    /// Equity in a quote token before an hour: balances of the ledger at the last mids.
    fn equity(
        &self,
        quote: TokenId,
        hour: u64,
        balances: &SortedMap<TokenId, Balance>,
    ) -> Result<Option<Money>, ReadError> {
        let held = |token: &TokenId| balances.get(token).map_or(0, |balance| balance.units);
        let mut equity = Money {
            numerator: held(&quote),
            denominator: 1,
            decimals: self.decimals(quote),
        };
        let mut carried = BTreeSet::new();
        for market in &self.listing.markets {
            let carries = carried.insert(market.base.id);
            if market.quote.id != quote {
                continue;
            }
            let Some(state) = self.valued(&market.name, ACCOUNT, hour)? else {
                return Ok(None);
            };
            let base = if carries { held(&market.base.id) } else { 0 };
            let Some(mut sum) = state
                .pnl
                .value(base)
                .and_then(|value| equity.checked_add(value))
            else {
                return Ok(None);
            };
            for owner in rows::owners(self.database, &market.name)? {
                let Some(state) = self.valued(&market.name, &owner, hour)? else {
                    continue;
                };
                let pool = state.pnl.pool_value();
                let Some(with_pool) = pool.and_then(|pool| sum.checked_add(pool)) else {
                    return Ok(None);
                };
                sum = with_pool;
            }
            equity = sum;
        }
        Ok(Some(equity))
    }

    /// The newest state before an hour, or, for the account, the first with a mid.
    fn valued(
        &self,
        market: &str,
        owner: &str,
        hour: u64,
    ) -> Result<Option<CountState>, ReadError> {
        let found = rows::before(self.database, market, owner, hour)?;
        let state = found.as_ref().and_then(|found| found.state.clone());
        if state
            .as_ref()
            .is_some_and(|state| state.pnl.mark().is_some())
        {
            return Ok(state);
        }
        let series = found.map_or(0, |found| found.series);
        let [opening, _] = rows::of_series(self.database, (market, owner), series, u64::MAX)?;
        Ok(opening.and_then(|found| found.state))
    }
}

fn is_zero(pnl: Attribution) -> bool {
    let parts = [pnl.spread, pnl.holdings, pnl.fees, pnl.total];
    parts.iter().all(|part| part.numerator == 0)
}

fn take(report: &mut PeriodReport, [base, quote]: [TokenId; 2], change: &Change) {
    let tokens = [Some(base), Some(quote), change.shares];
    for (token, units) in tokens.into_iter().zip(change.traded) {
        if let Some(token) = token {
            let row = report.tokens.entry(token).or_default();
            row.traded = row.traded.saturating_add(units);
        }
    }
}

/// The difference of two states of one series. `opening` is the account's first state.
fn between(
    before: Option<&Found>,
    opening: Option<&Found>,
    now: &CountState,
    is_account: bool,
) -> Change {
    let before = before.and_then(|found| found.state.as_ref());
    let opening = opening.and_then(|found| found.state.as_ref());
    // Before the first mid there is no valuation.
    let valued = before.filter(|state| state.pnl.mark().is_some());
    let from = valued.or(opening);
    let counted = |state: &CountState| {
        let shares = state.pnl.shares().map(|(_, shares)| shares);
        [
            state.pnl.base().saturating_sub(state.came[0]),
            state.pnl.quote(),
            shares.unwrap_or_default().saturating_sub(state.came[1]),
        ]
    };
    let is = counted(now);
    // Until it has a first state, the account's count has nothing but what it was opened with.
    let otherwise = if is_account { is } else { [0; 3] };
    let was = before.or(opening).map_or(otherwise, counted);
    let pnl = now.pnl.attribution();
    let pnl = match from {
        Some(from) => from.pnl.attribution().and_then(|then| pnl?.since(then)),
        None => pnl,
    };
    let brought = match from {
        Some(from) => from
            .pnl
            .brought()
            .and_then(|then| now.pnl.brought()?.checked_sub(then)),
        None => now.pnl.brought(),
    };
    let counts = from.map_or((0, 0, 0), |s| (s.fills, s.base_volume, s.quote_volume));
    Change {
        pnl,
        brought,
        fills: now.fills.saturating_sub(counts.0),
        volumes: [
            now.base_volume.saturating_sub(counts.1),
            now.quote_volume.saturating_sub(counts.2),
        ],
        traded: [is[0] - was[0], is[1] - was[1], is[2] - was[2]],
        shares: now.pnl.shares().map(|(token, _)| token),
    }
}

impl Change {
    /// The sum of two parts of a period.
    fn plus(self, other: Self) -> Self {
        let both = |one: Option<Money>, two: Option<Money>| match (one, two) {
            (Some(one), Some(two)) => one.checked_add(two),
            (one, two) => one.or(two),
        };
        let pnl = match (self.pnl, other.pnl) {
            (Some(one), Some(two)) => one.checked_add(two),
            (one, two) => one.or(two),
        };
        Self {
            pnl,
            brought: both(self.brought, other.brought),
            fills: self.fills + other.fills,
            volumes: [
                self.volumes[0].saturating_add(other.volumes[0]),
                self.volumes[1].saturating_add(other.volumes[1]),
            ],
            traded: [
                self.traded[0] + other.traded[0],
                self.traded[1] + other.traded[1],
                self.traded[2] + other.traded[2],
            ],
            shares: other.shares.or(self.shares),
        }
    }
}

#[cfg(test)]
#[path = "period_tests.rs"]
mod tests;
