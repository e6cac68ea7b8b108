//! Swaps of the daemon with the pool: a share of the value held in base, back inside its band, and books that are the
//! chain's after a kill, after a deadline, and beside shares.

use cambist_evm::U256;
use serde_json::Value;

use super::contracts::{PAIR, ROUTER, TOKENS};
use super::stage::{SOON, Stage, account};
use crate::support::{Edit, Program, until};

const REBALANCE: &str = r#"
name = "rebalance"
[params]
target_share_bps = 3000
tolerance_bps = 100
trade_amount_max = 100
cost_max_bps = 100
fee_bps = 0
"#;

/// One strategy in place of the file's.
fn holds(file: &mut toml::Table, strategy: &str) {
    let strategy: toml::Table = strategy.parse().unwrap();
    let market = file["market"][0].as_table_mut().unwrap();
    market.insert("strategy".to_owned(), vec![strategy].into());
}

/// A daemon that holds three tenths of its value in base, of which it has five at first.
fn rebalancing(name: &str) -> Stage {
    Stage::with(name, |file| {
        holds(file, REBALANCE);
        file.put("market.0.pool.swap_value_max", "300000 TWO");
    })
}

/// Waits until it holds base for the target, which is 600 at the price of the start.
#[track_caller]
fn until_weighted(stage: &Stage, daemon: &mut Program) {
    let whole = U256::from(10_u64.pow(18));
    until(SOON, "the target share", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let held = stage.held(TOKENS[0]) / whole;
        (held <= U256::from(625)).then_some(())
    });
}

/// Nothing is left that the router may take.
fn assert_nothing_allowed(stage: &Stage) {
    stage.node.chain(|chain| {
        let world = &chain.latest().world;
        for contract in [TOKENS[0], TOKENS[1], PAIR] {
            let allowed = world.tokens[&contract].allowed(account(), ROUTER);
            assert_eq!(allowed, U256::ZERO, "{}", contract.to_hex());
        }
    });
}

#[test]
fn a_share_of_base_is_held_by_swaps_and_the_books_are_the_chains() {
    let stage = rebalancing("evm-swaps");
    for look in ["check", "check --online"] {
        let (code, out, log) = stage.command(look);
        assert_eq!(code, 0, "{look}\n{out}{log}");
    }
    let opening = TOKENS.map(|contract| stage.held(contract));
    let mut daemon = stage.run();
    until_weighted(&stage, &mut daemon);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert_nothing_allowed(&stage);
    let sent = stage.node.chain(|chain| chain.sent.len());
    assert_eq!(u64::try_from(sent).unwrap(), stage.nonce());

    // The fills of the store are what the chain moved.
    let (code, out, log) = stage.command("history fills --json");
    assert_eq!(code, 0, "{log}");
    let fills: Vec<Value> = serde_json::from_str(&out).unwrap();
    assert!(fills.len() >= 4, "at most 100 at a time: {out}");
    assert!(fills.iter().all(|fill| fill["side"] == "sell"), "{out}");
    let [sold, bought] = ["base", "quote"].map(|key| {
        let amounts = fills.iter().map(|fill| units(&fill[key]));
        amounts.fold(U256::ZERO, |sum, amount| sum + amount)
    });
    assert_eq!(opening[0] - sold, stage.held(TOKENS[0]));
    assert_eq!(opening[1] + bought, stage.held(TOKENS[1]));
    let (code, out, log) = stage.command("report");
    assert_eq!(code, 0, "{out}{log}");
}

/// Units of 10⁻¹⁸ of an amount as text.
fn units(amount: &Value) -> U256 {
    let text = amount.to_string();
    let text = text.trim_matches('"');
    let number = text.split(' ').next().unwrap();
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    format!("{whole}{part:0<18}").parse().unwrap()
}

/// Killed as soon as the bytes of the first swap are on disk: whether they were sent is not known.
#[test]
fn a_swap_that_was_sealed_when_the_daemon_was_killed_is_found_by_the_next_start() {
    let stage = rebalancing("evm-swap-killed");
    let mut daemon = stage.run();
    let journal = stage.path("state/transactions");
    until(SOON, "a sealed swap", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let found = std::fs::metadata(&journal).ok()?;
        (found.len() > 0).then_some(())
    });
    daemon.kill();
    let mut daemon = stage.run();
    until_weighted(&stage, &mut daemon);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert_nothing_allowed(&stage);
}

/// A node that takes bytes and forgets them: the swap is dead behind its deadline, and the next one replaces it.
#[test]
fn a_swap_that_the_node_forgets_is_dead_behind_its_deadline() {
    let stage = rebalancing("evm-swap-forgotten");
    stage.node.chain(|chain| chain.is_forgetful = true);
    let mut daemon = stage.run();
    until(SOON, "a swap that was sent", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (stage.node.asked("eth_sendRawTransaction") > 0).then_some(())
    });
    stage.blocks(2);
    stage.node.chain(|chain| chain.is_forgetful = false);
    until_weighted(&stage, &mut daemon);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}

/// Shares and a weight of what is outside of the pool, by two strategies of one market.
#[test]
fn shares_are_held_and_the_rest_is_rebalanced() {
    let stage = Stage::with("evm-swap-shares", |file| {
        let strategy: toml::Table = REBALANCE.parse().unwrap();
        let market = file["market"][0].as_table_mut().unwrap();
        let strategies = market["strategy"].as_array_mut().unwrap();
        strategies.push(strategy.into());
        file.put("market.0.pool.swap_value_max", "300000 TWO");
    });
    let mut daemon = stage.run();
    stage.until_shares(&mut daemon, true);
    until_weighted(&stage, &mut daemon);
    // A join pays both tokens alike, so that what is outside of the pool is still half in base.
    until(SOON, "less base than a join leaves", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let [base, quote] = TOKENS.map(|contract| stage.held(contract));
        (base * U256::from(2_000 * 2) < quote).then_some(())
    });
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert!(stage.held(PAIR) > U256::ZERO);
    assert_nothing_allowed(&stage);
}

#[test]
fn what_needs_an_order_book_or_a_limit_of_swaps_is_refused() {
    let stage = rebalancing("evm-swap-refused");
    let refused = |edit: fn(&mut toml::Table), reason: &str| {
        stage.configure(|file| {
            holds(file, REBALANCE);
            edit(file);
        });
        let (code, out, log) = stage.command("check");
        assert_eq!(code, 77, "{out}");
        assert!(format!("{out}{log}").contains(reason), "{out}{log}");
    };
    refused(
        |_| {},
        "rebalance trades by swaps here, because there is no order book",
    );
    refused(
        |file| {
            holds(file, "name = 'ladder'\nparams = {}");
        },
        "strategy ladder places orders",
    );
}
