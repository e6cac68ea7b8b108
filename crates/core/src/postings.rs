//! Postings: the changes of balances by a fill, a join or an exit.
//!
//! The only definition of the direction of amounts and fees. The engine's ledger, the store and the reports all book
//! these.

use crate::event::Totals;
use crate::market::{MarketSpec, Side};
use crate::notification::{Fill, PoolTransactionSettlement};
use crate::pool::{PoolTransactionAmounts, PoolTransactionKind};
use crate::request::Charge;
use crate::token::{Amount, TokenId};

/// Signed changes of base units by token; a token may occur twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Postings(Vec<(TokenId, i128)>);

/// Amounts that a trade pays and receives: base units, quote units, and the fee in the market's fee token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traded {
    /// Base units.
    pub base: Amount,
    /// Quote units.
    pub quote: Amount,
    /// Fee, in the token that the market takes it in ([`MarketSpec::fee_token`]).
    pub fee: Amount,
}

/// Amounts are far below the limit; a larger one saturates.
fn signed(amount: Amount) -> i128 {
    i128::try_from(amount).unwrap_or(i128::MAX)
}

impl Postings {
    /// The changes by a trade.
    pub fn of_trade(spec: &MarketSpec, side: Side, traded: Traded) -> Self {
        let Traded { base, quote, fee } = traded;
        let (paid, got) = match side {
            Side::Buy => ((spec.quote.id, quote), (spec.base.id, base)),
            Side::Sell => ((spec.base.id, base), (spec.quote.id, quote)),
        };
        let (mut paid, mut got) = ((paid.0, -signed(paid.1)), (got.0, signed(got.1)));
        let from = if spec.fee_in.is_on_top(side) {
            &mut paid.1
        } else {
            &mut got.1
        };
        *from = from.saturating_sub(signed(fee));
        Self(vec![paid, got])
    }

    /// The changes by a fill.
    pub fn of_fill(spec: &MarketSpec, fill: &Fill) -> Self {
        let Fill {
            base, quote, fee, ..
        } = *fill;
        Self::of_trade(spec, fill.side, Traded { base, quote, fee })
    }

    /// The changes by a join or an exit of the pool of these tokens. The fee is in the last pooled token.
    pub fn of_pool(
        kind: PoolTransactionKind,
        pooled: [TokenId; 2],
        lp: TokenId,
        moved: &PoolTransactionAmounts,
    ) -> Self {
        let way = match kind {
            PoolTransactionKind::Join => -1,
            PoolTransactionKind::Exit => 1,
        };
        let [first, second] = moved.pooled.map(|amount| way * signed(amount));
        Self(vec![
            (pooled[0], first),
            (pooled[1], second.saturating_sub(signed(moved.fee))),
            (lp, -way * signed(moved.lp)),
        ])
    }

    /// The changes by a settled join or exit.
    pub fn of_move(moved: &PoolTransactionSettlement) -> Self {
        Self::of_pool(moved.kind, moved.pooled, moved.lp, &moved.amounts)
    }

    /// The change by what the venue took for a request.
    pub fn of_charge(charge: &Charge) -> Self {
        Self::paid((charge.token, charge.amount))
    }

    /// An outflow of a single token.
    pub fn paid((token, amount): (TokenId, Amount)) -> Self {
        Self::of_token(token, signed(amount).saturating_neg())
    }

    /// The change of a single token, negative for an outflow.
    pub fn of_token(token: TokenId, amount: i128) -> Self {
        Self(vec![(token, amount)])
    }

    /// All changes.
    pub fn iter(&self) -> impl Iterator<Item = (TokenId, i128)> + '_ {
        self.0.iter().copied()
    }

    /// Total change of a token.
    pub fn of(&self, token: TokenId) -> i128 {
        let each = self.iter().filter(|(of, _)| *of == token);
        each.fold(0, |sum, (_, change)| sum.saturating_add(change))
    }

    /// Books every change. False if a token that is paid falls below zero.
    #[must_use]
    pub fn book(&self, totals: &mut Totals) -> bool {
        let mut covered = true;
        for (token, change) in self.iter() {
            let total = totals.entry(token).or_default();
            *total = total.saturating_add(change);
            covered &= change >= 0 || *total >= 0;
        }
        covered
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;
    use crate::MarketId;
    use crate::token::tests::token;
    use crate::venue::FeeToken;

    const BASE: TokenId = TokenId(0);
    const QUOTE: TokenId = TokenId(1);
    const LP: TokenId = TokenId(9);

    fn spec() -> MarketSpec {
        MarketSpec::new(MarketId(0), "A-B", token(BASE.0), token(QUOTE.0), 2, true).unwrap()
    }

    #[test]
    fn fees_are_taken_from_the_bought_token() {
        let traded = Traded {
            base: 100,
            quote: 250,
            fee: 3,
        };
        let of = |side| {
            let postings = Postings::of_trade(&spec(), side, traded);
            (postings.of(BASE), postings.of(QUOTE))
        };
        assert_eq!(of(Side::Buy), (97, -250));
        assert_eq!(of(Side::Sell), (-100, 247));
    }

    #[test]
    fn fees_in_the_quote_token_come_on_top_where_it_is_sold() {
        let traded = Traded {
            base: 100,
            quote: 250,
            fee: 3,
        };
        let of = |fee_in, side| {
            let postings = Postings::of_trade(&spec().with_fee_in(fee_in), side, traded);
            (postings.of(BASE), postings.of(QUOTE))
        };
        assert_eq!(of(FeeToken::Quote, Side::Buy), (100, -253));
        assert_eq!(of(FeeToken::Quote, Side::Sell), (-100, 247));
    }

    #[test]
    fn fees_of_pools_are_taken_in_the_last_token_whichever_way_it_goes() {
        let moved = PoolTransactionAmounts {
            pooled: [100, 250],
            lp: 7,
            fee: 3,
        };
        let of = |kind| {
            let postings = Postings::of_pool(kind, [QUOTE, BASE], LP, &moved);
            [QUOTE, BASE, LP].map(|token| postings.of(token))
        };
        assert_eq!(of(PoolTransactionKind::Join), [-100, -253, 7]);
        assert_eq!(of(PoolTransactionKind::Exit), [100, 247, -7]);
    }

    #[test]
    fn a_total_below_zero_is_reported_and_kept() {
        let mut totals = Totals::from([(BASE, 10)]);
        assert!(Postings::of_token(BASE, -10).book(&mut totals));
        assert!(Postings::of_token(QUOTE, 5).book(&mut totals));
        assert!(!Postings::of_token(BASE, -7).book(&mut totals));
        assert_eq!(totals, Totals::from([(BASE, -7), (QUOTE, 5)]));
        assert!(Postings::of_token(BASE, 4).book(&mut totals), "adds");
        assert!(Postings::of_token(BASE, 4).book(&mut totals));
        assert_eq!(totals[&BASE], 1);
    }
}
