//! The program cambist-signer: everything is in `crates/signer`.

fn main() -> std::process::ExitCode {
    cambist_signer::cli::main()
}
