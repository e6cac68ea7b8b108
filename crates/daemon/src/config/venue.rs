//! `[venue]` and `[keys]`: which venue, whose account, and where its secrets are. Each kind of venue has keys of its own
//! in both sections; one of another kind is refused where it is written.

use std::path::{Path, PathBuf};

use cambist_core::venue::{ChargedAs, FeeToken};
use cambist_core::{MarketSpec, VenueRules};
use cambist_host::exit::{Exit, Failure};
use cambist_host::secrets::{KeyFolder, KeyFolders, Keys};
use cambist_kraken_venue::rules::CALL;

use super::daemon::Pins;
use super::evm;
use super::evm::EvmLink;
use super::kraken;
use super::kraken::KrakenLink;
use super::mode::Mode;
use super::reader::{At, Place, Problem, Section};
use super::sections::{check_address, check_url, is_local, read_keys, require_pins, small};
use crate::adapter;

/// Kinds of venues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VenueKind {
    /// The exchange interface.
    #[default]
    Exchange,
    /// Kraken's spot interface.
    Kraken,
    /// Uniswap pools on an EVM chain.
    EvmPools,
}

impl VenueKind {
    /// Names in files.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("exchange", Self::Exchange),
        ("kraken", Self::Kraken),
        ("evm-pools", Self::EvmPools),
    ];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::Kraken => "kraken",
            Self::EvmPools => "evm-pools",
        }
    }
}

/// The venue and the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VenueLink {
    /// Base URL, without a trailing slash.
    pub base_url: At<String>,
    /// What is configured of this kind of venue.
    pub terms: VenueTerms,
}

/// What is configured of one kind of venue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VenueTerms {
    /// The exchange interface.
    Exchange(ExchangeLink),
    /// Kraken's spot interface.
    Kraken(KrakenLink),
    /// Uniswap V2 pools on an EVM chain.
    Evm(EvmLink),
}

/// An account of the exchange interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeLink {
    /// Account id.
    pub account_id: u32,
    /// Owner address, `0x` and 40 hexadecimal digits.
    pub owner: String,
    /// Expected chain id; the start is refused on another chain.
    pub chain_id: Option<u64>,
    /// Expected exchange address; the start is refused at another exchange.
    pub exchange: Option<String>,
}

impl VenueLink {
    /// The kind of venue.
    pub const fn kind(&self) -> VenueKind {
        match &self.terms {
            VenueTerms::Exchange(_) => VenueKind::Exchange,
            VenueTerms::Kraken(_) => VenueKind::Kraken,
            VenueTerms::Evm(_) => VenueKind::EvmPools,
        }
    }

    /// The account of the exchange interface, for what other venues do not have; `what` begins the error's sentence.
    pub fn exchange(&self, what: &str) -> Result<&ExchangeLink, Failure> {
        match &self.terms {
            VenueTerms::Exchange(link) => Ok(link),
            VenueTerms::Kraken(_) | VenueTerms::Evm(_) => {
                let kind = self.kind().name();
                let page = match self.kind() {
                    VenueKind::EvmPools => "docs/evm-pools.md",
                    VenueKind::Kraken | VenueKind::Exchange => "docs/kraken.md",
                };
                let what = format!(
                    "{what}: venue.kind = \"{kind}\" does not offer it; funds and keys of the account are managed at the venue itself ({page})"
                );
                Err(Failure::new(Exit::Refused, what))
            }
        }
    }

    /// What is configured of Kraken.
    pub const fn kraken(&self) -> Option<&KrakenLink> {
        match &self.terms {
            VenueTerms::Kraken(link) => Some(link),
            VenueTerms::Exchange(_) | VenueTerms::Evm(_) => None,
        }
    }

    /// What is configured of a chain.
    pub const fn evm(&self) -> Option<&EvmLink> {
        match &self.terms {
            VenueTerms::Evm(link) => Some(link),
            VenueTerms::Exchange(_) | VenueTerms::Kraken(_) => None,
        }
    }

    /// What the venue guarantees.
    pub fn rules(&self) -> VenueRules {
        match &self.terms {
            VenueTerms::Exchange(_) => adapter::exchange_rules(),
            VenueTerms::Kraken(link) => link.rules(),
            VenueTerms::Evm(link) => link.rules(),
        }
    }

    /// What charges for requests count as in losses.
    pub(super) fn charged_as(&self, markets: &[MarketSpec]) -> Result<Option<ChargedAs>, Problem> {
        match &self.terms {
            VenueTerms::Exchange(_) | VenueTerms::Kraken(_) => Ok(None),
            VenueTerms::Evm(link) => link.charged_as(markets),
        }
    }

    /// Which token fees are taken in.
    pub const fn fee_in(&self) -> FeeToken {
        match &self.terms {
            // The fee of a pool is inside its curve.
            VenueTerms::Exchange(_) | VenueTerms::Evm(_) => FeeToken::Bought,
            VenueTerms::Kraken(_) => FeeToken::Quote,
        }
    }

    /// Whether its markets have order books.
    pub const fn has_books(&self) -> bool {
        match &self.terms {
            VenueTerms::Exchange(_) | VenueTerms::Kraken(_) => true,
            VenueTerms::Evm(_) => false,
        }
    }

    /// What one request usually costs of the budget: rates below one a second are whole numbers of its parts.
    pub const fn budget_unit(&self) -> u32 {
        match &self.terms {
            VenueTerms::Exchange(_) | VenueTerms::Evm(_) => 1,
            VenueTerms::Kraken(_) => CALL,
        }
    }

    /// How much of the budget polling and refreshing may take, in ten-thousandths.
    pub const fn load_max_bps(&self) -> u64 {
        match &self.terms {
            VenueTerms::Exchange(_) | VenueTerms::Evm(_) => 10_000,
            // The ledgers of new trades cost as much as the lists.
            VenueTerms::Kraken(_) => 5_000,
        }
    }

    /// The account, in words.
    pub fn account(&self) -> String {
        match &self.terms {
            VenueTerms::Exchange(link) => format!("account {}", link.account_id),
            VenueTerms::Kraken(_) => "the account of the keys".to_owned(),
            VenueTerms::Evm(link) => format!("account {}", link.account.to_hex()),
        }
    }
}

/// `[venue]` as it was read.
pub(super) struct VenueSection {
    pub kind: VenueKind,
    pub base_url: Option<At<String>>,
    pub terms: Option<VenueTerms>,
    pub request_timeout_ms: u64,
    /// Whether units have to be in the file.
    pub pinned: bool,
}

impl VenueSection {
    pub(super) const fn kraken(&self) -> Option<&KrakenLink> {
        match &self.terms {
            Some(VenueTerms::Kraken(link)) => Some(link),
            Some(VenueTerms::Exchange(_) | VenueTerms::Evm(_)) | None => None,
        }
    }
}

/// Reads `[venue]`.
pub(super) fn read(
    section: &mut Section<'_, '_>,
    kind: &At<VenueKind>,
    (mode, pins): (Mode, Pins),
    folder: &Path,
) -> VenueSection {
    let request_timeout_ms = section
        .number("request_timeout_ms", 5_000, 100..=60_000)
        .value;
    let (base_url, terms, pinned) = match kind.value {
        VenueKind::Exchange => {
            for key in kraken::KEYS {
                refuse_foreign::<u64>(section, key, kind.value, VenueKind::Kraken);
            }
            refuse_foreign::<String>(section, kraken::TIER, kind.value, VenueKind::Kraken);
            refuse_keys_of_chains(section, kind.value);
            read_exchange(section, mode, pins)
        }
        VenueKind::Kraken => {
            for key in ["account_id", "chain_id"] {
                refuse_foreign::<u64>(section, key, kind.value, VenueKind::Exchange);
            }
            for key in ["owner", "exchange"] {
                refuse_foreign::<String>(section, key, kind.value, VenueKind::Exchange);
            }
            refuse_keys_of_chains(section, kind.value);
            let base_url = section.or("base_url", kraken::BASE_URL.to_owned());
            let link = kraken::read(section);
            (Some(base_url), link.map(VenueTerms::Kraken), false)
        }
        VenueKind::EvmPools => {
            for key in kraken::KEYS {
                refuse_foreign::<u64>(section, key, kind.value, VenueKind::Kraken);
            }
            refuse_foreign::<String>(section, kraken::TIER, kind.value, VenueKind::Kraken);
            refuse_foreign::<u64>(section, "account_id", kind.value, VenueKind::Exchange);
            for key in ["owner", "exchange", "base_url"] {
                refuse_foreign::<String>(section, key, kind.value, VenueKind::Exchange);
            }
            let link = evm::read(section, folder);
            // The URLs of nodes are secrets: messages name the chain.
            let name = link.as_ref().map(|link| At {
                value: format!("chain {}", link.chain_id),
                at: section.at(),
            });
            return VenueSection {
                kind: kind.value,
                base_url: name,
                terms: link.map(VenueTerms::Evm),
                request_timeout_ms,
                pinned: false,
            };
        }
    };
    check_url(section, base_url.as_ref());
    VenueSection {
        kind: kind.value,
        base_url: base_url.map(|url| url.map(|url| url.trim_end_matches('/').to_owned())),
        terms,
        request_timeout_ms,
        pinned,
    }
}

fn refuse_keys_of_chains(section: &mut Section<'_, '_>, kind: VenueKind) {
    for key in evm::NUMBERS {
        refuse_foreign::<u64>(section, key, kind, VenueKind::EvmPools);
    }
    for key in evm::TEXTS {
        refuse_foreign::<String>(section, key, kind, VenueKind::EvmPools);
    }
}

fn read_exchange(
    section: &mut Section<'_, '_>,
    mode: Mode,
    pins: Pins,
) -> (Option<At<String>>, Option<VenueTerms>, bool) {
    let accounts = 0..=u64::from(u32::MAX);
    let (base_url, account_id, owner) = if mode.trades() {
        (
            section.req::<String>("base_url"),
            section.req_number("account_id", accounts),
            section.req::<String>("owner"),
        )
    } else {
        (
            section.opt::<String>("base_url"),
            Some(section.number("account_id", 0, accounts)),
            section.opt::<String>("owner"),
        )
    };
    let chain_id = section.opt::<u64>("chain_id");
    let exchange = section.opt::<String>("exchange");
    check_address(section, "venue.owner", owner.as_ref());
    check_address(section, "venue.exchange", exchange.as_ref());
    let is_remote = |url: &At<String>| !is_local(&url.value);
    // In a mode that does not trade nothing is signed.
    let pins = if mode.trades() { pins } else { Pins::Optional };
    let pinned = pins == Pins::Required && base_url.as_ref().is_some_and(is_remote);
    if pinned {
        require_pins(section, &["chain_id", "exchange"]);
    }
    let link = account_id
        .zip(owner.or_else(|| without(mode)))
        .map(|(account_id, owner)| ExchangeLink {
            account_id: small(account_id.value),
            owner: owner.value.to_ascii_lowercase(),
            chain_id: chain_id.map(|chain| chain.value),
            exchange: exchange.map(|address| address.value.to_ascii_lowercase()),
        });
    (base_url, link.map(VenueTerms::Exchange), pinned)
}

/// Placeholder for a key that a mode without trading does not need.
pub(super) fn without(mode: Mode) -> Option<At<String>> {
    (!mode.trades()).then(|| At {
        value: String::new(),
        at: Place::default(),
    })
}

/// Keys of `[venue]` that only one kind has.
const OWN_KEYS: [(&str, VenueKind); 7] = [
    (kraken::TIER, VenueKind::Kraken),
    ("cancel_all_after_s", VenueKind::Kraken),
    ("router", VenueKind::EvmPools),
    ("position_manager", VenueKind::EvmPools),
    ("factory", VenueKind::EvmPools),
    ("node_file", VenueKind::EvmPools),
    ("account", VenueKind::EvmPools),
];

/// The kind of venue, with a problem if it is unknown, or absent beside a key that only another kind than the default
/// has: nothing else of such a file can be judged.
pub(super) fn kind(section: &mut Section<'_, '_>) -> Option<At<VenueKind>> {
    let kind = section.choice("kind", &VenueKind::WORDS, VenueKind::Exchange)?;
    if section.has("kind") {
        return Some(kind);
    }
    let mut own = OWN_KEYS.iter();
    let Some((key, of)) = own.find(|(key, _)| section.has(key)) else {
        return Some(kind);
    };
    let what = format!(
        "venue.kind is missing, and venue.{key} is a key of the kind \"{0}\": write kind = \"{0}\"",
        of.name()
    );
    let at = section.at();
    section.problem(at, what);
    None
}

/// Refuses a key of another kind of venue, if it is written.
fn refuse_foreign<T: super::reader::Read>(
    section: &mut Section<'_, '_>,
    key: &'static str,
    kind: VenueKind,
    of: VenueKind,
) {
    if !section.has(key) {
        return;
    }
    let at = section
        .opt::<T>(key)
        .map_or_else(|| section.at(), |found| found.at);
    let what = format!(
        "{}.{key} is a key of venue.kind = \"{}\", and the kind is \"{}\": remove it",
        section.name(),
        of.name(),
        kind.name()
    );
    section.problem(at, what);
}

/// Where the secrets are: those of the exchange interface, those of Kraken, and the key of an account on a chain.
pub(super) struct Secrets {
    pub keys: Keys,
    pub folders: Option<KeyFolders>,
    pub eth_key: Option<PathBuf>,
}

/// Names of `[keys]` of Kraken, and of the exchange interface.
const FOLDERS: [&str; 3] = ["orders_dir", "account_dir", "panic_dir"];
const FILES: [&str; 2] = ["api_key_file", "eddsa_key_file"];

/// Reads `[keys]`.
pub(super) fn read_secrets(
    section: &mut Section<'_, '_>,
    folder: &Path,
    mode: Mode,
    kind: VenueKind,
) -> Option<Secrets> {
    match kind {
        VenueKind::Exchange => {
            for key in FOLDERS {
                refuse_foreign::<PathBuf>(section, key, kind, VenueKind::Kraken);
            }
            refuse_foreign::<PathBuf>(section, evm::KEY, kind, VenueKind::EvmPools);
            Some(Secrets {
                keys: read_keys(section, folder, mode)?,
                folders: None,
                eth_key: None,
            })
        }
        VenueKind::Kraken => {
            for key in FILES {
                refuse_foreign::<PathBuf>(section, key, kind, VenueKind::Exchange);
            }
            refuse_foreign::<String>(section, "signer", kind, VenueKind::Exchange);
            refuse_foreign::<PathBuf>(section, evm::KEY, kind, VenueKind::EvmPools);
            Some(Secrets {
                keys: Keys::None,
                folders: read_folders(section, folder, mode)?,
                eth_key: None,
            })
        }
        VenueKind::EvmPools => {
            for key in FILES {
                refuse_foreign::<PathBuf>(section, key, kind, VenueKind::Exchange);
            }
            for key in FOLDERS {
                refuse_foreign::<PathBuf>(section, key, kind, VenueKind::Kraken);
            }
            refuse_foreign::<String>(section, "signer", kind, VenueKind::Exchange);
            refuse_foreign::<bool>(section, "credentials", kind, VenueKind::Exchange);
            Some(Secrets {
                keys: Keys::None,
                folders: None,
                eth_key: evm::read_key(section, folder, mode)?,
            })
        }
    }
}

#[expect(
    clippy::option_option,
    reason = "invalid, or none in a mode that does not trade"
)]
fn read_folders(
    section: &mut Section<'_, '_>,
    folder: &Path,
    mode: Mode,
) -> Option<Option<KeyFolders>> {
    let [orders, account, panic] = FOLDERS.map(|key| section.opt::<PathBuf>(key));
    let credentials = section.or("credentials", false);
    if !mode.trades() {
        if section.is_written() {
            let what = format!(
                "mode = \"{}\" sends nothing and takes no keys: remove [keys] from the file",
                mode.name()
            );
            section.problem(section.at(), what);
        }
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
