//! Sums over venues with other decimals and names, prices that age, and what is not known.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::PathBuf;

use cambist_config::reader::Source;

use cambist_core::elsewhere::{BookElsewhere, MarketElsewhere, OtherHoldings, Published};
use cambist_core::strategy::BookLevel;
use cambist_core::{Price, Qty};

use cambist_core::event::{Command, Event, TradingState};
use cambist_core::portfolio::rules::ReadElsewhere;
use cambist_core::portfolio::{ExposureElsewhere, Portfolio, WorthRate};
use cambist_core::{Amount, MarketId, Time, TokenId};

use super::*;

const FILE: &str = r#"
config_version = 1
[portfolio]
currency = "USD"
at_par = ["USDC"]
exposure_max = "1000 USD"
loss_day_max = "10 USD"
price_age_max_s = 60
[[portfolio.tokens]]
name = "BTC"
inventory_max = "2.5 BTC"
[[venue]]
name = "one"
config = "one.toml"
[[venue]]
name = "two"
config = "two.toml"
[venue.tokens]
XBT = "BTC"
"#;

pub(in crate::portfolio) fn token(id: u16, symbol: &str, decimals: u8) -> TokenSpec {
    TokenSpec {
        id: TokenId(id),
        symbol: symbol.to_owned(),
        decimals,
        precision: decimals,
        minimum: 1,
        maximum: 1 << 100,
        dust: 0,
        enabled: true,
    }
}

pub(in crate::portfolio) fn market(id: u16, base: TokenSpec, quote: TokenSpec) -> MarketSpec {
    MarketSpec::new(MarketId(id), "A-B", base, quote, 2, true).unwrap()
}

/// The markets in the files of the venues.
pub(in crate::portfolio) fn listed() -> Vec<Vec<ListedMarket>> {
    let market = |name: &str, base: &str, quote: &str| ListedMarket {
        name: name.to_owned(),
        tokens: [base.to_owned(), quote.to_owned()],
    };
    vec![
        vec![market("BTC-USDC", "BTC", "USDC")],
        vec![
            market("XBT-USD", "XBT", "USD"),
            market("ETH-XBT", "ETH", "XBT"),
        ],
    ]
}

/// A venue whose engine has begun, with statements in its place.
pub(in crate::portfolio) struct Part {
    board: Rc<Board>,
    index: usize,
}

impl Part {
    fn begin(
        board: &Rc<Board>,
        index: usize,
        markets: &[MarketSpec],
        reads: &[ReadElsewhere],
    ) -> Result<Self, String> {
        board.engine_mut().begin(index, markets, reads)?;
        Ok(Self {
            board: Rc::clone(board),
            index,
        })
    }

    fn now(&self) -> Time {
        self.board.clock.now()
    }

    pub(in crate::portfolio) fn state(&mut self, exposure: Option<Exposure>) {
        let mut engine = self.board.engine_mut();
        engine.state(self.index, self.now(), exposure);
    }

    pub(in crate::portfolio) fn publish(&mut self, market: MarketId, published: Published) {
        let mut engine = self.board.engine_mut();
        engine.publish(self.index, self.now(), market, published);
    }

    fn due(&mut self, level: TradingState) -> Option<Event> {
        let mut engine = self.board.engine_mut();
        engine.changed(self.index, self.now(), level)
    }

    /// The limits that its engine was given last.
    fn given(&self) -> Portfolio {
        let engine = self.board.engine();
        engine.venues()[self.index].given().cloned().unwrap()
    }

    /// The part as its telemetry reads it.
    pub(in crate::portfolio) fn with_hedges(&self, hedges: Vec<HedgeOf>) -> Membership {
        Membership {
            hedges,
            ..self.board.member(self.index)
        }
    }

    pub(in crate::portfolio) fn market(&self) -> MarketSpec {
        self.board.engine().venues()[self.index].markets()[0].clone()
    }
}

/// BTC with 8 decimals in USDC with 6 at the first venue, XBT with 10 in USD with 4 and ETH in XBT at the second.
pub(in crate::portfolio) fn board() -> (Rc<Board>, [Part; 2]) {
    board_of(FILE)
}

/// The same with another file.
fn board_of(text: &str) -> (Rc<Board>, [Part; 2]) {
    let source = Source {
        path: PathBuf::from("portfolio.toml"),
        text: text.to_owned(),
    };
    let file = PortfolioFile::parse(&source).unwrap();
    let board = Board::of(file, listed(), Clock::of_engine());
    let first = market(0, token(1, "BTC", 8), token(2, "USDC", 6));
    let second = [
        market(0, token(5, "XBT", 10), token(6, "USD", 4)),
        market(1, token(7, "ETH", 10), token(5, "XBT", 10)),
    ];
    let one = Part::begin(&board, 0, &[first], &[]).unwrap();
    let two = Part::begin(&board, 1, &second, &[]).unwrap();
    (board, [one, two])
}

/// What a venue states: base held, gross by quote token, lost today by quote token, and mids.
pub(in crate::portfolio) fn states(
    tokens: &[(u16, Amount)],
    gross: &[(u16, Amount)],
    lost: &[(u16, i128)],
    mids: &[(u16, Option<(u64, u64)>)],
) -> Exposure {
    Exposure {
        tokens: tokens
            .iter()
            .map(|(id, held)| (TokenId(*id), Some(*held)))
            .collect(),
        gross: gross
            .iter()
            .map(|(id, worth)| (TokenId(*id), Some(*worth)))
            .collect(),
        lost_today: lost
            .iter()
            .map(|(id, lost)| {
                let lost = LostToday {
                    amount: *lost,
                    is_complete: true,
                };
                (TokenId(*id), lost)
            })
            .collect(),
        day_left_ms: 86_400_000,
        mids: mids.iter().map(|(id, mid)| (MarketId(*id), *mid)).collect(),
    }
}

pub(in crate::portfolio) fn limits_of(member: &mut Part) -> Portfolio {
    match member.due(TradingState::Active) {
        Some(Event::Portfolio(portfolio)) => portfolio,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_others_hold_is_known_only_when_they_stated_it() {
    let (_, [mut one, mut two]) = board();
    let portfolio = limits_of(&mut one);
    assert_eq!(portfolio.tokens[0].elsewhere, None);
    assert_eq!(portfolio.exposure.unwrap().elsewhere, None);
    assert_eq!(one.due(TradingState::Active), None, "nothing has changed");
    // 1.00000000001 XBT, rounded up to units of 8 decimals.
    let of_two = states(
        &[(5, 10_000_000_001), (7, 0)],
        &[(6, 5_000_001), (5, 0)],
        &[],
        &[],
    );
    two.state(Some(of_two));
    let portfolio = limits_of(&mut one);
    let limit = portfolio.tokens[0];
    assert_eq!(limit.token, TokenId(1));
    assert_eq!(limit.elsewhere, Some(100_000_001));
    assert_eq!(limit.most, 250_000_000);
    let exposure = portfolio.exposure.unwrap();
    // 500.0001 USD.
    assert_eq!(exposure.elsewhere, Some(500_000_100));
    assert_eq!(exposure.most, 1_000_000_000);
    let rate = WorthRate {
        worth: 1_000_000,
        per: 1_000_000,
    };
    assert_eq!(exposure.rates, [(TokenId(2), rate)]);
    // What is not known any more replaces nothing.
    two.state(None);
    assert_eq!(one.due(TradingState::Active), None);
    // The other way round, in units of 10 decimals.
    one.state(Some(states(&[(1, 150_000_000)], &[(2, 7)], &[], &[])));
    let portfolio = limits_of(&mut two);
    assert_eq!(portfolio.tokens.len(), 1, "ETH has no limit");
    assert_eq!(portfolio.tokens[0].elsewhere, Some(15_000_000_000));
    assert_eq!(portfolio.exposure.unwrap().elsewhere, Some(7));
}

#[test]
fn a_quote_token_is_worth_the_price_of_a_market_in_a_token_at_par() {
    let (board, [mut one, mut two]) = board();
    // 0.1 XBT of exposure, and no price of it.
    let gross = [(6, 0), (5, 1_000_000_000)];
    two.state(Some(states(&[(5, 0), (7, 0)], &gross, &[], &[])));
    assert_eq!(limits_of(&mut one).exposure.unwrap().elsewhere, None);
    assert_eq!(
        limits_of(&mut two).exposure.unwrap().rates.len(),
        1,
        "USD only"
    );
    // 60,000.01 USDC, young enough: the first venue prices the second one's token.
    let young = [(0, Some((12_000_002, 59_000)))];
    one.state(Some(states(&[(1, 0)], &[(2, 0)], &[], &young)));
    let rates = limits_of(&mut two).exposure.unwrap().rates;
    let worth = 60_000_010_000;
    let rate = WorthRate {
        worth,
        per: 10_000_000_000,
    };
    assert!(rates.contains(&(TokenId(5), rate)), "{rates:?}");
    assert_eq!(
        limits_of(&mut one).exposure.unwrap().elsewhere,
        Some(worth / 10)
    );
    // Too old.
    let old = [(0, Some((12_000_002, 60_001)))];
    one.state(Some(states(&[(1, 0)], &[(2, 0)], &[], &old)));
    assert_eq!(limits_of(&mut one).exposure.unwrap().elsewhere, None);
    drop(board);
}

#[test]
fn a_loss_over_all_venues_stops_each_of_them_once() {
    let (_, [mut one, mut two]) = board();
    let raise = |member: &mut Part, level| match member.due(level) {
        Some(Event::Operator(Command::Raise { level, reason })) => Some((level, reason)),
        _ => None,
    };
    let active = TradingState::Active;
    // 12 lost and 2.0001 gained: within the limit of 10.
    one.state(Some(states(&[(1, 0)], &[(2, 0)], &[(2, 12_000_000)], &[])));
    assert!(raise(&mut one, active).is_some(), "12 alone are above it");
    assert_eq!(raise(&mut one, TradingState::CancelOnly), None);
    two.state(Some(states(
        &[(5, 0), (7, 0)],
        &[(6, 0)],
        &[(6, -20_001)],
        &[],
    )));
    assert_eq!(raise(&mut two, active), None);
    // 2 gained: exactly the limit.
    two.state(Some(states(
        &[(5, 0), (7, 0)],
        &[(6, 0)],
        &[(6, -20_000)],
        &[],
    )));
    assert_eq!(raise(&mut two, active), None);
    two.state(Some(states(
        &[(5, 0), (7, 0)],
        &[(6, 0)],
        &[(6, -19_999)],
        &[],
    )));
    for member in [&mut one, &mut two] {
        let (level, reason) = raise(member, active).unwrap();
        assert_eq!(level, TradingState::CancelOnly);
        assert_eq!(reason, "portfolio.loss_day_max");
        assert_eq!(raise(member, active), None, "once");
        // An operator resumed, and the loss is as it was.
        assert_eq!(raise(member, TradingState::CancelOnly), None);
        assert!(raise(member, active).is_some());
    }
    let refused = |forget_losses| {
        let engine = one.board.engine();
        let resume = Command::Lower {
            level: TradingState::Active,
            reason: "again".to_owned(),
            forget_losses,
        };
        engine.refuses(one.now(), &resume)
    };
    assert!(
        refused(false)
            .unwrap()
            .contains("portfolio.loss_day_max is exceeded")
    );
    assert_eq!(refused(true), None, "it counts from zero");
    let exposure = states(&[(1, 0)], &[(2, 0)], &[(2, 1)], &[]);
    one.board.engine_mut().state(0, one.now(), Some(exposure));
    assert_eq!(refused(false), None, "the loss is within the limit");
    // One that does not trade is left as it is.
    let (_, [mut one, _]) = board();
    one.state(Some(states(&[(1, 0)], &[(2, 0)], &[(2, 12_000_000)], &[])));
    assert_eq!(raise(&mut one, TradingState::CancelOnly), None);
}

/// A venue that is away states nothing new: what it lost or gained is of its day, until that ends.
#[test]
fn what_a_venue_lost_yesterday_is_no_loss_of_today() {
    let (board, [mut one, _]) = board();
    let mut lost = states(&[(1, 0)], &[(2, 0)], &[(2, 12_000_000)], &[]);
    lost.day_left_ms = 30_000;
    let now = board.clock.now();
    one.state(Some(lost));
    let lost = |ms| board.engine().lost_today(now.plus_ms(ms));
    assert_eq!(lost(0), 12_000_000);
    assert_eq!(lost(60_000), 0);
}

/// Whether trading is stopped for a loss over all venues.
fn is_stopped(member: &mut Part) -> bool {
    matches!(
        member.due(TradingState::Active),
        Some(Event::Operator(Command::Raise { .. }))
    )
}

/// From the venue's answer on, until its engine states its own after the recovery, which may last long; whether the store
/// bounds what is held or not.
#[test]
fn a_stored_loss_counts_until_the_venue_states_its_own() {
    let path = PathBuf::from("portfolio.toml");
    let text = FILE.to_owned();
    let file = PortfolioFile::parse(&Source { path, text }).unwrap();
    let board = Board::of(file, listed(), Clock::of_engine());
    let second = market(0, token(5, "XBT", 10), token(6, "USD", 4));
    let mut two = Part::begin(&board, 1, &[second], &[]).unwrap();
    let one = board.member(0);
    // Since midnight, at the venues that have stated it.
    let lost = || board.engine().lost_today(board.clock.now());
    let bounded = Held {
        markets: vec![market(0, token(8, "BTC", 8), token(9, "USDC", 6))],
        exposure: states(&[(8, 1)], &[(9, 1)], &[], &[]),
    };
    for held in [Ok(bounded), Err("a join is not decided".to_owned())] {
        let is_bounded = held.is_ok();
        let of = LostToday {
            amount: 9_000_000,
            is_complete: true,
        };
        one.count_stored(Ok(Stored {
            lost: vec![(token(9, "USDC", 6), of)],
            day_left_ms: 60_000,
            held,
            since_s: 1,
        }));
        assert_eq!(board.engine().venues()[0].is_known(), is_bounded);
        one.end_wait();
        let is_held = board.engine().venues()[0].is_known();
        assert_eq!((is_held, lost()), (false, 9_000_000));
    }
    // Its tokens have other ids now, and 2 are lost at the other venue meanwhile.
    let first = market(0, token(1, "BTC", 8), token(2, "USDC", 6));
    let mut one = Part::begin(&board, 0, &[first], &[]).unwrap();
    two.state(Some(states(&[(5, 0)], &[(6, 0)], &[(6, 10_000)], &[])));
    assert!(!is_stopped(&mut two), "1 is within the limit of 10");
    two.state(Some(states(&[(5, 0)], &[(6, 0)], &[(6, 20_000)], &[])));
    assert_eq!(lost(), 11_000_000);
    assert!(is_stopped(&mut two) && is_stopped(&mut one));
    one.state(None);
    assert_eq!(lost(), 11_000_000, "it has not recovered");
    one.state(Some(states(&[(1, 0)], &[(2, 0)], &[(2, 8_000_000)], &[])));
    assert_eq!(lost(), 10_000_000);
}

/// A loss in a token that never had a price: how much of the limit is left is not known, so that nothing is added at any
/// venue. A gain only leaves room, and is left out.
#[test]
fn a_loss_without_a_price_stops_what_would_be_added() {
    for without in ["no key", "exposure_max", "loss_day_max"] {
        let text = FILE.replace(without, &format!("# {without}"));
        let (_, [mut one, mut two]) = board_of(&text);
        let mut is_open = |lost: i128, mid: Option<(u64, u64)>| {
            one.state(Some(states(&[(1, 0)], &[(2, 0)], &[], &[(0, mid)])));
            let lost = [(6, 0), (5, lost)];
            two.state(Some(states(&[(5, 0), (7, 0)], &[(6, 0)], &lost, &[])));
            if is_stopped(&mut one) {
                return None;
            }
            for member in [&mut one, &mut two] {
                let _ = member.due(TradingState::Active);
            }
            let exposures = [&one, &two].map(|member| member.given().exposure);
            let are = |wanted: fn(&ExposureElsewhere) -> bool| {
                exposures.iter().all(|of| of.as_ref().is_some_and(wanted))
            };
            let is_limited = are(|of| of.elsewhere == Some(0) && of.most == 1_000_000_000);
            let is_free = exposures.iter().all(Option::is_none);
            let is_open = is_limited || is_free;
            assert_eq!(is_open, !are(ExposureElsewhere::is_of_unknown_loss));
            Some(is_open)
        };
        let is_counted = without != "loss_day_max";
        assert_eq!(is_open(0, None), Some(true), "{without}");
        assert_eq!(is_open(1, None), Some(!is_counted), "{without}");
        assert_eq!(is_open(-1, None), Some(true), "{without}");
        // 0.0001 XBT are 6.000001 USDC at 60,000.01, whose age does not matter.
        let old = Some((12_000_002, 3_600_000));
        assert_eq!(is_open(1_000_000, None), Some(!is_counted), "{without}");
        assert_eq!(is_open(1_000_000, old), Some(true), "{without}");
        // Known once, it stays known; and twice as much is above the limit.
        assert_eq!(is_open(1_000_000, None), Some(true), "{without}");
        let above = is_open(2_000_000, None);
        assert_eq!(above.is_none(), is_counted, "{without}");
    }
}

/// One market whose loss is not known does not take the others' away.
#[test]
fn a_part_of_a_loss_counts() {
    let (_, [mut one, _]) = board();
    let mut lost = states(&[(1, 0)], &[(2, 0)], &[(2, 12_000_000)], &[]);
    for lost in lost.lost_today.values_mut() {
        lost.add(None);
    }
    one.state(Some(lost));
    assert!(is_stopped(&mut one));
}

/// A venue whose file has no market of a token holds nothing that its limit counts, whether it has answered or not.
#[test]
fn a_venue_without_a_token_does_not_hold_its_limit_back() {
    let path = PathBuf::from("portfolio.toml");
    let text = FILE.to_owned();
    let file = PortfolioFile::parse(&Source { path, text }).unwrap();
    let mut listed = listed();
    listed[1].remove(0);
    let board = Board::of(file, listed, Clock::of_engine());
    let first = market(0, token(1, "BTC", 8), token(2, "USDC", 6));
    let mut one = Part::begin(&board, 0, &[first], &[]).unwrap();
    assert_eq!(limits_of(&mut one).tokens[0].elsewhere, Some(0));
}

/// Reads of the first venue for its one market; the portfolio calls USDC and USD the same.
pub(in crate::portfolio) fn reader(name: &str) -> (Rc<Board>, Result<[Part; 2], String>) {
    let text = FILE.replacen("XBT = \"BTC\"", "XBT = \"BTC\"\nUSD = \"USDC\"", 1);
    let path = PathBuf::from("portfolio.toml");
    let file = PortfolioFile::parse(&Source { path, text }).unwrap();
    let board = Board::of(file, listed(), Clock::of_engine());
    let mut first = market(0, token(1, "BTC", 8), token(2, "USDC", 6));
    first.name = "BTC-USDC".to_owned();
    let mut second = market(4, token(5, "XBT", 10), token(6, "USD", 4));
    second.name = "XBT-USD".to_owned();
    let read = ReadElsewhere {
        strategy: "hedge of BTC-USDC".to_owned(),
        reader: MarketId(0),
        name: name.to_owned(),
    };
    let one = Part::begin(&board, 0, &[first], &[read]);
    let two = Part::begin(&board, 1, &[second], &[]).unwrap();
    (board, one.map(|one| [one, two]))
}

pub(in crate::portfolio) fn published(bid: u64, age_ms: u64, base: Amount) -> Published {
    let level = |price| {
        vec![BookLevel {
            price: Price(price),
            qty: Qty(9),
        }]
    };
    Published {
        book: Ok(BookElsewhere {
            bids: level(bid),
            asks: level(bid + 2),
            mid: Ok(2 * bid + 2),
            age_ms,
            age_max_ms: 5_000,
        }),
        holdings: Some(OtherHoldings {
            base,
            quote: 0,
            pooled_base: Some(0),
            undecided: false,
        }),
        taker_fee_bips: 26,
    }
}

/// The next event about markets elsewhere.
fn elsewhere(member: &mut Part) -> Option<MarketElsewhere> {
    loop {
        match member.due(TradingState::Active)? {
            Event::Elsewhere(mut markets) => return markets.pop(),
            Event::Portfolio(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_market_that_is_read_is_given_when_it_changed() {
    let (board, members) = reader("two:XBT-USD");
    let [mut one, mut two] = members.unwrap();
    assert_eq!(elsewhere(&mut one), None, "nothing is published");
    let is_read = |at: usize| board.engine().venues()[at].is_read();
    assert_eq!((is_read(0), is_read(1)), (vec![], vec![MarketId(4)]));
    two.publish(MarketId(4), published(249_900, 40, 15_000_000_000));
    let given = elsewhere(&mut one).unwrap();
    assert_eq!(given.market.name, "two:XBT-USD");
    assert_eq!(given.reader, MarketId(0));
    assert_eq!(given.market.base.id, TokenId(1), "as the reader's");
    // 1.5 XBT with 10 decimals are 1.5 BTC with 8.
    assert_eq!(given.holdings.unwrap().base, 150_000_000);
    assert_eq!(given.taker_fee_bips, 26);
    let book = given.book.unwrap();
    assert!((40..1_000).contains(&book.age_ms), "{}", book.age_ms);
    assert_eq!(elsewhere(&mut one), None, "it is given once");
    // The same depth is older at the next step: nothing has changed.
    two.publish(MarketId(4), published(249_900, 41, 15_000_000_000));
    assert_eq!(elsewhere(&mut one), None);
    for changed in [
        published(249_901, 60, 15_000_000_000),
        published(249_901, 60, 15_000_000_001),
        Published {
            book: Err(cambist_core::control::Control::StaleData.into()),
            ..published(1, 0, 15_000_000_001)
        },
        // The same levels, drawn later.
        published(249_901, 4_000, 15_000_000_001),
        published(249_901, 3_000, 15_000_000_001),
    ] {
        two.publish(MarketId(4), changed.clone());
        let given = elsewhere(&mut one).unwrap();
        let bids = |book: &BookElsewhere| book.bids[0].price;
        assert_eq!(
            given.book.as_ref().map(bids),
            changed.book.as_ref().map(bids)
        );
        assert_eq!(elsewhere(&mut one), None);
    }
}

#[test]
fn a_market_that_cannot_be_read_is_refused_by_name() {
    let refused = |name: &str| reader(name).1.map(drop).unwrap_err();
    let own = refused("one:BTC-USDC");
    assert!(
        own.contains("hedge of BTC-USDC at venue one reads"),
        "{own}"
    );
    assert!(own.contains("the other venues are two"), "{own}");
    assert!(refused("three:XBT-USD").contains("the other venues are two"));
    let market = refused("two:XBT-EUR");
    assert!(
        market.contains("the markets of two are XBT-USD, ETH-XBT"),
        "{market}"
    );
    let tokens = refused("two:ETH-XBT");
    assert!(
        tokens.contains("it trades ETH and BTC, and BTC-USDC trades BTC and USDC"),
        "{tokens}"
    );
    assert!(tokens.contains("venue.tokens"), "{tokens}");
}
