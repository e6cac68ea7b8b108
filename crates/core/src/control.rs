//! Every reason for which something wanted is not sent, or nothing is wanted: one table.
//!
//! A line holds the stable name (metrics, logs, the store), the configuration keys that decide it, a
//! sentence for people, and what to do. Status, metrics, the page `docs/no-quotes.md` and the alerts are
//! made from it, so that a reason is added here and where it is found. What each control compares is in
//! `engine/rules`, `engine/book` and the strategies.

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

            /// Why, for people.
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$control => $sentence,)* }
            }

            /// Configuration keys that decide it. A reason given names one of them.
            pub const fn keys(self) -> &'static [&'static str] {
                match self { $(Self::$control => &[$($key),*],)* }
            }

            /// What to do about it, for people.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$control => $remedy,)* }
            }
        }
    };
}

controls! {
    Level "level" []
        "the level allows no new orders"
        "see its cause in the log; then cambist resume --reason TEXT"
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
        "the price lies outside price_floor and price_ceiling"
        "if the market's price is right, move the key"
    OrderValue "order_value" ["market.order_value_max" "market.pool.move_value_max" "market.pool.value_max"]
        "one order would be worth more than order_value_max"
        "make the strategy's orders smaller, or raise the key"
    OrderVolume "order_volume" ["market.order_qty_max"]
        "one order would be larger than order_qty_max"
        "make the strategy's orders smaller, or raise the key"
    OrderAmount "order_amount" ["market.strategy.params" "market.pool.max_fee"]
        "an amount lies outside what the venue takes"
        "make the strategy's orders larger than the venue's minimum, or smaller than its maximum"
    InventoryBand "inventory_band" ["market.inventory_min" "market.inventory_max"]
        "if everything filled, holdings would leave inventory_min to inventory_max"
        "move holdings back into the band, or move the key"
    SignedUnexpired "signed_unexpired" ["risk.signed_unexpired_max"]
        "more would be signed and unexpired, whatever became of it, than risk.signed_unexpired_max allows"
        "wait until what was signed has expired; a shorter ttl, fewer changes of price or a higher key lets more be quoted"
    GrossExposure "gross_exposure" ["risk.gross_max_bps"]
        "holdings and open bids of all markets would be worth more than risk.gross_max"
        "hold less, or raise the key"
    OpenOrders "open_orders" ["market.open_orders_max"]
        "as many orders as open_orders_max may be alive already"
        "wait for orders of unknown state, or raise the key"
    MessageRate "message_rate" ["risk.orders_per_min" "risk.cancels_per_min"]
        "the last minute holds as many orders or cancels as risk allows"
        "requote less often, or raise the key"
    OrderToFill "order_to_fill" ["risk.messages_per_fill"]
        "the last minute holds more orders and cancels for each fill than risk.messages_per_fill"
        "requote less often, or raise the key"
    Executions "executions" ["risk.executions_per_min"]
        "more orders were sent, or filled completely, within a minute than the budget can explain: only cancels are sent"
        "find what sent so many; then cambist resume --reason TEXT"
    Duplicate "duplicate" ["risk.duplicate_ms"]
        "an equal order was made within risk.duplicate_ms and no second one is wanted"
        "wait; if it lasts, report it"
    ParentChild "parent_child" []
        "what leaves would exceed what the strategy asked for"
        "report it: it is a defect"
    StaleData "stale_data" ["poll.depth_age_max_ms" "poll.orders_age_max_ms" "poll.balances_age_max_ms" "market.pool.age_max_ms" "orders.resend_margin_ms"]
        "an input that the decision needs is too old or missing"
        "see whether the venue answers; poll more often, or raise the key"
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
        "the order would live longer than risk.ttl_max_s"
        "lower orders.ttl_s, or raise the key"
    LossHour "loss_hour" ["market.loss_hour_max"]
        "the market lost more within the hour than loss_hour_max"
        "it pauses the market; see why it lost"
    LossDay "loss_day" ["market.loss_day_max"]
        "the market lost more today than loss_day_max"
        "see why it lost; then cambist resume --reason TEXT --forget-losses, or raise the key"
    LossTotal "loss_total" ["market.loss_total_max"]
        "the market lost more since the start than loss_total_max"
        "see why it lost; then cambist resume --reason TEXT --forget-losses, or raise the key"
    Drawdown "drawdown" ["market.drawdown_max"]
        "the market is further below its peak than drawdown_max"
        "see why it lost; then cambist resume --reason TEXT --forget-losses, or raise the key"
    LossStreak "loss_streak" ["risk.streak_fills" "risk.streak_bps" "risk.streak_s"]
        "so many fills in a row as risk.streak_fills were against us by risk.streak_bps"
        "it pauses the market; quote wider"
    StorageIds "storage_ids" []
        "no storage id is free"
        "wait until orders have ended"
    Store "store" []
        "the store has not yet sealed the batch before"
        "see whether the disk is slow"
    Budget "budget" ["budget.endpoint_per_s" "budget.endpoint_burst" "budget.per_s" "budget.burst" "budget.cancel_reserve" "budget.penalty_ms"]
        "no request budget is left"
        "quote fewer orders, or raise the key as far as the venue allows"
    VenueRefusal "venue_refusal" ["orders.resend_after_ms"]
        "the venue has refused the last order, and is not asked again at once"
        "see the venue's reason in the log"
    OtherInstance "other_instance" ["orders.ttl_s" "orders.grace_s"]
        "orders of another cambist instance are open on this account, or were a moment ago"
        "stop the other daemon; if none runs, an earlier state folder left them: wait, or cambist account adopt-orders --instance ID --reason TEXT"
    UnknownOrder "unknown_order" ["orders.ttl_s" "orders.grace_s"]
        "an order of unknown state stands in the place of this quote until its end is proven"
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
        "see whether the venue lives; in a quiet market raise the key"
    EmptyBook "empty_book" ["market.empty_book"]
        "the book is empty or one-sided and no seed price is configured"
        "wait, or give a seed price"
    Recovering "recovering" ["orders.ttl_s"]
        "not everything of an earlier run, or of a gap in time, is accounted for"
        "wait; a shorter ttl shortens the wait"
    BooksDiffer "books_differ" ["risk.mismatch_max"]
        "the venue holds something else than the ledger, and nobody has explained it"
        "see which token in status; cambist account adopt explains it, or cambist resume --reason TEXT takes the venue's books over"
    PoolDivergence "pool_divergence" ["market.pool.divergence_max_bps"]
        "the pool's price is further from the mid than divergence_max_bps allows"
        "wait, or raise the key"
    Ending "ending" []
        "the daemon is ending and orders nothing more"
        "start it again when it has ended"
    Ramp "ramp" ["ramp.start_bps" "ramp.step_bps" "ramp.step_s"]
        "at the present share of full size the order is less than one lot"
        "wait for the ramp, raise the key, or make the strategy's orders larger"
    NotConfigured "not_configured" []
        "no configured strategy quotes this side"
        "nothing, if that is meant; otherwise configure a strategy for it"
    NotWanted "not_wanted" []
        "the strategy wants no order on this side now and says no more"
        "see what the strategy does: cambist strategy show NAME"
    StrategyPrice "strategy_price" ["market.strategy.params.price_floor" "market.strategy.params.price_ceiling" "market.strategy.params.buy_price_max" "market.strategy.params.sell_price_min" "market.strategy.params.depeg_bps" "market.strategy.params.moving_band_bps"]
        "the strategy quotes this side only while the mid is within its own limits"
        "wait, or move the key"
    StrategyFunds "strategy_funds" ["market.strategy.params"]
        "what is held of the token buys or sells less than the least order of the strategy"
        "deposit the token, or let the strategy make smaller orders"
    StrategySkew "strategy_skew" ["market.strategy.params.inventory_range_multiplier" "market.strategy.params.inventory_bound"]
        "holdings are so far from the strategy's target that it quotes only the other side"
        "wait for fills of the other side, move the target, or raise the key"
    FillDelay "fill_delay" ["market.strategy.params.filled_order_delay_ms"]
        "the strategy rests on this side after a fill"
        "wait, or lower the key"
    NoPassivePrice "no_passive_price" ["market.strategy.params"]
        "no price that the strategy allows would rest without trading at once"
        "widen the strategy's bands"
    NoFairPrice "no_fair_price" ["market.strategy.params" "market.strategy.params.reference" "market.strategy.params.reference_divergence_bps"]
        "the strategy's model or reference gives no price to quote at"
        "see which input is missing or extreme: cambist strategy show NAME explains them"
    Undecided "undecided" []
        "nothing has been decided for this side"
        "report it: it is a defect"
}

impl Control {
    /// The control of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|control| control.name() == name)
    }

    /// Whether it comes and goes while everything is as it should be.
    pub const fn is_routine(self) -> bool {
        matches!(
            self,
            Self::Recovering
                | Self::Ending
                | Self::Budget
                | Self::Store
                | Self::UnknownOrder
                | Self::OpenOrders
                | Self::SelfCross
                | Self::Duplicate
                | Self::Ramp
                | Self::FillDelay
                | Self::StrategySkew
        )
    }

    /// Whether a side without quotes is as configured, so that nobody has to be told.
    pub const fn is_by_design(self) -> bool {
        matches!(self, Self::NotConfigured)
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
