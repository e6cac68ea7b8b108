//! Gives up what a strategy does not need: files but a few, sockets, other processes, capabilities, memory.
//!
//! Everything holds for the calling thread and for what it becomes by `exec`, and nothing can be taken
//! back. Files are restricted by Landlock, system calls by seccomp; without either nothing is confined and
//! the error states it.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::syscalls;

/// What a confined process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// Files and folders that it may read and execute, beside [`SYSTEM`].
    pub read: Vec<PathBuf>,
    /// Most memory of its own, in MiB.
    pub memory_mb: u64,
}

/// Why nothing was confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The kernel has no Landlock, or it is switched off.
    #[error(
        "Landlock is not available (it needs Linux 5.13 or later with `landlock` among `lsm=`): {0}"
    )]
    Landlock(String),
    /// System calls cannot be filtered.
    #[error("system calls cannot be filtered (seccomp): {0}")]
    Seccomp(String),
    /// A limit could not be set.
    #[error("setting {0}: {1}")]
    Limit(&'static str, std::io::Error),
}

/// What every process may read and execute: programs, libraries and what loading them takes. None of it
/// holds secrets.
pub const SYSTEM: [&str; 14] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/localtime",
    "/dev/null",
    "/dev/urandom",
];

/// Most open files.
const FILES_MAX: u64 = 64;
/// Most threads, where the user is not root.
const THREADS_MAX: u64 = 64;
/// Most bytes of the stack.
const STACK_MAX: u64 = 8 << 20;

impl Confinement {
    /// Everything that may be read.
    pub fn readable(&self) -> impl Iterator<Item = &Path> {
        let own = self.read.iter().map(PathBuf::as_path);
        SYSTEM.iter().map(Path::new).chain(own)
    }

    /// Confines this thread, whatever it becomes.
    pub fn apply(&self) -> Result<(), ConfineError> {
        self.limit()?;
        drop_capabilities()?;
        self.restrict_files()?;
        syscalls::forbid()
    }

    fn limit(&self) -> Result<(), ConfineError> {
        let memory = self.memory_mb.saturating_mul(1 << 20);
        let limits = [
            (Resource::Data, "the limit on memory", memory),
            (Resource::Stack, "the limit on the stack", STACK_MAX),
            (Resource::Core, "the limit on core files", 0),
            (Resource::Fsize, "the limit on files", 0),
            (Resource::Nofile, "the limit on open files", FILES_MAX),
            (Resource::Memlock, "the limit on locked memory", 0),
            (
                Resource::Nproc,
                "the limit on threads",
                threads_of_user() + THREADS_MAX,
            ),
        ];
        for (resource, what, most) in limits {
            let most = Rlimit {
                current: Some(most),
                maximum: Some(most),
            };
            setrlimit(resource, most).map_err(|error| ConfineError::Limit(what, error.into()))?;
        }
        Ok(())
    }

    fn restrict_files(&self) -> Result<(), ConfineError> {
        let wrong = |error: landlock::RulesetError| ConfineError::Landlock(error.to_string());
        // What the first version has is needed; what later ones add is taken where it is there.
        let status = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V1))
            .map_err(wrong)?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI::V5))
            .map_err(wrong)?
            .handle_access(AccessNet::from_all(ABI::V4))
            .map_err(wrong)?
            .scope(Scope::from_all(ABI::V6))
            .map_err(wrong)?
            .create()
            .map_err(wrong)?
            .add_rules(path_beneath_rules(
                self.readable(),
                AccessFs::from_read(ABI::V1),
            ))
            .map_err(wrong)?
            .restrict_self()
            .map_err(wrong)?;
        if status.ruleset == RulesetStatus::NotEnforced {
            return Err(ConfineError::Landlock("nothing was enforced".to_owned()));
        }
        Ok(())
    }
}

/// Root without capabilities is a user whose files happen to be many; the file rules leave it few.
fn drop_capabilities() -> Result<(), ConfineError> {
    let wrong = |error: rustix::io::Errno| ConfineError::Limit("capabilities", error.into());
    // From here on no program that is executed gains any either.
    rustix::thread::set_no_new_privs(true).map_err(wrong)?;
    let none = rustix::thread::CapabilitySets {
        effective: rustix::thread::CapabilitySet::empty(),
        permitted: rustix::thread::CapabilitySet::empty(),
        inheritable: rustix::thread::CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).map_err(wrong)
}

/// Threads that the user runs now: the limit counts them all.
fn threads_of_user() -> u64 {
    let own = rustix::process::getuid().as_raw();
    let number = |status: &str, key: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let statuses =
        processes.filter_map(|process| std::fs::read_to_string(process.path().join("status")).ok());
    let own = statuses.filter(|status| number(status, "Uid:") == Some(own.into()));
    own.filter_map(|status| number(&status, "Threads:")).sum()
}
