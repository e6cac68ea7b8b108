//! The seal worker on a real store: what it answers, and what is on disk.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use std::path::Path;
use std::sync::Arc;

use cambist_core::books::{Baselines, Booking, Entry, Position};
use cambist_core::event::{BatchId, Event, Rate, Restrictions, SealFailure, TradingState};
use cambist_core::notification::{End, Fill, PoolTransactionSettlement};
use cambist_core::order::{FillBy, UnsignedOrder};
use cambist_core::pool::{PoolBalances, PoolTransactionAmounts};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{
    ClientOrderId, Intent, MarketId, OrderKind, PoolSpec, PoolTransactionKind, Price, Qty, Side,
    StrategyId, TokenId, VenueTime,
};
use cambist_protocol::encode::sign_order;
use cambist_protocol::encode_move::Owner;
use cambist_signing::eip712::Domain;
use cambist_signing::{
    Address, CancelRequest, OrderMessage, PoolExitMessage, PoolJoinMessage, PublicKey,
    RequestSigner, SecretKey, Signature, SignerError,
};
use cambist_store::history::{self, Filter, RecordKind};
use cambist_store::{Filled, Listing, SetParameter, Store, StoreError, flows, parameters, view};
use tempfile::TempDir;
use tokio::sync::mpsc;

use super::SealWorker;
use crate::live::LoopMessage;
use crate::live::task_thread::TaskThread;
use crate::telemetry::Telemetry;
use crate::telemetry::tests::{about, token};
use crate::venues::exchange::seal::Signer;
use cambist_host::clock::Clock;

const ETH: TokenId = TokenId(0);
const USDC: TokenId = TokenId(1);
const SHARES: TokenId = TokenId(9);
const EXCHANGE: Address = Address([0xe0; 20]);
const ACCOUNT: u32 = 4711;

fn key() -> SecretKey {
    SecretKey::from_hex("0x1234").unwrap()
}

fn pool() -> PoolSpec {
    PoolSpec {
        market: MarketId(0),
        name: "AMM-ETH-USDC".to_owned(),
        address: [7; 20],
        pooled: [ETH, USDC],
        lp: token(9, "LP", 8),
        joins: true,
        exits: true,
        swaps: true,
        fee_bips: 20,
        in_range: false,
    }
}

struct Stage {
    worker: SealWorker,
    inbox: mpsc::Receiver<LoopMessage>,
    telemetry: Arc<Telemetry>,
    instance: u32,
    next: u64,
    folder: TempDir,
}

impl Stage {
    /// A worker that knows the fills of an order of an earlier run.
    fn open(recovered: &[(ClientOrderId, Filled)]) -> Self {
        Self::with(recovered, Arc::new(key()))
    }

    fn with(recovered: &[(ClientOrderId, Filled)], key: Arc<dyn RequestSigner>) -> Self {
        let folder = crate::testing::private_folder();
        let mut store = Store::open(folder.path()).unwrap();
        let found = store.recover(&["ETH-USDC".to_owned()]).unwrap();
        let listing = Listing {
            charged_as: None,
            account: None,
            markets: about().markets,
            pools: vec![pool()],
            tokens: vec![token(0, "ETH", 18), token(1, "USDC", 6)],
        };
        let (books, _) = store.books(&listing).unwrap();
        store
            .count_results(&listing, &["bands".to_owned()], &books)
            .unwrap();
        let signer = Signer {
            key,
            exchange: EXCHANGE,
            account_id: ACCOUNT,
            owner: Owner {
                address: Address([5; 20]),
                chain_id: 1,
            },
            pools: vec![pool()],
        };
        let telemetry = Arc::new(Telemetry::new(about(), Clock::new()).unwrap());
        let (sender, inbox) = mpsc::channel(64);
        let worker = SealWorker::start(
            store,
            Box::new(signer),
            recovered,
            0,
            Arc::clone(&telemetry),
            sender,
        );
        Self {
            worker: worker.unwrap(),
            inbox,
            telemetry,
            instance: found.instance,
            next: found.next_number,
            folder,
        }
    }

    fn dir(&self) -> &Path {
        self.folder.path()
    }

    /// The order after those before, which the exchange would accept.
    fn order(&mut self) -> UnsignedOrder {
        let number = self.next;
        self.next += 1;
        UnsignedOrder {
            client_id: ClientOrderId {
                instance: self.instance,
                strategy: StrategyId(0),
                number,
            },
            market: MarketId(0),
            side: Side::Sell,
            price: Price(250_000),
            qty: Qty(10),
            kind: OrderKind::MakerOnly,
            swap: None,
            sell_token: ETH,
            sell_amount: 1_000_000_000_000_000,
            buy_token: USDC,
            buy_amount: 2_500_000,
            fill_by: FillBy::Sell,
            slot: u32::try_from(number).unwrap() * 2 % 16_000,
            accepted_until_s: 1_800_000_000,
            rests_until_s: Some(1_800_000_000),
            max_fee_bips: 20,
            made_at: VenueTime(1_799_999_990_000),
        }
    }

    fn seal(&mut self, orders: &[&UnsignedOrder]) -> LoopMessage {
        let intents = orders.iter().map(|order| Intent::Order((*order).clone()));
        self.worker.seal(BatchId(77), intents.collect()).unwrap();
        self.inbox.blocking_recv().unwrap()
    }

    /// Books these entries; whether they are durable, if an operator waits for it.
    fn book(&mut self, booking: Booking) -> Option<bool> {
        let answered = booking.is_asked_for();
        let symbols = SortedMap::from([(ETH, "ETH".to_owned())]);
        let pools = SortedMap::from([(
            MarketId(0),
            PoolBalances::constant_product([10_u128.pow(19), 25_000_000_000], 1_000_000),
        )]);
        self.worker.book(Box::new(booking), symbols, pools).unwrap();
        answered.then(|| match self.inbox.blocking_recv() {
            Some(LoopMessage::Booked { durable }) => durable,
            other => panic!("{other:?}"),
        })
    }

    /// Waits until everything so far is done: true if it is durable.
    fn settle(&mut self) -> bool {
        let entries = vec![flow(1)];
        let booking = Booking {
            entries,
            ..Booking::default()
        };
        self.book(booking).unwrap()
    }

    fn metric(&self, series: &str) -> String {
        let page = self.telemetry.render().unwrap();
        let mut lines = page.lines();
        let found = lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        found
            .unwrap_or_else(|| panic!("no {series} in {page}"))
            .to_owned()
    }

    fn rows(&self, kind: RecordKind) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        history::each(self.dir(), kind, &Filter::default(), |row| {
            rows.push(row);
            Ok::<_, StoreError>(())
        })
        .unwrap();
        rows
    }

    /// What another program does to the database makes the next write fail.
    fn break_table(&self, table: &str) {
        let database = rusqlite::Connection::open(self.dir().join(cambist_store::FILE)).unwrap();
        database
            .execute_batch(&format!("DROP TABLE {table}"))
            .unwrap();
    }
}

fn flow(amount: i128) -> Entry {
    Entry::Flow {
        token: ETH,
        amount,
        reason: "a deposit".to_owned(),
    }
}

fn fill(order: &UnsignedOrder, base: u128, quote: u128, fee: u128) -> Entry {
    Entry::Fill(Fill {
        order: order.client_id,
        market: order.market,
        side: order.side,
        base,
        quote,
        fee,
        mid: None,
    })
}

fn booking(entries: Vec<Entry>) -> Booking {
    Booking {
        entries,
        ..Booking::default()
    }
}

#[test]
fn a_batch_is_signed_stored_and_answered_with_its_bytes() {
    let mut stage = Stage::open(&[]);
    let orders = [stage.order(), stage.order()];
    let LoopMessage::Sealed {
        batch,
        hashes,
        bodies,
    } = stage.seal(&[&orders[0], &orders[1]])
    else {
        panic!("not sealed")
    };
    assert_eq!(batch, BatchId(77));
    let signed = orders
        .each_ref()
        .map(|order| sign_order(order, EXCHANGE, ACCOUNT, &[pool()], &key()).unwrap());
    for (at, (order, signed)) in orders.iter().zip(&signed).enumerate() {
        assert_eq!(hashes[at], (order.client_id, signed.hash));
        assert_eq!(bodies[at].0, order.client_id);
        assert_eq!(&bodies[at].1[..], &signed.body[..]);
    }
    assert_eq!((hashes.len(), bodies.len()), (2, 2));
    let stored = view::remembered(stage.dir()).unwrap();
    let stored: Vec<_> = stored
        .values()
        .map(|order| (order.client_id, order.hash))
        .collect();
    assert_eq!(stored, hashes);
    assert_eq!(stage.metric("cambist_journal_appends_total"), "2");
    assert_eq!(
        stage.metric("cambist_journal_fsync_duration_seconds_count"),
        "1"
    );
    assert_ne!(stage.metric("cambist_journal_size_bytes"), "0");
    assert!(stage.worker.finish());
}

/// Its end is not written either: the store does not know it.
#[test]
fn what_cannot_be_signed_is_not_stored_and_needs_no_end() {
    let mut stage = Stage::open(&[]);
    let mut order = stage.order();
    order.rests_until_s = None;
    let LoopMessage::Event(Event::SealFailed { batch, cause }) = stage.seal(&[&order]) else {
        panic!("sealed")
    };
    assert_eq!((batch, cause), (BatchId(77), SealFailure::Signature));
    assert!(view::remembered(stage.dir()).unwrap().is_empty());
    let ended = || Entry::Ended(order.client_id, End::NeverSent);
    assert_eq!(stage.book(booking(vec![ended(), flow(2)])), Some(true));
    // A second end would be one of an order that is not open.
    assert_eq!(stage.book(booking(vec![ended(), flow(3)])), Some(false));
    assert_eq!(
        stage.metric("cambist_journal_errors_total{operation=\"note\"}"),
        "1"
    );
    assert_eq!(
        flows::explained(stage.dir()).unwrap().len(),
        2,
        "the rest was written"
    );
}

#[test]
fn what_the_store_refuses_is_not_sent_and_needs_no_end() {
    let mut stage = Stage::open(&[]);
    let first = stage.order();
    assert!(matches!(stage.seal(&[&first]), LoopMessage::Sealed { .. }));
    let mut second = stage.order();
    second.slot = first.slot;
    let LoopMessage::Event(Event::SealFailed { cause, .. }) = stage.seal(&[&second]) else {
        panic!("a slot was used twice")
    };
    assert_eq!(cause, SealFailure::Store);
    assert_eq!(
        stage.metric("cambist_journal_errors_total{operation=\"seal\"}"),
        "1"
    );
    let ended = Entry::Ended(second.client_id, End::NeverSent);
    assert_eq!(stage.book(booking(vec![ended, flow(2)])), Some(true));
    let stored = view::remembered(stage.dir()).unwrap();
    assert_eq!(stored.len(), 1);
    assert!(stage.worker.finish(), "a refusal is no failed write");
}

#[test]
fn an_end_has_the_sum_of_all_fills_of_this_run_and_earlier_ones() {
    let mut stage = Stage::open(&[]);
    let order = stage.order();
    stage.seal(&[&order]);
    let Stage { worker, folder, .. } = stage;
    assert!(worker.finish());
    // The next run knows what the store has.
    let mut store = Store::open(folder.path()).unwrap();
    store.recover(&["ETH-USDC".to_owned()]).unwrap();
    let signer = Signer {
        key: Arc::new(key()),
        exchange: EXCHANGE,
        account_id: ACCOUNT,
        owner: Owner {
            address: Address([5; 20]),
            chain_id: 1,
        },
        pools: Vec::new(),
    };
    let recovered = Filled {
        base: 100,
        quote: 200,
        fee: 300,
    };
    let telemetry = Arc::new(Telemetry::new(about(), Clock::new()).unwrap());
    let (sender, _inbox) = mpsc::channel(64);
    let open = [(order.client_id, recovered)];
    let worker = SealWorker::start(store, Box::new(signer), &open, 30, telemetry, sender).unwrap();
    let entries = vec![
        fill(&order, 1, 20, 7),
        fill(&order, 2, 30, 5),
        Entry::Ended(order.client_id, End::Cancelled),
    ];
    worker
        .book(
            Box::new(booking(entries)),
            SortedMap::new(),
            SortedMap::new(),
        )
        .unwrap();
    worker.prune().unwrap();
    assert!(worker.finish());
    let database = rusqlite::Connection::open(folder.path().join(cambist_store::FILE)).unwrap();
    let ends = "SELECT end, base, quote, fee FROM ends";
    let row = database.query_row(ends, [], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    });
    let text = |text: &str| text.to_owned();
    let expected: (String, String, String, String) =
        (text("cancelled"), text("103"), text("250"), text("312"));
    assert_eq!(row.unwrap(), expected);
    let stored = view::remembered(folder.path()).unwrap();
    assert_eq!(stored.len(), 1, "kept for its days");
    let filled = stored.values().next().unwrap().filled;
    assert_eq!(
        (filled.base, filled.quote, filled.fee),
        (3, 50, 12),
        "fills are rows of their own"
    );
}

#[test]
fn amounts_of_a_join_are_written_with_its_end() {
    let mut stage = Stage::open(&[]);
    let id = stage.order().client_id;
    let transaction = cambist_core::pool::UnsignedPoolTransaction {
        client_id: id,
        market: MarketId(0),
        kind: PoolTransactionKind::Join,
        pooled: [ETH, USDC],
        amounts: [10_u128.pow(18), 2_500_000_000],
        lp: SHARES,
        lp_amount: 5,
        storage_ids: vec![1, 3],
        fee_max: 3,
        valid_until_s: 1_800_000_000,
        made_at: VenueTime(1_799_999_990_000),
    };
    let intents = vec![Intent::PoolTransaction(transaction.clone())];
    stage.worker.seal(BatchId(78), intents).unwrap();
    let sealed = stage.inbox.blocking_recv().unwrap();
    assert!(matches!(sealed, LoopMessage::Sealed { .. }), "{sealed:?}");
    let moved = PoolTransactionSettlement {
        order: id,
        market: MarketId(0),
        kind: PoolTransactionKind::Join,
        pooled: [ETH, USDC],
        lp: SHARES,
        amounts: PoolTransactionAmounts {
            pooled: [41, 42],
            lp: 43,
            fee: 44,
        },
        mid: None,
    };
    let entries = vec![Entry::Moved(moved), Entry::Ended(id, End::Filled), flow(1)];
    assert_eq!(stage.book(booking(entries)), Some(true));
    let rows = stage.rows(RecordKind::Pools);
    assert_eq!(rows.len(), 1);
    assert_eq!(
        rows[0][4..10],
        [
            "0.000000000000000041",
            "ETH",
            "0.000042",
            "USDC",
            "0.00000043",
            "0.000044"
        ]
    );
    let ended = view::remembered_moves(stage.dir()).unwrap();
    assert_eq!(ended[0].end.as_deref(), Some("filled"));
    // A pool that is not configured cannot be signed for.
    let elsewhere = cambist_core::pool::UnsignedPoolTransaction {
        client_id: stage.order().client_id,
        market: MarketId(3),
        ..transaction
    };
    stage
        .worker
        .seal(BatchId(79), vec![Intent::PoolTransaction(elsewhere)])
        .unwrap();
    let refused = stage.inbox.blocking_recv().unwrap();
    let cause = SealFailure::Signature;
    let batch = BatchId(79);
    assert!(
        matches!(&refused, LoopMessage::Event(event) if *event == Event::SealFailed { batch, cause }),
        "{refused:?}"
    );
}

#[test]
fn flows_have_the_symbols_that_came_with_them() {
    let mut stage = Stage::open(&[]);
    let other = Entry::Flow {
        token: USDC,
        amount: -5,
        reason: "a fee".to_owned(),
    };
    let slot = Entry::SlotTaken {
        token: ETH,
        number: 9,
    };
    let entries = vec![flow(6), other, Entry::LossesForgotten, slot];
    assert_eq!(stage.book(booking(entries)), Some(true));
    let flows = flows::explained(stage.dir()).unwrap();
    let found: Vec<_> = flows
        .iter()
        .map(|flow| (flow.symbol.as_str(), flow.amount, flow.reason.as_str()))
        .collect();
    assert_eq!(found, [("ETH", 6, "a deposit"), ("", -5, "a fee")]);
}

/// Shares are valued by the balances of their pool that come with a booking.
#[test]
fn profit_and_loss_is_shown_with_the_pools_balances() {
    let mut stage = Stage::open(&[]);
    let position = |base| Position {
        base,
        cash: 0,
        baselines: Some(Baselines {
            mid: Rate {
                quote: about().markets[0].quote_per_lot_tick * 500_000,
                base: about().markets[0].lot * 2,
            },
            ..Baselines::default()
        }),
    };
    let opening = Booking {
        entries: vec![flow(1)],
        opens: true,
        ledger: [(ETH, 10_i128.pow(18)), (USDC, 1_000_000), (SHARES, 1_000)].into(),
        positions: [(MarketId(0), position(10_i128.pow(18)))].into(),
        ..Booking::default()
    };
    assert_eq!(stage.book(opening), Some(true));
    let series =
        "cambist_pnl_quote_units{cause=\"holdings\",market=\"ETH-USDC\",strategy=\"account\"}";
    assert_eq!(stage.metric(series), "0");
}

#[test]
fn the_trading_state_is_answered_when_it_is_durable() {
    let mut stage = Stage::open(&[]);
    let halted = Restrictions::of(TradingState::Halted);
    stage
        .worker
        .restrictions(halted.clone(), "a cause".to_owned(), false)
        .unwrap();
    let stored = stage.inbox.blocking_recv().unwrap();
    let expected = Event::RestrictionsStored(halted);
    assert!(
        matches!(&stored, LoopMessage::Event(event) if *event == expected),
        "{stored:?}"
    );
    let level = view::level(stage.dir()).unwrap();
    assert_eq!(level, (TradingState::Halted, "a cause".to_owned()));
    // The daemon itself cannot make it less restrictive; an operator can.
    let active = || Restrictions::of(TradingState::Active);
    for (lowers, expected) in [
        (false, Event::RestrictionsFailed(active())),
        (true, Event::RestrictionsStored(active())),
    ] {
        stage
            .worker
            .restrictions(active(), "fine".to_owned(), lowers)
            .unwrap();
        let answer = stage.inbox.blocking_recv().unwrap();
        assert!(
            matches!(&answer, LoopMessage::Event(event) if *event == expected),
            "{answer:?}"
        );
    }
    assert_eq!(
        stage.metric("cambist_journal_errors_total{operation=\"level\"}"),
        "1"
    );
}

#[test]
fn parameters_are_answered_when_they_are_durable() {
    let mut stage = Stage::open(&[]);
    let one = SetParameter {
        market: "ETH-USDC".to_owned(),
        strategy: "bands".to_owned(),
        key: "bid_spread_bps".to_owned(),
        value: Some("25".to_owned()),
        operator: "alice".to_owned(),
        reason: "volatile".to_owned(),
        at_us: 7,
    };
    stage.worker.parameters(vec![one.clone()]).unwrap();
    let stored = stage.inbox.blocking_recv().unwrap();
    assert!(matches!(
        stored,
        LoopMessage::ParametersStored { durable: true }
    ));
    assert_eq!(
        parameters::set(stage.dir()).unwrap(),
        std::slice::from_ref(&one)
    );
    stage.break_table("parameters");
    stage.worker.parameters(vec![one]).unwrap();
    let failed = stage.inbox.blocking_recv().unwrap();
    assert!(matches!(
        failed,
        LoopMessage::ParametersStored { durable: false }
    ));
    assert!(!stage.worker.finish());
}

#[test]
fn old_intents_are_removed() {
    let mut stage = Stage::open(&[]);
    let orders = [stage.order(), stage.order()];
    stage.seal(&[&orders[0], &orders[1]]);
    let ended = Entry::Ended(orders[0].client_id, End::Expired);
    assert_eq!(stage.book(booking(vec![ended, flow(1)])), Some(true));
    stage.worker.prune().unwrap();
    assert!(stage.settle());
    let left = view::remembered(stage.dir()).unwrap();
    let left: Vec<_> = left.values().map(|order| order.client_id).collect();
    assert_eq!(left, [orders[1].client_id]);
}

/// After a failed write nothing is sealed, and the run does not end well.
#[test]
fn a_failed_write_is_reported_and_stops_sealing() {
    let mut stage = Stage::open(&[]);
    stage.break_table("flows");
    assert!(!stage.settle());
    assert!(!stage.settle(), "nor is anything after it");
    assert_eq!(
        stage.metric("cambist_journal_errors_total{operation=\"note\"}"),
        "2"
    );
    let order = stage.order();
    let refused = stage.seal(&[&order]);
    let cause = SealFailure::Store;
    let batch = BatchId(77);
    assert!(
        matches!(&refused, LoopMessage::Event(event) if *event == Event::SealFailed { batch, cause }),
        "{refused:?}"
    );
    assert!(!stage.worker.finish());
}

/// A signer that refuses orders with some storage ids, and answers nothing about others.
struct Picky {
    refused: u32,
    away: u32,
    asked: std::sync::atomic::AtomicU32,
}

impl RequestSigner for Picky {
    fn public(&self) -> Result<PublicKey, SignerError> {
        Ok(key().public())
    }

    fn order(&self, message: &OrderMessage) -> Result<Signature, SignerError> {
        self.asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let id = message.storage_id;
        if id == self.refused {
            return Err(SignerError::Refused("price: too low".to_owned()));
        }
        if id == self.away {
            return Err(SignerError::Unavailable("no socket".to_owned()));
        }
        key().order(message)
    }

    fn join(&self, _: &Domain, _: &PoolJoinMessage) -> Result<Signature, SignerError> {
        Err(SignerError::Refused("pool".to_owned()))
    }

    fn exit(&self, _: &Domain, _: &PoolExitMessage) -> Result<Signature, SignerError> {
        Err(SignerError::Refused("pool".to_owned()))
    }

    fn cancel(&self, _: &CancelRequest) -> Result<Signature, SignerError> {
        Err(SignerError::Refused("account".to_owned()))
    }

    fn header(&self, _: &str) -> Result<Signature, SignerError> {
        Err(SignerError::Refused("kind".to_owned()))
    }

    fn blocks(&self) -> bool {
        true
    }
}

/// What a signer refuses is left out of its batch, and not stored; while it does not answer it is asked once a batch.
#[test]
fn what_a_signer_refuses_is_neither_sealed_nor_stored() {
    let asked = || std::sync::atomic::AtomicU32::new(0);
    let slots = |from: u64| [0, 1, 2].map(|more| u32::try_from(from + more).unwrap() * 2 % 16_000);
    let first = Stage::open(&[]).next;
    let signer = Arc::new(Picky {
        refused: slots(first)[1],
        away: slots(first + 3)[1],
        asked: asked(),
    });
    let mut stage = Stage::with(&[], Arc::clone(&signer) as Arc<dyn RequestSigner>);
    assert_eq!(stage.next, first);
    for (left_out, asked, series) in [
        (
            vec![1],
            3,
            "cambist_signatures_refused_total{cause=\"refused\"}",
        ),
        (
            vec![1, 2],
            2,
            "cambist_signatures_refused_total{cause=\"unavailable\"}",
        ),
    ] {
        signer.asked.store(0, std::sync::atomic::Ordering::SeqCst);
        let orders = [stage.order(), stage.order(), stage.order()];
        let all: Vec<_> = orders.iter().collect();
        let LoopMessage::Sealed { hashes, bodies, .. } = stage.seal(&all) else {
            panic!("not sealed");
        };
        let kept = (0..3).filter(|index| !left_out.contains(index));
        let kept: Vec<_> = kept.map(|index| orders[index].client_id).collect();
        let named: Vec<_> = hashes.iter().map(|(id, _)| *id).collect();
        assert_eq!((named, bodies.len()), (kept.clone(), kept.len()));
        assert_eq!(
            signer.asked.load(std::sync::atomic::Ordering::SeqCst),
            asked
        );
        assert_eq!(stage.metric(series), left_out.len().to_string());
        // The end of an order that was never stored needs no row.
        let ends = left_out
            .iter()
            .map(|index| Entry::Ended(orders[*index].client_id, End::NeverSent));
        assert_eq!(
            stage.book(booking(ends.chain([flow(1)]).collect())),
            Some(true)
        );
    }
    assert_eq!(view::remembered(stage.dir()).unwrap().len(), 3);
    assert!(stage.worker.finish());
}

impl SealWorker {
    /// One whose thread has ended: nothing can be made durable, as with a disk that is too slow.
    pub(crate) fn ended() -> Self {
        let worker = Self(TaskThread::start("ended", |_| true).unwrap());
        while worker.prune().is_ok() {
            std::thread::yield_now();
        }
        worker
    }
}
