//! One price from several sources: the median or a weighted mean, if enough of them are fresh and
//! agree. A missing source counts as missing, never as a neutral value.

use crate::error::{Error, Result, non_negative, positive, require, solved};

/// The price of a source.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Source {
    /// Price, above 0.
    pub price: f64,
    /// How old it is, s.
    pub age_s: f64,
    /// Its weight in [`Rule::Weighted`], above 0.
    pub weight: f64,
}

/// How prices are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// The middle one, or the mean of the two in the middle.
    Median,
    /// The mean by weights.
    Weighted,
}

/// The conditions on the sources.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Guards {
    /// Older sources are left out, s.
    pub max_age_s: f64,
    /// Largest difference between two of the remaining sources, as a fraction of their median.
    pub max_divergence: f64,
    /// Smallest number of remaining sources.
    pub least: usize,
}

/// A combined price.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Combined {
    /// The price.
    pub price: f64,
    /// Number of sources it was computed from.
    pub used: usize,
    /// Largest difference between two of them, as a fraction of their median.
    pub divergence: f64,
}

/// The combined price of the sources that are present and fresh. An error if they are too few, or
/// if they disagree, because then it is not known which of them is wrong.
///
/// Medians as robust location: Huber, "Robust Statistics" (1981); the guards are those of index
/// providers (staleness, divergence).
pub fn combine(sources: &[Option<Source>], rule: Rule, guards: &Guards) -> Result<Combined> {
    let max_age = non_negative("maximum age", guards.max_age_s)?;
    let max_divergence = non_negative("maximum divergence", guards.max_divergence)?;
    require(guards.least >= 1, "least number of sources", "at least 1")?;
    let mut fresh = Vec::with_capacity(sources.len());
    for source in sources.iter().flatten() {
        positive("price of a source", source.price)?;
        positive("weight of a source", source.weight)?;
        if non_negative("age of a source", source.age_s)? <= max_age {
            fresh.push(*source);
        }
    }
    if fresh.len() < guards.least {
        return Err(Error::TooFew {
            name: "fresh sources",
            needed: guards.least,
            given: fresh.len(),
        });
    }
    fresh.sort_by(|a, b| a.price.total_cmp(&b.price));
    let middle = fresh.len() / 2;
    let median = if fresh.len() % 2 == 1 {
        fresh[middle].price
    } else {
        f64::midpoint(fresh[middle - 1].price, fresh[middle].price)
    };
    let divergence = (fresh[fresh.len() - 1].price - fresh[0].price) / median;
    require(
        divergence <= max_divergence,
        "sources",
        "no farther apart than allowed",
    )?;
    let weights: f64 = fresh.iter().map(|source| source.weight).sum();
    let weighted: f64 = fresh
        .iter()
        .map(|source| source.weight * source.price)
        .sum();
    let price = match rule {
        Rule::Median => median,
        Rule::Weighted => weighted / weights,
    };
    Ok(Combined {
        price: solved("price", price)?,
        used: fresh.len(),
        divergence,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use super::*;

    const GUARDS: Guards = Guards {
        max_age_s: 5.0,
        max_divergence: 0.02,
        least: 2,
    };

    fn at(price: f64, age_s: f64, weight: f64) -> Source {
        Source {
            price,
            age_s,
            weight,
        }
    }

    #[test]
    fn fresh_sources_that_agree_give_a_price() {
        let sources = [
            Some(at(101.0, 1.0, 3.0)),
            None,
            Some(at(100.0, 5.0, 1.0)),
            Some(at(500.0, 5.1, 1.0)),
        ];
        let median = combine(&sources, Rule::Median, &GUARDS).unwrap();
        assert!((median.price - 100.5).abs() < 1e-12 && median.used == 2);
        let weighted = combine(&sources, Rule::Weighted, &GUARDS).unwrap();
        assert!((weighted.price - 100.75).abs() < 1e-12);
        let three = [100.0, 101.0, 100.2].map(|price| Some(at(price, 0.0, 1.0)));
        assert!((combine(&three, Rule::Median, &GUARDS).unwrap().price - 100.2).abs() < 1e-12);
    }

    #[test]
    fn too_few_or_diverging_sources_give_no_price() {
        let stale = [Some(at(100.0, 1.0, 1.0)), Some(at(100.0, 6.0, 1.0)), None];
        assert!(matches!(
            combine(&stale, Rule::Median, &GUARDS),
            Err(Error::TooFew { given: 1, .. })
        ));
        let apart = [100.0, 102.1].map(|price| Some(at(price, 1.0, 1.0)));
        assert!(combine(&apart, Rule::Median, &GUARDS).is_err());
        for bad in [
            at(f64::NAN, 1.0, 1.0),
            at(0.0, 1.0, 1.0),
            at(1.0, -1.0, 1.0),
            at(1.0, 1.0, 0.0),
        ] {
            let sources = [at(100.0, 1.0, 1.0), at(100.0, 1.0, 1.0), bad].map(Some);
            assert!(combine(&sources, Rule::Median, &GUARDS).is_err(), "{bad:?}");
        }
        assert!(combine(&[], Rule::Median, &Guards { least: 0, ..GUARDS }).is_err());
    }
}
