//! `cambist sim`: its arguments. `cambist-simulator` runs it.

use std::path::PathBuf;

use clap::Args;

use crate::shard::Shard;

/// Arguments of `sim`.
#[derive(Debug, Args)]
pub struct SimArgs {
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub seeds: u64,
    /// First seed
    #[arg(long, value_name = "FIRST", default_value_t = 1)]
    pub seed: u64,
    /// Run only this part of the seeds, such as 1/4; by default the part that a Slurm array or a Kubernetes indexed
    /// job assigns
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Number of shards, if the scheduler does not state it (Kubernetes); also $CAMBIST_SHARDS
    #[arg(long, value_name = "N", conflicts_with = "shard")]
    pub shards: Option<u64>,
    /// Simulated hours of market making per world
    #[arg(long, value_name = "H", default_value = "1", value_parser = duration_ms)]
    pub hours: u64,
    /// Families of faults to turn off, with commas between them; they are listed below
    #[arg(long, value_name = "FAMILY", value_delimiter = ',')]
    pub without: Vec<String>,
    /// Most strategies of each world
    #[arg(long, value_name = "N")]
    pub strategies: Option<usize>,
    /// Venue that the worlds trade on
    #[arg(long, value_name = "VENUE", value_enum, default_value = "exchange")]
    pub venue: VenueArg,
    /// Number of threads
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub jobs: usize,
    /// Print all events and actions; for one seed only
    #[arg(long)]
    pub trace: bool,
    /// Keep results in this file, and do not run finished seeds again. Every shard has its own file, with the shard in
    /// its name (sim.shard-0001-of-0004.jsonl); `cambist merge` joins them
    #[arg(long, value_name = "FILE", conflicts_with = "trace")]
    pub results: Option<PathBuf>,
    /// Do not search for the smallest world that fails
    #[arg(long)]
    pub no_shrink: bool,
    /// Print what is checked after every step, and run nothing; with --json as JSON
    #[arg(long, conflicts_with_all = ["seeds", "seed", "shard", "shards", "hours", "without", "strategies", "venue", "jobs", "trace", "results", "no_shrink"])]
    pub invariants: bool,
}

/// The venue of the worlds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum VenueArg {
    /// The exchange that this program serves
    #[default]
    Exchange,
    /// Its matching behind consecutive numbers, deadlines, and orders that rest until they are cancelled
    Sequenced,
    /// Its matching behind the rules of Kraken's interface: rising nonces, deadlines, expiries, counters
    Kraken,
    /// A model of an EVM chain with a Uniswap pool, V2 or V3, behind the adapter's own account
    EvmPools,
    /// Two of these at once, with limits over both
    Portfolio,
}

/// Parses hours, such as 1 or 0.125, into milliseconds.
fn duration_ms(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a number of hours from 0.01 to 1000");
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text.len() <= 16;
    let hours: f64 = text.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
    if !(0.01..=1_000.0).contains(&hours) {
        return Err(wrong());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be small and positive"
    )]
    Ok((hours * 3_600_000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_exact_to_the_millisecond_and_strict() {
        assert_eq!(duration_ms("1"), Ok(3_600_000));
        assert_eq!(duration_ms("0.125"), Ok(450_000));
        assert_eq!(duration_ms("0.016666666"), Ok(60_000));
        for bad in ["", "0", "-1", "1e3", "1001", "x", "0.001", "inf"] {
            assert!(duration_ms(bad).is_err(), "{bad}");
        }
    }
}
