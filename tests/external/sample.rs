//! A random sample of everything that `boundaries` could try: any call, any effect, at any time of a run.
//!
//! For evidence, hours at a time: `CAMBIST_SAMPLE_S` sets the duration, `CAMBIST_SAMPLE_SEED` the seed. A failed run is
//! reported with its folder, and the next one starts on another exchange.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::cuts::{CUTS, Cut};
use crate::lives::{Campaign, Phase, Ran};
use crate::support::clock::Since;
use crate::support::random::Random;

/// Submits of the longest run; the others have at least four.
const SUBMITS: u64 = 24;
/// After this many runs one without a fault must end normally.
const BETWEEN: u64 = 8;

/// Results of all runs.
#[derive(Default)]
struct Tally {
    lives: u64,
    killed: u64,
    failed: u64,
    orders: usize,
    /// By cut and by how far the daemon had come.
    cut: BTreeMap<(String, Phase), u64>,
    exits: BTreeMap<i32, u64>,
}

impl Tally {
    fn count(&mut self, cut: Cut, ran: &Ran) {
        self.lives += 1;
        *self.exits.entry(ran.code).or_default() += 1;
        if let Some(phase) = ran.cut {
            self.killed += u64::from(ran.code == -1);
            *self.cut.entry((cut.to_string(), phase)).or_default() += 1;
        }
    }

    fn print(&self, seconds: f32) {
        let of = |phase| -> u64 {
            let here = self.cut.iter().filter(|((_, at), _)| *at == phase);
            here.map(|(_, count)| count).sum()
        };
        println!(
            "{:<34} {:>6} {:>6} {:>6} {:>6}",
            "cut", "start", "submit", "cancel", "stop"
        );
        for cut in CUTS.map(|cut| cut.to_string()) {
            let here = |phase| self.cut.get(&(cut.clone(), phase)).copied().unwrap_or(0);
            let [start, submit, cancel, stop] = PHASES.map(here);
            println!("{cut:<34} {start:>6} {submit:>6} {cancel:>6} {stop:>6}");
        }
        let [start, submit, cancel, stop] = PHASES.map(of);
        println!("{:<34} {start:>6} {submit:>6} {cancel:>6} {stop:>6}", "all");
        println!(
            "exits {:?}; -1 is death by the kill that was wanted",
            self.exits
        );
        println!(
            "{} lives, {} cut at a system call, {} of them killed, {} orders, {} failures, {seconds:.0} s",
            self.lives,
            start + submit + cancel + stop,
            self.killed,
            self.orders,
            self.failed,
        );
    }
}

const PHASES: [Phase; 4] = [Phase::Start, Phase::Submit, Phase::Cancel, Phase::Stop];

/// Needs strace that injects, as `boundaries` does.
#[test]
fn of_every_system_call() {
    let number = |name: &str, otherwise: u64| {
        let text = std::env::var(name);
        text.map_or(otherwise, |text| text.parse().unwrap())
    };
    let (seconds, seed) = (
        number("CAMBIST_SAMPLE_S", 60),
        number("CAMBIST_SAMPLE_SEED", 1),
    );
    let mut random = Random::new(seed);
    let begun = Since::now();
    let mut campaign = Campaign::open();
    campaign.submits = SUBMITS;
    let most = campaign.counts();
    println!("seed {seed}; calls of the busiest thread in a life that is left alone: {most:?}");
    let mut tally = Tally::default();
    let cuts: Vec<Cut> = CUTS.into_iter().filter(|cut| most[cut.call] > 0).collect();
    while begun.elapsed() < Duration::from_secs(seconds) {
        let at = usize::try_from(random.below(cuts.len() as u64)).unwrap();
        let cut = cuts[at];
        let most = cut.most(most[cut.call]);
        let nth = 1 + u32::try_from(random.below(u64::from(most.max(1)))).unwrap();
        campaign.submits = 4 + random.below(SUBMITS - 3);
        let played = catch_unwind(AssertUnwindSafe(|| {
            let ran = campaign.play(cut, nth);
            if campaign.runs.is_multiple_of(BETWEEN) {
                campaign.recover(&format!("after {cut}, call {nth}"));
            }
            ran
        }));
        if let Ok(ran) = played {
            eprintln!("{cut} {nth}: {:?}, exit {}", ran.cut, ran.code);
            tally.count(cut, &ran);
        } else {
            println!("FAILED: {cut}, call {nth}, life {}", campaign.runs);
            tally.lives += 1;
            tally.failed += 1;
            tally.orders += campaign.orders;
            std::mem::replace(&mut campaign, Campaign::open()).abandon();
        }
    }
    tally.orders += campaign.orders();
    campaign.close();
    tally.print(begun.elapsed().as_secs_f32());
    assert_eq!(tally.failed, 0);
}
