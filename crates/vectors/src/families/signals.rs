//! Signals of the book, and the micro-price.

use cambist_quant::book::{Book, Level};
use cambist_quant::micro_price::{Counts, MicroPrice, Quote, fit, micro_price};
use cambist_quant::{Exact, Result as Quantity};
use cambist_signing::vectors::{Node, VectorError};

use crate::compare::{Value, member};
use crate::input::{Input, exact, list, pair, signed};
use crate::{Computed, Context, Family};

pub(super) const BOOK: Family = Family {
    name: "book_signals",
    notes: &[],
    compute: compute_book,
};

pub(super) const CHAIN: Family = Family {
    name: "microprice_chain",
    notes: &[],
    compute: compute_chain,
};

pub(super) const FIT: Family = Family {
    name: "microprice_fit",
    notes: &[],
    compute: compute_fit,
};

fn side(node: &Node<'_>) -> Result<Vec<Level<Exact>>, VectorError> {
    list(node, |level| {
        let [price, quantity] = pair(level)?;
        Ok(Level {
            price: exact(&price)?,
            quantity: exact(&quantity)?,
        })
    })
}

fn compute_book(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let (bids, asks) = (side(&input.get("bids")?)?, side(&input.get("asks")?)?);
    let book = Book::new(&bids, &asks).map_err(|error| input.refused(error))?;
    let tops: Vec<usize> = list(&input.get("top")?, Node::integer)?;
    let quantity = input.exact("vwap_qty")?;
    let signals = || -> Quantity<Vec<_>> {
        let mut members = vec![
            member("mid", book.mid()),
            member("spread", book.spread()),
            member("imbalance", book.imbalance(1)?),
            member("weighted_mid", book.weighted_mid()),
        ];
        for top in tops {
            members.extend([
                member(format!("imbalance_top{top}"), book.imbalance(top)?),
                member(
                    format!("signed_imbalance_top{top}"),
                    book.signed_imbalance(top)?,
                ),
                member(format!("vamp_top{top}"), book.vamp(top)?),
                member(
                    format!("effective_vamp_top{top}"),
                    book.effective_vamp(top)?,
                ),
                member(
                    format!("weighted_depth_price_top{top}"),
                    book.weighted_depth_price(top)?,
                ),
            ]);
        }
        members.extend([
            member("vwap_bid", book.bid_price_for(&quantity)?),
            member("vwap_ask", book.ask_price_for(&quantity)?),
            member("vwap_mid", book.mid_for(&quantity)?),
        ]);
        Ok(members)
    };
    let printed = |value: &Exact| Value::Printed(cambist_quant::Number::to_f64(value));
    let published = vec![
        member(
            "imbalance",
            book.imbalance(1).as_ref().map_or(Value::None, printed),
        ),
        member("weighted_mid", printed(&book.weighted_mid())),
    ];
    Ok(Computed::new(signals().map_err(|error| input.refused(error))?).published(published))
}

fn counts(input: &Input<'_>, name: &'static str) -> Result<Vec<Vec<f64>>, VectorError> {
    list(&input.get(name)?, |row| list(row, Node::float))
}

fn compute_chain(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let tick = input.float("tick")?;
    let (buckets, spreads): (usize, usize) = (input.whole("n_imb")?, input.whole("n_spread")?);
    let counted = Counts {
        no_move: counts(input, "no_move_counts")?,
        jump: counts(input, "jump_counts")?,
        moved: counts(input, "move_counts")?,
    };
    if buckets.checked_mul(spreads) != Some(counted.no_move.len()) {
        let node = input.get("no_move_counts")?;
        return Err(node.malformed("a row for each state"));
    }
    let jumps: Vec<f64> = input.floats("jumps_ticks")?;
    let jumps: Vec<f64> = jumps.iter().map(|jump| jump * tick).collect();
    let made = micro_price(&counted, &jumps).map_err(|error| input.refused(error))?;
    let mut members = adjustments(&made);
    members.extend([
        member("G_limit", made.limit),
        member("B_row_sums", made.row_sums),
    ]);
    Ok(Computed::new(members))
}

fn adjustments(made: &MicroPrice) -> Vec<crate::compare::Member> {
    vec![
        member("G1", made.first.clone()),
        member("G6", made.sixth.clone()),
    ]
}

fn compute_fit(input: &Input<'_>, _: &Context<'_>) -> Result<Computed, VectorError> {
    let (bids, asks) = (
        list(&input.get("bid_ticks")?, signed)?,
        list(&input.get("ask_ticks")?, signed)?,
    );
    let quantities = (input.floats("bid_qty")?, input.floats("ask_qty")?);
    if [asks.len(), quantities.0.len(), quantities.1.len()] != [bids.len(); 3] {
        let node = input.get("bid_ticks")?;
        return Err(node.malformed("as many as ask_ticks, bid_qty and ask_qty"));
    }
    let quotes: Vec<Quote> = (0..bids.len())
        .map(|i| Quote {
            bid: bids[i],
            bid_quantity: quantities.0[i],
            ask: asks[i],
            ask_quantity: quantities.1[i],
        })
        .collect();
    let (buckets, spreads) = (input.whole("n_imb")?, input.whole("n_spread")?);
    let made = fit(&quotes, input.float("tick")?, buckets, spreads)
        .map_err(|error| input.refused(error))?;
    let whole = |rows: &[Vec<f64>]| -> Value {
        let row = |row: &Vec<f64>| {
            Value::List(row.iter().map(|count| Value::Near(*count, 0.0)).collect())
        };
        Value::List(rows.iter().map(row).collect())
    };
    let mut members = adjustments(&made.micro_price);
    members.extend([
        member("rows_kept", made.rows_kept),
        member("imbalance_edges", made.edges),
        member("no_move_counts", whole(&made.counts.no_move)),
        member("jump_counts", whole(&made.counts.jump)),
        member("move_counts", whole(&made.counts.moved)),
    ]);
    Ok(Computed::new(members))
}
