//! Our orders as accepted by the exchange: at most one for each intent, and none without one.

use crate::invariants::table::Invariant;
use std::collections::{BTreeMap, BTreeSet};

use cambist_core::{Amount, ClientOrderId, Hash, OrderStatus};

use crate::exchange::INSTANCE;
use crate::faults::disk::Durable;
use crate::invariants::sending::Broken;

/// One of our orders.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Its client order id.
    pub(super) id: Option<String>,
    pub(super) status: OrderStatus,
    /// Base units, quote units and fee traded.
    pub(super) filled: (Amount, Amount, Amount),
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Own(pub(super) BTreeMap<Hash, Known>);

impl Own {
    /// Compares them with the store. `foreign` is the number of foreign orders on the account.
    pub(super) fn against(&self, durable: &Durable, foreign: u64) -> Vec<Broken> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut unknown = 0;
        for (hash, known) in &self.0 {
            let id: Option<ClientOrderId> = known.id.as_ref().and_then(|id| id.parse().ok());
            let ours = id.filter(|id| id.instance == INSTANCE);
            let Some(id) = ours else {
                unknown += 1;
                continue;
            };
            if !seen.insert(id) {
                let detail = format!("{id} was taken under two hashes, {hash} is one of them");
                found.push((Invariant::OracleTwice, detail));
            }
            let intent = durable.intents.get(&id);
            if intent.is_none_or(|intent| intent.hash != *hash) {
                let detail = format!("{id} was taken as {hash}, which the store does not know");
                found.push((Invariant::OracleIntent, detail));
            }
        }
        if unknown > foreign {
            let detail = format!("{unknown} orders have no intent, {foreign} are foreign");
            found.push((Invariant::OracleIntent, detail));
        }
        found
    }
}
