//! A full or failing disk under a running exchange: nothing more is acknowledged, nothing is retried, and the next
//! start recovers everything acknowledged.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use cambist_core::{TokenId, VenueTime};
use cambist_venue::{AccountId, Caller, FeeSchedule, Operator, Request};

use super::history::venue;
use super::model::{Fault, Model};
use crate::clock::Clock;
use crate::durable::data_folder::DataFolder;
use crate::state::State;
use crate::state_machine::{Machine, MachineError};

fn folder(disk: &Model) -> DataFolder {
    DataFolder::on(Arc::new(disk.clone()), 1 << 20)
}

fn begun(disk: &Model) -> Machine {
    running(folder(disk).begin(venue(), Vec::new()).unwrap())
}

fn running(durable: crate::durable::Durable) -> Machine {
    let clock = Clock::by_hand(VenueTime(1_700_000_000_000));
    Machine::new(durable.state, Some(durable.log), clock, true, None)
}

fn deposit(machine: &Machine, amount: u128) -> Result<(), MachineError> {
    let request = Request::Operator(Operator::Deposit {
        account: AccountId(0),
        token: TokenId(0),
        amount,
    });
    machine.handle(&Caller::Operator, &request)?;
    machine.settled_blocking()
}

fn total(state: &State) -> u128 {
    state
        .venue
        .account(AccountId(0))
        .unwrap()
        .balance(TokenId(0))
        .total
}

#[test]
fn after_a_failed_write_or_sync_nothing_is_acknowledged_or_retried() {
    for fault in [Fault::Broken, Fault::Once] {
        // The write of the frame, and its sync.
        for operation in [1, 2] {
            let disk = Model::default();
            let machine = begun(&disk);
            assert_eq!(deposit(&machine, 1), Ok(()));
            disk.fail_after(operation, fault);
            assert_eq!(deposit(&machine, 10), Err(MachineError::NotDurable));
            let operations = disk.operations();
            assert!(machine.is_broken());
            assert_eq!(machine.why_broken(), MachineError::NotDurable);
            assert_eq!(deposit(&machine, 100), Err(MachineError::NotDurable));
            assert_eq!(machine.tick(), Err(MachineError::NotDurable));
            assert_eq!(
                disk.operations(),
                operations,
                "nothing is written after a failure"
            );
            drop(machine);

            disk.restart();
            let again = folder(&disk).recover().unwrap().unwrap();
            // What was never acknowledged may exist or not; what came after the failure does not.
            assert!(
                [1, 11].contains(&total(&again.state)),
                "{}",
                total(&again.state)
            );
            assert_eq!(deposit(&running(again), 1_000), Ok(()));
        }
    }
}

#[test]
fn data_left_by_a_failed_sync_is_made_durable_before_it_is_used() {
    let disk = Model::default();
    let machine = begun(&disk);
    assert_eq!(deposit(&machine, 1), Ok(()));
    disk.fail_after(2, Fault::Broken);
    assert_eq!(deposit(&machine, 10), Err(MachineError::NotDurable));
    drop(machine);
    // The process restarts and reads what the failed sync left in memory; then the power fails.
    disk.restart();
    let seen = total(&folder(&disk).recover().unwrap().unwrap().state);
    assert_eq!(seen, 11);
    disk.power_cut(&mut cambist_venue::Random::new(1));
    assert_eq!(total(&folder(&disk).recover().unwrap().unwrap().state), 11);
}

#[test]
fn answers_wait_for_the_sync_and_so_do_reads_of_their_effects() {
    let disk = Model::default();
    let machine = begun(&disk);
    let held = disk.hold_syncs();
    let request = Request::Operator(Operator::Deposit {
        account: AccountId(0),
        token: TokenId(0),
        amount: 5,
    });
    machine.handle(&Caller::Operator, &request).unwrap();
    // The sync of the log has begun or will begin, but cannot have ended.
    let seen = machine.read(|venue| {
        venue
            .account(AccountId(0))
            .unwrap()
            .balance(TokenId(0))
            .total
    });
    assert_eq!(seen, Ok(5));
    let mut settled = pin!(machine.settled());
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(settled.as_mut().poll(&mut context), Poll::Pending);
    drop(held);
    assert_eq!(machine.settled_blocking(), Ok(()));
    assert_eq!(settled.as_mut().poll(&mut context), Poll::Ready(Ok(())));
}

#[test]
fn a_slow_disk_refuses_requests_before_they_have_any_effect() {
    let disk = Model::default();
    let machine = begun(&disk);
    let held = disk.hold_syncs();
    let name = "n".repeat(60_000);
    let mut taken = 0;
    let refused = loop {
        let fees = FeeSchedule {
            onchain: [(name.clone(), taken)].into(),
            ..FeeSchedule::default()
        };
        let request = Request::Operator(Operator::SetServiceFees(Box::new(fees)));
        match machine.handle(&Caller::Operator, &request) {
            Err(error) => break error,
            Ok(_) => taken += 1,
        }
        assert!(taken < 1_000, "what waits for the disk is bounded");
    };
    assert_eq!(refused, MachineError::Busy);
    assert_eq!(machine.tick(), Err(MachineError::Busy));
    drop(held);
    assert_eq!(machine.settled_blocking(), Ok(()));
    assert_eq!(deposit(&machine, 5), Ok(()));
}

#[test]
fn a_request_that_panicked_is_not_replayed_after_a_restart() {
    let disk = Model::default();
    let machine = begun(&disk);
    assert_eq!(deposit(&machine, 7), Ok(()));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        machine.read(|_| panic!("a test breaks the machine"))
    }));
    assert!(panicked.is_err());
    drop(machine);
    assert_eq!(total(&folder(&disk).recover().unwrap().unwrap().state), 7);
}
