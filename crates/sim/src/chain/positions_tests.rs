#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_evm::transaction::Transaction;
use cambist_evm::v3::call::{multicall, price};
use cambist_evm::v3::log::Event;

use super::*;
use crate::chain::contracts::Executed;
use crate::chain::pair::Pair;
use crate::chain::range_pool::root_at;
use crate::chain::range_views::called;
use crate::workload::pool::LIQUIDITY as RESERVES;

const TICKS: [i32; 2] = [-198_120, -198_000];
const HELD: [u128; 3] = [8_000_000_000_000_000_000, 100_000_000_000, 0];

fn state(before: Before) -> State {
    let config = RangeConfig {
        fee: 3_000,
        spacing: 60,
        ticks: TICKS,
        reach_bps: 150,
        speed: 1,
        before,
    };
    let range = Ranges::founded(&config, RESERVES).unwrap();
    let held = range.held();
    State {
        held: [HELD[0], HELD[1], held],
        allowed: [U256::from(u128::MAX), U256::from(u128::MAX), U256::ZERO],
        coin: 1 << 80,
        nonce: 7,
        pair: Pair::founded(RESERVES, false).unwrap(),
        range: Some(range),
    }
}

fn execute(state: &mut State, data: Vec<u8>) -> Executed {
    let transaction = Transaction {
        chain_id: 1,
        nonce: state.nonce,
        priority_fee_max: 2,
        fee_max: 30,
        gas_limit: 400_000,
        to: Some(ROUTER),
        value: U256::ZERO,
        data,
    };
    state.execute(&transaction, 10, 50)
}

fn tick(number: i32) -> Tick {
    Tick::new(number).unwrap()
}

fn mint(least: u64, deadline: u64) -> Call {
    Call::Mint {
        token0: TOKENS[0],
        token1: TOKENS[1],
        fee: U256::from(3_000),
        lower: tick(TICKS[0]),
        upper: tick(TICKS[1]),
        most0: U256::from(2_000_000_000_000_000_000_u64),
        most1: U256::from(5_000_000_000_u64),
        least0: U256::from(least),
        least1: U256::from(1),
        recipient: OWN,
        deadline: U256::from(deadline),
    }
}

fn increase(position: u64) -> Call {
    let n = U256::from::<u64>;
    Call::IncreaseLiquidity {
        position: n(position),
        most0: n(1_000_000_000_000_000_000),
        most1: n(3_000_000_000),
        least0: n(0),
        least1: n(0),
        deadline: n(50),
    }
}

fn decrease(position: u64, liquidity: u128, least: u64) -> Call {
    Call::DecreaseLiquidity {
        position: U256::from(position),
        liquidity: U256::from(liquidity),
        least0: U256::from(least),
        least1: U256::ZERO,
        deadline: U256::from(50),
    }
}

fn collect(position: u64) -> Call {
    Call::Collect {
        position: U256::from(position),
        recipient: OWN,
        most0: U256::from(u128::MAX),
        most1: U256::from(u128::MAX),
    }
}

/// Others trade there and back, so that both tokens have fees.
fn earn(state: &mut State) {
    let pool = &mut state.range.as_mut().unwrap().pool;
    let (sold, here) = (U256::from(10_u128.pow(21)), pool.sqrt_price);
    pool.swap(0, sold, root_at(-198_110));
    pool.swap(1, sold, here);
}

fn events(of: &Executed) -> Vec<Event> {
    let read = |log: &Log| Event::read(log).ok().flatten();
    of.logs.iter().filter_map(read).collect()
}

#[test]
fn a_join_needs_its_time_its_least_and_what_it_takes() {
    let mut joined = state(Before::Nothing);
    assert_eq!(joined.range.unwrap().chosen(), Held::Nothing);
    let done = execute(&mut joined, mint(1_000, 50).encode());
    assert!(done.succeeded, "{done:?}");
    let [first, second, shares] = done.moved;
    assert!(first < 0 && second < 0 && shares > 0, "{:?}", done.moved);
    assert_eq!(joined.held[2].cast_signed(), shares);
    let position = Held::Position(U256::from(3));
    assert_eq!(joined.range.unwrap().chosen(), position);
    let kinds = events(&done);
    // Transfers of tokens have another form, and are no events of positions.
    let is_whole = matches!(
        kinds.as_slice(),
        [
            Event::Mint { .. },
            Event::Moved { to: OWN, .. },
            Event::Increased { .. }
        ]
    );
    assert!(is_whole, "{kinds:?}");
    for (call, allowed) in [
        (mint(1_000, 49), u128::MAX),
        (mint(3_000_000_000_000_000_000, 50), u128::MAX),
        (mint(1_000, 50), 1_000),
    ] {
        let mut state = state(Before::Nothing);
        state.allowed[0] = U256::from(allowed);
        let done = execute(&mut state, call.encode());
        assert!(!done.succeeded && done.logs.is_empty());
        assert_eq!((done.moved, state.held), ([0; 3], HELD));
        assert_eq!(state.range.unwrap().chosen(), Held::Nothing);
    }
}

#[test]
fn an_exit_pays_out_what_is_due_and_what_was_earned() {
    let mut state = state(Before::Filled);
    let liquidity = state.held[2];
    assert!(liquidity > 0);
    earn(&mut state);
    let collectable = |state: &State| {
        let data = collect(3).encode();
        let words = called(state.range.as_ref().unwrap(), ROUTER, &data).unwrap();
        [&words[16..32], &words[48..]].map(|word| u128::from_be_bytes(word.try_into().unwrap()))
    };
    let fees = collectable(&state);
    assert!(fees[0] > 0 && fees[1] > 0, "{fees:?}");
    let half = multicall(&[decrease(3, liquidity / 2, 1), collect(3)]);
    let done = execute(&mut state, half);
    assert!(done.succeeded, "{done:?}");
    let decreased = events(&done).into_iter().find_map(|event| match event {
        Event::Decreased { amounts, .. } => Some(amounts),
        _ => None,
    });
    let due = decreased.unwrap().map(|due| i128::try_from(due).unwrap());
    let expected = [0, 1].map(|at| due[at] + fees[at].cast_signed());
    assert_eq!(done.moved[..2], expected);
    assert_eq!(done.moved[2], -(liquidity / 2).cast_signed());
    assert_eq!(collectable(&state), [0, 0]);
    // Fees alone, and both the other way around: what is due is owed then.
    earn(&mut state);
    let done = execute(&mut state, collect(3).encode());
    assert!(done.succeeded && done.moved[0] > 0 && done.moved[2] == 0);
    let rest = state.held[2];
    let done = execute(&mut state, multicall(&[collect(3), decrease(3, rest, 1)]));
    assert!(done.succeeded, "{done:?}");
    assert_eq!(done.moved, [0, 0, -rest.cast_signed()]);
    let owed = collectable(&state);
    let done = execute(&mut state, collect(3).encode());
    let paid = owed.map(u128::cast_signed);
    assert_eq!(done.moved, [paid[0], paid[1], 0]);
    // More than there is, less than wanted, and positions of others.
    for data in [
        multicall(&[decrease(3, 1, 0), collect(3)]),
        multicall(&[decrease(1, 1, 0), collect(1)]),
        collect(1).encode(),
        decrease(9, 1, 0).encode(),
    ] {
        assert!(!execute(&mut state, data).succeeded);
    }
}

#[test]
fn a_join_into_another_position_is_none_of_ours() {
    for (position, is_ours) in [(1, false), (2, false), (3, true)] {
        let mut state = state(Before::Empty);
        let done = execute(&mut state, increase(position).encode());
        assert!(done.succeeded && done.moved[0] < 0, "{position}");
        assert_eq!(done.moved[2] > 0, is_ours, "{position}");
    }
}

#[test]
fn views_have_the_form_of_the_contracts() {
    use cambist_evm::v3::call::{liquidity, liquidity_net, position};

    let state = state(Before::Filled);
    let ranges = state.range.unwrap();
    let view = |to, call: &Call| called(&ranges, to, &call.encode()).unwrap();
    let stated = price(&view(PAIR, &Call::Slot0 {})).unwrap();
    assert_eq!(stated.sqrt, ranges.pool.sqrt_price);
    assert_eq!(stated.tick.number(), ranges.pool.tick);
    let active = liquidity(&view(PAIR, &Call::Liquidity {})).unwrap();
    assert_eq!(active, ranges.pool.active());
    let net = |number| liquidity_net(&view(PAIR, &Call::Ticks { tick: tick(number) })).unwrap();
    assert!(net(TICKS[0]) > 0 && net(TICKS[1]) < 0);
    let place = TICKS[0] / 60;
    let word = i16::try_from(place.div_euclid(256)).unwrap();
    let bits = U256::from_be_slice(&view(PAIR, &Call::TickBitmap { word }));
    assert!(bits.bit(usize::try_from(place.rem_euclid(256)).unwrap()));
    let number = U256::from(3);
    let stated = position(&view(ROUTER, &Call::Positions { position: number })).unwrap();
    assert_eq!((stated.liquidity, stated.fee), (state.held[2], 3_000));
    assert_eq!(stated.ticks.map(Tick::number), TICKS);
    let missing = Call::Positions {
        position: U256::from(9),
    };
    assert_eq!(called(&ranges, ROUTER, &missing.encode()), None);
}
