//! Optimal quotes under an inventory bound, their approximations and relatives, and what rules of
//! quoting are worth.

use cambist_quant::avellaneda_stoikov::{Market, Variant, quotes};
use cambist_quant::cartea_jaimungal;
use cambist_quant::glft::{Parameters, Table, closed_form, gueant_2016};
use cambist_quant::liquidation::Liquidation;
use cambist_quant::policy_value::{Distances, Setting, certainty_equivalent};
use cambist_signing::vectors::VectorError;

use crate::compare::{Member, Value, member};
use crate::input::{Input, list, signed};
use crate::{Computed, Context, Family};

pub(super) const CLOSED: Family = Family {
    name: "glft_closed",
    notes: &[],
    compute: compute_closed,
};

pub(super) const EXACT: Family = Family {
    name: "glft_exact",
    notes: &["note_double_precision_eigh_max_error"],
    compute: |input, _| {
        let time_left = input.nullable("tau")?.map(|node| node.float());
        let parameters = Parameters {
            drift: input.float("mu")?,
            impact: input.float("xi")?,
            ..parameters(input)?
        };
        let mut members = table(input, &parameters, time_left.transpose()?)?;
        members.push(member(
            "smallest_eigenvalue",
            parameters_eigenvalue(input, &parameters)?,
        ));
        Ok(Computed::new(members))
    },
};

pub(super) const FEE: Family = Family {
    name: "glft_fee",
    notes: &[],
    compute: |input, _| {
        let parameters = Parameters {
            fee: input.float("fee_per_unit")?,
            ..parameters(input)?
        };
        let mut members = table(input, &parameters, None)?;
        members.push(member(
            "smallest_eigenvalue",
            parameters_eigenvalue(input, &parameters)?,
        ));
        Ok(Computed::new(members))
    },
};

pub(super) const FIGURES: Family = Family {
    name: "glft_figures",
    notes: &[],
    compute: compute_figures,
};

pub(super) const PENALTY: Family = Family {
    name: "cj_quotes",
    notes: &[],
    compute: compute_penalty,
};

pub(super) const LIQUIDATION: Family = Family {
    name: "liquidation",
    notes: &[],
    compute: compute_liquidation,
};

pub(super) const VALUE: Family = Family {
    name: "strategy_value",
    notes: &[],
    compute: compute_value,
};

/// Without drift, impact and fee.
fn parameters(input: &Input<'_>) -> Result<Parameters, VectorError> {
    Ok(Parameters {
        sigma: input.float("sigma")?,
        intensity: input.float("A")?,
        decay: input.float("k")?,
        risk_aversion: input.float("gamma")?,
        drift: 0.0,
        impact: 0.0,
        fee: 0.0,
        bound: input.whole("Q")?,
    })
}

fn solve(
    input: &Input<'_>,
    parameters: &Parameters,
    time_left: Option<f64>,
) -> Result<Table, VectorError> {
    let made = match time_left {
        Some(time_left) => parameters.with_time_left(time_left),
        None => parameters.asymptotic(),
    };
    made.map_err(|error| input.refused(error))
}

fn parameters_eigenvalue(input: &Input<'_>, parameters: &Parameters) -> Result<f64, VectorError> {
    Ok(solve(input, parameters, None)?.smallest_eigenvalue())
}

/// Inventories from −Q to Q and the quotes there; the value at none, where there is an end.
fn table(
    input: &Input<'_>,
    parameters: &Parameters,
    time_left: Option<f64>,
) -> Result<Vec<Member>, VectorError> {
    let table = solve(input, parameters, time_left)?;
    let inventories: Vec<i64> = around(parameters.bound).collect();
    let quotes = |side: &dyn Fn(i64) -> Option<f64>| -> Value {
        inventories
            .iter()
            .map(|q| side(*q))
            .collect::<Vec<_>>()
            .into()
    };
    let mut members = vec![
        member("delta_b", quotes(&|q| table.bid_distance(q))),
        member("delta_a", quotes(&|q| table.ask_distance(q))),
    ];
    members.extend(
        table
            .certainty_equivalent(0)
            .map(|value| member("certainty_equivalent_q0", value)),
    );
    members.push(member("q", inventories));
    Ok(members)
}

fn around(bound: u32) -> impl Iterator<Item = i64> {
    -i64::from(bound)..=i64::from(bound)
}

fn compute_closed(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    if input.has("form") {
        return compute_gueant(input);
    }
    // The bound does not enter the approximation.
    let parameters = Parameters {
        sigma: input.float("sigma")?,
        intensity: input.float("A")?,
        decay: input.float("k")?,
        risk_aversion: input.float("gamma")?,
        drift: input.float("mu")?,
        impact: input.float("xi")?,
        fee: 0.0,
        bound: 1,
    };
    let made = closed_form(&parameters).map_err(|error| input.refused(error))?;
    let inventories = list(&input.get("q")?, signed)?;
    let quotes =
        |side: &dyn Fn(i64) -> f64| -> Vec<f64> { inventories.iter().map(|q| side(*q)).collect() };
    Ok(Computed::new(vec![
        member("delta_b", quotes(&|q| made.bid_distance(q))),
        member("delta_a", quotes(&|q| made.ask_distance(q))),
        member("spread", made.spread()),
    ]))
}

fn compute_gueant(input: &Input<'_>) -> Result<Computed, VectorError> {
    if input.text("form")? != "gueant_2016" {
        return Err(input.get("form")?.malformed("gueant_2016"));
    }
    let made = gueant_2016(
        input.float("sigma")?,
        input.float("A")?,
        input.float("k")?,
        input.float("gamma")?,
        input.float("Delta")?,
        input.float("xi")?,
    )
    .map_err(|error| input.refused(error))?;
    let inventories = input.floats("position")?;
    let quotes = |side: &dyn Fn(f64) -> cambist_quant::Result<f64>| {
        let quotes: cambist_quant::Result<Vec<f64>> =
            inventories.iter().map(|q| side(*q)).collect();
        quotes.map_err(|error| input.refused(error))
    };
    let members = vec![
        member("c1", made.c1),
        member("c2", made.c2),
        member("half_spread", made.half_spread),
        member("skew", made.skew),
        member("delta_b", quotes(&|q| made.bid_distance(q))?),
        member("delta_a", quotes(&|q| made.ask_distance(q))?),
    ];
    let published = vec![
        member("half_spread", made.half_spread),
        member("skew", made.skew),
    ];
    Ok(Computed::new(members).published(published))
}

fn compute_figures(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let parameters = parameters(input)?;
    let time_left = input.nullable("tau")?.map(|node| node.float());
    let table = solve(input, &parameters, time_left.transpose()?)?;
    let closed = closed_form(&parameters).map_err(|error| input.refused(error))?;
    let is_bid = match input.text("side")? {
        "bid" => true,
        "ask" => false,
        _ => return Err(input.get("side")?.malformed("bid or ask")),
    };
    let inventories = list(&input.get("q")?, signed)?;
    let exact = inventories.iter().map(|q| {
        if is_bid {
            table.bid_distance(*q)
        } else {
            table.ask_distance(*q)
        }
    });
    let exact: Vec<Option<f64>> = exact.collect();
    let closed = inventories.iter().map(|q| {
        if is_bid {
            closed.bid_distance(*q)
        } else {
            closed.ask_distance(*q)
        }
    });
    let closed: Vec<f64> = closed.collect();
    Ok(Computed::new(vec![
        member("delta", exact),
        member("delta_closed_form", closed),
    ]))
}

fn compute_penalty(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let parameters = cartea_jaimungal::Parameters {
        arrivals: input.float("arrival")?,
        decay: input.float("kappa")?,
        running_penalty: input.float("phi")?,
        terminal_penalty: input.float("alpha")?,
        bound: input.whole("Q")?,
    };
    let time_left = input.float("T")? - input.float("t")?;
    let made = parameters
        .with_time_left(time_left)
        .map_err(|error| input.refused(error))?;
    let middle = made.values[parameters.bound as usize];
    let quotes = |with_inventories: bool| {
        let mut members = vec![
            member("delta_b", made.bids.clone()),
            member("delta_a", made.asks.clone()),
            member("h_q0", middle),
        ];
        if with_inventories {
            members.push(member("q", around(parameters.bound).collect::<Vec<_>>()));
        }
        members
    };
    Ok(Computed::new(quotes(true)).beside(member("mbt_gym", quotes(false))))
}

fn compute_liquidation(input: &Input<'_>, context: &Context<'_>) -> Result<Computed, VectorError> {
    let liquidation = Liquidation {
        sigma: input.float("sigma")?,
        intensity: input.float("A")?,
        decay: input.float("k")?,
        risk_aversion: input.float("gamma")?,
        drift: input.float("mu")?,
        discount: input.float("b")?,
    };
    let lots = input.whole("Q")?;
    let distances = liquidation
        .distances(lots, input.float("T")?)
        .map_err(|error| input.refused(error))?;
    let bound = context
        .tolerance
        .published_abs
        .ok_or_else(|| context.file.malformed("a tolerance with published_abs"))?;
    let printed = distances
        .iter()
        .map(|distance| Value::Near(*distance, bound));
    let printed = Value::List(printed.collect());
    Ok(Computed::new(vec![
        member("q", (1..=i64::from(lots)).collect::<Vec<_>>()),
        member("delta_a", distances),
    ])
    .published(printed))
}

fn compute_value(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let parameters = parameters(input)?;
    let setting = Setting {
        sigma: parameters.sigma,
        intensity: parameters.intensity,
        decay: parameters.decay,
        risk_aversion: parameters.risk_aversion,
        bound: parameters.bound,
        horizon: input.float("T")?,
    };
    let half = input.float("symmetric_spread")? / 2.0;
    let closed = closed_form(&parameters).map_err(|error| input.refused(error))?;
    let value = solve(input, &parameters, Some(setting.horizon))?.certainty_equivalent(0);
    let certain = |rule: Rule<'_>| worth(&setting, &parameters, rule).map_err(|e| input.refused(e));
    Ok(Computed::new(vec![
        member("value_function", value),
        member("glft_exact", certain(&mut optimum)?),
        member(
            "glft_closed",
            certain(&mut |_| {
                Box::new(move |_, q| Ok((closed.bid_distance(q), closed.ask_distance(q))))
            })?,
        ),
        member("as_2008", certain(&mut |p| Box::new(stoikov(*p)))?),
        member(
            "symmetric_const",
            certain(&mut |_| Box::new(move |_, _| Ok((half, half))))?,
        ),
    ]))
}

/// Quotes by time left and inventory.
type Policy = Box<dyn FnMut(f64, i64) -> cambist_quant::Result<Distances>>;
/// A rule that starts from the beginning for every solution of the equation.
type Rule<'a> = &'a mut dyn FnMut(&Parameters) -> Policy;

/// Refines the steps until the value stays.
fn worth(setting: &Setting, parameters: &Parameters, rule: Rule<'_>) -> cambist_quant::Result<f64> {
    let mut solve = |steps| {
        let policy = rule(parameters);
        certainty_equivalent(setting, steps, policy)
    };
    // Steps that are too coarse for a stiff rule give no value at all.
    let mut last = solve(250);
    for steps in [500, 1_000, 2_000, 4_000, 8_000] {
        let next = solve(steps);
        if let (Ok(last), Ok(next)) = (last, next)
            && (next - last).abs() <= 1e-7 * next.abs()
        {
            return Ok(next);
        }
        last = next;
    }
    last
}

/// The exact quotes at rising times left.
fn optimum(parameters: &Parameters) -> Policy {
    let path = parameters.path();
    let mut known: Option<(f64, Table)> = None;
    let mut path = match path {
        Ok(path) => path,
        Err(error) => return Box::new(move |_, _| Err(error)),
    };
    Box::new(move |time_left, q| {
        if known.as_ref().is_none_or(|(at, _)| *at < time_left) {
            known = Some((time_left, path.at(time_left)?));
        }
        let side = |of: fn(&Table, i64) -> Option<f64>| {
            known
                .as_ref()
                .and_then(|(_, table)| of(table, q))
                .unwrap_or(0.0)
        };
        Ok((side(Table::bid_distance), side(Table::ask_distance)))
    })
}

fn stoikov(parameters: Parameters) -> impl FnMut(f64, i64) -> cambist_quant::Result<Distances> {
    move |time_left, q| {
        let market = Market {
            mid: 0.0,
            sigma: parameters.sigma,
            time_left,
            decay: parameters.decay,
            risk_aversion: parameters.risk_aversion,
        };
        #[allow(clippy::cast_precision_loss, reason = "inventories of hundreds")]
        let made = quotes(&market, q as f64, Variant::Published2008)?;
        Ok((made.bid_distance, made.ask_distance))
    }
}
