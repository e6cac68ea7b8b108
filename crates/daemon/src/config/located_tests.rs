#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::*;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");

/// The example in a file of its own, changed.
struct File(PathBuf);

impl File {
    /// With a text replaced where it is first.
    fn with(name: &str, from: &str, to: &str) -> Self {
        let name = format!("cambist-located-{}-{name}.toml", std::process::id());
        let path = std::env::temp_dir().join(name);
        let text = std::fs::read_to_string(EXAMPLE).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        Self(path)
    }

    fn refused(&self) -> String {
        let refused = Daemon::load_unpinned(&self.0).map(drop);
        refused.unwrap_err().to_string()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn errors_elsewhere_do_not_hide_the_daemon() {
    let sound = File::with("sound", "[orders]", "[orders]");
    let sound = Located::load(&sound.0).unwrap();
    assert!(sound.errors.is_none());
    let wrong = [
        ("unknown", "[orders]\n", "[orders]\nspread = 3\n"),
        ("value", "max_fee_bips = 63", "max_fee_bips = \"many\""),
        ("kind", "[venue]\n", "[venue]\nkind = \"bourse\"\n"),
        ("keys", "[keys]\n", "[keys]\napi_secret = \"x\"\n"),
        ("kept", "keep_days = 1", "keep_days = 0"),
        ("mode", "mode = \"live\"", "mode = \"lvie\""),
        ("amount", "inventory_max = ", "inventory_max = 3\nmost = "),
    ];
    for (name, from, to) in wrong {
        let file = File::with(name, from, to);
        let errors = file.refused();
        let found = Located::load(&file.0).unwrap();
        assert_eq!(found.errors.unwrap().to_string(), errors, "{name}");
        assert_eq!((&found.dir, found.mode), (&sound.dir, sound.mode), "{name}");
        assert_eq!(found.tape, sound.tape, "{name}");
    }
}

#[test]
fn without_the_state_folder_every_error_is_in_the_refusal() {
    let file = File::with("lost", "[store]", "[stroe]");
    let refused = Located::load(&file.0).unwrap_err().to_string();
    assert_eq!(refused, file.refused());
    assert!(refused.contains("stroe"), "{refused}");
    let file = File::with("broken", "[orders]", "[orders");
    assert!(Located::load(&file.0).is_err() && OfAccount::load(&file.0).is_err());
}

#[test]
fn an_account_needs_venue_and_keys_and_nothing_else() {
    let sound = OfAccount::load(Path::new(EXAMPLE)).unwrap();
    assert!(sound.lifetimes_known && sound.errors.is_none());
    let elsewhere = [
        ("poll", "depth_ms = 500", "depth_ms = 0"),
        ("of-venue", "[venue]\n", "[venue]\nregion = 1\n"),
        ("market", "[[market]]\n", "[[market]]\nspread = 1\n"),
    ];
    for (name, from, to) in elsewhere {
        let file = File::with(name, from, to);
        assert!(!file.refused().is_empty());
        let found = OfAccount::load(&file.0).unwrap();
        assert!(found.lifetimes_known && found.errors.is_some(), "{name}");
        assert_eq!(found.daemon.orders, sound.daemon.orders, "{name}");
        assert_eq!(found.daemon.venue.account(), sound.daemon.venue.account());
        assert_eq!(found.daemon.markets.len(), sound.daemon.markets.len());
    }
    let needed = [
        (
            "timeout",
            "request_timeout_ms = 2000",
            "request_timeout_ms = 1",
        ),
        ("bourse", "[venue]\n", "[venue]\nkind = \"bourse\"\n"),
        ("owner", "owner = ", "onwer = "),
        ("key", "eddsa_key_file = ", "eddsa_file = "),
    ];
    for (name, from, to) in needed {
        let file = File::with(name, from, to);
        assert!(OfAccount::load(&file.0).is_err(), "{name}");
    }
}

/// Orders may live longer than a file with errors states.
#[test]
fn a_proof_is_not_made_earlier_because_of_an_error() {
    let known = |name: &str, from: &str, to: &str| {
        let file = File::with(name, from, to);
        assert!(!file.refused().is_empty());
        let found = OfAccount::load(&file.0).unwrap();
        (found.lifetimes_known, found.daemon.orders.ttl_s)
    };
    assert_eq!(
        known("other", "ttl_s = 10", "ttl_s = 10\nspread = 1"),
        (true, 10)
    );
    let longest = (false, 86_400);
    // Perhaps an old name of the key.
    assert_eq!(known("renamed", "ttl_s = 10", "ttl = 300"), longest);
    assert_eq!(known("section", "[orders]", "[ordres]"), longest);
    assert_eq!(known("large", "ttl_s = 10", "ttl_s = 1000000"), longest);
    assert_eq!(known("text", "grace_s = 3", "grace_s = \"3\""), longest);
}
