//! Numbers of tokens. Venues name assets, or tokens have contracts, and the store numbers them: each name gets a number
//! once, and keeps it.
//!
//! The state folder has a file with one name a line, and the number is the line's. Its last line is a digest of those
//! before it, because a lost or exchanged line would give the store's amounts to other tokens. It is written whole and
//! synced before a number is used, and names are only added. A command without a state folder numbers the names that it
//! sees.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use cambist_config::short_digest;
use cambist_core::TokenId;
use cambist_host::exit::{Exit, Failure};

use crate::whole_file::write_whole;

/// The file.
const FILE: &str = "assets";
/// Before the digest; no name has a space.
const DIGEST: &str = "digest ";
/// Most assets; the service lists several hundred.
const ASSETS_MAX: usize = 20_000;
/// Longest name: the address of a contract has 42, and one with the ends of a range up to 58.
const NAME_BYTES_MAX: usize = 64;

/// Numbers by the service's names of assets.
#[derive(Debug, Default)]
pub struct TokenIds {
    path: Option<PathBuf>,
    ids: BTreeMap<String, TokenId>,
}

impl TokenIds {
    /// The numbers of a state folder.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(FILE);
        let refused = |what: String| {
            let what = format!(
                "{}: {what}. It numbers the tokens of the store: restore it with the state folder",
                path.display()
            );
            Failure::new(Exit::Invariant, what)
        };
        let text = match std::fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(refused(error.to_string()).into()),
            Ok(found) if found.len() > (ASSETS_MAX * NAME_BYTES_MAX) as u64 => {
                return Err(refused("it is too long".to_owned()).into());
            }
            Ok(_) => {
                let text = std::fs::read_to_string(&path);
                Some(text.map_err(|error| refused(error.to_string()))?)
            }
        };
        let mut found = Self {
            path: Some(path.clone()),
            ids: BTreeMap::new(),
        };
        let Some(names) = text.as_deref().map(names_of) else {
            return Ok(found);
        };
        let names = names.ok_or_else(|| {
            refused("its last line is not the digest of those before it".to_owned())
        })?;
        for name in names.lines() {
            if !is_name(name) || !found.add(name) {
                let shown = name.escape_debug().take(NAME_BYTES_MAX).collect::<String>();
                return Err(refused(format!("{shown:?} is no name, or there twice")).into());
            }
        }
        Ok(found)
    }

    /// Numbers of a command that has no state folder.
    pub fn unsaved() -> Self {
        Self::default()
    }

    /// The numbers of all names; new ones are on disk when this returns.
    pub fn of<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> anyhow::Result<&BTreeMap<String, TokenId>> {
        let before = self.ids.len();
        for name in names {
            if self.ids.len() >= ASSETS_MAX {
                let what = format!("the venue lists more than {ASSETS_MAX} assets");
                return Err(Failure::new(Exit::Refused, what).into());
            }
            if is_name(name) {
                self.add(name);
            }
        }
        if self.ids.len() > before {
            self.write()?;
        }
        Ok(&self.ids)
    }

    /// Whether the name is new.
    fn add(&mut self, name: &str) -> bool {
        let next = u16::try_from(self.ids.len()).unwrap_or(u16::MAX);
        let is_new = !self.ids.contains_key(name);
        if is_new {
            self.ids.insert(name.to_owned(), TokenId(next));
        }
        is_new
    }

    fn write(&self) -> anyhow::Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let mut names: Vec<_> = self.ids.iter().map(|(name, id)| (*id, name)).collect();
        names.sort_unstable();
        let mut text = String::new();
        for (_, name) in names {
            text.push_str(name);
            text.push('\n');
        }
        let digest = digest_line(&text);
        text.push_str(&digest);
        write_whole(path, text.as_bytes())
            .map_err(|error| anyhow::anyhow!("{} cannot be written: {error}", path.display()))
    }
}

/// The last line of a file with these lines of names.
fn digest_line(names: &str) -> String {
    format!("{DIGEST}{}\n", short_digest(names))
}

/// The lines of names of a file; `None` if its last line is not their digest.
fn names_of(text: &str) -> Option<&str> {
    let (names, _) = text.split_at(text.find(DIGEST)?);
    (text[names.len()..] == digest_line(names)).then_some(names)
}

fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::testing::private_folder;

    fn number(ids: &BTreeMap<String, TokenId>, name: &str) -> u16 {
        ids[name].0
    }

    #[test]
    fn a_name_keeps_its_number_whatever_is_listed_later() {
        let folder = private_folder();
        let mut ids = TokenIds::open(folder.path()).unwrap();
        let first = ids.of(["XXBT", "ZUSD"]).unwrap();
        assert_eq!((number(first, "XXBT"), number(first, "ZUSD")), (0, 1));
        // The next run lists others, in another order, and not all of them.
        let mut ids = TokenIds::open(folder.path()).unwrap();
        let later = ids.of(["AAVE", "ZUSD"]).unwrap();
        assert_eq!(
            ["XXBT", "ZUSD", "AAVE"].map(|name| number(later, name)),
            [0, 1, 2]
        );
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert_eq!(names_of(&text), Some("XXBT\nZUSD\nAAVE\n"), "{text}");
        let mut unsaved = TokenIds::unsaved();
        assert_eq!(number(unsaved.of(["ZUSD"]).unwrap(), "ZUSD"), 0);
    }

    #[test]
    fn numbers_are_not_used_before_they_are_on_disk() {
        let folder = private_folder();
        let mut ids = TokenIds::open(folder.path()).unwrap();
        folder.close().unwrap();
        let error = ids.of(["XXBT"]).unwrap_err().to_string();
        assert!(error.contains("cannot be written"), "{error}");
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let folder = private_folder();
        let path = folder.path().join(FILE);
        let digest = "its last line is not the digest";
        let whole = |names: &str| format!("{names}{}", digest_line(names));
        let good = whole("XXBT\nZUSD\n");
        for (content, problem) in [
            (String::new(), digest),
            ("XXBT\nZUSD\n".to_owned(), digest),
            (good[..good.len() - 1].to_owned(), digest),
            (format!("{good}AAVE\n"), digest),
            (good.replace("XXBT\nZUSD", "ZUSD\nXXBT"), digest),
            (good.replace("XXBT\n", ""), digest),
            (whole("XXBT\nXXBT\n"), "there twice"),
            (whole("XXBT\n\nZUSD\n"), "no name"),
            (whole("X BT\n"), "no name"),
        ] {
            std::fs::write(&path, &content).unwrap();
            let error = TokenIds::open(folder.path()).unwrap_err().to_string();
            assert!(error.contains(problem), "{content:?}: {error}");
        }
    }
}
