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

impl Tolerance {
    /// Reads the tolerance of a file.
    pub fn read(file: &Node<'_>) -> Result<Self, VectorError> {
        let node = file.get("tolerance")?;
        match node.value() {
            Json::Text(text) => Self::sentence(text)
                .ok_or_else(|| node.malformed("exact, statistical, or an object with rel and abs")),
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

    fn sentence(text: &str) -> Option<Self> {
        if !text.starts_with("exact") && !text.starts_with("statistical") {
            return None;
        }
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || c == ';' || c == ',')
            .collect();
        let places = words.windows(2).find(|pair| pair[1] == "places");
        let named = words.iter().filter(|word| word.contains("e-"));
        Some(Self {
            places: places.and_then(|pair| pair[0].parse().ok()),
            named: named.filter_map(|word| word.parse().ok()).collect(),
            ..Self::default()
        })
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
