//! Copies of a running exchange, folders restored from them, and exclusive access to a data folder.

use std::path::Path;

use cambist_server::{DataError, DataFolder, Extent, backup, restore, verify};
use cambist_signing::request_signature::sdk_form;

use super::crash::{Folder, customer, populated};
use super::support::{Call, Connection, Customer, Exchange, Want, taken};

/// Serves a data folder until the task is done, then stops.
fn serve<T>(data: &Path, task: impl FnOnce(&mut Connection) -> T) -> T {
    let folder = taken(data);
    let durable = folder
        .recover()
        .unwrap()
        .unwrap_or_else(|| folder.begin(populated(), Vec::new()).unwrap());
    let exchange = Exchange::durable(durable);
    task(&mut exchange.connect())
}

fn listed(connection: &mut Connection, number: u8) -> u64 {
    let list = customer(number).get("/api/v3/orders?accountId={account}");
    let reply = connection.ask(&list);
    reply.good()["totalNum"].as_u64().unwrap()
}

#[test]
fn a_copy_of_a_running_exchange_holds_what_was_acknowledged_and_can_be_started() {
    let folder = Folder::new("backup");
    let (data, copy, again) = (
        folder.path().join("data"),
        folder.path().join("copy"),
        folder.path().join("again"),
    );
    std::fs::create_dir_all(folder.path()).unwrap();
    let mut maker = customer(1);
    serve(&data, |connection| {
        for _ in 0..10 {
            connection.ask(&maker.submit(Want::Sell, 100_000, 1)).good();
        }
        // The folder is in use and can be copied and verified nevertheless.
        let in_use = DataFolder::take(&data).err();
        assert!(
            matches!(in_use, Some(DataError::InUse { .. })),
            "{in_use:?}"
        );
        let facts = backup(&data, &copy, Extent::Everything).unwrap();
        assert_eq!(facts.position, 10);
        assert_eq!(verify(&data).unwrap().open_orders, 10);
        connection.ask(&maker.submit(Want::Sell, 100_000, 1)).good();
    });
    assert_eq!(verify(&copy).unwrap().recovery.position, 10);
    // A copy overwrites nothing.
    let over = backup(&data, &copy, Extent::Everything).err();
    assert!(matches!(over, Some(DataError::NotEmpty { .. })), "{over:?}");
    assert_eq!(restore(&copy, &again).unwrap().position, 10);
    assert_eq!(serve(&again, |connection| listed(connection, 1)), 10);
    assert_eq!(serve(&data, |connection| listed(connection, 1)), 11);
}

/// POST apiKey: returns the new key.
fn rotate(connection: &mut Connection, customer: &mut Customer) -> String {
    let body = format!("{{\"accountId\":{}}}", customer.account.0);
    let call = customer.with_key(Call::new("POST", "/api/v3/apiKey").body(body));
    let fresh = connection.ask(&call).good()["apiKey"]
        .as_str()
        .unwrap()
        .to_owned();
    customer.api_key.clone_from(&fresh);
    fresh
}

/// GET apiKey, signed for the address of the connection.
fn fetch(connection: &mut Connection, customer: &Customer) -> String {
    let id = customer.account.0.to_string();
    let base = format!(
        "http://{}",
        connection.stream.get_ref().peer_addr().unwrap()
    );
    let path = "/api/v3/apiKey";
    let text = sdk_form("GET", &base, path, &[("accountId", &id)]);
    let call =
        Call::get(format!("{path}?accountId={id}")).header("X-API-SIG", customer.sign_text(&text));
    connection.ask(&call).good()["apiKey"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn status(connection: &mut Connection, customer: &Customer) -> u16 {
    let balances = customer.get("/api/v3/user/balances?accountId={account}");
    connection.ask(&balances).status
}

#[test]
fn no_file_of_a_data_folder_holds_an_api_key() {
    let folder = Folder::new("keys");
    let (data, copy) = (folder.path().join("data"), folder.path().join("copy"));
    std::fs::create_dir_all(folder.path()).unwrap();
    let (mut alice, bob) = (customer(1), customer(2));
    let mut keys = vec![alice.api_key.clone(), bob.api_key.clone()];
    serve(&data, |connection| {
        connection.ask(&alice.submit(Want::Sell, 100_000, 1)).good();
        keys.push(rotate(connection, &mut alice));
        assert_eq!(fetch(connection, &alice), alice.api_key);
        backup(&data, &copy, Extent::Everything).unwrap();
    });
    let mut files = 0;
    for place in [&data, &copy] {
        for entry in std::fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            for key in &keys {
                let found = bytes.windows(key.len()).any(|part| part == key.as_bytes());
                assert!(!found, "{}: {key}", path.display());
            }
            files += 1;
        }
    }
    assert!(files >= 4, "{files}");
}

#[test]
fn a_key_known_only_by_its_digest_is_replaced_when_it_is_requested() {
    let folder = Folder::new("digests");
    let data = folder.path().join("data");
    std::fs::create_dir_all(folder.path()).unwrap();
    let (mut alice, mut bob) = (customer(1), customer(2));
    serve(&data, |connection| {
        rotate(connection, &mut alice);
        rotate(connection, &mut bob);
        assert_eq!(fetch(connection, &alice), alice.api_key);
    });
    // After a restart a client that sends its key is recognised; one that does not gets a new key.
    serve(&data, |connection| {
        assert_eq!(status(connection, &alice), 200);
        assert_eq!(fetch(connection, &alice), alice.api_key);
        let fresh = fetch(connection, &bob);
        assert_ne!(fresh, bob.api_key);
        assert_eq!(status(connection, &bob), 400, "replaced");
        bob.api_key = fresh;
        assert_eq!(status(connection, &bob), 200);
        assert_eq!(fetch(connection, &bob), bob.api_key, "and known now");
        assert_eq!(status(connection, &alice), 200, "of no other account");
    });
}

#[test]
fn a_damaged_copy_is_not_restored() {
    let folder = Folder::new("damaged");
    let (data, again) = (folder.path().join("data"), folder.path().join("again"));
    std::fs::create_dir_all(folder.path()).unwrap();
    let mut maker = customer(1);
    serve(&data, |connection| {
        for _ in 0..3 {
            connection.ask(&maker.submit(Want::Sell, 100_000, 1)).good();
        }
    });
    let log = data.join("log-0000000000000000");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[4_096 + 50] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    for refused in [
        verify(&data).err(),
        restore(&data, &again).err(),
        taken(&data).recover().err(),
    ] {
        let Some(DataError::Damaged { file, offset, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert!(file.ends_with("log-0000000000000000") && offset == 4_096);
    }
    assert!(!again.exists());
    let nothing = verify(folder.path()).err();
    assert!(
        matches!(nothing, Some(DataError::Empty { .. })),
        "{nothing:?}"
    );
}
