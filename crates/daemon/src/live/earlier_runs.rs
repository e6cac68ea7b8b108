//! Orders and pool transactions of earlier runs without a proven end, and until when they may be alive.

use crate::config::Daemon;
use cambist_host::clock::Clock;
use cambist_host::times;
use cambist_store::Recovered;

/// Orders, joins and exits of earlier runs whose end is not proven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlierRuns {
    /// How many.
    pub count: usize,
    /// When the last of them has certainly ended: expiry plus grace, seconds of venue time. 0 if there is none.
    pub until_s: u64,
}

impl EarlierRuns {
    /// Reads them from the store.
    pub fn of(recovered: &Recovered, daemon: &Daemon) -> Self {
        let orders = recovered.open.iter();
        let moves = recovered.open_moves.iter();
        let expiries = orders
            .map(|open| open.recovered.order.last_effect_s())
            .chain(moves.map(|open| open.recovered.transaction.valid_until_s));
        let (count, last_s) = expiries.fold((0, 0), |(count, last_s), expiry_s| {
            (count + 1, last_s.max(expiry_s))
        });
        Self {
            count,
            until_s: if count == 0 {
                0
            } else {
                u64::from(last_s) + daemon.orders.grace_s
            },
        }
    }

    /// A sentence; `None` if there is none.
    pub fn text(self) -> Option<String> {
        self.text_at(now_s())
    }

    /// As `text`, at this Unix time.
    fn text_at(self, now_s: u64) -> Option<String> {
        let until = alive_until(self.until_s, now_s, self.count > 1);
        match self.count {
            0 => None,
            1 if now_s < self.until_s => {
                Some(format!("1 order of an earlier run may be alive {until}"))
            }
            1 => Some(format!("1 order of an earlier run may be alive, {until}")),
            many => Some(format!(
                "{many} orders of earlier runs may be alive, {until}"
            )),
        }
    }
}

/// Until when an order may be alive, or the last of several; once that is past, why it still may be.
pub(crate) fn alive_until(dead_s: u64, now_s: u64, is_last: bool) -> String {
    let until = times::iso(dead_s);
    let (last, whose) = if is_last {
        ("the last ", "their")
    } else {
        ("", "its")
    };
    if now_s < dead_s {
        format!("{last}until {until} (expiry plus grace)")
    } else {
        format!(
            "because the venue has not proven {whose} end, which the clock passed at {until} (expiry plus grace)"
        )
    }
}

/// The Unix time by the host's clock.
pub(super) fn now_s() -> u64 {
    Clock::new().unix_micros() / 1_000_000
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::path::Path;

    use cambist_core::event::{RecoveredOrder, Restrictions};
    use cambist_core::intent::RecoveredPoolTransaction;
    use cambist_core::order::{FillBy, UnsignedOrder};
    use cambist_core::pool::UnsignedPoolTransaction;
    use cambist_core::{
        ClientOrderId, Hash, MarketId, OrderKind, PoolTransactionKind, Price, Qty, Side,
        StrategyId, TokenId, VenueTime,
    };
    use cambist_store::{OpenIntent, OpenPoolTransaction};

    use super::*;

    fn id(number: u64) -> ClientOrderId {
        ClientOrderId {
            instance: 1,
            strategy: StrategyId(0),
            number,
        }
    }

    fn order(until_s: u32) -> OpenIntent {
        let order = UnsignedOrder {
            client_id: id(1),
            market: MarketId(0),
            side: Side::Buy,
            price: Price(1),
            qty: Qty(1),
            kind: OrderKind::Limit,
            swap: None,
            sell_token: TokenId(1),
            sell_amount: 1,
            buy_token: TokenId(0),
            buy_amount: 1,
            fill_by: FillBy::Buy,
            slot: 0,
            accepted_until_s: until_s,
            rests_until_s: Some(until_s),
            max_fee_bips: 1,
            made_at: VenueTime(1),
        };
        OpenIntent {
            recovered: RecoveredOrder {
                order,
                hash: Hash([1; 32]),
                base_filled: 0,
                quote_filled: 0,
                fee: 0,
            },
            body: Vec::new(),
        }
    }

    fn exit(until_s: u32) -> OpenPoolTransaction {
        let transaction = UnsignedPoolTransaction {
            client_id: id(2),
            market: MarketId(0),
            kind: PoolTransactionKind::Exit,
            pooled: [TokenId(0), TokenId(1)],
            amounts: [1, 1],
            lp: TokenId(2),
            lp_amount: 1,
            storage_ids: vec![1],
            fee_max: 1,
            valid_until_s: until_s,
            made_at: VenueTime(1),
        };
        OpenPoolTransaction {
            recovered: RecoveredPoolTransaction {
                transaction,
                hash: Hash([2; 32]),
            },
            body: Vec::new(),
        }
    }

    #[test]
    fn the_last_that_may_be_alive_counts() {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/demo.toml");
        let daemon = Daemon::load(Path::new(example)).unwrap();
        assert_eq!(daemon.orders.grace_s, 3);
        let of = |open: Vec<OpenIntent>, open_moves: Vec<OpenPoolTransaction>| {
            let recovered = Recovered {
                instance: 1,
                next_number: 1,
                next_storage: cambist_core::sorted_map::SortedMap::new(),
                open,
                signed: Vec::new(),
                open_moves,
                restrictions: Restrictions::default(),
                cause: String::new(),
                parameters: Vec::new(),
            };
            EarlierRuns::of(&recovered, &daemon)
        };
        let none = of(Vec::new(), Vec::new());
        assert_eq!((none.count, none.until_s, none.text()), (0, 0, None));
        let one = of(vec![order(1_767_225_600)], Vec::new());
        assert_eq!((one.count, one.until_s), (1, 1_767_225_603));
        let text =
            "1 order of an earlier run may be alive until 2026-01-01T00:00:03Z (expiry plus grace)";
        let before = 1_767_225_602;
        assert_eq!(one.text_at(before).as_deref(), Some(text));
        let text = "1 order of an earlier run may be alive, because the venue has not proven its end, which the clock passed at 2026-01-01T00:00:03Z (expiry plus grace)";
        assert_eq!(one.text_at(before + 1).as_deref(), Some(text));
        let orders = vec![order(1_767_225_610), order(1_767_225_605)];
        let many = of(orders, vec![exit(1_767_225_620)]);
        assert_eq!((many.count, many.until_s), (3, 1_767_225_623));
        let text = many.text_at(before).unwrap();
        assert!(text.starts_with("3 orders of earlier runs"), "{text}");
        assert!(
            text.contains("the last until 2026-01-01T00:00:23Z"),
            "{text}"
        );
    }
}
