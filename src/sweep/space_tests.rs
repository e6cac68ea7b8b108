//! Sweep files that are right and wrong, and the trials they mean.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::collections::BTreeSet;

use super::*;

fn parse(text: &str) -> Result<Space, String> {
    let source = Source {
        path: "sweep.toml".into(),
        text: format!("config_version = 1\n{text}"),
    };
    Space::parse(&source).map_err(|error| error.to_string())
}

const TWO: &str = "[[parameter]]\nname = \"a\"\nvalues = [1, 2]\n\
                   [[parameter]]\nname = \"b\"\nfrom = 0.1\nto = 0.3\nsteps = 3\n";

#[test]
fn a_grid_is_every_combination_once() {
    let space = parse(TWO).unwrap();
    assert_eq!(space.trials(), 6);
    let trials: Vec<_> = (0..6).map(|n| space.trial(n)).collect();
    let pair = |a: i64, b: f64| vec![Value::Integer(a), Value::Float(b)];
    assert_eq!(
        trials,
        [
            pair(1, 0.1),
            pair(1, 0.2),
            pair(1, 0.3),
            pair(2, 0.1),
            pair(2, 0.2),
            pair(2, 0.3)
        ]
    );
}

#[test]
fn draws_depend_on_seed_and_number_alone() {
    let text = |trials: u64, seed: u64| {
        let ranges = TWO.replace("steps = 3\n", "");
        format!("[search]\nkind = \"random\"\ntrials = {trials}\nseed = {seed}\n{ranges}")
    };
    let (few, many) = (parse(&text(5, 7)).unwrap(), parse(&text(50, 7)).unwrap());
    let other = parse(&text(5, 8)).unwrap();
    let draws = |space: &Space| (0..5).map(|n| space.trial(n)).collect::<Vec<_>>();
    assert_eq!(draws(&few), draws(&many));
    assert_ne!(draws(&few), draws(&other));
    let different: BTreeSet<_> = (0..50).map(|n| format!("{:?}", many.trial(n))).collect();
    assert_eq!(different.len(), 50);
    assert_eq!(many.exhausted(), None);
}

#[test]
fn a_combination_is_drawn_once_and_an_exhausted_space_is_named() {
    let text = |trials: u64, ranges: &str| {
        format!("[search]\nkind = \"random\"\ntrials = {trials}\nseed = 5\n{ranges}")
    };
    let different = |space: &Space| {
        let each = (0..space.trials()).map(|n| format!("{:?}", space.trial(n)));
        each.collect::<BTreeSet<_>>().len() as u64
    };
    let [few, most, all, more] = [3, 5, 6, 40].map(|trials| parse(&text(trials, TWO)).unwrap());
    for (space, trials) in [(&few, 3), (&most, 5), (&all, 6), (&more, 6)] {
        assert_eq!((space.trials(), different(space)), (trials, trials));
    }
    // More trials change none of the first ones.
    for n in 0..3 {
        assert_eq!(few.trial(n), more.trial(n));
    }
    assert_eq!(all.exhausted(), None);
    let words = more.exhausted().unwrap();
    assert!(
        words.contains("draw 40 combinations, but its parameters have only 6"),
        "{words}"
    );
    // A value that is drawn rarely is taken in the end, and whole ranges end as lists do.
    let rare = format!(
        "[[parameter]]\nname = \"a\"\nvalues = [{}2]\n",
        "1, ".repeat(9_999)
    );
    assert_eq!(parse(&text(2, &rare)).unwrap().trials(), 2);
    let whole = "[[parameter]]\nname = \"a\"\nfrom = 1\nto = 4\n";
    assert_eq!(different(&parse(&text(9, whole)).unwrap()), 4);
}

#[test]
fn windows_and_metrics_are_read() {
    let space = parse(&format!(
        "select = \"net_pnl\"\ntrials_before = 12\nreturn_interval = \"10s\"\n\
         [walk_forward]\ntrain = \"6h\"\ntest = \"90m\"\n{TWO}"
    ))
    .unwrap();
    assert_eq!((space.metric, space.trials_before), (Metric::NetPnl, 12));
    assert_eq!(space.return_interval_s, 10);
    let windows = space.walk_forward.unwrap();
    assert_eq!(
        (windows.train_s, windows.test_s, windows.step_s),
        (21_600, 5_400, 5_400)
    );
    assert!(parse(TWO).unwrap().walk_forward.is_none());
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (text, words) in [
        ("", "needs at least one [[parameter]]"),
        (
            "[[parameter]]\nname = \"a\"\n",
            "sweep.toml:2:1: a parameter needs values",
        ),
        ("[[parameter]]\nvalues = [1]\n", "parameter.name is missing"),
        (
            "[[parameter]]\nname = \"a\"\nfrom = 1\nto = 2\n",
            "needs steps",
        ),
        (
            "[[parameter]]\nname = \"a\"\nfrom = 1\n",
            "both from and to",
        ),
        (
            "[[parameter]]\nname = \"a\"\nfrom = 2\nto = 2\nsteps = 2\n",
            "must be above",
        ),
        (
            "[[parameter]]\nname = \"a\"\nfrom = 0\nto = 2\nsteps = 2\nscale = \"log\"\n",
            "above 0 on a log scale",
        ),
        (
            "[[parameter]]\nname = \"a\"\nfrom = 1\nto = 2\nsteps = 1\n",
            "steps must be",
        ),
        ("[[parameter]]\nname = \"a\"\nvalues = []\n", "must be 1 to"),
        (
            "[[parameter]]\nname = \"a\"\nvalues = [[1]]\n",
            "must be a list of numbers",
        ),
        (
            "[[parameter]]\nname = \"a\"\nvalues = [1]\nto = 2\n",
            "not both",
        ),
        (
            "[[parameter]]\nname = \"a,b\"\nvalues = [1]\n",
            "without commas",
        ),
        (
            "[[parameter]]\nname = \"a\"\nvalues = [1]\nset = []\n",
            "set is empty",
        ),
        (
            "[[parameter]]\nname = \"a\"\nvalues = [1]\nstep = 2\n",
            "unknown key parameter.step",
        ),
        (
            "[search]\nkind = \"random\"\n[[parameter]]\nname = \"a\"\nvalues = [1]\n",
            "search.trials",
        ),
        (
            "[walk_forward]\ntrain = \"6\"\ntest = \"1h\"\n[[parameter]]\nname = \"a\"\nvalues = [1]\n",
            "no duration",
        ),
        (
            "[[parameter]]\nname = \"a\"\nvalues = [1]\n[[parameter]]\nname = \"a\"\nvalues = [1]\n",
            "two parameters",
        ),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.contains(words), "{text}: {error}");
        assert!(error.contains("sweep.toml:"), "{error}");
    }
    let axis = |n| format!("[[parameter]]\nname = \"p{n}\"\nfrom = 1.5\nto = 9\nsteps = 10\n");
    let axes = (0..7).map(axis).collect::<Vec<_>>().concat();
    assert!(
        parse(&axes)
            .unwrap_err()
            .contains("more than 100000 trials")
    );
}
