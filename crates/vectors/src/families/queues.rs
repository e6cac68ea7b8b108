//! Queue models: what is in front of an order after every event, and when it fills.

use cambist_quant::queue::{Model, Position};
use cambist_signing::vectors::{Node, VectorError};

use crate::compare::{Value, member};
use crate::input::{Input, list, pair};
use crate::{Computed, Context, Family};

pub(super) const QUEUE: Family = Family {
    name: "queue_models",
    notes: &[],
    compute: compute_queue,
};

/// What happens at the level.
enum Event {
    Depth(f64),
    Trade(f64),
}

fn event(node: &Node<'_>) -> Result<Event, VectorError> {
    let [kind, quantity] = pair(node)?;
    match kind.text()? {
        "depth" => Ok(Event::Depth(quantity.float()?)),
        "trade" => Ok(Event::Trade(quantity.float()?)),
        _ => Err(kind.malformed("depth or trade")),
    }
}

fn model(input: &Input<'_>) -> Result<Model, VectorError> {
    let exponent = input.nullable("n")?.map(|node| node.float()).transpose()?;
    match (input.text("model")?, exponent) {
        ("risk_averse", None) => Ok(Model::RiskAverse),
        ("log", None) => Ok(Model::Log),
        ("log2", None) => Ok(Model::Log2),
        ("power", Some(n)) => Ok(Model::Power(n)),
        ("power2", Some(n)) => Ok(Model::Power2(n)),
        ("power3", Some(n)) => Ok(Model::Power3(n)),
        _ => Err(input
            .get("model")?
            .malformed("risk_averse, log or log2, or power, power2 or power3 with n")),
    }
}

fn compute_queue(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let lot = input.float("lot_size")?;
    let events = list(&input.get("events")?, event)?;
    let mut place = Position::new(model(input)?, input.float("qty_at_level_on_entry")?)
        .map_err(|error| input.refused(error))?;
    let mut fronts = Vec::new();
    let mut filled = None;
    for (index, event) in events.iter().enumerate() {
        let (moved, is_trade) = match event {
            Event::Depth(level) => (place.depth(*level), false),
            Event::Trade(quantity) => (place.trade(*quantity), true),
        };
        moved.map_err(|error| input.refused(error))?;
        fronts.push(place.front());
        // The trace ends with the trade that fills.
        if is_trade && place.is_filled(lot).map_err(|error| input.refused(error))? {
            filled = Some(index);
            break;
        }
    }
    Ok(Computed::new(vec![
        member("front_after_each_event", fronts),
        member("fill_event_index", Value::from(filled)),
    ]))
}
