//! Vectors of pool arithmetic, each in the convention that its file names.
//!
//! These are the conventions of contracts, circuits and other exchanges, evaluated to compare. The
//! embedded exchange prices by rules of its own, which are not known here.

mod arbitrage;
mod compare;
mod exact;
mod shares;
mod swap;
#[cfg(test)]
mod tests;

use cambist_signing::vectors::{Cases, Json, Node, SHAPES, Shape, VectorError};

use self::compare::Evaluate;

/// Every shape that `cambist vectors` knows: the interface's own, then pool arithmetic.
pub fn shapes() -> Vec<Shape> {
    let own = [
        Shape {
            name: "pool swaps",
            recognises: |json| is_family(json, "cpmm_swap"),
            evaluate: |file, cases| each(file, cases, swap::evaluate),
        },
        Shape {
            name: "pool shares",
            recognises: |json| is_family(json, "cpmm_lp"),
            evaluate: |file, cases| each(file, cases, shares::evaluate),
        },
        Shape {
            name: "pool arbitrage",
            recognises: |json| is_family(json, "cpmm_arb_price"),
            evaluate: |file, cases| each(file, cases, arbitrage::evaluate),
        },
    ];
    SHAPES.into_iter().chain(own).collect()
}

fn is_family(json: &Json, family: &str) -> bool {
    matches!(json.get("family"), Some(Json::Text(text)) if text == family)
}

fn each(file: &Node<'_>, cases: &mut Cases, evaluate: Evaluate) -> Result<(), VectorError> {
    file.get("cases")?.each(cases, |node, case| {
        let computed = evaluate(&node.get("in")?)?;
        compare::compare(node, case, &computed)
    })
}
