//! Every rule of the strategy, on both sides of its bound.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::*;
use crate::testing::{Sample, Scene, market, pool};

/// Ten ETH and 25,000 USDC at 2,500 beside a pool of 100 ETH and 250,000 USDC with 1,000 shares.
fn scene(held: Amount) -> Scene {
    let mut scene = Scene::new(249_990, 250_010, 10, 25_000);
    scene.pool = Some(pool(held));
    scene
}

fn wanted(table: &str, scene: &Scene) -> Option<Amount> {
    let mut manager = INFO.build_from(&table.parse().unwrap(), &market()).unwrap();
    scene.decide(manager.as_mut()).shares()
}

const PLAIN: &str = "target_share_bps = 2000\nenter_below_bps = 1500\nleave_above_bps = 2500\n";

#[test]
fn it_joins_below_and_exits_above_and_leaves_alone_between() {
    // 50,000 held outside the pool; a pool share is worth 500.
    let joins = wanted(PLAIN, &scene(0)).unwrap();
    assert_eq!(joins, 20, "a fifth of 50,000 at 500 a share");
    // 17 shares: 8,500 of 58,500 = 14.5 %, 18: 9,000 of 59,000 = 15.3 %.
    assert_eq!(wanted(PLAIN, &scene(17)), Some(23), "a fifth of 58,500");
    assert_eq!(wanted(PLAIN, &scene(18)), None);
    // 33 shares: 16,500 of 66,500 = 24.8 %, 34: 17,000 of 67,000 = 25.4 %.
    assert_eq!(wanted(PLAIN, &scene(33)), None);
    assert_eq!(wanted(PLAIN, &scene(34)), Some(26), "a fifth of 67,000");
}

#[test]
fn a_share_of_nothing_is_left_whole() {
    let none = "target_share_bps = 0\nenter_below_bps = 0\nleave_above_bps = 0\n";
    assert_eq!(wanted(none, &scene(0)), None);
    assert_eq!(wanted(none, &scene(1)), Some(0));
}

#[test]
fn it_rests_after_a_move_and_waits_for_one_under_way() {
    let mut scene = scene(0);
    let table = format!("{PLAIN}cool_down_s = 60\n");
    let mut pool = scene.pool.unwrap();
    pool.moved = Some(scene.now.minus_ms(59_999));
    scene.pool = Some(pool);
    assert_eq!(wanted(&table, &scene), None);
    pool.moved = Some(scene.now.minus_ms(60_000));
    scene.pool = Some(pool);
    assert_eq!(wanted(&table, &scene), Some(20));
    pool.moving = true;
    scene.pool = Some(pool);
    assert_eq!(wanted(&table, &scene), None);
}

#[test]
fn it_waits_while_pool_and_book_disagree() {
    let table = format!("{PLAIN}pause_above_bps = 50\n");
    let mut scene = scene(0);
    let mut pool = scene.pool.unwrap();
    pool.quote = 251_250 * 1_000_000;
    scene.pool = Some(pool);
    assert!(wanted(&table, &scene).is_some(), "half a per cent");
    pool.quote += 1;
    scene.pool = Some(pool);
    assert_eq!(wanted(&table, &scene), None);
    pool.quote = 248_750 * 1_000_000 - 1;
    scene.pool = Some(pool);
    assert_eq!(wanted(&table, &scene), None, "below the mid as well");
}

#[test]
fn a_long_way_is_gone_in_steps() {
    let table = format!("{PLAIN}step_value = 1500\n");
    assert_eq!(wanted(&table, &scene(0)), Some(3));
    assert_eq!(wanted(&table, &scene(100)), Some(97));
}

#[test]
fn without_a_pool_or_with_an_empty_one_it_says_nothing() {
    let mut scene = scene(0);
    scene.pool = None;
    assert_eq!(wanted(PLAIN, &scene), None);
    let mut empty = pool(0);
    (empty.base, empty.quote, empty.supply) = (0, 0, 0);
    scene.pool = Some(empty);
    assert_eq!(wanted(PLAIN, &scene), None);
}

#[test]
fn bounds_on_the_wrong_side_of_the_target_are_refused() {
    let refused = |table: &str| {
        let table = table.parse().unwrap();
        INFO.build_from(&table, &market()).err().unwrap().key
    };
    assert_eq!(refused("enter_below_bps = 2001"), "enter_below_bps");
    assert_eq!(refused("leave_above_bps = 1999"), "leave_above_bps");
}

/// What the tests of the registry try: each parameter has to change a decision.
pub(crate) const SAMPLES: &[Sample] = &[Sample {
    table: "target_share_bps = 2000\nenter_below_bps = 1500\nleave_above_bps = 2500\n\
                cool_down_s = 60\npause_above_bps = 50\nstep_value = 9000\n",
    changes: &[
        ("target_share_bps", "2100"),
        ("enter_below_bps", "1000"),
        ("leave_above_bps", "3000"),
        ("cool_down_s", "5"),
        ("pause_above_bps", "200"),
        ("step_value", "2000"),
    ],
    reasons: &["not_configured"],
}];
