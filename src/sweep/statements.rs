//! What a sweep proves and what it does not, in sentences.

use super::space::{Metric, Space};
use super::summary::{Chosen, Summary, WalkForwardResult};

/// From this probability on, luck alone is an unlikely explanation.
const CONFIDENT: f64 = 0.95;

/// The sentences of a summary.
pub fn of(summary: &Summary, space: &Space) -> Vec<String> {
    let mut sentences = Vec::new();
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
    if summary.invariants > 0 {
        sentences.push(format!(
            "In {} runs an invariant of the engine failed: each is a defect of this program.",
            summary.invariants
        ));
    }
    match &summary.walk_forward {
        Some(walk) => walk_forward(&mut sentences, walk, summary, space),
        None => match &summary.best {
            Some(best) => of_best(&mut sentences, best, summary, space),
            None => sentences.push(
                "No trial could be compared: none had returns that vary. Check data, limits and parameters with one `cambist backtest`.".to_owned(),
            ),
        },
    }
    sentences
}

/// Trials whose values are a configuration; those of the others are refused in every run.
const fn compared(summary: &Summary) -> u64 {
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
    sentences.push(format!(
        "{} trials were compared by {} on the same data.{before} The best is trial {}: {net} {quote}, Sharpe ratio {} a year.",
        compared(summary),
        space.metric.title(),
        best.trial,
        ratio(best.sharpe)
    ));
    if best
        .net_pnl
        .as_ref()
        .is_some_and(|net| net.starts_with('-'))
    {
        sentences.push("Even the best trial lost money.".to_owned());
    }
    if best.fills == 0 {
        sentences.push(
            "It never traded: what it shows is the price change of what the account held."
                .to_owned(),
        );
    }
    let Some(deflated) = best.deflated else {
        sentences.push(
            "The best trial has no Sharpe ratio, because its returns do not vary.".to_owned(),
        );
        return;
    };
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
    if space.metric == Metric::NetPnl {
        sentences.push(
            "Trials were compared by profit; the probability is about the Sharpe ratio of the trial that earned most.".to_owned(),
        );
    }
    sentences.push(
        "Trials that resemble each other are counted in full, which makes the probability a cautious one; trials that were not counted (trials_before) make it too high.".to_owned(),
    );
}

fn walk_forward(
    sentences: &mut Vec<String>,
    walk: &WalkForwardResult,
    summary: &Summary,
    space: &Space,
) {
    let quote = &summary.quote;
    let windows = walk.windows.len();
    let chosen = walk
        .windows
        .iter()
        .filter(|window| window.test.is_some())
        .count();
    sentences.push(format!(
        "In each of {windows} windows, the best of {} trials by {} was chosen on train and reported on test.",
        compared(summary),
        space.metric.title()
    ));
    if chosen < windows {
        sentences.push(format!(
            "In {} windows nothing could be chosen, because no trial had returns that vary.",
            windows - chosen
        ));
    }
    if let (Some(train), Some(test)) = (walk.train_net_per_day, walk.test_net_per_day) {
        sentences.push(format!(
            "What was chosen earned {train:.2} {quote} a day on train and {test:.2} {quote} a day on test; {:.2} {quote} on all test windows.",
            walk.test_net
        ));
        if train > 0.0 && test <= 0.0 {
            sentences.push("It earned on the data that it was chosen on and lost on those that followed: the choice is over-fitted. Do not trade on it.".to_owned());
        } else if train > 0.0 && test < train / 2.0 {
            sentences.push("Less than half of what it earned on train was left on test: much of the choice is over-fitted.".to_owned());
        }
    }
    let ranked = walk.windows.iter();
    let ranked = ranked.filter(|window| window.test_rank.is_some()).count();
    if ranked > 0 {
        sentences.push(format!(
            "On test the chosen trial was in the better half of all trials in {} of {ranked} windows in which they differ; a choice without skill is in about half of them.",
            walk.better_half
        ));
    }
    if let (Some(sharpe), Some(p)) = (walk.test_sharpe, walk.test_probability) {
        sentences.push(format!(
            "The Sharpe ratio on test is {} a year; the probability that the true one is above zero is {}{}.",
            ratio(Some(sharpe)),
            percent(p),
            if p < CONFIDENT { ", which is no proof of skill" } else { "" }
        ));
    }
    if space
        .walk_forward
        .is_some_and(|walk| walk.step_s < walk.test_s)
    {
        sentences.push("Test windows overlap (step is below test): their sums and ratios count some hours twice.".to_owned());
    }
}

/// A ratio for display.
pub fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value:.2}"))
}

/// A probability for display: never rounded to certainty.
pub fn percent(p: f64) -> String {
    if p > 0.999 {
        "above 99.9 %".to_owned()
    } else if p < 0.001 {
        "below 0.1 %".to_owned()
    } else {
        format!("{:.1} %", p * 100.0)
    }
}
