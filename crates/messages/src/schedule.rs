//! When a condition becomes a message: once when it has lasted, again while it lasts, and once when it ended.

use std::collections::BTreeMap;

use crate::conditions::Condition;

/// A condition has ended when it was absent for so long, seconds: one that comes and goes is one condition.
const CLEAR_S: u64 = 10;
/// Most conditions that are kept; a page that is not the daemon's could name any number.
const CONDITIONS_MAX: usize = 256;

/// Why a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The condition holds.
    Raised,
    /// It still does.
    Lasting,
    /// It does not hold any more.
    Resolved,
}

impl Change {
    /// `raised`, `lasting` or `resolved`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::Lasting => "lasting",
            Self::Resolved => "resolved",
        }
    }
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Why.
    pub change: Change,
    /// About what, as it was last seen.
    pub condition: Condition,
    /// How long it has held, seconds.
    pub lasts_s: u64,
}

#[derive(Debug)]
struct Known {
    since_s: u64,
    seen_s: u64,
    sent_s: Option<u64>,
    condition: Condition,
}

/// Conditions that are known, by kind and subject.
#[derive(Debug)]
pub struct Schedule {
    repeat_s: u64,
    known: BTreeMap<(&'static str, String), Known>,
}

impl Schedule {
    /// A schedule that repeats a message while its condition lasts, every `repeat_s` seconds.
    pub const fn new(repeat_s: u64) -> Self {
        Self {
            repeat_s,
            known: BTreeMap::new(),
        }
    }

    /// The messages that follow from what holds at a moment. `now_s` never runs backwards.
    pub fn observe(&mut self, now_s: u64, found: Vec<Condition>) -> Vec<Message> {
        for condition in found {
            let key = (condition.kind.name, condition.subject.clone());
            let is_full = self.known.len() >= CONDITIONS_MAX;
            match self.known.get_mut(&key) {
                Some(known) => {
                    known.seen_s = now_s;
                    known.condition = condition;
                }
                None if is_full => {}
                None => {
                    let known = Known {
                        since_s: now_s,
                        seen_s: now_s,
                        sent_s: None,
                        condition,
                    };
                    self.known.insert(key, known);
                }
            }
        }
        let mut messages = Vec::new();
        let repeat_s = self.repeat_s;
        self.known.retain(|_, known| {
            let message = |change| Message {
                change,
                condition: known.condition.clone(),
                lasts_s: known.seen_s.saturating_sub(known.since_s),
            };
            if now_s.saturating_sub(known.seen_s) >= CLEAR_S {
                if known.sent_s.is_some() {
                    messages.push(message(Change::Resolved));
                }
                return false;
            }
            let lasts_s = known.seen_s.saturating_sub(known.since_s);
            match known.sent_s {
                None if known.seen_s == now_s && lasts_s >= known.condition.kind.after_s => {
                    messages.push(message(Change::Raised));
                    known.sent_s = Some(now_s);
                }
                Some(sent_s)
                    if known.seen_s == now_s && now_s.saturating_sub(sent_s) >= repeat_s =>
                {
                    messages.push(message(Change::Lasting));
                    known.sent_s = Some(now_s);
                }
                _ => {}
            }
            true
        });
        messages
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::conditions::conditions;

    fn at(schedule: &mut Schedule, now_s: u64, level: &str) -> Vec<Change> {
        let status = json!({"state": "active", "alive": true, "level": level});
        let found = schedule.observe(now_s, conditions(Some(&status)));
        found.into_iter().map(|one| one.change).collect()
    }

    #[test]
    fn a_condition_is_sent_once_then_repeated_and_its_end_once() {
        let mut schedule = Schedule::new(100);
        assert_eq!(at(&mut schedule, 0, "halted"), [Change::Raised]);
        assert_eq!(at(&mut schedule, 5, "halted"), []);
        assert_eq!(at(&mut schedule, 99, "halted"), []);
        assert_eq!(at(&mut schedule, 100, "halted"), [Change::Lasting]);
        // Absent for less than the clearing time: the same condition.
        assert_eq!(at(&mut schedule, 105, "active"), []);
        assert_eq!(at(&mut schedule, 109, "halted"), []);
        assert_eq!(at(&mut schedule, 118, "active"), []);
        assert_eq!(at(&mut schedule, 119, "active"), [Change::Resolved]);
        assert_eq!(at(&mut schedule, 130, "active"), []);
        assert_eq!(at(&mut schedule, 131, "halted"), [Change::Raised]);
    }

    #[test]
    fn what_ends_in_time_is_not_sent() {
        let mut schedule = Schedule::new(100);
        for now_s in [0, 5, 14] {
            assert_eq!(schedule.observe(now_s, conditions(None)), []);
        }
        assert_eq!(at(&mut schedule, 30, "active"), []);
        assert_eq!(schedule.observe(40, conditions(None)), []);
        assert_eq!(schedule.observe(54, conditions(None)), []);
        assert_eq!(schedule.observe(55, conditions(None)).len(), 1);
    }

    #[test]
    fn a_message_states_how_long_its_condition_has_lasted() {
        let mut schedule = Schedule::new(100);
        let mut lasts = |now_s: u64, level: &str| {
            let status = json!({"state": "active", "alive": true, "level": level});
            let sent = schedule.observe(now_s, conditions(Some(&status)));
            sent.iter().map(|one| one.lasts_s).collect::<Vec<_>>()
        };
        assert_eq!(lasts(1_000, "halted"), [0]);
        assert_eq!(lasts(1_100, "halted"), [100]);
        assert_eq!(lasts(1_110, "active"), [100], "until it was last seen");
    }

    #[test]
    fn memory_is_bounded() {
        let mut schedule = Schedule::new(100);
        let kind = crate::KINDS[0];
        let many = (0..1_000).map(|number| Condition {
            kind,
            subject: number.to_string(),
            summary: String::new(),
        });
        schedule.observe(0, many.collect());
        assert_eq!(schedule.known.len(), CONDITIONS_MAX);
    }
}
