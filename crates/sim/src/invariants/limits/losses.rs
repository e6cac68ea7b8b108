//! Losses: what was held and traded, valued at the mids that strategies were shown. A loss far beyond its
//! limit that stopped nothing is a limit that is not kept.

use crate::invariants::table::Invariant;
use std::collections::BTreeMap;

use cambist_core::books::{Baselines, Position};
use cambist_core::config::MarketConfig;
use cambist_core::event::Start;
use cambist_core::level::Rate;
use cambist_core::notification::Fill;
use cambist_core::order::UnsignedOrder;
use cambist_core::{Amount, MarketId, MarketSpec, Side, Time, TokenId, VenueTime};

use crate::invariants::sending::Broken;

use crate::invariants::limits::recent::Recent;

/// Looks in a row that show it; the engine needs two.
const LOOKS: u32 = 4;
const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Base held and quote that flowed by all booked trades of a market; nothing if that is not known.
pub(crate) type Booked<'a> = &'a dyn Fn(&MarketSpec) -> Option<(i128, i128)>;

/// One market's books.
#[derive(Debug)]
struct Books {
    base: i128,
    quote: i128,
    carried: Option<Baselines>,
    /// The mid of the last depth of this run.
    mid: Option<u64>,
    /// Worth of every explained flow of this run and of all before it, in `1 / (2 · lot)` quote units: every
    /// baseline moves by it.
    explained: Vec<i128>,
    first: Option<i128>,
    /// The lowest value of depths that were taken in and not decided on yet, before the first that was.
    lowest: Option<i128>,
    /// The value when counting began.
    total: i128,
    /// The mark of the day, and when it ends for this clock.
    day: i128,
    day_ends: Option<Time>,
    /// At the last look.
    value: i128,
    peak: i128,
    /// Values of the last hour, since what they lost held anything back.
    hour: Recent<i128>,
    /// The next look engaged what holds it back: the hour begins after it.
    spent: bool,
    /// Lost since the first start at the last look.
    lost: i128,
    over: u32,
    /// Depths taken in at the last look.
    looked: u64,
    /// What is exceeded, for people.
    said: String,
}

impl Books {
    fn value_at(&self, spec: &MarketSpec, mid: u64) -> i128 {
        worth_of(spec, self.base, mid) / (2 * signed(spec.lot)) + self.quote
    }

    /// Base came or went, and an operator explained it: it is neither a gain nor a loss at the last price.
    /// `stored` is the price of the durable baselines if they, and not a run, were told.
    fn explain(&mut self, spec: &MarketSpec, amount: i128, stored: Option<Rate>) {
        self.base += amount;
        let scale = 2 * signed(spec.lot);
        let last = stored.or_else(|| self.carried.as_ref().map(|carried| carried.mid));
        let worth = match (self.mid.filter(|_| stored.is_none()), last) {
            (Some(mid), _) => worth_of(spec, amount, mid),
            (None, Some(mid)) => scale * ceil(amount * signed(mid.quote), signed(mid.base).max(1)),
            (None, None) => return,
        };
        let before = self.explained.last().copied().unwrap_or(0);
        self.explained.push(before + worth);
        let units = ceil(worth, scale);
        for value in [
            &mut self.total,
            &mut self.day,
            &mut self.peak,
            &mut self.value,
        ] {
            *value += units;
        }
        self.first = self.first.map(|first| first + units);
        self.lowest = self.lowest.map(|lowest| lowest + units);
        self.hour.each(|value| *value += units);
    }

    /// Whether baselines go on from those of the beginning of this run: the total to the unit, after all of
    /// the explained flows or after the first of them, as far as they were durable; and no lower peak.
    fn goes_on(&self, spec: &MarketSpec, begun: &Baselines, stored: &Baselines) -> bool {
        let scale = 2 * signed(spec.lot);
        let after = |explained: &i128| {
            let moved = |value: i128| ceil(value * scale + explained, scale);
            stored.total == moved(begun.total) && stored.peak >= moved(begun.peak)
        };
        after(&0) || self.explained.iter().any(after)
    }

    /// What is lost far beyond its limit at a value: its name, how much, and the limit.
    fn beyond(
        &self,
        shown: Time,
        value: i128,
        limits: &MarketConfig,
    ) -> Option<(Invariant, i128, Amount)> {
        let today = self.day_ends.is_some_and(|ends| shown < ends);
        let high = self.hour.within(shown, HOUR_MS).max().copied();
        let limits = &limits.loss;
        let lost = [
            (
                Invariant::LossHour,
                high.map_or(0, |high| high - value),
                limits.hour_max,
            ),
            (Invariant::LossTotal, self.total - value, limits.total_max),
            (
                Invariant::LossDay,
                if today { self.day - value } else { 0 },
                limits.day_max,
            ),
            (Invariant::Drawdown, self.peak - value, limits.drawdown_max),
        ];
        let most = |most: Amount| signed(most) + signed(most) / 8;
        lost.into_iter()
            .find(|(_, lost, limit)| *limit < Amount::MAX && *lost > most(*limit))
    }

    /// What is held at a price.
    fn at(&self, mid: Rate) -> i128 {
        self.base * signed(mid.quote) / signed(mid.base).max(1) + self.quote
    }
}

/// The books of every market; none where they cannot be kept.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    books: BTreeMap<MarketId, Books>,
    /// The opening was told.
    open: bool,
    /// The venue's time at the start.
    begun: VenueTime,
}

impl Losses {
    /// A run that begins with what earlier ones lost, and with what must be held if everything that was
    /// booked is all that happened. Shares of pools are not valued here.
    pub(crate) fn begin(start: &Start, held: Booked<'_>) -> Self {
        let mut books = BTreeMap::new();
        for spec in start.markets.iter().filter(|_| start.pools.is_empty()) {
            let of_token = start.markets.iter().filter(|s| s.base.id == spec.base.id);
            let booked = held(spec).filter(|_| of_token.count() == 1);
            let Some((base, _)) = booked else { continue };
            let position = start.books.positions.get(&spec.id).cloned();
            let Position {
                cash, baselines, ..
            } = position.unwrap_or_default();
            let kept = Books {
                base,
                quote: cash,
                carried: baselines,
                mid: None,
                explained: Vec::new(),
                first: None,
                lowest: None,
                total: 0,
                day: 0,
                day_ends: None,
                value: 0,
                peak: 0,
                hour: Recent::of(HOUR_MS),
                spent: false,
                lost: 0,
                over: 0,
                looked: 0,
                said: String::new(),
            };
            books.insert(spec.id, kept);
        }
        Self {
            books,
            open: false,
            begun: start.venue_time,
        }
    }

    /// The opening was told: depths before say nothing.
    pub(crate) fn opens(&mut self, depths: &dyn Fn(MarketId) -> u64) {
        self.open = true;
        for (market, books) in &mut self.books {
            books.looked = depths(*market);
        }
    }

    /// A pause for what an hour lost: the hour begins anew.
    pub(crate) fn paused(&mut self, market: MarketId) {
        if let Some(books) = self.books.get_mut(&market) {
            books.hour = Recent::of(HOUR_MS);
            (books.spent, books.over) = (true, 0);
        }
    }

    /// What was held back may leave again until the next looks say otherwise.
    pub(crate) fn healed(&mut self, market: MarketId) {
        if let Some(books) = self.books.get_mut(&market) {
            books.over = 0;
        }
    }

    /// An operator explained a flow: to the running daemon, or, with the price of the durable baselines of a
    /// market, while it was stopped.
    pub(crate) fn explain(
        &mut self,
        specs: &[MarketSpec],
        (token, amount): (TokenId, i128),
        stored: &dyn Fn(MarketId) -> Option<Rate>,
    ) {
        let Some(spec) = specs.iter().find(|spec| spec.base.id == token) else {
            return;
        };
        if let Some(books) = self.books.get_mut(&spec.id) {
            books.explain(spec, amount, stored(spec.id));
        }
    }

    pub(crate) fn fill(&mut self, fill: &Fill) {
        let Some(books) = self.books.get_mut(&fill.market) else {
            return;
        };
        let (base, quote, fee) = (signed(fill.base), signed(fill.quote), signed(fill.fee));
        match fill.side {
            Side::Buy => {
                books.base += base - fee;
                books.quote -= quote;
            }
            Side::Sell => {
                books.base -= base;
                books.quote += quote - fee;
            }
        }
    }

    /// A depth was taken in: a loss that it does not show was seen to be none, whoever decided on it.
    pub(crate) fn sees(
        &mut self,
        shown: Time,
        (spec, mid): (&MarketSpec, u64),
        limits: &MarketConfig,
    ) {
        let Some(books) = self.books.get_mut(&spec.id) else {
            return;
        };
        books.mid = Some(mid);
        if !self.open {
            return;
        }
        let value = books.value_at(spec, mid);
        if books.first.is_none() {
            books.lowest = Some(books.lowest.map_or(value, |lowest| lowest.min(value)));
        } else if books.beyond(shown, value, limits).is_none() {
            books.over = 0;
        }
    }

    pub(crate) fn look(
        &mut self,
        shown: Time,
        depths: u64,
        (spec, mid): (&MarketSpec, u64),
        limits: &MarketConfig,
    ) {
        let Some(books) = self.books.get_mut(&spec.id).filter(|_| self.open) else {
            return;
        };
        if books.looked == depths {
            return;
        }
        books.looked = depths;
        let value = books.value_at(spec, mid);
        if books.first.is_none() {
            // What the price did between two runs is lost as well.
            let lowest = books.lowest.map_or(value, |lowest| lowest.min(value));
            let shift = ceil(
                books.explained.last().copied().unwrap_or(0),
                2 * signed(spec.lot),
            );
            let carried = books.carried.clone().map(|mut carried| {
                carried.shift(shift);
                carried
            });
            let then = carried
                .as_ref()
                .map_or(lowest, |carried| books.at(carried.mid));
            let of = |value: fn(&Baselines) -> i128| carried.as_ref().map_or(lowest, value);
            books.total = of(|carried| carried.total);
            books.peak = of(|carried| carried.peak);
            let today = carried
                .as_ref()
                .filter(|carried| carried.day == self.begun.0 / DAY_MS);
            books.day = today.map_or(then.max(value), |carried| carried.day_open);
            let left_ms = DAY_MS - self.begun.0 % DAY_MS;
            books.day_ends = Some(shown.plus_ms(left_ms.saturating_sub(HOUR_MS / 60)));
        }
        books.first.get_or_insert(value);
        books.peak = books.peak.max(value);
        books.value = value;
        books.lost = books.total - value;
        if !std::mem::take(&mut books.spent) {
            books.hour.add(shown, value);
        }
        match books.beyond(shown, value, limits) {
            Some((name, lost, most)) => {
                books.over += 1;
                books.said = format!("{name}: {lost} of {most}");
            }
            None => books.over = 0,
        }
    }

    /// What a run begins with must be what the last one had to go on with: a kill neither costs nor forgets
    /// anything. Values of a first run may not be stored yet.
    pub(crate) fn forgotten(&self, start: &Start) -> Option<Broken> {
        self.books.iter().find_map(|(market, books)| {
            let begun = books.carried.as_ref()?;
            let position = start.books.positions.get(market)?;
            let Some(stored) = &position.baselines else {
                let detail = format!("market {} begins without baselines", market.0);
                return Some((Invariant::LossForgotten, detail));
            };
            let spec = start.markets.iter().find(|spec| spec.id == *market)?;
            (!books.goes_on(spec, begun, stored)).then(|| {
                let explained = &books.explained;
                let detail = format!(
                    "counted from {begun:?}, explained {explained:?}, begins with {stored:?}"
                );
                (Invariant::LossForgotten, detail)
            })
        })
    }

    /// What is held, and what flowed, must be what all booked trades make of the beginning, to the unit.
    pub(crate) fn differs(&self, start: &Start, held: Booked<'_>) -> Option<Broken> {
        start.markets.iter().find_map(|spec| {
            self.books.get(&spec.id)?;
            let position = start.books.positions.get(&spec.id)?;
            let booked = held(spec)?;
            let stored = (position.base, position.cash);
            (stored != booked).then(|| {
                let detail = format!("market {}: {stored:?} stored, {booked:?} booked", spec.id.0);
                (Invariant::Position, detail)
            })
        })
    }

    pub(crate) fn forbid(&self, order: &UnsignedOrder) -> Option<Broken> {
        let books = self.books.get(&order.market)?;
        (books.over >= LOOKS).then(|| {
            let detail = format!("{} although {}", order.client_id, books.said);
            (Invariant::LossLimit, detail)
        })
    }
}

/// What base is worth at a mid in half ticks, in `1 / (2 · lot)` quote units.
fn worth_of(spec: &MarketSpec, base: i128, mid: u64) -> i128 {
    base * signed(spec.quote_per_lot_tick) * i128::from(mid)
}

fn ceil(number: i128, by: i128) -> i128 {
    -(-number).div_euclid(by)
}

fn signed(amount: Amount) -> i128 {
    i128::try_from(amount).unwrap_or(i128::MAX)
}
