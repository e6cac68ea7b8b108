//! One system call after another, of a start, of submits and cancels, of a stop, is the last that works.
//!
//! `CAMBIST_BOUNDARIES=all` tries every call until a whole run needs no more of them; a list of names
//! (`fdatasync,pwrite64`) tries these. Otherwise it is a sample.

use std::process::Command;
use std::time::Duration;

use crate::cuts::{CUTS, Cut};
use crate::lives::Campaign;
use crate::support::Program;
use crate::support::clock::Since;
use crate::support::process::run;

const SOON: Duration = Duration::from_mins(1);
/// A sample ends after this.
const SAMPLE: Duration = Duration::from_secs(90);
/// No run of this test needs more calls of one kind in one thread.
const CALLS_MAX: u32 = 4_000;
/// After this many interrupted runs, one without a fault must end normally.
const BETWEEN: u64 = 8;

/// Which calls are cut, counted in each thread.
const SAMPLED: [u32; 9] = [1, 2, 3, 5, 8, 13, 24, 45, 90];

/// Needs strace that injects (4.22 or later). Not with --seccomp-bpf: signals are then not injected.
#[test]
fn every_system_call_may_be_the_last() {
    let wanted = std::env::var("CAMBIST_BOUNDARIES").unwrap_or_default();
    let all = !wanted.is_empty();
    let cuts: Vec<Cut> = CUTS
        .into_iter()
        .filter(|cut| !all || wanted == "all" || wanted.split(',').any(|name| name == cut.call))
        .collect();
    let begun = Since::now();
    let mut campaign = Campaign::open();
    // Consecutive runs without such a call: after three, there is none.
    let mut spared = vec![0_u32; cuts.len()];
    let mut done = vec![false; cuts.len()];
    let mut rounds = 0_u32;
    while done.contains(&false) && rounds < CALLS_MAX {
        for (index, cut) in cuts.iter().enumerate() {
            let nth = match (all, SAMPLED.get(rounds as usize)) {
                (true, _) => rounds + 1,
                (false, Some(nth)) => *nth,
                (false, None) => {
                    done[index] = true;
                    continue;
                }
            };
            if done[index] || !all && begun.elapsed() > SAMPLE {
                done[index] = true;
                continue;
            }
            let ran = campaign.play(*cut, nth);
            spared[index] = if ran.cut.is_some() {
                0
            } else {
                spared[index] + 1
            };
            done[index] |= spared[index] >= if all { 3 } else { 1 };
            if all {
                eprintln!("{cut} {nth}: exit {}", ran.code);
            }
            if campaign.runs.is_multiple_of(BETWEEN) {
                campaign.recover(&format!("after {cut:?}, call {nth}"));
            }
        }
        rounds += 1;
    }
    println!(
        "{} lives, {} cut at a system call, {} of them killed, {} orders, {:.0} s",
        campaign.runs,
        campaign.cuts,
        campaign.kills,
        campaign.orders(),
        begun.elapsed().as_secs_f32()
    );
    if all && wanted != "all" {
        return campaign.close();
    }
    assert!(campaign.cuts >= 20, "only {} lives were cut", campaign.cuts);
    assert!(campaign.kills >= 8, "only {} were killed", campaign.kills);
    campaign.close();
}

/// Whether the machine supports it, as determined by the runner.
#[test]
fn strace_can_inject() {
    let folder = crate::support::Folder::new("inject");
    let mut command = Command::new("strace");
    command.args(["-f", "-e", "inject=fsync:error=EIO", "true"]);
    let mut tried = Program::spawn(folder.path(), "tried", command);
    assert_eq!(tried.end(SOON), 0, "{}", tried.last_words());
    let (code, _, _) = run(folder.path(), "version", &["--version"], SOON);
    assert_eq!(code, 0);
}
