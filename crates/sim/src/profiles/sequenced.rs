//! The same worlds on a venue with other rules (`sequenced`).

use cambist_core::venue::FeeToken;
use cambist_venue::Random;

use crate::config::WorldConfig;
use crate::profiles::control_loss::ControlLossConfig;
use crate::profiles::sampling::choose;
use crate::sealer::Sealer;
use crate::sequenced::rules;

impl WorldConfig {
    /// The same world on the venue with consecutive numbers, deadlines and orders without an end of their own.
    #[must_use]
    pub fn sequenced(mut self) -> Self {
        let mut random = Random::new(self.seed.rotate_left(16) ^ 0x7365_7175_656e_6365);
        let engine = &mut self.engine;
        // Beside the margin a request has to have time to be made durable and to arrive.
        let least_ms = engine.resend_margin_ms + 4_000;
        let accepted_max_ms = least_ms + *choose(&mut random, &[0, 4_000, 20_000]);
        self.rules = rules(accepted_max_ms);
        self.sealer = Sealer::Name;
        // Fees are always quote: a purchase pays them on top of its price.
        for market in &mut self.venue.markets {
            market.fee_in = FeeToken::Quote;
        }
        // It has no pools; what is stated of a lost control needs an end of what rests.
        engine.pools.clear();
        self.venue.pools.clear();
        self.seats.retain(|seat| seat.strategy != "lp_manager");
        self.falls = ControlLossConfig::default();
        self
    }
}
