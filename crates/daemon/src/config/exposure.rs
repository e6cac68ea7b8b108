//! The consequences of a configuration, in money and in requests.
//!
//! The worst case is an upper bound that is easy to understand rather than tight: (inventory_max + fillable) ×
//! (price_ceiling − price_floor), where fillable is what can still be bought within ttl + grace after the loss of all
//! control, at most the width of the inventory band.

use cambist_core::request::Endpoint;
use cambist_core::venue::TradingCounter;
use rust_decimal::Decimal;
use serde::Serialize;

use crate::config::daemon::Daemon;
use crate::config::market::Market;
use crate::config::reader::Problem;

/// The formula of the worst case, printed with its result.
pub const WORST_CASE: &str = "(inventory_max + fillable) x (price_ceiling - price_floor), \
    fillable = min(open_orders_max x order_value_max / price_floor, inventory_max - inventory_min)";

/// Possible loss of one market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Risk {
    /// Market.
    pub market: String,
    /// Base token.
    pub base: String,
    /// Quote token.
    pub quote: String,
    /// Largest order, in quote tokens.
    #[serde(serialize_with = "plain")]
    pub order_value_max: Decimal,
    /// Least inventory, in base tokens.
    #[serde(serialize_with = "plain")]
    pub inventory_min: Decimal,
    /// Most inventory, in base tokens.
    #[serde(serialize_with = "plain")]
    pub inventory_max: Decimal,
    /// Floor and ceiling of prices.
    #[serde(serialize_with = "plain")]
    pub price_floor: Decimal,
    /// Highest price.
    #[serde(serialize_with = "plain")]
    pub price_ceiling: Decimal,
    /// Amount that can still be filled after the loss of all control, in base tokens.
    #[serde(serialize_with = "plain")]
    pub fillable: Decimal,
    /// Worst case within ttl + grace, in quote tokens; absent if it is too large.
    #[serde(serialize_with = "plain_or_null")]
    pub worst_case: Option<Decimal>,
    /// Worst case of the pool, in quote tokens: everything that may be in it.
    #[serde(
        serialize_with = "plain_or_null",
        skip_serializing_if = "Option::is_none"
    )]
    pub pool_worst_case: Option<Decimal>,
    /// Strategies by name.
    pub strategies: Vec<String>,
}

/// Load in requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Load {
    /// Most live orders in all markets.
    pub orders_max: u64,
    /// Orders that are refreshed: what the strategies quote in a quiet market, or, if they cannot be evaluated, as many
    /// as may be live.
    pub orders_refreshed: u64,
    /// Polls, in thousandths per second.
    pub polls_milli_per_s: u64,
    /// Submits and cancels of refreshing alone, in thousandths per second.
    pub refresh_milli_per_s: u64,
    /// Sum of both.
    pub total_milli_per_s: u64,
    /// Submits of refreshing as a share of the order endpoint's budget, in ten-thousandths.
    pub refresh_share_bps: u64,
    /// All requests as a share of the whole budget, in ten-thousandths.
    pub budget_share_bps: u64,
    /// The counter of orders and young cancels that the venue keeps for each market, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trading: Option<TradingLoad>,
}

/// What refreshing alone adds to a market's counter of orders and young cancels. What follows a moving price comes on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TradingLoad {
    /// Added, in thousandths per second, by the market with the most orders.
    pub added_milli_per_s: u64,
    /// Forgotten by the venue, in thousandths per second.
    pub forgotten_milli_per_s: u64,
    /// The first as a share of the second, in ten-thousandths.
    pub share_bps: u64,
    /// Above which new orders wait, in thousandths.
    pub most_milli: u64,
    /// What replacing an order adds that was just placed, in thousandths.
    pub replacement_milli: u64,
}

/// Possible loss of one market.
pub fn risk(market: &Market) -> Risk {
    let amounts = &market.amounts;
    let [floor, ceiling] = ["price_floor", "price_ceiling"].map(|key| amounts[key]);
    let [least, most] = ["inventory_min", "inventory_max"].map(|key| amounts[key]);
    let order = amounts["order_value_max"];
    let band = most - least;
    // Plain operators on decimals panic on overflow, so every product is checked.
    let fillable = order
        .checked_mul(Decimal::from(market.limits.open_orders_max))
        .and_then(|value| value.checked_div(floor))
        .map_or(band, |fillable| fillable.min(band))
        .round_dp_with_strategy(8, rust_decimal::RoundingStrategy::AwayFromZero);
    let worst_case = most
        .checked_add(fillable)
        .and_then(|held| held.checked_mul(ceiling - floor))
        .map(|worst| worst.round_dp_with_strategy(2, rust_decimal::RoundingStrategy::AwayFromZero));
    Risk {
        market: market.name.value.clone(),
        base: market.base.clone(),
        quote: market.quote.clone(),
        order_value_max: order.normalize(),
        inventory_min: least.normalize(),
        inventory_max: most.normalize(),
        price_floor: floor.normalize(),
        price_ceiling: ceiling.normalize(),
        fillable: fillable.normalize(),
        worst_case: worst_case.map(|worst| worst.normalize()),
        pool_worst_case: market
            .pool
            .as_ref()
            .map(|pool| pool.amounts["value_max"].normalize()),
        strategies: market
            .strategies
            .iter()
            .map(|choice| choice.name.value.clone())
            .collect(),
    }
}

/// Load in requests of polling and refreshing alone. `refreshed` is the number of orders that the strategies quote in a
/// quiet market, if they could be evaluated.
pub fn load(daemon: &Daemon, refreshed: Option<u64>) -> Load {
    let markets = daemon.markets.len() as u64;
    let orders_max: u64 = daemon
        .markets
        .iter()
        .map(|market| 2 * u64::from(market.limits.open_orders_max))
        .sum();
    let orders_refreshed = refreshed.map_or(orders_max, |refreshed| refreshed.min(orders_max));
    let milli_per_s = |every_ms: u64| 1_000_000_u64.div_ceil(every_ms.max(1));
    let poll = &daemon.engine.poll;
    // A list scan reads every page twice, until two rounds agree.
    let pages = 2 * orders_max
        .div_ceil(u64::from(poll.orders_page).max(1))
        .max(1);
    let pools = daemon
        .markets
        .iter()
        .filter_map(|market| market.pool.as_ref());
    let rules = daemon.venue.rules();
    let cost = |endpoint| u64::from(rules.costs.of(endpoint));
    let polled = |endpoint, every_ms| cost(endpoint) * milli_per_s(every_ms);
    let mut pool_polls: u64 = pools
        .map(|pool| polled(Endpoint::PoolBalance, pool.limits.poll_ms))
        .sum();
    if pool_polls > 0 {
        // The list of pools, and the list of joins and exits as often as orders while one is in flight.
        pool_polls += polled(Endpoint::Pools, poll.meta_ms)
            + polled(Endpoint::PoolTransactions, poll.orders_ms);
    }
    let lists = rules.lists.scanned.len() as u64;
    let scan = pages * lists;
    let polls = markets * polled(Endpoint::Depth, poll.depth_ms)
        + scan * polled(Endpoint::Orders, poll.orders_ms)
        + polled(Endpoint::Balances, poll.balances_ms)
        + pool_polls
        // Markets, tokens, the account, and what rests on it.
        + polled(Endpoint::Markets, poll.meta_ms)
        + polled(Endpoint::Tokens, poll.meta_ms)
        + polled(Endpoint::Account, poll.meta_ms)
        + polled(Endpoint::Orders, poll.meta_ms);
    let orders = &daemon.orders;
    let life_s = orders.ttl_s.saturating_sub(orders.refresh_before_s).max(1);
    let submits = (orders_refreshed * 1_000).div_ceil(life_s);
    let refresh = submits * (cost(Endpoint::Submit) + cost(Endpoint::Cancel));
    let share = |part: u64, per_s: u32| part.saturating_mul(10).div_ceil(u64::from(per_s).max(1));
    let unit = u64::from(daemon.venue.budget_unit());
    Load {
        orders_max,
        orders_refreshed,
        polls_milli_per_s: polls.div_ceil(unit),
        refresh_milli_per_s: refresh.div_ceil(unit),
        total_milli_per_s: (polls + refresh).div_ceil(unit),
        refresh_share_bps: share(submits, daemon.budget.endpoint_per_s),
        budget_share_bps: share(polls + refresh, daemon.budget.per_s),
        trading: rules
            .trading
            .as_ref()
            .map(|counter| trading(daemon, counter, orders_refreshed, life_s)),
    }
}

/// What refreshing so many orders adds to the counter of the market that may have the most of them. The counter has
/// hundredths.
fn trading(
    daemon: &Daemon,
    counter: &TradingCounter,
    orders_refreshed: u64,
    life_s: u64,
) -> TradingLoad {
    let markets = daemon.markets.iter();
    let most = markets.map(|market| 2 * u64::from(market.limits.open_orders_max));
    let orders = most.max().unwrap_or(0).min(orders_refreshed);
    let each = u64::from(counter.order) + u64::from(counter.cancel(life_s * 1_000));
    let added_milli_per_s = (orders * each * 10).div_ceil(life_s);
    let forgotten_milli_per_s = u64::from(counter.decay_per_s) * 10;
    TradingLoad {
        added_milli_per_s,
        forgotten_milli_per_s,
        share_bps: (added_milli_per_s * 10_000).div_ceil(forgotten_milli_per_s.max(1)),
        most_milli: u64::from(counter.most.saturating_sub(counter.spare)) * 10,
        replacement_milli: u64::from(counter.order + counter.cancel(0)) * 10,
    }
}

/// Whether the load is too high.
pub fn overload(daemon: &Daemon, load: &Load) -> Vec<Problem> {
    let at = daemon.budget_at;
    let mut problems = Vec::new();
    if load.refresh_share_bps > 5_000 {
        let what = format!(
            "refreshing alone takes {} of the order budget ({} orders every {} s against budget.endpoint_per_s = {}); quote fewer orders, raise orders.ttl_s, or raise the budget",
            percent(load.refresh_share_bps),
            load.orders_refreshed,
            daemon.orders.ttl_s - daemon.orders.refresh_before_s,
            daemon.budget.endpoint_per_s,
        );
        problems.push(Problem { at, what });
    }
    if let Some(trading) = load.trading.filter(|trading| trading.share_bps > 10_000) {
        let what = format!(
            "refreshing alone adds {} a second to a market's counter of orders and cancels, of which the venue forgets {}; quote fewer orders, or raise orders.ttl_s",
            thousandths(trading.added_milli_per_s),
            thousandths(trading.forgotten_milli_per_s),
        );
        problems.push(Problem { at, what });
    }
    let most_bps = daemon.venue.load_max_bps();
    if load.budget_share_bps > most_bps {
        let allowed = daemon.venue.allowance(&daemon.budget);
        let what = format!(
            "polling and refreshing need {} requests a second, but {allowed}",
            thousandths(load.total_milli_per_s),
        );
        problems.push(Problem { at, what });
    }
    problems
}

/// Formats ten-thousandths as a percentage.
pub fn percent(bps: u64) -> String {
    format!("{}.{} %", bps / 100, bps % 100 / 10)
}

/// Formats thousandths as a number.
pub fn thousandths(milli: u64) -> String {
    if milli.is_multiple_of(10) {
        return format!("{}.{:02}", milli / 1_000, milli % 1_000 / 10);
    }
    format!("{}.{:03}", milli / 1_000, milli % 1_000)
}

/// Decimals are strings in JSON, because a reader's floating point would round them.
fn plain<S: serde::Serializer>(number: &Decimal, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(number)
}

#[expect(clippy::ref_option, reason = "the shape that serde calls")]
fn plain_or_null<S: serde::Serializer>(
    number: &Option<Decimal>,
    out: S,
) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => out.collect_str(number),
        None => out.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rate just above its limit must not read like the limit.
    #[test]
    fn thousandths_are_shown_where_hundredths_would_hide_them() {
        let cases = [
            (0, "0.00"),
            (160, "0.16"),
            (165, "0.165"),
            (1_001, "1.001"),
            (12_500, "12.50"),
        ];
        for (milli, text) in cases {
            assert_eq!(thousandths(milli), text);
        }
    }
}
