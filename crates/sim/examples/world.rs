//! Runs simulated worlds drawn from seeds and prints violations: `world FIRST SEEDS [HOURS [each [calm [VENUE]]]]`; or
//! one prepared world with its complete outcome: `world calm SEED STRATEGY MINUTES [lossy]`.

use cambist_core::action::Action;
use cambist_sim::{Aggregate, Family, SeedRun, SimulatedVenue, WorldConfig, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize, default: &'static str| {
        arguments
            .get(index)
            .map_or(default, String::as_str)
            .to_owned()
    };
    if word(0, "calm") == "calm" {
        let mut config = WorldConfig::calm(word(1, "1").parse()?, &word(2, "ladder"));
        config.duration_ms = word(3, "60").parse::<u64>()? * 60_000;
        if word(4, "") == "lossy" {
            config = config.lossy();
        }
        println!("{}", serde_json::to_string_pretty(&run(config)?)?);
        return Ok(());
    }
    let (first, seeds): (u64, u64) = (word(0, "1").parse()?, word(1, "1").parse()?);
    let hours: u64 = word(2, "1").parse()?;
    let mut tally = Aggregate::default();
    for seed in first..first + seeds {
        let mut trial = SeedRun::new(seed, hours * 3_600_000);
        if word(4, "") == "calm" {
            trial.without = Family::ALL.into();
        }
        trial.venue = match word(5, "").as_str() {
            "sequenced" => SimulatedVenue::Sequenced,
            "kraken" => SimulatedVenue::Kraken,
            "evm-pools" => SimulatedVenue::EvmPools,
            _ => SimulatedVenue::Exchange,
        };
        let mut world = trial.world()?;
        if word(3, "") == "trace" {
            world.watch(Box::new(|now, _, actions| {
                for action in actions {
                    if let Action::Notify(of) = action {
                        println!("{} {of:?}", now.as_ms());
                    }
                }
            }));
        }
        let proven = world.play();
        let outcome = world.outcome(proven);
        tally.add(&outcome);
        for violation in outcome.violations.iter().take(1) {
            println!("seed {seed}: {violation}");
        }
        if word(3, "") == "each" {
            let counts = outcome.counts;
            println!(
                "seed {seed}: {:.3} of {} samples, {} orders, {} faults",
                counts.quoted_ratio(),
                counts.samples,
                counts.orders,
                counts.faults
            );
            if let Some(of) = world.chain_counts() {
                println!("seed {seed}: {of:?}");
            }
        }
    }
    println!("{}", serde_json::to_string_pretty(&tally)?);
    println!("quoted {:?}", tally.quoted_ratio());
    Ok(())
}
