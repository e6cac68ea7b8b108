//! Every rule of the strategy, on both sides of its bound.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::*;
use crate::testing::{Sample, Scene, market, pool};

/// Ten ETH and 25,000 USDC at 2,500 beside a pool of 100 ETH and 250,000 USDC with 1,000 shares.
fn scene(held: Amount) -> Scene {
    let mut scene = Scene::new(249_990, 250_010, 10, 25_000);
    scene.pool = Some(pool(held));
    scene
}

fn target_shares(table: &str, scene: &Scene) -> Option<Amount> {
    let mut manager = INFO.build_from(&table.parse().unwrap(), &market()).unwrap();
    scene.decide(manager.as_mut()).shares()
}

const PLAIN: &str = "target_share_bps = 2000\nenter_below_bps = 1500\nleave_above_bps = 2500\n";

#[test]
fn it_joins_below_and_exits_above_and_does_nothing_between() {
    // 50,000 held outside the pool; a pool share is worth 500.
    let joins = target_shares(PLAIN, &scene(0)).unwrap();
    assert_eq!(joins, 20, "a fifth of 50,000 at 500 a share");
    // 17 shares: 8,500 of 58,500 = 14.5 %, 18: 9,000 of 59,000 = 15.3 %.
    assert_eq!(
        target_shares(PLAIN, &scene(17)),
        Some(23),
        "a fifth of 58,500"
    );
    assert_eq!(target_shares(PLAIN, &scene(18)), None);
    // 33 shares: 16,500 of 66,500 = 24.8 %, 34: 17,000 of 67,000 = 25.4 %.
    assert_eq!(target_shares(PLAIN, &scene(33)), None);
    assert_eq!(
        target_shares(PLAIN, &scene(34)),
        Some(26),
        "a fifth of 67,000"
    );
}

#[test]
fn a_target_of_zero_exits_completely() {
    let none = "target_share_bps = 0\nenter_below_bps = 0\nleave_above_bps = 0\n";
    assert_eq!(target_shares(none, &scene(0)), None);
    assert_eq!(target_shares(none, &scene(1)), Some(0));
}

#[test]
fn it_pauses_after_a_transaction_and_waits_for_an_open_one() {
    let mut scene = scene(0);
    let table = format!("{PLAIN}cool_down_s = 60\n");
    let mut pool = scene.pool.unwrap();
    pool.moved = Some(scene.now.minus_ms(59_999));
    scene.pool = Some(pool);
    assert_eq!(target_shares(&table, &scene), None);
    pool.moved = Some(scene.now.minus_ms(60_000));
    scene.pool = Some(pool);
    assert_eq!(target_shares(&table, &scene), Some(20));
    pool.moving = true;
    scene.pool = Some(pool);
    assert_eq!(target_shares(&table, &scene), None);
}

#[test]
fn it_waits_while_pool_and_book_differ() {
    let table = format!("{PLAIN}pause_above_bps = 50\n");
    let mut scene = scene(0);
    let mut pool = scene.pool.unwrap();
    pool.quote = 251_250 * 1_000_000;
    scene.pool = Some(pool);
    assert!(target_shares(&table, &scene).is_some(), "half a per cent");
    pool.quote += 1;
    scene.pool = Some(pool);
    assert_eq!(target_shares(&table, &scene), None);
    pool.quote = 248_750 * 1_000_000 - 1;
    scene.pool = Some(pool);
    assert_eq!(target_shares(&table, &scene), None, "below the mid as well");
}

/// Shares of a range are worth what they are due, and the price is that of its virtual reserves.
#[test]
fn of_a_range_it_counts_what_is_due() {
    use cambist_core::strategy::RangeDue;

    let mut scene = scene(0);
    let mut pool = scene.pool.unwrap();
    for (base, quote) in [(100, 0), (0, 250_000), (50, 125_000)] {
        pool.range = Some(RangeDue {
            base: base * 10u128.pow(18),
            quote: quote * 1_000_000,
        });
        scene.pool = Some(pool);
        let joins = target_shares(PLAIN, &scene);
        assert_eq!(joins, Some(40), "a fifth of 50,000 at 250 a share");
    }
    // The price moves away, and what is due is the same.
    pool.quote += pool.quote / 50;
    scene.pool = Some(pool);
    let paused = format!("{PLAIN}pause_above_bps = 50\n");
    assert_eq!(target_shares(&paused, &scene), None);
}

/// What is owed is collected by an exit of one base unit of shares, from the configured value at the mid on. An exit that
/// is due anyway pays it out, and a join comes after it.
#[test]
fn what_is_owed_is_collected_from_its_value_on() {
    let owing = |held, owed| {
        let mut scene = scene(held);
        scene.pool = scene.pool.map(|pool| PoolView { owed, ..pool });
        target_shares(PLAIN, &scene)
    };
    // 0.01 ETH at 2,500, and 75 USDC.
    let of = |quote, collect_value| {
        Some(Owed {
            base: 10u128.pow(16),
            quote,
            collect_value,
        })
    };
    let (quote, limit) = (75_000_000, 100_000_000);
    assert_eq!(owing(20, None), None, "nothing is known of it");
    assert_eq!(owing(20, of(quote, limit)), Some(19));
    assert_eq!(owing(20, of(quote - 1, limit)), None);
    assert_eq!(owing(20, of(quote, limit + 1)), None);
    assert_eq!(owing(20, of(quote, 0)), None, "only with exits");
    assert_eq!(owing(20, of(Amount::MAX, limit)), None, "it does not fit");
    assert_eq!(
        owing(34, of(quote, limit)),
        Some(26),
        "the exit that is due"
    );
    assert_eq!(owing(17, of(quote, limit)), Some(16), "before the join");
    assert_eq!(owing(17, of(quote - 1, limit)), Some(23), "the join");
    assert_eq!(owing(1, of(quote, limit)), Some(0));
    assert_eq!(owing(0, of(quote, limit)), Some(20), "there are no shares");
    // As every transaction: not before the last one has cooled down, and not beside another.
    let mut scene = scene(20);
    let mut pool = scene.pool.unwrap();
    pool.owed = of(quote, limit);
    for (moved_ms, moving, target) in [
        (59_999, false, None),
        (60_000, true, None),
        (60_000, false, Some(19)),
    ] {
        pool.moved = Some(scene.now.minus_ms(moved_ms));
        pool.moving = moving;
        scene.pool = Some(pool);
        let table = format!("{PLAIN}cool_down_s = 60\n");
        assert_eq!(target_shares(&table, &scene), target, "{moved_ms}");
    }
}

#[test]
fn a_large_difference_takes_several_steps() {
    let table = format!("{PLAIN}step_value = 1500\n");
    assert_eq!(target_shares(&table, &scene(0)), Some(3));
    assert_eq!(target_shares(&table, &scene(100)), Some(97));
}

#[test]
fn without_a_pool_or_with_an_empty_one_it_has_no_target() {
    let mut scene = scene(0);
    scene.pool = None;
    assert_eq!(target_shares(PLAIN, &scene), None);
    let mut empty = pool(0);
    (empty.base, empty.quote, empty.supply) = (0, 0, 0);
    scene.pool = Some(empty);
    assert_eq!(target_shares(PLAIN, &scene), None);
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

/// A manager that decides at several moments, a second apart.
struct Minutes {
    manager: Box<dyn Strategy>,
    scene: Scene,
}

impl Minutes {
    fn new(table: &str, held: Amount) -> Self {
        Self {
            manager: INFO.build_from(&table.parse().unwrap(), &market()).unwrap(),
            scene: scene(held),
        }
    }

    fn pool(&mut self) -> &mut PoolView {
        self.scene.pool.as_mut().unwrap()
    }

    fn after(&mut self, seconds: u64) -> Option<Amount> {
        self.scene.now = self.scene.now.plus_ms(seconds * 1_000);
        self.scene.decide(self.manager.as_mut()).shares()
    }

    /// A mid and a pool that move together, one tick in a hundred thousand up and down, while the pool earns this
    /// many millionths each second.
    fn earning(&mut self, seconds: u64, millionths: u128) -> Option<Amount> {
        let mut last = None;
        for second in 0..seconds {
            let moved = if second % 2 == 0 { 250 } else { 0 };
            self.scene.mid = 2 * (250_000 + moved);
            (self.scene.bids[0].price.0, self.scene.asks[0].price.0) =
                (249_990 + moved, 250_010 + moved);
            let pool = self.pool();
            pool.base += pool.base * millionths / 1_000_000;
            pool.quote += pool.quote * millionths / 1_000_000;
            last = self.after(1);
        }
        last
    }
}

#[test]
fn it_joins_a_pool_that_pays_and_leaves_one_that_does_not() {
    // The mid changes by 10 bps a second: the loss to rebalancing is an eighth of a millionth of the value.
    let table = format!("{PLAIN}income_half_life_s = 60\ncool_down_s = 0\n");
    let mut pays = Minutes::new(&table, 0);
    assert_eq!(pays.earning(60, 1), None, "nothing is known yet");
    assert!(
        pays.earning(30, 1).is_some(),
        "fees of a millionth a second"
    );
    let mut poor = Minutes::new(&table, 0);
    assert_eq!(poor.earning(300, 0), None, "no fees");
    let mut held = Minutes::new(&table, 20);
    assert_eq!(held.earning(60, 1), None, "within the bounds");
    assert_eq!(held.earning(60, 1), None);
    assert_eq!(held.earning(600, 0), Some(0), "it no longer pays");
    // Before anything is known it does not join, and exits only down to the target.
    let mut much = Minutes::new(&table, 40);
    assert_eq!(much.after(1), Some(28));
}

#[test]
fn a_loss_beyond_its_limit_exits_everything_for_a_while() {
    let table = format!("{PLAIN}loss_max_bps = 100\nstay_out_s = 600\ncool_down_s = 0\n");
    let mut manager = Minutes::new(&table, 20);
    assert_eq!(manager.after(1), None);
    // Others trade the pool to four times the price, and back the book to it: 20 % are lost against holding.
    let at = |manager: &mut Minutes, base: u128, quote: u128| {
        let pool = manager.pool();
        (pool.base, pool.quote) = (base * 10u128.pow(18), quote * 1_000_000);
        let mid = u64::try_from(quote * 100 / base).unwrap();
        manager.scene.mid = 2 * mid;
        (manager.scene.bids[0].price.0, manager.scene.asks[0].price.0) = (mid - 10, mid + 10);
    };
    at(&mut manager, 50, 500_000);
    assert_eq!(manager.after(1), Some(0));
    // The price comes back: it stays out all the same, for its time since the loss was last seen.
    at(&mut manager, 100, 250_000);
    manager.pool().held = 0;
    assert_eq!(manager.after(599), None);
    assert_eq!(manager.after(1), Some(20), "a fifth again");
    // The smallest limit is one.
    let smallest = table.replace("= 100", "= 1");
    let mut careful = Minutes::new(&smallest, 20);
    assert_eq!(careful.after(1), None);
    at(&mut careful, 87, 288_000);
    assert_eq!(careful.after(1), Some(0), "1 % is above 0.01 %");
    // A gain is no loss, and neither is one below the limit.
    let mut manager = Minutes::new(&table, 20);
    assert_eq!(manager.after(1), None);
    at(&mut manager, 87, 288_000);
    assert_eq!(manager.after(1), None, "1 %");
}

#[test]
fn data_that_were_too_old_for_too_long_make_it_leave() {
    let table = format!("{PLAIN}stale_exit_s = 30\nstay_out_s = 600\ncool_down_s = 0\n");
    let mut manager = Minutes::new(&table, 20);
    let fresh = manager.scene.pool;
    assert_eq!(manager.after(1), None);
    for (seconds, target_shares) in [(29, None), (30, Some(0))] {
        manager.scene.pool = None;
        assert_eq!(manager.after(seconds), None, "no data, no target");
        manager.scene.pool = fresh;
        assert_eq!(manager.after(1), target_shares);
    }
}

#[test]
fn what_it_observed_survives_a_restart() {
    let table = format!(
        "{PLAIN}income_half_life_s = 60\nloss_max_bps = 100\nstay_out_s = 600\ncool_down_s = 0\n"
    );
    let mut manager = Minutes::new(&table, 20);
    manager.earning(61, 1);
    let saved = manager.manager.save();
    let mut next = Minutes::new(&table, 20);
    assert!(next.manager.restore(&saved));
    assert_eq!(next.manager.save(), saved);
    next.scene = manager.scene.clone();
    assert_eq!(next.earning(30, 1), manager.earning(30, 1));
    assert_eq!(next.manager.save(), manager.manager.save());
    // Another half-life starts again; invalid bytes are refused.
    let other = table.replace("= 60", "= 61");
    let mut other = Minutes::new(&other, 0);
    assert!(other.manager.restore(&saved));
    assert_eq!(other.earning(30, 1), None, "nothing is known yet");
    assert!(!other.manager.restore(b"nonsense"));
    assert!(other.manager.restore(b""));
}

/// What the tests of the registry try: each parameter has to change a decision.
pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
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
    },
    Sample {
        table: "income_half_life_s = 10\nincome_enter_bps = 5\nincome_leave_bps = 5\n",
        changes: &[
            ("income_half_life_s", "1000"),
            ("income_enter_bps", "10000"),
            ("income_leave_bps", "10000"),
        ],
        reasons: &["not_configured"],
    },
    Sample {
        table: "loss_max_bps = 20\nstale_exit_s = 60\nstay_out_s = 5\n",
        changes: &[
            ("loss_max_bps", "100"),
            ("stale_exit_s", "0"),
            ("stay_out_s", "50"),
        ],
        reasons: &["not_configured"],
    },
];
