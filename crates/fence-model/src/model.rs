//! The state of the model, its actions, and the properties of every state.

use stateright::{Model, Property};

use crate::engine::{Engine, Phase, Tracked};
use crate::venue::{Copy, End, Fate, Order, Venue, Verdict};
use crate::{COPIES, CRASHES, HORIZON, LIES, ORDERS, Wrong};

/// The state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct World {
    /// The venue's clock.
    pub clock: u8,
    /// The daemon.
    pub engine: Engine,
    /// The venue and the network.
    pub venue: Venue,
    /// Crashes so far.
    pub crashes: u8,
    /// Wrong pages so far.
    pub lies: u8,
}

/// A possible next event. Orders are given by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "what each does stands in `next_state`")]
pub enum Action {
    Tick,
    Seal(usize),
    Sync,
    Transmit(usize),
    NotSent(usize),
    DropUnsent(usize),
    Deliver(usize, usize, Verdict),
    Hear(usize),
    TimeOut(usize),
    Cancel(usize),
    HearCancel(usize),
    Show(usize),
    Finish(usize, End),
    Read(usize),
    BeginPass,
    Page(Page),
    Crash(Ends),
}

/// Whether a crash keeps the ends that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they say it")]
pub enum Ends {
    Kept,
    Lost,
}

/// Whether a page is what the venue has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they say it")]
pub enum Page {
    True,
    Empty,
}

/// The model, with the right rules or one wrong rule.
#[derive(Clone, Copy, Debug)]
pub struct Fence {
    /// The wrong rule, if any.
    pub wrong: Option<Wrong>,
    /// Most crashes.
    pub crashes: u8,
    /// Most wrong pages of lists.
    pub lies: u8,
    /// Orders below this may be cancelled. A cancel only removes possible events.
    pub cancels: usize,
}

impl Fence {
    /// The model within all bounds, with or without a wrong rule.
    pub const fn with(wrong: Option<Wrong>) -> Self {
        Self {
            wrong,
            crashes: CRASHES,
            lies: LIES,
            cancels: 1,
        }
    }
}

/// Properties that hold in every state.
pub const ALWAYS: [&str; 4] = [
    "nothing is forgotten",
    "nothing is doubled",
    "what may fill is reserved",
    "no storage id names two orders",
];

/// Properties that hold in at least one state; otherwise the model would prove nothing.
pub const SOMETIMES: [&str; 5] = [
    "an order that was never taken ends behind the fence",
    "a second order lives after two crashes",
    "an order fills after its cancel was taken",
    "an order is found by a list after a crash",
    "an order ends because every transmission was refused",
];

fn is_forgotten(world: &World) -> bool {
    (0..ORDERS).any(|number| {
        let (ours, theirs) = (&world.engine.orders[number], &world.venue.orders[number]);
        match theirs.fate {
            Fate::Absent => false,
            Fate::Open => !ours.is_tracked(),
            Fate::Done(End::Filled) => !ours.is_tracked() && !ours.booked,
            Fate::Done(End::Over) => ours.phase == Phase::None,
        }
    })
}

impl Model for Fence {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::default()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let engine = &world.engine;
        // Time matters only to orders that are not settled.
        let busy = engine.orders.iter().any(Tracked::is_tracked)
            || world
                .venue
                .orders
                .iter()
                .any(|order| !order.is_settled(world.clock));
        if busy && world.clock < HORIZON && world.venue.lets_pass(world.clock) {
            actions.push(Action::Tick);
        }
        if let Some(number) = engine.may_seal() {
            actions.push(Action::Seal(number));
        }
        if engine.is_unsynced() {
            actions.push(Action::Sync);
        }
        for number in 0..ORDERS {
            self.actions_of(world, number, actions);
        }
        if engine.pass.is_some() {
            actions.push(Action::Page(Page::True));
            if world.lies < self.lies {
                actions.push(Action::Page(Page::Empty));
            }
        } else if engine.may_begin_pass(world.clock, self.wrong) {
            actions.push(Action::BeginPass);
        }
        if world.crashes < self.crashes {
            actions.push(Action::Crash(Ends::Kept));
            if engine
                .orders
                .iter()
                .any(|order| order.phase == Phase::Ended)
            {
                actions.push(Action::Crash(Ends::Lost));
            }
        }
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let mut world = before.clone();
        let World {
            clock,
            engine,
            venue,
            crashes,
            lies,
        } = &mut world;
        let wrong = self.wrong;
        match action {
            Action::Tick => *clock += 1,
            Action::Seal(number) => engine.seal(number, *clock),
            Action::Sync => engine.sync(),
            Action::Transmit(number) => {
                let copy = engine.transmit(number);
                let (ours, theirs) = (&engine.orders[number], &mut venue.orders[number]);
                theirs.copies[copy] = Copy::Sent;
                theirs.until = ours.until;
                theirs.storage_id = ours.storage_id;
            }
            Action::NotSent(number) => engine.not_sent(number, wrong),
            Action::DropUnsent(number) => engine.drop_unsent(number),
            Action::Deliver(number, copy, verdict) => {
                let answer = venue.deliver(number, copy, verdict, *clock);
                let ours = &mut engine.orders[number];
                if ours.phase == Phase::InFlight(copy) {
                    ours.answer.get_or_insert(answer);
                }
            }
            Action::Hear(number) => engine.hear(number, wrong),
            Action::TimeOut(number) => engine.time_out(number, wrong),
            Action::Cancel(number) => engine.cancel(number),
            Action::HearCancel(number) => {
                engine.hear_cancel(number, venue.cancel(number), wrong);
            }
            Action::Show(number) => venue.orders[number].shown = true,
            Action::Finish(number, end) => venue.orders[number].fate = Fate::Done(end),
            Action::Read(number) => {
                engine.hear_read(number, venue.report(number).as_ref(), *clock, wrong);
            }
            Action::BeginPass => engine.begin_pass(*clock, wrong),
            Action::Page(page) => {
                let asked = engine.pass.as_ref()?.page();
                let (reports, total) = match page {
                    Page::True => venue.page((asked.from, asked.to), asked.offset, asked.limit),
                    Page::Empty => {
                        *lies += 1;
                        (Vec::new(), 0)
                    }
                };
                engine.hear_page(&reports, total, wrong);
            }
            Action::Crash(ends) => {
                *crashes += 1;
                engine.crash(ends == Ends::Kept, wrong);
            }
        }
        for (ours, theirs) in engine.orders.iter().zip(&mut venue.orders) {
            if ours.phase == Phase::Ended {
                theirs.settle(*clock);
            }
        }
        (world != *before).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ALWAYS[0], |_, world: &World| !is_forgotten(world)),
            Property::always(ALWAYS[1], |_, world: &World| {
                world.venue.orders.iter().filter(|o| o.is_open()).count() <= 1
            }),
            Property::always(ALWAYS[2], |_, world: &World| {
                let both = world.venue.orders.iter().zip(&world.engine.orders);
                both.into_iter()
                    .all(|(theirs, ours)| !theirs.is_open() || ours.reserved)
            }),
            Property::always(ALWAYS[3], |_, world: &World| {
                let [first, second] = &world.venue.orders;
                let both = first.has_left() && second.has_left();
                !both || first.storage_id != second.storage_id
            }),
            Property::sometimes(SOMETIMES[0], |_, world: &World| {
                ended(world).any(|(ours, theirs)| {
                    theirs.fate == Fate::Absent && theirs.has_left() && ours.disproved == 0
                })
            }),
            Property::sometimes(SOMETIMES[1], |_, world: &World| {
                world.crashes == CRASHES && world.engine.orders[1].phase == Phase::Live
            }),
            Property::sometimes(SOMETIMES[2], |_, world: &World| {
                world
                    .engine
                    .orders
                    .iter()
                    .zip(&world.venue.orders)
                    .any(|(ours, theirs)| {
                        ours.cancel_decided && theirs.fate == Fate::Done(End::Filled)
                    })
            }),
            Property::sometimes(SOMETIMES[3], |_, world: &World| {
                world
                    .engine
                    .orders
                    .iter()
                    .any(|o| o.recovered && o.phase == Phase::Live)
            }),
            Property::sometimes(SOMETIMES[4], |_, world: &World| {
                world
                    .engine
                    .orders
                    .iter()
                    .any(|ours| ours.disproved == 2 && ours.phase == Phase::Ended)
            }),
        ]
    }
}

fn ended(world: &World) -> impl Iterator<Item = (&Tracked, &Order)> {
    let both = world.engine.orders.iter().zip(&world.venue.orders);
    both.filter(|(ours, _)| ours.phase == Phase::Ended)
}

impl Fence {
    /// The possible events of one order.
    fn actions_of(self, world: &World, number: usize, actions: &mut Vec<Action>) {
        let (engine, theirs) = (&world.engine, &world.venue.orders[number]);
        let ours = &engine.orders[number];
        if engine.may_transmit(number, world.clock, self.wrong) {
            actions.push(Action::Transmit(number));
            actions.push(Action::NotSent(number));
        }
        if ours.phase == Phase::Sealed {
            actions.push(Action::DropUnsent(number));
        }
        for copy in (0..COPIES).filter(|copy| theirs.copies[*copy] != Copy::Unsent) {
            for verdict in [Verdict::Take, Verdict::RefuseBytes, Verdict::RefuseNow] {
                actions.push(Action::Deliver(number, copy, verdict));
            }
        }
        if matches!(ours.phase, Phase::InFlight(_)) {
            actions.push(Action::TimeOut(number));
            if ours.answer.is_some() {
                actions.push(Action::Hear(number));
            }
        }
        if number < self.cancels && engine.may_cancel(number) {
            actions.push(Action::Cancel(number));
        }
        if ours.cancel_waits {
            // A cancel whose answer is lost changes nothing: an order may end at any time anyway.
            actions.push(Action::HearCancel(number));
        }
        if theirs.fate != Fate::Absent && !theirs.shown {
            actions.push(Action::Show(number));
        }
        if theirs.is_open() {
            actions.push(Action::Finish(number, End::Filled));
            actions.push(Action::Finish(number, End::Over));
        }
        if matches!(ours.phase, Phase::Unknown | Phase::Live) {
            actions.push(Action::Read(number));
        }
    }
}
