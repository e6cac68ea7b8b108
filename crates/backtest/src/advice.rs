//! Advice that follows from the numbers of a run, in sentences. Nothing is stated that the sample does not support.

use cambist_core::notification::Control;
use cambist_report::summary::PnlRow;

use crate::data_defects::DataDefects;
use crate::end_state::{EndState, after_stop};
use crate::markouts::MarkoutReport;
use crate::report::{Report, SideReport};

/// With fills in fewer spans of time no conclusion is drawn from them: what follows one another in one span is one
/// observation, and a confidence band needs many.
const SPANS_MIN: u64 = 30;
/// Shorter runs cover too few market conditions.
const SHORT_S: f64 = 21_600.0;
/// Both sides should be quoted for this share of the time.
const QUOTED_MIN: f64 = 0.95;
/// A reason for missing quotes that lasted less is shown as 0 s, and explains nothing.
const REASON_MIN_S: f64 = 0.5;
/// From this difference on the share that the engine measured is named beside it.
const POLLED_MORE: f64 = 0.01;

impl SideReport {
    /// Reasons for missing quotes with their seconds, without those too short to show.
    pub fn reasons(&self) -> impl Iterator<Item = (&str, f64)> {
        let each = self.withheld_s.iter();
        let each = each.map(|(reason, seconds)| (reason.as_str(), *seconds));
        each.filter(|(_, seconds)| *seconds >= REASON_MIN_S)
    }
}

/// Advice on a run, most important first.
pub fn advice(report: &Report) -> Vec<String> {
    let mut advice = Vec::new();
    let defects = || report.data.iter().map(DataDefects::from);
    advice.extend(defects().filter_map(|data| data.outside));
    advice.extend(defects().filter_map(|data| data.many()));
    advice.extend(defects().flat_map(|data| data.warnings));
    if !report.invariants.is_empty() {
        advice.push(format!(
            "{} invariants of the engine failed: this is a defect of the program, please report it.",
            report.invariants.len()
        ));
    }
    let end = EndState::new(&report.level, &report.levels);
    if end.is_stopped() {
        advice.push(format!(
            "The trading state became {}: {}.",
            end.causes(),
            after_stop(report.fills_after_stop)
        ));
    }
    advice.extend(holding(report));
    advice.extend(markouts(report));
    if let Some(pnl) = &report.pnl {
        advice.extend(causes(report, pnl));
    }
    if report.quoted_both_sides_ratio < QUOTED_MIN {
        advice.push(quoted(report));
    }
    if report.rate_limited > 0 {
        advice.push(format!(
            "The exchange refused {} requests because of its rate limit: the configured request budget is above it.",
            report.rate_limited
        ));
    }
    advice.extend(defects().filter_map(|data| data.late));
    advice.extend(defects().filter_map(|data| data.unusual()));
    if report.duration_s < SHORT_S {
        advice.push(format!(
            "The run covers {:.1} hours: too short to cover different market conditions.",
            report.duration_s / 3_600.0
        ));
    }
    advice
}

/// The markout that conclusions rest on.
fn ten_seconds(report: &Report) -> Option<&MarkoutReport> {
    let mut found = report.markouts.iter();
    found.find(|m| m.horizon_s == 10 && m.side == "all")
}

/// Whether the result is that of the initial balances rather than of trading.
fn holding(report: &Report) -> Option<String> {
    let quote = &report.quote;
    let (total, held, excess) = (
        &report.pnl.as_ref()?.total,
        report.holding.as_ref()?,
        report.excess_over_holding.as_ref()?,
    );
    if report.fills == 0 {
        return Some(format!(
            "Nothing was traded: the profit and loss of {total} {quote} is the price change of the initial balances and no evidence about the quoting."
        ));
    }
    let number = |text: &str| text.parse::<f64>().unwrap_or(0.0);
    (number(total) > 0.0 && number(excess) <= 0.0).then(|| {
        format!(
            "The profit is that of holding: the initial balances alone changed by {held} {quote}, and trading changed that by {excess} {quote}."
        )
    })
}

fn markouts(report: &Report) -> Option<String> {
    let ten = ten_seconds(report);
    let spans = ten.map_or(0, |ten| ten.spans);
    if spans < SPANS_MIN {
        return Some(format!(
            "There were {} fills, in {spans} spans of 10 s: too few for a conclusion.",
            report.fills
        ));
    }
    let ten = ten?;
    of_markouts(ten, fee_bps(report), quoting(report.pnl.as_ref()))
}

/// What the mids after fills, net of the fees, mean for the quotes; `quoting` is spread and fees of the run.
fn of_markouts(ten: &MarkoutReport, fee: f64, quoting: f64) -> Option<String> {
    let mean = ten.mean_bps?;
    let (low, high) = ten.low_bps.zip(ten.high_bps)?;
    let estimate = format!(
        "the mean 10 s markout (mid against the fill's price) is {mean:+.1} bps (95 %: {low:+.1} to {high:+.1}, {} fills in n = {} spans of 10 s), {:+.1} bps net of fees of {fee:.1} bps",
        ten.fills,
        ten.spans,
        mean - fee
    );
    Some(if high < fee {
        format!(
            "Fills lose: {estimate}. Quotes were {:.1} bps short of break-even at the 10 s markout after fees; wider quotes would fill less often.",
            fee - mean
        )
    } else if low <= fee {
        format!("Fills neither earn nor lose significantly: {estimate}.")
    } else if quoting < 0.0 {
        // The spread at the fills alone does not pay for the fees.
        format!("Fills earn: {estimate}.")
    } else {
        format!("Fills earn: {estimate}. Tighter quotes may earn more.")
    })
}

/// Fees in bps of what was traded.
fn fee_bps(report: &Report) -> f64 {
    let number = |text: &String| text.parse::<f64>().unwrap_or(0.0);
    let traded: f64 = report.quote_volume.values().map(number).sum();
    match &report.pnl {
        // Not negated: without fees that would be -0.0.
        Some(pnl) if traded > 0.0 => (0.0 - number(&pnl.fees)) / traded * 10_000.0,
        _ => 0.0,
    }
}

/// Spread and fees.
fn quoting(pnl: Option<&PnlRow>) -> f64 {
    let number = |text: &String| text.parse::<f64>().unwrap_or(0.0);
    pnl.map_or(0.0, |pnl| number(&pnl.spread) + number(&pnl.fees))
}

fn causes(report: &Report, pnl: &PnlRow) -> Vec<String> {
    let number = |text: &str| text.parse::<f64>().unwrap_or(0.0);
    let quoting = quoting(Some(pnl));
    let holdings = number(&pnl.holdings);
    let quote = &report.quote;
    let mut advice = Vec::new();
    let spans = ten_seconds(report).map_or(0, |ten| ten.spans);
    if spans >= SPANS_MIN && quoting < 0.0 {
        advice.push(format!(
            "Quoting itself lost {:.2} {quote}: spread {}, fees {}.",
            -quoting, pnl.spread, pnl.fees
        ));
    }
    // Without a fill there is no quoting to judge, and what was held is what the account began with.
    if report.fills > 0 && holdings.abs() > 2.0 * quoting.abs() && holdings != 0.0 {
        advice.push(format!(
            "Most of the result comes from price changes of the holdings ({holdings:+.2} {quote}): it says little about the quoting. Compare with a narrower inventory band."
        ));
    }
    advice
}

/// Whether an operator can act on a reason for missing quotes: it is neither routine nor as configured, and not the
/// strategy's own choice.
fn is_actionable(reason: &str) -> bool {
    let control = Control::named(reason);
    control.is_none_or(|control| {
        !control.is_routine() && !control.is_by_design() && control != Control::NotWanted
    })
}

/// The longest reason for missing quotes, and the longest one that an operator can act on, where that is another one.
/// Of reasons that last equally long for display, the one to act on is named.
fn longest_reasons(sides: &[SideReport]) -> String {
    let longest = |actionable: bool| {
        let each = sides.iter().flat_map(|side| {
            let reasons = side.reasons();
            reasons.map(move |(reason, seconds)| (side, reason, seconds))
        });
        let own = each.filter(|(_, reason, _)| is_actionable(reason) == actionable);
        // Of equals the first.
        own.reduce(|longest, one| if one.2 > longest.2 { one } else { longest })
    };
    let named = |(side, reason, seconds): (&SideReport, &str, f64)| {
        format!(
            "{reason}, {seconds:.0} s on the {} side of {}",
            side.side, side.market
        )
    };
    match (longest(true), longest(false)) {
        (None, None) => String::new(),
        (Some(one), other) if other.is_none_or(|other| one.2.round() >= other.2.round()) => {
            format!("; the engine's longest reason for none was {}", named(one))
        }
        (Some(one), Some(other)) if one.2.round() > 0.0 => format!(
            "; the engine's longest reason for none was {}, and the longest one to act on {}",
            named(other),
            named(one)
        ),
        (_, Some(other)) | (Some(other), None) => {
            format!(
                "; the engine's longest reason for none was {}",
                named(other)
            )
        }
    }
}

fn quoted(report: &Report) -> String {
    let reason = longest_reasons(&report.sides);
    let as_polled = report.quoted_both_sides_as_polled_ratio;
    let polled = if as_polled - report.quoted_both_sides_ratio > POLLED_MORE {
        // The engine's reasons do not explain the difference.
        format!(
            ", {:.1} % as the engine measured it, which counts a filled order as a quote until its next poll",
            as_polled * 100.0
        )
    } else {
        String::new()
    };
    format!(
        "Own orders were on both sides at the exchange {:.1} % of the time{polled}{reason} (docs/no-quotes.md).",
        report.quoted_both_sides_ratio * 100.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markouts_are_judged_net_of_fees() {
        let of = |low: f64, high: f64, fee: f64, quoting: f64| {
            let ten = MarkoutReport {
                horizon_s: 10,
                side: "all",
                mean_bps: Some(f64::midpoint(low, high)),
                low_bps: Some(low),
                high_bps: Some(high),
                fills: 90,
                spans: 40,
                left_out: 0,
            };
            of_markouts(&ten, fee, quoting).unwrap_or_default()
        };
        let lost = of(2.0, 4.0, 10.0, -5.0);
        assert_eq!(
            lost,
            "Fills lose: the mean 10 s markout (mid against the fill's price) is +3.0 bps (95 %: +2.0 to +4.0, 90 fills in n = 40 spans of 10 s), -7.0 bps net of fees of 10.0 bps. Quotes were 7.0 bps short of break-even at the 10 s markout after fees; wider quotes would fill less often."
        );
        assert!(of(2.0, 4.0, 3.0, 5.0).starts_with("Fills neither earn nor lose"));
        assert!(of(2.0, 4.0, 1.0, 5.0).ends_with("Tighter quotes may earn more."));
        assert!(!of(2.0, 4.0, 1.0, -5.0).contains("Tighter"));
    }

    #[test]
    fn a_reason_to_act_on_is_named() {
        let of = |buy: &[(&str, f64)], sell: &[(&str, f64)]| {
            let side = |side, reasons: &[(&str, f64)]| SideReport {
                market: "M".to_owned(),
                side,
                quoted_s: 0.0,
                quoted_as_polled_s: 0.0,
                withheld_s: reasons.iter().map(|(r, s)| ((*r).to_owned(), *s)).collect(),
            };
            longest_reasons(&[side("buy", buy), side("sell", sell)])
        };
        let order_value =
            "; the engine's longest reason for none was order_value, 345 s on the buy side of M";
        // Equal for display, whatever the sides and the fractions of a second.
        for other in ["not_configured", "not_wanted", "recovering"] {
            let value = of(&[("order_value", 345.0)], &[(other, 345.2)]);
            assert_eq!(value, order_value, "{other}");
        }
        assert_eq!(
            of(&[("order_value", 345.0)], &[("not_configured", 500.0)]),
            "; the engine's longest reason for none was not_configured, 500 s on the sell side of M, and the longest one to act on order_value, 345 s on the buy side of M"
        );
        let alone =
            "; the engine's longest reason for none was not_wanted, 9 s on the sell side of M";
        assert_eq!(of(&[("spread", 0.1)], &[("not_wanted", 9.0)]), alone);
        assert_eq!(of(&[], &[("not_wanted", 9.0)]), alone);
        assert_eq!(of(&[], &[]), "");
        // What would be shown as 0 s is no reason.
        assert_eq!(of(&[("duplicate", 0.4)], &[("not_wanted", 0.1)]), "");
    }
}
