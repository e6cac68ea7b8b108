//! Whether a token moves exactly what it is asked to: tried by a call that changes nothing, before anything is signed.
//!
//! `eth_call` can state other code for accounts ("state override"). The pair holds its tokens, so that code at its address
//! can move some of them to our account and have them sent back, and compare what both hold before, between and after.
//! Everything is undone with the end of the call. A token that keeps a part of transfers, from a pair or to it, moves
//! less than it was asked to; so does one whose balances are shares of something, which rounds.
//!
//! The code is assembled here, an instruction for each entry, and needs no instruction that a chain could lack.

use serde_json::{Value, json};

use crate::block::BlockTag;
use crate::rpc::Ask;
use crate::wire::{Data, to_data};
use crate::{Address, Malformed, U256};

/// Words that the code returns.
const WORDS: usize = 8;
/// Where in memory the first of them is.
const RESULTS: u16 = 0x100;

/// Instructions of the machine.
mod op {
    pub(super) const AND: u8 = 0x16;
    pub(super) const ADDRESS: u8 = 0x30;
    pub(super) const CALLDATALOAD: u8 = 0x35;
    pub(super) const POP: u8 = 0x50;
    pub(super) const MLOAD: u8 = 0x51;
    pub(super) const MSTORE: u8 = 0x52;
    pub(super) const GAS: u8 = 0x5a;
    /// Puts the next byte on the stack; those after it as many bytes more.
    pub(super) const PUSH1: u8 = 0x60;
    pub(super) const CALL: u8 = 0xf1;
    pub(super) const RETURN: u8 = 0xf3;
    pub(super) const STATICCALL: u8 = 0xfa;
}

/// Code that is being written.
#[derive(Default)]
struct Code(Vec<u8>);

impl Code {
    fn op(&mut self, op: u8) -> &mut Self {
        self.0.push(op);
        self
    }

    fn push(&mut self, number: u8) -> &mut Self {
        self.op(op::PUSH1).op(number)
    }

    fn push_2(&mut self, number: u16) -> &mut Self {
        self.op(op::PUSH1 + 1);
        self.0.extend(number.to_be_bytes());
        self
    }

    /// The first bytes of a call's data at 28, so that its arguments begin at 32.
    fn selector(&mut self, selector: [u8; 4]) -> &mut Self {
        self.op(op::PUSH1 + 3);
        self.0.extend(selector);
        self.push(0).op(op::MSTORE)
    }

    /// An argument of the call that runs this code.
    fn argument(&mut self, argument: Argument) -> &mut Self {
        self.push(argument as u8).op(op::CALLDATALOAD)
    }

    fn result(&mut self, at: u16) -> &mut Self {
        self.push_2(RESULTS + 32 * at)
    }

    /// What the account that runs this code, or the other one, holds of the token, as a result.
    fn balance(&mut self, of_other: bool, at: u16) {
        self.selector([0x70, 0xa0, 0x82, 0x31]);
        if of_other {
            self.argument(Argument::Other);
        } else {
            self.op(op::ADDRESS);
        }
        self.push(0x20).op(op::MSTORE);
        // 32 bytes come back; 36 are sent, from 28 on.
        self.push(0x20).result(at).push(0x24).push(0x1c);
        self.argument(Argument::Token).op(op::GAS);
        self.op(op::STATICCALL).op(op::POP);
    }

    /// Leaves on the stack whether the token was transferred to the other account: a token that returns nothing has, one
    /// that returns false or reverts has not.
    fn transfer(&mut self) -> &mut Self {
        self.selector([0xa9, 0x05, 0x9c, 0xbb]);
        self.argument(Argument::Other).push(0x20).op(op::MSTORE);
        self.argument(Argument::Amount).push(0x40).op(op::MSTORE);
        self.push(1).push(0x60).op(op::MSTORE);
        // 32 bytes come back, to 96; 68 are sent, from 28 on, with no coin.
        self.push(0x20).push(0x60).push(0x44).push(0x1c).push(0);
        self.argument(Argument::Token).op(op::GAS).op(op::CALL);
        self.push(0x60).op(op::MLOAD).op(op::AND)
    }
}

/// Where in the data of a call an argument is.
#[derive(Clone, Copy)]
enum Argument {
    Token = 0,
    Other = 0x20,
    Amount = 0x40,
}

/// The code of the receiver: transfers what the call states, and returns whether that was done.
pub fn returning_code() -> Vec<u8> {
    let mut code = Code::default();
    code.transfer().push(0).op(op::MSTORE);
    code.push(0x20).push(0).op(op::RETURN);
    code.0
}

/// The code of the holder: both balances, a transfer to the other account, both balances, a transfer back by it, and
/// both balances.
pub fn moving_code() -> Vec<u8> {
    let mut code = Code::default();
    code.balance(false, 0);
    code.balance(true, 1);
    code.transfer().result(2).op(op::MSTORE);
    code.balance(false, 3);
    code.balance(true, 4);
    code.argument(Argument::Token).push(0x20).op(op::MSTORE);
    code.op(op::ADDRESS).push(0x40).op(op::MSTORE);
    code.argument(Argument::Amount).push(0x60).op(op::MSTORE);
    code.push(0x20).result(5).push(0x60).push(0x20).push(0);
    code.argument(Argument::Other).op(op::GAS).op(op::CALL);
    code.result(5).op(op::MLOAD).op(op::AND);
    code.result(5).op(op::MSTORE);
    code.balance(false, 6);
    code.balance(true, 7);
    code.push_2(32 * 8).result(0).op(op::RETURN);
    code.0
}

/// `eth_call` with the code above: moves an amount of a token from its holder to another account and back.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// The token.
    pub token: Address,
    /// Holds it: the pair.
    pub holder: Address,
    /// Gets it and sends it back.
    pub other: Address,
    /// How much.
    pub amount: U256,
    /// After which block.
    pub at: BlockTag,
}

/// What a token did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Exactly what it was asked to.
    Exactly,
    /// Something else: an account got or lost another amount than was sent.
    Otherwise {
        /// What the transfer was of.
        sent: U256,
        /// What arrived at the other account.
        arrived: U256,
        /// What came back of the same amount.
        returned: U256,
    },
    /// It moved nothing, or the node does not run the code.
    Undecided,
}

impl Ask for Probe {
    const METHOD: &'static str = "eth_call";
    type Wire = Data;
    type Answer = Moved;

    fn params(&self) -> Value {
        let word = |address: Address| {
            let mut word = [0; 32];
            word[12..].copy_from_slice(&address.0);
            word
        };
        let amount = self.amount.to_be_bytes::<32>();
        let input = [word(self.token), word(self.other), amount].concat();
        json!([
            { "to": self.holder.to_hex(), "input": to_data(&input) },
            self.at.text(),
            {
                self.holder.to_hex(): { "code": to_data(&moving_code()) },
                self.other.to_hex(): { "code": to_data(&returning_code()) },
            },
        ])
    }

    fn read(&self, wire: Data) -> Result<Moved, Malformed> {
        let (words, []) = wire.0.as_chunks::<32>() else {
            return Ok(Moved::Undecided);
        };
        let Ok(words) = <[[u8; 32]; WORDS]>::try_from(words) else {
            return Ok(Moved::Undecided);
        };
        let words = words.map(U256::from_be_bytes::<32>);
        let [of_holder, of_other, done, left, got, back, again, rest] = words;
        let one = U256::from(1);
        if done != one || back != one || of_holder < self.amount {
            return Ok(Moved::Undecided);
        }
        let arrived = got.saturating_sub(of_other);
        let returned = again.saturating_sub(left);
        let is_exact = left.checked_add(self.amount) == Some(of_holder)
            && of_other.checked_add(self.amount) == Some(got)
            && again == of_holder
            && rest == of_other;
        Ok(if is_exact {
            Moved::Exactly
        } else {
            Moved::Otherwise {
                sent: self.amount,
                arrived,
                returned,
            }
        })
    }

    fn text(answer: &Moved) -> String {
        match answer {
            Moved::Exactly => "an exact transfer".to_owned(),
            Moved::Otherwise { .. } => "a transfer that is not exact".to_owned(),
            Moved::Undecided => "no transfer".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    /// The bytes that were tried on a node with published contracts (`tests/external/evm`).
    #[test]
    fn the_code_is_what_was_tried() {
        let moving = "6370a082316000523060205260206101006024601c6000355afa506370a0823160005260203560205260206101206024601c6000355afa5063a9059cbb6000526020356020526040356040526001606052602060606044601c60006000355af160605116610140526370a082316000523060205260206101606024601c6000355afa506370a0823160005260203560205260206101806024601c6000355afa506000356020523060405260403560605260206101a06060602060006020355af16101a051166101a0526370a082316000523060205260206101c06024601c6000355afa506370a0823160005260203560205260206101e06024601c6000355afa50610100610100f3";
        let returning = "63a9059cbb6000526020356020526040356040526001606052602060606044601c60006000355af16060511660005260206000f3";
        assert_eq!(hex::encode(moving_code()), moving);
        assert_eq!(hex::encode(returning_code()), returning);
    }

    #[test]
    fn only_what_arrives_and_returns_in_full_is_exact() {
        let probe = Probe {
            token: Address([1; 20]),
            holder: Address([2; 20]),
            other: Address([3; 20]),
            amount: U256::from(10),
            at: BlockTag::Latest,
        };
        let read = |words: [u64; 8]| {
            let words = words.map(|word| U256::from(word).to_be_bytes::<32>());
            probe.read(Data(words.concat())).unwrap()
        };
        assert_eq!(read([50, 4, 1, 40, 14, 1, 50, 4]), Moved::Exactly);
        let otherwise = |arrived: u64, returned: u64| Moved::Otherwise {
            sent: U256::from(10),
            arrived: U256::from(arrived),
            returned: U256::from(returned),
        };
        assert_eq!(read([50, 4, 1, 40, 13, 1, 50, 3]), otherwise(9, 10));
        assert_eq!(read([50, 4, 1, 40, 14, 1, 49, 4]), otherwise(10, 9));
        assert_eq!(read([50, 4, 1, 39, 14, 1, 49, 4]), otherwise(10, 10));
        // A sender that pays on top of what it sends.
        assert_eq!(read([50, 4, 1, 40, 14, 1, 50, 3]), otherwise(10, 10));
        for undecided in [
            [50, 4, 0, 50, 4, 1, 50, 4],
            [50, 4, 1, 40, 14, 0, 40, 14],
            [9, 4, 1, 40, 14, 1, 50, 4],
            [0; 8],
        ] {
            assert_eq!(read(undecided), Moved::Undecided, "{undecided:?}");
        }
        assert_eq!(probe.read(Data(Vec::new())), Ok(Moved::Undecided));
        assert_eq!(probe.read(Data(vec![1; 31])), Ok(Moved::Undecided));
        let params = probe.params();
        let overrides = params[2].as_object().unwrap();
        assert_eq!(overrides.len(), 2, "the pair and the account, no token");
    }
}
