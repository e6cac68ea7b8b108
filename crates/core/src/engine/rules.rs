//! Every control of the gate: a name, and a pure function that says whether an order passes.
//!
//! A control stands in the table of the moment at which it is asked; tables are asked from top to
//! bottom. To add one is to write a line and a function here, a name and a sentence in `control`, and a
//! test on both sides of its limit.

use crate::event::Level;
use crate::fence;
use crate::market::Side;
use crate::note::Control;
use crate::planted::{self, Defect};
use crate::token::{AMOUNT_MAX, Amount, TokenSpec};

use super::risk::{Candidate, Situation};

/// One control.
pub(crate) struct Rule {
    pub(crate) control: Control,
    /// Whether the order passes.
    pub(crate) passes: fn(&Situation<'_>, &Candidate<'_>) -> bool,
}

const fn rule(control: Control, passes: fn(&Situation<'_>, &Candidate<'_>) -> bool) -> Rule {
    Rule { control, passes }
}

/// Whether anything of this kind may leave at all: asked always, first.
pub(crate) const READY: &[Rule] = &[
    rule(Control::Level, |s, _| s.permits.level() == Level::Trading),
    rule(Control::Paused, is_not_held_back),
    rule(Control::Recovering, |s, _| s.ready),
    rule(Control::Permission, |s, _| s.permitted),
    rule(Control::Listing, |s, _| s.listed),
    rule(Control::StaleData, |s, _| is_fresh(s)),
];

/// Whether price, fee and life are sane: asked always, when there is a price to compare with.
pub(crate) const SANE: &[Rule] = &[
    rule(Control::PriceBand, |s, c| {
        (s.limits.price_min..=s.limits.price_max).contains(&c.price)
    }),
    rule(Control::PriceCollar, is_within_collar),
    rule(Control::SelfCross, crosses_no_own),
    rule(Control::FeeCap, |s, c| {
        c.max_fee_bips <= s.config.risk.fee_max_bips
    }),
    rule(Control::TtlCap, |s, c| {
        c.life_ms <= s.config.risk.ttl_max_ms
    }),
];

/// Asked of a new order: size, limits, funds and rates.
pub(crate) const NEW: &[Rule] = &[
    rule(Control::OrderAmount, has_amounts_the_venue_takes),
    rule(Control::OrderValue, |s, c| {
        c.quote <= s.limits.order_value_max
    }),
    rule(Control::OrderVolume, |s, c| c.qty <= s.limits.order_qty_max),
    rule(Control::OpenOrders, |s, c| {
        s.orders.count(s.spec.id, c.side) < s.limits.open_orders_max
    }),
    rule(Control::InventoryBand, stays_in_band),
    rule(Control::GrossExposure, stays_within_gross),
    rule(Control::Balance, is_covered),
    rule(Control::Duplicate, is_no_duplicate),
    rule(Control::MessageRate, |s, _| {
        s.tally.orders.count(s.now) < s.config.risk.orders_per_min
            && s.tally.cancels.count(s.now) < s.config.risk.cancels_per_min
    }),
    rule(Control::OrderToFill, |s, _| {
        let (messages, fills) = s.tally.messages_and_fills(s.now);
        let most = s.config.risk.messages_per_fill;
        most == 0 || messages < most.saturating_mul(fills)
    }),
];

/// Asked at the last moment before bytes leave: time, and what was decided against what has left.
pub(crate) const LEAVING: &[Rule] = &[
    rule(Control::StaleData, leaves_in_time),
    rule(Control::ParentChild, fits_its_decision),
    rule(Control::Executions, |s, _| {
        s.tally.transmissions.count(s.now) < s.config.risk.executions_per_min
    }),
];

fn is_not_held_back(s: &Situation<'_>, c: &Candidate<'_>) -> bool {
    let held = s
        .permits
        .hold_back(s.venue_now, s.spec.id, c.side, c.strategy);
    !held
}

fn is_fresh(s: &Situation<'_>) -> bool {
    let within = |age: Option<u64>, max: u64| age.is_some_and(|age| age <= max);
    let poll = &s.config.poll;
    within(s.orders_age_ms, poll.orders_age_max_ms)
        && within(s.ledger.age_ms(s.now), poll.balances_age_max_ms)
}

/// |price − mid/2| / (mid/2) ≤ collar, in half ticks. The collar guards both directions: a bid far below
/// the market is as much a sign of a wrong unit as one far above.
fn is_within_collar(s: &Situation<'_>, c: &Candidate<'_>) -> bool {
    let Ok(mid) = s.mid else { return false };
    let away = u128::from(c.price.0.saturating_mul(2).abs_diff(mid));
    away * 10_000 <= u128::from(s.limits.collar_bps) * u128::from(mid)
}

fn crosses_no_own(s: &Situation<'_>, c: &Candidate<'_>) -> bool {
    let itself = c.sealed.map(|sealed| sealed.order.client_id);
    let own = s
        .orders
        .of_market(s.spec.id)
        .filter(|t| t.order.side != c.side && Some(t.order.client_id) != itself)
        .any(|t| c.side.reaches(c.price, t.order.price));
    !own && !s.foreign.is_crossed(s.spec.id, c.side, c.price)
}

fn has_amounts_the_venue_takes(s: &Situation<'_>, c: &Candidate<'_>) -> bool {
    let within = |amount: Amount, token: &TokenSpec| {
        amount > 0 && amount <= AMOUNT_MAX && amount >= token.minimum && amount <= token.maximum
    };
    within(c.base, &s.spec.base) && within(c.quote, &s.spec.quote)
}

/// Whether every fill of every order that may be alive leaves the band whole. A token belongs to the
/// account, not to a market: orders of all markets count, and those of others that are managed.
fn stays_in_band(s: &Situation<'_>, c: &Candidate<'_>) -> bool {
    let token = s.spec.base.id;
    let (least, most) = s.ledger.bounds(token);
    match c.side {
        Side::Buy => {
            let coming = s
                .orders
                .incoming(token)
                .saturating_add(s.foreign.bringing(token));
            let coming = planted::unless(Defect::BandWithoutOrders, coming);
            most.saturating_add(coming.saturating_add(c.base)) <= s.limits.inventory_max
        }
        Side::Sell => {
            let going = s
                .orders
                .reserved(token)
                .saturating_add(s.foreign.paying(token));
            let left = least.checked_sub(going.saturating_add(c.base));
            left.is_some_and(|left| left >= s.limits.inventory_min)
        }
    }
}

/// Only what buys adds to the exposure. One that cannot be counted is too much.
fn stays_within_gross(s: &Situation<'_>, c: &Candidate<'_>) -> bool {
    let most = s.config.risk.gross_max.get(&s.spec.quote.id).copied();
    match c.side {
        Side::Sell => true,
        Side::Buy => (|| {
            let more = value_at(s.spec, c.base, s.mid.ok()?)?;
            Some(s.gross?.checked_add(more)? <= most?)
        })()
        .unwrap_or(false),
    }
}

/// Quote units that base is worth at a mid in half ticks, rounded up. `None` if it cannot be counted.
pub(crate) fn value_at(spec: &crate::MarketSpec, base: Amount, mid: u64) -> Option<Amount> {
    let value = base
        .checked_mul(spec.quote_per_lot_tick)?
        .checked_mul(u128::from(mid))?;
    Some(value.div_ceil(spec.lot.checked_mul(2)?))
}

/// The sold token covers the order. Its fee is taken from what is bought, so that it needs no cover.
fn is_covered(s: &Situation<'_>, c: &Candidate<'_>) -> bool {
    let (token, amount) = match c.side {
        Side::Buy => (s.spec.quote.id, c.quote),
        Side::Sell => (s.spec.base.id, c.base),
    };
    amount <= s.free(token)
}

/// As many equal orders as quotes within the window, and no more: a comparison that forgets what it has
/// just made is stopped at its second try.
fn is_no_duplicate(s: &Situation<'_>, c: &Candidate<'_>) -> bool {
    let like = super::tally::Likeness {
        market: s.spec.id,
        strategy: c.strategy,
        side: c.side,
        price: c.price,
        qty: c.qty,
    };
    s.tally.twins(s.now, &like, s.config.risk.duplicate_ms) < c.alike
}

fn leaves_in_time(s: &Situation<'_>, c: &Candidate<'_>) -> bool {
    c.sealed.is_some_and(|sealed| {
        fence::is_in_time(s.venue_now, sealed.valid_until(), s.config.resend_margin_ms)
    })
}

/// Lots that left of a decision, this order included, are no more than were decided. The same bytes
/// again are no more lots.
fn fits_its_decision(s: &Situation<'_>, c: &Candidate<'_>) -> bool {
    c.sealed.is_some_and(|sealed| {
        sealed.life.attempts > 0 || s.tally.fits(sealed.life.batch, &sealed.order)
    })
}
