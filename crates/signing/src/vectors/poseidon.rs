//! Vectors of the permutation: `t`, `rounds_full`, `rounds_partial`, `inputs`, `output`, `output_hex`.

use ark_ff::PrimeField;

use super::{Case, Node, Shape, VectorError, first_has};
use crate::field::{Field, Fq};
use crate::poseidon::Poseidon;
use crate::poseidon::fast::{MAX_PARTIAL, MAX_WIDTH};

pub(super) const SHAPE: Shape = Shape {
    name: "poseidon",
    recognises: |json| first_has(json, &["t", "inputs", "output"]),
    evaluate: |file, cases| {
        let vectors = file.get("vectors")?;
        vectors.each(cases, |node, case| {
            parameters(file, case);
            evaluate(node, case)
        })
    },
};

/// What the head of the file may say about the field, the S-box and the seed.
fn parameters(file: &Node<'_>, case: &mut Case) {
    let modulus = Field::from(Fq::MODULUS).to_decimal();
    for (name, computed) in [
        ("field", modulus.as_str()),
        ("sbox", "5"),
        ("seed", "poseidon"),
    ] {
        if let Some(node) = file.optional(name) {
            case.same(&node, computed);
        }
    }
}

fn evaluate(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let size = |name, most: usize| {
        let node = node.get(name)?;
        let value: usize = node.integer()?;
        if value <= most {
            Ok(value)
        } else {
            Err(node.malformed("a number of cells or rounds in use"))
        }
    };
    let width = size("t", MAX_WIDTH)?;
    if width == 0 {
        return Err(node.malformed("at least one cell"));
    }
    let permutation = Poseidon::new(
        width,
        size("rounds_full", 16)?,
        size("rounds_partial", MAX_PARTIAL)?,
    );
    let inputs = node.get("inputs")?;
    let values: Vec<Fq> = inputs
        .items()?
        .iter()
        .map(|item| Ok(item.decimal()?.element()))
        .collect::<Result<_, VectorError>>()?;
    if values.len() > width {
        return Err(inputs.malformed("no more inputs than cells"));
    }
    let output = Field::from(permutation.hash(&values));
    let slowly = Field::from(permutation.hash_by_reference(&values));
    case.require(output == slowly, node, || {
        "the fast and the plain permutation differ".to_owned()
    });
    case.member(node, "output", &output.to_decimal())?;
    case.member(node, "output_hex", &output.to_hex())
}
