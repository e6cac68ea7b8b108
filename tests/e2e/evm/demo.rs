//! `cambist demo --venue evm` without the packages of npm, with a node that ends, and with nodes that answer anything but
//! what they should: each ends with the reason, and leaves no process. `tests/external/evm` runs it on the real node.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::chain::Chain;
use super::contracts::World;
use super::node::{Bad, Node};
use super::stage::account;
use crate::support::process::run;
use crate::support::{Folder, until};

/// Nodes that are silent are asked for five seconds.
const SOON: Duration = Duration::from_mins(1);

const PACKAGES: &str = include_str!("../../external/evm/package.json");

/// The files of the contracts.
const CONTRACTS: [&str; 4] = [
    "@uniswap/v2-core/build/UniswapV2Factory.json",
    "@uniswap/v2-periphery/build/UniswapV2Router02.json",
    "@uniswap/v2-periphery/build/ERC20.json",
    "canonical-weth/build/contracts/WETH9.json",
];

fn put(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Packages in the folder `node_modules` whose node is this script.
fn install(folder: &Folder, script: &str) {
    let modules = folder.path().join("node_modules");
    let packages: Value = serde_json::from_str(PACKAGES).unwrap();
    for (name, version) in packages["dependencies"].as_object().unwrap() {
        let text = json!({ "version": version }).to_string();
        put(&modules, &format!("{name}/package.json"), &text);
    }
    for contract in CONTRACTS {
        put(&modules, contract, "{\"bytecode\": \"0x6000\"}");
    }
    for machine in ["linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"] {
        let node = format!("@foundry-rs/anvil-{machine}/bin/anvil");
        put(&modules, &node, &format!("#!/bin/sh\n{script}\n"));
        let mode = PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(modules.join(node), mode).unwrap();
    }
}

/// Runs a demo with the packages of the folder, and other options: exit code, output, log.
#[track_caller]
fn demo(folder: &Folder, name: &str, options: &[&str]) -> (i32, String, String) {
    let modules = folder.path().join("node_modules").display().to_string();
    let start = ["demo", "--venue", "evm", "--node-modules", &modules];
    run(folder.path(), name, &[&start, options].concat(), SOON)
}

#[test]
fn without_the_packages_it_names_the_command_that_installs_them() {
    let folder = Folder::new("evm-demo-missing");
    let (code, out, log) = demo(&folder, "text", &[]);
    assert_eq!(code, 77, "{log}");
    assert_eq!(out, "");
    let prefix = folder.path().display();
    let packages: Value = serde_json::from_str(PACKAGES).unwrap();
    let packages = packages["dependencies"].as_object().unwrap().iter();
    // The demo's pool is one of V2.
    let packages = packages.filter(|(name, _)| !name.starts_with("@uniswap/v3-"));
    let packages = packages.map(|(name, version)| format!("{name}@{}", version.as_str().unwrap()));
    let command = format!(
        "npm install --prefix {prefix} --no-save --ignore-scripts {}",
        packages.collect::<Vec<_>>().join(" ")
    );
    assert!(log.contains(&command), "{log}");
    assert!(log.contains("@foundry-rs/anvil is not there"), "{log}");
    let (code, out, _) = demo(&folder, "json", &["--json"]);
    let object: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &object["exit"]), (77, &77.into()), "{out}");
    assert!(
        object["error"].as_str().unwrap().contains(&command),
        "{out}"
    );
    // A contract that is none is found before anything is deployed.
    install(&folder, "exit 3");
    let modules = folder.path().join("node_modules");
    std::fs::remove_file(modules.join(CONTRACTS[1])).unwrap();
    let (code, _, log) = demo(&folder, "contract", &[]);
    assert_eq!(code, 77, "{log}");
    assert!(log.contains("UniswapV2Router02.json is not there"), "{log}");
}

#[test]
fn options_that_make_no_sense_are_refused_with_a_sentence() {
    let folder = Folder::new("evm-demo-options");
    install(&folder, "exit 3");
    for (options, why) in [
        (&["--scenario", "crash"][..], "a trader moves the price"),
        (&["--strategy", "ladder"], "there is no order book"),
        (&["--strategy", "./mine.py"], "there is no order book"),
    ] {
        let (code, out, log) = demo(&folder, options[1], options);
        assert_eq!(code, 2, "{log}");
        assert!(out.is_empty() && log.contains(why), "{log}");
    }
    for venue in ["exchange", "kraken"] {
        let args = ["demo", "--venue", venue, "--node-modules", "."];
        let (code, _, log) = run(folder.path(), venue, &args, SOON);
        assert_eq!(code, 2, "{log}");
        assert!(log.contains("--node-modules names the node"), "{log}");
    }
}

#[test]
fn a_node_that_ends_at_its_start_is_named_with_what_it_printed() {
    let folder = Folder::new("evm-demo-ended");
    install(&folder, "echo 'no such option' >&2\nexit 3");
    let (code, out, log) = demo(&folder, "text", &[]);
    assert_eq!(code, 1, "{log}");
    assert_eq!(out, "");
    for part in [
        "the node ended with exit code 3",
        "no such option",
        "everything the demo wrote",
    ] {
        assert!(log.contains(part), "{part} in {log}");
    }
}

/// A node whose answers are none, or those of another chain; its process ends with the demo.
#[test]
fn a_node_that_answers_anything_else_ends_the_demo_with_the_reason() {
    let answers = [
        ("html", Some(Bad::Html(200)), "eth_chainId"),
        ("cut", Some(Bad::Cut), "eth_chainId"),
        ("closed", Some(Bad::Closed), "eth_chainId"),
        ("silent", Some(Bad::Silent), "eth_chainId"),
        ("endless", Some(Bad::Endless), "eth_chainId"),
        ("number", Some(Bad::WrongId), "eth_chainId"),
        (
            "chain",
            Some(Bad::Result(json!("0x1"))),
            "chain 1, and was started for 31337",
        ),
        (
            "refused",
            Some(Bad::Error(-32_000, "not today")),
            "not today",
        ),
        // Another program than the one of the packages: it has no such method.
        ("method", None, "anvil_setLoggingEnabled"),
    ];
    for (name, bad, why) in answers {
        let mut chain = Chain::new(World::new(account()));
        chain.id = 31_337;
        let node = Node::start(chain);
        if let Some(bad) = bad {
            node.answers(None, bad);
        }
        let address = node.url();
        let address = address.split('/').nth(2).unwrap();
        let folder = Folder::new(&format!("evm-demo-{name}"));
        let id = folder.path().join("node.id");
        let script = format!(
            "echo $$ > {}\necho 'Listening on {address}'\nexec sleep 600",
            id.display()
        );
        install(&folder, &script);
        let (code, out, log) = demo(&folder, name, &[]);
        assert_eq!(code, 1, "{name}: {log}");
        assert_eq!(out, "", "{name}");
        assert!(log.contains(why), "{name}: {log}");
        assert!(log.contains("everything the demo wrote"), "{name}: {log}");
        let id = std::fs::read_to_string(id).unwrap();
        until(SOON, "the end of the node", || {
            let process = format!("/proc/{}", id.trim());
            (!Path::new(&process).exists()).then_some(())
        });
    }
}
