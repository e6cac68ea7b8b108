//! The limit checks around the daemon: they receive all its events and notifications.

use cambist_core::event::Start;
use cambist_core::notification::Notification;
use cambist_core::order::UnsignedOrder;
use cambist_core::{Amount, ClientOrderId, MarketSpec, Time, TokenId};
use cambist_profit_check::trade_flow;
use cambist_venue::Venue;

use crate::chain::link::Link;
use crate::exchange::OWN_ACCOUNT;
use crate::faults::family::Family;
use crate::faults::kinds::FaultKind;
use crate::invariants::limits::{Held, Limits, StrategyCalls};
use crate::invariants::sending::Broken;
use crate::invariants::table::Invariant;

use super::World;

impl World {
    /// A run starts.
    pub(super) fn begin_limits(&mut self, strategy_calls: StrategyCalls, start: &Start) {
        let writes = !self.config.fault_kinds.kinds.iter().any(|kind| {
            let disk = kind.family() == Family::Disk;
            disk && *kind != FaultKind::SigningFailed
        });
        let last = self.limits.take().filter(|_| writes);
        let forgotten = last.and_then(|last| last.forgotten(start));
        self.break_rules(forgotten);
        let booked = |spec: &MarketSpec| self.booked(spec);
        let limits = Limits::begin(&self.specs, strategy_calls, start, &booked);
        let differs = limits.differs(start, &booked);
        self.break_rules(differs);
        self.break_rules(self.charges_lost(start));
        self.limits = Some(limits);
    }

    /// What a chain charged is lost in the quote of the first market, near its value, and moves no balance but the coin's.
    /// Everything else that is booked is in ledger and position alike, and nothing else moves the coin.
    fn charges_lost(&self, start: &Start) -> Option<Broken> {
        let signed = |amount: Amount| i128::try_from(amount).unwrap_or(i128::MAX);
        let counted = start.venue.charged_as?;
        let link = self.chain.as_ref()?;
        let ledger = start.books.ledger.as_ref()?;
        let position = start.books.positions.get(&start.markets.first()?.id)?;
        let spec = start.markets.first()?;
        let charged = signed(link.chain().genesis().coin) - ledger.get(&counted.charged)?;
        let funds = |token: TokenId| self.config.funds.get(&token).map(|units| signed(*units));
        let lost = ledger.get(&spec.quote.id)? - funds(spec.quote.id)? - position.cash;
        let moved = ledger.get(&spec.base.id)? - position.base;
        // Prices of a world stay within the file's band, or near it. What was charged while no mid was known is no loss:
        // before the first one, and between a reset of losses and the next one, which every start after an operator's
        // `resume` is.
        let band = self.config.engine.markets.first()?;
        let valued = charged - signed(self.disk.durable().unvalued);
        let worth = |coin: i128, price: u64| {
            let per_lot = signed(spec.quote_per_lot_tick).checked_mul(price.into())?;
            Some(coin.checked_mul(per_lot)? / signed(spec.lot))
        };
        let least = worth(valued, band.price_min.0)? / 4;
        let most = worth(charged, band.price_max.0)? * 4;
        let is_near = (least..=most).contains(&lost);
        (moved != 0 || !is_near).then(|| {
            let detail = format!(
                "{charged} of the coin are booked, {valued} of it at a mid; {lost} of quote are lost by it, and {moved} of \
                 base"
            );
            (Invariant::Position, detail)
        })
    }

    /// Base held and quote that flowed by the bookings; `None` after an external flow.
    fn booked(&self, spec: &MarketSpec) -> Option<(i128, i128)> {
        if self.active_faults.undetected_until > Time(0) {
            return None;
        }
        let signed = |amount: Amount| i128::try_from(amount).ok();
        let mut base = signed(*self.config.funds.get(&spec.base.id)?)?;
        let mut cash = 0;
        let of_market = |order: &UnsignedOrder| order.market == spec.id;
        let intents = self.disk.durable().intents.values();
        for intent in intents.filter(|intent| of_market(&intent.order)) {
            let (got, flowed) = trade_flow::of_trade(spec.fee_in, intent.order.side, intent.filled);
            base += got;
            cash += flowed;
        }
        Some((base, cash))
    }

    /// Checks a notification.
    pub(super) fn observe_limits(&mut self, shown: Time, notification: &Notification) {
        self.observe_reloads(notification);
        if let Some(limits) = &mut self.limits {
            let broken = limits.observe(shown, notification, &self.config.engine);
            self.break_rules(broken);
        }
    }

    /// A join or an exit is sent.
    pub(super) fn check_pool_transaction(&mut self, id: ClientOrderId) {
        let sealed = self.daemon.as_ref().and_then(|d| d.moves.get(&id));
        let venue_now = self.exchange.clock(self.now);
        if let (Some((wanted, _)), Some(limits)) = (sealed, &self.limits) {
            let broken = limits.moving(self.shown, venue_now, (id, wanted.market));
            self.break_rules(broken);
        }
    }

    /// Orders of one decision are handed over for sealing.
    pub(super) fn check_orders(&mut self, orders: &[UnsignedOrder]) {
        self.take_trades();
        self.check_other_ages(orders);
        let venue = self.exchange.venue();
        let times = (self.shown, self.exchange.clock(self.now));
        let on_chain = self.chain.as_ref().map(Link::held);
        let held = |token| match &on_chain {
            Some(held) => held.get(&token).copied().unwrap_or(0),
            None => held_at(venue, token),
        };
        if let Some(limits) = &mut self.limits {
            let ground_truth = (&self.ground_truth, &held as Held<'_>);
            let broken = limits.sealing(times, orders, &self.config.engine, ground_truth);
            self.break_rules(broken);
        }
    }

    /// Nothing is ordered by another market that is older than configured. Where the order's own market is too old as
    /// well the daemon does not know the venue's time yet, and the order is held back before it leaves.
    fn check_other_ages(&mut self, orders: &[UnsignedOrder]) {
        let Some(limits) = &self.limits else { return };
        let (data_age, poll) = (&self.sending_rules.data_age, &self.config.engine.poll);
        let too_old = |market| data_age.too_old(market, self.shown, poll);
        let mut in_time = orders
            .iter()
            .filter(|order| too_old(order.market).is_none());
        let old = in_time.find_map(|order| {
            let mut read = limits.others_of(order, self.shown);
            let (market, age) = read.find_map(|market| {
                let age = too_old(market)?;
                Some((market, age))
            })?;
            let id = order.client_id;
            Some(format!(
                "{id} is ordered by {market:?}, which is {age} ms old"
            ))
        });
        if let Some(detail) = old {
            self.checks.fail(Invariant::OtherMarkets, detail);
        }
    }

    /// Whether all targets are forbidden by the band or cost more than is held: after a large price move a strategy with
    /// a target share has no others, and one with a quantity may have too little for one side while the band forbids the
    /// other.
    pub(super) fn account_forbids_every_target(&self) -> bool {
        let held = |token| held_at(self.exchange.venue(), token);
        let limits = self.limits.as_ref();
        limits.is_some_and(|limits| limits.forbids_every_target(&self.config.engine, &held))
    }
}

/// Our balance at the exchange.
impl World {
    /// What the account holds of a token at the venue.
    pub(super) fn held_at_venue(&self, token: TokenId) -> Amount {
        match &self.chain {
            Some(chain) => chain.held().get(&token).copied().unwrap_or(0),
            None => held_at(self.exchange.venue(), token),
        }
    }
}

fn held_at(venue: &Venue, token: TokenId) -> Amount {
    let account = venue.account(OWN_ACCOUNT);
    account.map_or(0, |account| account.balance(token).total)
}
