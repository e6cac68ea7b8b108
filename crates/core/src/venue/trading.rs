//! A counter that the venue keeps of orders and cancels, beside what requests cost.

use serde::{Deserialize, Serialize};

/// A counter for each market: an order raises it, and so does an amend or a cancel, the more the younger its order is. It
/// falls with time. An order or an amend that would lift it above its maximum is refused; a cancel never is. All counts
/// are hundredths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TradingCounter {
    /// The most that it holds.
    pub most: u32,
    /// How much of it is forgotten each second.
    pub decay_per_s: u32,
    /// What orders leave free: requests arrive after they were counted here, and what falls meanwhile has not fallen
    /// there.
    pub spare: u32,
    /// What an order adds.
    pub order: u32,
    /// What a cancel adds: of an order younger than so many ms, so much. Ages rise; an older one adds nothing.
    pub cancels: Vec<(u64, u32)>,
    /// What an amend adds: of an order younger than so many ms, so much. Ages rise; one of an older order adds as much as
    /// an order.
    pub amends: Vec<(u64, u32)>,
}

impl TradingCounter {
    /// What a cancel of an order of this age adds.
    pub fn cancel(&self, age_ms: u64) -> u32 {
        by_age(&self.cancels, age_ms).unwrap_or(0)
    }

    /// What an amend of an order of this age adds.
    pub fn amend(&self, age_ms: u64) -> u32 {
        by_age(&self.amends, age_ms).unwrap_or(self.order)
    }

    /// The most that a cancel adds.
    pub fn dearest_cancel(&self) -> u32 {
        self.cancels
            .iter()
            .map(|(_, adds)| *adds)
            .max()
            .unwrap_or(0)
    }
}

fn by_age(table: &[(u64, u32)], age_ms: u64) -> Option<u32> {
    let younger = table.iter().find(|(below_ms, _)| age_ms < *below_ms);
    younger.map(|(_, adds)| *adds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancels_and_amends_add_less_with_the_age_of_their_order() {
        let counter = TradingCounter {
            most: 6_000,
            decay_per_s: 100,
            spare: 0,
            order: 100,
            cancels: vec![(5_000, 800), (10_000, 600)],
            amends: vec![(5_000, 400)],
        };
        assert_eq!(
            [4_999, 5_000].map(|age_ms| counter.amend(age_ms)),
            [400, 100]
        );
        let adds = [0, 4_999, 5_000, 9_999, 10_000].map(|age_ms| counter.cancel(age_ms));
        assert_eq!(adds, [800, 800, 600, 600, 0]);
        assert_eq!(counter.dearest_cancel(), 800);
    }
}
