//! API keys of Kraken's interface: a folder for each, with `api_key` and `secret` as its clients are given them (one
//! line, mode 0600), and `key.toml`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_host::exit::{Exit, Failure};
use cambist_host::secrets;
use cambist_kraken::sign::Secret;
use cambist_server::{DataError, DataFolder, KrakenConfig, KrakenKey, Permission};
use cambist_venue::AccountId;
use serde::Deserialize;
use zeroize::Zeroizing;

use crate::config::{Exchange, KrakenSettings};
use crate::data::failure;
use crate::keys::{make_folder, write_new};

/// Files of a key: what requests name it by, what signs them, and what the exchange knows of it.
const FILES: [&str; 3] = ["api_key", "secret", "key.toml"];
/// First character of the name of a folder that is being made.
const PARTIAL: char = '.';
/// Most keys.
const KEYS_MAX: usize = 1_000;
/// Characters of an API key, and bytes of its secret, as Kraken makes them.
const API_KEY_CHARS: usize = 56;
const SECRET_BYTES: usize = 64;
/// Highest nonce window: Kraken's users set up to a few seconds of nanoseconds.
const WINDOW_MAX: u64 = 100_000_000_000;

/// What `key.toml` states.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    account: u32,
    permissions: Vec<String>,
    #[serde(default)]
    nonce_window: u64,
}

/// What a new key is for.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// Name of its folder.
    pub name: String,
    /// Its account.
    pub account: AccountId,
    /// What it may do.
    pub permissions: BTreeSet<Permission>,
    /// By how much a nonce may be behind the highest one.
    pub nonce_window: u64,
}

impl NewKey {
    /// A key that may do everything but withdraw.
    pub fn for_trading(name: &str, account: AccountId) -> Self {
        let all = Permission::ALL
            .into_iter()
            .map(|(permission, _)| permission);
        Self {
            name: name.to_owned(),
            account,
            permissions: all
                .filter(|permission| *permission != Permission::FundsWithdraw)
                .collect(),
            nonce_window: 0,
        }
    }
}

/// Refuses the account of a new key if the exchange does not have it when it starts next, which is when keys are read.
///
/// # Errors
/// No such account; the data folder is in use (75), or cannot be read.
pub fn check_account(exchange: &Exchange, account: AccountId) -> anyhow::Result<()> {
    let maker = AccountId(exchange.maker.account_id);
    if account == maker {
        return Ok(());
    }
    let of_folder = exchange.data_dir.as_ref().filter(|folder| folder.exists());
    let Some(folder) = of_folder else {
        let what = format!(
            "account {} does not exist: without an exchange in a data folder (data.dir), only account {} of the file does at a start",
            account.0, maker.0
        );
        return Err(Failure::new(Exit::Refused, what).into());
    };
    let data = DataFolder::take(folder).map_err(|error| match error {
        DataError::InUse { .. } => {
            let what =
                format!("{error}: stop the exchange first; it reads accounts' keys when it starts");
            Failure::new(Exit::AnotherInstance, what)
        }
        error => failure(error),
    })?;
    let kept = data.recover().map_err(failure)?;
    let is_known = kept.is_some_and(|kept| kept.venue().account(account).is_some());
    if is_known {
        return Ok(());
    }
    let what = format!(
        "account {} does not exist in {}; cambist venue onboard opens accounts",
        account.0,
        folder.display()
    );
    Err(Failure::new(Exit::Refused, what).into())
}

/// The settings with all keys of the folder. A folder without keys gets one of the maker's account, `maker`.
pub fn load(exchange: &Exchange) -> anyhow::Result<Option<KrakenConfig>> {
    let Some(settings) = &exchange.kraken else {
        return Ok(None);
    };
    make_folder(&settings.keys_dir)?;
    let mut folders = folders(settings)?;
    if folders.is_empty() {
        let account = AccountId(exchange.maker.account_id);
        folders.push(make(settings, &NewKey::for_trading("maker", account))?);
    }
    let mut keys: Vec<KrakenKey> = Vec::with_capacity(folders.len());
    for folder in &folders {
        let key = read(folder)?;
        if keys.iter().any(|other| other.api_key == key.api_key) {
            let what = format!("{} has the api_key of another key", folder.display());
            return Err(Failure::new(Exit::Refused, what).into());
        }
        keys.push(key);
    }
    Ok(Some(KrakenConfig {
        keys,
        tier: settings.tier,
        list_lag_ms: settings.list_lag_ms,
    }))
}

/// The folders of keys, by name.
fn folders(settings: &KrakenSettings) -> anyhow::Result<Vec<PathBuf>> {
    let dir = &settings.keys_dir;
    let entries = std::fs::read_dir(dir);
    let entries = entries.with_context(|| format!("folder of keys {}", dir.display()))?;
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| dir.display().to_string())?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let is_partial = name.is_some_and(|name| name.starts_with(PARTIAL));
        if path.is_dir() && !is_partial {
            folders.push(path);
        }
    }
    if folders.len() > KEYS_MAX {
        let what = format!("{} holds more than {KEYS_MAX} keys", dir.display());
        return Err(Failure::new(Exit::Refused, what).into());
    }
    folders.sort();
    Ok(folders)
}

fn read(folder: &Path) -> anyhow::Result<KrakenKey> {
    let [api_key, secret, about] = FILES.map(|name| folder.join(name));
    let refused = |path: &Path, what: String| {
        Failure::new(Exit::Refused, format!("{}: {what}", path.display()))
    };
    let text = std::fs::read_to_string(&about);
    let text = text.map_err(|error| refused(&about, error.to_string()))?;
    let file: KeyFile =
        toml::from_str(&text).map_err(|error| refused(&about, error.to_string()))?;
    let mut permissions = BTreeSet::new();
    for name in &file.permissions {
        let permission = Permission::parse(name);
        permissions.insert(permission.ok_or_else(|| {
            let what = format!("permission {name:?} is not one of {}", names());
            refused(&about, what)
        })?);
    }
    if file.nonce_window > WINDOW_MAX {
        let what = format!("nonce_window is above {WINDOW_MAX}");
        return Err(refused(&about, what).into());
    }
    let read = Secret::parse(&secrets::read(&secret, false)?);
    Ok(KrakenKey {
        api_key: secrets::read(&api_key, false)?.to_string(),
        secret: read.map_err(|error| refused(&secret, error.to_string()))?,
        account: AccountId(file.account),
        permissions,
        nonce_window: file.nonce_window,
    })
}

/// Names of all permissions.
pub fn names() -> String {
    Permission::ALL.map(|(_, name)| name).join(", ")
}

/// Makes a key and writes its folder, which must not exist. Returns its path.
pub fn make(settings: &KrakenSettings, new: &NewKey) -> anyhow::Result<PathBuf> {
    let refused = |what: String| Failure::new(Exit::Refused, what);
    let is_name = !new.name.is_empty()
        && new.name.len() <= 64
        && new
            .name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if !is_name {
        let what = "the name of a key has letters, digits, - and _ only".to_owned();
        return Err(Failure::new(Exit::Usage, what).into());
    }
    make_folder(&settings.keys_dir)?;
    let folder = settings.keys_dir.join(&new.name);
    if folder.symlink_metadata().is_ok() {
        let what = format!(
            "{} exists; remove it or choose another name",
            folder.display()
        );
        return Err(refused(what).into());
    }
    let mut bytes = Zeroizing::new(vec![0; SECRET_BYTES + API_KEY_CHARS]);
    getrandom::fill(&mut bytes).context("random number generator of the system")?;
    let (for_secret, for_key) = bytes.split_at(SECRET_BYTES);
    let secret =
        Secret::from_bytes(for_secret.to_vec()).map_err(|error| refused(error.to_string()))?;
    // 64 letters: every one is as likely as the others.
    let api_key: String = for_key
        .iter()
        .map(|byte| {
            char::from(
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
                    [usize::from(byte % 64)],
            )
        })
        .collect();
    let permissions: Vec<_> = Permission::ALL
        .into_iter()
        .filter(|(permission, _)| new.permissions.contains(permission))
        .map(|(_, name)| format!("\"{name}\""))
        .collect();
    let about = format!(
        "# What the exchange knows of this key of Kraken's interface; its clients are given api_key and secret.\naccount = {}\npermissions = [{}]\n# By how much a nonce may be behind the highest one; above 0 a repeated request can count twice.\nnonce_window = {}\n",
        new.account.0,
        permissions.join(", "),
        new.nonce_window,
    );
    // Under its name a key is whole, also if the process is killed here.
    let partial = settings
        .keys_dir
        .join(format!("{PARTIAL}{}.partial", new.name));
    if partial.symlink_metadata().is_ok() {
        std::fs::remove_dir_all(&partial).with_context(|| partial.display().to_string())?;
    }
    make_folder(&partial)?;
    let secret = secret.to_text();
    for (name, text) in FILES.into_iter().zip([&api_key, &*secret, &about]) {
        write_new(&partial.join(name), text)?;
    }
    std::fs::rename(&partial, &folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;
    use cambist_server::Tier;
    use std::os::unix::fs::PermissionsExt;

    fn settings(dir: &Path) -> KrakenSettings {
        KrakenSettings {
            keys_dir: dir.join("keys"),
            tier: Tier::default(),
            list_lag_ms: 0,
        }
    }

    #[test]
    fn a_made_key_is_read_back_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path());
        let mut new = NewKey::for_trading("bot", AccountId(7));
        new.nonce_window = 3;
        let path = make(&settings, &new).unwrap();
        for name in FILES {
            let mode = std::fs::metadata(path.join(name))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let key = read(&path).unwrap();
        assert_eq!((key.account, key.nonce_window), (AccountId(7), 3));
        assert_eq!(key.permissions, new.permissions);
        assert_eq!(key.api_key.len(), API_KEY_CHARS);
        let again = make(&settings, &new).unwrap_err().to_string();
        assert!(
            again.contains("exists; remove it or choose another name"),
            "{again}"
        );
        assert_eq!(folders(&settings).unwrap(), [path]);
    }

    #[test]
    fn a_key_whose_making_was_cut_is_no_key_and_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path());
        let new = NewKey::for_trading("bot", AccountId(7));
        let cut = settings.keys_dir.join(".bot.partial");
        make_folder(&cut).unwrap();
        std::fs::write(cut.join("api_key"), "half").unwrap();
        assert!(folders(&settings).unwrap().is_empty());
        let path = make(&settings, &new).unwrap();
        assert_eq!(folders(&settings).unwrap(), std::slice::from_ref(&path));
        assert_eq!(read(&path).unwrap().api_key.len(), API_KEY_CHARS);
        assert!(!cut.exists());
    }

    #[test]
    fn mistakes_in_the_files_of_a_key_are_named_without_its_secret() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path());
        let path = make(&settings, &NewKey::for_trading("bot", AccountId(7))).unwrap();
        let secret = read(&path).unwrap().secret.to_text();
        for (name, from, to, problem) in [
            ("key.toml", "account = 7", "account = -7", "invalid value"),
            ("key.toml", "account = 7", "acount = 7", "unknown field"),
            (
                "key.toml",
                "\"orders-modify\"",
                "\"orders-eat\"",
                "permission \"orders-eat\" is not one of",
            ),
            (
                "key.toml",
                "nonce_window = 0",
                "nonce_window = 100000000001",
                "nonce_window is above",
            ),
            ("secret", &secret[..4], "!", "not the private key"),
        ] {
            let file = path.join(name);
            let good = std::fs::read_to_string(&file).unwrap();
            assert!(good.contains(from), "{from}");
            std::fs::write(&file, good.replacen(from, to, 1)).unwrap();
            let error = format!("{:?}", read(&path).unwrap_err());
            assert!(error.contains(problem), "{to}: {error}");
            assert!(!error.contains(&secret[4..]), "{error}");
            std::fs::write(&file, good).unwrap();
        }
        for name in ["", "a/b", "..", "a b"] {
            let new = NewKey::for_trading(name, AccountId(7));
            assert!(make(&settings, &new).is_err(), "{name}");
        }
    }
}
