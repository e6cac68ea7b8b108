//! Most that a venue may hold by its store, for as long as it does not answer at a start.
//!
//! A store has what was booked, and every intent before its first byte is sent. What the ledger holds, together with all
//! that intents without a proven end may still buy, is therefore the most that this program can have caused. What follows
//! from other inputs (pool shares, a difference of the books, requests of an operator that are under way) is not known
//! without the venue, and then nothing that is held is. What was lost today follows from the positions alone.

use std::collections::BTreeMap;
use std::path::Path;

use cambist_core::books::Books;
use cambist_core::control::Control;
use cambist_core::math::mul_div_ceil;
use cambist_core::portfolio::{Exposure, LostToday};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, MarketId, MarketSpec, TokenId, TokenSpec, VenueTime};
use cambist_store::{Listing, Recovered, view};

use super::file::exact;
use crate::config::market::Market;
use crate::config::{Daemon, exposure};
use crate::live::request_folder;

/// What a store states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// What was lost today at the last prices, by quote token as it was listed.
    pub(super) lost: Vec<(TokenSpec, LostToday)>,
    /// How long that day still lasts, in milliseconds.
    pub(super) day_left_ms: u64,
    /// What may be held, or why the store does not bound it.
    pub(super) held: Result<Held, String>,
    /// When ledger and positions were written last, Unix seconds.
    pub(super) since_s: u64,
}

/// What may be held by a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// The markets of the file, as they were listed.
    pub(super) markets: Vec<MarketSpec>,
    /// Most that may be held. There are no mids: a stored price is old.
    pub(super) exposure: Exposure,
}

const DAY_S: u64 = 86_400;

/// Reads what the locked state folder of a venue states, if that was written at most so many seconds before now.
///
/// # Errors
/// Why that is not known.
pub(super) fn read(
    daemon: &Daemon,
    recovered: &Recovered,
    now_s: u64,
    age_max_s: u64,
) -> Result<Stored, String> {
    let dir = &daemon.store.dir;
    let unread = |error: cambist_store::StoreError| error.to_string();
    let written_s = view::books_written_s(dir).map_err(unread)?;
    let books = view::books(dir).map_err(unread)?;
    let (since_s, (books, listing)) = written_s
        .zip(books)
        .ok_or("its store has no books yet: no start has compared them with the venue")?;
    // A clock that was set back leaves the age unknown; 0 is never, also within the second of the write.
    let age_s = now_s.checked_sub(since_s);
    if age_max_s == 0 || age_s.is_none_or(|age_s| age_s > age_max_s) {
        let since = cambist_host::times::iso(since_s);
        return Err(format!(
            "its store was written last at {since}, and portfolio.stored_age_max_s is {age_max_s}"
        ));
    }
    Ok(Stored {
        lost: lost(daemon, &books, &listing, now_s),
        day_left_ms: (DAY_S - now_s % DAY_S) * 1_000,
        held: requests_are_booked(dir).and_then(|()| most(daemon, &books, &listing, recovered)),
        since_s,
    })
}

/// The error is why an operator may still change what is held.
fn requests_are_booked(dir: &Path) -> Result<(), String> {
    request_folder::list(dir).map_err(|error| format!("its requests cannot be read: {error:#}"))?;
    let booked = request_folder::booked(dir);
    if request_folder::announcements(dir, &booked, true).is_empty() {
        Ok(())
    } else {
        Err("requests of cambist account are not booked yet".to_owned())
    }
}

/// The market of a venue's file as it was listed.
fn listed<'a>(market: &Market, listing: &'a Listing) -> Option<(MarketId, &'a MarketSpec)> {
    let same = |spec: &MarketSpec| {
        spec.name == market.name.value
            && spec.base.symbol == market.base
            && spec.quote.symbol == market.quote
    };
    let mut listed = (0..).map(MarketId).zip(&listing.markets);
    listed.find(|(_, spec)| same(spec))
}

/// What the markets of the file have lost today. One without a listing has no position.
fn lost(
    daemon: &Daemon,
    books: &Books,
    listing: &Listing,
    now_s: u64,
) -> Vec<(TokenSpec, LostToday)> {
    let mut sums: SortedMap<TokenId, (TokenSpec, LostToday)> = SortedMap::new();
    let markets = daemon.markets.iter();
    for (id, spec) in markets.filter_map(|market| listed(market, listing)) {
        let lost = books.positions.get(&id).and_then(|position| {
            let losses = position.lost(VenueTime(now_s.saturating_mul(1_000)))?;
            let day = |(control, _): &&(Control, i128)| *control == Control::LossDay;
            losses.iter().find(day).map(|(_, lost)| *lost)
        });
        let none = || (spec.quote.clone(), LostToday::NOTHING);
        let (_, sum) = sums.entry(spec.quote.id).or_insert_with(none);
        sum.add(lost);
    }
    sums.into_values().collect()
}

/// Most that may be held.
fn most(
    daemon: &Daemon,
    books: &Books,
    listing: &Listing,
    recovered: &Recovered,
) -> Result<Held, String> {
    let no_ledger = "its books were never compared with the venue";
    let ledger = books.ledger.as_ref().ok_or(no_ledger)?;
    if !books.differences.is_empty() {
        return Err("its books differed from the venue at the last comparison".to_owned());
    }
    let shares = |lp: &TokenId| ledger.get(lp).is_some_and(|units| *units != 0);
    let has_shares = listing.pools.iter().any(|pool| shares(&pool.lp.id));
    if has_shares || !recovered.open_moves.is_empty() {
        return Err("what its pool shares are due follows from what the pool holds".to_owned());
    }
    let mut markets = Vec::new();
    let mut exposure = Exposure::default();
    let mut worth: BTreeMap<(TokenId, TokenId), Amount> = BTreeMap::new();
    for (id, market) in (0..).map(MarketId).zip(&daemon.markets) {
        let name = &market.name.value;
        let (_, spec) =
            listed(market, listing).ok_or_else(|| format!("its store has no listing of {name}"))?;
        let (base, quote) = (spec.base.id, spec.quote.id);
        let held = held(ledger.get(&base).copied(), base, recovered);
        let held = held.ok_or_else(|| format!("its ledger has no amount of {}", market.base))?;
        exposure.tokens.insert(base, Some(held));
        let most = value_at_ceiling(spec, held, exposure::risk(market).price_ceiling)
            .ok_or_else(|| format!("the value of {name} is too large"))?;
        // As in the engine before the first mid: at the ceiling, each base token once.
        let of = worth.entry((quote, base)).or_default();
        *of = most.max(*of);
        markets.push(MarketSpec { id, ..spec.clone() });
    }
    for ((quote, _), most) in worth {
        let gross = exposure.gross.entry(quote).or_insert(Some(0));
        *gross = gross.and_then(|gross| gross.checked_add(most));
    }
    Ok(Held { markets, exposure })
}

/// Most base units of a token after every fill of what has no proven end. `None` if the ledger does not have it, and if it
/// is more than amounts can hold.
fn held(ledger: Option<i128>, token: TokenId, recovered: &Recovered) -> Option<Amount> {
    // Below zero until a purchase is found.
    let held = Amount::try_from(ledger?).unwrap_or(0);
    let bids = recovered.open.iter().map(|open| &open.recovered);
    bids.filter(|open| open.order.buy_token == token)
        .try_fold(held, |held, open| {
            held.checked_add(open.order.incoming(open.base_filled, open.quote_filled))
        })
}

/// The value of base in quote units at the highest price that the file quotes at, rounded up.
fn value_at_ceiling(
    spec: &MarketSpec,
    base: Amount,
    ceiling: rust_decimal::Decimal,
) -> Option<Amount> {
    let one = 10_u128.checked_pow(spec.base.decimals.into())?;
    let price = exact(ceiling).floor(spec.quote.decimals).checked_add(1)?;
    mul_div_ceil(base, price, one)
}

#[cfg(test)]
#[path = "stored_tests.rs"]
mod tests;
