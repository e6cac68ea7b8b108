//! Rows of joins and exits: a table of their own, in the same chain as the orders, with the same ends.

use cambist_core::notification::PoolTransactionSettlement;
use cambist_core::pool::UnsignedPoolTransaction;
use cambist_core::{
    ClientOrderId, Hash, MarketId, PoolTransactionKind, StrategyId, TokenId, VenueTime,
};
use rusqlite::{Row as SqlRow, Transaction, params};

use crate::chain::{Row, Sum};

/// One row of `moves`, in the types of the database.
pub(super) struct PoolTransactionRow {
    pub(super) number: u64,
    strategy: u8,
    pub(super) market: String,
    kind: String,
    tokens: [u16; 2],
    amounts: [String; 2],
    lp_token: u16,
    lp_amount: String,
    /// Separated by commas.
    storage_ids: String,
    fee_max: String,
    valid_until_s: u32,
    made_at_ms: u64,
    pub(super) hash: Hash,
    pub(super) body_sum: Sum,
    sealed_us: u64,
}

impl PoolTransactionRow {
    pub(super) fn new(
        transaction: &UnsignedPoolTransaction,
        hash: Hash,
        body: &[u8],
        market: String,
        sealed_us: u64,
    ) -> Self {
        let ids: Vec<_> = transaction.storage_ids.iter().map(u32::to_string).collect();
        Self {
            number: transaction.client_id.number,
            strategy: transaction.client_id.strategy.0,
            market,
            kind: transaction.kind.name().to_owned(),
            tokens: transaction.pooled.map(|token| token.0),
            amounts: transaction.amounts.map(|amount| amount.to_string()),
            lp_token: transaction.lp.0,
            lp_amount: transaction.lp_amount.to_string(),
            storage_ids: ids.join(","),
            fee_max: transaction.fee_max.to_string(),
            valid_until_s: transaction.valid_until_s,
            made_at_ms: transaction.made_at.0,
            hash,
            body_sum: Sum::over(body),
            sealed_us,
        }
    }

    pub(super) fn read(row: &SqlRow<'_>) -> rusqlite::Result<Self> {
        let body_sum: Vec<u8> = row.get("body_sum")?;
        Ok(Self {
            number: row.get::<_, i64>("number")?.cast_unsigned(),
            strategy: row.get("strategy")?,
            market: row.get("market")?,
            kind: row.get("kind")?,
            tokens: [row.get("first_token")?, row.get("second_token")?],
            amounts: [row.get("first_amount")?, row.get("second_amount")?],
            lp_token: row.get("lp_token")?,
            lp_amount: row.get("lp_amount")?,
            storage_ids: row.get("storage_ids")?,
            fee_max: row.get("fee_max")?,
            valid_until_s: row.get("valid_until_s")?,
            made_at_ms: row.get::<_, i64>("made_at_ms")?.cast_unsigned(),
            hash: Hash(row.get("hash")?),
            // A checksum of another length matches no body.
            body_sum: Sum::read(&body_sum).unwrap_or(Sum::ORIGIN),
            sealed_us: row.get::<_, i64>("sealed_us")?.cast_unsigned(),
        })
    }

    /// The chain value of this row after the given one.
    pub(super) fn chained(&self, before: &Sum) -> Sum {
        Row::of("move")
            .bytes(before.bytes())
            .number(self.number)
            .number(self.strategy.into())
            .text(&self.market)
            .text(&self.kind)
            .number(self.tokens[0].into())
            .text(&self.amounts[0])
            .number(self.tokens[1].into())
            .text(&self.amounts[1])
            .number(self.lp_token.into())
            .text(&self.lp_amount)
            .text(&self.storage_ids)
            .text(&self.fee_max)
            .number(self.valid_until_s.into())
            .number(self.made_at_ms)
            .bytes(&self.hash.0)
            .bytes(self.body_sum.bytes())
            .number(self.sealed_us)
            .sum()
    }

    pub(super) fn insert(
        &self,
        transaction: &Transaction<'_>,
        chain: &Sum,
    ) -> rusqlite::Result<()> {
        transaction
            .execute(
                "INSERT INTO moves VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
                params![
                    self.number.cast_signed(),
                    self.strategy,
                    self.market,
                    self.kind,
                    self.tokens[0],
                    self.amounts[0],
                    self.tokens[1],
                    self.amounts[1],
                    self.lp_token,
                    self.lp_amount,
                    self.storage_ids,
                    self.fee_max,
                    self.valid_until_s,
                    self.made_at_ms.cast_signed(),
                    self.hash.0,
                    self.body_sum.bytes(),
                    self.sealed_us.cast_signed(),
                    chain.bytes(),
                ],
            )
            .map(|_| ())
    }

    /// The sealed pool transaction; `None` if a field is invalid.
    pub(super) fn rebuild(
        &self,
        instance: u32,
        market: MarketId,
    ) -> Option<UnsignedPoolTransaction> {
        let ids: Option<Vec<u32>> = self
            .storage_ids
            .split(',')
            .map(|id| id.parse().ok())
            .collect();
        let [first, second] = [&self.amounts[0], &self.amounts[1]].map(|text| text.parse().ok());
        Some(UnsignedPoolTransaction {
            client_id: ClientOrderId {
                instance,
                strategy: StrategyId(self.strategy),
                number: self.number,
            },
            market,
            kind: PoolTransactionKind::ALL
                .into_iter()
                .find(|kind| kind.name() == self.kind)?,
            pooled: self.tokens.map(TokenId),
            amounts: [first?, second?],
            lp: TokenId(self.lp_token),
            lp_amount: self.lp_amount.parse().ok()?,
            storage_ids: ids?,
            fee_max: self.fee_max.parse().ok()?,
            valid_until_s: self.valid_until_s,
            made_at: VenueTime(self.made_at_ms),
        })
    }
}

pub(super) fn moved_sum(number: u64, amounts: [&str; 4], at_us: u64) -> Sum {
    let row = Row::of("moved").number(number);
    let row = amounts.into_iter().fold(row, Row::text);
    row.number(at_us).sum()
}

/// Writes the amounts that a join or an exit moved.
pub(super) fn insert_moved(
    transaction: &Transaction<'_>,
    moved: &PoolTransactionSettlement,
    market: &str,
    at_us: u64,
) -> rusqlite::Result<()> {
    let number = moved.order.number;
    let [first, second] = moved.amounts.pooled.map(|amount| amount.to_string());
    let (lp, fee) = (moved.amounts.lp.to_string(), moved.amounts.fee.to_string());
    let sum = moved_sum(number, [&first, &second, &lp, &fee], at_us);
    transaction
        .execute(
            "INSERT INTO moved (number, first, second, lp, fee, at_us, sum, strategy, market, kind,
             first_token, second_token, lp_token, mid)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            params![
                number.cast_signed(),
                first,
                second,
                lp,
                fee,
                at_us.cast_signed(),
                sum.bytes(),
                moved.order.strategy.0,
                market,
                moved.kind.name(),
                moved.pooled[0].0,
                moved.pooled[1].0,
                moved.lp.0,
                moved.mid.map(|mid| mid.to_string()),
            ],
        )
        .map(|_| ())
}
