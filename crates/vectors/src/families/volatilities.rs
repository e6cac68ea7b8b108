//! Volatility estimators.

use cambist_quant::volatility::bars::{Bar, Bars};
use cambist_quant::volatility::samples::Samples;
use cambist_quant::{Exact, Number, Result as Quantity};
use cambist_signing::vectors::{Node, VectorError};

use crate::compare::{Member, Value, member};
use crate::input::{Input, exact, list};
use crate::{Computed, Context, Family};

pub(super) const VOLATILITY: Family = Family {
    name: "volatility",
    notes: &[],
    compute: |input, context| match input.text("kind")? {
        "ohlc" => compute_bars(input, context),
        "mids" => compute_mids(input),
        "mids_only_instant" => compute_instant(input),
        _ => Err(input
            .get("kind")?
            .malformed("ohlc, mids or mids_only_instant")),
    },
};

fn compute_bars(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let opens = input.nullable("open")?;
    let opens = opens.map(|node| list(&node, Node::float)).transpose()?;
    let (highs, lows, closes) = (
        input.floats("high")?,
        input.floats("low")?,
        input.floats("close")?,
    );
    let n = closes.len();
    if [highs.len(), lows.len(), opens.as_ref().map_or(n, Vec::len)] != [n; 3] {
        return Err(input
            .get("close")?
            .malformed("as many as highs, lows and opens"));
    }
    let bars: Vec<Bar> = (0..n)
        .map(|i| Bar {
            open: opens.as_ref().map(|opens| opens[i]),
            high: highs[i],
            low: lows[i],
            close: closes[i],
        })
        .collect();
    let lambda = input.float("ewma_lambda")?;
    let estimate = || -> Quantity<(Vec<Member>, Vec<Member>)> {
        let bars = Bars::new(&bars)?;
        let weighted = bars.exponentially_weighted(lambda)?;
        let mut members = vec![
            member("close_close_sd", bars.close_to_close()?),
            member("close_close_rms", bars.close_to_close_rms()?),
            member("ewma_sd", weighted),
            member("parkinson_rms", bars.parkinson()?),
            member("parkinson_mean_haug", bars.parkinson_of_means()?),
            member("high_low_close_haug", bars.high_low_close()?),
        ];
        if opens.is_some() {
            let yang_zhang = bars.yang_zhang()?;
            members.extend([
                member("garman_klass", bars.garman_klass()?),
                member("rogers_satchell", bars.rogers_satchell()?),
                member("yang_zhang", yang_zhang.sd),
                member("yang_zhang_k", yang_zhang.weight),
                member("yang_zhang_n", yang_zhang.bars),
            ]);
        }
        let published = vec![
            member("close_close_sd", Value::Printed(bars.close_to_close()?)),
            member(
                "parkinson_mean_haug",
                Value::Printed(bars.parkinson_of_means()?),
            ),
            member(
                "high_low_close_haug",
                Value::Printed(bars.high_low_close()?),
            ),
            member(
                "ewma_sd_times_sqrt252",
                Value::Printed(weighted * 252_f64.sqrt()),
            ),
        ];
        Ok((members, published))
    };
    let (members, published) = estimate().map_err(|error| input.refused(error))?;
    Ok(Computed::new(members).published(published))
}

fn prices(input: &Input<'_>) -> Result<Samples<Exact>, VectorError> {
    let prices = list(&input.get("prices")?, exact)?;
    Samples::new(&prices).map_err(|error| input.refused(error))
}

fn compute_mids(input: &Input<'_>) -> Result<Computed, VectorError> {
    let samples = prices(input)?;
    let seconds = input.float("sample_seconds")?;
    let scales: Vec<usize> = list(&input.get("subsampling")?, Node::integer)?;
    let estimate = || -> Quantity<(Vec<Member>, f64)> {
        let float = |value: &Exact| value.to_f64();
        let deviation = samples.deviation(seconds)?;
        let mut members = vec![
            member("rv_all", float(&samples.realised_variance())),
            member("noise_variance_rv", float(&samples.noise_variance())),
            member(
                "first_order_autocovariance",
                samples.autocovariance().as_ref().map(float),
            ),
            member(
                "noise_variance_roll",
                samples.roll_noise_variance().as_ref().map(float),
            ),
        ];
        let mut without_noise = None;
        for every in scales {
            let scales = samples.two_scale(every)?;
            members.extend([
                member(
                    format!("rv_subsampled_avg_{every}"),
                    float(&scales.subsampled),
                ),
                member(format!("tsrv_{every}"), float(&scales.raw)),
                member(format!("tsrv_adj_{every}"), float(&scales.adjusted)),
            ]);
            // The last and coarsest scale is the estimate.
            without_noise = samples.without_noise(every, seconds)?;
        }
        members.extend([
            member("sigma_per_sqrt_s_naive", samples.naive(seconds)?),
            member("sigma_per_sqrt_s_tsrv", without_noise),
            member("sigma_glft_nanstd", deviation),
            member(
                "sigma_ewma_tau30s",
                samples.exponentially_weighted(seconds, 30.0)?,
            ),
            member("hummingbot_instant", samples.instant()?),
        ]);
        Ok((members, deviation))
    };
    let (members, deviation) = estimate().map_err(|error| input.refused(error))?;
    let notebook = vec![member("hftbacktest_notebook_volatility", deviation)];
    Ok(Computed::new(members).beside(member("reference", notebook)))
}

fn compute_instant(input: &Input<'_>) -> Result<Computed, VectorError> {
    let instant = prices(input)?
        .instant()
        .map_err(|error| input.refused(error))?;
    Ok(Computed::new(vec![member("hummingbot_instant", instant)])
        .published(vec![member("hummingbot_instant", Value::Printed(instant))]))
}
