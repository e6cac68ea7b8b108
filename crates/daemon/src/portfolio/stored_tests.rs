#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use std::path::Path;

use cambist_core::books::{Baselines, Booking, Difference, Position};
use cambist_core::event::{Rate, RecoveredOrder, Restrictions};
use cambist_core::order::{FillBy, UnsignedOrder};
use cambist_core::pool::UnsignedPoolTransaction;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{
    ClientOrderId, Hash, OrderKind, PoolTransactionKind, Price, Qty, Side, StrategyId,
};
use cambist_host::clock::Clock;
use cambist_store::{OpenIntent, OpenPoolTransaction, Store};

use super::*;

/// The example, whose file states the units of its market ETH-USDC, and its listing.
fn example() -> (Daemon, Listing) {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
    let daemon = Daemon::load(Path::new(example)).unwrap();
    let bound = daemon.bind_expected().unwrap().unwrap();
    let listing = Listing {
        charged_as: None,
        account: None,
        markets: bound.markets.clone(),
        pools: bound.pools.clone(),
        tokens: bound.tokens.clone(),
    };
    (daemon, listing)
}

fn id(number: u64) -> ClientOrderId {
    ClientOrderId {
        instance: 1,
        strategy: StrategyId(0),
        number,
    }
}

/// An open order that buys so much of a token, of which some is filled.
fn buying(token: TokenId, amount: Amount, base_filled: Amount) -> OpenIntent {
    let order = UnsignedOrder {
        client_id: id(1),
        market: MarketId(0),
        side: Side::Buy,
        price: Price(1),
        qty: Qty(1),
        kind: OrderKind::Limit,
        swap: None,
        sell_token: TokenId(99),
        sell_amount: 1,
        buy_token: token,
        buy_amount: amount,
        fill_by: FillBy::Buy,
        slot: 0,
        accepted_until_s: 1,
        rests_until_s: Some(1),
        max_fee_bips: 1,
        made_at: VenueTime(1),
    };
    OpenIntent {
        recovered: RecoveredOrder {
            order,
            hash: Hash([1; 32]),
            base_filled,
            quote_filled: 0,
            fee: 0,
        },
        body: Vec::new(),
    }
}

fn recovered(open: Vec<OpenIntent>) -> Recovered {
    Recovered {
        instance: 1,
        next_number: 1,
        next_storage: SortedMap::new(),
        open,
        signed: Vec::new(),
        open_moves: Vec::new(),
        restrictions: Restrictions::default(),
        cause: String::new(),
        parameters: Vec::new(),
    }
}

/// An exit that is not decided.
fn exiting(listing: &Listing) -> OpenPoolTransaction {
    let spec = &listing.markets[0];
    let transaction = UnsignedPoolTransaction {
        client_id: id(2),
        market: MarketId(0),
        kind: PoolTransactionKind::Exit,
        pooled: [spec.base.id, spec.quote.id],
        amounts: [1, 1],
        lp: listing.pools[0].lp.id,
        lp_amount: 1,
        storage_ids: vec![1],
        fee_max: 1,
        valid_until_s: 1,
        made_at: VenueTime(1),
    };
    OpenPoolTransaction {
        recovered: cambist_core::intent::RecoveredPoolTransaction {
            transaction,
            hash: Hash([2; 32]),
        },
        body: Vec::new(),
    }
}

/// So much base in the ledger.
fn holding(listing: &Listing, base: i128) -> Books {
    let spec = &listing.markets[0];
    Books {
        ledger: Some([(spec.base.id, base), (spec.quote.id, 5_000_000_000)].into()),
        ..Books::default()
    }
}

#[test]
fn what_is_held_and_what_may_still_be_bought_counts() {
    let (daemon, listing) = example();
    let spec = &listing.markets[0];
    let whole = 10_u128.pow(spec.base.decimals.into());
    let quote = 10_u128.pow(spec.quote.decimals.into());
    let ceiling = exposure::risk(&daemon.markets[0]).price_ceiling;
    let ceiling = exact(ceiling).floor(spec.quote.decimals);
    let held = |base: i128, open: Vec<OpenIntent>| {
        let books = holding(&listing, base);
        let bounded = most(&daemon, &books, &listing, &recovered(open)).unwrap();
        let Held { markets, exposure } = bounded;
        assert_eq!(markets, listing.markets);
        assert!(exposure.mids.is_empty());
        let held = exposure.tokens[&spec.base.id].unwrap();
        let gross = exposure.gross[&spec.quote.id].unwrap();
        // At the ceiling, rounded up by less than a unit of the price for each whole token.
        let least = held * ceiling / whole;
        assert!(
            (least..=least + held / whole + 1).contains(&gross),
            "{gross} {least} {quote}"
        );
        held
    };
    let two = 2 * i128::try_from(whole).unwrap();
    assert_eq!(held(two, Vec::new()), 2 * whole);
    // Of one order 0.3 are filled and in the ledger; another sells, and brings quote only.
    let open = vec![
        buying(spec.base.id, whole, 3 * whole / 10),
        buying(spec.quote.id, 7 * whole, 0),
    ];
    assert_eq!(held(two, open), 2 * whole + 7 * whole / 10);
    // A sale was booked before the purchase of what it sold.
    let open = vec![buying(spec.base.id, whole, 0)];
    assert_eq!(held(-1, open), whole);
}

#[test]
fn a_loss_of_today_is_that_of_the_last_price() {
    let (daemon, listing) = example();
    let spec = &listing.markets[0];
    let mut books = holding(&listing, 0);
    let lost = |books: &Books, now_s: u64| {
        let found = super::lost(&daemon, books, &listing, now_s);
        let [(quote, lost)] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(quote, &spec.quote);
        lost.is_complete.then_some(lost.amount)
    };
    assert_eq!(lost(&books, 100), None, "never measured");
    let baselines = Baselines {
        day: 0,
        day_open: 1_000,
        mid: Rate { quote: 1, base: 1 },
        ..Baselines::default()
    };
    let position = Position {
        base: 0,
        cash: 300,
        baselines: Some(baselines),
    };
    books.positions.insert(MarketId(0), position);
    assert_eq!(lost(&books, 100), Some(700));
    assert_eq!(lost(&books, 86_400), Some(0), "the next day");
    // It follows from the position, whatever may be held.
    books.ledger = None;
    assert_eq!(lost(&books, 100), Some(700));
}

#[test]
fn what_does_not_follow_from_the_store_is_not_known() {
    let (daemon, listing) = example();
    let spec = &listing.markets[0];
    let none = || recovered(Vec::new());
    let why = |books: &Books, listing: &Listing, recovered: &Recovered| {
        most(&daemon, books, listing, recovered).unwrap_err()
    };
    let books = holding(&listing, 1);
    assert!(most(&daemon, &books, &listing, &none()).is_ok());
    let never = Books::default();
    assert!(why(&never, &listing, &none()).contains("never compared"));
    let mut differs = books.clone();
    differs
        .differences
        .insert(spec.quote.id, Difference::default());
    assert!(why(&differs, &listing, &none()).contains("differed"));
    let mut no_base = books.clone();
    no_base.ledger.as_mut().unwrap().remove(&spec.base.id);
    assert!(why(&no_base, &listing, &none()).contains("no amount of ETH"));
    let mut unlisted = listing.clone();
    unlisted.markets[0].name = "BTC-USDC".to_owned();
    assert!(why(&books, &unlisted, &none()).contains("no listing of ETH-USDC"));
    let mut shares = books.clone();
    let lp = listing.pools[0].lp.id;
    let ledger = shares.ledger.as_mut().unwrap();
    ledger.insert(lp, 1);
    assert!(why(&shares, &listing, &none()).contains("pool shares"));
    shares.ledger.as_mut().unwrap().insert(lp, 0);
    assert!(most(&daemon, &shares, &listing, &none()).is_ok());
    let mut joining = none();
    joining.open_moves.push(exiting(&listing));
    assert!(why(&books, &listing, &joining).contains("pool shares"));
    let overflow = recovered(vec![buying(spec.base.id, Amount::MAX, 0)]);
    assert!(why(&books, &listing, &overflow).contains("no amount of ETH"));
    let mut coarse = listing.clone();
    coarse.markets[0].base.decimals = 0;
    let most = holding(&listing, i128::MAX);
    assert!(why(&most, &coarse, &none()).contains("too large"));
}

/// The age of what was stored, on both sides of its limit.
#[test]
fn a_store_that_was_written_long_ago_states_nothing() {
    let folder = crate::testing::private_folder();
    let (mut daemon, listing) = example();
    daemon.store.dir = folder.path().to_owned();
    let dir = &daemon.store.dir;
    let slots = daemon.venue.rules().slots;
    let mut store = Store::open_for(dir, slots).unwrap();
    let markets = [daemon.markets[0].name.value.clone()];
    let mut state = store.recover(&markets).unwrap();
    let now_s = Clock::new().unix_micros() / 1_000_000;
    let why = read(&daemon, &state, now_s, 60).unwrap_err();
    assert!(why.contains("no books yet"), "{why}");
    store.books(&listing).unwrap();
    let booking = Booking {
        opens: true,
        ledger: holding(&listing, 3).ledger.unwrap(),
        ..Booking::default()
    };
    store.book(&[], &booking).unwrap();
    let stored = read(&daemon, &state, now_s + 1, 60).unwrap();
    let since_s = stored.since_s;
    assert!((now_s..now_s + 60).contains(&since_s), "{since_s} {now_s}");
    let base = listing.markets[0].base.id;
    assert_eq!(
        stored.held.unwrap().exposure.tokens,
        [(base, Some(3))].into()
    );
    let left_ms = 86_400_000 - (now_s + 1) % 86_400 * 1_000;
    assert_eq!(stored.day_left_ms, left_ms);
    assert!(read(&daemon, &state, since_s + 60, 60).is_ok());
    let why = read(&daemon, &state, since_s + 61, 60).unwrap_err();
    assert!(why.contains("portfolio.stored_age_max_s is 60"), "{why}");
    let why = read(&daemon, &state, since_s, 0).unwrap_err();
    assert!(why.contains("portfolio.stored_age_max_s is 0"), "{why}");
    assert!(read(&daemon, &state, since_s, 1).is_ok());
    // A clock that was set back.
    assert!(read(&daemon, &state, since_s - 1, 60).is_err());
    // What an exit brings does not follow from the store; what was lost does.
    state.open_moves.push(exiting(&listing));
    let stored = read(&daemon, &state, since_s, 60).unwrap();
    assert!(stored.held.unwrap_err().contains("pool shares"));
    assert_eq!(stored.lost.len(), 1);
}
