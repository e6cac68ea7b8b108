//! Profit and loss from a real store compared with plain balances: restarts, flows, days, series.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use std::path::PathBuf;

use cambist_core::books::{Baselines, Booking, Books, Position};
use cambist_core::event::Rate;
use cambist_core::notification::Fill;
use cambist_core::postings::Postings;
use cambist_core::sorted_map::SortedMap;
use cambist_core::venue::ChargedAs;
use cambist_core::{ClientOrderId, MarketId, MarketSpec, Side, StrategyId, TokenId, TokenSpec};

use super::period::{self, Hours, PeriodReport};
use super::{ACCOUNT, HOUR_US, rows};
use crate::flows::{self, Flow};
use crate::history::{self, Filter, RecordKind};
use crate::{Listing, Store, StoreEntry};
use tempfile::TempDir;

const BASE: TokenId = TokenId(0);
const QUOTE: TokenId = TokenId(1);
/// 2026-01-01T00:00:00Z in hours.
pub(super) const FIRST_HOUR: u64 = 490_896;

fn token(id: TokenId, symbol: &str, decimals: u8) -> TokenSpec {
    TokenSpec {
        id,
        symbol: symbol.to_owned(),
        decimals,
        precision: 6,
        minimum: 1,
        maximum: 1 << 90,
        dust: 0,
        enabled: true,
    }
}

fn listing(price_decimals: u8) -> Listing {
    let (base, quote) = (token(BASE, "ETH", 18), token(QUOTE, "USDC", 6));
    let tokens = vec![base.clone(), quote.clone()];
    let spec = MarketSpec::new(MarketId(0), "ETH-USDC", base, quote, price_decimals, true).unwrap();
    Listing {
        charged_as: None,
        account: None,
        markets: vec![spec],
        pools: Vec::new(),
        tokens,
    }
}

/// A second market beside it, of other tokens.
fn two_markets() -> Listing {
    let mut listing = listing(2);
    let (base, quote) = (token(TokenId(2), "BTC", 8), token(TokenId(3), "EUR", 6));
    listing.tokens.extend([base.clone(), quote.clone()]);
    let spec = MarketSpec::new(MarketId(1), "BTC-EUR", base, quote, 2, true).unwrap();
    listing.markets.push(spec);
    listing
}

/// A splitmix generator; seeds reproduce a failure.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// An account whose books are computed independently of the store.
pub(super) struct Account {
    folder: TempDir,
    store: Store,
    listing: Listing,
    books: Books,
    mid: u64,
    number: u64,
    at_us: u64,
}

impl Account {
    pub(super) fn open(base: i128, quote: i128) -> Self {
        Self::open_with(base, quote, true)
    }

    fn open_with(base: i128, quote: i128, has_mid: bool) -> Self {
        Self::open_for(listing(2), [base, quote], has_mid)
    }

    /// Of the first market's tokens, with a position in that market alone.
    fn open_for(listing: Listing, [base, quote]: [i128; 2], has_mid: bool) -> Self {
        let folder = crate::testing::private_folder();
        let store = Store::open(folder.path()).unwrap();
        let mut account = Self {
            folder,
            store,
            listing,
            books: Books::default(),
            mid: 500_000,
            number: 5_000,
            at_us: FIRST_HOUR * HOUR_US,
        };
        account.resume();
        account.books.ledger = Some([(BASE, base), (QUOTE, quote)].into());
        let mut position = account.position(base, 0);
        position.baselines = position.baselines.filter(|_| has_mid);
        account.books.positions = [(MarketId(0), position)].into();
        let booking = Booking {
            opens: true,
            ..account.booking()
        };
        account.write(&[], &booking, FIRST_HOUR * HOUR_US);
        account
    }

    /// The database.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join(crate::FILE)
    }

    /// From here on nothing waits for the disk.
    pub(super) fn write_unsynced(&mut self) {
        let database = &self.store.database;
        database.pragma_update(None, "synchronous", "OFF").unwrap();
    }

    /// The mid that the next booking has.
    pub(super) fn set_mid(&mut self, mid: u64) {
        self.mid = mid;
    }

    /// Opens the store as a start does.
    fn resume(&mut self) {
        let names = ["bands".to_owned(), "ladder".to_owned()];
        let listing = self.listing.clone();
        let change = self.store.database.transaction().unwrap();
        crate::books::set_listing(&change, &listing, 1).unwrap();
        change.commit().unwrap();
        let books = self.books.clone();
        self.store
            .count_results_at(self.at_us, &listing, &names, &books)
            .unwrap();
    }

    fn kill_and_start(self) -> Self {
        let Self {
            folder,
            store,
            listing,
            books,
            mid,
            number,
            at_us,
        } = self;
        drop(store);
        let store = Store::open(folder.path()).unwrap();
        let mut account = Self {
            folder,
            store,
            listing,
            books,
            mid,
            number,
            at_us,
        };
        account.resume();
        account
    }

    fn position(&self, base: i128, cash: i128) -> Position {
        let spec = &self.listing.markets[0];
        Position {
            base,
            cash,
            baselines: Some(Baselines {
                mid: Rate {
                    quote: spec.quote_per_lot_tick * u128::from(self.mid),
                    base: spec.lot * 2,
                },
                ..Baselines::default()
            }),
        }
    }

    fn booking(&self) -> Booking {
        Booking {
            ledger: self.books.ledger.clone().unwrap(),
            positions: self.books.positions.clone(),
            ..Booking::default()
        }
    }

    /// Books at a given time.
    fn write(&mut self, entries: &[StoreEntry], booking: &Booking, at_us: u64) {
        self.at_us = at_us;
        let change = self.store.database.transaction().unwrap();
        for entry in entries {
            match entry {
                StoreEntry::Fill(fill) => {
                    crate::intents::insert_fill(&change, fill, "ETH-USDC", at_us).unwrap();
                }
                StoreEntry::Flow {
                    token,
                    symbol,
                    amount,
                    reason,
                } => {
                    let (token, symbol, amount, reason) =
                        (*token, symbol.clone(), *amount, reason.clone());
                    let flow = Flow {
                        at_us,
                        token,
                        symbol,
                        amount,
                        reason,
                    };
                    flows::insert(&change, &flow).unwrap();
                }
                other => panic!("{other:?}"),
            }
        }
        let results = self.store.results.as_mut().unwrap();
        results.book(&change, entries, booking, at_us).unwrap();
        change.commit().unwrap();
    }

    fn post(&mut self, postings: &Postings) {
        let ledger = self.books.ledger.as_mut().unwrap();
        assert!(postings.book(ledger));
        let held = &self.books.positions[&MarketId(0)];
        let (base, cash) = (
            held.base + postings.of(BASE),
            held.cash + postings.of(QUOTE),
        );
        let position = self.position(base, cash);
        self.books.positions.insert(MarketId(0), position);
    }

    pub(super) fn trade(&mut self, strategy: u8, side: Side, lots: u128, at_us: u64) -> Fill {
        let spec = self.listing.markets[0].clone();
        self.number += 1;
        let base = spec.lot * lots;
        let ticks = u128::from(self.mid / 2) + if side == Side::Sell { 40 } else { 0 } - 20;
        let fill = Fill {
            order: ClientOrderId {
                instance: self.store.instance(),
                strategy: StrategyId(strategy),
                number: self.number,
            },
            market: MarketId(0),
            side,
            base,
            quote: spec.quote_per_lot_tick * ticks * lots,
            fee: if side == Side::Buy { base / 1_000 } else { 777 },
            mid: Some(self.mid),
        };
        self.post(&Postings::of_fill(&spec, &fill));
        let booking = self.booking();
        self.write(&[StoreEntry::Fill(fill.clone())], &booking, at_us);
        fill
    }

    fn flow(&mut self, token: TokenId, amount: i128, at_us: u64) {
        self.flow_for(token, amount, at_us, "test");
    }

    fn flow_for(&mut self, token: TokenId, amount: i128, at_us: u64, reason: &str) {
        let ledger = self.books.ledger.as_mut().unwrap();
        assert!(Postings::of_token(token, amount).book(ledger));
        if token == BASE {
            let held = self.books.positions[&MarketId(0)].clone();
            let position = self.position(held.base + amount, held.cash);
            self.books.positions.insert(MarketId(0), position);
        }
        let entry = StoreEntry::Flow {
            token,
            symbol: "X".to_owned(),
            amount,
            reason: reason.to_owned(),
        };
        let booking = self.booking();
        self.write(&[entry], &booking, at_us);
    }

    fn price(&mut self, mid: u64, at_us: u64) {
        self.mid = mid;
        let held = self.books.positions[&MarketId(0)].clone();
        let position = self.position(held.base, held.cash);
        self.books.positions.insert(MarketId(0), position);
        let booking = Booking {
            ledger: SortedMap::new(),
            ..self.booking()
        };
        self.write(&[], &booking, at_us);
    }

    /// Value in quote units times 2 · 10^14, the unit for ETH-USDC with two decimals.
    fn worth(&self, base: i128, quote: i128) -> i128 {
        let spec = &self.listing.markets[0];
        let lots_twice = i128::try_from(spec.lot * 2).unwrap();
        let per = i128::try_from(spec.quote_per_lot_tick).unwrap();
        base * per * i128::from(self.mid) + quote * lots_twice
    }

    fn equity(&self) -> i128 {
        let ledger = self.books.ledger.as_ref().unwrap();
        let held = |token| ledger[&token];
        self.worth(held(BASE), held(QUOTE))
    }

    fn report(&self, from: Option<u64>, to: Option<u64>) -> period::PeriodReport {
        let hour = |day: u64| FIRST_HOUR + day * 24;
        let hours = Hours {
            from: from.map(hour),
            to: to.map(hour),
        };
        period::read(self.folder.path(), hours).unwrap()
    }
}

/// Of whichever market was traded first.
#[test]
fn counting_begins_in_every_market_with_the_opening_balances() {
    let account = Account::open_for(two_markets(), [10_i128.pow(18), 1_000_000], true);
    let report = account.report(None, None);
    let quotes = report
        .quotes
        .iter()
        .map(|row| (row.quote, row.flows.numerator));
    let quotes: Vec<_> = quotes.collect();
    assert_eq!(quotes, [(QUOTE, 0), (TokenId(3), 0)], "nothing came");
    assert!(!report.differs, "{report:?}");
}

/// An amount of money in the unit of [`Account::worth`].
fn numerator(money: cambist_report::money::Money) -> i128 {
    // Reduced by common factors.
    money.numerator * (200_000_000_000_000 / i128::from(money.denominator))
}

#[test]
fn before_the_first_mid_nothing_was_traded() {
    let account = Account::open_with(20 * 10_i128.pow(18), 50_000_000_000, false);
    let report = account.report(None, None);
    assert!(!report.differs, "{report:?}");
    assert_eq!(report.tokens[&BASE].traded, 0);
    assert_eq!(report.tokens[&BASE].unexplained(), 0);
    assert_eq!(
        report
            .quotes
            .iter()
            .filter(|row| row.equity.is_some())
            .count(),
        0
    );
}

#[test]
fn every_period_is_the_change_of_equity_less_flows_over_restarts() {
    for seed in 0..12 {
        let mut random = Random(seed);
        let mut account = Account::open(5 * 10_i128.pow(18), 20_000_000_000);
        // Equity and flows by day, computed independently.
        let mut equities = vec![account.equity()];
        let mut flows = Vec::new();
        let (mut fills, mut at_us) = (0, FIRST_HOUR * HOUR_US);
        for day in 0..4 {
            let mut came = 0;
            for _ in 0..random.below(25) {
                at_us += random.below(HOUR_US / 2);
                at_us = at_us.min((FIRST_HOUR + (day + 1) * 24) * HOUR_US - 1);
                match random.below(8) {
                    0 => {
                        let amount = 10_i128.pow(15) * (i128::from(random.below(40)) - 20);
                        came += account.worth(amount, 0);
                        account.flow(BASE, amount, at_us);
                    }
                    1 => {
                        let amount = i128::from(random.below(1_000_000)) - 400_000;
                        came += account.worth(0, amount);
                        account.flow(QUOTE, amount, at_us);
                    }
                    2 => account = account.kill_and_start(),
                    3 | 4 => account.price(490_000 + random.below(20_000), at_us),
                    strategy => {
                        let side = if random.below(2) == 0 {
                            Side::Buy
                        } else {
                            Side::Sell
                        };
                        let strategy = u8::try_from(strategy % 2).unwrap();
                        account.trade(strategy, side, u128::from(1 + random.below(50)), at_us);
                        fills += 1;
                    }
                }
            }
            at_us = (FIRST_HOUR + (day + 1) * 24) * HOUR_US;
            equities.push(account.equity());
            flows.push(came);
        }
        let account = account.kill_and_start();
        for (from, to) in [(0, 4), (0, 1), (1, 3), (3, 4)] {
            let report = account.report(Some(from), Some(to));
            assert!(!report.differs, "{seed}: {report:?}");
            let days = usize::try_from(from).unwrap()..usize::try_from(to).unwrap();
            let by_hand = equities[days.end]
                - equities[days.start]
                - flows[days.clone()].iter().sum::<i128>();
            // A period without bookings has no rows.
            for quote in &report.quotes {
                assert_eq!(
                    quote.unattributed.unwrap().numerator,
                    0,
                    "{seed} {from}..{to}"
                );
                let pnl = quote.pnl.map_or(0, |pnl| numerator(pnl.total));
                assert_eq!(pnl, by_hand, "{seed} {from}..{to}: {report:?}");
                let equity = quote.equity.unwrap().map(numerator);
                assert_eq!(equity, [equities[days.start], equities[days.end]]);
                assert_eq!(
                    numerator(quote.flows),
                    flows[days.clone()].iter().sum::<i128>()
                );
            }
            assert!(!report.quotes.is_empty() || by_hand == 0);
            if (from, to) == (0, 4) {
                let message: u64 = report.days.iter().map(|row| row.fills).sum();
                assert_eq!(message, fills, "{seed}");
            }
        }
    }
}

#[test]
fn strategies_have_their_trades_and_the_account_the_opening_balances() {
    let mut account = Account::open(10_i128.pow(18), 20_000_000_000);
    let at_us = FIRST_HOUR * HOUR_US + 1;
    let bought = account.trade(0, Side::Buy, 10_000, at_us);
    account.price(510_000, at_us + 1);
    let report = account.report(None, None);
    assert!(!report.differs && report.notes.is_empty(), "{report:?}");
    let of = |owner: &str| {
        report
            .days
            .iter()
            .find(|row| row.strategy == owner)
            .unwrap()
    };
    // 0.2 below the mid for 1 ETH; 0.999 ETH gained 50 each; the fee was 0.001 ETH at 2500.
    let bands = of("bands").pnl;
    let parts = [bands.spread, bands.holdings, bands.fees, bands.total];
    let parts = parts.map(|money| money.to_string());
    assert_eq!(parts, ["0.2", "49.95", "-2.5", "47.65"]);
    assert_eq!(of(ACCOUNT).pnl.holdings.to_string(), "50");
    assert_eq!(
        (of("bands").fills, of("bands").quote_volume),
        (1, bought.quote)
    );
    assert!(report.days.iter().all(|row| row.strategy != "ladder"));
    // The same fill as a row.
    let mut rows = Vec::new();
    let filter = Filter {
        strategy: Some("bands".to_owned()),
        ..Filter::default()
    };
    let dir = account.folder.path();
    history::each(dir, RecordKind::Fills, &filter, |row| {
        rows.push(row);
        Ok::<_, crate::StoreError>(())
    })
    .unwrap();
    let [row] = rows.as_slice() else {
        panic!("{rows:?}")
    };
    assert_eq!(row[0], "2026-01-01T00:00:00.000Z");
    assert_eq!(
        row[1..11],
        [
            "ETH-USDC", "bands", "buy", "", "2499.8", "1", "2499.8", "0.001", "ETH", "2500"
        ]
    );
}

/// What a venue takes for requests is beside deposits and withdrawals, and the balances are explained with it.
#[test]
fn charges_are_stated_beside_flows() {
    let mut account = Account::open(10_i128.pow(18), 20_000_000_000);
    let at_us = FIRST_HOUR * HOUR_US + 1;
    let charge = |number: u64| format!("charge {number} for {}", cambist_core::Hash([7; 32]));
    account.flow_for(QUOTE, -300, at_us, &charge(1));
    account.flow_for(QUOTE, -4, at_us + 1, &charge(2));
    account.flow(QUOTE, 1_000, at_us + 2);
    account.flow_for(BASE, -20, at_us + 3, &charge(3));
    account.price(500_000, at_us + 4);
    let report = account.report(None, None);
    assert!(!report.differs, "{report:?}");
    let [base, quote] = [BASE, QUOTE].map(|token| report.tokens[&token]);
    assert_eq!((quote.charges, quote.flows), (-304, 1_000));
    assert_eq!((base.charges, base.flows), (-20, 0));
    assert_eq!((base.unexplained(), quote.unexplained()), (0, 0));
    assert!(report.days.iter().all(|row| row.pnl.total.numerator == 0));
}

/// Gas has no equity here: it is worth so much of the base token, at the mid of the hour in which it was paid.
#[test]
fn charges_are_worth_the_token_that_they_count_as() {
    const COIN: TokenId = TokenId(5);
    let mut account = Account::open(10_i128.pow(18), 20_000_000_000);
    let coin = token(COIN, "GAS", 20);
    account.listing.charged_as = ChargedAs::new(&coin, &account.listing.tokens[0]);
    account.listing.tokens.push(coin);
    let mut account = account.kill_and_start();
    let charge = |number: u64| format!("charge {number} for {}", cambist_core::Hash([7; 32]));
    let whole = 10_i128.pow(20);
    let first_us = FIRST_HOUR * HOUR_US + 1;
    account.price(500_000, first_us);
    account.flow_for(COIN, whole, first_us, "deposit");
    // A hundredth, and a unit that counts as a whole unit of base: 25 USDC and less than a unit of it.
    account.flow_for(COIN, -whole / 100, first_us + 1, &charge(1));
    account.flow_for(COIN, -1, first_us + 2, &charge(2));
    account.flow_for(COIN, -whole / 2, first_us + 3, "no charge");
    let next_us = first_us + 24 * HOUR_US;
    account.price(600_000, next_us);
    account.flow_for(COIN, -whole / 100, next_us + 1, &charge(3));
    account.price(600_000, next_us + 2);
    let worth = |report: &PeriodReport| report.quotes[0].charges.unwrap().to_f64();
    let is = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
    let report = account.report(None, None);
    is(worth(&report), -55.0);
    assert!(!report.differs, "{report:?}");
    let equity = report.quotes[0].equity.unwrap();
    let without = equity[1].checked_sub(equity[0]).unwrap();
    is(without.to_f64(), 500.0);
    let [first, second] = [0, 1].map(|day| worth(&account.report(Some(day), Some(day + 1))));
    is(first, -25.0);
    is(second, -30.0);
}

/// The numbers of a strategy over a change of units: both series are in the day's row.
#[test]
fn a_day_with_two_series_has_the_numbers_of_both() {
    let mut account = Account::open(10_i128.pow(18), 20_000_000_000);
    let at_us = FIRST_HOUR * HOUR_US + 1;
    let first = account.trade(0, Side::Buy, 11, at_us);
    account.listing = listing(3);
    let mut account = account.kill_and_start();
    account.mid = 5_100_000;
    account.price(5_100_000, at_us + 1);
    let second = account.trade(0, Side::Sell, 70, at_us + 2);
    let third = account.trade(0, Side::Buy, 300, at_us + 3);
    let report = account.report(None, None);
    let bands = report.days.iter().find(|row| row.strategy == "bands");
    let bands = bands.unwrap();
    let sum = |of: fn(&Fill) -> u128| of(&first) + of(&second) + of(&third);
    assert_eq!(bands.fills, 3);
    assert_eq!(bands.base_volume, sum(|fill| fill.base));
    assert_eq!(bands.quote_volume, sum(|fill| fill.quote));
    let signed = |units: u128| i128::try_from(units).unwrap();
    let base =
        signed(first.base - first.fee) - signed(second.base) + signed(third.base - third.fee);
    assert_eq!(report.tokens[&BASE].traded, base);
    let quote = signed(second.quote - second.fee) - signed(first.quote) - signed(third.quote);
    assert_eq!(report.tokens[&QUOTE].traded, quote);
    assert_eq!(report.tokens[&BASE].unexplained(), 0);
}

/// A period that begins before a change of units and ends behind it counts each series from its own beginning.
#[test]
fn a_period_over_a_change_of_units_has_what_was_traded_in_it() {
    let mut account = Account::open(10_i128.pow(18), 20_000_000_000);
    let at = |hour: u64| (FIRST_HOUR + hour) * HOUR_US + 7;
    account.trade(0, Side::Buy, 11, at(0));
    let second = account.trade(0, Side::Buy, 13, at(2));
    account.listing = listing(3);
    account.at_us = at(3);
    let mut account = account.kill_and_start();
    account.mid = 5_100_000;
    account.price(5_100_000, at(3) + 1);
    let third = account.trade(0, Side::Sell, 70, at(3) + 2);
    let hours = Hours {
        from: Some(FIRST_HOUR + 1),
        to: None,
    };
    let report = period::read(account.folder.path(), hours).unwrap();
    let bands = report.days.iter().find(|row| row.strategy == "bands");
    let bands = bands.unwrap();
    assert_eq!(
        (bands.fills, bands.base_volume),
        (2, second.base + third.base)
    );
    assert_eq!(bands.quote_volume, second.quote + third.quote);
    let signed = |units: u128| i128::try_from(units).unwrap();
    let base = signed(second.base - second.fee) - signed(third.base);
    assert_eq!(report.tokens[&BASE].traded, base);
    assert_eq!(report.tokens[&BASE].unexplained(), 0);
}

/// Hours of a period: the first is in it, the one after the last is not.
#[test]
fn periods_begin_and_end_at_their_hours() {
    let mut account = Account::open(10_i128.pow(18), 20_000_000_000);
    for hour in [0, 1, 23, 24, 25] {
        account.trade(0, Side::Buy, 1, (FIRST_HOUR + hour) * HOUR_US + 7);
    }
    let fills = |from: Option<u64>, to: Option<u64>| {
        let hours = Hours {
            from: from.map(|hour| FIRST_HOUR + hour),
            to: to.map(|hour| FIRST_HOUR + hour),
        };
        let report = period::read(account.folder.path(), hours).unwrap();
        assert!(
            !report.differs && report.notes.is_empty(),
            "{:?}",
            report.notes
        );
        let days: Vec<_> = report
            .days
            .iter()
            .filter(|row| row.strategy == "bands")
            .map(|row| (row.day - FIRST_HOUR / 24, row.fills))
            .collect();
        (
            days,
            report
                .attributed_us
                .unwrap()
                .map(|at| at - FIRST_HOUR * HOUR_US),
        )
    };
    let hour = |hour: u64| hour * HOUR_US;
    let whole = (vec![(0, 3), (1, 2)], [0, hour(25) + 7]);
    assert_eq!(fills(None, None), whole);
    assert_eq!(
        fills(Some(0), None),
        whole,
        "from the hour in which counting began"
    );
    assert_eq!(fills(Some(0), Some(26)), whole);
    assert_eq!(
        fills(Some(0), Some(25)),
        (vec![(0, 3), (1, 1)], [0, hour(24) + 7])
    );
    assert_eq!(
        fills(Some(1), Some(24)),
        (vec![(0, 2)], [hour(1), hour(23) + 7])
    );
    assert_eq!(
        fills(Some(24), None),
        (vec![(1, 2)], [hour(24), hour(25) + 7])
    );
    let empty = |from: u64, to: u64| {
        let hours = Hours {
            from: Some(FIRST_HOUR + from),
            to: Some(FIRST_HOUR + to),
        };
        let report = period::read(account.folder.path(), hours).unwrap();
        assert_eq!(report.notes, ["there are no results in this period"]);
        assert!(report.days.is_empty());
    };
    empty(3, 3);
    empty(30, 40);
}

#[test]
fn what_cannot_be_attributed_is_reported() {
    let mut account = Account::open(10_i128.pow(18), 1_000_000);
    let at_us = FIRST_HOUR * HOUR_US + 1;
    account.trade(0, Side::Sell, 10, at_us);
    // Before the beginning.
    let early = Hours {
        from: Some(FIRST_HOUR - 24),
        to: None,
    };
    let report = period::read(account.folder.path(), early).unwrap();
    assert!(
        report.notes[0].contains("results before 2026-01-01T00:00:00Z"),
        "{:?}",
        report.notes
    );
    assert!(!report.differs);
    // Listed in other units: the old count is kept, and a new one begins.
    account.listing = listing(3);
    let mut account = account.kill_and_start();
    account.mid = 5_100_000;
    account.price(5_100_000, at_us + HOUR_US);
    let report = account.report(None, None);
    assert!(
        report.notes.iter().any(|note| note.contains("other units")),
        "{:?}",
        report.notes
    );
    assert!(!report.differs, "a reason is known: {report:?}");
    let quote = &report.quotes[0];
    assert_ne!(quote.unattributed.unwrap().numerator, 0);
}

#[test]
fn a_fill_missing_in_the_results_is_detected() {
    let mut account = Account::open(10_i128.pow(18), 1_000_000_000);
    account.trade(0, Side::Sell, 10, FIRST_HOUR * HOUR_US + 1);
    assert!(!account.report(None, None).differs);
    // The ledger changes without a reason.
    account.books.ledger.as_mut().unwrap().insert(QUOTE, 5);
    account.price(500_000, FIRST_HOUR * HOUR_US + 2);
    let booking = account.booking();
    account.write(&[], &booking, FIRST_HOUR * HOUR_US + 3);
    let report = account.report(None, None);
    assert!(report.differs, "{report:?}");
    assert_ne!(report.tokens[&QUOTE].unexplained(), 0);
    // An altered row is refused.
    account
        .store
        .database
        .execute_batch("UPDATE results SET state = replace(state, '\"fills\":1', '\"fills\":2')")
        .unwrap();
    let message = period::read(account.folder.path(), Hours::default()).unwrap_err();
    assert!(message.to_string().contains("checksum"), "{message}");
}

/// Here a strategy's count is that of before the price changed.
#[test]
fn a_difference_in_one_quote_token_is_one_of_the_report() {
    let held = [10_i128.pow(18), 1_000_000_000];
    let mut account = Account::open_for(two_markets(), held, true);
    account.trade(0, Side::Sell, 10, FIRST_HOUR * HOUR_US + 1);
    let counts = |account: &Account| {
        let results = account.store.results.as_ref().unwrap();
        results.markets[&MarketId(0)].counts["bands"].state()
    };
    let before = counts(&account);
    account.price(510_000, FIRST_HOUR * HOUR_US + 2);
    assert!(!account.report(None, None).differs);
    let key = rows::Key {
        market: "ETH-USDC",
        owner: "bands",
        hour: FIRST_HOUR,
        series: 0,
    };
    let change = account.store.database.transaction().unwrap();
    rows::set(&change, &key, true, before.as_ref(), account.at_us).unwrap();
    change.commit().unwrap();
    let report = account.report(None, None);
    let rest = |at: usize| report.quotes[at].unattributed;
    assert!(
        rest(0).is_some_and(|rest| rest.numerator != 0),
        "{report:?}"
    );
    assert_eq!(rest(1), None, "it has no price");
    assert!(report.tokens.values().all(|row| row.unexplained() == 0));
    assert!(report.differs);
}
