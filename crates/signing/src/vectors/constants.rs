//! The constants of the hash: `round_constants` and `mds`, one matrix per width. One case per list and matrix.

use super::{Case, Cases, Json, Node, Shape, VectorError};
use crate::field::{Field, Fq};
use crate::poseidon::constants::{mds, round_constants};
use crate::poseidon::fast::{MAX_PARTIAL, MAX_WIDTH};

pub(super) const SHAPE: Shape = Shape {
    name: "poseidon constants",
    recognises: |json: &Json| json.get("round_constants").is_some() || json.get("mds").is_some(),
    evaluate,
};

fn evaluate(file: &Node<'_>, cases: &mut Cases) -> Result<(), VectorError> {
    let constants = file.get("round_constants")?;
    let count = constants.items()?.len();
    if count == 0 || count > MAX_PARTIAL + 16 {
        return Err(constants.malformed("as many constants as there are rounds"));
    }
    let mut case = Case::default();
    case.list(file, "round_constants", &shown(&round_constants(count)))?;
    cases.add(case);

    let matrices = file.get("mds")?;
    if matrices.members()?.is_empty() {
        return Err(matrices.malformed("at least one matrix"));
    }
    for (width, _) in matrices.members()? {
        let node = matrices.get(width)?;
        let size = width
            .parse()
            .ok()
            .filter(|size| (1..=MAX_WIDTH).contains(size));
        let size: usize = size.ok_or_else(|| node.malformed("the number of cells as name"))?;
        let (rows, computed) = (node.items()?, mds(size));
        let mut case = Case::default();
        case.require(rows.len() == size, &node, || {
            format!("{size} rows computed")
        });
        for (row, computed) in rows.iter().zip(&computed) {
            let cells = row.items()?;
            case.require(cells.len() == size, row, || {
                format!("{size} cells computed")
            });
            for (cell, computed) in cells.iter().zip(shown(computed)) {
                case.same(cell, &computed);
            }
        }
        cases.add(case);
    }
    Ok(())
}

fn shown(values: &[Fq]) -> Vec<String> {
    values
        .iter()
        .map(|value| Field::from(*value).to_decimal())
        .collect()
}
