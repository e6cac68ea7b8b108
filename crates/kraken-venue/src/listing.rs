//! Assets and pairs, and what the engine trades of them: tokens and markets with exact scales.
//!
//! | here | of Kraken |
//! |---|---|
//! | token | an asset; its symbol is the alternative name (`XBT`, not `XXBT`) |
//! | market `XBT-USD` | the pair of the assets with these alternative names |
//! | decimals of a token | decimals in which the service keeps the asset |
//! | decimals of a price | `pair_decimals`; the tick has to be one unit of the last |
//! | precision of a token | at most `lot_decimals` of the pairs of which it is the base |
//! | smallest amount | `ordermin` of the pairs of which it is the base, `costmin` of those of which it is the quote |
//!
//! Fees are taken in the quote token, because orders ask for that (`oflags=fciq`).

use std::collections::BTreeMap;

use cambist_core::market::MarketError;
use cambist_core::request::Listed;
use cambist_core::token::AMOUNT_MAX;
use cambist_core::venue::FeeToken;
use cambist_core::{Amount, MarketId, MarketSpec, TokenId, TokenSpec};
use cambist_protocol::number::{quoted, scaled};

use crate::json::{DecodeError, Json};

/// Longest name of an asset or a pair.
const NAME_BYTES_MAX: usize = 40;
/// Most characters of a name in an error.
const SHOWN_MAX: usize = 48;

/// An asset as the service lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// The service's name: `XXBT`.
    pub name: String,
    /// The alternative name: `XBT`.
    pub altname: String,
    /// Decimals in which the service keeps it.
    pub decimals: u8,
    /// Whether it is enabled. One whose funding is interrupted is not.
    pub is_enabled: bool,
}

/// A pair as the service lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The service's name: `XXBTZUSD`.
    pub name: String,
    /// The alternative name, which requests use and reports of orders show: `XBTUSD`.
    pub altname: String,
    /// Name of the base asset.
    pub base: String,
    /// Name of the quote asset.
    pub quote: String,
    /// Decimals of a price.
    pub price_decimals: u8,
    /// Decimals of a volume.
    pub lot_decimals: u8,
    /// Smallest volume, as a decimal of the base.
    pub order_min: String,
    /// Smallest value, as a decimal of the quote; absent where the pair has none.
    pub cost_min: Option<String>,
    /// The step of prices, as a decimal.
    pub tick_size: Option<String>,
    /// Whether everything can be traded on it.
    pub is_online: bool,
}

/// The result of `Assets`: every asset, in the order of the answer.
pub fn assets(result: &Json) -> Result<Vec<Asset>, DecodeError> {
    let read = |(name, asset): &(String, Json)| {
        let read = || {
            let fields = asset.object()?;
            Ok(Asset {
                name: name_of(name)?,
                altname: fields.required("altname", own_name)?,
                decimals: fields.required("decimals", Json::integer)?,
                is_enabled: fields.required("status", |status| status.text(NAME_BYTES_MAX))?
                    == "enabled",
            })
        };
        read().map_err(|error: DecodeError| error.within(name))
    };
    result.object()?.entries().iter().map(read).collect()
}

/// The result of `AssetPairs`: every pair, in the order of the answer.
pub fn pairs(result: &Json) -> Result<Vec<Pair>, DecodeError> {
    let read = |(name, pair): &(String, Json)| {
        let read = || {
            let fields = pair.object()?;
            Ok(Pair {
                name: name_of(name)?,
                altname: fields.required("altname", own_name)?,
                base: fields.required("base", own_name)?,
                quote: fields.required("quote", own_name)?,
                price_decimals: fields.required("pair_decimals", Json::integer)?,
                lot_decimals: fields.required("lot_decimals", Json::integer)?,
                order_min: fields.required("ordermin", own_name)?,
                cost_min: fields.optional("costmin", own_name)?,
                tick_size: fields.optional("tick_size", own_name)?,
                is_online: fields.required("status", |status| status.text(NAME_BYTES_MAX))?
                    == "online",
            })
        };
        read().map_err(|error: DecodeError| error.within(name))
    };
    result.object()?.entries().iter().map(read).collect()
}

fn own_name(json: &Json) -> Result<String, DecodeError> {
    name_of(json.text(NAME_BYTES_MAX)?)
}

fn name_of(text: &str) -> Result<String, DecodeError> {
    let is_short = (1..=NAME_BYTES_MAX).contains(&text.len());
    if is_short && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        let shown = quoted(text, SHOWN_MAX);
        Err(DecodeError::new(format!("\"{shown}\" is not a name")))
    }
}

/// Why a listing cannot be traded on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    /// No such pair is listed.
    #[error("{name} is not among the listed pairs: {known}")]
    NoPair {
        /// The name that was asked for.
        name: String,
        /// What is listed.
        known: String,
    },
    /// A figure of a pair or an asset.
    #[error("{of}: {problem}")]
    Figure {
        /// The pair or asset.
        of: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The exact scale of a market.
    #[error(transparent)]
    Market(#[from] MarketError),
}

/// A pair with the tokens that it trades.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPair {
    /// The pair.
    pub pair: Pair,
    /// Name of the market: `XBT-USD`.
    pub market: String,
    /// Base token.
    pub base: TokenSpec,
    /// Quote token.
    pub quote: TokenSpec,
}

/// The pairs that are traded, and their tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Tokens by the service's name of the asset.
    tokens: BTreeMap<String, TokenSpec>,
    pairs: Vec<ListedPair>,
}

impl Listing {
    /// The listing of these pairs. `ids` has the number of every asset of a pair, by the service's name; an asset
    /// without a number is no token, and a pair of one is left out.
    pub fn new(
        assets: &[Asset],
        pairs: &[Pair],
        ids: &BTreeMap<String, TokenId>,
    ) -> Result<Self, ListingError> {
        let mut tokens = BTreeMap::new();
        for asset in assets {
            if let Some(id) = ids.get(&asset.name) {
                tokens.insert(asset.name.clone(), token(asset, *id, pairs)?);
            }
        }
        let listed = pairs.iter().filter_map(|pair| {
            let base = tokens.get(&pair.base)?.clone();
            let quote = tokens.get(&pair.quote)?.clone();
            Some(ListedPair {
                pair: pair.clone(),
                market: format!("{}-{}", base.symbol, quote.symbol),
                base,
                quote,
            })
        });
        let pairs = listed.collect();
        Ok(Self { tokens, pairs })
    }

    /// Every token.
    pub fn tokens(&self) -> impl Iterator<Item = &TokenSpec> {
        self.tokens.values()
    }

    /// The names of the assets that are tokens, as the service writes them.
    pub fn asset_names(&self) -> impl Iterator<Item = &str> {
        self.tokens.keys().map(String::as_str)
    }

    /// The number of every token, by the service's name of its asset.
    pub fn ids(&self) -> BTreeMap<String, TokenId> {
        let ids = self.tokens.iter();
        ids.map(|(name, token)| (name.clone(), token.id)).collect()
    }

    /// The token of an asset.
    pub fn token(&self, asset: &str) -> Option<&TokenSpec> {
        self.tokens.get(asset)
    }

    /// Every pair.
    pub fn pairs(&self) -> &[ListedPair] {
        &self.pairs
    }

    /// The pair of a market, by any of its names: `XBT-USD`, `XBT/USD`, `XBTUSD`, `XXBTZUSD`.
    pub fn pair(&self, name: &str) -> Option<&ListedPair> {
        let dashed = name.replace('/', "-");
        let mut pairs = self.pairs.iter();
        pairs.find(|listed| {
            listed.market == dashed || listed.pair.altname == name || listed.pair.name == name
        })
    }

    /// A market with its exact scale, by any name of its pair.
    pub fn market(&self, id: MarketId, name: &str) -> Result<MarketSpec, ListingError> {
        let listed = self.pair(name).ok_or_else(|| ListingError::NoPair {
            name: quoted(name, SHOWN_MAX),
            known: self.known(),
        })?;
        let pair = &listed.pair;
        let wrong = |problem: String| ListingError::Figure {
            of: pair.name.clone(),
            problem,
        };
        if let Some(tick) = &pair.tick_size {
            let ticks = scaled(tick, pair.price_decimals);
            if ticks != Ok(1) {
                return Err(wrong(format!(
                    "prices rise in steps of {}, and only a step of one unit of their last decimal ({}) can be traded",
                    quoted(tick, SHOWN_MAX),
                    pair.price_decimals
                )));
            }
        }
        let spec = MarketSpec::new(
            id,
            &listed.market,
            listed.base.clone(),
            listed.quote.clone(),
            pair.price_decimals,
            pair.is_online,
        )?;
        Ok(spec.with_fee_in(FeeToken::Quote))
    }

    /// The markets as the engine compares them with those of its start.
    pub fn listed(&self) -> Vec<Listed> {
        let listed = self.pairs.iter().map(|listed| Listed {
            name: listed.market.clone(),
            base: listed.base.id,
            quote: listed.quote.id,
            price_decimals: listed.pair.price_decimals,
            enabled: listed.pair.is_online,
        });
        listed.collect()
    }

    fn known(&self) -> String {
        let names: Vec<_> = self.pairs.iter().map(|pair| pair.market.as_str()).collect();
        if names.is_empty() {
            "there is none".to_owned()
        } else {
            names.join(", ")
        }
    }
}

/// A token, bounded by the pairs that trade it.
fn token(asset: &Asset, id: TokenId, pairs: &[Pair]) -> Result<TokenSpec, ListingError> {
    let of_base = || pairs.iter().filter(|pair| pair.base == asset.name);
    let of_quote = || pairs.iter().filter(|pair| pair.quote == asset.name);
    let units = |of: &Pair, what: &str, text: &str| -> Result<Amount, ListingError> {
        let figure = |problem: String| ListingError::Figure {
            of: of.name.clone(),
            problem,
        };
        // A bound that is finer than the asset is kept is rounded up.
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let kept = fraction.get(..asset.decimals.into()).unwrap_or(fraction);
        let is_cut = fraction
            .get(kept.len()..)
            .is_some_and(|rest| rest.bytes().any(|b| b != b'0'));
        let text_kept = if kept.is_empty() {
            whole.to_owned()
        } else {
            format!("{whole}.{kept}")
        };
        if !fraction.bytes().all(|byte| byte.is_ascii_digit()) || text.ends_with('.') {
            return Err(figure(format!(
                "{what} {} is not a decimal",
                quoted(text, SHOWN_MAX)
            )));
        }
        let units = scaled(&text_kept, asset.decimals)
            .map_err(|error| figure(format!("{what} {} {error}", quoted(text, SHOWN_MAX))))?;
        let units = units.saturating_add(is_cut.into());
        if units > AMOUNT_MAX {
            return Err(figure(format!(
                "{what} {} is too large",
                quoted(text, SHOWN_MAX)
            )));
        }
        Ok(units)
    };
    if asset.decimals > 27 {
        return Err(ListingError::Figure {
            of: asset.name.clone(),
            problem: format!(
                "it has {} decimals, more than can be counted",
                asset.decimals
            ),
        });
    }
    let mut minimum = 1;
    for pair in of_base() {
        minimum = minimum.max(units(pair, "ordermin", &pair.order_min)?);
    }
    for pair in of_quote() {
        if let Some(cost_min) = &pair.cost_min {
            minimum = minimum.max(units(pair, "costmin", cost_min)?);
        }
    }
    let lots = of_base().map(|pair| pair.lot_decimals).min();
    Ok(TokenSpec {
        id,
        symbol: asset.altname.clone(),
        decimals: asset.decimals,
        precision: lots.map_or(asset.decimals, |lots| lots.min(asset.decimals)),
        minimum,
        maximum: AMOUNT_MAX,
        dust: 0,
        enabled: asset.is_enabled,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::json::parse;
    use cambist_core::{Price, Qty};

    /// Published examples, and a pair whose base is the quote of another.
    const ASSETS: &str = r#"{
        "ADA": {"aclass":"currency","altname":"ADA","decimals":8,"display_decimals":6,"collateral_value":0.9,
            "status":"enabled"},
        "XETH": {"aclass":"currency","altname":"ETH","decimals":10,"display_decimals":5,"collateral_value":1,
            "status":"funding_temporarily_disabled"},
        "XXBT": {"aclass":"currency","altname":"XBT","decimals":10,"display_decimals":5,"collateral_value":1,
            "status":"enabled","new_field":[]},
        "ZUSD": {"aclass":"currency","altname":"USD","decimals":4,"display_decimals":2,"collateral_value":1,
            "status":"enabled"}}"#;
    const PAIRS: &str = r#"{
        "XETHXXBT": {"altname":"ETHXBT","wsname":"ETH/XBT","base":"XETH","quote":"XXBT","lot":"unit",
            "cost_decimals":6,"pair_decimals":5,"lot_decimals":8,"lot_multiplier":1,"fees":[[0,0.26]],
            "ordermin":"0.01","costmin":"0.00002","tick_size":"0.00001","status":"online"},
        "XXBTZUSD": {"altname":"XBTUSD","wsname":"XBT/USD","base":"XXBT","quote":"ZUSD","lot":"unit",
            "cost_decimals":5,"pair_decimals":1,"lot_decimals":8,"lot_multiplier":1,"fees":[[0,0.26]],
            "ordermin":"0.0001","costmin":"0.5","tick_size":"0.1","status":"post_only"}}"#;

    pub(crate) fn listing() -> Listing {
        let (assets, pairs) = (
            assets(&parse(ASSETS.as_bytes()).unwrap()),
            pairs(&parse(PAIRS.as_bytes()).unwrap()),
        );
        Listing::new(&assets.unwrap(), &pairs.unwrap(), &ids()).unwrap()
    }

    fn ids() -> BTreeMap<String, TokenId> {
        let ids = [("XXBT", 7), ("ZUSD", 2), ("XETH", 9)];
        ids.map(|(name, id)| (name.to_owned(), TokenId(id))).into()
    }

    #[test]
    fn published_examples_become_tokens_and_markets() {
        let listing = listing();
        assert!(listing.token("ADA").is_none(), "it has no number");
        let token = listing.token("XXBT").unwrap();
        assert_eq!(
            (
                token.id,
                token.symbol.as_str(),
                token.decimals,
                token.precision
            ),
            (TokenId(7), "XBT", 10, 8)
        );
        assert_eq!(token.minimum, 1_000_000, "0.0001, more than 0.00002");
        assert_eq!(listing.token("ZUSD").unwrap().minimum, 5_000);
        assert!(!listing.token("XETH").unwrap().enabled);
        let market = listing.market(MarketId(0), "XBT-USD").unwrap();
        assert_eq!(
            (market.name.as_str(), market.price_decimals, market.enabled),
            ("XBT-USD", 1, false)
        );
        assert_eq!(market.fee_in, FeeToken::Quote);
        // 4 decimals of the quote less 1 of the price.
        assert_eq!(market.lot, 10_000_000);
        assert_eq!(
            market.quote_amount(Price(375_000), Qty(1_250)),
            Some(468_750_000)
        );
        for name in ["XBT/USD", "XBTUSD", "XXBTZUSD"] {
            assert_eq!(
                listing.market(MarketId(0), name).as_ref(),
                Ok(&market),
                "{name}"
            );
        }
        let error = listing
            .market(MarketId(0), "BTC-USD")
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "BTC-USD is not among the listed pairs: ETH-XBT, XBT-USD"
        );
        let listed = listing.listed();
        assert_eq!(listed.len(), 2);
        assert_eq!(
            (listed[1].name.as_str(), listed[1].base, listed[1].enabled),
            ("XBT-USD", TokenId(7), false)
        );
    }

    #[test]
    fn a_pair_that_cannot_be_traded_exactly_is_refused_with_the_figure() {
        let text = |from: &str, to: &str| PAIRS.replace(from, to);
        let market = |text: String| {
            let (assets, pairs) = (
                assets(&parse(ASSETS.as_bytes()).unwrap()).unwrap(),
                pairs(&parse(text.as_bytes()).unwrap()),
            );
            let listing = Listing::new(&assets, &pairs.unwrap(), &ids())?;
            listing.market(MarketId(0), "XBTUSD")
        };
        let error = |text| market(text).unwrap_err().to_string();
        let steps = error(text(r#""tick_size":"0.1""#, r#""tick_size":"0.5""#));
        assert!(
            steps.starts_with("XXBTZUSD: prices rise in steps of 0.5"),
            "{steps}"
        );
        let fine = error(text(r#""pair_decimals":1"#, r#""pair_decimals":5"#));
        assert!(fine.contains("steps of 0.1"), "{fine}");
        let fine = text(r#""pair_decimals":1"#, r#""pair_decimals":5"#)
            .replace(r#","tick_size":"0.1""#, "");
        assert!(error(fine).contains("an amount of the quote token 4"));
        for (from, to) in [
            ("0.0001", "-1"),
            ("0.0001", "1e3"),
            ("\"0.5\"", "\".5\""),
            ("\"0.5\"", "\"5.\""),
            ("\"0.5\"", "\"0.50000x\""),
        ] {
            assert!(
                matches!(market(text(from, to)), Err(ListingError::Figure { .. })),
                "{to}"
            );
        }
        // Finer than the asset is kept: rounded up.
        let bound = market(text("\"0.5\"", "\"0.50001\"")).unwrap();
        assert_eq!(bound.quote.minimum, 5_001);
        let bound = market(text("\"0.5\"", "\"0.50000000\"")).unwrap();
        assert_eq!(bound.quote.minimum, 5_000);
    }

    #[test]
    fn hostile_lists_are_refused_with_the_field() {
        let pair =
            |from: &str, to: &str| pairs(&parse(PAIRS.replace(from, to).as_bytes()).unwrap());
        for (from, to) in [
            (r#""pair_decimals":5"#, r#""pair_decimals":"5""#),
            (r#""pair_decimals":5"#, r#""pair_decimals":-5"#),
            (r#""pair_decimals":5"#, r#""pair_decimals":256"#),
            (r#""pair_decimals":5"#, r#""pair_decimals":5.0"#),
            (r#""altname":"ETHXBT","#, ""),
            (r#""base":"XETH""#, r#""base":"""#),
            (r#""base":"XETH""#, r#""base":"X ETH""#),
            (r#""status":"online""#, r#""status":null"#),
        ] {
            let error = pair(from, to).unwrap_err();
            assert!(error.field.starts_with("XETHXXBT"), "{to}: {error}");
        }
        assert!(pairs(&Json::List(Vec::new())).is_err());
        let asset =
            |from: &str, to: &str| assets(&parse(ASSETS.replace(from, to).as_bytes()).unwrap());
        assert!(asset(r#""decimals":8"#, r#""decimals":300"#).is_err());
        assert!(asset("\"ADA\": {", "\"\": {").is_err());
        let many = asset(
            r#""decimals":10,"display_decimals":5,"collateral_value":1,"#,
            r#""decimals":28,"#,
        )
        .unwrap();
        let made = Listing::new(&many, &pair("", "").unwrap(), &ids());
        assert!(matches!(made, Err(ListingError::Figure { .. })));
    }
}
