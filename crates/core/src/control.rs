//! The table of all reasons why a target is not sent or does not exist.
//!
//! A row holds the stable name (metrics, logs, the store), the configuration keys that decide it, a sentence, and a
//! remedy. Status, metrics and the page `docs/no-quotes.md` are generated from it, so that a reason is
//! added in two places: here, and where it is detected. Tapes and snapshots hold reasons: a new one is a new version of
//! their stored types. What each control compares is defined in `engine/risk/controls`, `engine/market_data/book` and
//! the strategies.

use serde::{Deserialize, Serialize};

macro_rules! controls {
    ($($control:ident $name:literal [$($key:literal)*] $sentence:literal $remedy:literal)*) => {
        /// A pre-trade control, or another reason for not quoting.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub enum Control {
            $(#[doc = $sentence] $control,)*
        }

        impl Control {
            /// Every control, for metrics that exist from the start.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$control),*];

            /// The label used in metrics, logs and the store; it never changes.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$control => $name,)* }
            }

            /// The reason as a sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$control => $sentence,)* }
            }

            /// Configuration keys that decide it. A stated reason names one of them.
            pub const fn keys(self) -> &'static [&'static str] {
                match self { $(Self::$control => &[$($key),*],)* }
            }

            /// What an operator can do about it.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$control => $remedy,)* }
            }
        }
    };
}

controls! {
    Level "level" []
        "the trading state allows no new orders"
        "find its cause, level_cause in cambist status; then cambist resume --reason TEXT. If the cause is store, the store has lost writes: make room on its disk and restart the daemon"
    Paused "paused" ["risk.pause_s" "risk.pauses_per_day"]
        "this market, side or strategy is paused"
        "a pause that a limit engaged ends by itself; otherwise cambist resume --reason TEXT"
    PriceCollar "price_collar" ["market.collar_bps"]
        "the price is further from the mid than collar_bps allows"
        "quote nearer to the mid, or raise the key"
    PriceMove "price_move" ["risk.move_bps" "risk.move_s"]
        "the mid moved further within the window than risk.move_bps allows"
        "wait, or raise the key"
    PriceBand "price_band" ["market.price_floor" "market.price_ceiling"]
        "the price is outside price_floor to price_ceiling"
        "if the market's price is right, change the key"
    OrderValue "order_value" ["market.order_value_max" "market.pool.move_value_max" "market.pool.value_max" "market.pool.swap_value_max"]
        "the value of one order would exceed order_value_max"
        "make the strategy's orders smaller, or raise the key"
    OrderVolume "order_volume" ["market.order_qty_max"]
        "one order would be larger than order_qty_max"
        "make the strategy's orders smaller, or raise the key"
    OrderAmount "order_amount" ["market.strategy.params" "market.pool.max_fee"]
        "an amount is outside the venue's bounds"
        "make the strategy's orders larger than the venue's minimum, or smaller than its maximum"
    InventoryBand "inventory_band" ["market.inventory_min" "market.inventory_max"]
        "if every order filled, holdings would be outside inventory_min to inventory_max"
        "move holdings back into the band, or change the keys"
    SignedUnexpired "signed_unexpired" ["risk.signed_unexpired_max"]
        "more would be signed and unexpired than risk.signed_unexpired_max allows, counting orders that have ended"
        "wait until signed orders have expired; a shorter ttl, fewer price changes or a higher key allow more quotes"
    GrossExposure "gross_exposure" ["risk.gross_max_bps"]
        "the value of holdings and open bids of all markets would exceed risk.gross_max_bps"
        "hold less, or raise the key"
    OpenOrders "open_orders" ["market.open_orders_max"]
        "open_orders_max orders may be alive already"
        "wait for orders of unknown state, or raise the key"
    MessageRate "message_rate" ["risk.orders_per_min" "risk.cancels_per_min" "market.pool.swaps_per_min"]
        "the last minute has as many orders or cancels as risk.orders_per_min or risk.cancels_per_min allows, or swaps as market.pool.swaps_per_min"
        "requote less often, or raise the key"
    OrderToFill "order_to_fill" ["risk.messages_per_fill"]
        "the last minute has more orders and cancels per fill than risk.messages_per_fill"
        "requote less often, or raise the key"
    Executions "executions" ["risk.executions_per_min"]
        "more orders were sent, or filled completely, within a minute than the budget can explain: only cancels are sent"
        "find what sent them; then cambist resume --reason TEXT"
    Duplicate "duplicate" ["risk.duplicate_ms"]
        "an equal order was placed within risk.duplicate_ms and the targets have no second one"
        "wait; if it lasts, report it"
    ParentChild "parent_child" []
        "more would be sent than the strategy asked for"
        "report it: it is a defect"
    StaleData "stale_data" ["poll.depth_age_max_ms" "poll.orders_age_max_ms" "poll.balances_age_max_ms" "market.pool.age_max_ms" "orders.resend_margin_ms"]
        "an input that the decision needs is too old or missing"
        "check whether the venue answers, and whether its limit of requests leaves room for the polls; poll more often, or raise the key"
    SelfCross "self_cross" []
        "the order would trade with one of our own"
        "wait until the other order has ended"
    Balance "balance" []
        "the free balance does not cover the order and its fee"
        "deposit the token, or make the strategy's orders smaller"
    FeeCap "fee_cap" ["risk.fee_max_bips"]
        "the fee that would be signed is above risk.fee_max_bips"
        "lower orders.max_fee_bips, or raise the key"
    TtlCap "ttl_cap" ["risk.ttl_max_s"]
        "the order's time to live would exceed risk.ttl_max_s"
        "lower orders.ttl_s, or raise the key"
    LossHour "loss_hour" ["market.loss_hour_max"]
        "the market lost more within the hour than loss_hour_max"
        "the market is paused; find the cause of the loss"
    LossDay "loss_day" ["market.loss_day_max"]
        "the market lost more today than loss_day_max"
        "find the cause of the loss; then cambist resume --reason TEXT --forget-losses, or raise the key"
    LossTotal "loss_total" ["market.loss_total_max"]
        "the market lost more since the start than loss_total_max"
        "find the cause of the loss; then cambist resume --reason TEXT --forget-losses, or raise the key"
    Drawdown "drawdown" ["market.drawdown_max"]
        "the market is further below its peak than drawdown_max"
        "find the cause of the loss; then cambist resume --reason TEXT --forget-losses, or raise the key"
    LossStreak "loss_streak" ["risk.streak_fills" "risk.streak_bps" "risk.streak_s"]
        "risk.streak_fills fills in a row were against us by risk.streak_bps"
        "the market is paused; quote wider"
    StorageIds "storage_ids" []
        "no slot number (storage id) is free"
        "wait until orders have ended, or the last one has its answer"
    Store "store" []
        "the store has not sealed the previous batch yet"
        "check whether the disk is slow"
    Budget "budget" ["budget.endpoint_per_s" "budget.endpoint_burst" "budget.per_s" "budget.burst" "budget.cancel_reserve" "budget.penalty_ms"]
        "no request budget is left"
        "quote fewer orders, or raise the key as far as the venue allows"
    VenueRefusal "venue_refusal" ["orders.resend_after_ms"]
        "the venue refused the last order; new ones are paused for a moment"
        "see the reason in the log"
    OtherInstance "other_instance" ["orders.ttl_s" "orders.grace_s"]
        "orders of another cambist instance are open on this account, or were a moment ago"
        "stop the other daemon; if none runs, an earlier state folder left them: wait, or cambist account adopt-orders --instance ID --reason TEXT"
    UnknownOrder "unknown_order" ["orders.ttl_s" "orders.grace_s"]
        "an order of unknown state occupies this quote until its end is proven"
        "wait; a shorter ttl shortens the wait"
    Permission "permission" []
        "the market is disabled or the account frozen"
        "ask the venue"
    Listing "listing" []
        "the venue lists the market or a token differently than at the start"
        "if the new listing is right, restart"
    Spread "spread" ["market.spread_max_bps"]
        "the book is wider than spread_max_bps"
        "wait, or raise the key"
    ThinBook "thin_book" ["market.depth_min"]
        "a side of the book holds less than depth_min"
        "wait, or lower the key"
    FrozenBook "frozen_book" ["market.frozen_after_s"]
        "the book has not changed for frozen_after_s"
        "check whether the venue is running; in a quiet market raise the key"
    EmptyBook "empty_book" ["market.empty_book"]
        "the book is empty or one-sided and no seed price is configured"
        "wait, or configure a seed price"
    Recovering "recovering" ["orders.ttl_s"]
        "orders of an earlier run, or from before a gap in time, are not all accounted for"
        "wait; a shorter ttl shortens the wait. If it lasts, see whether polls take longer than their interval: slow_polls in cambist status names the key to raise"
    BooksDiffer "books_differ" ["risk.mismatch_max"]
        "the venue's balances differ from the ledger, and the difference is not explained"
        "cambist status names the token; cambist account adopt explains it, or cambist resume --reason TEXT adopts the venue's balances"
    PoolDivergence "pool_divergence" ["market.pool.divergence_max_bps"]
        "the pool's price is further from the mid than divergence_max_bps allows"
        "wait, or raise the key"
    Ending "ending" []
        "the daemon is ending and places no more orders"
        "start it again when it has ended; after kill or panic, cambist resume allows orders again"
    Ramp "ramp" ["ramp.start_bps" "ramp.step_bps" "ramp.step_s"]
        "at the ramp's current share of full size the order is less than one lot"
        "wait for the ramp, raise the key, or make the strategy's orders larger"
    NotConfigured "not_configured" []
        "no configured strategy quotes this side"
        "nothing, if intended; otherwise configure a strategy for it"
    NotWanted "not_wanted" []
        "the strategy has no target on this side and states no reason"
        "read what the strategy does: cambist strategy show NAME"
    StrategyPrice "strategy_price" ["market.strategy.params.price_floor" "market.strategy.params.price_ceiling" "market.strategy.params.buy_price_max" "market.strategy.params.sell_price_min" "market.strategy.params.depeg_bps" "market.strategy.params.moving_band_bps" "market.strategy.params.price_low" "market.strategy.params.price_high" "market.strategy.params.unwind_bps"]
        "the strategy quotes this side only while the mid is within its own limits"
        "wait, or change the key"
    StrategyFunds "strategy_funds" ["market.strategy.params"]
        "the balance of the token buys or sells less than the strategy's smallest order"
        "deposit the token, or configure smaller orders"
    StrategySkew "strategy_skew" ["market.strategy.params.inventory_range_multiplier" "market.strategy.params.inventory_bound" "market.strategy.params.round_amount_max" "market.strategy.params.open_amount_max" "market.strategy.params.base_target"]
        "holdings are so far from the strategy's target that it does not quote this side"
        "wait for fills of the other side, move the target, or raise the key"
    FillDelay "fill_delay" ["market.strategy.params.filled_order_delay_ms"]
        "the strategy pauses this side after a fill"
        "wait, or lower the key"
    NoPassivePrice "no_passive_price" ["market.strategy.params"]
        "no price within the strategy's limits would rest without trading at once"
        "widen the strategy's bands"
    NoFairPrice "no_fair_price" ["market.strategy.params" "market.strategy.params.reference" "market.strategy.params.reference_divergence_bps"]
        "the strategy's model or reference gives no price to quote at"
        "check which input is missing or extreme: cambist strategy show NAME explains them"
    Schedule "schedule" ["market.strategy.params.total" "market.strategy.params.duration_s"]
        "the strategy has traded what its schedule has released by now, or its whole total"
        "wait; to trade more, raise the key"
    ProcessDown "process_down" []
        "the process of the strategy does not run"
        "see the log for how it ended; it is started again with growing pauses"
    ProcessStale "process_stale" ["market.strategy.timeout_ms"]
        "the process of the strategy has not answered a recent view"
        "see what it prints on its standard error; make it faster, or raise the key"
    ProcessAnswer "process_answer" []
        "what the process of the strategy answered is no target"
        "see refused_answers in cambist status for what is wrong with it, and docs/process-strategies.md for the schema"
    Undecided "undecided" []
        "no decision was made for this side"
        "report it: it is a defect"
    PoolSlippage "pool_slippage" ["market.pool.slippage_bps"]
        "the swap would accept less than slippage_bps below what the pool pays at the balances last read"
        "accept less slippage in the strategy, or raise the key"
    Signer "signer" ["orders.resend_after_ms" "keys.signer" "venue.fee_max_gwei"]
        "the signer of the key refused the last order or did not answer, or gas costs more than venue.fee_max_gwei; new ones are paused for a moment"
        "the log names the limit, the two prices of gas, or that the signer does not answer: cambist doctor compares its limits with this file; if gas is too dear, wait, or raise venue.fee_max_gwei and restart"
    SwapUndecided "swap_undecided" ["orders.ttl_s" "orders.grace_s"]
        "a swap is undecided, or the pool was not read again after it"
        "wait; a shorter ttl shortens the wait. If it lasts, the pool takes no swaps"
    TradingCounter "trading_counter" []
        "the venue's counter of orders and cancels of this market is nearly full"
        "wait; a wider market.price_tolerance_bps and a longer orders.ttl_s replace fewer orders"
    PortfolioInventory "portfolio_inventory" ["portfolio.tokens.inventory_max"]
        "if every order of all venues filled, they would hold more of the token than the portfolio's inventory_max, or what another venue holds is not known"
        "hold less, raise the key, or see why the other venue is not ready: cambist status"
    PortfolioExposure "portfolio_exposure" ["portfolio.exposure_max"]
        "the value of holdings and open bids of all venues would exceed portfolio.exposure_max, or a part of it is not known"
        "hold less, raise the key, or see which venue is not ready or which token has no price: cambist status"
}

impl Control {
    /// The control with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|control| control.name() == name)
    }

    /// Whether it occurs in normal operation.
    pub const fn is_routine(self) -> bool {
        matches!(
            self,
            Self::Recovering
                | Self::Ending
                | Self::Budget
                | Self::Store
                | Self::StorageIds
                | Self::UnknownOrder
                | Self::OpenOrders
                | Self::SelfCross
                | Self::Duplicate
                | Self::Ramp
                | Self::FillDelay
                | Self::StrategySkew
                | Self::Schedule
                | Self::SwapUndecided
                | Self::TradingCounter
        )
    }

    /// Whether a side without quotes is as configured, so that it needs no alert.
    pub const fn is_by_design(self) -> bool {
        matches!(self, Self::NotConfigured | Self::Schedule)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_control_has_a_name_and_a_sentence_of_its_own() {
        let names: BTreeSet<_> = Control::ALL.iter().map(|c| c.name()).collect();
        let sentences: BTreeSet<_> = Control::ALL.iter().map(|c| c.sentence()).collect();
        assert_eq!(
            (names.len(), sentences.len()),
            (Control::ALL.len(), Control::ALL.len())
        );
        for control in Control::ALL {
            assert_eq!(Control::named(control.name()), Some(control));
            let keys: BTreeSet<_> = control.keys().iter().collect();
            assert_eq!(keys.len(), control.keys().len(), "{}", control.name());
            assert!(!control.remedy().is_empty());
        }
    }
}
