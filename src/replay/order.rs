//! The life of one order on recordings: why it was made, why it stayed, why it ended.
//!
//! The recording holds what was sent and answered. What each decision meant for the order is not on it: the engine
//! decides again while it is replayed.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cambist_core::action::Action;
use cambist_core::event::Event;
use cambist_core::inspection::OrderDecision;
use cambist_core::notification::Notification;
use cambist_core::order::UnsignedOrder;
use cambist_core::{ClientOrderId, Intent, MarketSpec, Time, VenueTime};
use cambist_daemon::recording::Player;
use cambist_tape::{Difference, Entry, Header, Reader, first_difference};

use super::recordings;

/// The life of an order.
#[derive(Debug)]
pub struct OrderLife {
    /// The recording that it begins in.
    pub path: PathBuf,
    /// Its header.
    pub header: Header,
    /// The market.
    pub market: MarketSpec,
    /// The order.
    pub order: UnsignedOrder,
    /// What happened to it, in order.
    pub steps: Vec<Step>,
    /// Whether its end is on the recording.
    pub has_ended: bool,
    /// The first event after which this program's engine acted differently from the recorded one. The decisions are
    /// then this program's.
    pub difference: Option<Difference>,
}

/// Something that happened to an order.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The exchange's time; of a decision that was repeated also that of the last one.
    pub at: [VenueTime; 2],
    /// For an order that is kept: for how many different quotes in a row. 1 for anything else.
    pub quotes: u64,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A decision of the engine.
    Decided(OrderDecision),
    /// The intent is on disk.
    Sealed,
    /// A notification about the order.
    Notified(Box<Notification>),
}

/// The life of an order on the recordings at `path`.
pub fn life(path: &Path, id: ClientOrderId) -> anyhow::Result<OrderLife> {
    let files = recordings(path)?;
    let begin = find(&files, id)?;
    let begin = begin.with_context(|| {
        format!(
            "{}: the recordings have no order {id}; history orders lists those of the store",
            path.display()
        )
    })?;
    let mut life = None;
    let mut walk = Walk::new(id);
    for file in &files[begin..] {
        let header = walk.segment(file)?;
        if life.is_none() {
            let (market, order) = walk.order.clone().with_context(|| {
                format!("{}: its engine did not make the order", file.display())
            })?;
            life = Some((file.clone(), header, market, order));
        }
        if walk.has_ended {
            break;
        }
    }
    let (path, header, market, order) = life.context("no recording")?;
    Ok(OrderLife {
        path,
        header,
        market,
        order,
        steps: walk.steps,
        has_ended: walk.has_ended,
        difference: walk.difference,
    })
}

/// The place of the recording in which the order was made: from the newest back, because most questions are about
/// recent orders. Numbers rise, so that an older recording than one with a lower number has it not.
fn find(files: &[PathBuf], id: ClientOrderId) -> anyhow::Result<Option<usize>> {
    for (at, file) in files.iter().enumerate().rev() {
        let name = || file.display().to_string();
        let mut reader = Reader::open(BufReader::new(File::open(file).with_context(name)?))
            .with_context(name)?;
        let mut is_older = false;
        while let Some(entry) = reader.next_entry().with_context(name)? {
            let Entry::Actions { actions } = entry else {
                continue;
            };
            for intent in sealed(&actions) {
                let found = intent.id();
                if found == id {
                    return Ok(Some(at));
                }
                is_older |= found.instance == id.instance && found.number < id.number;
            }
        }
        if is_older {
            return Ok(None);
        }
    }
    Ok(None)
}

fn sealed(actions: &[Action]) -> impl Iterator<Item = &Intent> {
    let batches = actions.iter().filter_map(|action| match action {
        Action::Seal { intents, .. } => Some(intents),
        _ => None,
    });
    batches.flatten()
}

/// Passes recordings to an engine and keeps what concerns one order.
struct Walk {
    id: ClientOrderId,
    order: Option<(MarketSpec, UnsignedOrder)>,
    steps: Vec<Step>,
    has_ended: bool,
    difference: Option<Difference>,
    events: u64,
    got: Vec<Action>,
}

impl Walk {
    const fn new(id: ClientOrderId) -> Self {
        Self {
            id,
            order: None,
            steps: Vec::new(),
            has_ended: false,
            difference: None,
            events: 0,
            got: Vec::new(),
        }
    }

    /// Plays a recording to its end, or to that of the order.
    fn segment(&mut self, path: &Path) -> anyhow::Result<Header> {
        let name = || path.display().to_string();
        let file = File::open(path).with_context(name)?;
        let mut reader = Reader::open(BufReader::new(file)).with_context(name)?;
        let mut player = Player::new(&reader).with_context(name)?;
        let mut pending: Option<(Time, Event)> = None;
        while !self.has_ended
            && let Some(entry) = reader.next_entry().with_context(name)?
        {
            match entry {
                Entry::Event { now, event } => pending = Some((now, event)),
                Entry::Actions { actions } => {
                    if let Some((now, event)) = pending.take() {
                        self.event(&mut player, now, &event, &actions);
                    }
                }
            }
        }
        if let Some(failure) = player.failure() {
            anyhow::bail!("{}: {failure}", name());
        }
        Ok(reader.header().clone())
    }

    fn event(&mut self, player: &mut Player, now: Time, event: &Event, recorded: &[Action]) {
        self.got.clear();
        player.handle_event(now, event, &mut self.got);
        if self.difference.is_none() {
            self.difference = first_difference(self.events, (now, event), recorded, &self.got);
        }
        self.events += 1;
        let Some(engine) = player.engine() else {
            return;
        };
        let at = engine.venue_time(now).unwrap_or_default();
        if let Event::Sealed { hashes, .. } = event
            && hashes.iter().any(|(order, _)| *order == self.id)
        {
            self.add(at, What::Sealed);
        }
        for intent in sealed(recorded) {
            if let Intent::Order(order) = intent
                && order.client_id == self.id
                && let Some(market) = player.market(order.market)
            {
                self.order = Some((market.clone(), order.clone()));
            }
        }
        if self.order.is_none() {
            return;
        }
        let decision = engine.decision(self.id);
        if let Some(decision) = decision {
            self.decided(at, decision);
        }
        for action in recorded {
            if let Action::Notify(notification) = action
                && notification.order() == Some(self.id)
            {
                self.has_ended |= matches!(notification, Notification::Ended { .. });
                self.add(at, What::Notified(Box::new(notification.clone())));
            }
        }
    }

    fn add(&mut self, at: VenueTime, what: What) {
        self.steps.push(Step {
            at: [at; 2],
            quotes: 1,
            what,
        });
    }

    /// Only another decision than the last one is a step of its own. An order that is kept for a quote
    /// that moves within the tolerances is one step, with the newest quote.
    fn decided(&mut self, at: VenueTime, decision: OrderDecision) {
        let decided = |step: &&mut Step| matches!(step.what, What::Decided(_));
        let last = self.steps.iter_mut().rev().find(decided);
        if let Some(step) = last
            && let What::Decided(last) = &mut step.what
        {
            let is_kept = |decision: &OrderDecision| matches!(decision, OrderDecision::Kept { .. });
            if *last == decision || (is_kept(last) && is_kept(&decision)) {
                step.quotes += u64::from(*last != decision);
                *last = decision;
                step.at[1] = at;
                return;
            }
        }
        self.add(at, What::Decided(decision));
    }
}
