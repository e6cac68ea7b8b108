//! The network between shell and venue: latencies and faults of messages.
//!
//! Of a message's content it uses only the endpoint.

use std::collections::BTreeMap;

use cambist_core::Reason;
use cambist_core::request::Endpoint;
use cambist_venue::Random;

use crate::config::{NetworkConfig, PARTS};

/// A kind of network fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// No byte was sent.
    NotSent,
    /// The request was lost.
    RequestLost,
    /// A 429.
    Limited,
    /// A 5xx before or after the venue processed the request.
    ServerError,
    /// A redirect.
    Redirect,
    /// It arrived twice.
    Duplicate,
    /// The request or its answer was delayed and overtaken.
    Delayed,
    /// The answer was lost.
    AnswerLost,
    /// The answer was cut short or garbled.
    Garbled,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::NotSent,
        Self::RequestLost,
        Self::Limited,
        Self::ServerError,
        Self::Redirect,
        Self::Duplicate,
        Self::Delayed,
        Self::AnswerLost,
        Self::Garbled,
    ];
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outbound {
    /// Provably nothing left; known after so many microseconds.
    NotSent { after_us: u64 },
    /// Lost. `broken_us` is when the connection is detected as broken, if ever.
    Lost { broken_us: Option<u64> },
    /// A gateway answers instead of the venue, after this many microseconds.
    Turned { after_us: u64, answer: Gateway },
    /// It arrives, and possibly a copy of it earlier or later, whose answer is dropped.
    Arrives { after_us: u64, copy_us: Option<u64> },
}

/// A gateway that answers by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gateway {
    /// 429: not forwarded.
    Limited,
    /// 5xx.
    ServerError,
    /// 3xx.
    Redirect,
    /// A refusal without information about the request.
    Refusal(Reason),
}

/// What happens to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inbound {
    /// Lost. `broken_us` is when the connection is detected as broken, if ever.
    Lost { broken_us: Option<u64> },
    /// It arrives, but cannot be decoded.
    Garbled { after_us: u64 },
    /// It arrives as a gateway's 5xx.
    ServerError { after_us: u64 },
    /// It arrives.
    Arrives { after_us: u64 },
}

/// The network with its own random stream.
#[derive(Debug)]
pub struct Network {
    config: NetworkConfig,
    random: Random,
    faults: u64,
    /// Faults by endpoint and kind.
    struck: BTreeMap<(Endpoint, Fault), u64>,
    /// Endpoint of the current message.
    carried: Endpoint,
    /// Whether faults occur.
    in_fault_period: bool,
}

impl Network {
    pub(crate) const fn new(config: NetworkConfig, random: Random) -> Self {
        Self {
            config,
            random,
            faults: 0,
            struck: BTreeMap::new(),
            carried: Endpoint::Depth,
            in_fault_period: true,
        }
    }

    /// Faults so far.
    pub const fn faults(&self) -> u64 {
        self.faults
    }

    /// Faults by endpoint and kind.
    pub const fn struck(&self) -> &BTreeMap<(Endpoint, Fault), u64> {
        &self.struck
    }

    /// Ends all faults; latencies remain.
    pub(crate) fn calm(&mut self) {
        self.config = self.config.calm();
    }

    /// Starts or ends faults.
    pub(crate) const fn set_fault_period(&mut self, in_fault_period: bool) {
        self.in_fault_period = in_fault_period;
    }

    pub(crate) fn outbound(&mut self, endpoint: Endpoint) -> Outbound {
        self.carried = endpoint;
        if self.strikes(Fault::NotSent, self.config.not_sent) {
            return Outbound::NotSent {
                after_us: self.way_us(),
            };
        }
        if self.strikes(Fault::RequestLost, self.config.loss_before) {
            return Outbound::Lost {
                broken_us: self.broken_us(),
            };
        }
        let gateways = [
            (self.config.limited, Fault::Limited, Gateway::Limited),
            (
                self.config.server_error / 2,
                Fault::ServerError,
                Gateway::ServerError,
            ),
            (self.config.redirect, Fault::Redirect, Gateway::Redirect),
        ];
        for (rate, fault, answer) in gateways {
            if self.strikes(fault, rate) {
                let after_us = self.way_us() * 2;
                return Outbound::Turned { after_us, answer };
            }
        }
        let first_us = self.delayed_us();
        if !self.strikes(Fault::Duplicate, self.config.duplicate) {
            return Outbound::Arrives {
                after_us: first_us,
                copy_us: None,
            };
        }
        let second_us =
            first_us + self.way_us() + self.random.below(self.config.reorder_ms * 1_000);
        // The answered copy may be the one that arrives second.
        let (after_us, copy_us) = if self.random.chance(1, 2) {
            (first_us, Some(second_us))
        } else {
            (second_us, Some(first_us))
        };
        Outbound::Arrives { after_us, copy_us }
    }

    pub(crate) fn inbound(&mut self, endpoint: Endpoint) -> Inbound {
        self.carried = endpoint;
        if self.strikes(Fault::AnswerLost, self.config.loss_after) {
            return Inbound::Lost {
                broken_us: self.broken_us(),
            };
        }
        let garbled = self.strikes(Fault::Garbled, self.config.garbled);
        let failed = !garbled && self.strikes(Fault::ServerError, self.config.server_error / 2);
        let after_us = self.delayed_us();
        if garbled {
            Inbound::Garbled { after_us }
        } else if failed {
            Inbound::ServerError { after_us }
        } else {
            Inbound::Arrives { after_us }
        }
    }

    fn strikes(&mut self, fault: Fault, parts: u32) -> bool {
        let strikes =
            parts > 0 && self.in_fault_period && self.random.chance(u64::from(parts), PARTS);
        if strikes {
            self.faults += 1;
            *self.struck.entry((self.carried, fault)).or_default() += 1;
        }
        strikes
    }

    fn way_us(&mut self) -> u64 {
        let (low, high) = (self.config.latency_min_ms, self.config.latency_max_ms);
        self.random.between(low * 1_000, high * 1_000)
    }

    fn delayed_us(&mut self) -> u64 {
        let way = self.way_us();
        if self.strikes(Fault::Delayed, self.config.reorder) {
            way + self.random.below(self.config.reorder_ms * 1_000)
        } else {
            way
        }
    }

    /// Half of the lost messages break the connection, the others time out.
    fn broken_us(&mut self) -> Option<u64> {
        self.random.chance(1, 2).then(|| self.way_us() * 2)
    }
}
