//! Requests to a node and its answers: JSON-RPC 2.0, one request a body, and the methods that this program uses, each
//! with the exact type of its result. Source: execution-apis.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::abi::{one_text, selector};
use crate::block::{Block, BlockTag};
use crate::call::{Call, amount};
use crate::receipt::Receipt;
use crate::wire::{AddressText, Data, HashText, Quantity, Quantity64, data, to_data, to_quantity};
use crate::{Address, Hash32, Malformed, U256};

/// Most bytes of a refusal's text that are kept.
const TEXT_MAX: usize = 512;
/// Most bytes of the text with which a contract reverts.
const REASON_MAX: usize = 256;
/// Most bytes of an answer in a text.
const BYTES_SHOWN: usize = 64;

/// A method with its parameters.
pub trait Ask {
    /// Name of the method.
    const METHOD: &'static str;
    /// The result as JSON.
    type Wire: DeserializeOwned;
    /// The result.
    type Answer;

    /// The parameters, by place.
    fn params(&self) -> Value;

    /// What a result means.
    ///
    /// # Errors
    /// [`Malformed`] if it cannot be the answer to this request.
    fn read(&self, wire: Self::Wire) -> Result<Self::Answer, Malformed>;

    /// An answer as a text, so that those of two nodes can be compared. It is short, and no part of a decision.
    fn text(answer: &Self::Answer) -> String {
        let _ = answer;
        "something else".to_owned()
    }

    /// Two different answers as texts that show what differs.
    fn texts(answers: [&Self::Answer; 2]) -> [String; 2] {
        answers.map(Self::text)
    }
}

/// The body of a request.
pub fn request<A: Ask>(ask: &A, id: u64) -> Vec<u8> {
    let body = json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": A::METHOD,
        "params": ask.params(),
    });
    body.to_string().into_bytes()
}

/// The code of a call that the contract reverted.
const REVERTED: i64 = 3;

/// A node's refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its code. Nodes agree on few of them.
    pub code: i64,
    /// Its text, at most 512 bytes.
    pub message: String,
    /// What a reverted call returned.
    pub data: Option<Vec<u8>>,
}

impl Refusal {
    /// Whether the node has executed the call, and the contract reverted it. Most nodes state code 3, some only the text.
    pub fn is_revert(&self) -> bool {
        self.code == REVERTED || self.message.to_ascii_lowercase().contains("revert")
    }

    /// The text with which the contract reverted, if it gave one.
    pub fn reason(&self) -> Option<String> {
        let (of, text) = self.data.as_deref()?.split_first_chunk::<4>()?;
        let is_text = *of == selector("Error(string)");
        is_text.then(|| one_text(text, REASON_MAX).ok()).flatten()
    }
}

/// Reads the answer to the request with this number: its result, or the node's refusal.
///
/// # Errors
/// [`Malformed`] for everything that is not exactly one of the two, for this request.
pub fn answer<A: Ask>(
    ask: &A,
    id: u64,
    body: &[u8],
) -> Result<Result<A::Answer, Refusal>, Malformed> {
    let envelope: Envelope<A::Wire> = serde_json::from_slice(body)
        .map_err(|_| Malformed::Rpc("not an answer of the method's type"))?;
    if envelope.jsonrpc != "2.0" {
        return Err(Malformed::Rpc("another version than 2.0"));
    }
    // A node that cannot read a request answers with the number null.
    let readable = envelope.id == Some(id);
    match (envelope.result, envelope.error) {
        (Some(result), None) if readable => ask.read(result).map(Ok),
        (None, Some(error)) if readable || envelope.id.is_none() => Ok(Err(error.into())),
        (Some(_), Some(_)) => Err(Malformed::Rpc("a result and an error")),
        (None, None) => Err(Malformed::Rpc("neither a result nor an error")),
        _ => Err(Malformed::Rpc("the answer to another request")),
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "T: DeserializeOwned"))]
struct Envelope<T> {
    jsonrpc: String,
    id: Option<u64>,
    // A result of null is one, for what the node does not know.
    #[serde(default, deserialize_with = "present")]
    result: Option<T>,
    #[serde(default)]
    error: Option<ReportedError>,
}

fn present<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

#[derive(Deserialize)]
struct ReportedError {
    code: i64,
    message: String,
    #[serde(default)]
    data: Value,
}

impl From<ReportedError> for Refusal {
    fn from(reported: ReportedError) -> Self {
        let mut message = reported.message;
        let most = (0..=TEXT_MAX)
            .rev()
            .find(|at| message.is_char_boundary(*at));
        message.truncate(most.unwrap_or(0));
        Self {
            code: reported.code,
            message,
            // Other nodes put words there.
            data: reported.data.as_str().and_then(|text| data(text).ok()),
        }
    }
}

/// `eth_chainId`.
#[derive(Clone, Copy, Debug)]
pub struct ChainId;

impl Ask for ChainId {
    const METHOD: &'static str = "eth_chainId";
    type Wire = Quantity64;
    type Answer = u64;

    fn params(&self) -> Value {
        json!([])
    }

    fn read(&self, wire: Quantity64) -> Result<u64, Malformed> {
        Ok(wire.0)
    }

    fn text(answer: &u64) -> String {
        answer.to_string()
    }
}

/// `eth_getBlockByNumber`; `None` if there is no such block.
#[derive(Clone, Copy, Debug)]
pub struct BlockAt(pub BlockTag);

impl Ask for BlockAt {
    const METHOD: &'static str = "eth_getBlockByNumber";
    type Wire = Option<Block>;
    type Answer = Option<Block>;

    fn params(&self) -> Value {
        json!([self.0.text(), false])
    }

    fn read(&self, wire: Option<Block>) -> Result<Option<Block>, Malformed> {
        match (self.0, &wire) {
            (BlockTag::Number(asked), Some(block)) if block.number != asked => {
                Err(Malformed::Rpc("another block"))
            }
            _ => Ok(wire),
        }
    }

    fn text(answer: &Option<Block>) -> String {
        match answer {
            Some(block) => format!("block {} {}", block.number, block.hash.to_hex()),
            None => "no block".to_owned(),
        }
    }

    /// Of blocks with one number and hash, what else differs.
    fn texts(answers: [&Option<Block>; 2]) -> [String; 2] {
        let stated = answers.map(Self::text);
        let [Some(first), Some(second)] = answers else {
            return stated;
        };
        if stated[0] != stated[1] {
            return stated;
        }
        let fields = |of: &Block| {
            [
                ("parent", of.parent.to_hex()),
                ("time", format!("{} s", of.timestamp_s)),
                ("base fee", of.base_fee.to_string()),
            ]
        };
        let pairs = fields(first).into_iter().zip(fields(second));
        let mut texts = stated;
        for ((name, of_first), (_, of_second)) in pairs.filter(|(a, b)| a != b) {
            for (text, value) in texts.iter_mut().zip([of_first, of_second]) {
                *text += " with ";
                *text += name;
                *text += " ";
                *text += &value;
            }
        }
        texts
    }
}

/// `eth_getTransactionCount`: the next nonce of an account.
#[derive(Clone, Copy, Debug)]
pub struct NonceAt {
    /// The account.
    pub account: Address,
    /// After which block.
    pub at: BlockTag,
}

impl Ask for NonceAt {
    const METHOD: &'static str = "eth_getTransactionCount";
    type Wire = Quantity64;
    type Answer = u64;

    fn params(&self) -> Value {
        json!([self.account.to_hex(), self.at.text()])
    }

    fn read(&self, wire: Quantity64) -> Result<u64, Malformed> {
        Ok(wire.0)
    }

    fn text(answer: &u64) -> String {
        answer.to_string()
    }
}

/// `eth_getBalance`: what an account holds of the chain's coin.
#[derive(Clone, Copy, Debug)]
pub struct BalanceAt {
    /// The account.
    pub account: Address,
    /// After which block.
    pub at: BlockTag,
}

impl Ask for BalanceAt {
    const METHOD: &'static str = "eth_getBalance";
    type Wire = Quantity;
    type Answer = U256;

    fn params(&self) -> Value {
        json!([self.account.to_hex(), self.at.text()])
    }

    fn read(&self, wire: Quantity) -> Result<U256, Malformed> {
        Ok(wire.0)
    }

    fn text(answer: &U256) -> String {
        answer.to_string()
    }
}

/// `eth_getCode`: the code of a contract; empty for any other account.
#[derive(Clone, Copy, Debug)]
pub struct CodeAt {
    /// The contract.
    pub contract: Address,
    /// After which block.
    pub at: BlockTag,
}

impl Ask for CodeAt {
    const METHOD: &'static str = "eth_getCode";
    type Wire = Data;
    type Answer = Vec<u8>;

    fn params(&self) -> Value {
        json!([self.contract.to_hex(), self.at.text()])
    }

    fn read(&self, wire: Data) -> Result<Vec<u8>, Malformed> {
        Ok(wire.0)
    }

    fn text(answer: &Vec<u8>) -> String {
        format!("{} bytes of code", answer.len())
    }
}

/// A call as `eth_call` and `eth_estimateGas` take it.
#[derive(Clone, Debug)]
pub struct Message {
    /// The caller, which some contracts check.
    pub from: Option<Address>,
    /// Is called; `None` creates a contract.
    pub to: Option<Address>,
    /// Coin that goes along.
    pub value: U256,
    /// The call.
    pub data: Vec<u8>,
}

impl Message {
    fn json(&self) -> Value {
        let mut json = json!({ "input": to_data(&self.data) });
        for (key, address) in [("from", self.from), ("to", self.to)] {
            if let Some(address) = address {
                json[key] = address.to_hex().into();
            }
        }
        if self.value != U256::ZERO {
            json["value"] = to_quantity(self.value).into();
        }
        json
    }
}

/// `eth_call`: what a call returns, without a transaction.
#[derive(Clone, Debug)]
pub struct CallAt {
    /// The call.
    pub message: Message,
    /// After which block.
    pub at: BlockTag,
}

impl CallAt {
    /// A call of a contract without a sender and without coin.
    pub fn view(contract: Address, call: &Call, at: BlockTag) -> Self {
        Self::view_of(contract, call.encode(), at)
    }

    /// As [`view`](Self::view), with the data of any call.
    pub const fn view_of(contract: Address, data: Vec<u8>, at: BlockTag) -> Self {
        Self {
            message: Message {
                from: None,
                to: Some(contract),
                value: U256::ZERO,
                data,
            },
            at,
        }
    }
}

impl Ask for CallAt {
    const METHOD: &'static str = "eth_call";
    type Wire = Data;
    type Answer = Vec<u8>;

    fn params(&self) -> Value {
        json!([self.message.json(), self.at.text()])
    }

    fn read(&self, wire: Data) -> Result<Vec<u8>, Malformed> {
        Ok(wire.0)
    }

    fn text(answer: &Vec<u8>) -> String {
        if let Ok(word) = <[u8; 32]>::try_from(answer.as_slice()) {
            return U256::from_be_bytes(word).to_string();
        }
        let shown = answer.get(..BYTES_SHOWN).unwrap_or(answer);
        format!("{} ({} bytes)", to_data(shown), answer.len())
    }
}

/// `eth_estimateGas`: gas that a call takes, on top of the newest block.
#[derive(Clone, Debug)]
pub struct EstimateGas(pub Message);

impl Ask for EstimateGas {
    const METHOD: &'static str = "eth_estimateGas";
    type Wire = Quantity64;
    type Answer = u64;

    fn params(&self) -> Value {
        json!([self.0.json(), "latest"])
    }

    fn read(&self, wire: Quantity64) -> Result<u64, Malformed> {
        Ok(wire.0)
    }
}

/// `eth_maxPriorityFeePerGas`: what the node would give a block's producer, in base units of the coin per gas.
#[derive(Clone, Copy, Debug)]
pub struct PriorityFee;

impl Ask for PriorityFee {
    const METHOD: &'static str = "eth_maxPriorityFeePerGas";
    type Wire = Quantity;
    type Answer = u128;

    fn params(&self) -> Value {
        json!([])
    }

    fn read(&self, wire: Quantity) -> Result<u128, Malformed> {
        amount(wire.0)
    }
}

/// `eth_sendRawTransaction`: the hash by which the node knows the bytes.
#[derive(Clone, Debug)]
pub struct SendRaw(pub Vec<u8>);

impl Ask for SendRaw {
    const METHOD: &'static str = "eth_sendRawTransaction";
    type Wire = HashText;
    type Answer = Hash32;

    fn params(&self) -> Value {
        json!([to_data(&self.0)])
    }

    fn read(&self, wire: HashText) -> Result<Hash32, Malformed> {
        let hash = Hash32(crate::keccak256(&[&self.0]));
        if wire.0 == hash {
            Ok(hash)
        } else {
            Err(Malformed::Rpc("the hash of other bytes"))
        }
    }
}

/// `eth_getTransactionReceipt`; `None` while the transaction is in no block that the node follows.
#[derive(Clone, Copy, Debug)]
pub struct ReceiptOf(pub Hash32);

impl Ask for ReceiptOf {
    const METHOD: &'static str = "eth_getTransactionReceipt";
    type Wire = Option<Receipt>;
    type Answer = Option<Receipt>;

    fn params(&self) -> Value {
        json!([self.0.to_hex()])
    }

    fn read(&self, wire: Option<Receipt>) -> Result<Option<Receipt>, Malformed> {
        match &wire {
            Some(receipt) if receipt.transaction != self.0 => {
                Err(Malformed::Rpc("another transaction's receipt"))
            }
            _ => Ok(wire),
        }
    }

    fn text(answer: &Option<Receipt>) -> String {
        match answer {
            Some(receipt) => format!(
                "a receipt in block {} {} with {} logs",
                receipt.block_number,
                receipt.block_hash.to_hex(),
                receipt.logs.len()
            ),
            None => "no receipt".to_owned(),
        }
    }
}

/// `eth_getTransactionByHash`; `None` if the node does not know the transaction.
#[derive(Clone, Copy, Debug)]
pub struct TransactionOf(pub Hash32);

/// A transaction that a node knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The account that signed it.
    pub from: Address,
    /// Its nonce.
    pub nonce: u64,
    /// Number of its block; `None` while it waits.
    pub block_number: Option<u64>,
}

/// A transaction in an answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownText {
    hash: HashText,
    from: AddressText,
    nonce: Quantity64,
    block_number: Option<Quantity64>,
}

impl Ask for TransactionOf {
    const METHOD: &'static str = "eth_getTransactionByHash";
    type Wire = Option<KnownText>;
    type Answer = Option<Known>;

    fn params(&self) -> Value {
        json!([self.0.to_hex()])
    }

    fn read(&self, wire: Option<KnownText>) -> Result<Option<Known>, Malformed> {
        let Some(text) = wire else { return Ok(None) };
        if text.hash.0 != self.0 {
            return Err(Malformed::Rpc("another transaction"));
        }
        Ok(Some(Known {
            from: text.from.0,
            nonce: text.nonce.0,
            block_number: text.block_number.map(|number| number.0),
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    fn nonce() -> NonceAt {
        NonceAt {
            account: Address([0x11; 20]),
            at: BlockTag::Finalized,
        }
    }

    #[test]
    fn a_request_states_its_number_method_and_parameters() {
        let body: Value = serde_json::from_slice(&request(&nonce(), 7)).unwrap();
        let address = format!("0x{}", "11".repeat(20));
        let expected = json!({
            "jsonrpc": "2.0", "id": 7, "method": "eth_getTransactionCount",
            "params": [address, "finalized"],
        });
        assert_eq!(body, expected);
        let call = CallAt {
            message: Message {
                from: None,
                to: Some(Address([0x22; 20])),
                value: U256::from(3),
                data: vec![1, 2],
            },
            at: BlockTag::Number(17),
        };
        let expected = json!([
            { "to": format!("0x{}", "22".repeat(20)), "input": "0x0102", "value": "0x3" },
            "0x11",
        ]);
        assert_eq!(call.params(), expected);
    }

    #[test]
    fn an_answer_is_a_result_or_a_refusal_for_this_request() {
        let read = |body: &str| answer(&nonce(), 7, body.as_bytes());
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":7,"result":"0x1f"}"#),
            Ok(Ok(31))
        );
        let refused =
            read(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"nonce too low"}}"#);
        let expected = Refusal {
            code: -32_000,
            message: "nonce too low".to_owned(),
            data: None,
        };
        assert_eq!(refused, Ok(Err(expected)));
        let unread = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse"}}"#;
        assert!(matches!(read(unread), Ok(Err(_))));
        for bad in [
            r#"{"jsonrpc":"2.0","id":8,"result":"0x1f"}"#,
            r#"{"jsonrpc":"2.0","id":"7","result":"0x1f"}"#,
            r#"{"jsonrpc":"2.0","id":null,"result":"0x1f"}"#,
            r#"{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"1.0","id":7,"result":"0x1f"}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":31}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":null}"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":"0x1","error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":"0x1","result":"0x2"}"#,
            r#"[{"jsonrpc":"2.0","id":7,"result":"0x1f"}]"#,
            "<html>",
            "",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let long = format!(
            r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":1,"message":"{}","data":["x"]}}}}"#,
            "é".repeat(600)
        );
        let Ok(Err(refusal)) = read(&long) else {
            panic!("a refusal")
        };
        assert_eq!(refusal.message.len(), TEXT_MAX);
    }

    #[test]
    fn what_a_node_does_not_know_is_none() {
        let hash = Hash32([1; 32]);
        let none = br#"{"jsonrpc":"2.0","id":1,"result":null}"#;
        assert_eq!(answer(&ReceiptOf(hash), 1, none), Ok(Ok(None)));
        assert_eq!(answer(&TransactionOf(hash), 1, none), Ok(Ok(None)));
        assert_eq!(answer(&BlockAt(BlockTag::Latest), 1, none), Ok(Ok(None)));
    }

    #[test]
    fn a_reverted_call_states_its_reason() {
        let words = [
            U256::from(32).to_be_bytes::<32>(),
            U256::from(24).to_be_bytes(),
        ];
        let text = b"UniswapV2Router: EXPIRED\0\0\0\0\0\0\0\0";
        let data = [
            &[0x08, 0xc3, 0x79, 0xa0][..],
            words.as_flattened(),
            text.as_slice(),
        ]
        .concat();
        let refusal = Refusal {
            code: 3,
            message: "execution reverted".to_owned(),
            data: Some(data),
        };
        let reason = refusal.reason();
        assert_eq!(reason.as_deref(), Some("UniswapV2Router: EXPIRED"));
        let without = Refusal {
            data: Some(vec![1, 2, 3, 4]),
            ..refusal
        };
        assert_eq!(without.reason(), None);
        for (code, message, is_revert) in [
            (3, "execution reverted", true),
            (3, "", true),
            (-32_000, "Execution reverted", true),
            (-32_000, "header not found", false),
            (-32_601, "the method does not exist", false),
        ] {
            let refusal = Refusal {
                code,
                message: message.to_owned(),
                data: None,
            };
            assert_eq!(refusal.is_revert(), is_revert, "{code} {message}");
        }
    }

    type Edit = fn(&mut Value);

    fn receipt() -> Value {
        let (hash, block) = (
            format!("0x{}", "01".repeat(32)),
            format!("0x{}", "02".repeat(32)),
        );
        let address = format!("0x{}", "03".repeat(20));
        json!({
            "transactionHash": hash, "transactionIndex": "0x0", "blockNumber": "0x10",
            "blockHash": block, "from": address, "to": address, "contractAddress": null,
            "status": "0x1", "type": "0x2", "cumulativeGasUsed": "0x5208", "gasUsed": "0x5208",
            "effectiveGasPrice": "0x3", "logsBloom": "0x00",
            "logs": [{
                "address": address, "topics": [], "data": "0x", "logIndex": "0x4",
                "transactionHash": hash, "blockHash": block, "blockNumber": "0x10",
                "transactionIndex": "0x0", "removed": false,
            }],
        })
    }

    fn read_receipt(receipt: &Value) -> Result<Receipt, Malformed> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "result": receipt }).to_string();
        let read = answer(&ReceiptOf(Hash32([1; 32])), 1, body.as_bytes())?;
        Ok(read.unwrap().unwrap())
    }

    #[test]
    fn a_receipt_is_one_transaction_with_its_own_logs() {
        let read = read_receipt(&receipt()).unwrap();
        assert_eq!(read.block_number, 16);
        assert_eq!(read.gas_cost(), Some(63_000));
        assert_eq!((read.succeeded, read.logs.len()), (true, 1));
        let with = |edit: fn(&mut Value)| {
            let mut changed = receipt();
            edit(&mut changed);
            read_receipt(&changed)
        };
        let bad: [Edit; 12] = [
            |of| of["transactionHash"] = format!("0x{}", "09".repeat(32)).into(),
            |of| of["status"] = "0x2".into(),
            |of| of["status"] = Value::Null,
            |of| of["blockHash"] = Value::Null,
            |of| of["gasUsed"] = "0x05208".into(),
            |of| of["effectiveGasPrice"] = format!("0x1{}", "0".repeat(32)).into(),
            |of| of["l1Fee"] = "0x1".into(),
            |of| of["logs"][0]["removed"] = true.into(),
            |of| of["logs"][0]["blockHash"] = format!("0x{}", "09".repeat(32)).into(),
            |of| of["logs"][0]["topics"] = vec![format!("0x{}", "01".repeat(32)); 5].into(),
            |of| of["logs"] = json!([of["logs"][0], of["logs"][0]]),
            // Reverted, and yet with a log.
            |of| of["status"] = "0x0".into(),
        ];
        for (at, edit) in bad.into_iter().enumerate() {
            assert!(with(edit).is_err(), "{at}");
        }
        assert!(with(|of| of["l1Fee"] = "0x0".into()).is_ok());
        let reverted = with(|of| {
            of["status"] = "0x0".into();
            of["logs"] = json!([]);
        });
        assert!(!reverted.unwrap().succeeded);
    }

    #[test]
    fn blocks_of_one_hash_are_texts_of_what_differs() {
        let block = Block {
            number: 680,
            hash: Hash32([1; 32]),
            parent: Hash32([2; 32]),
            timestamp_s: 50,
            base_fee: 7,
        };
        let dearer = Block {
            base_fee: 8,
            ..block
        };
        let [first, second] = BlockAt::texts([&Some(block), &Some(dearer)]);
        assert!(first.starts_with("block 680 0x0101"), "{first}");
        assert!(first.ends_with(" with base fee 7"), "{first}");
        assert!(second.ends_with(" with base fee 8"), "{second}");
        let other = Block {
            hash: Hash32([3; 32]),
            ..dearer
        };
        let [first, second] = BlockAt::texts([&Some(block), &Some(other)]);
        assert!(!first.contains("with") && first != second, "{first}");
        assert_eq!(BlockAt::texts([&Some(block), &None])[1], "no block");
    }

    #[test]
    fn the_hash_of_a_sent_transaction_is_that_of_its_bytes() {
        let sent = SendRaw(vec![2, 0xc0]);
        let hash = Hash32(crate::keccak256(&[&sent.0]));
        let answer_with = |hash: Hash32| {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "result": hash.to_hex() }).to_string();
            answer(&sent, 1, body.as_bytes())
        };
        assert_eq!(answer_with(hash), Ok(Ok(hash)));
        assert!(answer_with(Hash32([1; 32])).is_err());
    }
}
