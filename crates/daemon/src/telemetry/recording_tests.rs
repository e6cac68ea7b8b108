#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use cambist_market_data::Timestamp;

use super::*;
use crate::feeds::FeedErrorKind;

fn status() -> (RecordingStatus, FeedSeries) {
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../config/observe-kraken.toml"
    );
    let config = Daemon::load(Path::new(example)).unwrap();
    let name = config.markets[0].name.value.clone();
    let status = RecordingStatus::new(&config, Clock::new()).unwrap();
    let series = status.feeds().depth(&name);
    (status, series)
}

/// A book that arrived so many seconds ago.
fn book(status: &RecordingStatus, series: &FeedSeries, ago_s: i64) {
    let now = i64::try_from(status.clock.unix_micros() / 1_000_000).unwrap();
    series.book(Timestamp((now - ago_s) * 1_000_000_000));
}

#[test]
fn a_recording_is_ready_while_every_market_has_new_books() {
    let (status, series) = status();
    let (ready, why) = status.readiness();
    assert!(!ready && why.contains("no book has arrived;"), "{why}");
    series.error(FeedErrorKind::NoAnswer);
    series.error(FeedErrorKind::NoAnswer);
    assert!(!status.readiness().0);
    book(&status, &series, 20);
    assert!(status.readiness().0, "{}", status.readiness().1);
    book(&status, &series, 33);
    let (ready, why) = status.readiness();
    assert!(!ready && why.contains("no book has arrived for 3"), "{why}");
    let page = status.status();
    assert_eq!(page["state"], "recording");
    assert_eq!(page["ready"], false);
    let market = &page["markets"][0];
    assert_eq!(market["books"], 2, "{market}");
    assert_eq!(market["left_out"], json!({"no_answer": 2}), "{market}");
    assert!(
        market["book_age_ms"].as_f64().unwrap() >= 33_000.0,
        "{market}"
    );
}

#[test]
fn its_metrics_are_those_of_feeds_and_process_and_every_result_has_a_series() {
    let (status, series) = status();
    series.error(FeedErrorKind::Crossed);
    let text = status.render().unwrap();
    for kind in FeedErrorKind::ALL {
        let result = format!("result=\"{}\"", kind.name());
        let mut lines = text.lines().filter(|line| line.contains(&result));
        let line = lines.next().unwrap();
        let count = u64::from(kind == FeedErrorKind::Crossed).to_string();
        assert!(line.starts_with("cambist_feed_answers_total{feed=\"depth\""));
        assert!(line.ends_with(&format!(" {count}")), "{line}");
    }
    assert!(text.contains("result=\"book\"") && text.contains("process_open_fds"));
    assert!(!text.contains("cambist_up_state"), "there is no engine");
}
