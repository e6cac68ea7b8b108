//! Joins, exits and swaps on a real node with the real contracts, through every fault that the node can make.
//!
//!     evm_node ANVIL NODE_MODULES WORK [SEED [OPERATIONS [CAMBIST]]]
//!
//! ANVIL is the program, NODE_MODULES the folder with the packages of the contracts, WORK an empty folder, CAMBIST the
//! program whose daemon then trades on the node as well. One line for
//! each step, then "N passed, M failed"; exit code 1 if one failed. `tests/external/evm/run` gets what it needs.
#![allow(clippy::print_stdout, reason = "the result is for a terminal")]

mod adapter;
mod contracts;
mod daemon;
mod engine_requests;
mod node;
mod random;
mod ranges;
mod steps;

use std::path::Path;
use std::process::ExitCode;

/// Why a step failed.
type Step<T = ()> = Result<T, String>;

/// Fails the step with a text unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err(format!($($text)+));
        }
    };
}
use ensure;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [anvil, modules, work, rest @ ..] = arguments.as_slice() else {
        println!("usage: evm_node ANVIL NODE_MODULES WORK [SEED [OPERATIONS [CAMBIST]]]");
        return ExitCode::from(2);
    };
    let number = |at: usize, otherwise: u64| {
        rest.get(at)
            .map_or(Ok(otherwise), |text| text.parse::<u64>())
    };
    let (Ok(seed), Ok(operations)) = (number(0, 1), number(1, 60)) else {
        println!("SEED and OPERATIONS are numbers");
        return ExitCode::from(2);
    };
    let place = node::Place {
        anvil: Path::new(anvil),
        work: Path::new(work),
    };
    let (mut passed, mut failed) = (0, 0);
    let mut count = |name: &str, result: Step<String>| match result {
        Ok(remark) => {
            passed += 1;
            println!("ok      {name}: {remark}");
        }
        Err(why) => {
            failed += 1;
            println!("FAILED  {name}: {why}");
        }
    };
    match contracts::deploy(&place, Path::new(modules), "first").await {
        Err(why) => count("deployment", Err(why)),
        Ok(mut world) => {
            count("deployment", Ok(world.summary()));
            for (name, result) in steps::all(&mut world).await {
                count(name, result);
            }
            let remark = random::run(&mut world, seed, operations).await;
            count("faults at random", remark);
        }
    }
    if let Some(program) = rest.get(2) {
        let result = daemon::life(&place, Path::new(modules), Path::new(program)).await;
        count("daemon", result);
    }
    println!("{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}
