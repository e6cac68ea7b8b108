//! Deliberate defects, for one purpose: to show that the simulator finds them.
//!
//! Without the feature `planted`, [`armed`] is a constant `false` and nothing of them is in the program.
//! With it, one defect at a time is armed for a thread, and lives in a line of its own where a careless
//! change would put it.

use serde::{Deserialize, Serialize};

use crate::control::Control;

macro_rules! defects {
    ($($variant:ident $name:literal $sentence:literal)*) => {
        /// One deliberate defect.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Defect {
            $(#[doc = $sentence] $variant,)*
        }

        impl Defect {
            /// Every defect.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// What it does, for people.
            pub const fn sentence(self) -> &'static str {
                match self {
                    $(Self::$variant => $sentence,)*
                }
            }
        }
    };
}

defects! {
    SyncSkipped "sync_skipped" "a batch is called durable and was never written"
    SyncLate "sync_late" "a batch is called durable before its sync has ended"
    IdsRenewed "ids_renewed" "a resend leaves under a new id"
    CountersForgotten "counters_forgotten" "a restart counts order numbers and storage ids from the beginning"
    IntentsForgotten "intents_forgotten" "a restart does not tell of orders that may be alive"
    RestrictionsNotStored "level_not_stored" "a level is called durable and was never written"
    SealFailureHidden "seal_failure_hidden" "a batch that was not stored is called sealed"
    TimeoutIsNotSent "timeout_is_not_sent" "a time-out is told as if no byte had left"
    FillsHidden "fills_hidden" "reports of orders leave fills out"
    FillsDoubled "fills_doubled" "reports of orders show fills twice"
    EndsInvented "ends_invented" "reports say that open orders are cancelled"
    RefusalsInvented "refusals_invented" "a submit that was taken is told as refused for good"
    NothingToCancelIsDeath "nothing_to_cancel_is_death" "no order to cancel is taken for the order's end"
    CancelTakenIsDeath "cancel_taken_is_death" "an acknowledged cancel is taken for the order's end, and its reservation is freed"
    NotFoundIsDeath "not_found_is_death" "an order that is not found by hash is taken for dead"
    EveryRefusalDisowns "every_refusal_disowns" "an order is called unknown to the exchange by whatever refuses its report"
    AbsenceIsDeath "absence_is_death" "an order that a list leaves out is taken for dead"
    SilenceIsDeath "silence_is_death" "a submit without an answer is taken for failed"
    EveryRefusalIsDeath "every_refusal_is_death" "every refusal of a submit is taken for the order's end"
    RefusalAfterResendIsDeath "refusal_after_resend_is_death" "one disproved copy is taken for the end of all"
    GraceForgotten "grace_forgotten" "the fence stands at expiry, without grace"
    FirstPageOnly "first_page_only" "a list is complete after its first page"
    FillBookedTwice "fill_booked_twice" "every fill is booked twice"
    LastFillDropped "last_fill_dropped" "fills told together with the end are not booked"
    FeesForgotten "fees_forgotten" "the books leave fees out"
    RecoveredFillsForgotten "recovered_fills_forgotten" "a restart forgets what recovered orders had filled"
    UnknownUnreserved "unknown_unreserved" "orders of unknown fate bind no funds and count for no limit"
    SelfCrossForgotten "self_cross_forgotten" "a bid may reach an own ask"
    BalanceForgotten "balance_forgotten" "orders are made without funds"
    BandForgotten "band_forgotten" "the inventory band is not kept"
    OpenOrdersUnbounded "open_orders_unbounded" "the limit of open orders is not kept"
    LevelIgnored "level_ignored" "orders are made whatever the level"
    PermissionIgnored "permission_ignored" "orders are made at closed markets and for frozen accounts"
    StaleDepthTrusted "stale_depth_trusted" "prices are made from depths of any age"
    OwnOrdersPriced "own_orders_priced" "own orders are priced as market"
    PartsForgotten "parts_forgotten" "what an old depth shows of an own order beyond its rest is priced as market"
    MarginForgotten "margin_forgotten" "bytes leave again until long after expiry"
    CancelledResent "cancelled_resent" "bytes leave again after a cancel was decided"
    AttemptsUnbounded "attempts_unbounded" "bytes leave again without end"
    ReserveSpent "reserve_spent" "polls and orders spend the tokens kept for cancels"
    BudgetIgnored "budget_ignored" "requests leave without a token"
    PenaltyIgnored "penalty_ignored" "a 429 is not heeded"
    LeapBelieved "leap_believed" "one answer with a wrong time moves the venue's clock"
    WallClock "wall_clock" "a wall clock half a minute fast is taken for the venue's"
    SlotRepeated "slot_repeated" "the same storage id is given out again"
    RestingForgotten "resting_forgotten" "orders that somebody else made long ago are not looked for"
    DrainForgetsUnknown "drain_forgets_unknown" "an end is called proven while orders are unknown"
    TakersPricePaid "takers_price_paid" "the exchange tells trades at another price than the resting order's"
    QueueJumped "queue_jumped" "the exchange fills a later order before an earlier one"
    FillTooLarge "fill_too_large" "the exchange tells fills of one unit too many"
    FeeRoundedUp "fee_rounded_up" "the exchange takes fees rounded up"
    TradeUntold "trade_untold" "the exchange leaves trades out"
    FilledAfterCancel "filled_after_cancel" "the exchange fills orders that it has cancelled"
    CancelledShownOpen "cancelled_shown_open" "the exchange shows cancelled orders as open"
    BalanceOffByOne "balance_off_by_one" "the exchange shows balances of one unit too many"
    LocksUntold "locks_untold" "the exchange shows nothing of a balance as bound"
    BestLevelUntold "best_level_untold" "the exchange leaves the best bid out of its depth"
    PoolMintsOneMore "pool_mints_one_more" "the exchange counts one pool share too many"
    NeverLeftIsDeath "never_left_is_death" "a resend that never left is taken for all copies before it"
    RecoveredUnsent "recovered_unsent" "a restart takes what earlier runs left for never sent"
    WindowFromNewest "window_from_newest" "lists are asked for from the newest order on instead of the oldest"
    ExpiredFillsDropped "expired_fills_dropped" "fills of orders that expired are not booked"
    FeesBookedAgain "fees_booked_again" "every later fill of an order books the fees of the earlier ones again"
    CutAcrossFills "cut_across_fills" "books are compared though something was booked in between"
    BatchUnreserved "batch_unreserved" "orders bind no funds before they have left"
    CancelsMisdirected "cancels_misdirected" "all cancels of a step go to the first of its orders"
    BudgetRenewed "budget_renewed" "a restart spends as if nothing had been spent before it"
    RetryAfterIgnored "retry_after_ignored" "the venue says for how long to rest and is not heard"
    SnapshotForgetsRequests "snapshot_forgets_requests" "a snapshot leaves out the requests under way"
    BandWithoutOrders "band_without_orders" "the band leaves open bids out"
    PauseForgotten "pause_forgotten" "a pause that a control engages heals at once"
    LotsDoubled "lots_doubled" "an approved order is made twice as large"
    FenceEarly "fence_early" "the fence stands two seconds early"
    OneReading "one_reading" "one reading of a closed window is taken for proof"
    CutAcrossMoves "cut_across_moves" "books are compared while a join or an exit is under way"
    MovesForgotten "moves_forgotten" "a restart does not tell of joins and exits that may be alive"
    BooksGuessed "books_guessed" "a start takes what the exchange shows for what is held"
    DifferenceIgnored "difference_ignored" "a difference of the books holds nothing back"
    LossesForgotten "losses_forgotten" "a restart counts losses anew"
    MovesUnpaused "moves_unpaused" "joins and exits heed no level and no pause"
    SignedForgotten "signed_forgotten" "what was signed and called ended by the venue counts no more"
    ReasonsForgotten "reasons_forgotten" "what stops a wanted quote is not kept as the reason"
    ReasonsStay "reasons_stay" "a reason is told on while quotes rest"
}

impl std::fmt::Display for Defect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether the armed defect lets a control of the gate pass everything.
pub fn disables(control: Control) -> bool {
    let defect = match control {
        Control::InventoryBand => Defect::BandForgotten,
        Control::OpenOrders => Defect::OpenOrdersUnbounded,
        Control::Level => Defect::LevelIgnored,
        Control::Permission => Defect::PermissionIgnored,
        Control::SelfCross => Defect::SelfCrossForgotten,
        Control::Balance => Defect::BalanceForgotten,
        Control::SignedUnexpired => Defect::SignedForgotten,
        _ => return false,
    };
    armed(defect)
}

/// A number, or nothing at all if a defect is armed.
pub fn unless<T: Default>(defect: Defect, number: T) -> T {
    if armed(defect) { T::default() } else { number }
}

#[cfg(feature = "planted")]
thread_local! {
    static ARMED: std::cell::Cell<Option<Defect>> = const { std::cell::Cell::new(None) };
}

/// Whether this build can arm defects.
pub const BUILT: bool = cfg!(feature = "planted");

/// Arms one defect, or none, for everything that this thread does from now on.
#[cfg(feature = "planted")]
pub fn arm(defect: Option<Defect>) {
    ARMED.set(defect);
}

/// Whether a defect is armed.
#[cfg(feature = "planted")]
#[inline]
pub fn armed(defect: Defect) -> bool {
    ARMED.get() == Some(defect)
}

/// Whether a defect is armed: never, in this build.
#[cfg(not(feature = "planted"))]
#[inline]
pub const fn armed(_: Defect) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defects_have_names_of_their_own_and_are_off() {
        let names: std::collections::BTreeSet<_> = Defect::ALL.iter().map(|d| d.name()).collect();
        assert_eq!(names.len(), Defect::ALL.len());
        assert!(names.len() >= 25);
        assert!(Defect::ALL.iter().all(|defect| !armed(*defect)));
    }
}
