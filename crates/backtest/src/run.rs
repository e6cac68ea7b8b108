//! The run: recorded rows, planned events and the engine, in the order of time.

use cambist_core::config::EngineConfig;
use cambist_core::event::Amounts;
use cambist_core::reference::ReferenceSource;
use cambist_core::request::{Outcome, Query, Reply, RequestId, UnknownCause};
use cambist_core::strategy::Strategy;
use cambist_core::{
    Amount, MarketId, MarketSpec, Price, Reason, Side, StrategyId, Time, TokenSpec, VenueTime,
};
use cambist_fill_model::OptionsError;
use cambist_market_data::{Recording, Timestamp};

use crate::assumptions::{Assumptions, LatencyRange};
use crate::curves::Curves;
use crate::engine_link::{Begin, EngineLink, EngineObserver, Input, Outgoing, Output, Processes};
use crate::error::{BacktestError, Outside};
use crate::exchange::{Execution, RecordedMarket, SimulatedExchange, venue_time};
use crate::fee_bips::FeeBips;
use crate::feed::{Feed, NEVER, Next, Row};
use crate::finished::Finished;
use crate::markouts::Markouts;
use crate::network::{Random, RateLimiter, nanos};
use crate::outages::Outages;
use crate::performance::{Mark, Performance, held_equity, mid, present_equity};
use crate::report::{Source, build};
use crate::schedule::Schedule;
use crate::sink::{FillRow, Progress, SampleRow, Sink};

/// The engine's clock at its start, unless the caller states another.
const ENGINE_ORIGIN: Time = Time::from_ms(1_000);
/// Rows between two reports of progress.
const PROGRESS_ROWS: u64 = 1 << 18;
/// Ended orders stay in the exchange's lists for this time, beyond life and grace of an order.
const KEPT_MS: u64 = 600_000;

/// The inputs of a backtest.
pub struct Setup {
    /// The engine's checked configuration, without pools.
    pub engine: EngineConfig,
    /// Markets, in its order. All have one quote token.
    pub markets: Vec<MarketSpec>,
    /// Tokens that the exchange lists.
    pub tokens: Vec<TokenSpec>,
    /// Strategies and the market each one quotes.
    pub strategies: Vec<(StrategyId, MarketId, Box<dyn Strategy>)>,
    /// The recording of each market.
    pub data: Vec<Recording>,
    /// What the account holds at the beginning.
    pub opening: Amounts,
    /// Assumptions about the exchange.
    pub assumptions: Assumptions,
    /// When the engine starts; earlier rows only build the book.
    pub from: Option<Timestamp>,
    /// When the run ends; otherwise at the end of the first recording.
    pub to: Option<Timestamp>,
    /// Between two samples, in milliseconds, at least 1.
    pub sample_ms: u64,
    /// Observes all events and actions of the engine.
    pub observer: Option<Box<dyn EngineObserver>>,
    /// Sources of reference prices, which only live data have.
    pub references: Vec<ReferenceSource>,
    /// Processes behind strategies. One answers 5 ms of the run after its view, however long it takes.
    pub processes: Processes,
}

/// A planned event.
enum Planned {
    /// A request arrives at the exchange.
    Arrival(RequestId, Timestamp, Outgoing),
    /// A submit or a cancel takes effect.
    Effect(RequestId, Timestamp, Outgoing),
    /// An input of the engine is due.
    Input(Input),
}

/// A run that has not started.
pub struct Backtest {
    exchange: SimulatedExchange,
    feeds: Vec<Feed>,
    /// Time of the first row of each.
    firsts: Vec<Timestamp>,
    data_ended: bool,
    engine: Option<EngineLink>,
    /// The engine, if it ended before the data.
    ended: Option<(Timestamp, EngineLink)>,
    setup: Option<Begin>,
    markets: Vec<MarketSpec>,
    assumptions: Assumptions,
    limiter: Option<RateLimiter>,
    random: Random,
    schedule: Schedule<Planned>,
    /// When the engine takes in what a row has for it, until it does.
    planned_by_row: Option<Timestamp>,
    wake_at: Timestamp,
    /// The time that the engine asked for, of which `wake_at` is the moment that its timer fires.
    wakeup: Option<Time>,
    sample_at: Timestamp,
    /// The last sample.
    sampled_at: Option<Timestamp>,
    sample_nanos: i64,
    timeout_nanos: i64,
    /// Configured time between two polls of the depth.
    depth_ms: u64,
    from: Option<Timestamp>,
    to: Timestamp,
    /// When the engine started, and what its clock showed then.
    origin: Timestamp,
    engine_origin: Time,
    now: Timestamp,
    rows: u64,
    fills: u64,
    fills_without_mid: u64,
    performance: Performance,
    markouts: Markouts,
    /// `price_floor` and `price_ceiling` of each market.
    bands: Vec<[Price; 2]>,
    curves: Curves,
    /// By market.
    outages: Vec<Outages>,
    opening: Amounts,
    executions: Vec<Execution>,
    outputs: Vec<Output>,
}

impl Backtest {
    /// Checks the setup and reads the first rows.
    pub fn new(setup: Setup) -> Result<Self, BacktestError> {
        let assumptions = setup.assumptions;
        assumptions.check().map_err(BacktestError::Assumption)?;
        let unsupported = |what: &str| Err(BacktestError::Unsupported(what.to_owned()));
        if !setup.engine.pools.is_empty() {
            return unsupported(
                "pools are not recorded: remove market.pool and the strategies that use pools",
            );
        }
        if setup.markets.is_empty() || setup.data.len() != setup.markets.len() {
            return unsupported("every market needs its own data");
        }
        let quote = setup.markets[0].quote.id;
        if setup.markets.iter().any(|spec| spec.quote.id != quote) {
            return unsupported("all markets of a backtest must have one quote token");
        }
        if setup.sample_ms == 0 {
            return unsupported("samples must be at least one millisecond apart");
        }
        let mut feeds = Vec::new();
        for (data, spec) in setup.data.into_iter().zip(&setup.markets) {
            let mut feed = Feed::new(data, spec)?;
            feed.advance(1)?;
            if feed.time() == NEVER {
                let market = spec.name.clone();
                let rows = feed.data().report().rows;
                return Err(BacktestError::NoRows { market, rows });
            }
            feeds.push(feed);
        }
        let kinds = setup.markets.iter().zip(&feeds);
        let kinds: Vec<_> = kinds
            .map(|(spec, feed)| RecordedMarket {
                spec: spec.clone(),
                is_snapshots: feed.is_snapshots(),
                fill_lots: feed.lot_factor(),
            })
            .collect();
        let engine = &setup.engine;
        let kept_ms = engine.ttl_ms + engine.grace_ms + KEPT_MS;
        let exchange = SimulatedExchange::new(
            &kinds,
            setup.tokens,
            setup.opening.clone(),
            &assumptions,
            kept_ms,
        )?;
        let limits = setup.engine.markets.iter();
        let bands = limits.map(|limits| [limits.price_min, limits.price_max]);
        Ok(Self {
            exchange,
            bands: bands.collect(),
            performance: Performance::new(&setup.markets, &setup.opening),
            outages: outages(&feeds, engine.poll.depth_age_max_ms),
            depth_ms: engine.poll.depth_ms,
            timeout_nanos: nanos(engine.request_timeout_ms * 1_000),
            setup: Some(Begin {
                config: setup.engine,
                markets: setup.markets.clone(),
                strategies: setup.strategies,
                seed: assumptions.seed,
                venue_time: VenueTime(0),
                fee_bips: [assumptions.maker_fee, assumptions.taker_fee]
                    .map(FeeBips::bips_at_least),
                observer: setup.observer,
                references: setup.references,
                processes: setup.processes,
            }),
            engine: None,
            ended: None,
            firsts: feeds.iter().map(Feed::time).collect(),
            feeds,
            data_ended: false,
            markets: setup.markets,
            limiter: assumptions.rate_limit.map(RateLimiter::new),
            random: Random::new(assumptions.seed),
            assumptions,
            schedule: Schedule::new(),
            planned_by_row: None,
            wake_at: NEVER,
            wakeup: None,
            sample_at: NEVER,
            sampled_at: None,
            sample_nanos: nanos(setup.sample_ms * 1_000),
            from: setup.from,
            to: setup.to.unwrap_or(NEVER),
            origin: Timestamp(0),
            engine_origin: ENGINE_ORIGIN,
            now: Timestamp(0),
            rows: 0,
            fills: 0,
            fills_without_mid: 0,
            markouts: Markouts::default(),
            curves: Curves::new(kinds.len()),
            opening: setup.opening,
            executions: Vec::new(),
            outputs: Vec::new(),
        })
    }

    /// When the engine starts: the first moment at which every market has data.
    pub fn starts_at(&self) -> Timestamp {
        let first = self.feeds.iter().map(Feed::time).max().unwrap_or(NEVER);
        self.from.map_or(first, |from| from.max(first))
    }

    /// Sets what the engine's clock shows at its start.
    #[must_use]
    pub const fn with_engine_origin(mut self, origin: Time) -> Self {
        self.engine_origin = origin;
        self
    }

    /// Runs to the end of the data.
    pub fn run(mut self, sink: &mut dyn Sink) -> Result<Finished, BacktestError> {
        self.begin(sink)?;
        loop {
            let next = self.next_planned();
            let goes_on = self.read_until(next.min(self.to), sink)?;
            let next = self.planned_by_row.take().unwrap_or(next);
            if !goes_on || next > self.to {
                break;
            }
            self.now = next;
            self.perform_due(sink)?;
            self.refuse_failed()?;
        }
        self.refuse_failed()?;
        self.finish(sink)
    }

    /// Ends a run whose process ended too often: without its answers nothing more would be quoted.
    fn refuse_failed(&mut self) -> Result<(), BacktestError> {
        let ended = self.ended.as_mut().map(|(_, engine)| engine);
        let engine = ended.or(self.engine.as_mut());
        let failed = engine.and_then(|engine| engine.failed.take());
        failed.map_or(Ok(()), |why| Err(BacktestError::Process(why)))
    }

    /// Reads up to the start and starts the engine.
    fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), BacktestError> {
        let start = self.starts_at();
        let begin = self.feeds.iter().map(Feed::time).max().unwrap_or(NEVER);
        let latest = self.feeds.iter().map(Feed::time).enumerate();
        let latest = latest.max_by_key(|(_, time)| *time);
        let reaches = start < self.to && self.read_until(start, sink)?;
        if !reaches && self.now < start {
            let ended = self.feeds.iter().position(|feed| feed.time() == NEVER);
            if let Some(((late, begin), ended)) = latest.zip(ended)
                && late != ended
                && self.now < begin
            {
                return Err(BacktestError::Apart {
                    ended: self.markets[ended].name.clone(),
                    end: self.now,
                    late: self.markets[late].name.clone(),
                    begin,
                });
            }
            let market = self.markets[0].name.clone();
            let to = self.to;
            let data = if begin >= to {
                Outside::Behind { begin, to }
            } else if start >= to {
                Outside::Reversed { from: start, to }
            } else {
                Outside::Before {
                    begin,
                    end: self.now,
                    from: start,
                }
            };
            return Err(BacktestError::Empty { market, data });
        }
        (self.now, self.origin) = (start, start);
        for outages in &mut self.outages {
            outages.begin(start);
        }
        self.sample(self.present(), sink)?;
        if let Some(mut begin) = self.setup.take() {
            begin.venue_time = header_time(venue_time(start));
            let (engine, input) = EngineLink::new(begin);
            let started = engine.started();
            self.engine = Some(engine);
            self.handle(&input);
            for input in started {
                self.handle(&input);
            }
        }
        Ok(())
    }

    fn next_planned(&self) -> Timestamp {
        let planned = self.schedule.next_at().unwrap_or(NEVER);
        let expiry = self.exchange.next_expiry().unwrap_or(NEVER);
        let markout = self.markouts.next_due();
        let first = planned.min(expiry).min(markout);
        first.min(self.wake_at).min(self.sample_at)
    }

    /// Applies rows of the recorded market up to and including a time; false if a recording has ended before. A row
    /// that is planned for the engine ends it earlier.
    fn read_until(
        &mut self,
        mut until: Timestamp,
        sink: &mut dyn Sink,
    ) -> Result<bool, BacktestError> {
        loop {
            // The end of one recording ends the run: the state of its market is not known after that.
            if self.data_ended {
                return Ok(false);
            }
            let Some((index, time)) = self.earliest_feed() else {
                return Ok(false);
            };
            if time > until {
                return Ok(true);
            }
            self.now = time;
            let applied = match self.feeds[index].next() {
                Next::Events(events) => {
                    let until = self.until_others(index, until);
                    let events = &events[..events.len().min(self.rows_to_progress())];
                    let applied = self.exchange.apply_events(index, events, until);
                    self.now = events[applied - 1].exchange_time;
                    self.outages[index].rows(time, self.now);
                    applied
                }
                Next::Row(row) => {
                    match row {
                        Row::Trade(event) => {
                            // It is due by its arrival, whatever the time that the exchange stated.
                            let event = std::slice::from_ref(event);
                            self.exchange.apply_events(index, event, NEVER);
                        }
                        Row::Snapshot(snapshot) => {
                            self.exchange.apply_snapshot(index, snapshot);
                            self.outages[index].rows(time, time);
                        }
                        Row::Reference(price) if self.engine.is_some() => {
                            // The engine takes it in at its time, before any later row.
                            let price = price.received(self.engine_time(time));
                            let input = Planned::Input(Input::reference(price));
                            self.schedule.plan(time, input);
                            self.planned_by_row = Some(time);
                            until = time;
                        }
                        Row::Idle(_) | Row::Reference(_) => {}
                    }
                    1
                }
            };
            self.pass_over(index, applied, sink)?;
        }
    }

    /// The feed with the earliest row, and the time of that.
    #[inline]
    fn earliest_feed(&self) -> Option<(usize, Timestamp)> {
        let times = self.feeds.iter().map(Feed::time).enumerate();
        times.min_by_key(|(_, time)| *time)
    }

    /// The last time, up to a given one, at which no other feed has a row that comes first. Of rows of one time, those
    /// of the first feed do.
    fn until_others(&self, index: usize, until: Timestamp) -> Timestamp {
        let others = self.feeds.iter().enumerate();
        let others = others.filter(|(other, _)| *other != index);
        others.fold(until, |until, (other, feed)| {
            let comes_first = i64::from(other < index);
            until.min(feed.time().plus_nanos(-comes_first))
        })
    }

    /// Rows up to the one after which progress is reported.
    fn rows_to_progress(&self) -> usize {
        let rows = PROGRESS_ROWS - self.rows % PROGRESS_ROWS;
        usize::try_from(rows).unwrap_or(usize::MAX)
    }

    /// Passes over rows of a feed that were applied up to now.
    fn pass_over(
        &mut self,
        index: usize,
        applied: usize,
        sink: &mut dyn Sink,
    ) -> Result<(), BacktestError> {
        self.rows += applied as u64;
        if self.rows.is_multiple_of(PROGRESS_ROWS) {
            sink.progress(Progress {
                rows: self.rows,
                time: self.now,
                fills: self.fills,
            });
        }
        let feed = &mut self.feeds[index];
        feed.advance(applied)?;
        let next = feed.time();
        self.data_ended = next == NEVER;
        if next > self.now {
            self.exchange.end_message(index);
            // The mid of a fill is that after all rows of its time, whatever their order.
            if self.exchange.has_executions() {
                self.book_executions(sink)?;
            }
        }
        Ok(())
    }

    /// Books what the exchange executed of our orders in the actual accounts.
    #[cold]
    fn book_executions(&mut self, sink: &mut dyn Sink) -> Result<(), BacktestError> {
        let mut executions = std::mem::take(&mut self.executions);
        self.exchange.take_executions(&mut executions);
        for execution in executions.drain(..) {
            let market = usize::from(execution.market.0);
            self.mark(market);
            let mid = mid(&self.exchange, market);
            let now = self.engine_time(execution.time);
            let spec = &self.markets[market];
            self.performance.traded(now, spec, &execution, mid);
            self.markouts.traded(&execution);
            if let Some(engine) = &mut self.engine {
                engine
                    .log
                    .traded(now, execution.order, execution.traded.base);
            } else if let Some((_, engine)) = &mut self.ended {
                // Its orders rest until their cancels arrive.
                engine.log.fills_after_stop += 1;
            }
            self.fills += 1;
            self.fills_without_mid += u64::from(mid.is_none());
            let row = FillRow {
                time: execution.time,
                order: execution.order,
                market: execution.market,
                side: execution.side,
                price: execution.price,
                lots: execution.lots,
                base: execution.traded.base,
                quote: execution.traded.quote,
                fee: execution.traded.fee,
                liquidity: execution.liquidity,
                mid,
            };
            self.curves.fill(&row);
            sink.fill(&row)?;
        }
        self.executions = executions;
        Ok(())
    }

    fn mark(&mut self, market: usize) {
        let at = self.now;
        let mark = mid(&self.exchange, market).map(|mid| Mark { mid, at });
        let now = self.engine_time(at);
        self.performance.mark(now, &self.markets[market], mark);
    }

    /// Performs everything that is due now, in a fixed order.
    fn perform_due(&mut self, sink: &mut dyn Sink) -> Result<(), BacktestError> {
        self.exchange.expire(self.now);
        self.take_markouts();
        while let Some(planned) = self.schedule.pop_due(self.now) {
            match planned {
                Planned::Arrival(id, sent, request) => self.arrive(id, sent, request),
                Planned::Effect(id, sent, request) => self.take_effect(id, sent, &request),
                Planned::Input(input) => self.handle(&input),
            }
            if self.exchange.has_executions() {
                self.book_executions(sink)?;
            }
        }
        if self.wake_at <= self.now {
            self.handle(&Input::wake());
        }
        if self.sample_at <= self.now {
            if self.now < self.to {
                self.sample(self.present(), sink)?;
            } else {
                // The end is sampled once, when everything of its moment is done.
                self.sample_at = NEVER;
            }
        }
        Ok(())
    }

    /// Sets the engine's timer. One that is set to the same time again fires when it would have.
    fn set_timer(&mut self, wakeup: Option<Time>) {
        if self.wakeup != wakeup {
            self.wakeup = wakeup;
            self.wake_at = wakeup.map_or(NEVER, |at| {
                let range = LatencyRange {
                    min_us: 0,
                    max_us: self.assumptions.timer_lateness_us,
                };
                self.world_time(at)
                    .plus_nanos(self.random.latency_nanos(range))
            });
        }
        self.wake_at = self.wake_at.max(self.now);
    }

    /// The engine handles an input, and its actions are carried out.
    fn handle(&mut self, input: &Input) {
        let now = self.engine_time(self.now);
        let Some(engine) = &mut self.engine else {
            return;
        };
        let mut outputs = std::mem::take(&mut self.outputs);
        engine.handle(now, input, &mut outputs);
        let wakeup = engine.next_wakeup();
        self.set_timer(wakeup);
        for outputs in outputs.drain(..) {
            match outputs {
                Output::Send(id, request) => {
                    let latency = self.random.latency_nanos(self.assumptions.request_latency);
                    let arrival = Planned::Arrival(id, self.now, request);
                    self.schedule.plan(self.now.plus_nanos(latency), arrival);
                }
                Output::Store(input) => {
                    let at = self.now.plus_nanos(nanos(self.assumptions.seal_us));
                    self.schedule.plan(at, Planned::Input(input));
                }
                Output::After(ms, input) => {
                    let at = self.now.plus_nanos(nanos(ms * 1_000));
                    self.schedule.plan(at, Planned::Input(input));
                }
                Output::Finished => {
                    self.wake_at = NEVER;
                    if let Some(engine) = self.engine.take() {
                        self.ended = Some((self.now, engine));
                    }
                }
            }
        }
        self.outputs = outputs;
    }

    /// A request arrives at the exchange.
    fn arrive(&mut self, id: RequestId, sent: Timestamp, request: Outgoing) {
        let endpoint = request.endpoint();
        let now = self.now;
        let accepted = self
            .limiter
            .as_mut()
            .is_none_or(|limiter| limiter.take(now, endpoint));
        if !accepted {
            return self.respond(id, sent, Outcome::Refused(Reason::RateLimited));
        }
        let delay = nanos(self.assumptions.acknowledgement_delay_us);
        let writes = matches!(
            request,
            Outgoing::Submit(_) | Outgoing::Query(Query::Cancel(_))
        );
        if writes && delay > 0 {
            let effect = Planned::Effect(id, sent, request);
            self.schedule.plan(now.plus_nanos(delay), effect);
        } else {
            self.take_effect(id, sent, &request);
        }
    }

    /// A request takes effect and is answered.
    fn take_effect(&mut self, id: RequestId, sent: Timestamp, request: &Outgoing) {
        let answer = match request {
            Outgoing::Query(query) => self.exchange.answer(self.now, query),
            Outgoing::Submit(order) => {
                let accepted = self.exchange.submit(self.now, order);
                accepted.map(|(hash, status)| Reply::Submitted {
                    hash,
                    status,
                    idempotent: false,
                })
            }
        };
        self.respond(
            id,
            sent,
            answer.map_or_else(Outcome::Refused, Outcome::Reply),
        );
    }

    /// Sends a reply. One that would arrive after the engine's time-out is never delivered.
    fn respond(&mut self, id: RequestId, sent: Timestamp, outcome: Outcome) {
        let latency = self.random.latency_nanos(self.assumptions.response_latency);
        let at = self.now.plus_nanos(latency);
        let deadline = sent.plus_nanos(self.timeout_nanos);
        let (at, input) = if at > deadline {
            let lost = Outcome::Unknown(UnknownCause::Timeout);
            (deadline.max(self.now), Input::answer(id, lost, None))
        } else {
            let time = header_time(venue_time(self.now));
            (at, Input::answer(id, outcome, Some(time)))
        };
        self.schedule.plan(at, Planned::Input(input));
    }

    /// Equity, and that of the initial balances, at the present mids.
    fn present(&self) -> [Option<Amount>; 2] {
        let (exchange, markets) = (&self.exchange, &self.markets);
        [
            present_equity(exchange, markets),
            held_equity(exchange, markets, &self.opening),
        ]
    }

    fn sample(
        &mut self,
        [equity, holding]: [Option<Amount>; 2],
        sink: &mut dyn Sink,
    ) -> Result<(), BacktestError> {
        let time = self.now;
        for index in 0..self.markets.len() {
            self.mark(index);
            if self.performance.marks[index].is_some() && self.exchange.lacks_orders(index) {
                return Err(OptionsError::FifoNeedsOrders.into());
            }
        }
        self.performance.sample(time, equity);
        for (index, spec) in self.markets.iter().enumerate() {
            let account = self.exchange.account();
            let row = SampleRow {
                time,
                market: spec.id,
                mid: mid(&self.exchange, index),
                quotes: Side::BOTH.map(|side| self.exchange.own_best(spec.id, side)),
                base: account.total(spec.base.id),
                quote: account.total(spec.quote.id),
                equity,
                holding,
            };
            self.curves.sample(&row);
            sink.sample(&row)?;
        }
        if sink.wants_open_orders() {
            sink.open_orders(&self.exchange.open_orders())?;
        }
        self.sampled_at = Some(time);
        self.sample_at = time.plus_nanos(self.sample_nanos);
        Ok(())
    }

    /// Takes the mids that markouts wait for.
    fn take_markouts(&mut self) {
        let exchange = &self.exchange;
        self.markouts
            .take_due(self.now, |market| mid(exchange, usize::from(market.0)));
    }

    fn finish(mut self, sink: &mut dyn Sink) -> Result<Finished, BacktestError> {
        if self.to < NEVER && !self.data_ended {
            self.now = self.to.max(self.now);
        }
        if self.data_ended && self.feeds.len() > 1 {
            for feed in &mut self.feeds {
                feed.pass_over(self.now);
            }
        }
        for index in 0..self.markets.len() {
            self.mark(index);
        }
        for outages in &mut self.outages {
            outages.end(self.now);
        }
        self.take_markouts();
        if self.sampled_at != Some(self.now) {
            // A market without a mid at the end has the value of its last one, as in profit and loss.
            let performance = &self.performance;
            let equity = performance.closing(&self.exchange, &self.markets);
            let holding = performance.held_closing(&self.markets, &self.opening);
            self.sample([equity, holding], sink)?;
        }
        if let Some(spec) = self.performance.without_mid(&self.markets) {
            let market = spec.name.clone();
            return Err(BacktestError::NoMid { market });
        }
        let end = self.engine_time(self.now);
        let (ended, engine) = match (self.ended, self.engine) {
            (Some((at, engine)), _) => (Some(at), Some(engine)),
            (None, engine) => (None, engine),
        };
        let mut engine = engine.expect("the run starts the engine");
        engine.close(end);
        let report = build(&Source {
            markets: &self.markets,
            feeds: &self.feeds,
            firsts: &self.firsts,
            exchange: &self.exchange,
            outages: &self.outages,
            performance: &self.performance,
            log: &engine.log,
            assumptions: &self.assumptions,
            opening: &self.opening,
            from: self.origin,
            to: self.now,
            end,
            ended,
            rate_limited: self.limiter.as_ref().map_or(0, RateLimiter::refused),
            markouts: &self.markouts,
            fills_without_mid: self.fills_without_mid,
            bands: &self.bands,
            depth_ms: self.depth_ms,
            sample_ms: self.sample_nanos.unsigned_abs() / 1_000_000,
        });
        Ok(Finished {
            report,
            span: (self.origin, self.now),
            curves: self.curves,
            outages: self.outages,
            markets: self.markets,
            refused: engine.refused,
        })
    }

    /// The engine's clock at a simulated time, in whole microseconds.
    fn engine_time(&self, at: Timestamp) -> Time {
        let passed = at.nanos_since(self.origin).max(0) / 1_000;
        Time(self.engine_origin.0 + passed.unsigned_abs())
    }

    /// The first simulated time at which the engine's clock shows a time.
    fn world_time(&self, at: Time) -> Timestamp {
        self.origin
            .plus_nanos(nanos(at.micros_since(self.engine_origin)))
    }
}

/// None was found yet. A book is too old for quotes after `age_max_ms`.
fn outages(feeds: &[Feed], age_max_ms: u64) -> Vec<Outages> {
    let each = feeds.iter();
    each.map(|feed| Outages::new(age_max_ms, feed.is_snapshots()))
        .collect()
}

/// A clock as in a response header: whole seconds.
const fn header_time(clock: VenueTime) -> VenueTime {
    VenueTime::from_s(clock.as_s())
}
