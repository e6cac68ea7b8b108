//! Kraken's spot interface (`/0/public`, `/0/private`) on the same book and accounts. Names, JSON and counters are here;
//! what orders do is in `cambist_venue`. The rules are in `docs/kraken.md`.
//!
//! | what | module |
//! |---|---|
//! | keys, permissions, tiers | `config` |
//! | paths, bodies, answers | `routes` |
//! | methods, their permissions and costs | `methods` |
//! | key, signature, nonce, permission, counters | `private` |
//! | rate counters | `counters` |
//! | names of assets and pairs | `names` |
//! | parameters of orders | `order_fields` |
//! | orders, trades, ledger entries as JSON | `shapes` |
//! | answers | `public`, `account`, `trading` |

mod account;
mod config;
mod counters;
mod fault;
mod methods;
mod names;
mod order_fields;
mod private;
mod public;
mod routes;
mod shapes;
mod trading;

pub use config::{KrakenConfig, KrakenKey, Permission, Tier};
pub(crate) use routes::add_routes;

use counters::Counters;

/// What this interface needs beside the machine.
pub(crate) struct Kraken {
    config: KrakenConfig,
    counters: Counters,
}

impl Kraken {
    pub fn new(config: KrakenConfig) -> Self {
        Self {
            counters: Counters::new(config.tier),
            config,
        }
    }
}
