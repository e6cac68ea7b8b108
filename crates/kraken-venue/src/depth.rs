//! The book of a pair.
//!
//! The service gives it no version and no time. A version is counted here, one more for every answer whose content
//! differs from the one before; the engine has one request of a market in flight, so that answers are in order. Its time is that of the answer's `Date` header, in whole seconds: a book seems up to a
//! second older than it is.

use cambist_core::request::DepthLevel;
use cambist_core::sorted_map::SortedMap;
use cambist_core::{MarketId, MarketSpec, Price};

use crate::amount::amount;
use crate::json::{DecodeError, Json};
use crate::listing::ListedPair;

/// Most levels of a side.
const LEVELS_MAX: usize = 500;

/// Both sides of a book, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Bids.
    pub bids: Vec<DepthLevel>,
    /// Asks.
    pub asks: Vec<DepthLevel>,
}

/// The result of `Depth` for a pair. Whether the sides are ordered and apart is judged by the engine.
pub fn levels(
    result: &Json,
    pair: &ListedPair,
    market: &MarketSpec,
) -> Result<Levels, DecodeError> {
    let [(name, book)] = result.object()?.entries() else {
        return Err(DecodeError::new("expected the book of one pair"));
    };
    if *name != pair.pair.name && *name != pair.pair.altname {
        return Err(DecodeError::new("another pair's book").within(name));
    }
    let side = |side: &Json| {
        let rows = side.list()?;
        if rows.len() > LEVELS_MAX {
            return Err(DecodeError::new(format!("has {} levels", rows.len())));
        }
        let rows = rows.iter().enumerate();
        rows.map(|(at, row)| level(row, market).map_err(|error| error.within(&format!("[{at}]"))))
            .collect()
    };
    let read = || {
        let sides = book.object()?;
        Ok(Levels {
            bids: sides.required("bids", side)?,
            asks: sides.required("asks", side)?,
        })
    };
    read().map_err(|error: DecodeError| error.within(name))
}

/// Price, volume, and when it last changed.
fn level(row: &Json, market: &MarketSpec) -> Result<DepthLevel, DecodeError> {
    let [price, volume, _] = row.list()? else {
        return Err(DecodeError::new("expected price, volume and time"));
    };
    let ticks = amount(price, market.price_decimals)?;
    let ticks = u64::try_from(ticks).map_err(|_| DecodeError::new("the price is too large"))?;
    Ok(DepthLevel {
        price: Price(ticks),
        size: amount(volume, market.base.decimals)?,
    })
}

/// The last content of each market's book, and how many there were.
#[derive(Debug, Default)]
pub struct DepthVersions {
    markets: SortedMap<MarketId, (Levels, u64)>,
}

impl DepthVersions {
    /// The version of this content: that of the last answer if it had the same.
    pub fn version(&mut self, market: MarketId, levels: &Levels) -> u64 {
        match self.markets.get_mut(&market) {
            Some((known, version)) if known == levels => *version,
            Some((known, version)) => {
                levels.clone_into(known);
                *version = version.saturating_add(1);
                *version
            }
            None => {
                self.markets.insert(market, (levels.clone(), 1));
                1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::json::parse;
    use crate::listing::tests::listing;

    fn read(text: &str) -> Result<Levels, DecodeError> {
        let listing = listing();
        let market = listing.market(MarketId(0), "XBT-USD").unwrap();
        levels(
            &parse(text.as_bytes()).unwrap(),
            listing.pair("XBT-USD").unwrap(),
            &market,
        )
    }

    #[test]
    fn the_published_example_is_read_in_ticks_and_units() {
        let text = r#"{"XXBTZUSD":{"asks":[["30384.1","2.059",1688671659],["30387.9","1.50000",1688671380]],
            "bids":[["30297.0","1.115",1688671636]],"more":7}}"#;
        let book = read(text).unwrap();
        assert_eq!(
            (book.asks[1].price, book.asks[1].size),
            (Price(303_879), 15_000_000_000)
        );
        assert_eq!((book.bids.len(), book.bids[0].price), (1, Price(302_970)));
        assert!(read(&text.replace("XXBTZUSD", "XBTUSD")).is_ok());
        for (from, to) in [
            ("XXBTZUSD", "XETHXXBT"),
            ("30384.1", "30384.15"),
            ("30384.1", "-30384.1"),
            ("30384.1", "99999999999999999999.0"),
            ("\"2.059\"", "2.059"),
            ("2.059", "2.05900000001"),
            ("\"2.059\",1688671659", "\"2.059\""),
            ("\"asks\"", "\"sells\""),
            ("{\"asks\"", "[{\"asks\""),
        ] {
            let text = text.replacen(from, to, 1);
            if let Ok(json) = parse(text.as_bytes()) {
                let listing = listing();
                let market = listing.market(MarketId(0), "XBT-USD").unwrap();
                assert!(
                    levels(&json, listing.pair("XBT-USD").unwrap(), &market).is_err(),
                    "{to}"
                );
            }
        }
        assert!(read("{}").is_err() && read("[]").is_err());
        let row = r#"["1.0","1",1],"#;
        let side = |count: usize| {
            let rows = row.repeat(count);
            format!(
                r#"{{"XBTUSD":{{"asks":[],"bids":[{}]}}}}"#,
                rows.trim_end_matches(',')
            )
        };
        assert!(read(&side(500)).is_ok() && read(&side(501)).is_err());
    }

    #[test]
    fn a_version_is_a_change_of_content() {
        let mut versions = DepthVersions::default();
        let book = |price| Levels {
            bids: vec![DepthLevel {
                price: Price(price),
                size: 1,
            }],
            asks: Vec::new(),
        };
        let (one, two) = (MarketId(0), MarketId(1));
        let mut next = |market, price| versions.version(market, &book(price));
        assert_eq!(
            [next(one, 5), next(one, 5), next(one, 6), next(one, 5)],
            [1, 1, 2, 3]
        );
        assert_eq!([next(two, 5), next(one, 5)], [1, 3]);
    }
}
