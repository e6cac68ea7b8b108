//! Removes repetitions from the notifications of several runs of one daemon: what a killed run had reported and not
//! stored is reported again by the next.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use cambist_core::event::{RecoveredOrder, Start};
use cambist_core::notification::{Fill, Notification};
use cambist_core::{Amount, ClientOrderId};

/// Base, quote and fee.
type Amounts = [Amount; 3];

/// What was reported.
#[derive(Debug, Default)]
pub struct Deduplicated {
    filled: BTreeMap<ClientOrderId, Amounts>,
    /// The part that the current run did not find in its store.
    repeated: BTreeMap<ClientOrderId, Amounts>,
    moved: BTreeSet<ClientOrderId>,
}

impl Deduplicated {
    /// Another run begins.
    pub fn begin_run(&mut self, start: &Start) {
        self.repeated.clear();
        for RecoveredOrder {
            order,
            base_filled,
            quote_filled,
            fee,
            ..
        } in &start.open
        {
            let Some(reported) = self.filled.get(&order.client_id) else {
                continue;
            };
            let stored = [base_filled, quote_filled, fee];
            let lost = [0, 1, 2].map(|at| reported[at].saturating_sub(*stored[at]));
            self.repeated.insert(order.client_id, lost);
        }
    }

    /// The new part of a notification; `None` if all of it was reported before.
    pub fn new_part<'n>(&mut self, note: &'n Notification) -> Option<Cow<'n, Notification>> {
        match note {
            Notification::Filled(fill) => self.fill(fill).map(Cow::Owned),
            Notification::PoolTransactionSettled(moved) => self
                .moved
                .insert(moved.order)
                .then_some(Cow::Borrowed(note)),
            _ => Some(Cow::Borrowed(note)),
        }
    }

    fn fill(&mut self, fill: &Fill) -> Option<Notification> {
        let mut new = [fill.base, fill.quote, fill.fee];
        if let Some(repeated) = self.repeated.get_mut(&fill.order) {
            for (new, repeated) in new.iter_mut().zip(repeated) {
                let known = (*new).min(*repeated);
                *new -= known;
                *repeated -= known;
            }
        }
        let reported = self.filled.entry(fill.order).or_default();
        for (reported, new) in reported.iter_mut().zip(new) {
            *reported = reported.saturating_add(new);
        }
        let [base, quote, fee] = new;
        (new != [0; 3]).then(|| {
            Notification::Filled(Fill {
                base,
                quote,
                fee,
                ..fill.clone()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::{MarketId, Side, StrategyId};

    use super::*;

    const ORDER: ClientOrderId = ClientOrderId {
        instance: 1,
        strategy: StrategyId(0),
        number: 1,
    };

    fn fill(base: Amount, quote: Amount) -> Notification {
        Notification::Filled(Fill {
            order: ORDER,
            market: MarketId(0),
            side: Side::Buy,
            base,
            quote,
            fee: 0,
            mid: None,
        })
    }

    #[test]
    fn what_was_reported_and_not_stored_is_not_counted_twice() {
        let mut once = Deduplicated::default();
        assert_eq!(*once.new_part(&fill(5, 50)).unwrap(), fill(5, 50));
        assert_eq!(*once.new_part(&fill(2, 20)).unwrap(), fill(2, 20));
        // The store had the first only; the next run finds 2 and 3 more together.
        once.repeated.insert(ORDER, [2, 20, 0]);
        assert_eq!(*once.new_part(&fill(5, 50)).unwrap(), fill(3, 30));
        once.repeated.insert(ORDER, [3, 30, 0]);
        assert_eq!(once.new_part(&fill(3, 30)), None);
        assert_eq!(*once.new_part(&fill(1, 10)).unwrap(), fill(1, 10));
        assert_eq!(once.filled[&ORDER], [11, 110, 0]);
    }
}
