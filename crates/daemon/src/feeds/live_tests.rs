#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::sync::mpsc::sync_channel;

use cambist_core::{Price, Qty, Time};
use cambist_host::clock::Clock;
use cambist_market_data::{DefectKind, Level};

use super::super::decode::Book;
use super::super::error::FeedErrorKind;
use super::*;
use crate::telemetry::feeds::FeedMetrics;

const HOUR_NANOS: i64 = 3_600_000_000_000;
/// 2026-09-13.
const NOW: Timestamp = Timestamp(1_789_300_000_000_000_000);

fn arrival(arrived: Timestamp, book: Result<Book, FeedError>) -> Arrival {
    Arrival::Book(BookArrival {
        arrived,
        sent: Time(0),
        received: Time(0),
        book,
    })
}

fn book() -> Book {
    let level = |price| {
        vec![Level {
            price: Price(price),
            qty: Qty(1),
        }]
    };
    Book {
        bids: level(100),
        asks: level(101),
        ..Book::default()
    }
}

/// The feed that these arrive from, and its series.
fn feed(arrivals: Vec<Arrival>) -> (LiveFeed, FeedSeries) {
    let metrics = FeedMetrics::new(&prometheus::Registry::new()).unwrap();
    let series = metrics.depth("ETH-USDC");
    let (sender, received) = sync_channel(arrivals.len());
    for arrival in arrivals {
        sender.send(arrival).unwrap();
    }
    let arrivals = Arrivals {
        received,
        series: Some(series.clone()),
    };
    let grid = Grid::parse("0.01", "0.0001").unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let time = RunTime::begin(Clock::new());
    let feed = LiveFeed::new("ETH-USDC", grid, arrivals, stop, (time, 5_000));
    (feed, series)
}

/// Local times and exchange times of all books.
fn times(feed: &mut LiveFeed) -> (Vec<Timestamp>, Vec<Timestamp>) {
    let mut times = (Vec::new(), Vec::new());
    while let Some(row) = feed.next_row().unwrap() {
        if let LiveRow::Snapshot(snapshot) = row {
            let age_nanos = snapshot.local_time.nanos_since(snapshot.exchange_time);
            assert!((0..60_000_000_000).contains(&age_nanos), "{age_nanos}");
            times.0.push(snapshot.local_time);
            times.1.push(snapshot.exchange_time);
        }
    }
    times
}

#[test]
fn a_clock_that_is_set_back_stops_no_times() {
    let back = NOW.plus_nanos(-HOUR_NANOS);
    let (feed, series) = feed(vec![
        arrival(NOW, Ok(book())),
        arrival(back, Ok(book())),
        arrival(back.plus_nanos(1_000_000), Ok(book())),
    ]);
    let mut feed = feed.following_the_wall_clock();
    let (times, of_exchange) = times(&mut feed);
    assert!(of_exchange.is_sorted_by(|a, b| a < b), "{of_exchange:?}");
    assert_eq!(times.len(), 3);
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    assert!(times[2].nanos_since(NOW) < HOUR_NANOS / 60, "{times:?}");
    // The metric is of the host's clock, as what it is compared with.
    let back_s = series.book_at().unwrap();
    assert!((back_s - 1_789_296_400.001).abs() < 1e-3, "{back_s}");
}

#[test]
fn a_feed_that_repeats_a_book_is_left_out_from_its_age_on() {
    let repeated = |second: u64| {
        let since = i64::try_from(second).unwrap() * 1_000_000_000;
        let book = Book {
            time: Some(NOW),
            ..book()
        };
        let Arrival::Book(mut arrival) = arrival(NOW.plus_nanos(since), Ok(book)) else {
            unreachable!()
        };
        (arrival.sent, arrival.received) = (Time(second * 1_000_000), Time(second * 1_000_000));
        Arrival::Book(arrival)
    };
    let (mut feed, series) = feed((100..120).map(repeated).collect());
    // 5 s, one of the resolution of its time, and one thousandth for clocks that drift.
    assert_eq!(times(&mut feed).0.len(), 7);
    assert_eq!(series.books(), 7);
    let stale = series
        .errors()
        .find(|(kind, _)| *kind == FeedErrorKind::Stale);
    assert_eq!(stale, Some((FeedErrorKind::Stale, 13)));
}

#[test]
fn answers_are_counted_by_what_they_are() {
    let error = |kind| Err(FeedError::new(kind, "what".to_owned()));
    let arrivals = FeedErrorKind::ALL.map(|kind| arrival(NOW, error(kind)));
    let (mut feed, series) = feed(arrivals.into());
    assert!(times(&mut feed).0.is_empty());
    assert!(series.errors().all(|(_, count)| count == 1));
    assert_eq!((series.books(), series.book_at()), (0, None));
    assert_eq!(feed.report().skipped(DefectKind::Unavailable), 3);
    for kind in FeedErrorKind::ALL {
        assert!(feed.report().skipped(kind.defect()) > 0, "{}", kind.name());
    }
}

/// A book that arrived so many seconds after the beginning, by the monotonic clock.
fn after(time: &RunTime, seconds: u64, wall: Timestamp, book: Book) -> Arrival {
    let Arrival::Book(mut arrival) = arrival(wall, Ok(book)) else {
        unreachable!()
    };
    arrival.received = time.clock().now().plus_ms(seconds * 1_000);
    arrival.sent = arrival.received;
    Arrival::Book(arrival)
}

#[test]
fn a_clock_that_is_set_invents_no_time_of_a_run() {
    let (begun, hour) = (RunTime::begin(Clock::new()), HOUR_NANOS);
    // An hour ahead, and back.
    let walls = [0, 0, hour, hour, 0, 0, -hour, -hour];
    let arrivals = walls.iter().zip(0..).map(|(wall, second)| {
        let wall = NOW.plus_nanos(wall + i64::try_from(second).unwrap() * 1_000_000_000);
        after(&begun, second, wall, book())
    });
    let (mut feed, _) = feed(arrivals.collect());
    let (times, _) = times(&mut feed);
    assert_eq!(times.len(), walls.len());
    for pair in times.windows(2) {
        assert_eq!(pair[1].nanos_since(pair[0]) / 1_000_000_000, 1, "{times:?}");
    }
    let report = feed.report();
    let lasted = report.last.unwrap().nanos_since(report.first.unwrap());
    assert!((7_000_000_000..8_000_000_000).contains(&lasted), "{lasted}");
}

#[test]
fn books_in_another_unit_are_left_out_and_counted() {
    let begun = RunTime::begin(Clock::new());
    let times_ten = || {
        let mut book = book();
        book.bids[0].price.0 *= 10;
        book.asks[0].price.0 *= 10;
        book
    };
    let arrivals = (0..30).map(|second| {
        let is_other = (10..19).contains(&second);
        let book = if is_other { times_ten() } else { book() };
        after(&begun, second, NOW, book)
    });
    let (mut feed, series) = feed(arrivals.collect());
    assert_eq!(times(&mut feed).0.len(), 21);
    assert_eq!(feed.report().skipped(DefectKind::MixedUnits), 9);
    let mixed = series
        .errors()
        .find(|(kind, _)| *kind == FeedErrorKind::MixedUnits);
    assert_eq!(mixed, Some((FeedErrorKind::MixedUnits, 9)));
}
