//! Handles each notification in one place: counts it and logs it.

use cambist_core::books::Difference;
use cambist_core::event::{Filter, TradingState};
use cambist_core::market::{MarketId, MarketSpec};
use cambist_core::notification::{AS_STORED, Control, Fill, Notification};
use cambist_core::request::{Charge, Endpoint, UnknownCause};
use cambist_core::token::{Amount, TokenId, TokenSpec};
use cambist_core::{ClientOrderId, Reason, Side, Time};
use cambist_protocol::code;
use tracing::{debug, error, info, warn};

use super::books;
use super::metrics::Metrics;
use super::{About, seconds, status, withheld};
use crate::adapter;
use crate::config::money;
use crate::telemetry::label_sets::UP_STATES;
use crate::telemetry::last_known::{LastKnown, RefusalText};
use cambist_host::times;

/// Most characters of external text in a log line.
const TEXT_MAX: usize = 200;

/// Most orders remembered; the engine's own limits are far lower.
const ORDERS_MAX: usize = 100_000;

/// Counts and logs one notification.
#[expect(clippy::too_many_lines, reason = "one arm a note, each a few lines")]
pub(super) fn note(
    about: &About,
    metrics: &Metrics,
    last: &mut LastKnown,
    now: Time,
    unix_s: f64,
    note: &Notification,
) {
    let name = |market: MarketId| market_name(about, market);
    let m = metrics;
    if !matches!(
        note,
        Notification::Refused { .. } | Notification::Unknown { .. }
    ) {
        settle(m, last, now);
    }
    match note {
        Notification::Ready { opening, recovered } => {
            last.ready = true;
            last.opening.clone_from(opening);
            m.start_timestamp.set(unix_s);
            info!(
                recovered,
                "ready: the state of every order of earlier runs is known"
            );
        }
        Notification::Submitted {
            order,
            market,
            side,
            price,
            qty,
            valid_until_s,
        } => {
            if last.orders.len() < ORDERS_MAX {
                last.orders.insert(*order, (*market, *side));
            }
            m.submitted
                .with_label_values(&[name(*market), side.name()])
                .inc();
            m.attempts.with_label_values(&[name(*market)]).inc();
            if let Some(spec) = market_spec(about, *market) {
                let (price, amount) = (spec.price_text(*price), spec.qty_text(*qty));
                let valid_until = times::iso((*valid_until_s).into());
                debug!(%order, market = spec.name, side = side.name(), price, amount, valid_until, "order sent");
            }
        }
        Notification::SwapSubmitted {
            order,
            market,
            side,
            sell,
            least,
            valid_until_s,
        } => {
            if last.orders.len() < ORDERS_MAX {
                last.orders.insert(*order, (*market, *side));
            }
            m.submitted
                .with_label_values(&[name(*market), side.name()])
                .inc();
            m.attempts.with_label_values(&[name(*market)]).inc();
            if let Some(spec) = market_spec(about, *market) {
                let (sold, bought) = match side {
                    Side::Buy => (&spec.quote, &spec.base),
                    Side::Sell => (&spec.base, &spec.quote),
                };
                let (sold, least) = (sold.text(*sell), bought.text(*least));
                let valid_until = times::iso((*valid_until_s).into());
                // It sells all of this to the pool for at least that, before the fee, or nothing.
                info!(%order, market = spec.name, side = side.name(), sold, least, valid_until, "swap sent");
            }
        }
        Notification::Resent { order, attempt } => {
            if let Some((market, _)) = last.orders.get(order) {
                m.attempts.with_label_values(&[name(*market)]).inc();
            }
            info!(%order, attempt, "order sent again with the same bytes");
        }
        Notification::Acknowledged {
            order,
            hash,
            micros,
        } => {
            m.ack.observe(seconds(*micros));
            debug!(%order, %hash, micros, "order accepted");
        }
        Notification::Refused {
            endpoint,
            order,
            reason,
        } => refused(
            m,
            last,
            now,
            *endpoint,
            order.map(|id| id.to_string()).as_deref(),
            *reason,
        ),
        Notification::Unknown {
            endpoint,
            order,
            cause,
        } => {
            last.answered = None;
            let outcome = if *cause == UnknownCause::Transport {
                "transport"
            } else {
                "unknown"
            };
            m.http_requests
                .with_label_values(&[endpoint.name(), outcome])
                .inc();
            if *cause == UnknownCause::Undecodable {
                m.decode_errors
                    .with_label_values(&[endpoint.name(), "undecodable"])
                    .inc();
            }
            // A poll without an answer only means that the venue does not answer.
            let is_silence =
                order.is_none() && matches!(cause, UnknownCause::Transport | UnknownCause::Timeout);
            let key = format!("unknown {} {}", endpoint.name(), cause.name());
            if is_silence {
                debug!(
                    endpoint = endpoint.name(),
                    cause = cause.name(),
                    "outcome unknown"
                );
            } else if let Some(times) = last.throttle.due(now, &key) {
                let order = order.map(|id| id.to_string());
                warn!(
                    endpoint = endpoint.name(),
                    cause = cause.name(),
                    order,
                    times,
                    "outcome unknown"
                );
            }
        }
        Notification::Answered { endpoint, micros } => {
            m.http_duration
                .with_label_values(&[endpoint.name()])
                .observe(seconds(*micros));
            match last.not_sent.get_mut(endpoint).filter(|count| **count > 0) {
                Some(count) => {
                    *count -= 1;
                    m.http_requests
                        .with_label_values(&[endpoint.name(), "transport"])
                        .inc();
                }
                None => last.answered = Some(*endpoint),
            }
        }
        Notification::CancelSent { order } => debug!(%order, "cancel sent"),
        Notification::AmendSent {
            order,
            market,
            price,
        } => {
            m.amends.with_label_values(&[name(*market), "sent"]).inc();
            if let Some(spec) = market_spec(about, *market) {
                let price = spec.price_text(*price);
                debug!(%order, market = spec.name, price, "amend sent");
            }
        }
        Notification::AmendEnded {
            order,
            market,
            price,
        } => {
            if price.is_some() {
                let labels = [name(*market), "confirmed"];
                m.amends.with_label_values(&labels).inc();
            }
            debug!(%order, confirmed = price.is_some(), "amend ended");
        }
        Notification::Ended {
            order,
            market,
            end,
            cancel_micros,
        } => {
            last.orders.remove(order);
            m.finished
                .with_label_values(&[name(*market), end.name()])
                .inc();
            if let Some(micros) = cancel_micros {
                m.cancel.observe(seconds(*micros));
            }
            debug!(%order, end = end.name(), "order ended");
        }
        Notification::Resolved { order, status } => {
            info!(%order, status = status.name(), "order in an unknown state found in the venue's list");
        }
        Notification::Filled(fill) => filled(about, m, fill),
        Notification::DepthAccepted {
            market,
            mid,
            timestamp,
        } => {
            let venue_s = seconds(timestamp.0.saturating_mul(1_000));
            if let Some(depth_at) = last.depth.get_mut(usize::from(market.0)) {
                *depth_at = Some(now.minus_ms(about.depth_behind_ms(unix_s, venue_s)));
            }
            m.clock_offset.set(venue_s - unix_s);
            m.depth_time
                .with_label_values(&[name(*market), "depth"])
                .set(venue_s);
            if let (Some(mid), Some(spec)) = (mid, market_spec(about, *market)) {
                m.mid
                    .with_label_values(&[&spec.name])
                    .set(status::half_ticks(spec, *mid));
            }
        }
        Notification::DepthRefused { market, fault } => {
            m.depth_rejected
                .with_label_values(&[name(*market), fault.name()])
                .inc();
            let key = format!("depth {} {}", market.0, fault.name());
            if let Some(times) = last.throttle.due(now, &key) {
                warn!(
                    market = name(*market),
                    fault = fault.name(),
                    times,
                    "depth refused"
                );
            }
        }
        Notification::RiskRefused { market, control } => {
            m.risk_rejects
                .with_label_values(&[name(*market), control.name()])
                .inc();
            // A daemon that ends before its recovery is over withholds everything, which is expected.
            let ends_early = last.draining && *control == Control::Recovering;
            let key = format!("risk {} {}", market.0, control.name());
            if ends_early {
                debug!(
                    market = name(*market),
                    "no orders are placed while the daemon ends"
                );
            } else if let Some(times) = last.throttle.due(now, &key) {
                info!(
                    market = name(*market),
                    control = control.name(),
                    times,
                    "order withheld"
                );
            }
        }
        Notification::Withheld {
            market,
            side,
            withheld,
        } => withheld::update(about, m, last, now, (*market, *side), *withheld),
        Notification::BudgetDenied { endpoint } => {
            m.budget_waits.with_label_values(&[endpoint.name()]).inc();
            let key = format!("budget {}", endpoint.name());
            if let Some(times) = last.throttle.due(now, &key) {
                debug!(
                    endpoint = endpoint.name(),
                    times, "request delayed: the rate budget is used up"
                );
            }
        }
        Notification::Foreign { hash } => {
            m.foreign.inc();
            if let Some(times) = last.throttle.due(now, "foreign") {
                error!(%hash, times, "found an order of another program on the account");
            }
        }
        Notification::OtherInstance {
            order,
            hash: _,
            until,
            later,
        } => withheld::other_instance(about, m, last, now, *order, (*until, *later)),
        Notification::ForeignPoolTransaction { hash, kind } => {
            m.foreign_moves.with_label_values(&[kind.name()]).inc();
            if let Some(times) = last.throttle.due(now, "foreign move") {
                let kind = kind.name();
                error!(%hash, kind, times, "found a join or an exit of another program on the account");
            }
        }
        Notification::PoolTransactionSubmitted {
            order,
            market,
            kind,
            amounts,
            lp,
            valid_until_s,
        } => {
            let labels = [name(*market), kind.name()];
            m.pool_moves_sent.with_label_values(&labels).inc();
            let [first, second, shares] = pool_texts(about, *market, *amounts, *lp);
            let valid_until = times::iso((*valid_until_s).into());
            // A join pays at most these amounts for the shares; an exit receives at least these for them.
            info!(%order, market = labels[0], kind = labels[1], first, second, shares, valid_until, "join or exit sent");
        }
        Notification::PoolTransactionSettled(moved) => {
            let (market, kind) = (name(moved.market), moved.kind.name());
            let (pooled, lp) = (moved.amounts.pooled, moved.amounts.lp);
            let [first, second, shares] = pool_texts(about, moved.market, pooled, lp);
            // The venue charges it in the last pooled token.
            let [_, fee, _] = pool_texts(about, moved.market, [0, moved.amounts.fee], 0);
            info!(order = %moved.order, market, kind, first, second, shares, fee, "join or exit processed");
        }
        Notification::PoolTransactionEnded {
            order,
            market,
            kind,
            end,
        } => {
            let labels = [name(*market), kind.name(), end.name()];
            m.pool_moves_finished.with_label_values(&labels).inc();
            info!(%order, market = labels[0], kind = labels[1], end = labels[2], "join or exit ended");
        }
        Notification::Reconciled { orders } => {
            m.reconciles.with_label_values(&["clean"]).inc();
            m.reconciled_time.set(unix_s);
            debug!(orders, "orders list read completely");
        }
        Notification::Mismatch {
            token,
            ledger,
            venue,
        } => {
            m.reconciles.with_label_values(&["failed"]).inc();
            let difference = Difference {
                ledger: *ledger,
                venue: *venue,
            };
            if let Some(token) = traded_token(about, *token) {
                // Subtracted as integers: a difference of a few base units must not be lost in rounding.
                let size = whole(difference.size(), token);
                let less = difference.unexplained() < 0;
                m.mismatch
                    .with_label_values(&[&token.symbol])
                    .set(if less { -size } else { size });
            }
            if let Some(times) = last.throttle.due(now, &format!("mismatch {}", token.0)) {
                let (token, decimals) = token_spec(about, *token).map_or_else(
                    || (token.0.to_string(), 0),
                    |spec| (spec.symbol.clone(), spec.decimals),
                );
                let ledger = books::signed(*ledger, |units| money::whole(units, decimals));
                let venue = money::whole(*venue, decimals);
                error!(token, ledger, venue, times, "ledger and venue differ");
            }
        }
        Notification::Books(books) => {
            books::gauges(about, m, books);
            match (books::text(about, books), books::commands(about, books)) {
                (Some(text), Some(explain)) => error!(explain, "{text}"),
                (Some(text), None) => error!("{text}"),
                (None, _) => info!("ledger and venue agree again"),
            }
            last.books = (**books).clone();
        }
        Notification::Balanced => {
            for market in &about.markets {
                for token in [&market.base, &market.quote] {
                    m.mismatch.with_label_values(&[&token.symbol]).set(0.0);
                }
            }
            for pool in &about.pools {
                m.mismatch.with_label_values(&[&pool.lp.symbol]).set(0.0);
            }
        }
        Notification::FeeAbove {
            order,
            fee,
            expected,
        } => {
            m.fees_above.inc();
            if let Some(times) = last.throttle.due(now, "fee") {
                let [fee, expected] = fee_texts(about, last, *order, [*fee, *expected]);
                error!(%order, fee, expected, times, "fee above the configured rate");
            }
        }
        Notification::TradingStateChanged { level, cause } => {
            level_changed(m, last, *level, cause);
        }
        Notification::InvariantFailed { name, detail } => {
            m.invariants.with_label_values(&["any"]).inc();
            error!(
                invariant = short(name),
                detail = short(detail),
                "an invariant was violated; trading stops"
            );
        }
        Notification::Paused(pause) => warn!(
            what = part(about, pause.filter),
            why = short(&pause.cause),
            until = pause.until.map(|until| times::iso(until.as_s())),
            "quoting paused"
        ),
        Notification::Unpaused { filter, cause } => {
            info!(
                what = part(about, *filter),
                why = short(cause),
                "pause ended"
            );
        }
        Notification::RestrictionsNotStored => {
            error!("the trading state and the pauses could not be stored; they apply nevertheless");
        }
        Notification::CommandAccepted { command, detail } => {
            info!(command, detail, "command executed");
        }
        Notification::CommandRefused { command, why } => {
            warn!(command, why, "command refused");
        }
        Notification::Adopted {
            token,
            amount,
            reason,
        } => {
            let (token, decimals) = token_spec(about, *token).map_or_else(
                || (token.0.to_string(), 0),
                |spec| (spec.symbol.clone(), spec.decimals),
            );
            let sign = if *amount < 0 { '-' } else { '+' };
            let amount = format!("{sign}{}", money::whole(amount.unsigned_abs(), decimals));
            // Gas of what was signed here is expected.
            if Charge::is_reason(reason) {
                info!(token, amount, reason = short(reason), "charge booked");
            } else {
                warn!(token, amount, reason = short(reason), "flow adopted");
            }
        }
        Notification::ForeignAdopted { hash } => {
            warn!(%hash, "an order of another instance was adopted");
        }
        Notification::SideEmpty { market, side, ms } => {
            m.side_empty
                .with_label_values(&[name(*market), side.name()])
                .inc_by(seconds(ms.saturating_mul(1_000)));
            info!(
                market = name(*market),
                side = side.name(),
                ms,
                "side had no order while one was replaced"
            );
        }
        Notification::Left {
            orders,
            unknown,
            until,
        } => warn!(
            orders,
            unknown,
            until = times::iso(until.as_s()),
            "ending without cancelling: orders may rest at the venue"
        ),
        Notification::Slept { ms } => {
            // The engine's books do not count until they are read again.
            last.depth.fill(None);
            warn!(
                ms,
                "the clock jumped or the machine was suspended; all data is read again before quoting"
            );
        }
        Notification::BothSides { market, both } => {
            debug!(market = name(*market), both, "both sides");
        }
        Notification::MemoryRefused { strategy } => warn!(
            strategy = about.strategy(*strategy),
            "the strategy cannot read the memory of an earlier run; it starts without it"
        ),
        Notification::ProcessAnswerRefused { strategy, why } => {
            let answers = last.refused_answers.entry(strategy.0).or_default();
            // Each kind of reason at once: the first one does not explain the next.
            let kind = answers.add(&short(why));
            let key = format!("process answer {} {kind}", strategy.0);
            if let Some(times) = last.throttle.due(now, &key) {
                let strategy = about.strategy(*strategy);
                warn!(
                    strategy,
                    why = short(why),
                    times,
                    "answer of the strategy's process refused"
                );
            }
        }
        Notification::Draining => {
            last.draining = true;
            info!("draining: cancelling all orders");
        }
        Notification::Status(status) => status::update(about, m, last, now, unix_s, status),
    }
    let state = last.up_state();
    for each in UP_STATES {
        m.up_state
            .with_label_values(&[each])
            .set(i64::from(each == state));
    }
}

/// Counts an answer as a success if no other outcome was reported for it.
pub(super) fn settle(metrics: &Metrics, last: &mut LastKnown, now: Time) {
    if let Some(endpoint) = last.answered.take() {
        if endpoint == Endpoint::Balances {
            last.balances = Some(now);
        }
        metrics
            .http_requests
            .with_label_values(&[endpoint.name(), "ok"])
            .inc();
    }
}

fn refused(
    m: &Metrics,
    last: &mut LastKnown,
    now: Time,
    endpoint: Endpoint,
    order: Option<&str>,
    reason: Reason,
) {
    last.answered = None;
    let limited = adapter::is_rate_limited(reason);
    let outcome = if limited { "rate_limited" } else { "reject" };
    m.http_requests
        .with_label_values(&[endpoint.name(), outcome])
        .inc();
    let answer = last.refusal_texts.remove(&endpoint);
    let number = code::number(reason);
    let known = Reason::LISTED.contains(&reason);
    let label = if known {
        number.to_string()
    } else {
        "unlisted".to_owned()
    };
    if !limited {
        m.venue_errors
            .with_label_values(&[endpoint.name(), &label])
            .inc();
    }
    let key = format!("refused {} {label}", endpoint.name());
    let Some(times) = last.throttle.due(now, &key) else {
        return;
    };
    // The answer to a cancel of an order that has ended.
    let is_late_cancel = adapter::is_late_cancel(endpoint, reason);
    let endpoint = endpoint.name();
    let Words { code, what, text } = words(reason, answer);
    if adapter::is_of_keys(reason) {
        let remedy = remedy_of_keys(reason, code.is_some());
        error!(endpoint, code, what, text, times, "{remedy}");
    } else if is_late_cancel {
        let what = "cancel came too late: the order had ended";
        info!(order, code, times, "{what}");
    } else {
        warn!(endpoint, code, what, text, order, times, "refused");
    }
}

/// What a log entry has about a refusal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) code: Option<u32>,
    pub(super) what: Option<&'static str>,
    pub(super) text: Option<String>,
}

/// Number, meaning and text, or the venue's text alone where it has no numbers.
pub(super) fn words(reason: Reason, answer: Option<RefusalText>) -> Words {
    let is_numbered = answer.as_ref().is_none_or(|answer| answer.is_numbered);
    let text = answer.map(|answer| answer.text);
    let text = text.filter(|text| !text.is_empty());
    // A refusal without any text is at least named.
    let is_named = is_numbered || text.is_none();
    Words {
        code: is_numbered.then(|| code::number(reason)),
        what: is_named.then(|| code::message(reason)),
        text,
    }
}

/// What happened and what to do when the venue refuses for its keys' sake.
pub(super) fn remedy_of_keys(reason: Reason, is_numbered: bool) -> &'static str {
    if !is_numbered && adapter::is_without_permission(reason) {
        "the venue refuses a request for want of a permission, and trading halts; give the API key the permission in \
         text, or find out why the account may not do it, then `cambist resume`"
    } else {
        "the venue refuses the configured keys; check the files that [keys] names"
    }
}

fn filled(about: &About, m: &Metrics, fill: &Fill) {
    let Some(market) = market_spec(about, fill.market) else {
        return;
    };
    let labels = [market.name.as_str(), fill.side.name()];
    m.fills.with_label_values(&labels).inc();
    let (base, quote) = (
        whole(fill.base, &market.base),
        whole(fill.quote, &market.quote),
    );
    m.filled_quote.with_label_values(&labels).inc_by(quote);
    let charged = market.fee_token(fill.side);
    let fee = match market.fee_in.is_base(fill.side) {
        false => whole(fill.fee, charged),
        true if base > 0.0 => whole(fill.fee, charged) * quote / base,
        true => 0.0,
    };
    m.fees_quote.with_label_values(&[&market.name]).inc_by(fee);
    let (base, quote) = (market.base.text(fill.base), market.quote.text(fill.quote));
    let fee = charged.text(fill.fee);
    info!(order = %fill.order, market = market.name, side = fill.side.name(), base, quote, fee, "filled");
}

/// Formats the amounts of both pooled tokens and of shares.
fn pool_texts(about: &About, market: MarketId, pooled: [Amount; 2], lp: Amount) -> [String; 3] {
    let Some(pool) = about.pools.iter().find(|pool| pool.market == market) else {
        return [pooled[0], pooled[1], lp].map(|units| format!("{units} base units"));
    };
    let text = |at: usize| {
        token_spec(about, pool.pooled[at]).map_or_else(
            || format!("{} base units", pooled[at]),
            |spec| spec.text(pooled[at]),
        )
    };
    [text(0), text(1), pool.lp.text(lp)]
}

/// Formats fees of an order, in the token that its market takes them in.
fn fee_texts(
    about: &About,
    last: &LastKnown,
    order: ClientOrderId,
    fees: [Amount; 2],
) -> [String; 2] {
    let charged = last.orders.get(&order).and_then(|(market, side)| {
        let spec = market_spec(about, *market)?;
        Some(spec.fee_token(*side))
    });
    fees.map(|fee| charged.map_or_else(|| format!("{fee} base units"), |token| token.text(fee)))
}

fn level_changed(m: &Metrics, last: &mut LastKnown, level: TradingState, why: &str) {
    // At a start the engine announces the state that it was given, and the store has the cause.
    let stored = last.stored_cause.take().filter(|_| why == AS_STORED);
    let why = stored.as_deref().unwrap_or(why);
    let number = kill_number(level);
    m.kill_level.set(number);
    let operator = std::mem::take(&mut last.operator_asked);
    // A status may have reported it before: the trading state applies immediately, this notification means that it is
    // stored.
    let before = std::mem::replace(&mut last.announced, level);
    if level > before {
        let cause = if operator { "operator" } else { "engine" };
        m.kill_engagements
            .with_label_values(&[&number.to_string(), cause])
            .inc();
        error!(
            state = level.name(),
            cause,
            why = short(why),
            "trading stopped"
        );
    } else {
        info!(
            state = level.name(),
            why = short(why),
            "trading state changed"
        );
    }
    last.level = level;
    last.level_cause = (level > TradingState::Active).then(|| short(why));
}

/// Describes the part that a filter selects.
pub(super) fn part(about: &About, filter: Filter) -> String {
    let market = filter
        .market
        .map_or("every market", |id| market_name(about, id));
    let side = filter.side.map_or("both sides", Side::name);
    let strategy = filter.strategy.map_or_else(
        || "every strategy".to_owned(),
        |id| format!("strategy {}", id.0),
    );
    format!("{market}, {side}, {strategy}")
}

/// The customary number of a kill switch level: 1 is for single markets.
pub(super) const fn kill_number(level: TradingState) -> i64 {
    match level {
        TradingState::Active => 0,
        TradingState::CancelOnly => 2,
        TradingState::Halted => 3,
    }
}

pub(super) fn market_spec(about: &About, market: MarketId) -> Option<&MarketSpec> {
    about.markets.get(usize::from(market.0))
}

fn market_name(about: &About, market: MarketId) -> &str {
    market_spec(about, market).map_or("unknown", |spec| &spec.name)
}

/// A token of a configured market or pool: the only ones with metric labels.
pub(super) fn traded_token(about: &About, token: TokenId) -> Option<&TokenSpec> {
    let of_markets = about.markets.iter().flat_map(|m| [&m.base, &m.quote]);
    let mut traded = of_markets.chain(about.pools.iter().map(|pool| &pool.lp));
    traded.find(|spec| spec.id == token)
}

/// A configured token, or another one of the venue's.
pub(super) fn token_spec(about: &About, token: TokenId) -> Option<&TokenSpec> {
    let listed = || about.tokens.iter().find(|spec| spec.id == token);
    traded_token(about, token).or_else(listed)
}

/// The name of a token in commands: its symbol, or its number if the symbol is not unique.
pub(super) fn name_for_commands(about: &About, spec: &TokenSpec) -> String {
    let alike = about
        .tokens
        .iter()
        .filter(|other| other.symbol == spec.symbol);
    if traded_token(about, spec.id).is_some() || alike.count() == 1 {
        spec.symbol.clone()
    } else {
        spec.id.0.to_string()
    }
}

/// Converts to whole tokens for metrics, where the last digits do not matter.
#[expect(
    clippy::cast_precision_loss,
    reason = "metrics are floating point; money elsewhere is not"
)]
pub(super) fn whole(amount: Amount, token: &TokenSpec) -> f64 {
    amount as f64 / 10_f64.powi(i32::from(token.decimals))
}

/// As [`whole`], for a signed amount of so many decimals.
#[expect(
    clippy::cast_precision_loss,
    reason = "metrics are floating point; money elsewhere is not"
)]
pub(super) fn decimal_number(units: i128, decimals: u8) -> f64 {
    units as f64 / 10_f64.powi(i32::from(decimals))
}

pub(super) fn short(text: &str) -> String {
    text.chars().take(TEXT_MAX).collect()
}
