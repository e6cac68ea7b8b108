//! Intents: an order, join or exit that is sealed before it is sent. Store, fence and retransmission treat them alike.

use serde::{Deserialize, Serialize};

use crate::market::MarketId;
use crate::order::{ClientOrderId, Hash, UnsignedOrder};
use crate::pool::UnsignedPoolTransaction;
use crate::token::TokenId;

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

    /// The token and the id of every storage slot it uses.
    pub fn slots(&self) -> Vec<(TokenId, u32)> {
        match self {
            Self::Order(order) => vec![(order.sell_token, order.storage_id)],
            Self::PoolTransaction(wanted) => wanted.slots().collect(),
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
