//! The pool component by hand, and the whole against plain balances on random paths of all events.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::pool::PoolTransactionAmounts;
use cambist_core::{MarketId, PoolSpec, PoolTransactionKind, Side};

use super::*;
use crate::testing::{Random, fill, market, order, pool};

const ETH: u128 = 10u128.pow(18);
const USDC: u128 = 1_000_000;
/// At 2500.00.
const MID: u64 = 500_000;

fn books() -> MarketPnl {
    let mut pnl = MarketPnl::new(&market());
    pnl.add_pool(&pool());
    pnl
}

/// A pool of these whole tokens.
fn holds(eth: u128, usdc: u128, supply: u128) -> PoolBalances {
    PoolBalances::constant_product([eth * ETH, usdc * USDC], supply)
}

fn moved(
    kind: PoolTransactionKind,
    pooled: [u128; 2],
    lp: u128,
    fee: u128,
    mid: Option<u64>,
) -> PoolTransactionSettlement {
    let PoolSpec {
        pooled: tokens,
        lp: token,
        ..
    } = pool();
    PoolTransactionSettlement {
        order: order(1),
        market: MarketId(0),
        kind,
        pooled: tokens,
        lp: token.id,
        amounts: PoolTransactionAmounts { pooled, lp, fee },
        mid,
    }
}

fn join(eth: u128, usdc: u128, lp: u128, fee: u128) -> PoolTransactionSettlement {
    moved(
        PoolTransactionKind::Join,
        [eth * ETH, usdc * USDC],
        lp,
        fee,
        Some(MID),
    )
}

fn parts(pnl: &MarketPnl) -> [String; 5] {
    let made = pnl.attribution().unwrap();
    let pool = made.pool.unwrap();
    [
        made.holdings,
        pool.fee_income,
        pool.impermanent_loss,
        pool.move_costs,
        made.total,
    ]
    .map(|part| part.to_string())
}

#[test]
fn a_join_costs_its_fee_and_slippage() {
    let mut pnl = books();
    pnl.open(20 * ETH, 0);
    pnl.mid(MID);
    pnl.pool_holds(holds(100, 250_000, 1_000));
    // 2 ETH and 5000 USDC for 19 shares, which are due a fiftieth less, and a fee of 3.
    pnl.moved(&join(2, 5_000, 19, 3 * USDC));
    assert_eq!(parts(&pnl), ["0", "0", "0", "-503", "-503"]);
    assert_eq!(pnl.pool_worth(), Some(9_500 * USDC));
    assert_eq!(pnl.base(), Some(18 * 10i128.pow(18)));
}

#[test]
fn a_price_that_returns_loses_nothing_and_earns_fees() {
    let mut pnl = books();
    pnl.open(20 * ETH, 0);
    pnl.mid(MID);
    pnl.pool_holds(holds(100, 250_000, 1_000));
    pnl.moved(&join(10, 25_000, 100, 0));
    // Others trade the pool to four times the price, without fees: half the ETH, twice the USDC.
    pnl.mid(4 * MID);
    let held_only = parts(&pnl);
    assert_eq!(held_only[4], "150000", "20 ETH by 7500");
    pnl.pool_holds(holds(50, 500_000, 1_000));
    // 5 ETH and 50000 USDC instead of 10 and 25000: 100000 against 125000.
    assert_eq!(parts(&pnl), ["150000", "0", "-25000", "0", "125000"]);
    pnl.mid(MID);
    pnl.pool_holds(holds(100, 250_000, 1_000));
    assert_eq!(parts(&pnl), ["0", "0", "0", "0", "0"]);
    // Both reserves have grown by a twentieth: fees.
    pnl.pool_holds(holds(105, 262_500, 1_000));
    assert_eq!(parts(&pnl), ["0", "2500", "0", "0", "2500"]);
    // Both are now nineteen twentieths of the opening reserves.
    pnl.pool_holds(holds(95, 237_500, 1_000));
    assert_eq!(parts(&pnl), ["0", "-2500", "0", "0", "-2500"]);
}

#[test]
fn an_exit_keeps_the_components_and_the_rest_continues() {
    let mut pnl = books();
    pnl.open(20 * ETH, 0);
    pnl.mid(MID);
    pnl.pool_holds(holds(100, 250_000, 1_000));
    pnl.moved(&join(10, 25_000, 100, 0));
    pnl.mid(4 * MID);
    pnl.pool_holds(holds(50, 500_000, 1_000));
    let half = [5 * ETH / 2, 25_000 * USDC];
    pnl.moved(&moved(
        PoolTransactionKind::Exit,
        half,
        50,
        USDC,
        Some(4 * MID),
    ));
    assert_eq!(parts(&pnl), ["150000", "0", "-25000", "-1", "124999"]);
    // What was taken out is held, and the rest stays in the pool: 12.5 and 2.5 ETH.
    pnl.mid(4 * MID + 2_000);
    assert_eq!(parts(&pnl)[4], "125149", "15 ETH by 10");
}

#[test]
fn external_shares_are_no_profit_and_count_from_then_on() {
    let mut pnl = books();
    pnl.open(20 * ETH, 100);
    pnl.mid(MID);
    assert_eq!(pnl.attribution().unwrap().total.numerator, 0);
    assert_eq!(pnl.pool_worth(), None, "not known");
    pnl.pool_holds(holds(100, 250_000, 1_000));
    assert_eq!(pnl.pool_worth(), Some(50_000 * USDC));
    pnl.explain(pool().lp.id, 100);
    pnl.explain(TokenId(0), 10i128.pow(18));
    pnl.explain(TokenId(1), 777);
    assert_eq!(parts(&pnl)[4], "0", "deposits are no profit");
    pnl.mid(MID + 200);
    assert_eq!(parts(&pnl)[4], "41", "21 ETH held, 20 in the pool, by 1");
    pnl.explain(pool().lp.id, -200);
    pnl.explain(TokenId(0), -10i128.pow(18));
    assert_eq!(parts(&pnl)[4], "41", "withdrawals are no loss");
}

/// Plain balances and external flows.
struct Plain {
    base: i128,
    quote: i128,
    shares: i128,
    pool: Option<PoolBalances>,
    mid: Option<u64>,
    /// Equity at the first mid, plus all external flows since.
    start: Option<i128>,
    /// Base and quote of fills before the first mid.
    waiting: (i128, i128),
}

impl Plain {
    /// In 1/(2·10^14) quote units: a half tick of one base unit is one of them.
    fn equity(&self, shares: i128) -> i128 {
        let (mid, unit) = (i128::from(self.mid.unwrap()), 2 * 10i128.pow(14));
        let due = match &self.pool {
            Some(pool) if shares > 0 => {
                let due = cambist_core::shares::due(pool, shares.unsigned_abs()).unwrap();
                due.map(|amount| i128::try_from(amount).unwrap())
            }
            _ => [0, 0],
        };
        (self.base + due[0]) * mid + (self.quote + due[1]) * unit
    }

    fn explained(&mut self, worth: i128) {
        if let Some(start) = &mut self.start {
            *start += worth;
        }
    }
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one arm for each thing that can happen"
)]
fn profit_and_loss_is_the_change_of_equity_on_every_path() {
    let signed = |amount: u128| i128::try_from(amount).unwrap();
    for seed in 0..400 {
        let mut random = Random(seed);
        let mut pnl = books();
        // Opening shares are reported before or after the pool and the mid are known.
        let opened = [
            u128::from(random.below(50)) * ETH,
            u128::from(random.below(90)),
        ];
        pnl.open(opened[0], opened[1]);
        let mut plain = Plain {
            base: signed(opened[0]),
            quote: 0,
            shares: signed(opened[1]),
            pool: None,
            mid: None,
            start: None,
            waiting: (0, 0),
        };
        // Until both are known they count in no equity.
        let mut known = false;
        for _ in 0..80 {
            let now = known;
            match random.below(7) {
                0 | 1 => {
                    let mid = 400_000 + random.below(200_000);
                    pnl.mid(mid);
                    plain.mid = Some(mid);
                    if plain.start.is_none() {
                        plain.start = Some(plain.equity(0));
                        plain.base += plain.waiting.0;
                        plain.quote += plain.waiting.1;
                    }
                }
                2 | 3 => {
                    let supply = 1_000 + u128::from(random.below(1_000));
                    let state = PoolBalances::constant_product(
                        [
                            u128::from(random.next() >> 4) * 90 + 1,
                            u128::from(random.below(1 << 40)) + 1,
                        ],
                        supply,
                    );
                    pnl.pool_holds(state);
                    plain.pool = Some(state);
                }
                4 => {
                    let side = [Side::Buy, Side::Sell][usize::from(random.below(2) == 0)];
                    let price = 240_000 + random.below(20_000);
                    let made = fill(side, price, random.below(9_000), 0, plain.mid);
                    let made = Fill {
                        fee: u128::from(random.below(1 << 20)),
                        ..made
                    };
                    pnl.fill(&made);
                    let postings = Postings::of_fill(&market(), &made);
                    let (base, quote) = if plain.mid.is_none() {
                        (&mut plain.waiting.0, &mut plain.waiting.1)
                    } else {
                        (&mut plain.base, &mut plain.quote)
                    };
                    *base += postings.of(TokenId(0));
                    *quote += postings.of(TokenId(1));
                }
                5 if known => {
                    let lp = u128::from(random.below(40));
                    let kind = if random.below(2) == 0 || signed(lp) > plain.shares {
                        PoolTransactionKind::Join
                    } else {
                        PoolTransactionKind::Exit
                    };
                    let amounts = [
                        u128::from(random.next() >> 8),
                        u128::from(random.below(1 << 36)),
                    ];
                    let fee = u128::from(random.below(1 << 20));
                    pnl.moved(&moved(kind, amounts, lp, fee, None));
                    let way = if kind == PoolTransactionKind::Join {
                        -1
                    } else {
                        1
                    };
                    plain.base += way * signed(amounts[0]);
                    plain.quote += way * signed(amounts[1]) - signed(fee);
                    plain.shares -= way * signed(lp);
                }
                _ => {
                    let amount = signed(u128::from(random.below(1 << 60))) - (1 << 59);
                    let shares = i128::from(random.below(20));
                    pnl.explain(TokenId(0), amount);
                    pnl.explain(pool().lp.id, shares);
                    let before = plain
                        .mid
                        .map(|_| plain.equity(if now { plain.shares } else { 0 }));
                    plain.base += amount;
                    plain.shares += shares;
                    let after = plain
                        .mid
                        .map(|_| plain.equity(if now { plain.shares } else { 0 }));
                    if let Some((before, after)) = before.zip(after) {
                        plain.explained(after - before);
                    }
                }
            }
            if !known && plain.mid.is_some() && plain.pool.is_some() {
                known = true;
                let worth = plain.equity(plain.shares) - plain.equity(0);
                plain.explained(worth);
            }
            let made = pnl.attribution().unwrap();
            assert_eq!(made.sum(), Some(made.total), "seed {seed}");
            let Some(start) = plain.start else { continue };
            let equity = plain.equity(if known { plain.shares } else { 0 });
            assert_eq!(made.total.denominator, 2 * 10u64.pow(14));
            assert_eq!(made.total.numerator, equity - start, "seed {seed}");
        }
    }
}
