//! Intents: an order, join or exit that is sealed before it is sent. Store, fence and retransmission treat them alike.

use serde::{Deserialize, Serialize};

use crate::market::MarketId;
use crate::order::{ClientOrderId, Hash, UnsignedOrder};
use crate::pool::UnsignedPoolTransaction;
use crate::token::TokenId;
use crate::venue::SlotRule;

/// A value that is hashed, signed and stored, and then sent as the same bytes every time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Intent {
    /// An order.
    Order(UnsignedOrder),
    /// A join or an exit.
    PoolTransaction(UnsignedPoolTransaction),
}

impl Intent {
    /// Its client order id.
    pub const fn id(&self) -> ClientOrderId {
        match self {
            Self::Order(order) => order.client_id,
            Self::PoolTransaction(wanted) => wanted.client_id,
        }
    }

    /// Its market, or that of its pool.
    pub const fn market(&self) -> MarketId {
        match self {
            Self::Order(order) => order.market,
            Self::PoolTransaction(wanted) => wanted.market,
        }
    }

    /// The row and the number of every slot it uses, by the venue's rule.
    pub fn slots(&self, rule: SlotRule) -> Vec<(TokenId, u32)> {
        let in_row = |(sold, number)| (rule.row(sold), number);
        match self {
            Self::Order(order) => vec![in_row((order.sell_token, order.slot))],
            Self::PoolTransaction(wanted) => wanted.slots().map(in_row).collect(),
        }
    }
}

/// A join or an exit found in the store without a proven end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveredPoolTransaction {
    /// The join or exit as sealed.
    pub transaction: UnsignedPoolTransaction,
    /// Its hash.
    pub hash: Hash,
}
