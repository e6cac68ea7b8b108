//! Runs one world and prints what came of it: `world SEED STRATEGY|drawn MINUTES [lossy]`.

use cambist_sim::{WorldConfig, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize, default: &'static str| {
        arguments
            .get(index)
            .map_or(default, String::as_str)
            .to_owned()
    };
    let seed = word(0, "1").parse()?;
    let mut config = match word(1, "ladder").as_str() {
        "drawn" => WorldConfig::drawn(seed),
        strategy => WorldConfig::calm(seed, strategy),
    };
    config.duration_ms = word(2, "60").parse::<u64>()? * 60_000;
    if word(3, "") == "lossy" {
        config = config.lossy();
    }
    let outcome = run(config)?;
    println!("{}", serde_json::to_string_pretty(&outcome)?);
    for violation in &outcome.violations {
        eprintln!("{violation}");
    }
    Ok(())
}
