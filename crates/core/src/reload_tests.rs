//! Every limit of the table, changed by one in both directions: only the looser direction is reported, by the
//! key's name, and needs a permission.

use super::*;
use crate::limits::{Looser as Direction, Unit};
use crate::market::MarketId;
use crate::token::TokenId;
use crate::token::tests::token;

fn spec() -> MarketSpec {
    MarketSpec::new(MarketId(0), "T0-T1", token(0), token(1), 2, true).expect("a market")
}

/// A configuration with every number at 10, so that each can increase and decrease.
fn config() -> EngineConfig {
    fn ten<C>(limits: &[Limit<C>], config: &mut C) {
        for limit in limits {
            (limit.set)(config, 10);
        }
    }
    let mut config = EngineConfig::unset();
    ten(EngineConfig::LIMITS, &mut config);
    ten(PollConfig::LIMITS, &mut config.poll);
    ten(BudgetConfig::LIMITS, &mut config.budget);
    ten(RiskConfig::LIMITS, &mut config.risk);
    ten(RampConfig::LIMITS, &mut config.ramp);
    let mut market = MarketConfig::unset();
    ten(MarketConfig::LIMITS, &mut market);
    ten(LossConfig::LIMITS, &mut market.loss);
    let mut pool = PoolConfig::unset();
    ten(PoolConfig::LIMITS, &mut pool);
    (config.markets, config.pools) = (vec![market], vec![pool]);
    config
}

/// The limits that `change` loosens.
fn looser(change: impl FnOnce(&mut EngineConfig)) -> Vec<String> {
    let (old, spec) = (config(), spec());
    let mut new = old.clone();
    change(&mut new);
    let units = Units {
        markets: vec![&spec],
        pools: vec![&spec],
    };
    let found = loosens(&old, &new, &units);
    assert_eq!(
        judge(&old, &new, Changes::default(), false, &units).is_err(),
        !found.is_empty()
    );
    assert!(judge(&old, &new, Changes::default(), true, &units).is_ok());
    found
}

fn both_sides<C: 'static>(limits: &'static [Limit<C>], part: fn(&mut EngineConfig) -> &mut C) {
    for limit in limits {
        let about = &limit.about;
        let set = |value| looser(|config| (limit.set)(part(config), value));
        let loosened = |values: &[u128]| -> Vec<u128> {
            let is_looser = |value: &u128| match set(*value).as_slice() {
                [] => false,
                [one] => {
                    let key = format!("{} ", about.key);
                    assert!(one.contains(&key), "{one} does not name {}", about.name);
                    true
                }
                more => panic!("{}: {more:?}", about.name),
            };
            values.iter().copied().filter(is_looser).collect()
        };
        match (about.unit, about.looser) {
            (Unit::Flag, _) => assert_eq!(loosened(&[0, 1]), [0], "{}", about.name),
            (_, Direction::Higher) => assert_eq!(loosened(&[0, 9, 10, 11]), [11], "{}", about.name),
            (_, Direction::Lower) => {
                assert_eq!(loosened(&[0, 9, 10, 11]), [0, 9], "{}", about.name);
            }
            (_, Direction::HigherOrZero) => {
                assert_eq!(loosened(&[0, 9, 10, 11]), [0, 11], "{}", about.name);
            }
            (_, Direction::Never | Direction::Stated(_)) => {
                assert_eq!(loosened(&[0, 9, 10, 11]), [0; 0], "{}", about.name);
            }
        }
    }
}

#[test]
fn every_limit_is_looser_in_its_direction_and_only_in_it() {
    both_sides(EngineConfig::LIMITS, |c| c);
    both_sides(PollConfig::LIMITS, |c| &mut c.poll);
    both_sides(BudgetConfig::LIMITS, |c| &mut c.budget);
    both_sides(RiskConfig::LIMITS, |c| &mut c.risk);
    both_sides(RampConfig::LIMITS, |c| &mut c.ramp);
    both_sides(MarketConfig::LIMITS, |c| &mut c.markets[0]);
    both_sides(LossConfig::LIMITS, |c| &mut c.markets[0].loss);
    both_sides(PoolConfig::LIMITS, |c| &mut c.pools[0]);
}

#[test]
fn an_amount_of_a_token_is_compared_with_the_default_of_an_absent_one() {
    let quote = TokenId(1);
    let with = |amount| Amounts::from([(quote, amount)]);
    let change = |part: fn(&mut RiskConfig) -> &mut Amounts, from: Amounts, to: Amounts| {
        let spec = spec();
        let units = Units {
            markets: vec![&spec],
            pools: Vec::new(),
        };
        let [mut old, mut new] = [config(), config()];
        *part(&mut old.risk) = from;
        *part(&mut new.risk) = to;
        loosens(&old, &new, &units)
    };
    let none = Amounts::new;
    let gross = |from, to| change(|risk| &mut risk.gross_max, from, to);
    assert_eq!(gross(with(5), with(5)), [""; 0]);
    assert_eq!(gross(with(5), with(4)), [""; 0]);
    assert_eq!(
        gross(none(), with(4)),
        [""; 0],
        "without an amount there is no limit"
    );
    let more = gross(with(5_000_000), with(6_000_000));
    assert_eq!(more, ["risk.gross_max_bps 5 T1 → 6 T1"]);
    let gone = gross(with(5_000_000), none());
    assert_eq!(gone, ["risk.gross_max_bps 5 T1 → no limit"]);
    let mismatch = |from, to| change(|risk| &mut risk.mismatch_max, from, to);
    assert_eq!(
        mismatch(with(5), none()),
        [""; 0],
        "without an amount nothing may differ"
    );
    assert_eq!(mismatch(none(), with(1_000_000)).len(), 1);
}

#[test]
fn rules_in_words_have_their_order() {
    use ForeignOrders::{Adopt, Alarm, Tolerate};
    for (from, to, more) in [
        (Alarm, Adopt, true),
        (Alarm, Tolerate, true),
        (Adopt, Tolerate, true),
        (Tolerate, Adopt, false),
        (Tolerate, Alarm, false),
        (Adopt, Adopt, false),
    ] {
        let mut found = Looser(Vec::new());
        found.foreign_orders(from, to);
        assert_eq!(!found.0.is_empty(), more, "{from:?} to {to:?}");
    }
    let seed = |ticks| EmptyBook::Seed(crate::market::Price(ticks));
    for (from, to, more) in [
        (EmptyBook::NoQuote, seed(1), true),
        (seed(1), seed(2), true),
        (seed(2), seed(2), false),
        (seed(2), EmptyBook::NoQuote, false),
    ] {
        let mut found = Looser(Vec::new());
        found.empty_book(&spec(), from, to);
        assert_eq!(!found.0.is_empty(), more, "{from:?} to {to:?}");
    }
}

#[test]
fn every_limit_has_one_complete_row() {
    let all = limits::all();
    let names: BTreeSet<_> = all.iter().map(|about| about.name).collect();
    assert_eq!(names.len(), all.len(), "each key once");
    for about in all {
        let name = about.name;
        assert_eq!(name, format!("{}.{}", about.section, about.key));
        assert!(
            about.sentence().ends_with('.'),
            "{name}: {}",
            about.sentence()
        );
        let has_range = about.range.is_some();
        assert_eq!(
            has_range,
            !about.unit.is_amount() && about.unit != Unit::Word,
            "{name}"
        );
        if let (limits::Usual::Number(usual), Some(range)) = (about.usual, &about.range) {
            assert!(range.contains(&usual), "{name}");
        }
        assert_eq!(limits::find(name), Some(about));
    }
}

/// Whatever is declared as a limit is listed with its value, once for each part of the configuration.
#[test]
fn every_limit_is_among_those_in_force() {
    let spec = spec();
    let listed = crate::limits::in_force(&config(), std::slice::from_ref(&spec), &[&spec]);
    let names: Vec<_> = listed.iter().map(|limit| limit.about.name).collect();
    let by_token = crate::limits::BY_QUOTE_TOKEN
        .iter()
        .map(|limit| limit.about.name);
    let by_token: Vec<_> = by_token.collect();
    for about in crate::limits::all() {
        let times = names.iter().filter(|name| **name == about.name).count();
        let wanted = about.is_limit() && !by_token.contains(&about.name);
        assert_eq!(times, usize::from(wanted), "{}", about.name);
    }
    for limit in listed
        .iter()
        .filter(|l| l.about.section.starts_with("market"))
    {
        assert_eq!(
            limit.market.as_deref(),
            Some("T0-T1"),
            "{}",
            limit.about.name
        );
    }
}
