//! The methods of a node, answered from a chain.

use cambist_evm::probe;
use cambist_evm::wire::{data, fixed, quantity_u64, to_data, to_quantity};
use cambist_evm::{Address, Hash32, U256};
use serde_json::{Value, json};

use super::chain::{BASE_FEE, Block, Chain, Mined};

/// A refusal: code and text.
pub type Refused = (i64, String);

fn refused(text: &str) -> Refused {
    (-32_000, text.to_owned())
}

/// The result of a method.
pub fn answer(chain: &mut Chain, method: &str, params: &[Value]) -> Result<Value, Refused> {
    let param = |at: usize| params.get(at).and_then(Value::as_str).unwrap_or_default();
    let number = |number: u64| Value::from(to_quantity(U256::from(number)));
    match method {
        "eth_chainId" => Ok(number(chain.id)),
        "eth_getBlockByNumber" => Ok(block(chain, param(0)).map_or(Value::Null, written)),
        "eth_getTransactionCount" if param(1) == "pending" => {
            let of = address(param(0))?;
            let waits = chain
                .waiting
                .values()
                .filter(|sent| sent.sender() == Ok(of));
            let waits = waits.map(|sent| sent.transaction().nonce + 1).max();
            let spent = chain.latest().world.nonce(of);
            Ok(number(spent.max(waits.unwrap_or_default())))
        }
        "eth_getTransactionCount" => {
            let of = block(chain, param(1)).ok_or_else(|| refused("header not found"))?;
            Ok(number(of.world.nonce(address(param(0))?)))
        }
        "eth_getBalance" => {
            let of = block(chain, param(1)).ok_or_else(|| refused("header not found"))?;
            let held = of.world.coin.get(&address(param(0))?);
            Ok(to_quantity(held.copied().unwrap_or_default()).into())
        }
        "eth_getCode" => {
            let of = block(chain, param(1)).ok_or_else(|| refused("header not found"))?;
            let has_code = of.world.has_code(address(param(0))?);
            Ok(if has_code { "0x6000" } else { "0x" }.into())
        }
        "eth_call" => {
            let of = block(chain, param(1)).ok_or_else(|| refused("header not found"))?;
            let message = params.first().ok_or_else(|| refused("no call"))?;
            let to = address(message["to"].as_str().unwrap_or_default())?;
            let input = data(message["input"].as_str().unwrap_or_default());
            let input = input.map_err(|_| refused("invalid input"))?;
            if let Some(overrides) = params.get(2) {
                let returned = probe(chain, of, to, &input, overrides)?;
                return Ok(to_data(&returned).into());
            }
            let from = message["from"].as_str().map(address).transpose()?;
            let returned = of.world.view(from, to, &input);
            let returned = returned.map_err(|_| (3, "execution reverted".to_owned()))?;
            Ok(to_data(&returned).into())
        }
        "eth_getTransactionReceipt" => {
            let hash = fixed(param(0)).map_err(|_| refused("invalid hash"))?;
            let found = chain.by_hash(Hash32(hash));
            Ok(found.map_or(Value::Null, |(block, mined)| receipt(block, mined)))
        }
        "eth_sendRawTransaction" => {
            let bytes = data(param(0)).map_err(|_| refused("invalid bytes"))?;
            let taken = chain.take(&bytes);
            taken.map(|hash| hash.to_hex().into()).map_err(refused)
        }
        _ => Err((-32_601, format!("the method {method} does not exist"))),
    }
}

/// A call with other code, of which there is one kind.
fn probe(
    chain: &Chain,
    of: &Block,
    holder: Address,
    input: &[u8],
    overrides: &Value,
) -> Result<Vec<u8>, Refused> {
    if !chain.runs_other_code {
        return Err((-32_602, "too many arguments, want at most 2".to_owned()));
    }
    let word = |at: usize| input.get(32 * at..32 * (at + 1));
    let address = |at: usize| {
        let address = word(at).and_then(|word| word[12..].try_into().ok());
        address.map(Address).ok_or_else(|| refused("invalid input"))
    };
    let (token, other) = (address(0)?, address(1)?);
    let amount = word(2).ok_or_else(|| refused("invalid input"))?;
    for (account, code) in [
        (holder, probe::moving_code()),
        (other, probe::returning_code()),
    ] {
        let stated = &overrides[account.to_hex()]["code"];
        assert_eq!(stated, &Value::from(to_data(&code)), "the code of a probe");
    }
    let amount = U256::from_be_slice(amount);
    Ok(of.world.probe(holder, token, other, amount))
}

fn address(text: &str) -> Result<Address, Refused> {
    fixed(text)
        .map(Address)
        .map_err(|_| refused("invalid address"))
}

fn block<'a>(chain: &'a Chain, tag: &str) -> Option<&'a Block> {
    match tag {
        "latest" => Some(chain.latest()),
        "finalized" => Some(chain.finalized()),
        number => chain.block(quantity_u64(number).ok()?),
    }
}

fn written(block: &Block) -> Value {
    json!({
        "number": to_quantity(U256::from(block.number)),
        "hash": block.hash.to_hex(),
        "parentHash": block.parent.to_hex(),
        "timestamp": to_quantity(U256::from(block.timestamp_s)),
        "baseFeePerGas": to_quantity(U256::from(BASE_FEE)),
        "transactions": [],
    })
}

fn receipt(block: &Block, of: &Mined) -> Value {
    let before = block.mined.iter().take_while(|other| other.hash != of.hash);
    let first: usize = before.map(|other| other.logs.len()).sum();
    let logs = (first..).zip(&of.logs).map(|(index, log)| {
        json!({
            "address": log.address.to_hex(),
            "topics": log.topics.iter().map(Hash32::to_hex).collect::<Vec<_>>(),
            "data": to_data(&log.data),
            "logIndex": format!("{index:#x}"),
            "transactionHash": of.hash.to_hex(),
            "blockHash": block.hash.to_hex(),
            "removed": false,
        })
    });
    json!({
        "transactionHash": of.hash.to_hex(),
        "blockNumber": to_quantity(U256::from(block.number)),
        "blockHash": block.hash.to_hex(),
        "from": of.from.to_hex(),
        "to": of.to.map(|to| to.to_hex()),
        "contractAddress": null,
        "status": if of.succeeded { "0x1" } else { "0x0" },
        "gasUsed": to_quantity(U256::from(of.gas_used)),
        "effectiveGasPrice": to_quantity(U256::from(of.gas_price)),
        "logs": logs.collect::<Vec<_>>(),
    })
}
