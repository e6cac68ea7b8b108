//! Losses: holdings and trades valued at the mids that strategies received. A loss far above its limit that stopped
//! nothing violates the limit.

use cambist_core::books::{Baselines, Position};
use cambist_core::config::MarketConfig;
use cambist_core::event::Start;
use cambist_core::level::Rate;
use cambist_core::notification::Fill;
use cambist_core::order::UnsignedOrder;
use cambist_core::sorted_map::SortedMap;
use cambist_core::venue::FeeToken;
use cambist_core::{Amount, MarketId, MarketSpec, Time, TokenId, VenueTime};
use cambist_profit_check::trade_flow;

use crate::invariants::limits::recent::Recent;
use crate::invariants::sending::Broken;
use crate::invariants::table::Invariant;

/// Consecutive samples that must show it; the engine needs two.
const LOOKS: u32 = 4;
const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Base held and quote that flowed by all booked trades of a market; `None` if unknown.
pub(crate) type Booked<'a> = &'a dyn Fn(&MarketSpec) -> Option<(i128, i128)>;

/// The books of one market.
#[derive(Debug)]
struct Books {
    base: i128,
    quote: i128,
    carried: Option<Baselines>,
    /// Whether earlier runs left holdings: the engine then values them from its first depth, not only from the opening.
    resumed: bool,
    /// The lowest and the highest mid of this run that may be the last one that losses were measured at: of every depth
    /// from the last one that a strategy was shown. One that is too old, too thin or too wide is accepted, and nothing is
    /// measured at it.
    mids: Option<(u64, u64)>,
    /// Whether a strategy was shown one: what was measured before is not the last mid any more.
    is_measured: bool,
    /// Value of every explained flow of this run and of all before it, in `1 / (2 · lot)` quote units: every baseline
    /// shifts by it. The least and the most that it can be.
    explained: Vec<(i128, i128)>,
    first: Option<i128>,
    /// The lowest value of depths that were accepted and not used in a decision yet, before the first that was.
    lowest: Option<i128>,
    /// The value at the beginning.
    total: i128,
    /// Baseline of the day, and when the day ends by this clock.
    day: i128,
    day_ends: Option<Time>,
    /// Value at the last sample.
    value: i128,
    peak: i128,
    /// Values of the last hour, since its losses last engaged a pause, as far as none later was as high.
    hour: Recent<i128>,
    /// Whether the next sample engages the pause: the hour starts after it.
    spent: bool,
    /// Loss since the first start at the last sample.
    lost: i128,
    over: u32,
    /// Depths accepted at the last sample.
    depths_measured: u64,
    /// The exceeded limit as text.
    exceeded: String,
}

impl Books {
    fn value_at(&self, spec: &MarketSpec, mid: u64) -> i128 {
        worth_of(spec, self.base, mid) / (2 * signed(spec.lot)) + self.quote
    }

    /// An operator explained an external flow of base: neither gain nor loss at the last price. `stored` is the price
    /// of the durable baselines if the flow was explained offline. Losses count from the least that it shifts them by.
    fn explain(&mut self, spec: &MarketSpec, amount: i128, stored: Option<Rate>) {
        self.base += amount;
        let scale = 2 * signed(spec.lot);
        let at = |mid: Rate| scale * ceil(amount * signed(mid.quote), signed(mid.base).max(1));
        let carried = self.carried.as_ref().map(|carried| carried.mid);
        let of_runs = stored.or(carried.filter(|_| !self.is_measured)).map(at);
        let of_run = self.mids.filter(|_| stored.is_none());
        let of_run = of_run.into_iter().flat_map(|(low, high)| [low, high]);
        let of_run = of_run.map(|mid| worth_of(spec, amount, mid));
        let worth: Vec<i128> = of_run.chain(of_runs).collect();
        let (Some(least), Some(most)) = (worth.iter().min(), worth.iter().max()) else {
            return;
        };
        let before = self.explained.last().copied().unwrap_or_default();
        self.explained.push((before.0 + least, before.1 + most));
        let units = ceil(*least, scale);
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

    /// Whether stored baselines continue those at the start of this run: the total exactly, after all explained flows
    /// or a durable prefix of them, and no lower peak.
    fn continues_baselines(
        &self,
        spec: &MarketSpec,
        begun: &Baselines,
        stored: &Baselines,
    ) -> bool {
        let scale = 2 * signed(spec.lot);
        let after = |(least, most): &(i128, i128)| {
            let moved = |value: i128, by: &i128| ceil(value * scale + by, scale);
            let totals = moved(begun.total, least)..=moved(begun.total, most);
            totals.contains(&stored.total) && stored.peak >= moved(begun.peak, least)
        };
        after(&(0, 0)) || self.explained.iter().any(after)
    }

    /// The loss that is far above its limit at a value: name, amount, limit.
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

    /// Value of the holdings at a price.
    fn at(&self, mid: Rate) -> i128 {
        self.base * signed(mid.quote) / signed(mid.base).max(1) + self.quote
    }
}

/// The books of every market; empty where they cannot be kept.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    books: SortedMap<MarketId, Books>,
    /// Whether the opening was reported.
    open: bool,
    /// The venue's time at the start.
    begun: VenueTime,
}

impl Losses {
    /// A run that starts with the losses of earlier ones, and with the holdings that follow from all bookings. Pool
    /// shares are not valued here.
    pub(crate) fn begin(start: &Start, held: Booked<'_>) -> Self {
        let mut books = SortedMap::new();
        for spec in start.markets.iter().filter(|_| start.pools.is_empty()) {
            let of_token = start.markets.iter().filter(|s| s.base.id == spec.base.id);
            let booked = held(spec).filter(|_| of_token.count() == 1);
            let Some((base, _)) = booked else { continue };
            let position = start.books.positions.get(&spec.id).cloned();
            let resumed = position.is_some() && start.books.ledger.is_some();
            let Position {
                cash, baselines, ..
            } = position.unwrap_or_default();
            let kept = Books {
                base,
                quote: cash,
                carried: baselines,
                resumed,
                mids: None,
                is_measured: false,
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
                depths_measured: 0,
                exceeded: String::new(),
            };
            books.insert(spec.id, kept);
        }
        Self {
            books,
            open: false,
            begun: start.venue_time,
        }
    }

    /// The opening was reported: earlier depths do not count.
    pub(crate) fn opens(&mut self, depths: &dyn Fn(MarketId) -> u64) {
        self.open = true;
        for (market, books) in &mut self.books {
            books.depths_measured = depths(*market);
        }
    }

    /// A pause for the loss of an hour: the hour starts again.
    pub(crate) fn paused(&mut self, market: MarketId) {
        if let Some(books) = self.books.get_mut(&market) {
            books.hour = Recent::of(HOUR_MS);
            (books.spent, books.over) = (true, 0);
        }
    }

    /// A pause has ended: orders may be sent until the next samples.
    pub(crate) fn pause_ended(&mut self, market: MarketId) {
        if let Some(books) = self.books.get_mut(&market) {
            books.over = 0;
        }
    }

    /// An operator explained a flow: to the running daemon, or offline with the price of the market's durable
    /// baselines.
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

    pub(crate) fn fill(&mut self, fee_in: FeeToken, fill: &Fill) {
        let Some(books) = self.books.get_mut(&fill.market) else {
            return;
        };
        let amounts = (fill.base, fill.quote, fill.fee);
        let (base, quote) = trade_flow::of_trade(fee_in, fill.side, amounts);
        books.base += base;
        books.quote += quote;
    }

    /// A depth was accepted: a loss that it does not show counts as not existing, in any decision.
    pub(crate) fn observe_mid(
        &mut self,
        shown: Time,
        (spec, mid): (&MarketSpec, u64),
        limits: &MarketConfig,
    ) {
        let Some(books) = self.books.get_mut(&spec.id) else {
            return;
        };
        let (low, high) = books.mids.unwrap_or((mid, mid));
        books.mids = Some((low.min(mid), high.max(mid)));
        if !self.open && !books.resumed {
            return;
        }
        let value = books.value_at(spec, mid);
        if books.first.is_none() {
            books.lowest = Some(books.lowest.map_or(value, |lowest| lowest.min(value)));
        } else if books.beyond(shown, value, limits).is_none() {
            books.over = 0;
        }
    }

    pub(crate) fn measure(
        &mut self,
        shown: Time,
        depths: u64,
        (spec, mid): (&MarketSpec, u64),
        limits: &MarketConfig,
    ) {
        let Some(books) = self.books.get_mut(&spec.id).filter(|_| self.open) else {
            return;
        };
        (books.mids, books.is_measured) = (Some((mid, mid)), true);
        if books.depths_measured == depths {
            return;
        }
        books.depths_measured = depths;
        let value = books.value_at(spec, mid);
        if books.first.is_none() {
            // Price changes between two runs are losses as well.
            let lowest = books.lowest.map_or(value, |lowest| lowest.min(value));
            let shift = ceil(
                books.explained.last().map_or(0, |(least, _)| *least),
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
            books.day = today.map_or(then.max(lowest), |carried| carried.day_open);
            let left_ms = DAY_MS - self.begun.0 % DAY_MS;
            books.day_ends = Some(shown.plus_ms(left_ms.saturating_sub(HOUR_MS / 60)));
        }
        books.first.get_or_insert(value);
        books.peak = books.peak.max(value);
        books.value = value;
        books.lost = books.total - value;
        if !std::mem::take(&mut books.spent) {
            books.hour.add_peak(shown, value);
        }
        match books.beyond(shown, value, limits) {
            Some((name, lost, most)) => {
                books.over += 1;
                books.exceeded = format!("{name}: {lost} of {most}");
            }
            None => books.over = 0,
        }
    }

    /// A run must start with the baselines that the last one stored: a kill neither costs nor resets anything. Values
    /// of a first run may not be stored yet.
    pub(crate) fn forgotten(&self, start: &Start) -> Option<Broken> {
        self.books.iter().find_map(|(market, books)| {
            let begun = books.carried.as_ref()?;
            let position = start.books.positions.get(market)?;
            let Some(stored) = &position.baselines else {
                let detail = format!("market {} begins without baselines", market.0);
                return Some((Invariant::LossForgotten, detail));
            };
            let spec = start.markets.iter().find(|spec| spec.id == *market)?;
            (!books.continues_baselines(spec, begun, stored)).then(|| {
                let explained = &books.explained;
                let detail = format!(
                    "counted from {begun:?}, explained {explained:?}, begins with {stored:?}"
                );
                (Invariant::LossForgotten, detail)
            })
        })
    }

    /// Holdings and flows must equal the opening plus all booked trades, exactly.
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
            let detail = format!("{} although {}", order.client_id, books.exceeded);
            (Invariant::LossLimit, detail)
        })
    }
}

/// Value of base at a mid in half ticks, in `1 / (2 · lot)` quote units.
fn worth_of(spec: &MarketSpec, base: i128, mid: u64) -> i128 {
    base * signed(spec.quote_per_lot_tick) * i128::from(mid)
}

fn ceil(number: i128, by: i128) -> i128 {
    -(-number).div_euclid(by)
}

fn signed(amount: Amount) -> i128 {
    i128::try_from(amount).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::config::WorldConfig;
    use crate::world::World;

    const ONE: Amount = 1_000_000_000_000_000_000;

    /// Whether an order may leave after the mid fell by 3.00 since the opening, and by 1.00 since the first depth: 40 are
    /// held, and a day may lose 60. `resumed` is whether an earlier run left a position, whose losses an operator forgot.
    fn allowed(resumed: bool) -> bool {
        let mut config = WorldConfig::calm(1, "ladder");
        config.engine.markets[0].loss.day_max = 60_000_000;
        let limits = config.engine.markets[0].clone();
        let mut start = World::new(config).unwrap().start_event();
        let spec = start.markets[0].clone();
        if resumed {
            let position = Position {
                base: signed(40 * ONE),
                ..Position::default()
            };
            start.books.ledger = Some([(spec.base.id, signed(40 * ONE))].into());
            start.books.positions = [(spec.id, position)].into();
        }
        let mut losses = Losses::begin(&start, &|_| Some((signed(40 * ONE), 0)));
        let depth = |losses: &mut Losses, number: u64, mid: u64| {
            let shown = Time::from_ms(1_000 * number);
            losses.observe_mid(shown, (&spec, mid), &limits);
            losses.measure(shown, number, (&spec, mid), &limits);
        };
        depth(&mut losses, 1, 499_600);
        losses.opens(&|_| 1);
        depth(&mut losses, 2, 500_000);
        for number in 0..u64::from(LOOKS) {
            depth(&mut losses, 3 + number, 499_400);
        }
        losses.forbid(&crate::kept::bid(1, 30, 0)).is_none()
    }

    /// Seed 629 of Kraken's worlds: a depth that took seven seconds was accepted, and was too old to measure losses at.
    /// The flow that was explained next was valued at the one before.
    #[test]
    fn a_flow_is_valued_at_a_mid_that_losses_may_have_been_measured_at() {
        let config = WorldConfig::calm(1, "ladder");
        let limits = config.engine.markets[0].clone();
        let mut start = World::new(config).unwrap().start_event();
        let spec = start.markets[0].clone();
        let mid = |mid: u64| Rate {
            quote: Amount::from(mid) * spec.quote_per_lot_tick,
            base: 2 * spec.lot,
        };
        let position = Position {
            base: signed(40 * ONE),
            baselines: Some(Baselines {
                mid: mid(500_100),
                ..Baselines::default()
            }),
            ..Position::default()
        };
        start.books.ledger = Some([(spec.base.id, signed(40 * ONE))].into());
        start.books.positions = [(spec.id, position)].into();
        // A flow at one of these mids, after depths of which a strategy was shown some: whether a start may begin so.
        let continues = |depths: &[(u64, bool)], at: u64| {
            let mut losses = Losses::begin(&start, &|_| Some((signed(40 * ONE), 0)));
            losses.opens(&|_| 0);
            for (number, (mid, is_shown)) in (1..).zip(depths) {
                let shown = Time::from_ms(1_000 * number);
                losses.observe_mid(shown, (&spec, *mid), &limits);
                if *is_shown {
                    losses.measure(shown, number, (&spec, *mid), &limits);
                }
            }
            let flow = (spec.base.id, signed(ONE));
            losses.explain(std::slice::from_ref(&spec), flow, &|_| None);
            let mut next = start.clone();
            let baselines = next.books.positions.get_mut(&spec.id).unwrap();
            let shift = worth_of(&spec, signed(ONE), at) / (2 * signed(spec.lot));
            baselines.baselines.as_mut().unwrap().shift(shift);
            losses.forgotten(&next).is_none()
        };
        let found = |depths: &[(u64, bool)]| {
            [499_400, 499_700, 500_000, 500_100].map(|at| continues(depths, at))
        };
        assert_eq!(found(&[]), [false, false, false, true]);
        let shown = [(499_700, true), (499_400, true)];
        assert_eq!(found(&shown), [true, false, false, false]);
        let old = [(499_700, true), (499_400, false)];
        assert_eq!(found(&old), [true, true, false, false]);
        let none = [(500_000, false), (499_700, false)];
        assert_eq!(found(&none), [false, true, true, true]);
    }

    #[test]
    fn losses_that_an_operator_forgot_count_from_the_first_depth_of_the_next_run() {
        assert!(allowed(true), "40 lost of 60");
        assert!(!allowed(false), "an account that was never opened: 120");
    }
}
