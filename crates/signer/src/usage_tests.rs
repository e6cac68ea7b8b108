#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::*;
use crate::testing::{ETH, NOW_S, rules};

fn entry(number: u8, amount: u128, valid_for_s: u64) -> Entry {
    Entry {
        hash: [number; 32],
        token: 1,
        amount,
        valid_until_s: NOW_S + valid_for_s,
        at_s: NOW_S,
    }
}

fn usage() -> Usage {
    let mut usage = Usage::new(rules().window_s);
    usage.advance(NOW_S);
    usage
}

fn judge(usage: &Usage, token: u16, amount: u128) -> Option<Word> {
    let outflow = Outflow { token, amount };
    usage
        .check(&rules(), &[outflow])
        .err()
        .map(|refusal| refusal.word)
}

#[test]
fn what_has_not_expired_is_limited_to_the_unit() {
    let mut usage = usage();
    assert_eq!(judge(&usage, 1, 10 * ETH), None);
    assert_eq!(judge(&usage, 1, 10 * ETH + 1), Some(Word::Unexpired));
    usage.add(&entry(1, 4 * ETH, 60));
    assert_eq!(judge(&usage, 1, 6 * ETH), None);
    assert_eq!(judge(&usage, 1, 6 * ETH + 1), Some(Word::Unexpired));
    assert_eq!(judge(&usage, 2, 1), None, "another token");
    usage.advance(NOW_S + 59);
    assert_eq!(judge(&usage, 1, 6 * ETH + 1), Some(Word::Unexpired));
    usage.advance(NOW_S + 60);
    assert_eq!(judge(&usage, 1, 10 * ETH), None);
    assert_eq!(judge(&usage, 9, 1), Some(Word::Market), "not in the file");
    assert_eq!(judge(&usage, 1, u128::MAX), Some(Word::Unexpired));
}

#[test]
fn both_parts_of_a_pool_transaction_have_to_fit() {
    let mut usage = usage();
    usage.add(&entry(1, 10 * ETH, 60));
    let part = |token, amount| Outflow { token, amount };
    let refused = usage.check(&rules(), &[part(2, 1), part(1, 1)]);
    assert_eq!(refused.unwrap_err().word, Word::Unexpired);
    usage.check(&rules(), &[part(2, 1), part(3, 1)]).unwrap();
}

#[test]
fn the_window_counts_what_has_expired_too() {
    let mut usage = usage();
    for number in 0..10 {
        usage.add(&entry(number + 1, 10 * ETH, 0));
    }
    assert_eq!(usage.used(1), [0, 100 * ETH]);
    assert_eq!(judge(&usage, 1, 1), Some(Word::Window));
    // The window has 64 parts; what was signed counts until it has passed since the end of its part.
    let part_s = 6_400 / 64;
    let end_s = (NOW_S / part_s + 1) * part_s + 6_400;
    usage.advance(end_s - 1);
    assert_eq!(judge(&usage, 1, 1), Some(Word::Window));
    usage.advance(end_s);
    assert_eq!(judge(&usage, 1, 1), None);
    assert!(end_s - NOW_S >= 6_400);
}

#[test]
fn a_window_is_full_at_its_limit() {
    let mut usage = usage();
    for number in 0..9 {
        usage.add(&entry(number + 1, 10 * ETH, 0));
    }
    assert_eq!(judge(&usage, 1, 10 * ETH), None);
    usage.add(&entry(10, 1, 0));
    assert_eq!(judge(&usage, 1, 10 * ETH), Some(Word::Window));
    assert_eq!(judge(&usage, 1, 10 * ETH - 1), None);
}

#[test]
fn a_clock_that_goes_back_frees_nothing() {
    let mut usage = usage();
    usage.add(&entry(1, 10 * ETH, 60));
    usage.advance(0);
    usage.advance(NOW_S - 1_000_000);
    assert_eq!(usage.now_s(), NOW_S);
    assert_eq!(judge(&usage, 1, 1), Some(Word::Unexpired));
    assert!(usage.knows(&[1; 32]) && !usage.knows(&[2; 32]));
    usage.advance(NOW_S + 60);
    assert!(!usage.knows(&[1; 32]));
}

#[test]
fn signatures_are_bounded_in_number() {
    let mut usage = usage();
    for number in 0..COUNT_MAX {
        assert_eq!(judge(&usage, 1, 1), None);
        let mut one = entry(1, 0, 60);
        one.hash[..8].copy_from_slice(&(number as u64).to_be_bytes());
        usage.add(&one);
    }
    assert_eq!(usage.count(), COUNT_MAX);
    assert_eq!(judge(&usage, 1, 1), Some(Word::Count));
    usage.advance(NOW_S + 60);
    assert_eq!(judge(&usage, 1, 1), None);
}

#[test]
fn sums_give_the_same_usage() {
    let mut usage = usage();
    for number in 1..20 {
        usage.add(&entry(
            number,
            u128::from(number),
            u64::from(number % 3) * 40,
        ));
    }
    let mut again = Usage::new(rules().window_s);
    usage
        .unexpired()
        .for_each(|entry| again.add_unexpired(&entry));
    usage.window().for_each(|entry| again.add_window(&entry));
    usage.known().for_each(|entry| again.add_known(&entry));
    again.advance(NOW_S);
    assert_eq!(again, usage);
}
