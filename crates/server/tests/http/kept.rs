//! Data folders of earlier versions (`tests/kept`): each is opened with all its data, after a copy was made, and is
//! then a folder of the current version.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cambist_core::Price;
use cambist_server::{Server, verify};
use cambist_venue::{
    AccountId, ApiKeyDigest, Caller, KrakenAction, KrakenAmend, KrakenCall, KrakenReply,
    KrakenStatus, OrderRef, Request, Response,
};
use serde_json::Value;

use super::crash::Folder;
use super::support::{config, taken};

#[path = "../../../../tests/kept/packed.rs"]
mod packed;

/// The kept data folders, by name.
fn kept() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kept");
    let mut found: Vec<_> = std::fs::read_dir(all)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("verify.json").is_file())
        .collect();
    found.sort();
    assert!(found.len() >= 4, "{found:?}");
    found
}

fn unpacked(kept: &Path, name: &str) -> Folder {
    let folder = Folder::new(name);
    let bytes = std::fs::read(kept.join("folder.packed")).unwrap();
    packed::unpack(&bytes, folder.path());
    folder
}

/// All files of a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.path().is_file());
    files
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .filter(|(name, _)| name != "lock")
        .collect()
}

fn copies(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut found: Vec<_> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| path.is_dir());
    found
}

#[test]
fn every_kept_folder_is_opened_with_everything_in_it() {
    for kept in kept() {
        let name = kept.file_name().unwrap().to_str().unwrap();
        let folder = unpacked(&kept, name);
        let was = files(folder.path());
        let expected = std::fs::read_to_string(kept.join("verify.json")).unwrap();
        let expected: Value = serde_json::from_str(&expected).unwrap();

        // Verifying changes nothing.
        let facts = verify(folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(facts.recovery.position, expected["inputs"], "{name}");
        assert_eq!(facts.open_orders, expected["open_orders"], "{name}");
        let snapshot = facts.recovery.snapshot_position;
        assert_eq!(snapshot, expected["snapshot_inputs"], "{name}");
        let writer = facts.recovery.written_by.unwrap().writer;
        let writer = writer.unwrap_or_default();
        assert!(writer.starts_with("cambist 0.1.0"), "{name}: {writer}");
        assert!(files(folder.path()) == was, "{name}");

        // A start upgrades it, after a copy of everything.
        let data = taken(folder.path());
        let opened = data.recover().unwrap().unwrap();
        assert!(opened.facts().written_by.is_some(), "{name}");
        assert_eq!(opened.venue().open_orders() as u64, facts.open_orders);
        let mut config = config();
        config.audit_every_request = false;
        drop(Server::bind_durable(&config, opened).unwrap());
        drop(data);
        let [copy] = copies(folder.path()).try_into().unwrap();
        let mut copied = files(&copy);
        assert!(copied.remove("manifest.json").is_some(), "{name}");
        // The copy describes itself; later programs left a description in the folder too.
        let mut data = was.clone();
        data.retain(|file, _| !["manifest.json", "generations.json"].contains(&file.as_str()));
        assert!(copied == data, "{name}: the copy equals the original");
        let facts_of_copy = verify(&copy).unwrap();
        assert_eq!(facts_of_copy.recovery.manifest, Some("copy"), "{name}");
        assert_eq!(facts_of_copy.open_orders, facts.open_orders, "{name}");
        let again = verify(folder.path()).unwrap();
        assert_eq!(again.recovery.position, facts.recovery.position, "{name}");
        assert_eq!(again.open_orders, facts.open_orders, "{name}");
        assert_eq!(again.recovery.replayed, 0, "{name}: a snapshot of today");

        // It is a folder of the current version from now on.
        let data = taken(folder.path());
        let opened = data.recover().unwrap().unwrap();
        assert_eq!(opened.facts().written_by, None, "{name}");
        drop((opened, data));
        assert_eq!(copies(folder.path()), [copy], "{name}: no second copy");
    }
}

/// Its requests of Kraken's interface were accepted and refused by rules that changed since.
#[test]
fn requests_of_before_are_executed_by_the_rules_of_before() {
    const ACCOUNT: AccountId = AccountId(10_000);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kept/exchange-3e6a713");
    let folder = unpacked(&kept, "kept-rules");
    let data = taken(folder.path());
    let opened = data.recover().unwrap().unwrap();
    let orders: Vec<_> = opened.venue().kraken_orders(ACCOUNT).collect();
    // Amends to what was filled already were refused, so that the rest was filled later.
    let named = |name: &str| {
        let mut orders = orders.iter();
        orders.find(|order| order.client_id.as_deref() == Some(name))
    };
    let order = named("named").unwrap();
    assert_eq!(
        (order.status, order.volume, order.base_filled),
        (KrakenStatus::Closed, 1_500_000_000, 1_500_000_000)
    );
    // A batch with two orders of one name left the first.
    assert_eq!(named("x").unwrap().status, KrakenStatus::Open);
    // Orders that others continue take places in the history: of 20 that are kept most are not shown.
    let ended = orders.iter().filter(|order| order.closed.is_some());
    let ended: Vec<_> = ended.map(|order| order.reason.is_some()).collect();
    assert_eq!(ended, [true, true, false, false]);
    // What is asked from now on follows the rules of today, and the folder opens with that again.
    let before = opened.facts().position;
    let mut config = config();
    config.audit_every_request = false;
    let server = Server::bind_durable(&config, opened).unwrap();
    let exchange = server.handle();
    let x = named("x").unwrap().number;
    let amended = |nonce, price| {
        let request = Request::Kraken(Box::new(KrakenCall {
            account: ACCOUNT,
            key: ApiKeyDigest([9; 32]),
            nonce,
            nonce_window: 0,
            action: KrakenAction::Amend(Box::new(KrakenAmend {
                order: OrderRef::Number(x),
                volume: None,
                price: Some(Price(price)),
                post_only: false,
                deadline: None,
                left_in_lots: false,
            })),
        }));
        let caller = Caller::Account {
            account: ACCOUNT,
            signed: None,
        };
        let answer = exchange.execute(&caller, &request);
        assert!(
            matches!(&answer, Ok(Response::Kraken(reply)) if matches!(**reply, KrakenReply::Amended(_))),
            "{answer:?}"
        );
    };
    for nonce in 1..=30 {
        amended(nonce, 810 + nonce);
    }
    drop((exchange, server, data));
    let data = taken(folder.path());
    let opened = data.recover().unwrap().unwrap();
    assert_eq!(opened.facts().position, before + 30);
    let again: Vec<_> = opened.venue().kraken_orders(ACCOUNT).collect();
    assert_eq!(again.len(), orders.len());
    let order = again.iter().find(|order| order.number == x).unwrap();
    assert_eq!((order.price, order.is_amended), (Price(840), true));
}
