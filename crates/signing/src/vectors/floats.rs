//! Vectors of the float encodings: `encoding` f24 or f16, `value`, `float`, `decoded`, `exact`.

use super::{Case, Node, Shape, VectorError, first_has};
use crate::floats::{FLOAT16, FLOAT24};

pub(super) const SHAPE: Shape = Shape {
    name: "floats",
    recognises: |json| first_has(json, &["encoding", "float"]),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate),
};

fn evaluate(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    let name = node.get("encoding")?;
    let encoding = match name.text()? {
        "f24" => FLOAT24,
        "f16" => FLOAT16,
        _ => return Err(name.malformed("f24 or f16")),
    };
    let value = node.get("value")?;
    let amount = value.integer()?;
    let encoded = encoding
        .encode(amount)
        .map_err(|_| value.malformed("an amount that can be encoded"))?;
    let decoded = encoding
        .decode(encoded)
        .map_err(|_| value.malformed("an amount that can be encoded"))?;
    case.member(node, "float", &encoded.to_string())?;
    case.member(node, "decoded", &decoded.to_string())?;
    case.flag(node, "exact", decoded == amount)
}
