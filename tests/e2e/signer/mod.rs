//! The signer as a process of its own.

mod taken_over;
mod trading;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cambist_signer::client::RemoteSigner;

use crate::support::process::SIGNER;
use crate::support::{Folder, Program, until};

const READY: Duration = Duration::from_secs(30);

/// A running signer, its file and its client.
struct Signer {
    program: Program,
    config: PathBuf,
    socket: PathBuf,
}

impl Signer {
    /// Runs `init` on a file and starts it.
    fn start(folder: &Folder, config: PathBuf, socket: PathBuf) -> Self {
        let (code, out) = command(folder.path(), "init", &config);
        assert_eq!(code, 0, "{out}");
        Self::again(folder, config, socket)
    }

    /// Starts it with what was signed before.
    fn again(folder: &Folder, config: PathBuf, socket: PathBuf) -> Self {
        let mut command = Command::new(SIGNER);
        command.args(["run", "--config"]).arg(&config);
        let mut program = Program::spawn(folder.path(), "signer", command);
        let client = RemoteSigner::new(&socket);
        until(READY, "the signer", || {
            assert!(program.ended().is_none(), "{}", program.last_words());
            client.identity().ok()
        });
        Self {
            program,
            config,
            socket,
        }
    }

    /// Kills it and starts it again.
    fn killed(mut self, folder: &Folder) -> Self {
        self.program.kill();
        Self::again(folder, self.config, self.socket)
    }

    fn client(&self) -> RemoteSigner {
        RemoteSigner::new(&self.socket)
    }
}

/// A command of the signer: its exit code, and everything that it printed.
fn command(folder: &Path, name: &str, config: &Path) -> (i32, String) {
    let output = Command::new(SIGNER)
        .args([name, "--config"])
        .arg(config)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    (output.status.code().unwrap_or(-1), text)
}
