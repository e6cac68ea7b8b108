//! Rounds against an exhaustive search, their limits, and that an open leg is closed from what is held.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use cambist_core::Side::{Buy, Sell};
use cambist_core::strategy::{BookLevel, WantedSwap};
use cambist_core::swap;
use cambist_core::swap::paid_for;

use super::*;
use crate::testing::{Random, Sample, Scene, market, own, pool, text, there};

/// Samples for the tests of the registry: at its target, and with an open leg.
pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        table: "base_target = 11\nround_amount_max = 0.2\nprofit_min_bps = 5\nunwind_bps = 30\n",
        changes: &[
            ("base_target", "11.5"),
            ("round_amount_max", "0.1"),
            ("profit_min_bps", "500"),
            ("book", "\"there:ETH-USDC\""),
        ],
        reasons: &["no_fair_price", "strategy_skew"],
    },
    Sample {
        table: "base_target = 10.9\nround_amount_max = 0.2\nprofit_min_bps = 5\nunwind_bps = 30\n",
        changes: &[("unwind_bps", "40"), ("tolerance", "0.15")],
        reasons: &["no_fair_price", "not_configured", "strategy_skew"],
    },
];

const ETH: u128 = 10u128.pow(18);

fn strategy(table: &str) -> PoolArb {
    let params = Params::read(INFO.parameters, &table.parse().unwrap()).unwrap();
    PoolArb::new(&params, &market()).unwrap()
}

fn usual() -> PoolArb {
    strategy("base_target = 11\nround_amount_max = 0.6\nprofit_min_bps = 5\nunwind_bps = 30\n")
}

/// 11 ETH and 26,000 USDC, a book around 2,500 and a pool beside it, whose price is `bps` away.
fn apart(bps: i128) -> Scene {
    let mut scene = Scene::new(249_900, 250_100, 11, 26_000);
    let mut beside = pool(0);
    let more = beside.quote.cast_signed() * bps / 10_000;
    beside.quote = (beside.quote.cast_signed() + more).cast_unsigned();
    scene.pool = Some(beside);
    scene
}

#[test]
fn a_round_begins_with_its_swap_where_both_legs_earn() {
    let decide = |bps| apart(bps).decide(&mut usual());
    // 20 bps of the pool, 10 of each leg, 4 to the touch, and 5 to keep: nothing is earned within 50.
    for bps in [-30, 0, 30] {
        assert_eq!(text(&decide(bps)), "", "{bps}");
    }
    let dear = decide(300).wanted_swap().unwrap();
    assert_eq!((dear.side, dear.sell), (Sell, 599_400_000_000_000_000));
    let cheap = decide(-300).wanted_swap().unwrap();
    assert_eq!(cheap.side, Buy);
    assert!(cheap.least * 1_000 / 999 >= 6 * ETH / 10 * 99 / 100);
    assert!(decide(300).quotes().is_empty() && decide(-300).quotes().is_empty());
}

/// A swap at its limit, and the other leg at the levels that were read: what is left is the least profit.
#[test]
fn at_the_limit_of_its_swap_a_round_keeps_its_least_profit() {
    for bps in [80, 100, 300, -80, -100, -300] {
        let scene = apart(bps);
        let strategy = usual();
        let view = scene.view();
        let beside = scene.pool.unwrap();
        let (side, outcome) = strategy
            .round(&view, &beside, &PoolArb::beside(&view, &beside), (Buy, 0))
            .unwrap();
        let wanted = scene.decide(&mut usual()).wanted_swap().unwrap();
        let fee = |bought: u128| bought.div_ceil(1_000);
        let profit = match side {
            Sell => (wanted.least - fee(wanted.least)).checked_sub(outcome.cost),
            Buy => {
                let base = wanted.least - fee(wanted.least);
                let lots = scene.market.lots_floor(base);
                let quote = scene.market.quote_amount(Price(249_900), lots).unwrap();
                (quote - fee(quote)).checked_sub(wanted.sell)
            }
        };
        let keep = strategy.keep(&outcome);
        // The base below a lot stays.
        let lot = scene.market.quote_amount(Price(249_900), Qty(1)).unwrap();
        assert!(profit.unwrap() + lot >= keep, "{bps}: {profit:?} {keep}");
        // The engine accepts no less than its slippage.
        assert!(
            wanted.least >= swap::least(outcome.paid, 50).unwrap(),
            "{bps}"
        );
        assert!(wanted.least <= outcome.paid, "{bps}");
    }
}

/// Base that the pool does not pay is missing at whichever level is sold to last: it is counted at the best one.
#[test]
fn what_a_swap_may_lack_is_counted_at_the_best_bid() {
    let mut bounded = 0;
    for bps in (-80..-40).step_by(2) {
        let mut scene = apart(bps);
        let level = |price, qty| BookLevel {
            price: Price(price),
            qty: Qty(qty),
        };
        scene.bids = vec![level(249_900, 4_000), level(200_000, 6_000)];
        let view = scene.view();
        let beside = scene.pool.unwrap();
        let round = Round::new(PoolArb::beside(&view, &beside).book, &beside, Buy);
        let Some(outcome) = round.best(4_000) else {
            continue;
        };
        let swap = round.swap(&outcome, 0).unwrap();
        let lowest = swap::least(outcome.paid, 50).unwrap();
        let lot = scene.market.quote_amount(Price(249_900), Qty(1)).unwrap();
        let given = outcome.profit().unwrap() * scene.market.lot / lot;
        assert_eq!(swap.least, (outcome.paid - given).max(lowest), "{bps}");
        bounded += u32::from(swap.least > lowest);
    }
    assert!(bounded > 3, "{bounded}");
}

/// Books of a few levels and pools anywhere near them: no number of lots earns more than rounding beyond the found one.
#[test]
fn no_other_number_of_lots_earns_more() {
    let (mut rounds, mut inner) = (0, 0);
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut scene = apart(i128::from(random.below(600)) - 300);
        let mut levels = |best: u64, away: fn(u64, u64) -> u64| {
            (0..=random.below(5))
                .map(|level| BookLevel {
                    price: Price(away(best, level * (1 + random.below(40)))),
                    qty: Qty(1 + random.below(60)),
                })
                .collect::<Vec<_>>()
        };
        scene.bids = levels(249_900, |best, by| best - by);
        scene.asks = levels(250_100, |best, by| best + by);
        scene
            .bids
            .sort_by_key(|level| std::cmp::Reverse(level.price.0));
        scene.asks.sort_by_key(|level| level.price.0);
        // A small pool, so that the optimum is often within the book.
        let beside = scene.pool.as_mut().unwrap();
        let part = [1, 100, 2_000][usize::try_from(seed % 3).unwrap()];
        (beside.base, beside.quote) = (beside.base / part, beside.quote / part);
        let beside = *beside;
        let view = scene.view();
        for side in [Buy, Sell] {
            let round = Round::new(PoolArb::beside(&view, &beside).book, &beside, side);
            let most = 1 + random.below(250);
            let profit = |lots: u64| {
                round
                    .of(lots)
                    .and_then(|outcome| outcome.profit())
                    .unwrap_or(0)
            };
            let best = (1..=most).map(profit).max().unwrap_or(0);
            let found = round.best(most);
            let earned = found.and_then(|found| found.profit()).unwrap_or(0);
            assert!(
                earned + 4 >= best,
                "{seed} {side:?}: {earned} of {best}, {found:?}"
            );
            rounds += u32::from(found.is_some());
            inner += u32::from(found.is_some_and(|found| found.lots > 1 && found.lots < most));
        }
    }
    assert!(rounds > 100 && inner > 30, "{rounds} {inner}");
}

/// The pool is so large that every lot costs the same, rounded up once, and no venue takes a fee.
#[test]
fn a_lot_that_brings_what_it_costs_is_left() {
    let mut scene = apart(0);
    let bids = [(250_002, 2), (250_000, 5)];
    let bids = bids.map(|(price, qty)| BookLevel {
        price: Price(price),
        qty: Qty(qty),
    });
    scene.bids = bids.to_vec();
    let mut beside = pool(0);
    (beside.base, beside.quote) = (beside.base * 500_000_000, beside.quote * 500_000_000);
    (beside.swap.fee_bips, beside.swap.taker_fee_bips) = (0, 0);
    let view = scene.view();
    let mut book = PoolArb::beside(&view, &beside).book;
    book.fee_bips = 0;
    let round = Round::new(book, &beside, Buy);
    let costs = [2, 3].map(|lots| round.of(lots).unwrap().cost);
    assert_eq!(costs, [500_001, 750_001]);
    assert_eq!(round.best(7).map(|found| found.lots), Some(2));
}

#[test]
fn the_amounts_of_a_round_meet() {
    let scene = apart(0);
    let view = scene.view();
    let beside = scene.pool.unwrap();
    // What is bought from the pool, less the fee, is what the bids take.
    let bought = Round::new(PoolArb::beside(&view, &beside).book, &beside, Buy)
        .of(6_000)
        .unwrap();
    let paid = paid_for(bought.sold, beside.quote, beside.base, 20).unwrap();
    assert_eq!(paid, bought.paid);
    let net = paid - paid.div_ceil(1_000);
    assert!(
        net >= 6 * ETH / 10 && net < 6 * ETH / 10 + 10u128.pow(15),
        "{net}"
    );
    // What the asks bring, less the fee, is what is sold to the pool.
    let sold = Round::new(PoolArb::beside(&view, &beside).book, &beside, Sell)
        .of(6_000)
        .unwrap();
    assert_eq!(sold.sold, 6 * ETH / 10 * 999 / 1_000);
    assert_eq!(sold.cost, 6_000 * 250_100);
    // The venue keeps whole units, rounded up.
    assert!(!sold.paid.is_multiple_of(1_000), "{}", sold.paid);
    assert_eq!(sold.revenue, sold.paid - sold.paid.div_ceil(1_000));
    let none = Round::new(PoolArb::beside(&view, &beside).book, &beside, Sell).of(10_001);
    assert_eq!(none, None, "the book does not hold it");
}

#[test]
fn a_round_is_within_funds_and_limits() {
    let lots = |scene: &Scene| {
        let swap = scene.decide(&mut usual()).wanted_swap()?;
        Some(scene.market.lots_floor(swap.sell).0)
    };
    assert_eq!(lots(&apart(300)), Some(5_994));
    let mut poor = apart(300);
    poor.holdings.base = 11 * ETH;
    poor.pool.as_mut().unwrap().swap.value_max = 1_000 * 1_000_000;
    let limited = lots(&poor).unwrap();
    assert!((3_800..=3_960).contains(&limited), "{limited}");
    // At its most, as the gate values it, it is within the limit.
    let wanted = poor.decide(&mut usual()).wanted_swap().unwrap();
    let beside = poor.pool.unwrap();
    let paid = paid_for(wanted.sell, beside.base, beside.quote, 20).unwrap();
    assert!(paid * 10_050 / 10_000 <= 1_000 * 1_000_000);
    // Without quote there is nothing to buy the base from the pool with.
    let mut none = apart(-300);
    none.holdings.quote = 0;
    assert_eq!(lots(&none), None);
}

#[test]
fn nothing_is_swapped_while_anything_is_undecided() {
    let some = |scene: &Scene| scene.decide(&mut usual()).wanted_swap().is_some();
    assert!(some(&apart(100)));
    let mut busy = apart(100);
    busy.pool.as_mut().unwrap().swap.possible = false;
    assert!(!some(&busy));
    let why = busy.decide(&mut usual()).withheld(Sell).unwrap();
    assert_eq!(why.control, Control::SwapUndecided);
    let mut resting = apart(100);
    resting.own.push(own(1, Sell, 251_000, 100));
    assert!(!some(&resting));
    for unknown in [[1, 0], [0, 1]] {
        let mut scene = apart(100);
        scene.unknown = unknown;
        assert!(!some(&scene));
    }
    let mut stale = apart(100);
    stale.pool = None;
    let targets = stale.decide(&mut usual());
    assert_eq!(targets.withheld(Buy).unwrap().control, Control::NoFairPrice);
}

#[test]
fn an_open_leg_is_read_from_what_is_held() {
    let decide = |base: u128, unknown| {
        let mut scene = apart(100);
        scene.holdings.base = base;
        scene.unknown = unknown;
        // A stale pool does not keep a leg open.
        scene.pool = None;
        let targets = scene.decide(&mut usual());
        let why = targets
            .withheld(Buy)
            .filter(|_| targets.quotes().is_empty());
        (text(&targets), why.map(|why| why.control.name()))
    };
    // 30 bps from the mid of 2,500, rounded towards it.
    let half = ETH / 2;
    assert_eq!(decide(11 * ETH + half, [0; 2]).0, "sell 249250 x 5000 @0\n");
    assert_eq!(decide(11 * ETH - half, [0; 2]).0, "buy 250750 x 5000 @0\n");
    // What an order of unknown state may still trade is not traded again.
    assert_eq!(decide(11 * ETH + half, [0, half]).0, "");
    let part = decide(11 * ETH + half, [0, half / 5]).0;
    assert_eq!(part, "sell 249250 x 4000 @0\n");
    assert_eq!(
        decide(11 * ETH - half, [half / 5, 0]).0,
        "buy 250750 x 4000 @0\n"
    );
    // Below a lot nothing is open; two rounds are the most that may be.
    assert_eq!(decide(11 * ETH + ETH / 10_000 - 1, [0; 2]).0, "");
    assert_eq!(
        decide(11 * ETH + ETH / 10_000, [0; 2]).0,
        "sell 249250 x 1 @0\n"
    );
    assert_eq!(
        decide(11 * ETH + 12 * ETH / 10, [0; 2]).0,
        "sell 249250 x 12000 @0\n"
    );
    let (none, why) = decide(11 * ETH + 12 * ETH / 10 + ETH / 10_000, [0; 2]);
    assert_eq!((none.as_str(), why), ("", Some("strategy_skew")));
    // The venue takes no order below 3 ETH.
    let mut large = apart(100);
    large.market.base.minimum = 3 * ETH;
    large.holdings.base = 12 * ETH;
    assert!(large.decide(&mut usual()).quotes().is_empty());
}

/// An order that rests near the limit stays; one that does not is cancelled first, and replaced when it is gone.
#[test]
fn what_may_still_fill_is_not_ordered_again() {
    let decide = |rests: &[(Side, u64, u64)], cancelling| {
        let mut scene = apart(100);
        scene.holdings.base = 11 * ETH + ETH / 2;
        for (side, price, lots) in rests {
            scene = scene.with_own(*side, *price, *lots);
        }
        if let Some(order) = scene.own.first_mut() {
            order.cancelling = cancelling;
        }
        text(&scene.decide(&mut usual()))
    };
    assert_eq!(decide(&[], false), "sell 249250 x 5000 @0\n");
    // Within 5 bps of the limit, either way; what is not covered by it is ordered beside it, less the lot that a
    // remainder may hide.
    let whole = [(Sell, 249_374, 4_999)];
    assert_eq!(decide(&whole, false), "sell 249374 x 4999 @0\n");
    let part = [(Sell, 249_126, 3_000)];
    assert_eq!(
        decide(&part, false),
        "sell 249126 x 3000 @0\nsell 249250 x 1999 @1\n"
    );
    for away in [249_375, 249_125] {
        assert_eq!(decide(&[(Sell, away, 4_999)], false), "", "{away}");
    }
    assert_eq!(decide(&whole, true), "");
    // An order of the other side is cancelled, and nothing waits for it.
    assert_eq!(
        decide(&[(Buy, 249_000, 100)], false),
        "sell 249250 x 5000 @0\n"
    );
}

#[test]
fn the_largest_open_leg_is_stated() {
    let table = "base_target = 11\nround_amount_max = 0.60001\nunwind_bps = 40";
    let leg = INFO.open_leg(&table.parse().unwrap(), &market()).unwrap();
    let stated = OpenLeg {
        target: 11 * ETH,
        base: 6 * ETH / 10,
        unwind_bps: 40,
        drift_max_bps: None,
    };
    assert_eq!(leg, stated);
    let none = INFO.open_leg(&"base_target = 11".parse().unwrap(), &market());
    assert_eq!(none, None);
    let zero = "base_target = 11\nround_amount_max = 0".parse().unwrap();
    assert!(INFO.build_from(&zero, &market()).is_err());
}

/// 10 ETH here beside a pool whose price is `bps` away, and a book at another venue, where 1 ETH is held.
fn over_venues(bps: i128) -> Scene {
    let mut scene = apart(bps);
    scene.holdings.base = 10 * ETH;
    // The pool's own curve, which nothing is traded against.
    scene.bids.clear();
    scene.asks.clear();
    let mut there = there();
    if let Some(held) = &mut there.holdings {
        held.pooled_base = Some(0);
    }
    scene.elsewhere = vec![there];
    scene
}

fn against(target: &str) -> PoolArb {
    let rest = "round_amount_max = 0.6\nprofit_min_bps = 5\nbook = \"there:ETH-USDC\"\n";
    strategy(&format!("base_target = {target}\n{rest}"))
}

/// The swap, or the reason that both sides state.
fn swapped(scene: &Scene, strategy: &mut PoolArb) -> Result<WantedSwap, &'static str> {
    let targets = scene.decide(strategy);
    assert!(targets.quotes().is_empty(), "the leg is closed elsewhere");
    targets.wanted_swap().ok_or_else(|| {
        let why = Side::BOTH.map(|side| targets.withheld(side).unwrap().control.name());
        assert_eq!(why[0], why[1]);
        why[0]
    })
}

#[test]
fn a_round_against_the_book_of_another_venue_swaps_here_only() {
    // 20 bps of the pool, 10 of each leg, 5 to the touch there, and 5 to keep.
    for bps in [-30, 0, 30] {
        let quiet = swapped(&over_venues(bps), &mut against("11"));
        assert_eq!(quiet, Err("not_configured"), "{bps}");
    }
    let dear = swapped(&over_venues(300), &mut against("11")).unwrap();
    // 0.6 ETH are 600 lots there, of which the book's venue keeps a thousandth.
    assert_eq!((dear.side, dear.sell), (Sell, 599_400_000_000_000_000));
    let cheap = swapped(&over_venues(-300), &mut against("11")).unwrap();
    assert_eq!(cheap.side, Buy);
    // A venue that takes its fee in quote leaves all of the base.
    let mut quote = over_venues(300);
    quote.elsewhere[0].market.fee_in = cambist_core::venue::FeeToken::Quote;
    let whole = swapped(&quote, &mut against("11")).unwrap();
    assert_eq!((whole.side, whole.sell), (Sell, 6 * ETH / 10));
}

#[test]
fn nothing_is_swapped_while_the_leg_elsewhere_is_open() {
    // The other venue takes no less than a lot of a thousandth.
    let open =
        |target: &str| swapped(&over_venues(300), &mut against(target)).map(|swap| swap.side);
    assert_eq!(open("11.0009"), Ok(Sell));
    assert_eq!(open("11.001"), Err("strategy_skew"));
    assert_eq!(open("10.9991"), Ok(Sell));
    assert_eq!(open("10.999"), Err("strategy_skew"));
    let why = over_venues(300)
        .decide(&mut against("10.9"))
        .withheld(Buy)
        .unwrap();
    let [open, lot] = [ETH / 10, ETH / 1_000].map(|units| i128::try_from(units).unwrap());
    assert_eq!(why.unit, Unit::Base, "lots there are others than here");
    assert_eq!((why.value, why.limit), (Some(open), Some(lot)));
    // Further than two rounds it is not from here.
    let why = over_venues(300)
        .decide(&mut against("5"))
        .withheld(Buy)
        .unwrap();
    assert_eq!(why.limit, Some(12_000));
}

/// The venue of the book takes no less than 5 lots of a thousandth, and its fee of what is bought; with a tolerance of the
/// same size and without.
#[test]
fn a_leg_that_no_order_closes_is_not_open() {
    let of = |held: u128, tolerance: &str, minimum: [u128; 2]| {
        let mut scene = over_venues(300);
        scene.holdings.base = held;
        let there = &mut scene.elsewhere[0];
        (there.market.base.minimum, there.market.quote.minimum) = (minimum[0], minimum[1]);
        there.fee_bips = 1_000;
        let table = format!(
            "base_target = 11\nround_amount_max = 0.6\nprofit_min_bps = 5\nbook = \"there:ETH-USDC\"\n\
             tolerance = {tolerance}\n"
        );
        // A tenth in fees leaves nothing to earn: only what is stated differs.
        let targets = scene.decide(&mut strategy(&table));
        assert!(targets.wanted_swap().is_none());
        let why = targets.withheld(Buy).unwrap();
        (why.control == Control::StrategySkew).then(|| why.limit.unwrap())
    };
    let milli = ETH / 1_000;
    let least = [5 * milli, 1];
    let stated = |units: u128| Some(i128::try_from(units).unwrap());
    // Sold, 5 lots are 5; bought, 4.5 of them arrive.
    assert_eq!(of(10 * ETH + 5 * milli - 1, "0", least), None);
    assert_eq!(of(10 * ETH + 5 * milli, "0", least), stated(5 * milli));
    assert_eq!(of(10 * ETH - 45 * milli / 10 + 1, "0", least), None);
    let bought = of(10 * ETH - 45 * milli / 10, "0", least);
    assert_eq!(bought, stated(5 * milli));
    for (tolerance, most) in [("0.007", 7 * milli), ("0.003", 5 * milli - 1)] {
        assert_eq!(of(10 * ETH + most, tolerance, least), None, "{tolerance}");
        let open = of(10 * ETH + most + 1, tolerance, least);
        assert_eq!(open, stated(most.max(5 * milli)), "{tolerance}");
    }
    // 25 USDC are 20 lots of a limit at half of the mid, and 10 at the mid.
    let worth = [1, 25 * 1_000_000];
    assert_eq!(of(10 * ETH + 20 * milli - 1, "0", worth), None);
    assert!(of(10 * ETH + 20 * milli, "0", worth).is_some());
    assert_eq!(of(10 * ETH - 9 * milli + 1, "0", worth), None);
    assert!(of(10 * ETH - 9 * milli, "0", worth).is_some());
}

/// What is left open in the direction of a swap is part of its limit, and nothing of it in the other direction.
#[test]
fn a_leg_is_never_larger_than_a_round() {
    let sizes = |target: &str, bps: i128, minimum: u128| {
        let mut scene = over_venues(bps);
        scene.elsewhere[0].market.base.minimum = minimum;
        let targets = scene.decide(&mut against(target));
        targets.wanted_swap().map(|swap| match swap.side {
            Sell => swap.sell,
            Buy => swap.least,
        })
    };
    let milli = ETH / 1_000;
    let least = 10 * milli;
    // 9 thousandths are missing: selling would make it more.
    assert_eq!(sizes("11.009", 300, least), Some(591 * milli * 999 / 1_000));
    let [short, even] = ["11.009", "11"].map(|target| sizes(target, -300, least).unwrap());
    assert_eq!(short, even);
    // 9 thousandths too many: buying would make it more.
    let [long, even] = ["10.991", "11"].map(|target| sizes(target, -300, least).unwrap());
    assert!(long < even && long > even * 98 / 100, "{long} {even}");
    assert_eq!(sizes("10.991", 300, least), Some(600 * milli * 999 / 1_000));
    // A round that the book does not take is none; with what is left open it is.
    assert!(sizes("11", 300, 600 * milli).is_some());
    assert_eq!(sizes("11", 300, 601 * milli), None);
    assert_eq!(
        sizes("11.5", 300, 600 * milli),
        Some(100 * milli * 999 / 1_000)
    );
}

#[test]
fn a_tolerance_beside_the_pool_leaves_a_leg_open() {
    let decide = |base: u128, tolerance: &str| {
        let mut scene = apart(300);
        scene.holdings.base = base;
        let table = format!("base_target = 11\nround_amount_max = 0.6\n{tolerance}");
        let targets = scene.decide(&mut strategy(&table));
        let swap = targets.wanted_swap().map(|swap| swap.sell);
        (
            text(&Targets::clone(&targets))
                .lines()
                .last()
                .unwrap()
                .to_owned(),
            swap,
        )
    };
    let (half, most) = ("tolerance = 0.5\n", 11 * ETH + ETH / 2);
    assert_eq!(decide(most, half).1, Some(6 * ETH / 10 * 999 / 1_000));
    // The rest of 0.5 in the direction of the swap leaves 0.1 of the round.
    assert_eq!(
        decide(11 * ETH - ETH / 2, half).1,
        Some(ETH / 10 * 999 / 1_000)
    );
    assert_eq!(decide(most + ETH / 10_000, half).0, "sell 249250 x 5001 @0");
    assert_eq!(decide(most, "").0, "sell 249250 x 5000 @0");
    let refused = |tolerance: &str| {
        let table = format!("base_target = 11\nround_amount_max = 0.6\ntolerance = {tolerance}");
        let params = Params::read(INFO.parameters, &table.parse().unwrap()).unwrap();
        PoolArb::new(&params, &market()).is_err()
    };
    assert!(!refused("0.5999") && refused("0.6"));
}

#[test]
fn nothing_is_swapped_against_what_is_not_known() {
    let with = |change: fn(&mut Scene)| {
        let mut scene = over_venues(300);
        change(&mut scene);
        swapped(&scene, &mut against("11")).map(|swap| swap.side)
    };
    assert_eq!(with(|_| ()), Ok(Sell));
    assert_eq!(with(|scene| scene.elsewhere.clear()), Err("no_fair_price"));
    assert_eq!(
        with(|scene| scene.elsewhere[0].holdings = None),
        Err("no_fair_price")
    );
    assert_eq!(
        with(|scene| scene.elsewhere[0].bids.clear()),
        Err("no_fair_price")
    );
    assert_eq!(with(|scene| scene.pool = None), Err("no_fair_price"));
    let undecided = with(|scene| {
        if let Some(held) = &mut scene.elsewhere[0].holdings {
            held.undecided = true;
        }
    });
    assert_eq!(undecided, Err("swap_undecided"));
    let inverse = with(|scene| {
        let spec = &mut scene.elsewhere[0].market;
        std::mem::swap(&mut spec.base, &mut spec.quote);
    });
    assert_eq!(inverse, Err("no_fair_price"));
}

/// The other leg is paid for by what is held there, not by what the swap brings here.
#[test]
fn a_round_is_within_what_is_held_at_both_venues() {
    let sold = |base: u128, quote: u128, bps| {
        let mut scene = over_venues(bps);
        if let Some(held) = &mut scene.elsewhere[0].holdings {
            scene.holdings.base = 11 * ETH - base;
            (held.base, held.quote) = (base, quote);
        }
        swapped(&scene, &mut against("11"))
    };
    // Buying 0.2 ETH there costs 500.25 USDC and its fee of a thousandth of the base.
    let dear = sold(ETH, 500 * 1_000_000, 300).unwrap();
    assert!(
        dear.sell < 2 * ETH / 10 && dear.sell > 19 * ETH / 100,
        "{dear:?}"
    );
    assert_eq!(sold(ETH, 2, 300), Err("not_configured"));
    // Selling there needs the base there.
    let cheap = sold(2 * ETH / 10, 0, -300).unwrap();
    assert!(cheap.least < 2 * ETH / 10 * 1_002 / 1_000, "{cheap:?}");
    assert_eq!(sold(0, 0, -300), Err("not_configured"));
}

#[test]
fn the_book_of_another_venue_is_named_with_it() {
    let params = "base_target = 11\nround_amount_max = 0.6\nbook = \"ETH-USDC\"\n";
    let params = Params::read(INFO.parameters, &params.parse().unwrap()).unwrap();
    let refused = PoolArb::new(&params, &market()).unwrap_err().to_string();
    assert!(refused.contains("another venue"), "{refused}");
    let own = market();
    let strategy = against("11");
    let mut other = there().market;
    assert_eq!(strategy.check_reads(&own, &[&other]), Ok(()));
    std::mem::swap(&mut other.base, &mut other.quote);
    let refused = strategy.check_reads(&own, &[&other]).unwrap_err();
    assert!(refused.contains("trades USDC in ETH"), "{refused}");
    let table: toml::Table = "book = \"there:ETH-USDC\"".parse().unwrap();
    assert!(INFO.two_legs_with(&table).is_none() && !INFO.takes(&table));
    assert!(INFO.two_legs_with(&toml::Table::new()).is_some());
}
