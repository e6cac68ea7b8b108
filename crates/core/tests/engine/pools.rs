//! Joins and exits: done exactly once whatever is lost, repeated or forgotten, within every limit.

use std::collections::{BTreeMap, VecDeque};

use cambist_core::action::Action;
use cambist_core::config::{EngineConfig, PoolConfig};
use cambist_core::event::{Command, Event, Levels, SealFailure, Start};
use cambist_core::intent::RecoveredMove;
use cambist_core::note::{Control, End, Note, PoolMove};
use cambist_core::order::{ClientOrderId, Hash, OrderStatus, StrategyId};
use cambist_core::pool::{
    MoveKind, MoveReport, MoveStatus, Moved, PoolBalances, PoolListed, PoolSpec, UnsignedMove,
};
use cambist_core::request::{
    Balance, Depth, DepthLevel, Endpoint, Outcome, Query, Reply, RequestId, UnknownCause,
};
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::{Amount, Engine, Intent, MarketId, Price, Reason, Time, TokenId, VenueTime};

use crate::desk::{BASE, ORIGIN, QUOTE, config, listed, spec, token};

const LP: TokenId = TokenId(9);
/// A thousand base and a hundred thousand quote at 100.00; a share is worth 0.2 quote.
const POOL: PoolBalances = PoolBalances {
    pooled: [1_000_000_000, 100_000_000_000],
    supply: 1_000_000,
};

/// Wants so many shares, always.
struct Hold(Amount);

impl Strategy for Hold {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        if view.pool.is_some() {
            targets.hold_shares(self.0);
        }
    }
}

fn pool_spec() -> PoolSpec {
    PoolSpec {
        market: MarketId(0),
        name: "AMM-T0-T1".to_owned(),
        address: [1; 20],
        pooled: [BASE, QUOTE],
        lp: token(LP, 8),
        joins: true,
        exits: true,
    }
}

fn pool_config() -> PoolConfig {
    PoolConfig {
        poll_ms: 500,
        age_max_ms: 3_000,
        slippage_bps: 100,
        divergence_max_bps: 100,
        move_value_max: 1_000_000_000,
        value_max: 1_000_000_000,
        fee_max: 0,
    }
}

fn limits() -> EngineConfig {
    EngineConfig {
        pools: vec![pool_config()],
        ..config()
    }
}

/// A move that was transmitted and not yet answered.
#[derive(Clone, Copy, Debug)]
struct Sent {
    request: RequestId,
    id: ClientOrderId,
    endpoint: Endpoint,
}

/// The engine beside a venue with one pool, and a hand that decides what arrives.
struct Beside {
    engine: Engine,
    start: Option<Event>,
    now: Time,
    pool: PoolBalances,
    held: BTreeMap<TokenId, Amount>,
    /// What the venue lists, and what it settled.
    list: Vec<MoveReport>,
    sealed: BTreeMap<ClientOrderId, (Hash, UnsignedMove)>,
    store_works: bool,
    listed: bool,
    version: u64,
    sent: VecDeque<Sent>,
    notes: Vec<Note>,
    finished: Option<bool>,
}

impl Beside {
    fn new(shares: Amount, config: EngineConfig, open: Vec<RecoveredMove>) -> Self {
        let sealed = open.iter().map(|open| {
            let id = open.wanted.client_id;
            (id, (open.hash, open.wanted.clone()))
        });
        let sealed = sealed.collect();
        let start = Event::Start(Box::new(Start {
            config,
            markets: vec![spec()],
            pools: vec![pool_spec()],
            strategies: vec![(StrategyId(0), MarketId(0))],
            seed: 1,
            instance: 7,
            next_number: 1 + open.len() as u64,
            next_storage: BTreeMap::new(),
            open: Vec::new(),
            open_moves: open,
            levels: Levels::default(),
            venue_time: ORIGIN,
            maker_fee_bips: 0,
            taker_fee_bips: 0,
        }));
        Self {
            engine: Engine::new(vec![Box::new(Hold(shares))]),
            start: Some(start),
            now: Time::from_ms(1_000),
            pool: POOL,
            held: BTreeMap::from([(BASE, 500_000_000), (QUOTE, 100_000_000_000)]),
            list: Vec::new(),
            sealed,
            store_works: true,
            listed: true,
            version: 0,
            sent: VecDeque::new(),
            notes: Vec::new(),
            finished: None,
        }
    }

    fn venue_now(&self) -> VenueTime {
        ORIGIN.plus_ms(self.now.as_ms() - 1_000)
    }

    fn hear(&mut self, event: &Event) {
        let mut actions = Vec::new();
        self.engine.on_event(self.now, event, &mut actions);
        for action in actions {
            self.act(action);
        }
    }

    fn answer(&mut self, request: RequestId, outcome: Outcome) {
        let venue_time = Some(self.venue_now());
        self.hear(&Event::Answer {
            request,
            outcome,
            venue_time,
            retry_after_ms: None,
        });
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Send { request, query } => {
                let reply = self.reply(&query);
                self.answer(request, Outcome::Reply(reply));
            }
            Action::Seal { batch, .. } if !self.store_works => {
                let cause = SealFailure::Store;
                self.hear(&Event::SealFailed { batch, cause });
            }
            Action::Seal { batch, intents } => {
                let mut hashes = Vec::new();
                for intent in intents {
                    let Intent::Move(wanted) = intent else {
                        panic!("no order is wanted")
                    };
                    let mut hash = [0; 32];
                    hash[..8].copy_from_slice(&wanted.client_id.number.to_be_bytes());
                    hashes.push((wanted.client_id, Hash(hash)));
                    self.sealed.insert(wanted.client_id, (Hash(hash), wanted));
                }
                self.hear(&Event::Sealed { batch, hashes });
            }
            Action::Transmit {
                request,
                order,
                endpoint,
            } => self.sent.push_back(Sent {
                request,
                id: order,
                endpoint,
            }),
            Action::StoreLevel { levels, .. } => self.hear(&Event::LevelStored(levels)),
            Action::Note(note) => self.notes.push(note),
            Action::Finished { proven } => self.finished = Some(proven),
        }
    }

    fn reply(&mut self, query: &Query) -> Reply {
        let level = |price| {
            vec![DepthLevel {
                price: Price(price),
                size: 1_000_000,
            }]
        };
        match query {
            Query::Depth(market) => {
                self.version += 1;
                Reply::Depth(Depth {
                    market: *market,
                    version: self.version,
                    timestamp: self.venue_now(),
                    bids: level(9_990),
                    asks: level(10_010),
                })
            }
            Query::Balances => {
                let balance = |(token, total): (&TokenId, &Amount)| Balance {
                    token: *token,
                    total: *total,
                    locked: 0,
                };
                Reply::Balances(self.held.iter().map(balance).collect())
            }
            Query::Orders(_) => Reply::Orders {
                orders: Vec::new(),
                total: 0,
            },
            Query::Markets => Reply::Markets {
                listed: vec![listed("T0-T1", QUOTE)],
            },
            Query::Tokens => Reply::Tokens(vec![token(BASE, 6), token(QUOTE, 6)]),
            Query::Account => Reply::Account { frozen: false },
            Query::Pools => Reply::Pools(vec![PoolListed {
                market: MarketId(0),
                joins: self.listed,
                exits: self.listed,
            }]),
            Query::PoolBalance(_) => Reply::PoolBalance(self.pool),
            Query::Moves(page) => {
                let within = |r: &&MoveReport| {
                    r.created >= page.from && (page.to.0 == 0 || r.created <= page.to)
                };
                let moves: Vec<_> = self.list.iter().filter(within).cloned().collect();
                let total = u32::try_from(moves.len()).unwrap();
                Reply::Moves { moves, total }
            }
            Query::Order(_) | Query::Cancel(_) => panic!("there are no orders"),
        }
    }

    fn run_ms(&mut self, ms: u64) {
        if let Some(start) = self.start.take() {
            self.hear(&start);
        }
        let end = self.now.plus_ms(ms);
        for _ in 0..100_000 {
            match self.engine.next_wakeup() {
                Some(at) if at <= end => {
                    self.now = at.max(self.now);
                    self.hear(&Event::Wake);
                }
                _ => {
                    self.now = end;
                    return;
                }
            }
        }
        panic!("the engine wakes without end");
    }

    /// Lets time pass until a move is transmitted.
    fn until_sent(&mut self) -> Sent {
        for _ in 0..3_000 {
            if let Some(sent) = self.sent.pop_front() {
                return sent;
            }
            self.run_ms(1);
        }
        panic!("nothing was sent within three seconds");
    }

    /// The venue settles a move, unless it knows it.
    fn settle(&mut self, id: ClientOrderId) {
        let (hash, wanted) = self.sealed[&id].clone();
        if self.list.iter().any(|report| report.hash == hash) {
            return;
        }
        let lp = match wanted.kind {
            MoveKind::Join => wanted.amounts[0] * self.pool.supply / self.pool.pooled[0],
            MoveKind::Exit => wanted.lp_amount,
        };
        let share = |at: usize| self.pool.pooled[at] * lp / self.pool.supply;
        let moved = Moved {
            pooled: [share(0), share(1)],
            lp,
            fee: 0,
        };
        let mut change = |token, amount: Amount, grows: bool| {
            let held = self.held.entry(token).or_default();
            *held = if grows {
                *held + amount
            } else {
                *held - amount
            };
        };
        let joins = wanted.kind == MoveKind::Join;
        change(BASE, moved.pooled[0], !joins);
        change(QUOTE, moved.pooled[1], !joins);
        change(LP, lp, joins);
        for at in 0..2 {
            let pooled = &mut self.pool.pooled[at];
            *pooled = if joins {
                *pooled + moved.pooled[at]
            } else {
                *pooled - moved.pooled[at]
            };
        }
        self.pool.supply = if joins {
            self.pool.supply + lp
        } else {
            self.pool.supply - lp
        };
        self.show(id, MoveStatus::Processed, moved);
    }

    /// Puts a move on the list, or changes it there.
    fn show(&mut self, id: ClientOrderId, status: MoveStatus, moved: Moved) {
        let (hash, wanted) = &self.sealed[&id];
        self.list.retain(|known| known.hash != *hash);
        self.list.push(MoveReport {
            hash: *hash,
            kind: wanted.kind,
            status,
            moved,
            created: wanted.made_at.plus_ms(2),
        });
    }

    fn take(&mut self, sent: Sent) {
        let hash = self.sealed[&sent.id].0;
        self.answer(
            sent.request,
            Outcome::Reply(Reply::Submitted {
                hash,
                status: OrderStatus::Processing,
                idempotent: false,
            }),
        );
    }

    fn lose(&mut self, sent: Sent) {
        self.answer(sent.request, Outcome::Unknown(UnknownCause::Timeout));
    }

    fn booked(&self) -> Vec<&PoolMove> {
        let mut booked = Vec::new();
        for note in &self.notes {
            if let Note::Moved(moved) = note {
                booked.push(moved);
            }
        }
        booked
    }

    fn ends(&self) -> Vec<End> {
        let end = |note: &Note| match note {
            Note::MoveEnded { end, .. } => Some(*end),
            _ => None,
        };
        self.notes.iter().filter_map(end).collect()
    }

    fn refused(&self, wanted: Control) -> bool {
        let is =
            |note: &Note| matches!(note, Note::RiskRefused { control, .. } if *control == wanted);
        self.notes.iter().any(is)
    }

    fn invariants(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for note in &self.notes {
            if let Note::InvariantFailed { name, .. } = note {
                names.push(name.as_str());
            }
        }
        names
    }

    fn count(&self, wanted: impl Fn(&Note) -> bool) -> usize {
        self.notes.iter().filter(|note| wanted(note)).count()
    }

    /// The books agree at a cut, and nothing is wrong.
    fn is_balanced(&mut self) {
        self.notes.retain(|note| !matches!(note, Note::Balanced));
        self.run_ms(5_000);
        assert!(self.count(|n| matches!(n, Note::Balanced)) > 0, "compared");
        assert_eq!(self.count(|n| matches!(n, Note::Mismatch { .. })), 0);
        assert_eq!(self.invariants(), [""; 0]);
    }
}

#[test]
fn a_join_goes_once_and_is_booked_from_what_was_moved() {
    let mut desk = Beside::new(1_000, limits(), Vec::new());
    let sent = desk.until_sent();
    assert_eq!(sent.endpoint, Endpoint::Join);
    let wanted = desk.sealed[&sent.id].1.clone();
    assert_eq!(wanted.amounts, [1_000_000, 100_000_000]);
    assert_eq!(wanted.lp_amount, 990, "one per cent of slippage");
    assert_eq!(wanted.storage_ids, [1, 1], "odd, a counter a token");
    desk.settle(sent.id);
    desk.take(sent);
    desk.is_balanced();
    assert_eq!(desk.booked().len(), 1);
    assert_eq!(desk.booked()[0].moved.lp, 1_000);
    assert_eq!(desk.ends(), [End::Filled]);
    assert!(desk.sent.is_empty(), "what is held is what is wanted");
}

#[test]
fn an_exit_burns_the_difference_and_its_fee_comes_out_of_it() {
    let mut desk = Beside::new(250, limits(), Vec::new());
    desk.held.insert(LP, 1_000);
    let sent = desk.until_sent();
    assert_eq!(sent.endpoint, Endpoint::Exit);
    let wanted = desk.sealed[&sent.id].1.clone();
    assert_eq!((wanted.kind, wanted.lp_amount), (MoveKind::Exit, 750));
    assert_eq!(
        wanted.amounts,
        [742_500, 74_250_000],
        "750 shares less one per cent"
    );
    assert_eq!(wanted.storage_ids, [1]);
    desk.settle(sent.id);
    desk.take(sent);
    desk.is_balanced();
    assert_eq!(desk.ends(), [End::Filled]);
}

#[test]
fn an_answer_lost_after_processing_is_found_on_the_list() {
    let mut desk = Beside::new(1_000, limits(), Vec::new());
    let sent = desk.until_sent();
    desk.settle(sent.id);
    desk.lose(sent);
    desk.is_balanced();
    assert_eq!(desk.booked().len(), 1);
    assert_eq!(desk.sent.len(), 0, "nothing is sent again");
}

#[test]
fn an_answer_lost_before_processing_leads_to_the_same_bytes_again() {
    let mut desk = Beside::new(1_000, limits(), Vec::new());
    let first = desk.until_sent();
    desk.lose(first);
    let again = desk.until_sent();
    assert_eq!(again.id, first.id, "the same intent");
    assert_eq!(desk.sealed.len(), 1);
    desk.settle(again.id);
    // The first copy arrives late: the venue knows it.
    desk.settle(first.id);
    desk.answer(again.request, Outcome::Refused(Reason::InvalidNonce));
    desk.is_balanced();
    assert_eq!(desk.booked().len(), 1);
    assert_eq!(desk.ends(), [End::Filled]);
}

#[test]
fn a_move_that_nobody_answers_for_ends_by_the_fence_and_only_there() {
    let mut desk = Beside::new(1_000, limits(), Vec::new());
    let first = desk.until_sent();
    desk.lose(first);
    // Expiry is 20 s, grace 3 s; every copy is lost.
    for _ in 0..22 {
        desk.run_ms(1_000);
        while let Some(sent) = desk.sent.pop_front() {
            assert_eq!(sent.id, first.id, "nothing else before the fence");
            desk.lose(sent);
        }
    }
    assert_eq!(desk.ends(), []);
    desk.run_ms(4_000);
    assert_eq!(desk.ends(), [End::Fenced]);
    let next = desk.until_sent();
    assert_ne!(next.id, first.id);
    let ids = &desk.sealed[&next.id].1.storage_ids;
    assert_eq!(*ids, [3, 3], "ids are never used twice");
}

#[test]
fn a_refusal_that_a_twin_can_cause_ends_nothing() {
    let mut desk = Beside::new(1_000, limits(), Vec::new());
    let first = desk.until_sent();
    desk.settle(first.id);
    desk.answer(first.request, Outcome::Refused(Reason::InsufficientBalance));
    desk.is_balanced();
    assert_eq!(desk.ends(), [End::Filled]);
}

#[test]
fn a_refusal_that_proves_it_ends_the_move_and_pauses() {
    let mut desk = Beside::new(1_000, limits(), Vec::new());
    let first = desk.until_sent();
    desk.answer(first.request, Outcome::Refused(Reason::InvalidArgument));
    assert_eq!(desk.ends(), [End::Refused]);
    desk.run_ms(990);
    assert!(desk.sent.is_empty(), "a second's pause");
    assert_ne!(desk.until_sent().id, first.id);
}

#[test]
fn a_move_that_fails_late_moves_nothing() {
    let mut desk = Beside::new(1_000, limits(), Vec::new());
    let sent = desk.until_sent();
    desk.show(sent.id, MoveStatus::Processing, Moved::default());
    desk.take(sent);
    desk.run_ms(30_000);
    assert_eq!(desk.ends(), [], "undecided, whatever the time");
    assert!(desk.sent.is_empty());
    desk.show(sent.id, MoveStatus::Cancelled, Moved::default());
    desk.run_ms(2_000);
    assert_eq!(desk.ends(), [End::FailedLate]);
    assert_eq!(desk.booked().len(), 0);
}

#[test]
fn a_move_that_the_venue_took_and_forgot_is_an_alarm() {
    let mut desk = Beside::new(1_000, limits(), Vec::new());
    let sent = desk.until_sent();
    desk.take(sent);
    desk.run_ms(30_000);
    assert_eq!(desk.invariants(), ["move_vanished"]);
    assert_eq!(desk.ends(), [End::Fenced]);
}

#[test]
fn a_report_beyond_the_signed_limits_is_booked_and_an_alarm() {
    let mut desk = Beside::new(1_000, limits(), Vec::new());
    let sent = desk.until_sent();
    let moved = Moved {
        pooled: [1_000_001, 100_000_000],
        lp: 1_000,
        fee: 0,
    };
    desk.show(sent.id, MoveStatus::Processed, moved);
    desk.take(sent);
    desk.run_ms(2_000);
    assert_eq!(desk.booked().len(), 1);
    assert_eq!(desk.invariants(), ["move_limits"]);
}

/// What a run had transmitted when it died.
fn left_behind() -> (Beside, RecoveredMove) {
    let mut before = Beside::new(1_000, limits(), Vec::new());
    let sent = before.until_sent();
    let (hash, wanted) = before.sealed[&sent.id].clone();
    (before, RecoveredMove { wanted, hash })
}

#[test]
fn after_a_crash_a_move_that_was_processed_is_found_and_not_repeated() {
    let (mut before, open) = left_behind();
    before.settle(open.wanted.client_id);
    let mut desk = Beside::new(1_000, limits(), vec![open]);
    (desk.list, desk.held, desk.pool) = (before.list, before.held, before.pool);
    desk.is_balanced();
    assert_eq!(desk.ends(), [End::Filled]);
    assert!(desk.sent.is_empty(), "exactly one join over both lives");
    assert_eq!(desk.held[&LP], 1_000);
}

#[test]
fn after_a_crash_a_move_that_never_arrived_blocks_until_its_fence() {
    let (_, open) = left_behind();
    let first = open.wanted.client_id;
    let mut desk = Beside::new(1_000, limits(), vec![open]);
    desk.run_ms(20_000);
    assert_eq!(desk.count(|n| matches!(n, Note::Ready { .. })), 0);
    assert!(
        desk.sent.is_empty(),
        "its bytes leave no more, nor do others"
    );
    desk.run_ms(8_000);
    assert_eq!(desk.ends(), [End::Fenced]);
    let sent = desk.until_sent();
    assert_ne!(sent.id, first);
}

#[test]
fn a_batch_that_is_not_durable_never_leaves() {
    let mut desk = Beside::new(1_000, limits(), Vec::new());
    desk.store_works = false;
    desk.run_ms(5_000);
    assert!(desk.sent.is_empty());
    assert_eq!(desk.ends(), [End::NeverSent]);
}

#[test]
fn every_limit_of_a_pool_holds_on_both_sides() {
    let refuses = |change: fn(&mut PoolConfig), control| {
        let mut config = limits();
        change(&mut config.pools[0]);
        let mut desk = Beside::new(1_000, config, Vec::new());
        desk.run_ms(3_000);
        assert_eq!(desk.sent.is_empty(), desk.refused(control));
        desk.refused(control)
    };
    // A thousand shares are worth 200.
    assert!(refuses(
        |c| c.move_value_max = 199_999_999,
        Control::OrderValue
    ));
    assert!(!refuses(
        |c| c.move_value_max = 200_000_000,
        Control::OrderValue
    ));
    assert!(refuses(|c| c.value_max = 199_999_999, Control::OrderValue));
    assert!(!refuses(|c| c.value_max = 200_000_000, Control::OrderValue));
    assert!(refuses(|c| c.fee_max = 99_900_000_001, Control::Balance));
    assert!(!refuses(|c| c.fee_max = 99_900_000_000, Control::Balance));
}

#[test]
fn nothing_moves_while_pool_and_book_disagree_or_the_pool_is_closed() {
    let mut desk = Beside::new(1_000, limits(), Vec::new());
    desk.pool.pooled[1] += desk.pool.pooled[1] / 100 + 1;
    desk.run_ms(3_000);
    assert!(desk.sent.is_empty() && desk.refused(Control::PoolDivergence));
    desk.pool.pooled[1] -= 1;
    desk.until_sent();
    let mut desk = Beside::new(0, limits(), Vec::new());
    desk.held.insert(LP, 1_000);
    desk.listed = false;
    if let Some(Event::Start(start)) = &mut desk.start {
        start.pools[0].exits = false;
    }
    desk.run_ms(3_000);
    assert!(desk.sent.is_empty() && desk.refused(Control::Permission));
    desk.listed = true;
    desk.run_ms(60_000);
    assert_eq!(desk.until_sent().endpoint, Endpoint::Exit);
}

#[test]
fn funds_bound_by_a_move_are_not_there_for_another_and_the_band_counts_it() {
    let mut config = limits();
    config.markets[0].inventory_min = 499_000_001;
    let mut desk = Beside::new(1_000, config.clone(), Vec::new());
    desk.run_ms(3_000);
    assert!(desk.sent.is_empty() && desk.refused(Control::InventoryBand));
    config.markets[0].inventory_min = 499_000_000;
    Beside::new(1_000, config, Vec::new()).until_sent();
}

#[test]
fn somebody_elses_join_is_told_once_and_our_own_earlier_ones_are_not() {
    let mut desk = Beside::new(0, limits(), Vec::new());
    let foreign = |n: u8, created| MoveReport {
        hash: Hash([n; 32]),
        kind: MoveKind::Join,
        status: MoveStatus::Processed,
        moved: Moved::default(),
        created,
    };
    desk.list = vec![foreign(200, ORIGIN.minus_ms(5_000))];
    desk.run_ms(5_000);
    desk.list.push(foreign(201, desk.venue_now()));
    desk.run_ms(200_000);
    assert_eq!(desk.count(|n| matches!(n, Note::ForeignMove { .. })), 1);
}

#[test]
fn ending_leaves_the_shares_and_waits_for_the_undecided_move() {
    let mut desk = Beside::new(1_000, limits(), Vec::new());
    let sent = desk.until_sent();
    desk.lose(sent);
    desk.hear(&Event::Operator(Command::Drain));
    desk.run_ms(10_000);
    assert_eq!(desk.finished, None, "unknown is not failure");
    desk.settle(sent.id);
    desk.run_ms(10_000);
    assert_eq!(desk.finished, Some(true));
    assert_eq!(desk.ends(), [End::Filled]);
    assert!(desk.sent.is_empty(), "no exit on the way out");
}

/// Everything held is worth 150 000 000 000 at the mid. Losses are measured with a join of a thousand
/// shares, 200 000 000 in value, and an exit of all of them.
fn joined(change: impl Fn(&mut EngineConfig)) -> Beside {
    let mut config = limits();
    change(&mut config);
    let mut desk = Beside::new(1_000, config, Vec::new());
    // The value is looked at before the join.
    desk.run_ms(1_200);
    let sent = desk.until_sent();
    desk.settle(sent.id);
    desk.take(sent);
    desk.run_ms(5_000);
    assert_eq!(desk.booked().len(), 1);
    desk
}

fn levels(desk: &Beside) -> usize {
    desk.count(|n| matches!(n, Note::LevelChanged { .. } | Note::Paused(_)))
}

fn strict(most: Amount) -> impl Fn(&mut EngineConfig) {
    move |c| {
        c.risk.move_bps = 10_000;
        let loss = &mut c.markets[0].loss;
        (loss.hour_max, loss.day_max) = (most, most);
        (loss.total_max, loss.drawdown_max) = (Amount::MAX, most);
    }
}

#[test]
fn a_join_is_no_loss_and_what_is_lost_in_the_pool_is() {
    // Nothing but a rounding of two units moved.
    let mut desk = joined(strict(2));
    assert_eq!(levels(&desk), 0, "{:?}", desk.notes);
    // Somebody takes a thousandth of what the pool holds of quote: our part of that is gone.
    desk.pool.pooled[1] -= POOL.pooled[1] / 1_000;
    desk.run_ms(5_000);
    assert!(levels(&desk) > 0);
    // A thousand of 1 001 000 shares.
    let lost = POOL.pooled[1] / 1_001_000;
    for (most, stopped) in [(lost + 2, false), (lost - 2, true)] {
        let mut desk = joined(strict(most));
        desk.pool.pooled[1] -= POOL.pooled[1] / 1_000;
        desk.run_ms(5_000);
        assert_eq!(levels(&desk) > 0, stopped, "{most} of {lost}");
    }
}

#[test]
fn shares_that_a_person_adopts_are_no_gain_and_those_held_at_the_start_neither() {
    let desk_with = |held: Amount| {
        let mut config = limits();
        strict(2)(&mut config);
        let mut desk = Beside::new(held + 1_000, config, Vec::new());
        desk.held.insert(LP, held);
        desk
    };
    let mut desk = desk_with(1_000);
    desk.run_ms(1_200);
    let sent = desk.until_sent();
    let shares = Command::Adopt {
        token: LP,
        amount: -500,
        reason: "sent away".to_owned(),
    };
    desk.held.insert(LP, 500);
    desk.hear(&Event::Operator(shares));
    desk.settle(sent.id);
    desk.take(sent);
    desk.run_ms(5_000);
    assert_eq!(levels(&desk), 0, "{:?}", desk.notes);
}

#[test]
fn shares_count_in_the_gross_exposure() {
    // 50 000 000 000 of base are held; the join adds 100 000 000 of quote, and of base nothing.
    let worth = 50_000_000_000 + 100_000_000;
    for (most, joins) in [(worth, true), (worth - 1, false)] {
        let mut config = limits();
        config.risk.gross_max = BTreeMap::from([(QUOTE, most)]);
        let mut desk = Beside::new(1_000, config, Vec::new());
        desk.run_ms(3_000);
        assert_eq!(!desk.sent.is_empty(), joins);
        assert_eq!(desk.refused(Control::GrossExposure), !joins);
    }
    // What is held already counts in full for the next one.
    for (most, joins) in [(worth + 100_000_000, true), (worth + 99_999_999, false)] {
        let mut config = limits();
        config.risk.gross_max = BTreeMap::from([(QUOTE, most)]);
        let mut desk = Beside::new(2_000, config, Vec::new());
        desk.held.insert(LP, 1_000);
        desk.held.insert(BASE, 499_000_000);
        desk.run_ms(3_000);
        assert_eq!(!desk.sent.is_empty(), joins, "{most}");
    }
}
