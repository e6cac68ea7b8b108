//! What a sweep proves and what it does not, in sentences.

use cambist_backtest::DataDefects;

use super::pauses;
use super::space::{Metric, Space};
use super::stops;
use super::summary::{Chosen, Deflated, Measure, Summary, WalkForwardResult, WindowResult};

/// From this probability on, luck alone is an unlikely explanation.
const CONFIDENT: f64 = 0.95;

/// Fills below which what follows them is mostly the price change of a position.
const FILLS_FEW: u64 = 30;

/// The sentences of a summary.
pub fn of(summary: &Summary, space: &Space) -> Vec<String> {
    let mut sentences = stops::warnings(summary);
    sentences.extend(pauses::warnings(summary));
    sentences.extend(space.exhausted());
    if summary.refused > 0 {
        sentences.push(format!(
            "{} of {} runs were refused, because their values are no configuration: they count as no trial. The first: {}",
            summary.refused,
            summary.runs,
            summary.first_refusal.as_deref().unwrap_or("unknown")
        ));
    }
    if summary.refused == summary.runs {
        return sentences;
    }
    sentences.extend(stops::not_recorded(summary));
    sentences.extend(pauses::not_recorded(summary));
    sentences.extend(summary.data.iter().flat_map(DataDefects::sentences));
    if summary.invariants > 0 {
        sentences.push(format!(
            "In {} runs an invariant of the engine failed: each is a defect of this program.",
            summary.invariants
        ));
    }
    if summary.measure == Measure::Equity {
        sentences.push("These results are of an earlier program, which compared trials by profit and loss: price changes of the initial balances are in every figure. Run the sweep again to compare by the excess over holding.".to_owned());
    }
    if summary.without_fills > 0 {
        sentences.push(format!(
            "In {} of {} runs no order filled: their profit and loss is the price change of the initial balances.{}",
            summary.without_fills,
            summary.runs,
            match summary.measure {
                Measure::ExcessOverHolding =>
                    " They are counted as trials with a Sharpe ratio of zero, and cannot be the best by it.",
                Measure::Equity => "",
            }
        ));
    }
    if let Some(seconds) = summary.too_short_s {
        sentences.push(format!(
            "No run has a Sharpe ratio: the longest one lasts {}, which has fewer than two returns of return_interval, {}. Use a shorter one, or more data.",
            lasting(seconds),
            lasting_whole(summary.return_interval_s)
        ));
    }
    match &summary.walk_forward {
        Some(walk) => walk_forward(&mut sentences, walk, summary, space),
        None => match &summary.best {
            Some(best) => of_best(&mut sentences, best, summary, space),
            None if summary.too_short_s.is_some() => {}
            None => sentences.push(
                "No trial could be chosen: none had returns that vary, as is the case if none traded. Check data, limits and parameters with one `cambist backtest`.".to_owned(),
            ),
        },
    }
    sentences
}

/// Trials whose values are a configuration; those of the others are refused in every run.
pub const fn compared(summary: &Summary) -> u64 {
    let runs = if summary.runs == 0 { 1 } else { summary.runs };
    summary.trials - summary.trials * summary.refused / runs
}

fn of_best(sentences: &mut Vec<String>, best: &Chosen, summary: &Summary, space: &Space) {
    let quote = &summary.quote;
    let net = best.net_pnl.as_deref().unwrap_or("an unknown amount");
    let before = match space.trials_before {
        0 => String::new(),
        n => format!(" {n} trials of earlier sweeps are counted as well."),
    };
    let held = best.holding.as_ref().zip(best.excess_over_holding.as_ref());
    let of_it = held.map_or_else(String::new, |(holding, excess)| {
        format!(" (holding the initial balances {holding}, excess over holding {excess})")
    });
    sentences.push(format!(
        "{} compared by {} on the same data.{before} The best is trial {}: {net} {quote}{of_it}, {}.",
        match compared(summary) {
            1 => "1 trial was".to_owned(),
            n => format!("{n} trials were"),
        },
        summary.measure.metric(space.metric),
        best.trial,
        best.sharpe.map_or_else(
            || format!("no {}", summary.measure.sharpe()),
            |sharpe| format!("{} {} a year", summary.measure.sharpe(), ratio(Some(sharpe)))
        )
    ));
    sentences.extend(ranked_by_excess(best, summary));
    sentences.extend(signs(best, summary, space.metric));
    let Some(deflated) = best.deflated else {
        if summary.too_short_s.is_none() && best.fills > 0 {
            sentences.push(
                "The best trial has no Sharpe ratio, because its returns are constant.".to_owned(),
            );
        }
        return;
    };
    if deflated.trials > 1 && best.sharpe.is_some_and(|sharpe| sharpe <= 0.0) {
        sentences.extend(without_ratio(&deflated));
        sentences.push("The Sharpe ratio of the best trial is not positive: there is no result that may be luck, and the deflated Sharpe ratio states nothing more. Do not trade on it; try other parameters, or more data.".to_owned());
        return;
    }
    sentences.extend(luck(&deflated));
    if space.metric == Metric::NetPnl {
        sentences.push(
            "Trials were compared by profit; the probability is about the Sharpe ratio of the trial that earned most.".to_owned(),
        );
    }
}

/// That the best trial has no positive Sharpe ratio and is the best by its excess, if that is so.
fn ranked_by_excess(best: &Chosen, summary: &Summary) -> Option<String> {
    let of = match summary.positive_sharpe.unwrap_or(0) {
        0 => "No trial",
        // Those whose trading stopped come behind the others, whatever their ratios.
        _ => "No trial that traded to the end",
    };
    (best.is_ranked_by_excess() && compared(summary) > 1).then(|| {
        format!(
            "{of} has a positive Sharpe ratio: trials are ranked by {}.",
            summary.measure.title()
        )
    })
}

/// Trials that have no finite ratio, if there are any.
fn without_ratio(deflated: &Deflated) -> Option<String> {
    (deflated.without_ratio > 0).then(|| {
        format!(
            "{} of the trials have no Sharpe ratio, because their returns are constant and not zero, or fewer than two: they are counted as trials and could not be the best by it.",
            deflated.without_ratio
        )
    })
}

/// How much of the best ratio may be luck of the choice, and what that rests on.
fn luck(deflated: &Deflated) -> Vec<String> {
    let mut sentences: Vec<_> = without_ratio(deflated).into_iter().collect();
    let uncounted = "Trials that were not counted (trials_before) make it too high.";
    if deflated.trials == 1 || !deflated.ratios_vary {
        let p = deflated
            .probability
            .map_or_else(|| "not known".to_owned(), percent);
        sentences.push(if deflated.trials == 1 {
            format!("With one trial nothing was chosen: the probability that its true ratio is above zero is {p}. {uncounted}")
        } else {
            format!(
                "The Sharpe ratios of the trials hardly differ (standard deviation {} a year): the deflated Sharpe ratio, {p}, is evidence about the ratio alone and none about the choice among {} trials.",
                ratio(Some(deflated.ratios_sd)),
                deflated.trials
            )
        });
        return sentences;
    }
    sentences.push(format!(
        "The best of {} trials without any skill is expected to show a Sharpe ratio of {} on data like these.",
        deflated.trials,
        ratio(Some(deflated.expected_best))
    ));
    sentences.push(match deflated.probability {
        Some(p) if p >= CONFIDENT => format!(
            "The probability that the true ratio of the best is above that is {} (deflated Sharpe ratio): the choice alone does not explain it. These are still the data that it was chosen on; [walk_forward] shows what is left on data that it was not.",
            percent(p)
        ),
        Some(p) => format!(
            "The probability that the true ratio of the best is above that is {} (deflated Sharpe ratio), below {}: it may be the best by luck. Do not trade on it; try fewer parameters, more data, or [walk_forward].",
            percent(p),
            percent(CONFIDENT)
        ),
        None => "How probable it is that the best is the best by luck cannot be computed from these returns.".to_owned(),
    });
    sentences.push(format!(
        "Trials that resemble each other are counted in full, which raises the expected ratio, and reduce the variance of the ratios, which lowers it: the probability may be too low or too high. {uncounted}"
    ));
    sentences
}

/// What the signs of the best trial's figures mean.
fn signs(best: &Chosen, summary: &Summary, metric: Metric) -> Vec<String> {
    let mut sentences = Vec::new();
    let number = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<f64>().ok());
    let (net, excess) = (number(&best.net_pnl), number(&best.excess_over_holding));
    let trials = compared(summary);
    // The best by a ratio need not be the one that earned most.
    let chosen = if best.is_ranked_by_excess() {
        format!("The trial with the highest {}", summary.measure.title())
    } else {
        format!("The trial with the best {}", summary.measure.metric(metric))
    };
    if net.is_some_and(|net| net < 0.0) {
        sentences.push(match summary.earned.unwrap_or(0) {
            0 => "No trial earned money: the best one lost money.".to_owned(),
            others => format!("{chosen} lost money; {others} of {trials} trials earned money."),
        });
    }
    if best.fills == 0 {
        sentences.push("It never traded: its profit and loss is the price change of the initial balances, and no trial was better than not trading.".to_owned());
    } else if excess.is_some_and(|excess| excess <= 0.0) {
        sentences.push(match summary.above_holding.unwrap_or(0) {
            0 => "No trial came to more than holding its initial balances: the parameters show no skill on these data.".to_owned(),
            others => format!("{chosen} came to no more than holding its initial balances; {others} of {trials} trials came to more."),
        });
    } else if net.is_some_and(|net| net < 0.0) {
        sentences.push("The best trial lost less than holding its initial balances would have, which is what its Sharpe ratio measures.".to_owned());
    }
    sentences.extend(positions(
        excess,
        best.quoting,
        best.fills,
        "the best trial",
        &summary.quote,
    ));
    let measured = match summary.measure {
        Measure::ExcessOverHolding => excess,
        Measure::Equity => net,
    };
    sentences.extend(other_sign(
        "Its Sharpe ratio",
        measured,
        best.sharpe,
        summary,
    ));
    sentences
}

/// That an amount and the ratio of its changes have different signs, if they do, and why.
fn other_sign(
    ratio_name: &str,
    measured: Option<f64>,
    sharpe: Option<f64>,
    summary: &Summary,
) -> Option<String> {
    let (measured, sharpe) = measured.zip(sharpe)?;
    (measured * sharpe < 0.0).then(|| {
        let (of_each, its) = match &summary.walk_forward {
            Some(_) => (" of each window", "the"),
            None => ("", "its"),
        };
        format!(
            "{ratio_name} has another sign than {its} {}: what happened after the last whole interval of {} s{of_each}, or around times without equity, is in the amount and not in the ratio.",
            summary.measure.title(),
            summary.return_interval_s
        )
    })
}

fn walk_forward(
    sentences: &mut Vec<String>,
    walk: &WalkForwardResult,
    summary: &Summary,
    space: &Space,
) {
    let windows = walk.windows.len();
    let chosen = walk
        .windows
        .iter()
        .filter(|window| window.test.is_some())
        .count();
    let each = walk.windows.iter().filter_map(|own| own.train.as_ref());
    let by_excess = each.filter(|train| train.is_ranked_by_excess()).count();
    let where_positive = if by_excess > 0 {
        " where it is positive"
    } else {
        ""
    };
    sentences.push(format!(
        "In each of {windows} windows, the best of {} trials by {}{where_positive} was chosen on train and reported on test.",
        compared(summary),
        summary.measure.metric(space.metric)
    ));
    if chosen < windows {
        sentences.push(format!(
            "In {} windows nothing could be chosen, because no trial had returns that vary on train.",
            windows - chosen
        ));
    }
    if by_excess > 0 {
        sentences.push(format!(
            "In {by_excess} of {windows} windows no trial that traded to the end has a positive Sharpe ratio on train: trials are ranked by {} there.",
            summary.measure.title()
        ));
    }
    sentences.extend(without_fills(walk));
    sentences.extend(lost(walk));
    sentences.extend(earned(walk, summary));
    let ranked = walk.windows.iter();
    let ranked = ranked.filter(|window| window.test_rank.is_some()).count();
    if ranked > 0 {
        sentences.push(format!(
            "On test the chosen trial was in the better half of all trials in {} of {ranked} windows in which they differ; a choice without skill is in {:.1} of them on average (trials of equal results share a place).",
            walk.better_half, walk.better_half_by_chance
        ));
    }
    if let (Some(sharpe), Some(p)) = (walk.test_sharpe, walk.test_probability) {
        sentences.push(format!(
            "The {} on test is {} a year; the probability that the true one is above zero is {}{}.",
            summary.measure.sharpe(),
            ratio(Some(sharpe)),
            percent(p),
            if p < CONFIDENT {
                ", which is no proof of skill"
            } else {
                ""
            }
        ));
    }
    sentences.extend(signs_on_test(walk, summary));
    let step = space.walk_forward;
    if step.is_some_and(|walk| walk.step_s > walk.test_s) {
        sentences.push(
            "Test windows do not meet (step is above test): the data between them are in no test."
                .to_owned(),
        );
    }
    if step.is_some_and(|walk| walk.step_s < walk.test_s) {
        sentences.push("Test windows overlap (step is below test): their sums and ratios count some hours twice.".to_owned());
    }
}

/// What different signs of the figures on test mean.
fn signs_on_test(walk: &WalkForwardResult, summary: &Summary) -> Vec<String> {
    let mut sentences = Vec::new();
    if walk.test_net < 0.0 && walk.test_excess > 0.0 {
        sentences.push("What was chosen lost money on test, but less than holding its initial balances would have, which is what its Sharpe ratio measures.".to_owned());
    }
    sentences.extend(other_sign(
        "The Sharpe ratio on test",
        Some(walk.test_excess),
        walk.test_sharpe,
        summary,
    ));
    sentences
}

/// Whether an excess over holding is that of quoting or of the positions that it led to.
fn positions(
    excess: Option<f64>,
    quoting: Option<f64>,
    fills: u64,
    of: &str,
    quote: &str,
) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some((excess, quoting)) = excess.zip(quoting)
        && fills > 0
        && excess > 0.0
    {
        let rest = excess - quoting;
        let what = if quoting <= 0.0 {
            ": the excess is that of positions, and the quoting itself earned nothing"
        } else if rest > quoting {
            ": most of the excess is that of positions"
        } else {
            ""
        };
        sentences.push(format!(
            "Of the excess of {of}, {quoting:.2} {quote} are of quoting (spread and fees) and {rest:.2} {quote} are price changes of positions that differ from the initial balances{what}."
        ));
    }
    if (1..FILLS_FEW).contains(&fills) {
        sentences.push(format!(
            "It rests on {fills} fills: fewer than {FILLS_FEW} are little evidence, whatever the ratio."
        ));
    }
    sentences
}

/// Windows in which nothing was traded: their profit is that of holding.
fn without_fills(walk: &WalkForwardResult) -> Vec<String> {
    let windows = walk.windows.len();
    let count = |is: &dyn Fn(&WindowResult) -> bool| walk.windows.iter().filter(|w| is(w)).count();
    let never = |chosen: Option<&Chosen>| chosen.is_some_and(|chosen| chosen.fills == 0);
    let each = [
        (
            count(&|window| window.traded[0] == 0),
            "no trial traded on train",
        ),
        (
            count(&|window| never(window.train.as_ref())),
            "the chosen trial never traded on train",
        ),
        (
            count(&|window| never(window.test.as_ref())),
            "the chosen trial never traded on test, where its profit and loss is the price change of the initial balances",
        ),
    ];
    let found = each.into_iter().filter(|(count, _)| *count > 0);
    found
        .map(|(count, what)| format!("In {count} of {windows} windows {what}."))
        .collect()
}

/// Windows in which the chosen trial lost money, or earned no more than holding.
fn lost(walk: &WalkForwardResult) -> Vec<String> {
    let windows = walk.windows.len();
    let [train, test] = walk.lost;
    let [train_none, test_none] = walk.without_excess;
    let each = [
        (train, "lost money on train"),
        (
            train_none,
            "traded and came to no more than holding its initial balances on train: it showed no skill on the data that it was chosen on",
        ),
        (test, "lost money on test"),
        (
            test_none,
            "traded and came to no more than holding its initial balances on test",
        ),
    ];
    let found = each.into_iter().filter(|(count, _)| *count > 0);
    found
        .map(|(count, what)| format!("In {count} of {windows} windows the chosen trial {what}."))
        .collect()
}

/// What the chosen trials came to, in how much time, and which of the data are in no window.
fn earned(walk: &WalkForwardResult, summary: &Summary) -> Vec<String> {
    let quote = &summary.quote;
    let mut sentences = Vec::new();
    if walk.train_s > 0.0 && walk.test_s > 0.0 {
        let (train, test) = (walk.train_excess, walk.test_excess);
        let (unit_s, unit) = match walk.train_s.min(walk.test_s) {
            short if short >= 86_400.0 => (86_400.0, "a day"),
            short if short >= 3_600.0 => (3_600.0, "an hour"),
            _ => (60.0, "a minute"),
        };
        let rates = [train / walk.train_s, test / walk.test_s];
        sentences.push(format!(
            "What was chosen had {} of {train:.2} {quote} in {} of train windows{} and {test:.2} {quote} in {} of test windows: {:.4} and {:.4} {quote} {unit}.",
            match summary.measure {
                Measure::ExcessOverHolding => "an excess over holding",
                Measure::Equity => "a net profit and loss",
            },
            lasting(walk.train_s),
            overlap(walk),
            lasting(walk.test_s),
            rates[0] * unit_s,
            rates[1] * unit_s,
        ));
        if rates[0] > 0.0 && rates[1] <= 0.0 {
            sentences.push("It earned on the data that it was chosen on and not on those that followed: the choice is over-fitted. Do not trade on it.".to_owned());
        } else if rates[0] > 0.0 && rates[1] < rates[0] / 2.0 {
            sentences.push("Less than half of what it earned on train was left on test: much of the choice is over-fitted.".to_owned());
        }
        if summary.measure == Measure::ExcessOverHolding {
            sentences.extend(positions(
                Some(test),
                Some(walk.test_quoting),
                walk.test_fills,
                "what was chosen, on test",
                quote,
            ));
        }
        if walk.test_net > 0.0 && test <= 0.0 {
            sentences.push(format!(
                "The profit of {:.2} {quote} on test is that of holding the initial balances.",
                walk.test_net
            ));
        }
    }
    if let (Some([from, to]), Some(unused_s)) = (&walk.data, walk.unused_s) {
        let unused = if unused_s > 0.0 {
            format!(
                "the last {} are in no window, because no further one fits whole",
                lasting(unused_s)
            )
        } else {
            "the last window ends with them".to_owned()
        };
        sentences.push(format!("The data are of {from} to {to}; {unused}."));
    }
    sentences
}

/// How much of the data train windows cover, where they overlap.
pub fn overlap(walk: &WalkForwardResult) -> String {
    if walk.train_distinct_s < walk.train_s {
        format!(
            " (they overlap and cover {} of the data)",
            lasting(walk.train_distinct_s)
        )
    } else {
        String::new()
    }
}

/// A whole number of seconds for display.
#[expect(clippy::cast_precision_loss, reason = "for display")]
fn lasting_whole(seconds: u64) -> String {
    lasting(seconds as f64)
}

/// A duration for display, in the unit in which it is short.
pub fn lasting(seconds: f64) -> String {
    match seconds {
        s if s >= 172_800.0 => format!("{:.1} days", s / 86_400.0),
        s if s >= 7_200.0 => format!("{:.1} h", s / 3_600.0),
        s if s >= 120.0 => format!("{:.1} min", s / 60.0),
        s => format!("{s:.1} s"),
    }
}

/// A value that is missing, in tables and tiles.
pub const MISSING: &str = "–";

/// A ratio for display.
pub fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| format!("{value:.2}"))
}

/// A probability for display: never rounded to certainty.
pub fn percent(p: f64) -> String {
    format!("{} %", percent_number(p))
}

/// The same in a column whose name has the unit.
pub fn percent_number(p: f64) -> String {
    if p > 0.999 {
        "above 99.9".to_owned()
    } else if p < 0.001 {
        "below 0.1".to_owned()
    } else {
        format!("{:.1}", p * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excess_of_positions_is_named() {
        let of = |excess, quoting, fills| {
            positions(Some(excess), Some(quoting), fills, "the best trial", "Q").join(" ")
        };
        assert_eq!(
            of(5.0, 4.0, 100),
            "Of the excess of the best trial, 4.00 Q are of quoting (spread and fees) and 1.00 Q are price changes of positions that differ from the initial balances."
        );
        assert!(of(5.0, 1.0, 100).contains("most of the excess is that of positions"));
        assert!(of(5.0, -1.0, 100).contains("the quoting itself earned nothing"));
        assert_eq!(of(-5.0, -1.0, 100), "");
        assert!(of(-5.0, -1.0, 29).contains("It rests on 29 fills"));
        assert_eq!(of(-5.0, -1.0, 30), "");
        assert_eq!(of(0.0, 0.0, 0), "");
    }

    fn deflated(trials: u64) -> Deflated {
        Deflated {
            trials,
            zero: 0,
            without_ratio: 0,
            ratios_sd: 3.0,
            ratios_vary: true,
            expected_best: 4.0,
            probability: Some(0.97),
        }
    }

    #[test]
    fn similar_trials_are_no_caution_and_equal_ones_no_evidence_of_the_choice() {
        let text = luck(&deflated(12)).join(" ");
        assert!(text.contains("The best of 12 trials"), "{text}");
        assert!(text.contains("may be too low or too high"), "{text}");
        let one = luck(&deflated(1)).join(" ");
        assert!(one.contains("With one trial nothing was chosen"), "{one}");
        assert!(!one.contains("resemble"), "{one}");
        let equal = Deflated {
            ratios_vary: false,
            ratios_sd: 0.0,
            without_ratio: 2,
            ..deflated(12)
        };
        let equal = luck(&equal).join(" ");
        assert!(
            equal.contains("none about the choice among 12 trials"),
            "{equal}"
        );
        assert!(
            equal.contains("2 of the trials have no Sharpe ratio"),
            "{equal}"
        );
        assert!(!equal.contains("does not explain it"), "{equal}");
    }

    #[test]
    fn durations_have_the_unit_in_which_they_are_short() {
        for (seconds, text) in [
            (59.0, "59.0 s"),
            (180.0, "3.0 min"),
            (7_200.0, "2.0 h"),
            (259_200.0, "3.0 days"),
        ] {
            assert_eq!(lasting(seconds), text);
        }
    }
}
