//! Pauses: each one applies, is engaged when due, and ends.

use crate::invariants::table::Invariant;
use std::collections::BTreeSet;

use cambist_core::config::RiskConfig;
use cambist_core::control::Control;
use cambist_core::event::{Command, Event, Filter, Pause, Restrictions, TradingState};
use cambist_core::notification::Notification;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{ClientOrderId, MarketId, Side, Time, VenueTime};

use crate::invariants::sending::Broken;

use crate::invariants::limits::recent::Recent;

/// Mids are kept for this time.
const KEPT_MS: u64 = 3_600_000;
const DAY_MS: u64 = 86_400_000;
/// How far one wrong answer may advance the venue clock.
pub(crate) const LEAP_MS: u64 = 5_000;

/// A pause that is due, reported or not: no orders for this time after it.
#[derive(Clone, Copy, Debug)]
struct Owed {
    since: Time,
    pause_ms: u64,
}

impl Owed {
    fn holds(&self, now: Time) -> bool {
        // Because the venue's clock is known as a lower bound only, the pause may end later, never earlier.
        now.ms_since(self.since) < self.pause_ms - self.pause_ms / 8
    }
}

/// Pauses in force, pauses due, and the reported trading state.
#[derive(Debug)]
pub(crate) struct Pauses {
    level: TradingState,
    /// Whether an operator is lowering it.
    lowers: bool,
    held: Vec<Pause>,
    /// All pauses that a control engaged.
    engaged: Vec<Pause>,
    /// Their possible lengths: one that was engaged before a reload is reported after it.
    lengths: BTreeSet<u64>,
    mids: SortedMap<MarketId, Recent<u64>>,
    /// The limit of moves with which they were checked.
    moves: Option<(u32, u64)>,
    owed: SortedMap<MarketId, Owed>,
    /// When mids were last too far apart.
    far: SortedMap<MarketId, Time>,
}

impl Pauses {
    pub(crate) fn begin(levels: &Restrictions) -> Self {
        Self {
            level: levels.state,
            lowers: false,
            held: levels.pauses.clone(),
            engaged: levels.pauses.clone(),
            lengths: BTreeSet::new(),
            mids: SortedMap::new(),
            moves: None,
            owed: SortedMap::new(),
            far: SortedMap::new(),
        }
    }

    pub(crate) fn handle_event(&mut self, event: &Event) {
        match event {
            Event::Operator(Command::Lower { .. }) => self.lowers = true,
            Event::Operator(Command::Unpause { filter, .. }) => {
                let stays = |part: &Filter| !filter.contains(part);
                self.held.retain(|pause| stays(&pause.filter));
                self.engaged.retain(|pause| stays(&pause.filter));
                self.owed
                    .retain(|market, _| stays(&Filter::market(*market)));
            }
            _ => {}
        }
    }

    /// Records an accepted mid: a runaway pauses its market.
    pub(crate) fn moved(&mut self, shown: Time, market: MarketId, mid: u64, risk: &RiskConfig) {
        let limit = (risk.move_bps, risk.move_ms);
        if self.moves.replace(limit) != Some(limit) {
            // A longer window than before contains no more mids than the shorter one did.
            self.mids.clear();
            self.owed.clear();
        }
        let mids = self.mids.entry(market);
        let mids = mids.or_insert_with(|| Recent::of(KEPT_MS));
        mids.add(shown, mid);
        let window = || mids.within(shown, risk.move_ms).copied();
        let (Some(low), Some(high)) = (window().min(), window().max()) else {
            return;
        };
        let far = u128::from(high - low) * 10_000 > u128::from(risk.move_bps) * u128::from(low);
        if !far {
            return;
        }
        // A mid that stays far away pauses the market again and again, with a moment in between: the start of the next
        // pause is up to the engine.
        let before = self.far.insert(market, shown);
        let is_new = before.is_none_or(|at| shown.ms_since(at) > 2 * risk.pause_ms);
        if is_new && !self.was_reported(market) {
            let owed = Owed {
                since: shown,
                pause_ms: risk.pause_ms,
            };
            self.owed.insert(market, owed);
        }
    }

    /// Whether a pause of a market for a move was reported and may still apply, or has just ended.
    fn was_reported(&self, market: MarketId) -> bool {
        let of_market = |pause: &&Pause| {
            pause.filter == Filter::market(market) && pause.cause == Control::PriceMove.name()
        };
        self.held.iter().any(|pause| of_market(&pause))
    }

    pub(crate) fn observe(
        &mut self,
        notification: &Notification,
        risk: &RiskConfig,
    ) -> Vec<Broken> {
        let mut broken = Vec::new();
        self.lengths.insert(risk.pause_ms);
        match notification {
            Notification::Paused(pause) if !self.engaged.contains(pause) => {
                let day_ago = pause.since.minus_ms(DAY_MS);
                self.engaged.retain(|old| old.since >= day_ago);
                let like = |old: &&Pause| old.filter == pause.filter && old.until.is_some();
                let before = self.engaged.iter().filter(like).count();
                if pause.until.is_some() && before >= risk.pauses_per_day as usize {
                    let detail = format!("{before} pauses within a day and another one");
                    broken.push((Invariant::PausesPerDay, detail));
                }
                if let Some(until) = pause.until
                    && !self.lengths.contains(&until.ms_since(pause.since))
                {
                    let detail = format!("{} ms", until.ms_since(pause.since));
                    broken.push((Invariant::PauseLength, detail));
                }
                if pause.until.is_none() && Control::named(&pause.cause).is_some() {
                    let detail = format!("{} holds without end", pause.cause);
                    broken.push((Invariant::PauseLength, detail));
                }
                self.held.push(pause.clone());
                self.engaged.push(pause.clone());
            }
            Notification::Unpaused { filter, .. } => {
                // Those of controls have one length: the oldest ends first.
                let ended = self.held.iter().position(|pause| pause.filter == *filter);
                ended.map(|at| self.held.remove(at));
                if let Some(market) = filter.market {
                    // By the venue's clock, which continues while the host is suspended.
                    self.owed.remove(&market);
                }
            }
            Notification::TradingStateChanged { level, .. } => {
                if *level < self.level && !std::mem::take(&mut self.lowers) {
                    let (from, to) = (self.level.name(), level.name());
                    broken.push((
                        Invariant::LevelLowered,
                        format!("from {from} to {to} without an operator"),
                    ));
                }
                self.level = *level;
            }
            _ => {}
        }
        broken
    }

    /// What forbids an order that is sealed or sent now. A reported pause ends by the venue's own clock, which is known
    /// when bytes are sent.
    pub(crate) fn forbid(
        &self,
        shown: Time,
        venue_now: Option<VenueTime>,
        (id, market, side): (ClientOrderId, MarketId, Side),
    ) -> Vec<Broken> {
        let mut broken = Vec::new();
        if self.level > TradingState::Active {
            broken.push((
                Invariant::Level,
                format!("{id} at level {}", self.level.name()),
            ));
        }
        let held = self.held.iter().find(|pause| {
            let holds = venue_now.is_some_and(|now| pause.holds(now.plus_ms(LEAP_MS)));
            let filter = pause.filter;
            holds
                && filter.market.is_none_or(|of| of == market)
                && filter.side.is_none_or(|of| of == side)
                && filter.strategy.is_none_or(|of| of == id.strategy)
        });
        if let Some(pause) = held {
            let detail = format!("{id} while held back for {}", pause.cause);
            broken.push((Invariant::Paused, detail));
        }
        let owed = self.owed.get(&market);
        if owed.is_some_and(|owed| owed.holds(shown)) {
            broken.push((Invariant::PriceMove, format!("{id} after the mid ran away")));
        }
        broken
    }
}
