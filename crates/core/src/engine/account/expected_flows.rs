//! Flows that are announced before they happen: transfers, withdrawals, joins and exits of pools that an operator
//! requests beside the engine.
//!
//! A difference of the books that is exactly the sum of announced flows is booked as explained in the step that finds
//! it, so that it stops no trading. Anything else stays a difference. The request itself is kept outside: an
//! announcement lives as long as the run, and is repeated by the next one.

use serde::{Deserialize, Serialize};

use crate::action::Action;
use crate::books::Difference;
use crate::engine::account::ledger::Differences;
use crate::engine::state::State;
use crate::token::TokenId;

/// Most announced flows. Sums of all their choices are compared with a difference.
const FLOWS_MAX: usize = 12;

/// One announced flow; its reason identifies it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExpectedFlow {
    pub(crate) token: TokenId,
    /// Base units, negative for an outflow.
    pub(crate) amount: i128,
    pub(crate) reason: String,
}

/// The announced flows that have not happened yet, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ExpectedFlows {
    flows: Vec<ExpectedFlow>,
}

impl ExpectedFlows {
    /// Adds a flow. The same one again changes nothing; another one with its reason is refused.
    fn add(&mut self, flow: ExpectedFlow) -> Result<bool, String> {
        if let Some(known) = self.flows.iter().find(|known| known.reason == flow.reason) {
            return if *known == flow {
                Ok(false)
            } else {
                Err("another flow is expected for this reason".to_owned())
            };
        }
        if self.flows.len() >= FLOWS_MAX {
            return Err(format!(
                "{FLOWS_MAX} flows are expected already; wait until one of them has happened"
            ));
        }
        self.flows.push(flow);
        Ok(true)
    }

    fn remove(&mut self, reason: &str) -> bool {
        let before = self.flows.len();
        self.flows.retain(|flow| flow.reason != reason);
        self.flows.len() < before
    }

    /// What announced flows cannot have caused of differences that are known as lower bounds. The next cut has the
    /// exact ones.
    fn beyond(&self, differences: &Differences) -> Differences {
        let beyond = differences.iter().filter_map(|(token, difference)| {
            let found = difference.unexplained();
            let flows = self.flows.iter().filter(|flow| flow.token == *token);
            let same = flows.filter(|flow| flow.amount.signum() == found.signum());
            let most = same.fold(0_i128, |sum, flow| sum.saturating_add(flow.amount));
            (most.unsigned_abs() < found.unsigned_abs()).then(|| {
                let ledger = difference.ledger.saturating_add(most);
                let venue = difference.venue;
                (*token, Difference { ledger, venue })
            })
        });
        beyond.collect()
    }

    /// The fewest flows of a token whose sum is this amount, the oldest of several choices; `None` if there are none.
    fn explaining(&self, token: TokenId, amount: i128) -> Option<Vec<ExpectedFlow>> {
        let of_token: Vec<_> = self.flows.iter().filter(|f| f.token == token).collect();
        let chosen = |choice: u32| {
            let flows = (0..).zip(&of_token);
            flows.filter_map(move |(at, flow)| (choice >> at & 1 == 1).then_some(*flow))
        };
        let choices = 1..1_u32 << of_token.len();
        let fitting = choices.filter(|choice| {
            let sum = chosen(*choice).try_fold(0_i128, |sum, flow| sum.checked_add(flow.amount));
            sum == Some(amount)
        });
        // A lower number of equal size has an older flow where they differ first from the newest.
        let best = fitting.min_by_key(|choice| (choice.count_ones(), *choice))?;
        Some(chosen(best).cloned().collect())
    }
}

impl State {
    /// Announces a flow.
    pub(crate) fn expect_flow(
        &mut self,
        token: TokenId,
        amount: i128,
        reason: &str,
    ) -> Result<String, String> {
        let flow = ExpectedFlow {
            token,
            amount,
            reason: reason.to_owned(),
        };
        let is_new = self.expected_flows.add(flow)?;
        let text = self.amount_text(token, amount);
        Ok(if is_new {
            format!("{text} is expected")
        } else {
            format!("{text} is expected already")
        })
    }

    /// Withdraws an announcement.
    pub(crate) fn drop_expected_flow(&mut self, reason: &str) -> String {
        let text = if self.expected_flows.remove(reason) {
            "the flow is no longer expected"
        } else {
            "no such flow is expected"
        };
        text.to_owned()
    }

    /// Lower bounds of differences, less what announced flows may have caused of them.
    pub(crate) fn unexpected(&self, differences: &Differences) -> Differences {
        self.expected_flows.beyond(differences)
    }

    /// Books announced flows that are exactly the difference of their token.
    pub(crate) fn explain_expected(&mut self, actions: &mut Vec<Action>) {
        let differing = self.ledger.differing().clone();
        for (token, difference) in differing {
            let unexplained = difference.unexplained();
            let flows = self.expected_flows.explaining(token, unexplained);
            for flow in flows.into_iter().flatten() {
                // The sum leaves what the venue holds, so that it is covered; if not, it stays a difference.
                if self
                    .explain(token, flow.amount, &flow.reason, actions)
                    .is_ok()
                {
                    self.expected_flows.remove(&flow.reason);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    const TOKEN: TokenId = TokenId(1);

    fn flow(token: TokenId, amount: i128, reason: &str) -> ExpectedFlow {
        ExpectedFlow {
            token,
            amount,
            reason: reason.to_owned(),
        }
    }

    fn reasons(flows: Option<Vec<ExpectedFlow>>) -> Option<Vec<String>> {
        flows.map(|flows| flows.into_iter().map(|flow| flow.reason).collect())
    }

    #[test]
    fn only_an_exact_sum_explains_and_the_fewest_oldest_flows_do() {
        let mut expected = ExpectedFlows::default();
        let list = [(-5, "a"), (-2, "b"), (-3, "c"), (-5, "d")];
        for (amount, reason) in list {
            assert_eq!(expected.add(flow(TOKEN, amount, reason)), Ok(true));
        }
        expected.add(flow(TokenId(2), -7, "e")).unwrap();
        let explains = |amount| reasons(expected.explaining(TOKEN, amount));
        let words = |words: &[&str]| Some(words.iter().map(|w| (*w).to_owned()).collect());
        assert_eq!(explains(-5), words(&["a"]), "one before two, the oldest");
        assert_eq!(explains(-8), words(&["a", "c"]));
        assert_eq!(explains(-15), words(&["a", "b", "c", "d"]));
        for none in [-1, -4, -9, -16, 0, 5] {
            assert_eq!(explains(none), None, "{none}");
        }
        assert_eq!(reasons(expected.explaining(TokenId(3), -5)), None);
    }

    #[test]
    fn a_lower_bound_counts_as_far_as_no_announced_flow_can_have_caused_it() {
        let mut expected = ExpectedFlows::default();
        for (amount, reason) in [(-5, "a"), (-2, "b"), (4, "c")] {
            expected.add(flow(TOKEN, amount, reason)).unwrap();
        }
        let beyond = |token, venue| {
            let difference = Difference { ledger: 100, venue };
            let beyond = expected.beyond(&[(token, difference)].into());
            beyond.get(&token).map(|left| left.unexplained())
        };
        assert_eq!(beyond(TOKEN, 93), None);
        assert_eq!(beyond(TOKEN, 92), Some(-1));
        assert_eq!(beyond(TOKEN, 104), None);
        assert_eq!(beyond(TOKEN, 106), Some(2));
        assert_eq!(beyond(TokenId(2), 99), Some(-1));
    }

    #[test]
    fn a_reason_is_one_flow_and_the_number_is_bounded() {
        let mut expected = ExpectedFlows::default();
        assert_eq!(expected.add(flow(TOKEN, -5, "0")), Ok(true));
        assert_eq!(expected.add(flow(TOKEN, -5, "0")), Ok(false));
        assert!(expected.add(flow(TOKEN, -6, "0")).is_err());
        assert_eq!(expected.flows.len(), 1);
        for number in 1..FLOWS_MAX {
            expected.add(flow(TOKEN, -5, &number.to_string())).unwrap();
        }
        assert!(expected.add(flow(TOKEN, -5, "more")).is_err());
        assert!(expected.remove("0") && !expected.remove("0"));
        assert_eq!(expected.add(flow(TOKEN, -5, "more")), Ok(true));
    }

    #[test]
    fn what_a_command_changed_is_stated() {
        let mut state = crate::engine::testing::state(crate::Time::from_ms(1_000));
        let token = TokenId(0);
        let first = state.expect_flow(token, -5, "transfer").unwrap();
        assert!(first.ends_with(" is expected"), "{first}");
        let again = state.expect_flow(token, -5, "transfer").unwrap();
        assert!(again.ends_with(" is expected already"), "{again}");
        assert!(state.expect_flow(token, -6, "transfer").is_err());
        let mut dropped = || state.drop_expected_flow("transfer");
        assert_eq!(dropped(), "the flow is no longer expected");
        assert_eq!(dropped(), "no such flow is expected");
        assert!(state.expect_flow(token, -6, "transfer").is_ok());
    }
}
