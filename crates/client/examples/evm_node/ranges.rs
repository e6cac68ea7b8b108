//! A range of a V3 pool with the published contracts: joins, trades through its ends, exits. Every amount is that of the
//! mathematics of `crates/evm`, to the unit, and every receipt is settled as the adapter does.

use cambist_core::order::ClientOrderId;
use cambist_core::pool::{PoolTransactionReport, UnsignedPoolTransaction};
use cambist_core::{Amount, MarketId, PoolTransactionKind, StrategyId, VenueTime, shares};
use cambist_evm::abi::{Value, encode, one_address, one_number, signed};
use cambist_evm::block::BlockTag;
use cambist_evm::call::Call;
use cambist_evm::rpc::{BlockAt, CallAt, NonceAt, ReceiptOf, SendRaw};
use cambist_evm::v3;
use cambist_evm::v3::liquidity::{Range, Rounding};
use cambist_evm::v3::tick::Tick;
use cambist_evm::{Address, EthKey, U256};
use cambist_evm_venue::chain::{Chain, GasLimits};
use cambist_evm_venue::fees::Fees;
use cambist_evm_venue::range::{Held, PoolRange};

use crate::contracts::{BLOCK_S, FIRST, ONE, SECOND, SHARES, World};
use crate::node::ask;
use crate::{Step, ensure};

/// A third published account of the node.
const KEY: &str = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a";
/// In millionths, with a tick spacing of 60.
const FEE: u64 = 3_000;
/// Near the price 2,500.
const TICK: i32 = 78_240;
const RANGE: [i32; 2] = [77_280, 79_260];
const SLIPPAGE_BPS: u32 = 100;
const FEES: Fees = Fees {
    priority_max: 1_000_000_000,
    max: 100_000_000_000,
};

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The account with its range, and who trades against it.
struct Pool {
    chain: Chain,
    key: EthKey,
    swap_router: Address,
}

fn tick(number: i32) -> Step<Tick> {
    Tick::new(number).map_err(text)
}

fn number(address: Address) -> Value {
    Value::Number(U256::from_be_slice(&address.0))
}

/// Deploys everything, and gives the account tokens.
async fn deploy(world: &mut World<'_>) -> Step<Pool> {
    let core = "@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json";
    let periphery =
        |name: &str| format!("@uniswap/v3-periphery/artifacts/contracts/{name}.sol/{name}.json");
    let weth = world
        .create("canonical-weth/build/contracts/WETH9.json", &[])
        .await?;
    let factory = world.create(core, &[]).await?;
    let of_both = [Value::Address(factory), Value::Address(weth)];
    let swap_router = world.create(&periphery("SwapRouter"), &of_both).await?;
    let of_manager = [
        Value::Address(factory),
        Value::Address(weth),
        Value::Address(weth),
    ];
    let manager = world
        .create(&periphery("NonfungiblePositionManager"), &of_manager)
        .await?;
    let tokens = [FIRST, SECOND].map(|token| world.adapter.chain.tokens[&token]);
    let made = encode(
        "createPool(address,address,uint24)",
        &[
            Value::Address(tokens[0]),
            Value::Address(tokens[1]),
            Value::Number(U256::from(FEE)),
        ],
    );
    ensure!(
        world.other_sends(Some(factory), made).await?.succeeded,
        "no pool was created"
    );
    let get_pool = v3::call::Call::GetPool {
        token_a: tokens[0],
        token_b: tokens[1],
        fee: U256::from(FEE),
    };
    let found = CallAt::view_of(factory, get_pool.encode(), BlockTag::Latest);
    let pool = one_address(&ask(&world.node, &found).await?).map_err(text)?;
    let initialized = encode(
        "initialize(uint160)",
        &[Value::Number(tick(TICK)?.sqrt_price() + U256::from(12_345))],
    );
    ensure!(
        world.other_sends(Some(pool), initialized).await?.succeeded,
        "the pool has no price"
    );
    let key = EthKey::from_hex(KEY).map_err(text)?;
    for token in tokens {
        let to_us = Call::Transfer {
            to: key.address(),
            amount: U256::from(1_000_000 * ONE),
        };
        world.other_calls(token, &to_us).await?;
        for spender in [manager, swap_router] {
            let amount = U256::MAX;
            world
                .other_calls(token, &Call::Approve { spender, amount })
                .await?;
        }
    }
    let range = Range::new(tick(RANGE[0])?, tick(RANGE[1])?).map_err(text)?;
    let mut of = crate::contracts::pool(pool);
    (of.in_range, of.swaps) = (true, false);
    let chain = Chain {
        account: key.address(),
        router: manager,
        pools: vec![of],
        ranges: [(
            MarketId(0),
            PoolRange {
                fee: 3_000,
                spacing: 60,
                range,
                held: Held::Nothing,
            },
        )]
        .into(),
        gas: GasLimits {
            join: 900_000,
            exit: 600_000,
            ..world.adapter.chain.gas
        },
        ..world.adapter.chain.clone()
    };
    chain.check().map_err(text)?;
    Ok(Pool {
        chain,
        key,
        swap_router,
    })
}

impl Pool {
    fn range(&self) -> PoolRange {
        self.chain.ranges[&MarketId(0)]
    }

    async fn price(&self, world: &World<'_>) -> Step<v3::call::Price> {
        let pool = Address(self.chain.pools[0].address);
        let call = CallAt::view_of(pool, v3::call::Call::Slot0 {}.encode(), BlockTag::Latest);
        v3::call::price(&ask(&world.node, &call).await?).map_err(text)
    }

    /// Our position as the contract states it.
    async fn position(&self, world: &World<'_>) -> Step<v3::call::Position> {
        let Held::Position(position) = self.range().held else {
            return Err("there is no position".to_owned());
        };
        let data = v3::call::Call::Positions { position }.encode();
        let call = CallAt::view_of(self.chain.router, data, BlockTag::Latest);
        v3::call::position(&ask(&world.node, &call).await?).map_err(text)
    }

    /// What is owed to our position, as the contract states it without a transaction.
    async fn owed(&self, world: &World<'_>) -> Step<[Amount; 2]> {
        let Held::Position(position) = self.range().held else {
            return Err("there is no position".to_owned());
        };
        let collect = v3::call::Call::collect_all(position, self.chain.account);
        let mut call = CallAt::view_of(self.chain.router, collect.encode(), BlockTag::Latest);
        call.message.from = Some(self.chain.account);
        v3::call::collected(&ask(&world.node, &call).await?).map_err(text)
    }

    async fn tokens(&self, world: &World<'_>) -> Step<[Amount; 2]> {
        let mut held = [0; 2];
        for (held, token) in held.iter_mut().zip([FIRST, SECOND]) {
            let owner = self.chain.account;
            let call = Call::BalanceOf { owner };
            let returned = world.returned(self.chain.tokens[&token], &call).await?;
            *held =
                cambist_evm::call::amount(one_number(&returned).map_err(text)?).map_err(text)?;
        }
        Ok(held)
    }

    async fn sends(
        &self,
        world: &mut World<'_>,
        make: impl FnOnce(u64) -> Step<cambist_evm::transaction::Transaction>,
    ) -> Step<cambist_evm::receipt::Receipt> {
        let account = self.chain.account;
        let at = BlockTag::Latest;
        let nonce = ask(&world.node, &NonceAt { account, at }).await?;
        let sealed = self.chain.seal(&make(nonce)?, &self.key).map_err(text)?;
        let hash = ask(&world.node, &SendRaw(sealed.bytes)).await?;
        world.mine().await?;
        let receipt = ask(&world.node, &ReceiptOf(hash)).await?;
        receipt.ok_or_else(|| "a transaction was not mined".to_owned())
    }

    /// A join or an exit as the engine decides it and the adapter settles it; with the limits that it signed.
    async fn transacts(
        &mut self,
        world: &mut World<'_>,
        kind: PoolTransactionKind,
        liquidity: Amount,
    ) -> Step<(UnsignedPoolTransaction, PoolTransactionReport)> {
        let price = self.price(world).await?;
        let balances = self.range().balances(price.sqrt).map_err(text)?;
        let limits = match kind {
            PoolTransactionKind::Join => shares::join(&balances, liquidity, SLIPPAGE_BPS),
            PoolTransactionKind::Exit => shares::exit(&balances, liquidity, SLIPPAGE_BPS),
        };
        let mut limits = limits.ok_or("no limits")?;
        // What is owed is collected by an exit of one of liquidity.
        if kind == PoolTransactionKind::Exit && liquidity == 1 {
            limits.amounts = [0, 0];
        }
        if kind == PoolTransactionKind::Join {
            for (token, amount) in [FIRST, SECOND].into_iter().zip(limits.amounts) {
                let made = |nonce| {
                    self.chain
                        .approval(token, amount, nonce, FEES)
                        .map_err(text)
                };
                let receipt = self.sends(world, made).await?;
                ensure!(receipt.succeeded, "an approval was reverted");
            }
        }
        let wanted = UnsignedPoolTransaction {
            client_id: ClientOrderId {
                instance: 1,
                strategy: StrategyId(0),
                number: 1,
            },
            market: MarketId(0),
            kind,
            pooled: [FIRST, SECOND],
            amounts: limits.amounts,
            lp: SHARES,
            lp_amount: limits.lp,
            storage_ids: vec![0],
            fee_max: 0,
            valid_until_s: u32::try_from(world.now_s + 5 * BLOCK_S).map_err(text)?,
            made_at: VenueTime::from_s(world.now_s),
        };
        let receipt = self
            .sends(world, |nonce| {
                let made = self.chain.pool_transaction(&wanted, FEES).map_err(text)?;
                Ok(cambist_evm::transaction::Transaction { nonce, ..made })
            })
            .await?;
        ensure!(receipt.succeeded, "a {} was reverted", kind.name());
        let block = BlockAt(BlockTag::Number(receipt.block_number));
        let block = ask(&world.node, &block).await?.ok_or("no block")?;
        let settled = self
            .chain
            .settle_pool_transaction(&wanted, &receipt, &block)
            .map_err(text)?;
        let report = settled.report;
        ensure!(
            wanted.allows(&report.amounts),
            "{:?} is beyond the limits {wanted:?}",
            report.amounts
        );
        if kind == PoolTransactionKind::Join {
            let increased = receipt
                .logs
                .iter()
                .find_map(|log| match v3::log::Event::read(log) {
                    Ok(Some(v3::log::Event::Increased { position, .. })) => Some(position),
                    _ => None,
                });
            let held = Held::Position(increased.ok_or("no position")?);
            if let Some(range) = self.chain.ranges.get_mut(&MarketId(0)) {
                range.held = held;
            }
        }
        Ok((wanted, report))
    }

    /// A join whose cost and liquidity are those of the mathematics.
    async fn joins(&mut self, world: &mut World<'_>, liquidity: Amount) -> Step<Amount> {
        let price = self.price(world).await?;
        let before = self.tokens(world).await?;
        let (wanted, report) = self
            .transacts(world, PoolTransactionKind::Join, liquidity)
            .await?;
        let range = self.range().range;
        let most = wanted.amounts.map(U256::from);
        let minted = range.liquidity(price.sqrt, most).map_err(text)?;
        let cost = range
            .amounts(price.sqrt, minted, Rounding::Up)
            .map_err(text)?;
        ensure!(
            (minted, cost) == (report.amounts.lp, report.amounts.pooled.map(U256::from)),
            "computed {minted} for {cost:?}, and was {:?}",
            report.amounts
        );
        let after = self.tokens(world).await?;
        for at in 0..2 {
            ensure!(
                before[at] - after[at] == report.amounts.pooled[at],
                "paid otherwise than reported"
            );
        }
        Ok(minted)
    }

    /// An exit whose amounts are those of the mathematics, and the fees that were collected with it.
    async fn leaves(&mut self, world: &mut World<'_>, liquidity: Amount) -> Step<[Amount; 2]> {
        let price = self.price(world).await?;
        let before = self.tokens(world).await?;
        let (_, report) = self
            .transacts(world, PoolTransactionKind::Exit, liquidity)
            .await?;
        let range = self.range().range;
        let due = range
            .amounts(price.sqrt, liquidity, Rounding::Down)
            .map_err(text)?;
        let after = self.tokens(world).await?;
        let mut fees = [0; 2];
        for at in 0..2 {
            let got = after[at] - before[at];
            ensure!(
                got == report.amounts.pooled[at],
                "received otherwise than reported"
            );
            let due = cambist_evm::call::amount(due[at]).map_err(text)?;
            fees[at] = got
                .checked_sub(due)
                .ok_or_else(|| format!("{got} received of {due} due"))?;
        }
        ensure!(
            report.amounts.lp == liquidity,
            "another liquidity was taken"
        );
        Ok(fees)
    }

    /// Others sell until the price is at a tick.
    async fn trade_to(&self, world: &mut World<'_>, to: i32) -> Step {
        let rises = tick(to)?.sqrt_price() > self.price(world).await?.sqrt;
        let [token0, token1] = [FIRST, SECOND].map(|token| self.chain.tokens[&token]);
        let path = if rises {
            [token1, token0]
        } else {
            [token0, token1]
        };
        let arguments = [
            number(path[0]),
            number(path[1]),
            Value::Number(U256::from(FEE)),
            number(world.other.key.address()),
            Value::Number(U256::MAX),
            Value::Number(U256::from(100_000_000 * ONE)),
            Value::Number(U256::ZERO),
            Value::Number(tick(to)?.sqrt_price()),
        ];
        let swap = encode(
            "exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))",
            &arguments,
        );
        let receipt = world.other_sends(Some(self.swap_router), swap).await?;
        ensure!(receipt.succeeded, "a trade was reverted");
        let reached = self.price(world).await?.sqrt;
        ensure!(
            reached == tick(to)?.sqrt_price(),
            "the root of the price at tick {to} is {reached} on the chain"
        );
        Ok(())
    }
}

/// Others provide liquidity in a wide range, so that the pool has a price beyond ours.
async fn others_provide(pool: &Pool, world: &mut World<'_>) -> Step {
    let most = U256::from(50_000_000 * ONE);
    let mint = v3::call::Call::Mint {
        token0: pool.chain.tokens[&FIRST],
        token1: pool.chain.tokens[&SECOND],
        fee: U256::from(FEE),
        lower: tick(60_000)?,
        upper: tick(96_000)?,
        most0: U256::from(20_000 * ONE),
        most1: most,
        least0: U256::ZERO,
        least1: U256::ZERO,
        recipient: world.other.key.address(),
        deadline: U256::MAX,
    };
    let receipt = world
        .other_sends(Some(pool.chain.router), mint.encode())
        .await?;
    ensure!(receipt.succeeded, "others could not provide liquidity");
    Ok(())
}

/// Mint, increase, trades through both ends of the range, fees collected, exits inside and outside of it.
pub async fn ranges(world: &mut World<'_>) -> Step<String> {
    ensure!(
        encode("", &[Value::Number(signed(-1))])[4..] == [0xff; 32],
        "two's complement"
    );
    let mut pool = deploy(world).await?;
    others_provide(&pool, world).await?;
    // Two joins inside of the range, at prices of their own.
    let first = pool.joins(world, 3_000 * ONE).await?;
    pool.trade_to(world, TICK + 301).await?;
    let second = pool.joins(world, 777 * ONE + 12_345).await?;
    let stated = pool.position(world).await?.liquidity;
    ensure!(stated == first + second, "{stated} of liquidity");
    // Through the upper end and back through the lower one: fees of both tokens.
    for to in [RANGE[1] + 500, RANGE[0] - 500, TICK - 7] {
        pool.trade_to(world, to).await?;
    }
    // They are collected by an exit of one of liquidity, as a call that is not sent has stated.
    let owed = pool.owed(world).await?;
    let fees = pool.leaves(world, 1).await?;
    ensure!(
        fees == owed && fees[0] > 0 && fees[1] > 0,
        "{owed:?} were owed, and {fees:?} were paid out"
    );
    ensure!(pool.owed(world).await? == [0, 0], "fees are owed still");
    // Nothing has traded since: parts of the rest have no fees but what is rounded.
    for liquidity in [first, second / 3] {
        let again = pool.leaves(world, liquidity).await?;
        ensure!(again == [0, 0], "fees without a trade: {again:?}");
    }
    // Outside: one token alone.
    let mut one_sided = Vec::new();
    for (to, moves) in [(RANGE[0] - 300, 0), (RANGE[1] + 300, 1)] {
        pool.trade_to(world, to).await?;
        let before = pool.tokens(world).await?;
        let minted = pool.joins(world, 500 * ONE).await?;
        let joined = pool.tokens(world).await?;
        ensure!(
            joined[1 - moves] == before[1 - moves] && joined[moves] < before[moves],
            "a join at tick {to} moved both tokens"
        );
        one_sided.push(minted);
    }
    let rest = pool.position(world).await?;
    pool.leaves(world, rest.liquidity).await?;
    let left = pool.position(world).await?;
    ensure!(
        left.liquidity == 0 && left.owed == [0, 0],
        "{left:?} is left of the position"
    );
    // Into the empty position again.
    let reused = pool.joins(world, 10 * ONE).await?;
    let stated = pool.position(world).await?.liquidity;
    ensure!(stated == reused, "another position was made");
    Ok(format!(
        "liquidity {first}, {second}, outside {one_sided:?}; fees {fees:?}"
    ))
}
