//! The published contracts on an empty chain: factory, router, wrapped coin and a token, a pool of both, and what the
//! accounts hold of them. All of it by transactions of this program.

use anyhow::Context;
use cambist_client::Node;
use cambist_evm::abi::{Value, encode, one_address};
use cambist_evm::block::BlockTag;
use cambist_evm::call::Call;
use cambist_evm::rpc::CodeAt;
use cambist_evm::{Address, Hash32, U256};

use super::actor::{Actor, executed};
use super::node::{Give, Logs, Mine, MineEvery, ask, check, returned};
use super::packages::{Contract, Packages};

/// One whole token: all have 18 decimals here.
pub const ONE: u128 = 1_000_000_000_000_000_000;
/// Price of a whole coin in whole tokens at the beginning.
pub const PRICE: u128 = 2_500;
/// Whole coins in the pool at the beginning.
pub const POOLED: u128 = 1_000;
/// Whole coins that the daemon's account has of the wrapped one, and as many tokens as they are worth.
pub const HELD: u128 = 20;
/// Whole coins of every account, for gas.
const COIN: u128 = 10;
/// Whole coins that the trader has, and as many tokens as they are worth.
const TRADED: u128 = 5_000;

/// What is on the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deployed {
    /// The factory of pairs.
    pub factory: Address,
    /// The router.
    pub router: Address,
    /// The wrapped coin.
    pub weth: Address,
    /// The token.
    pub token: Address,
    /// Their pool.
    pub pair: Address,
}

/// Deploys everything, and gives the daemon's account and the trader what they need. The node makes a block a second
/// afterwards.
///
/// # Errors
/// The node or the packages are not what they should be.
pub async fn deploy(
    node: &Node,
    packages: &Packages,
    daemon: Address,
    trader: &mut Actor,
) -> anyhow::Result<Deployed> {
    check(node).await?;
    ask(node, &Logs { is_on: false }).await?;
    let mut provider = Actor::new()?;
    let all = [
        (provider.address(), COIN + POOLED + HELD + TRADED),
        (trader.address(), COIN),
        (daemon, COIN),
    ];
    for (account, coin) in all {
        let amount = U256::from(coin * ONE);
        ask(node, &Give { account, amount }).await?;
    }
    let owner = Value::Address(provider.address());
    let supply = Value::Number(U256::from(PRICE * (POOLED + HELD + TRADED) * ONE));
    let mut site = Site {
        node,
        packages,
        provider: &mut provider,
    };
    let factory = site.create(Contract::Factory, &[owner]).await?;
    let weth = site.create(Contract::Weth, &[]).await?;
    let of_router = [Value::Address(factory), Value::Address(weth)];
    let router = site.create(Contract::Router, &of_router).await?;
    let token = site.create(Contract::Token, &[supply]).await?;
    site.wrap(weth, (POOLED + HELD + TRADED) * ONE).await?;
    for (contract, price) in [(weth, 1), (token, PRICE)] {
        for (to, amount) in [(daemon, HELD), (trader.address(), TRADED)] {
            let amount = U256::from(amount * price * ONE);
            site.call(contract, &Call::Transfer { to, amount }).await?;
        }
        let everything = Call::Approve {
            spender: router,
            amount: U256::MAX,
        };
        site.call(contract, &everything).await?;
        let hash = trader.call(node, contract, &everything).await?;
        site.finish(hash, "an approval of the trader").await?;
    }
    let (token_a, token_b) = (weth, token);
    let join = Call::AddLiquidity {
        token_a,
        token_b,
        a_max: U256::from(POOLED * ONE),
        b_max: U256::from(POOLED * PRICE * ONE),
        a_min: U256::ZERO,
        b_min: U256::ZERO,
        to: site.provider.address(),
        deadline: U256::MAX,
    };
    site.call(router, &join).await?;
    let get_pair = Call::GetPair { token_a, token_b };
    let pair = returned(node, factory, &get_pair, BlockTag::Latest).await?;
    let deployed = Deployed {
        factory,
        router,
        weth,
        token,
        pair: one_address(&pair)?,
    };
    // Everything is final before the daemon starts.
    for _ in 0..3 {
        ask(node, &Mine {}).await?;
    }
    ask(node, &MineEvery { seconds: 1 }).await?;
    Ok(deployed)
}

/// Where the provider of liquidity deploys.
struct Site<'a> {
    node: &'a Node,
    packages: &'a Packages,
    provider: &'a mut Actor,
}

impl Site<'_> {
    /// Makes a block, and checks that it executed the transaction.
    async fn finish(&self, hash: Hash32, what: &str) -> anyhow::Result<Option<Address>> {
        ask(self.node, &Mine {}).await?;
        Ok(executed(self.node, hash, what).await?.created)
    }

    async fn create(&mut self, contract: Contract, arguments: &[Value]) -> anyhow::Result<Address> {
        let mut code = self.packages.code(contract)?;
        // Behind the code are the arguments, without the selector of a call.
        code.extend(&encode("", arguments)[4..]);
        let sent = self
            .provider
            .send(self.node, None, U256::ZERO, code)
            .await?;
        let what = format!("the contract {contract:?}");
        let created = self.finish(sent, &what).await?;
        let created = created.with_context(|| format!("{what} has no address"))?;
        let at = BlockTag::Latest;
        let there = CodeAt {
            contract: created,
            at,
        };
        let code = ask(self.node, &there).await?;
        anyhow::ensure!(!code.is_empty(), "{what} has no code");
        Ok(created)
    }

    async fn call(&mut self, to: Address, call: &Call) -> anyhow::Result<()> {
        let sent = self.provider.call(self.node, to, call).await?;
        self.finish(sent, call.signature()).await.map(drop)
    }

    /// Wraps base units of the coin.
    async fn wrap(&mut self, weth: Address, amount: u128) -> anyhow::Result<()> {
        let deposit = encode("deposit()", &[]);
        let value = U256::from(amount);
        let sent = self.provider.send(self.node, Some(weth), value, deposit);
        let sent = sent.await?;
        self.finish(sent, "deposit()").await.map(drop)
    }
}
