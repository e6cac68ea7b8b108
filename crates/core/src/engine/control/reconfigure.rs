//! Another configuration, and other parameters of strategies, for a running engine: as a whole or not at all.

use crate::elsewhere;
use crate::event::{Command, StrategyParameters};
use crate::reads;
use crate::reload::{self, Changes, Units};
use crate::strategy::{Replacement, Strategy};

use crate::engine::state::State;

/// A strategy with its new parameters, by its place among the strategies.
type Replaced = (usize, Replacement);

impl State {
    /// Uses the configuration and the parameters of a [`Command::Reconfigure`]; returns its reply, or why it is refused.
    pub(crate) fn reconfigure(
        &mut self,
        command: &Command,
        strategies: &mut [Box<dyn Strategy>],
    ) -> Result<String, String> {
        let (done, replaced) = self.judge_configuration(command, strategies)?;
        let Command::Reconfigure {
            config, parameters, ..
        } = command
        else {
            return Ok(done);
        };
        self.budget.reconfigure(&config.budget);
        self.config = config.as_ref().clone();
        for pool in self.markets.iter_mut().filter_map(|m| m.pool.as_mut()) {
            pool.config = config.pools[pool.config_index].clone();
        }
        for ((at, replacement), given) in replaced.into_iter().zip(parameters) {
            strategies[at] = replacement.strategy;
            self.slots[at].parameters = Some(given.text.clone());
        }
        self.note_reads(strategies);
        self.touch_all();
        Ok(done)
    }

    /// The reply to a [`Command::Reconfigure`] and the strategies that it would replace, without changing anything.
    pub(crate) fn judge_configuration(
        &self,
        command: &Command,
        strategies: &[Box<dyn Strategy>],
    ) -> Result<(String, Vec<Replaced>), String> {
        let Command::Reconfigure {
            config,
            parameters,
            allow_loosening,
            ..
        } = command
        else {
            return Err("this command changes no configuration".to_owned());
        };
        let mut pools: Vec<_> = self
            .markets
            .iter()
            .filter_map(|market| Some((market.pool.as_ref()?.config_index, &market.spec)))
            .collect();
        pools.sort_by_key(|(at, _)| *at);
        let units = Units {
            markets: self.markets.iter().map(|market| &market.spec).collect(),
            pools: pools.into_iter().map(|(_, spec)| spec).collect(),
        };
        let replaced = parameters
            .iter()
            .map(|given| self.replacement(given, strategies))
            .collect::<Result<Vec<_>, _>>()?;
        let mut changes = Changes::default();
        for (at, replacement) in &replaced {
            let market = &self.market(self.slots[*at].market).spec.name;
            let named = |what: &String| format!("{market} {what}");
            changes.all.extend(replacement.changed.iter().map(named));
            changes.looser.extend(replacement.looser.iter().map(named));
        }
        let done = reload::judge(&self.config, config, changes, *allow_loosening, &units)?;
        Ok((done, replaced))
    }

    fn replacement(
        &self,
        given: &StrategyParameters,
        strategies: &[Box<dyn Strategy>],
    ) -> Result<Replaced, String> {
        let known = self.slots.iter().zip(strategies).enumerate();
        let mut known = known.filter(|(_, (slot, _))| slot.strategy == given.strategy);
        let (at, (slot, strategy)) = known
            .next()
            .ok_or_else(|| format!("there is no strategy {}", given.strategy.0))?;
        let spec = &self.market(slot.market).spec;
        let replacement = strategy.with_parameters(spec, &given.text)?;
        let markets = self.markets.iter().map(|market| &market.spec);
        reads::check(replacement.strategy.as_ref(), spec, markets)?;
        let mut elsewhere = replacement.strategy.reads().iter();
        let is_new = |name: &&String| {
            elsewhere::split(name).is_some() && !self.elsewhere.is_read(spec.id, name)
        };
        if let Some(name) = elsewhere.find(is_new) {
            return Err(format!(
                "it reads the market {name}, which was not read at the start; it needs a restart"
            ));
        }
        Ok((at, replacement))
    }
}
