//! The published contracts, deployed by transactions of this program: two tokens, factory, router, and a first deposit
//! into their pair. Those of V3 are in `ranges`.

use std::path::Path;

use cambist_client::{Node, Nodes};
use cambist_core::sorted_map::SortedMap;
use cambist_core::{MarketId, MarketSpec, PoolSpec, TokenId, TokenSpec};
use cambist_evm::abi::{Value, encode, one_address};
use cambist_evm::block::BlockTag;
use cambist_evm::call::Call;
use cambist_evm::receipt::Receipt;
use cambist_evm::rpc::{CallAt, CodeAt, Message, ReceiptOf, SendRaw};
use cambist_evm::transaction::Transaction;
use cambist_evm::{Address, EthKey, U256};
use cambist_evm_venue::chain::{Chain, GasLimits};

use crate::adapter::Adapter;
use crate::node::{CHAIN_ID, GENESIS_S, Mine, Place, Process, ask};
use crate::{Step, ensure};

/// Keys of the node's published accounts: they hold coin on this chain only.
pub const OWN_KEY: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const OTHER_KEY: &str = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

/// One whole token.
pub const ONE: u128 = 1_000_000_000_000_000_000;
/// Seconds between blocks.
pub const BLOCK_S: u64 = 12;

pub const FIRST: TokenId = TokenId(1);
pub const SECOND: TokenId = TokenId(2);
pub const SHARES: TokenId = TokenId(3);
pub const COIN: TokenId = TokenId(0);

/// A node with the contracts, our adapter, and another account.
pub struct World<'a> {
    pub place: &'a Place<'a>,
    pub process: Process,
    pub node: Node,
    pub nodes: Nodes,
    pub now_s: u64,
    pub other: Other,
    pub factory: Address,
    pub modules: &'a Path,
    pub adapter: Adapter,
}

/// The account that deploys and trades against us.
pub struct Other {
    pub key: EthKey,
    nonce: u64,
}

fn bytecode(modules: &Path, file: &str) -> Step<Vec<u8>> {
    let path = modules.join(file);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
    let json: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
    let code = json["bytecode"].as_str().unwrap_or_default();
    let digits = code.strip_prefix("0x").unwrap_or(code);
    let code =
        cambist_evm::wire::data(&format!("0x{digits}")).map_err(|error| error.to_string())?;
    ensure!(!code.is_empty(), "{file}: no code");
    Ok(code)
}

/// Code that creates, with the constructor's arguments behind it.
fn creation(modules: &Path, file: &str, arguments: &[Value]) -> Step<Vec<u8>> {
    let mut code = bytecode(modules, file)?;
    code.extend(&encode("", arguments)[4..]);
    Ok(code)
}

impl Other {
    fn address(&self) -> Address {
        self.key.address()
    }

    fn sign(&mut self, to: Option<Address>, data: Vec<u8>) -> Step<Vec<u8>> {
        let transaction = Transaction {
            chain_id: CHAIN_ID,
            nonce: self.nonce,
            priority_fee_max: 1_000_000_000,
            fee_max: 100_000_000_000,
            gas_limit: 8_000_000,
            to,
            value: U256::ZERO,
            data,
        };
        self.nonce += 1;
        let signed = transaction.sign(&self.key);
        Ok(signed.map_err(|error| error.to_string())?.bytes())
    }
}

impl World<'_> {
    /// Makes a block.
    pub async fn mine(&mut self) -> Step {
        self.now_s += BLOCK_S;
        ask(&self.node, &Mine { at_s: self.now_s }).await
    }

    /// Makes as many blocks as it takes for the newest one to be finalized, and follows each.
    pub async fn finalize(&mut self) -> Step {
        for _ in 0..3 {
            self.mine().await?;
            self.adapter.look(&self.node, &self.nodes).await?;
        }
        Ok(())
    }

    /// Another account calls a contract, in a block of its own.
    pub async fn other_calls(&mut self, to: Address, call: &Call) -> Step<Receipt> {
        let receipt = self.other_sends(Some(to), call.encode()).await?;
        ensure!(receipt.succeeded, "{} was reverted", call.signature());
        Ok(receipt)
    }

    /// Another account sends data to a contract, in a block of its own.
    pub async fn other_sends(&mut self, to: Option<Address>, data: Vec<u8>) -> Step<Receipt> {
        let bytes = self.other.sign(to, data)?;
        let hash = ask(&self.node, &SendRaw(bytes)).await?;
        self.mine().await?;
        let receipt = ask(&self.node, &ReceiptOf(hash)).await?;
        receipt.ok_or_else(|| "a transaction of another account was not mined".to_owned())
    }

    /// Another account creates a contract.
    pub async fn create(&mut self, file: &str, arguments: &[Value]) -> Step<Address> {
        let code = creation(self.modules, file, arguments)?;
        let receipt = self.other_sends(None, code).await?;
        let created = receipt.created.filter(|_| receipt.succeeded);
        let created = created.ok_or_else(|| format!("{file} was not created"))?;
        let at = BlockTag::Latest;
        let there = CodeAt {
            contract: created,
            at,
        };
        let code = ask(&self.node, &there).await?;
        ensure!(!code.is_empty(), "{file} has no code");
        Ok(created)
    }

    /// Another account's tokens go to us, and the router may take the rest of them.
    pub async fn fund(&mut self, token: Address, amount: u128) -> Step {
        let to_us = Call::Transfer {
            to: self.adapter.chain.account,
            amount: U256::from(amount),
        };
        self.other_calls(token, &to_us).await?;
        let approve = Call::Approve {
            spender: self.adapter.chain.router,
            amount: U256::MAX,
        };
        self.other_calls(token, &approve).await?;
        Ok(())
    }

    /// Another account joins the pair, and makes it if there is none. Its address.
    pub async fn first_deposit(
        &mut self,
        tokens: [Address; 2],
        amounts: [u128; 2],
    ) -> Step<Address> {
        let [token_a, token_b] = tokens;
        let join = Call::AddLiquidity {
            token_a,
            token_b,
            a_max: U256::from(amounts[0]),
            b_max: U256::from(amounts[1]),
            a_min: U256::ZERO,
            b_min: U256::ZERO,
            to: self.other.address(),
            deadline: U256::MAX,
        };
        self.other_calls(self.adapter.chain.router, &join).await?;
        let get_pair = Call::GetPair { token_a, token_b };
        let returned = self.returned(self.factory, &get_pair).await?;
        one_address(&returned).map_err(|error| error.to_string())
    }

    /// What a call returns in the newest block.
    pub async fn returned(&self, to: Address, call: &Call) -> Step<Vec<u8>> {
        let message = Message {
            from: None,
            to: Some(to),
            value: U256::ZERO,
            data: call.encode(),
        };
        let at = BlockTag::Latest;
        ask(&self.node, &CallAt { message, at }).await
    }

    /// What was deployed.
    pub fn summary(&self) -> String {
        let chain = &self.adapter.chain;
        format!(
            "router {}, pair {}",
            chain.router,
            Address(chain.pools[0].address)
        )
    }
}

pub fn token(id: TokenId, symbol: &str) -> TokenSpec {
    TokenSpec {
        id,
        symbol: symbol.to_owned(),
        decimals: 18,
        precision: 6,
        minimum: 1,
        maximum: 1 << 100,
        dust: 0,
        enabled: true,
    }
}

pub fn pool(pair: Address) -> PoolSpec {
    PoolSpec {
        market: MarketId(0),
        name: "ONE-TWO".to_owned(),
        address: pair.0,
        pooled: [FIRST, SECOND],
        lp: token(SHARES, "LP"),
        joins: true,
        exits: true,
        swaps: true,
        fee_bips: 30,
        in_range: false,
    }
}

/// Starts a node, deploys everything, and gives us tokens.
pub async fn deploy<'a>(place: &'a Place<'a>, modules: &'a Path, name: &str) -> Step<World<'a>> {
    let process = Process::start(place, name).await?;
    let (node, nodes) = (process.client()?, process.nodes()?);
    let key = |text| EthKey::from_hex(text).map_err(|error| error.to_string());
    let own = key(OWN_KEY)?;
    let chain = Chain {
        id: CHAIN_ID,
        account: own.address(),
        router: Address::ZERO,
        coin: COIN,
        tokens: SortedMap::new(),
        pools: Vec::new(),
        ranges: SortedMap::new(),
        slippage_bps: crate::adapter::SLIPPAGE_BPS,
        gas: GasLimits {
            join: 300_000,
            exit: 300_000,
            swap: 250_000,
            approve: 80_000,
        },
    };
    let market = MarketSpec::new(
        MarketId(0),
        "ONE-TWO",
        token(FIRST, "ONE"),
        token(SECOND, "TWO"),
        2,
        true,
    );
    let market = market.map_err(|error| error.to_string())?;
    let adapter = Adapter::new(chain, market, own, &node).await?;
    let mut world = World {
        place,
        process,
        node,
        nodes,
        now_s: GENESIS_S,
        other: Other {
            key: key(OTHER_KEY)?,
            nonce: 0,
        },
        factory: Address::ZERO,
        modules,
        adapter,
    };
    let other = world.other.address();
    let core = |name: &str| format!("@uniswap/v2-core/build/{name}.json");
    let periphery = |name: &str| format!("@uniswap/v2-periphery/build/{name}.json");
    world.factory = world
        .create(&core("UniswapV2Factory"), &[Value::Address(other)])
        .await?;
    let weth = world
        .create("canonical-weth/build/contracts/WETH9.json", &[])
        .await?;
    let of_router = [Value::Address(world.factory), Value::Address(weth)];
    let router = world
        .create(&periphery("UniswapV2Router02"), &of_router)
        .await?;
    world.adapter.chain.router = router;
    let supply = [Value::Number(U256::from(1_000_000_000 * ONE))];
    let mut tokens = [Address::ZERO; 2];
    for token in &mut tokens {
        *token = world.create(&periphery("ERC20"), &supply).await?;
    }
    // A pair orders its tokens by address.
    tokens.sort();
    for token in tokens {
        world.fund(token, 1_000_000 * ONE).await?;
    }
    let pair = world
        .first_deposit(tokens, [10_000 * ONE, 25_000_000 * ONE + 1])
        .await?;
    world.adapter.chain.tokens = [(FIRST, tokens[0]), (SECOND, tokens[1])].into();
    world.adapter.chain.pools = vec![pool(pair)];
    let checked = world.adapter.chain.check();
    checked.map_err(|error| error.to_string())?;
    world.finalize().await?;
    world.adapter.open(&world.node).await?;
    Ok(world)
}
