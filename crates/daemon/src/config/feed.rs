//! `[market.feed]`: a public order book for modes that read one; `[[market.reference_feed]]`: one whose middle is a
//! reference price.
//!
//! A feed is a URL that returns JSON, and pointers (RFC 6901) into it; templates define them for well-known exchanges.
//! In a pointer, `*` means the only member of an object.

use super::mode::{DepthSource, Mode};
use super::reader::{At, Section};

/// Pointers to levels, sequence number and time in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointers {
    /// To the list of bids.
    pub bids: String,
    /// To the list of asks.
    pub asks: String,
    /// To the price within a level.
    pub price: String,
    /// To the quantity within a level.
    pub quantity: String,
    /// To a number that never decreases, if there is one.
    pub sequence: Option<String>,
    /// To the time of the book and its format, if there is one.
    pub time: Option<(String, TimeForm)>,
}

/// Format of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeForm {
    /// Seconds since the Unix epoch, with or without decimals.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
    /// RFC 3339 text.
    Rfc3339,
}

/// A public order book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// The URL.
    pub url: At<String>,
    /// Time between two reads.
    pub poll_ms: u64,
    /// Pointers into the answer.
    pub pointers: Pointers,
    /// Quantities are whole numbers of 10^−this.
    pub quantity_decimals: u32,
    /// The depth of `venue.base_url`, whose units must be those that the venue publishes.
    pub is_of_venue: bool,
}

/// A public order book whose middle strategies read beside the depth of the market.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceFeed {
    /// Its name for strategies.
    pub name: At<String>,
    /// An older price is missing.
    pub age_max_ms: At<u64>,
    /// Where it is.
    pub feed: Feed,
}

/// A known exchange.
struct Template {
    name: &'static str,
    /// With `{symbol}` for the exchange's name of the market.
    url: &'static str,
    bids: &'static str,
    asks: &'static str,
    sequence: Option<&'static str>,
    time: Option<(&'static str, TimeForm)>,
}

const TEMPLATES: [Template; 4] = [
    Template {
        name: "binance",
        url: "https://api.binance.com/api/v3/depth?symbol={symbol}&limit=100",
        bids: "/bids",
        asks: "/asks",
        sequence: Some("/lastUpdateId"),
        time: None,
    },
    Template {
        name: "coinbase",
        url: "https://api.exchange.coinbase.com/products/{symbol}/book?level=2",
        bids: "/bids",
        asks: "/asks",
        sequence: Some("/sequence"),
        time: Some(("/time", TimeForm::Rfc3339)),
    },
    KRAKEN,
    Template {
        name: "okx",
        url: "https://www.okx.com/api/v5/market/books?instId={symbol}&sz=100",
        bids: "/data/0/bids",
        asks: "/data/0/asks",
        sequence: None,
        time: Some(("/data/0/ts", TimeForm::Millis)),
    },
];

const KRAKEN: Template = Template {
    name: "kraken",
    url: "https://api.kraken.com/0/public/Depth?pair={symbol}&count=100",
    bids: "/result/*/bids",
    asks: "/result/*/asks",
    sequence: None,
    time: None,
};
/// Public requests of an address have a pace of their own, about one a second.
const KRAKEN_POLL_MS: u64 = 1_000;

const TIME_FORMS: &[(&str, TimeForm)] = &[
    ("s", TimeForm::Seconds),
    ("ms", TimeForm::Millis),
    ("us", TimeForm::Micros),
    ("ns", TimeForm::Nanos),
    ("rfc3339", TimeForm::Rfc3339),
];

/// Reads an existing `[market.feed]`; `None` if it is invalid.
pub(super) fn read(section: Section<'_, '_>, mode: Mode) -> Option<Feed> {
    let elsewhere = match mode.depth() {
        DepthSource::Feed => None,
        DepthSource::Venue => Some("the venue"),
        DepthSource::Tape => Some("the tape of the daemon beside this run"),
    };
    if let Some(source) = elsewhere {
        let what = format!(
            "market.feed is for the modes paper, record and observe: in mode {} depth comes from {source}",
            mode.name()
        );
        section.problem(section.at(), what);
    }
    read_keys(section, "market.feed")
}

/// Reads one `[[market.reference_feed]]`; `None` if it is invalid.
pub(super) fn read_reference(mut section: Section<'_, '_>) -> Option<ReferenceFeed> {
    let name = section.req::<String>("name");
    let age_max_ms = section.number("age_max_ms", 5_000, 100..=3_600_000);
    if let Some(name) = &name
        && !is_name(&name.value)
    {
        let what = format!(
            "market.reference_feed.name = {:?} must be 1 to 32 letters, digits, - or _",
            name.value
        );
        section.problem(name.at, what);
    }
    let feed = read_keys(section, "market.reference_feed");
    Some(ReferenceFeed {
        name: name?,
        age_max_ms,
        feed: feed?,
    })
}

fn is_name(name: &str) -> bool {
    let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    (1..=32).contains(&name.len()) && name.bytes().all(letter)
}

/// Reads the keys of a feed; `of` is the section's name in errors.
fn read_keys(mut section: Section<'_, '_>, of: &str) -> Option<Feed> {
    let template = section.opt::<String>("template");
    let symbol = section.opt::<String>("symbol");
    let url = section.opt::<String>("url");
    let bids = section.opt::<String>("bids");
    let asks = section.opt::<String>("asks");
    let price = section.or("price", "/0".to_owned());
    let quantity = section.or("quantity", "/1".to_owned());
    let sequence = section.opt::<String>("sequence");
    let time = section.opt::<String>("time");
    let time_form = section.word("time_unit", TIME_FORMS, TimeForm::Millis);
    let quantity_decimals = section.number("quantity_decimals", 0, 0..=27);
    let poll_ms = section.number("poll_ms", 1_000, 100..=60_000);
    let known = template.as_ref().and_then(|named| {
        let found = TEMPLATES.iter().find(|known| known.name == named.value);
        if found.is_none() {
            let names = TEMPLATES.map(|known| known.name).join(", ");
            let what = format!(
                "{of}.template = {:?} is unknown; known templates are {names}; or set url, bids and asks",
                named.value
            );
            section.problem(named.at, what);
        }
        found
    });
    let of_template = known.and_then(|known| {
        if url.is_none() && symbol.is_none() {
            let what = format!(
                "{of}.symbol is missing: the name of the market at {}",
                known.name
            );
            section.missing("symbol", what);
        }
        let symbol = symbol.as_ref()?;
        Some(
            symbol
                .clone()
                .map(|symbol| known.url.replace("{symbol}", &symbol)),
        )
    });
    let url = url.or(of_template);
    let pointer = |own: Option<At<String>>, known: Option<&str>| {
        own.map(|own| own.value).or(known.map(str::to_owned))
    };
    let bids = pointer(bids, known.map(|known| known.bids));
    let asks = pointer(asks, known.map(|known| known.asks));
    if template.is_none() {
        for (key, is_there) in [
            ("url", url.is_some()),
            ("bids", bids.is_some()),
            ("asks", asks.is_some()),
        ] {
            if !is_there {
                section.missing(key, format!("{of}.{key} is missing; or name a template"));
            }
        }
    }
    if let Some(url) = &url {
        check_url(&section, of, url);
    }
    let sequence = pointer(sequence, known.and_then(|known| known.sequence));
    let own_time = time.map(|time| (time.value, time_form.value));
    let known_time = known.and_then(|known| known.time);
    let time = own_time.or(known_time.map(|(at, form)| (at.to_owned(), form)));
    let feed = (|| {
        Some(Feed {
            url: url?,
            poll_ms: poll_ms.value,
            pointers: Pointers {
                bids: bids?,
                asks: asks?,
                price: price.value,
                quantity: quantity.value,
                sequence,
                time,
            },
            quantity_decimals: u32::try_from(quantity_decimals.value).unwrap_or(0),
            is_of_venue: false,
        })
    })();
    if let Some(feed) = &feed {
        check_pointers(&section, of, feed);
    }
    section.finish();
    feed
}

fn check_url(section: &Section<'_, '_>, of: &str, url: &At<String>) {
    if let Err(error) = cambist_client::PublicUrl::parse(&url.value) {
        section.problem(url.at, format!("{of}: {error}"));
    }
}

fn check_pointers(section: &Section<'_, '_>, of: &str, feed: &Feed) {
    let pointers = &feed.pointers;
    let time = pointers.time.as_ref().map(|(at, _)| at);
    let all = [
        &pointers.bids,
        &pointers.asks,
        &pointers.price,
        &pointers.quantity,
    ];
    for pointer in all.into_iter().chain(&pointers.sequence).chain(time) {
        if !pointer.starts_with('/') {
            let what = format!(
                "{of}: {pointer:?} is not a JSON pointer: it must begin with /, such as /result/bids"
            );
            section.problem(section.at(), what);
        }
    }
}

/// The book of a venue with the interface that cambist trades on.
pub(super) fn of_exchange(
    base_url: &At<String>,
    market: &str,
    base_decimals: u8,
    depth_ms: u64,
) -> Feed {
    let base = base_url.value.trim_end_matches('/');
    Feed {
        url: base_url
            .clone()
            .map(|_| format!("{base}/api/v3/depth?level=0&limit=50&market={market}")),
        poll_ms: depth_ms.max(100),
        pointers: Pointers {
            bids: "/bids".to_owned(),
            asks: "/asks".to_owned(),
            price: "/0".to_owned(),
            quantity: "/1".to_owned(),
            sequence: Some("/version".to_owned()),
            time: Some(("/timestamp".to_owned(), TimeForm::Millis)),
        },
        quantity_decimals: base_decimals.into(),
        is_of_venue: true,
    }
}

/// The book of Kraken, or of what speaks its interface: `XBT-USD` is the pair `XBTUSD`.
pub(super) fn of_kraken(base_url: &At<String>, market: &str, depth_ms: u64) -> Feed {
    let base = base_url.value.trim_end_matches('/');
    let pair: String = market.chars().filter(|letter| *letter != '-').collect();
    Feed {
        url: base_url
            .clone()
            .map(|_| format!("{base}/0/public/Depth?pair={pair}&count=100")),
        poll_ms: depth_ms.max(KRAKEN_POLL_MS),
        pointers: Pointers {
            bids: KRAKEN.bids.to_owned(),
            asks: KRAKEN.asks.to_owned(),
            price: "/0".to_owned(),
            quantity: "/1".to_owned(),
            sequence: None,
            time: None,
        },
        quantity_decimals: 0,
        is_of_venue: true,
    }
}
