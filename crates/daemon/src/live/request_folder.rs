//! The files of an operator's requests: one for each in `<store.dir>/requests`, written before its first byte is sent.
//! They hold the signatures of single requests, and no key.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cambist_core::event::Event;
use cambist_host::folder::{FolderError, PrivateFolder, TakenFolder};

use crate::live::account_requests::{AccountRequest, VERSION, is_of_a_request};
use crate::whole_file::write_whole;

/// Name of the folder in the state folder.
const FOLDER: &str = "requests";
/// Finished requests kept; older ones are removed.
const KEPT: usize = 500;
/// A larger file is not one of these.
const FILE_MAX: u64 = 64 << 10;

/// The reasons of all flows of requests that were booked, from the store of a folder.
pub fn booked(dir: &Path) -> BTreeSet<String> {
    // A store that cannot be read here is refused where it matters.
    let flows = cambist_store::flows::explained(dir).unwrap_or_default();
    let reasons = flows.into_iter().map(|flow| flow.reason);
    reasons.filter(|reason| is_of_a_request(reason)).collect()
}

/// The events that announce the flows of a folder's requests to a new run. `has_ledger` states whether there is a
/// ledger that they are missing in: opening balances will contain what was processed before.
pub fn announcements(dir: &Path, booked: &BTreeSet<String>, has_ledger: bool) -> Vec<Event> {
    let requests = match list(dir) {
        Ok(requests) => requests,
        Err(error) => {
            tracing::error!(%error, "requests of this account cannot be read; their flows will be differences of the books");
            Vec::new()
        }
    };
    let counts = |request: &&AccountRequest| has_ledger || request.state.is_open();
    let commands = requests.iter().filter(counts);
    let commands = commands.flat_map(|request| request.announcements(booked));
    commands.map(Event::Operator).collect()
}

/// The folder of a state folder's requests, locked: one command at a time changes them.
pub struct RequestFolder {
    path: PathBuf,
    _lock: TakenFolder,
}

impl RequestFolder {
    /// Opens the folder, creating it if necessary, and locks it.
    pub fn open(dir: &Path) -> Result<Self, FolderError> {
        PrivateFolder::open_or_create(dir)?;
        let path = dir.join(FOLDER);
        let lock = PrivateFolder::open_or_create(&path)?.take()?;
        Ok(Self { path, _lock: lock })
    }

    /// Makes a request durable.
    pub fn save(&self, request: &AccountRequest) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(request)?;
        text.push(b'\n');
        write_whole(&self.path.join(format!("{}.json", request.hash)), &text)
    }

    /// Removes the oldest finished requests beyond those that are kept, if all their flows were booked.
    pub fn prune(&self, dir: &Path) -> io::Result<()> {
        let booked = booked(dir);
        let all = list(dir)?;
        let finished = |request: &&AccountRequest| {
            !request.state.is_open() && request.announcements(&booked).is_empty()
        };
        let old = all.iter().rev().filter(finished).skip(KEPT);
        for request in old {
            fs::remove_file(self.path.join(format!("{}.json", request.hash)))?;
        }
        Ok(())
    }
}

/// All requests of a state folder, oldest first.
pub fn list(dir: &Path) -> io::Result<Vec<AccountRequest>> {
    let path = dir.join(FOLDER);
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut requests = Vec::new();
    for entry in entries {
        let file = entry?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            requests.push(read(&file)?);
        }
    }
    requests.sort_by(|one, other| (one.created_s, &one.hash).cmp(&(other.created_s, &other.hash)));
    Ok(requests)
}

fn read(file: &Path) -> io::Result<AccountRequest> {
    let wrong = |what: String| {
        let what = format!("{}: {what}", file.display());
        io::Error::new(io::ErrorKind::InvalidData, what)
    };
    if fs::metadata(file)?.len() > FILE_MAX {
        return Err(wrong("it is too large for a request".to_owned()));
    }
    let request: AccountRequest =
        serde_json::from_slice(&fs::read(file)?).map_err(|error| wrong(error.to_string()))?;
    if request.version != VERSION {
        return Err(wrong(format!("version {} is not known", request.version)));
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::live::account_requests::{RequestKind, RequestState};
    use cambist_core::TokenId;

    fn request(number: u64) -> AccountRequest {
        let hash = format!("0x{number:04x}");
        let mut request = AccountRequest::new(RequestKind::Transfer, hash, "x".to_owned());
        request.created_s = number;
        request.state = RequestState::Processed;
        request
    }

    #[test]
    fn requests_are_listed_by_their_time_and_other_files_are_left_alone() {
        let folder = crate::testing::private_folder();
        let requests = RequestFolder::open(folder.path()).unwrap();
        for number in [3, 1, 2] {
            requests.save(&request(number)).unwrap();
        }
        let mut earlier = request(9);
        earlier.created_s = 1;
        requests.save(&earlier).unwrap();
        fs::write(requests.path.join("notes.txt"), "x").unwrap();
        let listed: Vec<_> = list(folder.path())
            .unwrap()
            .into_iter()
            .map(|one| one.hash)
            .collect();
        assert_eq!(listed, ["0x0001", "0x0009", "0x0002", "0x0003"]);
        let mode = fs::metadata(requests.path.join("0x0001.json"))
            .unwrap()
            .permissions();
        assert_eq!(
            std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777,
            0o600
        );
        // A shorter one leaves nothing of the longer.
        let mut long = request(1);
        long.detail = "y".repeat(500);
        requests.save(&long).unwrap();
        requests.save(&request(1)).unwrap();
        assert_eq!(list(folder.path()).unwrap()[0], request(1));
    }

    #[test]
    fn files_of_another_form_are_errors_with_their_name() {
        let folder = crate::testing::private_folder();
        let requests = RequestFolder::open(folder.path()).unwrap();
        let file = requests.path.join("0x0001.json");
        let other = serde_json::to_string(&request(1)).unwrap();
        let other = other.replace("\"version\":1", "\"version\":2");
        fs::write(&file, other).unwrap();
        let error = list(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("0x0001.json: version 2 is not known"),
            "{error}"
        );
        let text = serde_json::to_string(&request(1)).unwrap();
        for (bytes, is_read) in [(1 << 16, true), ((1 << 16) + 1, false)] {
            let padding = " ".repeat(bytes - text.len());
            fs::write(&file, format!("{text}{padding}")).unwrap();
            let read = list(folder.path());
            assert_eq!(read.is_ok(), is_read, "{bytes}: {read:?}");
        }
    }

    /// Of the finished ones whose flows were booked the newest are kept; open ones always.
    #[test]
    fn old_requests_are_removed() {
        let folder = crate::testing::private_folder();
        let requests = RequestFolder::open(folder.path()).unwrap();
        let mut open = request(0);
        open.state = RequestState::Unknown;
        requests.save(&open).unwrap();
        let mut unbooked = request(1);
        unbooked.expect(TokenId(0), "ETH", -5, "not booked");
        requests.save(&unbooked).unwrap();
        for number in 2..504 {
            requests.save(&request(number)).unwrap();
        }
        drop(cambist_store::Store::open(folder.path()).unwrap());
        requests.prune(folder.path()).unwrap();
        let left = list(folder.path()).unwrap();
        let first: Vec<_> = left.iter().take(3).map(|one| one.created_s).collect();
        assert_eq!((left.len(), first), (502, vec![0, 1, 4]));
    }

    #[test]
    fn files_are_kept_and_their_flows_announced_until_they_are_booked() {
        let folder = crate::testing::private_folder();
        let dir = folder.path();
        assert!(list(dir).unwrap().is_empty());
        let requests = RequestFolder::open(dir).unwrap();
        assert!(matches!(
            RequestFolder::open(dir),
            Err(FolderError::InUse(_))
        ));
        let about = "transfer of 1 ETH".to_owned();
        let mut request = AccountRequest::new(RequestKind::Transfer, "0xab".to_owned(), about);
        request.expect(TokenId(0), "ETH", -5, "transfer of 1 ETH");
        requests.save(&request).unwrap();
        assert_eq!(list(dir).unwrap(), [request.clone()]);
        let none = BTreeSet::new();
        let expected = |has_ledger| announcements(dir, &none, has_ledger).len();
        assert_eq!((expected(true), expected(false)), (1, 1));
        request.state = RequestState::Processed;
        requests.save(&request).unwrap();
        assert_eq!(
            (expected(true), expected(false)),
            (1, 0),
            "opening balances contain it"
        );
        let booked = BTreeSet::from([request.flows[0].reason.clone()]);
        assert!(is_of_a_request(&request.flows[0].reason));
        assert!(announcements(dir, &booked, true).is_empty());
        request.state = RequestState::Failed;
        requests.save(&request).unwrap();
        assert_eq!(expected(true), 0);
        fs::write(dir.join(FOLDER).join("0xcd.json"), "{").unwrap();
        assert!(list(dir).is_err());
        assert!(announcements(dir, &none, true).is_empty());
    }

    /// Others could read the signatures in it.
    #[test]
    fn a_state_folder_that_others_may_read_is_not_used() {
        let folder = crate::testing::private_folder();
        let shared = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.path(), shared).unwrap();
        let opened = RequestFolder::open(folder.path());
        assert!(matches!(opened, Err(FolderError::Mode { .. })));
        assert!(!folder.path().join(FOLDER).exists());
    }
}
