//! Tokens that keep a part of a transfer, or whose balances change by themselves: found by a start, before anything is
//! signed. What a transfer moves is tried in a call that changes nothing (`cambist_evm::probe`), with what the pair holds.

use std::time::Duration;

use cambist_client::{NoFact, NodeRefusal, Nodes};
use cambist_core::TokenId;
use cambist_evm::abi::one_number;
use cambist_evm::block::BlockTag;
use cambist_evm::call::{self, Call};
use cambist_evm::probe::{Moved, Probe};
use cambist_evm::rpc::CallAt;
use cambist_evm::{Address, U256};

use super::access::{EvmAccess, error};
use super::{of_answer, refused};
use crate::config::venue::evm::EvmLink;
use crate::live::start_retry::StartRetry;

/// How often a node is asked that refuses a call: a node behind a balancer may lack the block for a moment.
const ATTEMPTS: u32 = 3;
/// Pause between two of them.
const PAUSE: Duration = Duration::from_secs(1);

/// Refuses the tokens of a pair, or of a V3 pool (`in_ranges`), that do not move exactly what they are asked to, or of which that could not be tried.
pub async fn check(
    access: &EvmAccess,
    link: &EvmLink,
    (pair, in_ranges): (Address, bool),
    pooled: [(TokenId, Address); 2],
    retry: StartRetry<'_>,
) -> anyhow::Result<()> {
    let [latest, _] = access.blocks(retry).await?;
    let at = BlockTag::Number(latest.number);
    let view = |contract, call: Call| CallAt::view(contract, &call, at);
    // A V3 pool has no books of what it holds.
    let reserves = if in_ranges {
        [None; 2]
    } else {
        let reserves = access
            .fact(&view(pair, Call::GetReserves {}), retry)
            .await?;
        call::reserves(&reserves)
            .map_err(of_answer)?
            .amounts
            .map(Some)
    };
    for ((_, token), reserve) in pooled.into_iter().zip(reserves) {
        let named = link.tokens.iter().find(|(_, address)| **address == token);
        let symbol = named.map_or("", |(symbol, _)| symbol.as_str());
        let held = view(token, Call::BalanceOf { owner: pair });
        let held = access.fact(&held, retry).await?;
        let held = one_number(&held).map_err(of_answer)?;
        let reserve = reserve.map_or(held, U256::from);
        if held < reserve {
            return Err(refused(format!(
                "{symbol}: the pair holds {held} base units and has {reserve} in its books: balances of this token change by themselves. Such a token cannot be traded here; remove its market"
            )));
        }
        if held > reserve {
            tracing::warn!(
                "{symbol}: the pair holds more than it has in its books ({held} and {reserve} base units): it was given some, or balances of this token change by themselves, which would stop trading"
            );
        }
        let mut is_undecided = held == U256::ZERO;
        for amount in amounts(held) {
            let probe = Probe {
                token,
                holder: pair,
                other: link.account,
                amount,
                at,
            };
            match moved(access, &probe, retry).await? {
                Moved::Exactly => {}
                Moved::Undecided => is_undecided = true,
                Moved::Otherwise {
                    sent,
                    arrived,
                    returned,
                } => {
                    return Err(refused(format!(
                        "{symbol}: of a transfer of {sent} base units {arrived} arrive, and {returned} when it is sent back: the token keeps a part of transfers, or its balances are shares of something. Such a token cannot be traded here; remove its market"
                    )));
                }
            }
        }
        if !is_undecided {
            continue;
        }
        if !link.accept_unprobed_tokens {
            return Err(refused(format!(
                "{symbol}: whether a transfer moves exactly its amount could not be tried: a node does not run calls with other code (the state override of eth_call), or the token moved nothing. Name another node, or set venue.accept_unprobed_tokens = true if the token's contract shows that it keeps no part of transfers and that balances change by transfers alone"
            )));
        }
        tracing::warn!(
            "{symbol}: what a transfer moves could not be tried, and venue.accept_unprobed_tokens accepts that; a token that keeps a part stops the account at its first receipt"
        );
    }
    Ok(())
}

/// Small parts of what the pair holds, because some tokens bound a transfer, and no round numbers, because shares of
/// something round.
fn amounts(held: U256) -> [U256; 2] {
    let part = |of: u64, more: u64| (held / U256::from(of) + U256::from(more)).min(held);
    [part(10_000, 1), part(1_000, 7)]
}

/// What every node states; `Undecided` if one of them does not run the call.
async fn moved(access: &EvmAccess, probe: &Probe, retry: StartRetry<'_>) -> anyhow::Result<Moved> {
    let mut of_all = Moved::Exactly;
    for (place, node) in access.nodes.all() {
        let mut attempt = 0;
        let of_node = loop {
            attempt += 1;
            let asked = retry.ask(async || match Nodes::at(place, node, probe).await {
                Err(NoFact::Refused(_, NodeRefusal::Error(_))) => Ok(None),
                other => other.map(Some).map_err(|why| error::<Probe>(&why)),
            });
            match asked.await? {
                Some(moved) => break moved,
                None if attempt >= ATTEMPTS => break Moved::Undecided,
                None => tokio::time::sleep(PAUSE).await,
            }
        };
        match of_node {
            Moved::Exactly => {}
            Moved::Undecided => of_all = Moved::Undecided,
            otherwise @ Moved::Otherwise { .. } => return Ok(otherwise),
        }
    }
    Ok(of_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_moved_than_is_held() {
        let of = |held: u64| amounts(U256::from(held)).map(|amount| amount.to::<u64>());
        assert_eq!(of(1_000_000), [101, 1_007]);
        assert_eq!(of(5), [1, 5]);
        assert_eq!(of(1), [1, 1]);
        assert_eq!(of(0), [0, 0]);
    }
}
