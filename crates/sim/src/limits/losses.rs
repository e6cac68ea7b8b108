//! Losses: what was held and traded, valued at the mids that strategies were shown. A loss far beyond its
//! limit that stopped nothing is a limit that is not kept.

use std::collections::BTreeMap;

use cambist_core::config::MarketConfig;
use cambist_core::event::{Lost, Start};
use cambist_core::level::Rate;
use cambist_core::note::Fill;
use cambist_core::order::UnsignedOrder;
use cambist_core::{Amount, MarketId, MarketSpec, Side, Time, VenueTime};

use crate::conduct::Broken;

use super::lately::Lately;

/// Looks in a row that show it; the engine needs two.
const LOOKS: u32 = 4;
const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// One market's books.
#[derive(Debug)]
struct Books {
    base: i128,
    quote: i128,
    carried: Lost,
    first: Option<i128>,
    /// The lowest value of depths that were taken in and not decided on yet, before the first that was.
    lowest: Option<i128>,
    /// What is held, at the last mid of earlier runs.
    then: i128,
    /// The mark of the day, and when it ends for this clock.
    day: i128,
    day_ends: Option<Time>,
    /// At the last look.
    value: i128,
    peak: i128,
    /// Values of the last hour, since what they lost held anything back.
    hour: Lately<i128>,
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
        let worth = self.base * signed(spec.quote_per_lot_tick) * i128::from(mid);
        worth / (2 * signed(spec.lot)) + self.quote
    }

    /// What is lost far beyond its limit at a value: its name, how much, and the limit.
    fn beyond(
        &self,
        shown: Time,
        value: i128,
        limits: &MarketConfig,
    ) -> Option<(&'static str, i128, Amount)> {
        let today = self.day_ends.is_some_and(|ends| shown < ends);
        let high = self.hour.within(shown, HOUR_MS).max().copied();
        let limits = &limits.loss;
        let lost = [
            (
                "loss_hour",
                high.map_or(0, |high| high - value),
                limits.hour_max,
            ),
            (
                "loss_total",
                self.then - value + self.carried.total,
                limits.total_max,
            ),
            (
                "loss_day",
                if today { self.day - value } else { 0 },
                limits.day_max,
            ),
            ("drawdown", self.peak - value, limits.drawdown_max),
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
pub(super) struct Losses {
    books: BTreeMap<MarketId, Books>,
    /// The opening was told.
    open: bool,
    /// The venue's time at the start.
    begun: VenueTime,
}

impl Losses {
    /// A run that begins with what earlier ones lost, and with what must be held if everything that was
    /// booked is all that happened. Shares of pools are not valued here.
    pub(super) fn begin(start: &Start, held: &dyn Fn(&MarketSpec) -> Option<i128>) -> Self {
        let mut books = BTreeMap::new();
        for spec in start.markets.iter().filter(|_| start.pools.is_empty()) {
            let of_token = start.markets.iter().filter(|s| s.base.id == spec.base.id);
            let Some(base) = held(spec).filter(|_| of_token.count() == 1) else {
                continue;
            };
            let carried = start.levels.lost.get(&spec.id).copied().unwrap_or_default();
            let kept = Books {
                base,
                quote: 0,
                carried,
                first: None,
                lowest: None,
                then: 0,
                day: 0,
                day_ends: None,
                value: 0,
                peak: 0,
                hour: Lately::of(HOUR_MS),
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

    /// The opening was told: what was booked before is part of it, and depths before say nothing.
    pub(super) fn opens(&mut self, depths: &dyn Fn(MarketId) -> u64) {
        self.open = true;
        for (market, books) in &mut self.books {
            (books.quote, books.looked) = (0, depths(*market));
        }
    }

    /// A pause for what an hour lost: the hour begins anew.
    pub(super) fn paused(&mut self, market: MarketId) {
        if let Some(books) = self.books.get_mut(&market) {
            books.hour = Lately::of(HOUR_MS);
            (books.spent, books.over) = (true, 0);
        }
    }

    /// What was held back may leave again until the next looks say otherwise.
    pub(super) fn healed(&mut self, market: MarketId) {
        if let Some(books) = self.books.get_mut(&market) {
            books.over = 0;
        }
    }

    pub(super) fn fill(&mut self, fill: &Fill) {
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
    pub(super) fn sees(
        &mut self,
        shown: Time,
        (spec, mid): (&MarketSpec, u64),
        limits: &MarketConfig,
    ) {
        let Some(books) = self.books.get_mut(&spec.id).filter(|_| self.open) else {
            return;
        };
        let value = books.value_at(spec, mid);
        if books.first.is_none() {
            books.lowest = Some(books.lowest.map_or(value, |lowest| lowest.min(value)));
        } else if books.beyond(shown, value, limits).is_none() {
            books.over = 0;
        }
    }

    pub(super) fn look(
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
            let then = books.carried.mid.map(|mid| books.at(mid));
            let lowest = books.lowest.map_or(value, |lowest| lowest.min(value));
            books.then = then.unwrap_or(lowest);
            books.peak = books.then + books.carried.drawdown;
            let same_day = books.carried.day == self.begun.0 / DAY_MS;
            books.day = if same_day {
                books.then + books.carried.today
            } else {
                books.then.max(value)
            };
            let left_ms = DAY_MS - self.begun.0 % DAY_MS;
            books.day_ends = Some(shown.plus_ms(left_ms.saturating_sub(HOUR_MS / 60)));
        }
        books.first.get_or_insert(value);
        books.peak = books.peak.max(value);
        books.value = value;
        books.lost = books.then - value + books.carried.total;
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

    /// What a run begins with must be what the last one lost: a bound is written ahead of it.
    pub(super) fn forgotten(&self, start: &Start) -> Option<Broken> {
        self.books.iter().find_map(|(market, books)| {
            let most = start.config.markets[usize::from(market.0)].loss.total_max;
            let carried = start.levels.lost.get(market).copied().unwrap_or_default();
            let slack = signed(most) / 8;
            let limited = most < Amount::MAX && books.first.is_some();
            let since = carried.mid.map_or(0, |mid| books.at(mid) - books.value);
            let (lost, told) = (books.lost, carried.total + since);
            (limited && lost > told + slack)
                .then(|| ("loss_forgotten", format!("lost {lost}, begins with {told}")))
        })
    }

    pub(super) fn forbid(&self, order: &UnsignedOrder) -> Option<Broken> {
        let books = self.books.get(&order.market)?;
        (books.over >= LOOKS).then(|| {
            let detail = format!("{} although {}", order.client_id, books.said);
            ("loss_limit", detail)
        })
    }
}

fn signed(amount: Amount) -> i128 {
    i128::try_from(amount).unwrap_or(i128::MAX)
}
