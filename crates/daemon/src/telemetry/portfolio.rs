//! What the venues of a portfolio use of the limits over all of them: as gauges and in `/status`.

use std::collections::BTreeMap;

use cambist_core::notification::{Control, Withheld};
use cambist_core::{Amount, MarketSpec};
use prometheus::GaugeVec;
use serde_json::{Value, json};

use super::metrics::{Made, Maker};
use super::observe::decimal_number;
use crate::config::exposure;
use crate::config::money;
use cambist_host::times;

/// The limits over all venues, as one of them sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortfolioStatus {
    /// The name of this venue.
    pub venue: String,
    /// Names in the portfolio of tokens that this venue calls otherwise.
    pub names: BTreeMap<String, String>,
    /// Every limit of the portfolio.
    pub limits: Vec<LimitUse>,
    /// Every venue.
    pub venues: Vec<VenueState>,
    /// The hedges at this venue.
    pub hedges: Vec<HedgeDistance>,
}

/// How much of a limit over all venues is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitUse {
    /// Its label in metrics.
    pub limit: &'static str,
    /// The key of the file.
    pub key: &'static str,
    /// The token that is limited, or the reporting currency.
    pub token: String,
    /// Decimals of the amounts.
    pub decimals: u8,
    /// Used at most, negative for a gain; `None` if a part of it is not known.
    pub used: Option<i128>,
    /// The limit.
    pub most: Amount,
    /// Venues of which a part is not known.
    pub unknown_at: Vec<String>,
}

/// A venue of the portfolio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VenueState {
    /// Its name.
    pub venue: String,
    /// What it does: the line that the service manager shows.
    pub line: String,
    /// Whether it is known what it may hold.
    pub is_known: bool,
    /// That is what its store held, written last at this time, Unix seconds: the venue has not answered yet.
    pub stored_s: Option<u64>,
}

/// How far the holdings of a hedge are from its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HedgeDistance {
    /// The market of the hedge.
    pub market: String,
    /// Its base token.
    pub token: String,
    /// Decimals of the amounts.
    pub decimals: u8,
    /// Base held at all venues that it counts; `None` if a part of it is not known.
    pub held: Option<Amount>,
    /// Base to hold.
    pub target: Amount,
    /// A larger distance is not traded.
    pub most: Amount,
    /// The venues that it counts.
    pub venues: Vec<String>,
    /// Those of which the holdings are not known.
    pub unknown_at: Vec<String>,
}

impl PortfolioStatus {
    /// What a reason at a market of this venue does not have room for: at which venues something is not known, and what
    /// the distance of a hedge is made of.
    pub(super) fn detail(&self, spec: &MarketSpec, why: &Withheld) -> Option<String> {
        let not_known = |what: &str, at: &[String]| {
            let at = at.join(" and ");
            (!at.is_empty()).then(|| format!("{what} at {at} is not known"))
        };
        let limit = |key: &str, token: Option<&str>| {
            let mut limits = self.limits.iter();
            let found =
                limits.find(|of| of.key == key && token.is_none_or(|token| of.token == token));
            found.map_or(&[][..], |of| of.unknown_at.as_slice())
        };
        let symbol = &spec.base.symbol;
        let base = self.names.get(symbol).unwrap_or(symbol);
        let of_market = |of: &&HedgeDistance| of.market == spec.name;
        match (why.control, why.value) {
            (Control::PortfolioInventory, None) => not_known(
                "what is held",
                limit("portfolio.tokens.inventory_max", Some(base)),
            ),
            (Control::PortfolioExposure, None) if why.key().is_none() => not_known(
                "what was lost today, or a price of it,",
                limit("portfolio.loss_day_max", None),
            ),
            (Control::PortfolioExposure, None) => not_known(
                "what is held, or a price of it,",
                limit("portfolio.exposure_max", None),
            ),
            (Control::NoFairPrice, _) => {
                let hedge = self.hedges.iter().find(of_market)?;
                not_known("what is held", &hedge.unknown_at)
            }
            // The distance of a hedge is open: too far, or less than what it trades.
            (Control::StrategySkew, _) | (Control::NotConfigured, Some(_)) => {
                let hedge = self.hedges.iter().find(of_market)?;
                let whole = |units| money::whole(units, hedge.decimals);
                let (held, target, token) = (whole(hedge.held?), whole(hedge.target), &hedge.token);
                let venues = hedge.venues.join(" and ");
                Some(format!(
                    "{held} {token} are held at {venues}, and base_target is {target} {token}"
                ))
            }
            _ => None,
        }
    }
}

impl LimitUse {
    /// Decimals of amounts of the reporting currency.
    pub const CURRENCY_DECIMALS: u8 = 6;

    /// The used part in ten-thousandths of the limit, rounded up; a gain uses nothing.
    fn share_bps(&self) -> Option<u64> {
        let used = u128::try_from(self.used?.max(0)).unwrap_or(0);
        let share = used.saturating_mul(10_000);
        let share = if self.most == 0 {
            share
        } else {
            share.div_ceil(self.most)
        };
        Some(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

impl HedgeDistance {
    /// Held above the target, negative below it.
    pub fn distance(&self) -> Option<i128> {
        let signed = |amount: Amount| i128::try_from(amount).ok();
        signed(self.held?)?.checked_sub(signed(self.target)?)
    }
}

/// The gauges.
pub(super) struct PortfolioGauges {
    used: GaugeVec,
    limit: GaugeVec,
    share: GaugeVec,
    unknown: GaugeVec,
    stored: GaugeVec,
    distance: GaugeVec,
    hedge_unknown: GaugeVec,
}

impl PortfolioGauges {
    pub(super) fn new(m: &Maker) -> Made<Self> {
        Ok(Self {
            used: m.gauges(
                "cambist_portfolio_used_units",
                "Used at most of a limit over all venues, in whole units of its token; absent while a part is not known.",
                &["limit", "token"],
            )?,
            limit: m.gauges(
                "cambist_portfolio_limit_units",
                "A limit over all venues, in whole units of its token.",
                &["limit", "token"],
            )?,
            share: m.gauges(
                "cambist_portfolio_limit_used_ratio",
                "How much of a limit over all venues is used; 1 is all of it. Absent while a part is not known.",
                &["limit", "token"],
            )?,
            unknown: m.gauges(
                "cambist_portfolio_venue_unknown",
                "1 while it is not known what a venue of the portfolio may hold: nothing that a limit bounds is added.",
                &["venue"],
            )?,
            stored: m.gauges(
                "cambist_portfolio_venue_stored_timestamp_seconds",
                "When the store was written that a venue counts with because it has not answered; 0 if it does not.",
                &["venue"],
            )?,
            distance: m.gauges(
                "cambist_hedge_distance_base_units",
                "Base held above the target of a hedge, negative below it, in whole tokens; absent while it is not known.",
                &["market"],
            )?,
            hedge_unknown: m.gauges(
                "cambist_hedge_unknown",
                "1 while the holdings that a hedge counts are not known: it does not trade.",
                &["market"],
            )?,
        })
    }

    /// Sets all series.
    #[expect(
        clippy::cast_precision_loss,
        reason = "metrics are floating point; money elsewhere is not"
    )]
    pub(super) fn update(&self, status: &PortfolioStatus) {
        for of in &status.limits {
            let labels = [of.limit, of.token.as_str()];
            let units = |units| decimal_number(units, of.decimals);
            let most = i128::try_from(of.most).unwrap_or(i128::MAX);
            self.limit.with_label_values(&labels).set(units(most));
            set(&self.used, &labels, of.used.map(units));
            let share = of.share_bps().map(|bps| bps as f64 / 10_000.0);
            set(&self.share, &labels, share);
        }
        for of in &status.venues {
            let labels = [of.venue.as_str()];
            let unknown = f64::from(u8::from(!of.is_known));
            self.unknown.with_label_values(&labels).set(unknown);
            let since = of.stored_s.unwrap_or(0);
            self.stored.with_label_values(&labels).set(since as f64);
        }
        for of in &status.hedges {
            let labels = [of.market.as_str()];
            let distance = of.distance();
            let units = |units| decimal_number(units, of.decimals);
            set(&self.distance, &labels, distance.map(units));
            let unknown = f64::from(u8::from(distance.is_none()));
            self.hedge_unknown.with_label_values(&labels).set(unknown);
        }
    }
}

/// Sets a series, or removes it: what is not known has no value.
pub(super) fn set(gauges: &GaugeVec, labels: &[&str], value: Option<f64>) {
    match value {
        Some(value) => gauges.with_label_values(labels).set(value),
        // It may not be there.
        None => drop(gauges.remove_label_values(labels)),
    }
}

/// The section of `/status`.
pub fn page(status: &PortfolioStatus) -> Value {
    let signed = |units: i128, decimals: u8| {
        super::books::signed(units, |units| money::whole(units, decimals))
    };
    let limits = status.limits.iter().map(|of| {
        json!({
            "limit": of.key,
            "token": of.token,
            "used": of.used.map(|used| signed(used, of.decimals)),
            "most": money::whole(of.most, of.decimals),
            "share": of.share_bps().map(exposure::percent),
            "unknown_at": of.unknown_at,
        })
    });
    let venues = status.venues.iter().map(|of| {
        json!({
            "venue": of.venue,
            "line": of.line,
            "known": of.is_known,
            "stored_at": of.stored_s.map(times::iso),
        })
    });
    let hedges = status.hedges.iter().map(|of| {
        json!({
            "market": of.market,
            "token": of.token,
            "held": of.held.map(|held| money::whole(held, of.decimals)),
            "target": money::whole(of.target, of.decimals),
            "distance": of.distance().map(|units| signed(units, of.decimals)),
            "open_amount_max": money::whole(of.most, of.decimals),
            "unknown_at": of.unknown_at,
        })
    });
    json!({
        "venue": status.venue,
        "limits": limits.collect::<Vec<_>>(),
        "venues": venues.collect::<Vec<_>>(),
        "hedges": hedges.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
#[path = "portfolio_tests.rs"]
pub(super) mod tests;
