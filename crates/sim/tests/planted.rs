//! Checks that cannot fail prove nothing: every deliberate defect is found, and worlds without one stay
//! sound in the same build.
#![cfg(feature = "planted")]
#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::planted::Defect;
use cambist_sim::SeedRun;

/// Seeds tried per defect; the program tries up to 2,000.
const SEEDS: u64 = 60;
/// Simulated time of a world, in ms, and how many of them: what ten minutes do not show in any of them is sought
/// in whole hours. Which worlds show a defect changes with everything that is drawn for them.
const LENGTHS_MS: [(u64, u64); 2] = [(600_000, SEEDS), (3_600_000, 5 * SEEDS)];
/// Those that need more seeds than a test may take: `cambist sim --planted all` shows them found.
const RARE: [Defect; 5] = [
    Defect::SelfCrossForgotten,
    Defect::PartsForgotten,
    Defect::MarginForgotten,
    Defect::OneReading,
    Defect::BudgetRenewed,
];

#[test]
fn every_defect_is_found() {
    let missed: Vec<_> = Defect::ALL
        .iter()
        .filter(|defect| !RARE.contains(defect))
        .filter(|defect| {
            let mut worlds = LENGTHS_MS.iter().flat_map(|(length_ms, seeds)| {
                (1..=*seeds).map(move |seed| SeedRun::new(seed, *length_ms))
            });
            !worlds.any(|mut trial| {
                trial.planted = Some(**defect);
                !trial.run().unwrap().violations.is_empty()
            })
        })
        .collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}

/// What the exchange tells wrongly, and the check of the book-keeper that names it.
const TOLD_WRONGLY: [(Defect, &str); 11] = [
    (Defect::TakersPricePaid, "oracle_price"),
    (Defect::QueueJumped, "oracle_priority"),
    (Defect::FillTooLarge, "oracle_amount"),
    (Defect::FeeRoundedUp, "oracle_fee"),
    (Defect::TradeUntold, "oracle_trade"),
    (Defect::FilledAfterCancel, "oracle_traded_after_end"),
    (Defect::CancelledShownOpen, "oracle_state"),
    (Defect::BalanceOffByOne, "oracle_balance"),
    (Defect::LocksUntold, "oracle_balance"),
    (Defect::BestLevelUntold, "oracle_depth"),
    (Defect::PoolMintsOneMore, "oracle_pool"),
];

#[test]
fn the_book_keeper_names_what_the_exchange_tells_wrongly() {
    for (defect, check) in TOLD_WRONGLY {
        let found = (1..=SEEDS).any(|seed| {
            let mut trial = SeedRun::new(seed, 60_000);
            trial.planted = Some(defect);
            let violations = trial.run().unwrap().violations;
            violations.iter().any(|violation| violation.check == check)
        });
        assert!(found, "{defect} is not found by {check}");
    }
}

/// What the stated loss rests on: in worlds that sweep everything, a band that is not kept is found.
#[test]
fn a_band_that_is_not_kept_is_found_where_everything_is_swept() {
    let falls = |seed: &u64| SeedRun::new(*seed, 0).config().falls.mean_ms > 0;
    let found = (1..=SEEDS).filter(falls).any(|seed| {
        let mut trial = SeedRun::new(seed, 1_800_000);
        trial.planted = Some(Defect::BandForgotten);
        let violations = trial.run().unwrap().violations;
        let named = ["inventory_band", "loss_above_bound"];
        violations
            .iter()
            .any(|violation| named.contains(&violation.check.as_str()))
    });
    assert!(found, "nobody saw it");
}

#[test]
fn nothing_is_found_where_nothing_is_planted() {
    for seed in 1..=20 {
        let outcome = SeedRun::new(seed, 600_000).run().unwrap();
        assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    }
}

/// Why a side has no quotes is compared with its orders, both ways.
#[test]
fn a_reason_that_is_missing_and_one_that_stays_are_found_by_name() {
    for (defect, check) in [
        (Defect::ReasonsForgotten, "undecided"),
        (Defect::ReasonsStay, "reason_though_quoted"),
    ] {
        let found = (1..=SEEDS).any(|seed| {
            let mut trial = SeedRun::new(seed, 600_000);
            trial.planted = Some(defect);
            let violations = trial.run().unwrap().violations;
            violations.iter().any(|violation| violation.check == check)
        });
        assert!(found, "{defect} is not found by {check}");
    }
}
