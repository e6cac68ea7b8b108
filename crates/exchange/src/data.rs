//! The exchange's data folder: locked, created at the first start, recovered at every later one.
//!
//! The content of the folder applies. The configuration file created the exchange once; later changes are reported and
//! not applied, and another exchange is refused.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use cambist_server::{Clock, DataError, DataFolder, Durable, InProcess, api_key_digest};
use cambist_venue::{Account, AccountOpening, Operator, VenueConfig};

use super::keys::{self, MakerKeys};
use super::setup;
use crate::config::Exchange;
use cambist_host::exit::{Exit, Failure};

/// Whether the maker's key files belong to its account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MakerKeyState {
    /// They do.
    Matching,
    /// There are none.
    Absent,
    /// They belong to another account, or the account's keys were replaced.
    OfAnotherAccount,
}

impl MakerKeyState {
    /// As a keyword.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Matching => "fit",
            Self::Absent => "absent",
            Self::OfAnotherAccount => "others",
        }
    }
}

/// The exchange of a folder; a new one if the folder is empty, with new keys if necessary. No keys are created for an
/// existing exchange.
pub fn open(folder: &Path, exchange: &Exchange) -> anyhow::Result<(Durable, MakerKeyState)> {
    if !exchange.create_data && is_without_files(folder) {
        return Err(no_exchange(folder).into());
    }
    let data = DataFolder::take(folder)
        .map_err(failure)?
        .with_retention(exchange.retention)
        .with_free_min(exchange.free_min_bytes)
        .with_time_bound(Clock::system().now(), exchange.time_ahead_max_ms);
    let Some(durable) = data.recover().map_err(failure)? else {
        if !exchange.create_data {
            return Err(no_exchange(folder).into());
        }
        let durable = created(folder, &data, exchange)?;
        return Ok((durable, MakerKeyState::Matching));
    };
    let wanted = setup::config(exchange)?;
    let kept = durable.venue().config();
    if (wanted.chain_id, wanted.exchange) != (kept.chain_id, kept.exchange) {
        let what = format!(
            "folder {} has an exchange with another chain id or address; use another folder, or the chain id and address that it was created with",
            folder.display()
        );
        return Err(Failure::new(Exit::Refused, what).into());
    }
    let differing = differing(&wanted, kept);
    if !differing.is_empty() {
        tracing::warn!(
            differs = differing.join(", "),
            "the configuration differs from the data folder's, which applies: change it with 'cambist venue admin'"
        );
    }
    let account = durable
        .venue()
        .account(cambist_venue::AccountId(exchange.maker.account_id))
        .context("the data folder has no account of the number in maker.account_id")?;
    let maker = keys::load(&exchange.maker.keys_dir)?;
    let fit = maker_key_state(&durable, account, maker.as_ref());
    let dir = exchange.maker.keys_dir.display();
    match fit {
        MakerKeyState::Matching => {}
        MakerKeyState::Absent => tracing::warn!(
            account = account.id.0,
            keys_dir = %dir,
            "the key files of the maker's account are missing; copy api_key and eddsa_key from where the exchange was created"
        ),
        MakerKeyState::OfAnotherAccount => tracing::warn!(
            account = account.id.0,
            keys_dir = %dir,
            "the key files do not match the maker's account: its keys were replaced, or the files belong to another exchange"
        ),
    }
    let facts = durable.facts();
    tracing::info!(
        folder = %folder.display(),
        inputs = facts.position,
        replayed = facts.replayed,
        torn_bytes = facts.torn_bytes,
        damaged_snapshots = facts.damaged_snapshots,
        "exchange recovered"
    );
    Ok((durable, fit))
}

/// What of a configuration is another one than a data folder has, as sections and keys of the file.
fn differing(wanted: &VenueConfig, kept: &VenueConfig) -> Vec<&'static str> {
    let VenueConfig {
        chain_id: _,
        exchange: _,
        deposit,
        tokens,
        markets,
        pools,
        fees,
        opening,
        delays,
        limits,
        fee_collector,
        fee_collector_owner,
        first_account,
        compat,
    } = wanted;
    let numbers = (fee_collector, fee_collector_owner, first_account);
    let kept_numbers = (
        &kept.fee_collector,
        &kept.fee_collector_owner,
        &kept.first_account,
    );
    let parts = [
        ("exchange.deposit_address", *deposit != kept.deposit),
        ("[[token]]", *tokens != kept.tokens),
        ("[[market]]", *markets != kept.markets),
        ("[[pool]]", *pools != kept.pools),
        ("[fees]", *fees != kept.fees),
        ("[accounts]", *opening != kept.opening),
        ("[delays]", *delays != kept.delays),
        ("[limits]", *limits != kept.limits),
        ("fee account", numbers != kept_numbers),
        ("exchange.compat", *compat != kept.compat),
    ];
    let parts = parts.into_iter().filter(|(_, differs)| *differs);
    parts.map(|(name, _)| name).collect()
}

/// A new exchange in the folder, whose maker's account gets the keys of the file's folder of keys.
fn created(folder: &Path, data: &DataFolder, exchange: &Exchange) -> anyhow::Result<Durable> {
    let keys_dir = &exchange.maker.keys_dir;
    let has_keys = keys::exist(keys_dir);
    let maker = keys::load_or_make(keys_dir)?;
    let (venue, agents) = setup::venue(exchange, &maker)?;
    let durable = data.begin(venue, agents).map_err(|error| {
        let error = failure(error);
        let what = format!(
            "no exchange was created in the data folder {}: {}",
            folder.display(),
            error.message
        );
        Failure::new(error.exit, what)
    })?;
    let folder = folder.display();
    if has_keys {
        tracing::warn!(
            %folder,
            keys_dir = %keys_dir.display(),
            "created a new exchange, without accounts and funds of an earlier one, although the folder of keys has keys already: if an exchange ran with them, its data folder is missing, such as a volume that is not mounted; data.create = false prevents this"
        );
    } else {
        tracing::info!(%folder, "created a new exchange in the data folder");
    }
    Ok(durable)
}

/// Whether the folder is missing or has nothing in it.
fn is_without_files(folder: &Path) -> bool {
    folder.read_dir().map_or_else(
        |error| error.kind() == ErrorKind::NotFound,
        |mut files| files.next().is_none(),
    )
}

fn no_exchange(folder: &Path) -> Failure {
    let what = format!(
        "the data folder {} is missing or has no exchange, and data.create = false: mount the volume, restore a backup with cambist venue restore, or set data.create = true once for a new exchange",
        folder.display()
    );
    Failure::new(Exit::Refused, what)
}

fn maker_key_state(
    durable: &Durable,
    account: &Account,
    keys: Option<&MakerKeys>,
) -> MakerKeyState {
    let Some(keys) = keys else {
        return MakerKeyState::Absent;
    };
    let public = keys.secret.public();
    let signing = (public.x.to_be_bytes(), public.y.to_be_bytes());
    let api_key = durable
        .venue()
        .account_of_api_key(&api_key_digest(&keys.api_key));
    if (account.public_key.x, account.public_key.y) == signing && api_key == Some(account.id) {
        MakerKeyState::Matching
    } else {
        MakerKeyState::OfAnotherAccount
    }
}

/// A folder from before bounds on account openings adopts the file's bounds once, by an operator input, so that
/// everything before it stays as it was.
pub fn bound_openings(exchange: &Exchange, handle: &InProcess) -> anyhow::Result<()> {
    let kept = handle.read(|venue| venue.config().opening.clone())?;
    if kept == AccountOpening::UNBOUNDED && exchange.opening != kept {
        let bounds = Box::new(exchange.opening.clone());
        handle.operate(Operator::SetAccountOpening(bounds))?;
        tracing::warn!(
            order_minimum = exchange.opening.order_minimum,
            reserved = exchange.opening.reserved,
            "the data folder had no bounds on transfers that open accounts; it has adopted those of the configuration"
        );
    }
    Ok(())
}

/// The exit code of an error of the data folder.
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
pub fn failure(error: DataError) -> Failure {
    let exit = match &error {
        DataError::InUse { .. } => Exit::AnotherInstance,
        DataError::Damaged { .. } | DataError::Audit(_) | DataError::Diverged { .. } => {
            Exit::Invariant
        }
        DataError::OtherExchange { .. } | DataError::Gap { .. } | DataError::Dump { .. } => {
            Exit::CheckFailed
        }
        DataError::Empty { .. }
        | DataError::NotEmpty { .. }
        | DataError::Version { .. }
        | DataError::TimeAhead { .. } => Exit::Refused,
        error if error.is_misconfigured() => Exit::Refused,
        DataError::Folder(_) | DataError::Io { .. } => Exit::CheckFailed,
    };
    Failure::new(exit, error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use cambist_server::{Server, ServerConfig};

    use super::*;
    use cambist_config::reader::Source;
    use tempfile::TempDir;

    fn exchange(folder: &TempDir, from: &str, to: &str) -> Exchange {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/venue.toml");
        let mut source = Source::read(path.as_ref()).unwrap();
        assert!(source.text.contains(from));
        source.text = source.text.replacen(from, to, 1);
        let mut exchange = Exchange::parse(&source).unwrap();
        exchange.maker.keys_dir = folder.path().join("keys");
        exchange
    }

    /// Starts an exchange on a folder; returns its bounds on openings.
    fn started(folder: &Path, exchange: &Exchange) -> AccountOpening {
        let (durable, _) = open(folder, exchange).unwrap();
        let config = ServerConfig::new(([127, 0, 0, 1], 0).into());
        let server = Server::bind_durable(&config, durable).unwrap();
        let handle = server.handle();
        bound_openings(exchange, &handle).unwrap();
        handle.read(|venue| venue.config().opening.clone()).unwrap()
    }

    #[test]
    fn what_differs_from_the_folder_is_named() {
        let kept = VenueConfig::default();
        assert_eq!(differing(&kept, &kept), [""; 0]);
        let mut wanted = kept.clone();
        wanted.limits.open_orders_max += 1;
        wanted.delays.order_ms += 1;
        assert_eq!(differing(&wanted, &kept), ["[delays]", "[limits]"]);
    }

    #[test]
    fn a_missing_folder_is_made_unless_the_file_forbids_it() {
        let folder = crate::testing::private_folder();
        let data = folder.path().join("data");
        let careful = exchange(&folder, "# create = true", "create = false");
        let refused = || {
            let error = open(&data, &careful).err().unwrap();
            let failure = error.downcast::<Failure>().unwrap();
            assert_eq!(failure.exit, Exit::Refused);
            assert!(failure.message.contains("data.create = false"), "{failure}");
        };
        refused();
        assert!(!data.exists(), "nothing is made");
        keys::make_folder(&data).unwrap();
        refused();
        assert!(is_without_files(&data));
        // As a fresh volume has it: no exchange, but not empty either.
        std::fs::create_dir(data.join("lost+found")).unwrap();
        refused();
        assert!(!keys::exist(&careful.maker.keys_dir), "no keys either");
        let usual = exchange(&folder, "", "");
        started(&data, &usual);
        started(&data, &careful);
    }

    #[test]
    fn a_folder_without_bounds_on_openings_takes_the_files_over_once() {
        let folder = crate::testing::private_folder();
        let data = folder.path().join("data");
        let mut before = exchange(&folder, "", "");
        before.opening = AccountOpening::UNBOUNDED;
        assert_eq!(started(&data, &before), AccountOpening::UNBOUNDED);
        let today = exchange(&folder, "", "");
        assert!(today.opening.order_minimum && today.opening.reserved == 10_000);
        assert_eq!(started(&data, &today), today.opening);
        // The folder's bounds apply then, not those of the file.
        let other = exchange(&folder, "# reserved = 10000", "reserved = 7");
        assert_eq!(other.opening.reserved, 7);
        assert_eq!(started(&data, &other), today.opening);
    }
}
