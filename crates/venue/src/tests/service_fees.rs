//! What transfers, withdrawals and key updates cost, as it is shown and as it is taken.

use cambist_core::{Reason, TokenId};

use super::support::*;
use crate::testing::*;
use crate::{Caller, FeeSchedule, Operator, Request, Response, SubmissionStatus, TokenAmount};

/// R-SUB-12
#[test]
fn fee_lists_are_never_empty_and_name_exactly_what_is_accepted() {
    let mut world = filled(with_pool());
    let lists = |world: &mut World| match world.ask(&Caller::Public, &Request::ExchangeInfo) {
        Ok(Response::Exchange(view)) => view.fees,
        other => panic!("{other:?}"),
    };
    let all = [0, 1, 2, 3, 4].map(TokenId);
    // Nothing is configured, a closed token, a table, a table whose tokens are all closed.
    for step in 0..4 {
        match step {
            0 => {}
            1 => world.operate(Operator::EnableToken {
                token: OTHER,
                enabled: false,
            }),
            2 => world.operate(Operator::SetServiceFees(Box::new(FeeSchedule {
                transfer: [(QUOTE, 30), (OTHER, 40)].into(),
                ..FeeSchedule::default()
            }))),
            _ => world.operate(Operator::EnableToken {
                token: QUOTE,
                enabled: false,
            }),
        }
        let shown = lists(&mut world);
        let named: Vec<_> = shown.transfer.keys().copied().collect();
        let expected = match step {
            0 => all.to_vec(),
            1 => all.into_iter().filter(|token| *token != OTHER).collect(),
            2 => vec![QUOTE],
            // None is taken, and a client still learns which would be.
            _ => vec![QUOTE, OTHER],
        };
        assert_eq!(named, expected, "{step}");
        assert!(!shown.withdrawal.is_empty() && !shown.update.is_empty());
        let onchain: Vec<_> = shown.onchain.into_iter().collect();
        let free = ["deposit", "withdraw"].map(|name| (name.to_owned(), 0));
        assert_eq!(onchain, free);
        for token in all {
            let mut transfer = world.transfer();
            transfer.sent = TokenAmount::new(BASE, 1);
            let listed = shown.transfer.get(&token).filter(|_| step < 3).copied();
            transfer.max_fee = TokenAmount::new(token, listed.unwrap_or(1_000));
            if listed.is_some() {
                assert_eq!(world.sent(transfer), SubmissionStatus::Processed);
            } else {
                assert_eq!(world.not_sent(transfer), Reason::UnsupportedFeeToken);
            }
        }
    }
}
