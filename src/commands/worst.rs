//! What a configuration may lose, for `cambist check`: the bound, and the losses at which trading stops.

use std::collections::BTreeMap;
use std::fmt::Write;

use cambist_core::bound::LossBound;
use cambist_core::event::Amounts;
use cambist_core::{Amount, TokenSpec};
use serde::Serialize;

use super::columns;
use crate::config::{Bound, money, risk};

/// One market, amounts as decimal strings of whole tokens.
#[derive(Serialize)]
pub struct Worst {
    market: String,
    base: String,
    quote: String,
    /// The price it is stated at: the ceiling.
    price: String,
    gap_bps: u32,
    dead_after_s: u64,
    inventory_max: String,
    fillable: String,
    by_gap: String,
    by_fills: String,
    by_fees: String,
    by_pool: String,
    shares_max: Option<String>,
    loss_max: String,
    loss_hour_max: String,
    loss_day_max: String,
    drawdown_max: String,
    loss_total_max: String,
}

/// Every market, and all of them together by quote token.
#[derive(Serialize)]
pub struct Losses {
    markets: Vec<Worst>,
    /// Sum of the bounds by quote token.
    together: BTreeMap<String, String>,
    gross_max: BTreeMap<String, String>,
    /// Most that ledger and venue may differ by before everything is held back at once, by quote token.
    mismatch_max: BTreeMap<String, String>,
    executions_per_min: u32,
    /// The least that is allowed for it: one and a half times what the budget allows.
    executions_least: u32,
}

/// What the bound configuration may lose. A market whose bound cannot be counted has none.
pub fn losses(bound: &Bound) -> Losses {
    let whole = |units: Amount, token: &TokenSpec| money::whole(units, token.decimals);
    let mut sums: BTreeMap<&String, (Amount, &TokenSpec)> = BTreeMap::new();
    let mut markets = Vec::new();
    let engine = &bound.engine;
    for ((spec, limits), found) in bound.markets.iter().zip(&engine.markets).zip(risk::bounds(
        engine,
        &bound.markets,
        &bound.pools,
    )) {
        let Some(found) = found else { continue };
        let quote = |units| whole(units, &spec.quote);
        let mut pools = bound.pools.iter().zip(&engine.pools);
        let shares = pools
            .find(|(pool, _)| pool.market == spec.id)
            .map(|(_, limits)| limits);
        let sum = sums.entry(&spec.quote.symbol).or_insert((0, &spec.quote));
        sum.0 = sum.0.saturating_add(found.total());
        markets.push(Worst {
            market: spec.name.clone(),
            base: spec.base.symbol.clone(),
            quote: spec.quote.symbol.clone(),
            price: price(&found, spec.price_decimals),
            gap_bps: found.gap_bps,
            dead_after_s: found.dead_after_ms / 1_000,
            inventory_max: whole(found.held, &spec.base),
            fillable: whole(found.fillable, &spec.base),
            by_gap: quote(found.by_gap),
            by_fills: quote(found.by_fills),
            by_fees: quote(found.by_fees),
            by_pool: quote(found.by_pool),
            shares_max: shares.map(|limits| quote(limits.value_max)),
            loss_max: quote(found.total()),
            loss_hour_max: quote(limits.loss.hour_max),
            loss_day_max: quote(limits.loss.day_max),
            drawdown_max: quote(limits.loss.drawdown_max),
            loss_total_max: quote(limits.loss.total_max),
        });
    }
    let together = sums
        .into_iter()
        .map(|(symbol, (sum, token))| (symbol.clone(), whole(sum, token)))
        .collect();
    let by_quote = |limits: &Amounts| {
        let each = bound.markets.iter().filter_map(|spec| {
            let most = limits.get(&spec.quote.id)?;
            Some((spec.quote.symbol.clone(), whole(*most, &spec.quote)))
        });
        each.collect()
    };
    Losses {
        markets,
        together,
        gross_max: by_quote(&engine.risk.gross_max),
        mismatch_max: by_quote(&engine.risk.mismatch_max),
        executions_per_min: engine.risk.executions_per_min,
        executions_least: risk::executions_least(&engine.budget),
    }
}

fn price(found: &LossBound, decimals: u8) -> String {
    money::whole(Amount::from(found.price.0), decimals)
}

impl Losses {
    /// As lines for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for worst in &self.markets {
            let Worst { base, quote, .. } = worst;
            let percent = crate::config::meaning::percent(u64::from(worst.gap_bps));
            let _ = writeln!(
                text,
                "\n{}: at most {} {quote} lost from losing all control to the last order's death ({} s),\nif the price jumps by no more than {percent} from {} {quote} or less",
                worst.market, worst.loss_max, worst.dead_after_s, worst.price
            );
            let row = |name: &str, value: String| vec![format!("  {name}"), value];
            let (held, fillable) = (&worst.inventory_max, &worst.fillable);
            let mut rows = vec![
                row(
                    "by the jump",
                    format!("{} {quote} on {held} {base}", worst.by_gap),
                ),
                row(
                    "by what fills",
                    format!("{} {quote} on {fillable} {base}", worst.by_fills),
                ),
                row("by their fees", format!("{} {quote}", worst.by_fees)),
            ];
            if let Some(shares) = &worst.shares_max {
                let value = format!("{} {quote} on shares worth {shares} {quote}", worst.by_pool);
                rows.push(row("in the pool", value));
            }
            rows.extend([
                row(
                    "an hour may lose",
                    format!("{} {quote}, then the market pauses", worst.loss_hour_max),
                ),
                row(
                    "a day may lose",
                    format!("{} {quote}, then only cancels", worst.loss_day_max),
                ),
                row(
                    "from the peak",
                    format!("{} {quote}, then only cancels", worst.drawdown_max),
                ),
                row(
                    "since the start",
                    format!("{} {quote}, then trading halts", worst.loss_total_max),
                ),
            ]);
            text.push_str(&columns(&rows));
        }
        let sums: Vec<_> = self
            .together
            .iter()
            .map(|(symbol, sum)| format!("{sum} {symbol}"))
            .collect();
        let _ = writeln!(
            text,
            "\nall markets together: at most {}",
            sums.join(" and ")
        );
        let mismatch: Vec<_> = self
            .mismatch_max
            .iter()
            .map(|(symbol, most)| format!("{most} {symbol}"))
            .collect();
        let _ = writeln!(
            text,
            "books that differ by more than {} hold everything back at once, smaller ones after five minutes",
            mismatch.join(" or ")
        );
        let _ = writeln!(
            text,
            "more than {} transmissions or fills a minute latch (the budget explains {})",
            self.executions_per_min,
            self.executions_least * 2 / 3
        );
        text
    }
}
