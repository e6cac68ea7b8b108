//! Orders and the venue's reports about them.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::market::{MarketId, Price, Qty, Side};
use crate::market_name::MarketName;
use crate::time::VenueTime;
use crate::token::{Amount, TokenId};
use crate::venue::{AmountRule, Lifetime};

/// The venue's name of an order: 32 bytes that only the signer interprets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hash(pub [u8; 32]);

/// The order of the bytes, compared eight at a time: every page of a list is looked up by hash.
impl Ord for Hash {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let words = |hash: &Self| {
            let (words, _) = hash.0.as_chunks::<8>();
            [0, 1, 2, 3].map(|at: usize| u64::from_be_bytes(words[at]))
        };
        words(self).cmp(&words(other))
    }
}

impl PartialOrd for Hash {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        // Written in one piece, because hashes are formatted often: it is the only name of most listed orders.
        let mut text = [b'0'; 66];
        text[1] = b'x';
        for (pair, byte) in text[2..].chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Number of a configured strategy: its index in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StrategyId(pub u8);

/// Client order id: instance, strategy and number.
///
/// Text form `c<instance, 8 hex>-<strategy>-<number>`: unreserved characters only, because request
/// signatures of other characters differ between clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClientOrderId {
    /// Random number of the store, so that orders of other instances are recognised.
    pub instance: u32,
    /// The strategy with the target.
    pub strategy: StrategyId,
    /// Never repeats within a store.
    pub number: u64,
}

impl fmt::Display for ClientOrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "c{:08x}-{}-{}",
            self.instance, self.strategy.0, self.number
        )
    }
}

/// The text is not a client order id of this form (a foreign order).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a client order id of ours")]
pub struct NotOurs;

impl FromStr for ClientOrderId {
    type Err = NotOurs;

    fn from_str(text: &str) -> Result<Self, NotOurs> {
        let mut parts = text.strip_prefix('c').ok_or(NotOurs)?.split('-');
        let (Some(instance), Some(strategy), Some(number), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(NotOurs);
        };
        let id = Self {
            instance: u32::from_str_radix(instance, 16).map_err(|_| NotOurs)?,
            strategy: StrategyId(strategy.parse().map_err(|_| NotOurs)?),
            number: number.parse().map_err(|_| NotOurs)?,
        };
        // Only the canonical spelling is accepted: `+1` or `007` would also parse.
        let plain = |digits: &str| {
            digits.bytes().all(|digit| digit.is_ascii_digit())
                && (digits.len() == 1 || !digits.starts_with('0'))
        };
        let lower = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        let canonical =
            instance.len() == 8 && instance.bytes().all(lower) && plain(strategy) && plain(number);
        if canonical { Ok(id) } else { Err(NotOurs) }
    }
}

/// Order type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OrderKind {
    /// Rests or takes.
    Limit,
    /// Refused if it would take.
    MakerOnly,
    /// Fills at once; the rest is cancelled.
    TakerOnly,
}

/// What makes an order a swap: it sells all of it at once to the pool beside its market, or nothing, and is on no book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    /// Most of the bought token that limits reckon with, base units. A pool may pay more: there is no upper limit to
    /// sign.
    pub most: Amount,
}

/// Which of the two amounts limits the fill (interface: `fillAmountBOrS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FillBy {
    /// At most the buy amount is bought (`true`).
    Buy,
    /// At most the sell amount is sold (`false`).
    Sell,
}

/// A complete order before hashing and signing. The shell adds exchange address and account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsignedOrder {
    /// Our id.
    pub client_id: ClientOrderId,
    /// Market.
    pub market: MarketId,
    /// Side, from base's point of view.
    pub side: Side,
    /// Limit in ticks; of a swap, the worst price that its amounts allow, rounded against us.
    pub price: Price,
    /// Size in lots; of a swap, its base at its most, rounded up.
    pub qty: Qty,
    /// Order type; a swap only takes.
    pub kind: OrderKind,
    /// Whether it trades with the pool beside the market instead of the book.
    pub swap: Option<Swap>,
    /// Token paid.
    pub sell_token: TokenId,
    /// Largest amount paid, base units.
    pub sell_amount: Amount,
    /// Token received.
    pub buy_token: TokenId,
    /// Smallest amount received before the fee, base units.
    pub buy_amount: Amount,
    /// Which amount limits the fill.
    pub fill_by: FillBy,
    /// The number that makes its bytes count once ([`SlotRule`](crate::venue::SlotRule)).
    pub slot: u32,
    /// Whole seconds of venue time until which its bytes can create something.
    pub accepted_until_s: u32,
    /// Whole seconds of venue time until which it can fill; `None` if only a fill or a cancel ends it.
    pub rests_until_s: Option<u32>,
    /// Highest fee accepted, 1 to 63 ten-thousandths.
    pub max_fee_bips: u8,
    /// Lower bound of the venue's clock when the order was made: the venue cannot have created it before.
    pub made_at: VenueTime,
}

impl UnsignedOrder {
    /// Until when its bytes are accepted, and until when it rests.
    pub fn lifetime(&self) -> Lifetime {
        Lifetime::from_s(self.accepted_until_s, self.rests_until_s)
    }

    /// The last second at which it can have an effect; the last that can be written if only the venue's word ends
    /// it.
    pub fn last_effect_s(&self) -> u32 {
        self.rests_until_s
            .map_or(u32::MAX, |rests| rests.max(self.accepted_until_s))
    }

    /// The second until which its signature is of use by itself: the end of rest, or of acceptance where rest has no
    /// end.
    pub fn signature_until_s(&self) -> u32 {
        let rests_until_s = self.rests_until_s.unwrap_or(self.accepted_until_s);
        self.accepted_until_s.max(rests_until_s)
    }

    /// The base token, and the units of it that are bought or sold, at their most.
    pub const fn base(&self) -> (TokenId, Amount) {
        match self.side {
            Side::Buy => (self.buy_token, self.most_bought()),
            Side::Sell => (self.sell_token, self.sell_amount),
        }
    }

    /// Most of the bought token that limits reckon with: of a swap, more than the least that it signs.
    pub const fn most_bought(&self) -> Amount {
        match self.swap {
            Some(swap) => swap.most,
            None => self.buy_amount,
        }
    }

    /// What it may still buy after so much was filled, base units of the bought token.
    pub fn incoming(&self, base_filled: Amount, quote_filled: Amount) -> Amount {
        let got = match self.side {
            Side::Buy => base_filled,
            Side::Sell => quote_filled,
        };
        self.most_bought().saturating_sub(got)
    }

    /// Whether it is a swap with the pool beside its market.
    pub const fn is_swap(&self) -> bool {
        self.swap.is_some()
    }

    /// Whether amounts filled so far are what the order allows: a swap trades all of what it sells for at least its
    /// least, or nothing; any other order no more than its amounts, give or take what the venue rounds.
    pub fn allows(&self, base_filled: Amount, quote_filled: Amount, rule: AmountRule) -> bool {
        let (paid, got) = match self.side {
            Side::Buy => (quote_filled, base_filled),
            Side::Sell => (base_filled, quote_filled),
        };
        if self.is_swap() {
            let nothing = paid == 0 && got == 0;
            return nothing || (paid == self.sell_amount && got >= self.buy_amount);
        }
        let (_, base) = self.base();
        let most = self.sell_amount.saturating_add(rule.on_top(self.side));
        base_filled <= base && paid <= most
    }
}

/// State of an order at the venue; all value sets of the interface in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OrderStatus {
    /// Accepted, not yet on the book.
    Waiting,
    /// Accepted and open.
    Processing,
    /// Completely filled.
    Processed,
    /// Being cancelled; may still fill.
    Cancelling,
    /// Cancelled.
    Cancelled,
    /// Past its validity.
    Expired,
    /// Failed after acceptance.
    Failed,
    /// A value that this version does not know: treated as live.
    Other,
}

impl OrderStatus {
    /// The filter for a list of resting orders. The interface's filter has no value for waiting orders, which come to
    /// rest or end soon.
    pub const RESTING: [Self; 2] = [Self::Processing, Self::Cancelling];

    /// Every state in which an order can trade no more.
    pub const FINAL: [Self; 4] = [
        Self::Processed,
        Self::Cancelled,
        Self::Expired,
        Self::Failed,
    ];

    /// The word in logs and tables; the interface's own if it has one.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Processing => "processing",
            Self::Processed => "processed",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Failed => "failed",
            Self::Other => "other",
        }
    }

    /// Whether the order can never fill again.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Processed | Self::Cancelled | Self::Expired | Self::Failed => true,
            Self::Waiting | Self::Processing | Self::Cancelling | Self::Other => false,
        }
    }
}

/// One order as the venue reports it (interface: OrderDetailV3), amounts in base units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderReport {
    /// Order hash.
    pub hash: Hash,
    /// Our id if the text is one of ours; `None` for any other order.
    pub client_id: Option<ClientOrderId>,
    /// Market name in the report.
    pub market: MarketName,
    /// Side.
    pub side: Side,
    /// State.
    pub status: OrderStatus,
    /// Base amount of the order, in units of 10^-decimals of the base token.
    pub base_amount: Amount,
    /// Quote amount of the order, in units of 10^-decimals of the quote token.
    pub quote_amount: Amount,
    /// Base filled so far, before fees.
    pub base_filled: Amount,
    /// Quote filled so far, before fees.
    pub quote_filled: Amount,
    /// Fee so far, base units of the market's fee token ([`MarketSpec::fee_token`](crate::MarketSpec::fee_token)).
    pub fee: Amount,
    /// Whole seconds of venue time until which it rests; `u32::MAX` if it has no end of its own.
    pub valid_until_s: u32,
    /// Start of validity: the venue's time of creation.
    pub valid_since: VenueTime,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_order_id_has_one_spelling() {
        let id = ClientOrderId {
            instance: 0xab,
            strategy: StrategyId(3),
            number: 17,
        };
        assert_eq!(id.to_string(), "c000000ab-3-17");
        assert_eq!("c000000ab-3-17".parse(), Ok(id));
        for foreign in [
            "",
            "c",
            "cab-3-17",
            "c000000ab-3-+17",
            "c000000ab-03-17",
            "c000000ab-3-17-",
            "x000000ab-3-17",
        ] {
            assert_eq!(foreign.parse::<ClientOrderId>(), Err(NotOurs), "{foreign}");
        }
    }
}
