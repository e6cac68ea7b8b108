//! Runs one command confined as a strategy is, for tests and for trying by hand. The arguments are those of
//! `cambist_sandbox::launch::Launch`: `cambist-confine 256 confine --read PATH -- COMMAND ARGUMENTS`.

use std::process::ExitCode;

use cambist_sandbox::launch::Launch;

fn main() -> ExitCode {
    let launch = match Launch::read(std::env::args_os().skip(1)) {
        Ok(launch) => launch,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let (code, why) = launch.run();
    if !why.is_empty() {
        eprintln!("{why}");
    }
    ExitCode::from(code)
}
