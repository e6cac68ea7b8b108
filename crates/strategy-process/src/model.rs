//! A process in a simulated world: answers views by the same lines as a real one, and fails as drawn.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::VERSION;

/// What it reads of a view.
#[derive(Deserialize)]
struct Seen {
    view_seq: u64,
    mid_half_ticks: u64,
    pool: Option<SeenPool>,
    state: Value,
}

/// What it reads of a pool.
#[derive(Deserialize)]
struct SeenPool {
    base: String,
    quote: String,
    fee_bips: u16,
    possible: bool,
}

/// How a model of a process answers one view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// With a target.
    Answers,
    /// Not at all.
    Silent,
    /// With something else.
    Nonsense(Nonsense),
    /// It ends instead.
    Dies,
}

/// What is no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nonsense {
    /// No JSON.
    Text,
    /// A price that is not a number.
    NotANumber,
    /// A price beyond all numbers.
    Huge,
    /// A version that does not exist.
    Version,
    /// A field that does not exist.
    UnknownField,
    /// The number of another view.
    OtherView,
    /// A bid above an ask.
    Crossed,
}

impl Nonsense {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Text,
        Self::NotANumber,
        Self::Huge,
        Self::Version,
        Self::UnknownField,
        Self::OtherView,
        Self::Crossed,
    ];

    fn line(self, view_seq: u64) -> String {
        let quote = |price: &str| {
            format!(
                r#"{{"v":{VERSION},"view_seq":{view_seq},"quotes":[{{"side":"buy","price":{price},"qty":1}}]}}"#
            )
        };
        match self {
            Self::Text => "Traceback (most recent call last):".to_owned(),
            Self::NotANumber => quote("NaN"),
            Self::Huge => quote("1e400"),
            Self::Version => {
                json!({"v": VERSION + 1, "view_seq": view_seq, "quotes": []}).to_string()
            }
            Self::UnknownField => {
                json!({"v": VERSION, "view_seq": view_seq, "quotes": [], "orders": 1}).to_string()
            }
            Self::OtherView => {
                json!({"v": VERSION, "view_seq": view_seq + 1, "quotes": []}).to_string()
            }
            Self::Crossed => {
                let quote = |side, price| json!({"side": side, "price": price, "qty": 1});
                let quotes = [quote("buy", 2), quote("sell", 1)];
                json!({"v": VERSION, "view_seq": view_seq, "quotes": quotes}).to_string()
            }
        }
    }
}

/// One quote on each side, a distance from the mid that is rounded outwards. It keeps the count of views
/// that it has answered as its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Distance from the mid in ten-thousandths.
    pub margin_bps: u64,
    /// Lots of each quote.
    pub qty: u64,
}

impl Model {
    /// The line with which it answers a view; `None` for none.
    pub fn answer(&self, view: &str, behaviour: Behaviour) -> Option<String> {
        let view: Seen = serde_json::from_str(view).ok()?;
        match behaviour {
            Behaviour::Answers => {}
            Behaviour::Silent | Behaviour::Dies => return None,
            Behaviour::Nonsense(kind) => return Some(kind.line(view.view_seq)),
        }
        let mid = u128::from(view.mid_half_ticks);
        let at = |bps: u64| mid * u128::from(bps);
        let bid = at(10_000 - self.margin_bps) / 20_000;
        let ask = at(10_000 + self.margin_bps).div_ceil(20_000);
        let quote = |side: &str, price: u128| json!({"side": side, "price": u64::try_from(price).unwrap_or(0), "qty": self.qty});
        let answered = view
            .state
            .get("answered")
            .and_then(serde_json::Value::as_u64);
        let answered = answered.unwrap_or(0) + 1;
        let line = json!({
            "v": VERSION,
            "view_seq": view.view_seq,
            "quotes": [quote("buy", bid), quote("sell", ask)],
            "swap": view.pool.as_ref().and_then(|pool| swap(pool, answered)),
            "state": {"answered": answered},
        });
        Some(line.to_string())
    }
}

/// Every eighth answer swaps a two-thousandth of the pool, in turns of both directions, and accepts a thousandth less than
/// the pool pays; every third of these asks for more than it pays.
fn swap(pool: &SeenPool, answered: u64) -> Option<Value> {
    if !pool.possible || !answered.is_multiple_of(8) {
        return None;
    }
    let (base, quote): (f64, f64) = (pool.base.parse().ok()?, pool.quote.parse().ok()?);
    let turn = answered / 8;
    let (side, sold, bought) = match turn % 2 {
        0 => ("sell", base, quote),
        _ => ("buy", quote, base),
    };
    let sell = sold / 2_000.0;
    let kept = sell * (1.0 - f64::from(pool.fee_bips) / 10_000.0);
    let share = if turn.is_multiple_of(3) { 1.001 } else { 0.999 };
    let least = share * bought * kept / (sold + kept);
    Some(json!({"side": side, "sell": format!("{sell:.6}"), "least": format!("{least:.6}")}))
}
