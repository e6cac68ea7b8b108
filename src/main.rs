//! The cambist program.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = cambist::launcher::run() {
        return code;
    }
    cambist::exit::on_panic();
    cambist_host::program::set_build(cambist::revision::BUILD);
    if let Err(error) = cambist_host::memory::protect() {
        cambist::exit::print_error(&format!(
            "cannot protect the process memory from core files: {error}"
        ));
        return cambist::exit::Exit::CheckFailed.into();
    }
    cambist::cli::main().into()
}
