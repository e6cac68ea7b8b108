//! The node and the published contracts, which npm installs: where they are, that they are the pinned versions, and the
//! code of a contract. Nothing of them is kept here, and nothing of JavaScript runs.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_evm::wire;
use serde_json::Value;

use crate::exit::{Exit, Failure};

/// The packages and their versions, those of `tests/external/evm`.
const PACKAGES: [(&str, &str); 4] = [
    ("@foundry-rs/anvil", "1.7.1"),
    ("@uniswap/v2-core", "1.0.1"),
    ("@uniswap/v2-periphery", "1.1.0-beta.0"),
    ("canonical-weth", "1.4.0"),
];

/// Largest file of a contract that is read; the router's has 400 KB.
const ARTEFACT_MAX: u64 = 4 << 20;
/// Largest code of a contract; a chain takes less.
const CODE_MAX: usize = 64 << 10;
/// Largest description of a package.
const DESCRIPTION_MAX: u64 = 64 << 10;

/// A contract of the packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contract {
    /// The factory of pairs.
    Factory,
    /// The router.
    Router,
    /// The wrapped coin.
    Weth,
    /// A token whose whole supply is the creator's.
    Token,
}

impl Contract {
    /// All of them.
    const ALL: [Self; 4] = [Self::Factory, Self::Router, Self::Weth, Self::Token];

    /// Its file in the folder of packages.
    const fn file(self) -> &'static str {
        match self {
            Self::Factory => "@uniswap/v2-core/build/UniswapV2Factory.json",
            Self::Router => "@uniswap/v2-periphery/build/UniswapV2Router02.json",
            Self::Weth => "canonical-weth/build/contracts/WETH9.json",
            Self::Token => "@uniswap/v2-periphery/build/ERC20.json",
        }
    }
}

/// A folder with all packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packages {
    folder: PathBuf,
    /// The node's program.
    pub anvil: PathBuf,
}

impl Packages {
    /// The packages in a folder that npm calls `node_modules`.
    ///
    /// # Errors
    /// One is missing, or of another version; with the command that installs all of them.
    pub fn find(folder: &Path) -> anyhow::Result<Self> {
        let refused = |what: String| Failure::new(Exit::Refused, how(folder, &what));
        for (name, version) in PACKAGES {
            let file = folder.join(name).join("package.json");
            let found = version_of(&file).map_err(|error| refused(format!("{error:#}")))?;
            match found.as_deref() {
                Some(found) if found == version => {}
                Some(found) => {
                    let what = format!("{name} is version {found} there, and not {version}");
                    return Err(refused(what).into());
                }
                None => return Err(refused(format!("{name} is not there")).into()),
            }
        }
        let Some(platform) = platform() else {
            let what = "there is no node for this platform among the npm packages";
            return Err(Failure::new(Exit::Refused, what).into());
        };
        let anvil = folder.join(platform).join("bin/anvil");
        let missing = [anvil.clone()]
            .into_iter()
            .chain(Contract::ALL.map(|contract| folder.join(contract.file())))
            .find(|file| !file.is_file());
        if let Some(file) = missing {
            return Err(refused(format!("{} is not there", file.display())).into());
        }
        Ok(Self {
            folder: folder.to_owned(),
            anvil,
        })
    }

    /// The code that creates a contract.
    ///
    /// # Errors
    /// The file is not that of a contract.
    pub fn code(&self, contract: Contract) -> anyhow::Result<Vec<u8>> {
        let file = self.folder.join(contract.file());
        let code = code_of(&file).map_err(|error| {
            let what = how(&self.folder, &format!("{}: {error:#}", file.display()));
            Failure::new(Exit::Refused, what)
        });
        Ok(code?)
    }
}

/// What is wrong, and the command that installs everything.
fn how(folder: &Path, what: &str) -> String {
    let packages: Vec<_> = PACKAGES
        .iter()
        .map(|(name, version)| format!("{name}@{version}"))
        .collect();
    let is_named = folder.file_name().is_some_and(|name| name == MODULES);
    let prefix = if is_named {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    };
    let prefix = match prefix.to_str() {
        Some("") => ".".to_owned(),
        _ => prefix.display().to_string(),
    };
    let again = if is_named {
        String::new()
    } else {
        format!(", and name {prefix}/{MODULES} with --node-modules")
    };
    format!(
        "{what}. The demo on a chain needs a node and the published contracts in {}; npm installs both{again}:\n  npm install --prefix {prefix} --no-save --ignore-scripts {}",
        folder.display(),
        packages.join(" ")
    )
}

/// How npm calls a folder of packages.
pub const MODULES: &str = "node_modules";

/// The folder of the node's program for this machine.
fn platform() -> Option<String> {
    let system = match std::env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        _ => return None,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        _ => return None,
    };
    Some(format!("@foundry-rs/anvil-{system}-{machine}"))
}

/// The version in a package's description; `None` without such a file.
fn version_of(file: &Path) -> anyhow::Result<Option<String>> {
    if !file.is_file() {
        return Ok(None);
    }
    let json = json_of(file, DESCRIPTION_MAX).with_context(|| file.display().to_string())?;
    let version = json["version"].as_str().unwrap_or("unknown");
    Ok(Some(version.to_owned()))
}

/// The code in a compiler's output.
fn code_of(file: &Path) -> anyhow::Result<Vec<u8>> {
    let json = json_of(file, ARTEFACT_MAX)?;
    let text = json["bytecode"].as_str();
    let text = text.context("it has no bytecode")?;
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let code = wire::data(&format!("0x{digits}")).context("its bytecode is no code")?;
    anyhow::ensure!(!code.is_empty(), "its bytecode is empty");
    anyhow::ensure!(code.len() <= CODE_MAX, "its bytecode is too long");
    Ok(code)
}

fn json_of(file: &Path, most: u64) -> anyhow::Result<Value> {
    let mut text = String::new();
    let read = std::fs::File::open(file)?.take(most + 1);
    std::io::BufReader::new(read).read_to_string(&mut text)?;
    let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
    anyhow::ensure!(length <= most, "it has more than {most} bytes");
    Ok(serde_json::from_str(&text)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::testing::private_folder;

    /// Writes a file in a folder of packages.
    fn put(folder: &Path, file: &str, text: &str) {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn install(folder: &Path) {
        for (name, version) in PACKAGES {
            let text = format!("{{\"version\": \"{version}\"}}");
            put(folder, &format!("{name}/package.json"), &text);
        }
        put(folder, &format!("{}/bin/anvil", platform().unwrap()), "");
        for contract in Contract::ALL {
            put(folder, contract.file(), "{\"bytecode\": \"0x6000\"}");
        }
    }

    #[track_caller]
    fn refusal(found: anyhow::Result<Packages>) -> String {
        let error = found.unwrap_err();
        assert_eq!(crate::exit::of(&error), Exit::Refused);
        error.to_string()
    }

    #[test]
    fn the_versions_are_those_of_the_external_tests() {
        let file = include_str!("../../../tests/external/evm/package.json");
        let json: Value = serde_json::from_str(file).unwrap();
        let stated = json["dependencies"].as_object().unwrap();
        for (name, version) in PACKAGES {
            assert_eq!(stated[name], version, "{name}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_the_command_that_installs_it() {
        let folder = private_folder();
        let modules = folder.path().join(MODULES);
        let prefix = folder.path().display();
        let command = format!(
            "\n  npm install --prefix {prefix} --no-save --ignore-scripts @foundry-rs/anvil@1.7.1 @uniswap/v2-core@1.0.1 @uniswap/v2-periphery@1.1.0-beta.0 canonical-weth@1.4.0"
        );
        let nothing = refusal(Packages::find(&modules));
        assert!(nothing.starts_with("@foundry-rs/anvil is not there. "));
        assert!(nothing.ends_with(&command), "{nothing}");
        install(&modules);
        let found = Packages::find(&modules).unwrap();
        assert!(found.anvil.ends_with("bin/anvil"));
        let other = "{\"version\": \"1.7.0\"}";
        put(&modules, "@foundry-rs/anvil/package.json", other);
        let version = refusal(Packages::find(&modules));
        assert!(
            version.contains("is version 1.7.0 there, and not 1.7.1")
                && version.ends_with(&command)
        );
        install(&modules);
        std::fs::remove_file(modules.join(Contract::Router.file())).unwrap();
        let file = refusal(Packages::find(&modules));
        assert!(
            file.contains("UniswapV2Router02.json is not there"),
            "{file}"
        );
        let elsewhere = refusal(Packages::find(&folder.path().join("other")));
        assert!(
            elsewhere.contains("/other/node_modules with --node-modules"),
            "{elsewhere}"
        );
        let here = refusal(Packages::find(Path::new("./node_modules")));
        assert!(here.contains("--prefix . "), "{here}");
    }

    #[test]
    fn code_is_read_from_a_bounded_file_or_refused_with_its_name() {
        let folder = private_folder();
        let modules = folder.path().join(MODULES);
        install(&modules);
        let packages = Packages::find(&modules).unwrap();
        assert_eq!(packages.code(Contract::Weth).unwrap(), [0x60, 0]);
        let long = |bytes: usize| format!("{{\"bytecode\": \"{}\"}}", "00".repeat(bytes));
        put(&modules, Contract::Weth.file(), &long(CODE_MAX));
        assert_eq!(packages.code(Contract::Weth).unwrap().len(), CODE_MAX);
        let padding =
            |length: usize| format!("{{\"bytecode\": \"00\"}}{}", " ".repeat(length - 18));
        let most = usize::try_from(ARTEFACT_MAX).unwrap();
        put(&modules, Contract::Weth.file(), &padding(most));
        assert_eq!(packages.code(Contract::Weth).unwrap(), [0]);
        for (text, why) in [
            (long(CODE_MAX + 1), "too long"),
            (padding(most + 1), "more than 4194304 bytes"),
            ("{}".to_owned(), "no bytecode"),
            ("{\"bytecode\": \"\"}".to_owned(), "empty"),
            // A library's address is missing.
            ("{\"bytecode\": \"60__Math__\"}".to_owned(), "no code"),
            ("[1, 2".to_owned(), "EOF"),
        ] {
            put(&modules, Contract::Weth.file(), &text);
            let error = packages.code(Contract::Weth).unwrap_err();
            assert_eq!(crate::exit::of(&error), Exit::Refused);
            let error = error.to_string();
            assert!(
                error.contains(why) && error.contains("WETH9.json"),
                "{error}"
            );
            assert!(error.contains("npm install"), "{error}");
        }
    }
}
