//! Statistics of equity curves.

use cambist_quant::Result as Quantity;
use cambist_quant::performance::Equity;
use cambist_signing::vectors::VectorError;

use crate::compare::{Member, member};
use crate::input::{Input, list, signed};
use crate::{Computed, Context, Family};

pub(super) const PERFORMANCE: Family = Family {
    name: "performance_stats",
    notes: &[],
    compute: compute_performance,
};

fn compute_performance(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let times = list(&input.get("timestamps_ns")?, signed)?;
    let (gross, fees) = (input.floats("equity_wo_fee")?, input.floats("fee")?);
    if gross.len() != fees.len() {
        return Err(input.get("fee")?.malformed("as many as equity_wo_fee"));
    }
    let values: Vec<f64> = gross
        .iter()
        .zip(&fees)
        .map(|(gross, fee)| gross - fee)
        .collect();
    let statistics = || -> Quantity<Vec<Member>> {
        let equity = Equity::new(&times, &values)?;
        Ok(vec![
            member("Return", equity.total_return()),
            member("SR_252", equity.sharpe(252.0)?),
            member("SR_365", equity.sharpe(365.0)?),
            member("Sortino_365", equity.sortino(365.0)?),
            member("MaxDrawdown", equity.max_drawdown()),
            member("ReturnOverMDD", equity.return_over_drawdown()?),
            member("AnnualRet_365", equity.annual_return(365.0)?),
            member("samples_per_day", equity.samples_per_day()),
            member("total_days", equity.days()),
        ])
    };
    Ok(Computed::new(
        statistics().map_err(|error| input.refused(error))?,
    ))
}
