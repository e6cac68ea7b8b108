//! Every reason for which something wanted is not sent: a name, and a sentence for people.
//!
//! What each control looks at is `engine/risk`; which numbers it compares with is configuration.

use serde::{Deserialize, Serialize};

/// A pre-trade control, or a reason for not quoting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Control {
    /// The level forbids new orders.
    Level,
    /// The part it belongs to is paused.
    Paused,
    /// Price too far from the reference.
    PriceCollar,
    /// The reference moved too far within the window.
    PriceMove,
    /// Price outside the configured floor and ceiling.
    PriceBand,
    /// Value of one order too high.
    OrderValue,
    /// Volume of one order too high.
    OrderVolume,
    /// Order below the venue's minimum or above its maximum.
    OrderAmount,
    /// All fills together could leave the inventory band.
    InventoryBand,
    /// Value held and asked for over all markets too high.
    GrossExposure,
    /// Too many open orders.
    OpenOrders,
    /// Too many orders or cancels within a minute.
    MessageRate,
    /// Too many messages for the fills of the last minute.
    OrderToFill,
    /// So many transmissions or fills within a minute that something must be wrong; latches.
    Executions,
    /// The same order was made a moment ago, and is wanted only so often.
    Duplicate,
    /// Together the orders of a decision exceed what was decided.
    ParentChild,
    /// A required input is too old or missing.
    StaleData,
    /// Would trade with an own order.
    SelfCross,
    /// Free balance does not cover it.
    Balance,
    /// The fee signed, or the one the account pays, is above the cap.
    FeeCap,
    /// The order would live too long.
    TtlCap,
    /// Lost too much within an hour.
    LossHour,
    /// Lost too much today.
    LossDay,
    /// Lost too much since the start.
    LossTotal,
    /// Too far below the peak.
    Drawdown,
    /// Too many fills in a row went against us.
    LossStreak,
    /// No storage id is free.
    StorageIds,
    /// The store has not yet sealed the batch before.
    Store,
    /// No request budget, or a pause after the venue refused an order.
    Budget,
    /// The market is disabled or the account frozen.
    Permission,
    /// The venue lists the market differently than at the start.
    Listing,
    /// The book is too wide.
    Spread,
    /// The book is too thin.
    ThinBook,
    /// The book's content has not changed for too long.
    FrozenBook,
    /// The book is empty or one-sided and no seed price is configured.
    EmptyBook,
    /// Not yet recovered after the start, or after a gap in time.
    Recovering,
    /// The pool's price is too far from the book's mid.
    PoolDivergence,
}

impl Control {
    /// Every control, for metrics that exist from the start.
    pub const ALL: [Self; 37] = [
        Self::Level,
        Self::Paused,
        Self::PriceCollar,
        Self::PriceMove,
        Self::PriceBand,
        Self::OrderValue,
        Self::OrderVolume,
        Self::OrderAmount,
        Self::InventoryBand,
        Self::GrossExposure,
        Self::OpenOrders,
        Self::MessageRate,
        Self::OrderToFill,
        Self::Executions,
        Self::Duplicate,
        Self::ParentChild,
        Self::StaleData,
        Self::SelfCross,
        Self::Balance,
        Self::FeeCap,
        Self::TtlCap,
        Self::LossHour,
        Self::LossDay,
        Self::LossTotal,
        Self::Drawdown,
        Self::LossStreak,
        Self::StorageIds,
        Self::Store,
        Self::Budget,
        Self::Permission,
        Self::Listing,
        Self::Spread,
        Self::ThinBook,
        Self::FrozenBook,
        Self::EmptyBook,
        Self::Recovering,
        Self::PoolDivergence,
    ];

    /// The label used in metrics, logs and the store; it never changes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Level => "level",
            Self::Paused => "paused",
            Self::PriceCollar => "price_collar",
            Self::PriceMove => "price_move",
            Self::PriceBand => "price_band",
            Self::OrderValue => "order_value",
            Self::OrderVolume => "order_volume",
            Self::OrderAmount => "order_amount",
            Self::InventoryBand => "inventory_band",
            Self::GrossExposure => "gross_exposure",
            Self::OpenOrders => "open_orders",
            Self::MessageRate => "message_rate",
            Self::OrderToFill => "order_to_fill",
            Self::Executions => "executions",
            Self::Duplicate => "duplicate",
            Self::ParentChild => "parent_child",
            Self::StaleData => "stale_data",
            Self::SelfCross => "self_cross",
            Self::Balance => "balance",
            Self::FeeCap => "fee_cap",
            Self::TtlCap => "ttl_cap",
            Self::LossHour => "loss_hour",
            Self::LossDay => "loss_day",
            Self::LossTotal => "loss_total",
            Self::Drawdown => "drawdown",
            Self::LossStreak => "loss_streak",
            Self::StorageIds => "storage_ids",
            Self::Store => "store",
            Self::Budget => "budget",
            Self::Permission => "permission",
            Self::Listing => "listing",
            Self::Spread => "spread",
            Self::ThinBook => "thin_book",
            Self::FrozenBook => "frozen_book",
            Self::EmptyBook => "empty_book",
            Self::Recovering => "recovering",
            Self::PoolDivergence => "pool_divergence",
        }
    }

    /// Why, for people.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Level => "the level allows no new orders",
            Self::Paused => "this market, side or strategy is paused",
            Self::PriceCollar => "the price is further from the mid than collar_bps allows",
            Self::PriceMove => "the mid moved further within the window than risk.move_bps allows",
            Self::PriceBand => "the price lies outside price_floor and price_ceiling",
            Self::OrderValue => "one order would be worth more than order_value_max",
            Self::OrderVolume => "one order would be larger than order_qty_max",
            Self::OrderAmount => "an amount lies outside what the venue takes",
            Self::InventoryBand => {
                "if everything filled, holdings would leave inventory_min to inventory_max"
            }
            Self::GrossExposure => {
                "holdings and open bids of all markets would be worth more than risk.gross_max"
            }
            Self::OpenOrders => "as many orders as open_orders_max may be alive already",
            Self::MessageRate => "the last minute holds as many orders or cancels as risk allows",
            Self::OrderToFill => {
                "the last minute holds more orders and cancels for each fill than risk.messages_per_fill"
            }
            Self::Executions => {
                "more was sent or filled within a minute than the budget can explain: trading is latched"
            }
            Self::Duplicate => {
                "an equal order was made within risk.duplicate_ms and no second one is wanted"
            }
            Self::ParentChild => "what leaves would exceed what the strategy asked for",
            Self::StaleData => "an input that the decision needs is too old or missing",
            Self::SelfCross => "the order would trade with one of our own",
            Self::Balance => "the free balance does not cover the order and its fee",
            Self::FeeCap => "the fee that would be signed is above risk.fee_max_bips",
            Self::TtlCap => "the order would live longer than risk.ttl_max_s",
            Self::LossHour => "the market lost more within the hour than loss_hour_max",
            Self::LossDay => "the market lost more today than loss_day_max",
            Self::LossTotal => "the market lost more since the start than loss_total_max",
            Self::Drawdown => "the market is further below its peak than drawdown_max",
            Self::LossStreak => {
                "so many fills in a row as risk.streak_fills were against us by risk.streak_bps"
            }
            Self::StorageIds => "no storage id is free",
            Self::Store => "the store has not yet sealed the batch before",
            Self::Budget => "no request budget is left, or the venue has just refused an order",
            Self::Permission => "the market is disabled or the account frozen",
            Self::Listing => "the venue lists the market or a token differently than at the start",
            Self::Spread => "the book is wider than spread_max_bps",
            Self::ThinBook => "a side of the book holds less than depth_min",
            Self::FrozenBook => "the book has not changed for frozen_after_s",
            Self::EmptyBook => "the book is empty or one-sided and no seed price is configured",
            Self::Recovering => {
                "not everything of an earlier run, or of a gap in time, is accounted for"
            }
            Self::PoolDivergence => {
                "the pool's price is further from the mid than divergence_max_bps allows"
            }
        }
    }

    /// The control of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|control| control.name() == name)
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
        }
    }
}
