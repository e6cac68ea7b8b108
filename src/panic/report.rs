//! Formats the result of a sweep as text and JSON, based on lists only.

use std::path::Path;

use cambist_core::Amount;
use serde_json::{Map, Value, json};

use crate::panic::Swept;
use cambist_host::times;

/// Locked funds.
pub struct Bound {
    /// Symbol, or the id if the symbol is unknown.
    pub token: String,
    /// Base units.
    pub units: Amount,
    /// Whole tokens, if the decimals are known.
    pub whole: Option<String>,
}

/// A finished sweep.
pub struct Came<'a> {
    /// The result.
    pub swept: &'a Swept,
    /// Funds locked although no own order is left; `None` if unknown.
    pub bound: Option<Vec<Bound>>,
    /// When everything signed before has ended, seconds since the Unix epoch.
    pub dead_s: u64,
    /// Seconds since the latch.
    pub took_s: f64,
}

/// A progress line.
pub fn progress(swept: &Swept) -> String {
    let progress = match (swept.lists, &swept.last_failure) {
        (0, Some(failure)) => return format!("no complete list yet: {failure}"),
        (0, None) => return "reading the list of orders".to_owned(),
        _ if swept.left.is_empty() => "nothing is open".to_owned(),
        _ => format!("{} open", swept.left.len()),
    };
    let moves = match undecided(swept) {
        0 => String::new(),
        count => format!(", {count} joins and exits under way"),
    };
    let proof = match swept.dead_at {
        _ if swept.proven => "proven".to_owned(),
        Some(at) => format!("proof possible after {}", times::iso(at.as_s())),
        None => "the venue has not sent a time".to_owned(),
    };
    let (found, cancels) = (swept.found.len(), swept.cancels);
    let at_once = match swept.at_once {
        0 => String::new(),
        count => format!(", {count} of them by one request"),
    };
    format!("{progress}{moves}; {found} were found, {cancels} cancels sent{at_once}; {proof}")
}

/// What was cancelled without a list.
pub fn unlisted(swept: &Swept) -> String {
    match &swept.at_once_failed {
        Some(failure) => format!("nothing is cancelled: {failure}"),
        None if swept.at_once > 0 => format!("{} cancelled by one request", swept.at_once),
        None => "nothing was cancelled so far".to_owned(),
    }
}

fn undecided(swept: &Swept) -> usize {
    swept
        .moves
        .as_ref()
        .map_or(0, std::collections::BTreeMap::len)
}

impl Came<'_> {
    /// The result as text; `config` is the file in suggested commands, `latch` is why the latch could not be set.
    pub fn text(&self, config: &Path, latch: Option<&anyhow::Error>) -> String {
        let swept = self.swept;
        let (found, cancels) = (swept.found.len(), swept.cancels);
        let mut lines = Vec::new();
        let mut beside = "";
        if swept.at_once > 0 {
            beside = "further ";
            lines.push(format!(
                "one request for all orders cancelled {}",
                swept.at_once
            ));
        }
        if let Some(failure) = &swept.at_once_failed {
            lines.push(format!(
                "the request that cancels all orders failed ({failure}); each is cancelled by its own"
            ));
        }
        let single = cancels.saturating_sub(swept.at_once);
        lines.push(format!(
            "{found} {beside}orders were open in a list, {single} cancels of single orders were sent"
        ));
        if swept.unsent > 0 {
            let why = swept.last_unsent.as_deref().unwrap_or("not reached");
            lines.push(format!(
                "{} cancels could not be sent ({why}): such an order filled, or ended at its expiry",
                swept.unsent
            ));
        }
        if swept.left_alone > 0 {
            let count = swept.left_alone;
            lines.push(format!("{count} open orders of others were left alone"));
        }
        lines.push(self.conclusion());
        for order in swept.left.values() {
            let expiry = times::iso(order.valid_until_s.into());
            let (hash, market, side) = (order.hash, &order.market, order.side.name());
            lines.push(format!("  {hash} {market} {side} until {expiry}"));
        }
        if undecided(swept) > 0 {
            let count = undecided(swept);
            lines.push(format!(
                "{count} joins and exits of pools are under way; nothing can cancel them:"
            ));
        }
        for one in swept.moves.iter().flat_map(|moves| moves.values()) {
            let since = times::iso(one.created.as_s());
            let (hash, kind) = (one.hash, one.kind.name());
            lines.push(format!("  {hash} {kind} since {since}"));
        }
        lines.extend(self.bound_text());
        if let Some(failure) = swept.last_failure.as_ref().filter(|_| !swept.proven) {
            let count = swept.failures;
            lines.push(format!("{count} requests failed, the last: {failure}"));
        }
        let config = config.display();
        lines.push(match latch {
            None => {
                format!("trading stays off until: cambist resume --config {config} --reason TEXT\n")
            }
            Some(error) => format!(
                "TRADING IS NOT OFF: the latch could not be set ({error:#}); a daemon may place orders again. Stop its service, then run this command again\n"
            ),
        });
        lines.join("\n")
    }

    fn conclusion(&self) -> String {
        let swept = self.swept;
        let until = times::iso(self.dead_s);
        if swept.proven {
            let took_s = self.took_s;
            return format!(
                "proven after {took_s:.1} s: nothing rests, and nothing signed before can appear"
            );
        }
        let why = match (swept.lists, swept.left.len(), undecided(swept)) {
            (0, ..) => {
                format!("no complete list could be read; anything may be alive until {until}")
            }
            (_, 0, 0) => format!(
                "the lists show nothing open, but an order signed before may appear until {until}"
            ),
            (_, 0, _) => {
                "the lists show no open order, but joins or exits are undecided".to_owned()
            }
            (_, left, _) => format!("{left} orders are open, the last until {until}:"),
        };
        format!("NOT PROVEN: {why}")
    }

    /// Locked funds that are not in lists, and those that are.
    fn bound_text(&self) -> Option<String> {
        let bound = self.bound.as_ref().filter(|bound| !bound.is_empty())?;
        let amounts: Vec<_> = bound
            .iter()
            .map(|one| match &one.whole {
                Some(whole) => format!("{whole} {}", one.token),
                None => format!("{} units of {}", one.units, one.token),
            })
            .collect();
        let amounts = amounts.join(", ");
        let is_named = self.swept.left_alone > 0 || undecided(self.swept) > 0;
        let by = if is_named {
            "the items above, or by "
        } else {
            ""
        };
        Some(format!(
            "{amounts} bound by {by}withdrawals or transfers under way, which cannot be cancelled"
        ))
    }

    /// The JSON object; `latch` is why the latch could not be set.
    pub fn shape(&self, latch: Option<&anyhow::Error>) -> Value {
        let swept = self.swept;
        let left: Vec<_> = swept
            .left
            .values()
            .map(|order| {
                json!({
                    "hash": order.hash.to_string(),
                    "client_order_id": order.client_id.map(|id| id.to_string()),
                    "market": order.market,
                    "side": order.side.name(),
                    "valid_until": times::iso(order.valid_until_s.into()),
                    "valid_until_s": order.valid_until_s,
                })
            })
            .collect();
        let moves = swept.moves.as_ref().map(|moves| {
            let one = |report: &cambist_core::pool::PoolTransactionReport| {
                json!({
                    "hash": report.hash.to_string(),
                    "kind": report.kind.name(),
                    "created": times::iso(report.created.as_s()),
                    "created_ms": report.created.0,
                })
            };
            moves.values().map(one).collect::<Vec<_>>()
        });
        let bound = self.bound.as_ref().map(|bound| {
            let one = |bound: &Bound| {
                let both = json!({"units": bound.units.to_string(), "whole": bound.whole});
                (bound.token.clone(), both)
            };
            bound.iter().map(one).collect::<Map<_, _>>()
        });
        json!({
            "proven": swept.proven,
            "latch": latch.map_or_else(|| "raised".to_owned(), |error| format!("{error:#}")),
            "found": swept.found.len(),
            "cancels": swept.cancels,
            "cancelled_at_once": swept.at_once,
            "cancel_all_failure": swept.at_once_failed,
            "cancels_not_sent": swept.unsent,
            "cancels_not_sent_why": swept.last_unsent,
            "lists": swept.lists,
            "left": left,
            "left_alone": swept.left_alone,
            "moves": moves,
            "bound": bound,
            "dead_at": times::iso(self.dead_s),
            "dead_at_s": self.dead_s,
            "took_s": self.took_s,
            "failures": swept.failures,
            "last_failure": swept.last_failure,
            // The names before, for one version.
            "troubles": swept.failures,
            "trouble": swept.last_failure,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(swept: &Swept) -> String {
        let came = Came {
            swept,
            bound: None,
            dead_s: 1_700_000_000,
            took_s: 1.0,
        };
        came.text(Path::new("cambist.toml"), None)
    }

    #[test]
    fn cancels_of_one_request_and_of_single_orders_are_counted_apart() {
        let mut swept = Swept {
            cancels: 5,
            at_once: 3,
            ..Swept::default()
        };
        let of_both = text(&swept);
        for line in [
            "one request for all orders cancelled 3\n",
            "0 further orders were open in a list, 2 cancels of single orders were sent\n",
        ] {
            assert!(of_both.contains(line), "{of_both}");
        }
        swept.at_once = 0;
        let of_single = text(&swept);
        assert!(!of_single.contains("one request"), "{of_single}");
        assert!(
            of_single.contains("0 orders were open in a list, 5 cancels of single"),
            "{of_single}"
        );
    }

    #[test]
    fn a_request_for_all_orders_that_failed_is_reported_even_if_the_end_is_proven() {
        let swept = Swept {
            proven: true,
            at_once_failed: Some("CancelAll: EService:Unavailable".to_owned()),
            ..Swept::default()
        };
        let text = text(&swept);
        assert!(
            text.contains("cancels all orders failed (CancelAll: EService:Unavailable)"),
            "{text}"
        );
    }
}
