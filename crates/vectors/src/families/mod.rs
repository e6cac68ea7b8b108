//! The families, one file for each area.

mod grids;
mod intensities;
mod ladders;
mod latencies;
mod liquidity;
mod optimal;
mod performances;
mod pools;
mod profits;
mod queues;
mod shares;
mod signals;
mod stoikov;
mod volatilities;

use cambist_signing::vectors::Shape;

use super::{evaluate, is_family};

/// A shape from the constant of a family.
macro_rules! shape {
    ($family:path) => {
        Shape {
            name: $family.name,
            recognises: |json| is_family(json, $family.name),
            evaluate: |file, cases| evaluate(file, cases, &$family),
        }
    };
}

/// All families.
pub(super) fn shapes() -> Vec<Shape> {
    vec![
        shape!(stoikov::QUOTES),
        shape!(stoikov::SIMULATION),
        shape!(optimal::CLOSED),
        shape!(optimal::EXACT),
        shape!(optimal::FEE),
        shape!(optimal::FIGURES),
        shape!(optimal::PENALTY),
        shape!(optimal::LIQUIDATION),
        shape!(optimal::VALUE),
        shape!(signals::BOOK),
        shape!(signals::CHAIN),
        shape!(signals::FIT),
        shape!(volatilities::VOLATILITY),
        shape!(intensities::INTENSITY),
        shape!(grids::GRID),
        shape!(grids::SKEW),
        shape!(latencies::LATENCY),
        shape!(pools::SWAP),
        shape!(pools::TO_PRICE),
        shape!(pools::FILL_RULE),
        shape!(pools::FLOAT),
        shape!(shares::SHARES),
        shape!(ladders::LADDER),
        shape!(liquidity::VALUE),
        shape!(liquidity::LVR),
        shape!(liquidity::PATH),
        shape!(liquidity::BAND),
        shape!(profits::PROFIT),
        shape!(performances::PERFORMANCE),
        shape!(queues::QUEUE),
    ]
}
