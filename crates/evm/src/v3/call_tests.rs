#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
use super::*;
use crate::v3::tick;

fn n(number: u64) -> U256 {
    U256::from(number)
}

fn at(number: i32) -> Tick {
    Tick::new(number).unwrap()
}

fn address(byte: u8) -> Address {
    Address([byte; 20])
}

fn mint() -> Call {
    Call::Mint {
        token0: address(1),
        token1: address(2),
        fee: n(3_000),
        lower: at(-60),
        upper: at(120),
        most0: n(5),
        most1: U256::MAX,
        least0: n(4),
        least1: n(0),
        recipient: address(3),
        deadline: n(1_900_000_000),
    }
}

fn leave() -> [Call; 2] {
    [
        Call::DecreaseLiquidity {
            position: n(7),
            liquidity: n(95),
            least0: n(90),
            least1: n(0),
            deadline: n(1_050),
        },
        Call::Collect {
            position: n(7),
            recipient: address(3),
            most0: n(u64::MAX),
            most1: n(u64::MAX),
        },
    ]
}

#[test]
fn selectors_are_those_of_the_published_interfaces() {
    // As listed by the contracts' published build files.
    for (known, data) in [
        ("88316456", mint().encode()),
        ("0c49ccbe", leave()[0].encode()),
        ("fc6f7865", leave()[1].encode()),
        ("ac9650d8", multicall(&leave())),
        ("99fbab88", Call::Positions { position: n(1) }.encode()),
        ("3850c7bd", Call::Slot0 {}.encode()),
        ("1a686502", Call::Liquidity {}.encode()),
        ("ddca3f43", Call::Fee {}.encode()),
        ("d0c93a7c", Call::TickSpacing {}.encode()),
        ("f30dba93", Call::Ticks { tick: at(0) }.encode()),
        ("5339c296", Call::TickBitmap { word: 0 }.encode()),
    ] {
        assert_eq!(hex::encode(&data[..4]), known);
    }
    for (signature, known) in [
        ("getPool(address,address,uint24)", "1698ee82"),
        (
            "increaseLiquidity((uint256,uint256,uint256,uint256,uint256,uint256))",
            "219f5d17",
        ),
        ("tokenOfOwnerByIndex(address,uint256)", "2f745c59"),
    ] {
        assert!(SIGNATURES.contains(&signature), "{signature}");
        assert_eq!(hex::encode(selector(signature)), known, "{signature}");
    }
    let selectors: std::collections::BTreeSet<_> =
        SIGNATURES.iter().map(|of| selector(of)).collect();
    assert_eq!(selectors.len(), SIGNATURES.len());
}

#[test]
fn a_call_has_one_form() {
    let data = mint().encode();
    assert_eq!(data.len(), 4 + 11 * WORD);
    assert_eq!(Call::read(&data), Ok(mint()));
    for cut in 0..data.len() {
        assert!(Call::read(&data[..cut]).is_err(), "cut at {cut}");
    }
    let word = |place: usize| 4 + WORD * place;
    let changed = |place: usize, to: u8| {
        let mut bytes = data.clone();
        bytes[place] = to;
        Call::read(&bytes)
    };
    // The lower tick is -60: its upper bytes are all ones; the upper one's are zeros.
    assert_eq!(data[word(3)], 0xff);
    assert_eq!(changed(word(3), 0), Err(Malformed::Range));
    assert_eq!(changed(word(4), 0xff), Err(Malformed::Range));
    assert!(changed(word(0), 1).is_err(), "an address of more bytes");
    let ticks = [tick::MIN, at(-1), at(0), tick::MAX];
    for each in ticks {
        let call = Call::Ticks { tick: each };
        assert_eq!(Call::read(&call.encode()), Ok(call));
    }
    for word in [i16::MIN, -1, 0, i16::MAX] {
        let call = Call::TickBitmap { word };
        assert_eq!(Call::read(&call.encode()), Ok(call));
    }
}

#[test]
fn several_calls_have_one_form() {
    let data = multicall(&leave());
    assert_eq!(read_multicall(&data), Ok(leave().to_vec()));
    assert_eq!(read_multicall(&multicall(&[])), Ok(Vec::new()));
    for cut in 0..data.len() {
        assert!(read_multicall(&data[..cut]).is_err(), "cut at {cut}");
    }
    let mut longer = data.clone();
    longer.push(0);
    assert!(read_multicall(&longer).is_err());
    // Every byte has one value: another call, another place, or padding that is not zero.
    for place in 0..data.len() {
        let mut bytes = data.clone();
        bytes[place] ^= 1;
        assert_ne!(read_multicall(&bytes), Ok(leave().to_vec()), "{place}");
    }
    let five: Vec<Call> = std::iter::repeat_n(leave()[0].clone(), 5).collect();
    assert!(read_multicall(&multicall(&five)).is_err(), "too many");
    assert_eq!(
        read_multicall(&mint().encode()),
        Err(Malformed::Abi("another function"))
    );
}

fn words(numbers: &[U256]) -> Vec<u8> {
    let each = numbers.iter().map(ruint::Uint::to_be_bytes::<WORD>);
    each.collect::<Vec<_>>().concat()
}

#[test]
fn a_price_has_the_tick_of_its_root() {
    let sqrt = at(-5).sqrt_price();
    let of = |sqrt: U256, tick: i128| {
        let rest = [n(0), n(1), n(1), n(0), n(1)];
        let all = [[sqrt, signed(tick)].as_slice(), &rest].concat();
        price(&words(&all))
    };
    let found = of(sqrt, -5).unwrap();
    assert_eq!((found.sqrt, found.tick), (sqrt, at(-5)));
    // A copy counts the protocol's part of fees in another unit, with 32 bits.
    let of_copy = |part: u64| {
        let all = [sqrt, signed(-5), n(0), n(1), n(1), n(part), n(1)];
        price(&words(&all))
    };
    assert_eq!(of_copy(209_718_400), of(sqrt, -5));
    assert!(of_copy(1 << 32).is_err());
    // Where it came down to the end of a range, the tick is the one below.
    assert_eq!(of(sqrt, -6).unwrap().tick, at(-6));
    assert!(of(sqrt, -7).is_err() && of(sqrt, -4).is_err());
    assert!(of(U256::ZERO, 0).is_err(), "not initialised");
    assert!(of(U256::from(1) << 160, 0).is_err());
    let short = [sqrt, signed(-5)];
    assert!(price(&words(&short)).is_err());
}

#[test]
fn results_are_read_in_their_form_only() {
    let full = [
        n(0),
        n(0),
        n(1),
        n(2),
        n(3_000),
        signed(-60),
        signed(120),
        n(99),
        U256::MAX,
        n(0),
        n(8),
        n(9),
    ];
    let found = position(&words(&full)).unwrap();
    let tokens = [1, 2].map(|byte| {
        let mut address = [0; 20];
        address[19] = byte;
        Address(address)
    });
    let expected = Position {
        operator: Address::ZERO,
        tokens,
        fee: 3_000,
        ticks: [at(-60), at(120)],
        liquidity: 99,
        owed: [8, 9],
    };
    assert_eq!(found, expected);
    let mut moved_by_others = full;
    moved_by_others[1] = n(7);
    let operator = position(&words(&moved_by_others)).unwrap().operator;
    assert_eq!(operator.0[19], 7);
    for (place, wrong) in [
        (2, U256::MAX),
        (4, n(1 << 24)),
        (5, signed(-887_273)),
        (7, U256::from(1) << 128),
        (11, U256::MAX),
    ] {
        let mut bad = full;
        bad[place] = wrong;
        assert!(position(&words(&bad)).is_err(), "{place}");
    }
    assert!(position(&words(&full[..11])).is_err());
    let spacing = |number| tick_spacing(&words(&[signed(number)]));
    assert_eq!((spacing(1), spacing(200)), (Ok(1), Ok(200)));
    assert!(spacing(0).is_err() && spacing(-60).is_err());
    assert_eq!(fee(&words(&[n(500)])), Ok(500));
    assert!(fee(&words(&[n(1 << 24)])).is_err());
    assert_eq!(collected(&words(&[n(8), n(0)])), Ok([8, 0]));
    for wrong in [&[n(8)][..], &[n(8); 3], &[U256::from(1) << 128, n(0)]] {
        assert!(collected(&words(wrong)).is_err());
    }
    assert_eq!(liquidity(&words(&[n(5)])), Ok(5));
    assert!(liquidity(&words(&[U256::from(1) << 128])).is_err());
    let net = |number| {
        let rest = [n(0), n(0), signed(-9), n(0), n(0), n(1)];
        liquidity_net(&words(&[[n(5), signed(number)].as_slice(), &rest].concat()))
    };
    assert_eq!((net(-5), net(5)), (Ok(-5), Ok(5)));
    assert!(liquidity_net(&words(&[n(5), signed(5)])).is_err());
}
