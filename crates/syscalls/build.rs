//! Compiles the recorder to a shared library with the C compiler that SQLite needs anyway.

use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=src/recorder.c");
    let folder = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let library = PathBuf::from(folder).join("recorder.so");
    let compiler = cc::Build::new().pic(true).warnings(true).get_compiler();
    let status = compiler
        .to_command()
        .args(["-shared", "-o"])
        .arg(&library)
        .args(["src/recorder.c", "-ldl"])
        .status()
        .expect("a C compiler is needed");
    assert!(status.success(), "src/recorder.c does not compile");
    println!(
        "cargo:rustc-env=CAMBIST_SYSCALLS_RECORDER={}",
        library.display()
    );
}
