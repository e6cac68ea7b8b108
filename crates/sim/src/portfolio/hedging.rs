//! Worlds in which the base that both venues hold is kept at a target: `hedge` trades at the first venue what the fills of
//! the second one open.

use cambist_core::portfolio::rules::ReadElsewhere;
use cambist_core::{Amount, MarketId, MarketSpec};

use crate::config::{SeatConfig, WorldConfig};
use crate::faults::kinds::FaultKind;

use super::{ONE, VENUES};

/// How long the leg may stay open when nothing opens it any more.
pub(super) const CLOSED_WITHIN_MS: u64 = 120_000;
/// What opens and closes the leg from outside: the target would be another one.
const FLOWS: [FaultKind; 3] = [
    FaultKind::Deposit,
    FaultKind::Withdrawal,
    FaultKind::ForeignOrder,
];

/// Whole base tokens, and quote units, that the first account begins with.
const FUNDS: Amount = 200;
const QUOTE_FUNDS: Amount = 2_000_000_000_000;

/// The base that both venues hold together.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Symbol of the token.
    pub(super) token: String,
    /// Base units.
    pub(super) units: Amount,
    /// A smaller distance cannot be traded.
    pub(super) least: Amount,
}

/// Makes the only strategy of the first market of the first world a hedge of the second world's, if both trade the same
/// token.
pub(super) fn hedged(configs: &mut [WorldConfig; 2]) -> Option<Target> {
    let [first, second] = configs;
    let market = first.markets.first()?.clone();
    if second.markets.first() != Some(&market) || second.chain.is_some() {
        return None;
    }
    let (token, quote) = market.split_once('-')?;
    fund(first, [token, quote])?;
    let funds = |config: &WorldConfig| {
        let mut tokens = config.venue.tokens.iter();
        let listed = tokens.find(|listed| listed.spec.symbol == token)?;
        Some((
            config.funds.get(&listed.spec.id).copied()?,
            listed.spec.minimum,
        ))
    };
    let ((here, least), (there, _)) = (funds(first)?, funds(second)?);
    let whole = (here + there) / ONE;
    let id = MarketId(0);
    first.seats.retain(|seat| seat.market != id);
    first.seats.push(SeatConfig {
        strategy: cambist_strategies::hedge::INFO.name.to_owned(),
        parameters: format!(
            "others = [{{ market = \"{}:{market}\" }}]\nbase_target = {whole}\nopen_amount_max = {whole}\n\
             unwind_bps = 300",
            VENUES[1]
        ),
        market: id,
        order_base: 0,
        reads: Vec::new(),
    });
    first.engine.maker_only = false;
    for config in [first, second] {
        let kinds = &mut config.fault_kinds.kinds;
        kinds.retain(|kind| !FLOWS.contains(kind));
        // Pool shares are due other amounts when others trade with the pool.
        config.engine.pools.clear();
        config.venue.pools.clear();
        config.seats.retain(|seat| seat.strategy != "lp_manager");
    }
    Some(Target {
        token: token.to_owned(),
        units: whole * ONE,
        // The fee of a purchase is taken of it, and rounded.
        least: 2 * least,
    })
}

/// Gives the account what it takes to trade all that the other venue may open, and allows it.
fn fund(config: &mut WorldConfig, [base, quote]: [&str; 2]) -> Option<()> {
    let id = |symbol: &str| {
        let mut tokens = config.venue.tokens.iter();
        let listed = tokens.find(|listed| listed.spec.symbol == symbol);
        listed.map(|listed| listed.spec.id)
    };
    let (base, quote) = (id(base)?, id(quote)?);
    config.funds.insert(base, FUNDS * ONE);
    config.funds.insert(quote, QUOTE_FUNDS);
    let limits = config.engine.markets.first_mut()?;
    (limits.inventory_min, limits.inventory_max) = (0, 2 * FUNDS * ONE);
    limits.order_value_max = QUOTE_FUNDS;
    limits.signed_unexpired_max = Amount::MAX;
    Some(())
}

/// What the strategies of a world read of the other one.
pub(super) fn reads(config: &WorldConfig, markets: &[MarketSpec]) -> Vec<ReadElsewhere> {
    let hedges = config
        .seats
        .iter()
        .filter(|seat| seat.strategy == cambist_strategies::hedge::INFO.name);
    let read = hedges.filter_map(|seat| {
        let reader = markets.iter().find(|market| market.id == seat.market)?;
        Some(ReadElsewhere {
            strategy: seat.strategy.clone(),
            reader: seat.market,
            name: cambist_core::elsewhere::join(VENUES[1], &reader.name),
        })
    });
    read.collect()
}
