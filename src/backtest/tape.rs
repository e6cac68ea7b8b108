//! A tape as data: the depth that a daemon polled, without its own orders, as its engine took them out, and its fills as
//! trades of the market, unless they were simulated.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_backtest::SIMULATED_INSTANCE;
use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::inspection::MarketInspection;
use cambist_core::notification::{Fill, Notification};
use cambist_core::request::{Outcome, Reply};
use cambist_core::strategy::BookLevel;
use cambist_core::{MarketSpec, Price, Qty, Time};
use cambist_daemon::recording::Player;
use cambist_market_data::segment::ReadOptions;
use cambist_market_data::supplied::{Supplied, Supply};
use cambist_market_data::{Defect, Level, Recording, Snapshot, Timestamp, Update, open_file};
use cambist_tape::{Entry, Reader, Tail};

use super::prepare::own_grid;
use super::recorded_run::RecordedRun;
use crate::exit::{Exit, Failure};
use crate::replay::list;

/// The ending of a segment of a tape.
const ENDING: &str = "tape";

/// Whether a file is a segment of a tape, or a folder holds one.
pub fn is_tape(path: &Path) -> bool {
    let ends = |path: &Path| path.extension().is_some_and(|ending| ending == ENDING);
    if !path.is_dir() {
        return ends(path);
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| ends(&path))
}

/// The tapes below a path: those of the state folder of a daemon are in its folder `tape`.
pub fn below(path: &Path) -> PathBuf {
    let inner = path.join("tape");
    if !is_tape(path) && is_tape(&inner) {
        inner
    } else {
        path.to_owned()
    }
}

/// The names of the markets on the newest segment of a tape that holds an event.
pub fn markets(path: &Path) -> anyhow::Result<Vec<String>> {
    for file in list(path)?.files.into_iter().rev() {
        let name = file.display().to_string();
        let mut segment = open_segment(file).with_context(|| name.clone())?;
        if segment.player.markets().is_empty()
            && let Some(Entry::Event { now, event }) =
                segment.reader.next_entry().with_context(|| name)?
        {
            segment.player.handle_event(now, &event, &mut Vec::new());
        }
        let names = segment.player.markets().iter();
        let names: Vec<_> = names.map(|market| market.name.clone()).collect();
        if !names.is_empty() {
            return Ok(names);
        }
    }
    Ok(Vec::new())
}

/// Opens the depth of a market on a tape. `run` takes what the daemon did there.
pub fn open(
    path: &Path,
    market: &str,
    options: ReadOptions,
    run: Option<RecordedRun>,
) -> anyhow::Result<Recording> {
    let found = list(path)?;
    let mut tape = TapeDepth::new(found.files.into(), market);
    tape.run = run;
    // A header is a record: a kill cuts one off as it cuts off any other.
    tape.unfinished = found.empty.len() as u64;
    let spec = tape
        .find_market()
        .with_context(|| path.display().to_string())?;
    let grid = own_grid(&spec).with_context(|| format!("{}: units of {market}", path.display()))?;
    let source = Supplied::new(tape, grid, options);
    Ok(Recording::Live(Box::new(source)))
}

/// One segment that is being read.
struct Segment {
    path: PathBuf,
    reader: Reader<BufReader<File>>,
    player: Player,
    /// Entries so far.
    entries: u64,
    /// Time of the last event.
    now: Time,
}

/// Plays segments one after the other.
struct TapeDepth {
    files: VecDeque<PathBuf>,
    market: String,
    segment: Option<Segment>,
    shown: String,
    /// The first row, which was read to learn the market's units.
    first: Option<(u64, Snapshot)>,
    spec: Option<MarketSpec>,
    last: Option<Timestamp>,
    sequence: u64,
    /// Fills of the daemon since the last row: trades of the market.
    trades: Vec<Update>,
    run: Option<RecordedRun>,
    /// Segments that end within a record.
    unfinished: u64,
}

impl TapeDepth {
    fn new(files: VecDeque<PathBuf>, market: &str) -> Self {
        Self {
            files,
            market: market.to_owned(),
            segment: None,
            shown: String::new(),
            first: None,
            spec: None,
            last: None,
            sequence: 0,
            trades: Vec::new(),
            run: None,
            unfinished: 0,
        }
    }

    /// Reads on to the first depth of the market.
    fn find_market(&mut self) -> anyhow::Result<MarketSpec> {
        let mut row = Snapshot::default();
        let number = self
            .advance(&mut row)
            .map_err(|defect| anyhow::anyhow!("{}: {defect}", self.shown))?;
        let Some((number, spec)) = number.zip(self.spec.clone()) else {
            let what = format!("no depth of {} was recorded", self.market);
            return Err(Failure::new(Exit::CheckFailed, what).into());
        };
        self.first = Some((number, row));
        Ok(spec)
    }

    fn advance(&mut self, row: &mut Snapshot) -> Result<Option<u64>, Defect> {
        loop {
            if self.segment.is_none() {
                let Some(path) = self.files.pop_front() else {
                    return Ok(None);
                };
                self.shown = path.display().to_string();
                self.segment = Some(open_segment(path)?);
            }
            let Some(segment) = &mut self.segment else {
                return Ok(None);
            };
            let entry = segment.reader.next_entry();
            segment.entries += 1;
            let number = segment.entries - 1;
            let entry = match entry {
                Ok(Some(entry)) => entry,
                Ok(None) => {
                    // The record that a kill left unfinished is no entry: what comes before it is whole.
                    let is_torn = matches!(segment.reader.tail(), Some(Tail::Torn { .. }));
                    self.unfinished += u64::from(is_torn);
                    self.segment = None;
                    continue;
                }
                Err(error) => {
                    let what = format!("entry {number}: {error}");
                    self.segment = None;
                    return Err(Defect::Damaged { what });
                }
            };
            let (now, event) = match entry {
                Entry::Event { now, event } => (now, event),
                Entry::Actions { actions } => {
                    if let Some(run) = &self.run {
                        run.actions(segment.now, &actions, segment.player.markets());
                    }
                    self.take_fills(&actions);
                    continue;
                }
            };
            segment.now = now;
            let is_depth = matches!(
                &event,
                Event::Answer {
                    outcome: Outcome::Reply(Reply::Depth(_)),
                    ..
                }
            );
            segment.player.handle_event(now, &event, &mut Vec::new());
            if let Some(failure) = segment.player.failure() {
                let what = failure.to_string();
                self.segment = None;
                return Err(Defect::Damaged { what });
            }
            if !is_depth {
                continue;
            }
            let inspection = segment.player.engine().and_then(|engine| engine.watch(now));
            let Some(inspection) = inspection else {
                continue;
            };
            let mut markets = inspection.markets.iter();
            let found = markets.find(|found| found.market.name == self.market);
            if let Some(found) = found.cloned()
                && self.take(&found, row)
            {
                if let Some(run) = &self.run {
                    run.depth(row.exchange_time, now, inspection);
                }
                return Ok(Some(number));
            }
        }
    }

    /// Fills of the daemon are trades of the market; simulated ones are not. Fills before the first depth are of no use.
    fn take_fills(&mut self, actions: &[Action]) {
        let Some((spec, id)) = self.spec.as_ref().map(|spec| (spec, spec.id)) else {
            return;
        };
        for action in actions {
            if let Action::Notify(Notification::Filled(fill)) = action
                && fill.market == id
                && fill.order.instance != SIMULATED_INSTANCE
                && let Some(trade) = trade_of(spec, fill)
            {
                self.trades.push(trade);
            }
        }
    }

    /// Takes the book of a market, if it is a new one.
    fn take(&mut self, found: &MarketInspection, row: &mut Snapshot) -> bool {
        let Some(time) = found.depth_time else {
            return false;
        };
        let nanos = i64::try_from(time.0.saturating_mul(1_000_000)).unwrap_or(i64::MAX);
        let time = Timestamp(nanos);
        // Another market's depth, or one that was refused.
        if self.last.is_some_and(|last| time == last) {
            return false;
        }
        self.last = Some(time);
        self.sequence += 1;
        let levels = |from: &[BookLevel]| {
            let levels = from.iter().filter(|level| level.qty.0 > 0);
            let level = |level: &BookLevel| Level {
                price: level.price,
                qty: level.qty,
            };
            levels.map(level).collect()
        };
        *row = Snapshot {
            exchange_time: time,
            local_time: time,
            sequence: self.sequence,
            bids: levels(&found.bids),
            asks: levels(&found.asks),
        };
        self.spec.get_or_insert_with(|| found.market.clone());
        true
    }
}

/// A fill of a daemon as a trade of the market.
pub fn trade_of(spec: &MarketSpec, fill: &Fill) -> Option<Update> {
    let lots = fill.base / spec.lot;
    let price = fill
        .quote
        .checked_div(lots.checked_mul(spec.quote_per_lot_tick)?)?;
    Some(Update::Trade {
        aggressor: fill.side.opposite(),
        price: Price(u64::try_from(price).ok()?),
        qty: Qty(u64::try_from(lots).ok()?),
    })
}

fn open_segment(path: PathBuf) -> Result<Segment, Defect> {
    let file = open_file(&path)?;
    let format = |what: String| Defect::Format { what };
    let reader = Reader::open(BufReader::new(file)).map_err(|error| format(error.to_string()))?;
    let player = Player::new(&reader).map_err(|error| format(error.to_string()))?;
    Ok(Segment {
        path,
        reader,
        player,
        entries: 0,
        now: Time(0),
    })
}

impl Supply for TapeDepth {
    fn next(&mut self, row: &mut Snapshot) -> Result<Option<u64>, Defect> {
        if let Some((number, first)) = self.first.take() {
            *row = first;
            return Ok(Some(number));
        }
        self.advance(row)
    }

    fn unfinished(&self) -> u64 {
        self.unfinished
    }

    fn take_trades(&mut self) -> Vec<Update> {
        std::mem::take(&mut self.trades)
    }

    fn file(&self) -> String {
        let current = self
            .segment
            .as_ref()
            .map(|segment| segment.path.display().to_string());
        current.unwrap_or_else(|| self.shown.clone())
    }
}
