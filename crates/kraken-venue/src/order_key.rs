//! The key by which the engine knows an order ([`Hash`]), and the name that the venue echoes.
//!
//! Kraken names an order only after taking it, and echoes one name of ours: `cl_ord_id`, a UUID of 128 bits
//! (specification, `AddOrder`). An own order's key is that UUID; it encodes the client order id, so that an order is
//! recognised without any state. An order of others has no such name; its key holds its transaction id.

use cambist_core::{ClientOrderId, Hash, StrategyId};

/// Marks UUIDs of this program: the 18 bits that remain beside instance, strategy, number, version and variant.
const TAG: u32 = 0x2_ca3b;
/// Version (4) and variant (binary 10) of a UUID, as RFC 9562 places them.
const VERSION: u128 = 0x4 << 76;
const VARIANT: u128 = 0b10 << 62;
/// First byte of the key of an order of others; own keys begin with zeros.
const OTHERS: u8 = 1;

/// The UUID of an own order: instance (32 bits), 16 bits of the tag, version, 2 bits of the tag and 2 of zeros,
/// strategy (8), variant, and the number's lower 62 bits. A number that needs more bits has none.
fn uuid_of(id: ClientOrderId) -> Option<u128> {
    if id.number >> 62 != 0 {
        return None;
    }
    let tag = u128::from(TAG);
    Some(
        u128::from(id.instance) << 96
            | (tag >> 2) << 80
            | VERSION
            | (tag & 0b11) << 74
            | u128::from(id.strategy.0) << 64
            | VARIANT
            | u128::from(id.number),
    )
}

fn id_of(uuid: u128) -> Option<ClientOrderId> {
    let bits = |shift: u32, count: u32| uuid >> shift & ((1 << count) - 1);
    let id = ClientOrderId {
        instance: u32::try_from(bits(96, 32)).ok()?,
        strategy: StrategyId(u8::try_from(bits(64, 8)).ok()?),
        number: u64::try_from(bits(0, 62)).ok()?,
    };
    (uuid_of(id) == Some(uuid)).then_some(id)
}

/// The key of an own order. `None` if its number has more than 62 bits.
pub fn key_of(id: ClientOrderId) -> Option<Hash> {
    uuid_of(id).map(key_of_uuid)
}

fn key_of_uuid(uuid: u128) -> Hash {
    let mut key = [0; 32];
    key[16..].copy_from_slice(&uuid.to_be_bytes());
    Hash(key)
}

/// The `cl_ord_id` of a key; `None` for the key of an order without one.
pub fn cl_ord_id(key: Hash) -> Option<String> {
    let (zeros, uuid) = key.0.split_at(16);
    if zeros.iter().any(|byte| *byte != 0) {
        return None;
    }
    let uuid = u128::from_be_bytes(uuid.try_into().ok()?);
    let text = format!("{uuid:032x}");
    Some(format!(
        "{}-{}-{}-{}-{}",
        &text[..8],
        &text[8..12],
        &text[12..16],
        &text[16..20],
        &text[20..]
    ))
}

/// The client order id of a `cl_ord_id`; `None` if it is not one of this program's.
pub fn client_order_id(cl_ord_id: &str) -> Option<ClientOrderId> {
    let dashes: Vec<_> = cl_ord_id.match_indices('-').map(|(at, _)| at).collect();
    let is_lower = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-');
    if cl_ord_id.len() != 36 || dashes != [8, 13, 18, 23] || !cl_ord_id.bytes().all(is_lower) {
        return None;
    }
    id_of(u128::from_str_radix(&cl_ord_id.replace('-', ""), 16).ok()?)
}

/// The key of an order of others, from its transaction id (`OQCLML-BW3P3-BUCMWZ`). `None` if the text is empty, longer
/// than 30 bytes or not ASCII.
pub fn key_of_txid(txid: &str) -> Option<Hash> {
    let bytes = txid.as_bytes();
    if bytes.is_empty() || bytes.len() > 30 || !txid.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let mut key = [0; 32];
    key[0] = OTHERS;
    key[1] = u8::try_from(bytes.len()).ok()?;
    key[2..2 + bytes.len()].copy_from_slice(bytes);
    Some(Hash(key))
}

/// The transaction id of the key of an order of others.
pub fn txid(key: Hash) -> Option<String> {
    let length = usize::from(key.0[1]);
    let text = key.0.get(2..2 + length)?;
    let text = std::str::from_utf8(text).ok()?;
    (key_of_txid(text) == Some(key)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    fn id(instance: u32, strategy: u8, number: u64) -> ClientOrderId {
        ClientOrderId {
            instance,
            strategy: StrategyId(strategy),
            number,
        }
    }

    #[test]
    fn a_client_order_id_is_a_uuid_and_read_back() {
        let most = (1 << 62) - 1;
        for id in [
            id(0, 0, 0),
            id(0xdead_beef, 7, 123_456),
            id(u32::MAX, u8::MAX, most),
        ] {
            let name = cl_ord_id(key_of(id).unwrap()).unwrap();
            assert_eq!(client_order_id(&name), Some(id), "{name}");
            assert_eq!(name.as_bytes()[14], b'4', "version: {name}");
            assert!(
                matches!(name.as_bytes()[19], b'8'..=b'b'),
                "variant: {name}"
            );
        }
        let name = cl_ord_id(key_of(id(0xdead_beef, 7, 123_456)).unwrap()).unwrap();
        assert_eq!(name, "deadbeef-b28e-4c07-8000-00000001e240");
        assert_eq!(key_of(id(0, 0, most + 1)), None);
    }

    #[test]
    fn every_other_uuid_is_one_of_others() {
        let ours = "deadbeef-b28e-4c07-8000-00000001e240";
        assert!(client_order_id(ours).is_some());
        for other in [
            "",
            "6d1b345e-2821-40e2-ad83-4ecb18a06876",
            "deadbeef-b28f-4c07-8000-00000001e240",
            "deadbeef-b28e-4807-8000-00000001e240",
            "deadbeef-b28e-4d07-8000-00000001e240",
            "deadbeef-b28e-5c07-8000-00000001e240",
            "deadbeef-b28e-4c07-c000-00000001e240",
            &ours.to_uppercase(),
            &ours.replace('-', ""),
            "deadbeef-b28e-4c07-8000-00000001e24",
            "+eadbeef-b28e-4c07-8000-00000001e240",
        ] {
            assert_eq!(client_order_id(other), None, "{other}");
        }
    }

    #[test]
    fn orders_of_others_are_known_by_their_transaction_id() {
        let key = key_of_txid("OQCLML-BW3P3-BUCMWZ").unwrap();
        assert_eq!(txid(key).as_deref(), Some("OQCLML-BW3P3-BUCMWZ"));
        assert_eq!(cl_ord_id(key), None);
        let own = key_of(id(1, 2, 3)).unwrap();
        assert_eq!(txid(own), None);
        assert_eq!(txid(Hash([0xff; 32])), None);
        for unusable in ["", "O\u{e4}", "a b", &"O".repeat(31)] {
            assert_eq!(key_of_txid(unusable), None, "{unusable}");
        }
        assert!(key_of_txid(&"O".repeat(30)).is_some());
    }
}
