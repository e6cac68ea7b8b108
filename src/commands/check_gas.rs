//! What `cambist check` states about gas.

use cambist_core::math::decimal;
use cambist_daemon::config::venue::evm::{COIN_DECIMALS, EvmLink};
use serde::Serialize;

/// What the gas of one join, exit and swap costs at most, in whole coins.
#[derive(Serialize)]
pub(super) struct Gas {
    coin: String,
    join: String,
    exit: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap: Option<String>,
    counts_as: Option<String>,
}

impl Gas {
    pub(super) fn of(link: &EvmLink) -> Self {
        let costs = link.gas_costs();
        let [join, exit, swap] = costs.map(|units| decimal(units, COIN_DECIMALS));
        let counts_as = link.gas_counts_as.as_ref();
        Self {
            coin: link.coin.clone(),
            join,
            exit,
            swap: (!link.in_ranges).then_some(swap),
            counts_as: counts_as.map(|symbol| symbol.value.clone()),
        }
    }

    pub(super) fn text(&self) -> String {
        let Self { coin, .. } = self;
        let losses = self.counts_as.as_ref().map_or_else(
            || "it counts in no loss limit".to_owned(),
            |token| format!("it counts in loss limits as {token}"),
        );
        let swap = self.swap.as_ref();
        let swap = swap.map_or_else(String::new, |cost| format!(", of a swap {cost} {coin}"));
        format!(
            "\ngas of one join at most {} {coin}, of an exit {} {coin}{swap}; {losses}\n",
            self.join, self.exit
        )
    }
}
