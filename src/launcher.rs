//! This program as the launcher of a strategy's process: before anything else of it runs.

use std::process::ExitCode;

use cambist_sandbox::launch::Launch;

use cambist_daemon::config::process::LAUNCHER;

use crate::exit;

/// Becomes the process if this program was started as its launcher; the code is that of a failure.
pub fn run() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()?.to_str() != Some(LAUNCHER) {
        return None;
    }
    let launch = match Launch::read(arguments) {
        Ok(launch) => launch,
        Err(error) => {
            exit::print_error(&error.to_string());
            return Some(exit::Exit::Usage.into());
        }
    };
    let (code, why) = launch.run();
    if !why.is_empty() {
        exit::print_error(&why);
    }
    Some(ExitCode::from(code))
}
