//! Profit and loss of fills.

use cambist_quant::pnl::{
    AverageCost, Fee, Fifo, Fill, Markout, Mids, Side, account, markouts, totals,
};
use cambist_quant::{Exact, Number};
use cambist_signing::vectors::{Node, VectorError};

use crate::compare::{Member, Value, member};
use crate::input::{Input, exact, list, pair, signed};
use crate::{Computed, Context, Family};

pub(super) const PROFIT: Family = Family {
    name: "pnl_attribution",
    notes: &[],
    compute: compute_profit,
};

fn fill(node: &Node<'_>) -> Result<Fill<Exact>, VectorError> {
    let input = Input::new(node.clone())?;
    let fee = input.exact("fee")?;
    let (side, fee) = match input.text("side")? {
        "BUY" => (Side::Buy, Fee::Base(fee)),
        "SELL" => (Side::Sell, Fee::Quote(fee)),
        _ => return Err(input.get("side")?.malformed("BUY or SELL")),
    };
    let fill = Fill {
        time: input.signed("t_ms")?,
        side,
        quantity: input.exact("qty")?,
        price: input.exact("price")?,
        fee,
    };
    input.finish()?;
    Ok(fill)
}

fn compute_profit(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let mids = list(&input.get("mids")?, |node| {
        let [time, mid] = pair(node)?;
        Ok((signed(&time)?, exact(&mid)?))
    })?;
    let fills = list(&input.get("trades")?, fill)?;
    let horizons = list(&input.get("horizons_ms")?, signed)?;
    let mids = Mids::new(&mids).map_err(|error| input.refused(error))?;
    let made = account(&fills, &mids).map_err(|error| input.refused(error))?;
    let (mut fifo, mut average) = (Fifo::default(), AverageCost::default());
    for fill in &fills {
        fifo.push(fill);
        average.push(fill);
    }
    let last = mids.last();
    let lots = fifo
        .lots
        .iter()
        .map(|lot| vec![lot.base.clone(), lot.unit_cost.clone()]);
    let mut members = vec![
        member("cash", made.cash),
        member("inventory", made.inventory),
        member("final_mid", last.clone()),
        member("total_pnl", made.total.clone()),
        member("final_equity", made.total),
        member("max_drawdown", made.max_drawdown),
        member(
            "fifo",
            vec![
                member("realised", fifo.realised.clone()),
                member("unrealised", fifo.unrealised(last)),
                member("lots", lots.collect::<Vec<_>>()),
            ],
        ),
        member(
            "average_cost",
            vec![
                member("realised", average.realised.clone()),
                member("unrealised", average.unrealised(last)),
                member("position", average.position),
                member("unit_cost", average.unit_cost),
            ],
        ),
        member(
            "attribution",
            vec![
                member("spread", made.attribution.spread),
                member("inventory", made.attribution.inventory),
                member("fees_in_quote", made.attribution.fees),
            ],
        ),
    ];
    members.extend(marked(input, &fills, &mids, &horizons)?);
    Ok(Computed::new(members))
}

/// Markouts of every trade, and of all.
fn marked(
    input: &Input<'_>,
    fills: &[Fill<Exact>],
    mids: &Mids<'_, Exact>,
    horizons: &[i64],
) -> Result<[Member; 2], VectorError> {
    let mut trades: Vec<Vec<Member>> = fills.iter().map(|_| Vec::new()).collect();
    let mut aggregate = Vec::new();
    for (index, horizon) in horizons.iter().enumerate() {
        let marked = markouts(fills, mids, *horizon).map_err(|error| input.refused(error))?;
        let all = totals(fills, &marked).map_err(|error| input.refused(error))?;
        let bps = all
            .bps
            .map_or(Value::None, |bps| Value::Near(bps.to_f64(), 0.0));
        aggregate.extend([
            member(format!("markout_bps_{horizon}ms"), bps),
            member(format!("n_{horizon}ms"), all.count),
        ]);
        for (trade, markout) in trades.iter_mut().zip(marked) {
            let Markout {
                effective,
                realised,
                impact,
            } = markout;
            if index == 0 {
                trade.push(member("effective", effective));
            }
            trade.extend([
                member(format!("realised_{horizon}ms"), realised),
                member(format!("impact_{horizon}ms"), impact),
            ]);
        }
    }
    Ok([member("per_trade", trades), member("aggregate", aggregate)])
}
