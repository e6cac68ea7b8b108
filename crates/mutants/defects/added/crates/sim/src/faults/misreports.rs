//! Planted defects of the exchange: distortions of its trades and answers before they are processed.

use cambist_core::{Hash, OrderStatus, Price};
use cambist_venue::{Executed, Refusal, Response};

/// State of such a defect.
#[derive(Debug, Default)]
pub(crate) struct Misreport {
    cancelled: Option<Hash>,
}

impl Misreport {
    /// Distorts an answer and its trades if such a defect is armed.
    pub(crate) fn distort(
        &mut self,
        answer: &mut Result<Response, Refusal>,
        trades: &mut Vec<Executed>,
    ) {
        self.distort_trades(trades);
        let Ok(answer) = answer else {
            return;
        };
        match answer {
            Response::Cancelled(cancelled) if cancelled.status == OrderStatus::Cancelled => {
                self.cancelled = Some(cancelled.hash);
            }
            Response::Balances(balances) => {
                for view in balances {
                    view.total += u128::from(planted!(balance_off_by_one));
                    if planted!(locks_untold) {
                        view.locked = 0;
                    }
                }
            }
            Response::PoolBalance(view) => {
                view.lp.amount += u128::from(planted!(pool_mints_one_more));
            }
            Response::Orders(page) if planted!(cancelled_shown_open) => {
                let cancelled = page.orders.iter_mut();
                cancelled
                    .filter(|order| order.status == OrderStatus::Cancelled)
                    .for_each(|order| order.status = OrderStatus::Processing);
            }
            Response::Depth(view) if planted!(best_level_untold) && !view.bids.is_empty() => {
                view.bids.remove(0);
            }
            Response::Submitted(_)
            | Response::Cancelled(_)
            | Response::Order(_)
            | Response::Orders(_)
            | Response::Depth(_)
            | Response::Account(_)
            | Response::ApiKey(_)
            | Response::StorageId { .. }
            | Response::Exchange(_)
            | Response::Tokens(_)
            | Response::Markets(_)
            | Response::Submission(_)
            | Response::Pools(_)
            | Response::PoolTransactions(_)
            | Response::Kraken(_)
            | Response::Done(_)
            | Response::Log(_) => {}
        }
    }

    fn distort_trades(&mut self, trades: &mut Vec<Executed>) {
        if planted!(queue_jumped) {
            let taker = trades.first().map(|executed| executed.taker);
            if let [first, second, ..] = trades.as_mut_slice()
                && Some(second.taker) == taker
            {
                std::mem::swap(first, second);
            }
        }
        if planted!(trade_untold) {
            trades.pop();
        }
        let Some(Executed { trade, .. }) = trades.last_mut() else {
            return;
        };
        if planted!(takers_price_paid) {
            trade.price = Price(trade.price.0 + 1);
        }
        if planted!(fill_too_large) {
            trade.base += 1;
        }
        trade.taker_fee += u128::from(planted!(fee_rounded_up));
        if planted!(filled_after_cancel)
            && let Some(cancelled) = self.cancelled
        {
            trade.maker = cancelled;
        }
    }
}
