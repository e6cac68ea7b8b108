#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_config::reader::Source;

use super::*;
use crate::tournament::contestants;
use crate::tournament::setting::{DAEMON, Market};

fn plan(minutes: u64) -> Plan {
    let daemon = Source {
        path: "config/tournament.toml".into(),
        text: DAEMON.to_owned(),
    };
    let market = Market::read("calm", minutes * 60_000).unwrap();
    let contestants = contestants::choose(&["ladder".to_owned()]).unwrap();
    Plan::new(vec![market], contestants, (1, 2), &daemon).unwrap()
}

fn played(requests: u64) -> Played {
    Played {
        requests,
        ..Played::default()
    }
}

/// A file with a result for each of the four games.
fn filled(path: &Path, plan: &Plan) {
    let (mut results, games) = Results::open(path, "b", plan).unwrap();
    assert!(games.is_empty());
    for (place, requests) in plan.places().zip(1..) {
        results.add(plan, place, played(requests)).unwrap();
    }
    results.close().unwrap();
}

#[test]
fn a_torn_last_line_is_played_again_and_a_wrong_one_is_named() {
    let folder = crate::testing::private_folder();
    let (path, plan) = (folder.path().join("r.jsonl"), plan(1));
    filled(&path, &plan);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
    let (mut results, games) = Results::open(&path, "b", &plan).unwrap();
    assert_eq!(games.len(), 3);
    let last = plan.places().last().unwrap();
    assert!(!games.contains_key(&last));
    results.add(&plan, last, played(4)).unwrap();
    results.close().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), whole);
    std::fs::write(&path, "nonsense\n").unwrap();
    let error = format!("{:#}", Results::open(&path, "b", &plan).err().unwrap());
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn lines_of_another_program_or_of_other_games_are_not_used() {
    let folder = crate::testing::private_folder();
    let (path, own) = (folder.path().join("r.jsonl"), plan(1));
    filled(&path, &own);
    let used = |build: &str, plan: &Plan| {
        let (results, games) = Results::open(&path, build, plan).unwrap();
        (games.len(), results.others)
    };
    assert_eq!(used("b", &own), (4, 0));
    assert_eq!(used("c", &own), (0, 4), "another program");
    assert_eq!(
        used("b", &plan(2)),
        (0, 4),
        "longer games have other inputs"
    );
}

#[test]
fn two_results_of_one_game_are_refused_unless_they_are_equal() {
    let folder = crate::testing::private_folder();
    let (path, plan) = (folder.path().join("r.jsonl"), plan(1));
    filled(&path, &plan);
    let again = |requests| {
        let (mut results, _) = Results::open(&path, "b", &plan).unwrap();
        let first = plan.places().next().unwrap();
        results.add(&plan, first, played(requests)).unwrap();
        results.close().unwrap();
        Results::open(&path, "b", &plan).map(|(_, games)| games.len())
    };
    assert_eq!(again(1).unwrap(), 4);
    let error = again(2).err().unwrap();
    assert!(error.to_string().contains("line 6"), "{error}");
    assert_eq!(cambist::exit::of(&error), Exit::CheckFailed);
}

#[test]
fn a_file_in_use_is_refused() {
    let folder = crate::testing::private_folder();
    let (path, plan) = (folder.path().join("r.jsonl"), plan(1));
    let first = Results::open(&path, "b", &plan).unwrap();
    let error = Results::open(&path, "b", &plan).err().unwrap();
    assert_eq!(cambist::exit::of(&error), Exit::AnotherInstance);
    drop(first);
    assert!(Results::open(&path, "b", &plan).is_ok());
}

/// Every contestant has inputs of its own at every market.
#[test]
fn inputs_differ_wherever_games_do() {
    let daemon = |text: &str| Source {
        path: "config/tournament.toml".into(),
        text: text.to_owned(),
    };
    let inputs = |scenario: &str, text: &str| -> Vec<String> {
        let market = Market::read(scenario, 60_000).unwrap();
        let all = contestants::choose(&[]).unwrap();
        let plan = Plan::new(vec![market], all, (1, 1), &daemon(text)).unwrap();
        let each = plan.places();
        each.map(|place| plan.pairing(place).inputs.clone())
            .collect()
    };
    let mut all = inputs("calm", DAEMON);
    all.extend(inputs("crash", DAEMON));
    let looser = DAEMON.replace("20 ETH", "21 ETH");
    assert_ne!(looser, DAEMON);
    all.extend(inputs("calm", &looser));
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}
