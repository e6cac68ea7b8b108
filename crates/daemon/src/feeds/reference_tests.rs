use cambist_core::{Price, Qty, Time};
use cambist_market_data::{Level, Timestamp};

use super::super::decode::Book;
use super::*;
use crate::telemetry::feeds::FeedMetrics;

const HOUR_MS: u64 = 3_600_000;

fn level(price: u64) -> Vec<Level> {
    vec![Level {
        price: Price(price),
        qty: Qty(1),
    }]
}

fn book(sequence: u64, time_ms: Option<i64>) -> Book {
    Book {
        bids: level(100),
        asks: level(103),
        sequence: Some(sequence),
        time: time_ms.map(|ms| Timestamp(ms * 1_000_000)),
    }
}

/// By the clock of the host an hour later than by the monotonic one.
fn arrival(sent_ms: u64, received_ms: u64, book: Book) -> BookArrival {
    BookArrival {
        arrived: Timestamp(i64::try_from(received_ms + HOUR_MS).unwrap() * 1_000_000),
        sent: Time::from_ms(sent_ms),
        received: Time::from_ms(received_ms),
        book: Ok(book),
    }
}

fn price(read: Option<ReferenceReading>) -> Option<(u64, u64)> {
    read.map(|price| (price.mid, price.age_ms))
}

fn reader() -> ReferenceReader {
    let metrics = FeedMetrics::new(&prometheus::Registry::new()).unwrap();
    ReferenceReader::new(
        ReferenceId(0),
        "ETH-USDC kraken".to_owned(),
        metrics.reference("ETH-USDC", "kraken"),
    )
}

#[test]
fn the_price_is_the_middle_and_its_age_counts_from_the_request() {
    let mut reader = reader();
    let read = reader.read(&arrival(1_000, 1_040, book(1, None)));
    assert_eq!(price(read), Some((203, 40)));
}

#[test]
fn a_cache_that_repeats_a_book_makes_it_old_whatever_the_clocks_show() {
    let mut reader = reader();
    // Their clock is an hour ahead of our monotonic one.
    let ahead = i64::try_from(HOUR_MS).unwrap();
    let fresh = reader.read(&arrival(1_000, 1_010, book(1, Some(ahead + 1_005))));
    assert_eq!(price(fresh), Some((203, 10)));
    let repeated = reader.read(&arrival(9_000, 9_010, book(1, Some(ahead + 1_005))));
    let (_, age_ms) = price(repeated).unwrap();
    assert!((7_900..=8_000).contains(&age_ms), "{age_ms}");
}

#[test]
fn clocks_that_drift_apart_do_not_make_books_old() {
    let mut reader = reader();
    // Ours is fast by 100 parts in a million, for a week of a book a minute.
    for minute in 0..7 * 24 * 60 {
        let ours = minute * 60_006;
        let theirs = i64::try_from(minute * 60_000).unwrap();
        let read = reader.read(&arrival(ours, ours + 10, book(minute, Some(theirs))));
        assert_eq!(price(read), Some((203, 10)), "minute {minute}");
    }
}

#[test]
fn an_older_book_an_empty_side_and_an_invalid_answer_have_no_price() {
    let mut reader = reader();
    assert!(reader.read(&arrival(0, 1, book(7, None))).is_some());
    assert!(reader.read(&arrival(2, 3, book(6, None))).is_none());
    assert!(reader.read(&arrival(4, 5, book(6, None))).is_none());
    assert!(reader.read(&arrival(4, 5, book(7, None))).is_some());
    for (side, one_sided) in [(0, 1), (1, 2)] {
        let mut empty = book(8, None);
        [&mut empty.bids, &mut empty.asks][side].clear();
        assert!(reader.read(&arrival(6, 7, empty)).is_none());
        let mut errors = reader.series.errors();
        let found = errors.find(|(kind, _)| *kind == FeedErrorKind::OneSided);
        assert_eq!(found, Some((FeedErrorKind::OneSided, one_sided)));
    }
    let mut invalid = arrival(8, 9, book(9, None));
    invalid.book = Err("no JSON".to_owned().into());
    assert!(reader.read(&invalid).is_none());
}

#[test]
fn a_book_in_another_unit_has_no_price_until_ten_in_a_row_have_it() {
    let mut reader = reader();
    assert!(reader.read(&arrival(0, 1, book(1, None))).is_some());
    let mut times_ten = |sequence| {
        let mut book = book(sequence, None);
        book.bids[0].price.0 *= 10;
        book.asks[0].price.0 *= 10;
        price(reader.read(&arrival(sequence, sequence + 1, book)))
    };
    for sequence in 2..11 {
        assert_eq!(times_ten(sequence), None, "{sequence}");
    }
    assert_eq!(times_ten(11), Some((2_030, 1)));
    let mut errors = reader.series.errors();
    let found = errors.find(|(kind, _)| *kind == FeedErrorKind::MixedUnits);
    assert_eq!(found, Some((FeedErrorKind::MixedUnits, 9)));
}
