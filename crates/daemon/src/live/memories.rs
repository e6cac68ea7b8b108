//! What strategies remember between two runs of the daemon: a file in the state folder, written when it has
//! changed, at most once a second.
//!
//! It is convenience, not money: orders, fills and the ledger are in the store. A file that is missing,
//! damaged or of other strategies means that they start without it, and a killed daemon loses a second of it.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use cambist_core::{Engine, Time};
use serde::{Deserialize, Serialize};

use crate::config::Bound;
use crate::live::interval::Interval;
use crate::whole_file::write_whole;

/// Its name in the state folder.
const FILE: &str = "memories.json";
/// Version of the file.
const VERSION: u32 = 1;
/// Comparisons of what they remember.
const COMPARISONS: Interval = Interval::now_and_every_ms(1_000);
/// A larger file is none of ours.
const FILE_MAX: u64 = 64 << 20;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct MemoryFile {
    version: u32,
    strategies: Vec<StrategyMemory>,
}

/// One strategy of one market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StrategyMemory {
    market: String,
    strategy: String,
    /// As the strategy gave it.
    memory: Vec<u8>,
}

/// Keeps what strategies remember.
pub struct Memories {
    names: Vec<(String, String)>,
    last: Vec<Vec<u8>>,
    comparisons: Interval,
    files: Option<SyncSender<MemoryFile>>,
    thread: Option<JoinHandle<()>>,
}

fn names(bound: &Bound) -> Vec<(String, String)> {
    let each = bound.strategies.iter().map(|(_, market, choice)| {
        let market = bound.markets.get(usize::from(market.0));
        let market = market.map(|spec| spec.name.clone()).unwrap_or_default();
        (market, choice.name.value.clone())
    });
    each.collect()
}

/// What every strategy of a configuration remembered at the end of the last run, in its order; nothing for one
/// that was not there under its name at its market.
pub fn load(folder: &Path, bound: &Bound) -> Vec<Vec<u8>> {
    let path = folder.join(FILE);
    let mut memories = match read(&path) {
        Ok(memories) => memories,
        Err(why) => {
            let path = path.display();
            tracing::warn!("{path}: {why}; strategies start without it");
            Vec::new()
        }
    };
    let each = names(bound).into_iter().map(|(market, strategy)| {
        let own = |one: &StrategyMemory| (&one.market, &one.strategy) == (&market, &strategy);
        // Two of one name at one market are distinguished by their order.
        let at = memories.iter().position(own);
        at.map(|at| memories.remove(at).memory).unwrap_or_default()
    });
    each.collect()
}

fn read(path: &Path) -> Result<Vec<StrategyMemory>, String> {
    let text = match std::fs::metadata(path) {
        Ok(found) if found.len() > FILE_MAX => return Err("it is too large".to_owned()),
        Ok(_) => std::fs::read(path).map_err(|error| error.to_string())?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let file_content: MemoryFile =
        serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    if file_content.version != VERSION {
        let version = file_content.version;
        return Err(format!("version {version} is not known to this program"));
    }
    Ok(file_content.strategies)
}

impl Memories {
    /// Begins keeping them. Files are written on a thread of their own.
    pub fn begin(folder: &Path, bound: &Bound) -> std::io::Result<Self> {
        let (files, inbox) = sync_channel(1);
        let path = folder.join(FILE);
        let span = tracing::Span::current();
        let thread = std::thread::Builder::new()
            .name("memories".to_owned())
            .spawn(move || span.in_scope(|| write_all(&path, &inbox)))?;
        Ok(Self {
            names: names(bound),
            last: Vec::new(),
            comparisons: COMPARISONS,
            files: Some(files),
            thread: Some(thread),
        })
    }

    /// Looks whether they remember something else than a second ago.
    pub fn save_if_changed(&mut self, now: Time, engine: &Engine) {
        if !self.comparisons.is_due(now) {
            return;
        }
        let memories: Vec<_> = engine.durable_memories().collect();
        if memories == self.last {
            return;
        }
        // While the disk is busy with the file before, the next look tries again.
        if let Some(files) = &self.files
            && files.try_send(self.file(&memories)).is_ok()
        {
            self.last = memories;
        }
    }

    /// The last look of the run; returns when the file is written.
    pub fn finish(mut self, engine: &Engine) {
        let memories: Vec<_> = engine.durable_memories().collect();
        if let Some(files) = self.files.take()
            && memories != self.last
        {
            // The thread has logged why it ended.
            let _ = files.send(self.file(&memories));
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn file(&self, memories: &[Vec<u8>]) -> MemoryFile {
        let each = self.names.iter().zip(memories);
        let strategies = each.filter(|(_, memory)| !memory.is_empty());
        let strategies = strategies.map(|((market, strategy), memory)| StrategyMemory {
            market: market.clone(),
            strategy: strategy.clone(),
            memory: memory.clone(),
        });
        MemoryFile {
            version: VERSION,
            strategies: strategies.collect(),
        }
    }
}

fn write_all(path: &Path, files: &Receiver<MemoryFile>) {
    let mut failed = false;
    for file_content in files {
        match write(path, &file_content) {
            Ok(()) => failed = false,
            Err(error) if !failed => {
                failed = true;
                let path = path.display();
                tracing::error!(%error, "{path}: what strategies remember is not written");
            }
            Err(_) => {}
        }
    }
}

/// As a whole or not at all.
fn write(path: &Path, file_content: &MemoryFile) -> std::io::Result<()> {
    write_whole(path, &serde_json::to_vec(file_content)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::strategy::{Strategy, Targets, View};

    use super::*;
    use crate::testing::private_folder;

    fn bound() -> Bound {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
        let daemon = crate::config::Daemon::load(Path::new(example)).unwrap();
        daemon.bind_expected().unwrap().unwrap()
    }

    fn keep(folder: &Path, strategies: Vec<StrategyMemory>) {
        let version = VERSION;
        write(
            &folder.join(FILE),
            &MemoryFile {
                version,
                strategies,
            },
        )
        .unwrap();
    }

    #[test]
    fn a_strategy_gets_back_what_it_remembered_under_its_name_at_its_market() {
        let folder = private_folder();
        let bound = bound();
        let own = names(&bound);
        assert_eq!(
            load(folder.path(), &bound),
            vec![Vec::<u8>::new(); own.len()]
        );
        let one = |(market, strategy): &(String, String), memory: &[u8]| StrategyMemory {
            market: market.clone(),
            strategy: strategy.clone(),
            memory: memory.to_vec(),
        };
        let other = ("ETH-USDC".to_owned(), "another".to_owned());
        keep(
            folder.path(),
            vec![one(&other, b"x"), one(&own[0], b"mine")],
        );
        let loaded = load(folder.path(), &bound);
        assert_eq!(loaded[0], b"mine");
        assert!(loaded[1..].iter().all(Vec::is_empty), "{loaded:?}");
    }

    #[test]
    fn a_damaged_file_or_one_of_another_version_means_a_fresh_beginning() {
        let folder = private_folder();
        let bound = bound();
        let fresh = vec![Vec::<u8>::new(); names(&bound).len()];
        for text in ["", "{", r#"{"version":2,"strategies":[]}"#] {
            std::fs::write(folder.path().join(FILE), text).unwrap();
            assert!(read(&folder.path().join(FILE)).is_err(), "{text}");
            assert_eq!(load(folder.path(), &bound), fresh);
        }
        // 64 MiB are read, and are no JSON.
        for (bytes, is_read) in [(1 << 26, true), ((1 << 26) + 1, false)] {
            let file = std::fs::File::create(folder.path().join(FILE)).unwrap();
            file.set_len(bytes).unwrap();
            let error = read(&folder.path().join(FILE)).unwrap_err();
            assert_eq!(error != "it is too large", is_read, "{bytes}: {error}");
        }
    }

    /// A strategy with this memory, which does nothing.
    struct WithMemory(Vec<u8>);

    impl Strategy for WithMemory {
        fn decide(&mut self, _: &View<'_>, _: &mut Targets) {}

        fn save(&self) -> Vec<u8> {
            self.0.clone()
        }
    }

    fn engine(strategies: usize, memory: &[u8]) -> Engine {
        let one = || Box::new(WithMemory(memory.to_vec())) as Box<dyn Strategy>;
        Engine::new(std::iter::repeat_with(one).take(strategies).collect())
    }

    #[test]
    fn memories_are_written_when_they_have_changed_once_a_second_and_at_the_end() {
        let folder = private_folder();
        let bound = bound();
        let count = names(&bound).len();
        let path = folder.path().join(FILE);
        let loaded = || load(folder.path(), &bound);
        let mut memories = Memories::begin(folder.path(), &bound).unwrap();
        let at = |ms: u64| Time(7_000_000).plus_ms(ms);
        let [first, second] = [b"first", b"other"].map(|memory| engine(count, memory));
        memories.save_if_changed(at(0), &first);
        while !path.exists() {
            std::thread::yield_now();
        }
        assert_eq!(loaded(), vec![b"first".to_vec(); count]);
        std::fs::remove_file(&path).unwrap();
        memories.save_if_changed(at(999), &second);
        memories.save_if_changed(at(1_000), &first);
        memories.save_if_changed(at(2_000), &second);
        while !path.exists() {
            std::thread::yield_now();
        }
        assert_eq!(loaded(), vec![b"other".to_vec(); count]);
        std::fs::remove_file(&path).unwrap();
        memories.finish(&second);
        assert!(!path.exists(), "nothing had changed");
        // What was not written before the end is written then, and what is empty not at all.
        let memories = Memories::begin(folder.path(), &bound).unwrap();
        memories.finish(&first);
        assert_eq!(loaded(), vec![b"first".to_vec(); count]);
        Memories::begin(folder.path(), &bound)
            .unwrap()
            .finish(&engine(count, b""));
        assert_eq!(loaded(), vec![Vec::<u8>::new(); count]);
        let file: MemoryFile = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!((file.version, file.strategies), (VERSION, vec![]));
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(&path).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_cannot_be_written_or_read_is_no_end() {
        let folder = private_folder();
        let bound = bound();
        let count = names(&bound).len();
        std::fs::create_dir(folder.path().join("memories.json.new")).unwrap();
        std::fs::create_dir(folder.path().join(FILE)).unwrap();
        Memories::begin(folder.path(), &bound)
            .unwrap()
            .finish(&engine(count, b"x"));
        assert!(read(&folder.path().join(FILE)).is_err());
        assert_eq!(load(folder.path(), &bound), vec![Vec::<u8>::new(); count]);
    }
}
