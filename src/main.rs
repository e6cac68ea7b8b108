//! The cambist program.

use std::process::ExitCode;

fn main() -> ExitCode {
    cambist::exit::on_panic();
    cambist::cli::main().into()
}
