//! The same through the client that answers the engine: what it asks, and what it sends.

use cambist_client::EvmPools;
use cambist_core::pool::PoolBalances;
use cambist_core::request::{OrderList, OrdersPage, Outcome, Query, Reply};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{Amount, Hash, Intent, MarketId, TokenId, shares};
use cambist_evm_venue::account::{Account, Wanted};
use cambist_evm_venue::rules;

use crate::adapter::{FEE_CAP, GRACE_MS, KEPT, SLIPPAGE_BPS, What};
use crate::contracts::{BLOCK_S, COIN, FIRST, ONE, SECOND, SHARES, World};
use crate::{Step, ensure};

/// Every request of the engine, answered.
pub async fn requests(world: &mut World<'_>) -> Step<String> {
    let chain = world.adapter.chain.clone();
    let (markets, first) = (
        vec![world.adapter.market.clone()],
        world.adapter.next_nonce(),
    );
    let account = Account::new(chain, markets, GRACE_MS, FEE_CAP, first);
    let client = EvmPools::new(world.process.nodes()?, account);
    let id = world.adapter.market.id;

    listings(&client).await?;
    let balances = world.adapter.pool(&world.node).await?;
    public_data(&client, id, &balances).await?;
    let held = held_by_account(&client).await?;
    ensure!(
        held == held_by_books(world),
        "{held:?}, {:?}",
        world.adapter.totals
    );
    let remark = join(world, &client, &balances, &held).await?;
    // The row of the other steps goes on behind these numbers.
    let account = client.account().lock().await;
    let gas: Amount = account.charges().map(|charge| charge.amount).sum();
    let numbers = account.charges().map(|charge| charge.number);
    ensure!(
        gas > 0 && numbers.eq(first..account.settled_below()),
        "a nonce without its gas: {account:?}"
    );
    world.adapter.settled_below = account.next_nonce();
    world.adapter.look(&world.node, &world.nodes).await?;
    world.adapter.open(&world.node).await?;
    Ok(format!("{remark}, gas {gas}"))
}

/// What is answered from the configuration and the contracts.
async fn listings(client: &EvmPools) -> Step {
    let Reply::Tokens(tokens) = reply(client, &Query::Tokens).await? else {
        return Err("no tokens".to_owned());
    };
    ensure!(
        tokens.len() == 3 && tokens.iter().all(|token| token.decimals == 18),
        "{tokens:?}"
    );
    let Reply::Markets { listed } = reply(client, &Query::Markets).await? else {
        return Err("no markets".to_owned());
    };
    ensure!(listed.len() == 1 && listed[0].enabled, "{listed:?}");
    ensure!(
        reply(client, &Query::Account).await? == Reply::Account { frozen: false },
        "frozen"
    );
    ensure!(
        matches!(reply(client, &Query::Pools).await?, Reply::Pools(pools) if pools.len() == 1),
        "no pool"
    );
    Ok(())
}

/// What the newest block holds.
async fn public_data(client: &EvmPools, id: MarketId, balances: &PoolBalances) -> Step {
    let answered = reply(client, &Query::PoolBalance(id)).await?;
    ensure!(
        answered == Reply::PoolBalance(*balances),
        "{answered:?}, {balances:?}"
    );
    let Reply::Depth(depth) = reply(client, &Query::Depth(id)).await? else {
        return Err("no depth".to_owned());
    };
    let (Some(bid), Some(ask)) = (depth.bids.first(), depth.asks.first()) else {
        return Err(format!("{depth:?}"));
    };
    ensure!(bid.price < ask.price, "{depth:?}");
    Ok(())
}

/// A join with its approvals, and everything that a scan reads of it.
async fn join(
    world: &mut World<'_>,
    client: &EvmPools,
    balances: &PoolBalances,
    held: &SortedMap<TokenId, Amount>,
) -> Step<String> {
    let wanted = 20 * ONE;
    let limits = shares::join(balances, wanted, SLIPPAGE_BPS).ok_or("no limits")?;
    for (token, amount) in [(FIRST, limits.amounts[0]), (SECOND, limits.amounts[1])] {
        for approval in world.adapter.approvals(&world.node, token, amount).await? {
            let What::Approval(token, amount) = approval else {
                return Err("no approval".to_owned());
            };
            submit(world, client, Wanted::Approval { token, amount }).await?;
        }
    }
    let nonce = client.account().lock().await.next_nonce();
    world.adapter.look(&world.node, &world.nodes).await?;
    let What::Pool(intent) = world.adapter.join(balances, wanted, nonce)? else {
        return Err("no join".to_owned());
    };
    let wanted = Wanted::Intent(Intent::PoolTransaction(intent.clone()));
    let hash = submit(world, client, wanted).await?;
    let gone = refused(client, &Query::Order(hash)).await?;
    ensure!(gone == Outcome::Refused(rules::NOT_FOUND), "{gone:?}");
    // A window up to now is proven once finality has caught up with its beginning.
    let window = OrdersPage {
        list: OrderList::All,
        from: intent.made_at,
        to: intent.made_at.plus_ms(GRACE_MS + BLOCK_S * 1_000),
        offset: 0,
        limit: 50,
    };
    let early = refused(client, &Query::PoolTransactions(window)).await?;
    ensure!(matches!(early, Outcome::Unknown(_)), "{early:?}");
    let mut scans = 0;
    let moves = loop {
        scans += 1;
        ensure!(scans < 10, "the window is never proven");
        world.mine().await?;
        let answered = client.query(&Query::PoolTransactions(window)).await;
        match answered.outcome {
            Outcome::Reply(Reply::PoolTransactions { moves, total }) => {
                ensure!(
                    usize::try_from(total) == Ok(moves.len()),
                    "{total} of {moves:?}"
                );
                break moves;
            }
            Outcome::Unknown(_) => {}
            other => return Err(format!("{other:?}")),
        }
    };
    let [report] = moves.as_slice() else {
        return Err(format!("{moves:?}"));
    };
    ensure!(
        report.hash == hash && intent.allows(&report.amounts),
        "{report:?}"
    );
    let after = held_by_account(client).await?;
    for (at, token) in [FIRST, SECOND].into_iter().enumerate() {
        let paid = report.amounts.pooled[at];
        ensure!(
            held[&token] - after[&token] == paid,
            "{report:?}, {after:?}"
        );
    }
    ensure!(
        after[&SHARES] - held[&SHARES] == report.amounts.lp,
        "{report:?}, {after:?}"
    );
    let again = client
        .submit(&bytes_of(client, hash, &intent, world).await?)
        .await
        .outcome;
    ensure!(again == Outcome::Refused(rules::SPENT), "{again:?}");
    Ok(format!("proven at the {scans}. block"))
}

async fn reply(client: &EvmPools, query: &Query) -> Step<Reply> {
    let answered = client.query(query).await;
    match answered.outcome {
        Outcome::Reply(reply) if answered.venue_time.is_some() || is_static(query) => Ok(reply),
        other => Err(format!("{query:?}: {other:?}, {:?}", answered.detail)),
    }
}

/// What is answered from the configuration bears no time before a block was seen.
const fn is_static(query: &Query) -> bool {
    matches!(
        query,
        Query::Tokens | Query::Markets | Query::Pools | Query::Account
    )
}

async fn refused(client: &EvmPools, query: &Query) -> Step<Outcome> {
    match client.query(query).await.outcome {
        Outcome::Reply(reply) => Err(format!("{query:?}: {reply:?}")),
        other => Ok(other),
    }
}

async fn held_by_account(client: &EvmPools) -> Step<SortedMap<TokenId, Amount>> {
    let Reply::ChargedBalances(held) = reply(client, &Query::Balances).await? else {
        return Err("no balances".to_owned());
    };
    Ok(held
        .balances
        .iter()
        .map(|of| (of.token, of.total))
        .collect())
}

fn held_by_books(world: &World<'_>) -> SortedMap<TokenId, Amount> {
    let tokens = [COIN, FIRST, SECOND, SHARES].into_iter();
    let of = |token| {
        let total = world.adapter.totals.get(&token).copied().unwrap_or(0);
        (token, Amount::try_from(total).unwrap_or(0))
    };
    tokens.map(of).collect()
}

/// Seals and sends as the engine's shell does.
async fn submit(world: &World<'_>, client: &EvmPools, wanted: Wanted) -> Step<Hash> {
    let mut account = client.account().lock().await;
    let nonce = account.next_nonce();
    let fees = world.adapter.fees(nonce)?;
    let sealed = account.seal(wanted, nonce, fees, &world.adapter.key);
    let sealed = sealed.map_err(|error| error.to_string())?;
    drop(account);
    let outcome = client.submit(&sealed.bytes).await.outcome;
    ensure!(outcome == KEPT, "{outcome:?}");
    Ok(sealed.hash)
}

/// The stored bytes of an intent, made again: signing is deterministic.
async fn bytes_of(
    client: &EvmPools,
    hash: Hash,
    intent: &cambist_core::pool::UnsignedPoolTransaction,
    world: &World<'_>,
) -> Step<Vec<u8>> {
    let account = client.account().lock().await;
    let nonce = u64::from(intent.storage_ids[0]);
    let fees = account.signed_for(nonce)[0].fees;
    let what = What::Pool(intent.clone());
    let sealed = world.adapter.bytes(&what, nonce, fees)?;
    ensure!(sealed.hash == hash, "other bytes");
    Ok(sealed.bytes)
}
