//! Bookings since the venue's balances were requested. Balances contain everything that was booked before their
//! request, and any part of what was booked since.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::sorted_map::SortedMap;
use crate::token::{Amount, TokenId};

/// Changes that are kept separately; older ones are kept as sums.
const KEPT: usize = 1_024;

/// By token: paid, received.
type Sums = SortedMap<TokenId, (Amount, Amount)>;

/// Changes of the ledger since a request, each with the number of its booking.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct BookedSince {
    each: VecDeque<(u64, TokenId, i128)>,
    /// Sums of the changes that exceed `KEPT`, up to a booking.
    sums: Sums,
    sums_until: u64,
}

fn add((paid, got): &mut (Amount, Amount), change: i128) {
    let way = if change < 0 { paid } else { got };
    *way = way.saturating_add(change.unsigned_abs());
}

impl BookedSince {
    /// Adds a change by a booking.
    pub(crate) fn add(&mut self, booking: u64, token: TokenId, change: i128) {
        if self.each.len() >= KEPT
            && let Some((until, token, change)) = self.each.pop_front()
        {
            add(self.sums.entry(token).or_default(), change);
            self.sums_until = until;
        }
        self.each.push_back((booking, token, change));
    }

    /// Balances have arrived that were requested after a booking.
    pub(crate) fn requested_after(&mut self, booking: u64) {
        while self.each.front().is_some_and(|(of, _, _)| *of <= booking) {
            self.each.pop_front();
        }
        if self.sums_until <= booking {
            self.sums.clear();
        }
    }

    /// Amounts of a token paid and received.
    pub(crate) fn of(&self, token: TokenId) -> (Amount, Amount) {
        let mut sums = self.sums.get(&token).copied().unwrap_or_default();
        let of_token = self.each.iter().filter(|(_, of, _)| *of == token);
        of_token.for_each(|(_, _, change)| add(&mut sums, *change));
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: TokenId = TokenId(0);

    #[test]
    fn bookings_before_the_request_are_in_the_balances() {
        let mut since = BookedSince::default();
        for (booking, change) in [(1, -10), (2, 7), (3, -5), (4, 3)] {
            since.add(booking, TOKEN, change);
            since.add(booking, TokenId(1), 1);
        }
        assert_eq!(since.of(TOKEN), (15, 10));
        since.requested_after(2);
        assert_eq!(since.of(TOKEN), (5, 3));
        since.requested_after(4);
        assert_eq!(since.of(TOKEN), (0, 0));
    }

    #[test]
    fn sums_count_as_long_as_any_part_of_them_may() {
        let mut since = BookedSince::default();
        let booked = KEPT as u64 + 100;
        for booking in 1..=booked {
            since.add(booking, TOKEN, -1);
        }
        assert_eq!(since.of(TOKEN), (booked.into(), 0));
        since.requested_after(99);
        assert_eq!(
            since.of(TOKEN),
            (booked.into(), 0),
            "too much, never too little"
        );
        since.requested_after(100);
        assert_eq!(since.of(TOKEN), (KEPT as Amount, 0));
    }
}
