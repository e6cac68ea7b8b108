//! What of the data of a market makes the results of a run doubtful, although no row of them has a defect.

use cambist_core::MarketSpec;
use cambist_fill_model::QueueModel;
use cambist_market_data::Step;

use crate::exchange::SimulatedExchange;
use crate::feed::Feed;

/// Trades on the wrong side from which they are a warning,
const SIDES_MIN: u64 = 20;
/// if there are more than so many of them for each on the right one.
const SIDES_FACTOR: u64 = 2;

/// The warnings of one market, most important first.
pub fn of(
    feed: &Feed,
    spec: &MarketSpec,
    exchange: &SimulatedExchange,
    index: usize,
) -> Vec<String> {
    let (name, report) = (&spec.name, feed.data().report());
    let mut warnings = Vec::new();
    let filled = exchange.filled_step(index);
    if let Some(step) = feed.price_step()
        && !filled.is_multiple_of(step)
    {
        warnings.extend(between_ticks(spec, step));
    }
    if feed.is_snapshots() {
        return warnings;
    }
    let views = &report.views;
    if report.best_prices > 0 {
        warnings.push(format!(
            "{} of {} rows of {name} are best bids and asks (kind 5), which are not used: a book that is recorded by them is not known here. Leave them to the levels, or convert them to levels.",
            report.best_prices, report.rows
        ));
    }
    if exchange.queue() == QueueModel::Fifo && views.trades > 0 && views.fills == 0 {
        warnings.push(format!(
            "The data of {name} have {} trades and no fills of single orders (kind 13): exact queues move by fills of orders, so that no trade filled an order of ours. Use another --queue-model.",
            views.trades
        ));
    }
    if views.trades == 0 {
        warnings.push(format!(
            "The data of {name} have no trades: an order fills only when the book reaches its price."
        ));
    }
    let sides = exchange.trade_sides(index);
    if sides.same >= SIDES_MIN && sides.same / SIDES_FACTOR > sides.opposite {
        warnings.push(format!(
            "Of {} trades of {name} at a best price or beyond, {} are on the side of their taker, such as a buy at the best bid: the recorded sides are probably those of the orders that rested, so that trades fill orders of the wrong side. A trade is a buy (bit 29) when its taker bought.",
            sides.same + sides.opposite,
            sides.same,
        ));
    }
    if report.begins_whole == Some(false) {
        warnings.push(format!(
            "The data of {name} begin with changes of a book, without a snapshot of it in their first 10,000 rows: levels are missing until they change, so that spreads are too wide and queues too short at first. Give the snapshot of the moment before as the first --data, or begin later with --from."
        ));
    }
    warnings
}

/// Fills at prices that the recorded exchange does not have: all of its own are multiples of so many ticks.
fn between_ticks(spec: &MarketSpec, ticks: u64) -> Option<String> {
    let (mut mantissa, mut decimals) = (ticks, spec.price_decimals);
    while mantissa.is_multiple_of(10) && decimals > 0 {
        (mantissa, decimals) = (mantissa / 10, decimals - 1);
    }
    let step = Step::new(mantissa, decimals).ok()?;
    let remedy = if mantissa == 1 {
        format!("Set price_decimals = {decimals}")
    } else {
        "Use a strategy that quotes multiples of it".to_owned()
    };
    Some(format!(
        "Every price in the data of {} is a multiple of {step}, and orders of this run were filled at prices between: the recorded exchange probably has no such prices, where an order is first in an empty queue. {remedy}, unless the exchange that you will trade on has them.",
        spec.name
    ))
}
