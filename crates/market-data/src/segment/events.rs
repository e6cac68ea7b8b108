//! Encoding of events, as differences of times and prices to earlier events.
//!
//! ```text
//! head   = tag widths
//! tag    = bits 0-3: kind; 4: sell; 5-6: visibility
//! widths = 2 bits each: exchange time, latency, price, quantity
//! values = exchange time, latency, price, quantity, order?
//! ```
//! Times and latencies are differences to the event before, a price is a difference to the last one of the same kind
//! and side; absent fields are 0. An order's id has eight bytes.

use cambist_core::{Price, Qty, Side};

use super::wire::{Cursor, DIFFERENCE, Nonsense, Records, VALUE, code, put, unzigzag, zigzag};
use super::{Codec, Content};
use crate::check::EventCheck;
use crate::event::{Event, Update, Visibility};
use crate::time::Timestamp;

const LEVEL: u8 = 0;
const SNAPSHOT_LEVEL: u8 = 1;
const TRADE: u8 = 2;
const CLEAR_SIDE: u8 = 3;
const CLEAR_BOTH: u8 = 4;
const ADD: u8 = 5;
const CANCEL: u8 = 6;
const MODIFY: u8 = 7;
const FILL: u8 = 8;
const KINDS: usize = 9;

const SELL: u8 = 0x10;

/// The state that writer and reader share: the event before, and prices.
#[derive(Clone, Debug)]
pub struct EventCodec {
    last: Event,
    latency: i64,
    /// Latest exchange and local time of the written events.
    written: (Timestamp, Timestamp),
    /// By kind and side.
    prices: [[u64; 2]; KINDS],
}

impl Default for EventCodec {
    fn default() -> Self {
        Self {
            last: Event::NONE,
            latency: 0,
            written: (Timestamp(0), Timestamp(0)),
            prices: [[0; 2]; KINDS],
        }
    }
}

/// The fields of an update in encoded form.
struct Fields {
    kind: u8,
    side: Side,
    price: Option<u64>,
    qty: Option<u64>,
    order: Option<u64>,
}

impl Fields {
    fn of(update: &Update) -> Self {
        let of = |kind, side, price: Option<Price>, qty: Option<Qty>, order| Self {
            kind,
            side,
            price: price.map(|price| price.0),
            qty: qty.map(|qty| qty.0),
            order,
        };
        match *update {
            Update::Level { side, price, qty } => of(LEVEL, side, Some(price), Some(qty), None),
            Update::SnapshotLevel { side, price, qty } => {
                of(SNAPSHOT_LEVEL, side, Some(price), Some(qty), None)
            }
            Update::Trade {
                aggressor,
                price,
                qty,
            } => of(TRADE, aggressor, Some(price), Some(qty), None),
            // 0 is never a price: it means that there is none.
            Update::Clear { side, to } => of(
                side.map_or(CLEAR_BOTH, |_| CLEAR_SIDE),
                side.unwrap_or(Side::Buy),
                Some(to.unwrap_or(Price(0))),
                None,
                None,
            ),
            Update::Add {
                order,
                side,
                price,
                qty,
            } => of(ADD, side, Some(price), Some(qty), Some(order)),
            Update::Cancel { order } => of(CANCEL, Side::Buy, None, None, Some(order)),
            Update::Modify { order, price, qty } => {
                of(MODIFY, Side::Buy, Some(price), Some(qty), Some(order))
            }
            Update::Fill { order, price, qty } => {
                of(FILL, Side::Buy, Some(price), Some(qty), Some(order))
            }
        }
    }
}

impl Codec for EventCodec {
    type Record = Event;
    const CONTENT: Content = Content::Events;
    const CLOCK: &'static str = "exchange";
    const HEAD_BYTES: usize = 2;

    fn restart(&mut self) {
        let written = self.written;
        *self = Self {
            written,
            ..Self::default()
        };
    }

    fn time(record: &Event) -> Timestamp {
        record.exchange_time
    }

    fn refuse(&self, event: &Event) -> Option<&'static str> {
        let (exchange, local) = (event.exchange_time, event.local_time);
        if exchange.0 < 0 || local < exchange {
            Some("it was received before it happened, or before 1970")
        } else if has_no_price(&event.update) {
            Some("its price is 0")
        } else if (event.visibility.at_exchange() && exchange < self.written.0)
            || (event.visibility.at_local() && local < self.written.1)
        {
            Some("its time is before that of an earlier event")
        } else {
            None
        }
    }

    fn encode(&mut self, event: &Event, out: &mut Records) {
        let fields = Fields::of(&event.update);
        let latency = event.local_time.nanos_since(event.exchange_time);
        let step = zigzag(event.exchange_time.nanos_since(self.last.exchange_time));
        let change = zigzag(latency.wrapping_sub(self.latency));
        let last =
            &mut self.prices[usize::from(fields.kind)][usize::from(fields.side == Side::Sell)];
        let price = fields.price.map_or(0, |price| {
            zigzag(
                price
                    .wrapping_sub(std::mem::replace(last, price))
                    .cast_signed(),
            )
        });
        let qty = fields.qty.unwrap_or(0);
        let codes = [
            code(step, DIFFERENCE),
            code(change, DIFFERENCE),
            code(price, VALUE),
            code(qty, VALUE),
        ];
        let visibility = match event.visibility {
            Visibility::Exchange => 0,
            Visibility::Local => 1,
            Visibility::Both => 2,
        };
        let mut tag = fields.kind | visibility << 5;
        if fields.side == Side::Sell {
            tag |= SELL;
        }
        out.heads.push(tag);
        out.heads
            .push(codes[0] | codes[1] << 2 | codes[2] << 4 | codes[3] << 6);
        put(&mut out.values, step, codes[0], DIFFERENCE);
        put(&mut out.values, change, codes[1], DIFFERENCE);
        put(&mut out.values, price, codes[2], VALUE);
        put(&mut out.values, qty, codes[3], VALUE);
        if let Some(order) = fields.order {
            out.values.extend_from_slice(&order.to_le_bytes());
        }
        if event.visibility.at_exchange() {
            self.written.0 = event.exchange_time;
        }
        if event.visibility.at_local() {
            self.written.1 = event.local_time;
        }
        self.latency = latency;
        self.last = *event;
    }

    #[inline]
    fn decode(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Nonsense> {
        let mut times = Times::of(self);
        self.last = decode(&mut self.prices, &mut times, cursor)?;
        self.latency = times.latency;
        Ok(())
    }

    #[inline]
    fn record(&self) -> &Event {
        &self.last
    }
}

impl EventCodec {
    /// Reads up to `count` events and appends them to `block`; fewer if one may have a defect. That one is then the last,
    /// the returned check has not taken it over, and `true` is returned.
    pub(crate) fn decode_block(
        &mut self,
        cursor: &mut Cursor<'_>,
        count: usize,
        check: &mut EventCheck,
        block: &mut Vec<Event>,
    ) -> Result<bool, Nonsense> {
        let mut times = Times::of(self);
        let mut seen = *check;
        let mut doubtful = false;
        for _ in 0..count {
            let event = decode(&mut self.prices, &mut times, cursor)?;
            block.push(event);
            if times.no_price || !seen.passes(&event) {
                doubtful = true;
                break;
            }
        }
        if let Some(last) = block.last() {
            self.last = *last;
        }
        self.latency = times.latency;
        *check = seen;
        Ok(doubtful)
    }
}

/// Whether the price of an update is 0, which none is. A clear without a limit has none.
pub(crate) const fn has_no_price(update: &Update) -> bool {
    match update {
        Update::Level { price, .. }
        | Update::SnapshotLevel { price, .. }
        | Update::Trade { price, .. }
        | Update::Add { price, .. }
        | Update::Modify { price, .. }
        | Update::Fill { price, .. }
        | Update::Clear {
            to: Some(price), ..
        } => price.0 == 0,
        Update::Clear { to: None, .. } | Update::Cancel { .. } => false,
    }
}

/// Exchange time and latency of the event before.
#[derive(Clone, Copy)]
struct Times {
    exchange: i64,
    latency: i64,
    /// Whether the event has a price of 0, or none.
    no_price: bool,
}

impl Times {
    const fn of(codec: &EventCodec) -> Self {
        Self {
            exchange: codec.last.exchange_time.0,
            latency: codec.latency,
            no_price: false,
        }
    }
}

#[inline]
fn decode(
    prices: &mut [[u64; 2]; KINDS],
    times: &mut Times,
    cursor: &mut Cursor<'_>,
) -> Result<Event, Nonsense> {
    let [tag, widths] = cursor.head()?;
    let [step, change, price, qty] = cursor.four(widths)?;
    times.exchange = times.exchange.wrapping_add(unzigzag(step));
    times.latency = times.latency.wrapping_add(unzigzag(change));
    let visibility = match (tag >> 5) & 3 {
        0 => Visibility::Exchange,
        1 => Visibility::Local,
        2 => Visibility::Both,
        _ => return Err(Nonsense),
    };
    let side = if tag & SELL == 0 {
        Side::Buy
    } else {
        Side::Sell
    };
    let kind = tag & 0xf;
    let last = prices.get_mut(usize::from(kind)).ok_or(Nonsense)?;
    let last = &mut last[usize::from(side == Side::Sell)];
    let price = Price(last.wrapping_add_signed(unzigzag(price)));
    // A cancel has none, and needs no check for it.
    times.no_price = price.0 == 0 && kind != CANCEL;
    let qty = Qty(qty);
    let update = match kind {
        LEVEL => Update::Level { side, price, qty },
        SNAPSHOT_LEVEL => Update::SnapshotLevel { side, price, qty },
        TRADE => Update::Trade {
            aggressor: side,
            price,
            qty,
        },
        _ => rare(kind, side, price, qty, cursor)?,
    };
    if kind != CANCEL {
        *last = price.0;
    }
    Ok(Event {
        exchange_time: Timestamp(times.exchange),
        local_time: Timestamp(times.exchange.wrapping_add(times.latency)),
        visibility,
        update,
    })
}

#[cold]
#[inline(never)]
fn rare(
    kind: u8,
    side: Side,
    price: Price,
    qty: Qty,
    cursor: &mut Cursor<'_>,
) -> Result<Update, Nonsense> {
    if matches!(kind, CLEAR_SIDE | CLEAR_BOTH) {
        return Ok(Update::Clear {
            side: (kind == CLEAR_SIDE).then_some(side),
            to: (price.0 > 0).then_some(price),
        });
    }
    let order = cursor.value(3, VALUE)?;
    match kind {
        CANCEL => Ok(Update::Cancel { order }),
        ADD => Ok(Update::Add {
            order,
            side,
            price,
            qty,
        }),
        MODIFY => Ok(Update::Modify { order, price, qty }),
        FILL => Ok(Update::Fill { order, price, qty }),
        _ => Err(Nonsense),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::super::wire::{PADDING, joined};
    use super::*;

    /// SplitMix64.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn event(state: &mut u64, now: &mut i64) -> Event {
        let narrow = |state: &mut u64, bits: u64| random(state) >> (random(state) % bits);
        if random(state).is_multiple_of(2) {
            *now += (random(state) % 5_000_000).cast_signed();
        }
        let side = if random(state).is_multiple_of(2) {
            Side::Buy
        } else {
            Side::Sell
        };
        let price = Price(narrow(state, 63).max(1));
        let qty = Qty(narrow(state, 64));
        let order = narrow(state, 64);
        let update = match random(state) % 9 {
            0 => Update::Level { side, price, qty },
            1 => Update::SnapshotLevel { side, price, qty },
            2 => Update::Trade {
                aggressor: side,
                price,
                qty,
            },
            3 => Update::Clear {
                side: Some(side),
                to: qty.0.is_multiple_of(2).then_some(price),
            },
            4 => Update::Clear {
                side: None,
                to: None,
            },
            5 => Update::Add {
                order,
                side,
                price,
                qty,
            },
            6 => Update::Cancel { order },
            7 => Update::Modify { order, price, qty },
            _ => Update::Fill { order, price, qty },
        };
        Event {
            exchange_time: Timestamp(*now),
            local_time: Timestamp(*now + 1_000_000),
            visibility: [Visibility::Exchange, Visibility::Local, Visibility::Both]
                [usize::try_from(random(state) % 3).unwrap()],
            update,
        }
    }

    #[test]
    fn events_come_back_as_they_were() {
        let (mut state, mut now) = (3, 1_723_161_256_000_000_000);
        let events: Vec<_> = (0..20_000).map(|_| event(&mut state, &mut now)).collect();
        let (mut encoder, mut records) = (EventCodec::default(), Records::default());
        for event in &events {
            assert_eq!(encoder.refuse(event), None);
            encoder.encode(event, &mut records);
        }
        let (bytes, values, end) = joined(&records);
        let mut decoder = EventCodec::default();
        let mut cursor = Cursor::new(&bytes, (0, values));
        for event in &events {
            decoder.decode(&mut cursor).unwrap();
            assert_eq!(decoder.record(), event);
        }
        assert_eq!(cursor.places(), (values, end));
    }

    #[test]
    fn invalid_bytes_are_refused_without_a_panic() {
        let mut state = 5;
        for _ in 0..20_000 {
            let length = random(&mut state) % 40;
            let mut bytes: Vec<u8> = (0..length)
                .map(|_| random(&mut state).to_le_bytes()[0])
                .collect();
            bytes.extend([0; PADDING]);
            let mut codec = EventCodec::default();
            let mut cursor = Cursor::new(&bytes, (0, bytes.len() / 3));
            while codec.decode(&mut cursor).is_ok() {}
        }
    }

    #[test]
    fn times_that_go_back_in_their_view_and_prices_of_0_are_refused() {
        let at = |exchange, local, visibility| Event {
            exchange_time: Timestamp(exchange),
            local_time: Timestamp(local),
            visibility,
            update: Update::Cancel { order: 1 },
        };
        let mut codec = EventCodec::default();
        codec.encode(&at(10, 20, Visibility::Both), &mut Records::default());
        codec.restart();
        assert!(codec.refuse(&at(9, 21, Visibility::Both)).is_some());
        assert!(codec.refuse(&at(11, 19, Visibility::Both)).is_some());
        assert!(codec.refuse(&at(11, 10, Visibility::Exchange)).is_some());
        let mut free = at(10, 20, Visibility::Both);
        let (side, qty) = (Side::Buy, Qty(1));
        for (price, is_refused) in [(0, true), (1, false)] {
            let price = Price(price);
            free.update = Update::Level { side, price, qty };
            assert_eq!(codec.refuse(&free).is_some(), is_refused);
            free.update = Update::Clear {
                side: Some(side),
                to: Some(price),
            };
            assert_eq!(codec.refuse(&free).is_some(), is_refused);
        }
        assert!(codec.refuse(&at(9, 21, Visibility::Local)).is_none());
        assert!(codec.refuse(&at(10, 15, Visibility::Exchange)).is_none());
    }
}
