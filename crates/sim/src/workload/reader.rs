//! A quoter that reads other markets: it quotes only while each of them has a mid.

use cambist_core::control::Control;
use cambist_core::strategy::{Strategy, Targets, View};
use cambist_core::withheld::Withheld;
use cambist_core::{Side, Time};

/// The quoter and the names of the markets that it needs.
pub(crate) struct Reader {
    pub(crate) inner: Box<dyn Strategy>,
    pub(crate) needs: Vec<String>,
}

impl Reader {
    /// Why a market that it needs has no mid; `None` if all have one.
    fn lacks(&self, view: &View<'_>) -> Option<Withheld> {
        self.needs.iter().find_map(|name| {
            let mut shown = view.markets.iter();
            let Some(other) = shown.find(|other| other.market.name == *name) else {
                return Some(Control::NoFairPrice.into());
            };
            let book = other.book.as_ref();
            book.map_or_else(|why| Some(*why), |book| book.mid.err())
        })
    }
}

impl Strategy for Reader {
    fn decide(&mut self, view: &View<'_>, targets: &mut Targets) {
        let Some(why) = self.lacks(view) else {
            return self.inner.decide(view, targets);
        };
        for side in Side::BOTH {
            targets.withhold(side, why);
        }
    }

    fn references(&self) -> &[String] {
        self.inner.references()
    }

    fn reads(&self) -> &[String] {
        &self.needs
    }

    fn save(&self) -> Vec<u8> {
        self.inner.save()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        self.inner.restore(saved)
    }

    fn save_durable(&self) -> Vec<u8> {
        self.inner.save_durable()
    }

    fn resume(&mut self, saved: &[u8]) -> bool {
        self.inner.resume(saved)
    }

    fn next_decision(&self) -> Option<Time> {
        self.inner.next_decision()
    }
}
