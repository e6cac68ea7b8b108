//! Key files of the market maker's account, created at the first start.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use anyhow::Context;
use cambist_signing::{PublicKey, SecretKey};
use zeroize::Zeroizing;

use cambist_host::exit::{Exit, Failure};
use cambist_host::secrets;

/// Characters of an API key, as public clients know them.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Length of an API key.
const API_KEY_CHARS: usize = 64;

/// The keys of an account.
pub struct MakerKeys {
    /// The API key.
    pub api_key: Zeroizing<String>,
    /// The signing key.
    pub secret: SecretKey,
}

/// Names of the two files.
const FILES: [&str; 2] = ["api_key", "eddsa_key"];

/// Reads `api_key` and `eddsa_key` of a folder, or creates them with mode 0600, for a new exchange, whose account gets
/// them.
pub fn load_or_make(dir: &Path) -> anyhow::Result<MakerKeys> {
    make_folder(dir)?;
    let api_key = one(&dir.join(FILES[0]), api_key)?;
    let eddsa_key = one(&dir.join(FILES[1]), eddsa_key)?;
    of(dir, api_key, &eddsa_key)
}

/// Whether the folder has one of them.
pub fn exist(dir: &Path) -> bool {
    FILES
        .iter()
        .any(|name| dir.join(name).symlink_metadata().is_ok())
}

/// Reads both if they exist. For an existing exchange: new keys would not match its account.
pub fn load(dir: &Path) -> anyhow::Result<Option<MakerKeys>> {
    if FILES
        .iter()
        .any(|name| dir.join(name).symlink_metadata().is_err())
    {
        return Ok(None);
    }
    let [api_key, eddsa_key] = FILES.map(|name| secrets::read(&dir.join(name), false));
    of(dir, api_key?, &eddsa_key?).map(Some)
}

/// Creates the folder, which also holds the address files.
pub fn make_folder(dir: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .with_context(|| format!("folder of keys {}", dir.display()))
}

fn of(
    dir: &Path,
    api_key: Zeroizing<String>,
    eddsa_key: &Zeroizing<String>,
) -> anyhow::Result<MakerKeys> {
    let secret = SecretKey::from_hex(eddsa_key).map_err(|_| {
        let what = format!(
            "{} does not contain a secret key in hexadecimal; remove the file to generate a new key",
            dir.join("eddsa_key").display()
        );
        Failure::new(Exit::Refused, what)
    })?;
    Ok(MakerKeys { api_key, secret })
}

/// The public key of a signing key file, which is created with mode 0600 if necessary.
pub fn make_signing_key(path: &Path) -> anyhow::Result<PublicKey> {
    let text = one(path, eddsa_key)?;
    let secret = SecretKey::from_hex(&text).map_err(|_| {
        let what = format!(
            "{} does not contain a secret key in hexadecimal",
            path.display()
        );
        Failure::new(Exit::Refused, what)
    })?;
    Ok(secret.public())
}

/// Reads the operator's token, or creates it with mode 0600.
pub fn admin_token(path: &Path) -> anyhow::Result<Zeroizing<String>> {
    one(path, api_key)
}

fn one(
    path: &Path,
    make: impl FnOnce() -> anyhow::Result<Zeroizing<String>>,
) -> anyhow::Result<Zeroizing<String>> {
    if path.symlink_metadata().is_ok() {
        return Ok(secrets::read(path, false)?);
    }
    let made = make()?;
    write_new(path, &made)?;
    Ok(made)
}

/// Writes a new key file with mode 0600, its last line ended.
pub fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        file.sync_all()
    };
    write().with_context(|| format!("key file {}", path.display()))
}

fn api_key() -> anyhow::Result<Zeroizing<String>> {
    let mut key = Zeroizing::new(String::with_capacity(API_KEY_CHARS));
    let mut byte = Zeroizing::new([0]);
    while key.len() < API_KEY_CHARS {
        getrandom::fill(byte.as_mut()).context("random number generator of the system")?;
        // Bytes beyond the last whole multiple of the alphabet would favour its beginning.
        if usize::from(byte[0]) < 4 * ALPHABET.len() {
            key.push(char::from(ALPHABET[usize::from(byte[0]) % ALPHABET.len()]));
        }
    }
    Ok(key)
}

fn eddsa_key() -> anyhow::Result<Zeroizing<String>> {
    loop {
        let mut bytes = Zeroizing::new([0; 32]);
        getrandom::fill(bytes.as_mut()).context("random number generator of the system")?;
        // The group order has 251 bits: drop what is certainly above, try again for the rest.
        bytes[0] &= 0x07;
        let mut text = Zeroizing::new(String::with_capacity(66));
        text.push_str("0x");
        for byte in bytes.iter() {
            for digit in [byte >> 4, byte & 0x0f] {
                text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        if SecretKey::from_hex(&text).is_ok() {
            return Ok(text);
        }
    }
}
