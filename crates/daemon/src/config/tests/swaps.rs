//! A strategy that swaps is refused where it could not trade its second leg, or would trade what is not its own.

use super::example;
use crate::config::feasible::never_quoted;
use crate::config::{Bound, Daemon};

const ARB: &str = "[[market.strategy]]\nname = \"pool_arb\"\n[market.strategy.params]\nbase_target = 20\n\
                   round_amount_max = 0.5\n";
const MAKER: &str = "[[market.strategy]]\nname = \"pool_maker\"\n[market.strategy.params]\nbase_target = 20\n\
                     open_amount_max = 1\norder_amount = 0.5\n";
const LADDER: &str = "[[market.strategy]]\nname = \"ladder\"\n[market.strategy.params]\nbid_spread_bps = 10\n\
                      ask_spread_bps = 10\norder_amount = 0.5\n";

/// The demo's file with these strategies instead of its own, and these lines changed, as far as it binds.
fn loaded(strategies: &str, changes: &[(&str, &str)]) -> Result<(Daemon, Bound), String> {
    let mut source = example("demo.toml");
    let begin = source.text.find("[[market.strategy]]").unwrap();
    let mut text = format!("{}{strategies}", &source.text[..begin]);
    for (line, to) in changes {
        assert!(text.contains(line), "{line}");
        text = text.replacen(line, to, 1);
    }
    source.text = text;
    let daemon = Daemon::parse(&source).map_err(|error| error.to_string())?;
    let bound = daemon.bind_expected().unwrap();
    Ok((daemon, bound.map_err(|error| error.to_string())?))
}

/// Whether such a file is accepted.
fn bound(strategies: &str, changes: &[(&str, &str)]) -> Result<(), String> {
    let (daemon, bound) = loaded(strategies, changes)?;
    let never = never_quoted(&daemon, &bound);
    never
        .first()
        .map_or(Ok(()), |problem| Err(problem.what.clone()))
}

#[test]
fn a_strategy_that_swaps_needs_a_pool_that_it_may_swap_with_takers_and_its_own_market() {
    let takes = ("maker_only = true", "maker_only = false");
    let swaps = (
        "swap_value_max = \"0 USDC\"",
        "swap_value_max = \"0.000001 USDC\"",
    );
    assert_eq!(bound(ARB, &[takes, swaps]), Ok(()));
    // Whatever its target is: it quotes nothing by itself.
    let other = ARB.replace("base_target = 20", "base_target = 10.5");
    assert_eq!(bound(&other, &[takes, swaps]), Ok(()));
    let refused = |strategies: &str, changes: &[_]| bound(strategies, changes).unwrap_err();
    let none = refused(ARB, &[takes]);
    assert!(
        none.contains("needs a [market.pool] with a swap_value_max above 0"),
        "{none}"
    );
    let makes = refused(ARB, &[swaps]);
    assert!(makes.contains("needs orders.maker_only = false"), "{makes}");
    for both in [[ARB, LADDER], [LADDER, ARB]] {
        let beside = refused(&both.concat(), &[takes, swaps]);
        assert!(
            beside.contains("must be the only strategy of its market"),
            "{beside}"
        );
    }
    assert_eq!(bound(LADDER, &[]), Ok(()), "others need nothing of that");
}

#[test]
fn a_process_that_may_swap_needs_a_pool_that_it_may_swap_with() {
    let process =
        "[[market.strategy]]\nname = \"mine\"\nkind = \"process\"\ncommand = [\"python3\"]\n";
    let swaps = (
        "swap_value_max = \"0 USDC\"",
        "swap_value_max = \"0.000001 USDC\"",
    );
    let asks = format!("{process}swaps = true\n");
    assert_eq!(bound(process, &[]), Ok(()));
    assert_eq!(bound(&asks, &[swaps]), Ok(()));
    let refused = bound(&asks, &[]).unwrap_err();
    assert!(
        refused.contains("mine has swaps = true, which needs a [market.pool]"),
        "{refused}"
    );
}

#[test]
fn a_strategy_that_only_rests_needs_no_takers() {
    let swaps = (
        "swap_value_max = \"0 USDC\"",
        "swap_value_max = \"1000 USDC\"",
    );
    assert_eq!(bound(MAKER, &[swaps]), Ok(()));
    let none = bound(MAKER, &[]).unwrap_err();
    assert!(none.contains("pool_maker needs a [market.pool]"), "{none}");
    let beside = bound(&format!("{LADDER}{MAKER}"), &[swaps]).unwrap_err();
    assert!(beside.contains("must be the only strategy"), "{beside}");
}

/// The load counts the orders of the state with most: none is open for a maker, one is for a taker.
#[test]
fn orders_of_a_strategy_of_two_legs_count_in_the_load() {
    let takes = ("maker_only = true", "maker_only = false");
    let swaps = (
        "swap_value_max = \"0 USDC\"",
        "swap_value_max = \"1000 USDC\"",
    );
    for (strategy, orders) in [(ARB, 1), (MAKER, 2)] {
        let (_, bound) = loaded(strategy, &[takes, swaps]).unwrap();
        assert_eq!(bound.load.orders_refreshed, orders, "{strategy}");
    }
}

/// Both bounds of the inventory and that of the collar are allowed themselves, and nothing beyond.
#[test]
fn a_target_that_may_not_be_held_and_an_unwinding_beyond_the_collar_are_refused() {
    let takes = ("maker_only = true", "maker_only = false");
    let swaps = (
        "swap_value_max = \"0 USDC\"",
        "swap_value_max = \"1000 USDC\"",
    );
    let least = ("inventory_min = \"0 ETH\"", "inventory_min = \"5 ETH\"");
    for strategy in [ARB, MAKER] {
        let of = |target: &str, unwind: &str| {
            let line = format!("base_target = {target}\nunwind_bps = {unwind}");
            let text = strategy.replace("base_target = 20", &line);
            bound(&text, &[takes, swaps, least])
        };
        for (target, unwind) in [("5", "200"), ("39.9994", "200"), ("20", "1")] {
            assert_eq!(of(target, unwind), Ok(()), "{target} {unwind}");
        }
        // A bid of half an ETH that is due buys 0.0005005 ETH more for the fee; a leg that a swap closes does not.
        for target in ["39.9995", "40"] {
            let found = of(target, "200");
            let is_closed_by_swaps = strategy == MAKER;
            assert_eq!(found.is_ok(), is_closed_by_swaps, "{target}: {found:?}");
            let why = found.err().unwrap_or_default();
            assert!(
                is_closed_by_swaps || why.contains("buys its fee of 0.0005005"),
                "{why}"
            );
        }
        for target in ["4.9999", "40.0001"] {
            let why = of(target, "30").unwrap_err();
            assert!(why.contains("would trade towards what the market"), "{why}");
        }
        let why = of("20", "201").unwrap_err();
        assert!(
            why.contains("unwind_bps is 201") && why.contains("market.collar_bps (200)"),
            "{why}"
        );
    }
}

/// The engine keeps an order within `price_tolerance_bps` of its target on either side; by default 5.
#[test]
fn an_order_that_is_kept_must_still_earn_its_hedge() {
    let swaps = (
        "swap_value_max = \"0 USDC\"",
        "swap_value_max = \"1000 USDC\"",
    );
    let of = |profit: u32, refresh: u32| {
        let line = format!(
            "base_target = 20\nprofit_min_bps = {profit}\norder_refresh_tolerance_bps = {refresh}"
        );
        bound(&MAKER.replace("base_target = 20", &line), &[swaps])
    };
    for (profit, refresh) in [(5, 0), (2, 3), (1, 4)] {
        assert_eq!(of(profit, refresh), Ok(()), "{profit} {refresh}");
    }
    for (profit, refresh) in [(4, 0), (1, 3), (2, 2)] {
        let why = of(profit, refresh).unwrap_err();
        assert!(
            why.contains("market.price_tolerance_bps is 5, and profit_min_bps"),
            "{profit} {refresh}: {why}"
        );
    }
}

#[test]
fn a_strategy_that_holds_a_share_takes_from_the_book_and_needs_no_pool() {
    let share = "[[market.strategy]]\nname = \"rebalance\"\n[market.strategy.params]\ntarget_share_bps = 5000\n\
                 trade_amount_max = 0.5\nfee_bps = 10\n";
    let takes = ("maker_only = true", "maker_only = false");
    assert_eq!(bound(share, &[takes]), Ok(()));
    let makes = bound(share, &[]).unwrap_err();
    assert!(makes.contains("needs orders.maker_only = false"), "{makes}");
}
