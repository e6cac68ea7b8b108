//! What the games come to: estimates of each contestant at each market, and its differences from the reference.

use std::collections::BTreeMap;

use cambist_sim::tournament::{
    Estimate, Played, Ranking, mean, paired_difference, ranking_of, ranking_of_tails, tail,
};

use crate::tournament::plan::Plan;
use crate::tournament::results::Games;

/// With fewer games a normal interval is none, and no means are ranked.
pub const SEEDS_MIN: usize = 30;

/// A measure of a game whose mean is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Profit in ten-thousandths of the first equity.
    Profit,
    /// Per cent of the time with own orders on both sides.
    BothSides,
    /// Seconds with own orders on both sides for each request.
    PerRequest,
    /// Orphans.
    Orphans,
    /// Requests a minute are not compared; fills neither.
    Requests,
    /// Trades of own orders.
    Fills,
}

impl Measure {
    /// Those that contestants are compared by.
    pub const COMPARED: [Self; 4] = [
        Self::Profit,
        Self::BothSides,
        Self::PerRequest,
        Self::Orphans,
    ];
    /// Every one.
    const ALL: [Self; 6] = [
        Self::Profit,
        Self::BothSides,
        Self::PerRequest,
        Self::Orphans,
        Self::Requests,
        Self::Fills,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Profit => "profit",
            Self::BothSides => "both sides",
            Self::PerRequest => "seconds per request",
            Self::Orphans => "orphans",
            Self::Requests => "requests",
            Self::Fills => "fills",
        }
    }

    /// Its stable name in JSON, with the unit.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Profit => "profit_bps",
            Self::BothSides => "both_sides_percent",
            Self::PerRequest => "both_sides_s_per_request",
            Self::Orphans => "orphans",
            Self::Requests => "requests",
            Self::Fills => "fills",
        }
    }

    /// Whether more of it is better.
    pub const fn more_is_better(self) -> bool {
        !matches!(self, Self::Orphans | Self::Requests)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of a game are small")]
    fn of(self, played: &Played) -> f64 {
        match self {
            Self::Profit => played.profit_bps(),
            Self::BothSides => 100.0 * played.uptime(),
            Self::PerRequest => played.seconds_per_request(),
            Self::Orphans => played.orphans as f64,
            Self::Requests => played.requests as f64,
            Self::Fills => played.fills as f64,
        }
    }
}

/// A difference from the reference, and what follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The mean of the differences of equal seeds.
    pub estimate: Estimate,
    /// What follows from it.
    pub ranking: Ranking,
}

/// One contestant at one market.
pub struct Row {
    /// Index of the market.
    pub market: usize,
    /// Index of the contestant.
    pub contestant: usize,
    /// Games.
    pub games: usize,
    /// Means by measure.
    pub means: BTreeMap<Measure, Estimate>,
    /// Differences by compared measure; none for the reference.
    pub differences: BTreeMap<Measure, Difference>,
    /// The tail of the profit.
    pub tail: Estimate,
    /// What the tails say; none for the reference.
    pub tail_ranking: Option<Ranking>,
    /// Orphans of all games.
    pub orphans: u64,
    /// Violated invariants of all games.
    pub violations: u64,
}

/// Compares every contestant at every market, in the order of the plan. Pairs without a game are left out.
pub fn compare(plan: &Plan, games: &Games) -> Vec<Row> {
    let mut rows = Vec::new();
    for market in 0..plan.markets.len() {
        // Only seeds that all have played: the differences are of equal seeds.
        let of = |contestant: usize| -> BTreeMap<u64, &Played> {
            let played = games.iter();
            let played = played
                .filter(|(place, _)| place.market == market && place.contestant == contestant);
            played.map(|(place, played)| (place.seed, played)).collect()
        };
        let all: Vec<_> = (0..plan.contestants.len()).map(of).collect();
        let seeds: Vec<u64> = all.first().map_or_else(Vec::new, |reference| {
            let seeds = reference.keys().copied();
            seeds
                .filter(|seed| all.iter().all(|one| one.contains_key(seed)))
                .collect()
        });
        let Some(reference) = all.first() else {
            continue;
        };
        let values = |played: &BTreeMap<u64, &Played>, measure: Measure| -> Vec<f64> {
            seeds.iter().map(|seed| measure.of(played[seed])).collect()
        };
        for (contestant, own) in all.iter().enumerate() {
            let profits = values(own, Measure::Profit);
            let (Some(own_tail), Some(reference_tail)) =
                (tail(&profits), tail(&values(reference, Measure::Profit)))
            else {
                continue;
            };
            let means = Measure::ALL
                .into_iter()
                .filter_map(|measure| Some((measure, mean(&values(own, measure))?)));
            let differences = Measure::COMPARED.into_iter().filter(|_| contestant > 0);
            let differences = differences.filter_map(|measure| {
                let ours = values(own, measure);
                let estimate = paired_difference(&ours, &values(reference, measure))?;
                let ranking = if seeds.len() < SEEDS_MIN {
                    Ranking::Undecided
                } else {
                    ranking_of(&estimate, measure.more_is_better())
                };
                Some((measure, Difference { estimate, ranking }))
            });
            let played = || seeds.iter().map(|seed| own[seed]);
            rows.push(Row {
                market,
                contestant,
                games: seeds.len(),
                means: means.collect(),
                differences: differences.collect(),
                tail: own_tail,
                tail_ranking: (contestant > 0)
                    .then(|| ranking_of_tails(&own_tail, &reference_tail)),
                orphans: played().map(|played| played.orphans).sum(),
                violations: played().map(|played| played.violations).sum(),
            });
        }
    }
    rows
}
