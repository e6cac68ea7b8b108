//! No secret in any output of the processes: every form of both keys is searched for.

use std::time::Duration;

use cambist_signing::SecretKey;
use rustix::process::Signal;

use crate::support::http::body;
use crate::support::stage::{lively, quick};
use crate::support::{Fault, Proxy, Stage, until};

const SOON: Duration = Duration::from_secs(30);

/// Forms in which a secret could show.
fn forms(api_key: &str, eddsa_key: &str) -> Vec<Vec<u8>> {
    let digits = eddsa_key.trim_start_matches("0x").to_lowercase();
    let bytes: Vec<u8> = (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    assert_eq!(bytes.len(), 32);
    let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
    let list = |bytes: &[u8]| {
        let numbers: Vec<_> = bytes.iter().take(8).map(u8::to_string).collect();
        numbers.join(", ").into_bytes()
    };
    let hex = |bytes: &[u8]| -> Vec<u8> {
        bytes
            .iter()
            .flat_map(|byte| format!("{byte:02x}").into_bytes())
            .collect()
    };
    // A run of digits in the middle finds every form with or without a prefix, and part of one.
    vec![
        api_key.as_bytes()[8..40].to_vec(),
        base64(api_key.as_bytes())[..40].to_vec(),
        hex(api_key.as_bytes())[..40].to_vec(),
        digits.as_bytes()[8..40].to_vec(),
        digits.to_uppercase().as_bytes()[8..40].to_vec(),
        bytes[4..20].to_vec(),
        reversed[4..20].to_vec(),
        hex(&reversed)[8..40].to_vec(),
        decimal(&bytes)[8..40].to_vec(),
        base64(&bytes)[..40].to_vec(),
        list(&bytes),
        list(&reversed),
        list(api_key.as_bytes()),
    ]
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::new();
    for three in bytes.chunks(3) {
        let word = three
            .iter()
            .fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - three.len()));
        for place in 0..=three.len() {
            text.push(DIGITS[(word >> (18 - 6 * place) & 63) as usize]);
        }
    }
    text
}

fn decimal(bytes: &[u8]) -> Vec<u8> {
    let mut digits = vec![0_u8];
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            let value = u32::from(*digit) * 256 + carry;
            *digit = u8::try_from(value % 10).unwrap();
            carry = value / 10;
        }
        while carry > 0 {
            digits.push(u8::try_from(carry % 10).unwrap());
            carry /= 10;
        }
    }
    digits.iter().rev().map(|digit| digit + b'0').collect()
}

fn find(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

#[test]
fn the_forms_are_right() {
    assert_eq!(base64(b"cambist"), b"Y2FtYmlzdA");
    assert_eq!(decimal(&[1, 0, 0]), b"65536");
    assert!(find(b"abcd", b"bc") && !find(b"abcd", b"ca"));
}

#[test]
fn no_secret_shows_anywhere() {
    let stage = Stage::open("secrets", lively);
    let read = |name: &str| {
        let path = stage.path("keys").join(name);
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    };
    let (api_key, eddsa_key) = (read("api_key"), read("eddsa_key"));
    let forms = forms(&api_key, &eddsa_key);
    assert!(SecretKey::from_hex(&eddsa_key).is_ok());

    // Errors are where secrets leak, so there are many, and everything is logged.
    let proxy = Proxy::start(&stage.address);
    let edit = |file: &mut toml::Table| {
        quick(file);
        crate::support::Edit::put(file, "log.level", "trace");
    };
    stage.daemon("daemon", &proxy.url, edit);
    let mut daemon = stage.run("daemon");
    let address = stage.metrics("daemon", &mut daemon);
    proxy.plan(|seen| match seen.nth % 8 {
        2 => Fault::Truncate,
        4 => Fault::LoseAnswer,
        6 => Fault::Mangle(|body| body.replace(':', ";")),
        _ => Fault::Pass,
    });
    until(SOON, "a hundred faults", || {
        (proxy.faults() > 100).then_some(())
    });

    let mut shown = Vec::new();
    for (name, id) in [("daemon", daemon.id()), ("venue", stage.venue.id())] {
        for file in ["cmdline", "environ"] {
            let path = format!("/proc/{id}/{file}");
            shown.push((format!("{name} {file}"), std::fs::read(path).unwrap()));
        }
    }
    for path in ["/metrics", "/status", "/readyz", "/nothing"] {
        let page = crate::support::http::page(&address, path).unwrap();
        shown.push((path.to_owned(), format!("{page:?}").into_bytes()));
    }
    assert!(
        body(&address, "/metrics")
            .unwrap()
            .contains("cambist_orders_submitted_total")
    );
    proxy.plan(|_| Fault::Pass);
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.end(SOON), 0, "{}", daemon.last_words());

    // A wrong key's text is a secret too.
    let keys = stage.path("keys");
    for file in stage.folder.files() {
        if !(file == keys.join("api_key") || file == keys.join("eddsa_key")) {
            shown.push((file.display().to_string(), std::fs::read(&file).unwrap()));
        }
    }
    for name in [
        "daemon.log",
        "daemon.out",
        "cambist.db",
        ".tape",
        "venue.log",
    ] {
        assert!(shown.iter().any(|(file, text)| file.ends_with(name) || file.contains(name) && !text.is_empty()), "{name} was not searched");
    }
    for (place, text) in &shown {
        for (number, form) in forms.iter().enumerate() {
            assert!(
                !find(text, form),
                "form {number} of a secret shows in {place}"
            );
        }
    }
    // The search itself works.
    let file = std::fs::read(keys.join("eddsa_key")).unwrap();
    assert!(forms.iter().any(|form| find(&file, form)));
    let file = std::fs::read(keys.join("api_key")).unwrap();
    assert!(forms.iter().any(|form| find(&file, form)));
}

/// Whatever mask the service manager or the shell gave.
#[test]
fn what_daemon_and_exchange_write_is_for_their_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let stage = Stage::open("private-files", lively);
    stage.daemon("daemon", &stage.url(), quick);
    let mut daemon = stage.run("daemon");
    until(SOON, "orders", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (stage.books().open() > 0).then_some(())
    });
    let folders = ["daemon-state", "daemon-tape", "keys"].map(|name| stage.path(name));
    let files = stage.folder.files();
    let written = files
        .iter()
        .filter(|file| folders.iter().any(|folder| file.starts_with(folder)));
    let mut names = Vec::new();
    for path in written.chain(&folders) {
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", path.display());
        names.push(path.display().to_string());
    }
    for name in ["cambist.db", "metrics.address", "venue.address", ".tape"] {
        assert!(names.iter().any(|path| path.contains(name)), "{names:?}");
    }
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    stage.close();
}
