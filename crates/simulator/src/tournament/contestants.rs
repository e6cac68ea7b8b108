//! Who plays: every shipped strategy that quotes both sides, with its shipped example as parameters, and the makers to compare with.

use anyhow::Context;
use cambist_sim::tournament::ConstantSpread;
use toml::{Table, Value};

use cambist::exit::{Exit, Failure};

/// The contestant that all others are compared with.
pub const REFERENCE: &str = "reference";
/// The same rules at the distance of the example of `ladder`.
const REFERENCE_NEAR: &str = "reference_near";
/// Its distance, ten-thousandths.
const NEAR_BPS: u32 = 20;
/// Size of the orders of both, base units: that of the example of `ladder`.
const ORDER_BASE: u128 = 500_000_000_000_000_000;

/// The strategies, and the file that their parameters are from.
const STRATEGIES: [(&str, &str); 7] = [
    ("bands", include_str!("../../../../config/tournament.toml")),
    (
        "ladder",
        include_str!("../../../../config/strategies/ladder.toml"),
    ),
    (
        "glft",
        include_str!("../../../../config/strategies/glft.toml"),
    ),
    (
        "curve",
        include_str!("../../../../config/strategies/curve.toml"),
    ),
    (
        "grid",
        include_str!("../../../../config/strategies/grid.toml"),
    ),
    (
        "hedged_lp",
        include_str!("../../../../config/strategies/hedged_lp.toml"),
    ),
    (
        "pool_maker",
        include_str!("../../../../config/strategies/pool_maker.toml"),
    ),
];
/// Those of them that use the pool beside the market.
const WITH_POOL: [&str; 2] = ["hedged_lp", "pool_maker"];
/// What is held beside `hedged_lp`.
const LP_MANAGER: &str = include_str!("../../../../config/strategies/lp_manager.toml");

/// A contestant.
#[derive(Clone, Debug, PartialEq)]
pub struct Contestant {
    /// Its name.
    pub name: &'static str,
    /// How it plays.
    pub rules: Rules,
}

/// How a contestant plays.
#[derive(Clone, Debug, PartialEq)]
pub enum Rules {
    /// The engine with these strategies.
    Engine {
        /// Sections `[[market.strategy]]`.
        strategies: Vec<Value>,
        /// Whether the pool beside the market is used.
        pool: bool,
    },
    /// The maker to compare with.
    Constant(ConstantSpread),
}

/// The names, the reference first.
pub fn names() -> Vec<&'static str> {
    let strategies = STRATEGIES.iter().map(|(name, _)| *name);
    [REFERENCE, REFERENCE_NEAR]
        .into_iter()
        .chain(strategies)
        .collect()
}

/// The contestants of these names, all without any; the reference always plays, and first.
pub fn choose(chosen: &[String]) -> anyhow::Result<Vec<Contestant>> {
    let all = names();
    if let Some(unknown) = chosen.iter().find(|name| !all.contains(&name.as_str())) {
        let what = format!(
            "--strategy {unknown}: there is no such contestant; there are {}",
            all.join(", ")
        );
        return Err(Failure::new(Exit::Usage, what).into());
    }
    let plays =
        |name: &str| name == REFERENCE || chosen.is_empty() || chosen.iter().any(|one| one == name);
    all.into_iter()
        .filter(|name| plays(name))
        .map(contestant)
        .collect()
}

fn contestant(name: &'static str) -> anyhow::Result<Contestant> {
    let constant = ConstantSpread::documented(ORDER_BASE);
    let rules = match name {
        REFERENCE => Rules::Constant(constant),
        REFERENCE_NEAR => Rules::Constant(ConstantSpread {
            spread_bps: NEAR_BPS,
            ..constant
        }),
        _ => {
            let (_, text) = STRATEGIES
                .iter()
                .find(|(strategy, _)| *strategy == name)
                .with_context(|| format!("no strategy {name}"))?;
            let mut strategies = sections(text)?;
            if name == "hedged_lp" {
                // The example holds another amount at the beginning.
                for strategy in &mut strategies {
                    let params = strategy.get_mut("params").and_then(Value::as_table_mut);
                    if let Some(params) = params {
                        params.insert("target_base".to_owned(), super::setting::OPENING_ETH.into());
                    }
                }
                strategies.extend(sections(LP_MANAGER)?);
            }
            let pool = WITH_POOL.contains(&name);
            Rules::Engine { strategies, pool }
        }
    };
    Ok(Contestant { name, rules })
}

/// The sections `[[market.strategy]]` of a file, under a market or by themselves.
fn sections(text: &str) -> anyhow::Result<Vec<Value>> {
    let file: Table = text.parse().context("a built-in example of a strategy")?;
    let market = file.get("market").context("an example without a market")?;
    // An example has one table of a market, a daemon's file an array of them.
    let market = market
        .as_array()
        .and_then(|markets| markets.first())
        .unwrap_or(market);
    let strategies = market.get("strategy").and_then(Value::as_array);
    strategies.cloned().context("an example without a strategy")
}
