//! The right rules hold in every state; every wrong rule is found.
//!
//! The bounds here keep the test short; `cargo run --release -p cambist-fence-model --example full` uses the full
//! bounds and prints the numbers in README.md.

use cambist_fence_model::model::{AFTER_CRASHES, ALWAYS, PASSED, SOMETIMES};
use cambist_fence_model::{CRASHES, Fence, Numbers, Rests, Wrong};
use stateright::{Checker, HasDiscoveries, Model};

const THREADS: usize = 2;

#[test]
fn the_rules_hold_in_every_state() {
    let fence = Fence {
        wrong_pages: 0,
        ..Fence::with(None)
    };
    hold(fence);
}

/// With orders that rest longer than their bytes are accepted, or until they are cancelled.
#[test]
fn the_rules_hold_where_orders_rest_longer_than_their_bytes_are_accepted() {
    for rests in [Rests::Longer, Rests::Endless] {
        let fence = Fence {
            wrong_pages: 0,
            crashes: 1,
            rests,
            ..Fence::with(None)
        };
        hold(fence);
    }
}

/// Numbers that rise: a later number that was taken proves nothing of what an earlier order has become. Both orders are on
/// their way at once, so that the bounds are narrower.
#[test]
fn the_rules_hold_where_a_later_number_is_taken_before_an_earlier_order_is_known() {
    let fence = Fence {
        wrong_pages: 0,
        crashes: 0,
        cancels: 0,
        numbers: Numbers::Rising,
        ..Fence::with(None)
    };
    hold(fence);
}

fn hold(fence: Fence) {
    let checker = fence.checker().threads(THREADS).spawn_bfs().join();
    println!("{} states", checker.unique_state_count());
    assert!(checker.is_done());
    for name in ALWAYS {
        if let Some(history) = checker.discovery(name) {
            panic!("not true: {name}: {:?}", history.into_actions());
        }
    }
    // Otherwise the run would prove nothing.
    for name in SOMETIMES {
        let needs_crashes = fence.crashes < CRASHES && name == AFTER_CRASHES;
        // Numbers that rise are tried without crashes and cancels, and for the sake of one property.
        let is_meant = (fence.numbers == Numbers::Rising) == (name == PASSED);
        if needs_crashes || !is_meant {
            continue;
        }
        assert!(checker.discovery(name).is_some(), "never: {name}");
    }
}

/// A counterexample: the violated property and the sequence of actions.
fn found(checker: &impl Checker<Fence>) -> Option<(&'static str, Vec<String>)> {
    ALWAYS.into_iter().find_map(|name| {
        let actions = checker.discovery(name)?.into_actions();
        let steps = actions.iter().map(|action| format!("{action:?}"));
        Some((name, steps.collect()))
    })
}

#[test]
fn every_wrong_rule_is_found() {
    for wrong in Wrong::ALL {
        let fence = Fence {
            rests: match wrong {
                Wrong::LapseEnds => Rests::Longer,
                _ => Rests::WhileAccepted,
            },
            numbers: match wrong {
                Wrong::LaterTakenEnds => Numbers::Rising,
                _ => Numbers::Apart,
            },
            ..Fence::with(Some(wrong))
        };
        let checker = fence
            .checker()
            .threads(THREADS)
            .finish_when(HasDiscoveries::AnyFailures);
        // One of them needs a long history, which a breadth-first search would reach late.
        let history = if wrong == Wrong::FirstPageOnly {
            found(&checker.spawn_dfs().join())
        } else {
            found(&checker.spawn_bfs().join())
        };
        let (name, steps) = history.unwrap_or_else(|| panic!("{wrong:?} was not found"));
        println!("{wrong:?}: not \"{name}\": {}", steps.join(", "));
    }
}
