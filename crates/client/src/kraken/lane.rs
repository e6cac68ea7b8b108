//! One request at a time, for each key: the venue takes a nonce only if it is above all that it took before, and requests
//! in flight at once overtake each other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

/// The requests of one key.
#[derive(Debug, Default)]
pub(super) struct Lane(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    is_taken: bool,
    /// Served first, the one that came first before the others,
    cancels: VecDeque<oneshot::Sender<Turn>>,
    /// then these.
    others: VecDeque<oneshot::Sender<Turn>>,
}

/// The right to have a request in flight; passed on when it is dropped.
#[derive(Debug)]
pub(super) struct Turn(Arc<Lane>);

impl Lane {
    /// Waits for a turn; `None` if that takes longer.
    pub async fn turn(self: &Arc<Self>, cancels: bool, within: Duration) -> Option<Turn> {
        let turn = {
            let mut waiting = self.waiting();
            if !waiting.is_taken {
                waiting.is_taken = true;
                return Some(Turn(Arc::clone(self)));
            }
            let (sender, turn) = oneshot::channel();
            let queue = if cancels {
                &mut waiting.cancels
            } else {
                &mut waiting.others
            };
            // Those that gave up are no longer counted.
            queue.retain(|sender| !sender.is_closed());
            queue.push_back(sender);
            turn
        };
        // A turn that arrives as the time ends is dropped with its channel, and so passed on.
        tokio::time::timeout(within, turn).await.ok()?.ok()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut waiting = self.0.waiting();
            let next = waiting.cancels.pop_front();
            let next = next.or_else(|| waiting.others.pop_front());
            waiting.is_taken = next.is_some();
            next
        };
        if let Some(next) = next {
            // One that gave up gives it back, and it is dropped here: the one after that is next.
            drop(next.send(Self(Arc::clone(&self.0))));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn cancels_are_next_and_otherwise_the_first_is() {
        let lane = Arc::new(Lane::default());
        let first = lane.turn(false, LONG).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for (name, cancels) in [
            ("a", false),
            ("b", false),
            ("x", true),
            ("c", false),
            ("y", true),
        ] {
            let (waits, order) = (Arc::clone(&lane), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let turn = waits.turn(cancels, LONG).await.unwrap();
                order.lock().unwrap().push(name);
                tokio::task::yield_now().await;
                drop(turn);
            }));
            tokio::task::yield_now().await;
        }
        assert!(order.lock().unwrap().is_empty(), "one at a time");
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), ["x", "y", "a", "b", "c"]);
        assert!(
            lane.turn(false, Duration::ZERO).await.is_some(),
            "it is free again"
        );
    }

    #[tokio::test]
    async fn one_that_gives_up_holds_nothing_back() {
        let lane = Arc::new(Lane::default());
        let first = lane.turn(false, LONG).await.unwrap();
        for _ in 0..100 {
            assert!(lane.turn(false, Duration::ZERO).await.is_none());
        }
        assert!(
            lane.waiting().others.len() <= 1,
            "those that gave up are forgotten"
        );
        let waits = Arc::clone(&lane);
        let second = tokio::spawn(async move { waits.turn(false, LONG).await.is_some() });
        tokio::task::yield_now().await;
        drop(first);
        assert!(second.await.unwrap());
        // A task that is dropped while it waits, or with its turn.
        let first = lane.turn(false, LONG).await.unwrap();
        let waits = Arc::clone(&lane);
        let dropped = tokio::spawn(async move { waits.turn(true, LONG).await });
        tokio::task::yield_now().await;
        dropped.abort();
        drop(first);
        assert!(lane.turn(false, LONG).await.is_some());
    }
}
