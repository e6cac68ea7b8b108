//! One type for the clients of all venues: who asks need not know which venue answers.

use cambist_core::MarketSpec;
use cambist_core::request::{Endpoint, Query};

use crate::client::{Answered, Client};
use crate::evm_pools::EvmPools;
use crate::kraken::KrakenClient;

/// A client of the venue that a daemon trades on, cheap to clone. `Debug` shows no key.
#[derive(Clone, Debug)]
pub enum VenueClient {
    /// The exchange interface.
    Exchange(Box<Client>),
    /// Kraken.
    Kraken(KrakenClient),
    /// Pools on an EVM chain.
    Evm(EvmPools),
}

impl From<Client> for VenueClient {
    fn from(client: Client) -> Self {
        Self::Exchange(Box::new(client))
    }
}

impl From<KrakenClient> for VenueClient {
    fn from(client: KrakenClient) -> Self {
        Self::Kraken(client)
    }
}

impl From<EvmPools> for VenueClient {
    fn from(client: EvmPools) -> Self {
        Self::Evm(client)
    }
}

impl VenueClient {
    /// Sends a poll or a cancel.
    pub async fn query(&self, query: &Query, markets: &[MarketSpec]) -> Answered {
        match self {
            Self::Exchange(client) => client.query(query, markets).await,
            Self::Kraken(client) => client.query(query, markets).await,
            Self::Evm(client) => client.query(query).await,
        }
    }

    /// Sends the stored bytes of an order, a join or an exit.
    pub async fn submit_to(&self, endpoint: Endpoint, body: &[u8]) -> Answered {
        match self {
            Self::Exchange(client) => client.submit_to(endpoint, body).await,
            // There are no joins and exits, and none is sealed.
            Self::Kraken(client) => client.submit(body).await,
            Self::Evm(client) => client.submit_bundle(body).await,
        }
    }
}
