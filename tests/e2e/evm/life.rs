//! The whole life of a position: looks before it trades, a join, kills in the middle of it, an exit, and ends whose books
//! are the chain's.

use cambist_evm::U256;

use super::contracts::{PAIR, TOKENS};
use super::stage::{SOON, Stage, account};
use crate::support::{Edit, until};

#[test]
fn it_looks_joins_and_leaves_and_its_books_are_the_chains() {
    let stage = Stage::open("evm-life");
    for look in [
        "check",
        "check --online",
        "doctor",
        "account balances",
        "account orders",
    ] {
        let (code, out, log) = stage.command(look);
        assert_eq!(code, 0, "{look}\n{out}{log}");
    }
    assert!(
        stage.node.chain(|chain| chain.sent.is_empty()),
        "a look signs nothing"
    );
    let mut daemon = stage.run();
    let held = stage.until_shares(&mut daemon, true);
    let (code, out, log) = stage.command("status");
    assert_eq!(code, 0, "{out}{log}");
    // Behind finality, so that it is booked.
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    assert_eq!(stage.held(PAIR), held);

    stage.configure(|file| {
        let leaves =
            "target_share_bps = 0\nenter_below_bps = 0\nleave_above_bps = 0\ncool_down_s = 1";
        let leaves: toml::Table = leaves.parse().unwrap();
        file.put("market.0.strategy.0.params", leaves);
    });
    let mut daemon = stage.run();
    stage.until_shares(&mut daemon, false);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let spent = stage.nonce();
    let sent = stage.node.chain(|chain| chain.sent.len());
    assert_eq!(
        u64::try_from(sent).unwrap(),
        spent,
        "every transaction was mined once"
    );
    let coin = stage
        .node
        .chain(|chain| chain.latest().world.coin[&account()]);
    let all = U256::from(10) * U256::from(10_u64.pow(18));
    assert!(coin < all, "gas was paid");
    // Nothing is in the ledger's opening balances but what the account held, so that all gas is in the report.
    let (code, out, log) = stage.command("report --json");
    assert_eq!(code, 0, "{out}{log}");
    let page: serde_json::Value = serde_json::from_str(&out).unwrap();
    let tokens = page["tokens"].as_array().unwrap();
    let gas = tokens.iter().find(|token| token["token"] == "ETH").unwrap();
    let paid = all - coin;
    let whole = U256::from(10_u64.pow(18));
    let paid = format!("-{}.{:018}", paid / whole, paid % whole);
    let charged = paid.trim_end_matches('0');
    assert_eq!(gas["charges"], charged, "{out}");
    assert_eq!(
        (&gas["flows"], &gas["unexplained"]),
        (&"0".into(), &"0".into())
    );
    // Each is worth as much of ONE, at the pool's price, which only the account moved.
    let reserves = stage
        .node
        .chain(|chain| TOKENS.map(|token| chain.latest().world.tokens[&token].of(PAIR)));
    let number = |value: &serde_json::Value| value.as_str().unwrap().parse::<f64>().unwrap();
    let [one, two] = reserves.map(|units| units.to_string().parse::<f64>().unwrap());
    let quote = &page["quotes"][0];
    let worth = number(&quote["charges"]);
    let expected = number(&gas["charges"]) * two / one;
    assert!((worth / expected - 1.0).abs() < 0.001, "{worth} {expected}");
    // Without a trade there is no profit or loss but the charges.
    let pnl = &quote["pnl"];
    let total = if pnl.is_null() {
        0.0
    } else {
        number(&pnl["total"])
    };
    let after = total + worth;
    let stated_after = number(&quote["pnl_after_charges"]);
    assert!((after - stated_after).abs() < 1e-9, "{out}");
    let (_, text, _) = stage.command("report");
    let stated = format!("such as gas: {} ETH, worth -", &charged[1..]);
    assert!(text.contains(&stated), "{text}");
}

/// Killed as soon as the bytes of the first join are on disk: whether they were sent is not known.
#[test]
fn a_join_that_was_sealed_when_the_daemon_was_killed_is_found_by_the_next_start() {
    let stage = Stage::open("evm-killed");
    let mut daemon = stage.run();
    let journal = stage.path("state/transactions");
    until(SOON, "a sealed join", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let found = std::fs::metadata(&journal).ok()?;
        (found.len() > 0).then_some(())
    });
    daemon.kill();
    let mut daemon = stage.run();
    stage.until_shares(&mut daemon, true);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}
