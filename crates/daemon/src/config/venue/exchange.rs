//! What is configured of the exchange interface.

use std::path::{Path, PathBuf};

use cambist_host::secrets::Keys;

use super::super::daemon::VenueUse;
use super::super::mode::Mode;
use super::super::reader::{At, Section};
use super::super::sections::{check_address, check_url, is_local, require_pins, small};
use super::kinds::KindDescription;
use super::{Read, VenueTerms, refuse_keys, without};

pub(super) const DESCRIPTION: KindDescription = KindDescription {
    name: "exchange",
    page: "docs/hosting.md",
    market_example: "ETH-USDC",
    venue_keys: &["base_url", "account_id", "owner", "chain_id", "exchange"],
    secret_keys: &["api_key_file", "eddsa_key_file", "signer", "credentials"],
    keys_found: "both files exist, and only this user can read them",
    keys_help: "create a signing key with cambist keygen; the exchange issues the API key",
    unreached_help: "start the exchange, or correct venue.base_url; a daemon waits for its venue",
    start_help: "compare base_url, account_id, owner and the keys with the exchange's records; cambist check --pin prints its chain and units",
};

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

/// Reads the keys of `[venue]`.
pub(super) fn read(section: &mut Section<'_, '_>, mode: Mode, used: VenueUse) -> Read {
    let accounts = 0..=u64::from(u32::MAX);
    let (base_url, account_id, owner) = if used.needs_account(mode) {
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
    let pinned =
        mode.trades() && used == VenueUse::Pinned && base_url.as_ref().is_some_and(is_remote);
    if pinned {
        require_pins(section, &["chain_id", "exchange"]);
    }
    let link = account_id
        .zip(owner.or_else(|| without(mode, used)))
        .map(|(account_id, owner)| ExchangeLink {
            account_id: small(account_id.value),
            owner: owner.value.to_ascii_lowercase(),
            chain_id: chain_id.map(|chain| chain.value),
            exchange: exchange.map(|address| address.value.to_ascii_lowercase()),
        });
    check_url(section, base_url.as_ref());
    Read {
        base_url,
        terms: link.map(VenueTerms::Exchange),
        pinned,
    }
}

/// Reads `[keys]`.
pub(super) fn read_keys(section: &mut Section<'_, '_>, folder: &Path, mode: Mode) -> Option<Keys> {
    if !mode.trades() {
        refuse_keys(section, mode);
        for key in ["api_key_file", "eddsa_key_file"] {
            section.opt::<PathBuf>(key);
        }
        section.opt::<String>("signer");
        section.or("credentials", false);
        return Some(Keys::None);
    }
    let api_key = section.opt::<PathBuf>("api_key_file");
    let eddsa_key = section.opt::<PathBuf>("eddsa_key_file");
    let signer = section.opt::<String>("signer");
    let credentials = section.or("credentials", false);
    if let Some(signer) = signer {
        return read_signer(
            section,
            &signer,
            credentials.value,
            api_key,
            eddsa_key,
            folder,
        );
    }
    match (credentials.value, api_key, eddsa_key) {
        (true, None, None) => Some(Keys::Credentials),
        (false, Some(api_key), Some(eddsa_key)) => Some(Keys::Files {
            api_key: folder.join(api_key.value),
            eddsa_key: folder.join(eddsa_key.value),
        }),
        (true, _, _) => {
            let what = "keys.credentials = true takes the keys from the service manager; remove keys.api_key_file and keys.eddsa_key_file";
            section.problem(credentials.at, what);
            None
        }
        // A path of another type was reported before.
        (false, None, None) if section.has("api_key_file") || section.has("eddsa_key_file") => None,
        (false, Some(_), None) if section.has("eddsa_key_file") => None,
        (false, None, Some(_)) if section.has("api_key_file") => None,
        (false, _, _) => {
            let what = "keys.api_key_file and keys.eddsa_key_file must both be given, or keys.credentials = true";
            section.problem(section.at(), what);
            None
        }
    }
}

/// `keys.signer`, beside which there is an API key and no signing key.
fn read_signer(
    section: &Section<'_, '_>,
    signer: &At<String>,
    credentials: bool,
    api_key: Option<At<PathBuf>>,
    eddsa_key: Option<At<PathBuf>>,
    folder: &Path,
) -> Option<Keys> {
    let Some(socket) = signer
        .value
        .strip_prefix("unix:")
        .filter(|path| !path.is_empty())
    else {
        let what = "keys.signer must be the socket of cambist-signer, such as \"unix:/run/cambist-signer/eth/socket\"";
        section.problem(signer.at, what);
        return None;
    };
    if let Some(eddsa_key) = eddsa_key {
        let what = "keys.signer takes the place of keys.eddsa_key_file; remove one of them";
        section.problem(eddsa_key.at, what);
        return None;
    }
    if credentials == api_key.is_some() {
        let what = "keys.signer holds the signing key; the API key is keys.api_key_file, or keys.credentials = true, and not both";
        section.problem(signer.at, what);
        return None;
    }
    Some(Keys::Signer {
        api_key: api_key.map(|file| folder.join(file.value)),
        socket: folder.join(socket),
    })
}
