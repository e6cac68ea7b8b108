//! The engine's status notification: gauges, and the page `/status`.

use cambist_core::event::{Amounts, Pause, TradingState};
use cambist_core::market::MarketSpec;
use cambist_core::notification::{
    BooksStatus, Control, MarketStatus, OtherOrder, PoolStatus, Status,
};
use cambist_core::reference::ReferenceStatus;
use cambist_core::{Amount, Side, StrategyId, Time, TokenSpec};
use serde_json::{Value, json};

use super::books;
use super::metrics::Metrics;
use super::observe::{kill_number, market_spec, part, token_spec, traded_token, whole};
use super::{About, Telemetry, draining, outage, parameters, portfolio, seconds, withheld};
use crate::config::{exposure, money};
use crate::telemetry::label_sets::POOL;
use crate::telemetry::last_known::LastKnown;
use cambist_host::times;

/// Updates all gauges.
pub(super) fn update(
    about: &About,
    m: &Metrics,
    last: &mut LastKnown,
    now: Time,
    unix_s: f64,
    status: &Status,
) {
    let before = last.status.take();
    let before = before.as_ref();
    // Time counts as quoted if quotes rested at its beginning and its end.
    for (index, (market, found)) in about.markets.iter().zip(&status.markets).enumerate() {
        let earlier = before.and_then(|(at, status)| Some((*at, status.markets.get(index)?)));
        for (side, live) in Side::BOTH.into_iter().zip(found.live) {
            let Some((at, earlier)) = earlier else {
                continue;
            };
            if live > 0 && earlier.live[side as usize] > 0 {
                let labels = [market.name.as_str(), side.name()];
                let quoted = seconds(now.micros_since(at));
                m.quoting.with_label_values(&labels).inc_by(quoted);
            }
        }
        gauges(m, last, market, found, &status.ledger);
        for (side, why) in Side::BOTH.into_iter().zip(found.withheld) {
            withheld::update(about, m, last, now, (market.id, side), why);
        }
    }
    for pool in &status.pools {
        pool_gauges(about, m, pool);
    }
    for source in &status.references {
        if let (Some(market), Some((_, age_ms))) = (market_spec(about, source.market), source.last)
        {
            let labels = [market.name.as_str(), source.name.as_str()];
            let age = seconds(age_ms.saturating_mul(1_000));
            m.reference_age.with_label_values(&labels).set(age);
        }
    }
    for (kind, amounts) in [("total", &status.venue), ("ledger", &status.ledger)] {
        for (token, amount) in amounts {
            if let Some(token) = traded_token(about, *token) {
                let labels = [token.symbol.as_str(), kind];
                m.balance
                    .with_label_values(&labels)
                    .set(whole(*amount, token));
            }
        }
    }
    if let Some(equity) = equity(about, status) {
        last.equity_peak = last.equity_peak.max(equity);
        m.equity.set(equity);
        // Before the first reconciliation no balance is known.
        if !status.ledger.is_empty() {
            last.equity.push(unix_s, equity);
        }
        m.equity_peak.set(last.equity_peak);
    }
    let unknown = status
        .unknown_since
        .map_or(0.0, |since| unix_s - seconds(now.micros_since(since)));
    m.unknown_oldest.set(unknown);
    let allowed = about.requests(status.allowed);
    m.budget_allowed
        .inc_by(allowed.saturating_sub(m.budget_allowed.get()));
    limits(about, m, status);
    last.level = status.level;
    last.ready = status.ready;
    last.books.clone_from(&status.books);
    books::gauges(about, m, &status.books);
    last.draining = status.draining;
    last.status = Some((now, status.clone()));
}

/// Trading state, pauses, and usage of limits and budgets.
fn limits(about: &About, m: &Metrics, status: &Status) {
    let paused = status.level == TradingState::Active && !status.pauses.is_empty();
    let number = kill_number(status.level);
    m.kill_level.set(if paused { 1 } else { number });
    for (market, found) in about.markets.iter().zip(&status.markets) {
        let concerns = |pause: &&Pause| pause.filter.market.is_none_or(|id| id == market.id);
        let held = status.pauses.iter().filter(concerns).count();
        let held = i64::try_from(held).unwrap_or(i64::MAX);
        m.held_back.with_label_values(&[&market.name]).set(held);
        used(m, &market.name, &found.used);
    }
    used(m, "all", &status.used);
    m.ramp.set(f64::from(status.ramp_bps) / 10_000.0);
    let (common, each) = &status.tokens;
    let budget = |name: &str, left: u32| m.tokens.with_label_values(&[name]).set(left.into());
    let common = about.requests(u64::from(*common));
    budget("all", u32::try_from(common).unwrap_or(u32::MAX));
    for (endpoint, left) in each {
        budget(endpoint.name(), *left);
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "metrics are floating point; money elsewhere is not"
)]
fn used(m: &Metrics, market: &str, used: &[(Control, u64)]) {
    for (control, bps) in used {
        m.limit_used
            .with_label_values(&[market, control.name()])
            .set(*bps as f64 / 10_000.0);
    }
}

fn pool_gauges(about: &About, m: &Metrics, pool: &PoolStatus) {
    let Some(market) = market_spec(about, pool.market) else {
        return;
    };
    let name = [market.name.as_str()];
    if let Some(divergence) = pool.divergence_bps {
        #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
        let ratio = divergence as f64 / 10_000.0;
        m.pool_divergence.with_label_values(&name).set(ratio);
    }
    if let Some(value) = pool.value {
        m.pool_value
            .with_label_values(&name)
            .set(whole(value, &market.quote));
    }
    for (token, owed) in fees_owed(about, pool) {
        let labels = [name[0], token.symbol.as_str()];
        let owed = owed.map(|owed| whole(owed, token));
        portfolio::set(&m.pool_fees_owed, &labels, owed);
    }
    if let Some(balances) = pool.balances.filter(|balances| balances.supply > 0) {
        #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
        let ratio = pool.held as f64 / balances.supply as f64;
        m.pool_share.with_label_values(&name).set(ratio);
    }
    if let Some(age_ms) = pool.age_ms {
        let age_s = seconds(age_ms.saturating_mul(1_000));
        m.pool_age.with_label_values(&name).set(age_s);
    }
    for control in Control::ALL {
        let holds = pool.withheld.is_some_and(|why| why.control == control);
        let labels = [name[0], POOL, control.name()];
        m.withheld.with_label_values(&labels).set(i64::from(holds));
    }
    for (state, found) in [("open", pool.moving), ("unknown", pool.unknown)] {
        m.pool_moving
            .with_label_values(&[name[0], state])
            .set(i64::from(found));
    }
}

/// The pooled tokens, with what is owed of each to our shares if that is known.
fn fees_owed<'a>(
    about: &'a About,
    pool: &PoolStatus,
) -> impl Iterator<Item = (&'a TokenSpec, Option<Amount>)> {
    let owed = pool.balances.and_then(|balances| balances.owed);
    let spec = about.pools.iter().find(|spec| spec.market == pool.market);
    let tokens = spec.into_iter().flat_map(|spec| spec.pooled);
    let each = tokens.enumerate().map(move |(at, token)| {
        let owed = owed.map(|owed| owed[at]);
        token_spec(about, token).map(|token| (token, owed))
    });
    each.flatten()
}

fn gauges(
    m: &Metrics,
    last: &LastKnown,
    market: &MarketSpec,
    found: &MarketStatus,
    ledger: &Amounts,
) {
    let name = market.name.as_str();
    let live = found.live[0].saturating_add(found.live[1]);
    for (state, count) in [
        ("live", live),
        ("in_flight", found.in_flight),
        ("unknown", found.unknown),
        ("cancelling", found.cancelling),
    ] {
        m.open
            .with_label_values(&[name, state])
            .set(i64::from(count));
    }
    let held = |amounts: &Amounts, token| amounts.get(&token).copied().unwrap_or(0);
    let base = whole(held(ledger, market.base.id), &market.base);
    let opening = whole(held(&last.opening, market.base.id), &market.base);
    m.position.with_label_values(&[name]).set(base - opening);
    let Some(mid) = found
        .mid
        .map(|mid| half_ticks(market, mid))
        .filter(|mid| *mid > 0.0)
    else {
        return;
    };
    m.mid.with_label_values(&[name]).set(mid);
    let value = base * mid;
    let all = value + whole(held(ledger, market.quote.id), &market.quote);
    if all > 0.0 {
        m.inventory_ratio
            .with_label_values(&[name])
            .set(value / all);
    }
    let spread = match (found.bid, found.ask) {
        (Some(bid), Some(ask)) => ticks(market, ask.0.saturating_sub(bid.0)) / mid,
        (Some(_) | None, _) => 0.0,
    };
    m.spread.with_label_values(&[name]).set(spread);
}

/// Value of all holdings in the quote token of the first market; `None` while a price is missing or if a market has
/// another quote token.
fn equity(about: &About, status: &Status) -> Option<f64> {
    let first = about.markets.first()?;
    let quote = status.ledger.get(&first.quote.id).copied().unwrap_or(0);
    let mut total = whole(quote, &first.quote);
    let mut counted = vec![first.quote.id];
    for (market, found) in about.markets.iter().zip(&status.markets) {
        if market.quote.id != first.quote.id {
            return None;
        }
        if counted.contains(&market.base.id) {
            continue;
        }
        counted.push(market.base.id);
        let base = status.ledger.get(&market.base.id).copied().unwrap_or(0);
        if base > 0 {
            total += whole(base, &market.base) * half_ticks(market, found.mid?);
        }
    }
    for pool in status.pools.iter().filter(|pool| pool.held > 0) {
        total += whole(pool.value?, &first.quote);
    }
    Some(total)
}

/// Converts a price in half ticks to a number.
#[expect(
    clippy::cast_precision_loss,
    reason = "metrics are floating point; money elsewhere is not"
)]
pub(super) fn half_ticks(market: &MarketSpec, half_ticks: u64) -> f64 {
    half_ticks as f64 / 2.0 / 10_f64.powi(i32::from(market.price_decimals))
}

fn ticks(market: &MarketSpec, ticks: u64) -> f64 {
    half_ticks(market, ticks.saturating_mul(2))
}

/// Whether something of this time is no older than this.
fn is_fresh(at: Option<Time>, now: Time, age_max_ms: u64) -> bool {
    at.is_some_and(|at| now.ms_since(at) <= age_max_ms)
}

/// Health of the daemon, for load balancers and operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// The event loop has turned recently.
    pub alive: bool,
    /// Trading, on fresh data.
    pub ready: bool,
}

impl Telemetry {
    /// The current health.
    pub fn health(&self) -> Health {
        self.health_at(self.clock.now())
    }

    /// As `health`, with an explicit time.
    pub fn health_at(&self, now: Time) -> Health {
        self.health_of(&self.last(), now)
    }

    fn health_of(&self, last: &LastKnown, now: Time) -> Health {
        let alive = is_fresh(last.ticked, now, self.about.tick_age_max_ms);
        let is_depth_fresh = |at: &Option<Time>| is_fresh(*at, now, self.about.depth_age_max_ms);
        let depth = last.depth.iter().all(is_depth_fresh);
        let served = last.withheld.iter().all(withheld::is_served);
        Health {
            alive,
            ready: alive && depth && served && last.up_state() == "active",
        }
    }

    /// The last comparison of ledger and venue, less explanations since.
    pub fn books(&self) -> BooksStatus {
        self.last().books.clone()
    }

    /// Whether it is ready, and why not: the state, and every side without quotes.
    pub fn readiness(&self) -> (bool, String) {
        self.readiness_at(self.clock.now(), self.clock.unix_micros() / 1_000_000)
    }

    /// As `readiness`, with explicit times.
    pub fn readiness_at(&self, now: Time, now_unix_s: u64) -> (bool, String) {
        let last = self.last();
        let health = self.health_of(&last, now);
        let outage = outage::text(&self.about, &last, (now, now_unix_s));
        let waits = [outage, draining::text(&last)].into_iter().flatten();
        let waits: String = waits.map(|text| text + "\n").collect();
        let lines = withheld::lines(&self.about, &last.withheld, last.portfolio.as_ref());
        let differ = books::text(&self.about, &last.books);
        let differ = differ.map_or_else(String::new, |text| text + "\n");
        let state = if health.ready {
            "ready\n".to_owned()
        } else if !health.alive {
            "not ready: the event loop does not respond\n".to_owned()
        } else if last.up_state() == "active" {
            "not ready: a market is not quoted, or its depth is not fresh\n".to_owned()
        } else {
            format!("not ready: {}\n", last.up_state())
        };
        (health.ready, state + &waits + &differ + &lines)
    }

    /// Everything known, as JSON. Amounts are decimal strings of whole tokens.
    pub fn status(&self) -> Value {
        self.status_at(self.clock.now(), self.clock.unix_micros() / 1_000_000)
    }

    /// As `status`, with explicit times.
    pub fn status_at(&self, now: Time, now_unix_s: u64) -> Value {
        // State, readiness and reasons are current; the numbers are those of the last status, with its age.
        let last = self.last();
        let health = self.health_of(&last, now);
        let mut page = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "revision": self.about.revision,
            "config_hash": self.about.config_hash,
            "mode": self.about.mode.name(),
            "sends_orders": self.about.mode.trades(),
            "state": last.up_state(),
            "level": last.level.name(),
            "level_cause": last.level_cause,
            "alive": health.alive,
            "ready": health.ready,
            "draining": last.draining,
            "up_ms": now.ms_since(last.began),
            "line": last.line,
        });
        page["parameters"] = parameters::page(&last.parameters);
        page["drain"] = draining::page(&last, now);
        page["outage"] = outage::page(&self.about, &last, (now, now_unix_s));
        if !last.refused_answers.is_empty() {
            let each = last.refused_answers.iter().map(|(strategy, answers)| {
                json!({
                    "strategy": self.about.strategy(StrategyId(*strategy)),
                    "count": answers.count,
                    "last_reason": answers.last,
                })
            });
            page["refused_answers"] = each.collect();
        }
        if let Some([nodes, unanswered, slow]) = &last.nodes {
            page["nodes"] = nodes.clone();
            page["unanswered"] = unanswered.clone();
            page["slow_polls"] = slow.clone();
        }
        if let Some(status) = &last.portfolio {
            page["portfolio"] = portfolio::page(status);
        }
        if let Some(account) = &last.simulated {
            page["simulated"] = self.simulated_page(account);
        }
        if let Some((at, status)) = &last.status {
            page["status_age_ms"] = json!(now.ms_since(*at));
            page["requests"] = json!({
                "sent": self.about.requests(status.sent),
                "allowed": self.about.requests(status.allowed),
            });
            page["venue_age_ms"] = json!(last.balances.map(|at| now.ms_since(at)));
            page["unknown_for_ms"] = json!(status.unknown_since.map(|since| now.ms_since(since)));
            page["paused"] = status
                .pauses
                .iter()
                .map(|p| pause(&self.about, p))
                .collect();
            page["other_instances"] = status.others.iter().map(other).collect();
            let differ_ms = status.books.since.map(|since| at.ms_since(since));
            page["books"] = books::page(&self.about, &status.books, differ_ms);
            page["ledger"] = self.amounts(&status.ledger);
            page["venue"] = self.amounts(&status.venue);
            let markets = self
                .about
                .markets
                .iter()
                .zip(&status.markets)
                .zip(&last.depth)
                .zip(&last.withheld);
            page["markets"] = markets
                .map(|(((spec, found), depth), reasons)| {
                    let depth_age_ms = depth.map(|at| now.ms_since(at));
                    let mut page = market_page(spec, found, depth_age_ms);
                    let is_fresh = is_fresh(*depth, now, self.about.depth_age_max_ms);
                    page["depth_stale"] = json!(!is_fresh);
                    let portfolio = last.portfolio.as_ref();
                    page["withheld"] = withheld::sides_beside(spec, reasons, portfolio);
                    page
                })
                .collect();
            let pools = status.pools.iter().map(|pool| self.pool_page(pool));
            page["pools"] = pools.collect();
            let references = status.references.iter();
            let references = references.map(|source| reference_page(&self.about, source));
            page["references"] = references.collect();
        }
        page
    }

    fn pool_page(&self, pool: &PoolStatus) -> Value {
        let spec = self
            .about
            .pools
            .iter()
            .find(|spec| spec.market == pool.market);
        let market = market_spec(&self.about, pool.market);
        let in_quote = |value| market.map(|market| money::whole(value, market.quote.decimals));
        let owed = fees_owed(&self.about, pool).map(|(token, owed)| {
            let amount = money::whole(owed?, token.decimals);
            Some((token.symbol.clone(), json!(amount)))
        });
        let owed: Option<serde_json::Map<_, _>> = owed.collect();
        let owed = owed.filter(|owed| !owed.is_empty());
        json!({
            "name": spec.map(|spec| &spec.name),
            "shares": spec.map(|spec| money::whole(pool.held, spec.lp.decimals)),
            "shares_token": spec.map(|spec| &spec.lp.symbol),
            "value": pool.value.and_then(in_quote),
            "fees_owed": owed.map(Value::Object),
            "divergence_bps": pool.divergence_bps,
            "moving": pool.moving,
            "unknown": pool.unknown,
            "age_ms": pool.age_ms,
            "withheld": market.zip(pool.withheld).map(|(market, why)| withheld::page(market, &why)),
        })
    }

    fn amounts(&self, amounts: &Amounts) -> Value {
        let named = amounts.iter().map(|(token, amount)| {
            token_spec(&self.about, *token).map_or_else(
                || (token.0.to_string(), json!(amount.to_string())),
                |spec| {
                    (
                        spec.symbol.clone(),
                        json!(money::whole(*amount, spec.decimals)),
                    )
                },
            )
        });
        Value::Object(named.collect())
    }
}

fn reference_page(about: &About, source: &ReferenceStatus) -> Value {
    let market = market_spec(about, source.market);
    // The book of another market has that market's units.
    let priced = market_spec(about, source.other.unwrap_or(source.market));
    let price = source.last.zip(priced).map(|((half_ticks, _), priced)| {
        money::whole(u128::from(half_ticks) * 5, priced.price_decimals + 1)
    });
    json!({
        "market": market.map(|market| &market.name),
        "name": source.name,
        "price": price,
        "age_ms": source.last.map(|(_, age_ms)| age_ms),
        "stale": source.stale,
    })
}

fn pause(about: &About, pause: &Pause) -> Value {
    json!({
        "what": part(about, pause.filter),
        "why": pause.cause,
        "until": pause.until.map(|until| times::iso(until.as_s())),
        "until_s": pause.until.map(cambist_core::VenueTime::as_s),
    })
}

fn other(other: &OtherOrder) -> Value {
    json!({
        "instance": format!("{:08x}", other.order.instance),
        "order": other.order.to_string(),
        "side": other.side.name(),
        "valid_until_s": other.valid_until_s,
    })
}

fn market_page(spec: &MarketSpec, found: &MarketStatus, depth_age_ms: Option<u64>) -> Value {
    let price = |ticks: u64| money::whole(u128::from(ticks), spec.price_decimals);
    let mid = |half_ticks: u64| money::whole(u128::from(half_ticks) * 5, spec.price_decimals + 1);
    let mut page = json!({
        "market": spec.name,
        "mid": found.mid.map(mid),
        "bid": found.bid.map(|bid| price(bid.0)),
        "ask": found.ask.map(|ask| price(ask.0)),
        "live_buy": found.live[0],
        "live_sell": found.live[1],
        "in_flight": found.in_flight,
        "unknown": found.unknown,
        "cancelling": found.cancelling,
        "depth_age_ms": depth_age_ms,
    });
    let mut used = found.used.iter();
    if let Some((_, bps)) = used.find(|(control, _)| *control == Control::TradingCounter) {
        page["trading_counter"] = json!(exposure::percent(*bps));
    }
    page
}
