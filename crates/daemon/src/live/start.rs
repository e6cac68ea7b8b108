//! Start: from a checked file to the engine's first event. Sends queries only.
//!
//! Three steps. [`take`] locks the state folder and reads the state of earlier runs, before any network access. [`ask`]
//! queries the venue, for as long as it takes; its identity, account and keys must match the file and the secrets.
//! [`begin`] builds the first event.

use anyhow::Context;
use cambist_core::event::{Restrictions, Start, TradingState};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{ClientOrderId, TokenId, VenueTime};

use super::latch::Latch;
use super::memories;
use crate::config::{Bound, ConfigError, Daemon, feasible};
use crate::live::seal_worker::Bodies;
use crate::live::start_retry::StartRetry;
use crate::venues::{self, Access, Session, Trading};
use cambist_host::exit::{Exit, Failure};
use cambist_store::{
    Filled, Listing, OpenIntent, OpenPoolTransaction, Recovered, SetParameter, Store, view,
};
use cambist_strategies::Params;

/// A locked state folder and the state of earlier runs.
pub struct StateFolder {
    /// The open store.
    pub store: Store,
    /// Its content.
    pub recovered: Recovered,
}

/// The venue's answers.
pub struct Venue {
    session: Session,
    bound: Bound,
    /// Ids of this program's among the newest orders of the account, if they were requested.
    newest: Vec<ClientOrderId>,
    next_slots: SortedMap<TokenId, u32>,
    time: VenueTime,
}

/// Everything that the event loop needs.
pub struct Started {
    /// The engine's first event.
    pub start: Start,
    /// The bound configuration.
    pub bound: Bound,
    /// The open store.
    pub store: Store,
    /// The client, and what seals intents.
    pub trading: Trading,
    /// Bytes of orders that may be alive.
    pub bodies: Bodies,
    /// Fills of these orders.
    pub filled: Vec<(ClientOrderId, Filled)>,
}

/// Locks the state folder and reads it. Refused while trading is halted.
pub fn take(daemon: &Daemon) -> anyhow::Result<StateFolder> {
    refuse_other_account(daemon)?;
    let mut store = Store::open_for(&daemon.store.dir, daemon.venue.rules().slots)?;
    let latch = Latch::of(&daemon.store.dir);
    if let Some(reason) = latch.raised() {
        return Err(halted(daemon, &reason).into());
    }
    let markets = daemon.markets.iter();
    let names: Vec<_> = markets.map(|market| market.name.value.clone()).collect();
    let recovered = store.recover(&names)?;
    if recovered.restrictions.state == TradingState::Halted {
        return Err(halted(daemon, &recovered.cause).into());
    }
    latch
        .forget_proof()
        .with_context(|| format!("state folder {}", daemon.store.dir.display()))?;
    Ok(StateFolder { store, recovered })
}

/// Refuses a state folder that belongs to another account than the file's: its ledger and orders are not those of this
/// one, and everything that this account holds would be a difference. A folder of a program before accounts were stored
/// belongs to that of its next start.
pub fn refuse_other_account(daemon: &Daemon) -> Result<(), Failure> {
    let dir = &daemon.store.dir;
    let Some(wanted) = daemon.venue.folder_account() else {
        return Ok(());
    };
    // One that cannot be read is reported by what opens it.
    let held = view::account(dir).ok().flatten();
    match held.filter(|held| held.is_other(&wanted)) {
        Some(held) => Err(Failure::new(
            Exit::Refused,
            format!(
                "the state folder {} belongs to {held}, and {} has {wanted}: set another store.dir for this account, or correct [venue] and [keys]",
                dir.display(),
                daemon.source.path.display()
            ),
        )),
        None => Ok(()),
    }
}

/// The configuration with the parameters that operators set. Refused where the file has changed so that they do not fit
/// any more: without them the daemon would quote otherwise than they set.
pub fn with_set(file: &Daemon, set: &[SetParameter]) -> anyhow::Result<Daemon> {
    for one in file.set_for_nothing(set) {
        let SetParameter {
            market,
            strategy,
            key,
            ..
        } = one;
        tracing::warn!(
            market,
            "parameter {strategy}.{key} was set for a strategy that the configuration does not have; it applies to none"
        );
    }
    let daemon = file.with_set(set);
    for one in set {
        let (Some(choice), Some(info)) = (
            daemon.choice(&one.market, &one.strategy),
            cambist_strategies::find(&one.strategy),
        ) else {
            continue;
        };
        let name = format!("{}.{}", one.strategy, one.key);
        let value = one.value.as_deref().unwrap_or_default();
        if let Err(error) = Params::read(info.parameters, &choice.params) {
            let what = format!(
                "{}: strategy {}: {error}. {name} = {value} was set by {} ({}) and applies in place of the file's: cambist set --config {} --reset {name} --reason TEXT",
                file.source.path.display(),
                one.strategy,
                one.operator,
                one.reason,
                file.source.path.display()
            );
            return Err(Failure::new(Exit::Refused, what).into());
        }
        tracing::info!(
            market = one.market,
            operator = one.operator,
            reason = one.reason,
            "parameter {name} = {value} was set and applies in place of the file's"
        );
    }
    Ok(daemon)
}

/// An error of the configuration, which may be one of the parameters that operators set.
pub fn beside_set(error: anyhow::Error, set: &[SetParameter]) -> anyhow::Error {
    if set.is_empty() || !error.is::<ConfigError>() {
        return error;
    }
    let names = set
        .iter()
        .map(|one| format!("{}.{}", one.strategy, one.key));
    error.context(format!(
        "{} were set by operators and apply in place of the file's values (cambist status shows them); cambist set --reset restores the file's",
        names.collect::<Vec<_>>().join(", ")
    ))
}

/// Queries the venue for everything that a start needs. Ends early only with errors that a retry cannot change.
pub async fn ask(
    daemon: &Daemon,
    access: Access,
    next_slots: SortedMap<TokenId, u32>,
    retry: StartRetry<'_>,
) -> anyhow::Result<Venue> {
    let answers = ask_all(daemon, access, next_slots, retry).await;
    answers.map_err(|error| venues::keys_first(daemon, error))
}

async fn ask_all(
    daemon: &Daemon,
    access: Access,
    next_slots: SortedMap<TokenId, u32>,
    retry: StartRetry<'_>,
) -> anyhow::Result<Venue> {
    let mut session = access.open(daemon, retry).await?;
    let bound = session.bind(daemon, retry).await?;
    session.check(daemon, &bound, retry).await?;
    for problem in feasible::never_quoted(daemon, &bound) {
        tracing::error!(line = problem.at.line, "{}", problem.what);
    }
    // A store without orders is asked about as well: it may be a copy from before its first one.
    let newest = session.newest_ids(daemon, retry).await?;
    let next_slots = session.next_slots(&bound, next_slots, retry).await?;
    session.prepare(retry).await?;
    Ok(Venue {
        newest,
        next_slots,
        time: session.time(retry).await?,
        bound,
        session,
    })
}

/// Builds the first event.
pub fn begin(
    daemon: &Daemon,
    state: StateFolder,
    venue: Venue,
    seed: u64,
) -> anyhow::Result<Started> {
    let StateFolder {
        mut store,
        recovered,
    } = state;
    refuse_older(daemon, &mut store, &venue.newest)?;
    let Venue { session, bound, .. } = venue;
    let listing = listing(daemon, &bound);
    let (books, lost) = store.books(&listing)?;
    let strategies = bound.strategies.iter();
    let strategies: Vec<_> = strategies
        .map(|(_, _, choice)| choice.name.value.clone())
        .collect();
    store.count_results(&listing, &strategies, &books)?;
    let totals = store.traded()?;
    let traded = bound.strategies.iter().map(|(_, market, choice)| {
        let market = bound.markets.get(usize::from(market.0));
        let market = market.map(|spec| spec.name.clone()).unwrap_or_default();
        let total = totals.get(&(market, choice.name.value.clone()));
        total.copied().unwrap_or_default()
    });
    let traded = traded.collect();
    let (open, mut bodies, filled) = split(recovered.open);
    let mut open_moves = Vec::new();
    for OpenPoolTransaction { recovered, body } in recovered.open_moves {
        bodies.push((recovered.transaction.client_id, body.into()));
        open_moves.push(recovered);
    }
    let start = Start {
        config: bound.engine.clone(),
        markets: bound.markets.clone(),
        pools: bound.pools.clone(),
        strategies: bound
            .strategies
            .iter()
            .map(|(id, market, _)| (*id, *market))
            .collect(),
        seed,
        instance: recovered.instance,
        next_number: recovered.next_number,
        budget_left: session.budget_left(),
        next_slots: venue.next_slots,
        open,
        open_pool_transactions: open_moves,
        signed: recovered.signed,
        restrictions: recovered.restrictions,
        books,
        memories: memories::load(&daemon.store.dir, &bound),
        traded,
        lost,
        venue_time: venue.time,
        maker_fee_bips: daemon.fee_bips[0],
        taker_fee_bips: daemon.fee_bips[1],
        venue: bound.venue.clone(),
        references: bound
            .references
            .iter()
            .map(|(source, _)| source.clone())
            .collect(),
    };
    Ok(Started {
        trading: session.trading(&bound, &start)?,
        start,
        bound,
        store,
        bodies,
        filled,
    })
}

/// The venue's current listing.
fn listing(daemon: &Daemon, bound: &Bound) -> Listing {
    Listing {
        account: daemon.venue.folder_account(),
        charged_as: bound.venue.charged_as,
        markets: bound.markets.clone(),
        pools: bound.pools.clone(),
        tokens: bound.tokens.clone(),
    }
}

/// A store that was restored from an old backup, or that another copy trades with, lacks orders of its own instance
/// that the venue shows. Their effects are unknown here: the operator must decide.
fn refuse_older(
    daemon: &Daemon,
    store: &mut Store,
    newest_ids: &[ClientOrderId],
) -> anyhow::Result<()> {
    let (instance, newest) = (store.instance(), store.newest_number());
    let forgotten = newest_ids
        .iter()
        .filter(|id| id.instance == instance && id.number > newest)
        .max_by_key(|id| id.number);
    let Some(id) = forgotten else { return Ok(()) };
    let cause = format!(
        "the store is older than its orders: the venue shows {id}, but the newest order in the store is number {newest}. The store was restored from an old backup, or another copy of it trades"
    );
    if store.had_cause(&cause)? {
        // The operator has allowed trading again.
        return Ok(());
    }
    store.skip_past(id.number)?;
    store.set_restrictions(&Restrictions::of(TradingState::Halted), &cause, false)?;
    // With such an order open, a run that is allowed again would find it and stop.
    let what = format!(
        "{}. Before that, end what rests at the venue without being in the store: cambist panic --config {}",
        halted(daemon, &cause),
        daemon.source.path.display()
    );
    Err(Failure::new(Exit::Latched, what).into())
}

/// The error of a start while trading is halted.
pub fn halted(daemon: &Daemon, cause: &str) -> Failure {
    let what = format!(
        "trading is halted ({cause}); find the cause, then allow trading again: cambist resume --config {} --reason TEXT",
        daemon.source.path.display()
    );
    Failure::new(Exit::Latched, what)
}

type Parts = (
    Vec<cambist_core::event::RecoveredOrder>,
    Bodies,
    Vec<(ClientOrderId, Filled)>,
);

fn split(open: Vec<OpenIntent>) -> Parts {
    let mut parts: Parts = Default::default();
    for OpenIntent { recovered, body } in open {
        let id = recovered.order.client_id;
        let filled = Filled {
            base: recovered.base_filled,
            quote: recovered.quote_filled,
            fee: recovered.fee,
        };
        parts.1.push((id, body.into()));
        parts.2.push((id, filled));
        parts.0.push(recovered);
    }
    parts
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
