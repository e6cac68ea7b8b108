//! The faults that the demo's page injects: their table, what is known of each injection, and what they prove.

use std::fmt::Write as _;
use std::time::Duration;

use cambist_report::text::LABEL;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::demo::crash_test::Crash;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Answers of the exchange do not reach the daemon.
    LoseAnswers,
    /// The daemon is shown the same order book again and again.
    FreezeBook,
    /// The exchange redeems most of its pool shares.
    DrainPool,
    /// The exchange answers 429 to every request.
    RateLimit,
    /// The exchange freezes the daemon's account.
    FreezeAccount,
    /// The daemon aborts, and stays away for a while.
    Crash,
    /// The daemon is killed in the middle of a submit, and starts at once.
    Kill,
}

/// A button of the page.
#[derive(Clone, Copy, Debug)]
pub struct Button {
    /// The fault.
    pub fault: Fault,
    /// Its name in requests and results.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What happens, one sentence.
    pub about: &'static str,
    /// After which time the fault ends, seconds. `None`: by itself, as soon as the daemon quotes again.
    pub lasts_s: Option<u64>,
}

/// How many of a hundred answers get lost.
pub const LOST_PERCENT: u64 = 30;
/// How many of a hundred of the exchange's pool shares are redeemed.
pub const DRAINED_PERCENT: u64 = 90;

/// All buttons, in their order on the page. An exchange offers all of them.
pub const BUTTONS: [Button; 7] = [
    button(
        Fault::LoseAnswers,
        "lose-answers",
        "Lose 30 % of answers",
        "The exchange executes the requests, and the daemon receives no answer.",
        Some(10),
    ),
    button(
        Fault::FreezeBook,
        "freeze-book",
        "Freeze the book",
        "The daemon is shown one order book again and again. Quotes go as soon as it counts as stale, after 3 s.",
        Some(10),
    ),
    button(
        Fault::DrainPool,
        "drain-pool",
        "Drain the pool",
        "The exchange redeems nine tenths of its pool shares, and joins again afterwards. Quotes of the book stay.",
        Some(10),
    ),
    button(
        Fault::RateLimit,
        "rate-limit",
        "Answer 429",
        "The exchange answers every request with 429, too many requests. Orders rest until they expire.",
        Some(15),
    ),
    button(
        Fault::FreezeAccount,
        "freeze-account",
        "Freeze the account",
        "The exchange accepts no order of the account, only cancels.",
        Some(10),
    ),
    button(
        Fault::Crash,
        "crash",
        "Crash",
        "The daemon's process aborts, and is started again afterwards.",
        Some(5),
    ),
    button(
        Fault::Kill,
        "kill",
        "kill -9",
        "The daemon is killed while a submit has no answer, and started again at once.",
        None,
    ),
];

const fn button(
    fault: Fault,
    name: &'static str,
    title: &'static str,
    about: &'static str,
    lasts_s: Option<u64>,
) -> Button {
    Button {
        fault,
        name,
        title,
        about,
        lasts_s,
    }
}

impl Fault {
    /// Its button.
    pub fn button(self) -> &'static Button {
        let mut buttons = BUTTONS.iter();
        let button = buttons.find(|button| button.fault == self);
        button.expect("every fault has a button")
    }

    /// Whether it ends the daemon's process.
    pub const fn ends_the_process(self) -> bool {
        matches!(self, Self::Crash | Self::Kill)
    }
}

/// What ended a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// Its time is over.
    Time,
    /// Its button was pressed again.
    Press,
    /// The demo ends, or kills the daemon.
    Demo,
}

impl EndedBy {
    const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Press => "press",
            Self::Demo => "demo",
        }
    }
}

/// One injection.
#[derive(Clone, Debug)]
pub struct Injection {
    fault: Fault,
    began: Instant,
    ended: Option<(Instant, EndedBy)>,
    /// Time from the beginning until a promised quote was missing.
    gone_after: Option<Duration>,
    /// Time from the end until all were there again.
    back_after: Option<Duration>,
    /// What was found after the daemon's process had ended.
    crash: Option<Crash>,
}

/// All injections of a demo.
#[derive(Debug)]
pub struct Faults {
    begun: Instant,
    /// Those that the venue offers.
    buttons: &'static [Button],
    injections: Vec<Injection>,
    /// Why no button works now.
    pub busy: Option<&'static str>,
}

impl Faults {
    /// None yet, in a demo that began at this time, on a venue that offers these.
    pub const fn new(begun: Instant, buttons: &'static [Button]) -> Self {
        Self {
            begun,
            buttons,
            injections: Vec::new(),
            busy: None,
        }
    }

    /// The fault with this name, if the venue offers it.
    pub fn named(&self, name: &str) -> Option<Fault> {
        let button = self.buttons.iter().find(|button| button.name == name)?;
        Some(button.fault)
    }

    /// Faults that are in effect.
    pub fn active(&self) -> Vec<Fault> {
        let active = self.injections.iter().filter(|one| one.ended.is_none());
        active.map(|one| one.fault).collect()
    }

    /// Faults whose time is over.
    pub fn due(&self, now: Instant) -> Vec<Fault> {
        let is_due = |fault: &Fault| {
            let lasts = fault.button().lasts_s.map(Duration::from_secs);
            let active = self.current(*fault).map(|one| now - one.began);
            lasts
                .zip(active)
                .is_some_and(|(lasts, active)| active >= lasts)
        };
        self.active().into_iter().filter(is_due).collect()
    }

    /// Whether a fault is in effect, or the quotes are not back since one.
    pub fn are_awaited(&self) -> bool {
        self.injections.iter().any(|one| !one.is_over())
    }

    /// A fault begins.
    pub fn begin(&mut self, fault: Fault, now: Instant) {
        self.injections.push(Injection {
            fault,
            began: now,
            ended: None,
            gone_after: None,
            back_after: None,
            crash: None,
        });
    }

    /// A fault ends.
    pub fn end(&mut self, fault: Fault, by: EndedBy, now: Instant) {
        let current = self.injections.iter_mut().rev();
        let mut current = current.filter(|one| one.fault == fault && one.ended.is_none());
        if let Some(one) = current.next() {
            one.ended = Some((now, by));
        }
    }

    /// Whether everything that the strategies promise is quoted now.
    pub fn observe(&mut self, quoted: bool, now: Instant) {
        for one in &mut self.injections {
            match (one.ended, quoted) {
                (None, false) if one.gone_after.is_none() => {
                    one.gone_after = Some(now - one.began);
                }
                (Some((at, _)), true) if one.back_after.is_none() => {
                    one.back_after = Some(now - at);
                }
                (Some(_) | None, true | false) => {}
            }
        }
    }

    /// The daemon quotes again after the fault that ended its process.
    pub fn restarted(&mut self, fault: Fault, crash: Crash) {
        if let Some(one) = self
            .injections
            .iter_mut()
            .rev()
            .find(|one| one.fault == fault)
        {
            let at = self.begun + Duration::from_secs_f64(crash.at_s);
            one.gone_after = Some(at.saturating_duration_since(one.began));
            one.back_after = Some(Duration::from_secs_f64(crash.recovery_s));
            one.ended = one.ended.or(Some((at, EndedBy::Time)));
            one.crash = Some(crash);
        }
    }

    fn current(&self, fault: Fault) -> Option<&Injection> {
        let mut current = self.injections.iter().rev();
        current.find(|one| one.fault == fault && one.ended.is_none())
    }

    /// What was found after each kill.
    pub fn crashes(&mut self) -> impl Iterator<Item = &mut Crash> {
        self.injections
            .iter_mut()
            .filter_map(|one| one.crash.as_mut())
    }

    /// Time in which a fault was in effect or the quotes were not back, overlaps counted once.
    pub fn excused(&self, now: Instant) -> Duration {
        let mut total = Duration::ZERO;
        let mut counted_until = self.begun;
        // In the order in which they began.
        for one in &self.injections {
            let back = one.ended.zip(one.back_after);
            let until = back.map_or(now, |((at, _), after)| at + after);
            let from = one.began.max(counted_until);
            total += until.saturating_duration_since(from);
            counted_until = counted_until.max(until);
        }
        total
    }

    /// Faults after which the quotes did not return, and what was found wrong after kills.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for one in &self.injections {
            if one.back_after.is_none() {
                let title = one.fault.button().title;
                problems.push(format!(
                    "the quotes did not return after the fault {title:?}"
                ));
            }
            problems.extend(one.crash.iter().flat_map(Crash::problems));
        }
        problems
    }

    /// The injections as lines of the summary.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for one in &self.injections {
            let began = (one.began - self.begun).as_secs_f64();
            let lasted = one
                .ended
                .map_or(0.0, |(at, _)| (at - one.began).as_secs_f64());
            let title = one.fault.button().title;
            // Writing to a text cannot fail.
            let _ = writeln!(
                text,
                "{:<LABEL$}{title}, after {began:.1} s for {lasted:.1} s; {}",
                "fault",
                one.effect()
            );
        }
        text
    }

    /// The same, in the form of the demo's JSON.
    pub fn json(&self) -> Value {
        let injection = |one: &Injection| {
            let since = |at: Instant| (at - self.begun).as_secs_f64();
            json!({
                "name": one.fault.button().name,
                "at_s": since(one.began),
                "ended_s": one.ended.map(|(at, _)| since(at)),
                "ended_by": one.ended.map(|(_, by)| by.name()),
                "quotes_gone_after_s": one.gone_after.map(|after| after.as_secs_f64()),
                "quotes_back_after_s": one.back_after.map(|after| after.as_secs_f64()),
                "crash": one.crash,
            })
        };
        self.injections.iter().map(injection).collect()
    }

    /// The buttons and their state, for the page.
    pub fn page(&self, now: Instant) -> Value {
        let button = |button: &Button| {
            let of_it = |one: &&Injection| one.fault == button.fault;
            let current = self.current(button.fault).map(|one| now - one.began);
            let left = current
                .zip(button.lasts_s)
                .map(|(active, lasts_s)| Duration::from_secs(lasts_s).saturating_sub(active));
            json!({
                "name": button.name,
                "title": button.title,
                "about": button.about,
                "lasts_s": button.lasts_s,
                "active_s": current.map(|active| active.as_secs_f64()),
                "left_s": left.map(|left| left.as_secs_f64()),
                "count": self.injections.iter().filter(of_it).count(),
                "effect": self.injections.iter().rev().find(of_it).map(Injection::effect),
            })
        };
        json!({"busy": self.busy, "buttons": self.buttons.iter().map(button).collect::<Vec<_>>()})
    }
}

impl Injection {
    const fn is_over(&self) -> bool {
        self.ended.is_some() && self.back_after.is_some()
    }

    fn effect(&self) -> String {
        let gone = match self.gone_after {
            Some(after) => format!("quotes gone after {:.1} s", after.as_secs_f64()),
            None if self.back_after.is_some() => return "quotes stayed".to_owned(),
            None => "quotes stand".to_owned(),
        };
        match self.back_after {
            Some(after) => format!("{gone}, back {:.1} s after its end", after.as_secs_f64()),
            None => gone,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// Faults of a demo, and a clock in seconds since its beginning.
    fn begun() -> (Faults, impl Fn(u64) -> Instant) {
        let begun = Instant::now();
        (Faults::new(begun, &BUTTONS), move |s| {
            begun + Duration::from_secs(s)
        })
    }

    #[test]
    fn a_fault_ends_after_its_time_and_is_over_when_the_quotes_are_back() {
        let (mut faults, at) = begun();
        faults.begin(Fault::FreezeAccount, at(2));
        assert_eq!(faults.active(), [Fault::FreezeAccount]);
        faults.observe(true, at(3));
        assert_eq!(faults.page(at(3))["buttons"][4]["effect"], "quotes stand");
        assert_eq!(faults.page(at(3))["buttons"][4]["left_s"], 9.0);
        faults.observe(false, at(3));
        assert!(faults.due(at(11)).is_empty(), "9 of 10 s");
        assert_eq!(faults.due(at(12)), [Fault::FreezeAccount]);
        faults.end(Fault::FreezeAccount, EndedBy::Time, at(12));
        assert!(faults.active().is_empty() && faults.are_awaited());
        assert_eq!(faults.problems().len(), 1, "not back yet");
        faults.observe(true, at(15));
        assert!(!faults.are_awaited() && faults.problems().is_empty());
        let shown = &faults.json()[0];
        assert_eq!(shown["name"], "freeze-account");
        assert_eq!(
            (&shown["at_s"], &shown["ended_s"]),
            (&json!(2.0), &json!(12.0))
        );
        assert_eq!(shown["quotes_gone_after_s"], 1.0);
        assert_eq!(shown["quotes_back_after_s"], 3.0);
        assert_eq!(faults.excused(at(60)), Duration::from_secs(13));
    }

    #[test]
    fn overlapping_faults_excuse_their_time_once() {
        let (mut faults, at) = begun();
        faults.begin(Fault::RateLimit, at(0));
        faults.begin(Fault::FreezeBook, at(2));
        faults.end(Fault::RateLimit, EndedBy::Press, at(4));
        faults.observe(true, at(4));
        faults.end(Fault::FreezeBook, EndedBy::Press, at(6));
        faults.observe(true, at(6));
        faults.begin(Fault::LoseAnswers, at(11));
        assert_eq!(faults.excused(at(12)), Duration::from_secs(7), "until now");
        faults.end(Fault::LoseAnswers, EndedBy::Demo, at(12));
        faults.observe(true, at(12));
        assert_eq!(faults.excused(at(60)), Duration::from_secs(7));
    }

    #[test]
    fn every_button_has_a_name_of_its_own() {
        let (faults, _) = begun();
        for button in &BUTTONS {
            assert_eq!(faults.named(button.name), Some(button.fault));
            assert_eq!(button.fault.button().name, button.name);
        }
        assert_eq!(faults.named("kill "), None);
        let fewer = Faults::new(Instant::now(), &BUTTONS[6..]);
        assert_eq!(fewer.named("kill"), Some(Fault::Kill));
        assert_eq!(fewer.named("freeze-book"), None, "not of this venue");
    }
}
