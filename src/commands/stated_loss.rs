//! Possible losses of a configuration, for `cambist check`: the bound, and the losses at which trading stops.

use std::collections::BTreeMap;
use std::fmt::Write;

use cambist_core::bound::LossBound;
use cambist_core::config::EngineConfig;
use cambist_core::event::Amounts;
use cambist_core::{Amount, TokenSpec};
use serde::Serialize;

use crate::commands::columns;
use cambist_config::money;
use cambist_daemon::config::{Bound, risk, signed};

/// One market, amounts as decimal strings of whole tokens.
#[derive(Serialize)]
pub struct Worst {
    market: String,
    base: String,
    quote: String,
    /// The price of the valuation: the ceiling.
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
    if_kept: IfKept,
}

/// Possible loss with a venue that keeps every signed order until its expiry, whatever it reports.
#[derive(Serialize)]
struct IfKept {
    signed_unexpired_max: String,
    by_gap: String,
    by_fills: String,
    by_fees: String,
    loss_max: String,
    /// With half and with twice `orders.ttl_s` as well.
    by_ttl: Vec<ByTtl>,
}

/// The result for one time to live.
#[derive(Serialize)]
struct ByTtl {
    ttl_s: u64,
    dead_after_s: u64,
    signed_unexpired_max: String,
    /// What may be signed per minute forever without reaching the limit.
    signed_per_min: String,
    loss_max: String,
}

/// All markets, and their sums by quote token.
#[derive(Serialize)]
pub struct Losses {
    markets: Vec<Worst>,
    /// Sum of the bounds by quote token.
    together: BTreeMap<String, String>,
    /// The same with a venue that keeps ended orders; without amounts that are too large.
    together_if_kept: BTreeMap<String, String>,
    gross_max: BTreeMap<String, String>,
    /// Largest difference between ledger and venue before all new orders stop immediately, by quote token.
    mismatch_max: BTreeMap<String, String>,
    executions_per_min: u32,
    /// The least allowed value: one and a half times what the budget allows.
    executions_least: u32,
}

/// Possible losses of the bound configuration. A market whose bound is too large has none.
pub fn losses(bound: &Bound) -> Losses {
    let whole = |units: Amount, token: &TokenSpec| money::whole(units, token.decimals);
    let mut sums: BTreeMap<&String, [(Amount, &TokenSpec); 2]> = BTreeMap::new();
    let kept = Variants::of(bound);
    let mut markets = Vec::new();
    let engine = &bound.engine;
    let found = risk::bounds(engine, &bound.markets, &bound.pools);
    let each = bound.markets.iter().zip(&engine.markets).zip(found);
    for (index, ((spec, limits), found)) in each.enumerate() {
        let Some((found, (if_kept, lost_if_kept))) = found.zip(kept.market(index)) else {
            continue;
        };
        let quote = |units| whole(units, &spec.quote);
        let mut pools = bound.pools.iter().zip(&engine.pools);
        let shares = pools
            .find(|(pool, _)| pool.market == spec.id)
            .map(|(_, limits)| limits);
        let sum = sums.entry(&spec.quote.symbol);
        let sum = sum.or_insert([(0, &spec.quote); 2]);
        sum[0].0 = sum[0].0.saturating_add(found.total());
        sum[1].0 = sum[1].0.saturating_add(lost_if_kept);
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
            if_kept,
        });
    }
    let [together, together_if_kept] = [0, 1].map(|which: usize| {
        let each = sums.iter().map(|(symbol, both)| (symbol, both[which]));
        each.map(|(symbol, (sum, token))| ((*symbol).clone(), whole(sum, token)))
            .collect()
    });
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
        together_if_kept,
        gross_max: by_quote(&engine.risk.gross_max),
        mismatch_max: by_quote(&engine.risk.mismatch_max),
        executions_per_min: engine.risk.executions_per_min,
        executions_least: risk::executions_least(&engine.budget),
    }
}

/// The configuration with other times to live.
struct Variants<'b> {
    bound: &'b Bound,
    /// Seconds, the configuration with it, and the resulting bounds.
    each: Vec<(u64, EngineConfig, Vec<Option<LossBound>>)>,
}

impl<'b> Variants<'b> {
    fn of(bound: &'b Bound) -> Self {
        let as_it_is = bound.engine.ttl_ms / 1_000;
        let (less, more) = (as_it_is / 2, as_it_is.saturating_mul(2));
        let mut ttls = vec![less.max(TTL_MIN_S), as_it_is, more.min(TTL_MAX_S)];
        ttls.dedup();
        let each = ttls.into_iter().map(|ttl_s| {
            let engine = bound.with_ttl(ttl_s);
            let found = signed::bounds_if_kept(&engine, &bound.markets, &bound.pools);
            (ttl_s, engine, found)
        });
        Self {
            bound,
            each: each.collect(),
        }
    }

    /// Possible loss of a market, and the amount in quote units.
    fn market(&self, index: usize) -> Option<(IfKept, Amount)> {
        let spec = self.bound.markets.get(index)?;
        let base = |units| money::whole(units, spec.base.decimals);
        let quote = |units| money::whole(units, spec.quote.decimals);
        let mut by_ttl = Vec::new();
        for (ttl_s, engine, bounds) in &self.each {
            let found = bounds.get(index).copied().flatten()?;
            let per_min =
                found.fillable.saturating_mul(60_000) / Amount::from(found.dead_after_ms.max(1));
            by_ttl.push(ByTtl {
                ttl_s: *ttl_s,
                dead_after_s: (engine.ttl_ms + engine.grace_ms) / 1_000,
                signed_unexpired_max: base(found.fillable),
                signed_per_min: base(
                    per_min
                        - per_min % 10_u128.pow(u32::from(spec.base.decimals.saturating_sub(3))),
                ),
                loss_max: quote(found.total()),
            });
        }
        let ttl_ms = self.bound.engine.ttl_ms;
        let as_it_is = self
            .each
            .iter()
            .find(|(_, engine, _)| engine.ttl_ms == ttl_ms)?;
        let found = as_it_is.2.get(index).copied().flatten()?;
        let if_kept = IfKept {
            signed_unexpired_max: base(found.fillable),
            by_gap: quote(found.by_gap),
            by_fills: quote(found.by_fills),
            by_fees: quote(found.by_fees),
            loss_max: quote(found.total()),
            by_ttl,
        };
        Some((if_kept, found.total()))
    }
}

/// Shortest and longest time to live of an order, seconds.
const TTL_MIN_S: u64 = 5;
const TTL_MAX_S: u64 = 86_400;

fn price(found: &LossBound, decimals: u8) -> String {
    money::whole(Amount::from(found.price.0), decimals)
}

impl IfKept {
    /// Adds lines of text.
    fn write(&self, base: &str, quote: &str, text: &mut String) {
        let signed = &self.signed_unexpired_max;
        let _ = writeln!(
            text,
            "  with a venue that keeps orders that it reports as ended: at most {} {quote} lost,\n  on {signed} {base} signed and unexpired (risk.signed_unexpired_max): {} by the jump, {} by what fills, {} by fees",
            self.loss_max, self.by_gap, self.by_fills, self.by_fees
        );
        let mut rows = vec![
            [
                "  orders.ttl_s",
                "dead after",
                "signed at most",
                "a minute",
                "lost at most",
            ]
            .map(str::to_owned)
            .to_vec(),
        ];
        for by in &self.by_ttl {
            rows.push(vec![
                format!("  {}", by.ttl_s),
                format!("{} s", by.dead_after_s),
                format!("{} {base}", by.signed_unexpired_max),
                format!("{} {base}", by.signed_per_min),
                format!("{} {quote}", by.loss_max),
            ]);
        }
        text.push_str(&columns(&rows));
    }
}

impl Losses {
    /// Largest loss of all markets together, by quote token.
    pub const fn together(&self) -> &BTreeMap<String, String> {
        &self.together
    }

    /// The result as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for worst in &self.markets {
            let Worst { base, quote, .. } = worst;
            let percent = cambist_daemon::config::exposure::percent(u64::from(worst.gap_bps));
            let _ = writeln!(
                text,
                "\n{}: at most {} {quote} lost from the loss of all control to the end of the last order ({} s),\nif the price jumps by no more than {percent} from {} {quote} or less",
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
            worst.if_kept.write(base, quote, &mut text);
        }
        let sums = |sums: &BTreeMap<String, String>| {
            let each = sums.iter().map(|(symbol, sum)| format!("{sum} {symbol}"));
            each.collect::<Vec<_>>().join(" and ")
        };
        let _ = writeln!(
            text,
            "\nall markets together: at most {}; with a venue that keeps ended orders {}",
            sums(&self.together),
            sums(&self.together_if_kept)
        );
        let mismatch: Vec<_> = self
            .mismatch_max
            .iter()
            .map(|(symbol, most)| format!("{most} {symbol}"))
            .collect();
        let _ = writeln!(
            text,
            "a difference of the books above {} stops all new orders immediately, a smaller one after five minutes",
            mismatch.join(" or ")
        );
        let _ = writeln!(
            text,
            "{} transmissions or completely filled orders within a minute stop all new orders (the budget allows {})",
            self.executions_per_min,
            self.executions_least * 2 / 3
        );
        text
    }
}
