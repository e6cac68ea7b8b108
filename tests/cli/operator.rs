//! The operator of an exchange: which listener a command reaches, what is known without an answer, and starts that are
//! refused or warned of.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::thread::JoinHandle;

use crate::support::{Folder, cambist, example, exit, json, stderr};

const DONE: &str = "HTTP/1.1 200 OK\r\n\r\n{\"done\":true}";

/// A listener that answers one request with this text and ends the connection.
fn answering(text: &'static str) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
            request.push(byte[0]);
        }
        let request = String::from_utf8(request).unwrap();
        // What is left unread would reset the connection before the answer is read.
        let length = request.split("Content-Length: ").nth(1).unwrap();
        let length = length.lines().next().unwrap().parse().unwrap();
        stream.read_exact(&mut vec![0; length]).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        request
    });
    (address, served)
}

/// The example's file with its keys inside `folder`, free ports and an operator listener.
fn configured(folder: &Folder, edits: &[(&str, &str)]) -> String {
    let mut text = std::fs::read_to_string(example("venue.toml")).unwrap();
    let usual = [
        ("../target/two-terminals/keys", "keys"),
        ("127.0.0.1:8787\"\n", "127.0.0.1:0\"\n"),
        ("# listen = \"127.0.0.1:8788\"", "listen = \"127.0.0.1:0\""),
        ("# token_file = \"keys/", "token_file = \""),
    ];
    for (from, to) in usual.iter().chain(edits) {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    folder.write("venue.toml", &text)
}

fn secret(folder: &Folder, name: &str, text: &str) -> String {
    let path = folder.write(name, text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn token(folder: &Folder) -> String {
    secret(folder, "admin_token", &format!("{}\n", "t".repeat(64)))
}

fn start(config: &str) -> std::process::Output {
    let line = [
        "venue",
        "--config",
        config,
        "--until-stdin-closes",
        "--json",
    ];
    cambist(&line)
}

/// A copy of an exchange on other ports, with the same folder of keys, receives nothing that is meant for the first.
#[test]
fn a_port_of_the_file_is_the_one_that_is_asked() {
    let folder = Folder::new("operator-port");
    token(&folder);
    std::fs::create_dir(folder.0.join("keys")).unwrap();
    let deposit = |config: &str| {
        let line = ["venue", "admin", "--config", config, "deposit"];
        let funds = ["--account", "7", "--token", "ETH", "--amount", "1 ETH"];
        cambist(&[&line[..], &funds].concat())
    };
    let (address, asked) = answering(DONE);
    // Nothing listens where the copy was.
    folder.write("keys/admin.address", "127.0.0.1:1\n");
    let stated = format!("listen = \"{address}\"");
    let config = configured(
        &folder,
        &[(
            "listen = \"127.0.0.1:0\"\n# File",
            &format!("{stated}\n# File"),
        )],
    );
    let output = deposit(&config);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    assert!(asked.join().unwrap().starts_with("POST /admin/v1/deposit "));

    // A free port is known from the address file only.
    let (address, asked) = answering(DONE);
    folder.write("keys/admin.address", &format!("{address}\n"));
    let config = configured(&folder, &[]);
    let output = deposit(&config);
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    asked.join().unwrap();
    std::fs::remove_file(folder.0.join("keys/admin.address")).unwrap();
    let output = deposit(&config);
    assert_eq!(exit(&output), 1);
    assert!(
        stderr(&output).contains("is not running"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_change_without_an_answer_may_have_been_carried_out() {
    let folder = Folder::new("operator-unknown");
    let token = token(&folder);
    let ask = |answer: &'static str, request: &[&str]| {
        let (address, served) = answering(answer);
        let address = address.to_string();
        let line = [
            "venue",
            "admin",
            "--address",
            &address,
            "--token-file",
            &token,
        ];
        let output = cambist(&[&line[..], request].concat());
        served.join().unwrap();
        assert_eq!(exit(&output), 1, "{}", stderr(&output));
        stderr(&output)
    };
    let deposit = [
        "deposit",
        "--account",
        "7",
        "--token",
        "ETH",
        "--amount",
        "1 ETH",
    ];
    for lost in [
        "",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\n\r\n{\"do",
        "HTTP/1.1 500 x\r\n\r\n",
    ] {
        let log = ask(lost, &deposit);
        assert!(
            log.contains("deposit may have been carried out"),
            "{lost}: {log}"
        );
        assert!(log.contains("account --account 7"), "{lost}: {log}");
        assert!(
            log.contains(&format!("--token-file {token}")),
            "{lost}: {log}"
        );
    }
    let log = ask("", &["set-mode", "--mode", "halted"]);
    assert!(
        log.contains("may have been carried out") && log.contains(" status"),
        "{log}"
    );
    let log = ask("", &["settle-withdrawals"]);
    assert!(log.contains("log --limit 5"), "{log}");
    // What only reads changes nothing.
    let log = ask("", &["status"]);
    assert!(
        log.contains("no answer") && !log.contains("carried out"),
        "{log}"
    );
    // A refusal is known, and one of another program is named as that.
    let log = ask("HTTP/1.1 404 Not Found\r\n\r\n", &deposit);
    assert!(log.contains("HTTP status 404"), "{log}");
    assert!(!log.contains("carried out"), "{log}");
    // Nothing was sent at all.
    let line = [
        "venue",
        "admin",
        "--address",
        "127.0.0.1:1",
        "--token-file",
        &token,
    ];
    let output = cambist(&[&line[..], &deposit].concat());
    let log = stderr(&output);
    assert!(
        log.contains("not running") && !log.contains("carried out"),
        "{log}"
    );
}

#[test]
fn deposits_are_checked_before_an_account_is_opened() {
    let folder = Folder::new("operator-onboard");
    token(&folder);
    let listing = "HTTP/1.1 200 OK\r\n\r\n[{\"symbol\":\"ETH\",\"decimals\":18}]";
    let (address, served) = answering(listing);
    let address = address.to_string();
    let token = folder.0.join("admin_token").display().to_string();
    let line = [
        "venue",
        "onboard",
        "--address",
        &address,
        "--token-file",
        &token,
    ];
    let owner = ["--owner", "0xC07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b"];
    let deposits = ["--deposit", "2 ETH", "--deposit", "5 DAI"];
    let output = cambist(&[&line[..], &owner, &deposits].concat());
    assert_eq!(exit(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("\"5 DAI\""), "{}", stderr(&output));
    // The listing is all that was asked for.
    assert!(served.join().unwrap().starts_with("GET /admin/v1/tokens"));
}

#[test]
fn a_short_token_is_refused_with_its_file() {
    let folder = Folder::new("operator-token");
    let file = secret(&folder, "admin_token", "short\n");
    let output = start(&configured(&folder, &[]));
    assert_eq!(exit(&output), 77, "{}", stderr(&output));
    let log = stderr(&output);
    assert!(
        log.contains(&file) && log.contains("32 characters"),
        "{log}"
    );
}

#[test]
fn a_public_exchange_in_memory_is_warned_of_at_its_start() {
    let folder = Folder::new("operator-memory");
    let public = ("# public_url", "public_url");
    let warning = "every account, balance and order is lost";
    let output = start(&configured(&folder, &[public]));
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains(warning), "{}", stderr(&output));
    let kept = ("# dir = \"/var/lib/cambist-venue/data\"", "dir = \"data\"");
    for edits in [&[][..], &[public, kept]] {
        let output = start(&configured(&folder, edits));
        assert_eq!(exit(&output), 0, "{}", stderr(&output));
        assert!(!stderr(&output).contains(warning), "{}", stderr(&output));
    }
}

/// As after a start of the machine whose volume was not mounted.
#[test]
fn a_data_folder_that_is_gone_is_named_with_its_keys_or_refused() {
    let folder = Folder::new("operator-gone");
    let kept = ("# dir = \"/var/lib/cambist-venue/data\"", "dir = \"data\"");
    let careful = ("# create = true", "create = false");
    let config = configured(&folder, &[kept]);
    let warned = |output: &std::process::Output| {
        let log = stderr(output);
        let lines = log
            .lines()
            .filter(|line| line.contains("created a new exchange"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let first = start(&config);
    assert_eq!(json(&first)["keys"], "fit", "{}", stderr(&first));
    assert!(warned(&first).iter().all(|line| line.contains("INFO")));
    std::fs::rename(folder.0.join("data"), folder.0.join("elsewhere")).unwrap();

    let output = start(&configured(&folder, &[kept, careful]));
    assert_eq!(exit(&output), 77);
    assert!(
        stderr(&output).contains("data.create = false"),
        "{}",
        stderr(&output)
    );
    assert!(!folder.0.join("data").exists());

    let config = configured(&folder, &[kept]);
    let output = start(&config);
    let lines = warned(&output);
    assert_eq!(lines.len(), 1, "{}", stderr(&output));
    for part in ["WARN", "folder of keys", "data", "keys\""] {
        assert!(lines[0].contains(part), "{part}: {}", lines[0]);
    }
    // With its data again nothing is warned of, and no new exchange is made.
    std::fs::remove_dir_all(folder.0.join("data")).unwrap();
    std::fs::rename(folder.0.join("elsewhere"), folder.0.join("data")).unwrap();
    let output = start(&configured(&folder, &[kept, careful]));
    assert_eq!(exit(&output), 0, "{}", stderr(&output));
    assert!(warned(&output).is_empty());
}
