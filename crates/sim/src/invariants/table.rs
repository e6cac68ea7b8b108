//! The invariants: what must hold after every step of a world, by the stable name that a violation bears.
//!
//! Each is checked in this folder, in `world` or in `cambist_profit_check`, by code that shares nothing with the engine.
//! A check without a row here does not compile.

use std::fmt;

use cambist_profit_check::Rule;

/// Makes the enumeration and its table.
macro_rules! invariants {
    ($($group:literal: { $($variant:ident $name:literal $statement:literal,)* })*) => {
        /// An invariant.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Invariant {
            $($(#[doc = $statement] $variant,)*)*
        }

        impl Invariant {
            /// Every invariant, in the order of the table.
            pub const ALL: &[Self] = &[$($(Self::$variant,)*)*];

            /// Its stable name.
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$variant => $name,)*)* }
            }

            /// What must hold, in one sentence.
            pub const fn statement(self) -> &'static str {
                match self { $($(Self::$variant => $statement,)*)* }
            }

            /// Its heading.
            pub const fn group(self) -> &'static str {
                match self { $($(Self::$variant => $group,)*)* }
            }
        }
    };
}

invariants! {
    "Sending: what leaves, and when": {
        IdReused "id_reused" "A client order id is sealed once.",
        NotSealed "not_sealed" "Nothing leaves that was not sealed.",
        NotDurable "not_durable" "Nothing leaves before the store has synced it.",
        BytesChanged "bytes_changed" "An order leaves as the same bytes every time.",
        SentAfterEnd "sent_after_end" "Nothing leaves after its end was reported.",
        SentAfterCancel "sent_after_cancel" "Nothing leaves after its cancel was sent.",
        SlotReused "slot_reused" "A slot is used again only after its last use has ended.",
        Attempts "attempts" "An order is transmitted at most `orders.attempts_max` times.",
        Late "late" "Nothing leaves so late that it cannot arrive before its expiry.",
        NotReady "not_ready" "Nothing leaves before the opening balances are known and durable.",
        OpenedBlind "opened_blind" "Opening balances are taken only after every list that they need was complete.",
        Frozen "frozen" "Nothing leaves for an account that is not known to be open.",
        ClosedMarket "closed_market" "No order leaves for a market that the exchange has closed.",
        Budget "budget" "Requests stay within the request budget, over restarts.",
        Penalty "penalty" "After a 429 no request leaves before its pause is over.",
        RateRefused "rate_refused" "Without faults, no request is refused because there were too many.",
        CancelledAnothers "cancelled_anothers" "Only own orders are cancelled.",
        OrderedBesideInstance "ordered_beside_instance" "Nothing is ordered while orders of another instance may be open.",
        OwnCalledOther "own_called_other" "An own order is not taken for one of another instance.",
        OwnCalledForeign "own_called_foreign" "An own order is not taken for a foreign one.",
    }
    "Orders and pool transactions at the exchange": {
        NoIntent "no_intent" "The exchange accepts nothing of ours that is not in the store.",
        DoubleOrder "double_order" "The exchange accepts an order once.",
        DoubleMove "double_move" "The exchange accepts a pool transaction once.",
        TakenAfterEnd "taken_after_end" "The exchange accepts nothing whose end was reported.",
        TakenAfterProof "taken_after_proof" "The exchange accepts nothing after the daemon ended with proof.",
        EndedTwice "ended_twice" "An intent ends once.",
        EndedButOpen "ended_but_open" "An intent whose end was reported is not open.",
        Forgotten "forgotten" "Every intent has an end when the daemon ends with proof.",
        OpenAfterProof "open_after_proof" "No order is open when the daemon ends with proof.",
        OpenAtEnd "open_at_end" "No order is open at the end of the world.",
        SelfCross "self_cross" "An own bid stays below every own ask on the book.",
        SelfTrade "self_trade" "Own orders never trade with each other.",
        RestsWhileStopped "rests_while_stopped" "Nothing rests for long in a trading state that forbids it.",
        CancelLingers "cancel_lingers" "An order whose cancel was decided does not rest for long.",
        FillMissed "fill_missed" "Every fill is booked before the end of its order.",
        FillInvented "fill_invented" "No fill is booked that did not happen.",
        FeeAbove "fee_above" "No fill costs a higher fee than was expected at the start.",
        VenueAudit "venue_audit" "The exchange's own books are consistent.",
    }
    "The data that the engine decides from": {
        Stale "stale" "Nothing leaves on data that are older than configured.",
        StaleBooks "stale_books" "Nothing is ordered on balances or lists that are older than configured.",
        OwnPriced "own_priced" "No own order counts as the market.",
        EmptyBook "empty_book" "Nothing is ordered on a book without both sides, unless configured.",
        Spread "spread" "Nothing is ordered on a book that is too wide.",
        ThinBook "thin_book" "Nothing is ordered on a book that is too thin.",
        NoPrice "no_price" "Nothing is ordered without a mid.",
        ReferencePrices "reference_prices" "A strategy sees the newest price of every source, and none that is older than configured.",
        OtherMarkets "other_markets" "A strategy sees the newest mid of another market that it reads, and nothing is ordered by one that is older than configured.",
        PriceMove "price_move" "Nothing is ordered after the mid moved too far, until the pause is over.",
    }
    "Limits of an order": {
        Unwanted "unwanted" "Only quotes that the strategy asked for are ordered.",
        Amounts "amounts" "Both amounts of an order state its price and quantity exactly.",
        OrderAmount "order_amount" "Amounts are within the token's minimum and maximum.",
        OrderValue "order_value" "An order is worth at most its limit.",
        OrderVolume "order_volume" "An order has at most as many lots as its limit.",
        PriceBand "price_band" "The price is within the absolute limits.",
        PriceCollar "price_collar" "The price is within the collar around the mid.",
        FeeCap "fee_cap" "The fee signed is within its limit.",
        TtlCap "ttl_cap" "An order lives at most as long as its limit.",
        Duplicate "duplicate" "Like orders do not follow each other faster than configured.",
        ParentChild "parent_child" "All orders of a decision together are no more than was decided.",
        Swap "swap" "A swap is worth no more, and accepts no less, than its limits allow.",
        SwapBeside "swap_beside" "One join, exit or swap of a pool is undecided at a time, and a swap is decided on balances read after the last.",
        Ramp "ramp" "An order is no larger than the ramp allows.",
        SwapCancelled "swap_cancelled" "No cancel is sent for a swap, which is on no book.",
        OpenLeg "open_leg" "A strategy of two legs holds no more between them than it states, and the leg between two venues is closed when nothing opens it any more.",
    }
    "Limits over all orders": {
        OpenOrders "open_orders" "No more orders are open at the exchange than configured.",
        OpenOrdersSealed "open_orders_sealed" "No more orders are alive than configured.",
        MessageRate "message_rate" "Orders and cancels of a minute stay within their limits.",
        OrderToFill "order_to_fill" "Messages for each fill stay within their limit.",
        Executions "executions" "Complete fills of a minute stay within their limit.",
        InventoryBand "inventory_band" "The inventory stays within its band if everything that may be alive fills.",
        GrossExposure "gross_exposure" "The exposure stays within its limit if everything that may be alive fills.",
        PortfolioInventory "portfolio_inventory" "What is held of a token at all venues of a portfolio stays within its limit if everything that may be alive fills, and nothing is bought while that is not known.",
        PortfolioExposure "portfolio_exposure" "The exposure of all venues of a portfolio stays within its limit if everything that may be alive fills, and nothing is bought while it is not known or without a price.",
        SignedUnexpired "signed_unexpired" "What is signed and not expired stays within its limit, over restarts.",
        Overcommitted "overcommitted" "The account holds what its orders need.",
    }
    "Losses, pauses, trading states": {
        LossHour "loss_hour" "The loss of an hour beyond its limit stops new orders.",
        LossDay "loss_day" "The loss of a day beyond its limit stops new orders.",
        LossTotal "loss_total" "The loss since the start beyond its limit stops new orders.",
        Drawdown "drawdown" "A drawdown beyond its limit stops new orders.",
        LossLimit "loss_limit" "Nothing is ordered while a loss limit is exceeded.",
        LossForgotten "loss_forgotten" "Losses survive restarts.",
        LossAboveBound "loss_above_bound" "A loss of control costs at most what `check` states.",
        LossAboveKeptBound "loss_above_kept_bound" "So it does at an exchange that keeps ended orders: what the account holds, where orders have no end of their own.",
        PausesPerDay "pauses_per_day" "More pauses within a day than configured change the trading state.",
        PauseLength "pause_length" "A pause lasts as long as configured.",
        Paused "paused" "Nothing is ordered where a pause applies.",
        Level "level" "Nothing is ordered or sent in a trading state that forbids it.",
        LevelLost "level_lost" "A stored trading state survives restarts.",
        LevelLowered "level_lowered" "Only an operator lowers the trading state.",
    }
    "Books, profit and loss": {
        Mismatch "mismatch" "No difference between ledger and exchange is reported that does not exist.",
        BooksGuessed "books_guessed" "A difference is reported for the token and the amount that differ.",
        BooksIgnored "books_ignored" "A difference is found, and stops trading as documented.",
        Position "position" "The stored position is the sum of what was booked.",
        Residual "residual" "At the end ledger and exchange are equal to the unit.",
        Profit "profit" "Profit and loss is the change of what is held, less external flows.",
        ProfitParts "profit_parts" "Its parts sum to it to the last digit.",
        ProfitHeld "profit_held" "It counts what is held.",
        ProfitUncounted "profit_uncounted" "It is reported whenever it can be counted.",
    }
    "A chain": {
        BookedNotFinal "booked_not_final" "Only what finalized blocks hold is booked, to the unit, gas included.",
        BookedTwice "booked_twice" "A join, an exit and the gas of a nonce are booked once.",
        OverApproved "over_approved" "No call of the router finds more approved than it may take, unless a nonce of its bundle was spent by what had been signed for it before.",
        NonceShared "nonce_shared" "No nonce leaves for two intents that may both move something.",
        NotReplacing "not_replacing" "What leaves with a nonce again replaces what left before, by the rules of nodes.",
        StoppedByItself "stopped_by_itself" "Without another holder of the key and without a fork the account goes on.",
    }
    "Reasons for not quoting": {
        NoReason "no_reason" "A side without orders has a reason.",
        ReasonThoughQuoted "reason_though_quoted" "A side with an order has none.",
        ReasonRepeated "reason_repeated" "A reason is emitted when it changes.",
        ReasonDiffers "reason_differs" "Status and notifications state the same reason.",
        Undecided "undecided" "The reason is never that nothing was decided.",
    }
    "The engine itself": {
        Snapshot "snapshot" "A replica that continues from a snapshot does the same.",
        EngineInvariant "engine_invariant" "The engine's own invariants hold.",
        Reload "reload" "A reload is accepted or refused as documented.",
    }
    "The exchange against a second implementation of its rules": {
        OracleTaken "oracle_taken" "An order is accepted only if the rules allow it.",
        OracleTwice "oracle_twice" "A client order id is accepted under one hash.",
        OracleIntent "oracle_intent" "Every accepted order of ours is an intent of the store.",
        OracleTrade "oracle_trade" "Every trade that is due happens, and no other.",
        OracleTradedAfterEnd "oracle_traded_after_end" "Nothing trades after its end.",
        OraclePriority "oracle_priority" "Orders trade by price, then time.",
        OraclePrice "oracle_price" "A trade happens at the maker's level.",
        OracleLimit "oracle_limit" "Amounts are within what was signed.",
        OracleAmount "oracle_amount" "Amounts are what the rules say.",
        OracleFee "oracle_fee" "Fees are what the rules say.",
        OracleState "oracle_state" "Orders are shown in the state they are in.",
        OracleFilled "oracle_filled" "Orders are shown with what they traded.",
        OracleDepth "oracle_depth" "The depth shown is what rests.",
        OracleBalance "oracle_balance" "Balances are what the rules say.",
        OracleNegative "oracle_negative" "No balance falls below zero.",
        OracleConservation "oracle_conservation" "Balances sum to what came in less what left.",
        OraclePool "oracle_pool" "Pools hold what the rules say.",
        OracleSubmission "oracle_submission" "Transfers, withdrawals and pool transactions end as the rules say.",
        OracleOpen "oracle_open" "At the end no order of ours is open.",
        OracleLedger "oracle_ledger" "At the end the daemon's ledger is the account's balance.",
        OracleUnread "oracle_unread" "Every request and answer is understood.",
    }
    "After the faults": {
        NotQuoting "not_quoting" "Both sides are quoted again within a bound.",
        NotCompared "not_compared" "Ledger and chain are compared and agree within a bound.",
        Unresolved "unresolved" "Every intent has an end within a bound, or is known to rest until it is cancelled.",
        NotProven "not_proven" "A drain ends with proof.",
    }
}

impl Invariant {
    /// A rule of the second derivation of profit and loss.
    pub(crate) const fn of_profit(rule: Rule) -> Self {
        match rule {
            Rule::Held => Self::ProfitHeld,
            Rule::Counted => Self::ProfitUncounted,
            Rule::Parts => Self::ProfitParts,
            Rule::Change => Self::Profit,
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use std::collections::BTreeSet;
    use std::fmt::Write;

    use super::*;

    #[test]
    fn names_are_unique_and_the_page_holds_every_invariant() {
        let names: BTreeSet<_> = Invariant::ALL.iter().map(|one| one.name()).collect();
        assert_eq!(names.len(), Invariant::ALL.len());
        let mut expected = String::new();
        let mut group = "";
        for invariant in Invariant::ALL {
            if invariant.group() != group {
                group = invariant.group();
                write!(
                    expected,
                    "\n## {group}\n\n| name | what must hold |\n|---|---|\n"
                )
                .unwrap();
            }
            let (name, statement) = (invariant.name(), invariant.statement());
            writeln!(expected, "| `{name}` | {statement} |").unwrap();
        }
        let page = include_str!("../../../../docs/invariants.md");
        let found = page.find("\n## ").map_or("", |at| &page[at..]);
        assert!(
            found == expected,
            "docs/invariants.md should hold\n{expected}"
        );
    }
}
