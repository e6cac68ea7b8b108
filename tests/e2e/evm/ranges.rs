//! The whole life of a position in a range of a V3 pool: a join, kills, prices through the range, and exits with fees. And
//! starts on pools and positions that are not the file's.

use cambist_evm::U256;
use serde_json::{Value, json};
use toml::Table;

use super::chain::Chain;
use super::contracts::ranges::{FEE, MANAGER, V3_FACTORY};
use super::contracts::{OTHERS, TOKENS};
use super::stage::{SOON, Stage, account};
use crate::support::{Edit, Program, until};

/// 1,800 to 2,200 TWO for one ONE; the price is 2,000.
const RANGE: [i32; 2] = [74_940, 76_980];
const LEAVES: &str =
    "target_share_bps = 0\nenter_below_bps = 0\nleave_above_bps = 0\ncool_down_s = 1";

/// Sets the position manager and a range in place of the router.
fn in_range(file: &mut Table) {
    file["venue"].as_table_mut().unwrap().remove("router");
    let range: Table = format!(
        "fee_tier = {FEE}\nlower_tick = {}\nupper_tick = {}",
        RANGE[0], RANGE[1]
    )
    .parse()
    .unwrap();
    file.put("venue.position_manager", MANAGER.to_hex())
        .put("venue.factory", V3_FACTORY.to_hex())
        .put("market.0.pool.slippage_bps", 1_000)
        .put("market.0.pool.range", range);
}

fn open(name: &str) -> Stage {
    Stage::with(name, in_range)
}

fn leave(stage: &Stage) {
    stage.configure(|file| {
        in_range(file);
        let leaves: Table = LEAVES.parse().unwrap();
        file.put("market.0.strategy.0.params", leaves);
    });
}

/// The account's liquidity in the newest block.
fn held(stage: &Stage) -> u128 {
    stage
        .node
        .chain(|chain| chain.latest().world.ranges.held(account()))
}

#[track_caller]
fn until_held(stage: &Stage, daemon: &mut Program, is_held: bool) -> u128 {
    until(SOON, "liquidity of the account", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let held = held(stage);
        (is_held == (held > 0)).then_some(held)
    })
}

/// What the account holds of both tokens in the newest block.
fn tokens(stage: &Stage) -> [U256; 2] {
    TOKENS.map(|token| stage.held(token))
}

fn trade(stage: &Stage, tick: i32) {
    stage
        .node
        .chain(|chain| chain.change(|world| world.trade_to(tick)));
}

/// Every end with 0 compares the books with the chain to the unit.
#[test]
fn a_range_is_joined_killed_traded_through_and_left_with_its_fees() {
    let stage = open("evm-range");
    for look in ["check", "check --online"] {
        let (code, out, log) = stage.command(look);
        assert_eq!(code, 0, "{look}\n{out}{log}");
    }
    assert!(stage.node.chain(|chain| chain.sent.is_empty()));
    // Killed as soon as the bytes of the first join are on disk.
    let mut daemon = stage.run();
    let journal = stage.path("state/transactions");
    until(SOON, "a sealed join", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        let found = std::fs::metadata(&journal).ok()?;
        (found.len() > 0).then_some(())
    });
    daemon.kill();
    let mut daemon = stage.run();
    let first = until_held(&stage, &mut daemon, true);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let before = tokens(&stage);
    // Through the upper end and back, and to the middle: fees of both tokens are owed, and nothing has moved.
    for tick in [77_500, 75_500, 76_013] {
        trade(&stage, tick);
    }
    assert_eq!(tokens(&stage), before);
    assert_eq!(held(&stage), first);
    leave(&stage);
    let mut daemon = stage.run();
    until_held(&stage, &mut daemon, false);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let (positions, owed) = stage.node.chain(|chain| {
        let ranges = &chain.latest().world.ranges;
        let own = ranges.positions.values();
        let own: Vec<_> = own.filter(|of| of.owner == account()).collect();
        (own.len(), own.iter().map(|of| of.owed).collect::<Vec<_>>())
    });
    assert_eq!(positions, 1, "one position, whatever was killed");
    assert_eq!(owed, [[U256::ZERO; 2]], "everything was paid out");
    let all = [1_000_u64, 2_000_000].map(|count| U256::from(count) * U256::from(10_u64.pow(18)));
    let after = tokens(&stage);
    assert!(
        after[0] > all[0] && after[1] > all[1],
        "fees of both: {after:?}"
    );
    // The next join pays into the same position.
    stage.configure(in_range);
    let mut daemon = stage.run();
    until_held(&stage, &mut daemon, true);
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let positions = stage.node.chain(|chain| {
        let own = chain.latest().world.ranges.positions.values();
        own.filter(|of| of.owner == account()).count()
    });
    assert_eq!(positions, 1);
    let (code, out, log) = stage.command("report --json");
    assert_eq!(code, 0, "{out}{log}");
}

/// Both tokens that are owed to the account's position in the newest block.
fn owed(stage: &Stage) -> [U256; 2] {
    stage.node.chain(|chain| {
        let ranges = &chain.latest().world.ranges;
        let own = ranges.positions.iter();
        let mut own = own.filter(|(_, of)| of.owner == account());
        ranges.owed(*own.next().unwrap().0).unwrap()
    })
}

/// What `cambist status` shows of that.
fn shown(stage: &Stage) -> Value {
    let (_, out, _) = stage.command("status --json");
    let page: Value = serde_json::from_str(&out).unwrap_or_default();
    page["pools"][0]["fees_owed"].clone()
}

fn trade_through(stage: &Stage, ticks: &[i32]) {
    stage.node.chain(|chain| {
        chain.change(|world| ticks.iter().for_each(|tick| world.trade_to(*tick)));
    });
}

#[track_caller]
fn until_collected(stage: &Stage, daemon: &mut Program, left: u128) {
    until(SOON, "a collection of fees", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (held(stage) == left).then_some(())
    });
}

/// Fees are paid out once for each time that they are worth enough, and not before; the position stays, but for one unit
/// of liquidity each time.
#[test]
fn fees_are_collected_and_the_position_stays() {
    let stage = Stage::with_two("evm-range-fees", |file| {
        in_range(file);
        file.put("market.0.pool.collect_value", "500 TWO");
    });
    let mut daemon = stage.run();
    let first = until_held(&stage, &mut daemon, true);
    until(SOON, "a known position", || {
        (shown(&stage) == json!({"ONE": "0", "TWO": "0"})).then_some(())
    });
    let nonce = stage.nonce();
    // About 80 TWO, which is too little.
    trade_through(&stage, &[76_030, 76_013]);
    let small = owed(&stage);
    assert!(small.iter().all(|owed| *owed > U256::ZERO), "{small:?}");
    until(SOON, "the fees in the status", || {
        let shown = shown(&stage);
        let of = |symbol: &str| shown[symbol].as_str()?.parse::<f64>().ok();
        (of("ONE")? > 0.0 && of("TWO")? > 0.0).then_some(())
    });
    stage.blocks(4);
    assert_eq!((held(&stage), stage.nonce()), (first, nonce));
    // One node states other fees: nothing is concluded from either.
    stage.second().alters("eth_call", |params, result| {
        let input = params[0]["input"].as_str().unwrap_or_default();
        let is_collect = input.starts_with("0xfc6f7865");
        let other = format!("0x{:0>64x}{:0>64x}", 1, 1);
        if is_collect { other.into() } else { result }
    });
    trade_through(&stage, &[77_500, 75_500, 76_013]);
    stage.blocks(4);
    assert_eq!((held(&stage), stage.nonce()), (first, nonce));
    let (_, status, _) = stage.command("status --json");
    assert!(status.contains("the nodes disagree"), "{status}");
    let (before, fees) = (tokens(&stage), owed(&stage));
    stage.second().recovers();
    until_collected(&stage, &mut daemon, first - 1);
    // One unit of liquidity is due a few units of one token.
    for (at, after) in tokens(&stage).into_iter().enumerate() {
        let more = after - before[at] - fees[at];
        assert!(more <= U256::from(10), "{more} of token {at}");
    }
    assert_eq!(owed(&stage), [U256::ZERO; 2]);
    stage.blocks(5);
    assert_eq!((held(&stage), stage.nonce()), (first - 1, nonce + 1));
    let metrics = stage.metrics(&mut daemon);
    let series = "cambist_pool_fees_owed{market=\"ONE-TWO\",token=\"TWO\"} 0";
    assert!(metrics.contains(series), "{metrics}");
    // Again, and killed as soon as it is in a block: the next run books it once.
    trade_through(&stage, &[75_500, 76_013]);
    until_collected(&stage, &mut daemon, first - 2);
    daemon.kill();
    let mut daemon = stage.run();
    stage.blocks(5);
    assert_eq!((held(&stage), stage.nonce()), (first - 2, nonce + 2));
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
    let (code, out, log) = stage.command("report --json");
    assert_eq!(code, 0, "{out}{log}");
}

/// Outside of its range a position is one token, and joins and exits move that alone.
#[test]
fn outside_of_the_range_one_token_is_joined_and_left() {
    for (tick, moves, rests) in [(74_700, 0, 1), (77_200, 1, 0)] {
        let stage = open("evm-one-sided");
        trade(&stage, tick);
        let before = tokens(&stage);
        let mut daemon = stage.run();
        until_held(&stage, &mut daemon, true);
        stage.blocks(3);
        assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
        let joined = tokens(&stage);
        assert!(joined[moves] < before[moves], "{tick}");
        assert_eq!(joined[rests], before[rests], "{tick}");
        // The price crosses the whole range: what was one token comes back as the other.
        trade(&stage, if tick < RANGE[0] { 77_200 } else { 74_700 });
        leave(&stage);
        let mut daemon = stage.run();
        until_held(&stage, &mut daemon, false);
        stage.blocks(3);
        assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
        let left = tokens(&stage);
        assert!(left[rests] > before[rests], "{tick}");
        assert!(left[moves] >= joined[moves], "{tick}");
    }
}

/// What a start finds of the pins of a range, before anything is signed.
#[test]
fn a_pool_or_position_that_is_not_the_files_is_refused() {
    type Change = fn(&mut Chain);
    type Edits = fn(&mut Table);
    let same: Edits = |_| {};
    let none: Change = |_| {};
    let cases: [(Change, Edits, &str); 6] = [
        (
            |chain| chain.change(|world| world.ranges.factory_of_manager = OTHERS),
            same,
            "the position manager belongs to another factory than venue.factory",
        ),
        (
            |chain| chain.change(|world| world.missing.push(MANAGER)),
            same,
            "venue.position_manager: there is no contract at",
        ),
        (
            |chain| chain.change(|world| world.ranges.stated_fee = 500),
            same,
            "the pool states a fee of 500, and market.pool.range.fee_tier is 3000",
        ),
        (
            none,
            |file| {
                file.put("market.0.pool.range.fee_tier", 500);
            },
            "the factory has no pool of these tokens with market.pool.range.fee_tier = 500",
        ),
        (
            none,
            |file| {
                file.put("market.0.pool.range.lower_tick", 74_950);
            },
            "lower_tick = 74950 is no multiple of the pool's tick spacing 60: the nearest are 74940 and 75000",
        ),
        (
            |chain| {
                chain.change(|world| {
                    let mut give = || world.ranges.give(account(), RANGE, 1_000);
                    give();
                    give();
                });
            },
            same,
            "several positions with liquidity in this range: 2, 3",
        ),
    ];
    for (change, edit, reason) in cases {
        let stage = Stage::with("evm-range-pins", |file| {
            in_range(file);
            edit(file);
        });
        stage.node.chain(change);
        // Positions are those of the finalized block.
        stage.blocks(3);
        let mut daemon = stage.run();
        assert_eq!(daemon.end(SOON), 77, "{reason}\n{}", daemon.stderr());
        assert!(
            daemon.stderr().contains(reason),
            "{reason}\n{}",
            daemon.stderr()
        );
        assert!(stage.node.chain(|chain| chain.sent.is_empty()), "{reason}");
        let (code, out, log) = stage.command("check --online");
        assert_eq!(code, 77, "{reason}\n{out}{log}");
        assert!(log.contains(reason), "{reason}\n{out}{log}");
    }
}

/// A position that the account held before is taken up, and others of its ranges are left alone.
#[test]
fn a_position_of_before_is_taken_up_with_its_liquidity() {
    let stage = open("evm-range-before");
    let liquidity = 10_u128.pow(21);
    stage.node.chain(|chain| {
        chain.change(|world| {
            world.ranges.give(account(), [74_940, 77_040], 7);
            world.ranges.give(account(), RANGE, 0);
            world.ranges.give(account(), RANGE, liquidity);
        });
    });
    stage.blocks(3);
    leave(&stage);
    let mut daemon = stage.run();
    until(SOON, "the exit", || {
        assert!(daemon.ended().is_none(), "{}", daemon.last_words());
        (held(&stage) == 7).then_some(())
    });
    stage.blocks(3);
    assert_eq!(daemon.drain(SOON), 0, "{}", daemon.last_words());
}
