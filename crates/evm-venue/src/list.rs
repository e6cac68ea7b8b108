//! Pages of what is settled: the venue's lists of orders, and of joins and exits.
//!
//! Only what a finalized block holds is on a list, so that nothing disappears from it. A closed window is answered only
//! while the finalized block proves it ([`View::proves_until`](crate::finality::View::proves_until)); otherwise there
//! is no answer, and the engine waits.

use cambist_core::VenueTime;
use cambist_core::request::{OrderList, OrdersPage};

use crate::finality::View;

/// A report with the venue's time of creation.
pub trait Created {
    /// The venue's time of creation.
    fn created(&self) -> VenueTime;
}

impl Created for cambist_core::order::OrderReport {
    fn created(&self) -> VenueTime {
        self.valid_since
    }
}

impl Created for cambist_core::pool::PoolTransactionReport {
    fn created(&self) -> VenueTime {
        self.created
    }
}

/// The asked page and the number of entries on all pages, in the order of creation. `settled` are the reports of every
/// nonce that the finalized block of `view` has spent, in the order of nonces. `None` if the window's end is not proven.
pub fn page<'a, R: Created + Clone + 'a>(
    settled: impl IntoIterator<Item = &'a R>,
    view: &View,
    grace_ms: u64,
    asked: &OrdersPage,
) -> Option<(Vec<R>, u32)> {
    let is_open_ended = asked.to == VenueTime(0);
    if !is_open_ended && !view.proves_until(asked.to, grace_ms) {
        return None;
    }
    // Nothing rests at a pool.
    if asked.list == OrderList::Resting {
        return Some((Vec::new(), 0));
    }
    let within = |report: &&R| {
        let created = report.created();
        created >= asked.from && (is_open_ended || created <= asked.to)
    };
    let mut of_window: Vec<&R> = settled.into_iter().filter(within).collect();
    of_window.sort_by_key(|report| report.created());
    let total = u32::try_from(of_window.len()).ok()?;
    let offset = usize::try_from(asked.offset).ok()?;
    let limit = usize::try_from(asked.limit).ok()?;
    let entries = of_window.into_iter().skip(offset).take(limit).cloned();
    Some((entries.collect(), total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finality::tests::block;

    #[derive(Clone, Debug, PartialEq)]
    struct At(u64);

    impl Created for At {
        fn created(&self) -> VenueTime {
            VenueTime::from_s(self.0)
        }
    }

    #[test]
    fn a_window_is_answered_once_the_finalized_block_proves_it() {
        let settled = [At(1_010), At(1_040), At(1_020)];
        // The finalized block is of second 1,050.
        let Ok(view) = View::new(block(9, 0), block(5, 0)) else {
            panic!("a view")
        };
        let asked = OrdersPage {
            list: OrderList::All,
            from: VenueTime::from_s(1_010),
            to: VenueTime::from_s(1_040),
            offset: 0,
            limit: 2,
        };
        let of = |asked: &OrdersPage| page(&settled, &view, 10_000, asked);
        assert_eq!(of(&asked), Some((vec![At(1_010), At(1_020)], 3)));
        let second = OrdersPage { offset: 2, ..asked };
        assert_eq!(of(&second), Some((vec![At(1_040)], 3)));
        let narrow = OrdersPage {
            from: VenueTime::from_s(1_011),
            to: VenueTime::from_s(1_039),
            ..asked
        };
        assert_eq!(of(&narrow), Some((vec![At(1_020)], 1)));
        let to = |s| OrdersPage {
            to: VenueTime::from_s(s),
            ..asked
        };
        assert!(of(&to(1_060)).is_some());
        assert_eq!(of(&to(1_061)), None, "finality lags");
        let open_ended = OrdersPage {
            to: VenueTime(0),
            limit: 9,
            ..asked
        };
        assert_eq!(of(&open_ended).map(|page| page.1), Some(3));
        let resting = OrdersPage {
            list: OrderList::Resting,
            ..open_ended
        };
        assert_eq!(of(&resting), Some((Vec::new(), 0)));
    }
}
