//! Visits every state within the bounds of the model and prints their number. Exit 1 if a rule does not hold in one of
//! them. Takes minutes and some gigabytes of memory.

use std::process::ExitCode;

use cambist_fence_model::Fence;
use cambist_fence_model::model::{ALWAYS, PASSED, SOMETIMES};
use stateright::{Checker, Model};

fn main() -> ExitCode {
    let mut all_hold = true;
    println!("crashes  wrong pages     states  transitions");
    for (crashes, wrong_pages) in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)] {
        let fence = Fence {
            crashes,
            wrong_pages,
            ..Fence::with(None)
        };
        let checker = fence.checker().threads(2).spawn_bfs().join();
        println!(
            "{crashes:7}  {wrong_pages:11}  {:9}  {:11}",
            checker.unique_state_count(),
            checker.state_count()
        );
        for name in ALWAYS {
            if let Some(history) = checker.discovery(name) {
                all_hold = false;
                println!("NOT TRUE: {name}: {:?}", history.into_actions());
            }
        }
        let never = SOMETIMES
            .iter()
            .filter(|name| **name != PASSED)
            .filter(|name| checker.discovery(name).is_none());
        for name in never.filter(|_| crashes == 2) {
            all_hold = false;
            println!("NEVER: {name}");
        }
    }
    if all_hold {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
