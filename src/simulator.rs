//! The program `cambist-simulator` beside this one, which runs `sim`, `tournament`, and `merge` of simulated worlds.
//!
//! It has the same arguments and the same exit codes, and takes the place of this process. A program that was built
//! from other sources is refused: its worlds would be those of another engine.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exit::{Exit, Failure};
use crate::revision::VERSION;

/// Its name, and that of its file.
pub const NAME: &str = "cambist-simulator";

/// Where its sources are in this repository.
const SOURCES: &str = "crates/simulator/Cargo.toml";

/// Becomes the simulator, with the arguments of this process. Returns only if that is impossible.
pub fn run() -> anyhow::Result<Exit> {
    let own = std::env::current_exe()?;
    let program = own.with_file_name(NAME);
    let cargo = Checkout::found();
    if let Some(cargo) = &cargo {
        cargo.build(&own)?;
    }
    if !program.is_file() {
        let what = format!(
            "{}: there is no such file. The simulator is a program of its own beside this one; in the sources, \
             `cargo build --release --bin {NAME}` builds it (`--profile dist` for an installation)",
            program.display()
        );
        return Err(Failure::new(Exit::CheckFailed, what).into());
    }
    check_version(&program)?;
    let error = Command::new(&program)
        .args(std::env::args_os().skip(1))
        .exec();
    let what = format!("{} cannot be run: {error}", program.display());
    Err(Failure::new(Exit::CheckFailed, what).into())
}

/// Refuses a program of another version, or one that does not state its version.
fn check_version(program: &Path) -> Result<(), Failure> {
    let failed = |what: String| {
        let what = format!("{}: {what}", program.display());
        Err(Failure::new(Exit::CheckFailed, what))
    };
    let output = match Command::new(program).arg("--version").output() {
        Ok(output) => output,
        Err(error) => return failed(format!("it cannot be run: {error}")),
    };
    let stated = String::from_utf8_lossy(&output.stdout);
    let expected = format!("{NAME} {VERSION}");
    if stated.trim() == expected {
        return Ok(());
    }
    failed(format!(
        "its version is {:?}, and this program's simulator is {expected:?}: build or install both again",
        stated.trim()
    ))
}

/// Sources of this program, while `cargo run` runs it: it builds only what it runs, so the simulator is built before
/// it is used, and is never older than its sources.
struct Checkout {
    cargo: OsString,
    folder: PathBuf,
}

impl Checkout {
    /// As the variables of `cargo run` state it.
    fn found() -> Option<Self> {
        let cargo = std::env::var_os("CARGO")?;
        let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
        folder
            .join(SOURCES)
            .is_file()
            .then_some(Self { cargo, folder })
    }

    /// Builds the simulator beside the program `own`, as that was built: its file is TARGET/PROFILE/NAME.
    fn build(&self, own: &Path) -> Result<(), Failure> {
        let mut folders = own.ancestors().skip(1);
        let (Some(profile), Some(target)) =
            (folders.next().and_then(Path::file_name), folders.next())
        else {
            return Ok(());
        };
        // The folder of the profile `dev` has another name.
        let profile = if profile == "debug" {
            "dev".as_ref()
        } else {
            profile
        };
        let mut build = Command::new(&self.cargo);
        build
            .current_dir(&self.folder)
            .args(["build", "--locked", "--bin", NAME])
            .arg("--profile")
            .arg(profile)
            .arg("--target-dir")
            .arg(target)
            // Results are on stdout.
            .stdout(std::process::Stdio::null());
        let failed = match build.status() {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => format!("{status}"),
            Err(error) => error.to_string(),
        };
        let what = format!("building {NAME} with cargo failed: {failed}");
        Err(Failure::new(Exit::CheckFailed, what))
    }
}
