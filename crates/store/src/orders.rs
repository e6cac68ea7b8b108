//! Rows of orders.

use cambist_core::order::{FillBy, OrderKind, Swap, UnsignedOrder};
use cambist_core::{
    ClientOrderId, Hash, MarketId, Price, Qty, Side, StrategyId, TokenId, VenueTime,
};
use rusqlite::{Row as SqlRow, Transaction, params};

use super::chain::{Row, Sum};

/// One row of `intents`, in the types of the database.
pub(super) struct OrderRow {
    pub(super) number: u64,
    pub(super) strategy: u8,
    pub(super) market: String,
    pub(super) side: String,
    pub(super) price: String,
    pub(super) qty: String,
    pub(super) kind: String,
    pub(super) sell_token: u16,
    pub(super) sell_amount: String,
    pub(super) buy_token: u16,
    pub(super) buy_amount: String,
    pub(super) fill_by: String,
    pub(super) storage_id: u32,
    /// Until when its bytes are accepted.
    pub(super) valid_until_s: u32,
    /// Until when it rests; `None` if only a fill or a cancel ends it.
    pub(super) rests_until_s: Option<u32>,
    /// Of a swap: most of the bought token that limits reckon with.
    pub(super) swap_most: Option<String>,
    pub(super) max_fee_bips: u8,
    pub(super) made_at_ms: u64,
    pub(super) hash: Hash,
    pub(super) body_sum: Sum,
    pub(super) sealed_us: u64,
}

impl OrderRow {
    pub(super) fn new(
        order: &UnsignedOrder,
        hash: Hash,
        body: &[u8],
        market: String,
        sealed_us: u64,
    ) -> Self {
        Self {
            number: order.client_id.number,
            strategy: order.client_id.strategy.0,
            market,
            side: order.side.name().to_owned(),
            price: order.price.0.to_string(),
            qty: order.qty.0.to_string(),
            kind: kind_name(order.kind).to_owned(),
            sell_token: order.sell_token.0,
            sell_amount: order.sell_amount.to_string(),
            buy_token: order.buy_token.0,
            buy_amount: order.buy_amount.to_string(),
            fill_by: fill_by_name(order.fill_by).to_owned(),
            storage_id: order.slot,
            valid_until_s: order.accepted_until_s,
            rests_until_s: order.rests_until_s,
            swap_most: order.swap.map(|swap| swap.most.to_string()),
            max_fee_bips: order.max_fee_bips,
            made_at_ms: order.made_at.0,
            hash,
            body_sum: Sum::over(body),
            sealed_us,
        }
    }

    pub(super) fn read(row: &SqlRow<'_>) -> rusqlite::Result<Self> {
        let body_sum: Vec<u8> = row.get("body_sum")?;
        let valid_until_s = row.get("valid_until_s")?;
        Ok(Self {
            number: row.get::<_, i64>("number")?.cast_unsigned(),
            strategy: row.get("strategy")?,
            market: row.get("market")?,
            side: row.get("side")?,
            price: row.get("price")?,
            qty: row.get("qty")?,
            kind: row.get("kind")?,
            sell_token: row.get("sell_token")?,
            sell_amount: row.get("sell_amount")?,
            buy_token: row.get("buy_token")?,
            buy_amount: row.get("buy_amount")?,
            fill_by: row.get("fill_by")?,
            storage_id: row.get("storage_id")?,
            valid_until_s,
            rests_until_s: rests_until(row, valid_until_s)?,
            swap_most: swap_most(row)?,
            max_fee_bips: row.get("max_fee_bips")?,
            made_at_ms: row.get::<_, i64>("made_at_ms")?.cast_unsigned(),
            hash: Hash(row.get("hash")?),
            // A checksum of another length matches no body.
            body_sum: Sum::read(&body_sum).unwrap_or(Sum::ORIGIN),
            sealed_us: row.get::<_, i64>("sealed_us")?.cast_unsigned(),
        })
    }

    /// The chain value of this row after the given one. A row with one time for both, and one that is no swap, have the
    /// values that they had before there were two times, and swaps.
    pub(super) fn chained(&self, before: &Sum) -> Sum {
        let row = Row::of("intent")
            .bytes(before.bytes())
            .number(self.number)
            .number(self.strategy.into())
            .text(&self.market)
            .text(&self.side)
            .text(&self.price)
            .text(&self.qty)
            .text(&self.kind)
            .number(self.sell_token.into())
            .text(&self.sell_amount)
            .number(self.buy_token.into())
            .text(&self.buy_amount)
            .text(&self.fill_by)
            .number(self.storage_id.into())
            .number(self.valid_until_s.into())
            .number(self.max_fee_bips.into())
            .number(self.made_at_ms)
            .bytes(&self.hash.0)
            .bytes(self.body_sum.bytes())
            .number(self.sealed_us);
        let row = match &self.swap_most {
            Some(most) => row.text("swap").text(most),
            None => row,
        };
        match self.rests_until_s {
            Some(rests_until_s) if rests_until_s == self.valid_until_s => row.sum(),
            Some(rests_until_s) => row.text("rests until").number(rests_until_s.into()).sum(),
            None => row.text("rests until it is cancelled").sum(),
        }
    }

    pub(super) fn insert(&self, change: &Transaction<'_>, chain: &Sum) -> rusqlite::Result<()> {
        change
            .execute(
                "INSERT INTO intents VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
                params![
                    self.number.cast_signed(),
                    self.strategy,
                    self.market,
                    self.side,
                    self.price,
                    self.qty,
                    self.kind,
                    self.sell_token,
                    self.sell_amount,
                    self.buy_token,
                    self.buy_amount,
                    self.fill_by,
                    self.storage_id,
                    self.valid_until_s,
                    self.max_fee_bips,
                    self.made_at_ms.cast_signed(),
                    self.hash.0,
                    self.body_sum.bytes(),
                    self.sealed_us.cast_signed(),
                    chain.bytes(),
                    self.rests_until_s,
                    self.swap_most,
                ],
            )
            .map(|_| ())
    }

    /// The sealed order; `None` if a field is invalid.
    pub(super) fn rebuild(&self, instance: u32, market: MarketId) -> Option<UnsignedOrder> {
        let kinds = [OrderKind::Limit, OrderKind::MakerOnly, OrderKind::TakerOnly];
        let fill_bys = [FillBy::Buy, FillBy::Sell];
        let swap = match &self.swap_most {
            Some(most) => Some(Swap {
                most: most.parse().ok()?,
            }),
            None => None,
        };
        Some(UnsignedOrder {
            client_id: ClientOrderId {
                instance,
                strategy: StrategyId(self.strategy),
                number: self.number,
            },
            market,
            side: Side::BOTH
                .into_iter()
                .find(|side| side.name() == self.side)?,
            price: Price(self.price.parse().ok()?),
            qty: Qty(self.qty.parse().ok()?),
            kind: kinds
                .into_iter()
                .find(|kind| kind_name(*kind) == self.kind)?,
            sell_token: TokenId(self.sell_token),
            sell_amount: self.sell_amount.parse().ok()?,
            buy_token: TokenId(self.buy_token),
            buy_amount: self.buy_amount.parse().ok()?,
            fill_by: fill_bys
                .into_iter()
                .find(|by| fill_by_name(*by) == self.fill_by)?,
            slot: self.storage_id,
            accepted_until_s: self.valid_until_s,
            rests_until_s: self.rests_until_s,
            swap,
            max_fee_bips: self.max_fee_bips,
            made_at: VenueTime(self.made_at_ms),
        })
    }
}

/// Until when an order rests. A store that was not upgraded has one time for both.
pub(super) fn rests_until(
    row: &SqlRow<'_>,
    accepted_until_s: u32,
) -> rusqlite::Result<Option<u32>> {
    if row.as_ref().column_index("rests_until_s").is_err() {
        return Ok(Some(accepted_until_s));
    }
    row.get("rests_until_s")
}

/// What makes an order a swap. A store that was not upgraded has none.
pub(super) fn swap_most(row: &SqlRow<'_>) -> rusqlite::Result<Option<String>> {
    if row.as_ref().column_index("swap_most").is_err() {
        return Ok(None);
    }
    row.get("swap_most")
}

const fn kind_name(kind: OrderKind) -> &'static str {
    match kind {
        OrderKind::Limit => "limit",
        OrderKind::MakerOnly => "maker_only",
        OrderKind::TakerOnly => "taker_only",
    }
}

const fn fill_by_name(fill_by: FillBy) -> &'static str {
    match fill_by {
        FillBy::Buy => "buy",
        FillBy::Sell => "sell",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn an_order_is_a_swap_where_the_column_exists_and_has_a_value() {
        let database = Connection::open_in_memory().unwrap();
        for (row, expected) in [
            ("SELECT 1 AS number", None),
            ("SELECT 1 AS number, NULL AS swap_most", None),
            ("SELECT 1 AS number, '5' AS swap_most", Some("5")),
        ] {
            let found = database.query_row(row, [], swap_most);
            assert_eq!(found, Ok(expected.map(str::to_owned)), "{row}");
        }
    }
}
