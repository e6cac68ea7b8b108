//! Names of assets and pairs. Kraken writes an asset as an id and an alternative name; a few have a letter before the
//! name in their id, and a pair of two such assets joins the ids (`XXBTZUSD`), any other pair the names (`XBTUSDT`).

use cambist_core::math::mul_div_floor;
use cambist_core::{Amount, MarketId, Price, TokenId};
use cambist_protocol::number::decimal;
use cambist_venue::{MarketConfig, TokenConfig, Venue};

/// Symbols whose id or name differs from the symbol: symbol, id, name.
const NAMES: [(&str, &str, &str); 19] = [
    ("BTC", "XXBT", "XBT"),
    ("DOGE", "XXDG", "XDG"),
    ("ETH", "XETH", "ETH"),
    ("ETC", "XETC", "ETC"),
    ("LTC", "XLTC", "LTC"),
    ("MLN", "XMLN", "MLN"),
    ("REP", "XREP", "REP"),
    ("XLM", "XXLM", "XLM"),
    ("XMR", "XXMR", "XMR"),
    ("XRP", "XXRP", "XRP"),
    ("ZEC", "XZEC", "ZEC"),
    ("AUD", "ZAUD", "AUD"),
    ("CAD", "ZCAD", "CAD"),
    ("EUR", "ZEUR", "EUR"),
    ("GBP", "ZGBP", "GBP"),
    ("JPY", "ZJPY", "JPY"),
    ("USD", "ZUSD", "USD"),
    ("XBT", "XXBT", "XBT"),
    ("XDG", "XXDG", "XDG"),
];

/// A token as an asset.
#[derive(Clone, Debug)]
pub(super) struct Asset {
    pub token: TokenId,
    pub id: String,
    pub name: String,
    pub decimals: u8,
    pub precision: u8,
    pub is_enabled: bool,
    pub minimum: Amount,
}

impl Asset {
    pub fn new(token: &TokenConfig) -> Self {
        let symbol = token.spec.symbol.as_str();
        let known = NAMES.iter().find(|(of, _, _)| *of == symbol);
        let (id, name) = known.map_or((symbol, symbol), |(_, id, name)| (*id, *name));
        Self {
            token: token.spec.id,
            id: id.to_owned(),
            name: name.to_owned(),
            decimals: token.spec.decimals,
            precision: token.spec.precision,
            is_enabled: token.spec.enabled,
            minimum: token.spec.minimum,
        }
    }

    /// Whether this is the asset of a name, by which a client may also call it by its usual symbol.
    pub fn is_called(&self, name: &str) -> bool {
        let alias = NAMES.iter().find(|(symbol, _, _)| *symbol == name);
        self.id == name || self.name == name || alias.is_some_and(|(_, id, _)| *id == self.id)
    }

    fn has_letter(&self) -> bool {
        self.id.len() == 4 && self.id != self.name
    }

    /// An amount in whole tokens.
    pub fn amount(&self, units: Amount) -> String {
        decimal(units, self.decimals)
    }
}

/// A market as a pair.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub market: MarketId,
    pub config: MarketConfig,
    pub base: Asset,
    pub quote: Asset,
    pub id: String,
    pub altname: String,
    pub wsname: String,
    /// Decimals of a volume: as many as keep every value at every price a whole number of quote units.
    pub lot_decimals: u8,
}

impl Pair {
    fn new(market: MarketId, config: &MarketConfig, base: Asset, quote: Asset) -> Self {
        let altname = format!("{}{}", base.name, quote.name);
        let id = if base.has_letter() && quote.has_letter() {
            format!("{}{}", base.id, quote.id)
        } else {
            altname.clone()
        };
        let exact = quote.decimals.saturating_sub(config.price_decimals);
        Self {
            market,
            config: config.clone(),
            id,
            altname,
            wsname: format!("{}/{}", base.name, quote.name),
            lot_decimals: base.precision.min(exact),
            base,
            quote,
        }
    }

    /// Whether this is the pair of a name.
    pub fn is_called(&self, name: &str) -> bool {
        self.id == name
            || self.altname == name
            || name.split_once('/').is_some_and(|(base, quote)| {
                self.base.is_called(base) && self.quote.is_called(quote)
            })
    }

    pub fn price(&self, price: Price) -> String {
        decimal(price.0.into(), self.config.price_decimals)
    }

    /// Base units, with at least the decimals of a lot, and more only where they are needed.
    pub fn volume(&self, units: Amount) -> String {
        trimmed(self.base.amount(units), self.lot_decimals)
    }

    /// Quote units cut to the decimals of costs, as summaries of orders show them.
    pub fn cost(&self, units: Amount) -> String {
        let dropped = self.quote.decimals.saturating_sub(self.cost_decimals());
        decimal(units / 10u128.pow(dropped.into()), self.cost_decimals())
    }

    /// The smallest volume that can be ordered: whole lots, not below the smallest amount of the base.
    pub fn least_volume(&self) -> Amount {
        let lot = 10u128.pow(self.base.decimals.saturating_sub(self.lot_decimals).into());
        self.base.minimum.max(1).div_ceil(lot).saturating_mul(lot)
    }

    /// Whether it and both of its assets are open for orders.
    pub const fn is_open(&self) -> bool {
        self.config.enabled && self.base.is_enabled && self.quote.is_enabled
    }

    /// One whole base token in base units.
    pub fn one_base(&self) -> Amount {
        10u128.pow(self.base.decimals.into())
    }

    /// The average price of a volume, cut to the decimals of a price; 0 if there was none.
    pub fn average(&self, base: Amount, quote: Amount) -> String {
        // quote · 10^(base decimals + price decimals) / (base · 10^quote decimals)
        let up = u32::from(self.base.decimals) + u32::from(self.config.price_decimals);
        let down = u32::from(self.quote.decimals);
        let ticks = if base == 0 {
            None
        } else if up >= down {
            let factor = 10u128.checked_pow(up - down);
            factor.and_then(|factor| mul_div_floor(quote, factor, base))
        } else {
            let factor = 10u128.checked_pow(down - up);
            factor.map(|factor| quote / factor / base)
        };
        let ticks = ticks.and_then(|ticks| u64::try_from(ticks).ok());
        self.price(Price(ticks.unwrap_or(0)))
    }

    /// Decimals of costs in summaries of orders.
    pub fn cost_decimals(&self) -> u8 {
        self.quote.precision.min(5)
    }
}

/// Drops trailing zeros beyond so many decimals.
fn trimmed(mut text: String, at_least: u8) -> String {
    let Some(point) = text.find('.') else {
        return text;
    };
    while text.len() > point + 1 + usize::from(at_least) && text.ends_with('0') {
        text.pop();
    }
    if text.ends_with('.') {
        text.pop();
    }
    text
}

/// All assets.
pub(super) fn assets(venue: &Venue) -> Vec<Asset> {
    venue.listed_tokens().map(Asset::new).collect()
}

/// All pairs.
pub(super) fn pairs(venue: &Venue) -> Vec<Pair> {
    let made = venue.listed_markets().filter_map(|(id, config)| {
        let asset = |token| venue.token(token).map(Asset::new);
        let (base, quote) = (asset(config.base)?, asset(config.quote)?);
        Some(Pair::new(id, config, base, quote))
    });
    made.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cambist_core::TokenSpec;
    use cambist_core::venue::FeeToken;
    use cambist_venue::TokenKind;

    fn asset(symbol: &str, decimals: u8) -> Asset {
        Asset::new(&TokenConfig {
            spec: TokenSpec {
                id: TokenId(0),
                symbol: symbol.to_owned(),
                decimals,
                precision: decimals.min(8),
                minimum: 1,
                maximum: 2,
                dust: 0,
                enabled: true,
            },
            name: symbol.to_owned(),
            address: [0; 20],
            kind: TokenKind::Erc20,
            fast_withdraw_limit: 0,
        })
    }

    fn pair(base: &str, quote: &str) -> Pair {
        let config = MarketConfig {
            name: format!("{base}-{quote}"),
            base: TokenId(0),
            quote: TokenId(1),
            price_decimals: 1,
            aggregation_levels: 1,
            enabled: true,
            maker_fee_bips: 0,
            taker_fee_bips: 0,
            price_band: None,
            fee_in: FeeToken::Quote,
        };
        Pair::new(MarketId(0), &config, asset(base, 18), asset(quote, 6))
    }

    #[test]
    fn pairs_are_named_as_published() {
        let named = |base, quote| {
            let pair = pair(base, quote);
            [pair.id, pair.altname, pair.wsname]
        };
        assert_eq!(named("BTC", "USD"), ["XXBTZUSD", "XBTUSD", "XBT/USD"]);
        assert_eq!(named("ETH", "BTC"), ["XETHXXBT", "ETHXBT", "ETH/XBT"]);
        assert_eq!(named("BTC", "USDT"), ["XBTUSDT", "XBTUSDT", "XBT/USDT"]);
        assert_eq!(named("ADA", "USD"), ["ADAUSD", "ADAUSD", "ADA/USD"]);
        let pair = pair("BTC", "USD");
        for name in ["XXBTZUSD", "XBTUSD", "XBT/USD", "BTC/USD", "XXBT/ZUSD"] {
            assert!(pair.is_called(name), "{name}");
        }
        for name in ["BTCUSD", "XBT/EUR", "XBT", "/", ""] {
            assert!(!pair.is_called(name), "{name}");
        }
    }

    #[test]
    fn volumes_show_what_is_needed_and_costs_are_cut() {
        let pair = pair("BTC", "USD");
        assert_eq!(
            pair.lot_decimals, 5,
            "6 decimals of quote less 1 of the price"
        );
        assert_eq!(pair.volume(10u128.pow(18)), "1.00000");
        assert_eq!(pair.volume(10u128.pow(18) + 1), "1.000000000000000001");
        assert_eq!(pair.cost(1_234_567), "1.23456");
        assert_eq!(pair.price(Price(303_841)), "30384.1");
    }

    #[test]
    fn the_smallest_volume_is_whole_lots() {
        let mut pair = pair("BTC", "USD");
        let lot = 10u128.pow(13);
        for (minimum, least) in [(0, lot), (1, lot), (lot, lot), (lot + 1, 2 * lot)] {
            pair.base.minimum = minimum;
            assert_eq!(pair.least_volume(), least, "{minimum}");
        }
    }
}
