//! Seals orders for Kraken: a nonce that is durable, the bytes, read back as the venue reads them.

use std::sync::Arc;

use cambist_core::{Intent, MarketSpec};
use cambist_kraken_venue::seal::{SealedOrder, seal};
use cambist_kraken_venue::{Listing, NonceSource};

use crate::venues::{NotSealed, SealedBytes, Sealer};

/// What seals orders of an account.
pub struct KrakenSealer {
    /// Pairs by the names of markets.
    pub listing: Arc<Listing>,
    /// Configured markets.
    pub markets: Vec<MarketSpec>,
    /// Nonces of the key that places orders.
    pub nonces: Arc<dyn NonceSource>,
}

impl Sealer for KrakenSealer {
    fn seal(&mut self, intent: &Intent) -> Result<SealedBytes, NotSealed> {
        let failed = |what: String| NotSealed::Failed(what);
        let Intent::Order(order) = intent else {
            return Err(failed("the venue has no pools".to_owned()));
        };
        let market = self.markets.get(usize::from(order.market.0));
        let market = market.ok_or_else(|| failed("the market is not configured".to_owned()))?;
        let nonce = self.nonces.next();
        let nonce = nonce.map_err(|error| failed(error.to_string()))?;
        let sealed = seal(order, &self.listing, market, nonce);
        let SealedOrder { key, body } = sealed.map_err(|error| failed(error.to_string()))?;
        Ok(SealedBytes { hash: key, body })
    }
}
