//! Checks of an order's own numbers, and of the book that it was decided on.

use crate::invariants::table::Invariant;
use cambist_core::config::{EngineConfig, MarketConfig};
use cambist_core::order::UnsignedOrder;
use cambist_core::{Amount, MarketSpec, Side};

use crate::invariants::sending::Broken;

use crate::invariants::limits::{StrategyCall, WHOLE_BPS};

/// The book that it was decided on is neither too wide nor too thin.
pub(crate) fn check_book(
    order: &UnsignedOrder,
    call: &StrategyCall,
    limits: &MarketConfig,
    broken: &mut Vec<Broken>,
) {
    let id = order.client_id;
    let (Some(bid), Some(ask)) = (call.bids.first(), call.asks.first()) else {
        return broken.push((Invariant::EmptyBook, format!("{id} on half a book")));
    };
    let (apart, sum) = (
        ask.price.0.saturating_sub(bid.price.0),
        ask.price.0 + bid.price.0,
    );
    if u128::from(apart) * 2 * WHOLE_BPS > u128::from(limits.spread_max_bps) * u128::from(sum) {
        broken.push((
            Invariant::Spread,
            format!("{id} on a book {apart} ticks wide"),
        ));
    }
    for side in [&call.bids, &call.asks] {
        let lots: u128 = side.iter().map(|level| u128::from(level.qty.0)).sum();
        if lots < u128::from(limits.depth_min.0) {
            broken.push((Invariant::ThinBook, format!("{id} beside {lots} lots")));
        }
    }
}

/// Its own numbers: amounts that state its price, size, price, fee and time to live.
pub(crate) fn sane(
    order: &UnsignedOrder,
    spec: &MarketSpec,
    engine: &EngineConfig,
    broken: &mut Vec<Broken>,
) {
    let (id, risk) = (order.client_id, &engine.risk);
    let limits = &engine.markets[usize::from(order.market.0)];
    let (base, quote, sold, bought) = match order.side {
        Side::Buy => (order.buy_amount, order.sell_amount, &spec.quote, &spec.base),
        Side::Sell => (order.sell_amount, order.buy_amount, &spec.base, &spec.quote),
    };
    let lots = Amount::from(order.qty.0);
    let price = Amount::from(order.price.0);
    let exact = if order.is_swap() {
        states_its_worst(order, spec)
    } else {
        base == lots * spec.lot && quote == lots * price * spec.quote_per_lot_tick
    };
    if !exact || (order.sell_token, order.buy_token) != (sold.id, bought.id) {
        let detail = format!("{id}: {base} for {quote} at {price}");
        broken.push((Invariant::Amounts, detail));
    }
    let outside = |amount, token: &cambist_core::TokenSpec| {
        amount == 0 || amount < token.minimum || amount > token.maximum
    };
    if outside(base, &spec.base) || outside(quote, &spec.quote) {
        broken.push((Invariant::OrderAmount, format!("{id}: {base} for {quote}")));
    }
    // A swap has limits of its own.
    if !order.is_swap() && quote > limits.order_value_max {
        broken.push((Invariant::OrderValue, format!("{id} is worth {quote}")));
    }
    if !order.is_swap() && order.qty > limits.order_qty_max {
        broken.push((Invariant::OrderVolume, format!("{id} is {lots} lots")));
    }
    if order.price < limits.price_min || order.price > limits.price_max {
        broken.push((Invariant::PriceBand, format!("{id} at {price}")));
    }
    if order.max_fee_bips > risk.fee_max_bips || order.max_fee_bips > engine.max_fee_bips {
        broken.push((
            Invariant::FeeCap,
            format!("{id} signs {} bips", order.max_fee_bips),
        ));
    }
    let expiry = order.lifetime().of_signature();
    let life_ms = expiry.ms_since(order.made_at);
    if life_ms > risk.ttl_max_ms.min(engine.ttl_ms) {
        broken.push((Invariant::TtlCap, format!("{id} lives {life_ms} ms")));
    }
}

/// Whether price and lots of a swap are no better than its amounts: the price is the worst that they allow, to a tick,
/// and the lots hold its base at its most.
fn states_its_worst(order: &UnsignedOrder, spec: &MarketSpec) -> bool {
    let price = Amount::from(order.price.0);
    // What the least base costs at its price, and what the sold base yields, in parts of a lot.
    let at = |price: Amount, base: Amount| price * base * spec.quote_per_lot_tick;
    let (paid, got, most) = match order.side {
        Side::Buy => (order.sell_amount, order.buy_amount, order.most_bought()),
        Side::Sell => (order.buy_amount, order.sell_amount, order.sell_amount),
    };
    let quote = paid * spec.lot;
    let worst = match order.side {
        Side::Buy => at(price, got) >= quote && at(price.saturating_sub(1), got) < quote,
        Side::Sell => at(price, got) <= quote && at(price + 1, got) > quote,
    };
    worst && most <= Amount::from(order.qty.0) * spec.lot
}
