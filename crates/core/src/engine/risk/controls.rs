//! The controls of the gate: each is a name and a pure function that compares and returns whether an order passes.
//!
//! A control is in the table of the moment at which it is evaluated; tables are evaluated from top to bottom. To add
//! one, add a line and a function here, a line in `control`, and a test on both sides of its limit.

use crate::event::TradingState;
use crate::fence;
use crate::market::{Side, value_at};
use crate::notification::Control;
use crate::token::{AMOUNT_MAX, Amount, TokenSpec};
use crate::withheld::{Compared, Unit};

use crate::engine::risk::gate::{OrderCandidate, RiskContext};
use crate::engine::risk::portfolio::{keeps_shared_exposure, keeps_shared_inventory};

/// Passes, or the two numbers that were compared.
pub(crate) type CheckResult = Result<(), Compared>;

/// One control.
pub(crate) struct Rule {
    pub(crate) control: Control,
    pub(crate) judge: fn(&RiskContext<'_>, &OrderCandidate<'_>) -> CheckResult,
}

const fn rule(
    control: Control,
    judge: fn(&RiskContext<'_>, &OrderCandidate<'_>) -> CheckResult,
) -> Rule {
    Rule { control, judge }
}

/// Passes if `passes`; a refusal has no numbers.
fn only_if(passes: bool) -> CheckResult {
    if passes {
        Ok(())
    } else {
        Err(Compared::NOTHING)
    }
}

/// Passes up to the limit; an unknown value does not pass.
pub(crate) fn at_most(
    unit: Unit,
    key: &'static str,
    value: Option<u128>,
    limit: u128,
) -> CheckResult {
    match value {
        Some(value) if value <= limit => Ok(()),
        _ => Err(Compared::of(unit, key, value, limit)),
    }
}

/// Passes below the limit.
fn below(key: &'static str, count: u32, limit: u32) -> CheckResult {
    if count < limit {
        Ok(())
    } else {
        Err(Compared::new(Unit::Count, key, count, limit))
    }
}

/// Whether anything of this kind may be sent at all: always evaluated first.
pub(crate) const READY: &[Rule] = &[
    rule(Control::Level, |s, _| {
        only_if(s.permits.level() == TradingState::Active)
    }),
    rule(Control::Paused, is_not_held_back),
    rule(Control::Permission, |s, _| only_if(s.permitted)),
    rule(Control::Listing, |s, _| only_if(s.listed)),
    rule(Control::StaleData, is_fresh),
];

/// Whether price, fee and time to live are plausible: always evaluated if there is a price to compare with.
pub(crate) const SANE: &[Rule] = &[
    rule(Control::PriceBand, is_in_price_band),
    rule(Control::PriceCollar, is_within_collar),
    rule(Control::SelfCross, crosses_no_own),
    rule(Control::FeeCap, |s, c| {
        let (fee, most) = (c.max_fee_bips.into(), s.config.risk.fee_max_bips.into());
        at_most(Unit::Bps, "risk.fee_max_bips", Some(fee), most)
    }),
    rule(Control::TtlCap, |s, c| {
        let (life_ms, most) = (c.life_ms.into(), s.config.risk.ttl_max_ms.into());
        at_most(Unit::Ms, "risk.ttl_max_s", Some(life_ms), most)
    }),
];

/// Evaluated for a swap's amounts as they are signed.
pub(crate) const SIGNED_AMOUNTS: &[Rule] =
    &[rule(Control::OrderAmount, has_amounts_within_venue_bounds)];

/// Evaluated for a new swap with its amounts at their most: limits, funds and rates.
pub(crate) const SWAP: &[Rule] = &[
    rule(Control::InventoryBand, keeps_band),
    rule(Control::SignedUnexpired, keeps_signed_limit),
    rule(Control::GrossExposure, keeps_gross_limit),
    rule(Control::PortfolioInventory, keeps_shared_inventory),
    rule(Control::PortfolioExposure, keeps_shared_exposure),
    rule(Control::Balance, is_covered),
    rule(Control::MessageRate, keeps_message_rate),
    rule(Control::OrderToFill, keeps_order_to_fill),
];

/// Evaluated for a new order: size, limits, funds and rates.
pub(crate) const NEW: &[Rule] = &[
    rule(Control::OrderAmount, has_amounts_within_venue_bounds),
    rule(Control::OrderValue, |s, c| {
        let most = s.limits.order_value_max;
        at_most(Unit::Quote, "market.order_value_max", Some(c.quote), most)
    }),
    rule(Control::OrderVolume, |s, c| {
        let (lots, most) = (c.qty.0.into(), s.limits.order_qty_max.0.into());
        at_most(Unit::Lots, "market.order_qty_max", Some(lots), most)
    }),
    rule(Control::OpenOrders, |s, c| {
        let open = s.orders.count(s.spec.id, c.side);
        below("market.open_orders_max", open, s.limits.open_orders_max)
    }),
    rule(Control::InventoryBand, keeps_band),
    rule(Control::SignedUnexpired, keeps_signed_limit),
    rule(Control::GrossExposure, keeps_gross_limit),
    rule(Control::PortfolioInventory, keeps_shared_inventory),
    rule(Control::PortfolioExposure, keeps_shared_exposure),
    rule(Control::Balance, is_covered),
    rule(Control::Duplicate, is_no_duplicate),
    rule(Control::MessageRate, keeps_message_rate),
    rule(Control::OrderToFill, keeps_order_to_fill),
];

/// Evaluated before an order that rests is moved to a price that is at most as good as the one that was signed: what depends
/// on the price, and rates. Limits and funds count the order as it was signed.
pub(crate) const AMENDED: &[Rule] = &[
    rule(Control::OrderAmount, has_amounts_within_venue_bounds),
    rule(Control::MessageRate, keeps_message_rate),
    rule(Control::OrderToFill, keeps_order_to_fill),
];

/// Evaluated immediately before bytes are sent: time, and what was decided compared with what was sent.
pub(crate) const LEAVING: &[Rule] = &[
    rule(Control::StaleData, leaves_in_time),
    rule(Control::ParentChild, fits_its_decision),
    rule(Control::Executions, |s, _| {
        let sent = s.counters.transmissions.count(s.now);
        let most = s.config.risk.executions_per_min;
        below("risk.executions_per_min", sent, most)
    }),
];

fn keeps_message_rate(s: &RiskContext<'_>, _: &OrderCandidate<'_>) -> CheckResult {
    let (counters, risk) = (s.counters, &s.config.risk);
    let orders = counters.orders.count(s.now);
    below("risk.orders_per_min", orders, risk.orders_per_min)?;
    let cancels = counters.cancels.count(s.now);
    below("risk.cancels_per_min", cancels, risk.cancels_per_min)
}

fn keeps_order_to_fill(s: &RiskContext<'_>, _: &OrderCandidate<'_>) -> CheckResult {
    let most = s.config.risk.messages_per_fill;
    if most == 0 {
        return Ok(());
    }
    let (messages, fills) = s.counters.messages_and_fills(s.now);
    below(
        "risk.messages_per_fill",
        messages,
        most.saturating_mul(fills),
    )
}

fn is_not_held_back(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    let held = s
        .permits
        .hold_back(s.venue_now, s.spec.id, c.side, c.strategy);
    only_if(!held)
}

fn is_fresh(s: &RiskContext<'_>, _: &OrderCandidate<'_>) -> CheckResult {
    let poll = &s.config.poll;
    let young =
        |key, age: Option<u64>, most: u64| at_most(Unit::Ms, key, age.map(u128::from), most.into());
    young(
        "poll.orders_age_max_ms",
        s.orders_age_ms,
        poll.orders_age_max_ms,
    )?;
    young(
        "poll.balances_age_max_ms",
        s.ledger.age_ms(s.now),
        poll.balances_age_max_ms,
    )
}

fn is_in_price_band(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    let beyond = |key, limit: u64| Err(Compared::new(Unit::Ticks, key, c.price.0, limit));
    let (least, most) = (s.limits.price_min, s.limits.price_max);
    if c.price < least {
        return beyond("market.price_floor", least.0);
    }
    if c.price > most {
        return beyond("market.price_ceiling", most.0);
    }
    Ok(())
}

/// |price − mid/2| / (mid/2) ≤ collar, in half ticks. The collar applies in both directions: a bid far below the market indicates a wrong unit as much as one far above.
fn is_within_collar(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    let (key, most) = ("market.collar_bps", s.limits.collar_bps);
    let Ok(mid) = s.mid else {
        return Err(Compared::unknown(Unit::Bps, key, most));
    };
    let away = u128::from(c.price.0.saturating_mul(2).abs_diff(mid)) * 10_000;
    if away <= u128::from(most) * u128::from(mid) {
        return Ok(());
    }
    let away_bps = away.div_ceil(u128::from(mid.max(1)));
    Err(Compared::new(Unit::Bps, key, away_bps, most))
}

/// A swap meets no order of the book.
fn crosses_no_own(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    if !c.on_book {
        return Ok(());
    }
    let itself = c.sealed.map(|sealed| sealed.order.client_id);
    let own = s
        .orders
        .of_market(s.spec.id)
        .filter(|t| t.order.side != c.side && Some(t.order.client_id) != itself)
        .find(|t| c.side.reaches(c.price, t.best_price()));
    if let Some(met) = own {
        let met = met.best_price().0;
        return Err(Compared::new(Unit::Ticks, "", c.price.0, met));
    }
    only_if(!s.foreign.is_crossed(s.spec.id, c.side, c.price))
}

fn has_amounts_within_venue_bounds(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    let within = |unit, amount: Amount, token: &TokenSpec| {
        let least = token.minimum.max(1);
        let most = token.maximum.min(AMOUNT_MAX);
        let key = "market.strategy.params";
        if amount < least {
            return Err(Compared::new(unit, key, amount, least));
        }
        at_most(unit, key, Some(amount), most)
    };
    within(Unit::Base, c.base, &s.spec.base)?;
    within(Unit::Quote, c.quote, &s.spec.quote)
}

/// Whether every fill of every order that may be alive keeps the inventory band. A token belongs to the account, not to
/// a market: orders of all markets count, and managed foreign orders.
fn keeps_band(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    let token = s.spec.base.id;
    let (least, most) = s.ledger.bounds(token);
    match c.side {
        Side::Buy => {
            let coming = s
                .orders
                .incoming(token)
                .saturating_add(s.foreign.bringing(token));
            let most = most.saturating_add(coming.saturating_add(c.base));
            let (key, limit) = ("market.inventory_max", s.limits.inventory_max);
            at_most(Unit::Base, key, Some(most), limit)
        }
        Side::Sell => {
            let going = s
                .orders
                .reserved(token)
                .saturating_add(s.foreign.paying(token));
            not_below_band(s, least, going.saturating_add(c.base))
        }
    }
}

/// Whether the band holds when `going` has left the lower bound of the balance.
pub(crate) fn not_below_band(s: &RiskContext<'_>, least: Amount, going: Amount) -> CheckResult {
    let limit = s.limits.inventory_min;
    if least.checked_sub(going).is_some_and(|left| left >= limit) {
        return Ok(());
    }
    let signed = |amount: Amount| i128::try_from(amount).unwrap_or(i128::MAX);
    let left = signed(least).saturating_sub(signed(going));
    let key = "market.inventory_min";
    Err(Compared::new(Unit::Base, key, left, limit))
}

/// Whether everything signed whose fence has not passed, this order included, is within the cap for a venue that keeps
/// ended orders.
fn keeps_signed_limit(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    let token = s.spec.base.id;
    let resting = s.signed_without_end(token);
    let signed = s.signed.total(token, s.venue_now, s.config.grace_ms);
    let signed = signed.saturating_add(resting);
    let (key, most) = ("risk.signed_unexpired_max", s.limits.signed_unexpired_max);
    at_most(Unit::Base, key, signed.checked_add(c.base), most)
}

/// Only buys add to the exposure. An overflow exceeds the limit.
fn keeps_gross_limit(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    match c.side {
        Side::Sell => Ok(()),
        Side::Buy => {
            let more = s.mid.ok().and_then(|mid| value_at(s.spec, c.base, mid));
            let after = s.gross.zip(more).and_then(|(g, more)| g.checked_add(more));
            not_above_gross(s, after)
        }
    }
}

/// Whether this exposure is allowed. An overflow is not, nor is any exposure without a limit.
pub(crate) fn not_above_gross(s: &RiskContext<'_>, after: Option<Amount>) -> CheckResult {
    let most = s.config.risk.gross_max.get(&s.spec.quote.id).copied();
    let key = "risk.gross_max_bps";
    match most {
        Some(most) => at_most(Unit::Quote, key, after, most),
        None => Err(Compared::of(Unit::Quote, key, after, 0)),
    }
}

/// Whether the sold token covers the order, and what fee and rounding take on top of it.
fn is_covered(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    let (unit, token, amount) = match c.side {
        Side::Buy => (Unit::Quote, s.spec.quote.id, c.quote),
        Side::Sell => (Unit::Base, s.spec.base.id, c.base),
    };
    let on_top = s.spec.fee_in.on_top(c.side, amount, c.max_fee_bips);
    let on_top = on_top.saturating_add(s.amounts.on_top(c.side));
    at_most(unit, "", amount.checked_add(on_top), s.free(token))
}

/// At most as many equal orders as quotes within the window: a comparison that does not know its own last order is
/// stopped at its second try.
fn is_no_duplicate(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    let shape = crate::engine::risk::counters::OrderShape {
        market: s.spec.id,
        strategy: c.strategy,
        side: c.side,
        price: c.price,
        qty: c.qty,
    };
    let equal_orders = s
        .counters
        .equal_orders(s.now, &shape, s.config.risk.duplicate_ms);
    if equal_orders < c.alike {
        return Ok(());
    }
    let (key, equal_orders) = ("risk.duplicate_ms", equal_orders as u64);
    Err(Compared::new(
        Unit::Count,
        key,
        equal_orders,
        c.alike as u64,
    ))
}

fn leaves_in_time(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    let margin_ms = s.config.resend_margin_ms;
    let in_time = c.sealed.is_some_and(|sealed| {
        fence::is_in_time(
            s.venue_now,
            sealed.lifecycle.lifetime.accepted_until,
            margin_ms,
        )
    });
    if in_time {
        return Ok(());
    }
    let key = "orders.resend_margin_ms";
    Err(Compared::new(Unit::Ms, key, c.life_ms, margin_ms))
}

/// Whether the lots that were sent of a decision, this order included, are at most those decided. The same bytes again
/// do not count.
fn fits_its_decision(s: &RiskContext<'_>, c: &OrderCandidate<'_>) -> CheckResult {
    only_if(c.sealed.is_some_and(|sealed| {
        sealed.lifecycle.attempts > 0 || s.counters.fits(sealed.lifecycle.batch, &sealed.order)
    }))
}
