//! A simulated disk that distinguishes written from durable data.
//!
//! A power failure may lose any unsynced sector, or half of the last one, and any unsynced name, independently. A
//! failed sync leaves bytes that can be read but never become durable, as on real disks.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use cambist_venue::Random;

use crate::durable::disk::{Disk, DiskFile};

const SECTOR: usize = 512;

/// The fault of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process or the machine stops in the middle of it; all later operations fail.
    End,
    /// It fails, and so do all later operations.
    Broken,
    /// It fails once.
    Once,
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Cut(usize),
}

#[derive(Clone, Debug, Default)]
struct Content {
    current: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Naming {
    Made(String, usize),
    Moved(String, String),
    /// A folder with its content.
    MovedInside(String, String),
    Gone(String),
}

#[derive(Debug, Default)]
struct Inner {
    contents: Vec<Content>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    unsynced_names: Vec<Naming>,
    operations: u64,
    fault: Option<(u64, Fault)>,
    ended: bool,
}

/// The disk; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Model(Arc<Mutex<Inner>>, Arc<Mutex<()>>);

struct ModelFile {
    model: Model,
    content: usize,
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write(offset, written) => {
            let end = offset + written.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*offset..end].copy_from_slice(written);
        }
        Change::Cut(length) => bytes.truncate(*length),
    }
}

fn rename(names: &mut BTreeMap<String, usize>, naming: &Naming) {
    match naming {
        Naming::Made(name, content) => {
            names.insert(name.clone(), *content);
        }
        Naming::Moved(from, to) => {
            if let Some(content) = names.remove(from) {
                names.insert(to.clone(), content);
            }
        }
        Naming::MovedInside(from, to) => {
            let inside = |name: &String| name.starts_with(&format!("{from}/"));
            let moved: Vec<_> = names.keys().filter(|name| inside(name)).cloned().collect();
            for name in moved {
                if let Some(content) = names.remove(&name) {
                    names.insert(format!("{to}{}", &name[from.len()..]), content);
                }
            }
        }
        Naming::Gone(name) => {
            names.remove(name);
        }
    }
}

impl Inner {
    /// Counts an operation and fails it if its fault is due; `Ok(false)` if it is to be half done.
    fn operate(&mut self) -> io::Result<bool> {
        if self.ended {
            return Err(io::Error::other("the disk has failed"));
        }
        self.operations += 1;
        match self.fault {
            Some((at, fault)) if self.operations >= at => {
                match fault {
                    Fault::End => self.ended = true,
                    Fault::Broken => {}
                    Fault::Once => self.fault = None,
                }
                Ok(false)
            }
            Some(_) | None => Ok(true),
        }
    }

    fn name(&mut self, naming: Naming) {
        rename(&mut self.names, &naming);
        self.unsynced_names.push(naming);
    }
}

fn failed() -> io::Error {
    io::Error::from(io::ErrorKind::StorageFull)
}

impl Model {
    /// Sets the operation that fails, counted from now.
    pub fn fail_after(&self, operations: u64, fault: Fault) {
        let mut inner = self.0.lock().unwrap();
        inner.fault = Some((inner.operations + operations, fault));
    }

    /// Blocks all syncs while the guard is held.
    pub fn hold_syncs(&self) -> MutexGuard<'_, ()> {
        self.1.lock().unwrap()
    }

    /// Number of operations so far.
    pub fn operations(&self) -> u64 {
        self.0.lock().unwrap().operations
    }

    /// A process restart: everything written is still there.
    pub fn restart(&self) {
        let mut inner = self.0.lock().unwrap();
        inner.ended = false;
        inner.fault = None;
    }

    /// A power failure and restart.
    pub fn power_cut(&self, random: &mut Random) {
        self.restart();
        let mut inner = self.0.lock().unwrap();
        let inner = &mut *inner;
        for content in &mut inner.contents {
            let unsynced = std::mem::take(&mut content.unsynced);
            for change in unsynced {
                match &change {
                    Change::Cut(_) if random.chance(1, 2) => apply(&mut content.durable, &change),
                    Change::Cut(_) => {}
                    Change::Write(offset, bytes) => {
                        let fate = random.below(4);
                        for (index, sector) in bytes.chunks(SECTOR).enumerate() {
                            let at = offset + index * SECTOR;
                            let kept = match fate {
                                0 => 0,
                                1 => sector.len(),
                                _ => match random.below(8) {
                                    0..=3 => sector.len(),
                                    4 => {
                                        usize::try_from(random.below(sector.len() as u64)).unwrap()
                                    }
                                    _ => 0,
                                },
                            };
                            if kept > 0 {
                                let part = Change::Write(at, sector[..kept].to_vec());
                                apply(&mut content.durable, &part);
                            }
                        }
                    }
                }
            }
            content.current.clone_from(&content.durable);
        }
        for naming in std::mem::take(&mut inner.unsynced_names) {
            if random.chance(1, 2) {
                rename(&mut inner.durable_names, &naming);
            }
        }
        inner.names.clone_from(&inner.durable_names);
    }

    /// An independent copy.
    pub fn copy(&self) -> Self {
        let inner = self.0.lock().unwrap();
        Self(
            Arc::new(Mutex::new(Inner {
                contents: inner.contents.clone(),
                names: inner.names.clone(),
                durable_names: inner.names.clone(),
                ..Inner::default()
            })),
            Arc::default(),
        )
    }

    /// Changes the bytes of a file directly.
    pub fn tamper(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut inner = self.0.lock().unwrap();
        let content = inner.names[name];
        change(&mut inner.contents[content].current);
    }
}

impl Disk for Model {
    fn list(&self) -> io::Result<Vec<String>> {
        let inner = self.0.lock().unwrap();
        let first = |name: &String| name.split('/').next().map(str::to_owned);
        let names: BTreeSet<String> = inner.names.keys().filter_map(first).collect();
        Ok(names.into_iter().collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let inner = self.0.lock().unwrap();
        let content = inner.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(inner.contents[*content].current.clone())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut inner = self.0.lock().unwrap();
        if !inner.operate()? {
            return Err(failed());
        }
        if inner.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let content = inner.contents.len();
        inner.contents.push(Content::default());
        inner.name(Naming::Made(name.to_owned(), content));
        let model = self.clone();
        Ok(Box::new(ModelFile { model, content }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let inner = self.0.lock().unwrap();
        let content = *inner.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        let model = self.clone();
        Ok(Box::new(ModelFile { model, content }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap();
        if !inner.operate()? {
            return Err(failed());
        }
        let (from, to) = (from.to_owned(), to.to_owned());
        let is_file = inner.names.contains_key(&from);
        inner.name(if is_file {
            Naming::Moved(from, to)
        } else {
            Naming::MovedInside(from, to)
        });
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap();
        if !inner.names.contains_key(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if !inner.operate()? {
            return Err(failed());
        }
        inner.name(Naming::Gone(name.to_owned()));
        Ok(())
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut inner = self.0.lock().unwrap();
        if !inner.operate()? {
            return Err(failed());
        }
        inner.unsynced_names.clear();
        inner.durable_names = inner.names.clone();
        Ok(())
    }

    fn inside(&self, name: &str) -> Box<dyn Disk> {
        Box::new(Inside {
            model: self.clone(),
            folder: name.to_owned(),
        })
    }

    fn make(&self) -> io::Result<()> {
        Ok(())
    }

    fn remove_inside(&self, name: &str) -> io::Result<()> {
        let inside = format!("{name}/");
        let all: Vec<_> = self.0.lock().unwrap().names.keys().cloned().collect();
        let mut all = all.into_iter().filter(|name| name.starts_with(&inside));
        all.try_for_each(|name| self.remove(&name))
    }

    fn name(&self) -> String {
        "model".to_owned()
    }
}

/// A subfolder.
struct Inside {
    model: Model,
    folder: String,
}

impl Inside {
    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }
}

impl Disk for Inside {
    fn list(&self) -> io::Result<Vec<String>> {
        let inside = self.at("");
        let inner = self.model.0.lock().unwrap();
        let names = inner
            .names
            .keys()
            .filter_map(|name| name.strip_prefix(&inside));
        let first = |name: &str| name.split('/').next().map(str::to_owned);
        let names: BTreeSet<String> = names.filter_map(first).collect();
        Ok(names.into_iter().collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.model.read(&self.at(name))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.model.create(&self.at(name))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.model.open(&self.at(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.model.rename(&self.at(from), &self.at(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.model.remove(&self.at(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.model.sync_folder()
    }

    fn inside(&self, name: &str) -> Box<dyn Disk> {
        self.model.inside(&self.at(name))
    }

    fn make(&self) -> io::Result<()> {
        Ok(())
    }

    fn remove_inside(&self, name: &str) -> io::Result<()> {
        self.model.remove_inside(&self.at(name))
    }

    fn name(&self) -> String {
        format!("model/{}", self.folder)
    }
}

impl ModelFile {
    fn change(&mut self, change: Change) -> io::Result<()> {
        let mut inner = self.model.0.lock().unwrap();
        let whole = inner.operate()?;
        let content = &mut inner.contents[self.content];
        let change = match change {
            Change::Write(offset, bytes) if !whole => {
                Change::Write(offset, bytes[..bytes.len() / 2].to_vec())
            }
            other => other,
        };
        apply(&mut content.current, &change);
        content.unsynced.push(change);
        if whole { Ok(()) } else { Err(failed()) }
    }
}

impl DiskFile for ModelFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        self.change(Change::Write(offset, bytes.to_vec()))
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.change(Change::Cut(usize::try_from(length).unwrap()))
    }

    fn sync(&mut self) -> io::Result<()> {
        drop(self.model.1.lock());
        let mut inner = self.model.0.lock().unwrap();
        let whole = inner.operate()?;
        let ended = inner.ended;
        let content = &mut inner.contents[self.content];
        if whole {
            for change in std::mem::take(&mut content.unsynced) {
                apply(&mut content.durable, &change);
            }
            return Ok(());
        }
        if !ended {
            // The kernel marks the pages as clean and will not write them again.
            content.unsynced.clear();
        }
        Err(failed())
    }
}
