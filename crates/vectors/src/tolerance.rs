//! The tolerance of a file: its member `tolerance`, an object or a sentence.

use cambist_signing::vectors::{Json, Node, VectorError};

/// The parsed tolerance; absent parts are 0 or `None`.
#[derive(Clone, Debug, Default)]
pub(super) struct Tolerance {
    /// Relative to the stated number.
    pub rel: f64,
    /// Absolute.
    pub abs: f64,
    /// Absolute, for printed numbers.
    pub published_abs: Option<f64>,
    /// Absolute in percent, for printed numbers in percent.
    pub published_percent: Option<f64>,
    /// Bounds named in a sentence, such as `1e-12 for *_raw_tick`.
    pub named: Vec<f64>,
    /// Decimal places named in a sentence, such as `published to 7 places`.
    pub places: Option<i32>,
}

/// How a sentence begins.
const SENTENCES: [&str; 4] = [
    "exact",
    "exact integers for ticks",
    "exact rationals",
    "statistical, see acceptance",
];

impl Tolerance {
    /// Reads the tolerance of a file.
    pub fn read(file: &Node<'_>) -> Result<Self, VectorError> {
        let node = file.get("tolerance")?;
        match node.value() {
            Json::Text(text) => Self::sentence(text).ok_or_else(|| {
                node.malformed("a known sentence, such as `exact`, or an object with rel and abs")
            }),
            Json::Object(members) => {
                let mut made = Self::default();
                for (name, _) in members {
                    let member = node.get(name)?;
                    let place = match name.as_str() {
                        "rel" => &mut made.rel,
                        "abs" => &mut made.abs,
                        "published_abs" => made.published_abs.insert(0.0),
                        "published_abs_percent" => made.published_percent.insert(0.0),
                        "note" => continue,
                        _ => return Err(member.malformed("a known member")),
                    };
                    *place = bound(&member)?;
                }
                if made.rel == 0.0 && made.abs == 0.0 {
                    return Err(node.malformed("rel or abs above 0"));
                }
                Ok(made)
            }
            _ => Err(node.malformed("text or an object")),
        }
    }

    /// A sentence: how values are compared, then its exceptions, each behind a semicolon. `None` if any part of it is
    /// not known: it could ask for more than is compared.
    fn sentence(text: &str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        if !SENTENCES.contains(&parts.next()?) {
            return None;
        }
        let mut made = Self::default();
        for part in parts {
            let words: Vec<&str> = part.split_whitespace().collect();
            match words[..] {
                ["published", "to", places, "places"] => made.places = Some(places.parse().ok()?),
                [bound, "for", _]
                | ["'out'", "itself", "reproducible", "to", bound, "by", "DP"] => {
                    made.named.push(bound.parse().ok()?);
                }
                // Advice to who implements it.
                ["pitfall:", ..] => {}
                _ => return None,
            }
        }
        Some(made)
    }

    /// Allowed deviation from `stated`.
    pub fn allowed(&self, stated: f64) -> f64 {
        self.abs.max(self.rel * stated.abs())
    }

    /// The single bound in a sentence.
    pub fn only_named(&self, file: &Node<'_>) -> Result<f64, VectorError> {
        match self.named[..] {
            [bound] if (0.0..1.0).contains(&bound) => Ok(bound),
            _ => Err(file
                .get("tolerance")?
                .malformed("a sentence with one bound")),
        }
    }
}

fn bound(node: &Node<'_>) -> Result<f64, VectorError> {
    let bound = node.float()?;
    if (0.0..1.0).contains(&bound) {
        Ok(bound)
    } else {
        Err(node.malformed("a bound from 0, below 1"))
    }
}
