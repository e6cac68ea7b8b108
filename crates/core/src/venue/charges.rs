//! What charges for requests count as in losses.

use serde::{Deserialize, Serialize};

use crate::scale::Scale;
use crate::token::{Amount, TokenId, TokenSpec};

/// A token that charges are taken in, and a token of a market that is worth as much: a chain's coin and its wrapped form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChargedAs {
    /// The token of charges, which no market trades.
    pub charged: TokenId,
    /// The token of a market.
    pub token: TokenId,
    /// From base units of the one to those of the other.
    scale: Scale,
}

impl ChargedAs {
    /// `None` for decimals that differ by more than amounts can hold.
    pub fn new(charged: &TokenSpec, token: &TokenSpec) -> Option<Self> {
        Some(Self {
            charged: charged.id,
            token: token.id,
            scale: Scale::new(charged.decimals, token.decimals)?,
        })
    }

    /// What an amount of `token` counts as: a token and its amount, rounded up. Another token counts as itself.
    pub fn counted(of: Option<Self>, token: TokenId, amount: Amount) -> (TokenId, Amount) {
        match of {
            Some(as_token) if as_token.charged == token => {
                (as_token.token, as_token.scale.ceil(amount))
            }
            _ => (token, amount),
        }
    }
}
