//! One document of every resource, in the interface's form.

use cambist_protocol::encode::to_bytes;
use cambist_protocol::{FromWire, WireError, json, wire};

pub const ADDRESS: &str = "0xC07Ad42eA9A232BFA2B5a21E8e0CFfCC8762f62b";
pub const HASH: &str = "0x00000000000000000000000000000000000000000000000000000000000000ff";

type Rewrite = fn(&[u8]) -> Result<String, WireError>;

pub struct Sample {
    pub name: &'static str,
    pub text: String,
    /// Reads a document and writes the result.
    pub rewrite: Rewrite,
}

fn rewrite<T: FromWire + serde::Serialize>(bytes: &[u8]) -> Result<String, WireError> {
    T::from_bytes(bytes).map(|value| String::from_utf8(to_bytes(&value)).unwrap())
}

fn rewrite_balances(bytes: &[u8]) -> Result<String, WireError> {
    wire::Balance::read_all(&json::parse(bytes)?)
        .map(|value| String::from_utf8(to_bytes(&value)).unwrap())
}

fn rewrite_tokens(bytes: &[u8]) -> Result<String, WireError> {
    wire::tokens(&json::parse(bytes)?).map(|value| String::from_utf8(to_bytes(&value)).unwrap())
}

fn signature() -> String {
    format!("0x{}", "01".repeat(96))
}

pub fn order() -> String {
    text("order")
}

pub fn text(name: &str) -> String {
    let found = samples().into_iter().find(|sample| sample.name == name);
    found.unwrap().text
}

pub fn samples() -> Vec<Sample> {
    let mut out = Vec::new();
    trading(&mut out);
    account(&mut out);
    configuration(&mut out);
    pools(&mut out);
    out
}

fn add(out: &mut Vec<Sample>, name: &'static str, text: String, rewrite: Rewrite) {
    out.push(Sample {
        name,
        text,
        rewrite,
    });
}

fn trading(out: &mut Vec<Sample>) {
    let detail = format!(
        r#"{{"hash":"{HASH}","clientOrderId":"my order","side":"SELL","market":"ONE-TWO","price":"103422.027","volumes":{{"baseAmount":"1073272330970261","quoteAmount":"111000000","baseFilled":"0","quoteFilled":"0","fee":"0"}},"validity":{{"start":1600000000,"end":1700000000}},"orderType":"LIMIT_ORDER","status":"processing"}}"#
    );
    let signature = signature();
    add(
        out,
        "order",
        format!(
            r#"{{"exchange":"{ADDRESS}","accountId":10000,"storageId":2,"sellToken":{{"tokenId":"1","volume":"79228162514264337593543950335"}},"buyToken":{{"tokenId":"0","volume":"5"}},"allOrNone":"false","fillAmountBOrS":"true","validUntil":1700000000,"maxFeeBips":20,"eddsaSignature":"{signature}","clientOrderId":"my order","orderType":"MAKER_ONLY"}}"#
        ),
        rewrite::<wire::SubmitOrder>,
    );
    add(
        out,
        "order ack",
        format!(
            r#"{{"hash":"{HASH}","clientOrderId":"my order","status":"processing","isIdempotent":false}}"#
        ),
        rewrite::<wire::OrderAck>,
    );
    add(
        out,
        "order detail",
        detail.clone(),
        rewrite::<wire::OrderDetail>,
    );
    add(
        out,
        "orders",
        format!(r#"{{"totalNum":60,"orders":[{detail},{detail}]}}"#),
        rewrite::<wire::OrdersPage>,
    );
    add(out, "depth",
        r#"{"version":19,"timestamp":1700000000123,"market":"ONE-TWO","bids":[["2499.990","1000","2499990","1"]],"asks":[]}"#.to_owned(),
        rewrite::<wire::DepthSnapshot>,
    );
}

fn account(out: &mut Vec<Sample>) {
    let key = format!(
        r#"{{"x":"0x{}","y":"0x{}"}}"#,
        "0a".repeat(32),
        "0b".repeat(32)
    );
    let volume = r#"{"tokenId":"1","volume":"5"}"#;
    let signature = signature();
    add(
        out,
        "transfer",
        format!(
            r#"{{"exchange":"{ADDRESS}","payerId":1,"payerAddr":"{ADDRESS}","payeeId":0,"payeeAddr":"{ADDRESS}","token":{volume},"maxFee":{volume},"storageId":3,"validUntil":1700000000,"eddsaSignature":"{signature}","ecdsaSignature":"0x02","hashApproved":"0x03","memo":"thanks"}}"#
        ),
        rewrite::<wire::TransferRequest>,
    );
    add(
        out,
        "withdrawal",
        format!(
            r#"{{"exchange":"{ADDRESS}","accountId":1,"owner":"{ADDRESS}","token":{volume},"maxFee":{volume},"storageId":3,"validUntil":1700000000,"minGas":300000,"to":"{ADDRESS}","extraData":"0x","fastWithdrawalMode":false,"ecdsaSignature":"0x02"}}"#
        ),
        rewrite::<wire::WithdrawalRequest>,
    );
    add(
        out,
        "account update",
        format!(
            r#"{{"exchange":"{ADDRESS}","owner":"{ADDRESS}","accountId":1,"publicKey":{key},"maxFee":{volume},"validUntil":1700000000,"nonce":1}}"#
        ),
        rewrite::<wire::AccountUpdateRequest>,
    );
    add(
        out,
        "submission",
        format!(r#"{{"hash":"{HASH}","status":"received","isIdempotent":true}}"#),
        rewrite::<wire::Submission>,
    );
    add(
        out,
        "account",
        format!(
            r#"{{"accountId":10000,"owner":"{ADDRESS}","frozen":false,"publicKey":{key},"tags":"","nonce":1,"keyNonce":0,"keySeed":""}}"#
        ),
        rewrite::<wire::Account>,
    );
    add(
        out,
        "api key",
        r#"{"apiKey":"abc"}"#.to_owned(),
        rewrite::<wire::ApiKey>,
    );
    add(
        out,
        "api key request",
        r#"{"accountId":7}"#.to_owned(),
        rewrite::<wire::ApiKeyRequest>,
    );
    add(out, "balances",
        r#"[{"tokenId":1,"total":"340282366920938463463374607431768211455","locked":"1","pending":{"withdraw":"0","deposit":"2"}}]"#.to_owned(),
        rewrite_balances,
    );
    add(
        out,
        "storage ids",
        r#"{"orderId":0,"offchainId":1}"#.to_owned(),
        rewrite::<wire::StorageIds>,
    );
}

fn configuration(out: &mut Vec<Sample>) {
    let token = format!(
        r#"{{"type":"ERC20","tokenId":1,"symbol":"ONE","name":"Token One","address":"{ADDRESS}","decimals":18,"precision":6,"orderAmounts":{{"minimum":"1","maximum":"79228162514264337593543950335","dust":"0"}},"fastWithdrawLimit":"20000000000000000000","enabled":true}}"#
    );
    let market = r#"{"market":"ONE-TWO","baseTokenId":1,"quoteTokenId":2,"precisionForPrice":3,"orderbookAggLevels":4,"enabled":true}"#;
    add(
        out,
        "exchange info",
        format!(
            r#"{{"chainId":1,"exchangeAddress":"{ADDRESS}","depositAddress":"{ADDRESS}","onchainFees":[{{"type":"withdraw","fee":"15000000000000000"}}],"updateFees":[{{"token":"ETH","fee":"1"}}],"transferFees":[],"withdrawalFees":[]}}"#
        ),
        rewrite::<wire::ExchangeInfo>,
    );
    add(out, "token", token.clone(), rewrite::<wire::Token>);
    add(out, "tokens", format!("[{token}]"), rewrite_tokens);
    add(
        out,
        "markets",
        format!(r#"{{"markets":[{market}]}}"#),
        rewrite::<wire::Markets>,
    );
}

fn pools(out: &mut Vec<Sample>) {
    let pool = format!(
        r#"{{"name":"LP ONE","market":"AMM-ONE-TWO","address":"{ADDRESS}","version":"1.0.0","tokens":{{"pooled":[1,2],"lp":4}},"feeBips":20,"precisions":{{"price":6,"amount":6}},"status":7}}"#
    );
    let transfer = r#"{"tokenId":1,"amount":"6","actualAmount":"5","feeAmount":"1"}"#;
    let volume = r#"{"tokenId":"1","volume":"5"}"#;
    let signature = signature();
    add(
        out,
        "pools",
        format!(r#"{{"pools":[{pool}]}}"#),
        rewrite::<wire::Pools>,
    );
    add(
        out,
        "pool balance",
        format!(r#"{{"pooled":[{volume},{volume}],"lp":{volume}}}"#),
        rewrite::<wire::PoolBalance>,
    );
    add(
        out,
        "pool transactions",
        format!(
            r#"{{"totalNum":1,"transactions":[{{"hash":"{HASH}","txType":"join","txStatus":"processed","ammPoolAddress":"{ADDRESS}","ammLayerType":"layer_2","poolTokens":[{transfer},{transfer}],"lpToken":{transfer},"createdAt":1700000000000,"updatedAt":1700000000000}}]}}"#
        ),
        rewrite::<wire::PoolTransactions>,
    );
    add(
        out,
        "join",
        format!(
            r#"{{"owner":"{ADDRESS}","poolAddress":"{ADDRESS}","joinTokens":{{"pooled":[{volume},{volume}],"minimumLp":"7"}},"storageIds":"1,3","fee":"9","validUntil":1700000000,"eddsaSignature":"{signature}"}}"#
        ),
        rewrite::<wire::JoinRequest>,
    );
    add(
        out,
        "exit",
        format!(
            r#"{{"owner":"{ADDRESS}","poolAddress":"{ADDRESS}","exitTokens":{{"unPooled":[{volume},{volume}],"burned":"7"}},"storageId":5,"maxFee":"9","validUntil":1700000000,"ecdsaSignature":"0x02"}}"#
        ),
        rewrite::<wire::ExitRequest>,
    );
}
