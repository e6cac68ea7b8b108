//! Doubled and forgotten orders, found by comparing the exchange's list with the daemon's store. The daemon's own
//! reports are not used.

use std::collections::{BTreeMap, BTreeSet};

use cambist_core::Hash;
use cambist_core::notification::End;
use cambist_core::order::OrderReport;
use cambist_core::pool::{PoolTransactionReport, PoolTransactionStatus};

use cambist_store::view::{Remembered, RememberedPoolTransaction};

/// Findings, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Orders that exist twice.
    pub doubled: Vec<String>,
    /// Orders, or fills of them, that are missing from the daemon's store.
    pub forgotten: Vec<String>,
}

impl Findings {
    /// One sentence each.
    pub fn problems(&self) -> Vec<String> {
        let doubled = self.doubled.iter().map(|what| format!("doubled: {what}"));
        let forgotten = self.forgotten.iter();
        doubled
            .chain(forgotten.map(|what| format!("forgotten: {what}")))
            .collect()
    }
}

/// Open orders that the daemon placed after its restart for a quote that an order of `unknown` state was reserved for:
/// same market, side and amounts. `before` are the orders made before the kill; equal quotes among those were requested
/// twice.
pub fn duplicates(
    shown: &[OrderReport],
    unknown: &BTreeSet<Hash>,
    before: &BTreeSet<Hash>,
) -> Vec<String> {
    let quote = |order: &OrderReport| {
        let OrderReport { market, side, .. } = order;
        (
            market.clone(),
            side.name(),
            order.base_amount,
            order.quote_amount,
        )
    };
    let open = || shown.iter().filter(|order| !order.status.is_final());
    let quotes_before: BTreeSet<_> = open()
        .filter(|order| unknown.contains(&order.hash))
        .map(quote)
        .collect();
    open()
        .filter(|order| !before.contains(&order.hash))
        .map(quote)
        .filter(|quote| quotes_before.contains(quote))
        .map(|(market, side, base, for_quote)| {
            format!("a second order {side} {base} for {for_quote} on {market}, both open")
        })
        .collect()
}

/// Compares the complete list at the end with the store of an ended daemon.
pub fn compare(shown: &[OrderReport], known: &BTreeMap<u64, Remembered>) -> Findings {
    let mut found = Findings::default();
    let mut ids: BTreeMap<_, u64> = BTreeMap::new();
    for order in shown {
        *ids.entry(order.client_id).or_default() += 1;
        let remembered = known.values().find(|one| one.hash == order.hash);
        let hash = order.hash;
        let Some(remembered) = remembered else {
            found
                .forgotten
                .push(format!("order {hash} is not in the store"));
            continue;
        };
        let id = remembered.client_id;
        if !order.status.is_final() {
            found.forgotten.push(format!("order {id} is still open"));
        }
        let booked = remembered.filled;
        if (order.base_filled, order.quote_filled, order.fee)
            != (booked.base, booked.quote, booked.fee)
        {
            found.forgotten.push(format!(
                "order {id} filled {} for {}, booked are {} for {}",
                order.base_filled, order.quote_filled, booked.base, booked.quote
            ));
        }
    }
    for (id, count) in ids {
        if let Some(id) = id.filter(|_| count > 1) {
            found
                .doubled
                .push(format!("{count} orders have the id {id}"));
        }
    }
    let mut slots: BTreeMap<_, u64> = BTreeMap::new();
    for one in known.values() {
        *slots.entry((one.sell_token, one.storage_id)).or_default() += 1;
        if one.end.is_none() {
            let id = one.client_id;
            found
                .forgotten
                .push(format!("order {id} has no proven end"));
        }
    }
    for ((token, storage_id), count) in slots {
        if count > 1 {
            let token = token.0;
            found.doubled.push(format!(
                "{count} orders have storage id {storage_id} of token {token}"
            ));
        }
    }
    found
}

/// Compares the complete list of joins and exits at the end with the store of an ended daemon. Where `numbers_return`, a
/// number whose intent died without having been taken is given to the next one.
pub fn compare_moves(
    shown: &[PoolTransactionReport],
    known: &[RememberedPoolTransaction],
    numbers_return: bool,
) -> Findings {
    let mut found = Findings::default();
    for report in shown {
        let (kind, hash) = (report.kind.name(), report.hash);
        let Some(remembered) = known.iter().find(|one| one.hash == hash) else {
            let what = format!("{kind} {hash} is not in the store");
            found.forgotten.push(what);
            continue;
        };
        let id = remembered.transaction.client_id;
        let processed = report.status == PoolTransactionStatus::Processed;
        if processed != (remembered.end.as_deref() == Some(End::Filled.name())) {
            let end = remembered.end.as_deref().unwrap_or("none");
            let what = format!(
                "{kind} {id}: {:?}, its end in the store is {end}",
                report.status
            );
            found.forgotten.push(what);
        }
        if shown.iter().filter(|other| other.hash == hash).count() > 1 {
            found.doubled.push(format!("{kind} {id} is listed twice"));
        }
    }
    let mut slots: BTreeMap<_, u64> = BTreeMap::new();
    for one in known {
        let (id, kind) = (one.transaction.client_id, one.transaction.kind.name());
        let taken = [End::Filled.name(), End::FailedLate.name()];
        let is_taken = one.end.as_deref().is_none_or(|end| taken.contains(&end));
        for slot in one.transaction.slots() {
            *slots.entry(slot).or_default() += u64::from(is_taken || !numbers_return);
        }
        if one.end.is_none() {
            found
                .forgotten
                .push(format!("{kind} {id} has no proven end"));
        }
    }
    for ((token, storage_id), count) in slots {
        if count > 1 {
            let token = token.0;
            found.doubled.push(format!(
                "{count} joins or exits have storage id {storage_id} of token {token}"
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::pool::UnsignedPoolTransaction;
    use cambist_core::{
        ClientOrderId, OrderStatus, PoolTransactionKind, Side, StrategyId, TokenId, VenueTime,
    };

    use super::*;
    use cambist_store::Filled;

    fn shown(number: u8) -> OrderReport {
        OrderReport {
            hash: Hash([number; 32]),
            client_id: Some(id(number)),
            market: "ETH-USDC".into(),
            side: Side::Buy,
            status: OrderStatus::Cancelled,
            base_amount: 10 + u128::from(number),
            quote_amount: 20,
            base_filled: 5,
            quote_filled: 10,
            fee: 1,
            valid_until_s: 0,
            valid_since: VenueTime(0),
        }
    }

    fn id(number: u8) -> ClientOrderId {
        ClientOrderId {
            instance: 1,
            strategy: StrategyId(0),
            number: number.into(),
        }
    }

    fn known(number: u8) -> (u64, Remembered) {
        let remembered = Remembered {
            client_id: id(number),
            hash: Hash([number; 32]),
            market: "ETH-USDC".to_owned(),
            side: "buy".to_owned(),
            price: 1,
            sell_token: TokenId(1),
            sell_amount: 20,
            storage_id: 2 * u32::from(number),
            valid_until_s: 0,
            made_at: VenueTime(0),
            end: Some("cancelled".to_owned()),
            filled: Filled {
                base: 5,
                quote: 10,
                fee: 1,
            },
        };
        (number.into(), remembered)
    }

    #[test]
    fn what_is_known_and_ended_on_both_sides_is_no_finding() {
        let found = compare(&[shown(1), shown(2)], &[known(1), known(2)].into());
        assert_eq!(found, Findings::default());
        // Sealed, never sent: the exchange does not have it.
        let found = compare(&[shown(1)], &[known(1), known(2)].into());
        assert_eq!(found, Findings::default());
    }

    #[test]
    fn every_way_to_forget_is_found() {
        let stranger = compare(&[shown(3)], &BTreeMap::new());
        assert_eq!(stranger.forgotten.len(), 1, "{stranger:?}");
        let mut open = shown(1);
        open.status = OrderStatus::Processing;
        assert_eq!(compare(&[open], &[known(1)].into()).forgotten.len(), 1);
        let mut fuller = shown(1);
        fuller.base_filled += 1;
        assert_eq!(compare(&[fuller], &[known(1)].into()).forgotten.len(), 1);
        let mut endless = known(1);
        endless.1.end = None;
        assert_eq!(compare(&[shown(1)], &[endless].into()).forgotten.len(), 1);
    }

    #[test]
    fn joins_and_exits_are_compared_too() {
        let shown = |number: u8, status| PoolTransactionReport {
            hash: Hash([number; 32]),
            kind: PoolTransactionKind::Join,
            status,
            amounts: cambist_core::pool::PoolTransactionAmounts::default(),
            created: VenueTime(0),
        };
        let known = |number: u8, end: Option<&str>| RememberedPoolTransaction {
            transaction: UnsignedPoolTransaction {
                client_id: id(number),
                market: cambist_core::MarketId(0),
                kind: PoolTransactionKind::Join,
                pooled: [TokenId(0), TokenId(1)],
                amounts: [1, 1],
                lp: TokenId(2),
                lp_amount: 1,
                storage_ids: vec![2 * u32::from(number) + 1; 2],
                fee_max: 0,
                valid_until_s: 0,
                made_at: VenueTime(0),
            },
            hash: Hash([number; 32]),
            end: end.map(str::to_owned),
        };
        let done = shown(1, PoolTransactionStatus::Processed);
        let counts = |shown: &[PoolTransactionReport], known: &[RememberedPoolTransaction]| {
            let found = compare_moves(shown, known, false);
            (found.doubled.len(), found.forgotten.len())
        };
        let filled = known(1, Some("filled"));
        assert_eq!(
            counts(std::slice::from_ref(&done), std::slice::from_ref(&filled)),
            (0, 0)
        );
        let failed = shown(1, PoolTransactionStatus::Cancelled);
        let late = known(1, Some("failed_late"));
        assert_eq!(
            counts(std::slice::from_ref(&failed), std::slice::from_ref(&late)),
            (0, 0)
        );
        assert_eq!(
            counts(std::slice::from_ref(&done), &[]),
            (0, 1),
            "a stranger"
        );
        assert_eq!(counts(&[], &[known(1, None)]), (0, 1), "no end");
        assert_eq!(
            counts(std::slice::from_ref(&done), &[late]),
            (0, 1),
            "another end"
        );
        assert_eq!(
            counts(&[failed], std::slice::from_ref(&filled)),
            (0, 1),
            "another end"
        );
        let mut duplicate = known(2, Some("filled"));
        duplicate.transaction.storage_ids = filled.transaction.storage_ids.clone();
        let both = [done, shown(2, PoolTransactionStatus::Processed)];
        assert_eq!(
            counts(&both, &[filled.clone(), duplicate.clone()]),
            (2, 0),
            "a slot of each token"
        );
        // Both of them were taken: no rule of numbers allows that.
        let again = compare_moves(&both, &[filled.clone(), duplicate.clone()], true);
        assert_eq!(again.doubled.len(), 2, "{again:?}");
        let mut dead = duplicate;
        dead.end = Some("fenced".to_owned());
        let of_dead = |numbers_return| {
            let known = [filled.clone(), dead.clone()];
            compare_moves(&both[..1], &known, numbers_return)
                .doubled
                .len()
        };
        assert_eq!((of_dead(false), of_dead(true)), (2, 0));
    }

    #[test]
    fn every_way_to_double_is_found() {
        let mut again = shown(1);
        again.hash = Hash([9; 32]);
        let found = compare(&[shown(1), again], &[known(1)].into());
        assert_eq!(found.doubled.len(), 1, "{found:?}");
        let mut slot = known(2);
        slot.1.storage_id = 2;
        let found = compare(&[], &[known(1), slot].into());
        assert_eq!(found.doubled.len(), 1, "{found:?}");
        let open = |number: u8| OrderReport {
            status: OrderStatus::Processing,
            base_amount: 10,
            ..shown(number)
        };
        let (first, second) = (Hash([1; 32]), Hash([2; 32]));
        let duplicates_of = |shown: &[OrderReport], before: &[Hash]| {
            duplicates(shown, &[first].into(), &before.iter().copied().collect()).len()
        };
        assert_eq!(duplicates_of(&[open(1), open(2)], &[first]), 1);
        assert_eq!(duplicates_of(&[open(1), open(2)], &[first, second]), 0);
        assert_eq!(
            duplicates_of(&[open(1), shown(2)], &[first]),
            0,
            "it had ended"
        );
        assert_eq!(duplicates_of(&[shown(1), open(2)], &[first]), 0);
    }
}
