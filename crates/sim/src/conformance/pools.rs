//! The guarantees of a venue of pools without orders, tried on the venue itself: joins and exits instead of orders.

use std::collections::BTreeMap;

use cambist_core::fence::{ListScan, Progress};
use cambist_core::math::{mul_div_ceil, mul_div_floor};
use cambist_core::pool::{PoolTransactionReport, PoolTransactionStatus, UnsignedPoolTransaction};
use cambist_core::postings::Postings;
use cambist_core::request::{
    Charge, ChargedBalances, OrderList, OrdersPage, Outcome, Query, Reply,
};
use cambist_core::sorted_map::SortedMap;
use cambist_core::venue::{Refusal, SlotRule};
use cambist_core::{
    Amount, ClientOrderId, Hash, PoolSpec, PoolTransactionKind, StrategyId, Time, TokenId,
    VenueRules, VenueTime,
};

use crate::conformance::{Answer, text_of};

/// An adapter of a pool with a venue behind it: an account with both tokens, and no other trader.
pub trait PoolSubject {
    /// What the adapter states about the venue.
    fn rules(&self) -> VenueRules;
    /// The pool.
    fn pool(&self) -> PoolSpec;
    /// The engine's grace, in ms.
    fn grace_ms(&self) -> u64;
    /// The venue's true clock.
    fn now(&self) -> VenueTime;
    /// Lets the venue's time pass.
    fn pass_ms(&mut self, ms: u64);
    /// Seals a join or an exit, as stored before it is sent; the key by which it is named from now on.
    fn seal(&mut self, wanted: &UnsignedPoolTransaction) -> Option<Hash>;
    /// Sends the sealed bytes, the same every time.
    fn transmit(&mut self, id: ClientOrderId) -> Answer;
    /// Asks.
    fn ask(&mut self, query: &Query) -> Answer;
}

/// A guarantee: its name, and what tries it on a fresh subject.
pub struct PoolGuarantee {
    /// Its name.
    pub name: &'static str,
    /// Tries it; an error describes the failure.
    pub keeps: fn(&mut dyn PoolSubject) -> Result<(), String>,
}

/// All of them.
pub const POOL_GUARANTEES: &[PoolGuarantee] = &[
    guarantee("names", transactions_are_named_before_they_are_sent),
    guarantee("once", the_same_bytes_move_once),
    guarantee("slots", what_was_replaced_never_moves),
    guarantee("end of acceptance", late_bytes_move_nothing),
    guarantee("lists", a_closed_list_is_never_taken_back),
    guarantee("books", balances_are_postings_and_charges),
    guarantee("refusals", an_unknown_cancel_proves_nothing),
    guarantee("clock", times_are_as_exact_as_the_rules_state),
];

const fn guarantee(name: &'static str, keeps: fn(&mut dyn PoolSubject) -> Kept) -> PoolGuarantee {
    PoolGuarantee { name, keeps }
}

type Kept = Result<(), String>;

/// Tries every guarantee, each on a fresh subject: names of those that are broken, and how.
pub fn violated_pool_guarantees(mut fresh: impl FnMut() -> Box<dyn PoolSubject>) -> Vec<String> {
    let tried = POOL_GUARANTEES.iter().filter_map(|guarantee| {
        let broken = (guarantee.keeps)(fresh().as_mut()).err()?;
        Some(format!("{}: {broken}", guarantee.name))
    });
    tried.collect()
}

fn only_if(so: bool, otherwise: impl FnOnce() -> String) -> Kept {
    if so { Ok(()) } else { Err(otherwise()) }
}

/// Life of a join here.
const TTL_MS: u64 = 60_000;
/// What a join may pay at most: a hundredth of what is held of a token.
const PART: Amount = 100;

/// The `n`-th join, of a part of what is held.
fn join(subject: &mut dyn PoolSubject, n: u32) -> Result<UnsignedPoolTransaction, String> {
    let pool = subject.pool();
    let held = balances(subject)?;
    let of = |token| held.get(&token).copied().unwrap_or(0);
    let Outcome::Reply(Reply::PoolBalance(pooled)) =
        subject.ask(&Query::PoolBalance(pool.market)).0
    else {
        return Err("the pool's balances were not answered".to_owned());
    };
    // As many shares as both tokens pay for.
    let paid_for = |at: usize| mul_div_floor(of(pool.pooled[at]), pooled.supply, pooled.pooled[at]);
    let most = (0..2).filter_map(paid_for).min();
    let shares = most.unwrap_or(0) / PART;
    let whole = |at: usize| mul_div_ceil(pooled.pooled[at], shares, pooled.supply).unwrap_or(0);
    let valid_until = subject.now().plus_ms(TTL_MS);
    Ok(UnsignedPoolTransaction {
        client_id: ClientOrderId {
            instance: 1,
            strategy: StrategyId(0),
            number: u64::from(n) + 1,
        },
        market: pool.market,
        kind: PoolTransactionKind::Join,
        pooled: pool.pooled,
        amounts: [whole(0), whole(1)],
        lp: pool.lp.id,
        lp_amount: shares - shares / 4,
        storage_ids: vec![n],
        fee_max: 0,
        valid_until_s: u32::try_from(valid_until.as_s()).unwrap_or(u32::MAX),
        made_at: subject.now(),
    })
}

fn charged(subject: &mut dyn PoolSubject) -> Result<ChargedBalances, String> {
    match subject.ask(&Query::Balances).0 {
        Outcome::Reply(Reply::ChargedBalances(of)) => Ok(of),
        Outcome::Reply(Reply::Balances(balances)) => Ok(ChargedBalances {
            balances,
            charges: Vec::new(),
            charged_below: 0,
        }),
        other => Err(format!("balances were {}", text_of(&other))),
    }
}

fn balances(subject: &mut dyn PoolSubject) -> Result<SortedMap<TokenId, Amount>, String> {
    let of = charged(subject)?;
    let each = of.balances.iter().map(|held| (held.token, held.total));
    Ok(each.collect())
}

/// Seals a join and sends it.
fn place(subject: &mut dyn PoolSubject, n: u32) -> Result<(UnsignedPoolTransaction, Hash), String> {
    let wanted = join(subject, n)?;
    let key = subject.seal(&wanted).ok_or("a join was not sealed")?;
    let answer = subject.transmit(wanted.client_id).0;
    only_if(
        !matches!(answer, Outcome::Refused(_) | Outcome::NotSent),
        || format!("a join was {}", text_of(&answer)),
    )?;
    Ok((wanted, key))
}

/// A complete list until now, as the engine reads it.
fn list(subject: &mut dyn PoolSubject) -> Result<Vec<PoolTransactionReport>, String> {
    let mut scan = ListScan::proof(Time(0), subject.now(), VenueTime(0), 2);
    let mut shown: BTreeMap<Hash, PoolTransactionReport> = BTreeMap::new();
    loop {
        let page = subject.ask(&Query::PoolTransactions(scan.page())).0;
        let Outcome::Reply(Reply::PoolTransactions { moves, total }) = page else {
            return Err(format!("a page of the list was {}", text_of(&page)));
        };
        let progress = scan.take(&moves, total);
        shown.extend(moves.into_iter().map(|report| (report.hash, report)));
        match progress {
            Progress::More => {}
            Progress::Complete => return Ok(shown.into_values().collect()),
            Progress::Abandoned => return Err("the list was never complete".to_owned()),
        }
    }
}

fn report(
    subject: &mut dyn PoolSubject,
    key: Hash,
) -> Result<Option<PoolTransactionReport>, String> {
    Ok(list(subject)?.into_iter().find(|report| report.hash == key))
}

/// Until everything that was sent in time is final.
fn settle(subject: &mut dyn PoolSubject) {
    let (grace_ms, ttl_ms) = (subject.grace_ms(), TTL_MS);
    subject.pass_ms(ttl_ms + grace_ms);
}

fn transactions_are_named_before_they_are_sent(subject: &mut dyn PoolSubject) -> Kept {
    let (_, key) = place(subject, 0)?;
    settle(subject);
    let shown = report(subject, key)?;
    let status = shown.map(|report| report.status);
    only_if(status == Some(PoolTransactionStatus::Processed), || {
        format!("the list shows {status:?} by its name")
    })
}

fn the_same_bytes_move_once(subject: &mut dyn PoolSubject) -> Kept {
    let before = balances(subject)?;
    let (wanted, key) = place(subject, 0)?;
    for _ in 0..6 {
        subject.pass_ms(TTL_MS / 3);
        let again = subject.transmit(wanted.client_id).0;
        let kills = match &again {
            Outcome::Refused(reason) => subject.rules().refusals.of(*reason) == Refusal::KillsBytes,
            _ => false,
        };
        only_if(!kills, || {
            format!(
                "a copy was {}, which is declared to prove it dead",
                text_of(&again)
            )
        })?;
    }
    settle(subject);
    let shown = report(subject, key)?.ok_or("it is on no list")?;
    let after = balances(subject)?;
    let lp = wanted.lp;
    let of = |held: &SortedMap<TokenId, Amount>| held.get(&lp).copied().unwrap_or(0);
    only_if(of(&after) - of(&before) == shown.amounts.lp, || {
        format!(
            "{} shares for {}",
            of(&after) - of(&before),
            shown.amounts.lp
        )
    })
}

/// An intent that was never mined is dead behind its deadline; the next one takes its number, and a late copy of the
/// first one moves nothing and is refused for that reason.
fn what_was_replaced_never_moves(subject: &mut dyn PoolSubject) -> Kept {
    only_if(
        matches!(subject.rules().slots, SlotRule::Consecutive { .. }),
        || "only a row without a gap is tried here".to_owned(),
    )?;
    let first = join(subject, 0)?;
    let dead = subject.seal(&first).ok_or("a join was not sealed")?;
    settle(subject);
    balances(subject)?;
    let (_, key) = place(subject, 1)?;
    settle(subject);
    balances(subject)?;
    let late = subject.transmit(first.client_id).0;
    let proof = match &late {
        Outcome::Refused(reason) => Some(subject.rules().refusals.of(*reason)),
        _ => None,
    };
    only_if(proof == Some(Refusal::KillsCopy), || {
        format!("a spent number was {}", text_of(&late))
    })?;
    settle(subject);
    let shown = list(subject)?;
    let names: Vec<_> = shown.iter().map(|report| report.hash).collect();
    only_if(names == [key], || {
        format!("{names:?} are shown, {dead} is dead")
    })
}

fn late_bytes_move_nothing(subject: &mut dyn PoolSubject) -> Kept {
    let before = balances(subject)?;
    let wanted = join(subject, 0)?;
    let key = subject.seal(&wanted).ok_or("a join was not sealed")?;
    subject.pass_ms(TTL_MS + 1_000);
    subject.transmit(wanted.client_id);
    settle(subject);
    let shown = report(subject, key)?.map(|report| report.status);
    only_if(shown != Some(PoolTransactionStatus::Processed), || {
        "late bytes joined".to_owned()
    })?;
    let after = balances(subject)?;
    for token in wanted.pooled {
        only_if(before.get(&token) == after.get(&token), || {
            format!("late bytes moved token {}", token.0)
        })?;
    }
    Ok(())
}

/// What an open list shows at any time, every later one shows as well, and a closed window that is answered has
/// everything that it will ever have.
fn a_closed_list_is_never_taken_back(subject: &mut dyn PoolSubject) -> Kept {
    let (_, key) = place(subject, 0)?;
    let mut shown: Option<PoolTransactionReport> = None;
    let end = subject.now().plus_ms(TTL_MS + subject.grace_ms());
    while subject.now() < end {
        subject.pass_ms(1_000);
        let open = OrdersPage {
            list: OrderList::All,
            from: VenueTime(0),
            to: VenueTime(0),
            offset: 0,
            limit: 10,
        };
        let Outcome::Reply(Reply::PoolTransactions { moves, .. }) =
            subject.ask(&Query::PoolTransactions(open)).0
        else {
            continue;
        };
        let found = moves.into_iter().find(|report| report.hash == key);
        only_if(shown.is_none() || found == shown, || {
            format!("{shown:?} became {found:?}")
        })?;
        shown = found;
    }
    let closed = report(subject, key)?;
    only_if(closed.is_some() && closed == shown, || {
        format!("the open list showed {shown:?}, the closed one {closed:?}")
    })
}

fn balances_are_postings_and_charges(subject: &mut dyn PoolSubject) -> Kept {
    let before = charged(subject)?;
    let mut known: BTreeMap<u64, Charge> = BTreeMap::new();
    let mut keys = Vec::new();
    for n in 0..3 {
        let (wanted, key) = place(subject, n)?;
        keys.push((wanted, key));
        settle(subject);
        for charge in charged(subject)?.charges {
            let other = known.insert(charge.number, charge);
            only_if(other.is_none_or(|other| other == charge), || {
                format!("{other:?} became {charge:?}")
            })?;
        }
    }
    let after = charged(subject)?;
    let numbers: Vec<_> = known.keys().copied().collect();
    let expected: Vec<_> = (before.charged_below..after.charged_below).collect();
    only_if(numbers == expected, || {
        format!("charges {numbers:?}, and {expected:?} are in the balances")
    })?;
    let shown = list(subject)?;
    let mut sums: SortedMap<TokenId, i128> = SortedMap::new();
    let mut post = |postings: &Postings, tokens: &[TokenId]| {
        for token in tokens {
            *sums.entry(*token).or_default() += postings.of(*token);
        }
    };
    for (wanted, key) in &keys {
        let report = shown.iter().find(|report| report.hash == *key);
        let report = report.ok_or("a join is on no list")?;
        let postings = Postings::of_pool(wanted.kind, wanted.pooled, wanted.lp, &report.amounts);
        let [first, second] = wanted.pooled;
        post(&postings, &[first, second, wanted.lp]);
    }
    for charge in known.values() {
        post(&Postings::of_charge(charge), &[charge.token]);
    }
    let of = |all: &ChargedBalances, token| {
        let held = all.balances.iter().find(|held| held.token == token);
        held.map_or(0, |held| i128::try_from(held.total).unwrap_or(i128::MAX))
    };
    for held in &after.balances {
        let moved = of(&after, held.token) - of(&before, held.token);
        let posted = sums.get(&held.token).copied().unwrap_or(0);
        only_if(moved == posted, || {
            format!(
                "token {} moved {moved}, and {posted} is posted",
                held.token.0
            )
        })?;
    }
    Ok(())
}

/// What an exchange refuses because nothing rests ends no intent here.
fn an_unknown_cancel_proves_nothing(subject: &mut dyn PoolSubject) -> Kept {
    let cancelled = subject.ask(&Query::Cancel(Hash([9; 32]))).0;
    let proves = match &cancelled {
        Outcome::Refused(reason) => subject.rules().refusals.of(*reason) == Refusal::KillsBytes,
        Outcome::Reply(_) => true,
        _ => false,
    };
    only_if(!proves, || format!("a cancel was {}", text_of(&cancelled)))
}

fn times_are_as_exact_as_the_rules_state(subject: &mut dyn PoolSubject) -> Kept {
    let resolution_ms = subject.rules().clock.resolution_ms;
    for _ in 0..20 {
        subject.pass_ms(777);
        let (_, stated) = subject.ask(&Query::Balances);
        let stated = stated.ok_or("an answer about the account bears no time")?;
        let now = subject.now();
        // A block's time is in whole seconds, and it is in force until the next one.
        only_if(
            stated <= now && now.ms_since(stated) <= resolution_ms + 1_000,
            || format!("an answer at {} has the time {}", now.0, stated.0),
        )?;
    }
    Ok(())
}
