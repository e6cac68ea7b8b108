//! Quotes of Avellaneda and Stoikov, and the experiment of their paper.

use cambist_quant::avellaneda_stoikov::{Market, Variant, quotes};
use cambist_quant::simulation::{Experiment, Moments, Quoting, moments, sample};
use cambist_signing::vectors::{Node, VectorError};

use crate::compare::{Member, Value, member};
use crate::input::Input;
use crate::{Computed, Context, Family};

pub(super) const QUOTES: Family = Family {
    name: "as_quotes",
    notes: &[],
    compute: compute_quotes,
};

pub(super) const SIMULATION: Family = Family {
    name: "as_simulation",
    notes: &[
        "monte_carlo_1000_paths",
        "monte_carlo_100000_paths",
        "se_1000",
        "z_of_100000_path_run_vs_exact",
    ],
    compute: compute_simulation,
};

fn compute_quotes(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let market = Market {
        mid: input.float("s")?,
        sigma: input.float("sigma")?,
        time_left: input.float("T_minus_t")?,
        decay: input.float("k")?,
        risk_aversion: input.float("gamma")?,
    };
    let variant = match input.text("variant")? {
        "published_2008" => Variant::Published2008,
        "preprint_2006" => Variant::Preprint2006,
        _ => {
            let node = input.get("variant")?;
            return Err(node.malformed("published_2008 or preprint_2006"));
        }
    };
    let made = quotes(&market, input.float("q")?, variant).map_err(|error| input.refused(error))?;
    Ok(Computed::new(vec![
        member("reservation", made.reservation),
        member("half_spread", made.half_spread),
        member("bid", made.bid),
        member("ask", made.ask),
        member("delta_b", made.bid_distance),
        member("delta_a", made.ask_distance),
    ]))
}

/// Paths of our own run, as the file's `acceptance` asks for.
const PATHS: u32 = 100_000;

fn compute_simulation(input: &Input<'_>, context: &Context<'_>) -> Result<Computed, VectorError> {
    let spread = input.nullable("constant_spread")?;
    let strategy = input.text("strategy")?;
    let quoting = match (strategy, spread) {
        ("inventory_published", None) => Quoting::Published2008,
        ("inventory_preprint", None) => Quoting::Preprint2006,
        ("symmetric", Some(spread)) => Quoting::Symmetric {
            spread: spread.float()?,
        },
        _ => {
            let node = input.get("strategy")?;
            return Err(node.malformed(
                "inventory_published or inventory_preprint, or symmetric with a constant spread",
            ));
        }
    };
    let inventory = input.signed("q0")?;
    let experiment = Experiment {
        quoting,
        risk_aversion: input.float("gamma")?,
        sigma: input.float("sigma")?,
        decay: input.float("k")?,
        intensity: input.float("A")?,
        horizon: input.float("T")?,
        step: input.float("dt")?,
        mid: input.float("s0")?,
        inventory: i32::try_from(inventory).map_err(|error| input.refused(error))?,
        cash: input.float("x0")?,
    };
    let exact = moments(&experiment).map_err(|error| input.refused(error))?;
    let sampled = sample(&experiment, PATHS, 1).map_err(|error| input.refused(error))?;
    let bound = context.tolerance.only_named(context.file)?;
    let near = |value: f64| Value::Near(value, bound * value.abs().max(1.0));
    let out = vec![
        member("mean_spread", near(exact.mean_spread)),
        member("mean_profit", near(exact.mean_profit)),
        member("std_profit", near(exact.std_profit)),
        member("mean_q", near(exact.mean_inventory)),
        member("std_q", near(exact.std_inventory)),
        member("lost_mass", Value::Near(exact.lost_mass, bound)),
    ];
    let paths = f64::from(PATHS);
    let runs = [
        (
            sampled.mean_profit,
            exact.mean_profit,
            exact.error_of_mean_profit(paths),
        ),
        (
            sampled.std_profit,
            exact.std_profit,
            exact.error_of_std_profit(paths),
        ),
        (
            sampled.mean_inventory,
            exact.mean_inventory,
            exact.error_of_mean_inventory(paths),
        ),
        (
            sampled.std_inventory,
            exact.std_inventory,
            exact.error_of_std_inventory(paths),
        ),
    ];
    for (sampled, exact, error) in runs {
        if (sampled - exact).abs() >= 4.0 * error {
            return Err(input.refused(format!(
                "our own {PATHS} paths give {sampled} for {exact}, more than 4 of {error} off"
            )));
        }
    }
    let computed = Computed::new(out);
    let Some(published) = context.case.present("published") else {
        return Ok(computed);
    };
    let (cells, scores) = published_cells(&published, context.case, &exact)?;
    Ok(computed
        .published(cells)
        .beside(member("z_of_published", scores)))
}

/// Cells of the paper over 1,000 paths: within 3 standard errors of the exact law, unless the file
/// itself states that a cell is not, and by how many; and what the file states about it.
fn published_cells(
    published: &Node<'_>,
    case: &Node<'_>,
    exact: &Moments,
) -> Result<(Vec<Member>, Vec<Member>), VectorError> {
    let cells = [
        ("profit", exact.mean_profit, exact.error_of_mean_profit(1e3)),
        (
            "std_profit",
            exact.std_profit,
            exact.error_of_std_profit(1e3),
        ),
        (
            "final_q",
            exact.mean_inventory,
            exact.error_of_mean_inventory(1e3),
        ),
        (
            "std_final_q",
            exact.std_inventory,
            exact.error_of_std_inventory(1e3),
        ),
    ];
    // Printed with two decimals, averaged over a grid that the paper does not state.
    let spread = Value::Near(exact.mean_spread, 0.005 + 0.005 * exact.mean_spread);
    let mut within = vec![member("spread", spread)];
    let mut scores = Vec::new();
    for (name, exact, error) in cells {
        let score = (published.get(name)?.float()? - exact) / error;
        let stated = case.optional("z_of_published");
        let stated = stated.map(|stated| stated.get(name)?.float()).transpose()?;
        // The file's author sampled the errors of standard deviations.
        let margin = 0.1 + 0.05 * score.abs();
        let is_stated =
            stated.is_some_and(|stated| stated.abs() > 3.0 && (stated - score).abs() <= margin);
        within.push(member(
            name,
            if is_stated {
                Value::Prose
            } else {
                Value::Near(exact, 3.0 * error)
            },
        ));
        scores.push(member(name, Value::Near(score, margin)));
    }
    Ok((within, scores))
}
