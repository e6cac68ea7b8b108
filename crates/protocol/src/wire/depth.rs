//! The depth snapshot of the interface: lists of four strings.
//!
//! Prices stay decimals here; `decode` converts them to ticks of a market.

use cambist_core::Amount;
use serde::{Serialize, Serializer};

use super::any_text;
use crate::json::{FromWire, Json, WireError, integer, wide};

/// Most levels per side.
pub(crate) const LEVELS_MAX: usize = 10_000;

/// One level: `[price, size, volume, count]`, four strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Quote tokens per base token, a decimal.
    pub price: String,
    /// Base units.
    pub size: Amount,
    /// Quote units.
    pub volume: Amount,
    /// Number of orders at this price.
    pub count: u64,
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        [
            self.price.clone(),
            self.size.to_string(),
            self.volume.to_string(),
            self.count.to_string(),
        ]
        .serialize(to)
    }
}

impl FromWire for Level {
    fn read(json: &Json) -> Result<Self, WireError> {
        let Json::List(items) = json else {
            return Err(WireError::new(format!("expected a list, found {json}")));
        };
        let [price, size, volume, count] = items.as_slice() else {
            return Err(WireError::new(format!(
                "has {} items instead of price, size, volume and count",
                items.len()
            )));
        };
        Ok(Self {
            price: any_text(price).map_err(|error| error.within("[0]"))?,
            size: wide(size).map_err(|error| error.within("[1]"))?,
            volume: wide(volume).map_err(|error| error.within("[2]"))?,
            count: integer(count).map_err(|error| error.within("[3]"))?,
        })
    }
}

/// Answer of GET depth; both sides best first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DepthSnapshot {
    /// Version, which only increases.
    pub version: u64,
    /// Milliseconds since the epoch.
    pub timestamp: u64,
    /// Market name: outside the interface, for a public client that reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub market: Option<String>,
    /// Bids.
    pub bids: Vec<Level>,
    /// Asks.
    pub asks: Vec<Level>,
}

impl FromWire for DepthSnapshot {
    fn read(json: &Json) -> Result<Self, WireError> {
        let levels = |json: &Json| match json {
            Json::List(items) if items.len() > LEVELS_MAX => {
                Err(WireError::new(format!("has more than {LEVELS_MAX} levels")))
            }
            other => other.list(Level::read),
        };
        let object = json.object()?;
        Ok(Self {
            version: object.required("version", integer)?,
            timestamp: object.required("timestamp", integer)?,
            market: object.optional("market", any_text)?,
            bids: object.required("bids", levels)?,
            asks: object.required("asks", levels)?,
        })
    }
}
