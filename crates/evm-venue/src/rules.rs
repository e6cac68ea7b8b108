//! What a chain guarantees, and what a node's answers prove of it.
//!
//! | question | answer |
//! |---|---|
//! | what makes bytes count once | the account's nonce: one row without a gap |
//! | until when bytes are accepted | the deadline that the router compares with the time of the block; behind it a copy is reverted, which spends the nonce and its gas and moves nothing |
//! | what rests | nothing |
//! | when the list is complete | when the finalized block is at most `orders.grace_s` older than the end of its window ([`View::proves_until`](crate::finality::View::proves_until)) |
//! | what a refusal proves | nothing about the chain, whatever its text: other nodes may have the bytes. That a nonce is spent is proven by the finalized block |
//!
//! Texts of refusals are those of go-ethereum, Erigon, Nethermind, Besu, Reth and Anvil. One that is not known proves
//! as little as any.

use cambist_core::request::{OrderList, Outcome, UnknownCause};
use cambist_core::venue::{
    AmountRule, ClockRule, FeeRule, LifetimeRule, ListRule, Refusal, RefusalRules, RequestCosts,
    Resting, SlotRule,
};
use cambist_core::{Reason, TokenId, VenueRules};
use cambist_evm::rpc;

/// The finalized block has spent the nonce: these bytes will never be mined, unless they are what spent it.
pub const SPENT: Reason = Reason::Unlisted(1);
/// The node keeps another transaction of the nonce, whose fees are too near.
pub const UNDERPRICED_REPLACEMENT: Reason = Reason::Unlisted(2);
/// The fees are below what the node keeps, or below the newest base fee.
pub const UNDERPRICED: Reason = Reason::Unlisted(3);
/// The account cannot pay for all of the gas.
pub const FUNDS: Reason = Reason::Unlisted(4);
/// The node's pool is full.
pub const FULL: Reason = Reason::Unlisted(5);
/// The node knows no transaction of this hash in a finalized block.
pub const NOT_FOUND: Reason = Reason::Unlisted(6);
/// The node refuses this client: nothing about the account, and other nodes may have the bytes.
pub const KEYS: Reason = Reason::Unlisted(7);
/// Any other refusal.
pub const REFUSED: Reason = Reason::Unlisted(8);

/// The rules of a chain with a block every `block_ms`, whose nonces are counted under the name of its coin. In a range the
/// payments, which are compared, determine the liquidity; each share of a pair becomes worth more by a gift to it.
pub fn rules(coin: TokenId, block_ms: u64, in_ranges: bool) -> VenueRules {
    VenueRules {
        slots: SlotRule::Consecutive { row: coin },
        lifetime: LifetimeRule {
            accepted_max_ms: None,
            resting: Resting::WhileAccepted,
        },
        refusals: RefusalRules {
            submits: vec![
                (Reason::RateLimited, Refusal::RateLimited),
                (SPENT, Refusal::KillsCopy),
                (UNDERPRICED_REPLACEMENT, Refusal::NotProcessed),
                (UNDERPRICED, Refusal::NotProcessed),
                (FULL, Refusal::NotProcessed),
            ],
            nothing_to_cancel: Vec::new(),
            not_found: vec![NOT_FOUND],
        },
        lists: ListRule {
            scanned: vec![OrderList::All],
        },
        clock: ClockRule {
            resolution_ms: block_ms,
        },
        costs: RequestCosts::default(),
        trading: None,
        // A pool's fee is inside its curve; an order states none.
        fees: FeeRule { stated_max_bips: 0 },
        amounts: AmountRule::default(),
        charged_as: None,
        compares_shares: in_ranges,
        amends_orders: false,
    }
}

/// What a node answered about bytes that it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It keeps them, now or since before.
    Kept,
    /// The nonce is spent in the newest block, by these bytes or by others, and perhaps not for good.
    NonceTooLow,
    /// Refused for this reason.
    Refused(Reason),
}

/// Reads a node's answer to a submit.
pub fn sent<T>(answer: &Result<T, rpc::Refusal>) -> Sent {
    let Err(refusal) = answer else {
        return Sent::Kept;
    };
    let text = refusal.message.to_ascii_lowercase();
    let named = |texts: &[&str]| texts.iter().any(|of| text.contains(of));
    let kept = ["already known", "already imported", "alreadyknown"];
    let is_known = text.contains("known transaction") && !text.contains("unknown transaction");
    if named(&kept) || is_known {
        Sent::Kept
    } else if named(&["nonce too low", "oldnonce", "nonce is too low"]) {
        Sent::NonceTooLow
    } else if named(&[
        "replacement transaction underpriced",
        "replacementnotallowed",
        "could not replace",
    ]) {
        Sent::Refused(UNDERPRICED_REPLACEMENT)
    } else if named(&[
        "underpriced",
        "feetoolow",
        "less than block base fee",
        "less than the block base fee",
        "below configured minimum",
    ]) {
        Sent::Refused(UNDERPRICED)
    } else if named(&[
        "insufficient funds",
        "insufficientfunds",
        "upfront cost exceeds",
    ]) {
        Sent::Refused(FUNDS)
    } else if named(&["txpool is full", "pool is full"]) {
        Sent::Refused(FULL)
    } else if refusal.code == -32_005 || named(&["too many requests", "rate limit"]) {
        Sent::Refused(Reason::RateLimited)
    } else {
        Sent::Refused(REFUSED)
    }
}

/// The outcome of a transmission of bytes with this nonce. `spent_below` is the account's nonce in the finalized block,
/// if it was asked for.
///
/// Bytes that a node keeps have an unknown outcome: it may forget them, and the chain has not answered yet.
pub fn outcome(sent: Sent, nonce: u64, spent_below: Option<u64>) -> Outcome {
    match sent {
        Sent::NonceTooLow if spent_below.is_some_and(|below| nonce < below) => {
            Outcome::Refused(SPENT)
        }
        Sent::Kept | Sent::NonceTooLow => Outcome::Unknown(UnknownCause::Timeout),
        Sent::Refused(reason) => Outcome::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: i64, message: &str) -> Sent {
        sent::<()>(&Err(rpc::Refusal {
            code,
            message: message.to_owned(),
            data: None,
        }))
    }

    #[test]
    fn texts_of_several_nodes_mean_the_same() {
        for (text, meant) in [
            ("already known", Sent::Kept),
            ("transaction already imported", Sent::Kept),
            ("AlreadyKnown", Sent::Kept),
            ("Known transaction", Sent::Kept),
            ("nonce too low: next nonce 5, tx nonce 4", Sent::NonceTooLow),
            ("OldNonce, Current nonce: 5", Sent::NonceTooLow),
            (
                "replacement transaction underpriced",
                Sent::Refused(UNDERPRICED_REPLACEMENT),
            ),
            ("transaction underpriced", Sent::Refused(UNDERPRICED)),
            (
                "FeeTooLow, MaxFeePerGas too low",
                Sent::Refused(UNDERPRICED),
            ),
            (
                "max fee per gas less than block base fee",
                Sent::Refused(UNDERPRICED),
            ),
            (
                "Insufficient funds for gas * price + value",
                Sent::Refused(FUNDS),
            ),
            ("txpool is full", Sent::Refused(FULL)),
            ("Too Many Requests", Sent::Refused(Reason::RateLimited)),
            ("invalid sender", Sent::Refused(REFUSED)),
            ("unknown transaction type", Sent::Refused(REFUSED)),
            ("", Sent::Refused(REFUSED)),
        ] {
            assert_eq!(refused(-32_000, text), meant, "{text}");
        }
        assert_eq!(
            refused(-32_005, "limit exceeded"),
            Sent::Refused(Reason::RateLimited)
        );
        assert_eq!(sent(&Ok(())), Sent::Kept);
    }

    /// Nothing that a node can answer ends an intent, and only the finalized block spends its nonce.
    #[test]
    fn no_answer_of_a_node_proves_anything_dead() {
        let rules = rules(TokenId(0), 12_000, false).refusals;
        let all = [
            SPENT,
            UNDERPRICED_REPLACEMENT,
            UNDERPRICED,
            FUNDS,
            FULL,
            NOT_FOUND,
            KEYS,
            REFUSED,
        ];
        for reason in all
            .into_iter()
            .chain(Reason::LISTED)
            .chain([Reason::RateLimited])
        {
            assert_ne!(rules.of(reason), Refusal::KillsBytes, "{reason:?}");
            let kills_copy = rules.of(reason) == Refusal::KillsCopy;
            assert_eq!(kills_copy, reason == SPENT, "{reason:?}");
        }
        assert!(rules.submits.is_sorted(), "they are searched by halves");
        let unknown = Outcome::Unknown(UnknownCause::Timeout);
        assert_eq!(outcome(Sent::Kept, 4, Some(5)), unknown);
        assert_eq!(outcome(Sent::NonceTooLow, 4, None), unknown);
        assert_eq!(outcome(Sent::NonceTooLow, 4, Some(4)), unknown);
        assert_eq!(
            outcome(Sent::NonceTooLow, 4, Some(5)),
            Outcome::Refused(SPENT)
        );
    }
}
