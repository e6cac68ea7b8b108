//! `[venue]` and `[keys]`: which venue, whose account, and where its secrets are. Each kind of venue has keys of its own
//! in both sections; one of another kind is refused where it is written.

pub mod evm;
mod exchange;
mod kinds;
pub mod kraken;

use std::path::{Path, PathBuf};

use cambist_core::config::{BudgetConfig, MarketConfig};
use cambist_core::venue::{ChargedAs, FeeToken};
use cambist_core::{MarketSpec, VenueRules};
use cambist_host::exit::{Exit, Failure};
use cambist_host::secrets::{KeyFolders, Keys};
use cambist_kraken_venue::rules::CALL;
use cambist_store::FolderAccount;

use super::daemon::VenueUse;
use super::exposure::thousandths;
use super::feed::{self, Feed};
use super::limits::Written;
use super::market::{Expected, StrategyChoice};
use super::mode::Mode;
use super::pool::{Pool, PoolRange};
use super::reader::{At, Place, Problem, Section};
use crate::adapter;
use evm::EvmLink;
use kinds::refuse_foreign;
use kraken::KrakenLink;

pub use exchange::ExchangeLink;
pub(super) use kinds::kind;
pub use kinds::{KindDescription, VenueKind};

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
                let KindDescription { name, page, .. } = self.kind().description();
                let what = format!(
                    "{what}: venue.kind = \"{name}\" does not offer it; funds and keys of the account are managed at the venue itself ({page})"
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

    /// What allows the requests of a budget, in words.
    pub(super) fn allowance(&self, budget: &BudgetConfig) -> String {
        match &self.terms {
            VenueTerms::Exchange(_) | VenueTerms::Evm(_) => {
                format!("budget.per_s = {}", budget.per_s)
            }
            VenueTerms::Kraken(link) => {
                let milli = u64::from(budget.per_s) * self.load_max_bps() / 10;
                let allowed = thousandths(milli / u64::from(self.budget_unit()));
                let tier = link.tier.name();
                format!(
                    "venue.tier = \"{tier}\" allows {allowed}: raise poll.orders_ms, poll.balances_ms and their ages"
                )
            }
        }
    }

    /// What an operator should know of it.
    pub(super) fn warning(&self) -> Option<String> {
        match &self.terms {
            VenueTerms::Exchange(_) | VenueTerms::Kraken(_) => None,
            VenueTerms::Evm(link) => link.gas_warning(),
        }
    }

    /// Files and folders of secrets, beside those of the account's [`Keys`].
    pub fn secrets(&self) -> Vec<&Path> {
        match &self.terms {
            VenueTerms::Exchange(_) => Vec::new(),
            VenueTerms::Kraken(link) => {
                let folders = link.keys.iter();
                folders.flat_map(KeyFolders::dirs).collect()
            }
            VenueTerms::Evm(link) => {
                let files = link.key_file.iter().chain(&link.node_files);
                files.map(PathBuf::as_path).collect()
            }
        }
    }

    /// Whether `orders.ttl_s` and `orders.grace_s` are compared with the venue at a start: a reload does not change them.
    pub const fn compares_lifetimes(&self) -> bool {
        match &self.terms {
            VenueTerms::Exchange(_) | VenueTerms::Kraken(_) => false,
            VenueTerms::Evm(_) => true,
        }
    }

    /// Where it is, for log lines. Nodes of a chain are not named: their addresses may hold keys.
    pub fn address(&self) -> String {
        match &self.terms {
            VenueTerms::Exchange(_) | VenueTerms::Kraken(_) => self.base_url.value.clone(),
            VenueTerms::Evm(link) => format!("the nodes of chain {}", link.chain_id),
        }
    }

    /// What a successful start has found, in words.
    pub fn found(&self) -> String {
        let account = self.account();
        match &self.terms {
            VenueTerms::Exchange(_) | VenueTerms::Kraken(_) => {
                format!("{} knows {account} and both keys", self.base_url.value)
            }
            VenueTerms::Evm(_) => format!("the nodes know the chain, the contracts and {account}"),
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

    /// What a state folder is bound to; `None` where no file states the account, which is that of the keys.
    pub fn folder_account(&self) -> Option<FolderAccount> {
        let kind = self.kind().description().name.to_owned();
        match &self.terms {
            VenueTerms::Exchange(link) => Some(FolderAccount {
                kind,
                venue: link.exchange.as_ref().map(|address| address.to_lowercase()),
                account: link.account_id.to_string(),
            }),
            VenueTerms::Kraken(_) => None,
            VenueTerms::Evm(link) => Some(FolderAccount {
                kind,
                venue: Some(format!("of chain {}", link.chain_id)),
                account: link.account.to_hex(),
            }),
        }
    }

    /// Whether another file certainly means the same account, as far as files state it: that of keys is theirs.
    pub fn is_same_account(&self, other: &Self) -> bool {
        let is_same_place = self.base_url.value == other.base_url.value;
        match (&self.terms, &other.terms) {
            (VenueTerms::Exchange(one), VenueTerms::Exchange(other)) => {
                is_same_place && one.account_id == other.account_id
            }
            (VenueTerms::Kraken(one), VenueTerms::Kraken(other)) => {
                is_same_place && one.keys.is_some() && one.keys == other.keys
            }
            (VenueTerms::Evm(one), VenueTerms::Evm(other)) => {
                (one.chain_id, one.account) == (other.chain_id, other.account)
            }
            (VenueTerms::Exchange(_) | VenueTerms::Kraken(_) | VenueTerms::Evm(_), _) => false,
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

/// The keys of `[venue]` that a kind reads.
struct Read {
    /// What messages call the venue, as a rule its base URL.
    base_url: Option<At<String>>,
    terms: Option<VenueTerms>,
    pinned: bool,
}

/// Reads `[venue]`.
pub(super) fn read(
    section: &mut Section<'_, '_>,
    kind: &At<VenueKind>,
    (mode, used): (Mode, VenueUse),
    folder: &Path,
) -> VenueSection {
    let request_timeout_ms = section
        .number("request_timeout_ms", 5_000, 100..=60_000)
        .value;
    let kind = kind.value;
    refuse_foreign(section, kind, |of| of.venue_keys);
    let Read {
        base_url,
        terms,
        pinned,
    } = match kind {
        VenueKind::Exchange => exchange::read(section, mode, used),
        VenueKind::Kraken => kraken::read(section),
        VenueKind::EvmPools => evm::read(section, folder),
    };
    VenueSection {
        kind,
        base_url: base_url.map(|url| url.map(|url| url.trim_end_matches('/').to_owned())),
        terms,
        request_timeout_ms,
        pinned,
    }
}

/// Placeholder for a key that is needed by what trades at the venue alone.
pub(super) fn without(mode: Mode, used: VenueUse) -> Option<At<String>> {
    (!used.needs_account(mode)).then(|| At {
        value: String::new(),
        at: Place::default(),
    })
}

/// Refuses `[keys]` in a mode that signs nothing.
fn refuse_keys(section: &Section<'_, '_>, mode: Mode) {
    if section.is_written() {
        let what = format!(
            "mode = \"{}\" sends nothing and takes no keys: remove [keys] from the file",
            mode.name()
        );
        section.problem(section.at(), what);
    }
}

impl VenueSection {
    /// Reads `[keys]`: what it states of Kraken and of an account on a chain becomes a part of the terms.
    pub(super) fn read_secrets(
        &mut self,
        section: &mut Section<'_, '_>,
        folder: &Path,
        mode: Mode,
    ) -> Option<Keys> {
        refuse_foreign(section, self.kind, |of| of.secret_keys);
        match (self.kind, &mut self.terms) {
            (VenueKind::Exchange, _) => return exchange::read_keys(section, folder, mode),
            (VenueKind::Kraken, terms) => {
                let folders = kraken::read_folders(section, folder, mode)?;
                if let Some(VenueTerms::Kraken(link)) = terms {
                    link.keys = folders;
                }
            }
            (VenueKind::EvmPools, terms) => {
                let file = evm::read_key(section, folder, mode)?;
                if let Some(VenueTerms::Evm(link)) = terms {
                    link.key_file = file;
                }
            }
        }
        Some(Keys::None)
    }

    /// Refuses times of `[orders]` that the venue would refuse.
    pub(super) fn check_orders(
        &self,
        section: &Section<'_, '_>,
        ttl_s: &At<u64>,
        margin_ms: &At<u64>,
    ) {
        match &self.terms {
            Some(VenueTerms::Kraken(link)) => link.check_orders(section, ttl_s, margin_ms),
            Some(VenueTerms::Exchange(_) | VenueTerms::Evm(_)) | None => {}
        }
    }

    /// Sets what of `[budget]` follows from the venue.
    pub(super) fn set_budget(&self, section: &Section<'_, '_>, budget: &mut BudgetConfig) {
        match &self.terms {
            Some(VenueTerms::Kraken(link)) => link.set_budget(section, budget),
            Some(VenueTerms::Exchange(_) | VenueTerms::Evm(_)) | None => {}
        }
    }

    /// Sets the limits of a market that follow from the kind of venue.
    pub(super) fn set_limits(
        &self,
        section: &mut Section<'_, '_>,
        limits: &mut MarketConfig,
        amounts: &mut Written,
    ) {
        match self.kind {
            VenueKind::Exchange | VenueKind::Kraken => {}
            VenueKind::EvmPools => evm::without_orders(section, limits, amounts),
        }
    }

    /// Refuses symbols that the venue has other names for.
    pub(super) fn check_symbols(&self, section: &Section<'_, '_>, at: Place, symbols: [&str; 2]) {
        match self.kind {
            VenueKind::Exchange | VenueKind::EvmPools => {}
            VenueKind::Kraken => kraken::check_names(section, at, &symbols),
        }
    }

    /// Refuses what the kind of venue does not have.
    pub(super) fn check_market(
        &self,
        section: &Section<'_, '_>,
        strategies: &[StrategyChoice],
        (expected, pool): (&Expected, Option<&Pool>),
    ) {
        let range = pool.and_then(|pool| pool.range.as_ref());
        match self.kind {
            VenueKind::Exchange => refuse_range(section, range),
            VenueKind::Kraken => {
                refuse_range(section, range);
                kraken::check_market(section, strategies);
            }
            VenueKind::EvmPools => {
                if let (Some(VenueTerms::Evm(link)), Some(pool)) = (&self.terms, pool) {
                    evm::check_range(section, link, pool, strategies);
                }
                evm::check_market(section, strategies, expected);
            }
        }
    }

    /// The venue's own book as a source of depth, for a mode that reads another.
    pub(super) fn feed(
        &self,
        section: &Section<'_, '_>,
        (name, expected): (&str, &Expected),
        depth_ms: u64,
    ) -> Option<Feed> {
        let url = self.base_url.as_ref()?;
        match self.kind {
            VenueKind::Exchange => {
                let decimals = expected.base_decimals.as_ref()?.value;
                Some(feed::of_exchange(url, name, decimals, depth_ms))
            }
            VenueKind::Kraken => Some(feed::of_kraken(url, name, depth_ms)),
            VenueKind::EvmPools => {
                section.missing(
                    "feed",
                    "market.feed is missing: a pool on a chain is no source of depth for this mode",
                );
                None
            }
        }
    }
}

/// Refuses a range where the venue has none.
fn refuse_range(section: &Section<'_, '_>, range: Option<&At<PoolRange>>) {
    if let Some(range) = range {
        let what = "market.pool.range is of V3 pools: only venue.kind = \"evm-pools\" has them";
        section.problem(range.at, what);
    }
}
