//! Every kind of transaction once, and every fault once, each with what the adapter concludes.

use cambist_client::{NoFact, Nodes};
use cambist_core::pool::{PoolBalances, PoolTransactionStatus};
use cambist_core::request::Outcome;
use cambist_core::{Amount, Hash, OrderStatus, PoolTransactionKind, Side, TokenId, shares, swap};
use cambist_evm::abi::{Value, encode, one_number};
use cambist_evm::block::BlockTag;
use cambist_evm::call::Call;
use cambist_evm::probe::{Moved, Probe};
use cambist_evm::rpc::{BlockAt, ReceiptOf};
use cambist_evm::{Address, Hash32, U256};
use cambist_evm_venue::finality::{Unusable, View};
use cambist_evm_venue::nonces::{Candidate, Fate, NonceError, Purpose};
use cambist_evm_venue::rules;
use cambist_evm_venue::settle::Unsettled;

use crate::adapter::{Ended, GRACE_MS, KEPT, SLIPPAGE_BPS, What};
use crate::contracts::{BLOCK_S, FIRST, ONE, SECOND, SHARES, World};
use crate::engine_requests::requests;
use crate::node::{Drop_, Mine, Process, Reorganise, ask};
use crate::ranges::ranges;
use crate::{Step, ensure};

/// All steps in their order, one result each.
pub async fn all(world: &mut World<'_>) -> Vec<(&'static str, Step<String>)> {
    let mut results = Vec::new();
    macro_rules! run {
        ($($name:literal $step:ident,)*) => {$(
            let result = $step(world).await;
            results.push(($name, after(world, result).await));
        )*};
    }
    run! {
        "join, swaps and exit to the unit" whole_life,
        "protocol fee" protocol_fee,
        "not mined" not_mined,
        "same bytes twice" same_bytes_twice,
        "dropped by the node" dropped,
        "replaced" replaced,
        "underpriced" underpriced,
        "gap" gap,
        "past its deadline" past_its_deadline,
        "reverted in time" reverted_in_time,
        "reorganisation" reorganised,
        "restart of the node" restarted,
        "node killed" killed,
        "another holder of the key" foreign,
        "requests of the engine" requests,
        "token that keeps a part" fee_on_transfer,
        "a node of another chain" another_chain,
        "a range of a V3 pool to the unit" ranges,
    }
    results
}

/// Behind every step the books are the chain's.
async fn after(world: &mut World<'_>, result: Step<String>) -> Step<String> {
    let remark = result?;
    world.adapter.compare(&world.node).await?;
    Ok(remark)
}

/// Seals an intent behind the approvals that it needs, and sends all of it.
pub async fn place(
    world: &mut World<'_>,
    needed: &[(TokenId, Amount)],
    make: impl FnOnce(&mut crate::adapter::Adapter, &PoolBalances, u64) -> Step<What>,
) -> Step<Hash> {
    let pool = world.adapter.pool(&world.node).await?;
    for (token, amount) in needed {
        for approval in world
            .adapter
            .approvals(&world.node, *token, *amount)
            .await?
        {
            let nonce = world.adapter.next_nonce();
            let hash = world.adapter.seal(approval, nonce)?;
            kept(&world.adapter.send(&world.nodes, hash).await?)?;
        }
    }
    let nonce = world.adapter.next_nonce();
    let what = make(&mut world.adapter, &pool, nonce)?;
    world.adapter.seal(what, nonce)
}

fn kept(outcome: &Outcome) -> Step {
    ensure!(*outcome == KEPT, "{outcome:?} instead of kept by the node");
    Ok(())
}

pub async fn send(world: &World<'_>, hash: Hash) -> Step {
    kept(&world.adapter.send(&world.nodes, hash).await?)
}

/// Makes blocks until everything that was mined is final, and settles it.
pub async fn settle(world: &mut World<'_>) -> Step {
    world.finalize().await?;
    world.adapter.settle(&world.nodes).await?;
    Ok(())
}

/// A small swap that needs its approval.
async fn small_swap(world: &mut World<'_>) -> Step<Hash> {
    let needed = [(FIRST, ONE)];
    place(world, &needed, |adapter, pool, nonce| {
        adapter.swap(pool, Side::Sell, ONE, nonce)
    })
    .await
}

fn order(world: &World<'_>, hash: Hash) -> Step<cambist_core::order::OrderReport> {
    match world.adapter.ended.get(&hash) {
        Some(Ended::Swap(report)) => Ok(report.clone()),
        other => Err(format!("{other:?} instead of a swap's report")),
    }
}

async fn whole_life(world: &mut World<'_>) -> Step<String> {
    let before = world.adapter.pool(&world.node).await?;
    let wanted = 1_000 * ONE + 7;
    let limits = shares::join(&before, wanted, SLIPPAGE_BPS).ok_or("no limits")?;
    let needed = [(FIRST, limits.amounts[0]), (SECOND, limits.amounts[1])];
    let join = place(world, &needed, |adapter, pool, nonce| {
        adapter.join(pool, wanted, nonce)
    })
    .await?;
    send(world, join).await?;
    world.mine().await?;
    world.adapter.look(&world.node, &world.nodes).await?;
    let settled = world.adapter.settle(&world.nodes).await?;
    ensure!(settled == 0, "{settled} were settled before finality");
    let nonce = world.adapter.sealed[&join].1.nonce;
    let fate = world.adapter.fate(&world.nodes, nonce).await?;
    ensure!(fate == Fate::Open, "mined and not final: {fate:?}");
    let receipt = ask(&world.node, &ReceiptOf(Hash32(join.0))).await?;
    ensure!(
        receipt.is_some_and(|of| of.succeeded),
        "the join was not executed"
    );
    settle(world).await?;
    let Some(Ended::Pool(joined)) = world.adapter.ended.get(&join).cloned() else {
        return Err("no report of the join".to_owned());
    };
    ensure!(
        joined.status == PoolTransactionStatus::Processed,
        "{joined:?}"
    );
    ensure!(joined.kind == PoolTransactionKind::Join, "{joined:?}");
    // The router pays one token in full and of the other what fits it, rounded down.
    let short = |at: usize| limits.amounts[at] - joined.amounts.pooled[at];
    ensure!(short(0).min(short(1)) == 0, "{joined:?}, {limits:?}");
    ensure!(short(0).max(short(1)) <= 2_500, "{joined:?}, {limits:?}");
    ensure!(
        joined.amounts.lp >= limits.lp && wanted.abs_diff(joined.amounts.lp) <= 100,
        "{joined:?}"
    );
    world.adapter.compare(&world.node).await?;

    // Both directions, each paying exactly what the engine computes.
    for (side, token, sell) in [
        (Side::Sell, FIRST, 3 * ONE + 1),
        (Side::Buy, SECOND, 5_000 * ONE),
    ] {
        let pool = world.adapter.pool(&world.node).await?;
        let (sold, bought) = match side {
            Side::Sell => (pool.pooled[0], pool.pooled[1]),
            Side::Buy => (pool.pooled[1], pool.pooled[0]),
        };
        let paid = swap::paid_for(sell, sold, bought, 30).ok_or("no price")?;
        let swap = place(world, &[(token, sell)], |adapter, pool, nonce| {
            adapter.swap(pool, side, sell, nonce)
        })
        .await?;
        send(world, swap).await?;
        settle(world).await?;
        let report = order(world, swap)?;
        let filled = match side {
            Side::Sell => (report.base_filled, report.quote_filled),
            Side::Buy => (report.quote_filled, report.base_filled),
        };
        ensure!(filled == (sell, paid), "{filled:?}, not {sell} for {paid}");
        ensure!(report.status == OrderStatus::Processed, "{report:?}");
        world.adapter.compare(&world.node).await?;
    }

    let held = joined.amounts.lp;
    let pool = world.adapter.pool(&world.node).await?;
    let due = shares::due(&pool, held).ok_or("nothing due")?;
    let exit = place(world, &[(SHARES, held)], |adapter, pool, nonce| {
        adapter.exit(pool, held, nonce)
    })
    .await?;
    send(world, exit).await?;
    settle(world).await?;
    let Some(Ended::Pool(left)) = world.adapter.ended.get(&exit) else {
        return Err("no report of the exit".to_owned());
    };
    ensure!(left.amounts.pooled == due, "{left:?}, {due:?} was due");
    ensure!(left.amounts.lp == held, "{left:?}");
    // No permission is left.
    for (token, _) in [(FIRST, 0), (SECOND, 0), (SHARES, 0)] {
        let over = world.adapter.approvals(&world.node, token, 0).await?;
        let is_used = token != SECOND;
        ensure!(
            !is_used || over.is_empty(),
            "a permission of token {} is left",
            token.0
        );
    }
    Ok(format!("{held} shares returned {due:?}, as computed"))
}

async fn protocol_fee(world: &mut World<'_>) -> Step<String> {
    let receiver = Address([0x77; 20]);
    let data = encode("setFeeTo(address)", &[Value::Address(receiver)]);
    let factory = world.factory;
    let set = world.other_sends(Some(factory), data).await?;
    ensure!(set.succeeded, "the protocol's fee was not set");
    world.finalize().await?;
    // The first join sets the product that growth is measured from; swaps let it grow.
    let mut joined = 0;
    for _ in 0..2 {
        let wanted = 500 * ONE;
        let pool = world.adapter.pool(&world.node).await?;
        let limits = shares::join(&pool, wanted, SLIPPAGE_BPS);
        let amounts = limits.ok_or("no limits")?.amounts;
        let needed = [(FIRST, amounts[0]), (SECOND, amounts[1])];
        let join = place(world, &needed, |adapter, pool, nonce| {
            adapter.join(pool, wanted, nonce)
        })
        .await?;
        send(world, join).await?;
        settle(world).await?;
        let Some(Ended::Pool(report)) = world.adapter.ended.get(&join) else {
            return Err("no report of the join".to_owned());
        };
        joined += report.amounts.lp;
        let swap = place(world, &[(FIRST, 50 * ONE)], |adapter, pool, nonce| {
            adapter.swap(pool, Side::Sell, 50 * ONE, nonce)
        })
        .await?;
        send(world, swap).await?;
        settle(world).await?;
    }
    let pool = world.adapter.pool(&world.node).await?;
    let due = shares::due(&pool, joined).ok_or("nothing due")?;
    let exit = place(world, &[(SHARES, joined)], |adapter, pool, nonce| {
        adapter.exit(pool, joined, nonce)
    })
    .await?;
    send(world, exit).await?;
    settle(world).await?;
    let Some(Ended::Pool(left)) = world.adapter.ended.get(&exit) else {
        return Err("no report of the exit".to_owned());
    };
    ensure!(left.amounts.pooled == due, "{left:?}, {due:?} was due");
    let pair = Address(world.adapter.chain.pools[0].address);
    let taken = world
        .returned(pair, &Call::BalanceOf { owner: receiver })
        .await?;
    let taken = one_number(&taken).map_err(|error| error.to_string())?;
    ensure!(taken > U256::ZERO, "the protocol got nothing");
    Ok(format!(
        "{taken} shares for the protocol, ours returned as computed"
    ))
}

async fn not_mined(world: &mut World<'_>) -> Step<String> {
    let swap = small_swap(world).await?;
    send(world, swap).await?;
    world.adapter.look(&world.node, &world.nodes).await?;
    let nonce = world.adapter.sealed[&swap].1.nonce;
    let fate = world.adapter.fate(&world.nodes, nonce).await?;
    ensure!(fate == Fate::Open, "{fate:?}");
    ensure!(
        world.adapter.settle(&world.nodes).await? == 0,
        "something was settled"
    );
    settle(world).await?;
    ensure!(
        order(world, swap)?.status == OrderStatus::Processed,
        "not executed"
    );
    Ok("open until its block is final".to_owned())
}

async fn same_bytes_twice(world: &mut World<'_>) -> Step<String> {
    let swap = small_swap(world).await?;
    send(world, swap).await?;
    send(world, swap).await?;
    world.mine().await?;
    // Mined and not final: the nonce is too low, and that proves nothing yet.
    world.adapter.look(&world.node, &world.nodes).await?;
    send(world, swap).await?;
    settle(world).await?;
    let again = world.adapter.send(&world.nodes, swap).await?;
    ensure!(again == Outcome::Refused(rules::SPENT), "{again:?}");
    ensure!(
        order(world, swap)?.status == OrderStatus::Processed,
        "not executed"
    );
    Ok("kept, kept, open, then spent by itself".to_owned())
}

/// Lets the deadline of everything pass, and burns what then holds back the row.
async fn burn(world: &mut World<'_>, nonce: u64) -> Step<Hash> {
    for _ in 0..20 {
        let finalized = *world.adapter.view.finalized();
        let spent_below = world.adapter.settled_below;
        if let Some(due) = world.adapter.nonces.to_burn(&finalized, spent_below) {
            ensure!(due == nonce, "{due} is to be burnt, not {nonce}");
            return world.adapter.seal(What::Burn, nonce);
        }
        world.mine().await?;
        world.adapter.look(&world.node, &world.nodes).await?;
        world.adapter.settle(&world.nodes).await?;
    }
    Err(format!("nonce {nonce} is never to be burnt"))
}

async fn dropped(world: &mut World<'_>) -> Step<String> {
    let swap = small_swap(world).await?;
    send(world, swap).await?;
    // Its approval is mined first, alone.
    ask(&world.node, &Drop_ { hash: swap }).await?;
    settle(world).await?;
    let nonce = world.adapter.sealed[&swap].1.nonce;
    let fate = world.adapter.fate(&world.nodes, nonce).await?;
    ensure!(
        fate == Fate::Open,
        "{fate:?}: a node that forgot proves nothing"
    );
    // The list of now is proven once finality caught up, and does not hold it.
    let burn = burn(world, nonce).await?;
    let listed = world.adapter.listed();
    let proven = listed.ok_or("the list is not proven")?;
    ensure!(!proven.contains(&swap), "a list has it");
    send(world, burn).await?;
    settle(world).await?;
    let fate = world.adapter.fate(&world.nodes, nonce).await?;
    ensure!(
        matches!(
            fate,
            Fate::Ours(Candidate {
                purpose: Purpose::Burn,
                ..
            })
        ),
        "{fate:?}"
    );
    let late = world.adapter.send(&world.nodes, swap).await?;
    ensure!(
        late == Outcome::Refused(rules::SPENT),
        "a late copy: {late:?}"
    );
    ensure!(!world.adapter.ended.contains_key(&swap), "it was settled");
    Ok(format!(
        "nonce {nonce} was burnt; a late copy is refused as spent"
    ))
}

async fn replaced(world: &mut World<'_>) -> Step<String> {
    let swap = small_swap(world).await?;
    send(world, swap).await?;
    let nonce = world.adapter.sealed[&swap].1.nonce;
    // With the same fees the node keeps what it has, and the row refuses to hold it at all.
    let fees = world.adapter.sealed[&swap].1.fees;
    let burn = world.adapter.bytes(&What::Burn, nonce, fees)?;
    let refused = world.adapter.send_bytes(&world.nodes, &burn).await?;
    ensure!(
        refused == Outcome::Refused(rules::UNDERPRICED_REPLACEMENT),
        "{refused:?}"
    );
    let candidate = Candidate {
        hash: burn.hash,
        fees,
        gas_limit: burn.gas_limit,
        purpose: Purpose::Burn,
    };
    let added = world.adapter.nonces.add(nonce, candidate);
    ensure!(added == Err(NonceError::Underpriced), "{added:?}");
    let burn = world.adapter.seal(What::Burn, nonce)?;
    send(world, burn).await?;
    settle(world).await?;
    ensure!(
        world.adapter.ended.get(&burn) == Some(&Ended::Burn),
        "not burnt"
    );
    ensure!(!world.adapter.ended.contains_key(&swap), "it was settled");
    Ok("a tenth more replaces it, and it is dead".to_owned())
}

async fn underpriced(world: &mut World<'_>) -> Step<String> {
    let nonce = world.adapter.next_nonce();
    let low = cambist_evm_venue::fees::Fees {
        priority_max: 1,
        max: 1,
    };
    let cheap = world.adapter.bytes(&What::Burn, nonce, low)?;
    let outcome = world.adapter.send_bytes(&world.nodes, &cheap).await?;
    ensure!(
        outcome == Outcome::Refused(rules::UNDERPRICED),
        "{outcome:?}"
    );
    let high = cambist_evm_venue::fees::Fees {
        priority_max: 1,
        max: u128::MAX >> 16,
    };
    let dear = world.adapter.bytes(&What::Burn, nonce, high)?;
    let outcome = world.adapter.send_bytes(&world.nodes, &dear).await?;
    ensure!(outcome == Outcome::Refused(rules::FUNDS), "{outcome:?}");
    Ok("below the base fee, and above what the account holds".to_owned())
}

async fn gap(world: &mut World<'_>) -> Step<String> {
    let pool = world.adapter.pool(&world.node).await?;
    let nonce = world.adapter.next_nonce();
    let first = world.adapter.seal(What::Approval(FIRST, ONE), nonce)?;
    let what = world.adapter.swap(&pool, Side::Sell, ONE, nonce + 1)?;
    let second = world.adapter.seal(what, nonce + 1)?;
    send(world, second).await?;
    for _ in 0..2 {
        world.mine().await?;
        world.adapter.look(&world.node, &world.nodes).await?;
        ensure!(
            world.adapter.settle(&world.nodes).await? == 0,
            "something was settled"
        );
    }
    let receipt = ask(&world.node, &ReceiptOf(Hash32(second.0))).await?;
    ensure!(receipt.is_none(), "mined across a gap");
    send(world, first).await?;
    settle(world).await?;
    ensure!(
        order(world, second)?.status == OrderStatus::Processed,
        "not executed"
    );
    Ok("held back until the number below was sent".to_owned())
}

async fn past_its_deadline(world: &mut World<'_>) -> Step<String> {
    let swap = small_swap(world).await?;
    // Everything but the swap is mined, time passes, and the swap arrives late.
    for _ in 0..6 {
        world.mine().await?;
        world.adapter.look(&world.node, &world.nodes).await?;
        world.adapter.settle(&world.nodes).await?;
    }
    send(world, swap).await?;
    settle(world).await?;
    let report = order(world, swap)?;
    ensure!(report.status == OrderStatus::Expired, "{report:?}");
    ensure!(
        (report.base_filled, report.quote_filled) == (0, 0),
        "{report:?}"
    );
    Ok("reverted: its gas was paid and nothing moved".to_owned())
}

async fn reverted_in_time(world: &mut World<'_>) -> Step<String> {
    let pool = world.adapter.pool(&world.node).await?;
    let paid = swap::paid_for(ONE, pool.pooled[0], pool.pooled[1], 30).ok_or("no price")?;
    // What the pool pays is accepted, and one unit more is not.
    let mut ends = Vec::new();
    for (least, status) in [
        (paid + 1, OrderStatus::Failed),
        (paid, OrderStatus::Processed),
    ] {
        let swap = place(world, &[(FIRST, ONE)], |adapter, pool, nonce| {
            adapter.swap_for(pool, Side::Sell, ONE, least, nonce)
        })
        .await?;
        send(world, swap).await?;
        settle(world).await?;
        let report = order(world, swap)?;
        ensure!(report.status == status, "{report:?}");
        ends.push(report.quote_filled);
    }
    ensure!(ends == [0, paid], "{ends:?}");
    Ok("one unit more than the pool pays fails, what it pays is enough".to_owned())
}

async fn reorganised(world: &mut World<'_>) -> Step<String> {
    let swap = small_swap(world).await?;
    send(world, swap).await?;
    world.mine().await?;
    world.adapter.look(&world.node, &world.nodes).await?;
    let mined = ask(&world.node, &ReceiptOf(Hash32(swap.0))).await?;
    ensure!(mined.is_some_and(|of| of.succeeded), "not mined");
    ask(&world.node, &Reorganise { depth: 1 }).await?;
    world.adapter.look(&world.node, &world.nodes).await?;
    let receipt = ask(&world.node, &ReceiptOf(Hash32(swap.0))).await?;
    ensure!(receipt.is_none(), "the receipt was not taken back");
    ensure!(
        world.adapter.settle(&world.nodes).await? == 0,
        "something was settled"
    );
    // The node may have forgotten all of it: what is not spent is sent again, the same bytes.
    resend(world).await?;
    settle(world).await?;
    ensure!(
        order(world, swap)?.status == OrderStatus::Processed,
        "not executed"
    );
    Ok("the receipt was taken back, nothing was booked; mined again, booked once".to_owned())
}

/// Sends everything again that is sealed and not settled, in the order of its numbers.
pub async fn resend(world: &World<'_>) -> Step {
    for nonce in world.adapter.settled_below..world.adapter.next_nonce() {
        if let Some(newest) = world.adapter.nonces.of(nonce).last() {
            send(world, newest.hash).await?;
        }
    }
    Ok(())
}

async fn restarted(world: &mut World<'_>) -> Step<String> {
    let swap = small_swap(world).await?;
    send(world, swap).await?;
    world.process.restart().await?;
    world.adapter.look(&world.node, &world.nodes).await?;
    world.adapter.compare(&world.node).await?;
    resend(world).await?;
    settle(world).await?;
    ensure!(
        order(world, swap)?.status == OrderStatus::Processed,
        "not executed"
    );
    Ok("the chain was kept; what waited was sent again".to_owned())
}

/// A node that is killed comes back with an older chain: finalized blocks are gone, and nothing may be concluded.
async fn killed(world: &mut World<'_>) -> Step<String> {
    world.process.restart().await?;
    world.adapter.look(&world.node, &world.nodes).await?;
    let swap = small_swap(world).await?;
    send(world, swap).await?;
    settle(world).await?;
    world.process.kill().await?;
    let view = world.adapter.view;
    let followed = world.adapter.look(&world.node, &world.nodes).await;
    ensure!(followed.is_err(), "an older chain was taken for the same");
    ensure!(world.adapter.view == view, "the view went back");
    // The node gets the blocks back, here by repeating what made them.
    world.now_s -= 3 * BLOCK_S;
    let (low, high) = (0, world.adapter.next_nonce());
    for nonce in low..high {
        for candidate in world.adapter.nonces.of(nonce) {
            let _ = world.adapter.send(&world.nodes, candidate.hash).await;
        }
    }
    for _ in 0..3 {
        world.mine().await?;
    }
    world.adapter.look(&world.node, &world.nodes).await?;
    ensure!(
        order(world, swap)?.status == OrderStatus::Processed,
        "not executed"
    );
    Ok(format!(
        "refused while behind: {}",
        followed.err().unwrap_or_default()
    ))
}

async fn foreign(world: &mut World<'_>) -> Step<String> {
    let nonce = world.adapter.next_nonce();
    let fees = world.adapter.fees(nonce)?;
    // Signed with our key, and not in the row.
    let stranger = world.adapter.bytes(&What::Burn, nonce, fees)?;
    let outcome = world.adapter.send_bytes(&world.nodes, &stranger).await?;
    ensure!(outcome == KEPT, "{outcome:?}");
    world.finalize().await?;
    let fate = world.adapter.fate(&world.nodes, nonce).await?;
    ensure!(fate == Fate::Foreign, "{fate:?}");
    let settled = world.adapter.settle(&world.nodes).await;
    ensure!(settled.is_err(), "settled: {settled:?}");
    // The operator explains it: the row takes it for its own.
    let candidate = Candidate {
        hash: stranger.hash,
        fees,
        gas_limit: stranger.gas_limit,
        purpose: Purpose::Burn,
    };
    let added = world.adapter.nonces.add(nonce, candidate);
    added.map_err(|error| error.to_string())?;
    world
        .adapter
        .sealed
        .insert(stranger.hash, (What::Burn, stranger));
    world.adapter.settle(&world.nodes).await?;
    Ok(format!(
        "nonce {nonce} was spent by what the row does not know"
    ))
}

async fn fee_on_transfer(world: &mut World<'_>) -> Step<String> {
    let supply = [Value::Number(U256::from(1_000_000_000 * ONE))];
    let file = "@uniswap/v2-periphery/build/DeflatingERC20.json";
    let deflating = world.create(file, &supply).await?;
    world.fund(deflating, 1_000_000 * ONE).await?;
    let other_token = world.adapter.chain.tokens[&FIRST];
    let mut tokens = [deflating, other_token];
    tokens.sort();
    let pair = world
        .first_deposit(tokens, [1_000 * ONE, 1_000 * ONE])
        .await?;
    world.finalize().await?;
    let probe = |holder, token| Probe {
        token,
        holder,
        other: world.adapter.chain.account,
        amount: U256::from(ONE + 7),
        at: BlockTag::Latest,
    };
    let kept = ask(&world.node, &probe(pair, deflating)).await?;
    ensure!(
        matches!(kept, Moved::Otherwise { sent, arrived, returned } if arrived < sent && returned < sent),
        "a probe of the token: {kept:?}"
    );
    let mut exact = vec![(pair, other_token)];
    let traded = Address(world.adapter.chain.pools[0].address);
    exact.extend(world.adapter.chain.tokens.values().map(|of| (traded, *of)));
    for (holder, token) in exact {
        let moved = ask(&world.node, &probe(holder, token)).await?;
        ensure!(
            moved == Moved::Exactly,
            "a probe of another token: {moved:?}"
        );
    }
    // The same account with another pool, on a row of its own.
    let mut chain = world.adapter.chain.clone();
    let mut market = world.adapter.market.clone();
    chain.tokens = [(FIRST, tokens[0]), (SECOND, tokens[1])].into();
    chain.pools = vec![crate::contracts::pool(pair)];
    std::mem::swap(&mut chain, &mut world.adapter.chain);
    std::mem::swap(&mut market, &mut world.adapter.market);
    let wanted = 10 * ONE;
    let pool = world.adapter.pool(&world.node).await?;
    let limits = shares::join(&pool, wanted, SLIPPAGE_BPS).ok_or("no limits")?;
    let needed = [(FIRST, limits.amounts[0]), (SECOND, limits.amounts[1])];
    let join = place(world, &needed, |adapter, pool, nonce| {
        adapter.join(pool, wanted, nonce)
    })
    .await?;
    send(world, join).await?;
    world.finalize().await?;
    let receipt = ask(&world.node, &ReceiptOf(Hash32(join.0))).await?;
    let succeeded = receipt.is_some_and(|of| of.succeeded);
    let settled = world.adapter.settle(&world.nodes).await;
    let expected = Unsettled::FeeOnTransfer.to_string();
    ensure!(succeeded, "the join was reverted");
    ensure!(settled.clone().err() == Some(expected), "{settled:?}");
    // Nothing was booked of it: the operator takes the chain's balances of the pool that is traded.
    std::mem::swap(&mut chain, &mut world.adapter.chain);
    std::mem::swap(&mut market, &mut world.adapter.market);
    world.adapter.settled_below = world.adapter.next_nonce();
    world.adapter.open(&world.node).await?;
    Ok("found by a probe and at the first receipt, nothing booked".to_owned())
}

async fn another_chain(world: &mut World<'_>) -> Step<String> {
    let second = Process::start(world.place, "second").await?;
    let third = Process::start(world.place, "third").await?;
    let both = Nodes::new(second.client()?, Some(third.client()?));
    let mine = async |process: &Process, block: u64| {
        let at_s = crate::node::GENESIS_S + 12 * block;
        ask(&process.client()?, &Mine { at_s }).await
    };
    for block in 1..=5 {
        mine(&second, block).await?;
        mine(&third, block).await?;
    }
    let finalized = both.finalized().await.map_err(|why| format!("{why:?}"))?;
    ensure!(finalized.number == 3, "{finalized:?}");
    // The third lags: what both have finalized is its block.
    for block in 6..=8 {
        mine(&second, block).await?;
    }
    let lagging = both.finalized().await.map_err(|why| format!("{why:?}"))?;
    ensure!(lagging == finalized, "{lagging:?}");
    let ahead = second.nodes()?.finalized().await;
    let ahead = ahead.map_err(|why| format!("{why:?}"))?;
    let newest = ask(&second.client()?, &BlockAt(BlockTag::Latest)).await?;
    let newest = newest.ok_or("no block")?;
    let mut view = View::new(newest, ahead).map_err(|error| error.to_string())?;
    let followed = view.follow(newest, lagging, &ahead, GRACE_MS);
    ensure!(followed == Err(Unusable::Behind), "{followed:?}");
    // It catches up on a chain of its own.
    for block in 9..=12 {
        mine(&third, block).await?;
    }
    let forked = both.finalized().await;
    ensure!(matches!(forked, Err(NoFact::Disagree { .. })), "{forked:?}");
    // A node that replaces blocks it had finalized follows another chain.
    let client = second.client()?;
    ask(&client, &Reorganise { depth: 6 }).await?;
    let newest = ask(&client, &BlockAt(BlockTag::Latest)).await?;
    let finalized = ask(&client, &BlockAt(BlockTag::Finalized)).await?;
    let known = ask(&client, &BlockAt(BlockTag::Number(ahead.number))).await?;
    let blocks = (newest, finalized, known);
    let (Some(newest), Some(finalized), Some(known)) = blocks else {
        return Err(format!("{blocks:?}"));
    };
    let followed = view.follow(newest, finalized, &known, GRACE_MS);
    ensure!(followed == Err(Unusable::Forked), "{followed:?}");
    Ok("what both have; behind; then nothing, from either; finalized blocks replaced".to_owned())
}
