//! Why bytes or text from outside were refused.
//!
//! No variant holds what was refused: it is chosen by others and may be large.

/// Something does not have the exact form that it must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// RLP that is truncated, not canonical, of another shape, or has bytes left over.
    #[error("RLP: {0}")]
    Rlp(&'static str),
    /// A transaction whose fields contradict each other or are out of range.
    #[error("transaction: {0}")]
    Transaction(&'static str),
    /// A transaction of another chain than the configured one.
    #[error("transaction of another chain")]
    ChainId,
    /// A signature without a signer: out of range, or s above half the group order.
    #[error("signature without a signer")]
    Signature,
    /// ABI words of another number or form.
    #[error("ABI: {0}")]
    Abi(&'static str),
    /// Text that is not `0x` and hexadecimal digits of the expected number.
    #[error("hexadecimal text: {0}")]
    Hex(&'static str),
    /// JSON of another shape than the method's answer.
    #[error("JSON-RPC: {0}")]
    Rpc(&'static str),
    /// A number that does not fit its type.
    #[error("number out of range")]
    Range,
}
