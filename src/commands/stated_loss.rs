//! Possible losses of a configuration, for `cambist check`: the bound, and the losses at which trading stops.

use std::collections::BTreeMap;
use std::fmt::Write;

use cambist_core::bound::{KeptLoss, LossBound};
use cambist_core::config::EngineConfig;
use cambist_core::event::Amounts;
use cambist_core::market::value_at;
use cambist_core::math::mul_div_ceil;
use cambist_core::{Amount, MarketSpec, Price, TokenSpec};
use serde::Serialize;

use crate::commands::columns;
use cambist_config::money;
use cambist_daemon::config::market::StrategyChoice;
use cambist_daemon::config::{Bound, risk, signed};
use cambist_strategies::FirstLeg;

/// One market, amounts as decimal strings of whole tokens.
#[derive(Serialize)]
pub struct Worst {
    market: String,
    base: String,
    quote: String,
    /// The price of the valuation: the ceiling.
    price: String,
    gap_bps: u32,
    /// Absent where orders rest until they are filled or cancelled.
    dead_after_s: Option<u64>,
    inventory_max: String,
    fillable: String,
    by_gap: String,
    by_fills: String,
    by_fees: String,
    by_pool: String,
    by_swap: String,
    swap_value_max: Option<String>,
    /// The largest open leg of each strategy of two legs; its loss is part of the sum.
    open_legs: Vec<OpenLeg>,
    shares_max: Option<String>,
    loss_max: String,
    loss_hour_max: String,
    loss_day_max: String,
    drawdown_max: String,
    loss_total_max: String,
    if_kept: IfKept,
}

/// What a strategy of two legs holds between them.
#[derive(Serialize)]
struct OpenLeg {
    strategy: String,
    /// What opens it.
    #[serde(skip)]
    first: FirstLeg,
    /// Base tokens.
    base_max: String,
    unwind_bps: u32,
    /// What its limit and the signed fee cost at the price of the valuation, quote tokens.
    loss_max: String,
}

impl OpenLeg {
    /// The leg of a strategy, if it has one: valued at `price`, at the limit of its second order and with its fee.
    fn of(choice: &StrategyChoice, spec: &MarketSpec, price: Price, fee_bips: u8) -> Option<Self> {
        let name = &choice.name.value;
        let info = cambist_strategies::find(name)?;
        let leg = info.open_leg(&choice.params, spec)?;
        let value = value_at(spec, leg.base, price.0.checked_mul(2)?)?;
        let worse = Amount::from(leg.unwind_bps).checked_add(fee_bips.into())?;
        let lost = mul_div_ceil(value, worse, 10_000)?;
        Some(Self {
            strategy: name.clone(),
            first: info.two_legs?.first,
            base_max: money::whole(leg.base, spec.base.decimals),
            unwind_bps: leg.unwind_bps,
            loss_max: money::whole(lost, spec.quote.decimals),
        })
    }

    /// Adds lines of text.
    fn write(&self, worst: &Worst, text: &mut String) {
        let Self {
            strategy,
            first,
            base_max,
            unwind_bps,
            loss_max,
        } = self;
        let Worst { base, quote, .. } = worst;
        let decided = worst.dead_after_s.map_or_else(String::new, |s| {
            format!("decided after {s} s at the latest; ")
        });
        let (more, between, from) = match first {
            FirstLeg::Swap => {
                let more = ", and what the pool pays beyond its price,";
                (more, "a swap and the order that", "the book has the amount")
            }
            FirstLeg::Fill => (
                "",
                "fills and the swap that",
                "the pool pays for the amount",
            ),
            FirstLeg::Elsewhere => {
                let _ = writeln!(
                    text,
                    "  {strategy} trades what the other venues are at most {base_max} {base} away from its base_target\n  \
                     as soon as the book has the amount within {unwind_bps} bps of the mid, which costs at most\n  \
                     {loss_max} {quote} with fees; until then all of it moves with the price. What the figures above\n  \
                     state is this venue's part."
                );
                return;
            }
        };
        let _ = writeln!(
            text,
            "  {strategy} holds at most {base_max} {base}{more} between {between}\n  follows. A swap is {decided}the leg is \
             closed as soon as {from} within {unwind_bps} bps of the mid, which costs at most {loss_max} {quote} with\n  \
             fees; until then it moves with the price. Both are part of the figures above."
        );
    }
}

/// Possible loss with a venue that keeps every signed order until its expiry, whatever it reports.
#[derive(Serialize)]
#[serde(untagged)]
enum IfKept {
    /// Signatures lapse.
    Stated(StatedIfKept),
    /// Orders have no end of their own: what is held of these tokens is the only bound.
    Holdings { all_held_of: [String; 2] },
}

/// The figure where signatures lapse.
#[derive(Serialize)]
struct StatedIfKept {
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
    /// The same with a venue that keeps ended orders; without markets that have no such figure.
    together_if_kept: Option<BTreeMap<String, String>>,
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
    let (mut markets, mut all_bounded) = (Vec::new(), true);
    let engine = &bound.engine;
    let terms = (engine, &bound.venue.lifetime);
    let found = risk::bounds(terms, &bound.markets, &bound.pools);
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
        sum[1].0 = sum[1].0.saturating_add(lost_if_kept.unwrap_or(0));
        all_bounded &= lost_if_kept.is_some();
        markets.push(Worst {
            market: spec.name.clone(),
            base: spec.base.symbol.clone(),
            quote: spec.quote.symbol.clone(),
            price: price(&found, spec.price_decimals),
            gap_bps: found.gap_bps,
            dead_after_s: found.dead_after_ms.map(|ms| ms / 1_000),
            inventory_max: whole(found.held, &spec.base),
            fillable: whole(found.fillable, &spec.base),
            by_gap: quote(found.by_gap),
            by_fills: quote(found.by_fills),
            by_fees: quote(found.by_fees),
            by_pool: quote(found.by_pool),
            by_swap: quote(found.by_swap),
            swap_value_max: shares
                .filter(|limits| limits.swap_value_max > 0)
                .map(|limits| quote(limits.swap_value_max)),
            open_legs: bound
                .strategies
                .iter()
                .filter(|(_, market, _)| *market == spec.id)
                .filter_map(|(_, _, choice)| {
                    OpenLeg::of(choice, spec, found.price, engine.max_fee_bips)
                })
                .collect(),
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
        together_if_kept: all_bounded.then_some(together_if_kept),
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
    each: Vec<(u64, EngineConfig, Vec<Option<KeptLoss>>)>,
}

impl<'b> Variants<'b> {
    fn of(bound: &'b Bound) -> Self {
        let as_it_is = bound.engine.ttl_ms / 1_000;
        let (less, more) = (as_it_is / 2, as_it_is.saturating_mul(2));
        let mut ttls = vec![less.max(TTL_MIN_S), as_it_is, more.min(TTL_MAX_S)];
        ttls.dedup();
        let each = ttls.into_iter().map(|ttl_s| {
            let engine = bound.with_ttl(ttl_s);
            let terms = (&engine, &bound.venue.lifetime);
            let found = signed::bounds_if_kept(terms, &bound.markets, &bound.pools);
            (ttl_s, engine, found)
        });
        Self {
            bound,
            each: each.collect(),
        }
    }

    /// Possible loss of a market, and the amount in quote units if one bounds it below what is held.
    fn market(&self, index: usize) -> Option<(IfKept, Option<Amount>)> {
        let spec = self.bound.markets.get(index)?;
        let base = |units| money::whole(units, spec.base.decimals);
        let quote = |units| money::whole(units, spec.quote.decimals);
        let mut by_ttl = Vec::new();
        for (ttl_s, engine, bounds) in &self.each {
            let found = match bounds.get(index).copied().flatten()? {
                KeptLoss::Bounded(found) => found,
                KeptLoss::Holdings => {
                    let all_held_of = [&spec.base, &spec.quote].map(|token| token.symbol.clone());
                    return Some((IfKept::Holdings { all_held_of }, None));
                }
            };
            let lives_ms = engine.ttl_ms.saturating_add(engine.grace_ms);
            let dead_after_ms = found.dead_after_ms.unwrap_or(lives_ms).max(1);
            let per_min = found.fillable.saturating_mul(60_000) / Amount::from(dead_after_ms);
            by_ttl.push(ByTtl {
                ttl_s: *ttl_s,
                dead_after_s: dead_after_ms / 1_000,
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
        let found = *found.bound()?;
        let if_kept = StatedIfKept {
            signed_unexpired_max: base(found.fillable),
            by_gap: quote(found.by_gap),
            by_fills: quote(found.by_fills),
            by_fees: quote(found.by_fees),
            loss_max: quote(found.total()),
            by_ttl,
        };
        Some((IfKept::Stated(if_kept), Some(found.total())))
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
        match self {
            Self::Stated(stated) => stated.write(base, quote, text),
            Self::Holdings { .. } => {
                let _ = writeln!(
                    text,
                    "  with a venue that keeps orders that it reports as ended: everything that the account holds of {base}\n  and {quote}, because orders have no end of their own there and no limit bounds what was ever signed"
                );
            }
        }
    }
}

impl StatedIfKept {
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
            let end = worst.dead_after_s.map_or_else(
                || "until orders are cancelled, because they have no end of their own".to_owned(),
                |dead_after_s| format!("to the end of the last order ({dead_after_s} s)"),
            );
            let _ = writeln!(
                text,
                "\n{}: at most {} {quote} lost from the loss of all control {end},\nif the price jumps by no more than {percent} from {} {quote} or less",
                worst.market, worst.loss_max, worst.price
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
            if let Some(most) = &worst.swap_value_max {
                let value = format!("{} {quote} on a swap of {most} {quote}", worst.by_swap);
                rows.push(row("by an undecided swap", value));
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
            for leg in &worst.open_legs {
                leg.write(worst, &mut text);
            }
            worst.if_kept.write(base, quote, &mut text);
        }
        let sums = |sums: &BTreeMap<String, String>| {
            let each = sums.iter().map(|(symbol, sum)| format!("{sum} {symbol}"));
            each.collect::<Vec<_>>().join(" and ")
        };
        let if_kept = self
            .together_if_kept
            .as_ref()
            .map_or_else(|| "everything that is held".to_owned(), &sums);
        let _ = writeln!(
            text,
            "\nall markets together: at most {}; with a venue that keeps ended orders {if_kept}",
            sums(&self.together)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use cambist_core::venue::Resting;
    use cambist_daemon::config::Daemon;

    use super::*;

    /// The losses of the demo's configuration at a venue with this end of orders: as text and as JSON.
    fn at_a_venue_with(resting: Resting) -> (String, serde_json::Value) {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/config/demo.toml");
        let daemon = Daemon::load(std::path::Path::new(example)).unwrap();
        let mut bound = daemon.bind_expected().unwrap().unwrap();
        bound.venue.lifetime.resting = resting;
        let found = losses(&bound);
        (found.text(), serde_json::to_value(&found).unwrap())
    }

    /// The losses of the demo's configuration with this strategy, which swaps, at the first market.
    fn with_swaps(strategy: &str) -> Losses {
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/config/demo.toml");
        let mut source = cambist_daemon::config::reader::Source::read(example.as_ref()).unwrap();
        let begin = source.text.find("[[market.strategy]]").unwrap();
        source.text.truncate(begin);
        source.text = source
            .text
            .replace("maker_only = true", "maker_only = false");
        source.text = source.text.replace(
            "swap_value_max = \"0 USDC\"",
            "swap_value_max = \"1000 USDC\"",
        );
        source.text += strategy;
        let bound = Daemon::parse(&source).unwrap().bind_expected();
        losses(&bound.unwrap().unwrap())
    }

    /// The largest open leg of a strategy of two legs is stated, with what closing it costs at the ceiling.
    #[test]
    fn an_open_leg_is_stated() {
        let found = with_swaps(
            "[[market.strategy]]\nname = \"pool_arb\"\n[market.strategy.params]\nbase_target = 20\n\
             round_amount_max = 0.5\nunwind_bps = 40\n",
        );
        // 0.5 ETH at 5000 USDC, by 40 bps of the limit and 63 of the signed fee.
        let leg = &serde_json::to_value(&found).unwrap()["markets"][0]["open_legs"][0];
        assert_eq!(
            leg,
            &serde_json::json!({"strategy": "pool_arb", "base_max": "0.5", "unwind_bps": 40, "loss_max": "25.75"})
        );
        let text = found.text();
        assert!(
            text.contains(
                "pool_arb holds at most 0.5 ETH, and what the pool pays beyond its price, between a swap"
            ),
            "{text}"
        );
        assert!(text.contains("decided after 13 s at the latest"), "{text}");
        assert!(text.contains("by an undecided swap"), "{text}");
        let found = with_swaps(
            "[[market.strategy]]\nname = \"pool_maker\"\n[market.strategy.params]\nbase_target = 20\n\
             open_amount_max = 1\norder_amount = 0.5\nunwind_bps = 80\n",
        );
        let leg = &serde_json::to_value(&found).unwrap()["markets"][0]["open_legs"][0];
        assert_eq!(
            leg,
            &serde_json::json!({"strategy": "pool_maker", "base_max": "1", "unwind_bps": 80, "loss_max": "71.5"})
        );
        let text = found.text();
        assert!(
            text.contains("pool_maker holds at most 1 ETH between fills and the swap that"),
            "{text}"
        );
    }

    #[test]
    fn a_venue_whose_orders_have_no_end_has_no_figure_below_what_is_held() {
        let (text, json) = at_a_venue_with(Resting::UntilCancelled);
        assert!(text.contains("everything that the account holds of ETH\n  and USDC"));
        assert!(text.contains("until orders are cancelled"), "{text}");
        assert!(text.contains("with a venue that keeps ended orders everything that is held"));
        let market = &json["markets"][0];
        assert_eq!(market["dead_after_s"], serde_json::Value::Null);
        assert_eq!(
            market["if_kept"],
            serde_json::json!({"all_held_of": ["ETH", "USDC"]})
        );
        assert_eq!(json["together_if_kept"], serde_json::Value::Null);
        // What a truthful venue can cost does not depend on it.
        let (text, with_an_end) = at_a_venue_with(Resting::WhileAccepted);
        assert!(
            text.contains("to the end of the last order (13 s)"),
            "{text}"
        );
        assert!(with_an_end["together_if_kept"].is_object());
        assert_eq!(with_an_end["markets"][0]["loss_max"], market["loss_max"]);
    }
}
