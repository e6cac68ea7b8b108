//! The same worlds on Kraken's interface (`kraken`).

use cambist_core::venue::FeeToken;
use cambist_kraken_venue::{Settings, Tier, rules};
use cambist_venue::Random;

use crate::config::{KrakenConfig, WorldConfig};
use crate::profiles::sampling::choose;
use crate::sealer::Sealer;

/// What the venue counts by tier: calls of a key, and orders and cancels of a pair, each with its maximum and what is
/// forgotten in a thousand seconds.
const COUNTERS: [((u64, u64), (u64, u64)); 3] = [
    ((15, 333), (60, 1_000)),
    ((20, 500), (125, 2_340)),
    ((20, 1_000), (180, 3_750)),
];

impl WorldConfig {
    /// The same world on Kraken's interface: rising nonces, deadlines, expiries, and counters of requests.
    #[must_use]
    pub fn kraken(mut self) -> Self {
        let mut random = Random::new(self.seed.rotate_left(16) ^ 0x6b72_616b_656e);
        let tiers: Vec<_> = Tier::ALL.into_iter().zip(COUNTERS).collect();
        let (tier, (calls, trading)) = *choose(&mut random, &tiers);
        let engine = &mut self.engine;
        // Beside the margin a request has to have time to be made durable and to arrive.
        let least_ms = engine.resend_margin_ms + 4_000;
        let accepted_ms = least_ms + *choose(&mut random, &[0, 4_000, 20_000]);
        self.rules = rules(Settings { tier, accepted_ms });
        // A list shows everything when grace is over, which is a second at least.
        self.kraken = Some(KrakenConfig {
            list_lag_ms: *choose(&mut random, &[0, 300, 900]),
            calls,
            trading,
        });
        self.sealer = Sealer::Name;
        // What the counter of the key allows, in hundredths of a call; cancels are outside of it.
        let (burst, per_s) = tier.calls();
        let budget = &mut engine.budget;
        (budget.per_s, budget.burst, budget.cancel_reserve) = (per_s, burst, 0);
        let poll = &mut engine.poll;
        poll.orders_page = 50;
        // A scan reads two lists, and one that proves absence reads them twice.
        (poll.orders_ms, poll.balances_ms) = match tier {
            Tier::Starter => (15_000, 25_000),
            Tier::Intermediate => (10_000, 15_000),
            Tier::Pro => (5_000, 8_000),
        };
        (poll.orders_age_max_ms, poll.balances_age_max_ms) = (90_000, 90_000);
        // Young cancels cost most of the pair's counter: orders live longer, and are replaced for larger moves.
        engine.ttl_ms = engine.ttl_ms.max(120_000);
        engine.refresh_before_ms = engine.ttl_ms / 8;
        engine.drain_deadline_ms = 2 * (engine.ttl_ms + engine.grace_ms) + 120_000;
        for limits in &mut engine.markets {
            limits.price_tolerance_bps = *choose(&mut random, &[15, 30]);
        }
        // Fees are always quote: a purchase pays them on top of its price.
        for market in &mut self.venue.markets {
            market.fee_in = FeeToken::Quote;
        }
        // It has no pools.
        engine.pools.clear();
        self.venue.pools.clear();
        self.seats.retain(|seat| seat.strategy != "lp_manager");
        self
    }
}
