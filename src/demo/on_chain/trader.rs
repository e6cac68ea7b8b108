//! The trader beside the daemon: swaps with the pool at random from a seed, so that its price moves around the first one.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cambist_client::Node;
use cambist_evm::U256;
use cambist_evm::block::BlockTag;
use cambist_evm::call::{self, Call};

use super::actor::Actor;
use super::deploy::{Deployed, ONE, PRICE};
use super::node::returned;

/// Time between two swaps.
const EVERY: Duration = Duration::from_millis(1_300);
/// The largest swap, hundredths of a whole coin: it moves the price by less than 0.4 %.
const MOST: u64 = 180;
/// How far the sum of all swaps goes from its beginning, hundredths of a whole coin.
const FAR: i64 = 1_500;

/// What the trader did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traded {
    /// Swaps that a node took.
    pub sent: u64,
    /// Swaps that it did not, and why the last one was not.
    pub failed: u64,
    /// See `failed`.
    pub why: Option<String>,
    /// The lowest and the highest price of the pool that the trader saw, hundredths of a whole token.
    pub prices: Option<(u128, u128)>,
}

/// A trader that trades until it is dropped.
pub struct Trader {
    traded: Arc<Mutex<Traded>>,
    task: tokio::task::JoinHandle<()>,
}

impl Trader {
    /// Begins to trade.
    pub fn begin(node: Node, actor: Actor, on: Deployed, seed: u64) -> Self {
        let traded = Arc::new(Mutex::new(Traded::default()));
        let shared = Arc::clone(&traded);
        let task = tokio::spawn(async move {
            let mut actor = actor;
            let mut sizes = Sizes::new(seed);
            loop {
                tokio::time::sleep(EVERY).await;
                let swap = swap(&on, &actor, sizes.next());
                let sent = actor.call(&node, on.router, &swap).await;
                let price = price(&node, &on).await;
                let mut traded = shared.lock().unwrap_or_else(PoisonError::into_inner);
                match sent {
                    Ok(_) => traded.sent += 1,
                    Err(why) => {
                        traded.failed += 1;
                        traded.why = Some(format!("{why:#}"));
                    }
                }
                if let Some(price) = price {
                    let (low, high) = traded.prices.unwrap_or((price, price));
                    traded.prices = Some((low.min(price), high.max(price)));
                }
            }
        });
        Self { traded, task }
    }

    /// What it did so far.
    pub fn traded(&self) -> Traded {
        let traded = self.traded.lock().unwrap_or_else(PoisonError::into_inner);
        traded.clone()
    }
}

impl Drop for Trader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The pool's price in hundredths of a whole token, if the node states it.
async fn price(node: &Node, on: &Deployed) -> Option<u128> {
    let found = returned(node, on.pair, &Call::GetReserves {}, BlockTag::Latest).await;
    let [first, second] = call::reserves(&found.ok()?).ok()?.amounts;
    // The pair orders its tokens by address.
    let (weth, token) = if on.weth < on.token {
        (first, second)
    } else {
        (second, first)
    };
    (token.checked_mul(100)?).checked_div(weth)
}

/// A swap of so many hundredths of a coin: sold to the pool if positive, else bought for their first price.
fn swap(on: &Deployed, actor: &Actor, hundredths: i64) -> Call {
    let amount = u128::from(hundredths.unsigned_abs()) * ONE / 100;
    let (sold, path) = if hundredths > 0 {
        (amount, [on.weth, on.token])
    } else {
        (amount * PRICE, [on.token, on.weth])
    };
    Call::SwapExactTokensForTokens {
        sold: U256::from(sold),
        bought_min: U256::ZERO,
        path,
        to: actor.address(),
        deadline: U256::MAX,
    }
}

/// Sizes of swaps (SplitMix64): the same seed gives the same ones.
struct Sizes {
    state: u64,
    /// The sum so far.
    sum: i64,
}

impl Sizes {
    const fn new(seed: u64) -> Self {
        Self {
            state: seed,
            sum: 0,
        }
    }

    const fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next size, never 0, in the direction of the beginning if the sum would be too far from it.
    fn next(&mut self) -> i64 {
        let size = i64::try_from(1 + self.random() % MOST).unwrap_or(1);
        let up = self.random().is_multiple_of(2);
        let size = if up { size } else { -size };
        let size = if (self.sum + size).abs() > FAR {
            -size
        } else {
            size
        };
        self.sum += size;
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_from_the_seed_and_stay_around_their_beginning() {
        let sizes = |seed| {
            let mut sizes = Sizes::new(seed);
            (0..5_000).map(|_| sizes.next()).collect::<Vec<_>>()
        };
        assert_eq!(sizes(7), sizes(7));
        assert_ne!(sizes(7), sizes(8));
        let (mut sum, mut extremes) = (0, (0, 0));
        for size in sizes(7) {
            sum += size;
            extremes = (extremes.0.min(sum), extremes.1.max(sum));
            assert!(size != 0 && size.unsigned_abs() <= MOST, "{size}");
            assert!(sum.abs() <= FAR, "{sum}");
        }
        assert!(
            extremes.0 < -FAR / 2 && extremes.1 > FAR / 2,
            "{extremes:?}"
        );
    }

    #[test]
    fn a_swap_sells_or_buys_about_as_many_coins() {
        let address = |byte| cambist_evm::Address([byte; 20]);
        let on = Deployed {
            factory: address(1),
            router: address(2),
            weth: address(3),
            token: address(4),
            pair: address(5),
        };
        let actor = Actor::new().unwrap_or_else(|why| panic!("{why}"));
        let of = |hundredths| match swap(&on, &actor, hundredths) {
            Call::SwapExactTokensForTokens { sold, path, to, .. } => {
                assert_eq!(to, actor.address());
                (sold, path)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(of(150), (U256::from(3 * ONE / 2), [on.weth, on.token]));
        assert_eq!(of(-1), (U256::from(25 * ONE), [on.token, on.weth]));
    }
}
