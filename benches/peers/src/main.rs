//! What `benches/run` measures beside other implementations: one section of docs/benchmarks.md for each command.
//!
//! Times are of a CPU clock. The implementations take turns in short rounds, so that a busy machine slows all of them
//! alike; tables show medians and ratios. In `signing` the second peer has the same curve with other parameters of the
//! hash, of which it takes at most seven inputs: it cannot hash an order.

mod backtest;
mod daemon;
mod decision;
mod matching;
mod measure;
mod plain;
mod recovery;
mod year;

use std::hint::black_box;

use ark_ed_on_bn254::Fq;
use ark_ff::{BigInteger, PrimeField};
use cambist_signing::{Address, Field, OrderMessage, SecretKey, Signature};
use cpu_time::ProcessTime;
use num_bigint::BigInt;

const BATCHES: usize = 41;
const PER_BATCH: u64 = 20;

/// One measured operation: its row, its column, and what to do with the n-th input.
struct Subject<'a> {
    row: &'static str,
    column: usize,
    run: Box<dyn FnMut(u64) + 'a>,
    batches: Vec<f64>,
}

fn subject<'a, T>(
    row: &'static str,
    column: usize,
    mut run: impl FnMut(u64) -> T + 'a,
) -> Subject<'a> {
    Subject {
        row,
        column,
        run: Box::new(move |n| drop(black_box(run(black_box(n))))),
        batches: vec![],
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    match arguments.first().map(String::as_str) {
        None | Some("signing") => signing(),
        Some("matching") => matching::run(),
        Some("backtest") => backtest::run(rest),
        Some("backtest-process") => backtest::process(rest),
        Some("decision") => decision::run(),
        Some("daemon") => daemon::demo(rest),
        Some("recovery") => recovery::run(rest),
        Some("worlds") => daemon::worlds(rest),
        Some("year") => year::run(rest),
        Some("year-process") => year::process(rest),
        Some(other) => {
            panic!("{other}: signing, matching, backtest, year, decision, daemon or worlds")
        }
    }
}

fn signing() {
    let key = SecretKey::from_hex("0x3039").expect("in range");
    let public = key.public();
    let prepared = public.prepare();
    let plain_key = plain::Key::new(0x3039);
    let plain_order = plain::Poseidon::new(12, 53);
    let other_key = babyjubjub_rs::PrivateKey::import(vec![7; 32]).expect("32 bytes");
    let other_public = other_key.public();

    agree(&key, &plain_key, &plain_order);

    let message = order(1).hash().message();
    let element = to_element(message);
    let number = BigInt::parse_bytes(message.to_decimal().as_bytes(), 10).expect("decimal");
    let signature = key.sign(&message).expect("signed");
    let plain_signature = plain_key.sign(element);
    let other_signature = other_key.sign(number.clone()).expect("signed");

    let mut subjects = vec![
        subject("hash order", 0, |n| order(n).hash()),
        subject("hash order", 1, |n| plain_order.hash(&inputs(&order(n)))),
        subject("hash + sign", 0, |n| {
            key.sign_unchecked(&order(n).hash().message())
        }),
        subject("hash + sign", 1, |n| {
            plain_key.sign(plain_order.hash(&inputs(&order(n))))
        }),
        subject("sign", 0, |n| {
            key.sign_unchecked(&Field::from(u128::from(n)))
        }),
        subject("sign", 1, |n| plain_key.sign(Fq::from(n))),
        subject("sign", 2, |n| other_key.sign(BigInt::from(n))),
        subject("hash + sign + check", 0, |n| {
            key.sign(&order(n).hash().message())
        }),
        subject("verify", 0, |_| public.verify(&message, &signature)),
        subject("verify", 1, |_| plain_key.verify(element, &plain_signature)),
        subject("verify", 2, |_| {
            let copy = babyjubjub_rs::Signature {
                r_b8: other_signature.r_b8.clone(),
                s: other_signature.s.clone(),
            };
            babyjubjub_rs::verify(other_public.clone(), copy, number.clone())
        }),
        subject("verify, prepared key", 0, |_| {
            prepared.verify(&message, &signature)
        }),
        subject("prepare key", 0, |_| public.prepare()),
        subject("read secret key", 0, |_| SecretKey::from_hex("0x3039")),
    ];
    for batch in 0..BATCHES as u64 {
        for subject in &mut subjects {
            let start = ProcessTime::now();
            for n in 0..PER_BATCH {
                (subject.run)(batch * PER_BATCH + n);
            }
            subject
                .batches
                .push(start.elapsed().as_secs_f64() * 1e6 / PER_BATCH as f64);
        }
    }
    print(&mut subjects);
}

fn print(subjects: &mut [Subject<'_>]) {
    let mut rows: Vec<(&str, [Option<f64>; 3])> = vec![];
    for subject in subjects {
        subject.batches.sort_by(f64::total_cmp);
        let median = subject.batches[subject.batches.len() / 2];
        if rows.last().is_none_or(|(row, _)| *row != subject.row) {
            rows.push((subject.row, [None; 3]));
        }
        rows.last_mut().expect("just pushed").1[subject.column] = Some(median);
    }
    println!("CPU time, medians of {BATCHES} batches of {PER_BATCH} in turns.\n");
    println!("| | cambist | arkworks, plain | babyjubjub-rs |\n|---|---|---|---|");
    for (row, columns) in rows {
        let own = columns[0].unwrap_or(f64::NAN);
        let peer = |value: Option<f64>| {
            value.map_or("–".to_owned(), |value| {
                format!("{value:.1} µs (× {:.1})", value / own)
            })
        };
        println!(
            "| {row} | {own:.1} µs | {} | {} |",
            peer(columns[1]),
            peer(columns[2])
        );
    }
}

/// The plain implementation must compute the same hashes and signatures that are accepted here.
fn agree(key: &SecretKey, plain_key: &plain::Key, plain_order: &plain::Poseidon) {
    for n in 0..5 {
        let hash = order(n).hash();
        let element = plain_order.hash(&inputs(&order(n)));
        assert_eq!(to_element(hash.message()), element);
        let theirs = plain_key.sign(element);
        assert!(plain_key.verify(element, &theirs));
        let field = |bytes: Vec<u8>| Field::from_be_bytes(bytes.try_into().expect("32 bytes"));
        let parts = [
            theirs.x.into_bigint(),
            theirs.y.into_bigint(),
            theirs.s.into_bigint(),
        ];
        let [x, y, s] = parts.map(|part| field(part.to_bytes_be()));
        let signature = Signature::new(x, y, s).expect("canonical");
        assert!(key.public().verify(&hash.message(), &signature));
        assert_eq!(key.sign(&hash.message()).expect("signed").rx(), x);
    }
}

fn to_element(field: Field) -> Fq {
    Fq::from_be_bytes_mod_order(&field.to_be_bytes())
}

fn order(n: u64) -> OrderMessage {
    OrderMessage {
        exchange: Address([0x42; 20]),
        storage_id: n as u32 * 2,
        account_id: 10_001,
        sell_token: 1,
        buy_token: 0,
        sell_amount: 1_000_000_000_000_000_000 + u128::from(n),
        buy_amount: 2_000_000_000,
        valid_until: 1_900_000_000,
        max_fee_bips: 20,
        fill_by_buy: n.is_multiple_of(2),
        taker: Address::ZERO,
    }
}

fn inputs(order: &OrderMessage) -> Vec<Fq> {
    vec![
        Fq::from_be_bytes_mod_order(&order.exchange.0),
        Fq::from(order.storage_id),
        Fq::from(order.account_id),
        Fq::from(order.sell_token),
        Fq::from(order.buy_token),
        Fq::from(order.sell_amount),
        Fq::from(order.buy_amount),
        Fq::from(order.valid_until),
        Fq::from(order.max_fee_bips),
        Fq::from(order.fill_by_buy),
        Fq::from_be_bytes_mod_order(&order.taker.0),
    ]
}
