#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "tests stop at the first surprise; statistics need no exactness"
)]
//! Behaviour of each kind of trader over many seeds, and of timelines.

use super::*;
use crate::pool::PoolConfig;
use crate::testing::{self, ALICE, BASE, MARKET, ONE, QUOTE, UNIT, World};
use crate::{ExchangeMode, PoolStatus, Response, Trade};
use cambist_core::{OrderKind, Reason, TokenId};

const PRICE: Price = Price(250_000);
const LP: TokenId = TokenId(4);
const POOL: Address = [0xaa; 20];
const FOUNDER: AccountId = AccountId(99);
const FIRST: u32 = 100;

struct Scenery {
    world: World,
    agents: Agents,
}

impl Scenery {
    fn new(seed: u64, change: impl FnOnce(&mut AgentsConfig)) -> Self {
        let mut config = testing::config();
        let mut lp = testing::token(LP, "LP", 8, 1);
        lp.spec.maximum = 1 << 95;
        config.tokens.push(lp);
        let pool = PoolConfig {
            name: "AMM-AAA-QQQ".to_owned(),
            address: POOL,
            pooled: [BASE, QUOTE],
            lp: LP,
            fee_bips: 20,
            price_precision: 6,
            amount_precision: 6,
            status: PoolStatus::OPEN,
            join_fee: 0,
            exit_fee: 0,
        };
        config.pools.push(pool.clone());
        let mut world = World::with(config);
        for input in found(FOUNDER, &pool, [200 * ONE, 500_000 * UNIT]) {
            world.ask(&Caller::Operator, &input).unwrap();
        }
        let mut config = AgentsConfig::calm(seed, MARKET, PRICE, ONE / 4);
        config.pool = Some(PoolSeat {
            pool: POOL,
            founder: FOUNDER,
        });
        change(&mut config);
        let accounts: Vec<_> = (FIRST..).take(config.accounts()).map(AccountId).collect();
        for input in Agents::setup(&config, &accounts, &world.venue) {
            world.ask(&Caller::Operator, &input).unwrap();
        }
        Self {
            world,
            agents: Agents::new(config, &accounts),
        }
    }

    /// Runs for `ms`; `on_trade` receives every trade with its taker.
    fn run(&mut self, ms: u64, mut on_trade: impl FnMut(AccountId, &Trade)) {
        let end = self.world.now.plus_ms(ms);
        // The first step is now: the timeline counts from it.
        let first = self.world.now;
        while let Some(next) = self.agents.next_wakeup().filter(|next| *next <= end) {
            self.world.now = self.world.now.max(next).max(first);
            let requests = self.agents.step(self.world.now, &self.world.venue);
            assert!(requests.len() <= REQUESTS_MAX);
            for (caller, request) in requests {
                let answer = self.world.venue.handle(self.world.now, &caller, &request);
                if let (Ok(Response::Submitted(made)), Caller::Internal { account }) =
                    (answer, caller)
                {
                    made.trades
                        .iter()
                        .for_each(|trade| on_trade(account, trade));
                }
            }
        }
        self.world.now = end;
        assert_eq!(self.world.venue.audit(), Ok(()));
    }

    fn pass(&mut self, ms: u64) {
        self.run(ms, |_, _| ());
    }

    /// Accounts of one kind of trader.
    fn of(&self, kind: Kind) -> Vec<AccountId> {
        let traders = self.agents.traders.iter();
        let meant = traders.filter(|trader| match (trader.kind, kind) {
            (Kind::Passive { .. }, Kind::Passive { .. }) => true,
            (one, other) => one == other,
        });
        meant.map(|trader| trader.account).collect()
    }

    fn middle(&self) -> Option<f64> {
        let best = |side| self.world.venue.best(MARKET, side);
        Some((best(Side::Buy)?.0 + best(Side::Sell)?.0) as f64 / 2.0)
    }

    fn pool_price(&self) -> f64 {
        let ([base, quote], _) = self.world.venue.pool_reserves(&POOL).unwrap();
        quote as f64 / base as f64 * 1e14
    }

    fn total(&self, account: AccountId, token: TokenId) -> Amount {
        let account = self.world.venue.account(account).unwrap();
        account.balance(token).total
    }
}

/// The mean value five seconds later, in bps of the fair price, of the fills of a maker that quotes 5 bps from the mid
/// and requotes every three seconds.
fn markout_bps(seed: u64, informed: u32) -> f64 {
    let mut scenery = Scenery::new(seed, |config| {
        config.informed_traders = informed;
        config.informed_looks_per_minute = 120.0;
        config.volatility_bps_per_sqrt_s = 10.0;
        config.noise_traders = 3;
        // Slow makers, so that the book lags behind the fair price.
        config.passive_refresh_ms = 8_000;
    });
    scenery.pass(1_000);
    let (mut waiting, mut sum, mut count) = (Vec::new(), 0.0, 0.0);
    let mut live = Vec::new();
    for second in 0..240 {
        let replaces = second % 3 == 0;
        if replaces {
            for hash in live.drain(..) {
                let _ = scenery.world.cancel(ALICE, hash);
            }
        }
        if let Some(middle) = scenery.middle().filter(|_| replaces) {
            for (side, factor) in [(Side::Buy, 0.9995), (Side::Sell, 1.0005)] {
                let ticks = to_ticks(middle * factor, side).0;
                let mut order = scenery.world.order(ALICE, side, ticks, ONE / 5);
                order.kind = OrderKind::MakerOnly;
                live.push(scenery.world.submit(&order).hash);
            }
        }
        scenery.run(1_000, |_, trade| {
            if trade.maker_account == ALICE {
                waiting.push((second, trade.taker_side.opposite(), trade.price.0 as f64));
            }
        });
        let fair = scenery.agents.fair.price;
        waiting.retain(|(at, side, price)| {
            if second < at + 5 {
                return true;
            }
            let worth = (fair / price - 1.0) * 10_000.0;
            sum += match side {
                Side::Buy => worth,
                Side::Sell => -worth,
            };
            count += 1.0;
            false
        });
    }
    assert!(count > 20.0, "seed {seed}: {count} fills");
    sum / count
}

/// R-AGT-07
#[test]
fn informed_traders_cause_losses_to_a_naive_quoter() {
    let mean = |informed| (0..8).map(|seed| markout_bps(seed, informed)).sum::<f64>() / 8.0;
    let (without, with) = (mean(0), mean(6));
    assert!(with < -1.0, "{with} bps against informed traders");
    assert!(
        without > with + 2.0,
        "{without} bps without them, {with} with"
    );
}

/// R-AGT-08
#[test]
fn momentum_traders_buy_rising_and_sell_falling_prices() {
    for (bps, side) in [(120, Side::Buy), (-120, Side::Sell)] {
        let (mut with, mut against) = (0, 0);
        for seed in 0..6 {
            let mut scenery = Scenery::new(seed, |config| {
                config.momentum_traders = 3;
                config.timeline = vec![TimedEvent {
                    at_ms: 30_000,
                    what: MarketEvent::Jump { bps },
                }];
            });
            let followers = scenery.of(Kind::Momentum);
            scenery.pass(30_000);
            scenery.run(15_000, |taker, trade| {
                if followers.contains(&taker) {
                    let same = trade.taker_side == side;
                    with += u32::from(same);
                    against += u32::from(!same);
                }
            });
        }
        assert!(
            with > 20 && against * 10 < with,
            "{bps}: {with} with, {against} against"
        );
    }
}

/// R-AGT-09
#[test]
fn arbitrage_keeps_the_pool_at_the_book_within_the_fees_and_never_loses_a_unit() {
    let run = |seed, arbitrageurs| {
        let mut scenery = Scenery::new(seed, |config| {
            config.arbitrageurs = arbitrageurs;
            config.arbitrage_looks_per_minute = 120.0;
            config.swappers = 2;
            config.timeline = [(60_000, 200), (120_000, -300)]
                .map(|(at_ms, bps)| TimedEvent {
                    at_ms,
                    what: MarketEvent::Jump { bps },
                })
                .into();
        });
        let traders = scenery.of(Kind::Arbitrage);
        let held = |scenery: &Scenery| {
            let of = |token| {
                traders
                    .iter()
                    .map(|account| scenery.total(*account, token))
                    .sum()
            };
            let totals: [Amount; 2] = [BASE, QUOTE].map(of);
            totals
        };
        let before = held(&scenery);
        let (mut off, mut worst) = (0u32, 0.0f64);
        for second in 0..240 {
            scenery.pass(1_000);
            // Traders need a few steps to trade a jump away.
            if [0..5, 60..70, 120..130]
                .iter()
                .any(|pause| pause.contains(&second))
            {
                continue;
            }
            let best = |side| {
                scenery
                    .world
                    .venue
                    .best(MARKET, side)
                    .map(|price| price.0 as f64)
            };
            let pool = scenery.pool_price();
            // The pool's fee and the taker fee twice: up to 40 bps between pool and book earn nothing.
            let above = best(Side::Buy).map_or(0.0, |bid| bid * 0.996 / pool);
            let below = best(Side::Sell).map_or(0.0, |ask| pool * 0.996 / ask);
            let gap = (above.max(below) - 1.0) * 10_000.0;
            worst = worst.max(gap);
            off += u32::from(gap > 20.0);
        }
        let after = held(&scenery);
        (off, worst, before, after)
    };
    let (mut with, mut without) = (0, 0);
    for seed in 0..6 {
        let (off, worst, before, after) = run(seed, 1);
        with += off;
        assert!(worst < 200.0, "seed {seed}: {worst} bps at worst");
        assert!(
            after[0] >= before[0] && after[1] > before[1],
            "{before:?} {after:?}"
        );
        without += run(seed, 0).0;
    }
    // Out of 6 times 215 seconds.
    assert!(with <= 65, "{with} seconds off");
    assert!(without > 6 * with, "{without} without, {with} with");
}

/// R-AGT-10
#[test]
fn swappers_swap_both_ways_without_a_price_limit() {
    let mut scenery = Scenery::new(4, |config| config.swappers = 3);
    let swappers = scenery.of(Kind::Swapper);
    let mut sides = [0u32; 2];
    scenery.run(300_000, |taker, trade| {
        if swappers.contains(&taker) {
            sides[usize::from(trade.taker_side == Side::Sell)] += 1;
        }
    });
    assert!(
        sides.iter().all(|swaps| *swaps > 20),
        "{sides:?} of some 90"
    );
}

/// R-AGT-11
#[test]
fn liquidity_providers_skew_against_their_inventory() {
    let middle = |extra: Amount, token, skew| {
        let mut scenery = Scenery::new(2, |config| {
            config.passive_skew_bps = skew;
            (config.noise_traders, config.informed_traders) = (0, 0);
            (config.volatility_bps_per_sqrt_s, config.jumps_per_hour) = (0.0, 0.0);
        });
        for account in scenery.of(Kind::Passive { rank: 0 }) {
            scenery.world.operate(Operator::Deposit {
                account,
                token,
                amount: extra,
            });
        }
        scenery.pass(1);
        (scenery.middle().unwrap() / PRICE.0 as f64 - 1.0) * 10_000.0
    };
    // Twenty standard orders too much, half a basis point each.
    let leaning = middle(5 * ONE, BASE, 5.0);
    assert!((-13.0..-7.0).contains(&leaning), "{leaning} bps for -10");
    assert!(middle(5 * ONE, BASE, 0.0).abs() < 2.5);
    let far = middle(500 * ONE, BASE, 5.0);
    assert!(far > -40.0, "never beyond their distance: {far} bps");
}

/// R-AGT-11
#[test]
fn liquidity_providers_take_orders_beyond_their_quotes() {
    let mut scenery = Scenery::new(6, |config| {
        (config.noise_traders, config.informed_traders) = (0, 0);
        config.timeline = vec![TimedEvent {
            at_ms: 10_000,
            what: MarketEvent::Jump { bps: -400 },
        }];
    });
    scenery.pass(9_000);
    // A bid at the old price, larger than one trader takes.
    let bid = scenery.world.order(ALICE, Side::Buy, 249_900, ONE);
    scenery.world.submit(&bid);
    scenery.pass(8_000);
    assert!(!scenery.world.venue.is_open(&bid.hash), "it was taken");
    let middle = scenery.middle().unwrap() / scenery.agents.fair.price;
    assert!((0.998..1.002).contains(&middle), "{middle}");
}

/// R-AGT-12
#[test]
fn timeline_events_occur_at_their_times() {
    let at = |at_ms, what| TimedEvent { at_ms, what };
    let mut scenery = Scenery::new(8, |config| {
        config.timeline = vec![
            at(10_000, MarketEvent::Liquidity { percent: 0 }),
            at(20_000, MarketEvent::Liquidity { percent: 100 }),
            at(30_000, MarketEvent::Drain { percent: 90 }),
            at(40_000, MarketEvent::Mode(ExchangeMode::Halted)),
            at(45_000, MarketEvent::Mode(ExchangeMode::Open)),
            at(50_000, MarketEvent::Refuse(true)),
            at(55_000, MarketEvent::Refuse(false)),
            at(60_000, MarketEvent::Jump { bps: -800 }),
            at(
                70_000,
                MarketEvent::Regime {
                    regime: Regime::Trending,
                    up: Some(true),
                },
            ),
        ];
    });
    let offered = |scenery: &Scenery| {
        let passive = scenery.of(Kind::Passive { rank: 0 });
        let orders = scenery.world.venue.orders.iter();
        orders
            .filter(|(_, order)| order.is_open() && passive.contains(&order.account))
            .count()
    };
    let asks = |scenery: &mut Scenery| {
        scenery
            .world
            .ask(&Caller::Public, &Request::Markets)
            .map(drop)
    };
    scenery.pass(9_900);
    assert!(offered(&scenery) >= 4);
    scenery.pass(200);
    assert_eq!(offered(&scenery), 0, "they left");
    scenery.pass(14_000);
    assert!(offered(&scenery) >= 4, "and the liquidity came back");
    let (before, _) = scenery.world.venue.pool_reserves(&POOL).unwrap();
    scenery.pass(6_000);
    let (after, _) = scenery.world.venue.pool_reserves(&POOL).unwrap();
    assert!(
        after[0] < before[0] / 9 && after[0] > before[0] / 11,
        "{after:?} of {before:?}"
    );
    scenery.pass(12_000);
    let order = scenery.world.order(ALICE, Side::Buy, 200_000, ONE / 5);
    let asked = Request::Submit(Box::new(order));
    let refused = scenery.world.ask(&testing::signed(ALICE), &asked);
    assert_eq!(refused.unwrap_err().reason, Reason::SubmitFailed);
    scenery.pass(5_000);
    let order = scenery.world.order(ALICE, Side::Buy, 200_000, ONE / 5);
    scenery.world.submit(&order);
    scenery.pass(5_000);
    assert_eq!(asks(&mut scenery).unwrap_err().reason, Reason::UnknownError);
    scenery.pass(5_000);
    assert_eq!(asks(&mut scenery), Ok(()));
    let before = scenery.agents.fair.price;
    scenery.pass(4_000);
    let after = scenery.agents.fair.price / before;
    assert!((0.91..0.93).contains(&after), "{after}");
    scenery.pass(10_000);
    assert_eq!(scenery.agents.fair.regime, Regime::Trending);
}

/// R-AGT-01, R-AGT-04
#[test]
fn every_kind_together_stays_deterministic_solvent_and_bounded() {
    let run = |seed, ms| {
        let mut scenery = Scenery::new(seed, |config| {
            (
                config.momentum_traders,
                config.arbitrageurs,
                config.swappers,
            ) = (2, 2, 2);
            config.passive_skew_bps = 5.0;
            config.regimes.stay_s = [300.0, 120.0, 120.0];
        });
        scenery.pass(ms);
        scenery
    };
    let (one, two) = (run(3, 60_000), run(3, 60_000));
    assert!(one.world.venue == two.world.venue && one.agents == two.agents);
    let mut long = run(5, 1_200_000);
    let kept = long.world.venue.orders.iter().count();
    let made = long.agents.made;
    long.pass(3 * 3_600_000);
    assert!(long.world.venue.orders.iter().count() < kept + 400);
    assert!(
        long.agents.made > made * 5,
        "{} after {made}: still trading",
        long.agents.made
    );
}

/// A hash that was used before is refused, also that of another exit in the same millisecond.
#[test]
fn every_exit_of_a_timeline_has_a_hash_of_its_own() {
    let mut scenery = Scenery::new(8, |config| {
        let exit = TimedEvent {
            at_ms: 0,
            what: MarketEvent::Drain { percent: 10 },
        };
        config.timeline = vec![exit; 3];
    });
    let now = scenery.world.now;
    let mut hashes = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let requests = scenery.agents.step(now, &scenery.world.venue);
        hashes.extend(requests.iter().filter_map(|(_, request)| match request {
            Request::Exit(exit) => Some(exit.hash),
            _ => None,
        }));
    }
    assert_eq!(hashes.len(), 3);
}

/// The pause between two actions is at most five means: 250,000 minutes at a rate of a thousandth.
#[test]
fn traders_with_a_rate_of_zero_act_again_as_with_a_thousandth_a_minute() {
    let scenery = Scenery::new(1, |_| {});
    let next = |kind, rate: f64| {
        let mut config = scenery.agents.config.clone();
        for of in [
            &mut config.noise_orders_per_minute,
            &mut config.informed_looks_per_minute,
            &mut config.momentum_looks_per_minute,
            &mut config.arbitrage_looks_per_minute,
            &mut config.swaps_per_minute,
        ] {
            *of = rate;
        }
        let world = &scenery.world;
        let view = MarketView::new(&config, 250_000.0, world.now, &world.venue);
        let mut trader = Trader::new(AccountId(FIRST), kind, Random::new(7));
        trader.act(&view.unwrap(), &mut 0, &mut Vec::new());
        trader.next
    };
    for kind in [
        Kind::Noise,
        Kind::Informed,
        Kind::Momentum,
        Kind::Arbitrage,
        Kind::Swapper,
    ] {
        assert_eq!(next(kind, 0.0), next(kind, 0.001), "{kind:?}");
    }
}
