//! Runs the program to its end and collects its output; folders for single tests.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A fresh folder, removed after the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{name}"));
        let _ = std::fs::remove_dir_all(&path);
        let mut folder = std::fs::DirBuilder::new();
        folder.mode(0o700).create(&path).unwrap();
        Self(path)
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn cambist(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cambist"));
    command
        .args(args)
        .env_remove("CREDENTIALS_DIRECTORY")
        // As from a shell: with it, the simulator would be built.
        .env_remove("CARGO")
        .output()
        .unwrap()
}

pub fn exit(output: &Output) -> i32 {
    output.status.code().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

pub fn json(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap()
}

pub fn example(name: &str) -> String {
    format!("{}/config/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The demo's configuration with all paths inside `folder`, and well-formed keys.
pub fn configured(folder: &Folder) -> String {
    use std::os::unix::fs::PermissionsExt;
    let text = std::fs::read_to_string(example("demo.toml")).unwrap();
    let text = text.replace("../target/two-terminals/keys/", "");
    let keys = [
        ("api_key", "A".repeat(64)),
        ("eddsa_key", "0x1b".to_owned()),
    ];
    for (name, key) in keys {
        let path = folder.write(name, &format!("{key}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    folder.write("demo.toml", &text.replace("../target/two-terminals/", ""))
}
