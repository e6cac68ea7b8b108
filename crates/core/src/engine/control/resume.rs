//! Resuming by an operator: the trading state is lowered, the venue's balances are adopted if a difference stops
//! trading, and losses are reset only if requested.

use crate::action::Action;
use crate::books::Entry;
use crate::control::Control;
use crate::event::TradingState;
use crate::time::Time;
use crate::token::{TokenId, TokenSpec};

use crate::engine::control::commands::required_reason;
use crate::engine::risk::loss_meter::LossMeter;
use crate::engine::state::State;

/// A market's loss above zero, or above its limit: which limit, the loss, and the limit's value.
struct Lost {
    market: String,
    control: Control,
    amount: String,
    most: String,
}

impl State {
    /// Lowers the trading state with a reason; while a loss limit is exceeded, only together with a reset of losses.
    pub(crate) fn lower_by_hand(
        &mut self,
        now: Time,
        (level, forget): (TradingState, bool),
        reason: &str,
        actions: &mut Vec<Action>,
    ) -> Result<String, String> {
        let reason = required_reason(reason)?;
        let held = self.restrictions.level();
        if held == TradingState::Halted {
            return Err(
                "trading is halted and the program is ending; resume when it has stopped"
                    .to_owned(),
            );
        }
        if self.store_failed {
            // What is on disk is not known, so that this process seals nothing more.
            return Err(
                "the store has lost writes, and this process orders nothing more: make room on its disk, then restart the daemon (cambist drain --wait, and start it again)"
                    .to_owned(),
            );
        }
        if level > held {
            return Err(format!("the trading state is only {}", held.name()));
        }
        if !forget {
            self.no_limit_is_exceeded()?;
        }
        let mut done = Vec::new();
        if self.books_hold().is_some() {
            done.push(self.take_venue_over(reason, actions)?);
        }
        if forget {
            done.push(self.forget_losses());
        }
        // Before the trading state is lowered: losses that are reset must not raise it again.
        self.book_pending(now, actions);
        if level < self.newest().state {
            self.lower(level, reason, actions);
            let name = level.name();
            done.push(format!(
                "the trading state becomes {name} once that is stored"
            ));
        }
        if done.is_empty() {
            done.push(format!(
                "nothing to lower: the trading state is {}",
                held.name()
            ));
        }
        Ok(done.join("; "))
    }

    fn take_venue_over(
        &mut self,
        reason: &str,
        actions: &mut Vec<Action>,
    ) -> Result<String, String> {
        let taken = self.accept_differences(reason, actions)?;
        let each = taken.into_iter();
        let each = each.map(|(token, amount)| self.amount_text(token, amount));
        let each: Vec<_> = each.collect();
        Ok(format!(
            "the venue's balances are adopted, {} booked as explained",
            each.join(", ")
        ))
    }

    /// An error while a market's loss exceeds its limit: trading would stop again at once.
    fn no_limit_is_exceeded(&self) -> Result<(), String> {
        let exceeded = self.losses(|lost, most| lost > most);
        let Some(Lost {
            market,
            control,
            amount,
            most,
        }) = exceeded.into_iter().next()
        else {
            return Ok(());
        };
        let key = control.keys().first().copied().unwrap_or(control.name());
        Err(format!(
            "{market} has lost {amount}, {key} is {most}: trading would stop again at once; raise the key and reload, or resume with --forget-losses, which resets losses"
        ))
    }

    /// Resets losses: counting starts again from the current value.
    fn forget_losses(&mut self) -> String {
        let forgotten = self.losses(|lost, _| lost > 0);
        for market in &mut self.markets {
            market.losses.reset();
        }
        self.pending.entry(Entry::LossesForgotten);
        self.book_all_positions();
        self.touch_all();
        let each = forgotten.into_iter().map(|lost| {
            let Lost {
                market,
                control,
                amount,
                ..
            } = lost;
            format!("{market} {} {amount}", control.name())
        });
        let each: Vec<_> = each.collect();
        if each.is_empty() {
            "no market has a loss; losses are reset".to_owned()
        } else {
            format!("losses are reset: {}", each.join(", "))
        }
    }

    /// Losses of every market that pass a test of loss and limit, as text.
    fn losses(&self, passes: impl Fn(i128, i128) -> bool) -> Vec<Lost> {
        let markets = self.markets.iter().zip(&self.config.markets);
        let each = markets.flat_map(|(market, limits)| {
            let spec = &market.spec;
            let found = market.losses.against(spec, &limits.loss).into_iter();
            let found = found.filter(|(_, lost, most)| passes(*lost, *most));
            found.map(|(control, amount, most)| Lost {
                market: spec.name.clone(),
                control,
                amount: LossMeter::shown(spec, amount),
                most: LossMeter::shown(spec, most),
            })
        });
        each.collect()
    }

    /// A token that is traded here.
    pub(crate) fn traded(&self, token: TokenId) -> Option<&TokenSpec> {
        let of_markets = self.markets.iter().map(|market| &market.spec);
        let mut of_markets = of_markets.flat_map(|spec| [&spec.base, &spec.quote]);
        let pools = self.markets.iter().filter_map(|m| m.pool.as_ref());
        let mut shares = pools.map(|pool| &pool.spec.lp);
        let of_market = of_markets.find(|spec| spec.id == token);
        of_market.or_else(|| shares.find(|spec| spec.id == token))
    }

    /// A signed amount as text.
    pub(crate) fn amount_text(&self, token: TokenId, amount: i128) -> String {
        self.traded(token).map_or_else(
            || format!("{amount:+} base units of token {}", token.0),
            |spec| {
                let sign = if amount > 0 { "+" } else { "" };
                format!("{sign}{}", spec.show(amount))
            },
        )
    }
}
