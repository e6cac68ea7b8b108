//! The launcher: confines itself, and becomes the process.
//!
//! A program of its own, because confinement cannot be undone and holds for one thread: the daemon starts
//! itself with these arguments, and the copy does this and nothing else.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Exit code of a launcher that could not confine.
pub const NOT_CONFINED: u8 = 126;

/// Exit code of a launcher whose program cannot be executed.
pub const NOT_FOUND: u8 = 127;

/// What is to be started, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Files and folders that it may read.
    pub read: Vec<PathBuf>,
    /// Most memory of its own, in MiB.
    pub memory_mb: u64,
    /// Whether it is confined.
    pub confine: bool,
    /// The program and its arguments; nothing only tries to confine.
    pub command: Vec<OsString>,
}

/// Arguments that are none.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the launcher was started with other arguments than its own")]
pub struct UsageError;

impl Launch {
    /// The arguments that [`Launch::read`] understands.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments = vec![self.memory_mb.to_string().into()];
        arguments.push(if self.confine { "confine" } else { "free" }.into());
        for path in &self.read {
            arguments.push("--read".into());
            arguments.push(path.into());
        }
        arguments.push("--".into());
        arguments.extend(self.command.iter().cloned());
        arguments
    }

    /// Reads arguments that [`Launch::arguments`] wrote.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, UsageError> {
        let mut arguments = arguments.into_iter();
        let memory = arguments
            .next()
            .and_then(|text| text.to_str()?.parse().ok());
        let memory_mb = memory.ok_or(UsageError)?;
        let confine = match arguments.next().ok_or(UsageError)?.to_str() {
            Some("confine") => true,
            Some("free") => false,
            Some(_) | None => return Err(UsageError),
        };
        let mut read = Vec::new();
        loop {
            match arguments.next().ok_or(UsageError)?.to_str() {
                Some("--read") => read.push(arguments.next().ok_or(UsageError)?.into()),
                Some("--") => break,
                Some(_) | None => return Err(UsageError),
            }
        }
        Ok(Self {
            read,
            memory_mb,
            confine,
            command: arguments.collect(),
        })
    }

    /// Becomes the process. Returns the exit code and why, if it could not.
    pub fn run(self) -> (u8, String) {
        if let Err(why) = self.prepare() {
            return (NOT_CONFINED, why);
        }
        let Some((program, arguments)) = self.command.split_first() else {
            return (0, String::new());
        };
        let error = Command::new(program).args(arguments).exec();
        (NOT_FOUND, format!("{}: {error}", program.display()))
    }

    #[cfg(target_os = "linux")]
    fn prepare(&self) -> Result<(), String> {
        let died = || "its supervisor has ended".to_owned();
        let parent = rustix::process::getppid();
        let signal = Some(rustix::process::Signal::KILL);
        rustix::process::set_parent_process_death_signal(signal)
            .map_err(|error| error.to_string())?;
        if rustix::process::getppid() != parent {
            return Err(died());
        }
        close_inherited()?;
        if !self.confine {
            return Ok(());
        }
        let confinement = crate::confine::Confinement {
            read: self.read.clone(),
            memory_mb: self.memory_mb,
        };
        confinement.apply().map_err(|error| error.to_string())
    }

    #[cfg(not(target_os = "linux"))]
    fn prepare(&self) -> Result<(), String> {
        if self.confine {
            return Err("processes are confined on Linux only".to_owned());
        }
        Ok(())
    }
}

/// Open descriptors that were inherited bypass every rule about files.
#[cfg(target_os = "linux")]
fn close_inherited() -> Result<(), String> {
    let open = std::fs::read_dir("/proc/self/fd").map_err(|error| error.to_string())?;
    let open: Vec<i32> = open
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2)
        .collect();
    for descriptor in open {
        // That of the listing itself is closed already.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_as_they_were_written() {
        let launch = Launch {
            read: vec!["/a b".into(), "--".into()],
            memory_mb: 64,
            confine: true,
            command: vec!["python3".into(), "--".into(), "--read".into()],
        };
        assert_eq!(Launch::read(launch.arguments()), Ok(launch.clone()));
        let cut = launch.arguments();
        assert_eq!(Launch::read(cut[..2].to_vec()), Err(UsageError));
        assert_eq!(Launch::read(["1".into(), "maybe".into()]), Err(UsageError));
    }
}
