//! `[kraken]` of the exchange's file: Kraken's interface beside the first one.

use std::path::{Path, PathBuf};

use cambist_config::reader::Section;
use cambist_server::Tier;

/// Longest absence of a new order from lists.
const LAG_MAX_MS: u64 = 60_000;

/// Settings of Kraken's interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KrakenSettings {
    /// Folder of the files of API keys.
    pub keys_dir: PathBuf,
    /// Rate counters.
    pub tier: Tier,
    /// For how long a new order is absent from lists, and a new entry from the ledger, in milliseconds.
    pub list_lag_ms: u64,
}

/// Reads the section; `Some` if it is served. Without a folder of its own it uses one in that of the maker's keys.
pub(super) fn read(
    mut section: Section<'_, '_>,
    is_served: bool,
    folder: &Path,
) -> Option<KrakenSettings> {
    let keys_dir = section.or("keys_dir", PathBuf::from("keys/kraken"));
    let name = section.or("tier", "intermediate".to_owned());
    let mut tiers = Tier::ALL.into_iter();
    let tier = tiers.find_map(|(tier, known)| (known == name.value).then_some(tier));
    if tier.is_none() {
        let what = "kraken.tier must be \"starter\", \"intermediate\" or \"pro\"";
        section.problem(name.at, what);
    }
    let list_lag_ms = section.number("list_lag_ms", 0, 0..=LAG_MAX_MS);
    section.finish();
    is_served.then_some(KrakenSettings {
        keys_dir: folder.join(keys_dir.value),
        tier: tier.unwrap_or_default(),
        list_lag_ms: list_lag_ms.value,
    })
}
