//! Replaying the inputs gives an equal exchange.

use super::random_history::{ROUGH, RandomHistory};
use crate::Venue;

/// R-GEN-05
#[test]
fn the_same_inputs_make_the_same_state_and_answers() {
    let mut world = ROUGH.world();
    let begin = world.venue.clone();
    let mut history = RandomHistory::new(ROUGH, 4);
    let mut log = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..500 {
        let (caller, request) = history.next(&mut world);
        answers.push(world.ask(&caller, &request));
        log.push((world.now, caller, request));
    }
    let mut again: Venue = begin;
    for ((now, caller, request), answer) in log.iter().zip(&answers) {
        assert_eq!(&again.handle(*now, caller, request), answer);
    }
    assert!(again == world.venue);
}

/// R-GEN-05
#[test]
fn advancing_more_often_changes_no_balance_and_no_state() {
    let mut world = ROUGH.world();
    let mut woken = world.venue.clone();
    let mut history = RandomHistory::new(ROUGH, 8);
    for _ in 0..400 {
        let (caller, request) = history.next(&mut world);
        while let Some(next) = woken.next_wakeup().filter(|next| *next <= world.now) {
            woken.advance(next);
            assert_ne!(woken.next_wakeup(), Some(next), "a timer without effect");
        }
        let answer = woken.handle(world.now, &caller, &request);
        assert_eq!(
            answer.map_err(|refusal| refusal.reason).map(drop),
            world
                .ask(&caller, &request)
                .map_err(|refusal| refusal.reason)
                .map(drop)
        );
        for (id, account) in &world.venue.accounts {
            assert_eq!(account.balances, woken.accounts[id].balances);
        }
    }
}
