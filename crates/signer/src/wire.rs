//! Frames on the socket: two bytes of length, a version, a kind, and fields of fixed size; numbers are big-endian.
//!
//! A request has one frame and one answer. Everything is bounded before it is read, and a frame with a byte too many or
//! too few is refused: there is one way to write each request.

use std::io::{self, Read, Write};

use cambist_signing::{
    Address, CancelRequest, Field, Hash32, MAX_AMOUNT, OrderMessage, PoolExitMessage,
    PoolJoinMessage, PublicKey, Signature,
};

/// Version of the frames.
pub const VERSION: u8 = 1;
/// Most bytes of a request after its length.
pub const REQUEST_MAX: usize = 512;
/// Most bytes of an answer after its length.
pub const ANSWER_MAX: usize = 32_768;
/// Most bytes of a refusal's text.
const TEXT_MAX: usize = 400;
/// Most tokens of a pool transaction.
const TOKENS_MAX: usize = 2;

/// What can be asked of a signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Whose key it is.
    Identity,
    /// The limits and how much of each is used, as JSON.
    Limits,
    /// A signature of an order, or of a swap, whose message is that of an order.
    Order(OrderMessage),
    /// A signature of a join.
    Join(Address, PoolJoinMessage),
    /// A signature of an exit.
    Exit(Address, PoolExitMessage),
    /// A signature of a cancel.
    Cancel(CancelRequest),
}

/// What a signer answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Whose key it is.
    Identity(Identity),
    /// Limits and usage, as JSON.
    Limits(String),
    /// The signature.
    Signature(Signature),
    /// Nothing was signed.
    Refused(Refusal),
}

/// The account that a signer signs for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Account id.
    pub account_id: u32,
    /// Owner of the account.
    pub owner: Address,
    /// Exchange contract.
    pub exchange: Address,
    /// Chain id.
    pub chain_id: u64,
    /// Public key.
    pub public_key: PublicKey,
    /// Base URL that cancels are signed for.
    pub base_url: String,
}

/// Why nothing was signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {text}", word.name())]
pub struct Refusal {
    /// The rule.
    pub word: Word,
    /// The numbers compared, and the key of the signer's file.
    pub text: String,
}

macro_rules! words {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal;)+) => {
        /// The rule that refuses, in one word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Word { $($(#[$doc])* $variant = $code,)+ }

        impl Word {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            fn of(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

words! {
    /// The frame is not one of this version.
    Frame = 1, "frame";
    /// A kind of request that is never signed.
    Kind = 2, "kind";
    /// The caller is not one of the users of the file.
    Caller = 3, "caller";
    /// Too many connections.
    Busy = 4, "busy";
    /// Another account, owner or exchange.
    Account = 5, "account";
    /// A pair of tokens that is no market of the file.
    Market = 6, "market";
    /// A pool that is not in the file, or amounts or storage ids that do not fit it.
    Pool = 7, "pool";
    /// An amount that is zero or no amount of the interface.
    Amount = 8, "amount";
    /// A price beyond the bound.
    Price = 9, "price";
    /// A fee above the bound.
    Fee = 10, "fee";
    /// A counterparty is named.
    Taker = 11, "taker";
    /// The time of validity is over, or too far ahead.
    Ttl = 12, "ttl";
    /// The limit of what is signed and has not expired.
    Unexpired = 13, "unexpired";
    /// The limit of what is signed within a window.
    Window = 14, "window";
    /// Too many signatures that have not expired.
    Count = 15, "count";
    /// The clock is behind the newest signature.
    Clock = 16, "clock";
    /// The state cannot be written.
    State = 17, "state";
    /// Signing failed.
    Signing = 18, "signing";
}

/// Why a frame is none.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The other side closed the connection between two frames.
    #[error("the connection is closed")]
    Closed,
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// More bytes than a frame may have.
    #[error("a frame of {0} bytes")]
    TooLong(usize),
    /// The bytes are no frame of this version.
    #[error("{0}")]
    Malformed(&'static str),
    /// A request that this signer does not know.
    #[error("requests of kind {0} are not signed here")]
    Kind(u8),
}

mod kind {
    pub const IDENTITY: u8 = 1;
    pub const LIMITS: u8 = 2;
    pub const ORDER: u8 = 3;
    pub const JOIN: u8 = 4;
    pub const EXIT: u8 = 5;
    pub const CANCEL: u8 = 6;
    pub const SIGNATURE: u8 = 0x80;
    pub const REFUSED: u8 = 0x81;
}

/// Reads the bytes of a frame after its length.
///
/// # Errors
/// [`WireError::Closed`] if there is no first byte; otherwise the connection failed or the length is beyond `most`.
pub fn read_frame(from: &mut impl Read, most: usize) -> Result<Vec<u8>, WireError> {
    let mut length = [0; 2];
    loop {
        match from.read(&mut length[..1]) {
            Ok(0) => return Err(WireError::Closed),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    from.read_exact(&mut length[1..])?;
    let length = usize::from(u16::from_be_bytes(length));
    if length > most {
        return Err(WireError::TooLong(length));
    }
    let mut frame = vec![0; length];
    from.read_exact(&mut frame)?;
    Ok(frame)
}

/// Writes a frame with its length.
///
/// # Errors
/// The connection failed, or the frame is too long for one.
pub fn write_frame(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    let length = u16::try_from(frame.len()).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(2 + frame.len());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(frame);
    to.write_all(&bytes)
}

impl Request {
    /// The frame without its length.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Identity => Writer::new(kind::IDENTITY).0,
            Self::Limits => Writer::new(kind::LIMITS).0,
            Self::Order(order) => {
                let mut out = Writer::new(kind::ORDER);
                out.bytes(&order.exchange.0).u32(order.storage_id);
                out.u32(order.account_id);
                out.u16(order.sell_token).u16(order.buy_token);
                out.u128(order.sell_amount).u128(order.buy_amount);
                out.u32(order.valid_until).u16(order.max_fee_bips);
                out.u8(order.fill_by_buy.into()).bytes(&order.taker.0);
                out.0
            }
            Self::Join(pool, join) => {
                let mut out = Writer::new(kind::JOIN);
                out.bytes(&pool.0).bytes(&join.owner.0);
                out.amounts(&join.join_amounts).ids(&join.join_storage_ids);
                out.u128(join.mint_min_amount);
                out.u8(join.fee.is_some().into())
                    .u128(join.fee.unwrap_or(0));
                out.u32(join.valid_until);
                out.0
            }
            Self::Exit(pool, exit) => {
                let mut out = Writer::new(kind::EXIT);
                out.bytes(&pool.0).bytes(&exit.owner.0);
                out.u128(exit.burn_amount).u32(exit.burn_storage_id);
                out.amounts(&exit.exit_min_amounts).u128(exit.fee);
                out.u32(exit.valid_until);
                out.0
            }
            Self::Cancel(cancel) => {
                let mut out = Writer::new(kind::CANCEL);
                out.u32(cancel.account_id).bytes(&cancel.order_hash.0);
                out.text(&cancel.base_url);
                out.0
            }
        }
    }

    /// Reads a frame without its length.
    ///
    /// # Errors
    /// [`WireError::Kind`] for a request that is not one of these, [`WireError::Malformed`] for anything else.
    pub fn decode(frame: &[u8]) -> Result<Self, WireError> {
        let (kind, mut body) = Reader::open(frame)?;
        let request = match kind {
            kind::IDENTITY => Self::Identity,
            kind::LIMITS => Self::Limits,
            kind::ORDER => Self::Order(OrderMessage {
                exchange: body.address()?,
                storage_id: body.u32()?,
                account_id: body.u32()?,
                sell_token: body.u16()?,
                buy_token: body.u16()?,
                sell_amount: body.amount()?,
                buy_amount: body.amount()?,
                valid_until: body.u32()?,
                max_fee_bips: body.u16()?,
                fill_by_buy: body.flag()?,
                taker: body.address()?,
            }),
            kind::JOIN => Self::Join(
                body.address()?,
                PoolJoinMessage {
                    owner: body.address()?,
                    join_amounts: body.amounts()?,
                    join_storage_ids: body.ids()?,
                    mint_min_amount: body.amount()?,
                    fee: match (body.flag()?, body.amount()?) {
                        (true, fee) => Some(fee),
                        (false, 0) => None,
                        (false, _) => return Err(WireError::Malformed("a fee that is none")),
                    },
                    valid_until: body.u32()?,
                },
            ),
            kind::EXIT => Self::Exit(
                body.address()?,
                PoolExitMessage {
                    owner: body.address()?,
                    burn_amount: body.amount()?,
                    burn_storage_id: body.u32()?,
                    exit_min_amounts: body.amounts()?,
                    fee: body.amount()?,
                    valid_until: body.u32()?,
                },
            ),
            kind::CANCEL => Self::Cancel(CancelRequest {
                account_id: body.u32()?,
                order_hash: Hash32(body.array()?),
                base_url: body.text()?,
            }),
            other => return Err(WireError::Kind(other)),
        };
        body.end()?;
        Ok(request)
    }
}

impl Answer {
    /// The frame without its length.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Identity(identity) => {
                let mut out = Writer::new(kind::IDENTITY);
                out.u32(identity.account_id).bytes(&identity.owner.0);
                out.bytes(&identity.exchange.0);
                out.bytes(&identity.chain_id.to_be_bytes());
                out.bytes(&identity.public_key.x.to_be_bytes());
                out.bytes(&identity.public_key.y.to_be_bytes());
                out.text(&identity.base_url);
                out.0
            }
            Self::Limits(json) => {
                let mut out = Writer::new(kind::LIMITS);
                out.bytes(json.as_bytes());
                out.0
            }
            Self::Signature(signature) => {
                let mut out = Writer::new(kind::SIGNATURE);
                for part in [signature.rx(), signature.ry(), signature.s()] {
                    out.bytes(&part.to_be_bytes());
                }
                out.0
            }
            Self::Refused(refusal) => {
                let mut out = Writer::new(kind::REFUSED);
                out.u8(refusal.word as u8);
                let text: String = refusal.text.chars().take(TEXT_MAX / 4).collect();
                out.bytes(text.as_bytes());
                out.0
            }
        }
    }

    /// Reads a frame without its length.
    ///
    /// # Errors
    /// [`WireError::Malformed`] if it is no answer of this version.
    pub fn decode(frame: &[u8]) -> Result<Self, WireError> {
        let (kind, mut body) = Reader::open(frame)?;
        let answer = match kind {
            kind::IDENTITY => Self::Identity(Identity {
                account_id: body.u32()?,
                owner: body.address()?,
                exchange: body.address()?,
                chain_id: u64::from_be_bytes(body.array()?),
                public_key: PublicKey {
                    x: body.field()?,
                    y: body.field()?,
                },
                base_url: body.text()?,
            }),
            kind::LIMITS => Self::Limits(body.rest()?),
            kind::SIGNATURE => {
                let (rx, ry, s) = (body.field()?, body.field()?, body.field()?);
                let signature = Signature::new(rx, ry, s);
                Self::Signature(signature.map_err(|_| WireError::Malformed("no signature"))?)
            }
            kind::REFUSED => {
                let word = Word::of(body.u8()?).ok_or(WireError::Malformed("an unknown word"))?;
                let text = body.rest()?;
                Self::Refused(Refusal { word, text })
            }
            _ => return Err(WireError::Malformed("an unknown kind of answer")),
        };
        body.end()?;
        Ok(answer)
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn new(kind: u8) -> Self {
        Self(vec![VERSION, kind])
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn u8(&mut self, value: u8) -> &mut Self {
        self.bytes(&[value])
    }

    fn u16(&mut self, value: u16) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    fn u128(&mut self, value: u128) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    /// Lists are as long as the interface's are; a longer one is refused by its reader.
    fn amounts(&mut self, amounts: &[u128]) -> &mut Self {
        self.u8(u8::try_from(amounts.len()).unwrap_or(u8::MAX));
        for amount in amounts {
            self.u128(*amount);
        }
        self
    }

    fn ids(&mut self, ids: &[u32]) -> &mut Self {
        self.u8(u8::try_from(ids.len()).unwrap_or(u8::MAX));
        for id in ids {
            self.u32(*id);
        }
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.u8(u8::try_from(text.len()).unwrap_or(u8::MAX));
        self.bytes(text.as_bytes())
    }
}

const SHORT: WireError = WireError::Malformed("the frame ends too early");

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn open(frame: &'a [u8]) -> Result<(u8, Self), WireError> {
        let mut body = Reader(frame);
        if body.u8()? != VERSION {
            return Err(WireError::Malformed("another version of the frames"));
        }
        Ok((body.u8()?, body))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*first)
    }

    fn u8(&mut self) -> Result<u8, WireError> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_be_bytes)
    }

    fn amount(&mut self) -> Result<u128, WireError> {
        let amount = self.array().map(u128::from_be_bytes)?;
        if amount > MAX_AMOUNT {
            return Err(WireError::Malformed("an amount of more than 96 bits"));
        }
        Ok(amount)
    }

    fn address(&mut self) -> Result<Address, WireError> {
        self.array().map(Address)
    }

    fn field(&mut self) -> Result<Field, WireError> {
        self.array().map(Field::from_be_bytes)
    }

    fn flag(&mut self) -> Result<bool, WireError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::Malformed("a flag that is neither 0 nor 1")),
        }
    }

    fn count(&mut self) -> Result<usize, WireError> {
        let count = usize::from(self.u8()?);
        if count > TOKENS_MAX {
            return Err(WireError::Malformed("more tokens than a pool has"));
        }
        Ok(count)
    }

    fn amounts(&mut self) -> Result<Vec<u128>, WireError> {
        (0..self.count()?).map(|_| self.amount()).collect()
    }

    fn ids(&mut self) -> Result<Vec<u32>, WireError> {
        (0..self.count()?).map(|_| self.u32()).collect()
    }

    fn text(&mut self) -> Result<String, WireError> {
        let length = usize::from(self.u8()?);
        let (text, rest) = self.0.split_at_checked(length).ok_or(SHORT)?;
        self.0 = rest;
        utf8(text)
    }

    fn rest(&mut self) -> Result<String, WireError> {
        utf8(std::mem::take(&mut self.0))
    }

    fn end(self) -> Result<(), WireError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(WireError::Malformed("the frame has bytes too many"))
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<String, WireError> {
    let text = std::str::from_utf8(bytes).map_err(|_| WireError::Malformed("text is not UTF-8"))?;
    Ok(text.to_owned())
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
