//! Recorded or live data of one market, in the market's ticks and lots.

use cambist_core::reference::ReferenceReading;
use cambist_core::{MarketSpec, Price, Qty};
use cambist_market_data::{Event, Grid, LiveRow, Recording, Snapshot, Step, Timestamp, Update};

use crate::error::BacktestError;

/// What a feed has at hand, in ticks and lots of its market; undefined after its end.
#[derive(Clone, Copy, Debug)]
pub enum Next<'a> {
    /// Events, at least one.
    Events(&'a [Event]),
    /// A row.
    Row(&'a Row),
}

/// A row of a recording of snapshots, or of live data.
#[derive(Debug)]
pub enum Row {
    /// A trade beside snapshots.
    Trade(Event),
    /// A snapshot.
    Snapshot(Box<Snapshot>),
    /// No change: time has passed.
    Idle(Box<Snapshot>),
    /// A price of another place.
    Reference(ReferenceReading),
}

/// A recording with its next rows, in ticks and lots of the market.
pub struct Feed {
    data: Recording,
    /// Market ticks per recorded tick, and lots per recorded lot.
    tick_factor: u64,
    lot_factor: u64,
    /// Events of the exchange's view that were read at once, and the place of the next one.
    events: Vec<Event>,
    at: usize,
    row: Row,
    /// Exchange time of the next row; [`NEVER`] after the end.
    time: Timestamp,
    /// Trades beside snapshots so far.
    trades: u64,
    /// The largest step that divides all prices before `events`, in ticks of the market; 0 before the first.
    price_step: u64,
    /// Rows after which that is the tick of the data.
    step_is_known_after: u64,
}

/// With fewer rows, prices may have a common step by chance.
const STEP_ROWS: u64 = 1_000;

/// Later than every row.
pub const NEVER: Timestamp = Timestamp(i64::MAX);

impl Feed {
    /// A recording of a market. Its tick and lot must be multiples of the market's.
    pub fn new(data: Recording, market: &MarketSpec) -> Result<Self, BacktestError> {
        let grid = data.grid();
        let own = market_grid(market).ok_or_else(|| {
            BacktestError::Unsupported(format!(
                "market {}: its tick or lot has more than 18 decimals",
                market.name
            ))
        })?;
        let factor = |what, data: Step, own: Step, remedy| {
            multiple(data, own).ok_or_else(|| BacktestError::Grid {
                market: market.name.clone(),
                what,
                data: data.to_string(),
                own: own.to_string(),
                remedy,
            })
        };
        let tick_factor = factor(
            "tick",
            grid.tick,
            own.tick,
            "set market.price_decimals to the number of decimals in the data",
        )?;
        let lot_factor = factor(
            "lot",
            grid.lot,
            own.lot,
            "raise market.base_precision, or market.quote_precision above price_decimals, to what \
             the data have",
        )?;
        Ok(Self {
            data,
            tick_factor,
            lot_factor,
            events: Vec::new(),
            at: 0,
            row: Row::Snapshot(Box::default()),
            time: NEVER,
            trades: 0,
            price_step: 0,
            // What has few rows may have a common step by chance, unless it is stated.
            step_is_known_after: if tick_factor > 1 { 0 } else { STEP_ROWS },
        })
    }

    /// Exchange time of the next row.
    #[inline]
    pub const fn time(&self) -> Timestamp {
        self.time
    }

    /// The next row, or the events that are at hand.
    #[inline]
    pub fn next(&self) -> Next<'_> {
        match self.data {
            Recording::Events(_) => Next::Events(&self.events[self.at..]),
            Recording::Snapshots(_) | Recording::Live(_) => Next::Row(&self.row),
        }
    }

    /// Passes over rows of a time, so that [`Self::time`] shows whether there are later ones. Data that arrive are not
    /// waited for, and what is wrong with rows that are not used is no defect of the run.
    pub fn pass_over(&mut self, time: Timestamp) {
        let is_live = matches!(self.data, Recording::Live(_));
        while !is_live && self.time == time && self.advance(1).is_ok() {}
    }

    /// The recording.
    pub const fn data(&self) -> &Recording {
        &self.data
    }

    /// The market's lots in one of the recording.
    pub const fn lot_factor(&self) -> u64 {
        self.lot_factor
    }

    /// Trades beside snapshots: fills of the daemon that recorded the data.
    pub const fn trades(&self) -> u64 {
        self.trades
    }

    /// The largest step that divides all prices so far, in ticks of the market; `None` if they are too few for a
    /// conclusion.
    pub fn price_step(&self) -> Option<u64> {
        let is_known = self.data.report().rows >= self.step_is_known_after;
        // The next row counts, as it does in the number of rows.
        let read = self.events.iter().take(self.at + 1);
        let step = step_of_events(self.price_step, read);
        is_known.then_some(step).filter(|step| *step > 0)
    }

    /// Whether it is a recording of snapshots.
    pub const fn is_snapshots(&self) -> bool {
        matches!(self.data, Recording::Snapshots(_) | Recording::Live(_))
    }

    /// Passes over rows that were applied, which were at hand, to the next one that the exchange processes.
    #[inline]
    pub fn advance(&mut self, rows: usize) -> Result<(), BacktestError> {
        self.at += rows;
        match self.events.get(self.at) {
            Some(event) => {
                self.time = event.exchange_time;
                Ok(())
            }
            None => self.read(),
        }
    }

    /// Reads the next row, or the next events.
    fn read(&mut self) -> Result<(), BacktestError> {
        let (ticks, lots) = (self.tick_factor, self.lot_factor);
        self.price_step = step_of_events(self.price_step, self.events.iter());
        self.events.clear();
        self.at = 0;
        match (&mut self.data, &mut self.row) {
            (Recording::Events(source), _) => {
                while self.events.is_empty() {
                    source.next_events(&mut self.events)?;
                    if self.events.is_empty() {
                        self.time = NEVER;
                        return Ok(());
                    }
                    self.events.retain(|event| event.visibility.at_exchange());
                }
                if (ticks, lots) != (1, 1) {
                    for event in &mut self.events {
                        scale_update(&mut event.update, ticks, lots);
                    }
                }
                self.time = self.events[0].exchange_time;
            }
            (Recording::Snapshots(source), Row::Snapshot(row)) => {
                let Some(snapshot) = source.next_snapshot()? else {
                    self.time = NEVER;
                    return Ok(());
                };
                row.copy_from(snapshot);
                scale_levels(row, ticks, lots);
                step_of_levels(&mut self.price_step, row);
                self.time = row.exchange_time;
            }
            (Recording::Live(source), row) => {
                // One buffer serves snapshots and rows without a change.
                let mut buffer = match row {
                    Row::Snapshot(buffer) | Row::Idle(buffer) => std::mem::take(buffer),
                    Row::Trade(_) | Row::Reference(_) => Box::default(),
                };
                match source.next_row()? {
                    None => self.time = NEVER,
                    Some(LiveRow::Idle(time)) => {
                        self.time = time;
                        *row = Row::Idle(buffer);
                    }
                    Some(LiveRow::Reference(price, time)) => {
                        self.time = time;
                        *row = Row::Reference(price);
                    }
                    Some(LiveRow::Trade(event)) => {
                        let mut event = *event;
                        self.trades += 1;
                        scale_update(&mut event.update, ticks, lots);
                        self.time = event.local_time;
                        *row = Row::Trade(event);
                    }
                    Some(LiveRow::Snapshot(snapshot)) => {
                        buffer.copy_from(snapshot);
                        scale_levels(&mut buffer, ticks, lots);
                        step_of_levels(&mut self.price_step, &buffer);
                        self.time = snapshot.local_time;
                        *row = Row::Snapshot(buffer);
                    }
                }
            }
            _ => unreachable!("the row was made for the data"),
        }
        Ok(())
    }
}

/// The largest step that divides a step and a price; a step of 0 is that of no price.
pub fn common_step(step: u64, price: Price) -> u64 {
    let (mut greater, mut rest) = (step.max(price.0), step.min(price.0));
    while rest > 0 {
        (greater, rest) = (rest, greater % rest);
    }
    greater
}

fn step_of_events<'a>(step: u64, events: impl Iterator<Item = &'a Event>) -> u64 {
    if step == 1 {
        return step;
    }
    let prices = events.filter_map(|event| price_of(&event.update));
    prices.fold(step, common_step)
}

fn step_of_levels(step: &mut u64, row: &Snapshot) {
    if *step != 1 {
        let levels = row.bids.iter().chain(&row.asks);
        *step = levels.fold(*step, |step, level| common_step(step, level.price));
    }
}

const fn price_of(update: &Update) -> Option<Price> {
    match update {
        Update::Level { price, .. }
        | Update::SnapshotLevel { price, .. }
        | Update::Trade { price, .. }
        | Update::Add { price, .. } => Some(*price),
        _ => None,
    }
}

fn scale_levels(row: &mut Snapshot, ticks: u64, lots: u64) {
    if (ticks, lots) != (1, 1) {
        for level in row.bids.iter_mut().chain(&mut row.asks) {
            scale(&mut level.price, ticks);
            level.qty = Qty(level.qty.0.saturating_mul(lots));
        }
    }
}

/// Prices near the largest number are clamped: none of them trades.
fn scale(price: &mut Price, factor: u64) {
    *price = Price(price.0.saturating_mul(factor).min(u64::MAX - 1));
}

fn scale_update(update: &mut Update, ticks: u64, lots: u64) {
    match update {
        Update::Level { price, qty, .. }
        | Update::SnapshotLevel { price, qty, .. }
        | Update::Trade { price, qty, .. }
        | Update::Add { price, qty, .. }
        | Update::Modify { price, qty, .. }
        | Update::Fill { price, qty, .. } => {
            scale(price, ticks);
            *qty = Qty(qty.0.saturating_mul(lots));
        }
        Update::Clear { to, .. } => {
            if let Some(price) = to {
                scale(price, ticks);
            }
        }
        Update::Cancel { .. } => {}
    }
}

/// Tick and lot of a market as decimals.
pub fn market_grid(market: &MarketSpec) -> Option<Grid> {
    let decimals = lot_decimals(market);
    Some(Grid {
        tick: Step::new(1, market.price_decimals).ok()?,
        lot: Step::new(1, decimals).ok()?,
    })
}

/// Decimals of a lot, which is a power of ten of base units.
pub fn lot_decimals(market: &MarketSpec) -> u8 {
    let digits = u8::try_from(market.lot.ilog10()).unwrap_or(u8::MAX);
    market.base.decimals.saturating_sub(digits)
}

/// `data` as a multiple of `own`, if it is one.
fn multiple(data: Step, own: Step) -> Option<u64> {
    own.count(data.value(1)?).filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use cambist_core::{MarketId, Side, TokenId, TokenSpec};
    use cambist_market_data::{EventSource, Report, Visibility};

    use super::*;

    /// Events that are read all at once, with a tick of twice the market's.
    struct Block(Vec<Event>, Report);

    impl EventSource for Block {
        fn next_event(&mut self) -> cambist_market_data::Result<Option<&Event>> {
            unreachable!("feeds read by the block")
        }

        fn next_events(&mut self, events: &mut Vec<Event>) -> cambist_market_data::Result<()> {
            *events = std::mem::take(&mut self.0);
            Ok(())
        }

        fn grid(&self) -> Grid {
            Grid::parse("0.02", "0.1").unwrap()
        }

        fn report(&self) -> &Report {
            &self.1
        }
    }

    fn event(time: i64, price: u64, visibility: Visibility) -> Event {
        Event {
            exchange_time: Timestamp(time),
            local_time: Timestamp(time),
            visibility,
            update: Update::Level {
                side: Side::Buy,
                price: Price(price),
                qty: Qty(1),
            },
        }
    }

    fn feed(events: Vec<Event>) -> Feed {
        let token = |id, decimals| TokenSpec {
            id: TokenId(id),
            symbol: "T".to_owned(),
            decimals,
            precision: decimals,
            minimum: 1,
            maximum: 1 << 90,
            dust: 0,
            enabled: true,
        };
        let market = MarketSpec::new(MarketId(0), "B-Q", token(0, 1), token(1, 3), 2, true);
        let data = Recording::Events(Box::new(Block(events, Report::default())));
        Feed::new(data, &market.unwrap()).unwrap()
    }

    #[test]
    fn the_step_of_prices_is_that_of_the_rows_up_to_the_next_one() {
        let prices = [30, 60, 45, 50];
        let rows = (0..).zip(prices);
        let mut feed = feed(
            rows.map(|(time, price)| event(time, price, Visibility::Both))
                .collect(),
        );
        let mut steps = Vec::new();
        for _ in prices {
            feed.advance(1).unwrap();
            steps.push(feed.price_step().unwrap());
        }
        // In ticks of the market. What is at hand behind the next row does not count yet.
        assert_eq!(steps, [60, 60, 30, 10]);
    }

    #[test]
    fn rows_of_the_recorders_view_alone_are_passed_over() {
        let mut feed = feed(vec![
            event(1, 10, Visibility::Local),
            event(2, 15, Visibility::Both),
            event(3, 10, Visibility::Local),
            event(4, 20, Visibility::Exchange),
        ]);
        let mut seen = Vec::new();
        loop {
            feed.advance(1).unwrap();
            if feed.time() == NEVER {
                break;
            }
            seen.push((feed.time(), feed.price_step().unwrap()));
        }
        assert_eq!(seen, [(Timestamp(2), 30), (Timestamp(4), 10)]);
    }
}
