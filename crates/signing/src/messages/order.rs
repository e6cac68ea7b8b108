//! The message of an order. The order type, the client order id and the pool address are not part of it.

use crate::address::Address;
use crate::field::Fq;
use crate::hash32::Hash32;
use crate::poseidon;

/// The signed part of an order. (Clause: order hash.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OrderMessage {
    /// Address of the exchange contract.
    pub exchange: Address,
    /// Storage id; its slot is the id modulo 16384.
    pub storage_id: u32,
    /// Account that sells.
    pub account_id: u32,
    /// Token id sold.
    pub sell_token: u16,
    /// Token id bought.
    pub buy_token: u16,
    /// Amount sold, in base units of the sold token.
    pub sell_amount: u128,
    /// Amount bought, in base units of the bought token.
    pub buy_amount: u128,
    /// End of validity, in Unix seconds.
    pub valid_until: u32,
    /// Highest fee, in hundredths of a percent of the bought amount.
    pub max_fee_bips: u16,
    /// Whether the bought amount limits the fill (otherwise the sold one).
    pub fill_by_buy: bool,
    /// The only permitted counterparty; clients sign the zero address, which permits all.
    pub taker: Address,
}

impl OrderMessage {
    /// The hash that is signed and that identifies the order.
    pub fn hash(&self) -> Hash32 {
        super::hash(&poseidon::ORDER, &self.inputs())
    }

    pub(crate) fn inputs(&self) -> [Fq; 11] {
        [
            self.exchange.element(),
            self.storage_id.into(),
            self.account_id.into(),
            self.sell_token.into(),
            self.buy_token.into(),
            self.sell_amount.into(),
            self.buy_amount.into(),
            self.valid_until.into(),
            self.max_fee_bips.into(),
            self.fill_by_buy.into(),
            self.taker.element(),
        ]
    }
}
