//! Copies of a running exchange, what is made out of them, and who may have a data folder.

use std::path::Path;

use cambist_server::{DataError, DataFolder, backup, restore, verify};

use super::crash::{Folder, customer, populated};
use super::support::{Connection, Exchange, Want};

/// Serves a data folder until the task is done, and ends.
fn serve<T>(data: &Path, task: impl FnOnce(&mut Connection) -> T) -> T {
    let folder = DataFolder::take(data).unwrap();
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
fn a_copy_of_a_running_exchange_holds_what_was_acknowledged_and_becomes_an_exchange() {
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
        // In use, and copied and looked at all the same.
        let taken = DataFolder::take(&data).err();
        assert!(matches!(taken, Some(DataError::InUse { .. })), "{taken:?}");
        let facts = backup(&data, &copy).unwrap();
        assert_eq!(facts.position, 10);
        assert_eq!(verify(&data).unwrap().open_orders, 10);
        connection.ask(&maker.submit(Want::Sell, 100_000, 1)).good();
    });
    assert_eq!(verify(&copy).unwrap().recovery.position, 10);
    // No copy is written over anything.
    let over = backup(&data, &copy).err();
    assert!(matches!(over, Some(DataError::NotEmpty { .. })), "{over:?}");
    assert_eq!(restore(&copy, &again).unwrap().position, 10);
    assert_eq!(serve(&again, |connection| listed(connection, 1)), 10);
    assert_eq!(serve(&data, |connection| listed(connection, 1)), 11);
}

#[test]
fn a_damaged_copy_becomes_nothing() {
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
        DataFolder::take(&data).unwrap().recover().err(),
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
