//! What is configured of Kraken, and what its interface does not take.
//!
//! Figures are those of the published specification ("Spot REST API").

use std::path::{Path, PathBuf};

use cambist_core::VenueRules;
use cambist_core::config::BudgetConfig;
use cambist_host::secrets::{KeyFolder, KeyFolders};
use cambist_kraken_venue::rules::{self, Settings, Tier};
use cambist_strategies::Promise;

use super::super::market::StrategyChoice;
use super::super::mode::Mode;
use super::super::reader::{At, Place, Section};
use super::super::sections::check_url;
use super::kinds::KindDescription;
use super::{Read, VenueTerms, refuse_keys};

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    name: "kraken",
    page: "docs/kraken.md",
    market_example: "XBT-USD",
    venue_keys: &["base_url", TIER, ACCEPTED, SWITCH],
    secret_keys: &["orders_dir", "account_dir", "panic_dir", "credentials"],
    keys_found: "each folder has both files, and only this user can read them",
    keys_help: "docs/kraken.md describes both keys",
    unreached_help: "correct venue.base_url, or try again; a daemon waits for its venue",
    start_help: "docs/kraken.md describes both keys",
};

/// The service.
pub(crate) const BASE_URL: &str = "https://api.kraken.com";
const TIER: &str = "tier";
const ACCEPTED: &str = "accepted_s";
const SWITCH: &str = "cancel_all_after_s";
/// Names of `[keys]`.
const FOLDERS: [&str; 3] = ["orders_dir", "account_dir", "panic_dir"];

/// Symbols of assets whose alternative name at Kraken is another.
const NAMES: [(&str, &str); 2] = [("BTC", "XBT"), ("DOGE", "XDG")];

/// An order has to rest for at least so long when the venue takes it (`expiretm`).
const RESTS_MIN_S: u64 = 5;
/// A deadline has to be so far ahead when the venue takes the order.
const DEADLINE_MIN_MS: u64 = 2_000;
/// Shortest and longest time of the dead man's switch.
const CANCEL_ALL_AFTER_MIN_S: u64 = 20;
const CANCEL_ALL_AFTER_MAX_S: u64 = 86_400;

/// An account at Kraken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KrakenLink {
    /// The account's tier.
    pub tier: Tier,
    /// For how long the venue accepts the bytes of an order.
    pub accepted_s: u64,
    /// The venue cancels everything after this time without a word of the daemon; 0 for never.
    pub cancel_all_after_s: u32,
    /// Where the API keys are; `None` in a mode that does not trade.
    pub keys: Option<KeyFolders>,
}

/// Reads the keys of `[venue]`.
pub(super) fn read(section: &mut Section<'_, '_>) -> Read {
    let base_url = section.or("base_url", BASE_URL.to_owned());
    check_url(section, Some(&base_url));
    Read {
        base_url: Some(base_url),
        terms: read_link(section).map(VenueTerms::Kraken),
        pinned: false,
    }
}

fn read_link(section: &mut Section<'_, '_>) -> Option<KrakenLink> {
    let words = Tier::ALL.map(|tier| (tier.name(), tier));
    let tier = section.word(TIER, &words, Tier::default());
    let accepted_s = section.number(
        ACCEPTED,
        10,
        rules::ACCEPTED_MS_MIN / 1_000..=rules::ACCEPTED_MS_MAX / 1_000,
    );
    let cancel_all_after_s = section.number(SWITCH, 0, 0..=CANCEL_ALL_AFTER_MAX_S);
    if (1..CANCEL_ALL_AFTER_MIN_S).contains(&cancel_all_after_s.value) {
        let what = format!(
            "venue.{SWITCH} must be 0 (off) or at least {CANCEL_ALL_AFTER_MIN_S}: it is refreshed at a quarter of it, and requests take time"
        );
        section.problem(cancel_all_after_s.at, what);
    }
    Some(KrakenLink {
        tier: tier.value,
        accepted_s: accepted_s.value,
        cancel_all_after_s: u32::try_from(cancel_all_after_s.value).ok()?,
        keys: None,
    })
}

impl KrakenLink {
    /// What the venue guarantees.
    pub fn rules(&self) -> VenueRules {
        rules::rules(Settings {
            tier: self.tier,
            accepted_ms: self.accepted_s * 1_000,
        })
    }

    /// The budget is the counter of a key: it follows from the tier, in hundredths of a call, and is no choice of the file.
    pub(super) fn set_budget(&self, section: &Section<'_, '_>, budget: &mut BudgetConfig) {
        for key in ["per_s", "burst"] {
            if section.has(key) {
                let what = format!(
                    "budget.{key} follows from venue.tier with venue.kind = \"kraken\": remove it"
                );
                section.problem(section.at(), what);
            }
        }
        let (most, per_s) = self.tier.calls();
        budget.per_s = per_s;
        budget.burst = most;
        // Cancels are outside of this counter.
        budget.cancel_reserve = 0;
    }

    /// Refuses times of `[orders]` that the venue would refuse.
    pub(super) fn check_orders(
        &self,
        section: &Section<'_, '_>,
        ttl_s: &At<u64>,
        margin_ms: &At<u64>,
    ) {
        let least_s = self.accepted_s + RESTS_MIN_S;
        if ttl_s.value < least_s {
            let what = format!(
                "orders.ttl_s = {} must be at least venue.accepted_s + {RESTS_MIN_S} = {least_s}: Kraken refuses an order that expires less than {RESTS_MIN_S} s after it arrives",
                ttl_s.value
            );
            section.problem(ttl_s.at, what);
        }
        let most_ms = self.accepted_s * 1_000;
        if !(DEADLINE_MIN_MS..most_ms).contains(&margin_ms.value) {
            let what = format!(
                "orders.resend_margin_ms = {} must be at least {DEADLINE_MIN_MS}, because Kraken refuses a deadline that is nearer, and less than venue.accepted_s = {}",
                margin_ms.value, self.accepted_s
            );
            section.problem(margin_ms.at, what);
        }
    }
}

/// Refuses the usual symbols of assets that have another name at Kraken.
pub(super) fn check_names(section: &Section<'_, '_>, at: Place, symbols: &[&str]) {
    for (usual, name) in NAMES {
        if symbols.contains(&usual) {
            let what = format!("Kraken's name of {usual} is {name}: use that in market.name");
            section.problem(at, what);
        }
    }
}

/// Refuses what needs a pool beside the market: the venue has none.
pub(super) fn check_market(section: &Section<'_, '_>, strategies: &[StrategyChoice]) {
    if section.has("pool") {
        let what = "venue.kind = \"kraken\" has no pools: remove [market.pool]";
        section.problem(section.at(), what);
    }
    for choice in strategies {
        let promise = cambist_strategies::find(&choice.name.value).map(|info| info.promise);
        let swaps = choice.process.as_ref().is_some_and(|process| process.swaps);
        if swaps || matches!(promise, Some(Promise::PoolShares | Promise::Swaps)) {
            let what = format!(
                "strategy {} needs a pool beside the market, and venue.kind = \"kraken\" has none",
                choice.name.value
            );
            section.problem(choice.name.at, what);
        }
    }
}

/// Reads `[keys]`.
#[expect(
    clippy::option_option,
    reason = "invalid, or none in a mode that does not trade"
)]
pub(super) fn read_folders(
    section: &mut Section<'_, '_>,
    folder: &Path,
    mode: Mode,
) -> Option<Option<KeyFolders>> {
    let [orders, account, panic] = FOLDERS.map(|key| section.opt::<PathBuf>(key));
    let credentials = section.or("credentials", false);
    if !mode.trades() {
        refuse_keys(section, mode);
        return Some(None);
    }
    let at = |dir: At<PathBuf>| KeyFolder::Dir(folder.join(dir.value));
    let panic = panic.map(at);
    match (credentials.value, orders, account) {
        (true, None, None) => Some(Some(KeyFolders {
            orders: KeyFolder::Credentials("orders"),
            account: KeyFolder::Credentials("account"),
            panic,
        })),
        (false, Some(orders), Some(account)) => {
            let both = [at(orders), at(account)];
            let [orders, account] = both;
            if orders == account
                || panic
                    .as_ref()
                    .is_some_and(|panic| *panic == orders || *panic == account)
            {
                let what = "keys.orders_dir, keys.account_dir and keys.panic_dir must be different keys: each has a row of nonces of its own";
                section.problem(section.at(), what);
                return None;
            }
            Some(Some(KeyFolders {
                orders,
                account,
                panic,
            }))
        }
        (true, _, _) => {
            let what = "keys.credentials = true takes the keys from the service manager; remove keys.orders_dir and keys.account_dir";
            section.problem(credentials.at, what);
            None
        }
        (false, _, _) => {
            // A path of another type was reported before.
            let what = "keys.orders_dir and keys.account_dir must both be given, or keys.credentials = true: two API keys, the first of which places orders and the second reads and cancels";
            section.problem(section.at(), what);
            None
        }
    }
}
