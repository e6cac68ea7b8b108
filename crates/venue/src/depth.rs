//! Depth: a market's levels, coarser by one decimal for each aggregation level.

use cambist_core::{Amount, MarketId, Price, Reason, Side};

use crate::response::{DepthRow, DepthView, Refusal};
use crate::venue::{Market, Venue};

impl Venue {
    /// A number that rises with every change of a market's book, as in its depth.
    pub fn book_version(&self, market: MarketId) -> Option<u64> {
        let market = self.markets.get(usize::from(market.0))?;
        Some(market.book.version)
    }

    /// Depth of a listed market, without the faults that a request can meet. `limit` is the most levels per side.
    pub fn depth(&self, name: &str, level: u64, limit: Option<u64>) -> Result<DepthView, Refusal> {
        let Some(market) = self
            .markets
            .iter()
            .find(|market| market.listed && market.config.name == name)
        else {
            return Err(Refusal::new(
                Reason::UnsupportedDepthMarket,
                "the market is not listed",
            ));
        };
        let step = u32::try_from(level)
            .ok()
            .filter(|level| *level <= u32::from(market.config.aggregation_levels))
            .and_then(|level| 10u64.checked_pow(level));
        let Some(step) = step else {
            return Err(Refusal::new(
                Reason::UnsupportedDepthLevel,
                format!(
                    "level {level} is not within 0 to {}",
                    market.config.aggregation_levels
                ),
            ));
        };
        let limits = &self.config.limits;
        let limit = limit
            .unwrap_or(u64::from(limits.depth_levels))
            .clamp(1, u64::from(limits.depth_levels_max));
        let rows = |side| {
            rows(
                market,
                side,
                step,
                usize::try_from(limit).unwrap_or(usize::MAX),
            )
        };
        Ok(DepthView {
            market: market.config.name.clone(),
            price_decimals: market.config.price_decimals,
            version: market.book.version,
            timestamp: self.now,
            changed: market.book.changed,
            bids: rows(Side::Buy),
            asks: rows(Side::Sell),
        })
    }
}

/// Rows of one side, best first. Bids are rounded down to a multiple of the step, asks up, so that a row never shows a
/// better price than its orders offer. A bid below one step is not shown.
fn rows(market: &Market, side: Side, step: u64, limit: usize) -> Vec<DepthRow> {
    let mut rows: Vec<DepthRow> = Vec::new();
    for (price, level) in market.book.levels(side) {
        let shown = Price(match side {
            Side::Buy => price.0 - price.0 % step,
            Side::Sell => price.0.checked_next_multiple_of(step).unwrap_or(price.0),
        });
        if shown.0 == 0 {
            break;
        }
        let volume = market
            .scale
            .quote_floor(level.size, price)
            .unwrap_or(Amount::MAX);
        match rows.last_mut() {
            Some(row) if row.price == shown => {
                row.size += level.size;
                // Only a level with an unpayable price comes near the limit.
                row.volume = row.volume.saturating_add(volume);
                row.count += level.count;
            }
            Some(_) | None => {
                if rows.len() == limit {
                    break;
                }
                rows.push(DepthRow {
                    price: shown,
                    size: level.size,
                    volume,
                    count: level.count,
                });
            }
        }
    }
    rows
}
