//! What a venue guarantees, as data. The engine is started with one [`VenueRules`] and judges by it; no line of
//! it asks which venue it trades on.
//!
//! A venue is described by how it makes the same bytes count once ([`SlotRule`]), how long bytes and what they
//! created live ([`LifetimeRule`]), what its refusals prove ([`RefusalRules`]), which lists show every order
//! ([`ListRule`]), how exact its clock is ([`ClockRule`]), what requests cost ([`RequestCosts`]), which counter of orders
//! and cancels it keeps ([`TradingCounter`]), what bounds fees ([`FeeRule`]), how exact amounts are ([`AmountRule`]), and what charges for requests count as in
//! losses ([`ChargedAs`]). What it can be asked is one table ([`Endpoint`]). Translating
//! requests and answers is an adapter's (`docs/adding-a-venue.md`), and nothing of that is known here.

mod amounts;
mod charges;
mod endpoints;
mod fees;
mod lifetime;
mod refusals;
mod slots;
mod trading;

use serde::{Deserialize, Serialize};

use crate::request::OrderList;

pub use amounts::AmountRule;
pub use charges::ChargedAs;
pub use endpoints::{Endpoint, RequestKind};
pub use fees::{FeeRule, FeeToken};
pub use lifetime::{Lifetime, LifetimeRule, Resting};
pub use refusals::{Refusal, RefusalRules};
pub(crate) use slots::Spent;
pub use slots::{EXCHANGE_SLOTS, SlotRule};
pub use trading::TradingCounter;

/// The highest fee that an order of the exchange interface can state, in ten-thousandths.
pub const EXCHANGE_FEE_BIPS_MAX: u8 = 63;

/// How exact the times in answers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockRule {
    /// A time in an answer may be this much behind the venue's clock when it was drawn up, by rounding.
    pub resolution_ms: u64,
}

/// Which lists show every order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRule {
    /// What one scan reads, one list after the other. An order may move from one of them to a later one meanwhile,
    /// and never back, so that a scan that read all of them to their end has met it.
    pub scanned: Vec<OrderList>,
}

/// What requests cost of the common budget; one that is not named costs 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCosts {
    /// By endpoint.
    pub each: Vec<(Endpoint, u32)>,
    /// What an answer costs at most beside that if it names trades that the adapter does not know, because it asks for their
    /// amounts. It is left for the answer until that arrives; then what the adapter states is taken, also below zero. An
    /// answer that shows new trades, or that cannot be read or is lost, costs at least this.
    pub new_fills: u32,
    /// What a run leaves to the questions and the first lists of the next start. Its own first lists and those of its end do
    /// not leave it.
    pub left_to_start: u32,
}

impl RequestCosts {
    /// Tokens of the common bucket. A request that costs 0 there has its own endpoint's bucket only.
    pub fn of(&self, endpoint: Endpoint) -> u32 {
        let named = self.each.iter().find(|(of, _)| *of == endpoint);
        named.map_or(1, |(_, tokens)| *tokens)
    }
}

/// Everything that the engine knows of the venue it trades on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VenueRules {
    /// What makes the same bytes count once.
    pub slots: SlotRule,
    /// How long bytes are accepted, and how long what they created rests.
    pub lifetime: LifetimeRule,
    /// What refusals prove.
    pub refusals: RefusalRules,
    /// Which lists show every order.
    pub lists: ListRule,
    /// How exact its times are.
    pub clock: ClockRule,
    /// What requests cost.
    pub costs: RequestCosts,
    /// The counter of orders and cancels that the venue keeps for each market, if it does.
    pub trading: Option<TradingCounter>,
    /// What bounds the fees of an order. The token that they are taken in is the market's
    /// ([`MarketSpec::fee_in`](crate::MarketSpec::fee_in)).
    pub fees: FeeRule,
    /// How exact the amounts of fills are.
    pub amounts: AmountRule,
    /// What charges count as in losses. `None`: one in a token that no market trades counts in no loss.
    pub charged_as: Option<ChargedAs>,
    /// Whether the venue compares the shares of a join with the least that was signed. Where it compares the payments
    /// alone, a join of a pool that another account changed before it may bring fewer.
    pub compares_shares: bool,
    /// Whether an order that rests can be moved to another price by one request, which changes nothing if it is refused.
    pub amends_orders: bool,
}

impl VenueRules {
    /// The exchange interface that `cambist venue` serves: storage ids, one time of validity for acceptance and
    /// rest, status codes, times in whole seconds, every request alike.
    pub fn exchange() -> Self {
        Self {
            slots: SlotRule::Strided {
                slots: EXCHANGE_SLOTS,
            },
            lifetime: LifetimeRule {
                accepted_max_ms: None,
                resting: Resting::WhileAccepted,
            },
            refusals: RefusalRules::exchange(),
            lists: ListRule {
                scanned: vec![OrderList::All],
            },
            clock: ClockRule {
                resolution_ms: 1_000,
            },
            costs: RequestCosts::default(),
            trading: None,
            fees: FeeRule {
                stated_max_bips: EXCHANGE_FEE_BIPS_MAX,
            },
            amounts: AmountRule::default(),
            charged_as: None,
            compares_shares: true,
            amends_orders: false,
        }
    }
}
