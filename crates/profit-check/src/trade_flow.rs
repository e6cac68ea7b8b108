//! What a trade changes of base and quote, fee included: once for all invariants, and not from the engine's code.

use cambist_core::venue::FeeToken;
use cambist_core::{Amount, Side};

/// Signed changes of base and quote units by a trade of these amounts.
pub fn of_trade(
    fee_in: FeeToken,
    side: Side,
    (base, quote, fee): (Amount, Amount, Amount),
) -> (i128, i128) {
    let signed = |amount: Amount| i128::try_from(amount).unwrap_or(i128::MAX);
    let (base, quote, fee) = (signed(base), signed(quote), signed(fee));
    let (base, quote) = match side {
        Side::Buy => (base, -quote),
        Side::Sell => (-base, quote),
    };
    match (fee_in, side) {
        (FeeToken::Bought, Side::Buy) => (base - fee, quote),
        (FeeToken::Bought, Side::Sell) | (FeeToken::Quote, _) => (base, quote - fee),
    }
}
