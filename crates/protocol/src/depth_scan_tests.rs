#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use cambist_core::{MarketId, MarketSpec, TokenId, TokenSpec};

use super::depth as scanned;
use crate::decode;

fn token(id: u16, symbol: &str, decimals: u8) -> TokenSpec {
    TokenSpec {
        id: TokenId(id),
        symbol: symbol.to_owned(),
        decimals,
        precision: 6,
        minimum: 1,
        maximum: 1 << 95,
        dust: 0,
        enabled: true,
    }
}

fn market(price_decimals: u8) -> MarketSpec {
    let (base, quote) = (token(1, "ETH", 18), token(2, "USDC", 6));
    MarketSpec::new(MarketId(3), "ETH-USDC", base, quote, price_decimals, true).unwrap()
}

/// What the reader with the tree makes of the bytes.
fn read(bytes: &[u8], spec: &MarketSpec) -> Option<cambist_core::request::Depth> {
    decode::depth(&decode::parse(bytes).ok()?, spec).ok()
}

fn body(bids: &str, asks: &str) -> String {
    format!(
        r#"{{"version":7,"timestamp":1700000000123,"market":"ETH-USDC","bids":[{bids}],"asks":[{asks}]}}"#
    )
}

const BIDS: &str = r#"["2500.10","1230000000000000000","3075123","2"],["2500","1","0","1"]"#;
const ASKS: &str =
    r#"["2500.2","340282366920938463463374607431768211","12345678901234567890","18"]"#;

#[test]
fn what_exchanges_write_is_read_in_one_pass() {
    let spec = market(2);
    let spaced = body(BIDS, ASKS)
        .replace(',', " ,\n\t")
        .replace(':', " : ")
        .replace('[', "[ ")
        .replace(']', " ]");
    let quoted = body(BIDS, ASKS).replace("1700000000123", "\"1700000000\"");
    let unnamed = body(BIDS, ASKS).replace("\"market\":\"ETH-USDC\",", "");
    for text in [
        body(BIDS, ASKS),
        body("", ""),
        body("", ASKS),
        spaced,
        quoted,
        unnamed,
    ] {
        let depth = scanned(text.as_bytes(), &spec);
        assert!(depth.is_some(), "{text}");
        assert_eq!(depth, read(text.as_bytes(), &spec), "{text}");
    }
}

#[test]
fn another_form_is_left_to_the_reader_with_errors() {
    let spec = market(2);
    let level = |price: &str, size: &str| body(&format!(r#"["{price}","{size}","1","1"]"#), "");
    for text in [
        level("2500.101", "1"),
        level("0", "1"),
        level("0.00", "1"),
        level("01", "1"),
        level("1.", "1"),
        level(".5", "1"),
        level("1e3", "1"),
        level("-1", "1"),
        level("1", "0"),
        level("1", "01"),
        level("1", ""),
        level("1", &"9".repeat(39)),
        level("1", &"9".repeat(40)),
        level("1", &"9".repeat(400)),
        level(&"9".repeat(20), "1"),
        body(r#"["1","1","1","1"],["1","1","1","1"]"#, ""),
        body("", r#"["2","1","1","1"],["1","1","1","1"]"#),
        body(r#"["1","1","1"]"#, ""),
        body(r#"["1","1","1","1","1"]"#, ""),
        body(BIDS, ASKS).replace("ETH-USDC", "BTC-USDC"),
        body(BIDS, ASKS).replace("\"version\":7", "\"version\":7,\"version\":7"),
        body(BIDS, ASKS).replace("\"version\":7,", ""),
        body(BIDS, ASKS).replace("1700000000123", "17"),
        body(BIDS, ASKS).replace("\"version\":7", "\"version\":-7"),
        body(BIDS, ASKS) + "x",
        body(BIDS, ASKS).replace('}', ""),
        String::new(),
        "[]".to_owned(),
    ] {
        assert_eq!(scanned(text.as_bytes(), &spec), None, "{text}");
    }
}

/// Bytes of a good body, changed at random: whatever is read in one pass is what the other reader reads.
#[test]
fn what_is_read_in_one_pass_is_what_the_tree_gives() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    let bytes = b"0123456789\"[],.:{} \\e-\x80a";
    let specs = [market(0), market(2), market(5)];
    let (mut read_here, mut refused_here) = (0, 0);
    for _ in 0..60_000 {
        let mut text = body(BIDS, ASKS).into_bytes();
        for _ in 0..random(3) {
            let at = random(text.len());
            match random(3) {
                0 => text[at] = bytes[random(bytes.len())],
                1 => text.insert(at, bytes[random(bytes.len())]),
                _ => {
                    text.remove(at);
                }
            }
        }
        let spec = &specs[random(specs.len())];
        match scanned(&text, spec) {
            Some(depth) => {
                let shown = String::from_utf8_lossy(&text).into_owned();
                assert_eq!(Some(depth), read(&text, spec), "{shown}");
                read_here += 1;
            }
            None => refused_here += 1,
        }
    }
    assert!(
        read_here > 5_000 && refused_here > 5_000,
        "{read_here} {refused_here}"
    );
}

/// Digits are read eight and sixteen at a time: numbers of every length are those of the other reader.
#[test]
fn numbers_of_every_length_are_read_alike() {
    let digits = "98765432109876543210987654321098765432109";
    let spec = market(2);
    for length in 1..=digits.len() {
        for shift in [0, 1] {
            let Some(number) = digits.get(shift..shift + length) else {
                continue;
            };
            let text = body(&format!(r#"["2500.1","{number}","1","1"]"#), "");
            let found = scanned(text.as_bytes(), &spec);
            assert_eq!(found.is_some(), length <= 38, "{number}");
            if found.is_some() {
                assert_eq!(found, read(text.as_bytes(), &spec), "{number}");
            }
        }
    }
    for (decimals, price, ticks) in [
        (0, "123456789", 123_456_789),
        (6, "1234567.890123", 1_234_567_890_123),
        (6, "1234567.8", 1_234_567_800_000),
        (6, "0.000001", 1),
    ] {
        let text = body(&format!(r#"["{price}","1","1","1"]"#), "");
        let depth = scanned(text.as_bytes(), &market(decimals)).unwrap();
        assert_eq!(depth.bids[0].price.0, ticks, "{price}");
    }
}

/// They are no part of a depth, and passed over without their value.
#[test]
fn volume_and_number_of_orders_have_the_form_of_numbers() {
    let spec = market(2);
    let of = |volume: &str, count: &str| {
        let text = body(&format!(r#"["1","5","{volume}","{count}"]"#), "");
        let depth = scanned(text.as_bytes(), &spec);
        // What is passed over here is what the other reader accepts.
        assert!(depth.is_none() || depth == read(text.as_bytes(), &spec));
        depth.is_some()
    };
    for digits in 1..=40 {
        let nines = "9".repeat(digits);
        assert_eq!(of(&nines, "1"), digits <= 38, "{digits}");
        assert_eq!(of("1", &nines), digits <= 19, "{digits}");
        let padded = format!("0{nines}");
        assert!(!of(&padded, "1") && !of("1", &padded), "{digits}");
        // Any byte that is no digit, wherever it is.
        for at in 0..digits {
            for other in ["/", ":", "-", ".", "e", "p", " "] {
                let mut wrong = nines.clone();
                wrong.replace_range(at..=at, other);
                assert!(!of(&wrong, "1") && !of("1", &wrong), "{wrong}");
            }
        }
    }
    assert!(of("0", "0") && !of("", "1") && !of("1", ""));
}

/// Numbers of every length and form, at the limits of 64 and 128 bits: whatever is read in one pass is what the other
/// reader reads, and what has at most nineteen digits on both sides of a point and fits is read here.
#[test]
fn numbers_of_all_forms_are_read_alike() {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let limits = [
        u128::from(u64::MAX),
        u128::from(u64::MAX) / 10,
        u128::from(u64::MAX) / 100,
        10_u128.pow(18),
        10_u128.pow(19),
        10_u128.pow(16),
        10_u128.pow(8),
        10_u128.pow(37),
        10_u128.pow(38),
        u128::MAX,
        u128::MAX / 10,
        1 << 96,
    ];
    let mut counts = [0_u32; 4];
    for _ in 0..ROUNDS {
        let digits = |random: &mut dyn FnMut(u64) -> u64, most: u64| -> String {
            let length = random(most + 1);
            let digit = |random: &mut dyn FnMut(u64) -> u64| match random(4) {
                0 => '0',
                1 => '9',
                _ => char::from(b'0' + u8::try_from(random(10)).unwrap()),
            };
            (0..length).map(|_| digit(random)).collect()
        };
        let number = |random: &mut dyn FnMut(u64) -> u64| match random(4) {
            0 => {
                let limit = limits[usize::try_from(random(limits.len() as u64)).unwrap()];
                let near = random(5);
                limit
                    .saturating_sub(2)
                    .saturating_add(near.into())
                    .to_string()
            }
            1 => digits(random, 45),
            2 => digits(random, 20).trim_start_matches('0').to_owned(),
            _ => digits(random, 9).trim_start_matches('0').to_owned(),
        };
        let mut price = number(&mut random);
        match random(5) {
            0 => {}
            1 => {
                // The digits of a number, with a point somewhere.
                let at = random(price.len() as u64 + 1);
                price.insert(usize::try_from(at).unwrap(), '.');
            }
            2 => price = format!("0.{}", number(&mut random)),
            _ => price = format!("{price}.{}", digits(&mut random, 20)),
        }
        let size = number(&mut random);
        let decimals = u8::try_from(random(21)).unwrap();
        let spec = MarketSpec {
            price_decimals: decimals,
            ..market(2)
        };
        let level = format!(r#"["{price}","{size}","1","1"]"#);
        let (version, time) = (number(&mut random), number(&mut random));
        let mut text = if random(2) == 0 {
            body(&level, "")
        } else {
            body("", &level)
        };
        if random(8) == 0 {
            text = text.replace(":7,", &format!(":{version},"));
        }
        if random(8) == 0 {
            text = text.replace("1700000000123", &time);
        }
        let (here, there) = (
            scanned(text.as_bytes(), &spec),
            read(text.as_bytes(), &spec),
        );
        counts[0] += u32::from(here.is_some());
        counts[1] += u32::from(there.is_some());
        if here.is_some() {
            assert_eq!(here, there, "{text}, {decimals} decimals");
        }
        let (whole, fraction) = price.split_once('.').unwrap_or((&price, "0"));
        let is_short = |digits: &str| (1..=19).contains(&digits.len());
        let is_plain = is_short(whole)
            && is_short(fraction)
            && decimals <= 18
            && (!price.contains('.') || fraction.len() <= usize::from(decimals))
            && (1..=38).contains(&size.len())
            && text.contains(":7,")
            && text.contains("1700000000123");
        if is_plain && let Some(depth) = there {
            assert_eq!(here, Some(depth), "{text}, {decimals} decimals");
            counts[2] += 1;
        }
        counts[3] += 1;
    }
    assert!(counts[0] > 100 && counts[2] > 100, "{counts:?}");
}

const ROUNDS: u32 = 100_000;
