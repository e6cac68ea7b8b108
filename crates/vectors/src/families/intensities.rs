//! Estimates of the fill intensity.

use cambist_quant::glft::gueant_2016;
use cambist_quant::intensity::depths::{Histogram, half_ticks, whole_ticks};
use cambist_quant::intensity::likelihood::{Observation, fit};
use cambist_quant::intensity::log_linear;
use cambist_signing::vectors::VectorError;

use crate::compare::{Member, Value, member};
use crate::input::Input;
use crate::{Computed, Context, Family};

pub(super) const INTENSITY: Family = Family {
    name: "fill_intensity",
    notes: &[],
    compute: |input, context| match input.text("kind")? {
        "own_fills" => compute_fills(input),
        "curve_points" => compute_points(input),
        "arrival_depths" => compute_depths(input, context),
        _ => Err(input
            .get("kind")?
            .malformed("own_fills, curve_points or arrival_depths")),
    },
};

/// Lists of the same length, by index.
fn same_length(input: &Input<'_>, lists: &[&Vec<f64>]) -> Result<(), VectorError> {
    if lists.windows(2).all(|pair| pair[0].len() == pair[1].len()) {
        Ok(())
    } else {
        Err(input
            .get("distance")?
            .malformed("as many as the other lists"))
    }
}

fn compute_fills(input: &Input<'_>) -> Result<Computed, VectorError> {
    let (distances, fills) = (input.floats("distance")?, input.floats("fills")?);
    let exposures = input.floats("exposure_seconds")?;
    same_length(input, &[&distances, &fills, &exposures])?;
    let seen: Vec<Observation> = (0..distances.len())
        .map(|i| Observation {
            distance: distances[i],
            fills: fills[i],
            exposure_s: exposures[i],
        })
        .collect();
    let made = fit(&seen).map_err(|error| input.refused(error))?;
    let points = seen
        .iter()
        .map(|seen| (seen.distance, seen.fills / seen.exposure_s));
    // Too few bins with fills make no line; the likelihood needs none.
    let line = log_linear(points).ok().map(|line| (line.scale, line.decay));
    let with_fills = seen.iter().filter(|seen| seen.fills > 0.0).count();
    Ok(Computed::new(vec![
        member("A", made.intensity.scale),
        member("k", made.intensity.decay),
        member("se_A", made.scale_error),
        member("se_k", made.decay_error),
        member("cov_A_k", made.covariance),
        member("log_likelihood", made.log_likelihood),
        member(
            "ols",
            line.map(|(scale, decay)| {
                vec![
                    member("A", scale),
                    member("k", decay),
                    member("points", with_fills),
                ]
            }),
        ),
    ]))
}

fn compute_points(input: &Input<'_>) -> Result<Computed, VectorError> {
    let (distances, rates) = (input.floats("distance")?, input.floats("intensity")?);
    same_length(input, &[&distances, &rates])?;
    let points = distances.into_iter().zip(rates);
    let line = log_linear(points).map_err(|error| input.refused(error))?;
    let members = || vec![member("A", line.scale), member("k", line.decay)];
    Ok(Computed::new(members()).published(members()))
}

/// How many counts the file states.
const HALF_TICKS_STATED: usize = 80;
const WHOLE_TICKS_STATED: usize = 40;

fn compute_depths(input: &Input<'_>, context: &Context<'_>) -> Result<Computed, VectorError> {
    let depths = input.floats("arrival_depth_ticks")?;
    let (window, first) = (input.float("window_seconds")?, input.whole("fit_first")?);
    let bins = input.whole("max_ticks")?;
    let gamma = input.float("gamma")?;
    let xi = input.float("xi")?;
    let lot = input.float("Delta")?;
    // The volatility was estimated from data that the file does not hold; it is stated beside.
    let sigma = context
        .case
        .get("out")?
        .get("sigma_ticks_per_sqrt_s")?
        .float()?;
    let refused = |error| input.refused(error);
    let halves = half_ticks(&depths, bins).map_err(refused)?;
    let wholes = whole_ticks(&depths, bins).map_err(refused)?;
    let (half, whole) = (
        halves.fit(first, window).map_err(refused)?,
        wholes.fit(first, window).map_err(refused)?,
    );
    let quotes = gueant_2016(sigma, half.scale, half.decay, gamma, lot, xi).map_err(refused)?;
    let counts = |name: &str, histogram: &Histogram, stated: usize| -> Member {
        let counts = histogram.counts.iter().take(stated);
        member(
            name,
            Value::List(counts.map(|count| i64::from(*count).into()).collect()),
        )
    };
    Ok(Computed::new(vec![
        member(
            "hftbacktest_half_tick",
            vec![
                counts("counts_first_80", &halves, HALF_TICKS_STATED),
                member("n_lambda", halves.counts.len()),
                member("A", half.scale),
                member("k", half.decay),
                member("half_spread", quotes.half_spread),
                member("skew", quotes.skew),
            ],
        ),
        member("sigma_ticks_per_sqrt_s", sigma),
        member(
            "true_tick",
            vec![
                counts("counts_first_40", &wholes, WHOLE_TICKS_STATED),
                member("A", whole.scale),
                member("k", whole.decay),
            ],
        ),
    ]))
}
