//! What Kraken's spot interface guarantees, as the engine judges by it.
//!
//! The facts are those of the published documents; where they are silent, the answer that proves less is stated.

use cambist_core::request::{Endpoint, OrderList};
use cambist_core::venue::{
    AmountRule, ClockRule, FeeRule, LifetimeRule, ListRule, Refusal, RefusalRules, RequestCosts,
    Resting, SlotRule, TradingCounter,
};
use cambist_core::{Reason, TokenId, VenueRules};

use crate::reasons;

/// The token under whose name the numbers of submits are counted. No asset gets it.
pub const ROW: TokenId = TokenId(u16::MAX);

/// What one call costs of the budget: rates of the counter below one a second are whole numbers of hundredths.
pub const CALL: u32 = 100;

/// Calls that the questions of a start add to the counter of the key that reads and cancels.
pub const START_CALLS: u32 = 9;

/// Calls of a counter that are not used.
const SPARE_CALLS: u32 = 2;

/// Calls of the first lists of a start.
const LIST_CALLS: u32 = 5;

/// Quote units by which the fills of an order may exceed its amount: price and fee of every trade are rounded to a unit.
const QUOTE_ROUNDING: u128 = 1_000;

/// Refusals of the key, its signature or its permissions.
const KEYS: [Reason; 3] = [
    Reason::InvalidApiKey,
    Reason::WrongSignature,
    Reason::NoSignature,
];

/// The furthest that a deadline is ahead. The documents allow 60 s; the engine's bound of the venue's clock may be 5 s
/// ahead of it.
pub const ACCEPTED_MS_MAX: u64 = 55_000;

/// The nearest that a deadline is ahead: that much of it is left for storing and sending.
pub const ACCEPTED_MS_MIN: u64 = 5_000;

/// What a cancel adds to the counter of its pair: of an order younger than so many seconds, so much.
const CANCELS: [(u64, u32); 6] = [(5, 8), (10, 6), (15, 5), (45, 4), (90, 2), (300, 1)];

/// What an amend adds to it: a fixed count of 1, and of a young order more. An older one adds 1.
const AMENDS: [(u64, u32); 3] = [(5, 4), (10, 3), (15, 2)];

/// The verification tier of an account: how many calls its keys may make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// Up to 15 calls, of which a third of one is forgotten each second.
    #[default]
    Starter,
    /// Up to 20, half of one a second.
    Intermediate,
    /// Up to 20, one a second.
    Pro,
}

impl Tier {
    /// Every tier, the lowest first.
    pub const ALL: [Self; 3] = [Self::Starter, Self::Intermediate, Self::Pro];

    /// The word in configuration files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starter => "starter",
            Self::Intermediate => "intermediate",
            Self::Pro => "pro",
        }
    }

    /// Most calls that are made at once, and how many are forgotten each second; both in hundredths. Two fewer than the
    /// counter of a key holds: requests arrive after they were counted here, and the venue has then forgotten less.
    pub const fn calls(self) -> (u32, u32) {
        match self {
            Self::Starter => (13 * CALL, CALL / 3),
            Self::Intermediate => (18 * CALL, CALL / 2),
            Self::Pro => (18 * CALL, CALL),
        }
    }

    /// Most that the counter of a key holds, in hundredths of a call: the venue refuses what would lift it above that, and
    /// does not count it.
    pub const fn counter_most(self) -> u32 {
        let (most, _) = self.calls();
        most + SPARE_CALLS * CALL
    }

    /// The counter that each pair has for orders and cancels.
    pub fn trading(self) -> TradingCounter {
        let (most, decay_per_s) = match self {
            Self::Starter => (60, 100),
            Self::Intermediate => (125, 234),
            Self::Pro => (180, 375),
        };
        TradingCounter {
            most: most * 100,
            decay_per_s,
            // As much as falls while a request is on its way for four seconds at least.
            spare: most * 100 / 12,
            order: 100,
            cancels: by_age(&CANCELS),
            amends: by_age(&AMENDS),
        }
    }
}

fn by_age(table: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let in_units = |(below_s, adds): &(u64, u32)| (below_s * 1_000, adds * 100);
    table.iter().map(in_units).collect()
}

/// What an operator states about the venue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The account's tier.
    pub tier: Tier,
    /// How far ahead the deadline of an order is, in ms: [`ACCEPTED_MS_MIN`] to [`ACCEPTED_MS_MAX`].
    pub accepted_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tier: Tier::default(),
            accepted_ms: 10_000,
        }
    }
}

/// What the venue guarantees.
pub fn rules(settings: Settings) -> VenueRules {
    VenueRules {
        slots: SlotRule::Rising { row: ROW },
        lifetime: LifetimeRule {
            accepted_max_ms: Some(settings.accepted_ms.clamp(ACCEPTED_MS_MIN, ACCEPTED_MS_MAX)),
            resting: Resting::UntilExpiry,
        },
        refusals: refusals(),
        lists: ListRule {
            scanned: vec![OrderList::Resting, OrderList::Closed],
        },
        clock: ClockRule {
            resolution_ms: 1_000,
        },
        costs: costs(settings.tier),
        trading: Some(settings.tier.trading()),
        // An order states no fee. What the engine reserves is what the start compares with the account's fees.
        fees: FeeRule {
            stated_max_bips: u8::MAX,
        },
        amounts: AmountRule {
            quote_rounding: QUOTE_ROUNDING,
        },
        charged_as: None,
        compares_shares: true,
        amends_orders: true,
    }
}

/// With a nonce window of 0, a copy that was refused by the trading engine had its nonce accepted before, and so no other
/// copy ever will be.
fn refusals() -> RefusalRules {
    let mut submits = vec![
        (Reason::InvalidNonce, Refusal::KillsCopy),
        (Reason::RateLimited, Refusal::RateLimited),
    ];
    submits.extend(reasons::OF_ORDERS.map(|reason| (reason, Refusal::KillsBytes)));
    submits.extend(KEYS.map(|reason| (reason, Refusal::KeysRefused)));
    submits.sort_unstable();
    RefusalRules {
        submits,
        nothing_to_cancel: vec![Reason::NothingToCancel],
        not_found: vec![Reason::OrderNotFound],
    }
}

/// Calls that a query adds to the key's counter, without those about trades. Orders, amends and cancels have a counter of
/// their pair instead, and public data a pace of their own.
pub const fn calls(endpoint: Endpoint) -> u32 {
    match endpoint {
        Endpoint::Balances | Endpoint::Orders | Endpoint::Account => 1,
        // It is sought among the open orders, then among the closed ones.
        Endpoint::Order => 2,
        Endpoint::Submit
        | Endpoint::Cancel
        | Endpoint::Amend
        | Endpoint::Depth
        | Endpoint::Markets
        | Endpoint::Tokens
        // There are no pools.
        | Endpoint::Pools
        | Endpoint::PoolBalance
        | Endpoint::Join
        | Endpoint::Exit
        | Endpoint::PoolTransactions => 0,
    }
}

/// In hundredths of a call.
fn costs(tier: Tier) -> RequestCosts {
    let each = Endpoint::ALL.map(|endpoint| (endpoint, calls(endpoint) * CALL));
    RequestCosts {
        each: each.into(),
        // One question to the ledger.
        new_fills: 2 * CALL,
        left_to_start: match tier {
            // The rest is what a list and its ledger take.
            Tier::Starter => START_CALLS * CALL,
            Tier::Intermediate | Tier::Pro => (START_CALLS + LIST_CALLS) * CALL,
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::reasons::{Meaning, meaning};

    fn reason(error: &str) -> Option<Reason> {
        match meaning(error) {
            Meaning::Refused(reason) => Some(reason),
            Meaning::Unfinished => None,
        }
    }

    /// What an error proves; one that the service did not finish is an outcome of its own, which proves nothing.
    fn proof(error: &str) -> Refusal {
        let refusals = rules(Settings::default()).refusals;
        reason(error).map_or(Refusal::ProvesNothing, |reason| refusals.of(reason))
    }

    #[test]
    fn what_the_trading_engine_refuses_had_its_nonce_accepted_and_is_dead() {
        for error in [
            "EOrder:Insufficient funds",
            "EOrder:Post only order",
            "EOrder:Order minimum not met",
            "EOrder:Cost minimum not met",
            "EOrder:Invalid price",
            "EOrder:Orders limit exceeded",
            "EOrder:Rate limit exceeded",
            "EOrder:Something new",
        ] {
            assert_eq!(proof(error), Refusal::KillsBytes, "{error}");
        }
    }

    #[test]
    fn a_used_nonce_proves_this_copy_dead_and_no_other() {
        assert_eq!(proof("EAPI:Invalid nonce"), Refusal::KillsCopy);
    }

    #[test]
    fn refused_keys_and_rates_prove_nothing_of_the_order() {
        for error in [
            "EAPI:Invalid key",
            "EAPI:Invalid signature",
            "EGeneral:Permission denied",
        ] {
            assert_eq!(proof(error), Refusal::KeysRefused, "{error}");
        }
        for error in [
            "EAPI:Rate limit exceeded",
            "EGeneral:Too many requests",
            "EGeneral:Temporary lockout",
            "EService:Throttled",
        ] {
            assert_eq!(proof(error), Refusal::RateLimited, "{error}");
        }
    }

    #[test]
    fn everything_else_proves_nothing() {
        for error in [
            "EService:Deadline elapsed",
            "EService:Unavailable",
            "EService:Busy",
            "EService:Market in cancel_only mode",
            "EGeneral:Internal error",
            "EGeneral:Invalid arguments",
            "EGeneral:Invalid arguments:volume",
            "EAPI:Something new",
            "",
        ] {
            assert_eq!(proof(error), Refusal::ProvesNothing, "{error}");
        }
        let rules = rules(Settings::default()).refusals;
        let nothing = ["EOrder:Unknown order", "EOrder:Insufficient funds"].map(reason);
        let nothing = nothing.map(|reason| rules.is_nothing_to_cancel(reason.unwrap()));
        assert_eq!(nothing, [true, false]);
        assert!(rules.is_not_found(Reason::OrderNotFound));
        assert!(!rules.is_not_found(Reason::NothingToCancel));
        assert!(rules.submits.is_sorted());
    }

    #[test]
    fn a_deadline_is_within_what_the_venue_accepts_by_both_clocks() {
        let most = |accepted_ms| {
            let settings = Settings {
                accepted_ms,
                ..Settings::default()
            };
            rules(settings).lifetime.accepted_max_ms
        };
        let usual = rules(Settings::default()).lifetime.accepted_max_ms;
        assert_eq!(usual, Some(10_000));
        assert_eq!(most(0), Some(5_000));
        assert_eq!(most(10_000), Some(10_000));
        assert_eq!(most(55_001), Some(55_000));
    }

    #[test]
    fn rates_below_one_a_second_are_whole_numbers() {
        let rates = Tier::ALL.map(Tier::calls);
        assert_eq!(rates, [(1_300, 33), (1_800, 50), (1_800, 100)]);
        let most = Tier::ALL.map(Tier::counter_most);
        assert_eq!(most, [1_500, 2_000, 2_000]);
        let costs = rules(Settings::default()).costs;
        let of = |endpoint| costs.of(endpoint);
        assert_eq!(of(Endpoint::Balances), 100);
        assert_eq!(of(Endpoint::Order), 200, "two lists");
        assert_eq!(costs.new_fills, 200);
        let left = Tier::ALL.map(|tier| {
            let settings = Settings {
                tier,
                ..Settings::default()
            };
            rules(settings).costs.left_to_start
        });
        assert_eq!(left, [900, 1_400, 1_400]);
        assert_eq!([of(Endpoint::Submit), of(Endpoint::Cancel)], [0, 0]);
        assert_eq!(of(Endpoint::Depth), 0, "public");
    }

    #[test]
    fn each_pair_counts_orders_and_young_cancels() {
        for (tier, most, decay_per_s, spare) in [
            (Tier::Starter, 6_000, 100, 500),
            (Tier::Intermediate, 12_500, 234, 1_041),
            (Tier::Pro, 18_000, 375, 1_500),
        ] {
            let counter = tier.trading();
            assert_eq!((counter.most, counter.decay_per_s), (most, decay_per_s));
            assert_eq!((counter.spare, counter.order), (spare, 100));
            assert!(counter.spare >= 4 * decay_per_s, "{tier:?}");
            let ages = [
                0, 4_999, 5_000, 10_000, 15_000, 45_000, 90_000, 299_999, 300_000,
            ];
            let adds = ages.map(|age_ms| counter.cancel(age_ms));
            assert_eq!(adds, [800, 800, 600, 500, 400, 200, 100, 100, 0]);
        }
    }
}
