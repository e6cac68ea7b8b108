//! The state of the model, its actions, and the properties of every state.

use stateright::{Model, Property};

use crate::engine::{Engine, Phase, Tracked};
use crate::venue::{Copy, Decision, End, Order, OrderState, Venue};
use crate::{COPIES, CRASHES, HORIZON, Numbers, ORDERS, Rests, WRONG_PAGES, Wrong};

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
    pub wrong_pages: u8,
}

/// A possible next event. Orders are given by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "`next_state` documents them")]
pub enum Action {
    Tick,
    Seal(usize),
    Sync,
    Transmit(usize),
    NotSent(usize),
    DropUnsent(usize),
    Deliver(usize, usize, Decision),
    Answer(usize),
    TimeOut(usize),
    Cancel(usize),
    CancelAnswer(usize),
    List(usize),
    Finish(usize, End),
    Read(usize),
    BeginScan,
    Page(Page),
    Crash(Ends),
}

/// Whether a crash keeps the ends that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are self-explanatory")]
pub enum Ends {
    Kept,
    Lost,
}

/// Whether a page is what the venue has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are self-explanatory")]
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
    pub wrong_pages: u8,
    /// Orders below this may be cancelled. A cancel only removes possible events.
    pub cancels: usize,
    /// How long orders rest.
    pub rests: Rests,
    /// How the venue takes numbers.
    pub numbers: Numbers,
}

impl Fence {
    /// The model within all bounds, with or without a wrong rule.
    pub const fn with(wrong: Option<Wrong>) -> Self {
        Self {
            wrong,
            crashes: CRASHES,
            wrong_pages: WRONG_PAGES,
            cancels: 1,
            rests: Rests::WhileAccepted,
            numbers: Numbers::Apart,
        }
    }
}

/// Properties that hold in every state.
pub const ALWAYS: [&str; 4] = [
    "every open order is tracked and every fill is booked or tracked",
    "at most one order is open",
    "every order that may fill is reserved",
    "no storage id belongs to two orders",
];

/// The property that needs every crash.
pub const AFTER_CRASHES: &str = "a second order is live after two crashes";

/// Properties that hold in at least one state; otherwise the model would prove nothing.
pub const SOMETIMES: [&str; 6] = [
    "an order that was never accepted ends after the fence",
    AFTER_CRASHES,
    "an order fills after its cancel was accepted",
    "an order is found by a list after a crash",
    "an order ends because every transmission was refused",
    PASSED,
];

/// The property that needs numbers that rise.
pub const PASSED: &str = "a later number is taken while an earlier order that was taken is unknown";

fn is_lost(world: &World) -> bool {
    (0..ORDERS).any(|number| {
        let (ours, at_venue) = (&world.engine.orders[number], &world.venue.orders[number]);
        match at_venue.state {
            OrderState::Absent => false,
            OrderState::Open => !ours.is_tracked(),
            OrderState::Done(End::Filled) => !ours.is_tracked() && !ours.booked,
            OrderState::Done(End::Ended) => ours.phase == Phase::None,
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
        let unsettled = engine.orders.iter().any(Tracked::is_tracked)
            || world
                .venue
                .orders
                .iter()
                .any(|order| !order.is_settled(world.clock));
        if unsettled && world.clock < HORIZON && world.venue.allows_tick(world.clock) {
            actions.push(Action::Tick);
        }
        if let Some(number) = engine.may_seal(self.numbers) {
            actions.push(Action::Seal(number));
        }
        if engine.is_unsynced() {
            actions.push(Action::Sync);
        }
        for number in 0..ORDERS {
            self.actions_of(world, number, actions);
        }
        if engine.scan.is_some() {
            actions.push(Action::Page(Page::True));
            if world.wrong_pages < self.wrong_pages {
                actions.push(Action::Page(Page::Empty));
            }
        } else if engine.may_begin_scan(world.clock, self.wrong) {
            actions.push(Action::BeginScan);
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
            wrong_pages,
        } = &mut world;
        let wrong = self.wrong;
        match action {
            Action::Tick => *clock += 1,
            Action::Seal(number) => engine.seal(number, *clock, self.rests),
            Action::Sync => engine.sync(),
            Action::Transmit(number) => {
                let copy = engine.transmit(number);
                let (ours, at_venue) = (&engine.orders[number], &mut venue.orders[number]);
                at_venue.copies[copy] = Copy::Sent;
                at_venue.until = ours.until;
                at_venue.rests_until = ours.rests_until;
                at_venue.storage_id = ours.storage_id;
            }
            Action::NotSent(number) => engine.not_sent(number, wrong),
            Action::DropUnsent(number) => engine.drop_unsent(number),
            Action::Deliver(number, copy, decision) => {
                let answer = venue.deliver(number, copy, decision, *clock, self.numbers);
                let ours = &mut engine.orders[number];
                if ours.phase == Phase::InFlight(copy) {
                    ours.answer.get_or_insert(answer);
                }
            }
            Action::Answer(number) => engine.handle_answer(number, wrong),
            Action::TimeOut(number) => engine.time_out(number, wrong),
            Action::Cancel(number) => engine.cancel(number),
            Action::CancelAnswer(number) => {
                engine.handle_cancel_answer(number, venue.cancel(number), wrong);
            }
            Action::List(number) => venue.orders[number].listed = true,
            Action::Finish(number, end) => venue.orders[number].state = OrderState::Done(end),
            Action::Read(number) => {
                engine.handle_read(number, venue.report(number).as_ref(), *clock, wrong);
            }
            Action::BeginScan => engine.begin_scan(*clock, wrong),
            Action::Page(page) => {
                let page_request = engine.scan.as_ref()?.page();
                let (reports, total) = match page {
                    Page::True => venue.page(
                        (page_request.from, page_request.to),
                        page_request.offset,
                        page_request.limit,
                    ),
                    Page::Empty => {
                        *wrong_pages += 1;
                        (Vec::new(), 0)
                    }
                };
                engine.handle_page(&reports, total, wrong);
            }
            Action::Crash(ends) => {
                *crashes += 1;
                engine.crash(ends == Ends::Kept, wrong);
            }
        }
        for (ours, at_venue) in engine.orders.iter().zip(&mut venue.orders) {
            if ours.phase == Phase::Ended {
                at_venue.settle(*clock);
            }
        }
        (world != *before).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ALWAYS[0], |_, world: &World| !is_lost(world)),
            Property::always(ALWAYS[1], |fence: &Self, world: &World| {
                // Orders with numbers that rise are for two quotes.
                fence.numbers == Numbers::Rising
                    || world.venue.orders.iter().filter(|o| o.is_open()).count() <= 1
            }),
            Property::always(ALWAYS[2], |_, world: &World| {
                let both = world.venue.orders.iter().zip(&world.engine.orders);
                both.into_iter()
                    .all(|(at_venue, ours)| !at_venue.is_open() || ours.reserved)
            }),
            Property::always(ALWAYS[3], |_, world: &World| {
                let [first, second] = &world.venue.orders;
                let both = first.has_left() && second.has_left();
                !both || first.storage_id != second.storage_id
            }),
            Property::sometimes(SOMETIMES[0], |_, world: &World| {
                ended(world).any(|(ours, at_venue)| {
                    at_venue.state == OrderState::Absent
                        && at_venue.has_left()
                        && ours.disproved == 0
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
                    .any(|(ours, at_venue)| {
                        ours.cancel_decided && at_venue.state == OrderState::Done(End::Filled)
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
            Property::sometimes(SOMETIMES[5], |_, world: &World| {
                let [first, second] = &world.engine.orders;
                first.phase == Phase::Unknown
                    && world.venue.orders[0].is_open()
                    && second.phase == Phase::Live
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
        let (engine, at_venue) = (&world.engine, &world.venue.orders[number]);
        let ours = &engine.orders[number];
        if engine.may_transmit(number, world.clock, self.numbers, self.wrong) {
            actions.push(Action::Transmit(number));
            actions.push(Action::NotSent(number));
        }
        if ours.phase == Phase::Sealed {
            actions.push(Action::DropUnsent(number));
        }
        for copy in (0..COPIES).filter(|copy| at_venue.copies[*copy] != Copy::Unsent) {
            for decision in [Decision::Accept, Decision::RefuseBytes, Decision::RefuseNow] {
                actions.push(Action::Deliver(number, copy, decision));
            }
        }
        if matches!(ours.phase, Phase::InFlight(_)) {
            actions.push(Action::TimeOut(number));
            if ours.answer.is_some() {
                actions.push(Action::Answer(number));
            }
        }
        if number < self.cancels && engine.may_cancel(number) {
            actions.push(Action::Cancel(number));
        }
        if ours.cancel_outstanding {
            // A cancel whose answer is lost changes nothing: an order may end at any time anyway.
            actions.push(Action::CancelAnswer(number));
        }
        if at_venue.state != OrderState::Absent && !at_venue.listed {
            actions.push(Action::List(number));
        }
        if at_venue.is_open() {
            actions.push(Action::Finish(number, End::Filled));
            actions.push(Action::Finish(number, End::Ended));
        }
        if matches!(ours.phase, Phase::Unknown | Phase::Live) {
            actions.push(Action::Read(number));
        }
    }
}
