//! What a start asks of a V3 pool: the pool that the factory has, its fee and tick spacing, and which position of the range
//! is the account's.

use cambist_core::TokenId;
use cambist_evm::abi::{one_address, one_number};
use cambist_evm::block::BlockTag;
use cambist_evm::call::Call as TokenCall;
use cambist_evm::rpc::CallAt;
use cambist_evm::v3::call::{self, Call, Position};
use cambist_evm::v3::tick::Tick;
use cambist_evm::{Address, U256};
use cambist_evm_venue::range::{Held, PoolRange};

use super::{Found, Session, of_answer, refused};
use crate::config::pool;
use crate::live::start_retry::StartRetry;

/// Most positions of an account that are read: an account of its own has one for each range.
const POSITIONS_MAX: u64 = 64;

impl Session {
    /// The pool of two tokens, in its order, and a fee, with the configured range and the account's position in it.
    pub(super) async fn ranged(
        &mut self,
        market: &str,
        pooled: [(TokenId, Address); 2],
        of: &pool::PoolRange,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Found> {
        let [token_a, token_b] = pooled.map(|(_, address)| address);
        let tier = of.fee_tier;
        let fee = U256::from(tier);
        let latest = BlockTag::Latest;
        let call = Call::GetPool {
            token_a,
            token_b,
            fee,
        };
        let factory = self.link.factory;
        let address = self.position_call(factory, &call, latest, retry).await?;
        let address = one_address(&address).map_err(of_answer)?;
        if address == Address::ZERO {
            return Err(refused(format!(
                "{market}: the factory has no pool of these tokens with market.pool.range.fee_tier = {tier}"
            )));
        }
        self.check_tokens(market, address, pooled, retry).await?;
        let stated = self
            .position_call(address, &Call::Fee {}, latest, retry)
            .await?;
        let stated = call::fee(&stated).map_err(of_answer)?;
        if stated != tier {
            return Err(refused(format!(
                "{market}: the pool states a fee of {stated}, and market.pool.range.fee_tier is {tier}"
            )));
        }
        let spacing = self
            .position_call(address, &Call::TickSpacing {}, latest, retry)
            .await?;
        let spacing = call::tick_spacing(&spacing).map_err(of_answer)?;
        let range = of.range;
        for (key, end) in [("lower_tick", range.lower()), ("upper_tick", range.upper())] {
            let end = end.number();
            if end % spacing != 0 {
                let below = end.div_euclid(spacing) * spacing;
                return Err(refused(format!(
                    "{market}: market.pool.range.{key} = {end} is no multiple of the pool's tick spacing {spacing}: the nearest are {below} and {}",
                    below + spacing
                )));
            }
        }
        // A pool without a price has no answer that can be read.
        let slot0 = self
            .position_call(address, &Call::Slot0 {}, latest, retry)
            .await?;
        call::price(&slot0)
            .map_err(|error| refused(format!("{market}: the pool has no price: {error}")))?;
        let mut found = PoolRange {
            fee: tier,
            spacing,
            range,
            held: Held::Unread,
        };
        let mut decimals = 0_u16;
        for (_, token) in pooled {
            let stated = self.ask(token, &TokenCall::Decimals {}, retry).await?;
            decimals += u16::from(cambist_evm::call::decimals(&stated).map_err(of_answer)?);
        }
        found.held = self
            .position(market, [token_a, token_b], &found, retry)
            .await?;
        let [lower, upper] = [range.lower(), range.upper()].map(Tick::number);
        let name = format!("{}/{lower}/{upper}", address.to_hex());
        Ok(Found {
            address,
            // Liquidity is the root of a product of both amounts.
            shares: self.shares(market, &name, u8::try_from(decimals / 2)?)?,
            fee_bips: u16::try_from(tier / 100)?,
            range: Some(found),
        })
    }

    /// Which position of the range is the account's in the finalized block.
    async fn position(
        &self,
        market: &str,
        tokens: [Address; 2],
        of: &PoolRange,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Held> {
        let [_, finalized] = self.access.blocks(retry).await?;
        let at = BlockTag::Number(finalized.number);
        let (manager, owner) = (self.link.router, self.link.account);
        let call = TokenCall::BalanceOf { owner };
        let ask = CallAt::view(manager, &call, at);
        let count = self.view(manager, call.signature(), &ask, retry).await?;
        let count = one_number(&count).map_err(of_answer)?;
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        if count > POSITIONS_MAX {
            return Err(refused(format!(
                "the account holds {count} positions, and at most {POSITIONS_MAX} are read: use an account for this daemon alone, or move the others away"
            )));
        }
        let mut fitting = Vec::new();
        for index in 0..count {
            let index = U256::from(index);
            let call = Call::TokenOfOwnerByIndex { owner, index };
            let position = self.position_call(manager, &call, at, retry).await?;
            let position = one_number(&position).map_err(of_answer)?;
            let call = Call::Positions { position };
            let stated = self.position_call(manager, &call, at, retry).await?;
            let stated = call::position(&stated).map_err(of_answer)?;
            let ticks = [of.range.lower(), of.range.upper()];
            if (stated.tokens, stated.fee, stated.ticks) == (tokens, of.fee, ticks) {
                fitting.push((position, stated));
            }
        }
        choose(market, &fitting).map_err(refused)
    }

    async fn position_call(
        &self,
        contract: Address,
        call: &Call,
        at: BlockTag,
        retry: StartRetry<'_>,
    ) -> anyhow::Result<Vec<u8>> {
        let ask = CallAt::view_of(contract, call.encode(), at);
        self.view(contract, call.signature(), &ask, retry).await
    }
}

/// The account's position of those that fit the range: the one with liquidity, or the oldest one without.
fn choose(market: &str, fitting: &[(U256, Position)]) -> Result<Held, String> {
    let filled: Vec<_> = fitting
        .iter()
        .filter(|(_, stated)| stated.liquidity > 0)
        .collect();
    match filled.as_slice() {
        [] => {
            let oldest = fitting.iter().map(|(position, _)| *position).min();
            Ok(oldest.map_or(Held::Nothing, Held::Position))
        }
        [(position, stated)] if stated.operator == Address::ZERO => Ok(Held::Position(*position)),
        [(position, stated)] => Err(format!(
            "{market}: {} may take the liquidity out of position {position} and move it: withdraw that approval with a wallet (approve({}, {position}) of the position manager)",
            stated.operator.to_hex(),
            Address::ZERO.to_hex(),
        )),
        several => {
            let names: Vec<_> = several
                .iter()
                .map(|(number, _)| number.to_string())
                .collect();
            Err(format!(
                "{market}: the account holds several positions with liquidity in this range: {}. Which of them the books are of is not known: leave all but one, or move them to another account, with a wallet",
                names.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    fn position(number: u64, liquidity: u128) -> (U256, Position) {
        let stated = Position {
            operator: Address::ZERO,
            tokens: [Address([1; 20]), Address([2; 20])],
            fee: 3_000,
            ticks: [-60, 60].map(|tick| Tick::new(tick).unwrap()),
            liquidity,
            owed: [0, 0],
        };
        (U256::from(number), stated)
    }

    #[test]
    fn the_position_is_the_one_with_liquidity() {
        let of = |fitting: &[(U256, Position)]| choose("A-B", fitting);
        let held = |number: u64| Ok(Held::Position(U256::from(number)));
        assert_eq!(of(&[]), Ok(Held::Nothing));
        assert_eq!(of(&[position(9, 0), position(7, 0)]), held(7), "the oldest");
        assert_eq!(of(&[position(7, 0), position(9, 1)]), held(9));
        let why = of(&[position(7, 1), position(8, 0), position(9, 1)]).unwrap_err();
        assert!(why.contains("A-B") && why.contains("7, 9"), "{why}");
        assert!(why.contains("move them to another account"), "{why}");
        let mut moved_by_others = position(7, 1);
        moved_by_others.1.operator = Address([9; 20]);
        let why = of(&[moved_by_others]).unwrap_err();
        assert!(why.contains(&Address([9; 20]).to_hex()), "{why}");
    }
}
