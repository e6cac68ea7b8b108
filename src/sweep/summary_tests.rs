//! Which trials a deflated Sharpe ratio counts, and with which ratios.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::*;
use crate::sweep::run::Returns;

fn figures(fills: u64, returns: &[f64]) -> Figures {
    let mut moments = RunningMoments::default();
    for value in returns {
        moments.add(*value).unwrap();
    }
    Figures {
        from: String::new(),
        to: String::new(),
        duration_s: 60.0,
        quote: "USDC".to_owned(),
        net_pnl: Some(returns.iter().sum::<f64>().to_string()),
        holding: Some("0".to_owned()),
        excess_over_holding: Some(returns.iter().sum::<f64>().to_string()),
        spread: None,
        holdings: None,
        fees: None,
        drawdown_max: "0".to_owned(),
        fills,
        maker_fills: fills,
        orders: fills,
        cancelled: 0,
        uptime: 1.0,
        markout_10s_bps: None,
        returns: Returns::from(moments),
        engine_ended: None,
        trading_state: None,
        pauses: Some(cambist_backtest::Pauses::default()),
        invariants: 0,
        data: Vec::new(),
        curve: Vec::new(),
    }
}

fn rows(trials: &[(u64, &[f64])]) -> Vec<Row> {
    let each = (0..).zip(trials);
    each.map(|(run, (fills, returns))| Row {
        run,
        trial: run,
        window: None,
        phase: Phase::All,
        values: Vec::new(),
        outcome: Outcome::Done(Box::new(figures(*fills, returns))),
    })
    .collect()
}

/// The deflated ratio of the best trial.
fn of_best(trials: &[(u64, &[f64])], before: u64) -> (Group<'static>, Deflated) {
    let rows: &'static [Row] = rows(trials).leak();
    let group = Group::new(rows.iter(), before);
    let deflated = group.deflated(group.best(Metric::Sharpe).unwrap(), 60);
    (group, deflated.unwrap())
}

const GOOD: &[f64] = &[1.0, 2.0, -1.0, 3.0, 1.0, -2.0, 2.0, 1.0];
const POOR: &[f64] = &[1.0, -2.0, -1.0, 1.0, 1.0, -2.0, 1.0, 0.5];
const ZERO: &[f64] = &[0.0; 8];
const CONSTANT: &[f64] = &[0.5; 8];

#[test]
fn every_trial_that_was_compared_is_counted() {
    let (two, of_two) = of_best(&[(9, GOOD), (9, POOR)], 0);
    assert_eq!((two.trials, of_two.zero, of_two.without_ratio), (2, 0, 0));
    let idle = [(9, GOOD), (9, POOR), (0, ZERO), (0, ZERO), (0, ZERO)];
    let (five, of_five) = of_best(&idle, 0);
    assert_eq!(
        (five.trials, of_five.zero, of_five.without_ratio),
        (5, 3, 0)
    );
    // Their ratios are zero in the variance.
    let ratios = [GOOD, POOR].map(|returns| Moments::new(returns).unwrap().sharpe());
    let expected = [ratios[0], ratios[1], 0.0, 0.0, 0.0];
    let variance = variance_of(&expected).unwrap();
    assert!((five.variance - variance).abs() < 1e-12);
    let best = Moments::new(GOOD).unwrap().deflated(5, variance).unwrap();
    assert!((of_five.probability.unwrap() - best).abs() < 1e-9);
    // A ratio that is not finite is counted, without a place in the variance: the probability falls.
    let constant = [(9, GOOD), (9, POOR), (5, CONSTANT)];
    let (three, of_three) = of_best(&constant, 0);
    assert_eq!(
        (three.trials, of_three.zero, of_three.without_ratio),
        (3, 0, 1)
    );
    assert!((three.variance - two.variance).abs() < 1e-12);
    assert!(of_three.probability < of_two.probability);
    assert_eq!(of_best(&constant, 100).1.trials, 103);
}

#[test]
fn a_moment_of_several_windows_is_covered_once() {
    let at = |second: i64| Timestamp(second * 1_000_000_000);
    let of = |periods: &[(i64, i64)]| covered_s(periods.iter().map(|(a, b)| (at(*a), at(*b))));
    assert!((of(&[(0, 60), (20, 80), (40, 100)]) - 100.0).abs() < 1e-9);
    // Anchored, in any order, and apart.
    assert!((of(&[(0, 100), (0, 60)]) - 100.0).abs() < 1e-9);
    assert!((of(&[(200, 260), (0, 60)]) - 120.0).abs() < 1e-9);
    assert!(of(&[]).abs() < 1e-9);
}

#[test]
fn ratios_that_hardly_differ_are_named() {
    assert!(of_best(&[(9, GOOD), (9, POOR)], 0).1.ratios_vary);
    assert!(!of_best(&[(9, GOOD), (9, GOOD), (9, GOOD)], 0).1.ratios_vary);
    assert!(!of_best(&[(9, GOOD)], 12).1.ratios_vary);
}

/// A trial that did not trade on test has a place among the others, by its ratio of zero.
#[test]
fn a_trial_that_never_traded_has_a_rank() {
    let rows = rows(&[(9, GOOD), (0, ZERO), (9, POOR)]);
    let group = Group::new(rows.iter(), 0);
    let ranks: Vec<_> = group
        .scores
        .iter()
        .map(|score| group.rank(score, Metric::Sharpe))
        .collect();
    assert_eq!(ranks, [Some((1, 3)), Some((2, 3)), Some((3, 3))]);
}

/// A sweep of four trials over windows of a minute.
fn header(windows: usize, runs: u64) -> Header {
    let at = |minute: usize| format!("2026-01-01T00:{minute:02}:00Z");
    Header {
        format: Header::FORMAT,
        program: String::new(),
        build: String::new(),
        config: String::new(),
        sweep: String::new(),
        data: Vec::new(),
        settings: Value::Null,
        windows: (0..windows)
            .map(|n| [at(n), at(n + 1), at(n + 2)])
            .collect(),
        runs,
        shard: None,
    }
}

fn space() -> Space {
    Space::parse(&cambist_config::Source {
        path: "sweep.toml".into(),
        text: "config_version = 1\n[[parameter]]\nname = \"amount\"\nvalues = [1, 2, 3, 4]\n"
            .to_owned(),
    })
    .unwrap()
}

/// One trial in windows, each with its fills, net and excess on train and on test.
#[test]
fn windows_in_which_the_chosen_trial_lost_are_stated() {
    let windows = [
        [(9, "-2", "-3"), (9, "1", "2")],
        [(9, "-1", "4"), (9, "-1", "-2")],
        // What never trades has the loss of holding, and the excess of that is stated elsewhere.
        [(9, "-1", "0"), (0, "-1", "0")],
        [(9, "5", "1"), (9, "2", "1")],
    ];
    let mut rows = Rows::new();
    for (window, parts) in (0..).zip(windows) {
        for (phase, (fills, net, excess)) in [Phase::Train, Phase::Test].into_iter().zip(parts) {
            let run = rows.len() as u64;
            let figures = Figures {
                net_pnl: Some(net.to_owned()),
                excess_over_holding: Some(excess.to_owned()),
                ..figures(fills, GOOD)
            };
            rows.insert(
                run,
                Row {
                    run,
                    trial: 0,
                    window: Some(window),
                    phase,
                    values: vec![toml::Value::Integer(1)],
                    outcome: Outcome::Done(Box::new(figures)),
                },
            );
        }
    }
    let summary = summary(&header(windows.len(), 8), &space(), &rows);
    let walk = summary.walk_forward.as_ref().unwrap();
    assert_eq!((walk.lost, walk.without_excess), ([3, 2], [2, 1]));
    for sentence in [
        "In 3 of 4 windows the chosen trial lost money on train.",
        "In 2 of 4 windows the chosen trial traded and came to no more than holding its initial balances on train: it showed no skill on the data that it was chosen on.",
        "In 2 of 4 windows the chosen trial lost money on test.",
        "In 1 of 4 windows the chosen trial traded and came to no more than holding its initial balances on test.",
    ] {
        assert!(
            summary.statements.iter().any(|own| own == sentence),
            "{sentence}: {:?}",
            summary.statements
        );
    }
}

/// Runs of an earlier format have no trading state: only those whose engine ended are known to have stopped.
#[test]
fn stops_of_an_earlier_format_are_those_of_the_engine() {
    let mut rows: Rows = rows(&[(9, GOOD), (9, POOR)])
        .into_iter()
        .map(|row| (row.run, row))
        .collect();
    for row in rows.values_mut() {
        row.values = vec![toml::Value::Integer(1)];
    }
    if let Outcome::Done(figures) = &mut rows.get_mut(&1).unwrap().outcome {
        figures.from = "2026-01-01T00:00:00Z".to_owned();
        figures.engine_ended = Some("2026-01-01T00:00:15Z".to_owned());
    }
    let earlier = Header {
        format: 3,
        ..header(0, 2)
    };
    let found = summary(&earlier, &space(), &rows);
    assert_eq!((found.stopped.runs, found.stopped.is_recorded), (1, false));
    assert_eq!(found.stopped.after, Some([0.25; 2]));
    let statements = found.statements.join(" ");
    for words in [
        "In 1 of 2 runs trading stopped before the end of the data, after 25.0 % of their time.",
        "The best trial, 0, is none of them.",
        "did not record the trading state of a run",
    ] {
        assert!(statements.contains(words), "{words}: {statements}");
    }
    let now = summary(&header(0, 2), &space(), &rows);
    assert!(!now.statements.join(" ").contains("did not record"));
}

/// Trials with their net profit and loss and their excess over holding; the first has the best ratio.
fn amounts_of(trials: &[(&str, &str)]) -> Summary {
    let mut found = Rows::new();
    for (row, (net, excess)) in rows(&vec![(40, POOR); trials.len()])
        .into_iter()
        .zip(trials)
    {
        let returns = if row.run == 0 { GOOD } else { POOR };
        let figures = Figures {
            net_pnl: Some((*net).to_owned()),
            excess_over_holding: Some((*excess).to_owned()),
            ..figures(40, returns)
        };
        let row = Row {
            values: vec![toml::Value::Integer(1)],
            outcome: Outcome::Done(Box::new(figures)),
            ..row
        };
        found.insert(row.run, row);
    }
    summary(&header(0, trials.len() as u64), &space(), &found)
}

/// The best by a ratio may have lost money while others earned some: only the amounts of all trials show that none did.
#[test]
fn what_is_stated_of_all_trials_is_true_of_all() {
    let of = |trials: &[(&str, &str)]| amounts_of(trials).statements.join(" ");
    let some = of(&[("-1", "-2"), ("3", "1"), ("0", "0"), ("2", "-1")]);
    for words in [
        "The trial with the best Sharpe ratio of the excess over holding lost money; 2 of 4 trials earned money.",
        "The trial with the best Sharpe ratio of the excess over holding came to no more than holding its initial balances; 1 of 4 trials came to more.",
    ] {
        assert!(some.contains(words), "{words}: {some}");
    }
    let none = of(&[("-1", "-2"), ("-3", "-4"), ("0", "0"), ("-1", "-1")]);
    for words in [
        "No trial earned money: the best one lost money.",
        "No trial came to more than holding its initial balances: the parameters show no skill on these data.",
    ] {
        assert!(none.contains(words), "{words}: {none}");
        assert!(!some.contains(words), "{words}: {some}");
    }
    // The best one earned: nothing is stated of the others.
    let earned = of(&[("1", "1"), ("-3", "-4"), ("0", "0"), ("-1", "-1")]);
    assert!(
        !earned.contains("earned money") && !earned.contains("lost money"),
        "{earned}"
    );
}

/// Falls that hardly vary, and one that varies more and loses more: its ratio is nearer to zero.
const LOST_LITTLE: &[f64] = &[-1.0, -1.1, -0.9, -1.0, -1.1, -0.9, -1.0, -1.0];
const LOST_MUCH: &[f64] = &[-9.0, 5.0, -9.0, 3.0, -9.0, 2.0, -9.0, 1.0];

/// A row of every window and phase for each trial, with the sum of its returns as its amounts.
fn with_returns(trials: &[&[f64]], parts: &[(Option<u64>, Phase)]) -> Rows {
    let mut found = Rows::new();
    for (window, phase) in parts {
        for (trial, returns) in (0..).zip(trials) {
            let run = found.len() as u64;
            let row = Row {
                run,
                trial,
                window: *window,
                phase: *phase,
                values: vec![toml::Value::Integer(1)],
                outcome: Outcome::Done(Box::new(figures(40, returns))),
            };
            found.insert(run, row);
        }
    }
    found
}

/// Negative ratios are nearer to zero the more the returns vary: the trial that lost most is not the best by that.
#[test]
fn trials_without_a_positive_ratio_are_ranked_by_their_excess() {
    let of = |trials: &[&[f64]]| {
        let rows = with_returns(trials, &[(None, Phase::All)]);
        summary(&header(0, trials.len() as u64), &space(), &rows)
    };
    let ratio = |returns: &[f64]| Moments::new(returns).unwrap().sharpe();
    assert!(ratio(LOST_MUCH) > ratio(LOST_LITTLE));
    let lost = of(&[LOST_MUCH, LOST_LITTLE, ZERO]);
    let best = lost.best.as_ref().unwrap();
    assert_eq!(
        (best.trial, best.ranked_by, lost.positive_sharpe),
        (1, "excess_over_holding", Some(0))
    );
    let text = lost.statements.join(" ");
    for words in [
        "No trial has a positive Sharpe ratio: trials are ranked by excess over holding.",
        "No trial earned money: the best one lost money.",
        "The Sharpe ratio of the best trial is not positive: there is no result that may be luck",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("by luck"), "{text}");

    // A positive ratio comes before them, and is judged as ever.
    let one = of(&[LOST_MUCH, LOST_LITTLE, GOOD]);
    let best = one.best.as_ref().unwrap();
    assert_eq!((best.trial, best.ranked_by), (2, "sharpe"));
    let text = one.statements.join(" ");
    assert!(!text.contains("trials are ranked by"), "{text}");
    assert!(text.contains("deflated Sharpe ratio"), "{text}");
    let rows = with_returns(&[ZERO, LOST_MUCH, LOST_LITTLE, GOOD], &[(None, Phase::All)]);
    let group = Group::new(rows.values(), 0);
    let space = space();
    let order = crate::sweep::outputs::best_rows(&group, &space, 9);
    let order: Vec<_> = order.iter().map(|score| score.row.trial).collect();
    // Without a trade there is no ratio to rank by.
    assert_eq!(order, [3, 2, 1, 0]);
    let title = crate::sweep::page::run_title(&space, &group, 9);
    assert!(title.ends_with("by excess"), "{title}");
    // On test windows it has a place by its excess of zero.
    let ranks = group.scores.iter();
    let ranks = ranks.map(|score| group.rank(score, Metric::Sharpe).unwrap().0);
    assert_eq!(ranks.collect::<Vec<_>>(), [2, 4, 3, 1]);
}

/// A stopped trial with a positive ratio is behind those that traded to the end, and is no trial without one.
#[test]
fn a_positive_ratio_of_a_stopped_trial_is_not_denied() {
    let mut rows = with_returns(&[LOST_LITTLE, LOST_MUCH, GOOD], &[(None, Phase::All)]);
    if let Outcome::Done(figures) = &mut rows.get_mut(&2).unwrap().outcome {
        figures.engine_ended = Some("2026-01-01T00:00:15Z".to_owned());
    }
    let found = summary(&header(0, 3), &space(), &rows);
    assert_eq!(found.best.as_ref().unwrap().trial, 0);
    let text = found.statements.join(" ");
    let words = "No trial that traded to the end has a positive Sharpe ratio: trials are";
    assert!(text.contains(words), "{text}");
}

/// What is chosen on train windows is in the same order.
#[test]
fn a_window_without_a_positive_ratio_chooses_by_excess() {
    let parts = [Phase::Train, Phase::Test].map(|phase| (Some(0), phase));
    let rows = with_returns(&[LOST_MUCH, LOST_LITTLE], &parts);
    let found = summary(&header(1, 4), &space(), &rows);
    let walk = found.walk_forward.as_ref().unwrap();
    assert_eq!(walk.windows[0].train.as_ref().unwrap().trial, 1);
    assert_eq!(walk.windows[0].test_rank, Some(1));
    assert_eq!((walk.better_half, walk.better_half_by_chance), (1, 0.5));
    let text = found.statements.join(" ");
    for words in [
        "In each of 1 windows, the best of 4 trials by Sharpe ratio of the excess over holding where it is positive was chosen on train",
        "In 1 of 1 windows no trial that traded to the end has a positive Sharpe ratio on train: trials are ranked by excess over holding there.",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// Where trials share a place, a choice without skill is in the better half more often than every second time.
#[test]
fn the_better_half_by_chance_counts_places_that_are_shared() {
    let parts = [Phase::Train, Phase::Test].map(|phase| (Some(0), phase));
    let of = |trials: &[&[f64]]| {
        let rows = with_returns(trials, &parts);
        summary(&header(1, 2 * trials.len() as u64), &space(), &rows)
    };
    // Three that never traded are first on test, and the one that traded was chosen.
    let shared = of(&[LOST_MUCH, ZERO, ZERO, ZERO]);
    let walk = shared.walk_forward.as_ref().unwrap();
    assert_eq!(walk.windows[0].test_rank, Some(4));
    assert_eq!((walk.better_half, walk.better_half_by_chance), (0, 0.75));
    let text = shared.statements.join(" ");
    let words = "in 0 of 1 windows in which they differ; a choice without skill is in 0.8 of them on average";
    assert!(text.contains(words), "{text}");
    // Of three different ones, one is in the better half.
    let three = of(&[LOST_MUCH, LOST_LITTLE, GOOD]);
    let walk = three.walk_forward.as_ref().unwrap();
    assert_eq!(
        (walk.better_half, walk.better_half_by_chance),
        (1, 1.0 / 3.0)
    );
    // Those behind share the second place of four, which is in the better half.
    let behind = of(&[GOOD, LOST_MUCH, LOST_MUCH, LOST_MUCH]);
    let walk = behind.walk_forward.as_ref().unwrap();
    assert_eq!((walk.better_half, walk.better_half_by_chance), (1, 1.0));
}

/// Walk-forward states different signs as a plain sweep does.
#[test]
fn different_signs_on_test_are_stated() {
    let of = |net: &str, excess: &str, returns: &[f64]| {
        let mut found = Rows::new();
        for (run, phase) in (0..).zip([Phase::Train, Phase::Test]) {
            let figures = Figures {
                net_pnl: Some(net.to_owned()),
                excess_over_holding: Some(excess.to_owned()),
                ..figures(40, returns)
            };
            found.insert(
                run,
                Row {
                    run,
                    trial: 0,
                    window: Some(0),
                    phase,
                    values: vec![toml::Value::Integer(1)],
                    outcome: Outcome::Done(Box::new(figures)),
                },
            );
        }
        summary(&header(1, 2), &space(), &found)
            .statements
            .join(" ")
    };
    let other = "The Sharpe ratio on test has another sign than the excess over holding: what happened after the last whole interval of 60 s of each window,";
    let less = "What was chosen lost money on test, but less than holding its initial balances would have,";
    let differ = of("-1", "0.61", POOR);
    assert!(differ.contains(other) && differ.contains(less), "{differ}");
    let lost = of("1", "-0.61", GOOD);
    assert!(lost.contains(other) && !lost.contains(less), "{lost}");
    for same in [of("1", "0.61", GOOD), of("-1", "-0.61", POOR)] {
        assert!(!same.contains(other) && !same.contains(less), "{same}");
    }
}

/// A run that a limit paused for most of its time ends as `trading`: its pauses are stated.
#[test]
fn long_pauses_are_stated() {
    let mut found: Rows = rows(&[(9, GOOD), (9, POOR), (9, POOR)])
        .into_iter()
        .map(|row| (row.run, row))
        .collect();
    let shares = [(0.962, true), (0.2, false), (0.05, true)];
    for (row, (share, at_end)) in found.values_mut().zip(shares) {
        row.values = vec![toml::Value::Integer(1)];
        if let Outcome::Done(figures) = &mut row.outcome {
            figures.pauses = Some(Pauses {
                seconds: share * figures.duration_s,
                share,
                at_end,
                causes: [("loss_hour".to_owned(), 2)].into(),
            });
        }
    }
    let all = summary(&header(0, 3), &space(), &found);
    let paused = &all.paused;
    assert_eq!((paused.runs, paused.at_end), (2, 1));
    assert_eq!(paused.by_cause, [("loss_hour".to_owned(), 2)].into());
    let text = all.statements.join(" ");
    for words in [
        "In 2 of 3 runs quoting was paused for more than a tenth of the time: for 20.0 % to 96.2 % of it, by loss_hour in 2; 1 of them ended paused.",
        "The best trial, 0, is one of them: paused for 96.2 % of the time (loss_hour), also at the end.",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Rows of an earlier program lack their pauses.
    if let Outcome::Done(figures) = &mut found.get_mut(&0).unwrap().outcome {
        figures.pauses = None;
    }
    let text = summary(&header(0, 3), &space(), &found)
        .statements
        .join(" ");
    assert!(text.contains("did not record pauses"), "{text}");
}

/// A trial that stopped early avoided what followed: it is no better one.
#[test]
fn trials_that_stopped_are_ranked_behind_the_others_and_marked() {
    let mut rows = rows(&[(9, GOOD), (9, POOR), (0, ZERO), (9, GOOD)]);
    let stop = |row: &mut Row| {
        let Outcome::Done(figures) = &mut row.outcome else {
            unreachable!()
        };
        figures.engine_ended = Some("2026-01-01T00:00:15Z".to_owned());
    };
    stop(&mut rows[0]);
    stop(&mut rows[3]);
    let space = space();
    let order = |rows: &[Row]| {
        let group = Group::new(rows.iter(), 0);
        let ranked = crate::sweep::outputs::best_rows(&group, &space, 9);
        let places: Vec<_> = ranked.iter().map(|score| score.row.trial).collect();
        assert_eq!(group.best(space.metric).unwrap().row.trial, places[0]);
        places
    };
    // The one without a ratio, which never traded, is not ranked: it is last.
    assert_eq!(order(&rows), [1, 0, 3, 2]);
    let group = Group::new(rows.iter(), 0);
    let ranks = group
        .scores
        .iter()
        .map(|score| group.rank(score, Metric::Sharpe));
    let places: Vec<_> = ranks.map(|rank| rank.unwrap().0).collect();
    assert_eq!(places[0], places[3]);
    assert!(places[1] < places[0], "{places:?}");
    let title = crate::sweep::page::run_title(&space, &group, 9);
    assert!(
        title.ends_with("; trials whose trading stopped behind the others"),
        "{title}"
    );
    let table = crate::sweep::page::run_table(&space, &group, 9, "USDC");
    let states = table[1..]
        .iter()
        .map(|row| row.last().unwrap().starts_with("stopped: "));
    assert_eq!(states.collect::<Vec<_>>(), [false, true, true, false]);

    // Where all stopped, the best of them is chosen.
    stop(&mut rows[1]);
    assert_eq!(order(&rows), [0, 3, 1, 2]);
}
