//! Vectors of request signatures, and the canonical texts of a request in a file.

use super::{Case, Json, Node, Shape, VectorError, eddsa, first_has, keys};
use crate::hash32::Hash32;
use crate::request_signature::{
    candidates, docs_body_form, docs_form, is_without_body, message, sdk_body_form, sdk_form,
};

pub(super) const SHAPE: Shape = Shape {
    name: "request signatures",
    recognises: |json| first_has(json, &["sdk_canonical"]),
    evaluate: |file, cases| file.get("vectors")?.each(cases, evaluate),
};

fn evaluate(node: &Node<'_>, case: &mut Case) -> Result<(), VectorError> {
    use sha2::{Digest, Sha256};

    let request = Request::read(node)?;
    let key = keys::secret(&node.get("secretKey")?)?;
    let (sdk, docs) = (request.sdk(), request.docs());
    case.member(node, "sdk_canonical", &sdk)?;
    case.member(
        node,
        "sha256",
        &Hash32(Sha256::digest(sdk.as_bytes()).into()).to_hex(),
    )?;
    case.member(node, "message_mod_p", &message(&sdk).to_decimal())?;
    keys::public(node, case, &key)?;
    let signature = eddsa::sign(node, case, &key, &message(&sdk))?;
    case.member(node, "x_api_sig", &signature.to_hex())?;
    case.signature_parts(node, &signature)?;

    if node.optional("docs_canonical").is_some() {
        case.member(node, "docs_canonical", &docs)?;
    }
    if node.optional("docs_equals_sdk").is_some() {
        case.flag(node, "docs_equals_sdk", docs == sdk)?;
    }
    if node.optional("docs_x_api_sig").is_some() {
        let signature = eddsa::sign(node, case, &key, &message(&docs))?;
        case.member(node, "docs_x_api_sig", &signature.to_hex())?;
    }
    let tried = request.candidates();
    let both = tried.contains(&sdk) && tried.contains(&docs);
    case.require(both, node, || "a venue would not try both forms".to_owned());
    Ok(())
}

/// A request to be signed, as a file gives it.
pub(super) struct Request {
    method: String,
    base_url: String,
    path: String,
    params: Vec<(String, String)>,
    body: String,
}

impl Request {
    pub(super) fn read(node: &Node<'_>) -> Result<Self, VectorError> {
        let params = node.get("params")?;
        let mut pairs = Vec::new();
        for (name, value) in params.members()? {
            let value = match value {
                Json::Text(text) | Json::Number(text) => text.clone(),
                other => other.compact(),
            };
            pairs.push((name.clone(), value));
        }
        Ok(Self {
            method: node.get("method")?.text()?.to_owned(),
            base_url: node.get("base_url")?.text()?.to_owned(),
            path: node.get("path")?.text()?.to_owned(),
            params: pairs,
            body: params.value().compact(),
        })
    }

    fn pairs(&self) -> Vec<(&str, &str)> {
        self.params
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    fn sdk(&self) -> String {
        if is_without_body(&self.method) {
            sdk_form(&self.method, &self.base_url, &self.path, &self.pairs())
        } else {
            sdk_body_form(&self.method, &self.base_url, &self.path, &self.body)
        }
    }

    fn docs(&self) -> String {
        if is_without_body(&self.method) {
            docs_form(&self.method, &self.base_url, &self.path, &self.pairs())
        } else {
            docs_body_form(&self.method, &self.base_url, &self.path, &self.body)
        }
    }

    /// All texts a venue would try.
    pub(super) fn candidates(&self) -> Vec<String> {
        candidates(
            &self.method,
            &self.base_url,
            &self.path,
            &self.pairs(),
            &self.body,
        )
    }
}
