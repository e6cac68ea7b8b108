//! Profit and loss by cause, as the store counts it over all runs.

use cambist_report::money::Money;
use cambist_report::pnl::Attribution;

use super::metrics::Metrics;

/// Causes as labels: those of fills and holdings, and those of a pool.
const CAUSES: [&str; 6] = [
    "spread",
    "holdings",
    "fees",
    "pool_fee_income",
    "pool_impermanent_loss",
    "pool_costs",
];

impl Metrics {
    /// Sets the causes of one owner in one market. What is not known is not a number, and a market without a pool has
    /// no causes of one.
    pub(super) fn profit_and_loss(&self, market: &str, owner: &str, pnl: Option<Attribution>) {
        let values = match pnl {
            Some(pnl) => {
                let pool = pnl.pool;
                [
                    Some(pnl.spread),
                    Some(pnl.holdings),
                    Some(pnl.fees),
                    pool.map(|pool| pool.fee_income),
                    pool.map(|pool| pool.impermanent_loss),
                    pool.map(|pool| pool.move_costs),
                ]
                .map(|money| money.map(whole))
            }
            None => [Some(f64::NAN); 6],
        };
        for (cause, value) in CAUSES.into_iter().zip(values) {
            if let Some(value) = value {
                self.pnl
                    .with_label_values(&[market, owner, cause])
                    .set(value);
            }
        }
    }
}

/// Whole tokens as the nearest float.
fn whole(money: Money) -> f64 {
    money.to_string().parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use cambist_report::pnl::PoolAttribution;

    use super::super::tests::about;
    use super::*;

    fn money(units: i128) -> Money {
        Money {
            numerator: units,
            denominator: 1,
            decimals: 6,
        }
    }

    fn shown(metrics: &Metrics) -> Vec<String> {
        let families = metrics.registry.gather();
        let page = prometheus::TextEncoder::new()
            .encode_to_string(&families)
            .unwrap();
        let lines = page
            .lines()
            .filter(|line| line.starts_with("cambist_pnl_quote_units{"));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn causes_are_shown_and_what_is_not_known_is_not_a_number() {
        let metrics = Metrics::new(&about()).unwrap();
        assert_eq!(shown(&metrics), Vec::<String>::new());
        let mut pnl = Attribution {
            spread: money(1_500_000),
            holdings: money(-250_000),
            fees: money(-1),
            pool: None,
            total: money(1_249_999),
        };
        metrics.profit_and_loss("ETH-USDC", "bands", Some(pnl));
        let series = |cause: &str, value: &str| {
            format!(
                "cambist_pnl_quote_units{{cause=\"{cause}\",market=\"ETH-USDC\",strategy=\"bands\"}} {value}"
            )
        };
        let expected = [
            series("fees", "-0.000001"),
            series("holdings", "-0.25"),
            series("spread", "1.5"),
        ];
        assert_eq!(shown(&metrics), expected);
        pnl.pool = Some(PoolAttribution {
            fee_income: money(7),
            impermanent_loss: money(-2),
            move_costs: money(-3),
        });
        metrics.profit_and_loss("ETH-USDC", "bands", Some(pnl));
        assert_eq!(shown(&metrics).len(), CAUSES.len());
        assert!(shown(&metrics).contains(&series("pool_fee_income", "0.000007")));
        metrics.profit_and_loss("ETH-USDC", "bands", None);
        assert_eq!(shown(&metrics).len(), CAUSES.len());
        assert!(shown(&metrics).iter().all(|line| line.ends_with(" NaN")));
    }
}
