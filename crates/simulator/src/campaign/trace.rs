//! The trace of a world as text: a line for every event of the engine, and one for everything it
//! did about it.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use cambist_core::Time;
use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_sim::{Tap, Watch};

/// Writes every step, each line after the name of its venue, if there are several.
pub fn every(out: impl Write + 'static) -> Watch {
    let out = Rc::new(RefCell::new(out));
    let tap = move |venue: &'static str| -> Tap {
        let out = Rc::clone(&out);
        Box::new(move |now, event, actions| {
            for line in lines(venue, now, event, actions) {
                // A reader that has closed the pipe does not need it.
                let _ = writeln!(out.borrow_mut(), "{line}");
            }
        })
    };
    Watch {
        tap: Box::new(tap),
        until_violation: false,
    }
}

/// Keeps the last lines of the first part of a world, up to a number of steps of the engine.
#[derive(Clone, Default)]
pub struct Last(Rc<RefCell<std::collections::VecDeque<String>>>);

impl Last {
    /// An observer that keeps the last `kept` lines up to the first violation.
    pub fn watch(&self, kept: usize) -> Watch {
        let shared = Rc::clone(&self.0);
        let tap = move |venue: &'static str| -> Tap {
            let shared = Rc::clone(&shared);
            Box::new(move |now, event, actions| {
                let mut lines_kept = shared.borrow_mut();
                for line in lines(venue, now, event, actions) {
                    if lines_kept.len() >= kept {
                        lines_kept.pop_front();
                    }
                    lines_kept.push_back(line);
                }
            })
        };
        Watch {
            tap: Box::new(tap),
            until_violation: true,
        }
    }

    /// What was kept.
    pub fn lines(&self) -> Vec<String> {
        self.0.borrow().iter().cloned().collect()
    }
}

/// One step as lines.
fn lines(venue: &str, now: Time, event: &Event, actions: &[Action]) -> Vec<String> {
    let gap = if venue.is_empty() { "" } else { " " };
    let mut lines = Vec::with_capacity(actions.len() + 1);
    if !actions.is_empty() || *event != Event::Wake {
        let (s, us) = (now.0 / 1_000_000, now.0 % 1_000_000);
        lines.push(format!("{venue}{gap}{s}.{us:06} {event:?}"));
    }
    lines.extend(
        actions
            .iter()
            .map(|action| format!("{venue}{gap}    {action:?}")),
    );
    lines
}
