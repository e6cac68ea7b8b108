//! Joins, exits and swaps with faults drawn from a seed. After every operation the row is settled and the books are the
//! chain's; everything that was sealed has at most one end.

use cambist_core::{Hash, Side, shares};
use cambist_evm_venue::nonces::Purpose;

use crate::adapter::{Ended, SLIPPAGE_BPS, What};
use crate::contracts::{FIRST, ONE, SECOND, SHARES, World};
use crate::node::{Drop_, Reorganise, ask};
use crate::steps::{place, resend, send};
use crate::{Step, ensure};

/// Marsaglia's xorshift with 64 bits.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

const FAULTS: [&str; 8] = [
    "none",
    "sent late",
    "dropped",
    "twice",
    "reorganised",
    "replaced",
    "restart",
    "price moved",
];

/// Runs so many operations. How many ended how.
pub async fn run(world: &mut World<'_>, seed: u64, operations: u64) -> Step<String> {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut counts = [0_u64; FAULTS.len()];
    for operation in 0..operations {
        let fault = usize::try_from(draw.below(FAULTS.len() as u64)).unwrap_or(0);
        let name = FAULTS[fault];
        let done = one(world, &mut draw, name).await;
        done.map_err(|why| format!("seed {seed}, operation {operation}, {name}: {why}"))?;
        counts[fault] += 1;
    }
    let mut ended = [0_u64; 4];
    for end in world.adapter.ended.values() {
        match end {
            Ended::Pool(_) => ended[0] += 1,
            Ended::Swap(_) => ended[1] += 1,
            Ended::Approval(_) => ended[2] += 1,
            Ended::Burn => ended[3] += 1,
        }
    }
    let dead = world.adapter.sealed.len() - world.adapter.ended.len();
    Ok(format!(
        "seed {seed}, {operations} operations, books equal after each; ended in all: {} joins and exits, {} swaps, \
         {} approvals, {} burns; {dead} never mined",
        ended[0], ended[1], ended[2], ended[3]
    ))
}

async fn one(world: &mut World<'_>, draw: &mut Draw, fault: &str) -> Step {
    let intent = intent(world, draw).await?;
    match fault {
        "sent late" => {
            for _ in 0..draw.below(9) {
                follow(world).await?;
            }
            send(world, intent).await?;
        }
        "dropped" => {
            send(world, intent).await?;
            ask(&world.node, &Drop_ { hash: intent }).await?;
        }
        "twice" => {
            send(world, intent).await?;
            send(world, intent).await?;
        }
        "reorganised" => {
            send(world, intent).await?;
            world.mine().await?;
            world.adapter.look(&world.node, &world.nodes).await?;
            ask(&world.node, &Reorganise { depth: 1 }).await?;
            if draw.below(2) == 0 {
                resend(world).await?;
            }
        }
        "replaced" => {
            send(world, intent).await?;
            let nonce = world.adapter.sealed[&intent].1.nonce;
            let burn = world.adapter.seal(What::Burn, nonce)?;
            send(world, burn).await?;
        }
        "restart" => {
            send(world, intent).await?;
            world.process.restart().await?;
            world.adapter.look(&world.node, &world.nodes).await?;
            if draw.below(2) == 0 {
                resend(world).await?;
            }
        }
        "price moved" => {
            trade_against(world, draw).await?;
            send(world, intent).await?;
        }
        _ => send(world, intent).await?,
    }
    until_settled(world).await?;
    world.adapter.compare(&world.node).await?;
    let listed = world.adapter.listed();
    let settled = world.adapter.ended.contains_key(&intent);
    if let Some(listed) = listed {
        ensure!(
            listed.contains(&intent) == settled,
            "a complete list is wrong about {intent}"
        );
    }
    Ok(())
}

/// Seals one intent; its approvals are sent, it is not.
async fn intent(world: &mut World<'_>, draw: &mut Draw) -> Step<Hash> {
    world.adapter.look(&world.node, &world.nodes).await?;
    let held = world.adapter.totals.get(&SHARES).copied().unwrap_or(0);
    let held = u128::try_from(held).map_err(|error| error.to_string())?;
    let size = ONE / 100 + u128::from(draw.below(u64::MAX)) % (20 * ONE);
    match draw.below(4) {
        0 => {
            let pool = world.adapter.pool(&world.node).await?;
            let limits = shares::join(&pool, size, SLIPPAGE_BPS).ok_or("no limits")?;
            let needed = [(FIRST, limits.amounts[0]), (SECOND, limits.amounts[1])];
            place(world, &needed, |adapter, pool, nonce| {
                adapter.join(pool, size, nonce)
            })
            .await
        }
        1 if held > 0 => {
            let shares = size.min(held);
            place(world, &[(SHARES, shares)], |adapter, pool, nonce| {
                adapter.exit(pool, shares, nonce)
            })
            .await
        }
        2 => {
            place(world, &[(FIRST, size)], |adapter, pool, nonce| {
                adapter.swap(pool, Side::Sell, size, nonce)
            })
            .await
        }
        _ => {
            let sell = 2_000 * size;
            place(world, &[(SECOND, sell)], |adapter, pool, nonce| {
                adapter.swap(pool, Side::Buy, sell, nonce)
            })
            .await
        }
    }
}

/// Another account sells so much that a part of our intents no longer gets its least.
async fn trade_against(world: &mut World<'_>, draw: &mut Draw) -> Step {
    let [first, second] = [FIRST, SECOND].map(|token| world.adapter.chain.tokens[&token]);
    let (path, sold) = if draw.below(2) == 0 {
        ([first, second], ONE * u128::from(1 + draw.below(60)))
    } else {
        (
            [second, first],
            2_500 * ONE * u128::from(1 + draw.below(60)),
        )
    };
    let swap = cambist_evm::call::Call::SwapExactTokensForTokens {
        sold: cambist_evm::U256::from(sold),
        bought_min: cambist_evm::U256::ZERO,
        path,
        to: world.other.key.address(),
        deadline: cambist_evm::U256::MAX,
    };
    let router = world.adapter.chain.router;
    world.other_calls(router, &swap).await?;
    Ok(())
}

async fn follow(world: &mut World<'_>) -> Step {
    world.mine().await?;
    world.adapter.look(&world.node, &world.nodes).await?;
    world.adapter.settle(&world.nodes).await?;
    Ok(())
}

/// Goes on as a shell would until every number that was given out is spent by the finalized block: approvals are sent
/// again, and numbers are burnt whose intents can only revert.
async fn until_settled(world: &mut World<'_>) -> Step {
    for _ in 0..60 {
        if world.adapter.settled_below == world.adapter.next_nonce() {
            return Ok(());
        }
        let nonce = world.adapter.settled_below;
        let newest = world.adapter.nonces.of(nonce).last().copied();
        let again = newest.filter(|of| matches!(of.purpose, Purpose::Approval | Purpose::Burn));
        if let Some(candidate) = again {
            // Spent and not final, or kept: both are no news.
            let _ = world.adapter.send(&world.nodes, candidate.hash).await?;
        }
        let finalized = *world.adapter.view.finalized();
        if let Some(nonce) = world
            .adapter
            .nonces
            .to_burn(&finalized, world.adapter.settled_below)
        {
            let burn = world.adapter.seal(What::Burn, nonce)?;
            let _ = world.adapter.send(&world.nodes, burn).await?;
        }
        follow(world).await?;
    }
    Err(format!(
        "nonce {} is not settled after sixty blocks",
        world.adapter.settled_below
    ))
}
